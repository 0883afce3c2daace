"""One person's executions occupy all workers but one at most; further ones wait behind those of others."""

from datetime import timedelta
from typing import Any

import django_rq
import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from benchmark import judging
from benchmark.judging import fair_share
from benchmark.models import Judgement
from benchmark.models.owners import new_owner
from benchmark.worker.kinds import WorkerKind
from tests.benchmark.processes import killed_process
from tests.benchmark.test_sweeps import Queues
from tests.problems import store_doubling

pytestmark = pytest.mark.django_db


@pytest.fixture
def queues(monkeypatch: pytest.MonkeyPatch) -> Queues:
    """Queues without a server; two workers serve them."""
    queues = Queues()
    monkeypatch.setattr(django_rq, "get_queue", queues.get_queue)
    monkeypatch.setattr(fair_share, "living_workers", lambda: 2)
    return queues


def requests(count: int, *people: User) -> list[list[Judgement]]:
    """Return this number of requests of each person, who take turns."""
    problem = store_doubling()
    submission = judging.store_submission(problem, "print(2 * int(input()))", "python")
    rows = [[judging.request_judgement(submission, requested_by=one) for one in people] for _ in range(count)]
    return [list(row) for row in zip(*rows, strict=True)]


def hold(judgement: Judgement, owner: str) -> None:
    until = timezone.now() + timedelta(minutes=1)
    Judgement.objects.filter(pk=judgement.pk).update(
        state=Judgement.State.RUNNING, attempt=1, owner=owner, lease_until=until
    )


def state_after_perform(judgement: Judgement) -> str:
    judging.perform(judgement.pk)
    judgement.refresh_from_db()
    return judgement.state


@pytest.mark.usefixtures("sandbox")
def test_a_person_who_holds_the_share_waits_and_another_person_does_not(queues: Queues):
    ann, bob = User.objects.create(username="ann"), User.objects.create(username="bob")
    (first, second), (other, _) = requests(2, ann, bob)
    hold(first, new_owner())
    assert state_after_perform(second) == Judgement.State.QUEUED
    assert second.attempt == 0, "a wait is no attempt"
    assert state_after_perform(other) == Judgement.State.DONE


@pytest.mark.usefixtures("sandbox")
def test_with_three_workers_a_person_holds_two(queues: Queues, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(fair_share, "living_workers", lambda: 3)
    [[first, second, third]] = requests(3, User.objects.create(username="ann"))
    hold(first, new_owner())
    assert state_after_perform(second) == Judgement.State.DONE
    hold(second, new_owner())
    assert state_after_perform(third) == Judgement.State.QUEUED


@pytest.mark.usefixtures("sandbox")
@pytest.mark.parametrize("workers", [0, 1])
def test_with_one_worker_a_person_holds_it(queues: Queues, monkeypatch: pytest.MonkeyPatch, workers: int):
    monkeypatch.setattr(fair_share, "living_workers", lambda: workers)
    [[only]] = requests(1, User.objects.create(username="ann"))
    assert state_after_perform(only) == Judgement.State.DONE


@pytest.mark.usefixtures("sandbox")
def test_a_killed_worker_holds_no_share(queues: Queues):
    [[first, second]] = requests(2, User.objects.create(username="ann"))
    with killed_process() as owner:
        hold(first, owner)
        assert state_after_perform(second) == Judgement.State.QUEUED
    assert state_after_perform(second) == Judgement.State.DONE


@pytest.mark.usefixtures("sandbox")
def test_the_end_of_a_judgement_enqueues_the_persons_next_one_behind_those_of_others(queues: Queues):
    ann, bob = User.objects.create(username="ann"), User.objects.create(username="bob")
    (first, second, third), (other, *_) = requests(3, ann, bob)
    judging.enqueue(other, judging.EXECUTIONS)
    queues.get_queue(judging.EXECUTIONS).enqueue("f", other.pk, job_id=f"judgement-{other.pk}")
    assert state_after_perform(first) == Judgement.State.DONE
    assert [pk for _, pk, _ in queues.jobs[judging.EXECUTIONS]] == [other.pk, second.pk]
    assert state_after_perform(second) == Judgement.State.DONE
    assert [pk for _, pk, _ in queues.jobs[judging.EXECUTIONS]] == [other.pk, second.pk, third.pk]


def test_the_sweep_enqueues_waiting_judgements_only_if_the_share_is_free(queues: Queues):
    [[first, second]] = requests(2, User.objects.create(username="ann"))
    Judgement.objects.update(created_at=timezone.now() - timedelta(minutes=1))
    hold(first, new_owner())
    judging.requeue_lost()
    assert queues.jobs.get(judging.EXECUTIONS, []) == []
    with killed_process() as owner:
        hold(first, owner)
    judging.requeue_lost()
    assert [pk for _, pk, _ in queues.jobs[judging.EXECUTIONS]] == [first.pk, second.pk]


def test_workers_serve_executions_before_runs_before_measurements_before_rejudgings():
    assert WorkerKind.JUDGE.queues == (judging.EXECUTIONS, "default", judging.SCORES, "rejudging")


class _Server:
    """A queue server with these entries of workers, of which some have ended."""

    def __init__(self, names: dict[str, bool]) -> None:
        self.entries = {f"rq:worker:{name}": living for name, living in names.items()}
        self.asked: list[str] = []
        self.connection = self
        self.name = judging.EXECUTIONS

    def smembers(self, _: str) -> set[str]:
        return set(self.entries)

    def pipeline(self, **_: Any) -> "_Server":
        return self

    def __enter__(self) -> "_Server":
        return self

    def __exit__(self, *_: object) -> None: ...

    def exists(self, key: str) -> None:
        self.asked.append(key)

    def execute(self) -> list[bool]:
        return [self.entries[key] for key in self.asked]


def test_workers_that_were_killed_do_not_count(monkeypatch: pytest.MonkeyPatch):
    with killed_process() as killed:
        pass
    server = _Server({new_owner(): True, killed: True, "elsewhere/1/2/3": True, "elsewhere/4/5/6": False})
    monkeypatch.setattr(django_rq, "get_queue", lambda _: server)
    assert fair_share.share_of_a_person() == 1, "one of the four entries lives here, one elsewhere"
