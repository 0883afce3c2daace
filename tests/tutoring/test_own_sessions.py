"""The tutor's own sessions: the list with open ones first, its filters, and the export of what the pages show."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from benchmark.models import Problem
from tests.tutoring.dialogues import RIGHT, TALK, WRONG, SessionUnderTest, join_study, start
from tests.tutoring.review.browsing import client_of, whole
from tests.tutoring.test_pages import HIDDEN_FROM_TUTORS
from tutoring.models import PrivateNote, Protocol, Session, Study
from tutoring.protocols import PRESETS
from tutoring.protocols import freeze as freeze_protocol


def listed(client: Client, query: str = "") -> list[str]:
    """Return the ids of the sessions in the order of the page."""
    page = client.get(f"/sessions/?{query}").content.decode()
    return re.findall(r'class="row-link" href="/sessions/([0-9a-f-]+)/"', page)


def exported(client: Client) -> list[dict[str, Any]]:
    answer = client.get("/sessions/export.jsonl")
    assert answer.status_code == 200
    return [json.loads(line) for line in whole(answer).splitlines()]


def test_open_sessions_come_first_and_filters_count(
    alice: User, bob: User, doubling: Problem, protocol: Protocol
):
    first = start(alice, doubling, protocol)
    others = {}
    for outcome in ("solved", "not_solved", "abandoned"):
        others[outcome] = start(alice, doubling, protocol, f"openai:{outcome}")
        Session.objects.filter(pk=others[outcome].pk).update(
            state="closed", outcome=outcome, closed_at=timezone.now() + timedelta(minutes=83)
        )
    blind = freeze_protocol("blind", PRESETS["usaco-2024"].with_settings(title="Blind", tutor_sees="nothing"))
    hidden = start(alice, doubling, blind)
    Session.objects.filter(pk=hidden.pk).update(state="closed", outcome="solved")
    start(bob, doubling, protocol)
    client = client_of(alice)
    order = [hidden, others["abandoned"], others["not_solved"], others["solved"]]
    assert listed(client) == [str(one.pk) for one in (first, *order)]
    assert listed(client, "status=solved") == [str(others["solved"].pk)]
    assert listed(client, "status=closed") == [str(hidden.pk)], "the filter does not tell a hidden outcome"
    assert listed(client, "status=open&text=doub") == [str(first.pk)]
    assert listed(client, "text=nothing") == []
    page = client.get("/sessions/").content.decode()
    counts = re.findall(r'<span class="status (\w+)">[^<]+</span> <span class="count">(\d+)</span>', page)
    assert dict(counts) == dict.fromkeys(("open", "solved", "not_solved", "abandoned", "closed"), "1")
    assert "1 h 23 min" in page


def test_protocol_of_a_session_of_an_unfinished_study_is_hidden(alice: User, session: SessionUnderTest):
    addresses = ("/sessions/", "/problems/practice/doubling/", "/sessions/export.jsonl")
    name = str(session.row.protocol)
    join_study(session.row, alice)
    client = client_of(alice)
    for address in addresses:
        assert name.split(maxsplit=1)[0] not in whole(client.get(address)), address
    assert "hidden during the study" in whole(client.get("/sessions/"))
    Study.objects.update(state=Study.State.CLOSED)
    for address in addresses:
        assert name.split(maxsplit=1)[0] in whole(client.get(address)), address


@pytest.mark.usefixtures("sandbox")
def test_export_holds_what_the_pages_show_and_no_more(alice: User, bob: User, session: SessionUnderTest):
    session.ask_and_get(WRONG)
    session.say("Look at the sample.")
    session.reply(TALK)
    session.ask_and_get(RIGHT)
    session.execute()
    session.judge()
    problem = session.row.problem
    assert problem is not None
    PrivateNote.objects.create(person=alice, problem=problem, text="Remember doubling.")
    PrivateNote.objects.create(person=bob, problem=problem, text="A note of Bob.")
    record, note = exported(client_of(alice))
    text = json.dumps([record, note])
    for secret in ("A note of Bob", "html", *HIDDEN_FROM_TUTORS):
        assert secret not in text, secret
    assert (record["kind"], record["problem"], record["state"], record["outcome"]) == (
        "session",
        "practice/doubling",
        "closed",
        "solved",
    )
    kinds = [event["kind"] for event in record["events"]]
    assert kinds == ["opened", *("message", "reply") * 3, "execution", "verdict", "closed"]
    assert record["events"][4]["text"] == TALK
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d\+00:00", event["at"]) for event in record["events"])
    assert (note["kind"], note["text"]) == ("note", "Remember doubling.")
    assert exported(client_of(bob)) == [
        {
            "kind": "note",
            "problem": "practice/doubling",
            "text": "A note of Bob.",
            "saved_at": PrivateNote.objects.get(person=bob).saved_at.isoformat(),
        }
    ]


def test_clock_times_are_whole_minutes(alice: User, session: SessionUnderTest):
    session.say("Hello")
    Session.objects.filter(pk=session.pk).update(opened_at=timezone.now() - timedelta(minutes=12, seconds=30))
    page = client_of(alice).get(f"/sessions/{session.pk}/").content.decode()
    assert '<span title="12 minutes after the start">+12 min</span>' in page
    times = re.findall(r'<time datetime="([^"]+)" data-clock>', page)
    assert times
    assert all(re.search(r"T\d\d:\d\d:00\+", one) for one in times[1:]), "seconds tell how fast the model is"


def test_any_two_programs_are_compared_by_their_tutor_only(
    alice: User, bob: User, rita: User, session: SessionUnderTest
):
    for program in (WRONG, RIGHT, WRONG.replace("3", "5")):
        session.ask_and_get(program)
    client = client_of(alice)
    address = f"/sessions/{session.pk}/programs/"
    page = client.get(f"{address}?old=1&new=3").content.decode()
    assert re.search(r"print\(3 .*\n?.*print\(5 ", page, re.S)
    assert "generation 2" in page
    assert 'id="comparison-form"' in client.get(f"/sessions/{session.pk}/").content.decode()
    for query in ("", "?old=1", "?old=0&new=1", "?old=1&new=4", "?old=x&new=1"):
        assert client.get(f"{address}{query}").status_code == 404, query
    assert client_of(bob).get(f"{address}?old=1&new=2").status_code == 404
    assert client_of(rita).get(f"{address}?old=1&new=2").status_code == 403
    assert client.get(f"/sessions/{uuid4()}/programs/?old=1&new=2").status_code == 404
