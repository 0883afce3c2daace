"""Checking of outputs: comparisons, output validators, and input validators in Checktestdata."""

from judge.checking.checkers import Checker, CheckResult, OutputValidator, check
from judge.checking.checktestdata import (
    CHECKTESTDATA,
    CHECKTESTDATA_SUFFIX,
    checktestdata_program,
    checktestdata_version,
)
from judge.checking.open_checker import open_checker
from judge.checking.validators import (
    OpenValidator,
    ValidatorCall,
    ValidatorFaultError,
    ValidatorResult,
    open_validator,
)

__all__ = [
    "CHECKTESTDATA",
    "CHECKTESTDATA_SUFFIX",
    "CheckResult",
    "Checker",
    "OpenValidator",
    "OutputValidator",
    "ValidatorCall",
    "ValidatorFaultError",
    "ValidatorResult",
    "check",
    "checktestdata_program",
    "checktestdata_version",
    "open_checker",
    "open_validator",
]
