"""Bias, standard deviation and mean squared error of every estimator whose true value is known.

Every public estimator that gives one number on two classes is made, from cells of equal mass where it takes cells, and
swept over worlds, numbers of rows and of bins. Test statistics have no true value: they grow with the number of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, final

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import calibstat as cs
from calibstat import Sweep, summarise
from calibstat.cli import estimators as public
from calibstat.generators import BetaPredictions, Identity, Slope, SyntheticModel, Wiggle
from simulations.frame import SEED, Datasets, Plan, Scale, Study

WORLDS: dict[str, SyntheticModel] = {
    "calibrated": BetaPredictions(1, 1, Identity()),
    "overconfident": BetaPredictions(1, 1, Slope(0.6)),
    "wavy": BetaPredictions(1, 1, Wiggle(2, 0.1)),
}
BINS = 15  # of the table
OTHER_NAMES = {"ACE", "ExpectedMiscalibration", "KS", "MCE"}  # of ECE, KolmogorovSmirnov and MaximumMiscalibration


def equal_width(n_bins: int) -> cs.Estimator:
    """Return the ECE of most papers."""
    return cs.ECE(cs.EqualWidth(n_bins))


def jackknifed(n_bins: int) -> cs.Estimator:
    """Return the ECE with the jackknife's correction of its bias."""
    return cs.Jackknifed(cs.ECE(cs.EqualMass(n_bins)))


# Estimators that need more than cells, or are better known with other ones.
MORE = {
    "ECE, equal width": equal_width,
    "Jackknifed ECE": jackknifed,
    "KDECE": cs.KDECE(0.05),
    "SKCE, unbiased": cs.SKCE(0.2, "unbiased"),
    "SKCE, biased": cs.SKCE(0.2, "biased"),
}


def with_a_truth() -> dict[str, Any]:
    """Return every estimator that gives a number whose true value is known, or functions of the number of bins."""
    world = WORLDS["overconfident"]
    sample, found = world.sample(1000, rng=0), {}
    for name in sorted({*public.names()} - OTHER_NAMES):
        for make in _ways(getattr(cs, name)):
            with suppress(Exception):  # its arguments, its value or its truth may be others
                made = make(BINS)
                float(made(sample)), float(world.truth(made))
                if not made.test_statistic:
                    found[name] = make if repr(make(BINS + 1)) != repr(made) else made
                break
    return found | MORE


def _ways(kind: Callable[..., cs.Estimator]) -> Iterator[Callable[[int], cs.Estimator]]:
    yield lambda n_bins: kind(cs.EqualMass(n_bins))
    yield lambda n_bins: kind()  # noqa: ARG005 (it has no cells)


@final
@dataclass(frozen=True)
class EstimatorBias(Study):
    """Every estimator that has a truth."""

    plan = Plan(
        aim="how far every estimator is from what it estimates, on average and from sample to sample",
        mechanisms="uniform scores; the chance of the event is the score, or has log-odds that are too small by the "
        "factor 0.6, or swings about the score",
        estimands="the population value of each estimator's own estimand",
        methods="every public estimator that gives one number on two classes, in cells of equal mass if it takes cells",
        performance="bias, standard deviation and mean squared error, with Monte Carlo standard errors",
    )

    def parts(self, scale: Scale) -> dict[str, Sweep]:
        """Sweep worlds, n and bins."""
        return {
            "estimates": Sweep(
                WORLDS,
                n=scale.pick([100, 1000], [100, 300, 1000, 3000], [100, 300, 1000, 3000, 10_000]),
                n_bins=scale.pick([5, 15], [5, 15, 50], [5, 15, 50]),
                estimators=with_a_truth(),
                n_repeats=scale.pick(100, 500, 5000),
                rng=SEED,
            )
        }

    @staticmethod
    def text(found: Datasets) -> str:
        """Name the unbiased ones, then write a table for each number of rows."""
        summary = summarise(found["estimates"])
        unbiased, of_cells = without_bias(summary, "truth"), without_bias(summary, "limit")
        ece = summary.sel(estimator="ECE", model="calibrated", n_bins=BINS).isel(n=0)
        lines = [
            f"Of {summary.sizes['estimator']} estimators {len(unbiased)} show no bias in any setting, by four Monte "
            f"Carlo standard errors: {', '.join(unbiased)}. Of what their own cells can see, "
            f"{', '.join(name for name in of_cells if name not in unbiased) or 'no others'} show none either. The raw "
            f"ECE of a calibrated model is {ece['mean'].item():.3f} on average with {ece['n'].item()} rows and {BINS} "
            "bins.",
        ]
        for n in summary["n"].values:
            lines += ["", f"n = {n}: truth, bias (standard deviation), mean squared error", ""]
            lines.append(f"{'':24}{'bins':>5}" + "".join(f"{world:>42}" for world in summary["model"].values))
            for name, n_bins in settings(summary):
                at = summary.sel(n=n, estimator=name).sel(n_bins=n_bins or BINS)
                cells = [_cell(at.sel(model=world)) for world in at["model"].values]
                lines.append(f"{name:24}{n_bins or '':>5}" + "".join(f"{cell:>42}" for cell in cells))
        return "\n".join(lines)

    @staticmethod
    def figure(found: Datasets) -> Figure:
        """Draw each bias in units of the standard deviation, a panel for each world."""
        summary = summarise(found["estimates"]).sel(n_bins=BINS)
        rows = np.arange(summary.sizes["estimator"])[::-1]
        figure, axes = plt.subplots(
            1, len(WORLDS), figsize=(13, 1.5 + 0.27 * len(rows)), layout="constrained", sharey=True
        )
        for ax, world in zip(axes, summary["model"].values, strict=True):
            ax.axvline(0, color="black", linewidth=1)
            for color, n in enumerate(summary["n"].values):
                at = summary.sel(model=world, n=n)
                spread = np.sqrt(at["variance"])
                bars = 1.96 * at["bias_se"] / spread
                ax.errorbar(at["bias"] / spread, rows, xerr=bars, fmt="o", markersize=4, color=f"C{color}", label=n)
            ax.set(yticks=rows, yticklabels=summary["estimator"].values, xlabel="bias / standard deviation")
            ax.set_title(str(world))
            ax.grid(axis="y", linewidth=0.3)
        axes[0].legend(title="rows")
        return figure


def without_bias(summary: xr.Dataset, target: str) -> list[str]:
    """Return estimators whose mean is everywhere within four standard errors of their truth, or of their limit."""
    near = np.abs(summary["mean"] - summary[target]) <= 4 * summary["mean_se"]
    return [str(name) for name in summary["estimator"].values[near.all(("model", "n", "n_bins")).values]]


def settings(summary: xr.Dataset) -> Iterator[tuple[str, int | None]]:
    """Yield each estimator with each number of bins, or with None if its values do not depend on it."""
    means = summary["mean"]
    for name in summary["estimator"].values:
        own = means.sel(estimator=name)
        depends = not np.array_equal(own.isel(n_bins=0), own.isel(n_bins=-1), equal_nan=True)
        yield from ((str(name), int(n_bins)) for n_bins in summary["n_bins"].values) if depends else [(str(name), None)]


def _cell(at: xr.Dataset) -> str:
    spread = np.sqrt(at["variance"].item())
    return f"{at['truth'].item():.4f}  {at['bias'].item():+.4f} ({spread:.4f})  {at['mse'].item():.1e}"
