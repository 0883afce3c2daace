"""The tutor's side of the conversation: start a session, say something, stop a reply, keep a draft."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from accounts.roles import Role, has_role
from benchmark.models import Problem
from benchmark.providers import is_scripted, parse_model_spec
from tutoring.checks.checking import check_message
from tutoring.models import DEBRIEF, Consent, Draft, Event, Protocol, Session
from tutoring.notifications import ring_streamers
from tutoring.protocols import consent_hash, rules_of
from tutoring.sessions.budgets import Budget
from tutoring.sessions.dialogue import opening_prompt, sent_text
from tutoring.sessions.session_action import (
    Refused,
    SessionAction,
    Situation,
    append_event,
    phase_of,
    queue_reply,
)

MAXIMUM_MESSAGE = 20_000
"""Characters of one tutor message. A longer one is refused, never cut."""

Mode = Literal["talk", "code", "debrief"]
"""Talking, asking for a program, and talking after the end, which is another thing lest a late page do it unawares."""


PRACTICE_STUDENT = "practice:student"
"""The model of the training, whichever the site tutors otherwise."""


def practice_student_knows(problem: Problem) -> bool:
    """Whether the scripted student has something to say about the problem: those that come with Hintbench."""
    return problem.dataset.name == "practice"


class ConsentMissing(Refused):
    """The tutor has not agreed to the protocol's consent text, in the version that holds now."""


def consent_of(person: User, protocol: Protocol) -> Consent | None:
    """What the person agreed to under this protocol, however old, if its text is still the same."""
    text_hash = consent_hash(rules_of(protocol))
    return Consent.objects.filter(person=person, protocol__name=protocol.name, text_hash=text_hash).first()


@dataclass(frozen=True)
class AcceptConsent:
    """Record that a tutor agrees to a protocol's consent text in the version they have read. It may be repeated."""

    person: User
    protocol: Protocol
    text_hash: str

    def execute(self) -> Consent:
        """Raises PermissionDenied, or Refused when the protocol holds another text."""
        if not has_role(self.person, Role.TUTOR):
            raise PermissionDenied("Only tutors hold sessions.")
        if self.text_hash != consent_hash(rules_of(self.protocol)):
            raise Refused("The text has changed since you read it. Please read it again.")
        consent, _ = Consent.objects.get_or_create(
            person=self.person, protocol=self.protocol, text_hash=self.text_hash
        )
        return consent


@dataclass(frozen=True)
class StartSession:
    """Open a session on a problem, unless the tutor has one open there or has used all of them."""

    person: User
    problem: Problem
    protocol: Protocol
    model_spec: str

    def execute(self) -> Session:
        """The new session. Raises PermissionDenied, ConsentMissing or Refused."""
        if not has_role(self.person, Role.TUTOR):
            raise PermissionDenied("Only tutors hold sessions.")
        rules = rules_of(self.protocol)
        spec = parse_model_spec(self.model_spec)
        if is_scripted(spec) and not (rules.language == "python" and practice_student_knows(self.problem)):
            raise Refused(
                "The scripted practice student writes Python and knows the practice problems only. Choose a "
                "practice problem and a Python protocol, or ask an operator for a real model (TUTORING_MODEL)."
            )
        consent = consent_of(self.person, self.protocol)
        if rules.consent and consent is None:
            raise ConsentMissing("You have not agreed to what is recorded in sessions of this protocol.")
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
                "consent": consent
                and {"text_hash": consent.text_hash, "accepted_at": consent.accepted_at.isoformat()},
            }
            append_event(session, Event.Kind.OPENED, data, actor=self.person, at=now)
        return session


def _refuse_unless_conversation_open(situation: Situation, debrief: bool) -> None:
    if debrief:
        if not situation.debrief_open:
            raise Refused(
                "There is no debrief: the session is open, nothing was said, or the protocol has none."
            )
        if situation.unfinished_reply is not None:
            raise Refused("The model is still replying. Wait for it, or stop it.")
        return
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
    """Say something to the model; `mode` says whether a program is wanted. The streamer writes the reply.

    `draft` is the revision of the draft that the page had: another one, written elsewhere meanwhile, stays.
    """

    mode: Mode
    text: str
    draft: int = 0

    def perform(self, session: Session) -> None:
        situation = Situation.of(session)
        debrief = self.mode == "debrief"
        _refuse_unless_conversation_open(situation, debrief)
        if situation.last_reply_failed:
            raise Refused("The model's last reply failed. Ask for it again before you say something new.")
        if len(self.text) > MAXIMUM_MESSAGE:
            raise Refused(f"The message has {len(self.text)} characters; at most {MAXIMUM_MESSAGE} are sent.")
        first = not any(event.kind == Event.Kind.MESSAGE for event in situation.events)
        if not self.text.strip() and not (first and self.mode == "code"):
            raise Refused("The message is empty.")
        data: dict[str, Any] = {"mode": self.mode, "text": self.text}
        if debrief:
            data |= {"sent": self.text.strip(), "phase": DEBRIEF}
        else:
            data["sent"] = sent_text(self.text.strip(), self.mode, session.language)
        if (check := check_message(situation, self.text)) is not None:
            data["check"] = check
        message = append_event(session, Event.Kind.MESSAGE, data, actor=self.person, command=self.command)
        Draft.objects.filter(session=session).update(checks=[])
        Draft.objects.filter(session=session, revision=self.draft).update(text="")
        queue_reply(session, message)


@dataclass(frozen=True, kw_only=True)
class AskAgain(SessionAction):
    """Let the model answer the last message again after its provider failed. A failure costs nothing."""

    def perform(self, session: Session) -> None:
        situation = Situation.of(session)
        _refuse_unless_conversation_open(situation, situation.debrief_open)
        if not situation.last_reply_failed:
            raise Refused("The last reply did not fail.")
        message = [event for event in situation.events if event.kind == Event.Kind.MESSAGE][-1]
        data = {"message": message.seq, **phase_of(message)}
        append_event(session, Event.Kind.ASKED_AGAIN, data, actor=self.person, command=self.command)
        queue_reply(session, message)


@dataclass(frozen=True, kw_only=True)
class StopReply(SessionAction):
    """Stop the reply that is being written. It counts as a generation when it already holds a program."""

    reply_id: int

    def perform(self, session: Session) -> None:
        situation = Situation.of(session)
        reply = situation.unfinished_reply
        if reply is None or reply.pk != self.reply_id:
            raise Refused("That reply is finished.")
        budget, message = situation.budget, reply.message
        if budget.stops_used >= budget.stops_limit and not message.out_of_protocol:
            raise Refused(f"{budget.stops_limit} replies were stopped in this session; no more can be.")
        if not reply.stop_requested:
            reply.stop_requested = True
            reply.save(update_fields=["stop_requested"])
            data = {"reply": reply.pk, **phase_of(message)}
            append_event(session, Event.Kind.STOP, data, actor=self.person, command=self.command)
            transaction.on_commit(ring_streamers)


class DraftChanged(Refused):
    """Another text was kept since the page read the draft: on another machine of the same tutor."""

    def __init__(self, draft: Draft) -> None:
        super().__init__("You have written another text elsewhere.")
        self.draft = draft


@dataclass(frozen=True)
class SaveDraft:
    """Keep what the tutor has typed in place of the text of `revision`. It is the tutor's own: no event, no budget."""

    session_id: UUID
    person: User
    text: str
    revision: int

    def execute(self) -> int:
        """The new revision.

        Raises Session.DoesNotExist when it is not the tutor's session, Refused when it is too long, and DraftChanged
        when it would take the place of words that the page has not read.
        """
        session = Session.objects.get(pk=self.session_id, tutor=self.person)
        if len(self.text) > 2 * MAXIMUM_MESSAGE:
            raise Refused("The draft is too long to be kept.")
        with transaction.atomic():
            first = {"text": self.text, "revision": 1}
            draft, created = Draft.objects.get_or_create(session=session, defaults=first)
            if created:
                return draft.revision
            known = Q(revision=self.revision) | Q(text__in=("", self.text))
            kept = Draft.objects.filter(known, pk=draft.pk).update(
                text=self.text, revision=F("revision") + 1, saved_at=timezone.now()
            )
            draft.refresh_from_db()
        if not kept:
            raise DraftChanged(draft)
        return draft.revision
