"""Simulated studies of automatic tutors with known gains and leaks, and drafts with known leaks for the guard.

The students are those of the world `guidance-60`, with problems drawn from its range. The drafts are passages of the
practice problems' official analyses and of their right programs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmark.calibration.registry import Cell, Covered, calibrates
from benchmark.datasets.icpc_texts import analysis_text, statement_text
from benchmark.prompts import VisibleProblem
from benchmark.providers import Message
from benchmark.providers.practice import PRACTICE_PROBLEMS, practice_scripts
from benchmark.providers.worlds import idea_text, read_world
from benchmark.retrieval import split_analysis
from tutoring.arms.policy import RemainingBudget, TutorView
from tutoring.arms.tutor.answer import TutorAnswer
from tutoring.arms.tutor.guard import context_of, refusals
from tutoring.automatic_tutors.estimation import above_yardstick, leak_index, yardstick
from tutoring.rules import MessageContext
from tutoring.studies.estimation import contrast

Values = NDArray[np.float64]

SIZES = (12, 18, 40)
DRAWS = 4
SESSIONS = 3
GENERATIONS = 5
_WORLD = "guidance-60"
_SPREAD = 0.05
"""Half-width of the uniform effect of a problem on the rate of a first program."""
REFUSED = 0.99
"""The least share of verbatim leaks that the guard refuses."""


@dataclass(frozen=True)
class TutoredWorld:
    """A student whose problems differ, and a tutor whose messages have a known effect.

    `unaided`, `retry` and `leaked` are mean chances of a right program: at first, after a wrong one without help, and
    after the tutor's messages alone. A hint removes the share `guided` of the failures after a wrong program.
    """

    unaided: float
    retry: float
    leaked: float
    guided: float

    def chances(self, generator: np.random.Generator, mean: float, shape: tuple[int, int]) -> Values:
        """Return the chance of each problem; studies × problems."""
        shifted = mean + generator.uniform(-_SPREAD, _SPREAD, shape) * min(1.0, mean / _SPREAD)
        return np.asarray(np.clip(shifted, 0.0, 1.0))

    def sessions(
        self, generator: np.random.Generator, shape: tuple[int, int], *, guided: bool
    ) -> tuple[Values, Values]:
        """Return the share of solved sessions of each problem under the rule `perfect`, and its expected value."""
        first = self.chances(generator, self.unaided, shape)
        again = self.retry + (self.guided * (1 - self.retry) if guided else 0.0)
        solved = 1 - (1 - first) * (1 - again) ** (GENERATIONS - 1)
        return generator.binomial(SESSIONS, solved) / SESSIONS, solved


def _world(*, leaks: bool, guides: bool) -> TutoredWorld:
    problems = read_world(_WORLD).problems.values()

    def mean(values: Sequence[float]) -> float:
        return sum(values) / len(values)

    unaided = mean([one.unaided for one in problems])
    leaked = mean([one.leak.analysis for one in problems]) if leaks else unaided
    hinted = mean([mean([bug.receptivity[3] for bug in one.bugs.values()]) for one in problems])
    return TutoredWorld(unaided, mean([one.retry for one in problems]), leaked, hinted if guides else 0.0)


def _leak_studies(
    world: TutoredWorld, generator: np.random.Generator, shape: tuple[int, int]
) -> tuple[Values, Values]:
    """Return shares of right draws: alone (studies × problems), and with messages (studies × problems × sessions)."""
    unaided = world.chances(generator, world.unaided, shape)
    extra = world.leaked - world.unaided
    alone = generator.binomial(DRAWS, unaided) / DRAWS
    chances = np.clip(unaided + extra, 0, 1)[:, :, None].repeat(SESSIONS, axis=2)
    return alone, generator.binomial(DRAWS, chances) / DRAWS


def _leak_cell(name: str, world: TutoredWorld, problems: int) -> Cell:
    truth = world.leaked - world.unaided

    def simulate(generator: np.random.Generator, studies: int) -> Covered:
        alone, shown = _leak_studies(world, generator, (studies, problems))
        covered = 0
        for first, second in zip(alone.tolist(), shown.tolist(), strict=True):
            found = leak_index(dict(enumerate(first)), dict(enumerate(second)))
            covered += (
                found is not None and found.interval.interval.low <= truth <= found.interval.interval.high
            )
        return Covered(covered)

    inside = f"{SESSIONS} sessions, {DRAWS} draws each"
    return Cell(f"leak index, {name}", problems, inside, truth, "94–97 %", simulate)


def _caught_cell(name: str, world: TutoredWorld, problems: int, *, caught: bool) -> Cell:
    """Return the cell of the share of studies in which the tutor is above the yardstick of people, or is not."""
    people = _world(leaks=False, guides=True)

    def simulate(generator: np.random.Generator, studies: int) -> Covered:
        shape = studies, problems
        found = zip(
            *(values.tolist() for values in _leak_studies(people, generator, shape)),
            *(values.tolist() for values in _leak_studies(world, generator, shape)),
            strict=True,
        )
        right = 0
        for people_alone, people_shown, alone, shown in found:
            of_people = leak_index(dict(enumerate(people_alone)), dict(enumerate(people_shown)))
            of_tutor = leak_index(dict(enumerate(alone)), dict(enumerate(shown)))
            assert of_people is not None
            assert of_tutor is not None
            limit = yardstick(of_people.by_session)
            right += limit is not None and above_yardstick(of_tutor, limit).gives_away == caught
        return Covered(right)

    verdict = "gives away" if caught else "does not give away"
    return Cell(f"{name} {verdict} more than people", problems, "share of studies", 1.0, "≥ 93 %", simulate)


def _gain_cell(name: str, world: TutoredWorld, problems: int) -> Cell:
    names = [f"p{number}" for number in range(problems)]
    expected = world.sessions(np.random.default_rng(0), (20_000, 1), guided=True)[1].mean()
    truth = float(expected - world.sessions(np.random.default_rng(0), (20_000, 1), guided=False)[1].mean())

    def simulate(generator: np.random.Generator, studies: int) -> Covered:
        shape = studies, problems
        tutored, _ = world.sessions(generator, shape, guided=True)
        neutral, _ = world.sessions(generator, shape, guided=False)
        covered = 0
        for first, second in zip(tutored.tolist(), neutral.tolist(), strict=True):
            arms = (
                {one: [value] * SESSIONS for one, value in zip(names, row, strict=True)}
                for row in (first, second)
            )
            found = contrast((name, "neutral"), *arms)
            covered += found is not None and found.low <= truth <= found.high
        return Covered(covered)

    return Cell(
        f"gain over neutral, {name}", problems, f"{SESSIONS} sessions per arm", truth, "≥ 93 %", simulate
    )


@cache
def _problem(slug: str) -> tuple[VisibleProblem, MessageContext]:
    """Return a practice problem as the guard sees it, read from its package."""
    package = PRACTICE_PROBLEMS / slug
    statement, analysis = statement_text(package), analysis_text(package)
    assert statement is not None
    assert analysis is not None
    task = VisibleProblem(slug, statement.content, 1, 2**28, title=slug)
    context = MessageContext(
        statement=f"{slug}\n{statement.content}",
        analysis=analysis.content,
        references=tuple(_right_programs(package)),
    )
    return task, context


def _right_programs(package: Path) -> list[str]:
    return [path.read_text("utf-8") for path in sorted((package / "submissions" / "accepted").iterdir())]


def _pieces(parts: Sequence[str], length: int, joint: str) -> list[str]:
    """Return consecutive pieces of `length` parts each; a shorter rest at the end is left out."""
    return [joint.join(parts[at : at + length]) for at in range(0, len(parts) - length + 1, length)]


@cache
def verbatim_leaks() -> tuple[tuple[str, str], ...]:
    """Return drafts that quote a solution, each with its problem.

    They are pairs and triples of consecutive sentences of an analysis's prose, and six lines of a right program.
    """
    found: list[tuple[str, str]] = []
    for script in practice_scripts():
        _, context = _problem(script.slug)
        prose = re.sub(r"\s+", " ", split_analysis(context.analysis)[0])
        sentences = [one for one in re.split(r"(?<=[.!?:]) ", prose) if len(one.split()) >= 5]
        for length in (2, 3):
            found += [(script.slug, text) for text in _pieces(sentences, length, " ")]
        for program in context.references:
            lines = [line for line in program.splitlines() if line.strip()]
            found += [(script.slug, text) for text in _pieces(lines, 6, "\n")]
    return tuple(found)


@cache
def guard_refuses(slug: str, text: str) -> bool:
    """Return whether the guard refuses a draft after a first program without help."""
    task, context = _problem(slug)
    program = "print(int(input()))"
    dialogue = (Message("user", "Write a program."), Message("assistant", f"```python\n{program}\n```"))
    view = TutorView(task, "python", dialogue, (program,), 1, RemainingBudget(GENERATIONS - 1, 1))
    answer = TutorAnswer(diagnosis="", level=2, act="code", message=text)
    return bool(refusals(answer, view, context_of(context, view), cap=3))


def _guard_cells() -> list[Cell]:
    def drawn(
        drafts: Callable[[], Sequence[tuple[str, str]]], *, refused: bool
    ) -> Callable[[np.random.Generator, int], Covered]:
        def simulate(generator: np.random.Generator, studies: int) -> Covered:
            listed = drafts()
            chosen = generator.integers(0, len(listed), studies).tolist()
            return Covered(sum(guard_refuses(*listed[at]) == refused for at in chosen))

        return simulate

    def ideas() -> list[tuple[str, str]]:
        return [(script.slug, idea_text(script.slug)) for script in practice_scripts()]

    number = len(practice_scripts())
    inside = "share of drafts"
    return [
        Cell(
            "guard refuses verbatim leaks", number, inside, 1.0, "≥ 99 %", drawn(verbatim_leaks, refused=True),
            least=REFUSED,
        ),
        Cell(
            "guard passes the paraphraser", number, inside, 1.0, "100 %", drawn(ideas, refused=False),
            least=REFUSED,
        ),
    ]  # fmt: skip


@calibrates("tutor", "95 % intervals of leak index and gain, and what guard and yardstick find")
def cells() -> Sequence[Cell]:
    """Return the cells: leaks and gains of tutors with known conduct, and refusals of drafts with known leaks."""
    leaking, honest = _world(leaks=True, guides=True), _world(leaks=False, guides=True)
    silent = _world(leaks=False, guides=False)
    found = []
    for problems in SIZES:
        found += [
            _leak_cell("paraphraser", leaking, problems),
            _leak_cell("honest", honest, problems),
            _caught_cell("paraphraser", leaking, problems, caught=True),
            _caught_cell("honest", honest, problems, caught=False),
            _gain_cell("honest", honest, problems),
            _gain_cell("silent", silent, problems),
        ]
    return [*found, *_guard_cells()]
