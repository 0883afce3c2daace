"""Copies of erased messages in runs: chains that began with a session, sent its hints, or measured its leaks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone

from benchmark.models import Generation, Run, Runner, WorkItem
from tutoring.arms.leaks import LEAK, chains_showing
from tutoring.arms.methods import POLICIES
from tutoring.arms.recorded_starts import STARTS
from tutoring.arms.sham_hints import HINTS
from tutoring.models import Event, Finding, Review, Session
from tutoring.models.payloads import DraftCheckRecord, MessageSent

ERASED = "[withdrawn]"

_SHORTEST_PART = 8
"""Characters from which a text is also erased inside a longer one."""


def erase_copies(ids: Sequence[UUID]) -> dict[str, int]:
    """Erase the texts of these sessions' messages in the chains that reuse them; return the number of chains.

    Prompts, the events of the chains' sessions, and the findings and labels of these change. Replies of models and
    verdicts stay.
    """
    messages = _messages(ids)
    chains = 0
    for run in _arms():
        for problem, chain in _chains(run, ids, messages):
            item = WorkItem.objects.filter(run=run, problem__external_id=problem, chain=chain).first()
            if item is not None and run.method == LEAK:
                # The prompt is the statement and the messages, of which the shortest are parts of other words.
                erased = [{"role": "user", "content": ERASED}]
                Generation.objects.filter(work_item=item).update(messages=erased)
                chains += 1
            elif item is not None:
                _erase_in_chain(item, _Texts(messages.values()))
                chains += 1
    return {"chains": chains}


def running_copies(ids: Sequence[UUID]) -> list[Run]:
    """Return the runs in progress that reuse messages of the sessions, and hold them in memory."""
    messages = _messages(ids)
    return [run for run in _running_arms() if _chains(run, ids, messages)]


def sessions_in_use(sessions: QuerySet[Session]) -> set[UUID]:
    """Return the ids of those sessions whose messages a run in progress reuses, and holds in memory."""
    if not (runs := _running_arms()):
        return set()
    ids = list(sessions.values_list("pk", flat=True))
    messages: dict[UUID, dict[int, Event]] = {key: {} for key in ids}
    for key, event in _messages(ids).items():
        messages[event.session_id][key] = event
    return {key for key in ids if any(_chains(run, [key], messages[key]) for run in runs)}


def _running_arms() -> list[Run]:
    running = Runner.objects.filter(run__isnull=False, lease_until__gt=timezone.now()).values("run")
    return list(_arms().filter(pk__in=running))


def _messages(ids: Sequence[UUID]) -> dict[int, Event]:
    return {event.pk: event for event in Event.objects.filter(session__in=ids, kind=Event.Kind.MESSAGE)}


def _arms() -> QuerySet[Run]:
    """Return the runs of arms, and those that measure leaks, with what they need."""
    return Run.objects.filter(method__in=[*POLICIES, LEAK], manifest__prepared__isnull=False).only(
        "pk", "method", "manifest"
    )


def _chains(run: Run, ids: Sequence[UUID], messages: Mapping[int, Event]) -> set[tuple[str, int]]:
    """Return the problem and the number of each of the run's chains that reuse the sessions."""
    prepared = run.manifest["prepared"]
    sessions = {str(key) for key in ids}
    return {
        *_begun(prepared, sessions),
        *_sent(prepared, messages),
        *chains_showing(prepared, sessions),
    }


def _begun(prepared: Mapping[str, Any], sessions: set[str]) -> Iterator[tuple[str, int]]:
    """Yield the problem and the number of each chain that begins with one of the sessions."""
    for problem, starts in prepared.get(STARTS, {}).items():
        yield from (
            (problem, chain) for chain, start in enumerate(starts) if start.get("session") in sessions
        )


def _sent(prepared: Mapping[str, Any], messages: Mapping[int, Event]) -> Iterator[tuple[str, int]]:
    """Yield the problem and the number of each chain that sends one of the messages as a sham hint."""
    for problem, chains in prepared.get(HINTS, {}).items():
        yield from (
            (problem, chain) for chain, keys in enumerate(chains) if not messages.keys().isdisjoint(keys)
        )


class _Texts:
    """The texts of messages, the longest first."""

    def __init__(self, events: Any) -> None:
        texts: set[str] = set()
        for event in events:
            payload = event.payload_as(MessageSent)
            texts |= {payload.text, payload.sent, payload.text.strip(), payload.sent.strip()}
            if isinstance(payload.check, DraftCheckRecord):
                texts |= {draft.text for draft in payload.check.drafts}
        self._texts = sorted(texts - {""}, key=len, reverse=True)

    def erased(self, value: Any) -> Any:
        """Return a JSON value without the texts."""
        if isinstance(value, str):
            for text in self._texts:
                if value == text:
                    return ERASED
                if len(text) >= _SHORTEST_PART:
                    value = value.replace(text, ERASED)
            return value
        if isinstance(value, list):
            return [self.erased(one) for one in value]
        if isinstance(value, dict):
            return {name: self.erased(one) for name, one in value.items()}
        return value

    def contain(self, quote: str) -> bool:
        """Return whether the quote is a part of a text."""
        return any(quote in text for text in self._texts)


def _erase_in_chain(item: WorkItem, texts: _Texts) -> None:
    for generation in Generation.objects.filter(work_item=item):
        if (messages := texts.erased(generation.messages)) != generation.messages:
            Generation.objects.filter(pk=generation.pk).update(messages=messages)
    for event in Event.objects.filter(session__work_item=item):
        if (data := texts.erased(event.data)) == event.data:
            continue
        Event.objects.filter(pk=event.pk).update(data=data)
        Finding.objects.filter(event=event).update(quote=ERASED, explanation=ERASED)
    for review in Review.objects.filter(session__work_item=item):
        content = _without_quotes(texts.erased(review.content), texts)
        Review.objects.filter(pk=review.pk).update(content=content)


def _without_quotes(content: Any, texts: _Texts) -> Any:
    """Return the content of a review whose quotes of the texts are erased."""
    for labels in content.get("messages", ()):
        for quote in labels.get("quotes", ()):
            for part in ("exact", "prefix", "suffix"):
                if quote.get(part) and texts.contain(quote[part]):
                    quote[part] = ERASED
    return content
