"""The fixtures of studies, for the figures of effort."""

from tests.tutoring.studies.conftest import _forget_states, freeze, model, problems, tutors

__all__ = ["_forget_states", "freeze", "model", "problems", "tutors"]
