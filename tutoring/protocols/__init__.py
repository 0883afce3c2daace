"""Protocols: the rules of tutoring sessions as data, and the two presets.

A preset is frozen as a `Protocol` row the first time it is needed. A changed preset becomes a new version; sessions
keep the version under which they were held.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Annotated, Any, Literal

from django.db import transaction
from pydantic import Field, ValidationError

from benchmark.models import Problem
from tutoring.models import Protocol, Session
from tutoring.models.payloads import Record, describe_faults
from tutoring.rules import RuleSet, SpecificityLevel, TutorMaySay, current_rule_set, rule_set

DraftCheck = Literal["off", "advisory", "blocking"]
"""Whether drafts are compared with the rule set, and whether a message with a blocking detection is refused."""

TutorSees = Literal["full", "verdict", "solved", "nothing"]
"""What a tutor sees after the execution: verdict, number of tests passed, first failing test and its time; the verdict
alone; whether the problem is solved; or nothing."""

UnsolicitedCode = Literal["count", "suppress", "ask_again"]
"""How a program is treated that the tutor did not request: it counts as a generation; it is hidden from the tutor and
does not count; or, in addition, the model must reply again without a program."""

AskLevel = Literal["off", "optional", "required"]
"""Whether the tutor states the level of help of a message before writing it."""

DraftKnows = Literal["none", "analysis", "references"]
"""What the tutor model has for its drafts besides the statement and the dialogue: nothing, the official analysis, or
analysis and reference programs."""

Texts = Annotated[tuple[str, ...], Field(strict=False)]
Limit = Annotated[int, Field(ge=0)]
HelpLevel = Annotated[int, Field(ge=0, le=4)]
"""A level of help of the codebook, from 0 (neutral) to 4 (answer)."""


class RulesError(ValueError):
    """Rules that do not fit the schema; the message names the protocol and the fields."""


class Rules(Record):
    """Budgets and rules of one protocol (USACO paper, sections 5 and D; docs/spec.md 8.1).

    A code generation is a reply that contains a complete program, requested or not. A stopped reply counts if it
    contains a complete program already. Replies without a program are free.

    Fields with a default are absent in protocols that were frozen before the field existed.
    """

    title: str
    language: str
    code_generations: Limit
    executions: Limit
    sessions: Limit
    stops: Limit
    """Replies a tutor may stop in one session: without a limit, stop and retry would be free resampling."""
    may: Texts
    may_not: Texts
    rule_set: int | None = None
    """Version of the codebook; None in protocols that are older than the first codebook."""
    rule_set_hash: str = ""
    tutor_may_say: TutorMaySay = "right_or_wrong"
    draft_check: DraftCheck = "off"
    tutor_sees: TutorSees = "verdict"
    unsolicited_code: UnsolicitedCode = Field(
        default="count", validation_alias="uninvited_code", serialization_alias="uninvited_code"
    )
    debrief: bool = False
    """Whether tutor and model may exchange messages after the end, out of protocol."""
    hide_model: bool = False
    """Whether names of models and vendors in the prose of replies are hidden from the tutor."""
    show_growth: bool = False
    """Whether the tutor may look at the measured growth of programs during the session too, and not only afterwards."""
    sample_runs: Limit = 0
    """Runs of the latest program on the samples in one session, which use no execution; 0: none."""
    ask_level: AskLevel = "off"
    level_cap: HelpLevel | None = None
    """Highest level of help that a message may have; None: no cap. The levels of reviewers decide whether it holds."""
    model_drafts: Limit = 0
    """Drafts of messages that the tutor may request from the tutor model in one session; 0: none. A draft is never sent
    by itself."""
    draft_model: str = ""
    """The tutor model: `provider:model` or LABEL@VERSION; blank: the session's own model."""
    draft_knows: DraftKnows = "none"
    checker_model: str = ""
    """The model that checks drafts too: `provider:model` or LABEL@VERSION; blank: none. Its findings never
    block a message."""
    characters_per_second: int | None = None
    """Pace at which a reply is shown, the same for every model; None: as it arrives."""
    seconds_to_first_word: int | None = None
    """Seconds from the message to the first word of the reply, the same for every model. The reply is buffered until it
    is complete; a reply that takes longer appears when it is complete. None: as soon as there is a word."""
    maximum_seconds_shown: int | None = None
    """Seconds from the first to the last word of the longest reply. A reply that needs more at `characters_per_second`
    appears at a higher rate. After `seconds_to_first_word`, when the reply is complete, the seconds are therefore a
    function of its length alone. None: every reply appears at `characters_per_second`."""
    consent: str = ""
    """Text that a tutor accepts before the first session, as Markdown; empty: no consent is required."""

    def suits(self, problem: Problem) -> bool:
        """Return whether programs in the protocol's language can solve the problem: functional ones need Python."""
        return not problem.signature or self.language == "python"

    @property
    def is_blind(self) -> bool:
        """Whether the tutor must not learn from failures and waits how fast and reliable the model is."""
        return self.hide_model or self.seconds_to_first_word is not None

    @property
    def verdict_policy(self) -> str:
        """What the tutor sees of the verdict, and may say of verdicts, in words for the tutor."""
        growth = f" {_SEES_GROWTH}" if self.show_growth else ""
        samples = f" {_RUNS_SAMPLES.format(self.sample_runs)}" if self.sample_runs else ""
        return f"{_SEES[self.tutor_sees]} {_MAY_SAY[self.tutor_may_say]}{growth}{samples}"

    @property
    def draft_policy(self) -> str:
        """What models do with drafts, in words for the tutor; blank if the protocol names none."""
        requests = _REQUESTS_DRAFTS.format(self.model_drafts) if self.model_drafts else ""
        return " ".join(filter(None, (requests, _CHECKS_DRAFTS if self.checker_model else "")))

    @property
    def codebook(self) -> RuleSet:
        """The rule set of the protocol; the current one in protocols that are older than the first codebook."""
        return current_rule_set() if self.rule_set is None else rule_set(self.rule_set)

    @property
    def help_levels(self) -> tuple[SpecificityLevel, ...]:
        """The levels of help of the protocol's codebook, lowest first."""
        return self.codebook.levels

    @property
    def capped_level(self) -> SpecificityLevel | None:
        """The highest level of help that a message may have; None without a cap."""
        return next((one for one in self.help_levels if one.level == self.level_cap), None)

    def to_json(self) -> dict[str, Any]:
        """Return the rules as `Protocol.rules` stores them."""
        stored = self.model_dump(mode="json", by_alias=True)
        for name in _LATER_SETTINGS:
            if (
                stored[name] == Rules.model_fields[name].default
            ):  # protocols without the field keep their hash
                del stored[name]
        return stored

    @classmethod
    def from_json(cls, data: dict[str, Any], where: str) -> Rules:
        """Return the rules that `to_json` gave, in this or an older version of Hintbench.

        Raises RulesError, which names `where`, for an unknown field, a missing one or a wrong type.
        """
        try:
            return cls.model_validate(data, by_alias=True, by_name=False)
        except ValidationError as error:
            raise RulesError(f"{where}: {describe_faults(error, cls)}") from None

    def with_settings(self, **changes: Any) -> Rules:
        """Return the rules with some fields changed. Raises ValidationError."""
        return Rules(**{**dict(self), **changes})


_LATER_SETTINGS = (
    "show_growth", "sample_runs", "maximum_seconds_shown", "ask_level", "level_cap", "model_drafts", "draft_model",
    "draft_knows", "checker_model",
)  # fmt: skip

_SEES_GROWTH = "During the session you may look at the measured growth of each program’s running time."

_RUNS_SAMPLES = (
    "You may run the latest program on the samples, up to {} times in a session. These runs spend no execution, are "
    "recorded, and reviewers see them."
)

_REQUESTS_DRAFTS = (
    "You may ask a language model for a draft of your next message, up to {} times in a session. You decide what you "
    "send, and the rules apply to it. Drafts are recorded, and reviewers see them."
)

_CHECKS_DRAFTS = (
    "While you pause, your draft is also sent to a language model, which looks for violations. Its findings are "
    "advice and are marked as a model’s."
)

_SEES: dict[TutorSees, str] = {
    "full": "After the execution you see the verdict, how many tests passed, and the first test that failed.",
    "verdict": "After the execution you see the verdict.",
    "solved": "After the execution you see whether the problem is solved.",
    "nothing": "You do not see the result of the execution.",
}
_MAY_SAY: dict[TutorMaySay, str] = {
    "nothing": "Do not tell the model whether a program is right.",
    "right_or_wrong": "You may tell the model whether a program is right, and no more of a verdict.",
    "samples": "You may tell the model whether a program is right and which samples it passes, and no more.",
}

_TUTOR_MAY_SAY: dict[TutorMaySay, str] = {
    "nothing": "The tutor may not tell the model whether a program is right.",
    "right_or_wrong": "The tutor may tell the model whether a program is right, and no more of a verdict.",
    "samples": "The tutor may tell the model whether a program is right and which samples it passes, and no more of a "
    "verdict.",
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
"""Characters per second: about 60 tokens per second, a fast reading pace."""

FIRST_WORD = 20
"""Seconds in which most models without long reasoning complete a reply of about 1 000 tokens."""

LONGEST_SHOWN = 30
"""Seconds in which replies of more than 7 200 characters appear."""

_USACO_2024 = Rules(
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
    hide_model=True,
    characters_per_second=EVEN_PACE,
    seconds_to_first_word=FIRST_WORD,
    maximum_seconds_shown=LONGEST_SHOWN,
    consent=CONSENT,
)

PRESETS: dict[str, Rules] = {
    "usaco-2024": _USACO_2024,
    "icpc-2025": _USACO_2024.with_settings(
        title="ICPC 2025: 3 generations of code, 1 execution, 3 sessions", language="cpp", code_generations=3
    ),
}


def freeze(name: str, rules: Rules) -> Protocol:
    """Return the protocol with exactly these rules: the latest version if it has them, else a new version."""
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
    """Freeze the current version of each preset that has no row yet."""
    for name, rules in PRESETS.items():
        freeze(name, rules)


def current_protocols() -> list[Protocol]:
    """Return the newest version of each protocol, the default protocol first."""
    newest: dict[str, Protocol] = {}
    for protocol in Protocol.objects.order_by("version"):
        newest[protocol.name] = protocol
    return sorted(newest.values(), key=lambda protocol: (protocol.name != "usaco-2024", protocol.name))


def rules_of(protocol: Protocol) -> Rules:
    """Return the rules of a frozen protocol. Raises RulesError."""
    return Rules.from_json(protocol.rules, f"protocol {protocol}")


def rules_of_session(session: Session) -> Rules:
    """Return the rules of a session that was held here, and not imported. Raises RulesError."""
    assert session.protocol is not None
    return rules_of(session.protocol)


def recorded_rules(session: Session) -> Rules | None:
    """Return the rules of the session's protocol, those in its record if it was imported, None if unknown.

    Raises RulesError.
    """
    if session.protocol is not None:
        return rules_of(session.protocol)
    protocol = (session.source.get("head") or {}).get("protocol")
    return Rules.from_json(protocol["rules"], f"session {session.pk}, protocol") if protocol else None


def verdict_rule(rules: Rules | None) -> str:
    """Return what the tutor may say of verdicts (clause F5), in words for reviewers.

    Without known rules, the default protocol's rule applies, as in the automatic checks.
    """
    if rules is None:
        default = _TUTOR_MAY_SAY[PRESETS["usaco-2024"].tutor_may_say]
        return f"The record names no protocol, so the rule of the default protocol applies. {default}"
    return _TUTOR_MAY_SAY[rules.tutor_may_say]


def consent_hash(rules: Rules) -> str:
    """Return the version of the consent text: the sha256 of its UTF-8 bytes."""
    return hashlib.sha256(rules.consent.encode()).hexdigest()
