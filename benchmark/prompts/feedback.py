"""Feedback for the model on its program: the results on the samples of the statement.

Results of a judgement on all tests may quote hidden ones (`judge.TestResult`). `SampleRun.of` therefore accepts only
judgements on the samples, and `HiddenCount` holds two numbers of a judgement on all tests.
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
"""The content of the feedback:

samples: input, output and expected output of failed samples (USACO); verdicts: passed or the kind of error for each
sample (ICPC, docs/spec.md 7.1); samples+hidden_count: samples, and the number of hidden tests passed (section 3 of the
USACO paper allows it); usaco-code: the uncut feedback of the published USACO code by kind of failure; none: no
feedback, which makes a neutral retry at the same budget.
"""
FEEDBACKS: tuple[str, ...] = get_args(Feedback)

SHOWN = 2_000
"""Characters of an input, output or error message in a prompt (docs/spec.md 6)."""

_TRACEBACK = "Traceback (most recent call last):\n"

_TEMPLATES = {
    verdict: f"feedback/{verdict.lower()}"
    for verdict in (Verdict.AC, Verdict.WA, Verdict.TLE, Verdict.MLE, Verdict.OLE, Verdict.RTE)
}
FEEDBACK_TEMPLATES = (
    *_TEMPLATES.values(),
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
    """The result on one sample; texts are cut to SHOWN characters with a note, unless the whole output is requested.

    `exception` is the text of the exception that ended the program, None without one.
    """

    verdict: Verdict
    input: str
    output: str
    expected: str
    errors: str
    exception: str | None = None


@dataclass(frozen=True)
class SampleRun:
    """The results of a program on the samples.

    `verdict` is also AC where the statement has no sample (docs/spec.md 7.2), and NO_CODE without a program. `errors`
    is the compiler output of a program that does not compile (CE), cut to SHOWN characters; `compiler_output` is the
    same text up to the 4,000 characters that the judge stores.
    """

    verdict: Verdict
    results: tuple[SampleResult, ...] = ()
    errors: str = ""
    compiler_output: str = ""

    @property
    def passed(self) -> bool:
        """Whether there is a program and it passes every sample."""
        return self.verdict is Verdict.AC

    @classmethod
    def of(cls, problem: Problem, stored: Judgement) -> "SampleRun":
        """Return the results of a finished judgement on the samples. Raises PromptLeakError for other tests."""
        if stored.suite != Judgement.TestScope.SAMPLES or stored.result is None:
            raise PromptLeakError(f"judgement {stored.pk} is not a finished one on the samples of {problem}")
        judgement = judge.Judgement.from_json(stored.result)
        samples = {case.name: case for case in problem.tests.filter(origin=TestCase.Origin.SAMPLE)}
        if not all(result.sample and result.name in samples for result in judgement.tests):
            raise PromptLeakError(f"judgement {stored.pk} holds the result of a test that is not a sample")
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
    """The number of hidden tests that a program passes, without any test data."""

    passed: int
    total: int

    @classmethod
    def of(cls, problem: Problem, stored: Judgement) -> "HiddenCount":
        """Return the count of a finished judgement on all tests. Raises PromptLeakError for one that stopped early."""
        if stored.suite != Judgement.TestScope.ALL or stored.result is None or stored.stop_at_first_failure:
            raise PromptLeakError(f"judgement {stored.pk} is not a finished one on every test of {problem}")
        judgement = judge.Judgement.from_json(stored.result)
        passed = sum(not test.sample and test.verdict is Verdict.AC for test in judgement.tests)
        samples = problem.tests.filter(origin=TestCase.Origin.SAMPLE).count()
        return cls(passed, judgement.total - samples)


def describe(
    run: SampleRun, feedback: Feedback, templates: Templates, hidden: HiddenCount | None = None
) -> str:
    """Return the feedback as text. With "verdicts" only the first line of each template is used."""
    if feedback == "none":
        return templates.render("feedback/none")
    if feedback == "usaco-code":
        return _describe_as_published(run, templates)
    if run.verdict is Verdict.NO_CODE:
        return templates.render("feedback/no_code")
    if run.verdict is Verdict.CE:
        texts = [templates.render("feedback/ce", errors=run.errors)]
    elif not run.results:
        texts = [templates.render("feedback/no_samples")]
    else:
        texts = [_result_text(number, result, templates) for number, result in enumerate(run.results, 1)]
    if feedback == "verdicts":
        texts = [text.partition("\n")[0] for text in texts]
    if hidden is not None:
        texts.append(
            templates.render("feedback/hidden_count", passed=str(hidden.passed), total=str(hidden.total))
        )
    return "\n".join(texts)


def _describe_as_published(run: SampleRun, templates: Templates) -> str:
    """Return the feedback of the published USACO code, by kind of failure (docs/spec.md 6).

    The feedback on a wrong answer is input, output and expected output; on an exception its text; on a slow program
    nothing. The code treats excessive memory as an exception without a text, and the end by a signal as a slow
    program. The feedback on a reply that does not compile is the same as on one without a program.
    """
    if run.verdict in (Verdict.NO_CODE, Verdict.CE):
        return templates.render("feedback/unjudged")
    return "\n".join(
        _published_text(number, result, templates) for number, result in enumerate(run.results, 1)
    )


def _published_text(number: int, result: SampleResult, templates: Templates) -> str:
    match result.verdict:
        case Verdict.AC | Verdict.WA:
            return _result_text(number, result, templates)
        case Verdict.OLE:
            return _result_text(number, replace(result, verdict=Verdict.WA), templates)
        case Verdict.RTE | Verdict.MLE if result.exception is not None:
            return templates.render("feedback/exception", number=str(number), exception=result.exception)
    return _result_text(number, replace(result, verdict=Verdict.TLE), templates).partition("\n")[0]


def describe_first_failure(run: SampleRun, templates: Templates) -> str:
    """Return the feedback on the first failed sample, with its texts. Raises StopIteration without one."""
    failures = ((n, result) for n, result in enumerate(run.results, 1) if result.verdict is not Verdict.AC)
    return _result_text(*next(failures), templates)


def _result_text(number: int, result: SampleResult, templates: Templates) -> str:
    return templates.render(
        _TEMPLATES[result.verdict],
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
    """Return `str` of the exception that ended a Python program, or None if a signal ended it.

    This is the text without the type and the traceback; for `sys.exit` it is the exit status or the message.
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
