"""Judging every answer of a run, not the attempts alone: what shows how good its steps are. No model is told of it.

The judge is that of the run: its policy, its suites, its setting `every_test`. Rows say what is left, so it may end and
begin again at any point, and run in several processes at once.
"""

from collections.abc import Callable

from django.db import connection, transaction
from django.db.models import Q

from benchmark import judging
from benchmark.judging.threads import in_threads
from benchmark.methods import METHODS, MethodSettings
from benchmark.models import Generation, Judgement, KeptFigures, Run, WorkItem
from benchmark.runner.judges import ensure_judgement

_NO_ANSWERS = (Generation.Purpose.VERIFIER, Generation.Purpose.CRITIQUE)


def unjudged_answers(run: Run) -> list[int]:
    """Return the programs of ended chains that were never judged on all tests, drafts included, as keys of their rows.

    A chain that goes on is left alone: its own judging has the last word on its rows.
    """
    waiting = Q(hidden_judgement=None) | ~Q(hidden_judgement__state=Judgement.State.DONE)
    ended = Q(work_item__state=WorkItem.State.DONE) | Q(work_item__permanent=True)
    answers = Generation.objects.filter(waiting, ended, work_item__run=run)
    answers = answers.exclude(code="").exclude(purpose__in=_NO_ANSWERS)
    return list(answers.order_by("work_item", "step").values_list("pk", flat=True))


def judge_answers(run: Run, answers: list[int], *, jobs: int, judged: Callable[[], object]) -> None:
    """Judge these answers, `jobs` at a time; `judged` is called after each.

    A fault of the judge leaves its answer unjudged. When it is interrupted, what is being judged is finished.
    """
    settings = METHODS[run.method].settings(**run.parameters)

    def judge(answer: int) -> None:
        try:
            judging.perform(_asked_for(answer, run, settings).pk)
        finally:
            connection.close()

    try:
        in_threads(judge, answers, jobs, lambda _: judged())
    finally:
        KeptFigures.objects.filter(run=run).delete()  # they say what is not judged


def _asked_for(pk: int, run: Run, settings: MethodSettings) -> Judgement:
    with transaction.atomic():
        answer = Generation.objects.select_for_update().get(pk=pk)
        judgement, _ = ensure_judgement(
            answer, answer.work_item.problem, Judgement.Suite.ALL, settings, run.manifest.get("suites") or {}
        )
        return judgement
