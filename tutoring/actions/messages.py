"""The tutor's side of the conversation: start a session, say something, stop a reply, keep a draft."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.utils import timezone

from benchmark.models import Problem
from benchmark.providers import is_scripted, parse_model_spec
from tutoring.actions.checking import check_message
from tutoring.actions.session_action import Refused, SessionAction, Situation, append_event
from tutoring.budgets import Budget
from tutoring.dialogue import opening_prompt, sent_text
from tutoring.doorbell import ring_streamers
from tutoring.models import Draft, Event, Protocol, Reply, Session
from tutoring.protocols import rules_of
from tutoring.roles import Role, has_role

MAXIMUM_MESSAGE = 20_000
"""Characters of one tutor message. A longer one is refused, never cut."""

Mode = Literal["talk", "code"]


def practice_student_knows(problem: Problem) -> bool:
    """Whether the scripted student has something to say about the problem: those that come with Hintbench."""
    return problem.dataset.name == "practice"


@dataclass(frozen=True)
class StartSession:
    """Open a session on a problem, unless the tutor has one open there or has used all of them."""

    person: User
    problem: Problem
    protocol: Protocol
    model_spec: str

    def execute(self) -> Session:
        """The new session. Raises PermissionDenied or Refused."""
        if not has_role(self.person, Role.TUTOR):
            raise PermissionDenied("Only tutors hold sessions.")
        rules = rules_of(self.protocol)
        spec = parse_model_spec(self.model_spec)
        if is_scripted(spec) and not (rules.language == "python" and practice_student_knows(self.problem)):
            raise Refused(
                "The scripted practice student writes Python and knows the practice problems only. Choose a "
                "practice problem and a Python protocol, or ask an operator for a real model (TUTORING_MODEL)."
            )
        with transaction.atomic():
            # The tutor's row is the lock: two tabs must not both find the last session free.
            User.objects.select_for_update().get(pk=self.person.pk)
            earlier = Session.objects.filter(
                tutor=self.person,
                problem=self.problem,
                protocol__name=self.protocol.name,
                model_spec=self.model_spec,
            )
            if earlier.exclude(state=Session.State.CLOSED).exists():
                raise Refused("You have an open session on this problem. Finish it before you start another.")
            number = earlier.count() + 1
            if number > rules.sessions:
                raise Refused(f"All {rules.sessions} sessions on this problem are used.")
            now = timezone.now()
            session = Session.objects.create(
                tutor=self.person,
                problem=self.problem,
                protocol=self.protocol,
                model_spec=self.model_spec,
                language=rules.language,
                number=number,
                opened_at=now,
            )
            data = {
                "prompt": opening_prompt(self.problem, rules.language),
                "problem_hash": self.problem.content_hash,
                "protocol": str(self.protocol),
                "protocol_hash": self.protocol.content_hash,
                "model_spec": self.model_spec,
            }
            append_event(session, Event.Kind.OPENED, data, actor=self.person, at=now)
        return session


def _refuse_unless_conversation_open(situation: Situation) -> None:
    if situation.session.state == Session.State.JUDGING:
        raise Refused("The program is being executed; the session ends with its verdict.")
    if situation.session.state == Session.State.CLOSED:
        raise Refused("This session is closed.")
    if situation.unfinished_reply is not None:
        raise Refused("The model is still replying. Wait for it, or stop it.")
    _refuse_if_generations_used(situation.budget)


def _refuse_if_generations_used(budget: Budget) -> None:
    if budget.code_generations_left == 0:
        raise Refused(
            f"All {budget.code_generations_limit} generations of code are used, so the conversation is over. "
            "Execute the latest program, or close the session."
        )


@dataclass(frozen=True, kw_only=True)
class SendMessage(SessionAction):
    """Say something to the model; `mode` says whether a program is wanted. The streamer writes the reply."""

    mode: Mode
    text: str

    def perform(self, session: Session) -> None:
        situation = Situation.of(session)
        _refuse_unless_conversation_open(situation)
        if situation.last_reply_failed:
            raise Refused("The model's last reply failed. Ask for it again before you say something new.")
        if len(self.text) > MAXIMUM_MESSAGE:
            raise Refused(f"The message has {len(self.text)} characters; at most {MAXIMUM_MESSAGE} are sent.")
        first = not any(event.kind == Event.Kind.MESSAGE for event in situation.events)
        if not self.text.strip() and not (first and self.mode == "code"):
            raise Refused("The message is empty.")
        data: dict[str, Any] = {
            "mode": self.mode,
            "text": self.text,
            "sent": sent_text(self.text.strip(), self.mode, session.language),
        }
        if (check := check_message(situation, self.text)) is not None:
            data["check"] = check
        message = append_event(session, Event.Kind.MESSAGE, data, actor=self.person, command=self.command)
        Draft.objects.filter(session=session).delete()
        _queue_reply(session, message)


@dataclass(frozen=True, kw_only=True)
class AskAgain(SessionAction):
    """Let the model answer the last message again after its provider failed. A failure costs nothing."""

    def perform(self, session: Session) -> None:
        situation = Situation.of(session)
        _refuse_unless_conversation_open(situation)
        if not situation.last_reply_failed:
            raise Refused("The last reply did not fail.")
        message = [event for event in situation.events if event.kind == Event.Kind.MESSAGE][-1]
        data = {"message": message.seq}
        append_event(session, Event.Kind.ASKED_AGAIN, data, actor=self.person, command=self.command)
        _queue_reply(session, message)


def _queue_reply(session: Session, message: Event) -> None:
    Reply.objects.create(session=session, message=message)
    transaction.on_commit(ring_streamers)


@dataclass(frozen=True, kw_only=True)
class StopReply(SessionAction):
    """Stop the reply that is being written. It counts as a generation when it already holds a program."""

    reply_id: int

    def perform(self, session: Session) -> None:
        situation = Situation.of(session)
        reply = situation.unfinished_reply
        if reply is None or reply.pk != self.reply_id:
            raise Refused("That reply is finished.")
        budget = situation.budget
        if budget.stops_used >= budget.stops_limit:
            raise Refused(f"{budget.stops_limit} replies were stopped in this session; no more can be.")
        if not reply.stop_requested:
            reply.stop_requested = True
            reply.save(update_fields=["stop_requested"])
            data = {"reply": reply.pk}
            append_event(session, Event.Kind.STOP, data, actor=self.person, command=self.command)


@dataclass(frozen=True)
class SaveDraft:
    """Keep what the tutor has typed. Drafts are the tutor's own: no event, no budget."""

    session_id: UUID
    person: User
    text: str

    def execute(self) -> None:
        """Raises Session.DoesNotExist when it is not the tutor's session, Refused when it is too long."""
        session = Session.objects.get(pk=self.session_id, tutor=self.person)
        if len(self.text) > 2 * MAXIMUM_MESSAGE:
            raise Refused("The draft is too long to be kept.")
        Draft.objects.update_or_create(session=session, defaults={"text": self.text})
