"""Replies to the prompts of a run: from its rows, from the cache of paid replies, or from the model."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakValueDictionary

import structlog

from benchmark.extraction import extract_program
from benchmark.methods import MethodSettings, Role
from benchmark.model_calls import caps, ledger
from benchmark.model_calls.budget import Spending
from benchmark.model_calls.commit_queue import CommitQueue
from benchmark.model_calls.inserts import insert_generations
from benchmark.model_calls.ledger import Account
from benchmark.model_calls.reply_cache import (
    cache_key,
    draw_name,
    draw_seed,
    find_paid,
    reply_columns,
    reused_columns,
)
from benchmark.models import Generation, Run, RunTutor, WorkItem
from benchmark.models.metering import MeteredRun
from benchmark.prompts import Prompt
from benchmark.providers import ModelReply, ModelSpec, Parameters, draws_by_seed, parse_model_spec
from benchmark.runner.sampling import sampling_of

logger = structlog.get_logger(__name__)

_OWN_COLUMNS = ("text", "first_token", "blocks")
"""Columns of a reply that only generations have, or that have another name in other tables."""


@dataclass(frozen=True)
class ModelRole:
    """A model in one role of a run: what its requests send, and the row and the account that its replies count in."""

    role: Role
    spec: ModelSpec
    sampling: Parameters
    metered: MeteredRun
    account: Account

    @classmethod
    def student(cls, run: Run, settings: MethodSettings) -> "ModelRole":
        """Return the run's model, which writes the attempts."""
        spec = parse_model_spec(run.model_spec)
        return cls("student", spec, sampling_of(settings, run.model), run, Account.of_run(run))

    @classmethod
    def tutor(cls, tutor: RunTutor) -> "ModelRole":
        """Return the model in the role of the tutor. Its spending counts in the study of the run."""
        account = replace(Account.of_run(tutor), study_key=tutor.run.study_key)
        sampling = Parameters.from_json(tutor.parameters)
        return cls("tutor", parse_model_spec(tutor.model_spec), sampling, tutor, account)


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
    role: Role = "student"


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
        roles: Mapping[Role, ModelRole],
        *,
        commits: CommitQueue,
        call: Callable[[Role, Prompt, Parameters, str, str], AbstractAsyncContextManager[ModelReply]],
        on_stored: Callable[[Role, Generation, Spending], None],
    ) -> None:
        """`call` sends a prompt; `on_stored` gets the role, each new row, and what the role has spent.

        `call` gets the role, the prompt, its parameters, its cache key, and the reason if a spending cap refuses
        further calls, else blank. Its block ends when the reply is stored.
        """
        self._run = run
        self._settings = settings
        self._roles = roles
        self._commits = commits
        self._call = call
        self._on_stored = on_stored
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self.blocked = 0
        """Number of chains that wait for another chain's reply to the same prompt."""

    async def reply_to(self, request: ChainRequest) -> Generation:
        """Return the stored reply. Raises ProviderError."""
        part = self._roles[request.role]
        parameters = request.prompt.parameters(part.sampling)
        number, chain = self._run.draw_of(request.item.chain)
        draw = draw_name(number, 0 if request.shared else chain, request.repetition)
        if draws_by_seed(part.spec):
            parameters = replace(parameters, seed=draw_seed(draw, parameters.seed))
        key = cache_key(part.spec, parameters.to_json(), request.prompt_hash, draw)
        # One chain at a time sends a prompt; two problems may have the same text.
        lock = self._locks.setdefault(key, asyncio.Lock())
        self.blocked += 1
        try:
            await lock.acquire()
        finally:
            self.blocked -= 1
        try:
            return await self._reply(request, part, parameters, key)
        finally:
            lock.release()

    async def adopt(self, request: ChainRequest, text: str) -> Generation:
        """Store a recorded text as the reply to the request, at no cost, and return its row."""
        no_call = {"input_tokens": 0, "output_tokens": 0, "cached_input_tokens": 0, "reasoning_tokens": 0}
        columns = {"text": text, "latency": 0.0, "parameters": {}, "finish_reason": "stop", **no_call}
        row, _ = await self._commits.submit(store, (self._roles[request.role], self._row(request, columns)))
        return row

    async def _reply(
        self, request: ChainRequest, part: ModelRole, parameters: Parameters, key: str
    ) -> Generation:
        paid, refusal = await self._commits.submit(_look_up, (part.account, key))
        sent = {"parameters": parameters.to_json(), "cache_key": key}
        if paid is not None:
            own = {name: getattr(paid, name) for name in _OWN_COLUMNS}
            return await self._store(request, part, reused_columns(paid) | own | sent)
        async with self._call(request.role, request.prompt, parameters, key, refusal) as reply:
            own = {"text": reply.text, "first_token": reply.first_token, "blocks": [*reply.blocks] or None}
            return await self._store(request, part, reply_columns(reply) | own | sent)

    async def _store(self, request: ChainRequest, part: ModelRole, columns: Mapping[str, Any]) -> Generation:
        row = self._row(request, columns)
        row, spent = await self._commits.submit(store, (part, row))
        logger.info(
            "run step",
            run=str(self._run.pk),
            item=request.item.pk,
            step=request.step,
            generation=row.pk,
            reused=row.reused_id,
        )
        self._on_stored(request.role, row, spent)
        return row

    def _row(self, request: ChainRequest, columns: Mapping[str, Any]) -> Generation:
        # A tutor's message is not an attempt: a program in it is never judged.
        extraction: dict[str, Any] = {}
        if request.role == "student":
            found = extract_program(columns["text"], self._settings.language, self._settings.extraction)
            extraction = dict(vars(found))
        code = extraction.pop("code", None) or ""
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


def _look_up(entries: list[tuple[Account, str]]) -> Sequence[tuple[Generation | None, str]]:
    """Return for each cache key the reply that was paid for, or why a spending cap refuses a call; blank: none does.

    The entries have the accounts of one run's roles.
    """
    found = find_paid(Generation, [key for _, key in entries])
    unpaid = {account for (account, _), paid in zip(entries, found, strict=True) if paid is None}
    refusals = {account: caps.refusal(account) for account in unpaid}
    return [
        (paid, "" if paid else refusals[account]) for (account, _), paid in zip(entries, found, strict=True)
    ]


def store(entries: list[tuple[ModelRole, Generation]]) -> Sequence[tuple[Generation, Spending]]:
    """Store rows of one run and their cost in one transaction; return the rows and what the role of each has spent.

    Where another process has stored the same step, its row is returned; the reply that is not stored was paid for too,
    except that of a batch, which both processes have read.
    """
    insert_generations([row for _, row in entries])
    spent = {}
    for part in {part.role: part for part, _ in entries}.values():
        in_batches = isinstance(part.metered, Run) and part.metered.in_batches
        paid = [
            Spending.of_reply(row.input_tokens, row.output_tokens, row.cached_input_tokens)
            for other, row in entries
            if other.role == part.role and row.reused_id is None
            if row.pk or not in_batches
            if row.purpose != Generation.Purpose.RECORDED
        ]
        spent[part.role] = sum(paid, Spending()).add_to(part.metered)
        ledger.record(part.account, paid)
    return [
        (
            row if row.pk else Generation.objects.get(work_item=row.work_item_id, step=row.step),
            spent[part.role],
        )
        for part, row in entries
    ]
