"""Values of rows that come in clusters, and how much each cluster moves them.

A squared error of cells is a mean over pairs of rows. Two rows of a cluster depend on each other, so that their product
is no unbiased estimate of a squared error: only pairs of different clusters count. What the value loses without a
cluster is the influence of this one, so that the part that pairs add, which remains where no cell is off, is in the
standard error too, twice (Efron & Stein 1981). Few clusters with an event often show too little noise: a standard error
is at least that of labels that are redrawn where both errors are equal, as dependent in clusters as those seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from calibstat._dataclass import dataclass
from calibstat.data.arrays import Array, Floats, Ints
from calibstat.data.groups import MINIMUM_CLUSTERS, Groups
from calibstat.estimators.tally import ratio
from calibstat.inference.differences import Expanded, at_least, error_of_clusters, joined
from calibstat.inference.intervals import NoInterval


@dataclass(frozen=True, eq=False)
class ClusterValue:
    """A value, and the influence and the mass of each cluster (G,)."""

    value: float
    influence: Floats
    masses: Floats
    name: str

    @classmethod
    def of_all(cls, values: Sequence[Expanded], verb: str) -> list[ClusterValue] | None:
        """Take the values of models; return None if rows are independent in all."""
        if all(each.seen.groups is None for each in values):
            return None
        return [cls.of(each, verb) for each in values]

    @classmethod
    def of(cls, found: Expanded, verb: str) -> ClusterValue:
        """Take the influences of rows together; of a squared error, leave out one cluster at a time."""
        groups = clusters_of(found)
        count = groups.counted(found.weights)
        if count.too_few:
            raise NoInterval(
                f"{verb}: there are {count}, but at least {MINIMUM_CLUSTERS} are needed to compare models; a test of "
                "each model by itself needs fewer."
            )
        masses = groups.sums(found.weights)
        if not found.squared:
            return cls(found.value, groups.sums(found.influence), masses, groups.name)
        pairs, residual = PairsOfClusters.of(found), found.happened - found.prediction
        value = pairs.of_residuals(residual)
        return cls(value, (1 - masses / masses.sum()) * (value - pairs.without(residual)), masses, groups.name)


def clusters_of(found: Expanded) -> Groups:
    """Return the clusters of the rows; each row is one where all are independent."""
    return found.seen.groups or Groups.of(np.arange(len(found.seen)))


def error_in_clusters(values: Sequence[ClusterValue], paired: bool, noise: Floats) -> tuple[float, float]:
    """Return the standard error of the difference of two models' values, and its degrees of freedom.

    `noise` (R,) is that of redrawn labels.
    """
    if paired:
        first, second = values
        shown = error_of_clusters(first.influence - second.influence, first.masses, first.name)
    else:
        shown = joined([error_of_clusters(each.influence, each.masses, each.name) for each in values])
    return at_least(*shown, float(np.sqrt(np.mean(noise**2))))


@dataclass(frozen=True, eq=False)
class PairsOfClusters:
    """A squared error of cells by pairs of rows of different clusters.

    Rows in this `order` (n,) are in P parts, which begin at `starts` (P,): the rows of one of the `clusters` (P,) in
    one of the `cells` (P,). `weights` (n,) and `prediction` (n, c) are those of rows as they were.
    """

    order: Ints
    starts: Ints
    cells: Ints
    clusters: Ints
    weights: Floats
    prediction: Floats

    @classmethod
    def of(cls, found: Expanded) -> PairsOfClusters:
        """Sort the rows by cells, and in these by clusters."""
        groups = clusters_of(found)
        both = found.index * groups.number + groups.codes
        order = np.argsort(both, kind="stable")
        parts, starts = np.unique(both[order], return_index=True)
        return cls(order, starts, *np.divmod(parts, groups.number), found.weights, found.prediction)

    def of_labels(self, labels: Array) -> Floats:
        """Return the squared errors of labels (R, n): (R,)."""
        first = int(self.prediction.shape[1] == 1)  # of two classes the event alone has a column
        columns = enumerate(self.prediction.T, first)
        return np.sum([self._errors(self._parts((labels == code) - each)) for code, each in columns], axis=0)

    def of_residuals(self, residual: Floats) -> float:
        """Return the squared error of outcome - prediction, or of its expectations (n, c)."""
        return float(sum(self._errors(self._parts(each)) for each in residual.T))

    def without(self, residual: Floats) -> Floats:
        """Return the squared error without each cluster: (G,)."""
        return np.sum([self._errors_without(self._parts(each)) for each in residual.T], axis=0)

    def _parts(self, values: Floats) -> Floats:
        """Add up values (..., n) times weights in each part: (..., P)."""
        return np.add.reduceat((values * self.weights)[..., self.order], self.starts, axis=-1)

    def _in_cells(self, parts: Floats) -> Floats:
        """Add up the parts (..., P) of each cell: (..., L)."""
        return np.add.reduceat(parts, np.flatnonzero(np.diff(self.cells, prepend=-1)), axis=-1)

    @cached_property
    def _masses(self) -> tuple[Floats, Floats, Floats]:
        """The weights of the parts (P,), and the sums of these and of their squares in each cell (L,)."""
        parts = self._parts(np.ones(len(self.order)))
        return parts, self._in_cells(parts), self._in_cells(parts**2)

    def _errors(self, parts: Floats) -> Floats:
        """Return the squared errors of weighted residuals in each part (..., P)."""
        _, mass, squares = self._masses
        pairs = self._in_cells(parts) ** 2 - self._in_cells(parts**2)
        return ratio(pairs, mass**2 - squares) @ mass / mass.sum()

    def _errors_without(self, parts: Floats) -> Floats:
        """Return the squared errors without each cluster (G,), of weighted residuals in each part (P,)."""
        weight, mass, squares = self._masses
        cell = np.unique(self.cells, return_inverse=True)[1]
        sums, alone = self._in_cells(parts), self._in_cells(parts**2)
        whole = mass * ratio(sums**2 - alone, mass**2 - squares)
        less = mass[cell] - weight
        pairs = (sums[cell] - parts) ** 2 - (alone[cell] - parts**2)
        left = less * ratio(pairs, less**2 - (squares[cell] - weight**2))
        changed = np.bincount(self.clusters, left - whole[cell])
        return (whole.sum() + changed) / (mass.sum() - np.bincount(self.clusters, weight))
