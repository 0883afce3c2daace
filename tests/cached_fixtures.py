"""Folders that are slow to create and only read: the first process that needs one creates it for the whole test run.

Folders that depend only on a few sources are kept between test runs.
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
from functools import partial
from pathlib import Path

from tests.programs import fast_test

REPOSITORY = Path(__file__).resolve().parent.parent

DATABASE = "hintbench.sqlite3"

KEPT = REPOSITORY / ".pytest_cache" / "kept"
"""The folders of former test runs: one of each name, with the hash of its sources."""

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


def kept_folder(
    name: str, fill: Callable[[Path], None], sources: tuple[str, ...] = (), version: str = ""
) -> Path:
    """Return a folder like `cached_folder`, which later test runs copy.

    A copy is used until `version` or a file of SOURCES or of the patterns `sources` changes.
    """
    return cached_folder(name, partial(_copy_or_fill, name, fill, partial(_hash, sources, version)))


def migrated_database() -> Path:
    """Return a SQLite file with every table."""
    return kept_folder("migrated", migrate) / DATABASE


def is_kept() -> bool:
    """Return whether a former test run created the migrated database."""
    return (migrated_database().parent / KEPT.name).exists()


def _copy_or_fill(
    name: str, fill: Callable[[Path], None], hash_of_sources: Callable[[], str], folder: Path
) -> None:
    KEPT.mkdir(parents=True, exist_ok=True)
    sources = hash_of_sources()
    kept = KEPT / f"{name}-{sources}"
    with _locked(KEPT / f"{name}.lock"):  # other test runs of this clone
        if kept.exists():
            _copy(kept, folder)
            (folder / KEPT.name).touch()
            return
        fill(folder)
        if hash_of_sources() != sources:  # edited meanwhile
            return
        for old in KEPT.glob(f"{name}-*"):
            shutil.rmtree(old)
        unfinished = KEPT / f"{name}.unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(mode=0o700)
        _copy(folder, unfinished)
        unfinished.rename(kept)


def _copy(folder: Path, target: Path) -> None:
    """Copy the content of a folder with its owners, one of which may be the user of PostgreSQL."""
    subprocess.run(["cp", "-a", f"{folder}/.", target], check=True)


def _hash(sources: tuple[str, ...], version: str) -> str:
    digest = hashlib.sha256(f"{sys.version} {version}".encode())
    patterns = (*SOURCES, *sources)
    for path in sorted({path for pattern in patterns for path in REPOSITORY.glob(pattern) if path.is_file()}):
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
