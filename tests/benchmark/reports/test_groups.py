"""Figures of groups: tags, years, the model's cutoff, contests, Tests@k, cost and time; published tables."""

import json
from datetime import UTC, date, datetime, timedelta
from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command

from benchmark.metrics import problem_t
from benchmark.models import CachedRunReport, Generation, Judgement, Run
from benchmark.reports import measure
from benchmark.reports.cached_report import run_report, store_report
from benchmark.reports.cutoffs import cutoff_of, known_cutoffs
from benchmark.reports.published_tables import published_tables
from tests.benchmark.reports.conftest import MakeRun

CONTESTS = [
    ("US Open 2022", date(2022, 3, 1)),
    ("US Open 2022", date(2022, 3, 1)),
    ("December 2023", date(2023, 12, 1)),
    ("", None),
]


@pytest.fixture
def run(make_run: MakeRun) -> Run:
    return make_run(
        [
            ("bronze", ["AC", "WA"]),
            ("bronze", ["AC", "AC"]),
            ("gold", ["WA", "NO_CODE"]),
            ("gold", ["WA", "WA"]),
        ],
        model="openai:gpt-4-1106-preview",
        contests=CONTESTS,
        tags=[["dp"], ["dp", "graphs"], [], ["graphs"]],
    )


def report(capsys: pytest.CaptureFixture[str], run: Run, *arguments: str) -> dict[str, Any]:
    call_command("report", str(run.pk), "--format", "json", *arguments)
    return dict(json.loads(capsys.readouterr().out)["runs"][0])


def test_problems_are_grouped_by_tag_year_and_the_models_cutoff(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    said = report(capsys, run)
    groups = {(group["by"], group["name"]): (group["problems"], group["solved"]) for group in said["groups"]}
    assert groups == {
        ("all", "all"): (4, 3),
        ("tier", "bronze"): (2, 3),
        ("tier", "gold"): (2, 0),
        ("cutoff", "before"): (2, 3),
        ("cutoff", "after"): (1, 0),
        ("cutoff", "no date"): (1, 0),
        ("tag", "dp"): (2, 3),
        ("tag", "graphs"): (2, 2),
        ("year", "2022"): (2, 3),
        ("year", "2023"): (1, 0),
    }
    assert said["cutoff"] == "2023-04-30"
    assert "The model may have read 2 of 4 problems" in " ".join(said["caveats"])
    moved = report(capsys, run, "--cutoff", "2021-01-01")
    assert {g["name"]: g["problems"] for g in moved["groups"] if g["by"] == "cutoff"} == {
        "after": 3,
        "no date": 1,
    }
    run.manifest["cutoff"] = "2022-01-01"  # as `run_baseline --cutoff` stores it
    assert measure(run).cutoff == date(2022, 1, 1)
    del run.manifest["cutoff"]
    call_command("report", str(run.pk))
    text = capsys.readouterr().out
    assert "until 2023-04-30" in text
    assert "(by year of the contest)" in text


def test_every_known_cutoff_has_a_source_and_no_other_model_one() -> None:
    assert cutoff_of("gpt-4-1106-preview") == date(2023, 4, 30)
    assert cutoff_of("o3-mini-2025-01-31") == date(2023, 10, 31)
    assert cutoff_of("gpt-4o") is None, "the name alone may mean any version"
    assert len(known_cutoffs()) > 20


def test_the_model_that_answered_decides_on_the_cutoff(make_run: MakeRun) -> None:
    run = make_run([("bronze", ["AC"]), ("bronze", ["AC"])], model="openai:gpt-4o")
    assert (measure(run).cutoff, measure(run).models_returned) == (None, ("m-2026",))
    Generation.objects.update(model_returned="gpt-4o-2024-08-06")
    assert measure(run).cutoff == date(2023, 10, 31)
    Generation.objects.filter(work_item=run.items.all()[0]).update(model_returned="m-2027")
    assert measure(run).cutoff is None
    assert "several models: gpt-4o-2024-08-06, m-2027" in " ".join(measure(run).warnings)


def test_contests_are_drawn_whole_where_every_problem_has_one(make_run: MakeRun) -> None:
    dated = make_run([("bronze", ["AC"]), ("bronze", ["AC"]), ("bronze", ["WA"])], contests=CONTESTS[:3])
    figure = measure(dated).groups[0].pass_at[0]
    assert figure.contests == 2
    interval = figure.contest_low, figure.contest_high
    assert (interval, figure.contest_interval) == problem_t([1, 1, 0], ["a", "a", "b"])
    assert figure.contest_interval == "t"
    undated = measure(make_run([("bronze", ["AC"]), ("bronze", ["WA"])], contests=CONTESTS[2:])).groups[0]
    assert undated.pass_at[0].contest_low is None


def test_shares_of_tests_are_lower_bounds_where_judging_stopped_early(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    def tests_at() -> list[dict[str, Any]]:
        return list(report(capsys, run, "--k", "1", "2")["groups"][0]["tests_at"])

    once, twice = tests_at()
    # Shares by problem: (1, 1/4), (1, 1), (1/4, 0 without code), (1/4, 1/4).
    assert once["value"] == pytest.approx((0.625 + 1 + 0.125 + 0.25) / 4)
    assert twice["value"] == pytest.approx((1 + 1 + 0.25 + 0.25) / 4)
    assert once["at_least"]
    Judgement.objects.update(stop_at_first_failure=False)
    assert not tests_at()[0]["at_least"]
    call_command("report", str(run.pk))
    assert "≥" not in capsys.readouterr().out


def test_cost_is_unknown_without_a_price_and_a_lower_bound_without_all_tokens(
    make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = make_run([("bronze", ["AC"]), ("bronze", ["WA"])])
    assert report(capsys, whole)["cost"] is None
    priced = report(capsys, whole, "--price", "10", "30")
    assert priced["cost"] == pytest.approx((200 * 10 + 20 * 30) / 1e6)
    assert priced["seconds"] == 2.0
    partly = make_run([("bronze", ["AC"]), ("bronze", ["WA"])], unknown=1)
    call_command("report", str(partly.pk), "--price", "1000000", "0")
    assert "at least 100.00 US dollars" in capsys.readouterr().out
    scripted = make_run([("bronze", ["AC"])], model="practice:student")
    assert report(capsys, scripted)["cost"] == 0, "a program asks for no money"
    assert report(capsys, scripted, "--price", "10", "30")["cost"] == pytest.approx(
        (100 * 10 + 10 * 30) / 1e6
    )
    with pytest.raises(CommandError, match="not a number of dollars"):
        call_command("report", str(whole.pk), "--price", "-1", "2")


def test_the_papers_rows_stand_beside_the_same_method_with_what_does_not_fit(
    make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(
        [("bronze", ["AC"])], method="episodic", parameters={"p": 2, "query": "reply", "temperature": 0.7}
    )
    found = {(one["table"], one["row"]): one for one in report(capsys, run)["published"]}
    assert found["T2", "episodic"]["values"] == {"GPT-3.5": 5.49, "GPT-4": 14.33}
    assert any("14.98" in mark for mark in found["T2", "episodic"]["marks"])
    assert {("T8", "statement and reply"), ("T9", "p = 2")} <= found.keys()
    assert ("T9", "p = 1") not in found
    assert found.keys().isdisjoint({("B1", "episodic"), ("T2", "zero-shot")})


def test_every_published_table_is_well_formed() -> None:
    tables = published_tables()
    assert [f"T{number}" for number in range(1, 13)] == [name for name in tables if name.startswith("T")][:12]
    assert "B1" in tables
    for table in tables.values():
        assert table.source, table.name
        assert len({row.name for row in table.rows}) == len(table.rows)
    assert tables["T4"].marks_at("GPT-4", "MLE") == [1, 3]
    assert tables["T2"].value("episodic + Reflexion", "GPT-4") == 20.2


def test_stored_figures_are_those_measured_until_the_run_goes_on(
    run: Run, django_assert_num_queries: Any
) -> None:
    run.state, run.finished_at = Run.State.FINISHED, datetime(2026, 1, 1, tzinfo=UTC)
    run.started_at = run.finished_at - timedelta(hours=1)
    run.save()
    assert run_report(run) == measure(run)
    assert not CachedRunReport.objects.exists(), "reading a report stores nothing"
    first = store_report(run)
    assert first == measure(run)
    with django_assert_num_queries(2):  # the stored figures, and the memory probes
        assert run_report(run) == first
    run.state, run.finished_at = Run.State.OPEN, None
    run.save()
    run.items.filter(chain=1).update(state="pending")
    assert run_report(run).done == 4
    run.items.update(state="pending")
    assert run_report(run).done == 0


def test_the_migration_counts_unknown_and_cached_tokens_of_stored_runs(make_run: MakeRun) -> None:
    run = make_run([("bronze", ["AC"]), ("bronze", ["WA"]), ("bronze", ["WA"])], unknown=2)
    repeated, first, *_ = Generation.objects.filter(work_item__run=run).order_by("pk")
    Generation.objects.filter(work_item__run=run).update(cached_input_tokens=7)
    Generation.objects.filter(pk=repeated.pk).update(reused=first)
    migration = import_module("benchmark.migrations.0024_count_calls_without_tokens")
    migration.count_from_rows(apps, None)
    run.refresh_from_db()
    assert (run.calls_without_tokens, run.paid_cached_input_tokens) == (1, 14)
