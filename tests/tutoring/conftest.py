"""Fixtures of tutoring: people, a problem, a protocol and a session."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import Group, User

from accounts.roles import Role
from benchmark.models import Problem
from tests.problems import store_doubling
from tests.tutoring.dialogues import SessionUnderTest, start
from tutoring.models import Protocol

PersonFactory = Callable[..., User]


def make_person(name: str, *roles: Role) -> User:
    """Return a new account. Its password is the name."""
    user = User.objects.create_user(name, password=name)
    user.groups.set(Group.objects.filter(name__in=roles))
    return user


@pytest.fixture
def person(db: None) -> PersonFactory:
    """A factory of accounts: `person("alice", Role.TUTOR)`. The password is the name."""
    return make_person


@pytest.fixture
def alice(person: PersonFactory) -> User:
    """A tutor."""
    return person("alice", Role.TUTOR)


@pytest.fixture
def bob(person: PersonFactory) -> User:
    """Another tutor."""
    return person("bob", Role.TUTOR)


@pytest.fixture
def rita(person: PersonFactory) -> User:
    """A reviewer."""
    return person("rita", Role.REVIEWER)


@pytest.fixture
def rosa(person: PersonFactory) -> User:
    """A researcher."""
    return person("rosa", Role.RESEARCHER)


@pytest.fixture
def ada(person: PersonFactory) -> User:
    """An admin."""
    return person("ada", Role.ADMIN)


@pytest.fixture
def doubling(db: None) -> Problem:
    """A problem of the practice set: print twice the given number."""
    return store_doubling()


@pytest.fixture
def protocol(db: None) -> Protocol:
    """The default protocol: 5 generations of code, 1 execution, 3 sessions."""
    return Protocol.objects.get(name="usaco-2024")


@pytest.fixture
def session(alice: User, doubling: Problem, protocol: Protocol) -> SessionUnderTest:
    """An open session of Alice. The name of its model must not reach her."""
    started = start(alice, doubling, protocol, "openai:hidden-model-name")
    return SessionUnderTest(started, alice)
