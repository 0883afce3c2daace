"""The interfaces of a method: the method itself, and the chain that it works on."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, Protocol, TypeVar

from benchmark.methods.program_tester import ProgramTester
from benchmark.methods.settings import MethodSettings, combine_settings
from benchmark.models import Dataset, Generation, LanguageModel, Problem
from benchmark.prompts import HiddenCount, HiddenRun, Prompt, SampleRun, VisibleProblem
from benchmark.providers import ModelSpec, Parameters
from benchmark.retrieval import SearchCorpus

T = TypeVar("T")

Role = Literal["student", "tutor"]
"""The role of a model in a run: the student writes the attempts, and the tutor writes messages."""

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

    async def read_once(self, name: str, read: Callable[[], T]) -> T:
        """Return the result of `read`, which may query the database; it is called once for all chains of a run."""
        ...


class Chain(TextLibrary, Protocol):
    """One attempt at one problem, as a method sees it: the problem, the texts, a model and a judge."""

    task: VisibleProblem
    number: int
    """The number of the attempt at the problem, from 0."""
    prepared: Mapping[str, Any]
    """The record of the method's `Preparation`, fixed when the run started."""

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
        role: Role = "student",
    ) -> Generation:
        """Return the reply of the role's model to the chain's next prompt, stored if the chain already sent it.

        A prompt that is repeated within a chain gets a reply of its own. A `shared` prompt gets the same reply in all
        chains of its problem. `retrieval` is the source of the texts in the prompt; it is stored with the reply.
        """
        ...

    async def adopt(self, prompt: Prompt, text: str, source: Mapping[str, Any]) -> Generation:
        """Store a recorded text as the reply to the chain's next prompt, at no cost, and return it.

        `source` names the record of the text; it is stored with the reply.
        """
        ...

    async def run_samples(self, answer: Generation) -> SampleRun:
        """Return the result of the answer's program on the samples of the statement. The program is judged once."""
        ...

    async def run_hidden(self, answer: Generation) -> HiddenRun:
        """Return the verdict of the answer's program on all tests, without test data. The program is judged once."""
        ...

    async def count_hidden(self, answer: Generation) -> HiddenCount:
        """Return the number of hidden tests that the answer's program passes; every test is judged once."""
        ...


@dataclass(frozen=True)
class PlannedRun:
    """The parts of a new run that a method checks before any call is paid for."""

    dataset: Dataset
    spec: ModelSpec
    settings: Any
    """The settings of the method."""
    problems: Sequence[Problem]
    """The problems that can be tested, without their long texts."""
    attempts: int
    """Chains per problem in each epoch."""
    epochs: int
    former: Mapping[str, Any] | None = None
    """The record of the run that is repeated; empty for a run of another site. None: a new run."""

    @property
    def states_chains(self) -> bool:
        """Whether the options of the new run state a number of chains."""
        return self.former is None and self.attempts * self.epochs != 1


@dataclass(frozen=True)
class TutorModel:
    """The model that a run has in the role of the tutor. `row` is its version if a label named it."""

    spec: ModelSpec
    parameters: Parameters
    row: LanguageModel | None = None


@dataclass(frozen=True)
class Preparation:
    """Data that a method fixes when a run starts."""

    settings: MethodSettings
    """The settings with names replaced by the versions that they denote now."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """The ids of problems that the method cannot be tested on, with the reasons."""
    record: Mapping[str, Any] = field(default_factory=dict)
    """JSON for the manifest of the run, which every chain gets as `Chain.prepared`."""
    chains: Mapping[str, int] | None = None
    """Chains of each problem by its id; None: the attempts of the run."""
    tutor: TutorModel | None = None
    """The model in the role of the tutor; None: the method has no such role."""


def prepare_nothing(planned: PlannedRun) -> Preparation:
    """Return the settings as they are."""
    return Preparation(planned.settings)


@dataclass(frozen=True)
class Example:
    """Data that replaces a run in `count_calls`: a record, and the results of `read_once` by name."""

    prepared: Mapping[str, Any] = field(default_factory=dict)
    texts: Mapping[str, Any] = field(default_factory=dict)


def no_texts() -> Mapping[str, str]:
    """Return no texts: the method uses the templates of `benchmark.prompts` only."""
    return {}


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
    settings_classes: tuple[type[MethodSettings], ...]
    """The settings of its components."""
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
    prepare: Callable[[PlannedRun], Preparation] = prepare_nothing
    """Checks a new run before any call is paid for. Raises SettingsError."""
    texts: Callable[[], Mapping[str, str]] = no_texts
    """Returns the prompt texts outside `benchmark.prompts` by name. A run resumes only while they are unchanged."""
    fresh_draws: bool = False
    """Whether new runs get draw numbers above those of all earlier runs with the model, unless --draws is given."""
    judges_every_program: bool = False
    """Whether every program of a chain is judged on the samples and on all tests, and not only the attempt."""
    tutor_reply: str = ""
    """The placeholder reply of a tutor's model in dry runs."""
    example: Callable[[], Example] = Example
    """Returns an example of a run with the default settings."""

    @cached_property
    def settings(self) -> type[MethodSettings]:
        """The class with the settings of all components, made at first use: a run needs only that of its method."""
        return combine_settings(self.name, self.settings_classes)
