"""A value with its interval, its margin, and what noise alone gives."""

from __future__ import annotations

from typing import ClassVar, final

from calibstat.displays._forest import ForestDisplay


@final
class EstimateDisplay(ForestDisplay):
    """A value with its interval, beside where the values of a calibrated model with as many rows lie.

    Make one by `from_result`, or by the ``plot`` of a result: of `estimate` or `equivalence_test`. A value has the
    strong colour where `calibration_test` would reject: where it is beyond what noise alone gives. The picture of an
    equivalence test has a line at the margin, and a line from the value to its bound.

    Parameters
    ----------
    forest : Forest
        The row, and the words of the picture.
    name : str, optional
        Title.

    Attributes
    ----------
    points_, intervals_, noise_ : lists of matplotlib Line2D
        The value, its interval and the bar of noise; empty where there is none.
    joins_ : list
        Always empty.
    ax_, figure_ : matplotlib Axes, Figure

    Examples
    --------
    >>> import calibstat as cs
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(1000)
    >>> found = cs.estimate(cs.Sample(rng.random(1000) < p**2, p), cs.ECE(cs.EqualMass(10)), rng=0)
    >>> cs.EstimateDisplay.compute(found).forest.answer
    ('0.15 (95 %: 0.1028 to 0.1972)', 'noise alone 0.03183; n = 1,000')
    """

    of: ClassVar[str] = "estimate and equivalence_test"
