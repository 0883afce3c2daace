"""Test suites: made by generators, answered by a reference, measured by known programs (METHODS.md 5.1)."""

from benchmark.suites.building import Progress, SuiteReport, build_suite, suite_report
from benchmark.suites.kill_matrix import KillMatrix, TriedProgram
from benchmark.suites.recipes import COUNTS, NoRecipe, Recipe, package_recipe
from benchmark.suites.validation import ValidationFault

__all__ = [
    "COUNTS",
    "KillMatrix",
    "NoRecipe",
    "Progress",
    "Recipe",
    "SuiteReport",
    "TriedProgram",
    "ValidationFault",
    "build_suite",
    "package_recipe",
    "suite_report",
]
