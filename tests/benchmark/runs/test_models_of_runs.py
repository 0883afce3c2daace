"""Rows of models in runs: found or made by run_baseline, named by a label, and kept by old databases."""

from __future__ import annotations

import json
from pathlib import Path

from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from benchmark.models import LanguageModel, Run, SimilarityRun
from tests.benchmark.runs.bank import REPLY
from tests.benchmark.runs.conftest import CommandSandbox
from tests.benchmark.runs.processes import run_apart, use_var
from tests.fake_providers import Script, pieces_of
from tutoring.models import Session

SOLUTION = Script(pieces_of(REPLY))
ROWS = (
    "select m.label, m.version, m.automatic, m.frozen_at is not null from benchmark_run r "
    "join benchmark_languagemodel m on m.id = r.model_id order by r.started_at"
)


def test_runs_with_equal_sampling_share_a_frozen_row(commands: CommandSandbox) -> None:
    commands.fake_providers.script(*[SOLUTION] * 8)
    first = commands.baseline()
    commands.manage("run_baseline", "--like", first["run"], "--json")
    commands.baseline("--set", "temperature=0.2")
    assert commands.rows(ROWS) == [("gpt-4o", 1, 1, 1), ("gpt-4o", 1, 1, 1), ("gpt-4o", 2, 1, 1)]
    commands.manage("models", "deactivate", "gpt-4o@1")
    _, errors = commands.manage("run_baseline", "--like", first["run"], status=1)
    assert "The model gpt-4o v1 (openai:gpt-4o) is inactive." in errors
    assert len(commands.rows(ROWS)) == 3


def test_a_label_gives_a_run_sampling_price_context_and_cutoff(commands: CommandSandbox) -> None:
    add = ("models", "add", "small", "openai:gpt-4o", "--set", "seed=7", "max_output_tokens=900")
    facts = ("--price", "3", "4", "--cutoff", "2023-04-30", "--context-tokens", "100000")
    commands.manage(*add, "--extra", '{"service_tier": "flex"}', *facts)
    dry = commands.baseline("--model", "small", "--dry-run")
    assert (dry["parameters"]["seed"], dry["parameters"]["temperature"], dry["price"]["input"]) == (
        7,
        None,
        3,
    )
    assert commands.rows("select frozen_at from benchmark_languagemodel") == [(None,)], "a dry run is no use"

    commands.fake_providers.script(*[SOLUTION] * 8)
    run = commands.baseline("--model", "small")
    [body, *_] = [request.body for request in commands.fake_providers.requests]
    assert (body["seed"], body["service_tier"], "temperature" in body) == (7, "flex", False)
    assert run["price"]["output"] == 4
    [(limits, manifest)] = commands.rows("select limits, manifest from benchmark_run")
    assert json.loads(limits)["context_tokens"] == 100_000
    assert json.loads(manifest)["cutoff"] == "2023-04-30"

    commands.baseline("--model", "small@1", "--set", "temperature=0.5")
    assert commands.fake_providers.requests[-1].body["temperature"] == 0.5
    assert commands.fake_providers.requests[-1].body["service_tier"] == "flex"
    assert commands.rows(ROWS) == [("small", 1, 0, 1), ("small", 2, 1, 1)]
    assert commands.baseline("--model", "small", "--dry-run")["parameters"]["temperature"] is None

    commands.manage("models", "deactivate", "small@1")
    _, errors = commands.manage(
        "run_baseline", "--dataset", "orchard", "--method", "zero-shot", "--model", "small@1", status=1
    )
    assert "small v1 (openai:gpt-4o) is inactive" in errors


BEFORE = [("tutoring", "0021_models_of_sessions"), ("benchmark", "0034_blocks_of_generations")]


def check_old_rows(var: Path) -> None:
    use_var(var)
    executor = MigrationExecutor(connection)
    executor.migrate(BEFORE)
    old = executor.loader.project_state(BEFORE).apps
    dataset = old.get_model("benchmark", "Dataset").objects.create(name="d", format="usaco")
    usual = {"temperature": 0.7, "top_p": None, "max_output_tokens": 4096, "seed": None, "language": "python"}
    for spec, parameters in (
        ("openai:gpt-4o", usual), ("openai:gpt-4o", usual), ("openai:gpt-4o", usual | {"temperature": 0.0}),
        ("compatible:gpt-4o", usual), ("unknown", usual),
    ):  # fmt: skip
        old.get_model("benchmark", "Run").objects.create(
            dataset=dataset, method="zero-shot", model_spec=spec, parameters=parameters, manifest={}
        )
    questions = old.get_model("benchmark", "QuestionSet").objects.create(
        name="q", dataset=dataset, built=False, parameters={}, content_hash=""
    )
    old.get_model("benchmark", "SimilarityRun").objects.create(
        question_set=questions, task="choose", representation="statement", model_spec="openai:gpt-4o",
        parameters={"sampling": {"temperature": 0.0, "max_output_tokens": 4096}}, manifest={},
    )  # fmt: skip
    for spec, origin in (("openai:gpt-4o", "tutored"), ("openai:gpt-4o", "imported"), ("gpt 4", "imported")):
        old.get_model("tutoring", "Session").objects.create(model_spec=spec, origin=origin, language="python")
    call_command("migrate", verbosity=0)
    runs = [
        (str(run.model), run.model and run.model.parameters) for run in Run.objects.order_by("started_at")
    ]
    cool = {"temperature": 0.0, "max_output_tokens": 4096}
    warm = cool | {"temperature": 0.7}
    names = {(row.spec, json.dumps(row.parameters)): str(row) for row in LanguageModel.objects.all()}
    assert sorted(parameters == warm for _, parameters in runs) == [False, False, True, True, True]
    assert [name for name, _ in runs[:3]].count(names["openai:gpt-4o", json.dumps(runs[0][1])]) == 2
    assert runs[4] == ("None", None)
    labels = {row.label for row in LanguageModel.objects.all()}
    assert labels in ({"gpt-4o", "compatible-gpt-4o"}, {"gpt-4o", "openai-gpt-4o"})
    assert all(row.frozen_at and row.automatic for row in LanguageModel.objects.all())
    [asked] = SimilarityRun.objects.all()
    assert asked.model is not None
    assert asked.model.parameters == cool
    tutored = Session.objects.get(origin="tutored")
    assert tutored.model is not None
    assert (tutored.model.spec, tutored.model.parameters) == ("openai:gpt-4o", {})
    assert set(Session.objects.filter(origin="imported").values_list("model", flat=True)) == {None}
    row = Run.objects.order_by("started_at")[0].model
    assert row is not None
    row.save()  # the hash of the migration is that of the program


def test_older_runs_and_sessions_get_the_rows_of_their_models(tmp_path: Path) -> None:
    run_apart(check_old_rows, tmp_path)
