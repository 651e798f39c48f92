"""Simplex diagrams: predictions of three classes beside what happened, with what noise alone would do to them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any, TypeAlias, final

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.collections import Collection, PolyCollection
from matplotlib.colorbar import Colorbar
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.quiver import Quiver

from calibstat.binnings.base import Binning, closed_right
from calibstat.binnings.simplex import SimplexGrid
from calibstat.data.arrays import RNG, Bools, Floats, as_generator
from calibstat.data.rounding import ROUNDING, rounded_down, rounded_up
from calibstat.data.sample import Sample
from calibstat.displays.reliability import ReliabilityDisplay
from calibstat.estimators.histogram import HistogramRegression
from calibstat.inference.arguments import check_lens, check_sample
from calibstat.lenses.base import Lens
from calibstat.lenses.relabel import Canonical
from calibstat.nulls.consistency import Consistency

_BINNING = SimplexGrid(5)
_CANONICAL = Canonical()


@final
class SimplexDisplay:
    """Arrows from the mean prediction to the frequencies of outcomes in cells of the simplex, for three classes.

    The diagram of Vaicenavicius et al. (2019, Figure 1): each corner is a class, and each cell is shaded by its share
    of the rows. Make one by `from_sample`, `from_predictions` or `from_estimator`. Arrows have a length even if the
    model is calibrated. An arrow in the second colour is longer than a calibrated model's in that cell, the predictions
    being what they are, with probability `coverage` or more; among many cells some are by chance. Cells without rows
    are not drawn.

    Parameters
    ----------
    cells : xarray Dataset
        One entry for each cell that holds rows: the variables of `HistogramRegression` (proportion, mean_prediction,
        mean_outcome, deviation, count), the length of each arrow in units of a side of the triangle, the limit that
        noise keeps to, and whether the arrow is outside. ``cells[["proportion", "length"]].to_dataframe()`` is a table.
    binning : Binning
        Triangles are shaded for a `SimplexGrid`; for other cells a disc at each mean prediction.
    coverage : float
    lens : Lens
    name : str, optional
        Of the model, for the title.

    Attributes
    ----------
    arrows_ : matplotlib Quiver
        Of the cells within their limits.
    outside_ : matplotlib Quiver or None
        Of those outside, if there are any.
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

    def __init__(
        self, cells: Any, *, binning: Binning, coverage: float, lens: Lens = _CANONICAL, name: str | None = None
    ) -> None:
        self.cells = cells
        self.binning = binning
        self.coverage = coverage
        self.lens = lens
        self.name = name

    @property
    def labels(self) -> list[Hashable]:
        """The class of each corner."""
        return list(self.cells["label"].values.tolist())

    @property
    def mean_prediction(self) -> Floats:
        """(L, 3) where arrows begin."""
        return self._rows("mean_prediction")

    @property
    def mean_outcome(self) -> Floats:
        """(L, 3) where arrows end: the frequencies of outcomes."""
        return self._rows("mean_outcome")

    @property
    def proportion(self) -> Floats:
        """(L,) share of the rows (of the weight) in each cell."""
        shares: Floats = self.cells["proportion"].values
        return shares

    @property
    def outside(self) -> Bools:
        """(L,) whether the arrow is longer than noise explains."""
        found: Bools = self.cells["outside"].values
        return found

    def _rows(self, variable: str) -> Floats:
        values: Floats = self.cells[variable].transpose("cell", "label").values
        return values

    def plot(self, ax: Axes | None = None, *, name: str | None = None, **kwargs: Any) -> SimplexDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default a new figure's.
        name : str, optional
            Title; by default the one given when the display was made.
        **kwargs
            For the arrows within their limits, as of ``Axes.quiver``.

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

    @classmethod
    def compute(
        cls,
        sample: Sample,
        binning: Binning = _BINNING,
        *,
        lens: Lens = _CANONICAL,
        n_resamples: int = 999,
        coverage: float = 0.9,
        rng: RNG = None,
        name: str | None = None,
    ) -> SimplexDisplay:
        """Do as `from_sample`, but draw nothing yet."""
        cells = simplex_cells(sample, binning, lens=lens, n_resamples=n_resamples, coverage=coverage, rng=rng)
        return cls(cells, binning=binning, coverage=coverage, lens=lens, name=name)

    @classmethod
    def from_sample(
        cls,
        sample: Sample,
        binning: Binning = _BINNING,
        *,
        lens: Lens = _CANONICAL,
        n_resamples: int = 999,
        coverage: float = 0.9,
        rng: RNG = None,
        ax: Axes | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> SimplexDisplay:
        """Cut a sample into cells, redraw its labels from the predictions, and draw.

        Parameters
        ----------
        sample : Sample
        binning : Binning
            Of the whole prediction: a `SimplexGrid`, or for example a `VarianceTree`.
        lens : Lens
            Through it three outcomes must be seen: of more classes for example
            ``Partition([["cat"], ["dog"], ["car", "truck"]])``.
        n_resamples : int
            Number of redraws of the labels.
        coverage : float
            Probability, at least, that an arrow of a calibrated model keeps to its limit, which is one of the longest
            arrows that redraws gave in its cell.
        rng : int, Generator or None
            For the redraws.
        ax, name, **kwargs
            As for `plot`.

        Raises
        ------
        TypeError
            If `sample` or `lens` is something else.
        ValueError
            If not three outcomes are seen, something else than the prediction is conditioned on, or there are too few
            redraws.
        """
        display = cls.compute(
            sample, binning, lens=lens, n_resamples=n_resamples, coverage=coverage, rng=rng, name=name
        )
        return display.plot(ax, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_prob: Any,
        binning: Binning = _BINNING,
        *,
        labels: Sequence[Hashable] | None = None,
        sample_weight: Any = None,
        **kwargs: Any,
    ) -> SimplexDisplay:
        """Do as `from_sample` for labels and probabilities; further arguments are those of `from_sample`."""
        sample = Sample(y_true, y_prob, labels=labels, sample_weight=sample_weight)
        return cls.from_sample(sample, binning, **kwargs)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        binning: Binning = _BINNING,
        *,
        sample_weight: Any = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> SimplexDisplay:
        """Do as `from_sample` for a fitted classifier, whose class is the name unless another is given."""
        sample = Sample.from_estimator(estimator, X, y, sample_weight=sample_weight)
        return cls.from_sample(sample, binning, name=type(estimator).__name__ if name is None else name, **kwargs)


# How a simplex diagram is drawn; all numbers are had before.

Drawn: TypeAlias = tuple[Quiver, Quiver | None, Collection, Colorbar]
# Colours of Okabe & Ito, told apart by colour-blind readers; the thickness differs too.
_WITHIN, _OUTSIDE, _LINE = "#0072B2", "#D55E00", "#B0B0B0"
# Shades that arrows can be seen on.
_SHADES = LinearSegmentedColormap.from_list("light greys", ["white", "#9A9A9A"])


def draw_simplex(ax: Axes, display: SimplexDisplay, options: dict[str, Any]) -> Drawn:
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
        above = y > 0
        ax.annotate(
            str(label),
            (x, y),
            (0, 6 if above else -6),
            textcoords="offset points",
            ha="center",
            va="bottom" if above else "top",
        )
    ax.set(xlim=(-0.05, 1.05), ylim=(-0.08, 1.16), aspect="equal")
    ax.axis("off")


def _draw_cells(ax: Axes, display: SimplexDisplay) -> Collection:
    """Shade the triangles of a regular grid; of other cells, of unknown shape, a disc at the mean prediction."""
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

    Steps of the three coordinates add up to n_bins - 1 in a triangle that points to where the outer one does, to
    n_bins - 2 in one that points away, and to n_bins - 3 in a cell that is nothing but a corner of the grid.

    Examples
    --------
    >>> import numpy as np
    >>> grid_cell(np.array([0.7, 0.2, 0.1]), 2)
    array([[1. , 0. , 0. ],
           [0.5, 0.5, 0. ],
           [0.5, 0. , 0.5]])
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
    usual = Line2D([], [], color=colour, label="from mean prediction to frequencies of outcomes in the cell")
    rest = f"{100 * (1 - display.coverage):.3g} %"
    words = f"longer than noise: at most {rest} of draws of labels\nfrom the predictions give one as long in that cell"
    marked = Line2D([], [], color=_OUTSIDE, linewidth=3.0, label=words)
    handles = [usual, marked] if display.outside.any() else [usual]
    ax.legend(handles=handles, loc="upper left", fontsize="small", frameon=False, borderaxespad=0.0)


# The numbers of a simplex diagram; nothing is drawn here.


def simplex_cells(sample: Sample, binning: Binning, *, lens: Lens, n_resamples: int, coverage: float, rng: RNG) -> Any:
    """Cut a sample of three classes into cells, and work out how long arrows may be by noise alone.

    Parameters
    ----------
    sample, binning, lens, n_resamples, coverage, rng
        As for ``SimplexDisplay.from_sample``.

    Returns
    -------
    cells : xarray Dataset
        That of `HistogramRegression` without empty cells, and the variables length, limit and outside.
    """
    rank = _rank(n_resamples, coverage)
    seen = _three_classes(lens, sample)
    estimator = HistogramRegression(binning)
    cells = estimator(seen)
    drawn = Consistency(n_resamples).draw(estimator, seen, as_generator(rng)).samples
    limit = np.sort(arrow_length(drawn), axis=0)[-rank]
    length = arrow_length(cells["deviation"].values)
    outside = length > limit + ROUNDING
    found = cells.assign(length=("cell", length), limit=("cell", limit), outside=("cell", outside))
    return found.isel(cell=found["count"].values > 0)


def on_plane(probabilities: Floats) -> Floats:
    """Place probabilities (..., 3) in the triangle with corners (0, 0), (1, 0) and (1/2, sqrt(3)/2): (..., 2).

    Examples
    --------
    >>> import numpy as np
    >>> on_plane(np.array([0.0, 0.0, 1.0])).round(6)
    array([0.5     , 0.866025])
    """
    return probabilities @ np.array([[0.0, 0.0], [1.0, 0.0], [0.5, math.sqrt(0.75)]])


def arrow_length(deviations: Floats) -> Floats:
    """Return the lengths in the picture of deviations (..., 3): (...,)."""
    return np.hypot(*np.moveaxis(on_plane(deviations), -1, 0))


def _rank(n_resamples: int, coverage: float) -> int:
    """Return which of the longest arrows of redraws is the limit, or say how many redraws there must be."""
    if not 0 < coverage < 1:
        raise ValueError(f"coverage is {coverage!r}, but it must lie between 0 and 1, for example 0.9.")
    rank = rounded_down((n_resamples + 1) * (1 - coverage))
    if rank < 1:
        raise ValueError(
            f"n_resamples is {n_resamples!r}, too few for limits of coverage {coverage!r}: take "
            f"{rounded_up(1 / (1 - coverage)) - 1} or more."
        )
    return rank


def _three_classes(lens: Lens, sample: Sample) -> Sample:
    """What is seen through the lens, if a simplex diagram can show it."""
    check_sample(sample)
    seen = check_lens(lens)(sample)
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
    if not len(seen):
        raise ValueError(f"no row is left to look at through {lens!r}; widen its region.")
    return seen


# Several reliability diagrams in one picture, on the same scale.


def side_by_side(displays: Sequence[ReliabilityDisplay], title: str | None = None) -> Figure:
    """Draw deviations side by side; no window opens.

    Parameters
    ----------
    displays : sequence of ReliabilityDisplay
        Their names become titles.
    title : str, optional
        Of the whole picture.

    Returns
    -------
    matplotlib Figure
    """
    figure = Figure(figsize=(5.4 * len(displays), 4.6), layout="constrained")
    axes = figure.subplots(1, len(displays), squeeze=False)[0]
    for display, ax in zip(displays, axes, strict=True):
        display.plot(ax)
    wide, high = _around([ax.get_xlim() for ax in axes]), _around([ax.get_ylim() for ax in axes])
    for ax in axes:
        ax.set(xlim=wide, ylim=high)
    for ax in axes[1:]:
        ax.set_ylabel("")
        ax.tick_params(labelleft=False)
    if title is not None:
        figure.suptitle(title)
    return figure


def _around(limits: Sequence[tuple[float, float]]) -> tuple[float, float]:
    return min(low for low, _ in limits), max(high for _, high in limits)
