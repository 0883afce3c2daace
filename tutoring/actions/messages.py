"""Commands of the tutor: start a session, send a message, stop a reply, save a draft."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from accounts.roles import Role, has_role
from benchmark.model_calls import caps, catalogue
from benchmark.model_calls.ledger import Account
from benchmark.models import LanguageModel, Problem
from benchmark.models.spending import Purpose
from benchmark.prompts import VisibleProblem
from benchmark.providers import is_scripted, parse_model_spec
from tutoring.actions.base import SessionAction
from tutoring.checks.checking import check_message
from tutoring.models import Consent, Draft, Event, Protocol, Session
from tutoring.models.payloads import (
    ConsentGiven,
    MessageSent,
    Mode,
    ReplyRequestedAgain,
    ReplyStopRequested,
    SessionOpened,
)
from tutoring.notifications import notify_streamers
from tutoring.protocols import Rules, consent_hash, rules_of
from tutoring.sessions.assignments import closed_by_study
from tutoring.sessions.context import RefusedError, SessionContext
from tutoring.sessions.dialogue import MAXIMUM_MESSAGE, opening_prompt, sent_text
from tutoring.sessions.model_drafts import uses_of
from tutoring.sessions.recording import append_event, queue_reply
from tutoring.sessions.spending import spending_refusal

PRACTICE_STUDENT = "practice:student"
"""The model of the training, whatever TUTORING_MODEL is."""


def has_scripted_student(problem: Problem) -> bool:
    """Return whether the scripted student has replies for the problem: it has them for the practice problems."""
    return problem.dataset.name == "practice"


class ConsentMissingError(RefusedError):
    """The refusal of a session whose tutor has not accepted the current consent text of the protocol."""


def consent_of(person: User, protocol: Protocol) -> Consent | None:
    """Return the person's consent under any version of the protocol with the same text; None without one."""
    text_hash = consent_hash(rules_of(protocol))
    return Consent.objects.filter(person=person, protocol__name=protocol.name, text_hash=text_hash).first()


@dataclass(frozen=True)
class AcceptConsent:
    """An action that records that a tutor accepts the shown version of a protocol's consent text. Idempotent."""

    person: User
    protocol: Protocol
    text_hash: str

    def execute(self) -> Consent:
        """Return the consent. Raises PermissionDenied, or RefusedError if the protocol has another text."""
        if not has_role(self.person, Role.TUTOR):
            raise PermissionDenied("Only tutors hold sessions.")
        if self.text_hash != consent_hash(rules_of(self.protocol)):
            raise RefusedError("The text has changed since you read it. Please read it again.")
        consent, _ = Consent.objects.get_or_create(
            person=self.person, protocol=self.protocol, text_hash=self.text_hash
        )
        return consent


def next_number(earlier: Iterable[Session]) -> int:
    """Return the number of the session that follows a tutor's sessions on a problem under one protocol and model.

    It follows the last session that is stored: erased sessions before it count for the limit, but if all are erased,
    nothing names their tutor any more, and the numbers begin at 1 again.
    """
    return 1 + max((session.number or 0 for session in earlier), default=0)


@dataclass(frozen=True)
class StartSession:
    """An action that opens a session with a model on a problem.

    It is refused if the tutor has a session open there or has used all sessions.

    The session freezes the model's row.
    """

    person: User
    problem: Problem
    protocol: Protocol
    model: LanguageModel
    assigned: bool = False
    """Whether the session is one of a study, whose problems are closed to other sessions of its tutors."""
    training: bool = False
    """Whether it is the guided session of the training, which may be repeated without limit."""

    def execute(self) -> Session:
        """Return the new session. Raises PermissionDenied, ConsentMissingError or RefusedError."""
        if not has_role(self.person, Role.TUTOR):
            raise PermissionDenied("Only tutors hold sessions.")
        rules = rules_of(self.protocol)
        if is_scripted(parse_model_spec(self.model.spec)) and not (
            rules.language == "python" and has_scripted_student(self.problem)
        ):
            raise RefusedError(
                "The scripted practice student writes Python and replies on practice problems only. Choose a "
                "practice problem and a Python protocol, or ask an admin for another model."
            )
        if not rules.suits(self.problem):
            raise RefusedError(
                "Programs for this problem define a method in Python, and this protocol is for another language. "
                "Choose another protocol or problem."
            )
        if caps.exist() and caps.unknown_price(Account.of_model(self.model, Purpose.REPLY)):
            # The reason names the model, which tutors must not learn. Admins see it on the page of spending.
            raise RefusedError("No model is available for sessions now. Please tell an admin.")
        consent = consent_of(self.person, self.protocol)
        if rules.consent and consent is None:
            raise ConsentMissingError("You have not accepted the consent text of this protocol.")
        with transaction.atomic():
            # The lock on the tutor's row keeps two requests from both opening the last session.
            User.objects.select_for_update().get(pk=self.person.pk)
            return self._open(rules, consent)

    def _open(self, rules: Rules, consent: Consent | None) -> Session:
        if not self.assigned and closed_by_study(self.person, self.problem):
            raise RefusedError(
                "This problem is part of a study in which you take part. Press “Your next session” for the sessions of "
                "the study; the problem is free again when the study is closed."
            )
        earlier = Session.objects.filter(
            tutor=self.person,
            problem=self.problem,
            protocol__name=self.protocol.name,
            model_spec=self.model.spec,
        )
        if earlier.exclude(state=Session.State.CLOSED).exists():
            raise RefusedError(
                "You have an open session on this problem. Finish it before you start another."
            )
        number = next_number(earlier)
        if number > rules.sessions and not self.training:
            raise RefusedError(f"All {rules.sessions} sessions on this problem are used.")
        now = timezone.now()
        session = Session.objects.create(
            tutor=self.person,
            problem=self.problem,
            protocol=self.protocol,
            model=catalogue.freeze(self.model),
            model_spec=self.model.spec,
            language=rules.language,
            number=number,
            opened_at=now,
        )
        payload = SessionOpened(
            prompt=opening_prompt(VisibleProblem.of(self.problem), rules.language),
            problem_hash=self.problem.content_hash,
            protocol=str(self.protocol),
            protocol_hash=self.protocol.content_hash,
            model_spec=self.model.spec,
            consent=None
            if consent is None
            else ConsentGiven(text_hash=consent.text_hash, accepted_at=consent.accepted_at),
        )
        append_event(session, payload, actor=self.person, at=now)
        return session


def refuse_over_cap(session: Session) -> None:
    """Raise RefusedError if a spending cap refuses another reply of the session."""
    if refusal := spending_refusal(session):
        raise RefusedError(refusal)


@dataclass(frozen=True, kw_only=True)
class SendMessage(SessionAction):
    """An action that sends a message to the model in one of the modes. A streamer writes the reply.

    `draft` is the revision of the draft that the page had; a draft saved elsewhere since then is kept.
    """

    mode: Mode
    text: str
    draft: int = 0
    intended_level: int | None = None
    """Level of help that the tutor chose before writing; None: none was chosen."""

    def perform(self, session: Session) -> None:
        context = SessionContext.of(session)
        context.refuse_unless_allowed(self.mode)
        if len(self.text) > MAXIMUM_MESSAGE:
            raise RefusedError(
                f"The message has {len(self.text):,} characters; at most {MAXIMUM_MESSAGE:,} are sent."
            )
        first = not any(event.kind == Event.Kind.MESSAGE for event in context.events)
        if not self.text.strip() and not (first and self.mode == "code"):
            raise RefusedError("The message is empty.")
        self._refuse_wrong_level(context.rules)
        refuse_over_cap(session)
        payload = MessageSent(
            mode=self.mode,
            text=self.text,
            sent=sent_text(self.text.strip(), self.mode, session.language),
            check=check_message(context, self.text, self.intended_level),
            intended_level=self.intended_level,
            model_drafts=uses_of(context.events, self.text),
            phase="debrief" if self.mode == "debrief" else None,
        )
        message = append_event(session, payload, actor=self.person, command=self.command)
        session.draft_warnings.all().delete()
        Draft.objects.filter(session=session, revision=self.draft).update(text="")
        queue_reply(session, message)

    def _refuse_wrong_level(self, rules: Rules) -> None:
        """Raise RefusedError for a missing or an unexpected level. A message without a text has no level."""
        levels = [one.level for one in rules.help_levels]
        if self.intended_level is None:
            if rules.ask_level == "required" and self.mode != "debrief" and self.text.strip():
                raise RefusedError("Choose the level of help of this message first. Your text is kept.")
        elif rules.ask_level == "off" or self.mode == "debrief" or not self.text.strip():
            raise RefusedError("This message has no level of help. Reload the page. Your text is kept.")
        elif self.intended_level not in levels:
            raise RefusedError(
                f"There is no level of help {self.intended_level}. There are: {', '.join(map(str, levels))}."
            )


@dataclass(frozen=True, kw_only=True)
class AskAgain(SessionAction):
    """An action that requests another reply to the last message after its reply failed.

    A failed reply costs nothing.
    """

    def perform(self, session: Session) -> None:
        context = SessionContext.of(session)
        context.refuse_unless_allowed("ask_again")
        refuse_over_cap(session)
        message = [event for event in context.events if event.kind == Event.Kind.MESSAGE][-1]
        payload = ReplyRequestedAgain(message=message.seq, phase=message.payload.phase)
        append_event(session, payload, actor=self.person, command=self.command)
        queue_reply(session, message)


@dataclass(frozen=True, kw_only=True)
class StopReply(SessionAction):
    """An action that stops the reply that is being written.

    The reply counts as a generation if it contains a complete program.
    """

    reply_id: int

    def perform(self, session: Session) -> None:
        context = SessionContext.of(session)
        context.refuse_unless_allowed("stop")
        reply = context.unfinished_reply
        if reply is None or reply.pk != self.reply_id:
            raise RefusedError("That reply is finished.")
        if not reply.stop_requested:
            reply.stop_requested = True
            reply.save(update_fields=["stop_requested"])
            payload = ReplyStopRequested(reply=reply.pk, phase=reply.message.payload.phase)
            append_event(session, payload, actor=self.person, command=self.command)
            transaction.on_commit(notify_streamers)


class DraftChangedError(RefusedError):
    """The refusal to overwrite a draft that was saved elsewhere after the page read it."""

    def __init__(self, draft: Draft) -> None:
        super().__init__("You have written another text elsewhere.")
        self.draft = draft


@dataclass(frozen=True)
class SaveUnsentText:
    """An action that saves the tutor's unsent text in place of the draft with `revision`. No event is recorded."""

    session_id: UUID
    person: User
    text: str
    revision: int

    def execute(self) -> int:
        """Return the new revision.

        Raises Session.DoesNotExist for another tutor's session, RefusedError for a text that is too long, and
        DraftChangedError if the saved draft is neither empty nor the one that the page has read.
        """
        session = Session.objects.get(pk=self.session_id, tutor=self.person)
        if len(self.text) > 2 * MAXIMUM_MESSAGE:
            raise RefusedError("The draft is too long to be saved.")
        with transaction.atomic():
            first = {"text": self.text, "revision": 1}
            draft, created = Draft.objects.get_or_create(session=session, defaults=first)
            if created:
                return draft.revision
            known = Q(revision=self.revision) | Q(text__in=("", self.text))
            saved = Draft.objects.filter(known, pk=draft.pk).update(
                text=self.text, revision=F("revision") + 1, saved_at=timezone.now()
            )
            draft.refresh_from_db()
        if not saved:
            raise DraftChangedError(draft)
        return draft.revision
