"""Inputs made by functions that a model wrote: validator, generators, batches, tricky inputs (docs/spec.md 3.1, 15)."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import judge
from benchmark.functional import Signature, library
from benchmark.oracles.running import Allowance, driver, json_lines

_LIMITS = judge.Limits(time=60, memory=512 * 2**20)
_TRIED = 20
"""Calls of a generator, one of which must make a valid input (docs/spec.md 15)."""


@dataclass(frozen=True)
class Recipe:
    """How inputs are made. `caps` bound every size; the first of them gets all batches, each other two.

    `longest_tricky` bounds the characters of a tricky input, `stress` is the number of inputs without a cap, which
    show only whether a candidate is too slow. In seconds of CPU, `seconds` bounds each call that makes an input,
    `oracle_seconds` an oracle's on each input, and `budget` the sum of either; None bounds no sum.
    """

    caps: tuple[int, ...] = (10, 3, 5)
    batches: int = 6
    longest_tricky: int = 400
    validated: bool = True
    seconds: float = 2.0
    stress: int = 3
    oracle_seconds: int = 1
    budget: float | None = 1.35

    @property
    def allowance(self) -> Allowance:
        """Of an oracle."""
        return Allowance(self.oracle_seconds, self.budget)


PUBLISHED = Recipe(caps=(10,), validated=False, seconds=1.0, stress=0, budget=None)
"""What the ALGO paper's LeetCode figures follow from (docs/spec.md 3.4)."""


@dataclass(frozen=True)
class Parts:
    """The model's texts, executed in this order in one namespace. `signature` is None where an input is one text."""

    signature: Signature | None
    validator: str = ""
    generator: str = ""
    batch: str = ""
    tricky: str = ""
    written_tests: str = ""

    @property
    def texts(self) -> list[str]:
        """Those that make inputs, in the order of their execution."""
        return [text for text in (self.validator, self.generator, self.batch, self.tricky) if text.strip()]


@dataclass(frozen=True)
class MadeInput:
    """An input and where it comes from: `batch`, `tricky` or `stress`, with the cap (0: none)."""

    text: str
    kind: str
    cap: int = 0


@dataclass(frozen=True)
class MadeInputs:
    """The inputs that are kept, and how many were invalid, repeated or too long; `errors` of failed calls.

    `written_tests` are inputs with answers that the model wrote itself.
    """

    kept: tuple[MadeInput, ...]
    stress: tuple[MadeInput, ...] = ()
    invalid: int = 0
    repeated: int = 0
    too_long: int = 0
    errors: tuple[str, ...] = ()
    written_tests: tuple[tuple[str, str], ...] = ()


def accepts_all(parts: Parts, inputs: Sequence[str]) -> bool:
    """Whether the validator takes every one of the inputs, which are known to be valid. Raises SandboxFault."""
    lines = _call(parts, [{"input": text} for text in inputs], Recipe())
    return len(lines) == len(inputs) and all(line.get("made") is True for line in lines)


def makes_valid_inputs(parts: Parts, function: str, cap: int, *, several: bool) -> bool:
    """Whether the function makes a valid input, in at most twenty calls. Raises SandboxFault."""
    calls = [_making(function, seed, cap, several=several) for seed in range(1 if several else _TRIED)]
    made = [text for line in _call(parts, calls, Recipe()) for text in _texts(line)]
    return bool(_valid(parts, made, Recipe())) if parts.validator else bool(made)


def make_inputs(parts: Parts, recipe: Recipe) -> MadeInputs:
    """The inputs of a recipe, each once, in the order of batches, tricky and stress inputs. Raises SandboxFault."""
    calls = []
    for place, cap in enumerate(recipe.caps):
        batches = range(recipe.batches if place == 0 else 2)
        if parts.signature:
            calls += [_making("random_test", seed, cap, several=True) for seed in batches]
        else:
            calls += [_making("gen_input", seed, cap, several=False) for seed in range(4 * len(batches))]
            calls += [_making("batch_gen_inputs", seed, cap, several=True) for seed in batches[:1]]
    calls.append(_making("special_tricky_test_inputs", 0, 0, several=True))
    calls += [_making("gen_input", 1000 + seed, 0, several=False) for seed in range(recipe.stress)]
    lines = _call(parts, calls, recipe)
    made: list[MadeInput] = []
    too_long = 0
    for call, line in zip(calls, lines, strict=False):
        for text in _texts(line):
            kind = "batch" if call["cap"] else "tricky" if call["several"] else "stress"
            if kind == "tricky" and len(text) > recipe.longest_tricky:
                too_long += 1
            else:
                made.append(MadeInput(text, kind, call["cap"]))
    distinct = list({one.text: one for one in reversed(made)}.values())[::-1]
    valid = distinct
    if recipe.validated and parts.validator:
        accepted = _valid(parts, [one.text for one in distinct], recipe)
        valid = [one for one in distinct if one.text in accepted]
    return MadeInputs(
        kept=tuple(one for one in valid if one.kind != "stress"),
        stress=tuple(one for one in valid if one.kind == "stress"),
        invalid=len(distinct) - len(valid),
        repeated=len(made) - len(distinct),
        too_long=too_long,
        errors=tuple(dict.fromkeys(str(line["error"]) for line in lines if "error" in line)),
        written_tests=written_tests(parts),
    )


def written_tests(parts: Parts) -> tuple[tuple[str, str], ...]:
    """Return the inputs and answers of the tests that the model wrote, each input once. Raises SandboxFault."""
    if not parts.written_tests.strip():
        return ()
    call = {"function": "written_tests", "seed": 0, "cap": 0, "several": True, "answered": True}
    lines = _call(
        replace(parts, validator="", generator="", batch="", tricky=parts.written_tests), [call], Recipe()
    )
    made = [line["made"] for line in lines if isinstance(line.get("made"), list)]
    pairs = [pair for line in made for pair in line if isinstance(pair, list) and len(pair) == 2]
    return tuple({str(given): str(answer) for given, answer in reversed(pairs)}.items())[::-1]


def valid_only(parts: Parts, inputs: Sequence[str]) -> list[str]:
    """Those of the inputs that the validator takes; all where there is none. Raises SandboxFault."""
    if not parts.validator:
        return list(inputs)
    accepted = _valid(parts, inputs, Recipe())
    return [text for text in inputs if text in accepted]


def _valid(parts: Parts, inputs: Sequence[str], recipe: Recipe) -> set[str]:
    lines = _call(parts, [{"input": text} for text in inputs], recipe)
    return {text for text, line in zip(inputs, lines, strict=False) if line.get("made") is True}


def _making(function: str, seed: int, cap: int, *, several: bool) -> dict[str, Any]:
    return {"function": function, "seed": seed, "cap": cap, "several": several}


def _texts(line: dict[str, Any]) -> list[str]:
    made = line.get("made")
    return [text for text in made if isinstance(text, str)] if isinstance(made, list) else []


def _call(parts: Parts, calls: Sequence[dict[str, Any]], recipe: Recipe) -> list[dict[str, Any]]:
    """The line of each call, in their order, as far as the run got. Raises SandboxFault."""
    if not calls:
        return []
    request = {
        "texts": parts.texts,
        "types": list(parts.signature.parameters) if parts.signature else None,
        "result": parts.signature.result if parts.signature else None,
        "each": recipe.seconds,
        "total": recipe.budget,
        "calls": list(calls),
    }
    files = {"main.py": driver("workbench"), **library()}
    with judge.open_program(files, "python", _LIMITS, fork_server=False) as opened:
        return json_lines(opened.run(json.dumps(request).encode()).output)
