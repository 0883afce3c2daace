"""Fixtures that store runs."""

import uuid
from collections.abc import Callable, Sequence
from datetime import date
from typing import Any

import pytest

from benchmark.models import (
    Dataset,
    Generation,
    Judgement,
    Problem,
    QuestionSet,
    Run,
    SimilarityRun,
    Submission,
    WorkItem,
)

MakeRun = Callable[..., Run]


@pytest.fixture
def make_run(db: None) -> MakeRun:
    """`make_run([("bronze", ["AC", "WA"]), ...])` stores a run: a problem for each pair, a chain for each verdict.

    A verdict of "" is a pending item, "fault" a failed one. Every done item has one generation of 100 input
    and 10 output tokens; the keyword `unknown` leaves the tokens of that many out, `on` takes the problems of
    another run, and the others are fields of the run or, as lists with one value per problem, of the problems.
    """

    def make(
        problems: Sequence[tuple[str, Sequence[str]]],
        *,
        model: str = "openai:m",
        unknown: int = 0,
        on: Run | None = None,
        contests: Sequence[tuple[str, date | None]] = (),
        tags: Sequence[Sequence[str]] = (),
        **fields: Any,
    ) -> Run:
        dataset = (
            on.dataset if on else Dataset.objects.create(name=f"d-{uuid.uuid4().hex[:8]}", format="usaco")
        )
        run = Run.objects.create(
            dataset=dataset,
            **{
                "method": "zero-shot",
                "model_spec": model,
                "parameters": {"temperature": 0.7},
                "attempts": len(problems[0][1]),
                "manifest": {
                    "dataset": {"name": dataset.name},
                    "scripted_model": model.startswith("practice:"),
                },
            }
            | fields,
        )
        for number, (tier, verdicts) in enumerate(problems):
            contest, day = contests[number] if contests else ("", None)
            problem, _ = Problem.objects.get_or_create(
                dataset=dataset,
                external_id=str(number),
                defaults={
                    "title": f"Problem {number}",
                    "tier": tier,
                    "tags": list(tags[number]) if tags else [],
                    "contest": contest,
                    "contest_date": day,
                    "statement": "",
                    "time_limit": 1,
                    "memory_limit": 1,
                    "checker": {},
                    "content_hash": "",
                },
            )
            for chain, verdict in enumerate(verdicts):
                _add_item(run, problem, chain, verdict, known=unknown <= 0)
                unknown -= verdict not in {"", "fault"}
        return run

    return make


def _add_item(run: Run, problem: Problem, chain: int, verdict: str, known: bool) -> None:
    item = WorkItem.objects.create(run=run, problem=problem, chain=chain)
    if verdict == "fault":
        item.state, item.fault = WorkItem.State.FAILED, "provider fault (server): <down> & out"
    elif verdict:
        item.state = WorkItem.State.DONE
        item.selected = Generation.objects.create(
            work_item=item,
            step=0,
            purpose="solve",
            messages=[{"role": "user", "content": "the question"}],
            parameters={},
            text=f"I say {verdict}.",
            code="" if verdict == "NO_CODE" else "print(1)\n",
            model_returned="m-2026",
            input_tokens=100 if known else None,
            output_tokens=10 if known else None,
            latency=1.0,
        )
        if verdict != "NO_CODE":
            submission, _ = Submission.objects.get_or_create(
                problem=problem, language="python", source_hash=f"{item.pk}"
            )
            item.judgement = Judgement.objects.create(
                submission=submission,
                suite="all",
                policy="fair",
                state="done",
                verdict=verdict,
                passed=4 if verdict == "AC" else 1,
                total=4,
                problem_hash="",
                result={"tests": [_test("sample", True), _test("hidden", False)]},
            )
    item.save()


def _test(name: str, sample: bool) -> dict[str, Any]:
    """Return a test result whose texts are canaries, which must not be shown for a hidden test."""
    texts = {field: f"canary-{name}-{field}" for field in ("message", "output", "errors")}
    return {"name": f"{name}-1", "verdict": "WA", "time": 0.1, "memory": 2**20, "sample": sample, **texts}


@pytest.fixture
def similarity_run(db: None) -> SimilarityRun:
    """A finished run over a set without questions, whose figures are not stored."""
    dataset = Dataset.objects.create(name="tagged", format="algosimbench")
    questions = QuestionSet.objects.create(
        name="alike", dataset=dataset, built=True, parameters={}, content_hash=""
    )
    return SimilarityRun.objects.create(
        question_set=questions,
        task="rank",
        representation="statement",
        state="finished",
        parameters={"scorer": {"name": "bm25", "statistics": "corpus"}, "correct_at": "", "limit": None},
        manifest={"scripted_model": False},
    )
