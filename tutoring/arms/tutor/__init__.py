"""The automatic tutor: a model in place of a tutor, with a guard that checks its messages (docs/automatic-tutor.md)."""
