"""The requirements of Hintbench on the machine: whether each is met, what fails without it, and how to meet it."""

import os
import platform
import shutil
import sys
import time
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
from config import proxies, valkey
from config.env import env_text
from config.health import queue_answers
from config.system_packages import SYSTEM_PACKAGES, install_line
from tutoring.protocols import PRESETS

LEAST_FREE_DISK = 1_000_000_000
"""Bytes that should be free on the disk of the variable folder."""

SAMPLED_BLOBS = 20
"""Blobs that are read from their store."""

PROCESS_START = 5.0
"""Seconds that a process of ./run may need until its first heartbeat."""


class Need(StrEnum):
    """The necessity of a requirement."""

    NECESSARY = "necessary"
    USEFUL = "useful"
    OPTIONAL = "optional"


@dataclass(frozen=True)
class Requirement:
    """The state of one requirement. `detail` says what was found and never contains a secret."""

    name: str
    ok: bool
    need: Need
    detail: str
    without: str
    fix: str


def examine(*, optional_languages: bool = True) -> Iterator[Requirement]:
    """Yield the state of every requirement. The examination changes nothing and takes a few seconds at most.

    Most of this time belongs to the compilers of optional languages, which the caller can leave out.
    """
    yield _python()
    yield from _system_packages()
    yield from _sandbox()
    yield from _languages(optional=optional_languages)
    yield _queue()
    yield _queue_protection()
    yield _proxies()
    yield (database := state_of_database())
    if database.ok:
        yield from _processes()
        yield _separation()
        yield _versions()
        yield _clocks()
        yield _session_counters()
        yield _prices()
        yield _blobs()
    yield _variable_folder()
    yield _free_disk()
    yield _pandoc()
    yield from _providers()


def _python() -> Requirement:
    return Requirement(
        "Python",
        sys.version_info >= (3, 11),
        Need.NECESSARY,
        platform.python_version(),
        "nothing works",
        "Install Python 3.11 or newer, remove .venv and start ./run again.",
    )


def _system_packages() -> Iterator[Requirement]:
    for entry in SYSTEM_PACKAGES:
        present = entry.is_present()
        yield Requirement(
            entry.package,
            present,
            Need(entry.need),
            "installed" if present else "not found",
            entry.without,
            install_line([entry]),
        )


def _sandbox() -> Iterator[Requirement]:
    status = judge.sandbox_status()
    yield Requirement(
        "sandbox",
        status.available,
        Need.NECESSARY,
        status.isolation if status.available else status.problem,
        "the judge refuses to run programs, so no session gets a verdict",
        status.remedy,
    )
    if status.available:
        yield Requirement(
            "sandbox of tier A",
            not status.improvement,
            Need.OPTIONAL,
            "memory and time are measured less exactly" if status.improvement else "in use",
            "memory is sampled every 10 ms, and the time of processes without a waiting parent is not counted",
            status.improvement,
        )


def _languages(*, optional: bool) -> Iterator[Requirement]:
    taught = {rules.language for rules in PRESETS.values()}
    for language in judge.LANGUAGES.values():
        if language.name not in taught and not optional:
            continue
        try:
            detail, present = judge.compiler_version(language.name), True
        except judge.ToolMissingError:
            detail, present = "not found", False
        yield Requirement(
            f"programs in {language.title}",
            present,
            Need.USEFUL if language.name in taught else Need.OPTIONAL,
            detail,
            f"{language.title} programs are not judged",
            language.install,
        )


def _queue() -> Requirement:
    without = "no execution gets a verdict, and pages do not show a reply while it is written"
    if queue_answers():
        return Requirement("queue server", True, Need.NECESSARY, "answers", without, "")
    if env_text("REDIS_URL"):
        fix = "Start the server that REDIS_URL names, or unset REDIS_URL: ./run then starts one."
        return Requirement(
            "queue server", False, Need.NECESSARY, "the server of REDIS_URL does not answer", without, fix
        )
    if _is_supervised():
        fix = f"Read {settings.VAR}/logs/valkey.log; ./run restarts the server automatically."
        return Requirement("queue server", False, Need.NECESSARY, "does not answer", without, fix)
    try:
        program = valkey.server_program()
    except valkey.NoQueueServerError as error:
        return Requirement("queue server", False, Need.NECESSARY, "no program found", without, str(error))
    return Requirement(
        "queue server", True, Need.NECESSARY, f"not running; ./run starts {program}", without, ""
    )


def _queue_protection() -> Requirement:
    missing = valkey.missing_protection(settings.REDIS_URL)
    return Requirement(
        "queue server's protection",
        not missing,
        Need.USEFUL,
        f"REDIS_URL names another host without {missing}" if missing else "in place, or on this machine",
        "anyone with access to that server or its network can read replies and change the queue",
        "Give the server a password and TLS, and use rediss://:PASSWORD@HOST:PORT/0 as REDIS_URL.",
    )


def _proxies() -> Requirement:
    seen = proxies.seen_proxy()
    reason = f"a request came through {seen}, which TRUSTED_PROXIES does not name" if seen else ""
    reason = reason or proxies.unnamed_proxy()
    return Requirement(
        "trusted proxies",
        not reason,
        Need.USEFUL,
        reason or "none needed, or named",
        "all visitors have the address of the proxy, so failed logins of one stop the logins of all",
        proxies.FIX,
    )


def state_of_database() -> Requirement:
    """Return whether the database can be reached and has the tables of this version."""
    vendor = connection.vendor
    fix = (
        "Make the file and its folder writable for this user. HINTBENCH_VAR or DATABASE_URL names it."
        if vendor == "sqlite"
        else "Check DATABASE_URL and that the database server runs."
    )
    try:
        executor = MigrationExecutor(connection)
        missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError as error:
        return Requirement(
            "database", False, Need.NECESSARY, f"{vendor}: {error}".strip(), "nothing works", fix
        )
    if missing:
        detail = f"{vendor}, {len(missing)} migrations to apply"
        fix = "Start ./run, or: .venv/bin/python manage.py prepare"
        return Requirement("database", False, Need.NECESSARY, detail, "nothing works", fix)
    return Requirement("database", True, Need.NECESSARY, f"{vendor}, up to date", "nothing works", "")


def _processes() -> Iterator[Requirement]:
    from benchmark.processes import REQUIRED, outage_of

    without = {
        "streamer": "tutors get no replies, and models are not tested",
        "judge worker": "no execution gets a verdict, and no reports and scores are computed",
        "model worker": "distributed runs and the automatic arms of studies do not continue",
    }
    start = {
        "streamer": ("streamer*.log", "streamer"),
        "judge worker": ("worker-*.log", "worker --kind judge"),
        "model worker": ("model-worker.log", "worker --kind model"),
    }
    for name in REQUIRED:
        outage = outage_of(name)
        end = time.monotonic() + PROCESS_START
        while outage is not None and _is_supervised() and time.monotonic() < end:  # it may be starting
            time.sleep(0.2)
            outage = outage_of(name)
        idle = outage is not None and not _is_supervised() and not env_text("REDIS_URL")
        detail, fix = "runs", ""
        if idle:
            detail = "not running; ./run starts it"
        elif outage is not None:
            last = (
                f"the last one was seen {outage.since:%Y-%m-%d %H:%M:%S} UTC"
                if outage.since
                else "none was seen"
            )
            detail = f"none runs; {last}"
            log, command = start[name]
            fix = f"Read {settings.VAR}/logs/{log}. Without ./run, start one: manage.py {command}"
        yield Requirement(name, outage is None or idle, Need.NECESSARY, detail, without[name], fix)


def _separation() -> Requirement:
    from benchmark.models import Process
    from benchmark.processes import running

    both = running(Process.Kind.WORKER)
    return Requirement(
        "separate workers",
        not both,
        Need.USEFUL,
        f"{', '.join(map(str, both))} calls models and runs programs"
        if both
        else "no worker both calls models and runs programs",
        "a program that escapes from the sandbox can read the keys of model providers",
        "Start manage.py worker --kind judge without keys, and manage.py worker --kind model with them.",
    )


def _is_supervised() -> bool:
    """Return whether ./run runs in the variable folder."""
    return (Path(settings.VAR) / "processes.json").exists()


def _versions() -> Requirement:
    from benchmark.processes import differing_versions, source_version

    differing = differing_versions()
    detail = "; ".join(f"{process} runs {process.version}" for process in differing)
    return Requirement(
        "versions of processes",
        not differing,
        Need.USEFUL,
        f"{detail}; this source is {source_version()}" if differing else source_version(),
        "processes of different versions read and write the same rows",
        "Restart the named processes after manage.py prepare.",
    )


def _clocks() -> Requirement:
    from benchmark.processes.clock import (
        TOLERANCE,
        clock_difference,
        describe_difference,
        differing_clocks,
    )

    differences = differing_clocks() | {platform.node(): clock_difference()}
    differing = [describe_difference(*one) for one in differences.items() if abs(one[1]) > TOLERANCE]
    return Requirement(
        "clocks of hosts",
        not differing,
        Need.USEFUL,
        "; ".join(differing) or "equal the database's",
        "hosts take over the work of others that still run, and times of events are wrong",
        "Set the clocks of the named hosts and of the database server by NTP.",
    )


def _session_counters() -> Requirement:
    from tutoring.sessions.projections import CHECKED_SESSIONS, wrong_counters

    wrong = ", ".join(str(session.pk) for session in wrong_counters())
    detail = f"differ from the events in session {wrong}" if wrong else "equal the events"
    return Requirement(
        "session counters",
        not wrong,
        Need.USEFUL,
        f"{detail} (latest {CHECKED_SESSIONS} sessions)",
        "lists and the review queue show wrong numbers",
        "Report it with the output of: .venv/bin/python manage.py export_trajectories --session ID"
        if wrong
        else "",
    )


def _prices() -> Requirement:
    from benchmark.model_calls.caps import models_without_price
    from benchmark.models import SpendingCap

    unknown = models_without_price()
    capped = SpendingCap.objects.exists()
    return Requirement(
        "prices of models",
        not unknown,
        Need.USEFUL if capped else Need.OPTIONAL,
        f"unknown for {', '.join(f'{row} ({row.spec})' for row in unknown)}" if unknown else "known",
        "no spending cap can hold for these models: under a cap their calls are refused",
        "Type a price on the page of the model, or use: manage.py models new-version LABEL --price INPUT OUTPUT",
    )


def _blobs() -> Requirement:
    """Read a sample of the blobs that rows name from their store, past the cache of this host."""
    from benchmark.blob_stores import BlobMissingError, BlobStoreError
    from benchmark.models import blobs
    from benchmark.models.blob_references import sample_of_digests

    store, faults = blobs.store(), []
    sample = sample_of_digests(SAMPLED_BLOBS)
    for digest in sample:
        try:
            store.load(digest)
        except (BlobMissingError, BlobStoreError, OSError) as error:
            faults.append(str(error))
            if not isinstance(error, BlobMissingError):
                break
    return Requirement(
        "blobs",
        not faults,
        Need.NECESSARY,
        " ".join(faults[:3]) or f"{store}: {len(sample)} drawn at random are stored and have the right bytes",
        "programs cannot be judged, and figures are not shown",
        "manage.py blobs verify lists all missing and damaged blobs, and manage.py blobs copy fills a store.",
    )


def _variable_folder() -> Requirement:
    folder = Path(settings.VAR)
    key = folder / "secret_key"
    wrong = []
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        wrong.append(f"{folder} cannot be written")
    elif folder.stat().st_mode & 0o077:
        wrong.append(f"{folder} is open to other users")
    if key.exists() and key.stat().st_mode & 0o077:
        wrong.append(f"{key} is open to other users")
    return Requirement(
        "variable folder",
        not wrong,
        Need.NECESSARY,
        "; ".join(wrong) or str(folder),
        "nothing can be stored, or other users can read sessions and forge logins",
        f"chown -R $(id -un) {folder} && chmod 700 {folder} && chmod 600 {key}",
    )


def _free_disk() -> Requirement:
    free = shutil.disk_usage(settings.VAR).free
    return Requirement(
        "free disk",
        free >= LEAST_FREE_DISK,
        Need.USEFUL,
        f"{free / 1e9:.1f} GB on the disk of {settings.VAR}",
        "imports and the recording of sessions may fail",
        "Free at least 1 GB, or set HINTBENCH_VAR to a folder on another disk.",
    )


def _pandoc() -> Requirement:
    try:
        detail, present = f"pandoc {pypandoc.get_pandoc_version()}", True
    except OSError:
        detail, present = "not found", False
    return Requirement(
        "pandoc",
        present,
        Need.USEFUL,
        detail,
        "statements written in LaTeX cannot be imported",
        "Reinstall the packages: rm .venv/*.installed && ./run",
    )


def _providers() -> Iterator[Requirement]:
    for provider, variable in required_settings().items():
        value = getattr(settings, variable)
        yield Requirement(
            f"provider {provider}",
            bool(value),
            Need.OPTIONAL,
            f"{variable} is {'set' if value else 'not set'}",
            f"models named {provider}:… cannot be used; practice:student can",
            f"Set {variable} in the environment of ./run.",
        )
    for name, endpoint in settings.MODEL_ENDPOINTS.items():
        variable = f"MODEL_ENDPOINT_{name.upper()}"
        yield Requirement(
            f"endpoint {name}",
            True,
            Need.OPTIONAL,
            f"{variable}_URL is set and {variable}_KEY is {'set' if endpoint.key else 'not set'}",
            f"models named compatible@{name}:… cannot be used",
            f"Set {variable}_URL in the environment of ./run.",
        )
