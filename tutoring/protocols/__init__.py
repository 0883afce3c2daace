"""The rules of a tutoring session as data, and the two presets.

A preset is frozen into a `Protocol` row the first time it is needed; changing a preset here makes a new
version, and old sessions keep the version they were held under.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from django.db import transaction

from tutoring.models import Protocol, Session
from tutoring.rules import TutorMaySay, current_rule_set

DraftCheck = Literal["off", "advisory", "blocking"]
"""Whether a tutor's draft is compared with the rule set, and whether what it may block is refused."""

TutorSees = Literal["full", "verdict", "solved", "nothing"]
"""What a tutor sees after the execution: the verdict with the number of tests passed, the first failing test and its
time; the verdict; whether the problem is solved; or nothing."""

UninvitedCode = Literal["count", "suppress", "ask_again"]
"""What becomes of a program nobody asked for: it counts as a generation; it is hidden from the tutor and does not
count; or the model is also asked once more to answer without one."""


@dataclass(frozen=True)
class Rules:
    """Budgets and rules of one protocol (USACO paper, sections 5 and D; docs/spec.md 8.1).

    A code generation is a reply that contains a complete program, whether or not it was asked for; a stopped
    reply counts when it already holds one. Talk is free.
    """

    title: str
    language: str
    code_generations: int
    executions: int
    sessions: int
    stops: int
    """Replies a tutor may stop in one session: without a limit, stop and retry would be free resampling."""
    may: tuple[str, ...]
    may_not: tuple[str, ...]
    rule_set: int | None = None
    """Version of the codebook; None in protocols that were frozen before there was one."""
    rule_set_hash: str = ""
    tutor_may_say: TutorMaySay = "right_or_wrong"
    draft_check: DraftCheck = "off"
    tutor_sees: TutorSees = "verdict"
    uninvited_code: UninvitedCode = "count"
    debrief: bool = False
    """Whether tutor and model may talk on after the end, out of protocol."""
    characters_per_second: int | None = None
    """Pace at which a reply is handed out, so that its rhythm does not tell the model; None: as it arrives."""
    seconds_to_first_word: int | None = None
    """When a reply's first word appears, counted from the message, so that no wait tells the model: the reply is held
    until it is whole, and appears later only where it was not whole by then. None: as soon as there is a word."""
    consent: str = ""
    """What a tutor agrees to before the first session, as Markdown; nothing is asked where it is empty."""

    @property
    def verdict_policy(self) -> str:
        """In words for the tutor: what is seen of the verdict after an execution, and what may be said of verdicts."""
        return f"{_SEES[self.tutor_sees]} {_MAY_SAY[self.tutor_may_say]}"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Rules:
        return cls(**{**data, "may": tuple(data["may"]), "may_not": tuple(data["may_not"])})


_SEES: dict[TutorSees, str] = {
    "full": "After the execution you see the verdict, how many tests passed, and the first that failed.",
    "verdict": "After the execution you see the verdict.",
    "solved": "After the execution you see whether the problem is solved.",
    "nothing": "You do not see what comes of the execution.",
}
_MAY_SAY: dict[TutorMaySay, str] = {
    "nothing": "Do not tell the model whether a program is right.",
    "right_or_wrong": "You may tell the model whether a program is right, and no more of a verdict.",
    "samples": "You may tell the model whether a program is right and which samples it passes, and no more.",
}

MAY = (
    "name a general concept or a data structure that could help",
    "walk through the input and output of a sample, and say which value is right at a step",
    "give a short, general direction, such as “this may run past the end of the list”",
)
MAY_NOT = (
    "name the algorithm that solves the problem",
    "point at the exact lines that are wrong, or write replacement code",
    "explain the problem, or what the model has misunderstood",
)

CONSENT = (Path(__file__).parent / "consent.md").read_text(encoding="utf-8")

EVEN_PACE = 240
"""Characters a second: about 60 tokens, as fast as one reads along."""

FIRST_WORD = 20
"""Seconds in which most models that do not think at length have answered whole: about 1 000 tokens."""

PRESETS: dict[str, Rules] = {
    "usaco-2024": Rules(
        title="USACO 2024: 5 generations of code, 1 execution, 3 sessions",
        language="python",
        code_generations=5,
        executions=1,
        sessions=3,
        stops=3,
        may=MAY,
        may_not=MAY_NOT,
        rule_set=current_rule_set().version,
        rule_set_hash=current_rule_set().content_hash,
        draft_check="advisory",
        debrief=True,
        characters_per_second=EVEN_PACE,
        seconds_to_first_word=FIRST_WORD,
        consent=CONSENT,
    ),
    "icpc-2025": Rules(
        title="ICPC 2025: 3 generations of code, 1 execution, 3 sessions",
        language="cpp",
        code_generations=3,
        executions=1,
        sessions=3,
        stops=3,
        may=MAY,
        may_not=MAY_NOT,
        rule_set=current_rule_set().version,
        rule_set_hash=current_rule_set().content_hash,
        draft_check="advisory",
        debrief=True,
        characters_per_second=EVEN_PACE,
        seconds_to_first_word=FIRST_WORD,
        consent=CONSENT,
    ),
}


def freeze(name: str, rules: Rules) -> Protocol:
    """The frozen protocol with exactly these rules: an existing version, else a new one."""
    content = rules.to_json()
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    with transaction.atomic():
        latest = Protocol.objects.filter(name=name).order_by("-version").first()
        if latest is not None and latest.content_hash == digest:
            return latest
        return Protocol.objects.create(
            name=name,
            version=latest.version + 1 if latest else 1,
            title=rules.title,
            rules=content,
            content_hash=digest,
        )


def freeze_presets() -> None:
    """Make sure that the current version of each preset has its row."""
    for name, rules in PRESETS.items():
        freeze(name, rules)


def current_protocols() -> list[Protocol]:
    """The newest version of each protocol, the default one first."""
    newest: dict[str, Protocol] = {}
    for protocol in Protocol.objects.order_by("version"):
        newest[protocol.name] = protocol
    return sorted(newest.values(), key=lambda protocol: (protocol.name != "usaco-2024", protocol.name))


def rules_of(protocol: Protocol) -> Rules:
    """The rules a frozen protocol holds."""
    return Rules.from_json(protocol.rules)


def recorded_rules(session: Session) -> dict[str, Any] | None:
    """Return the rules of the session's protocol, those in its record if it was imported, None if unknown."""
    if session.protocol is not None:
        return rules_of(session.protocol).to_json()
    protocol = (session.source.get("head") or {}).get("protocol")
    return protocol["rules"] if protocol else None


def consent_hash(rules: Rules) -> str:
    """The version of the consent text: sha256 of its UTF-8 bytes."""
    return hashlib.sha256(rules.consent.encode()).hexdigest()
