"""Generates and validates inputs with functions that a model wrote: validator, generators, batches, tricky inputs.

Runs in the sandbox as main.py. Standard input contains one JSON object: the model's sources in the order of execution
in one namespace, the types of the problem's parameters and result (null: an input is one string), CPU seconds for each
call and for all calls (null: unbounded), and the calls. Each call prints one line of JSON immediately, so an endless
call loses only later calls. Python 3.8 or newer.
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
"""Number of inputs in a batch, as in the paper."""


class CallTimeoutError(BaseException):
    """The end of a call's time; a base exception, so that programs do not catch it accidentally."""


def stop(_number: int, _frame: object) -> None:
    raise CallTimeoutError("the time for one input was used up")


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
            except Exception as error:  # noqa: BLE001  (a failing source only loses its own definitions)
                sys.stderr.write(f"{type(error).__name__}: {error}\n")

    def valid(self, given: str) -> bool:
        """Return whether the validator accepts the input."""
        function = find_function(self.names, "is_valid_input")
        arguments = [given] if self.types is None else read_arguments(given, self.types, self.names)
        return bool(self.within_time(lambda: function(*arguments)))

    def inputs(self, call: dict[str, Any]) -> list[Any]:
        """Return the named function's inputs; the cap, if any, bounds every size.

        With `answered`, return pairs of an input and its answer.
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
        """Return an answer as the driver of a program prints it."""
        return str(value) if self.result is None else str(write(value, self.result))

    def text(self, generated: Any) -> str:
        """Return a generated input as it is stored in a test."""
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
            raise CallTimeoutError("the time for all inputs was used up")
        signal.setitimer(signal.ITIMER_PROF, min(self.each, left))
        try:
            return function()
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)


def sizes(function: Any) -> int:
    """Return the number of arguments that bound a size: those whose default, if any, is an integer."""
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
        except (Exception, CallTimeoutError) as error:  # noqa: BLE001  (reported in the result line)
            line = {"error": f"{type(error).__name__}: {error}"[:300]}
        printed.write(json.dumps(line) + "\n")
        printed.flush()


main()
