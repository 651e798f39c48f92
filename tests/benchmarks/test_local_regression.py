"""A local regression with its band, against that of statsmodels, which has none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from statsmodels.nonparametric.smoothers_lowess import lowess

import calibstat as cs

ESTIMATOR = cs.LOESS(span=0.3, degree=1, n_points=200)


@pytest.fixture(scope="module")
def million():
    rng = np.random.default_rng(9)
    p = rng.random(1_000_000)
    return cs.Sample(rng.random(len(p)) < p, p)


def test_curve_and_band_against_statsmodels(million, ratios):
    y, p = million.outcomes.astype(float), million.predictions.event
    curve = ESTIMATOR(million)
    assert (curve.low < curve.high).all()
    ratios.faster(
        "LOESS with a band, n = 1e6; lowess(delta=0.01) of statsmodels, no band",
        lambda: ESTIMATOR(million),
        lambda: lowess(y, p, frac=0.3, it=0, delta=0.01),
        15,
        rounds=7,
    )


def row_by_row(sample, at):
    """The local line at a point from the rows themselves, without cells: of the outcome and of the prediction."""
    p, y = sample.predictions.event, sample.outcomes
    distance = np.abs(p - at)
    width = np.partition(distance, int(0.3 * len(p)) - 1)[int(0.3 * len(p)) - 1]
    near = distance < 0.999 * width
    root = np.sqrt((1 - (distance[near] / width) ** 3) ** 3)
    design = np.stack([root, root * (p[near] - at)], axis=1)
    targets = np.stack([root * y[near], root * p[near]], axis=1)
    return np.linalg.lstsq(design, targets, rcond=None)[0][0]


def test_what_is_timed_is_within_two_percent_of_a_standard_error(million):
    """At 21 of the 200 points; 64 cells, the negative control, are not."""
    curve, coarse = ESTIMATOR(million), replace(ESTIMATOR, n_cells=64)(million)
    some = np.r_[0:200:10, 199]
    exact = np.array([row_by_row(million, at) for at in curve.x[some]])
    for found in (curve.outcome, curve.prediction):
        error = (found[some] - exact[:, 0 if found is curve.outcome else 1]) / curve.standard_error[some]
        assert np.abs(error).max() < 0.02
    assert np.abs(coarse.outcome[some] - exact[:, 0]).max() > 0.02 * curve.standard_error.min()


def test_null_band_against_the_fit(million, ratios):
    """From exact variances, so that nothing is drawn."""
    null = replace(ESTIMATOR, band="null")
    ratios.at_most(
        "LOESS with a null band, n = 1e6; LOESS with a band", lambda: null(million), lambda: ESTIMATOR(million), 1.5, 9
    )
