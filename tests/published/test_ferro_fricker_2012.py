"""Murphy (1973), Ferro & Fricker (2012): the Brier score taken apart, and the bias of its parts."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from calibstat.estimators.base import Headline
from calibstat.estimators.histogram import BrierDecomposition, FerroFricker
from published.enumeration import law_of_labels

TEN = cs.Sample([0, 0, 1, 0, 1, 1, 0, 1, 1, 1], np.arange(10) / 10 + 0.05)
binnings = pytest.mark.parametrize("binning", [cs.EqualWidth(5), cs.EqualMass(5)], ids=repr)


@binnings
def test_murphy_1973_parts_of_ten_rows(binning):
    found = BrierDecomposition(binning)(TEN)
    assert (found.calibration, found.sharpness, found.uncertainty) == pytest.approx((0.07, 0.14, 0.24), abs=1e-12)
    assert found.score == pytest.approx(0.1725, abs=1e-12)
    assert found.residual == pytest.approx(0.0025, abs=1e-12)


@binnings
def test_ferro_fricker_2012_corrected_parts_of_ten_rows(binning):
    found = FerroFricker(binning)(TEN)
    parts = (found.calibration, found.sharpness, found.uncertainty)
    assert parts == pytest.approx((-0.03, 0.2 / 3, 0.8 / 3), abs=1e-12)
    assert found.calibration == pytest.approx(cs.DebiasedCE(binning)(TEN), abs=1e-12)
    assert found.calibration - found.sharpness + found.uncertainty == pytest.approx(0.17, abs=1e-12)
    assert found.residual == pytest.approx(0.0025, abs=1e-12)


def test_murphy_1973_the_identity_is_exact_for_distinct_predictions():
    f, y = np.repeat([0.1, 0.4, 0.8], [4, 5, 2]), [0, 0, 0, 1, 0, 1, 0, 1, 1, 1, 1]
    found = BrierDecomposition(cs.UniqueValues())(cs.Sample(y, f))
    assert found.score == pytest.approx(0.2109090909, abs=5e-11)
    assert found.uncertainty == pytest.approx(0.2479338843, abs=5e-11)
    assert found.sharpness == pytest.approx(0.0706611570, abs=5e-11)
    assert found.calibration == pytest.approx(0.0336363636, abs=5e-11)
    assert found.residual == pytest.approx(0, abs=1e-15)


def test_ferro_fricker_2012_corrected_parts_are_unbiased_where_murphys_are_not():
    """Two predictions, four rows each, known chances, all labels enumerated."""
    f, chance = np.repeat([0.3, 0.7], 4), np.repeat([0.2, 0.9], 4)
    sample, chances = cs.Sample([0, 1] * 4, f), np.column_stack([1 - chance, chance])
    unique = cs.UniqueValues()
    truth = np.mean((f - chance) ** 2)
    assert law_of_labels(Headline(FerroFricker(unique)), sample, chances).mean == pytest.approx(truth, abs=1e-14)
    assert law_of_labels(Headline(BrierDecomposition(unique)), sample, chances).mean > truth + 0.02
    sharpness = law_of_labels(_Sharpness(), sample, chances).mean
    assert sharpness == pytest.approx(np.var(chance) + np.var(chance) / 7, abs=1e-14)


class _Sharpness:
    """One part of the corrected decomposition, prepared as an estimator is."""

    def prepare(self, predictions):
        evaluate = FerroFricker(cs.UniqueValues()).prepare(predictions)
        return lambda outcomes: evaluate(outcomes)[..., 2]
