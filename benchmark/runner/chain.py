"""One chain of a run: asks the model what is not stored yet, and stores each reply the moment it arrives."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from benchmark.model_calls.commit_queue import CommitQueue
from benchmark.models import Generation, Judgement, TestCase, WorkItem
from benchmark.prompts import HiddenCount, HiddenRun, Prompt, SampleRun, Task
from benchmark.retrieval import Corpus
from benchmark.runner.judges import RunJudge
from benchmark.runner.program_tester import JudgedProgramTester
from benchmark.runner.reply_store import ChainRequest, ReplyStore
from benchmark.runner.texts import SearchTexts
from judge import Verdict


class PromptChangedError(Exception):
    """A stored reply answers another question than the method asks now, so the chain cannot be continued."""


class StoredChain:
    """`benchmark.methods.Chain` over the rows of a work item.

    The n-th question of the method is step n. A stored step is answered from its row, any other by `replies`.
    What a step's program does on the samples is a judgement that the row points to.
    """

    def __init__(
        self,
        item: WorkItem,
        stored: Mapping[int, Generation],
        replies: ReplyStore,
        judges: RunJudge,
        texts: SearchTexts,
        language: str,
        commits: CommitQueue,
    ) -> None:
        self.task = Task.of(item.problem)
        self.program_tester = JudgedProgramTester(item, judges, language)
        self._item = item
        self._stored = stored
        self._replies = replies
        self._judges = judges
        self._texts = texts
        self._commits = commits
        self._steps = 0
        self._asked: Counter[str] = Counter()

    async def request(
        self,
        prompt: Prompt,
        purpose: Generation.Purpose,
        *,
        retrieval: Mapping[str, Any] | None = None,
        shared: bool = False,
    ) -> Generation:
        """See `benchmark.methods.Chain`. Raises ProviderError and PromptChanged."""
        step, prompt_hash = self._steps, prompt.hash
        question = ChainRequest(
            self._item, step, purpose, prompt, prompt_hash, retrieval, self._asked[prompt_hash], shared
        )
        self._steps += 1
        self._asked[prompt_hash] += 1
        reply = self._stored.get(step) or await self._replies.to(question)
        if reply.prompt_hash != prompt_hash:
            raise PromptChangedError(
                f"the stored reply of step {step} answers another prompt than is asked now"
            )
        return reply

    async def run_samples(self, answer: Generation) -> SampleRun:
        """See `benchmark.methods.Chain`. Raises JudgeFault."""
        problem = self._item.problem
        if not answer.code:
            return SampleRun(Verdict.NO_CODE)
        if not await self._commits.run(problem.tests.filter(origin=TestCase.Origin.SAMPLE).exists):
            return SampleRun(Verdict.AC)
        judgement = await self._judges.judge(answer, problem, Judgement.Suite.SAMPLES)
        return await self._commits.run(lambda: SampleRun.of(problem, judgement))

    async def run_hidden(self, answer: Generation) -> HiddenRun:
        """See `benchmark.methods.Chain`. Raises JudgeFault."""
        if not answer.code:
            return HiddenRun(Verdict.NO_CODE)
        return HiddenRun.of(await self._judges.judge(answer, self._item.problem, Judgement.Suite.ALL))

    async def count_hidden(self, answer: Generation) -> HiddenCount:
        """See `benchmark.methods.Chain`. Raises JudgeFault."""
        problem = self._item.problem
        if not answer.code:
            return HiddenCount(
                0, await self._commits.run(problem.tests.filter(origin=TestCase.Origin.HIDDEN).count)
            )
        judgement = await self._judges.judge(answer, problem, Judgement.Suite.ALL, every_test=True)
        return await self._commits.run(lambda: HiddenCount.of(problem, judgement))

    async def problems(self) -> Corpus:
        """See `benchmark.methods.Chain`."""
        return await self._texts.problems()

    async def textbook(self, name: str) -> Corpus:
        """See `benchmark.methods.Chain`."""
        return await self._texts.textbook(name)

    async def represented(self, kind: str) -> Corpus:
        """See `benchmark.methods.Chain`."""
        return await self._texts.represented(kind)
