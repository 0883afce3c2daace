"""Records that every other package of the judge uses: limits, verdicts, tests and their results."""

from judge.records.judgement import Judgement, Test, TestResult
from judge.records.limits import MEBIBYTE, NEAR_LIMIT, Limits, Policy
from judge.records.text import printable
from judge.records.verdicts import VERDICT_MEANING, Verdict

__all__ = [
    "MEBIBYTE",
    "NEAR_LIMIT",
    "VERDICT_MEANING",
    "Judgement",
    "Limits",
    "Policy",
    "Test",
    "TestResult",
    "Verdict",
    "printable",
]
