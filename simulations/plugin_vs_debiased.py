"""Plug-in and debiased squared calibration error: mean squared error over n, the error over bins, and its intervals.

Kumar, Liang & Ma (2019), Section 5. As there, what is compared with is the squared error that the cells themselves can
see (the `limit`), for the top label and, over classes, marginally. On a predictions file the rows are drawn with
replacement, and the limit is the plug-in on the whole file; its own errors over bins are those of their Figure 2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias, final

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from scipy.special import expit, logit

from calibstat import (
    Bootstrap,
    ClassWise,
    DebiasedCE,
    DebiasedL2,
    EachClass,
    EqualMass,
    Estimator,
    FixedEdges,
    Sample,
    SquaredCE,
    Sweep,
    TopLabel,
    UniqueValues,
    estimate,
)
from calibstat.calibrators import Platt
from calibstat.generators import (
    BetaPredictions,
    DirichletPredictions,
    FinitePredictions,
    Mixture,
    Slope,
    SyntheticModel,
)
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
    option,
    small_cells_on_purpose,
)
from simulations.predictions import PredictionsFile

FEW, MANY = 15, 100
FEW_OF_A_CLASS = 10
N_BINS = (2, 4, 8, 16, 32, 64, 128)
LEVEL, ROWS_FOR_EDGES = 0.9, 2000
TEN_CLASSES = DirichletPredictions([0.2] * 10, Mixture(0.1, [0.1] * 10))
World: TypeAlias = SyntheticModel | PredictionsFile


def steep(scores: Any) -> Any:
    """Return sigmoid(2 logit z + 1), the calibration function of the appendix."""
    inside = np.clip(scores, 1e-12, 1 - 1e-12)
    return expit(2 * logit(inside) + 1)


MODELS: dict[str, SyntheticModel] = {
    "slightly off": BetaPredictions(1, 1, Slope(0.75)),
    "far off": BetaPredictions(1, 1, steep),
}


def plugin(n_bins: int) -> Estimator:
    """Return the plug-in of the squared error."""
    return TopLabel() | SquaredCE(EqualMass(n_bins))


def debiased(n_bins: int) -> Estimator:
    """Return the debiased estimator of the squared error."""
    return TopLabel() | DebiasedCE(EqualMass(n_bins))


ESTIMATORS: dict[str, Callable[[int], Estimator]] = {"plug-in": plugin, "debiased": debiased}
MARGINAL: dict[str, Callable[[int], Estimator]] = {
    "plug-in": lambda n_bins: EachClass(SquaredCE(EqualMass(n_bins))),
    "debiased": lambda n_bins: EachClass(DebiasedCE(EqualMass(n_bins))),
}


def models_of(sample: Sample | None) -> dict[str, SyntheticModel]:
    """Return the synthetic models, and the rows of a file as a model."""
    return MODELS if sample is None else MODELS | {"file": rows_of(sample)}


def rows_of(sample: Sample) -> FinitePredictions:
    """Return the world whose rows are those of a sample: each happens as it did."""
    predictions = sample.predictions
    return FinitePredictions(predictions.chances, np.eye(predictions.n_classes)[sample.outcomes])


@cache
def marginal_limit(world: World, n_bins: int) -> float:
    """Return the mean over classes of the squared error that the cells can see, in the units of both estimators."""
    if isinstance(world, PredictionsFile):
        return float(EachClass(SquaredCE(EqualMass(n_bins)))(world.sample()))
    classes = range(world.sample(1, 0).predictions.n_classes)
    return float(np.mean([float(world.limit(ClassWise(k) | SquaredCE(EqualMass(n_bins)))) for k in classes]))


@dataclass(frozen=True)
class MarginalErrors:
    """Both estimates of the squared marginal error on rows of a world; fewer rows are the first of more."""

    world: World
    n: tuple[int, ...]
    n_bins: tuple[int, ...] = (FEW_OF_A_CLASS, MANY)

    def __call__(self, rng: np.random.Generator) -> xr.Dataset:
        """Return estimates and their limits."""
        if isinstance(self.world, PredictionsFile):
            every = self.world.sample()
            whole = every.take(rng.integers(len(every), size=max(self.n)))
        else:
            whole = self.world.sample(max(self.n), rng)
        with small_cells_on_purpose():
            values = [
                [[float(each(n_bins)(whole.take(np.arange(n)))) for n_bins in self.n_bins] for n in self.n]
                for each in MARGINAL.values()
            ]
        limits = [marginal_limit(self.world, n_bins) for n_bins in self.n_bins]
        return xr.Dataset(
            {"estimate": (("estimator", "n", "n_bins"), values), "limit": ("n_bins", limits)},
            {"estimator": list(MARGINAL), "n": list(self.n), "n_bins": list(self.n_bins)},
        )


def edges_of(confidences: np.ndarray, n_bins: int) -> FixedEdges:
    """Return cells of equal mass of these confidences, from 0 to 1."""
    inner = np.quantile(confidences, np.arange(1, n_bins) / n_bins)
    return FixedEdges([0.0, *np.unique(inner[(inner > 0) & (inner < 1)]), 1.0])


def pivot(sample: Sample, estimator: Estimator, rng: np.random.Generator) -> tuple[float, float, float]:
    """Return low, middle and high of the authors' interval: 2 T - q of 1000 resamples, with the cells as they are."""
    value = float(estimator(sample))
    drawn = np.quantile(Bootstrap(1000).replicates(estimator, sample, rng=rng), [(1 + LEVEL) / 2, 0.5, (1 - LEVEL) / 2])
    low, middle, high = 2 * value - drawn
    return low, middle, high


def intervals_over_bins(sample: Sample, confidences: np.ndarray, rng: np.random.Generator) -> xr.Dataset:
    """Return both estimates of the squared error of two outcomes, and two intervals, in cells of other confidences."""
    found = []
    for n_bins in N_BINS:
        cells = edges_of(confidences, n_bins)
        tested = estimate(sample, DebiasedL2(cells), confidence_level=LEVEL, rng=rng)
        low, middle, high = pivot(sample, SquaredCE(cells), rng)
        interval = tested.confidence_interval
        assert interval is not None
        ends = [[low, high], [interval.low, interval.high]]
        values = {"plug-in": float(SquaredCE(cells)(sample)), "debiased": float(DebiasedCE(cells)(sample))}
        found.append(
            xr.Dataset(
                {
                    "interval": (("kind", "end"), ends),
                    "middle": middle,
                    "estimate": ("estimator", list(values.values())),
                },
                {"kind": ["bootstrap", "total variance"], "end": ["low", "high"], "estimator": list(values)},
            )
        )
    return xr.concat(found, "n_bins").assign_coords(n_bins=list(N_BINS))


@dataclass(frozen=True)
class Intervals:
    """Intervals of the squared top-label error of a synthetic model, in cells that other rows decide."""

    world: SyntheticModel
    n: int

    def __call__(self, rng: np.random.Generator) -> xr.Dataset:
        """Return intervals over bins, what the cells can see, and the truth."""
        top = TopLabel()
        confidences = top(self.world.sample(ROWS_FOR_EDGES, rng)).predictions.event
        found = intervals_over_bins(top(self.world.sample(self.n, rng)), confidences, rng)
        limits = [float(self.world.limit(top | SquaredCE(edges_of(confidences, n_bins)))) for n_bins in N_BINS]
        return found.assign(limit=("n_bins", limits), truth=float(self.world.truth(top | SquaredCE(UniqueValues()))))


@dataclass(frozen=True)
class FigureTwo:
    """Figure 2 on a file: Platt scaling of the confidence on its first rows, cells of the next, errors of the rest."""

    file: PredictionsFile
    n_fit: int = 1000

    def __call__(self, rng: np.random.Generator) -> xr.Dataset:
        """Return intervals over bins of the recalibrated confidence."""
        top = TopLabel()(self.file.sample())
        if len(top) < 4 * self.n_fit:
            raise ValueError(f"{self.file.path} has {len(top)} rows, but Figure 2 needs {4 * self.n_fit} or more.")
        fit, cells, rest = np.split(rng.permutation(len(top)), [self.n_fit, 2 * self.n_fit])
        confidence = top.predictions.event
        platt = Platt(smoothing=False).fit(confidence[fit], top.outcomes[fit])
        calibrated = platt.predict_proba(confidence)[:, 1]
        judged = Sample(top.outcomes[rest], calibrated[rest])
        return intervals_over_bins(judged, calibrated[np.concatenate([fit, cells])], rng)


def mean_squared_error(ds: Any) -> tuple[Any, Any]:
    """Return the mean squared distance to the limit, and its Monte Carlo standard error."""
    return mean_and_error((ds["estimate"] - ds["limit"]) ** 2)


def coverage(intervals: xr.Dataset) -> xr.DataArray:
    """Return whether each interval holds the squared error that its cells can see."""
    ends = intervals["interval"]
    return (ends.sel(end="low") <= intervals["limit"]) & (intervals["limit"] <= ends.sel(end="high"))


@final
@dataclass(frozen=True)
class PluginVsDebiased(Study):
    """Section 5 of Kumar, Liang & Ma (2019)."""

    predictions: str | None = option("FILE", "predictions to draw rows from, too")
    label: str | None = option("COL", "the column of what happened in that file")
    probs: list[str] | None = option("COL", "its columns of probabilities: 'prob_*'", action="append")

    plan = Plan(
        aim="whether debiasing brings the estimated squared calibration error closer to what its bins can see, and "
        "whether intervals hold it",
        mechanisms="uniform scores with a calibration function that is slightly or far off; ten classes, one label in "
        "ten by chance; the rows of a predictions file, drawn with replacement (Kumar, Liang & Ma 2019)",
        estimands="the squared error of the bins themselves, which is the limit of both estimators: of the top label, "
        "and its mean over classes (marginal); the true squared error without bins",
        methods=f"plug-in and debiased estimator in {FEW} (for each class {FEW_OF_A_CLASS}) and {MANY} bins of equal "
        "mass; pivot intervals from 1000 resamples with fixed bins, and total-variance intervals of DebiasedL2",
        performance=f"mean squared error over n; root of the mean estimate over the number of bins, beside limit and "
        f"truth; share of intervals at {LEVEL:.0%} that hold the limit",
    )

    def parts(self, scale: Scale) -> dict[str, Sweep | Repeats]:
        """Sweep n for two numbers of bins, and the number of bins for one n; marginal errors; intervals."""
        file = PredictionsFile.named(self.predictions, self.label, self.probs)
        models = models_of(None if file is None else file.sample())
        n = scale.pick((500, 2000), (1000, 2000, 3000, 5000, 7000), (2000, 3000, 4000, 5000, 6000, 7000))
        repeats = scale.pick(50, 400, 1000)
        one_n = scale.pick(2000, 8000, 8000)
        shared: dict[str, Any] = {"estimators": ESTIMATORS, "n_repeats": repeats}
        found: dict[str, Sweep | Repeats] = {
            "n": Sweep(models, n=list(n), n_bins=[FEW, MANY], rng=SEED, **shared),
            "bins": Sweep(models, n=[one_n], n_bins=list(N_BINS), rng=SEED + 1, **shared),
            "marginal": Repeats(MarginalErrors(TEN_CLASSES, n), repeats, SEED + 2),
        }
        for place, (name, world) in enumerate(MODELS.items()):
            found[f"intervals {name}"] = Repeats(Intervals(world, one_n), scale.pick(20, 100, 1000), SEED + 3 + place)
        if file is not None:
            found["marginal file"] = Repeats(MarginalErrors(file, n), repeats, SEED + 2)
            found["figure 2"] = Repeats(FigureTwo(file))
        return found

    @staticmethod
    def text(found: Datasets) -> str:
        """Write the mean squared errors, the errors over bins, and the coverage."""
        blocks = _of_n(found)
        gains = np.concatenate([_gain(each).values.ravel() for each, _ in blocks.values()])
        many = np.concatenate([_gain(each).sel(n_bins=MANY).values.ravel() for each, _ in blocks.values()])
        held = {name: mean_and_error(coverage(each)) for name, each in _intervals(found).items()}
        worst = {kind: min(each.mean.sel(kind=kind).min().item() for each in held.values()) for kind in _KINDS}
        lines = [
            f"Debiasing lowers the mean squared error in {int((gains > 1).sum())} of {gains.size} settings; in {MANY} "
            f"bins it is {many.min():.3g} to {many.max():.3g} times smaller. Of the bootstrap intervals of the plug-in "
            f"at {LEVEL:.0%}, {worst['bootstrap']:.0%} hold the error of the bins at worst; of the total-variance "
            f"intervals {worst['total variance']:.0%}.",
            "",
            "mean squared error of the squared error (Monte Carlo standard error)",
            "",
            f"{'':26}{'bins':>6}{'n':>7}{'plug-in':>22}{'debiased':>22}{'ratio':>8}",
        ]
        for name, (mse, error) in blocks.items():
            for n_bins in mse["n_bins"].values:
                for n in mse["n"].values:
                    at = {"n_bins": n_bins, "n": n}
                    pairs = [
                        (mse.sel(at).sel(estimator=e).item(), error.sel(at).sel(estimator=e).item()) for e in _BOTH
                    ]
                    cells = "".join(f"{bracketed(mean, se, '.2e'):>22}" for mean, se in pairs)
                    lines.append(f"{name:26}{n_bins:>6}{n:>7}{cells}{pairs[0][0] / pairs[1][0]:8.1f}")
        return "\n".join([*lines, *_over_bins(found["bins"]), *_held(held), *_figure_two(found)])

    @staticmethod
    def figure(found: Datasets) -> Figure:
        """Draw mean squared errors above; below them the errors over bins, and the coverage."""
        blocks, intervals = _of_n(found), _intervals(found)
        below = found["bins"]["model"].values
        columns = max(len(blocks), len(below) + 1 + ("figure 2" in found))
        figure, axes = plt.subplots(2, columns, figsize=(4.6 * columns, 8), layout="constrained", squeeze=False)
        for ax, (name, (mse, error)) in zip(axes[0], blocks.items(), strict=False):
            _draw_errors(ax, mse, error, name)
        for ax, model in zip(axes[1], below, strict=False):
            _draw_over_bins(ax, found["bins"].sel(model=model), intervals.get(str(model)), str(model))
        _draw_coverage(axes[1, len(below)], intervals)
        if "figure 2" in found:
            _draw_figure_two(axes[1, len(below) + 1], found["figure 2"].isel(repeat=0))
        for ax in axes.ravel():
            ax.set_visible(ax.has_data())
        return figure


_BOTH = ("plug-in", "debiased")
_KINDS = ("bootstrap", "total variance")


def _of_n(found: Datasets) -> dict[str, tuple[xr.DataArray, xr.DataArray]]:
    """Return the mean squared error and its standard error of each model and lens."""
    mse, error = mean_squared_error(found["n"])
    blocks = {f"{model}, top label": (mse.sel(model=model), error.sel(model=model)) for model in mse["model"].values}
    blocks["ten classes, marginal"] = mean_squared_error(found["marginal"])
    if "marginal file" in found:
        blocks["file, marginal"] = mean_squared_error(found["marginal file"])
    return blocks


def _intervals(found: Datasets) -> dict[str, xr.Dataset]:
    return {name: found[f"intervals {name}"] for name in MODELS}


def _gain(mse: xr.DataArray) -> xr.DataArray:
    return mse.sel(estimator="plug-in", drop=True) / mse.sel(estimator="debiased", drop=True)


def _root(values: Any) -> np.ndarray:
    return np.sqrt(np.maximum(np.asarray(values), 0))


def _over_bins(swept: xr.Dataset) -> list[str]:
    means = swept["estimate"].mean("repeat").isel(n=0)
    head = f"{'':26}" + "".join(f"{n_bins:9}" for n_bins in means["n_bins"].values)
    lines = [
        "",
        f"root of the mean squared error estimate over the number of bins, n = {swept['n'].values[0]}",
        "",
        head,
    ]
    for model in means["model"].values:
        own = swept.sel(model=model, estimator="plug-in")
        rows = {name: means.sel(model=model, estimator=name).values for name in _BOTH}
        rows |= {name: own[name].values.reshape(len(N_BINS), -1)[:, 0] for name in _known(str(model))}
        lines += [
            f"{model:14}{name:12}" + "".join(f"{value:9.4f}" for value in _root(each)) for name, each in rows.items()
        ]
    return lines


def _known(model: str) -> tuple[str, ...]:
    """Return which true values say something: in a file each row is a prediction of its own, and certain."""
    return ("limit", "truth") if model in MODELS else ("limit",)


def _held(held: dict[str, Any]) -> list[str]:
    head = f"{'':32}" + "".join(f"{n_bins:>12}" for n_bins in N_BINS)
    lines = ["", f"intervals at {LEVEL:.0%} that hold the error of the bins, % (Monte Carlo standard error)", "", head]
    for name, each in held.items():
        for kind in _KINDS:
            pairs = zip(each.mean.sel(kind=kind).values, each.error.sel(kind=kind).values, strict=True)
            cells = "".join(f"{bracketed(100 * mean, 100 * se, '.1f'):>12}" for mean, se in pairs)
            lines.append(f"{name:16}{kind:16}{cells}")
    return lines


def _figure_two(found: Datasets) -> list[str]:
    if "figure 2" not in found:
        return []
    own = found["figure 2"].isel(repeat=0)
    lines = ["", "the file, confidence after Platt scaling: roots of squared errors of the top label over bins", ""]
    lines.append(
        "".join(f"{head:>11}" for head in ("bins", "plug-in", "low", "middle", "high", "debiased", "low", "high"))
    )
    for n_bins in own["n_bins"].values:
        at = own.sel(n_bins=n_bins)
        squares = [
            at["estimate"].sel(estimator="plug-in"),
            *(
                at["interval"].sel(kind="bootstrap", end="low"),
                at["middle"],
                at["interval"].sel(kind="bootstrap", end="high"),
            ),
            at["estimate"].sel(estimator="debiased"),
            *at["interval"].sel(kind="total variance"),
        ]
        lines.append(f"{n_bins:11}" + "".join(f"{_root(value).item():11.4f}" for value in squares))
    return lines


def _draw_errors(ax: Any, mse: xr.DataArray, error: xr.DataArray, name: str) -> None:
    few = int(mse["n_bins"].values.min())
    for color, estimator in enumerate(_BOTH):
        for n_bins, style in zip((few, MANY), TWO_LOOKS, strict=True):
            at = {"estimator": estimator, "n_bins": n_bins}
            look = style | {"color": f"C{color}", "label": f"{estimator}, {n_bins} bins"}
            ax.errorbar(mse["n"], mse.sel(at), 1.645 * error.sel(at), **look)
    ax.set(xscale="log", yscale="log", xlabel="n", ylabel="mean squared error", title=name)
    ax.set_xticks(mse["n"].values, mse["n"].values)
    ax.minorticks_off()
    ax.legend(fontsize="small", handlelength=3)


def _draw_over_bins(ax: Any, swept: xr.Dataset, intervals: xr.Dataset | None, name: str) -> None:
    means = swept["estimate"].mean("repeat").isel(n=0)
    if intervals is not None:
        first = intervals.isel(repeat=0)
        ends = first["interval"].sel(kind="total variance")
        look = {"color": "0.88", "label": "interval of one sample, 90 %"}
        ax.fill_between(first["n_bins"], _root(ends.sel(end="low")), _root(ends.sel(end="high")), **look)
    for color, estimator in enumerate(_BOTH):
        ax.plot(means["n_bins"], _root(means.sel(estimator=estimator)), "o-", color=f"C{color}", label=estimator)
    own = swept.isel(estimator=0, n=0)
    ax.plot(own["n_bins"], _root(own["limit"]), ":", color="black", label="what the bins can see")
    if "truth" in _known(name):
        ax.axhline(_root(own["truth"].values.ravel()[0]), color="black", linewidth=1, label="truth")
    ax.set(xscale="log", xlabel="number of bins", ylabel="root of the mean squared error estimate", title=name)
    _bins_along(ax)
    ax.legend(fontsize="small", loc="lower right")


def _draw_coverage(ax: Any, intervals: dict[str, xr.Dataset]) -> None:
    for color, (name, each) in enumerate(intervals.items()):
        held = mean_and_error(100 * coverage(each))
        for kind, style in zip(_KINDS, reversed(TWO_LOOKS), strict=True):
            at = {"kind": kind}
            look = style | {"color": f"C{color + 2}", "label": f"{name}, {kind}"}
            ax.errorbar(each["n_bins"], held.mean.sel(at), 2 * held.error.sel(at), **look)
    ax.axhline(100 * LEVEL, color="0.3", linestyle=":")
    ax.set(xscale="log", xlabel="number of bins", ylabel="%", title="intervals that hold the error of the bins")
    ax.set_ylim(40, 102)
    _bins_along(ax)
    ax.legend(fontsize="small", loc="lower left", handlelength=3)


def _draw_figure_two(ax: Any, own: xr.Dataset) -> None:
    ends = _root(own["interval"].sel(kind="bootstrap"))
    middle = _root(own["middle"])
    bars = np.abs(ends.T - middle)
    ax.errorbar(own["n_bins"], middle, bars, fmt="o", color="0.3", label="middle and 90 % interval, bootstrap")
    for color, estimator in enumerate(_BOTH):
        ax.plot(own["n_bins"], _root(own["estimate"].sel(estimator=estimator)), "-", color=f"C{color}", label=estimator)
    ax.set(
        xscale="log", xlabel="number of bins", ylabel="root of the squared error", title="the file after Platt scaling"
    )
    _bins_along(ax)
    ax.set_ylim(bottom=0)
    ax.legend(fontsize="small")


def _bins_along(ax: Any) -> None:
    ax.set_xticks(N_BINS, N_BINS)
    ax.minorticks_off()
