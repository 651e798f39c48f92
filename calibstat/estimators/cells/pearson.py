"""Pearson's chi-square distance as a calibration error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from calibstat.arrays import Array, Floats
from calibstat.binnings.base import Binning
from calibstat.binnings.equal_mass import EqualMass
from calibstat.binnings.unique import UniqueValues
from calibstat.estimators.base import ResidualForm
from calibstat.estimators.binned import CellwiseEstimator
from calibstat.estimators.tally import Tally, full_vector

# The square of 1e-12.
_ROUNDING = 1e-24


@final
@dataclass(frozen=True)
class PearsonCE(CellwiseEstimator):
    r"""Pearson's chi-square distance (1900) of mean outcomes in cells from mean predictions, plug-in and binned.

    .. math:: \sum_b \frac{n_b}{n} \sum_k \frac{(\bar y_{bk} - \bar p_{bk})^2}{\bar p_{bk}}, \quad\text{for two
              classes}\quad \sum_b \frac{n_b}{n} \frac{(\bar y_b - \bar p_b)^2}{\bar p_b (1 - \bar p_b)}

    For two classes n times this is the `HosmerLemeshow` statistic. Dimensionless; biased upward by about L (K - 1) / n
    with L cells. Errors at predictions near 0 or 1 dominate it; it is infinite where a class was seen in a cell whose
    predictions all say 0. O(n) after cutting.

    Parameters
    ----------
    binning : Binning

    Examples
    --------
    >>> import calibstat as cs
    >>> p = [0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95]
    >>> round(cs.PearsonCE(cs.EqualWidth(5))(cs.Sample([0, 0, 1, 0, 1, 1, 0, 1, 1, 1], p)), 6)
    0.320635
    """

    binning: Binning = EqualMass(10)
    quantity: ClassVar[str] = "chi-square distance of cell means (plug-in, binned)"

    @property
    def estimand(self) -> PearsonCE:
        """The unbinned chi-square distance."""
        return PearsonCE(UniqueValues())

    @property
    def residual_form(self) -> ResidualForm:
        """A quadratic function of outcome - prediction."""
        return "function"

    def terms(self, tally: Tally) -> Floats:
        """Divide squared gaps by mean predictions, and weigh them by the shares of cells."""
        expected = full_vector(tally.mean_prediction)
        gaps = (full_vector(tally.mean_outcome) - expected) ** 2
        return tally.share * in_units_of(gaps, expected).sum(axis=-1)


def in_units_of(squares: Floats, variances: Floats, largest: Array | float = 1.0) -> Floats:
    """Divide squared gaps by variances. Without a variance there is no gap: else the impossible happened, infinity.

    Parameters
    ----------
    squares, variances : arrays of floats
    largest : array of floats, or float
        The largest possible squared gaps: 1e-24 of them is what rounding leaves of none.
    """
    uncertain = variances > 0
    impossible = np.where(squares > _ROUNDING * largest, np.inf, 0.0)
    return np.where(uncertain, squares / np.where(uncertain, variances, 1.0), impossible)
