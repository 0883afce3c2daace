"""What Hintbench needs of its surroundings: present or missing, what stops without it, how to get it."""

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import pypandoc
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

import judge
from benchmark.providers import required_settings
from config import valkey
from config.env import env_text
from config.health import queue_answers
from config.system_packages import SYSTEM_PACKAGES, install_line
from tutoring.protocols import PRESETS

LEAST_FREE_DISK = 1_000_000_000
"""Bytes that should be free where the variable folder lies."""


class Need(StrEnum):
    """How much a part is missed."""

    NECESSARY = "necessary"
    USEFUL = "useful"
    OPTIONAL = "optional"


@dataclass(frozen=True)
class Part:
    """One part of the surroundings. `detail` says what was found and never holds a secret."""

    name: str
    ok: bool
    need: Need
    detail: str
    without: str
    fix: str


def examine() -> Iterator[Part]:
    """Look at every part. Each look changes nothing and takes at most a few seconds."""
    yield _python()
    yield from _system_packages()
    yield from _sandbox()
    yield from _languages()
    yield _queue()
    yield _queue_protection()
    yield (database := _database())
    if database.ok:
        yield _session_counters()
    yield _variable_folder()
    yield _free_disk()
    yield _pandoc()
    yield from _providers()


def _python() -> Part:
    return Part(
        "Python",
        sys.version_info >= (3, 11),
        Need.NECESSARY,
        platform.python_version(),
        "nothing works",
        "Install Python 3.11 or newer, remove .venv and start ./run again.",
    )


def _system_packages() -> Iterator[Part]:
    for entry in SYSTEM_PACKAGES:
        present = entry.is_present()
        yield Part(
            entry.package,
            present,
            Need(entry.need),
            "installed" if present else "not found",
            entry.without,
            install_line([entry]),
        )


def _sandbox() -> Iterator[Part]:
    status = judge.sandbox_status()
    yield Part(
        "sandbox",
        status.available,
        Need.NECESSARY,
        status.isolation if status.available else status.problem,
        "the judge refuses to run programs, so no session gets a verdict",
        status.remedy,
    )
    if status.available:
        yield Part(
            "sandbox of tier A",
            not status.improvement,
            Need.OPTIONAL,
            "memory and time are measured less exactly" if status.improvement else "in use",
            "memory is sampled every 10 ms, and time of processes nobody waited for is not counted",
            status.improvement,
        )


def _languages() -> Iterator[Part]:
    taught = {rules.language for rules in PRESETS.values()}
    for language in judge.LANGUAGES.values():
        try:
            detail, present = judge.compiler_version(language.name), True
        except judge.ToolMissing:
            detail, present = "not found", False
        yield Part(
            f"programs in {language.title}",
            present,
            Need.USEFUL if language.name in taught else Need.OPTIONAL,
            detail,
            f"{language.title} programs are not judged",
            language.install,
        )


def _queue() -> Part:
    without = "no execution gets a verdict, and pages do not follow a reply as it is written"
    if queue_answers():
        return Part("queue server", True, Need.NECESSARY, "answers", without, "")
    if env_text("REDIS_URL"):
        fix = "Start the server that REDIS_URL names, or unset REDIS_URL: ./run then starts one."
        return Part("queue server", False, Need.NECESSARY, "the server of REDIS_URL is silent", without, fix)
    if (Path(settings.VAR) / "processes.json").exists():
        fix = f"Read {settings.VAR}/logs/valkey.log; ./run starts the server again by itself."
        return Part("queue server", False, Need.NECESSARY, "does not answer", without, fix)
    try:
        program = valkey.server_program()
    except valkey.NoQueueServer as error:
        return Part("queue server", False, Need.NECESSARY, "no program found", without, str(error))
    return Part("queue server", True, Need.NECESSARY, f"not running; ./run starts {program}", without, "")


def _queue_protection() -> Part:
    missing = valkey.missing_protection(settings.REDIS_URL)
    return Part(
        "queue server's protection",
        not missing,
        Need.USEFUL,
        f"REDIS_URL names another host without {missing}" if missing else "in place, or on this machine",
        "whoever reaches that server or its network can read replies and disturb the queue",
        "Give the server a password and TLS, and use rediss://:PASSWORD@HOST:PORT/0 as REDIS_URL.",
    )


def _database() -> Part:
    where = connection.vendor
    fix = "Check DATABASE_URL and that the database server runs."
    try:
        executor = MigrationExecutor(connection)
        missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError as error:
        return Part("database", False, Need.NECESSARY, f"{where}: {error}".strip(), "nothing works", fix)
    if missing:
        detail = f"{where}, {len(missing)} migrations are missing"
        fix = "Start ./run, or: .venv/bin/python manage.py prepare"
        return Part("database", False, Need.NECESSARY, detail, "nothing works", fix)
    return Part("database", True, Need.NECESSARY, f"{where}, up to date", "nothing works", "")


def _session_counters() -> Part:
    from tutoring.sessions.projections import CHECKED_SESSIONS, wrong_counters

    wrong = ", ".join(str(session.pk) for session in wrong_counters())
    detail = f"differ from the events in session {wrong}" if wrong else "equal the events"
    return Part(
        "session counters",
        not wrong,
        Need.USEFUL,
        f"{detail} (latest {CHECKED_SESSIONS} sessions)",
        "lists and the review queue show wrong numbers",
        "Report it with the output of: .venv/bin/python manage.py export_trajectories --session ID"
        if wrong
        else "",
    )


def _variable_folder() -> Part:
    folder = Path(settings.VAR)
    key = folder / "secret_key"
    wrong = []
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        wrong.append(f"{folder} cannot be written")
    elif folder.stat().st_mode & 0o077:
        wrong.append(f"{folder} is open to other users")
    if key.exists() and key.stat().st_mode & 0o077:
        wrong.append(f"{key} is open to other users")
    return Part(
        "variable folder",
        not wrong,
        Need.NECESSARY,
        "; ".join(wrong) or str(folder),
        "nothing can be stored, or others can read sessions and forge logins",
        f"chown -R $(id -un) {folder} && chmod 700 {folder} && chmod 600 {key}",
    )


def _free_disk() -> Part:
    free = shutil.disk_usage(settings.VAR).free
    return Part(
        "free disk",
        free >= LEAST_FREE_DISK,
        Need.USEFUL,
        f"{free / 1e9:.1f} GB where {settings.VAR} lies",
        "imports and recordings may fail",
        "Free at least 1 GB, or set HINTBENCH_VAR to a folder on another disk.",
    )


def _pandoc() -> Part:
    try:
        detail, present = f"pandoc {pypandoc.get_pandoc_version()}", True
    except OSError:
        detail, present = "not found", False
    return Part(
        "pandoc",
        present,
        Need.USEFUL,
        detail,
        "statements written in LaTeX cannot be imported",
        "Install the packages again: rm .venv/*.installed && ./run",
    )


def _providers() -> Iterator[Part]:
    for provider, variable in required_settings().items():
        value = getattr(settings, variable)
        yield Part(
            f"provider {provider}",
            bool(value),
            Need.OPTIONAL,
            f"{variable} is {'set' if value else 'not set'}",
            f"models named {provider}:… cannot be used; practice:student can",
            f"Set {variable} in the environment of ./run.",
        )
