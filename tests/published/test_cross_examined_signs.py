"""Random signs and families of statistics against all sign and label vectors."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import calibstat as cs

N_RESAMPLES = 4000
P = np.array([0.12, 0.25, 0.33, 0.41, 0.5, 0.56, 0.67, 0.72, 0.88, 0.95])
Y = np.array([0, 1, 0, 1, 1, 1, 0, 1, 1, 1])
GROUP = np.array(list("aaabbbbccc"))
X = np.array([3.0, 1, 4, 1.5, 9, 2.6, 5, 3.5, 8, 7])
SAMPLE = cs.Sample(Y, P, variables={"group": GROUP, "x": X})
PATIENT = np.array(list("aaabbccccd"))
ALL = np.array(list(product((0, 1), repeat=len(P))))
CHANCES = np.prod(np.where(ALL == 1, P, 1 - P), axis=1)
THIRDS = np.searchsorted([0.4, 0.7], P)


def close(found, expected):
    return abs(found - expected) < 4 * np.sqrt(max(expected * (1 - expected), 1e-3) / N_RESAMPLES) + 1 / N_RESAMPLES


def ece(r):
    return sum(abs(r[cell == THIRDS].sum()) for cell in range(3)) / len(P)


def kuiper(r):
    steps = np.concatenate([[0], np.cumsum(r)])
    return np.ptp(steps) / len(P)


def kernel(r):
    return max(0.0, float(r @ np.exp(-abs(P[:, None] - P) / 0.3) @ r)) ** 0.5


SEMINORMS = {
    "ECE": (cs.ECE(cs.FixedEdges([0, 0.4, 0.7, 1])), ece),
    "Kuiper": (cs.Kuiper(), kuiper),
    "KCE": (cs.KCE(0.3), kernel),
}


@pytest.mark.parametrize("clustered", [False, True], ids=["rows", "clusters"])
@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("name", SEMINORMS)
def test_multiplier_pvalue_is_that_of_all_signs(name, centred, clustered):
    estimator, statistic = SEMINORMS[name]
    signs = clustered_signs() if clustered else np.array(list(product((-1, 1), repeat=len(P))))
    if centred:
        signs = signs - others_mean(signs, clustered)
    values = np.array([statistic(row * (Y - P)) for row in signs])
    expected = float((values >= statistic(Y - P) - 1e-9).mean())
    sample = cs.Sample(Y, P, groups=PATIENT if clustered else None)
    found = cs.calibration_test(sample, estimator, null=cs.Multiplier(N_RESAMPLES, centred=centred), rng=0)
    of_signs = found.null_distribution.replicates[-1].pvalue(found.statistic)
    assert close(of_signs, expected)
    # of clusters labels are redrawn too
    assert found.pvalue >= of_signs if clustered else found.pvalue == of_signs


def others_mean(signs, clustered):
    """The mean over the rows; of clusters, which may be large, over those of the others."""
    mean = signs.mean(axis=1, keepdims=True)
    return mean - signs * (PATIENT[:, None] == PATIENT).mean(axis=0) if clustered else mean


def clustered_signs():
    return np.array(list(product((-1, 1), repeat=4)))[:, np.searchsorted(list("abcd"), PATIENT)]


def vece(r):
    order = np.argsort(X, kind="stable")
    return sum(abs(r[rows].sum()) for rows in np.split(order, [5])) / len(P)


def test_weak_pvalue_is_the_larger_of_all_labels_and_all_centred_signs():
    observed = vece(Y - P) - 1e-9
    signs = np.array(list(product((-1.0, 1.0), repeat=len(P))))
    signs -= signs.mean(axis=1, keepdims=True)
    by_labels = float(CHANCES[[vece(y - P) >= observed for y in ALL]].sum())
    by_signs = float(np.mean([vece(row * (Y - P)) >= observed for row in signs]))
    null = cs.Weak(N_RESAMPLES, min_expected=0.5)
    found = cs.calibration_test(SAMPLE, cs.VECE("x", cs.EqualMass(2)), null=null, rng=0)
    assert close(found.pvalue, max(by_labels, by_signs))
    assert abs(by_labels - by_signs) > 0.02  # the larger one decides


@pytest.fixture(scope="module")
def standardised():
    """The ECE of each group in one cell, over all labels: values standardised by their null law, and the observed."""
    values = np.array([[abs((y - P)[level == GROUP].mean()) for y in ALL] for level in "abc"])
    observed = np.array([abs((Y - P)[level == GROUP].mean()) for level in "abc"])
    mean = values @ CHANCES
    spread = np.sqrt((values - mean[:, None]) ** 2 @ CHANCES)
    return (values - mean[:, None]) / spread[:, None], (observed - mean) / spread


def test_max_t_adjusted_pvalues_are_those_of_all_labels(standardised):
    values, observed = standardised
    expected = [float(CHANCES[values.max(axis=0) >= z - 1e-9].sum()) for z in observed]
    found = cs.multiple_test(
        SAMPLE, cs.Within("group", cs.ECE(cs.FixedEdges([0, 1]))), null=cs.Consistency(N_RESAMPLES), rng=0
    )
    np.testing.assert_allclose(found.pvalues_adjusted, expected, atol=0.04)  # the scale is estimated from the draws too


def test_step_down_adjusted_pvalues_are_those_of_all_labels(standardised):
    values, observed = standardised
    order = np.argsort(-observed)
    expected, running = np.empty(3), 0.0
    for step, level in enumerate(order):
        largest = values[order[step:]].max(axis=0)
        running = max(running, float(CHANCES[largest >= observed[level] - 1e-9].sum()))
        expected[level] = running
    estimator = cs.Within("group", cs.ECE(cs.FixedEdges([0, 1])))
    found = cs.multiple_test(SAMPLE, estimator, adjust="step-down", null=cs.Consistency(N_RESAMPLES), rng=0)
    np.testing.assert_allclose(found.pvalues_adjusted, expected, atol=0.04)
