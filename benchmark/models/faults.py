"""Faults of work items: their texts, and the kinds by which pages and commands count them."""

import re
from collections import Counter
from collections.abc import Iterable

from django.db.models import Q

FAULTS = {
    "rate_limit": "rate limit",
    "overloaded": "provider overloaded",
    "timeout": "timeout",
    "connection": "connection failed",
    "server": "server error",
    "bad_request": "request rejected",
    "not_found": "model not found",
    "authentication": "key refused",
    "configuration": "configuration or billing",
    "unknown": "unknown provider error",
    "judge": "judge fault",
    "internal": "internal error",
}
"""The kinds of faults with their labels. All but the last two are kinds of `ProviderError`."""

_PROVIDER, _JUDGE = "provider fault", "judge fault"
_KIND = re.compile(rf"{_PROVIDER} \((\w+)\): ")


def provider_fault(kind: str, message: str) -> str:
    """Return the stored text of a provider's fault."""
    return f"{_PROVIDER} ({kind}): {message}"


def judge_fault(message: str) -> str:
    """Return the stored text of a fault of the judge."""
    return f"{_JUDGE}: {message}"


def fault_kind(fault: str) -> str:
    """Return the key of FAULTS for a stored text."""
    if found := _KIND.match(fault):
        return found[1] if found[1] in FAULTS else "unknown"
    return "judge" if fault.startswith(f"{_JUDGE}:") else "internal"


def of_kind(kind: str) -> Q:
    """Return the condition that selects the items whose fault is of this kind."""
    if kind == "judge":
        return Q(fault__startswith=f"{_JUDGE}:")
    if kind == "internal":
        return ~Q(fault="") & ~Q(fault__startswith=f"{_PROVIDER} (") & ~Q(fault__startswith=f"{_JUDGE}:")
    return Q(fault__startswith=f"{_PROVIDER} ({kind}):")


def count_by_kind(faults: Iterable[str]) -> Counter[str]:
    """Return the number of faults of each kind."""
    return Counter(map(fault_kind, faults))


def describe_kinds(counts: Counter[str]) -> str:
    """Return the numbers in words, the most frequent first: "2 rate limit, 1 timeout"."""
    return ", ".join(f"{count:,} {FAULTS[kind]}" for kind, count in counts.most_common())
