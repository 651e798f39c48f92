"""Kumar, Liang & Ma (2019), "Verified uncertainty calibration": the marginal calibration error of several classes."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from calibstat.estimators.combined import EachClass, Family

LEVELS = cs.UniqueValues()
FOURTEEN = cs.Sample([0] * 5 + [1] * 4 + [2] * 5, [[0.6, 0.3, 0.1]] * 6 + [[0.1, 0.8, 0.1]] * 4 + [[0.1, 0.0, 0.9]] * 4)


@pytest.mark.parametrize(
    ("estimator", "norm", "expected"),
    [(cs.ECE(LEVELS), 1, 0.0857142857), (cs.RMSCE(LEVELS), 2, 0.1158132048), (cs.PDE(LEVELS, 3), 3, 0.1348293812)],
)
def test_kumar_2019_marginal_error(estimator, norm, expected):
    assert float(EachClass(estimator, norm)(FOURTEEN)) == pytest.approx(expected, abs=1e-10)


def test_kumar_2019_marginal_error_is_over_the_class_wise_lenses():
    found = EachClass(cs.RMSCE(LEVELS), 2)(FOURTEEN)
    each = [(cs.ClassWise(label) | cs.RMSCE(LEVELS))(FOURTEEN) for label in range(3)]
    np.testing.assert_allclose(found.values, each, atol=1e-14)
    assert float(found) == pytest.approx(np.sqrt(np.mean(np.square(each))), abs=1e-14)


def test_kumar_2019_debiased_marginal_error():
    found = EachClass(cs.DebiasedCE(LEVELS))(FOURTEEN)
    np.testing.assert_allclose(found.values, [0.0171428571, -0.0214285714, -0.0042857143], atol=1e-10)
    assert float(found) == pytest.approx(-0.0028571429, abs=1e-10)
    clipped = np.sqrt(np.mean(np.maximum(found.values, 0)))
    assert clipped == pytest.approx(0.0755928946, abs=1e-10)


def test_kumar_2019_top_label_errors_of_one_family():
    family = cs.TopLabel() | Family({"l1": cs.ECE(LEVELS), "l2": cs.RMSCE(LEVELS), "debiased": cs.DebiasedCE(LEVELS)})
    found = family(FOURTEEN).to_dict()
    expected = {"l1": 0.1428571429, "l2": 0.1640267109, "debiased": -0.0028571429}
    assert found == pytest.approx(expected, abs=1e-10)
