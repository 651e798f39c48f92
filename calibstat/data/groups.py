"""Which rows belong together: those of one patient, one video, one question that was asked several times."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._text import counted, shown
from calibstat.data.arrays import Array, Floats, Ints, effective_rows

# The fewest clusters, in effect, that an interval is made of.
MINIMUM_CLUSTERS = 12


@final
@dataclass(frozen=True, eq=False)
class Groups:
    """The cluster of each row: rows of one cluster may depend on each other, rows of different ones do not.

    Parameters
    ----------
    codes : (n,) ints
        0, 1, ..., each of which occurs.
    name : str
        What the clusters are, for texts: the name of a column.
    """

    codes: Ints
    name: str = "groups"

    @classmethod
    def of(cls, values: Array, name: str = "groups") -> Groups:
        """Number the distinct values (n,) of whatever says which rows belong together."""
        codes = np.unique(values, return_inverse=True)[1].astype(np.intp, copy=False)
        codes.setflags(write=False)
        return cls(codes, name)

    def __len__(self) -> int:
        return len(self.codes)

    @cached_property
    def number(self) -> int:
        """How many clusters there are."""
        return int(self.codes.max()) + 1 if len(self.codes) else 0

    @property
    def of_several(self) -> Groups | None:
        """The same; None where each row is by itself, so that all of them are independent."""
        return self if self.number < len(self) else None

    def take(self, rows: Array) -> Groups | None:
        """Return the clusters of the rows at `rows` (indices, or a mask); None where each of these is by itself."""
        return Groups.of(self.codes[rows], self.name).of_several

    def sums(self, values: Floats | None) -> Floats:
        """Add up values (n,) in each cluster; None is one for each row."""
        return np.bincount(self.codes, values, self.number).astype(float)

    def spread(self, each: Array) -> Array:
        """Give each row the value (..., G) of its cluster: (..., n)."""
        return np.take(each, self.codes, axis=-1)

    def counted(self, weights: Floats | None) -> ClusterCount:
        """Count the clusters, of rows with these weights."""
        sums = self.sums(weights)
        return ClusterCount(self.number, effective_rows(sums), self.name)


def cluster_factors(masses: Floats) -> tuple[Floats, float]:
    r"""Return what squared influences of clusters of these masses (G,) are multiplied by, and the degrees of freedom.

    With leverages :math:`h_g`, the shares of the mass, the variance is :math:`\sum_g \psi_g^2 / (1 - h_g)` (CR2), which
    is unbiased where means of clusters are equally variable; Satterthwaite's degrees of freedom are those of such
    means, as of labels that are all alike in each cluster (Bell & McCaffrey 2002; MacKinnon, Nielsen & Webb 2023).
    Of a single cluster there is no variance, and both are no numbers.
    """
    h = masses / masses.sum()
    if len(h) == 1:
        return np.full(1, np.nan), np.nan
    factor = 1 / (1 - h)
    pull, noise = factor * h, h**2  # V = psi' A psi, where A has factor - 2 pull + b and b - pull - pull'
    b, (m0, m1, m2) = float(pull @ h), (float(noise @ pull**power) for power in (0, 1, 2))
    own, beside = factor - 2 * pull + b, b - 2 * pull
    squares = b**2 * m0**2 + 2 * m2 * m0 + 2 * m1**2 - 4 * b * m1 * m0 + float(noise**2 @ (own**2 - beside**2))
    return factor, float(noise @ own) ** 2 / squares


class ClusterCount(NamedTuple):
    """The number of clusters, and how many of equal weight would be as good: G / (1 + the variance of their leverage).

    The leverage is the share of a cluster in the weight of all rows, relative to its mean (Carter, Schnepel &
    Steigerwald 2017).
    """

    number: int
    effective: float
    name: str

    def to_dict(self) -> dict[str, float | str]:
        """Return all by name."""
        return {"n_clusters": self.number, "effective_clusters": self.effective, "groups": self.name}

    @property
    def too_few(self) -> bool:
        """Whether they are too few, in effect, for an interval."""
        return round(self.effective) < MINIMUM_CLUSTERS

    def __str__(self) -> str:
        alike = self.effective > self.number - 0.5
        said = f"{counted(self.number, 'cluster')} ({shown(self.name)})"
        return said + ("" if alike else f", as good as {self.effective:.3g} of equal size")
