"""How near each program was to being right: measured after the end, for researchers, and never for a tutor."""

from __future__ import annotations

import json
from io import StringIO
from uuid import uuid4

import django_rq
import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from accounts.roles import Role
from benchmark.functional import Signature
from tests.tutoring.conftest import PersonFactory
from tests.tutoring.dialogues import RIGHT, WRONG, SessionUnderTest
from tests.tutoring.review.browsing import whole
from tutoring.actions import CloseSession
from tutoring.models import AbandonReason, Event, NearMiss, Reply, Session
from tutoring.scores import near_misses
from tutoring.sessions.conversation import tutor_view
from tutoring.sessions.programs import distance, program_tokens, unchanged

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

COLUMNS = ("verdict", "passed", "total", "passed_prefix", "first_failing", "correct_but_slow")


def columns(near_miss: NearMiss) -> tuple[object, ...]:
    return tuple(getattr(near_miss, column) for column in COLUMNS)


@pytest.fixture
def closed(session: SessionUnderTest) -> SessionUnderTest:
    """A session with two wrong programs and a right one, given up."""
    for text in (WRONG, ONLY_SMALL, RIGHT):
        session.ask_and_get(text)
    assert not NearMiss.objects.exists(), "nothing is measured while the session is open"
    CloseSession(
        session_id=session.pk, person=session.tutor, command=uuid4(), why=AbandonReason.NO_TIME, reason=""
    ).execute()
    return session


def test_programs_are_measured_once_the_session_is_closed(closed: SessionUnderTest):
    rows = list(NearMiss.objects.order_by("generation"))
    assert [row.generation for row in rows] == [1, 2, 3]
    for row in rows:
        near_misses.measure(row.pk)
        near_misses.measure(row.pk)
    rows = list(NearMiss.objects.order_by("generation"))
    assert [columns(row) for row in rows] == [
        ("WA", 1, 3, 0, "sample-0", False),
        ("WA", 2, 3, 1, "hidden-1", False),
        ("AC", 3, 3, 3, "", False),
    ]
    assert [row.attempts for row in rows] == [1, 1, 1], "a second job finds nothing to do"
    assert rows[0].distance_to_previous is None
    assert 0 < rows[0].distance_to_final < rows[1].distance_to_final < 1
    assert rows[2].distance_to_final == 0
    assert closed.events(Event.Kind.CLOSED)[0].data["why"] == "no_time"
    assert "no time left" in closed.events(Event.Kind.CLOSED)[0].data["reason"]


def test_right_program_that_needs_more_time_is_correct_but_slow(session: SessionUnderTest):
    session.ask_and_get(SLOW)
    assert session.row.problem is not None
    type(session.row.problem).objects.update(time_limit=0.1)
    session.row.problem.tests.filter(order__gt=0).delete()  # one test is enough, and slow enough
    near_misses.record_near_misses(session.row)
    near_misses.measure(NearMiss.objects.get().pk)
    assert columns(NearMiss.objects.get()) == ("TLE", 0, 1, 0, "sample-0", True)


def test_method_of_a_functional_problem_is_measured(session: SessionUnderTest):
    session.ask_and_get(
        "```python\nclass Solution:\n    def double(self, number):\n        return 2 * number\n```"
    )
    assert session.row.problem is not None
    signature = Signature("double", ("int",), "int").to_json()
    type(session.row.problem).objects.update(signature=signature)
    near_misses.record_near_misses(session.row)
    near_misses.measure(NearMiss.objects.get().pk)
    assert columns(NearMiss.objects.get()) == ("AC", 3, 3, 3, "", False)


def test_measurement_gives_way_to_an_execution(closed: SessionUnderTest, monkeypatch: pytest.MonkeyPatch):
    class Busy:
        count = 1

    monkeypatch.setattr(django_rq, "get_queue", lambda name: Busy())
    monkeypatch.setattr(near_misses, "_LOOK", 0.01)
    row = NearMiss.objects.filter(generation=2)
    near_misses.measure(row.get().pk)
    assert (row.get().measured_at, row.get().attempts) == (None, 0)
    Busy.count = 0
    near_misses.measure(row.get().pk)
    assert row.get().verdict == "WA"


def test_what_keeps_losing_its_worker_is_given_up(closed: SessionUnderTest):
    row = NearMiss.objects.filter(generation=1)
    row.update(attempts=near_misses.MAXIMUM_ATTEMPTS)
    near_misses.measure(row.get().pk)
    assert "workers were lost" in row.get().fault
    assert row.get().measured_at is not None


def test_researchers_see_near_misses_and_tutors_and_reviewers_do_not(
    closed: SessionUnderTest, alice: User, rita: User, person: PersonFactory
):
    near_misses.measure(NearMiss.objects.get(generation=2).pk)
    NearMiss.objects.update(first_failing="CANARY-TEST", judge_version="CANARY-VERSION")
    client = Client()
    for user in (alice, rita):
        client.force_login(user)
        assert client.get("/near-misses/").status_code == 403
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
    pushed = json.dumps([event.html for event in tutor_view(closed.refresh()).events])
    assert "CANARY" not in pushed

    client.force_login(person("rosa", Role.RESEARCHER))
    page = client.get("/near-misses/?q=doubl").content.decode()
    assert "CANARY-TEST" in page
    assert "2 of 3" in page
    assert page.count("not measured yet") == 2
    assert "CANARY-TEST" in client.get(f"/trajectories/{closed.pk}/").content.decode()


def test_near_misses_travel_with_the_trajectory(closed: SessionUnderTest, tmp_path):
    near_misses.measure(NearMiss.objects.get(generation=2).pk)

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
    NearMiss.objects.all().delete()
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
