"""Fixtures of studies: problems, a model, tutors, and a frozen study."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from accounts.roles import Role
from benchmark.models import LanguageModel, Problem, Run
from tests.problems import store_doubling
from tests.tutoring.arms.arm_rows import store_arm
from tests.tutoring.conftest import make_person
from tests.tutoring.studies.designs import design_data
from tutoring.actions import AcceptConsent, CloseSession
from tutoring.models import AbandonReason, Assignment, Protocol, ReviewOutcome, Session, Study
from tutoring.protocols import consent_hash, rules_of
from tutoring.rules import current_rule_set
from tutoring.sessions.assignments import end_assignment
from tutoring.studies import upkeep
from tutoring.studies.actions import FreezeStudy, OfferNext, StartAssigned
from tutoring.studies.design import OUTCOMES, parse_design


@pytest.fixture(autouse=True)
def _forget_states() -> None:
    """Clear what this process remembers of studies: each test has a study with the same primary key."""
    upkeep._states.clear()


def store_problems() -> list[Problem]:
    """Store six problems of the practice set, copies of one: three bronze, three silver."""
    first = store_doubling()
    tests = list(first.tests.all())
    found = [first]
    for number in range(1, 6):
        copy = Problem.objects.get(pk=first.pk)
        copy.pk, copy.external_id, copy.tier = (
            None,
            f"doubling-{number}",
            "silver" if number % 2 else "bronze",
        )
        copy._state.adding = True
        copy.save()
        for test in tests:
            test.pk, test.problem = None, copy
            test._state.adding = True
            test.save()
        found.append(copy)
    return found


@pytest.fixture
def problems(db: None) -> list[Problem]:
    """The problems of `store_problems`."""
    return store_problems()


def store_model() -> LanguageModel:
    """Store the model `m@1` of the arms."""
    return LanguageModel.objects.create(label="m", spec="openai:hidden-model-name")


@pytest.fixture
def model(db: None) -> LanguageModel:
    """The model of `store_model`."""
    return store_model()


def make_tutors() -> list[User]:
    """Return four tutors who have accepted the consent text."""
    people = [make_person(f"tutor-{number}", Role.TUTOR) for number in range(4)]
    protocol = Protocol.objects.get(name="usaco-2024")
    for one in people:
        AcceptConsent(one, protocol, consent_hash(rules_of(protocol))).execute()
    return people


@pytest.fixture
def tutors(db: None) -> list[User]:
    """The tutors of `make_tutors`."""
    return make_tutors()


FreezeFactory = Callable[..., Study]


def freeze_study(tutors: list[User], /, **changes: Any) -> Study:
    """Freeze a study of two human arms on the six problems, with changed fields."""
    names = [one.username for one in tutors]
    data = design_data(problems={"dataset": "practice"}, tutors=names, strata="none") | changes
    return FreezeStudy(None, parse_design(data), accept_gate=True).execute()


def close_held_study(hold: Callable[[Study, list[User]], None], **changes: Any) -> None:
    """Freeze a study with changed fields on stored problems, let `hold` hold the tutors' sessions, and close it."""
    store_problems()
    store_model()
    tutors = make_tutors()
    study = freeze_study(tutors, **changes)
    hold(study, tutors)
    Study.objects.filter(pk=study.pk).update(state=Study.State.CLOSED)


@pytest.fixture
def freeze(problems: list[Problem], model: LanguageModel, tutors: list[User]) -> FreezeFactory:
    """Freeze a study of two human arms on the six problems; `freeze(expiry_days=3)` changes fields."""
    return partial(freeze_study, tutors)


def begin(tutor: User) -> Assignment:
    """Open the tutor's next session and return its assignment."""
    offered = OfferNext(tutor).execute()
    assert offered is not None
    StartAssigned(tutor, offered.pk).execute()
    offered.refresh_from_db()
    return offered


def finish(assignment: Assignment, *, solved: bool) -> None:
    """End the session of the assignment with a verdict, as a judged execution does."""
    session = assignment.session
    assert session is not None
    now = timezone.now()
    session.state, session.closed_at = Session.State.CLOSED, now
    session.outcome = Session.Outcome.SOLVED if solved else Session.Outcome.NOT_SOLVED
    session.save()
    end_assignment(session, now)
    assignment.refresh_from_db()


def store_chains(study: Study, name: str, programs: str, protocol: Protocol | None = None) -> Run:
    """Store the run of an arm of automatic sessions: one chain with these program outcomes for each assignment."""
    arm = study.arms.get(name=name)
    rows = {row.problem: row for row in study.assignments.filter(arm=arm).select_related("problem")}
    run = store_arm(
        arm.method.removeprefix("session-"), {problem: [programs] for problem in rows},
        protocol=protocol or Protocol.objects.get(name="usaco-2024"), model=arm.model, model_spec=arm.model.spec,
    )  # fmt: skip
    for item in run.items.select_related("problem"):
        row = rows[item.problem]
        row.work_item, row.state, row.ended_at = item, Assignment.State.DONE, timezone.now()
        row.save()
    arm.run = run
    arm.save()
    return run


def review(assignment: Assignment, verdict: str = "compliant") -> None:
    """Store the verdict of the reviews of the session."""
    assert assignment.session is not None
    ReviewOutcome.objects.create(
        session=assignment.session,
        rule_set=current_rule_set().version,
        verdict=verdict,
        at=timezone.now(),
    )


def end_chains(study: Study, *, solved: Callable[[Assignment], bool]) -> None:
    """End every chain of the automatic arms with an outcome."""
    for row in study.assignments.filter(tutor=None):
        row.state, row.outcomes = Assignment.State.DONE, dict.fromkeys(OUTCOMES, int(solved(row)))
        row.save()


def abandon(assignment: Assignment) -> None:
    """Close the session without an execution."""
    assert assignment.session is not None
    assert assignment.tutor is not None
    CloseSession(
        session_id=assignment.session.pk,
        person=assignment.tutor,
        command=uuid4(),
        why=AbandonReason.NO_TIME,
        reason="",
    ).execute()
    assignment.refresh_from_db()


def let_expire(assignment: Assignment) -> None:
    Assignment.objects.filter(pk=assignment.pk).update(expires_at=timezone.now() - timedelta(seconds=1))


def hold_all(tutors: list[User], solved: Callable[[Assignment], bool]) -> None:
    """Hold every remaining session of the tutors."""
    for tutor in tutors:
        while OfferNext(tutor).execute() is not None:
            assignment = begin(tutor)
            finish(assignment, solved=solved(assignment))
