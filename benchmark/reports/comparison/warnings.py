"""Warnings about a pair of runs: everything besides the method that may explain a difference."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from benchmark.models import Generation, Run
from benchmark.reports.comparison.outcomes import RunOutcomes
from benchmark.reports.formatting import percent

_COMPARED_ENTRIES = {
    ("dataset", "content_hash"): "The problems changed between the runs",
    ("policy",): "The runs were judged under different policies",
    ("environment", "judge_version"): "The runs were judged by different versions of the judge",
    ("environment", "compiler"): "The runs were judged with different compilers",
}
"""Entries of the manifest that must be equal, with the warning if they differ."""

_LONGEST_VALUE = 60
"""Values with fewer characters are quoted in the warning."""


def pair_warnings(first: RunOutcomes, other: RunOutcomes, failures: str) -> tuple[str, ...]:
    """Return the warnings about the comparison of two runs."""
    return (
        *_different_inputs(first, other),
        *_imported(first.run, other.run),
        *_repeated_replies(first.run, other.run),
        *_unusable_figures(first.run, other.run),
        *_different_attempts(first, other),
        *_permanent_failures(first, other, failures),
    )


def _different_inputs(first: RunOutcomes, other: RunOutcomes) -> list[str]:
    warnings = []
    if first.run.dataset_id != other.run.dataset_id:
        if not first.verdicts.keys() & other.verdicts.keys():
            return ["The runs are on different datasets: no problem is in both."]
        warnings.append(
            "The runs are on different datasets: only problems with the same identifier and content are compared."
        )
    for path, words in _COMPARED_ENTRIES.items():
        one, two = _entry(first.run.manifest, path), _entry(other.run.manifest, path)
        if one != two:
            warnings.append(words + (f": {one} and {two}." if len(str(one)) < _LONGEST_VALUE else "."))
    return warnings


def _imported(first: Run, other: Run) -> list[str]:
    return [
        f"{name} was imported from {run.source['site']}, where its programs were judged."
        for run, name in ((first, "The first run"), (other, "This run"))
        if run.source
    ]


def _entry(manifest: Mapping[str, Any], path: Sequence[str]) -> Any:
    value: Any = manifest
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _repeated_replies(first: Run, other: Run) -> list[str]:
    first_replies, other_replies = (_paid_replies(run) for run in (first, other))
    if other_replies and other_replies <= first_replies:
        return [
            "This run repeats stored replies of the base run: the variance between them is zero by construction."
        ]
    return []


def _paid_replies(run: Run) -> set[int]:
    """Return the keys of the paid replies that the replies of the run are or repeat."""
    rows = Generation.objects.filter(work_item__run=run).order_by()
    return {reused or pk for pk, reused in rows.values_list("pk", "reused_id")}


def _unusable_figures(first: Run, other: Run) -> list[str]:
    warnings = []
    for run, name in ((first, "The base run"), (other, "This run")):
        if run.state != Run.State.FINISHED:
            warnings.append(f"{name} is not finished: only its finished attempts are compared.")
        if run.manifest.get("scripted_model"):
            warnings.append(f"{name} has scripted replies: its figures say nothing about any model.")
    return warnings


def _different_attempts(first: RunOutcomes, other: RunOutcomes) -> list[str]:
    """Return the warning, with scores at equal attempts, that the runs allow different numbers of attempts."""
    if first.figure == other.figure:
        return []
    k = min(first.k or 1, other.k or 1)
    scores = " and ".join(_score_within(first, other, k))
    return [
        f"{first.figure} is compared with {other.figure}, which allow different numbers of attempts. "
        f"At {k} attempt{'s' if k > 1 else ''} each: {scores}."
    ]


def _score_within(first: RunOutcomes, other: RunOutcomes, k: int) -> list[str]:
    """Return the scores of both runs within k attempts, over the problems that both tried."""
    problems = [problem for problem in first.verdicts if problem in other.verdicts]
    scores = []
    for one in (first, other):
        curve = one.curve(problems)
        value = curve[k - 1] if curve else fmean(map(one.value, problems)) if problems else None
        scores.append(f"{'Refine' if one.k else 'pass'}@{k} {percent(value)}")
    return scores


def _permanent_failures(first: RunOutcomes, other: RunOutcomes, failures: str) -> list[str]:
    treated = "counted as wrong" if failures == "wrong" else "left out"
    return [
        f"{one.rejected} attempt{'s' if one.rejected > 1 else ''} of {name} failed permanently: {treated} (--failures)."
        for one, name in ((first, "the base run"), (other, "this run"))
        if one.rejected
    ]
