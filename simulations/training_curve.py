"""Training runs step by step: is a network calibrated at the step of the lowest log loss, at which training stops?

Vaicenavicius et al. (2019), Figure 3, follow five initialisations of LeNet on MNIST, and find that the network of the
lowest log loss is usually rejected. Here small networks are trained on classes whose chances are known, so that the
true error stands beside the estimate, and on scikit-learn's digits. The step is chosen on other rows than those that
judge: p-values hold for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, final

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from scipy.special import softmax
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

import calibstat as cs
from calibstat.generators.base import evaluate, population_of
from simulations.frame import SEED, Datasets, Plan, Repeats, Scale, Study, bracketed

N_CLASSES, N_FEATURES, TRAINED_ROWS, JUDGED_ROWS = 10, 20, 2000, 10_000
DIGITS_TO_TRAIN, DIGITS_TO_CHOOSE = 600, 397  # the other 800 judge
INITIALISATIONS, HIDDEN, RATE, BATCHES = 5, 64, 0.003, 30  # a pass through the rows has so many batches
STEPS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 36, 54, 81)
FEWER_ROWS = (250, 800, 2500)
LEVEL, N_RESAMPLES = 0.05, 199
TOP, WHOLE = "ECE of the top label", "whole prediction"
ESTIMATORS: dict[str, cs.Estimator] = {
    TOP: cs.TopLabel() | cs.ECE(cs.EqualMass(15)),
    WHOLE: cs.ExpectedMiscalibration(cs.VarianceTree(100)),
}
CELLS_OF_A_TRUTH = 15
DIGITS = "digits"


class Rows(NamedTuple):
    """Features and labels to train on, to choose the step and to judge it; features with known chances, or None."""

    train: tuple[np.ndarray, np.ndarray]
    choose: tuple[np.ndarray, np.ndarray]
    judge: tuple[np.ndarray, np.ndarray]
    known: tuple[np.ndarray, np.ndarray] | None


class Source(Protocol):
    """What networks are trained on."""

    def rows(self, rng: np.random.Generator) -> Rows:
        """Draw all rows of a repeat."""


@dataclass(frozen=True)
class GaussianClasses:
    """Ten equally likely classes, each normal around a centre in twenty dimensions; the chances are those of Bayes.

    Parameters
    ----------
    spread : float
        Standard deviation of the centres, of which there is one set; that of the rows about a centre is 1.
    n_known : int
        Rows with known chances, for the true error.
    """

    spread: float
    n_known: int

    def rows(self, rng: np.random.Generator) -> Rows:
        """Draw all rows of a repeat."""
        features, _ = self.draw(self.n_known, rng)
        train, choose, judge = (self.draw(n, rng) for n in (TRAINED_ROWS, JUDGED_ROWS, JUDGED_ROWS))
        return Rows(train, choose, judge, (features, self.chances(features)))

    def draw(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw features (n, 20) and labels (n,)."""
        labels = rng.integers(0, N_CLASSES, n)
        return self.centres[labels] + rng.standard_normal((n, N_FEATURES)), labels

    def chances(self, features: np.ndarray) -> np.ndarray:
        """Return P(Y | X), (n, 10)."""
        return softmax(features @ self.centres.T - 0.5 * (self.centres**2).sum(axis=1), axis=1)

    @property
    def centres(self) -> np.ndarray:
        """The centres (10, 20)."""
        return self.spread * np.random.default_rng(SEED).standard_normal((N_CLASSES, N_FEATURES))


@dataclass(frozen=True)
class Digits:
    """The 1797 images of handwritten digits that scikit-learn ships, dealt anew for each repeat."""

    def rows(self, rng: np.random.Generator) -> Rows:
        """Deal the images."""
        pixels, labels = load_digits(return_X_y=True)
        features = (pixels - pixels.mean()) / pixels.std()
        order = rng.permutation(len(labels))
        dealt = np.split(order, np.cumsum([DIGITS_TO_TRAIN, DIGITS_TO_CHOOSE]))
        train, choose, judge = ((features[each], labels[each]) for each in dealt)
        return Rows(train, choose, judge, None)


SOURCES = {"hard classes": 0.6, "easy classes": 1.0}  # by the spread of their centres


@dataclass(frozen=True)
class Train:
    """Train networks from several initialisations on the same rows, and judge them step by step."""

    source: Source
    initialisations: int = INITIALISATIONS

    def __call__(self, rng: np.random.Generator) -> xr.Dataset:
        """Return what `trajectory` does, with the log loss of the rows that choose, and true errors along run and step.

        ``stopped_pvalue`` is that of the chosen step on the first rows only, along run, rows and estimator.
        """
        rows = self.source.rows(rng)
        runs = [str(number) for number in range(1, self.initialisations + 1)]
        judged: dict[str, dict[int, cs.Sample]] = {}
        loss, truth, error = (np.full((len(runs), len(STEPS)), np.nan) for _ in range(3))
        for row, run in enumerate(runs):
            judged[run] = {}
            for column, (step, network) in enumerate(training(rows.train, int(rng.integers(2**31)))):
                judged[run][step] = sample_of(network, *rows.judge)
                loss[row, column] = cs.LogScore()(sample_of(network, *rows.choose))
                if rows.known is not None:
                    truth[row, column], error[row, column] = true_error(network, *rows.known)
        seed = int(rng.integers(2**31))
        null = cs.Consistency(N_RESAMPLES)
        found = cs.trajectory(judged, ESTIMATORS, null=null, level=LEVEL, rng=seed)
        along = ("run", "step")
        found = found.assign(log_loss=(along, loss), truth=(along, truth), truth_error=(along, error))
        best = found["log_loss"].idxmin("step")
        most = len(rows.judge[1])
        sizes = [n for n in FEWER_ROWS if n < most] + [most]
        stopped = [[judged[run][int(best.sel(run=run))].take(np.arange(n)) for n in sizes] for run in runs]
        pvalues = [
            [[cs.calibration_test(one, e, null=null, rng=seed).pvalue for e in ESTIMATORS.values()] for one in each]
            for each in stopped
        ]
        return found.assign(best=best, stopped_pvalue=(("run", "rows", "estimator"), pvalues)).assign_coords(rows=sizes)


def training(rows: tuple[np.ndarray, np.ndarray], seed: int) -> Iterator[tuple[int, MLPClassifier]]:
    """Train a network, and yield it at each of `STEPS`; a step is one pass through the rows."""
    size = len(rows[1]) // BATCHES
    network = MLPClassifier((HIDDEN,), alpha=0, batch_size=size, learning_rate_init=RATE, random_state=seed)
    for step in range(1, STEPS[-1] + 1):
        network.partial_fit(*rows, classes=np.arange(N_CLASSES))
        if step in STEPS:
            yield step, network


def sample_of(network: MLPClassifier, features: np.ndarray, labels: np.ndarray) -> cs.Sample:
    """Return what the network says of rows, and their labels."""
    return cs.Sample(labels, network.predict_proba(features), labels=list(range(N_CLASSES)))


def true_error(network: MLPClassifier, features: np.ndarray, chances: np.ndarray) -> tuple[float, float]:
    """Return the calibration error of the top label from rows with known chances, and how far off it may be.

    Chances are averaged in cells of equal mass, those of the estimate. What is left of their noise adds to the error,
    by no more than the mean distance of a cell's mean from its expectation.
    """
    said = network.predict_proba(features)
    top = said.argmax(axis=1)
    confidence, right = said.max(axis=1), chances[np.arange(len(top)), top]
    population = population_of(confidence, right)
    value = evaluate(cs.ECE(cs.EqualMass(CELLS_OF_A_TRUTH)), population)
    of_a_cell = np.std(confidence - right) * np.sqrt(CELLS_OF_A_TRUTH / len(top))
    return float(value), float(np.sqrt(2 / np.pi) * of_a_cell)


@final
@dataclass(frozen=True)
class TrainingCurve(Study):
    """Figure 3 of Vaicenavicius et al. (2019)."""

    plan = Plan(
        aim="whether a network is calibrated at the step of the lowest log loss, and how many labels it takes to see",
        mechanisms=f"{N_CLASSES} normal classes in {N_FEATURES} dimensions, far apart or near, {TRAINED_ROWS} rows to "
        f"train, {JUDGED_ROWS} to choose the step and {JUDGED_ROWS} to judge; the 1797 digits of scikit-learn, "
        f"{DIGITS_TO_TRAIN}, {DIGITS_TO_CHOOSE} and 800; networks of one layer of {HIDDEN} units, "
        f"{INITIALISATIONS} initialisations on the same rows",
        estimands="the true calibration error of the top label, from rows with known chances; of digits it is unknown",
        methods="ECE of the top label in 15 cells of equal mass, and the error of the whole prediction in the leaves "
        "of a tree, with exact tests; paper: LeNet on MNIST",
        performance=f"share of runs that are rejected at {LEVEL:.0%} where training stops, over the number of labels, "
        "with Monte Carlo standard errors between repeats; true errors there",
    )

    def parts(self, scale: Scale) -> dict[str, Repeats]:
        """Train on each source."""
        known, repeats = scale.pick(50_000, 100_000, 1_000_000), scale.pick(2, 8, 100)
        sources: dict[str, Source] = {name: GaussianClasses(spread, known) for name, spread in SOURCES.items()}
        each = enumerate((sources | {DIGITS: Digits()}).items())
        return {name: Repeats(Train(source), repeats, SEED + number) for number, (name, source) in each}

    @staticmethod
    def text(found: Datasets) -> str:
        """Say what holds where training stops, for each source and number of labels."""
        rejected = {name: rejections(found[name]) for name in (*SOURCES, DIGITS)}
        few = int(rejected[DIGITS]["rows"][-1])
        errors = " and ".join(_mean(at_the_best(found[name])["truth"], ".4f") for name in SOURCES)
        lines = [
            f"With {JUDGED_ROWS} labels the network of the lowest log loss is rejected by its top label in "
            f"{_shares(rejected, JUDGED_ROWS, TOP)} of runs on hard and easy classes, and by its whole prediction in "
            f"{_shares(rejected, JUDGED_ROWS, WHOLE)}. The digits leave {few} labels, with which these shares are "
            f"{percent(rejected[DIGITS].sel(rows=few, estimator=TOP))} and "
            f"{percent(rejected[DIGITS].sel(rows=few, estimator=WHOLE))}. With as few labels they are "
            f"{_shares(rejected, few, TOP)}, and {_shares(rejected, few, WHOLE)}, on the classes. The true error of "
            f"the top label is {errors} there: what is rejected where training stops depends on the number of labels "
            "and on the lens.",
        ]
        for name, each in rejected.items():
            lines += _of_a_source(name, found[name], each)
        lines += [
            "",
            "In brackets: standard errors between repeats, each with rows of its own; none where all agree.",
        ]
        return "\n".join(lines)

    @staticmethod
    def figure(found: Datasets) -> Figure:
        """Draw the first repeat of each source, with the true errors, and the shares of runs that are rejected."""
        names = (*SOURCES, DIGITS)
        figure, axes = plt.subplots(4, 4, figsize=(15, 9), layout="constrained", sharex="col")
        for column, name in zip(axes.T, names, strict=False):
            _draw_runs(column, found[name].isel(repeat=0).sel(estimator=TOP), name)
        for ax, words in zip(axes[:, 0], ("log loss", "accuracy", "ECE of the top label", "p-value"), strict=True):
            ax.set_ylabel(words)
        for ax in axes[:, -1]:
            ax.remove()
        ax = figure.add_subplot(axes[0, -1].get_gridspec()[:, -1])
        _draw_rejections(ax, {name: rejections(found[name]) for name in names})
        figure.legend(*axes[2, 0].get_legend_handles_labels(), loc="outside lower left", ncols=4)
        figure.legend(*ax.get_legend_handles_labels(), loc="outside lower right", ncols=3)
        return figure


def _draw_runs(axes: Any, found: xr.Dataset, name: str) -> None:
    """Draw the runs of a repeat: each a line, its true errors dashed, a star where its log loss is lowest."""
    loss, accuracy, error, pvalue = axes
    shown = {loss: found["log_loss"], accuracy: found["accuracy"], error: found["value"], pvalue: found["pvalue"]}
    for ax, values in shown.items():
        for color, run in enumerate(found["run"].values):
            own, best = values.sel(run=run), found["best"].sel(run=run)
            ax.plot(own["step"], own, "o-", color=f"C{color}", markersize=3, linewidth=1, label=f"run {run}")
            ax.plot(best, own.sel(step=best), "*", color="black", markersize=10, zorder=4)
    noise = found["noise"].max("run")
    error.fill_between(noise["step"], 1e-4, noise, color="0.85", label="noise alone, 95 %")
    for run in found["run"].values:
        truth = found["truth"].sel(run=run)
        error.plot(truth["step"], truth, "--", color="black", linewidth=0.8, label="truth" if run == "1" else None)
    error.set(yscale="log", ylim=(1e-3, 1))
    pvalue.axhline(LEVEL, color="black", linewidth=1)
    pvalue.set(yscale="log", ylim=(0.003, 1.2), xlabel="passes through the rows", xscale="log")
    pvalue.set_xticks(STEPS[::2], STEPS[::2])
    pvalue.minorticks_off()
    loss.set_title(f"{name}, {int(found['n'].max())} labels")


def _draw_rejections(ax: Any, rejected: dict[str, xr.Dataset]) -> None:
    """Draw the share of runs that are rejected where training stops, over the number of labels."""
    for color, (name, own) in enumerate(rejected.items()):
        for estimator, line in ((TOP, "o-"), (WHOLE, "s--")):
            at = own.sel(estimator=estimator)
            ax.errorbar(
                at["rows"] * 1.05 ** (color - 1),
                at["share"],
                at["error"],
                fmt=line,
                color=("C5", "C9", "C6")[color],
                label=f"{name}, {estimator}",
            )
    ax.axhline(LEVEL, color="black", linewidth=1)
    ax.set(xscale="log", ylim=(0, 1.02), xlabel="labels", title="runs rejected where training stops")


def at_the_best(found: xr.Dataset) -> xr.Dataset:
    """Return the values at the step of the lowest log loss of each run."""
    return found.sel(step=found["best"])


def rejections(found: xr.Dataset) -> xr.Dataset:
    """Return the share of runs whose chosen step is rejected, over rows and estimators, and its standard error."""
    shares = (found["stopped_pvalue"] <= LEVEL + 1e-12).mean("run")
    spread = shares.std("repeat", ddof=1) / np.sqrt(shares.sizes["repeat"])
    return xr.Dataset({"share": shares.mean("repeat"), "error": spread})


def percent(own: xr.Dataset, unit: str = " %") -> str:
    """Return a share and its standard error."""
    return bracketed(100 * own["share"].item(), 100 * own["error"].item(), ".0f") + unit


def _shares(rejected: dict[str, xr.Dataset], rows: int, estimator: str) -> str:
    """Return the shares of both kinds of classes."""
    return " and ".join(percent(rejected[name].sel(rows=rows, estimator=estimator)) for name in SOURCES)


def _of_a_source(name: str, own: xr.Dataset, rejected: xr.Dataset) -> list[str]:
    """Return the numbers where training stops: errors, and shares of runs that are rejected, by labels."""
    at, runs = at_the_best(own), own.sizes["repeat"] * own.sizes["run"]
    top = at.sel(estimator=TOP)
    lines = [
        "",
        f"{name}: {runs} runs, at the step of the lowest log loss ({_ends(own['best'])} of {STEPS[-1]})",
        f"  accuracy {_mean(at['accuracy'], '.3f')}; ECE of the top label {_mean(top['value'], '.4f')}, of which noise "
        f"alone gives {_mean(top['null_mean'], '.4f')}",
    ]
    if not own["truth"].isnull().all():
        lines.append(
            f"  true error {_mean(at['truth'], '.4f')}, to which noise adds {at['truth_error'].max().item():.4f} at "
            f"most; the least of all steps {_mean(own['truth'].min('step'), '.4f')}; at the last step "
            f"{_mean(own['truth'].isel(step=-1), '.4f')}"
        )
    lines.append(f"  {'rejected, %':24}" + "".join(f"{f'n = {n}':>14}" for n in rejected["rows"].values))
    for estimator in ESTIMATORS:
        cells = (percent(rejected.sel(rows=n, estimator=estimator), "") for n in rejected["rows"].values)
        lines.append(f"  {estimator:24}" + "".join(f"{cell:>14}" for cell in cells))
    return lines


def _mean(values: Any, digits: str) -> str:
    """Return the mean of all runs, and its standard error between repeats."""
    means = values.mean("run")
    error = means.std("repeat", ddof=1).item() / np.sqrt(means.sizes["repeat"])
    return bracketed(means.mean().item(), error, digits)


def _ends(values: Any) -> str:
    low, high = int(values.min()), int(values.max())
    return f"{low}" if low == high else f"{low} to {high}"
