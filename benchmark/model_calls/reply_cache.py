"""The cache of paid replies: rows of replies, found by a key of everything that a reply depends on.

The form of the key must not change: stored replies are found only by it.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from django.db import connection

from benchmark.models import Generation, QuestionAnswer
from benchmark.providers import ModelReply, ModelSpec, address_of

Row = TypeVar("Row", Generation, QuestionAnswer)

_COPIED = (
    "model_returned",
    "reasoning",
    "input_tokens",
    "output_tokens",
    "cached_input_tokens",
    "reasoning_tokens",
    "latency",
    "finish_reason",
    "request_id",
)
"""The columns of a reply that all tables of replies share; the text has another name in each."""


def draw_name(number: int, chain: int, repetition: int) -> str:
    """Return the name of a draw in its cache key. Draw number 0 has the form of the first stored replies.

    `repetition` counts how often the chain sent the same prompt before.
    """
    return f"{chain}.{repetition}" if number == 0 else f"{chain}.{repetition}.{number}"


def draw_seed(draw: str, seed: int | None) -> int:
    """Return the seed for a draw of a provider whose replies depend on the messages and the seed alone.

    `seed` is that of the settings. Equal draws have equal seeds on every machine.
    """
    digest = hashlib.sha256(f"{'' if seed is None else seed}\n{draw}".encode()).digest()
    return int.from_bytes(digest[:4])


def cache_key(spec: ModelSpec, parameters: Mapping[str, Any], prompt_hash: str, draw: str) -> str:
    """Return the sha256 of everything that a reply depends on: model, address, parameters, messages and draw."""
    parts = [f"{spec} {address_of(spec)}", json.dumps(parameters, sort_keys=True), prompt_hash, draw]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def find_paid(table: type[Row], keys: Sequence[str]) -> list[Row | None]:
    """Return for each key the row of the reply that was paid for, or None."""
    if not keys:
        return []
    # Most keys have no row, and the ORM takes as long for a statement without rows as for one with them.
    placeholders = ", ".join(["%s"] * len(keys))
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT id FROM {table._meta.db_table} "  # noqa: S608  (no value is in it)
            f"WHERE reused_id IS NULL AND cache_key IN ({placeholders})",
            [*keys],
        )
        paid = [key for (key,) in cursor.fetchall()]
    found = {row.cache_key: row for row in table.objects.filter(pk__in=paid)} if paid else {}
    return [found.get(key) for key in keys]


def reply_columns(reply: ModelReply) -> dict[str, Any]:
    """Return the common columns of a new reply."""
    return {
        "model_returned": reply.model[:200],
        "reasoning": reply.reasoning,
        **vars(reply.usage),
        "latency": reply.latency,
        "finish_reason": reply.finish_reason[:60],
        "request_id": reply.request_id[:200],
    }


def reused_columns(paid: Row) -> dict[str, Any]:
    """Return the common columns of a row that repeats a paid reply at no cost."""
    return {name: getattr(paid, name) for name in _COPIED} | {"reused": paid}
