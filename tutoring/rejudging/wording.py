"""Rejudgings in words, for the command and the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.urls import reverse

from benchmark.models import Judgement, RejudgedProgram
from tutoring.rejudging.comparison import Transition

_MOST_TRANSITIONS = 6
"""Transitions that a line names."""


def duration(seconds: float | None, workers: int) -> str:
    """Return the expected time of this many CPU seconds on the workers, such as "about 3 min with 2 workers"."""
    if seconds is None:
        return "duration unknown"
    each = seconds / max(1, workers)
    if each < 90:
        amount = f"{max(1, round(each))} s"
    else:
        amount = f"{round(each / 60)} min" if each < 5400 else f"{each / 3600:.1f} h"
    return f"about {amount} with {workers} worker{'s' if workers != 1 else ''}"


def transition_text(transitions: Iterable[Transition]) -> str:
    """Return transitions as "3 WA → AC, 1 TLE → AC (1 near the limit)", the changed ones first."""
    found = sorted(transitions, key=lambda one: (not one.changed, -one.count))
    if not found:
        return "none"
    texts = []
    for one in found[:_MOST_TRANSITIONS]:
        verdicts = f"{one.former or 'none'} → {one.verdict}" if one.changed else f"{one.verdict} unchanged"
        near = f" ({one.near_limit} near the limit)" if one.changed and one.near_limit else ""
        texts.append(f"{one.count} {verdicts}{near}")
    more = sum(one.count for one in found[_MOST_TRANSITIONS:])
    return ", ".join([*texts, f"{more} others"] if more else texts)


def change_texts(change: Mapping[str, Any]) -> list[str]:
    """Return, for one problem of `Rejudging.changes`, what changed since its former judgements; empty if nothing."""
    after = change["after"]
    texts: list[str] = []
    for before in change["before"]:
        found = before["changes"]
        if found is None:
            digest = before["problem_hash"][:8]
            texts.append(
                f"tests, checker and limits of version {digest} were replaced before versions were stored"
            )
        else:
            texts += found
        if older := [version for version in before["judge_versions"] if version != after["judge_version"]]:
            texts.append(f"judge: {', '.join(older)} → {after['judge_version']}")
    return list(dict.fromkeys(texts))


def unchanged_text(changes: Sequence[Mapping[str, Any]]) -> str:
    """Return the number of problems without a change, in words; blank if there is none."""
    count = sum(not change_texts(change) for change in changes)
    if not count:
        return ""
    return f"{count} problem{'s' if count > 1 else ''}: tests, checker, limits and judge are equal"


def change_lines(changes: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a line for each problem of a rejudging with what changed, and one for all others."""
    found = [(change["problem"], change_texts(change)) for change in changes]
    lines = [f"{problem}: {'; '.join(texts)}" for problem, texts in found if texts]
    unchanged = unchanged_text(changes)
    return [*lines, *([unchanged] if unchanged else [])]


def place_of(row: RejudgedProgram) -> tuple[str, str]:
    """Return the name and the address of the place of a program."""
    kind = "samples of reply" if row.role == RejudgedProgram.Role.SAMPLES else "reply"
    if row.work_item is not None:
        name = f"{row.work_item.run.method}, chain {row.work_item.chain + 1}, {kind} {row.number}"
        return name, reverse("chain", args=[row.work_item.pk])
    outcome = ", executed" if row.role == RejudgedProgram.Role.OUTCOME else ""
    return f"session, generation {row.number}{outcome}", reverse("trajectory", args=[row.session])


def program_document(row: RejudgedProgram) -> dict[str, Any]:
    """Return a changed program with both verdicts as JSON values."""
    place, address = place_of(row)
    return {
        "place": place,
        "address": address,
        "problem": str(row.after.submission.problem),
        "role": row.role,
        "former": _verdict(row.before),
        "verdict": _verdict(row.after),
        "near_limit": row.before.near_limit or row.after.near_limit,
    }


def _verdict(judgement: Judgement) -> dict[str, Any]:
    return {
        "judgement": judgement.pk,
        "verdict": judgement.verdict,
        "passed": judgement.passed,
        "total": judgement.total,
        "near_limit": judgement.near_limit,
        "time_factor": judgement.time_factor,
    }
