"""The law of a statistic under calibration, drawn or computed, and where the observed value falls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self, final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from calibstat._text import counted
from calibstat.data.arrays import Bools, Floats
from calibstat.data.sample import Sample
from calibstat.displays._style import (
    BEYOND,
    FAINT,
    INK,
    NOISE,
    PlotDisplay,
    ResultDisplay,
    label_axes,
    legend_below,
    tick,
)
from calibstat.estimators.base import Estimator
from calibstat.inference.results import CalibrationTest, number, small_pvalue
from calibstat.inference.test import calibration_test
from calibstat.nulls.base import tie_slack

# A law with at most so many values has a bar for each; another one is cut into at most so many bars, and those with a
# smaller share would not be seen.
_FEW_VALUES, _MOST_BARS, _SEEN = 30, 60, 1e-4


@final
@dataclass(eq=False, repr=False)
class NullDisplay(ResultDisplay, PlotDisplay):
    """What noise alone gives for a statistic, and what was observed.

    The bars are the law of the statistic under the null, drawn or computed; the line is the observed value. Bars at
    least as extreme are darker, and their share of the area is about the p-value. The p-value of a test without an
    estimator is that of a panel, which `PanelDisplay` draws (``result.panel.plot()``); here is the law of the size of
    the error. Make one by `from_sample`, `from_result`, or ``result.plot()`` of the result of `calibration_test`.

    Parameters
    ----------
    test : CalibrationTest
    place, width, share : (b,) floats
        The centre of each bar, its width, and its share of the law.
    extreme : (b,) bools
        Whether a bar is at least as extreme as the observed value.
    name : str, optional
        Name of the model, for the title.

    Attributes
    ----------
    bars_ : matplotlib BarContainer
    observed_ : matplotlib Line2D
    ax_, figure_ : matplotlib Axes, Figure

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([1, 1, 1, 0], [0.25, 0.25, 0.25, 0.25])
    >>> display = cs.NullDisplay.from_sample(sample, cs.ECE(cs.FixedEdges([0, 1])))
    >>> display.place, display.share * 256  # the number of events out of four is binomial
    (array([0.  , 0.25, 0.5 , 0.75]), array([108., 135.,  12.,   1.]))
    >>> float(display.share[display.extreme].sum()) == display.test.pvalue == 13 / 256
    True
    """

    test: CalibrationTest
    place: Floats
    width: Floats
    share: Floats
    extreme: Bools
    name: str | None = None

    size: ClassVar[tuple[float, float]] = (3.4, 2.6)

    @classmethod
    def compute(cls, result: CalibrationTest, *, name: str | None = None) -> Self:
        """Compute the numbers of the picture of a test, without drawing it."""
        if not isinstance(result, CalibrationTest):
            raise TypeError(f"result is of type {type(result).__name__}, but that of calibration_test is expected.")
        test = result
        values, masses = test.null_distribution.atoms()
        kept = np.isfinite(values)
        place, width, share = _bars(values[kept], masses[kept], test.statistic)
        order = test.question.estimator.evidence
        evidence, observed = order(place), float(order(np.asarray(test.statistic)))
        extreme = np.asarray(evidence >= observed - tie_slack(observed, float(np.abs(evidence).max(initial=0.0))))
        return cls(test, place, width, share, extreme, name)

    @classmethod
    def from_sample(
        cls,
        sample: Sample,
        estimator: Estimator | None = None,
        *,
        ax: Axes | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Test a sample and draw the law of the statistic; further arguments are those of `calibration_test`."""
        return cls.from_result(calibration_test(sample, estimator, **kwargs), ax=ax, name=name)

    @property
    def beyond(self) -> bool:
        """Whether the p-value is at most the level of the test."""
        return self.test.pvalue <= self.test.level

    @property
    def far_out(self) -> bool:
        """Whether the observed value is: the p-value of a panel is not about the statistic that is drawn."""
        return self._own_pvalue <= self.test.level

    @property
    def _own_pvalue(self) -> float:
        test = self.test
        return test.pvalue if test.panel is None else test.null_distribution.pvalue(test.statistic)

    def _fill(self, ax: Axes, options: dict[str, Any]) -> None:
        colours = np.where(self.extreme, FAINT, NOISE).tolist()
        self.bars_ = ax.bar(self.place, self.share, self.width, **{"color": colours, "linewidth": 0, **options})
        strong = BEYOND if self.far_out else INK
        self.observed_ = ax.axvline(self.test.statistic, color=strong, linewidth=2.2)
        ax.set_yticks([])
        ax.spines["left"].set_visible(False)
        ax.margins(x=0.04)
        if min(self.place.min(initial=0.0), self.test.statistic) >= 0:
            ax.set_xlim(left=0)
        ax.xaxis.set_major_locator(MaxNLocator(5))
        ax.xaxis.set_major_formatter(tick)
        label_axes(ax, self.test.question.estimator.quantity.split(" (")[0])
        handles = [
            Patch(color=NOISE, label="noise alone"),
            Line2D([], [], color=strong, linewidth=2.2, label="observed"),
        ]
        legend_below(ax, handles)

    @property
    def _answer(self) -> list[str]:
        test = self.test
        what = "evidence of miscalibration" if self.beyond else "no evidence of miscalibration"
        size = f"{test.statistic:.2g}, noise alone {test.null_mean:.2g}; n = {test.question.n:,}"
        pvalue = small_pvalue(float(f"{test.pvalue:.2g}"), level=test.level)
        if test.panel is None:
            return [f"{what}, p {pvalue}", f"observed {size}"]
        by = f"the strongest of {counted(len(test.panel.names), 'statistic')}"
        return [f"{what.split(' of ')[0]}, p {pvalue} by {by}", f"its size: {size}"]

    @property
    def caption(self) -> str:
        """What is drawn, from how many rows, and how to read it."""
        test = self.test
        own = small_pvalue(float(f"{self._own_pvalue:.2g}"))
        panel = (
            f" The p-value is that of a panel ({test.panel.description}), whose strongest statistic is "
            f"{test.panel.strongest}; the size that is drawn has p {own} by itself."
            if test.panel
            else ""
        )
        return (
            f"The law of the {test.question.estimator.quantity} under the null ({test.null_distribution.description}), "
            f"beside its observed value, {number(test.statistic, test.null_mean)}, of {test.question.rows}. Darker "
            f"bars are at least as extreme. Null: {test.hypothesis}.{panel} {test.verdict}"
        )


def _bars(values: Floats, masses: Floats, observed: float) -> tuple[Floats, Floats, Floats]:
    """Return centres, widths and shares (b,) of bars: one for each value if there are few, else of equal width.

    The observed value lies between two bars of equal width, so that none is partly as extreme.
    """
    merged, which = np.unique(values.round(12), return_inverse=True)
    if len(merged) <= _FEW_VALUES:
        step = float(np.diff(merged).min(initial=np.ptp([*merged, observed]) or 1.0))
        width = 0.8 * max(step, float(np.ptp([*merged, observed])) / 200)
        return merged, np.full(len(merged), width), np.bincount(which, masses, len(merged)).astype(float)
    low, high = float(values.min()), float(values.max())
    spread = float(np.sqrt(np.average((values - np.average(values, weights=masses)) ** 2, weights=masses)))
    width = max(spread / 4, (high - low) / _MOST_BARS)
    first = observed - width * np.ceil((observed - low) / width) if np.isfinite(observed) else low
    edges = first + width * np.arange(int(np.ceil((high - first) / width)) + 2)
    share, _ = np.histogram(values, edges, weights=masses)
    held = share > _SEEN
    return np.asarray((edges[:-1] + width / 2)[held]), np.full(int(held.sum()), width), share[held].astype(float)
