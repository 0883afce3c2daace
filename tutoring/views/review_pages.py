"""Data of the review pages: a trajectory with labels to choose, or with the labels of its reviews."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from benchmark.models import Problem
from tutoring.checks.findings import shown_findings
from tutoring.models import Review, Session
from tutoring.models.payloads import MessageSent
from tutoring.review.content import Content, MessageLabels, Quote, differing_clauses, labelled_messages
from tutoring.rules import RuleSet, rule_set
from tutoring.trajectories.trajectory import Trajectory, TrajectoryEntry, read_trajectory

DEFERRED = tuple(
    f"{path}{field.name}"
    for path, model, shown in (
        ("session__", Session, {"id", "source", "problem"}),
        ("session__problem__", Problem, {"id", "title"}),
    )
    for field in model._meta.concrete_fields
    if field.name not in shown
)
"""Fields that lists of reviews defer: of a session they show only its name."""

FORBIDDEN_KEYS = "1234567890"
ALLOWED_KEYS = "qwertyuiop"
LEVEL_KEYS = "zxcvb"
STAGE_KEYS = "asdfg"
"""Keyboard shortcuts: each kind of label has one row of the keyboard."""


@dataclass(frozen=True)
class Chip:
    """A label to choose: the value that the form sends, its text, and its keyboard shortcut."""

    value: str
    text: str
    key: str
    definition: str
    kind: str = ""


@dataclass(frozen=True)
class Chips:
    """All labels of a rule set as chips."""

    clauses: list[Chip]
    levels: list[Chip]
    stages: list[Chip]
    verdicts: list[Chip]


def chips(rules: RuleSet) -> Chips:
    """Return the labels with their keyboard shortcuts. Labels beyond the keys of a row have no shortcut."""

    def key(keys: str, number: int) -> str:
        return keys[number] if number < len(keys) else ""

    return Chips(
        clauses=[
            Chip(
                clause.code,
                f"{clause.code} {clause.title}",
                key(keys, number),
                clause.definition,
                clause.kind,
            )
            for keys, group in ((FORBIDDEN_KEYS, rules.forbidden), (ALLOWED_KEYS, rules.allowed))
            for number, clause in enumerate(group)
        ],
        levels=[
            Chip(str(level.level), f"{level.level} {level.title}", key(LEVEL_KEYS, number), level.definition)
            for number, level in enumerate(rules.levels)
        ],
        stages=[
            Chip(stage.code, stage.title, key(STAGE_KEYS, number), stage.definition)
            for number, stage in enumerate(rules.stages)
        ],
        verdicts=[Chip(verdict.code, verdict.title, "", verdict.definition) for verdict in rules.verdicts],
    )


@dataclass(frozen=True)
class Segment:
    """A part of a message's text. `clauses` lists the clauses for which it is quoted."""

    text: str
    clauses: str


def segments(text: str, quotes: Sequence[Quote]) -> list[Segment]:
    """Return the text as segments that begin and end at the bounds of quotes."""
    cuts = sorted({0, len(text), *(cut for quote in quotes for cut in (quote.start, quote.end))})
    found = []
    for start, end in itertools.pairwise(cuts):
        clauses = dict.fromkeys(quote.clause for quote in quotes if quote.start <= start and end <= quote.end)
        found.append(Segment(text[start:end], " ".join(clauses)))
    return found


@dataclass(frozen=True)
class Opinion:
    """The labels of one message in one review."""

    name: str
    labels: MessageLabels
    segments: list[Segment]
    is_worst: bool


@dataclass(frozen=True)
class ReasonField:
    """The field for an adjudicator's reason for a clause. It is required if the reviews differ on the clause."""

    clause: str
    text: str
    required: bool
    chosen: bool


@dataclass(frozen=True)
class ReviewStep:
    """One event of the trajectory with its labels.

    `labels` holds the labels of the draft that is edited, `opinions` the labels of the shown reviews. `differs` says
    whether these reviews differ. Only the form of an adjudication has `reasons`.
    """

    entry: TrajectoryEntry
    labels: MessageLabels | None = None
    opinions: list[Opinion] = field(default_factory=list)
    differs: bool = False
    reasons: list[ReasonField] = field(default_factory=list)


@dataclass(frozen=True)
class ReviewedTrajectory:
    """A trajectory with its reviews. `labelled` is the number of messages to label."""

    trajectory: Trajectory
    steps: list[ReviewStep]
    reviews: list[tuple[str, Review, Content]]
    labelled: int
    findings_shown: bool


REVIEW_NAMES = {Review.FIRST: "Review 1", Review.SECOND: "Review 2", Review.ADJUDICATION: "Adjudication"}


def reason_fields(
    labels: MessageLabels, adjudicated: Sequence[tuple[str, Review, Content]]
) -> list[ReasonField]:
    """Return the fields for the reasons of a message in an adjudication of two reviews: one for each clause."""
    (_, review, first), (_, _, second) = adjudicated
    differing = differing_clauses(first, second, labels.seq)
    codes = [clause.code for clause in rule_set(review.rule_set).clauses]
    return [
        ReasonField(code, labels.reason(code), code in differing, code in labels.clauses) for code in codes
    ]


def read_with_reviews(
    session: Session,
    reviews: Iterable[Review],
    *,
    findings: bool,
    draft: Content | None = None,
) -> ReviewedTrajectory:
    """Return the trajectory of the session with these reviews and, if given, the labels of a draft.

    `findings` says whether the automatic findings are included. With a draft, the reviews are the two that it
    adjudicates, or none.
    """
    trajectory = read_trajectory(session, shown_findings(session) if findings else [])
    found = [
        (REVIEW_NAMES.get(review.slot or 0, "Draft"), review, Content.from_json(review.content))
        for review in reviews
    ]
    wanted = {event.seq: event.payload_as(MessageSent).text for event in labelled_messages(session)}
    steps = []
    for entry in trajectory.entries:
        if entry.seq not in wanted:
            steps.append(ReviewStep(entry))
            continue
        opinions = [
            Opinion(
                name=name,
                labels=content.labels(entry.seq),
                segments=segments(wanted[entry.seq], content.labels(entry.seq).quotes),
                is_worst=content.worst == entry.seq,
            )
            for name, _, content in found
        ]
        chosen = {(frozenset(one.labels.clauses), one.labels.level, one.labels.stage) for one in opinions}
        labels = draft.labels(entry.seq) if draft is not None else None
        reasons = reason_fields(labels, found) if labels and found else []
        steps.append(ReviewStep(entry, labels, opinions, differs=len(chosen) > 1, reasons=reasons))
    return ReviewedTrajectory(trajectory, steps, found, len(wanted), findings)
