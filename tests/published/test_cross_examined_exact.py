"""Exact p-values where some cells hold predictions that are almost certain, against laws written out in full."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

import calibstat as cs

TINY = [1e-16, 1e-14, 1e-13, 1e-12, 1e-10]
EVENTS = (0, 9, 14, 40, 50)
SIZE = 50


def five_cells(tiny):
    """Rows of five predictions, 50 each: two of them almost certain and right, the others off."""
    p = np.repeat(np.clip([0.0, 0.1, 0.4, 0.7, 1.0], tiny, 1 - tiny), SIZE)
    y = np.concatenate([np.arange(SIZE) < events for events in EVENTS])
    return cs.Sample(y, p)


def by_enumeration():
    """P(sum of the three uncertain terms >= observed); an event in the other two has a chance below 1e-8."""
    counts = np.arange(SIZE + 1)
    chances = (0.1, 0.4, 0.7)
    terms = [(counts - SIZE * p) ** 2 / (SIZE * p * (1 - p)) for p in chances]
    masses = [stats.binom.pmf(counts, SIZE, p) for p in chances]
    observed = sum(term[events] for term, events in zip(terms, EVENTS[1:4], strict=True))
    pvalue = 0.0
    for at in product(range(SIZE + 1), repeat=2):
        partial = terms[0][at[0]] + terms[1][at[1]]
        pvalue += masses[0][at[0]] * masses[1][at[1]] * masses[2][partial + terms[2] >= observed - 1e-9].sum()
    return pvalue


@pytest.mark.parametrize("tiny", TINY)
def test_pigeon_heyse_1999_pvalue_does_not_suffer_from_almost_certain_cells(tiny):
    """Their terms reach 1e13 and more, which must not blur the others."""
    found = cs.calibration_test(five_cells(tiny), cs.PigeonHeyse(5), null=cs.Exact())
    assert found.pvalue == pytest.approx(by_enumeration(), rel=1e-6)


@pytest.mark.parametrize("tiny", TINY)
def test_pearson_distance_has_the_same_pvalue_in_cells_of_equal_predictions(tiny):
    found = cs.calibration_test(five_cells(tiny), cs.PearsonCE(cs.EqualMass(5)), null=cs.Exact())
    assert found.pvalue == pytest.approx(by_enumeration(), rel=1e-6)


def test_pigeon_heyse_1999_mean_is_the_number_of_cells_that_are_uncertain_at_all():
    found = cs.calibration_test(five_cells(1e-13), cs.PigeonHeyse(5), null=cs.Exact())
    assert float(found.null_mean) == pytest.approx(5, rel=1e-3)
