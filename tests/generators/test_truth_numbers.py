"""A truth of several numbers is no single one."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from calibstat.generators import FinitePredictions

WORLD = FinitePredictions([0.2, 0.7], [0.4, 0.5])


@pytest.mark.parametrize("estimator", [cs.EachClass(cs.ECE(cs.UniqueValues())), cs.BrierDecomposition()], ids=repr)
def test_a_truth_of_several_numbers_says_so(estimator):
    truth = WORLD.truth(estimator)
    assert np.ndim(truth.value) == 1
    with pytest.raises(TypeError, match=r"array of shape \(\d,\), not one number.*estimator\.headline"):
        float(truth)
    headline = float(estimator.estimand.headline(truth.value))
    assert np.isfinite(headline)


def test_a_truth_of_one_number_is_one():
    assert float(WORLD.truth(cs.ECE())) == pytest.approx(0.2)
