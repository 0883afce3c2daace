"""Evaluators: they run a program on tests and check its output, in one way for each kind of problem."""

from judge.evaluators.evaluator import TestEvaluator
from judge.evaluators.opening import open_evaluator
from judge.evaluators.results import judge_error

__all__ = ["TestEvaluator", "judge_error", "open_evaluator"]
