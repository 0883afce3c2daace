"""Replies that are stored together."""

import pytest

from benchmark.methods import MethodSettings
from benchmark.model_calls import Spending
from benchmark.model_calls.reply_cache import find_paid
from benchmark.models import DailySpend, Dataset, Generation, Run, WorkItem
from benchmark.runner.leases import claim, finish
from benchmark.runner.reply_store import ModelRole, store
from tests.benchmark.runs.bank import fill

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    fill()
    run = Run.objects.create(
        dataset=Dataset.objects.get(name="orchard"),
        method="zero-shot",
        model_spec="openai:m",
        parameters={},
        manifest={},
    )
    for chain in range(3):
        WorkItem.objects.create(run=run, problem=run.dataset.problems.all()[0], chain=chain)
    return run


def student(run: Run) -> ModelRole:
    return ModelRole.student(run, MethodSettings())


def reply(item: WorkItem, text: str) -> Generation:
    return Generation(
        work_item_id=item.pk,
        step=0,
        purpose=Generation.Purpose.SOLVE,
        messages=[{"role": "user", "content": "Où est-il ?"}],
        parameters={"temperature": 0.5},
        text=text,
        input_tokens=10,
        output_tokens=3,
        latency=0.25,
        cache_key=f"key of {text}",
    )


def test_a_reply_of_a_batch_that_two_processes_read_is_paid_once(run: Run):
    run.manifest = {"batch": True}
    run.save()
    [item] = claim(run.pk, "a runner", 1)
    for _ in range(2):
        [(_, spent)] = store([(student(run), reply(item, "the reply"))])
    assert spent == Spending(1, 10, 3)
    assert DailySpend.objects.get().calls == 1


def test_a_step_that_another_process_stored_meanwhile_stands_and_the_others_are_stored(run: Run):
    first, second, _ = claim(run.pk, "a runner", 3)
    [(stored, spent)] = store([(student(run), reply(first, "the first"))])
    assert spent == Spending(1, 10, 3)
    (known, _), (new, spent) = store(
        [(student(run), reply(first, "too late")), (student(run), reply(second, "the second"))]
    )
    assert (known.pk, known.text) == (stored.pk, "the first")
    assert spent == Spending(3, 30, 9), "the reply that came too late is paid for too"
    assert DailySpend.objects.get().calls == 3
    kept = Generation.objects.get(pk=new.pk)
    assert (kept.text, kept.messages, kept.parameters, kept.retrieval, kept.latency) == (
        "the second",
        [{"role": "user", "content": "Où est-il ?"}],
        {"temperature": 0.5},
        None,
        0.25,
    )
    assert kept.created_at == new.created_at
    assert find_paid(Generation, ["key of the second", "key of nothing"]) == [kept, None]


def test_a_runner_does_not_finish_an_item_that_another_one_claimed(run: Run):
    items = claim(run.pk, "a runner", 5)
    assert [item.chain for item in items] == [0, 1, 2]
    rows = [row for row, _ in store([(student(run), reply(item, str(item.chain))) for item in items])]
    WorkItem.objects.filter(pk=items[1].pk).update(attempt=2, owner="another")
    finish(list(zip(reversed(items), reversed(rows), strict=True)))
    states = run.items.order_by("chain").values_list("state", "selected__text", "owner")
    assert list(states) == [("done", "0", ""), ("leased", None, "another"), ("done", "2", "")]
