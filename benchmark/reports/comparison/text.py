"""The comparison of runs as text for terminals."""

from collections.abc import Mapping, Sequence

from benchmark.metrics import Interval, Range, RatioSet
from benchmark.reports.comparison.outcomes import NO_REPLY
from benchmark.reports.comparison.records import Comparison, Overlap, RunPair, ShareOfBest
from benchmark.reports.formatting import INTERVAL_NAMES, interval_methods, percent
from judge import Verdict
from judge.management.tables import aligned

_SHOWN = 12
"""Problem ids on one line at most; --json lists all."""


def comparison_text(comparison: Comparison) -> str:
    """Return a block for each pair, then the overlaps of newly solved problems, then the shares of the best score."""
    blocks = [[f"First: {comparison.first}  {comparison.first_label}"]]
    blocks += [_pair(pair, len(comparison.pairs)) for pair in comparison.pairs]
    labels = {pair.run: pair.label for pair in comparison.pairs}
    if comparison.overlaps:
        blocks.append(_overlaps(comparison.overlaps, labels))
    if comparison.shares_of_best:
        blocks.append(_shares_of_best(comparison.shares_of_best, labels))
    blocks.append([describe_methods(comparison)])
    return "\n\n".join(map("\n".join, blocks))


def _overlaps(overlaps: Sequence[Overlap], labels: Mapping[str, str]) -> list[str]:
    rows = [("newly solved by", "problems", "also solved by", "share")]
    rows += [(labels[one.run], str(one.newly), labels[one.other], percent(one.share)) for one in overlaps]
    return aligned(rows)


def _shares_of_best(shares: Sequence[ShareOfBest], labels: Mapping[str, str]) -> list[str]:
    rows = [("run", "share of best score", "95 % set", "share of largest gain", "95 % set")]
    rows += [
        (
            labels[one.run],
            percent(one.of_score),
            ratio_ranges(one.of_score_set),
            percent(one.of_gain),
            ratio_ranges(one.of_gain_set),
        )
        for one in shares
    ]
    return aligned(rows)


def describe_methods(comparison: Comparison) -> str:
    """Return the sentence that names the methods of the intervals and sets of the comparison."""
    used = {
        method for pair in comparison.pairs for method in (pair.interval_method, pair.contest_interval_method)
    }
    sets = "; 95 % sets of ratios: test inversion (Fieller)" if comparison.shares_of_best else ""
    return interval_methods(used) + sets


def ratio_ranges(found: RatioSet | None) -> str:
    """Return the ratios that the test does not reject, in percent; "n/a" without a set."""
    return "n/a" if found is None else " or ".join(_range(one) for one in found.ranges)


def _range(found: Range) -> str:
    match found:
        case Range(None, None):
            return "any ratio"
        case Range(None, high):
            return f"at most {percent(high)}"
        case Range(low, None):
            return f"at least {percent(low)}"
    return f"{percent(found.low)} to {percent(found.high)}"


TEST_NAMES = {"mcnemar": "McNemar", "problem_t": "t over problems"}
"""The tests of a pair by their names in `RunPair.test`."""


def points(value: float | None) -> str:
    """Format a difference of shares in percentage points with its sign, never as a negative zero."""
    return "n/a" if value is None else f"{100 * value:+z.2f}"


def point_interval(interval: Interval | None) -> str:
    """Format an interval of differences in percentage points."""
    return "n/a" if interval is None else f"[{points(interval.low)}, {points(interval.high)}]"


def _named(interval: Interval | None, method: str) -> str:
    return point_interval(interval) + (f" ({INTERVAL_NAMES[method]})" if interval else "")


def _pair(pair: RunPair, tests: int) -> list[str]:
    unpaired = ", ".join(
        f"{count} {where.replace('first', 'base')}" for where, count in pair.unpaired.items() if count
    )
    other = "" if pair.figure == pair.first_figure else f"{pair.figure}: "
    chains = "chains" if pair.curve or pair.first_curve else "attempts"
    lines = [
        f"{pair.run}  {pair.label}",
        *(f"  ! {warning}" for warning in pair.warnings),
        f"  {pair.problems} problems in both" + (f"; not compared: {unpaired}" if unpaired else ""),
        f"  {pair.first_figure}: {percent(pair.first_value)} -> {other}{percent(pair.value)}, "
        f"difference {points(pair.difference)} points",
        *_curves(pair),
        f"  95 % intervals: {_named(pair.interval, pair.interval_method)} over problems, "
        f"{_named(pair.contest_interval, pair.contest_interval_method)} over contests",
        f"  first {chains}: {len(pair.only_first)} solved only by the base run, "
        f"{len(pair.only_this)} only by this run; "
        f"{TEST_NAMES[pair.test]} p = {pair.p:.4g}"
        + (f", Holm for {tests} runs {pair.holm:.4g}" if tests > 1 else ""),
    ]
    if pair.power_note:
        lines.append(f"  {pair.power_note}")
    for name, ids in (("only by the base run", pair.only_first), ("only by this run", pair.only_this)):
        if ids:
            more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
            lines.append(f"  {name}: {', '.join(ids[:_SHOWN])}{more}")
    lines += [f"  {line}" for line in _matrix(pair)]
    diverging = ", ".join(f"{len(problems)} × {where}" for where, problems in pair.diverging_problems.items())
    return [*lines, f"  chains diverge: {diverging}"] if diverging else lines


def _curves(pair: RunPair) -> list[str]:
    """Return Refine@1 … Refine@K of the refine runs, and their comparison with independent attempts."""
    lines = [
        f"  {name}, Refine@1 … Refine@{len(curve)}: {', '.join(map(percent, curve))}"
        for name, curve in (("base", pair.first_curve), ("this", pair.curve))
        if curve
    ]
    if one := pair.resampling:
        tokens = one.pass_same_tokens
        lines.append(
            f"  over {one.problems} problems: Refine@{one.k} {percent(one.refine.value)}; "
            f"independent attempts, equal number: "
            f"{percent(one.pass_same_k.value)}; equal tokens: "
            + (percent(tokens.value) if tokens else "unknown")
            + (f" ({one.capped} problems had too few attempts)" if one.capped else "")
        )
    return lines


def verdict_axes(pair: RunPair) -> tuple[list[str], list[str]]:
    """Return the verdicts that occur in the base run and in this run, in the order of the judge."""
    order = [*(verdict.value for verdict in Verdict), NO_REPLY]
    in_this = {verdict for row in pair.transitions.values() for verdict in row}
    return [one for one in order if one in pair.transitions], [one for one in order if one in in_this]


def _matrix(pair: RunPair) -> list[str]:
    rows, columns = verdict_axes(pair)
    if not rows:
        return []
    table = [("first \\ this", *columns)]
    table += [(row, *(str(pair.transitions[row].get(column, 0)) for column in columns)) for row in rows]
    return aligned(table)
