"""Kernel calibration error: canonical calibration, for any number of classes, without cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, final

import numpy as np

from calibstat.arrays import Floats
from calibstat.checks import at_least_one
from calibstat.estimators.base import Estimator, Evaluator, ResidualForm
from calibstat.estimators.kernels.evaluator import KernelEvaluator
from calibstat.estimators.kernels.features import features, median_distance, on_a_line
from calibstat.estimators.kernels.functions import Kernel, LaplaceKernel, expect_kernel
from calibstat.estimators.kernels.sums import BlockSums, LineSums, PairSums, PanelSums
from calibstat.predictions import Predictions


@final
@dataclass(frozen=True)
class SKCE(Estimator):
    r"""Squared kernel calibration error (Widmann, Lindsten & Zachariah 2019; Widmann et al. 2021).

    .. math:: \widehat{\mathrm{SKCE}} = \frac{1}{n(n-1)} \sum_{i \ne j} k(p_i, p_j) \langle e_i, e_j \rangle,
              \qquad e_i = \mathrm{onehot}(y_i) - p_i

    with k(p, p') = exp(-TV(p, p') / bandwidth), TV half the sum of absolute differences. The vectors are always over
    all classes, so for two classes the value is twice that of the event's residuals. It is unbiased for
    :math:`E[k(p, p') \langle g(p), g(p') \rangle]`, g(p) = P(Y | p) - p, which is zero only under canonical
    calibration; dimensionless, at most 2. Signed: under calibration its mean is zero. What is conditioned on may be a
    variable (``Given("age") | SKCE()``), several columns, or the prediction.

    Given the predictions its variance under calibration is known exactly,
    :math:`2 / (n(n-1))^2 \sum_{i \ne j} k_{ij}^2\, \mathrm{tr}(V_i V_j)` with V the covariance of one label, and the
    test's result shows the standardised value. With weights n (n - 1) becomes :math:`W^2 - \sum w^2`.

    Cost: O(n log n) with the Laplace kernel on one column, O(n^2 K) otherwise, with memory that does not grow with
    n^2 beyond half a gigabyte. Weaknesses: weak against errors that are spread thinly over many classes (K >= 10), for
    which parametric scores such as `VectorScalingScore` do better; its size has no direct meaning for decisions;
    a single bandwidth looks at a single scale.

    Parameters
    ----------
    bandwidth : "median", number > 0, or sequence of numbers
        In units of the kernel's distance. "median" is the median distance of pairs of rows (weights play no part;
        above 1000 rows, of 1000 rows evenly spaced in sorted order). With a sequence the value is a `KernelErrors`
        record and a test is about the largest standardised error; of the biased kind, about the largest error.
    kind : {"unbiased", "biased", "block"}
        "biased" is the V-statistic (i = j included, never negative); "block" averages the unbiased estimator over
        blocks of consecutive rows: O(n), much less powerful, and dependent on the order of the rows.
    kernel : Kernel
    block_size : int
        For "block"; 2 is the authors' linear estimator. A last partial block is left out.
    multiples : sequence of numbers, optional
        Several bandwidths at once as multiples of a single one, for example (1, 0.5, 0.25, 0.1).

    Examples
    --------
    >>> import calibstat as cs
    >>> p = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.2, 0.5, 0.3], [0.6, 0.1, 0.3], [0.05, 0.15, 0.8]]
    >>> sample = cs.Sample([0, 1, 0, 2, 0, 1], p)
    >>> round(cs.SKCE(0.5)(sample), 7)
    -0.0143202
    >>> cs.SKCE([0.5, 0.1])(sample).standardized.round(3)
    array([-0.341, -0.055])
    """

    bandwidth: str | float | Sequence[float] = "median"
    kind: Literal["unbiased", "biased", "block"] = "unbiased"
    kernel: Kernel = field(default_factory=LaplaceKernel)
    block_size: int = 2
    multiples: Sequence[float] | None = None
    quantity: ClassVar[str] = "squared kernel calibration error (all classes)"

    def __post_init__(self) -> None:
        if self.kind not in ("unbiased", "biased", "block"):
            raise ValueError(f"kind is {self.kind!r}; it must be 'unbiased', 'biased' or 'block'.")
        expect_kernel(self.kernel)
        at_least_one("block_size", self.block_size)
        object.__setattr__(self, "bandwidth", _bandwidth(self.bandwidth))
        if self.multiples is not None:
            if isinstance(self.bandwidth, tuple):
                raise ValueError("multiples are of a single bandwidth; give either them or several bandwidths.")
            object.__setattr__(self, "multiples", _positive("multiples", self.multiples))

    @property
    def several(self) -> bool:
        """Whether there are several bandwidths."""
        return isinstance(self.bandwidth, tuple) or self.multiples is not None

    @property
    def estimand(self) -> SKCE:
        """The biased kind: on a population, the squared kernel calibration error itself, or the largest of several."""
        return replace(self, kind="biased")

    @property
    def residual_form(self) -> ResidualForm:
        """A quadratic function of outcome - prediction."""
        return "function"

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Choose bandwidths, and sort or lay out the rows."""
        rows = features(predictions)
        bandwidths = self._bandwidths(predictions, rows)
        sums: PairSums
        if self.kind == "block":
            sums = BlockSums(self.kernel, rows, bandwidths, self.block_size)
        elif self.kernel.along_line and on_a_line(predictions):
            sums = LineSums(predictions.order, predictions.conditioned[:, 0], bandwidths)
        else:
            sums = PanelSums(self.kernel, rows, bandwidths)
        at_zero = float(self.kernel.profile(np.zeros(1))[0])
        return KernelEvaluator(
            predictions.take(sums.rows), sums, bandwidths, at_zero, biased=self.kind == "biased", several=self.several
        )

    def headline(self, values: Floats) -> Floats:
        """Return the value; of several bandwidths the largest standardised one, or of the biased kind the largest."""
        return values[..., 0 if self.kind == "biased" else 1].max(axis=-1) if self.several else values

    def _bandwidths(self, predictions: Predictions, rows: Floats) -> tuple[float, ...]:
        given = self.bandwidth
        if isinstance(given, tuple):
            return given
        one = median_distance(predictions, rows, self.kernel) if isinstance(given, str) else float(given)  # type: ignore[arg-type]
        return tuple(one * float(multiple) for multiple in self.multiples or (1.0,))


def _bandwidth(given: Any) -> str | float | tuple[float, ...]:
    if isinstance(given, str):
        if given != "median":
            raise ValueError(f"bandwidth is {given!r}; it must be 'median', a positive number or several of them.")
        return given
    if np.ndim(given) == 0:
        return _positive("bandwidth", [given])[0]
    return _positive("bandwidth", given)


def _positive(name: str, numbers: Sequence[float]) -> tuple[float, ...]:
    found = tuple(float(number) for number in numbers)
    if not found or not all(0 < number < np.inf for number in found):
        raise ValueError(f"{name} is {found!r}; a positive number is expected.")
    return found
