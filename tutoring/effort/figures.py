"""The figures of effort: minutes and dollars per solved problem, the cost plane, and learning inside a study.

No figure ranks people: a ranking by speed would reward hints that give the solution away.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from statistics import fmean

from django.db.models import Max

from benchmark.methods import SettingsError
from benchmark.metrics import Range, RatioSet, ratio_set
from benchmark.model_calls.budget import Spending
from benchmark.model_calls.ledger import Account
from benchmark.models.spending import MICRO
from tutoring.arms.figures.rows import PEOPLE, LeftOut, no_sessions, sessions_address, uncounted_sessions
from tutoring.arms.human_sessions import human_sessions, narrowed, origin_warnings
from tutoring.arms.methods import POLICIES
from tutoring.effort.learning import LearningSlope, OrderedSession, learning_slope
from tutoring.effort.projection import VERSION
from tutoring.models import Arm, Session, SessionEffort, Study
from tutoring.studies.analysis import StudyData, neutral_arm, results_unlocked
from tutoring.studies.estimation import Contrast, contrast

FEWEST_PEOPLE = 5
"""The fewest tutors of a group whose figures are shown to people who are not admins."""


class EffortError(ValueError):
    """A request for figures that cannot be computed. The message says why and what to do."""


@dataclass(frozen=True)
class GroupEffort:
    """The effort of the sessions of one model under one protocol, or of one arm of a study.

    `minutes_per_solved` and `dollars_per_solved` are ratios of means over problems with their 95 % sets; the dollars
    are None without a wage or if the cost of a session is unknown. `hidden` says that the group has too few people to
    be shown to the reader: then no figure is set.
    """

    name: str
    tutors: int
    sessions: int
    solved: int
    problems: int
    address: str
    hidden: bool
    minutes: float | None = None
    unknown_messages: int = 0
    minutes_per_solved: RatioSet | None = None
    model_dollars: float | None = None
    dollars: float | None = None
    dollars_per_solved: RatioSet | None = None


@dataclass(frozen=True)
class CostPoint:
    """An arm in the cost plane: its gain over the neutral arm, and the mean dollars of a session; None: unknown."""

    arm: str
    gain: Contrast
    dollars: float | None


@dataclass(frozen=True)
class EffortFigures:
    """The figures of a selection of sessions. `measured_until` is the time of the newest projected row."""

    text: str
    wage: float | None
    simulated: bool
    warnings: tuple[str, ...]
    groups: tuple[GroupEffort, ...]
    plane: tuple[CostPoint, ...]
    learning: tuple[tuple[str, LearningSlope], ...]
    learning_refusal: str
    left_out: tuple[LeftOut, ...]
    measured_until: datetime | None


def effort_figures(
    text: str, *, wage: float | None = None, sees_all: bool = False, study: Study | None = None
) -> EffortFigures:
    """Return the figures of the sessions of people that fit the text, or of a study's. Raises EffortError.

    `wage` is in US dollars per hour; None: unknown. `sees_all` shows groups of fewer than 5 people too.
    """
    if study is not None:
        if not results_unlocked(study):
            raise EffortError(f"The results of {study} are locked until a look or the end of the study.")
        text = f"study={study.name}@{study.version},attempt=any"
    try:
        sessions = list(
            human_sessions(text)
            .select_related("effort", "protocol", "assignment__arm")
            .order_by("opened_at", "pk")
        )
        left_out = uncounted_sessions(text)
    except SettingsError as error:
        raise EffortError(str(error)) from None
    if not sessions:
        raise EffortError(no_sessions(text, left_out))
    measured = [one for one in sessions if _effort(one) is not None]
    if not measured:
        raise EffortError(
            f"No session of a person that fits {text!r} has a measured effort. Workers measure closed sessions; "
            "manage.py effort measures them at once."
        )
    if unmeasured := [one.pk for one in sessions if _effort(one) is None]:
        address = sessions_address(unmeasured)
        left_out.append(LeftOut(PEOPLE, "sessions", len(unmeasured), "not measured yet", address))
    groups = _grouped(measured, study)
    learning, learning_refusal = _learning(study, measured)
    newest = SessionEffort.objects.filter(version=VERSION).aggregate(newest=Max("measured_at"))["newest"]
    simulated = any(one.scripted for one in measured)
    return EffortFigures(
        text=text,
        wage=wage,
        simulated=simulated,
        warnings=tuple(_warnings(study, simulated=simulated)),
        groups=tuple(
            _group(name, rows, wage, sees_all=sees_all, address=_address(text, rows, study))
            for name, rows in sorted(groups.items())
        ),
        plane=tuple(_plane(study, groups, wage, sees_all=sees_all)) if study else (),
        learning=learning,
        learning_refusal=learning_refusal,
        left_out=tuple(left_out),
        measured_until=newest,
    )


def _effort(session: Session) -> SessionEffort | None:
    found: SessionEffort | None = getattr(session, "effort", None)
    return found if found is not None and found.version == VERSION else None


def _measured(session: Session) -> SessionEffort:
    """Return the row of a session that has one."""
    found = _effort(session)
    assert found is not None
    return found


def _grouped(sessions: Sequence[Session], study: Study | None) -> dict[str, list[Session]]:
    groups: dict[str, list[Session]] = defaultdict(list)
    for one in sessions:
        name = one.assignment.arm.name if study else f"{one.model_spec}, {one.protocol}"
        groups[name].append(one)
    return groups


def _address(text: str, sessions: Sequence[Session], study: Study | None) -> str:
    """Return the address of the list of a group's sessions; `text` selects those of all groups."""
    first = sessions[0]
    if study:
        group = f"arm={first.assignment.arm.name}"
    else:
        assert first.protocol is not None
        group = f"model={first.model_spec},protocol={first.protocol.name}@{first.protocol.version}"
    return sessions_address([one.pk for one in sessions], otherwise=narrowed(text, group))


def _group(
    name: str, sessions: Sequence[Session], wage: float | None, *, sees_all: bool, address: str
) -> GroupEffort:
    tutors = len({one.tutor_id for one in sessions})
    solved = sum(one.outcome == Session.Outcome.SOLVED for one in sessions)
    efforts = [_measured(one) for one in sessions]
    by_problem: dict[int | None, list[Session]] = defaultdict(list)
    for one in sessions:
        by_problem[one.problem_id].append(one)
    hidden = tutors < FEWEST_PEOPLE and not sees_all
    if hidden:
        return GroupEffort(name, tutors, len(sessions), 0, len(by_problem), address, hidden=True)
    minutes = [fmean(_measured(one).seconds for one in rows) / 60 for rows in by_problem.values()]
    shares = [fmean(one.outcome == Session.Outcome.SOLVED for one in rows) for rows in by_problem.values()]
    costs = [[session_dollars(one, wage) for one in rows] for rows in by_problem.values()]
    known = [[cost for cost in rows if cost is not None] for rows in costs]
    all_known = all(len(one) == len(other) for one, other in zip(costs, known, strict=True))
    dollars = [fmean(rows) for rows in known] if all_known else None
    models = [one.microdollars for one in efforts]
    return GroupEffort(
        name=name,
        tutors=tutors,
        sessions=len(sessions),
        solved=solved,
        problems=len(by_problem),
        address=address,
        hidden=False,
        minutes=sum(one.seconds for one in efforts) / 60,
        unknown_messages=sum(one.unknown for one in efforts),
        minutes_per_solved=_ratio_of_costs(minutes, shares),
        model_dollars=None if None in models else sum(one or 0 for one in models) / MICRO,
        dollars=None if dollars is None else sum(cost for rows in known for cost in rows),
        dollars_per_solved=_ratio_of_costs(dollars, shares) if dollars else None,
    )


def _ratio_of_costs(costs: Sequence[float], solved: Sequence[float]) -> RatioSet:
    """Return the ratio of two means over problems with its set, without negative values: no cost is negative."""
    found = ratio_set(costs, solved, largest=max(costs))
    kept = [one for one in found.ranges if one.high is None or one.high >= 0]
    return replace(found, ranges=tuple(Range(max(one.low or 0.0, 0.0), one.high) for one in kept))


def session_dollars(session: Session, wage: float | None) -> float | None:
    """Return the dollars of a session: tokens times price, and minutes times wage; None if either is unknown."""
    effort = _measured(session)
    if wage is None or effort.microdollars is None:
        return None
    return float(effort.microdollars / MICRO + effort.seconds / 3600 * wage)


def _plane(
    study: Study, groups: dict[str, list[Session]], wage: float | None, *, sees_all: bool
) -> list[CostPoint]:
    """Return gain over the neutral arm and mean cost of a session for every other arm of the study.

    Arms of automatic sessions count as the neutral arm does, because both hold sessions to the last generation.
    """
    neutral = neutral_arm(study)
    if neutral is None:
        return []
    data = StudyData.of(study)
    control = data.any_right(neutral)
    points = []
    for arm in study.arms.exclude(pk=neutral.pk).select_related("run"):
        outcomes = data.any_right(arm) if arm.method in POLICIES else data.by_problem(arm.name)
        gain = contrast((arm.name, neutral.name), outcomes, control)
        if gain is not None:
            points.append(CostPoint(arm.name, gain, _arm_dollars(arm, groups, wage, sees_all=sees_all)))
    return points


def _arm_dollars(
    arm: Arm, groups: dict[str, list[Session]], wage: float | None, *, sees_all: bool
) -> float | None:
    """Return the mean dollars of a session of the arm; None: unknown, or too few people to be shown."""
    if arm.kind == Arm.Kind.AUTOMATIC:
        run = arm.run
        chains = Session.objects.filter(work_item__run=run, invalidated=False).count() if run else 0
        cost = Account.of_run(run).microdollars(Spending.of_run(run)) if run else None
        return None if cost is None or not chains else cost / MICRO / chains
    sessions = groups.get(arm.name, [])
    if len({one.tutor_id for one in sessions}) < FEWEST_PEOPLE and not sees_all:
        return None
    costs = [session_dollars(one, wage) for one in sessions]
    known = [one for one in costs if one is not None]
    return fmean(known) if known and len(known) == len(costs) else None


def _learning(
    study: Study | None, sessions: Sequence[Session]
) -> tuple[tuple[tuple[str, LearningSlope], ...], str]:
    """Return the slopes of solved and minutes by the tutor's k-th session, or why there are none."""
    if study is None:
        return (), "Learning is shown only inside a study, where the order of sessions is random."
    places: dict[int | None, int] = defaultdict(int)
    solved, minutes = [], []
    for one in sessions:
        places[one.tutor_id] += 1
        keys = str(one.tutor_id), str(one.problem_id), places[one.tutor_id]
        solved.append(OrderedSession(*keys, float(one.outcome == Session.Outcome.SOLVED)))
        minutes.append(OrderedSession(*keys, _measured(one).seconds / 60))
    slopes = [("solved", learning_slope(solved)), ("active minutes", learning_slope(minutes))]
    found = tuple((name, slope) for name, slope in slopes if slope is not None)
    return found, "" if found else "A slope needs at least 5 tutors with 8 sessions each."


def _warnings(study: Study | None, *, simulated: bool) -> list[str]:
    warnings = origin_warnings(study, simulated=simulated)
    return [*warnings, "Exploratory: no frozen study names figures of effort."]
