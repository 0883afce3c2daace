"""Dry runs of a method: a chain without a model, whose placeholder replies are counted and cost nothing."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from benchmark.methods.method import Method, Role, TextLibrary
from benchmark.methods.program_tester import DryProgramTester
from benchmark.methods.settings import MethodSettings
from benchmark.models import Generation
from benchmark.prompts import HiddenCount, HiddenRun, Prompt, SampleResult, SampleRun, VisibleProblem
from benchmark.retrieval import Document, ProblemText, SearchCorpus
from judge import Verdict

T = TypeVar("T")


@dataclass(frozen=True)
class DryRequest:
    """A prompt that a method would send; all attempts at a problem share the reply to a `shared` one."""

    prompt: Prompt
    purpose: Generation.Purpose
    retrieval: Mapping[str, Any] | None
    shared: bool
    role: Role

    @property
    def characters(self) -> int:
        """The length of the prompt in characters."""
        return sum(len(message.content) for message in self.prompt.messages)


class DryChain:
    """A `Chain` whose replies are a program of `reply_characters` characters; drafts are the letter x.

    No prompt shows a draft, and one letter does not change a search, so all searches have the same query. `passes` says
    whether all programs pass all tests or fail the first. `requests` records the prompts.
    """

    number = 0

    def __init__(
        self,
        task: VisibleProblem,
        library: TextLibrary,
        *,
        passes: bool,
        prepared: Mapping[str, Any] | None = None,
        language: str = "python",
        reply_characters: int = 40,
        tutor_reply: str = "",
    ) -> None:
        self.task = task
        self.prepared = prepared or {}
        self.program_tester = DryProgramTester(passes=passes)
        self.requests: list[DryRequest] = []
        self.problems, self.textbook, self.represented = (
            library.problems,
            library.textbook,
            library.represented,
        )
        self._read = library.read_once
        self._passes = passes
        self._tutor_reply = tutor_reply
        self._verdict = Verdict.AC if passes else Verdict.WA
        begin, end = f"```{language}\nprint(", ")\n```"
        self._reply = begin + "x" * max(1, reply_characters - len(begin) - len(end)) + end

    async def read_once(self, name: str, read: Callable[[], T]) -> T:
        """Return the text from the library."""
        return await self._read(name, read)

    async def request(
        self,
        prompt: Prompt,
        purpose: Generation.Purpose,
        *,
        retrieval: Mapping[str, Any] | None = None,
        shared: bool = False,
        role: Role = "student",
    ) -> Generation:
        """Record the prompt and return the placeholder reply."""
        self.requests.append(DryRequest(prompt, purpose, retrieval, shared, role))
        if role == "tutor":
            return Generation(purpose=purpose, text=self._tutor_reply)
        text = "x" if purpose == Generation.Purpose.DRAFT else self._reply
        return Generation(purpose=purpose, text=text, code=text)

    async def adopt(self, _prompt: Prompt, text: str, _source: Mapping[str, Any]) -> Generation:
        """Return the text as a reply without a call."""
        return Generation(purpose=Generation.Purpose.RECORDED, text=text, code=text)

    async def run_samples(self, _answer: Generation) -> SampleRun:
        """Return the assumed result, with one failed sample of 100 characters per text."""
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
        len(asyncio.run(dry_run(method, method.settings(), _example_chain(method, task, passes=passes))))
        for passes in (True, False)
    )
    return str(fewest) if fewest == most else f"{fewest} to {most}"


def _example_chain(method: Method, task: VisibleProblem, *, passes: bool) -> DryChain:
    example = method.example()
    library = _MinimalLibrary(example.texts)
    return DryChain(task, library, passes=passes, prepared=example.prepared, tutor_reply=method.tutor_reply)


class _MinimalLibrary:
    """The smallest library in which every method finds something; `texts` are the results of `read_once`."""

    def __init__(self, texts: Mapping[str, Any]) -> None:
        self._texts = texts

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

    async def read_once(self, name: str, _read: Callable[[], T]) -> T:
        """Return the text of this name."""
        text: T = self._texts[name]
        return text
