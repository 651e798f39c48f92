"""Simplex diagrams: predictions of three classes beside what happened, with what noise alone would do to them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, final

from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from calibstat.arrays import RNG, Bools, Floats
from calibstat.binnings.base import Binning
from calibstat.binnings.simplex_grid import SimplexGrid
from calibstat.displays.simplex_cells import simplex_cells
from calibstat.displays.simplex_drawing import draw_simplex
from calibstat.lenses.base import Lens
from calibstat.lenses.canonical import Canonical
from calibstat.sample import Sample

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
