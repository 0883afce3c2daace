"""The projection of sessions into rows, and the figures, permissions and downloads of the page and the command."""

import json
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from accounts.roles import Role
from benchmark.models import Problem
from tests.tutoring.conftest import PersonFactory
from tests.tutoring.dialogues import TALK, WRONG, SessionUnderTest, start
from tests.tutoring.studies.conftest import FreezeFactory, begin, finish
from tutoring.actions import CloseSession
from tutoring.effort.figures import CostPoint, effort_figures
from tutoring.effort.projection import missing_efforts, project_efforts
from tutoring.models import Assignment, Event, Reply, Session, SessionEffort, Study
from tutoring.protocols import PRESETS
from tutoring.protocols import freeze as freeze_protocol
from tutoring.studies.estimation import contrast
from tutoring.views.effort import _plane


def measured(session: Session, minutes: float, microdollars: int | None = 0) -> SessionEffort:
    values = {
        "version": 1,
        "seconds": 60 * minutes,
        "messages": 3,
        "unknown": 0,
        "microdollars": microdollars,
    }
    return SessionEffort.objects.update_or_create(session=session, defaults=values)[0]


def test_closed_session_is_projected_once(alice: User, doubling: Problem):
    at_once = PRESETS["usaco-2024"].with_settings(seconds_to_first_word=None, characters_per_second=None)
    session = SessionUnderTest(start(alice, doubling, freeze_protocol("at-once", at_once)), alice)
    session.ask_and_get(WRONG)
    session.say("Look at the sample.")
    session.reply(TALK)
    assert not missing_efforts().exists(), "an open session has no effort yet"
    CloseSession(session_id=session.pk, person=session.tutor, command=uuid4(), reason="stuck").execute()
    project_efforts()
    row = SessionEffort.objects.get()
    assert (row.messages, row.unknown, row.microdollars) == (1, 0, None), "the price of the model is unknown"
    assert 0 <= row.seconds < 60
    events = session.events(Event.Kind.REPLY, Event.Kind.MESSAGE)
    assert events[1].at is not None
    assert events[2].at is not None
    assert row.seconds == pytest.approx((events[2].at - events[1].at).total_seconds())
    assert not missing_efforts().exists()


def test_known_prices_give_the_cost_of_the_replies(session: SessionUnderTest):
    session.ask_and_get(WRONG)
    Reply.objects.update(price={"input": 10.0, "output": 20.0})
    CloseSession(session_id=session.pk, person=session.tutor, command=uuid4(), reason="stuck").execute()
    project_efforts()
    assert SessionEffort.objects.get().microdollars == 10 * 10 + 5 * 20


@pytest.fixture
def study(freeze: FreezeFactory, tutors: list[User]) -> Study:
    """A closed study of two arms: sessions of arm-0 are solved and take 6 minutes, the others 4."""
    frozen = freeze()
    for tutor in tutors:
        while Assignment.objects.filter(study=frozen, tutor=tutor, state__in=("planned", "offered")).exists():
            row = begin(tutor)
            assert row.session is not None
            first = row.arm.name == "arm-0"
            finish(row, solved=first)
            measured(row.session, 6 if first else 4, 500_000)
    Study.objects.filter(pk=frozen.pk).update(state=Study.State.CLOSED)
    return frozen


def figures(capsys: pytest.CaptureFixture[str], *options: str) -> Any:
    capsys.readouterr()
    call_command("effort", "--json", *options)
    return json.loads(capsys.readouterr().out)


@pytest.mark.usefixtures("study")
def test_minutes_and_dollars_for_each_solved_problem(capsys: pytest.CaptureFixture[str]):
    found = figures(capsys, "--study", "hints", "--wage", "30")
    first, second = found["groups"]
    assert (first["group"], first["sessions"], first["solved"], first["minutes"]) == ("arm-0", 6, 6, 36)
    assert first["minutes_per_solved"]["ratio"] == pytest.approx(6)
    assert first["dollars_per_solved"]["ratio"] == pytest.approx(0.5 + 6 / 60 * 30)
    assert (second["minutes_per_solved"]["ratio"], second["solved"]) == (None, 0)
    assert second["minutes_per_solved"]["set"][0][0] >= 0, "no minutes are negative"
    assert (found["cost_plane"], found["learning"]) == ([], [])
    assert found["learning_refusal"] == "A slope needs at least 5 tutors with 8 sessions each."
    unknown = figures(capsys, "--study", "hints")
    assert unknown["groups"][0]["dollars"] is None
    assert unknown["groups"][0]["model_dollars"] == pytest.approx(3)


def test_text_csv_and_refusals(capsys: pytest.CaptureFixture[str], study: Study):
    capsys.readouterr()
    call_command("effort", "--study", "hints")
    assert "Wage: unknown" in capsys.readouterr().out
    call_command("effort", "--csv", "--human", "study=hints,attempt=any")
    assert "minutes per solved" in capsys.readouterr().out
    with pytest.raises(CommandError, match="has a measured effort"):
        call_command("effort", "--human", "tutor=nobody")
    with pytest.raises(CommandError, match="is not a condition"):
        call_command("effort", "--human", "colour=red")
    Study.objects.filter(pk=study.pk).update(state=Study.State.RUNNING)
    with pytest.raises(CommandError, match="locked until a look"):
        call_command("effort", "--study", "hints")


def page(person: User, query: str = "") -> str:
    client = Client()
    client.force_login(person)
    return client.get(f"/effort/{query}").content.decode()


def test_who_sees_what(study: Study, tutors: list[User], person: PersonFactory):
    own = page(tutors[0], f"?study={study.pk}")
    assert "Your sessions" in own
    assert "Sessions of people" not in own, "a tutor sees own figures only"
    few = page(person("rosa", Role.RESEARCHER), f"?study={study.pk}")
    assert few.count("Not shown: fewer than 5 people.") == 2, "four tutors"
    assert "6.00 (" not in few
    every = page(person("ada", Role.ADMIN), f"?study={study.pk}&wage=30")
    assert "6.00 (" in every
    assert "Not shown" not in every
    assert not any(tutor.username in every for tutor in tutors), "no page names or ranks people"


def test_the_cost_plane_is_drawn_if_dollars_are_known(study: Study):
    gain = contrast(("arm-0", "neutral"), {"a": [1], "b": [1]}, {"a": [0], "b": [0]})
    assert gain is not None
    study.refresh_from_db()
    points = [CostPoint("arm-0", gain, 0.75), CostPoint("unknown", gain, None)]
    found = replace(effort_figures("", study=study, sees_all=True), plane=tuple(points))
    plot = _plane(found)
    assert plot is not None
    assert [one.name for one in plot.points] == ["arm-0"]
    assert "at 0.75 dollars" in plot.drawing().label
    assert _plane(replace(found, plane=(points[1],))) is None


def test_csv_of_the_page_hides_what_the_page_hides(study: Study, person: PersonFactory):
    text = page(person("rosa", Role.RESEARCHER), f"?study={study.pk}&as=csv")
    assert text.count("hidden: fewer than 5 people") == 2
    assert "minutes per solved" not in text


def test_bad_requests_are_refused(study: Study, person: PersonFactory):
    client = Client()
    client.force_login(person("ada", Role.ADMIN))
    assert client.get("/effort/?people=all&wage=much").status_code == 400
    assert client.get("/effort/?people=all&wage=-1").status_code == 400
    assert client.get("/effort/?study=0").status_code == 404
    assert client.get("/effort/?people=colour%3Dred").status_code == 400
    assert client.get(f"/effort/?study={study.pk}").status_code == 200
