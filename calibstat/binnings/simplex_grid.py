"""A regular grid on the probability simplex."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from calibstat.binnings.base import Binning, Cells, occupied, warn_of_small_cells
from calibstat.binnings.intervals import closed_right
from calibstat.checks import at_least_one
from calibstat.predictions import Predictions

# A value this little above an edge lies on it: 25 * 0.28 is more than 7 in floats, and so are many sums of thirds.
_NOISE = 1e-12


@final
@dataclass(frozen=True)
class SimplexGrid(Binning):
    """Cut every coordinate into `n_bins` cells of equal width, (low, high], the first one closed.

    All K coordinates are cut, so the grid treats the classes alike: three classes give ``n_bins ** 2`` congruent
    triangles (Vaicenavicius et al. 2019, Figure 1; Widmann et al. 2019). Only cells that hold a row are numbered.

    Parameters
    ----------
    n_bins : int
        Number of cells on each axis.

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 1, 2], [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.8, 0.2, 0.0]])
    >>> cs.SimplexGrid(2).cut(sample.predictions).index
    array([1, 0, 1])
    """

    n_bins: int
    columns: ClassVar[int | None] = None

    def __post_init__(self) -> None:
        at_least_one("n_bins", self.n_bins)

    def cut(self, predictions: Predictions) -> Cells:
        """Cut all conditioned columns, which must be probabilities."""
        variables = [key for key in predictions.keys if isinstance(key, str)]
        if variables:
            raise ValueError(
                f"{self!r} cuts probabilities, but {variables[0]!r} is a variable; cut it by another binning: "
                f"{self!r} * EqualMass(10)."
            )
        steps = closed_right(predictions.conditioned - _NOISE, np.arange(self.n_bins + 1) / self.n_bins)
        index = np.zeros(len(predictions), dtype=np.intp)
        for column in steps.T:
            # renumbering after each axis keeps the numbers small: n_bins ** K would overflow
            index = occupied(index * self.n_bins + column, "fixed").index
        size = int(index.max(initial=0)) + 1
        warn_of_small_cells(self, size, len(predictions))
        return Cells(size, index, "fixed")
