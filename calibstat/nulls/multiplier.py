"""The multiplier null: residuals keep their size and lose their sign."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from calibstat.arrays import Array, Floats
from calibstat.checks import at_least_one, true_or_false
from calibstat.estimators.base import Estimator, Evaluator
from calibstat.lenses.base import Lens
from calibstat.nulls.base import Null
from calibstat.nulls.distributions import EmpiricalNull
from calibstat.predictions import Given, Predictions
from calibstat.resampling.clusters import clusters, how_many, spread
from calibstat.resampling.streams import blocks
from calibstat.sample import Sample

# Numbers held in memory at once where residuals are passed as chances.
_NUMBERS = 2**21


@final
@dataclass(frozen=True)
class Multiplier(Null):
    r"""Multiply the residual (outcome - prediction) of each row by a random sign (wild bootstrap, Wu 1986).

    .. math:: r_i \to \xi_i r_i, \qquad P(\xi_i = 1) = P(\xi_i = -1) = \tfrac12

    It assumes only that the mean residual is zero given what is conditioned on, not how labels are distributed, so it
    serves where labels cannot be drawn anew: classes jointly (the same sign multiplies the whole vector, so that the
    dependence of classes is kept), the weak null of a variable, clusters. Asymptotic: for rare events and small n it
    rejects too often (up to 40 % at level 5 % for events of 5 % and n = 100; 8 % at n = 500). Where labels can be
    redrawn, `Consistency` is exact. For estimators that depend on the residuals alone.

    Parameters
    ----------
    n_resamples : int
    groups : str, optional
        The name of a variable of the sample: one sign for each of its values (clusters, for example patients).
    centred : bool
        Subtract from the signs their (weighted) mean over the rows, so that the distribution is that of noise about
        the observed value, also where the mean residual is not zero. Never centred cell by cell.

    Examples
    --------
    >>> import calibstat as cs
    >>> import numpy as np
    >>> from calibstat.nulls.multiplier import Multiplier
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(1000)
    >>> sample = cs.Sample(rng.random(1000) < p, p)
    >>> cs.calibration_test(sample, cs.ECE(cs.EqualMass(10)), null=Multiplier(), rng=0).pvalue > 0.05
    True
    """

    n_resamples: int = 999
    groups: str | None = None
    centred: bool = False

    def __post_init__(self) -> None:
        at_least_one("n_resamples", self.n_resamples)
        true_or_false("centred", self.centred)

    def draw(
        self, estimator: Estimator, sample: Sample, rng: np.random.Generator, evaluator: Evaluator | None = None
    ) -> EmpiricalNull:
        """Evaluate the estimator on residuals with each set of signs."""
        if estimator.residual_form == "none":
            raise ValueError(
                f"{estimator!r} depends on more than outcome - prediction, so signs cannot be multiplied into it; "
                "use Consistency(), or a statistic of residuals, for example ECE(EqualMass(15)) or "
                "DebiasedL2(EqualMass(15)). An estimator of your own says residual_form = 'function'."
            )
        codes = clusters(sample.predictions, self.groups)
        evaluator = evaluator or estimator.prepare(sample.predictions)
        drawn = [
            signed_values(evaluator, sample, self._signs(stream, size, codes, sample.predictions)[:kept])
            for stream, size, kept in blocks(self.n_resamples, len(sample), rng)
        ]
        values = np.concatenate(drawn)
        if np.isinf(values).any():
            raise ValueError(
                f"{estimator!r} is infinite on this sample: an outcome was seen where all predictions of a cell say "
                "that it is impossible, and signs keep it so. Redraw labels instead, with null=Consistency()."
            )
        return EmpiricalNull(values, estimator.evidence)

    def hypothesis(self, lens: Lens, given: Given) -> str:
        """Say what was assumed: the mean residual is zero."""
        names = " and ".join("the prediction" if name is ... else repr(name) for name in given)
        each = "row" if self.groups is None else f"value of {self.groups!r}"
        weak = "" if ... in given else " (the weak null)"
        exact = "" if self.groups is None else "; the exact null draws rows independently: not available for clusters"
        return (
            f"given {names}, the mean of outcome - prediction seen through {lens!r} is zero{weak}; one random sign for "
            f"each {each} (asymptotic: at least 500 rows, 10 events and 10 non-events expected in each cell){exact}"
        )

    def _signs(self, stream: np.random.Generator, size: int, codes: Array, predictions: Predictions) -> Floats:
        coins = stream.integers(0, 2, size=(size, how_many(codes))).astype(np.float64)
        signs = spread(2.0 * coins - 1.0, codes)
        if not self.centred:
            return signs
        return signs - np.average(signs, axis=-1, weights=predictions.weights)[:, None]


def signed_values(evaluator: Evaluator, sample: Sample, signs: Floats) -> Floats:
    """Evaluate with residuals multiplied by signs (R, n), the fast way if there is one: (R, *shape)."""
    values = evaluator.signed(sample.outcomes, signs)
    if values is not None:
        return values
    predicted = sample.predictions.probabilities
    residual = np.eye(sample.predictions.n_classes)[sample.outcomes] - predicted
    size = max(1, _NUMBERS // max(1, predicted.size))
    parts = [signs[start : start + size, :, None] for start in range(0, len(signs), size)]
    return np.concatenate([evaluator(predicted + part * residual) for part in parts])
