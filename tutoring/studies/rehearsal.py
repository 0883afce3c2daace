"""A rehearsal: simulated tutors hold the sessions of a study through the tutors' pages; the real judge decides.

The requests pass through the site's own views in this process, which also writes the replies and judges the programs,
so no other process is needed.
"""

from __future__ import annotations

import asyncio
import logging
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, cast
from uuid import UUID, uuid4

from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from benchmark.judging import perform
from benchmark.prompts import VisibleProblem
from benchmark.providers import parse_model_spec
from benchmark.providers.worlds import hint_level, read_world, situation_of
from tutoring.arms.policy import AskCode, RemainingBudget, Talk, TutorView, result_of
from tutoring.arms.simulated_tutor import hold, simulated_tutor
from tutoring.models import Arm, Reply, Session, Study
from tutoring.protocols import rules_of_session
from tutoring.replies.streamer import Streamer
from tutoring.sessions.context import SessionContext
from tutoring.sessions.dialogue import messages_of
from tutoring.studies.actions import StudyRefusedError
from tutoring.studies.upkeep import advance_study

LONGEST_WAIT = 300
"""Seconds after which a reply or a verdict that has not arrived ends the rehearsal."""

_POLL_SECONDS = 0.02

_CONSENT = re.compile(rb'name="consent" value="(\w+)"')

_NOTIFYING = (
    "tutoring.notifications",
    "tutoring.replies.streamer",
    "benchmark.judging.requests",
    "benchmark.growth.curves",
)
"""The loggers that warn when the message server is unavailable, which a rehearsal does not need."""


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Keep warnings about an unavailable message server out of the output."""
    loggers = [logging.getLogger(name) for name in _NOTIFYING]
    levels = [one.level for one in loggers]
    for one in loggers:
        one.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for one, level in zip(loggers, levels, strict=True):
            one.setLevel(level)


@contextmanager
def _streamer() -> Iterator[Callable[[], object]]:
    """Run a streamer in a thread; yield the function to call when a reply is queued."""
    loop = asyncio.new_event_loop()
    streamer = Streamer(limit=10)
    serving = loop.create_task(streamer.run())

    def serve() -> None:
        with suppress(asyncio.CancelledError):
            loop.run_until_complete(serving)
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()

    thread = threading.Thread(target=serve, name="streamer of a rehearsal", daemon=True)
    thread.start()
    try:
        yield partial(loop.call_soon_threadsafe, streamer.replies_waiting.set)
    finally:
        loop.call_soon_threadsafe(serving.cancel)
        thread.join(10)


def _wait(is_done: Callable[[], bool], refusal: str) -> None:
    """Wait until `is_done` returns true. Raises StudyRefusedError with the refusal after the longest wait."""
    end = time.monotonic() + LONGEST_WAIT
    while not is_done():
        if time.monotonic() > end:
            raise StudyRefusedError(refusal)
        time.sleep(_POLL_SECONDS)


class TutorClient:
    """The browser of one simulated tutor."""

    def __init__(self, person: User) -> None:
        host = settings.ALLOWED_HOSTS[0].lstrip("*.") or "localhost"
        self._client = Client(SERVER_NAME=host)
        self._client.force_login(person)

    def post(self, name: str, fields: dict[str, Any], **arguments: object) -> HttpResponse:
        """Send the form to the page's address. Raises StudyRefusedError for an error page."""
        address = reverse(name, kwargs=arguments)
        response = cast(
            HttpResponse, self._client.post(address, fields, secure=settings.SESSION_COOKIE_SECURE)
        )
        if response.status_code >= 400:
            raise StudyRefusedError(f"The page {address} responds with status {response.status_code}.")
        return response

    def next_session(self) -> UUID | None:
        """Press “Your next session”, and accept the consent text if it is shown. Return the session, or None."""
        response = self.post("next_session", {})
        if response.status_code == 200 and (consent := _CONSENT.search(response.content)):
            response = self.post("next_session", {"consent": consent[1].decode()})
        part = response.headers.get("Location", "").rstrip("/").rpartition("/")[2]
        try:
            return UUID(part)
        except ValueError:
            return None


@dataclass(frozen=True)
class PageSteps:
    """The steps of one session, each a request of the tutor's page (tutoring.arms.simulated_tutor.SessionSteps)."""

    client: TutorClient
    session_id: UUID
    notify: Callable[[], object]
    states_level: bool = False
    """Whether each message with a text states its level of help, as protocols with `ask_level` ask."""

    def view(self) -> TutorView:
        """Return what the tutor may know, after the reply to the last message has arrived."""
        self._wait_for_reply()
        session = Session.objects.select_related("problem__dataset", "protocol").get(pk=self.session_id)
        context = SessionContext.of(session)
        assert session.problem is not None
        dialogue = tuple(messages_of([event.payload for event in context.events]))
        situation = situation_of(read_world(parse_model_spec(session.model_spec).model), dialogue)
        has_program = situation is not None and situation.has_program
        return TutorView(
            problem=VisibleProblem.of(session.problem),
            language=session.language,
            dialogue=dialogue,
            programs=tuple(reply.code or "" for _, reply in context.programs),
            messages_sent=sum(event.kind == event.Kind.MESSAGE for event in context.events),
            budget=RemainingBudget(context.budget.code_generations_left, context.budget.executions_left),
            program_right=situation.bug is None if situation is not None and has_program else None,
        )

    def _wait_for_reply(self) -> None:
        unfinished = Reply.objects.filter(session=self.session_id, state__in=Reply.UNFINISHED)
        _wait(
            lambda: not unfinished.exists(),
            f"No reply arrived in session {self.session_id} for {LONGEST_WAIT} seconds.",
        )

    def _command(self, name: str, **fields: str) -> None:
        self.client.post(name, {"command": str(uuid4()), **fields}, session_id=self.session_id)

    def send(self, act: Talk | AskCode) -> None:
        """Send the message."""
        mode = "talk" if isinstance(act, Talk) else "code"
        stated = {"level": str(hint_level(act.text))} if self.states_level and act.text.strip() else {}
        self._command("send_message", mode=mode, text=act.text, **stated)
        self.notify()

    def execute(self) -> None:
        """Submit the latest program, and judge it."""
        self._command("execute")
        judgement = Session.objects.values_list("judgement", flat=True).get(pk=self.session_id)
        if judgement is not None:
            perform(judgement)
        # A worker of a running site may have claimed the judgement first.
        _wait(
            lambda: Session.objects.filter(pk=self.session_id, state=Session.State.CLOSED).exists(),
            f"Session {self.session_id} got no verdict for {LONGEST_WAIT} seconds. The judge may be unavailable "
            "(manage.py doctor).",
        )

    def give_up(self, reason: str) -> None:
        """Close the session without an execution."""
        self._command("close_session", why="other", reason=reason)


def refusal_to_rehearse(study: Study) -> str | None:
    """Return why simulated tutors may not hold the sessions of the study, or None."""
    if not study.rehearsal:
        return f"{study} is not a rehearsal. Only a study with `rehearsal: true` in its design is rehearsed."
    if study.state not in Study.OFFERING:
        return f"{study} is {study.state}. Only a frozen or running study is rehearsed."
    for arm in study.arms.filter(kind=Arm.Kind.HUMAN).select_related("model"):
        if parse_model_spec(arm.model.spec).provider != "simulated":
            return (
                f"Arm {arm.name} has the model {arm.model.spec}. Simulated tutors tutor simulated:WORLD only."
            )
    return None


def rehearse(study: Study, level: int, on_session: Callable[[Session], None] = lambda _: None) -> int:
    """Hold every session that the study offers, tutor after tutor in turn; return their number.

    The hints have the level, or that of the protocol's level cap if it is lower. Sessions keep the pace of their
    protocol. Raises StudyRefusedError; a repeated call continues.
    """
    if (refusal := refusal_to_rehearse(study)) is not None:
        raise StudyRefusedError(refusal)
    held = 0
    clients = [TutorClient(person) for person in study.tutors.order_by("username")]
    with _without_warnings(), _streamer() as notify:
        while clients:
            for client in list(clients):
                session_id = client.next_session()
                if session_id is None:
                    clients.remove(client)
                    continue
                session = _hold(client, session_id, notify, level)
                held += 1
                on_session(session)
    advance_study(study.pk)
    return held


def _hold(client: TutorClient, session_id: UUID, notify: Callable[[], object], level: int) -> Session:
    session = Session.objects.select_related("protocol").get(pk=session_id)
    rules = rules_of_session(session)
    level = level if rules.level_cap is None else min(level, rules.level_cap)
    steps = PageSteps(client, session_id, notify, states_level=rules.ask_level != "off")
    world = read_world(parse_model_spec(session.model_spec).model)
    decide = simulated_tutor(world, level=level, verifies=True)
    result_of(hold(decide, steps))
    session.refresh_from_db()
    return session
