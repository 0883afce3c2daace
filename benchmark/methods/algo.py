"""ALGO: a model writes a problem's verifier, and coders whose candidates the verifier ranks (docs/spec.md 3, 15)."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

from benchmark.methods.composition import Answer, always
from benchmark.methods.method import Chain
from benchmark.methods.program_tester import NO_PROGRAM, Score
from benchmark.methods.retrieval import Found
from benchmark.methods.settings import Sampling, takes
from benchmark.methods.zero_shot import ask_once
from benchmark.models import Generation
from benchmark.oracles.inputs import InputRecipe
from benchmark.oracles.programs import VerifierPrograms
from benchmark.oracles.tags import TAGS
from benchmark.prompts import (
    COUNTEREXAMPLE_TEMPLATES,
    TAGGED_TEMPLATES,
    VERIFIER_TEMPLATES,
    WRITTEN_TESTS_TEMPLATES,
    Prompt,
    batch_prompt,
    counterexample_prompt,
    generator_prompt,
    oracle_prompt,
    tagged_prompt,
    tricky_prompt,
    validator_prompt,
    written_tests_prompt,
)


@dataclass(frozen=True)
class Algo(Sampling):
    """What the paper's questions have in common."""

    temperature: float | None = field(
        default=1.0,
        metadata=takes("randomness of the replies; none leaves it to the provider", minimum=0, maximum=2),
    )


@dataclass(frozen=True)
class Building(Algo):
    """How often each program of a verifier is asked for."""

    resamples: int = field(
        default=20, metadata=takes("oracles asked for until one passes the samples", minimum=1, maximum=100)
    )
    retries: int = field(
        default=5,
        metadata=takes("times every other program is asked for until it works", minimum=1, maximum=20),
    )
    second_oracle: bool = field(
        default=False,
        metadata=takes("ask for another oracle; tests on which the two differ are disputed and removed"),
    )
    written_tests: bool = field(
        default=False,
        metadata=takes("ask for tests with answers of the model's own, to rank by them for comparison"),
    )
    oracle_seconds: int = field(
        default=InputRecipe.oracle_seconds,
        metadata=takes("CPU seconds of an oracle for one input", minimum=1, maximum=60),
    )
    budget: float | None = field(
        default=InputRecipe.budget,
        metadata=takes(
            "CPU seconds for making all inputs, and for an oracle to answer them, the shortest first; none: no bound",
            minimum=0.1,
        ),
    )

    @property
    def recipe(self) -> InputRecipe:
        """The part that makes the tests."""
        return InputRecipe(oracle_seconds=self.oracle_seconds, budget=self.budget)


async def build(chain: Chain, settings: Building, found: Found) -> Generation:
    """BuildVerifier (docs/spec.md 15): oracle, validator, generators, tricky inputs; then the verifier is stored.

    Without an oracle that passes the samples nothing else is asked for. The oracle is the generation that is returned.
    """
    task, form, bench = chain.task, settings.form, chain.bench
    oracle, passes = await _first(chain, oracle_prompt(task, form), settings.resamples, bench.oracle_passes)
    if not passes:
        await bench.build(VerifierPrograms(), settings.recipe)
        return oracle
    programs = VerifierPrograms(oracle=oracle.code)

    async def add(name: str, prompt: Prompt, works: Callable[[VerifierPrograms], Awaitable[bool]]) -> None:
        nonlocal programs
        before = programs

        async def tried(code: str) -> bool:
            return await works(replace(before, **{name: code}))

        answer, works_well = await _first(chain, prompt, settings.retries, tried)
        if works_well:
            programs = replace(before, **{name: answer.code})

    await add("validator", validator_prompt(task, form), bench.validator_works)
    await add(
        "generator",
        generator_prompt(task, form, programs.validator),
        lambda tried: bench.makes_inputs(tried, "generator"),
    )
    if task.signature is not None:
        await add(
            "batch",
            batch_prompt(task, form, programs.generator),
            lambda tried: bench.makes_inputs(tried, "batch"),
        )
    await add("tricky", tricky_prompt(task, form), lambda tried: bench.makes_inputs(tried, "tricky"))
    if settings.second_oracle:
        await add(
            "second_oracle",
            oracle_prompt(task, form),
            lambda tried: bench.oracle_passes(tried.second_oracle),
        )
    if settings.written_tests:
        await add(
            "written_tests",
            written_tests_prompt(task, form),
            bench.writes_tests,
        )
    await bench.build(programs, settings.recipe)
    return oracle


async def _first(
    chain: Chain, prompt: Prompt, times: int, works: Callable[[str], Awaitable[bool]]
) -> tuple[Generation, bool]:
    """The first answer whose program works, or the last one, and whether it works."""
    for _ in range(times):
        answer = await chain.ask(prompt, Generation.Purpose.VERIFIER)
        if answer.code and await works(answer.code):
            return answer, True
    return answer, chain.bench.takes_the_last


@dataclass(frozen=True)
class Implicit(Algo):
    """How many candidates are ranked."""

    k: int = field(
        default=20, metadata=takes("candidates, of which the verifier's best is the attempt", minimum=1)
    )


async def search_implicitly(chain: Chain, settings: Implicit, found: Found) -> Generation:
    """k answers to the plain question; the one that passes the most tests is the attempt, the first of equals."""
    answers = [await ask_once(chain, settings, found) for _ in range(settings.k)]
    return _best(answers, [await _scored(chain, answer) for answer in answers])


@dataclass(frozen=True)
class Tags(Algo):
    """Which tags are enumerated, and how often each is tried."""

    tags: int = field(
        default=len(TAGS), metadata=takes("tags, the most common first", minimum=1, maximum=len(TAGS))
    )
    n: int = field(
        default=5, metadata=takes("answers asked for with a tag until one passes the samples", minimum=1)
    )


async def enumerate_tags(chain: Chain, settings: Tags, found: Found) -> Generation:
    """One candidate a tag: the first of n answers that passes the samples, else the last; the verifier picks."""
    candidates, scores = [], []
    for tag in TAGS[: settings.tags]:
        for _ in range(settings.n):
            answer = await chain.ask(tagged_prompt(chain.task, settings.form, tag), Generation.Purpose.SOLVE)
            score = await _scored(chain, answer)
            if score.samples_passed:
                break
        candidates.append(answer)
        scores.append(score)
    return _best(candidates, scores)


@dataclass(frozen=True)
class Iterative(Algo):
    """How often a program is revised, and how many inputs are shown."""

    n: int = field(default=5, metadata=takes("answers at most, each after the one before", minimum=1))
    counterexamples: int = field(
        default=2, metadata=takes("failing inputs that are shown", minimum=1, maximum=10)
    )


async def revise(chain: Chain, settings: Iterative, found: Found) -> Generation:
    """Ask, verify, and ask again with inputs on which the answer fails, until the verifier accepts one.

    In place of the paper's search over tokens, which needs probabilities that providers do not give (docs/spec.md 3.2).
    """
    answers = [await ask_once(chain, settings, found)]
    scores = [await _scored(chain, answers[0])]
    while not scores[-1].accepted and len(answers) < settings.n:
        cases = scores[-1].cases[: settings.counterexamples]
        prompt = counterexample_prompt(chain.task, settings.form, len(answers), answers[-1].text, cases)
        answers.append(await chain.ask(prompt, Generation.Purpose.REFLECT))
        scores.append(await _scored(chain, answers[-1]))
    return _best(answers, scores)


async def _scored(chain: Chain, answer: Generation) -> Score:
    return await chain.bench.score(answer) if answer.code else NO_PROGRAM


def _best(answers: Sequence[Generation], scores: Sequence[Score]) -> Generation:
    return answers[max(range(len(answers)), key=lambda place: (scores[place].passed, -place))]


def building_templates(settings: Building) -> tuple[str, ...]:
    """Return the templates for what these settings ask for."""
    return VERIFIER_TEMPLATES + (WRITTEN_TESTS_TEMPLATES if settings.written_tests else ())


VERIFIER = Answer(
    name="verifier",
    summary="Ask for a brute-force oracle and for what makes its inputs; build the problem's verifier.",
    source="ALGO, verifier",
    settings=Building,
    templates=building_templates,
    solve=build,
    needs_outputs=True,
    scoring="none",
)
IMPLICIT = Answer(
    name="algo-implicit",
    summary="Ask for k programs; the one that passes the most tests of the verifier counts.",
    source="ALGO, implicit searcher",
    settings=Implicit,
    templates=always(()),
    solve=search_implicitly,
    needs_verifier=True,
)
TAG_ENUMERATION = Answer(
    name="algo-tags",
    summary="Ask for a program with each of 71 methods; the one that passes the most tests of the verifier counts.",
    source="ALGO, instruction enumerator",
    settings=Tags,
    templates=always(TAGGED_TEMPLATES),
    solve=enumerate_tags,
    needs_verifier=True,
)
ITERATIVE = Answer(
    name="algo-iterative",
    summary="Ask, and ask for corrections with inputs on which the program differs from the oracle.",
    source="ALGO, iterative searcher, revised instead of searched token by token",
    settings=Iterative,
    templates=always(COUNTEREXAMPLE_TEMPLATES),
    solve=revise,
    needs_verifier=True,
)
