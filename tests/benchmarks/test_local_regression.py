"""A local regression with its band, against that of statsmodels, which has none."""

from __future__ import annotations

import numpy as np
from statsmodels.nonparametric.smoothers_lowess import lowess

import calibstat as cs


def test_curve_and_band_against_statsmodels(ratios, benchmark):
    rng = np.random.default_rng(9)
    p = rng.random(1_000_000)
    sample = cs.Sample(rng.random(len(p)) < p, p)
    y, estimator = sample.outcomes.astype(float), cs.LOESS(span=0.3, degree=1, n_points=200, n_cells=512)
    curve = benchmark.pedantic(lambda: estimator(sample), rounds=3, warmup_rounds=1)
    assert (curve.low < curve.high).all()
    ratios.faster(
        "LOESS with a band, n = 1e6; lowess(delta=0.01) of statsmodels, no band",
        lambda: estimator(sample),
        lambda: lowess(y, p, frac=0.3, it=0, delta=0.01),
        15,
        rounds=3,
    )
