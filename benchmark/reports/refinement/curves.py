"""Refine@1 … Refine@K of sequential attempts, and pass@K of independent attempts at equal K and equal tokens."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from benchmark.metrics import Interval, IntervalMethod, pass_at_k, rate_interval


@dataclass(frozen=True)
class Refinement:
    """One chain of attempts at a problem: their number, and the number of the first accepted one (None: none).

    `tokens` is the sum over all attempts, None if the provider does not report all. `first_start` is the number of
    attempts before the first restart from scratch, None without a restart.
    """

    problem: str
    attempts: int
    accepted: int | None
    tokens: int | None = None
    first_start: int | None = None

    @property
    def accepted_at(self) -> int | None:
        """Return the number of the accepted attempt in the first start; None if that start has none."""
        if self.accepted is None or (self.first_start is not None and self.accepted > self.first_start):
            return None
        return self.accepted


@dataclass(frozen=True)
class ShareAtK:
    """The share of problems solved within k attempts, with its 95 % interval over problems."""

    k: int
    value: float
    interval: Interval
    method: IntervalMethod

    def to_json(self) -> dict[str, float | str]:
        """Return all fields by name."""
        return {
            "k": self.k,
            "value": self.value,
            "low": self.interval.low,
            "high": self.interval.high,
            "interval_method": self.method,
        }


@dataclass(frozen=True)
class RefinementCurve:
    """Refine@1 … Refine@K. One run gives the whole curve, because a chain stops at its first accepted attempt.

    `points` count only the attempts of first starts: a restart follows only a failure, so several starts are not
    independent draws. `with_restarts` is the share solved in any start, None if no chain restarted. `solved` and
    `mean_attempts_per_solved` cover whole chains, restarts included.
    """

    problems: int
    chains: int
    solved: int
    points: tuple[ShareAtK, ...]
    with_restarts: ShareAtK | None
    restarted: int
    mean_attempts_per_solved: float | None
    tokens: int | None

    def to_json(self) -> dict[str, Any]:
        """Return all fields by name."""
        return {
            "problems": self.problems,
            "chains": self.chains,
            "solved": self.solved,
            "refine": [point.to_json() for point in self.points],
            "with_restarts": self.with_restarts.to_json() if self.with_restarts else None,
            "restarted": self.restarted,
            "mean_attempts_per_solved": self.mean_attempts_per_solved,
            "tokens": self.tokens,
        }


def curve_of(refinements: Sequence[Refinement], k: int) -> RefinementCurve:
    """Return the curve up to k: the mean over problems of `share_within`. Raises ValueError without chains."""
    if not refinements:
        raise ValueError("a curve needs at least one chain")
    by_problem: dict[str, list[Refinement]] = defaultdict(list)
    for one in refinements:
        by_problem[one.problem].append(one)
    problems = by_problem.values()
    single = all(len(chains) == 1 for chains in problems)
    points = [
        _point(
            limit, [share_within([one.accepted_at for one in chains], limit) for chains in problems], single
        )
        for limit in range(1, k + 1)
    ]
    anywhere = [share_within([one.accepted for one in chains], None) for chains in problems]
    restarted = sum(one.first_start is not None for one in refinements)
    solved = [one for one in refinements if one.accepted is not None]
    return RefinementCurve(
        problems=len(by_problem),
        chains=len(refinements),
        solved=len(solved),
        points=tuple(points),
        with_restarts=_point(k, anywhere, single) if restarted else None,
        restarted=restarted,
        mean_attempts_per_solved=sum(one.accepted or 0 for one in solved) / len(solved) if solved else None,
        tokens=_sum([one.tokens for one in refinements]),
    )


def share_within(accepted: Sequence[int | None], limit: int | None) -> float:
    """Return the share of a problem's chains that were accepted, within `limit` attempts if one is given."""
    within = sum(place is not None and (limit is None or place <= limit) for place in accepted)
    return float(Fraction(within, len(accepted)))


@dataclass(frozen=True)
class Resampling:
    """Independent attempts at a problem: their number, the accepted ones, and the mean tokens of an attempt."""

    attempts: int
    accepted: int
    tokens: float | None


@dataclass(frozen=True)
class ResamplingComparison:
    """Refine@K and pass@K over the same problems, at equal K and at equal tokens.

    At equal tokens, each problem has as many attempts as its chain's tokens pay for, at least one and at most all
    stored ones; `capped` counts the problems with too few. `pass_same_tokens` is None if tokens are unknown.
    """

    problems: int
    k: int
    refine: ShareAtK
    pass_same_k: ShareAtK
    pass_same_tokens: ShareAtK | None
    capped: int

    def to_json(self) -> dict[str, Any]:
        """Return all fields by name."""
        same = self.pass_same_tokens
        return {
            "problems": self.problems,
            "k": self.k,
            "refine": self.refine.to_json(),
            "pass_same_k": self.pass_same_k.to_json(),
            "pass_same_tokens": same.to_json() if same else None,
            "capped": self.capped,
        }


def resampling_comparison(
    refinements: Sequence[Refinement], resampled: Mapping[str, Resampling], k: int
) -> ResamplingComparison:
    """Compare refinement with resampling over the problems that both tried.

    Raises TooFewAttemptsError for a problem with fewer than k attempts, and ValueError without a common problem.
    """
    common = [one for one in refinements if one.problem in resampled]
    if not common:
        raise ValueError("the two runs have no problem in common")
    problems = list(dict.fromkeys(one.problem for one in common))
    same_k = [pass_at_k(resampled[name].attempts, resampled[name].accepted, k) for name in problems]
    affordable = _affordable_attempts(common, resampled)
    same_tokens = [
        pass_at_k(resampled[name].attempts, resampled[name].accepted, min(count, resampled[name].attempts))
        for name, count in affordable.items()
    ]
    single = all(resampled[name].attempts == 1 for name in problems)
    return ResamplingComparison(
        problems=len(problems),
        k=k,
        refine=curve_of(common, k).points[-1],
        pass_same_k=_point(k, same_k, single),
        pass_same_tokens=_point(k, same_tokens, single) if same_tokens else None,
        capped=sum(count > resampled[name].attempts for name, count in affordable.items()),
    )


def _affordable_attempts(
    refinements: Sequence[Refinement], resampled: Mapping[str, Resampling]
) -> dict[str, int]:
    """Return how many attempts the mean tokens of each problem's chains pay for; nothing if any tokens are unknown."""
    chain_tokens: dict[str, list[int | None]] = defaultdict(list)
    for one in refinements:
        chain_tokens[one.problem].append(one.tokens)
    affordable = {}
    for name, chains in chain_tokens.items():
        total, each = _sum(chains), resampled[name].tokens
        if total is None or each is None:
            return {}
        # Attempts without tokens failed before any reply, so any number of them is affordable.
        affordable[name] = max(1, int(total / len(chains) / each)) if each else resampled[name].attempts
    return affordable


def _point(k: int, shares: Sequence[float], single: bool) -> ShareAtK:
    """Return the mean; its interval is Wilson's if each problem has a `single` chain (see `rate_interval`)."""
    return ShareAtK(k, sum(shares) / len(shares), *rate_interval(shares, single=single))


def _sum(numbers: Sequence[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None
