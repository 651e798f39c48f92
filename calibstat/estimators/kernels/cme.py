"""Calibration mean embeddings in units of their covariance: the statistic of the CME test."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, final

import numpy as np

from calibstat.arrays import Array, Floats
from calibstat.estimators.base import Estimator, Evaluator, ResidualForm
from calibstat.estimators.kernels.functions import Kernel, LaplaceKernel
from calibstat.estimators.kernels.locations import at_locations
from calibstat.estimators.kernels.ucme import check_arguments
from calibstat.estimators.replicates import in_batches
from calibstat.estimators.rows import is_chances, unweighted
from calibstat.estimators.scores.forms import ScoreForm
from calibstat.predictions import Predictions

# Directions with less than this share of the largest variance are not new ones.
_RANK = 1e-10


@final
@dataclass(frozen=True)
class CME(Estimator):
    r"""Calibration mean embedding at J test locations, in units of its covariance (Widmann et al. 2021, CME test).

    .. math:: n\, \mu^\top \Sigma^{+} \mu, \qquad
              \mu_j = \frac1n \sum_i k(p_i, T_j)\, (e_i)_{u_j}, \qquad e_i = \mathrm{onehot}(y_i) - p_i

    with locations as for `UCME`. By default the covariance is the one that the predictions imply under calibration,
    :math:`\Sigma_{jl} = \frac1n \sum_i k(p_i, T_j) k(p_i, T_l) \mathrm{Cov}(1\{Y_i = u_j\}, 1\{Y_i = u_l\})`: it is
    exact and does not move with the labels, under calibration the mean of the statistic is the rank of it, and its law
    in large samples chi-square with as many degrees of freedom. That law's size at level 5 %, measured with 10
    locations (4000 runs each, standard error at most 0.5): for uniform predictions of two classes, and for three
    Dirichlet(1, 1, 1), 4.8 to 5.6 % with 100 to 1000 rows; for rare events, Beta(1, 19), 11.3 % with 100 rows, 6.9 %
    with 500 and 6.2 % with 1000; for Beta(4, 0.8) 8.8 % with 100 and 5.9 % with 500; for uniform ones of which 30 % are
    replaced by zeros and ones 7.7 % with 80 and 5.7 % with 500. So for predictions close to 0 or 1 and few rows take
    redrawn labels, `Consistency`. ``covariance="sample"`` is the published statistic, with the sample covariance of the
    terms: the chi-square law of that one rejects too often (15 % for 250 rows of 3 classes, 36 % of 2, with 10
    locations), so it comes with redrawn labels only, and without weights.

    O(n J (J + K)) once; a replicate O(n J), with the sample covariance O(n J^2). What it sees depends on the locations.
    A test statistic, not a size: it grows with n. An outcome of chance zero makes it infinite (not with the sample
    covariance).

    Parameters
    ----------
    locations, targets, bandwidth, kernel : as for `UCME`
    covariance : {"exact", "sample"}

    Examples
    --------
    >>> import calibstat as cs
    >>> p = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.2, 0.5, 0.3], [0.6, 0.1, 0.3], [0.05, 0.15, 0.8]]
    >>> sample = cs.Sample([0, 1, 0, 2, 0, 1], p)
    >>> places = [[0.5, 0.3, 0.2], [0.2, 0.2, 0.6]]
    >>> [round(cs.CME(places, [0, 2], 0.5, covariance=kind)(sample), 5) for kind in ("exact", "sample")]
    [2.02805, 2.16385]
    """

    locations: int | Sequence[Any] = 10
    targets: Sequence[Hashable] | None = None
    bandwidth: str | float = "median"
    kernel: Kernel = field(default_factory=LaplaceKernel)
    covariance: Literal["exact", "sample"] = "exact"
    quantity: ClassVar[str] = "mean residuals near test locations in units of their covariance (CME statistic)"

    def __post_init__(self) -> None:
        if self.covariance not in ("exact", "sample"):
            raise ValueError(f"covariance is {self.covariance!r}; it must be 'exact' or 'sample'.")
        check_arguments(self)

    @property
    def estimand(self) -> CME:
        """Itself: zero where no mean residual near a location differs from zero, else it grows with n."""
        return self

    @property
    def residual_form(self) -> ResidualForm:
        """A quadratic function of outcome - prediction; with the sample covariance a ratio, which has no size."""
        return "function" if self.covariance == "exact" else "none"

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Choose locations, compare all rows to them, and invert the covariance."""
        near, codes = at_locations(self, predictions, self.locations, self.targets, self.bandwidth, self.kernel)  # type: ignore[arg-type]
        if self.covariance == "exact":
            return ScoreForm(predictions, codes, near)
        unweighted(self, predictions)
        return _SampleCovariance(self, predictions, near, codes)


class _SampleCovariance(Evaluator):
    """The statistic with the covariance of the terms k(p_i, T_j) (e_i)_{u_j} over the rows i."""

    def __init__(self, estimator: CME, predictions: Predictions, near: Floats, codes: list[int]) -> None:
        self.estimator, self.predictions = estimator, predictions
        self.near, self.codes = near.T, codes

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        if weights is not None:
            unweighted(self.estimator, self.predictions, weights)
        return in_batches(self._batch, outcomes, None, width=len(self.codes))

    def _batch(self, outcomes: Array, _: Array | None) -> Floats:
        n = len(self.predictions)
        if not n:
            return np.full(len(outcomes), np.nan)
        hits = outcomes[..., self.codes] if is_chances(outcomes) else outcomes[..., None] == np.array(self.codes)
        terms = self.near * (hits - self.predictions.chances[:, self.codes])
        means = terms.mean(axis=1)
        terms -= means[:, None, :]
        covariance = np.swapaxes(terms, 1, 2) @ terms / max(n - 1, 1)
        inverse = np.linalg.pinv(covariance, rcond=_RANK, hermitian=True)
        return n * ((means[:, None, :] @ inverse)[:, 0] * means).sum(axis=-1)
