"""Forest plots of groups, variables and leaves, those of the strongest evidence first."""

from __future__ import annotations

from typing import ClassVar, final

from calibstat.displays._forest import ForestDisplay


@final
class AuditDisplay(ForestDisplay):
    """Groups or variables with their errors and joint intervals, those of the strongest evidence first.

    Make one by `from_result`, or by the ``plot`` of a result: of `subgroup_audit`, `scan_variables`, `learner_audit` or
    `equal_curves_test`. A pale bar reaches to what noise alone gives on average, which is more in small groups; errors
    in the strong colour are more than noise, with one error probability for all rows. At the right stands what was said
    and what happened, on average, or where along a variable the error is largest.

    Parameters
    ----------
    forest : Forest
        The rows, and the words of the picture.
    name : str, optional
        Title.

    Attributes
    ----------
    points_, intervals_, noise_ : lists of matplotlib Line2D
        The errors, their intervals and the bars of noise, from the top; rows without one are left out.
    joins_ : list
        Always empty: rows are not compared with each other.
    ax_, figure_ : matplotlib Axes, Figure

    Examples
    --------
    >>> import calibstat as cs
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p, sex = rng.random(2000), rng.choice(["f", "m"], 2000)
    >>> happened = rng.random(2000) < np.where(sex == "f", p, p**1.5)
    >>> audit = cs.subgroup_audit(cs.Sample(happened, p, variables={"sex": sex}), by="sex", rng=0)
    >>> cs.AuditDisplay.compute(audit).forest.answer
    ('off in 2 of 3 groups', 'sex m: predicts too high on average')
    """

    of: ClassVar[str] = "subgroup_audit, scan_variables, learner_audit and equal_curves_test"
