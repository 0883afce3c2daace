"""Inputs made by functions that a model wrote: validator, generators, batches, tricky inputs (docs/spec.md 3.1, 15)."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import judge
from benchmark.functional import Signature, library
from benchmark.oracles.running import CpuBudget, driver, json_lines

_LIMITS = judge.Limits(time=60, memory=512 * 2**20)
_TRIED = 20
"""Calls of a generator, one of which must make a valid input (docs/spec.md 15)."""


@dataclass(frozen=True)
class InputRecipe:
    """How inputs are generated. `caps` bound every size; the first of them gets all batches, each other two.

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
    def oracle_budget(self) -> CpuBudget:
        """Of an oracle."""
        return CpuBudget(self.oracle_seconds, self.budget)


PUBLISHED = InputRecipe(caps=(10,), validated=False, seconds=1.0, stress=0, budget=None)
"""What the ALGO paper's LeetCode figures follow from (docs/spec.md 3.4)."""


@dataclass(frozen=True)
class InputFunctions:
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
class GeneratedInput:
    """An input and where it comes from: `batch`, `tricky` or `stress`, with the cap (0: none)."""

    text: str
    kind: str
    cap: int = 0


@dataclass(frozen=True)
class GeneratedInputs:
    """The inputs that are kept, and how many were invalid, repeated or too long; `errors` of failed calls.

    `written_tests` are inputs with answers that the model wrote itself.
    """

    kept: tuple[GeneratedInput, ...]
    stress: tuple[GeneratedInput, ...] = ()
    invalid: int = 0
    repeated: int = 0
    too_long: int = 0
    errors: tuple[str, ...] = ()
    written_tests: tuple[tuple[str, str], ...] = ()


def accepts_all(functions: InputFunctions, inputs: Sequence[str]) -> bool:
    """Whether the validator takes every one of the inputs, which are known to be valid. Raises SandboxFault."""
    lines = _call(functions, [{"input": text} for text in inputs], InputRecipe())
    return len(lines) == len(inputs) and all(line.get("result") is True for line in lines)


def makes_valid_inputs(functions: InputFunctions, function: str, cap: int, *, several: bool) -> bool:
    """Whether the function makes a valid input, in at most twenty calls. Raises SandboxFault."""
    calls = [_making(function, seed, cap, several=several) for seed in range(1 if several else _TRIED)]
    generated = [text for line in _call(functions, calls, InputRecipe()) for text in _texts(line)]
    return bool(_valid(functions, generated, InputRecipe())) if functions.validator else bool(generated)


def make_inputs(functions: InputFunctions, recipe: InputRecipe) -> GeneratedInputs:
    """The inputs of a recipe, each once, in the order of batches, tricky and stress inputs. Raises SandboxFault."""
    calls = []
    for index, cap in enumerate(recipe.caps):
        batches = range(recipe.batches if index == 0 else 2)
        if functions.signature:
            calls += [_making("random_test", seed, cap, several=True) for seed in batches]
        else:
            calls += [_making("gen_input", seed, cap, several=False) for seed in range(4 * len(batches))]
            calls += [_making("batch_gen_inputs", seed, cap, several=True) for seed in batches[:1]]
    calls.append(_making("special_tricky_test_inputs", 0, 0, several=True))
    calls += [_making("gen_input", 1000 + seed, 0, several=False) for seed in range(recipe.stress)]
    lines = _call(functions, calls, recipe)
    generated: list[GeneratedInput] = []
    too_long = 0
    for call, line in zip(calls, lines, strict=False):
        for text in _texts(line):
            kind = "batch" if call["cap"] else "tricky" if call["several"] else "stress"
            if kind == "tricky" and len(text) > recipe.longest_tricky:
                too_long += 1
            else:
                generated.append(GeneratedInput(text, kind, call["cap"]))
    distinct = list({one.text: one for one in reversed(generated)}.values())[::-1]
    valid = distinct
    if recipe.validated and functions.validator:
        accepted = _valid(functions, [one.text for one in distinct], recipe)
        valid = [one for one in distinct if one.text in accepted]
    return GeneratedInputs(
        kept=tuple(one for one in valid if one.kind != "stress"),
        stress=tuple(one for one in valid if one.kind == "stress"),
        invalid=len(distinct) - len(valid),
        repeated=len(generated) - len(distinct),
        too_long=too_long,
        errors=tuple(dict.fromkeys(str(line["error"]) for line in lines if "error" in line)),
        written_tests=written_tests(functions),
    )


def written_tests(functions: InputFunctions) -> tuple[tuple[str, str], ...]:
    """Return the inputs and answers of the tests that the model wrote, each input once. Raises SandboxFault."""
    if not functions.written_tests.strip():
        return ()
    call = {"function": "written_tests", "seed": 0, "cap": 0, "several": True, "answered": True}
    lines = _call(
        replace(functions, validator="", generator="", batch="", tricky=functions.written_tests),
        [call],
        InputRecipe(),
    )
    generated = [line["result"] for line in lines if isinstance(line.get("result"), list)]
    pairs = [pair for line in generated for pair in line if isinstance(pair, list) and len(pair) == 2]
    return tuple({str(given): str(answer) for given, answer in reversed(pairs)}.items())[::-1]


def valid_only(functions: InputFunctions, inputs: Sequence[str]) -> list[str]:
    """Those of the inputs that the validator takes; all where there is none. Raises SandboxFault."""
    if not functions.validator:
        return list(inputs)
    accepted = _valid(functions, inputs, InputRecipe())
    return [text for text in inputs if text in accepted]


def _valid(functions: InputFunctions, inputs: Sequence[str], recipe: InputRecipe) -> set[str]:
    lines = _call(functions, [{"input": text} for text in inputs], recipe)
    return {text for text, line in zip(inputs, lines, strict=False) if line.get("result") is True}


def _making(function: str, seed: int, cap: int, *, several: bool) -> dict[str, Any]:
    return {"function": function, "seed": seed, "cap": cap, "several": several}


def _texts(line: dict[str, Any]) -> list[str]:
    generated = line.get("result")
    return [text for text in generated if isinstance(text, str)] if isinstance(generated, list) else []


def _call(
    functions: InputFunctions, calls: Sequence[dict[str, Any]], recipe: InputRecipe
) -> list[dict[str, Any]]:
    """The line of each call, in their order, as far as the run got. Raises SandboxFault."""
    if not calls:
        return []
    request = {
        "texts": functions.texts,
        "types": list(functions.signature.parameters) if functions.signature else None,
        "result": functions.signature.result if functions.signature else None,
        "each": recipe.seconds,
        "total": recipe.budget,
        "calls": list(calls),
    }
    files = {"main.py": driver("workbench"), **library()}
    with judge.open_program(files, "python", _LIMITS, fork_server=False) as opened:
        return json_lines(opened.run(json.dumps(request).encode()).output)
