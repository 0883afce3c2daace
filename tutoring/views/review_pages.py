"""What the pages of a review show: the whole trajectory, with labels to choose or labels that were chosen."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from benchmark.models import Problem
from tutoring.checks.findings import shown_findings
from tutoring.models import Review, Session
from tutoring.review.content import Content, MessageLabels, Quote, labelled_messages
from tutoring.rules import RuleSet
from tutoring.trajectories.trajectory import Entry, Trajectory, read_trajectory

UNREAD = tuple(
    f"{path}{field.name}"
    for path, model, read in (
        ("session__", Session, {"id", "source", "problem"}),
        ("session__problem__", Problem, {"id", "title"}),
    )
    for field in model._meta.concrete_fields
    if field.name not in read
)
"""What lists of reviews need not read: of a session they have its name."""

FORBIDDEN_KEYS = "1234567890"
ALLOWED_KEYS = "qwertyuiop"
LEVEL_KEYS = "zxcvb"
STAGE_KEYS = "asdfg"
"""The four rows of the keyboard, one for each kind of label."""


@dataclass(frozen=True)
class Chip:
    """A label to choose: the value that is sent, the text beside it, and its key."""

    value: str
    text: str
    key: str
    definition: str
    kind: str = ""


@dataclass(frozen=True)
class Chips:
    """All labels of a rule set."""

    clauses: list[Chip]
    levels: list[Chip]
    stages: list[Chip]
    verdicts: list[Chip]


def chips(rules: RuleSet) -> Chips:
    """The labels with their keys. A rule set with more labels than keys leaves the last ones to the mouse."""

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
    """A piece of a message; `clauses` names those it was quoted for."""

    text: str
    clauses: str


def segments(text: str, quotes: Sequence[Quote]) -> list[Segment]:
    """The whole text, cut wherever a quoted passage begins or ends."""
    cuts = sorted({0, len(text), *(cut for quote in quotes for cut in (quote.start, quote.end))})
    pieces = []
    for start, end in itertools.pairwise(cuts):
        here = dict.fromkeys(quote.clause for quote in quotes if quote.start <= start and end <= quote.end)
        pieces.append(Segment(text[start:end], " ".join(here)))
    return pieces


@dataclass(frozen=True)
class Opinion:
    """What one review says of one message."""

    name: str
    labels: MessageLabels
    segments: list[Segment]
    is_worst: bool


@dataclass(frozen=True)
class Step:
    """One event of the trajectory. `labels` is set where labels are chosen, `opinions` where they are read."""

    entry: Entry
    labels: MessageLabels | None = None
    opinions: list[Opinion] = field(default_factory=list)
    differs: bool = False


@dataclass(frozen=True)
class Reading:
    """A trajectory with reviews of it."""

    trajectory: Trajectory
    steps: list[Step]
    reviews: list[tuple[str, Review, Content]]
    labelled: int
    findings_shown: bool


NAMES = {Review.FIRST: "Review 1", Review.SECOND: "Review 2", Review.ADJUDICATION: "Adjudication"}


def read(
    session: Session,
    reviews: Iterable[Review],
    *,
    findings: bool,
    draft: Content | None = None,
) -> Reading:
    """The session with these reviews beside its messages, with the labels of a draft where one is given.

    `findings` says whether the automatic findings are shown.
    """
    trajectory = read_trajectory(session, shown_findings(session) if findings else [])
    found = [
        (NAMES.get(review.slot or 0, "Draft"), review, Content.from_json(review.content))
        for review in reviews
    ]
    wanted = {event.seq: event.data["text"] for event in labelled_messages(session)}
    steps = []
    for entry in trajectory.entries:
        if entry.seq not in wanted:
            steps.append(Step(entry))
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
        steps.append(Step(entry, labels, opinions, differs=len(chosen) > 1))
    return Reading(trajectory, steps, found, len(wanted), findings)
