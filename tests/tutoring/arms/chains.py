"""A chain without a database or a model, whose replies are given."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar

from benchmark.extraction import extract_program
from benchmark.models import Generation
from benchmark.prompts import HiddenCount, HiddenRun, Prompt, SampleRun, Task
from benchmark.retrieval import Corpus, Document, ProblemText
from judge import Verdict

T = TypeVar("T")


class GivenReplies:
    """A `benchmark.methods.Chain` that records its prompts and takes its replies from an iterator."""

    number = 0
    program_tester: Any = None

    def __init__(
        self,
        task: Task,
        prepared: Mapping[str, Any],
        replies: Iterator[str],
        is_right: Callable[[str], bool] = lambda _code: False,
    ) -> None:
        self.task = task
        self.prepared = prepared
        self.prompts: list[Prompt] = []
        self.judged: list[str] = []
        self._replies = replies
        self._is_right = is_right

    async def problems(self) -> Corpus:
        text = ProblemText("statement", "THE-ANALYSIS\n```python\nprint()\n```", "program")
        return Corpus((Document(self.task.id, "title", "text", text),))

    async def textbook(self, name: str) -> Corpus:
        raise NotImplementedError(name)

    async def represented(self, kind: str) -> Corpus:
        raise NotImplementedError(kind)

    async def read_once(self, _name: str, read: Callable[[], T]) -> T:
        return read()

    async def request(self, prompt: Prompt, purpose: Generation.Purpose, **_options: Any) -> Generation:
        return self._answer(prompt, purpose, next(self._replies))

    async def adopt(self, prompt: Prompt, text: str, _source: Mapping[str, Any]) -> Generation:
        return self._answer(prompt, Generation.Purpose.RECORDED, text)

    def _answer(self, prompt: Prompt, purpose: Generation.Purpose, text: str) -> Generation:
        self.prompts.append(prompt)
        extraction = extract_program(text, "python")
        return Generation(
            purpose=purpose,
            text=text,
            code=extraction.code or "",
            extraction={"rule": extraction.rule},
            latency=1.0,
            finish_reason="stop",
            created_at=datetime(2026, 1, 1, tzinfo=UTC),
        )

    async def run_samples(self, answer: Generation) -> SampleRun:
        raise NotImplementedError(str(answer))

    async def run_hidden(self, answer: Generation) -> HiddenRun:
        self.judged.append(answer.code)
        return HiddenRun(Verdict.AC if self._is_right(answer.code) else Verdict.WA)

    async def count_hidden(self, answer: Generation) -> HiddenCount:
        raise NotImplementedError(str(answer))
