"""One class against the rest: marginal (class-wise) calibration."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from calibstat.lenses.base import Lens, View
from calibstat.lenses.codes import Listed
from calibstat.predictions import Predictions


@final
@dataclass(frozen=True)
class ClassWise(Lens):
    """Did class `label` happen? P(Y = c | prediction_c) = prediction_c (Vaicenavicius et al. 2019, eq. 3, one class).

    Code 1 is "the class happened", code 0 is any other class; the induced prediction is that of the class and one minus
    it.

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

    def look(self, predictions: Predictions) -> View:
        """Keep the probability of the class and whether it happened; all rows share the codes."""
        if self.label not in predictions.classes:
            raise ValueError(
                f"{self!r}: {self.label!r} is not a label of this sample, whose classes are {predictions.classes!r}; "
                "name one of these (a label, not a position)."
            )
        position = predictions.classes.index(self.label)
        induced = np.empty((len(predictions), 2), order="F")
        induced[:, 1] = predictions.rows[:, position]
        np.subtract(1.0, induced[:, 1], out=induced[:, 0])
        codes = np.zeros((1, predictions.n_classes), dtype=np.intp)
        codes[0, position] = 1
        names = (f"not {self.label}", self.label)
        return View(replace(predictions, probabilities=induced, classes=names), Listed(codes))
