"""All figures of arms for one selection of sessions of people and runs (docs/arms.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter
from urllib.parse import urlencode
from uuid import UUID

from benchmark.models import Run
from benchmark.providers.worlds import StoppingRule
from benchmark.reports.formatting import samples_only_warning
from tutoring.arms.figures.contrasts import (
    Contrast,
    EquivalentFigure,
    Rate,
    RatioFigure,
    Tallies,
    arm_rate,
    attributable_share,
    contrast,
    cut_pairs,
    equivalent,
    human_tallies,
    mean_contrast,
    rate,
    share_of_ceiling,
    with_holm,
    yoked_pairs,
)
from tutoring.arms.figures.rows import (
    PEOPLE,
    ArmRows,
    ComparedProblem,
    ComparedRows,
    LeftOut,
    filter_address,
    read_rows,
    sessions_address,
)
from tutoring.arms.human_sessions import exploratory_except, named_studies
from tutoring.arms.stopping import STOPPING_RULES
from tutoring.models import Study

LADDER = ("again", "neutral", "verdict", "sham", PEOPLE, "analysis", "reference")
"""The arms in the order of the ladder; each adds one thing to the one before."""

CEILINGS = ("analysis", "reference")

BRACKETS: tuple[tuple[StoppingRule, str], ...] = (
    ("perfect", "Guidance gain"),
    ("samples", "Guidance and verification gain"),
)
"""Stopping rules of the neutral arm whose difference from people is a gain, the headline first."""

ALL_SESSIONS, COMPLIANT_SESSIONS = "all sessions", "sessions that reviews found compliant"


@dataclass(frozen=True)
class ArmRate:
    """The solve rates of one arm under each stopping rule, over its own problems. People have only one rate."""

    name: str
    address: str
    warning: str
    simulated: bool
    rates: tuple[tuple[str, Rate], ...]


@dataclass(frozen=True)
class Cell:
    """An arm's solved and all sessions at one problem, and the address of their list."""

    solved: int
    sessions: int
    address: str

    @property
    def all_solved(self) -> bool:
        """Whether all sessions are solved."""
        return self.solved == self.sessions

    @property
    def text(self) -> str:
        """The numbers as "3 of 5"."""
        return f"{self.solved} of {self.sessions}"


@dataclass(frozen=True)
class Matrix:
    """The problems, and the tallies of each arm at them. Cells are made on request: a page shows few of them."""

    columns: tuple[str, ...]
    problems: tuple[ComparedProblem, ...]
    tallies: Mapping[str, Tallies]
    arms: Mapping[str, ArmRows]
    people: Mapping[int, Sequence[UUID]]
    text: str

    def cells(self, problem: ComparedProblem) -> list[Cell | None]:
        """Return the cell of each column at the problem; None where the arm has no session."""
        chains = f"?{urlencode({'problem': problem.external_id})}"
        return [self._cell(name, problem, chains) for name in self.columns]

    def _cell(self, name: str, problem: ComparedProblem, chains: str) -> Cell | None:
        """Return a cell; `chains` is the query of an arm's chains at the problem."""
        tally = self.tallies[name].get(problem.pk)
        if tally is None:
            return None
        if name == PEOPLE:
            address = sessions_address(self.people[problem.pk], otherwise=self.text)
        else:
            address = self.arms[name].address + chains
        return Cell(tally.solved, tally.sessions, address)


@dataclass(frozen=True)
class ArmFigures:
    """The figures of arms of one model under one protocol."""

    text: str
    protocol: str
    model: str
    rule: StoppingRule
    simulated: bool
    people: int
    """Sessions of people that are compared."""
    warnings: tuple[str, ...]
    rates: tuple[ArmRate, ...]
    gains: tuple[Contrast, ...]
    shares: tuple[RatioFigure, ...]
    equivalent: EquivalentFigure | None
    yoked: tuple[Contrast, ...]
    ladder: tuple[Contrast, ...]
    ladder_rates: tuple[tuple[str, Rate], ...]
    """The rates of the ladder's arms over the problems that all of them have."""
    matrix: Matrix
    left_out: tuple[LeftOut, ...]


def arm_figures(
    text: str, runs: Sequence[Run], *, rule_set: int, rule: StoppingRule = "perfect"
) -> ArmFigures:
    """Return the figures of the runs and the sessions of people that fit the text.

    `rule` is the stopping rule of the arms in ladder, yoked comparisons and matrix. Raises ArmsError.
    """
    rows = read_rows(text, runs, rule_set)
    arms = {arm.name: arm for arm in rows.arms}
    people = human_tallies(rows.people)
    tallies: dict[str, Tallies] = {arm.name: arm.tallies(rule) for arm in rows.arms}
    named: dict[str, Tallies] = {PEOPLE: people, **tallies}
    in_ladder = [(name, named[name]) for name in LADDER if named.get(name)]
    neutral = arms.get("neutral")
    order = [*(name for name in LADDER if name in named), *(name for name in named if name not in LADDER)]
    return ArmFigures(
        text=text,
        protocol=rows.protocol,
        model=rows.model,
        rule=rule,
        simulated=rows.simulated,
        people=len(rows.people),
        warnings=tuple(_warnings(rows)),
        rates=tuple(_rates(rows, people, order)),
        gains=tuple(_gains(rows, people, neutral)) if neutral else (),
        shares=tuple(_shares(arms, people)),
        equivalent=equivalent(arms["again"], people) if "again" in arms else None,
        yoked=tuple(_yoked(rows, neutral, rule)),
        ladder=with_holm(_steps(in_ladder)),
        ladder_rates=tuple(_ladder_rates(in_ladder)),
        matrix=_matrix(rows, named, order),
        left_out=tuple(rows.left_out),
    )


def _warnings(rows: ComparedRows) -> list[str]:
    warnings = []
    if rows.simulated:
        warnings.append(
            f"Simulated: {rows.model} is not a language model. These figures test the estimators and say nothing about "
            "any model."
        )
    for arm in rows.arms:
        if arm.run.state != Run.State.FINISHED:
            warnings.append(f"{arm.name}: the run is {arm.run.get_state_display().lower()}, not finished.")
        if arm.run.manifest.get("draws") == "repeat":
            warnings.append(
                f"{arm.name}: the run used stored replies again, which may be those that chose the problems."
            )
    without = sum(problem.samples_only for problem in rows.problems.values())
    warnings += samples_only_warning(without, len(rows.problems))
    if not rows.people:
        warnings.append("No session of a person is compared: see Left out.")
    warnings.append(_exploratory(rows))
    return warnings


def _exploratory(rows: ComparedRows) -> str:
    """Return which of the comparisons are exploratory: all but the contrasts of a frozen study."""
    names = named_studies(rows.text)
    found = Study.objects.exclude(design_hash="").filter(arms__run__in=[arm.run for arm in rows.arms])
    for study in found.distinct() if names else ():
        if names & {study.name, f"{study.name}@{study.version}"}:
            return f"{exploratory_except(study)} The figures of the study itself are on its page."
    return "Exploratory: no frozen study names these comparisons."


def _rates(rows: ComparedRows, people: Tallies, order: Sequence[str]) -> list[ArmRate]:
    arms = {arm.name: arm for arm in rows.arms}
    found = []
    for name in order:
        if name == PEOPLE:
            own = (("", rate(people)),)
            found.append(ArmRate(PEOPLE, filter_address(rows.text), "", rows.simulated, own))
        else:
            arm = arms[name]
            of_rules = tuple((rule, arm_rate(arm, rule)) for rule in STOPPING_RULES)
            found.append(ArmRate(name, arm.address, arm.warning, arm.simulated, of_rules))
    return found


def _gains(rows: ComparedRows, people: Tallies, neutral: ArmRows) -> list[Contrast]:
    """Return the gains in both brackets, over all sessions and over compliant ones."""
    compliant = human_tallies([session for session in rows.people if session.compliant])
    found = []
    for selection, tallies in ((ALL_SESSIONS, people), (COMPLIANT_SESSIONS, compliant)):
        for rule, title in BRACKETS:
            control = f"neutral/{rule}", neutral.tallies(rule)
            if gain := contrast(title, (PEOPLE, tallies), control, selection):
                found.append(gain)
    return found


def _shares(arms: Mapping[str, ArmRows], people: Tallies) -> list[RatioFigure]:
    found = []
    if "neutral" in arms:
        for rule, _ in BRACKETS:
            control = f"neutral/{rule}", arms["neutral"].tallies(rule)
            found.append(attributable_share(control, people))
    for name in CEILINGS:
        if name in arms:
            ceiling = f"{name}/perfect", arms[name].tallies("perfect")
            found.append(share_of_ceiling(ceiling, people))
    return [one for one in found if one is not None]


def _yoked(rows: ComparedRows, neutral: ArmRows | None, rule: StoppingRule) -> list[Contrast]:
    found = []
    if neutral:
        names = PEOPLE, f"neutral/{rule}, cut"
        pairs = cut_pairs(neutral, rows.people, rule)
        title = "Neutral chains cut at the session's generations"
        found.append(mean_contrast(title, names, pairs, ALL_SESSIONS))
    for arm in rows.arms:
        if arm.yoked:
            names = PEOPLE, f"{arm.name}/{rule}"
            title = "Chains from the session's first program"
            found.append(
                mean_contrast(title, names, yoked_pairs(arm, rows.people, rule), "sessions with a chain")
            )
    return [one for one in found if one is not None]


def _steps(in_ladder: Sequence[tuple[str, Tallies]]) -> list[Contrast]:
    """Return the contrasts of each arm with the one below it in the ladder; arms without a run are skipped."""
    steps = []
    for below, above in pairwise(in_ladder):
        if step := contrast(f"{below[0]} → {above[0]}", above, below):
            steps.append(step)
    return steps


def _ladder_rates(in_ladder: Sequence[tuple[str, Tallies]]) -> list[tuple[str, Rate]]:
    common = set.intersection(*(set(tallies) for _, tallies in in_ladder)) if in_ladder else set()
    return [
        (name, rate({problem: tallies[problem] for problem in sorted(common)}))
        for name, tallies in in_ladder
        if common
    ]


def _matrix(rows: ComparedRows, named: Mapping[str, Tallies], order: Sequence[str]) -> Matrix:
    people: dict[int, list[UUID]] = {}
    for session in rows.people:
        people.setdefault(session.problem, []).append(session.pk)
    return Matrix(
        columns=tuple(order),
        problems=tuple(sorted(rows.problems.values(), key=attrgetter("dataset", "external_id"))),
        tallies=named,
        arms={arm.name: arm for arm in rows.arms},
        people=people,
        text=rows.text,
    )
