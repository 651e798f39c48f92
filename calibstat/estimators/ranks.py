"""Cells and ranks of predictions: what makes a classifier readable, besides its errors."""

from __future__ import annotations

from math import prod
from typing import ClassVar, Literal, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat.binnings.base import Binning, first_of_ties
from calibstat.binnings.values import UniqueValues
from calibstat.data.arrays import Array, Floats, Ints, increasing_order, order_of_bytes
from calibstat.data.rounding import above_rounding
from calibstat.data.sample import Predictions
from calibstat.estimators.base import (
    Capabilities,
    Estimator,
    Evaluator,
    Expansion,
    Extreme,
    all_weights,
    between,
    happened,
    is_chances,
    two_classes,
)
from calibstat.estimators.combined import leading_shape
from calibstat.estimators.tally import BinnedEstimator, Tally, ratio


@final
@dataclass(frozen=True)
class ProbabilisticCount(BinnedEstimator):
    r"""Probabilistic count of cells: one over the probability that two rows share a cell (Torabian & Urner 2024).

    .. math:: \frac{1}{P(f(x) = f(x'))} = \Big( \sum_b \Big( \frac{n_b}{n} \Big)^2 \Big)^{-1}

    for independent rows x and x', also the same row twice. By default the cells are the distinct predictions. The count
    lies between 1 and the number of cells, and is that number if all have equal masses (Theorem 10); it is the inverse
    of Simpson's (1949) index of concentration. A predictor with few cells, or with few that hold most of the mass, can
    be read as a table. The count says nothing about calibration, and no outcome changes it. On a sample it is biased
    downward where many cells have few rows, and with distinct predictions it is n; its true value exists in worlds with
    finitely many predictions. O(n log n). With weights, masses are shares of the weight.

    Parameters
    ----------
    binning : Binning

    Examples
    --------
    >>> import calibstat as cs
    >>> round(cs.ProbabilisticCount()(cs.Sample([0, 0, 1, 1], [0.2, 0.2, 0.6, 0.9])), 6)
    2.666667
    """

    binning: Binning = UniqueValues()
    quantity: ClassVar[str] = "probabilistic count of cells"
    bounds = between(1.0)
    finite_range: ClassVar[bool] = True
    no_interval: ClassVar[str] = "; no outcome changes it, and its spread is that of the masses of the cells"

    def functional(self, tally: Tally) -> Floats:
        """Divide one by the sum of squared shares, the same for all outcomes."""
        return 1 / (tally.share**2).sum(axis=-1) + np.zeros(tally.outcome.shape[:-2])


Ties = Literal["ignore", "tau_a", "strict"]


@final
@dataclass(frozen=True)
class KendallTau(Estimator):
    r"""Probabilistic Kendall tau: how often predictions rank two rows as their chances do (Torabian & Urner 2024).

    .. math:: 1 - 2\, P\big[ (f(x) - f(x')) (\eta(x) - \eta(x')) < 0 \big]

    for independent rows x and x', also the same row twice. It is 1 if the prediction is a monotone function of the
    chance :math:`\eta` of the event. The paper leaves open how ties count; `ties` offers the three readings. On the
    population of a synthetic world with finitely many predictions, `truth` compares with the chances. On data chances
    are not known, and tau is taken *against labels*: a row with the event ought to have the larger prediction. That is
    another number, and it does not tend to the truth, but to `limit`: without ties it is
    :math:`1 - 4 \pi (1 - \pi) (1 - AUC)`, where :math:`\pi` is the share of events, and it is never negative, since
    labels tie with half of the others at least ("tau_a" is then between -1/2 and 1/2). (The paper's number of a sample
    divides by the n (n - 1) pairs of different rows, this one by n^2; so it also holds for weights.) Any strictly
    increasing map of the predictions leaves it unchanged: it says nothing about calibration. A test asks whether the
    predictions rank worse than they would if they were the true chances. O(n log n) once, then O(n); on chances
    O(n log n). Two classes; any weights. (Kendall 1938 for the statistic.)

    Parameters
    ----------
    ties : {"ignore", "tau_a", "strict"}
        "ignore": ties count as pairs in the right order, so that merging cells is not punished. "tau_a": they count one
        half, which makes it the mean of sign times sign. "strict": rows with equal predictions and different chances
        count as pairs in the wrong order.

    Raises
    ------
    ValueError
        If `ties` is another word.

    Examples
    --------
    >>> import calibstat as cs
    >>> cs.KendallTau()(cs.Sample([0, 1, 0, 1], [0.1, 0.4, 0.6, 0.8]))
    0.75
    >>> world = cs.generators.FinitePredictions([0.1, 0.9, 0.3, 0.4], [0.8, 0.8, 0.3, 0.4])
    >>> float(world.truth(cs.KendallTau()))
    0.5
    """

    ties: Ties = "ignore"
    quantity: ClassVar[str] = "Kendall's tau of predictions and outcomes (1: no pair of rows in the wrong order)"
    bounds = between(-1.0, 1.0)
    two_outcomes: ClassVar[bool] = True
    unconditional: ClassVar[bool] = True
    finite_range: ClassVar[bool] = True
    compares_labels: ClassVar[bool] = True
    extreme: ClassVar[Extreme] = "small"

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Sort by the prediction, whatever is conditioned on."""
        two_classes(self, predictions)
        return _TauEvaluator(self.ties, predictions)


class _TauEvaluator(Evaluator):
    def __init__(self, ties: Ties, predictions: Predictions) -> None:
        self.ties = ties
        self.predictions = predictions
        self.order = increasing_order(predictions.event)
        self.starts = first_of_ties(predictions.event[self.order])

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        shape = leading_shape(outcomes, weights)
        mass = np.broadcast_to(all_weights(self.predictions, weights), (*shape, len(self.order)))
        if not len(self.order):
            return np.full(shape, np.nan)
        if weights is None and self.predictions.weights is None and not is_chances(outcomes):
            return self._tau(self._of_rows(outcomes) / len(self.order) ** 2)
        counts = self._of_chances if is_chances(outcomes) else self._of_labels
        total = np.asarray(mass.sum(axis=-1))
        return self._tau(ratio(counts(outcomes, mass), total[..., None] ** 2, empty=np.nan))

    def _tau(self, shares: Floats) -> Floats:
        """Combine shares (..., 3) of pairs in the right order, in the wrong one, and tied in the prediction alone."""
        right, wrong, tied = np.moveaxis(shares, -1, 0)
        if self.ties == "tau_a":
            return np.asarray(2 * (right - wrong))
        return np.asarray(1 - 4 * (wrong + tied if self.ties == "strict" else wrong))

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(expansion=self._expand)

    def _expand(self, labels: Array) -> Expansion:
        """Expand by the share of rows that each row forms pairs with, of each kind."""
        event, mass, value = happened(labels), all_weights(self.predictions, None), float(self(labels))
        block = np.empty(len(event), dtype=np.intp)
        block[self.order] = np.repeat(np.arange(len(self.starts)), np.diff(self.starts, append=len(event)))
        weights = (np.take(mass * each, self.order) for each in (event, 1 - event))
        ones, zeros = (np.add.reduceat(each, self.starts)[:, None] for each in weights)
        below, above = ([np.cumsum(of[::step], axis=0)[::step] - of for of in (ones, zeros)] for step in (1, -1))
        as_event, as_other = (
            (self._tau(np.hstack(kinds) / mass.sum()) - self._tau(np.zeros(3)))[block]
            for kinds in ((below[1], above[1], zeros), (above[0], below[0], ones))
        )
        share, constant = mass / mass.sum(), self._tau(np.zeros(3))
        influence = share * (np.where(event == 1, as_event, as_other) - 2 * (value - constant))
        if not above_rounding(np.abs(influence), share).any():  # no pair in the wrong order: rows show no noise
            influence = np.full(len(influence), np.nan)
        return Expansion.known(value, influence, (share * (as_event - as_other))[:, None])

    def _of_rows(self, labels: Array) -> Floats:
        """Count pairs of labels (..., n) without weights, (..., 3), by the ranks of the events."""
        n = len(self.order)
        if len(self.starts) == n:  # without ties rows need not be put in order
            events, below = np.asarray(labels.sum(axis=-1), dtype=float), np.empty(n)
            below[self.order] = np.arange(n)
            right = labels.astype(float) @ below - events * (events - 1) / 2
            return np.stack([right, events * (n - events) - right, np.zeros_like(right)], axis=-1)
        ones = _sums(np.take(labels, self.order, axis=-1).astype(float), self.starts)
        ties = np.diff(self.starts, append=n).astype(float)
        all_ones, squares = ones.sum(axis=-1), (ones**2).sum(axis=-1)
        right = ones @ (np.cumsum(ties) - ties) - (all_ones**2 - squares) / 2
        tied = ones @ ties - squares
        return np.stack([right, all_ones * (n - all_ones) - right - tied, tied], axis=-1)

    def _of_labels(self, labels: Array, mass: Floats) -> Floats:
        """Count pairs of labels (..., n): the masses (..., 3) of pairs in the right order, in the wrong one, tied."""
        placed, masses = (np.take(each, self.order, axis=-1) for each in (labels, mass))
        return _pairs_of_two(placed, masses, self.starts, np.zeros(1, dtype=np.intp))

    def _of_chances(self, chances: Array, mass: Floats) -> Floats:
        """Count pairs of chances (..., n, 2), one replicate after the other."""
        events = np.broadcast_to(chances[..., 1], mass.shape).reshape(prod(mass.shape[:-1]), mass.shape[-1])
        pairs = [self._of_ranks(*each) for each in zip(events, mass.reshape(events.shape), strict=True)]
        return np.array(pairs).reshape(*mass.shape[:-1], 3)

    def _of_ranks(self, chances: Floats, mass: Floats) -> Floats:
        """Count pairs of different chances (n,): those whose ranks first differ in a bit, for one bit after another."""
        codes, block = _ranks(chances)[self.order], np.zeros(len(mass), dtype=np.intp)
        block[self.starts[1:]] = 1
        block, mass, counts = block.cumsum(), mass[self.order], np.zeros(3)
        for bit in range(int(codes.max()).bit_length()):
            group = codes >> (bit + 1)
            order = order_of_bytes(group)
            new = np.append(True, np.diff(group[order]) != 0)
            starts = np.flatnonzero(new | np.append(True, np.diff(block[order]) != 0))
            groups = np.flatnonzero(new[starts])
            counts += _pairs_of_two((codes[order] >> bit) & 1, mass[order], starts, groups)
        return counts


def _ranks(values: Floats) -> Array:
    """Number the distinct values (n,) from small to large."""
    order = increasing_order(values)
    starts = first_of_ties(values[order])
    ranks = np.empty(len(values), dtype=np.uint32)
    ranks[order] = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(values)))
    return ranks


def _sums(values: Floats, starts: Ints) -> Floats:
    """Sum values (..., n) over runs of rows, which begin at `starts`."""
    return values if len(starts) == values.shape[-1] else np.add.reduceat(values, starts, axis=-1)


def _pairs_of_two(bits: Array, mass: Floats, starts: Ints, groups: Ints) -> Floats:
    """Return the masses (..., 3) of pairs of a zero and a one among rows in order of predictions.

    Rows with equal predictions are runs that begin at `starts`; pairs are counted within groups of runs, which begin at
    the runs `groups`. First come pairs in which the one has the larger prediction, then the smaller one, then ties.
    """
    ones, zeros = (_sums(mass * each, starts) for each in (bits, 1 - bits))
    lengths = np.diff(groups, append=len(starts))

    def below(values: Floats) -> Floats:
        sums = np.zeros_like(values)  # sums of the same runs are the same floats, so that no pairs count as exactly 0
        np.cumsum(values[..., :-1], axis=-1, out=sums[..., 1:])
        return sums - np.repeat(np.take(sums, groups, axis=-1), lengths, axis=-1)

    pairs = (ones * below(zeros), zeros * below(ones), ones * zeros)
    return np.stack([each.sum(axis=-1) for each in pairs], axis=-1)
