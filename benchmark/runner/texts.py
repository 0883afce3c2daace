"""The texts that the chains of a run search; each is read once for all chains."""

import asyncio
from collections.abc import Callable

from asgiref.sync import sync_to_async

from benchmark import models
from benchmark.models import Dataset
from benchmark.representations import KINDS, represented_corpus
from benchmark.retrieval import SearchCorpus, article_corpus, problem_corpus


class SearchTexts:
    """The problems of a dataset, their representations by a model, and textbooks by name."""

    def __init__(self, dataset: Dataset, language: str, model_spec: str) -> None:
        self._dataset = dataset
        self._language = language
        self._model_spec = model_spec
        self._reading: dict[str, asyncio.Task[SearchCorpus]] = {}

    async def problems(self) -> SearchCorpus:
        """Return every problem of the dataset, with a solution in the language if there is one."""
        return await self._read("", lambda: problem_corpus(self._dataset, self._language))

    async def textbook(self, name: str) -> SearchCorpus:
        """Return the articles of the textbook of that name. Raises models.Corpus.DoesNotExist."""
        return await self._read(name, lambda: article_corpus(models.Corpus.objects.get(name=name)))

    async def represented(self, kind: str) -> SearchCorpus:
        """Return every problem as its representation of that kind. Raises NotRepresented."""
        problems = await self.problems()
        return await self._read(
            f"represented as {kind}",
            lambda: represented_corpus(problems, self._dataset, KINDS[kind], self._model_spec),
        )

    async def _read(self, name: str, read: Callable[[], SearchCorpus]) -> SearchCorpus:
        if name not in self._reading:
            self._reading[name] = asyncio.create_task(sync_to_async(read)())
        return await self._reading[name]
