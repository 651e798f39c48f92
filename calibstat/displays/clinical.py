"""The calibration curve of a clinical summary, with the calibration belt, and its numbers."""

from __future__ import annotations

from typing import Any, ClassVar, Self, final

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from calibstat._dataclass import dataclass
from calibstat._text import percent
from calibstat.displays._style import (
    BEYOND,
    CURVE,
    INK,
    NOISE,
    PlotDisplay,
    ResultDisplay,
    label_axes,
    legend_below,
    percent_tick,
)
from calibstat.inference.clinical import ClinicalSummary
from calibstat.inference.results import pvalue_cell


@final
@dataclass(eq=False, repr=False)
class ClinicalDisplay(ResultDisplay, PlotDisplay):
    """A smooth calibration curve, with the calibration belt and the numbers of a clinical summary.

    The curve is the one whose distance from the diagonal the ICI, E50, E90 and Emax measure. The pale belt holds the
    whole calibration curve with 95 %, if that is a polynomial of the logit; it is left out with weights. The curve has
    the strong colour where the test of the belt rejects. Axes end where predictions, curve and belt do. Make one by
    `from_result`, or by ``result.plot()`` of the result of `clinical_summary`.

    Parameters
    ----------
    summary : ClinicalSummary
    name : str, optional
        Title.

    Attributes
    ----------
    curve_, diagonal_ : matplotlib Line2D
    belt_ : matplotlib PolyCollection or None
    ax_, figure_ : matplotlib Axes, Figure

    Examples
    --------
    >>> import calibstat as cs
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(1, 4, 500)
    >>> found = cs.clinical_summary(cs.Sample(rng.random(500) < 0.6 * p, p), n_resamples=99, rng=0)
    >>> cs.ClinicalDisplay.compute(found).beyond
    True
    """

    summary: ClinicalSummary
    name: str | None = None

    size: ClassVar[tuple[float, float]] = (3.4, 3.4)

    @classmethod
    def compute(cls, result: ClinicalSummary, *, name: str | None = None) -> Self:
        """Take the numbers from the result as `from_result` does, without drawing them."""
        if not isinstance(result, ClinicalSummary):
            raise TypeError(f"result is of type {type(result).__name__}, but that of clinical_summary is expected.")
        return cls(result, name)

    @property
    def beyond(self) -> bool:
        """Whether the test of the belt rejects."""
        pvalue = self.summary.belt_pvalue
        return pvalue is not None and pvalue <= 1 - self.summary.confidence_level

    def _fill(self, ax: Axes, options: dict[str, Any]) -> None:
        belt, curve = self._belt, self.summary.curve
        end = float(max(curve.x.max(), curve.outcome.max()))
        self.belt_ = None
        if belt is not None:
            self.belt_ = ax.fill_between(belt.x, belt.low[-1], belt.high[-1], color=NOISE, linewidth=0)
            end = max(end, float(belt.high[-1].max()))
        end = min(1.0, 1.05 * end)
        (self.diagonal_,) = ax.plot([0, end], [0, end], color=INK, linewidth=0.8)
        look: dict[str, Any] = {"color": BEYOND if self.beyond else CURVE, "linewidth": 1.8, **options}
        (self.curve_,) = ax.plot(curve.x, curve.outcome, **look)
        ax.set(xlim=(0, end), ylim=(0, end))
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(MaxNLocator(5))
            axis.set_major_formatter(percent_tick)
        label_axes(ax, "predicted, %", "happened, %")
        found: list[Any] = [Line2D([], [], color=look["color"], linewidth=1.8, label="smooth curve")]
        if belt is not None:
            found.append(Patch(color=NOISE, label=f"{percent(belt.levels[-1])} belt (p {self._pvalue})"))
        legend_below(ax, found)

    @property
    def _belt(self) -> Any:
        """The belt; None where there is none, or none of rows in clusters."""
        return None if self.summary.question.clusters is not None else self.summary.belt

    @property
    def _pvalue(self) -> str:
        pvalue = self.summary.belt_pvalue
        return "" if pvalue is None else pvalue_cell(pvalue, 1 - self.summary.confidence_level)

    @property
    def _answer(self) -> list[str]:
        values = {name: each.value for name, each in self.summary.measures.items()}
        slope = "no slope" if values["slope"] != values["slope"] else f"slope {values['slope']:.3g}"
        noise = self.summary["ici"].expected
        return [
            f"O/E {values['oe']:.3g}, {slope}; n = {self.summary.question.n:,}",
            f"ICI {values['ici']:.2g} (noise alone {noise:.2g})",
        ]

    @property
    def caption(self) -> str:
        """What is drawn, from how many rows, and how to read it."""
        belt = self._belt
        said = (
            ""
            if belt is None
            else (
                f" The belt is that of a polynomial of degree {belt.degree} of the log-odds, and holds the whole curve "
                f"with {percent(belt.levels[-1])} if the curve is one (p {self._pvalue})."
            )
        )
        return (
            f"Smooth calibration curve of {self.summary.question.rows}, {self.summary.n_events} events, seen through "
            f"{self.summary.question.lens!r}.{said} {self.summary.verdict}"
        )
