"""A chain without a model: replies of an assumed length are made up and counted, and nobody is called."""

from collections.abc import Mapping
from typing import Any, Protocol

from benchmark.methods.program_tester import DryProgramTester
from benchmark.models import Generation
from benchmark.prompts import HiddenCount, HiddenRun, Prompt, SampleResult, SampleRun, Task
from benchmark.retrieval import Corpus
from judge import Verdict


class Library(Protocol):
    """The texts that a method may search."""

    async def problems(self) -> Corpus:
        """See `Chain`, as for all of these."""
        ...

    async def textbook(self, name: str) -> Corpus: ...

    async def represented(self, kind: str) -> Corpus: ...


class DryChain:
    """`Chain` whose replies are `reply_characters` of one letter, and whose drafts are that letter.

    No prompt shows a draft, and one letter changes nothing in a search, so what is searched for is always the same.

    `passes` says of all programs whether they pass all tests or fail the first. `own_prompts` has the length of
    each question that was asked, in characters, `shared_prompts` of those whose reply all attempts share.
    """

    def __init__(self, task: Task, library: Library, *, passes: bool, reply_characters: int) -> None:
        self.task = task
        self.program_tester = DryProgramTester(passes=passes)
        self.own_prompts: list[int] = []
        self.shared_prompts: list[int] = []
        self._library = library
        self._passes = passes
        self._verdict = Verdict.AC if passes else Verdict.WA
        self._reply = "x" * reply_characters

    async def ask(
        self,
        prompt: Prompt,
        purpose: Generation.Purpose,
        *,
        retrieval: Mapping[str, Any] | None = None,
        shared: bool = False,
    ) -> Generation:
        """A made-up reply."""
        lengths = self.shared_prompts if shared else self.own_prompts
        lengths.append(sum(len(message.content) for message in prompt.messages))
        text = "x" if purpose == Generation.Purpose.DRAFT else self._reply
        return Generation(purpose=purpose, text=text, code=text)

    async def run_samples(self, answer: Generation) -> SampleRun:
        """As assumed."""
        line = "x" * 100
        failed = () if self._passes else (SampleResult(Verdict.WA, line, line, line, ""),)
        return SampleRun(self._verdict, failed)

    async def run_hidden(self, answer: Generation) -> HiddenRun:
        """As assumed."""
        return HiddenRun(self._verdict)

    async def count_hidden(self, answer: Generation) -> HiddenCount:
        """One, and it is passed or not, as assumed."""
        return HiddenCount(int(self._passes), 1)

    async def problems(self) -> Corpus:
        """The library's."""
        return await self._library.problems()

    async def textbook(self, name: str) -> Corpus:
        """The library's."""
        return await self._library.textbook(name)

    async def represented(self, kind: str) -> Corpus:
        """The library's."""
        return await self._library.represented(kind)
