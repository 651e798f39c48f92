"""Kernel calibration error: canonical calibration, for any number of classes, without cells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._text import counted
from calibstat.data.arrays import Array, Floats
from calibstat.data.parameters import Count, keep
from calibstat.data.rounding import above_rounding
from calibstat.data.sample import Predictions
from calibstat.estimators._kernel_sums import BlockSums, LineSums, PairSums, PanelSums, third_cumulant
from calibstat.estimators.base import (
    NUMBERS_IN_A_BATCH,
    Bounds,
    Capabilities,
    Estimator,
    Evaluator,
    Headline,
    ResidualForm,
    all_weights,
    between,
    in_batches,
    is_chances,
    residual_vectors,
    squared_residuals,
)
from calibstat.estimators.kernels import Kernel, LaplaceKernel, features, median_distance, on_a_line
from calibstat.estimators.large_sample import LargeSampleLaw, pearson_law, saddlepoint_law
from calibstat.estimators.tally import ratio

MEDIAN = "its bandwidth is a median over rows; give a number in its place"


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
    :math:`2 / (n(n-1))^2 \sum_{i \ne j} k_{ij}^2\, \mathrm{tr}(V_i V_j)` with V the covariance of one label, and
    results show the standardised value. With weights n (n - 1) becomes :math:`W^2 - \sum w^2`.

    The distribution-free bounds of p-values by Widmann et al. (2019) are left out, for they have no power: that of the
    unbiased kind, exp(-floor(n / 2) t^2 / 8), is 0.9994 for a value t of 0.001 in 10 000 rows, and 0.94 for 0.01.

    Cost: O(n log n) with the Laplace kernel on one column, O(n^2 K) otherwise, with at most half a gigabyte of memory
    beyond O(n). Weaknesses: weak against errors that are spread thinly over many classes (K >= 10), for which
    parametric scores such as `VectorScalingScore` have more power; the value has no direct meaning for decisions; a
    single bandwidth looks at a single scale.

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
        `LaplaceKernel` or `GaussianKernel`, or a subclass of `Kernel`.
    block_size : int
        For "block"; 2 is the authors' linear estimator. A last partial block is left out.
    multiples : sequence of numbers, optional
        Several bandwidths at once as multiples of a single one, for example (1, 0.5, 0.25, 0.1).

    Raises
    ------
    ValueError, TypeError
        If a parameter is not among those listed, a bandwidth is not positive, or `multiples` are given with several.

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
    block_size: Count = 2
    multiples: Sequence[float] | None = None
    quantity: ClassVar[str] = "squared kernel calibration error (all classes)"
    residual_form: ClassVar[ResidualForm] = "function"
    no_interval: ClassVar[str] = "; its root, KCE(), has one"

    def __post_init__(self) -> None:
        keep(self, bandwidth=_bandwidth(self.bandwidth))
        if self.multiples is not None:
            if isinstance(self.bandwidth, tuple):
                raise ValueError("multiples are of a single bandwidth; give either them or several bandwidths.")
            keep(self, multiples=_positive("multiples", self.multiples))

    @property
    def several(self) -> bool:
        """Whether there are several bandwidths."""
        return isinstance(self.bandwidth, tuple) or self.multiples is not None

    @property
    def noise_power(self) -> float:  # type: ignore[override]
        """The biased kind is the square of a seminorm, or the largest of such squares."""
        return 2.0 if self.kind == "biased" else 1.0

    @property
    def test_statistic(self) -> bool:  # type: ignore[override]
        """Whether the largest of several standardised errors is tested."""
        return self.several and self.kind != "biased"

    @property
    def bounds(self) -> Bounds:  # type: ignore[override]
        """Zero and two, the largest product of residuals; of standardised errors nothing."""
        return between() if self.test_statistic else between(0.0, 2 * self.kernel.at_zero)

    @property
    def takes_counts(self) -> bool:  # type: ignore[override]
        """Whether it can be summed along a line."""
        return self.kind != "block" and self.kernel.along_line

    @property
    def weak(self) -> str:  # type: ignore[override]
        """Say that blocks compare few rows."""
        others = f"{counted(self.block_size - 1, 'other')}"
        few = f"blocks of {self.block_size} rows compare each row with {others} only and find far fewer errors than"
        return f"{few} SKCE(), which compares all rows" if self.kind == "block" else ""

    @property
    def by_rows(self) -> str:  # type: ignore[override]
        """Say where the bandwidth comes from the rows."""
        return MEDIAN if isinstance(self.bandwidth, str) else ""

    @property
    def estimand(self) -> Estimator:
        """The biased kind: on a population, the squared kernel calibration error, or the largest of several."""
        biased = replace(self, kind="biased")
        return Headline(biased) if self.several else biased

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Choose bandwidths, and arrange the rows."""
        rows = features(predictions)
        bandwidths = self._bandwidths(predictions, rows)
        sums: PairSums
        if self.kind == "block":
            sums = BlockSums(self.kernel, rows, bandwidths, self.block_size)
        elif self.kernel.along_line and on_a_line(predictions):
            sums = LineSums(predictions.order, predictions.conditioned[:, 0], bandwidths)
        else:
            sums = PanelSums(self.kernel, rows, bandwidths)
        biased, at_zero = self.kind == "biased", self.kernel.at_zero
        return KernelEvaluator(
            predictions.take(sums.rows), sums, bandwidths, at_zero, biased=biased, several=self.several
        )

    def headline(self, values: Floats) -> Floats:
        """Return the value; for several bandwidths the largest standardised value (biased kind: the largest value)."""
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


@final
@dataclass(frozen=True, eq=False)
class KernelErrors:
    """Squared kernel calibration errors at several bandwidths.

    Parameters
    ----------
    bandwidths : (J,) floats
        In units of the kernel's distance.
    squared : (J,) floats
        The error at each bandwidth.
    standardized : (J,) floats
        (error - its mean under calibration) / its exact conditional standard deviation under calibration.
    headline : float
        The number that is tested: the largest standardised error; for the biased kind, the largest error.
    """

    bandwidths: Floats
    squared: Floats
    standardized: Floats
    headline: float

    def __float__(self) -> float:
        return self.headline


@final
class KernelEvaluator(Evaluator):
    """Evaluates replicates of `SKCE` and its relatives.

    The predictions are those of `sums`, in its order of rows. `at_zero` is the kernel of a row with itself, which
    counts if `biased`; `several` says whether the value is a record of several bandwidths.
    """

    def __init__(
        self,
        predictions: Predictions,
        sums: PairSums,
        bandwidths: tuple[float, ...],
        at_zero: float,
        *,
        biased: bool,
        several: bool,
    ) -> None:
        self.predictions, self.sums = predictions, sums
        self.bandwidths, self.at_zero = bandwidths, at_zero
        self.biased, self.several = biased, several
        self.shape = (len(bandwidths), 2) if several else ()

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        """Evaluate replicates: (...,) errors, or (..., J, 2) errors and standardised errors."""
        numbers = self.sums.numbers if weights is None else NUMBERS_IN_A_BATCH
        return in_batches(self._batch, outcomes, weights, self._width, numbers)

    @property
    def capabilities(self) -> Capabilities:
        """The batch size for which kernel values are shared; moments under calibration of a single unbiased error."""
        numbers = self.sums.numbers // max(1, self._width * len(self.predictions))
        batch_size = max(1, numbers) if self.sums.shared else 1
        if self.several or self.biased:
            return Capabilities(batch_size=batch_size)
        return Capabilities(batch_size=batch_size, large_sample=self._law, standard_deviation=lambda: self.scale)

    @cached_property
    def scale(self) -> float | None:
        """The exact standard deviation under calibration, given the predictions."""
        return float(self._null(self._masses(None))[1][0, 0]) or None

    def _law(self, rng: np.random.Generator) -> LargeSampleLaw:
        """Return the saddlepoint law of independent pairs, else the gamma law with the exact first three cumulants."""
        masses, chances = self._masses(None), self.predictions.chances
        pairs = float(self._pairs(masses)[0])
        if self.scale is None or not pairs:
            return pearson_law(0.0, 0.0)
        if isinstance(self.sums, BlockSums) and self.sums.size == 2:
            (found,) = self.sums.pairs_of_labels(chances, masses[0] * (2 / pairs) ** 0.5)
            return saddlepoint_law("sum of independent pairs (saddlepoint)", found.cumulants, found.reach)
        third, error = third_cumulant(chances, masses[0], self.sums, rng)
        return pearson_law(self.scale**2, third / pairs**3, error / pairs**3)

    def present(self, value: Floats) -> Any:
        """Return the error, or a record of several."""
        if not self.several:
            return float(value)
        headline = float(value[:, 0 if self.biased else 1].max())
        return KernelErrors(np.array(self.bandwidths), value[:, 0], value[:, 1], headline)

    @property
    def _width(self) -> int:
        n_classes = self.predictions.n_classes
        return 1 if n_classes == 2 else n_classes * (n_classes + 1) // 2 if self.several else n_classes

    def _masses(self, weights: Array | None) -> Floats:
        placed = None if weights is None else np.take(weights, self.sums.rows, axis=1)
        return np.atleast_2d(all_weights(self.predictions, placed))

    def _batch(self, outcomes: Array, weights: Array | None) -> Floats:
        """Evaluate replicates (R, n) or (R, n, K): (R, *shape)."""
        masses = self._masses(weights)
        chances, weighted = is_chances(outcomes), weights is not None or self.predictions.weights is not None
        rows = self.sums.rows
        placed = np.take(outcomes, rows, axis=1) if self.sums.moved else outcomes[:, : len(rows)]
        vectors = residual_vectors(self.predictions, placed)  # for two classes those of the event: half of the products
        if weighted:
            vectors *= masses[:, None, :]
        if len(placed) > 1 or chances or weighted or self.predictions.n_classes == 2:
            total = self._sums(vectors).sum(axis=-1)
        else:
            total = self.sums.of_labels(placed[0], self.predictions.probabilities)[:, None]
        if self.biased or self.predictions.counts is not None:
            total = total + self.at_zero * (vectors**2).sum(axis=(1, 2))
        if (
            not self.biased and self.predictions.counts is not None
        ):  # rows that one row stands for, but not with themselves
            alone = masses**2 / self.predictions.counts * squared_residuals(self.predictions, placed)
            total = total - self.at_zero * alone.sum(axis=1)
        if self.predictions.n_classes == 2:
            total *= 2
        values = ratio(total, self._pairs(masses))
        values = np.where(masses.sum(axis=-1) > 0, values, np.nan).T
        if not self.several:
            return values[:, 0]
        mean, deviation = self._moments if weights is None else self._null(masses)
        standardized = (values - mean) / np.where(deviation > 0, deviation, 1.0)
        return np.stack([values, standardized], axis=-1)

    def _sums(self, vectors: Floats, power: int = 1) -> Floats:
        """Sums over pairs of vectors (R, c, n), for each bandwidth: (J, R, c)."""
        n_replicates, width, n = vectors.shape
        sums = self.sums(vectors.reshape(n_replicates * width, n), power)
        return sums.reshape(len(self.bandwidths), n_replicates, width)

    def _pairs(self, masses: Floats) -> Floats:
        if self.biased:
            return masses.sum(axis=-1) ** 2
        counts = self.predictions.counts
        if counts is None:
            return self.sums.pairs(masses)
        whole = masses.sum(axis=-1) ** 2
        return above_rounding(whole - (masses**2 / counts).sum(axis=-1), whole)

    @cached_property
    def _moments(self) -> tuple[Floats, Floats]:
        return self._null(self._masses(None))

    def _null(self, masses: Floats) -> tuple[Floats, Floats]:
        """Return mean (R, 1) and standard deviation (R, J) under calibration, given the predictions."""
        parts, times = self._covariances()
        counts = self.predictions.multiplicity
        squared = (masses**2 / counts)[:, None, :] * parts
        variance = 2 * (self._sums(squared, power=2) * times).sum(axis=-1)
        if self.predictions.counts is not None:
            variance = variance + 2 * self.at_zero**2 * ((squared**2 * (1 - 1 / counts)).sum(axis=-1) * times).sum(
                axis=-1
            )
        pairs = self._pairs(masses)
        mean = np.zeros((len(masses), 1))
        if self.biased:
            rows = self.predictions.chances
            squares, cubes = (rows**2).sum(axis=1), (rows**3).sum(axis=1)
            mean[:, 0] = self.at_zero * ratio((masses**2 / counts * (1 - squares)).sum(axis=-1), pairs)
            # the squared norm of e is sum p^2 + 1 - 2 p_Y
            variance = variance + self.at_zero**2 * (masses**4 / counts**3 * 4 * (cubes - squares**2)).sum(axis=-1)
        return mean, np.sqrt(np.maximum(ratio(variance, pairs**2), 0.0)).T

    def _covariances(self) -> tuple[Floats, Floats]:
        """Entries (c, n) of the covariance of each label, and how often each occurs in tr(V V')."""
        rows = self.predictions.chances
        if self.predictions.n_classes == 2:
            return 2 * rows.prod(axis=1)[None], np.ones(1)
        first, second = np.triu_indices(rows.shape[1])
        same = first == second
        return (rows[:, first] * (same - rows[:, second])).T, np.where(same, 1.0, 2.0)


@final
@dataclass(frozen=True)
class KCE(Estimator):
    r"""Kernel calibration error: the root of the biased `SKCE` (Widmann, Lindsten & Zachariah 2019).

    .. math:: \Big(\frac{1}{n^2} \sum_{i, j} k(p_i, p_j) \langle e_i, e_j \rangle\Big)^{1/2} = \sup_{\lVert f \rVert
              \le 1} \frac1n \sum_i \langle f(p_i), e_i \rangle

    with the supremum over the unit ball of the kernel's function space. For two classes, with the Laplace kernel,
    sqrt(2) times the MMCE of Kumar, Sarawagi & Jain (2018). Dimensionless, at most sqrt(2). Biased upward, by about
    n^(-1/2) under calibration: read it beside its null mean. As a seminorm of the residuals it has intervals that
    are valid at zero too, for any number of classes. Cost as for `SKCE`: O(n log n) or O(n^2 K).

    Parameters
    ----------
    bandwidth : "median" or number > 0
        In units of the kernel's distance, as for `SKCE`.
    kernel : Kernel
        As for `SKCE`.

    Raises
    ------
    ValueError, TypeError
        If `bandwidth` is not a single positive number or "median", or `kernel` is not a kernel.

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
    residual_form: ClassVar[ResidualForm] = "seminorm"

    def __post_init__(self) -> None:
        keep(self, bandwidth=self._squared.bandwidth)

    @property
    def bounds(self) -> Bounds:  # type: ignore[override]
        """Zero and the root of the largest `SKCE`."""
        return between(0.0, math.sqrt(2 * self.kernel.at_zero))

    @property
    def takes_counts(self) -> bool:  # type: ignore[override]
        """Whether its square takes them."""
        return self._squared.takes_counts

    @property
    def by_rows(self) -> str:  # type: ignore[override]
        """Say where the bandwidth comes from the rows."""
        return self._squared.by_rows

    @property
    def _squared(self) -> SKCE:
        return SKCE(self.bandwidth, "biased", self.kernel)

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Prepare its square."""
        return _KernelRootEvaluator(self._squared.prepare(predictions))


class _KernelRootEvaluator(Evaluator):
    def __init__(self, squared: Evaluator) -> None:
        self.squared = squared

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(batch_size=self.squared.capabilities.batch_size)

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        return np.sqrt(np.maximum(self.squared(outcomes, weights), 0.0))
