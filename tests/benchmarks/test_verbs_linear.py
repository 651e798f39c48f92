"""What tests of linear statistics and of panels cost, from raw arrays."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from benchmarks.timing import SIZES, interleaved, redraw_loop, stable_argsort
from benchmarks.worlds import binary_arrays, class_arrays

LINEAR = [
    cs.Spiegelhalter(),
    cs.LogLossZ(),
    cs.BrierScore(),
    cs.LogScore(),
    cs.MeanCalibration(),
    cs.ScoreExcess(),
    cs.ObservedToExpected(),
]


@pytest.mark.parametrize("estimator", LINEAR, ids=repr)
@pytest.mark.parametrize("n", SIZES)
def test_a_linear_statistic(estimator, n, ratios):
    """A test of 10^5 rows takes at most one stable argsort of them; of 1000 rows a quarter of 999 redraws in a loop."""
    y, p = binary_arrays(n)

    def whole():
        return cs.calibration_test(cs.Sample(y, p), estimator, rng=0)

    if n > 1000:
        ratios.at_most(f"test of {estimator!r}, n = {n:g}; a stable argsort", whole, lambda: stable_argsort(p), 1)
    else:
        ours, loop = interleaved([whole, lambda: redraw_loop(p, 99)])
        ratios.record(
            f"test of {estimator!r}, n = {n:g}; 999 redraws in a loop", 1e3 * ours, 1e3 * loop * 999 / 99, 0.25
        )


def test_a_linear_statistic_of_a_million_rows(ratios):
    y, p = binary_arrays(1_000_000)
    ratios.at_most(
        "test of Spiegelhalter(), n = 1e6; a stable argsort",
        lambda: cs.calibration_test(cs.Sample(y, p), cs.Spiegelhalter()),
        lambda: stable_argsort(p),
        1.5,
        rounds=5,
    )


def test_the_panel_of_two_classes(ratios):
    """All five statistics on 999 redraws of 10^5 rows: at most 0.3 s of processor time."""
    y, p = binary_arrays(100_000)
    ratios.within("omnibus_test, n = 1e5 (seconds)", lambda: cs.omnibus_test(cs.Sample(y, p), rng=0), 0.3)


def test_the_panel_of_ten_classes(ratios):
    """All five statistics on 999 redraws of 10^4 rows: at most five values of the kernel error."""
    y, rows = class_arrays(10_000, 10)
    labels = np.arange(10)
    ratios.at_most(
        "omnibus_test, 1e4 rows of 10 classes; one value of SKCE",
        lambda: cs.omnibus_test(cs.Sample(y, rows, labels=labels), rng=0),
        lambda: cs.SKCE()(cs.Sample(y, rows, labels=labels)),
        5,
        rounds=3,
    )
