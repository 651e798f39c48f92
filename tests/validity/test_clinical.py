"""Intervals of a clinical summary hold the truth, also with few events; those by influence of the slope do not."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit, logit

import calibstat as cs
from calibstat.inference.differences import normal_interval

pytestmark = pytest.mark.slow

WORLDS = {
    "120 rows": (120, (1.5, 3.0), -0.3, 0.8),
    "rare events": (300, (1.0, 19.0), 0.4, 0.9),
    "nothing to tell apart": (200, (3.0, 7.0), 0.1, 0.0),
}
RUNS = 300


def truths(law, shift, slope):
    """Measures of a large sample, with chances in place of labels."""
    p = np.random.default_rng(1).beta(*law, 200_000)
    q = expit(shift + slope * logit(p))
    order = np.argsort(p)
    events, others = q[order], 1 - q[order]
    brier = float((q * (1 - p) ** 2 + (1 - q) * p**2).mean())
    return {
        "oe": q.mean() / p.mean(),
        "intercept": brentq(lambda t: (expit(t + logit(p)) - q).mean(), -3, 3),
        "slope": slope,
        "c_index": float(events @ (np.cumsum(others) - others / 2) / (events.sum() * others.sum())),
        "brier": brier,
        "scaled_brier": 1 - brier / (q.mean() * (1 - q.mean())),
    }


def truths_of_rows(sample, q):
    """Measures of these predictions, with chances in place of labels."""
    smooth = cs.ICI().prepare(sample.predictions)(np.column_stack([1 - q, q]))
    cells = cs.EqualMass(10).cut(sample.predictions).index
    size = np.bincount(cells)
    means, gaps = np.bincount(cells, q) / size, np.bincount(cells, sample.predictions.event - q) / size
    return dict(zip(("ici", "e50", "e90", "emax"), smooth, strict=True)) | {
        "reliability": size @ gaps**2 / len(q),
        "resolution": size @ (means - q.mean()) ** 2 / len(q),
        "uncertainty": q.mean() * (1 - q.mean()),
    }


@pytest.mark.parametrize("world", WORLDS)
def test_intervals_hold_the_truth(world):
    n, law, shift, slope = WORLDS[world]
    rng, known = np.random.default_rng(0), truths(law, shift, slope)
    held, narrow = Counter(), Counter()
    for _ in range(RUNS):
        p = rng.beta(*law, n)
        q = expit(shift + slope * logit(p))
        sample = cs.Sample((rng.random(n) < q).astype(int), p, labels=[0, 1])
        found = cs.clinical_summary(sample, n_resamples=199, rng=rng)
        for name, truth in (known | truths_of_rows(sample, q)).items():
            measure = found[name]
            held[name] += measure.low <= truth <= measure.high
            if name in known:
                narrow[name] += abs(truth - measure.value) <= 0.6 * (measure.high - measure.low) / 2
    least = RUNS * 0.95 - 4 * np.sqrt(RUNS * 0.95 * 0.05)
    assert len(held) == 13
    assert {name: count for name, count in held.items() if count < least} == {}
    assert len(narrow) == 6
    assert all(count < least for count in narrow.values()), "intervals of 0.6 times the width hold the truth too"


def test_wald_intervals_hold_the_slope_with_eight_events_and_those_by_influence_do_not():
    rng, runs, held = np.random.default_rng(5), 1000, np.zeros(2)
    for _ in range(runs):
        p = np.clip(rng.beta(1, 49, 400), 1e-6, 1 - 1e-6)
        sample = cs.Sample((rng.random(400) < p).astype(int), p, labels=[0, 1])
        ends = (cs.Cox()(sample).slope_interval, normal_interval(cs.Cox(statistic="slope"), sample).interval(0.95))
        held += [low <= 1 <= high for low, high in ends]
    error = np.sqrt(runs * 0.95 * 0.05)
    assert held[0] > 0.95 * runs - 4 * error
    assert held[1] < 0.95 * runs - 4 * error
