"""Forest plots of models and calibrators, and which of them can be told apart."""

from __future__ import annotations

from typing import ClassVar, final

from calibstat.displays._forest import ForestDisplay


@final
class ComparisonDisplay(ForestDisplay):
    """Models or calibrators with their errors and intervals, the best first, and which of them are told apart.

    Make one by `from_result`, or by the ``plot`` of a result: of `compare_models`, `compare_calibrators`,
    `comparison_test` or `variable_based_protocol`. Beside each error stands what noise alone gives a calibrated model
    with the same predictions; an error beyond it has the strong colour. A line at the right joins models that cannot be
    told apart from each other (as in the diagrams of Demsar 2006), which is what
    tests of differences say: intervals of models that were judged on the same rows may overlap though the models
    differ.

    Parameters
    ----------
    forest : Forest
        The rows, and the words of the picture.
    name : str, optional
        Title.

    Attributes
    ----------
    points_, intervals_, noise_ : lists of matplotlib Line2D
        The values, their intervals and the bars of noise, from the top; rows without one are left out.
    joins_ : list of matplotlib Line2D
        The lines at the right.
    ax_, figure_ : matplotlib Axes, Figure

    Examples
    --------
    >>> import calibstat as cs
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(1000)
    >>> y = rng.random(1000) < p
    >>> models = {"raw": cs.Sample(y, p), "bold": cs.Sample(y, p**2), "copy": cs.Sample(y, p)}
    >>> found = cs.compare_models(models, cs.DebiasedL2(cs.EqualMass(15)), rng=0)
    >>> cs.ComparisonDisplay.compute(found).forest.answer
    ('may be the best: raw, copy', '2 of 3 pairs told apart; n = 1,000')
    """

    of: ClassVar[str] = "compare_models, compare_calibrators, comparison_test and variable_based_protocol"
