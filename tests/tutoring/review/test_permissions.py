"""The roles that may see each review page and execute each command."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client

from tests.tutoring.conftest import PersonFactory
from tests.tutoring.review.browsing import client_of
from tests.tutoring.review.conftest import SessionFactory
from tests.tutoring.review.readings import claim, review
from tutoring.models import AuditEntry, Flag

REVIEWERS = {"reviewer", "other reviewer", "adjudicator", "admin"}
READERS = {*REVIEWERS, "researcher"}
FIGURES = {"adjudicator", "researcher", "admin"}

PAGES = {
    "/review/": REVIEWERS,
    "/review/sessions/": READERS,
    "/review/sessions/{session}/": READERS,
    "/review/reviews/{review}/": {"reviewer"},
    "/review/agreement/": FIGURES,
    "/review/solve-rates/": FIGURES,
    "/review/labels.csv": FIGURES,
    "/review/detectors/": FIGURES,
    "/review/detectors/messages/?detector=all+detectors&clause=F1&outcome=missed": FIGURES,
    "/review/audit/": {"admin"},
    "/review/assignments/": {"admin"},
    "/trajectories/{session}/": READERS,
    "/trajectories/{session}/page.html": READERS,
    "/trajectories/{session}/export.jsonl": READERS,
}
COMMANDS = {
    "/review/next/": REVIEWERS,
    "/review/assign/": {"admin"},
    "/review/assignments/assign/?reviewer=rolf": {"admin"},
    "/review/reviews/{review}/withdraw/": {"admin"},
    "/review/flags/{flag}/answer/": {"admin"},
    "/review/reviews/{review}/draft/": {"reviewer"},
    "/review/reviews/{review}/submit/": {"reviewer"},
    "/review/reviews/{review}/skip/": {"reviewer"},
    "/review/reviews/{review}/flag/": {"reviewer"},
}


@pytest.fixture
def clients(request: pytest.FixtureRequest, person: PersonFactory) -> dict[str, Client]:
    """Return a logged-in client for each role, for an account without a role, and without a login."""
    accounts = {
        "tutor": "alice",
        "reviewer": "rita",
        "other reviewer": "rolf",
        "adjudicator": "judy",
        "researcher": "rosa",
        "admin": "ada",
    }
    people = {name: request.getfixturevalue(account) for name, account in accounts.items()}
    people |= {"nobody": None, "roleless": person("nora")}
    return {name: client_of(user) for name, user in people.items()}


@pytest.mark.slow
def test_pages_open_for_their_roles_only(
    clients: dict[str, Client], recorded: SessionFactory, rita: User, rolf: User
):
    session = recorded()
    done = review(rita, "F1")
    review(rolf, "F1")
    for address, allowed in PAGES.items():
        for name, client in clients.items():
            status = client.get(address.format(session=session.pk, review=done.pk)).status_code
            expected = {200} if name in allowed else {302} if name == "nobody" else {403, 404}
            assert status in expected, f"{name} got {status} for {address}"


@pytest.mark.slow
def test_commands_are_executed_for_their_roles_only(
    clients: dict[str, Client], recorded: SessionFactory, rita: User
):
    recorded("Go on."), recorded("Go on.")
    held = claim(rita)
    raised = Flag.objects.create(session=held.session, raised_by=rita, reason="?", raised_at=held.opened_at)
    form = {
        "kind": "review",
        "reason": "No.",
        "answer": "Yes.",
        "session": held.session_id,
        "reviewer": "rolf",
        "expected": "0",
    }
    for address, may in COMMANDS.items():
        path = address.format(review=held.pk, flag=raised.pk)
        with transaction.atomic():
            for name in sorted(clients, key=lambda name: name in may):
                assert clients[name].get(path).status_code in (302, 403, 405)
                before = AuditEntry.objects.count()
                command = form | {"command": str(uuid4())}
                status = clients[name].post(path, command, headers={"Accept": "application/json"}).status_code
                if name in may:
                    assert status in (200, 409), f"{name} got {status} for {address}"
                else:
                    assert status in (302, 403, 404), f"{name} got {status} for {address}"
                    assert AuditEntry.objects.count() == before
            transaction.set_rollback(True)  # each command starts from the same state
