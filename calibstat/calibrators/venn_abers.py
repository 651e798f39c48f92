"""Venn-Abers calibration."""

from __future__ import annotations

from typing import Any, ClassVar, final

import numpy as np
from sklearn.utils.validation import check_is_fitted

from calibstat.arrays import Floats, Ints
from calibstat.calibrators.base import Calibrator, both
from calibstat.calibrators.pooling import pool_ties


@final
class VennAbers(Calibrator):
    """Two isotonic fits for each prediction, with it labelled 0 and labelled 1 (Vovk et al. 2015, inductive).

    The one probability of ``predict_proba`` is p1 / (1 - p0 + p1), least regret under log loss; `interval` tells both.
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
        """Return p0 and p1, (n,) each, of probabilities X."""
        check_is_fitted(self)
        return self._both(self._split(np.asarray(self._as_table(X), dtype=np.float64))[0][:, 1])

    def _both(self, event: Floats) -> tuple[Floats, Floats]:
        # Between two scores a 1 behaves as at the next one, a 0 as at the one before.
        lower = np.append(0.0, self.lower_)[np.searchsorted(self.scores_, event, side="right")]
        upper = np.append(self.upper_, 1.0)[np.searchsorted(self.scores_, event, side="left")]
        return lower, upper

    def _calibrate(self, probabilities: Floats, _: Floats) -> Floats:
        lower, upper = self._both(probabilities[:, 1])
        return both(upper / (1 - lower + upper))


def with_one_more(mass: Floats, events: Floats) -> Floats:
    """(m,) the isotonic fit at each score if one more event happened there (Vovk et al. 2015, Algorithms 1 and 2).

    The additional row starts in front and changes places with one score after the other, while a stack holds the lower
    convex hull of what lies to its right.
    """
    x = np.concatenate([[-1.0, 0.0], np.cumsum(mass)]).tolist()
    y = np.concatenate([[-1.0, 0.0], np.cumsum(events)]).tolist()
    hull: list[tuple[float, float]] = []
    for point in zip(reversed(x), reversed(y), strict=True):
        _push(hull, point)
    fitted = np.empty(len(mass))
    for i in range(len(mass)):
        (x0, y0), (x1, y1) = hull[-1], hull[-2]
        fitted[i] = (y1 - y0) / (x1 - x0)
        x[i + 1], y[i + 1] = x[i] + x[i + 2] - x[i + 1], y[i] + y[i + 2] - y[i + 1]
        moved = (x[i + 1], y[i + 1])
        if _turn(hull[-1], moved, hull[-2]) > 0:  # below the hull's first edge
            hull.pop()
            _push(hull, moved)
    return np.clip(fitted, 0.0, 1.0)


def _push(hull: list[tuple[float, float]], point: tuple[float, float]) -> None:
    """Put a point to the left of all others on top, and take away what it hides."""
    while len(hull) > 1 and _turn(point, hull[-1], hull[-2]) <= 0:
        hull.pop()
    hull.append(point)


def _turn(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> float:
    """Return a positive number if the way from a by b to c turns left."""
    return (b[0] - a[0]) * (c[1] - b[1]) - (b[1] - a[1]) * (c[0] - b[0])
