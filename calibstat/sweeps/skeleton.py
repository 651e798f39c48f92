"""The dataset before anything is computed: dimensions, coordinates, true values and provenance."""

from __future__ import annotations

import json
import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import dask.array
import numpy as np

from calibstat.sweeps.study import Study
from calibstat.sweeps.truths import true_values
from calibstat.sweeps.units import shapes

if TYPE_CHECKING:
    import xarray as xr

_lazy: Any = dask.array  # it has no types

WAITING, DONE, FAILED = 0, 1, 2
ERROR_WIDTH = 240
_METHOD = (
    "Every repeat draws a sample of n rows from the model with a stream of its own; all estimators, tests and numbers "
    "of bins see the same sample. truth: the model's value of what is estimated; limit: what the estimator converges "
    "to while its cells stay; miscalibration: the true ECE through the lens of a test, 0 where the null is true."
)
_LONG_NAMES = {
    "estimate": "value of the estimator",
    "pvalue": "p-value of the test",
    "truth": "true value of what is estimated",
    "limit": "limit for growing n and fixed cells",
    "miscalibration": "true ECE through the lens of the test",
    "interval_low": "lower end of the interval",
    "interval_high": "upper end of the interval",
    "status": "0 waiting, 1 done, 2 failed",
    "error": "first error of the block",
    "model": "synthetic model",
    "estimator": "estimator",
    "test": "test",
    "n": "rows of a sample",
    "n_bins": "number of bins",
    "repeat": "number of the repeat",
    "block": "first repeat of the block",
}


def skeleton(study: Study, block: int) -> xr.Dataset:
    """Build the dataset that is filled block by block; what is to come is lazy and NaN.

    Parameters
    ----------
    study : Study
    block : int
        Repeats in a block, and so in a chunk.
    """
    import xarray as xr

    values, reasons = true_values(study)
    variables: dict[str, Any] = {name: ((*_head(name), "n_bins"), array) for name, array in values.items()}
    for name, (n_names, n_bins) in shapes(study).items():
        shape = (len(study.models), n_names, len(study.n), n_bins, study.n_repeats)
        empty = _lazy.full(shape, np.nan, chunks=(1, n_names, 1, n_bins, block))
        variables[name] = ((*_head(name), "n", "n_bins", "repeat"), empty)
    firsts = np.arange(0, study.n_repeats, block)
    cells = (len(study.models), len(study.n), len(firsts))
    variables["status"] = (("model", "n", "block"), np.zeros(cells, dtype=np.int64))
    variables["error"] = (("model", "n", "block"), np.full(cells, "", dtype=f"<U{ERROR_WIDTH}"))
    dataset = xr.Dataset(variables, _coordinates(study, firsts), _provenance(study, block))
    for variable in dataset.variables:
        dataset[variable].attrs["long_name"] = _LONG_NAMES[str(variable)]
    for name, reason in reasons.items():
        dataset[name].attrs["unknown"] = reason
    return dataset


def _head(name: str) -> tuple[str, str]:
    return ("model", "test" if name in ("pvalue", "miscalibration") else "estimator")


def _coordinates(study: Study, firsts: Any) -> dict[str, Any]:
    found = {
        "model": np.array(study.names),
        "n": np.array(study.n),
        "n_bins": np.array(study.n_bins),
        "repeat": np.arange(study.n_repeats),
        "block": firsts,
    }
    if len(study.estimators):
        found["estimator"] = np.array(study.estimators.names)
    if len(study.tests):
        found["test"] = np.array(study.tests.names)
    return found


def own_version() -> str:
    """Return the version of this package."""
    return str(sys.modules["calibstat"].__version__)


def _provenance(study: Study, block: int) -> dict[str, Any]:
    libraries = ("numpy", "scipy", "xarray", "dask")
    return {
        "title": "Sweep of calibration estimators and tests over synthetic models",
        "method": _METHOD,
        "design": json.dumps(study.design(own_version())),
        "seed": " ".join(map(str, study.entropy)),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": ", ".join(
            [
                f"calibstat {own_version()}",
                f"python {platform.python_version()}",
                *(f"{name} {version(name)}" for name in libraries),
            ]
        ),
        "block": block,
    }
