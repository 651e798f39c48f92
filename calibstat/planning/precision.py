"""How many rows does a validation need, so that its intervals are as narrow as wanted?"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf, sinh, sqrt
from typing import Annotated, Any, ClassVar, NamedTuple, TypeAlias, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._logistic import clipped_logit, fisher_information
from calibstat._text import counted, percent
from calibstat.data.arrays import Floats
from calibstat.data.parameters import CONFIDENCE_LEVEL, Limits, check_kind, check_share, numbers
from calibstat.data.rounding import ROUNDING
from calibstat.data.sample import Sample
from calibstat.estimators.scores import AUC
from calibstat.generators.finite import Empirical
from calibstat.inference.arguments import refuse_clusters
from calibstat.inference.intervals import student_quantile
from calibstat.inference.results import Result, number

_Width: TypeAlias = Annotated[float, Limits(lambda value: value > 0, "a width above zero")]


def precision_n(
    predictions: Any,
    *,
    oe_width: float = 0.2,
    slope_width: float = 0.2,
    c_index_width: float = 0.1,
    prevalence: float | None = None,
    c_index: float | None = None,
    confidence_level: float = CONFIDENCE_LEVEL,
) -> PrecisionPlan:
    r"""Find how many rows give intervals of O/E, calibration slope and C-index of the wanted widths.

    By the formulas of Riley et al. (2021), for a model that predicts the chance of an event as it is:

    .. math:: n_{O/E} = \frac{1 - \phi}{\phi\, s^2}, \qquad
              n_\text{slope} = \frac{I_{00}}{s^2 (I_{00} I_{11} - I_{01}^2)}, \qquad
              s_C^2 = \frac{C (1 - C) \big(1 + (\frac n2 - 1) (\frac{1 - C}{2 - C} + \frac{C}{1 + C})\big)}
              {n^2 \phi (1 - \phi)}

    with the share of events :math:`\phi`, the standard errors s that the widths allow (of log O/E; the width of O/E is
    that of an interval on the logarithm), the means :math:`I_{jk}` of p (1 - p) logit(p)^(j + k), and the variance of
    the C-index of Newcombe (2006). The largest of the three numbers is needed. The widths are those on average, of
    large samples; `clinical_summary` has such intervals.

    Parameters
    ----------
    predictions : (m,) floats, or Sample
        How predictions are spread where the model will be used: those of an earlier sample, or quantiles of a law.
        Labels are not used.
    oe_width, slope_width, c_index_width : float
        Widths of the intervals, above zero; infinity for one that does not matter.
    prevalence, c_index : float, optional
        The share of events and the C-index to plan with, by default those that the predictions have if they are right.
    confidence_level : float

    Returns
    -------
    PrecisionPlan
        With ``n`` and ``events``; prints itself in words.

    Raises
    ------
    ValueError, TypeError
        If an argument is not as described, rows come in clusters, or the predictions do not vary.

    Examples
    --------
    >>> import calibstat as cs
    >>> import numpy as np
    >>> risks = np.random.default_rng(0).beta(1.3, 1.8, 10_000)
    >>> plan = cs.precision_n(risks, oe_width=0.22, slope_width=0.3)
    >>> 900 < plan.n < 1000, plan.decisive
    (True, 'calibration slope')
    """
    p = _of_event(predictions)
    check_share("confidence_level", confidence_level, CONFIDENCE_LEVEL)
    for name, width in (("oe_width", oe_width), ("slope_width", slope_width), ("c_index_width", c_index_width)):
        check_kind(name, width, _Width, "0.2")
    for name, share in (("prevalence", prevalence), ("c_index", c_index)):
        if share is not None:
            check_share(name, share, 0.5)
    phi = float(p.mean()) if prevalence is None else prevalence
    if not 0 < phi < 1:
        raise ValueError(f"the predictions have a mean of {phi:g}, so that no event, or nothing else, is expected")
    area = _area(p) if c_index is None else c_index
    z = student_quantile(inf, 0.5 + confidence_level / 2)
    laws: dict[str, tuple[float, float, Callable[[float], float]]] = {
        "observed / expected (O/E)": (1.0, oe_width, partial(_of_ratio, phi, z)),
        "calibration slope": (1.0, slope_width, partial(_of_slope, _variance_of_slope(p), z)),
        "C-index (AUC)": (area, c_index_width, partial(_of_area, area, phi, z)),
    }
    goals = tuple(Goal(name, value, width, _least(name, width, law), law) for name, (value, width, law) in laws.items())
    return PrecisionPlan(goals, phi, len(p), confidence_level)


def _of_event(predictions: Any) -> Floats:
    """Return predictions (m,) of the event; refuse weights, which the formulas do not have."""
    if not isinstance(predictions, Sample):
        p = numbers("predictions", predictions, (1,))
        if not len(p) or not ((p >= 0) & (p <= 1)).all():
            raise ValueError("predictions must be probabilities of the event, one for each row, between 0 and 1")
        return p
    if predictions.predictions.n_classes > 2:
        raise ValueError(
            f"the sample has {predictions.predictions.n_classes} classes, but a plan is for two: look through a lens "
            "first, for example TopLabel()(sample)"
        )
    if predictions.predictions.weights is not None:
        raise ValueError("the sample has weights, which this plan does not take: leave them out, or draw rows by them")
    refuse_clusters(predictions, "precision_n", "required_n, with cluster_size and correlation, plans for clusters")
    return predictions.predictions.event


class Goal(NamedTuple):
    """A measure, its anticipated value, the wanted width of its interval, how many rows give it, and the width by n."""

    name: str
    value: float
    width: float
    n: int
    width_of: Callable[[float], float]


# A plan for more rows than this is refused.
_MOST_ROWS = 10**12


def _least(name: str, width: float, width_of: Callable[[float], float]) -> int:
    """Return the smallest number of rows for which the interval is no wider, by bisection."""
    low, high = 0, 2
    while width_of(high) > width:
        low, high = high, 2 * high
        if high > 2 * _MOST_ROWS:
            raise ValueError(
                f"an interval of the {name} that is {width:g} wide needs more than {_MOST_ROWS:.0e} rows: ask for a "
                "wider one"
            )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if width_of(middle) <= width else (middle, high)
    return high


def _of_ratio(phi: float, z: float, n: float) -> float:
    return 2 * sinh(min(z * sqrt((1 - phi) / (phi * n)), 700.0))


def _of_slope(variance: float, z: float, n: float) -> float:
    return 2 * z * sqrt(variance / n)


def _of_area(area: float, phi: float, z: float, n: float) -> float:
    pairs = (1 - area) / (2 - area) + area / (1 + area)
    variance = area * (1 - area) * (1 + (n / 2 - 1) * pairs) / (n**2 * phi * (1 - phi))
    return 2 * z * sqrt(max(variance, 0.0))


def _variance_of_slope(p: Floats) -> float:
    """Return the variance of the slope of one row; refuse predictions that do not say how they are spread."""
    if not (p * (1 - p)).any():
        raise ValueError("all predictions are 0 or 1, so that nothing is uncertain: give probabilities in between")
    logits = clipped_logit(p)
    design = np.column_stack([np.ones(len(p)), logits])
    (one, cross), (_, square) = fisher_information(design, logits[None], np.ones((1, len(p))))[0] / len(p)
    spread = one * square - cross**2
    if not spread > ROUNDING * one * square:
        raise ValueError(
            "all predictions are equal, or nearer to 0 or 1 than 1e-9, so that there is no calibration slope: give "
            "predictions that vary"
        )
    return float(one / spread)


def _area(p: Floats) -> float:
    """Return the C-index of predictions that are right."""
    return float(Empirical(p).truth(AUC()))


@final
@dataclass(frozen=True, eq=False, repr=False)
class PrecisionPlan(Result):
    """The result of `precision_n`.

    Parameters
    ----------
    goals : tuple of Goal
        For O/E, calibration slope and C-index: anticipated value, wanted width, number of rows.
    prevalence : float
        The share of events that is planned with.
    n_predictions : int
        How many predictions say how these are spread.
    confidence_level : float

    Examples
    --------
    >>> import calibstat as cs
    >>> plan = cs.precision_n([0.1, 0.2, 0.4, 0.7])
    >>> plan.n, plan.events, round(plan.widths(plan.n)["calibration slope"], 3)
    (2001, 700, 0.2)
    """

    _row: ClassVar[str] = "measure"
    _spare_columns: ClassVar[tuple[int, ...]] = (4,)
    _display: ClassVar[str] = "PrecisionDisplay"

    goals: tuple[Goal, ...]
    prevalence: float
    n_predictions: int
    confidence_level: float

    @property
    def n(self) -> int:
        """Number of rows that give every width."""
        return max(goal.n for goal in self.goals)

    @property
    def events(self) -> int:
        """How many events are expected among them."""
        return round(self.n * self.prevalence)

    @property
    def decisive(self) -> str:
        """The measure that needs most rows."""
        return max(self.goals, key=lambda goal: goal.n).name

    def widths(self, n: int) -> dict[str, float]:
        """Return the widths of the intervals that so many rows give on average, by measure."""
        return {goal.name: goal.width_of(n) for goal in self.goals}

    @property
    def verdict(self) -> str:
        """One sentence: the number of rows, of events, and what decides."""
        most = max(self.goals, key=lambda goal: goal.n)
        return (
            f"At least {counted(self.n, 'row')} with about {counted(self.events, 'event')} are needed: the interval of "
            f"the {most.name} decides ({percent(self.confidence_level)}, {number(most.width)} wide)."
        )

    def _values(self) -> dict[str, Any]:
        return {
            "n": self.n,
            "events": self.events,
            "decisive": self.decisive,
            "prevalence": self.prevalence,
            "confidence_level": self.confidence_level,
            "measures": self._rows(),
        }

    def _rows(self) -> list[dict[str, Any]]:
        return [{"measure": goal.name, "value": goal.value, "width": goal.width, "n": goal.n} for goal in self.goals]

    def _table(self) -> list[list[str]]:
        head = ["measure", "value", f"{percent(self.confidence_level)} width", "rows", "events"]
        return [head] + [
            [goal.name, number(goal.value), number(goal.width), f"{goal.n}", f"{round(goal.n * self.prevalence)}"]
            for goal in self.goals
        ]

    def _details(self) -> list[tuple[str, str]]:
        shares = f"{percent(float(f'{self.prevalence:.3g}'))} events"
        return [
            ("planned", f"with {shares}, and {counted(self.n_predictions, 'prediction')} that are right on average")
        ]
