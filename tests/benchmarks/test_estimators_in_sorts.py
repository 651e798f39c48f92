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
HANDFUL = 6

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
    cs.NeighborAUCV(15),
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


def test_kendall_tau_of_chances_costs_a_pass_for_each_bit_of_their_ranks(sample, ratios, benchmark):
    chances = np.random.default_rng(5).random(N)
    both, evaluator = np.column_stack([1 - chances, chances]), cs.KendallTau().prepare(sample.predictions)
    benchmark.pedantic(evaluator, [both], rounds=1)
    order = partial(np.argsort, sample.predictions.event, kind="stable")
    ratios.at_most("KendallTau() of chances, n = 1e6; a stable argsort", lambda: evaluator(both), order, 15, rounds=3)
