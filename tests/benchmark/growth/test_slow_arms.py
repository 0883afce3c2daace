"""The arms of slow programs end to end with the practice student: commands, judge, measurements, rows and the page."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmark.judging import perform, request_judgement, store_submission
from benchmark.models import Problem
from benchmark.providers.practice import practice_scripts
from judge import SandboxStatus
from tests.benchmark.growth.test_slow_report import figures, shown_numbers
from tests.benchmark.runs.conftest import CommandSandbox
from tests.benchmark.runs.processes import run_apart, use_var
from tests.cached_fixtures import add_prepared
from tests.fake_providers import FakeProviders
from tests.tutoring.arms.simulated_people import open_page

pytestmark = pytest.mark.slow
PROBLEMS = ("ferry-timetable", "hut-to-hut")
"""The practice student believes that a program may be too slow at the first problem, and not at the second."""

TIME_LIMIT = 0.05
"""Seconds, instead of 1, so that slow programs are stopped early. The limit for Python is about three times as long.

Slow programs need 0.3 to 0.4 s, correct ones up to 0.02 s.
"""

LARGEST = ("large", "long-trail")
"""Ends of the names of tests that are left out, because slow programs need seconds for them."""


@pytest.fixture
def practice(tmp_path: Path, sandbox: SandboxStatus) -> CommandSandbox:
    """Return a site with a judged slow program of the practice student at two problems."""
    assert sandbox.available
    var = add_prepared(tmp_path)
    commands = CommandSandbox(var, FakeProviders())
    commands.rows("update benchmark_problem set time_limit = ?", [TIME_LIMIT])
    for name in LARGEST:
        commands.rows("delete from benchmark_testcase where name like ?", [f"%{name}"])
    run_apart(judge_slow_programs, var)
    return commands


def judge_slow_programs(var: Path) -> None:
    """Judge the slow programs of the practice student, with blank lines around them, in a separate process."""
    use_var(var)
    scripts = {script.slug: script for script in practice_scripts()}
    for name in PROBLEMS:
        [program] = [stage.program for stage in scripts[name].stages if stage.verdict == "TLE"]
        problem = Problem.objects.select_related("dataset").get(external_id=name)
        submission = store_submission(problem, f"\n{program}\n\n", "python")
        perform(request_judgement(submission, stop_at_first_failure=False).pk)


def start(practice: CommandSandbox, method: str, *arguments: str) -> str:
    output, _ = practice.manage(
        "run_baseline", "--json", "--dataset", "practice", "--model", "practice:student", "--method", method,
        "--problems", ",".join(PROBLEMS), *arguments,
    )  # fmt: skip
    return str(json.loads(output)["run"])


def test_the_arms_are_compared_from_start_programs_to_the_page(practice: CommandSandbox) -> None:
    starts = json.loads(practice.manage("slow", "starts", "practice", "--measure", "--json")[0])["starts"]
    assert sorted(one["problem"] for one in starts) == [*PROBLEMS]
    right = sum(one["right"] for one in starts)
    arms = ("told", "neutral", "growth", "growth+oracle", "replan")
    runs = [start(practice, f"slow-{arm}", "--set", "r=2") for arm in arms]
    document: dict[str, Any] = json.loads(practice.manage("slow", "report", "--json", "--measure", *runs)[0])
    assert document["simulated"]
    assert (document["starts"], document["right"]) == (2, right)
    assert [arm["arm"] for arm in document["arms"]] == [f"slow-{arm}" for arm in arms[1:]]

    converted = {
        arm["arm"]: figures(document, place)["conversion, equal repairs"]["contrast"]
        for place, arm in enumerate(document["arms"])
    }
    assert {one["second"] for one in converted.values()} == {0.5}, "slow-told converts at the first problem"
    assert (converted["slow-neutral"]["first"], converted["slow-growth"]["first"]) == (0, 1)
    assert converted["slow-growth"]["difference"] == 0.5
    assert converted["slow-growth"]["low"] <= 0 <= converted["slow-growth"]["high"], (
        "two problems show little"
    )
    growing = figures(document, 1)
    assert growing["regression, equal repairs"]["contrast"]["first"] == 0
    net = growing["net, right but slow, equal repairs"]
    assert (net["contrast"]["starts"] if net["contrast"] else 0) == right
    slope, ratio = growing["change of slope"], growing["speed ratio (log)"]
    # A busy machine may give no slope and no ratio; such starts are left out.
    measured = slope["contrast"]["starts"] if slope["contrast"] else 0
    assert measured + sum(slope["left_out"].values()) == 2
    assert ratio["contrast"] is None or ratio["contrast"]["first"] > ratio["contrast"]["second"]

    # The rows are those of the database.
    growth = document["arms"][1]["run"]
    accepted = (
        "select count(*) from benchmark_workitem i join benchmark_judgement j on j.id = i.judgement_id "
        "where replace(i.run_id, '-', '') = replace(?, '-', '') and j.verdict = 'AC'"
    )
    assert practice.rows(accepted, [growth]) == [(2,)]
    assert [row["outcomes"][growth]["verdict"] for row in document["rows"]] == ["AC", "AC"]
    assert {row["submission"] for row in document["rows"]} == {one["submission"] for one in starts}
    told = practice.rows(
        "select g.messages from benchmark_generation g join benchmark_workitem i on i.id = g.work_item_id "
        "where replace(i.run_id, '-', '') = replace(?, '-', '') and g.step = 1",
        [growth],
    )
    assert all("CPU seconds of your program on generated inputs" in messages for (messages,) in told)

    # The page shows the same figures, and every chain and start program leads to its rows.
    page = practice.var / "page.html"
    run_apart(open_page, practice.var, f"/runs/slow/?{'&'.join(f'run={run}' for run in runs)}", page)
    shown = page.read_text()
    place = 0
    for arm in document["arms"]:
        for found in arm["figures"]:
            for text in shown_numbers(found) if found["contrast"] else ():
                assert text in shown[place:], (arm["arm"], found["name"], text)
                place = shown.index(text, place)
    assert '<span class="badge warn">simulated</span>' in shown
    for row in document["rows"]:
        run_apart(open_page, practice.var, f"/runs/growth/{row['submission']}/", page)
        assert 'class="chart growth-chart"' in page.read_text()
        for outcome in row["outcomes"].values():
            assert f'href="/runs/chains/{outcome["item"]}/"' in shown
    text = practice.manage("slow", "report", *runs)[0]
    assert "Simulated: a scripted or simulated student wrote the repairs." in text
    assert "slow-growth against slow-told" in text
