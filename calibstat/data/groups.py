"""Which rows belong together: those of one patient, one video, one question that was asked several times."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._text import counted, shown
from calibstat.data.arrays import Array, Floats, Ints, effective_rows


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

    def __str__(self) -> str:
        alike = self.effective > self.number - 0.5
        said = f"{counted(self.number, 'cluster')} ({shown(self.name)})"
        return said + ("" if alike else f", as good as {self.effective:.3g} of equal size")
