"""Fixtures for tests of commands, which run as processes on a separate database file, as for users."""

import json
import shutil
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.benchmark.runs.bank import add_bank, make_bank
from tests.benchmark.runs.processes import CommandProcess, run_apart
from tests.cached_fixtures import add_database, add_prepared, cached_folder
from tests.fake_providers import FakeProviders
from tests.stack import HANG


@dataclass
class CommandSandbox:
    """A HINTBENCH_VAR with the problems of bank.py, and the fake providers.

    `database` is the URL of a PostgreSQL database; blank: SQLite in `var`.
    """

    var: Path
    fake_providers: FakeProviders
    database: str = ""

    def start(self, *arguments: str) -> CommandProcess:
        """Start a manage.py command as a process."""
        return CommandProcess(arguments, self.var, self.settings, self.database)

    @property
    def settings(self) -> dict[str, str]:
        """The settings that direct the providers to the fake providers."""
        return {
            "OPENAI_API_KEY": "sk-fake-000000",
            "OPENAI_BASE_URL": self.fake_providers.openai_url,
            "ANTHROPIC_API_KEY": "sk-fake-000000",
            "ANTHROPIC_BASE_URL": self.fake_providers.anthropic_url,
        }

    def manage(self, *arguments: str, status: int = 0) -> tuple[str, str]:
        """Return standard output and standard error of a manage.py command; assert its exit status."""
        exit_status, output, errors = self.start(*arguments).wait()
        assert exit_status == status, errors
        return output, errors

    def baseline(self, *arguments: str, status: int = 0, method: str = "zero-shot") -> dict[str, Any]:
        """Return the JSON document of `run_baseline`: of a new run over the orchard unless it resumes one."""
        if "--resume" not in arguments:
            arguments = ("--dataset", "orchard", "--model", "openai:gpt-4o", "--method", method, *arguments)
        output, _ = self.manage("run_baseline", "--json", *arguments, status=status)
        document: dict[str, Any] = json.loads(output)
        return document

    def report(self, run: str, *arguments: str) -> dict[str, Any]:
        """Return the JSON report of a run."""
        output, _ = self.manage("report", run, "--format", "json", *arguments)
        figures: dict[str, Any] = json.loads(output)["runs"][0]
        return figures

    def rows(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return rows of a query, or change the database outside the program."""
        if self.database:
            with psycopg.connect(self.database) as server:
                return server.execute(query.replace("?", "%s"), values).fetchall()
        with sqlite3.connect(self.var / "hintbench.sqlite3", timeout=HANG) as connection:
            return connection.execute(query, values).fetchall()


@pytest.fixture(scope="session")
def filled_var() -> Path:
    """Return a HINTBENCH_VAR with tables and problems."""
    return cached_folder("orchard", lambda var: run_apart(make_bank, add_database(var)))


@pytest.fixture(scope="session")
def filled_site() -> Path:
    """Return a prepared HINTBENCH_VAR with the problems, for tests that start a stack."""
    return cached_folder("orchard-site", lambda var: run_apart(add_bank, add_prepared(var)))


@pytest.fixture
def commands(filled_var: Path, tmp_path: Path, fake_providers: FakeProviders) -> CommandSandbox:
    var = tmp_path / "var"
    shutil.copytree(filled_var, var)
    return CommandSandbox(var, fake_providers)
