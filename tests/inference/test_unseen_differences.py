"""Differences of two models where outcomes show too little noise, or none."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

import calibstat as cs
from calibstat.inference.compare import comparison_test, score_difference
from calibstat.inference.compare_models import compare_models
from calibstat.inference.differences import (
    midway_variance,
    other_rows,
    unseen_rows_variance,
)

ONE = cs.DebiasedL2(cs.EqualMass(1))
N = 500
# The chance midway, and half the distance of two constant predictions: their squared errors are equal.
TIED = [(x / N, share) for x in (1.5, 3.0, 5.0, 8.0, 12.0) for share in (0.2, 1.0)]


def tied(k, prediction):
    """N rows of one prediction, k of them events."""
    return cs.Sample(np.arange(N) < k, np.full(N, prediction), labels=[False, True])


def brier(k, first, second):
    return score_difference(tied(k, first), tied(k, second), ONE, True).pvalue


def exact_size(pvalue, chance, share, *arguments):
    """Exact probability of p <= 0.05 where errors are equal: all counts of events are gone through."""
    first, second = chance * (1 - share), chance * (1 + share)
    masses = binom.pmf(np.arange(N + 1), N, chance)
    counts = np.flatnonzero(masses > 1e-9)
    return sum(masses[k] for k in counts if pvalue(k, first, second, *arguments) <= 0.05)


@pytest.mark.parametrize(("chance", "share"), TIED)
def test_size_of_the_difference_of_scores_for_rare_events(chance, share):
    assert exact_size(brier, chance, share) <= 0.1


def test_negative_control_the_noise_shown_alone_rejects_rare_events_too_often(monkeypatch):
    monkeypatch.setattr("calibstat.inference.compare.FEW_OTHERS", 0)
    assert max(exact_size(brier, *each) for each in TIED) >= 0.2


@pytest.mark.parametrize("expected", [1.5, 3.0])
@pytest.mark.parametrize("share", [0.2, 1.0])
def test_size_for_different_rows(expected, share):
    """Of Brier scores; all pairs of counts are gone through."""
    chance = expected / N
    masses = binom.pmf(np.arange(N + 1), N, chance)
    counts = np.flatnonzero(masses > 1e-4)
    first, second = ({k: tied(k, chance * factor) for k in counts} for factor in (1 - share, 1 + share))
    size = sum(
        masses[i] * masses[j]
        for i, j in product(counts, repeat=2)
        if score_difference(first[i], second[j], ONE, False).pvalue <= 0.05
    )
    assert size <= 0.05


def pvalues(found):
    line = [] if found.recalibration_difference is None else [found.recalibration_difference.difference_pvalue]
    return [found.difference_pvalue, found.score_difference.pvalue, *line]


@pytest.mark.parametrize("paired", [True, False])
def test_outcomes_of_one_class_are_not_taken_for_certainty(paired):
    """200 rows without an event, announced with 0.2 % and 0.4 %: nothing tells which is better."""
    rng = np.random.default_rng(0)
    y, p = np.zeros(200), rng.uniform(0.001, 0.003, 200)
    first, second = (cs.Sample(y, each, labels=[0, 1]) for each in (p, 2 * p))
    found = comparison_test(first, second, cs.DebiasedL2(cs.EqualMass(5)), paired=paired, n_resamples=99, rng=0)
    assert found.difference < 0
    assert min(pvalues(found)) > 0.2
    low, high = found.confidence_interval
    assert low < 0 < high
    assert "cannot be told apart" in found.verdict


def test_many_rows_of_one_class_are_evidence():
    """The negative control: 5000 rows without an event tell 0.1 % from 2 %."""
    models = (cs.Sample(np.zeros(5000), np.full(5000, p), labels=[0, 1]) for p in (0.001, 0.02))
    found = comparison_test(*models, ONE, n_resamples=99, rng=0)
    assert max(pvalues(found)) == 0.01
    assert found.pvalue == 0.02


def test_certain_and_right_against_almost_certain_and_right():
    y = np.repeat([0, 1], 100)
    certain, almost = cs.Sample(y, y.astype(float)), cs.Sample(y, np.where(y == 1, 0.999, 0.001))
    found = comparison_test(certain, almost, cs.DebiasedL2(cs.EqualMass(2)), n_resamples=99, rng=0)
    assert found.difference == pytest.approx(-1e-6)
    assert found.difference_pvalue > 0.5
    both = comparison_test(certain, certain, cs.DebiasedL2(cs.EqualMass(2)), n_resamples=99, rng=0)
    assert (both.difference, both.standard_error, both.pvalue) == (0, 0, 1)


@pytest.mark.parametrize("adjust", ["holm", "max-t"])
def test_several_models_of_one_class(adjust):
    """None of them is told apart by random signs of influences that hardly vary."""
    p = np.random.default_rng(0).uniform(0.001, 0.003, 300)
    models = {name: cs.Sample(np.zeros(300), c * p, labels=[0, 1]) for name, c in [("a", 1), ("b", 1.5), ("c", 2)]}
    found = compare_models(models, cs.DebiasedL2(cs.EqualMass(5)), adjust=adjust, n_resamples=199, rng=0)
    assert min(pair.pvalue_adjusted for pair in found.pairs) > 0.2
    assert min(pair.difference_pvalue for pair in found.pairs) > 0.1
    assert found.confidence_set == ("a", "b", "c")


def test_three_classes_without_one_of_them():
    rng = np.random.default_rng(1)
    first = rng.dirichlet([60, 30, 0.2], 400)
    second = (first + np.array([0, 0, 0.004])) / 1.004
    y = (rng.random(400) < first[:, 1]).astype(int)
    models = [cs.Sample(y, each, labels=[0, 1, 2]) for each in (first, second)]
    found = comparison_test(*models, cs.TopLabel() | cs.DebiasedL2(cs.EqualMass(4)), n_resamples=99, rng=0)
    assert 0 < found.difference_pvalue <= 1
    assert found.score_difference.standard_error > 0


@pytest.mark.parametrize("n_classes", [2, 3])
def test_midway_variance_is_that_over_all_labels(n_classes):
    rng = np.random.default_rng(n_classes)
    n, c = 4, 1 if n_classes == 2 else n_classes
    share, slope = rng.dirichlet(np.ones(n)), rng.normal(size=(n, c))
    first, second = (rng.dirichlet(np.ones(n_classes), n)[:, -c:] for _ in range(2))
    chances = (first + second) / 2
    chances = np.column_stack([1 - chances, chances]) if c == 1 else chances
    moments = np.zeros(2)
    for labels in product(range(n_classes), repeat=n):
        mass = np.prod(chances[np.arange(n), labels])
        value = sum(share[i] * slope[i] @ np.eye(n_classes)[labels[i]][-c:] for i in range(n))
        moments += mass * np.array([value, value**2])
    assert midway_variance(share, slope, first, second) == pytest.approx(moments[1] - moments[0] ** 2)


def test_midway_chances_make_brier_scores_equal():
    """The hypothesis that the floor is the variance under."""
    rng = np.random.default_rng(5)
    first, second = rng.dirichlet(np.ones(3), (2, 20))
    chances = (first + second) / 2
    expected = [(chances * ((np.eye(3) - p[:, None]) ** 2).sum(axis=2)).sum(axis=1) for p in (first, second)]
    np.testing.assert_allclose(*expected)


def test_other_rows_by_hand():
    index, events = np.array([0, 0, 0, 1, 1, 3]), np.array([[1.0], [0], [0], [1], [1], [0]])
    assert other_rows(index, events, 4).tolist() == [1, 0, 0, 0]
    classes = np.eye(3)[[0, 1, 2, 2, 2, 1]]
    assert other_rows(index, classes, 4).tolist() == [2, 0, 0, 0]


def test_unseen_rows_by_hand():
    """100 rows without an event: a chance of 3 % is possible, and each row adds its slope with 1 / 100."""
    share, slope = np.full(100, 0.01), np.full((100, 1), -0.5)
    assert unseen_rows_variance(share, slope, True) == pytest.approx(0.03 * 0.97 * 0.25 / 100)
    assert unseen_rows_variance(share, slope, False) == 0
