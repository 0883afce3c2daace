"""What a method is, and what it is given to work with."""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from benchmark.methods.program_tester import ProgramTester
from benchmark.methods.settings import MethodSettings
from benchmark.models import Generation
from benchmark.prompts import HiddenCount, HiddenRun, Prompt, SampleRun, Task
from benchmark.retrieval import Corpus

Scoring = Literal["pass", "refine", "none"]
"""What scores a chain: pass@k of independent attempts, Refine@K of attempts in a row, or nothing without attempts."""


class Chain(Protocol):
    """One attempt at one problem as its method sees it: the task, the texts to search, a model and a judge."""

    task: Task

    @property
    def program_tester(self) -> ProgramTester:
        """Where programs are tried that are no attempts, and attempts by a verifier."""
        ...

    async def ask(
        self,
        prompt: Prompt,
        purpose: Generation.Purpose,
        *,
        retrieval: Mapping[str, Any] | None = None,
        shared: bool = False,
    ) -> Generation:
        """The reply to the chain's next question, from the database when it was asked before.

        The same question asked again in one chain is another question and gets a reply of its own. A `shared`
        question gets the same reply in all chains of its problem.

        `retrieval` says where texts in the prompt came from and is stored with the reply.
        """
        ...

    async def run_samples(self, answer: Generation) -> SampleRun:
        """What the answer's program does on the samples of the statement, judged once and then remembered."""
        ...

    async def run_hidden(self, answer: Generation) -> HiddenRun:
        """The verdict of the answer's program on all tests, judged once and then remembered; nothing more of it."""
        ...

    async def count_hidden(self, answer: Generation) -> HiddenCount:
        """How many hidden tests the answer's program passes, judged once on every test and then remembered."""
        ...

    async def problems(self) -> Corpus:
        """All problems of the run's dataset, the one under test included."""
        ...

    async def textbook(self, name: str) -> Corpus:
        """The articles of the textbook of that name."""
        ...

    async def represented(self, kind: str) -> Corpus:
        """All problems of the run's dataset, each as its representation of that kind by the run's model."""
        ...


@dataclass(frozen=True)
class Method:
    """A way to get an attempt from a model.

    `solve` is a deterministic function of the task, the settings, the replies it gets and what their programs
    do on the samples, so a chain that was cut off is continued by calling it again. It returns the generation
    that counts as the attempt.
    """

    name: str
    summary: str
    source: str
    caveat: str
    """What stands beside every figure of a control; blank for a method of the papers."""
    settings: type[MethodSettings]
    templates: Callable[[Any], tuple[str, ...]]
    """Names the templates that prompts are made of with given settings."""
    needs_analysis: bool
    """Whether it cannot be tested on a problem without an analysis."""
    needs_verifier: bool
    """Whether it cannot be tested on a problem for which no verifier was built."""
    needs_outputs: bool
    """Whether it cannot be tested on interactive and multi-pass problems."""
    scoring: Scoring
    solve: Callable[[Chain, Any], Coroutine[Any, Any, Generation]]
