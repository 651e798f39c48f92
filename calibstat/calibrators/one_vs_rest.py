"""One calibrator for each class."""

from __future__ import annotations

from typing import ClassVar, final

import numpy as np
from sklearn.base import clone

from calibstat.arrays import Floats, Ints
from calibstat.calibrators.base import Calibrator
from calibstat.calibrators.platt import Platt


@final
class OneVsRest(Calibrator):
    """A calibrator of two classes for each class against the others, then normalised (Zadrozny and Elkan 2002).

    A row for which all of them say 0 gets equal probabilities.

    Parameters
    ----------
    calibrator : Calibrator, optional
        By default Platt().

    Attributes
    ----------
    calibrators_ : list of Calibrator
        One for each class.
    """

    needs_every_class: ClassVar[bool] = True

    def __init__(self, calibrator: Calibrator | None = None) -> None:
        self.calibrator = calibrator

    def _fit(self, probabilities: Floats, _: Floats, targets: Ints, weights: Floats) -> None:
        each = Platt() if self.calibrator is None else self.calibrator
        self.calibrators_ = [
            clone(each).fit(column, (targets == number).astype(np.intp), weights)
            for number, column in enumerate(probabilities.T)
        ]

    def _calibrate(self, probabilities: Floats, _: Floats) -> Floats:
        found = [
            each.predict_proba(column)[:, 1] for each, column in zip(self.calibrators_, probabilities.T, strict=True)
        ]
        rows = np.column_stack(found)
        total = rows.sum(axis=1, keepdims=True)
        return np.where(total > 0, np.divide(rows, total, out=np.ones_like(rows), where=total > 0), 1 / rows.shape[1])
