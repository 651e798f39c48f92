"""Standardised errors of cells at one scale and at many."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibstat as cs
from calibstat.estimators.standardized_cells import MultiscaleL2, StandardizedL2, _starts, scales_of
from registry import make_sample
from strategies import samples


@given(sample=samples((2,), max_rows=60, zero_weights=False), m=st.sampled_from([1, 2, 4, 8, 16]))
def test_cells_are_those_of_equal_mass(sample, m):
    seen = sample.predictions
    weights = None if seen.weights is None else seen.weights[seen.order]
    starts = _starts(seen.event[seen.order], weights, m)
    np.testing.assert_array_equal(starts, cs.EqualMass(m).cut(seen).starts)


@pytest.mark.parametrize(
    ("n", "scales"), [(0, [1]), (1, [1]), (7, [1]), (8, [1, 2]), (16, [1, 2, 4]), (63, [1, 2, 4, 8])]
)
def test_scales_leave_four_rows_to_a_cell(n, scales):
    assert scales_of(n) == scales


@pytest.mark.parametrize("denominator", ["pairs", "counts"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_maximum_is_over_single_scales(denominator, weighted):
    sample = make_sample(2, seed=1, n=100, weighted=weighted)
    single = [StandardizedL2(cs.EqualMass(m), denominator)(sample) for m in (1, 2, 4, 8, 16)]
    assert MultiscaleL2(denominator)(sample) == pytest.approx(max(single), rel=1e-9)


def test_a_variable_is_cut_as_the_prediction_is():
    sample = make_sample(3, seed=2, n=80)
    scales = [(cs.Given("age") | StandardizedL2(cs.EqualMass(m)))(sample) for m in (1, 2, 4, 8, 16)]
    assert (cs.Given("age") | MultiscaleL2())(sample) == pytest.approx(max(scales), rel=1e-9)


def test_many_classes_need_one_column():
    with pytest.raises(ValueError, match="order of one column"):
        MultiscaleL2()(make_sample(3))
    with pytest.raises(ValueError, match="categorical"):
        (cs.Given("sex") | MultiscaleL2())(make_sample(3))


def test_an_oscillation_is_found_that_cancels_at_one_scale():
    rng = np.random.Generator(np.random.PCG64(3))
    p = rng.uniform(0.2, 0.8, 2000)
    y = (rng.random(2000) < p + 0.2 * np.sin(2 * np.pi * 12 * p)).astype(int)
    sample = cs.Sample(y, p)
    assert StandardizedL2(cs.EqualMass(5))(sample) < 2 < 6 < MultiscaleL2()(sample)
    assert cs.calibration_test(sample, MultiscaleL2(), null=cs.Consistency(99), rng=0).pvalue == 0.01


def test_certain_predictions_have_no_spread():
    sample = cs.Sample([0, 1, 1, 0] * 3, [0.0, 1.0, 1.0, 0.0] * 3)
    assert MultiscaleL2()(sample) == 0
    assert StandardizedL2(cs.EqualWidth(2))(sample) == 0


def test_denominators_are_named():
    for make in (MultiscaleL2, lambda name: StandardizedL2(denominator=name)):
        with pytest.raises(ValueError, match="denominator is 'n'"):
            make("n")


def test_the_multi_scale_test_does_not_reject_a_calibrated_model_too_often():
    rng = np.random.Generator(np.random.PCG64(4))
    pvalues = []
    for _ in range(200):
        p = rng.beta(0.5, 0.5, 60)
        sample = cs.Sample((rng.random(60) < p).astype(int), p, labels=[0, 1])
        pvalues.append(cs.calibration_test(sample, MultiscaleL2(), null=cs.Consistency(39), rng=rng).pvalue)
    assert np.mean(np.array(pvalues) <= 0.05) < 0.05 + 4 * np.sqrt(0.05 * 0.95 / 200)
