"""Coefficients of agreement: published vectors, textbook examples, and properties of any table."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tutoring.review.coefficients import (
    alpha,
    alpha_nominal,
    alpha_ordinal,
    cohen_kappa,
    gwet_ac1,
    interval,
    percent_agreement,
    resampling_weights,
)

COEFFICIENTS = [percent_agreement, cohen_kappa, gwet_ac1, alpha_nominal, alpha_ordinal]


def table_of(first, second, categories: str) -> np.ndarray:
    table = np.zeros((len(categories), len(categories)))
    for a, b in zip(first, second, strict=True):
        table[categories.index(a), categories.index(b)] += 1
    return table


@pytest.fixture(scope="module")
def vectors(shared_data: Path) -> dict:
    file = shared_data.parent / "research" / "stats_vectors.json"
    if not file.is_file():
        pytest.skip(f"{file} is not here")
    vectors: dict = json.loads(file.read_text())
    return vectors


def test_kappa_and_alpha_agree_with_the_shared_vectors(vectors: dict):
    table = np.array([[25.0, 10], [5, 10]])
    assert cohen_kappa(table) == pytest.approx(float(Fraction(vectors["kappa [[25,10],[5,10]]"])))
    table = table_of("AABBCCABCA", "AABBCBABCC", "ABC")
    assert cohen_kappa(table) == pytest.approx(vectors["kappa AABBCCABCA/AABBCBABCC"][1])
    table = table_of("0011", "0111", "01")
    assert alpha_nominal(table) == pytest.approx(vectors["krippendorff nominal [[0,0,1,1],[0,1,1,1]]"])


def test_alpha_of_four_observers_with_missing_values_agrees_with_the_shared_vector(vectors: dict):
    """Krippendorff's example, unit by unit. In a unit with m values, each pair weighs 1 / (m - 1)."""
    units = ["111", "2232", "3333", "3333", "2222", "1234", "4444", "1121", "2222", "555", "11", "3"]
    counted = np.zeros((5, 5))
    for unit in units[:-1]:
        counts = np.bincount([int(value) - 1 for value in unit], minlength=5)
        counted += (np.outer(counts, counts) - np.diag(counts)) / (len(unit) - 1)
    expected = vectors["krippendorff 4x12"]
    assert alpha(counted, 1 - np.eye(5)) == pytest.approx(expected["nominal"])
    middle = counted.sum(0).cumsum() - counted.sum(0) / 2
    assert alpha(counted, (middle[:, None] - middle) ** 2) == pytest.approx(expected["ordinal"])


def test_rare_category_leaves_ac1_high_and_kappa_low():
    """The paradox of κ in Gwet's example (2008): 118 of 125 units agree, and κ is below 0."""
    table = np.array([[118.0, 5], [2, 0]])
    assert percent_agreement(table) == pytest.approx(0.944)
    assert cohen_kappa(table) == pytest.approx(-0.0234, abs=5e-5)
    assert gwet_ac1(table) == pytest.approx(0.9408, abs=5e-5)


def test_ordinal_alpha_forgives_near_misses_more_than_far_ones():
    near = np.array([[10.0, 2, 0], [0, 10, 0], [0, 0, 10]])
    far = np.array([[10.0, 0, 2], [0, 10, 0], [0, 0, 10]])
    assert alpha_ordinal(near) > alpha_ordinal(far)
    assert alpha_nominal(near) == pytest.approx(alpha_nominal(far), abs=0.01)


@pytest.mark.parametrize("coefficient", COEFFICIENTS)
def test_no_units_give_an_undefined_coefficient(coefficient):
    assert np.isnan(coefficient(np.zeros((3, 3))))


def test_without_variation_only_chance_free_coefficients_are_defined():
    table = np.array([[7.0, 0], [0, 0]])
    assert percent_agreement(table) == gwet_ac1(table) == 1
    assert np.isnan(cohen_kappa(table))
    assert np.isnan(alpha_nominal(table))


tables = arrays(np.float64, (3, 3), elements=st.integers(0, 40).map(float))


@pytest.mark.slow
@given(tables)
def test_coefficients_stay_in_range_and_are_symmetric(table: np.ndarray):
    for coefficient in COEFFICIENTS:
        value = float(coefficient(table))
        if np.isnan(value):
            continue
        assert value <= 1 + 1e-9
        assert coefficient(table.T) == pytest.approx(value)
        assert (abs(value - 1) < 1e-9) == (np.trace(table) == table.sum())
        assert coefficient(np.stack([table, table]))[1] == pytest.approx(value)
    assert np.isnan(percent_agreement(table)) or 0 <= percent_agreement(table) <= 1


@pytest.mark.slow
@given(tables, st.permutations([0, 1, 2]))
def test_nominal_coefficients_do_not_depend_on_the_order_of_categories(table: np.ndarray, order: list[int]):
    renamed = table[np.ix_(order, order)]
    for coefficient in (percent_agreement, cohen_kappa, gwet_ac1, alpha_nominal):
        assert coefficient(renamed) == pytest.approx(float(coefficient(table)), nan_ok=True)


def test_interval_draws_whole_trajectories():
    """Ten units of one trajectory are one draw: two different trajectories give the widest possible interval."""

    def of(clusters: np.ndarray) -> str:
        drawn = resampling_weights(len(clusters)) @ clusters.reshape(len(clusters), -1)
        return str(interval(percent_agreement(drawn.reshape(-1, *clusters.shape[1:]))))

    assert of(np.array([[[10.0, 0], [0, 0]], [[0, 10], [0, 0]]])) == "Interval(low=0.0, high=1.0)"
    same = np.array([[[9.0, 1], [0, 0]]] * 20)
    assert of(same) == "Interval(low=0.9, high=0.9)"
    assert of(same * 0) == "None"


def test_weights_are_draws_with_replacement_of_all_clusters():
    weights = resampling_weights(12, resamples=500)
    assert weights.shape == (500, 12)
    assert (weights.sum(1) == 12).all()
    assert weights.mean() == 1
    assert (weights == resampling_weights(12, resamples=500)).all()
