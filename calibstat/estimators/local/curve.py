"""What local regression gives: a curve with its band."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
from scipy.special import stdtrit

from calibstat.arrays import Floats
from calibstat.estimators.local.cells import Smooth
from calibstat.estimators.local.fits import LocalOperator, error_scales, nearest_widths

if TYPE_CHECKING:
    from calibstat.estimators.local.cells import Pooled


@final
@dataclass(frozen=True, eq=False)
class LocalCurve:
    """Smoothed outcome and prediction along x; ``float`` gives the largest absolute difference.

    Parameters
    ----------
    x : (G,) floats
        Score or variable.
    prediction, outcome : (G,) floats
        The smooth of each.
    deviation : (G,) floats
        Outcome minus prediction.
    standard_error : (G,) floats
        Of the smoothed outcome.
    low, high : (G,) floats
        Pointwise 95 % band of the smoothed outcome.
    degrees_of_freedom : float
    """

    x: Floats
    prediction: Floats
    outcome: Floats
    deviation: Floats
    standard_error: Floats
    low: Floats
    high: Floats
    degrees_of_freedom: float

    @classmethod
    def of(cls, x: Floats, prediction: Floats, deviation: Floats, error: Floats, freedom: float) -> LocalCurve:
        """Add the band to a curve."""
        outcome = prediction + deviation
        reach = stdtrit(freedom, 0.975) * error
        return cls(x, prediction, outcome, deviation, error, outcome - reach, outcome + reach, freedom)

    @property
    def maximum(self) -> float:
        """The largest absolute difference of outcome and prediction."""
        return float(np.abs(self.deviation).max())

    @property
    def location(self) -> float:
        """The x at which it is."""
        return float(self.x[np.abs(self.deviation).argmax()])

    def __float__(self) -> float:
        return self.maximum

    def __repr__(self) -> str:
        return f"LocalCurve(maximum={self.maximum:.4g} at x={self.location:.4g}, {len(self.x)} points)"


def band(cells: Pooled, smooth: Smooth, n: float, mean_square: float) -> tuple[float, float]:
    """Return the residual standard error and its degrees of freedom (NaN where no residual is left).

    Parameters
    ----------
    cells : Pooled
        At most about a thousand.
    smooth : LOESS
    n : float
        Number of rows, or what weights make of it.
    mean_square : float
        Mean squared residual.
    """
    mass = cells.mass * (n / cells.mass.sum())
    widths = nearest_widths(cells.centres, cells.centres, mass, smooth.span, cells.n)
    rows = LocalOperator(cells.centres, cells.centres, widths, smooth.degree).matrix(mass)
    first, second = error_scales(rows, mass)
    if first < 1e-9 * n or second <= 0:
        return np.nan, np.nan
    return float(np.sqrt(mean_square * n / first)), first**2 / second
