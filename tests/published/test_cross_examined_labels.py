"""P-values against all 2^n label vectors, by statistics written out once more as plain loops."""

from __future__ import annotations

from functools import cache
from itertools import pairwise, product

import numpy as np
import pytest
from scipy import optimize

import calibstat as cs

N_RESAMPLES = 4000
P = np.array([0.08, 0.21, 0.21, 0.37, 0.44, 0.58, 0.73, 0.73, 0.91])
Y = np.array([1, 0, 1, 0, 1, 0, 1, 1, 1])
SAMPLE = cs.Sample(Y, P)
LABELS = np.array(list(product((0, 1), repeat=len(P))))
CHANCES = np.prod(np.where(LABELS == 1, P, 1 - P), axis=1)
CELLS = [P < 1 / 3, (P >= 1 / 3) & (P < 2 / 3), P >= 2 / 3]
THIRDS = cs.EqualWidth(3)
LOGIT = np.log(P / (1 - P))


def gaps(y):
    return [(y - P)[cell].mean() for cell in CELLS]


def ece(y):
    return sum(cell.mean() * abs(gap) for cell, gap in zip(CELLS, gaps(y), strict=True))


def squared(y):
    return sum(cell.mean() * gap**2 for cell, gap in zip(CELLS, gaps(y), strict=True))


def debiased(y):
    found = squared(y)
    for cell in CELLS:
        found -= cell.mean() * y[cell].mean() * (1 - y[cell].mean()) / (cell.sum() - 1)
    return found


def pairs(y):
    """The squared error of cells from products of residuals of different rows."""
    r, found = y - P, 0.0
    for cell in CELLS:
        rows = np.flatnonzero(cell)
        found += sum(r[i] * r[j] for i in rows for j in rows if i != j) / (len(rows) - 1)
    return found / len(P)


def pigeon_heyse(y):
    return sum((y - P)[cell].sum() ** 2 / (P * (1 - P))[cell].sum() for cell in CELLS)


def pearson(y):
    return sum(
        cell.mean() * gap**2 / (P[cell].mean() * (1 - P[cell].mean())) for cell, gap in zip(CELLS, gaps(y), strict=True)
    )


def deviation(y):
    return sum(abs(P[cell] - y[cell].mean()).sum() for cell in CELLS) / len(P)


def walk(y):
    return [0.0] + [float((y - P)[at >= P].sum()) for at in np.unique(P)]


def two_bins(y):
    edges = [0.0, *np.unique(P), 1.0]
    steps = walk(y)
    widths = [high - low for low, high in pairwise(edges)]
    return sum(w * (c**2 + (steps[-1] - c) ** 2) for w, c in zip(widths, steps, strict=True)) / len(P) ** 2


def kernel(y):
    r, n = y - P, len(P)
    return sum(2 * r[i] * r[j] * np.exp(-abs(P[i] - P[j]) / 0.3) for i in range(n) for j in range(n) if i != j) / (
        n * (n - 1)
    )


def smooth(y):
    """The linear programme itself."""
    order = np.argsort(P, kind="stable")
    steps = np.eye(len(P))[:-1] - np.eye(len(P))[1:]
    limits = np.diff(P[order])
    found = optimize.linprog(
        -(y - P)[order] / len(P), np.vstack([steps, -steps]), np.concatenate([limits, limits]), bounds=(-1, 1)
    )
    return -found.fun


def isotonic_gain(y):
    """Brier score minus that of the isotonic fit, which is the max-min of means over runs of predictions."""
    values = np.unique(P)
    fit = {
        at: max(min(y[(low <= P) & (high >= P)].mean() for high in values if high >= at) for low in values if low <= at)
        for at in values
    }
    return ((y - P) ** 2).mean() - np.mean([(y[i] - fit[P[i]]) ** 2 for i in range(len(P))])


def spiegelhalter(y):
    return abs(((y - P) * (1 - 2 * P)).sum())


def cox(y):
    columns = np.stack([np.ones(len(P)), LOGIT])
    score = columns @ (y - P)
    return score @ np.linalg.solve((columns * (P * (1 - P))) @ columns.T, score)


EXACT = {
    "ECE": (cs.ECE(THIRDS), ece),
    "RMSCE": (cs.RMSCE(THIRDS), lambda y: np.sqrt(squared(y))),
    "SquaredCE": (cs.SquaredCE(THIRDS), squared),
    "DebiasedCE": (cs.DebiasedCE(THIRDS), debiased),
    "MCE": (cs.MCE(THIRDS), lambda y: max(map(abs, gaps(y)))),
    "PearsonCE": (cs.PearsonCE(THIRDS), pearson),
}
DRAWN = {
    "DebiasedL2": (cs.DebiasedL2(THIRDS), pairs),
    "PDE": (cs.PDE(THIRDS), deviation),
    "Kuiper": (cs.Kuiper(), lambda y: max(walk(y)) - min(walk(y))),
    "KS": (cs.KS(), lambda y: max(map(abs, walk(y)))),
    "AverageTwoBin": (cs.AverageTwoBin(), two_bins),
    "SKCE": (cs.SKCE(0.3), kernel),
    "SmoothCE": (cs.SmoothCE(), smooth),
    "CORP": (cs.CORP(), isotonic_gain),
    "Spiegelhalter": (cs.Spiegelhalter(), spiegelhalter),
    "Cox": (cs.Cox(), cox),
    "mean": (cs.MeanCalibration(), lambda y: abs((y - P).sum())),
}


@cache
def by_enumeration(statistic):
    values = np.array([statistic(y) for y in LABELS])
    return float(CHANCES[values >= statistic(Y) - 1e-9].sum()), float(CHANCES @ values)


@pytest.mark.parametrize("name", EXACT)
def test_exact_pvalue_is_that_of_all_label_vectors(name):
    estimator, statistic = EXACT[name]
    found = cs.calibration_test(SAMPLE, estimator)
    pvalue, mean = by_enumeration(statistic)
    assert float(found.statistic) == pytest.approx(statistic(Y), abs=1e-12)
    assert found.pvalue == pytest.approx(pvalue, rel=1e-9)
    assert float(found.null_mean) == pytest.approx(mean, abs=1e-9)


@pytest.mark.parametrize("name", DRAWN)
def test_redrawn_pvalue_is_that_of_all_label_vectors(name):
    """Within 4 binomial standard errors of 4000 redraws."""
    estimator, statistic = DRAWN[name]
    pvalue, _ = by_enumeration(statistic)
    found = cs.calibration_test(SAMPLE, estimator, null=cs.Consistency(N_RESAMPLES), rng=0)
    assert abs(found.pvalue - pvalue) < 4 * np.sqrt(pvalue * (1 - pvalue) / N_RESAMPLES) + 1 / N_RESAMPLES


def test_negative_control_enumeration_tells_statistics_apart():
    """The p-values are not alike by accident: they are spread, and that of the mean is not that of the shape."""
    pvalues = [by_enumeration(statistic)[0] for _, statistic in (EXACT | DRAWN).values()]
    assert max(pvalues) - min(pvalues) > 0.2
