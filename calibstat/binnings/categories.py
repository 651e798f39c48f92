"""One cell for each category of a variable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from calibstat.binnings.base import Binning, Cells, Moves
from calibstat.predictions import Predictions


@final
@dataclass(frozen=True)
class Categories(Binning):
    """One cell for each level of the one variable that is conditioned on (numbers count as levels too).

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 1, 1], [0.2, 0.7, 0.9], variables={"sex": ["m", "f", "m"]})
    >>> cs.Categories().cut(cs.Given("sex")(sample).predictions).names
    ('f', 'm')
    """

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
