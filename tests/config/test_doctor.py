"""`manage.py doctor` and /healthz: what they say when something is missing."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.test import Client

from tests.stack import HANG, REPOSITORY, Stack


def doctor(tmp_path: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "HINTBENCH_VAR": str(tmp_path / "var"),
    }
    return subprocess.run(
        [sys.executable, "manage.py", "doctor", *words],
        cwd=REPOSITORY,
        env=environment | variables,
        capture_output=True,
        text=True,
        timeout=HANG,
    )


def parts_of(result: subprocess.CompletedProcess[str]) -> dict[str, dict[str, object]]:
    return {part["name"]: part for part in json.loads(result.stdout)["parts"]}


def test_a_running_hintbench_is_healthy(stack: Stack):
    result = stack.manage("doctor", "--json")
    parts = parts_of(result)
    assert json.loads(result.stdout)["ok"] is True
    assert parts["queue server"]["detail"] == "answers"
    for part in parts.values():
        assert set(part) == {"name", "ok", "need", "detail", "without", "fix"}


@pytest.fixture(scope="module")
def ailing(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """What is said of an empty folder that is open to others, a silent queue and a key."""
    folder = tmp_path_factory.mktemp("ailing")
    (folder / "var").mkdir()
    (folder / "var").chmod(0o755)
    return doctor(folder, "--json", REDIS_URL="redis://127.0.0.1:1/0", OPENAI_API_KEY="sk-very-secret")


def test_an_empty_folder_and_a_silent_queue_are_found_with_their_fix(
    ailing: subprocess.CompletedProcess[str],
):
    assert ailing.returncode == 1
    parts = parts_of(ailing)
    assert json.loads(ailing.stdout)["ok"] is False
    assert not parts["database"]["ok"]
    assert "manage.py prepare" in str(parts["database"]["fix"])
    assert not parts["queue server"]["ok"]
    assert "REDIS_URL" in str(parts["queue server"]["fix"])


def test_a_folder_open_to_others_is_a_problem(ailing: subprocess.CompletedProcess[str]):
    part = parts_of(ailing)["variable folder"]
    assert not part["ok"]
    assert "open to other users" in str(part["detail"])


def test_a_queue_server_on_another_host_without_protection_is_named(tmp_path: Path):
    part = parts_of(doctor(tmp_path, "--json", REDIS_URL="redis://192.0.2.1/0"))["queue server's protection"]
    assert not part["ok"]
    assert part["need"] == "useful"
    assert part["detail"] == "REDIS_URL names another host without TLS and a password"


def test_keys_are_reported_as_set_and_never_shown(ailing: subprocess.CompletedProcess[str]):
    assert "sk-very-secret" not in ailing.stdout + ailing.stderr
    assert parts_of(ailing)["provider openai"] == {
        "name": "provider openai",
        "ok": True,
        "need": "optional",
        "detail": "OPENAI_API_KEY is set",
        "without": "models named openai:… cannot be used; practice:student can",
        "fix": "Set OPENAI_API_KEY in the environment of ./run.",
    }


def test_missing_programs_are_named_with_what_stops_and_the_exact_line(tmp_path: Path):
    empty = tmp_path / "bin"
    empty.mkdir()
    result = doctor(tmp_path, PATH=str(empty))
    assert result.returncode == 1
    assert "MISSING bubblewrap: not found" in result.stdout
    assert "without it: the judge refuses to run programs" in result.stdout
    assert "apt-get install -y --no-install-recommends bubblewrap" in result.stdout


@pytest.mark.django_db
def test_health_is_503_and_names_what_is_down_when_the_queue_is(client: Client, settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    answer = client.get("/healthz")
    assert answer.status_code == 503
    assert answer.json() == {"status": "unavailable", "database": "ok", "queue": "unavailable"}
    assert "no-store" in answer.headers["Cache-Control"]
