"""How often calibrators are told apart where nothing is to be told, and where something is.

Fixed seeds and stated numbers of runs; a size may exceed its level by 4 of its own standard errors. More runs, made by
hand with `told_apart`: in 250 runs of the first test any two were told apart in 0.4 %, and the first model was rejected
by itself in 3.6 %.
"""

from __future__ import annotations

import numpy as np
import pytest

from calibstat import calibrators as cal
from calibstat.comparisons.compare import compare_calibrators

LEVEL = 0.05


def told_apart(n_runs, world, calibrators, seed, n=600, **options):
    """Share of runs in which any two are told apart, and in which the first model is rejected by itself."""
    any_pair, single = 0, 0
    fitted = {name: [] for name, each in calibrators.items() if not hasattr(each, "get_params")}
    for run in range(n_runs):
        rng = np.random.default_rng([seed, run])
        p, y = world(rng, n)
        found = compare_calibrators(calibrators, y, p, fitted_rows=fitted, n_resamples=199, rng=rng, **options)
        any_pair += any(pair.rejects for pair in found.pairs)
        single += found["uncalibrated"].pvalue <= LEVEL
    return any_pair / n_runs, single / n_runs


def calibrated(rng, n):
    p = rng.random(n)
    return p, (rng.random(n) < p).astype(int)


def bold(rng, n):
    p = rng.random(n)
    return p, (rng.random(n) < 0.5 + 0.25 * (p - 0.5)).astype(int)


def limit(n_runs):
    return LEVEL + 4 * np.sqrt(LEVEL * (1 - LEVEL) / n_runs)


@pytest.mark.slow
def test_calibrated_models_of_different_sharpness_are_rarely_told_apart(said):
    """Three exactly calibrated models: p uniform, and its means over halves and over fifths; 120 runs."""
    models = {
        "halves": said(lambda p: np.floor(p * 2) / 2 + 0.25),
        "fifths": said(lambda p: np.minimum(np.floor(p * 5), 4) / 5 + 0.1),
    }
    family, single = told_apart(120, calibrated, models, seed=1)
    assert family <= limit(120)
    assert single <= limit(120)


@pytest.mark.slow
def test_fits_to_a_calibrated_model_are_rarely_told_apart():
    """Platt and beta, whose fits differ by noise alone; 30 runs."""
    family, _ = told_apart(30, calibrated, {"platt": cal.Platt(), "beta": cal.Beta()}, seed=2)
    assert family <= limit(30)


@pytest.mark.slow
def test_equal_and_opposite_errors_are_rarely_told_apart(said):
    """Errors of the same size, not zero: the labels are fair coins, predictions 0.4 or 0.6 whatever p; 80 runs."""

    def coins(rng, n):
        return np.where(rng.random(n) < 0.5, 0.4, 0.6), rng.integers(0, 2, n)

    models = {"turned": said(lambda p: 1 - p)}
    family, single = told_apart(80, coins, models, seed=3)
    assert family <= limit(80)
    assert single > 0.5


@pytest.mark.slow
def test_a_clear_case_is_found():
    """The negative control of all sizes above: over-confident predictions against their recalibration; 20 runs."""
    family, single = told_apart(20, bold, {"platt": cal.Platt(), "beta": cal.Beta()}, seed=4, n=1000)
    assert family > 0.9
    assert single > 0.9


@pytest.mark.slow
def test_rows_of_the_fit_would_give_wrong_pvalues():
    """Why rows of the fit are refused: tested on them isotonic regression is rejected far too rarely; 30 runs."""
    inside, outside = [], []
    for run in range(30):
        rng = np.random.default_rng([5, run])
        p, y = bold(rng, 400)
        seen = cal.Isotonic().fit(p, y)
        for pvalues, rows in ((inside, (p, y)), (outside, bold(rng, 400))):
            models = {"isotonic": seen}
            found = compare_calibrators(models, rows[1], rows[0], fitted_rows={"isotonic": []}, n_resamples=99, rng=rng)
            pvalues.append(found["isotonic"].pvalue)
    assert np.mean(inside) > 0.6
    assert np.mean(outside) < np.mean(inside) - 0.2


@pytest.mark.slow
@pytest.mark.parametrize("n_splits", [3])
def test_several_splits_keep_the_size(said, n_splits):
    """The same exactly calibrated models, twice the median of three splits; 30 runs."""
    models = {"halves": said(lambda p: np.floor(p * 2) / 2 + 0.25)}
    family, single = told_apart(30, calibrated, models, seed=6, n_splits=n_splits)
    assert family <= limit(30)
    assert single <= limit(30)
