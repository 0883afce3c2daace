"""The figures of a study, by assignment (intention to treat), and the lock on them until a look or the end."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from benchmark.providers import is_scripted, parse_model_spec
from tutoring.arms.methods import NEUTRAL
from tutoring.arms.recorded_starts import STARTS
from tutoring.arms.stopping import is_solved
from tutoring.models import Arm, Assignment, Look, Session, Study
from tutoring.models.payloads import Record
from tutoring.studies.design import Design, PrimaryOutcome, parse_frozen
from tutoring.studies.estimation import (
    ArmRate,
    Contrast,
    EValue,
    Outcomes,
    StartedProblem,
    arm_rate,
    contrast,
    e_value,
    settled_problems,
    sign_differences,
    with_holm,
)
from tutoring.studies.outcomes import AssignmentOutcome, analysed_rows, assignment_outcomes, snapshots
from tutoring.studies.preregistration import corrections


class SnapshotRate(Record):
    """The rate of the sessions of one arm in which the provider returned this model name."""

    snapshot: str
    rate: ArmRate


class Figures(Record):
    """The figures of a study at one time. `pairs` counts the complete pairs of the primary contrast.

    `later_pairs` are complete too, but an earlier pair waits for an outcome (`settled_problems`).
    `pairs_beyond_maximum` are complete too: the primary contrast and the e-value leave them out.

    `stop` says that the stopping rule ends the study now. `biased_upwards` marks the estimate and the interval of a
    study that stopped early: both overstate the difference on average.
    """

    outcome: PrimaryOutcome
    pairs: int
    later_pairs: int = 0
    # Looks of earlier versions have the former name.
    pairs_beyond_maximum: int = Field(0, validation_alias="pairs_after_the_end")
    maximum: int
    primary: Contrast | None
    completed_only: Contrast | None
    secondary: list[Contrast]
    arms: list[ArmRate]
    snapshots: list[SnapshotRate]
    e_value: EValue | None
    stop: bool
    stop_reason: str
    biased_upwards: bool
    simulated: bool
    """Whether some arm has a scripted or simulated model."""
    rehearsal: bool
    withdrawn_unknown: int = 0
    """Sessions that were withdrawn before their outcome was known. They count as not solved."""
    corrections: list[str] = []
    """What the analysis does otherwise than the preregistration, as sentences."""

    def to_json(self) -> dict[str, Any]:
        """Return all fields as JSON values."""
        return self.model_dump(mode="json")

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Figures:
        """Return the figures that `to_json` gave."""
        return cls.model_validate_json(json.dumps(data))


@dataclass(frozen=True)
class StudyData:
    """The assignments of a study with their outcomes, read once for figures and flow."""

    study: Study
    design: Design
    rows: list[Assignment]
    outcomes: dict[int, AssignmentOutcome]

    @classmethod
    def of(cls, study: Study) -> StudyData:
        """Read the study. Four queries."""
        rows = analysed_rows(study)
        return cls(study, parse_frozen(study.design).design, rows, assignment_outcomes(study, rows))

    def value(self, row: Assignment) -> int | None:
        """Return the primary outcome of an assignment, or None if it has none or it is unknown."""
        found = self.outcomes.get(row.pk)
        return None if found is None else found.values.get(self.design.primary_outcome)

    def started(self, *arms: str) -> list[StartedProblem]:
        """Return the problems that each of these arms has, and on which every session of tutors was opened.

        Excluded and expired assignments do not count; a replacement that is not opened keeps its problem out.
        """
        living: dict[str, list[Assignment]] = {}
        for row in self.rows:
            if row.arm.name in arms and row.state not in Assignment.LEFT_OUT:
                living.setdefault(str(row.problem), []).append(row)
        return [
            StartedProblem(
                max(row.opened_at.timestamp() if row.opened_at else 0.0 for row in rows),
                problem,
                any(self.value(row) is None for row in rows),
            )
            for problem, rows in living.items()
            if {row.arm.name for row in rows} == set(arms)
            and not any(row.tutor_id and row.state in Assignment.UNOPENED for row in rows)
        ]

    def settled(self, *arms: str) -> list[str]:
        """Return the problems whose outcomes in these arms count now, in the order of opening."""
        return settled_problems(self.started(*arms))

    @property
    def maximum_started(self) -> bool:
        """Whether people hold, or held, sessions on as many pairs as the stopping rule uses at most."""
        maximum = self.design.stopping.maximum
        opened = sum(one.at > 0 for one in self.started(*self.design.primary_contrast))
        return maximum is not None and opened >= maximum

    def by_problem(self, arm: str) -> dict[str, list[float]]:
        """Return the outcomes of an arm on its settled problems."""
        return _only(self.known(arm), self.settled(arm))

    def known(
        self, arm: str, chosen: Callable[[Assignment], bool] = lambda _: True
    ) -> dict[str, list[float]]:
        """Return the known outcomes of an arm by problem. Those that are known first are no random selection."""
        found: dict[str, list[float]] = {}
        for row in self.rows:
            value = self.value(row)
            if row.arm.name == arm and value is not None and chosen(row):
                found.setdefault(str(row.problem), []).append(value)
        return found

    def any_right(self, arm: Arm) -> dict[str, list[float]]:
        """Return the outcomes of an automatic arm by problem under the rule `perfect`.

        Help is compared with this: a tutor may execute any program, but the neutral arm executes its last one. Outcomes
        that need reviews are those of `by_problem`, because reviewers have not seen that execution.
        """
        if self.design.primary_outcome != "solved":
            return self.by_problem(arm.name)
        sessions = Session.objects.filter(work_item__run=arm.run_id).order_by()
        programs = dict(sessions.values_list("work_item", "program_outcomes"))
        found: dict[str, list[float]] = {}
        for row in self.rows:
            # A chain that never finished is excluded at the end of the study, and keeps its work item.
            if row.arm_id == arm.pk and row.work_item_id and self.value(row) is not None:
                solved = is_solved("perfect", programs.get(row.work_item_id, ""))
                found.setdefault(str(row.problem), []).append(float(solved))
        return _only(found, self.settled(arm.name))

    def withdrawn_unknown(self, row: Assignment) -> bool:
        """Return whether the session was withdrawn before its primary outcome was known."""
        kept = bool(row.outcomes) and self.value(row) is not None
        return kept and self.design.primary_outcome not in row.outcomes

    def completed(self, row: Assignment) -> bool:
        """Return whether the session of the assignment ended with a verdict."""
        return self.outcomes[row.pk].completed


def current_figures(study: Study, data: StudyData | None = None) -> Figures:
    """Return the figures of all complete pairs. Pages show them only where `visible_figures` does."""
    data = data or StudyData.of(study)
    frozen = parse_frozen(study.design)
    design = frozen.design
    first, second = design.primary_contrast
    started = data.started(first, second)
    settled = settled_problems(started)
    maximum = design.stopping.maximum or len(frozen.problems)
    pairs = settled[:maximum]
    outcomes = {arm.name: data.known(arm.name) for arm in design.arms}
    value = None
    if design.stopping.rule == "sign e-value":
        differences = sign_differences(outcomes[first], outcomes[second], pairs)
        value = e_value(differences, design.stopping.threshold)
    reached = value is not None and value.reached_at is not None
    full = design.stopping.maximum is not None and len(pairs) >= maximum
    return Figures(
        outcome=design.primary_outcome,
        pairs=len(pairs),
        later_pairs=sum(not one.waits for one in started) - len(settled),
        pairs_beyond_maximum=len(settled) - len(pairs),
        maximum=maximum,
        primary=contrast((first, second), _only(outcomes[first], pairs), _only(outcomes[second], pairs)),
        completed_only=contrast(
            (first, second),
            _only(data.known(first, data.completed), pairs),
            _only(data.known(second, data.completed), pairs),
        ),
        secondary=_secondary(data, outcomes),
        arms=[arm_rate(arm.name, data.by_problem(arm.name)) for arm in design.arms],
        snapshots=_snapshot_rates(data),
        e_value=value,
        stop=reached or full,
        stop_reason=_stop_reason(value, len(pairs), maximum, full=full),
        biased_upwards=(reached or _stopped_by_e_value(study)) and len(pairs) < len(frozen.problems),
        simulated=_simulated(study),
        rehearsal=study.rehearsal,
        withdrawn_unknown=sum(map(data.withdrawn_unknown, data.rows)),
        corrections=corrections(frozen),
    )


def _stopped_by_e_value(study: Study) -> bool:
    """Return whether a look stopped the study by its e-value: later corrections of outcomes or rules may lower it."""
    stops = study.looks.filter(decision=Look.Decision.STOP)
    return any(
        Figures.from_json(figures).biased_upwards for figures in stops.values_list("figures", flat=True)
    )


def _stop_reason(value: EValue | None, pairs: int, maximum: int, *, full: bool) -> str:
    if value is not None and value.reached_at is not None:
        return f"The e-value reached {value.threshold:g} at pair {value.reached_at}."
    return f"All {pairs} of {maximum} pairs are complete." if full else ""


def _only(outcomes: Outcomes, problems: Iterable[str]) -> dict[str, list[float]]:
    return {problem: list(outcomes[problem]) for problem in problems if problem in outcomes}


def _secondary(data: StudyData, outcomes: dict[str, dict[str, list[float]]]) -> list[Contrast]:
    found = []
    for pair in data.design.secondary_contrasts:
        first, second = (_only(outcomes[arm], data.settled(*pair)) for arm in pair)
        found.append(contrast(pair, first, second))
    return with_holm(one for one in found if one is not None)


def _snapshot_rates(data: StudyData) -> list[SnapshotRate]:
    names = snapshots(data.study)
    rates = []
    for arm in data.design.arms:
        settled = data.settled(arm.name)
        of_arm = {
            names.get(row.pk, "unknown")
            for row in data.rows
            if row.arm.name == arm.name and data.value(row) is not None and str(row.problem) in settled
        }
        for name in sorted(of_arm):
            chosen = data.known(arm.name, lambda row, name=name: names.get(row.pk, "unknown") == name)  # type: ignore[misc]
            rates.append(SnapshotRate(snapshot=name, rate=arm_rate(arm.name, _only(chosen, settled))))
    return rates


def neutral_arm(study: Study) -> Arm | None:
    """Return the first neutral arm with a run whose chains do not begin with programs of sessions."""
    arms = study.arms.filter(method=NEUTRAL, run__isnull=False).select_related("run")
    return arms.exclude(run__manifest__prepared__has_key=STARTS).first()


def _simulated(study: Study) -> bool:
    specs = study.arms.values_list("model__spec", flat=True)
    return any(is_scripted(parse_model_spec(spec)) for spec in specs)


def results_unlocked(study: Study) -> bool:
    """Return whether the figures may be shown: after a look, or once the study is stopped or closed."""
    return study.state in (Study.State.STOPPED, Study.State.CLOSED) or study.looks.exists()


def visible_figures(study: Study) -> Figures | None:
    """Return the figures that may be shown: those of the last look, or the current ones after the end; else None."""
    if study.state in (Study.State.STOPPED, Study.State.CLOSED):
        return current_figures(study)
    last = study.looks.order_by("-pk").first()
    return None if last is None else Figures.from_json(last.figures)


def sessions_so_far(study: Study) -> tuple[int, int]:
    """Return the number of assignments that are done and of all that are not excluded or expired."""
    rows = study.assignments.exclude(state__in=Assignment.LEFT_OUT)
    return rows.filter(state=Assignment.State.DONE).count(), rows.count()
