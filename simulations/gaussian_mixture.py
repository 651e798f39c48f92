"""Binned estimates on a Gaussian mixture: over n and bins, beside the truth and what bins can see of it.

Vaicenavicius et al. (2019), Section 5.1. Two calibrated models and one that is off; Theorem 2 says that with fixed bins
the estimate converges to a limit below the truth. Before that, at small n, it lies above: noise alone gives an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from calibstat import ECE, EqualWidth, Sweep, summarise
from calibstat.generators import GaussianMixture
from simulations.frame import SEED, Datasets, Plan, Scale, Study

MODELS = {
    "(0, -2), calibrated": GaussianMixture(0, -2),
    "(0, 0), calibrated": GaussianMixture(0, 0),
    "(1, 1)": GaussianMixture(1, 1),
}


def equal_width(n_bins: int) -> ECE:
    """Return the estimator of the paper."""
    return ECE(EqualWidth(n_bins))


@final
@dataclass(frozen=True)
class GaussianMixtureStudy(Study):
    """Section 5.1 of Vaicenavicius et al. (2019)."""

    plan = Plan(
        aim="how far the binned ECE is from the true error, over the number of rows and of bins",
        mechanisms="Y = -1 or 1, X given Y is N(Y, 1), and a logistic model of X that is calibrated, constant, or off "
        "(Vaicenavicius et al. 2019, Section 5.1)",
        estimands="the expected calibration error, exactly, and the limit that fixed bins see of it (Theorem 2)",
        methods="ECE with 5 to 100 bins of equal width",
        performance="mean and standard deviation of the estimate beside limit and truth",
    )

    def parts(self, scale: Scale) -> dict[str, Sweep]:
        """Sweep n and bins."""
        sizes = [100, 300, 1000, 3000, 10_000]
        return {
            "estimates": Sweep(
                MODELS,
                n=scale.pick([100, 1000], sizes, [*sizes, 30_000]),
                n_bins=[5, 10, 50, 100],
                estimators={"ECE": equal_width},
                n_repeats=scale.pick(200, 1000, 3000),
                rng=SEED,
            )
        }

    @staticmethod
    def text(found: Datasets) -> str:
        """Write the table of means and standard deviations."""
        summary = summarise(found["estimates"]).sel(estimator="ECE")
        calibrated, few, many = "(0, -2), calibrated", summary["n"].values.min(), summary["n_bins"].values.max()
        noise, off = summary.sel(model=calibrated, n=few, n_bins=many), summary.sel(model="(1, 1)")
        lines = [
            f"Noise alone looks like miscalibration: with {few} rows in {many} bins the ECE of a calibrated model is "
            f"{noise['mean'].item():.3f} on average. Bins hide some of it too: with 5 bins, and however many rows, the "
            f"ECE of the model that is off by {off['truth'].values[0]:.4f} tends to "
            f"{off['limit'].sel(n_bins=5).item():.4f}.",
            "",
            "mean (sd) of the ECE with bins of equal width; limit: n to infinity with these bins; truth: exact",
            "",
        ]
        for model in summary["model"].values:
            own = summary.sel(model=model)
            lines += [str(model), _line("n", [f"B = {n_bins}" for n_bins in own["n_bins"].values])]
            for n in own["n"].values:
                at = own.sel(n=n)
                pairs = zip(at["mean"].values, at["variance"].values ** 0.5, strict=True)
                lines.append(_line(str(n), [f"{mean:.4f} ({sd:.4f})" for mean, sd in pairs]))
            lines.append(_line("limit", [f"{limit:.4f}" for limit in own["limit"].values]))
            lines += [_line("truth", [f"{truth:.4f}" for truth in own["truth"].values]), ""]
        return "\n".join(lines)

    @staticmethod
    def figure(found: Datasets) -> Figure:
        """Draw mean and standard deviation over n, one panel for each model."""
        summary = summarise(found["estimates"]).sel(estimator="ECE")
        figure, axes = plt.subplots(1, summary.sizes["model"], figsize=(12, 4), layout="constrained")
        for ax, model in zip(axes, summary["model"].values, strict=True):
            own = summary.sel(model=model)
            for color, n_bins in enumerate(own["n_bins"].values):
                at = own.sel(n_bins=n_bins)
                ax.errorbar(at["n"], at["mean"], at["variance"] ** 0.5, color=f"C{color}", label=f"{n_bins} bins")
                ax.axhline(at["limit"].item(), color=f"C{color}", linestyle=":", linewidth=1)
            ax.axhline(own["truth"].values[0], color="black", linewidth=1, label="truth")
            ax.set(xscale="log", xlabel="n", ylabel="ECE: mean and sd (dotted: limit)", title=str(model))
        axes[0].legend()
        return figure


def _line(head: str, cells: list[str]) -> str:
    return f"{head:>7}" + "".join(f"{cell:>18}" for cell in cells)
