"""The verifier of a problem and what it says of a program (METHODS.md 3.1, 15)."""

import hashlib
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import judge
from benchmark.oracles.running import Allowance, Answer, Program, run_on

ON_SAMPLES = Allowance(each=10, total=20)
"""Of an oracle that is tried on samples, which may be larger than made inputs (METHODS.md 15: 10 s)."""


@dataclass(frozen=True)
class Case:
    """An input with the answer that is expected."""

    name: str
    input: str
    answer: str
    sample: bool = False


@dataclass(frozen=True)
class Failure:
    """A case that a program fails: what it printed, or the fault (a verdict)."""

    case: Case
    output: str
    fault: str


@dataclass(frozen=True)
class Labelled:
    """Inputs with an oracle's answers. `dropped` counts those without one, by fault; `disputed` are those on which
    a second oracle, whose answer is the third part, differs; `seconds` of CPU the oracle took."""

    cases: tuple[Case, ...]
    dropped: Counter[str] = field(default_factory=Counter)
    disputed: tuple[tuple[str, str, str], ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True)
class Verification:
    """What a verifier says of a program. `score`, the number of cases passed, ranks candidates (METHODS.md 15)."""

    samples_passed: bool
    passed: int
    total: int
    failures: tuple[Failure, ...]
    answers: tuple[Answer, ...]

    @property
    def accepted(self) -> bool:
        """Whether every case passed."""
        return not self.failures

    @property
    def signature(self) -> str:
        """sha256 of the outputs but for white space: equal for candidates that answer alike."""
        outputs = [answer.fault or " ".join((answer.output or "").split()) for answer in self.answers]
        return hashlib.sha256("\0".join(outputs).encode("utf-8", "surrogatepass")).hexdigest()


def label(
    oracle: Program, inputs: Sequence[str], allowance: Allowance, second: Program | None = None
) -> Labelled:
    """The inputs with the oracle's answers. An input without an answer is dropped, one that is disputed removed.

    The shortest are answered first, so that a slow oracle spends its time where it has a chance. Raises SandboxFault
    and SandboxUnavailable.
    """
    dropped: Counter[str] = Counter()
    answers = _shortest_first(oracle, inputs, allowance)
    answered = []
    for text, answer in zip(inputs, answers, strict=True):
        if answer.output is None:
            dropped[answer.fault] += 1
        else:
            answered.append((text, answer.output))
    disputed = []
    if second is not None:
        others = _shortest_first(second, [text for text, _ in answered], allowance)
        disputed = [
            (text, output, other.output)
            for (text, output), other in zip(answered, others, strict=True)
            if other.output is not None and other.output.split() != output.split()
        ]
    removed = {text for text, _, _ in disputed}
    kept = [(text, output) for text, output in answered if text not in removed]
    return Labelled(
        tuple(Case(f"oracle-{number}", text, output) for number, (text, output) in enumerate(kept, 1)),
        dropped,
        tuple(disputed),
        sum(answer.seconds for answer in answers),
    )


def _shortest_first(
    program: Program, inputs: Sequence[str], allowance: Allowance, in_front: int = 0
) -> list[Answer]:
    """The answers in the order of the inputs; so many at the beginning are tried before the shortest of the others."""
    others = sorted(range(in_front, len(inputs)), key=lambda place: len(inputs[place]))
    places = [*range(in_front), *others]
    answers = run_on(program, [inputs[place] for place in places], allowance)
    return [answer for _, answer in sorted(zip(places, answers, strict=True), key=lambda pair: pair[0])]


def verify(
    program: Program, cases: Sequence[Case], checker: judge.Checker, allowance: Allowance
) -> Verification:
    """Try the program on the cases: samples with the statement's answers, then others with the oracle's.

    The shortest of the others are tried first; a case that no time is left for is failed. Raises ValueError for an
    interactive checker, SandboxFault and SandboxUnavailable.
    """
    samples = sum(case.sample for case in cases)  # they come first
    answers = _shortest_first(program, [case.input for case in cases], allowance, samples)
    rulings = rule(cases, answers, checker)
    failures = tuple(
        Failure(case, answer.output or "", answer.fault or "WA")
        for case, answer, right in zip(cases, answers, rulings, strict=True)
        if not right
    )
    return Verification(
        samples_passed=not any(failure.case.sample for failure in failures),
        passed=sum(rulings),
        total=len(cases),
        failures=failures,
        answers=tuple(answers),
    )


def rule(cases: Sequence[Case], answers: Sequence[Answer], checker: judge.Checker) -> list[bool]:
    """Which of the answers are right."""
    if checker.program is None:
        return [
            answer.output is not None
            and judge.check(checker, answer.output.encode(), case.answer.encode()).accepted
            for case, answer in zip(cases, answers, strict=True)
        ]
    limits = judge.Limits(time=10.0, memory=512 * 2**20)
    rulings = []
    with tempfile.TemporaryDirectory(prefix="cases-") as folder, judge.open_checker(checker, limits) as ask:
        for number, (case, answer) in enumerate(zip(cases, answers, strict=True)):
            if answer.output is None:
                rulings.append(False)
                continue
            given, expected = Path(folder) / f"{number}.in", Path(folder) / f"{number}.ans"
            given.write_text(case.input, encoding="utf-8")
            expected.write_text(case.answer, encoding="utf-8")
            test = judge.Test(case.name, given, expected)
            rulings.append(ask(test, answer.output.encode()).accepted)
    return rulings
