"""The calibration of studies: a smoke test with 50 studies per seed."""

from __future__ import annotations

import json
from statistics import fmean

import numpy as np
import pytest
from django.core.management import call_command

from benchmark.calibration import CALIBRATIONS
from tutoring.studies import calibration
from tutoring.studies.calibration import StudyWorld


@pytest.mark.slow
def test_contrasts_cover_and_null_studies_do_not_stop(capsys: pytest.CaptureFixture[str]):
    call_command("calibrate", "studies", "--studies", "50", "--json")
    results = json.loads(capsys.readouterr().out)["results"]
    assert {one["problems"] for one in results if one["estimator"] == "contrast by assignment"} == {
        12,
        18,
        40,
    }
    assert {one["problems"] for one in results if "e-value" in one["estimator"]} == {12, 18, 40, 100, 200}
    assert all(one["holds"] for one in results)


@pytest.mark.slow
def test_pairs_that_count_when_they_are_complete_stop_null_studies(monkeypatch: pytest.MonkeyPatch):
    cells = CALIBRATIONS["studies"].cells
    [number] = [place for place, cell in enumerate(cells) if "late reviews" in cell.inside]
    monkeypatch.setattr(
        calibration, "settled_problems", lambda started: [one.problem for one in started if not one.waits]
    )
    assert not CALIBRATIONS["studies"].run(number, 200).holds


@pytest.mark.slow
def test_signs_of_means_of_unequal_numbers_stop_null_studies(monkeypatch: pytest.MonkeyPatch):
    cells = CALIBRATIONS["studies"].cells
    [number] = [place for place, cell in enumerate(cells) if cell.inside == "no effect, 1 session, 3 chains"]
    monkeypatch.setattr(
        calibration,
        "sign_differences",
        lambda first, second, problems: [fmean(first[one]) - fmean(second[one]) for one in problems],
    )
    assert not CALIBRATIONS["studies"].run(number, 200).holds


@pytest.mark.parametrize("world", [StudyWorld(), StudyWorld(sessions=2), StudyWorld(chains=4)])
def test_the_simulated_difference_is_the_stated_truth(world: StudyWorld):
    first, second = world.studies(np.random.default_rng(1), 3_000, 20)
    difference = np.nanmean(first) - np.nanmean(second)
    assert difference == pytest.approx(world.truth, abs=0.008)
    empty = np.isnan(first).mean()
    assert empty == pytest.approx(world.expiry**3, abs=0.002)
