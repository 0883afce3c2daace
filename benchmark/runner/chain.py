"""One chain of a run: asks the model what is not stored yet, and stores each reply the moment it arrives."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from typing import Any

from asgiref.sync import sync_to_async

from benchmark.extraction import extract_program
from benchmark.methods import Sampling
from benchmark.models import Generation, WorkItem
from benchmark.prompts import Prompt, Task
from benchmark.providers import Reply
from benchmark.retrieval import Corpus


class PromptChanged(Exception):
    """A stored reply answers another question than the method asks now, so the chain cannot be continued."""


class StoredChain:
    """`benchmark.methods.Chain` over the rows of a work item.

    The n-th question of the method is step n. A stored step is answered from its row, any other by `call`.
    """

    def __init__(
        self,
        item: WorkItem,
        settings: Sampling,
        call: Callable[[Prompt], Awaitable[Reply]],
        load_corpus: Callable[[], Awaitable[Corpus]],
    ) -> None:
        self.task = Task.of(item.problem)
        self._item = item
        self._settings = settings
        self._call = call
        self._load_corpus = load_corpus
        self._steps = 0

    async def ask(
        self, prompt: Prompt, purpose: Generation.Purpose, *, retrieval: Mapping[str, Any] | None = None
    ) -> Generation:
        """See `benchmark.methods.Chain`. Raises ProviderError and PromptChanged."""
        step = self._steps
        self._steps += 1
        stored = await sync_to_async(self._find)(step)
        if stored is None:
            reply = await self._call(prompt)
            stored = await sync_to_async(self._store)(step, purpose, prompt, retrieval, reply)
        if stored.prompt_hash != prompt.hash:
            raise PromptChanged(f"the stored reply of step {step} answers another prompt than is asked now")
        return stored

    async def corpus(self) -> Corpus:
        """See `benchmark.methods.Chain`."""
        return await self._load_corpus()

    def _find(self, step: int) -> Generation | None:
        return Generation.objects.filter(work_item=self._item, step=step).first()

    def _store(
        self,
        step: int,
        purpose: Generation.Purpose,
        prompt: Prompt,
        retrieval: Mapping[str, Any] | None,
        reply: Reply,
    ) -> Generation:
        """The row of the reply. Should another process have stored this step meanwhile, its row stands."""
        extraction = asdict(extract_program(reply.text, self._settings.language))
        code = extraction.pop("code") or ""
        row, _ = Generation.objects.get_or_create(
            work_item=self._item,
            step=step,
            defaults={
                "purpose": purpose,
                "messages": prompt.to_json(),
                "prompt_hash": prompt.hash,
                "template_hash": prompt.template_hash,
                "parameters": self._settings.parameters.to_json(),
                "model_returned": reply.model[:200],
                "text": reply.text,
                "reasoning": reply.reasoning,
                "code": code,
                "extraction": extraction,
                **asdict(reply.usage),
                "latency": reply.latency,
                "first_token": reply.first_token,
                "finish_reason": reply.finish_reason[:60],
                "request_id": reply.request_id[:200],
                "retrieval": retrieval,
            },
        )
        return row
