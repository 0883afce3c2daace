"""A comparison for terminals."""

from benchmark.metrics import Interval, Range, RatioSet
from benchmark.reports.comparison import NO_REPLY, Comparison, Pair
from benchmark.reports.formatting import INTERVAL_NAMES, interval_methods, percent
from judge import Verdict
from judge.management.tables import aligned

_SHOWN = 12
"""Ids of problems listed on one line; --json lists all."""


def comparison_text(comparison: Comparison) -> str:
    """One block a pair, then the overlaps of what is newly solved, then the parts of the best score."""
    blocks = [f"First: {comparison.first}  {comparison.first_label}"]
    blocks += ["\n".join(_pair(pair, len(comparison.pairs))) for pair in comparison.pairs]
    names = {pair.run: pair.label for pair in comparison.pairs}
    if comparison.overlaps:
        rows = [("newly solved by", "problems", "of these also by", "share")]
        rows += [
            (names[one.run], str(one.newly), names[one.other], percent(one.share))
            for one in comparison.overlaps
        ]
        blocks.append("\n".join(aligned(rows)))
    if comparison.parts_of_best:
        parts = [("run", "of the best score", "95 % set", "of the largest gain", "95 % set")]
        parts += [
            (
                names[one.run],
                percent(one.of_score),
                ratio_ranges(one.of_score_set),
                percent(one.of_gain),
                ratio_ranges(one.of_gain_set),
            )
            for one in comparison.parts_of_best
        ]
        blocks.append("\n".join(aligned(parts)))
    return "\n\n".join([*blocks, methods_of(comparison)])


def methods_of(comparison: Comparison) -> str:
    """Return the description of the methods behind the intervals and sets of the comparison."""
    used = {
        method for pair in comparison.pairs for method in (pair.interval_method, pair.contest_interval_method)
    }
    sets = "; 95 % sets of ratios: test inversion (Fieller)" if comparison.parts_of_best else ""
    return interval_methods(used) + sets


def ratio_ranges(found: RatioSet | None) -> str:
    """Return the ratios that the test does not reject, in percent; a set without an end says so."""
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


def points(value: float | None) -> str:
    """A difference of shares in percentage points, with its sign; never a negative zero."""
    return "n/a" if value is None else f"{100 * value:+z.2f}"


def point_interval(interval: Interval | None) -> str:
    """An interval of differences in percentage points."""
    return "n/a" if interval is None else f"[{points(interval.low)}, {points(interval.high)}]"


def _named(interval: Interval | None, method: str) -> str:
    return point_interval(interval) + (f" ({INTERVAL_NAMES[method]})" if interval else "")


def _pair(pair: Pair, tests: int) -> list[str]:
    left_out = ", ".join(f"{count} {where}" for where, count in pair.unpaired.items() if count)
    other = "" if pair.figure == pair.first_figure else f"{pair.figure}: "
    chains = "chains" if pair.curve or pair.first_curve else "attempts"
    lines = [
        f"{pair.run}  {pair.label}",
        *(f"  ! {caveat}" for caveat in pair.caveats),
        f"  {pair.problems} problems in both" + (f"; not compared: {left_out}" if left_out else ""),
        f"  {pair.first_figure}: {percent(pair.first_value)} -> {other}{percent(pair.value)}, "
        f"difference {points(pair.difference)} points",
        *_curves(pair),
        f"  95 % intervals: {_named(pair.interval, pair.interval_method)} over problems, "
        f"{_named(pair.contest_interval, pair.contest_interval_method)} over contests",
        f"  first {chains}: {len(pair.only_first)} solved only before, {len(pair.only_this)} only now; "
        f"McNemar p = {pair.p:.4g}" + (f", Holm for {tests} runs {pair.holm:.4g}" if tests > 1 else ""),
    ]
    if pair.power_note:
        lines.append(f"  {pair.power_note}")
    for name, ids in (("only before", pair.only_first), ("only now", pair.only_this)):
        if ids:
            more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
            lines.append(f"  {name}: {', '.join(ids[:_SHOWN])}{more}")
    lines += [f"  {line}" for line in _matrix(pair)]
    parted = ", ".join(f"{count} {where}" for where, count in pair.divergence_counts.items())
    return [*lines, f"  chains: {parted}"] if parted else lines


def _curves(pair: Pair) -> list[str]:
    """Return Refine@1 … Refine@K of the refine runs, and their cost beside independent attempts."""
    lines = [
        f"  {name}, Refine@1 … Refine@{len(curve)}: {', '.join(map(percent, curve))}"
        for name, curve in (("first", pair.first_curve), ("this", pair.curve))
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


def verdict_axes(pair: Pair) -> tuple[list[str], list[str]]:
    """The verdicts of the first run and of this one that occur, in the order of the judge."""
    order = [*(verdict.value for verdict in Verdict), NO_REPLY]
    after = {verdict for row in pair.transitions.values() for verdict in row}
    return [one for one in order if one in pair.transitions], [one for one in order if one in after]


def _matrix(pair: Pair) -> list[str]:
    rows, columns = verdict_axes(pair)
    if not rows:
        return []
    table = [("before \\ now", *columns)]
    table += [(row, *(str(pair.transitions[row].get(column, 0)) for column in columns)) for row in rows]
    return aligned(table)
