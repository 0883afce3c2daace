"""manage.py."""

import os
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path
from uuid import uuid4

import pytest
from django.conf import settings
from django.core.management import get_commands, load_command_class
from django.template.loader import render_to_string
from django.test import Client

from config import supervisor
from config.command_line import OWN_PACKAGES, CommandLine
from config.version import VERSION
from tests.stack import HANG, REPOSITORY


def test_ctrl_c_ends_a_command_with_a_message(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(command_line: CommandLine) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(CommandLine, "execute", interrupted)
    with pytest.raises(SystemExit, match="130"):
        runpy.run_path(str(REPOSITORY / "manage.py"), run_name="__main__")
    assert capsys.readouterr().err.strip() == "Interrupted. Stored results are kept."


def test_only_commands_of_hintbench_start_without_the_checks_which_import_all_pages() -> None:
    assert {app for app in settings.INSTALLED_APPS if (REPOSITORY / app).is_dir()} == OWN_PACKAGES
    command_line = CommandLine(["manage.py"])
    one_of_each = {app: name for name, app in sorted(get_commands().items()) if app in OWN_PACKAGES}
    assert one_of_each.keys() == OWN_PACKAGES
    for name in one_of_each.values():
        assert command_line.fetch_command(name).requires_system_checks == [], name
    for name in ("check", "createsuperuser", "migrate", "runserver"):
        of_django = load_command_class(get_commands()[name], name)
        assert command_line.fetch_command(name).requires_system_checks == of_django.requires_system_checks, (
            name
        )
    assert command_line.fetch_command("createsuperuser").requires_system_checks == "__all__"


@pytest.mark.parametrize("argument", ["version", "--version"])
def test_the_version_is_that_of_the_project(
    argument: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    monkeypatch.setattr("sys.argv", ["manage.py", argument])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(REPOSITORY / "manage.py"), run_name="__main__")
    assert not ended.value.code
    assert capsys.readouterr().out == f"Hintbench {project['version']}\n"
    assert f"\n## {project['version']}\n" in (REPOSITORY / "CHANGELOG.md").read_text()


def test_run_says_the_version(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["./run", "--version"])
    with pytest.raises(SystemExit, match="0"):
        supervisor.main()
    assert capsys.readouterr().out == f"Hintbench {VERSION}\n"


@pytest.mark.django_db
def test_every_page_shows_the_version(client: Client) -> None:
    for address in ("/login/", "/missing/", "/glossary/"):
        assert f"Hintbench {VERSION} ·" in client.get(address).content.decode(), address
    for template in ("400.html", "500.html", "503.html"):
        assert f"Hintbench {VERSION} ·" in render_to_string(template, {"reason": "", "full": False})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("database", "fault", "fix"),
    [
        ("", "The database is not ready: sqlite, ", "manage.py prepare"),
        (
            "sqlite:////proc/none.sqlite3",
            "The database is not ready: sqlite: unable to open database file",
            "Make the file and its folder writable",
        ),
        (
            "postgres://nobody:word@127.0.0.1:1/none",
            "The database is not ready: postgresql: connection failed",
            "Check DATABASE_URL",
        ),
        (
            "mysql://nobody:word@127.0.0.1/none",
            "DATABASE_URL has the scheme 'mysql'",
            "must start with one of: sqlite://, postgres://",
        ),
    ],
)
def test_a_command_without_a_database_says_what_to_do(
    tmp_path: Path, database: str, fault: str, fix: str
) -> None:
    ended = subprocess.run(
        [sys.executable, "manage.py", "report", str(uuid4())],
        cwd=REPOSITORY,
        env=os.environ
        | {
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "HINTBENCH_VAR": str(tmp_path),
            "DATABASE_URL": database,
        },
        capture_output=True,
        text=True,
        timeout=HANG,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr.startswith(fault)
    assert fix in ended.stderr
    assert "Traceback" not in ended.stderr
    assert "word" not in ended.stderr
