"""The verifier of a problem and what it says of a program (docs/spec.md 3.1, 15)."""

import hashlib
import json
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import judge
from benchmark.oracles.running import CpuBudget, ProgramResult, RunnableProgram, run_on
from benchmark.text.excerpts import excerpt

TOKENS = judge.Checker()

SAMPLES_BUDGET = CpuBudget(each=10, total=20)
"""Of an oracle that is tried on samples, which may be larger than made inputs (docs/spec.md 15: 10 s)."""


@dataclass(frozen=True)
class Case:
    """An input with the answer that is expected."""

    name: str
    input: str
    answer: str
    sample: bool = False


@dataclass(frozen=True)
class FailedCase:
    """A case that a program fails: what it printed, or the fault (a verdict)."""

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

    `dropped` counts inputs without an answer by fault. `conflicting` are inputs on which a second oracle, whose answer is
    the third part, differs. `unstable` and `second_unstable` are where the oracle, and the second one, are not
    deterministic: an oracle that is not labels nothing, a second one disputes nothing. `seconds` of CPU are those of
    the oracle's first answers, `confirming` those of its second ones.
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
    """Answers that a program gave twice, the shortest input on which it did not, and CPU seconds of asking again."""

    answers: list[ProgramResult]
    unstable: Unstable | None
    seconds: float


@dataclass(frozen=True)
class CaseResults:
    """What a verifier says of a program. `score`, the number of cases passed, ranks candidates (docs/spec.md 15)."""

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
        """sha256 of the outputs but for white space: equal for candidates that answer alike."""
        outputs = [answer.fault or " ".join((answer.output or "").split()) for answer in self.answers]
        return hashlib.sha256("\0".join(outputs).encode("utf-8", "surrogatepass")).hexdigest()


NO_SECOND_ANSWER = "no second answer"
"""The fault of an input that a program answered once, and not again within the time for that."""


def label(
    oracle: RunnableProgram,
    inputs: Sequence[str],
    budget: CpuBudget,
    second: RunnableProgram | None = None,
    checker: judge.Checker = TOKENS,
) -> LabelledInputs:
    """Return the inputs with the oracle's answers. Each oracle is asked each input twice.

    An input without an answer is dropped, one that is conflicting removed. The shortest are answered first, so that a slow
    oracle spends its time where it has a chance. Raises SandboxFault and SandboxUnavailable.
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
    """Ask each answered input again, in another environment.

    Outputs are compared as the checker compares them, or by their tokens where it is a program. The second pass may
    take half as long again as the first one, and 0.5 s; an answer that it does not reach is withdrawn.
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
    """Return the answers in the order of the inputs; the first `in_front` are tried before the shortest others."""
    others = sorted(range(in_front, len(inputs)), key=lambda index: len(inputs[index]))
    indices = [*range(in_front), *others]
    answers = run_on(program, [inputs[index] for index in indices], budget, again)
    return [answer for _, answer in sorted(zip(indices, answers, strict=True), key=lambda pair: pair[0])]


def verify(
    program: RunnableProgram, cases: Sequence[Case], checker: judge.Checker, budget: CpuBudget
) -> CaseResults:
    """Try the program on the cases: samples with the statement's answers, then others with the oracle's.

    The shortest of the others are tried first; a case that no time is left for is failed. Raises ValueError for an
    interactive checker, SandboxFault and SandboxUnavailable.
    """
    samples = sum(case.sample for case in cases)  # they come first
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
    """Which of the answers are right."""
    if checker.program is None:
        return [
            answer.output is not None
            and judge.check(checker, answer.output.encode(), case.answer.encode()).accepted
            for case, answer in zip(cases, answers, strict=True)
        ]
    limits = judge.Limits(time=10.0, memory=512 * 2**20)
    verdicts = []
    with tempfile.TemporaryDirectory(prefix="cases-") as folder, judge.open_checker(checker, limits) as ask:
        for number, (case, answer) in enumerate(zip(cases, answers, strict=True)):
            if answer.output is None:
                verdicts.append(False)
                continue
            given, expected = Path(folder) / f"{number}.in", Path(folder) / f"{number}.ans"
            given.write_text(case.input, encoding="utf-8")
            expected.write_text(case.answer, encoding="utf-8")
            test = judge.Test(case.name, given, expected)
            verdicts.append(ask(test, answer.output.encode()).accepted)
    return verdicts
