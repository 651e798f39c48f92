"""Validity curves and the area under them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from calibstat.arrays import Floats
from calibstat.binnings.base import Binning
from calibstat.binnings.unique import UniqueValues
from calibstat.estimators.binned import BinnedEstimator
from calibstat.estimators.cells.miscalibration import ECE
from calibstat.estimators.tally import Tally, TallyPlan
from calibstat.sample import Sample

# Distances and deviations that differ by less are the same.
TIES = 1e-12


@final
@dataclass(frozen=True, eq=False)
class ValidityCurve:
    """The share of rows whose prediction is off by no more than a tolerance; call it at tolerances.

    Parameters
    ----------
    deviation : (m,) floats
        The places of the steps, increasing.
    share : (m,) floats
        The height from each step on.
    """

    deviation: Floats
    share: Floats

    @classmethod
    def of(cls, deviation: Floats, mass: Floats) -> ValidityCurve:
        """Put deviations (m,) with their masses in order."""
        order = np.argsort(deviation, kind="stable")
        return cls(deviation[order], np.cumsum(mass[order]) / mass.sum())

    def __call__(self, tolerance: float | Floats) -> Floats:
        """Return the share of rows off by no more than each tolerance."""
        place = np.searchsorted(self.deviation, np.asarray(tolerance) + TIES, side="right")
        return np.concatenate([[0.0], self.share])[place]

    @property
    def area(self) -> float:
        """The area under the curve from 0 to 1."""
        return 1 - float(np.diff(self.share, prepend=0) @ self.deviation)


@final
@dataclass(frozen=True)
class AUCV(BinnedEstimator):
    r"""Area under the validity curve (Gupta & Ramdas 2021), exact or binned: one minus the ECE of the same cells.

    .. math:: V(\epsilon) = \sum_b \frac{n_b}{n} 1[\,|\bar y_b - \bar p_b| \le \epsilon\,], \qquad
              \int_0^1 V = 1 - \sum_b \frac{n_b}{n} |\bar y_b - \bar p_b|

    With the default cells, the distinct predictions, it is exact; with others binned (the authors take 15 cells of
    equal mass unless scores repeat). Total variation takes the place of the absolute value for more classes. Between
    0 and 1, and *higher is better*: a test looks for small values. Biased downward by as much as the ECE upward: with
    one row in each cell it is one minus the mean absolute residual whatever the model. `curve` gives V itself.
    O(n log n).

    Parameters
    ----------
    binning : Binning

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 0, 1, 0, 1, 0, 1, 1], [0.1, 0.2, 0.2, 0.4, 0.6, 0.6, 0.7, 0.9])
    >>> round(cs.AUCV()(sample), 6), float(cs.AUCV().curve(sample)(0.1))
    (0.7875, 0.5)
    """

    binning: Binning = UniqueValues()
    quantity: ClassVar[str] = "area under the validity curve of cell means (higher is better)"

    @property
    def estimand(self) -> AUCV:
        """The area under the exact validity curve."""
        return AUCV(UniqueValues())

    def functional(self, tally: Tally) -> Floats:
        """Subtract the mean deviation from one."""
        return 1 - ECE(self.binning).functional(tally)

    def evidence(self, values: Floats) -> Floats:
        """Smaller values are stronger evidence."""
        return -values

    def curve(self, sample: Sample) -> ValidityCurve:
        """Return the validity curve of a sample; through a lens: ``AUCV().curve(TopLabel()(sample))``."""
        tally = TallyPlan(sample.predictions, self.binning.cut(sample.predictions), ())(sample.outcomes)
        gaps = np.abs(tally.mean_outcome - tally.mean_prediction).sum(axis=-1)
        if sample.predictions.n_classes > 2:
            gaps = gaps / 2
        held = tally.weight > 0
        return ValidityCurve.of(gaps[held], tally.weight[held])
