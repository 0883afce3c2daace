"""Algorithmically similar problems: questions about them, what stands for a problem in them, and how well they are
answered (AlgoSimBench; docs/spec.md 4)."""
