"""Simulated replays with a known truth: gains, receptivity, misfit harm and the content gain where any text helps.

The chance of a right program after the neutral sentence differs between problems and states (normal on the logit
scale). A hint removes a share of the remaining failures, which differs between problems. The estimators are those of
the page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmark.calibration.registry import LEAST_COVERAGE, Cell, Covered, calibrates
from tutoring.replay.estimates import CONTRASTS, Arm, Placed, gain, misfit_harm, receptivity

Chances = NDArray[np.float64]

SIZES = (12, 18, 40)
RECEPTIVITIES = (0.0, 0.1, 0.3)
DRAWS = 4
_BASE, _PROBLEM_SPREAD, _STATE_SPREAD = -1.5, 1.0, 0.5
"""Mean logit of a right program after the neutral sentence, and the standard deviations of problems and states."""
_MOST_STATES = 4
_VERDICT = 0.05
"""The share of the remaining failures that a stated verdict removes."""
_ANY_TEXT = 0.2
"""The share that any text removes, in the world where any text helps."""
_HARM = 0.4
"""The share of the chance of a right program that a hint for another bug takes away."""
_MISFITS = 0.5
"""The share of placements whose program has another bug, in the world of misfits."""


@dataclass(frozen=True)
class ReplayWorld:
    """A world: the shares of the remaining failures that hint, verdict and sham remove, on average over problems."""

    hint: float
    verdict: float = _VERDICT
    sham: float = 0.0
    misfits: float = 0.0

    def studies(self, generator: np.random.Generator, studies: int, problems: int) -> Iterator[list[Placed]]:
        """Yield the placements of each study, one to four per problem, with four draws per arm."""
        shape = (studies, problems, _MOST_STATES)
        logits = generator.normal(_BASE, _PROBLEM_SPREAD, (studies, problems, 1))
        neutral = 1 / (1 + np.exp(-logits - generator.normal(0, _STATE_SPREAD, shape)))
        removed = generator.uniform(0, 2, (studies, problems, 1))
        chances: dict[Arm, Chances] = {
            "neutral": neutral,
            "hint": neutral + removed * self.hint * (1 - neutral),
            "verdict": neutral + self.verdict * (1 - neutral),
            "sham": neutral + removed * self.sham * (1 - neutral),
        }
        misfit = generator.random(shape) < self.misfits
        chances["hint"] = np.where(misfit, neutral * (1 - _HARM), chances["hint"])
        drawn = {arm: generator.binomial(DRAWS, chance) / DRAWS for arm, chance in chances.items()}
        states = generator.integers(1, _MOST_STATES + 1, (studies, problems))
        for study in range(studies):
            rates = {arm: values[study].tolist() for arm, values in drawn.items()}
            other = misfit[study].tolist()
            yield [
                Placed(
                    str(problem),
                    {arm: values[problem][state] for arm, values in rates.items()},
                    "other" if other[problem][state] else "same",
                )
                for problem, number in enumerate(states[study].tolist())
                for state in range(number)
            ]


def mean_neutral() -> float:
    """Return the mean chance of a right program after the neutral sentence, by Gauss–Hermite quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    spread = float(np.hypot(_PROBLEM_SPREAD, _STATE_SPREAD))
    return float(weights @ (1 / (1 + np.exp(-_BASE - spread * nodes))) / weights.sum())


Claim = Callable[[list[Placed], float], bool]
"""Whether the figure of one study does what it claims, given the true value."""


def _gain_covers(name: str) -> Claim:
    def covers(placed: list[Placed], truth: float) -> bool:
        found = misfit_harm(placed) if name == "misfit harm" else gain(name, placed)
        if found is None or found.interval is None:
            return False
        low, high = found.interval.interval
        return low - 1e-12 <= truth <= high + 1e-12

    return covers


def _receptivity_covers(placed: list[Placed], truth: float) -> bool:
    found = receptivity(placed)
    return found is not None and any(
        (part.low is None or part.low <= truth + 1e-12) and (part.high is None or truth <= part.high + 1e-12)
        for part in found.found.ranges
    )


def _gain_is_found(placed: list[Placed], _truth: float) -> bool:
    found = gain("gain", placed)
    return found is not None and found.interval is not None and found.interval.interval.low > 0


_CLAIMS: dict[str, Claim] = {
    **{name: _gain_covers(name) for name in (*CONTRASTS, "misfit harm")},
    "receptivity": _receptivity_covers,
    "gain above 0": _gain_is_found,
}
"""The claims by the name of the figure."""

_POWER = 0.9
"""The share of studies of 40 problems whose gain is above 0 where any text helps."""


def _cell(figure: str, problems: int, inside: str, world: ReplayWorld, truth: float) -> Cell:
    claim = _CLAIMS[figure]

    def simulate(generator: np.random.Generator, studies: int) -> Covered:
        return Covered(sum(claim(placed, truth) for placed in world.studies(generator, studies, problems)))

    least = _POWER if figure == "gain above 0" else LEAST_COVERAGE
    return Cell(figure, problems, inside, truth, f"≥ {100 * least:.0f} %", simulate, least=least)


@calibrates("replay", "Figures of replayed hints: 95 % intervals and sets")
def cells() -> Sequence[Cell]:
    """Return the cells: gains and receptivity by world, any text helps, and misfit harm."""
    failures = 1 - mean_neutral()
    any_text = ReplayWorld(_ANY_TEXT, _ANY_TEXT, _ANY_TEXT)
    misfits = ReplayWorld(0.3, misfits=_MISFITS)
    found = []
    for problems in SIZES:
        for share in RECEPTIVITIES:
            world, inside = ReplayWorld(share), f"receptivity {share:g}"
            found += [
                _cell("gain", problems, inside, world, share * failures),
                _cell("content gain", problems, inside, world, share * failures),
                _cell("receptivity", problems, inside, world, share),
            ]
        found += [
            _cell("verdict gain", problems, inside, world, _VERDICT * failures),
            _cell("content gain", problems, "any text helps", any_text, 0.0),
            _cell("gain", problems, "any text helps", any_text, _ANY_TEXT * failures),
            _cell("misfit harm", problems, "half are misfits", misfits, -_HARM * (1 - failures)),
        ]
    found.append(_cell("gain above 0", SIZES[-1], "any text helps", any_text, _ANY_TEXT * failures))
    return found
