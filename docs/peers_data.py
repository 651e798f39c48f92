"""The ten data sets on which `peers.py` compares calibstat with other packages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.special import expit

import calibstat as cs

Array = np.ndarray[Any, Any]
TWO, MANY, WEIGHTED = "two classes", "many classes", "weighted"


@dataclass(frozen=True)
class Data:
    """Labels 0, 1, ..., predictions (n,) of the event or (n, K), and weights or nothing."""

    name: str
    y: Array
    p: Array
    weights: Array | None = None

    @property
    def sample(self) -> cs.Sample:
        """The rows as calibstat takes them."""
        n_classes = 2 if self.p.ndim == 1 else self.p.shape[1]
        return cs.Sample(self.y, self.p, sample_weight=self.weights, labels=list(range(n_classes)))

    @property
    def kind(self) -> str:
        """To which comparisons the rows belong."""
        if self.weights is not None:
            return WEIGHTED
        return TWO if self.p.ndim == 1 else MANY


@cache
def data_sets() -> tuple[Data, ...]:
    """Return the data sets of the page."""
    return (*_made(), *_shipped())


def _made() -> Iterator[Data]:
    rng = np.random.Generator(np.random.PCG64(27))

    def happens(chance: Array) -> Array:
        return (rng.random(len(chance)) < chance).astype(int)

    p = rng.random(2000)
    yield Data("continuous", happens(expit(1.5 * np.log(p / (1 - p)))), p)
    number = rng.integers(0, 21, 2000)
    p = number / 20
    yield Data("ties: twentieths", happens(np.clip(p + np.where(number % 4 < 2, 0.1, -0.1), 0, 1)), p)
    p = rng.beta(1, 99, 5000)
    yield Data("rare events", happens(p), p)
    p = rng.random(60)
    yield Data("60 rows", happens(p), p)
    yield Data("one prediction", happens(np.full(500, 0.3)), np.full(500, 0.3))
    p = rng.choice([0, 0.2, 0.5, 1], 800)
    yield Data("zeros and ones", happens(0.1 + 0.8 * p), p)
    p = rng.random(1500)
    yield Data("weighted", happens(expit(1.5 * np.log(p / (1 - p)))), p, rng.exponential(size=1500))
    rows = rng.dirichlet(np.full(50, 0.1), 2000)
    yield Data("fifty classes", (rows.cumsum(axis=1)[:, :-1] < rng.random((2000, 1))).sum(axis=1), rows)


def _shipped() -> Iterator[Data]:
    from sklearn.datasets import load_breast_cancer, load_digits
    from sklearn.model_selection import cross_val_predict
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier

    X, y = load_breast_cancer(return_X_y=True)
    yield Data("breast cancer", y, cross_val_predict(GaussianNB(), X, y, method="predict_proba")[:, 1])
    X, y = load_digits(return_X_y=True)
    # Which of several rows equally far away are neighbours depends on the number of threads, but not in a tree.
    neighbours = KNeighborsClassifier(15, algorithm="kd_tree")
    yield Data("digits: fifteenths", y, cross_val_predict(neighbours, X, y, method="predict_proba"))
