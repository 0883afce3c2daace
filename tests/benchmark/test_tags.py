"""Tags that differ in case, hyphens, underscores or spaces are one: in reports, filters, questions and imports."""

from importlib import import_module
from io import StringIO
from pathlib import Path

import pytest
import yaml
from django.apps import apps
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from benchmark.models import Dataset, Problem, QuestionAnswer
from benchmark.reports import measure
from benchmark.similarity.building import Builder
from benchmark.similarity.figures import measure as measure_questions
from benchmark.similarity.labels import label_similarity, subcategories
from benchmark.text.tags import distinct_tags, readable_tags, tag_key
from tests.benchmark.reports.conftest import make_run  # noqa: F401
from tests.benchmark.similarity.tagged import TAGGED
from tests.benchmark.similarity.test_pages import add_run
from tutoring.checks.contexts import problem_context

WORDS = st.lists(st.text("abcdefgéäß0123456789+*>", min_size=1), min_size=1, max_size=4)


@pytest.mark.slow
@given(WORDS, st.data())
def test_all_spellings_of_a_tag_have_one_normal_form(words, data) -> None:
    def spelled() -> str:
        between = st.sampled_from(["-", " ", "_", "  ", " - ", "\u2010", ""])
        case = st.sampled_from([str, str.upper, str.lower, str.title, str.swapcase])
        text = words[0] + "".join(data.draw(between) + word for word in words[1:])
        return str(data.draw(case)(text))

    one, other = spelled(), spelled()
    assert tag_key(one) == tag_key(other) == tag_key(tag_key(one))
    assert distinct_tags([one, other]) == [one]


def test_other_tags_stay_apart_and_the_readable_spelling_is_shown() -> None:
    assert len({tag_key(tag) for tag in ("2-sat", "dp", "graphs", "-", "_", "C++", "C")}) == 7
    assert tag_key("2-SAT") == tag_key("2sat")
    shown = readable_tags(["two-pointers", "Two Pointers", "dp", "DP", "DP", "bit_mask", "bit mask"])
    assert sorted(shown.values()) == ["DP", "Two Pointers", "bit mask"]
    assert distinct_tags(["Two Pointers", "dp", "two-pointers"]) == ["Two Pointers", "dp"]
    assert label_similarity(["a > two-pointers"], ["Two_Pointers"]) == 1
    assert subcategories(["Graph Search > bfs", "graph-search > dfs", "dp"]) == {"graphsearch"}


def test_a_report_and_its_rows_have_one_group_for_all_spellings(make_run, client: Client) -> None:  # noqa: F811
    run = make_run(
        [("bronze", ["AC"]), ("bronze", ["WA"]), ("gold", ["AC"])],
        tags=[["two-pointers", "DP"], ["Two Pointers"], ["Two Pointers", "dp", "two_pointers"]],
    )
    groups = [(one.name, one.problems, one.solved) for one in measure(run).groups if one.by == "tag"]
    assert groups == [("DP", 2, 2), ("Two Pointers", 3, 2)]
    user = User.objects.create_user("rita")
    user.groups.add(Group.objects.get_or_create(name="researcher")[0])
    client.force_login(user)
    for name in ("Two Pointers", "two-pointers", "TWO_POINTERS"):
        page = client.get(f"/runs/{run.pk}/items/", {"by": "tag", "name": name}).content.decode()
        assert [f"Problem {number}" in page for number in range(3)] == [True] * 3


def respelled(folder: Path) -> Path:
    """Our tagged problems, every second one with other spellings of its tags."""
    problems = yaml.safe_load(TAGGED.read_text())
    for one in problems[::2]:
        one["tags"] = [
            tag.upper().replace(" > ", ">").replace(" ", "-").replace(">", " > ") for tag in one["tags"]
        ]
    problems[0]["tags"] += [tag.lower() for tag in problems[0]["tags"]]
    path = folder / "problems.yaml"
    path.write_text(yaml.safe_dump(problems))
    return path


@pytest.mark.slow
@pytest.mark.django_db
def test_an_import_keeps_one_spelling_and_questions_are_those_of_equal_tags(tmp_path: Path) -> None:
    path = respelled(tmp_path)
    call_command("import_problems", "algosimbench", str(path), dataset="tagged", stdout=StringIO())
    problems = {one["id"]: one for one in yaml.safe_load(path.read_text())}
    first = next(iter(problems.values()))
    assert Problem.objects.get(external_id=first["id"]).tags == [
        tag for tag in dict.fromkeys(first["tags"]) if tag.upper() == tag
    ]
    stored = dict(Problem.objects.values_list("external_id", "content_hash"))
    call_command("import_problems", "algosimbench", str(path), dataset="tagged", stdout=StringIO())
    assert dict(Problem.objects.values_list("external_id", "content_hash")) == stored
    statements = {name: one["statement"] for name, one in problems.items()}
    plain = {one["id"]: one["tags"] for one in yaml.safe_load(TAGGED.read_text())}
    same, _ = Builder().questions(statements, plain)
    assert Builder().questions(statements, {name: one["tags"] for name, one in problems.items()})[0] == same


@pytest.mark.slow
@pytest.mark.django_db
def test_failures_by_label_count_all_spellings_together_and_a_tutor_sees_names_in_tags(
    tmp_path: Path,
) -> None:
    call_command(
        "import_problems", "algosimbench", str(respelled(tmp_path)), dataset="tagged", stdout=StringIO()
    )
    questions = Builder().build(Dataset.objects.get(name="tagged"), "alike")
    run = add_run(questions, "rank")
    QuestionAnswer.objects.bulk_create(
        QuestionAnswer(
            run=run, question=one, messages=[], order=[0, 1, 2, 3], correct=False, scores=[4, 3, 2, 1]
        )
        for one in questions.questions.all()
    )
    figures = measure_questions(run)
    shares = [*figures.over_represented, *figures.under_represented]
    assert shares
    assert len({tag_key(one.label) for one in shares}) == len(shares)
    by_label = {tag_key(one.label): one.questions for one in shares}
    assert by_label["0/1knapsack"] == 3
    problem = Problem.objects.all()[0]
    problem.tags = ["binary_search"]
    problem.save()
    assert problem_context(problem, "nothing").tags == ("binary search",)


@pytest.mark.django_db
def test_stored_problems_keep_one_spelling_of_each_tag(tmp_path: Path) -> None:
    call_command("import_problems", "algosimbench", str(TAGGED), dataset="tagged", stdout=StringIO())
    problem = Problem.objects.all()[0]
    before = problem.content_hash
    Problem.objects.filter(pk=problem.pk).update(tags=["DP", "dp", "d-p", "graphs"])
    import_module("benchmark.migrations.0029_ties_coverage_and_tags").join_tags(apps, None)
    problem.refresh_from_db()
    assert (problem.tags, problem.content_hash) == (["DP", "graphs"], before)
