"""A classifier on a world of features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from calibstat.arrays import Floats
from calibstat.binnings.base import Binning
from calibstat.binnings.unique import UniqueValues
from calibstat.generators.base import SyntheticModel
from calibstat.generators.population import Population, population_of, two_columns
from calibstat.generators.quadrature import distinct, panels
from calibstat.generators.settling import Borders, settled
from calibstat.lenses.base import Lens
from calibstat.variable import Variable

if TYPE_CHECKING:
    from calibstat.generators.regression import RegressionFunction

_N_NODES = 6
_GRID = np.linspace(0, 1, 17)


@final
@dataclass(frozen=True, eq=False, init=False)
class Classified(SyntheticModel):
    """A classifier on a `RegressionFunction`; made by ``world.classified_by(classifier)``.

    The true error is exact where predictions are constant between breaks (trees, forests, anything binned). Smooth
    classifiers do not predict the same value twice, so that their value is an upper bound, given the features; ask for
    ``truth(estimator, "ise")`` to have the distance from P(Y | X) by that name.

    Parameters
    ----------
    world : RegressionFunction
    classifier : callable, or object with ``predict_proba``
    breaks : two sequences of floats, optional
    """

    world: RegressionFunction
    classifier: Any
    breaks: tuple[tuple[float, ...], ...] | None

    def __init__(self, world: RegressionFunction, classifier: Any, breaks: Sequence[Sequence[float]] | None) -> None:
        if not callable(classifier) and not hasattr(classifier, "predict_proba"):
            raise TypeError(f"classifier is {classifier!r}, but a function, or an object with predict_proba is needed.")
        given = _tree_breaks(classifier) if breaks is None else breaks
        if given is not None and len(given) != 2:
            raise ValueError(f"breaks has {len(given)} parts, but there are two features: pass ([...], [...]).")
        object.__setattr__(self, "world", world)
        object.__setattr__(self, "classifier", classifier)
        object.__setattr__(
            self, "breaks", None if given is None else tuple(tuple(float(x) for x in each) for each in given)
        )

    @property
    def features(self) -> tuple[str, ...]:
        """The two features."""
        return ("x1", "x2")

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
        return settled(self._grid, lens, binning)

    def _grid(self, further: Borders) -> Population:
        axes = [
            panels(distinct(np.clip(np.concatenate([_GRID, own, further.get(name, np.empty(0))]), 0, 1)), _N_NODES)
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
