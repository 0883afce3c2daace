"""The interfaces of a method: the method itself, and the chain that it works on."""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from benchmark.methods.program_tester import ProgramTester
from benchmark.methods.settings import MethodSettings
from benchmark.models import Generation
from benchmark.prompts import HiddenCount, HiddenRun, Prompt, SampleRun, VisibleProblem
from benchmark.retrieval import SearchCorpus

Scoring = Literal["pass", "refine", "none"]
"""The score of a chain: pass@k of independent attempts, Refine@K of successive attempts, or none without attempts."""


class TextLibrary(Protocol):
    """The texts that a method may search."""

    async def problems(self) -> SearchCorpus:
        """Return all problems of the run's dataset, the problem under test included."""
        ...

    async def textbook(self, name: str) -> SearchCorpus:
        """Return the articles of the textbook of that name."""
        ...

    async def represented(self, kind: str) -> SearchCorpus:
        """Return all problems of the run's dataset, each as its representation of that kind by the run's model."""
        ...


class Chain(TextLibrary, Protocol):
    """One attempt at one problem from the view of a method: the problem, the texts, a model and a judge."""

    task: VisibleProblem

    @property
    def program_tester(self) -> ProgramTester:
        """The tester for programs that are not attempts, and for attempts that a verifier scores."""
        ...

    async def request(
        self,
        prompt: Prompt,
        purpose: Generation.Purpose,
        *,
        retrieval: Mapping[str, Any] | None = None,
        shared: bool = False,
    ) -> Generation:
        """Return the reply to the chain's next prompt, from the database if the chain already sent it.

        A prompt that is repeated within a chain gets a reply of its own. A `shared` prompt gets the same reply in all
        chains of its problem. `retrieval` is the source of the texts in the prompt; it is stored with the reply.
        """
        ...

    async def run_samples(self, answer: Generation) -> SampleRun:
        """Return the result of the answer's program on the samples of the statement, which is judged once."""
        ...

    async def run_hidden(self, answer: Generation) -> HiddenRun:
        """Return the verdict of the answer's program on all tests, which is judged once, and no test data."""
        ...

    async def count_hidden(self, answer: Generation) -> HiddenCount:
        """Return the number of hidden tests that the answer's program passes; every test is judged once."""
        ...


@dataclass(frozen=True)
class Method:
    """A way to get an attempt from a model.

    `solve` is a deterministic function of the task, the settings, the replies and the results of their programs on the
    samples. An interrupted chain is therefore resumed by calling it again. It returns the generation that counts as the
    attempt.
    """

    name: str
    summary: str
    source: str
    warning: str
    """The text shown beside every figure of a control; blank for a method of the papers."""
    settings: type[MethodSettings]
    templates: Callable[[Any], tuple[str, ...]]
    """Returns the names of the templates of the prompts under given settings."""
    needs_analysis: bool
    """Whether the method cannot be tested on a problem without an analysis."""
    needs_verifier: bool
    """Whether the method cannot be tested on a problem without a verifier."""
    needs_outputs: bool
    """Whether the method cannot be tested on interactive and multi-pass problems."""
    in_usaco_paper: bool
    """Whether the USACO paper evaluates it; `run_baseline --method all` selects these."""
    scoring: Scoring
    solve: Callable[[Chain, Any], Coroutine[Any, Any, Generation]]
