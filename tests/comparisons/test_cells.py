"""Cells that hold enough rows for a variance."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import calibstat as cs
from calibstat.inference.compare import expanded
from calibstat.inference.differences import LargeCells, with_large_cells


def effective(weights):
    return weights.sum() ** 2 / (weights**2).sum() if len(weights) else 0.0


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_neighbours_are_merged_until_they_hold_enough_and_no_further(seed, weighted):
    rng = np.random.default_rng(seed)
    p = rng.choice(rng.random(25), 120, p=rng.dirichlet(np.full(25, 0.5)))
    weights = rng.uniform(0.2, 3, 120) if weighted else np.ones(120)
    predictions = cs.Sample(rng.integers(0, 2, 120), p, sample_weight=weights if weighted else None).predictions
    cells, fine = LargeCells(cs.UniqueValues()).cut(predictions), cs.UniqueValues().cut(predictions)
    assert set(cells.index) == set(range(cells.size))
    order = np.argsort(p, kind="stable")
    assert (np.diff(cells.index[order]) >= 0).all()
    for cell in range(cells.size):
        inside = cells.index == cell
        assert effective(weights[inside]) >= 8
        if cell < cells.size - 1:  # without its last value it would not hold enough
            assert effective(weights[inside & (fine.index < fine.index[inside].max())]) < 8


def test_large_cells_stay_as_they_are():
    rng = np.random.default_rng(0)
    sample = cs.Sample(rng.integers(0, 2, 300), rng.random(300))
    estimator = cs.DebiasedL2(cs.EqualMass(15))
    assert with_large_cells(estimator, [sample]) == (estimator, "")
    np.testing.assert_array_equal(
        LargeCells(cs.EqualMass(15)).cut(sample.predictions).index, cs.EqualMass(15).cut(sample.predictions).index
    )
    merged, note = with_large_cells(estimator, [sample, sample.take(np.arange(60))])
    assert merged == cs.DebiasedL2(LargeCells(cs.EqualMass(15)))
    assert "8 rows" in note
    assert merged(sample) == pytest.approx(estimator(sample))


def test_too_few_rows_are_one_cell():
    sample = cs.Sample([0, 1, 1], [0.2, 0.5, 0.9])
    assert LargeCells(cs.UniqueValues()).cut(sample.predictions).size == 1


TIED = np.repeat([0.1, 0.3, 0.32, 0.6, 0.9], [60, 3, 40, 5, 42])


@pytest.mark.parametrize("binning", [cs.EqualMass(60), cs.UniqueValues(), cs.EqualWidth(100)])
def test_comparisons_merge_small_cells_of_tied_predictions(binning):
    rng = np.random.default_rng(3)
    y = (rng.random(150) < TIED).astype(int)
    first, second = cs.Sample(y, TIED), cs.Sample(y, rng.permutation(TIED))
    estimator = cs.DebiasedL2(binning)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cs.SmallCellsWarning)
        with pytest.raises(ValueError, match="too few for its variance"):  # the negative control: cells as they are
            expanded(estimator, first, estimator.prepare(first.predictions))
        two = cs.comparison_test(first, second, estimator, n_resamples=199, rng=0)
        three = cs.compare_models({"a": first, "b": second, "c": first}, estimator, n_resamples=199, rng=0)
    assert three.pairs[0].pvalue == two.pvalue < 0.05
    assert two.difference < 0
    for found in (two, three):
        assert "neighbouring cells are merged until each holds 8 rows" in found.notes
    coarse = cs.comparison_test(first, second, cs.DebiasedL2(LargeCells(binning)), n_resamples=199, rng=0)
    assert coarse.pvalue == two.pvalue
