"""The texts that the chains of a run search; each is read once for all chains."""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from asgiref.sync import sync_to_async

from benchmark import models
from benchmark.models import Dataset
from benchmark.representations import KINDS, represented_corpus
from benchmark.retrieval import Corpus, article_corpus, problem_corpus

T = TypeVar("T")


class SearchTexts:
    """The problems of a dataset, their representations by a model, and textbooks by name."""

    def __init__(self, dataset: Dataset, language: str, model_spec: str) -> None:
        self._dataset = dataset
        self._language = language
        self._model_spec = model_spec
        self._reading: dict[str, asyncio.Task[Any]] = {}

    async def problems(self) -> Corpus:
        """Return every problem of the dataset, with a solution in the language if there is one."""
        return await self.read_once("problems", lambda: problem_corpus(self._dataset, self._language))

    async def textbook(self, name: str) -> Corpus:
        """Return the articles of the textbook of that name. Raises models.Corpus.DoesNotExist."""
        return await self.read_once(
            f"textbook {name}", lambda: article_corpus(models.Corpus.objects.get(name=name))
        )

    async def represented(self, kind: str) -> Corpus:
        """Return every problem as its representation of that kind. Raises NotRepresented."""
        problems = await self.problems()
        return await self.read_once(
            f"represented as {kind}",
            lambda: represented_corpus(problems, self._dataset, KINDS[kind], self._model_spec),
        )

    async def read_once(self, name: str, read: Callable[[], T]) -> T:
        """Return the result of `read`, which is called once for each name."""
        if name not in self._reading:
            self._reading[name] = asyncio.create_task(sync_to_async(read)())
        result: T = await self._reading[name]
        return result
