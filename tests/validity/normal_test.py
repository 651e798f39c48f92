"""A test whose power is known in closed form, nearly, and that costs microseconds."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri, stdtr

from calibstat import generators as g


def mean_z(sample, rng=None):
    """P-value of the two-sided z test of the mean residual, with the variance under the null."""
    p = sample.y_prob[:, 1]
    z = (sample.outcomes - p).sum() / np.sqrt((p * (1 - p)).sum())
    return 2 * ndtr(-abs(z))


def clustered_z(sample, rng=None):
    """P-value of the two-sided t test of the mean residual of clusters of rows."""
    groups = sample.groups
    sums = groups.sums(sample.outcomes - sample.y_prob[:, 1])
    centred = sums - groups.sums(None) * sums.sum() / len(sample)
    error = np.sqrt((centred**2).sum() * groups.number / (groups.number - 1))
    return 2 * stdtr(groups.number - 1, -abs(sums.sum()) / error)


def known_power_in_clusters(shift, n, size, correlation):
    """Power of `clustered_z`, nearly, where `size` rows of a cluster have the same uniform prediction."""
    p = (np.arange(100_000) + 0.5) / 100_000
    r = g.LogitShift(shift)(p)
    drift = (r - p).mean()
    noise = (r * (1 - r)).mean() * (1 + (size - 1) * correlation)
    scale = np.sqrt(noise + size * ((r - p) ** 2).mean() - size * drift**2)
    edge = -ndtri(0.025)
    return ndtr(np.sqrt(n) * drift / scale - edge) + ndtr(-np.sqrt(n) * drift / scale - edge)


def known_power(shift, n):
    """Power of `mean_z` at 5 % against uniform predictions whose log-odds are off by `shift`."""
    p = (np.arange(100_000) + 0.5) / 100_000
    r = g.LogitShift(shift)(p)
    null = (p * (1 - p)).mean()
    # given random predictions the residuals vary by r (1 - r) and by the spread of r - p
    spread = (r * (1 - r) + (r - p) ** 2).mean() - (r - p).mean() ** 2
    drift = np.sqrt(n) * (r - p).mean()
    edge = -ndtri(0.025) * np.sqrt(null)
    return ndtr((drift - edge) / np.sqrt(spread)) + ndtr((-drift - edge) / np.sqrt(spread))
