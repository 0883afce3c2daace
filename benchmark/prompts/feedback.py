"""What a model is told about its program: how it did on the samples of the statement.

The results of a judgement on all tests may quote hidden ones (`judge.TestResult`), so `SampleRun.of` takes no
other judgement than one on the samples, and of one on all tests `HiddenCount` holds two numbers.
"""

from dataclasses import dataclass, replace
from itertools import dropwhile
from typing import Literal, get_args

import judge
from benchmark.judging import WHOLE_OUTPUT
from benchmark.models import Judgement, Problem, TestCase, blobs
from benchmark.prompts.leaks import PromptLeakError
from benchmark.prompts.templates import Templates
from benchmark.text.excerpts import excerpt, excerpt_of
from judge import Verdict

Feedback = Literal["samples", "verdicts", "samples+hidden_count", "usaco-code", "none"]
"""What is told: input, output and expected output of failed samples (USACO); passed or the kind of error for
each sample (ICPC, docs/spec.md 7.1); as samples, and how many hidden tests are passed (which section 3 of the USACO
paper allows); by kind of failure what the published USACO code tells, uncut; nothing, which makes a neutral retry at
the same budget."""
FEEDBACKS: tuple[str, ...] = get_args(Feedback)

SHOWN = 2_000
"""Characters of an input, output or error message that a prompt shows (docs/spec.md 6)."""

_TRACEBACK = "Traceback (most recent call last):\n"

_TOLD = {
    verdict: f"feedback/{verdict.lower()}"
    for verdict in (Verdict.AC, Verdict.WA, Verdict.TLE, Verdict.MLE, Verdict.OLE, Verdict.RTE)
}
FEEDBACK_TEMPLATES = (
    *_TOLD.values(),
    "feedback/ce",
    "feedback/no_code",
    "feedback/no_samples",
    "feedback/hidden_count",
    "feedback/exception",
    "feedback/unjudged",
    "feedback/none",
)


@dataclass(frozen=True)
class SampleResult:
    """What happened on one sample; the texts are cut to SHOWN characters, and say so, unless all of them is wanted.

    `exception` is the text of the exception that ended the program, None where there was none.
    """

    verdict: Verdict
    input: str
    output: str
    expected: str
    errors: str
    exception: str | None = None


@dataclass(frozen=True)
class SampleRun:
    """What a program did on the samples.

    `verdict` is AC also where the statement has no sample: all of none are passed (docs/spec.md 7.2). It is
    NO_CODE without a program. `errors` is what the compiler said to one that does not compile (CE), cut to SHOWN
    characters; `compiler_output` the same as far as the judge keeps it, 4 000 characters.
    """

    verdict: Verdict
    results: tuple[SampleResult, ...] = ()
    errors: str = ""
    compiler_output: str = ""

    @property
    def passed(self) -> bool:
        """Whether there is a program and every sample accepts it."""
        return self.verdict is Verdict.AC

    @classmethod
    def of(cls, problem: Problem, stored: Judgement) -> "SampleRun":
        """What a finished judgement on the samples says. Raises PromptLeak for a judgement on other tests."""
        if stored.suite != Judgement.Suite.SAMPLES or stored.result is None:
            raise PromptLeakError(f"judgement {stored.pk} is not a finished one on the samples of {problem}")
        judgement = judge.Judgement.from_json(stored.result)
        samples = {case.name: case for case in problem.tests.filter(origin=TestCase.Origin.SAMPLE)}
        if not all(result.sample and result.name in samples for result in judgement.tests):
            raise PromptLeakError(f"judgement {stored.pk} holds the result of a test that is no sample")
        return cls(
            judgement.verdict,
            tuple(
                _sample_result(samples[result.name], result, whole=stored.whole_output)
                for result in judgement.tests
            ),
            excerpt(judgement.compiler_output, SHOWN),
            judgement.compiler_output.rstrip(),
        )


@dataclass(frozen=True)
class HiddenCount:
    """How many of the hidden tests a program passes, and nothing more of them."""

    passed: int
    total: int

    @classmethod
    def of(cls, problem: Problem, stored: Judgement) -> "HiddenCount":
        """What a finished judgement on all tests says. Raises PromptLeak for one that stopped at a failure."""
        if stored.suite != Judgement.Suite.ALL or stored.result is None or stored.stop_at_first_failure:
            raise PromptLeakError(f"judgement {stored.pk} is not a finished one on every test of {problem}")
        judgement = judge.Judgement.from_json(stored.result)
        passed = sum(not test.sample and test.verdict is Verdict.AC for test in judgement.tests)
        samples = problem.tests.filter(origin=TestCase.Origin.SAMPLE).count()
        return cls(passed, judgement.total - samples)


def describe(
    run: SampleRun, feedback: Feedback, templates: Templates, hidden: HiddenCount | None = None
) -> str:
    """The words for a model. Without details only the first line of each template is used."""
    if feedback == "none":
        return templates.render("feedback/none")
    if feedback == "usaco-code":
        return _describe_as_published(run, templates)
    if run.verdict is Verdict.NO_CODE:
        return templates.render("feedback/no_code")
    if run.verdict is Verdict.CE:
        told = [templates.render("feedback/ce", errors=run.errors)]
    elif not run.results:
        told = [templates.render("feedback/no_samples")]
    else:
        told = [_told(number, result, templates) for number, result in enumerate(run.results, 1)]
    if feedback == "verdicts":
        told = [text.partition("\n")[0] for text in told]
    if hidden is not None:
        told.append(
            templates.render("feedback/hidden_count", passed=str(hidden.passed), total=str(hidden.total))
        )
    return "\n".join(told)


def _describe_as_published(run: SampleRun, templates: Templates) -> str:
    """Return what the published USACO code tells, by kind of failure (docs/spec.md 6).

    A wrong answer comes with input, output and expected output; an exception with its text; a program that is too
    slow with nothing. The code takes too much memory for an exception without a text, and the end by a signal for a
    program that is too slow. A reply that does not compile is told the same as one without a program.
    """
    if run.verdict in (Verdict.NO_CODE, Verdict.CE):
        return templates.render("feedback/unjudged")
    return "\n".join(
        _told_as_published(number, result, templates) for number, result in enumerate(run.results, 1)
    )


def _told_as_published(number: int, result: SampleResult, templates: Templates) -> str:
    match result.verdict:
        case Verdict.AC | Verdict.WA:
            return _told(number, result, templates)
        case Verdict.OLE:
            return _told(number, replace(result, verdict=Verdict.WA), templates)
        case Verdict.RTE | Verdict.MLE if result.exception is not None:
            return templates.render("feedback/exception", number=str(number), exception=result.exception)
    return _told(number, replace(result, verdict=Verdict.TLE), templates).partition("\n")[0]


def describe_first_failure(run: SampleRun, templates: Templates) -> str:
    """The words for a model about the first sample that failed, with its texts. Raises StopIteration without one."""
    failures = ((n, result) for n, result in enumerate(run.results, 1) if result.verdict is not Verdict.AC)
    return _told(*next(failures), templates)


def _told(number: int, result: SampleResult, templates: Templates) -> str:
    return templates.render(
        _TOLD[result.verdict],
        number=str(number),
        input=result.input,
        output=result.output,
        expected=result.expected,
        errors=result.errors,
    )


def _sample_result(case: TestCase, result: judge.TestResult, *, whole: bool) -> SampleResult:
    longest = WHOLE_OUTPUT if whole else SHOWN
    return SampleResult(
        result.verdict,
        excerpt_of(blobs.path(case.input_hash), longest),
        excerpt(result.output, longest),
        excerpt_of(blobs.path(case.answer_hash), longest),
        excerpt(f"{result.message}\n{result.errors}", SHOWN),
        _exception_of(result),
    )


def _exception_of(result: judge.TestResult) -> str | None:
    """Return what `str` gives of the exception that ended a Python program, or None if a signal ended it.

    That is the text without the type and the traceback; of `sys.exit` the exit status or the message.
    """
    if result.verdict is Verdict.MLE:
        return ""
    if result.verdict is not Verdict.RTE or result.exit_status is None:
        return None
    _, traceback, rest = result.errors.rpartition(_TRACEBACK)
    last_words = result.message.partition(". ")[2]
    if not traceback:
        return last_words or str(result.exit_status)
    lines = dropwhile(lambda line: line.startswith(" "), rest.rstrip().split("\n"))
    return ("\n".join(lines) or last_words).partition(": ")[2]
