"""The best other package that computes the same, where it is installed; and where it is wrong."""

from __future__ import annotations

import warnings
from math import erfc, sqrt

import numpy as np
import pytest

import calibstat as cs
from registry import make_sample


def peer(name):
    """Import a peer, silencing what it warns of at import."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name)


def data(n, seed, ties=False):
    rng = np.random.Generator(np.random.PCG64(seed))
    p = np.round(rng.random(n), 1) if ties else rng.random(n)
    return (rng.random(n) < p**1.3).astype(int), p


@pytest.mark.parametrize("n", [10, 100, 3000])
def test_relplot_smooth_ece(n):
    """It uses a mesh of 200 points and ten bisections: two digits."""
    relplot = peer("relplot")
    y, p = data(n, n)
    sample = cs.Sample(y, p, labels=[0, 1])
    assert cs.SmoothECE()(sample) == pytest.approx(relplot.smECE(f=p, y=y), rel=0.02, abs=0.002)
    assert cs.SmoothECE(bandwidth=0.1)(sample) == pytest.approx(relplot.smECE_sigma(p, y, 0.1), rel=0.02, abs=0.002)


@pytest.mark.parametrize("ties", [False, True])
def test_model_diagnostics_decomposition(ties):
    scoring = peer("model_diagnostics.scoring")
    y, p = data(300, 1, ties)
    p = np.clip(p, 0.01, 0.99)
    for ours, theirs in ((cs.BrierScore(), scoring.SquaredError()), (cs.LogScore(), scoring.LogLoss())):
        table = scoring.decompose(y, p, scoring_function=theirs)
        found = cs.CORP(ours)(cs.Sample(y, p))
        for name in ("miscalibration", "discrimination", "uncertainty", "score"):
            assert getattr(found, name) == pytest.approx(float(table[name][0]), abs=1e-9), name


def two_sided(z):
    return erfc(abs(z) / sqrt(2))


def test_mapie_spiegelhalter():
    mapie = peer("mapie.metrics.calibration")
    for seed in range(3):
        y, p = data(200, seed)
        found = cs.Spiegelhalter()(cs.Sample(y, p))
        assert found == pytest.approx(mapie.spiegelhalter_statistic(y, p), rel=1e-9)


def test_mapie_has_no_power_against_under_confidence():
    """Where the peer is wrong: its p-value is one-sided."""
    mapie = peer("mapie.metrics.calibration")
    rng = np.random.Generator(np.random.PCG64(1))
    p = rng.random(2000)
    sample = cs.Sample((rng.random(2000) < 1 / (1 + (1 / p - 1) ** 2)).astype(int), p)
    assert mapie.spiegelhalter_p_value(sample.outcomes, p) > 0.999
    assert two_sided(cs.Spiegelhalter()(sample)) < 1e-6


def test_calzone_spiegelhalter():
    calzone = peer("calzone.metrics")
    sample = make_sample(2, seed=2, n=300)
    z = calzone.spiegelhalter_z_test(sample.outcomes.copy(), sample.y_prob)[0]
    assert cs.Spiegelhalter()(sample) == pytest.approx(z, rel=1e-9)


def test_calzone_takes_two_degrees_of_freedom_too_many_away():
    """Where the peer is wrong: rows that fitted nothing lose no degrees of freedom."""
    metrics = peer("calzone.metrics")
    sample = make_sample(2, seed=3, n=300)
    cells = cs.HistogramRegression(cs.EqualMass(10))(sample).sel(label="a")
    statistic, pvalue, df = metrics.hosmer_lemeshow_test(
        cells["mean_outcome"].values, cells["mean_prediction"].values, cells["count"].values
    )
    found = cs.HosmerLemeshow(10)(sample)
    assert found.published == pytest.approx(statistic, rel=1e-6)
    assert (found.degrees_of_freedom, df) == (10, 8)
    assert found.published_chi_square_pvalue > pvalue


def test_scikit_learn_scores():
    metrics = peer("sklearn.metrics")
    y, p = data(200, 2, ties=True)
    sample = cs.Sample(y, p)
    assert cs.BrierScore()(sample) == pytest.approx(metrics.brier_score_loss(y, p), abs=1e-12)
    assert cs.AUC()(sample) == pytest.approx(metrics.roc_auc_score(y, p), abs=1e-12)
    inner = np.clip(p, 0.05, 0.95)
    assert cs.LogScore()(cs.Sample(y, inner)) == pytest.approx(metrics.log_loss(y, inner), abs=1e-12)


def test_mapie_cumulative_statistics_without_ties():
    mapie = peer("mapie.metrics.calibration")
    y, p = data(400, 3)
    scale = np.sqrt((p * (1 - p)).sum()) / 400
    sample = cs.Sample(y, p)
    assert cs.KolmogorovSmirnov()(sample) / scale == pytest.approx(mapie.kolmogorov_smirnov_statistic(y, p), rel=1e-4)
    assert cs.Kuiper()(sample) / scale == pytest.approx(mapie.kuiper_statistic(y, p), rel=0.05)


def test_mapie_forgets_the_origin():
    """The example in its documentation: a range smaller than the largest distance from the origin, which cannot be."""
    mapie = peer("mapie.metrics.calibration")
    y, p = np.array([0, 1, 0, 1, 0]), np.array([0.1, 0.9, 0.21, 0.9, 0.5])
    assert mapie.kuiper_statistic(y, p) == pytest.approx(0.857, abs=5e-4)
    assert mapie.kolmogorov_smirnov_statistic(y, p) == pytest.approx(0.978, abs=5e-4)
    result = cs.calibration_test(cs.Sample(y, p), cs.Kuiper(), null=cs.Consistency(9), rng=0)
    assert result.standardized == pytest.approx(0.978, abs=5e-4)


def test_mapie_lets_the_order_of_tied_rows_decide():
    mapie = peer("mapie.metrics.calibration")
    y, p = data(200, 4, ties=True)
    p = np.clip(p, 0.1, 0.9)
    order = np.random.Generator(np.random.PCG64(5)).permutation(200)
    theirs = [mapie.kolmogorov_smirnov_statistic(y[rows], p[rows]) for rows in (np.arange(200), order)]
    ours = [cs.KolmogorovSmirnov()(cs.Sample(y[rows], p[rows])) for rows in (np.arange(200), order)]
    assert abs(theirs[0] - theirs[1]) > 1e-3
    assert ours[0] == pytest.approx(ours[1], abs=1e-12)
