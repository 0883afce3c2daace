"""The pages of the problem bank and of runs."""
