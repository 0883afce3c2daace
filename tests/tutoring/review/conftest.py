"""Reviewers, an adjudicator, and recorded sessions for the tests of reviews."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

import pytest
from django.contrib.auth.models import User

from accounts.roles import Role
from tests.tutoring.conftest import PersonFactory
from tests.tutoring.review.readings import recorded_session
from tutoring.models import Session

SessionFactory = Callable[..., Session]


@pytest.fixture
def recorded(db: None) -> SessionFactory:
    """Return a factory: `recorded("a", "b")` imports a session with the tutor's messages a and b."""

    def make(*said: str, **head: object) -> Session:
        return recorded_session(str(uuid4()), said or ("Look at the sample.", "Use a heap."), **head)

    return make


@pytest.fixture
def rolf(person: PersonFactory) -> User:
    """Return a second reviewer."""
    return person("rolf", Role.REVIEWER)


@pytest.fixture
def judy(person: PersonFactory) -> User:
    """Return an adjudicator who is a reviewer too."""
    return person("judy", Role.ADJUDICATOR, Role.REVIEWER)
