"""ALGO: a model writes a problem's verifier, which then ranks candidate programs (docs/spec.md 3, 15)."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from pydantic.dataclasses import dataclass

from benchmark.methods.composition import Strategy, fixed_templates
from benchmark.methods.method import Chain
from benchmark.methods.program_tester import NO_PROGRAM, VerifierScore
from benchmark.methods.retrieval import Retrieved
from benchmark.methods.settings import MethodSettings, option
from benchmark.methods.zero_shot import solve_once
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
class AlgoSettings(MethodSettings):
    """Settings that the paper's methods have in common."""

    temperature: float | None = option(
        1.0, "randomness of the replies; none uses the provider's default", ge=0, le=2
    )


@dataclass(frozen=True)
class VerifierSettings(AlgoSettings):
    """Settings for the number of requests for each program of a verifier, and for its tests."""

    resamples: int = option(20, "requests for an oracle until one passes the samples", ge=1, le=100)
    retries: int = option(5, "requests for each other program until it works", ge=1, le=20)
    second_oracle: bool = option(
        False, "request a second oracle; tests on which the two differ are conflicting and are removed"
    )
    written_tests: bool = option(
        False, "request tests with answers by the model itself, as a ranking for comparison"
    )
    oracle_seconds: int = option(
        InputRecipe.oracle_seconds, "CPU seconds of an oracle for one input", ge=1, le=60
    )
    budget: float | None = option(
        InputRecipe.budget,
        "CPU seconds for making all inputs, and for an oracle to answer them, in order of size; none: unlimited",
        ge=0.1,
    )

    @property
    def recipe(self) -> InputRecipe:
        """The settings for making the tests."""
        return InputRecipe(oracle_seconds=self.oracle_seconds, budget=self.budget)


async def build(chain: Chain, settings: VerifierSettings, _retrieved: Retrieved) -> Generation:
    """Store the problem's verifier and return the generation of its oracle (BuildVerifier, docs/spec.md 15).

    The order of the programs is oracle, validator, generators, tricky inputs. If no oracle passes the samples,
    no other program is requested.
    """
    task, form, tester = chain.task, settings.form, chain.program_tester
    oracle, passes = await _first_working(
        chain, oracle_prompt(task, form), settings.resamples, tester.oracle_passes
    )
    if not passes:
        await tester.build(VerifierPrograms(), settings.recipe)
        return oracle
    programs = VerifierPrograms(oracle=oracle.code)

    async def add(name: str, prompt: Prompt, works: Callable[[VerifierPrograms], Awaitable[bool]]) -> None:
        nonlocal programs
        before = programs

        async def test(code: str) -> bool:
            return await works(replace(before, **{name: code}))

        answer, works_well = await _first_working(chain, prompt, settings.retries, test)
        if works_well:
            programs = replace(before, **{name: answer.code})

    await add("validator", validator_prompt(task, form), tester.validator_works)
    await add(
        "generator",
        generator_prompt(task, form, programs.validator),
        lambda candidate: tester.makes_inputs(candidate, "generator"),
    )
    if task.signature is not None:
        await add(
            "batch",
            batch_prompt(task, form, programs.generator),
            lambda candidate: tester.makes_inputs(candidate, "batch"),
        )
    await add("tricky", tricky_prompt(task, form), lambda candidate: tester.makes_inputs(candidate, "tricky"))
    if settings.second_oracle:
        await add(
            "second_oracle",
            oracle_prompt(task, form),
            lambda candidate: tester.oracle_passes(candidate.second_oracle),
        )
    if settings.written_tests:
        await add("written_tests", written_tests_prompt(task, form), tester.writes_tests)
    await tester.build(programs, settings.recipe)
    return oracle


async def _first_working(
    chain: Chain, prompt: Prompt, times: int, works: Callable[[str], Awaitable[bool]]
) -> tuple[Generation, bool]:
    """Return the first answer whose program works, else the last one, and whether it works."""
    for _ in range(times):
        answer = await chain.request(prompt, Generation.Purpose.VERIFIER)
        if answer.code and await works(answer.code):
            return answer, True
    return answer, chain.program_tester.accepts_last


@dataclass(frozen=True)
class ImplicitSettings(AlgoSettings):
    """Setting for the number of candidates."""

    k: int = option(20, "candidates, of which the verifier's best is the attempt", ge=1)


async def search_implicitly(chain: Chain, settings: ImplicitSettings, retrieved: Retrieved) -> Generation:
    """Return the one of k answers to the problem's prompt that passes the most tests; the first one in a tie."""
    answers = [await solve_once(chain, settings, retrieved) for _ in range(settings.k)]
    return _best(answers, [await _score(chain, answer) for answer in answers])


@dataclass(frozen=True)
class TagSettings(AlgoSettings):
    """Settings for the tags and the number of requests with each."""

    tags: int = option(len(TAGS), "tags, the most common first", ge=1, le=len(TAGS))
    n: int = option(5, "requests with a tag until an answer passes the samples", ge=1)


async def enumerate_tags(chain: Chain, settings: TagSettings, _retrieved: Retrieved) -> Generation:
    """Return the verifier's best of one candidate for each tag.

    The candidate of a tag is the first of n answers that passes the samples, else the last.
    """
    candidates, scores = [], []
    for tag in TAGS[: settings.tags]:
        for _ in range(settings.n):
            prompt = tagged_prompt(chain.task, settings.form, tag)
            answer = await chain.request(prompt, Generation.Purpose.SOLVE)
            score = await _score(chain, answer)
            if score.samples_passed:
                break
        candidates.append(answer)
        scores.append(score)
    return _best(candidates, scores)


@dataclass(frozen=True)
class IterativeSettings(AlgoSettings):
    """Settings for the numbers of revisions and of counterexamples that prompts show."""

    n: int = option(5, "answers at most, each a revision of the previous one", ge=1)
    counterexamples: int = option(2, "failing inputs in the prompt", ge=1, le=10)


async def revise(chain: Chain, settings: IterativeSettings, retrieved: Retrieved) -> Generation:
    """Return the first answer that the verifier accepts; each prompt shows inputs on which the previous answer fails.

    The paper searches over tokens instead, which needs probabilities that providers do not return (docs/spec.md 3.2).
    """
    answers = [await solve_once(chain, settings, retrieved)]
    scores = [await _score(chain, answers[0])]
    while not scores[-1].accepted and len(answers) < settings.n:
        cases = scores[-1].cases[: settings.counterexamples]
        prompt = counterexample_prompt(chain.task, settings.form, len(answers), answers[-1].text, cases)
        answers.append(await chain.request(prompt, Generation.Purpose.REFLECT))
        scores.append(await _score(chain, answers[-1]))
    return _best(answers, scores)


async def _score(chain: Chain, answer: Generation) -> VerifierScore:
    return await chain.program_tester.score(answer) if answer.code else NO_PROGRAM


def _best(answers: Sequence[Generation], scores: Sequence[VerifierScore]) -> Generation:
    return answers[max(range(len(answers)), key=lambda index: (scores[index].passed, -index))]


def building_templates(settings: VerifierSettings) -> tuple[str, ...]:
    """Return the templates of the prompts that these settings lead to."""
    return VERIFIER_TEMPLATES + (WRITTEN_TESTS_TEMPLATES if settings.written_tests else ())


VERIFIER = Strategy(
    name="verifier",
    summary="Ask for a brute-force oracle and for programs that make its inputs; build the problem's verifier.",
    source="ALGO, verifier",
    settings=VerifierSettings,
    templates=building_templates,
    solve=build,
    needs_outputs=True,
    scoring="none",
)
IMPLICIT = Strategy(
    name="algo-implicit",
    summary="Ask for k programs; the one that passes the most tests of the verifier counts.",
    source="ALGO, implicit searcher",
    settings=ImplicitSettings,
    templates=fixed_templates(),
    solve=search_implicitly,
    needs_verifier=True,
)
TAG_ENUMERATION = Strategy(
    name="algo-tags",
    summary="Ask for a program with each of 71 methods; the one that passes the most tests of the verifier counts.",
    source="ALGO, instruction enumerator",
    settings=TagSettings,
    templates=fixed_templates(*TAGGED_TEMPLATES),
    solve=enumerate_tags,
    needs_verifier=True,
)
ITERATIVE = Strategy(
    name="algo-iterative",
    summary="Ask, and ask for corrections with inputs on which the program differs from the oracle.",
    source="ALGO, iterative searcher, revised instead of searched token by token",
    settings=IterativeSettings,
    templates=fixed_templates(*COUNTEREXAMPLE_TEMPLATES),
    solve=revise,
    needs_verifier=True,
)
