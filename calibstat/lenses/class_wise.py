"""One class against the rest: marginal (class-wise) calibration."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import final

import numpy as np

from calibstat.arrays import Array
from calibstat.lenses.base import Relabelling
from calibstat.predictions import Predictions


@final
@dataclass(frozen=True)
class ClassWise(Relabelling):
    """Did class `label` happen? P(Y = c | prediction_c) = prediction_c (Vaicenavicius et al. 2019, eq. 3, one class).

    Code 1 is "the class happened", code 0 is any other class.

    Parameters
    ----------
    label : label
        A *label* of the sample, never a position.

    Raises
    ------
    ValueError
        On looking, if `label` is not among the classes.

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample(["cat", "dog"], [[0.5, 0.3, 0.2], [0.1, 0.8, 0.1]], labels=["cat", "dog", "car"])
    >>> cs.ClassWise("dog")(sample).outcomes
    array([0, 1])
    """

    label: Hashable

    def table(self, predictions: Predictions) -> tuple[Array, tuple[Hashable, ...]]:
        """Code the class 1 and the others 0; all rows share the codes."""
        if self.label not in predictions.classes:
            raise ValueError(
                f"{self!r}: {self.label!r} is not a label of this sample, whose classes are {predictions.classes!r}; "
                "name one of these (a label, not a position)."
            )
        position = predictions.classes.index(self.label)
        codes = np.zeros((1, predictions.n_classes), dtype=np.intp)
        codes[0, position] = 1
        return codes, (f"not {self.label}", self.label)
