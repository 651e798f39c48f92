"""Expected and maximum miscalibration: how far cell means of outcomes lie from cell means of predictions."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import ClassVar, Literal, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat.binnings.base import Binning
from calibstat.binnings.intervals import EqualMass
from calibstat.data.arrays import Floats
from calibstat.data.parameters import HasParameters, Norm
from calibstat.estimators.base import Bounds, Estimator, ResidualForm, between
from calibstat.estimators.squared import ECE
from calibstat.estimators.tally import CellwiseEstimator, Tally, full_vector
from calibstat.lenses.restrict import Given


class Distance(HasParameters, ABC):
    """A distance between probability vectors; `norm` says whether it is a norm of their difference."""

    in_messages: ClassVar[str] = "a distance, such as TotalVariation()"

    norm: ClassVar[bool] = False

    @property
    def largest(self) -> float:
        """The largest possible distance of two probability vectors."""
        return math.inf

    @abstractmethod
    def __call__(self, first: Floats, second: Floats) -> Floats:
        """Return the distance of vectors on the last axis: (..., K), (..., K) -> (...,)."""


@final
@dataclass(frozen=True)
class TotalVariation(Distance):
    """Half the sum of absolute differences; for two classes ``|p - q|``.

    Examples
    --------
    >>> import numpy as np
    >>> import calibstat as cs
    >>> round(float(cs.TotalVariation()(np.array([0.2, 0.8]), np.array([0.5, 0.5]))), 6)
    0.3
    """

    norm: ClassVar[bool] = True

    @property
    def largest(self) -> float:
        """One: two laws cannot be further apart."""
        return 1.0

    def __call__(self, first: Floats, second: Floats) -> Floats:
        """Return 0.5 * sum_k |first_k - second_k|."""
        return 0.5 * np.abs(first - second).sum(axis=-1)


@final
@dataclass(frozen=True)
class SquaredEuclidean(Distance):
    """Sum of squared differences; for two classes 2 (p - q)^2.

    Examples
    --------
    >>> import numpy as np
    >>> import calibstat as cs
    >>> round(float(cs.SquaredEuclidean()(np.array([0.2, 0.8]), np.array([0.5, 0.5]))), 6)
    0.18
    """

    @property
    def largest(self) -> float:
        """Two: the distance of opposite corners of the simplex."""
        return 2.0

    def __call__(self, first: Floats, second: Floats) -> Floats:
        """Return sum_k (first_k - second_k)^2."""
        return ((first - second) ** 2).sum(axis=-1)


@final
@dataclass(frozen=True)
class Lp(Distance):
    """The p-norm of the difference; for two classes ``2^(1/p) |p - q|``.

    Parameters
    ----------
    p : float
        1 <= p <= 50; ``numpy.inf`` is the maximum norm.

    Raises
    ------
    ValueError
        If `p` is none of these.

    Examples
    --------
    >>> import numpy as np
    >>> import calibstat as cs
    >>> round(float(cs.Lp(2)(np.array([0.2, 0.8]), np.array([0.5, 0.5]))), 6)
    0.424264
    """

    p: Norm
    norm: ClassVar[bool] = True

    @property
    def largest(self) -> float:
        """The distance of opposite corners of the simplex."""
        return 2.0 ** (1 / self.p)

    def __call__(self, first: Floats, second: Floats) -> Floats:
        """Return (sum_k |first_k - second_k|^p)^(1/p)."""
        return np.linalg.norm(first - second, ord=self.p, axis=-1)


class _Miscalibration(CellwiseEstimator):
    """Distances of mean outcomes from mean predictions in cells; any function of two laws can be the distance."""

    distance: Distance

    @property
    def bounds(self) -> Bounds:  # type: ignore[override]
        """Zero and the largest distance; of any other function nothing is known."""
        return between(0.0, self.distance.largest) if isinstance(self.distance, Distance) else between()

    @property
    def residual_form(self) -> ResidualForm:  # type: ignore[override]
        """A seminorm if the distance is a norm."""
        return "seminorm" if isinstance(self.distance, Distance) and self.distance.norm else "none"


@final
@dataclass(frozen=True)
class ExpectedMiscalibration(_Miscalibration):
    r"""Expected miscalibration, binned (Vaicenavicius et al. 2019, eq. 6).

    .. math:: \hat\eta_d = \sum_b \frac{n_b}{n}\, d(\bar y_b, \bar p_b)

    with the vectors of mean outcomes and mean predictions in each cell, always over all classes (so that
    `SquaredEuclidean` is twice the squared event difference for two classes). For large n it estimates the unbinned
    :math:`E\, d(P(Y = \cdot \mid p), p)` from below (their Theorem 2); for small n it is biased upward, and under
    calibration it is positive: show it beside its null mean. It is blind to errors that cancel inside a cell.
    O(n K) after cutting.

    Parameters
    ----------
    binning : Binning
    distance : Distance
        A distance of two laws, or any function of two laws; its units are those of the value.

    Raises
    ------
    TypeError
        If `distance` cannot be called.

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    >>> round(cs.ExpectedMiscalibration(cs.FixedEdges([0, 0.5, 1]))(sample), 6)
    0.25
    """

    binning: Binning
    distance: Distance = TotalVariation()
    quantity: ClassVar[str] = "average calibration error (all classes, in cells)"

    def terms(self, tally: Tally) -> Floats:
        """Weigh the distances of cells by their shares."""
        return tally.share * _distances(tally, self.distance)


@final
@dataclass(frozen=True)
class MaximumMiscalibration(_Miscalibration):
    r"""Worst-case miscalibration over the non-empty cells, binned (Vaicenavicius et al. 2019, Section 3.3).

    .. math:: \max_b\, d(\bar y_b, \bar p_b)

    Small cells dominate it: with one row in a cell it is close to one whatever the model. Show it beside its null mean.
    O(n K) after cutting.

    Parameters
    ----------
    binning : Binning
    distance : Distance
        A distance of two laws, or any function of two laws; its units are those of the value.

    Raises
    ------
    TypeError
        If `distance` cannot be called.

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    >>> round(cs.MaximumMiscalibration(cs.FixedEdges([0, 0.5, 1]))(sample), 6)
    0.3
    """

    binning: Binning
    distance: Distance = TotalVariation()
    combine: ClassVar[Literal["sum", "max"]] = "max"
    quantity: ClassVar[str] = "largest calibration error of a cell (all classes)"

    def terms(self, tally: Tally) -> Floats:
        """Return the distances, 0 in empty cells."""
        return np.where(tally.weight > 0, _distances(tally, self.distance), 0.0)


def _distances(tally: Tally, distance: Distance) -> Floats:
    return distance(full_vector(tally.mean_outcome), full_vector(tally.mean_prediction))


def VECE(variable: str, binning: Binning = EqualMass(10)) -> Estimator:  # noqa: N802 (an estimator's name)
    """Variable-based expected calibration error (Kelly & Smyth 2023): ``Given(variable) | ECE(binning)``.

    The mean absolute difference between mean outcome and mean prediction over cells of a variable. It holds no lens
    for the outcome: the authors' measure is ``TopLabel() | VECE("age")``.

    Parameters
    ----------
    variable : str
        The name of a variable of the sample.
    binning : Binning
        How to cut the variable; `Categories` for a categorical one.

    Returns
    -------
    Estimator

    Examples
    --------
    >>> import calibstat as cs
    >>> cs.TopLabel() | cs.VECE("age")
    TopLabel() | Given('age') | ECE(binning=EqualMass(n_bins=10))
    """
    return Given(variable) | ECE(binning)
