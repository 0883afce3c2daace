"""A program that runs all races on the database of the environment and prints their results as JSON.

A race prepares the rows; then several threads, each with its own connection, execute the same action at the same time.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from unittest.mock import patch
from uuid import UUID, uuid4

import django

django.setup()

from django.contrib.auth.models import Group, User  # noqa: E402
from django.db import connection  # noqa: E402
from django.test import Client  # noqa: E402

from benchmark.judging import performing, request_judgement, store_submission  # noqa: E402
from benchmark.models import Dataset, Judgement, LanguageModel, Problem  # noqa: E402
from tests.tutoring.dialogues import WRONG, SessionUnderTest, start  # noqa: E402
from tests.tutoring.review.readings import recorded_session  # noqa: E402
from tests.tutoring.studies.designs import design_data  # noqa: E402
from tutoring.actions import AcceptConsent, Execute, SendMessage  # noqa: E402
from tutoring.models import Assignment, Event, Protocol, Reply, Review, Session  # noqa: E402
from tutoring.protocols import consent_hash, rules_of  # noqa: E402
from tutoring.replies.claims import claim_replies  # noqa: E402
from tutoring.review.actions import ClaimNext  # noqa: E402
from tutoring.review.bulk_assignment import AssignMatching, SessionFilter  # noqa: E402
from tutoring.studies.actions import FreezeStudy, OfferNext, StartAssigned  # noqa: E402
from tutoring.studies.design import parse_design  # noqa: E402

RUNNERS = 6


def a_problem(name: str) -> tuple[User, Problem]:
    alice = User.objects.create(username=name)
    alice.groups.set(Group.objects.filter(name="tutor"))
    dataset, _ = Dataset.objects.get_or_create(name="practice", defaults={"format": "icpc"})
    problem = Problem.objects.create(
        dataset=dataset,
        external_id=name,
        title="Doubling",
        statement="Double it.",
        statement_format="markdown",
        statement_html="",
        time_limit=1.0,
        memory_limit=2**28,
        checker={"kind": "tokens"},
        content_hash="0" * 64,
    )
    return alice, problem


def a_session(name: str, generations: int) -> SessionUnderTest:
    Reply.objects.update(state=Reply.State.DONE)  # replies of earlier races
    alice, problem = a_problem(name)
    protocol = Protocol.objects.get(name="usaco-2024")
    session = SessionUnderTest(start(alice, problem, protocol), alice)
    for _ in range(generations):
        session.ask_and_get(WRONG)
    return session


def race(move: Callable[[], object], runners: int = RUNNERS) -> list[str]:
    """Return the result of each thread: "accepted", or the exception's name and text."""
    together = threading.Barrier(runners)
    answers: list[str] = []

    def run() -> None:
        connection.ensure_connection()
        together.wait()
        try:
            move()
            answers.append("accepted")
        except Exception as error:  # noqa: BLE001  (every fault is a result)
            answers.append(f"{type(error).__name__}: {error}")
        finally:
            connection.close()

    threads = [threading.Thread(target=run) for _ in range(runners)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(answers)


def last_generation() -> tuple[list[str], int]:
    session = a_session("last-generation", generations=4)
    answers = race(lambda: session.say("Now.", mode="code"))
    return answers, Reply.objects.filter(session=session.row, state=Reply.State.QUEUED).count()


def execution() -> tuple[list[str], int]:
    session = a_session("execution", generations=1)

    def move() -> None:
        Execute(session_id=session.pk, person=session.tutor, command=uuid4()).execute()

    answers = race(move)
    events = Event.objects.filter(session=session.row, kind=Event.Kind.EXECUTION).count()
    assert Judgement.objects.filter(submission__problem=session.row.problem).count() == events
    return answers, events


def repeated_command() -> tuple[list[str], int]:
    session, command = a_session("repeated", generations=0), uuid4()

    def move() -> None:
        SendMessage(
            session_id=session.pk, person=session.tutor, command=command, mode="code", text="Go."
        ).execute()

    return race(move), Event.objects.filter(session=session.row, kind=Event.Kind.MESSAGE).count()


def opening() -> tuple[list[str], int]:
    alice, problem = a_problem("opening")
    protocol = Protocol.objects.get(name="usaco-2024")
    answers = race(lambda: start(alice, problem, protocol))
    return answers, Session.objects.filter(problem=problem).count()


def claim() -> tuple[list[str], int]:
    session = a_session("claim", generations=0)
    session.say("Go on.")
    claims: list[int] = []
    answers = race(lambda: claims.extend(claimed.pk for claimed in claim_replies(10)))
    assert Reply.objects.get(session=session.row).attempt == 1
    return answers, len(claims)


def fair_share() -> tuple[list[str], int]:
    """Workers claim the executions of one person at the same time; two workers exist."""
    alice, problem = a_problem("share")
    submission = store_submission(problem, "print(1)", "python")
    rows = [request_judgement(submission, requested_by=alice).pk for _ in range(RUNNERS)]
    with patch.object(performing, "share_of_a_person", lambda: 1):
        answers = race(lambda: performing._claim(rows.pop()))
    return answers, Judgement.objects.filter(requested_by=alice).held().count()


def reviewers(name: str, count: int) -> list[User]:
    people = [User.objects.create(username=f"{name}-{number}") for number in range(count)]
    for person in people:
        person.groups.set(Group.objects.filter(name="reviewer"))
    return people


def review_places() -> tuple[list[str], int]:
    session = recorded_session(str(uuid4()), ["Go on."])
    people = iter(reviewers("places", RUNNERS))
    answers = race(lambda: ClaimNext(person=next(people), command=uuid4()).execute())
    Session.objects.filter(pk=session.pk).update(invalidated=True)  # the queue is empty for the race after
    return answers, Review.objects.filter(session=session, slot__isnull=False).count()


def review_tabs() -> tuple[list[str], int]:
    for _ in range(RUNNERS):
        recorded_session(str(uuid4()), ["Go on."])
    [person] = reviewers("tabs", 1)
    answers = race(lambda: ClaimNext(person=person, command=uuid4()).execute())
    return answers, Review.objects.filter(reviewer=person).count()


def bulk_assignment() -> tuple[list[str], int]:
    """Several admins assign the same sessions to the same reviewers at the same time."""
    Session.objects.filter(state=Session.State.CLOSED).update(invalidated=True)
    for _ in range(RUNNERS):
        recorded_session(str(uuid4()), ["Go on."])
    chosen = tuple(reviewers("bulk", 3))
    admins = [User.objects.create(username=f"admin-{number}") for number in range(RUNNERS)]
    for admin in admins:
        admin.groups.set(Group.objects.filter(name="admin"))

    def move() -> None:
        AssignMatching(
            person=admins.pop(),
            command=uuid4(),
            selection=SessionFilter(),
            reviewers=chosen,
            most=2,
            expected=2 * RUNNERS,
        ).execute()

    answers = race(move)
    return answers, Review.objects.filter(reviewer__in=chosen, slot__isnull=False).count()


def study_of(name: str, tutors: int, problems: int) -> list[User]:
    """Freeze a study of two human arms and return its tutors."""
    people = []
    for number in range(tutors):
        person = User.objects.create(username=f"{name}-tutor-{number}")
        person.groups.set(Group.objects.filter(name="tutor"))
        people.append(person)
    only = [a_problem(f"{name}-{number}")[1].external_id for number in range(problems)]
    LanguageModel.objects.get_or_create(label="m", version=1, defaults={"spec": "openai:m"})
    data = design_data(
        name=name,
        problems={"dataset": "practice", "only": only},
        tutors=[one.username for one in people],
    )
    FreezeStudy(None, parse_design(data), accept_gate=True).execute()
    return people


def next_sessions() -> tuple[list[str], int]:
    """50 tutors press “Your next session” at once; each gets a session of an assignment of their own."""
    tutors = study_of("next", 50, 25)
    protocol = Protocol.objects.get(name="usaco-2024")
    clients = []
    for person in tutors:
        AcceptConsent(person, protocol, consent_hash(rules_of(protocol))).execute()
        client = Client(SERVER_NAME="localhost")
        client.force_login(person)
        clients.append(client)
    opened: list[UUID] = []
    lock = threading.Lock()

    def move() -> None:
        with lock:
            client = clients.pop()
        response = client.post("/sessions/next/")
        assert response.status_code == 302, response.status_code
        opened.append(UUID(response.headers["Location"].rstrip("/").rpartition("/")[2]))

    answers = race(move, runners=50)
    assignments = Assignment.objects.filter(session__in=opened, state=Assignment.State.OPEN)
    assert assignments.values("tutor").distinct().count() == len(opened)
    return answers, assignments.count()


def next_session_tabs() -> tuple[list[str], int]:
    """One tutor asks for the next session in several tabs at once, and starts it in all of them."""
    [person, *_] = study_of("own-tabs", 2, 5)
    protocol = Protocol.objects.get(name="usaco-2024")
    AcceptConsent(person, protocol, consent_hash(rules_of(protocol))).execute()

    def move() -> None:
        assignment = OfferNext(person).execute()
        assert assignment is not None
        StartAssigned(person, assignment.pk).execute()

    answers = race(move)
    assert Assignment.objects.filter(tutor=person).exclude(state=Assignment.State.PLANNED).count() == 1
    return answers, Session.objects.filter(tutor=person).count()


if __name__ == "__main__":
    races = (
        last_generation, execution, repeated_command, opening, claim, fair_share, review_places, bulk_assignment,
        review_tabs, next_sessions, next_session_tabs,
    )  # fmt: skip
    print(json.dumps({one.__name__: one() for one in races}))
