"""The fixtures of studies, for the figures of effort."""

from tests.tutoring.studies.conftest import _forget_states

__all__ = ["_forget_states"]
