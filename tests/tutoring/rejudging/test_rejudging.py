"""Rejudgings: judged beside the former verdicts, compared, and applied or discarded at once."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from benchmark import judging
from benchmark.judging import RejudgingError, apply_rejudging, discard_rejudging, perform_next, progress_of
from benchmark.judging.problem_versions import JudgedVersion, describe_changes
from benchmark.models import CachedRunReport, Generation, Judgement, Problem, ProblemVersion, Rejudging, Run
from benchmark.reports import run_report
from benchmark.reports.cached_report import runs_without_report, store_report
from benchmark.worker.kinds import WorkerKind
from judge import Checker
from tests.benchmark.test_sweeps import Queues, queues  # noqa: F401  a fixture
from tests.tutoring.dialogues import SessionUnderTest
from tests.tutoring.rejudging.corrections import (
    DOUBLE,
    TRIPLE,
    correct,
    hold,
    judged_again,
    request,
    store_run,
    verdicts,
)
from tests.tutoring.review.browsing import client_of, whole
from tutoring.models import Event, Session
from tutoring.models.payloads import VerdictReplaced
from tutoring.rejudging.comparison import compare_verdicts
from tutoring.rejudging.selection import Selection, select_programs
from tutoring.sessions.conversation import status_for_tutor, tutor_view
from tutoring.trajectories.json_lines import to_record

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("sandbox")]


def rejudge(*arguments: str) -> Any:
    """Return the JSON document of the command."""
    out = StringIO()
    call_command("rejudge", *arguments, "--json", stdout=out, stderr=StringIO())
    return json.loads(out.getvalue())


def transitions(comparison: dict[str, Any]) -> dict[tuple[str, str], int]:
    return {(one["former"], one["verdict"]): one["count"] for one in comparison["transitions"]}


def test_an_import_stores_the_version_that_it_replaces(doubling: Problem):
    before = JudgedVersion.present(doubling)
    correct(doubling)
    stored = ProblemVersion.objects.get()
    assert (stored.content_hash, stored.checker) == ("0" * 64, doubling.checker)
    assert JudgedVersion.of_hash(doubling, "0" * 64) == before
    assert JudgedVersion.of_hash(doubling, "f" * 64) is None
    doubling.refresh_from_db()
    doubling.checker = Checker(kind="exact").to_json()
    doubling.time_limit, doubling.memory_limit = 2.5, 2**20
    doubling.tests.filter(name="hidden-7").update(name="seven")
    changes = describe_changes(
        JudgedVersion.of_hash(doubling, "0" * 64) or before, JudgedVersion.present(doubling)
    )
    assert "checker: tokens → exact" in changes
    assert "time limit: 1 s → 2.5 s" in changes
    assert "memory limit: 256 MiB → 1 MiB" in changes
    assert any(change.startswith("tests added: ") and "seven" in change for change in changes)


def test_programs_of_ended_runs_and_closed_sessions_are_selected(
    session: SessionUnderTest, doubling: Problem
):
    hold(session, TRIPLE, DOUBLE)
    run = store_run(doubling, DOUBLE, TRIPLE)
    open_run = store_run(doubling, DOUBLE, state="open")
    imported = store_run(doubling, DOUBLE, source={"site": "x", "version": "", "imported_at": "2026-01-01"})
    everything = select_programs(Selection(problems=(doubling,)))
    assert (everything.runs, everything.sessions, everything.studies) == (1, 1, 0)
    # Two chains with samples and all tests; an execution and two scores.
    assert len(everything.places) == 2 * 2 + 3
    assert dict(everything.left_out) == {
        "runs in progress": 1,
        "runs of other sites, which keep their verdicts": 1,
    }
    assert len(select_programs(Selection(runs=(run,))).places) == 4
    assert len(select_programs(Selection(sessions=(session.row,))).places) == 3
    assert len(select_programs(Selection(datasets=(doubling.dataset,), runs=(run,))).places) == 4
    assert not select_programs(Selection(runs=(open_run, imported))).places
    with pytest.raises(RejudgingError, match="Select problems"):
        select_programs(Selection())


def test_equal_programs_are_judged_once(session: SessionUnderTest, doubling: Problem):
    hold(session, DOUBLE, DOUBLE)
    store_run(doubling, TRIPLE, TRIPLE, TRIPLE)
    correct(doubling)
    rejudging = judged_again(Selection(problems=(doubling,)))
    # On samples and all tests of the run; the execution, and the score of two equal programs.
    assert progress_of(rejudging).total == 4
    assert rejudging.programs.count() == 3 * 2 + 3
    apply_rejudging(rejudging.pk, None)
    after = rejudging.programs.values_list("after", flat=True)
    assert len(set(after)) == 9, "each program has a judgement of its own"
    scores = session.row.program_scores.order_by("generation")
    assert [score.judgement.verdict for score in scores if score.judgement] == ["WA", "WA"]


def test_nothing_changes_before_the_switch_over(session: SessionUnderTest, doubling: Problem, rosa: User):
    hold(session, TRIPLE, DOUBLE)
    run = store_run(doubling, DOUBLE, TRIPLE)
    store_report(run)
    correct(doubling)
    browser = client_of(rosa)
    addresses = [f"/runs/{run.pk}/report.csv", f"/trajectories/{session.pk}/export.jsonl", "/program-scores/"]
    seen = [_body(browser, address) for address in addresses]
    rows = list(Judgement.objects.order_by("pk").values())
    rejudging = judged_again(Selection(problems=(doubling,)))
    assert [_body(browser, address) for address in addresses] == seen
    assert list(Judgement.objects.filter(rejudging=None).order_by("pk").values()) == rows
    assert not Judgement.objects.filter(rejudging=rejudging, counts=True).exists()
    discard_rejudging(rejudging.pk, rosa)
    rejudging.refresh_from_db()
    assert (rejudging.state, rejudging.decided_by) == (Rejudging.State.DISCARDED, rosa)
    assert [_body(browser, address) for address in addresses] == seen
    with pytest.raises(RejudgingError, match="is discarded already"):
        apply_rejudging(rejudging.pk, rosa)


def _body(browser: Client, address: str) -> str:
    answer = browser.get(address)
    assert answer.status_code == 200
    return re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", whole(answer))


def test_applied_verdicts_replace_those_of_runs(doubling: Problem, rosa: User):
    run = store_run(doubling, DOUBLE, TRIPLE, TRIPLE)
    untouched = store_run(doubling, DOUBLE)
    for one in (run, untouched):
        store_report(one)
    first = run_report(run)
    assert (verdicts(run), first.solved) == (["AC", "WA", "WA"], 1)
    former = list(run.items.order_by("chain").values_list("judgement", flat=True))
    correct(doubling)
    rejudging = judged_again(Selection(runs=(run,)), rosa)
    apply_rejudging(rejudging.pk, rosa)
    run = Run.objects.get(pk=run.pk)
    assert verdicts(run) == ["WA", "AC", "AC"]
    assert verdicts(untouched) == ["AC"]
    answer = Generation.objects.get(work_item__run=run, work_item__chain=0)
    assert answer.hidden_judgement is not None
    assert answer.hidden_judgement == answer.work_item.judgement
    assert answer.hidden_judgement.replaces_id == former[0]
    assert answer.hidden_judgement.first_verdict.verdict == "AC"
    old = Judgement.objects.get(pk=former[0])
    assert (old.verdict, old.counts, old.problem_hash) == ("AC", False, "0" * 64)
    assert answer.hidden_judgement.counts
    figures = run_report(run)
    assert figures.solved == 2
    assert any("A rejudging replaced verdicts on" in warning for warning in figures.warnings)
    assert set(runs_without_report()) == {run}, "the stored figures of the run are stale, and no others"
    assert CachedRunReport.objects.filter(run=untouched).exists()


def test_a_session_keeps_what_happened(session: SessionUnderTest, doubling: Problem, ada: User):
    hold(session, TRIPLE, DOUBLE)
    page = tutor_view(session.row)
    events = list(session.row.events.values())
    correct(doubling)
    rejudging = judged_again(Selection(sessions=(session.row,)), ada)
    apply_rejudging(rejudging.pk, ada)
    row = Session.objects.get(pk=session.pk)
    assert (row.outcome, row.former_outcome, row.seen_outcome) == ("not_solved", "solved", "solved")
    *before, last = row.events.values()
    assert before == events, "recorded events do not change"
    event = Event.objects.get(pk=last["id"])
    payload = event.payload_as(VerdictReplaced)
    assert (payload.former, payload.verdict, payload.outcome) == ("AC", "WA", "not_solved")
    assert [(one.generation, one.former, one.verdict) for one in payload.programs] == [
        (1, "WA", "AC"),
        (2, "AC", "WA"),
    ]
    assert (event.actor, payload.rejudging, payload.reason) == (ada, rejudging.pk, "The answers were wrong.")
    assert row.judgement is not None
    assert row.judgement.verdict == "WA"
    # The tutor's page shows the former verdict and outcome.
    after = tutor_view(row)
    assert (after.events, after.last_seq, after.status) == (page.events, page.last_seq, page.status)
    assert status_for_tutor(row).outcome == "solved"
    record = to_record(row)
    assert (record["outcome"], record["judgement"]["verdict"]) == ("not_solved", "WA")
    assert [one["verdict"] for one in record["former_judgements"]] == ["AC"]


def test_a_second_rejudging_keeps_the_outcome_that_the_tutor_saw(
    session: SessionUnderTest, doubling: Problem
):
    hold(session, DOUBLE)
    for factor in (3, 2, 3):
        correct(doubling, factor)
        doubling.refresh_from_db()
        apply_rejudging(judged_again(Selection(sessions=(session.row,))).pk, None)
    row = session.refresh()
    assert (row.outcome, row.seen_outcome) == ("not_solved", "solved")
    assert row.judgement is not None
    assert row.judgement.first_verdict.verdict == "AC"
    assert [event.payload_as(VerdictReplaced).verdict for event in session.events("rejudged")] == [
        "WA",
        "AC",
        "WA",
    ]
    assert len(to_record(row)["former_judgements"]) == 3


def test_comparison_counts_by_run_and_session(session: SessionUnderTest, doubling: Problem):
    hold(session, TRIPLE, DOUBLE)
    run = store_run(doubling, DOUBLE, TRIPLE, "print(0)")
    correct(doubling)
    rejudging = judged_again(Selection(problems=(doubling,)))
    document = compare_verdicts(rejudging, None).to_json()
    [of_run] = document["runs"]
    assert of_run["address"] == f"/runs/{run.pk}/"
    assert transitions(of_run) == {("AC", "WA"): 1, ("WA", "AC"): 1, ("WA", "WA"): 1}
    assert (of_run["changed"], of_run["others"]) == (2, 0)
    [of_session] = document["sessions"]
    assert transitions(of_session) == {("AC", "WA"): 1}
    assert of_session["others"] == 2, "both scores change"
    apply_rejudging(rejudging.pk, None)
    assert compare_verdicts(rejudging, None).to_json()["runs"] == document["runs"], (
        "the same after the switch-over"
    )


def test_a_new_request_copies_no_verdict_that_does_not_count(doubling: Problem):
    store_run(doubling, DOUBLE)
    correct(doubling)
    doubling.refresh_from_db()
    rejudging = judged_again(Selection(problems=(doubling,)))
    submission = judging.store_submission(doubling, DOUBLE, "python")
    request_now = judging.request_judgement(submission)
    assert not judging.copy_stored_verdict(request_now)
    apply_rejudging(rejudging.pk, None)
    assert judging.copy_stored_verdict(request_now)
    assert request_now.verdict == "WA"


def test_a_rejudging_without_need_is_refused(doubling: Problem, session: SessionUnderTest):
    run = store_run(doubling, DOUBLE, TRIPLE)
    rejudging = request(Selection(runs=(run,)))
    with pytest.raises(RejudgingError, match="contains some of these programs"):
        request(Selection(problems=(doubling,)))
    with pytest.raises(RejudgingError, match="4 of 4 programs are not judged yet"):
        apply_rejudging(rejudging.pk, None)
    judging.perform_all(rejudging, 1, lambda: None)
    correct(doubling)
    with pytest.raises(RejudgingError, match=r"practice/doubling changed after the programs were judged"):
        apply_rejudging(rejudging.pk, None)
    discard_rejudging(rejudging.pk, None)
    again = judged_again(Selection(runs=(run,)))
    former = Judgement.objects.filter(rejudged_again__rejudging=again)
    former.update(counts=False)
    with pytest.raises(RejudgingError, match="Another rejudging replaced some of these verdicts"):
        apply_rejudging(again.pk, None)
    former.update(counts=True)
    Run.objects.update(state=Run.State.OPEN)
    with pytest.raises(RejudgingError, match="Runs in progress use these verdicts"):
        apply_rejudging(again.pk, None)
    assert verdicts(run) == ["AC", "WA"]
    with pytest.raises(RejudgingError, match="contains no program"):
        request(Selection(sessions=(session.row,)))


def test_a_fault_of_the_judge_keeps_the_former_verdict(doubling: Problem):
    run = store_run(doubling, DOUBLE, TRIPLE)
    correct(doubling)
    rejudging = request(Selection(runs=(run,)))
    doubling.tests.filter(name__startswith="hidden").update(input_hash="f" * 64)
    judging.perform_all(rejudging, 1, lambda: None)
    progress = progress_of(rejudging)
    assert (progress.done, progress.failed) == (2, 2)
    comparison = compare_verdicts(rejudging, None)
    assert (comparison.faults, comparison.changed) == (2, 0)
    apply_rejudging(rejudging.pk, None)
    assert verdicts(run) == ["AC", "WA"]
    assert Judgement.objects.get(work_items=run.items.get(chain=0)).problem_hash == "0" * 64


def test_an_interrupted_rejudging_judges_nothing_twice(doubling: Problem, monkeypatch: pytest.MonkeyPatch):
    store_run(doubling, DOUBLE, TRIPLE)
    correct(doubling)
    rejudging = request(Selection(problems=(doubling,)))
    assert perform_next(rejudging.pk)
    done = Judgement.objects.get(rejudging=rejudging, state="done")

    def interrupted(*_: object, **__: object) -> None:
        raise SystemExit(0)

    with monkeypatch.context() as patched:
        patched.setattr("judge.grade", interrupted)
        with pytest.raises(SystemExit):
            judging.perform_all(rejudging, 1, lambda: None)
    # A worker that was killed leaves its claim behind.
    lost = Judgement.objects.filter(rejudging=rejudging, state="queued").order_by("pk")[0]
    Judgement.objects.filter(pk=lost.pk).update(
        state="running", owner="gone", lease_until=timezone.now() - timedelta(seconds=1)
    )
    judging.perform_all(rejudging, 1, lambda: None)
    assert progress_of(rejudging).done == 4
    again = Judgement.objects.get(pk=done.pk)
    assert (again.finished_at, again.attempt) == (done.finished_at, 1)


def test_workers_judge_in_the_last_queue(doubling: Problem, queues: Queues):  # noqa: F811
    assert WorkerKind.JUDGE.queues[-1] == "rejudging"
    store_run(doubling, DOUBLE)
    correct(doubling)
    rejudging = request(Selection(problems=(doubling,)))
    Judgement.objects.filter(rejudging=rejudging).update(created_at=timezone.now() - timedelta(minutes=1))
    judging.requeue_lost()
    assert not any(queues.jobs.values()), "rejudgings have jobs of their own"


def test_a_lost_job_of_a_rejudging_is_enqueued_again(
    doubling: Problem,
    queues: Queues,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr("benchmark.judging.rejudging.living_workers", lambda: 2)
    store_run(doubling, DOUBLE)
    correct(doubling)
    rejudging = request(Selection(problems=(doubling,)))
    for _ in range(2):
        judging.requeue_rejudgings()
        assert [job[:2] for job in queues.jobs["rejudging"]] == [
            ("benchmark.judging.work_on_rejudging", rejudging.pk)
        ] * 2
        assert settings.WORKER_JOBS["benchmark.judging.work_on_rejudging"] == (int,)
    judging.work_on_rejudging(rejudging.pk)
    assert progress_of(rejudging).finished
    queues.jobs.clear()
    judging.requeue_rejudgings()
    assert not any(queues.jobs.values())


def test_a_time_slice_ends_and_leaves_a_job_for_the_rest(
    doubling: Problem,
    queues: Queues,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr("benchmark.judging.rejudging.TIME_SLICE", 0.0)
    store_run(doubling, DOUBLE)
    correct(doubling)
    rejudging = request(Selection(problems=(doubling,)))
    judging.work_on_rejudging(rejudging.pk)
    assert progress_of(rejudging).done == 1
    assert len(queues.jobs["rejudging"]) == 1


def test_verdicts_that_the_time_limit_decides_are_marked(doubling: Problem):
    run = store_run(doubling, DOUBLE, TRIPLE)
    correct(doubling)
    rejudging = judged_again(Selection(runs=(run,)))
    Judgement.objects.filter(rejudging=rejudging, suite="all").update(verdict="TLE", near_limit=True)
    comparison = compare_verdicts(rejudging, None)
    changed = {(one.former, one.verdict): one.near_limit for one in comparison.runs[0].transitions}
    assert changed == {("AC", "TLE"): 1, ("WA", "TLE"): 1}


def test_the_command_plans_judges_compares_and_applies(doubling: Problem, session: SessionUnderTest):
    hold(session, DOUBLE)
    run = store_run(doubling, DOUBLE, TRIPLE)
    correct(doubling)
    plan = rejudge("--problem", "practice/doubling")
    assert (plan["programs_to_judge"], plan["runs"], plan["sessions"]) == (6, 1, 1)
    assert plan["seconds"] > 0
    [change] = plan["changes"]
    assert change["before"][0]["changes"][0].startswith("tests added")
    assert not Rejudging.objects.exists(), "a plan begins nothing"
    found = rejudge("--run", str(run.pk), "--reason", "wrong answers", "--inline", "--jobs", "1")
    assert (found["state"], found["judged"], found["comparison"]["changed"]) == ("open", 4, 2)
    assert {one["place"] for one in found["changed_programs"]} == {
        "zero-shot, chain 1, reply 1",
        "zero-shot, chain 2, reply 1",
    }
    assert rejudge("--show", str(found["id"]))["comparison"] == found["comparison"]
    assert rejudge("--apply", str(found["id"]))["state"] == "applied"
    assert verdicts(run) == ["WA", "AC"]
    text = StringIO()
    call_command("rejudge", stdout=text)
    assert "wrong answers" in text.getvalue()
    call_command("rejudge", "--show", str(found["id"]), stdout=text)
    assert "2 of 4 verdicts change: 1 AC → WA, 1 WA → AC" in text.getvalue()


def test_the_command_resumes_and_discards(doubling: Problem):
    run = store_run(doubling, DOUBLE, TRIPLE)
    correct(doubling)
    assert rejudge("--dataset", "practice")["programs_to_judge"] == 4
    begun = request(Selection(datasets=(doubling.dataset,)))
    assert rejudge("--show", str(begun.pk))["comparison"]["waiting"] == 4
    resumed = rejudge("--resume", str(begun.pk), "--inline", "--jobs", "1")
    assert (resumed["judged"], resumed["comparison"]["changed"]) == (4, 2)
    assert rejudge("--discard", str(begun.pk))["state"] == "discarded"
    assert [one["state"] for one in rejudge()] == ["discarded"]
    assert verdicts(run) == ["AC", "WA"]
    with pytest.raises(CommandError, match="is discarded"):
        rejudge("--resume", str(begun.pk), "--inline")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--problem", "practice"], "--problem takes DATASET/ID"),
        (["--reason", "x"], "Select problems"),
        (["--show", "7"], "There is no rejudging 7. Rejudgings: none yet"),
        (["--apply", "1", "--problem", "practice/doubling"], "takes no selection"),
        (["--session", "nine"], "There is no session nine"),
        (["--study", "none@1"], "There is no study none@1"),
        (["--problem", "practice/doubling", "--reason", " ", "--inline"], "Say why"),
        (["--problem", "practice/doubling", "--reason", "x", "--inline"], "contains no program"),
        (["--problem", "practice/doubling", "--reason", "x"], "No worker can be reached"),
    ],
)
def test_a_wrong_command_says_what_to_do(doubling: Problem, arguments: list[str], sentence: str):
    with pytest.raises(CommandError, match=sentence):
        rejudge(*arguments)
