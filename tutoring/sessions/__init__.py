"""The state of a session: events, counters, budgets, allowed commands, dialogue, and the tutor's view."""
