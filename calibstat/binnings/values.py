"""One cell for each distinct value."""

from __future__ import annotations

from typing import ClassVar, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat.binnings.base import Binning, Cells, Moves, first_of_ties, occupied
from calibstat.data.arrays import Floats, Ints, increasing_order
from calibstat.data.parameters import NotNegative
from calibstat.data.rounding import TIE_OF_PREDICTIONS
from calibstat.data.sample import Predictions


@final
@dataclass(frozen=True)
class UniqueValues(Binning):
    """One cell for each distinct value of what is conditioned on: binned errors then become unbinned ones.

    Values are equal if they exceed the smallest of their cell by at most four units in its last place (otherwise
    rounding would turn a true zero into 0.1), so 1e-17 and 1e-30 are different predictions. Where all columns of three
    or more classes are conditioned on together, the rounding is that of their sum, which is one: 8.9e-16 in each
    column, because one of the columns may have been computed from the others.

    Parameters
    ----------
    tolerance : float, >= 0
        Values that exceed the smallest of their cell by at most this are equal too.

    Raises
    ------
    ValueError
        If `tolerance` is negative or not finite.

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 1, 1], [0.3, 0.1 + 0.2, 0.5])
    >>> cs.UniqueValues().cut(sample.predictions).size
    2
    """

    tolerance: NotNegative = 0.0
    columns: ClassVar[int | None] = None
    takes_counts: ClassVar[bool] = True

    def cuts_buckets(self, predictions: Predictions) -> str:  # noqa: ARG002
        """Buckets are not cut: those of equal means are one cell."""
        return ""

    def cut(self, predictions: Predictions) -> Cells:
        """Pool equal rows."""
        index = np.zeros(len(predictions), dtype=np.intp)
        whole = sum(not isinstance(key, str) for key in predictions.keys) > 1
        for key, column in zip(predictions.keys, predictions.conditioned.T, strict=True):
            rounding = TIE_OF_PREDICTIONS if whole and not isinstance(key, str) else 0.0
            pooled = _pool(column, max(self.tolerance, rounding))
            index = occupied(index * (int(pooled.max(initial=0)) + 1) + pooled, "data").index
        return Cells(int(index.max(initial=0)) + 1, index, "data")

    def __repr__(self) -> str:
        return f"UniqueValues({self.tolerance!r})" if self.tolerance else "UniqueValues()"


def _pool(values: Floats, tolerance: float) -> Ints:
    """Number the groups of equal values, from small to large."""
    order = increasing_order(values)
    starts = first_of_ties(values[order], tolerance)
    index = np.empty(len(values), dtype=np.intp)
    index[order] = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(values)))
    return index


@final
@dataclass(frozen=True)
class Categories(Binning):
    """One cell for each level of the one variable that is conditioned on; distinct numbers are levels too.

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 1, 1], [0.2, 0.7, 0.9], variables={"sex": ["m", "f", "m"]})
    >>> cs.Categories().cut(cs.Given("sex")(sample).predictions).names
    ('f', 'm')
    """

    takes_counts: ClassVar[bool] = True

    def cut(self, predictions: Predictions) -> Cells:
        """Give each level its cell; levels that no row has are left out."""
        if len(predictions.keys) != 1 or not isinstance(predictions.keys[0], str):
            raise ValueError(
                f"{self!r} needs one variable, but {predictions.condition} is conditioned on; look through "
                "Given('name of a variable') first, or use UniqueValues() for predictions."
            )
        variable = predictions.column(predictions.keys[0])
        found, index = np.unique(variable.values, return_inverse=True)
        names = (
            tuple(f"{value:g}" for value in found)
            if variable.levels is None
            else tuple(variable.levels[int(level)] for level in found)
        )
        moves: Moves = "fixed" if variable.categorical else "data"
        return Cells(max(1, len(found)), index.astype(np.intp, copy=False), moves, names=names)
