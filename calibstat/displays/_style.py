"""How pictures look: colours, the answer above the axes, the legend below them, and what every display can do."""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections.abc import Sequence
from os import PathLike
from textwrap import wrap
from typing import Any, ClassVar, Self, cast
from unicodedata import east_asian_width

from matplotlib import pyplot as plt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb, to_rgba, to_rgba_array
from matplotlib.figure import Figure, SubFigure
from matplotlib.font_manager import FontProperties
from matplotlib.legend import Legend
from matplotlib.textpath import text_to_path
from matplotlib.transforms import Bbox, BboxBase, ScaledTranslation

from calibstat._text import shown

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
MODELS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#8C510A", "#7A5195", "#4D4D4D")
"""Several models in one picture, in this order.

They are those of Okabe & Ito (2008), without yellow, which is too pale on white, and vermilion, which is `BEYOND`.
"""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
"""Their markers, since colour alone must not carry the difference."""
COLUMN = (3.4, 3.4)
"""Width and height of a figure of one column, in inches."""
_SIDE = 2.7  # inches of the width of its axes
_PADS = 6.0  # points at the edges of a page that layouts leave free
_LEAST_LEFT = 0.2  # the share of a figure that margins leave
_LONGER = 1.04  # words may be so many times as long when a figure is saved as they are on a screen,
_SPARE = 0.08  # and short ones beside the axes by such a share
_TITLE_LETTER = 0.078  # inches of a bold letter
OURS = "_calibstat"
"""The label of words and small axes that a display adds to axes."""
_ON_DARK = {INK: "#e6e6e6", NOISE: "#3b4856", CURVE: "#6fb1e8"}


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
        whole_figure(self.ax_).savefig(path, **{"bbox_inches": "tight", "dpi": 200, **options})
        return self

    def close(self) -> None:
        """Let go of the figure, which pyplot otherwise keeps until the program ends."""
        plt.close(whole_figure(self.ax_))

    def _drawn(self, ax: Axes) -> Self:
        """Keep the axes that are drawn in, and return the display itself."""
        suit_background(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self


class Picture(Figure):
    """A figure that pyplot does not keep; a notebook shows it, even where pyplot has drawn nothing before."""

    def _repr_png_(self) -> bytes:
        written = io.BytesIO()
        self.savefig(written, format="png", bbox_inches="tight")
        return written.getvalue()


class ResultDisplay(Display):
    """The picture of a result; subclasses take its numbers and draw them."""

    @classmethod
    @abstractmethod
    def compute(cls, result: Any, *, name: str | None = None) -> Self:
        """Take the numbers from the result as `from_result` does, without drawing them."""

    @classmethod
    def from_result(cls, result: Any, *, ax: Axes | None = None, name: str | None = None, **kwargs: Any) -> Self:
        """Draw a result.

        Parameters
        ----------
        result
            What one of the functions named above returned.
        ax, name, **kwargs
            As for `plot`.

        Raises
        ------
        TypeError
            If the result is something else.
        """
        return cls.compute(result, name=name).plot(ax, **kwargs)


class PlotDisplay(Display):
    """A picture without options of its own; subclasses give its answer, and fill its axes."""

    name: str | None
    letters: ClassVar[int | None] = None
    """So many have room in a line of the title; by default as many as the axes have room for."""

    @property
    @abstractmethod
    def size(self) -> tuple[float, float]:
        """Width and height of a new figure, in inches."""

    @property
    @abstractmethod
    def _answer(self) -> Sequence[str]:
        """The answer in at most two short lines."""

    @abstractmethod
    def _fill(self, ax: Axes, options: dict[str, Any]) -> None:
        """Draw in the axes, and write the legend."""

    def plot(self, ax: Axes | None = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw the picture.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default the axes of a new figure.
        name : str, optional
            Title; by default the one given when the display was made.
        **kwargs
            Options of matplotlib for the points, curves or bars that the picture is about.

        Returns
        -------
        Display
            Itself.
        """
        ax = new_axes(ax, self.size)
        self._fill(ax, kwargs)
        answer(ax, self.name if name is None else name, self._answer, self.letters)  # it has room beside the labels
        return self._drawn(ax)


def new_axes(ax: Axes | None, size: tuple[float, float] = COLUMN) -> Axes:
    """Return the axes given, or those of a new figure whose layout keeps everything inside; no window opens.

    What was written there by a display before makes room, and scales are linear again.
    """
    if ax is None:
        _, ax = plt.subplots(figsize=size, layout="constrained")
    elif not isinstance(ax, Axes):
        raise TypeError(
            f"ax is of type {type(ax).__name__}, but one matplotlib Axes is expected: for example plt.subplots()[1]."
        )
    elif ax.name != "rectilinear":
        raise ValueError(f"ax has the projection {ax.name!r}, but plain axes are expected, as of plt.subplots().")
    for each in [each for each in (*ax.texts, *ax.child_axes) if each.get_label() == OURS]:
        each.remove()
    for axis in (ax.xaxis, ax.yaxis):
        if axis.get_scale() != "linear":
            ax.set(**{f"{axis.axis_name}scale": "linear"})
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.tick_params(labelsize=8 * magnified(ax))
    return ax


def magnified(ax: Axes) -> float:
    """Return how many times larger letters and marks are than in a column: 1, up to 1.5 in axes that fill a slide."""
    box, dots = ax.get_window_extent(), whole_figure(ax).dpi
    side = min(box.width, 1.6 * box.height) / dots
    return float(min(max((side / _SIDE) ** 0.5, 1.0), 1.5))


def answer(ax: Axes, title: str | None, lines: Sequence[str] = (), letters: int | None = None) -> None:
    """Write the title above the axes, and below it the answer in at most two short lines; both begin at the left.

    The title has at most two lines of as many letters as the axes have room for. Names come from data, so that a dollar
    sign is a dollar sign.
    """
    size = magnified(ax)
    written, letter = _fitted(ax, list(map(shown, lines)), 7.5 * size)
    if written:
        ax.annotate(
            "\n".join(written), (0, 1), (0, 4), xycoords="axes fraction", textcoords="offset points", label=OURS,
            fontsize=letter, color=INK, va="bottom", linespacing=1.3, parse_math=False,
        )  # fmt: skip
    if title is not None:
        inches = ax.get_window_extent().width / whole_figure(ax).dpi
        most = max(8, int(inches / (_TITLE_LETTER * size))) if letters is None else letters
        head = "\n".join(part for line in str(title).split("\n") for part in lines_of(line, most))
        look: dict[str, Any] = {"fontsize": 9.5 * size, "fontweight": "bold", "color": INK, "parse_math": False}
        ax.set_title(head, loc="left", pad=6 + 1.5 * letter * len(written), **look)


def _fitted(ax: Axes, lines: list[str], points: float) -> tuple[list[str], float]:
    """Return lines, and the size of their letters, that have room on the page from the left of the axes on.

    Letters are up to a fifth smaller where they must be, and longer lines are broken. Widths are those of vector
    graphics, with a little to spare: on screens, letters are up to 3 % narrower or wider.
    """
    room, font = _room(ax, ax.get_tightbbox()) / _LONGER, FontProperties(size=points)
    widths = [text_to_path.get_text_width_height_descent(line, font, ismath=False)[0] for line in lines]
    share = room / max([*widths, room])
    small = max(share, 0.8)
    most = [
        max(4, int(len(line) * room / (small * width))) if width else 1
        for line, width in zip(lines, widths, strict=True)
    ]
    return [
        part for line, letters in zip(lines, most, strict=True) for part in lines_of(line, letters, 9)
    ], points * small


def _room(ax: Axes, words: BboxBase | None) -> float:
    """Return how many points there are from the left of the axes, with these words, to the right of their page."""
    page, box, spec = ax.figure.bbox, ax.get_window_extent(), ax.get_subplotspec()
    if spec is None or words is None:
        return float(page.x1 - box.x0) * 72 / whole_figure(ax).dpi
    part = page.width / spec.get_gridspec().ncols
    left = max(box.x0 - words.x0, 0.0)  # words beside the axes
    if whole_figure(ax).get_layout_engine() is None:
        left = max((1 + _SPARE) * left, box.x0 - page.x0 - part * spec.colspan.start)
    else:
        left += _PADS / 72 * whole_figure(ax).dpi
    return float(part * len(spec.colspan) - left) * 72 / whole_figure(ax).dpi


def label_axes(ax: Axes, x: str | None = None, y: str | None = None) -> None:
    """Write short labels at the axes; the long sentence belongs to the caption."""
    box, size = ax.get_window_extent(), 8.5 * magnified(ax)
    letter = 0.6 * size / 72 * whole_figure(ax).dpi / 1.3  # labels may be a little longer than their axis
    if x is not None:
        ax.set_xlabel("\n".join(lines_of(x, max(12, int(box.width / letter)), 9)), fontsize=size, parse_math=False)
    if y is not None:
        ax.set_ylabel("\n".join(lines_of(y, max(12, int(box.height / letter)), 9)), fontsize=size, parse_math=False)


def whole_figure(ax: Axes) -> Figure:
    """Return the figure of the axes, even if they are in a part of it."""
    figure: Any = ax.figure
    return figure.figure if isinstance(figure, SubFigure) else figure


LEGEND: dict[str, Any] = {"frameon": False, "handlelength": 1.6, "handletextpad": 0.6, "columnspacing": 1.0}
"""How legends look."""


def legend_below(ax: Axes, handles: Sequence[Artist], labels: Sequence[str] | None = None) -> None:
    """Write the legend below all words of the axes, in as few lines as there is room for, never on data."""
    if not handles:
        return
    former, whole = ax.get_legend(), cast(Axes, ax.axes)  # of a strip, the axes in which it lies
    if former is not None:
        former.remove()
    box, words = ax.get_window_extent(), ax.get_tightbbox()
    beside = words if whole is ax else whole.get_tightbbox()
    if words is None or beside is None:
        return
    dots, size = whole_figure(ax).dpi, magnified(whole)
    away = min(beside.x0 - box.x0, 0.0) / dots, min(words.y0 - box.y0, 0.0) / dots - 0.06
    corner = ax.transAxes + ScaledTranslation(*away, whole_figure(ax).dpi_scale_trans)
    where: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (0, 0), "bbox_transform": corner}
    look = LEGEND | where | {"borderaxespad": 0, "fontsize": 7.5 * size}
    names = [str(each.get_label()) for each in handles] if labels is None else labels
    most = (_room(whole, beside) / 72 - away[0]) / _LONGER * dots
    for lines in range(1, len(handles) + 1):
        legend = ax.legend(list(handles), list(names), ncols=-(-len(handles) // lines), **look)
        _write_plainly(legend)
        if legend.get_window_extent().width <= most:
            break
    _keep_on_page(whole)


def _write_plainly(legend: Legend) -> None:
    """Names come from data: a dollar sign in them is a dollar sign."""
    for text in legend.get_texts():
        text.set_parse_math(False)


def _keep_on_page(ax: Axes) -> None:
    """Widen the margins of a figure that has no layout of its own where words would be cut off at its edge."""
    figure: Any = ax.figure
    if figure.get_layout_engine() is not None or ax.get_subplotspec() is None:
        return
    box = ax.get_tightbbox()
    if box is None:
        return
    page, pars, whole = figure.bbox, figure.subplotpars, ax.get_window_extent()
    box = Bbox(box.get_points() + _SPARE * (box.get_points() - whole.get_points()))
    sides = {
        "left": pars.left + max(0.0, page.x0 - box.x0) / page.width,
        "right": pars.right - max(0.0, box.x1 - page.x1) / page.width,
        "bottom": pars.bottom + max(0.0, page.y0 - box.y0) / page.height,
        "top": pars.top - max(0.0, box.y1 - page.y1) / page.height,
    }
    if sides["right"] - sides["left"] > _LEAST_LEFT and sides["top"] - sides["bottom"] > _LEAST_LEFT:
        figure.subplots_adjust(**sides)


def legend_of_figure(figure: Figure, handles: Sequence[Artist], labels: Sequence[str] | None = None) -> None:
    """Write one legend below all axes of a figure with constrained layout."""
    if handles:
        names = [str(each.get_label()) for each in handles] if labels is None else labels
        look = LEGEND | {"loc": "outside lower center", "ncols": max(1, int(figure.get_figwidth() / 1.7))}
        _write_plainly(figure.legend(list(handles), list(names), fontsize=7.5, **look))
        suit_background(figure)


def suit_background(part: Axes | Figure) -> None:
    """Give words, lines and strips colours that are seen where a style has made the page dark."""
    figure: Any = part.figure
    if isinstance(figure, SubFigure) and not to_rgba(figure.get_facecolor())[3]:
        figure = figure.figure  # a part of a figure without a colour of its own shows the page
    if sum(to_rgb(figure.get_facecolor())) > 1.5:
        return
    for artist in part.findobj():
        for what in ("color", "facecolor", "edgecolor"):
            if hasattr(artist, f"get_{what}") and hasattr(artist, f"set_{what}"):
                found = to_rgba_array(getattr(artist, f"get_{what}")())
                lighter = _ON_DARK.get(to_hex(found[0])) if len(found) == 1 else None
                if lighter is not None:
                    getattr(artist, f"set_{what}")(to_rgba(lighter, found[0, 3]))


# Words of ticks; they are functions of this file so that a display can be pickled.


def tick(value: float, _: float | None = None) -> str:
    """Write a number, with commas in large ones."""
    return f"{value + 0.0:,.10g}"


def percent_tick(value: float, _: float | None = None) -> str:
    """Write a share in percent, without the sign, which stands in the label of the axis."""
    return f"{round(100 * value, 9) + 0.0:,.10g}"


def signed_percent_tick(value: float, _: float | None = None) -> str:
    """Write a share in percent, with the sign."""
    return f"{percent_tick(value)} %"


# Names of any length.


def lines_of(text: str, letters: int, most: int = 2) -> list[str]:
    """Break a text into at most so many lines of about the same length; a longer one is shortened.

    >>> lines_of("gender 1 & cholesterol 2", 22)
    ['gender 1 &', 'cholesterol 2']
    """
    letters = _narrower(text, letters)
    lines = wrap(text, letters)
    while len(lines) > most:
        text = shortened(text, len(text) - 2)
        lines = wrap(text, letters)
    return next(
        found for width in range(1, letters + 1) if len(found := wrap(text, width)) <= len(lines) or width == letters
    )


def shortened(name: str, most: int) -> str:
    """Return a name as it is, or its beginning and its end where it has more than `most` letters.

    >>> shortened("a name that is far too long", 16)
    'a name t…oo long'
    """
    most = _narrower(name, most)
    if len(name) <= most:
        return name
    end = (most - 1) // 2
    return f"{name[: most - 1 - end]}\N{HORIZONTAL ELLIPSIS}{name[len(name) - end :]}"


def _narrower(text: str, letters: int) -> int:
    """Return how many letters of this text have the room of so many Latin ones: Chinese ones are twice as wide."""
    wide = sum(east_asian_width(letter) in "WF" for letter in text)
    return max(4, letters * len(text) // (len(text) + wide)) if wide else letters
