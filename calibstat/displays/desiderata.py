"""What is wanted of a predictor that people read: five measures, each on its own scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self, final

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from calibstat._text import percent
from calibstat.displays._style import (
    BEYOND,
    COLUMN,
    FAINT,
    INK,
    NOISE,
    OURS,
    PlotDisplay,
    ResultDisplay,
    legend_below,
    lines_of,
    magnified,
    new_axes,
    tick,
)
from calibstat.interpretability.desiderata import MEASURES, Desiderata, Desideratum

# The height of a strip, as a share of the place that it has with its numbers.
_STRIP = 0.4


@final
@dataclass(eq=False, repr=False)
class DesiderataDisplay(ResultDisplay, PlotDisplay):
    """Five measures of a predictor below each other, each with its interval and what noise alone gives.

    Make one by `from_result`, or by ``result.plot()`` of the result of `desiderata`. An arrow says where better values
    lie. The pale bar is where the values of a calibrated model with as many rows lie; a value beyond it has the strong
    colour. Of a world the values are true, and the pale mark is the best that is possible. Labels do not change the
    count of cells, so that it has no noise.

    Parameters
    ----------
    found : Desiderata
    name : str, optional
        Name of the model, for the title.

    Attributes
    ----------
    strips_ : list of matplotlib Axes
        Calibration, accuracy, squared error, monotonicity and few cells, from the top.
    points_, intervals_, noise_ : lists of matplotlib Line2D
        The values, their intervals and what noise alone gives (of a world, the best values); those that there are.
    ax_, figure_ : matplotlib Axes, Figure

    Examples
    --------
    >>> import calibstat as cs
    >>> from calibstat.generators import FinitePredictions
    >>> found = cs.desiderata(FinitePredictions([0.2, 0.6, 0.7], [0.4, 0.5, 0.6]))
    >>> display = found.plot(name="A world")
    >>> [each.get_xdata()[0] for each in display.points_] == [each.value for each in found.measures]
    True
    """

    found: Desiderata
    name: str | None = None

    size: ClassVar[tuple[float, float]] = (COLUMN[0], 4.4)
    letters: ClassVar[int | None] = 26

    @classmethod
    def compute(cls, result: Desiderata, *, name: str | None = None) -> Self:
        """Take the numbers from the result as `from_result` does, without drawing them."""
        if not isinstance(result, Desiderata):
            raise TypeError(f"result is of type {type(result).__name__}, but that of desiderata is expected.")
        return cls(result, name)

    def _fill(self, ax: Axes, options: dict[str, Any]) -> None:
        ax.set_axis_off()
        measures = self.found.measures
        self.strips_: list[Axes] = []
        self.points_: list[Line2D] = []
        self.intervals_: list[Line2D] = []
        self.noise_: list[Line2D] = []
        for row, (each, words) in enumerate(zip(measures, MEASURES, strict=True)):
            place = (len(measures) - 1 - row + (1 - _STRIP)) / len(measures)
            strip = new_axes(ax.inset_axes((0, place, 1, _STRIP / len(measures)), label=OURS))
            self._draw(strip, each, words, magnified(ax), options)
            self.strips_.append(strip)
        legend_below(ax, *self._legend())

    def _draw(self, strip: Axes, each: Desideratum, words: str, size: float, options: dict[str, Any]) -> None:
        """Draw one measure on its own scale, with its name and where better values lie."""
        strip.set_yticks([])
        strip.spines["left"].set_visible(False)
        strip.tick_params(labelsize=7 * size)
        strip.set_ylim(-1, 1)
        strip.margins(x=0.08)
        if each.noise is not None:
            ends = each.noise.low, each.noise.high
            self.noise_ += strip.plot(ends, [0, 0], color=NOISE, linewidth=8, solid_capstyle="butt", zorder=2)
        elif self.found.n is None:
            mark: dict[str, Any] = {"marker": "|", "markersize": 11, "markeredgewidth": 4}
            self.noise_ += strip.plot([each.expected], [0], color=NOISE, zorder=2, **mark)
        beyond = each.noise is not None and each.noise.beyond
        colour = BEYOND if beyond else INK
        if each.confidence_interval is not None:
            self.intervals_ += strip.plot(each.confidence_interval, [0, 0], color=colour, linewidth=1.3, zorder=3)
        look: dict[str, Any] = {"color": colour, "marker": "D" if beyond else "o", "markersize": 5, "zorder": 4}
        self.points_ += strip.plot([each.value], [0], **(look | options))
        strip.xaxis.set_major_locator(MaxNLocator(3, steps=[1, 2, 5, 10]))
        strip.xaxis.set_major_formatter(tick)
        beside: dict[str, Any] = {
            "xycoords": "axes fraction", "textcoords": "offset points", "annotation_clip": False, "parse_math": False,
        }  # fmt: skip
        better = "better \N{RIGHTWARDS ARROW}" if each.name == "monotonicity" else "\N{LEFTWARDS ARROW} better"
        left: dict[str, Any] = {"ha": "right", **beside}
        strip.annotate(words, (0, 0.5), (-6, 0), fontsize=7.5 * size, color=INK, va="bottom", **left)
        strip.annotate(better, (0, 0.5), (-6, -1), fontsize=7 * size, color=FAINT, va="top", **left)
        value = f"{each.value:,.0f}" if each.value >= 1000 else f"{each.value:.3g}"
        strip.annotate(value, (1, 0.5), (6, 0), fontsize=7.5 * size, color=colour, va="center", **beside)

    def _legend(self) -> tuple[list[Any], list[str]]:
        """Return what was drawn, with short words for it."""
        level = percent(self.found.confidence_level)
        shown: list[tuple[Any, str]] = []
        if self.intervals_:
            line = Line2D([], [], color=INK, marker="o", markersize=5, linewidth=1.3)
            shown.append((line, f"{level} interval, each by itself"))
        if self.noise_:
            shown.append((Patch(color=NOISE), "best possible" if self.found.n is None else f"{level} if calibrated"))
        if self._beyond:
            shown.append((Line2D([], [], color=BEYOND, marker="D", markersize=5, linewidth=0), "beyond noise"))
        return [handle for handle, _ in shown], [words for _, words in shown]

    @property
    def _beyond(self) -> list[str]:
        return [each.name for each in self.found.measures if each.noise is not None and each.noise.beyond]

    @property
    def _answer(self) -> list[str]:
        if self.found.n is None:
            return ["true values"]
        names = f"beyond noise: {', '.join(self._beyond)}" if self._beyond else "no measure is beyond noise"
        return [*lines_of(names, 42), f"n = {self.found.n:,}"]

    @property
    def caption(self) -> str:
        """What is drawn, from how many rows, and how to read it."""
        if self.found.n is None:
            return f"{self.found.verdict} Each value is true, and the pale mark is that of the chances themselves."
        level = percent(self.found.confidence_level)
        return (
            f"{self.found.verdict} Each measure has its own scale and its own {level} interval; arrows point to better "
            f"values. The pale bar is where {level} of the values of a calibrated model with as many rows lie, and a "
            "value in the strong colour is beyond that."
        )
