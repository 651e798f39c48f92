"""A comparison of `peers.py`, and how other packages are called."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from peers_data import TWO, Array, Data

import calibstat as cs

AGREES = 1e-9
# Numbers of single precision depend on the order in which a processor adds them up.
SINGLE = 1e-6


@dataclass(frozen=True)
class Comparison:
    """One quantity, computed here and by another package; its rule, where its numbers are others, and why they are.

    Numbers are `within` so much of each other where they count as equal, and those of the rule `rule_within` of the
    other package's. Data sets that are left out, `without`, are named with the reason, `because`.
    """

    quantity: str
    package: str
    ours: Callable[[cs.Sample], Any]
    theirs: Callable[[Data], Any]
    kinds: tuple[str, ...] = (TWO,)
    rule: Callable[[Data], Any] | None = None
    why: str = ""
    within: float = AGREES
    rule_within: float = AGREES
    without: tuple[str, ...] = ()
    because: str = ""


def peer(name: str) -> Any:
    """Import another package, silencing what it warns of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return import_module(name)


def both_columns(data: Data) -> Array:
    """Return the predictions of the event beside those of its absence."""
    return np.column_stack([1 - data.p, data.p]) if data.p.ndim == 1 else data.p


def netcal(data: Data, metric: str, n_bins: int, **options: Any) -> float:
    """Return an error of netcal."""
    return float(getattr(peer("netcal.metrics"), metric)(n_bins, **options).measure(data.p, data.y))


def torch_error(data: Data, norm: str = "l1") -> float:
    """Return the error of torchmetrics, of the event or of the most likely class."""
    torch, metrics = peer("torch"), peer("torchmetrics.functional.classification")
    p, y = torch.tensor(data.p), torch.tensor(data.y)
    if data.p.ndim == 1:
        return float(metrics.binary_calibration_error(p, y, n_bins=10, norm=norm))
    return float(metrics.multiclass_calibration_error(p, y, num_classes=data.p.shape[1], n_bins=15, norm=norm))


def mapie(name: str, data: Data) -> float:
    """Return a statistic or a p-value of MAPIE."""
    return float(getattr(peer("mapie.metrics.calibration"), name)(data.y, data.p))


def mapie_error(data: Data, n_edges: int) -> float:
    """Return the error of MAPIE, which writes into the labels it is given."""
    metrics = peer("mapie.metrics.calibration")
    return float(
        metrics.expected_calibration_error(data.y.copy(), data.p.copy(), num_bins=n_edges, split_strategy="uniform")
    )


def mapie_class_wise(data: Data) -> float:
    """Return the mean over classes of the error of MAPIE."""
    metrics = peer("mapie.metrics.calibration")
    options = {"num_bins": 16, "split_strategy": "uniform", "classwise": True, "class_labels": data.y}
    return float(metrics.expected_calibration_error(data.y, data.p, **options))


def kumar(data: Data, order: int, debias: bool, scheme: str, n_bins: int = 10, mode: str = "marginal") -> float:
    """Return an error of uncertainty-calibration."""
    calibration = peer("calibration")
    options = {"num_bins": n_bins, "binning_scheme": getattr(calibration, scheme), "mode": mode}
    return float(calibration.lower_bound_scaling_ce(data.p, data.y, p=order, debias=debias, **options))


def pycaleva(data: Data) -> Any:
    """Return the evaluator of pycaleva, of predictions from elsewhere."""
    return peer("pycaleva").CalibrationEvaluator(data.y, data.p, True, 10)


def calzone(data: Data) -> tuple[Array, Array, Array]:
    """Return the mean outcomes, mean predictions and numbers of rows of ten cells by calzone."""
    cells = peer("calzone.utils").reliability_diagram(data.y, both_columns(data), num_bins=10, class_to_plot=1)
    return cells[0], cells[1], cells[3]


def calzone_hosmer_lemeshow(data: Data) -> tuple[float, float]:
    """Return the statistic of calzone and its p-value, with as many degrees of freedom as cells hold rows."""
    cells = calzone(data)
    found = peer("calzone.metrics").hosmer_lemeshow_test(*cells, df=int((cells[2] > 0).sum()))
    return float(found[0]), float(found[1])


def calzone_cox(data: Data) -> tuple[float, ...]:
    """Return slope, intercept and the ends of their intervals by calzone."""
    slope, intercept, *ends = peer("calzone.metrics").cox_regression_analysis(data.y.copy(), both_columns(data))
    return slope, intercept, *ends[0], *ends[1]


def probcal(name: str, data: Data, **options: Any) -> Any:
    """Return what a function of probcal gives, with weights where there are any."""
    if data.weights is not None:
        options["sample_weight"] = data.weights
    return getattr(peer("probcal.metrics"), name)(data.y, data.p, **options)


def mcgrad(name: str, data: Data, **options: Any) -> float:
    """Return a number of MCGrad, with weights where there are any."""
    found = getattr(peer("mcgrad.metrics"), name)
    return float(found(data.y.astype(float), data.p.copy(), sample_weight=data.weights, **options))


def probmetrics(name: str, data: Data) -> float:
    """Return a metric of probmetrics."""
    torch, metrics = peer("torch"), peer("probmetrics.metrics")
    y, p = torch.tensor(data.y), torch.tensor(both_columns(data))
    return float(metrics.Metrics.from_names([name]).compute_all_from_labels_probs(y, p)[name])


def diagnosed(data: Data, score: str = "SquaredError") -> tuple[float, ...]:
    """Return the parts of a score by model-diagnostics: miscalibration, discrimination, uncertainty."""
    scoring = peer("model_diagnostics.scoring")
    loss = getattr(scoring, score)()
    table = scoring.decompose(data.y, data.p, scoring_function=loss, weights=data.weights)
    return tuple(float(table[part][0]) for part in ("miscalibration", "discrimination", "uncertainty"))


def logistic(data: Data, slope: bool = True) -> Any:
    """Fit the outcomes to the log-odds by the generalised linear model of statsmodels, or with slope one."""
    api = peer("statsmodels.api")
    logits = np.log(data.p / (1 - data.p))
    design, offset = np.ones((len(logits), 1)), logits
    if slope:
        design, offset = np.column_stack([np.ones(len(logits)), logits]), np.zeros(len(logits))
    model = api.GLM(data.y, design, family=api.families.Binomial(), offset=offset, freq_weights=data.weights)
    return model.fit(tol=1e-14, maxiter=200)


def labelled(data: Data) -> dict[str, Any]:
    """Return predictions, outcomes and weights as xarray has them."""
    xr = peer("xarray")
    arrays = {"fcst": data.p, "obs": data.y.astype(float)}
    if data.weights is not None:
        arrays["weights"] = data.weights
    return {name: xr.DataArray(values, dims="row") for name, values in arrays.items()}


def adjusted(data: Data, method: str) -> Array:
    """Return the adjusted p-values by statsmodels."""
    multitest = peer("statsmodels.stats.multitest")
    return np.asarray(multitest.multipletests(class_wise_pvalues(data.sample), method=method)[1])


def class_wise_pvalues(sample: cs.Sample) -> Array:
    """Return Spiegelhalter's p-value of each class, which the adjustments of several p-values take."""
    tests = [cs.ClassWise(label) | cs.Spiegelhalter() for label in range(len(sample.predictions.classes))]
    return np.array([cs.calibration_test(sample, each, null=cs.Asymptotic()).pvalue for each in tests])
