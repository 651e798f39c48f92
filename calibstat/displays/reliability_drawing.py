"""How a reliability diagram is drawn; all numbers are had before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D

from calibstat.arrays import Floats

if TYPE_CHECKING:
    from calibstat.displays.reliability import ReliabilityDisplay

Drawn: TypeAlias = tuple[Line2D, Line2D | None, LineCollection, Axes]

# Colours of Okabe & Ito, told apart by colour-blind readers; the marker differs too.
_WITHIN, _OUTSIDE, _BAR, _QUIET = "#0072B2", "#D55E00", "#BFD9EA", "#707070"
_COUNTS_HEIGHT = 0.13
_DEVIATION = "observed frequency minus predicted probability\n\u2190 happens less often      happens more often \u2192"


def draw_deviation(ax: Axes, display: ReliabilityDisplay, options: dict[str, Any]) -> Drawn:
    """Draw deviations around zero."""
    ax.axhline(0, color="black", linewidth=1, zorder=1)
    drawn = _draw(ax, display, display.axis.position, np.zeros_like(display.low), options)
    ax.set_xlabel(display.axis.label)
    ax.set_ylabel(_DEVIATION)
    if display.axis.categories is not None:
        ax.set_xticks(display.axis.position, display.axis.categories)
    _frame(ax, np.concatenate([display.deviation, display.low, display.high, [0.0]]))
    return drawn


def draw_classical(ax: Axes, display: ReliabilityDisplay, options: dict[str, Any]) -> Drawn:
    """Draw mean outcomes against mean predictions, around the diagonal."""
    ax.plot([0, 1], [0, 1], color="black", linewidth=1, zorder=1)
    drawn = _draw(ax, display, display.mean_prediction, display.mean_prediction, options)
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02 - 1.2 * _COUNTS_HEIGHT, 1.02), aspect="equal")
    ax.set_yticks(np.linspace(0, 1, 6))
    ax.set_xlabel(display.axis.event)
    ax.set_ylabel("observed frequency")
    return drawn


def _draw(
    ax: Axes, display: ReliabilityDisplay, position: Floats, calibrated: Floats, options: dict[str, Any]
) -> Drawn:
    """Draw bars and points; `calibrated` is where a calibrated model's points scatter around."""
    bars = ax.vlines(
        position,
        calibrated + display.low,
        calibrated + display.high,
        color=_BAR,
        linewidth=7,
        zorder=2,
        label=f"where {100 * display.coverage:g} % fall if the model is calibrated",
    )
    height = calibrated + display.deviation
    look: dict[str, Any] = {
        "color": _WITHIN,
        "marker": "o",
        "markersize": 5.5,
        "linestyle": "none",
        "zorder": 3,
        "label": "mean of a cell",
    }
    (line,) = ax.plot(position, height, **(look | options))
    outside = _mark_outside(ax, display, position, height) if display.outside.any() else None
    counts = _draw_counts(ax, display, position)
    ax.legend(loc="upper left", fontsize="small", frameon=False)
    return line, outside, bars, counts


def _mark_outside(ax: Axes, display: ReliabilityDisplay, position: Floats, height: Floats) -> Line2D:
    found = display.outside
    (line,) = ax.plot(
        position[found],
        height[found],
        color=_OUTSIDE,
        marker="D",
        markersize=6.5,
        linestyle="none",
        zorder=4,
        label=f"outside its bar: more than noise\n({100 * (1 - display.coverage):.3g} % of cells by chance)",
    )
    return line


def _draw_counts(ax: Axes, display: ReliabilityDisplay, position: Floats) -> Axes:
    """Show the rows of each cell at the foot of the axes."""
    counts = ax.inset_axes((0, 0, 1, _COUNTS_HEIGHT), sharex=ax, zorder=0)
    counts.vlines(position, 0, display.count, color="#A0A0A0", linewidth=4)
    counts.set_ylim(0, 1.6 * display.count.max())
    counts.axis("off")
    smallest, largest = _plain(display.count.min()), _plain(display.count.max())
    span = smallest if smallest == largest else f"{smallest} to {largest}"
    counts.text(
        0.01, 0.95, f"rows in each cell: {span}", transform=counts.transAxes, va="top", color=_QUIET, fontsize="small"
    )
    return counts


def _frame(ax: Axes, heights: Floats) -> None:
    """Leave room for the counts below and for words above."""
    low, high = float(heights.min()), float(heights.max())
    span = max(high - low, 1e-6)
    ax.set_ylim(low - 0.3 * span, high + 0.38 * span)


def _plain(number: float) -> str:
    return f"{number:,.0f}" if number == round(number) else f"{number:,.4g}"
