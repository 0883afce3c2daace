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


def installed_programs() -> Path | None:
    """The folder of initdb: on PATH, or where Debian keeps it."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    return versions[-1] if versions else None


class Postgres:
    """The running server. It refuses to run as root, so root starts it as the user `postgres` or `nobody`."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self.folder = folder
        self.programs = programs
        self.databases = 0
        self.prefix: list[str] = []
        if os.geteuid() == 0:
            names = {entry.pw_name for entry in pwd.getpwall()}
            user = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
            os.chown(folder, user.pw_uid, user.pw_gid)
            self.prefix = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
        self._run("initdb", "-D", str(folder / "data"), "-A", "trust", "-U", "hintbench", "--no-sync")
        options = f"-k {folder} -c listen_addresses= -c fsync=off"
        self._run(
            "pg_ctl", "-D", str(folder / "data"), "-w", "-l", str(folder / "log"), "-o", options, "start"
        )

    def new_database(self, like: str = "template1") -> str:
        """Make a database, empty or a copy of another that nobody uses, and return its DATABASE_URL."""
        self.databases += 1
        name = f"test{self.databases}"
        source = like.rpartition("/")[2]
        self._run("createdb", "-h", str(self.folder), "-U", "hintbench", "-T", source, name)
        return f"postgres://hintbench@{str(self.folder).replace('/', '%2F')}/{name}"

    def stop(self) -> None:
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-m", "immediate", "stop")

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
    # Not below pytest's own folder: that one is closed to other users, and the server runs as one.
    with tempfile.TemporaryDirectory(prefix="hintbench-postgres-") as folder:
        server = Postgres(Path(folder), programs)
        yield server
        server.stop()
