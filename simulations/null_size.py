"""How often each test rejects where nothing is wrong: the size, at level 5 %.

Every public estimator that gives one number on two classes is tested, as far as it can be made without arguments or
from ten cells. The number of redraws plus one, times the level, is an integer: without ties the size is the level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import calibstat as cs
from calibstat import Sweep, summarise
from calibstat.cli import estimators
from calibstat.generators import BetaPredictions, FinitePredictions, GaussianMixture
from simulations.frame import SEED, Scale, Simulation

LEVEL, N_RESAMPLES, N_CELLS = 0.05, 99, 10
MODELS = {
    "Gaussian mixture": GaussianMixture(0, -2),
    "scores near 0 and 1": BetaPredictions(0.5, 0.5),
    "scores of one digit": FinitePredictions(np.arange(1, 10) / 10, np.arange(1, 10) / 10),
}


def tests() -> dict[str, tuple[cs.Estimator, Any]]:
    """Return every estimator that can be tested on two classes, with its null."""
    sample = MODELS["Gaussian mixture"].sample(60, rng=0)
    found = {}
    for name in estimators.names():
        for estimator in _made(getattr(cs, name)):
            if _works(estimator, sample):
                found[name] = (estimator, cs.Consistency(N_RESAMPLES))
                break
    return found


def _made(make: Callable[..., cs.Estimator]) -> Iterator[cs.Estimator]:
    """Make an estimator from ten cells, and without arguments, where it allows that."""
    for arguments in ((cs.EqualMass(N_CELLS),), ()):
        try:
            yield make(*arguments)
        except Exception:  # its arguments may be others
            continue


def _works(estimator: cs.Estimator, sample: cs.Sample) -> bool:
    try:
        cs.calibration_test(sample, estimator, null=cs.Consistency(3), rng=0)
    except Exception:  # a reason is not needed
        return False
    return True


def sweeps(scale: Scale, sample: cs.Sample | None = None) -> dict[str, Sweep]:  # noqa: ARG001 (synthetic only)
    """Sweep the tests over calibrated models."""
    return {
        "pvalues": Sweep(
            MODELS,
            n=scale.pick([60], [50, 300], [50, 300, 2000]),
            tests=tests(),
            n_repeats=scale.pick(40, 500, 4000),
            rng=SEED,
        )
    }


def tell(found: Mapping[str, Any]) -> str:
    """Write the sizes, and mark those above the level by four standard errors."""
    size = summarise(found["pvalues"], LEVEL)["size"].isel(n_bins=0)
    slack = 4 * np.sqrt(LEVEL * (1 - LEVEL) / found["pvalues"].sizes["repeat"])
    columns = [(model, n) for model in size["model"].values for n in size["n"].values]
    lines = [f"rejection rates in % at level {LEVEL:.0%}; * above it by more than four standard errors", ""]
    lines.append(f"{'':28}" + "".join(f"{f'{model}, n = {n}':>30}" for model, n in columns))
    for name in size["test"].values:
        values = [size.sel(model=model, n=n, test=name).item() for model, n in columns]
        lines.append(f"{name:28}" + "".join(f"{f'{100 * v:.1f}{_mark(v, slack)}':>30}" for v in values))
    return "\n".join(lines)


def _mark(size: float, slack: float) -> str:
    return "*" if size > LEVEL + slack else ""


def draw(found: Mapping[str, Any]) -> Any:
    """Draw the sizes with four standard errors of the level."""
    size = summarise(found["pvalues"], LEVEL)["size"].isel(n_bins=0)
    slack = 4 * np.sqrt(LEVEL * (1 - LEVEL) / found["pvalues"].sizes["repeat"])
    positions = np.arange(size.sizes["test"])
    figure, ax = plt.subplots(figsize=(8, 1.5 + 0.3 * len(positions)), layout="constrained")
    ax.axvspan(max(0, LEVEL - slack), LEVEL + slack, color="0.9")
    ax.axvline(LEVEL, color="black", linewidth=1)
    for model in size["model"].values:
        for n in size["n"].values:
            ax.plot(size.sel(model=model, n=n), positions, ".", label=f"{model}, n = {n}")
    ax.set(yticks=positions, yticklabels=size["test"].values, xlabel="share of rejections", ylabel="test")
    ax.legend(fontsize="small")
    return figure


STUDY = Simulation(sweeps, tell, draw)
