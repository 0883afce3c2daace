"""The figures, permissions and downloads of the page and the command."""

import json
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from pytest_django import DjangoDbBlocker

from accounts.roles import Role
from tests.tutoring.conftest import PersonFactory
from tests.tutoring.studies.conftest import begin, close_held_study, finish
from tutoring.arms.figures import rows
from tutoring.effort.figures import CostPoint, effort_figures
from tutoring.effort.projection import VERSION
from tutoring.models import Assignment, Session, SessionEffort, Study
from tutoring.studies.estimation import contrast
from tutoring.views.effort import _plane


def measured(session: Session, minutes: float, microdollars: int | None = 0) -> SessionEffort:
    values = {
        "version": VERSION,
        "seconds": 60 * minutes,
        "messages": 3,
        "unknown": 0,
        "microdollars": microdollars,
    }
    return SessionEffort.objects.update_or_create(session=session, defaults=values)[0]


@pytest.fixture(scope="module")
def closed_study(module_rows: DjangoDbBlocker) -> None:
    """Hold a closed study of two arms: sessions of arm-0 are solved and take 6 minutes, the others 4."""
    with module_rows.unblock():
        close_held_study(hold)


def hold(study: Study, tutors: list[User]) -> None:
    """Hold and measure every session of the study."""
    for tutor in tutors:
        while Assignment.objects.filter(study=study, tutor=tutor, state__in=("planned", "offered")).exists():
            row = begin(tutor)
            assert row.session is not None
            first = row.arm.name == "arm-0"
            finish(row, solved=first)
            measured(row.session, 6 if first else 4, 500_000)


@pytest.fixture
def study(closed_study: None, db: None) -> Study:
    """The closed study."""
    return Study.objects.get()


@pytest.fixture
def tutors(study: Study) -> list[User]:
    """The tutors of the study."""
    return list(User.objects.filter(username__startswith="tutor-").order_by("username"))


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
    with pytest.raises(CommandError, match="No session of a person fits 'tutor=nobody'"):
        call_command("effort", "--human", "tutor=nobody")
    Study.objects.filter(pk=study.pk).update(state=Study.State.RUNNING)
    with pytest.raises(CommandError, match="Left out: 12 sessions of a rehearsal, or of a study that still"):
        call_command("effort", "--human", "all")
    with pytest.raises(CommandError, match="is not a condition"):
        call_command("effort", "--human", "colour=red")
    with pytest.raises(CommandError, match="locked until a look"):
        call_command("effort", "--study", "hints")


@pytest.mark.parametrize("fewest", [1, 60], ids=["too many for an address", "named by the address"])
def test_each_group_links_to_its_own_sessions(
    study: Study, person: PersonFactory, monkeypatch: pytest.MonkeyPatch, fewest: int
):
    monkeypatch.setattr(rows, "LINKED_SESSIONS", fewest)
    client = Client()
    client.force_login(person("ada", Role.ADMIN))
    for found in (
        effort_figures("", study=study, sees_all=True),
        effort_figures("attempt=any", sees_all=True),
    ):
        assert found.groups
        for group in found.groups:
            listed = client.get(group.address).context["sessions"]
            assert len(listed) == group.sessions, group.name
            if found.text.startswith("study="):
                assert {one.assignment.arm.name for one in listed} == {group.name}


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
    SessionEffort.objects.all().delete()
    unmeasured = client.get("/effort/?people=attempt%3Dany")
    assert unmeasured.status_code == 400
    assert "has a measured effort" in unmeasured.content.decode()
