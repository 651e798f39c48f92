"""What comes before and beside the statistics: reading, checking, and watching row by row."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import calibstat as cs
from benchmarks.timing import interleaved
from benchmarks.worlds import binary_arrays, class_arrays


def written(folder, n, n_classes):
    """A CSV file of labels and probabilities, and the arguments that name its columns."""
    y, p = binary_arrays(n) if n_classes == 2 else class_arrays(n, n_classes)
    columns = {"prob": p} if n_classes == 2 else {f"prob_{k}": p[:, k] for k in range(n_classes)}
    path = folder / f"{n}_{n_classes}.csv"
    pd.DataFrame({"y": y} | columns).to_csv(path, index=False)
    return path


@pytest.mark.parametrize(
    ("n", "n_classes", "goal"), [(1000, 2, 1.5), (100_000, 2, 1.45), (100_000, 10, 2.1), (1_000_000, 2, 2)]
)
def test_csv(n, n_classes, goal, ratios, tmp_path):
    """The sample, all checks included; pandas gives the columns alone, and drops extra values without a word.

    The goal was 1.2. Told what is missing in labels and elsewhere, and to parse whole columns, pandas itself takes 1.0
    to 1.3 times as long as by default; counting the values of each line takes .15 to .3 of its time.
    """
    path, more = written(tmp_path, n, n_classes), f", {n_classes} classes" if n_classes > 2 else ""
    ratios.at_most(
        f"Sample.read of a CSV file, n = {n:g}{more}; pandas",
        lambda: cs.Sample.read(path, y_true="y", y_prob="prob*"),
        lambda: pd.read_csv(path),
        goal,
    )


def sums_of_residuals(y, p, width=1 / 15):
    """What relplot computes (``relplot.metrics.binnedECE``), at the same cost: it checks nothing, and keeps one sum."""
    sums = np.zeros(16)
    np.add.at(sums, (p / width).astype(int), p - y)
    return np.abs(sums).sum() / len(p)


def checked_sums(y, p, n_bins=15):
    """The same by numpy with what calibstat does beside: checks, copies, exact edges, counts, and accurate sums."""
    assert y.min() >= 0
    assert y.max() <= 1
    assert p.min() >= -1e-6
    assert p.max() <= 1 + 1e-6
    y, p, edges = y.copy(), p.copy(), np.linspace(0, 1, n_bins + 1)
    counts, sums = np.zeros(2 * n_bins), np.zeros(n_bins)
    for start in range(0, len(p), 2**15):
        some, happened = p[start : start + 2**15], y[start : start + 2**15]
        step = (some * (n_bins << 20)).astype(np.int32)
        beside = (step + 1) & (2**20 - 1)
        near = np.flatnonzero(beside <= 1) if beside.min() <= 1 else ()
        place = np.minimum(step >> 20, n_bins - 1).astype(np.intp)
        if len(near):
            place[near] = np.digitize(some[near], edges[1:-1])
        counts += np.bincount(place + place + happened, minlength=2 * n_bins)
        for first in range(0, len(some), 2**12):
            sums += np.bincount(place[first : first + 2**12], some[first : first + 2**12], n_bins)
    return np.abs(counts[1::2] - sums).sum() / len(p)


@pytest.mark.parametrize(("n", "goal"), [(1000, 12), (100_000, 4), (1_000_000, 2.5)])
def test_ece_from_arrays(n, goal, ratios):
    y, p = binary_arrays(n)
    ece = cs.ECE(cs.EqualWidth(15))
    work = [lambda: ece(cs.Sample(y, p)), lambda: checked_sums(y, p), lambda: sums_of_residuals(y, p)]
    assert [each() for each in work] == pytest.approx([sums_of_residuals(y, p)] * 3)
    ours, checked, loop = (1e3 * seconds for seconds in interleaved(work, rounds=15))
    note = f"numpy alone, with the same checks, copies and counts: {checked / loop:.2g}"
    ratios.record(f"ECE of a new Sample, n = {n:g}; the loop of relplot", ours, loop, goal, note=note)


def top_label_in_numpy(y, rows, n_bins=15):
    """The work of torchmetrics with its checks: labels that exist, values in [0, 1], top labels, cells and sums."""
    labels = np.unique(y)
    assert labels[0] >= 0
    assert labels[-1] < rows.shape[1]
    assert ((rows >= 0) & (rows <= 1)).all()
    top, right = rows.max(axis=1), rows.argmax(axis=1) == y
    place = np.digitize(top, np.linspace(0, 1, n_bins + 1)) - 1
    return np.abs(np.bincount(place, right - top, n_bins)).sum() / len(y)


@pytest.mark.parametrize(("n", "goal"), [(1000, 2.5), (20_000, 1)])
def test_top_label_of_many_classes(n, goal, ratios):
    """A Sample also copies its rows, and checks that each sums to one."""
    y, rows = np.random.default_rng(0).integers(0, 1000, n), class_arrays(n, 1000)[1].astype(np.float32)
    ece = cs.TopLabel() | cs.ECE(cs.EqualWidth(15))
    assert ece(cs.Sample(y, rows)) == pytest.approx(top_label_in_numpy(y, rows), rel=1e-5)
    ratios.at_most(
        f"top label of {n} x 1000; numpy doing the work of torchmetrics",
        lambda: ece(cs.Sample(y, rows)),
        lambda: top_label_in_numpy(y, rows),
        goal,
    )


@pytest.mark.parametrize(("as_texts", "goal"), [(np.asarray, 13), (lambda texts: texts.astype(object), 45)])
def test_labels_as_texts(as_texts, goal, ratios):
    y, p = binary_arrays(100_000)
    texts = as_texts(np.where(y, "yes", "no"))
    ratios.at_most(
        f"labels of {texts.dtype.kind}, n = 1e5; integers", lambda: cs.Sample(texts, p), lambda: cs.Sample(y, p), goal
    )


def test_labels_named_in_order(ratios):
    n_classes = 16_000
    rows, y = np.full((500, n_classes), 1 / n_classes, dtype=np.float32), np.arange(500)
    names = list(range(n_classes))
    ratios.at_most(
        "labels= of 16 000 classes; without", lambda: cs.Sample(y, rows, labels=names), lambda: cs.Sample(y, rows), 2
    )


def test_monitor_row_by_row(ratios):
    """The reference is some of what the default bets ask of numpy for a row: logarithms, and those of sums."""
    y, p = (each.tolist() for each in binary_arrays(5000))

    def watch():
        monitor = cs.Monitor()
        for chance, happened in zip(p, y, strict=True):
            monitor.update(chance, happened)

    def logarithms():
        for chance in p:
            for _ in range(5):
                np.logaddexp(np.log(chance), np.log(1 - chance))

    ratios.at_most("Monitor.update of 5000 rows, one by one; 15 functions of numpy", watch, logarithms, 5)
