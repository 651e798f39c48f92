"""Binned estimates on a Gaussian mixture and on three classes: over n and bins, beside the truth and what bins can see.

Vaicenavicius et al. (2019), Section 5.1 and Figures 6 to 14. Two calibrated models and one that is off; Theorem 2 says
that with fixed bins the estimate converges to a limit below the truth. Before that, at small n, it lies above: noise
alone gives an error. Widmann et al. (2019) have the Dirichlet worlds, in which the truth is known for three classes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from scipy.stats import binom

import calibstat as cs
from calibstat import ECE, EqualMass, EqualWidth, ExpectedMiscalibration, SimplexGrid, Sweep, VarianceTree, summarise
from calibstat.generators import DirichletPredictions, GaussianMixture, Mixture, SyntheticModel
from simulations.diagrams import draw_deviations
from simulations.frame import SEED, Datasets, Plan, Repeats, Scale, Study

CALIBRATED = "(0, -2), calibrated"
MODELS = {
    CALIBRATED: GaussianMixture(0, -2),
    "(0, 0), calibrated": GaussianMixture(0, 0),
    "(1, 1)": GaussianMixture(1, 1),
}
THREE_CLASSES: dict[str, SyntheticModel] = {
    "three classes, calibrated": DirichletPredictions([1, 1, 1]),
    "three classes, off": DirichletPredictions([1, 1, 1], Mixture(0.5, [1 / 3, 1 / 3, 1 / 3])),
}
TREE = VarianceTree(100)  # the least size of the authors' program
ROWS_OF_A_DIAGRAM, CELLS_OF_A_DIAGRAM = 10_000, 15


def equal_width(n_bins: int) -> ECE:
    """Return the estimator of the paper."""
    return ECE(EqualWidth(n_bins))


def equal_mass(n_bins: int) -> ECE:
    """Return the one with as many rows in each cell."""
    return ECE(EqualMass(n_bins))


def simplex_grid(n_bins: int) -> cs.Estimator:
    """Return the estimator over the triangles of a grid."""
    return ExpectedMiscalibration(SimplexGrid(n_bins))


@dataclass(frozen=True)
class Diagrams:
    """The deviations of a reliability diagram of each model, with cells of each kind."""

    n: int
    n_cells: int

    def __call__(self, rng: np.random.Generator) -> xr.Dataset:
        """Return a row for each cell: where it lies, its deviation for the class -1, and what noise alone gives."""
        binnings = {"equal width": EqualWidth(self.n_cells), "equal mass": EqualMass(self.n_cells), "tree": TREE}
        found = []
        for model, world in MODELS.items():
            sample = world.sample(self.n, rng)
            for name, binning in binnings.items():
                cells = cs.HistogramRegression(binning)(sample).isel(label=0).reset_coords(drop=True)
                cells = cells.isel(cell=(cells["count"] > 0).values)
                mean, size = cells["mean_prediction"].values, cells["count"].values
                low, high = (binom.ppf(level, size, mean) / size - mean for level in (0.05, 0.95))
                own = {"low": low, "high": high, "model": [model] * len(size), "binning": [name] * len(size)}
                cells = cells[["proportion", "mean_prediction", "deviation"]]
                found.append(cells.assign({key: ("cell", values) for key, values in own.items()}))
        return xr.concat(found, "cell").merge(self._truth())

    def _truth(self) -> xr.Dataset:
        """Return the true deviations over predictions for the class -1."""
        grid = np.arange(1, 200) / 200
        curves = [1 - world.calibration_function(1 - grid) - grid for world in MODELS.values()]
        return xr.Dataset({"true_deviation": (("of", "grid"), curves)}, {"of": list(MODELS), "grid": grid})


@final
@dataclass(frozen=True)
class GaussianMixtureStudy(Study):
    """Section 5.1 of Vaicenavicius et al. (2019)."""

    plan = Plan(
        aim="how far the binned ECE is from the true error, over the number of rows and of bins",
        mechanisms="Y = -1 or 1, X given Y is N(Y, 1), and a logistic model of X that is calibrated, constant, or off "
        "(Vaicenavicius et al. 2019, Section 5.1); uniform predictions for three classes, right or half replaced by "
        "chance (Widmann et al. 2019)",
        estimands="the expected calibration error, exactly, and the limit that fixed bins see of it (Theorem 2)",
        methods="ECE with 5 to 100 bins of equal width and of equal mass, and in the leaves of a tree; for three "
        "classes triangles of a grid",
        performance="mean and standard deviation of the estimate beside limit and truth; how bias and standard "
        "deviation fall with rows and grow with bins",
    )

    def parts(self, scale: Scale) -> dict[str, Sweep | Repeats]:
        """Sweep n and bins, and draw one diagram of each kind."""
        sizes = [100, 300, 1000, 3000, 10_000]
        shared: dict[str, Any] = {
            "n": scale.pick([100, 1000], sizes, [*sizes, 30_000]),
            "n_repeats": scale.pick(200, 1000, 3000),
        }
        two: dict[str, Any] = {"equal width": equal_width, "equal mass": equal_mass, "tree": ECE(TREE)}
        three: dict[str, Any] = {"grid": simplex_grid, "tree": ExpectedMiscalibration(TREE)}
        return {
            "estimates": Sweep(MODELS, n_bins=[5, 10, 50, 100], estimators=two, rng=SEED, **shared),
            "three": Sweep(THREE_CLASSES, n_bins=[5, 10], estimators=three, rng=SEED + 1, **shared),
            "diagrams": Repeats(Diagrams(ROWS_OF_A_DIAGRAM, CELLS_OF_A_DIAGRAM)),
        }

    @staticmethod
    def text(found: Datasets) -> str:
        """Write the answer, the rates, and the tables of means and standard deviations."""
        summary = summarise(found["estimates"])
        own = summary.sel(estimator="equal width")
        few, many = own["n"].values.min(), own["n_bins"].values.max()
        noise, off = own.sel(model=CALIBRATED, n=few, n_bins=many), own.sel(model="(1, 1)")
        bias, spread = rates(own.sel(model=CALIBRATED))
        lines = [
            f"Noise alone looks like miscalibration: with {few} rows in {many} bins the ECE of a calibrated model is "
            f"{noise['mean'].item():.3f} on average. Ten times as many rows divide its bias by {10 ** -bias[0]:.1f} "
            f"and its standard deviation by {10 ** -spread[0]:.1f}; ten times as many bins multiply them by "
            f"{10 ** bias[1]:.1f} and {10 ** spread[1]:.1f} (n^{bias[0]:.2f} B^{bias[1]:.2f} and n^{spread[0]:.2f} "
            f"B^{spread[1]:z.2f} for n rows in B bins). Bins hide some of an error too: with 5 bins, and however many "
            f"rows, the ECE of the model that is off by {off['truth'].values[0]:.4f} tends to "
            f"{off['limit'].sel(n_bins=5).item():.4f}. Three classes run out of rows sooner: "
            f"{_three_classes(summarise(found['three']))}.",
        ]
        for part in ("estimates", "three"):
            whole = summarise(found[part])
            for estimator in whole["estimator"].values:
                lines += ["", f"mean (sd) of the error in cells: {estimator}"]
                for model in whole["model"].values:
                    lines += _block(str(model), whole.sel(estimator=estimator, model=model), estimator == "tree")
        return "\n".join(lines)

    @staticmethod
    def figure(found: Datasets) -> Figure:
        """Draw means over n, and the deviations of a diagram with the true ones, a row for each model."""
        summary, diagrams = summarise(found["estimates"]), found["diagrams"].isel(repeat=0)
        kinds = ("equal width", "equal mass", "tree")
        three = summarise(found["three"])
        figure, axes = plt.subplots(len(MODELS) + 1, 4, figsize=(17, 13), layout="constrained")
        for row, model in zip(axes, MODELS, strict=False):
            own = summary.sel(model=model)
            _draw_means(row[0], own, "equal width", f"model (intercept, slope) = {model}")
            for ax, kind in zip(row[1:], kinds, strict=True):
                _draw_deviations(ax, diagrams, model, kind)
        for ax, model in zip(axes[-1], THREE_CLASSES, strict=False):
            _draw_means(ax, three.sel(model=model), "grid", model)
        for ax in axes[-1, len(THREE_CLASSES) :]:
            ax.set_visible(False)
        for ax in (axes[0, 0], axes[0, 1], axes[-1, 0]):
            ax.legend(fontsize="small")
        return figure


def rates(own: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Return the powers of n and of the number of bins in bias and standard deviation, from ten rows a bin on.

    They are slopes of least squares, of logarithms.
    """
    n, n_bins = (each.values.ravel() for each in xr.broadcast(own["n"], own["n_bins"]))
    kept = n >= 10 * n_bins
    design = np.column_stack([np.ones(kept.sum()), np.log(n[kept]), np.log(n_bins[kept])])

    def slopes(values: Callable[[xr.Dataset], xr.DataArray]) -> np.ndarray:
        target = np.log(values(own).transpose("n", "n_bins").values.ravel()[kept])
        return np.linalg.lstsq(design, target, rcond=None)[0][1:]

    return slopes(lambda each: each["mean"] - each["limit"]), slopes(lambda each: np.sqrt(each["variance"]))


def _block(model: str, own: xr.Dataset, single: bool) -> list[str]:
    """Return the lines of a model, with a column for each number of bins, or a `single` one where none is chosen."""
    own = own.isel(n_bins=[0]) if single else own
    heads = ["leaves"] if single else [f"B = {n_bins}" for n_bins in own["n_bins"].values]
    lines = ["", model, _line("n", heads)]
    for n in own["n"].values:
        at = own.sel(n=n)
        pairs = zip(at["mean"].values, at["variance"].values ** 0.5, strict=True)
        lines.append(_line(str(n), [f"{mean:.4f} ({sd:.4f})" for mean, sd in pairs]))
    known = [name for name in ("limit", "truth") if not own[name].isnull().any()]
    return lines + [_line(name, [f"{value:.4f}" for value in own[name].values]) for name in known]


def _three_classes(three: xr.Dataset) -> str:
    own = three.sel(estimator="grid", n_bins=10, model=next(iter(THREE_CLASSES)))
    means = [f"{own['mean'].sel(n=n).item():.3f} with {n} rows" for n in own["n"].values[[0, -1]]]
    return f"in a grid of ten the error of a calibrated model is {' and '.join(means)}"


def _line(head: str, cells: list[str]) -> str:
    return f"{head:>7}" + "".join(f"{cell:>18}" for cell in cells)


def _draw_means(ax: Any, summary: xr.Dataset, cells: str, title: str) -> None:
    """Draw means over n in cells of a kind, for each number of bins, and those in the leaves of a tree."""
    own = summary.sel(estimator=cells)
    for color, n_bins in enumerate(own["n_bins"].values):
        at = own.sel(n_bins=n_bins)
        label = f"{cells}, {n_bins} bins" if cells != "grid" else f"grid of {n_bins}"
        ax.errorbar(at["n"], at["mean"], at["variance"] ** 0.5, color=f"C{color}", label=label)
        if not at["limit"].isnull().any():
            ax.axhline(at["limit"].values.ravel()[0], color=f"C{color}", linestyle=":", linewidth=1)
    tree = summary.sel(estimator="tree").isel(n_bins=0)
    ax.plot(tree["n"], tree["mean"], "--", color="0.5", label="tree")
    ax.axhline(own["truth"].values.ravel()[0], color="black", linewidth=1, label="truth")
    ax.set(xscale="log", xlabel="n", ylabel="error: mean and sd (dotted: limit)", title=title)


def _draw_deviations(ax: Any, diagrams: xr.Dataset, model: str, kind: str) -> None:
    kept = (diagrams["model"] == model) & (diagrams["binning"] == kind)
    draw_deviations(ax, diagrams.isel(cell=kept.values), f"{kind}, n = 10 000")
    ax.plot(diagrams["grid"], diagrams["true_deviation"].sel(of=model), color="C0", linewidth=1, label="true")
    ax.set(xlim=(0, 1), xlabel="prediction for the class -1")
