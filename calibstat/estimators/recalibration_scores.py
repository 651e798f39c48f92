"""Score tests of recalibrations of the logit: Cox's, the cubic one, and vector scaling."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._logistic import clipped_logit, inverse_roots
from calibstat.data.arrays import Array, Floats
from calibstat.data.parameters import Count
from calibstat.data.rounding import RANK, ROUNDING, SMALLEST_PROBABILITY
from calibstat.data.sample import Predictions
from calibstat.estimators.base import (
    Capabilities,
    Estimator,
    Evaluator,
    ResidualForm,
    all_weights,
    between,
    in_batches,
    is_chances,
    two_classes,
)
from calibstat.estimators.large_sample import chi_square_law

_ROWS_IN_A_CHUNK = 2**13
# Numbers of one such chunk that are held at once: a few megabytes, which are multiplied while they are in the cache.
_NUMBERS = 2**19


@final
@dataclass(frozen=True)
class LogitScore(Estimator):
    r"""Rao's score statistic of the recalibration logit P(Y = 1 | p) = polynomial in logit p, for two classes.

    .. math:: U^\top I^{-1} U, \qquad U = \sum_i x_i (y_i - p_i), \quad I = \sum_i p_i (1 - p_i)\, x_i x_i^\top,
              \quad x = (1, \ell, \ldots, \ell^d), \ \ell = \mathrm{logit}\, p

    Degree 1 tests Cox's (1958) intercept and slope without fitting them; degree 3 is the polynomial of the GiViTI
    belt (Nattino et al. 2014) without its selection of a degree. The covariance I is exact given the predictions, so
    under calibration the mean is the rank of I (degree + 1), and the law is asymptotically chi-square with that many
    degrees of freedom. Efficient against smooth monotone errors, blind to oscillation; predictions are clipped to
    [1e-9, 1 - 1e-9] in the logit. With weights U sums w x r and I sums w^2 v x x'. O(n). A test statistic, not a size.

    Parameters
    ----------
    degree : int
        At least 1.

    Raises
    ------
    ValueError, TypeError
        If `degree` is not an integer of at least 1.

    Examples
    --------
    >>> import calibstat as cs
    >>> p = [0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95]
    >>> round(cs.LogitScore(1)(cs.Sample([0, 0, 1, 0, 1, 1, 0, 1, 1, 1], p)), 3)
    0.599
    """

    degree: Count = 3
    test_statistic: ClassVar[bool] = True
    quantity: ClassVar[str] = "misfit that a smooth recalibration would remove (score statistic; grows with the rows)"
    bounds = between(0.0)
    two_outcomes: ClassVar[bool] = True
    unconditional: ClassVar[bool] = True
    residual_form: ClassVar[ResidualForm] = "function"
    takes_counts: ClassVar[bool] = True

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Take powers of the logit."""
        two_classes(self, predictions)
        return logit_score(predictions, self.degree)


def CubicScore() -> LogitScore:  # noqa: N802 (an estimator's name)
    """The cubic score statistic, with four degrees of freedom: ``LogitScore(3)``.

    Returns
    -------
    LogitScore

    Examples
    --------
    >>> import calibstat as cs
    >>> cs.CubicScore()
    LogitScore(degree=3)
    """
    return LogitScore(3)


def logit_score(predictions: Predictions, degree: int) -> ScoreForm:
    """Prepare the score statistic of a polynomial in the logit."""
    basis = _polynomials(clipped_logit(predictions.event), predictions.chances.prod(axis=1), degree)
    return ScoreForm(predictions, [1] * (degree + 1), basis)


def _polynomials(values: Floats, masses: Floats, degree: int) -> Floats:
    """Polynomials up to a degree, orthonormal under the masses, zero where a degree brings nothing new: (d + 1, n).

    The statistic does not depend on the basis, but its rounding does: each column is orthogonalised twice.
    """
    basis, roots = np.zeros((degree + 1, len(values))), np.sqrt(masses)
    column = np.ones_like(values)
    for power in range(degree + 1):
        before = np.linalg.norm(roots * column)  # no column is squared: with masses near 1e-320 it is as large as 1e160
        for _ in range(2):
            column = column - (basis[:power] @ (masses * column)) @ basis[:power]
        length = np.linalg.norm(roots * column)
        if not length > 1e-9 * before:
            break
        basis[power] = column / length
        column = values * basis[power]
    return basis


@final
@dataclass(frozen=True)
class VectorScalingScore(Estimator):
    r"""Rao's score statistic of vector scaling, :math:`q_k \propto \exp(a_k + b_k \log p_k)`, for K classes.

    .. math:: U^\top C^{+} U, \quad U = \sum_i \begin{pmatrix} e_i \\ e_i \circ \log p_i \end{pmatrix}, \quad
              C = \sum_i \begin{pmatrix} V_i & V_i D_i \\ D_i V_i & D_i V_i D_i \end{pmatrix},
              \quad D_i = \mathrm{diag}(\log p_i)

    with e = onehot(y) - p and V the covariance of one label: the score form, without a baseline class, of the
    likelihood ratio test of multi-class logistic recalibration (Vennos, Xing & Franck 2026). Canonical. C is exact
    given the predictions, so under calibration the mean is rank(C), in general 2 K - 1, and the law is asymptotically
    chi-square (liberal at n = 250: 8 to 10 % at level 5 %; redrawn labels give an exact test). The most powerful choice
    against temperature, prior-shift and mixture errors, weak against swaps between classes, which `SKCE` detects.
    Probabilities are clipped to [1e-9, 1 - 1e-9] in the logarithm. O(n K^2). A test statistic, not a size.

    Examples
    --------
    >>> import calibstat as cs
    >>> p = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.2, 0.5, 0.3], [0.6, 0.1, 0.3], [0.05, 0.15, 0.8]]
    >>> round(cs.VectorScalingScore()(cs.Sample([0, 1, 0, 2, 0, 1], p)), 4)
    4.8776
    """

    test_statistic: ClassVar[bool] = True
    quantity: ClassVar[str] = "misfit that scaling each class would remove (score statistic; grows with the rows)"
    bounds = between(0.0)
    unconditional: ClassVar[bool] = True
    residual_form: ClassVar[ResidualForm] = "function"

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Take logarithms."""
        n_classes = predictions.n_classes
        directions = np.ones((2 * n_classes, len(predictions)))
        for start in range(0, len(predictions), _ROWS_IN_A_CHUNK):
            rows = slice(start, start + _ROWS_IN_A_CHUNK)
            clipped = np.clip(predictions.chances[rows].T, SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY)
            np.log(clipped, out=directions[n_classes:, rows])
        return ScoreForm(predictions, list(range(n_classes)) * 2, directions)


@final
class ScoreForm(Evaluator):
    r"""The statistic of sums :math:`U_q = \sum_i w_i (1\{y_i = k_q\} - p_{i k_q}) d_{iq}`.

    Each direction, a row of (q, n), has its class k. Given the predictions, U has mean zero and covariance C = sum_i
    w_i^2 D_i' V_i D_i under calibration, V_i that of one label; the statistic has mean rank(C) and is asymptotically
    chi-square with that many degrees of freedom. An outcome of probability zero, which cannot occur under calibration,
    makes the statistic infinite.
    """

    def __init__(self, predictions: Predictions, codes: list[int], directions: Floats) -> None:
        self.predictions = predictions
        self.codes = np.array(codes)
        self.directions = directions
        self.doubtful = np.flatnonzero((predictions.chances == 0).any(axis=1))
        self.roots, self.rank = inverse_roots(self._covariances(self._masses(None)), RANK)

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        """Evaluate replicates: (...,) statistics."""
        n_chunks = 1 + len(self.predictions) // _ROWS_IN_A_CHUNK
        return in_batches(self._batch, outcomes, weights, 4, _NUMBERS * n_chunks)

    @property
    def capabilities(self) -> Capabilities:
        """Signs, and the chi-square law with rank(C) degrees of freedom."""
        return Capabilities(signed=self._signed, large_sample=lambda _: chi_square_law(self.rank))

    def _signed(self, outcomes: Array, signs: Array) -> Floats:
        """Evaluate with residuals multiplied by signs; finite, since outcomes of probability zero do not occur here."""
        own = self._masses(None)
        parts = [self._quadratic(self._sums(outcomes[None], own * some), self.roots) for some in np.atleast_2d(signs)]
        return np.concatenate(parts).reshape(signs.shape[:-1])

    def _masses(self, weights: Array | None) -> Floats:
        return np.atleast_2d(all_weights(self.predictions, weights))

    def _batch(self, outcomes: Array, weights: Array | None) -> Floats:
        masses = self._masses(weights)
        roots = self.roots if weights is None else inverse_roots(self._covariances(masses), RANK)[0]
        values = self._quadratic(self._sums(outcomes, masses), roots)
        values[self._impossible(outcomes, masses)] = np.inf
        return np.where(masses.sum(axis=-1) > 0, values, np.nan)

    def _quadratic(self, sums: Floats, roots: Floats) -> Floats:
        whitened: Floats = sums[:, None, :] @ roots
        with np.errstate(over="ignore"):  # infinite, where what happened has a probability of about 1e-308
            return (whitened[:, 0, :] ** 2).sum(axis=-1)

    def _impossible(self, outcomes: Array, masses: Floats) -> Array:
        """Whether an outcome of probability zero occurred in a row that has weight: (R,)."""
        rows = self.doubtful
        if not len(rows):
            return np.zeros(len(outcomes), dtype=bool)
        chances = self.predictions.chances[rows]
        if is_chances(outcomes):
            found = ((np.abs(outcomes[:, rows]) > ROUNDING) & (chances == 0)).any(axis=-1)
        else:
            found = chances[np.arange(len(rows)), outcomes[:, rows]] == 0
        return (found & (masses[:, rows] > 0)).any(axis=-1)

    def _sums(self, outcomes: Array, masses: Floats) -> Floats:
        sums = np.zeros((len(outcomes), len(self.codes)))
        of_code = [(code, np.flatnonzero(self.codes == code)) for code in np.unique(self.codes)]
        for rows, chances in self._chunks():
            some, directions, alike = outcomes[:, rows], self.directions[:, rows], len(masses) == 1
            if alike:
                directions = directions * masses[:, rows]
            for code, same in of_code:
                hits = some[..., code] if is_chances(outcomes) else (some == code).astype(float)
                along = directions[same].T
                if alike:
                    sums[:, same] += hits @ along - chances[code] @ along
                else:
                    sums[:, same] += ((hits - chances[code]) * masses[:, rows]) @ along
        return sums

    def _chunks(self) -> Iterator[tuple[slice, Floats]]:
        """Yield some rows at a time with their chances (K, rows)."""
        chances = self.predictions.chances
        for start in range(0, len(chances), _ROWS_IN_A_CHUNK):
            rows = slice(start, start + _ROWS_IN_A_CHUNK)
            yield rows, np.ascontiguousarray(chances[rows].T)

    def _covariances(self, masses: Floats) -> Floats:
        """Covariance of the sums for each row of weights (R, n): (R, q, q)."""
        squares = masses**2 / self.predictions.multiplicity
        same = self.codes[:, None] == self.codes
        total = np.zeros((len(masses), *same.shape))
        for rows, chances in self._chunks():
            directions = self.directions[:, rows]
            others = (1 - np.eye(len(chances))) @ chances  # 1 - p, with all its digits where p is almost one
            first = chances[self.codes] * directions
            own = first * others[self.codes]
            for covariance, mass in zip(total, squares[:, rows], strict=True):
                found = (own * mass) @ directions.T
                covariance += found if same.all() else np.where(same, found, -(first * mass) @ first.T)
        return total
