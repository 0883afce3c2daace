"""The judge: runs programs on tests in a sandbox and returns verdicts. A library without Django.

Other packages import from here. `docs/judge.md` lists the packages of the judge, from the bottom to the top.
"""

from judge import languages  # registers the languages
from judge.cache import temporary_folder
from judge.checking import (
    CHECKTESTDATA,
    CHECKTESTDATA_SUFFIX,
    Checker,
    CheckResult,
    OutputValidator,
    ValidatorFaultError,
    check,
    checktestdata_program,
    checktestdata_version,
    open_checker,
)
from judge.compilation import COMPILER_STOPPED, prepare
from judge.execution import CompilationError, FileNames, OpenProgram, ProgramOutput, open_program
from judge.grading import JUDGE_VERSION, GradingOptions, Problem, Submission, grade
from judge.records import NEAR_LIMIT, VERDICT_MEANING, Judgement, Limits, Policy, Test, TestResult, Verdict
from judge.sandbox import (
    SandboxFaultError,
    SandboxStatus,
    SandboxUnavailableError,
    forbid_programs,
    programs_forbidden,
    sandbox_status,
)
from judge.speed import LARGEST_FACTOR, MachineSpeed, host_name, measure_speed, quantized_factor
from judge.toolchains import (
    FAMILIES,
    LANGUAGES,
    TAGS,
    Family,
    Language,
    ProgramShape,
    ToolMissingError,
    UnknownLanguageError,
    compiler_version,
    get_language,
    is_header,
    language_of,
    limits_for,
    register,
)

__all__ = [
    "CHECKTESTDATA",
    "CHECKTESTDATA_SUFFIX",
    "COMPILER_STOPPED",
    "FAMILIES",
    "JUDGE_VERSION",
    "LANGUAGES",
    "LARGEST_FACTOR",
    "NEAR_LIMIT",
    "TAGS",
    "VERDICT_MEANING",
    "CheckResult",
    "Checker",
    "CompilationError",
    "Family",
    "FileNames",
    "GradingOptions",
    "Judgement",
    "Language",
    "Limits",
    "MachineSpeed",
    "OpenProgram",
    "OutputValidator",
    "Policy",
    "Problem",
    "ProgramOutput",
    "ProgramShape",
    "SandboxFaultError",
    "SandboxStatus",
    "SandboxUnavailableError",
    "Submission",
    "Test",
    "TestResult",
    "ToolMissingError",
    "UnknownLanguageError",
    "ValidatorFaultError",
    "Verdict",
    "check",
    "checktestdata_program",
    "checktestdata_version",
    "compiler_version",
    "forbid_programs",
    "get_language",
    "grade",
    "host_name",
    "is_header",
    "language_of",
    "languages",
    "limits_for",
    "measure_speed",
    "open_checker",
    "open_program",
    "prepare",
    "programs_forbidden",
    "quantized_factor",
    "register",
    "sandbox_status",
    "temporary_folder",
]
