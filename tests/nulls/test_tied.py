"""Ties: a p-value does not change when its statistic is multiplied by a constant, and equal values stay equal."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibstat as cs
from calibstat.data.rounding import TIE_SHARE
from calibstat.nulls._exact_sums import CERTAINLY_ZERO, Atoms
from calibstat.nulls.base import EmpiricalNull, tie_slack, typical_size
from calibstat.nulls.consistency import Consistency, Sequential
from calibstat.nulls.exact import ExactNull

FACTORS = [1e-150, 1e-16, 1e-6, 1.0, 1e9, 1e150]


def identity(values):
    return values


@pytest.mark.parametrize("value", [0.0, 1e-3, 1.0, 1e6, -1e6])
@pytest.mark.parametrize("factor", FACTORS)
def test_the_slack_is_in_proportion_to_the_value_or_to_the_null(value, factor):
    """Nine draws of size 1: values within 1e-9 of what is larger are ties, and those at three times that are not."""
    slack = TIE_SHARE * max(1.0, abs(value))
    drawn = np.append(np.ones(9) * np.sign(-value or -1), [value - 0.5 * slack, value - 3 * slack])
    found = EmpiricalNull(factor * drawn, identity, typical=factor)
    above = 9 if value < 0 else 0
    assert found.exceedances(factor * value) == 1 + above


@pytest.mark.parametrize("factor", FACTORS)
@given(drawn=st.lists(st.integers(-9, 9), min_size=1, max_size=40), value=st.integers(-9, 9))
def test_a_factor_changes_no_pvalue_of_draws(factor, drawn, value):
    samples = np.array(drawn) / 7
    expected = EmpiricalNull(samples, identity).pvalue(value / 7)
    assert EmpiricalNull(factor * samples, identity).pvalue(factor * value / 7) == expected
    assert expected == (1 + sum(each >= value for each in drawn)) / (1 + len(drawn))


@pytest.mark.parametrize("factor", FACTORS)
def test_a_factor_changes_no_computed_pvalue_and_no_quantile(factor):
    rng = np.random.default_rng(2)
    first, second = (Atoms(np.sort(rng.random(m)), rng.dirichlet(np.ones(m))) for m in (40, 7))

    def law(scale):
        return ExactNull(*(Atoms(scale * each.values, each.masses) for each in (first, second)), identity)

    for value in np.add.outer(first.values, second.values).ravel():
        assert law(factor).pvalue(factor * value) == pytest.approx(law(1.0).pvalue(value), rel=1e-12)
    for q in (0.0, 0.01, 0.5, 0.99, 1.0):
        assert float(law(factor).quantile(q)) == pytest.approx(factor * float(law(1.0).quantile(q)), rel=1e-11)


@pytest.mark.parametrize("null", [cs.Exact(), Consistency(400), Sequential(400, 15)], ids=repr)
@pytest.mark.parametrize("events", [10, 14, 25])
def test_powers_of_the_gap_of_one_cell_have_one_pvalue(null, events):
    """The sixth power of a gap of 0.003 is 7e-16, and all powers order labels alike."""
    sample = cs.Sample(np.arange(5000) < events, np.full(5000, 0.002))
    found = [
        cs.calibration_test(sample, cs.LpCE(cs.EqualMass(1), p), null=null, rng=cs.as_generator(1)).pvalue
        for p in (1, 2, 3, 4, 5, 6)
    ]
    assert found == pytest.approx([found[0]] * 6, rel=1e-9)
    assert (found[0] < 0.01) is (events == 25)


def test_an_omnibus_of_powers_has_one_pvalue_for_each():
    sample = cs.Sample(np.arange(5000) < 17, np.full(5000, 0.002))
    panel = {f"power {p}": cs.LpCE(cs.EqualMass(1), p) for p in (1, 2, 6)}
    found = cs.omnibus_test(sample, panel, n_resamples=400, rng=1)
    assert len(set(found.pvalues)) == 1


def test_in_a_family_tiny_statistics_count_as_much():
    y = np.arange(5000) % 2500 < np.where(np.arange(5000) < 2500, 16, 5)
    sample = cs.Sample(y, np.full(5000, 0.002), variables={"group": np.repeat(["a", "b"], 2500)})
    for p in (1, 2, 6):
        family = cs.Within("group", cs.LpCE(cs.EqualMass(1), p))
        found = cs.multiple_test(sample, family, null=Consistency(199), rng=0)
        assert found.pvalues_adjusted[0] < 0.05
        assert found.pvalues_adjusted[1] == 1


@pytest.mark.parametrize("adjust", [cs.single_step, cs.step_down])
@pytest.mark.parametrize("factor", FACTORS)
def test_a_factor_changes_no_adjusted_pvalue(adjust, factor):
    rng = np.random.default_rng(4)
    draws, values = rng.integers(0, 12, (99, 4)) / 7, np.array([3, 9, 11, 12]) / 7
    np.testing.assert_array_equal(adjust(factor * values, factor * draws), adjust(values, draws))
    assert len(set(adjust(values, draws))) > 1


def tenths(n):
    return np.random.default_rng(0).permutation(np.resize(np.arange(1, 10) / 10, n))


@pytest.mark.parametrize("n", [1008, 1_000_008])
@pytest.mark.parametrize("p", [1, 2, 4])
def test_events_that_are_as_many_too_few_or_too_many_are_ties(n, p):
    """The sum of these predictions is n / 2 but for rounding, which must not tell the two sides apart."""
    rates = tenths(n)
    estimator = cs.LpCE(cs.EqualWidth(1), p)
    spread = round(1.5 * np.sqrt(n) / 2)
    samples = [cs.Sample(np.arange(n) < n // 2 + side * spread, rates) for side in (-1, 1)]
    exact = cs.Exact().draw(estimator, samples[0])
    drawn = Consistency(2000).draw(estimator, samples[0], cs.as_generator(0))
    stopped = Sequential(2000, 30).draw(estimator, samples[0], cs.as_generator(0))
    for null in (exact, drawn, stopped):
        low, high = (null.pvalue(float(estimator(sample))) for sample in samples)
        assert low == high
        assert 0 < low < 0.5


def test_without_slack_ties_would_be_lost():
    """The negative control: rounding does tell them apart."""
    n = 100_008
    rates = tenths(n)
    values = [float(cs.ECE(cs.EqualWidth(1))(cs.Sample(np.arange(n) < n // 2 + side, rates))) for side in (-700, 700)]
    assert values[0] != values[1]
    assert abs(values[0] - values[1]) < 0.2 * tie_slack(values[0], 0.0)


def test_the_size_is_that_of_most_values_not_of_the_largest():
    values = np.array([1.0, -2.0, 3.0, 1e13, np.inf, np.nan, 0.5])
    assert typical_size(values) == 3.0
    assert typical_size(values, np.array([0.3, 0.3, 0.3, 1e-13, 0, 0, 0.1])) == 3.0
    assert typical_size(np.array([np.nan])) == 0.0
    assert (
        ExactNull(Atoms(np.array([4.0, 5.0, 1e13]), np.array([0.5, 0.5, 1e-13])), CERTAINLY_ZERO, identity).typical < 6
    )


def test_infinite_evidence_has_the_smallest_pvalue_and_no_ties_but_infinity():
    for null in (EmpiricalNull(np.arange(19.0), identity), ExactNull(CERTAINLY_ZERO, CERTAINLY_ZERO, identity)):
        assert null.pvalue(np.inf) == null.floor
        assert null.pvalue(-np.inf) == 1.0
    assert EmpiricalNull(np.array([np.inf, 1.0, np.nan]), identity).exceedances(np.inf) == 2
    np.testing.assert_array_equal(tie_slack(np.array([np.inf, -np.inf, np.nan]), 1.0), 0.0)


def test_a_stopped_null_measures_ties_by_its_first_draws():
    """The cut leaves a few draws, whose size is another; the number of exceedances must not change with it."""
    rng = np.random.default_rng(0)
    p = rng.random(300)
    sample = cs.Sample(rng.random(300) < p, p)
    for seed in range(10):
        found = Sequential(999, 5).draw(cs.ECE(cs.EqualMass(5)), sample, cs.as_generator(seed))
        whole = Consistency(63).draw(cs.ECE(cs.EqualMass(5)), sample, cs.as_generator(seed))
        assert found.drawn.typical_evidence == whole.typical_evidence
        assert found.drawn.exceedances(float(cs.ECE(cs.EqualMass(5))(sample))) == 5
