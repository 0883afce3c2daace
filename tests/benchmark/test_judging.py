"""Judgements: performed once, and again if the worker is lost; a fault is never counted against the program."""

from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone
from pytest_django import Settings

import judge
from benchmark import judging
from benchmark.models import (
    Dataset,
    Generation,
    Judgement,
    Run,
    SpeedMeasurement,
    TestCase,
    TimeFactor,
    WorkItem,
    blobs,
)
from benchmark.oracles.candidates import candidates_of_run
from tests.problems import store_doubling

RIGHT = "print(2 * int(input()))"

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("sandbox")]


def request(source: str = RIGHT, suite: Judgement.TestScope = Judgement.TestScope.ALL) -> Judgement:
    submission = judging.store_submission(store_doubling(), source, "python")
    return judging.request_judgement(submission, suite=suite)


def performed(judgement: Judgement) -> Judgement:
    judging.perform(judgement.pk)
    judgement.refresh_from_db()
    return judgement


def test_result_is_stored_with_what_it_depends_on():
    judgement = performed(request())
    assert (judgement.state, judgement.verdict) == (Judgement.State.DONE, "AC")
    assert (judgement.passed, judgement.total) == (3, 3)
    assert judgement.problem_hash == "0" * 64
    result = judge.Judgement.from_json(judgement.result or {})
    assert (result.policy, result.judge_version) == (judge.Policy.FAIR, judge.JUDGE_VERSION)
    assert "bubblewrap" in result.isolation


def test_compilers_of_submissions_have_the_time_of_the_setting(settings: Settings):
    slow_to_compile = (
        "template <int N> constexpr int f() { int s = 0; for (int i = 0; i < 10000000; i++) s += i % 7; "
        "return s + f<N - 1>(); }\ntemplate <> constexpr int f<0>() { return 0; }\n"
        "constexpr int x = f<500>();\nint main() { return x; }"
    )
    settings.JUDGE_COMPILE_TIME = 1
    submission = judging.store_submission(store_doubling(), slow_to_compile, "cpp")
    judgement = performed(judging.request_judgement(submission))
    assert judgement.verdict == "CE"
    result = judge.Judgement.from_json(judgement.result or {})
    assert result.compiler_output.startswith("The compiler was stopped: it used more than 1 s of CPU.")


def test_samples_alone_can_be_judged():
    judgement = performed(request("print(6)", suite=Judgement.TestScope.SAMPLES))
    assert (judgement.verdict, judgement.total) == ("AC", 1)
    assert performed(judgement).finished_at == judgement.finished_at, (
        "a finished judgement is not performed again"
    )


def test_same_program_is_stored_once():
    problem = store_doubling()
    first = judging.store_submission(problem, RIGHT, "python")
    assert judging.store_submission(problem, RIGHT, "python") == first


@pytest.mark.parametrize("column", ["sample_judgement", "hidden_judgement"])
def test_judgements_that_a_run_performs_itself_are_not_enqueued_again(column: str):
    judgement = request()
    Judgement.objects.update(created_at=timezone.now() - timedelta(minutes=1))
    assert judging.lost_judgements().get() == judgement
    problem = judgement.submission.problem
    run = Run.objects.create(
        dataset=problem.dataset, method="refine", model_spec="practice:student", parameters={}, manifest={}
    )
    item = WorkItem.objects.create(run=run, problem=problem, chain=0)
    Generation.objects.create(
        work_item=item,
        step=0,
        purpose="solve",
        messages=[],
        parameters={},
        latency=0.0,
        **{column: judgement},
    )
    assert not judging.lost_judgements().exists()


def test_judgement_of_a_lost_worker_is_performed_again_and_that_of_a_living_worker_is_not():
    judgement = request()
    Judgement.objects.update(
        state=Judgement.State.RUNNING, attempt=1, lease_until=timezone.now() + timedelta(seconds=20)
    )
    assert performed(judgement).state == Judgement.State.RUNNING
    Judgement.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    judgement = performed(judgement)
    assert (judgement.state, judgement.attempt) == (Judgement.State.DONE, 2)


def test_interrupted_worker_releases_its_judgement(monkeypatch: pytest.MonkeyPatch):
    def interrupted(*_: object, **__: object) -> None:
        raise SystemExit(0)

    judgement = request()
    with monkeypatch.context() as patched:
        patched.setattr("judge.grade", interrupted)
        with pytest.raises(SystemExit):
            judging.perform(judgement.pk)
    judgement.refresh_from_db()
    assert (judgement.state, judgement.lease_until) == (Judgement.State.QUEUED, None)
    assert performed(judgement).verdict == "AC"


def test_fault_of_the_judge_is_no_verdict_on_the_program():
    judgement = request()
    TestCase.objects.filter(name="hidden-1").update(input_hash="f" * 64)
    judgement = performed(judgement)
    assert (judgement.state, judgement.verdict) == (Judgement.State.FAILED, "JE")
    assert judgement.fault


def test_judgement_that_loses_every_worker_ends_as_a_fault():
    judgement = request()
    Judgement.objects.update(attempt=judging.MAXIMUM_ATTEMPTS)
    judgement = performed(judgement)
    assert judgement.state == Judgement.State.FAILED
    assert "workers were lost" in judgement.fault


@pytest.mark.parametrize(
    ("dataset_format", "policy", "verdict"),
    [("usaco", "compat", "WA"), ("usaco", "fair", "AC"), ("icpc", "compat", "AC")],
)
def test_compat_compares_the_whole_text_of_usaco_problems_only(
    dataset_format: str, policy: str, verdict: str
):
    problem = store_doubling(dataset_format, dataset_format)
    problem.tests.filter(origin=TestCase.Origin.HIDDEN).delete()
    problem.tests.update(answer_hash=blobs.put(b"1 2\n"))
    two_blanks = judging.store_submission(problem, "print('1  2')", "python")
    assert performed(judging.request_judgement(two_blanks, policy=judge.Policy(policy))).verdict == verdict


def test_judgement_records_the_machine_and_the_factor_that_it_applied(monkeypatch: pytest.MonkeyPatch):
    slow_machine(monkeypatch, 1.3)
    judgement = performed(request())
    assert (judgement.host, judgement.measured_factor) == (judge.host_name(), 1.3)
    assert judgement.time_factor == 1.25
    result = judge.Judgement.from_json(judgement.result or {})
    problem = judgement.submission.problem
    assert result.limits.time == problem.time_limit * judge.get_language("python").time_multiplier * 1.25


def test_published_limits_ignore_the_machine_and_the_dataset(monkeypatch: pytest.MonkeyPatch):
    slow_machine(monkeypatch, 2.0)
    Dataset.objects.update(time_factor=1.5)
    submission = judging.store_submission(store_doubling(), RIGHT, "python")
    judgement = performed(judging.request_judgement(submission, policy=judge.Policy.COMPAT))
    assert judgement.time_factor == 1.0
    assert judgement.measured_factor == 2.0


def test_factor_of_the_dataset_multiplies_that_of_the_machine(monkeypatch: pytest.MonkeyPatch):
    slow_machine(monkeypatch, 1.25)
    judgement = request()
    Dataset.objects.update(time_factor=2.0)
    assert performed(judgement).time_factor == 2.5


def test_a_run_keeps_the_factor_of_its_first_judgement(monkeypatch: pytest.MonkeyPatch):
    slow_machine(monkeypatch, 1.0)
    assert factor_in("run:1") == 1.0
    slow_machine(monkeypatch, 2.0)
    assert factor_in("run:1") == 1.0
    assert factor_in("run:2") == 1.953125


def test_each_machine_has_its_own_factor_in_a_study(monkeypatch: pytest.MonkeyPatch):
    slow_machine(monkeypatch, 1.0, host="fast")
    assert factor_in("study:s@1") == 1.0
    slow_machine(monkeypatch, 3.0, host="slow")
    assert factor_in("study:s@1") == 3.0517578125
    slow_machine(monkeypatch, 3.0, host="fast")
    assert factor_in("study:s@1") == 1.0
    assert TimeFactor.objects.filter(scope="study:s@1").count() == 2


def test_noise_from_day_to_day_does_not_change_the_factor(monkeypatch: pytest.MonkeyPatch):
    for day, (measured, factor) in enumerate([(1.2, 1.25), (1.09, 1.25), (1.42, 1.25), (1.0, 1.0)]):
        slow_machine(monkeypatch, measured)
        assert factor_in(f"day:2026-01-0{day + 1}") == factor


def test_a_measurement_is_used_for_an_hour(monkeypatch: pytest.MonkeyPatch):
    slow_machine(monkeypatch, 1.0)
    first = judging.refresh_measurement()
    assert judging.refresh_measurement() == first
    SpeedMeasurement.objects.update(measured_at=timezone.now() - timedelta(hours=2))
    assert judging.refresh_measurement() != first
    assert SpeedMeasurement.objects.count() == 2


def test_a_machine_that_cannot_be_measured_applies_no_factor(monkeypatch: pytest.MonkeyPatch):
    def fails() -> judge.MachineSpeed:
        raise judge.SandboxFaultError("no reference program runs")

    monkeypatch.setattr("judge.measure_speed", fails)
    judgement = performed(request())
    assert (judgement.verdict, judgement.time_factor, judgement.measured_factor) == ("AC", 1.0, None)
    assert not TimeFactor.objects.exists()


def test_a_stored_verdict_under_another_factor_is_not_copied(monkeypatch: pytest.MonkeyPatch):
    slow_machine(monkeypatch, 1.0)
    done = performed(request())
    same = judging.request_judgement(done.submission)
    assert judging.copy_stored_verdict(same)
    assert (same.verdict, same.time_factor, same.host) == ("AC", 1.0, done.host)
    TimeFactor.objects.all().delete()
    slow_machine(monkeypatch, 2.0)
    assert not judging.copy_stored_verdict(judging.request_judgement(done.submission))


def test_for_workers_a_verdict_is_copied_under_a_factor_that_a_machine_has_applied_in_the_scope(
    monkeypatch: pytest.MonkeyPatch,
):
    slow_machine(monkeypatch, 2.4, host="worker")
    done = performed(request())
    assert done.time_factor > 1
    slow_machine(monkeypatch, 1.0, host="model worker")

    def in_study() -> Judgement:
        return judging.request_judgement(done.submission, speed_scope="study:1")

    assert not judging.copy_stored_verdict(in_study(), for_workers=True), "no machine has judged in the study"
    TimeFactor.objects.create(scope="study:1", host="worker", factor=1.0, measured=1.0)
    assert not judging.copy_stored_verdict(in_study(), for_workers=True), "the factor differs"
    TimeFactor.objects.create(scope="study:1", host="other", factor=done.time_factor, measured=2.4)
    copied = in_study()
    assert judging.copy_stored_verdict(copied, for_workers=True)
    assert (copied.verdict, copied.time_factor, copied.host) == ("AC", done.time_factor, "worker")
    assert not TimeFactor.objects.filter(host="model worker").exists(), "this machine judges nothing"


def test_a_stopped_compilation_is_not_copied():
    done = performed(request())
    result = {**(done.result or {}), "verdict": "CE", "compiler_output": "main.cpp: error"}
    stored = Judgement.objects.filter(pk=done.pk)
    stored.update(verdict="CE", result=result)
    assert judging.copy_stored_verdict(judging.request_judgement(done.submission))
    Judgement.objects.exclude(pk=done.pk).delete()
    stored.update(
        result=result | {"compiler_output": f"{judge.COMPILER_STOPPED}it used more than 10 s of CPU."}
    )
    assert not judging.copy_stored_verdict(judging.request_judgement(done.submission)), (
        "the limit may be higher now"
    )


def test_official_verdicts_of_candidates_are_those_under_the_factor_of_their_run(
    monkeypatch: pytest.MonkeyPatch,
):
    slow_machine(monkeypatch, 1.0)
    problem = performed(request()).submission.problem
    run = Run.objects.create(
        dataset=problem.dataset, method="zero-shot", model_spec="", manifest={},
        parameters={"language": "python", "policy": "fair"},
    )  # fmt: skip
    item = WorkItem.objects.create(run=run, problem=problem, chain=0)
    code = Judgement.objects.order_by("pk")[0].submission.source
    Generation.objects.create(
        work_item=item, step=0, purpose="solve", messages=[], parameters={}, latency=0.0, code=code
    )
    Generation.objects.create(
        work_item=item, step=1, purpose="critique", messages=[], parameters={}, latency=0.0, code="quoted"
    )

    def accepted(*, judge_missing: bool = False) -> bool | None:
        [candidate] = candidates_of_run(run, judge_missing=judge_missing)
        return candidate.accepted

    assert accepted(), "the factor of the run is unknown"
    TimeFactor.objects.create(
        scope=judging.scope_of_run(run), host=judge.host_name(), factor=2.44140625, measured=2.4
    )
    assert accepted() is None
    problem.dataset.problems.create(
        external_id="other", title="", statement="", time_limit=1, memory_limit=1, checker={}, content_hash=""
    )
    for ids, refusal in (("other", "no candidate to verify"), ("othre", "Did you mean other?")):
        with pytest.raises(CommandError, match=refusal):
            call_command("verify_candidates", "--run", str(run.pk), "--problems", ids)
    assert accepted() is None, "programs for other problems are not judged"
    assert accepted(judge_missing=True)
    assert Judgement.objects.first().time_factor == 2.44140625  # type: ignore[union-attr]


def test_judgements_from_before_the_factor_stay_valid():
    done = performed(request())
    Judgement.objects.filter(pk=done.pk).update(host="", measured_factor=None)
    assert judging.copy_stored_verdict(judging.request_judgement(done.submission))


def factor_in(scope: str) -> float:
    """Return the factor of this machine in the scope."""
    fixed = judging.fix_factor(scope)
    assert fixed is not None
    return fixed.factor


def slow_machine(monkeypatch: pytest.MonkeyPatch, factor: float, *, host: str = "") -> None:
    """Let a machine need `factor` times the reference time; an earlier measurement of it is forgotten."""
    host = host or judge.host_name()
    SpeedMeasurement.objects.filter(host=host).delete()
    monkeypatch.setattr("judge.host_name", lambda: host)
    monkeypatch.setattr("judge.measure_speed", lambda: judge.MachineSpeed(host, factor, 0.02, {"cpp": 0.05}))


def equal_request() -> Judgement:
    """A new request for the program of `request`."""
    return judging.request_judgement(Judgement.objects.order_by("pk")[0].submission)


def test_a_verdict_is_copied_only_with_the_limits_that_apply_now(settings: Settings):
    first = performed(request())
    assert first.result is not None
    assert judging.has_applied_limits(first, first.submission.problem, "python")
    assert judging.copy_stored_verdict(equal_request())
    settings.JUDGE_TIME_MULTIPLIERS = {"python": 3.5}
    assert not judging.has_applied_limits(first, first.submission.problem, "python")
    slower = equal_request()
    assert not judging.copy_stored_verdict(slower)
    slower = performed(slower)
    assert slower.result is not None
    assert slower.result["limits"]["time"] == 3.5 * first.submission.problem.time_limit
    copied = equal_request()
    assert judging.copy_stored_verdict(copied)
    assert copied.result == slower.result


def test_a_verdict_of_an_imported_run_is_not_copied():
    judgement = performed(request())
    problem = judgement.submission.problem
    run = Run.objects.create(
        dataset=problem.dataset, method="zero-shot", model_spec="", parameters={}, manifest={},
        source={"site": "elsewhere"},
    )  # fmt: skip
    item = WorkItem.objects.create(run=run, problem=problem, chain=0)
    Generation.objects.create(
        work_item=item, step=0, purpose="solve", messages=[], parameters={}, latency=0.0,
        hidden_judgement=judgement,
    )  # fmt: skip
    assert not judging.copy_stored_verdict(equal_request())
