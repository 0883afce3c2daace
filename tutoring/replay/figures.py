"""The figures of a replay as a JSON document, from its rows (docs/replay.md)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from django.db.models import Count, Q

from benchmark.providers import parse_model_spec
from benchmark.reports.cutoffs import cutoff_of
from benchmark.reports.groups import side_of
from benchmark.reports.memory import SIDES
from tutoring.models import HintCard, Placement, ReplayDraw, ReplayRun
from tutoring.models.program_scores import ScoreFigures
from tutoring.replay.applicability import label_figures, settled_label
from tutoring.replay.estimates import (
    CONTRASTS,
    Arm,
    Gain,
    Placed,
    Share,
    gain,
    history_gain,
    kind_gains,
    misfit_harm,
    portability,
    receptivity,
    uptake_profile,
)
from tutoring.replay.near_misses import Scored, validity
from tutoring.rules import rule_set

OVERLAPS = tuple(step / 10 for step in range(11))
"""The least overlaps of the curve over σ."""

SCORES = ("share of tests passed", "correct but slow", "distance to the program before (negative)")


def figures_of(run: ReplayRun) -> dict[str, Any]:
    """Return all figures of a run. Placements without draws of an arm count in no figure of this arm."""
    rows = _placements(run)
    shared, hinted = _counts(run)
    placed = [_placed(row, run, shared, hinted) for row in rows]
    carried = portability(placed)
    return {
        "problems": len({one.problem for one in placed}),
        "placements": len(placed),
        "draws": sum(total for _, total in (*shared.values(), *hinted.values())),
        "unjudged": ReplayDraw.objects.filter(state__run=run, right=None).count(),
        **_gains(placed),
        "portability": carried and _share(carried),
        "misfit_harm": _gain(harm) if (harm := misfit_harm(placed)) else None,
        "history": _history(run, placed),
        "kinds": [_gain(one) for one in kind_gains(placed)],
        "uptake": _uptake(run),
        "overlaps": _overlap_curve(rows, placed) if run.mode == ReplayRun.Mode.OWN else [],
        "near_misses": _near_misses(rows, hinted),
        "labels": _labels(rows),
        "cutoff": _by_cutoff(run, rows, placed),
        "dialogues": _by_dialogue(run, rows, placed),
    }


def _placements(run: ReplayRun) -> list[Placement]:
    return list(
        Placement.objects.filter(state__run=run)
        .select_related("card__event__session", "state__problem", "state__judgement")
        .prefetch_related("labels")
        .order_by("pk")
    )


def _history(run: ReplayRun, placed: Sequence[Placed]) -> dict[str, Any] | None:
    """Return the gain of the same model's latest finished transplant of such cards, less that of this run.

    None for a transplant, without such a replay, and without a common problem.
    """
    if run.mode != ReplayRun.Mode.OWN:
        return None
    transplant = ReplayRun.objects.filter(
        model=run.model,
        selection=run.selection,
        mode=ReplayRun.Mode.TRANSPLANT,
        state=ReplayRun.State.FINISHED,
    ).first()
    if transplant is None:
        return None
    counts = _counts(transplant)
    found = history_gain([_placed(row, transplant, *counts) for row in _placements(transplant)], placed)
    return None if found is None else {**_gain(found), "replay": str(transplant.pk)}


def _gains(placed: Sequence[Placed]) -> dict[str, Any]:
    """Return the gains and the receptivity of the placements."""
    found = receptivity(placed)
    return {
        "gains": [_gain(one) for name in CONTRASTS if (one := gain(name, placed))],
        "receptivity": found
        and {
            "problems": found.problems,
            "placements": found.placements,
            "ratio": found.found.ratio,
            "ranges": [list(one) for one in found.found.ranges],
        },
    }


def _by_cutoff(run: ReplayRun, rows: Sequence[Placement], placed: Sequence[Placed]) -> dict[str, Any] | None:
    """Return the gains for problems before and after the cutoff of the model; None if it is unknown."""
    cutoff = run.model.cutoff or cutoff_of(parse_model_spec(run.model_spec).model)
    if cutoff is None:
        return None
    sides = [side_of(row.state.problem.contest_date, cutoff) for row in rows]
    return {"date": cutoff.isoformat(), "groups": _groups(SIDES, sides, placed)}


DIALOGUES = ("the model itself", "other models")
"""Whose dialogue a transplant continues. The model's own dialogues calibrate the figures of the others."""


def _by_dialogue(
    run: ReplayRun, rows: Sequence[Placement], placed: Sequence[Placed]
) -> list[dict[str, Any]] | None:
    """Return the gains of a transplant by the model that held the dialogue; None for own programs."""
    if run.mode != ReplayRun.Mode.TRANSPLANT:
        return None
    held = [DIALOGUES[row.card.event.session.model_spec != run.model_spec] for row in rows]
    return _groups(DIALOGUES, held, placed)


def _groups(names: Sequence[str], of_rows: Sequence[str], placed: Sequence[Placed]) -> list[dict[str, Any]]:
    """Return the gains of each group of placements that is not empty."""
    return [
        {"side": name, **_gains([one for one, own in zip(placed, of_rows, strict=True) if own == name])}
        for name in names
        if name in of_rows
    ]


Counts = dict[tuple[int, str], tuple[int, int]]
"""Right and judged draws by state and arm, or by state and card."""


def _counts(run: ReplayRun) -> tuple[Counts, Counts]:
    draws = ReplayDraw.objects.filter(state__run=run, right__isnull=False).order_by()
    counted = {"won": Count("pk", filter=Q(right=True)), "total": Count("pk")}
    shared = draws.exclude(arm="hint").values_list("state_id", "arm").annotate(**counted)
    hinted = draws.filter(arm="hint").values_list("state_id", "card_id").annotate(**counted)
    return (
        {(state, arm): (won, total) for state, arm, won, total in shared},
        {(state, str(card)): (won, total) for state, card, won, total in hinted},
    )


def _placed(row: Placement, run: ReplayRun, shared: Counts, hinted: Counts) -> Placed:
    rates: dict[Arm, float] = {}
    arms: tuple[Arm, ...] = ("neutral", "verdict", "sham")
    for arm in arms:
        if counts := shared.get((row.state_id, arm)):
            rates[arm] = counts[0] / counts[1]
    if counts := hinted.get((row.state_id, str(row.card_id))):
        rates["hint"] = counts[0] / counts[1]
    own = run.mode == ReplayRun.Mode.OWN
    return Placed(
        str(row.state.problem_id),
        rates,
        row.fit if own else None,  # type: ignore[arg-type]
        settled_label(_values(row)),
        kinds=_kinds(row.card),
    )


def _values(row: Placement) -> list[str]:
    """Return the labels of a placement, in the order in which they were given first."""
    return [one.value for one in row.labels.all()]


def _labels(rows: Iterable[Placement]) -> dict[str, Any] | None:
    """Return the labels by signature class and the agreement of reviewers; None if no placement is to be labelled."""
    found = label_figures(
        [(str(row.state.problem_id), row.fit, _values(row)) for row in rows if row.label_order is not None]
    )
    if found is None:
        return None
    return {
        "table": {fit: dict(counts) for fit, counts in found.table.items()},
        "pairs": found.pairs,
        "alpha": found.alpha,
        "interval": list(found.alpha_interval) if found.alpha_interval else None,
    }


def _kinds(card: HintCard) -> dict[str, frozenset[str]]:
    """Return the settled labels of a card by dimension; a move is an allowed clause."""
    forbidden = rule_set(card.rule_set).forbidden_codes if card.rule_set else frozenset()
    return {
        "level": frozenset([str(card.level)] if card.level is not None else []),
        "stage": frozenset([card.stage] if card.stage else []),
        "move": frozenset(set(card.clauses) - set(forbidden)),
    }


def _uptake(run: ReplayRun) -> dict[str, Any]:
    draws = ReplayDraw.objects.filter(state__run=run, right__isnull=False).exclude(uptake="")
    by_arm: dict[str, list[tuple[str, Any]]] = {}
    for arm, problem, kind in draws.order_by().values_list("arm", "state__problem_id", "uptake"):
        by_arm.setdefault(arm, []).append((str(problem), kind))
    return {
        arm: {kind: _share(share) for kind, share in uptake_profile(by_arm[arm]).items()}
        for arm in ReplayDraw.Arm.values
        if arm in by_arm
    }


def _overlap_curve(rows: Sequence[Placement], placed: Sequence[Placed]) -> list[dict[str, Any]]:
    """Return the gain of the placements whose overlap is at least each of OVERLAPS."""
    curve = []
    for least in OVERLAPS:
        chosen = [
            one
            for row, one in zip(rows, placed, strict=True)
            if row.overlap is not None and row.overlap >= least
        ]
        if (found := gain("gain", chosen)) is not None:
            curve.append({"overlap": least} | _gain(found))
    return curve


def _near_misses(rows: Iterable[Placement], hinted: Counts) -> dict[str, Any]:
    """Return the validity of each score of the program before the hint; None where it cannot be computed."""
    scored: dict[str, list[Scored]] = {name: [] for name in SCORES}
    for row in rows:
        counts = hinted.get((row.state_id, str(row.card_id)))
        figures = ScoreFigures.of_judgement(row.state.judgement)
        if counts is None or figures is None or not figures.total:
            continue
        distance = row.card.distance if row.state.program == row.card.program else None
        values = (
            (figures.passed or 0) / figures.total,
            None if figures.correct_but_slow is None else float(figures.correct_but_slow),
            None if distance is None else -distance,
        )
        for name, value in zip(SCORES, values, strict=True):
            if value is not None:
                scored[name].append(Scored(str(row.state.problem_id), value, *counts))
    found = {name: validity(of_score) for name, of_score in scored.items()}
    return {name: None if one is None else asdict(one) for name, one in found.items()}


def _gain(one: Gain) -> dict[str, Any]:
    low, high = one.interval.interval if one.interval else (None, None)
    return {
        "name": one.name,
        "first": one.first,
        "second": one.second,
        "problems": one.problems,
        "placements": one.placements,
        "mean": one.mean,
        "low": low,
        "high": high,
        "method": one.interval.method if one.interval else None,
        "p": one.p,
        "adjusted": one.adjusted,
        "detectable": one.detectable,
    }


def _share(one: Share) -> dict[str, Any]:
    low, high = one.interval.interval if one.interval else (None, None)
    return {
        "problems": one.problems,
        "placements": one.placements,
        "mean": one.mean,
        "low": low,
        "high": high,
    }
