"""Isotonic calibration."""

from __future__ import annotations

from typing import Any, ClassVar, final

import numpy as np
from scipy.optimize import isotonic_regression
from sklearn.utils.validation import check_is_fitted

from calibstat.calibrators.base import Calibrator, as_column, both
from calibstat.data.arrays import Floats, Ints


class Corners(Calibrator):
    """A non-decreasing map that is linear between its corners; subclasses fit them."""

    binary: ClassVar[bool] = True

    def _calibrate(self, probabilities: Floats, _: Floats) -> Floats:
        return both(_between_corners(probabilities[:, 1], self.scores_, self.values_))


@final
class Isotonic(Corners):
    """Non-decreasing least squares by pooling adjacent violators (Zadrozny and Elkan 2002).

    It is the map of scikit-learn's IsotonicRegression: linear between the scores of the fit, and constant outside.

    Attributes
    ----------
    scores_, values_ : (m,) floats
        Corners of the map.
    """

    def _fit(self, probabilities: Floats, _: Floats, targets: Ints, weights: Floats) -> None:
        scores, mass, events = pool_ties(probabilities[:, 1], targets, weights)
        starts, means = isotonic_blocks(mass, events)
        self.scores_, self.values_ = _corners(scores[starts[:-1]], scores[starts[1:] - 1], means)


@final
class CenteredIsotonic(Corners):
    """Isotonic regression whose flat pieces shrink to their weighted centres (Oron and Flournoy 2017).

    The map is linear between the centres and increases strictly there; pieces at exactly 0 or 1 stay flat.

    Attributes
    ----------
    scores_, values_ : (m,) floats
        Corners of the map.
    """

    def _fit(self, probabilities: Floats, _: Floats, targets: Ints, weights: Floats) -> None:
        scores, mass, events = pool_ties(probabilities[:, 1], targets, weights)
        starts, means = isotonic_blocks(mass, events)
        # Neighbouring blocks never have equal means, but rounding may say so.
        first, last = scores[starts[:-1]], scores[starts[1:] - 1]
        centre = np.add.reduceat(mass * scores, starts[:-1]) / np.add.reduceat(mass, starts[:-1])
        centre = np.clip(centre, first, last)
        sure = (means <= 0) | (means >= 1)
        self.scores_, self.values_ = _corners(np.where(sure, first, centre), np.where(sure, last, centre), means)


def _corners(low: Floats, high: Floats, means: Floats) -> tuple[Floats, Floats]:
    """Return the corners of flat pieces: both ends of each, which are equal for a single score, and its mean."""
    ends = np.column_stack([low, high]).ravel()
    kept = np.concatenate([[True], np.diff(ends) > 0])
    return ends[kept], np.repeat(np.clip(means, 0, 1), 2)[kept]


def _between_corners(points: Floats, scores: Floats, values: Floats) -> Floats:
    """Interpolate an increasing map; between corners so close that the slope overflows, stay between their values."""
    above = np.minimum(np.searchsorted(scores, points), len(scores) - 1)
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.interp(points, scores, values)
    return np.clip(found, values[np.maximum(above - 1, 0)], values[above])


def pool_ties(scores: Floats, targets: Ints, weights: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the distinct scores in increasing order, and the weight and the weight of events of each."""
    order = np.argsort(scores)
    ordered, mass = scores[order], weights[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    return ordered[starts], np.add.reduceat(mass, starts), np.add.reduceat(mass * targets[order], starts)


def isotonic_blocks(mass: Floats, events: Floats) -> tuple[Ints, Floats]:
    """Return where each block of pooled neighbours starts, one past the last, and the mean of each block."""
    pooled = isotonic_regression(events / mass, weights=mass)
    starts = np.asarray(pooled.blocks, dtype=np.intp)
    return starts, pooled.x[starts[:-1]]


@final
class VennAbers(Calibrator):
    """Two isotonic fits for each prediction: with it labelled 0, and labelled 1 (Vovk et al. 2015, inductive).

    ``predict_proba`` returns p1 / (1 - p0 + p1), which has the least regret under log loss; `interval` returns both.
    The added row has weight one.

    Attributes
    ----------
    scores_ : (m,) floats
        The distinct scores of the fit.
    lower_, upper_ : (m,) floats
        p0 and p1 at these scores.
    """

    binary: ClassVar[bool] = True

    def _fit(self, probabilities: Floats, _: Floats, targets: Ints, weights: Floats) -> None:
        self.scores_, mass, events = pool_ties(probabilities[:, 1], targets, weights)
        self.upper_ = with_one_more(mass, events)
        self.lower_ = 1 - with_one_more(mass[::-1], (mass - events)[::-1])[::-1]

    def interval(self, X: Any) -> tuple[Floats, Floats]:
        """Return p0 and p1, (n,) each, for probabilities X."""
        check_is_fitted(self)
        return self._both(self._split(np.asarray(as_column(X), dtype=np.float64))[0][:, 1])

    def _both(self, event: Floats) -> tuple[Floats, Floats]:
        # Between two scores, a row labelled 1 counts as one at the next score, and a 0 as one at the previous score.
        lower = np.append(0.0, self.lower_)[np.searchsorted(self.scores_, event, side="right")]
        upper = np.append(self.upper_, 1.0)[np.searchsorted(self.scores_, event, side="left")]
        return lower, upper

    def _calibrate(self, probabilities: Floats, _: Floats) -> Floats:
        lower, upper = self._both(probabilities[:, 1])
        return both(upper / (1 - lower + upper))


def with_one_more(mass: Floats, events: Floats) -> Floats:
    """Return the isotonic fit (m,) at each score with one more event there (Vovk et al. 2015, Algorithms 1 and 2).

    The added row begins in front of all scores and moves past one after the other, while a stack holds the lower convex
    hull of the points to its right.
    """
    x = np.concatenate([[-1.0, 0.0], np.cumsum(mass)]).tolist()
    y = np.concatenate([[-1.0, 0.0], np.cumsum(events)]).tolist()
    hull: list[tuple[float, float]] = []
    for point in zip(reversed(x), reversed(y), strict=True):
        _push(hull, point)
    fitted = np.zeros(len(mass))
    for i in range(len(mass)):
        (x0, y0), (x1, y1) = hull[-1], hull[-2]
        # Rounding may leave a row without weight among the others.
        fitted[i] = (y1 - y0) / (x1 - x0) if x1 > x0 else fitted[max(i - 1, 0)]
        x[i + 1], y[i + 1] = x[i] + x[i + 2] - x[i + 1], y[i] + y[i + 2] - y[i + 1]
        moved = (x[i + 1], y[i + 1])
        if _turn(hull[-1], moved, hull[-2]) > 0:  # below the hull's first edge
            hull.pop()
            _push(hull, moved)
    return np.clip(fitted, 0.0, 1.0)


def _push(hull: list[tuple[float, float]], point: tuple[float, float]) -> None:
    """Push a point that lies to the left of all others, and remove the points that it hides."""
    while len(hull) > 1 and _turn(point, hull[-1], hull[-2]) <= 0:
        hull.pop()
    hull.append(point)


def _turn(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> float:
    """Return a positive number if the path from a over b to c turns left."""
    return (b[0] - a[0]) * (c[1] - b[1]) - (b[1] - a[1]) * (c[0] - b[0])
