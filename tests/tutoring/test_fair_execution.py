"""With two real workers, neither endless programs of another tutor nor other work delays an execution."""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.cached_fixtures import add_prepared
from tests.fake_providers import FakeProviders, Script, pieces_of
from tests.stack import Stack
from tests.tutoring.test_live import PASSWORD, make_tutors
from tests.tutoring.visitor import Socket, Visitor

ENDLESS = "while True: pass"

LONG, SHORT, GROWING = "last-rolls", "tram-depot", "seed-bank"
"""Problems on which endless programs are executed for about 10 and 2 CPU seconds. The growth of programs is measured
at the last one only: one run of an endless program takes 20 CPU seconds."""

LIMITS = {LONG: 0.25, SHORT: 0.05, GROWING: 0.05}
"""Time limits in seconds, instead of 1. Those for Python are about three times as long."""


@pytest.fixture(scope="module")
def two_workers(
    tmp_path_factory: pytest.TempPathFactory, fake_provider_server: FakeProviders
) -> Iterator[Stack]:
    """A running Hintbench with two workers, whose model is a fake provider."""
    var = add_prepared(tmp_path_factory.mktemp("two-workers"))
    with closing(sqlite3.connect(var / "hintbench.sqlite3")) as database, database:
        database.executemany(
            "UPDATE benchmark_problem SET time_limit = ? WHERE external_id = ?",
            [(limit, problem) for problem, limit in LIMITS.items()],
        )
        database.execute(
            "DELETE FROM benchmark_sizedgenerator WHERE problem_id IN"
            " (SELECT id FROM benchmark_problem WHERE external_id IN (?, ?))",
            [LONG, SHORT],
        )
    running = Stack(
        var,
        WORKERS="2",
        TUTORING_MODEL="openai:gpt-4o",
        OPENAI_API_KEY="sk-fake-000000",
        OPENAI_BASE_URL=fake_provider_server.openai_url,
    )
    try:
        running.wait_until_ready()
        running.show_replies_as_they_come()
        make_tutors(running, ["ann", "bob", "cleo", "dan"])
        yield running
    finally:
        running.stop()


def program_in_session(
    tutor: Visitor, problem: str, providers: FakeProviders, program: str
) -> tuple[str, Socket]:
    """Return the path and the socket of a new session whose latest program is this one."""
    providers.script(Script(pieces_of(f"```python\n{program}\n```")))
    path = tutor.start_session(problem)
    socket = tutor.socket(path)
    assert tutor.command(path + "send/", mode="code", text="")[0] == 200
    socket.listen_until(lambda s: "reply" in s.kinds() and s.status.get("may", {}).get("execute"))
    return path, socket


def owner(stack: Stack, table: str, order: str = "DESC") -> int:
    """Return the process that holds the latest row of a table of claimable rows; 0 if none holds it.

    Ascending order: the first row.
    """
    query = f"SELECT owner FROM {table} ORDER BY id {order} LIMIT 1"
    with closing(sqlite3.connect(f"file:{stack.var / 'hintbench.sqlite3'}?mode=ro", uri=True)) as database:
        name = (database.execute(query).fetchone() or ("",))[0]
    return int(name.split("/")[1]) if name else 0


EXECUTIONS = "benchmark_judgement WHERE purpose = 'verdict'"
GROWTH = "benchmark_growthcurve"


def test_an_endless_program_holds_one_worker_and_the_page_says_what_the_next_one_waits_for(
    two_workers: Stack, fake_providers: FakeProviders
):
    ann, bob = Visitor(two_workers, "ann", PASSWORD), Visitor(two_workers, "bob", PASSWORD)
    first, first_socket = program_in_session(ann, LONG, fake_providers, ENDLESS)
    second, second_socket = program_in_session(ann, SHORT, fake_providers, ENDLESS)
    other, other_socket = program_in_session(bob, SHORT, fake_providers, "print(1)")
    assert ann.command(first + "execute/")[0] == 200
    two_workers.wait_for(lambda: owner(two_workers, EXECUTIONS))  # or the second one may be taken first
    executing = owner(two_workers, EXECUTIONS)
    for tutor, path in ((ann, second), (bob, other)):
        assert tutor.command(path + "execute/")[0] == 200
    second_socket.listen_until(
        lambda s: "waits for the verdict of another session" in s.status.get("html", "")
    )
    other_socket.listen_until(lambda s: "verdict" in s.kinds())
    assert owner(two_workers, EXECUTIONS, "ASC") == executing, (
        "the other tutor waited for the endless program"
    )
    first_socket.listen_until(lambda s: "verdict" in s.kinds())
    second_socket.listen_until(
        lambda s: "verdict" in s.kinds() and "is waiting for the judge" not in s.status["html"]
    )
    page = ann.get(second)[1]
    assert "TLE" in page or "time limit" in page.lower()
    assert two_workers.pids().keys() >= {"worker-1", "worker-2"}


def test_a_worker_that_measures_growth_continues_the_execution_of_a_killed_worker(
    two_workers: Stack, fake_providers: FakeProviders
):
    cleo, dan = Visitor(two_workers, "cleo", PASSWORD), Visitor(two_workers, "dan", PASSWORD)
    first, first_socket = program_in_session(cleo, GROWING, fake_providers, ENDLESS)
    second, second_socket = program_in_session(dan, LONG, fake_providers, ENDLESS)
    assert cleo.command(first + "execute/")[0] == 200
    first_socket.listen_until(lambda s: "verdict" in s.kinds())
    two_workers.wait_for(lambda: owner(two_workers, GROWTH))
    measuring = owner(two_workers, GROWTH)
    supervisor = two_workers.supervisor.pid
    os.kill(supervisor, signal.SIGSTOP)  # no third worker may help
    try:
        os.kill(measuring, signal.SIGSTOP)  # the other worker has to take the execution
        try:
            assert dan.command(second + "execute/")[0] == 200
            two_workers.wait_for(lambda: owner(two_workers, EXECUTIONS))
            os.kill(owner(two_workers, EXECUTIONS), signal.SIGKILL)
        finally:
            os.kill(measuring, signal.SIGCONT)
        two_workers.wait_for(lambda: owner(two_workers, EXECUTIONS) == measuring)
        assert owner(two_workers, GROWTH) == measuring, "the execution waited for the end of the measurement"
    finally:
        os.kill(supervisor, signal.SIGCONT)
    second_socket.listen_until(lambda s: "verdict" in s.kinds())
