"""The walk of cumulated errors: where a model errs, without bins, and how far noise alone would walk."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self, final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from calibstat._text import percent, shown
from calibstat.data.arrays import RNG, Floats
from calibstat.data.parameters import LEVEL, check_share
from calibstat.data.rounding import ROUNDING
from calibstat.data.sample import Predictions, Sample
from calibstat.displays._from_samples import rank_of_limit
from calibstat.displays._style import (
    BEYOND,
    INK,
    NOISE,
    PlotDisplay,
    label_axes,
    legend_below,
    percent_tick,
    shortened,
)
from calibstat.estimators.walks import IntervalDeviation, Kuiper, Ordered, WorstInterval
from calibstat.inference.arguments import look_through
from calibstat.inference.results import CalibrationTest, small_pvalue
from calibstat.inference.test import calibration_test
from calibstat.lenses.base import Lens
from calibstat.nulls.base import Null, NullDistribution


@final
@dataclass(eq=False, repr=False)
class CumulativeDisplay(PlotDisplay):
    """The cumulated errors of rows in the order of the prediction, beside the height that noise alone walks.

    The walk adds outcome minus prediction, row by row (Arrieta-Ibarra et al. 2022; Tygert 2021): where it rises, more
    happens than predicted, and its slope is the size of the error there. No bins are involved. The pale strip is as
    high as the walk of a calibrated model stays, from its lowest to its highest point, with the probability `coverage`
    or more; it lies where it holds most of this walk. Where the walk leaves it, `Kuiper` rejects calibration, and the
    part from the lowest to the highest point, `WorstInterval`, is drawn in the strong colour.

    Make one by `from_sample`, `from_predictions` or `from_estimator`.

    Parameters
    ----------
    share : (L + 1,) floats
        Share of the rows (of the weight) with the smallest 0, 1, ..., L distinct predictions.
    walk : (L + 1,) floats
        Sum of outcome minus prediction over these rows, divided by the number of all.
    value : (L,) floats
        The distinct predictions, or values of the variable that the lens conditions on.
    test : CalibrationTest
        Of `Kuiper`: the height of the walk, its p-value, and its law under calibration.
    height : float
        What the walk of a calibrated model reaches at most, from its lowest to its highest point, at `coverage`.
    worst : IntervalDeviation
        The interval where the walk climbs or falls most.
    means : (float, float)
        The mean prediction and the mean outcome in that interval.
    axis : str
        What orders the rows.
    name : str, optional
        Name of the model, for the title.

    Attributes
    ----------
    walk_, worst_ : matplotlib Line2D
        The whole walk, and its part in the worst interval.
    strip_ : matplotlib Polygon or Rectangle
        As high as noise alone walks.
    ax_, figure_ : matplotlib Axes, Figure

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 1, 1, 1], [0.1, 0.4, 0.6, 0.9])
    >>> display = cs.CumulativeDisplay.from_sample(sample, rng=0)
    >>> display.walk.round(4)
    array([ 0.   , -0.025,  0.125,  0.225,  0.25 ])
    """

    share: Floats
    walk: Floats
    value: Floats
    _: KW_ONLY
    test: CalibrationTest
    height: float
    worst: IntervalDeviation
    means: tuple[float, float]
    axis: str
    name: str | None = None

    size: ClassVar[tuple[float, float]] = (3.4, 3.0)

    @classmethod
    def compute(
        cls,
        sample: Sample,
        *,
        lens: Lens | None = None,
        null: Null | str | None = None,
        n_resamples: int | None = None,
        coverage: float = 1 - LEVEL,
        rng: RNG = None,
        name: str | None = None,
    ) -> Self:
        """Compute the numbers of the picture as `from_sample` does, without drawing it."""
        check_share("coverage", coverage, 1 - LEVEL)
        asked, seen = look_through(sample, Kuiper(), lens, counted=True)
        level = round(1 - coverage, 12)
        test = calibration_test(sample, asked.estimator, null=null, n_resamples=n_resamples, level=level, rng=rng)
        ordered = Ordered(Kuiper(), seen.predictions)
        mass = ordered.cumulate(ordered.weights(None))
        worst = WorstInterval()(seen)
        return cls(
            mass / mass[-1],
            ordered.walk(seen.outcomes),
            ordered.values,
            test=test,
            height=_limit(test.null_distribution, level),
            worst=worst,
            means=_means(ordered, seen, worst),
            axis=column_name(seen.predictions),
            name=name,
        )

    @classmethod
    def from_sample(
        cls,
        sample: Sample,
        *,
        lens: Lens | None = None,
        null: Null | str | None = None,
        n_resamples: int | None = None,
        coverage: float = 1 - LEVEL,
        rng: RNG = None,
        ax: Axes | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Walk through a sample, compute how far noise alone walks, and draw both.

        Parameters
        ----------
        sample : Sample
        lens : Lens, optional
            Two outcomes must be seen through it, for example by ``TopLabel()`` or ``TopLabel() | Given("age")``.
        null, n_resamples, rng
            As for `calibration_test`.
        coverage : float
            Probability that the walk of a calibrated model is no higher than the strip.
        ax, name, **kwargs
            As for `plot`.

        Raises
        ------
        TypeError, ValueError
            As `calibration_test` does with `Kuiper`.
        """
        asked: dict[str, Any] = {"lens": lens, "null": null, "n_resamples": n_resamples, "coverage": coverage}
        return cls.compute(sample, **asked, rng=rng, name=name).plot(ax, **kwargs)

    @classmethod
    def from_predictions(cls, y_true: Any, y_prob: Any, *, sample_weight: Any = None, **kwargs: Any) -> Self:
        """Draw the walk of labels and probabilities; further arguments are those of `from_sample`."""
        return cls.from_sample(Sample(y_true, y_prob, sample_weight=sample_weight), **kwargs)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, sample_weight: Any = None, **kwargs: Any) -> Self:
        """Draw the walk of a fitted classifier; its default name is that of the classifier's class."""
        sample = Sample.from_estimator(estimator, X, y, sample_weight=sample_weight)
        return cls.from_sample(sample, **{"name": type(estimator).__name__, **kwargs})

    @property
    def beyond(self) -> bool:
        """Whether the walk is higher than noise explains."""
        return self.test.pvalue <= self.test.level

    @property
    def strip(self) -> tuple[float, float]:
        """Where the strip of that height lies: around zero if it can, and where it holds most of the walk."""
        low, high = float(self.walk.min()), float(self.walk.max())
        if high - low > self.height:
            bottom = low * self.height / (high - low)
        else:
            bottom = float(np.clip(-self.height / 2, high - self.height, low))
        return bottom, bottom + self.height

    def _fill(self, ax: Axes, options: dict[str, Any]) -> None:
        self.strip_ = ax.axhspan(*self.strip, color=NOISE, linewidth=0)
        ax.axhline(0, color=INK, linewidth=0.8)
        (self.walk_,) = ax.plot(self.share, self.walk, **{"color": INK, "linewidth": 1.0, **options})
        part = slice(*sorted((int(self.walk.argmin()), int(self.walk.argmax()))))
        part = slice(part.start, part.stop + 1)
        strong = BEYOND if self.beyond else INK
        (self.worst_,) = ax.plot(self.share[part], self.walk[part], color=strong, linewidth=2.2)
        self._ticks(ax)
        label_axes(ax, f"{shortened(shown(self.axis), 22)} (rows equally spaced)", "cumulated error, %")
        worst = "more than noise" if self.beyond else "largest rise or fall"
        noise = Patch(color=NOISE, label=f"{percent(1 - self.test.level)} of walks by noise alone")
        legend_below(ax, [noise, Line2D([], [], color=strong, linewidth=2.2, label=worst)])

    def _ticks(self, ax: Axes) -> None:
        """Write at each quarter of the rows which prediction is reached there, and errors in percent."""
        quarters = np.linspace(0, 1, 5)
        place = np.searchsorted(self.share[1:], quarters - ROUNDING)
        reached = self.value[np.minimum(place, len(self.value) - 1)]
        ax.set_xticks(quarters, [_short(value) for value in reached])
        ax.set_xlim(0, 1)
        ax.yaxis.set_major_locator(MaxNLocator(5))
        ax.yaxis.set_major_formatter(percent_tick)

    @property
    def _answer(self) -> list[str]:
        size = f"height {100 * self.test.statistic:.2g} %, noise alone {100 * self.test.null_mean:.2g} %"
        pvalue = small_pvalue(float(f"{self.test.pvalue:.2g}"), level=self.test.level)
        if not self.beyond:
            return [f"no evidence of miscalibration, p {pvalue}", f"{size}; n = {self.test.question.n:,}"]
        claimed, happened = (f"{100 * mean:.3g} %" for mean in self.means)
        where = f"{_short(self.worst.low)} to {_short(self.worst.high)}"
        return [f"{where}: claims {claimed}, happens {happened}", f"{size}; n = {self.test.question.n:,}"]

    @property
    def caption(self) -> str:
        """What is drawn, from how many rows, and how to read it."""
        found = "leaves" if self.beyond else "does not leave"
        return (
            f"Outcome minus prediction, cumulated over {self.test.question.rows} in the order of the {self.axis}, "
            f"seen through {self.test.question.lens!r}, in percent of the rows. Where the walk rises more happens than "
            "is predicted, where it falls less, and its slope is the size of the error. Ticks stand at quarters of the "
            f"rows. The walk of a calibrated model stays within a strip {100 * self.height:.3g} % high in "
            f"{percent(1 - self.test.level)} of draws ({self.test.null_distribution.description}); this walk {found} "
            f"it (Kuiper's statistic, p {small_pvalue(self.test.pvalue, level=self.test.level)})."
        )


def _limit(law: NullDistribution, level: float) -> float:
    """Return what is exceeded under the null with at most the level as probability.

    Of draws it is the k-th largest, k the largest number for which k / (1 + R) is at most the level, so that a value
    beyond it has a p-value of at most the level; too few draws are refused. Of a computed law it is a quantile.
    """
    if not law.monte_carlo:
        return float(law.quantile(1 - level))
    kinds = [np.sort(each.samples) for each in law.replicates] or [np.sort(law.atoms()[0])]
    rank = rank_of_limit(len(kinds[0]), level, "a strip", round(1 - level, 12))
    return max(float(drawn[-rank]) for drawn in kinds)


def _short(value: float) -> str:
    """Write a value in three digits, or in as many as tell a probability from 1; almost nothing is written as 0.

    >>> _short(0.98765), _short(0.99974), _short(3e-5), _short(2e-9), _short(59.604)
    ('0.988', '0.9997', '3e-5', '0', '59.6')
    """
    digits = max(3, -math.floor(math.log10(1 - value))) if 0.99 < value < 1 - 1e-6 else 3
    written = f"{round(value, 6):.{digits}g}" if abs(value) < 1 else f"{value:.3g}"
    return written.replace("e-0", "e-")


def _means(ordered: Ordered, seen: Sample, worst: IntervalDeviation) -> tuple[float, float]:
    """Return the mean prediction and the mean outcome of the rows in an interval."""
    column = seen.predictions.conditioned[ordered.order, 0]
    weights = ordered.weights(None) * ((column >= worst.low) & (column <= worst.high))
    if not weights.any():
        return np.nan, np.nan
    events = np.average(ordered.happened(seen.outcomes), weights=weights)
    return float(np.average(ordered.event, weights=weights)), float(events)


def column_name(predictions: Predictions) -> str:
    """Say in a word or two what the one conditioned column is."""
    (key,) = predictions.keys
    if isinstance(key, str):
        return key
    return "confidence" if predictions.classes == ("other", "top") else "predicted probability"
