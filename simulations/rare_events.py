"""A forest that predicts a rare event, after Rosenberg's workshop; and ten rows of a blog whose number misleads.

The workshop judges a random forest by its Brier score and its diagram, and calibrates it. Here the patients are made,
so that the chance of every one is known, and with it what each score, part and picture would be without noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from scipy.special import expit, logit, xlogy
from scipy.stats import binom
from sklearn.ensemble import RandomForestClassifier

import calibstat as cs
from calibstat import calibrators
from calibstat.generators import BetaPredictions
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

EDGES = (0, 0.01, 0.02, 0.03, 0.05, 0.1, 0.3, 0.5, 0.75, 1)  # of the workshop
ACCEPTED, LEVEL = 0.95, 0.05
UNCALIBRATED, PLATT, SPLINE = "uncalibrated", "Platt of log-odds", "spline"
PLAIN_LABELS = ", plain labels"  # 0 and 1 instead of Platt's targets
CALIBRATORS: dict[str, calibrators.Calibrator] = {
    PLATT: calibrators.Platt(),
    PLATT + PLAIN_LABELS: calibrators.Platt(smoothing=False),
    "Platt of p": calibrators.Platt(input="score"),
    "Platt of p" + PLAIN_LABELS: calibrators.Platt(input="score", smoothing=False),
    "beta": calibrators.Beta(),
    "isotonic": calibrators.Isotonic(),
    SPLINE: calibrators.Spline(),
}
DRAWN = {UNCALIBRATED: "the forest", PLATT: "after Platt scaling of its log-odds", SPLINE: "after the spline"}
UNITS = {"Brier score": 1e4, "log loss": 1e3}
NEAREST = 1e-4  # to 0 and 1 on the logit axes of the workshop

# The example of the blog: the chance of the event, and whether it happened.
BLOG = cs.Sample([1, 1, 0, 1, 1, 1, 0, 1, 1, 0], [0.61, 0.39, 0.31, 0.76, 0.22, 0.59, 0.92, 0.83, 0.57, 0.41])
THIRDS = cs.ECE(cs.EqualWidth(3))


def patients(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw eight measurements (n, 8) of each patient, and the chance (n,) of the event, which is 8 % on average."""
    x = rng.normal(size=(n, 8))
    odds = x[:, 0] + 0.8 * x[:, 1] * (x[:, 2] > 0) + 0.6 * np.abs(x[:, 3]) + 0.5 * x[:, 4] + 0.3 * x[:, 5]
    return x, expit(odds - 3.7)


def acceptance(mean: Any, count: Any, level: float = ACCEPTED) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest number of events that the workshop accepts in cells of such mean predictions.

    The law of the number is taken to be binomial with the mean prediction as its chance. Cells without rows have NaN.
    """
    return binom.interval(level, np.asarray(count), np.asarray(mean))


def expected_scores(predicted: np.ndarray, chance: np.ndarray) -> tuple[float, float]:
    """Return the Brier score and the log loss that predictions have on average over labels with these chances."""
    brier = np.mean(chance * (1 - predicted) ** 2 + (1 - chance) * predicted**2)
    return float(brier), float(-np.mean(xlogy(chance, predicted) + xlogy(1 - chance, 1 - predicted)))


def accuracy_against_chance(sample: cs.Sample) -> float:
    """Return the blog's number: in each third, how often the thresholded prediction is right against P(event)."""
    right = (sample.predictions.event > 0.5) == (sample.outcomes == 1)
    return float(THIRDS(cs.Sample(right.astype(int), sample.predictions.event)))


def blog_numbers(sample: cs.Sample) -> xr.DataArray:
    """Return the calibration error of a sample by the blog's rule and by two definitions, in thirds."""
    values = {
        "accuracy against P(event), the blog": accuracy_against_chance(sample),
        "events against P(event)": THIRDS(sample),
        "accuracy against confidence": (cs.TopLabel() | THIRDS)(sample),
    }
    return xr.DataArray([float(value) for value in values.values()], {"rule": list(values)}, "rule")


@dataclass(frozen=True)
class Workshop:
    """Grow a forest, calibrate it on few or many rows, and judge it on test rows.

    Parameters
    ----------
    n_grown, n_trees, n_test : int
    n_fit : tuple of int
        Rows for the calibrators; fewer are the first of more.
    n_redraws : int
        Diagrams of a forest that is right, with its labels redrawn.
    """

    n_grown: int
    n_trees: int
    n_fit: tuple[int, ...]
    n_test: int
    n_redraws: int

    def __call__(self, rng: np.random.Generator) -> xr.Dataset:
        """Return scores, parts of the Brier score, p-values, and the cells of a diagram before and after."""
        x, chance = patients(self.n_grown, rng)
        seed = int(rng.integers(2**31))
        forest = RandomForestClassifier(self.n_trees, random_state=seed).fit(x, rng.random(self.n_grown) < chance)
        x, chance = patients(max(self.n_fit), rng)
        to_fit, happened = forest.predict_proba(x)[:, 1], (rng.random(len(x)) < chance).astype(int)
        x, chance = patients(self.n_test, rng)
        claimed, labels = forest.predict_proba(x)[:, 1], (rng.random(len(x)) < chance).astype(int)
        mapped = {(UNCALIBRATED, n): claimed for n in self.n_fit} | {
            (name, n): each.fit(to_fit[:n], happened[:n]).predict_proba(claimed)[:, 1]
            for name, each in CALIBRATORS.items()
            for n in self.n_fit
        }
        names = [UNCALIBRATED, *CALIBRATORS]
        scores = [[expected_scores(mapped[name, n], chance) for n in self.n_fit] for name in names]
        most = max(self.n_fit)
        judged = [self._judged(cs.Sample(labels, mapped[name, most]), rng) for name in names]
        cells = [cells_of(mapped[name, most], labels, chance) for name in DRAWN]
        found = xr.Dataset(
            {"score": (("calibrator", "n_fit", "what"), scores)},
            {"calibrator": names, "n_fit": list(self.n_fit), "what": list(UNITS)},
        )
        found["best"] = "what", list(expected_scores(chance, chance))
        found["events"] = "n_fit", [happened[:n].sum() for n in self.n_fit]
        found = found.merge(xr.concat(judged, "calibrator", coords="minimal")).merge(parts_of(claimed, labels, chance))
        return found.merge(xr.concat(cells, "of").assign_coords(of=list(DRAWN))).assign(
            false_alarm=("bars", false_alarms(claimed, self.n_redraws, rng)),
            bars=["binomial, each cell", "exact, all cells together"],
        )

    def _judged(self, sample: cs.Sample, rng: np.random.Generator) -> xr.Dataset:
        tested = cs.calibration_test(sample, cs.ECE(cs.EqualMass(15)), rng=rng)
        return xr.Dataset({"pvalue": tested.pvalue, "ece": tested.statistic, "auc": float(cs.AUC()(sample))})


def parts_of(claimed: np.ndarray, labels: np.ndarray, chance: np.ndarray) -> xr.Dataset:
    """Return the parts of the Brier score over distinct predictions: as they are, debiased, and without noise.

    Without noise labels are replaced by their chances: what is left is the spread of chances among equal predictions.
    """
    sample, names = cs.Sample(labels, claimed), ["score", "uncertainty", "sharpness", "calibration", "residual"]
    estimated = [each(cs.UniqueValues())(sample) for each in (cs.BrierDecomposition, cs.FerroFricker)]
    level = np.unique(claimed, return_inverse=True)[1]
    size = np.bincount(level)
    mean, base = np.bincount(level, chance) / size, chance.mean()
    true = {
        "score": expected_scores(claimed, chance)[0],
        "uncertainty": base * (1 - base),
        "sharpness": np.mean((mean[level] - base) ** 2),
        "calibration": np.mean((claimed - mean[level]) ** 2),
        "residual": 0.0,
    }
    rows = [[getattr(each, name) for name in names] for each in estimated] + [list(true.values())]
    return xr.Dataset(
        {"part": (("how", "part_of"), rows)}, {"how": ["plug-in", "debiased", "without noise"], "part_of": names}
    )


def cells_of(claimed: np.ndarray, labels: np.ndarray, chance: np.ndarray) -> xr.Dataset:
    """Return the cells of the workshop's diagram with their acceptance intervals, as shares of events."""
    cell, size = np.searchsorted(EDGES[1:-1], claimed, side="right"), len(EDGES) - 1
    count = np.bincount(cell, minlength=size)
    mean, happened, true = (
        np.divide(np.bincount(cell, each, size), count, out=np.full(size, np.nan), where=count > 0)
        for each in (claimed, labels, chance)
    )
    low, high = (ends / np.maximum(count, 1) for ends in acceptance(mean, count))
    values = {"count": count, "mean": mean, "happened": happened, "true": true, "low": low, "high": high}
    return xr.Dataset({name: ("cell", value) for name, value in values.items()})


def false_alarms(claimed: np.ndarray, n_redraws: int, rng: np.random.Generator) -> list[float]:
    """Return the share of diagrams of a forest that is right in which some cell lies outside its interval."""
    drawn = (rng.random((n_redraws, len(claimed))) < claimed).astype(int)
    own = [cells_of(claimed, labels, claimed) for labels in drawn]
    each = [bool(((one["happened"] < one["low"]) | (one["happened"] > one["high"])).any()) for one in own]
    display = cs.ReliabilityDisplay.compute(cs.Sample(drawn[0], claimed), cs.FixedEdges(list(EDGES)), coverage=ACCEPTED)
    deviations = np.array([one["happened"] - one["mean"] for one in own])[:, own[0]["count"].values > 0]
    beyond = (deviations < display.all_low - 1e-12) | (deviations > display.all_high + 1e-12)
    return [float(np.mean(each)), float(beyond.any(axis=1).mean())]


@dataclass(frozen=True)
class Blog:
    """The blog's rule on a model that is right, over the number of rows."""

    n: tuple[int, ...]

    def __call__(self, rng: np.random.Generator) -> xr.Dataset:
        """Return the numbers of one sample; fewer rows are the first of more."""
        sample = BetaPredictions(1, 1).sample(max(self.n), rng)
        with small_cells_on_purpose():
            values = [blog_numbers(sample.take(np.arange(n))) for n in self.n]
        return xr.Dataset({"value": xr.concat(values, "n").assign_coords(n=list(self.n))})


@dataclass(frozen=True)
class TenRows:
    """The ten rows of the blog: its number, two others, and what noise alone would give."""

    n_resamples: int

    def __call__(self, rng: np.random.Generator) -> xr.Dataset:
        """Return numbers and p-value."""
        with small_cells_on_purpose():
            tested = cs.calibration_test(BLOG, THIRDS, null=cs.Consistency(self.n_resamples), rng=rng)
            noise = float(cs.estimate(BLOG, THIRDS, rng=rng).null_mean)
            return xr.Dataset({"value": blog_numbers(BLOG), "pvalue": tested.pvalue, "noise": noise})


@final
@dataclass(frozen=True)
class RareEvents(Study):
    """Rosenberg's workshop, and the example of a blog."""

    plan = Plan(
        aim="what a Brier score, a diagram and a calibrator tell of a forest that predicts a rare event, and whether "
        "the calibration error in a blog's example is one",
        mechanisms="patients with eight measurements, of whom 8 % have the event, with known chances; a random forest "
        "of full trees; ten rows of a blog, and uniform predictions that are right",
        estimands="Brier score and log loss on average over labels, given the chances; parts of the Brier score "
        "without noise; the true share of events in each cell; for the blog a calibration error of 0",
        methods="Platt scaling of log-odds and of the prediction itself, with his targets (noisy labels) and with "
        "labels 0 and 1; beta, isotonic, spline; decomposition over distinct predictions, as it is and debiased; "
        "acceptance intervals of each cell "
        f"({ACCEPTED:.0%}, binomial) and of all cells together; the blog's rule in three cells of equal width",
        performance="excess of the scores over those of the true chances, over the number of calibrating rows; bias of "
        "the parts; share of diagrams of a right forest with a cell outside; mean of the blog's number over n",
    )

    def parts(self, scale: Scale) -> dict[str, Repeats]:
        """Hold the workshop several times, and try the blog's rule."""
        design: tuple[int, int] = scale.pick((3000, 100), (10_000, 500), (10_000, 500))
        workshop = Workshop(*design, (100, 300, 1000, 5000), 20_905, scale.pick(40, 100, 100))
        return {
            "workshop": Repeats(workshop, scale.pick(8, 40, 400)),
            "rule": Repeats(Blog((10, 100, 1000, 10_000)), scale.pick(200, 1000, 10_000), SEED + 1),
            "ten_rows": Repeats(TenRows(scale.pick(9999, 99_999, 999_999))),
        }

    @staticmethod
    def text(found: Datasets) -> str:
        """Say what the parts, the calibrators, the pictures and the blog's number tell."""
        workshop, rule, ten = found["workshop"], found["rule"], found["ten_rows"].isel(repeat=0)
        alarms, parts = mean_and_error(workshop["false_alarm"]), mean_and_error(workshop["part"])
        plain, true = (
            1e4 * parts.mean.sel(part_of="calibration", how=how).item() for how in ("plug-in", "without noise")
        )
        blog = mean_and_error(rule["value"].isel(rule=0, n=-1))
        rejected = (workshop["pvalue"] <= LEVEL).mean("repeat")
        least = excess(workshop).sel(what="log loss").mean("repeat").idxmin("calibrator")
        few, many = int(workshop["n_fit"].min()), int(workshop["n_fit"].max())
        events = workshop["events"].mean("repeat").sel(n_fit=few).item()
        lines = [
            f"Calibration of the forest is rejected in {rejected.sel(calibrator=UNCALIBRATED).item():.0%} of repeats, "
            f"after Platt scaling of its log-odds in {rejected.sel(calibrator=PLATT).item():.0%}, after the spline in "
            f"{rejected.sel(calibrator=SPLINE).item():.0%}. With {few} calibrating rows ({events:.0f} events) the log "
            f"loss is least after {least.sel(n_fit=few).item()}, and with {many} after {least.sel(n_fit=many).item()}.",
            f"The calibration part of the Brier score over distinct predictions is {plain:.1f} (times 10 000), of "
            f"which {plain - true:.1f} are noise. Where each cell of a diagram has its own interval, "
            f"{alarms.mean[0].item():.0%} of the diagrams of a forest that is right have a cell outside.",
            f"The blog's number tends to {blog.mean.item():.3f} for a model that is right, so it is no calibration "
            f"error; on its ten rows ({ten['value'][0].item():.3f}) noise alone gives {ten['noise'].item():.3f}, and "
            f"calibration is not rejected (p = {ten['pvalue'].item():.2f}).",
        ]
        tables = (_scores(workshop), _parts(parts), _cells(workshop), _alarms(alarms), _blog(rule, ten))
        return "\n".join([*lines, *(line for table in tables for line in table)])

    @staticmethod
    def figure(found: Datasets) -> Figure:
        """Draw diagrams on logit axes and the parts; excess scores, false alarms, and the blog's number."""
        workshop = found["workshop"]
        figure, axes = plt.subplots(2, 4, figsize=(17, 8.2), layout="constrained")
        first = workshop.isel(repeat=0)
        for ax, (of, title) in zip(axes[0], DRAWN.items(), strict=False):
            _draw_diagram(ax, first.sel(of=of), title)
        axes[0, 0].legend(fontsize="small", loc="lower right")
        _draw_parts(axes[0, 3], workshop)
        for ax, (what, unit) in zip(axes[1], UNITS.items(), strict=False):
            _draw_excess(ax, workshop, what, unit)
        axes[1, 0].legend(fontsize="small")
        _draw_alarms(axes[1, 2], workshop)
        _draw_rule(axes[1, 3], found["rule"])
        return figure


def excess(workshop: xr.Dataset) -> xr.DataArray:
    """Return by how much each score exceeds that of the true chances."""
    return workshop["score"] - workshop["best"]


def _scores(workshop: xr.Dataset) -> list[str]:
    events = workshop["events"].mean("repeat").values
    heads = [f"{n} rows" for n in workshop["n_fit"].values]
    lines = []
    for what, unit in UNITS.items():
        lines += [
            "",
            f"excess of the {what} over that of the true chances, times {unit:.0f} (Monte Carlo standard error)",
        ]
        lines.append(_line("calibrating rows", heads, 15))
        lines.append(_line("events among them", [f"{each:.0f}" for each in events], 15))
        own = mean_and_error(unit * excess(workshop).sel(what=what))
        for name in workshop["calibrator"].values:
            at = zip(own.mean.sel(calibrator=name).values, own.error.sel(calibrator=name).values, strict=True)
            lines.append(
                _line(name, [bracketed(mean, se, ".1f") if np.isfinite(mean) else "inf" for mean, se in at], 15)
            )
    most = workshop["n_fit"].values.max()
    lines += ["", f"with {most} calibrating rows", _line("", ["ECE", "rejected at 5 %", "AUC"], 18)]
    ece, auc = mean_and_error(workshop["ece"]), mean_and_error(workshop["auc"])
    for name in workshop["calibrator"].values:
        at = {"calibrator": name}
        rejected = (workshop["pvalue"].sel(at) <= LEVEL).mean().item()
        cells = [bracketed(each.mean.sel(at).item(), each.error.sel(at).item(), ".4f") for each in (ece, auc)]
        lines.append(_line(name, [cells[0], f"{rejected:.0%}", cells[1]], 18))
    return lines


def _parts(parts: Any) -> list[str]:
    lines = [
        "",
        "parts of the Brier score of the forest over distinct predictions, times 10 000 (Monte Carlo standard error)",
    ]
    hows = parts.mean["how"].values
    lines.append(_line("", list(hows), 18))
    for name in parts.mean["part_of"].values:
        at = [{"how": how, "part_of": name} for how in hows]
        lines.append(
            _line(
                name,
                [bracketed(1e4 * parts.mean.sel(a).item(), 1e4 * parts.error.sel(a).item(), "z.1f") for a in at],
                18,
            )
        )
    return lines


def _cells(workshop: xr.Dataset) -> list[str]:
    first = workshop.isel(repeat=0)
    lines = []
    for of in first["of"].values:
        own = first.sel(of=of)
        lines += [
            "",
            f"cells of the first repeat, {of}, %",
            _line("", ["claimed", "happened", "accepted", "true", "rows"], 14),
        ]
        for cell in range(own.sizes["cell"]):
            at = own.isel(cell=cell)
            if at["count"] == 0:
                continue
            mean, happened, true, low, high = (
                100 * at[name].item() for name in ("mean", "happened", "true", "low", "high")
            )
            mark = "" if low <= happened <= high else " *"
            name = f"{100 * EDGES[cell]:g} to {100 * EDGES[cell + 1]:g}"
            cells = [
                f"{mean:.2f}",
                f"{happened:.2f}{mark:2}",
                f"{low:.2f} {high:.2f}",
                f"{true:.2f}",
                f"{at['count'].item():.0f}",
            ]
            lines.append(_line(name, cells, 14))
    return lines


def _alarms(alarms: Any) -> list[str]:
    lines = ["", "share of diagrams of a right forest with a cell outside, % (Monte Carlo standard error)"]
    for name in alarms.mean["bars"].values:
        mean, error = (100 * each.sel(bars=name).item() for each in (alarms.mean, alarms.error))
        lines.append(_line(name, [bracketed(mean, error, ".1f")], 14))
    return lines


def _blog(rule: xr.Dataset, ten: xr.Dataset) -> list[str]:
    own = mean_and_error(rule["value"])
    heads = ["ten rows", *(f"n = {n}" for n in rule["n"].values)]
    lines = [
        "",
        "the blog's ten rows, and the mean of each number for a model that is right (Monte Carlo standard error)",
    ]
    lines.append(f"{'':36}" + "".join(f"{head:>16}" for head in heads))
    for name in rule["rule"].values:
        at = {"rule": name}
        pairs = zip(own.mean.sel(at).values, own.error.sel(at).values, strict=True)
        cells = [f"{ten['value'].sel(at).item():.3f}", *(bracketed(mean, se, ".4f") for mean, se in pairs)]
        lines.append(f"{name:36}" + "".join(f"{cell:>16}" for cell in cells))
    return lines


def _line(head: str, cells: list[str], width: int) -> str:
    return f"{head:34}" + "".join(f"{cell:>{width}}" for cell in cells)


def _on_axis(shares: Any) -> Any:
    return logit(np.clip(shares, NEAREST, 1 - NEAREST))


def _draw_diagram(ax: Any, own: xr.Dataset, title: str) -> None:
    own = own.isel(cell=(own["count"] > 0).values)
    x, outside = _on_axis(own["mean"]), ((own["happened"] < own["low"]) | (own["happened"] > own["high"])).values
    ax.axline((0, 0), slope=1, color="0.6", linewidth=0.8)
    ax.vlines(x, _on_axis(own["low"]), _on_axis(own["high"]), color="#c9d6e3", linewidth=7, label="accepted, 95 %")
    ax.plot(x, _on_axis(own["true"]), "_", color="black", markersize=14, label="true share")
    for kept, color, label in ((~outside, "#333333", "seen"), (outside, "#c8501e", "seen, outside")):
        ax.plot(x[kept], _on_axis(own["happened"])[kept], "o", color=color, markersize=5, label=label)
    ticks = np.array([0.0001, 0.001, 0.01, 0.1, 0.3, 0.6, 0.9])
    ends = logit([0.00007, 0.95])
    ax.set(
        xticks=logit(ticks),
        xticklabels=[f"{tick:g}" for tick in ticks],
        yticks=logit(ticks),
        yticklabels=[f"{tick:g}" for tick in ticks],
        xlim=ends,
        ylim=ends,
    )
    ax.set(xlabel="mean prediction (logit axis)", ylabel="share of events (logit axis)", title=title)


def _draw_excess(ax: Any, workshop: xr.Dataset, what: str, unit: float) -> None:
    own, infinite = mean_and_error(unit * excess(workshop).sel(what=what)), list[str]()
    for name in workshop["calibrator"].values:
        mean, error = own.mean.sel(calibrator=name), own.error.sel(calibrator=name)
        if not np.isfinite(mean).all():
            infinite.append(str(name))
        else:
            ax.errorbar(own.mean["n_fit"], mean, 2 * error, label=name, **_look(name))
    ax.set(
        xscale="log", xlabel="calibrating rows", ylabel=f"excess over the true chances, times {unit:.0f}", title=what
    )
    ax.set_xticks(own.mean["n_fit"].values, own.mean["n_fit"].values)
    ax.set_ylim(bottom=0)
    ax.minorticks_off()
    if infinite:
        ax.text(0.98, 0.98, "infinite: " + ", ".join(infinite), transform=ax.transAxes, ha="right", va="top")


def _look(name: str) -> dict[str, Any]:
    """Return colour and line of a calibrator; dashed with plain labels."""
    if name == UNCALIBRATED:
        return {"color": "black", "linestyle": ":"}
    colors = {each.removesuffix(PLAIN_LABELS): None for each in CALIBRATORS}
    place = list(colors).index(name.removesuffix(PLAIN_LABELS))
    return {"color": f"C{place}", "marker": "o", "linestyle": "--" if name.endswith(PLAIN_LABELS) else "-"}


def _draw_alarms(ax: Any, workshop: xr.Dataset) -> None:
    alarms = mean_and_error(workshop["false_alarm"])
    names = [str(each).replace(", ", ",\n") for each in alarms.mean["bars"].values]
    ax.bar(names, 100 * alarms.mean, 0.5, yerr=200 * alarms.error, color=["C1", "C0"])
    ax.axhline(100 * LEVEL, color="0.3", linestyle=":")
    ax.set(ylabel="diagrams with a cell outside, %", title="a forest that is right")


def _draw_parts(ax: Any, workshop: xr.Dataset) -> None:
    parts = mean_and_error(workshop["part"].sel(part_of=["sharpness", "calibration"]))
    for shift, (how, color) in enumerate(zip(parts.mean["how"].values, ("C0", "C2", "0.3"), strict=True)):
        at = np.arange(2) + 0.26 * (shift - 1)
        ax.bar(at, parts.mean.sel(how=how), 0.24, yerr=2 * parts.error.sel(how=how), color=color, label=how)
    ax.set(xticks=[0, 1], xticklabels=["sharpness", "calibration"], title="parts of the Brier score of the forest")
    ax.legend(fontsize="small")


def _draw_rule(ax: Any, rule: xr.Dataset) -> None:
    own = mean_and_error(rule["value"])
    for color, name in enumerate(rule["rule"].values):
        at = {"rule": name}
        ax.errorbar(own.mean["n"], own.mean.sel(at), 2 * own.error.sel(at), marker="o", color=f"C{color}", label=name)
    ax.axhline(0, color="0.6", linewidth=0.8)
    ax.set(xscale="log", xlabel="rows", ylabel="mean of the number", title="the blog's rule on a model that is right")
    ax.legend(fontsize="small")
