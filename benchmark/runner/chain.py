"""One chain of a run: it sends the prompts that have no stored reply, and stores each reply when it arrives."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from benchmark.methods import Role
from benchmark.model_calls.commit_queue import CommitQueue
from benchmark.models import Generation, Judgement, TestCase, WorkItem
from benchmark.prompts import HiddenCount, HiddenRun, Prompt, SampleRun, VisibleProblem
from benchmark.runner.judges import RunJudge
from benchmark.runner.program_tester import JudgedProgramTester
from benchmark.runner.reply_store import ChainRequest, ReplyStore
from benchmark.runner.texts import SearchTexts
from judge import Verdict

T = TypeVar("T")


class PromptChangedError(Exception):
    """A stored reply belongs to a prompt other than the one that the method sends now; the chain cannot be resumed."""


@dataclass(frozen=True)
class ChainServices:
    """The parts of an execution that all its chains share."""

    replies: ReplyStore
    judge: RunJudge
    texts: SearchTexts
    commits: CommitQueue
    language: str
    prepared: Mapping[str, Any]


class StoredChain:
    """A `benchmark.methods.Chain` over the rows of a work item.

    The n-th prompt of the method is step n. The reply to a stored step is its row; any other reply comes from
    `ReplyStore`. The result of a step's program on the samples is a judgement that the row points to.
    """

    def __init__(self, item: WorkItem, stored: Mapping[int, Generation], services: ChainServices) -> None:
        self.task = VisibleProblem.of(item.problem)
        self.number = item.chain
        self.prepared = services.prepared
        self.answers: list[Generation] = []
        """The replies to the prompts sent so far, in order."""
        self.program_tester = JudgedProgramTester(item, services.judge, services.language)
        self.problems = services.texts.problems
        self.textbook = services.texts.textbook
        self.represented = services.texts.represented
        self._item = item
        self._stored = stored
        self._services = services
        self._steps = 0
        self._sent: Counter[str] = Counter()

    async def request(
        self,
        prompt: Prompt,
        purpose: Generation.Purpose,
        *,
        retrieval: Mapping[str, Any] | None = None,
        shared: bool = False,
        role: Role = "student",
    ) -> Generation:
        """See `benchmark.methods.Chain`. Raises ProviderError and PromptChangedError."""
        request = self._next_request(prompt, purpose, retrieval, shared=shared, role=role)
        return self._checked(
            request, self._stored.get(request.step) or await self._services.replies.reply_to(request)
        )

    async def adopt(self, prompt: Prompt, text: str, source: Mapping[str, Any]) -> Generation:
        """See `benchmark.methods.Chain`. Raises PromptChangedError."""
        request = self._next_request(prompt, Generation.Purpose.RECORDED, source, shared=False)
        return self._checked(
            request, self._stored.get(request.step) or await self._services.replies.adopt(request, text)
        )

    async def read_once(self, name: str, read: Callable[[], T]) -> T:
        """See `benchmark.methods.TextLibrary`."""
        return await self._services.texts.read_once(name, read)

    def _next_request(
        self,
        prompt: Prompt,
        purpose: Generation.Purpose,
        retrieval: Mapping[str, Any] | None,
        *,
        shared: bool,
        role: Role = "student",
    ) -> ChainRequest:
        step, prompt_hash = self._steps, prompt.hash
        repetition = self._sent[prompt_hash]
        self._steps += 1
        self._sent[prompt_hash] += 1
        return ChainRequest(
            self._item, step, purpose, prompt, prompt_hash, retrieval, repetition, shared, role
        )

    def _checked(self, request: ChainRequest, reply: Generation) -> Generation:
        """Add the reply to the answers and return it. Raises PromptChangedError for a reply to another prompt."""
        if reply.prompt_hash != request.prompt_hash:
            raise PromptChangedError(
                f"the stored reply of step {request.step} belongs to another prompt than is sent now"
            )
        self.answers.append(reply)
        return reply

    async def run_samples(self, answer: Generation) -> SampleRun:
        """See `benchmark.methods.Chain`. Raises JudgeFaultError."""
        problem, commits = self._item.problem, self._services.commits
        if not answer.code:
            return SampleRun(Verdict.NO_CODE)
        if not await commits.run(problem.tests.filter(origin=TestCase.Origin.SAMPLE).exists):
            return SampleRun(Verdict.AC)
        judgement = await self._services.judge.judge(answer, problem, Judgement.TestScope.SAMPLES)
        return await commits.run(lambda: SampleRun.of(problem, judgement))

    async def run_hidden(self, answer: Generation) -> HiddenRun:
        """See `benchmark.methods.Chain`. Raises JudgeFaultError."""
        if not answer.code:
            return HiddenRun(Verdict.NO_CODE)
        return HiddenRun.of(
            await self._services.judge.judge(answer, self._item.problem, Judgement.TestScope.ALL)
        )

    async def count_hidden(self, answer: Generation) -> HiddenCount:
        """See `benchmark.methods.Chain`. Raises JudgeFaultError."""
        problem, commits = self._item.problem, self._services.commits
        if not answer.code:
            return HiddenCount(
                0, await commits.run(problem.tests.filter(origin=TestCase.Origin.HIDDEN).count)
            )
        judgement = await self._services.judge.judge(
            answer, problem, Judgement.TestScope.ALL, every_test=True
        )
        return await commits.run(lambda: HiddenCount.of(problem, judgement))
