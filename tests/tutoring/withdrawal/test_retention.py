"""The retention period, and withdrawals of tutors of a study."""

from __future__ import annotations

import io
from collections import Counter
from datetime import timedelta

import pytest
from django.conf import settings as site_settings
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.utils import timezone

from benchmark.models import Problem, Runner
from tests.benchmark.reports.conftest import MakeRun, make_run  # noqa: F401  a fixture
from tests.tutoring.dialogues import WRONG
from tests.tutoring.review.browsing import client_of
from tests.tutoring.studies.conftest import (  # noqa: F401  fixtures
    FreezeFactory,
    begin,
    finish,
    freeze,
    model,
    problems,
    tutors,
)
from tests.tutoring.withdrawal.test_consent import CANARY, hold, rows_of_all_tables
from tutoring import sweeps
from tutoring.models import Assignment, AuditEntry, Deviation, Event, PrivateNote, Session, Study, Withdrawal
from tutoring.sessions.context import RefusedError
from tutoring.studies.actions import CloseStudy, ReportProblem, StopStudy
from tutoring.studies.analysis import current_figures
from tutoring.studies.flow import study_flow
from tutoring.studies.methods_text import methods_text
from tutoring.withdrawal import expired_sessions, retain, withdraw_consent


def age(session: Session, days: int) -> None:
    """Make the session this old."""
    moment = timezone.now() - timedelta(days=days)
    Session.objects.filter(pk=session.pk).update(opened_at=moment, closed_at=session.closed_at and moment)
    Event.objects.filter(session=session).update(at=moment)


@pytest.mark.slow
def test_old_sessions_are_erased_after_a_dry_run(alice: User, bob: User, doubling: Problem):
    old, recent = hold(alice, doubling, CANARY, WRONG), hold(bob, doubling, "Think.", WRONG)
    stale = hold(alice, doubling, CANARY, WRONG, end="open")
    age(old, 31)
    age(stale, 31)
    PrivateNote.objects.filter(person=alice).update(saved_at=timezone.now() - timedelta(days=31))
    out = io.StringIO()
    call_command("retention", "--days", "30", stdout=out)
    assert f"{old.pk}  " in out.getvalue()
    assert "Would erase: 2 sessions, 1 private note, older than 30 days" in out.getvalue()
    assert Session.objects.count() == 3
    call_command("retention", "--days", "30", "--erase", stdout=out)
    assert "Erased: 2 sessions, 1 private note," in out.getvalue()
    assert list(Session.objects.all()) == [recent]
    assert CANARY not in rows_of_all_tables()
    [withdrawal] = Withdrawal.objects.all()
    assert (withdrawal.cause, withdrawal.account, withdrawal.sessions.count()) == ("retention", None, 2)
    assert retain(30) is None
    with pytest.raises(CommandError, match="Set RETENTION_DAYS"):
        call_command("retention")


def test_session_after_erased_ones_has_the_number_after_the_last(
    alice: User, doubling: Problem, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(site_settings, "TUTORING_MODEL", "openai:m")
    old, recent = (hold(alice, doubling, "Think.", WRONG) for _ in range(2))
    age(old, 31)
    assert retain(30) is not None
    client = client_of(alice)
    assert "next: session 3 of 3" in client.get(doubling.get_absolute_url()).content.decode()
    last = hold(alice, doubling, "Think.", WRONG)
    assert (recent.number, last.number) == (2, 3)
    page = client.get(doubling.get_absolute_url()).content.decode()
    assert "all 3 sessions on this problem are used" in page
    with pytest.raises(RefusedError, match="All 3 sessions"):
        hold(alice, doubling, "Think.", WRONG)
    age(recent, 31)
    age(last, 31)
    assert retain(30) is not None
    assert hold(alice, doubling, "Think.", WRONG).number == 1


def test_session_that_a_run_in_progress_sends_stays_until_the_run_ends(
    alice: User,
    doubling: Problem,
    make_run: MakeRun,  # noqa: F811
):
    sent, free = (hold(alice, doubling, CANARY, WRONG) for _ in range(2))
    age(sent, 31)
    age(free, 31)
    message = sent.events.filter(kind="message").first()
    assert message is not None
    run = make_run([("bronze", [""])], method="session-sham")
    hints = {run.items.get().problem.external_id: [[message.pk]]}
    run.manifest = {**run.manifest, "prepared": {"sham_hints": hints}}
    run.save(update_fields=["manifest"])
    runner = Runner.objects.create(
        owner="here", run=run, model_spec="openai:m", lease_until=timezone.now() + Runner.LEASE
    )
    retain(30)
    assert list(Session.objects.all()) == [sent]
    assert expired_sessions(30).count() == 0
    runner.delete()
    retain(30)
    assert not Session.objects.exists()


def test_an_open_session_in_use_stays(alice: User, doubling: Problem):
    session = hold(alice, doubling, CANARY, WRONG, end="open")
    Session.objects.update(opened_at=timezone.now() - timedelta(days=99))
    assert retain(30) is None
    assert Session.objects.get() == session


@pytest.mark.slow
def test_workers_apply_the_period_once_an_hour(
    alice: User, doubling: Problem, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sweeps, "_last_retention", [])
    age(hold(alice, doubling, CANARY, WRONG), 31)
    sweeps.apply_retention()
    assert Session.objects.count() == 1, "no period is set"
    monkeypatch.setattr(site_settings, "RETENTION_DAYS", 30)
    sweeps.apply_retention()
    assert not Session.objects.exists()
    age(hold(alice, doubling, CANARY, WRONG), 31)
    sweeps.apply_retention()
    assert Session.objects.count() == 1
    monkeypatch.setattr(sweeps, "_last_retention", [timezone.now() - timedelta(hours=2)])
    sweeps.apply_retention()
    assert not Session.objects.exists()


def test_sessions_of_a_study_stay_until_it_is_closed_and_keep_their_outcomes(
    freeze: FreezeFactory,  # noqa: F811
    tutors: list[User],  # noqa: F811
):
    study = freeze()
    row = begin(tutors[0])
    finish(row, solved=True)
    assert row.session is not None
    age(Session.objects.get(pk=row.session.pk), 31)
    assert retain(30) is None
    Study.objects.filter(pk=study.pk).update(state=Study.State.CLOSED)
    assert retain(30) is not None
    assert Assignment.objects.filter(pk=row.pk, session=None, outcomes__solved=1, state="done").exists()


def test_the_retention_of_a_session_without_reviews_keeps_the_outcome_unknown(
    freeze: FreezeFactory,  # noqa: F811
    tutors: list[User],  # noqa: F811
):
    study = freeze(primary_outcome="solved and compliant")
    for solved in (True, False):
        row = begin(tutors[0])
        finish(row, solved=solved)
        assert row.session is not None
        age(row.session, 31)
    StopStudy(None, study.pk, "Enough.").execute()
    CloseStudy(None, study.pk).execute()
    study.refresh_from_db()
    before = current_figures(study)
    assert retain(30) is not None
    assert not Session.objects.exists()
    withdraw_consent(tutors[0], None)
    after = current_figures(study)
    assert (after.arms, after.later_pairs, after.withdrawn_unknown) == (before.arms, before.later_pairs, 0)
    boxes = sum((arm.boxes for arm in study_flow(study).arms), Counter())
    assert (boxes["analysed"], boxes["not analysed: erased before it was known"]) == (1, 1)
    assert "was withdrawn" not in methods_text(study, study_flow(study), after)


def test_a_withdrawal_leaves_a_deviation_and_the_outcomes_of_a_study(
    freeze: FreezeFactory,  # noqa: F811
    tutors: list[User],  # noqa: F811
):
    study = freeze()
    row = begin(tutors[0])
    assert row.session is not None
    ReportProblem(tutors[0], row.session.pk, "problem", CANARY).execute()
    finish(row, solved=True)
    analysed = sum(arm.boxes["analysed"] for arm in study_flow(study).arms)
    withdraw_consent(tutors[0], None)
    assert Assignment.objects.filter(pk=row.pk, session=None, outcomes__solved=1).exists()
    assert not Session.objects.filter(tutor=tutors[0]).exists()
    kinds = [one.kind for one in study.deviations.all()]
    assert sorted(kinds) == [Deviation.Kind.REPORT, Deviation.Kind.WITHDRAWAL]
    assert CANARY not in rows_of_all_tables()
    assert sum(arm.boxes["analysed"] for arm in study_flow(study).arms) == analysed == 1
    [entry] = AuditEntry.objects.filter(action="WithdrawConsent")
    assert entry.data["studies"] == 1
