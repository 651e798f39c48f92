"""Calibration functions for whole predictions: (m, K) announced rows to (m, K) chances."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeAlias, final

import numpy as np
from scipy import special

from calibstat._dataclass import dataclass
from calibstat.data.arrays import Floats
from calibstat.data.parameters import HasParameters, Positive, Proportion, keep, numbers
from calibstat.data.rounding import SAME
from calibstat.generators.recalibrations import Identity


class SimplexMap(HasParameters, ABC):
    """A calibration function for whole predictions."""

    in_messages: ClassVar[str] = "a map of rows, such as TemperatureShift(2)"

    @abstractmethod
    def __call__(self, rows: Floats) -> Floats:
        """Return the chances (m, K) where the rows (m, K) are announced."""

    @property
    def linear(self) -> bool:
        """Whether chances are a linear function of predictions, so that groups of classes can be looked at alone."""
        return False

    @property
    def first(self) -> int:
        """The class along whose probability the map may jump."""
        return 0

    @property
    def jumps(self) -> tuple[float, ...]:
        """Where, in the probability of `first`, the map jumps."""
        return ()

    def within(self, alpha: tuple[float, ...]) -> SimplexMap:  # noqa: ARG002 (for those that depend on it)
        """Return the map with open parameters filled in from the law Dirichlet(alpha) of predictions."""
        return self


RowMap: TypeAlias = SimplexMap | Identity | Callable[[Floats], Any]


def laws_of(recalibration: RowMap, rows: Floats) -> Floats:
    """Return the chances that a map gives to rows; refuse values of another shape or outside the simplex."""
    laws = np.asarray(recalibration(rows), dtype=float)
    if laws.shape != rows.shape:
        raise ValueError(f"{recalibration!r} maps rows of shape {rows.shape} to {laws.shape}; it must keep the shape.")
    least = laws.min(initial=0.0)
    if not (least >= -SAME and np.abs(np.einsum("ij->i", laws) - 1).max(initial=0.0) <= SAME):
        _refuse_outside_simplex(recalibration, rows, laws)
    return laws if least == 0 else np.maximum(laws, 0.0)


def _refuse_outside_simplex(recalibration: RowMap, rows: Floats, laws: Floats) -> None:
    row = int(np.argmin((laws >= -SAME).all(axis=1) & (np.abs(laws.sum(axis=1) - 1) <= SAME)))
    raise ValueError(
        f"{recalibration!r} leaves the simplex: it maps {rows[row].round(6).tolist()} to "
        f"{laws[row].round(6).tolist()}; chances must be >= 0 and sum to 1."
    )


@final
@dataclass(frozen=True)
class Mixture(SimplexMap):
    r"""r(p) = weight * distribution + (1 - weight) p (Widmann et al. 2019).

    With probability `weight` the label is drawn from a fixed law instead of the prediction.

    Parameters
    ----------
    weight : float
        In [0, 1].
    distribution : (K,) floats
        The fixed law.
    """

    weight: Proportion
    distribution: Sequence[float]

    def __post_init__(self) -> None:
        law = numbers("distribution", self.distribution, (1,))
        if law.ndim != 1 or len(law) < 2 or not (law >= 0).all() or abs(law.sum() - 1) > SAME:
            raise ValueError(f"distribution is {self.distribution!r}, but it must be >= 0 and sum to 1.")
        keep(self, weight=float(self.weight), distribution=tuple(law.tolist()))

    def __call__(self, rows: Floats) -> Floats:
        """Mix predictions with the fixed law."""
        return self.weight * np.array(self.distribution) + (1 - self.weight) * rows

    @property
    def linear(self) -> bool:
        """A mixture is linear in the prediction."""
        return True


@final
@dataclass(frozen=True)
class TemperatureShift(SimplexMap):
    """r(p) proportional to p^(1/T): overconfident for T > 1, underconfident for T < 1.

    Parameters
    ----------
    T : float
        Above zero.
    """

    T: Positive

    def __call__(self, rows: Floats) -> Floats:
        """Divide log-probabilities by T and normalise."""
        return special.softmax(_logs(rows) / self.T, axis=1)


@final
@dataclass(frozen=True)
class MatrixMap(SimplexMap):
    """r(p) = softmax(W log p + b): matrix scaling, with log p of at least -700.

    Parameters
    ----------
    matrix : (K, K) floats
        W.
    intercept : (K,) floats, optional
        b; zero by default.
    """

    matrix: Any
    intercept: Any = None

    def __post_init__(self) -> None:
        weights = numbers("matrix", self.matrix, (2,))
        if weights.ndim != 2 or weights.shape[0] != weights.shape[1] or not np.isfinite(weights).all():
            raise ValueError(f"matrix has shape {weights.shape}; a finite (K, K) matrix is needed.")
        shift = np.zeros(len(weights)) if self.intercept is None else numbers("intercept", self.intercept, (1,))
        if shift.shape != (len(weights),) or not np.isfinite(shift).all():
            raise ValueError(f"intercept has shape {shift.shape}, but the matrix has {len(weights)} rows.")
        keep(self, matrix=tuple(map(tuple, weights.tolist())), intercept=tuple(shift.tolist()))

    def __call__(self, rows: Floats) -> Floats:
        """Map log-probabilities."""
        if rows.shape[1] != len(self.matrix):
            raise ValueError(f"matrix is for {len(self.matrix)} classes, but the predictions have {rows.shape[1]}")
        return special.softmax(_logs(rows) @ np.array(self.matrix).T + np.array(self.intercept), axis=1)


@final
@dataclass(frozen=True)
class PairSwap(SimplexMap):
    """Move d * min(p_1, p_2) from class 2 to class 1 where p_3 is above its median, and back where it is below.

    Single classes are then nearly calibrated, whole predictions are not.

    Parameters
    ----------
    d : float
        In [0, 1].
    median : float, optional
        The border of p_3; by default its median under the law of predictions.
    """

    d: Proportion
    median: float | None = None

    def __call__(self, rows: Floats) -> Floats:
        """Move mass between the first two classes."""
        if self.median is None or rows.shape[1] < 3:
            raise ValueError(f"{self!r} needs at least three classes, and a median: use it in DirichletPredictions.")
        moved = self.d * np.minimum(rows[:, 0], rows[:, 1]) * np.where(rows[:, 2] > self.median, 1, -1)
        laws = rows.copy()
        laws[:, 0] += moved
        laws[:, 1] -= moved
        return laws

    @property
    def first(self) -> int:
        """The third class."""
        return 2

    @property
    def jumps(self) -> tuple[float, ...]:
        """The median."""
        return () if self.median is None else (self.median,)

    def within(self, alpha: tuple[float, ...]) -> SimplexMap:
        """Take the median of p_3 ~ Beta."""
        if self.median is not None or len(alpha) < 3:
            return self
        return PairSwap(self.d, float(special.betaincinv(alpha[2], sum(alpha) - alpha[2], 0.5)))


def _logs(rows: Floats) -> Floats:
    return np.log(np.maximum(rows, 1e-304))
