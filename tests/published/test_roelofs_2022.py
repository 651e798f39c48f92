"""Roelofs, Cain, Shlens & Mozer (2022), "Mitigating bias in calibration error estimation": ECE-sweep."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from calibstat.estimators.deviation import ECESweep

TEN = cs.Sample([0, 0, 1, 0, 1, 1, 0, 1, 1, 1], np.arange(10) / 10 + 0.05)


def test_roelofs_2022_sweep_of_ten_rows_ends_at_four_cells():
    assert ECESweep()(TEN) == pytest.approx(0.10, abs=1e-12)
    assert ECESweep(p=2)(TEN) == pytest.approx(0.11902, abs=5e-6)
    cells = np.floor(np.arange(10) * 4 / 10)
    edges = np.append(np.arange(10)[np.diff(cells, prepend=-1) > 0] / 10, 1)
    assert ECESweep()(TEN) == pytest.approx(cs.ECE(cs.FixedEdges(edges.tolist()))(TEN), abs=1e-12)


def test_roelofs_2022_one_cell_when_two_already_fall():
    sample = cs.Sample([1, 1, 0, 0], [0.1, 0.2, 0.6, 0.9])
    assert ECESweep()(sample) == pytest.approx(0.05, abs=1e-12)


def test_roelofs_2022_each_row_a_cell_when_labels_never_fall():
    sample = cs.Sample([0, 0, 1, 1], [0.1, 0.2, 0.6, 0.9])
    assert ECESweep()(sample) == pytest.approx(0.2, abs=1e-12)


def test_roelofs_2022_equal_widths():
    """The last number of cells of equal width, up to which no mean outcome falls; empty cells have none."""
    rng = np.random.default_rng(0)
    for n in (10, 40, 300):
        p = rng.beta(0.5, 0.5, n)
        sample = cs.Sample(rng.random(n) < p, p, labels=[0, 1])
        for m in range(1, n + 1):
            means = cs.HistogramRegression(cs.EqualWidth(m))(sample).sel(label=1)["mean_outcome"].values
            if (np.diff(means[~np.isnan(means)]) < 0).any():
                break
            last = m
        assert 1 < last < n
        for order in (1, 2):
            found = ECESweep(order, strategy="uniform")(sample)
            assert found == pytest.approx(cs.ECE(cs.EqualWidth(last), order)(sample), abs=1e-12)


def test_roelofs_2022_equal_widths_end_at_as_many_cells_as_predictions():
    sample = cs.Sample([0, 0, 1, 1], [0.1, 0.2, 0.6, 0.9])
    assert ECESweep(strategy="uniform")(sample) == pytest.approx(cs.ECE(cs.EqualWidth(4))(sample), abs=1e-12)
    assert ECESweep(strategy="uniform")(cs.Sample([0, 1], [0.5, 0.5])) == pytest.approx(0, abs=1e-12)
    with pytest.raises(ValueError, match="strategy is 'width'; it must be 'quantile' or 'uniform'"):
        ECESweep(strategy="width")
