"""Replies to the prompts of a run: from its rows, from the cache of paid replies, or from the model."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

from benchmark.extraction import extract_program
from benchmark.methods import MethodSettings
from benchmark.model_calls.budget import Spending
from benchmark.model_calls.commit_queue import CommitQueue
from benchmark.model_calls.inserts import insert_generations
from benchmark.model_calls.reply_cache import (
    cache_key,
    draw_name,
    draw_seed,
    find_paid,
    reply_columns,
    reused_columns,
)
from benchmark.models import Generation, Run, WorkItem
from benchmark.prompts import Prompt
from benchmark.providers import ModelReply, Parameters, draws_by_seed, parse_model_spec

_find_paid = partial(find_paid, Generation)


@dataclass(frozen=True)
class ChainRequest:
    """A prompt as one step of a chain; `repetition` counts how often the chain sent the same prompt before.

    All chains of a problem use the reply of the first chain to a `shared` prompt.
    """

    item: WorkItem
    step: int
    purpose: Generation.Purpose
    prompt: Prompt
    prompt_hash: str
    retrieval: Mapping[str, Any] | None
    repetition: int
    shared: bool


class ReplyStore:
    """The replies of a run; each is stored before it is returned.

    The cache key consists of everything a reply depends on and of the attempt. A prompt that another method or run paid
    for in the same chain gets that reply, and chains remain independent draws. An epoch with its own draw number has
    its own keys.
    """

    def __init__(
        self,
        run: Run,
        settings: MethodSettings,
        commits: CommitQueue,
        call: Callable[[Prompt, Parameters, str], Awaitable[ModelReply]],
        on_stored: Callable[[Generation, Spending], None],
    ) -> None:
        """`call` sends a prompt with its parameters and its cache key.

        `on_stored` gets each new row and the spending of the run.
        """
        self._run = run
        self._settings = settings
        self._spec = parse_model_spec(run.model_spec)
        self._draws_by_seed = draws_by_seed(self._spec)
        self._commits = commits
        self._call = call
        self._on_stored = on_stored
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self.blocked = 0
        """Number of chains that wait for another chain's reply to the same prompt."""

    async def reply_to(self, request: ChainRequest) -> Generation:
        """Return the stored reply. Raises ProviderError."""
        parameters = request.prompt.parameters(self._settings.parameters)
        number, chain = self._run.draw_of(request.item.chain)
        draw = draw_name(number, 0 if request.shared else chain, request.repetition)
        if self._draws_by_seed:
            parameters = replace(parameters, seed=draw_seed(draw, parameters.seed))
        key = cache_key(self._spec, parameters.to_json(), request.prompt_hash, draw)
        # One chain at a time sends a prompt; two problems may have the same text.
        lock = self._locks.setdefault(key, asyncio.Lock())
        self.blocked += 1
        try:
            await lock.acquire()
        finally:
            self.blocked -= 1
        try:
            return await self._reply(request, parameters, key)
        finally:
            lock.release()

    async def adopt(self, request: ChainRequest, text: str) -> Generation:
        """Store a recorded text as the reply to the request, at no cost, and return its row."""
        no_call = {"input_tokens": 0, "output_tokens": 0, "cached_input_tokens": 0, "reasoning_tokens": 0}
        columns = {"text": text, "latency": 0.0, "parameters": {}, "finish_reason": "stop", **no_call}
        row, _ = await self._commits.submit(store, (self._run, self._row(request, columns)))
        return row

    async def _reply(self, request: ChainRequest, parameters: Parameters, key: str) -> Generation:
        paid = await self._commits.submit(_find_paid, key)
        if paid is not None:
            columns = reused_columns(paid) | {"text": paid.text, "first_token": paid.first_token}
        else:
            reply = await self._call(request.prompt, parameters, key)
            columns = reply_columns(reply) | {"text": reply.text, "first_token": reply.first_token}
        row = self._row(request, columns | {"parameters": parameters.to_json(), "cache_key": key})
        row, spent = await self._commits.submit(store, (self._run, row))
        self._on_stored(row, spent)
        return row

    def _row(self, request: ChainRequest, columns: Mapping[str, Any]) -> Generation:
        extraction = dict(
            vars(extract_program(columns["text"], self._settings.language, self._settings.extraction))
        )
        code = extraction.pop("code") or ""
        return Generation(
            work_item_id=request.item.pk,
            step=request.step,
            purpose=request.purpose,
            messages=request.prompt.to_json(),
            prompt_hash=request.prompt_hash,
            template_hash=request.prompt.template_hash,
            code=code,
            extraction=extraction,
            retrieval=request.retrieval,
            **columns,
        )


def store(entries: list[tuple[Run, Generation]]) -> Sequence[tuple[Generation, Spending]]:
    """Store rows of one run and their cost in one transaction; return the rows and the spending of the run.

    Where another process has stored the same step, its row is returned.
    """
    run = entries[0][0]
    new = insert_generations([row for _, row in entries])
    paid = (
        Spending.of_reply(row.input_tokens, row.output_tokens, row.cached_input_tokens)
        for row in new
        if row.reused_id is None and row.purpose != Generation.Purpose.RECORDED
    )
    spent = sum(paid, Spending()).add_to(run)
    return [
        (row if row.pk else Generation.objects.get(work_item=row.work_item_id, step=row.step), spent)
        for _, row in entries
    ]
