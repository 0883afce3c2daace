"""Makes and checks inputs with functions that a model wrote: validator, generators, batches, tricky inputs.

Runs in the sandbox as main.py. Standard input holds one JSON object: the model's texts in the order in which they
are executed in one namespace, the types of the problem's parameters and of its result (null: an input is one text),
seconds of CPU for each call and for all of them (null: no bound), and the calls. Each call prints one line of JSON at
once, so that a call that never ends loses only those after it. Python 3.8 or newer.
"""

from __future__ import annotations

import inspect
import json
import math
import random
import signal
import sys
import time
from typing import Any

from hintbench_names import find_function, usual_names
from hintbench_values import read_arguments, write, write_arguments

CASES = 5
"""Inputs of one batch, as the paper has it."""


class TooSlow(BaseException):
    """A call used up its time; a base exception, so that a program does not catch it by the way."""


def stop(number: int, frame: object) -> None:
    raise TooSlow("the time for one input was used up")


class Workbench:
    def __init__(self, request: dict[str, Any]) -> None:
        self.types = request["types"]
        self.result = request["result"]
        self.each = request["each"]
        self.end = math.inf if request["total"] is None else time.process_time() + request["total"]
        self.names = usual_names()
        for text in request["texts"]:
            try:
                exec(compile(text, "<generated>", "exec", dont_inherit=True), self.names)  # noqa: S102
            except Exception as error:  # noqa: BLE001  (a text that does not run lacks what it would define)
                sys.stderr.write(f"{type(error).__name__}: {error}\n")

    def valid(self, given: str) -> bool:
        """Whether the validator takes the input."""
        function = find_function(self.names, "is_valid_input")
        arguments = [given] if self.types is None else read_arguments(given, self.types, self.names)
        return bool(self.within_time(lambda: function(*arguments)))

    def inputs(self, call: dict[str, Any]) -> list[Any]:
        """What the named function makes, with every size bounded by the cap where there is one.

        With `answered` it makes pairs of an input and its answer.
        """
        random.seed(call["seed"])
        function = find_function(self.names, call["function"])
        arguments = [call["cap"]] * sizes(function) if call["cap"] else []
        generated = self.within_time(lambda: function(*arguments))
        if call.get("answered"):
            return [[self.text(given), self.answer(value)] for given, value in generated]
        several = generated if call["several"] else [generated]
        return [self.text(one) for one in several]

    def answer(self, value: Any) -> str:
        """An answer as the driver of a program prints it."""
        return str(value) if self.result is None else str(write(value, self.result))

    def text(self, generated: Any) -> str:
        """One made input as it stands in a test."""
        if self.types is None:
            if not isinstance(generated, str):
                raise TypeError(f"an input must be a text, not {type(generated).__name__}")
            return generated
        count = len(self.types)
        if count == 1 and not (isinstance(generated, tuple) and len(generated) == 1):
            generated = (list(generated) if isinstance(generated, tuple) else generated,)
        if len(generated) != count:
            raise ValueError(f"an input has {len(generated)} values, the method {count} parameters")
        text: str = write_arguments(generated)
        return text

    def within_time(self, function: Any) -> Any:
        left = self.end - time.process_time()
        if left <= 0:
            raise TooSlow("the time for all inputs was used up")
        signal.setitimer(signal.ITIMER_PROF, min(self.each, left))
        try:
            return function()
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)


def sizes(function: Any) -> int:
    """How many arguments of the function bound a size: all but those whose default is no whole number."""
    given = inspect.signature(function).parameters.values()
    return sum(
        one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
        and (one.default is one.empty or type(one.default) is int)
        for one in given
    )


def main() -> None:
    request = json.loads(sys.stdin.read())
    printed, sys.stdout = sys.stdout, sys.stderr
    signal.signal(signal.SIGPROF, stop)
    bench = Workbench(request)
    for call in request["calls"]:
        try:
            generated = bench.valid(call["input"]) if "input" in call else bench.inputs(call)
            line: dict[str, Any] = {"result": generated}
        except (Exception, TooSlow) as error:  # noqa: BLE001  (told to whoever asked)
            line = {"error": f"{type(error).__name__}: {error}"[:300]}
        printed.write(json.dumps(line) + "\n")
        printed.flush()


main()
