"""Rows to fit on and rows to test on, chosen without looking at a label."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np

from calibstat.arrays import Floats, Ints

ROWS_OF_A_STRATUM = 20


@final
@dataclass(frozen=True, eq=False)
class Split:
    """Rows that calibrators are fitted on, and rows that they are tested on.

    Parameters
    ----------
    fit_rows, test_rows : (m,) ints
        In increasing order; they share no row.
    """

    fit_rows: Ints
    test_rows: Ints


def random_split(prob: Floats, n_test: int, rng: np.random.Generator, eligible: Ints) -> Split:
    """Draw test rows, spread evenly over the predictions; all others are for the fit.

    Strata are made of predictions, never of labels. Splitting by label would tie the labels of the test rows to each
    other (their number of events would be known before), and redrawn labels would then have another law than they.

    Parameters
    ----------
    prob : (n, K) floats
    n_test : int
    rng : Generator
    eligible : (m,) ints
        The rows that may be tested on.
    """
    ordered = eligible[_order(prob[eligible], rng)]
    chosen = [
        rng.choice(stratum, size=size, replace=False)
        for stratum, size in zip(_strata(ordered), _shares(len(ordered), n_test, rng), strict=True)
    ]
    test_rows = np.sort(np.concatenate(chosen))
    return Split(np.setdiff1d(np.arange(len(prob)), test_rows), test_rows)


def folds(prob: Floats, n_folds: int, rng: np.random.Generator) -> Iterator[Split]:
    """Deal the rows out into folds, each spread evenly over the predictions; each is tested on once.

    Parameters
    ----------
    prob : (n, K) floats
    n_folds : int
    rng : Generator
    """
    ordered = _order(prob, rng)
    fold = np.empty(len(prob), dtype=np.intp)
    for start in range(0, len(ordered), n_folds):
        block = ordered[start : start + n_folds]
        fold[block] = rng.permutation(n_folds)[: len(block)]
    for number in range(n_folds):
        yield Split(np.flatnonzero(fold != number), np.flatnonzero(fold == number))


def _order(prob: Floats, rng: np.random.Generator) -> Ints:
    """Sort by the most probable class and its probability, ties in random order."""
    top = prob.argmax(axis=1) if prob.shape[1] > 2 else np.zeros(len(prob), dtype=np.intp)
    height = prob.max(axis=1) if prob.shape[1] > 2 else prob[:, -1]
    return np.lexsort((rng.random(len(prob)), height, top))


def _strata(ordered: Ints) -> list[Ints]:
    return np.split(ordered, _borders(len(ordered))[1:-1])


def _borders(n: int) -> Ints:
    return np.append(np.arange(0, n, ROWS_OF_A_STRATUM), n)


def _shares(n: int, n_test: int, rng: np.random.Generator) -> Ints:
    """(s,) how many rows of each stratum are tested on: rounded at random, so that every row is as likely as others."""
    reached: Ints = (_borders(n) * n_test + int(rng.integers(n))) // n
    return reached[1:] - reached[:-1]
