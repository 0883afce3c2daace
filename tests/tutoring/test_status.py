"""The page *Status*: processes, queues, failures and spending, and what a tutor of a running study must not see."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils import timezone

from accounts.roles import Role
from benchmark.judging import request_judgement, store_submission
from benchmark.model_calls.ledger import today
from benchmark.models import DailySpend, Judgement, Problem, Process
from benchmark.processes import Heartbeat
from config.status import Queue, read_status
from tests.tutoring.conftest import PersonFactory
from tests.tutoring.dialogues import SessionUnderTest, join_study
from tutoring.replies.endings import fail_reply
from tutoring.replies.model_answer import ModelAnswer


@pytest.fixture
def admin(person: PersonFactory) -> User:
    return person("root", Role.ADMIN)


def page_for(visitor: User) -> str:
    client = Client()
    client.force_login(visitor)
    return client.get("/status/").content.decode()


def test_processes_are_listed_by_host_with_version_and_work(admin: User):
    Heartbeat(Process.Kind.WORKER).send("perform(7)")
    Heartbeat(Process.Kind.STREAMER).send("2 replies")
    Process.objects.filter(kind="worker").update(host="judge-2", version="0.0.9", pid=4711)
    page = page_for(admin)
    for shown in ("judge-2", "4711", "perform(7)", "2 replies", "Versions differ.", "runs 0.0.9", "running"):
        assert shown in page
    assert "No streamer runs" not in page


def test_a_missing_kind_is_named_with_the_time_since_when(admin: User):
    beat = Heartbeat(Process.Kind.STREAMER)
    beat.send("")
    beat.end()
    page = page_for(admin)
    assert "No streamer runs" in page
    assert f"{Process.objects.get().last_seen:%Y-%m-%d %H:%M} UTC" in page
    assert "No judge worker runs" in page
    assert "No model worker runs" in page


def test_queues_count_waiting_rows_and_name_the_age_of_the_oldest(
    admin: User,
    session: SessionUnderTest,
    doubling: Problem,
):
    session.say()
    submission = store_submission(doubling, "print(1)", "python")
    request_judgement(submission)
    old = request_judgement(submission, requested_by=admin)
    Judgement.objects.filter(pk=old.pk).update(created_at=timezone.now() - timedelta(hours=2))
    queues = {queue.name: queue for queue in read_status(admin).queues}
    assert (queues["Replies to tutors"].waiting, queues["Replies to tutors"].held) == (1, 0)
    executions = queues["Executions of tutors"]
    assert (executions.waiting, executions.held) == (1, 0)
    assert executions.oldest is not None
    assert timezone.now() - executions.oldest > timedelta(hours=1)
    assert queues["Judgements of runs"].waiting == 1
    assert queues["Program scores"] == Queue("program_scores", "Program scores", 0, None, 0)
    session.claim()
    assert read_status(admin).queues[0].held == 1
    assert "2 hours ago" in page_for(admin).replace("\xa0", " ")


def test_failures_and_spending_of_today_are_shown(
    admin: User,
    session: SessionUnderTest,
    doubling: Problem,
):
    session.say()
    fail_reply(session.claim(), "server", "broken", ModelAnswer())
    submission = store_submission(doubling, "print(1)", "python")
    fault = {"state": "failed", "finished_at": timezone.now(), "host": "judge-2"}
    Judgement.objects.filter(pk=request_judgement(submission).pk).update(**fault)
    DailySpend.objects.create(day=today(), model_spec="openai:m", microdollars=1_500_000)
    status = read_status(admin)
    assert [(one.source, one.kind, one.count) for one in status.failures] == [
        ("replies of openai:hidden-model-name", "server", 1),
        ("judge on judge-2", "judge fault", 1),
    ]
    assert "1.50 US dollars" in page_for(admin)


def test_an_admin_who_tutors_in_a_study_does_not_learn_its_models(
    alice: User,
    session: SessionUnderTest,
):
    alice.groups.add(Group.objects.get(name=Role.ADMIN))
    session.say()
    fail_reply(session.claim(), "server", "broken", ModelAnswer())
    assert "hidden-model-name" in page_for(alice)
    join_study(session.row, alice)
    assert "hidden-model-name" not in page_for(alice)
