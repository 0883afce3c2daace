"""Rejudgings of programs of runs, sessions and studies: selection, comparison of verdicts, and the switch-over."""
