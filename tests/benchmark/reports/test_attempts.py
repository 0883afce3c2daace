"""Counting of attempts: Refine@K, permanent failures, finish reasons and runs that build verifiers."""

import csv
import io
import json
import re
from datetime import UTC, datetime
from html import unescape
from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils.html import strip_tags
from hypothesis import given
from hypothesis import strategies as st

from benchmark.methods import METHODS
from benchmark.models import CachedRunReport, Dataset, Generation, Run, Verifier, WorkItem
from benchmark.models.finishes import counted, finish_warnings
from benchmark.reports.cached_report import run_report, store_report
from tests.benchmark.refinement.test_refinement import make_run as make_chains
from tests.benchmark.reports.conftest import MakeRun
from tests.benchmark.test_run_pages import Visit, visit  # noqa: F401  a fixture

FINISHED = {"state": "finished", "finished_at": datetime(2026, 1, 2, tzinfo=UTC)}


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    call_command(*arguments)
    return capsys.readouterr().out


def figures(capsys: pytest.CaptureFixture[str], run: Run, *arguments: str) -> dict[str, Any]:
    text = printed(capsys, "report", str(run.pk), "--format", "json", *arguments)
    document: dict[str, Any] = json.loads(text)["runs"][0]
    return document


def csv_values(capsys: pytest.CaptureFixture[str], run: Run) -> dict[str, str]:
    """Return the value of each figure over all problems."""
    text = printed(capsys, "report", str(run.pk), "--format", "csv")
    return {row["figure"]: row["value"] for row in csv.DictReader(io.StringIO(text)) if row["group"] == "all"}


def reject(run: Run, count: int, fault: str = "provider fault (bad_request): too long") -> None:
    """Turn the last items of a run into permanent failures."""
    for item in run.items.order_by("-pk")[:count]:
        item.generations.all().delete()
        WorkItem.objects.filter(pk=item.pk).update(
            state="failed", fault=fault, permanent=True, selected=None, judgement=None
        )


# Refine@K


@pytest.fixture
def refined(db: None) -> Run:
    """A run with two problems, solved at attempts 5 and 2 of 5."""
    dataset = Dataset.objects.create(name="eval", format="icpc-eval")
    chains = [["WA"] * 4 + ["AC"], ["WA", "AC"]]
    run = make_chains(dataset, "refine", 1, chains, k=5, g=1, history="last")
    Run.objects.filter(pk=run.pk).update(**FINISHED)
    for name, tier, tags in (("p0", "gold", ["dp"]), ("p1", "bronze", ["dp", "graphs"])):
        problem = dataset.problems.get(external_id=name)
        problem.tier, problem.tags = tier, tags
        problem.save()
    run.refresh_from_db()
    return run


def test_a_refine_run_is_reported_as_refine_at_k_in_every_group_and_format(
    refined: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    said = figures(capsys, refined)
    everything, *groups = said["groups"]
    assert (said["scoring"], everything["pass_at"], everything["tests_at"]) == ("refine", [], [])
    assert [point["value"] for point in everything["refine_at"]] == [0.0, 0.5, 0.5, 0.5, 1.0]
    assert (everything["chains"], everything["attempts"], everything["solved"]) == (2, 7, 2)
    assert said["metrics"] == {"attempts_per_solved": 3.5}
    assert {group["name"]: [point["value"] for point in group["refine_at"]] for group in groups} == {
        "bronze": [0, 1, 1, 1, 1],
        "gold": [0, 0, 0, 0, 1],
        "dp": [0, 0.5, 0.5, 0.5, 1],
        "graphs": [0, 1, 1, 1, 1],
    }
    values = csv_values(capsys, refined)
    assert [float(values[f"Refine@{k}"]) for k in range(1, 6)] == [0.0, 0.5, 0.5, 0.5, 1.0]
    for form in ("text", "csv", "html", "json"):
        text = printed(capsys, "report", str(refined.pk), "--format", form)
        assert "pass@1" not in text, form
    text = printed(capsys, "report", str(refined.pk))
    assert (
        "Refine@5 100.00 % [34.24, 100.00] (Refine@1 … Refine@5: 0.00, 50.00, 50.00, 50.00, 100.00 %)" in text
    )


def test_a_refine_run_stands_apart_from_pass_at_1_on_every_page(
    refined: Run,
    visit: Visit,  # noqa: F811
) -> None:
    once = make_chains(refined.dataset, "zero-shot", 1, [["WA"], ["AC"]])
    sampled = make_chains(refined.dataset, "zero-shot", 5, [["WA"] * 5, ["AC"] + ["WA"] * 4])
    for run in (once, sampled):
        Run.objects.filter(pk=run.pk).update(**FINISHED)
    for run in Run.objects.all():
        store_report(run)
    page = visit(f"/runs/{refined.pk}/")
    assert "Refine@5 100.00 %" in page
    assert "0.00 · 50.00 · 50.00 · 50.00<" in page
    assert "pass@1" not in page
    board = visit("/runs/")
    ranked, apart = board.split("refined-heading", 1)
    assert str(refined.pk) not in ranked.split("finished-heading", 1)[1]
    assert str(once.pk) not in apart
    row = strip_tags(apart[apart.index(f"/runs/{refined.pk}/") :].split("</tr>")[0])
    # Five attempts at p0 and p1: pass@5 is 0.5. Refinement took 500 and 200 tokens, 50 buy one attempt.
    for said in (
        "Refine@1: 0.00 %",
        "Refine@5: 100.00 %",
        "Equal attempts: 50.00 %",
        "Equal tokens: 40.00 %",
    ):
        assert said in " ".join(row.split()), said
    assert CachedRunReport.objects.get(run=refined).score == 1.0


def test_a_refine_run_is_compared_by_name_at_equal_attempts_and_tokens(
    refined: Run,
    visit: Visit,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    sampled = make_chains(refined.dataset, "zero-shot", 5, [["WA"] * 5, ["AC"] + ["WA"] * 4])
    text = printed(capsys, "compare", str(sampled.pk), str(refined.pk))
    assert "pass@1: 10.00 % -> Refine@5: 100.00 %, difference +90.00 points" in text
    assert "this, Refine@1 … Refine@5: 0.00 %, 50.00 %, 50.00 %, 50.00 %, 100.00 %" in text
    assert "At 1 attempt each: pass@1 10.00 % and Refine@1 0.00 %." in text
    [pair] = json.loads(printed(capsys, "compare", str(sampled.pk), str(refined.pk), "--json"))["pairs"]
    assert (pair["first_figure"], pair["figure"], pair["curve"]) == (
        "pass@1",
        "Refine@5",
        [0, 0.5, 0.5, 0.5, 1],
    )
    assert pair["resampling"]["pass_same_k"]["value"] == 0.5
    page = visit(f"/runs/compare/?run={sampled.pk}&run={refined.pk}")
    for said in ("pass@1", "Refine@5", "Independent attempts give 50.00 % with as many attempts"):
        assert said in page


def test_restarts_are_no_further_attempts_of_refine_at_k(
    db: None,
    capsys: pytest.CaptureFixture[str],
    visit: Visit,  # noqa: F811
) -> None:
    """Two starts of two attempts: a problem that its second start solves is not solved within the first."""
    dataset = Dataset.objects.create(name="eval", format="icpc-eval")
    run = make_chains(dataset, "refine", 1, [["WA", "WA", "AC"], ["AC"]], k=2, g=2, history="last")
    Generation.objects.filter(work_item__run=run, step=2).update(purpose="solve")
    said = figures(capsys, run)
    assert [point["value"] for point in said["groups"][0]["refine_at"]] == [0.5, 0.5]
    assert (said["groups"][0]["attempts"], said["solved"]) == (4, 2)
    assert "Refine@k counts the first of up to 2 starts of a chain" in " ".join(said["caveats"])
    [curve] = json.loads(printed(capsys, "refinement", str(run.pk), "--json"))["refinements"]
    assert [point["value"] for point in curve["refine"]] == [0.5, 0.5]
    assert (curve["with_restarts"]["value"], curve["restarted"]) == (1.0, 1)
    assert "1 chain restarted; with all starts, the share solved is 100.00 %" in visit(
        f"/runs/{run.pk}/refinement/"
    )


# Runs that build verifiers


@pytest.fixture
def building(make_run: MakeRun) -> Run:
    """A run that built verifiers for two of three problems."""
    run = make_run(
        [("bronze", ["NO_CODE"]), ("bronze", ["NO_CODE"]), ("gold", ["NO_CODE"])],
        method="verifier",
        **FINISHED,
    )
    Generation.objects.filter(work_item__run=run).update(purpose="verifier")
    for problem, state in zip(run.dataset.problems.all(), ("ready", "ready", "no-oracle"), strict=True):
        Verifier.objects.create(problem=problem, run=run, state=state, record={}, problem_hash="")
    return run


def test_a_run_that_builds_verifiers_has_no_score(
    building: Run,
    capsys: pytest.CaptureFixture[str],
    client: Client,
    visit: Visit,  # noqa: F811
    make_run: MakeRun,
) -> None:
    said = figures(capsys, building)
    assert (said["scoring"], said["solved"], said["verdicts"], said["done"]) == ("none", None, {}, 3)
    assert said["verifiers"] == {"no-oracle": 1, "ready": 2}
    assert said["groups"][0]["pass_at"] == said["groups"][0]["refine_at"] == []
    for form in ("text", "csv", "html"):
        text = printed(capsys, "report", str(building.pk), "--format", form)
        for absent in ("pass@", "NO_CODE", "solved"):
            assert absent not in text, (form, absent)
    other = make_run([("bronze", ["AC"])], on=building, **FINISHED)
    with pytest.raises(CommandError, match="builds verifiers and makes no attempts"):
        call_command("compare", str(other.pk), str(building.pk))
    ranked, apart = visit("/runs/").split("building-heading", 1)
    assert str(building.pk) not in ranked
    assert str(building.pk) in apart
    page = visit(f"/runs/{building.pk}/")
    assert "It makes no attempts, so it has no score" in page
    assert "pass@1" not in page
    assert str(building.pk) not in visit("/runs/compare/")
    assert "NO_CODE" not in visit(f"/runs/{building.pk}/items/")
    item = building.items.first()
    assert item
    chain = visit(f"/runs/chains/{item.pk}/")
    assert "Verifier program (not an attempt)" in chain
    assert ">NO_CODE<" not in chain
    for address in ("compare", "matrix"):
        answer = client.get(f"/runs/{address}/?run={other.pk}&run={building.pk}")
        assert answer.status_code == 400


# Permanent failures


def test_permanent_failures_count_as_wrong_unless_they_are_excluded(
    make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    """26 planned items, 24 answered, 12 of them right."""
    problems = [("bronze", ["AC"])] * 12 + [("gold", ["WA"])] * 14
    run = make_run(problems, **FINISHED, manifest={"failures": "wrong"})
    reject(run, 2)
    said = figures(capsys, run)
    everything = said["groups"][0]
    assert (said["failures"], everything["chains"], everything["permanent"]) == ("wrong", 24, 2)
    shown = {name: everything[name][0]["value"] for name in ("pass_at", "answered_at", "planned_at")}
    assert shown == {"pass_at": 12 / 26, "answered_at": 0.5, "planned_at": 12 / 26}
    assert (said["complete"], said["permanent"]) == (True, {"provider fault (bad_request): too long": 2})
    assert "2 of 26 items failed permanently" in said["caveats"][0]
    assert said["groups"][2]["name"] == "gold"
    assert said["groups"][2]["permanent"] == 2
    excluded = figures(capsys, run, "--failures", "excluded")
    assert excluded["groups"][0]["pass_at"][0]["value"] == 0.5
    values = csv_values(capsys, run)
    assert float(values["pass@1"]) == float(values["pass@1 of planned items"]) == pytest.approx(12 / 26)
    assert (float(values["pass@1 of answered items"]), values["permanently failed items"]) == (0.5, "2")
    for form in ("text", "html"):
        text = printed(capsys, "report", str(run.pk), "--format", form)
        for share in ("46.15 %", "50.00 %", "of answered", "of planned"):
            assert share in text, (form, share)


def test_another_choice_on_resume_is_not_answered_from_the_cache(make_run: MakeRun) -> None:
    run = make_run([("bronze", ["AC"]), ("bronze", ["WA"]), ("bronze", [""])], state="stopped")
    WorkItem.objects.filter(run=run, judgement__verdict="WA").update(
        state="failed", permanent=True, fault="x"
    )
    for failures, value in (("wrong", 0.5), ("excluded", 1.0)):
        run.manifest["failures"] = failures
        run.save()
        found = run_report(run).headline
        assert found
        assert found.value == value
        store_report(run)


def test_the_migration_marks_stored_failures_that_are_permanent(make_run: MakeRun) -> None:
    run = make_run([("bronze", ["AC"]), ("bronze", ["fault"]), ("gold", ["fault"])])
    rejected = run.items.filter(state="failed").latest("pk")
    rejected.fault = "provider fault (bad_request): OpenAI: too long (HTTP 400)."
    rejected.save()
    import_module("benchmark.migrations.0025_permanent_failures").mark_rejected(apps, None)
    assert list(run.items.filter(permanent=True)) == [rejected]


def test_a_run_from_before_the_choice_says_that_wrong_is_assumed(
    make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run([("bronze", ["AC"]), ("bronze", ["WA"]), ("bronze", [""])])
    reject(run, 2)
    said = figures(capsys, run)
    assert said["groups"][0]["pass_at"][0]["value"] == pytest.approx(1 / 3)
    assert "The run stores no choice of --failures; its headline assumes wrong." in said["caveats"]


def test_items_that_are_not_done_yet_are_no_failures(
    make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run([("bronze", ["AC"]), ("bronze", [""]), ("bronze", ["fault"]), ("bronze", ["WA"])])
    reject(run, 1)
    said = figures(capsys, run)
    everything = said["groups"][0]
    assert (everything["pass_at"][0]["value"], everything["permanent"], said["failed"]) == (0.5, 1, 2)
    assert "Incomplete: 1 of 4 items are done, and 1 failed permanently" in said["caveats"][0]


def test_permanent_failures_are_in_refine_at_k_and_in_fewer_reflections(
    refined: Run, make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    """The provider rejects the chain at p0 after four attempts, which still count."""
    item = refined.items.get(problem__external_id="p0")
    item.generations.filter(step=4).delete()
    WorkItem.objects.filter(pk=item.pk).update(
        state="failed", permanent=True, fault="provider fault (bad_request): x"
    )
    everything = figures(capsys, refined)["groups"][0]
    assert [point["value"] for point in everything["refine_at"]] == [0.0, 0.5, 0.5, 0.5, 0.5]
    assert [point["value"] for point in everything["answered_at"]] == [0.0, 1.0, 1.0, 1.0, 1.0]
    assert (everything["chains"], everything["attempts"], everything["permanent"]) == (1, 6, 1)
    [curve] = json.loads(printed(capsys, "refinement", str(refined.pk), "--json"))["refinements"]
    assert [point["value"] for point in curve["refine"]] == [0.0, 0.5, 0.5, 0.5, 0.5]

    settings = {"i": 1, "selection": "first-passing", "run_all": False}
    run = make_run([("bronze", ["AC"]), ("bronze", ["WA"])], method="reflexion", parameters=settings)
    reject(run, 1)
    assert [one["value"] for one in figures(capsys, run)["after"]] == [0.5, 0.5]
    left_out = figures(capsys, run, "--failures", "excluded")["after"]
    assert [one["value"] for one in left_out] == [1.0, 1.0]


def test_permanent_failures_are_compared_as_the_choice_says(
    make_run: MakeRun,
    capsys: pytest.CaptureFixture[str],
    visit: Visit,  # noqa: F811
) -> None:
    first = make_run([("bronze", ["AC"]), ("bronze", ["AC"])], **FINISHED)
    second = make_run([("bronze", ["AC"]), ("bronze", ["AC"])], on=first, **FINISHED)
    reject(second, 1)
    names = (str(first.pk), str(second.pk))
    comparison = json.loads(printed(capsys, "compare", *names, "--json"))
    [pair] = comparison["pairs"]
    assert (comparison["failures"], pair["problems"], pair["value"]) == ("wrong", 2, 0.5)
    assert pair["transitions"] == {"AC": {"AC": 1, "NO_REPLY": 1}}
    assert "1 attempt of this run failed permanently: counted as wrong (--failures)." in pair["caveats"]
    [pair] = json.loads(printed(capsys, "compare", *names, "--json", "--failures", "excluded"))["pairs"]
    assert (pair["problems"], pair["value"], pair["unpaired"]["only in the first run"]) == (1, 1.0, 1)
    for failures, shown in (("wrong", "50.00 %"), ("excluded", "100.00 %")):
        page = visit(f"/runs/compare/?run={first.pk}&run={second.pk}&failures={failures}")
        for address, number in links(page, "/runs/matrix/"):
            assert f"{number} of " in visit(address), address
        assert shown in page


def links(page: str, prefix: str) -> list[tuple[str, str]]:
    """Return the addresses below a prefix that a number links to."""

    return [
        (unescape(address), number)
        for address, number in re.findall(rf'href="({prefix}[^"]*)"[^>]*>(\d+)</a>', page)
    ]


# Finish reasons


@pytest.fixture
def ended(make_run: MakeRun) -> Run:
    """A run with ten replies: seven complete, one truncated, one filtered and one empty."""
    run = make_run(
        [("bronze", ["AC"])] * 7 + [("gold", ["WA"]), ("gold", ["NO_CODE"]), ("gold", ["NO_CODE"])],
        **FINISHED,
    )
    replies = list(Generation.objects.filter(work_item__run=run).order_by("pk"))
    for reply in replies:
        reply.finish_reason = "stop"
    replies[7].finish_reason = "length"
    replies[8].finish_reason = "content_filter"
    replies[9].text = " \n"
    Generation.objects.bulk_update(replies, ["finish_reason", "text"])
    return run


def test_replies_are_counted_by_how_they_ended_and_warned_about(
    ended: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    said = figures(capsys, ended)
    assert said["finishes"] == {"stop": 7, "length": 1, "refusal": 1, "empty": 1}
    warnings = [
        f"1 of 10 replies (10.0 %): {words}."
        for words in (
            "cut off at the token limit",
            "refused or filtered",
            "empty although it ended by itself",
        )
    ]
    assert [caveat for caveat in said["caveats"] if "replies" in caveat] == warnings
    values = csv_values(capsys, ended)
    assert [values[f"replies {kind}"] for kind in ("stop", "length", "refusal", "empty")] == [
        "7",
        "1",
        "1",
        "1",
    ]
    for form in ("text", "html"):
        text = printed(capsys, "report", str(ended.pk), "--format", form)
        for warning in warnings:
            assert warning in unescape(text)


def test_each_count_of_replies_leads_to_their_chains(
    ended: Run,
    visit: Visit,  # noqa: F811
) -> None:
    page = visit(f"/runs/{ended.pk}/")
    counts = {
        address: number for address, number in links(page, f"/runs/{ended.pk}/items/") if "finish=" in address
    }
    assert sorted(counts.values()) == ["1", "1", "1", "7"]
    for address, number in counts.items():
        assert visit(address).count('class="row-link"') == int(number)
    assert "replies cut off, refused or empty" in visit("/runs/")


@given(
    st.dictionaries(
        st.sampled_from(["stop", "length", "refusal", "empty", "other", "unknown"]), st.integers(0, 1000)
    )
)
def test_a_kind_is_warned_about_above_one_percent_of_all_replies(found: dict[str, int]) -> None:
    shown = counted(found)
    assert sum(shown.values()) == sum(found.values())
    warned = [
        kind for kind in ("length", "refusal", "empty") if 100 * found.get(kind, 0) > sum(found.values())
    ]
    assert len(list(finish_warnings(shown))) == len(warned)


def test_cached_figures_hold_all_of_it(ended: Run, refined: Run, building: Run) -> None:
    reject(ended, 1)
    for run in (ended, refined, building):
        measured = store_report(run)
        assert run_report(run) == measured
        assert CachedRunReport.objects.get(run=run).score == (measured.headline and measured.headline.value)


def test_every_method_says_what_scores_it() -> None:
    assert [name for name, method in METHODS.items() if method.scoring == "refine"] == ["refine"]
    assert [name for name, method in METHODS.items() if method.scoring == "none"] == ["verifier"]


# The base of a comparison


def test_the_base_of_a_comparison_is_the_one_that_was_chosen(
    make_run: MakeRun,
    visit: Visit,  # noqa: F811
) -> None:
    best = make_run([("bronze", ["AC"]), ("bronze", ["AC"])], **FINISHED)
    worst = make_run([("bronze", ["WA"]), ("bronze", ["WA"])], on=best, method="episodic", **FINISHED)
    board = visit("/runs/")
    for run in (best, worst):
        assert f'type="radio" name="base" value="{run.pk}"' in board
    selected = f"run={best.pk}&run={worst.pk}"  # a browser sends boxes in the order of the page
    page = visit(f"/runs/compare/?base={worst.pk}&{selected}")
    assert f'Base run: <a href="/runs/{worst.pk}/">episodic' in page
    assert "+100.00" in page
    assert page.index(f'option value="{worst.pk}"') < page.index(f'option value="{best.pk}"')
    assert f'Base run: <a href="/runs/{best.pk}/">zero-shot' in visit(f"/runs/compare/?{selected}")
    exported = json.loads(visit(f"/runs/compare/?base={worst.pk}&{selected}&form=json"))
    assert exported["first"] == str(worst.pk)
    assert f'Base run: <a href="/runs/{worst.pk}/">' in visit(f"/runs/compare/?base={worst.pk}&run={best.pk}")
