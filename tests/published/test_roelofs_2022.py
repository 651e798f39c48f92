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
