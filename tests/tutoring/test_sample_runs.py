"""Runs on the samples: an option of protocols, off in the presets, that spends no execution."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

import judge
from benchmark.judging import perform
from benchmark.models import Judgement, Problem
from tests.tutoring.dialogues import RIGHT, WRONG, SessionUnderTest, start
from tests.tutoring.review.browsing import client_of
from tutoring.actions import CloseSession, RunSamples
from tutoring.models import Event, Protocol, Session
from tutoring.models.payloads import SampleRunFinished
from tutoring.protocols import PRESETS, freeze, rules_of
from tutoring.sessions.context import RefusedError, SessionContext
from tutoring.sweeps import record_missed_verdicts
from tutoring.trajectories.json_lines import to_record


@pytest.fixture
def sampled(alice: User, doubling: Problem) -> SessionUnderTest:
    """An open session with a wrong program under a protocol with two runs on the samples."""
    rules = PRESETS["usaco-2024"].with_settings(title="With samples", sample_runs=2)
    held = SessionUnderTest(start(alice, doubling, freeze("with-samples", rules)), alice)
    held.ask_and_get(WRONG)
    return held


def run_samples(session: SessionUnderTest) -> Judgement:
    RunSamples(session_id=session.pk, person=session.tutor, command=uuid4()).execute()
    judgement = session.refresh().sample_judgement
    assert judgement is not None
    return judgement


def result(session: SessionUnderTest) -> SampleRunFinished:
    return session.events(Event.Kind.SAMPLE_RESULT)[-1].payload_as(SampleRunFinished)


def test_presets_have_no_sample_runs_and_keep_their_hash(session: SessionUnderTest):
    for preset in PRESETS.values():
        assert preset.sample_runs == 0
        assert "sample_runs" not in preset.to_json()
    session.ask_and_get(RIGHT)
    with pytest.raises(RefusedError, match="no runs on the samples"):
        run_samples(session)
    page = client_of(session.tutor).get(f"/sessions/{session.pk}/").content.decode()
    assert "Run samples" not in page


def test_the_option_is_frozen_with_the_protocol_and_told_to_tutors(db: None):
    call_command("freeze_protocol", "samples", "--title=Samples", "--set=sample_runs=3")
    rules = rules_of(Protocol.objects.get(name="samples"))
    assert rules.sample_runs == 3
    assert "on the samples, up to 3 times in a session" in rules.verdict_policy


def test_a_run_spends_no_execution_and_the_session_continues(sandbox: object, sampled: SessionUnderTest):
    judgement = run_samples(sampled)
    assert judgement.suite == Judgement.TestScope.SAMPLES
    assert sampled.row.state == Session.State.OPEN
    with pytest.raises(RefusedError, match="Wait for their result"):
        run_samples(sampled)
    sampled.say("Meanwhile, read the statement again.")
    perform(judgement.pk)
    recorded = result(sampled)
    assert (recorded.verdict, recorded.passed, recorded.total, recorded.failed) == (
        judge.Verdict.WA,
        0,
        1,
        [1],
    )
    budget = SessionContext.of(sampled.refresh()).budget
    assert (budget.sample_runs_used, budget.executions_used, sampled.row.executions) == (1, 0, 0)
    assert sampled.row.sample_judgement is None
    sampled.reply(RIGHT)
    perform(run_samples(sampled).pk)
    assert result(sampled).verdict == judge.Verdict.AC
    with pytest.raises(RefusedError, match="All 2 runs on the samples are used"):
        run_samples(sampled)
    sampled.execute()
    sampled.judge()
    assert sampled.row.outcome == Session.Outcome.SOLVED


def test_tutor_reviewer_and_export_have_the_events(sandbox: object, sampled: SessionUnderTest, rita: User):
    perform(run_samples(sampled).pk)
    page = client_of(sampled.tutor).get(f"/sessions/{sampled.pk}/").content.decode()
    assert "Samples: 0 of 1 passed." in page
    assert "1 of 2 left" in page
    CloseSession(session_id=sampled.pk, person=sampled.tutor, command=uuid4(), reason="stuck").execute()
    record = client_of(rita).get(f"/trajectories/{sampled.pk}/").content.decode()
    assert "No execution was used." in record
    assert "0 of 1 samples passed. Failed: 1." in record
    kinds = [event["kind"] for event in to_record(sampled.refresh())["events"]]
    assert [kind for kind in kinds if kind.startswith("sample")] == ["sample_run", "sample_result"]


def fail(judgement: Judgement) -> None:
    Judgement.objects.filter(pk=judgement.pk).update(
        state=Judgement.State.FAILED, verdict="JE", fault="no sandbox"
    )


def test_a_fault_of_the_judge_does_not_count_and_a_lost_result_is_recorded(sampled: SessionUnderTest):
    fail(run_samples(sampled))
    record_missed_verdicts()
    record_missed_verdicts()
    assert len(sampled.events(Event.Kind.SAMPLE_RESULT)) == 1
    assert (result(sampled).verdict, result(sampled).fault) == (None, "no sandbox")
    budget = SessionContext.of(sampled.refresh()).budget
    assert budget.sample_runs_used == 0
    page = client_of(sampled.tutor).get(f"/sessions/{sampled.pk}/").content.decode()
    assert "The run does not count." in page


def test_result_after_the_end_of_the_session_is_not_recorded(sampled: SessionUnderTest):
    judgement = run_samples(sampled)
    CloseSession(session_id=sampled.pk, person=sampled.tutor, command=uuid4(), reason="stuck").execute()
    fail(judgement)
    record_missed_verdicts()
    assert not sampled.events(Event.Kind.SAMPLE_RESULT)
    assert sampled.refresh().sample_judgement is None


def test_only_the_sessions_tutor_runs_samples(sampled: SessionUnderTest, bob: User, doubling: Problem):
    answer = client_of(bob).post(f"/sessions/{sampled.pk}/samples/", {"command": str(uuid4())})
    assert answer.status_code == 404
    doubling.tests.filter(origin="sample").delete()
    with pytest.raises(RefusedError, match="no samples"):
        run_samples(sampled)
