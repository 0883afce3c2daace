"""Folders that are slow to create and only read: the first process that needs one creates it for the whole test run.

The migrated database is kept between test runs.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.programs import fast_test

REPOSITORY = Path(__file__).resolve().parent.parent

DATABASE = "hintbench.sqlite3"

KEPT = REPOSITORY / ".pytest_cache" / "migrated"
"""The migrated database of former test runs: one file, named by the hash of its sources."""

SOURCES = (
    "*/migrations/*.py",
    "*/apps.py",
    "accounts/*.py",
    "benchmark/models/**/*.py",
    "tutoring/models/**/*.py",
    "tutoring/protocols/**/*",
    "tutoring/rules/**/*",
    "requirements.lock",
)
"""The files that decide on the content of a migrated database: migrations, and what `post_migrate` signals call."""


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def cached_folder(name: str, fill: Callable[[Path], None]) -> Path:
    """Return the read-only folder of this name; the first call of all processes creates it with `fill`."""
    folder = Path(os.environ["HINTBENCH_TESTS"])
    path = folder / name
    with _locked(folder / f"{name}.lock"):
        if not path.exists():
            with tempfile.TemporaryDirectory(dir=folder) as unfinished:
                new = Path(unfinished) / name
                new.mkdir(mode=0o700)
                with fast_test(""):  # all tests share the folder
                    fill(new)
                new.rename(path)
    return path


def migrated_database() -> Path:
    """Return a SQLite file with every table."""
    return cached_folder("migrated", _copy_or_migrate) / DATABASE


def is_kept() -> bool:
    """Return whether a former test run created the migrated database."""
    return (migrated_database().parent / KEPT.name).exists()


def _copy_or_migrate(var: Path) -> None:
    KEPT.mkdir(parents=True, exist_ok=True)
    sources = _hash_of_sources()
    kept = KEPT / f"{sources}.sqlite3"
    with _locked(KEPT / "lock"):  # other test runs of this clone
        if kept.exists():
            shutil.copy(kept, var / DATABASE)
            (var / KEPT.name).touch()
            return
        migrate(var)
        if _hash_of_sources() != sources:  # edited meanwhile
            return
        for old in KEPT.glob("*.sqlite3"):
            old.unlink()
        shutil.copy(var / DATABASE, KEPT / "unfinished")
        (KEPT / "unfinished").rename(kept)


def _hash_of_sources() -> str:
    digest = hashlib.sha256(sys.version.encode())
    for path in sorted({path for pattern in SOURCES for path in REPOSITORY.glob(pattern) if path.is_file()}):
        if path.suffix != ".pyc":
            digest.update(str(path.relative_to(REPOSITORY)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def add_database(var: Path) -> Path:
    """Copy a database with every table into a HINTBENCH_VAR and return the folder."""
    shutil.copy(migrated_database(), var)
    return var


def prepared_var() -> Path:
    """Return a HINTBENCH_VAR with the practice problems, the textbook and the demo accounts."""
    return cached_folder("prepared", lambda var: _manage(add_database(var), "prepare"))


def add_prepared(var: Path) -> Path:
    """Copy `prepared_var` into a HINTBENCH_VAR and return the folder."""
    shutil.copytree(prepared_var(), var, dirs_exist_ok=True)
    return var


def migrate(var: Path, database: str = "") -> None:
    """Create every table: in the SQLite file of a HINTBENCH_VAR, or in the empty database with this URL."""
    _manage(var, "migrate", "--verbosity=0", **({"DATABASE_URL": database} if database else {}))


def _manage(var: Path, *words: str, **variables: str) -> None:
    environment = {"DJANGO_SETTINGS_MODULE": "tests.config.stack_settings", "HINTBENCH_VAR": str(var)}
    subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=REPOSITORY,
        env=os.environ | environment | variables,
        stdout=subprocess.DEVNULL,
        check=True,
    )
