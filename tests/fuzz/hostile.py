"""Rows that nobody should have, and what a case is."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import calibstat as cs
from benchmarks.verbs import Raw
from registered.entries import LABELS, Entry

TINY = np.finfo(float).tiny
EDGES = [0.0, 1.0, 0.5, 1 - 1e-16, 1 - 1e-17, 1e-300, TINY, 5e-324, 0.1, 0.3]
BAD = [np.nan, np.inf, -np.inf, -0.1, 1.5, 1 + 1e-9]
LEVELS = [
    [1.0],
    [1e300, 1.0],
    [1e-300, 1.0],
    [0.0, 1.0],
    [0.5, 2.0],
    [1.0, np.nan],
    [1.0, -1.0],
    [0.0],
    [1e-300, 1e300],
]
N_ROWS = [0, 1, 2, 3, 8, 30]


@dataclass
class Hostile(Raw):
    """Few rows, whose labels, predictions, variables and weights are drawn from what breaks arithmetic."""

    rng: np.random.Generator
    n_classes: int = 2

    @cached_property
    def arrays(self) -> tuple[Any, Any]:
        rng, n = self.rng, self.n
        probs = two_outcomes(rng, n) if self.n_classes == 2 else several_outcomes(rng, n, self.n_classes)
        labels = rng.integers(0, self.n_classes, n)
        if rng.random() < 0.1:
            labels = np.full(n, rng.integers(0, self.n_classes))
        if n and rng.random() < 0.15:
            probs[rng.integers(n)] = rng.choice(BAD)
        shape = rng.random()
        if shape < 0.03:
            probs = probs[..., None, None]
        elif shape < 0.06:
            labels = labels[: n // 2]
        elif shape < 0.09:
            probs = probs.astype(str)
        elif shape < 0.2:
            probs = probs.astype(np.float32)
        elif shape < 0.23:
            labels = labels.astype(object)
        return labels, probs

    @cached_property
    def second(self) -> Any:
        return self.rng.random(self.n) if self.n_classes == 2 else several_outcomes(self.rng, self.n, self.n_classes)

    @cached_property
    def weights(self) -> np.ndarray | None:
        if self.rng.random() < 0.5:
            return None
        return self.rng.choice(LEVELS[self.rng.integers(len(LEVELS))], self.n)

    @cached_property
    def variables(self) -> dict[str, Any]:
        """A number and two groups, with ties, one value, missing values, and numbers of any size."""
        rng, n = self.rng, self.n
        ages = [rng.uniform(20, 80, n), rng.integers(0, 4, n).astype(float), np.full(n, 50.0), rng.choice(EDGES, n)]
        age = ages[rng.integers(len(ages))]
        if n and rng.random() < 0.1:
            age = age * 10.0 ** rng.choice([-300, 300])
            age[rng.integers(n)] = rng.choice([1e300, -1e300, np.nan, np.inf, 0.0])
        names = ["", "é", "nan"] if rng.random() < 0.1 else list("fmxu")[: rng.integers(1, 5)]
        return {"site": rng.choice(list("abcdefghij"), n), "sex": rng.choice(names, n), "age": age}

    def sample(self) -> cs.Sample:
        return cs.Sample(*self.arrays, sample_weight=self.weights, labels=range(self.n_classes))

    def grouped(self) -> cs.Sample:
        return cs.Sample(
            *self.arrays, variables=self.variables, sample_weight=self.weights, labels=range(self.n_classes)
        )

    def named(self) -> cs.Sample:
        """The same rows with the labels of the registry."""
        labels, probs = self.arrays
        names = np.array(LABELS)[labels.astype(int)]
        known = {"variables": self.variables, "sample_weight": self.weights}
        return cs.Sample(names, probs, labels=LABELS[: self.n_classes], **known)

    def everything(self) -> list[Any]:
        """Draw all of it, in this order."""
        return [*self.arrays, self.weights, self.variables, self.second]

    def kept(self) -> list[bytes]:
        """What must not change, as bytes."""
        return [pickle.dumps(each) for each in self.everything()]

    def shuffled(self) -> Hostile | None:
        """Give the same rows in another order; None if they are not of equal number."""
        labels, probs = self.arrays
        if not len(labels) == len(probs) > 1:
            return None
        order = self.rng.permutation(self.n)
        other = Hostile(self.n, self.rng, self.n_classes)
        other.arrays, other.second = (labels[order], probs[order]), self.second[order]
        other.weights = None if self.weights is None else self.weights[order]
        other.variables = {name: values[order] for name, values in self.variables.items()}
        return other


def two_outcomes(rng: np.random.Generator, n: int) -> np.ndarray:
    """Draw predictions (n,): any, edges, all equal, or with ties."""
    kinds = [rng.random(n), rng.choice(EDGES, n), np.full(n, rng.choice(EDGES)), rng.integers(0, 4, n) / 3]
    return kinds[rng.integers(len(kinds))]


def several_outcomes(rng: np.random.Generator, n: int, n_classes: int) -> np.ndarray:
    """Draw predictions (n, K): any, edges, certain, all equal, or with ties."""
    edges, ties = rng.choice(EDGES, (n, n_classes)), rng.integers(0, 3, (n, n_classes)) + 0.0
    for rows in (edges, ties):
        rows[rows.sum(axis=1) < TINY, 0] = 1
        rows /= rows.sum(axis=1, keepdims=True)
    certain = np.eye(n_classes)[rng.integers(0, n_classes, n)]
    kinds = [rng.dirichlet(np.ones(n_classes), n), edges, certain, np.full((n, n_classes), 1 / n_classes), ties]
    return kinds[rng.integers(len(kinds))]


@dataclass(frozen=True)
class Case:
    """What is called, on which rows, and how it is called again; of an estimator also what the laws know of it.

    `kept` of the rows writes down what the call must leave as it was. Calibrators have their arrays checked by
    scikit-learn, as its own estimators do, so that its refusals are documented: `checked_by` is the folder of these.
    """

    name: str
    rows: Any
    call: Callable[[Any], Any]
    entry: Entry | None = None
    checked_by: str = ""


def rows_of(rng: np.random.Generator, n_classes: int = 2) -> Hostile:
    """Draw rows, all of them at once, so that it does not matter who looks at them first."""
    drawn = Hostile(int(rng.choice(N_ROWS)), rng, n_classes)
    drawn.everything()
    return drawn
