"""A PostgreSQL server for tests, in a temporary folder, on a Unix socket only."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cached_fixtures import cached_folder, migrate

MIGRATED = "migrated"


def installed_programs() -> Path | None:
    """The folder of initdb: on PATH, or where Debian keeps it."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    return versions[-1] if versions else None


class Postgres:
    """A running server whose database `migrated` has every table.

    It refuses to run as root, so root starts it as the user `postgres` or `nobody`.
    """

    def __init__(self, programs: Path, like: Path | None = None) -> None:
        """Start with the data of a server that has been stopped, or with empty ones."""
        # Not below pytest's own folder: that one is closed to other users, and the server runs as one.
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
        if like:
            subprocess.run(["cp", "-a", like, folder / "data"], check=True)
        else:
            self._run("initdb", "-D", str(folder / "data"), "-A", "trust", "-U", "hintbench", "--no-sync")
        options = f"-k {folder} -c listen_addresses= -c fsync=off"
        self._run(
            "pg_ctl", "-D", str(folder / "data"), "-w", "-l", str(folder / "log"), "-o", options, "start"
        )

    def new_database(self, like: str = MIGRATED) -> str:
        """Make a database with every table, or a copy of another that nobody uses, and return its DATABASE_URL."""
        self.databases += 1
        return self._create(f"test{self.databases}", like.rpartition("/")[2])

    def _create(self, name: str, template: str) -> str:
        self._run("createdb", "-h", str(self.folder), "-U", "hintbench", "-T", template, name)
        return f"postgres://hintbench@{str(self.folder).replace('/', '%2F')}/{name}"

    def stop(self) -> None:
        self._stop("immediate")
        self._temporary.cleanup()

    def move_data(self, place: Path) -> None:
        """Stop for good; the data, with every table in the database `migrated`, are then in `place`."""
        migrate(place.parent, self._create(MIGRATED, "template1"))
        self._stop("fast")
        shutil.move(self.folder / "data", place)
        self._temporary.cleanup()

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
        )
        assert result.returncode == 0, result.stdout


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server. In CI it must be there; elsewhere its tests are skipped without it."""
    programs = installed_programs()
    if programs is None:
        message = "PostgreSQL is not installed (apt-get install postgresql)"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    data = cached_folder("postgres", lambda folder: Postgres(programs).move_data(folder / "data")) / "data"
    server = Postgres(programs, like=data)
    yield server
    server.stop()
