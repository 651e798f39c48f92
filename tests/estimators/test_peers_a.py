"""The best other package that computes the same, where it is installed; and where it is wrong."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import calibstat as cs
from calibstat.estimators.isotonic.corp import CORP
from calibstat.estimators.scores.means import BrierScore, LogScore
from calibstat.estimators.scores.performance import AUC
from calibstat.estimators.smooth.errors import SmoothECE
from calibstat.estimators.walks.cumulative import KolmogorovSmirnov, Kuiper


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
    assert SmoothECE()(sample) == pytest.approx(relplot.smECE(f=p, y=y), rel=0.02, abs=0.002)
    assert SmoothECE(bandwidth=0.1)(sample) == pytest.approx(relplot.smECE_sigma(p, y, 0.1), rel=0.02, abs=0.002)


@pytest.mark.parametrize("ties", [False, True])
def test_model_diagnostics_decomposition(ties):
    scoring = peer("model_diagnostics.scoring")
    y, p = data(300, 1, ties)
    p = np.clip(p, 0.01, 0.99)
    for ours, theirs in ((BrierScore(), scoring.SquaredError()), (LogScore(), scoring.LogLoss())):
        table = scoring.decompose(y, p, scoring_function=theirs)
        found = CORP(ours)(cs.Sample(y, p))
        for name in ("miscalibration", "discrimination", "uncertainty", "score"):
            assert getattr(found, name) == pytest.approx(float(table[name][0]), abs=1e-9), name


def test_scikit_learn_scores():
    metrics = peer("sklearn.metrics")
    y, p = data(200, 2, ties=True)
    sample = cs.Sample(y, p)
    assert BrierScore()(sample) == pytest.approx(metrics.brier_score_loss(y, p), abs=1e-12)
    assert AUC()(sample) == pytest.approx(metrics.roc_auc_score(y, p), abs=1e-12)
    inner = np.clip(p, 0.05, 0.95)
    assert LogScore()(cs.Sample(y, inner)) == pytest.approx(metrics.log_loss(y, inner), abs=1e-12)


def test_mapie_cumulative_statistics_without_ties():
    mapie = peer("mapie.metrics.calibration")
    y, p = data(400, 3)
    scale = np.sqrt((p * (1 - p)).sum()) / 400
    sample = cs.Sample(y, p)
    assert KolmogorovSmirnov()(sample) / scale == pytest.approx(mapie.kolmogorov_smirnov_statistic(y, p), rel=1e-4)
    assert Kuiper()(sample) / scale == pytest.approx(mapie.kuiper_statistic(y, p), rel=0.05)


def test_mapie_forgets_the_origin():
    """The example in its documentation: a range smaller than the largest distance from the origin, which cannot be."""
    mapie = peer("mapie.metrics.calibration")
    y, p = np.array([0, 1, 0, 1, 0]), np.array([0.1, 0.9, 0.21, 0.9, 0.5])
    assert mapie.kuiper_statistic(y, p) == pytest.approx(0.857, abs=5e-4)
    assert mapie.kolmogorov_smirnov_statistic(y, p) == pytest.approx(0.978, abs=5e-4)
    result = cs.calibration_test(cs.Sample(y, p), Kuiper(), null=cs.Consistency(9), rng=0)
    assert result.standardized == pytest.approx(0.978, abs=5e-4)


def test_mapie_lets_the_order_of_tied_rows_decide():
    mapie = peer("mapie.metrics.calibration")
    y, p = data(200, 4, ties=True)
    p = np.clip(p, 0.1, 0.9)
    order = np.random.Generator(np.random.PCG64(5)).permutation(200)
    theirs = [mapie.kolmogorov_smirnov_statistic(y[rows], p[rows]) for rows in (np.arange(200), order)]
    ours = [KolmogorovSmirnov()(cs.Sample(y[rows], p[rows])) for rows in (np.arange(200), order)]
    assert abs(theirs[0] - theirs[1]) > 1e-3
    assert ours[0] == pytest.approx(ours[1], abs=1e-12)
