"""Runs and sessions of older versions get the rows of their models."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from benchmark.models import LanguageModel, Run, SimilarityRun
from tutoring.models import Session

BEFORE = [("tutoring", "0021_models_of_sessions"), ("benchmark", "0034_blocks_of_generations")]


def store_old_rows(old: Any) -> None:
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


def check_old_rows() -> None:
    stored = Run.objects.filter(dataset__name="d").order_by("started_at")
    runs = [(str(run.model), run.model and run.model.parameters) for run in stored]
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
    tutored = Session.objects.exclude(model_spec="").get(origin="tutored")
    assert tutored.model is not None
    assert (tutored.model.spec, tutored.model.parameters) == ("openai:gpt-4o", {})
    assert set(Session.objects.filter(origin="imported").values_list("model", flat=True)) == {None}
    row = stored[0].model
    assert row is not None
    row.save()  # the hash of the migration is that of the program


def test_older_runs_and_sessions_get_the_rows_of_their_models(check_upgraded: Callable[..., None]) -> None:
    check_upgraded(check_old_rows)
