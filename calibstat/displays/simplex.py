"""Simplex diagrams: arrows from the predictions of three classes to the frequencies of their outcomes."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, TypeAlias, final

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.collections import Collection, PolyCollection
from matplotlib.colorbar import Colorbar
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.lines import Line2D
from matplotlib.quiver import Quiver

from calibstat.binnings.base import Binning, closed_right
from calibstat.binnings.simplex import SimplexGrid
from calibstat.data.arrays import RNG, Bools, Floats, as_generator
from calibstat.data.rounding import ROUNDING, above_rounding
from calibstat.data.sample import Sample
from calibstat.displays._from_samples import SampleDisplay, rank_of_limit
from calibstat.estimators.histogram import HistogramRegression
from calibstat.lenses.base import Lens
from calibstat.lenses.relabel import CANONICAL
from calibstat.nulls.consistency import Consistency


@final
@dataclass(eq=False, repr=False)
class SimplexDisplay(SampleDisplay):
    """Arrows from the mean prediction to the frequencies of outcomes in cells of the simplex, for three classes.

    The diagram of Vaicenavicius et al. (2019, Figure 1): each corner is a class, and each cell is shaded by its share
    of the rows. Make one by `from_sample`, `from_predictions` or `from_estimator`. Noise gives arrows a length even if
    the model is calibrated. An arrow in the second colour is longer than its limit: given the predictions, a calibrated
    model keeps to it with probability `coverage` or more, though among many cells some exceed theirs by chance. Cells
    without rows are not drawn.

    Parameters
    ----------
    cells : xarray Dataset
        One entry for each cell that holds rows: the variables of `HistogramRegression` (proportion, mean_prediction,
        mean_outcome, deviation, count), the length of each arrow in units of a side of the triangle, its limit, and
        whether the arrow is longer (outside). ``cells[["proportion", "length"]].to_dataframe()`` is a table.
    binning : Binning
        The triangles of a `SimplexGrid` are shaded; other cells are shown as a disc at the mean prediction.
    coverage : float
    lens : Lens
    name : str, optional
        Name of the model, for the title.

    Attributes
    ----------
    arrows_ : matplotlib Quiver
        The arrows within their limits.
    outside_ : matplotlib Quiver or None
        The arrows that are longer; None if there are none.
    cells_ : matplotlib PolyCollection or PathCollection
    colorbar_ : matplotlib Colorbar
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

    cells: Any
    _: KW_ONLY
    binning: Binning
    coverage: float
    lens: Lens = CANONICAL
    name: str | None = None

    default_binning: ClassVar[Binning] = SimplexGrid(5)

    @property
    def labels(self) -> list[Hashable]:
        """The class of each corner."""
        return list(self.cells["label"].values.tolist())

    @property
    def mean_prediction(self) -> Floats:
        """(L, 3) mean prediction of each cell, where its arrow begins."""
        return self.cells["mean_prediction"].transpose("cell", "label").values

    @property
    def mean_outcome(self) -> Floats:
        """(L, 3) frequencies of the outcomes in each cell, where its arrow ends."""
        return self.cells["mean_outcome"].transpose("cell", "label").values

    @property
    def proportion(self) -> Floats:
        """(L,) share of the rows (of the weight) in each cell."""
        return self.cells["proportion"].values

    @property
    def outside(self) -> Bools:
        """(L,) whether the arrow is longer than noise explains."""
        return self.cells["outside"].values

    def plot(self, ax: Axes | None = None, *, name: str | None = None, **kwargs: Any) -> SimplexDisplay:
        """Draw the diagram.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default the axes of a new figure.
        name : str, optional
            Title; by default the one given when the display was made.
        **kwargs
            Options of ``Axes.quiver`` for the arrows within their limits.

        Returns
        -------
        SimplexDisplay
            Itself.
        """
        if ax is None:
            _, ax = plt.subplots(layout="constrained")
        self.arrows_, self.outside_, self.cells_, self.colorbar_ = draw_simplex(ax, self, kwargs)
        title = self.name if name is None else name
        seen = f"seen through {self.lens!r}"
        ax.set_title(seen if title is None else f"{title}\n{seen}", fontsize="medium")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @property
    def caption(self) -> str:
        """What the diagram shows, and how to read it."""
        return (
            f"Each of {len(self.proportion)} arrows leads from the mean prediction of a cell to the frequencies of "
            f"its outcomes, seen through {self.lens!r}. One in the second colour is longer than "
            f"{100 * self.coverage:g} % of those of a calibrated model."
        )

    @classmethod
    def _of(
        cls, seen: Sample, binning: Binning, lens: Lens, n_resamples: int, coverage: float, rng: RNG, name: str | None
    ) -> SimplexDisplay:
        rank = rank_of_limit(n_resamples, 1 - coverage, "limits", coverage)
        _expect_three_classes(seen, lens)
        estimator = HistogramRegression(binning)
        cells = estimator(seen)
        drawn = Consistency(n_resamples).draw(estimator, seen, as_generator(rng)).samples
        limit = np.sort(arrow_length(drawn), axis=0)[-rank]
        length = arrow_length(cells["deviation"].values)
        outside = above_rounding(length - limit, np.ones_like(length)) > 0  # chances of one row add up to one
        found = cells.assign(length=("cell", length), limit=("cell", limit), outside=("cell", outside))
        return cls(found.isel(cell=found["count"].values > 0), binning=binning, coverage=coverage, lens=lens, name=name)


# Drawing of a simplex diagram whose numbers are computed.

SimplexArtists: TypeAlias = tuple[Quiver, Quiver | None, Collection, Colorbar]
# Colour-blind readers tell these colours apart (Okabe & Ito 2008); the thickness differs too.
_WITHIN, _OUTSIDE, _LINE = "#0072B2", "#D55E00", "#B0B0B0"
# These greys are light enough for arrows to be seen.
_SHADES = LinearSegmentedColormap.from_list("light greys", ["white", "#9A9A9A"])


def draw_simplex(ax: Axes, display: SimplexDisplay, options: dict[str, Any]) -> SimplexArtists:
    """Draw the triangle, its cells, and an arrow for each cell."""
    _draw_triangle(ax, display)
    cells = _draw_cells(ax, display)
    bar = ax.figure.colorbar(cells, ax=ax, shrink=0.7, label="share of rows in the cell")
    outside, look = display.outside, {"color": _WITHIN, "width": 0.006} | options
    within = _draw_arrows(ax, display, ~outside, look)
    marked = _draw_arrows(ax, display, outside, {"color": _OUTSIDE, "width": 0.009}) if outside.any() else None
    _draw_legend(ax, display, look["color"])
    return within, marked, cells, bar


def _draw_triangle(ax: Axes, display: SimplexDisplay) -> None:
    corners = on_plane(np.eye(3))
    ax.plot(*corners[[0, 1, 2, 0]].T, color="black", linewidth=1, zorder=2)
    for (x, y), label in zip(corners, display.labels, strict=True):
        shift, side = (6, "bottom") if y > 0 else (-6, "top")
        ax.annotate(str(label), (x, y), (0, shift), textcoords="offset points", ha="center", va=side)
    ax.set(xlim=(-0.05, 1.05), ylim=(-0.08, 1.16), aspect="equal")
    ax.axis("off")


def _draw_cells(ax: Axes, display: SimplexDisplay) -> Collection:
    """Shade the triangles of a regular grid; cells of unknown shape become a disc at the mean prediction."""
    shares, largest = display.proportion, float(display.proportion.max())
    if isinstance(display.binning, SimplexGrid):
        corners = [grid_cell(row, display.binning.n_bins) for row in display.mean_prediction]
        found = PolyCollection(
            [on_plane(each) for each in corners], edgecolors=_LINE, linewidths=0.6, zorder=1, cmap=_SHADES
        )
        found.set_array(shares)
        found.set_clim(0.0, largest)
        ax.add_collection(found)
        return found
    x, y = on_plane(display.mean_prediction).T
    return ax.scatter(x, y, c=shares, s=130, edgecolors=_LINE, zorder=1, cmap=_SHADES, vmin=0.0, vmax=largest)


def grid_cell(prediction: Floats, n_bins: int) -> Floats:
    """Return the corners (3, 3) of the cell of a regular grid that holds a prediction (3,).

    The whole steps in the three coordinates sum to n_bins - 1 in a triangle that points as the outer one does, to
    n_bins - 2 in one that points the other way, and to n_bins - 3 in a cell that is a single corner of the grid.
    """
    steps = closed_right(prediction - ROUNDING, np.arange(n_bins + 1) / n_bins)
    missing = n_bins - int(steps.sum())
    shifts = {1: np.eye(3), 2: 1 - np.eye(3)}.get(missing, np.ones((3, 3)))
    return (steps + shifts) / n_bins


def _draw_arrows(ax: Axes, display: SimplexDisplay, chosen: Bools, options: dict[str, Any]) -> Quiver:
    tails, heads = on_plane(display.mean_prediction[chosen]), on_plane(display.mean_outcome[chosen])
    look: dict[str, Any] = {"angles": "xy", "scale_units": "xy", "scale": 1.0, "units": "width", "zorder": 3}
    return ax.quiver(*tails.T, *(heads - tails).T, **(look | options))


def _draw_legend(ax: Axes, display: SimplexDisplay, colour: Any) -> None:
    """Say what the arrows and their colours are."""
    handles = [Line2D([], [], color=colour, label="from mean prediction to frequencies of outcomes in the cell")]
    if display.outside.any():
        rest = f"at most {100 * (1 - display.coverage):.3g} % of draws of labels"
        words = f"longer than noise: {rest}\nfrom the predictions give one as long in that cell"
        handles.append(Line2D([], [], color=_OUTSIDE, linewidth=3.0, label=words))
    ax.legend(handles=handles, loc="upper left", fontsize="small", frameon=False, borderaxespad=0.0)


def on_plane(probabilities: Floats) -> Floats:
    """Place probabilities (..., 3) in the triangle with corners (0, 0), (1, 0) and (1/2, sqrt(3)/2): (..., 2)."""
    return probabilities @ np.array([[0.0, 0.0], [1.0, 0.0], [0.5, math.sqrt(0.75)]])


def arrow_length(deviations: Floats) -> Floats:
    """Return the lengths in the picture of deviations (..., 3): (...,)."""
    return np.hypot(*np.moveaxis(on_plane(deviations), -1, 0))


def _expect_three_classes(seen: Sample, lens: Lens) -> None:
    """Refuse a sample without exactly three classes, or conditioned on anything but the whole prediction."""
    n_classes, keys = seen.predictions.n_classes, seen.predictions.keys
    if n_classes != 3:
        advice = (
            "for two outcomes take ReliabilityDisplay."
            if n_classes == 2
            else "put classes together by a lens, for example lens=Partition([['cat'], ['dog'], ['car', 'truck']])."
        )
        raise ValueError(
            f"a simplex diagram shows predictions of 3 classes, got {n_classes} through {lens!r}: {advice}"
        )
    if keys != (0, 1, 2):
        variables = " and ".join(repr(key) for key in keys if isinstance(key, str)) or f"columns {keys!r}"
        raise ValueError(
            f"a simplex diagram shows predictions, not variables, but seen through {lens!r} the sample is conditioned "
            f"on {variables}: leave out Given. ReliabilityDisplay shows one outcome over a variable, for example "
            "lens=TopLabel() | Given('age')."
        )
