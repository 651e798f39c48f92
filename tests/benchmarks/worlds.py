"""The samples that benchmarks are about: calibrated, so that labels follow the predictions."""

from __future__ import annotations

import numpy as np

import calibstat as cs


def binary(n, seed=3):
    """Predictions of Beta(0.7, 0.7) and labels drawn from them."""
    rng = np.random.default_rng(seed)
    p = rng.beta(0.7, 0.7, n)
    return cs.Sample((rng.random(n) < p).astype(int), p)


def arrays(sample):
    """Labels and chances of the event, in memory of their own."""
    return sample.outcomes.copy(), sample.predictions.event.copy()


def of_classes(n, n_classes, seed=5):
    """Uniform predictions of several classes and labels drawn from them."""
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.ones(n_classes), n)
    return cs.Sample((rows.cumsum(axis=1)[:, :-1] < rng.random((n, 1))).sum(axis=1), rows, labels=range(n_classes))
