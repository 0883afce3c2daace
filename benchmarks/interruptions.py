"""A distributed run of 300 items whose processes are killed ten times, compared with an undisturbed run.

    python -m benchmarks.interruptions [--workers N] [--kills N] [--postgres] [--seed N] [--arm] [--sessions N]
                                       [--kill NAMES]

The script starts all processes of Hintbench as ./run does, with the fake provider of the tests. At random times it
kills the client or another process with SIGKILL; the supervisor restarts processes, and the script restarts the client.
The provider pauses replies until the kill, so that each kill interrupts calls. At the end every chain must be finished
and the rows must equal those of an undisturbed run. The provider must have received every prompt as often as in that
run, and at most one extra call for each call that was in flight when a worker or PostgreSQL was killed. Otherwise the
exit status is 1.

--kill names the processes that are killed, such as valkey,postgresql. PostgreSQL, which needs --postgres, starts again
after a second, in which replies arrive.

With --arm the run has 108 chains of `session-neutral` with five replies each. Every chain must have exactly one
session, and the sessions and events are compared too.

With --sessions, N people hold sessions during the disturbed run, through pages and sockets: two messages for programs
and one execution each. At the end every message must have its reply and every execution its verdict, and the numbers
of each list of events must have no gaps. The provider may have received an extra call only for a reply whose streamer
was killed.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from uuid import uuid4

from benchmarks.recovery import PASSWORD, TUTORS
from tests import stack as stacks
from tests.fake_providers import FakeProviders, Hold, Script, pieces_of
from tests.postgres import Postgres, installed_programs
from tests.stack import Stack
from tests.tutoring.visitor import Socket, Visitor

VICTIMS = ("client", "valkey", "streamer", "web", "worker", "model-worker", "postgresql")
BASELINE = ("--method", "zero-shot", "--attempts", "75")
ARM = ("--method", "session-neutral", "--attempts", "3", "--epochs", "9")
CHAINS = {BASELINE: 4 * 75, ARM: 4 * 3 * 9}
CALLS = {BASELINE: CHAINS[BASELINE], ARM: 5 * CHAINS[ARM]}
"""The chains and the calls of both kinds of runs, over four problems."""
CONCURRENCY = 16
PROGRAM = "a, b = map(int, input().split())\nprint(a + b)\nprint(input())"
REPLY = f"Add the two numbers and repeat the line.\n\n```python\n{PROGRAM}\n```\n"
FILL = """
import django; django.setup()
from benchmark.models import Corpus
from tests.benchmark.runs.bank import fill
Corpus.objects.all().delete()
fill()
"""
ROWS = """
import django; django.setup()
from benchmark.models import Generation, Run
run = Run.objects.order_by("-started_at").first()
rows = Generation.objects.filter(work_item__run=run).order_by("work_item__problem", "work_item__chain", "step")
for row in rows.values_list("work_item__problem__external_id", "work_item__chain", "step", "text",
                            "work_item__state", "work_item__judgement__verdict"):
    print(*map(repr, row))
from tutoring.models import Event, Session
for event in Event.objects.filter(session__work_item__run=run).order_by("session__work_item", "seq"):
    print(event.session.work_item.problem.external_id, event.session.number, event.seq, event.kind,
          event.data.get("text"), event.data.get("verdict"))
print(run.state, run.items.count(), Session.objects.filter(work_item__run=run).count())
print(run.paid_calls)
"""
STALL = 30
"""Seconds without a call after which the next process is killed."""
MESSAGES = 2
"""Messages of each session of a person."""
SESSIONS = """
import django; django.setup()
from collections import Counter
from tutoring.models import Reply, Session
sessions = Session.objects.filter(origin="tutored")
for session in sessions:
    numbers = list(session.events.order_by("seq").values_list("seq", flat=True))
    kinds = Counter(session.events.values_list("kind", flat=True))
    if numbers != list(range(1, len(numbers) + 1)):
        print("GAP", session.pk, numbers)
    if (kinds["message"], kinds["reply"], kinds["execution"], kinds["verdict"]) != (MESSAGES, MESSAGES, 1, 1):
        print("LOST", session.pk, dict(kinds))
attempts = Reply.objects.values_list("attempt", flat=True)
print(len(sessions), sum(attempts), sum(attempt - 1 for attempt in attempts))
"""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--postgres", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--arm", action="store_true", help="interrupt chains of a session arm")
    parser.add_argument(
        "--sessions", type=int, default=0, help="sessions of people during the disturbed run (0)"
    )
    parser.add_argument(
        "--kill",
        type=lambda text: text.split(","),
        default=[*VICTIMS[:-1], *3 * ["worker"]],
        metavar="NAMES",
        help=f"the processes that are killed, separated by commas: {', '.join(VICTIMS)}; default: all but the last",
    )
    arguments = parser.parse_args()
    if unknown := sorted({*arguments.kill} - {*VICTIMS}):
        parser.error(f"--kill: there is no process {unknown[0]!r}. There are: {', '.join(VICTIMS)}.")
    if "postgresql" in arguments.kill and not arguments.postgres:
        parser.error("--kill postgresql needs --postgres.")
    with tempfile.TemporaryDirectory(prefix="hb-") as folder:
        variables = {"WORKERS": str(arguments.workers)}
        server = None
        if arguments.postgres:
            programs = installed_programs()
            assert programs is not None, "PostgreSQL is not installed"
            server = Postgres(programs)
            variables["DATABASE_URL"] = server.new_database(template="template1")
        fake_providers = FakeProviders()
        fake_providers.start()
        variables |= {"OPENAI_API_KEY": "sk-fake-000000", "OPENAI_BASE_URL": fake_providers.openai_url}
        variables |= {"TUTORING_MODEL": "openai:gpt-4o", "STREAMERS": "2"}
        stacks.HANG = 900
        stack = Stack(Path(folder) / "var", **variables)
        try:
            stack.wait_until_ready()
            return compare(Site(stack, fake_providers, server), arguments)
        finally:
            stack.stop()
            fake_providers.stop()
            if server:
                server.stop()


@dataclass(frozen=True)
class Site:
    """The processes of a site: those of ./run, the fake provider, and PostgreSQL (None: SQLite)."""

    stack: Stack
    fake_providers: FakeProviders
    postgres: Postgres | None

    def kill(self, victim: str, hold: Hold) -> None:
        """Kill a process of the site and release the held replies. PostgreSQL starts again after a second."""
        if victim != "postgresql":
            self.stack.kill(victim)
            hold.release()
            return
        assert self.postgres is not None
        self.postgres.kill()
        hold.release()
        time.sleep(1)
        self.postgres.restart()


@dataclass(frozen=True)
class Conversation:
    """One person's session, with a word in its messages that finds its calls at the provider."""

    tutor: Visitor
    path: str
    word: str

    def hold(self) -> None:
        """Send the messages and execute the program, with the repetitions of a browser that loses the server."""
        socket = self.tutor.socket(self.path)
        for number in range(1, MESSAGES + 1):
            self._command("send/", mode="code", text=f"{self.word} {number}")
            socket.listen_until(partial(_has_replies, number))
        self._command("execute/")
        socket.listen_until(lambda s: "verdict" in s.kinds())
        socket.drop()

    def _command(self, name: str, **fields: str) -> None:
        """Post a command until the server answers. Its id makes a repetition harmless."""
        identity = str(uuid4())
        while True:
            try:
                status, answer = self.tutor.command(self.path + name, command=identity, **fields)
            except (OSError, http.client.HTTPException, ValueError):
                status, answer = 0, {}
            if status == 200:
                return
            if 400 <= status < 500:
                raise AssertionError(f"{name} was refused with status {status}: {answer}")
            time.sleep(0.2)


def _has_replies(number: int, socket: Socket) -> bool:
    """Return whether a page has this number of replies, and its program may be executed."""
    return socket.kinds().count("reply") == number and bool(socket.status.get("may", {}).get("execute"))


def open_conversations(stack: Stack, count: int) -> list[Conversation]:
    """Return sessions of this many people, without a message."""
    stack.show_replies_as_they_come()
    names = [f"tutor-{number}" for number in range(count)]
    stack.manage("shell", "-v", "0", "-c", TUTORS.format(password=PASSWORD, names=names))

    def open_one(name: str) -> Conversation:
        tutor = Visitor(stack, name, PASSWORD)
        return Conversation(tutor, tutor.start_session("last-rolls", "As they come"), f"word-of-{name}-end")

    with ThreadPoolExecutor(8, "sessions") as pool:
        return list(pool.map(open_one, names))


@dataclass(frozen=True)
class Disturbance:
    """Random interruptions: their number, and the processes."""

    chance: random.Random
    kills: int
    victims: list[str]
    sessions: list[Conversation] = field(default_factory=list)


def compare(site: Site, arguments: argparse.Namespace) -> int:
    """Execute both runs; return 1 if they differ or if there were too many calls."""
    stack, fake_providers = site.stack, site.fake_providers
    run_python(stack, FILL)
    method = ARM if arguments.arm else BASELINE
    undisturbed, calls, _ = carry_out(site, method, None)
    sessions = open_conversations(stack, arguments.sessions) if arguments.sessions else []
    disturbance = Disturbance(random.Random(arguments.seed), arguments.kills, arguments.kill, sessions)
    disturbed, all_calls, in_flight = carry_out(site, method, disturbance)
    words = [session.word for session in sessions]
    more_calls = Counter(
        {prompt: n for prompt, n in all_calls.items() if not any(w in prompt for w in words)}
    )
    finished = f"finished {CHAINS[method]} {CHAINS[method] if arguments.arm else 0}"
    same = undisturbed[:-1] == disturbed[:-1] and undisturbed[-2] == finished
    repeated, missing = (more_calls - calls).total(), (calls - more_calls).total()
    cut_off = sum(request.client_left for request in fake_providers.requests)
    print(f"undisturbed: {calls.total()} calls, {undisturbed[-2]}, {undisturbed[-1]} paid")
    print(
        f"killed {arguments.kills} times: {more_calls.total()} calls, {disturbed[-2]}, {disturbed[-1]} paid"
    )
    print(
        f"{len(disturbed) - 1} rows {'are the same' if same else 'DIFFER'}; repeated {repeated}, missing {missing}, "
        f"cut off in mid-reply {cut_off}, in flight at most {in_flight}"
    )
    sessions_kept = not sessions or check_sessions(stack, sessions, (all_calls - more_calls).total())
    return int(not same or missing > 0 or repeated > in_flight or not sessions_kept)


def check_sessions(stack: Stack, sessions: list[Conversation], calls: int) -> bool:
    """Print what the sessions have; return whether nothing is lost, and only killed streamers caused extra calls."""
    *faults, summary = run_python(stack, f"MESSAGES = {MESSAGES}\n{SESSIONS}").splitlines()
    count, attempts, repeated = map(int, summary.split())
    print(
        f"{count} sessions of people: {MESSAGES * count} messages, {calls} calls, {attempts} attempts, of which "
        f"{repeated} after a killed streamer; {len(faults)} faults"
    )
    print(*faults, sep="\n", end="")
    return not faults and count == len(sessions) and MESSAGES * count <= calls <= attempts


def carry_out(
    site: Site, method: tuple[str, ...], disturbance: Disturbance | None
) -> tuple[list[str], Counter[str], int]:
    """Return the rows of a run, its calls by prompt, and how many could be in flight when workers were killed."""
    stack, fake_providers = site.stack, site.fake_providers
    fake_providers.reset()
    sessions = disturbance.sessions if disturbance else []
    reply, items = Script(pieces_of(REPLY), delay=0.02), CALLS[method] + MESSAGES * len(sessions)
    start = [
        "--dataset", "orchard", "--model", "openai:gpt-4o", *method,
        "--concurrency", str(CONCURRENCY), "--distribute", "--set", f"temperature={0.5 if disturbance else 1}",
    ]  # fmt: skip
    holds = []
    if disturbance:
        pieces = len(reply.pieces)
        holds = [Hold(after=disturbance.chance.randrange(pieces)) for _ in range(disturbance.kills)]
    apart = items // (len(holds) + 1)
    for hold in holds:
        held = replace(reply, hold=hold)
        fake_providers.script(*[reply] * (apart - CONCURRENCY), *[held] * CONCURRENCY)
    fake_providers.script(*[reply] * items)
    client = run_baseline(stack, *start)
    conversations = hold_all(site, sessions, CALLS[method])
    in_flight = 0
    for number, hold in enumerate(holds, 1):
        assert disturbance is not None
        chance = disturbance.chance
        enough = number * apart - chance.randrange(CONCURRENCY // 2)
        wait_for_calls(site, enough, client)
        victim = chance.choice(disturbance.victims)
        print(f"{len(fake_providers.requests)} calls: {victim}", file=sys.stderr)
        if victim == "client":
            client.kill()
            client.wait()
            hold.release()
        elif victim == "worker":
            in_flight += CONCURRENCY
            site.kill(f"worker-{chance.randint(1, workers(stack))}", hold)
        else:
            in_flight += CONCURRENCY * workers(stack) if victim == "postgresql" else 0
            site.kill(victim, hold)
        if client.poll() is not None:
            client = run_baseline(stack, "--resume", newest_run(stack), "--distribute")
    while client.wait() != 0:  # it was killed, or a server was unavailable
        time.sleep(1)
        client = run_baseline(stack, "--resume", newest_run(stack), "--distribute")
    for conversation in conversations:
        conversation.result()
    calls = Counter(json.dumps(request.body["messages"]) for request in fake_providers.requests)
    return run_python(stack, ROWS).splitlines(), calls, in_flight


def wait_for_calls(site: Site, enough: int, client: subprocess.Popen[bytes]) -> None:
    """Wait until the provider has received this many calls, the client ends, or no call arrives for STALL seconds.

    While streamers call the same model, the run has a smaller share of the calls, so that fewer may be paused than the
    number needs.
    """
    received, since = 0, time.monotonic()

    def is_time() -> bool:
        nonlocal received, since
        if len(site.fake_providers.requests) > received:
            received, since = len(site.fake_providers.requests), time.monotonic()
        return received >= enough or client.poll() is not None or time.monotonic() - since > STALL

    site.stack.wait_for(is_time)


def hold_all(site: Site, sessions: list[Conversation], calls: int) -> list[Future[None]]:
    """Hold the sessions in threads. Each begins after its share of the run's calls."""

    def hold(number: int, session: Conversation) -> None:
        site.stack.wait_for(lambda: len(site.fake_providers.requests) >= calls * number // len(sessions))
        session.hold()

    if not sessions:
        return []
    pool = ThreadPoolExecutor(len(sessions), "sessions")
    futures = [pool.submit(hold, number, session) for number, session in enumerate(sessions)]
    pool.shutdown(wait=False)
    return futures


def run_baseline(stack: Stack, *arguments: str) -> subprocess.Popen[bytes]:
    """Start the client as a process."""
    return subprocess.Popen(
        [sys.executable, "manage.py", "run_baseline", "--json", *arguments],
        env=stack.environment,
        stdout=subprocess.DEVNULL,
    )


def newest_run(stack: Stack) -> str:
    """Return the run that started last."""
    command = "print(__import__('benchmark.models').models.Run.objects.order_by('-started_at').first().pk)"
    return run_python(stack, f"import django; django.setup(); {command}").strip()


def workers(stack: Stack) -> int:
    """Return the number of worker processes."""
    return int(stack.environment["WORKERS"])


def run_python(stack: Stack, program: str) -> str:
    """Return the output of the program in the environment of the stack."""
    return subprocess.run(
        [sys.executable, "-c", program], env=stack.environment, check=True, stdout=subprocess.PIPE, text=True
    ).stdout


if __name__ == "__main__":
    sys.exit(main())
