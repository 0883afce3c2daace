"""Every address of the site, visited by every role: it admits its roles, writes nothing and shows no foreign note."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from html import unescape
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test import Client

from accounts.roles import Role
from benchmark.judging import ProgramPlace, request_rejudging, store_submission
from benchmark.models import (
    CachedRunReport,
    Dataset,
    Figure,
    LanguageModel,
    Option,
    Problem,
    Question,
    QuestionSet,
    RejudgedProgram,
    SimilarityRun,
    Suite,
    Verifier,
    blobs,
)
from tests.benchmark.reports.conftest import MakeRun, make_run  # noqa: F401  a fixture
from tests.config.test_permissions import PAGES, addresses, is_refused
from tests.problems import store_doubling
from tests.tutoring.dialogues import RIGHT, WRONG, SessionUnderTest, start
from tests.tutoring.replay.replay_rows import store_replay
from tests.tutoring.review.browsing import content
from tests.tutoring.review.readings import claim, recorded_session
from tests.tutoring.review.readings import review as submit_review
from tests.tutoring.studies.designs import design_data
from tutoring.actions import CloseSession
from tutoring.models import HintCard, PrivateNote, Protocol, Session, Study, TextModelTraining, TrainingResult
from tutoring.studies.actions import CloseStudy, FreezeStudy, OfferNext, StopStudy
from tutoring.studies.design import parse_design

NOTE = "THE-WORDS-OF-A-PRIVATE-NOTE"

SESSION_TABLES = ("accounts_loginsession", "auth_user")
"""Tables that Django itself writes when a visitor logs in or a session is renewed."""

_WRITE = re.compile(
    r"^\s*(?:INSERT(?:\s+OR\s+\w+)?\s+INTO|REPLACE\s+INTO|UPDATE|DELETE\s+FROM)\s+\"?(\w+)", re.I
)


@contextmanager
def refused_writes() -> Iterator[list[str]]:
    """Collect the statements that write, except to Django's own tables."""
    found: list[str] = []

    def watch(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        written = _WRITE.match(sql)
        if written and written[1] not in SESSION_TABLES:
            found.append(sql)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(watch):
        yield found


@pytest.fixture
def arguments(visitors: dict[str, Client], make_run: MakeRun) -> dict[str, dict[str, Any]]:  # noqa: F811
    """The arguments of each address, so that it shows an object that is there."""
    problem = store_doubling()
    Figure.objects.create(
        problem=problem, name="a.gif", media_type="image/gif", content_hash=blobs.put(b"GIF89a")
    )
    of_problem = {"dataset": problem.dataset.name, "external_id": problem.external_id}
    finished = {"state": "finished", "finished_at": datetime(2026, 1, 2, tzinfo=UTC)}
    run = make_run([("bronze", ["AC", "WA"]), ("gold", ["WA", "fault"])], **finished)
    refined = make_run([("bronze", ["AC"])], method="refine", parameters={"k": 2, "g": 1}, on=run, **finished)
    item = run.items.filter(judgement__isnull=False)[0]
    places = {item.judgement_id or 0: ProgramPlace(RejudgedProgram.Role.OUTCOME, 1, work_item=item.pk)}
    rejudged = request_rejudging(places, reason="a test changed", selection={}, by=None)
    questions = QuestionSet.objects.create(
        name="alike", dataset=problem.dataset, built=False, parameters={}, content_hash=""
    )
    question = Question.objects.create(question_set=questions, number=1, reference=problem)
    Option.objects.create(question=question, place=0, problem=problem, similar=True)
    SimilarityRun.objects.create(
        question_set=questions, task="rank", representation="statement", state="finished",
        parameters={"scorer": {"name": "bm25", "statistics": "corpus"}, "correct_at": "", "limit": None},
        manifest={"scripted_model": False},
    )  # fmt: skip
    replayed = store_replay([problem, run.items.order_by("pk")[0].problem])
    suite = Suite.objects.create(problem=problem, version=1, content_hash="", provenance={})
    verifier = Verifier.objects.create(
        problem=problem, state="ready", record={}, problem_hash="", suite=suite
    )
    protocol = Protocol.objects.get(name="usaco-2024")
    tutor = User.objects.get(username=Role.TUTOR)
    closed = start(tutor, problem, protocol, "practice:student")
    CloseSession(session_id=closed.pk, person=tutor, command=uuid4(), reason="stuck").execute()
    compared = with_two_programs(start(tutor, problem, protocol, "openai:of-two-programs"))
    session = start(tutor, problem, protocol, "practice:student")
    recorded = recorded_session(str(uuid4()), ("Look at the sample.",))
    reviewers = [User.objects.get(username=Role.REVIEWER), User.objects.create_user("second reviewer")]
    reviewers[1].groups.set(Group.objects.filter(name=Role.REVIEWER))
    for reviewer in reviewers:
        submit_review(reviewer)
    recorded_session(str(uuid4()), ("Use a heap.",))
    review = claim(reviewers[0])
    result = TrainingResult.objects.create(person=tutor, rule_set=1, answers={}, right=0, messages=0)
    training = TextModelTraining.objects.create(requested_by=User.objects.get(username=Role.ADMIN))
    trajectory = {"session_id": recorded.pk}
    study = {"study_id": closed_study(problem).pk}
    return {
        "account": {"account_id": tutor.pk},
        "withdraw_consent": {"account_id": tutor.pk},
        "figure": of_problem | {"name": "a.gif"},
        "problem": of_problem,
        "question_set": {"name": "alike"},
        "question": {"name": "alike", "number": 1},
        "suite": of_problem | {"version": 1},
        "verifier": {"verifier_id": verifier.pk},
        "chain": {"item_id": run.items.order_by("pk")[0].pk},
        "growth": {"submission_id": store_submission(problem, "print(2)", "python").pk},
        "run": {"run_id": run.pk},
        "run_progress": {"run_id": run.pk},
        "run_refinement": {"run_id": refined.pk},
        "run_items": {"run_id": run.pk},
        "rejudging": {"rejudging_id": rejudged.pk},
        "text_model_training": {"training_id": training.pk},
        "replay": {"replay_id": replayed.pk},
        "hint_card": {"card_id": HintCard.objects.order_by("pk")[0].pk},
        "run_report": {"run_id": run.pk, "form": "json"},
        "session": {"session_id": session.pk},
        "session_growth": {"session_id": closed.pk},
        "program_comparison": {"session_id": compared.pk},
        "model": {"model_id": session.model_id},
        "model_test": {"model_id": session.model_id},
        "edit_model": {"model_id": session.model_id},
        "new_model_version": {"model_id": session.model_id},
        "trajectory": trajectory,
        "export_trajectory": trajectory,
        "trajectory_growth": trajectory,
        "trajectory_page": trajectory,
        "compare_reviews": trajectory,
        "review": {"review_id": review.pk},
        "training_result": {"result_id": result.pk},
        **dict.fromkeys(STUDY_PAGES, study),
    }


def with_two_programs(session: Session) -> Session:
    """Append two replies with programs; the session stays open and has no review."""
    assert session.tutor is not None
    held = SessionUnderTest(session, session.tutor)
    held.ask_and_get(WRONG)
    held.ask_and_get(RIGHT)
    return held.refresh()


STUDY_PAGES = (
    "study", "edit_study", "study_design", "study_power", "study_assignments", "preregistration",
    "download_preregistration", "download_study",
)  # fmt: skip


def closed_study(problem: Problem) -> Study:
    """Freeze a study with one session, and close it."""
    LanguageModel.objects.create(label="m", spec="openai:m")
    tutors = [User.objects.create_user(f"tutor of the study {number}") for number in range(2)]
    for tutor in tutors:
        tutor.groups.set(Group.objects.filter(name=Role.TUTOR))
    data = design_data(problems={"dataset": problem.dataset.name}, tutors=[one.username for one in tutors])
    study = FreezeStudy(None, parse_design(data), accept_gate=True).execute()
    OfferNext(tutors[0]).execute()
    StopStudy(None, study.pk, "Enough.").execute()
    return CloseStudy(None, study.pk).execute()


QUERIES = {
    "program_comparison": "old=1&new=2",
    "rejudgings": "dataset=practice&problem=practice/doubling",
    "study_power": "control_rate=30&effect=20&problems=10",
    "detector_messages": "detector=all+detectors&clause=F2&outcome=missed",
}
"""Queries without which an address is refused."""


@pytest.mark.slow
def test_each_page_admits_its_roles_writes_nothing_and_shows_notes_to_their_tutor_only(
    visitors: dict[str, Client], arguments: dict[str, dict[str, Any]], caplog: pytest.LogCaptureFixture
):
    caplog.set_level("CRITICAL", "django.request")  # refusals with their tracebacks take long
    tutor = User.objects.get(username=Role.TUTOR)
    for problem in Problem.objects.all():
        PrivateNote.objects.create(person=tutor, problem=problem, text=NOTE)
    written: list[str] = []
    shown: set[str] = set()
    wrong: list[str] = []
    holding_note: set[tuple[str, str]] = set()
    plots: dict[str, list[int]] = defaultdict(list)
    for name, address in addresses(arguments):
        query = QUERIES.get(name, "")
        for visitor, client in visitors.items():
            with refused_writes() as found:
                answer = client.get(f"{address}?{query}")
                page = content(answer)
                for link in re.findall(r'href="(\?[^"]*plot=[^"]*)"', page):
                    plots[name].append(client.get(f"{address}{unescape(link)}").status_code)
            written += [f"{visitor} at {address}: {sql[:100]}" for sql in found]
            if answer.status_code == 200:
                shown.add(name)
            if name in PAGES and is_refused(visitor, answer) != (visitor not in PAGES[name]):
                wrong.append(f"{visitor} at {address}: {answer.status_code}")
            if NOTE in page:
                holding_note.add((visitor, name))
    assert written == []
    assert wrong == []
    assert holding_note == {(Role.TUTOR, page) for page in ("problem", "session", "export_own_sessions")}
    assert PAGES.keys() - shown == set(), "these pages were shown to nobody"
    assert {status for found in plots.values() for status in found} == {200}, "a file of a plot"
    assert {"run_refinement", "study"} <= plots.keys()
    assert not CachedRunReport.objects.exists()
    assert not SimilarityRun.objects.filter(figures__isnull=False).exists()


def test_the_guard_sees_writes(db: None):
    with refused_writes() as found:
        Dataset.objects.create(name="one", format="usaco")
        Dataset.objects.filter(name="one").update(format="icpc")
        Dataset.objects.all().delete()
        User.objects.create_user("somebody")
    assert [sql.split()[0] for sql in found] == ["INSERT", "UPDATE", "DELETE"]
