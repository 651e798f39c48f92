"""The expected calibration error of one sample, against the fastest packages."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from sklearn.calibration import calibration_curve

import calibstat as cs
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


@pytest.fixture(scope="module")
def thousand_classes():
    rng = np.random.default_rng(7)
    rows = rng.random((100_000, 1000))
    rows /= rows.sum(axis=1, keepdims=True)
    return cs.Sample(rng.integers(0, 1000, len(rows)), rows, labels=range(1000))


def in_numpy(rows, labels):
    """The steps of torchmetrics written out: a check of the range, the top class, and three sums over cells."""
    assert ((rows >= 0) * (rows <= 1)).all()
    confidence, top = rows.max(axis=1), rows.argmax(axis=1)
    right = (top == labels).astype(float)
    place = np.searchsorted(np.linspace(0, 1, N_BINS + 1), confidence, side="right") - 1
    count, sums, hits = np.zeros(N_BINS + 1), np.zeros(N_BINS + 1), np.zeros(N_BINS + 1)
    for total, each in ((count, 1.0), (sums, confidence), (hits, right)):
        np.add.at(total, place, each)
    filled = np.maximum(count, 1)
    return np.abs(hits / filled - sums / filled) @ (count / count.sum())


def of_torchmetrics(rows, labels):
    """The peer where it is installed, on one thread; else its steps."""
    try:
        import torch
        from torchmetrics.functional.classification import multiclass_calibration_error
    except ImportError:
        return in_numpy, (rows, labels), "not installed: its steps in numpy"
    torch.set_num_threads(1)
    peer = partial(multiclass_calibration_error, num_classes=rows.shape[1], n_bins=N_BINS, validate_args=False)
    return peer, (torch.from_numpy(rows), torch.from_numpy(labels)), ""


def test_top_label_against_torchmetrics(thousand_classes, ratios):
    sample, estimator = thousand_classes, cs.TopLabel() | cs.ECE(cs.EqualWidth(N_BINS))
    peer, arguments, note = of_torchmetrics(sample.y_prob.copy(), sample.outcomes.copy())
    value = estimator(sample)
    assert value == pytest.approx(float(peer(*arguments)), rel=1e-5)
    name = "ECE of the top label, n = 1e5, K = 1000; torchmetrics"
    ratios.faster(name, lambda: estimator(sample), lambda: peer(*arguments), 7, note=note)


def test_top_label_in_single_precision_against_torchmetrics(thousand_classes, ratios):
    """Of what networks give: both get the same float32 array."""
    rows, labels = thousand_classes.y_prob.astype(np.float32), thousand_classes.outcomes.copy()
    sample, estimator = cs.Sample(labels, rows, labels=range(1000)), cs.TopLabel() | cs.ECE(cs.EqualWidth(N_BINS))
    peer, arguments, note = of_torchmetrics(rows, labels)
    value = estimator(sample)
    assert value == pytest.approx(float(peer(*arguments)), rel=1e-4)
    name = "ECE of the top label, n = 1e5, K = 1000, float32; torchmetrics"
    ratios.faster(name, lambda: estimator(sample), lambda: peer(*arguments), 8, note=note)


def test_top_label_against_reading_the_rows(thousand_classes, ratios):
    """The sum of all numbers is the least that reading them costs."""
    sample, estimator = thousand_classes, cs.TopLabel() | cs.ECE(cs.EqualWidth(N_BINS))
    name = "ECE of the top label, n = 1e5, K = 1000; sum of all numbers"
    ratios.at_most(name, lambda: estimator(sample), sample.y_prob.sum, 1.2, rounds=9)
