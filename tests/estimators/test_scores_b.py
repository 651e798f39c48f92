"""Scores and cells beside other packages, and what they refuse."""

from __future__ import annotations

from math import erfc, sqrt

import numpy as np
import pytest

import calibstat as cs
from calibstat.estimators.cells.hosmer_lemeshow import HosmerLemeshow
from calibstat.estimators.kernels.density import KDECE, LpCE
from calibstat.estimators.kernels.root import KCE
from calibstat.estimators.scores.logit import VectorScalingScore
from calibstat.estimators.scores.residuals import MeanCalibration, ScoreExcess
from calibstat.estimators.scores.standardized import BrierZ, LogLossZ, Spiegelhalter
from registry import make_sample
from registry_b import ENTRIES, MORE

LINEAR = (MeanCalibration, ScoreExcess, Spiegelhalter, BrierZ, LogLossZ)
OF_RESIDUALS = [
    each["thing"] for each in ENTRIES + MORE if each["thing"].residual_form != "none" and each.get("scalar", True)
]


@pytest.mark.parametrize("estimator", OF_RESIDUALS, ids=repr)
def test_functions_of_residuals_know_what_a_sign_does(estimator):
    """As the multiplier passes them: prediction + sign * residual in place of chances."""
    sample = make_sample(2, seed=5, n=30)
    evaluate, rows = estimator.prepare(sample.predictions), sample.y_prob
    residual = np.eye(2)[sample.outcomes] - rows
    value, opposite = evaluate(rows + residual), evaluate(rows - residual)
    assert value == pytest.approx(evaluate(sample.outcomes), rel=1e-9, abs=1e-12)
    assert opposite == pytest.approx(-value if isinstance(estimator.core, LINEAR) else value, rel=1e-9, abs=1e-12)
    assert evaluate(rows + 2 * residual) != pytest.approx(value, rel=1e-3)


def test_the_kernel_error_is_a_seminorm():
    sample = make_sample(3, seed=6)
    evaluate, rows = KCE(0.3).prepare(sample.predictions), sample.y_prob
    rng = np.random.Generator(np.random.PCG64(7))
    for _ in range(20):
        first, second = (gap - gap.mean(axis=1, keepdims=True) for gap in rng.normal(size=(2, *rows.shape)))
        one, other = evaluate(rows + first), evaluate(rows + second)
        assert abs(one - other) <= evaluate(rows + first - second) + 1e-12
        assert evaluate(rows - 3 * first) == pytest.approx(3 * one)


def two_sided(z):
    return erfc(abs(z) / sqrt(2))


@pytest.mark.parametrize("seed", range(3))
def test_agreement_with_mapie(seed):
    metrics = pytest.importorskip("mapie.metrics.calibration")
    sample = make_sample(2, seed=seed, n=200)
    y, p = sample.outcomes, sample.predictions.event
    assert Spiegelhalter()(sample) == pytest.approx(metrics.spiegelhalter_statistic(y, p), rel=1e-9)


def test_mapie_has_no_power_against_under_confidence():
    """Where the peer is wrong: its p-value is one-sided."""
    metrics = pytest.importorskip("mapie.metrics.calibration")
    rng = np.random.Generator(np.random.PCG64(1))
    p = rng.random(2000)
    sample = cs.Sample((rng.random(2000) < 1 / (1 + (1 / p - 1) ** 2)).astype(int), p)
    assert metrics.spiegelhalter_p_value(sample.outcomes, p) > 0.999
    assert two_sided(Spiegelhalter()(sample)) < 1e-6


def test_agreement_with_calzone():
    metrics = pytest.importorskip("calzone.metrics")
    sample = make_sample(2, seed=2, n=300)
    z = metrics.spiegelhalter_z_test(sample.outcomes.copy(), sample.y_prob)[0]
    assert Spiegelhalter()(sample) == pytest.approx(z, rel=1e-9)


def test_calzone_takes_two_degrees_of_freedom_too_many_away():
    """Where the peer is wrong: rows that fitted nothing lose no degrees of freedom."""
    metrics = pytest.importorskip("calzone.metrics")
    sample = make_sample(2, seed=3, n=300)
    cells = cs.HistogramRegression(cs.EqualMass(10))(sample).sel(label="a")
    statistic, pvalue, df = metrics.hosmer_lemeshow_test(
        cells["mean_outcome"].values, cells["mean_prediction"].values, cells["count"].values
    )
    found = HosmerLemeshow(10)(sample)
    assert found.published == pytest.approx(statistic, rel=1e-6)
    assert (found.degrees_of_freedom, df) == (10, 8)
    assert found.published_pvalue > pvalue


def test_the_kernel_density_refuses_variables():
    with pytest.raises(ValueError, match=r"SKCE\(\) smooths over variables"):
        (cs.Given("age") | KDECE(0.1))(make_sample(3))


def test_certain_predictions_have_a_density():
    sample = cs.Sample([0, 1, 1, 0], [0.0, 1.0, 0.7, 0.2])
    assert 0 <= KDECE(0.1)(sample) <= 2
    assert KDECE(0.1)(cs.Sample([1], [0.3], labels=[0, 1])) == 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: KDECE(0.0), "bandwidth is 0.0"),
        (lambda: KDECE(0.1, p=0.5), "p is 0.5"),
        (lambda: LpCE(p=np.inf), "p is inf"),
        (lambda: ScoreExcess("sphere"), "score is 'sphere'"),
    ],
)
def test_parameters_are_checked(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_rows_without_any_spread_give_zero():
    uniform = cs.Sample([0, 1, 2], np.full((3, 3), 1 / 3))
    assert LogLossZ()(uniform) == BrierZ()(uniform) == 0
    certain = cs.Sample([0, 1, 2], np.eye(3))
    assert LogLossZ()(certain) == BrierZ()(certain) == VectorScalingScore()(certain) == 0


@pytest.mark.parametrize("estimator", [BrierZ(), LogLossZ(), VectorScalingScore()], ids=repr)
def test_power_against_temperature(estimator):
    rng = np.random.Generator(np.random.PCG64(4))
    rows = rng.dirichlet(np.ones(4), 800)
    truths = rows**0.6 / (rows**0.6).sum(axis=1, keepdims=True)
    for chances, rejected in ((truths, True), (rows, False)):
        outcomes = (rng.random((800, 1)) > np.cumsum(chances, axis=1)[:, :-1]).sum(axis=1)
        sample = cs.Sample(outcomes, rows, labels=range(4))
        assert (cs.calibration_test(sample, estimator, null=cs.Consistency(99), rng=0).pvalue < 0.02) == rejected
