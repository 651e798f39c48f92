"""Popordanoska, Sayer & Blaschko (2022): numbers that the authors' code gives for six and for ten rows."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from calibstat.estimators.kernel_density import KDECE

SIX = cs.Sample(
    [0, 1, 0, 2, 0, 1],
    [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.2, 0.5, 0.3], [0.6, 0.1, 0.3], [0.05, 0.15, 0.8]],
)
TEN = cs.Sample([0, 0, 1, 0, 1, 1, 0, 1, 1, 1], np.arange(10) / 10 + 0.05)


@pytest.mark.parametrize(
    ("sample", "bandwidth", "p", "value"),
    [
        (SIX, 0.2, 1, 0.742719),
        (SIX, 0.2, 2, 0.355875),
        (TEN, 0.2, 1, 0.236400),
        (TEN, 0.2, 2, 0.051509),
        (TEN, 0.05, 1, 0.326791),
        (TEN, 0.05, 2, 0.101721),
    ],
)
def test_popordanoska_2022_values(sample, bandwidth, p, value):
    assert KDECE(bandwidth, p)(sample) == pytest.approx(value, abs=5e-7)


def test_popordanoska_2022_is_biased_upward_under_calibration():
    null = cs.Consistency(199).draw(KDECE(0.05), TEN, cs.as_generator(0))
    assert null.mean > 0.25
