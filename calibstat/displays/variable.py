"""Errors and predicted errors along a variable, and where they are farthest apart."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, final

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from calibstat._text import level_of, shown
from calibstat.data.arrays import RNG, Floats
from calibstat.data.parameters import LEVEL, check_share
from calibstat.data.sample import Sample
from calibstat.displays._style import (
    BEYOND,
    COLUMN,
    CURVE,
    FAINT,
    INK,
    NOISE,
    OURS,
    Display,
    answer,
    label_axes,
    legend_below,
    legend_of_figure,
    magnified,
    new_axes,
    shortened,
    signed_percent_tick,
)
from calibstat.estimators.base import all_weights
from calibstat.estimators.loess import LOESS, LocalCurve
from calibstat.inference.arguments import check_lens, check_sample
from calibstat.inference.results import small_pvalue
from calibstat.inference.test import calibration_test
from calibstat.lenses.base import Lens, refuse_empty
from calibstat.lenses.relabel import CANONICAL, TopLabel
from calibstat.lenses.restrict import Given

_STRIP_CELLS, _FEWEST = 50, 4


@final
@dataclass(eq=False, repr=False)
class VariableDisplay(Display):
    """How often a model is wrong along a variable, beside how often it says it is (Kelly & Smyth 2023, Figures 1 to 5).

    Make one by `from_sample`, `from_predictions`, `from_estimator`, or for several models by `from_samples`. Outcome
    and prediction are smoothed alike by `LOESS`, so that where the model is calibrated given the variable they differ
    by noise alone. Through the top label the picture shows errors, one minus outcome and one minus prediction; through
    another lens it shows how often the event happens, and how often that was predicted. The pale band lies about the
    prediction, where 95 % of the curves of calibrated models lie at each point; the band about the curve is for its own
    uncertainty (about 95 %, pointwise). The place where the two are farthest apart is in the strong colour if the
    largest distance is more than noise explains, by a test over all places at once.

    Parameters
    ----------
    curve : LocalCurve
        The smoothed outcome and prediction along the variable, with the band of the outcome.
    noise : LocalCurve
        The same with the band of calibrated models.
    variable : str
    pvalue : float
        Of the largest distance of outcome and prediction, among those of labels drawn from the predictions.
    null_mean : float
        The largest distance that noise alone gives, on average.
    edges : (m + 1,) floats
    density : (m,) floats
        Weight of the rows between edges of the variable, relative to the largest.
    n : int
    lens : Lens
    errors : bool
        Whether one minus outcome is shown: how often the top label is wrong.
    level : float
        The largest p-value that counts as evidence.
    name : str, optional
        Name of the model, for the title.

    Attributes
    ----------
    line_, predicted_ : matplotlib Line2D
        What happened, and what was predicted.
    band_ : list of two matplotlib Line2D
        The band about the curve.
    noise_ : matplotlib FillBetweenPolyCollection
        The band of calibrated models.
    worst_ : matplotlib Line2D
        From prediction to outcome at the place where they are farthest apart.
    strip_ax_ : matplotlib Axes
        The small axes of the density.
    ax_, figure_ : matplotlib Axes, Figure

    Examples
    --------
    >>> import calibstat as cs
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p, age = rng.random(2000), rng.uniform(20, 80, 2000)
    >>> y = rng.random(2000) < np.clip(p + (age - 50) / 200, 0, 1)
    >>> display = cs.VariableDisplay.compute(cs.Sample(y, p, variables={"age": age}), "age", lens=cs.Canonical(), rng=0)
    >>> round(display.worst), display.pvalue <= 0.001
    (23, True)
    """

    curve: LocalCurve
    noise: LocalCurve
    variable: str
    _: KW_ONLY
    pvalue: float
    null_mean: float
    edges: Floats
    density: Floats
    n: int
    lens: Lens
    errors: bool
    level: float = LEVEL
    name: str | None = None

    @classmethod
    def compute(
        cls,
        sample: Sample,
        variable: str,
        *,
        lens: Lens | None = None,
        smoother: LOESS = LOESS(),
        level: float = LEVEL,
        n_resamples: int = 999,
        rng: RNG = None,
        name: str | None = None,
    ) -> VariableDisplay:
        """Compute the numbers of the picture as `from_sample` does, without drawing it."""
        check_sample(sample)
        check_share("level", level, LEVEL)
        if not isinstance(smoother, LOESS):
            raise TypeError(f"smoother is {smoother!r}, but a LOESS is expected, for example LOESS(span=0.9).")
        at_top = sample.predictions.seen == "the top label"
        lens = (CANONICAL if at_top else TopLabel()) if lens is None else check_lens(lens)
        seen = (lens | Given(variable))(sample)
        refuse_empty(seen, lens)
        if seen.predictions.column(variable).categorical:
            raise ValueError(
                f"{variable!r} holds categories, along which there is no curve: take ReliabilityDisplay with "
                f"lens=... | Given({variable!r}), or subgroup_audit."
            )
        distinct = len(np.unique(seen.predictions.column(variable).values))
        if 1 < distinct < _FEWEST:
            raise ValueError(
                f"{variable!r} has {distinct} distinct values, too few for a curve: take ReliabilityDisplay with "
                f"lens=... | Given({variable!r}), which draws the mean at each."
            )
        smoother = replace(smoother, band="outcome")
        whole = lens | Given(variable) | smoother
        test = calibration_test(sample, whole, null="strong", n_resamples=n_resamples, level=level, rng=rng)
        curve = smoother(seen)
        values = seen.predictions.column(variable).values
        first, last = curve.x[0], curve.x[-1]  # counted from the first, as large numbers lie far apart
        density, edges = np.histogram(
            values - first, _STRIP_CELLS, (0.0, last - first), weights=all_weights(seen.predictions, None)
        )
        return cls(
            curve,
            replace(smoother, band="null")(seen),
            variable,
            pvalue=test.pvalue,
            null_mean=test.null_mean,
            edges=first + edges,
            density=density / max(density.max(), np.finfo(float).tiny),
            n=len(seen),
            lens=lens,
            errors=at_top or any(isinstance(part, TopLabel) for part in lens.parts),
            level=level,
            name=name,
        )

    @classmethod
    def from_sample(
        cls,
        sample: Sample,
        variable: str,
        *,
        lens: Lens | None = None,
        smoother: LOESS = LOESS(),
        level: float = LEVEL,
        n_resamples: int = 999,
        rng: RNG = None,
        ax: Axes | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> VariableDisplay:
        """Smooth outcome and prediction along a variable, test their largest distance, and draw both.

        Parameters
        ----------
        sample : Sample
            Rows that neither the model nor its calibrator was fitted on.
        variable : str
            The name of a numeric variable of the sample.
        lens : Lens, optional
            Two outcomes must be seen through it; by default ``TopLabel()``, the authors' measure.
        smoother : LOESS
            The curves run between its `trim` and 1 - `trim` quantiles of the variable.
        level : float
            The largest p-value that counts as evidence.
        n_resamples : int
            Number of redraws of the labels.
        rng : int, Generator or None
        ax, name, **kwargs
            As for `plot`.

        Raises
        ------
        TypeError
            If `sample`, `lens` or `smoother` is something else.
        ValueError
            If the variable is not there, holds categories or two or three values, or more than two outcomes
            are seen.
        """
        display = cls.compute(
            sample, variable, lens=lens, smoother=smoother, n_resamples=n_resamples, level=level, rng=rng, name=name
        )
        return display.plot(ax, **kwargs)

    @classmethod
    def from_samples(cls, samples: Mapping[str, Sample], variable: str, **kwargs: Any) -> list[VariableDisplay]:
        """Draw several models side by side in a new figure, such as one before and after a calibrator.

        Parameters
        ----------
        samples : mapping of str to Sample
            By the names that stand above the panels, whose axes have the same scale.
        variable : str
        **kwargs
            As for `compute`.

        Returns
        -------
        list of VariableDisplay
        """
        if not isinstance(samples, Mapping) or not samples:
            raise ValueError("samples must map names to samples: for example {'before': raw, 'after': calibrated}.")
        displays = [cls.compute(each, variable, name=name, **kwargs) for name, each in samples.items()]
        size = COLUMN[0] * len(displays), COLUMN[1]
        figure, axes = plt.subplots(1, len(displays), figsize=size, layout="constrained", squeeze=False)
        low, high = np.array([each.limits for each in displays]).T
        for display, ax in zip(displays, axes[0], strict=True):
            display.plot(ax, legend=False)
            ax.set_ylim(low.min(), high.max())
            ax.label_outer()
        legend_of_figure(figure, *displays[0]._legend())
        return displays

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_prob: Any,
        variable: str,
        *,
        variables: Any,
        sample_weight: Any = None,
        labels: Sequence[Hashable] | None = None,
        **kwargs: Any,
    ) -> VariableDisplay:
        """Compute and draw the picture of labels and probabilities; `variables` is as for `Sample`."""
        sample = Sample(y_true, y_prob, variables=variables, labels=labels, sample_weight=sample_weight)
        return cls.from_sample(sample, variable, **kwargs)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        variable: str,
        *,
        variables: Any,
        sample_weight: Any = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> VariableDisplay:
        """Compute and draw the picture of a fitted classifier; its default name is that of the classifier's class."""
        sample = Sample.from_estimator(estimator, X, y, variables=variables, sample_weight=sample_weight)
        return cls.from_sample(sample, variable, name=type(estimator).__name__ if name is None else name, **kwargs)

    @property
    def worst(self) -> float:
        """The value of the variable at which outcome and prediction are farthest apart."""
        return self.curve.location

    @property
    def rejects(self) -> bool:
        """Whether the largest distance is more than noise explains, at the level."""
        return self.pvalue <= self.level

    @property
    def limits(self) -> tuple[float, float]:
        """The lowest and the highest number that is drawn, with room around."""
        drawn = self._shown(np.concatenate([self.curve.outcome, *_inside(self.curve), *_inside(self.noise)]))
        room = 0.06 * max(float(np.ptp(drawn)), 1e-6)
        return float(drawn.min()) - room, float(drawn.max()) + room

    def plot(
        self, ax: Axes | None = None, *, name: str | None = None, legend: bool = True, **kwargs: Any
    ) -> VariableDisplay:
        """Draw the picture.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default the axes of a new figure.
        name : str, optional
            Title; by default the one given when the display was made.
        legend : bool
            Whether the legend is written below.
        **kwargs
            Options of ``Axes.plot`` for the curve of what happened.

        Returns
        -------
        VariableDisplay
            Itself.
        """
        ax, x = new_axes(ax), self.curve.x
        low, high = (self._shown(end) for end in _inside(self.noise))
        self.noise_ = ax.fill_between(x, low, high, color=NOISE, linewidth=0, zorder=1)
        band = self._shown(np.column_stack(_inside(self.curve)))
        self.band_ = ax.plot(x, band, color=CURVE, linewidth=0.8, zorder=2)
        happened, predicted = self._shown(self.curve.outcome), self._shown(self.curve.prediction)
        (self.predicted_,) = ax.plot(x, predicted, color=INK, linewidth=1.2, linestyle=(0, (4, 2)), zorder=3)
        look: dict[str, Any] = {"color": CURVE, "linewidth": 2, "zorder": 4} | kwargs
        (self.line_,) = ax.plot(x, happened, **look)
        place = self._place
        (self.worst_,) = ax.plot(
            [x[place]] * 2, [predicted[place], happened[place]], color=BEYOND if self.rejects else INK, linewidth=2,
            marker="D" if self.rejects else "o", markersize=4.5, zorder=5, clip_on=False,
        )  # fmt: skip
        ax.set(xlim=(self.edges[0], self.edges[-1]), ylim=self.limits)
        ax.yaxis.set_major_locator(MaxNLocator(6))
        ax.yaxis.set_major_formatter(signed_percent_tick)
        label_axes(ax, y="share of errors" if self.errors else "how often it happens")
        answer(ax, self.name if name is None else name, self._answer())
        self.strip_ax_ = self._draw_strip(ax)
        if legend:
            legend_below(self.strip_ax_, *self._legend())
        return self._drawn(ax)

    @property
    def caption(self) -> str:
        """What is seen, from how many rows, and how to read it."""
        what = "Errors of the top label" if self.errors else "How often the event happens"
        verdict = "are more than noise explains" if self.rejects else "are no evidence against calibration"
        return (
            f"{what} (solid, between lines of about 95 % at each point) and what is predicted (dashed) along "
            f"{self.variable}, seen through {self.lens!r} and smoothed alike (LOESS). The pale band is where 95 % of "
            f"the curves of calibrated models lie at each point; the strip shows the density of the n = {self.n} rows. "
            f"The curves are farthest apart at {self.variable} {self.worst:.4g}, by {self.curve.maximum:.3g}, where "
            f"noise alone gives {self.null_mean:.3g} on average at the worst place: such distances {verdict} (p "
            f"{small_pvalue(self.pvalue, level=self.level)}, over all places at once; labels redrawn from the "
            "predictions)."
        )

    @property
    def _place(self) -> int:
        """Number of the point at which the two are farthest apart."""
        return int(np.abs(self.curve.deviation).argmax())

    def _shown(self, values: Floats) -> Floats:
        return 1 - values if self.errors else values

    def _answer(self) -> list[str]:
        """Say what happens at the worst place, what was predicted there, and how much of that noise explains."""
        place, off = self._place, self.curve.deviation[self._place]
        happened, said = (_percent(self._shown(each)[place]) for each in (self.curve.outcome, self.curve.prediction))
        line = f"wrong {happened}, says {said}" if self.errors else f"happens {happened}, predicted {said}"
        signs = ("too shy", "too sure") if self.errors else ("too low", "too high")
        place_text = f"{self.worst:,.0f}" if abs(self.worst) >= 1000 else f"{self.worst:.3g}"
        where = level_of(self.variable, place_text) if len(self.variable) <= 12 else place_text
        return [
            f"at {where}: {line}" + (f": {signs[int(off < 0)]}" if self.rejects else ""),
            f"apart by {_percent(self.curve.maximum)}, noise alone {_percent(self.null_mean)}; "
            f"p {small_pvalue(float(f'{self.pvalue:.2g}'), level=self.level)}",
        ]

    def _legend(self) -> tuple[list[Any], list[str]]:
        """Return the handles of the legend, and short words for them."""
        words = ["errors (95 %: thin)", "predicted errors"] if self.errors else ["happens (95 %: thin)", "predicted"]
        more = ": more than noise" if self.rejects else ""
        handles = [self.line_, self.predicted_, self.noise_, self.worst_]
        return handles, [*words, "95 % if calibrated", f"largest gap{more}"]

    def _draw_strip(self, ax: Axes) -> Axes:
        """Draw the density of the variable in a strip below the axes."""
        strip = ax.inset_axes((0.0, -0.16, 1.0, 0.11), sharex=ax, label=OURS)
        strip.stairs(self.density, self.edges, fill=True, color=FAINT)
        strip.set(yticks=[], ylim=(0, 1))
        for side in ("top", "right", "left"):
            strip.spines[side].set_visible(False)
        ax.tick_params(labelbottom=False)
        strip.tick_params(labelsize=8 * magnified(ax))
        strip.set_xlabel(shortened(shown(self.variable), 40), fontsize=8.5 * magnified(ax), parse_math=False)
        return strip


def _percent(share: float) -> str:
    """Write a share in percent, with a decimal where it is small."""
    return f"{100 * share:.1f} %" if abs(share) < 0.0995 else f"{100 * share:.0f} %"


def _inside(curve: LocalCurve) -> tuple[Floats, Floats]:
    """Return the ends of a band, cut at 0 and 1: chances lie between."""
    return np.clip(curve.low, 0.0, 1.0), np.clip(curve.high, 0.0, 1.0)
