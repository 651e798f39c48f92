"""What rounding leaves of a zero is judged by the size of the numbers at hand: rare events have tiny errors."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from calibstat.auditing.joint import interval
from calibstat.inference.intervals import UniformInterval, normal_pvalue, standardized
from calibstat.nulls.base import EmpiricalNull

TINY = pytest.mark.parametrize("unit", [1.0, 1e-6, 1e-13, 1e-20])


@TINY
def test_a_difference_in_standard_errors_has_no_unit(unit):
    assert standardized(0.04 * unit, 0.02 * unit, 0.1 * unit) == pytest.approx(2)
    assert normal_pvalue(0.04 * unit, 0.02 * unit, 0.1 * unit) == pytest.approx(0.0455, abs=1e-4)


@TINY
def test_what_rounding_leaves_of_a_difference_is_none(unit):
    assert standardized(1e-17 * unit, 1e-20 * unit, 0.01 * unit) == 0
    assert normal_pvalue(1e-17 * unit, 1e-20 * unit, 0.01 * unit) == 1
    assert standardized(0.1 * unit, 0.0, 0.1 * unit) == 0


@TINY
def test_the_lower_end_of_an_interval_has_the_unit_of_the_value(unit):
    noise = np.arange(1, 100.0) * unit
    assert UniformInterval(200 * unit, [noise], "").interval(0.95) == pytest.approx(
        (105 * unit, 295 * unit), rel=1e-12, abs=0
    )
    assert interval(200 * unit, 95 * unit, np.inf) == pytest.approx((105 * unit, 295 * unit), rel=1e-12, abs=0)


@TINY
def test_an_interval_that_ends_at_a_tie_ends_at_zero(unit):
    noise = np.arange(1, 100.0) * unit
    value = 95 * unit * (1 + 1e-15)
    assert UniformInterval(value, [noise], "").interval(0.95).low == 0
    assert interval(value, 95 * unit, np.inf)[0] == 0


@TINY
def test_ties_of_draws(unit):
    """Beside these, by the same rule."""
    null = EmpiricalNull(np.arange(1, 10.0) * unit, np.asarray)
    assert null.pvalue(9.5 * unit) == 0.1
    assert null.pvalue(9 * unit * (1 + 1e-15)) == 0.2


def test_the_same_model_in_other_digits_does_not_differ():
    """Cells and residuals are equal but for rounding, and so are the errors."""
    rng = np.random.default_rng(0)
    p = rng.choice([0.1, 0.3, 0.6, 0.7], 400)
    y = rng.random(400) < p**2
    one, other = cs.Sample(y, p), cs.Sample(y, np.where(p == 0.3, 0.1 + 0.2, p))
    assert (one.predictions.event != other.predictions.event).any()
    estimator = cs.DebiasedL2(cs.FixedEdges([0, 0.2, 0.5, 1]))
    found = cs.comparison_test(one, other, estimator, n_resamples=99, rng=0)
    assert (found.statistic, found.pvalue) == (0, 1)
    assert found.score_difference.pvalue == 1
    assert found.recalibration_difference.pvalue == 1
    (pair,) = cs.compare_models({"a": one, "b": other}, estimator, n_resamples=99, rng=0).pairs
    assert (pair.statistic, pair.pvalue) == (0, 1)
