"""Dirichlet-distributed predictions with a calibration function of your choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy import special

from calibstat.arrays import Floats
from calibstat.binnings.base import Binning
from calibstat.generators.base import SyntheticModel
from calibstat.generators.beta import BetaPredictions, check_parameters
from calibstat.generators.groups import groups_of
from calibstat.generators.population import Population, population_of
from calibstat.generators.recalibrations import Identity
from calibstat.generators.simplex_maps import Mixture, RowMap, SimplexMap, laws_of
from calibstat.generators.triangle import Triangle
from calibstat.lenses.base import Lens
from calibstat.lenses.canonical import Canonical


@final
@dataclass(frozen=True, init=False)
class DirichletPredictions(SyntheticModel):
    """Predictions p ~ Dirichlet(alpha); labels have the law r(p).

    True values are known through lenses that look at one class or at two groups of classes (any number of classes for
    `Mixture`, three otherwise), canonically for up to three classes, for the top label of up to three, and canonically
    for `Mixture` with any number (total variation: a closed form). With `Identity` the model is calibrated, and every
    error is 0 through every lens.

    Parameters
    ----------
    alpha : (K,) floats
        In [0.05, 10^6].
    recalibration : callable
        The calibration function r: `Identity`, `Mixture`, `TemperatureShift`, `MatrixMap`, `PairSwap`, or any function
        of (m, K) rows.

    Examples
    --------
    >>> import calibstat as cs
    >>> from calibstat.generators import DirichletPredictions, Mixture
    >>> model = DirichletPredictions([1] * 10, Mixture(0.5, [1] + [0] * 9))
    >>> print(model.truth(cs.ECE()))
    0.45 (given the induced prediction; closed form)
    >>> round(float(model.truth(cs.ClassWise(0) | cs.ECE())), 10)
    0.45
    """

    alpha: tuple[float, ...]
    recalibration: RowMap

    def __init__(self, alpha: Sequence[float], recalibration: RowMap = Identity()) -> None:
        parameters = tuple(float(each) for each in alpha)
        if len(parameters) < 2:
            raise ValueError(f"alpha is {alpha!r}, but at least two classes are needed.")
        if not callable(recalibration):
            raise TypeError(f"recalibration is {recalibration!r}, but a function of rows is needed: Identity().")
        own = recalibration.within(parameters) if isinstance(recalibration, SimplexMap) else recalibration
        object.__setattr__(self, "alpha", parameters)
        object.__setattr__(self, "recalibration", own)
        check_parameters(self, *parameters)
        self.laws(np.vstack([np.eye(len(parameters)), np.full(len(parameters), 1 / len(parameters))]))

    def laws(self, rows: Floats) -> Floats:
        """Return r of rows (m, K)."""
        if isinstance(self.recalibration, Mixture) and len(self.recalibration.distribution) != rows.shape[1]:
            raise ValueError(f"{self.recalibration!r} has not {rows.shape[1]} classes, as alpha has.")
        return laws_of(self.recalibration, rows)

    def rows(self, n: int, rng: np.random.Generator) -> Population:
        """Draw predictions."""
        if all(each == 1 for each in self.alpha):
            parts = rng.standard_exponential((n, len(self.alpha)))
        else:
            parts = rng.standard_gamma(self.alpha, (n, len(self.alpha)))
        total = np.einsum("ij->i", parts)
        if not total.all():  # all parts of a row underflowed
            parts[total == 0] = 1.0
            total[total == 0] = len(self.alpha)
        parts /= total[:, None]
        return population_of(parts, self.laws(parts))

    def population(self, lens: Lens, binning: Binning | None = None) -> Population:
        """Lay nodes over what can be seen through the lens."""
        groups = groups_of(lens, len(self.alpha))
        if len(self.alpha) == 2:
            return self._line(self.alpha, self.laws).population(lens, binning)
        if groups is not None and self._linear and len(groups) == 2:
            return groups.lift(
                self._line(groups.sums(self.alpha), groups.law(self)).population(Canonical(), binning), self
            )
        if groups is not None and self._linear and len(groups) == 3:
            return groups.lift(
                Triangle(groups.sums(self.alpha), groups.law(self)).population(Canonical(), binning), self
            )
        if len(self.alpha) == 3:
            return Triangle(self.alpha, self.laws, self._map).population(lens, binning)
        raise ValueError(
            f"{self!r} through {lens!r}: with {len(self.alpha)} classes true values are known for a Mixture looked at "
            "through ClassWise(c) or Partition(...) into two or three groups, and its canonical total variation; ask "
            "for n_samples=10**6 to have a Monte Carlo value."
        )

    @property
    def calibrated(self) -> bool:
        """Whether r is the identity."""
        return isinstance(self.recalibration, Identity)

    def known(self, lens: Lens) -> Mapping[str, float]:
        """Total variation of a mixture through any fixed groups of classes (Widmann et al. 2019, Appendix)."""
        groups = groups_of(lens, len(self.alpha))
        if groups is None or not isinstance(self.recalibration, Mixture):
            return {}
        value = _mixture_total_variation(
            np.array(groups.sums(self.alpha)),
            self.recalibration.weight,
            np.array(groups.sums(self.recalibration.distribution)),
        )
        return {
            "ECE(binning=UniqueValues())": value,
            "ExpectedMiscalibration(binning=UniqueValues(), distance=TotalVariation())": value,
        }

    def calibration_function(self, probabilities: object, lens: Lens | None = None) -> Floats:
        """Return the chances given an induced prediction; NaN where it does not occur."""
        rows = np.asarray(probabilities, dtype=float)
        if lens is None or not lens.parts:
            both = np.stack([1 - rows, rows], axis=1) if rows.ndim == 1 else rows
            return self.laws(both) if rows.ndim == 2 else self.laws(both)[:, 1]
        return SyntheticModel.calibration_function(self, rows, lens)

    @property
    def _map(self) -> SimplexMap | None:
        return self.recalibration if isinstance(self.recalibration, SimplexMap) else None

    @property
    def _linear(self) -> bool:
        return isinstance(self.recalibration, Identity) or (self._map is not None and self._map.linear)

    @staticmethod
    def _line(alpha: Sequence[float], laws: RowMap) -> BetaPredictions:
        def event(p: Floats) -> Floats:
            return np.asarray(laws(np.stack([1 - p, p], axis=1)))[:, 1]

        return BetaPredictions(alpha[1], alpha[0], event)


def _mixture_total_variation(alpha: Floats, weight: float, law: Floats) -> float:
    """Return weight * sum_i E (law_i - p_i)^+ for p ~ Dirichlet(alpha), by incomplete beta functions."""
    total = alpha.sum()
    below = special.betainc(alpha, total - alpha, law)
    mean_below = alpha / total * special.betainc(alpha + 1, total - alpha, law)
    return float(weight * (law * below - mean_below).sum())
