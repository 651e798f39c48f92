"""What an estimator costs at a million rows, in stable argsorts of the predictions.

The reference is ``numpy.argsort(kind="stable")``, which ordering rows takes. ``numpy.sort`` of floats is vectorised on
processors with AVX-512 and there up to twenty times faster than any ordering of rows.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import calibstat as cs

N = 1_000_000
HANDFUL, MORE = 6, 15

ESTIMATORS = [
    cs.ECE(cs.EqualWidth(15)),
    cs.ECE(),
    cs.DebiasedL2(),
    cs.PDE(),
    cs.Kuiper(),
    cs.KolmogorovSmirnov(),
    cs.AverageTwoBin(),
    cs.BrownianBridge(),
    cs.SmoothECE(),
    cs.SmoothCE(),
    cs.CORP(),
    cs.BrierDecomposition(cs.EqualMass(15)),
    cs.FerroFricker(cs.EqualMass(15)),
    cs.BrierScore(),
    cs.AUC(),
    cs.ECESweep(),
    cs.MultiscaleL2(),
    cs.Spiegelhalter(),
    cs.LogitScore(1),
    cs.VectorScalingScore(),
    cs.HosmerLemeshow(),
    cs.AUCV(),
    cs.KendallTau(),
    cs.ProbabilisticCount(),
]


def named(estimator):
    """The estimator with its binning, where that tells two of them apart."""
    binning = getattr(estimator, "binning", None)
    return f"{type(estimator).__name__}({'' if binning is None else repr(binning)})"


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(4)
    p = rng.beta(0.7, 0.7, N)
    return cs.Sample((rng.random(N) < p).astype(int), p)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_estimator_costs_a_handful_of_argsorts(sample, estimator, ratios, benchmark):
    def fresh():
        # predictions remember their order: copied, so that ordering is counted
        return estimator(cs.Sample.of(sample.predictions.take(slice(None)), sample.outcomes))

    benchmark.pedantic(fresh, rounds=1)
    order = partial(np.argsort, sample.predictions.event, kind="stable")
    ratios.at_most(f"{named(estimator)}, n = 1e6; a stable argsort", fresh, order, HANDFUL, rounds=3)


def test_nearest_neighbours_cost_some_more(sample, ratios):
    """The neighbours of every row are found by bisection."""
    order = partial(np.argsort, sample.predictions.event, kind="stable")

    def fresh():
        return cs.NeighborAUCV(15)(cs.Sample.of(sample.predictions.take(slice(None)), sample.outcomes))

    ratios.at_most("NeighborAUCV(15), n = 1e6; a stable argsort", fresh, order, MORE, rounds=3)
