"""Distances between a predicted and an observed law."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from calibstat.arrays import Floats


def expect_distance(value: object) -> None:
    """Refuse anything that cannot be called with two laws."""
    if not callable(value):
        raise TypeError(f"distance is {value!r}, but a distance is expected: for example TotalVariation() or Lp(2).")


class Distance(ABC):
    """A distance between probability vectors; `norm` says whether it is a norm of their difference."""

    norm: ClassVar[bool] = False

    @abstractmethod
    def __call__(self, first: Floats, second: Floats) -> Floats:
        """Return the distance of vectors on the last axis: (..., K), (..., K) -> (...,)."""


@final
@dataclass(frozen=True)
class TotalVariation(Distance):
    """Half the sum of absolute differences; for two classes |p - q|.

    Examples
    --------
    >>> import numpy as np
    >>> import calibstat as cs
    >>> round(float(cs.TotalVariation()(np.array([0.2, 0.8]), np.array([0.5, 0.5]))), 6)
    0.3
    """

    norm: ClassVar[bool] = True

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

    def __call__(self, first: Floats, second: Floats) -> Floats:
        """Return sum_k (first_k - second_k)^2."""
        return ((first - second) ** 2).sum(axis=-1)


@final
@dataclass(frozen=True)
class Lp(Distance):
    """The p-norm of the difference; for two classes 2^(1/p) |p - q|.

    Parameters
    ----------
    p : float
        p >= 1; ``numpy.inf`` is the maximum norm.

    Examples
    --------
    >>> import numpy as np
    >>> import calibstat as cs
    >>> round(float(cs.Lp(2)(np.array([0.2, 0.8]), np.array([0.5, 0.5]))), 6)
    0.424264
    """

    p: float
    norm: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not self.p >= 1:
            raise ValueError(f"p is {self.p!r}, but a norm needs p >= 1 (numpy.inf for the maximum).")

    def __call__(self, first: Floats, second: Floats) -> Floats:
        """Return (sum_k |first_k - second_k|^p)^(1/p)."""
        return np.linalg.norm(first - second, ord=self.p, axis=-1)
