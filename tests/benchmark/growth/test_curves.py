"""Stored growth curves: the command, the job of the worker, leases, and the page."""

import json
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from benchmark.growth import enqueue_curve, growth_of, perform_curve, request_curve, requeue_lost_curves
from benchmark.growth.sizes import NoSizesError, growth_recipe
from benchmark.judging import store_submission
from benchmark.models import GrowthCurve, ListedTest, PackageProgram, Problem
from benchmark.models.owners import new_owner
from judge import SandboxStatus
from tests.benchmark.growth.synthetic import FOLDER, NUMBERS
from tests.problems import HIDDEN_INPUT, store_doubling

QUADRATIC = FOLDER / "programs" / "quadratic.py"
pytestmark = pytest.mark.django_db


def growth_json(problem: Problem, path: Path, capsys: pytest.CaptureFixture[str]):
    call_command("growth", f"practice/{problem.external_id}", str(path), "--json")
    return json.loads(capsys.readouterr().out)


def test_the_command_measures_a_program_once(
    sized_problem: Problem, sandbox: SandboxStatus, capsys: pytest.CaptureFixture[str]
):
    first = growth_json(sized_problem, QUADRATIC, capsys)
    assert first["bound"] == 4_000
    assert [one["size"] for one in first["series"][0]["points"]][:3] == [16, 32, 64]
    assert growth_json(sized_problem, QUADRATIC, capsys) == first
    assert GrowthCurve.objects.get().attempt == 1
    call_command("growth", "practice/doubling", str(QUADRATIC))
    shown = capsys.readouterr().out
    assert "The time limit is 2 s." in shown
    if first["slope"] is None:
        pytest.skip("the machine is too busy for a slope")
    assert first["slope"] == pytest.approx(2, abs=0.3)
    assert first["interval"][0] < first["slope"] < first["interval"][1]
    assert f"about n^{first['slope']:.1f}" in shown


def test_a_program_that_does_not_compile_is_not_measurable(
    sized_problem: Problem, sandbox: SandboxStatus, tmp_path: Path
):
    path = tmp_path / "broken.cpp"
    path.write_text("int main() {")
    with pytest.raises(CommandError, match="does not compile"):
        call_command("growth", "practice/doubling", str(path))
    assert GrowthCurve.objects.get().state == GrowthCurve.State.FAILED


def test_a_memory_limit_is_named_as_memory(
    sized_problem: Problem, sandbox: SandboxStatus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "hungry.py"
    path.write_text("n = int(input())\nkept = bytearray(n * n * 100)\nprint(len(kept))\n")
    document = growth_json(sized_problem, path, capsys)
    assert document["outcome"] == "memory"
    call_command("growth", "practice/doubling", str(path))
    assert "memory limit" in capsys.readouterr().out


def test_a_problem_without_sizes_is_refused():
    store_doubling()
    with pytest.raises(CommandError, match=r"build_suite practice/doubling --model PROVIDER:MODEL --sizes"):
        call_command("growth", "practice/doubling", str(QUADRATIC))


def test_the_numbers_of_listed_commands_are_tried_as_sizes():
    problem = store_doubling()
    with pytest.raises(NoSizesError):
        growth_recipe(problem)
    PackageProgram.objects.create(
        problem=problem,
        order=0,
        role="generator",
        name="gen.py",
        language="python",
        files=dict(NUMBERS.files),
    )
    for order, arguments in enumerate(["100 {seed} 7", "5000 {seed} 7", "--n=900 {seed}"]):
        ListedTest.objects.create(
            problem=problem, order=order, name=str(order), generator="gen.py", arguments=arguments
        )
    found = {(one.arguments, one.largest) for one in growth_recipe(problem).parameters}
    assert found == {("{size} {seed} 7", 5000)}


def test_a_worker_measures_waiting_curves_and_a_lost_one_is_enqueued_again(
    sized_problem: Problem, sandbox: SandboxStatus, monkeypatch: pytest.MonkeyPatch
):
    curve = request_curve(store_submission(sized_problem, "print(1)", "python"))
    assert request_curve(curve.submission).pk == curve.pk
    enqueued = []

    class Queue:
        def get_job_ids(self):
            return []

        def enqueue(self, function, number, job_id):
            enqueued.append((function, number, job_id))

    monkeypatch.setattr("django_rq.get_queue", lambda _: Queue())
    requeue_lost_curves()
    assert enqueued == []
    GrowthCurve.objects.update(created_at=timezone.now() - timedelta(minutes=1))
    requeue_lost_curves()
    assert enqueued == [("benchmark.growth.perform_curve", curve.pk, f"growth-{curve.pk}")]
    monkeypatch.undo()
    (held,) = GrowthCurve.claim(new_owner(), 1, timezone.now(), id=curve.pk)
    perform_curve(curve.pk)
    assert GrowthCurve.objects.get().state == GrowthCurve.State.RUNNING
    held.claimed().release()
    perform_curve(curve.pk)
    curve.refresh_from_db()
    growth = growth_of(curve)
    assert curve.state == GrowthCurve.State.DONE
    assert growth
    assert growth.steepest.outcome == "fast"
    assert not growth.slow


def test_the_page_shows_the_curve_and_requests_a_measurement(
    sized_problem: Problem,
    researcher: Client,
    sandbox: SandboxStatus,
    monkeypatch: pytest.MonkeyPatch,
):
    enqueued: list[GrowthCurve] = []
    monkeypatch.setattr("benchmark.views.growth.enqueue_curve", enqueued.append)
    submission = store_submission(sized_problem, QUADRATIC.read_text(), "python")
    address = f"/runs/growth/{submission.pk}/"
    assert "Not measured yet" in researcher.get(address).content.decode()
    assert researcher.post(address).status_code == 302
    assert [curve.submission_id for curve in enqueued] == [submission.pk]
    assert "Waiting for measurement" in researcher.get(address).content.decode()
    perform_curve(enqueued[0].pk)
    page = researcher.get(address).content.decode()
    assert '<svg class="chart growth-chart"' in page
    assert ">0.0001<" not in page, "small screens cut off so long a label"
    assert "time limit 2 s" in page
    assert "Used by the fit" in page
    assert str(HIDDEN_INPUT) not in page
    sized_problem.sized_generators.all().delete()
    other = store_submission(sized_problem, "print(2)", "python")
    assert "--sizes" in researcher.post(f"/runs/growth/{other.pk}/").content.decode()


def test_an_unavailable_queue_server_loses_no_request(
    sized_problem: Problem, django_capture_on_commit_callbacks
):
    with django_capture_on_commit_callbacks(execute=True):
        enqueue_curve(request_curve(store_submission(sized_problem, "print(1)", "python")))
    assert GrowthCurve.objects.get().state == GrowthCurve.State.QUEUED
