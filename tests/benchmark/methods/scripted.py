"""A chain in memory with scripted replies and sample results."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from benchmark.methods import DryChain, Role
from benchmark.models import Generation
from benchmark.prompts import HiddenCount, HiddenRun, Prompt, SampleRun, VisibleProblem
from benchmark.retrieval import Document, SearchCorpus
from judge import Verdict

T = TypeVar("T")


class Library:
    """Five problems, unless others are given, and a textbook of three articles."""

    def __init__(self, problems: SearchCorpus | None) -> None:
        self._problems = problems

    async def problems(self) -> SearchCorpus:
        if self._problems is not None:
            return self._problems
        words = ("field", "cows", "pigs", "trees")
        return SearchCorpus(
            (
                Document("1_cows", "Cows", "Count the cows in the field. OWN SOLUTION"),
                *(Document(f"{n}_{word}", word, f"Similar: the {word}") for n, word in enumerate(words, 2)),
            )
        )

    async def textbook(self, name: str) -> SearchCorpus:
        return SearchCorpus(
            (
                Document("trees", "Trees", "About trees."),
                Document("counting", "Counting", "How to Count the things in a field."),
                Document("flows", "Flows", "About flows."),
            )
        )

    async def represented(self, kind: str) -> SearchCorpus:
        raise AssertionError("only representation retrieval reads representations")

    async def read_once(self, name: str, read: Callable[[], T]) -> T:
        raise AssertionError("only session arms read texts of their own")


class ScriptedChain(DryChain):
    """A chain whose `passes` says of each answer (drafts not counted) whether it passes the samples.

    Its problem is one of the library's five, unless a task and the problems are given.
    """

    def __init__(
        self, passes: Sequence[bool], task: VisibleProblem | None = None, problems: SearchCorpus | None = None
    ) -> None:
        own = VisibleProblem("1_cows", "Count the cows in the field.", time_limit=2, memory_limit=2**28)
        super().__init__(task or own, Library(problems), passes=True)
        self._results = iter(passes)

    @property
    def asked(self) -> list[tuple[Generation.Purpose, str, Mapping[str, Any] | None]]:
        """Purpose, first message and retrieval record of each request."""
        return [(one.purpose, one.prompt.messages[0].content, one.retrieval) for one in self.requests]

    async def request(
        self,
        prompt: Prompt,
        purpose: Generation.Purpose,
        *,
        retrieval: Mapping[str, Any] | None = None,
        shared: bool = False,
        role: Role = "student",
    ) -> Generation:
        await super().request(prompt, purpose, retrieval=retrieval, shared=shared, role=role)
        number = len(self.requests)
        return Generation(step=number - 1, purpose=purpose, text=f"reply {number}", code=f"code {number}")

    async def run_samples(self, answer: Generation) -> SampleRun:
        return SampleRun(Verdict.AC if next(self._results) else Verdict.WA)

    async def run_hidden(self, answer: Generation) -> HiddenRun:
        raise AssertionError("only refine needs the verdict on hidden tests")

    async def count_hidden(self, answer: Generation) -> HiddenCount:
        raise AssertionError("only feedback=samples+hidden_count needs a count")
