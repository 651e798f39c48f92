"""Six worlds of rows in 60 clusters: functions of rng that return a sample, calibrated unless its odds are moved."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit, ndtr

import calibstat as cs


class Clustered(NamedTuple):
    """Rows in clusters whose sizes are fixed; outcomes of a cluster share a part of the normal number behind them."""

    sizes: str = "equal"
    correlation: float = 0.3  # of the normal numbers that outcomes are cut from
    constant: bool = False  # whether all rows of a cluster have the same prediction
    n_classes: int = 2
    law: tuple[float, float] = (2.0, 2.0)  # of predictions of two classes: Beta
    number: int = 60  # of clusters

    @property
    def rows(self):
        """The number of rows of each cluster: eight, or from 3 to 73 of sixty."""
        if self.sizes == "equal":
            return np.full(self.number, 8)
        return np.ceil(3 * ((np.arange(self.number) + 0.5) / self.number) ** (-1 / 1.5)).astype(int)

    def predictions(self, rng):
        """Draw predictions, of the event (n,) or of all classes (n, K), and the cluster of each row."""
        groups = np.repeat(np.arange(self.number), self.rows)
        number = self.number if self.constant else len(groups)
        many = self.n_classes > 2
        drawn = rng.dirichlet(np.full(self.n_classes, 2.0), number) if many else rng.beta(*self.law, number)
        return (drawn[groups] if self.constant else drawn), groups

    def labels(self, chances, groups, rng):
        """Draw labels with these chances, (n,) or (n, K), which depend on each other within clusters."""
        common, own = rng.standard_normal(self.number)[groups], rng.standard_normal(len(groups))
        uniform = ndtr(np.sqrt(self.correlation) * common + np.sqrt(1 - self.correlation) * own)
        if chances.ndim == 1:
            return (uniform < chances).astype(int)
        return (uniform[:, None] >= chances.cumsum(axis=1)[:, :-1]).sum(axis=1)

    def __call__(self, rng, shift=0.0, slope=1.0, clusters=True):
        """Draw a sample; of two classes, log-odds of the event are shift + slope * those that are predicted."""
        predictions, groups = self.predictions(rng)
        moved = (shift, slope) != (0.0, 1.0)
        chances = expit(shift + slope * logit(predictions)) if moved else predictions
        more = {"groups": groups} if clusters else {}
        return cs.Sample(self.labels(chances, groups, rng), predictions, labels=range(self.n_classes), **more)


WORLDS = {
    "weak": Clustered(correlation=0.05),
    "repeats": Clustered(correlation=0.9, constant=True),
    "unequal": Clustered("Pareto"),
    "unequal repeats": Clustered("Pareto", correlation=0.9, constant=True),
    "five classes": Clustered(n_classes=5),
    "rare": Clustered(law=(1.0, 19.0)),
}
