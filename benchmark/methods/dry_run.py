"""Dry runs of a method: a chain without a model, whose placeholder replies are counted and cost nothing."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmark.methods.method import Method, TextLibrary
from benchmark.methods.program_tester import DryProgramTester
from benchmark.methods.settings import MethodSettings
from benchmark.models import Generation
from benchmark.prompts import HiddenCount, HiddenRun, Prompt, SampleResult, SampleRun, VisibleProblem
from benchmark.retrieval import Document, ProblemText, SearchCorpus
from judge import Verdict


@dataclass(frozen=True)
class DryRequest:
    """A prompt that a method would send; all attempts at a problem share the reply to a `shared` one."""

    prompt: Prompt
    purpose: Generation.Purpose
    retrieval: Mapping[str, Any] | None
    shared: bool

    @property
    def characters(self) -> int:
        """The length of the prompt."""
        return sum(len(message.content) for message in self.prompt.messages)


class DryChain:
    """A `Chain` whose replies are `reply_characters` times the letter x; drafts are that letter alone.

    No prompt shows a draft, and one letter does not change a search, so all searches have the same query. `passes` says
    whether all programs pass all tests or fail the first. `requests` records the prompts.
    """

    def __init__(
        self, task: VisibleProblem, library: TextLibrary, *, passes: bool, reply_characters: int = 10
    ) -> None:
        self.task = task
        self.program_tester = DryProgramTester(passes=passes)
        self.requests: list[DryRequest] = []
        self.problems, self.textbook, self.represented = (
            library.problems,
            library.textbook,
            library.represented,
        )
        self._passes = passes
        self._verdict = Verdict.AC if passes else Verdict.WA
        self._reply = "x" * reply_characters

    async def request(
        self,
        prompt: Prompt,
        purpose: Generation.Purpose,
        *,
        retrieval: Mapping[str, Any] | None = None,
        shared: bool = False,
    ) -> Generation:
        """Record the prompt and return the placeholder reply."""
        self.requests.append(DryRequest(prompt, purpose, retrieval, shared))
        text = "x" if purpose == Generation.Purpose.DRAFT else self._reply
        return Generation(purpose=purpose, text=text, code=text)

    async def run_samples(self, _answer: Generation) -> SampleRun:
        """Return the assumed result, with one failed sample of 100 characters a text."""
        line = "x" * 100
        failed = () if self._passes else (SampleResult(Verdict.WA, line, line, line, ""),)
        return SampleRun(self._verdict, failed)

    async def run_hidden(self, _answer: Generation) -> HiddenRun:
        """Return the assumed verdict."""
        return HiddenRun(self._verdict)

    async def count_hidden(self, _answer: Generation) -> HiddenCount:
        """Return the assumed result on one test."""
        return HiddenCount(int(self._passes), 1)


async def dry_run(method: Method, settings: MethodSettings, chain: DryChain) -> list[DryRequest]:
    """Return the requests of one attempt by the method."""
    await method.solve(chain, settings)
    return chain.requests


def count_calls(method: Method) -> str:
    """Return the fewest and the most calls of an attempt with the default settings, as "1" or "1 to 4"."""
    task = VisibleProblem("0", "statement", time_limit=1, memory_limit=2**20)
    fewest, most = (
        len(asyncio.run(dry_run(method, method.settings(), DryChain(task, _MinimalLibrary(), passes=passes))))
        for passes in (True, False)
    )
    return str(fewest) if fewest == most else f"{fewest} to {most}"


class _MinimalLibrary:
    """The smallest library in which every method finds something."""

    async def problems(self) -> SearchCorpus:
        """Return three problems."""
        text = ProblemText("statement", "analysis", "program")
        return SearchCorpus(tuple(Document(str(number), "title", "text", text) for number in range(3)))

    async def textbook(self, _name: str) -> SearchCorpus:
        """Return one article."""
        return SearchCorpus((Document("0", "title", "text"),))

    async def represented(self, _kind: str) -> SearchCorpus:
        """Return the three problems."""
        return await self.problems()
