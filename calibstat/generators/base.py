"""Synthetic models: classifiers on worlds in which the chance of every outcome is known.

An author writes two methods. `rows` draws random rows with their chances, `population` lists all of them (or the nodes
of a quadrature) with their masses. Samples, calibration functions, true values and limits are written here, on top.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np

from calibstat.arrays import RNG, Array, Floats, as_generator
from calibstat.binnings.base import Binning
from calibstat.checks import at_least_one
from calibstat.estimators.base import Estimator
from calibstat.generators.evaluation import evaluate, monte_carlo, on_own_cells, through_features, zero_where_calibrated
from calibstat.generators.lookup import induced_chances
from calibstat.generators.population import Population, Truth, draw_outcomes
from calibstat.lenses.base import Lens
from calibstat.lenses.canonical import Canonical
from calibstat.sample import Sample


@dataclass(frozen=True)
class SyntheticModel(ABC):
    """A classifier on a world in which the chance of every outcome given the prediction is known.

    Subclasses are frozen dataclasses of parameters, with the methods `rows` and `population`; `check_generator` in
    `calibstat.generators.laws` tells whether the two agree.
    """

    @abstractmethod
    def rows(self, n: int, rng: np.random.Generator) -> Population:
        """Draw `n` random rows: predictions (without weights), and the chances that their labels are drawn with."""

    @abstractmethod
    def population(self, lens: Lens, binning: Binning | None = None) -> Population:
        """List all rows with their masses as weights: every atom, or the nodes of a quadrature.

        Parameters
        ----------
        lens : Lens
            What will be looked through. Rows that it makes equal must be there as nodes of equal value, or `pooled`
            of the result must be False.
        binning : Binning, optional
            What will cut the induced predictions: no node may then stand for mass on both sides of a border. Models
            with finitely many rows have nothing to do for it, nor for `lens`.

        Raises
        ------
        ValueError
            If the population under this lens cannot be had; the message says under which ones it can.
        """

    @property
    def features(self) -> tuple[str, ...]:
        """The variables that are the features of this world: P(Y | X) is a function of them."""
        return ()

    @property
    def calibrated(self) -> bool:
        """Whether the chances of every row are its prediction, whatever else is known of it: errors are then 0."""
        return False

    def known(self, lens: Lens) -> Mapping[str, float]:  # noqa: ARG002 (for those who know something)
        """Values known in closed form under the lens, by the estimand (without its lens) as it prints itself."""
        return {}

    def quantiles(self, levels: Floats) -> Population:  # noqa: ARG002 (for those who know them)
        """Return rows at quantiles of the event's probability, for two classes and a prediction that has a density.

        Parameters
        ----------
        levels : (k,) increasing floats
            In [0, 1].

        Raises
        ------
        ValueError
            If the model does not know them.
        """
        raise ValueError(
            f"{self!r} does not know the quantiles of its predictions: they are there for models of two classes whose "
            "prediction has a density, like BetaPredictions and GaussianMixture."
        )

    @final
    def sample(self, n: int, rng: RNG = None) -> Sample:
        """Draw a sample.

        Parameters
        ----------
        n : int
            Number of rows, at least 1.
        rng : int, numpy Generator or None
            The source of randomness.
        """
        generator = as_generator(rng)
        drawn = self.rows(at_least_one("n", n), generator)
        return Sample.of(drawn.predictions, draw_outcomes(drawn.chances, generator))

    def calibration_function(self, probabilities: Any, lens: Lens | None = None) -> Floats:
        """Return the chances of the outcomes given an induced prediction: r in P(Y = . | p) = r(p).

        Parameters
        ----------
        probabilities : (n,) or (n, k) floats
            Induced predictions: the event's probability alone, for two classes, or of all classes.
        lens : Lens, optional
            The lens that induces them; by default the canonical one.

        Returns
        -------
        chances : (n,) or (n, k) floats
            NaN where the prediction does not occur.
        """
        seen = Canonical() if lens is None else lens
        return induced_chances(self.population(seen), seen, np.asarray(probabilities, dtype=float))

    @final
    def truth(
        self,
        estimator: Estimator,
        of: Literal["calibration", "ise"] = "calibration",
        *,
        n_samples: int | None = None,
        rng: RNG = None,
    ) -> Truth:
        """Return the population value of what an estimator estimates: of its `estimand`, through its lens.

        Parameters
        ----------
        estimator : Estimator
        of : {"calibration", "ise"}
            What predictions are compared with: P(Y | prediction), or P(Y | X) in a world with features. The second
            cannot be estimated from predictions and labels, and is never smaller for convex distances.
        n_samples : int, optional
            Ask for a Monte Carlo value from that many rows (their chances, not labels, are averaged).
        rng : int, numpy Generator or None
            Used with `n_samples` only.

        Raises
        ------
        ValueError
            If it cannot be had under this lens; the message says under which ones it can.
        """
        estimand = estimator.estimand
        if of == "ise":
            estimand = through_features(estimand, self.features, self)
        elif of != "calibration":
            raise ValueError(f"of is {of!r}, but it must be 'calibration' or 'ise'.")
        if n_samples is not None:
            return monte_carlo(self.rows, estimand, n_samples, as_generator(rng))
        value = self.known(estimand.lens).get(repr(estimand.core))
        if value is not None:
            return Truth(value, method="closed form")
        return self._zero(estimand) or _on_population(estimand, self.population(estimand.lens))

    @final
    def limit(self, estimator: Estimator) -> Truth:
        """Return what an estimator converges to as n grows while its cells stay fixed.

        The first limit in Theorem 2 of Vaicenavicius et al. (2019): the estimand on the estimator's own cells. The
        difference to `truth` is what binning hides; the rest of the bias is due to finite samples.

        Parameters
        ----------
        estimator : Estimator

        Raises
        ------
        ValueError
            If its cells never settle (they depend on the number of rows), or the population cannot be had.
        """
        fixed, binning = on_own_cells(estimator)
        return self._zero(fixed) or _on_population(fixed, self.population(estimator.lens, binning))

    def _zero(self, estimand: Estimator) -> Truth | None:
        """The value of an error in a calibrated world; None where the world is not, or the estimand is no error."""
        zero = zero_where_calibrated(self.rows, estimand) if self.calibrated else None
        return None if zero is None else Truth(zero, method="the chances are the predictions")


def _on_population(estimator: Estimator, population: Population) -> Truth:
    given: Any = "the induced prediction" if population.pooled else "upper bound given the full prediction"
    value: float | Array = evaluate(estimator, population)
    return Truth(value, given=given, method=population.method)
