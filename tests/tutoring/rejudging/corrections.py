"""Corrections of a stored problem, and rejudgings that follow them."""

from __future__ import annotations

from uuid import uuid4

from django.contrib.auth.models import User

from benchmark.datasets.records import TestRecord
from benchmark.datasets.store import replace_hidden_tests
from benchmark.judging import (
    perform,
    perform_all,
    request_judgement,
    request_rejudging,
    scope_of_run,
    store_submission,
)
from benchmark.models import Generation, Judgement, Problem, Rejudging, Run, WorkItem
from tests.problems import HIDDEN_INPUT
from tests.tutoring.dialogues import SessionUnderTest
from tutoring.rejudging.selection import Selection, select_programs

DOUBLE, TRIPLE = "print(2 * int(input()))", "x = int(input())\nprint(6 if x == 3 else 3 * x)"
"""Programs that pass the sample. The first is right before `correct`, the second afterwards."""


def correct(problem: Problem, factor: int = 3) -> None:
    """Replace the hidden tests, as an import does: their answers are `factor` times the input."""
    assert replace_hidden_tests(
        problem,
        [
            TestRecord(f"hidden-{number}", False, f"{number}\n".encode(), f"{factor * number}\n".encode())
            for number in (HIDDEN_INPUT, 7)
        ],
    )


def request(selection: Selection, by: User | None = None) -> Rejudging:
    """Request a rejudging of the selection."""
    places = select_programs(selection).places
    return request_rejudging(places, reason="The answers were wrong.", selection=selection.to_json(), by=by)


def judged_again(selection: Selection, by: User | None = None) -> Rejudging:
    """Request a rejudging of the selection, and judge its programs in this process."""
    rejudging = request(selection, by)
    perform_all(rejudging, 1, lambda: None)
    return rejudging


def hold(session: SessionUnderTest, *programs: str) -> SessionUnderTest:
    """Hold the session: the model writes these programs, the last one is executed, and all of them get scores."""
    for program in programs:
        session.ask_and_get(f"```python\n{program}\n```\n")
    session.execute()
    session.judge()
    for pk in session.row.program_scores.values_list("judgement", flat=True):
        assert pk is not None
        perform(pk)
    return session


def store_run(problem: Problem, *programs: str, method: str = "zero-shot", **fields: object) -> Run:
    """Store a finished run with a chain for each program, judged on the samples and on all tests."""
    run = Run.objects.create(
        **{
            "dataset": problem.dataset,
            "method": method,
            "model_spec": "openai:m",
            "parameters": {"language": "python"},
            "manifest": {"dataset": {"name": problem.dataset.name, "content_hash": ""}, "run": str(uuid4())},
            "attempts": len(programs),
            "state": "finished",
            **fields,
        }
    )
    for chain, program in enumerate(programs):
        item = WorkItem.objects.create(run=run, problem=problem, chain=chain, state="done")
        submission = store_submission(problem, program, "python")
        judgements = {
            column: request_judgement(submission, suite=suite, speed_scope=scope_of_run(run))
            for column, suite in (
                ("sample_judgement", Judgement.TestScope.SAMPLES),
                ("hidden_judgement", Judgement.TestScope.ALL),
            )
        }
        for judgement in judgements.values():
            perform(judgement.pk)
        item.selected = Generation.objects.create(
            work_item=item, step=0, purpose="solve", messages=[], parameters={}, text=program, code=program,
            latency=1.0, model_returned="m", **judgements,
        )  # fmt: skip
        item.judgement = judgements["hidden_judgement"]
        item.save()
    return run


def verdicts(run: Run) -> list[str]:
    """Return the verdicts of the chains, in order."""
    return list(run.items.order_by("chain").values_list("judgement__verdict", flat=True))
