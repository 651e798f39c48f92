"""The expected calibration error of one sample, against the fastest packages."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.calibration import calibration_curve

import calibstat as cs
from benchmarks.timing import interleaved
from benchmarks.worlds import arrays, binary

N_BINS = 15


def test_equal_width_against_relplot(ratios):
    relplot = pytest.importorskip("relplot.metrics")
    sample, estimator = binary(1_000_000), cs.ECE(cs.EqualWidth(N_BINS))
    y, p = arrays(sample)
    ratios.at_most(
        "ECE(EqualWidth(15)), n = 1e6; relplot",
        lambda: estimator(sample),
        lambda: relplot.binnedECE(p, y, nbins=N_BINS),
        1.3,
        rounds=15,
    )


def test_equal_mass_against_scikit_learn(ratios):
    sample, estimator = binary(1_000_000), cs.ECE(cs.EqualMass(N_BINS))
    y, p = arrays(sample)
    ratios.faster(
        "ECE(EqualMass(15)), n = 1e6; calibration_curve of scikit-learn",
        lambda: estimator(sample),
        lambda: calibration_curve(y, p, n_bins=N_BINS, strategy="quantile"),
        6,
        rounds=15,
    )


@pytest.mark.parametrize(
    ("n", "kind", "goal"),
    [(1000, np.float64, 1.5), (1000, np.float32, 2), (20_000, np.float64, 1.5), (20_000, np.float32, 2.5)],
)
def test_top_label_against_torchmetrics(n, kind, goal, ratios):
    """From raw arrays, with the checks of both, on one thread."""
    torch, metrics = pytest.importorskip("torch"), pytest.importorskip("torchmetrics.functional.classification")
    torch.set_num_threads(1)
    rng = np.random.default_rng(7)
    rows = rng.random((n, 1000))
    rows = (rows / rows.sum(axis=1, keepdims=True)).astype(kind)
    labels, estimator = rng.integers(0, 1000, n), cs.TopLabel() | cs.ECE(cs.EqualWidth(N_BINS))
    theirs = torch.from_numpy(rows), torch.from_numpy(labels)

    def peer():
        return metrics.multiclass_calibration_error(*theirs, num_classes=1000, n_bins=N_BINS, validate_args=True)

    def ours():
        return estimator(cs.Sample(labels, rows, labels=range(1000)))

    assert ours() == pytest.approx(float(peer()), rel=1e-4)
    name = f"ECE of the top label with Sample(), n = {n:g}, K = 1000, {kind.__name__}; torchmetrics"
    fast, slow, copy = (1e3 * seconds for seconds in interleaved([ours, peer, rows.copy], rounds=7))
    ratios.record(name, fast, slow, goal, at_least=True, note=f"the copy of the rows alone: {copy:.3g}")


def test_top_label_against_reading_the_rows(ratios):
    """The sum of all numbers is the least that reading them costs; a sample has the top label since it was made."""
    rng = np.random.default_rng(7)
    rows = rng.random((100_000, 1000))
    rows /= rows.sum(axis=1, keepdims=True)
    sample, estimator = cs.Sample(rng.integers(0, 1000, len(rows)), rows, labels=range(1000)), cs.TopLabel() | cs.ECE()
    name = "ECE of the top label of a sample, n = 1e5, K = 1000; sum of all numbers"
    ratios.at_most(name, lambda: estimator(sample), sample.y_prob.sum, 0.2, rounds=9)
