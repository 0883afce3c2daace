"""`manage.py doctor` and /healthz: their reports on missing parts."""

import json
import subprocess
from contextlib import suppress
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import DatabaseError
from django.test import Client

import judge
from benchmark.models import Process
from benchmark.processes import Heartbeat
from config.doctor import _processes, _separation, _versions
from tests.stack import RunProgram, Stack
from tutoring.protocols import PRESETS

DOCTOR = ("manage.py", "doctor")


def parts_of(result: subprocess.CompletedProcess[str]) -> dict[str, dict[str, object]]:
    return {part["name"]: part for part in json.loads(result.stdout)["parts"]}


def test_a_running_hintbench_is_healthy(stack: Stack):
    result = stack.manage("doctor", "--json")
    parts = parts_of(result)
    assert json.loads(result.stdout)["ok"] is True
    assert parts["queue server"]["detail"] == "answers"
    assert {parts[name]["detail"] for name in ("streamer", "judge worker", "model worker")} == {"runs"}
    assert parts["separate workers"]["detail"] == "no worker both calls models and runs programs"
    assert parts["versions of processes"]["ok"]
    for part in parts.values():
        assert set(part) == {"name", "ok", "need", "detail", "without", "fix"}


@pytest.fixture(scope="module")
def faulty(
    run_program: RunProgram, tmp_path_factory: pytest.TempPathFactory
) -> subprocess.CompletedProcess[str]:
    """Return the report on an empty folder open to others, another host's queue server without an answer, and keys."""
    folder = tmp_path_factory.mktemp("faulty")
    (folder / "var").mkdir()
    (folder / "var").chmod(0o755)
    return run_program(
        folder / "var",
        *DOCTOR,
        "--json",
        REDIS_URL="redis://192.0.2.1/0",
        OPENAI_API_KEY="sk-very-secret",
        MODEL_ENDPOINT_LAB_URL="http://user:sk-very-secret@gpu-1/v1",
        MODEL_ENDPOINT_LAB_KEY="sk-very-secret",
    )


def test_an_empty_folder_and_a_missing_queue_server_are_reported_with_a_fix(
    faulty: subprocess.CompletedProcess[str],
):
    assert faulty.returncode == 1
    parts = parts_of(faulty)
    assert json.loads(faulty.stdout)["ok"] is False
    assert not parts["database"]["ok"]
    assert "manage.py prepare" in str(parts["database"]["fix"])
    assert not parts["queue server"]["ok"]
    assert "REDIS_URL" in str(parts["queue server"]["fix"])


def test_a_folder_open_to_others_is_a_problem(faulty: subprocess.CompletedProcess[str]):
    part = parts_of(faulty)["variable folder"]
    assert not part["ok"]
    assert "open to other users" in str(part["detail"])


def test_an_unprotected_queue_server_on_another_host_is_reported(
    faulty: subprocess.CompletedProcess[str],
):
    part = parts_of(faulty)["queue server's protection"]
    assert not part["ok"]
    assert part["need"] == "useful"
    assert part["detail"] == "REDIS_URL names another host without TLS and a password"


def test_keys_are_reported_as_set_and_never_displayed(faulty: subprocess.CompletedProcess[str]):
    assert "sk-very-secret" not in faulty.stdout + faulty.stderr
    detail = "MODEL_ENDPOINT_LAB_URL is set and MODEL_ENDPOINT_LAB_KEY is set"
    assert parts_of(faulty)["endpoint lab"]["detail"] == detail
    assert parts_of(faulty)["provider openai"] == {
        "name": "provider openai",
        "ok": True,
        "need": "optional",
        "detail": "OPENAI_API_KEY is set",
        "without": "models named openai:… cannot be used; practice:student can",
        "fix": "Set OPENAI_API_KEY in the environment of ./run.",
    }


def test_missing_programs_are_reported_with_consequence_and_command(run_program: RunProgram, tmp_path: Path):
    empty = tmp_path / "bin"
    empty.mkdir()
    result = run_program(tmp_path / "var", *DOCTOR, PATH=str(empty))
    assert result.returncode == 1
    assert "MISSING bubblewrap: not found" in result.stdout
    assert "without it: the judge refuses to run programs" in result.stdout
    assert "apt-get install -y --no-install-recommends bubblewrap" in result.stdout


@pytest.mark.slow
@pytest.mark.django_db
def test_problems_are_found_without_the_compilers_of_optional_languages(monkeypatch: pytest.MonkeyPatch):
    """./run looks for problems at each start, and the compiler of Kotlin takes a second to tell its version."""

    asked = []

    def missing(language: str) -> str:
        asked.append(language)
        raise judge.ToolMissingError(language)

    monkeypatch.setattr("judge.compiler_version", missing)
    out = StringIO()
    with suppress(SystemExit):
        call_command("doctor", "--problems", stdout=out)
    assert "MISSING programs in Python 3: not found" in out.getvalue()
    assert set(asked) == {rules.language for rules in PRESETS.values()} < set(judge.LANGUAGES)


@pytest.mark.django_db
def test_health_is_503_and_names_the_queue_server_without_an_answer(client: Client, settings, monkeypatch):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    monkeypatch.setattr("redis.retry.sleep", lambda _seconds: pytest.fail("a health check must not wait"))
    answer = client.get("/healthz")
    assert answer.status_code == 503
    assert answer.json() == {
        "status": "unavailable",
        "database": "ok",
        "queue": "unavailable",
        "streamer": "missing",
        "judge_worker": "missing",
        "model_worker": "missing",
    }
    assert "no-store" in answer.headers["Cache-Control"]


@pytest.mark.django_db
def test_health_is_degraded_and_names_the_kind_of_process_that_is_missing(client: Client, monkeypatch):
    monkeypatch.setattr("config.health.queue_answers", lambda: True)
    Heartbeat(Process.Kind.JUDGE_WORKER).send("")
    answer = client.get("/healthz")
    assert (answer.status_code, answer.json()) == (
        200,
        {
            "status": "degraded",
            "database": "ok",
            "queue": "ok",
            "streamer": "missing",
            "judge_worker": "ok",
            "model_worker": "missing",
        },
    )


@pytest.mark.django_db
def test_health_is_503_without_a_database(client: Client, monkeypatch):
    def fail() -> None:
        raise DatabaseError("connection refused")

    monkeypatch.setattr("config.health.queue_answers", lambda: True)
    monkeypatch.setattr("config.health.outages", fail)
    answer = client.get("/healthz")
    assert answer.status_code == 503
    assert answer.json() == {
        "status": "unavailable",
        "database": "unavailable",
        "queue": "ok",
        "streamer": "unknown",
        "judge_worker": "unknown",
        "model_worker": "unknown",
    }


@pytest.mark.django_db
def test_missing_processes_and_differing_versions_are_reported(monkeypatch, settings, tmp_path: Path):
    settings.VAR = tmp_path
    (tmp_path / "processes.json").write_text("{}")
    monkeypatch.setattr("config.doctor.PROCESS_START", 0)
    Heartbeat(Process.Kind.WORKER).send("")
    Process.objects.update(version="0.0.9")
    parts = {part.name: part for part in [*_processes(), _separation(), _versions()]}
    assert (parts["streamer"].ok, parts["streamer"].detail) == (False, "none runs; none was seen")
    assert parts["judge worker"].ok
    assert parts["model worker"].ok
    assert (parts["separate workers"].ok, parts["separate workers"].need) == (False, "useful")
    assert parts["separate workers"].detail.endswith("calls models and runs programs")
    assert not parts["versions of processes"].ok
    assert "runs 0.0.9" in parts["versions of processes"].detail


@pytest.mark.django_db
def test_processes_are_no_problem_before_the_start(settings, tmp_path: Path, monkeypatch):
    monkeypatch.delenv("REDIS_URL", raising=False)
    settings.VAR = tmp_path
    assert [part.ok for part in _processes()] == [True, True, True]
