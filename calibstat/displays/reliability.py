"""Reliability diagrams, with a bar for the noise in every point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, TypeAlias, final

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from calibstat.binnings.base import Binning
from calibstat.binnings.intervals import EqualMass
from calibstat.data.arrays import RNG, Bools, Floats, as_generator
from calibstat.data.rounding import ROUNDING, above_rounding
from calibstat.data.sample import Predictions, Sample
from calibstat.displays._from_samples import SampleDisplay, rank_of_limit
from calibstat.draws.poisson_binomial import CellCounts
from calibstat.estimators.histogram import HistogramRegression
from calibstat.estimators.tally import ratio
from calibstat.lenses.base import Lens
from calibstat.nulls.consistency import Consistency

Kind: TypeAlias = Literal["deviation", "classical"]


@final
@dataclass(eq=False, repr=False)
class ReliabilityDisplay(SampleDisplay):
    """Mean outcome beside mean prediction in each cell, with consistency bars (Broecker & Smith 2007).

    Make one by `from_sample`, `from_predictions` or `from_estimator`. Given the predictions, the point of a calibrated
    model falls within its bar with probability `coverage` or more: a point outside deviates by more than noise explains
    in that cell, though among many cells some fall outside by chance. Without weights bars are exact: their ends are
    numbers of events, and at most (1 - coverage) / 2 of the probability lies beyond each. With weights the ends are
    order statistics of redraws. Cells without rows are not drawn.

    Parameters
    ----------
    mean_prediction, mean_outcome : (L,) floats
        Mean probability of the event and mean indicator of the event in each cell that holds rows.
    count : (L,) floats
        Number of rows (sum of weights) in each cell.
    low, high : (L,) floats
        The consistency bars, as deviations: mean outcome minus mean prediction.
    axis : CellAxis
        Where the cells lie, and what that axis shows.
    coverage : float
    name : str, optional
        Name of the model, for the title.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The points of all cells.
    outside_ : matplotlib Line2D or None
        The points outside their bars, drawn once more; None if there are none.
    bars_ : matplotlib LineCollection
    ax_, figure_ : matplotlib Axes, Figure
    counts_ax_ : matplotlib Axes
        The small axes of the counts.

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 1, 1, 0, 1, 1], [0.2, 0.7, 0.9, 0.4, 0.6, 0.3])
    >>> display = cs.ReliabilityDisplay.from_sample(sample, cs.FixedEdges([0, 0.5, 1]))
    >>> display.deviation.round(4)
    array([0.0333, 0.2667])
    """

    mean_prediction: Floats
    mean_outcome: Floats
    count: Floats
    low: Floats
    high: Floats
    _: KW_ONLY
    axis: CellAxis
    coverage: float
    name: str | None = None

    default_binning: ClassVar[Binning] = EqualMass(15)

    @property
    def deviation(self) -> Floats:
        """(L,) mean outcome minus mean prediction."""
        return self.mean_outcome - self.mean_prediction

    @property
    def outside(self) -> Bools:
        """(L,) whether the point lies outside its bar by more than rounding."""
        size, deviation = self.mean_outcome + self.mean_prediction, self.deviation
        return above_rounding(np.maximum(self.low - deviation, deviation - self.high), size) > 0

    def plot(
        self, ax: Axes | None = None, *, kind: Kind = "deviation", name: str | None = None, **kwargs: Any
    ) -> ReliabilityDisplay:
        """Draw the diagram.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default the axes of a new figure.
        kind : {"deviation", "classical"}
            Mean outcome minus mean prediction around zero (Vaicenavicius et al. 2019, Figure 4), or mean outcome
            against mean prediction around the diagonal.
        name : str, optional
            Title; by default the one given when the display was made.
        **kwargs
            Options of ``Axes.plot`` for the points.

        Returns
        -------
        ReliabilityDisplay
            Itself.
        """
        if kind not in ("deviation", "classical"):
            raise ValueError(f"kind is {kind!r}, but it must be 'deviation' or 'classical'.")
        if ax is None:
            _, ax = plt.subplots(layout="constrained")
        draw = draw_deviation if kind == "deviation" else draw_classical
        self.line_, self.outside_, self.bars_, self.counts_ax_ = draw(ax, self, kwargs)
        title = self.name if name is None else name
        if title is not None:
            ax.set_title(title)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @property
    def caption(self) -> str:
        """What the diagram shows, and how to read it."""
        return (
            f"Each of {len(self.count)} points is the mean outcome of a cell of the {self.axis.label}. Its bar is "
            f"where {100 * self.coverage:g} % of points fall if the model is calibrated."
        )

    @classmethod
    def _of(
        cls, seen: Sample, binning: Binning, lens: Lens, n_resamples: int, coverage: float, rng: RNG, name: str | None
    ) -> ReliabilityDisplay:
        if seen.predictions.n_classes != 2:
            raise ValueError(
                f"a reliability diagram needs 2 classes, got {seen.predictions.n_classes} through {lens!r}: look "
                "through a lens first, for example lens=TopLabel()."
            )
        axis = cell_axis(seen.predictions, binning, lens)
        estimator = HistogramRegression(binning)
        cells = estimator(seen).isel(label=-1)
        if seen.predictions.weights is None:
            shares = exact_bars(seen.predictions, binning, coverage)
            low, high = (end - cells["mean_prediction"].values for end in shares)
        else:
            tail = (1 - coverage) / 2
            rank = rank_of_limit(n_resamples, tail, "bars", coverage)
            drawn = Consistency(n_resamples).draw(estimator, seen, as_generator(rng))
            ordered = np.sort(drawn.samples[..., -1], axis=0)
            low, high = ordered[rank - 1], ordered[-rank]
        filled = cells["count"].values > 0
        prediction, outcome, count = (
            cells[each].values[filled] for each in ("mean_prediction", "mean_outcome", "count")
        )
        return cls(
            prediction, outcome, count, low[filled], high[filled], axis=axis.take(filled), coverage=coverage, name=name
        )


# Drawing of a reliability diagram whose numbers are computed.

ReliabilityArtists: TypeAlias = tuple[Line2D, Line2D | None, LineCollection, Axes]
# Colour-blind readers tell these colours apart (Okabe & Ito 2008); the marker differs too.
_WITHIN, _OUTSIDE, _BAR, _QUIET = "#0072B2", "#D55E00", "#BFD9EA", "#707070"
_COUNTS_HEIGHT = 0.13
_DEVIATION = "observed frequency minus predicted probability\n\u2190 happens less often      happens more often \u2192"


def draw_deviation(ax: Axes, display: ReliabilityDisplay, options: dict[str, Any]) -> ReliabilityArtists:
    """Draw deviations around zero."""
    ax.axhline(0, color="black", linewidth=1, zorder=1)
    drawn = _draw(ax, display, display.axis.position, np.zeros_like(display.low), options)
    ax.set_xlabel(display.axis.label)
    ax.set_ylabel(_DEVIATION)
    if display.axis.categories is not None:
        ax.set_xticks(display.axis.position, display.axis.categories)
    # There is room for the counts below and for words above.
    heights = np.concatenate([display.deviation, display.low, display.high, [0.0]])
    span = max(float(np.ptp(heights)), 1e-6)
    ax.set_ylim(heights.min() - 0.3 * span, heights.max() + 0.38 * span)
    return drawn


def draw_classical(ax: Axes, display: ReliabilityDisplay, options: dict[str, Any]) -> ReliabilityArtists:
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
) -> ReliabilityArtists:
    """Draw bars and points; the points of a calibrated model scatter around `calibrated`."""
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
    look: dict[str, Any] = {"color": _WITHIN, "marker": "o", "markersize": 5.5, "linestyle": "none", "zorder": 3}
    (line,) = ax.plot(position, height, **(look | {"label": "mean of a cell"} | options))
    outside, found = None, display.outside
    if found.any():
        by_chance = f"{100 * (1 - display.coverage):.3g} % of cells by chance"
        look = {"color": _OUTSIDE, "marker": "D", "markersize": 6.5, "linestyle": "none", "zorder": 4}
        words = f"outside its bar: more than noise\n({by_chance})"
        (outside,) = ax.plot(position[found], height[found], **look, label=words)
    counts = _draw_counts(ax, display, position)
    ax.legend(loc="upper left", fontsize="small", frameon=False)
    return line, outside, bars, counts


def _draw_counts(ax: Axes, display: ReliabilityDisplay, position: Floats) -> Axes:
    """Show the rows of each cell at the foot of the axes."""
    counts = ax.inset_axes((0, 0, 1, _COUNTS_HEIGHT), sharex=ax, zorder=0)
    counts.vlines(position, 0, display.count, color="#A0A0A0", linewidth=4)
    counts.set_ylim(0, 1.6 * display.count.max())
    counts.axis("off")
    smallest, largest = _count_text(display.count.min()), _count_text(display.count.max())
    span = smallest if smallest == largest else f"{smallest} to {largest}"
    counts.text(
        0.01, 0.95, f"rows in each cell: {span}", transform=counts.transAxes, va="top", color=_QUIET, fontsize="small"
    )
    return counts


def _count_text(number: float) -> str:
    return f"{number:,.0f}" if number == round(number) else f"{number:,.4g}"


# Where the point of each cell falls if the model is calibrated.


def exact_bars(predictions: Predictions, binning: Binning, coverage: float) -> tuple[Floats, Floats]:
    """Return the ends of the bars from the Poisson-binomial law of the number of events in each cell, without weights.

    The number of events falls below the lower end, and above the upper one, with probability at most (1 - coverage) / 2
    each. Ends are possible numbers of events, so a bar holds its point with probability `coverage` or more. They are
    returned as shares of events (L,), NaN in cells without rows.

    >>> import numpy as np
    >>> import calibstat as cs
    >>> exact_bars(cs.Sample([0, 1] * 50, np.full(100, 0.3)).predictions, cs.EqualMass(1), 0.9)
    (array([0.23]), array([0.38]))
    """
    cells, tail = binning.cut(predictions), (1 - coverage) / 2
    laws = CellCounts(predictions.chances[:, 1], cells).laws
    counts = np.bincount(cells.index, minlength=cells.size)
    ends = [
        _ends(first, masses, tail) if n else (np.nan, np.nan) for n, (first, masses) in zip(counts, laws, strict=True)
    ]
    low, high = np.array(ends, dtype=float).T / np.maximum(counts, 1)
    return low, high


def _ends(first: int, masses: Floats, tail: float) -> tuple[float, float]:
    """Return the largest count with at most `tail` below it, and the smallest one with at most `tail` above it."""
    upto, onwards = np.cumsum(masses), np.cumsum(masses[::-1])
    limit = tail + ROUNDING  # rounding in sums of probabilities must not widen a bar by an event
    low = np.searchsorted(upto / upto[-1], limit, side="right")
    high = np.searchsorted(onwards / onwards[-1], limit, side="right")
    return float(first + low), float(first + len(masses) - 1 - high)


# The axis of the conditioned column, and the place of each cell on it.


@final
@dataclass(frozen=True, eq=False)
class CellAxis:
    """The axis along which cells are placed; `event` labels an axis of predicted probabilities.

    `position` (L,) is the mean of the conditioned column in each cell, or 0, 1, 2, ... for named categories.
    """

    position: Floats
    label: str
    event: str
    categories: tuple[str, ...] | None = None

    def take(self, kept: Bools) -> CellAxis:
        """Return the axis of the kept cells (L,)."""
        if self.categories is None:
            return CellAxis(self.position[kept], self.label, self.event)
        names = tuple(name for name, stays in zip(self.categories, kept, strict=True) if stays)
        return CellAxis(np.arange(len(names), dtype=float), self.label, self.event, names)


def cell_axis(predictions: Predictions, binning: Binning, lens: Lens) -> CellAxis:
    """Return the axis for the cells of one conditioned column; refuse several columns."""
    if len(predictions.keys) != 1:
        raise ValueError(
            f"a diagram has one axis, but {len(predictions.keys)} columns are conditioned on "
            f"({predictions.condition}); condition on one of them, for example Given('age')."
        )
    key, cells = predictions.keys[0], binning.cut(predictions)
    through = f"\nseen through {lens!r}"
    event = f"predicted probability of {predictions.classes[-1]} (mean of the cell){through}"
    label = f"{key} (mean of the cell){through}" if isinstance(key, str) else event
    if cells.names is not None:
        return CellAxis(np.arange(cells.size, dtype=float), f"{key}{through}", event, cells.names)
    weights = np.ones(len(predictions)) if predictions.weights is None else predictions.weights
    mass = np.bincount(cells.index, weights, minlength=cells.size)
    total = np.bincount(cells.index, weights * predictions.column(key).values, minlength=cells.size)
    return CellAxis(ratio(total, mass, empty=np.nan), label, event)


# Several reliability diagrams in one picture, on the same scale.


def side_by_side(displays: Sequence[ReliabilityDisplay], title: str | None = None) -> Figure:
    """Draw deviations side by side, under the names of the displays; no window opens."""
    figure = Figure(figsize=(5.4 * len(displays), 4.6), layout="constrained")
    axes = figure.subplots(1, len(displays), squeeze=False)[0]
    for display, ax in zip(displays, axes, strict=True):
        display.plot(ax)
    limits = np.array([[ax.get_xlim(), ax.get_ylim()] for ax in axes])
    low, high = limits[..., 0].min(axis=0), limits[..., 1].max(axis=0)
    for ax in axes:
        ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    for ax in axes[1:]:
        ax.set_ylabel("")
        ax.tick_params(labelleft=False)
    if title is not None:
        figure.suptitle(title)
    return figure
