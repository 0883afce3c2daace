"""The figures of the ladder of help for a selection of sessions of people (docs/ladder.md)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from benchmark.methods import SettingsError
from benchmark.models import Run
from benchmark.text.numbers import whole_number
from tutoring.arms.figures.rows import (
    PEOPLE,
    ArmsError,
    LeftOut,
    filter_address,
    later_attempts,
    no_sessions,
    read_rows,
    sessions_address,
    uncounted_sessions,
)
from tutoring.arms.human_sessions import (
    exploratory_except,
    human_sessions,
    named_studies,
    names_attempts,
    of_version,
    origin_warnings,
)
from tutoring.arms.methods import NEUTRAL
from tutoring.arms.recorded_starts import STARTS
from tutoring.arms.stopping import is_solved
from tutoring.arms.transcript import PROTOCOL
from tutoring.ladder.estimation import (
    CapComparison,
    CurvePoint,
    HelpedSession,
    IntendedLevels,
    LevelPair,
    compare_caps,
    help_curve,
    intended_levels,
)
from tutoring.models import Arm, Event, Protocol, ReviewOutcome, Session, Study
from tutoring.models.payloads import MessageSent
from tutoring.protocols import rules_of
from tutoring.rules import current_rule_set
from tutoring.studies.analysis import StudyData, neutral_arm

_OF_CAP = {"title", "level_cap"}
"""The rules in which the protocols of two level caps differ."""


class LadderError(ValueError):
    """A request for figures that cannot be computed. The message says why and what to do."""


@dataclass(frozen=True)
class CapArm:
    """An arm of a study under a level cap, with the sessions that obey the cap by the reviewers' levels.

    `obeying` counts among `decided` sessions, whose reviews are decided; the other sessions are `undecided`.
    """

    name: str
    cap: int
    title: str
    address: str
    obeying: int
    decided: int
    undecided: int


@dataclass(frozen=True)
class LadderFigures:
    """The help curve, the comparison by cap if a study is named, and intended against settled levels.

    `sessions` counts those of the curve; `addresses` are those of the curve's points.
    """

    text: str
    study: str
    outcome: str
    simulated: bool
    warnings: tuple[str, ...]
    sessions: int
    curve: tuple[CurvePoint, ...]
    addresses: tuple[str, ...]
    arms: tuple[CapArm, ...]
    comparison: CapComparison | None
    intended: IntendedLevels
    address: str
    left_out: tuple[LeftOut, ...]


def ladder_figures(text: str, *, rule_set: int, neutral: Run | None = None) -> LadderFigures:
    """Return the figures of the sessions of people that fit the text. Raises LadderError.

    A study that the text names is compared by level cap after its end. `neutral` is a run of the neutral arm beside the
    help curve; without it, that of the study is used. `rule_set` is the version whose reviews count.
    """
    study = _named_study(text)
    if study is not None:
        text = of_version(text, study.name, study.version)
    control = neutral_arm(study) if study else None
    neutral = neutral or (control.run if control else None)
    if neutral is not None and neutral.method != NEUTRAL:
        raise LadderError(f"The run {neutral.pk} is a run of {neutral.method}. Name a run of {NEUTRAL}.")
    if neutral is not None and STARTS in neutral.manifest["prepared"]:
        raise LadderError(
            f"The chains of the run {neutral.pk} begin with programs of sessions. Name a run without {STARTS}."
        )
    sessions, left_out = _sessions(text)
    if not sessions:
        raise LadderError(no_sessions(text, left_out))
    outcomes = {
        one.session_id: one
        for one in ReviewOutcome.objects.filter(session__in=[row.pk for row in sessions], rule_set=rule_set)
    }
    reviewed = [row for row in sessions if row.pk in outcomes]
    if unreviewed := [row.pk for row in sessions if row.pk not in outcomes]:
        left_out.append(_left_out(unreviewed, f"not reviewed twice under codebook {rule_set}"))
    beside = _beside_neutral(text, neutral, reviewed, rule_set, left_out) if neutral else {}
    helped = {row.pk: _helped(row, outcomes[row.pk], beside.get(row.pk)) for row in reviewed}
    curve = help_curve([*helped.values()])
    arms, comparison = _by_cap(study, outcomes) if study else ((), None)
    simulated = any(row.scripted for row in sessions)
    return LadderFigures(
        text=text,
        study="" if study is None else f"{study.name}@{study.version}",
        outcome="" if study is None else str(StudyData.of(study).design.primary_outcome),
        simulated=simulated,
        warnings=tuple(_warnings(study, simulated=simulated)),
        sessions=len(reviewed),
        curve=tuple(curve),
        addresses=tuple(
            sessions_address([pk for pk, one in helped.items() if one.highest <= point.level], otherwise=text)
            for point in curve
        ),
        arms=arms,
        comparison=comparison,
        intended=intended_levels(_level_pairs(reviewed, outcomes)),
        address=filter_address(text),
        left_out=tuple(left_out),
    )


def _left_out(sessions: Sequence[UUID], reason: str) -> LeftOut:
    return LeftOut(PEOPLE, "sessions", len(sessions), reason, sessions_address(sessions))


def _named_study(text: str) -> Study | None:
    """Return the study that the text names; None without one. Raises LadderError for several or a locked one."""
    names = named_studies(text)
    if not names:
        return None
    if len(names) > 1:
        raise LadderError(f"{text!r} names several studies. Name one of them.")
    name, at, version = names.pop().partition("@")
    rows = Study.objects.exclude(design_hash="").filter(name=name)
    if at:
        rows = rows.filter(version=whole_number(version) or 0)
    study = rows.order_by("-version").first()
    if study is None:
        raise LadderError(f"There is no frozen study {name}{at}{version}.")
    if study.state in Study.OFFERING:
        # A look shows the figures that it records, which are not by cap.
        raise LadderError(f"The figures of {study} by level cap are locked until it is stopped or closed.")
    return study


def _sessions(text: str) -> tuple[list[Session], list[LeftOut]]:
    """Return the sessions to count and those left out with the reason. Raises LadderError."""
    try:
        counted, left_out = human_sessions(text), uncounted_sessions(text)
    except SettingsError as error:
        raise LadderError(str(error)) from None
    if not names_attempts(text):
        left_out += later_attempts(text, counted)
        counted = counted.filter(number=1)
    return list(counted.select_related("model").order_by("tutor", "opened_at", "pk")), left_out


def _beside_neutral(
    text: str, neutral: Run, sessions: Sequence[Session], rule_set: int, left_out: list[LeftOut]
) -> dict[UUID, float]:
    """Return the share of neutral chains that are right within the generations of each session that fits them.

    The others, and the chains that do not count, are left out with the reason. Raises LadderError.
    """
    try:
        rows = read_rows(text, [neutral], rule_set, fewest=0, protocols=_protocols_apart_from_cap(neutral))
    except ArmsError as error:
        raise LadderError(str(error)) from None
    generations = {row.pk: row.code_generations for row in sessions}
    for reason, unpaired in rows.unpaired.items():
        if alone := [pk for pk in unpaired if pk in generations]:
            left_out.append(_left_out(alone, f"in the curve, but not beside the neutral arm: {reason}"))
    left_out += [one for one in rows.left_out if one.arm != PEOPLE]
    [arm] = rows.arms
    return {
        one.pk: _share_right(arm.chains[one.problem], generations[one.pk])
        for one in rows.people
        if one.pk in generations
    }


def _share_right(chains: Mapping[str, int], generations: int) -> float:
    right = sum(count * is_solved("perfect", programs[:generations]) for programs, count in chains.items())
    return right / sum(chains.values())


def _protocols_apart_from_cap(run: Run) -> set[str]:
    """Return the hashes of the protocols that differ from the run's in title and level cap at most."""
    hashed = run.manifest["prepared"][PROTOCOL]["content_hash"]
    rules = {
        one.content_hash: {name: value for name, value in one.rules.items() if name not in _OF_CAP}
        for one in Protocol.objects.all()
    }
    return {other for other, found in rules.items() if found == rules.get(hashed)}


def _helped(session: Session, outcome: ReviewOutcome, neutral: float | None) -> HelpedSession:
    return HelpedSession(
        problem=str(session.problem_id),
        solved=session.outcome == Session.Outcome.SOLVED,
        highest=max(outcome.mean_levels.values(), default=0.0),
        neutral=neutral,
    )


def _by_cap(
    study: Study, outcomes: dict[UUID, ReviewOutcome]
) -> tuple[tuple[CapArm, ...], CapComparison | None]:
    """Return the arms of the study by level cap and their comparison. Raises LadderError for two arms of one cap."""
    data = StudyData.of(study)
    top = current_rule_set().levels[-1].level
    caps: dict[int, Arm] = {}
    for arm in study.arms.filter(kind=Arm.Kind.HUMAN).select_related("protocol", "model"):
        assert arm.protocol is not None
        rules = rules_of(arm.protocol)
        cap = top if rules.level_cap is None else rules.level_cap
        if cap in caps:
            raise LadderError(
                f"The arms {caps[cap].name} and {arm.name} of {study} have the same level cap {cap}. The ladder "
                "compares arms that differ in the cap; protocol=NAME selects sessions for the help curve alone."
            )
        caps[cap] = arm
    if len(caps) < 2:
        raise LadderError(
            f"{study} has fewer than two arms of people with different level caps. protocol=NAME selects sessions for "
            "the help curve alone."
        )
    control = neutral_arm(study)
    named = (control.name, data.any_right(control)) if control else None
    comparison = compare_caps(
        {cap: (arm.name, data.by_problem(arm.name)) for cap, arm in caps.items()}, named
    )
    found = []
    for cap in sorted(caps):
        sessions = [
            row.session_id for row in data.rows if row.arm_id == caps[cap].pk and row.session_id is not None
        ]
        decided = [outcomes[pk] for pk in sessions if pk in outcomes and outcomes[pk].verdict]
        found.append(
            CapArm(
                name=caps[cap].name,
                cap=cap,
                title=current_rule_set().levels[cap].title,
                address=sessions_address(
                    sessions,
                    otherwise=f"study={study.name}@{study.version},attempt=any,arm={caps[cap].name}",
                ),
                obeying=sum(max(one.decided_levels.values(), default=0) <= cap for one in decided),
                decided=len(decided),
                undecided=len(sessions) - len(decided),
            )
        )
    return tuple(found), comparison


def _level_pairs(sessions: Sequence[Session], outcomes: dict[UUID, ReviewOutcome]) -> list[LevelPair]:
    """Return intended and settled level of each message that has both. `sessions` are in the order of each tutor."""
    by_tutor: dict[Any, list[UUID]] = defaultdict(list)
    for row in sessions:
        by_tutor[row.tutor_id].append(row.pk)
    late = {pk for own in by_tutor.values() for pk in own[(len(own) + 1) // 2 :]}
    problems = {row.pk: str(row.problem_id) for row in sessions}
    events = Event.objects.filter(session__in=problems, kind=Event.Kind.MESSAGE, version__gte=3)
    pairs = []
    for event in events.order_by("session", "seq"):
        intended = event.payload_as(MessageSent).intended_level
        settled = outcomes[event.session_id].mean_levels.get(event.seq)
        if intended is not None and settled is not None:
            session = event.session_id
            pairs.append(LevelPair(str(session), problems[session], intended, settled, session in late))
    return pairs


def _warnings(study: Study | None, *, simulated: bool) -> list[str]:
    warnings = origin_warnings(study, simulated=simulated)
    if study is None:
        warnings.append("Exploratory: no frozen study is named, so no level is compared by randomisation.")
    else:
        warnings.append(exploratory_except(study))
        if differing := _differing_settings(study):
            warnings.append(f"The arms also differ in: {', '.join(differing)}.")
        if _neutral_differs(study):
            warnings.append("The neutral arm has another protocol or model than every arm of people.")
    return warnings


def _differing_settings(study: Study) -> list[str]:
    """Return what differs between the arms of people besides the cap."""
    arms = list(study.arms.filter(kind=Arm.Kind.HUMAN).select_related("protocol"))
    rules = [dict(arm.protocol.rules) for arm in arms if arm.protocol]
    names = {name for one in rules for name in one} - _OF_CAP
    differing = sorted(name for name in names if len({repr(one.get(name)) for one in rules}) > 1)
    return [*differing, *(["model"] if len({arm.model_id for arm in arms}) > 1 else [])]


def _neutral_differs(study: Study) -> bool:
    """Return whether no arm of people has the model and, apart from the cap, the protocol of the neutral arm's run."""
    control = neutral_arm(study)
    if control is None or control.run is None:
        return False
    comparable = study.arms.filter(kind=Arm.Kind.HUMAN, model=control.model)
    return not comparable.filter(protocol__content_hash__in=_protocols_apart_from_cap(control.run)).exists()
