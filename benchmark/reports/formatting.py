"""Formatting of figures as text, the same in all formats of a report."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict
from functools import lru_cache
from itertools import zip_longest
from typing import Any

from benchmark.methods import METHODS, PROFILES, parse_settings
from benchmark.methods.settings import format_value
from benchmark.models import Run
from benchmark.reports.figures import RunFigures
from benchmark.reports.groups import GroupFigures, PassAtK, TestsAtK
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
"""The short name of the method of an interval."""

_INTERVAL_DESCRIPTIONS = {
    "wilson": "Wilson, one outcome per problem",
    "newcombe": "Newcombe's paired interval, one outcome per problem and run",
    "t": "t on the means of fewer than 60 problems or contests",
    "bootstrap": "bootstrap, drawing whole problems or contests",
    "bound": "bound, where all problems or contests have the same value",
}


def samples_only_warning(without: int, problems: int) -> list[str]:
    """Return the warning that `without` of `problems` problems have no hidden tests; empty if all have them."""
    if not without:
        return []
    return [
        f"{without} of {problems} problem{'s' if problems > 1 else ''} {'have' if without > 1 else 'has'} no hidden "
        "tests: there, a program is right if it passes the samples."
    ]


def interval_methods(used: Collection[str]) -> str:
    """Return the sentence that describes these methods of intervals."""
    descriptions = [words for kind, words in _INTERVAL_DESCRIPTIONS.items() if kind in used]
    return f"95 % intervals: {'; '.join(descriptions) or 'none yet'}"


def intervals_used(figures: RunFigures) -> str:
    """Return the sentence that describes the methods of the intervals of a run."""
    scores = [figure for group in figures.groups for figure in group.points]
    used = {method for figure in scores for method in (figure.interval, figure.contest_interval)}
    return interval_methods(used | {one.interval for one in figures.after})


def headline(figures: RunFigures) -> str:
    """Return the headline with its interval, "pass@1 50.00 % [12.00, 88.00]"; for a refine run, the curve follows."""
    points = figures.groups[0].points
    if figures.scoring == "refine":
        shares = ", ".join(percent(point.value).removesuffix(" %") for point in points)
        curve = f"Refine@1 … Refine@{points[-1].k}: {shares} %" if len(points) > 1 else ""
    else:
        points, curve = points[:1], ""
    last = points[-1]
    score = f"{figures.figure_name(last.k)} {percent(last.value)} {interval(last)}"
    return f"{score} ({curve})" if curve else score


def headline_index(group: GroupFigures) -> int:
    """Return the index of the headline among the scores of a group."""
    return len(group.refine_at) - 1 if group.refine_at else 0


def count_columns(figures: RunFigures) -> list[tuple[str, Callable[[GroupFigures], int]]]:
    """Return the columns of counts in the table of groups: each a name and a function of the group."""
    columns: list[tuple[str, Callable[[GroupFigures], int]]] = [("problems", lambda group: group.problems)]
    if figures.scoring == "none":
        return [*columns, ("done", lambda group: group.chains)]
    if figures.scoring == "refine":
        columns.append(("chains", lambda group: group.chains))
    columns += [("attempts", lambda group: group.attempts), ("solved", lambda group: group.solved)]
    if figures.rejected:
        columns.append(("failed permanently", lambda group: group.permanent))
    return columns


def score_columns(group: GroupFigures) -> list[tuple[PassAtK, TestsAtK | None, bool]]:
    """Return the scores of a group, each with Tests@k (None for a refine run) and whether its intervals are shown.

    Only the last score of a refine curve is shown with intervals.
    """
    last = group.points[-1:]
    return [
        (point, tests, bool(group.pass_at) or point in last)
        for point, tests in zip_longest(group.points, group.tests_at)
    ]


def verdict_heading(figures: RunFigures) -> str:
    """Return the heading of verdicts. For a refine run these are verdicts of last attempts."""
    return "last verdict" if figures.scoring == "refine" else "verdict"


def percent(value: float | None) -> str:
    """Format a share as a percentage with two decimals, never as a negative zero; "n/a" for None."""
    return "n/a" if value is None else f"{100 * value:z.2f} %"


def whole_percent(share: float | None) -> str:
    """Format a share as a percentage without decimals; "–" for None."""
    return "–" if share is None else f"{100 * share:z.0f} %"


def interval(figure: PassAtK | AfterReflections) -> str:
    """Format the interval of a score in percent; "n/a" without one."""
    if figure.low is None or figure.high is None:
        return "n/a"
    return f"[{100 * figure.low:z.2f}, {100 * figure.high:z.2f}]"


def token_count(tokens: Tokens, generations: int) -> str:
    """Format a number of tokens. A sum that lacks the tokens of some generations is a lower bound."""
    if not generations:
        return "0"
    if tokens.unknown == generations:
        return "unknown"
    if tokens.unknown:
        return f"at least {tokens.known:,} (unknown for {tokens.unknown:,} of {generations:,} generations)"
    return f"{tokens.known:,}"


def contest_interval(figure: PassAtK) -> str:
    """Format the interval over contests in percent; "n/a" for fewer than two contests."""
    if figure.contest_low is None or figure.contest_high is None:
        return "n/a"
    return f"[{100 * figure.contest_low:z.2f}, {100 * figure.contest_high:z.2f}]"


def tests_share(figure: TestsAtK) -> str:
    """Format Tests@k as a percentage, as a lower bound if judging stopped at the first failed test."""
    bound = "≥ " if figure.at_least and figure.value is not None else ""
    return bound + percent(figure.value)


def has_memory_column(figures: RunFigures) -> bool:
    """Return whether the table of groups has a column for memory probes: if the model's cutoff is known."""
    return any(group.by == "cutoff" for group in figures.groups)


def memory_score(group: GroupFigures, figures: RunFigures) -> str:
    """Format the score of the memory probes of a group by cutoff, in points with its interval; blank without any."""
    found = figures.memory_of(group)
    return (
        "" if found is None else f"{100 * found.value:z.1f} [{100 * found.low:z.1f}, {100 * found.high:z.1f}]"
    )


def group_name(group: GroupFigures, figures: RunFigures) -> str:
    """Return the name of the group in a table."""
    if group.by == "cutoff" and group.name != "no date":
        return f"{group.name} {figures.cutoff}" if group.name == "after" else f"until {figures.cutoff}"
    return group.name


def money(figures: RunFigures | Usage) -> str:
    """Format the cost in US dollars; "unknown" for None."""
    if figures.cost is None:
        return "unknown"
    bound = "at least " if figures.cost_at_least else ""
    return f"{bound}{figures.cost:,.2f} US dollars"


def format_price(figures: RunFigures) -> str:
    """Format the price with its source; "unknown" without one."""
    return figures.price.described if figures.price else "unknown"


def format_epochs(figures: RunFigures) -> list[str]:
    """Return a line for each k with the score of each epoch and the standard error between epochs."""
    return [
        f"{figures.epochs} epochs, {one.problems} problems: {figures.figure_name(one.k)} "
        f"{', '.join(map(percent, one.values)) or 'n/a'}; standard error between epochs {percent(one.standard_error)}"
        for one in figures.between_epochs
    ]


def format_spent_money(spent: Mapping[str, Any]) -> str:
    """Format the cost in a document of `Spending.to_json`: "1.25 US dollars", or "at least …" for a lower bound."""
    if spent["cost_usd"] is None:
        return "at an unknown price"
    return f"{'at least ' if spent['cost_is_lower_bound'] else ''}{spent['cost_usd']:,.2f} US dollars"


def format_broken_calls(number: int) -> str:
    """Return the sentence about interrupted calls; blank without any."""
    calls = "1 call" if number == 1 else f"{number:,} calls"
    return f"{calls} broke off without a complete reply, possibly billed." if number else ""


def duration(seconds: float | None) -> str:
    """Format a time in seconds in its two largest units; "unknown" for None."""
    if seconds is None:
        return "unknown"
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 100:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min"


def format_faults(faults: Mapping[str, str]) -> list[str]:
    """Return a line for each fault of the provider with its number and examples of what failed.

    `faults` holds the fault by the name of the call.
    """
    calls: dict[str, list[str]] = {}
    for name, fault in faults.items():
        calls.setdefault(fault, []).append(name)
    return [
        f"{len(names):,} failed: {fault} ({', '.join(names[:3])}{' …' if len(names) > 3 else ''})"
        for fault, names in calls.items()
    ]


def format_spend(spent: Mapping[str, Any]) -> str:
    """Format calls, tokens and cost in a document of `Spending.to_json`."""
    tokens = spent["input_tokens"] + spent["output_tokens"]
    words = f"{spent['calls']:,} calls, {tokens:,} tokens, {format_spent_money(spent)}"
    broken_off = format_broken_calls(spent["calls_broken_off"])
    return f"{words}. {broken_off}" if broken_off else words


def label(run: Run, *, of: str = "", without: str = "") -> str:
    """Return a short description of the run: method, model, `of` (such as the dataset) and `non_default_settings`.

    It names the site of an imported run.
    """
    source = f"imported from {run.source['site']}" if run.source else ""
    own = non_default_settings(run, without=without)
    return ", ".join(filter(None, [run.method, run.model_spec, of, own, source]))


def non_default_settings(run: Run, *, without: str = "") -> str:
    """Return the settings that differ from the defaults of the method or its profile: "profile usaco-paper, p=4".

    The text names the version of the profile if it is not the current one. `without` is a setting to leave out.
    """
    if run.method not in METHODS:
        return ""
    recorded = run.manifest.get("profile") or {}
    profile = PROFILES.get(recorded.get("name", ""))
    given = profile.settings_for(run.model_spec.partition(":")[2], run.method) if profile else []
    defaults = _defaults(run.method, tuple(given))
    differing = {
        name: value
        for name, value in run.parameters.items()
        if value != defaults.get(name, value) and name != without
    }
    words = []
    if profile:
        version = recorded.get("version", 1)
        words = [f"profile {profile.name}" + ("" if version == profile.version else f" (version {version})")]
    if run.epochs > 1:
        words.append(f"{run.epochs} epochs")
    if run.first_draw:
        words.append(f"draw {run.first_draw}")
    return ", ".join([*words, *(f"{name}={format_value(value)}" for name, value in differing.items())])


@lru_cache(maxsize=1000)
def _defaults(method: str, given: tuple[str, ...]) -> Mapping[str, Any]:
    """Return all settings of the method if only these are given."""
    return asdict(parse_settings(METHODS[method].settings, [], given))


GROUP_HEADINGS = {
    "all": "all problems",
    "tier": "by tier",
    "cutoff": "by the model's cutoff",
    "tag": "by tag",
    "year": "by year of the contest",
}
"""The heading of each kind of group."""
