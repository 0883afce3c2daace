"""Draw numbers: independent sets of replies, which are part of the cache key of every reply."""

from django.db.models import F, Value
from django.db.models.functions import Greatest

from benchmark.models import DrawCounter


def reserve_draws(model_spec: str, epochs: int, first: int | None) -> int:
    """Return the draw number of the first epoch: `first`, or for None one above those of all runs with this model.

    Must be called in a transaction. The counter's row stays locked until its end; simultaneous runs therefore get
    different numbers.
    """
    counters = DrawCounter.objects.filter(pk=model_spec)
    DrawCounter.objects.get_or_create(pk=model_spec)
    if first is None:
        counters.update(last=F("last") + epochs)
        return counters.values_list("last", flat=True).get() - epochs + 1
    counters.update(last=Greatest(F("last"), Value(first + epochs - 1)))
    return first
