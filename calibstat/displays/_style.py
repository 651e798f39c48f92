"""How pictures look: colours, the answer above the axes, the legend below them, and what every display can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from os import PathLike
from typing import Any, Self

from matplotlib import pyplot as plt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.legend import Legend
from matplotlib.transforms import ScaledTranslation

# Colour-blind readers tell these apart, and they differ in lightness when they are printed in grey.
NOISE = "#c9d6e3"
"""What noise alone gives."""
BEYOND = "#c8501e"
"""What is more than noise."""
CURVE = "#1f5a94"
"""An estimated curve."""
INK = "#333333"
"""Points, words and lines that mark perfect calibration."""
FAINT = "#8c98a4"
"""Counts, and whatever stands in the background."""
MODELS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#7A5195", "#4D4D4D")
"""Several models in one picture, in this order (Okabe & Ito 2008, without yellow, which is too pale on white)."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
"""Their markers, since colour alone must not carry the difference."""
COLUMN = (3.4, 3.4)
"""Width and height of a figure of one column, in inches."""
_SIDE = 2.7  # inches of the width of its axes
_LEAST_LEFT = 0.3  # the share of a figure that margins leave


class Display(ABC):
    """A picture: its numbers are computed before, `plot` only draws them, and `caption` says what is seen."""

    ax_: Axes
    figure_: Figure | SubFigure

    @abstractmethod
    def plot(self, ax: Axes | None = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw the picture, by default in a new figure, and return the display itself."""

    @property
    @abstractmethod
    def caption(self) -> str:
        """The long sentences that belong below the picture: what is drawn, from how many rows, and how to read it."""

    def save(self, path: str | PathLike[str], **options: Any) -> Self:
        """Write the picture to a file; its suffix (png, pdf, svg) says the format. It is drawn if it was not."""
        if not hasattr(self, "figure_"):
            self.plot()
        figure = self.figure_.figure if isinstance(self.figure_, SubFigure) else self.figure_
        figure.savefig(path, **{"bbox_inches": "tight", "dpi": 200, **options})
        return self


def new_axes(ax: Axes | None, size: tuple[float, float] = COLUMN) -> Axes:
    """Return the axes given, or those of a new figure whose layout keeps everything inside; no window opens."""
    if ax is None:
        _, ax = plt.subplots(figsize=size, layout="constrained")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.tick_params(labelsize=8 * magnified(ax))
    return ax


def magnified(ax: Axes) -> float:
    """Return how many times larger letters and marks are than in a column: 1, up to 1.5 in axes that fill a slide."""
    box, dots = ax.get_window_extent(), whole_figure(ax).dpi
    side = min(box.width, 1.6 * box.height) / dots
    return float(min(max((side / _SIDE) ** 0.5, 1.0), 1.5))


def answer(ax: Axes, title: str | None, lines: Sequence[str] = ()) -> None:
    """Write the title above the axes, and below it the answer in at most two short lines; both begin at the left.

    Names come from data, so that a dollar sign is a dollar sign.
    """
    text, size = "\n".join(lines), magnified(ax)
    if text:
        ax.annotate(
            text, (0, 1), (0, 4), xycoords="axes fraction", textcoords="offset points",
            fontsize=7.5 * size, color=INK, va="bottom", linespacing=1.3, parse_math=False,
        )  # fmt: skip
    if title is not None:
        look: dict[str, Any] = {"fontsize": 9.5 * size, "fontweight": "bold", "parse_math": False}
        ax.set_title(title, loc="left", pad=6 + 11 * size * len(lines), **look)


def label_axes(ax: Axes, x: str | None = None, y: str | None = None) -> None:
    """Write short labels at the axes; the long sentence belongs to the caption."""
    if x is not None:
        ax.set_xlabel(x, fontsize=8.5 * magnified(ax), parse_math=False)
    if y is not None:
        ax.set_ylabel(y, fontsize=8.5 * magnified(ax), parse_math=False)


def whole_figure(ax: Axes) -> Figure:
    """Return the figure of the axes, even if they are in a part of it."""
    figure: Any = ax.figure
    return figure.figure if isinstance(figure, SubFigure) else figure


LEGEND: dict[str, Any] = {"frameon": False, "handlelength": 1.4, "columnspacing": 1.2}
"""How legends look."""


def columns_that_fit(ax: Axes) -> int:
    """Return how many columns of short labels the legend below axes of this width has room for."""
    return max(2, int(ax.get_window_extent().width / whole_figure(ax).dpi / (1.3 * magnified(ax))))


def legend_below(ax: Axes, handles: Sequence[Artist], columns: int = 2, gap: float | None = None) -> None:
    """Write the legend below the axes, never on data; `gap` is its distance in heights of the axes.

    By default it stands right below the label of the axis, whatever the height of the axes will be.
    """
    if not handles:
        return
    where: dict[str, Any] = {"bbox_to_anchor": (0.5, 0 if gap is None else -gap)}
    if gap is None:
        figure = whole_figure(ax)
        words = ax.xaxis.get_tightbbox(None)
        below = 0.0 if words is None else max(0.0, ax.get_window_extent().y0 - words.y0) / figure.dpi
        where["bbox_transform"] = ax.transAxes + ScaledTranslation(0, -below - 0.06, figure.dpi_scale_trans)
    look: dict[str, Any] = {
        "loc": "upper center",
        "borderaxespad": 0,
        "fontsize": 7.5 * magnified(ax),
        **where,
        **LEGEND,
    }
    _write_plainly(ax.legend(handles=list(handles), ncols=columns, **look))
    _keep_on_page(ax)


def _write_plainly(legend: Legend) -> None:
    """Names come from data: a dollar sign in them is a dollar sign."""
    for text in legend.get_texts():
        text.set_parse_math(False)


def _keep_on_page(ax: Axes) -> None:
    """Widen the margins of a figure that has no layout of its own where words would be cut off at its edge."""
    figure: Any = ax.figure
    box = ax.get_tightbbox()
    if figure.get_layout_engine() is not None or ax.get_subplotspec() is None or box is None:
        return
    page, pars = figure.bbox, figure.subplotpars
    sides = {
        "left": pars.left + max(0.0, page.x0 - box.x0) / page.width,
        "right": pars.right - max(0.0, box.x1 - page.x1) / page.width,
        "bottom": pars.bottom + max(0.0, page.y0 - box.y0) / page.height,
        "top": pars.top - max(0.0, box.y1 - page.y1) / page.height,
    }
    if sides["right"] - sides["left"] > _LEAST_LEFT and sides["top"] - sides["bottom"] > _LEAST_LEFT:
        figure.subplots_adjust(**sides)


def legend_of_figure(figure: Figure, handles: Sequence[Artist], columns: int | None = None) -> None:
    """Write one legend below all axes of a figure with constrained layout."""
    if handles:
        fit = max(1, int(figure.get_figwidth() / 1.7))
        _write_plainly(
            figure.legend(
                handles=list(handles), loc="outside lower center", ncols=columns or fit, fontsize=7.5, **LEGEND
            )
        )


def legend_under(
    ax: Axes, handles: Sequence[Artist], labels: Sequence[str], columns: int = 2, left: float = 34, below: float = 30
) -> None:
    """Write the legend so many points to the left of the axes and below them, whatever their size."""
    size = magnified(ax)
    corner = ax.transAxes + ScaledTranslation(-left * size / 72, -below * size / 72, ax.figure.dpi_scale_trans)
    where: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (0, 0), "bbox_transform": corner}
    look = LEGEND | {"borderaxespad": 0, "handlelength": 1.6, "fontsize": 7.5 * size}
    _write_plainly(ax.legend(list(handles), list(labels), ncols=columns, **where, **look))
    _keep_on_page(ax)


def shortened(name: str, most: int) -> str:
    """Return a name as it is, or its beginning and its end where it has more than `most` letters.

    >>> shortened("a name that is far too long", 16)
    'a name t…oo long'
    """
    if len(name) <= most:
        return name
    end = (most - 1) // 2
    return f"{name[: most - 1 - end]}\N{HORIZONTAL ELLIPSIS}{name[len(name) - end :]}"
