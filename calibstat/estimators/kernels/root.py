"""The kernel calibration error itself: a seminorm of the residuals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, final

import numpy as np

from calibstat.arrays import Array, Floats
from calibstat.estimators.base import Estimator, Evaluator, ResidualForm
from calibstat.estimators.kernels.functions import Kernel, LaplaceKernel
from calibstat.estimators.kernels.skce import SKCE
from calibstat.predictions import Predictions


@final
@dataclass(frozen=True)
class KCE(Estimator):
    r"""Kernel calibration error: the root of the biased `SKCE` (Widmann, Lindsten & Zachariah 2019).

    .. math:: \Big(\frac{1}{n^2} \sum_{i, j} k(p_i, p_j) \langle e_i, e_j \rangle\Big)^{1/2} = \sup_{\lVert f \rVert
              \le 1} \frac1n \sum_i \langle f(p_i), e_i \rangle

    with the supremum over the unit ball of the kernel's function space. For two classes, with the Laplace kernel,
    sqrt(2) times the MMCE of Kumar, Sarawagi & Jain (2018). Dimensionless, at most sqrt(2). Biased upward, by about
    n^(-1/2) under calibration: read it beside its null mean. As a seminorm of the residuals it has intervals that
    hold at zero too, for any number of classes. Cost as `SKCE`: O(n log n)
    with the Laplace kernel on one column, O(n^2 K) otherwise.

    Parameters
    ----------
    bandwidth : "median" or number > 0
    kernel : Kernel

    Examples
    --------
    >>> import calibstat as cs
    >>> p = [0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95]
    >>> round(cs.KCE(0.3)(cs.Sample([0, 0, 1, 0, 1, 1, 0, 1, 1, 1], p)), 6)
    0.136906
    """

    bandwidth: str | float = "median"
    kernel: Kernel = field(default_factory=LaplaceKernel)
    quantity: ClassVar[str] = "kernel calibration error (all classes)"

    def __post_init__(self) -> None:
        if isinstance(self.bandwidth, Sequence) and not isinstance(self.bandwidth, str):
            raise ValueError(f"bandwidth is {self.bandwidth!r}; a single one is expected. SKCE takes several.")
        object.__setattr__(self, "bandwidth", self._squared.bandwidth)

    @property
    def _squared(self) -> SKCE:
        return SKCE(self.bandwidth, "biased", self.kernel)

    @property
    def estimand(self) -> KCE:
        """The kernel calibration error of the population."""
        return self

    @property
    def residual_form(self) -> ResidualForm:
        """A seminorm."""
        return "seminorm"

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Prepare its square."""
        return _RootEvaluator(self._squared.prepare(predictions))


class _RootEvaluator(Evaluator):
    def __init__(self, squared: Evaluator) -> None:
        self.squared = squared
        self.batch_size = squared.batch_size

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        return np.sqrt(np.maximum(self.squared(outcomes, weights), 0.0))
