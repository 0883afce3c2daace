"""A simulated world's guidance gain, recovered through commands, rows and the page."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.benchmark.runs.conftest import CommandSandbox
from tests.benchmark.runs.processes import run_apart
from tests.cached_fixtures import add_database
from tests.fake_providers import FakeProviders
from tests.tutoring.arms.simulated_people import hold_sessions, import_practice, open_page, rates
from judge import SandboxStatus

pytestmark = pytest.mark.slow
WORLD = "guidance-60"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, sandbox: SandboxStatus) -> Iterator[CommandSandbox]:  # noqa: ARG001
    """Return a site with three tutors' sessions on the practice problems."""
    var = add_database(tmp_path_factory.mktemp("arms"))
    run_apart(import_practice, var)
    run_apart(hold_sessions, var, WORLD, 3, 3)
    yield CommandSandbox(var, FakeProviders())


def arm(world: CommandSandbox, method: str, *arguments: str) -> str:
    output, _ = world.manage(
        "run_baseline", "--json", "--dataset", "practice", "--model", f"simulated:{WORLD}", "--method",
        f"session-{method}", "--set", "protocol=usaco-2024", *arguments,
    )  # fmt: skip
    return str(json.loads(output)["run"])


def test_the_guidance_gain_of_a_world_is_recovered(world: CommandSandbox, tmp_path: Path) -> None:
    runs = [arm(world, name, "--attempts", "3") for name in ("neutral", "again")]
    yoked = arm(world, "neutral", "--set", "from_first=all")
    document: dict[str, Any] = json.loads(world.manage("arms", "--json", "--human", "all", *runs, yoked)[0])
    human, perfect, samples = rates(WORLD)
    assert human - perfect == pytest.approx(0.6 * (1 - perfect), abs=1e-4)
    print(json.dumps(document, indent=1)[:6000])
