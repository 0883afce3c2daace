"""Sweeps of the worker: lost work gets a job again, and one sweep that fails delays none of the others."""

from datetime import timedelta
from typing import Any

import django_rq
import pytest
from django.db import OperationalError
from django.utils import timezone
from redis import RedisError

from benchmark import judging
from benchmark.models import Dataset, Judgement, Run, WorkItem
from benchmark.runner import distribution
from benchmark.worker.kinds import WorkerKind
from benchmark.worker.sweeps import sweep
from tests.benchmark.processes import killed_process
from tests.problems import store_doubling

called: list[str] = []


def fail_in_the_database() -> None:
    called.append("database")
    raise OperationalError("gone")


def fail_in_the_queue() -> None:
    called.append("queue")
    raise RedisError("gone")


def fail_otherwise() -> None:
    called.append("otherwise")
    raise ValueError("a defect")


def succeed() -> None:
    called.append("success")


class Queues:
    """The queues of workers, as lists of their jobs: function, argument and id."""

    def __init__(self) -> None:
        self.jobs: dict[str, list[tuple[str, Any, str]]] = {}

    def get_queue(self, name: str) -> Any:
        jobs = self.jobs.setdefault(name, [])

        class Queue:
            def get_job_ids(self) -> list[str]:
                return [job_id for *_, job_id in jobs]

            def enqueue(self, function: Any, argument: Any, *, job_id: str) -> None:
                named = (
                    function if isinstance(function, str) else f"{function.__module__}.{function.__name__}"
                )
                jobs.append((named, argument, job_id))

        return Queue()


@pytest.fixture
def queues(monkeypatch: pytest.MonkeyPatch) -> Queues:
    queues = Queues()
    monkeypatch.setattr(django_rq, "get_queue", queues.get_queue)
    return queues


@pytest.mark.django_db
def test_every_listed_sweep_is_called_whatever_the_others_raise(settings: Any):
    names = ("fail_in_the_database", "fail_in_the_queue", "fail_otherwise", "succeed")
    settings.WORKER_SWEEPS = [f"tests.benchmark.test_sweeps.{name}" for name in names]
    called.clear()
    sweep(WorkerKind.ALL)
    assert called == ["database", "queue", "otherwise", "success"]


@pytest.mark.django_db
def test_lost_judgements_get_a_job_in_the_queue_of_their_purpose(queues: Queues):
    submission = judging.store_submission(store_doubling(), "print(1)", "python")
    verdict = judging.request_judgement(submission)
    score = judging.request_judgement(submission, purpose=Judgement.Purpose.SCORE)
    judging.requeue_lost()
    assert not any(queues.jobs.values()), "new requests have a job of their own"
    Judgement.objects.update(created_at=timezone.now() - timedelta(minutes=1))
    for _ in range(2):
        judging.requeue_lost()
        assert queues.jobs == {
            "tutoring": [("benchmark.judging.perform", verdict.pk, f"judgement-{verdict.pk}")],
            "background": [("benchmark.judging.perform", score.pk, f"judgement-{score.pk}")],
        }


@pytest.mark.django_db
def test_judgement_of_a_worker_that_was_killed_gets_a_job_at_once(queues: Queues):
    judgement = judging.request_judgement(judging.store_submission(store_doubling(), "print(1)", "python"))
    with killed_process() as owner:
        Judgement.claim(owner, 1, timezone.now())
        judging.requeue_lost()
        assert not any(queues.jobs.values()), "its worker lives"
    judging.requeue_lost()
    assert [argument for _, argument, _ in queues.jobs["tutoring"]] == [judgement.pk]


@pytest.mark.django_db
def test_run_whose_jobs_have_names_of_an_older_version_gets_a_new_job(queues: Queues):
    problem = store_doubling()
    run = Run.objects.create(
        dataset=Dataset.objects.get(), method="zero-shot", model_spec="m", parameters={}, manifest={},
        distributed=True,
    )  # fmt: skip
    WorkItem.objects.create(run=run, problem=problem, chain=0)
    distribution.requeue_stalled()
    [(function, argument, _)] = queues.jobs["models"]
    assert (function, argument) == ("benchmark.runner.distribution.work_on_run", str(run.pk))
    distribution.requeue_stalled()
    assert len(queues.jobs["models"]) == 1, "one job is enough"
