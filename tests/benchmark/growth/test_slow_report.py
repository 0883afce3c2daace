"""manage.py slow report and the page, over stored rows: figures, what is left out, and what is refused."""

import json
import re
from typing import Any
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from benchmark.judging import store_submission
from benchmark.models import Problem, Run, SlowComparison
from tests.benchmark.growth.slow_rows import (
    SLOW,
    growth,
    repaired,
    store_curve,
    store_slow_problems,
    store_slow_run,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def problems() -> list[Problem]:
    return store_slow_problems(8)


def report(capsys: pytest.CaptureFixture[str], *runs: Run) -> Any:
    call_command("slow", "report", "--json", *[str(run.pk) for run in runs])
    return json.loads(capsys.readouterr().out)


def refusal(*runs: Run) -> str:
    with pytest.raises(CommandError) as refused:
        call_command("slow", "report", *[str(run.pk) for run in runs])
    return str(refused.value)


def figures(document: Any, arm: int = 0) -> dict[str, Any]:
    return {one["name"]: one for one in document["arms"][arm]["figures"]}


def test_conversion_regression_and_net(capsys: pytest.CaptureFixture[str], problems: list[Problem]):
    told = store_slow_run(
        "told", {one: ["TLE", "AC"] if n < 2 else ["TLE"] * 3 for n, one in enumerate(problems)}
    )
    growing = store_slow_run(
        "growth", {one: ["AC"] if n < 6 else ["TLE", "WA"] for n, one in enumerate(problems)}
    )
    found = figures(report(capsys, told, growing))
    conversion = found["conversion, equal repairs"]["contrast"]
    assert (conversion["first"], conversion["second"], conversion["difference"]) == (0.75, 0.25, 0.5)
    assert conversion["low"] < 0.5 < conversion["high"]
    assert (conversion["method"], conversion["starts"], conversion["problems"]) == ("newcombe", 8, 8)
    assert conversion["p"] == pytest.approx(0.125)
    assert found["conversion, equal repairs"]["holm"] == pytest.approx(0.125)
    assert found["regression, equal repairs"]["contrast"]["first"] == 0.25
    assert found["net, right but slow, equal repairs"]["contrast"]["difference"] == pytest.approx(0.25)


def test_equal_tokens_cut_the_repairs_of_an_expensive_arm(
    capsys: pytest.CaptureFixture[str], problems: list[Problem]
):
    told = store_slow_run("told", {one: ["TLE"] * 3 for one in problems}, tokens=10)
    costly = store_slow_run("growth", {one: ["TLE", "AC"] for one in problems}, tokens=20)
    document = report(capsys, told, costly)
    found = figures(document)
    assert found["conversion, equal repairs"]["contrast"]["first"] == 1
    # Three repairs of slow-told use 60 tokens, and one of slow-growth uses 40.
    assert found["conversion, equal tokens"]["contrast"]["first"] == 0
    assert {row["outcomes"][str(costly.pk)]["verdict_at_equal_tokens"] for row in document["rows"]} == {"TLE"}
    unknown = store_slow_run("replan", {one: ["AC"] for one in problems}, tokens=None)
    missing = figures(report(capsys, told, unknown))["conversion, equal tokens"]
    assert missing["contrast"] is None
    assert missing["left_out"] == {"the tokens of a repair are unknown": 8}


def test_changes_of_slope_and_speed(capsys: pytest.CaptureFixture[str], problems: list[Problem]):
    told = store_slow_run("told", {one: ["TLE"] for one in problems})
    growing = store_slow_run("growth", {one: ["AC"] for one in problems})
    for place, one in enumerate(problems[:6]):
        store_curve(one, repaired("told", "TLE", 1), growth(2.0, 1.0))
        store_curve(one, repaired("growth", "AC", 1), growth(1.1 + place / 50, 1 / 8))
    store_curve(problems[6], repaired("told", "TLE", 1), growth(2.0, 1.0))
    store_curve(problems[6], repaired("growth", "AC", 1), growth(1.1, 1 / 8), host="another machine")
    document = report(capsys, told, growing)
    slope, speed = figures(document)["change of slope"], figures(document)["speed ratio (log)"]
    assert slope["contrast"]["first"] == pytest.approx(-0.85)
    assert slope["contrast"]["second"] == 0
    assert slope["contrast"]["p"] < 0.001
    assert speed["contrast"]["first"] == pytest.approx(2.0794, abs=1e-3)
    assert speed["contrast"]["low"] is None, "equal differences have no interval"
    assert slope["left_out"] == {
        "its programs were measured with different generators, judges or machines": 1,
        "the growth of the last program is not measured": 1,
    }
    call_command("slow", "report", str(told.pk), str(growing.pk))
    shown = capsys.readouterr().out
    assert "change of slope: -0.85 against +0.00: difference -0.85" in shown
    assert "8 times as fast against 1 times as fast: factor 8" in shown
    assert "left out: the growth of the last program is not measured (1)" in shown


def test_chains_that_are_left_out_are_counted(capsys: pytest.CaptureFixture[str], problems: list[Problem]):
    told = store_slow_run("told", {one: ["AC"] if n else [] for n, one in enumerate(problems)}, right=False)
    growing = store_slow_run("growth", {one: ["NO_CODE"] for one in problems[:4]}, right=False)
    document = report(capsys, told, growing)
    assert document["base_left_out"] == {"the chain is pending": 1}
    assert document["arms"][0]["left_out"] == {
        "the start program is not in the run of slow-told": 1,
        "the start program is only in the run of slow-told": 4,
    }
    found = figures(document)
    assert found["conversion, equal repairs"]["contrast"]["p"] is None, "three problems have no test"
    assert found["net, right but slow, equal repairs"]["left_out"] == {
        "the start program is not known to be right": 3
    }
    assert found["change of slope"]["left_out"] == {"its last reply has no program": 3}


def test_start_programs_that_are_wrong_are_counted(
    capsys: pytest.CaptureFixture[str], problems: list[Problem]
):
    told = store_slow_run("told", {one: ["TLE"] for one in problems})
    oracle = store_slow_run("growth+oracle", {one: ["TLE", "WA"] for one in problems})
    SlowComparison.objects.create(
        slow=store_submission(problems[0], SLOW, "python"),
        candidate=store_submission(problems[0], repaired("growth+oracle", "TLE", 1), "python"),
        compared=3, difference={}, slow_is_wrong=True, recipe_hash="1", judge_version="j",
    )  # fmt: skip
    assert report(capsys, told, oracle)["arms"][0]["wrong_oracles"] == 1


def test_an_imported_run_is_compared_by_its_recorded_programs(
    capsys: pytest.CaptureFixture[str], problems: list[Problem]
):
    told = store_slow_run("told", {one: ["TLE"] for one in problems})
    imported = store_slow_run("growth", {one: ["AC"] for one in problems}, source={"site": "other"})
    for starts in imported.manifest["prepared"]["slow_programs"].values():
        starts[0]["submission"] += 1_000_000
    imported.save()
    document = report(capsys, told, imported)
    assert figures(document)["conversion, equal repairs"]["contrast"]["first"] == 1
    assert [row["submission"] for row in document["rows"]] == [
        store_submission(one, SLOW, "python").pk for one in problems
    ]


def test_runs_that_cannot_be_compared_are_refused(problems: list[Problem]):
    chains = {one: ["TLE"] for one in problems}
    told, growing = store_slow_run("told", chains), store_slow_run("growth", chains)
    assert "Name one run of slow-told, and at least one run of another arm" in refusal(told)
    assert "Name one run of slow-told" in refusal(told, store_slow_run("told", chains), growing)
    assert "which is not an arm of slow programs" in refusal(
        told, store_slow_run("x", chains, method="refine")
    )
    assert "one dataset and one model" in refusal(
        told, store_slow_run("growth", chains, model_spec="openai:n")
    )
    other = store_slow_run("growth", chains, parameters={"language": "python", "r": 2, "starts": 5})
    assert "These differ: r." in refusal(told, other)


def shown_numbers(found: Any) -> list[str]:
    """Return the texts that a figure of the JSON document must have on the page."""
    contrast = found["contrast"]
    if found["name"].startswith("speed"):
        return []
    if found["name"].startswith("change"):
        return [f"{contrast['first']:+.2f}", f"{contrast['second']:+z.2f}", f"{contrast['difference']:+.2f}"]
    texts = [f"{100 * contrast[name]:z.0f} %" for name in ("first", "second")]
    return [*texts, f"{100 * contrast['difference']:+z.0f} points", f"{100 * contrast['low']:+z.0f} to"]


def test_the_page_shows_the_figures_of_the_command(
    capsys: pytest.CaptureFixture[str], problems: list[Problem], researcher: Client
):
    assert "There is no run of an arm of slow programs yet." in researcher.get("/runs/slow/").content.decode()
    told = store_slow_run(
        "told", {one: ["TLE", "AC"] if n < 2 else ["TLE"] * 3 for n, one in enumerate(problems)}
    )
    growing = store_slow_run(
        "growth", {one: ["AC"] if n < 6 else ["TLE", "WA"] if n < 7 else [] for n, one in enumerate(problems)}
    )
    for place, one in enumerate(problems[:2]):
        store_curve(one, repaired("told", "AC", 2), growth(1.5, 0.5))
        store_curve(one, repaired("growth", "AC", 1), growth(1.0 + place / 10, 0.25))
    document = report(capsys, told, growing)
    assert f'value="{told.pk}"' in researcher.get("/runs/slow/").content.decode()
    address = f"/runs/slow/?run={told.pk}&run={growing.pk}"
    page = researcher.get(address).content.decode()
    place = 0
    for found in document["arms"][0]["figures"]:
        for text in shown_numbers(found):
            assert text in page[place:], (found["name"], text)
            place = page.index(text, place)
    for row in document["rows"]:
        assert f'href="/runs/growth/{row["submission"]}/"' in page
        for outcome in row["outcomes"].values():
            assert f'href="/runs/chains/{outcome["item"]}/"' in page
    assert "the chain is pending" in page
    assert f'href="/runs/{growing.pk}/items/"' in page
    assert "left out: 5, the growth of the last program is not measured" in page
    assert "simulated" not in page
    alone = researcher.get(f"/runs/slow/?run={told.pk}")
    assert alone.status_code == 400
    assert "Name one run of slow-told, and at least one run of another arm." in alone.content.decode()
    assert researcher.get(f"/runs/slow/?run={UUID(int=0)}").status_code == 404


@pytest.mark.slow
def test_the_page_follows_measurements_comparisons_and_verdicts(problems: list[Problem], researcher: Client):
    told = store_slow_run("told", {one: ["TLE", "AC"] for one in problems})
    growing = store_slow_run("growth", {one: ["AC"] for one in problems})

    def shown() -> str:
        page = researcher.get(f"/runs/slow/?run={told.pk}&run={growing.pk}").content.decode()
        return re.sub(r'value="\w{64}"', "", page)  # the token of the form

    pages = [shown()]
    assert shown() == pages[0]
    store_curve(problems[0], repaired("told", "AC", 2), growth(1.5, 0.5))
    store_curve(problems[0], repaired("growth", "AC", 1), growth(1.0, 0.25))
    pages.append(shown())
    repair = store_submission(problems[1], repaired("growth", "AC", 1), "python")
    slow = store_submission(problems[1], SLOW, "python")
    SlowComparison.objects.create(
        slow=slow,
        candidate=repair,
        recipe_hash="r",
        judge_version="1",
        compared=3,
        difference={},
        slow_is_wrong=True,
    )
    pages.append(shown())
    Run.objects.filter(pk=growing.pk).update(rejudged_at=timezone.now())
    growing.items.get(problem=problems[2]).generations.update(hidden_judgement=None)
    pages.append(shown())
    assert len(set(pages)) == 4, "each change is shown"


def test_the_number_of_queries_does_not_depend_on_the_number_of_chains(
    problems: list[Problem], researcher: Client, django_assert_max_num_queries: DjangoAssertNumQueries
):
    runs = [
        store_slow_run(arm, {one: ["TLE", "AC"] for one in problems}) for arm in ("told", "growth", "replan")
    ]
    with django_assert_max_num_queries(30):
        assert researcher.get("/runs/slow/?" + "&".join(f"run={run.pk}" for run in runs)).status_code == 200
