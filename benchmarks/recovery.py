"""Time until the work of a killed streamer and of a killed worker continues, with the real processes of one host.

    python -m benchmarks.recovery [KILLS] [--streamers N] [--workers N]

In each round a streamer writes a reply and is killed with SIGKILL at a random moment of its text. The time ends when
the page gets text of the next attempt. Then a worker judges an endless program and is killed at a random moment.
The time ends when a worker has claimed the judgement again. Targets: 8 s and 10 s. The exit status is 1 if one is
missed.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sqlite3
import statistics
import tempfile
import time
from contextlib import closing
from pathlib import Path

from tests import stack as stacks
from tests.fake_providers import FakeProviders, Script, pieces_of
from tests.stack import Stack
from tests.tutoring.visitor import Visitor

REPLY_TARGET = 8.0
JUDGEMENT_TARGET = 10.0
PASSWORD = "hintbench-demo"
REPLY = pieces_of(f"I begin. {'word ' * 60}\n\n```python\nwhile True: pass\n```\n")
PIECE_SECONDS = 0.1
REPLIES = "tutoring_reply"
EXECUTIONS = "benchmark_judgement WHERE purpose = 'verdict'"
TUTORS = """
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Group, User
password = make_password("{password}")
tutors = User.objects.bulk_create(User(username=name, password=password) for name in {names})
Group.objects.get(name="tutor").user_set.add(*tutors)
"""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kills", type=int, nargs="?", default=5, help="rounds (5)")
    parser.add_argument("--streamers", default="2", help="streamers (2)")
    parser.add_argument("--workers", default="2", help="worker processes (2)")
    arguments = parser.parse_args()
    stacks.HANG = 600
    providers = FakeProviders()
    providers.start()
    with tempfile.TemporaryDirectory(prefix="hb-") as folder:
        stack = Stack(
            Path(folder) / "var",
            TUTORING_MODEL="openai:gpt-4o",
            OPENAI_API_KEY="sk-fake-000000",
            OPENAI_BASE_URL=providers.openai_url,
            STREAMERS=arguments.streamers,
            WORKERS=arguments.workers,
        )
        try:
            stack.wait_until_ready()
            stack.show_replies_as_they_come()
            names = [f"tutor-{number}" for number in range(arguments.kills)]
            stack.manage("shell", "-v", "0", "-c", TUTORS.format(password=PASSWORD, names=names))
            rounds = [kill_both(stack, providers, Visitor(stack, name, PASSWORD)) for name in names]
        finally:
            stack.stop()
            providers.stop()
    missed = False
    for place, (name, target) in enumerate((("reply", REPLY_TARGET), ("judgement", JUDGEMENT_TARGET))):
        times = [seconds[place] for seconds in rounds]
        print(
            f"{name:<10} median {statistics.median(times):5.1f} s, most {max(times):5.1f} s, target {target:g} s"
        )
        missed |= max(times) > target
    return int(missed)


def kill_both(stack: Stack, providers: FakeProviders, tutor: Visitor) -> tuple[float, float]:
    """Kill the streamer of a reply, then the worker of its program; return the seconds until each continued."""
    providers.script(Script(REPLY, delay=PIECE_SECONDS), Script(REPLY))
    path = tutor.start_session("last-rolls", "As they come")
    assert tutor.command(f"{path}send/", mode="code", text="")[0] == 200
    socket = tutor.socket(path)
    socket.listen_until(lambda s: s.text != "")
    time.sleep(random.uniform(0, 0.7) * PIECE_SECONDS * len(REPLY))
    killed = kill_owner(stack, REPLIES)
    socket.listen_until(lambda s: "reply" in s.kinds() or any(attempt > 1 for attempt, _ in s.texts))
    reply = time.monotonic() - killed
    socket.listen_until(lambda s: "reply" in s.kinds())
    socket.drop()
    assert tutor.command(f"{path}execute/")[0] == 200
    stack.wait_for(lambda: latest(stack, EXECUTIONS)[1] == 1)
    time.sleep(random.uniform(0, 1))
    killed = kill_owner(stack, EXECUTIONS)
    stack.wait_for(lambda: latest(stack, EXECUTIONS)[1] > 1)
    judgement = time.monotonic() - killed
    stack.wait_for(lambda: latest(stack, EXECUTIONS)[0] == "")
    print(f"reply {reply:.1f} s, judgement {judgement:.1f} s", flush=True)
    return reply, judgement


def kill_owner(stack: Stack, rows: str) -> float:
    """Kill the process that holds the latest row, and return the time by the monotonic clock."""
    owner, _ = latest(stack, rows)
    os.kill(int(owner.split("/")[1]), signal.SIGKILL)
    return time.monotonic()


def latest(stack: Stack, rows: str) -> tuple[str, int]:
    """Return owner and attempt of the latest row."""
    query = f"SELECT owner, attempt FROM {rows} ORDER BY id DESC LIMIT 1"
    with closing(sqlite3.connect(f"file:{stack.var / 'hintbench.sqlite3'}?mode=ro", uri=True)) as database:
        owner, attempt = database.execute(query).fetchone()
    return str(owner), int(attempt)


if __name__ == "__main__":
    raise SystemExit(main())
