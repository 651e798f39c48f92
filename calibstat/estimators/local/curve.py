"""What local regression gives: a curve with its band."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
from scipy.special import ndtri, stdtrit

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
        Of the smoothed outcome; of a null band, that of a calibrated model with these predictions.
    low, high : (G,) floats
        Pointwise 95 % band of the smoothed outcome; of a null band, where 95 % of calibrated models have theirs.
    degrees_of_freedom : float
        Infinite for a null band.
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

    @classmethod
    def of_null(cls, x: Floats, prediction: Floats, deviation: Floats, error: Floats) -> LocalCurve:
        """Add the band of calibrated models to a curve."""
        reach = ndtri(0.975) * error
        return cls(
            x, prediction, prediction + deviation, deviation, error, prediction - reach, prediction + reach, np.inf
        )

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


def band(
    cells: Pooled, smooth: Smooth, n: float, mean_square: float, rows: Floats | None = None
) -> tuple[float, float]:
    """Return the residual standard error and its degrees of freedom (NaN where no residual is left).

    Parameters
    ----------
    cells : Pooled
        At most some hundreds.
    smooth : LOESS
    n : float
        Number of rows, or what weights make of it.
    mean_square : float
        Mean squared residual.
    rows : (C, C) floats, optional
        The fit at the centres, `LocalOperator.matrix` of their masses, where it is known already.
    """
    factor = n / cells.mass.sum()
    mass = cells.mass * factor
    if rows is None:
        widths = nearest_widths(cells.centres, cells.centres, mass, smooth.span, cells.n)
        rows = LocalOperator(cells.centres, cells.centres, widths, smooth.degree).matrix(mass)
    else:
        rows = rows / factor
    first, second = error_scales(rows, mass)
    if first < 1e-9 * n or second <= 0:
        return np.nan, np.nan
    return float(np.sqrt(mean_square * n / first)), first**2 / second
