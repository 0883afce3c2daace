"""The parameters that a provider's API accepts, checked before a request is sent or paid for."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from benchmark.providers.protocol import EFFORTS, Parameters
from benchmark.text.storable import storable

_RESERVED = frozenset(
    {
        "background", "conversation", "function_call", "functions", "include", "input", "instructions", "max_tokens",
        "mcp_servers", "messages", "model", "models", "n", "plugins", "previous_response_id", "prompt", "store",
        "stream", "stream_options", "system", "temperature", "tool_choice", "tools", "top_p", "web_search_options",
    }
)  # fmt: skip
"""Fields of all APIs that choose the model, the messages, tools or the form of the reply, or sampling parameters."""

_FIELD_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
EXTRA_DEPTH = 5
"""Deepest nesting of extra request fields; the fields themselves have depth 1."""
EXTRA_BYTES = 8_000
"""Largest size of all extra request fields as JSON."""


@dataclass(frozen=True)
class ParameterRules:
    """The parameters that a provider's API accepts.

    `fields` are the request fields that the provider's module sets. `least_budget` is the smallest number of reasoning
    tokens; None: the API accepts efforts only. With `fixed_sampling`, a request with reasoning must leave the
    temperature at 1, keep `top_p` at 0.95 or more, and omit `top_k`. `default_output` is the output limit of requests
    without `max_output_tokens`, to which a number of reasoning tokens is added; None: they have no limit.
    """

    fields: frozenset[str] = frozenset()
    seed: bool = True
    efforts: tuple[str, ...] = EFFORTS
    least_budget: int | None = 1
    fixed_sampling: bool = False
    default_output: int | None = None

    def check(self, parameters: Parameters) -> None:
        """Raise ValueError for parameters that the API refuses; the message says what to change."""
        if parameters.seed is not None and not self.seed:
            raise ValueError("The API accepts no seed: leave it out.")
        if parameters.extra is not None:
            self.check_extra(parameters.extra)
        if parameters.reasoning is not None:
            self._check_reasoning(parameters.reasoning, parameters.max_output_tokens)
            if self.fixed_sampling:
                _check_sampling(parameters)

    def longest_reply(self, parameters: Parameters) -> int | None:
        """Return the output limit of requests with these parameters, in tokens; None: they have no limit."""
        if parameters.max_output_tokens is not None or self.default_output is None:
            return parameters.max_output_tokens
        reasoning = parameters.reasoning
        return self.default_output + (reasoning if isinstance(reasoning, int) else 0)

    def _check_reasoning(self, reasoning: object, max_output_tokens: int | None) -> None:
        words = ", ".join(self.efforts)
        if isinstance(reasoning, str):
            if reasoning not in self.efforts:
                raise ValueError(
                    f"reasoning={reasoning!r} is not an effort that the API accepts: use {words}."
                )
            return
        if isinstance(reasoning, bool) or not isinstance(reasoning, int):
            raise ValueError(
                f"reasoning={reasoning!r} is neither an effort ({words}) nor a number of tokens."
            )
        if self.least_budget is None:
            raise ValueError(
                f"reasoning={reasoning}: the API accepts no number of tokens. Use an effort ({words}), or give the "
                "server's own field for it as an extra request field."
            )
        if reasoning < self.least_budget:
            raise ValueError(
                f"reasoning={reasoning} is too low: the API accepts {self.least_budget:,} tokens or more."
            )
        if max_output_tokens is not None and max_output_tokens <= reasoning:
            raise ValueError(
                f"max_output_tokens={max_output_tokens} must be above reasoning={reasoning}, because the limit "
                "includes the reasoning."
            )

    def check_extra(self, extra: object) -> None:
        """Raise ValueError for extra request fields that are not allowed; the message names the field."""
        if not isinstance(extra, Mapping):
            raise ValueError("The extra request fields are not a JSON object.")
        for name, value in extra.items():
            if not isinstance(name, str) or not _FIELD_NAME.fullmatch(name):
                raise ValueError(
                    f"The extra request field {_shortened(name)} has an invalid name: use letters, digits, _ and -."
                )
            # Some servers ignore the case of a field's name.
            if name.lower() in _RESERVED | self.fields:
                raise ValueError(
                    f"The extra request field {name!r} is not allowed: only Hintbench may set it."
                )
            _check_json(name, value, 1)
        if len(json.dumps(dict(extra))) > EXTRA_BYTES:
            largest = max(extra, key=lambda name: len(json.dumps(extra[name])))
            raise ValueError(
                f"The extra request fields are too large: at most {EXTRA_BYTES:,} bytes of JSON are allowed. "
                f"The largest field is {largest!r}."
            )


ANY_PARAMETERS = ParameterRules()
"""The rules of a provider that accepts or ignores every parameter."""


def _check_sampling(parameters: Parameters) -> None:
    if parameters.temperature not in (None, 1):
        raise ValueError(
            f"temperature={parameters.temperature:g}: the API accepts no temperature but 1 with reasoning. "
            "Use temperature=none."
        )
    if parameters.top_p is not None and parameters.top_p < 0.95:
        raise ValueError(
            f"top_p={parameters.top_p:g}: the API accepts only 0.95 to 1 with reasoning. Use top_p=none."
        )
    if "top_k" in (parameters.extra or ()):
        raise ValueError(
            "The extra request field 'top_k' is not allowed: the API accepts none with reasoning."
        )


def _check_json(field: str, value: object, depth: int) -> None:
    """Raise ValueError for a value that is not JSON, that no database can store, or that is nested too deeply."""
    if depth > EXTRA_DEPTH:
        raise ValueError(f"The extra request field {field!r} is nested more than {EXTRA_DEPTH} levels deep.")
    if isinstance(value, list):
        for one in value:
            _check_json(field, one, depth + 1)
    elif isinstance(value, dict) and all(isinstance(name, str) and storable(name) == name for name in value):
        for one in value.values():
            _check_json(field, one, depth + 1)
    elif not _is_plain(value):
        raise ValueError(
            f"The extra request field {field!r} contains {_shortened(value)}, which JSON or the database cannot store."
        )


def _is_plain(value: object) -> bool:
    """Return whether the value is null, true or false, or a number or text that any database can store."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, int):
        return abs(value) < 2**63
    return value is None or (isinstance(value, str) and storable(value) == value)


def _shortened(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
