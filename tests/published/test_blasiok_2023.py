"""Blasiok, Gopalan, Hu & Nakkiran (2023) and Blasiok & Nakkiran (2024): smooth calibration errors."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from calibstat.estimators.smooth import SmoothCE, SmoothECE

TEN = cs.Sample([0, 0, 1, 0, 1, 1, 0, 1, 1, 1], np.arange(10) / 10 + 0.05)


def test_blasiok_2023_smooth_ce_of_ten_rows():
    assert SmoothCE()(TEN) == pytest.approx(0.1125, abs=1e-12)


def test_blasiok_nakkiran_2024_smooth_ece_of_ten_rows():
    assert SmoothECE()(TEN) == pytest.approx(0.10912, abs=5e-6)
    assert SmoothECE(bandwidth=0.1)(TEN) == pytest.approx(0.11660, abs=5e-6)


def test_blasiok_nakkiran_2024_the_bandwidth_is_the_error():
    value = SmoothECE()(TEN)
    assert SmoothECE(bandwidth=value)(TEN) == pytest.approx(value, rel=1e-12)


def test_blasiok_nakkiran_2024_the_error_falls_with_the_bandwidth():
    values = [SmoothECE(bandwidth=b)(TEN) for b in np.geomspace(1e-3, 2, 30)]
    assert (np.diff(values) <= 1e-6).all()
    assert values[0] == pytest.approx(np.abs(TEN.outcomes - TEN.predictions.event).mean(), abs=1e-6)
    assert values[-1] == pytest.approx(0.1, abs=1e-6)


@pytest.mark.parametrize("gap", [0.01, 0.05, 0.2])
def test_blasiok_2023_half_and_half(gap):
    """Outcomes certain on either side of 1/2, predictions gap away from it: the distance to calibration is the gap."""
    sample = cs.Sample([0, 1], [0.5 - gap, 0.5 + gap])
    residual = 0.5 - gap
    assert SmoothCE()(sample) == pytest.approx(gap * residual * 2 / 2, abs=1e-12)
    assert gap / 4 <= SmoothCE()(sample) <= 2 * gap
