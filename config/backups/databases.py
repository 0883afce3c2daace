"""The database of a site as one file: SQLite's online backup, or a dump by PostgreSQL's own programs."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import IO, Any, ClassVar, Literal

from django.db import connection, connections, transaction
from psycopg.conninfo import make_conninfo

from config.backups.errors import BackupError
from config.backups.files import copy_file

Progress = Callable[[int, int], object]
"""Called with the finished and all bytes; all is 0 if it is unknown."""

_CHUNK = 2**16

_PAGES = 2048
"""Pages that SQLite copies between two calls of the progress function."""


class Database(ABC):
    """The database of this site."""

    VENDOR: ClassVar[Literal["sqlite", "postgresql"]]
    FILE: ClassVar[str]
    """The name of its file in a backup."""

    @abstractmethod
    def version(self) -> str:
        """Return the version of the database server or library."""

    @abstractmethod
    def size(self) -> int:
        """Return the bytes that a copy needs at most."""

    @abstractmethod
    def check_programs(self) -> None:
        """Raise BackupError if a program is missing that copies or loads the database."""

    @abstractmethod
    def copy(self, target: Path, progress: Progress) -> dict[str, int]:
        """Write one consistent state into a new file and return its numbers of rows by table. Writers may continue."""

    @abstractmethod
    def load(self, file: Path, rows: dict[str, int], progress: Progress) -> None:
        """Replace all tables by those of a copy, or none of them.

        Raises BackupError, also if the numbers of rows differ from `rows`.
        """

    def tables(self) -> list[str]:
        """Return the names of all tables of the site's database."""
        return sorted(connection.introspection.table_names())


def site_database() -> Database:
    """Return the database of this site."""
    return SqliteDatabase() if connection.vendor == "sqlite" else PostgresDatabase()


class SqliteDatabase(Database):
    """A file of SQLite, copied with SQLite's online backup."""

    VENDOR = "sqlite"
    FILE = "database.sqlite3"

    def __init__(self) -> None:
        self._path = Path(str(connection.settings_dict["NAME"]))

    def version(self) -> str:
        return sqlite3.sqlite_version

    def size(self) -> int:
        log = self._path.with_name(f"{self._path.name}-wal")
        return sum(path.stat().st_size for path in (self._path, log) if path.exists())

    def check_programs(self) -> None:
        """Do nothing: Python contains SQLite."""

    def copy(self, target: Path, progress: Progress) -> dict[str, int]:
        size = self.size()
        with (
            closing(sqlite3.connect(self._path, timeout=20, isolation_level=None)) as source,
            closing(sqlite3.connect(target, isolation_level=None)) as copy,
        ):
            # The read transaction fixes the state. Otherwise each commit of another process would restart the copy.
            source.execute("BEGIN")
            source.execute("SELECT count(*) FROM sqlite_master").fetchone()
            source.backup(
                copy,
                pages=_PAGES,
                progress=lambda _, left, all_: progress(size * (all_ - left) // all_, size),
            )
            source.execute("ROLLBACK")
            copy.execute("PRAGMA journal_mode=DELETE")
            _check_integrity(copy, "The database is damaged")
            rows = _sqlite_rows(copy)
        target.chmod(0o600)
        return rows

    def load(self, file: Path, rows: dict[str, int], progress: Progress) -> None:
        new = self._path.with_name(f"{self._path.name}.restoring")
        new.unlink(missing_ok=True)
        size, finished = file.stat().st_size, 0

        def advance(count: int) -> None:
            nonlocal finished
            finished += count
            progress(finished, size)

        try:
            copy_file(file, new, advance)
            with closing(sqlite3.connect(new)) as copy:
                _check_integrity(copy, f"{file} is damaged")
                if _sqlite_rows(copy) != rows:
                    raise BackupError(f"{file} does not have the numbers of rows of the manifest.")
            connections.close_all()
            self._end_log()
            os.replace(new, self._path)
        finally:
            for path in (new, new.with_name(f"{new.name}-journal")):
                path.unlink(missing_ok=True)

    def _end_log(self) -> None:
        """Write the log of the former database into its file: an old log must not be applied to the new file.

        Raises BackupError if another process has the database open.
        """
        if self._path.exists():
            with closing(sqlite3.connect(self._path)) as former:
                try:
                    former.execute("PRAGMA journal_mode=DELETE")
                except sqlite3.OperationalError as error:
                    raise BackupError(
                        f"Stop all processes first: {self._path} is in use ({error})."
                    ) from None
        for suffix in ("-wal", "-shm"):
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)


def _check_integrity(database: sqlite3.Connection, problem: str) -> None:
    try:
        found = [row[0] for row in database.execute("PRAGMA quick_check(1)")]
    except sqlite3.DatabaseError as error:
        found = [str(error)]
    if found != ["ok"]:
        raise BackupError(f"{problem}: {found[0]}")


def _sqlite_rows(database: sqlite3.Connection) -> dict[str, int]:
    names = database.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY name"
    )
    return {
        name: database.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]  # noqa: S608  (a name of the schema)
        for (name,) in names.fetchall()
    }


class PostgresDatabase(Database):
    """A database of PostgreSQL, dumped with pg_dump and loaded with pg_restore and psql in one transaction."""

    VENDOR = "postgresql"
    FILE = "database.dump"

    def __init__(self) -> None:
        parameters: dict[str, Any] = connection.get_connection_params()
        self._password = str(parameters.pop("password", "") or "")
        texts = {
            name: value for name, value in parameters.items() if isinstance(value, str) or name == "port"
        }
        self._target = make_conninfo("", **texts)

    def version(self) -> str:
        return str(self._major())

    def size(self) -> int:
        return int(_first_value("SELECT pg_database_size(current_database())"))

    def check_programs(self) -> None:
        for program in ("pg_dump", "pg_restore", "psql"):
            self._program(program)

    def copy(self, target: Path, progress: Progress) -> dict[str, int]:
        connection.ensure_connection()
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            cursor.execute("SELECT pg_export_snapshot()")
            snapshot = cursor.fetchone()[0]
            options = ("--format=custom", "--no-owner", "--no-privileges", f"--snapshot={snapshot}")
            command = [self._program("pg_dump"), *options, f"--file={target}", f"--dbname={self._target}"]
            with self._start(command) as dump:
                while dump.poll() is None:
                    progress(target.stat().st_size if target.exists() else 0, 0)
                    time.sleep(0.1)
                self._check(dump, "pg_dump")
            rows = self._rows()
        target.chmod(0o600)
        return rows

    def load(self, file: Path, rows: dict[str, int], progress: Progress) -> None:
        size = file.stat().st_size
        drop = "".join(f'DROP TABLE IF EXISTS "{table}" CASCADE;\n' for table in self.tables())
        connections.close_all()
        restore = [self._program("pg_restore"), "--no-owner", "--no-privileges", "--file=-", str(file)]
        psql = [self._program("psql"), "--no-psqlrc", "--quiet", "--output=/dev/null", "--single-transaction"]
        psql += ["--set=ON_ERROR_STOP=1", f"--dbname={self._target}"]
        with (
            self._start(psql, stdin=subprocess.PIPE) as loading,
            self._start(restore, stdout=subprocess.PIPE) as dump,
        ):
            assert loading.stdin is not None
            assert dump.stdout is not None
            try:
                _write_all(loading.stdin, drop.encode())
                while chunk := dump.stdout.read(_CHUNK):
                    _write_all(loading.stdin, chunk)
                self._check(dump, "pg_restore")
                loading.stdin.close()
            except BrokenPipeError:
                dump.kill()
            except BaseException:
                loading.kill()  # the end of its input would commit an incomplete script
                raise
            self._check(loading, "psql")
        progress(size, size)
        if self._rows() != rows:
            raise BackupError(
                f"{file} was loaded, and its tables do not have the numbers of rows of the manifest."
            )

    def _rows(self) -> dict[str, int]:
        return {
            table: int(_first_value(f'SELECT count(*) FROM "{table}"'))  # noqa: S608  (a name of the schema)
            for table in self.tables()
        }

    def _major(self) -> int:
        return int(_first_value("SHOW server_version_num")) // 10_000

    def _program(self, name: str) -> str:
        """Return the path of a program of the server's version, else of the oldest newer one. Raises BackupError."""
        major = self._major()
        paths = [*Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), Path(shutil.which(name) or "")]
        found = {_major_of(path): path for path in paths if path.is_file()}
        usable = sorted(version for version in found if version >= major)
        if not usable:
            present = f"only version {max(found)} is" if found else "it is not"
            raise BackupError(
                f"The backup of PostgreSQL {major} needs {name} of version {major} or newer, and {present} installed. "
                f"Install it: apt-get install postgresql-client-{major}"
            )
        return str(found[usable[0]])

    def _start(
        self, command: list[str], stdin: int | None = None, stdout: int | None = None
    ) -> subprocess.Popen[bytes]:
        environment = os.environ | ({"PGPASSWORD": self._password} if self._password else {})
        return subprocess.Popen(
            command, bufsize=0, stdin=stdin, stdout=stdout, stderr=subprocess.PIPE, env=environment
        )

    @staticmethod
    def _check(process: subprocess.Popen[bytes], name: str) -> None:
        assert process.stderr is not None
        errors = process.stderr.read().decode(errors="replace").strip()
        if process.wait():
            raise BackupError(f"{name} failed: {errors or f'exit status {process.returncode}'}")


def _first_value(query: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return cursor.fetchone()[0]


def _major_of(program: Path) -> int:
    """Return the major version of a program of PostgreSQL; 0 if it is unknown."""
    output = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"\) (\d+)", output)
    return int(found[1]) if found else 0


def _write_all(stream: IO[bytes], content: bytes) -> None:
    """Write everything to an unbuffered stream."""
    rest = memoryview(content)
    while rest:
        rest = rest[stream.write(rest) :]
