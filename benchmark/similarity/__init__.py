"""Algorithmically similar problems: multiple-choice questions, answers of models and scorers, and their figures.

Source: AlgoSimBench (docs/spec.md 4).
"""
