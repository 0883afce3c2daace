"""The state of a session: its events, budgets, dialogue and what its page shows."""
