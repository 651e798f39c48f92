"""Distances between a predicted and an observed law."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import numpy as np

from calibstat.arrays import Floats


class Distance(ABC):
    """A distance between probability vectors."""

    @abstractmethod
    def __call__(self, first: Floats, second: Floats) -> Floats:
        """Return the distance of vectors on the last axis: (..., K), (..., K) -> (...,)."""


@final
@dataclass(frozen=True)
class TotalVariation(Distance):
    """Half the sum of absolute differences; for two classes |p - q|."""

    def __call__(self, first: Floats, second: Floats) -> Floats:
        """Return 0.5 * sum_k |first_k - second_k|."""
        return 0.5 * np.abs(first - second).sum(axis=-1)


@final
@dataclass(frozen=True)
class SquaredEuclidean(Distance):
    """Sum of squared differences; for two classes 2 (p - q)^2."""

    def __call__(self, first: Floats, second: Floats) -> Floats:
        """Return sum_k (first_k - second_k)^2."""
        return ((first - second) ** 2).sum(axis=-1)


@final
@dataclass(frozen=True)
class Lp(Distance):
    """The p-norm of the difference, p >= 1; ``numpy.inf`` is the maximum norm. For two classes 2^(1/p) |p - q|."""

    p: float

    def __post_init__(self) -> None:
        if not self.p >= 1:
            raise ValueError(f"p is {self.p!r}, but a norm needs p >= 1 (numpy.inf for the maximum).")

    def __call__(self, first: Floats, second: Floats) -> Floats:
        """Return (sum_k |first_k - second_k|^p)^(1/p)."""
        return np.linalg.norm(first - second, ord=self.p, axis=-1)
