"""manage.py calibrate: expected and obtained coverage, status 1 if an interval covers too little."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from benchmark import calibration
from benchmark.calibration import Calibration, Cell, Result
from benchmark.calibration.arms import NEUTRAL
from benchmark.calibration.intervals import ArmPair
from benchmark.calibration.registry import Covered


def calibrate(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    call_command("calibrate", *arguments, "--json")
    return dict(json.loads(capsys.readouterr().out))


@pytest.mark.slow
def test_the_intervals_of_few_problems_cover_what_they_claim(capsys: pytest.CaptureFixture[str]) -> None:
    """A smoke test with 50 studies per seed: every estimator and size is simulated, and none covers too little."""
    document = calibrate(capsys, "intervals", "--studies", "50")
    assert (document["studies"], document["seeds"]) == (50, [307, 2026])
    results = document["results"]
    found = {(one["estimator"], one["problems"]) for one in results}
    for problems in (8, 12, 18, 40, 60):
        for name in ("t, or bound without spread", "ratio by test inversion", "rate: t on problem means"):
            assert (name, problems) in found
    pairs = [one for one in results if one["estimator"].startswith("Newcombe")]
    assert len({one["truth"] for one in pairs}) == 5
    for one in results:
        assert one["holds"]
        assert one["coverage"] == pytest.approx(sum(one["coverage_by_seed"]) / 2)
        assert one["expected"]
    claimed = [one for one in results if one["claims_95"] and one["bootstrap_coverage"] is not None]
    assert np.mean([one["coverage"] for one in claimed]) > np.mean(
        [one["bootstrap_coverage"] for one in claimed]
    )
    sessions = [one["coverage"] for one in results if "Wilson over sessions" in one["estimator"]]
    assert max(sessions) < 0.93, "sessions of one problem are alike"


@pytest.mark.slow
def test_the_figures_of_arms_cover_what_they_claim(capsys: pytest.CaptureFixture[str]) -> None:
    """A smoke test with 50 studies per seed, at 12, 18 and 40 problems."""
    results = calibrate(capsys, "arms", "--studies", "50")["results"]
    by_figure: dict[str, list[Any]] = {}
    for one in results:
        by_figure.setdefault(one["estimator"], []).append(one)
        assert one["holds"]
    assert {tuple(one["problems"] for one in cells) for cells in by_figure.values()} == {(12, 18, 40)}
    truth = {name: cells[0]["truth"] for name, cells in by_figure.items()}
    # A tutor who verifies perfectly and says nothing gains 0 over `perfect`, and more over `samples`.
    assert truth["no receptivity: people − neutral/perfect"] == 0
    assert truth["no receptivity: people − neutral/samples"] > 0.1
    assert truth["no receptivity: people − neutral/perfect, cut"] > 0.05
    assert truth["guidance 60 %: people − neutral/perfect"] == pytest.approx(0.6 * (1 - NEUTRAL.rate))
    assert truth["equivalent samples"] == 25


def test_the_same_seeds_give_the_same_coverage() -> None:
    intervals = calibration.CALIBRATIONS["intervals"]
    assert intervals.run(0, 20) == intervals.run(0, 20)


def test_an_interval_that_covers_too_little_ends_with_status_1(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = [
        Cell("narrow", 8, "1 state", 0.2, "95 %", lambda _generator, studies: Covered(9 * studies // 10, 0)),
        Cell("contrast", 8, "1 state", 0.2, "80 %", lambda _generator, _studies: Covered(0), claims=False),
    ]
    monkeypatch.setitem(calibration.CALIBRATIONS, "intervals", Calibration("intervals", "Too narrow", cells))
    with pytest.raises(CommandError, match=r"^Coverage too low: narrow, 8 problems\.$"):
        call_command("calibrate", "intervals")
    narrow, contrast = capsys.readouterr().out.splitlines()[2:]
    assert narrow.endswith("90.0 %    0.6   0.0 %      TOO LOW")
    assert "TOO LOW" not in contrast


@pytest.mark.parametrize(("coverage", "holds"), [(0.919, True), (0.918, False), (0.95, True)])
def test_two_monte_carlo_errors_are_allowed(coverage: float, holds: bool) -> None:
    cell = Cell("one", 8, "1 state", 0.0, "95 %", lambda _generator, _studies: Covered(0))
    assert Result(cell, 2_000, (coverage, coverage), None).holds is holds
    assert Result(replace(cell, claims=False), 2_000, (0.5, 0.5), None).holds


def test_names_and_numbers_that_mean_nothing_are_refused() -> None:
    with pytest.raises(CommandError, match="invalid choice"):
        call_command("calibrate", "moods")
    with pytest.raises(CommandError, match="not a whole number from 1"):
        call_command("calibrate", "intervals", "--studies", "0")


@pytest.mark.slow
def test_the_true_rates_of_a_world_are_those_of_many_studies() -> None:
    world = ArmPair(-1.0, 1.0)
    arms = world.studies(np.random.default_rng(1), 4_000, 40)
    assert [arm.mean() for arm in arms] == pytest.approx(world.rates, abs=0.004)
