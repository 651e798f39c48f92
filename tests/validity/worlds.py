"""Worlds in which the law of the labels is known: functions of (n, rng) that return a sample."""

from __future__ import annotations

import numpy as np

import calibstat as cs


def draw_event(chance, rng):
    """Draw events (n,) with these chances."""
    return rng.random(len(chance)) < chance


def draw_class(chances, rng):
    """Draw classes (n,) with these chances (n, K)."""
    return (rng.random((len(chances), 1)) >= chances.cumsum(axis=1)[:, :-1]).sum(axis=1)


def two_classes(scores, rng, chance=None, **more):
    """A sample of events; calibrated unless another chance is given."""
    return cs.Sample(draw_event(scores if chance is None else chance, rng), scores, labels=[False, True], **more)


def uniform(n, rng):
    """Calibrated, scores uniform."""
    return two_classes(rng.random(n), rng)


def u_shaped(n, rng):
    """Calibrated, most scores near 0 and 1."""
    return two_classes(rng.beta(0.5, 0.5, n), rng)


def tenths(n, rng):
    """Calibrated, scores of one digit: statistics have ties."""
    return two_classes(rng.integers(1, 10, n) / 10, rng)


def with_variable(n, rng):
    """Calibrated given the score and a variable that goes with the score."""
    scores = rng.random(n)
    return two_classes(scores, rng, variables={"v": scores + rng.random(n)})


def dirichlet(n, rng, n_classes=3, concentration=1.0, noise=0.0):
    """Labels drawn from the predictions, a share `noise` of them uniformly over the classes."""
    prob = rng.dirichlet(np.full(n_classes, concentration), n)
    return cs.Sample(draw_class((1 - noise) * prob + noise / n_classes, rng), prob, labels=range(n_classes))


def four_classes(n, rng):
    """Calibrated, four classes."""
    return dirichlet(n, rng, n_classes=4)


def squared(n, rng):
    """Miscalibrated: P(event | score) = score ** 2, scores uniform."""
    scores = rng.random(n)
    return two_classes(scores, rng, chance=scores**2)


def squared_tenths(n, rng):
    """Miscalibrated in the same way, scores 0.1, 0.3, ..., 0.9."""
    scores = rng.choice([0.1, 0.3, 0.5, 0.7, 0.9], n)
    return two_classes(scores, rng, chance=scores**2)
