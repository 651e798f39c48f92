"""How often columns in the right order are taken for exchanged ones: never, where 1 in 1000 would be allowed."""

from __future__ import annotations

import numpy as np
import pytest

from calibstat.data._classes import better_order

RUNS = 4000


def _calibrated(rng, n, n_classes):
    y_prob = rng.dirichlet(np.full(n_classes, 0.3), n)
    return (y_prob.cumsum(axis=1)[:, :-1] < rng.random((n, 1))).sum(axis=1), y_prob


def _weak(rng, n, n_classes):
    """A small part of the prediction is right, and all classes are as frequent."""
    y_true, y_prob = _calibrated(rng, n, n_classes)
    return np.where(rng.random(n) < 0.05, y_true, rng.integers(0, n_classes, n)), y_prob


def _uninformative(rng, n, n_classes):
    """Nothing is right, the classes are uneven, and most predictions are equal."""
    y_prob = np.tile(rng.dirichlet(np.ones(n_classes)), (n, 1))
    some = rng.random(n) < 0.05
    y_prob[some] = rng.dirichlet(np.full(n_classes, 0.2), some.sum())
    return rng.choice(n_classes, n, p=rng.dirichlet(np.ones(n_classes))), y_prob


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("world", [_calibrated, _weak, _uninformative])
def test_noise_is_no_other_order(world, n_classes):
    rng = np.random.default_rng(20)
    found = 0
    for run in range(RUNS):
        y_true, y_prob = world(rng, (25, 60, 200, 1000)[run % 4], n_classes)
        found += better_order(y_prob, y_true, n_classes) is not None
    assert found <= RUNS / 1000 + 4 * np.sqrt(RUNS / 1000)


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_every_other_order_is_found_in_enough_rows(n_classes):
    rng = np.random.default_rng(21)
    order = np.roll(np.arange(n_classes), 1)
    for _ in range(200):
        y_true, y_prob = _calibrated(rng, 1000, n_classes)
        found = better_order(y_prob[:, order], y_true, n_classes)
        assert found is not None
        assert found[0] == order.tolist()
        happened = np.eye(n_classes)[y_true]
        scores = [((said - happened) ** 2).sum(axis=1).mean() for said in (y_prob[:, order], y_prob)]
        assert found[1:] == pytest.approx(np.array(scores) / (2 if n_classes == 2 else 1))
