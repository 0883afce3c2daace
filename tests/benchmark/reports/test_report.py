"""manage.py report: figures, their intervals, and warnings."""

import csv
import io
import json
import uuid
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from pytest_django import DjangoAssertNumQueries

from benchmark.metrics import cluster_bootstrap, problem_t, wilson
from benchmark.models import Judgement, Run
from tests.benchmark.reports.conftest import MakeRun


def report(
    capsys: pytest.CaptureFixture[str], *runs: Run, form: str = "text", k: tuple[int, ...] = (1,)
) -> str:
    call_command("report", *(str(run.pk) for run in runs), "--format", form, "--k", *map(str, k))
    return capsys.readouterr().out


def figures(capsys: pytest.CaptureFixture[str], run: Run, k: tuple[int, ...] = (1,)) -> dict[str, Any]:
    [document] = json.loads(report(capsys, run, form="json", k=k))["runs"]
    return dict(document)


def test_one_attempt_a_problem_has_a_wilson_interval_in_all_and_by_tier(
    make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run([("bronze", ["AC"]), ("bronze", ["WA"]), ("gold", ["NO_CODE"]), ("", ["AC"])])
    said = figures(capsys, run)
    assert [(group["name"], group["problems"], group["solved"]) for group in said["groups"]] == [
        ("all", 4, 2),
        ("bronze", 2, 1),
        ("gold", 1, 0),
        ("no tier", 1, 1),
    ]
    for group in said["groups"]:
        [figure] = group["pass_at"]
        assert (figure["value"], figure["interval"]) == (group["solved"] / group["problems"], "wilson")
        assert (figure["low"], figure["high"]) == wilson(group["solved"], group["problems"])
    assert said["verdicts"] == {"AC": 2, "WA": 1, "NO_CODE": 1}
    assert (said["complete"], said["caveats"]) == (True, [])


def test_verdicts_near_the_limit_and_several_time_factors_are_reported(
    make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run([("bronze", ["AC", "TLE", "AC"])])
    judgements = Judgement.objects.filter(work_items__run=run).order_by("pk")
    Judgement.objects.filter(pk__in=[one.pk for one in judgements[:2]]).update(near_limit=True)
    Judgement.objects.filter(pk=judgements[2].pk).update(time_factor=1.25)
    found = figures(capsys, run)
    assert (found["near_limit"], found["time_factors"]) == (2, [1.0, 1.25])
    printed = report(capsys, run)
    assert "2 of 3 verdicts are near the time limit" in printed
    assert "with time factors 1.00, 1.25" in printed


def test_several_attempts_are_averaged_within_problems_with_t_over_few_of_them(
    make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run([("bronze", ["AC", "AC", "WA", "WA"]), ("bronze", ["WA", "WA", "WA", "WA"])])
    first, second = figures(capsys, run, k=(1, 2))["groups"][0]["pass_at"]
    assert first["value"] == 0.25
    assert ((first["low"], first["high"]), first["interval"]) == problem_t([0.5, 0.0])
    assert first["interval"] == "t"
    assert second["value"] == pytest.approx((5 / 6) / 2)
    call_command("report", str(run.pk), "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {row["interval_method"] for row in rows if row["figure"] == "pass@1"} == {"t"}
    assert {row["interval_method"] for row in rows if row["figure"] == "seconds of calls"} == {""}


@pytest.mark.slow
def test_many_problems_with_several_attempts_keep_the_bootstrap(
    make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    attempts = [("", ["AC", "WA"])] * 20 + [("", ["WA", "WA"])] * 39
    few = figures(capsys, make_run(attempts))["groups"][0]["pass_at"][0]
    assert few["interval"] == "t"
    many = figures(capsys, make_run([*attempts, ("", ["WA", "WA"])]))["groups"][0]["pass_at"][0]
    expected = cluster_bootstrap([0.5] * 20 + [0.0] * 40)
    assert ((many["low"], many["high"]), many["interval"]) == (expected, "bootstrap")


def test_no_certainty_is_claimed_where_all_problems_came_out_alike(
    make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run([("bronze", ["WA", "WA"]), ("bronze", ["WA", "WA"]), ("gold", ["AC", "WA"])])
    everything, bronze, _ = (group["pass_at"][0] for group in figures(capsys, run)["groups"])
    assert everything["interval"] == "t"
    assert (bronze["interval"], bronze["low"]) == ("bound", 0)
    assert bronze["high"] == pytest.approx(1 - 0.05 ** (1 / 2))
    assert "t on the means of fewer than 60 problems or contests; bound, where all" in report(capsys, run)


def test_pass_at_k_beyond_the_attempts_is_refused(make_run: MakeRun) -> None:
    with pytest.raises(CommandError, match=r"pass@2 needs at least 2 attempts per problem; run .* has 1"):
        call_command("report", str(make_run([("bronze", ["AC"])]).pk), "--k", "2")


def test_an_unfinished_run_says_so_and_counts_no_fault_as_an_answer(
    make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run([("bronze", ["AC"]), ("bronze", ["fault"]), ("bronze", [""]), ("gold", ["fault"])])
    said = figures(capsys, run)
    assert (said["complete"], said["done"], said["failed"], said["total"]) == (False, 1, 2, 4)
    assert said["caveats"] == ["Incomplete: 1 of 4 items are done; the figures are of those only."]
    assert said["faults"] == {"provider fault (server): <down> & out": 2}
    assert said["groups"][0]["pass_at"][0]["value"] == 1.0
    assert said["groups"][2]["pass_at"][0]["value"] is None
    text = report(capsys, run)
    assert "Incomplete: 1 of 4" in text
    assert "n/a" in text
    assert "2 x provider fault (server): <down> & out" in text


def test_a_run_without_any_attempt_yet_has_no_figure(
    make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run([("bronze", [""])])
    for form in ("text", "json", "csv", "html"):
        report(capsys, run, form=form)
    assert figures(capsys, run)["groups"][0]["pass_at"][0]["value"] is None


@pytest.mark.parametrize(
    ("unknown", "said"), [(0, "300"), (1, "at least 200 (unknown for 1 of 3 generations)"), (3, "unknown")]
)
def test_unknown_tokens_are_written_as_unknown(
    make_run: MakeRun, capsys: pytest.CaptureFixture[str], unknown: int, said: str
) -> None:
    run = make_run([("bronze", ["AC"]), ("bronze", ["WA"]), ("bronze", ["WA"])], unknown=unknown)
    [line] = [line for line in report(capsys, run).splitlines() if line.strip().startswith("input")]
    assert line.split(maxsplit=1)[1] == said


def test_figures_of_scripted_replies_say_that_they_prove_nothing(
    make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "scripted" in report(capsys, make_run([("bronze", ["AC"])], model="practice:student"))


def test_csv_has_one_figure_a_row_for_every_run(
    make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [make_run([("bronze", ["AC"]), ("gold", ["WA"])]), make_run([("bronze", ["AC"])], unknown=1)]
    rows = list(csv.DictReader(io.StringIO(report(capsys, *runs, form="csv"))))
    found = {(row["run"], row["figure"], row["group"]): row for row in rows}
    assert float(found[str(runs[0].pk), "pass@1", "all"]["value"]) == 0.5
    assert found[str(runs[0].pk), "pass@1", "gold"]["n"] == "1"
    error = found[str(runs[0].pk), "pass@1 standard error", "all"]["value"]
    assert float(error) == pytest.approx(0.5 / 2**0.5)
    assert float(found[str(runs[0].pk), "verdict WA", "all"]["value"]) == 0.5
    assert found[str(runs[0].pk), "input tokens", "all"]["value"] == "200"
    assert found[str(runs[1].pk), "input tokens", "all"]["value"] == ""


def test_html_is_one_escaped_file_without_outside_parts(
    make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    page = report(
        capsys, make_run([("bronze", ["AC"]), ("bronze", ["fault"])], model="openai:<b>"), form="html"
    )
    assert "openai:&lt;b&gt;" in page
    assert "&lt;down&gt; &amp; out" in page
    assert "<b>" not in page
    assert "100.00 %" in page
    for outside in ("http://", "https://", "<script", "src=", "<link"):
        assert outside not in page


def test_text_columns_line_up(make_run: MakeRun, capsys: pytest.CaptureFixture[str]) -> None:
    lines = report(capsys, make_run([("bronze", ["AC"]), ("platinum", ["WA"])])).splitlines()
    table = [line for line in lines if line.lstrip().startswith(("problems", "all", "bronze", "platinum"))]
    assert len(table) == 4
    columns = [line.index("%") for line in table[1:]]
    assert len(set(columns)) == 1


def test_the_number_of_queries_does_not_grow_with_the_run(
    make_run: MakeRun, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    small, large = make_run([("bronze", ["AC"])]), make_run([("bronze", ["AC", "WA"])] * 20)
    for run in (small, large):
        with django_assert_num_queries(7):
            call_command("report", str(run.pk))


def test_an_unknown_run_is_refused_with_the_latest_ones(make_run: MakeRun) -> None:
    run = make_run([("bronze", ["AC"])])
    for name in ("not-an-id", str(uuid.uuid4())):
        with pytest.raises(CommandError) as raised:
            call_command("report", name)
        assert str(run.pk) in str(raised.value)
