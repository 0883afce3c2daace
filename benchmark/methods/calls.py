"""How many calls an attempt takes: the method is played through, so that no second description can become wrong."""

import asyncio
from collections.abc import Mapping
from typing import Any

from benchmark.methods.bench import AssumedBench
from benchmark.methods.method import Method
from benchmark.models import Generation
from benchmark.prompts import HiddenCount, HiddenRun, Prompt, SampleResult, SampleRun, Task
from benchmark.retrieval import Corpus, Document, ProblemText
from judge import Verdict


def calls(method: Method) -> str:
    """The fewest and the most calls of an attempt with the default settings, as "1" or "1 to 4"."""
    counts = []
    for verdict in (Verdict.AC, Verdict.WA):
        chain = _CountingChain(verdict)
        asyncio.run(method.solve(chain, method.settings()))
        counts.append(chain.asked)
    fewest, most = counts
    return str(fewest) if fewest == most else f"{fewest} to {most}"


class _CountingChain:
    """`Chain` whose answers all have the same verdict on the samples."""

    def __init__(self, verdict: Verdict) -> None:
        self.task = Task("0", "statement", time_limit=1, memory_limit=2**20)
        self.bench = AssumedBench(passes=verdict is Verdict.AC)
        self.asked = 0
        self._verdict = verdict

    async def ask(
        self, prompt: Prompt, purpose: Generation.Purpose, *, retrieval: Mapping[str, Any] | None = None
    ) -> Generation:
        """A reply, counted."""
        self.asked += 1
        return Generation(text="reply", code="program")

    async def run_samples(self, answer: Generation) -> SampleRun:
        """The verdict."""
        return SampleRun(self._verdict, (SampleResult(self._verdict, "", "", "", ""),))

    async def run_hidden(self, answer: Generation) -> HiddenRun:
        """The same verdict."""
        return HiddenRun(self._verdict)

    async def count_hidden(self, answer: Generation) -> HiddenCount:
        """One, and it is passed if the samples are."""
        return HiddenCount(int(self._verdict is Verdict.AC), 1)

    async def problems(self) -> Corpus:
        """Three of them."""
        text = ProblemText("statement", "analysis", "program")
        return Corpus(tuple(Document(str(number), "title", "text", text) for number in range(3)))

    async def textbook(self, name: str) -> Corpus:
        """One article."""
        return Corpus((Document("0", "title", "text"),))

    async def represented(self, kind: str) -> Corpus:
        """The same three."""
        return await self.problems()
