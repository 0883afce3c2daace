"""The growth of a session's programs: requested after the session, shown to its tutor and to readers."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from benchmark.growth.examples import QUADRATIC
from benchmark.models import GrowthCurve, Problem, SizedGenerator
from tests.tutoring.dialogues import WRONG, SessionUnderTest, start
from tutoring.actions import CloseSession
from tutoring.models import Review
from tutoring.protocols import PRESETS, Rules, freeze


@pytest.fixture
def sized(doubling: Problem) -> Problem:
    SizedGenerator.objects.create(
        problem=doubling,
        order=0,
        parameter="n",
        name="draw.py",
        language="python",
        files={"main.py": "print(1)"},
        arguments="{size} {seed}",
        largest=1000,
    )
    return doubling


def close(session: SessionUnderTest, person: User) -> None:
    CloseSession(session_id=session.pk, person=person, command=uuid4(), reason="stuck").execute()


def measure() -> None:
    GrowthCurve.objects.update(state=GrowthCurve.State.DONE, points=QUADRATIC.to_json(), parameter="n")


def test_growth_is_measured_and_shown_after_the_session(
    session: SessionUnderTest, sized: Problem, alice: User, rosa: User, client: Client
):
    address = f"/sessions/{session.pk}/growth/"
    client.force_login(alice)
    session.ask_and_get(WRONG)
    assert client.get(address).status_code == 404
    close(session, alice)
    assert GrowthCurve.objects.get().state == GrowthCurve.State.QUEUED
    assert "Waiting for measurement" in client.get(address).content.decode()
    measure()
    assert "about n^2.0" in client.get(address).content.decode()
    client.force_login(rosa)
    assert "about n^2.0" in client.get(f"/trajectories/{session.pk}/growth/").content.decode()
    assert "Growth of programs" in client.get(f"/trajectories/{session.pk}/").content.decode()


def test_reviewers_see_growth_only_after_their_review(
    session: SessionUnderTest, alice: User, rita: User, client: Client
):
    """Only sessions that people held here have curves, so a reviewer would learn who held the session."""
    session.ask_and_get(WRONG)
    close(session, alice)
    client.force_login(rita)
    assert client.get(f"/trajectories/{session.pk}/growth/").status_code == 403
    assert "Growth of programs" not in client.get(f"/trajectories/{session.pk}/").content.decode()
    Review.objects.create(
        session_id=session.pk,
        rule_set=1,
        reviewer=rita,
        by="r",
        opened_at=timezone.now(),
        state=Review.State.SUBMITTED,
    )
    assert client.get(f"/trajectories/{session.pk}/growth/").status_code == 200
    assert "Growth of programs" in client.get(f"/trajectories/{session.pk}/").content.decode()


def test_a_protocol_may_show_growth_during_the_session(sized: Problem, alice: User, client: Client):
    rules = PRESETS["usaco-2024"].with_settings(show_growth=True)
    open_session = SessionUnderTest(start(alice, sized, freeze("growth", rules), "openai:m"), alice)
    open_session.ask_and_get(WRONG)
    client.force_login(alice)
    page = client.get(f"/sessions/{open_session.pk}/").content.decode()
    assert "you may look at the measured growth" in page
    assert client.post(f"/sessions/{open_session.pk}/growth/").status_code == 302
    measure()
    assert "about n^2.0" in client.get(f"/sessions/{open_session.pk}/growth/").content.decode()


def test_protocols_without_the_setting_keep_their_stored_rules():
    stored = PRESETS["usaco-2024"].to_json()
    assert "show_growth" not in stored
    assert Rules.from_json(stored, "preset") == PRESETS["usaco-2024"]
    shown = PRESETS["usaco-2024"].with_settings(show_growth=True).to_json()
    assert shown["show_growth"] is True


def test_a_problem_without_sizes_requests_nothing(session: SessionUnderTest, alice: User):
    session.ask_and_get(WRONG)
    close(session, alice)
    assert not GrowthCurve.objects.exists()
