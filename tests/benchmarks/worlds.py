"""What benchmarks are about: calibrated predictions, so that labels follow them."""

from __future__ import annotations

import numpy as np

import calibstat as cs


def binary_arrays(n, seed=3):
    """Labels and predictions of Beta(0.7, 0.7), as raw arrays."""
    rng = np.random.default_rng(seed)
    p = rng.beta(0.7, 0.7, n)
    return (rng.random(n) < p).astype(int), p


def class_arrays(n, n_classes, seed=5):
    """Labels and uniform predictions of several classes, as raw arrays."""
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.ones(n_classes), n)
    return (rows.cumsum(axis=1)[:, :-1] < rng.random((n, 1))).sum(axis=1), rows


def binary(n, seed=3):
    """The same as a sample."""
    return cs.Sample(*binary_arrays(n, seed))


def arrays(sample):
    """Labels and chances of the event, in memory of their own."""
    return sample.outcomes.copy(), sample.predictions.event.copy()


def of_classes(n, n_classes, seed=5):
    """The same of several classes."""
    return cs.Sample(*class_arrays(n, n_classes, seed), labels=range(n_classes))
