"""Axes of probabilities: when a logit scale shows more, where 0 and 1 are drawn on it, and which ticks fit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import Locator

from calibstat.data.arrays import Floats
from calibstat.displays._style import tick

Scale: TypeAlias = Literal["linear", "logit"]

# A linear axis hides predictions that crowd: more than half of the weight below 0.1 or above 0.9.
_TAIL, _CROWDED = 0.1, 0.5
# No probability is drawn nearer than this to 0 or 1 on a logit axis.
NEAREST = 1e-7
_WIDEST_EDGE = 0.002
# From the most to the least welcome, on a logit axis; each comes with its mirror image.
_ORDER = ((0.5, 0.1, 0.01), (0.25, 0.001, 1e-4, 1e-5, 1e-6), (0.05,), (0.4, 0.02, 0.005), (0.3, 0.2, 0.15, 0.03))


def crowds(probabilities: Floats, weights: Floats | None = None) -> bool:
    """Whether more than half of the weight lies within 0.1 of 0 or 1."""
    return float(np.average((probabilities < _TAIL) | (probabilities > 1 - _TAIL), weights=weights)) > _CROWDED


def on_scale(probabilities: Floats, scale: Scale) -> Floats:
    """Return where probabilities lie along the axis; on a logit scale they must lie between 0 and 1."""
    values = np.asarray(probabilities, dtype=float)
    return values if scale == "linear" else np.log(values) - np.log1p(-values)


def off_scale(places: Floats, scale: Scale) -> Floats:
    """Return the probabilities at places along the axis."""
    places = np.asarray(places, dtype=float)
    return places if scale == "linear" else 1 / (1 + np.exp(-places))


def ends(values: Iterable[Floats], scale: Scale, n: int = 10**6) -> tuple[float, float]:
    """Return the edges, where 0 and 1 are drawn: on a logit scale at half the distance of the nearest value inside.

    They are no nearer to 0 and 1 than 1 / n for n rows (or 0.002, if that is less), where fewer than one event is
    expected in all rows together, so that predictions of a millionth do not take the axis.
    """
    if scale == "linear":
        return 0.0, 1.0
    all_values = np.concatenate([np.ravel(each) for each in values])
    inside = all_values[(all_values > NEAREST) & (all_values < 1 - NEAREST)]
    low, high = (inside.min(), 1 - inside.max()) if len(inside) else (0.1, 0.1)
    floor = max(NEAREST, min(1 / max(n, 1), _WIDEST_EDGE))
    return max(low / 2, floor), 1 - max(high / 2, floor)


def widened(low: float, high: float, scale: Scale, share: float = 0.04) -> tuple[float, float]:
    """Return an interval with a margin on either side, as a share of its length; never of length 0."""
    ends_of_it = on_scale(np.array([low, high]), scale)
    margin = share * max(float(np.ptp(ends_of_it)), 0.05 if scale == "linear" else 0.5)
    found = off_scale(ends_of_it + margin * np.array([-1, 1]), scale)
    return float(found[0]), float(found[1])


def set_probability_axis(ax: Axes, which: Literal["x", "y"], scale: Scale, low: float, high: float) -> None:
    """Give an axis its scale, and ticks between `low` and `high` that do not crowd."""
    axis = ax.xaxis if which == "x" else ax.yaxis
    if scale == "logit":
        (ax.set_xscale if which == "x" else ax.set_yscale)("logit")
        axis.set_minor_locator(_NoTicks())
    axis.set_major_locator(ProbabilityTicks(scale, low, high))
    axis.set_major_formatter(tick)


class _NoTicks(Locator):
    def __call__(self) -> list[float]:
        return []


class ProbabilityTicks(Locator):
    """Round probabilities between two values, as many as the length of the axis has room for."""

    axis: Any

    def __init__(self, scale: Scale, low: float, high: float) -> None:
        self.scale = scale
        self.low = low
        self.high = high

    def __call__(self) -> list[float]:
        """Return the ticks within the view."""
        first, last = sorted(self.axis.get_view_interval())
        low, high = max(first, self.low), min(last, self.high)
        room = self.axis.get_tick_space()
        if self.scale == "linear":
            return _even(low, high, max(3, min(room, 7)))
        view = float(np.ptp(on_scale(np.clip([first, last], NEAREST / 10, 1 - NEAREST / 10), "logit")))
        # along x matplotlib has room for a label in three heights of a letter, which is five widths
        return self._logit(low, high, view / (5 * room + 2))

    def tick_values(self, vmin: float, vmax: float) -> list[float]:
        """Return the ticks within an interval."""
        return _even(vmin, vmax, 6) if self.scale == "linear" else self._logit(vmin, vmax, 0.2)

    def _logit(self, low: float, high: float, letter: float) -> list[float]:
        """Take the most welcome ticks first, and leave out those whose label would come too near to one taken.

        Along x a label is as long as its letters; along y a line is taken for five.
        """
        taken: list[tuple[float, float, float]] = []
        vertical = getattr(self.axis, "axis_name", "x") == "y"
        for group in _ORDER:
            for value in sorted({round(each, 9) for both in group for each in (both, 1 - both)}):
                place = float(on_scale(np.array(value), "logit"))
                half = 2.5 if vertical else (len(f"{value:.12g}") + 2) / 2
                clear = all(abs(place - other) > letter * (half + beside) for _, other, beside in taken)
                if low <= value <= high and clear:
                    taken.append((value, place, half))
        found = sorted(value for value, _, _ in taken)
        return found if len(found) > 1 else max(found, _even(low, high, 5), key=len)


def _even(low: float, high: float, room: int) -> list[float]:
    """Return multiples of the smallest round step with at most `room` of them inside."""
    for step in (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1.0):
        found = np.arange(np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9) + 1) * step
        if len(found) <= room:
            return [round(float(each), 9) + 0.0 for each in found]
    return [low, high]
