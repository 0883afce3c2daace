"""Tied options: expected accuracy and reciprocal rank over random orders, in commands, pages and stored rows."""

from importlib import import_module
from io import StringIO
from itertools import pairwise, permutations
from statistics import fmean

import pytest
from django.apps import apps
from django.core.management import call_command
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from benchmark.models import Dataset, QuestionAnswer, QuestionSet, SimilarityRun
from benchmark.reproduction.similarity import _ranked
from benchmark.similarity.building import Builder
from benchmark.similarity.figures import measure
from benchmark.similarity.scorers import Scorer
from benchmark.similarity.ties import Placing, tied_best
from benchmark.worker.reports import store_similarity_figures
from tests.benchmark.runs.conftest import CommandSandbox
from tests.benchmark.similarity.tagged import TAGGED
from tests.benchmark.similarity.test_pages import add_run, visitor  # noqa: F401
from tests.benchmark.similarity.test_runs import RANK, run

SCORES = st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0]), min_size=1, max_size=5)


@given(SCORES, st.data())
def test_figures_are_the_mean_over_all_orders_of_tied_options(scores, data) -> None:
    right = data.draw(st.integers(0, len(scores) - 1))
    ranks = [
        order.index(right) + 1
        for order in permutations(range(len(scores)))
        if all(scores[one] >= scores[other] for one, other in pairwise(order))
    ]
    placing = Placing.of(scores, right)
    assert float(placing.accuracy) == pytest.approx(fmean(rank == 1 for rank in ranks))
    assert float(placing.reciprocal_rank) == pytest.approx(fmean(1 / rank for rank in ranks))
    assert placing.tied == (len(set(ranks)) > 1)


@given(SCORES, st.data())
def test_figures_do_not_depend_on_the_order_of_the_letters(scores, data) -> None:
    right = data.draw(st.integers(0, len(scores) - 1))
    order = data.draw(st.permutations(range(len(scores))))
    moved = [scores[place] for place in order]
    assert Placing.of(moved, order.index(right)) == Placing.of(scores, right)
    assert sorted(order[place] for place in tied_best(moved)) == sorted(tied_best(scores))


SAME = "openai:fixed:Natural Language Solution: greedy over the sorted numbers"


@pytest.mark.parametrize("scorer", [("bm25", "corpus"), ("tfidf", "corpus"), ("bm25", "options")])
def test_equal_representations_give_the_expected_values_of_a_random_order(
    commands: CommandSandbox, scorer: tuple[str, str]
) -> None:
    """Without expected values, a right option at A would give 100 % and at D 0 %."""
    for letter in "AD":
        found = run(
            commands, *RANK, "--representation", "asm_nl", "--model", SAME, "--limit", "6", "--correct-at", letter,
            "--scorer", scorer[0], "--statistics", scorer[1],
        )  # fmt: skip
        assert (found["accuracy"], found["correct"], found["tied"], found["unreadable"]) == (0.25, 1.5, 6, 0)
        assert found["mrr"] == pytest.approx(found["random_mrr"])
        low, high = found["accuracy_interval"]
        assert low < 0.25 < high
        assert [one["chosen"] for one in found["positions"]] == [1.5] * 4
        assert sum(one["found"] for one in found["positions"]) == 1.5
    text, _ = commands.manage("report_mcqs", found["run"])
    assert "1.5 right" in text
    assert "6 rankings in which the right option is tied" in text


@pytest.fixture
def tied(db: None) -> tuple[QuestionSet, SimilarityRun]:
    """A stored ranking in the old format: all options tied, with the first letter as the answer."""
    call_command("import_problems", "algosimbench", str(TAGGED), dataset="tagged", stdout=StringIO())
    questions = Builder().build(Dataset.objects.get(name="tagged"), "alike")
    ranked = add_run(questions, "rank", figures={"accuracy": 1.0})
    first = questions.questions.get(number=1)
    right = first.options.get(similar=True)
    order = [right.place, *(place for place in range(4) if place != right.place)]
    QuestionAnswer.objects.create(
        run=ranked, question=first, messages=[], order=order, chosen=right.place, correct=True, scores=[2.0] * 4,
        rank=1,
    )  # fmt: skip
    return questions, ranked


@pytest.mark.slow
def test_stored_rankings_are_corrected_and_measured_again(
    tied: tuple[QuestionSet, SimilarityRun],
    visitor: Client,  # noqa: F811
) -> None:
    _, ranked = tied
    assert measure(ranked).accuracy == 0.25, "the scores are stored, so no row need be changed for this"
    import_module("benchmark.migrations.0029_ties_coverage_and_tags").correct_ties(apps, None)
    answer = ranked.answers.get()
    assert (answer.chosen, answer.correct, answer.rank) == (None, False, 1)
    page = visitor.get("/runs/mcqs/alike/").content.decode()
    assert "0.25 of 1" in page
    assert SimilarityRun.objects.filter(figures__isnull=True).get() == ranked, "a page stores nothing"
    store_similarity_figures(str(ranked.pk))
    ranked.refresh_from_db()
    assert ranked.figures is not None
    assert ranked.figures["accuracy"] == 0.25
    page = visitor.get("/runs/mcqs/alike/1/").content.decode()
    assert "tied: correct with probability 25.00 %" in page
    assert page.count("1–4") == 4


@pytest.mark.slow
def test_a_reproduction_ranks_ties_alike(tied: tuple[QuestionSet, SimilarityRun]) -> None:
    from benchmark.datasets.records import QuestionRecord

    question = QuestionRecord("a", "b", ("c", "d", "e"))
    accuracy, mrr = _ranked([question], dict.fromkeys("abcde", "the same words"), Scorer())
    assert accuracy == 25
    assert mrr == pytest.approx(100 * (1 + 1 / 2 + 1 / 3 + 1 / 4) / 4)
