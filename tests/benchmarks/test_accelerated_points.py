"""Binned errors of one sample with compiled loops: against the fastest packages, and against numpy.

Run on one thread: ``OMP_NUM_THREADS=1 NUMBA_NUM_THREADS=1 python -m pytest`` and the path of this file.
"""

from __future__ import annotations

import pytest
from sklearn.calibration import calibration_curve

import calibstat as cs
from benchmarks.acceleration import compiled, in_numpy
from benchmarks.worlds import arrays, binary

pytest.importorskip("numba")

N, N_BINS = 1_000_000, 15


@pytest.fixture(scope="module")
def sample():
    return binary(N)


def test_equal_width_against_relplot(sample, ratios):
    relplot = pytest.importorskip("relplot.metrics")
    y, p = arrays(sample)
    ours = compiled(lambda: cs.ECE(cs.EqualWidth(N_BINS))(sample))
    name = "ECE(EqualWidth(15)) compiled, n = 1e6; relplot"
    ratios.faster(name, ours, lambda: relplot.binnedECE(p, y, nbins=N_BINS), 3, rounds=15)


def test_equal_mass_against_scikit_learn(sample, ratios):
    y, p = arrays(sample)
    ours = compiled(lambda: cs.ECE(cs.EqualMass(N_BINS))(sample))
    name = "ECE(EqualMass(15)) compiled, n = 1e6; calibration_curve of scikit-learn"
    ratios.faster(name, ours, lambda: calibration_curve(y, p, n_bins=N_BINS, strategy="quantile"), 25, rounds=15)


@pytest.mark.parametrize(
    ("estimator", "goal"),
    [
        (cs.ECE(cs.EqualWidth(N_BINS)), 3),
        (cs.ECE(cs.EqualMass(N_BINS)), 2.5),
        (cs.DebiasedCE(cs.EqualMass(N_BINS)), 2.5),
    ],
    ids=repr,
)
def test_estimates_against_numpy(estimator, goal, sample, ratios):
    ours = compiled(lambda: estimator(sample))
    ratios.faster(f"{estimator!r} compiled, n = 1e6; numpy", ours, in_numpy(lambda: estimator(sample)), goal, rounds=9)
