"""The cache of paid replies finds rows that were stored with keys of any earlier version."""

import hashlib
import json
from typing import Any

import pytest
from pytest_django import Settings

from benchmark.model_calls.reply_cache import cache_key, draw_name, find_paid, reused_columns
from benchmark.models import (
    Dataset,
    Generation,
    Question,
    QuestionAnswer,
    QuestionSet,
    Run,
    SimilarityRun,
    WorkItem,
)
from benchmark.providers import ModelSpec
from tests.benchmark.runs.bank import fill

pytestmark = pytest.mark.django_db

SPEC = ModelSpec("openai", "gpt-4o")
PARAMETERS = {"temperature": 0.7, "max_output_tokens": 4096}
PROMPT = hashlib.sha256(b'[{"content":"Hi.","role":"user"}]').hexdigest()
REPLY = {"model_returned": "gpt-4o@old", "reasoning": "Hm.", "input_tokens": 11, "request_id": "req_1"}


def stored_key(address: str, parameters: str, draw: str) -> str:
    """Return the key of a stored row: four lines, the first with the model and the address where one is set."""
    lines = [f"openai:gpt-4o {address}", parameters, PROMPT, draw]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


@pytest.mark.parametrize("address", ["", "http://proxy/v1"])
@pytest.mark.parametrize(("place", "draw"), [((0, 3, 1), "3.1"), ((2, 0, 0), "0.0.2")])
def test_keys_have_the_form_of_stored_ones(
    settings: Settings, address: str, place: tuple[int, int, int], draw: str
) -> None:
    settings.OPENAI_BASE_URL = address
    key = cache_key(SPEC, PARAMETERS, PROMPT, draw_name(*place))
    assert key == stored_key(address, '{"max_output_tokens": 4096, "temperature": 0.7}', draw)


def test_a_key_is_the_same_in_every_version(settings: Settings) -> None:
    settings.OPENAI_BASE_URL = ""
    key = cache_key(SPEC, PARAMETERS, "0" * 64, "0.0")
    assert key == "f3a69ce0910c914ef5b164ede51a945005af550f6df834f3756982da1a7160d9"


def test_paid_rows_of_runs_and_of_questions_are_found_and_copied(settings: Settings) -> None:
    settings.OPENAI_BASE_URL = ""
    fill()
    dataset = Dataset.objects.get(name="orchard")
    problem = dataset.problems.all()[0]
    run = Run.objects.create(
        dataset=dataset, method="zero-shot", model_spec=str(SPEC), parameters={}, manifest={}
    )
    item = WorkItem.objects.create(run=run, problem=problem, chain=0)
    questions = QuestionSet.objects.create(
        name="q", dataset=dataset, built=True, content_hash="0", parameters={}
    )
    question = Question.objects.create(question_set=questions, number=1, reference=problem)
    chosen = SimilarityRun.objects.create(
        question_set=questions, task="choose", representation="statement", parameters={}, manifest={}
    )
    key = stored_key("", json.dumps(PARAMETERS, sort_keys=True), "0.0")
    common = {"messages": [], "cache_key": key, **REPLY}
    generation = Generation.objects.create(
        work_item=item, step=0, purpose="solve", text="A", latency=1.0, parameters=PARAMETERS, **common
    )
    answer = QuestionAnswer.objects.create(run=chosen, question=question, order=[], correct=True, **common)
    wanted = cache_key(SPEC, PARAMETERS, PROMPT, draw_name(0, 0, 0))
    rows: list[Any] = [generation, answer]
    for paid in rows:
        assert find_paid(type(paid), ["none", wanted]) == [None, paid]
        assert find_paid(type(paid), []) == []
        columns = reused_columns(paid)
        assert {name: columns[name] for name in REPLY} == REPLY
        assert columns["reused"] == paid
