"""What a reviewer says about a session: labels for each message, quoted passages, and a verdict on the whole."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django.http import QueryDict

from tutoring.models import Event, Review, Session
from tutoring.rules import RuleSet

PREFIX = 32
"""Characters before a quoted passage that are kept with it, to find it again should the text be rendered anew."""

LONGEST_TEXT = 10_000
"""Characters of a note or a comment."""

COMPLIANT = "compliant"
"""The verdict of the codebook that says that nothing was broken."""


class MalformedContentError(ValueError):
    """Labels that do not fit the session or the rule set; the message says which and why."""


@dataclass(frozen=True)
class Quote:
    """A passage that shows why a clause was chosen: code points `start` to `end` of the message's text."""

    clause: str
    start: int
    end: int
    exact: str
    prefix: str

    @property
    def field(self) -> str:
        """As the form sends it; the text is taken from the message itself."""
        return json.dumps({"clause": self.clause, "start": self.start, "end": self.end})


@dataclass(frozen=True)
class MessageLabels:
    """The labels of the tutor's message that is event `seq`. `level` is how specific it is (ordinal)."""

    seq: int
    clauses: tuple[str, ...] = ()
    level: int | None = None
    stage: str = ""
    quotes: tuple[Quote, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Content:
    """A whole review, as drafted or submitted. `worst` is the message that the verdict rests on."""

    messages: tuple[MessageLabels, ...] = ()
    verdict: str = ""
    worst: int | None = None
    comment: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values (lists, not tuples)."""
        value: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return value

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Content:
        """What `to_json` gave; an empty object is an empty review."""
        messages = tuple(
            MessageLabels(
                **{
                    **labels,
                    "clauses": tuple(labels["clauses"]),
                    "quotes": tuple(Quote(**quote) for quote in labels["quotes"]),
                }
            )
            for labels in data.get("messages", ())
        )
        return cls(**{**data, "messages": messages})

    def labels(self, seq: int) -> MessageLabels:
        """The labels of one message; empty ones where nothing was chosen."""
        return next((labels for labels in self.messages if labels.seq == seq), MessageLabels(seq))


def labelled_messages(session: Session) -> list[Event]:
    """The tutor's messages that have a text; the others sent the problem alone. The debrief is under no rule."""
    messages = session.events.filter(kind=Event.Kind.MESSAGE)
    return [event for event in messages if event.data["text"].strip() and not event.out_of_protocol]


def read_form(form: QueryDict, messages: Sequence[Event], rules: RuleSet) -> Content:
    """The review that a form holds, however incomplete. Raises MalformedContentError.

    Fields: verdict, worst, comment; and with the number of a message: clause-N (several), level-N, stage-N,
    note-N, quote-N (several; JSON with clause, start and end).
    """
    labels = []
    for event in messages:
        seq, text = event.seq, event.data["text"]
        labels.append(
            MessageLabels(
                seq=seq,
                clauses=tuple(form.getlist(f"clause-{seq}")),
                level=_number(form.get(f"level-{seq}", "")),
                stage=form.get(f"stage-{seq}", ""),
                quotes=tuple(_quote(value, text) for value in form.getlist(f"quote-{seq}")),
                note=_text(form.get(f"note-{seq}", "")),
            )
        )
    content = Content(
        messages=tuple(one for one in labels if one != MessageLabels(one.seq)),
        verdict=form.get("verdict", ""),
        worst=_number(form.get("worst", "")),
        comment=_text(form.get("comment", "")),
    )
    check(content, messages, rules)
    return content


def _number(value: str) -> int | None:
    if not value:
        return None
    try:
        return int(value)
    except ValueError:
        raise MalformedContentError(f"{value!r} is not a whole number.") from None


def _text(value: str) -> str:
    return value.replace("\r\n", "\n")


def _quote(value: str, text: str) -> Quote:
    try:
        data = json.loads(value)
        start, end = int(data["start"]), int(data["end"])
        clause = str(data["clause"])
    except (ValueError, TypeError, KeyError):
        raise MalformedContentError("A quote must be JSON with clause, start and end.") from None
    return Quote(clause, start, end, text[start:end], text[max(0, start - PREFIX) : max(0, start)])


def check(content: Content, messages: Sequence[Event], rules: RuleSet) -> None:
    """Raises MalformedContentError for what no page could have sent: unknown clauses, passages outside their message."""
    texts = {event.seq: event.data["text"] for event in messages}
    known = {clause.code for clause in rules.clauses}
    levels = {level.level for level in rules.levels}
    stages = {stage.code for stage in rules.stages}
    seqs = [labels.seq for labels in content.messages]
    if len(set(seqs)) != len(seqs):
        raise MalformedContentError("A message has labels twice.")
    for labels in content.messages:
        here = f"message {labels.seq}"
        if labels.seq not in texts:
            raise MalformedContentError(f"There is no {here} that could have labels.")
        if set(labels.clauses) - known or len(set(labels.clauses)) != len(labels.clauses):
            raise MalformedContentError(f"The clauses of {here} are not ones of rule set {rules.version}.")
        if labels.level is not None and labels.level not in levels:
            raise MalformedContentError(f"The level of {here} is not one of rule set {rules.version}.")
        if labels.stage and labels.stage not in stages:
            raise MalformedContentError(f"The stage of {here} is not one of rule set {rules.version}.")
        for quote in labels.quotes:
            fits = 0 <= quote.start < quote.end <= len(texts[labels.seq])
            if not fits or texts[labels.seq][quote.start : quote.end] != quote.exact:
                raise MalformedContentError(f"A quote does not stand in {here}.")
            if quote.clause not in labels.clauses:
                raise MalformedContentError(f"A quote in {here} belongs to a clause that is not chosen there.")
    if content.verdict and content.verdict not in {verdict.code for verdict in rules.verdicts}:
        raise MalformedContentError(f"The verdict is not one of rule set {rules.version}.")
    if content.worst is not None and content.worst not in texts:
        raise MalformedContentError(f"There is no message {content.worst} that could be the worst.")
    for text in (content.comment, *(labels.note for labels in content.messages)):
        if "\0" in text or len(text) > LONGEST_TEXT:
            raise MalformedContentError(f"A text holds a NUL, or more than {LONGEST_TEXT} characters.")


@dataclass(frozen=True)
class Gap:
    """What keeps a review from being submitted: a sentence, and the message it is about, if one."""

    sentence: str
    seq: int | None = None


def gaps(content: Content, messages: Sequence[Event], rules: RuleSet, *, adjudicates: bool) -> list[Gap]:
    """What is still missing, or contradicts itself; empty when the review may be submitted."""
    found = []
    broken = {seq for seq, _ in breaches(content, rules)}
    for event in messages:
        labels = content.labels(event.seq)
        if not labels.clauses:
            found.append(Gap(f"Message {event.seq} has no clause yet.", event.seq))
        if labels.level is None:
            found.append(Gap(f"Message {event.seq} has no level yet.", event.seq))
    if not content.verdict:
        found.append(Gap("The verdict on the session is missing."))
    elif content.verdict == COMPLIANT and broken:
        numbers = ", ".join(map(str, sorted(broken)))
        found.append(
            Gap(f"A compliant session breaks no clause, but a forbidden one is chosen in {numbers}.")
        )
    elif content.verdict != COMPLIANT and broken and content.worst not in broken:
        found.append(Gap("Say which message is the worst: one with a forbidden clause."))
    elif content.verdict != COMPLIANT and not broken and not content.comment.strip():
        found.append(Gap("No message breaks a clause: say in the comment what was broken."))
    if adjudicates and not content.comment.strip():
        found.append(Gap("An adjudication needs its reason."))
    return found


def agree(first: Content, second: Content, rules: RuleSet) -> bool:
    """Whether two reviews need no third one: the same verdict, and the same forbidden clauses in each message.

    Different allowed moves, levels and stages are measured as disagreement, but decide nothing.
    """
    return first.verdict == second.verdict and breaches(first, rules) == breaches(second, rules)


def decide(contents: Mapping[int, Content], rules: RuleSet) -> Content | None:
    """Return the content that settles a session: the adjudication, or the first review if both reviews agree.

    `contents` are submitted reviews by their place. None while an independent review or a decision is missing.
    """
    first, second = (contents.get(place) for place in Review.INDEPENDENT)
    if first is None or second is None:
        return None
    return contents.get(Review.ADJUDICATION) or (first if agree(first, second, rules) else None)


def breaches(content: Content, rules: RuleSet) -> set[tuple[int, str]]:
    """The forbidden clauses with the messages they are chosen in."""
    return {
        (labels.seq, clause)
        for labels in content.messages
        for clause in labels.clauses
        if clause in rules.forbidden_codes
    }


def agreed_labels(first: Content, second: Content) -> Content:
    """What both reviews say: where an adjudication begins. Quotes of either are kept for the common clauses."""
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
