"""The figures of slow programs as text, for terminals and pages."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import exp

from benchmark.growth.contrasts import SlowContrast
from benchmark.reports.formatting import INTERVAL_NAMES
from benchmark.reports.slow.figures import BASE, Kind, SlowFigure, SlowReport

NOTE = (
    "Exploratory, unless a frozen study names these figures. Problems have equal weight. p is corrected by Holm's "
    "method for the arms. With fewer than 6 problems there is no test. Detectable: the difference that these problems "
    "would detect with a power of 80 %."
)


@dataclass(frozen=True)
class FigureText:
    """A contrast in words. `interval`, `method`, `p` and `detectable` are blank without one.

    `detectable` is given where the interval contains "no difference".
    """

    first: str
    second: str
    difference: str
    interval: str
    method: str
    p: str
    detectable: str


def figure_text(figure: SlowFigure) -> FigureText | None:
    """Return the contrast in words: shares in percent, slopes, or factors of time; None without a contrast."""
    found = figure.contrast
    if found is None:
        return None
    value, change, unit = _FORMS[figure.kind]
    return FigureText(
        value(found.first),
        value(found.second),
        f"{change(found.difference)}{unit}",
        "" if found.low is None or found.high is None else f"{change(found.low)} to {change(found.high)}",
        INTERVAL_NAMES[found.method],
        "" if figure.holm is None else f"{figure.holm:.3f}" if figure.holm >= 0.001 else "< 0.001",
        _detectable(figure.kind, found) if found.not_significant and found.detectable is not None else "",
    )


def _detectable(kind: Kind, found: SlowContrast) -> str:
    assert found.detectable is not None
    match kind:
        case "share":
            return f"{100 * found.detectable:.0f} points"
        case "slope":
            return f"{found.detectable:.2f}"
        case "log ratio":
            return f"a factor of {exp(found.detectable):.3g}"


def slow_figure_title(figure: SlowFigure) -> str:
    """Return the name of the figure as it is shown: ratios are shown as such, not as logarithms."""
    return figure.name.removesuffix(" (log)")


def _percent(share: float) -> str:
    return f"{100 * share:z.0f} %"


def _points(share: float) -> str:
    return f"{100 * share:+z.0f}"


def signed_number(value: float) -> str:
    """Format a slope or its change with its sign, never as a negative zero."""
    return f"{value:+z.2f}"


def times_faster(ratio: float) -> str:
    """Format a ratio of the old time to the new one."""
    return f"{ratio:.3g} times as fast"


def _times_of_log(logarithm: float) -> str:
    return times_faster(exp(logarithm))


def _factor(logarithm: float) -> str:
    return f"{exp(logarithm):.3g}"


_FORMS: Mapping[Kind, tuple[Callable[[float], str], Callable[[float], str], str]] = {
    "share": (_percent, _points, " points"),
    "slope": (signed_number, signed_number, ""),
    "log ratio": (_times_of_log, _factor, ""),
}
"""The text of a value, the text of a difference, and its unit."""


def slow_text(report: SlowReport) -> str:
    """Return the figures as text for a terminal."""
    lines = [
        f"{report.starts} start programs, {report.right} of them right but slow; the others are unknown."
    ]
    if report.simulated:
        lines.append("Simulated: a scripted or simulated student wrote the repairs.")
    lines += _left_out(f"{BASE}, left out", report.base_left_out)
    for arm in report.arms:
        lines += ["", f"{arm.arm} against {BASE} (run {arm.run})"]
        for figure in arm.figures:
            lines += [
                f"  {slow_figure_title(figure)}: {_contrast_text(figure)}",
                *_left_out("    left out", figure.left_out),
            ]
        lines += _left_out("  left out", arm.left_out)
        if arm.wrong_oracles:
            lines.append(f"  {arm.wrong_oracles} start programs proved wrong on small inputs")
    return "\n".join([*lines, "", NOTE])


def _left_out(name: str, counts: Mapping[str, int]) -> list[str]:
    return [f"{name}: {reason} ({count})" for reason, count in counts.items()]


def _contrast_text(figure: SlowFigure) -> str:
    found, text = figure.contrast, figure_text(figure)
    if found is None or text is None:
        return "no common start program has it"
    word = "factor" if figure.kind == "log ratio" else "difference"
    interval = f" [{text.interval}] ({text.method})" if text.interval else ""
    test = f", p = {text.p}" if text.p else ""
    test += f", detectable from {text.detectable}" if text.detectable else ""
    return (
        f"{text.first} against {text.second}: {word} {text.difference}{interval}{test}, "
        f"{found.starts} starts, {found.problems} problems"
    )
