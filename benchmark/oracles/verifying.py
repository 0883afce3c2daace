"""Labelling of inputs by an oracle and verification of programs (docs/spec.md 3.1, 15)."""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import judge
from benchmark.oracles.running import CpuBudget, ProgramResult, RunnableProgram, run_on
from benchmark.text.excerpts import excerpt

TOKENS = judge.Checker()

SAMPLES_BUDGET = CpuBudget(each=10, total=20)
"""The budget of an oracle on samples, which may be larger than generated inputs (docs/spec.md 15: 10 s)."""


@dataclass(frozen=True)
class Case:
    """An input with its expected answer."""

    name: str
    input: str
    answer: str
    sample: bool = False


@dataclass(frozen=True)
class FailedCase:
    """A case that a program fails, with its output or its fault (a verdict)."""

    case: Case
    output: str
    fault: str


@dataclass(frozen=True)
class Unstable:
    """An input on which a program's second output differs from its first one."""

    input: str
    first: str
    second: str

    def __str__(self) -> str:
        given, first, second = (
            json.dumps(excerpt(text, 100)) for text in (self.input, self.first, self.second)
        )
        return f"non-deterministic on input {given}: it answers {first}, then {second}"


@dataclass(frozen=True)
class LabelledInputs:
    """Inputs with an oracle's answers.

    `dropped` counts inputs without an answer by fault. `conflicting` are input, first and second answer where a second
    oracle differs. `unstable` and `second_unstable` are inputs on which the first or second oracle is
    non-deterministic; then the first oracle labels nothing, and the second one creates no conflicts. `seconds` is the
    CPU time of the oracle's first answers, `confirming` that of its second ones.
    """

    cases: tuple[Case, ...]
    dropped: Counter[str] = field(default_factory=Counter)
    conflicting: tuple[tuple[str, str, str], ...] = ()
    seconds: float = 0.0
    confirming: float = 0.0
    unstable: Unstable | None = None
    second_unstable: Unstable | None = None


@dataclass(frozen=True)
class ConfirmedAnswers:
    """Results confirmed by a second run, the shortest unstable input, and the CPU seconds of the second run."""

    answers: list[ProgramResult]
    unstable: Unstable | None
    seconds: float


@dataclass(frozen=True)
class CaseResults:
    """The results of a program on cases. `passed`, the number of passed cases, ranks candidates (docs/spec.md 15)."""

    samples_passed: bool
    passed: int
    total: int
    failures: tuple[FailedCase, ...]
    answers: tuple[ProgramResult, ...]

    @property
    def accepted(self) -> bool:
        """Whether every case passed."""
        return not self.failures

    @property
    def signature(self) -> str:
        """The SHA-256 of the outputs without white space differences, equal for candidates with equal outputs."""
        outputs = [answer.fault or " ".join((answer.output or "").split()) for answer in self.answers]
        return hashlib.sha256("\0".join(outputs).encode("utf-8", "surrogatepass")).hexdigest()


NO_SECOND_ANSWER = "no second answer"
"""The fault of an input that a program answered only once within its time."""


def label(
    oracle: RunnableProgram,
    inputs: Sequence[str],
    budget: CpuBudget,
    second: RunnableProgram | None = None,
    checker: judge.Checker = TOKENS,
) -> LabelledInputs:
    """Return the inputs with the oracle's answers. Each oracle answers each input twice.

    Inputs without an answer and conflicting inputs are removed. The shortest inputs run first, because a slow oracle
    can answer them. Raises SandboxFaultError and SandboxUnavailableError.
    """
    found = confirm(oracle, inputs, _shortest_first(oracle, inputs, budget), budget, checker)
    answers = found.answers
    dropped = Counter(answer.fault for answer in answers if answer.output is None)
    seconds = sum(answer.seconds for answer in answers)
    if found.unstable:
        return LabelledInputs((), dropped, seconds=seconds, confirming=found.seconds, unstable=found.unstable)
    answered = [
        (text, answer.output)
        for text, answer in zip(inputs, answers, strict=True)
        if answer.output is not None
    ]
    conflicting = []
    others: ConfirmedAnswers | None = None
    if second is not None:
        texts = [text for text, _ in answered]
        others = confirm(second, texts, _shortest_first(second, texts, budget), budget, checker)
        conflicting = [
            (text, output, other.output)
            for (text, output), other in zip(answered, others.answers, strict=True)
            if not others.unstable and other.output is not None and other.output.split() != output.split()
        ]
    removed = {text for text, _, _ in conflicting}
    kept = [(text, output) for text, output in answered if text not in removed]
    return LabelledInputs(
        tuple(Case(f"oracle-{number}", text, output) for number, (text, output) in enumerate(kept, 1)),
        dropped,
        tuple(conflicting),
        seconds,
        found.seconds,
        second_unstable=others.unstable if others else None,
    )


def confirm(
    program: RunnableProgram,
    inputs: Sequence[str],
    answers: Sequence[ProgramResult],
    budget: CpuBudget,
    checker: judge.Checker,
) -> ConfirmedAnswers:
    """Run the program again on each answered input in a different environment and compare the outputs.

    Outputs are compared by the checker, or by tokens if the checker is a program. The second run may use 1.5 times the
    CPU time of the first one plus 0.5 s; answers that it does not reach are dropped.
    """
    indices = [index for index, answer in enumerate(answers) if answer.output is not None]
    spent = sum(answers[index].seconds for index in indices)
    time = CpuBudget(2 * budget.each, None if budget.total is None else 1.5 * spent + 0.5)
    again = _shortest_first(program, [inputs[index] for index in indices], time, again=True)
    plain = checker if checker.program is None else TOKENS
    kept = list(answers)
    differing = []
    for index, other in zip(indices, again, strict=True):
        first = answers[index].output or ""
        if other.output is None and other.fault not in ("RTE", "OLE"):
            kept[index] = ProgramResult(None, NO_SECOND_ANSWER, answers[index].seconds)
        elif other.output is None:
            differing.append(Unstable(inputs[index], first, f"a fault: {other.fault}"))
        elif not judge.check(plain, other.output.encode(), first.encode()).accepted:
            differing.append(Unstable(inputs[index], first, other.output))
    shortest = min(differing, key=lambda one: len(one.input), default=None)
    return ConfirmedAnswers(kept, shortest, sum(answer.seconds for answer in again))


def _shortest_first(
    program: RunnableProgram, inputs: Sequence[str], budget: CpuBudget, in_front: int = 0, again: bool = False
) -> list[ProgramResult]:
    """Return the results in the order of the inputs. The first `in_front` run first, then the others by length."""
    others = sorted(range(in_front, len(inputs)), key=lambda index: len(inputs[index]))
    indices = [*range(in_front), *others]
    answers = run_on(program, [inputs[index] for index in indices], budget, again)
    return [answer for _, answer in sorted(zip(indices, answers, strict=True), key=lambda pair: pair[0])]


def verify(
    program: RunnableProgram, cases: Sequence[Case], checker: judge.Checker, budget: CpuBudget
) -> CaseResults:
    """Run the program on the cases: samples with the statement's answers, then others with the oracle's.

    The others run by increasing length; cases beyond the total time fail. Raises ValueError for an interactive checker,
    SandboxFaultError and SandboxUnavailableError.
    """
    samples = sum(case.sample for case in cases)  # the samples are first
    answers = _shortest_first(program, [case.input for case in cases], budget, samples)
    verdicts = check_answers(cases, answers, checker)
    failures = tuple(
        FailedCase(case, answer.output or "", answer.fault or "WA")
        for case, answer, right in zip(cases, answers, verdicts, strict=True)
        if not right
    )
    return CaseResults(
        samples_passed=not any(failure.case.sample for failure in failures),
        passed=sum(verdicts),
        total=len(cases),
        failures=failures,
        answers=tuple(answers),
    )


def check_answers(
    cases: Sequence[Case], answers: Sequence[ProgramResult], checker: judge.Checker
) -> list[bool]:
    """Return for each answer whether the checker accepts it."""
    if checker.program is None:
        return [
            answer.output is not None
            and judge.check(checker, answer.output.encode(), case.answer.encode()).accepted
            for case, answer in zip(cases, answers, strict=True)
        ]
    limits = judge.Limits(time=10.0, memory=512 * 2**20)
    verdicts = []
    with judge.temporary_folder("cases") as folder, judge.open_checker(checker, limits) as check:
        for number, (case, answer) in enumerate(zip(cases, answers, strict=True)):
            if answer.output is None:
                verdicts.append(False)
                continue
            given, expected = folder / f"{number}.in", folder / f"{number}.ans"
            given.write_text(case.input, encoding="utf-8")
            expected.write_text(case.answer, encoding="utf-8")
            test = judge.Test(case.name, given, expected)
            verdicts.append(check(test, answer.output.encode()).accepted)
    return verdicts
