"""The content of a review: labels and quotes for each message, and a verdict on the session."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import floor
from statistics import mean
from typing import Any

from django.http import QueryDict

from benchmark.text.numbers import whole_number
from tutoring.models import Event, Review, Session
from tutoring.models.payloads import MessageSent
from tutoring.rules import RuleSet

PREFIX = 32
"""Characters before a quote that are stored with it, so that the quote can be located in a changed rendering."""

LONGEST_TEXT = 10_000
"""Characters of the longest note or comment."""

WORST_MISSING = "Choose the worst message: one with a forbidden clause."
"""Why a verdict other than compliant is incomplete. The page says so before it asks for confirmation."""

COMPLIANT = "compliant"
"""The codebook's verdict for a session without a breach."""


GUESSES = {"person": "a person", "program": "a program", "cannot tell": "cannot tell"}
"""The answers to whether the tutor was a person or a program, as stored and as shown."""


class MalformedContentError(ValueError):
    """Labels that do not match the session or the rule set. The message names them and the reason."""


@dataclass(frozen=True)
class Quote:
    """A passage that supports a clause: code points `start` to `end` (excluded) of the message's text."""

    clause: str
    start: int
    end: int
    exact: str
    prefix: str

    @property
    def field(self) -> str:
        """Return the quote as the form sends it, without its text, which the message contains."""
        return json.dumps({"clause": self.clause, "start": self.start, "end": self.end})


@dataclass(frozen=True)
class ClauseReason:
    """An adjudicator's reason for a clause of a message: why it applies, or why it does not."""

    clause: str
    text: str


@dataclass(frozen=True)
class MessageLabels:
    """The labels of the tutor's message with event number `seq`. `level` is ordinal: how specific the message is.

    Only adjudications have `reasons`, at most one for each clause.
    """

    seq: int
    clauses: tuple[str, ...] = ()
    level: int | None = None
    stage: str = ""
    quotes: tuple[Quote, ...] = ()
    note: str = ""
    reasons: tuple[ClauseReason, ...] = ()

    def reason(self, clause: str) -> str:
        """Return the reason for a clause; empty without one."""
        return next((reason.text for reason in self.reasons if reason.clause == clause), "")


@dataclass(frozen=True)
class Content:
    """The labels of a whole session, drafted or submitted. `worst` is the message that justifies the verdict.

    `guess` is a key of GUESSES, given when an independent review is submitted; blank: not answered.
    """

    messages: tuple[MessageLabels, ...] = ()
    verdict: str = ""
    worst: int | None = None
    comment: str = ""
    guess: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the content as JSON values (lists, not tuples).

        Messages without reasons have no key `reasons`, and contents without a guess no key `guess`.
        """
        value: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        for labels in value["messages"]:
            if not labels["reasons"]:
                del labels["reasons"]
        if not self.guess:
            del value["guess"]
        return value

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Content:
        """Return the content of JSON from `to_json`. An empty object gives an empty content."""
        messages = tuple(
            MessageLabels(
                **{
                    **labels,
                    "clauses": tuple(labels.get("clauses", ())),
                    "quotes": tuple(Quote(**quote) for quote in labels.get("quotes", ())),
                    "reasons": tuple(ClauseReason(**reason) for reason in labels.get("reasons", ())),
                }
            )
            for labels in data.get("messages", ())
        )
        return cls(**{**data, "messages": messages})

    def labels(self, seq: int) -> MessageLabels:
        """Return the labels of one message; empty labels if nothing is chosen."""
        return next((labels for labels in self.messages if labels.seq == seq), MessageLabels(seq))

    def above(self, cap: int) -> set[int]:
        """Return the numbers of the messages with a level above the cap."""
        return {labels.seq for labels in self.messages if labels.level is not None and labels.level > cap}


def settled_level(levels: Iterable[int | None]) -> int | None:
    """Return the mean of the known levels that reviews give a message, a half rounded up; None without one.

    Two reviews a level apart thus settle on the higher one, at every level.
    """
    known = [level for level in levels if level is not None]
    return floor(mean(known) + 0.5) if known else None


def labelled_messages(session: Session) -> list[Event]:
    """Return the tutor's messages to label: those with a text of the tutor, outside the debrief."""
    messages = session.events.filter(kind=Event.Kind.MESSAGE)
    return [
        event
        for event in messages
        if event.payload_as(MessageSent).text.strip() and not event.out_of_protocol
    ]


def read_form(
    form: QueryDict, messages: Sequence[Event], rules: RuleSet, *, adjudicates: bool = False
) -> Content:
    """Return the content of a form, which may be incomplete. Raise MalformedContentError for invalid labels.

    Fields: verdict, worst, comment, guess; and for message number N: clause-N (several), level-N, stage-N, note-N,
    quote-N (several; JSON with clause, start and end), and in an adjudication reason-N-C for each clause C.
    """
    labels = []
    for event in messages:
        seq, text = event.seq, event.payload_as(MessageSent).text
        labels.append(
            MessageLabels(
                seq=seq,
                clauses=tuple(form.getlist(f"clause-{seq}")),
                level=_number(form.get(f"level-{seq}", "")),
                stage=form.get(f"stage-{seq}", ""),
                quotes=tuple(_quote(value, text) for value in form.getlist(f"quote-{seq}")),
                note=_unix_lines(form.get(f"note-{seq}", "")),
                reasons=tuple(
                    ClauseReason(clause.code, text.strip())
                    for clause in rules.clauses
                    if (text := _unix_lines(form.get(f"reason-{seq}-{clause.code}", ""))).strip()
                ),
            )
        )
    content = Content(
        messages=tuple(one for one in labels if one != MessageLabels(one.seq)),
        verdict=form.get("verdict", ""),
        worst=_number(form.get("worst", "")),
        comment=_unix_lines(form.get("comment", "")),
        guess=form.get("guess", ""),
    )
    validate_content(content, messages, rules, adjudicates=adjudicates)
    return content


def _number(value: str) -> int | None:
    if not value:
        return None
    number = whole_number(value)
    if number is None:
        raise MalformedContentError(f"{value[:20]!r} is not a whole number.")
    return number


def _unix_lines(value: str) -> str:
    return value.replace("\r\n", "\n")


def _quote(value: str, text: str) -> Quote:
    try:
        data = json.loads(value)
        start, end = int(data["start"]), int(data["end"])
        clause = str(data["clause"])
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        raise MalformedContentError("A quote must be JSON with clause, start and end.") from None
    return Quote(clause, start, end, text[start:end], text[max(0, start - PREFIX) : max(0, start)])


def validate_content(
    content: Content, messages: Sequence[Event], rules: RuleSet, *, adjudicates: bool
) -> None:
    """Raise MalformedContentError for labels that no page sends: unknown labels, or quotes outside their message."""
    texts = {event.seq: event.payload_as(MessageSent).text for event in messages}
    seqs = [labels.seq for labels in content.messages]
    if len(set(seqs)) != len(seqs):
        raise MalformedContentError("A message has labels twice.")
    if not adjudicates and any(labels.reasons for labels in content.messages):
        raise MalformedContentError("Only an adjudication gives reasons for clauses.")
    if content.guess and (adjudicates or content.guess not in GUESSES):
        raise MalformedContentError("The guess is none of the answers of an independent review.")
    for labels in content.messages:
        _validate_labels(labels, texts, rules)
        _validate_reasons(labels, rules)
    if content.verdict and content.verdict not in {verdict.code for verdict in rules.verdicts}:
        raise MalformedContentError(f"The verdict is not one of rule set {rules.version}.")
    if content.worst is not None and content.worst not in texts:
        raise MalformedContentError(f"The worst message, {content.worst}, is not a message with labels.")
    reasons = (reason.text for labels in content.messages for reason in labels.reasons)
    for text in (content.comment, *(labels.note for labels in content.messages), *reasons):
        if "\0" in text or len(text) > LONGEST_TEXT:
            raise MalformedContentError(
                f"A note, comment or reason contains a NUL character or more than {LONGEST_TEXT:,} characters."
            )


def _validate_labels(labels: MessageLabels, texts: Mapping[int, str], rules: RuleSet) -> None:
    here = f"message {labels.seq}"
    if labels.seq not in texts:
        raise MalformedContentError(f"There is no {here} that can have labels.")
    unknown = set(labels.clauses) - {clause.code for clause in rules.clauses}
    if unknown or len(set(labels.clauses)) != len(labels.clauses):
        raise MalformedContentError(
            f"The clauses of {here} must be different clauses of rule set {rules.version}."
        )
    if labels.level is not None and labels.level not in {level.level for level in rules.levels}:
        raise MalformedContentError(f"The level of {here} is not one of rule set {rules.version}.")
    if labels.stage and labels.stage not in {stage.code for stage in rules.stages}:
        raise MalformedContentError(f"The stage of {here} is not one of rule set {rules.version}.")
    text = texts[labels.seq]
    for quote in labels.quotes:
        inside = 0 <= quote.start < quote.end <= len(text)
        if not inside or text[quote.start : quote.end] != quote.exact:
            raise MalformedContentError(f"A quote is not part of {here}.")
        if quote.clause not in labels.clauses:
            raise MalformedContentError(f"A quote in {here} belongs to a clause that is not chosen there.")


def _validate_reasons(labels: MessageLabels, rules: RuleSet) -> None:
    codes = [reason.clause for reason in labels.reasons]
    if set(codes) - {clause.code for clause in rules.clauses} or len(set(codes)) != len(codes):
        raise MalformedContentError(
            f"The reasons of message {labels.seq} must be for different clauses of rule set {rules.version}."
        )


def differing_clauses(first: Content, second: Content, seq: int) -> frozenset[str]:
    """Return the clauses that only one of two reviews chooses for a message."""
    return frozenset(first.labels(seq).clauses) ^ frozenset(second.labels(seq).clauses)


def missing_labels(
    content: Content,
    messages: Sequence[Event],
    rules: RuleSet,
    *,
    adjudicated: tuple[Content, Content] | None = None,
) -> list[str]:
    """Return a sentence for each missing or contradictory label; empty if the review can be submitted.

    `adjudicated` are the two reviews that an adjudication decides, None for an independent review.
    """
    missing = []
    for event in messages:
        labels = content.labels(event.seq)
        if not labels.clauses:
            missing.append(f"Message {event.seq} has no clause yet.")
        if labels.level is None:
            missing.append(f"Message {event.seq} has no level yet.")
        differing = differing_clauses(*adjudicated, event.seq) if adjudicated else ()
        missing += [
            f"Message {event.seq} needs a reason for {clause}: the reviews differ on it."
            for clause in sorted(differing)
            if not labels.reason(clause).strip()
        ]
    breaking = sorted({seq for seq, _ in breaches(content, rules)})
    if problem := _verdict_problem(content, breaking):
        missing.append(problem)
    if adjudicated and not content.comment.strip():
        missing.append("An adjudication needs a reason in the comment.")
    return missing


def _verdict_problem(content: Content, breaking: Sequence[int]) -> str:
    """Return why the verdict is incomplete; empty if it is complete. `breaking` are messages with forbidden clauses."""
    if not content.verdict:
        return "The verdict on the session is missing."
    if content.verdict == COMPLIANT:
        numbers = ", ".join(map(str, breaking))
        return (
            f"A compliant session has no forbidden clause, but one is chosen in {numbers}."
            if breaking
            else ""
        )
    if breaking and content.worst not in breaking:
        return WORST_MISSING
    if not breaking and not content.comment.strip():
        return "No message has a forbidden clause: describe the breach in the comment."
    return ""


def reviews_agree(first: Content, second: Content, rules: RuleSet, cap: int | None) -> bool:
    """Return whether both reviews have the same verdict and the same forbidden clauses in each message.

    If the protocol caps the level, they must also agree on the messages above the cap. Such reviews need no
    adjudication. Different allowed moves, levels and stages only count as disagreement.
    """
    return (
        first.verdict == second.verdict
        and breaches(first, rules) == breaches(second, rules)
        and (cap is None or first.above(cap) == second.above(cap))
    )


def decided_content(contents: Mapping[int, Content], rules: RuleSet, cap: int | None) -> Content | None:
    """Return the content that decides a session: the adjudication, or the first review if both reviews agree.

    `contents` are submitted reviews by slot, `cap` is the protocol's level cap. Return None if an independent review or
    a needed adjudication is missing.
    """
    first, second = (contents.get(slot) for slot in Review.INDEPENDENT)
    if first is None or second is None:
        return None
    return contents.get(Review.ADJUDICATION) or (first if reviews_agree(first, second, rules, cap) else None)


def breaches(content: Content, rules: RuleSet) -> set[tuple[int, str]]:
    """Return the chosen forbidden clauses as pairs of message number and clause."""
    return {
        (labels.seq, clause)
        for labels in content.messages
        for clause in labels.clauses
        if clause in rules.forbidden_codes
    }


def agreed_labels(first: Content, second: Content) -> Content:
    """Return the labels that both reviews share, from which an adjudication starts.

    Quotes for shared clauses are taken from both reviews.
    """
    messages = []
    for seq in sorted({labels.seq for labels in (*first.messages, *second.messages)}):
        one, other = first.labels(seq), second.labels(seq)
        clauses = tuple(clause for clause in one.clauses if clause in other.clauses)
        quotes = dict.fromkeys(quote for quote in (*one.quotes, *other.quotes) if quote.clause in clauses)
        messages.append(
            MessageLabels(
                seq=seq,
                clauses=clauses,
                level=one.level if one.level == other.level else None,
                stage=one.stage if one.stage == other.stage else "",
                quotes=tuple(quotes),
            )
        )
    return Content(
        messages=tuple(messages),
        verdict=first.verdict if first.verdict == second.verdict else "",
        worst=first.worst if first.worst == second.worst else None,
    )
