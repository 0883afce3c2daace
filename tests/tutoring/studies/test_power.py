"""The power of a design: known values, its estimator, bad inputs and its time."""

from __future__ import annotations

import time
from dataclasses import replace
from math import log
from typing import Any

import numpy as np
import pytest

from benchmark.metrics import sign_e_value
from tests.tutoring.studies.designs import frozen_design
from tutoring.studies.design import Design
from tutoring.studies.power import (
    PowerError,
    PowerInputs,
    logarithmic_e_values,
    logit_of_mean,
    simulate_power,
)

INPUTS = PowerInputs(problems=30, control_rate=0.5, effect=0.35, spread=0.0)


def test_the_published_powers_of_both_rules():
    """A true 0.85 against 0.50 with 30 and 60 independent pairs."""
    assert simulate_power(INPUTS).power == pytest.approx(0.80, abs=0.05)
    stopped = simulate_power(replace(INPUTS, rule="sign e-value"))
    assert stopped.power == pytest.approx(0.58, abs=0.05)
    long = simulate_power(replace(INPUTS, rule="sign e-value", problems=60))
    assert long.power == pytest.approx(0.95, abs=0.03)
    assert long.pairs_used == pytest.approx(30, abs=4)


def test_without_an_effect_the_test_rejects_at_most_five_percent():
    for inputs in (INPUTS, replace(INPUTS, sessions_per_cell=3), replace(INPUTS, rule="sign e-value")):
        found = simulate_power(replace(inputs, effect=0.0, spread=1.0))
        assert found.power <= 0.05 + 2 * (0.05 * 0.95 / found.studies) ** 0.5


def test_more_sessions_and_problems_narrow_the_interval():
    base = simulate_power(replace(INPUTS, spread=1.0))
    assert simulate_power(replace(INPUTS, spread=1.0, sessions_per_cell=4)).half_width < base.half_width
    assert simulate_power(replace(INPUTS, spread=1.0, problems=90)).half_width < base.half_width
    assert simulate_power(replace(INPUTS, compliance=0.5)).power < base.power
    assert base.low < base.power < base.high


def test_more_chains_do_not_change_how_often_null_studies_stop():
    inputs = PowerInputs(problems=100, control_rate=0.15, effect=0.0, rule="sign e-value")
    assert simulate_power(replace(inputs, control_sessions=3)).power < 0.05
    assert simulate_power(replace(inputs, sessions_per_cell=3, control_sessions=1)).power < 0.05


def test_chains_of_automatic_arms_need_no_compliance():
    """1 session against 3 chains on 40 problems, a true 0.5 against 0.3."""
    design = frozen_design(40, arms=1, draws=3).design

    def inputs(design: Design, compliance: float) -> PowerInputs:
        return PowerInputs.of_design(
            design,
            problems=40,
            control_rate=0.3,
            effect=0.2,
            spread=1.0,
            compliance=compliance,
            minutes_per_session=None,
        )

    found = inputs(design, 0.8)
    assert (found.compliance, found.control_compliance) == (0.8, 1.0)
    assert simulate_power(found).power < simulate_power(replace(found, control_compliance=0.8)).power - 0.1
    reversed_design = design.model_copy(update={"primary_contrast": ("neutral", "arm-0")})
    assert inputs(reversed_design, 0.8).compliance == 1.0
    human = inputs(frozen_design(40).design, 0.8)
    assert (human.compliance, human.control_compliance) == (0.8, 0.8)


@pytest.mark.parametrize("sessions", [1, 2])
def test_the_half_width_is_that_at_the_stop(sessions: int):
    fixed = replace(INPUTS, problems=60, sessions_per_cell=sessions)
    found = simulate_power(replace(fixed, rule="sign e-value"))
    shorter = simulate_power(replace(fixed, problems=round(found.pairs_used)))
    assert found.half_width == pytest.approx(shorter.half_width, rel=0.15)
    assert found.half_width > 1.25 * simulate_power(fixed).half_width


def test_hours_are_known_only_with_the_minutes_of_a_session():
    assert simulate_power(INPUTS).hours is None
    found = simulate_power(replace(INPUTS, minutes_per_session=30.0))
    assert (found.sessions, found.hours) == (60, 30.0)


def test_the_logit_gives_the_mean_rate():
    draws = np.random.default_rng(1).normal(logit_of_mean(0.3, 1.0), 1.0, 400_000)
    assert float((1 / (1 + np.exp(-draws))).mean()) == pytest.approx(0.3, abs=0.002)


def test_the_vectorised_e_value_is_that_of_the_metrics():
    differences = np.array([[1, 1, 0, -1, 1, 1, 1]], dtype=float)
    found = logarithmic_e_values(differences)[0]
    assert found[-1] == pytest.approx(log(sign_e_value(5, 1)))
    assert found[2] == pytest.approx(log(sign_e_value(2, 0)))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"problems": 5}, "tested from 6 problems"),
        ({"control_rate": 0.0}, "control rate is a share"),
        ({"effect": 0.6}, "plus the effect is 1.1"),
        ({"spread": -1.0}, "0 or more logits"),
        ({"compliance": 0.0}, "share above 0"),
        ({"minutes_per_session": 0.0}, "more than 0"),
        ({"threshold": 5.0}, "20 or more"),
    ],
)
def test_inputs_out_of_range_are_refused(changes: dict[str, Any], sentence: str):
    with pytest.raises(PowerError, match=sentence):
        simulate_power(replace(INPUTS, **changes))


def test_two_thousand_studies_take_less_than_three_seconds():
    simulate_power(INPUTS, studies=10)  # imports scipy
    start = time.process_time()
    simulate_power(replace(INPUTS, problems=200, sessions_per_cell=3))
    simulate_power(replace(INPUTS, problems=200, rule="sign e-value"))
    assert time.process_time() - start < 3
