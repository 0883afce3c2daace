"""Server time of the pages with 520 problems, 10 000 sessions and 50 000 events in the bank.

    python -m benchmarks.pages [USACO_DICT.json ...]

Target: 100 ms for every page, 50 ms for the check of a draft of 2 000 characters (docs/architecture.md). The floor
beside each figure is the 404 page of the same server for the same visitor: session, login and rendering, without a row
of the bank. Dictionaries given on the command line are imported; without any, problems of the same size are made up.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uuid import UUID

    from django.contrib.auth.models import User
    from django.test import Client

PROBLEMS = 520
SESSIONS = 10_000
ROUNDS = 30
TARGET = 0.1
DRAFT_TARGET = 0.05
DRAFT = (
    "Look at the field again. It passes the first two tests and times out; see line 3: `total = total + value * 2`. "
    "Try a binary search over the grass that every cow eats, not a greedy one. "
)


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="hintbench-pages-") as var:
        os.environ["HINTBENCH_VAR"] = var
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
        (Path(var) / "static").mkdir()
        import django

        django.setup()
        return measure([Path(name) for name in sys.argv[1:]])


def measure(dictionaries: list[Path]) -> int:
    """Fill a bank, time every page, print the table; 1 when a page misses the target."""
    from django.contrib.auth.models import Group, User
    from django.core.management import call_command
    from django.test import Client

    call_command("migrate", verbosity=0)
    for number, path in enumerate(dictionaries):
        call_command("import_problems", "usaco", str(path), dataset=f"usaco{number}", verbosity=0)
    tutor = User.objects.create_user("tutor")
    tutor.groups.set(Group.objects.filter(name__in=["tutor", "reviewer"]))
    session, problem = fill(tutor)
    client = Client(SERVER_NAME="localhost")
    client.force_login(tutor)
    pages = {
        "problem list": "/problems/",
        "problem search": "/problems/?text=grass&tier=silver",
        "problem": problem,
        "session": f"/sessions/{session}/",
        "session list": "/sessions/",
        "trajectory list": "/trajectories/",
        "trajectory": f"/trajectories/{session}/",
    }
    floor = seconds(client, "/nowhere/", 404)
    print(f"{'page':<16} {'median ms':>10} {'p95 ms':>8} {'x floor':>8}")
    print(
        f"{'floor (404)':<16} {statistics.median(floor) * 1e3:10.1f} {percentile(floor) * 1e3:8.1f} {1.0:8.1f}"
    )
    slow = 0
    draft = (DRAFT * 10)[:2000]
    measured = [(name, seconds(client, address, 200), TARGET) for name, address in pages.items()]
    measured.append(
        ("draft check", seconds(client, f"/sessions/{session}/check/", 200, {"text": draft}), DRAFT_TARGET)
    )
    for name, times, target in measured:
        ratio = statistics.median(times) / statistics.median(floor)
        print(
            f"{name:<16} {statistics.median(times) * 1e3:10.1f} {percentile(times) * 1e3:8.1f} {ratio:8.1f}"
        )
        slow += statistics.median(times) > target
    return 1 if slow else 0


def fill(tutor: User) -> tuple[UUID, str]:
    """Rows of the size of a real installation; returns a session with a long dialogue and its problem's page."""
    from django.utils import timezone

    from benchmark.models import Dataset, Problem
    from tutoring.models import Event, Protocol, Session

    made = Dataset.objects.create(name="made", format="usaco")
    text = "Bessie counts the grass of every field. " * 60
    Problem.objects.bulk_create(
        Problem(
            dataset=made,
            external_id=f"{number}_silver_made",
            title=f"Made {number}",
            tier="silver",
            statement=text,
            statement_format="usaco",
            statement_html=f"<p>{text}</p>",
            analysis=text * 2,
            analysis_format="usaco",
            analysis_html=f"<p>{text * 2}</p>",
            time_limit=2,
            memory_limit=2**28,
            checker={"kind": "tokens"},
            content_hash="0" * 64,
        )
        for number in range(max(0, PROBLEMS - Problem.objects.count()))
    )
    problems = list(Problem.objects.all())
    protocol = Protocol.objects.get(name="usaco-2024")
    sessions = Session.objects.bulk_create(
        Session(
            tutor=tutor,
            problem=problems[number % len(problems)],
            protocol=protocol,
            model_spec="openai:m",
            number=number // len(problems) + 1,
            opened_at=timezone.now(),
        )
        for number in range(SESSIONS)
    )
    program = (
        "Like this:\n\n```python\n" + "total = total + value  # and so on\n" * 40 + "print(total)\n```\n"
    )
    reply = {
        "reply": 1,
        "message": 2,
        "text": program,
        "reasoning": "",
        "stopped": False,
        "code_requested": True,
        "generation": 1,
        "code": program,
        "extraction_rule": "tagged",
        "model": "m",
        "finish_reason": "stop",
        "request_id": "r",
        "usage": None,
        "attempts": 1,
        "started_at": None,
        "first_text_at": None,
    }
    said = {"mode": "talk", "text": "Look at $x_i$ in the sample again.", "sent": "Look at $x_i$ again."}
    opened = {"prompt": text}
    events = []
    for session in sessions:
        turns = 6 if session is sessions[-1] else 2
        kinds = [("opened", opened), *[("message", said), ("reply", reply)] * turns]
        events += [
            Event(session=session, seq=seq, kind=kind, data=data, at=timezone.now())
            for seq, (kind, data) in enumerate(kinds, start=1)
        ]
    Event.objects.bulk_create(events, batch_size=5000)
    chosen = sessions[-1]
    return chosen.pk, chosen.problem.get_absolute_url() if chosen.problem else ""


def seconds(client: Client, address: str, status: int, form: dict[str, str] | None = None) -> list[float]:
    """Times of ROUNDS requests after two that warm caches; with a form they post it."""
    times = []
    for number in range(ROUNDS + 2):
        start = time.perf_counter()
        response = client.get(address) if form is None else client.post(address, form)
        times.append(time.perf_counter() - start)
        assert response.status_code == status, (address, response.status_code)
        if number < 2:
            times.clear()
    return times


def percentile(times: list[float]) -> float:
    return sorted(times)[int(len(times) * 0.95)]


if __name__ == "__main__":
    sys.exit(main())
