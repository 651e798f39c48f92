"""How many rows scaling-binning, histogram binning, and the estimation of their errors need (Kumar, Liang & Ma 2019).

Their theorems say that B outputs at a squared error of e^2 take about B + 1 / e^2 rows by scaling-binning and B / e^2
by histogram binning; that the plug-in needs about B / E^2 rows to tell a squared error E^2, and the debiased estimator
about sqrt(B) / E^2; and that cells of equal mass are well balanced from c B log B rows on. The true error of each
fitted map is known here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import calibstat as cs
from calibstat.calibrators import Calibrator, HistogramBinning, Platt, ScalingBinning
from calibstat.generators import BetaPredictions, FinitePredictions, Recalibrated, SyntheticModel, Wiggle
from simulations.diagrams import TWO_LOOKS
from simulations.frame import (
    SEED,
    Datasets,
    Plan,
    Repeats,
    Scale,
    Study,
    bracketed,
    mean_and_error,
    small_cells_on_purpose,
)
from simulations.plugin_vs_debiased import steep

SQUARED = cs.SquaredCE(cs.UniqueValues())
INSIDE, OUTSIDE = "in the family", "outside of it"
WORLDS: dict[str, SyntheticModel] = {
    INSIDE: BetaPredictions(1, 1, steep),
    OUTSIDE: BetaPredictions(1, 1, Wiggle(2, 0.1)),
}
SCALING, HISTOGRAM, BY_CELL, ALONE = "scaling-binning", "histogram binning", "histogram, by cell", "scaling alone"
PLUGIN, DEBIASED = "plug-in", "debiased"
GOAL = 1e-3  # the squared error for which rows are counted
SUCCESS = 2 / 3  # how often an estimate must lie within half of the squared error
ERROR = 0.1  # the error of every output that is estimated
PER_CELL = (2, 5, 10, 20, 40, 80)
N_RESAMPLES = 100  # of the repeats, for standard errors of what is computed from their means


@dataclass(frozen=True)
class TrueErrors:
    """True squared errors of maps that are fitted to rows of a world; fewer rows are the first of more."""

    world: SyntheticModel
    n: tuple[int, ...]
    n_bins: tuple[int, ...]

    def __call__(self, rng: np.random.Generator) -> xr.Dataset:
        """Fit all maps."""
        sample = self.world.sample(max(self.n), rng)
        values = [[self._of(sample.take(np.arange(n)), n_bins) for n_bins in self.n_bins] for n in self.n]
        return xr.Dataset(
            {"squared": (("n", "n_bins", "map"), values)},
            {"n": list(self.n), "n_bins": list(self.n_bins), "map": [SCALING, HISTOGRAM, BY_CELL, ALONE]},
        )

    def _of(self, fit: cs.Sample, n_bins: int) -> list[float]:
        p, y, cells = fit.predictions.event, fit.outcomes, cs.EqualMass(n_bins)
        with small_cells_on_purpose():
            scaled, histogram = ScalingBinning(binning=cells).fit(p, y), HistogramBinning(cells).fit(p, y)
        first = n_bins == self.n_bins[0]
        alone = self._true(Platt(smoothing=False).fit(p, y)) if first else np.nan  # it has no bins
        return [self._true(scaled), self._true(histogram), squared_by_cell(self.world, histogram), alone]

    def _true(self, fitted: Calibrator) -> float:
        return float(Recalibrated(self.world, fitted).truth(SQUARED))


def squared_by_cell(world: SyntheticModel, histogram: HistogramBinning) -> float:
    """Return the squared error of a histogram over its cells, for uniform scores.

    That of its outputs is smaller where cells have the same share of events by chance: outputs do not tell them apart.
    """
    edges = np.concatenate([[0.0], histogram.edges_[1:-1], [1.0]])
    nodes, weights = np.polynomial.legendre.leggauss(16)
    width = np.diff(edges)
    places = (edges[:-1] + edges[1:])[:, None] / 2 + width[:, None] / 2 * nodes
    chance = np.asarray(world.calibration_function(places.ravel())).reshape(places.shape) @ weights / 2
    return float(width @ (histogram.values_ - chance) ** 2)


def of_outputs(n_cells: int, error: float) -> FinitePredictions:
    """Return a model of so many equally likely outputs, of which every other is too high or too low by the error."""
    outputs = np.linspace(0.2, 0.8, n_cells)
    return FinitePredictions(outputs, outputs + error * (-1.0) ** np.arange(n_cells))


@dataclass(frozen=True)
class Verification:
    """Whether each estimate of the squared error of a model of B outputs lies within half of it."""

    error: float
    n: tuple[int, ...]
    n_cells: tuple[int, ...]

    def __call__(self, rng: np.random.Generator) -> xr.Dataset:
        """Estimate on rows of each model; fewer rows are the first of more."""
        both = {PLUGIN: cs.SquaredCE(cs.UniqueValues()), DEBIASED: cs.DebiasedCE(cs.UniqueValues())}
        true, found = self.error**2, []
        for n_cells in self.n_cells:
            sample = of_outputs(n_cells, self.error).sample(max(self.n), rng)
            parts = [sample.take(np.arange(n)) for n in self.n]
            found.append([[abs(float(each(part)) - true) <= true / 2 for each in both.values()] for part in parts])
        return xr.Dataset(
            {"near": (("n_bins", "n", "estimator"), found)},
            {"n_bins": list(self.n_cells), "n": list(self.n), "estimator": list(both)},
        )


@dataclass(frozen=True)
class Balance:
    """Whether all cells of equal mass of a sample hold between half and twice their share of the population."""

    n_cells: tuple[int, ...]

    def __call__(self, rng: np.random.Generator) -> xr.Dataset:
        """Cut uniform scores: for scores with a density the law of the masses is the same."""
        balanced = []
        for n_cells in self.n_cells:
            scores = rng.random(max(PER_CELL) * n_cells)
            balanced.append([well_balanced(masses_of(scores[: k * n_cells], n_cells)) for k in PER_CELL])
        return xr.Dataset(
            {"balanced": (("n_bins", "rows_per_cell"), balanced)},
            {"n_bins": list(self.n_cells), "rows_per_cell": list(PER_CELL)},
        )


def masses_of(scores: np.ndarray, n_cells: int) -> np.ndarray:
    """Return the masses under the uniform law of the cells of equal mass of these scores."""
    with small_cells_on_purpose():
        edges = HistogramBinning(cs.EqualMass(n_cells)).fit(scores, np.arange(len(scores)) % 2).edges_
    return np.diff(np.concatenate([[0.0], edges[1:-1], [1.0]]))


def well_balanced(masses: np.ndarray) -> bool:
    """Whether all masses lie between half and twice their mean."""
    share = 1 / len(masses)
    return bool((masses >= share / 2).all() and (masses <= 2 * share).all())


def crossing(n: np.ndarray, values: np.ndarray, goal: float) -> float:
    """Return the rows at which values first reach a goal from below, by a line in log n; NaN if they do not."""
    above = np.flatnonzero(values >= goal)
    if not len(above):
        return np.nan
    at = above[0]
    if at == 0:
        return float(n[0])
    share = (goal - values[at - 1]) / (values[at] - values[at - 1])
    return float(np.exp(np.log(n[at - 1]) + share * np.log(n[at] / n[at - 1])))


def rows_for_goal(squared: xr.DataArray) -> np.ndarray:
    """Return, for each number of bins, the rows from which the mean squared error is the goal or less."""
    logs = -np.log(squared.mean("repeat").transpose("n_bins", "n").values)
    return np.array([crossing(squared["n"].values, each, -np.log(GOAL)) for each in logs])


def rows_for_success(near: xr.DataArray) -> np.ndarray:
    """Return, for each number of outputs, the rows from which estimates are near often enough."""
    shares = near.astype(float).mean("repeat").transpose("n_bins", "n").values
    return np.array([crossing(near["n"].values, each, SUCCESS) for each in shares])


def power_of_bins(n_bins: np.ndarray, rows: np.ndarray) -> float:
    """Return the power of the number of bins with which rows grow, by least squares of logarithms."""
    known = np.isfinite(rows)
    return float(np.polyfit(np.log(n_bins[known]), np.log(rows[known]), 1)[0]) if known.sum() > 1 else np.nan


def with_error(values: xr.DataArray, function: Callable[[xr.DataArray], Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return a function of the repeats, and its Monte Carlo standard error by resampling them."""
    rng, n = np.random.default_rng(0), values.sizes["repeat"]
    again = [np.asarray(function(values.isel(repeat=rng.integers(n, size=n)))) for _ in range(N_RESAMPLES)]
    return np.asarray(function(values)), np.std(again, axis=0, ddof=1)


@final
@dataclass(frozen=True)
class ScalingBinningStudy(Study):
    """The sample complexities of Kumar, Liang & Ma (2019)."""

    plan = Plan(
        aim="how many rows scaling-binning and histogram binning need for a small error, estimators need to tell an "
        "error, and cells of equal mass need to be well balanced",
        mechanisms="uniform scores whose true chances are in the family that is scaled with (Platt), or wavy; models "
        f"of B outputs that are off by {ERROR} each, in turn; uniform scores in cells of equal mass",
        estimands="the true squared calibration error of each fitted map (0 is the goal); the squared error of the "
        "outputs; the masses of the cells",
        methods="scaling-binning, histogram binning (its error given the output, and given the cell), and Platt "
        "scaling alone, all on the same rows; plug-in and debiased estimator over distinct outputs",
        performance=f"mean of the true squared error over n and B, and rows from which it is {GOAL:g}; rows from "
        f"which an estimate lies within half of the error in {SUCCESS:.0%} of samples; the powers of B in both; "
        "share of samples all whose cells hold between half and twice their mass",
    )

    def parts(self, scale: Scale) -> dict[str, Repeats]:
        """Fit maps in both worlds, estimate errors, and cut cells."""
        rows = (60, 125, 250, 500, 1000, 4000, 16_000, 64_000)
        n = scale.pick((60, 250, 1000, 4000, 16_000), rows, rows)
        n_bins = scale.pick((10, 30, 100), (5, 20, 50, 100), (5, 10, 20, 50, 100))
        outputs = scale.pick((8, 32, 128), (8, 16, 32, 64, 128, 256), (8, 16, 32, 64, 128, 256, 512))
        told = tuple(2**k for k in range(7, scale.pick(14, 16, 17)))
        found = {
            name: Repeats(TrueErrors(world, n, n_bins), scale.pick(10, 30, 1000), SEED + place)
            for place, (name, world) in enumerate(WORLDS.items())
        }
        found["verification"] = Repeats(Verification(ERROR, told, outputs), scale.pick(60, 400, 4000), SEED + 2)
        found["balance"] = Repeats(Balance((10, 30, 100, 300)), scale.pick(100, 1000, 10_000), SEED + 3)
        return found

    @staticmethod
    def text(found: Datasets) -> str:
        """Say by which powers rows grow, then write all tables."""
        inside = found[INSIDE]["squared"]
        powers = {
            method: with_error(inside.sel(map=method), _power_for_goal) for method in (SCALING, HISTOGRAM, BY_CELL)
        }
        near = found["verification"]["near"]
        told = {name: with_error(near.sel(estimator=name), _power_for_success) for name in (PLUGIN, DEBIASED)}
        ratio, error = with_error(inside.sel(n=1000, n_bins=100), _ratio)
        outside, off = with_error(found[OUTSIDE]["squared"].sel(n=1000, n_bins=100), _ratio)
        lines = [
            f"The rows for a squared error of {GOAL:g} grow with the number of bins like "
            + ", ".join(f"B^{_pm(*powers[method])} for {method}" for method in (BY_CELL, HISTOGRAM, SCALING))
            + f". With 1000 rows in 100 bins scaling-binning has {_pm(ratio, error)} times the squared error of "
            f"histogram binning if the truth is in the family, and {_pm(outside, off)} times if it is not. The "
            "rows to tell an error grow like "
            + ", and ".join(f"B^{_pm(*told[name])} by the {name} estimator" for name in (PLUGIN, DEBIASED))
            + ".",
        ]
        for name in WORLDS:
            lines += _errors(found[name]["squared"], name)
        return "\n".join([*lines, *_told(near), *_balance(found["balance"])])

    @staticmethod
    def figure(found: Datasets) -> Figure:
        """Draw errors over rows in both worlds, rows over bins, and the shares of balanced cells."""
        figure, axes = plt.subplots(1, 4, figsize=(18, 4.6), layout="constrained")
        titles = {INSIDE: "true chances in the family of Platt scaling", OUTSIDE: "true chances outside of it"}
        for ax, (name, title) in zip(axes, titles.items(), strict=False):
            _draw_errors(ax, found[name]["squared"], title)
        axes[0].legend(fontsize="x-small", loc="lower left", handlelength=3)
        _draw_rows(axes[2], found)
        own = mean_and_error(100 * found["balance"]["balanced"].astype(float))
        for n_bins in own.mean["n_bins"].values:
            at = {"n_bins": n_bins}
            axes[3].errorbar(PER_CELL, own.mean.sel(at), 2 * own.error.sel(at), marker="o", label=f"{n_bins} bins")
        axes[3].set(xscale="log", xlabel="rows for each bin", ylabel="samples, %", title="all cells well balanced")
        axes[3].set_xticks(PER_CELL, PER_CELL)
        axes[3].minorticks_off()
        axes[3].legend(fontsize="small")
        return figure


def _power_for_goal(squared: xr.DataArray) -> float:
    return power_of_bins(squared["n_bins"].values, rows_for_goal(squared))


def _power_for_success(near: xr.DataArray) -> float:
    return power_of_bins(near["n_bins"].values, rows_for_success(near))


def _ratio(squared: xr.DataArray) -> float:
    means = squared.mean("repeat")
    return float(means.sel(map=SCALING) / means.sel(map=HISTOGRAM))


def _pm(value: Any, error: Any) -> str:
    return bracketed(value, error, "z.2f")


def _errors(squared: xr.DataArray, name: str) -> list[str]:
    own, n_bins = mean_and_error(1e4 * squared), squared["n_bins"].values
    head = f"{'':20}{'n':>7}" + "".join(f"{f'B = {each}':>16}" for each in n_bins)
    lines = ["", f"truth {name}: mean true squared error, times 10 000 (Monte Carlo standard error)", "", head]
    for method in squared["map"].values:
        for n in squared["n"].values:
            at = {"map": method, "n": n}
            pairs = list(zip(own.mean.sel(at).values, own.error.sel(at).values, strict=True))
            shown = pairs[:1] if method == ALONE else pairs
            lines.append(f"{method:20}{n:>7}" + "".join(f"{bracketed(mean, se, '.2f'):>16}" for mean, se in shown))
        if method != ALONE:
            lines.append(_rows_line(f"rows for {GOAL:g}", *with_error(squared.sel(map=method), rows_for_goal)))
    return lines


def _told(near: xr.DataArray) -> list[str]:
    head = f"{'':27}" + "".join(f"{f'B = {each}':>16}" for each in near["n_bins"].values)
    lines = [
        "",
        f"rows from which {SUCCESS:.0%} of estimates lie within half of the squared error {ERROR**2:g}",
        "",
        head,
    ]
    return lines + [
        _rows_line(name, *with_error(near.sel(estimator=name), rows_for_success)) for name in (PLUGIN, DEBIASED)
    ]


def _rows_line(name: str, rows: np.ndarray, errors: np.ndarray) -> str:
    cells = [bracketed(each, se, ".0f") if np.isfinite(each) else "more" for each, se in zip(rows, errors, strict=True)]
    return f"{name:27}" + "".join(f"{cell:>16}" for cell in cells)


def _balance(balance: xr.Dataset) -> list[str]:
    own = mean_and_error(100 * balance["balanced"].astype(float))
    head = f"{'':27}" + "".join(f"{f'{k} a cell':>16}" for k in PER_CELL)
    lines = [
        "",
        "samples all whose cells hold between half and twice their mass, % (Monte Carlo standard error)",
        "",
        head,
    ]
    for n_bins in own.mean["n_bins"].values:
        pairs = zip(own.mean.sel(n_bins=n_bins).values, own.error.sel(n_bins=n_bins).values, strict=True)
        lines.append(f"{f'B = {n_bins}':27}" + "".join(f"{bracketed(mean, se, '.1f'):>16}" for mean, se in pairs))
    return lines


def _draw_errors(ax: Any, squared: xr.DataArray, title: str) -> None:
    own = mean_and_error(squared)
    shown = squared["n_bins"].values[[0, -1]]
    for color, method in enumerate((SCALING, HISTOGRAM, BY_CELL)):
        for n_bins, style in zip(shown, TWO_LOOKS, strict=True):
            at = {"map": method, "n_bins": n_bins}
            look = style | {"color": f"C{color}", "label": f"{method}, {n_bins} bins"}
            ax.errorbar(squared["n"], own.mean.sel(at), 2 * own.error.sel(at), **look)
    alone = own.mean.sel(map=ALONE).isel(n_bins=0)
    ax.plot(squared["n"], alone, ":", color="black", label=ALONE)
    ax.axhline(GOAL, color="0.7", linewidth=0.8)
    ax.set(xscale="log", yscale="log", xlabel="rows", ylabel="mean true squared error", title=title)


def _draw_rows(ax: Any, found: Datasets) -> None:
    inside, near = found[INSIDE]["squared"], found["verification"]["near"]
    drawn = {
        f"{m}: error {GOAL:g}": with_error(inside.sel(map=m), rows_for_goal) for m in (SCALING, HISTOGRAM, BY_CELL)
    }
    told = {f"{e}: tell {ERROR**2:g}": with_error(near.sel(estimator=e), rows_for_success) for e in (PLUGIN, DEBIASED)}
    for color, (name, (rows, errors)) in enumerate((drawn | told).items()):
        n_bins = inside["n_bins"].values if name in drawn else near["n_bins"].values
        style = "-" if name in drawn else "--"
        ax.errorbar(n_bins, rows, 2 * errors, marker="o", color=f"C{color}", linestyle=style, label=name)
    ax.set(xscale="log", yscale="log", xlabel="number of bins", ylabel="rows", title="rows that are needed")
    ax.set_ylim(top=8 * ax.get_ylim()[1])  # room for the legend
    ax.legend(fontsize="small")
