"""Pages of runs, for researchers and admins: lists, one run, its rows, comparisons and curves.

Nothing of hidden tests but verdicts, times and memory is ever read for them.
"""
