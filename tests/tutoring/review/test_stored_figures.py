"""Stored figures equal those of a plain computation, and pages say when they were computed."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import django_rq
import numpy as np
import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client
from django.utils import timezone
from rq.job import Job

from accounts.roles import Role
from benchmark.models import LanguageModel, Problem, Rejudging
from tests.tutoring.conftest import PersonFactory
from tests.tutoring.review.conftest import SessionFactory
from tests.tutoring.review.readings import claim, reading, submit
from tutoring import sweeps
from tutoring.actions import Invalidate
from tutoring.checks.checking import check_session
from tutoring.models import Arm, Assignment, Review, ReviewOutcome, Session, StoredFigures, Study
from tutoring.review import stored_figures
from tutoring.review.agreement import agreement_measures, complete_pairs, measure_agreement, outcomes_of
from tutoring.review.detector_scores import OUTCOMES, score_detectors
from tutoring.review.slots import needing_review, occupying_slot, reviewable
from tutoring.review.solve_rates import solve_rates
from tutoring.review.stored_figures import (
    AGREEMENT,
    DETECTOR_SCORES,
    FIGURES,
    SOLVE_RATES,
    FigureKind,
    messages_name,
)
from tutoring.rules import current_rule_set
from tutoring.sessions.context import RefusedError
from tutoring.withdrawal.erasure import erase_sessions

SAID = (
    "Look at the sample.",
    "Use a heap.",
    "You misunderstand the problem: it wants the minimum.",
    "Go on.",
)
CODES = ("F1", "F2", "F5", "A1", "A6")


@pytest.fixture
def always_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the worker compute the figures of any number of sessions, as often as rows change."""
    for kind in FIGURES.values():
        monkeypatch.setattr(kind, "most_sessions", 0)
    monkeypatch.setattr(stored_figures, "REFRESH", timedelta(0))


@pytest.fixture
def people(person: PersonFactory) -> list[User]:
    roles = (Role.REVIEWER, Role.ADJUDICATOR)
    return [person(name, *roles) for name in ("ann", "ben", "cleo", "dora")]


@dataclass
class History:
    """Random writes that change figures. Each method is a step, with the weight that `STEPS` gives it."""

    drawn: random.Random
    recorded: SessionFactory
    people: list[User]
    admin: User
    problem: Problem
    sessions: list[Session] = field(default_factory=list)

    def steps(self, number: int) -> Iterator[None]:
        """Carry out steps; yield after each."""
        self.record()
        for step in self.drawn.choices(list(STEPS), list(STEPS.values()), k=number):
            step(self)
            yield

    def record(self) -> None:
        said = self.drawn.sample(SAID, self.drawn.randint(1, 3))
        self.sessions.append(self.recorded(*said, outcome=self.drawn.choice(["solved", "not_solved"])))

    def review(self) -> None:
        self._submit(adjudicates=False)

    def adjudicate(self) -> None:
        self._submit(adjudicates=True)

    def _submit(self, *, adjudicates: bool) -> None:
        with suppress(RefusedError, Review.DoesNotExist):
            claimed = claim(self.drawn.choice(self.people), adjudicates=adjudicates)
            messages = claimed.session.events.filter(kind="message").count()
            codes = self.drawn.choices(CODES, k=messages)
            submit(claimed, reading(claimed.session, *codes, comment="By the codebook."))

    def check(self) -> None:
        check_session(self._session())

    def invalidate(self) -> None:
        session = self._session()
        if not session.invalidated:
            Invalidate(
                person=self.admin, command=uuid4(), session_id=session.pk, reason="A test of mine."
            ).execute()

    def erase(self) -> None:
        session = self._session()
        self.sessions.remove(session)
        with transaction.atomic():
            erase_sessions([session.pk])
        self.record()

    def replace_verdict(self) -> None:
        """Replace the outcome of a session, as the application of a rejudging does."""
        session = self._session()
        Rejudging.objects.create(
            reason="The answers were wrong.", selection={}, changes={}, state=Rejudging.State.APPLIED
        )
        solved = session.outcome == Session.Outcome.SOLVED
        session.former_outcome = session.outcome
        session.outcome = Session.Outcome.NOT_SOLVED if solved else Session.Outcome.SOLVED
        session.save()

    def assign(self) -> None:
        """Make a session one of a running study, whose figures are locked, or of a rehearsal."""
        session = self._session()
        if Assignment.objects.filter(session=session).exists():
            return
        study = Study.objects.create(
            name=f"s{session.pk}", title="S", design={}, state="running", rehearsal=self.drawn.random() < 0.5
        )
        model, _ = LanguageModel.objects.get_or_create(label="m", spec="openai:m")
        arm = Arm.objects.create(study=study, name="a", position=0, kind="automatic", method="m", model=model)
        Assignment.objects.create(
            study=study, arm=arm, problem=self.problem, replicate=1, session=session, state="done"
        )

    def close_studies(self) -> None:
        Study.objects.update(state=Study.State.CLOSED)

    def _session(self) -> Session:
        session = self.drawn.choice(self.sessions)
        session.refresh_from_db()
        return session


STEPS: dict[Callable[[History], None], int] = {
    History.record: 3,
    History.review: 12,
    History.adjudicate: 4,
    History.check: 3,
    History.invalidate: 1,
    History.erase: 1,
    History.replace_verdict: 1,
    History.assign: 1,
    History.close_studies: 1,
}


def plain() -> dict[str, Any]:
    """Return all figures as a plain computation over all rows gives them."""
    rules = current_rule_set()
    scores, messages = score_detectors(rules)
    return {
        "agreement": measure_agreement(rules),
        "detectors": scores,
        "messages": {(one.detector, one.clause): one.to_json() for one in messages},
        "solve rates": solve_rates(rules.version),
    }


def stored() -> dict[str, Any]:
    """Return all figures as pages read them."""
    rules = current_rule_set()
    scores = {(one.detector, one.clause) for one in DETECTOR_SCORES.current(rules).figures.rows}
    documents = dict(DETECTOR_SCORES.stored(rules.version).values_list("name", "figures"))
    return {
        "agreement": AGREEMENT.current(rules).figures,
        "detectors": DETECTOR_SCORES.current(rules).figures,
        "messages": {key: documents[messages_name(*key)] for key in scores}
        if documents
        else plain()["messages"],
        "solve rates": SOLVE_RATES.current(rules).figures,
    }


def store_all() -> None:
    for name, version in list(stored_figures.stale_figures()):
        stored_figures.store_figures(name, version)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.usefixtures("always_stored")
def test_stored_figures_equal_the_plain_computation_over_random_histories(
    seed: int, recorded: SessionFactory, people: list[User], person: PersonFactory, doubling: Problem
):
    rules = current_rule_set()
    kinds: dict[str, FigureKind[Any]] = {
        "agreement": AGREEMENT,
        "detectors": DETECTOR_SCORES,
        "solve rates": SOLVE_RATES,
    }
    before = plain()
    history = History(random.Random(seed), recorded, people, person("amy", Role.ADMIN), doubling)
    for _ in history.steps(20):
        now = plain()
        for name, kind in kinds.items():
            if now[name] != before[name]:  # a change of figures is always noticed
                found = StoredFigures.objects.filter(name=name).first()
                assert found is None or kind.current(rules).stale
        store_all()
        assert stored() == now
        assert not any(kind.current(rules).stale for kind in kinds.values())
        assert_projections_equal_the_tables()
        assert_queue_equals_a_count_of_reviews()
        before = now


def assert_projections_equal_the_tables() -> None:
    """Compare the bits of outcomes with the tables of all measures."""
    rules = current_rule_set()
    pairs = complete_pairs(rules.version)
    for measure in agreement_measures(rules):
        tables = pairs.tables(measure)
        units = tables.sum((-2, -1))
        differing = units - np.trace(tables, axis1=-2, axis2=-1)
        for numbers, only in ((units, False), (differing, True)):
            expected = {session for session, number in zip(pairs.sessions, numbers, strict=True) if number}
            found = outcomes_of(rules, measure, differing=only)
            assert set(found.values_list("session", flat=True)) == expected


def assert_queue_equals_a_count_of_reviews() -> None:
    """Compare the queue with a count of the occupied slots of every session."""
    version, now = current_rule_set().version, timezone.now()
    taken: dict[UUID, int] = {}
    for session in Review.objects.filter(
        occupying_slot(now), rule_set=version, slot__in=Review.INDEPENDENT
    ).values_list("session", flat=True):
        taken[session] = taken.get(session, 0) + 1
    expected = {session for session in reviewable().values_list("pk", flat=True) if taken.get(session, 0) < 2}
    assert set(needing_review(version, now).values_list("pk", flat=True)) == expected


class Queue:
    """A queue that collects its jobs."""

    connection = None

    def __init__(self) -> None:
        self.jobs: dict[str, tuple[Any, ...]] = {}

    def enqueue(self, function: Any, *arguments: object, job_id: str, **options: Any) -> None:
        self.jobs[job_id] = (function, *arguments)


@pytest.mark.slow
@pytest.mark.usefixtures("always_stored")
def test_pages_show_the_time_of_stored_figures_and_that_rows_have_changed(
    recorded: SessionFactory, people: list[User], person: PersonFactory, monkeypatch: pytest.MonkeyPatch
):
    queue = Queue()
    monkeypatch.setattr(django_rq, "get_queue", lambda name: queue)
    monkeypatch.setattr(Job, "exists", staticmethod(lambda name, connection: name in queue.jobs))
    client = Client()
    client.force_login(person("rex", Role.RESEARCHER))
    addresses = ("/review/agreement/", "/review/detectors/", "/review/solve-rates/")
    messages = "/review/detectors/messages/?detector=all+detectors&clause=F1&outcome=missed"

    def pages() -> list[str]:
        return [client.get(address).content.decode() for address in (*addresses, messages)]

    def settle(*clauses: str) -> None:
        session = recorded("Solve it.", "Look at the sample.")
        check_session(session)
        for reviewer in people[:2]:
            submit(claim(reviewer), reading(session, *clauses))

    settle("A6", "F1")
    assert all("Computed" not in page for page in pages())  # no worker has stored any yet
    for _ in range(2):
        sweeps.enqueue_stale_figures()
    assert sorted(queue.jobs) == ["figures-agreement-1", "figures-detectors-1", "figures-solve-rates-1"]
    for function, *arguments in queue.jobs.values():
        function(*arguments)
    queue.jobs.clear()
    sweeps.enqueue_stale_figures()
    assert not queue.jobs
    assert all("Computed" in page and "have changed since" not in page for page in pages())
    settle("F1", "F1")
    found = pages()
    assert all("have changed since" in page for page in found)
    assert re.search(r">1 session</a> with two reviews", found[0])
    store_all()
    found = pages()
    assert all("have changed since" not in page for page in found)
    assert re.search(r">2 sessions</a> with two reviews", found[0])
    assert found[3].count("Look at the sample.") == 2


@pytest.mark.usefixtures("always_stored")
def test_figures_of_a_removed_detector_are_deleted_and_refused(recorded: SessionFactory, people: list[User]):
    rules = current_rule_set()
    StoredFigures.objects.create(
        name=messages_name("gone", "F1"), rule_set=rules.version, computed_at=timezone.now(),
        fingerprint=f"{stored_figures.DOCUMENT_VERSION} old", figures={key: [] for key in OUTCOMES},
    )  # fmt: skip
    session = recorded("Use a heap.")
    for reviewer in people[:2]:
        submit(claim(reviewer), reading(session, "F1"))
    store_all()
    assert not StoredFigures.objects.filter(name=messages_name("gone", "F1")).exists()
    assert DETECTOR_SCORES.document(rules, messages_name("gone", "F1")) is None


@pytest.mark.usefixtures("always_stored")
def test_an_imported_adjudication_older_than_other_outcomes_changes_the_figures(
    recorded: SessionFactory, people: list[User]
):
    rules = current_rule_set()
    for _ in range(2):
        session = recorded("Use a heap.")
        for reviewer, clause in zip(people, ("F1", "A6"), strict=False):
            submit(claim(reviewer), reading(session, clause))
    store_all()
    first = ReviewOutcome.objects.earliest("at")
    first.verdict = "minor"
    first.save()  # `at` stays that of the reviews
    assert DETECTOR_SCORES.current(rules).stale


@pytest.mark.usefixtures("always_stored")
def test_the_erasure_of_a_session_deletes_the_figures_that_count_it(
    recorded: SessionFactory, people: list[User]
):
    session = recorded("Use a heap.")
    for reviewer in people[:2]:
        submit(claim(reviewer), reading(session, "F1"))
    store_all()
    assert AGREEMENT.current(current_rule_set()).figures.sessions == 1
    with transaction.atomic():
        erase_sessions([session.pk])
    assert not StoredFigures.objects.exists()
    assert AGREEMENT.current(current_rule_set()).figures.sessions == 0
