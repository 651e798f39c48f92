"""E-values by enumeration: the mean of E over all labels is 1 under the null, and at most 1 where labels are lost."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import calibstat as cs

TWO = np.array([0.07, 0.5, 0.5, 0.93, 0.31, 1.0, 0.62])
THREE = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.3, 0.3, 0.4], [0.2, 0.0, 0.8], [0.25, 0.5, 0.25]])
BETS = [cs.LikelihoodRatioBets(), cs.LikelihoodRatioBets(2, 2, 1), cs.KernelBets(), cs.KernelBets(n_anchors=2)]


def mean_evidence(rows, n_classes, bets, feed, lens=None, chances=None):
    """Sum over all labels of their chance times the E that they lead to."""
    chances = rows if chances is None else chances
    table = np.stack([1 - chances, chances], axis=1) if chances.ndim == 1 else chances
    total = 0.0
    for labels in product(range(n_classes), repeat=len(rows)):
        mass = float(np.prod(table[np.arange(len(rows)), list(labels)]))
        if mass > 0:
            monitor = cs.Monitor(lens or cs.Canonical(), labels=range(n_classes), bets=bets)
            feed(monitor, rows, np.array(labels))
            total += mass * monitor.e_value
    return total


def at_once(monitor, rows, labels):
    monitor.update(rows, labels)


def events_last(monitor, rows, labels):
    """The delay of a label depends on the label, which must not matter."""
    monitor.update(rows, id=list(range(len(rows))))
    for row in np.argsort(labels, kind="stable"):
        monitor.update(y_true=[labels[row]], id=[int(row)])


def some_events_never_come(monitor, rows, labels):
    monitor.update(rows, id=list(range(len(rows))))
    for row, label in enumerate(labels):
        if label == 1 and row % 2 == 0:
            monitor.write_off([row])
        else:
            monitor.update(y_true=[label], id=[row])


@pytest.mark.parametrize("bets", BETS, ids=repr)
def test_henzi_2023_evidence_has_mean_one_over_all_labels(bets):
    assert mean_evidence(TWO, 2, bets, at_once) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("lens", [cs.Canonical(), cs.TopLabel(), cs.ClassWise(1)], ids=repr)
def test_evidence_of_three_classes_has_mean_one_over_all_labels(lens):
    assert mean_evidence(THREE, 3, None, at_once, lens) == pytest.approx(1, abs=1e-12)


def test_late_labels_leave_the_mean_of_the_evidence_at_one():
    assert mean_evidence(TWO, 2, cs.LikelihoodRatioBets(), events_last) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("bets", [BETS[0], BETS[2]], ids=repr)
def test_labels_that_never_come_make_the_evidence_smaller(bets):
    assert mean_evidence(TWO, 2, bets, some_events_never_come) < 1


def test_negative_control_evidence_grows_where_labels_do_not_follow_the_predictions():
    bold = np.clip(0.5 + 1.6 * (TWO - 0.5), 0.01, 0.99)
    assert mean_evidence(bold, 2, BETS[0], at_once, chances=np.full(len(TWO), 0.5)) > 1.02
