"""What the benchmarks of pages share: a site of their own, the times of requests, and copies of rows."""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from tests.postgres import Postgres, installed_programs

if TYPE_CHECKING:
    from django.db.models import Model
    from django.test import Client

T = TypeVar("T")

ROUNDS = 15
TARGET = 0.1
"""Seconds of a page at the median."""
FLOOR = "/nowhere/"
"""The address of the floor page, which does not exist."""
MOST_FLOORS = 25
"""CPU time of a page, as a multiple of that of the floor page."""


@contextmanager
def new_site(postgres: bool) -> Iterator[None]:
    """Set up Django with a folder and an empty database of its own, in SQLite or in a new PostgreSQL server."""
    server = None
    if postgres:
        programs = installed_programs()
        if programs is None:
            sys.exit("PostgreSQL is not installed: apt-get install postgresql")
        server = Postgres(programs)
        # Parallel workers end with their query, so their CPU time could not be read.
        parameters = "?options=-c%20max_parallel_workers_per_gather%3D0"
        os.environ["DATABASE_URL"] = server.new_database("template1") + parameters
    with tempfile.TemporaryDirectory(prefix="hintbench-pages-") as var:
        os.environ["HINTBENCH_VAR"] = var
        os.environ["OPENBLAS_NUM_THREADS"] = "1"  # as in the web server
        os.environ.setdefault("LOG_LEVEL", "WARNING")  # otherwise a line of each request
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
        import django
        from django.core.management import call_command

        django.setup()
        try:
            call_command("migrate", verbosity=0)
            call_command("collectstatic", interactive=False, verbosity=0)
            yield
        finally:
            if server:
                server.stop()


def copy_rows(model: type[Model], source: str, **values: str) -> None:
    """Insert copies of rows by one statement of the database.

    `source` is SQL after `FROM`, in which `one` names the copied row; `values` is SQL by column, in place of its
    values.
    """
    from django.db import connection

    table = connection.ops.quote_name(str(model._meta.db_table))
    columns = [str(field.column) for field in model._meta.concrete_fields if not field.primary_key]
    names = ", ".join(connection.ops.quote_name(column) for column in columns)
    copied = ", ".join(values.get(column, f"one.{connection.ops.quote_name(column)}") for column in columns)
    with connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO {table} ({names}) SELECT {copied} FROM {table} one {source}")


def analyze() -> None:
    """Update the statistics of the database's planner, as its own upkeep does after a while."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE" if connection.vendor == "postgresql" else "ANALYZE")


class Time(NamedTuple):
    """The wall time and the CPU time of a response in seconds."""

    wall: float
    cpu: float


def cpu_seconds() -> float:
    """Return the CPU time of this process and of the PostgreSQL process that serves it, if there is one."""
    from django.db import connection

    used = time.process_time()
    if connection.vendor == "postgresql":
        connection.ensure_connection()
        pid = connection.connection.info.backend_pid
        used += int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9
    return used


def timed_call(call: Callable[[], T]) -> tuple[T, Time]:
    """Return the result of the call and its time."""
    wall, cpu = time.perf_counter(), cpu_seconds()
    result = call()
    return result, Time(time.perf_counter() - wall, cpu_seconds() - cpu)


def timed(client: Client, address: str, status: int = 200, form: dict[str, str] | None = None) -> Time:
    """Time a GET request, or with a form a POST request."""
    response, taken = timed_call(lambda: client.get(address) if form is None else client.post(address, form))
    assert response.status_code == status, (address, response.status_code)
    return taken


def seconds(
    client: Client, address: str, status: int = 200, form: dict[str, str] | None = None
) -> list[Time]:
    """Time ROUNDS requests after two that fill caches."""
    return [timed(client, address, status, form) for _ in range(ROUNDS + 2)][2:]


def with_floor(client: Client, measure: Callable[[], list[Time]]) -> tuple[list[Time], float]:
    """Return the times of `measure`, and the median CPU time in seconds of the floor page just before and after.

    The speed of a machine may change within seconds, so a floor from another minute would not be comparable.
    """

    def floors() -> list[float]:
        return [timed(client, FLOOR, 404).cpu for _ in range(ROUNDS // 2 + 1)]

    before, times, after = floors(), measure(), floors()
    return times, statistics.median(before + after)


def percentile(times: list[float]) -> float:
    """Return the 95th percentile."""
    return sorted(times)[int(len(times) * 0.95)]
