"""Configuration by environment: what is accepted, and that a wrong value stops the start with one clear line."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import Client

from config import env
from config.secret_key import secret_key
from tests.stack import HANG, REPOSITORY


def start(tmp_path: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a Python command with the real settings and these variables."""
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "HINTBENCH_VAR": str(tmp_path / "var"),
    }
    return subprocess.run(
        [sys.executable, *command],
        cwd=REPOSITORY,
        env=environment | variables,
        capture_output=True,
        text=True,
        timeout=HANG,
    )


@pytest.mark.parametrize("value", ["1", "true", "YES", " on "])
def test_a_switch_is_on(monkeypatch: pytest.MonkeyPatch, value: str):
    monkeypatch.setenv("SWITCH", value)
    assert env.env_flag("SWITCH") is True


@pytest.mark.parametrize("value", ["0", "false", "No", "off", ""])
def test_a_switch_is_off(monkeypatch: pytest.MonkeyPatch, value: str):
    monkeypatch.setenv("SWITCH", value)
    assert env.env_flag("SWITCH", default=True) is False


def test_an_integer_may_be_either_bound(monkeypatch: pytest.MonkeyPatch):
    for value in ("1", "10"):
        monkeypatch.setenv("NUMBER", value)
        assert env.env_integer("NUMBER", 5, 1, 10) == int(value)


def test_blank_means_not_set(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("BLANK", "  ")
    assert env.env_text("BLANK", "default") == "default"
    assert env.env_integer("BLANK", 5, 1, 10) == 5
    assert env.env_list("BLANK", ["default"]) == ["default"]


def test_factors_are_positive_numbers_by_known_names(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FACTORS", "python=2.5, java=1")
    assert env.env_factors("FACTORS", ("java", "python")) == {"python": 2.5, "java": 1.0}
    assert env.env_factors("OTHERS", ("java",)) == {}
    for wrong in (
        "java",
        "java=",
        "java=0",
        "java=-1",
        "java=inf",
        "java=nan",
        "cobol=2",
        "java=two",
        "java=1,",
    ):
        monkeypatch.setenv("FACTORS", wrong)
        with pytest.raises(ImproperlyConfigured, match="FACTORS"):
            env.env_factors("FACTORS", ("java",))


def test_every_refusal_names_the_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    file = tmp_path / "file"
    file.touch()
    refusals = {
        "perhaps": lambda: env.env_flag("VARIABLE"),
        "1O": lambda: env.env_integer("VARIABLE", 5, 1, 10),
        "11": lambda: env.env_integer("VARIABLE", 5, 1, 10),
        "0": lambda: env.env_integer("VARIABLE", 5, 1, 10),
        "ftp://host": lambda: env.env_url("VARIABLE", "", ("http", "https")),
        "a,,b": lambda: env.env_list("VARIABLE", []),
        str(file): lambda: env.env_folder("VARIABLE", tmp_path),
    }
    for value, read in refusals.items():
        monkeypatch.setenv("VARIABLE", value)
        with pytest.raises(ImproperlyConfigured, match="VARIABLE"):
            read()


def test_the_refusal_of_a_url_does_not_show_its_password(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("VARIABLE", "mysql://user:s3cret@host/db")
    with pytest.raises(ImproperlyConfigured) as refusal:
        env.env_url("VARIABLE", "", ("postgres",))
    assert "s3cret" not in str(refusal.value)


def test_the_secret_key_is_made_once_and_for_the_owner_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.delenv("SECRET_KEY", raising=False)
    key = secret_key(tmp_path / "var")
    assert len(key) >= 50
    assert secret_key(tmp_path / "var") == key
    assert (tmp_path / "var").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "var" / "secret_key").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("PORT", "99999"),
        ("WORKERS", "none"),
        ("HTTPS", "maybe"),
        ("DATABASE_URL", "mysql://localhost/x"),
        ("REDIS_URL", "localhost:6379"),
        ("HOST", "0.0.0.0"),
    ],
)
def test_a_wrong_value_stops_the_start_with_one_line_that_names_it(tmp_path: Path, variable: str, value: str):
    refused = start(tmp_path, "-m", "config.supervisor", **{variable: value})
    assert refused.returncode == 2
    assert refused.stdout.startswith(f"Hintbench cannot start: {variable}")
    assert refused.stdout.count("\n") == 1
    assert refused.stderr == ""


def test_the_deployment_check_finds_nothing_under_https(tmp_path: Path):
    checked = start(
        tmp_path,
        "manage.py",
        "check",
        "--deploy",
        "--fail-level",
        "WARNING",
        HTTPS="1",
        HOST="0.0.0.0",
        ALLOWED_HOSTS="tutor.example.org",
    )
    assert checked.returncode == 0, checked.stderr
    assert "no issues" in checked.stdout


def test_the_deployment_check_warns_of_a_queue_server_that_anybody_on_the_network_can_reach(tmp_path: Path):
    checked = start(
        tmp_path,
        "manage.py",
        "check",
        "--deploy",
        HTTPS="1",
        ALLOWED_HOSTS="tutor.example.org",
        REDIS_URL="redis://queue.example.org/0",
    )
    assert "without TLS and a password" in checked.stderr
    assert "rediss://:PASSWORD@HOST:PORT/0" in checked.stderr


def test_a_fresh_folder_is_prepared_for_its_owner_only_even_with_a_key_of_its_own(tmp_path: Path):
    var = tmp_path / "new" / "var"
    prepared = start(tmp_path, "manage.py", "prepare", SECRET_KEY="k" * 60, HINTBENCH_VAR=str(var))
    assert prepared.returncode == 0, prepared.stderr
    assert "Demo logins:" in prepared.stdout
    assert var.stat().st_mode & 0o777 == 0o700
    assert not [path for path in var.iterdir() if path.stat().st_mode & 0o077]


def test_every_change_of_a_table_has_its_migration(tmp_path: Path):
    checked = start(tmp_path, "manage.py", "makemigrations", "--check", "--dry-run")
    assert checked.returncode == 0, checked.stdout


def test_a_request_for_another_host_name_is_refused_and_not_an_error_of_ours(client: Client):
    client.raise_request_exception = False
    assert client.get("/healthz", headers={"host": "elsewhere.example"}).status_code == 400
