"""How figures are written for people, the same in every form of a report."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict
from functools import lru_cache
from itertools import zip_longest
from typing import Any

from benchmark.methods import METHODS, PROFILES, format_value, parse_settings
from benchmark.models import Run
from benchmark.reports.figures import RunFigures
from benchmark.reports.groups import Group, PassAtK, TestsAtK
from benchmark.reports.steps import AfterReflections
from benchmark.reports.usage import Tokens, Usage

INTERVAL_NAMES = {
    "wilson": "Wilson",
    "newcombe": "Newcombe",
    "t": "t",
    "bootstrap": "bootstrap",
    "bound": "bound",
    "none": "",
}
"""The short name of the method of an interval, as it stands beside a figure."""

_INTERVALS = {
    "wilson": "Wilson, one outcome a problem",
    "newcombe": "Newcombe's paired interval, one outcome a problem and run",
    "t": "t on the means of fewer than 60 problems or contests",
    "bootstrap": "bootstrap, drawing whole problems or contests",
    "bound": "bound, where all problems or contests have the same value",
}


def interval_methods(used: Collection[str]) -> str:
    """Return the description of the methods of intervals that are in use."""
    return f"95 % intervals: {'; '.join(words for kind, words in _INTERVALS.items() if kind in used) or 'none yet'}"


def intervals_used(figures: RunFigures) -> str:
    """Return the description of the methods behind the intervals of the figures."""
    scores = [figure for group in figures.groups for figure in group.points]
    used = {method for figure in scores for method in (figure.interval, figure.contest_interval)}
    return interval_methods(used | {one.interval for one in figures.after})


def headline(figures: RunFigures) -> str:
    """Return the headline with its interval, of a refine run with the whole curve: "pass@1 50.00 % [12.00, 88.00]"."""
    points = figures.groups[0].points
    if figures.scoring == "refine":
        shares = ", ".join(percent(point.value).removesuffix(" %") for point in points)
        curve = f"Refine@1 … Refine@{points[-1].k}: {shares} %" if len(points) > 1 else ""
    else:
        points, curve = points[:1], ""
    last = points[-1]
    said = f"{figures.figure_name(last.k)} {percent(last.value)} {interval(last)}"
    return f"{said} ({curve})" if curve else said


def headline_place(group: Group) -> int:
    """Return the index of the headline among the figures of a group."""
    return len(group.refine_at) - 1 if group.refine_at else 0


def count_columns(figures: RunFigures) -> list[tuple[str, Callable[[Group], int]]]:
    """Return the columns of counts of a table of groups: their names and values."""
    columns: list[tuple[str, Callable[[Group], int]]] = [("problems", lambda group: group.problems)]
    if figures.scoring == "none":
        return [*columns, ("done", lambda group: group.chains)]
    if figures.scoring == "refine":
        columns.append(("chains", lambda group: group.chains))
    columns += [("attempts", lambda group: group.attempts), ("solved", lambda group: group.solved)]
    if figures.rejected:
        columns.append(("failed permanently", lambda group: group.permanent))
    return columns


def score_columns(group: Group) -> list[tuple[PassAtK, TestsAtK | None, bool]]:
    """Return the figures of a group with Tests@k, which a refine run does not have, and whether intervals are shown.

    Of a curve only the last figure has its intervals beside it.
    """
    last = group.points[-1:]
    return [
        (point, tests, bool(group.pass_at) or point in last)
        for point, tests in zip_longest(group.points, group.tests_at)
    ]


def verdicts_of(figures: RunFigures) -> str:
    """Return the heading of the verdicts; of a refine run they are those of last attempts."""
    return "last verdict" if figures.scoring == "refine" else "verdict"


def percent(value: float | None) -> str:
    """A share as a percentage with two digits, never a negative zero; "n/a" where it is not defined."""
    return "n/a" if value is None else f"{100 * value:z.2f} %"


def interval(figure: PassAtK | AfterReflections) -> str:
    """The interval of a figure in percent, or "n/a"."""
    if figure.low is None or figure.high is None:
        return "n/a"
    return f"[{100 * figure.low:z.2f}, {100 * figure.high:z.2f}]"


def token_count(tokens: Tokens, generations: int) -> str:
    """The number of tokens; unknown is written as unknown, and a sum that misses some as a lower bound."""
    if not generations:
        return "0"
    if tokens.unknown == generations:
        return "unknown"
    if tokens.unknown:
        return f"at least {tokens.known} (unknown for {tokens.unknown} of {generations} generations)"
    return str(tokens.known)


def contest_interval(figure: PassAtK) -> str:
    """The interval over whole contests in percent; "n/a" with fewer than two."""
    if figure.contest_low is None or figure.contest_high is None:
        return "n/a"
    return f"[{100 * figure.contest_low:z.2f}, {100 * figure.contest_high:z.2f}]"


def tests_share(figure: TestsAtK) -> str:
    """Tests@k as a percentage; a lower bound where judging stopped at the first failed test."""
    bound = "≥ " if figure.at_least and figure.value is not None else ""
    return bound + percent(figure.value)


def group_name(group: Group, figures: RunFigures) -> str:
    """What the group is called in a table."""
    if group.by == "cutoff" and group.name != "no date":
        return f"{group.name} {figures.cutoff}" if group.name == "after" else f"until {figures.cutoff}"
    return group.name


def money(figures: RunFigures | Usage) -> str:
    """The cost in US dollars, or "unknown"."""
    if figures.cost is None:
        return "unknown"
    bound = "at least " if figures.cost_at_least else ""
    return f"{bound}{figures.cost:,.2f} US dollars"


def price_words(figures: RunFigures) -> str:
    """The price behind the cost, with its source."""
    return figures.price.described if figures.price else "unknown"


def epochs_told(figures: RunFigures) -> list[str]:
    """Return a line for each k: the figure of the epochs, and the standard error between them."""
    return [
        f"{figures.epochs} epochs, {one.problems} problems: {figures.figure_name(one.k)} "
        f"{', '.join(map(percent, one.values)) or 'n/a'}; standard error between epochs {percent(one.standard_error)}"
        for one in figures.between_epochs
    ]


def spent_money(spent: Mapping[str, Any]) -> str:
    """The money that `Spending.to_json` gives, as "at least 1.25 US dollars" where that is a lower bound."""
    if spent["cost_usd"] is None:
        return "at an unknown price"
    return f"{'at least ' if spent['cost_is_lower_bound'] else ''}{spent['cost_usd']:,.2f} US dollars"


def broken_off_told(number: int) -> str:
    """Return the sentence about calls that broke off; blank without any."""
    calls = "1 call" if number == 1 else f"{number:,} calls"
    return f"{calls} broke off without a complete reply, possibly billed." if number else ""


def duration(seconds: float | None) -> str:
    """A time in its two largest units; "unknown" for None."""
    if seconds is None:
        return "unknown"
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 100:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min"


def faults_told(faults: Mapping[str, str]) -> list[str]:
    """A line a kind of fault of the provider, with what it struck."""
    kinds: dict[str, list[str]] = {}
    for about, fault in faults.items():
        kinds.setdefault(fault, []).append(about)
    return [
        f"{len(struck)} failed: {fault} ({', '.join(struck[:3])}{' …' if len(struck) > 3 else ''})"
        for fault, struck in kinds.items()
    ]


def paid_told(spent: Mapping[str, Any]) -> str:
    """Calls, tokens and money, as `Spending.to_json` gives them."""
    tokens = spent["input_tokens"] + spent["output_tokens"]
    words = f"{spent['calls']:,} calls, {tokens:,} tokens, {spent_money(spent)}"
    broken_off = broken_off_told(spent["calls_broken_off"])
    return f"{words}. {broken_off}" if broken_off else words


def label(run: Run, *, of: str = "", without: str = "") -> str:
    """The run in a few words: method, model, `of` what, and `own_settings`, those that make it differ from others."""
    return ", ".join(filter(None, [run.method, run.model_spec, of, own_settings(run, without=without)]))


def own_settings(run: Run, *, without: str = "") -> str:
    """Return the settings that are not the method's defaults, or not its profile's: "profile usaco-paper, p=4".

    The version of the profile is named where it is not today's.
    """
    if run.method not in METHODS:
        return ""
    recorded = run.manifest.get("profile") or {}
    profile = PROFILES.get(recorded.get("name", ""))
    given = profile.settings_for(run.model_spec.partition(":")[2], run.method) if profile else []
    usual = _usual(run.method, tuple(given))
    own = {
        name: value
        for name, value in run.parameters.items()
        if value != usual.get(name, value) and name != without
    }
    words = []
    if profile:
        version = recorded.get("version", 1)
        words = [f"profile {profile.name}" + ("" if version == profile.version else f" (version {version})")]
    if run.epochs > 1:
        words.append(f"{run.epochs} epochs")
    if run.first_draw:
        words.append(f"draw {run.first_draw}")
    return ", ".join([*words, *(f"{name}={format_value(value)}" for name, value in own.items())])


@lru_cache(maxsize=1000)
def _usual(method: str, given: tuple[str, ...]) -> Mapping[str, Any]:
    """What the settings of the method are where only these are given."""
    return asdict(parse_settings(METHODS[method].settings, [], given))


HEADINGS = {
    "all": "all problems",
    "tier": "by tier",
    "cutoff": "by the model's cutoff",
    "tag": "by tag",
    "year": "by year of the contest",
}
"""What the groups of one kind are called together."""
