"""The judge: runs a program against tests in a sandbox and says a verdict. A library without Django."""

from judge.answer_checking import open_checker
from judge.checkers import Checker, CheckingProgram, CheckResult, check
from judge.checktestdata import CHECKTESTDATA, checktestdata_program, checktestdata_version
from judge.execution import CannotCompile, Execution, OpenProgram, open_program
from judge.grading import JUDGE_VERSION, grade
from judge.judgement import Judgement, Test, TestResult
from judge.languages import (
    LANGUAGES,
    Language,
    ToolMissing,
    UnknownLanguage,
    compiler_version,
    get_language,
    language_of,
)
from judge.limits import Limits, Policy, limits_for
from judge.precompiled_headers import prepare
from judge.program_runs import FileNames
from judge.sandbox import SandboxFault, SandboxStatus, SandboxUnavailable, sandbox_status
from judge.validators import CheckerFault
from judge.verdicts import VERDICT_MEANING, Verdict

__all__ = [
    "CHECKTESTDATA",
    "JUDGE_VERSION",
    "LANGUAGES",
    "VERDICT_MEANING",
    "CannotCompile",
    "CheckResult",
    "Checker",
    "CheckerFault",
    "CheckingProgram",
    "Execution",
    "FileNames",
    "Judgement",
    "Language",
    "Limits",
    "OpenProgram",
    "Policy",
    "SandboxFault",
    "SandboxStatus",
    "SandboxUnavailable",
    "Test",
    "TestResult",
    "ToolMissing",
    "UnknownLanguage",
    "Verdict",
    "check",
    "checktestdata_program",
    "checktestdata_version",
    "compiler_version",
    "get_language",
    "grade",
    "language_of",
    "limits_for",
    "open_checker",
    "open_program",
    "prepare",
    "sandbox_status",
]
