"""The state of a session that decides which commands are allowed now."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from benchmark.model_calls.model_tests import passed_since
from benchmark.models import TestCase
from tutoring.models import Event, Reply, Session
from tutoring.models.payloads import ReplyFailed, ReplyFinished
from tutoring.protocols import Rules, rules_of
from tutoring.sessions.budgets import SessionBudget, count_budget
from tutoring.sessions.model_drafts import offered_draft, unfinished_request

Command = Literal[
    "talk",
    "code",
    "debrief",
    "ask_again",
    "stop",
    "run_samples",
    "request_draft",
    "insert_draft",
    "execute",
    "close",
]
"""Commands of a tutor. The first three send a message in that mode."""


OPERATOR_KINDS = frozenset({"authentication", "configuration", "not_found"})
"""Kinds of provider errors that only an operator can end: a refused key, an unpaid account, an unknown model."""


class RefusedError(Exception):
    """A command that the rules do not allow now; the message is a sentence for the person who gave it."""


def is_empty(reply: ReplyFinished) -> bool:
    """Return whether the model ended its reply without any text."""
    return not reply.text.strip() and not reply.stopped


@dataclass(frozen=True)
class SessionContext:
    """A session with its events, rules and budget, and the reply that is being written."""

    session: Session
    events: list[Event]
    rules: Rules
    budget: SessionBudget
    unfinished_reply: Reply | None

    @classmethod
    def of(cls, session: Session) -> SessionContext:
        """Read the context. Raises RefusedError for an imported session."""
        if session.protocol is None:
            raise RefusedError("This trajectory was imported. It can be read, but not continued.")
        events = list(session.events.all())
        rules = rules_of(session.protocol)
        return cls(
            session=session,
            events=events,
            rules=rules,
            budget=count_budget(session, events, rules),
            unfinished_reply=session.replies.select_related("message")
            .filter(state__in=Reply.UNFINISHED)
            .first(),
        )

    @cached_property
    def programs(self) -> list[tuple[Event, ReplyFinished]]:
        """The replies that contain a program, oldest first."""
        replies = ((event, event.payload) for event in self.events if event.kind == Event.Kind.REPLY)
        return [(event, reply) for event, reply in replies if isinstance(reply, ReplyFinished) and reply.code]

    @cached_property
    def draft_underway(self) -> bool:
        """Whether the tutor model writes a draft of the next message."""
        return unfinished_request(self.events) is not None

    @cached_property
    def debrief_open(self) -> bool:
        """Whether the protocol allows messages after the end. The model must have replied before."""
        replied = any(event.kind == Event.Kind.REPLY for event in self.events)
        return self.rules.debrief and self.session.state == Session.State.CLOSED and replied

    @cached_property
    def debriefing(self) -> bool:
        """Whether the debrief has begun."""
        return any(event.out_of_protocol for event in self.events)

    @cached_property
    def missing_reply(self) -> Event | None:
        """The event that says why the last message has no reply: the provider failed, or the reply is empty.

        After the end, only messages of the debrief miss one. A reply to an earlier message could be a generation.
        """
        if self.session.state == Session.State.CLOSED and not self.debriefing:
            return None
        kinds = (Event.Kind.MESSAGE, Event.Kind.REPLY, Event.Kind.REPLY_FAILED)
        latest = next((event for event in reversed(self.events) if event.kind in kinds), None)
        match latest and latest.payload:
            case ReplyFailed():
                return latest
            case ReplyFinished() as reply if is_empty(reply):
                return latest
        return None

    @cached_property
    def needs_operator(self) -> bool:
        """Whether every other call would fail in the same way until an operator has repaired the access to the model.

        A passed test of the model, or a later reply of it in any session, is evidence that it is repaired.
        """
        event, model = self.missing_reply, self.session.model
        if event is None or event.at is None or model is None:
            return False
        if not isinstance(event.payload, ReplyFailed) or event.payload.error_kind not in OPERATOR_KINDS:
            return False
        replies = Event.objects.filter(session__model=model, kind=Event.Kind.REPLY, at__gt=event.at)
        return not (passed_since(model, event.at) or replies.exists())

    def refusal(self, command: Command) -> str | None:
        """Return the sentence that says why the command is refused now, or None if it is allowed.

        The page, the socket and the actions all use this answer.
        """
        return (
            self._refused_by_state(command)
            or self._refused_by_reply(command)
            or self._refused_by_budget(command)
            or self._refused_by_samples(command)
            or self._refused_by_drafts(command)
        )

    def refuse_unless_allowed(self, command: Command) -> None:
        """Raise RefusedError if the command is not allowed now."""
        if refusal := self.refusal(command):
            raise RefusedError(refusal)

    def _refused_by_state(self, command: Command) -> str | None:
        state = self.session.state
        if command == "debrief" and not self.debrief_open:
            return "There is no debrief: the session is open, the model has not replied, or the protocol has none."
        if state == Session.State.JUDGING:
            return "The judge is running the program. The session ends with its verdict."
        of_debrief = ("debrief", "ask_again", "stop") if self.debriefing else ("debrief",)
        if state == Session.State.CLOSED and not (self.debrief_open and command in of_debrief):
            return "This session is closed."
        return None

    def _refused_by_reply(self, command: Command) -> str | None:
        if command == "stop":
            return None if self.unfinished_reply is not None else "There is no reply to stop."
        if self.unfinished_reply is not None:
            return "The model is still replying. Wait for it, or stop it."
        if command == "ask_again" and self.missing_reply is None:
            return "The last reply did not fail."
        if command == "ask_again" and self.needs_operator:
            return "Only an operator can repair this. Press “Something is wrong…” to report it."
        return None

    def _refused_by_budget(self, command: Command) -> str | None:
        budget, open_ = self.budget, self.session.state == Session.State.OPEN
        match command:
            case "talk" | "code" | "ask_again" | "request_draft" if (
                open_ and not budget.code_generations_left
            ):
                return (
                    f"All {budget.code_generations_limit} generations of code are used. Submit the latest program "
                    "for judging, or close the session."
                )
            case "talk" | "code" | "debrief" | "request_draft" if self.missing_reply is not None:
                return (
                    "The last reply failed or is empty. Press “Retry reply” before you send another message."
                )
            case "stop" if open_ and budget.stops_used >= budget.stops_limit:
                return f"{budget.stops_limit} replies were stopped in this session. No more can be stopped."
            case "execute" if not self.programs:
                return "There is no program yet. Ask for code first."
            case "execute" if not budget.executions_left:
                return "The execution is used."
        return None

    def _refused_by_drafts(self, command: Command) -> str | None:
        limit, message = self.budget.model_drafts_limit, "Write the message yourself."
        if command not in ("request_draft", "insert_draft"):
            return None
        if not limit:
            return "This protocol has no model drafts."
        if command == "insert_draft":
            return None if offered_draft(self.events) else "There is no draft for the next message."
        reasons = {
            f"Drafts need a program. {message}": not self.programs,
            "A draft is being written.": self.draft_underway,
            f"All {limit} model drafts are used. {message}": not self.budget.model_drafts_left,
        }
        return next((reason for reason, holds in reasons.items() if holds), None)

    def _refused_by_samples(self, command: Command) -> str | None:
        if command != "run_samples":
            return None
        limit = self.budget.sample_runs_limit
        if not limit:
            return "This protocol has no runs on the samples."
        samples = TestCase.objects.filter(problem=self.session.problem_id, origin=TestCase.Origin.SAMPLE)
        reasons = {
            "There is no program yet. Ask for code first.": not self.programs,
            "The samples are running. Wait for their result.": self.session.sample_judgement_id is not None,
            f"All {limit} runs on the samples are used.": not self.budget.sample_runs_left,
            "This problem has no samples.": not samples.exists(),
        }
        return next((reason for reason, holds in reasons.items() if holds), None)
