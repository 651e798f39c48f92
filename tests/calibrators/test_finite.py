"""Whatever the rows are, a calibrator says probabilities or raises an error: it never says NaN."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from calibstat import calibrators as cal
from suites import slow_but

EVERY = [getattr(cal, name)() for name in cal.__all__ if name not in ("Calibrator", "Calibrated", "save", "load")]
EVERY += [cal.OneVsRest(cal.BBQ()), cal.Dirichlet(1, 1), cal.MatrixScaling(penalty=0), cal.Beta(C=1, parameters="a")]
SPECIAL = np.array([0, 1, 0.5, 5e-324, 1e-300, 2.3e-308, 1e-17, 1e-9, 1 - 1e-12, 1 - 2**-53, 0.3])


def hostile(seed):
    """Few or tied rows, saturated or separated ones, with weights of all sizes and variables of any."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([2, 3, 5, 8, 20, 60]))
    p = [rng.choice(SPECIAL, n), rng.choice([0.0, 1.0], n), np.full(n, rng.choice(SPECIAL)), rng.beta(0.05, 0.05, n)]
    chosen = p[seed % 4]
    y = (chosen >= 0.5).astype(int) if rng.random() < 0.3 else rng.integers(0, 2, n)
    y[:2] = [0, 1]
    weights = [None, np.exp(rng.normal(0, 20, n)), rng.integers(1, 4, n), np.full(n, 1e-200), np.full(n, 1e200)]
    return chosen, y, weights[rng.integers(5)], rng.choice([0, 1e30, -1e5, 3, 1e-300], n)


@pytest.mark.parametrize("calibrator", EVERY, ids=lambda each: " ".join(str(each).split()))
@pytest.mark.parametrize("start", slow_but([0], range(0, 200, 10), one_in=2))
def test_hostile_rows_give_probabilities(calibrator, start):
    for seed in range(start, start + 10):
        p, y, weights, v = hostile(seed)
        new = np.concatenate([SPECIAL, p])
        with_variable = isinstance(calibrator, (cal.VariableBased, cal.AugmentedBeta))
        shown = np.column_stack([p, v]) if with_variable else p
        table = np.column_stack([new, np.resize(v, len(new))]) if with_variable else new
        with np.errstate(all="ignore"):
            said = clone(calibrator).fit(shown, y, weights).predict_proba(table)
        assert ((said >= 0) & (said <= 1)).all(), seed
        np.testing.assert_allclose(said.sum(axis=1), 1, rtol=1e-9)


def test_corners_that_nearly_touch():
    p, weights = np.array([0.0, 0, 4e-323, 4e-323, 1, 1]), np.array([3.0, 1, 1, 3, 1, 1])
    found = cal.CenteredIsotonic().fit(p, np.array([0, 1, 0, 1, 1, 1]), weights).predict_proba([0, 2e-323, 4e-323, 1])
    assert (np.diff(found[:, 1]) >= 0).all()
    np.testing.assert_allclose(found[[0, 2], 1], [0.25, 0.75])


def test_bbq_of_saturated_predictions():
    p = np.repeat([0.0, 1.0, 0.4], 30)
    y = (np.arange(90) % 10 < np.repeat([1, 9, 5], 30)).astype(int)
    np.testing.assert_allclose(cal.BBQ().fit(p, y).predict_proba([0, 1, 0.4])[:, 1], [0.1, 0.9, 0.5], atol=0.05)


def test_bbq_of_many_rows_with_few_values():
    p = np.tile([0.2, 0.5, 0.8], 12_000)
    found = cal.BBQ().fit(p, np.random.default_rng(0).random(36_000) < p).predict_proba([0.2, 0.5, 0.8])[:, 1]
    np.testing.assert_allclose(found, [0.2, 0.5, 0.8], atol=0.02)


def test_a_fit_that_was_changed_raises_in_place_of_numbers():
    fitted = cal.HistogramBinning().fit(np.linspace(0, 1, 50), np.arange(50) % 2)
    for value in (np.nan, 1e308, -1):
        fitted.values_ = np.full_like(fitted.values_, value)
        with pytest.raises(ValueError, match="which are no probabilities"):
            fitted.predict_proba([0.2, 0.7])


def test_variables_and_logits_beyond_reason_are_refused():
    X = np.column_stack([np.linspace(0.1, 0.9, 10), np.full(10, 1e300)])
    for made in (cal.AugmentedBeta(), cal.VariableBased(), cal.DecisionTree([-1])):
        with pytest.raises(ValueError, match=r"a variable of X is 1e\+300 in size"):
            made.fit(X, np.arange(10) % 2)
    with pytest.raises(ValueError, match=r"X is 1e\+200 in size, but logits below 1e100"):
        cal.Temperature(input="logits").fit(np.full((10, 3), 1e200), np.arange(10) % 3)


WEIGHTED = [each for each in EVERY if not isinstance(each, (cal.VariableBased, cal.AugmentedBeta, cal.CalibrationTree))]


@pytest.mark.parametrize("calibrator", WEIGHTED, ids=lambda each: " ".join(str(each).split()))
def test_weights_that_are_all_equal_are_none(calibrator):
    rng = np.random.default_rng(0)
    p = rng.random(60)
    y = (rng.random(60) < p).astype(int)
    plain = clone(calibrator).fit(p, y).predict_proba(p)
    for each in (5e-324, 1 / 60, 2, 1e308):
        np.testing.assert_array_equal(clone(calibrator).fit(p, y, np.full(60, each)).predict_proba(p), plain)
    for strange in (5e-324, 1e308):
        with pytest.raises(ValueError, match="says how many rows each row counts as: pass numbers between"):
            clone(calibrator).fit(p, y, np.where(np.arange(60) < 30, strange, 1.0))
