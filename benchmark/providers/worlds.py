"""Worlds of simulated students: data files that state how probably a student is right, whatever a tutor says.

A world gives for each practice problem the rate without help, the bugs of wrong programs, the effect of hints by level
(receptivity) and the effect of leaks. `probability_right` returns the exact probability of the next program, and
`expected_rate` that of a whole session.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Literal

import yaml
from django.conf import settings
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from benchmark.providers.practice import PRACTICE_PROBLEMS, script_named_in
from benchmark.providers.protocol import Message

SHIPPED = Path(__file__).parent / "world_files"

Probability = Annotated[float, Field(ge=0, le=1)]
HintLevel = Annotated[int, Field(ge=1, le=4, strict=False)]
"""How specific a hint is, as in the codebook: 1 the most general."""

StoppingRule = Literal["last", "samples", "perfect"]
"""The program that counts: the last one; the first that passes the samples, else the last; any that is right."""

_MARKER = re.compile(r"\[hint ([\w-]+)/([\w-]+) level ([1-4])\]")
_IDEA = re.compile(r"\[idea ([\w-]+)\]")
_FENCED = re.compile(r"^```[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
_SHINGLE = 6
_QUOTED_SHARE = 0.2
"""A message with at least this share of an analysis's sequences of `_SHINGLE` words counts as quoting it."""


class WorldError(ValueError):
    """A world that does not exist or does not fit the schema; the message names the file and the fields."""


class _Schema(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Bug(_Schema):
    """A wrong program, and the probability of a right one after a hint at its bug."""

    program: str
    """Path of the program in the problem's package."""
    passes_samples: bool
    weight: Annotated[float, Field(gt=0)] = 1.0
    """How often a wrong first program has this bug, relative to the other bugs."""
    receptivity: Mapping[HintLevel, Probability]
    """The probability of a right program after a hint at this bug, by the level of the hint."""


class Leaks(_Schema):
    """The probability of a right program after a message that quotes the official analysis or a right program."""

    analysis: Probability
    program: Probability


class WorldProblem(_Schema):
    """A student's conduct at one practice problem."""

    right: str
    """Path of the right program in the problem's package."""
    unaided: Probability
    """The probability that the first program is right."""
    retry: Probability
    """The probability of a right program after a wrong one and a message that does not help."""
    keep: Probability
    """The probability of a right program after a right one."""
    bugs: Annotated[Mapping[str, Bug], Field(min_length=1)]
    leak: Leaks

    def program(self, slug: str, bug: str | None) -> str:
        """Return the program with this bug; None: the right program."""
        path = self.right if bug is None else self.bugs[bug].program
        return _source(slug, path)

    @property
    def weights(self) -> dict[str, float]:
        """The probabilities of the bugs of a wrong first program."""
        total = sum(bug.weight for bug in self.bugs.values())
        return {name: bug.weight / total for name, bug in self.bugs.items()}


class World(_Schema):
    """A simulated student: its conduct at each problem, by the name of the problem's package."""

    name: Annotated[str, Field(pattern=r"^[\w.-]+$")]
    summary: str
    problems: Annotated[Mapping[str, WorldProblem], Field(min_length=1)]

    @model_validator(mode="after")
    def _programs_exist(self) -> World:
        for slug, problem in self.problems.items():
            for path in (problem.right, *(bug.program for bug in problem.bugs.values())):
                if not (PRACTICE_PROBLEMS / slug / path).is_file():
                    raise ValueError(f"the practice problem {slug} has no program {path}")
        return self

    @cached_property
    def digest(self) -> str:
        """The sha256 of the world's content, on which all draws depend."""
        return hashlib.sha256(json.dumps(self.model_dump(mode="json"), sort_keys=True).encode()).hexdigest()


def world_names() -> list[str]:
    """Return the names of the shipped worlds and of those in the folder SIMULATED_WORLDS, sorted."""
    return sorted({path.stem for folder in _folders() for path in folder.glob("*.yaml")})


@cache
def read_world(name: str) -> World:
    """Return the world of this name. Raises WorldError."""
    path = next((path for folder in _folders() if (path := folder / f"{name}.yaml").is_file()), None)
    if path is None or path.stem not in world_names():
        raise WorldError(f"There is no world {name!r}. There are: {', '.join(world_names())}.")
    try:
        world = World.model_validate(yaml.safe_load(path.read_text("utf-8")))
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, one['loc'])) or 'world'}: {one['msg']}" for one in error.errors()]
        more = f"; {len(faults) - 3} more faults" if len(faults) > 3 else ""
        raise WorldError(f"{path}: {'; '.join(faults[:3])}{more}") from None
    except yaml.YAMLError as error:
        raise WorldError(f"{path}: {error}") from None
    if world.name != name:
        raise WorldError(f"{path}: the name of the world is {world.name!r}; it must be that of the file.")
    return world


def _folders() -> list[Path]:
    return [SHIPPED, *([Path(settings.SIMULATED_WORLDS)] if settings.SIMULATED_WORLDS else [])]


class Situation(_Schema):
    """The content of the messages to a simulated student."""

    slug: str
    has_program: bool
    """Whether the student has written a program of this world."""
    bug: str | None
    """The bug of the student's last program; None: it is right, or there is none."""
    probability: Probability
    """The probability that the next program is right."""


def situation_of(world: World, messages: Sequence[Message]) -> Situation | None:
    """Return the situation after these messages; None if they name no problem of the world."""
    slug = next(
        (slug for message in messages if message.role == "user" and (slug := _problem_in(message))), None
    )
    if slug is None or slug not in world.problems:
        return None
    problem = world.problems[slug]
    has_program, bug, since = False, None, list(messages)
    for number, message in enumerate(messages):
        if message.role == "assistant" and (found := bug_of(world, slug, message.content)) is not None:
            has_program, bug, since = True, found or None, list(messages[number + 1 :])
    said = "\n".join(message.content for message in since if message.role == "user")
    after_program = problem.keep if bug is None else problem.retry
    base = after_program if has_program else problem.unaided
    effects = [base, *_leaks(slug, problem, said)]
    if bug is not None:
        effects += [problem.bugs[bug].receptivity.get(level, 0.0) for level in _levels(said, slug, bug)]
    return Situation(slug=slug, has_program=has_program, bug=bug, probability=max(effects))


def probability_right(world: World, messages: Sequence[Message]) -> float:
    """Return the exact probability that the student's next program is right. Raises LookupError for another problem."""
    situation = situation_of(world, messages)
    if situation is None:
        raise LookupError(f"The messages name no problem of the world {world.name}.")
    return situation.probability


def hint_text(slug: str, bug: str, level: int) -> str:
    """Return a hint at this bug. Its marker works only while the student's program has the bug."""
    return f"Look again at one part of your program. [hint {slug}/{bug} level {level}]"


def hint_level(text: str) -> int:
    """Return the level of the hint in a message; 0 without a hint."""
    marker = _MARKER.search(text)
    return int(marker[3]) if marker else 0


def idea_text(slug: str) -> str:
    """Return a message that gives the solution away in words of its own: it has the effect of the official analysis.

    Its marker works with and without a program, as a solution does.
    """
    return f"Here is another way to look at it, with which the rest is easy to finish. [idea {slug}]"


def bug_of(world: World, slug: str, reply: str) -> str | None:
    """Return the name of the bug in the last program of a reply; blank: it is right; None: no program of the world."""
    programs = {_collapse(code): name for name, code in _programs(world, slug).items()}
    for block in reversed(_FENCED.findall(reply)):
        if (name := programs.get(_collapse(block))) is not None:
            return name
    return None


def expected_rate(
    problem: WorldProblem,
    generations: int,
    stopping: StoppingRule = "last",
    *,
    after_wrong: Callable[[Bug], float] | None = None,
    after_right: float | None = None,
    first: float | None = None,
) -> float:
    """Return the probability that a session of this number of generations is solved under the stopping rule.

    `first` is the probability of a right first program (default: unaided), `after_wrong` that of a right program after
    one with a bug (default: retry), `after_right` that after a right one (default: keep).
    """
    start = problem.unaided if first is None else first
    stay = problem.keep if after_right is None else after_right
    states: dict[str | None, float] = {None: start} | {
        name: (1 - start) * weight for name, weight in problem.weights.items()
    }
    settled = 0.0
    for generation in range(generations):
        last = generation == generations - 1
        if stopping != "last" or last:
            settled += states.get(None, 0.0)
            states[None] = states[None] if stopping == "last" else 0.0
        if stopping == "samples":
            states = {
                name: 0.0 if name and problem.bugs[name].passes_samples else p for name, p in states.items()
            }
        if last:
            break
        right = states.get(None, 0.0)
        following: dict[str | None, float] = {None: right * stay}
        for name, weight in problem.weights.items():
            solves = problem.retry if after_wrong is None else after_wrong(problem.bugs[name])
            following[None] = following[None] + states[name] * solves
            following[name] = states[name] * (1 - solves) + right * (1 - stay) * weight
        states = following
    return settled


def independent_rate(problem: WorldProblem, generations: int, stopping: StoppingRule = "last") -> float:
    """Return the probability that a session of `generations` independent first programs is solved (arm `again`)."""
    if stopping == "last":
        return problem.unaided
    if stopping == "perfect":
        return 1 - (1 - problem.unaided) ** generations
    fails = (1 - problem.unaided) * sum(
        weight for name, weight in problem.weights.items() if not problem.bugs[name].passes_samples
    )
    return sum(fails**before * problem.unaided for before in range(generations))


def _problem_in(message: Message) -> str | None:
    script = script_named_in(message.content)
    return script.slug if script else None


def _levels(said: str, slug: str, bug: str) -> list[int]:
    return [int(level) for where, name, level in _MARKER.findall(said) if (where, name) == (slug, bug)]


def _leaks(slug: str, problem: WorldProblem, said: str) -> list[float]:
    effects = []
    if slug in _IDEA.findall(said) or (len(said) > 200 and _quotes(said, slug)):
        effects.append(problem.leak.analysis)
    collapsed = _collapse(said)
    if any(program in collapsed for program in _accepted(slug)):
        effects.append(problem.leak.program)
    return effects


def _quotes(text: str, slug: str) -> bool:
    analysis = _analysis(slug)
    return len(analysis & _shingles(text)) >= _QUOTED_SHARE * len(analysis)


@cache
def _analysis(slug: str) -> frozenset[tuple[str, ...]]:
    """Return the sequences of words of the analysis that do not occur in the statement."""
    statement, solution = (_texts_of(slug, name) for name in ("problem", "solution"))
    return _shingles(solution) - _shingles(statement)


def _texts_of(slug: str, name: str) -> str:
    """Return the texts of this name in a package, whose folders depend on its format."""
    found = sorted((PRACTICE_PROBLEMS / slug).glob(f"*/{name}.en.*"))
    assert found, f"{slug} has no {name}"
    return "\n".join(path.read_text("utf-8") for path in found)


def _shingles(text: str) -> frozenset[tuple[str, ...]]:
    words = re.findall(r"[a-z]{2,}", text.lower())
    return frozenset(tuple(words[at : at + _SHINGLE]) for at in range(len(words) - _SHINGLE + 1))


@cache
def _source(slug: str, path: str) -> str:
    return (PRACTICE_PROBLEMS / slug / path).read_text("utf-8").strip()


@cache
def _accepted(slug: str) -> tuple[str, ...]:
    folder = PRACTICE_PROBLEMS / slug / "submissions" / "accepted"
    return tuple(_collapse(path.read_text("utf-8")) for path in sorted(folder.iterdir()))


def _programs(world: World, slug: str) -> dict[str, str]:
    """Return the programs of a problem by bug; blank: the right one."""
    problem = world.problems[slug]
    return {"": problem.program(slug, None)} | {name: problem.program(slug, name) for name in problem.bugs}


def _collapse(text: str) -> str:
    return " ".join(text.split())
