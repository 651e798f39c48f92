from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit


class Said:
    """A calibrator that came with what it says: a function of the probability of the last class."""

    def __init__(self, function):
        self.function = function

    def fit(self, X, y, sample_weight=None):
        raise AssertionError("it must not be fitted again")

    def predict_proba(self, X):
        event = self.function(np.asarray(X)[:, 0])
        return np.column_stack([1 - event, event])


@pytest.fixture(scope="session")
def said():
    return Said


@pytest.fixture(scope="session")
def off():
    """Two classes, log-odds too large by one half; 2000 rows and an age that does not matter."""
    rng = np.random.default_rng(0)
    p = rng.uniform(0.02, 0.98, 2000)
    y = (rng.random(2000) < expit(logit(p) - 0.5)).astype(int)
    return {"y_true": y, "y_prob": p, "age": rng.uniform(20, 80, 2000)}


@pytest.fixture(scope="session")
def three():
    """Three classes with names, over-confident."""
    rng = np.random.default_rng(1)
    p = rng.dirichlet([1, 1, 1], 2400)
    y = np.array(["cat", "dog", "eel"])[
        ((0.6 * p + 0.4 / 3).cumsum(axis=1)[:, :-1] < rng.random((2400, 1))).sum(axis=1)
    ]
    return {"y_true": y, "y_prob": p, "labels": ["cat", "dog", "eel"]}
