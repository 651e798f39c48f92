"""Reliability diagrams: what a model claims against how often it happens, with a bar for the noise in every point."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar, Literal, final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from calibstat._text import percent, shown
from calibstat.binnings.base import Binning
from calibstat.binnings.intervals import EqualMass
from calibstat.data.arrays import RNG, Bools, Floats, as_generator
from calibstat.data.parameters import at_least_one, check_kind
from calibstat.data.rounding import above_rounding
from calibstat.data.sample import Sample
from calibstat.displays import _reliability_drawing as drawing
from calibstat.displays._cells import Answer, CellAxis, cell_axis, histograms, noise_of_cells, rows_in_effect, wilson
from calibstat.displays._from_samples import SampleDisplay
from calibstat.displays._overlays import Overlay, overlay
from calibstat.displays._probability_axis import Scale
from calibstat.displays._reliability_drawing import Kind
from calibstat.displays._style import (
    MODELS,
    Picture,
    answer,
    label_axes,
    legend_below,
    legend_of_figure,
    new_axes,
    shortened,
)
from calibstat.estimators.belt import Belt
from calibstat.estimators.histogram import HistogramRegression
from calibstat.estimators.isotonic import IsotonicCurve, RecalibrationCurve
from calibstat.estimators.loess import LocalCurve
from calibstat.inference.arguments import check_sample, in_buckets
from calibstat.inference.band import CalibrationBand
from calibstat.lenses.base import Lens
from calibstat.lenses.relabel import CANONICAL, ClassWise

_SIZE = (3.4, 4.0)
_MOST_CLASSES = 20


@final
@dataclass(eq=False, repr=False)
class ReliabilityDisplay(SampleDisplay):
    """Mean outcome against mean prediction in each cell, with consistency bars (Broecker & Smith 2007).

    Make one by `from_sample`, `from_predictions`, `from_estimator`, or of several models by `from_samples`. Given the
    predictions, the point of a calibrated model falls within its bar with probability `coverage` or more; among many
    cells some fall outside by chance. A point has the strong colour where it is beyond noise even so: of a calibrated
    model any point has it with a probability of 5 % at most, all cells together. Without weights both are exact: ends
    of bars are numbers of events, and at most (1 - coverage) / 2 of the probability lies beyond each. With weights the
    ends are order statistics of redraws. Cells without rows are not drawn. Rows are taken to be independent.

    Above the axes stands the answer in two lines: mean prediction and mean outcome, with a word where their difference
    is more than noise at 5 %, and the calibration error of the cells beside its mean under calibration. Both are exact
    without weights. The curve is an isotonic regression (Dimitriadis, Gneiting & Jordan 2021), which shows what cells
    hide. The strip below counts the rows. `caption` says all this in sentences.

    Parameters
    ----------
    mean_prediction, mean_outcome : (L,) floats
        Mean probability of the event and mean indicator of the event in each cell that holds rows.
    count : (L,) floats
        Number of rows (sum of weights) in each cell.
    low, high : (L,) floats
        The consistency bars, as deviations: mean outcome minus mean prediction.
    wilson_low, wilson_high : (L,) floats
        The interval of Wilson (1927) for the chance of the event in each cell, at the level `coverage`.
    all_low, all_high : (L,) floats
        Bars that hold the points of all cells together with a probability of 95 % or more.
    axis : CellAxis
        Where the cells lie, and what that axis shows.
    answer : Answer or None
        What is said of all rows together.
    curves : list of Overlay
        What is drawn over the cells; see `add_curve`.
    beside : tuple of ReliabilityDisplay
        The other models in the same axes.
    coverage : float
    lines : tuple of str
        What stands above the axes where there is no answer.
    cells : str
        The binning, in words for the caption.
    lens : Lens
    seen : Sample, optional
        The sample as seen through the lens, on which `add_curve` evaluates estimators.
    name : str, optional
        Name of the model, for the title or the legend.
    title : str, optional
        Title of several models.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The points of all cells.
    outside_ : matplotlib Line2D or None
        The points beyond noise, all cells together, drawn once more; None if there are none.
    clipped_ : matplotlib Line2D or None
        Marks at points that lie at 0 or 1 and are drawn at the edge of a logit scale; None if there are none.
    bars_ : matplotlib LineCollection
    intervals_ : matplotlib LineCollection or None
        The intervals, if they were asked for.
    lines_ : list of matplotlib Line2D
        The points of each model, where there are several.
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
    >>> print(*display.answer.lines, sep="; ")
    claims 51.7 %, happens 66.7 %: no bias beyond noise; ECE 0.15, noise alone 0.20; n = 6
    """

    mean_prediction: Floats
    mean_outcome: Floats
    count: Floats
    low: Floats
    high: Floats
    wilson_low: Floats
    wilson_high: Floats
    all_low: Floats
    all_high: Floats
    _: KW_ONLY
    axis: CellAxis
    coverage: float
    answer: Answer | None
    lines: tuple[str, ...] = ()
    curves: list[Overlay] = field(default_factory=list)
    beside: tuple[ReliabilityDisplay, ...] = ()
    cells: str = ""
    lens: Lens = CANONICAL
    seen: Sample | None = None
    name: str | None = None
    title: str | None = None

    default_binning: ClassVar[Binning] = EqualMass(15)
    reads_counts: ClassVar[bool] = True

    @property
    def deviation(self) -> Floats:
        """(L,) mean outcome minus mean prediction."""
        return self.mean_outcome - self.mean_prediction

    @property
    def outside(self) -> Bools:
        """(L,) whether the point lies outside its bar by more than rounding."""
        return self._past(self.low, self.high)

    @property
    def beyond(self) -> Bools:
        """(L,) whether the point is beyond noise when all cells are looked at together."""
        return self._past(self.all_low, self.all_high)

    def _past(self, low: Floats, high: Floats) -> Bools:
        size, deviation = self.mean_outcome + self.mean_prediction, self.deviation
        return above_rounding(np.maximum(low - deviation, deviation - high), size) > 0

    @classmethod
    def from_samples(
        cls,
        samples: Mapping[str, Sample],
        binning: Binning | None = None,
        *,
        lens: Lens = CANONICAL,
        n_resamples: int = 999,
        coverage: float = 0.9,
        rng: RNG = None,
        ax: Axes | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> ReliabilityDisplay:
        """Compute and draw several models in the same axes, each in its own colour and with its own marker.

        Parameters
        ----------
        samples : {name: Sample}
            At most eight; beyond, `side_by_side` has axes for each.
        binning, lens, n_resamples, coverage, rng
            As for `from_sample`, for all models.
        ax, name, **kwargs
            As for `plot`; the name is the title.

        Returns
        -------
        ReliabilityDisplay
            That of the first model, with the others in `beside`.

        Raises
        ------
        TypeError, ValueError
            If `samples` is no mapping, or has no or more than eight names, and as for `from_sample`.
        """
        _expect_models(samples)
        first, *others = (
            cls.compute(
                sample, binning, lens=lens, n_resamples=n_resamples, coverage=coverage, rng=rng, name=str(model)
            )
            for model, sample in samples.items()
        )
        return replace(first, beside=tuple(others), title=name).plot(ax, **kwargs)

    @classmethod
    def of_classes(
        cls,
        sample: Sample,
        binning: Binning | None = None,
        *,
        classes: Iterable[Hashable] | None = None,
        n_resamples: int = 999,
        coverage: float = 0.9,
        rng: RNG = None,
    ) -> list[ReliabilityDisplay]:
        """Compute a diagram for each class, for ``side_by_side(ReliabilityDisplay.of_classes(sample))``.

        Parameters
        ----------
        sample : Sample
        binning : Binning, optional
        classes : labels, optional
            By default all, up to twenty.
        n_resamples, coverage, rng
            As for `from_sample`.

        Returns
        -------
        list of ReliabilityDisplay
            Seen through ``ClassWise(label)``, under the name of the label; nothing is drawn.
        """
        check_sample(sample)
        labels = list(sample.predictions.classes if classes is None else classes)
        if classes is None and len(labels) > _MOST_CLASSES:
            raise ValueError(
                f"the sample has {len(labels)} classes, too many for one figure: name up to {_MOST_CLASSES} of them, "
                f"for example classes={labels[:3]!r}."
            )
        options: dict[str, Any] = {"n_resamples": n_resamples, "coverage": coverage, "rng": rng}
        return [cls.compute(sample, binning, lens=ClassWise(each), name=str(each), **options) for each in labels]

    @classmethod
    def from_result(
        cls,
        result: CalibrationBand | Belt | LocalCurve | RecalibrationCurve,
        *,
        ax: Axes | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> ReliabilityDisplay:
        """Draw a `CalibrationBand`, or the value of `IsotonicCurve`, `CalibrationBelt` or `LOESS`, without cells.

        Perfect calibration is drawn beside it, and the counts where the result holds them.

        Raises
        ------
        TypeError, ValueError
            If it is something else, or a curve over a variable.
        """
        at, weights, lines = _result_in_words(result)
        nothing, span = np.empty(0), (float(at.min()), float(at.max()))
        rows = {each: (np.array(span), np.zeros(1)) for each in ("linear", "logit")}
        if weights is not None:
            rows = histograms(at, weights)
        scale = drawing.crowded(at, np.ones(len(at)) if weights is None else weights)
        axis = CellAxis(nothing, None, "the event", False, scale, rows, span)
        lens, level = getattr(result, "lens", CANONICAL), getattr(result, "confidence_level", 0.95)
        display = cls(
            *(nothing,) * 9, axis=axis, coverage=level, answer=None, lines=lines, curves=[overlay(result, None, lens)],
            lens=lens, name=name,
        )  # fmt: skip
        return display.plot(ax, **kwargs)

    def add_curve(self, curve: Any, *, label: str | None = None) -> ReliabilityDisplay:
        """Draw a curve over the cells; it is computed here, and drawn at once if the diagram is.

        Parameters
        ----------
        curve : Estimator, curve, CalibrationBand or SyntheticModel
            ``LOESS()``, ``CalibrationBelt()``, ``IsotonicCurve()`` or the value of one of them on what is seen through
            the lens; what `calibration_band` returns; or the world that the sample was drawn from, whose truth is
            drawn.
        label : str, optional
            For the legend.

        Returns
        -------
        ReliabilityDisplay
            Itself.

        Raises
        ------
        TypeError, ValueError
            If it is something else, or is not a function of what the diagram has along its axis.
        """
        added = overlay(curve, self.seen, self.lens, label)
        if added.steps and any(each.steps and each.label == added.label for each in self.curves):
            return self  # the isotonic curve is there
        self.curves.append(added)
        if hasattr(self, "ax_"):
            drawn = drawing.draw_curve(self.ax_, self.curves[-1], len(self.curves) - 1, self._frame)
            self._handles.append(drawn)
            if self.ax_.get_legend() is not None:
                legend_below(self.ax_, self._handles)
        return self

    def plot(
        self,
        ax: Axes | None = None,
        *,
        kind: Kind = "classical",
        scale: Scale | Literal["auto"] = "auto",
        interval: Literal["wilson"] | None = None,
        legend: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> ReliabilityDisplay:
        """Draw the diagram.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default the axes of a new figure. The strip of counts lies within these axes, the legend below and the
            answer above them: a figure with several needs ``layout="constrained"`` or ``tight_layout``. The margins of
            a figure without a layout are widened where words would be cut off.
        kind : {"classical", "deviation"}
            Mean outcome against mean prediction around the diagonal, or, given a variable, both means against the
            variable; or mean outcome minus mean prediction around zero (Vaicenavicius et al. 2019, Figure 4).
        scale : {"auto", "linear", "logit"}
            Of probabilities. "auto" is "logit" where more than half of the predictions lie below 0.1 or above 0.9: a
            linear axis hides them there. Points at 0 and 1 are drawn at the edge of a logit scale and marked.
        interval : {None, "wilson"}
            Whether to draw the interval of Wilson (1927) around each point besides the bars around calibration.
        legend : bool
        name : str, optional
            Title; by default the name given when the display was made.
        **kwargs
            Options of ``Axes.plot`` for the points.

        Returns
        -------
        ReliabilityDisplay
            Itself.
        """
        _one_of("kind", kind, ("classical", "deviation"))
        _one_of("scale", scale, ("auto", "linear", "logit"))
        _one_of("interval", interval, (None, "wilson"))
        frame = drawing.frame_of([self, *self.beside], kind, scale, interval)
        return self._draw(new_axes(ax, _SIZE), frame, interval=interval, legend=legend, name=name, options=kwargs)

    def _draw(
        self,
        ax: Axes,
        frame: drawing.Frame,
        *,
        interval: str | None = None,
        legend: bool = True,
        short: bool = False,
        name: str | None = None,
        options: dict[str, Any],
    ) -> ReliabilityDisplay:
        """Draw within a frame, which several diagrams may share."""
        self._frame = frame
        drawing.prepare_axes(ax, self, frame)
        if self.beside:
            self._handles, self.lines_ = drawing.draw_models(ax, [self, *self.beside], frame, options)
            self.line_, self.counts_ax_ = self.lines_[0], drawing.draw_rows(ax, [self, *self.beside], frame)
        else:
            found = drawing.draw_cells(ax, self, frame, interval, options)
            self.line_, self.outside_, self.clipped_, self.bars_, self.intervals_, self._handles = found
            curves = drawing.shown_curves(self, frame)
            self._handles += [drawing.draw_curve(ax, each, k, frame) for k, each in enumerate(curves)]
            self.counts_ax_ = drawing.draw_rows(ax, [self], frame)
        label_axes(ax, *drawing.axis_labels(self.axis, frame))
        ax.yaxis.label.set_y(drawing.MIDDLE)
        answer(
            ax,
            ((self.title if self.beside else self.name) if name is None else name) or None,
            (self.answer.short,) if short and self.answer else self._lines,
        )
        if legend:
            legend_below(ax, self._handles)
        return self._drawn(ax)

    @property
    def _lines(self) -> tuple[str, ...]:
        """The answer above the axes; of several models, which one is furthest beyond its noise."""
        if self.lines or not self.beside:
            return self.lines or (self.answer.lines if self.answer else ())
        answers = [(each.name or "", each.answer) for each in (self, *self.beside) if each.answer]
        name, worst = max(answers, key=lambda each: (each[1].beyond > 0, each[1].error - each[1].noise))
        counts = sorted({found.n for _, found in answers})
        rows = f"n = {counts[0]:,}" if len(counts) == 1 else f"n = {counts[0]:,} to {counts[-1]:,}"
        if worst.beyond:
            return f"furthest beyond noise: {shortened(shown(name), 24)}", rows
        return "none is beyond noise", rows

    @property
    def caption(self) -> str:
        """What the diagram shows, and how to read it."""
        return drawing.caption(self)

    @classmethod
    def _of(
        cls, seen: Sample, binning: Binning, lens: Lens, n_resamples: int, coverage: float, rng: RNG, name: str | None
    ) -> ReliabilityDisplay:
        predictions = seen.predictions
        if predictions.n_classes != 2:
            raise ValueError(
                f"a reliability diagram needs 2 classes, got {predictions.n_classes} through {lens!r}: look "
                "through a lens first, for example lens=TopLabel()."
            )
        cut = binning.cut(predictions)
        axis = cell_axis(predictions, cut)
        found = HistogramRegression(binning)(seen).isel(label=-1)
        noise = noise_of_cells(seen, cut, binning, coverage, n_resamples, as_generator(rng))
        filled = found["count"].values > 0
        prediction, outcome, count = (
            found[each].values[filled] for each in ("mean_prediction", "mean_outcome", "count")
        )
        share = count / count.sum()
        quantity = "ECE" if axis.over_prediction else "VECE"
        display = cls(
            prediction, outcome, count, noise.low[filled], noise.high[filled],
            *wilson(outcome, rows_in_effect(predictions, cut)[filled], coverage),
            noise.all_low[filled], noise.all_high[filled],
            axis=axis.take(filled, found["count"].values), coverage=coverage, answer=None,
            curves=[overlay(IsotonicCurve(), seen, lens)] if axis.over_prediction and not in_buckets(seen) else [],
            cells=repr(binning), lens=lens, seen=seen, name=name,
        )  # fmt: skip
        display.answer = Answer(
            predictions.n_rows, float(share @ prediction), float(share @ outcome),
            float(share @ abs(outcome - prediction)), noise.error, noise.pvalue,
            axis.top, quantity, int(display.beyond.sum()),
        )  # fmt: skip
        return display


def _result_in_words(result: Any) -> tuple[Floats, Floats | None, tuple[str, ...]]:
    """Return where a band or a curve is, the rows there if it holds them, and what is said above it."""
    if isinstance(result, CalibrationBand):
        where = "leaves" if result.rejects_calibration else "stays inside"
        low, high = result.bounds(1)
        size = "the chance does not rise" if result.rejects_monotonicity else f"ECE {low:.2g} to {high:.2g}"
        band = f"the diagonal {where} the {percent(result.confidence_level)} band"
        return result.prediction, result.count.astype(float), (band, f"{size}; n = {result.n:,}")
    if isinstance(result, RecalibrationCurve):
        moved = np.average(np.abs(result.recalibrated - result.prediction), weights=result.weight)
        words = f"mean distance to the diagonal {moved:.2g}", "of which noise is a part"
        return result.prediction, result.weight, words
    if isinstance(result, Belt):
        return result.x, None, (f"a polynomial of degree {result.degree}",)
    if isinstance(result, LocalCurve) and np.allclose(result.prediction, result.x, atol=1e-6):
        return result.x, None, (f"farthest from the diagonal by {result.maximum:.2g}, at {result.location:.2g}",)
    if isinstance(result, LocalCurve):
        raise ValueError("this curve is over a variable; VariableDisplay.from_sample(sample, variable) draws it.")
    raise TypeError(
        f"a reliability diagram is drawn of a CalibrationBand or of the value of IsotonicCurve, CalibrationBelt or "
        f"LOESS, got a {type(result).__name__}."
    )


def _one_of(name: str, value: Any, known: tuple[Any, ...]) -> None:
    if value not in known:
        raise ValueError(f"{name} is {value!r}, but it must be {' or '.join(map(repr, known))}.")


def _expect_models(samples: Any) -> None:
    if not isinstance(samples, Mapping):
        raise TypeError(
            f"samples is a {type(samples).__name__}; pass a sample for each name, for example {{'network': sample}}."
        )
    if not 1 <= len(samples) <= len(MODELS):
        raise ValueError(
            f"samples has {len(samples)} models, but from 1 to {len(MODELS)} can be told apart in the same axes; "
            "side_by_side draws each in its own."
        )


def side_by_side(
    displays: Sequence[ReliabilityDisplay],
    title: str | None = None,
    *,
    columns: int | None = None,
    figsize: tuple[float, float] | None = None,
    kind: Kind = "classical",
    scale: Scale | Literal["auto"] = "auto",
    interval: Literal["wilson"] | None = None,
) -> Figure:
    """Draw several diagrams, each in its own axes on the same scale, with one legend; no window opens.

    Parameters
    ----------
    displays : sequence of ReliabilityDisplay
        From ``ReliabilityDisplay.compute`` for example, or from ``ReliabilityDisplay.of_classes``.
    title : str, optional
    columns : int, optional
        By default up to four.
    figsize : (float, float), optional
        Width and height of each diagram, in inches.
    kind, scale, interval
        As for `ReliabilityDisplay.plot`.

    Returns
    -------
    matplotlib Figure

    Raises
    ------
    ValueError
        If there is no display, or they have different things along their axes.

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 1, 2, 0], [[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.1, 0.3, 0.6], [0.4, 0.4, 0.2]])
    >>> figure = cs.side_by_side(cs.ReliabilityDisplay.of_classes(sample, cs.EqualMass(2)))
    >>> [ax.get_title("left") for ax in figure.axes]
    ['0', '1', '2']
    """
    displays = list(displays)
    if not displays:
        raise ValueError("there is no display to draw; pass one or more.")
    for each in displays:
        check_kind("each of displays", each, ReliabilityDisplay)
    columns = min(len(displays), 4) if columns is None else at_least_one("columns", columns)
    n_rows = -(-len(displays) // columns)
    width, height = figsize or ((3.4, 3.2) if columns < 3 else (2.4, 2.6))
    figure = Picture(figsize=(width * columns, height * n_rows + 0.4 + 0.3 * (title is not None)), layout="constrained")
    frame = drawing.frame_of(displays, kind, scale, interval)
    for k, display in enumerate(displays):
        ax = new_axes(figure.add_subplot(n_rows, columns, k + 1))
        display._draw(ax, frame, interval=interval, legend=False, short=width < 3, options={})
        if k % columns:
            ax.set_ylabel("")
            ax.tick_params(labelleft=False)
        if k + columns < len(displays):
            ax.set_xlabel("")
    handles = {each.get_label(): each for display in displays for each in display._handles}
    legend_of_figure(figure, list(handles.values()))
    if title is not None:
        figure.suptitle(title, fontsize=11, fontweight="bold", parse_math=False)
    return figure
