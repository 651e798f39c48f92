"""Forest plots: values below each other, with their intervals, beside what noise alone gives."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any, ClassVar, Self

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator
from matplotlib.transforms import ScaledTranslation, blended_transform_factory

from calibstat.data.parameters import at_least_one
from calibstat.displays._style import (
    BEYOND,
    COLUMN,
    CURVE,
    FAINT,
    INK,
    NOISE,
    OURS,
    ResultDisplay,
    answer,
    label_axes,
    legend_below,
    lines_of,
    magnified,
    new_axes,
    shortened,
    tick,
    whole_figure,
)
from calibstat.inference.forest import Forest, ForestRow, HasForest

# So many letters have place in a line of a name, of the answer, of the title and of the words at the right.
_LETTERS, _ANSWER, _TITLE, _WORDS = 22, 38, 24, 18
_MARKERS = ("o", "s")
# Heights in inches: of a row with a name of one to three lines, of a line of words, and of title and ticks.
_LINES, _LINE, _AROUND = (0.22, 0.32, 0.45), 0.16, 0.65


class ForestDisplay(ResultDisplay):
    """A forest plot of a result that has one; subclasses say of which."""

    of: ClassVar[str]
    """Whose results are drawn, for the error about others."""

    def __init__(self, forest: Forest, name: str | None = None) -> None:
        self.forest = forest
        self.name = name

    @classmethod
    def compute(cls, result: HasForest, *, name: str | None = None) -> Self:
        """Take the numbers from the result as `from_result` does, without drawing them."""
        if not isinstance(result, HasForest):
            raise TypeError(f"result is of type {type(result).__name__}, but {cls.__name__} draws those of {cls.of}.")
        return cls(result.forest(), name)

    @property
    def caption(self) -> str:
        """What is drawn, from how many rows, and how to read it."""
        return self.forest.caption

    def plot(self, ax: Axes | None = None, *, name: str | None = None, n_shown: int = 25, **kwargs: Any) -> Self:
        """Draw the picture.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default the axes of a new figure, which is as tall as its rows need.
        name : str, optional
            Title; by default the one given when the display was made.
        n_shown : int
            At most so many names are shown, from the top.
        **kwargs
            Options of ``Axes.plot`` for the points.

        Returns
        -------
        ForestDisplay
            Itself.
        """
        forest, n_shown = self.forest, at_least_one("n_shown", n_shown)
        names = list(dict.fromkeys(row.name for row in forest.rows))
        shown = names[:n_shown]
        labels = ["\n".join(lines_of(each, _LETTERS, 3)) for each in shown]
        axis = lines_of(forest.axis, _ANSWER)
        more = [f"{len(names) - len(shown)} more rows not shown"] if len(names) > len(shown) else []
        above = [part for line in (*forest.answer, *more) for part in lines_of(line, _ANSWER, 3)]
        entries = len(forest.series) + sum(
            map(bool, (forest.interval, forest.noise, forest.apart, forest.beyond, forest.reference_words))
        )
        height = len(shown) * _LINES[max(label.count("\n") for label in labels)] + bool(forest.heading) * _LINES[0]
        ax = new_axes(ax, (COLUMN[0], _AROUND + _LINE * (len(axis) + len(above) + entries) + height))
        place = {each: row for row, each in enumerate(shown)}
        rows = [row for row in forest.rows if row.name in place]
        if forest.reference is not None:
            ax.axvline(forest.reference, color=INK, linewidth=0.8, zorder=1)
        self.points_: list[Line2D] = []
        self.intervals_: list[Line2D] = []
        self.noise_: list[Line2D] = []
        for row in rows:
            self._draw_row(ax, row, place[row.name], kwargs)
        inches = 0.7 * ax.get_window_extent().height / whole_figure(ax).dpi
        if inches < _LINE * sum(label.count("\n") + 1 for label in labels):
            labels = [shortened(each, _LETTERS) for each in shown]
        # Letters grow with the axes as far as there is room for all names.
        n_lines = sum(label.count("\n") + 1 for label in labels)
        letters = min(magnified(ax), max(inches / (_LINE * n_lines), 0.75))
        ax.set_yticks(range(len(shown)), labels, fontsize=7.5 * letters, parse_math=False)
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        ax.set_ylim(len(shown) - 0.5, -1.3 if forest.heading else -0.6)
        if forest.log:
            ax.set_xscale("log")
            ax.xaxis.set_major_locator(FixedLocator(ratios(*ax.get_xlim())))
            ax.xaxis.set_minor_locator(NullLocator())
        else:
            ax.xaxis.set_major_locator(MaxNLocator(3, steps=[1, 2, 5, 10]))
        ax.xaxis.set_major_formatter(tick)
        self._draw_words(ax, rows, place)
        self.joins_ = _draw_joins(ax, forest, len(shown))
        label_axes(ax, "\n".join(axis))
        answer(ax, self.name if name is None else name, above, _TITLE)
        legend_below(ax, *self._legend(rows))
        return self._drawn(ax)

    def _draw_row(self, ax: Axes, row: ForestRow, place: int, options: dict[str, Any]) -> None:
        """Draw the noise of a row, its interval and its point."""
        several = len(self.forest.series) > 1
        y = place + (0.24 * (row.series - 0.5) if several else 0.0)
        if row.noise is not None:
            wide = 5 if several else 8
            self.noise_ += ax.plot(row.noise, [y, y], color=NOISE, linewidth=wide, solid_capstyle="butt", zorder=2)
        colour = BEYOND if row.beyond else INK
        if row.interval is not None:
            self.intervals_ += ax.plot(row.interval, [y, y], color=colour, linewidth=1.3, zorder=3)
        marker = _MARKERS[row.series] if several or not row.beyond else "D"
        look: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 5, "zorder": 4}
        if row.series:
            look["markerfacecolor"] = "white"
        self.points_ += ax.plot([row.value], [y], **(look | options))

    def _draw_words(self, ax: Axes, rows: list[ForestRow], place: dict[str, int]) -> None:
        """Write the words of rows at the right of the axes."""
        beside: dict[str, Any] = {
            "xycoords": ("axes fraction", "data"), "textcoords": "offset points", "va": "center",
            "fontsize": 7 * magnified(ax), "annotation_clip": False, "parse_math": False, "label": OURS,
        }  # fmt: skip
        for row in rows:
            if row.words:
                ax.annotate(shortened(row.words, _WORDS), (1, place[row.name]), (6, 0), color=INK, **beside)
        if self.forest.heading:
            ax.annotate(self.forest.heading, (1, -0.9), (6, 0), color=FAINT, **beside)

    def _legend(self, rows: list[ForestRow]) -> tuple[list[Artist], list[str]]:
        """Return what was drawn, with short words for it."""
        forest, several = self.forest, len(self.forest.series) > 1

        def point(colour: str, marker: str, line: float = 0.0, **look: Any) -> Line2D:
            return Line2D([], [], color=colour, marker=marker, markersize=5, linewidth=line, **look)

        found: list[tuple[Artist, str]] = [
            (point(INK, _MARKERS[number], markerfacecolor="white" if number else INK), series)
            for number, series in enumerate(forest.series)
        ]
        if self.intervals_ and forest.interval:
            found.append((point(INK, _MARKERS[0], 1.3), forest.interval))
        if self.noise_ and forest.noise:
            found.append((Patch(color=NOISE), forest.noise))
        if self.joins_:
            found.append((Line2D([], [], color=CURVE, linewidth=1.2, marker="o", markersize=3), "cannot be told apart"))
        if forest.reference_words:
            found.append((Line2D([], [], color=INK, linewidth=0.8), forest.reference_words))
        if any(row.beyond for row in rows):
            found.append((point(BEYOND, _MARKERS[0] if several else "D"), forest.beyond))
        return [handle for handle, _ in found], [words for _, words in found]


def ratios(low: float, high: float) -> list[float]:
    """Return ticks for ratios between two ends, about as far from each other: one, and those that leave room.

    >>> ratios(0.7, 1.6), ratios(0.05, 4)
    ([0.8, 1.0, 1.25, 1.5], [0.1, 0.33, 1.0, 3])
    """
    room, kept = math.log(high / low) / 6, [1.0]
    for each in (0.9, 0.8, 0.67, 0.5, 0.33, 0.2, 0.1, 0.05, 0.02, 0.01):
        kept = [each, *kept] if each >= low and math.log(kept[0] / each) >= room else kept
    for each in (1.1, 1.25, 1.5, 2, 3, 5, 10, 20, 50, 100):
        kept = [*kept, each] if each <= high and math.log(each / kept[-1]) >= room else kept
    return kept


# Rows that cannot be told apart.


def _draw_joins(ax: Axes, forest: Forest, n_shown: int) -> list[Line2D]:
    """Join the rows that cannot be told apart from each other, by lines at the right of the axes."""
    if forest.apart is None:
        return []
    found = []
    for number, members in enumerate(not_apart(n_shown, forest.apart)):
        aside = ScaledTranslation((10 + 9 * number) / 72, 0, ax.figure.dpi_scale_trans)
        (line,) = ax.plot(
            [1] * len(members), members, color=CURVE, linewidth=1.2, marker="o", markersize=3, clip_on=False,
            transform=blended_transform_factory(ax.transAxes, ax.transData) + aside,
        )  # fmt: skip
        found.append(line)
    return found


def not_apart(n: int, apart: Collection[tuple[int, int]]) -> list[list[int]]:
    """Return the largest sets of two or more of n rows of which no two are told apart (Bron & Kerbosch 1973).

    >>> not_apart(4, [(0, 2), (0, 3)])
    [[0, 1], [1, 2, 3]]
    """
    told = {frozenset(pair) for pair in apart}
    beside = {a: {b for b in range(n) if b != a and frozenset((a, b)) not in told} for a in range(n)}
    found: list[list[int]] = []

    def grow(members: set[int], others: set[int], done: set[int]) -> None:
        if not others and not done and len(members) > 1:
            found.append(sorted(members))
        for each in sorted(others):
            grow(members | {each}, others & beside[each], done & beside[each])
            others, done = others - {each}, done | {each}

    grow(set(), set(range(n)), set())
    return sorted(found)
