"""Tests of statistics along one column, from raw arrays: in stable argsorts, and in values for 10^6 rows and more."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from benchmarks.timing import interleaved
from benchmarks.worlds import binary_arrays
from calibstat.estimators.panels import default_panel, family_of

# At most so many argsorts of 10^5 predictions for a test of 999 redraws.
IN_ARGSORTS = [
    (cs.Kuiper(), 3),
    (cs.KolmogorovSmirnov(), 3),
    (cs.BrownianBridge(), 3),
    (cs.AndersonDarling(), 3),
    (cs.CramerVonMises(), 3),
    (cs.SmoothECE(), 3),
    (cs.Cox(), 20),
    (cs.KCE(), 6),
    (cs.SmoothCE(), 14),
    (cs.CORP(), 12),
    (cs.ICI(cs.IsotonicCurve()), 11),
    (cs.ECESweep(), 12),
    (cs.CalibrationDecisionLoss(), 13),
    (cs.LOESS(), 9),
    (cs.ICI(), 20),
]


@pytest.mark.parametrize(("estimator", "goal"), IN_ARGSORTS, ids=[repr(each) for each, _ in IN_ARGSORTS])
def test_a_test_in_argsorts(estimator, goal, ratios):
    y, p = binary_arrays(100_000)
    ratios.at_most(
        f"test of {estimator!r}, n = 1e5; a stable argsort",
        lambda: cs.calibration_test(cs.Sample(y, p), estimator, rng=0),
        lambda: np.argsort(p, kind="stable"),
        goal,
    )


@pytest.mark.parametrize("estimator", [cs.Kuiper(), cs.AndersonDarling()], ids=repr)
def test_the_redraws_of_a_thousand_rows(estimator, ratios):
    """Below the threshold rows are drawn: against evaluating the statistic on drawn labels, one set after another."""
    y, p = binary_arrays(1000)
    evaluate = estimator.prepare(cs.Sample(y, p).predictions)
    labels = np.random.default_rng(0).random((999, 1000)) < p

    ratios.at_most(
        f"test of {estimator!r}, n = 1e3; 999 evaluations of drawn labels, one by one",
        lambda: cs.calibration_test(cs.Sample(y, p), estimator, rng=0),
        lambda: [evaluate(each) for each in labels.astype(int)],
        1,
    )


@pytest.mark.parametrize("n", [1_000_000, 10_000_000])
@pytest.mark.parametrize("estimator", [cs.Kuiper(), cs.AndersonDarling()], ids=repr)
def test_a_test_in_values(estimator, n, ratios):
    """Beside reading, sorting and one value little is left: redraws cost the same for 10^6 and 10^7 rows."""
    y, p = binary_arrays(n)
    ratios.at_most(
        f"test of {estimator!r}, n = {n:g}; its value alone",
        lambda: cs.calibration_test(cs.Sample(y, p), estimator, rng=0),
        lambda: estimator(cs.Sample(y, p)),
        3 if n == 1_000_000 else 2,
        rounds=3,
    )


# With whether the rows are sorted.
GROWING = [
    (cs.ECE(), False),
    (cs.Spiegelhalter(), False),
    (cs.Kuiper(), True),
    (cs.AndersonDarling(), True),
    (cs.SmoothECE(), True),
]


@pytest.mark.parametrize(("estimator", "ordered"), GROWING, ids=[repr(each) for each, _ in GROWING])
def test_what_grows_beside_reading_and_sorting(estimator, ordered, ratios):
    """From 10^6 to 10^7 rows: what a test adds to reading and sorting, against what one value does from raw arrays."""
    beside, alone = [], []
    for n in (1_000_000, 10_000_000):
        y, p = binary_arrays(n)

        def read(y=y, p=p):
            sample = cs.Sample(y, p)
            return sample.predictions.order if ordered else sample

        def value(y=y, p=p):
            return estimator(cs.Sample(y, p))

        def whole(y=y, p=p):
            return cs.calibration_test(cs.Sample(y, p), estimator, rng=0)

        spent, of_value, of_reading = interleaved([whole, value, read], rounds=2)
        beside.append(spent - of_reading)
        alone.append(of_value)
    name = f"growth of the test of {estimator!r} beside reading and sorting; growth of its value"
    ratios.record(name, beside[1] / beside[0], alone[1] / alone[0], 1.2, "x")


def test_a_panel_in_values(ratios):
    """Beside the values of all rows, which are shown, a panel draws pooled cells."""
    y, p = binary_arrays(1_000_000)
    panel = family_of(default_panel(2, len(y)))
    ratios.at_most(
        "omnibus_test, n = 1e6; the values of its members",
        lambda: cs.omnibus_test(cs.Sample(y, p), rng=0),
        lambda: panel(cs.Sample(y, p)),
        1.8,
        rounds=3,
    )


@pytest.mark.parametrize("n", [1000, 100_000, 1_000_000])
def test_the_order_of_predictions(n, ratios):
    """What all of these begin with: the same order as a stable argsort."""
    _, p = binary_arrays(n)
    predictions = cs.Sample(np.arange(n) % 2, p).predictions
    name = f"order of predictions, n = {n:g}; a stable argsort"

    def order():
        return cs.data.arrays.increasing_order(predictions.event)

    if n == 1000:
        ratios.at_most(name, order, lambda: np.argsort(p, kind="stable"), 1.5)
        return
    fast, slow = interleaved([order, lambda: np.argsort(p, kind="stable")])
    ratios.record(name, 1e3 * fast, 1e3 * slow, 2, at_least=True)
