"""A PostgreSQL server for tests, in a temporary folder, on a Unix socket only."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cached_fixtures import kept_folder, migrate
from tests.missing_programs import skip_or_fail

MIGRATED = "migrated"

RECOVERY = 60
"""Seconds within which a killed server starts again."""


def installed_programs() -> Path | None:
    """Return the folder of initdb, on PATH or in Debian's path; None if PostgreSQL is not installed."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    return versions[-1] if versions else None


class Postgres:
    """A running server whose database `migrated` has every table.

    PostgreSQL refuses to run as root, so root starts it as the user `postgres` or `nobody`.
    """

    def __init__(self, programs: Path, template: Path | None = None) -> None:
        """Start with a copy of the data of a stopped server, or with an empty database."""
        # Outside pytest's own folder, which the server's user cannot enter.
        self._temporary = tempfile.TemporaryDirectory(prefix="hintbench-postgres-")
        self.folder = folder = Path(self._temporary.name)
        self.programs = programs
        self.databases = 0
        self.prefix: list[str] = []
        if os.geteuid() == 0:
            names = {entry.pw_name for entry in pwd.getpwall()}
            user = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
            os.chown(folder, user.pw_uid, user.pw_gid)
            self.prefix = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
        if template:
            subprocess.run(["cp", "-a", template, folder / "data"], check=True)
        else:
            self._run("initdb", "-D", str(folder / "data"), "-A", "trust", "-U", "hintbench", "--no-sync")
        self._start()

    def new_database(self, template: str = MIGRATED) -> str:
        """Create a database with every table, or a copy of an unused one, and return its DATABASE_URL."""
        self.databases += 1
        return self._create(f"test{self.databases}", template.rpartition("/")[2])

    def _create(self, name: str, template: str) -> str:
        self._run("createdb", "-h", str(self.folder), "-U", "hintbench", "-T", template, name)
        return f"postgres://hintbench@{str(self.folder).replace('/', '%2F')}/{name}"

    def kill(self) -> None:
        """Send SIGKILL to the server. Its other processes end by themselves, without a checkpoint."""
        pid = int((self.folder / "data" / "postmaster.pid").read_text().split()[0])
        os.kill(pid, signal.SIGKILL)

    def restart(self) -> None:
        """Start the server after `kill`. It recovers from its log."""
        end = time.monotonic() + RECOVERY
        while True:
            try:
                return self._start()
            except AssertionError:  # a process of the former server still uses the shared memory
                if time.monotonic() > end:
                    raise
                time.sleep(0.2)

    def stop(self) -> None:
        self._stop("immediate")
        self._temporary.cleanup()

    def move_data(self, path: Path) -> None:
        """Create every table in the database `migrated`, stop the server and move its data to `path`."""
        migrate(path.parent, self._create(MIGRATED, "template1"))
        self._stop("fast")
        shutil.move(self.folder / "data", path)
        self._temporary.cleanup()

    def _start(self) -> None:
        data, log = str(self.folder / "data"), str(self.folder / "log")
        options = f"-k {self.folder} -c listen_addresses= -c fsync=off"
        self._run("pg_ctl", "-D", data, "-w", "-l", log, "-o", options, "start")

    def _stop(self, mode: str) -> None:
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-m", mode, "stop")

    def _run(self, program: str, *arguments: str) -> None:
        result = subprocess.run(
            [*self.prefix, str(self.programs / program), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=self.folder,
            check=False,
        )
        assert result.returncode == 0, result.stdout


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """Return a PostgreSQL server. Without PostgreSQL the test is skipped; under CI=true it fails."""
    programs = installed_programs()
    if programs is None:
        skip_or_fail("PostgreSQL is not installed: apt-get install postgresql")
    version = subprocess.check_output([programs / "postgres", "--version"], text=True)
    folder = kept_folder(
        "postgres",
        lambda unfinished: Postgres(programs).move_data(unfinished / "data"),
        sources=("tests/postgres.py",),
        version=version,
    )
    server = Postgres(programs, template=folder / "data")
    yield server
    server.stop()
