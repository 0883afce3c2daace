"""The methods text of a study, generated from its rows: design, arms, analysis, deviations, limitations, citations."""

from __future__ import annotations

from collections import Counter

from benchmark.reports.formatting import INTERVAL_NAMES
from tutoring.models import Deviation, Study
from tutoring.studies.analysis import Figures
from tutoring.studies.design import Design, FrozenDesign, parse_frozen
from tutoring.studies.flow import Flow
from tutoring.studies.preregistration import analysis_plan, arm_text, assumptions, corrections

_NEWCOMBE = (
    "Newcombe, R. G. (1998). Improved confidence intervals for the difference between binomial proportions based on "
    "paired data. Statistics in Medicine, 17, 2635–2650."
)
_HOLM = (
    "Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics, 6, "
    "65–70."
)
_VILLE = "Ville, J. (1939). Étude critique de la notion de collectif. Gauthier-Villars."
_MCNEMAR = (
    "McNemar, Q. (1947). Note on the sampling error of the difference between correlated proportions or percentages. "
    "Psychometrika, 12, 153–157."
)


_LAST_PROGRAM = (
    "A session of an automatic arm counts by the program that it executed: its last one, unless the arm learns the "
    "verdicts. Tutors may execute any program, so their difference from such an arm also contains the value of "
    "stopping in time."
)


def last_program_note(design: Design) -> str:
    """Return the limitation of contrasts between tutors and automatic arms; blank if the design lacks either."""
    return _LAST_PROGRAM if design.human_arms and design.automatic_arms else ""


def methods_text(study: Study, flow: Flow, figures: Figures | None) -> str:
    """Return the methods section as Markdown. `figures` is None while the results are locked."""
    frozen = parse_frozen(study.design)
    return (
        "\n\n".join(
            [
                "## Methods",
                _design(study, frozen, flow),
                "\n".join(["### Arms", "", *(f"* {arm_text(arm)}" for arm in frozen.design.arms)]),
                "\n".join(["### Analysis", "", *(f"* {sentence}" for sentence in analysis_plan(frozen))]),
                *_corrections(frozen),
                _result(figures),
                _deviations(study),
                "\n".join(
                    ["### Limitations", "", *(f"* {one}" for one in _limitations(frozen, flow, figures))]
                ),
                "\n".join(["### References", "", *(f"* {one}" for one in _references(frozen))]),
            ]
        )
        + "\n"
    )


def _design(study: Study, frozen: FrozenDesign, flow: Flow) -> str:
    design = frozen.design
    rehearsal = " It is a rehearsal and no evidence." if study.rehearsal else ""
    strata = "without strata" if design.strata == "none" else f"stratified by {design.strata}"
    return (
        "### Design\n\n"
        f"“{design.title}” is version {study.version} of the study {study.name}, SHA-256 of the design "
        f"{study.design_hash}.{rehearsal} "
        f"Of {flow.considered} problems considered, {flow.eligible} were eligible. Each was assigned to "
        f"{design.tutors_per_problem} of {len(design.tutors)} tutors by a seed that the server drew when the "
        f"design was frozen ({_day(study.frozen_at)}), {strata}. The study is {study.state}. Of "
        f"{flow.assigned} assignments, {sum(arm.boxes['analysed'] for arm in flow.arms)} were analysed."
    )


def _corrections(frozen: FrozenDesign) -> list[str]:
    found = corrections(frozen)
    return ["\n".join(["### Corrections", "", *(f"* {one}" for one in found)])] if found else []


def _day(moment: object) -> str:
    return str(moment)[:10]


def _result(figures: Figures | None) -> str:
    if figures is None or figures.primary is None:
        return "### Result\n\nThe results are locked, or no pair is complete."
    one = figures.primary
    p = "not tested" if one.p is None else f"p = {one.p:.3g}"
    early = (
        " The study stopped early, so the estimate and the interval are biased upwards."
        if figures.biased_upwards
        else ""
    )
    simulated = " Some arm has a simulated or scripted model." if figures.simulated else ""
    return (
        f"### Result\n\nOutcome: {figures.outcome}. {one.first} minus {one.second} over {one.problems} problems: "
        f"{100 * one.difference:+.1f} points (95 % interval {100 * one.low:+.1f} to {100 * one.high:+.1f}, "
        f"{INTERVAL_NAMES[one.method]}; {p}). These problems could show a difference of {100 * one.detectable:.0f} "
        f"points.{early}{simulated}"
    )


def _deviations(study: Study) -> str:
    rows = list(study.deviations.all())
    counts = Counter(Deviation.Kind(row.kind).label for row in rows)
    if not rows:
        return "### Deviations\n\nNone."
    summary = [f"* {number} × {label}" for label, number in sorted(counts.items())]
    return "\n".join(["### Deviations", "", *summary])


def _limitations(frozen: FrozenDesign, flow: Flow, figures: Figures | None) -> list[str]:
    found = assumptions(frozen)
    found += filter(None, [last_program_note(frozen.design)])
    found += [one.detail for one in frozen.gate if not one.problem]
    if problems := {one.problem for one in frozen.gate if one.problem}:
        found.append(f"{len(problems)} problems were used in spite of findings of the gate.")
    if frozen.seen.sessions or frozen.seen.chains:
        found.append(
            f"The problems had been used before: {frozen.seen.sessions} sessions and {frozen.seen.chains} chains."
        )
    missing = sum(sum(arm.not_analysed.values()) for arm in flow.arms)
    if missing:
        found.append(
            f"{missing} ended {'session has' if missing == 1 else 'sessions have'} no known outcome."
        )
    if figures is not None and figures.withdrawn_unknown:
        one = figures.withdrawn_unknown == 1
        found.append(
            f"{figures.withdrawn_unknown} {'session was' if one else 'sessions were'} withdrawn before the outcome was "
            f"known. {'It counts' if one else 'They count'} as not solved."
        )
    if figures is not None and len(figures.snapshots) > len(figures.arms):
        found.append(
            "Providers returned more than one model name in some arm; the figures by name are listed apart."
        )
    return found


def _references(frozen: FrozenDesign) -> list[str]:
    found = [_NEWCOMBE, _MCNEMAR]
    if frozen.design.secondary_contrasts:
        found.append(_HOLM)
    if frozen.design.stopping.rule == "sign e-value":
        found.append(_VILLE)
    return sorted(found)
