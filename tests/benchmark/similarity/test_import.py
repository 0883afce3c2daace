"""AlgoSimBench's files, in the format of its data card and with other field names."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from benchmark.models import Problem, QuestionSet

pytestmark = pytest.mark.django_db


def problem(number: int, **fields: Any) -> dict[str, Any]:
    return {
        "prob_id": f"{number}A",
        "statement": f"Find the number {number}.",
        "solution": f'#include <cstdio>\nint main() {{ printf("{number}"); }}',
        "tags": ["dp", "knapsack"],
        **fields,
    }


def question(*ids: str) -> dict[str, Any]:
    reference, positive, *negatives = ({"prob_id": name, "tags": ["dp"]} for name in ids)
    return {"reference": reference, "positive": positive, "negative": negatives}


def write(folder: Path, problems: object, questions: object = None) -> Path:
    (folder / "all_problems_corpus_raw.json").write_text(json.dumps(problems))
    if questions is not None:
        data = folder / "data"
        data.mkdir()
        (data / "MCQ_test.jsonl").write_text("\n".join(json.dumps(one) for one in questions))  # type: ignore[attr-defined]
    return folder


def load(path: Path) -> dict[str, Any]:
    output = StringIO()
    call_command("import_problems", "algosimbench", str(path), dataset="similar", json=True, stdout=output)
    document: dict[str, Any] = json.loads(output.getvalue())
    return document


def test_problems_and_questions_are_kept_with_their_four_options_shuffled(tmp_path: Path) -> None:
    questions = [question("1A", "2A", "3A", "4A", "5A"), question("2A", "9Z", "3A", "4A", "5A")]
    problems = [problem(number, rating=800 * number) for number in range(1, 6)]
    problems[4]["tags"] = [{"category": "graphs", "subcategory": "paths", "label": "Dijkstra"}]
    broken = problem(6, solution=None)
    folder = write(tmp_path, [*problems, broken], questions)
    first = load(folder)
    assert (first["imported"], first["questions"]) == (5, 1)
    reasons = {entry["id"]: entry["reason"] for entry in first["left_out"]}
    assert reasons == {
        "6A": "its solution (solution) is not a string",
        "question 2": "the dataset has no problem 9Z",
    }
    stored = Problem.objects.get(external_id="5A")
    assert (stored.rating, stored.tags) == (4000, ["graphs > paths > Dijkstra"])
    assert stored.references.get().language == "cpp"
    question_set = QuestionSet.objects.get(name="similar")
    [kept] = question_set.questions.all()
    options = {option.problem.external_id: option.similar for option in kept.options.all()}
    assert kept.reference.external_id == "1A"
    assert options == {"2A": True, "3A": False, "4A": False, "5A": False}
    order = [option.problem.external_id for option in kept.options.all()]
    again = load(folder)
    assert (again["imported"], again["unchanged"], again["questions"]) == (0, 5, 1)
    assert [option.problem.external_id for option in kept.options.all()] == order


def test_unknown_fields_are_listed_and_can_be_mapped(tmp_path: Path) -> None:
    problems = [{"nr": 7, "body": "Add.", "program": "print(1)", "topics": "sums"}]
    write(tmp_path, problems)
    with pytest.raises(
        CommandError, match=r"statement .*Its fields: nr, body, program, topics.*fields\.toml"
    ):
        load(tmp_path)
    names = '[problem]\nid = "nr"\nstatement = "body"\nsolution = "program"\ntags = "topics"\n'
    (tmp_path / "fields.toml").write_text(names)
    assert load(tmp_path)["imported"] == 1
    assert Problem.objects.get().tags == ["sums"]
    (tmp_path / "fields.toml").write_text(names + 'colour = "x"\n')
    with pytest.raises(CommandError, match="colour = 'x' is not a valid field; "):
        load(tmp_path)


def test_an_object_of_objects_is_read_by_its_keys(tmp_path: Path) -> None:
    given = problem(1)
    del given["prob_id"]
    load(write(tmp_path, {"100A": given}))
    assert Problem.objects.get().external_id == "100A"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[{", "not valid JSON"),
        ('["a"]', "must contain a list of objects"),
        ("[]", "has no field for id "),
    ],
)
def test_a_broken_corpus_is_refused(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "corpus.json").write_text(content)
    with pytest.raises(CommandError, match=message):
        load(tmp_path / "corpus.json")


def test_a_question_without_three_wrong_options_is_refused(tmp_path: Path) -> None:
    folder = write(tmp_path, [problem(1), problem(2)], [question("1A", "2A", "1A")])
    with pytest.raises(CommandError, match="question 1 does not have three problems in negative"):
        load(folder)
    assert not Problem.objects.exists()


def test_two_corpora_are_not_guessed_between(tmp_path: Path) -> None:
    write(tmp_path, [problem(1)])
    (tmp_path / "other.json").write_text(json.dumps([problem(2)]))
    with pytest.raises(CommandError, match="2 files match"):
        load(tmp_path)
