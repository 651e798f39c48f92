"""Performance of estimators, intervals and tests over repeats, each with its Monte Carlo standard error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from calibstat._dask import computed
from calibstat.data.parameters import LEVEL, check_share
from calibstat.data.rounding import ROUNDING, SAME
from calibstat.sweeps.store import DONE, FAILED

if TYPE_CHECKING:
    import xarray as xr

_LONG_NAMES_OF_MEASURES = {
    "mean": "mean of the estimates",
    "bias": "mean of the estimates minus the true value",
    "variance": "variance of the estimates",
    "mse": "mean squared error",
    "coverage": "share of intervals that cover the true value",
    "rejection": "share of p-values at or below the level",
    "size": "share of rejections where the null is true",
    "power": "share of rejections where the null is false",
}
# What is left out where no true value is known, and why.
_OF_TRUTH = (
    "truth",
    "truth_error",
    "limit",
    *(f"{name}{se}" for name in ("bias", "mse", "coverage") for se in ("", "_se")),
)
_UNKNOWN = (
    "no true value is known, so that there is no bias, no mean squared error and no coverage: give truth= to Sweep"
)


def summarise(result: xr.Dataset, level: float = LEVEL) -> xr.Dataset:
    """Summarise a sweep over its repeats.

    Repeats that failed are left out, and counted. Standard errors are those of Morris, White & Crowther (2019, Table
    6); that of the variance does not assume normal estimates, since it is that of a mean of squared deviations.

    Parameters
    ----------
    result : Dataset
        What `Sweep.run` returned, or what its store or file holds.
    level : float
        Level of the tests.

    Returns
    -------
    Dataset
        ``mean``, ``bias``, ``variance``, ``mse`` and, where there are intervals, ``coverage``; ``rejection`` of each
        test, and the same as ``size`` where its null is true and as ``power`` where it is false. Each has its Monte
        Carlo standard error, ``..._se``. ``n_estimates``, ``n_pvalues`` and ``n_intervals`` are the numbers of repeats
        averaged. Where no true value is known, the measures that need one are left out, and the attribute ``unknown``
        says so. Where true values are from large samples, the standard error of the bias holds theirs. The attributes
        count blocks that failed or are waiting, and show the first errors.

    Raises
    ------
    ValueError, TypeError
        If `result` is not what `Sweep.run` returns, or `level` does not lie between 0 and 1.

    Examples
    --------
    >>> import calibstat as cs
    >>> from calibstat.generators import GaussianMixture
    >>> from calibstat.sweeps.summary import summarise
    >>> from calibstat.sweeps.sweep import Sweep
    >>> sweep = Sweep(GaussianMixture(0, -2), n=[100], estimators={"ECE": cs.ECE(cs.EqualWidth(10))}, rng=0)
    >>> summary = summarise(sweep.run(progress=False))
    >>> round(summary["bias"].item(), 3), round(summary["bias_se"].item(), 3)  # of a model without any error
    (0.084, 0.002)
    """
    if not hasattr(result, "dims") or not {"estimate", "pvalue"} & {*result}:
        raise TypeError(
            f"result is of type {type(result).__name__} and holds no estimates or p-values of a sweep: pass what "
            "Sweep.run returned, or xarray.open_zarr(path) of its store."
        )
    check_share("level", level, LEVEL)
    result = _in_few_pieces(result)
    found: dict[str, Any] = {}
    if "estimate" in result:
        found |= _of_estimates(result["estimate"], result["truth"], result.get("truth_error", 0.0))
    if "interval_low" in result:
        found |= _of_intervals(result["interval_low"], result["interval_high"], result["truth"])
    if "pvalue" in result:
        found |= _of_pvalues(result["pvalue"], result["miscalibration"], level)
    return _described(result, found, level)


def _in_few_pieces(result: xr.Dataset) -> xr.Dataset:
    """Join the blocks of a store into pieces that fit into memory, so that every step is not taken for each block.

    What a store says about its blocks is read.
    """
    if all(each.chunks is None for each in result.variables.values()):
        return result
    told = [name for name in ("status", "error") if name in result]
    joined = result.drop_vars(told).chunk({"repeat": "auto"} if "repeat" in result.dims else {})
    return joined.assign(computed(result[told].compute).data_vars)


def _of_estimates(estimate: Any, truth: Any, truth_error: Any) -> dict[str, Any]:
    count = estimate.notnull().sum("repeat")
    mean, mean_se = _mean_and_error(estimate)
    deviations = (estimate - mean) ** 2
    variance = deviations.sum("repeat", min_count=1) / (count - 1).where(count > 1)
    mse, mse_se = _mean_and_error((estimate - truth) ** 2)
    bias_se = ((mean_se**2 + truth_error**2) ** 0.5).where(truth.notnull())
    found = {"mean": mean, "mean_se": mean_se, "bias": mean - truth, "bias_se": bias_se}
    found |= {"variance": variance, "variance_se": _mean_and_error(deviations)[1], "mse": mse, "mse_se": mse_se}
    return found | {"n_estimates": count}


def _of_intervals(low: Any, high: Any, truth: Any) -> dict[str, Any]:
    known = low.notnull() & high.notnull() & truth.notnull()
    share, error = _share_and_error(((low <= truth) & (truth <= high)).where(known))
    return {"coverage": share, "coverage_se": error, "n_intervals": known.sum("repeat")}


def _of_pvalues(pvalue: Any, miscalibration: Any, level: float) -> dict[str, Any]:
    # A p-value k/(1 + R) that equals the level must not exceed it by rounding.
    share, error = _share_and_error((pvalue <= level + ROUNDING).where(pvalue.notnull()))
    found = {"rejection": share, "rejection_se": error, "n_pvalues": pvalue.notnull().sum("repeat")}
    null, other = abs(miscalibration) <= SAME, abs(miscalibration) > SAME
    found |= {"size": share.where(null), "size_se": error.where(null)}
    return found | {"power": share.where(other), "power_se": error.where(other)}


def _mean_and_error(values: Any) -> tuple[Any, Any]:
    count = values.notnull().sum("repeat")
    mean = values.mean("repeat")
    spread = (((values - mean) ** 2).sum("repeat", min_count=1) / (count - 1).where(count > 1)) ** 0.5
    return mean, spread / count**0.5


def _share_and_error(hits: Any) -> tuple[Any, Any]:
    share = hits.mean("repeat")
    return share, (share * (1 - share) / hits.notnull().sum("repeat")) ** 0.5


def _described(result: xr.Dataset, found: dict[str, Any], level: float) -> xr.Dataset:
    kept = {name: result[name] for name in ("truth", "truth_error", "limit", "miscalibration") if name in result}
    summary = computed(result[[]].drop_dims(["repeat", "block"], errors="ignore").assign({**kept, **found}).compute)
    for name, text in _LONG_NAMES_OF_MEASURES.items():
        if name in found:
            summary[name].attrs = {"long_name": text}
        if f"{name}_se" in found:
            summary[f"{name}_se"].attrs = {"long_name": f"Monte Carlo standard error: {text}"}
    if "truth" in summary and not summary["truth"].notnull().any():
        summary = summary.drop_vars(
            [name for name in _OF_TRUTH if name in summary and not summary[name].notnull().any()]
        )
        summary.attrs = {"unknown": _UNKNOWN}
    summary.attrs |= {**result.attrs, "level": level, **_failures(result)}
    return summary


def _failures(result: xr.Dataset) -> dict[str, Any]:
    """Count blocks that failed or are waiting, and repeats that are done, and show the first errors."""
    if "status" not in result:
        return {}
    status, errors = np.asarray(result["status"]), np.asarray(result["error"])
    texts = dict.fromkeys(str(error).partition(": ")[2] for error in errors[status == FAILED])
    return {
        "n_blocks": int(status.size),
        "n_failed": int((status == FAILED).sum()),
        "n_waiting": int(((status != FAILED) & (status != DONE)).sum()),
        "errors": "; ".join(list(texts)[:3]),
        **_done(result),
    }


def _done(result: xr.Dataset) -> dict[str, Any]:
    """Return the fewest and the most repeats that are done of a model and n, where they are not all done."""
    if "block" not in result["status"].dims or "repeat" not in result.coords:
        return {}
    block = np.searchsorted(result["block"].values, result["repeat"].values, "right") - 1
    sizes = np.bincount(block.clip(0), minlength=result.sizes["block"])
    done = (np.asarray(result["status"].transpose(..., "block")) == DONE) @ sizes
    return {} if (done == sizes.sum()).all() else {"n_done": [int(done.min()), int(done.max())]}
