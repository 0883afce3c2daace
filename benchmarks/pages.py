"""Server time of the pages with 520 problems, 10 000 sessions, 300 000 events and 4 000 reviews in the bank.

A closed study has up to 1 000 assignments, and the bank has 20 000 automatic sessions beside the others. The freezing
of the study is timed too.

    python -m benchmarks.pages [USACO_DICT.json ...]

Target: 100 ms for every page, 50 ms for the check of a draft of 2 000 characters (docs/architecture.md). The floor
is the 404 page of the same server for the same visitor: session, login and rendering without a row of the bank. CPU
time is printed too, because it depends less on other load. Pages with cached figures are also requested with empty
caches, as after a restart ("first"). Dictionaries on the command line are imported; without any, the script generates
problems of the same size.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from django.contrib.auth.models import User
    from django.test import Client

T = TypeVar("T")

PROBLEMS = 520
SESSIONS = 10_000
TURNS = 14
"""Messages and replies of a session without its first and last event: 300 000 events in all."""
REVIEWED = 2_000
REVIEWERS = 8
AUTOMATIC_SESSIONS = 10_000
ASSIGNMENTS = 1_000
ROUNDS = 15
TARGET = 0.1
DRAFT_TARGET = 0.05
FREEZE_TARGET = 1.0
DRAFT = (
    "Look at the field again. It passes the first two tests and times out; see line 3: `total = total + value * 2`. "
    "Try a binary search over the grass that every cow eats, not a greedy one. "
)


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="hintbench-pages-") as var:
        os.environ["HINTBENCH_VAR"] = var
        os.environ["OPENBLAS_NUM_THREADS"] = "1"  # as in the web server
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
        import django

        django.setup()
        return measure([Path(name) for name in sys.argv[1:]])


def measure(dictionaries: list[Path]) -> int:
    """Fill a problem bank, time every page and print the table; return 1 if a page misses the target."""
    from django.contrib.auth.models import Group, User
    from django.core.management import call_command
    from django.test import Client

    call_command("migrate", verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
    for number, path in enumerate(dictionaries):
        call_command("import_problems", "usaco", str(path), dataset=f"usaco{number}", verbosity=0)
    tutor = User.objects.create_user("tutor")
    reviewers = [User.objects.create_user(f"reviewer{number}") for number in range(REVIEWERS)]
    for person in (tutor, *reviewers):
        person.groups.set(Group.objects.filter(name="admin"))
    session, problem = fill(tutor)
    review_id, settled = fill_reviews(reviewers)
    study, freezing = fill_study(reviewers)
    runs = fill_arms()
    client = Client(SERVER_NAME="localhost")
    client.force_login(tutor)
    reviewer = Client(SERVER_NAME="localhost")
    reviewer.force_login(reviewers[0])
    pages = {
        "problem list": "/problems/",
        "problem search": "/problems/?text=grass&tier=silver",
        "problem": problem,
        "session": f"/sessions/{session}/",
        "session list": "/sessions/",
        "trajectory list": "/trajectories/",
        "trajectory search": "/trajectories/?q=made&outcome=solved",
        "trajectory": f"/trajectories/{session}/",
        "program scores": "/program-scores/",
        "training": "/training/",
        "training results": "/training/results/",
        "studies": "/studies/",
        "study": f"/studies/{study}/",
        "study assignments": f"/studies/{study}/assignments/?box=analysed",
        "study power": f"/studies/{study}/power/",
        "preregistration": f"/studies/{study}/preregistration/",
    }
    review_pages = {
        "review queue": "/review/",
        "review": f"/review/reviews/{review_id}/",
        "assign reviews": "/review/assignments/",
        "assignment plan": "/review/assignments/?problem=Made+12&reviewer=reviewer0&reviewer=reviewer1",
        "reviews compared": f"/review/sessions/{settled}/",
        "agreement": "/review/agreement/",
        "solve rates": "/review/solve-rates/",
        "detectors": "/review/detectors/",
        "found messages": "/review/detectors/messages/?detector=all+detectors&clause=F1&outcome=alone",
        "behind a figure": "/review/sessions/?measure=F1&differing=1",
        "behind a rate": "/review/sessions/?rate=1&model=openai:m&attempt=first&found=compliant",
        "settled": "/review/sessions/?settled=settled",
        "audit log": "/review/audit/",
        "status": "/status/",
        "arms": f"/runs/arms/?people=all&{'&'.join(f'run={run}' for run in runs)}",
    }
    floor = seconds(client, "/nowhere/", 404)
    print(f"{'page':<24} {'median ms':>10} {'p95 ms':>8} {'CPU ms':>8} {'x floor':>8}")
    slow = 0
    draft = (DRAFT * 10)[:2000]
    measured = [("floor (404)", floor, TARGET)]
    measured += [(name, seconds(client, address, 200), TARGET) for name, address in pages.items()]
    measured += [(name, seconds(reviewer, address, 200), TARGET) for name, address in review_pages.items()]
    for name in ("session", "trajectory"):
        measured.append((f"{name}, first", first_views(client, pages[name]), TARGET))
    for name in ("review", "reviews compared", "agreement", "detectors", "behind a figure"):
        measured.append((f"{name}, first", first_views(reviewer, review_pages[name]), TARGET))
    measured.append(
        ("draft check", seconds(client, f"/sessions/{session}/check/", 200, {"text": draft}), DRAFT_TARGET)
    )
    for name, times, target in measured:
        wall = statistics.median(one.wall for one in times)
        cpu = statistics.median(one.cpu for one in times)
        worst = percentile([one.wall for one in times])
        ratio = cpu / statistics.median(one.cpu for one in floor)
        print(f"{name:<24} {wall * 1e3:10.1f} {worst * 1e3:8.1f} {cpu * 1e3:8.1f} {ratio:8.1f}")
        slow += wall > target
    return 1 if slow or freezing.cpu > FREEZE_TARGET else 0


class Time(NamedTuple):
    """The wall time and the CPU time of a response in seconds."""

    wall: float
    cpu: float


def timed_call(call: Callable[[], T]) -> tuple[T, Time]:
    """Return the result of the call and its time."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = call()
    return result, Time(time.perf_counter() - wall, time.process_time() - cpu)


def timed(client: Client, address: str, status: int, form: dict[str, str] | None = None) -> Time:
    """Time a GET request, or with a form a POST request."""
    response, taken = timed_call(lambda: client.get(address) if form is None else client.post(address, form))
    assert response.status_code == status, (address, response.status_code)
    return taken


def first_views(client: Client, address: str) -> list[Time]:
    """Time five views, each with empty caches."""
    from benchmark.metrics.intervals import wilson
    from benchmark.rendering import markdown
    from tutoring.review import agreement, detector_scores

    times = []
    for _ in range(5):
        caches = (
            agreement._pairs,
            agreement.agreement,
            detector_scores._scores,
            markdown._remembered,
            wilson,
        )
        for cache in caches:
            cache.cache_clear()
        times.append(timed(client, address, 200))
    return times


def fill(tutor: User) -> tuple[UUID, str]:
    """Create as many rows as a real installation has; return a session with a long dialogue and its problem's page."""
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
            state="open" if number == SESSIONS - 1 else "closed",
            outcome="" if number == SESSIONS - 1 else ("solved", "not_solved")[number % 2],
            code_generations=1,
        )
        for number in range(SESSIONS)
    )

    def program(turn: int) -> str:
        lines = f"total = total + value  # and so on, {turn}\n" * 40
        return f"Like this:\n\n```python\n{lines}print(total)\n```\n"

    reply = {
        "reply": 1,
        "message": 2,
        "reasoning": "",
        "stopped": False,
        "code_requested": True,
        "generation": 1,
        "extraction_rule": "tagged",
        "model": "m",
        "finish_reason": "stop",
        "request_id": "r",
        "usage": None,
        "attempts": 1,
        "started_at": None,
        "first_text_at": None,
    }
    replies = [reply | {"text": program(turn), "code": program(turn)} for turn in range(TURNS)]
    said = {"mode": "talk", "text": "Look at $x_i$ in the sample again.", "sent": "Look at $x_i$ again."}
    opened = {"prompt": text, "problem_hash": "0" * 64}
    closed = {"reason": "", "outcome": "solved"}
    events: list[Event] = []
    for number, session in enumerate(sessions, start=1):
        turns = [kind for one in replies for kind in (("message", said), ("reply", one))]
        kinds = [("opened", opened), *turns, ("closed", closed)]
        events += [
            Event(session=session, seq=seq, kind=kind, data=data, at=timezone.now())
            for seq, (kind, data) in enumerate(kinds[:-1] if number == SESSIONS else kinds, start=1)
        ]
        if number % 500 == 0:
            Event.objects.bulk_create(events)
            events.clear()
    chosen = sessions[-1]
    return chosen.pk, chosen.problem.get_absolute_url() if chosen.problem else ""


def fill_study(tutors: list[User]) -> tuple[int, Time]:
    """Create automatic sessions and a closed study with up to ASSIGNMENTS assignments.

    Return the study and the time of its freezing, which is printed beside that of its rows alone.
    """
    from django.db import transaction
    from django.db.models import Count
    from django.utils import timezone

    from benchmark.models import Dataset, LanguageModel
    from tutoring.models import Assignment, Protocol, Session, Study
    from tutoring.studies.actions import CloseStudy, FreezeStudy, StopStudy
    from tutoring.studies.design import parse_design

    protocol, now = Protocol.objects.get(name="usaco-2024"), timezone.now()
    model = LanguageModel.objects.create(label="m", spec="openai:m")
    dataset = Dataset.objects.annotate(size=Count("problems")).latest("size")
    problems = list(dataset.problems.all()[: ASSIGNMENTS // 2])

    def ended(index: int, **columns: object) -> Session:
        outcome = ("solved", "not_solved")[index % 2]
        return Session(
            protocol=protocol,
            model_spec="openai:m",
            opened_at=now,
            state="closed",
            outcome=outcome,
            **columns,
        )

    Session.objects.bulk_create(
        (
            ended(number, problem=problems[number % len(problems)], number=1, origin=Session.Origin.AUTOMATIC)
            for number in range(AUTOMATIC_SESSIONS)
        ),
        batch_size=500,
    )
    arms = [
        {"kind": "human", "name": f"arm-{number}", "protocol": "usaco-2024@1", "model": f"m@{model.version}"}
        for number in range(2)
    ]
    design = {
        "name": "large", "title": "Large", "questions": ["?"], "arms": arms, "primary_outcome": "solved",
        "problems": {"dataset": dataset.name, "only": [one.external_id for one in problems]},
        "tutors": [one.username for one in tutors], "primary_contrast": ["arm-0", "arm-1"],
    }  # fmt: skip
    action = FreezeStudy(None, parse_design(design), accept_gate=True)
    study, freezing = timed_call(action.execute)
    rows = list(study.assignments.all())
    with transaction.atomic():
        study.assignments.all().delete()
        floor = timed_call(lambda: Assignment.objects.bulk_create(rows))[1]
        transaction.set_rollback(True)
    print(
        f"freezing {len(rows)} assignments: {freezing.wall:.2f} s, CPU {freezing.cpu:.2f} s; bulk_create of the same "
        f"rows: {floor.wall:.2f} s, CPU {floor.cpu:.2f} s; target: CPU {FREEZE_TARGET:g} s"
    )
    sessions = Session.objects.bulk_create(
        ended(number, problem_id=row.problem_id, tutor_id=row.tutor_id, number=1)
        for number, row in enumerate(rows)
    )
    for row, session in zip(rows, sessions, strict=True):
        row.session, row.state = session, Assignment.State.DONE
        row.offered_at = row.opened_at = row.ended_at = now
    Assignment.objects.bulk_update(
        rows, ["session", "state", "offered_at", "opened_at", "ended_at"], batch_size=200
    )
    StopStudy(None, study.pk, "Enough.").execute()
    CloseStudy(None, study.pk).execute()
    assert Study.objects.get(pk=study.pk).assignments.count() == 2 * len(problems)
    return study.pk, freezing


def fill_reviews(reviewers: list[User]) -> tuple[UUID, UUID]:
    """Create two reviews of each of REVIEWED sessions and checks; return an open review and a settled session."""
    import random

    from django.utils import timezone

    from tutoring.models import AuditEntry, Event, Finding, Review, ReviewOutcome, RuleCheck, Session
    from tutoring.review.actions import review_outcome_of
    from tutoring.review.content import Content, MessageLabels
    from tutoring.rules import current_rule_set

    drawn = random.Random(307)
    rules, now = current_rule_set(), timezone.now()
    sessions = list(Session.objects.filter(state="closed").order_by("pk")[: REVIEWED + 1])
    reviews: list[Review] = []
    review_outcomes: list[ReviewOutcome] = []

    def reading() -> Content:
        codes = drawn.choices(["F1", "F2", "F3", "A1", "A2", "A4", "A6"], [1, 1, 1, 9, 9, 9, 9], k=TURNS)
        labels = tuple(
            MessageLabels(2 * turn + 2, (code,), drawn.randrange(5), "planning")
            for turn, code in enumerate(codes)
        )
        worst = next((one.seq for one in labels if one.clauses[0] < "G" and one.clauses[0] > "F"), None)
        return Content(labels, "minor" if worst else "compliant", worst)

    for session in sessions[:-1]:
        first = reading()
        pair = []
        for place, content in ((1, first), (2, first if drawn.random() < 0.6 else reading())):
            reviewer = reviewers[(drawn.randrange(REVIEWERS // 2)) * 2 + place - 1]
            pair.append(
                Review(
                    session=session, rule_set=rules.version, slot=place, reviewer=reviewer, by=f"person-{reviewer.pk}",
                    state="submitted", content=content.to_json(), verdict=content.verdict, opened_at=now,
                    saved_at=now, submitted_at=now, active_seconds=drawn.randrange(60, 900),
                )
            )  # fmt: skip
        reviews += pair
        review_outcomes.append(review_outcome_of(session, rules, pair, now))
    Review.objects.bulk_create(reviews, batch_size=500)
    ReviewOutcome.objects.bulk_create(review_outcomes, batch_size=500)
    AuditEntry.objects.bulk_create(
        AuditEntry(command=review.pk, action="SubmitReview", person=reviewers[0], session=review.session)
        for review in reviews
    )
    checks = RuleCheck.objects.bulk_create(
        RuleCheck(
            session=session, rule_set=rules.version, rule_set_hash=rules.content_hash, detectors={}, basis="0"
        )
        for session in sessions
    )
    events = dict(Event.objects.filter(session__in=sessions, seq=4).values_list("session_id", "pk"))
    Finding.objects.bulk_create(
        Finding(
            rule_check=check, event_id=events[check.session_id], clause=clause, detector=detector, version=1,
            start=0, end=4, quote="Look", explanation="It looks.", weight=0.5,
        )
        for check in checks
        for clause, detector in (("F1", "algorithm-naming"), ("F2", "code-pointing"))
    )  # fmt: skip
    begun = Review.objects.create(
        session=sessions[-1], rule_set=rules.version, slot=1, reviewer=reviewers[0], by="person-0", opened_at=now,
        saved_at=now, content=Content().to_json(), lease_until=now.replace(year=now.year + 1),
    )  # fmt: skip
    return begun.pk, sessions[0].pk


def fill_arms() -> list[UUID]:
    """Create a run of each of six arms, with at least SESSIONS automatic sessions in all."""
    import random

    from django.utils import timezone

    from benchmark.models import Dataset, Run, WorkItem
    from benchmark.runner.manifest import dataset_hash
    from tutoring.models import Protocol, Session

    drawn = random.Random(307)
    dataset = Dataset.objects.get(name="made") if not sys.argv[1:] else Dataset.objects.get(name="usaco0")
    protocol = Protocol.objects.get(name="usaco-2024")
    record = {"name": protocol.name, "version": protocol.version, "content_hash": protocol.content_hash}
    manifest = {"dataset": {"content_hash": dataset_hash(dataset)}, "prepared": {"protocol": record}}
    problems = list(dataset.problems.only("pk"))
    arms = ("again", "neutral", "verdict", "sham", "analysis", "reference")
    chains = -(-SESSIONS // (len(arms) * len(problems)))
    runs = Run.objects.bulk_create(
        Run(
            dataset=dataset, method=f"session-{arm}", model_spec="openai:m", attempts=chains, state="finished",
            parameters={"language": "python", "protocol": f"{protocol.name}@{protocol.version}"}, manifest=manifest,
            finished_at=timezone.now(),
        )
        for arm in arms
    )  # fmt: skip
    for run in runs:
        items = WorkItem.objects.bulk_create(
            WorkItem(run=run, problem=problem, chain=chain, state="done")
            for problem in problems
            for chain in range(chains)
        )
        Session.objects.bulk_create(
            Session(
                origin="automatic", problem_id=item.problem_id, protocol=protocol, model_spec="openai:m",
                number=item.chain + 1, work_item=item, state="closed", outcome="not_solved", code_generations=5,
                program_outcomes="".join(drawn.choices("ASW", [1, 1, 6], k=5)), opened_at=timezone.now(),
            )
            for item in items
        )  # fmt: skip
    return [run.pk for run in runs]


def seconds(client: Client, address: str, status: int, form: dict[str, str] | None = None) -> list[Time]:
    """Time ROUNDS requests after two that fill caches."""
    return [timed(client, address, status, form) for _ in range(ROUNDS + 2)][2:]


def percentile(times: list[float]) -> float:
    return sorted(times)[int(len(times) * 0.95)]


if __name__ == "__main__":
    sys.exit(main())
