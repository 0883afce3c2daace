"""Lists and figures show nobody the sessions that the person may not read, nor reviewers who held a session."""

from __future__ import annotations

from dataclasses import fields

import pytest
from django.contrib.auth.models import Group, User
from django.utils import timezone

from accounts.roles import Role
from benchmark.models import LanguageModel, Problem
from tests.tutoring.review.browsing import client_of, whole
from tests.tutoring.review.conftest import SessionFactory
from tests.tutoring.review.readings import review
from tutoring.checks.checking import check_session
from tutoring.models import Assignment, Event, ProgramScore, Protocol, Session, Study
from tutoring.models.program_scores import ScoreFigures

SECRET = "openai:the-hidden-model"


@pytest.fixture
def counted(recorded: SessionFactory, rita: User, rolf: User) -> Session:
    """Return a session that every list and figure counts."""
    session = recorded("Solve it.", "You misunderstand the problem: a clue.", model=SECRET, number=1)
    check_session(session)
    review(rita, "A5", "F3"), review(rolf, "A5", "F3")
    return session


LISTS = (
    "/review/sessions/?reviews=any",
    "/review/sessions/?reviews=2",
    "/review/sessions/?measure=verdict",
    "/review/sessions/?settled=settled",
    "/review/labels.csv",
    "/review/detectors/messages/?detector=all+detectors&clause=F3&outcome=agreed",
)
ORIGINS = ("/review/sessions/?rate=1&model=openai%3Athe-hidden-model&attempt=first&claimed=1",)


def shown(person: User, session: Session, *addresses: str) -> set[str]:
    """Return the addresses whose page shows the session to this person."""
    return {address for address in addresses if str(session.pk) in whole(client_of(person).get(address))}


def join(person: User, session: Session, problem: Problem) -> None:
    """Make the session one of a running study whose tutor is this person."""
    study = Study.objects.create(name="s", title="S", state=Study.State.RUNNING, design={})
    study.tutors.add(person)
    model = LanguageModel.objects.create(label="m", spec=SECRET)
    protocol = Protocol.objects.get(name="usaco-2024")
    arm = study.arms.create(name="one", kind="human", position=0, model=model, protocol=protocol)
    Assignment.objects.create(study=study, arm=arm, problem=problem, session=session, replicate=1)


def test_tutors_find_their_own_sessions_in_no_list_of_reviews(
    counted: Session, judy: User, alice: User
) -> None:
    assert shown(judy, counted, *LISTS) == set(LISTS)
    Session.objects.filter(pk=counted.pk).update(tutor=judy)
    assert shown(judy, counted, *LISTS) == set()
    Session.objects.filter(pk=counted.pk).update(tutor=alice)
    assert shown(judy, counted, *LISTS) == set(LISTS)


def test_tutors_of_an_unfinished_study_find_its_sessions_in_no_list(
    counted: Session, rosa: User, doubling: Problem
) -> None:
    event = Event.objects.filter(session=counted, kind="reply").latest("seq")
    unknown = dict.fromkeys(field.name for field in fields(ScoreFigures))
    figures = {**unknown, "measured_at": timezone.now().isoformat(), "verdict": "WA", "fault": ""}
    ProgramScore.objects.create(
        session=counted, event=event, generation=1, distance_to_final=0, figures_record=figures
    )
    addresses = {*LISTS, *ORIGINS, "/program-scores/"}
    assert shown(rosa, counted, *addresses) == addresses
    join(rosa, counted, doubling)
    assert shown(rosa, counted, *addresses) == set()
    Study.objects.update(state=Study.State.CLOSED)
    assert shown(rosa, counted, *addresses) == addresses


@pytest.mark.parametrize("role", [Role.REVIEWER, Role.ADJUDICATOR])
def test_lists_of_rates_do_not_tell_reviewers_which_sessions_people_held(
    counted: Session, alice: User, rosa: User, role: Role
) -> None:
    alice.groups.add(Group.objects.get(name=role))
    for address in ORIGINS:
        assert client_of(rosa).get(address).status_code == 200
        assert client_of(alice).get(address).status_code == 403
    link = "/review/sessions/?rate=1"
    assert link in whole(client_of(rosa).get("/review/solve-rates/"))
    if role == Role.ADJUDICATOR:
        page = whole(client_of(alice).get("/review/solve-rates/"))
        assert "1 of 1" in page
        assert link not in page
