"""Refine@1 … Refine@K of sequential attempts, and pass@K of independent ones at the same K and the same tokens."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from benchmark.metrics import Interval, IntervalMethod, pass_at_k, rate_interval


@dataclass(frozen=True)
class Refinement:
    """One chain of attempts at a problem: how many there were, and which was accepted first, if any.

    `tokens` are those of all its attempts, None where a provider did not say. `first_start` is the number of attempts
    before the first restart from scratch, None without a restart.
    """

    problem: str
    attempts: int
    accepted: int | None
    tokens: int | None = None
    first_start: int | None = None

    @property
    def accepted_at(self) -> int | None:
        """The accepted attempt of the first start; None where that start ended without one."""
        if self.accepted is None or (self.first_start is not None and self.accepted > self.first_start):
            return None
        return self.accepted


@dataclass(frozen=True)
class PassAt:
    """A value for a number of attempts, with its 95 % interval over problems."""

    k: int
    value: float
    interval: Interval
    method: IntervalMethod

    def to_json(self) -> dict[str, float | str]:
        """All of it by name."""
        return {
            "k": self.k,
            "value": self.value,
            "low": self.interval.low,
            "high": self.interval.high,
            "interval_method": self.method,
        }


@dataclass(frozen=True)
class Curve:
    """Refine@1 … Refine@K. One run gives all of it, because a chain stops at its first accepted attempt.

    `points` count the attempts of first starts only: a restart follows only a failure, so a chain with several starts
    is a better one, not another draw. `with_restarts` is the share solved in any start, None where no chain restarted.
    `solved` and `mean_attempts_per_solved` are of whole chains, restarts included.
    """

    problems: int
    chains: int
    solved: int
    points: tuple[PassAt, ...]
    with_restarts: PassAt | None
    restarted: int
    mean_attempts_per_solved: float | None
    tokens: int | None

    def to_json(self) -> dict[str, Any]:
        """All of it by name."""
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


def curve_of(refinements: Sequence[Refinement], k: int) -> Curve:
    """Return the curve up to k: the mean over problems of `share_within`. Raises ValueError without chains."""
    if not refinements:
        raise ValueError("a curve needs at least one chain")
    by_problem: dict[str, list[Refinement]] = defaultdict(list)
    for one in refinements:
        by_problem[one.problem].append(one)
    problems = by_problem.values()
    points = [
        _point(limit, [share_within([one.accepted_at for one in chains], limit) for chains in problems])
        for limit in range(1, k + 1)
    ]
    anywhere = [share_within([one.accepted for one in chains], None) for chains in problems]
    restarted = sum(one.first_start is not None for one in refinements)
    solved = [one for one in refinements if one.accepted is not None]
    return Curve(
        problems=len(by_problem),
        chains=len(refinements),
        solved=len(solved),
        points=tuple(points),
        with_restarts=_point(k, anywhere) if restarted else None,
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
    """Independent attempts at a problem: how many, how many were accepted, and the mean tokens of one."""

    attempts: int
    accepted: int
    tokens: float | None


@dataclass(frozen=True)
class Beside:
    """Refine@K and pass@K over the same problems: at the same K, and with the tokens that refinement took.

    For each problem as many attempts are drawn as its chain's tokens pay for, at least one and at most all there are;
    `capped` counts the problems where there were too few. None where tokens are unknown.
    """

    problems: int
    k: int
    refine: PassAt
    pass_same_k: PassAt
    pass_same_tokens: PassAt | None
    capped: int

    def to_json(self) -> dict[str, Any]:
        """All of it by name."""
        same = self.pass_same_tokens
        return {
            "problems": self.problems,
            "k": self.k,
            "refine": self.refine.to_json(),
            "pass_same_k": self.pass_same_k.to_json(),
            "pass_same_tokens": same.to_json() if same else None,
            "capped": self.capped,
        }


def pass_beside(refinements: Sequence[Refinement], resampled: Mapping[str, Resampling], k: int) -> Beside:
    """The comparison over the problems that both have. Raises TooFewAttempts, and ValueError without such problems."""
    common = [one for one in refinements if one.problem in resampled]
    if not common:
        raise ValueError("the two runs have no problem in common")
    problems = list(dict.fromkeys(one.problem for one in common))
    same_k = [pass_at_k(resampled[name].attempts, resampled[name].accepted, k) for name in problems]
    same_tokens: list[float] = []
    capped = 0
    for name in problems:
        chains = [one.tokens for one in common if one.problem == name]
        total, each = _sum(chains), resampled[name].tokens
        if total is None or each is None:
            break
        # Attempts without tokens failed before any reply: any number of them is affordable.
        affordable = max(1, int(total / len(chains) / each)) if each else resampled[name].attempts
        capped += affordable > resampled[name].attempts
        drawn = min(affordable, resampled[name].attempts)
        same_tokens.append(pass_at_k(resampled[name].attempts, resampled[name].accepted, drawn))
    complete = len(same_tokens) == len(problems)
    return Beside(
        problems=len(problems),
        k=k,
        refine=curve_of(common, k).points[-1],
        pass_same_k=_point(k, same_k),
        pass_same_tokens=_point(k, same_tokens) if complete else None,
        capped=capped if complete else 0,
    )


def _point(k: int, shares: Sequence[float]) -> PassAt:
    """Return the mean; its interval is Wilson's where every problem is solved or not (see `rate_interval`)."""
    return PassAt(k, sum(shares) / len(shares), *rate_interval(shares, single=set(shares) <= {0.0, 1.0}))


def _sum(numbers: Sequence[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None
