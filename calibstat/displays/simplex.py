"""Simplex diagrams: arrows from the predictions of three or four classes to the frequencies of their outcomes."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import KW_ONLY, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias, final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import Collection, PolyCollection
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Polygon
from matplotlib.quiver import Quiver

from calibstat._dataclass import dataclass
from calibstat._text import percent, shown
from calibstat.binnings.base import Binning, closed_right
from calibstat.binnings.simplex import SimplexGrid
from calibstat.data.arrays import RNG, Bools, Floats, as_generator
from calibstat.data.parameters import check_share
from calibstat.data.rounding import ROUNDING, above_rounding
from calibstat.data.sample import Sample
from calibstat.displays._cells import joint_limits
from calibstat.displays._from_samples import SampleDisplay, rank_of_limit
from calibstat.displays._style import (
    BEYOND,
    FAINT,
    INK,
    NOISE,
    OURS,
    answer,
    legend_below,
    magnified,
    new_axes,
    shortened,
    whole_figure,
)
from calibstat.estimators.histogram import HistogramRegression
from calibstat.inference.estimate import redrawn
from calibstat.lenses.base import Lens
from calibstat.lenses.relabel import CANONICAL

if TYPE_CHECKING:
    import xarray as xr


@final
@dataclass(eq=False, repr=False)
class SimplexDisplay(SampleDisplay):
    """Arrows from the mean prediction to the frequencies of outcomes in cells of the simplex, for 3 or 4 classes.

    The diagram of Vaicenavicius et al. (2019, Figure 1): each corner is a class, and darker cells hold more rows. Noise
    gives arrows a length even if the model is calibrated. An arrow in the strong colour is longer than its limit, which
    is adjusted for the number of cells: given the predictions, no arrow of a calibrated model exceeds its limit with
    the probability `coverage` or more (the largest of all lengths, each in units of its root mean square under redraws;
    Westfall & Young 1993). Four classes are shown as a tetrahedron from two sides, and on its unfolded faces, where
    each cell lies on the face of its three most probable classes.

    Make one by `from_sample`, `from_predictions` or `from_estimator`. Where predictions crowd in the corners, take
    cells of equal mass, ``VarianceTree(500, "median")``, and `plot` with ``zoom=("cat", 0.9)``.

    Parameters
    ----------
    cells : xarray Dataset
        One entry for each cell that holds rows: the variables of `HistogramRegression` (proportion, mean_prediction,
        mean_outcome, deviation, count), the length of each arrow in units of a side, its limit, and whether the arrow
        is longer (outside). ``cells[["proportion", "length"]].to_dataframe()`` is a table.
    binning : Binning
        The triangles of a `SimplexGrid` are shaded; other cells are shown as a disc at the mean prediction, the larger
        the more rows it stands for.
    coverage : float
    n : int
        Number of rows.
    lens : Lens
    name : str, optional
        Name of the model, for the title.

    Attributes
    ----------
    arrows_ : matplotlib Quiver
        The arrows within their limits; of four classes in each of the three pictures, one after the other.
    outside_ : matplotlib Quiver or None
        The arrows that are longer; None if there are none.
    cells_ : matplotlib PolyCollection or PathCollection
    ax_, figure_ : matplotlib Axes, Figure

    Examples
    --------
    >>> import calibstat as cs
    >>> rows = [[0.8, 0.1, 0.1], [0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.1, 0.7]]
    >>> display = cs.SimplexDisplay.from_sample(cs.Sample([0, 1, 1, 2], rows), cs.SimplexGrid(2), rng=0)
    >>> display.mean_outcome
    array([[0. , 0. , 1. ],
           [0. , 1. , 0. ],
           [0.5, 0.5, 0. ]])
    """

    cells: xr.Dataset
    _: KW_ONLY
    binning: Binning
    coverage: float
    n: int
    lens: Lens = CANONICAL
    name: str | None = None

    default_binning: ClassVar[Binning] = SimplexGrid(5)

    @property
    def labels(self) -> list[Hashable]:
        """The class of each corner."""
        return list(self.cells["label"].values.tolist())

    @property
    def mean_prediction(self) -> Floats:
        """(L, K) mean prediction of each cell, where its arrow begins."""
        return self.cells["mean_prediction"].transpose("cell", "label").values

    @property
    def mean_outcome(self) -> Floats:
        """(L, K) frequencies of the outcomes in each cell, where its arrow ends."""
        return self.cells["mean_outcome"].transpose("cell", "label").values

    @property
    def proportion(self) -> Floats:
        """(L,) share of the rows (of the weight) in each cell."""
        return self.cells["proportion"].values

    @property
    def outside(self) -> Bools:
        """(L,) whether the arrow is longer than noise explains."""
        return self.cells["outside"].values

    def plot(
        self,
        ax: Axes | None = None,
        *,
        zoom: tuple[Hashable, float] | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the diagram.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default the axes of a new figure.
        zoom : (label, float), optional
            Of three classes, show the corner where the probability of this label is at least so much.
        name : str, optional
            Title; by default the one given when the display was made.
        **kwargs
            Options of ``Axes.quiver`` for the arrows within their limits.

        Returns
        -------
        SimplexDisplay
            Itself.

        Raises
        ------
        ValueError
            If `zoom` is not a label and a number between 0 and 1, no cell is there, or there are four classes.
        """
        four = len(self.labels) == 4
        corner = None if zoom is None else self._corner(zoom)
        shown = self if corner is None else self._within(*corner)
        ax = new_axes(ax, (3.4, 4.9) if four else (3.4, 3.6))
        frames = tetrahedron(self.labels) if four else [triangle(self.labels, corner)]
        self.arrows_, self.outside_, self.cells_ = draw_simplex(ax, shown, frames, kwargs)
        answer(ax, self.name if name is None else name, shown._answer("" if corner is None else "here "))
        _legend(ax, shown, kwargs.get("color", FAINT))
        return self._drawn(ax)

    def _corner(self, zoom: Any) -> tuple[int, float]:
        """Return the number of the label of a corner, and the least probability there."""
        if len(self.labels) != 3:
            raise ValueError("zoom shows a corner of the triangle of 3 classes, but there are 4: leave it out.")
        if not isinstance(zoom, tuple) or len(zoom) != 2 or zoom[0] not in self.labels:
            raise ValueError(f"zoom is {zoom!r}, but (label, probability) with one of {self.labels!r} is expected.")
        check_share("zoom[1]", zoom[1], 0.9)
        return self.labels.index(zoom[0]), float(zoom[1])

    def _within(self, label: int, least: float) -> SimplexDisplay:
        """Return the same diagram of the cells in a corner."""
        held = self.mean_prediction[:, label] >= least
        if not held.any():
            raise ValueError(f"no cell has a mean probability of {self.labels[label]} of {least:g} or more: zoom less.")
        return replace(self, cells=self.cells.isel(cell=held))

    def _answer(self, here: str) -> list[str]:
        outside, cells = int(self.outside.sum()), len(self.outside)
        size = f"{outside} of {cells} cells {here}more than noise; n = {self.n:,}"
        if not outside:
            return ["no evidence of miscalibration in any cell", size]
        worst = int(np.argmax(np.where(self.outside, self.cells["length"].values, -1.0)))
        label = int(np.abs(self.mean_outcome[worst] - self.mean_prediction[worst]).argmax())
        claimed, happened = (100 * each[worst, label] for each in (self.mean_prediction, self.mean_outcome))
        name = shortened(shown(self.labels[label]), 16)
        return [f"worst: {name} claimed {claimed:.3g} %, happened {happened:.3g} %", size]

    @property
    def caption(self) -> str:
        """What is drawn, from how many rows, and how to read it."""
        four = (
            " The tetrahedron is seen from two sides, and its faces are unfolded: each cell lies on the face of its "
            "three most probable classes."
        )
        return (
            f"Arrows from the mean prediction to the frequencies of outcomes in {len(self.outside)} cells "
            f"({self.binning!r}) of {self.n} rows, seen through {self.lens!r}; darker cells hold more rows."
            f"{four if len(self.labels) == 4 else ''} Given the predictions, no arrow of a calibrated model is as long "
            f"as those in the strong colour in {percent(self.coverage)} of draws or more, all cells together."
        )

    @classmethod
    def _of(
        cls, seen: Sample, binning: Binning, lens: Lens, n_resamples: int, coverage: float, rng: RNG, name: str | None
    ) -> SimplexDisplay:
        rank = rank_of_limit(n_resamples, 1 - coverage, "limits", coverage)
        _expect_few_classes(seen, lens)
        estimator = HistogramRegression(binning)
        cells = estimator(seen)
        held = cells["count"].values > 0
        found = cells.isel(cell=held)
        drawn = redrawn(estimator, seen, estimator.prepare(seen.predictions), n_resamples, as_generator(rng)).samples
        drawn = arrow_length(drawn[:, held])
        limit = joint_limits(drawn, rank)
        length = arrow_length(found["deviation"].transpose("cell", "label").values)
        outside = above_rounding(length - limit, np.ones_like(length)) > 0  # chances of one row add up to one
        found = found.assign(length=("cell", length), limit=("cell", limit), outside=("cell", outside))
        return cls(found, binning=binning, coverage=coverage, n=len(seen), lens=lens, name=name)


def arrow_length(deviations: Floats) -> Floats:
    """Return the lengths of deviations (..., K) in a simplex whose sides are one: (...,)."""
    return np.sqrt((deviations**2).sum(axis=-1) / 2)


# Where probabilities lie in the picture.

Place: TypeAlias = Callable[[Floats, Floats], Floats]
_HEIGHT = math.sqrt(0.75)
_LETTERS, _FEWER = 14, 10  # of a name at a corner of a triangle, and of a tetrahedron
_FEWEST, _LOW = 5, 3.5  # where the axes of a tetrahedron have fewer inches than that
_TRIANGLE = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, _HEIGHT]])


@dataclass(frozen=True)
class Frame:
    """The outline of a simplex in the picture (lines, and words at corners), and where probabilities lie in it.

    ``place(probabilities, tails)`` returns (m, 2); `tails` (m, K) are the predictions of the cells, which decide on
    which face of an unfolded tetrahedron something lies. `words` are a text, its corner, and the way out of the frame.
    """

    lines: list[Floats]
    words: list[tuple[str, Floats, Floats]]
    place: Place
    clip: Floats | None = None


def on_plane(probabilities: Floats) -> Floats:
    """Place probabilities (..., 3) in the triangle with corners (0, 0), (1, 0) and (1/2, sqrt(3)/2): (..., 2)."""
    return probabilities @ _TRIANGLE


def triangle(labels: Sequence[Hashable], corner: tuple[int, float] | None = None) -> Frame:
    """Return the triangle of three classes, or a corner of it, in the same size."""
    names = [shortened(shown(each), _LETTERS) for each in labels]
    outwards = _TRIANGLE - _TRIANGLE.mean(axis=0)
    outline = [_TRIANGLE[[0, 1, 2, 0]]]
    if corner is None:
        words = list(zip(names, _TRIANGLE, outwards, strict=True))
        return Frame(outline, words, lambda values, _: on_plane(values))
    which, least = corner
    shift = least * np.eye(3)[which]
    rest = f"{names[which]} {percent(least)}\n"
    said = [names[k] if k == which else f"{rest}{names[k]} {percent(round(1 - least, 9))}" for k in range(3)]
    words = list(zip(said, _TRIANGLE, outwards, strict=True))
    return Frame(outline, words, lambda values, _: on_plane((values - shift) / (1 - least)), _TRIANGLE)


# The corners of a tetrahedron of side one, among those of a cube: along an axis of the cube it looks like a square.
_TETRAHEDRON = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) / math.sqrt(8)
# Each face of the net, by the class it leaves out: the places of the other classes.
_NET = {
    3: {0: (0.5, _HEIGHT), 1: (1.5, _HEIGHT), 2: (1.0, 0.0)},
    2: {0: (0.5, _HEIGHT), 1: (1.5, _HEIGHT), 3: (1.0, 2 * _HEIGHT)},
    1: {0: (0.5, _HEIGHT), 2: (1.0, 0.0), 3: (0.0, 0.0)},
    0: {1: (1.5, _HEIGHT), 2: (1.0, 0.0), 3: (2.0, 0.0)},
}


def tetrahedron(labels: Sequence[Hashable]) -> list[Frame]:
    """Return the tetrahedron of four classes from two sides, and its faces unfolded below."""
    names = [shortened(shown(each), _FEWER) for each in labels]
    return [_view(names, [0, 1], (0.33, 2.55)), _view(names, [1, 2], (1.67, 2.55)), _net(names)]


def _view(names: list[str], axes: list[int], shift: tuple[float, float]) -> Frame:
    """Return the tetrahedron as seen along an axis of its cube, around a place; no corner hides another."""
    outwards = _TETRAHEDRON[:, axes]
    corners = outwards + shift
    lines = [corners[[i, j]] for i in range(4) for j in range(i)]
    return Frame(lines, list(zip(names, corners, outwards, strict=True)), lambda values, _: values @ corners)


def _net(names: list[str]) -> Frame:
    """Return the unfolded faces: a triangle of side two whose corners are the last class."""
    anchors = np.zeros((4, 4, 2))
    for out, places in _NET.items():
        for label, xy in places.items():
            anchors[out, label] = xy
        anchors[out, out] = np.mean(list(places.values()), axis=0)  # orthogonal projection onto the face

    def place(values: Floats, tails: Floats) -> Floats:
        return np.einsum("mk,mkd->md", values, anchors[tails.argmin(axis=1)])

    lines = [np.array([*places.values(), next(iter(places.values()))]) for places in _NET.values()]
    ends = [(3, (0, 0)), (3, (2, 0)), (3, (1, 2 * _HEIGHT)), (0, (0.5, _HEIGHT)), (1, (1.5, _HEIGHT)), (2, (1, 0))]
    centre = np.array([1.0, 2 * _HEIGHT / 3])
    words = [(names[k], np.array(xy, dtype=float), np.array(xy) - centre) for k, xy in ends]
    return Frame(lines, words, place)


# Drawing of a simplex diagram whose numbers are computed.

SimplexArtists: TypeAlias = tuple[Quiver, Quiver | None, Collection]
# Shades are light enough for arrows to be seen.
_SHADES = LinearSegmentedColormap.from_list("shades", ["white", NOISE, "#a9bdd2"])
_LARGEST_DISC = 80.0


def draw_simplex(ax: Axes, display: SimplexDisplay, frames: Sequence[Frame], options: dict[str, Any]) -> SimplexArtists:
    """Draw the outlines, the cells, and an arrow for each cell, in every frame."""
    low, several = ax.get_window_extent().height < _LOW * whole_figure(ax).dpi, len(frames) > 1
    size = 1.0 if not (several or (low and frames[0].clip is not None)) else 0.7 if low else 0.8
    for frame in frames:
        for line in frame.lines:
            ax.plot(*line.T, color=INK, linewidth=0.9, zorder=2)
        for text, xy, out in frame.words:
            _word(ax, shortened(text, _FEWEST) if low and several else text, xy, out, size)
    tails, heads = display.mean_prediction, display.mean_outcome
    cells = _draw_cells(ax, display, frames)
    outside, look = display.outside, {"color": FAINT, "width": 0.014} | options
    within = _arrows(ax, frames, tails[~outside], heads[~outside], look)
    strong = {"color": BEYOND, "width": 0.026}
    marked = _arrows(ax, frames, tails[outside], heads[outside], strong) if outside.any() else None
    _fit(ax, frames)
    if frames[0].clip is not None:
        edge = Polygon(frames[0].clip, transform=ax.transData)
        cells.set_clip_path(edge)  # arrows keep their heads
    return within, marked, cells


def _fit(ax: Axes, frames: Sequence[Frame]) -> None:
    """Show the outlines with room for the words at their corners, at the same scale in both directions."""
    corners = np.concatenate([line for frame in frames for line in frame.lines])
    lines = max(text.count("\n") + 1 for frame in frames for text, *_ in frame.words)
    room = np.array([0.04, 0.06 + 0.05 * lines]) * np.ptp(corners[:, 0])
    ax.dataLim.set_points(np.array([corners.min(axis=0) - room, corners.max(axis=0) + room]))
    ax.set_aspect("equal", adjustable="datalim")
    ax.margins(0)
    ax.autoscale_view()
    ax.axis("off")


def _word(ax: Axes, text: str, xy: Floats, out: Floats, size: float) -> None:
    """Write the name of a corner beside it, on the side that leads out of the frame."""
    x, y = out / (np.abs(out).max() or 1.0)
    across = "center" if abs(y) > 0.6 or abs(x) < 0.3 else ("left" if x > 0 else "right")
    if abs(x) > 0.9 and -0.9 < y < -0.3:
        across = "right" if x > 0 else "left"
        x = 0.0
    up = "bottom" if y > 0.3 else ("top" if y < -0.3 else "center")
    ax.annotate(
        text, tuple(xy), (4 * x, 4 * y), textcoords="offset points", ha=across, va=up, color=INK,
        fontsize=8.5 * size * magnified(ax), parse_math=False, label=OURS,
    )  # fmt: skip


def _draw_cells(ax: Axes, display: SimplexDisplay, frames: Sequence[Frame]) -> Collection:
    """Shade the triangles of a regular grid; cells of unknown shape become a disc at the mean prediction."""
    tails, shares = display.mean_prediction, display.proportion
    largest = float(shares.max())
    if isinstance(display.binning, SimplexGrid) and len(display.labels) == 3:
        corners = [frames[0].place(grid_cell(row, display.binning.n_bins), row) for row in tails]
        found = PolyCollection(corners, edgecolors="white", linewidths=0.6, zorder=1, cmap=_SHADES)
        found.set_array(shares)
        found.set_clim(0.0, largest)
        ax.add_collection(found)
        return found
    x, y = np.concatenate([frame.place(tails, tails) for frame in frames]).T
    sizes = np.tile(_LARGEST_DISC * shares / largest, len(frames))
    return ax.scatter(x, y, s=sizes, color=NOISE, linewidths=0, zorder=1)


def grid_cell(prediction: Floats, n_bins: int) -> Floats:
    """Return the corners (3, 3) of the cell of a regular grid that holds a prediction (3,).

    The whole steps in the three coordinates sum to n_bins - 1 in a triangle that points as the outer one does, to
    n_bins - 2 in one that points the other way, and to n_bins - 3 in a cell that is a single corner of the grid.
    """
    steps = closed_right(prediction - ROUNDING, np.arange(n_bins + 1) / n_bins)
    missing = n_bins - int(steps.sum())
    shifts = {1: np.eye(3), 2: 1 - np.eye(3)}.get(missing, np.ones((3, 3)))
    return (steps + shifts) / n_bins


def _arrows(ax: Axes, frames: Sequence[Frame], tails: Floats, heads: Floats, options: dict[str, Any]) -> Quiver:
    begin = np.concatenate([frame.place(tails, tails) for frame in frames])
    end = np.concatenate([frame.place(heads, tails) for frame in frames])
    look: dict[str, Any] = {"angles": "xy", "scale_units": "xy", "scale": 1.0, "units": "inches", "zorder": 3}
    return ax.quiver(*begin.T, *(end - begin).T, **(look | options))


def _legend(ax: Axes, display: SimplexDisplay, colour: Any) -> None:
    """Say what the arrows and their colours are."""
    handles: list[Any] = [Line2D([], [], color=colour, label="prediction to outcome")]
    if display.outside.any():
        handles.append(Line2D([], [], color=BEYOND, linewidth=2.6, label="more than noise"))
    handles.append(Patch(color=NOISE, label="darker or larger: more rows"))
    legend_below(ax, handles)


def _expect_few_classes(seen: Sample, lens: Lens) -> None:
    """Refuse a sample without three or four classes, or conditioned on anything but the whole prediction."""
    n_classes, keys = seen.predictions.n_classes, seen.predictions.keys
    if n_classes not in (3, 4):
        advice = (
            "for two outcomes take ReliabilityDisplay."
            if n_classes == 2
            else "put classes together by a lens, for example lens=Partition([['cat'], ['dog'], ['car', 'truck']])."
        )
        raise ValueError(
            f"a simplex diagram shows predictions of 3 or 4 classes, got {n_classes} through {lens!r}: {advice}"
        )
    if keys != tuple(range(n_classes)):
        variables = " and ".join(repr(key) for key in keys if isinstance(key, str)) or f"columns {keys!r}"
        raise ValueError(
            f"a simplex diagram shows predictions, not variables, but seen through {lens!r} the sample is conditioned "
            f"on {variables}: leave out Given. ReliabilityDisplay shows one outcome over a variable, for example "
            "lens=TopLabel() | Given('age')."
        )
