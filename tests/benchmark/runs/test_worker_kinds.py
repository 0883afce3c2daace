"""The kinds of workers, with real processes: judge workers have no keys, and model workers run no programs."""

import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from rq import Queue

import judge
from benchmark.providers import ProviderError, forbid_providers, open_provider, parse_model_spec
from benchmark.runner.manifest import environment
from benchmark.worker.jobs import JobRefusedError, JudgeJob, ModelJob
from benchmark.worker.kinds import WorkerKind
from tests.benchmark.runs.bank import PROGRAM
from tests.benchmark.runs.test_algo import APPLE, NOT_NEGATIVE, RIGHT, VERIFIER, saying
from tests.benchmark.test_jobs import job_with
from tests.fake_providers import FakeProviders, Hold
from tests.stack import HANG, REPOSITORY, Stack

CANARY = "sk-canary-5f2e81"
SECRET_KEY = "canary-of-the-secret-key-" * 3
METRICS_TOKEN = "canary-of-the-metrics-token"
BUCKET_SECRET = "canary-of-the-bucket"
SINGLE_SIGN_ON = {
    "OIDC_CLIENT_SECRET": "canary-of-single-sign-on",
    **{
        f"OIDC_{name}": f"https://canary.example/{name}"
        for name in ("CLIENT_ID", "ISSUER", "AUTHORIZATION_URL", "TOKEN_URL", "USERINFO_URL", "JWKS_URL")
    },
}

SPY = f"""
import os, glob
seen = repr(dict(os.environ))
for path in glob.glob("/proc/*/environ") + glob.glob("/proc/*/cmdline"):
    try:
        seen += open(path, errors="replace").read()
    except OSError:
        pass
if {CANARY[:9]!r} + {CANARY[9:]!r} in seen:
    print("canary")
{PROGRAM}
"""
"""A right program for a sum that prints one line more if it can read the canary."""


@pytest.fixture(scope="module")
def site(
    filled_site: Path, tmp_path_factory: pytest.TempPathFactory, fake_provider_server: FakeProviders
) -> Iterator[Stack]:
    """A running Hintbench with the problems of bank.py and a fake provider with the canary as its key."""
    var = tmp_path_factory.mktemp("kinds") / "var"
    shutil.copytree(filled_site, var)
    (var / "secret_key").unlink(missing_ok=True)
    stack = Stack(
        var,
        OPENAI_API_KEY=CANARY,
        OPENAI_BASE_URL=fake_provider_server.openai_url,
        METRICS_TOKEN=METRICS_TOKEN,
        SECRET_KEY=SECRET_KEY,
        AWS_SECRET_ACCESS_KEY=BUCKET_SECRET,
        **SINGLE_SIGN_ON,
    )
    try:
        yield stack.wait_until_ready()
    finally:
        stack.stop()


def environment_of(pid: int) -> str:
    return Path(f"/proc/{pid}/environ").read_text()


def rows(stack: Stack, query: str, *values: object) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(stack.var / "hintbench.sqlite3", timeout=HANG)) as database:
        return database.execute(query, values).fetchall()


def queue_of(stack: Stack, name: str) -> Queue:
    return Queue(name, connection=Redis(unix_socket_path=str(stack.var / "valkey.sock")), serializer="json")


def without_sandbox(tmp_path: Path) -> str:
    """Return a PATH for a command that cannot run programs itself."""
    (tmp_path / "bin").mkdir(exist_ok=True)
    return str(tmp_path / "bin")


def test_each_process_has_only_the_secrets_that_it_needs(site: Stack):
    def having(secret: str) -> set[str]:
        return {name for name, pid in site.pids().items() if secret in environment_of(pid)}

    assert site.pids().keys() == {"valkey", "web", "streamer", "worker-1", "model-worker"}
    assert having(CANARY) == {"streamer", "model-worker"}
    for secret in (*SINGLE_SIGN_ON.values(), METRICS_TOKEN, SECRET_KEY):
        assert having(secret) == {"web"}
    assert having(BUCKET_SECRET) == {"web", "streamer", "worker-1", "model-worker"}
    assert not (site.var / "secret_key").exists(), "a process without the key makes none"


def test_a_judge_worker_that_is_started_with_keys_drops_them(site: Stack):
    worker = subprocess.Popen(
        [sys.executable, "manage.py", "worker", "--kind", "judge"], cwd=REPOSITORY, env=site.environment
    )
    try:
        found = "SELECT kind FROM benchmark_process WHERE pid = ?"
        site.wait_for(lambda: rows(site, found, worker.pid))
        assert rows(site, found, worker.pid) == [("judge worker",)]
        assert CANARY in site.environment["OPENAI_API_KEY"]
        for secret in (CANARY, SECRET_KEY, METRICS_TOKEN, *SINGLE_SIGN_ON.values()):
            assert secret not in environment_of(worker.pid)
        assert str(site.var) in environment_of(worker.pid)
    finally:
        worker.terminate()
        worker.wait(HANG)


def test_a_program_under_test_reads_no_key(site: Stack):
    shown = site.manage(
        "shell",
        "--no-imports",
        "--command",
        "from benchmark.judging import enqueue, request_judgement, store_submission\n"
        "from benchmark.models import Problem\n"
        "problem = Problem.objects.get(external_id='apple_sum')\n"
        f"judgement = request_judgement(store_submission(problem, {SPY!r}, 'python'), whole_output=True)\n"
        "enqueue(judgement, 'default')\n"
        "print(judgement.pk)\n",
    )
    query = "SELECT verdict, result FROM benchmark_judgement WHERE id = ?"
    site.wait_for(lambda: rows(site, query, int(shown.stdout))[0][0])
    [(verdict, result)] = rows(site, query, int(shown.stdout))
    assert "canary\n" not in json.loads(result)["tests"][0]["output"]
    assert verdict == "AC"


def test_each_kind_of_worker_refuses_the_jobs_of_the_other_kind(site: Stack):
    for_models = queue_of(site, "models").enqueue("benchmark.judging.perform", 1)
    for_judges = queue_of(site, "default").enqueue("benchmark.runner.distribution.work_on_run", "run")
    site.wait_for(lambda: {job.get_status().value for job in (for_models, for_judges)} == {"failed"})
    model_log = (site.var / "logs" / "model-worker.log").read_text()
    assert "'benchmark.judging.perform' is not a function that model workers run" in model_log
    judge_log = (site.var / "logs" / "worker-1.log").read_text()
    assert "'benchmark.runner.distribution.work_on_run' is not a function that judge workers run" in judge_log


def test_a_run_hands_its_programs_to_the_judge_worker(
    site: Stack, fake_providers: FakeProviders, tmp_path: Path
):
    """A command without a sandbox builds a verifier and solves a problem, so another process runs all programs."""
    fake_providers.script(*VERIFIER)
    orchard = ("--dataset", "orchard", "--model", "openai:gpt-4o", *APPLE)
    built = site.manage("build_verifier", "--json", *orchard, PATH=without_sandbox(tmp_path))
    [verifier] = json.loads(built.stdout)["verifiers"]
    assert verifier["state"] == "ready"
    assert verifier["tests"] >= 20
    fake_providers.script(NOT_NEGATIVE, RIGHT)
    solved = site.manage(
        "run_baseline", "--json", *orchard, "--method", "algo-iterative", PATH=without_sandbox(tmp_path)
    )
    assert json.loads(solved.stdout)["solved"] == 1
    assert rows(site, "SELECT count(*) FROM benchmark_programoperation") == [(0,)]


def test_a_distributed_run_is_called_by_the_model_worker_and_judged_by_the_judge_worker(
    site: Stack, fake_providers: FakeProviders, tmp_path: Path
):
    fake_providers.script(RIGHT)
    run = site.manage(
        "run_baseline", "--json", "--dataset", "orchard", "--model", "openai:gpt-4o", "--method", "zero-shot",
        "--problems", "cherry_sum", "--distribute", PATH=without_sandbox(tmp_path),
    )  # fmt: skip
    document = json.loads(run.stdout)
    assert (document["state"], document["solved"]) == ("finished", 1)


def test_a_run_waits_while_no_judge_worker_runs_and_its_programs_are_not_lost(
    site: Stack, fake_providers: FakeProviders, tmp_path: Path
):
    """Kill the judge worker before the run has a program, and twice while it judges one."""
    before_the_programs = Hold(after=0)
    fake_providers.script(
        *(
            replace(saying(f"import time\ntime.sleep(0.5)\n{PROGRAM}  # {number}"), hold=before_the_programs)
            for number in range(4)
        )
    )
    command = [
        sys.executable, "manage.py", "run_baseline", "--json", "--dataset", "orchard", "--model", "openai:gpt-4o",
        "--method", "zero-shot", "--problems", "apple_sum", "--attempts", "4",
        "--set", "temperature=0.25",
    ]  # fmt: skip
    run = subprocess.Popen(
        command,
        cwd=REPOSITORY,
        env=site.environment | {"PATH": without_sandbox(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )

    def claims() -> int:
        """Return how often judgements of the run's programs were claimed."""
        query = (
            "SELECT coalesce(sum(attempt), 0) FROM benchmark_judgement JOIN benchmark_submission AS program "
            "ON program.id = submission_id WHERE program.source LIKE '%time.sleep(0.5)%'"
        )
        return int(rows(site, query)[0][0])

    site.wait_for(lambda: fake_providers.requests)
    site.kill("worker-1")
    before_the_programs.release()
    for lost in range(2):
        site.wait_for(lambda: claims() > lost)  # noqa: B023  (called at once)
        site.kill("worker-1")
    output, errors = run.communicate(timeout=HANG)
    assert run.returncode == 0, errors
    assert json.loads(output)["solved"] == 4
    assert claims() >= 4 + 2, "a lost judgement is claimed again"


def test_the_kinds_share_all_jobs_queues_and_sweeps(settings: Any):
    judges, models, everything = WorkerKind.JUDGE, WorkerKind.MODEL, WorkerKind.ALL
    assert judges.jobs.keys() | models.jobs.keys() == everything.jobs.keys() == settings.WORKER_JOBS.keys()
    assert not judges.jobs.keys() & models.jobs.keys()
    assert (
        sorted([*judges.sweeps, *models.sweeps])
        == sorted(everything.sweeps)
        == sorted(settings.WORKER_SWEEPS)
    )
    assert sorted([*judges.queues, *models.queues]) == sorted(everything.queues) == sorted(settings.RQ_QUEUES)


def test_jobs_of_the_other_kind_are_refused_before_they_are_imported():
    for kind, name, argument in (
        (JudgeJob, "benchmark.runner.distribution.work_on_run", "run"),
        (ModelJob, "benchmark.judging.perform", 1),
        (ModelJob, "benchmark.runner.program_operations.perform", 1),
        (ModelJob, "benchmark.growth.perform_curve", 1),
    ):
        job = job_with(name, argument, kind=kind)
        with pytest.raises(JobRefusedError, match=f"is not a function that {kind.kind} workers run"):
            job.func  # noqa: B018  (the property raises)


def test_a_judge_worker_opens_no_provider(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("benchmark.providers.registry._forbidden", [])
    forbid_providers("a judge worker calls no models")
    with pytest.raises(ProviderError, match="practice:student is not opened: a judge worker calls no models"):
        open_provider(parse_model_spec("practice:student"))


def test_a_model_worker_opens_no_sandbox(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("judge.sandbox.discovery._forbidden", [])
    judge.forbid_programs("a model worker runs no programs")
    status = judge.sandbox_status()
    assert (status.available, status.problem) == (False, "a model worker runs no programs")
    assert "manage.py worker --kind judge" in status.remedy


def test_a_manifest_names_no_compiler_that_only_other_machines_have(monkeypatch: pytest.MonkeyPatch):
    def fail(_language: str) -> str:
        raise judge.ToolMissingError("g++ is missing")

    monkeypatch.setattr("judge.compiler_version", fail)
    assert environment("cpp")["compiler"] is None
