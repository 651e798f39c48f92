"""The nonparametric bootstrap of rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, final

import numpy as np

from calibstat.arrays import Floats
from calibstat.checks import at_least_one
from calibstat.resampling.base import Resampler
from calibstat.resampling.streams import blocks


@final
@dataclass(frozen=True)
class Bootstrap(Resampler):
    """Draw n rows with replacement (Efron 1979); each replicate is the count of every row.

    Percentile intervals of a binned calibration error made this way do not cover (0 % for nearly calibrated models,
    because each resample adds noise to an error that is already biased upward); use it to see spread.

    Parameters
    ----------
    n_resamples : int
    groups : str, optional
        The name of a variable of the sample: its values (clusters) are drawn instead of rows.
    kind : {"percentile", "basic", "bca"}
        The interval that ``estimate(..., interval=...)`` makes of the replicates.
    allow_invalid : bool
        Whether it may, although it is known not to cover.

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    >>> cs.Bootstrap(100).replicates(cs.ECE(cs.FixedEdges([0, 1])), sample, rng=0).shape
    (100,)
    """

    n_resamples: int = 999
    groups: str | None = None
    kind: Literal["percentile", "basic", "bca"] = "percentile"
    allow_invalid: bool = False

    def __post_init__(self) -> None:
        at_least_one("n_resamples", self.n_resamples)
        if self.kind not in ("percentile", "basic", "bca"):
            raise ValueError(f"kind is {self.kind!r}; it must be 'percentile', 'basic' or 'bca'.")

    def weights(self, n: int, rng: np.random.Generator) -> Iterator[Floats]:
        """Yield blocks of counts that sum to n."""
        for stream, size, kept in blocks(self.n_resamples, n, rng):
            rows = stream.integers(0, n, size=(size, n))[:kept]
            yield np.stack([np.bincount(row, minlength=n) for row in rows]).astype(float)
