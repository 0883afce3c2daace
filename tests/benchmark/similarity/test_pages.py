"""The pages of question sets."""

import re
from io import StringIO

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from benchmark.models import Dataset, QuestionAnswer, QuestionSet, Representation, SimilarityRun
from benchmark.similarity.building import Builder
from benchmark.similarity.figures import measure
from tests.benchmark.similarity.tagged import TAGGED

pytestmark = pytest.mark.django_db


@pytest.fixture
def visitor(client: Client) -> Client:
    user = User.objects.create_user("rita")
    user.groups.add(Group.objects.get_or_create(name="researcher")[0])
    client.force_login(user)
    return client


def add_run(questions: QuestionSet, task: str, **columns: object) -> SimilarityRun:
    parameters = {"scorer": {"name": "bm25", "statistics": "corpus"}, "correct_at": "", "limit": None}
    return SimilarityRun.objects.create(
        question_set=questions,
        task=task,
        **{
            "representation": "statement",
            "parameters": parameters,
            "manifest": {"scripted_model": False},
            "state": "finished",
        }
        | columns,
    )


def test_sets_their_runs_and_one_question_with_its_answers(
    visitor: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    assert "There is no question set yet" in visitor.get("/runs/mcqs/").content.decode()
    call_command("import_problems", "algosimbench", str(TAGGED), dataset="tagged", stdout=StringIO())
    questions = Builder().build(Dataset.objects.get(name="tagged"), "alike")
    page = visitor.get("/runs/mcqs/").content.decode()
    assert 'href="/runs/mcqs/alike/"' in page
    assert "No run has answered these questions yet" in visitor.get("/runs/mcqs/alike/").content.decode()
    first = questions.questions.get(number=1)
    options = list(first.options.all())
    right = next(option for option in options if option.similar)
    ranked = add_run(questions, "rank")
    scores = [3.25 if option.similar else 1.5 for option in options]
    QuestionAnswer.objects.create(
        run=ranked, question=first, messages=[], order=[0, 1, 2, 3], chosen=right.place, correct=True,
        scores=scores, rank=1,
    )  # fmt: skip
    chosen = add_run(questions, "choose", model_spec="openai:gpt-4o", representation="asm_nl")
    written = Representation.objects.create(
        problem=first.reference, kind="asm_nl", model_spec="openai:gpt-4o", parameters={}, key="k", messages=[],
        text="Use <Dijkstra>.", section_found=False, output_tokens=9,
    )  # fmt: skip
    QuestionAnswer.objects.create(
        run=chosen, question=first, messages=[], order=[3, 2, 1, 0], chosen=None, correct=False,
        reply="I **cannot** say.", representations=[written.pk], output_tokens=5,
    )  # fmt: skip
    for run in (ranked, chosen):
        SimilarityRun.objects.filter(pk=run.pk).update(figures=measure(run).to_json())
    with django_assert_max_num_queries(12):
        page = visitor.get("/runs/mcqs/alike/").content.decode()
    assert "100.00 %" in page
    assert "25.00 %" in page
    assert "52.08 %" in page
    assert "1 of 2" in page
    assert "largest-terrace" in page
    assert visitor.get("/runs/mcqs/alike/?page=1").status_code == 200
    with django_assert_max_num_queries(14):
        page = visitor.get("/runs/mcqs/alike/1/").content.decode()
    for shown in ("3.250", "unreadable", "<strong>cannot</strong>", "Use &lt;Dijkstra&gt;.", "whole reply"):
        assert shown in page
    assert 'href="/runs/mcqs/alike/2/"' in page
    assert visitor.get("/runs/mcqs/alike/99/").status_code == 404
    assert visitor.get("/runs/mcqs/other/").status_code == 404
    user = User.objects.get(username="rita")
    user.groups.set([Group.objects.get_or_create(name="tutor")[0]])
    assert [visitor.get(f"/runs/mcqs/{rest}").status_code for rest in ("", "alike/", "alike/1/")] == [403] * 3


@pytest.mark.slow
def test_replies_that_did_not_end_by_themselves_are_counted_with_a_link_to_their_questions(
    visitor: Client,
) -> None:
    call_command("import_problems", "algosimbench", str(TAGGED), dataset="tagged", stdout=StringIO())
    questions = Builder().build(Dataset.objects.get(name="tagged"), "alike")
    run = add_run(questions, "choose", model_spec="openai:gpt-4o")
    ends = [("stop", "Answer: A"), ("length", "Let me"), ("content_filter", ""), ("stop", " ")]
    for question, (reason, reply) in zip(questions.questions.order_by("number")[:4], ends, strict=True):
        QuestionAnswer.objects.create(
            run=run, question=question, messages=[], order=[0, 1, 2, 3], chosen=None, correct=False,
            finish_reason=reason, reply=reply,
        )  # fmt: skip
    SimilarityRun.objects.filter(pk=run.pk).update(figures=measure(run).to_json())
    page = visitor.get("/runs/mcqs/alike/").content.decode()
    for number, (kind, words) in enumerate(
        [
            ("length", "cut off at the token limit"),
            ("refusal", "refused or filtered"),
            ("empty", "empty although"),
        ],
        2,
    ):
        assert f'href="?run={run.pk}&amp;finish={kind}#questions-heading">1 {words}' in page
        rows = visitor.get(f"/runs/mcqs/alike/?run={run.pk}&finish={kind}").content.decode()
        assert re.findall(r'href="/runs/mcqs/alike/(\d+)/"', rows) == [str(number)]
    for wrong in (f"run={run.pk}&finish=late", "finish=length", "run=7&finish=length"):
        assert visitor.get(f"/runs/mcqs/alike/?{wrong}").status_code == 400
