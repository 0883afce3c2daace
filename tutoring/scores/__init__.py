"""Scores of a session's programs on the hidden tests, for researchers only."""
