"""Validity curves: the share of rows whose prediction is off by no more than a tolerance, beside noise alone."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self, final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from calibstat._text import percent
from calibstat.binnings.base import Binning
from calibstat.binnings.intervals import EqualMass
from calibstat.data.arrays import RNG, Floats, as_generator
from calibstat.data.parameters import LEVEL
from calibstat.data.rounding import ROUNDING
from calibstat.data.sample import Sample
from calibstat.displays._from_samples import SampleDisplay, rank_of_limit
from calibstat.displays._style import (
    BEYOND,
    CURVE,
    INK,
    NOISE,
    PlotDisplay,
    label_axes,
    legend_below,
    percent_tick,
)
from calibstat.estimators.histogram import HistogramRegression
from calibstat.estimators.validity_curve import AUCV, ValidityCurve
from calibstat.inference.estimate import redrawn
from calibstat.inference.results import small_pvalue
from calibstat.lenses.base import Lens
from calibstat.lenses.relabel import CANONICAL
from calibstat.nulls.base import EmpiricalNull

_GRID = 201
_LEAST = 1e-6  # the axis reaches so far where every prediction is right
_MOST = 0.9  # the share of rows for which the answer says how far off they are


@final
@dataclass(eq=False, repr=False)
class ValidityCurveDisplay(SampleDisplay, PlotDisplay):
    """The share of rows off by no more than each tolerance, and the same curve from noise alone.

    The curve of Gupta & Ramdas (2021) for the means of cells: the sooner it rises, the better. Noise moves the means of
    cells too, so that the curve of a calibrated model does not begin at 1: at each tolerance, it lies in the pale band
    with the probability `coverage` or more. The curve is in the strong colour where the area above it, which is the ECE
    of the same cells, is more than noise explains. Make one by `from_sample`, `from_predictions`, `from_estimator`, or
    by `from_result` from a `ValidityCurve`, without a band.

    Parameters
    ----------
    curve : ValidityCurve
    tolerance, low, high : (m,) floats
        Tolerances, and the ends of the band of noise there; None where the noise is not known.
    pvalue : float, optional
        Of the area under the curve.
    null_mean : float, optional
        Mean error under calibration.
    n : int, optional
        Number of rows.
    coverage : float
    binning : Binning, optional
    lens : Lens
    name : str, optional
        Name of the model, for the title.

    Attributes
    ----------
    line_ : matplotlib Line2D
    band_ : matplotlib PolyCollection or None
    ax_, figure_ : matplotlib Axes, Figure

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 0, 1, 0, 1, 0, 1, 1], [0.1, 0.2, 0.2, 0.4, 0.6, 0.6, 0.7, 0.9])
    >>> display = cs.ValidityCurveDisplay.from_sample(sample, cs.UniqueValues(), rng=0)
    >>> round(display.curve.area, 4)
    0.7875
    """

    curve: ValidityCurve
    _: KW_ONLY
    tolerance: Floats | None = None
    low: Floats | None = None
    high: Floats | None = None
    pvalue: float | None = None
    null_mean: float | None = None
    n: int | None = None
    coverage: float = 0.9
    binning: Binning | None = None
    lens: Lens = CANONICAL
    name: str | None = None

    default_binning: ClassVar[Binning] = EqualMass(15)
    size: ClassVar[tuple[float, float]] = (3.4, 2.8)

    @classmethod
    def _of(
        cls, seen: Sample, binning: Binning, lens: Lens, n_resamples: int, coverage: float, rng: RNG, name: str | None
    ) -> ValidityCurveDisplay:
        rank = rank_of_limit(n_resamples, (1 - coverage) / 2, "a band", coverage)
        estimator, curve = HistogramRegression(binning), AUCV(binning).curve(seen)
        cells = estimator(seen)
        held = cells["count"].values > 0
        mass = cells["proportion"].values[held]
        drawn = redrawn(estimator, seen, estimator.prepare(seen.predictions), n_resamples, as_generator(rng)).samples
        drawn = drawn[:, held]
        gaps = np.abs(drawn).sum(axis=-1) / 2  # total variation; the difference of the event for two outcomes
        errors = gaps @ mass
        tolerance = np.linspace(0, 1.05 * max(curve.deviation[-1], np.quantile(gaps.max(axis=1), coverage)), _GRID)
        shares = np.sort([(gaps <= each + ROUNDING) @ mass for each in tolerance], axis=1)
        return cls(
            curve,
            tolerance=tolerance,
            low=shares[:, rank - 1],
            high=shares[:, -rank],
            pvalue=EmpiricalNull(errors, np.asarray).pvalue(1 - curve.area),
            null_mean=float(errors.mean()),
            n=len(seen),
            coverage=coverage,
            binning=binning,
            lens=lens,
            name=name,
        )

    @classmethod
    def from_result(
        cls, result: ValidityCurve, *, ax: Axes | None = None, name: str | None = None, **kwargs: Any
    ) -> Self:
        """Draw a validity curve alone: how far noise moves it is not known from the curve.

        Parameters
        ----------
        result : ValidityCurve
        ax, name, **kwargs
            As for `plot`.

        Raises
        ------
        TypeError
            If `result` is not a ValidityCurve.
        """
        if not isinstance(result, ValidityCurve):
            raise TypeError(f"result is a {type(result).__name__}, but the ValidityCurve of AUCV().curve is expected.")
        return cls(result, name=name).plot(ax, **kwargs)

    @property
    def beyond(self) -> bool:
        """Whether the area above the curve is more than noise explains, at 5 %."""
        return self.pvalue is not None and self.pvalue <= LEVEL

    @property
    def most(self) -> float:
        """The tolerance within which nine tenths of the rows lie."""
        return float(self.curve.deviation[np.searchsorted(self.curve.share, _MOST - ROUNDING)])

    def _fill(self, ax: Axes, options: dict[str, Any]) -> None:
        end = max(1.05 * self.curve.deviation[-1] if self.tolerance is None else self.tolerance[-1], _LEAST)
        self.band_ = None
        if self.tolerance is not None and self.low is not None and self.high is not None:
            self.band_ = ax.fill_between(self.tolerance, self.low, self.high, step="post", color=NOISE, linewidth=0)
        x = np.concatenate([[0.0], self.curve.deviation, [end]])
        y = np.concatenate([[0.0], self.curve.share, [1.0]])
        colour = BEYOND if self.beyond else CURVE
        (self.line_,) = ax.plot(x, y, **{"color": colour, "linewidth": 1.8, "drawstyle": "steps-post", **options})
        ax.plot(self.most, _MOST, marker="o", color=INK, markersize=5, linestyle="none", clip_on=False)
        ax.set(xlim=(0, end), ylim=(0, 1.02))
        ax.xaxis.set_major_locator(MaxNLocator(5))
        ax.xaxis.set_major_formatter(percent_tick)
        ax.yaxis.set_major_formatter(percent_tick)
        label_axes(ax, "off by at most, %", "share of rows, %")
        legend_below(ax, self._handles(colour))

    def _handles(self, colour: str) -> list[Any]:
        """Return what the legend explains."""
        found: list[Any] = [
            Line2D([], [], color=colour, linewidth=1.8, label="more than noise" if self.beyond else "observed")
        ]
        found.append(Line2D([], [], color=INK, marker="o", markersize=5, linestyle="none", label="90 % of the rows"))
        if self.band_ is not None:
            found.insert(0, Patch(color=NOISE, label=f"noise alone ({percent(self.coverage)})"))
        return found

    @property
    def _answer(self) -> list[str]:
        first = f"90 % of the rows are off by at most {100 * self.most:.2g} %"
        if self.null_mean is None:
            return [first, f"mean error {100 * (1 - self.curve.area):.2g} %"]
        noise = f"noise alone {100 * self.null_mean:.2g} %"
        return [first, f"mean error {100 * (1 - self.curve.area):.2g} %, {noise}; n = {self.n:,}"]

    @property
    def caption(self) -> str:
        """What is drawn, from how many rows, and how to read it."""
        curve = (
            "The share of rows in cells whose mean outcome and mean prediction differ by no more than a tolerance "
            f"(validity curve; area {self.curve.area:.4g}, one minus the mean error). The point marks nine tenths of "
            "the rows."
        )
        if self.pvalue is None:
            return curve
        found = "is more than noise explains" if self.beyond else "is no more than noise explains"
        return (
            f"{curve} Cells: {self.binning!r}, of {self.n} rows seen through {self.lens!r}. At each tolerance the "
            f"curve of a calibrated model lies in the band in {percent(self.coverage)} of draws or more. The mean "
            f"error {found} (p {small_pvalue(self.pvalue, level=LEVEL)})."
        )
