"""Features with a known regression function, to train classifiers on whose calibration error is then known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, Literal, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._logistic import expit
from calibstat._text import counted
from calibstat.binnings.base import Binning, Cells
from calibstat.binnings.values import UniqueValues
from calibstat.data.arrays import RNG, Array, Floats, Ints, Variable, as_generator, two_columns
from calibstat.data.parameters import HasParameters, at_least_one, keep
from calibstat.data.sample import Predictions
from calibstat.estimators.base import all_weights
from calibstat.generators._quadrature import Borders, distinct, panels, population_on_cells
from calibstat.generators.base import Population, SyntheticModel, population_of
from calibstat.lenses.base import Lens
from calibstat.lenses.relabel import Canonical


@final
@dataclass(frozen=True)
class RegressionFunction(HasParameters):
    """Two features, uniform on the unit square, with a known chance eta(x) of the event.

    The calibration error of a classifier trained on it is known (Torabian & Urner 2024, Appendix C).

    Parameters
    ----------
    difficulty : {"simple", "hard"}
        "simple": expit(6 (x1 - 1/2)), monotone in one feature. "hard": 1/2 + 0.45 sin(4 pi x1) cos(2 pi x2), eight
        hills and valleys.

    Examples
    --------
    >>> import calibstat as cs
    >>> from calibstat.generators import RegressionFunction
    >>> world = RegressionFunction("simple")
    >>> X, y, eta = world.draw(5, rng=0)
    >>> X.shape, y.shape, eta.shape
    ((5, 2), (5,), (5,))
    >>> stump = world.classified_by(lambda X: np.where(X[:, 0] < 0.5, 0.2, 0.8), breaks=([0.5], []))
    >>> round(float(stump.truth(cs.ECE())), 6)
    0.014853
    """

    difficulty: Literal["simple", "hard"] = "simple"

    def eta(self, X: Floats) -> Floats:
        """Return P(Y = 1 | X): (n, 2) -> (n,)."""
        if self.difficulty == "simple":
            return expit(6 * (X[:, 0] - 0.5))
        return 0.5 + 0.45 * np.sin(4 * np.pi * X[:, 0]) * np.cos(2 * np.pi * X[:, 1])

    def draw(self, n: int, rng: RNG = None) -> tuple[Floats, Ints, Floats]:
        """Draw features (n, 2), labels (n,) and their chances (n,), to train on.

        Parameters
        ----------
        n : int
        rng : int, numpy Generator or None
        """
        generator = as_generator(rng)
        X = generator.random((at_least_one("n", n), 2))
        eta = self.eta(X)
        return X, (generator.random(n) < eta).astype(np.intp), eta

    def classified_by(self, classifier: Any, breaks: Sequence[Sequence[float]] | None = None) -> Classified:
        """Return the synthetic model of a classifier on this world.

        Parameters
        ----------
        classifier : callable, or object with ``predict_proba``
            Maps (n, 2) features to probabilities: (n,) of the event, or (n, 2).
        breaks : two sequences of floats, optional
            Where, along each feature, predictions may jump. They are read from scikit-learn's trees and forests; for
            other classifiers, without them, only Monte Carlo values are known.
        """
        return Classified(self, classifier, breaks)


_PANEL_BORDERS = np.linspace(0, 1, 17)


@final
@dataclass(frozen=True, eq=False)
class Classified(SyntheticModel):
    """A classifier on a `RegressionFunction`; made by ``world.classified_by(classifier)``.

    The true error is exact where predictions are constant between breaks (trees, forests, anything binned). Smooth
    classifiers do not predict the same value twice, so that their value is an upper bound, given the features;
    ``truth(estimator, "ise")`` is the distance from P(Y | X).

    Parameters
    ----------
    world : RegressionFunction
    classifier : callable, or object with ``predict_proba``
    breaks : two sequences of floats, optional
    """

    world: RegressionFunction
    classifier: Any
    breaks: Sequence[Sequence[float]] | None

    def __post_init__(self) -> None:
        classifier = self.classifier
        if not callable(classifier) and not hasattr(classifier, "predict_proba"):
            raise TypeError(f"classifier is {classifier!r}, but a function, or an object with predict_proba is needed.")
        given = _tree_breaks(classifier) if self.breaks is None else self.breaks
        if given is not None and len(given) != 2:
            raise ValueError(f"breaks has {len(given)} parts, but there are two features: pass ([...], [...]).")
        keep(self, breaks=None if given is None else tuple(tuple(float(x) for x in each) for each in given))

    @property
    def features(self) -> tuple[str, ...]:
        """The two features."""
        return ("x1", "x2")

    @property
    def finite(self) -> bool:
        """Whether predictions are constant between the breaks."""
        return self.breaks is not None and self._grid({}).pooled

    def predict(self, X: Floats) -> Floats:
        """Return the probability of the event, (n,)."""
        found = self.classifier.predict_proba(X) if hasattr(self.classifier, "predict_proba") else self.classifier(X)
        return two_columns(np.asarray(found, dtype=float))[:, 1]

    def rows(self, n: int, rng: np.random.Generator) -> Population:
        """Draw features and predict."""
        return self._at(rng.random((n, 2)))

    def population(self, lens: Lens, binning: Binning | None = None) -> Population:
        """Lay a grid of nodes over the features, with panels that end at the breaks."""
        if self.breaks is None:
            raise ValueError(
                f"{self!r}: where the predictions jump is not known, so that true values need breaks=([...], [...]) in "
                "classified_by (empty for smooth predictions), or n_samples=10**6 for a Monte Carlo value."
            )
        plain = self._grid({})
        given = lens.look(plain.predictions).predictions.given
        if given == (...,) and binning is not None:
            return plain  # finitely many predictions: no node stands for both sides of a border
        return population_on_cells(self._grid, lens, binning)

    def _grid(self, further: Borders) -> Population:
        axes = [
            panels(distinct(np.clip(np.concatenate([_PANEL_BORDERS, own, further.get(name, np.empty(0))]), 0, 1)), 6)
            for name, own in zip(self.features, self.breaks or ((), ()), strict=True)
        ]
        (x1, mass1), (x2, mass2) = axes
        X = np.stack([np.repeat(x1, len(x2)), np.tile(x2, len(x1))], axis=1)
        return self._at(X, np.outer(mass1, mass2).ravel())

    def _at(self, X: Floats, mass: Floats | None = None) -> Population:
        population = population_of(
            self.predict(X),
            self.world.eta(X),
            mass,
            variables={name: Variable(np.ascontiguousarray(x)) for name, x in zip(self.features, X.T, strict=True)},
            method=f"Gauss-Legendre quadrature, {len(X)} nodes (a maximum is over these)",
        )
        boxes = np.prod([len(each) + 1 for each in self.breaks or ((), ())])
        constant = UniqueValues().cut(population.predictions).size <= boxes
        return Population(population.predictions, population.chances, bool(constant), population.method)


def _tree_breaks(classifier: Any) -> list[list[float]] | None:
    """Return the thresholds of a fitted scikit-learn tree or forest, feature by feature."""
    trees = [classifier] if hasattr(classifier, "tree_") else list(getattr(classifier, "estimators_", []))
    if not trees or not all(hasattr(each, "tree_") for each in trees):
        return None
    cuts = np.concatenate([each.tree_.threshold for each in trees])
    which = np.concatenate([each.tree_.feature for each in trees])
    return [sorted(set(cuts[which == feature].tolist())) for feature in range(2)]


@final
@dataclass(frozen=True)
class Conditioned(SyntheticModel):
    """The model that announces P(Y | h): calibrated, whatever h is (Vaicenavicius et al. 2019, Proposition 1).

    Parameters
    ----------
    world : SyntheticModel
        The world that rows are drawn from; its predictions are replaced.
    h : callable
        Takes the `Predictions` of rows (with their variables) and returns (m,) codes, finitely many.

    Examples
    --------
    >>> import calibstat as cs
    >>> from calibstat.generators import Conditioned, FinitePredictions
    >>> chances = [0.1, 0.3, 0.6, 0.8]
    >>> world = FinitePredictions(chances, chances, variables={"x": [0, 1, 2, 3]}, features=["x"])
    >>> model = Conditioned(world, lambda rows: rows.variables["x"].values >= 2)
    >>> abs(float(model.truth(cs.ECE()))) < 1e-12
    True
    >>> round(float(model.truth(cs.RMSCE(), "ise")), 10)
    0.1
    """

    world: SyntheticModel
    h: Callable[[Predictions], Array]

    @property
    def features(self) -> tuple[str, ...]:
        """The features of the world."""
        return self.world.features

    @property
    def finite(self) -> bool:
        """True: one prediction for each code."""
        return True

    @cached_property
    def table(self) -> tuple[Array, Floats]:
        """The codes in increasing order, and P(Y | h = code) for each."""
        rows = self.world.population(Canonical(), _ByFunction(self.h))
        codes, index = np.unique(_codes(self.h, rows.predictions), return_inverse=True)
        mass = all_weights(rows.predictions, None)
        sums = np.stack([np.bincount(index, mass * column) for column in rows.chances.T], axis=1)
        return codes, sums / sums.sum(axis=1, keepdims=True)

    def rows(self, n: int, rng: np.random.Generator) -> Population:
        """Draw rows of the world and announce P(Y | h)."""
        return self._announce(self.world.rows(n, rng))

    def outcomes(self, drawn: Population, rng: np.random.Generator) -> Array:
        """Draw outcomes as the world does."""
        return self.world.outcomes(drawn, rng)

    def population(self, lens: Lens, binning: Binning | None = None) -> Population:  # noqa: ARG002
        """Announce P(Y | h) on all rows of the world."""
        return self._announce(self.world.population(Canonical(), _ByFunction(self.h)))

    def _announce(self, rows: Population) -> Population:
        known, laws = self.table
        codes = _codes(self.h, rows.predictions)
        place = np.minimum(np.searchsorted(known, codes), len(known) - 1)
        if not np.array_equal(known[place], codes):
            raise ValueError(
                "h takes values on random rows that it does not take on the population: take coarser codes."
            )
        probabilities = two_columns(laws[place][:, 1]) if laws.shape[1] == 2 else laws[place]
        return Population(replace(rows.predictions, rows=probabilities), rows.chances, True, rows.method)


@final
@dataclass(frozen=True)
class _ByFunction(Binning):
    """Cells by h, so that no node of a quadrature stands for rows with different codes."""

    h: Callable[[Predictions], Array]
    columns: ClassVar[int | None] = None

    def cut(self, predictions: Predictions) -> Cells:
        """Number the codes."""
        codes, index = np.unique(_codes(self.h, predictions), return_inverse=True)
        return Cells(len(codes), index, "data")


def _codes(h: Callable[[Predictions], Array], predictions: Predictions) -> Array:
    codes = np.asarray(h(predictions))
    if codes.shape != (len(predictions),):
        raise ValueError(
            f"h returned shape {codes.shape}, but one code for each of {counted(len(predictions), 'row')} is needed."
        )
    return codes
