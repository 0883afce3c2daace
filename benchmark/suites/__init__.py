"""Test suites: generated inputs, answers of a reference solution, validation by known programs (docs/spec.md 5.1)."""

from benchmark.suites.building import StageProgress, SuiteReport, build_suite, stored_report, suite_report
from benchmark.suites.kill_matrix import KillMatrix, TriedProgram
from benchmark.suites.recipes import COUNTS, NoRecipeError, Recipe, package_recipe, recipe_of
from benchmark.suites.validation import OVERTIME, SuiteValidationError
from benchmark.suites.writing import missing_calls, paid_for, written_programs

__all__ = [
    "COUNTS",
    "OVERTIME",
    "KillMatrix",
    "NoRecipeError",
    "Recipe",
    "StageProgress",
    "SuiteReport",
    "SuiteValidationError",
    "TriedProgram",
    "build_suite",
    "missing_calls",
    "package_recipe",
    "paid_for",
    "recipe_of",
    "stored_report",
    "suite_report",
    "written_programs",
]
