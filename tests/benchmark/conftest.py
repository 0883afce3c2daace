"""Fixtures shared by the tests of pages of the benchmark."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from accounts.roles import Role


@pytest.fixture
def browser(db: None) -> Callable[[Role], Client]:
    """A function that returns a logged-in client with a role."""

    def log_in(role: Role) -> Client:
        user, _ = User.objects.get_or_create(username=role)
        user.groups.set(Group.objects.filter(name=role))
        client = Client()
        client.force_login(user)
        return client

    return log_in


@pytest.fixture
def researcher(client: Client, db: None) -> Client:
    """The client of the test, logged in as a researcher."""
    user = User.objects.create_user("researcher")
    user.groups.set(Group.objects.filter(name=Role.RESEARCHER))
    client.force_login(user)
    return client
