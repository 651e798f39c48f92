"""Calibrators that give each cell of the predictions a number: mean labels, or mean predictions."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, final

import numpy as np
from scipy.spatial import KDTree
from scipy.special import gammaln, softmax

from calibstat.binnings.base import Binning
from calibstat.binnings.intervals import EqualMass
from calibstat.binnings.values import UniqueValues
from calibstat.calibrators.base import MOST_REPEATED, Calibrator, both, fit_part, part_says, refuse_more_than_two
from calibstat.calibrators.isotonic import pool_ties
from calibstat.calibrators.scaling import Platt
from calibstat.data.arrays import Floats, Ints
from calibstat.data.rounding import ROUNDING, SMALLEST_PROBABILITY
from calibstat.data.sample import Predictions


class CellAverages(Calibrator):
    """A mean in each cell of the predictions; subclasses define what is averaged."""

    binary: ClassVar[bool] = True

    def __init__(self, binning: Binning | None = None) -> None:
        self.binning = binning

    @abstractmethod
    def _averaged(self, event: Floats, targets: Ints) -> Floats:
        """Return the numbers (n,) to average."""

    def _fit(self, probabilities: Floats, _: Floats, targets: Ints, weights: Floats) -> None:
        binning = EqualMass(10) if self.binning is None else self.binning
        cells = binning.cut(_counted(probabilities, weights))
        if cells.edges is None:
            raise ValueError(f"{binning!r} does not cut into intervals: use EqualMass, EqualWidth or FixedEdges")
        self.edges_, self.closed_right_ = cells.edges, cells.moves == "ranks"
        index, size = self._cell(probabilities[:, 1]), len(self.edges_) - 1
        mass = np.bincount(index, weights, minlength=size)
        totals = np.bincount(index, weights * self._averaged(probabilities[:, 1], targets), minlength=size)
        middle = (self.edges_[:-1] + self.edges_[1:]) / 2
        means = np.divide(totals, mass, out=middle, where=mass > 0)
        self.values_ = np.clip(means, 0, 1)  # rounding may move means out of [0, 1]

    def _cell(self, event: Floats) -> Ints:
        """Return the cell of each prediction; predictions outside belong to the end cells."""
        return np.searchsorted(self.edges_[1:-1], event, side="left" if self.closed_right_ else "right")

    def _calibrate(self, probabilities: Floats, _: Floats) -> Floats:
        return both(self.values_[self._cell(probabilities[:, 1])])


def _counted(probabilities: Floats, weights: Floats) -> Predictions:
    """Return the predictions to cut; whole weights, up to 10^7 in all, repeat rows."""
    if (weights == 1).all():
        return Predictions(probabilities, (0, 1))
    if weights.sum() > MOST_REPEATED or (weights % 1).any():
        return Predictions(probabilities, (0, 1), weights)
    return Predictions(probabilities.repeat(weights.astype(np.intp), axis=0), (0, 1))


@final
class HistogramBinning(CellAverages):
    """The share of events in each cell of the predictions (Zadrozny and Elkan 2001).

    Parameters
    ----------
    binning : Binning, optional
        Intervals; by default EqualMass(10). The value of a cell without rows is its middle.

    Attributes
    ----------
    edges_ : (L + 1,) floats
    closed_right_ : bool
    values_ : (L,) floats
        The calibrated probability in each cell.
    """

    def _averaged(self, _: Floats, targets: Ints) -> Floats:
        return targets.astype(np.float64)


@final
class AverageLabels(Calibrator):
    """The mean label of each distinct prediction: average label assignment (Torabian and Urner 2024).

    It suits predictions of few values, such as those of a decision tree, where a cell is all rows of one value. On the
    population it makes the calibration error zero and increases neither the squared nor the 0/1 loss (Theorem 8). A
    prediction that no row of the fit had is kept. Predictions of many values first need a binning; then this is
    `HistogramBinning`.

    Parameters
    ----------
    binning : Binning, optional
        Intervals of the predictions of two classes; by default each distinct prediction, or row of predictions, is a
        cell.

    Attributes
    ----------
    predictions_ : (C, K) floats
        The distinct predictions.
    values_ : (C, K) floats
        The mean labels there.
    cells_ : HistogramBinning
        With a binning, in place of these.
    """

    def __init__(self, binning: Binning | None = None) -> None:
        self.binning = binning

    def _fit(self, probabilities: Floats, _: Floats, targets: Ints, weights: Floats) -> None:
        if self.binning not in (None, UniqueValues()):
            refuse_more_than_two("AverageLabels", targets, probabilities.shape[1])
            self.cells_ = HistogramBinning(self.binning).fit(probabilities, targets, weights)
            return
        size = probabilities.shape[1]
        cells = UniqueValues().cut(Predictions(probabilities, tuple(range(size))))
        sums = np.zeros((cells.size, size))
        np.add.at(sums, (cells.index, targets), weights)
        self.values_ = sums / sums.sum(axis=1, keepdims=True)
        self.predictions_ = np.full((cells.size, size), np.inf)
        np.minimum.at(self.predictions_, cells.index, probabilities)  # of those that are equal up to rounding

    def _calibrate(self, probabilities: Floats, _: Floats) -> Floats:
        if self.binning not in (None, UniqueValues()):
            return self.cells_.predict_proba(probabilities)
        distance, cell = KDTree(self.predictions_).query(probabilities, distance_upper_bound=ROUNDING)
        known, said = np.isfinite(distance), probabilities.copy()
        said[known] = self.values_[cell[known]]
        return said


@final
class Binned(CellAverages):
    """Replace each prediction by the mean prediction of its cell, without labels (Kumar et al. 2019).

    This calibrates nothing, but gives predictions whose calibration error can be estimated. The error is at most that
    of the original predictions, and may be far smaller.

    Parameters
    ----------
    binning : Binning, optional
        Intervals; by default EqualMass(10).

    Attributes
    ----------
    edges_, closed_right_, values_
        As for `HistogramBinning`.
    """

    def _averaged(self, event: Floats, _: Ints) -> Floats:
        return event


@final
class ScalingBinning(Calibrator):
    """A scaling method, followed by the mean of its predictions in each cell (Kumar et al. 2019, Section 4).

    The scaling, the cells and the means are fitted on the same rows, as in the paper's experiments.

    Parameters
    ----------
    calibrator : calibrator, optional
        The scaling, for two classes, which may be one like those of scikit-learn; by default Platt(smoothing=False),
        the authors' choice.
    binning : Binning, optional
        Intervals of the scaled predictions; by default EqualMass(10).

    Attributes
    ----------
    scaling_ : Calibrator
    binned_ : Binned
    """

    binary: ClassVar[bool] = True

    def __init__(self, calibrator: Any = None, binning: Binning | None = None) -> None:
        self.calibrator = calibrator
        self.binning = binning

    def _fit(self, probabilities: Floats, _: Floats, targets: Ints, weights: Floats) -> None:
        scaling = Platt(smoothing=False) if self.calibrator is None else self.calibrator
        self.scaling_ = fit_part(scaling, probabilities, targets, weights)
        self.binned_ = Binned(self.binning).fit(part_says(self.scaling_, probabilities), targets, weights)

    def _calibrate(self, probabilities: Floats, _: Floats) -> Floats:
        return self.binned_.predict_proba(part_says(self.scaling_, probabilities))


@final
class BBQ(Calibrator):
    """An average of histogram binnings, each weighted by how well its cells explain the labels (Naeini et al. 2015).

    There is one model for each number of equal-mass cells from cbrt(n) / 10 to 10 cbrt(n). The probability in each cell
    has a beta prior around the cell's middle; together the priors weigh as much as two rows.

    Attributes
    ----------
    cuts_ : (m - 1,) floats
        The places of the steps of the map.
    values_ : (m,) floats
    """

    binary: ClassVar[bool] = True

    def _fit(self, probabilities: Floats, _: Floats, targets: Ints, weights: Floats) -> None:
        scores, mass, events = pool_ties(probabilities[:, 1], targets, weights)
        cuts = (scores[1:] + scores[:-1]) / 2
        totals = np.stack([np.append(0, np.cumsum(mass)), np.append(0, np.cumsum(events))])
        root = np.cbrt(totals[0, -1])
        most = max(1, int(min(root * 10, len(scores))))  # the paper's C is 10
        sizes = range(max(1, int(min(root / 10, most))), most + 1)
        models = [_model(totals, np.concatenate([[0], cuts, [1]]), size) for size in sizes]
        shares = softmax([model[2] for model in models])
        steps = np.zeros(len(scores))
        for (starts, values, _evidence), share in zip(models, shares, strict=True):
            steps[starts] += share * np.diff(values, prepend=0)
        kept = np.append(True, steps[1:] != 0)
        self.cuts_, self.values_ = cuts[kept[1:]], np.clip(np.cumsum(steps)[kept], 0, 1)

    def _calibrate(self, probabilities: Floats, _: Floats) -> Floats:
        return both(self.values_[np.searchsorted(self.cuts_, probabilities[:, 1])])


def _model(totals: Floats, borders: Floats, size: int) -> tuple[Ints, Floats, float]:
    """Return where each cell starts, the posterior mean in it, and the log marginal likelihood of all labels."""
    levels = np.arange(1, size) / size * totals[0, -1]
    ends = np.searchsorted(totals[0], levels * (1 - 1e-12))
    bounds = np.unique(np.concatenate([[0], ends, [len(borders) - 1]]))
    mass, events = np.diff(totals[:, bounds])
    # The middle of a cell that holds only 0, or only 1, is moved inwards, since no beta prior is centred there.
    middle = np.clip((borders[bounds[:-1]] + borders[bounds[1:]]) / 2, SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY)
    prior = 2 / len(mass)  # the paper's N' is two rows
    alpha, beta = prior * middle, prior * (1 - middle)
    evidence: Floats = gammaln(prior) - gammaln(mass + prior) + gammaln(events + alpha) - gammaln(alpha)
    evidence += gammaln(np.maximum(mass - events, 0) + beta) - gammaln(beta)  # rounding may give less than 0
    return bounds[:-1], (events + alpha) / (mass + prior), float(evidence.sum())
