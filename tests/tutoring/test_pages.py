"""Permissions of the pages of tutors, and the data that they may contain."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group, User
from django.test import AsyncClient, Client, override_settings
from django.utils.html import escape

from accounts.roles import Role
from benchmark.model_calls import catalogue
from benchmark.models import LanguageModel, Problem
from benchmark.providers import Parameters, parse_model_spec
from tests.tutoring.conftest import PersonFactory
from tests.tutoring.dialogues import RIGHT, TALK, WRONG, SessionUnderTest
from tutoring.actions import AcceptConsent
from tutoring.models import Consent, Draft, Event, Protocol, Session
from tutoring.protocols import consent_hash, rules_of
from tutoring.replies.claims import claim_replies
from tutoring.sessions.conversation import EventView, LatestProgram, PageView, SessionStatus, tutor_view

AS_PAGE = {"Accept": "application/json"}

HIDDEN_FROM_TUTORS = ("hidden-model-name", "openai", "request-1", "987654", "input_tokens", "latency")


def client_of(user: User | None) -> Client:
    client = Client()
    if user is not None:
        client.force_login(user)
    return client


@pytest.fixture
def people(person: PersonFactory, alice: User, bob: User, rita: User, ada: User) -> dict[str, User | None]:
    return {
        "nobody": None,
        "roleless": person("nora"),
        "tutor": alice,
        "other tutor": bob,
        "reviewer": rita,
        "researcher": person("rosa", Role.RESEARCHER),
        "admin": ada,
    }


@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("/sessions/", {"tutor", "other tutor", "admin"}),
        ("/sessions/{session}/", {"tutor"}),
        ("/trajectories/", {"reviewer", "researcher", "admin"}),
        ("/trajectories/export.jsonl", {"reviewer", "researcher", "admin"}),
        ("/trajectories/{session}/", {"reviewer", "researcher", "admin"}),
        ("/trajectories/{session}/export.jsonl", {"reviewer", "researcher", "admin"}),
        ("/problems/", {"tutor", "other tutor", "reviewer", "researcher", "admin"}),
        ("/problems/practice/doubling/", {"tutor", "other tutor", "reviewer", "researcher", "admin"}),
    ],
)
def test_pages_open_for_their_roles_only(
    people: dict[str, User | None], session: SessionUnderTest, address: str, allowed: set[str]
):
    for name, user in people.items():
        status = client_of(user).get(address.format(session=session.pk)).status_code
        expected = {200} if name in allowed else {302} if user is None else {403, 404}
        assert status in expected, f"{name} got {status}"


@pytest.mark.parametrize(
    "address",
    [
        "/trajectories/?q=%00", "/trajectories/?outcome=%00", "/problems/?q=a%00b", "/problems/practice/a%00b/",
        "/sessions/?state=%00", "/program-scores/?dataset=%00",
    ],
)  # fmt: skip
async def test_an_address_with_a_nul_is_refused(address: str):
    for answer in (Client().get(address), await AsyncClient().get(address)):
        assert answer.status_code == 400
        assert "The address contains a NUL character" in answer.content.decode()


@pytest.mark.parametrize("action", ["send", "again", "stop", "execute", "close", "draft"])
def test_commands_are_for_the_sessions_own_tutor(
    people: dict[str, User | None], session: SessionUnderTest, action: str
):
    form = {"command": str(uuid4()), "mode": "code", "text": "Hello", "reply": "1", "reason": "stuck"}
    for name in ("nobody", "roleless", "other tutor", "reviewer", "researcher", "admin"):
        client = client_of(people[name])
        status = client.post(f"/sessions/{session.pk}/{action}/", form).status_code
        assert status in ({302} if name == "nobody" else {403, 404}), f"{name} got {status}"
        assert client.get(f"/sessions/{session.pk}/{action}/").status_code != 200
    assert [event.kind for event in session.events()] == [Event.Kind.OPENED]
    assert not Draft.objects.exists()


def test_only_admins_may_invalidate(people: dict[str, User | None], session: SessionUnderTest):
    form = {"command": str(uuid4()), "reason": "told the answer"}
    for name, user in people.items():
        if name != "admin":
            client_of(user).post(f"/trajectories/{session.pk}/invalidate/", form)
            assert not session.refresh().invalidated, name
    client_of(people["admin"]).post(f"/trajectories/{session.pk}/invalidate/", form)
    assert session.refresh().invalidated


def test_command_answers_json_to_the_page_and_redirects_a_plain_form(alice: User, session: SessionUnderTest):
    client = client_of(alice)
    form = {"command": str(uuid4()), "mode": "talk", "text": "Hello"}
    answer = client.post(f"/sessions/{session.pk}/send/", form, headers=AS_PAGE)
    assert (answer.status_code, answer.json()) == (200, {"accepted": True})
    form["command"] = str(uuid4())
    answer = client.post(f"/sessions/{session.pk}/send/", form, headers=AS_PAGE)
    assert answer.status_code == 409
    assert "still replying" in answer.json()["message"]
    form["command"] = str(uuid4())
    page = client.post(f"/sessions/{session.pk}/send/", form, follow=True)
    assert "still replying" in page.content.decode()


@pytest.mark.parametrize(
    ("action", "form"),
    [
        ("send", {"mode": "code", "text": "x"}),
        ("send", {"command": "not-a-uuid", "mode": "code", "text": "x"}),
        ("send", {"command": str(uuid4()), "mode": "sing", "text": "x"}),
        ("stop", {"command": str(uuid4()), "reply": "first"}),
        ("send", {"command": str(uuid4()), "mode": "code", "text": "a\0b"}),
        ("draft", {"text": "a\0b"}),
    ],
)
def test_malformed_commands_are_refused(
    alice: User, session: SessionUnderTest, action: str, form: dict[str, str]
):
    client = client_of(alice)
    assert client.post(f"/sessions/{session.pk}/{action}/", form).status_code == 400
    answer = client.post(f"/sessions/{session.pk}/{action}/", form, headers=AS_PAGE)
    assert (answer.status_code, answer.json()["accepted"]) == (400, False)
    assert "field" in answer.json()["message"]
    assert [event.kind for event in session.events()] == [Event.Kind.OPENED]


def test_start_session_opens_one_and_refuses_a_second(alice: User, doubling: Problem, protocol: Protocol):
    client = client_of(alice)
    form = {"problem": doubling.pk, "protocol": protocol.pk}
    page = client.post("/sessions/start/", form, follow=True)
    assert "What is recorded" in page.content.decode(), "the consent is required first"
    assert Session.objects.count() == 0
    client.post("/sessions/start/", form | {"consent": "0" * 64})
    assert not Consent.objects.exists(), "another text is not accepted"
    page = client.post("/sessions/start/", form | {"consent": consent_hash(rules_of(protocol))}, follow=True)
    assert page.status_code == 200
    assert Session.objects.count() == 1
    given = Consent.objects.get()
    assert (given.person, given.protocol) == (alice, protocol)
    opened = Event.objects.get(kind=Event.Kind.OPENED).data["consent"]
    assert opened == {"text_hash": given.text_hash, "accepted_at": given.accepted_at.isoformat()}
    again = client.post("/sessions/start/", form, follow=True)
    assert "You have an open session" in again.content.decode()
    assert Session.objects.count() == 1
    assert client.post("/sessions/start/", {"problem": "x", "protocol": "y"}).status_code == 400
    assert client.post("/sessions/start/", {"problem": 0, "protocol": protocol.pk}).status_code == 404


def test_page_says_once_what_is_left_after_the_last_generation(alice: User, session: SessionUnderTest):
    for _ in range(5):
        session.ask_and_get(WRONG)
    page = client_of(alice).get(f"/sessions/{session.pk}/").content.decode()
    sentence = (
        "All 5 generations of code are used. Submit the latest program for judging, or close the session."
    )
    assert sentence in page
    assert page.count("or close the session") == 1


def test_draft_is_kept_until_it_is_sent(alice: User, session: SessionUnderTest):
    client = client_of(alice)
    client.post(f"/sessions/{session.pk}/draft/", {"text": "Half a sentence", "revision": 0})
    assert "Half a sentence" in client.get(f"/sessions/{session.pk}/").content.decode()
    form = {"command": str(uuid4()), "mode": "talk", "text": "Half a sentence, finished.", "draft": 1}
    client.post(f"/sessions/{session.pk}/send/", form)
    assert Draft.objects.get().text == ""


def test_admins_do_not_read_unsent_text(ada: User, session: SessionUnderTest):
    draft = Draft.objects.create(session=session.row, text="UNSENT-TEXT")
    User.objects.filter(pk=ada.pk).update(is_staff=True, is_superuser=True)
    client = client_of(User.objects.get(pk=ada.pk))
    for address in ("/admin/tutoring/draft/", f"/admin/tutoring/draft/{draft.pk}/change/"):
        page = client.get(address)
        assert page.status_code == 200
        assert "UNSENT-TEXT" not in page.content.decode(), address


def test_draft_is_not_written_over_another_that_the_page_has_not_read(alice: User, session: SessionUnderTest):
    """Drafts of one tutor on two devices that opened the same page."""
    client = client_of(alice)

    def save(text: str, revision: int) -> dict[str, Any]:
        fields = {"text": text, "revision": revision}
        answer: dict[str, Any] = client.post(f"/sessions/{session.pk}/draft/", fields, headers=AS_PAGE).json()
        return answer

    assert save("Written at home", 0) == {"accepted": True, "revision": 1}
    refused = save("Written at work", 0)
    assert (refused["accepted"], refused["draft"]) == (False, {"text": "Written at home", "revision": 1})
    assert Draft.objects.get().text == "Written at home"
    assert save("Written at home", 0)["accepted"], "the same text may be saved again after a lost response"
    # Sending the text of the second machine keeps the text of the first.
    form = {"command": str(uuid4()), "mode": "talk", "text": "Written at work", "draft": 0}
    assert client.post(f"/sessions/{session.pk}/send/", form, headers=AS_PAGE).json() == {"accepted": True}
    page = client.get(f"/sessions/{session.pk}/").content.decode()
    assert "Written at home</textarea>" in page
    assert 'name="draft" value="2"' in page
    assert save("", 2)["accepted"]
    assert save("Over an empty field nothing is lost", 0)["accepted"]


@pytest.mark.usefixtures("sandbox")
def test_blind_tutors_page_and_view_hold_nothing_hidden(alice: User, session: SessionUnderTest):
    session.ask_and_get(WRONG)
    session.say()
    session.reply(TALK)
    session.ask_and_get(RIGHT)
    session.execute()
    session.judge()
    page = client_of(alice).get(f"/sessions/{session.pk}/").content.decode()
    pushed = json.dumps([event.html for event in tutor_view(session.row).events])
    for text in (page, pushed):
        for secret in HIDDEN_FROM_TUTORS:
            assert secret not in text, secret
    assert "SECRET-ANALYSIS" in page, "tutors see the official analysis"
    assert re.search(r"\d&nbsp;s of CPU time, \d+&nbsp;MiB", page), "tutors see the limits"


@pytest.mark.slow
def test_no_page_of_a_tutor_names_the_model_that_an_admin_chose(
    alice: User, doubling: Problem, protocol: Protocol
):
    row = catalogue.add(
        LanguageModel(
            label="hidden-label",
            spec="openai:hidden-model-name",
            parameters={"temperature": 0.2},
            for_sessions=True,
        )
    )
    client = client_of(alice)
    start_page = client.get(doubling.get_absolute_url()).content.decode()
    AcceptConsent(alice, protocol, consent_hash(rules_of(protocol))).execute()
    answer = client.post("/sessions/start/", {"problem": doubling.pk, "protocol": protocol.pk}, follow=True)
    started = Session.objects.get()
    assert (started.model, started.model_spec) == (row, "openai:hidden-model-name")
    row.refresh_from_db()
    assert row.frozen_at is not None
    session = SessionUnderTest(started, alice)
    session.ask_and_get(RIGHT)
    page = client.get(f"/sessions/{started.pk}/").content.decode()
    checked = client.post(
        f"/sessions/{started.pk}/check/", {"mode": "talk", "text": "Use a heap."}
    ).content.decode()
    listed = client.get("/sessions/").content.decode()
    pushed = json.dumps([event.html for event in tutor_view(started).events])
    session.say("Go on.", mode="talk")
    [claimed] = claim_replies(1)
    assert claimed.parameters == Parameters(temperature=0.2), "the streamer sends the row's parameters"
    for text in (start_page, answer.content.decode(), page, checked, listed, pushed):
        for secret in ("hidden-label", *HIDDEN_FROM_TUTORS):
            assert secret not in text, secret
    LanguageModel.objects.update(active=False)
    with override_settings(TUTORING_MODEL="openai:hidden-model-name"):
        catalogue.model_for(parse_model_spec("openai:hidden-model-name"), Parameters())
        LanguageModel.objects.update(active=False)
        refused = client.post(
            "/sessions/start/", {"problem": doubling.pk, "protocol": protocol.pk}, follow=True
        )
    assert "No model is available for sessions now." in refused.content.decode()
    assert "hidden-model-name" not in refused.content.decode()


@pytest.mark.usefixtures("sandbox")
def test_tutors_serialiser_has_a_closed_set_of_keys(session: SessionUnderTest):
    session.ask_and_get(RIGHT)
    session.execute()
    session.judge()
    view = tutor_view(session.row)
    keys = {event.kind: set(event.fields) for event in view.events}
    assert keys == {
        "opened": {"samples_only"},
        "message": {"mode", "text", "html", "debrief", "level", "draft_use"},
        "reply": {
            "text",
            "html",
            "generation",
            "unsolicited",
            "hidden",
            "masked",
            "stopped",
            "cut",
            "empty",
            "refused",
            "debrief",
        },
        "execution": {"generation"},
        "verdict": {"solved", "verdict", "meaning", "samples_only"},
        "closed": {"reason", "outcome"},
    }
    assert {field.name for field in fields(EventView)} == {"seq", "kind", "at", "minutes", "fields"}
    assert {field.name for field in fields(SessionStatus)} == {"state", "outcome", "invalidated"}
    assert {field.name for field in fields(LatestProgram)} == {
        "generation",
        "html",
        "previous",
        "programs",
        "unchanged",
        "diff",
    }
    assert {field.name for field in fields(PageView)} == {
        "id",
        "number",
        "opened_at",
        "status",
        "problem",
        "rules",
        "budget",
        "events",
        "last_seq",
        "active_reply",
        "wait",
        "latest_program",
        "draft",
        "draft_revision",
        "scripted",
        "refusals",
        "fresh",
        "debriefing",
        "needs_operator",
        "waiting",
        "outage",
        "draft_underway",
    }


def test_model_output_cannot_script_the_page(alice: User, session: SessionUnderTest):
    session.say()
    session.reply(
        '<script>alert(1)</script> <img src="https://evil.example/x.png" onerror="x()"> [a](javascript:x)'
    )
    page = client_of(alice).get(f"/sessions/{session.pk}/").content.decode()
    assert "<script>alert" not in page
    assert "<img" not in page.split('data-kind="reply"')[1].split("</article>")[0]
    assert "javascript:x" not in page or 'href="javascript:' not in page


def test_reviewer_who_tutors_does_not_read_their_own_record_which_names_the_model(
    alice: User, session: SessionUnderTest
):
    alice.groups.add(Group.objects.get(name=Role.REVIEWER))
    client = client_of(alice)
    for address in ("", "export.jsonl", "page.html"):
        assert client.get(f"/trajectories/{session.pk}/{address}").status_code == 404, address
    assert str(session.pk) not in client.get("/trajectories/").content.decode()


@pytest.mark.usefixtures("sandbox")
def test_trajectory_page_shows_the_whole_record(rita: User, session: SessionUnderTest):
    session.ask_and_get(RIGHT)
    session.execute()
    session.judge()
    page = client_of(rita).get(f"/trajectories/{session.pk}/").content.decode()
    for shown in ("hidden-model-name", "AC", "hidden-1", "usaco-2024"):
        assert shown in page, shown
    assert "987654" not in page, "hidden data is never shown"
    prompt = session.events(Event.Kind.OPENED)[0].data["prompt"]
    assert escape(prompt) in page, "as the model gets it, line by line"
    listed = client_of(rita).get("/trajectories/?outcome=solved&q=doubl").content.decode()
    assert str(session.pk) in listed
    assert str(session.pk) not in client_of(rita).get("/trajectories/?outcome=abandoned").content.decode()
