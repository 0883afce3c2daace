"""Program scores: measured after the end of a session, for researchers, and never for a tutor."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from io import StringIO
from typing import Any, ClassVar
from uuid import uuid4

import django_rq
import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

import judge
from accounts.roles import Role
from benchmark import judging
from benchmark.functional import Signature
from benchmark.models import Judgement, TestCase
from tests.tutoring.conftest import PersonFactory
from tests.tutoring.dialogues import RIGHT, WRONG, SessionUnderTest
from tests.tutoring.review.browsing import whole
from tutoring.actions import CloseSession
from tutoring.models import AbandonReason, Event, ProgramScore, Reply, Session
from tutoring.scores.program_scores import request_scores
from tutoring.sessions.conversation import tutor_view
from tutoring.sessions.programs import distance, program_tokens, unchanged

PLAIN = "print(2 * int(input()))"

ONLY_SMALL = "```python\nnumber = int(input())\nprint(2 * number if number < 100 else 1)\n```"
"""Right on the sample, wrong on the first hidden test, right on the second."""

SLOW = """```python
import time
number = int(input())
end = time.process_time() + 0.4  # the limit is 0.1 s, twice for Python
while time.process_time() < end:
    pass
print(2 * number)
```"""

NAMES = ("verdict", "passed", "total", "passed_prefix", "first_failing", "correct_but_slow")


def score(generation: int = 1) -> ProgramScore:
    return ProgramScore.objects.select_related("judgement").get(generation=generation)


def measure(generation: int = 1) -> None:
    """Perform the judgement of the score, as a worker does."""
    judgement = score(generation).judgement
    assert judgement is not None
    judging.perform(judgement.pk)


def figures(generation: int = 1) -> tuple[object, ...]:
    found = score(generation).figures
    return tuple(getattr(found, name) for name in NAMES)


@pytest.fixture
def closed(session: SessionUnderTest) -> SessionUnderTest:
    """A session with two wrong programs and a right one, given up."""
    for text in (WRONG, ONLY_SMALL, RIGHT):
        session.ask_and_get(text)
    assert not ProgramScore.objects.exists(), "nothing is measured while the session is open"
    CloseSession(
        session_id=session.pk, person=session.tutor, command=uuid4(), why=AbandonReason.NO_TIME, reason=""
    ).execute()
    return session


@pytest.mark.usefixtures("sandbox")
def test_programs_are_measured_once_the_session_is_closed(closed: SessionUnderTest):
    assert ProgramScore.objects.count() == 3
    for generation in (1, 2, 3):
        measure(generation)
        measure(generation)
    assert [figures(generation) for generation in (1, 2, 3)] == [
        ("WA", 1, 3, 0, "sample-0", False),
        ("WA", 2, 3, 1, "hidden-1", False),
        ("AC", 3, 3, 3, "", False),
    ]
    rows = list(ProgramScore.objects.select_related("judgement").order_by("generation"))
    assert [row.judgement and row.judgement.attempt for row in rows] == [1, 1, 1], "a second job does nothing"
    assert rows[0].distance_to_previous is None
    assert 0 < rows[0].distance_to_final < rows[1].distance_to_final < 1
    assert rows[2].distance_to_final == 0
    assert closed.events(Event.Kind.CLOSED)[0].data["why"] == "no_time"
    assert "no time left" in closed.events(Event.Kind.CLOSED)[0].data["reason"]


@pytest.mark.usefixtures("sandbox")
def test_right_program_that_needs_more_time_is_correct_but_slow(session: SessionUnderTest):
    session.ask_and_get(SLOW)
    assert session.row.problem is not None
    type(session.row.problem).objects.update(time_limit=0.1)
    session.row.problem.tests.filter(order__gt=0).delete()  # one test is enough, and slow enough
    request_scores(session.row)
    measure()
    assert figures() == ("TLE", 0, 1, 0, "sample-0", True)


@pytest.mark.usefixtures("sandbox")
def test_method_of_a_functional_problem_is_measured(session: SessionUnderTest):
    session.ask_and_get(
        "```python\nclass Solution:\n    def double(self, number):\n        return 2 * number\n```"
    )
    assert session.row.problem is not None
    signature = Signature("double", ("int",), "int").to_json()
    type(session.row.problem).objects.update(signature=signature)
    request_scores(session.row)
    measure()
    assert figures() == ("AC", 3, 3, 3, "", False)


@pytest.mark.usefixtures("sandbox")
@pytest.mark.django_db(transaction=True)
def test_worker_performs_a_waiting_execution_before_it_goes_on_with_a_score(
    closed: SessionUnderTest, monkeypatch: pytest.MonkeyPatch
):
    assert closed.row.problem is not None
    execution = judging.request_judgement(judging.store_submission(closed.row.problem, PLAIN, "python"))
    measuring, original_grade = threading.get_ident(), judge.grade

    class Queue:
        """The queue of executions: one waits as soon as the score is being measured."""

        waiting: ClassVar[list[str]] = []

        def get_job_ids(self) -> list[str]:
            return self.waiting

    def grade(*arguments: Any, on_test: Callable[[judge.TestResult], None], **options: Any) -> Any:
        if threading.get_ident() != measuring:
            claimed.set()
            graded = original_grade(*arguments, on_test=on_test, **options)
            order.append("execution")
            return graded
        Queue.waiting = [f"judgement-{execution.pk}"]

        def wait_then_pause(result: judge.TestResult) -> None:
            assert claimed.wait(60)
            on_test(result)
            order.append("test of the score")

        return original_grade(*arguments, on_test=wait_then_pause, **options)

    claimed, order = threading.Event(), list[str]()
    monkeypatch.setattr(django_rq, "get_queue", lambda _: Queue())
    monkeypatch.setattr(judge, "grade", grade)
    with judging.performing_executions():  # as the worker does during every other job
        measure(2)
    assert order == ["execution", *["test of the score"] * 3], "the score pauses until the execution ends"
    assert Judgement.objects.get(pk=execution.pk).state == Judgement.State.DONE
    assert figures(2)[0] == "WA"


@pytest.mark.usefixtures("closed")
def test_score_that_loses_every_worker_ends_with_a_fault():
    Judgement.objects.update(attempt=judging.MAXIMUM_ATTEMPTS)
    measure()
    found = score().figures
    assert found is not None
    assert "workers were lost" in found.fault


@pytest.mark.usefixtures("sandbox")
@pytest.mark.usefixtures("closed")
def test_fault_of_the_judge_is_final_after_three_attempts():
    TestCase.objects.filter(name="hidden-1").update(input_hash="f" * 64)
    for attempt in (1, 2, 3):
        assert score(3).figures is None
        measure(3)
        judgement = score(3).judgement
        assert judgement is not None
        assert judgement.attempt == attempt
    found = score(3).figures
    assert found is not None
    assert found.fault


@pytest.mark.usefixtures("sandbox")
def test_researchers_see_scores_and_tutors_and_reviewers_do_not(
    closed: SessionUnderTest, alice: User, rita: User, person: PersonFactory
):
    TestCase.objects.filter(name="hidden-1").update(name="CANARY-TEST")
    measure(2)
    client = Client()
    for user in (alice, rita):
        client.force_login(user)
        assert client.get("/program-scores/").status_code == 403
        for address in (
            f"/sessions/{closed.pk}/",
            "/sessions/",
            "/problems/practice/doubling/",
            f"/trajectories/{closed.pk}/",
            f"/trajectories/{closed.pk}/export.jsonl",
        ):
            content = whole(client.get(address))
            assert "CANARY" not in content, address
            assert "near" not in content.lower().replace("nearest", "").replace('"near_misses": []', ""), (
                address
            )
            assert "program score" not in content.lower(), address
    pushed = json.dumps([event.html for event in tutor_view(closed.refresh()).events])
    assert "CANARY" not in pushed

    client.force_login(person("rosa", Role.RESEARCHER))
    older = client.get("/near-misses/?q=doubl")
    assert (older.status_code, older.headers["Location"]) == (302, "/program-scores/?q=doubl")
    page = client.get("/program-scores/?q=doubl").content.decode()
    assert "CANARY-TEST" in page
    assert "2 of 3" in page
    assert page.count("not judged yet") == 2
    assert "CANARY-TEST" in client.get(f"/trajectories/{closed.pk}/").content.decode()


@pytest.mark.usefixtures("sandbox")
def test_scores_are_exported_and_imported_with_the_trajectory(closed: SessionUnderTest, tmp_path):
    measure(2)

    def exported() -> str:
        out = StringIO()
        call_command("export_trajectories", stdout=out)
        return out.getvalue()

    line = exported()
    [recorded] = json.loads(line)["near_misses"]
    assert (recorded["event"], recorded["generation"], recorded["passed"], recorded["total"]) == (5, 2, 2, 3)
    file = tmp_path / "one.jsonl"
    file.write_text(line)
    closed.row.rule_checks.all()._raw_delete("default")
    ProgramScore.objects.all().delete()
    Reply.objects.all().delete()
    Event.objects.filter(session=closed.pk)._raw_delete("default")
    Session.objects.filter(pk=closed.pk).delete()
    call_command("import_trajectories", str(file), stdout=StringIO())
    again = json.loads(exported())
    assert again["near_misses"] == [recorded]


def test_comments_and_blanks_are_no_change_but_indentation_is():
    before = "for i in range(3):\n    print(i)  # all of them\nprint('#')\n"
    after = "# counts\nfor i in range( 3 ):\n\n    print(i)\nprint('#')"
    assert unchanged(before, after, "python")
    assert not unchanged(before, before.replace("'#'", "'##'"), "python")
    assert not unchanged(before, before.replace("    print(i)", "print(i)"), "python")
    assert unchanged("int main() { /* x */ return 0; } // end", "int main() {\n  return 0;\n}", "cpp")
    assert distance(program_tokens("a b c d", "cpp"), program_tokens("a b x d", "cpp")) == 0.25
