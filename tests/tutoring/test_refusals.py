"""Page, socket and actions give the same answer to whether a command is allowed, in every state of a session."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client
from django.utils.html import escape
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from accounts.roles import Role
from benchmark.models import Problem
from tests.tutoring.dialogues import TALK, SessionUnderTest, start
from tests.tutoring.review.browsing import client_of
from tests.tutoring.test_budgets import move
from tutoring.actions import (
    AskAgain,
    CloseSession,
    Execute,
    InsertDraft,
    RequestDraft,
    RunSamples,
    SendMessage,
    StopReply,
)
from tutoring.actions.base import SessionAction
from tutoring.protocols import PRESETS, freeze, rules_of
from tutoring.replies.endings import fail_reply
from tutoring.replies.model_answer import ModelAnswer
from tutoring.sessions.context import RefusedError
from tutoring.sessions.conversation import PageCommand, PageView, session_for_tutor, tutor_view
from tutoring.views.socket import Cursor, SessionConsumer


@pytest.mark.parametrize("digits", [30, 5_000])
def test_numbers_that_no_row_has_are_refused(
    session: SessionUnderTest, person: Callable[..., User], digits: int
):
    """Python reads at most 4,300 digits, and a column of a database holds far fewer."""
    number = "9" * digits
    reader = client_of(person("reader", Role.REVIEWER, Role.RESEARCHER, Role.ADMIN))
    tutor = client_of(session.tutor)
    pages = [
        (tutor, f"/sessions/{session.pk}/programs/?old={number}&new={number}"),
        (reader, f"/review/sessions/{session.pk}/?rule_set={number}"),
        (reader, f"/review/hints/?placement={number}"),
        (reader, f"/effort/?study={number}"),
    ]
    assert [client.get(address).status_code for client, address in pages] == [404] * len(pages)
    fields = {"command": str(uuid4()), "mode": "talk", "text": "Hm.", "level": number}
    assert tutor.post(f"/sessions/{session.pk}/send/", fields).status_code == 400


MOVES = st.lists(
    st.sampled_from(
        ["talk", "talk with code", "code", "stop", "fail", "samples", "execute", "fault", "close", "debrief"]
    ),
    max_size=8,
)
LAST = st.sampled_from(["nothing", "message", "failed message", "execution", "debrief", "failed debrief"])
"""The last move leaves the session as it is, with an unfinished or failed reply, or while it is judged."""


def last_move(session: SessionUnderTest, name: str) -> None:
    mode: Any = "debrief" if "debrief" in name else "talk"
    if name == "execution":
        session.execute()
    elif name != "nothing":
        session.say(mode=mode)
        if name.startswith("failed"):
            fail_reply(session.claim(), kind="server", message="broken", answer=ModelAnswer())


def any_move(session: SessionUnderTest, name: str) -> None:
    if name == "close":
        close_session(session).execute()
    elif name == "samples":
        RunSamples(session_id=session.pk, person=session.tutor, command=uuid4()).execute()
    elif name == "debrief":
        session.say(mode="debrief")
        session.reply(TALK)
    else:
        move(session, name)


def close_session(session: SessionUnderTest) -> CloseSession:
    return CloseSession(session_id=session.pk, person=session.tutor, command=uuid4(), reason="stuck")


def actions(session: SessionUnderTest, view: PageView, send_mode: Any) -> dict[PageCommand, SessionAction]:
    """What the server does for each command of the page."""
    about: dict[str, Any] = {"session_id": session.pk, "person": session.tutor, "command": uuid4()}
    reply = view.active_reply.id if view.active_reply else 0
    return {
        "send": SendMessage(**about, mode=send_mode, text="Go on."),
        "code": SendMessage(**about, mode="code", text="Go on."),
        "ask_again": AskAgain(**about),
        "stop": StopReply(**about, reply_id=reply),
        "run_samples": RunSamples(**about),
        "request_draft": RequestDraft(**about),
        "insert_draft": InsertDraft(**about),
        "execute": Execute(**about),
        "close": close_session(session),
    }


def refusal_of(action: SessionAction) -> str | None:
    """The sentence with which the action is refused; nothing stays changed."""
    with transaction.atomic():
        try:
            action.execute()
        except RefusedError as refused:
            return str(refused)
        finally:
            transaction.set_rollback(True)
    return None


def allowed_on_page(page: str) -> dict[str, bool]:
    """For each command of the page, whether its button is enabled or its form is shown."""
    controls = re.findall(r'<(?:button|form)\b[^>]*data-(?:may|shown)="(\w+)"([^>]*)>', page)
    return {name: not re.search(r"\b(disabled|hidden)\b", attributes) for name, attributes in controls}


def status_from_socket(session: SessionUnderTest) -> dict[str, Any]:
    consumer = SessionConsumer()
    consumer.session_id, consumer.cursor = session.pk, Cursor()
    assert session.row.protocol is not None
    consumer.session = session_for_tutor(session.pk, session.tutor.pk)
    consumer.user, consumer.rules = session.tutor, rules_of(session.row.protocol)
    _, is_changed = consumer._updates()
    assert is_changed
    return consumer._status()


@pytest.mark.slow
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(moves=MOVES, last=LAST, debrief=st.booleans())
@example(moves=["code"] * 5, last="nothing", debrief=True)
@example(moves=["code"], last="execution", debrief=True)
@example(moves=["code", "samples"], last="execution", debrief=True)
@example(moves=["stop"] * 3, last="message", debrief=True)
@example(moves=["code", "execute"], last="debrief", debrief=True)
@example(moves=["code", "execute"], last="failed debrief", debrief=True)
@example(moves=["code", "execute"], last="nothing", debrief=False)
@example(moves=["code"], last="failed message", debrief=True)
@pytest.mark.django_db
def test_page_socket_and_actions_agree(
    moves: list[str],
    last: str,
    debrief: bool,
    person: Callable[..., Any],
    doubling: Problem,
):
    with transaction.atomic():
        tutor = person(f"t-{uuid4().hex[:8]}", Role.TUTOR)
        held_under = freeze(
            "other", PRESETS["usaco-2024"].with_settings(debrief=debrief, sample_runs=1, model_drafts=1)
        )
        session = SessionUnderTest(start(tutor, doubling, held_under), tutor)
        for name in moves:
            with contextlib.suppress(RefusedError):
                any_move(session, name)
        with contextlib.suppress(RefusedError):
            last_move(session, last)
        session.refresh()
        view = tutor_view(session.row)
        client = Client()
        client.force_login(tutor)
        page = client.get(f"/sessions/{session.pk}/").content.decode()
        send = re.search(r'id="send"[^>]* value="(\w+)"', page)
        assert send is not None
        for name, action in actions(session, view, send[1]).items():
            assert refusal_of(action) == view.refusals[name], name
        assert view.may == status_from_socket(session)["may"]
        # A draft has its own button, which no page without a draft contains.
        assert allowed_on_page(page) | {"insert_draft": False} == view.may
        if view.status.state == "open" and not (
            view.active_reply or view.may["ask_again"] or view.may["send"]
        ):
            assert escape(view.refusals["send"]) in page
        transaction.set_rollback(True)
