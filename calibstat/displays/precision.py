"""The widths of intervals over the number of rows, and where they are as narrow as wanted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self, final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from calibstat._text import counted, percent
from calibstat.data.arrays import Floats
from calibstat.displays._style import (
    INK,
    MARKERS,
    MODELS,
    PlotDisplay,
    ResultDisplay,
    label_axes,
    legend_below,
    lines_of,
    tick,
)
from calibstat.planning.precision import PrecisionPlan

_POINTS = 200
_REACH = 1.4  # the axis goes so much farther than the answer


@final
@dataclass(eq=False, repr=False)
class PrecisionDisplay(ResultDisplay, PlotDisplay):
    """The widths of the intervals of O/E, calibration slope and C-index over the number of rows.

    Make one by `from_result`, or by ``result.plot()`` of the result of `precision_n`. Each curve falls with the number
    of rows, and its marker is where it reaches the wanted width; that of the measure which needs most rows, the answer,
    is filled. A measure whose width may be infinite is left out.

    Parameters
    ----------
    plan : PrecisionPlan
    places : (m,) floats
        Numbers of rows.
    widths : mapping of str to (m,) floats
        The width that so many rows give on average, by measure.
    name : str, optional
        Title.

    Attributes
    ----------
    curves_, goals_ : lists of matplotlib Line2D
    answer_ : matplotlib Line2D
    ax_, figure_ : matplotlib Axes, Figure

    Examples
    --------
    >>> import calibstat as cs
    >>> display = cs.PrecisionDisplay.compute(cs.precision_n([0.1, 0.2, 0.4, 0.7]))
    >>> slope = display.widths["calibration slope"]
    >>> round(float(np.interp(2001, display.places, slope)), 3)
    0.2
    """

    plan: PrecisionPlan
    places: Floats
    widths: dict[str, Floats]
    name: str | None = None

    size: ClassVar[tuple[float, float]] = (3.4, 3.2)

    @classmethod
    def compute(cls, result: PrecisionPlan, *, name: str | None = None) -> Self:
        """Take the numbers from the result as `from_result` does, without drawing them."""
        if not isinstance(result, PrecisionPlan):
            raise TypeError(f"result is of type {type(result).__name__}, but that of precision_n is expected.")
        places = result.n * np.linspace(0, _REACH, _POINTS + 1)[1:]
        wanted = [goal for goal in result.goals if np.isfinite(goal.width)]
        return cls(result, places, {goal.name: np.array([*map(goal.width_of, places)]) for goal in wanted}, name)

    def _fill(self, ax: Axes, options: dict[str, Any]) -> None:
        plan = self.plan
        goals = [goal for goal in plan.goals if goal.name in self.widths]
        self.curves_, self.goals_ = [], []
        for goal, color, marker in zip(goals, MODELS, MARKERS, strict=False):
            look: dict[str, Any] = {"color": color, "linewidth": 1.6, **options}
            self.curves_ += ax.plot(self.places, self.widths[goal.name], label=goal.name, **look)
            filled = color if goal.name == plan.decisive else "none"
            self.goals_ += ax.plot(goal.n, goal.width, marker, color=color, markerfacecolor=filled, zorder=4)
        self.answer_ = ax.axvline(plan.n, color=INK, linewidth=0.8, linestyle=(0, (3, 2)), zorder=1)
        ax.set_xlim(0, float(self.places[-1]))
        ax.set_ylim(0, 2.5 * max(goal.width for goal in goals))
        ax.xaxis.set_major_locator(MaxNLocator(4))
        ax.xaxis.set_major_formatter(tick)
        label_axes(ax, "rows", f"width of the {percent(plan.confidence_level)} interval")
        legend_below(ax, [*self.curves_, self.answer_], [*self.widths, "rows that are needed"])

    @property
    def _answer(self) -> list[str]:
        decides = f"the {self.plan.decisive} decides"
        return [f"{counted(self.plan.n, 'row')}, {counted(self.plan.events, 'event')}", *lines_of(decides, 44, 1)]

    @property
    def caption(self) -> str:
        """What is drawn, and how to read it."""
        return (
            f"Widths of {percent(self.plan.confidence_level)} intervals over the number of rows, on average, for a "
            "model that is right (Riley et al. 2021); each marker is where a width is as wanted, the filled one where "
            f"most rows are needed. {self.plan.verdict}"
        )
