"""The commands about drafts and the text model, and the pages on which an admin trains it."""

from __future__ import annotations

import io
import json
from collections import Counter
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from pytest_django import DjangoCaptureOnCommitCallbacks, Settings

from accounts.roles import Role
from benchmark.models import Problem
from tests.tutoring.conftest import PersonFactory
from tests.tutoring.review.readings import recorded_session, review
from tutoring.models import AuditEntry, TextModelTraining
from tutoring.review import text_model_jobs, text_model_requests
from tutoring.review.text_model_jobs import perform_training
from tutoring.review.text_model_requests import TrainingData, material_of_site
from tutoring.review.text_model_training import read_examples
from tutoring.rules.detectors.text_model import SHIPPED, chosen_model, current_model
from tutoring.rules.sentence_encoder import TOKEN_COMPONENTS, CachedEncoder
from tutoring.rules.text_model import load

PROGRAM = "n = int(input())\ntotal = 0\nfor i in range(n):\n    total += i\nprint(total)\n"
ALLOWED = ["Good, go on.", "What is your plan?", "Try n = 3 by hand.", "Explain the loop."]
BROKEN = {
    "F1": "Use binary search.",
    "F2": "In line 4, add one.",
    "F3": "You misunderstand the problem.",
    "F4": "Hidden test 3 has n = 1.",
    "F5": "It passes the first two tests.",
}


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def name_of(problem: Problem) -> str:
    return f"{problem.dataset.name}/{problem.external_id}"


@pytest.fixture
def corpus(tmp_path: Path, doubling: Problem) -> Path:
    """Return a small corpus: every clause and allowed messages, on two problems.

    Two files beside it have the messages of one problem each, as two writers.
    """
    other = Problem.objects.get(pk=doubling.pk)
    other.pk, other.external_id = None, "halving"
    other.save()
    programs: list[dict[str, str]] = []
    rows: list[dict[str, Any]] = []
    for problem in (doubling.external_id, "halving"):
        programs.append({"key": problem, "problem": problem, "language": "python", "code": PROGRAM})
        texts = [([clause], text) for clause, text in BROKEN.items()] + [([], text) for text in ALLOWED]
        for labels, text in texts:
            row = {
                "id": f"{len(rows)}",
                "problem": problem,
                "program": problem,
                "language": "en",
                "kind": "test",
            }
            rows.append(row | {"labels": labels, "text": text})
    halves = [[row for row in rows if row["problem"] == program["problem"]] for program in programs]
    for name, lines in (
        ("programs", programs),
        ("drafts", rows),
        ("first_writer", halves[0]),
        ("second_writer", halves[1]),
    ):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (tmp_path / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return tmp_path / "drafts.jsonl"


def test_drafts_are_checked_with_the_program_they_answer(tmp_path: Path, doubling: Problem):
    file, program = tmp_path / "drafts.json", tmp_path / "last.py"
    file.write_text(json.dumps(["Look at line 4.", {"text": "Good, go on.", "program": PROGRAM}]))
    program.write_text(PROGRAM)
    arguments = ("check_drafts", str(file), "--problem", name_of(doubling))
    first, second = json.loads(run(*arguments, "--program", str(program), "--json"))
    [finding] = [one for one in first["findings"] if one["detector"] == "code-pointing"]
    assert first["text"][finding["start"] : finding["end"]] == "line 4"
    assert (finding["clause"], finding["severity"]) == ("F2", "warning")
    assert second["findings"] == []
    assert "F2, warning, 8–14, code-pointing: “line 4”" in run(*arguments, "--program", str(program))
    assert json.loads(run(*arguments, "--json"))[0]["findings"] == [], "without a program there is no line 4"


@pytest.mark.parametrize(
    ("content", "problem", "error"),
    [
        ("no", "practice/doubling", "is not JSON"),
        ('{"text": "a"}', "practice/doubling", "JSON list"),
        ('[{"words": "a"}]', "practice/doubling", "draft 1: write a text"),
        ('["a", {"text": 1}]', "practice/doubling", "draft 2"),
        (json.dumps(["x" * 20_001]), "practice/doubling", "at most 20,000"),
        ("[]", "doubling", "DATASET/ID"),
        ("[]", "nowhere/doubling", "nowhere"),
    ],
)
def test_malformed_drafts_are_refused(
    tmp_path: Path, doubling: Problem, content: str, problem: str, error: str
):
    file = tmp_path / "drafts.json"
    file.write_text(content)
    with pytest.raises(CommandError, match=error):
        run("check_drafts", str(file), "--problem", problem.replace("practice", doubling.dataset.name))
    with pytest.raises(CommandError, match="cannot be read"):
        run("check_drafts", str(tmp_path / "none.json"), "--problem", name_of(doubling))


def test_scores_count_labels_findings_and_flagged_allowed_messages(corpus: Path):
    scores: dict[str, Any] = json.loads(run("score_detectors", "--corpus", str(corpus), "--misses", "--json"))
    assert (scores["messages"], scores["corpus"]) == (18, "drafts.jsonl")
    assert {clause: share["total"] for clause, share in scores["recall"].items()} == dict.fromkeys(BROKEN, 2)
    assert scores["flagged_allowed"]["total"] == 8
    assert scores["recall"]["F5"]["hits"] == 2
    low, high = scores["recall"]["F5"]["interval"]
    assert 0 < low < high <= 1
    assert "allowed, flagged" in run("score_detectors", "--corpus", str(corpus))
    with corpus.open("a", encoding="utf-8") as lines:
        lines.write("[]\n")
    with pytest.raises(CommandError, match=r"drafts\.jsonl:19 is not a JSON object"):
        run("score_detectors", "--corpus", str(corpus))


def test_unknown_problems_are_named(corpus: Path):
    Problem.objects.filter(external_id="halving").delete()
    with pytest.raises(CommandError, match="1 problems are not in the database: halving"):
        run("score_detectors", "--corpus", str(corpus))


@pytest.mark.slow
def test_a_model_is_trained_deterministically_and_replaces_nothing_unasked(corpus: Path, tmp_path: Path):
    output = tmp_path / "model.npz"
    writers = [str(corpus.with_name(f"{name}_writer.jsonl")) for name in ("first", "second")]
    arguments = ("train_text_model", "--corpus", *writers, "--supplement", "--output", str(output))
    printed = run(*arguments)
    assert "allowed messages flagged: " in printed
    assert "Nothing was replaced." in printed
    assert not output.exists()
    run(*arguments, "--replace")
    model = load(output)
    assert (model.version, set(model.clauses)) == (1001, set(BROKEN))
    assert model.figures
    first = output.read_bytes()
    output.unlink()
    run(*arguments, "--replace")
    assert output.read_bytes() == first
    run(*arguments, "--replace")
    assert load(output).version == 1002


@pytest.mark.slow
def test_a_clause_without_examples_is_named(corpus: Path):
    writers = [corpus.with_name(f"{name}_writer.jsonl") for name in ("first", "second")]
    rows = [json.loads(line) for line in writers[1].read_text(encoding="utf-8").splitlines()]
    kept = [row for row in rows if row["labels"] != ["F4"]]
    writers[1].write_text("".join(json.dumps(row) + "\n" for row in kept), encoding="utf-8")
    with pytest.raises(CommandError, match="F4 needs examples by at least 2 writers, not 1"):
        run("train_text_model", "--corpus", *map(str, writers), "--supplement")


@pytest.mark.slow
def test_token_components_are_the_directions_of_greatest_variance(corpus: Path, tmp_path: Path):
    output = tmp_path / "components.npy"
    printed = run("find_token_components", "--corpus", str(corpus), "--output", str(output))
    assert "256 of 1280 directions have 100.0% of the variance." in printed  # there are fewer tokens
    components = np.load(output).astype(np.float32)
    np.testing.assert_allclose(components.T @ components, np.eye(256), atol=5e-3)
    texts = sorted({*ALLOWED, *BROKEN.values()})
    everything = CachedEncoder(np.eye(1280, dtype=np.float32)).encode(texts)
    tokens = np.concatenate([one.tokens for one in everything], dtype=np.float32)
    spreads = (tokens @ components).std(0)
    shipped = (tokens @ np.load(TOKEN_COMPONENTS).astype(np.float32)).std(0)
    assert (np.diff(spreads) <= 1e-2).all()
    assert spreads[:8].sum() > shipped[:8].sum()
    with pytest.raises(CommandError, match=r"none\.jsonl"):
        run("find_token_components", "--corpus", str(tmp_path / "none.jsonl"), "--output", str(output))


PAGE = "/review/text-model/"


def press(person: User, address: str, **fields: str) -> str:
    """Send a form of the pages of the text model and return the page that follows."""
    client = Client()
    client.force_login(person)
    response = client.post(address, {"command": str(uuid4()), **fields}, follow=True)
    assert response.status_code == 200
    return response.content.decode()


def page(person: User, address: str = PAGE) -> str:
    client = Client()
    client.force_login(person)
    return client.get(address).content.decode()


@pytest.fixture
def settled(
    corpus: Path,
    person: PersonFactory,
    rita: User,
    monkeypatch: pytest.MonkeyPatch,
    settings: Settings,
    tmp_path: Path,
) -> Path:
    """Return the file of the site's own model, on a site with one settled session and two files of drafts."""
    settings.TEXT_MODEL = tmp_path / "own.npz"
    files = [corpus.with_name(f"{name}_writer.jsonl") for name in ("first", "second")]
    monkeypatch.setattr(text_model_jobs, "TRAINING_FILES", files)
    monkeypatch.setattr(text_model_jobs, "SUPPLEMENT", tmp_path / "none.jsonl")
    monkeypatch.setattr(text_model_requests, "LEAST_TUTORS", 1)
    monkeypatch.setattr(text_model_requests, "LEAST_SESSIONS", 1)
    recorded_session(str(uuid4()), ["What is your plan?", "Use binary search."])
    for reviewer in (rita, person("rolf", Role.REVIEWER)):
        review(reviewer, "A6", "F1")
    return tmp_path / "own.npz"


def test_writers_are_tutors_by_pseudonym_also_in_imported_records(rita: User, person: PersonFactory):
    for tutor in ("person-1", "person-2", "person-2", None, None):
        recorded_session(str(uuid4()), ["Solve it.", "What is your plan?"], tutor=tutor)
    rolf = person("rolf", Role.REVIEWER)
    for _ in range(5):
        for reviewer in (rita, rolf):
            review(reviewer, "A6")
    assert material_of_site() == TrainingData(sessions=5, tutors=3)
    examples = read_examples([], []).reviewed
    assert Counter(example.writer for example in examples) == {
        "tutor person-1": 1, "tutor person-2": 2, "tutor unknown": 2,
    }  # fmt: skip


@pytest.mark.slow
def test_an_admin_trains_compares_and_replaces_the_model(
    settled: Path,
    ada: User,
    rita: User,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
):
    client = Client()
    client.force_login(rita)
    assert client.get(PAGE).status_code == 403
    assert "The former model stays in use." in press(ada, f"{PAGE}start/")
    training = TextModelTraining.objects.get()
    assert "A training is not finished." in press(ada, f"{PAGE}start/")
    assert "Waits for a worker" in page(ada, training.get_absolute_url())
    perform_training(training.pk)
    training.refresh_from_db()
    assert (training.state, training.version, training.fault) == ("done", 1001, "")
    assert not settled.exists(), "nothing is replaced before the decision"
    shown = page(ada, training.get_absolute_url())
    assert "Recall of F1" in shown
    assert f"Version {current_model().version}, this site" in shown
    decide = f"{training.get_absolute_url()}decide/"
    with django_capture_on_commit_callbacks(execute=True):
        press(ada, decide, decision="use")
    assert load(settled).version == 1001
    shown = page(ada, training.get_absolute_url())
    assert "After the next start of Hintbench: <strong>version 1001</strong>, trained on this site" in shown
    assert "Only the model of a finished training can be used or discarded." in press(
        ada, decide, decision="discard"
    )
    assert "Use version 1001" not in shown
    with django_capture_on_commit_callbacks(execute=True):
        press(ada, f"{PAGE}shipped/")
    assert not settled.exists()
    assert "Use version 1001 again…" in page(ada, training.get_absolute_url())
    with django_capture_on_commit_callbacks(execute=True):
        press(ada, decide, decision="use")
    assert load(settled).version == 1001
    actions = ["DecideTextModel", "UseShippedTextModel", "DecideTextModel", "RequestTextModelTraining"]
    assert list(AuditEntry.objects.filter(person=ada).values_list("action", flat=True)) == actions


@pytest.mark.slow
def test_a_discarded_or_failed_training_leaves_no_model(
    settled: Path, ada: User, monkeypatch: pytest.MonkeyPatch
):
    press(ada, f"{PAGE}start/")
    first = TextModelTraining.objects.get()
    perform_training(first.pk)
    press(ada, f"{first.get_absolute_url()}decide/", decision="discard")
    first.refresh_from_db()
    assert (first.state, first.model) == ("discarded", None)
    monkeypatch.setattr(text_model_jobs, "TRAINING_FILES", [])
    press(ada, f"{PAGE}start/")
    second = TextModelTraining.objects.exclude(pk=first.pk).get()
    perform_training(second.pk)
    assert "needs examples by at least 2 writers" in page(ada, second.get_absolute_url())
    assert not settled.exists()


def test_a_model_of_an_earlier_version_is_not_used(
    settled: Path, ada: User, caplog: pytest.LogCaptureFixture
):
    with np.load(io.BytesIO(SHIPPED.read_bytes())) as arrays:
        earlier = {name: values for name, values in arrays.items() if not name.startswith("attention_")}
    content = io.BytesIO()
    np.savez(content, allow_pickle=False, **earlier)
    states = TextModelTraining.State
    training = TextModelTraining.objects.create(
        state=states.DONE, version=1001, model=content.getvalue(), requested_by=ada
    )
    refused = press(ada, f"{training.get_absolute_url()}decide/", decision="use")
    assert "of an earlier version of Hintbench. Discard it and request a new training." in refused
    settled.write_bytes(content.getvalue())
    assert chosen_model().version == load(SHIPPED).version
    assert "Train the site's own model again." in caplog.text


def test_too_few_settled_reviews_are_counted(ada: User):
    shown = page(ada)
    assert "There are too few settled reviews." in shown
    assert "10 sessions with a settled review are needed; the site has 0." in shown
    assert "10 sessions with a settled review are needed" in press(ada, f"{PAGE}start/")
    assert not TextModelTraining.objects.exists()
