"""Values of rows that come in clusters, and how much each cluster moves them.

A squared error of cells is a mean over pairs of rows. Two rows of a cluster depend on each other, so that their product
is no unbiased estimate of a squared error: only pairs of different clusters count. What the value loses without a
cluster is the influence of this one, so that the part that pairs add, which remains where no cell is off, is in the
standard error too, twice (Efron & Stein 1981).
"""

from __future__ import annotations

import numpy as np

from calibstat._dataclass import dataclass
from calibstat.data.arrays import Floats
from calibstat.data.groups import MINIMUM_CLUSTERS, Groups
from calibstat.estimators.tally import over_components, ratio
from calibstat.inference.differences import Expanded, error_of_clusters, joined
from calibstat.inference.intervals import NoInterval


@dataclass(frozen=True, eq=False)
class ClusterValue:
    """A value, and the influence and the mass of each cluster (G,)."""

    value: float
    influence: Floats
    masses: Floats
    name: str

    @classmethod
    def of_both(cls, first: Expanded, second: Expanded, verb: str) -> tuple[ClusterValue, ClusterValue] | None:
        """Take the values of two models; None if rows are independent in both."""
        if first.seen.groups is None and second.seen.groups is None:
            return None
        return cls.of(first, verb), cls.of(second, verb)

    @classmethod
    def of(cls, found: Expanded, verb: str) -> ClusterValue:
        """Take the influences of rows together; of a squared error, leave out one cluster at a time."""
        groups = found.seen.groups or Groups.of(np.arange(len(found.seen)))
        count = groups.counted(found.weights)
        if round(count.effective) < MINIMUM_CLUSTERS:
            raise NoInterval(
                f"{verb}: there are {count}, but at least {MINIMUM_CLUSTERS} are needed to compare models; a test of "
                "each model by itself needs fewer."
            )
        masses = groups.sums(found.weights)
        if not found.squared:
            return cls(found.value, groups.sums(found.influence), masses, groups.name)
        value, without = _pairs_of_clusters(found, groups, masses)
        return cls(value, (1 - masses / masses.sum()) * (value - without), masses, groups.name)


def error_apart(first: ClusterValue, second: ClusterValue, paired: bool) -> tuple[float, float]:
    """Return the standard error of the difference of two models' values, and its degrees of freedom."""
    if paired:
        return error_of_clusters(first.influence - second.influence, first.masses, first.name)
    return joined([error_of_clusters(each.influence, each.masses, each.name) for each in (first, second)])


def _pairs_of_clusters(found: Expanded, groups: Groups, masses: Floats) -> tuple[float, Floats]:
    """Return the squared error by pairs of rows of different clusters, and what it is without each cluster (G,)."""
    both, place = np.unique(found.index * groups.number + groups.codes, return_inverse=True)
    cell, cluster = np.divmod(both, groups.number)
    weight = np.bincount(place, found.weights).astype(float)
    apart = (found.happened - found.prediction) * found.weights[:, None]
    moved: Floats = np.stack([np.bincount(place, column) for column in apart.T], axis=-1)
    own = over_components(moved**2)

    def in_cells(values: Floats) -> Floats:
        return np.bincount(cell, values).astype(float)

    mass, squares, alone = in_cells(weight), in_cells(weight**2), in_cells(own)
    sums = np.stack([in_cells(column) for column in moved.T], axis=-1)
    whole = mass * ratio(over_components(sums**2) - alone, mass**2 - squares)
    less = mass[cell] - weight
    pairs = over_components((sums[cell] - moved) ** 2) - (alone[cell] - own)
    left = less * ratio(pairs, less**2 - (squares[cell] - weight**2))
    changed = np.bincount(cluster, left - whole[cell], groups.number)
    return float(whole.sum() / masses.sum()), (whole.sum() + changed) / (masses.sum() - masses)
