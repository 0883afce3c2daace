"""Invariants of studies under random sequences of actions: states, the flow, and what tutors can see."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.tutoring.studies.conftest import FreezeFactory, abandon, finish, let_expire
from tutoring.actions import Invalidate
from tutoring.models import Assignment, Deviation, Session, Study
from tutoring.sessions.context import RefusedError
from tutoring.sessions.conversation import tutor_view
from tutoring.studies import upkeep
from tutoring.studies.actions import (
    CloseStudy,
    OfferNext,
    RecordDeviation,
    ReportProblem,
    StartAssigned,
    StopStudy,
    TakeLook,
    withdraw_from_studies,
)
from tutoring.studies.flow import study_flow
from tutoring.studies.upkeep import advance_studies
from tutoring.studies.verification import verify
from tutoring.views.socket import status_message

State = Assignment.State
HIDDEN = ("hidden-model-name", "openai", "arm-0", "arm-1", "secret-study", "m@1")
"""The names of the models, the arms and the study."""

NEXT_STATES = {
    State.PLANNED: {State.OFFERED, State.EXCLUDED},
    State.OFFERED: {State.OPEN, State.EXPIRED, State.EXCLUDED},
    State.OPEN: {State.DONE, State.EXCLUDED},
    State.DONE: {State.EXCLUDED},
    State.EXPIRED: set[State](),
    State.EXCLUDED: set[State](),
}

Row = tuple[Any, ...]


@dataclass
class StudyUnderTest:
    """A study with its people. Each method is an action; a refusal must change nothing."""

    study: Study
    tutors: list[User]
    admin: User

    def of(self, tutor: int, *states: State) -> Assignment | None:
        rows = self.study.assignments.filter(tutor=self.tutors[tutor % len(self.tutors)], state__in=states)
        return rows.select_related("session", "tutor").order_by("pk").first()

    def offer(self, number: int) -> None:
        OfferNext(self.tutors[number % len(self.tutors)]).execute()

    def start(self, number: int) -> None:
        offered = self.of(number, State.OFFERED)
        if offered is not None and offered.tutor is not None:
            StartAssigned(offered.tutor, offered.pk).execute()

    def hold(self, number: int) -> None:
        self.offer(number)
        self.start(number)
        self.finish(number)

    def finish(self, number: int) -> None:
        if (row := self.of(number, State.OPEN)) is not None:
            finish(row, solved=number % 2 == 0)

    def abandon(self, number: int) -> None:
        if (row := self.of(number, State.OPEN)) is not None:
            abandon(row)

    def expire(self, number: int) -> None:
        if (row := self.of(number, State.OFFERED, State.OPEN)) is not None:
            let_expire(row)
            advance_studies()

    def advance(self, _: int) -> None:
        advance_studies()

    def report(self, number: int) -> None:
        row = self.of(number, State.OPEN, State.DONE)
        if row is not None and row.session_id and row.tutor is not None:
            ReportProblem(row.tutor, row.session_id, "judge", "It is wrong.").execute()

    def settle(self, number: int) -> None:
        report = self.study.deviations.filter(kind=Deviation.Kind.REPORT, settlement=None).first()
        kind = ("infrastructure", "tutor", "dismissed")[number % 3]
        if report is not None:
            RecordDeviation(self.admin, self.study.pk, kind, "Looked at.", settles=report.pk).execute()

    def exclude(self, number: int) -> None:
        rows = list(self.study.assignments.order_by("pk").values_list("pk", flat=True))
        chosen = [rows[number % len(rows)]]
        RecordDeviation(self.admin, self.study.pk, "infrastructure", "The judge.", chosen).execute()

    def invalidate(self, number: int) -> None:
        if (row := self.of(number, State.DONE)) is not None and row.session_id:
            Invalidate(session_id=row.session_id, person=self.admin, command=uuid4(), reason="?").execute()

    def withdraw(self, number: int) -> None:
        withdraw_from_studies(self.tutors[number % len(self.tutors)], "Leaves.", self.admin)

    def change_problem(self, number: int) -> None:
        frozen = self.study.assignments.order_by("pk")
        problem = frozen[number % frozen.count()].problem
        problem.content_hash = f"{number:064d}"
        problem.save()
        advance_studies()

    def look(self, _: int) -> None:
        TakeLook(self.admin, self.study.pk).execute()

    def stop(self, _: int) -> None:
        StopStudy(self.admin, self.study.pk, "Enough.").execute()

    def close(self, _: int) -> None:
        CloseStudy(self.admin, self.study.pk).execute()

    def rows(self) -> dict[int, Row]:
        """Return the state, the session and the reason of each assignment."""
        return {
            row[0]: row[1:] for row in self.study.assignments.values_list("pk", "state", "session", "reason")
        }

    def perform(self, action: str, number: int) -> None:
        """Perform the action and check the states before and after it."""
        before = self.rows()
        command: Callable[[int], None] = getattr(self, action)
        try:
            command(number)
        except (RefusedError, PermissionDenied):
            # Starting a session of a changed problem is refused after its exclusion.
            assert self.rows() == before or action in ("start", "hold")
        after = self.rows()
        for pk, row in before.items():
            old, new = State(row[0]), State(after[pk][0])
            paths = NEXT_STATES[old] | {one for step in NEXT_STATES[old] for one in NEXT_STATES[step]}
            if action == "hold":
                paths |= {State.DONE}
            assert new == old or new in paths, (action, old, new)
            assert row[1] is None or after[pk][1] == row[1], "an assignment keeps its session"

    def check(self) -> None:
        """Check every invariant of the rows and of the flow."""
        rows = list(self.study.assignments.select_related("arm"))
        # Each assignment is one session at most, and a tutor meets a problem once.
        sessions = [row.session_id for row in rows if row.session_id]
        assert len(sessions) == len(set(sessions)) == Session.objects.filter(tutor__isnull=False).count()
        assert all(bool(row.session_id) >= (row.state in (State.OPEN, State.DONE)) for row in rows)
        met = Counter((row.tutor_id, row.problem_id) for row in rows)
        assert max(met.values()) == 1
        for tutor in self.tutors:
            held = [
                row for row in rows if row.tutor_id == tutor.pk and row.state in (State.OFFERED, State.OPEN)
            ]
            assert len(held) <= 1
        # Replacements follow rows that are left out, and every cell has one line of them.
        replaced = {row.replaces_id: row for row in rows if row.replaces_id}
        by_key = {row.pk: row for row in rows}
        assert all(by_key[pk].state in Assignment.LEFT_OUT for pk in replaced)
        cells = Counter(
            (row.arm_id, row.problem_id, row.replicate) for row in rows if row.replaces_id is None
        )
        assert set(cells.values()) == {1}
        living = Counter(
            (row.arm_id, row.problem_id, row.replicate)
            for row in rows
            if row.state not in Assignment.LEFT_OUT
        )
        assert max(living.values(), default=0) <= 1, "a cell has one assignment that counts"
        # The flow accounts for every assignment.
        flow = study_flow(self.study)
        assert flow.considered == flow.eligible + sum(flow.left_out.values())
        assert flow.assigned == len(rows) == sum(arm.assigned for arm in flow.arms)
        for arm in flow.arms:
            own = [row for row in rows if row.arm.name == arm.arm]
            states = Counter(row.state for row in own)
            assert arm.assigned == len(own) == sum(states.values()) == sum(arm.boxes.values())
            assert arm.replacements == sum(row.replaces_id is not None for row in own)
            for state in (State.PLANNED, State.OFFERED, State.OPEN, State.EXPIRED):
                assert arm.boxes[state] == states[state]
            assert sum(arm.excluded.values()) == states[State.EXCLUDED]
            assert (
                arm.boxes["analysed"] + sum(arm.not_analysed.values()) == states[State.DONE] == arm.completed
            )
            assert arm.assigned >= arm.offered >= arm.started >= arm.completed
            assert arm.offered == sum(row.offered_at is not None for row in own)
            assert arm.started == sum(row.session_id is not None for row in own)
        assert verify(self.study).faults == ()

    def seen_by(self, tutor: User, client: Client) -> list[str]:
        """Return what the pages and the socket send to the tutor."""
        addresses = ["/sessions/", "/problems/"]
        sessions = list(Session.objects.filter(tutor=tutor).order_by("pk"))
        addresses += [f"/sessions/{session.pk}/" for session in sessions]
        addresses += [f"/problems/practice/{name}/" for name in ("doubling", "doubling-1")]
        texts = []
        for address in addresses:
            response = client.get(address)
            assert response.status_code == 200, address
            # The token of the form and the identifiers of commands are random.
            texts.append(re.sub(r'value="[\w-]{30,}"', "", response.content.decode()))
        for session in sessions:
            texts.append(repr(status_message(tutor_view(session, conversation=False))))
        return texts

    def logged_in(self, tutor: User) -> Client:
        """Return a client of the tutor, to whom the pages of trajectories and studies are refused."""
        client = Client()
        client.force_login(tutor)
        for address in ("/trajectories/", "/trajectories/export/", "/studies/", f"/studies/{self.study.pk}/"):
            assert client.get(address).status_code in (403, 404), address
        return client

    def check_concealment(self) -> None:
        """Check that no tutor sees an arm, a model or the study, nor anything that depends on future assignments."""
        clients = [(tutor, self.logged_in(tutor)) for tutor in self.tutors]
        before = [self.seen_by(*client) for client in clients]
        for texts in before:
            for text in texts:
                for hidden in HIDDEN:
                    assert hidden not in text, hidden
        planned = list(self.study.assignments.filter(state=State.PLANNED).order_by("pk"))
        arms = list(self.study.arms.order_by("-pk").values_list("pk", flat=True))
        for row in planned:
            Assignment.objects.filter(pk=row.pk).update(
                arm=arms[0] if row.arm_id != arms[0] else arms[1],
                order=1_000 - row.order,
                replicate=100 + row.pk,
            )
        assert [self.seen_by(*client) for client in clients] == before


MOVES = st.lists(
    st.tuples(
        st.sampled_from(
            [
                *(
                    "offer",
                    "start",
                    "hold",
                    "hold",
                    "finish",
                    "abandon",
                    "expire",
                    "advance",
                    "report",
                    "settle",
                ),
                *("exclude", "invalidate", "withdraw", "change_problem", "look", "stop", "close"),
            ]
        ),
        st.integers(0, 30),
    ),
    min_size=5,
    max_size=25,
)


@pytest.mark.slow
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(moves=MOVES)
def test_every_sequence_of_actions_keeps_the_invariants(
    freeze: FreezeFactory, tutors: list[User], ada: User, moves: list[tuple[str, int]]
):
    with transaction.atomic():
        upkeep._states.clear()
        study = StudyUnderTest(freeze(name="secret-study", stopping={"rule": "sign e-value"}), tutors, ada)
        for action, number in moves:
            study.perform(action, number)
            study.study.refresh_from_db()
            study.check()
        study.check_concealment()
        transaction.set_rollback(True)
