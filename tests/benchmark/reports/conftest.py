"""Finished runs as rows."""

import uuid
from collections.abc import Callable, Sequence

import pytest

from benchmark.models import Dataset, Generation, Judgement, Problem, Run, Submission, WorkItem

MakeRun = Callable[..., Run]


@pytest.fixture
def make_run(db: None) -> MakeRun:
    """`make_run([("bronze", ["AC", "WA"]), ...])`: a run with one problem a pair and one chain a verdict.

    A verdict of "" is a pending item, "fault" a failed one. Every done item has one generation of 100 input
    and 10 output tokens; the keyword `unknown` leaves the tokens of that many out.
    """

    def make(
        problems: Sequence[tuple[str, Sequence[str]]], *, model: str = "openai:m", unknown: int = 0
    ) -> Run:
        dataset = Dataset.objects.create(name=f"d-{uuid.uuid4().hex[:8]}", format="usaco")
        attempts = len(problems[0][1])
        run = Run.objects.create(
            dataset=dataset,
            method="zero-shot",
            model_spec=model,
            parameters={"temperature": 0.7},
            attempts=attempts,
            manifest={"dataset": {"name": dataset.name}, "scripted_model": model.startswith("practice:")},
        )
        for number, (tier, verdicts) in enumerate(problems):
            problem = Problem.objects.create(
                dataset=dataset,
                external_id=str(number),
                title=str(number),
                tier=tier,
                statement="",
                time_limit=1,
                memory_limit=1,
                checker={},
                content_hash="",
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
            messages=[],
            parameters={},
            text="",
            input_tokens=100 if known else None,
            output_tokens=10 if known else None,
            latency=1.0,
        )
        if verdict != "NO_CODE":
            submission = Submission.objects.create(
                problem=problem, language="python", source_hash=f"{item.pk}"
            )
            item.judgement = Judgement.objects.create(
                submission=submission,
                suite="all",
                policy="fair",
                state="done",
                verdict=verdict,
                problem_hash="",
            )
    item.save()
