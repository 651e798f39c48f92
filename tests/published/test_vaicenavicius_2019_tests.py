"""Vaicenavicius et al. (2019), consistency resampling: p-values of small data sets, enumerated and redrawn.

"Kept" is the null that redraws labels given the predictions; "redrawn" is the paper's, which draws predictions too.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

import calibstat as cs
from published.enumeration import law_of_labels, law_of_resamples, standard_error
from suites import slow_but

ONE_CELL = cs.ExpectedMiscalibration(cs.FixedEdges([0, 1]))
TWO_CELLS = cs.ExpectedMiscalibration(cs.FixedEdges([0, 0.5, 1]))
TWO_SCORES = [0.2] * 5 + [0.8] * 5


def constant(n, prediction, n_events):
    return cs.Sample([1] * n_events + [0] * (n - n_events), [prediction] * n, labels=[0, 1])


def two_scores(low, high):
    return cs.Sample([1] * low + [0] * (5 - low) + [1] * high + [0] * (5 - high), TWO_SCORES)


# sample, estimator, statistic, p kept, p redrawn (they agree where all predictions are equal)
CASES = {
    "four at 1/2, all alike": (constant(4, 0.5, 4), ONE_CELL, 0.5, 1 / 8, 1 / 8),
    "four at 1/4, no event": (constant(4, 0.25, 0), ONE_CELL, 0.25, 37 / 64, 37 / 64),
    "four at 1/4, one event": (constant(4, 0.25, 1), ONE_CELL, 0.0, 1.0, 1.0),
    "four at 1/4, two events": (constant(4, 0.25, 2), ONE_CELL, 0.25, 37 / 64, 37 / 64),
    "four at 1/4, three events": (constant(4, 0.25, 3), ONE_CELL, 0.5, 13 / 256, 13 / 256),
    "four at 1/4, four events": (constant(4, 0.25, 4), ONE_CELL, 0.75, 1 / 256, 1 / 256),
    "two scores, 1 and 4 events": (two_scores(1, 4), TWO_CELLS, 0.0, 1.0, 1.0),
    "two scores, 2 and 4 events": (two_scores(2, 4), TWO_CELLS, 0.1, 0.832228, 0.837798),
    "two scores, 2 and 3 events": (two_scores(2, 3), TWO_CELLS, 0.2, 0.396020, 0.328453),
    "two scores, 0 and 5 events": (two_scores(0, 5), TWO_CELLS, 0.2, 0.396020, 0.328453),
    "two scores, 3 and 3 events": (two_scores(3, 3), TWO_CELLS, 0.3, 0.070542, 0.052012),
    "two scores, 3 and 2 events": (two_scores(3, 2), TWO_CELLS, 0.4, 0.010773, 0.008399),
}
every_case = pytest.mark.parametrize(
    ("sample", "estimator", "statistic", "kept", "redrawn"), CASES.values(), ids=CASES.keys()
)


@every_case
def test_vaicenavicius_2019_consistency_resampling_enumerated_pvalues(sample, estimator, statistic, kept, redrawn):
    exact_to = 1e-12 if statistic in (0.5, 0.75, 0.25) or kept == 1 else 5e-7  # the others are known to six digits
    assert estimator(sample) == pytest.approx(statistic, abs=1e-12)
    assert law_of_labels(estimator, sample).pvalue(statistic) == pytest.approx(kept, abs=exact_to)
    assert law_of_resamples(estimator, sample.y_prob[:, 1]).pvalue(statistic) == pytest.approx(redrawn, abs=exact_to)


def binomial_law(n_low):
    """Statistic and probability of each pair of counts when `n_low` rows of ten have 0.2 and the others 0.8."""
    low, high = np.arange(n_low + 1)[:, None], np.arange(11 - n_low)
    statistic = (abs(low - 0.2 * n_low) + abs(high - 0.8 * (10 - n_low))) / 10
    return statistic, binom.pmf(low, n_low, 0.2) * binom.pmf(high, 10 - n_low, 0.8)


@pytest.mark.parametrize("statistic", [0.1, 0.2, 0.3, 0.4])
def test_vaicenavicius_2019_consistency_resampling_enumerated_pvalues_are_those_of_binomial_counts(statistic):
    sample = two_scores(2, 4)
    tails = [(law[0] >= statistic - 1e-9, law[1]) for law in map(binomial_law, range(11))]
    kept, redrawn = tails[5][1][tails[5][0]].sum(), [mass[reached].sum() for reached, mass in tails]
    redrawn = redrawn @ binom.pmf(np.arange(11), 10, 0.5)
    assert law_of_labels(TWO_CELLS, sample).pvalue(statistic) == pytest.approx(kept, abs=1e-12)
    assert law_of_resamples(TWO_CELLS, TWO_SCORES).pvalue(statistic) == pytest.approx(redrawn, abs=1e-12)


@every_case
@pytest.mark.parametrize("shortcuts", [True, False])
def test_vaicenavicius_2019_consistency_resampling_pvalues_with_predictions_kept(
    sample, estimator, statistic, kept, redrawn, shortcuts
):
    exact = law_of_labels(estimator, sample).pvalue(statistic)
    null = cs.Consistency(20_000, shortcuts=shortcuts)
    found = cs.calibration_test(sample, estimator, null=null, rng=20190417)
    assert found.statistic == pytest.approx(statistic, abs=1e-12)
    assert abs(found.pvalue - exact) <= 4 * standard_error(exact, 20_000) + 1 / 20_001


REDRAWN_BY_DEFAULT = ["four at 1/4, three events", "two scores, 2 and 4 events", "two scores, 3 and 2 events"]


@pytest.mark.parametrize("name", slow_but(REDRAWN_BY_DEFAULT, CASES))
def test_vaicenavicius_2019_consistency_resampling_pvalues_with_predictions_redrawn(name):
    sample, estimator, statistic, _, _ = CASES[name]
    exact = law_of_resamples(estimator, sample.y_prob[:, 1]).pvalue(statistic)
    null = cs.Consistency(3000, resample_predictions=True)
    found = cs.calibration_test(sample, estimator, null=null, rng=20190418)
    assert abs(found.pvalue - exact) <= 4 * standard_error(exact, 3000) + 1 / 3001


def test_vaicenavicius_2019_consistency_resampling_mean_of_the_statistic_with_predictions_redrawn():
    law = law_of_resamples(TWO_CELLS, TWO_SCORES)
    assert law.masses.sum() == pytest.approx(1, abs=1e-12)
    assert law.mean == pytest.approx(0.1418945565, abs=1e-10)
    null = cs.Consistency(3000, resample_predictions=True)
    drawn = null.draw(TWO_CELLS, two_scores(2, 4), np.random.default_rng(4)).samples
    assert abs(drawn.mean() - law.mean) <= 4 * drawn.std() / np.sqrt(3000)


def test_vaicenavicius_2019_consistency_resampling_two_nulls_differ_on_ten_rows():
    sample = cs.Sample([0, 0, 1, 0, 0, 1, 1, 1, 0, 1], [0.05, 0.15, 0.22, 0.28, 0.45, 0.55, 0.55, 0.72, 0.81, 0.95])
    estimator = cs.ExpectedMiscalibration(cs.EqualWidth(5))
    assert law_of_labels(estimator, sample).pvalue(0.219) == pytest.approx(0.62054816, abs=1e-8)
    kept = cs.calibration_test(sample, estimator, null=cs.Consistency(20_000), rng=1).pvalue
    assert abs(kept - 0.62054816) <= 4 * standard_error(0.62, 20_000) + 1 / 20_001
    null = cs.Consistency(5000, resample_predictions=True)
    redrawn = cs.calibration_test(sample, estimator, null=null, rng=1).pvalue
    # 0.413 is itself the result of 400 000 redraws
    assert abs(redrawn - 0.413) <= 4 * np.hypot(standard_error(0.413, 5000), standard_error(0.413, 400_000)) + 5e-4


def test_vaicenavicius_2019_two_models_larger_error_need_not_be_stronger_evidence():
    first, second = constant(10, 0.5, 8), constant(10, 0.95, 7)
    assert ONE_CELL(first) == pytest.approx(0.3)
    assert ONE_CELL(second) == pytest.approx(0.25)
    assert law_of_labels(ONE_CELL, first).pvalue(0.3) == pytest.approx(0.109375, abs=1e-12)
    assert law_of_labels(ONE_CELL, second).pvalue(0.25) == pytest.approx(0.0115035574, abs=1e-10)
    for sample, exact in ((first, 0.109375), (second, 0.0115035574)):
        found = cs.calibration_test(sample, ONE_CELL, null=cs.Consistency(50_000), rng=3).pvalue
        assert abs(found - exact) <= 4 * standard_error(exact, 50_000) + 1 / 50_001


@pytest.mark.parametrize(("n", "prediction", "low", "high"), [(100, 0.3, -0.07, 0.08), (20, 0.8, -0.15, 0.15)])
def test_vaicenavicius_2019_figure_4_consistency_bars(n, prediction, low, high):
    cells = cs.HistogramRegression(cs.FixedEdges([0, 1]))
    null = cs.Consistency(400_000).draw(cells, constant(n, prediction, 0), np.random.default_rng(5))
    event = 1
    assert null.quantile(0.05)[0, event] == pytest.approx(low, abs=1e-12)
    assert null.quantile(0.95)[0, event] == pytest.approx(high, abs=1e-12)
