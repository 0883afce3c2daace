"""A simulated world's guidance gain, recovered through commands, rows and the page."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from judge import SandboxStatus
from tests.benchmark.runs.conftest import CommandSandbox
from tests.benchmark.runs.processes import run_apart
from tests.cached_fixtures import add_prepared
from tests.fake_providers import FakeProviders
from tests.tutoring.arms.simulated_people import hold_sessions, open_page, rates

pytestmark = pytest.mark.slow
WORLD = "guidance-60"
SOLVED_CHAINS = """
select count(distinct g.work_item_id) from benchmark_generation g
join benchmark_workitem i on i.id = g.work_item_id join benchmark_judgement j on j.id = g.hidden_judgement_id
where replace(i.run_id, '-', '') = replace(?, '-', '') and j.verdict = 'AC'
"""


@pytest.fixture
def world(tmp_path: Path, sandbox: SandboxStatus) -> CommandSandbox:
    """Return a site with three tutors' sessions on the practice problems."""
    assert sandbox.available
    var = add_prepared(tmp_path)
    run_apart(hold_sessions, var, WORLD, 3, 3)
    return CommandSandbox(var, FakeProviders())


def start_arm(world: CommandSandbox, name: str, *arguments: str) -> str:
    output, _ = world.manage(
        "run_baseline", "--json", "--dataset", "practice", "--model", f"simulated:{WORLD}", "--method",
        f"session-{name}", "--set", "protocol=usaco-2024", *arguments,
    )  # fmt: skip
    return str(json.loads(output)["run"])


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
    assert "Simulated: simulated:guidance-60 is no language model." in shown
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


def test_the_guard_stops_the_leaker_and_passes_the_paraphraser(
    tmp_path: Path, sandbox: SandboxStatus
) -> None:
    assert sandbox.available
    site = CommandSandbox(add_prepared(tmp_path), FakeProviders())
    guarded, solved = {}, {}
    for conduct in ("leaker", "paraphraser", "honest", "silent"):
        arguments = ("--set", f"tutor=simulated-tutor:{conduct}", "knows=analysis", "--limit", "3")
        run = start_arm(site, "tutor", *arguments)
        guarded[conduct] = dict(site.rows(GUARD, [run]))
        solved[conduct] = site.rows(SOLVED_CHAINS, [run])[0][0]
    assert set(guarded["leaker"]) == {"guard_exhausted"}
    assert {name: set(found) for name, found in guarded.items() if name != "leaker"} == {
        name: {"sent"} for name in ("paraphraser", "honest", "silent")
    }
    assert solved["paraphraser"] >= solved["silent"]
