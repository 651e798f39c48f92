"""Gupta & Ramdas (2021), "Distribution-free calibration guarantees for histogram binning": validity curves.

The version with nearest neighbours is that of Torabian & Urner (2024).
"""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from calibstat.estimators.validity_curve import AUCV, NeighborAUCV

TIED = cs.Sample([0, 0, 1, 0, 1, 0, 1, 1], [0.1, 0.2, 0.2, 0.4, 0.6, 0.6, 0.7, 0.9], variables={"row": np.arange(8)})
APART = cs.Sample([0, 0, 1, 0, 1, 0, 1, 1], [0.05, 0.11, 0.24, 0.40, 0.58, 0.69, 0.83, 0.97])


def test_gupta_ramdas_2021_exact_area():
    assert AUCV()(TIED) == pytest.approx(0.7875, abs=1e-12)
    assert AUCV().curve(TIED).area == pytest.approx(0.7875, abs=1e-12)


@pytest.mark.parametrize(("tolerance", "share"), [(0, 0), (0.1, 0.5), (0.2, 0.5), (0.3, 0.875), (0.5, 1)])
def test_gupta_ramdas_2021_exact_curve(tolerance, share):
    assert AUCV().curve(TIED)(tolerance) == pytest.approx(share, abs=1e-12)


def test_gupta_ramdas_2021_binned_area():
    """Cells are runs of two rows, so tied scores are parted."""
    assert (cs.Given("row") | AUCV(cs.EqualMass(4)))(TIED) == pytest.approx(0.8375, abs=1e-12)
    assert AUCV(cs.EqualMass(4))(APART) == pytest.approx(0.87625, abs=1e-12)


@pytest.mark.parametrize(("k", "area"), [(1, 0.67125), (3, 0.7995833333), (5, 0.81125), (8, 0.71625)])
def test_torabian_urner_2024_area_of_nearest_neighbours(k, area):
    assert NeighborAUCV(k)(APART) == pytest.approx(area, abs=1e-10)


def test_torabian_urner_2024_area_without_the_row_itself():
    """The row at 0.40 has two third neighbours, 0.11 and 0.69; both count here, the lower one alone there."""
    assert NeighborAUCV(3, include_self=False)(APART) == pytest.approx(0.76625, abs=1e-12)
    moved = APART.predictions.event + np.array([0, 1e-10, 0, 0, 0, 0, 0, 0])
    parted = cs.Sample(APART.outcomes, moved)
    assert NeighborAUCV(3, include_self=False)(parted) == pytest.approx(0.7454166667, abs=1e-9)


@pytest.mark.parametrize(("k", "share"), [(1, 0.5), (3, 0.625), (5, 0.625), (8, 0.375)])
def test_torabian_urner_2024_curve_of_nearest_neighbours(k, share):
    assert NeighborAUCV(k).curve(APART)(0.25) == pytest.approx(share, abs=1e-12)
