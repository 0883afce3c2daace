"""A chain in memory: the replies and what their programs do on the samples are written in advance."""

from collections.abc import Mapping, Sequence
from typing import Any

from benchmark.methods.program_tester import DryProgramTester
from benchmark.models import Generation
from benchmark.prompts import HiddenCount, HiddenRun, Prompt, SampleRun, Task
from benchmark.retrieval import Corpus, Document
from judge import Verdict


class ScriptedChain:
    """`benchmark.methods.Chain`; `passes` says of each answer (drafts not counted) whether it passes the samples.

    It is about a problem of its own among five, unless a task and the problems are given.
    """

    def __init__(
        self, passes: Sequence[bool], task: Task | None = None, problems: Corpus | None = None
    ) -> None:
        self.task = task or Task("1_cows", "Count the cows in the field.", time_limit=2, memory_limit=2**28)
        self._problems = problems
        self.program_tester = DryProgramTester(passes=True)
        self.asked: list[tuple[Generation.Purpose, str, Mapping[str, Any] | None]] = []
        self._passes = iter(passes)

    async def ask(
        self,
        prompt: Prompt,
        purpose: Generation.Purpose,
        *,
        retrieval: Mapping[str, Any] | None = None,
        shared: bool = False,
    ) -> Generation:
        self.asked.append((purpose, prompt.messages[0].content, retrieval))
        number = len(self.asked)
        return Generation(step=number - 1, purpose=purpose, text=f"reply {number}", code=f"code {number}")

    async def run_samples(self, answer: Generation) -> SampleRun:
        return SampleRun(Verdict.AC if next(self._passes) else Verdict.WA)

    async def run_hidden(self, answer: Generation) -> HiddenRun:
        raise AssertionError("only refine asks for the verdict on hidden tests")

    async def count_hidden(self, answer: Generation) -> HiddenCount:
        raise AssertionError("only feedback=samples+hidden_count asks for a count")

    async def problems(self) -> Corpus:
        if self._problems is not None:
            return self._problems
        words = ("field", "cows", "pigs", "trees")
        return Corpus(
            (
                Document("1_cows", "Cows", "Count the cows in the field. OWN SOLUTION"),
                *(Document(f"{n}_{word}", word, f"Similar: the {word}") for n, word in enumerate(words, 2)),
            )
        )

    async def textbook(self, name: str) -> Corpus:
        return Corpus(
            (
                Document("trees", "Trees", "About trees."),
                Document("counting", "Counting", "How to Count the things in a field."),
                Document("flows", "Flows", "About flows."),
            )
        )

    async def represented(self, kind: str) -> Corpus:
        raise AssertionError("only matched asks for representations")
