"""Coverage of the figures of arms (docs/arms.md): gains, the ladder, shares and equivalent samples.

The chance of a correct program differs between problems (normal on the logit scale) and is the same for every
generation, so that independent samples and further attempts in a dialogue solve equally many problems.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmark.calibration.registry import Cell, Covered, calibrates
from benchmark.metrics import equivalent_samples, paired_contrast, ratio_set

Chances = NDArray[np.float64]
"""A row for each study, a column for each problem."""

SIZES = (12, 18, 40)
GENERATIONS = 5
CHAINS = 3
"""Sessions of an arm per problem; a person has one session per problem."""
GUIDANCE = 0.6
"""The share of the failures under neutral/perfect that guidance solves."""
CEILING = 0.5
"""The share of the failures under neutral/perfect that the analysis solves."""
EQUIVALENT, SAMPLES = 25, 60
"""The true number of equivalent samples, and the independent samples of a problem."""
_LOGIT, _SPREAD = -2.5, 1.0
"""Mean and standard deviation over problems of the logit of the chance of a correct program."""
_PASSES_SAMPLES = 0.3
"""The chance that a wrong program passes the samples."""
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(80)
"""Gauss–Hermite quadrature over problems."""


def perfect(right: Chances) -> Chances:
    """Return the chance that one of the programs is correct."""
    return np.asarray(1 - (1 - right) ** GENERATIONS)


def samples(right: Chances) -> Chances:
    """Return the chance that the first program that passes the samples is correct."""
    fails = (1 - right) * (1 - _PASSES_SAMPLES)
    return np.asarray(right * sum(fails**before for before in range(GENERATIONS)))


def guided(right: Chances) -> Chances:
    """Return the chance that a session with guidance is solved."""
    return perfect(right) + GUIDANCE * (1 - perfect(right))


def shown_analysis(right: Chances) -> Chances:
    """Return the chance that a session with the analysis is solved."""
    return perfect(right) + CEILING * (1 - perfect(right))


@dataclass(frozen=True)
class Arm:
    """An arm: the chance that a session is solved, given that of a correct program, and its sessions per problem."""

    solved: Callable[[Chances], Chances]
    sessions: int

    @property
    def rate(self) -> float:
        """The expected solve rate over problems."""
        return expected(self.solved)

    def study(self, generator: np.random.Generator, right: Chances) -> Chances:
        """Return the solve rate of each problem in each study."""
        return np.asarray(generator.binomial(self.sessions, self.solved(right)) / self.sessions)


def expected(of: Callable[[Chances], Chances]) -> float:
    """Return the mean over problems by Gauss–Hermite quadrature."""
    return float(_WEIGHTS @ of(_chances(_LOGIT + _SPREAD * _NODES)) / _WEIGHTS.sum())


def _chances(logits: Chances) -> Chances:
    return np.asarray(1 / (1 + np.exp(-logits)))


def problems_of(generator: np.random.Generator, studies: int, problems: int) -> Chances:
    """Return the chance of a correct program for each problem of each study."""
    return _chances(generator.normal(_LOGIT, _SPREAD, (studies, problems)))


SILENT, NEUTRAL = Arm(perfect, 1), Arm(perfect, CHAINS)
"""A tutor who verifies perfectly and says nothing useful, and a control under the rule `perfect`."""


def _contrast_cell(name: str, first: Arm, second: Arm, problems: int) -> Cell:
    truth = first.rate - second.rate
    single = first.sessions == second.sessions == 1

    def simulate(generator: np.random.Generator, studies: int) -> Covered:
        right = problems_of(generator, studies, problems)
        pairs = zip(first.study(generator, right), second.study(generator, right), strict=True)
        found = [paired_contrast(one.tolist(), other.tolist(), binary=single) for one, other in pairs]
        intervals = [contrast.difference.interval for contrast in found]
        return Covered(sum(low - 1e-12 <= truth <= high + 1e-12 for low, high in intervals))

    return Cell(name, problems, f"{first.sessions} and {second.sessions} sessions", truth, "≥ 93 %", simulate)


def _contrasts() -> Iterator[Cell]:
    """Yield the gains in both brackets, the steps of the ladder and the ceiling."""
    people = Arm(guided, 1)
    verified = Arm(samples, CHAINS)
    last = Arm(lambda right: right, CHAINS)
    for problems in SIZES:
        nothing = "no receptivity: "
        yield _contrast_cell(f"{nothing}people − neutral/perfect", SILENT, NEUTRAL, problems)
        yield _contrast_cell(f"{nothing}people − neutral/samples", SILENT, verified, problems)
        yield _contrast_cell(f"{nothing}people − neutral/perfect, 1 chain", SILENT, SILENT, problems)
        yield _contrast_cell(f"{nothing}step between two controls", NEUTRAL, NEUTRAL, problems)
        yield _contrast_cell(f"{nothing}step between two controls, rule last", last, last, problems)
        yield _contrast_cell(f"{nothing}analysis − people", Arm(shown_analysis, CHAINS), SILENT, problems)
        guidance = "guidance 60 %: "
        yield _contrast_cell(f"{guidance}people − neutral/perfect", people, NEUTRAL, problems)
        yield _contrast_cell(f"{guidance}people − neutral/samples", people, verified, problems)
        yield _contrast_cell(f"{guidance}people − neutral/perfect, 1 chain", people, SILENT, problems)


def _cut() -> Iterator[Cell]:
    """Yield the comparison with chains cut at the session's generations, for a tutor who says nothing useful.

    Its true value is above 0: sessions end early because they are solved, and the cut chains then have fewer programs.
    """
    for problems in SIZES:
        yield _cut_cell(problems)


def _cut_cell(problems: int) -> Cell:
    def solved_when_cut(right: Chances) -> Chances:
        ends = [right * (1 - right) ** before for before in range(GENERATIONS - 1)]
        ends.append((1 - right) ** (GENERATIONS - 1))
        return np.asarray(sum(end * (1 - (1 - right) ** used) for used, end in enumerate(ends, start=1)))

    truth = expected(perfect) - expected(solved_when_cut)

    def simulate(generator: np.random.Generator, studies: int) -> Covered:
        right = problems_of(generator, studies, problems)
        first_right = generator.geometric(right)
        used = np.minimum(first_right, GENERATIONS)
        control = generator.geometric(right, (CHAINS, *right.shape))
        pairs = zip((first_right <= GENERATIONS) * 1.0, (control <= used).mean(0), strict=True)
        intervals = [
            paired_contrast(one.tolist(), other.tolist()).difference.interval for one, other in pairs
        ]
        return Covered(sum(low <= truth <= high for low, high in intervals))

    name = "no receptivity: people − neutral/perfect, cut"
    return Cell(name, problems, f"1 and {CHAINS} sessions", truth, "≥ 93 %", simulate)


def _shares() -> Iterator[Cell]:
    """Yield the attributable share 1 - S_neutral / S_people, without and with guidance."""
    for name, people in (("no receptivity", SILENT), ("guidance 60 %", Arm(guided, 1))):
        for problems in SIZES:
            yield _share_cell(f"{name}: attributable share", people, problems)


def _share_cell(name: str, people: Arm, problems: int) -> Cell:
    truth = 1 - NEUTRAL.rate / people.rate

    def simulate(generator: np.random.Generator, studies: int) -> Covered:
        right = problems_of(generator, studies, problems)
        human, control = people.study(generator, right), NEUTRAL.study(generator, right)
        covered = 0
        for one, other in zip(human, control, strict=True):
            ranges = ratio_set((one - other).tolist(), one.tolist()).ranges
            covered += any(
                (part.low is None or part.low <= truth + 1e-12)
                and (part.high is None or truth <= part.high + 1e-12)
                for part in ranges
            )
        return Covered(covered)

    return Cell(name, problems, f"1 and {CHAINS} sessions", truth, "≥ 93 %", simulate)


def _equivalent() -> Iterator[Cell]:
    """Yield the sets of equivalent samples: a session of a person solves as much as 25 independent samples."""
    for problems in SIZES:
        yield _equivalent_cell(problems)


def _equivalent_cell(problems: int) -> Cell:
    def simulate(generator: np.random.Generator, studies: int) -> Covered:
        right = problems_of(generator, studies, problems)
        people = generator.binomial(1, 1 - (1 - right) ** EQUIVALENT)
        drawn = generator.binomial(SAMPLES, right)
        covered = 0
        for human, solved in zip(people.tolist(), drawn.tolist(), strict=True):
            found = equivalent_samples(human, [(SAMPLES, count) for count in solved])
            covered += EQUIVALENT in found.accepted
        return Covered(covered)

    inside = f"1 session, {SAMPLES} samples"
    return Cell("equivalent samples", problems, inside, EQUIVALENT, "94–96 %", simulate)


@calibrates("arms", "Figures of arms: 95 % intervals and sets")
def cells() -> Sequence[Cell]:
    """Return the cells: contrasts without and with guidance, cut chains, attributable shares, equivalent samples."""
    return [*_contrasts(), *_cut(), *_shares(), *_equivalent()]
