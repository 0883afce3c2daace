"""Selection of a model by a text, without loading unneeded modules."""

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.providers import (
    ModelSpec,
    ModelSpecError,
    Parameters,
    is_scripted,
    parse_model_spec,
    provider_names,
)


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("openai:gpt-4o", ModelSpec("openai", "gpt-4o")),
        (" practice:student ", ModelSpec("practice", "student")),
        ("compatible:qwen2.5-coder:7b", ModelSpec("compatible", "qwen2.5-coder:7b")),
        ("compatible:org/model:free", ModelSpec("compatible", "org/model:free")),
    ],
)
def test_a_model_is_written_as_provider_and_model(text, spec):
    assert parse_model_spec(text) == spec
    assert str(spec) == text.strip()


@pytest.mark.parametrize(
    "text", ["", "gpt-4o", "openai", "openai:", "openai: ", "nobody:model", ":x", "openai:a\nb"]
)
def test_anything_else_is_refused_with_an_example(text):
    with pytest.raises(
        ModelSpecError, match=r"openai:gpt-4o.*Known providers: openai, anthropic, compatible"
    ):
        parse_model_spec(text)


@given(st.text())
def test_any_text_is_a_model_or_refused(text):
    try:
        spec = parse_model_spec(text)
    except ModelSpecError:
        return
    assert parse_model_spec(str(spec)) == spec


def test_practice_and_simulated_models_are_scripted():
    scripted = [name for name in provider_names() if is_scripted(ModelSpec(name, "any"))]
    assert scripted == ["practice", "simulated", "simulated-checker", "simulated-tutor"]


@pytest.mark.slow
def test_no_process_loads_sdks_before_a_provider_is_opened_nor_code_that_only_others_need():
    program = (
        "import sys, benchmark.providers as p; p.is_scripted(p.parse_model_spec('openai:x')); "
        "print({'openai', 'anthropic', 'httpx2', 'httpx', 'pydantic'} & sys.modules.keys()); "
        "import django; django.setup(); import benchmark.management.commands.run_baseline; "
        "print({'benchmark.datasets', 'benchmark.rendering', 'tutoring.actions'} & sys.modules.keys()); "
        "import benchmark.management.commands.worker as worker; "
        "from django.utils.module_loading import import_string; "
        "[import_string(sweep) for kind in worker.WorkerKind for sweep in kind.sweeps]; "
        "import tutoring.management.commands.streamer; "
        "print({'tutoring.rules.detectors.text_model', 'tutoring.rules.reading', 'benchmark.datasets.usaco', "
        "'benchmark.rendering', 'tutoring.views', 'benchmark.views'} & sys.modules.keys())"
    )
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "config.settings"}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout.split("\n") == ["set()", "set()", "set()", ""]


def test_parameters_keep_only_what_was_asked_for():
    asked = Parameters(temperature=0.0, seed=3)
    assert asked.to_json() == {"temperature": 0.0, "seed": 3}
    assert Parameters.from_json(asked.to_json()) == asked
    with pytest.raises(ValueError, match="top_k"):
        Parameters.from_json({"top_k": 3})
