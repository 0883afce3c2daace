"""Rejudgings of arms: automatic sessions, and their comparison with the sessions of people."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from benchmark.judging import apply_rejudging
from benchmark.models import Problem, Run
from benchmark.runner.manifest import dataset_hash
from tests.tutoring.arms.test_sessions import finished, held  # noqa: F401  a fixture
from tests.tutoring.dialogues import RIGHT, WRONG, SessionUnderTest, start
from tests.tutoring.rejudging.corrections import correct, judged_again
from tutoring.actions import CloseSession
from tutoring.arms.figures.rows import ComparedRows, read_rows
from tutoring.arms.projection import project
from tutoring.models import Protocol, Session
from tutoring.models.payloads import SessionClosed, VerdictReplaced
from tutoring.rejudging.selection import Selection
from tutoring.rules import current_rule_set

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("sandbox")]


def compared(run: Run) -> ComparedRows:
    return read_rows("attempt=any", [run], current_rule_set().version)


def test_chains_and_people_stay_comparable_after_a_correction(
    held: SessionUnderTest,  # noqa: F811
    doubling: Problem,
    bob: User,
    protocol: Protocol,
):
    run, item = finished("session-verdict", doubling, WRONG, RIGHT)
    [chain] = project(run, [item])
    run.state, run.finished_at = Run.State.FINISHED, timezone.now()
    run.manifest["dataset"] = {"content_hash": dataset_hash(doubling.dataset)}
    run.save()
    abandoned = start(bob, doubling, protocol, "openai:m")
    CloseSession(session_id=abandoned.pk, person=bob, command=uuid4(), reason="stuck").execute()
    before = compared(run)
    assert len(before.people) == 2
    assert [dict(arm.chains) for arm in before.arms] == [{doubling.pk: {"WA": 1}}]
    correct(doubling)
    only_chains = judged_again(Selection(runs=(run,)))
    apply_rejudging(only_chains.pk, None)
    # The executed session of a person was judged on other tests than the chains; the abandoned one on none.
    assert [one.pk for one in compared(run).people] == [abandoned.pk]
    apply_rejudging(judged_again(Selection(sessions=(held.row,))).pk, None)
    after = compared(run)
    assert {one.pk: one.solved for one in after.people} == {held.pk: False, abandoned.pk: False}
    assert [dict(arm.chains) for arm in after.arms] == [{doubling.pk: {"WW": 1}}]
    chain.refresh_from_db()
    assert (chain.outcome, chain.former_outcome, chain.program_outcomes) == ("not_solved", "solved", "WW")


def test_a_replaced_verdict_of_an_imported_run_is_an_event_of_its_session(doubling: Problem):
    """The session is recreated under the former verdict, which the policy saw, and gets both."""
    run, item = finished("session-verdict", doubling, WRONG, RIGHT)
    former = item.generations.get(step=1)
    new = former.hidden_judgement
    assert new is not None
    old = type(new).objects.get(pk=new.pk)
    old.pk, old.verdict, old.counts = None, "AC", False
    old._state.adding = True
    old.save()
    new.verdict, new.replaces = "WA", old
    new.save()
    [session] = project(run, [item])
    assert (session.outcome, session.former_outcome, session.program_outcomes) == (
        "not_solved",
        "solved",
        "WW",
    )
    *_, closed, replaced = Session.objects.get(pk=session.pk).events.all()
    assert closed.payload_as(SessionClosed).outcome == "solved"
    payload = replaced.payload_as(VerdictReplaced)
    assert (payload.former, payload.verdict, payload.rejudging) == ("AC", "WA", None)
