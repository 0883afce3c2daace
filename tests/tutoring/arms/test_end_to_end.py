"""A simulated world's guidance gain, recovered through commands, rows and the page."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from benchmark.providers.worlds import read_world
from judge import SandboxStatus
from tests.benchmark.runs.conftest import CommandSandbox
from tests.benchmark.runs.processes import run_apart
from tests.fake_providers import FakeProviders
from tests.tutoring.arms.simulated_people import SLOW, WORLD, add_people, open_page, rates

pytestmark = pytest.mark.slow
SOLVED_CHAINS = """
select count(distinct g.work_item_id) from benchmark_generation g
join benchmark_workitem i on i.id = g.work_item_id join benchmark_judgement j on j.id = g.hidden_judgement_id
where replace(i.run_id, '-', '') = replace(?, '-', '') and j.verdict = 'AC'
"""


@pytest.fixture
def world(tmp_path: Path, sandbox: SandboxStatus, request: pytest.FixtureRequest) -> CommandSandbox:
    """Return a site with tutors' sessions on the practice problems; the parameter is the number of tutors."""
    assert sandbox.available
    return CommandSandbox(add_people(tmp_path, request.param), FakeProviders())


def start_arm(world: CommandSandbox, name: str, *arguments: str) -> str:
    output, _ = world.manage(
        "run_baseline", "--json", "--dataset", "practice", "--model", f"simulated:{WORLD}", "--method",
        f"session-{name}", "--set", "protocol=usaco-2024", *arguments,
    )  # fmt: skip
    return str(json.loads(output)["run"])


@pytest.mark.parametrize("world", [3], indirect=True)
def test_the_guidance_gain_of_a_world_is_recovered(world: CommandSandbox) -> None:
    neutral = start_arm(world, "neutral", "--attempts", "3")
    runs = [neutral, start_arm(world, "again"), start_arm(world, "neutral", "--set", "from_first=all")]
    document: dict[str, Any] = json.loads(world.manage("arms", "--json", "--human", "all", *runs)[0])
    human, perfect, samples = rates(WORLD)
    assert human - perfect == pytest.approx(0.6 * (1 - perfect), abs=1e-4)

    headline, verified = document["gains"]
    for gain, truth in ((headline, human - perfect), (verified, human - samples)):
        low, high = gain["interval"]
        assert low <= truth <= high
        assert (gain["problems"], gain["first_sessions"], gain["second_sessions"]) == (8, 24, 24)
    assert headline["second"] == "neutral/perfect"
    assert [step["title"] for step in document["ladder"]] == ["again → neutral", "neutral → people"]
    assert all(step["holm"] >= step["p"] for step in document["ladder"])
    assert [one["first_sessions"] for one in document["yoked"]] == [24, 24]
    assert document["left_out"] == []

    # The counts are those of the rows.
    [solved] = [
        one["solved"] for one in document["rates"] if (one["arm"], one["rule"]) == ("neutral", "perfect")
    ]
    assert world.rows(SOLVED_CHAINS, [neutral]) == [(solved,)]
    people = "select count(*) from tutoring_session where tutor_id is not null and outcome = 'solved'"
    assert [(one["solved"],) for one in document["rates"] if one["arm"] == "people"] == world.rows(people)
    assert len(document["matrix"]) == 8
    assert sum(row["arms"]["neutral"]["solved"] for row in document["matrix"]) == solved

    # The page shows the same figures, and every cell leads to its rows.
    page = world.var / "page.html"
    run_apart(open_page, world.var, f"/runs/arms/?{'&'.join(f'run={run}' for run in runs)}", page)
    shown = page.read_text()
    assert "Simulated: simulated:guidance-60 is not a language model." in shown
    assert "A control: the tutor only says that the model should try again." in shown
    assert f"{100 * headline['difference']:+.0f} <span" in shown
    assert 'class="chart forest"' in shown
    for row in document["matrix"]:
        for cell in row["arms"].values():
            assert cell["rows"].replace("&", "&amp;") in shown
    run_apart(open_page, world.var, document["matrix"][0]["arms"]["people"]["rows"], page)
    assert page.read_text().count('class="row-link"') == 3
    run_apart(open_page, world.var, document["matrix"][0]["arms"]["neutral"]["rows"], page)
    assert page.read_text().count("/runs/chains/") == 3

    table = list(csv.DictReader(io.StringIO(world.manage("arms", "--csv", "--human", "all", *runs)[0])))
    [gain] = [row for row in table if row["title"] == "Guidance gain"]
    assert float(gain["estimate"]) == pytest.approx(headline["difference"])
    assert {row["simulated"] for row in table} == {"1"}
    assert "Guidance gain" in world.manage("arms", "--human", "all", *runs)[0]


GUARD = """
select json_extract(e.data, '$.turn.guard'), count(*) from tutoring_event e
join tutoring_session s on s.id = e.session_id join benchmark_workitem i on i.id = s.work_item_id
where replace(i.run_id, '-', '') = replace(?, '-', '') and json_extract(e.data, '$.turn.guard') is not null
group by 1
"""


PROBLEMS = ("--problems", ",".join(slug for slug in read_world(WORLD).problems if slug != SLOW))


@pytest.mark.parametrize("world", [1], indirect=True)
def test_tutors_with_known_conduct_show_it_in_every_figure(world: CommandSandbox) -> None:
    """Leaker, paraphraser, honest and silent tutors: guard, gain, leak index, command, page and files."""
    start_arm(world, "neutral", "--attempts", "3", *PROBLEMS)
    runs = {}
    for conduct, guard in (
        ("leaker", "true"), ("leaker", "false"), ("paraphraser", "true"), ("honest", "true"), ("silent", "true")
    ):  # fmt: skip
        factors = ("--set", f"tutor=simulated-tutor:{conduct}", "knows=analysis", f"guard={guard}")
        run = start_arm(world, "tutor", *PROBLEMS, *factors)
        runs[conduct if guard == "true" else f"{conduct}, no guard"] = run
        measure_leaks(world, f"run={run}")
    measure_leaks(world, "all")
    document = json.loads(world.manage("automatic_tutors", "--json", *runs.values())[0])
    people, *tutors = document["tutors"]
    found = dict(zip(runs, tutors, strict=True))
    assert people["tutor"] == "people"
    assert document["simulated"]

    # The guard refuses every leak, and passes the paraphraser, whom no detector finds.
    assert set(found["leaker"]["guard"]["turns"]) == {"guard_exhausted"}
    assert found["leaker"]["guard"]["drafts"] == 4 * found["leaker"]["guard"]["turns"]["guard_exhausted"]
    for conduct in ("paraphraser", "honest", "silent"):
        assert set(found[conduct]["guard"]["turns"]) == {"sent"}
    assert set(found["leaker, no guard"]["guard"]["turns"]) == {"off"}

    # The leak index finds it, and the leaker without a guard. Truth: leak.analysis less unaided.
    problems = [problem for slug, problem in read_world(WORLD).problems.items() if slug != SLOW]
    truth = sum(one.leak.analysis - one.unaided for one in problems) / len(problems)
    for conduct in ("paraphraser", "leaker, no guard"):
        low, high = found[conduct]["leaks"]["interval"]
        assert 0 < low <= truth <= high
    for conduct in ("leaker", "honest", "silent"):
        low, high = found[conduct]["leaks"]["interval"]
        assert low <= 0, "no leak is shown where there is none"
        assert high < truth
    assert (found["honest"]["leaks"]["problems"], found["honest"]["leaks"]["sessions"]) == (7, 7)

    # Hints at the bug help; tutors whose hints do not reach the student gain nothing.
    assert found["honest"]["gain"]["interval"][0] > 0
    for conduct in ("leaker", "silent"):
        assert found[conduct]["gain"]["interval"][0] <= 0
    assert document["yardsticks"] == {f"{WORLD} v1": None}

    text = world.manage("automatic_tutors", *runs.values())[0]
    assert "Yardstick of guidance-60 v1" in text
    assert "every draft refused" in text
    page = world.var / "page.html"
    query = "&".join(f"run={run}" for run in runs.values())
    run_apart(open_page, world.var, f"/runs/tutors/?{query}", page)
    shown = page.read_text()
    assert "Simulated: students or tutors are not language models." in shown
    assert "every draft refused" in shown
    assert "guard_exhausted" not in shown
    assert 'aria-label="Gain against leak with 95 % intervals (simulated).' in shown
    assert all(f"/runs/{run}/items/" in shown for run in runs.values())
    run_apart(open_page, world.var, f"/runs/tutors/?{query}&as=json", page)
    assert json.loads(page.read_text()) == document
    run_apart(open_page, world.var, f"/runs/tutors/?{query}&plot=plane&as=csv", page)
    assert len(page.read_text().splitlines()) == 7


def measure_leaks(world: CommandSandbox, sessions: str) -> None:
    world.manage(
        "run_baseline", "--dataset", "practice", "--model", f"simulated:{WORLD}", "--method", "leak", *PROBLEMS,
        "--set", f"of={sessions}",
    )  # fmt: skip
