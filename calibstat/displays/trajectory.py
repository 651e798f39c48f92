"""Training runs step by step: log loss, accuracy, calibration error beside its noise, and p-values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Any, Self, final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

from calibstat._text import percent
from calibstat.data.arrays import RNG, as_generator
from calibstat.data.parameters import LEVEL, check_share
from calibstat.data.sample import Sample
from calibstat.displays._style import (
    BEYOND,
    CURVE,
    INK,
    MODELS,
    NOISE,
    OURS,
    PlotDisplay,
    ResultDisplay,
    label_axes,
    legend_below,
    magnified,
    new_axes,
    shortened,
    tick,
    whole_figure,
)
from calibstat.estimators.base import Estimator
from calibstat.estimators.scores import LogScore, ZeroOneLoss
from calibstat.inference.arguments import check_estimator, check_sample
from calibstat.inference.forest import Noise
from calibstat.inference.test import calibration_test
from calibstat.nulls.base import Null

if TYPE_CHECKING:
    import xarray as xr

_TESTED = ("value", "null_mean", "noise_low", "noise", "pvalue")
_LEAST = 1e-300  # a p-value that is drawn
# Inches: panels that would be lower stand in two columns, which are so far apart.
_LOW, _BETWEEN = 0.7, 0.55


def trajectory(
    samples: Mapping[Any, Any],
    estimators: Mapping[str, Estimator],
    *,
    null: Null | str | None = None,
    level: float = LEVEL,
    n_resamples: int | None = None,
    rng: RNG = None,
) -> xr.Dataset:
    """Follow training runs: log loss, accuracy, and each estimator with its noise and p-value, step by step.

    The numbers of Vaicenavicius et al. (2019, Figure 3), who found that networks are miscalibrated at the step of the
    lowest log loss, at which training is often stopped.

    Parameters
    ----------
    samples : dict
        ``{step: sample}`` for one run, or ``{run: {step: sample}}`` for several; steps are numbers, such as epochs.
        Samples hold the whole prediction, of rows that the model was not fitted on.
    estimators : dict
        ``{name: estimator}``, each with its lens: for example ``{"ECE": TopLabel() | ECE(EqualMass(15))}``.
    null, level, n_resamples
        As for `calibration_test`.
    rng : int, Generator or None
        The source of randomness; with an integer every step has the same redraws as far as predictions allow.

    Returns
    -------
    xarray Dataset
        ``log_loss``, ``accuracy`` and ``n`` along run and step; ``value``, ``null_mean`` (what noise alone gives),
        ``noise_low`` and ``noise`` (what noise alone leaves with probability `level`) and ``pvalue`` along run, step
        and estimator. A step that a run lacks is NaN.

    Raises
    ------
    TypeError, ValueError
        If a sample, a step or an estimator is not what is expected, or there are none; or as `calibration_test` does.

    Examples
    --------
    >>> import calibstat as cs
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p, samples = rng.random(500), {}
    >>> for epoch, power in {1: 1.6, 2: 1.3, 3: 1.0}.items():
    ...     samples[epoch] = cs.Sample(rng.random(500) < p**power, p)
    >>> found = cs.trajectory(samples, {"ECE": cs.ECE(cs.EqualMass(10))}, rng=0)
    >>> (found["pvalue"].sel(run="run", estimator="ECE") < 0.05).values
    array([ True,  True, False])
    """
    import xarray as xr

    check_share("level", level, LEVEL)
    runs = _runs(samples)
    if not isinstance(estimators, Mapping) or not estimators:
        raise ValueError(f"estimators is {estimators!r}, but {{name: estimator}} with one or more is expected.")
    for each in estimators.values():
        check_estimator(each)
    rows = [
        {
            "run": run,
            "step": step,
            "log_loss": float(LogScore()(sample)),
            "accuracy": 1 - float(ZeroOneLoss()(sample)),
            "n": float(len(sample)),
        }
        for run, steps in runs.items()
        for step, sample in steps.items()
    ]
    generator = rng if isinstance(rng, int) else as_generator(rng)
    asked: dict[str, Any] = {"null": null, "n_resamples": n_resamples, "level": level, "rng": generator}
    tests = [
        {"run": run, "step": step, "estimator": name} | _tested(calibration_test(sample, estimator, **asked))
        for run, steps in runs.items()
        for step, sample in steps.items()
        for name, estimator in estimators.items()
    ]
    whole, part = _cube(rows, "run", "step"), _cube(tests, "run", "step", "estimator")
    found = xr.merge([whole, part]).sortby("step").reindex(run=list(runs), estimator=list(estimators))
    return found.assign_attrs(level=level, estimators="; ".join(f"{name}: {e!r}" for name, e in estimators.items()))


def _tested(test: Any) -> dict[str, float]:
    """Return the numbers of a test that are drawn."""
    order = test.question.estimator.core.extreme
    noise = Noise.of(test.null_distribution, order, test.statistic, 1 - test.level)
    numbers = (test.statistic, test.null_mean, noise.low, noise.high, test.pvalue)
    return dict(zip(_TESTED, numbers, strict=True))


def _cube(rows: list[dict[str, Any]], *dimensions: str) -> xr.Dataset:
    """Lay rows out along dimensions; what is missing is NaN."""
    import pandas as pd

    return pd.DataFrame(rows).set_index(list(dimensions)).to_xarray()


def _runs(samples: Any) -> dict[str, dict[float, Sample]]:
    """Return ``{run: {step: sample}}``, with samples and steps checked."""
    if not isinstance(samples, Mapping) or not samples:
        raise ValueError("samples is empty or no dict, but {step: sample}, or {run: {step: sample}}, is expected.")
    nested = all(isinstance(each, Mapping) for each in samples.values())
    runs = {str(run): dict(steps) for run, steps in samples.items()} if nested else {"run": dict(samples)}
    for run, steps in runs.items():
        if not steps:
            raise ValueError(f"run {run!r} has no step, but {{step: sample}} is expected.")
        for step, sample in steps.items():
            if isinstance(step, (bool, str)) or not np.isreal(step):
                raise TypeError(f"a step of {run!r} is {step!r}, but a number is expected, such as an epoch.")
            check_sample(sample)
    return runs


@final
@dataclass(eq=False, repr=False)
class TrajectoryDisplay(ResultDisplay, PlotDisplay):
    """Log loss, accuracy, calibration error and p-value over the steps of training (Vaicenavicius et al. 2019, Fig. 3).

    Small panels, one below the other or, in wide axes, side by side. The pale strip holds what noise alone gives; a
    point in the strong colour has a p-value of at most the level. The star is the step of the lowest log loss in its
    run. Make one by `from_result` from what `trajectory` returns, or by `from_samples`.

    Parameters
    ----------
    numbers : xarray Dataset
        As `trajectory` returns.
    name : str, optional
        Name of the model, for the title.

    Attributes
    ----------
    panels_ : dict of matplotlib Axes
        The panels by what they show.
    ax_, figure_ : matplotlib Axes, Figure

    Examples
    --------
    >>> import calibstat as cs
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(500)
    >>> samples = {epoch: cs.Sample(rng.random(500) < p ** (2 - epoch / 4), p) for epoch in (1, 2, 3, 4)}
    >>> display = cs.TrajectoryDisplay.from_samples(samples, {"ECE": cs.ECE(cs.EqualMass(10))}, rng=0)
    >>> list(display.panels_)
    ['log loss', 'accuracy', 'ECE', 'p-value of ECE']
    """

    numbers: xr.Dataset
    name: str | None = None

    @classmethod
    def from_samples(
        cls,
        samples: Mapping[Any, Any],
        estimators: Mapping[str, Estimator],
        *,
        ax: Axes | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Compute and draw a trajectory; further arguments are those of `trajectory`."""
        return cls.from_result(trajectory(samples, estimators, **kwargs), ax=ax, name=name)

    @classmethod
    def compute(cls, result: Any, *, name: str | None = None) -> Self:
        """Take the Dataset that `trajectory` returned, without drawing it."""
        missing = [each for each in ("log_loss", "accuracy", *_TESTED) if each not in getattr(result, "data_vars", ())]
        if missing:
            raise TypeError(f"the Dataset of trajectory(...) is expected, but {', '.join(missing)} are missing.")
        return cls(result, name)

    @property
    def level(self) -> float:
        """The largest p-value that counts as evidence."""
        return float(self.numbers.attrs["level"])

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of a new figure, in inches."""
        return 3.4, 1.0 + 0.95 * len(self._shown)

    @property
    def _names(self) -> list[str]:
        return [str(each) for each in self.numbers["estimator"].values]

    @property
    def _shown(self) -> list[str]:
        """What each panel shows."""
        return ["log loss", "accuracy", *(part for each in self._names for part in (each, f"p-value of {each}"))]

    @property
    def best(self) -> dict[str, float]:
        """The step of the lowest log loss in each run."""
        lowest = self.numbers["log_loss"].idxmin("step")
        return {str(run): float(lowest.sel(run=run)) for run in lowest["run"].values}

    def _fill(self, ax: Axes, options: dict[str, Any]) -> None:
        ax.set_axis_off()
        self.panels_ = _panels(ax, self._shown)
        look = {"linewidth": 1.0, "marker": "o", "markersize": 2.5, **options}
        self._lines(self.panels_["log loss"], self.numbers["log_loss"], look)
        self._lines(self.panels_["accuracy"], 100 * self.numbers["accuracy"], look)
        for each in self._names:
            self._tested(each, look)
        legend_below(ax, self._handles())

    def _lines(self, panel: Axes, values: Any, look: dict[str, Any]) -> None:
        """Draw one line for each run, and a star at the step of its lowest log loss."""
        for run, best in self.best.items():
            line = values.sel(run=run).dropna("step")
            panel.plot(line["step"], line, **({"color": self._colours[run]} | look))
            panel.plot(best, float(values.sel(run=run, step=best)), marker="*", color=INK, markersize=9, zorder=4)

    def _tested(self, name: str, look: dict[str, Any]) -> None:
        """Draw the values of one estimator over the strip of noise, and its p-values over the level."""
        found = self.numbers.sel(estimator=name)
        value, pvalue = self.panels_[name], self.panels_[f"p-value of {name}"]
        low, high = found["noise_low"].min("run").clip(max=0), found["noise"].max("run")
        value.fill_between(found["step"], low, high, color=NOISE, linewidth=0)
        ends = np.array([min(found["value"].min(), 0.0), max(found["value"].max(), 0.0)])
        value.set_ylim(*(1.12 * ends + [0, _LEAST]))
        drawn = found["pvalue"].clip(min=_LEAST)
        pvalue.axhspan(self.level, 2, color=NOISE, linewidth=0)
        pvalue.set(yscale="log", ylim=(min(0.3 * float(drawn.min()), 0.005), 2))
        pvalue.yaxis.set_major_locator(LogLocator(numticks=4))
        pvalue.yaxis.set_minor_locator(NullLocator())
        pvalue.yaxis.set_major_formatter(tick)
        for panel, values in ((value, found["value"]), (pvalue, drawn)):
            self._lines(panel, values, look)
            beyond = values.where(found["pvalue"] <= self.level).stack(point=("run", "step")).dropna("point")
            panel.plot(beyond["step"], beyond, "o", color=BEYOND, markersize=4, linestyle="none")

    @property
    def _colours(self) -> dict[str, str]:
        """The colour of each run; only one has that of curves."""
        runs = list(self.best)
        return dict(zip(runs, cycle(MODELS), strict=False)) if len(runs) > 1 else dict.fromkeys(runs, CURVE)

    def _handles(self) -> list[Any]:
        """Return what the legend explains."""
        several = self._colours.items() if len(self.best) > 1 else ()
        return [
            *(Line2D([], [], color=colour, linewidth=1.5, label=shortened(run, 20)) for run, colour in several),
            Patch(color=NOISE, label="noise alone"),
            Line2D([], [], color=BEYOND, marker="o", markersize=4, linestyle="none", label="more than noise"),
            Line2D([], [], color=INK, marker="*", markersize=8, linestyle="none", label="lowest log loss"),
        ]

    @property
    def _answer(self) -> list[str]:
        """Say what holds at the step at which training would be stopped."""
        found = self.numbers.isel(estimator=0)
        pvalues = [float(found["pvalue"].sel(run=run, step=step)) for run, step in self.best.items()]
        rejected = sum(each <= self.level for each in pvalues)
        steps = sorted(self.best.values())
        where = f"{steps[0]:g}" if steps[0] == steps[-1] else f"{steps[0]:g} to {steps[-1]:g}"
        what = "evidence of miscalibration" if rejected else "no evidence of miscalibration"
        if len(pvalues) > 1 and rejected:
            what += f" in {rejected} of {len(pvalues)} runs"
        return [f"lowest log loss at step {where}:", what]

    @property
    def caption(self) -> str:
        """What is drawn, from how many rows, and how to read it."""
        rows = self.numbers["n"].values
        count = sorted({int(each) for each in rows[np.isfinite(rows)]})
        n = f"{count[0]}" if len(count) == 1 else f"{count[0]} to {count[-1]}"
        return (
            f"Log loss, accuracy, and {self.numbers.attrs.get('estimators', 'the estimators')}, at "
            f"{self.numbers.sizes['step']} steps of {self.numbers.sizes['run']} runs, of {n} rows. Noise alone lies in "
            f"the pale strip in {percent(1 - self.level)} of draws; points in the strong colour have p-values of at "
            f"most {self.level:g}, each on its own and not adjusted for their number. The star is the step of the "
            "lowest log loss (Vaicenavicius et al. 2019, Figure 3)."
        )


def _panels(ax: Axes, shown: list[str]) -> dict[str, Axes]:
    """Place panels inside axes: one below the other, or in two columns where the axes are wide."""
    box, dots = ax.get_window_extent(), whole_figure(ax).dpi
    columns = 2 if box.width > 1.3 * box.height or box.height < _LOW * dots * len(shown) else 1
    lines = -(-len(shown) // columns)
    height, gap = 1 / (lines + 0.22 * (lines - 1)), max(_BETWEEN * magnified(ax) * dots / box.width, 0.12)
    width = (1 - gap * (columns - 1)) / columns
    found = {}
    for k, what in enumerate(shown):
        line, column = divmod(k, columns)
        place = column * (width + gap), 1 - height - line * height * 1.22, width, height
        panel = new_axes(ax.inset_axes(place, label=OURS))
        panel.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        panel.xaxis.set_major_formatter(tick)
        panel.yaxis.set_major_locator(MaxNLocator(3))
        panel.yaxis.set_major_formatter(tick)
        panel.tick_params(labelbottom=line == lines - 1)
        words = {"accuracy": "accuracy, %"}.get(
            what, "p-value" if what.startswith("p-value of ") else shortened(what, 26)
        )
        label_axes(panel, "step" if line == lines - 1 else None, words)
        found[what] = panel
    return found
