"""The simulated power of a test, and where it reaches what was wanted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self, final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from calibstat._text import counted
from calibstat.data.arrays import Floats
from calibstat.displays._style import (
    CURVE,
    FAINT,
    INK,
    PlotDisplay,
    ResultDisplay,
    label_axes,
    legend_below,
    lines_of,
    signed_percent_tick,
    tick,
)
from calibstat.planning.planning import Plan
from calibstat.planning.search import PowerCurve


@final
@dataclass(eq=False, repr=False)
class PowerDisplay(ResultDisplay, PlotDisplay):
    """The power of a test over numbers of labels or sizes of an error, with its Monte Carlo band and the answer.

    Make one by `from_result`, or by ``result.plot()`` of the results of `required_n` and `minimum_detectable`. Points
    are shares of simulated samples that are rejected, larger for more samples; the curve is the fit that gave the
    answer (a probit line), with its band of 95 %; the answer is marked where the curve reaches the wanted power.

    Parameters
    ----------
    plan : RequiredN or MinimumDetectable
    curve : PowerCurve
        The fit around the answer.
    places, runs, shares : (m,) floats
        Where was simulated, how often, and the share of rejections.
    name : str, optional
        Title.

    Attributes
    ----------
    points_ : matplotlib PathCollection
    curve_, answer_ : matplotlib Line2D
    band_ : matplotlib PolyCollection
    ax_, figure_ : matplotlib Axes, Figure

    Examples
    --------
    >>> import calibstat as cs
    >>> from calibstat.generators import BetaPredictions, Slope
    >>> plan = cs.required_n(BetaPredictions(1, 1, Slope(0.5)), cs.Spiegelhalter(), n_repeats=400, rng=0)
    >>> display = cs.PowerDisplay.compute(plan)
    >>> abs(float(np.interp(plan.n, display.curve.places, display.curve.power)) - 0.8) < 0.01
    True
    """

    plan: Plan
    curve: PowerCurve
    places: Floats
    runs: Floats
    shares: Floats
    name: str | None = None

    size: ClassVar[tuple[float, float]] = (3.4, 3.2)

    @classmethod
    def compute(cls, result: Plan, *, name: str | None = None) -> Self:
        """Take the numbers from the result as `from_result` does, without drawing them."""
        if not isinstance(result, Plan):
            raise TypeError(
                f"result is of type {type(result).__name__}, but that of required_n or minimum_detectable is expected."
            )
        points = result.crossing.points
        places, which = np.unique(points.places, return_inverse=True)
        runs, rejections = (np.bincount(which, each).astype(float) for each in (points.runs, points.rejections))
        return cls(result, result.curve(), places, runs, rejections / runs, name)

    def _fill(self, ax: Axes, options: dict[str, Any]) -> None:
        plan, curve = self.plan, self.curve
        place, axis = plan.crossing.place, plan.answer[0]
        self.band_ = ax.fill_between(curve.places, curve.low, curve.high, color=CURVE, alpha=0.2, linewidth=0)
        look: dict[str, Any] = {"color": CURVE, "linewidth": 1.6, **options}
        (self.curve_,) = ax.plot(curve.places, curve.power, **look)
        sizes = 8 + 30 * self.runs / self.runs.max()
        self.points_ = ax.scatter(self.places, self.shares, sizes, color=FAINT, zorder=3, linewidths=0)
        ax.axhline(plan.power, color=INK, linewidth=0.8, linestyle=(0, (3, 2)), zorder=1)
        (self.answer_,) = ax.plot([place, place], [0, plan.power], color=INK, linewidth=1.2, marker="D", markersize=5)
        self.answer_.set(markevery=[1], zorder=5)
        ax.set_ylim(0, 1.04)
        reach = (self.places > place / 5) & (self.places < place * 3)
        ax.set_xlim(0, 1.05 * max(float(self.places[reach].max(initial=place)), float(curve.places.max())))
        ax.xaxis.set_major_locator(MaxNLocator(4))
        ax.xaxis.set_major_formatter(tick)
        ax.yaxis.set_major_formatter(signed_percent_tick)
        label_axes(ax, axis, "power")
        handles = [
            self.answer_,
            Line2D([], [], color=CURVE, linewidth=1.6),
            self.band_,
            Line2D([], [], color=FAINT, marker="o", markersize=4, linestyle="none"),
        ]
        legend_below(ax, handles, ["the answer", "fitted power", "95 % Monte Carlo", "simulated"])

    @property
    def _answer(self) -> list[str]:
        return [*lines_of(self.plan.answer[1], 44), f"for power {self.plan.power:g} at level {self.plan.test.level:g}"]

    @property
    def caption(self) -> str:
        """What is drawn, from how many simulated samples, and how to read it."""
        return (
            f"Power of {self.plan.test} at level {self.plan.test.level:g} against {self.plan.model!r}, from "
            f"{counted(int(self.runs.sum()), 'simulated sample')}: points are shares of rejections, the curve is a "
            f"probit line through those near the answer, with its 95 % Monte Carlo band. {self.plan.verdict}"
        )
