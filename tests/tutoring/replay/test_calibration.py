"""The calibration of replays: a smoke test with 50 studies per seed."""

from __future__ import annotations

import json
from statistics import fmean

import numpy as np
import pytest
from django.core.management import call_command

from tutoring.replay.calibration import ReplayWorld, mean_neutral
from tutoring.replay.estimates import gain


@pytest.mark.slow
def test_gains_and_receptivity_cover_the_stated_truth(capsys: pytest.CaptureFixture[str]):
    call_command("calibrate", "replay", "--studies", "50", "--json")
    results = json.loads(capsys.readouterr().out)["results"]
    assert {one["problems"] for one in results if one["estimator"] == "receptivity"} == {12, 18, 40}
    assert {one["truth"] for one in results if one["estimator"] == "receptivity"} == {0, 0.1, 0.3}
    assert all(one["holds"] for one in results)


@pytest.mark.slow
def test_where_any_text_helps_the_content_gain_is_zero_and_the_gain_is_not():
    world = ReplayWorld(0.2, 0.2, 0.2)
    studies = list(world.studies(np.random.default_rng(1), 300, 40))
    content = fmean(found.mean for one in studies if (found := gain("content gain", one)))
    plain = fmean(found.mean for one in studies if (found := gain("gain", one)))
    assert content == pytest.approx(0, abs=0.005)
    assert plain == pytest.approx(0.2 * (1 - mean_neutral()), abs=0.005)
