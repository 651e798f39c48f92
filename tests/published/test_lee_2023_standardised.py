"""Lee, Huang, Hassani & Dobriban (2023): the debiased plug-in in units of its exact standard deviation."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from calibstat.estimators.standardized_cells import MultiscaleL2, StandardizedL2
from published.enumeration import law_of_labels

TEN = cs.Sample([0, 0, 1, 0, 1, 1, 0, 1, 1, 1], np.arange(10) / 10 + 0.05)
FIVE = cs.EqualMass(5)


@pytest.mark.parametrize("denominator", ["pairs", "counts"])
def test_lee_2023_standardised_error_of_ten_rows(denominator):
    assert StandardizedL2(FIVE, denominator)(TEN) == pytest.approx(-0.40793, abs=5e-6)
    deviation = np.sqrt(0.00158681)
    assert StandardizedL2(FIVE, denominator)(TEN) == pytest.approx(-0.01625 / deviation, abs=5e-6)


@pytest.mark.parametrize("binning", [cs.EqualMass(2), FIVE, cs.FixedEdges([0, 0.3, 0.4, 1])], ids=repr)
@pytest.mark.parametrize("denominator", ["pairs", "counts"])
def test_lee_2023_mean_zero_and_variance_one_under_calibration(binning, denominator):
    law = law_of_labels(StandardizedL2(binning, denominator), TEN)
    assert law.mean == pytest.approx(0, abs=1e-12)
    assert law.values**2 @ law.masses == pytest.approx(1, rel=1e-12)


def test_lee_2023_exact_pvalue_of_ten_rows():
    law = law_of_labels(StandardizedL2(FIVE), TEN)
    assert law.pvalue(StandardizedL2(FIVE)(TEN)) == pytest.approx(0.66766, abs=5e-6)


def test_lee_2023_numerator_is_the_debiased_error():
    law = law_of_labels(cs.DebiasedL2(FIVE), TEN)
    deviation = np.sqrt(law.values**2 @ law.masses)
    assert StandardizedL2(FIVE)(TEN) == pytest.approx(cs.DebiasedL2(FIVE)(TEN) / deviation, rel=1e-12)


def test_lee_2023_three_classes_have_variance_one_too():
    rows = np.random.Generator(np.random.PCG64(1)).dirichlet(np.ones(3), 7)
    sample = cs.Sample([0, 1, 2, 0, 1, 2, 0], rows)
    law = law_of_labels(StandardizedL2(cs.SimplexGrid(2)), sample)
    assert law.mean == pytest.approx(0, abs=1e-12)
    assert law.values**2 @ law.masses == pytest.approx(1, rel=1e-10)


def test_lee_2023_multi_scale_maximum_of_ten_rows():
    scales = [StandardizedL2(cs.EqualMass(m))(TEN) for m in (1, 2)]
    assert MultiscaleL2()(TEN) == pytest.approx(max(scales), rel=1e-12)
