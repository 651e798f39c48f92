"""Samples of a calibrated and of a miscalibrated model."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs


@pytest.fixture(scope="module")
def calibrated():
    """Two classes, labels drawn from the predictions."""
    rng = np.random.default_rng(21)
    p = rng.random(400)
    return cs.Sample(
        np.where(rng.random(400) < p, "yes", "no"),
        p,
        variables={"age": rng.integers(20, 80, 400)},
        labels=["no", "yes"],
    )


@pytest.fixture(scope="module")
def miscalibrated():
    """Three classes, labels drawn from flattened predictions: an overconfident model."""
    rng = np.random.default_rng(12)
    prob = rng.dirichlet([0.3, 0.3, 0.3], size=600)
    truth = 0.5 * prob + 0.5 / 3
    y = (rng.random((600, 1)) > truth.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return cs.Sample(np.array(["cat", "dog", "car"])[y], prob, labels=["cat", "dog", "car"])
