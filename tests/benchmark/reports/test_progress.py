"""The progress of a run: the time left, and failures by kind."""

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from benchmark.models import Run
from benchmark.models.faults import FAULTS, count_by_kind, fault_kind, judge_fault, of_kind, provider_fault
from benchmark.reports.progress import run_progress
from tests.benchmark.reports.conftest import MakeRun

NOW = datetime(2026, 5, 1, 12, tzinfo=timezone.get_default_timezone())


def done_at(make_run: MakeRun, seconds: list[float], waiting: int = 6) -> Run:
    """Return an open run whose items were done this many seconds before NOW, the first item first."""
    verdicts = ["AC"] * len(seconds) + [""] * waiting
    run = make_run([("bronze", [verdict]) for verdict in verdicts])
    for item, before in zip(run.items.exclude(selected=None).order_by("pk"), seconds, strict=True):
        item.generations.update(created_at=NOW - timedelta(seconds=before))
    return run


@pytest.mark.parametrize(
    ("seconds", "left"),
    [
        ([], None),
        ([10], None),
        ([40, 30, 20, 10], 6 * 40 / 3),
        ([40, 30, 20, 10.0, 10.0], 6 * 10),
        # The run was stopped for two hours.
        ([7300, 7290, 7280, 30, 20, 10], 6 * 15),
        ([7300, 7290, 10], None),
        # Nothing was done for an hour.
        ([3630, 3620, 3610], None),
    ],
)
def test_the_time_left_follows_the_rate_since_the_last_pause(
    make_run: MakeRun, seconds: list[float], left: float | None
) -> None:
    found = run_progress(done_at(make_run, seconds), NOW).seconds_left
    assert found == (None if left is None else pytest.approx(left))


def test_slow_items_are_no_pause(make_run: MakeRun) -> None:
    run = done_at(make_run, [4000, 3000, 2000, 1000])
    assert run_progress(run, NOW).seconds_left == pytest.approx(6 * 4000 / 3)


def test_a_stopped_run_has_no_time_left(make_run: MakeRun) -> None:
    run = done_at(make_run, [40, 30, 20, 10])
    run.state = Run.State.STOPPED
    assert run_progress(run, NOW).seconds_left is None


def test_failed_items_do_not_count_as_left(make_run: MakeRun) -> None:
    run = done_at(make_run, [20, 10], waiting=3)
    failed = run.items.filter(state="pending").order_by("pk")[0]
    failed.state, failed.fault = "failed", provider_fault("timeout", "late")
    failed.save()
    progress = run_progress(run, NOW)
    assert (progress.total, progress.done, progress.failed) == (5, 2, 1)
    assert progress.seconds_left == pytest.approx(2 * 20)
    assert dict(progress.failures) == {"timeout": 1}


def test_each_kind_of_fault_selects_its_items(make_run: MakeRun) -> None:
    texts = {
        **{kind: provider_fault(kind, "x") for kind in FAULTS if kind not in ("judge", "internal")},
        "judge": judge_fault("x"),
        "internal": "ValueError: x",
    }
    assert {kind: fault_kind(text) for kind, text in texts.items()} == {kind: kind for kind in FAULTS}
    assert fault_kind(provider_fault("a_new_kind", "x")) == "unknown"
    run = make_run([("bronze", ["fault"])] * len(texts))
    for item, text in zip(run.items.all(), texts.values(), strict=True):
        item.fault = text
        item.save()
    for kind, text in texts.items():
        assert [item.fault for item in run.items.filter(of_kind(kind))] == [text]
    assert count_by_kind(texts.values()).total() == len(FAULTS)
