"""Score tests of recalibrations of the logit: Cox's, the cubic one, and vector scaling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from calibstat.arrays import Floats
from calibstat.checks import at_least_one
from calibstat.estimators.base import Estimator, Evaluator, ResidualForm
from calibstat.estimators.rows import two_classes
from calibstat.estimators.scores.forms import ScoreForm
from calibstat.estimators.scores.residuals import CLIP
from calibstat.predictions import Predictions

_ROWS_IN_A_CHUNK = 2**13


@final
@dataclass(frozen=True)
class LogitScore(Estimator):
    r"""Rao's score statistic of the recalibration logit P(Y = 1 | p) = polynomial in logit p, for two classes.

    .. math:: U^\top I^{-1} U, \qquad U = \sum_i x_i (y_i - p_i), \quad I = \sum_i p_i (1 - p_i)\, x_i x_i^\top,
              \quad x = (1, \ell, \ldots, \ell^d), \ \ell = \mathrm{logit}\, p

    Degree 1 tests Cox's (1958) intercept and slope without fitting them; degree 3 is the polynomial of the GiViTI
    belt (Nattino et al. 2014) without its selection of a degree. The covariance I is exact given the predictions, so
    under calibration the mean is the rank of I (degree + 1), and the law asymptotically chi-square with as many
    degrees of freedom. Efficient against smooth monotone errors, blind to oscillation; predictions are clipped to
    [1e-9, 1 - 1e-9] in the logit. With weights w x r and w^2 v x x'. O(n). A test statistic, not a size.

    Parameters
    ----------
    degree : int
        At least 1.

    Examples
    --------
    >>> import calibstat as cs
    >>> p = [0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95]
    >>> round(cs.LogitScore(1)(cs.Sample([0, 0, 1, 0, 1, 1, 0, 1, 1, 1], p)), 3)
    0.599
    """

    degree: int = 3
    quantity: ClassVar[str] = "score statistic of a polynomial recalibration of the logit"

    def __post_init__(self) -> None:
        at_least_one("degree", self.degree)

    @property
    def estimand(self) -> LogitScore:
        """Itself: zero where no polynomial of the logit improves the predictions, else it grows with n."""
        return self

    @property
    def residual_form(self) -> ResidualForm:
        """A quadratic function of outcome - prediction."""
        return "function"

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Take powers of the logit."""
        two_classes(self, predictions)
        return logit_score(predictions, self.degree)


def CubicScore() -> LogitScore:  # noqa: N802 (an estimator's name)
    """The cubic score statistic, with four degrees of freedom: ``LogitScore(3)``.

    Examples
    --------
    >>> import calibstat as cs
    >>> cs.CubicScore()
    LogitScore(degree=3)
    """
    return LogitScore(3)


def logit_score(predictions: Predictions, degree: int) -> ScoreForm:
    """Prepare the score statistic of a polynomial in the logit."""
    basis = _polynomials(logits(predictions), predictions.chances.prod(axis=1), degree)
    return ScoreForm(predictions, [1] * (degree + 1), basis)


def _polynomials(values: Floats, masses: Floats, degree: int) -> Floats:
    """Polynomials up to a degree, orthonormal under the masses, zero where a degree brings nothing new: (d + 1, n).

    The statistic does not depend on the basis, its rounding does. Each new column is the last one times the values,
    made orthogonal to all before (twice, against rounding).
    """
    basis = np.zeros((degree + 1, len(values)))
    column = np.ones_like(values)
    for power in range(degree + 1):
        before = np.sqrt((masses * column**2).sum())
        for _ in range(2):
            column = column - (basis[:power] @ (masses * column)) @ basis[:power]
        length = np.sqrt((masses * column**2).sum())
        if not length > 1e-9 * before:
            break
        basis[power] = column / length
        column = values * basis[power]
    return basis


def logits(predictions: Predictions) -> Floats:
    """Return the clipped logit of the event (n,)."""
    event = np.clip(predictions.event, CLIP, 1 - CLIP)
    return np.log(event) - np.log1p(-event)


@final
@dataclass(frozen=True)
class VectorScalingScore(Estimator):
    r"""Rao's score statistic of vector scaling, :math:`q_k \propto \exp(a_k + b_k \log p_k)`, for K classes.

    .. math:: U^\top C^{+} U, \quad U = \sum_i \begin{pmatrix} e_i \\ e_i \circ \log p_i \end{pmatrix}, \quad
              C = \sum_i \begin{pmatrix} V_i & V_i D_i \\ D_i V_i & D_i V_i D_i \end{pmatrix},
              \quad D_i = \mathrm{diag}(\log p_i)

    with e = onehot(y) - p and V the covariance of one label: the score form, without a baseline class, of the
    likelihood ratio test of multi-class logistic recalibration (Vennos, Xing & Franck 2026). Canonical. C is exact
    given the predictions, so under calibration the mean is rank(C), 2 K - 1 in general, and the law asymptotically
    chi-square (liberal at n = 250: 8 to 10 % at level 5 %; a redraw of labels is exact). The most powerful choice
    against temperature, prior-shift and mixture errors, weak against swaps between classes, which `SKCE` finds.
    Probabilities are clipped to [1e-9, 1 - 1e-9] in the logarithm. O(n K^2). A test statistic, not a size.

    Examples
    --------
    >>> import calibstat as cs
    >>> p = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.2, 0.5, 0.3], [0.6, 0.1, 0.3], [0.05, 0.15, 0.8]]
    >>> round(cs.VectorScalingScore()(cs.Sample([0, 1, 0, 2, 0, 1], p)), 4)
    4.8776
    """

    quantity: ClassVar[str] = "score statistic of vector scaling"

    @property
    def estimand(self) -> VectorScalingScore:
        """Itself: zero where no vector scaling improves the predictions, else it grows with n."""
        return self

    @property
    def residual_form(self) -> ResidualForm:
        """A quadratic function of outcome - prediction."""
        return "function"

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Take logarithms."""
        n_classes = predictions.n_classes
        directions = np.ones((2 * n_classes, len(predictions)))
        for start in range(0, len(predictions), _ROWS_IN_A_CHUNK):
            rows = slice(start, start + _ROWS_IN_A_CHUNK)
            clipped = np.clip(predictions.chances[rows].T, CLIP, 1 - CLIP)
            np.log(clipped, out=directions[n_classes:, rows])
        return ScoreForm(predictions, list(range(n_classes)) * 2, directions)
