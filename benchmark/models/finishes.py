"""Finish reasons of replies: complete, cut off at the token limit, refused or filtered, or empty.

A reply that was cut off, refused or empty is judged like any other, as WA or NO_CODE; these counts show how many
verdicts are affected.
"""

from collections.abc import Iterator, Mapping

from django.db.models import Case, CharField, Count, F, Func, Model, Q, QuerySet, Value, When
from django.db.models.functions import Lower

FINISHES = {
    "stop": "ended by itself",
    "length": "cut off at the token limit",
    "refusal": "refused or filtered",
    "empty": "empty although it ended by itself",
    "other": "ended for another reason",
    "unknown": "ended for a reason the provider did not give",
}
"""The kinds of finish reasons, with their labels in tables."""

WARNED = ("length", "refusal", "empty")
WARNING_SHARE = 0.01
"""Share of all replies above which a kind of `WARNED` gets a warning."""

_STOP = ("stop", "end_turn", "stop_sequence", "eos", "eos_token")
_LENGTH = ("length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded")
_REFUSAL = ("refusal", "content_filter", "safety", "prohibited_content", "blocklist", "recitation", "spii")


def finish_kind() -> Case:
    """Return the expression that gives a row its key of FINISHES; it reads the aliases of `finish_terms`."""
    blank = Q(finish_text="")
    return Case(
        When(finish_word__in=_LENGTH, then=Value("length")),
        When(finish_word__in=_REFUSAL, then=Value("refusal")),
        When(blank, then=Value("empty")),
        When(finish_word__in=_STOP, then=Value("stop")),
        When(finish_word="", then=Value("unknown")),
        default=Value("other"),
        output_field=CharField(),
    )


def finish_terms(text: str = "text") -> dict[str, Func]:
    """Return the aliases that `finish_kind` reads; `text` is the column with the reply."""
    return {
        "finish_word": Lower("finish_reason"),
        "finish_text": Func(F(text), Value(" \t\r\n"), function="TRIM", output_field=CharField()),
    }


def counted(found: Mapping[str, int]) -> dict[str, int]:
    """Return the counts in the order of FINISHES: the first four kinds always, the others where they occur."""
    kinds = list(FINISHES)
    return {kind: found.get(kind, 0) for kind in kinds if kind in kinds[:4] or found.get(kind)}


def count_finishes(replies: QuerySet[Model], text: str = "text") -> dict[str, int]:
    """Return the number of replies by kind of finish reason; `text` is the column with the reply."""
    kinds = replies.order_by().alias(**finish_terms(text)).annotate(finish=finish_kind())
    return counted(dict(kinds.values_list("finish").annotate(Count("pk"))))


def finish_warnings(finishes: Mapping[str, int]) -> Iterator[str]:
    """Yield a warning for each kind of `WARNED` that is more than WARNING_SHARE of the replies."""
    replies = sum(finishes.values())
    for kind in WARNED:
        count = finishes.get(kind, 0)
        if count > WARNING_SHARE * replies:
            yield f"{count:,} of {replies:,} replies ({100 * count / replies:.1f} %): {FINISHES[kind]}."
