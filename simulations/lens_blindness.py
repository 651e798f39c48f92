"""What each lens sees: the power of a test through every lens, against every kind of error.

The errors through a lens may be zero where the model is wrong (Vaicenavicius et al. 2019, Example 1): then no number of
rows helps. The same test is made through each lens, so that differences in power are those of the lens.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import calibstat as cs
from calibstat import Canonical, ClassWise, ExpectedMiscalibration, Partition, Sweep, TopK, TopLabel, VarianceTree
from calibstat.generators import (
    DirichletPredictions,
    MatrixMap,
    PairSwap,
    SyntheticModel,
    TemperatureShift,
    VariableMiscalibration,
    vaicenavicius_example_1,
)
from simulations.frame import SEED, Datasets, Plan, Repeats, Scale, Study

LEVEL, N_RESAMPLES = 0.05, 99
THREE = [1, 1, 1]


def second_to_last(rows: Any) -> Any:
    """Bring the two smaller probabilities halfway to their mean; the largest is right."""
    order = np.argsort(-rows, axis=1)
    ranked = np.take_along_axis(rows, order, axis=1)
    ranked[:, 1:] = 0.5 * ranked[:, 1:] + 0.25 * ranked[:, 1:].sum(axis=1, keepdims=True)
    moved = np.empty_like(ranked)
    np.put_along_axis(moved, order, ranked, axis=1)
    return moved


CLASSES: dict[str, SyntheticModel] = {
    "none": DirichletPredictions(THREE),
    "too bold": DirichletPredictions(THREE, TemperatureShift(1.3)),
    "one class too rare": DirichletPredictions(THREE, MatrixMap(np.eye(3), [0.4, 0, 0])),
    "second best too sure": DirichletPredictions(THREE, second_to_last),
    "two classes traded": DirichletPredictions(THREE, PairSwap(0.6)),
    "cancels in every part": vaicenavicius_example_1(),
}
VARIABLE: dict[str, SyntheticModel] = {"over a variable": VariableMiscalibration(0.0, 0.08)}
LENSES: dict[str, cs.Lens] = {
    "canonical": Canonical(),
    "top label": TopLabel(),
    "top two": TopK(2),
    "class 0": ClassWise(0),
    "class 0 or 1": Partition([[0, 1], [2]]),
}
STATISTIC = ExpectedMiscalibration(VarianceTree(100))
GIVEN = "given the variable"
OF_TWO = ("canonical", "top label", "class 0", GIVEN)  # those that apply to two classes and a variable


@dataclass(frozen=True)
class TrueErrors:
    """The true expected calibration error of worlds through every lens; some are known as upper bounds only."""

    errors: tuple[str, ...] = (*CLASSES, *VARIABLE)

    def __call__(self, rng: np.random.Generator) -> xr.Dataset:  # noqa: ARG002 (they are computed)
        """Return them, NaN where a lens does not apply."""
        lenses, worlds = LENSES | {GIVEN: cs.Given("v")}, {name: (CLASSES | VARIABLE)[name] for name in self.errors}
        value = np.full((len(worlds), len(lenses)), np.nan)
        bound = np.zeros(value.shape, dtype=bool)
        for row, (name, world) in enumerate(worlds.items()):
            for column, (seen, lens) in enumerate(lenses.items()):
                if seen in (OF_TWO if name in VARIABLE else LENSES):
                    truth = world.truth(lens | cs.ECE())
                    value[row, column], bound[row, column] = float(truth), truth.upper_bound
        where = ("error", "lens")
        return xr.Dataset({"value": (where, value), "bound": (where, bound)}, {"error": [*worlds], "lens": [*lenses]})


@final
@dataclass(frozen=True)
class LensBlindness(Study):
    """A matrix of lenses and errors."""

    plan = Plan(
        aim="which lens sees which kind of error, and how well",
        mechanisms="three classes with five kinds of error or none; two classes with an error over a variable",
        estimands="the true expected calibration error through each lens, zero where the lens is blind",
        methods=f"the exact test of the error in the leaves of a tree, through each lens, at {LEVEL:.0%}",
        performance="power, which is the size where the true error is zero, with its Monte Carlo standard error",
    )

    def parts(self, scale: Scale) -> dict[str, Sweep | Repeats]:
        """Test every world through every lens."""
        null = cs.Consistency(N_RESAMPLES)
        shared: dict[str, Any] = {
            "n": scale.pick([1000], [300, 1000, 3000], [300, 1000, 3000, 10_000]),
            "n_repeats": scale.pick(100, 400, 2000),
        }
        tests = {name: (lens | STATISTIC, null) for name, lens in LENSES.items()}
        tests_of_two = {name: tests[name] for name in OF_TWO if name != GIVEN}
        given = {GIVEN: (cs.Given("v") | STATISTIC, null)}
        return {
            "classes": Sweep(CLASSES, tests=tests, rng=SEED, **shared),
            "variable": Sweep(VARIABLE, tests=tests_of_two | given, rng=SEED + 1, **shared),
            "truths": Repeats(TrueErrors()),
        }

    @staticmethod
    def text(found: Datasets) -> str:
        """Count the blind spots, then write a matrix for each number of rows."""
        power, truths = matrix_of_power(found), found["truths"].isel(repeat=0)
        truth, wrong = truths["value"], power["error"].values != "none"
        blind = (truth.isel(error=wrong) < 1e-9).sum().item()
        asked = truth.isel(error=wrong).notnull().sum().item()
        most = power.sel(n=power["n"].max())
        seen = [str(error) for error in most["error"].values if most.sel(error=error, lens="canonical") > 0.5]
        lines = [
            f"Of {asked} pairs of a lens and an error {blind} are blind: the true error is zero through the lens, and "
            f"the test keeps its level. With {most['n'].item()} rows the canonical lens finds more than half of: "
            f"{', '.join(seen)}. An error over a variable is seen through that variable alone.",
        ]
        for n in power["n"].values:
            lines += ["", f"n = {n}: power in % (true error)", ""]
            lines.append(f"{'':24}" + "".join(f"{lens:>20}" for lens in power["lens"].values))
            for error in power["error"].values:
                at = {"error": error, "lens": power["lens"]}
                own = truths.sel(at)
                known = zip(power.sel(n=n).sel(at).values, own["value"].values, own["bound"].values, strict=True)
                lines.append(f"{error:24}" + "".join(f"{_cell(*each):>20}" for each in known))
        repeats = found["classes"].sizes["repeat"]
        lines += ["", f"{repeats} repeats: Monte Carlo standard errors of at most {50 / np.sqrt(repeats):.1f} points"]
        lines.append("<= before a true error: it is known to be no larger, not exactly")
        return "\n".join(lines)

    @staticmethod
    def figure(found: Datasets) -> Figure:
        """Draw the matrix of the largest number of rows; blind spots are framed."""
        power, truth = matrix_of_power(found), found["truths"]["value"].isel(repeat=0)
        most = power.sel(n=power["n"].max()).transpose("error", "lens")
        figure, ax = plt.subplots(figsize=(8.5, 5), layout="constrained")
        image = ax.imshow(100 * most, vmin=0, vmax=100, cmap="Blues", aspect="auto")
        for (row, column), rate in np.ndenumerate(most.values):
            if np.isfinite(rate):
                color = "white" if rate > 0.6 else "black"
                ax.text(column, row, f"{100 * rate:.0f}", ha="center", va="center", color=color)
            if truth.transpose("error", "lens").values[row, column] < 1e-9:
                ax.add_patch(plt.Rectangle((column - 0.46, row - 0.46), 0.92, 0.92, fill=False, edgecolor="C3"))
        ax.set_xticks(range(most.sizes["lens"]), most["lens"].values, rotation=30, ha="right")
        ax.set_yticks(range(most.sizes["error"]), most["error"].values)
        ax.set(title=f"power in %, n = {most['n'].item()}; red: the true error is zero")
        figure.colorbar(image, ax=ax, label="power, %")
        return figure


def matrix_of_power(found: Datasets) -> xr.DataArray:
    """Return rejection rates (error, lens, n); NaN where a lens does not apply."""
    pvalues = [found[name]["pvalue"].isel(n_bins=0) for name in ("classes", "variable")]
    rates = [(each.rename(model="error", test="lens") <= LEVEL + 1e-12).mean("repeat") for each in pvalues]
    return xr.concat(rates, "error", join="outer").sel(lens=[*LENSES, GIVEN], error=[*CLASSES, *VARIABLE])


def _cell(rate: float, true: float, bound: bool) -> str:
    return "" if np.isnan(rate) else f"{100 * rate:.0f} ({'<= ' if bound else ''}{true:.3f})"
