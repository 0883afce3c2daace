"""Judging of all answers of a run, drafts included, which shows the quality of its steps. No prompt shows the results.

The judge is that of the run: its policy, its suites and its setting `every_test`. The rows record what is left; the
work may be interrupted, resumed, and shared by several processes.
"""

from collections.abc import Callable

from django.db import connection, transaction
from django.db.models import Q

from benchmark import judging
from benchmark.judging.threads import in_threads
from benchmark.methods import METHODS
from benchmark.models import CachedRunReport, Generation, Judgement, Run, WorkItem
from benchmark.reports.cached_report import store_report
from benchmark.runner.judges import JudgementRequests

_WITHOUT_PROGRAM = (Generation.Purpose.VERIFIER, Generation.Purpose.CRITIQUE, Generation.Purpose.TUTOR)


def unjudged_answers(run: Run) -> list[int]:
    """Return the primary keys of the answers of ended chains that were never judged on all tests.

    Open chains are left out: they judge their own answers.
    """
    waiting = Q(hidden_judgement=None) | ~Q(hidden_judgement__state=Judgement.State.DONE)
    ended = Q(work_item__state=WorkItem.State.DONE) | Q(work_item__permanent=True)
    answers = Generation.objects.filter(waiting, ended, work_item__run=run)
    answers = answers.exclude(code="").exclude(purpose__in=_WITHOUT_PROGRAM)
    return list(answers.order_by("work_item", "step").values_list("pk", flat=True))


def judge_answers(run: Run, answers: list[int], *, jobs: int, judged: Callable[[], object]) -> None:
    """Judge these answers, `jobs` at a time; `judged` is called after each.

    A fault of the judge leaves its answer unjudged. An interruption completes the judgements that have begun.
    """
    requests = JudgementRequests(run, METHODS[run.method].settings(**run.parameters))

    def judge(pk: int) -> None:
        try:
            with transaction.atomic():
                answer = Generation.objects.select_for_update().get(pk=pk)
                judgement, _ = requests.ensure(answer, answer.work_item.problem, Judgement.TestScope.ALL)
            judging.perform(judgement.pk)
        finally:
            connection.close()

    CachedRunReport.objects.filter(run=run).delete()  # its figures count the answers that are not judged
    try:
        in_threads(judge, answers, jobs, lambda _: judged())
    finally:
        store_report(run)
