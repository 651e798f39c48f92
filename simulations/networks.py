"""Diagrams and errors of networks through several lenses and binnings (Vaicenavicius et al. 2019).

Figure 1 shows groups of classes in the simplex, Figure 4 the top label, and Appendix D the errors of several networks:
of any predictions file, or of two networks that are made here, of which one is right.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias, final

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import calibstat as cs
from calibstat.generators import DirichletPredictions, SyntheticModel, TemperatureShift
from simulations.diagrams import MANY_CELLS, draw_deviations
from simulations.frame import Datasets, Plan, Repeats, Scale, Study, option, small_cells_on_purpose
from simulations.predictions import PredictionsFile

MADE: dict[str, SyntheticModel] = {
    "made here, too bold": DirichletPredictions([0.1] * 10, TemperatureShift(1.5)),
    "made here, right": DirichletPredictions([0.1] * 10),
}
MADE_ROWS, LEVEL = 10_000, 0.05
CONFIDENCES = (0.3, 0.6, 0.9, 0.99, 0.999, 0.9999)  # ticks on a logit axis
TREE = "tree"  # the authors' data-dependent cells, with the least size of their program
ONE: dict[str, cs.Binning] = {
    "10 equal widths": cs.EqualWidth(10),
    "15 equal masses": cs.EqualMass(15),
    TREE: cs.VarianceTree(100),
}
SEVERAL: dict[str, cs.Binning] = {
    "grid of 5": cs.SimplexGrid(5),
    "grid of 10": cs.SimplexGrid(10),
    TREE: cs.VarianceTree(100),
}
SHOWN_SHARE = 0.001  # of the rows: cells with fewer may lie beyond the picture
TOP, GROUPS = "top label", "groups"
Groups: TypeAlias = tuple[tuple[int, ...], ...]
World: TypeAlias = SyntheticModel | PredictionsFile


def default_groups(n_classes: int) -> Groups:
    """Return three groups of neighbours, the larger last: of ten classes those of Figure 1."""
    ends = [n_classes * k // 3 for k in range(4)]
    return tuple(tuple(range(*pair)) for pair in pairwise(ends))


def read_groups(given: Sequence[str] | None) -> Groups | None:
    """Return what ``--groups 0,1,2 --groups 3,4,5`` names: places of columns, counted from 0."""
    if given is None:
        return None
    try:
        groups = tuple(tuple(int(place) for place in each.split(",")) for each in given)
    except ValueError:
        raise ValueError(
            f"--groups is {given}: name places of columns, such as --groups 0,1,2 --groups 3,4,5"
        ) from None
    if len(groups) not in (3, 4):
        raise ValueError(f"--groups names {len(groups)} groups, but a simplex diagram shows 3 or 4.")
    return groups


def lenses_of(predictions: cs.Predictions, groups: Groups | None) -> dict[str, cs.Lens]:
    """Return the lenses for so many classes: groups if there are more than four of them, or if they are named."""
    n_classes = predictions.n_classes
    found: dict[str, cs.Lens] = {"canonical": cs.Canonical(), TOP: cs.TopLabel()}
    if n_classes > 2:
        found["top two"] = cs.TopK(2)
    if n_classes > 4 or groups is not None:
        labels = predictions.classes
        chosen = default_groups(n_classes) if groups is None else groups
        wrong = sorted({place for group in chosen for place in group if not 0 <= place < n_classes})
        if wrong:
            raise ValueError(f"--groups names the place {wrong[0]}, but there are {n_classes} columns, from 0 on.")
        found[GROUPS] = cs.Partition([[labels[place] for place in group] for group in chosen])
    return found


@dataclass(frozen=True)
class Network:
    """Errors and diagrams of the predictions of one network.

    Parameters
    ----------
    name : str
    world : SyntheticModel or PredictionsFile
    groups : tuple of tuples of int, optional
        Places of classes.
    n_resamples : int
    """

    name: str
    world: World
    groups: Groups | None
    n_resamples: int

    def __call__(self, rng: np.random.Generator) -> xr.Dataset:
        """Return errors with p-values, one-dimensional diagrams, and simplex diagrams, where there are any."""
        given = isinstance(self.world, PredictionsFile)
        sample = self.world.sample() if given else self.world.sample(MADE_ROWS, rng)
        lenses = lenses_of(sample.predictions, self.groups)
        with small_cells_on_purpose():
            found = self._errors(sample, lenses, rng).merge(self._diagrams(sample, rng))
        for kind, cells in self._simplices(sample, lenses, rng):
            found = found.merge(cells.rename({each: f"{kind}: {each}" for each in (*cells.data_vars, "cell", "label")}))
        right = np.mean(sample.predictions.chances.argmax(axis=1) == sample.outcomes)
        return found.assign(name=self.name, n=len(sample), accuracy=right, true_error=self._true_error())

    def _true_error(self) -> float:
        """Return the canonical expected miscalibration, which is known of what is made here."""
        if isinstance(self.world, PredictionsFile):
            return np.nan
        return float(self.world.truth(cs.ExpectedMiscalibration(cs.UniqueValues()), n_samples=10**5, rng=0))

    def _errors(self, sample: cs.Sample, lenses: dict[str, cs.Lens], rng: np.random.Generator) -> xr.Dataset:
        """Return the expected miscalibration (total variation) through each lens in cells of each kind."""
        null, found = cs.Consistency(self.n_resamples), []
        for name, lens in lenses.items():
            for kind, binning in (ONE if lens(sample).predictions.n_classes == 2 else SEVERAL).items():
                tested = cs.calibration_test(sample, lens | cs.ExpectedMiscalibration(binning), null=null, rng=rng)
                values = {"error": tested.statistic, "noise": tested.null_mean, "pvalue": tested.pvalue}
                found.append(xr.Dataset(values | {"lens": name, "cells": kind}))
        return xr.concat(found, "question")

    @staticmethod
    def _diagrams(sample: cs.Sample, rng: np.random.Generator) -> xr.Dataset:
        """Return Figure 4: the cells of the top label, of each kind."""
        found = []
        for name, binning in ONE.items():
            display = cs.ReliabilityDisplay.compute(sample, binning, lens=cs.TopLabel(), coverage=0.9, rng=rng)
            own = {
                "mean_prediction": display.mean_prediction,
                "deviation": display.deviation,
                "low": display.low,
                "high": display.high,
                "proportion": display.count / display.count.sum(),
                "beyond": display.beyond,
                "binning": np.array([name] * len(display.count)),
            }
            found.append(xr.Dataset({key: ("cell", values) for key, values in own.items()}))
        return xr.concat(found, "cell")

    def _simplices(
        self, sample: cs.Sample, lenses: dict[str, cs.Lens], rng: np.random.Generator
    ) -> Iterator[tuple[str, xr.Dataset]]:
        """Yield Figure 1: the cells of groups of classes, or of all where there are three or four, of each kind."""
        lens = lenses.get(GROUPS, cs.Canonical())
        if lens(sample).predictions.n_classes not in (3, 4):
            return
        for kind, binning in SEVERAL.items():
            display = cs.SimplexDisplay.compute(
                sample, binning, lens=lens, n_resamples=max(self.n_resamples, 199), rng=rng
            )
            labels = [str(each) for each in display.labels]
            yield kind, display.cells.assign_coords(label=np.array(labels))


@final
@dataclass(frozen=True)
class Networks(Study):
    """Figures 1 and 4 and Appendix D of Vaicenavicius et al. (2019)."""

    predictions: str | None = option("FILE", "predictions of one or more networks")
    label: str | None = option("COL", "the column of what happened in that file")
    models: list[str] | None = option(
        "COL",
        "columns of a network: 'prob_*', or a,b,c, or an array of an NPZ file; again for another",
        action="append",
    )
    groups: list[str] | None = option(
        "PLACES", "classes that belong together, by the places of their columns: 0,1,2; again for each", action="append"
    )

    plan = Plan(
        aim="what diagrams and errors tell of the calibration of networks, and how much that depends on lens and cells",
        mechanisms=f"a predictions file; without one {MADE_ROWS} predictions for ten classes of two networks that are "
        "made here, one of which is too bold (temperature 1.5), one right",
        estimands="the expected miscalibration (total variation) through each lens",
        methods="cells of equal width, of equal mass and of a tree, and triangles of a grid for several classes; all "
        "classes, the top label, the top two, and groups of classes; consistency resampling",
        performance="errors beside what noise alone gives, p-values; deviations beyond noise in diagrams",
    )

    def parts(self, scale: Scale) -> dict[str, Repeats]:
        """Look at each network."""
        groups, n_resamples = read_groups(self.groups), scale.pick(199, 999, 9999)
        networks: dict[str, World] = dict(MADE)
        if self.predictions is not None:
            if self.label is None or not self.models:
                raise ValueError("--predictions needs --label and --models")
            networks = {
                each: PredictionsFile(self.predictions, self.label, tuple(each.split(","))) for each in self.models
            }
        for world in networks.values():  # what is wrong in a file is said before the work
            if isinstance(world, PredictionsFile):
                lenses_of(world.sample().predictions, groups)
        return {
            f"network {place:02}": Repeats(Network(name, world, groups, n_resamples))
            for place, (name, world) in enumerate(networks.items(), 1)
        }

    @staticmethod
    def text(found: Datasets) -> str:
        """Say of each network what its top label does, then write the errors of each."""
        networks = [each.isel(repeat=0) for each in found.values()]
        lines = [_answer(each) for each in networks]
        for each in networks:
            lines += ["", *_table(each)]
        return "\n".join(lines)

    @staticmethod
    def figure(found: Datasets) -> Figure:
        """Draw for each network the top label in cells of each kind, groups of classes below, and all errors."""
        networks = [each.isel(repeat=0) for each in found.values()]
        rows = [1 + bool(_kinds(each)) for each in networks]
        figure = plt.figure(figsize=(16, 0.6 + 4 * sum(rows)), layout="constrained")
        parts = figure.subfigures(len(networks), 1, height_ratios=rows, squeeze=False)[:, 0]
        for part, each in zip(parts, networks, strict=True):
            _draw(part, each)
        return figure


def _kinds(each: xr.Dataset) -> list[str]:
    return [kind for kind in SEVERAL if f"{kind}: proportion" in each]


def _simplex(each: xr.Dataset, kind: str) -> cs.SimplexDisplay:
    """Return the diagram of a kind of cells from what is stored."""
    stored = [name for name in each.variables if str(name).startswith(f"{kind}: ")]
    cells = each[stored].rename({name: str(name).removeprefix(f"{kind}: ") for name in (*stored, f"{kind}: cell")})
    cells["outside"] = cells["outside"].astype(bool)
    return cs.SimplexDisplay(cells, binning=SEVERAL[kind], coverage=0.9, n=int(each["n"]))


def _answer(each: xr.Dataset) -> str:
    tops = each.isel(question=(each["lens"] == TOP).values)
    rejected = int((tops["pvalue"] <= LEVEL).sum())
    return (
        f"{each['name'].item()} ({each['n'].item()} rows, {each['accuracy'].item():.1%} right): the error of the top "
        f"label is {tops['error'].min().item():.4f} to {tops['error'].max().item():.4f}, by the kind of cells; noise "
        f"alone gives {tops['noise'].min().item():.4f} to {tops['noise'].max().item():.4f}. Calibration is rejected at "
        f"{LEVEL:.0%} in {rejected} of {tops.sizes['question']} kinds of cells."
    )


def _table(each: xr.Dataset) -> list[str]:
    lines = [f"{each['name'].item()}: expected miscalibration (total variation), what noise alone gives, p-value"]
    for place in range(each.sizes["question"]):
        at = each.isel(question=place)
        values = f"{at['error'].item():>10.4f}{at['noise'].item():>10.4f}{at['pvalue'].item():>9.3g}"
        lines.append(f"{at['lens'].item():12}{at['cells'].item():18}{values}")
    if each["true_error"].notnull():
        lines.append(f"{'canonical':12}{'true error':18}{each['true_error'].item():>10.4f}")
    for kind in _kinds(each):
        outside, cells = int(each[f"{kind}: outside"].sum()), each.sizes[f"{kind}: cell"]
        lines.append(f"simplex diagram, {kind}: {outside} of {cells} arrows longer than noise")
    return lines


def _draw(part: Any, each: xr.Dataset) -> None:
    """Draw one network, with one legend for all its diagrams."""
    kinds = _kinds(each)
    below = [[*(_place(kind) for kind in kinds), "errors"]] if kinds else []
    part.suptitle(each["name"].item(), weight="bold")
    axes = part.subplot_mosaic([[*ONE, "errors"], *below])
    for name in ONE:
        _draw_top(axes[name], each, name)
    handles = list(zip(*axes[name].get_legend_handles_labels(), strict=True))
    for kind in kinds:
        ax = axes[_place(kind)]
        _simplex(each, kind).plot(ax, name=f"groups of classes, {kind}")
        own = ax.get_legend()
        own.remove()
        handles += [(handle, text.get_text()) for handle, text in zip(own.legend_handles, own.get_texts(), strict=True)]
    _draw_errors(axes["errors"], each)
    named = {label: handle for handle, label in handles}
    part.legend(named.values(), named, loc="outside lower center", ncols=len(named))


def _place(kind: str) -> str:
    return f"simplex, {kind}"


def _draw_top(ax: Any, each: xr.Dataset, name: str) -> None:
    cells = each.isel(cell=(each["binning"] == name).values)
    draw_deviations(ax, cells, f"top label, {name}")
    many = cells.isel(cell=(cells["proportion"] >= SHOWN_SHARE).values)  # a cell of a row or two does not set the scale
    highest = 1.3 * max(float(np.abs(many[key]).max()) for key in ("deviation", "low", "high"))
    ax.set_ylim(-highest, highest)
    crowded = float(cells["proportion"].where(cells["mean_prediction"] > 0.9).sum()) > 0.5
    below = ax.twinx()
    wide = 4 if cells.sizes["cell"] < MANY_CELLS else 1
    below.vlines(cells["mean_prediction"], 0, cells["proportion"], color="C0", linewidth=wide, alpha=0.35)
    below.set(ylim=(0, 10 * cells["proportion"].max().item()), yticks=[])
    ax.set(xlabel="confidence (blue: share of rows)")
    if crowded:
        ax.set_xscale("logit")
        ticks = [tick for tick in CONFIDENCES if tick > cells["mean_prediction"].min()]
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks], rotation=45)
        ax.minorticks_off()
    else:
        ax.set_xlim(0, 1.02)


def _draw_errors(ax: Any, each: xr.Dataset) -> None:
    """Draw Appendix D: the error of each question beside what noise alone gives."""
    rows = -np.arange(each.sizes["question"])
    rejected = (each["pvalue"] <= LEVEL).values
    ax.barh(rows, each["noise"], color="#c9d6e3", height=0.6, label="noise alone")
    for kept, color, label in ((rejected, "#c8501e", "error, p at most 5 %"), (~rejected, "#333333", "error")):
        ax.plot(each["error"].values[kept], rows[kept], "o", color=color, label=label)
    names = [f"{lens}, {kind}" for lens, kind in zip(each["lens"].values, each["cells"].values, strict=True)]
    ax.set(yticks=rows, yticklabels=names, xlabel="expected miscalibration", title="all errors")
    ax.set_xlim(left=0)
    ax.set_ylim(rows[-1] - 2.2, 0.7)
    ax.legend(fontsize="small", loc="lower right")
