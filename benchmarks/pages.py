"""Server time of the pages with 520 problems and, by default, 10 000 sessions, 300 000 events and 4 000 reviews.

A closed study has up to 1 000 assignments, and the bank has 20 000 automatic sessions beside the others. The freezing
of the study is timed too.

    python -m benchmarks.pages [--postgres] [--sessions N] [USACO_DICT.json ...]

Targets: 100 ms and 25 times the floor for every page, 50 ms for the check of a draft of 2 000 characters
(docs/architecture.md), which is new, or differs by one letter from the draft of an earlier check. The floor is the
404 page of the same server for the same visitor: session, login and rendering without a row of the bank, measured
beside each page. CPU time, with --postgres that of the database too,
depends less on other load than wall time. Pages with computed figures are also requested first ("first"): with empty
caches, as after a restart, and after the end of a session. Dictionaries on the command line are imported; without
any, the script generates problems of the same size. With N sessions, a fifth of them is reviewed twice.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.page_times import (
    FLOOR,
    MOST_FLOORS,
    ROUNDS,
    TARGET,
    Time,
    analyze,
    copy_rows,
    new_site,
    percentile,
    seconds,
    timed,
    timed_call,
    with_floor,
)

if TYPE_CHECKING:
    from uuid import UUID

    from django.contrib.auth.models import User
    from django.test import Client

PROBLEMS = 520
TURNS = 14
"""Messages and replies of a session without its first and last event: 30 events in all."""
REVIEWERS = 8
AUTOMATIC_SESSIONS = 10_000
ASSIGNMENTS = 1_000
FIRST_VIEWS = ("session", "trajectory", "trajectory list")
FIRST_REVIEW_VIEWS = (
    "review queue",
    "review",
    "assign reviews",
    "reviews compared",
    "agreement",
    "solve rates",
    "detectors",
    "found messages",
    "behind a figure",
    "arms",
)
DRAFT_TARGET = 0.05
FREEZE_TARGET = 1.0
DRAFT_LENGTH = 2_000
DRAFTS = Path(__file__).parent.parent / "tests" / "tutoring" / "rules" / "drafts" / "development.jsonl"
"""Labelled messages, which the timed drafts consist of."""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--postgres", action="store_true")
    parser.add_argument("--sessions", type=int, default=10_000)
    parser.add_argument("dictionaries", nargs="*", type=Path, metavar="USACO_DICT.json")
    arguments = parser.parse_args()
    with new_site(arguments.postgres):
        return measure(arguments.sessions, arguments.dictionaries)


class Site(NamedTuple):
    """A filled site: two people who are logged in, the addresses of their pages, and the time of the freezing."""

    tutor: Client
    reviewer: Client
    session: UUID
    pages: dict[str, str]
    review_pages: dict[str, str]
    freezing: Time


class Measure(NamedTuple):
    """A named series of times of one visitor, its target in seconds, and the target of CPU time in floors."""

    name: str
    client: Client
    times: Callable[[], list[Time]]
    target: float = TARGET
    most_floors: float = MOST_FLOORS


def measure(sessions: int, dictionaries: list[Path]) -> int:
    """Fill a problem bank, time every page and print the table; return 1 if a page misses a target."""
    from benchmark.processes import exclude_loaded_objects

    site = fill_site(sessions, dictionaries)
    exclude_loaded_objects()  # as in the web server
    measures = [Measure("floor (404)", site.tutor, partial(seconds, site.tutor, FLOOR, 404))]
    for client, pages, names in (
        (site.tutor, site.pages, FIRST_VIEWS),
        (site.reviewer, site.review_pages, FIRST_REVIEW_VIEWS),
    ):
        for name, address in pages.items():
            measures.append(Measure(name, client, partial(seconds, client, address)))
        for name in names:
            measures.append(Measure(f"{name}, first", client, partial(first_views, client, pages[name])))
    for name, drafts in (("new", new_drafts()), ("1 letter", [f"{draft[:-1]}X" for draft in new_drafts()])):
        check = partial(check_drafts, site.tutor, f"/sessions/{site.session}/check/", drafts)
        measures.append(Measure(f"draft check, {name}", site.tutor, check, DRAFT_TARGET, inf))
    print(f"{'page':<24} {'median ms':>10} {'p95 ms':>8} {'CPU ms':>8} {'x floor':>8}")
    missed = site.freezing.cpu > FREEZE_TARGET
    for name, client, measure_times, target, most_floors in measures:
        times, floor = with_floor(client, measure_times)
        wall = statistics.median(one.wall for one in times)
        cpu = statistics.median(one.cpu for one in times)
        worst = percentile([one.wall for one in times])
        print(f"{name:<24} {wall * 1e3:10.1f} {worst * 1e3:8.1f} {cpu * 1e3:8.1f} {cpu / floor:8.1f}")
        missed |= wall > target or cpu > most_floors * floor
    return int(missed)


def fill_site(sessions: int, dictionaries: list[Path]) -> Site:
    """Fill a migrated database and log two people in."""
    from django.contrib.auth.models import Group, User
    from django.core.management import call_command
    from django.test import Client

    from tutoring.review.stored_figures import stale_figures, store_figures

    for number, path in enumerate(dictionaries):
        call_command("import_problems", "usaco", str(path), dataset=f"usaco{number}", verbosity=0)
    tutor = User.objects.create_user("tutor")
    reviewers = [User.objects.create_user(f"reviewer{number}") for number in range(REVIEWERS)]
    for person in (tutor, *reviewers):
        person.groups.set(Group.objects.filter(name="admin"))
    session, problem = fill(tutor, sessions)
    review_id, settled = fill_reviews(reviewers, sessions // 5)
    study, freezing = fill_study(reviewers)
    runs = fill_arms("usaco0" if dictionaries else "made")
    for figures in list(stale_figures()):  # as the workers do every few seconds
        store_figures(*figures)
    analyze()
    client, reviewer = Client(SERVER_NAME="localhost"), Client(SERVER_NAME="localhost")
    client.force_login(tutor)
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
        "own account": "/account/",
        "accounts": "/accounts/",
        "account": f"/accounts/{tutor.pk}/",
        "log of accounts": "/accounts/log/",
        "arms": f"/runs/arms/?people=all&{'&'.join(f'run={run}' for run in runs)}",
    }
    return Site(client, reviewer, session, pages, review_pages, freezing)


def new_drafts() -> list[str]:
    """Return different drafts of DRAFT_LENGTH characters that consist of labelled messages in English."""
    from tutoring.checks.labelled_drafts import read_drafts

    text = " ".join(draft.text for draft in read_drafts(DRAFTS) if draft.language == "en")
    return [text[start:][:DRAFT_LENGTH] for start in range(0, DRAFT_LENGTH * (ROUNDS + 2), DRAFT_LENGTH)]


def check_drafts(client: Client, address: str, drafts: list[str]) -> list[Time]:
    """Time the check of each draft but the first two, which load the encoder and fill caches."""
    return [timed(client, address, 200, {"text": draft}) for draft in drafts][2:]


def first_views(client: Client, address: str) -> list[Time]:
    """Time five views, each with empty caches and after new rows."""
    times = []
    for _ in range(5):
        clear_caches()
        add_rows()
        times.append(timed(client, address))
    return times


def clear_caches() -> None:
    """Clear the caches of figures and of rendered texts, as a restart does."""
    from benchmark.metrics.intervals import wilson
    from benchmark.rendering import markdown
    from tutoring.arms.figures import rows

    for cache in (markdown._remembered, rows._counted, rows._counted_pairs, wilson):
        cache.cache_clear()


def add_rows() -> None:
    """Add a message to the open session, and decide the outcome of a reviewed session again."""
    from django.utils import timezone

    from tutoring.models import Event, ReviewOutcome, Session

    now = timezone.now()
    session = Session.objects.filter(state=Session.State.OPEN).earliest("pk")
    said = {"mode": "talk", "text": "Look at the sample again.", "sent": "Look at the sample again."}
    seq = session.events.count() + 1
    Event.objects.create(session=session, seq=seq, kind=Event.Kind.MESSAGE, data=said, at=now)
    outcome = ReviewOutcome.objects.earliest("pk")
    outcome.at = now
    outcome.save()


def fill(tutor: User, count: int) -> tuple[UUID, str]:
    """Create problems and sessions; return an open session with a long dialogue and its problem's page."""
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
            state="open" if number == count - 1 else "closed",
            outcome="" if number == count - 1 else ("solved", "not_solved")[number % 2],
            code_generations=1,
        )
        for number in range(count)
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
    turns = [kind for one in replies for kind in (("message", said), ("reply", one))]
    kinds = [("opened", opened), *turns, ("closed", closed)]
    Event.objects.bulk_create(
        Event(session=sessions[0], seq=seq, kind=kind, data=data, at=timezone.now())
        for seq, (kind, data) in enumerate(kinds, start=1)
    )
    copy_rows(
        Event,
        "CROSS JOIN tutoring_session other WHERE other.id <> one.session_id "
        "AND NOT (other.state = 'open' AND one.kind = 'closed')",
        session_id="other.id",
    )
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


def fill_reviews(reviewers: list[User], count: int) -> tuple[UUID, UUID]:
    """Create two reviews of each of `count` sessions and checks; return an open review and a settled session."""
    import random

    from django.utils import timezone

    from tutoring.models import AuditEntry, Event, Finding, Review, ReviewOutcome, RuleCheck, Session
    from tutoring.review.actions import review_outcome_of
    from tutoring.review.content import Content, MessageLabels
    from tutoring.rules import current_rule_set

    drawn = random.Random(307)
    rules, now = current_rule_set(), timezone.now()
    sessions = list(Session.objects.filter(state="closed").order_by("pk")[: count + 1])
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


def fill_arms(name: str) -> list[UUID]:
    """Create a run of each of six arms on a dataset, with at least AUTOMATIC_SESSIONS sessions in all."""
    import random

    from django.utils import timezone

    from benchmark.models import Dataset, Run, WorkItem
    from benchmark.runner.manifest import dataset_hash
    from tutoring.arms.figures.chains import store_chains
    from tutoring.models import Protocol, Session

    drawn = random.Random(307)
    dataset = Dataset.objects.get(name=name)
    protocol = Protocol.objects.get(name="usaco-2024")
    record = {"name": protocol.name, "version": protocol.version, "content_hash": protocol.content_hash}
    manifest = {"dataset": {"content_hash": dataset_hash(dataset)}, "prepared": {"protocol": record}}
    problems = list(dataset.problems.only("pk"))
    arms = ("again", "neutral", "verdict", "sham", "analysis", "reference")
    chains = -(-AUTOMATIC_SESSIONS // (len(arms) * len(problems)))
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
    for _ in runs:
        store_chains()  # as the workers do every few seconds
    return [run.pk for run in runs]


if __name__ == "__main__":
    sys.exit(main())
