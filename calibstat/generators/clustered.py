"""Worlds whose rows come in clusters: the law of a row is that of another world, but outcomes of a cluster depend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal, TypeAlias, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat.binnings.base import Binning
from calibstat.data.arrays import Array, Floats, Ints
from calibstat.data.groups import Groups
from calibstat.data.parameters import Count, HasParameters, Positive, Proportion, keep
from calibstat.generators.base import Population, SyntheticModel, outcomes_at
from calibstat.lenses.base import Lens


@final
@dataclass(frozen=True)
class ParetoSizes(HasParameters):
    """Very unequal sizes of clusters: P(size >= m) = (least / m)^shape, for m up to the largest.

    Parameters
    ----------
    shape : float
        The smaller, the more unequal.
    least, most : int
        The smallest and the largest size; the chance of all larger ones is that of the largest.

    Examples
    --------
    >>> from calibstat.generators import ParetoSizes
    >>> sizes, chances = ParetoSizes(1.5, least=3, most=100).law
    >>> round(float(sizes @ chances), 1)
    7.5
    """

    shape: Positive = 1.5
    least: Count = 1
    most: Count = 100

    def __post_init__(self) -> None:
        if self.most < self.least:
            raise ValueError(f"{self!r}: the largest size is less than the smallest.")

    @property
    def law(self) -> tuple[Ints, Floats]:
        """All sizes, and their chances."""
        sizes = np.arange(self.least, self.most + 1)
        return sizes, -np.diff((self.least / sizes) ** self.shape, append=0.0)


Sizes: TypeAlias = Count | Sequence[Count] | ParetoSizes


@final
@dataclass(frozen=True)
class Clustered(SyntheticModel):
    """Rows of a world in clusters, of which the outcomes depend on each other given the predictions.

    Each row has the law that it has in the world, so that truths and limits are those of the world. Its outcome is the
    quantile of its law at a uniform number: that of its cluster, with a chance of sqrt(correlation), or else one of its
    own. Two outcomes of a cluster with the same chances then have the correlation that is asked for, those with
    different chances a smaller one. Samples have `groups`.

    Parameters
    ----------
    world : SyntheticModel
        The law of a row.
    size : int, sequence of int, or ParetoSizes
        The number of rows of every cluster; or sizes that are drawn with equal chances; or their law. The last cluster
        of a sample is cut off where that has as many rows as asked for.
    correlation : float
        From 0 to 1.
    predictions : {"varying", "constant"}
        Whether each row of a cluster has a prediction of its own, or all have the same one (and the same variables), as
        a question that is asked several times.

    Examples
    --------
    >>> import calibstat as cs
    >>> from calibstat.generators import BetaPredictions, Clustered, Slope
    >>> model = Clustered(BetaPredictions(1, 1, Slope(0.5)), size=8, correlation=0.3)
    >>> round(float(model.truth(cs.ECE())), 4), round(model.design_effect, 2)
    (0.0966, 3.1)
    >>> model.sample(1000, rng=0)
    Sample(n=1000, classes=(0, 1), in 125 clusters (cluster))
    """

    world: SyntheticModel
    size: Sizes
    correlation: Proportion
    predictions: Literal["varying", "constant"] = "varying"

    def __post_init__(self) -> None:
        if isinstance(self.world, Clustered):
            raise ValueError(f"world is {self.world!r}, whose rows come in clusters already; take its world.")
        if isinstance(self.size, (Sequence, np.ndarray)):
            if not len(self.size):
                raise ValueError("size is an empty list, but at least one size is needed: for example 8.")
            keep(self, size=tuple(map(int, self.size)))

    @cached_property
    def _law(self) -> tuple[Ints, Floats]:
        """The sizes of clusters, and their chances."""
        if isinstance(self.size, ParetoSizes):
            return self.size.law
        sizes, times = np.unique(self.size, return_counts=True)
        return sizes, times / times.sum()

    @property
    def mean_size(self) -> float:
        """The mean size of a cluster."""
        sizes, chances = self._law
        return float(sizes @ chances)

    @property
    def design_effect(self) -> float:
        """How many times as many rows give a mean of residuals the same variance: 1 + ((1 + cv^2) m - 1) correlation.

        m is the mean size of clusters and cv the coefficient of variation of sizes (Eldridge, Ashby & Kerry 2006). It
        is that of equal predictions in a cluster; the effect is smaller where they vary, and for many other statistics.
        """
        sizes, chances = self._law
        return 1 + (float(sizes**2 @ chances) / self.mean_size - 1) * self.correlation

    @property
    def features(self) -> tuple[str, ...]:
        """The features of the world."""
        return self.world.features

    @property
    def finite(self) -> bool:
        """Whether predictions of the world take finitely many values."""
        return self.world.finite

    @property
    def calibrated(self) -> bool:
        """Whether the world is calibrated."""
        return self.world.calibrated

    def known(self, lens: Lens) -> Mapping[str, float]:
        """Return what is known in closed form of the world."""
        return self.world.known(lens)

    def population(self, lens: Lens, binning: Binning | None = None) -> Population:
        """List all rows of the world, since sizes of clusters do not depend on predictions."""
        return self.world.population(lens, binning)

    def calibration_function(self, probabilities: Any, lens: Lens | None = None) -> Floats:
        """Return the chances of the world."""
        return self.world.calibration_function(probabilities, lens)

    def quantiles(self, levels: Floats) -> Population:  # noqa: ARG002
        """Refuse, since what draws rows from quantiles draws them independently of each other."""
        raise ValueError(
            f"{self!r} has rows that depend on each other, which are not drawn from quantiles: take draws='rows', or "
            f"the quantiles of its world, {self.world!r}"
        )

    def rows(self, n: int, rng: np.random.Generator) -> Population:
        """Draw sizes of clusters, and rows of the world: one for each row, or one for each cluster."""
        sizes, chances = self._law
        drawn = np.empty(0, dtype=np.intp)
        while drawn.sum() < n:
            drawn = np.append(drawn, rng.choice(sizes, int(n / self.mean_size) + 1, p=chances))
        codes = np.repeat(np.arange(len(drawn)), drawn)[:n]
        groups = Groups(codes, "cluster")
        if self.predictions == "varying":
            found = self.world.rows(n, rng)
            return replace(found, predictions=replace(found.predictions, groups=groups.of_several))
        found = self.world.rows(groups.number, rng)
        seen = replace(found.predictions.take(codes), groups=groups.of_several)
        return replace(found, predictions=seen, chances=found.chances[codes])

    def outcomes(self, drawn: Population, rng: np.random.Generator) -> Array:
        """Draw outcomes at uniform numbers, some of which are common to the rows of a cluster."""
        groups, own = drawn.predictions.groups, rng.random(len(drawn))
        if groups is not None:
            common = groups.spread(rng.random(groups.number))
            own = np.where(rng.random(len(drawn)) < np.sqrt(self.correlation), common, own)
        return outcomes_at(drawn.chances, own)
