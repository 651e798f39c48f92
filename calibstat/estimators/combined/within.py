"""One estimator inside each level of a categorical variable."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import final

import numpy as np

from calibstat.arrays import Array, Floats
from calibstat.estimators.base import Estimator, Evaluator, ResidualForm, common_form
from calibstat.estimators.combined.named_values import SeveralEvaluator, strongest
from calibstat.estimators.headline import Headline
from calibstat.lenses.region import Region
from calibstat.predictions import Predictions


@final
@dataclass(frozen=True)
class Within(Estimator):
    r"""An estimator inside each level of a categorical variable; the headline is the worst level.

    .. math:: \max_g\, e(\{i : v_i = g\})

    It asks of each group what is asked of all (Hebert-Johnson et al. 2018). The value is a record with the number of
    each level, in the order of the levels; levels without rows are left out. All levels are evaluated on the same
    draws, so a test of the headline needs no correction for their number. The null is the one of the lens in front: "in
    each group the outcome follows the prediction".

    Small levels have noisy, and hence large, values of plug-in estimators and dominate the maximum: read each beside
    its null mean (``estimate(sample, Within(...)).null_mean``), or use an unbiased or standardised estimator. Put a
    lens in front: ``TopLabel() | Within("sex", ECE())`` tests the top label, while a lens inside leaves whole
    labels to be redrawn. Cost: that of the estimator on all rows, O(n) for sums over cells.

    Parameters
    ----------
    variable : str
        The name of a categorical variable of the sample.
    estimator : Estimator

    Raises
    ------
    ValueError
        On preparing, if there is no such variable, or it is numeric.

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 1, 1, 1], [0.5, 0.5, 0.5, 0.5], variables={"sex": ["f", "f", "m", "m"]})
    >>> cs.Within("sex", cs.ECE(cs.FixedEdges([0, 1])))(sample)
    NamedValues(names=('f', 'm'), values=(0.0, 0.5), headline=0.5)
    """

    variable: str
    estimator: Estimator

    @property
    def quantity(self) -> str:  # type: ignore[override]
        """What the number is, in words."""
        return f"largest, over the levels of {self.variable!r}, {self.estimator.quantity}"

    @property
    def estimand(self) -> Within:
        """The estimand inside each level."""
        return Within(self.variable, self.estimator.estimand)

    @property
    def residual_form(self) -> ResidualForm:
        """What holds of a maximum of such values."""
        return common_form([self.estimator.residual_form])

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Prepare the estimator on the rows of each level."""
        levels = self._levels(predictions)
        found = np.unique(predictions.variables[self.variable].values).astype(int)
        members = [
            Headline(Region(partial(_at, self.variable, code)) | self.estimator).prepare(predictions) for code in found
        ]
        return SeveralEvaluator(tuple(levels[code] for code in found), members, self)

    def _levels(self, predictions: Predictions) -> tuple[str, ...]:
        known = ", ".join(map(repr, predictions.variables)) or "none"
        if self.variable not in predictions.variables:
            raise ValueError(
                f"{self!r}: the sample has no variable {self.variable!r}; its variables are: {known}. "
                "Pass it as Sample(..., variables={name: values})."
            )
        levels = predictions.variables[self.variable].levels
        if levels is None:
            raise ValueError(
                f"{self!r} needs a categorical variable, but {self.variable!r} is numeric: pass its groups as names, "
                f"or look through Given({self.variable!r}) and cut it, for example with EqualMass(10)."
            )
        return levels

    def headline(self, values: Floats) -> Floats:
        """Take the level of the strongest evidence, sign kept."""
        return strongest(values, self.estimator.evidence(values))

    def evidence(self, values: Floats) -> Floats:
        """Order values as the estimator does."""
        return self.estimator.evidence(values)

    def evidences(self, values: Floats) -> Floats:
        """Order the number of each level (..., J) as the estimator does."""
        return self.estimator.evidence(values)


def _at(variable: str, code: int, predictions: Predictions) -> Array:
    """Say which rows have that level."""
    return predictions.variables[variable].values == code
