"""Plug-in and debiased squared calibration error: mean squared error over n, and the error over the number of bins.

Kumar, Liang & Ma (2019), Section 5. As there, what is compared with is the squared error that the cells themselves can
see (the `limit`); on a predictions file the rows are drawn with replacement, and it is the plug-in on the whole file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from scipy.special import expit, logit

from calibstat import DebiasedCE, EqualMass, Estimator, Sample, SquaredCE, Sweep, TopLabel
from calibstat.generators import BetaPredictions, FinitePredictions, Slope, SyntheticModel
from simulations.frame import SEED, Datasets, Plan, Scale, Study, option

FEW, MANY = 15, 100


def steep(scores: Any) -> Any:
    """Return sigmoid(2 logit z + 1), the calibration function of the appendix."""
    inside = np.clip(scores, 1e-12, 1 - 1e-12)
    return expit(2 * logit(inside) + 1)


def plugin(n_bins: int) -> Estimator:
    """Return the plug-in of the squared error."""
    return TopLabel() | SquaredCE(EqualMass(n_bins))


def debiased(n_bins: int) -> Estimator:
    """Return the debiased estimator of the squared error."""
    return TopLabel() | DebiasedCE(EqualMass(n_bins))


def models_of(sample: Sample | None) -> dict[str, SyntheticModel]:
    """Return the synthetic models, and the rows of a file as a model."""
    found: dict[str, SyntheticModel] = {
        "slightly off": BetaPredictions(1, 1, Slope(0.75)),
        "far off": BetaPredictions(1, 1, steep),
    }
    if sample is not None:
        predictions = sample.predictions
        happened = np.eye(predictions.n_classes)[sample.outcomes]
        found["file"] = FinitePredictions(predictions.chances, happened)
    return found


def mean_squared_error(ds: Any) -> tuple[Any, Any]:
    """Return the mean squared distance to the limit, and its Monte Carlo standard error."""
    squares = (ds["estimate"] - ds["limit"]) ** 2
    return squares.mean("repeat"), squares.std("repeat", ddof=1) / np.sqrt(ds.sizes["repeat"])


@final
@dataclass(frozen=True)
class PluginVsDebiased(Study):
    """Section 5 of Kumar, Liang & Ma (2019)."""

    predictions: str | None = option("FILE", "predictions to draw rows from, too")
    label: str | None = option("COL", "the column of what happened in that file")
    probs: list[str] | None = option("COL", "its columns of probabilities: 'prob_*'", action="append")

    plan = Plan(
        aim="whether debiasing brings the estimated squared calibration error closer to what its bins can see",
        mechanisms="uniform scores with a calibration function that is slightly or far off, and the rows of a "
        "predictions file, drawn with replacement (Kumar, Liang & Ma 2019)",
        estimands="the squared top-label error of the bins themselves: the limit of both estimators",
        methods=f"plug-in and debiased estimator in {FEW} and {MANY} bins of equal mass",
        performance="mean squared error over n; root of the mean estimate over the number of bins",
    )

    def parts(self, scale: Scale) -> dict[str, Sweep]:
        """Sweep n for two numbers of bins, and the number of bins for one n."""
        models, estimators = models_of(self._sample()), {"plug-in": plugin, "debiased": debiased}
        over_n = Sweep(
            models,
            n=scale.pick([500, 2000], [1000, 2000, 3000, 5000, 7000], list(range(2000, 7001, 1000))),
            n_bins=[FEW, MANY],
            estimators=estimators,
            n_repeats=scale.pick(50, 400, 1000),
            rng=SEED,
        )
        over_bins = Sweep(
            models,
            n=[scale.pick(2000, 8000, 8000)],
            n_bins=[2, 4, 8, 16, 32, 64, 128],
            estimators=estimators,
            n_repeats=scale.pick(50, 400, 1000),
            rng=SEED + 1,
        )
        return {"n": over_n, "bins": over_bins}

    def _sample(self) -> Sample | None:
        if self.predictions is None:
            return None
        if self.label is None or self.probs is None:
            raise ValueError("--predictions needs --label and --probs")
        probs = self.probs if len(self.probs) > 1 else self.probs[0]
        return Sample.read(self.predictions, y_true=self.label, y_prob=probs)

    @staticmethod
    def text(found: Datasets) -> str:
        """Write the mean squared errors, and the errors over bins."""
        mse, error = mean_squared_error(found["n"])
        gain = mse.sel(estimator="plug-in", drop=True) / mse.sel(estimator="debiased", drop=True)
        many = gain.sel(n_bins=MANY)
        lines = [
            f"Debiasing lowers the mean squared error in {int((gain > 1).sum())} of {gain.size} settings; in {MANY} "
            f"bins it is {many.values.min():.2g} to {many.values.max():.2g} times smaller.",
            "",
            "mean squared error of the squared top-label error (Monte Carlo standard error)",
            "",
            f"{'model':14}{'bins':>6}{'n':>7}{'plug-in':>22}{'debiased':>22}",
        ]
        for model in mse["model"].values:
            for n_bins in mse["n_bins"].values:
                for n in mse["n"].values:
                    at = {"model": model, "n_bins": n_bins, "n": n}
                    cells = [
                        f"{mse.sel(at).sel(estimator=name).item():.3g} ({error.sel(at).sel(estimator=name).item():.1g})"
                        for name in ("plug-in", "debiased")
                    ]
                    lines.append(f"{model:14}{n_bins:>6}{n:>7}" + "".join(f"{cell:>22}" for cell in cells))
        means = found["bins"]["estimate"].mean("repeat").isel(n=0)
        lines += ["", "root of the mean squared error estimate over the number of bins", ""]
        lines.append(f"{'':24}" + "".join(f"{n_bins:9}" for n_bins in means["n_bins"].values))
        for model in means["model"].values:
            for name in means["estimator"].values:
                values = np.sqrt(np.maximum(means.sel(model=model, estimator=name).values, 0))
                lines.append(f"{model:14}{name:10}" + "".join(f"{value:9.4f}" for value in values))
        return "\n".join(lines)

    @staticmethod
    def figure(found: Datasets) -> Figure:
        """Draw both, one column for each model."""
        mse, error = mean_squared_error(found["n"])
        means = found["bins"]["estimate"].mean("repeat").isel(n=0)
        names = mse["model"].values
        figure, axes = plt.subplots(2, len(names), figsize=(5 * len(names), 8), layout="constrained", squeeze=False)
        for column, model in enumerate(names):
            above, below = axes[:, column]
            for color, name in enumerate(mse["estimator"].values):
                for n_bins, style in ((FEW, "-"), (MANY, "--")):
                    at = {"model": model, "estimator": name, "n_bins": n_bins}
                    label = f"{name}, {n_bins} bins"
                    bars = 1.645 * error.sel(at)
                    above.errorbar(mse["n"], mse.sel(at), bars, color=f"C{color}", linestyle=style, label=label)
                values = np.sqrt(np.maximum(means.sel(model=model, estimator=name), 0))
                below.plot(means["n_bins"], values, "o-", color=f"C{color}", label=str(name))
            above.set(xscale="log", yscale="log", xlabel="n", ylabel="mean squared error", title=str(model))
            below.set(xscale="log", xlabel="number of bins", ylabel="root of the mean squared error estimate")
            above.legend()
            below.legend()
        return figure
