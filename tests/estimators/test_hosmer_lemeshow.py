"""Hosmer and Lemeshow's statistics."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from calibstat.estimators.base import Headline
from calibstat.inference.results import plain
from calibstat.nulls.asymptotic import Asymptotic
from calibstat.nulls.multiplier import Multiplier
from registry import make_sample

CERTAIN = np.repeat([0.0, 0.3, 1.0], 50)
CHI_SQUARES = [cs.HosmerLemeshow(3), cs.PigeonHeyse(3), cs.PearsonCE(cs.EqualMass(3))]
each_chi_square = pytest.mark.parametrize("estimator", CHI_SQUARES, ids=repr)


def certain(wrong=(0, 0), p=CERTAIN, weights=None):
    """So many rows of the first and the last 50, announced with 0 and 1, come out the other way."""
    y = np.concatenate([np.arange(50) < wrong[0], np.arange(50) < 18, np.arange(50) >= wrong[1]])
    return cs.Sample(y, p, sample_weight=weights)


def test_there_is_at_least_one_cell():
    with pytest.raises(ValueError, match="binning is 0; it must be a binning"):
        cs.HosmerLemeshow(0)


def test_hosmer_lemeshow_draws_whole_cells():
    sample = make_sample(2, seed=13, n=60)
    for estimator in (cs.HosmerLemeshow(4), Headline(cs.HosmerLemeshow(4))):
        evaluator = estimator.prepare(sample.predictions)
        labels = np.random.Generator(np.random.PCG64(14)).integers(0, 2, (5, 60))
        outcome = evaluator.capabilities.tally(labels).outcome
        np.testing.assert_allclose(evaluator.capabilities.from_tally(outcome), evaluator(labels), rtol=1e-12)


@each_chi_square
@pytest.mark.parametrize("wrong", [(1, 0), (0, 1), (3, 2)])
def test_what_was_announced_as_impossible_is_the_strongest_evidence(estimator, wrong):
    sample = certain(wrong)
    assert float(estimator(sample)) == np.inf
    for null, smallest in (
        (cs.Exact(), 1e-12),
        (cs.Consistency(99), 0.01),
        (cs.Sequential(99), 0.01),
        (cs.Consistency(99, resample_predictions=True), 0.01),
    ):
        found = cs.calibration_test(sample, estimator, null=null, rng=0)
        assert found.pvalue == found.null_distribution.floor == pytest.approx(smallest)
        assert np.isfinite(float(found.null_mean))
        assert "Evidence of miscalibration" in found.verdict
        assert ": infinite, where noise alone gives " in found.verdict
        assert plain(found.to_dict())["statistic"] is None


@each_chi_square
def test_it_is_the_limit_of_predictions_that_go_to_zero(estimator):
    """p-values do not rise on the way, nor at its end; in units of the limit the value is 1 / p."""
    values, pvalues = [], []
    for tiny in (1e-3, 1e-5, 1e-8, 1e-12, 1e-15, 0.0):
        sample = certain((1, 0), np.maximum(CERTAIN, tiny))
        values.append(float(estimator(sample)))
        pvalues.append(cs.calibration_test(sample, estimator, rng=0).pvalue)
    assert np.all(np.diff(values) > 0)
    assert np.all(np.diff(pvalues) <= 0)
    assert values[-2] / values[-3] == pytest.approx(1000, rel=1e-3)


@each_chi_square
def test_certain_predictions_that_come_true_add_nothing(estimator):
    """Whatever the weights: rounding must not be taken for a contradiction."""
    rng = np.random.default_rng(3)
    for _ in range(100):
        weights = rng.random(150) * 10.0 ** rng.integers(-3, 4)
        sample = certain(weights=weights)
        found = float(estimator(sample))
        assert np.isfinite(found)
        rewarded = estimator.prepare(certain().predictions)(sample.outcomes, np.stack([weights, 1 / weights]))
        assert np.isfinite(rewarded).all()
    alone = np.repeat([0.3], 50)
    n = 1 if "Hosmer" in repr(estimator) or "Pigeon" in repr(estimator) else 1 / 3
    middle = cs.Sample(np.arange(50) < 18, alone)
    assert float(estimator(certain())) == pytest.approx(n * float(estimator(middle)), abs=1e-12)


@pytest.mark.parametrize("estimator", CHI_SQUARES[:2], ids=repr)
def test_infinite_statistics_in_records_and_large_samples(estimator):
    found = cs.calibration_test(certain((1, 0)), estimator, null=Asymptotic())
    assert found.pvalue == 0
    assert "p < 1e-300" in found.verdict
    record = cs.HosmerLemeshow(3)(certain((1, 0)))
    assert (record.published, record.exact_variance) == (np.inf, np.inf)
    assert (record.published_chi_square_pvalue, record.exact_variance_chi_square_pvalue) == (0, 0)


@each_chi_square
def test_signs_say_that_they_cannot_judge_the_impossible(estimator):
    with pytest.raises(ValueError, match=r"infinite on this sample.*Consistency"):
        cs.calibration_test(certain((1, 0)), estimator, null=Multiplier(99), rng=0)


def test_in_families_the_impossible_comes_first():
    """In groups of which one holds the impossible, and in a panel."""
    sample = certain((1, 0))
    group = np.where(np.arange(150) % 2, "b", "a")
    grouped = cs.Sample(sample.y_true, CERTAIN, variables={"group": group})
    found = cs.multiple_test(
        grouped, cs.Within("group", cs.PearsonCE(cs.FixedEdges([0, 0.1, 0.9, 1]))), null=cs.Consistency(99), rng=0
    )
    assert found.pvalues_adjusted[0] == pytest.approx(0.01)
    assert found.pvalues_adjusted[1] > 0.05
    statistics = {"chi": CHI_SQUARES[2], "ece": cs.ECE(cs.EqualMass(3))}
    panel = cs.omnibus_test(sample, statistics, n_resamples=99, rng=0)
    assert panel.pvalues[0] == pytest.approx(0.01)
    assert panel.pvalue == pytest.approx(0.01)  # the most extreme of 100 sets by far
    by_ranks = cs.omnibus_test(sample, statistics, standardize="ranks", n_resamples=99, rng=0)
    assert by_ranks.pvalue == pytest.approx(0.02)  # some draw is the largest of the other statistic


def test_the_order_of_rows_does_not_matter_beside_one():
    p, y = np.array([1.0, 1 - 2**-53, 1 - 2**-52]), np.array([1, 1, 0])
    cells = cs.EqualWidth(1)
    values = []
    for order in ([0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]):
        sample = cs.Sample(y[order], p[order], labels=[0, 1])
        values.append([cs.PearsonCE(cells)(sample), cs.HosmerLemeshow(1)(sample).published])
    np.testing.assert_allclose(values, np.tile(values[0], (6, 1)), rtol=1e-12)
    assert np.isfinite(values).all()
    # (1/3)^2 over the mean of 1 - p, and three times that over p (1 - p)
    assert values[0][0] == pytest.approx((1 / 9) / 2**-53, rel=1e-9)
