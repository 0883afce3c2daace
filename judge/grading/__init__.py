"""Grading: the verdict on a submission to a problem."""

from judge.grading.grading import JUDGE_VERSION, grade
from judge.grading.requests import GradingOptions, Problem, Submission

__all__ = ["JUDGE_VERSION", "GradingOptions", "Problem", "Submission", "grade"]
