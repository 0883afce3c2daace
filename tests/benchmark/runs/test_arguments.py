"""Errors of run_baseline before a run is stored or paid for."""

from uuid import UUID

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from benchmark.management.arguments import find_run
from benchmark.model_calls import catalogue
from benchmark.models import Dataset, Run
from benchmark.providers import Parameters, parse_model_spec
from tests.benchmark.runs.bank import fill

GOOD = {"--dataset": "orchard", "--model": "openai:gpt-4o", "--method": "zero-shot"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"--dataset": "garden"}, "There is no dataset 'garden'. There are: orchard, untested."),
        ({"--dataset": None}, "Missing: --dataset"),
        ({"--model": "gpt-4o"}, "'gpt-4o' is not a model: write PROVIDER:MODEL"),
        ({"--method": "telepathy"}, "invalid choice: 'telepathy'"),
        ({"--set": "p=2"}, "There is no setting 'p'"),
        ({"--problems": "aple_sum"}, "orchard has no problem 'aple_sum'. Did you mean apple_sum"),
        ({"--tier": "platinum"}, "Nothing to run in orchard: no problem was chosen."),
        ({"--attempts": "0"}, "'0' is not a whole number from 1"),
        (
            {"--resume": "x"},
            "A resumed run keeps its options: leave out --dataset, --model, --method with --resume.",
        ),
    ],
)
def test_a_wrong_argument_is_refused_with_what_would_be_right(
    db: None, settings: Settings, change: dict[str, str | None], said: str
) -> None:
    settings.OPENAI_API_KEY = "sk-any"
    fill()
    chosen = {**GOOD, **change}
    arguments = [part for name, value in chosen.items() if value is not None for part in (name, value)]
    with pytest.raises(CommandError) as raised:
        call_command("run_baseline", *arguments)
    assert said in str(raised.value)
    assert not Run.objects.exists()


def test_without_any_dataset_the_import_command_is_named(db: None) -> None:
    assert not Dataset.objects.exists()
    with pytest.raises(CommandError, match=r"manage\.py import_problems"):
        call_command("run_baseline", *(part for pair in GOOD.items() for part in pair))


def test_a_missing_api_key_is_refused_before_a_run_is_stored(db: None, settings: Settings) -> None:
    settings.OPENAI_API_KEY = ""
    fill()
    with pytest.raises(CommandError, match="OPENAI_API_KEY"):
        call_command("run_baseline", *(part for pair in GOOD.items() for part in pair))
    assert not Run.objects.exists()


def test_an_unknown_run_cannot_be_resumed(db: None) -> None:
    with pytest.raises(CommandError, match="There is no run 'x'"):
        call_command("run_baseline", "--resume", "x")


def test_the_beginning_of_an_id_names_a_run_unless_several_begin_so(db: None) -> None:
    fill()
    spec, parameters = parse_model_spec("openai:gpt-4o"), Parameters()
    columns = {
        "dataset": Dataset.objects.get(name="orchard"), "method": "zero-shot", "manifest": {},
        "parameters": parameters.to_json(), "model_spec": str(spec), "model": catalogue.model_for(spec, parameters),
    }  # fmt: skip
    first, second = (
        Run.objects.create(id=UUID(f"3f2a{digit * 4}-0000-4000-8000-000000000000"), **columns)
        for digit in "01"
    )
    assert [find_run(name) for name in (str(first.pk), "3F2A0", "3f2a1111-0")] == [first, first, second]
    with pytest.raises(CommandError, match="Several runs begin with '3f2a'"):
        find_run("3f2a")
    with pytest.raises(CommandError, match="There is no run '3f2'"):
        find_run("3f2")
