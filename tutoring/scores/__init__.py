"""Scores of a session's programs on all tests, for researchers only."""
