"""The comparison of one run with the first one."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from benchmark.metrics import (
    FEWEST_TESTED_PROBLEMS,
    TooFewAttemptsError,
    mcnemar,
    paired_contrast,
    paired_difference,
    problems_needed,
    visible_difference,
)
from benchmark.reports.comparison.outcomes import ProblemName, RunOutcomes
from benchmark.reports.comparison.records import Divergence, RunPair
from benchmark.reports.comparison.warnings import pair_warnings
from benchmark.reports.formatting import label
from benchmark.reports.refinement.curves import ResamplingComparison
from benchmark.reports.refinement.runs import NotRefineRunError, compare_with_resampling
from judge import Verdict


def compare_pair(
    first: RunOutcomes,
    other: RunOutcomes,
    problems: Mapping[int, ProblemName],
    failures: str,
    divergences: tuple[Divergence, ...],
) -> RunPair:
    """Compare a run with the first one. `holm` is the unadjusted p: it depends on the other pairs."""
    both = [problem for problem in problems if problem in first.verdicts and problem in other.verdicts]
    known = [problem for problem in both if first.first_verdict(problem) and other.first_verdict(problem)]
    only_first = [one for one in known if first.first_verdict(one) == Verdict.AC != other.first_verdict(one)]
    only_this = [one for one in known if other.first_verdict(one) == Verdict.AC != first.first_verdict(one)]
    first_values = [first.value(problem) for problem in both]
    values = [other.value(problem) for problem in both]
    binary = all(len(one.verdicts[problem]) == 1 for one in (first, other) for problem in both)
    difference = paired_difference(values, first_values, binary=binary) if both else None
    contests = [problems[problem].contest for problem in both]
    by_contest = None
    if all(contests) and len(set(contests)) > 1:
        by_contest = paired_difference(values, first_values, contests)
    needed = None
    if binary or difference is None:
        test, p = "mcnemar", mcnemar(len(only_first), len(only_this))
        discordant = (len(only_first) + len(only_this)) / len(known) if known else 0.0
        visible = visible_difference(len(known), discordant) if known else None
        if difference is not None:
            needed = problems_needed(difference.mean, max(discordant, abs(difference.mean)))
    else:
        test, (p, visible) = "problem_t", _test_means(values, first_values)
    return RunPair(
        run=str(other.run.pk),
        label=label(other.run, of=other.run.dataset.name),
        problems=len(both),
        first_figure=first.figure,
        figure=other.figure,
        first_curve=first.curve(both),
        curve=other.curve(both),
        resampling=_resampling(first, other, failures),
        rejected={"first": first.rejected, "this": other.rejected},
        unpaired={
            "only in the first run": len(first.verdicts.keys() - other.verdicts.keys()),
            "only in this run": len(other.verdicts.keys() - first.verdicts.keys()),
        },
        warnings=pair_warnings(first, other, failures),
        first_value=sum(first_values) / len(both) if both else None,
        value=sum(values) / len(both) if both else None,
        difference=difference.mean if difference else None,
        standard_error=difference.standard_error if difference else None,
        interval=difference.interval if difference else None,
        interval_method=difference.method if difference else "none",
        contest_interval=by_contest.interval if by_contest else None,
        contest_interval_method=by_contest.method if by_contest else "none",
        only_first=tuple(problems[problem].external_id for problem in only_first),
        only_this=tuple(problems[problem].external_id for problem in only_this),
        test=test,
        p=p,
        holm=p,
        inside_noise=False,
        visible=visible,
        needed=needed,
        transitions=_transitions(first, other, known),
        divergences=divergences,
    )


def _test_means(values: Sequence[float], first_values: Sequence[float]) -> tuple[float, float | None]:
    """Return the p of the t test over problems, and the difference that it detects at a power of 80 %.

    Too few problems are not tested: 1 and None. Equal differences have the p at which their bound contains 0.
    """
    if len(values) < FEWEST_TESTED_PROBLEMS:
        return 1.0, None
    found = paired_contrast(values, first_values)
    equal = found.difference.method == "bound"
    p = (1 - abs(found.difference.mean)) ** len(values) if equal else found.p
    return p, found.detectable


def _transitions(
    first: RunOutcomes, other: RunOutcomes, problems: Sequence[int]
) -> dict[str, dict[str, int]]:
    """Return the number of problems by their verdicts in the first and in this run."""
    counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for problem in problems:
        counts[str(first.first_verdict(problem))][str(other.first_verdict(problem))] += 1
    return {verdict: dict(row) for verdict, row in counts.items()}


def _resampling(first: RunOutcomes, other: RunOutcomes, failures: str) -> ResamplingComparison | None:
    """Return a refine run's Refine@K at equal attempts and at equal tokens, if the other run has K attempts."""
    if bool(first.k) == bool(other.k):
        return None
    refined, independent = (first, other) if first.k else (other, first)
    try:
        return compare_with_resampling(refined.run, independent.run, failures=failures)
    except (NotRefineRunError, TooFewAttemptsError, ValueError):
        return None
