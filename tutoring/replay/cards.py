"""Hint cards of recorded sessions: which message becomes a card, and why the other sessions have none."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from benchmark.models import Problem
from benchmark.providers import Message
from tutoring.arms.control_policies import NOT_CORRECT, TRY_AGAIN
from tutoring.models import Event, Review, Session
from tutoring.models.payloads import AnyPayload, MessageSent, ReplyFinished
from tutoring.protocols import recorded_rules
from tutoring.review.content import Content, MessageLabels, decided_content, settled_level
from tutoring.rules import rule_set
from tutoring.sessions.dialogue import messages_of
from tutoring.sessions.programs import distance, program_tokens

Selection = Literal["primary", "first"]
SELECTIONS: Mapping[Selection, str] = {
    "primary": "the first message of each session with a settled level of 1 or more, compliant and of level 3 or less",
    "first": "the first message after a program in each session that is not of a control arm, reviewed or not: "
    "exploratory",
}

CONTROL_TEXTS = (TRY_AGAIN, NOT_CORRECT)
"""The texts of the arms neutral and verdict. They are not hints."""

HIGHEST_LEVEL = 3
"""The highest level of a primary card; above it a message gives the solution."""

UNKNOWN_PROBLEM = "the problem is unknown"
NO_PROGRAM = "no program before the message"
ONLY_CONTROLS = "only messages of the arms neutral and verdict after a program"
NO_HELP = "no message carries help"
NOT_REVIEWED = "not reviewed by two persons"
CODE_NAMED = "clause F2: the message names code that another model did not write"
NOT_COMPLIANT = "the message is not compliant"
TOO_HIGH = f"the level is above {HIGHEST_LEVEL}"


@dataclass(frozen=True)
class CardDraft:
    """A message that becomes a card, with the dialogue before it."""

    event: Event
    problem: Problem
    language: str
    prefix: tuple[Message, ...]
    text: str
    requested_code: bool
    position: int
    program: str
    distance: float | None
    rule_set: int | None
    labels: MessageLabels

    @property
    def key(self) -> str:
        """The sha256 of message, labels and program."""
        labels = [self.rule_set, self.labels.level, self.labels.stage, sorted(self.labels.clauses)]
        parts = json.dumps([str(self.event.session_id), self.event.seq, self.text, self.program, labels])
        return hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()


Excluded = dict[str, list[str]]
"""The ids of the sessions without a placement by the reason. Each session has one card at most."""


@dataclass
class FoundCards:
    """The cards of all sessions, and the sessions without one by reason."""

    cards: list[CardDraft] = field(default_factory=list)
    excluded: Excluded = field(default_factory=lambda: defaultdict(list))


class _NoCardError(Exception):
    """A session that has no card. The message is the reason."""


def find_cards(selection: Selection, dataset: str | None = None) -> FoundCards:
    """Return the cards of all closed, valid sessions, or of those on the problems of one dataset."""
    sessions = Session.objects.filter(state=Session.State.CLOSED, invalidated=False)
    if dataset is not None:
        sessions = sessions.filter(problem__dataset__name=dataset)
    found = FoundCards()
    rows = sessions.select_related("problem__dataset").prefetch_related("events", "reviews")
    for session in rows.order_by("recorded_at", "pk").iterator(chunk_size=200):
        try:
            found.cards.append(_card_of(session, selection))
        except _NoCardError as reason:
            found.excluded[str(reason)].append(str(session.pk))
    return found


def _card_of(session: Session, selection: Selection) -> CardDraft:
    if session.problem is None:
        raise _NoCardError(UNKNOWN_PROBLEM)
    events = [event for event in session.events.all() if event.payload.phase is None]
    if selection == "primary":
        version, labels = settled_labels(session)
        event = next((one for one in _messages(events) if (labels(one.seq).level or 0) >= 1), None)
        if event is None:
            raise _NoCardError(NO_HELP)
        of_message = labels(event.seq)
        _check_primary(of_message, version)
        return _draft(session, events, event, version, of_message)
    after_program = [one for one in _messages(events) if _programs_before(events, one)]
    if not after_program:
        raise _NoCardError(NO_PROGRAM)
    event = next((one for one in after_program if not _is_of_control(one)), None)
    if event is None:
        raise _NoCardError(ONLY_CONTROLS)
    return _draft(session, events, event, None, MessageLabels(event.seq))


def _check_primary(labels: MessageLabels, version: int) -> None:
    """Raise _NoCardError for a message that is not a primary card."""
    if "F2" in labels.clauses:
        raise _NoCardError(CODE_NAMED)
    if set(labels.clauses) & rule_set(version).forbidden_codes:
        raise _NoCardError(NOT_COMPLIANT)
    if (labels.level or 0) > HIGHEST_LEVEL:
        raise _NoCardError(TOO_HIGH)


class _Settled:
    """The settled labels of the messages of a session."""

    def __init__(self, decided: Content, independent: Sequence[Content], *, adjudicated: bool) -> None:
        self._decided = decided
        self._independent = independent
        self._adjudicated = adjudicated

    def __call__(self, seq: int) -> MessageLabels:
        """Return the adjudicated labels, else those of both reviews: common clauses and stage, `settled_level`."""
        decided = self._decided.labels(seq)
        if self._adjudicated:
            return decided
        both = [content.labels(seq) for content in self._independent]
        return replace(
            decided,
            clauses=tuple(code for code in both[0].clauses if code in both[1].clauses),
            level=settled_level(one.level for one in both),
            stage=both[0].stage if both[0].stage == both[1].stage else "",
        )


def settled_labels(session: Session) -> tuple[int, _Settled]:
    """Return the newest rule set with a decided review, and the settled labels. Raises _NoCardError without one."""
    by_version: dict[int, dict[int, Content]] = {}
    for review in session.reviews.all():
        if review.state == Review.State.SUBMITTED and review.slot is not None:
            by_version.setdefault(review.rule_set, {})[review.slot] = Content.from_json(review.content)
    rules = recorded_rules(session)
    cap = None if rules is None else rules.level_cap
    for version in sorted(by_version, reverse=True):
        contents = by_version[version]
        decided = decided_content(contents, rule_set(version), cap)
        if decided is not None:
            independent = [contents[slot] for slot in Review.INDEPENDENT]
            return version, _Settled(decided, independent, adjudicated=Review.ADJUDICATION in contents)
    raise _NoCardError(NOT_REVIEWED)


def _is_of_control(event: Event) -> bool:
    """Return whether the message is the text of a control arm, with which hints are compared."""
    return event.payload_as(MessageSent).text.strip() in CONTROL_TEXTS


def _messages(events: Sequence[Event]) -> Iterator[Event]:
    return (one for one in events if isinstance(one.payload, MessageSent) and one.payload.text.strip())


def _programs_before(events: Sequence[Event], message: Event) -> list[str]:
    replies = (one.payload for one in events if one.seq < message.seq)
    return [one.code for one in replies if isinstance(one, ReplyFinished) and one.generation and one.code]


def _draft(
    session: Session, events: Sequence[Event], message: Event, version: int | None, labels: MessageLabels
) -> CardDraft:
    programs = _programs_before(events, message)
    if not programs:
        raise _NoCardError(NO_PROGRAM)
    payload = message.payload_as(MessageSent)
    before: list[AnyPayload] = [one.payload for one in events if one.seq < message.seq]
    tokens = [program_tokens(code, session.language) for code in programs[-2:]]
    assert session.problem is not None
    return CardDraft(
        event=message,
        problem=session.problem,
        language=session.language,
        prefix=without_blocks(messages_of(before)),
        text=payload.text.strip(),
        requested_code=payload.mode == "code",
        position=sum(one.seq <= message.seq for one in _messages(events)),
        program=programs[-1],
        distance=distance(*tokens) if len(tokens) == 2 else None,
        rule_set=version,
        labels=labels,
    )


def without_blocks(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the messages without the blocks of their provider, which no other model can read."""
    return tuple(Message(one.role, one.content) for one in messages)
