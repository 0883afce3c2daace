"""How figures are written for people, the same in every form of a report."""

from benchmark.reports.figures import PassAtK, RunFigures, Tokens

_INTERVALS = {
    "bootstrap": "bootstrap, drawing whole problems",
    "wilson": "Wilson, over problems",
}


def intervals_used(figures: RunFigures) -> str:
    """Which kinds of intervals the figures have."""
    used = {figure.interval for group in figures.groups for figure in group.pass_at}
    kinds = [words for kind, words in _INTERVALS.items() if kind in used]
    if len(kinds) > 1:
        kinds[1] += " where all problems came out alike"
    return f"95 % intervals: {'; '.join(kinds) or 'none yet'}"


def percent(value: float | None) -> str:
    """A share as a percentage with two digits; "n/a" where it is not defined."""
    return "n/a" if value is None else f"{100 * value:.2f} %"


def interval(figure: PassAtK) -> str:
    """The interval of a figure in percent, or "n/a"."""
    if figure.low is None or figure.high is None:
        return "n/a"
    return f"[{100 * figure.low:.2f}, {100 * figure.high:.2f}]"


def token_count(tokens: Tokens, generations: int) -> str:
    """The number of tokens; unknown is written as unknown, and a sum that misses some as a lower bound."""
    if not generations:
        return "0"
    if tokens.unknown == generations:
        return "unknown"
    if tokens.unknown:
        return f"at least {tokens.known} (unknown for {tokens.unknown} of {generations} generations)"
    return str(tokens.known)
