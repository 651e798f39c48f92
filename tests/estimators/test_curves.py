"""Curves are records: values that JSON can hold, and a table with a row for each place."""

from __future__ import annotations

import json

import numpy as np
import pytest

import calibstat as cs
from registry import make_sample

CURVES = {
    "LocalCurve": lambda sample: cs.LOESS(n_points=20)(sample),
    "Belt": lambda sample: cs.CalibrationBelt()(sample),
    "RecalibrationCurve": lambda sample: cs.IsotonicCurve()(sample),
    "ValidityCurve": lambda sample: cs.AUCV(cs.EqualMass(5)).curve(sample),
}
COLUMNS = {
    "LocalCurve": [
        "x",
        "prediction",
        "outcome",
        "deviation",
        "standard_error",
        "low",
        "high",
        "prediction_low",
        "prediction_high",
    ],
    "Belt": ["x", "curve", "low_80", "low_95", "high_80", "high_95"],
    "RecalibrationCurve": ["prediction", "recalibrated", "weight"],
    "ValidityCurve": ["deviation", "share"],
}


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(0)
    p = rng.random(200)
    return cs.Sample((rng.random(200) < p).astype(int), p)


@pytest.mark.parametrize("name", CURVES)
def test_a_curve_is_a_table_and_values_of_json(name, sample):
    curve = CURVES[name](sample)
    assert type(curve).__name__ == name
    table = curve.to_frame()
    assert list(table) == COLUMNS[name]
    values = json.loads(json.dumps(curve.to_dict(), allow_nan=False))
    for column in set(table) & set(values):
        np.testing.assert_array_equal(values[column], table[column])
        np.testing.assert_array_equal(getattr(curve, column), table[column])


def test_the_table_of_a_belt_has_its_ends(sample):
    belt = cs.CalibrationBelt()(sample)
    table = belt.to_frame()
    np.testing.assert_array_equal(table["low_80"], belt.low[0])
    np.testing.assert_array_equal(table["high_95"], belt.high[1])
    assert belt.to_dict()["levels"] == [0.8, 0.95]


def test_a_number_that_is_not_finite_is_none():
    curve = cs.LOESS(n_points=3)(cs.Sample([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], sample_weight=[1, 1, 1, 1]))
    curve.to_dict()
    odd = type(cs.AUCV().curve(cs.Sample([0, 1], [0.2, 0.9])))(np.array([np.nan]), np.array([1.0]))
    assert odd.to_dict() == {"deviation": [None], "share": [1.0]}


@pytest.mark.parametrize("estimator", [cs.AUCV(cs.EqualMass(4)), cs.NeighborAUCV(3)])
def test_a_validity_curve_looks_through_a_lens(estimator):
    sample = make_sample(3)
    seen, before = (estimator.curve(sample, lens=cs.TopLabel()), estimator.curve(cs.TopLabel()(sample)))
    np.testing.assert_array_equal(seen.deviation, before.deviation)


def test_the_band_of_the_prediction_lies_about_it_and_is_wider_where_predictions_scatter():
    rng = np.random.default_rng(1)
    x = rng.random(400)
    p = np.clip(0.5 + np.where(x < 0.5, 0.02, 0.2) * rng.normal(size=400), 0.01, 0.99)
    sample = cs.Sample((rng.random(400) < p).astype(int), p, variables={"x": x})
    curve = (cs.Given("x") | cs.LOESS(0.3, n_points=30))(sample)
    width = curve.prediction_high - curve.prediction_low
    np.testing.assert_allclose((curve.prediction_high + curve.prediction_low) / 2, curve.prediction)
    assert width[curve.x < 0.3].max() < 0.3 * width[curve.x > 0.7].min()
    over_itself = cs.LOESS(0.3, n_points=30)(sample)
    assert (over_itself.prediction_high - over_itself.prediction_low).max() < 0.02


def test_leaving_a_row_out_matters_with_few_rows():
    """With four rows and three coefficients the residuals of the fit are nearly zero; those without the row are not."""
    p = np.array([0.2, 0.6, 0.3, 0.8, 0.4, 0.7])
    sample = cs.Sample([0, 1, 0, 1, 1, 0], p, variables={"x": np.arange(6.0)})
    curve = (cs.Given("x") | cs.LOESS(1.0, n_points=6, trim=0.0))(sample)
    inside = (curve.prediction_low <= p) & (p <= curve.prediction_high)
    assert inside.all()
