"""The calibration error of a predictor while its cells are merged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self, final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, NullLocator

from calibstat._text import counted
from calibstat.displays._style import (
    CURVE,
    INK,
    NOISE,
    PlotDisplay,
    ResultDisplay,
    label_axes,
    legend_below,
    tick,
)
from calibstat.inference.results import number
from calibstat.interpretability.simplification import SimplificationPath


@final
@dataclass(eq=False, repr=False)
class SimplificationDisplay(ResultDisplay, PlotDisplay):
    """The calibration error for each number of cells along a path of merges, with its end marked.

    Make one by `from_result`, or by ``result.plot()`` of the result of `simplify`. On a sample the pale strip reaches
    to what noise alone gives a calibrated predictor with these cells, on average; in a world errors are true.

    Parameters
    ----------
    path : SimplificationPath
    name : str, optional
        Name of the model, for the title.

    Attributes
    ----------
    line_, chosen_ : matplotlib Line2D
        The error along the path, and its last step, which ``path.merged()`` returns.
    noise_ : matplotlib PolyCollection or None
    ax_, figure_ : matplotlib Axes, Figure

    Examples
    --------
    >>> import calibstat as cs
    >>> from calibstat.generators import FinitePredictions
    >>> world = FinitePredictions([0.1, 0.2, 0.7, 0.8], [0.1, 0.3, 0.6, 0.9], mass=[3, 1, 1, 3])
    >>> display = cs.simplify(world, 2).plot(name="A world")
    >>> display.line_.get_ydata().round(4)
    array([0.0625, 0.0625, 0.0375])
    """

    path: SimplificationPath
    name: str | None = None

    size: ClassVar[tuple[float, float]] = (3.4, 2.8)

    @classmethod
    def compute(cls, result: SimplificationPath, *, name: str | None = None) -> Self:
        """Take the numbers from the result as `from_result` does, without drawing them."""
        if not isinstance(result, SimplificationPath):
            raise TypeError(f"result is of type {type(result).__name__}, but that of simplify is expected.")
        return cls(result, name)

    def _fill(self, ax: Axes, options: dict[str, Any]) -> None:
        cells, error, expected = self.path.n_cells, self.path.calibration_error, self.path.expected
        self.noise_, handles = None, []
        if np.isfinite(expected).any():
            self.noise_ = ax.fill_between(cells, 0, expected, color=NOISE, linewidth=0)
            handles = [Patch(color=NOISE, label="noise alone, on average")]
        look: dict[str, Any] = {"color": CURVE, "linewidth": 1.6, "marker": "o", "markersize": 3, "label": "error"}
        (self.line_,) = ax.plot(cells, error, **(look | options))
        look = {"color": INK, "marker": "D", "markersize": 6, "linestyle": "none", "clip_on": False, "zorder": 4}
        (self.chosen_,) = ax.plot(cells[-1], error[-1], **look, label=counted(int(cells[-1]), "cell"))
        ax.set(xscale="log", ylim=(0, 1.12 * max(float(np.nanmax([*error, *expected])), 1e-6)))
        ax.xaxis.set_major_locator(FixedLocator(np.unique(np.geomspace(cells[-1], cells[0], 5).round()).tolist()))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_major_formatter(tick)
        ax.yaxis.set_major_formatter(tick)
        label_axes(ax, "number of cells", "calibration error")
        legend_below(ax, [self.line_, self.chosen_, *handles])

    @property
    def _answer(self) -> list[str]:
        path, n = self.path, self.path.to_dict().get("n_test")
        first, last = float(path.calibration_error[0]), float(path.calibration_error[-1])
        what = f"{counted(int(path.n_cells[-1]), 'cell')} in place of {path.n_cells[0]}"
        if n is None:
            return [what, f"error {number(last, first)} in place of {number(first, last)}"]
        noise = float(path.expected[-1])
        return [what, f"error {number(last, noise)}, noise alone {number(noise, last)}; n = {n:,}"]

    @property
    def caption(self) -> str:
        """What is drawn, from how many rows, and how to read it."""
        strip = (
            " The pale strip reaches to what noise alone gives a calibrated predictor with as many rows in these "
            "cells, on average."
            if self.path.counts
            else ""
        )
        return (
            "The mean distance of prediction and mean outcome for each number of cells, while neighbours are merged "
            f"where {self.path.keep.quantity} loses least, with the last step marked.{strip} {self.path.verdict}"
        )
