"""Simulated studies of level caps with known solve rates, and a world whose tutors give more help on hard problems."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmark.calibration.registry import Cell, Covered, calibrates
from tutoring.ladder.estimation import HelpedSession, compare_caps, help_curve, misorders
from tutoring.studies.estimation import contrast

Values = NDArray[np.float64]

SIZES = (12, 18, 40)

SOLVE_RATES = (0.1, 0.2, 0.4, 0.6)
"""The chance to solve a problem with help up to the levels 0 to 3."""

_SPREAD = 0.1
"""Half-width of the uniform effect of a problem, the same in all arms."""


def capped_studies(
    generator: np.random.Generator, studies: int, problems: int, rates: Sequence[float] = SOLVE_RATES
) -> Values:
    """Return outcomes with the shape studies × arms × problems: one session for each arm and problem."""
    shift = generator.uniform(-_SPREAD, _SPREAD, (studies, 1, problems))
    chances = np.asarray(rates)[None, :, None] + shift
    return (generator.random(chances.shape) < chances).astype(float)


def _difference(lower: int, higher: int, problems: int) -> Cell:
    truth = SOLVE_RATES[higher] - SOLVE_RATES[lower]
    names = [f"p{number}" for number in range(problems)]

    def simulate(generator: np.random.Generator, studies: int) -> Covered:
        outcomes = capped_studies(generator, studies, problems)
        covered = 0
        for first, second in zip(outcomes[:, higher].tolist(), outcomes[:, lower].tolist(), strict=True):
            arms = (
                {name: [value] for name, value in zip(names, one, strict=True)} for one in (first, second)
            )
            found = contrast(("higher", "lower"), *arms)
            covered += found is not None and found.low <= truth <= found.high
        return Covered(covered)

    inside = f"cap {higher} − cap {lower}, 1 session per arm"
    return Cell("difference by cap", problems, inside, truth, "≥ 93.7 %", simulate)


def _least_help(rates: Sequence[float], inside: str, problems: int) -> Cell:
    """Return the cell of studies in which no cap without a gain is named. The first rate is that of the neutral arm."""
    neutral, *capped = rates
    useless = {cap for cap, rate in enumerate(capped) if rate <= neutral}
    names = [f"p{number}" for number in range(problems)]

    def simulate(generator: np.random.Generator, studies: int) -> Covered:
        sound = 0
        for outcomes in capped_studies(generator, studies, problems, rates).tolist():
            control, *arms = (
                (name, {problem: [value] for problem, value in zip(names, row, strict=True)})
                for name, row in zip(("neutral", *map(str, range(len(capped)))), outcomes, strict=True)
            )
            sound += compare_caps(dict(enumerate(arms)), control).least not in useless
        return Covered(sound)

    return Cell("least help names a gain", problems, inside, 1.0, "≥ 95 %", simulate, least=0.95)


@dataclass(frozen=True)
class EscalationWorld:
    """Problems of known difficulty, on which each tutor uses the level that the difficulty suggests, up to the cap.

    A level of help adds `gain` logits. The expected difference of the caps is over problems of all difficulties.
    """

    gain: float = 0.9
    easy: float = 2.0
    hard: float = -5.0
    caps: tuple[int, ...] = (0, 1, 2, 3)

    def levels(self, ease: Values, cap: int) -> Values:
        """Return the level that tutors use on problems with this logit of the unaided solve rate."""
        wanted = np.ceil((self.easy - ease) / (self.easy - self.hard) * max(self.caps))
        return np.asarray(np.minimum(np.clip(wanted, 0, max(self.caps)), cap))

    def study(self, generator: np.random.Generator, problems: int) -> tuple[Values, Values]:
        """Return outcomes and used levels with the shape caps × problems."""
        ease = generator.uniform(self.hard, self.easy + 1, problems)
        levels = np.stack([self.levels(ease, cap) for cap in self.caps])
        chances = 1 / (1 + np.exp(-(ease + self.gain * levels)))
        return (generator.random(chances.shape) < chances).astype(float), levels


def _escalation(problems: int) -> Iterator[Cell]:
    world = EscalationWorld()
    names = [f"p{number}" for number in range(problems)]

    def counting(holds: Callable[[Values, Values], bool]) -> Callable[[np.random.Generator, int], Covered]:
        def simulate(generator: np.random.Generator, studies: int) -> Covered:
            return Covered(sum(holds(*world.study(generator, problems)) for _ in range(studies)))

        return simulate

    def curve_misorders(outcomes: Values, levels: Values) -> bool:
        free = zip(
            names, outcomes[-1].tolist(), levels[-1].tolist(), strict=True
        )  # the cap that binds no tutor
        sessions = [HelpedSession(name, bool(solved), level) for name, solved, level in free]
        return misorders(help_curve(sessions))

    def caps_are_ordered(outcomes: Values, _levels: Values) -> bool:
        arms = {
            cap: (f"cap {cap}", {name: [value] for name, value in zip(names, row, strict=True)})
            for cap, row in zip(world.caps, outcomes.tolist(), strict=True)
        }
        fitted = compare_caps(arms).fitted
        first, last = fitted[0], fitted[-1]
        return first is not None and last is not None and first < last

    inside = "tutors give more help on hard problems"
    yield Cell("help curve misorders the levels", problems, inside, 1.0, "≥ 93 %", counting(curve_misorders))
    yield Cell("rates by cap order the levels", problems, inside, 1.0, "≥ 93 %", counting(caps_are_ordered))


@calibrates(
    "ladder", "95 % intervals of differences by level cap, the least help, and the order of the levels"
)
def cells() -> Sequence[Cell]:
    """Return the cells: differences of caps, the world where tutors escalate on hard problems, and the least help."""
    found = [
        _difference(lower, higher, problems)
        for problems in SIZES
        for higher in range(1, len(SOLVE_RATES))
        for lower in range(higher)
    ]
    for problems in SIZES[1:]:
        found += _escalation(problems)
    for problems in SIZES:
        found.append(_least_help((0.4,) * 6, "no gain at any of 5 caps", problems))
        found.append(_least_help((SOLVE_RATES[0], *SOLVE_RATES), "no gain at the lowest of 4 caps", problems))
    return found
