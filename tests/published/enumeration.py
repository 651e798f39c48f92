"""Exact laws of an estimator by enumeration, through the package's own evaluators."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import lgamma

import numpy as np

import calibstat as cs

TIES = 1e-9


@dataclass(frozen=True)
class ExactLaw:
    """Values of a statistic and their probabilities."""

    values: np.ndarray
    masses: np.ndarray

    @property
    def mean(self):
        return float(self.values @ self.masses)

    def pvalue(self, observed):
        return float(self.masses[self.values >= observed - TIES].sum())


def all_labels(n, n_classes=2):
    """Every label vector of n rows: (n_classes ** n, n)."""
    return np.array(list(product(range(n_classes), repeat=n)))


def law_of_labels(estimator, sample, chances=None):
    """The law when labels are drawn independently from `chances` (n, K), by default from the predictions."""
    chances = sample.y_prob if chances is None else chances
    labels = all_labels(len(sample), chances.shape[1])
    masses = np.prod(chances[np.arange(len(sample)), labels], axis=1)
    return ExactLaw(estimator.prepare(sample.predictions)(labels), masses)


def law_of_resamples(estimator, predictions):
    """The law when two-class predictions are drawn with replacement and labels from them, cells cut anew."""
    n = len(predictions)
    scores, counts = np.unique(predictions, return_counts=True)
    drawn = np.repeat(scores, 2)
    label = np.tile([0, 1], len(scores))
    chance = np.repeat(counts / n, 2) * np.where(label == 1, drawn, 1 - drawn)
    tables = [table for table in product(range(n + 1), repeat=len(drawn)) if sum(table) == n]
    values = [estimator(cs.Sample(np.repeat(label, table), np.repeat(drawn, table))) for table in tables]
    masses = [np.exp(_log_multinomial(table) + np.dot(table, np.log(chance))) for table in tables]
    return ExactLaw(np.array(values), np.array(masses))


def _log_multinomial(table):
    return lgamma(sum(table) + 1) - sum(lgamma(count + 1) for count in table)


def standard_error(pvalue, n_resamples):
    """Of a Monte Carlo p-value (which may be one and a rounding error)."""
    return np.sqrt(abs(pvalue * (1 - pvalue)) / n_resamples)
