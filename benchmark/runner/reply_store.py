"""Replies to the questions of a run: from its rows, from a run that paid for the same one before, or from the model."""

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakValueDictionary

from django.db import connection

from benchmark.extraction import extract_program
from benchmark.methods import MethodSettings
from benchmark.model_calls.budget import Spending
from benchmark.model_calls.commit_queue import CommitQueue
from benchmark.model_calls.inserts import insert
from benchmark.models import Generation, Run, WorkItem
from benchmark.prompts import Prompt
from benchmark.providers import ModelReply, ModelSpec, address_of

_COPIED = (
    "model_returned",
    "text",
    "reasoning",
    "input_tokens",
    "output_tokens",
    "cached_input_tokens",
    "reasoning_tokens",
    "latency",
    "first_token",
    "finish_reason",
    "request_id",
)
"""What a reply is, as against where it stands."""


@dataclass(frozen=True)
class ChainRequest:
    """A prompt at its place: `asked` is how often this chain has asked the same before.

    All chains of a problem ask a `shared` question as the first of them does.
    """

    item: WorkItem
    step: int
    purpose: Generation.Purpose
    prompt: Prompt
    prompt_hash: str
    retrieval: Mapping[str, Any] | None
    asked: int
    shared: bool


class ReplyStore:
    """Replies of one model under one run's parameters, each stored before anybody sees it.

    The cache key is made of all a reply depends on and of the attempt, so a question that another method or run has
    paid for in the same chain is answered with that reply, while chains stay independent draws. An epoch with a draw
    number of its own has keys of its own.
    """

    def __init__(
        self,
        run: Run,
        spec: ModelSpec,
        settings: MethodSettings,
        commits: CommitQueue,
        call: Callable[[Prompt, str], Awaitable[ModelReply]],
        stored: Callable[[Generation, Spending], None],
    ) -> None:
        self._run = run
        self._settings = settings
        self._spec = spec
        self._commits = commits
        self._call = call
        self._stored = stored
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self.held_up = 0
        """Chains that wait because another asks their question already."""

    async def to(self, question: ChainRequest) -> Generation:
        """The stored reply. Raises ProviderError."""
        parameters = question.prompt.parameters(self._settings.parameters).to_json()
        number, chain = self._run.draw_of(question.item.chain)
        draw = draw_name(number, 0 if question.shared else chain, question.asked)
        key = cache_key(self._spec, parameters, question.prompt_hash, draw)
        # One chain at a time asks a question; two problems may have the same text.
        lock = self._locks.setdefault(key, asyncio.Lock())
        self.held_up += 1
        try:
            await lock.acquire()
        finally:
            self.held_up -= 1
        try:
            return await self._to(question, parameters, key)
        finally:
            lock.release()

    async def _to(
        self, question: ChainRequest, parameters: Mapping[str, float | int], key: str
    ) -> Generation:
        known = await self._commits.do(find_paid, key)
        if known is not None:
            row = self._row(question, parameters, key, {name: getattr(known, name) for name in _COPIED})
            row.reused = known
        else:
            reply = await self._call(question.prompt, key)
            row = self._row(
                question,
                parameters,
                key,
                {
                    "model_returned": reply.model[:200],
                    "text": reply.text,
                    "reasoning": reply.reasoning,
                    **vars(reply.usage),
                    "latency": reply.latency,
                    "first_token": reply.first_token,
                    "finish_reason": reply.finish_reason[:60],
                    "request_id": reply.request_id[:200],
                },
            )
        row, spent = await self._commits.do(store, (self._run, row))
        self._stored(row, spent)
        return row

    def _row(
        self,
        question: ChainRequest,
        parameters: Mapping[str, float | int],
        key: str,
        reply: Mapping[str, Any],
    ) -> Generation:
        extraction = dict(
            vars(extract_program(reply["text"], self._settings.language, self._settings.extraction))
        )
        code = extraction.pop("code") or ""
        return Generation(
            work_item_id=question.item.pk,
            step=question.step,
            purpose=question.purpose,
            messages=question.prompt.to_json(),
            prompt_hash=question.prompt_hash,
            template_hash=question.prompt.template_hash,
            parameters=parameters,
            code=code,
            extraction=extraction,
            retrieval=question.retrieval,
            cache_key=key,
            **reply,
        )


def draw_name(number: int, chain: int, asked: int) -> str:
    """Return the name of a draw for its cache key. Draw number 0 keeps the form that stored replies have."""
    return f"{chain}.{asked}" if number == 0 else f"{chain}.{asked}.{number}"


def cache_key(spec: ModelSpec, parameters: Mapping[str, Any], prompt_hash: str, draw: str) -> str:
    """sha256 of all a reply depends on: model, address, parameters, messages and which draw it is."""
    parts = [f"{spec} {address_of(spec)}", json.dumps(parameters, sort_keys=True), prompt_hash, draw]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def find_paid(keys: list[str]) -> list[Generation | None]:
    """For each key the reply that was paid for, or None."""
    # Most are not there, and a statement without rows costs the ORM as much as one with them.
    asked = ", ".join(["%s"] * len(keys))
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT id FROM benchmark_generation WHERE reused_id IS NULL AND cache_key IN ({asked})",  # noqa: S608  (no value is in it)
            keys,
        )
        paid = [key for (key,) in cursor.fetchall()]
    found = {row.cache_key: row for row in Generation.objects.filter(pk__in=paid)} if paid else {}
    return [found.get(key) for key in keys]


def store(entries: list[tuple[Run, Generation]]) -> Sequence[tuple[Generation, Spending]]:
    """Store rows of one run and what they cost, in one transaction; returns them and all that the run has spent.

    Should another process have stored the same step meanwhile, its row stands.
    """
    run = entries[0][0]
    new = insert([row for _, row in entries])
    paid = (
        Spending.of_reply(row.input_tokens, row.output_tokens, row.cached_input_tokens)
        for row in new
        if row.reused_id is None
    )
    spent = sum(paid, Spending()).add_to(run)
    return [
        (row if row.pk else Generation.objects.get(work_item=row.work_item_id, step=row.step), spent)
        for _, row in entries
    ]
