"""The words for a measured growth: "about n^1.1", tables of sizes and times, and predictions."""

from collections.abc import Sequence

from benchmark.growth.measuring import Growth, MeasuredSeries

SHOWN_ROWS = 8
"""Rows of the table that feedback quotes: the largest sizes."""


def number(size: int) -> str:
    """Return a size with its digits in groups of three, such as 20 000."""
    return f"{size:,}".replace(",", " ")


def seconds(value: float) -> str:
    """Return CPU seconds with a precision that fits their size."""
    if value >= 3600:
        return f"{value / 3600:.3g} h"
    return f"{value:.2g} s" if value < 10 else f"{value:,.0f} s".replace(",", " ")


def slope_text(series: MeasuredSeries) -> str:
    """Return the slope with its interval, such as "about n^2.0 (95 % interval 1.9 to 2.1)". Empty without a slope."""
    if series.fit is None:
        return ""
    fit = series.fit
    return f"about {base(series)}^{fit.slope:.1f} (95 % interval {fit.low:.1f} to {fit.high:.1f})"


def base(series: MeasuredSeries) -> str:
    """Return the name of the size argument, in parentheses unless it is one word."""
    return series.parameter if series.parameter.isalnum() else f"({series.parameter})"


def outcome_text(series: MeasuredSeries, growth: Growth) -> str:
    """Return what the series shows, as sentences."""
    name, bound = series.parameter, number(series.largest)
    at = number(series.ended_at) if series.ended_at is not None else ""
    match series.outcome:
        case "memory":
            limit = f"{growth.memory_limit // 2**20} MiB"
            return f"The program exceeds the memory limit of {limit} at {name} = {at}."
        case "unstable":
            return "No stable growth: the running time varies too much between runs or sizes."
        case "slow":
            reached = at or number(series.points[-1].size)
            return (
                f"The program exceeds the time limit at {name} = {reached}, with too few times for a slope."
            )
        case "stopped":
            return f"The series ends at {name} = {at} ({series.ended}), with too few times for a slope."
    assert series.prediction is not None
    if series.outcome == "fast":
        return f"Too fast for a slope: {seconds(series.prediction)} at the bound {name} = {bound}."
    measured = any(point.size == series.largest for point in series.points)
    word = "Measured" if measured else "Predicted"
    return (
        f"The CPU time grows like {slope_text(series)}. "
        f"{word} at the bound {name} = {bound}: {seconds(series.prediction)}."
    )


def limit_text(growth: Growth) -> str:
    """Return the time limit of the language in words."""
    return f"The time limit is {growth.time_limit:g} s."


def verdict_text(growth: Growth) -> str:
    """Return whether the growth shows the program to be too slow, as one sentence."""
    if growth.slow:
        return "The program is too slow for the bounds of the statement."
    if growth.shown_slow:
        return "The program needs more than half the time limit at the bounds of the statement."
    return "The program is not shown to be slow."


def table_rows(series: MeasuredSeries) -> list[tuple[str, str]]:
    """Return the largest sizes and their CPU seconds as text."""
    return [(number(point.size), f"{point.seconds:.3f}") for point in series.points[-SHOWN_ROWS:]]


def feedback_text(growth: Growth) -> str:
    """Return the feedback on a slow program for a model; empty if the growth does not show it to be slow."""
    if not growth.shown_slow:
        return ""
    series = growth.steepest
    rows = "\n".join(f"{size:>12}  {time:>9}" for size, time in table_rows(series))
    parts: Sequence[str] = (
        f"CPU seconds of your program on generated inputs by {series.parameter}:",
        f"{series.parameter:>12}    seconds\n{rows}" if rows else "",
        outcome_text(series, growth),
        limit_text(growth),
    )
    return "\n".join(part for part in parts if part)
