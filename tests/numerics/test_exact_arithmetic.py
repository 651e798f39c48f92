"""Values of small samples that tempt floating point, against the same formula in exact rational arithmetic.

Every double is a fraction, so the reference has no rounding at all: ties, the smallest positive numbers, predictions
one step from one, and weights whose ratio is far beyond the precision of a double.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import calibstat as cs

TINY, LEAST, NEXT = 1e-300, 5e-324, 1 - 2.0**-53
PREDICTIONS = {
    "ties": [0.5] * 6 + [0.25] * 4,
    "tenths": [0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9, 0.3, 0.7],
    "next to the ends": [TINY, NEXT, TINY, NEXT, 0.5, NEXT, LEAST, LEAST, TINY, NEXT],
    "ends": [0.0, 1.0, 0.0, 1.0, 0.5, 1.0, 0.0, 0.5, LEAST, NEXT],
    "tiny": [TINY, 2 * TINY, 3 * TINY, LEAST, 1e-200, 1e-100, 1e-17, 1e-16, 1e-15, 1e-10],
    "hardly apart": [0.3 + k * 2.0**-33 for k in range(10)],
}
OUTCOMES = [0, 1, 1, 0, 1, 1, 0, 1, 0, 0]
WEIGHTS = {
    "none": None,
    "alike": [1.0] * 10,
    "thirds": [1 / 3, 2 / 3, 1.0, 4 / 3, 1 / 7, 0.1, 0.2, 0.3, 3.0, 11.0],
    "huge": [1e150, 3e150, 2e150, 7e150, 1e150, 5e150, 1e150, 2e150, 3e150, 4e150],
    "small": [1e-150, 3e-150, 2e-150, 7e-150, 1e-150, 5e-150, 1e-150, 2e-150, 3e-150, 4e-150],
    "far apart": [1.0, 1e17, 1.0, 3.0, 1e17, 1.0, 1e-17, 2.0, 1e9, 1.0],
}


def rows(p, w):
    weights = [1] * len(p) if w is None else w
    return [(Fraction(a), b, Fraction(c)) for a, b, c in zip(p, OUTCOMES, weights, strict=True)]


def total(triples):
    return sum(w for _, _, w in triples)


def brier(triples):
    return sum(w * (p - y) ** 2 for p, y, w in triples) / total(triples)


def ece(triples):
    """In cells (0, 1/4], ..., (3/4, 1], of which the first holds zero."""
    cells = {}
    for p, y, w in triples:
        place = max(0, -((-p * 4) // 1) - 1)
        cells[place] = cells.get(place, 0) + w * (y - p)
    return sum(abs(each) for each in cells.values()) / total(triples)


def walk(triples):
    """Cumulated differences after all rows of each prediction, from zero."""
    steps = {}
    for p, y, w in triples:
        steps[p] = steps.get(p, 0) + w * (y - p) / total(triples)
    heights = [Fraction(0)]
    for p in sorted(steps):
        heights.append(heights[-1] + steps[p])
    return heights


def kuiper(triples):
    return max(walk(triples)) - min(walk(triples))


def kolmogorov_smirnov(triples):
    return max(abs(each) for each in walk(triples))


def observed_to_expected(triples):
    return sum(w * y for _, y, w in triples) / sum(w * p for p, _, w in triples)


CHECKED = {
    "BrierScore": (cs.BrierScore(), brier),
    "ECE": (cs.ECE(cs.EqualWidth(4), p=1), ece),
    "Kuiper": (cs.Kuiper(), kuiper),
    "KS": (cs.KS(), kolmogorov_smirnov),
    "ObservedToExpected": (cs.ObservedToExpected(), observed_to_expected),
}


@pytest.mark.parametrize("name", CHECKED)
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("predictions", PREDICTIONS)
def test_the_value_is_that_of_exact_arithmetic(predictions, weights, name):
    """To eleven digits of the value, or of one where terms of that size are subtracted."""
    p, w = PREDICTIONS[predictions], WEIGHTS[weights]
    estimator, formula = CHECKED[name]
    exact = formula(rows(p, w))
    found = float(estimator(cs.Sample(OUTCOMES, p, sample_weight=w)))
    assert np.isfinite(found) or exact > Fraction(np.finfo(float).max)
    if np.isfinite(found):
        assert abs(Fraction(found) - exact) <= Fraction(1, 10**11) * exact + Fraction(1, 10**15)


@pytest.mark.parametrize("name", CHECKED)
@pytest.mark.parametrize("predictions", PREDICTIONS)
def test_the_order_of_rows_does_not_matter(predictions, name):
    p, w = np.array(PREDICTIONS[predictions]), np.array(WEIGHTS["thirds"])
    rng, estimator = np.random.default_rng(0), CHECKED[name][0]
    y, found = np.array(OUTCOMES), []
    for order in [np.arange(10), *(rng.permutation(10) for _ in range(20))]:
        found.append(float(estimator(cs.Sample(y[order], p[order], sample_weight=w[order]))))
    np.testing.assert_allclose(found, found[0], rtol=1e-12, atol=1e-15)


def test_the_reference_sees_what_floating_point_loses():
    """A sum in double precision forgets the small weights beside the large ones."""
    w = WEIGHTS["far apart"]
    assert sum(Fraction(each) for each in w) != Fraction(sum(w))
