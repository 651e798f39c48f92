"""Features with a known regression function, to train classifiers on whose calibration error is then known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np

from calibstat.arrays import RNG, Floats, Ints, as_generator
from calibstat.checks import at_least_one
from calibstat.generators.classified import Classified
from calibstat.generators.elementary import expit


@final
@dataclass(frozen=True)
class RegressionFunction:
    """Two features, uniform on the unit square, with a known chance eta(x) of the event.

    For training classifiers whose calibration error is then known (as in Torabian & Urner 2024, Appendix C).

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

    def __post_init__(self) -> None:
        if self.difficulty not in ("simple", "hard"):
            raise ValueError(f"difficulty is {self.difficulty!r}, but it must be 'simple' or 'hard'.")

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
        """Return the model that a classifier is on this world.

        Parameters
        ----------
        classifier : callable, or object with ``predict_proba``
            Maps (n, 2) features to probabilities: (n,) of the event, or (n, 2).
        breaks : two sequences of floats, optional
            Where, along each feature, predictions may jump. Found by themselves for scikit-learn's trees and forests;
            without them only Monte Carlo values can be had.
        """
        return Classified(self, classifier, breaks)
