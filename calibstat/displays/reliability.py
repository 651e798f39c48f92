"""Reliability diagrams, with what noise alone would do to every point."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Literal, TypeAlias, final

from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from calibstat.arrays import RNG, Bools, Floats
from calibstat.binnings.base import Binning
from calibstat.binnings.equal_mass import EqualMass
from calibstat.displays.cell_axis import CellAxis
from calibstat.displays.reliability_cells import reliability_cells
from calibstat.displays.reliability_drawing import draw_classical, draw_deviation
from calibstat.lenses.base import Lens
from calibstat.lenses.canonical import Canonical
from calibstat.sample import Sample

Kind: TypeAlias = Literal["deviation", "classical"]

_BINNING = EqualMass(15)
_CANONICAL = Canonical()


@final
class ReliabilityDisplay:
    """Mean outcome beside mean prediction in each cell, with consistency bars (Broecker & Smith 2007).

    Make one by `from_sample`, `from_predictions` or `from_estimator`. A bar is where a calibrated model's point
    falls with probability `coverage` or more, the predictions being what they are: a point outside its bar is more than
    noise would do to that cell, though among many cells some fall outside by chance. Without weights bars are exact:
    their ends are numbers of events, with probability (1 - coverage) / 2 at most beyond each. With weights they are
    order statistics of redraws. Cells without rows are not drawn.

    Parameters
    ----------
    mean_prediction, mean_outcome : (L,) floats
        Of the event, in each cell that holds rows.
    count : (L,) floats
        Number of rows (sum of weights) in each cell.
    low, high : (L,) floats
        The consistency bars, as deviations: mean outcome minus mean prediction.
    axis : CellAxis
        Where the cells lie, and what that axis shows.
    coverage : float
    name : str, optional
        Of the model, for the title.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The points of all cells.
    outside_ : matplotlib Line2D or None
        Once more those outside their bars, if there are any.
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

    def __init__(
        self,
        mean_prediction: Floats,
        mean_outcome: Floats,
        count: Floats,
        low: Floats,
        high: Floats,
        *,
        axis: CellAxis,
        coverage: float,
        name: str | None = None,
    ) -> None:
        self.mean_prediction = mean_prediction
        self.mean_outcome = mean_outcome
        self.count = count
        self.low = low
        self.high = high
        self.axis = axis
        self.coverage = coverage
        self.name = name

    @property
    def deviation(self) -> Floats:
        """(L,) mean outcome minus mean prediction."""
        return self.mean_outcome - self.mean_prediction

    @property
    def outside(self) -> Bools:
        """(L,) whether the point lies outside its bar; rounding is not enough for that."""
        found: Bools = (self.deviation < self.low - 1e-12) | (self.deviation > self.high + 1e-12)
        return found

    def plot(
        self, ax: Axes | None = None, *, kind: Kind = "deviation", name: str | None = None, **kwargs: Any
    ) -> ReliabilityDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default a new figure's.
        kind : {"deviation", "classical"}
            Mean outcome minus mean prediction around zero (Vaicenavicius et al. 2019, Figure 4), or mean outcome
            against mean prediction around the diagonal.
        name : str, optional
            Title; by default the one given when the display was made.
        **kwargs
            For the points, as of ``Axes.plot``.

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
        drawn = draw(ax, self, kwargs)
        title = self.name if name is None else name
        if title is not None:
            ax.set_title(title)
        self.line_, self.outside_, self.bars_, self.counts_ax_ = drawn
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
    ) -> ReliabilityDisplay:
        """Do as `from_sample`, but draw nothing yet."""
        found = reliability_cells(sample, binning, lens=lens, n_resamples=n_resamples, coverage=coverage, rng=rng)
        return cls(**found, name=name)

    @classmethod
    def from_sample(
        cls,
        sample: Sample,
        binning: Binning = _BINNING,
        *,
        lens: Lens = _CANONICAL,
        n_resamples: int = 999,
        coverage: float = 0.9,
        kind: Kind = "deviation",
        rng: RNG = None,
        ax: Axes | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> ReliabilityDisplay:
        """Cut a sample into cells, work out the bars, and draw.

        Parameters
        ----------
        sample : Sample
        binning : Binning
            Of the prediction, or of the variable that the lens conditions on.
        lens : Lens
            Through it two outcomes must be seen: for example ``TopLabel()``, or ``TopLabel() | Given("age")``.
        n_resamples : int
            Number of redraws of the labels where rows have weights; without weights nothing is drawn.
        coverage : float
            Of the bars, at least; half of the rest, at most, lies beyond either end.
        kind, ax, name, **kwargs
            As for `plot`.
        rng : int, Generator or None
            For the redraws of weighted rows.

        Raises
        ------
        ValueError
            If more than two outcomes are seen, more than one column is conditioned on, or there are too few redraws.
        """
        display = cls.compute(
            sample, binning, lens=lens, n_resamples=n_resamples, coverage=coverage, rng=rng, name=name
        )
        return display.plot(ax, kind=kind, **kwargs)

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
    ) -> ReliabilityDisplay:
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
    ) -> ReliabilityDisplay:
        """Do as `from_sample` for a fitted classifier, whose class is the name unless another is given."""
        sample = Sample.from_estimator(estimator, X, y, sample_weight=sample_weight)
        return cls.from_sample(sample, binning, name=type(estimator).__name__ if name is None else name, **kwargs)
