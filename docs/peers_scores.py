"""Scores, and calibrated predictions, that other packages compute too."""

from __future__ import annotations

from typing import Any

import numpy as np
import peers_rules as rules
from peers_calls import Comparison, both_columns, labelled, peer, probcal, probmetrics, pycaleva
from peers_data import MANY, TWO, WEIGHTED, Array, Data

import calibstat as cs
from calibstat import calibrators

EVERY = (TWO, WEIGHTED, MANY)
BRIER, LOG = cs.BrierScore(), cs.LogScore()
CLIPPED = "it clips predictions elsewhere than at 1e-15"
FIT, EPSILON = 1e-4, 2.0**-52


def happened(sample: cs.Sample) -> Array:
    """Return whether the event happened."""
    return np.asarray(sample.outcomes)


def isotonic(sample: cs.Sample) -> Array:
    """Return the isotonic fit at the different predictions."""
    return np.asarray(cs.IsotonicCurve()(sample).recalibrated)


def scikit_learn_isotonic(data: Data) -> Array:
    """Return the isotonic fit of scikit-learn at these predictions."""
    fit = peer("sklearn.isotonic").IsotonicRegression().fit(data.p, data.y, data.weights)
    return np.asarray(fit.predict(cs.IsotonicCurve()(data.sample).prediction))


def isotonic_of_scores(data: Data) -> Array:
    """Return the isotonic fit of scores at these predictions."""
    fit = peer("scores.probability").isotonic_fit(data.p, data.y.astype(float), weight=data.weights)
    return np.interp(cs.IsotonicCurve()(data.sample).prediction, fit["fcst_sorted"], fit["regression_values"])


def venn_abers(sample: cs.Sample) -> Array:
    """Return both isotonic fits at the rows."""
    p = sample.predictions.event
    return np.array(calibrators.VennAbers().fit(p, happened(sample)).interval(p))


def package_venn_abers(data: Data) -> Array:
    """Return both isotonic fits of venn-abers at the rows."""
    fit = peer("venn_abers").VennAbers()
    fit.fit(both_columns(data), data.y)
    return np.asarray(fit.predict_proba(both_columns(data))[1]).T


def beta(sample: cs.Sample) -> Array:
    """Return beta-calibrated predictions."""
    p = sample.predictions.event
    return np.asarray(calibrators.Beta(smallest=EPSILON).fit(p, happened(sample)).predict_proba(p)[:, 1])


def package_beta(data: Data) -> Array:
    """Return the calibrated predictions of betacal."""
    fit = peer("betacal").BetaCalibration("abm").fit(data.p[:, None], data.y)
    return np.asarray(fit.predict(data.p[:, None]))


def fitted(calibrator: Any) -> Any:
    """Return the event's calibrated predictions of the rows of the fit, with weights where there are any."""

    def found(sample: cs.Sample) -> Array:
        p = sample.predictions.event
        fit = calibrator.fit(p, happened(sample), sample.predictions.weights)
        return np.asarray(fit.predict_proba(p)[:, 1])

    return found


def fitted_by_probcal(name: str) -> Any:
    """Return the same of a calibrator of probcal."""

    def found(data: Data) -> Array:
        fit = getattr(peer("probcal"), f"{name}Calibrator")().fit(data.p, data.y, sample_weight=data.weights)
        return np.asarray(fit.predict_proba(data.p)).reshape(len(data.p), -1)[:, -1]

    return found


def of_clipped(calibrator: Any) -> Any:
    """Return the calibrated predictions of predictions that are clipped as probcal clips them."""

    def found(data: Data) -> Array:
        p = np.clip(data.p, 1e-12, 1 - 1e-12)
        return np.asarray(calibrator.fit(p, data.y, data.weights).predict_proba(p)[:, 1])

    return found


def histogram_binning(sample: cs.Sample) -> Array:
    """Return mean outcomes of ten cells at the rows."""
    p = sample.predictions.event
    return np.asarray(calibrators.HistogramBinning(cs.EqualWidth(10)).fit(p, happened(sample)).predict_proba(p)[:, 1])


def netcal_binning(data: Data) -> Array:
    """Return mean outcomes of ten cells at the rows, by netcal."""
    fit = peer("netcal.binning").HistogramBinning(10).fit(data.p, data.y)
    return np.asarray(fit.transform(data.p))


def temperature(sample: cs.Sample) -> Array:
    """Return predictions with a temperature."""
    p = sample.predictions.probabilities
    return np.asarray(calibrators.Temperature(smallest=EPSILON).fit(p, happened(sample)).predict_proba(p))


def netcal_temperature(data: Data) -> Array:
    """Return predictions with the temperature of netcal."""
    fit = peer("netcal.scaling").TemperatureScaling().fit(data.p, data.y)
    return np.asarray(fit.transform(data.p))


def log_loss(data: Data) -> float:
    """Return the log loss of scikit-learn."""
    labels = [0, 1] if data.p.ndim == 1 else list(range(data.p.shape[1]))
    return float(peer("sklearn.metrics").log_loss(data.y, data.p, sample_weight=data.weights, labels=labels))


def brier(data: Data) -> float:
    """Return the Brier score of scikit-learn."""
    labels = [0, 1] if data.p.ndim == 1 else list(range(data.p.shape[1]))
    options: dict[str, Any] = {"sample_weight": data.weights, "labels": labels}
    return float(peer("sklearn.metrics").brier_score_loss(data.y, data.p, **options))


SCORES = (
    Comparison("Brier score", "scikit-learn", BRIER, brier, EVERY),
    Comparison("Brier score", "pycaleva", BRIER, lambda data: pycaleva(data).brier),
    Comparison("Brier score", "probcal", BRIER, lambda data: probcal("brier_score", data), (TWO, WEIGHTED)),
    Comparison(
        "Brier score", "calibstats", BRIER, lambda data: peer("calibstats").brier_score(data.p, data.y), (TWO, MANY)
    ),
    Comparison(
        "Brier score",
        "scores",
        BRIER,
        lambda data: peer("scores.probability").brier_score(**labelled(data)),
        (TWO, WEIGHTED),
    ),
    Comparison(
        "Brier score",
        "properscoring",
        BRIER,
        lambda data: np.mean(peer("properscoring").brier_score(data.y, data.p)),
    ),
    Comparison(
        "Brier score",
        "scoringrules",
        BRIER,
        lambda data: np.mean(peer("scoringrules").brier_score(data.y, data.p)),
    ),
    Comparison(
        "Brier score",
        "probmetrics",
        BRIER,
        lambda data: probmetrics("brier", data),
        (TWO, MANY),
        lambda data: BRIER(data.sample) * (2 if data.p.ndim == 1 else 1),
        "it adds both columns of two classes",
    ),
    Comparison(
        "log loss", "scikit-learn", LOG, log_loss, EVERY, lambda data: rules.clipped_log_loss(data, 2.0**-52), CLIPPED
    ),
    Comparison(
        "log loss",
        "probcal",
        LOG,
        lambda data: probcal("log_loss", data),
        (TWO, WEIGHTED),
        lambda data: rules.clipped_log_loss(data, 1e-12),
        CLIPPED,
    ),
    Comparison(
        "log loss",
        "calibstats",
        LOG,
        lambda data: peer("calibstats").nll(data.p, data.y),
        (TWO, MANY),
        lambda data: rules.clipped_log_loss(data, 1e-12),
        CLIPPED,
    ),
    Comparison(
        "log loss",
        "scoringrules",
        cs.LogScore(smallest=0),
        lambda data: np.mean(peer("scoringrules").log_score(data.y, data.p)),
        rule=rules.log_score_of_distance,
        why="it takes one less the distance of outcome and prediction, which is 0 where the chance is below 1e-17",
    ),
    Comparison(
        "log loss",
        "probmetrics",
        LOG,
        lambda data: probmetrics("logloss", data),
        (TWO, MANY),
        rules.probmetrics_log_loss,
        "logarithms are at least -87.3",
    ),
    Comparison(
        "AUC",
        "scikit-learn",
        cs.AUC(),
        lambda data: peer("sklearn.metrics").roc_auc_score(data.y, data.p, sample_weight=data.weights),
        (TWO, WEIGHTED),
    ),
    Comparison("AUC", "pycaleva", cs.AUC(), lambda data: pycaleva(data).auroc),
    Comparison(
        "AUC",
        "scores",
        cs.AUC(),
        lambda data: peer("scores.probability").roc_auc(**labelled(data)),
        (TWO, WEIGHTED),
    ),
    Comparison(
        "isotonic fit",
        "scikit-learn",
        isotonic,
        scikit_learn_isotonic,
        (TWO, WEIGHTED),
        rules.interpolated,
        "predictions closer than 1e-15 count as one, and those above the first of them have no value",
    ),
    Comparison("isotonic fit", "scores", isotonic, isotonic_of_scores, (TWO, WEIGHTED)),
    Comparison(
        "isotonic calibration",
        "probcal",
        fitted(calibrators.Isotonic()),
        fitted_by_probcal("Isotonic"),
        (TWO, WEIGHTED),
        of_clipped(calibrators.Isotonic()),
        "predictions are clipped to 1e-12, and those beyond count as one",
    ),
    Comparison(
        "centred isotonic calibration",
        "probcal",
        fitted(calibrators.CenteredIsotonic()),
        fitted_by_probcal("CenteredIsotonic"),
        (TWO, WEIGHTED),
        rules.pieces_of_equal_height,
        "neighbouring pieces of equal height are two, which leaves a flat stretch; predictions are clipped to 1e-12",
    ),
    Comparison(
        "Venn-Abers",
        "probcal",
        fitted(calibrators.VennAbers()),
        fitted_by_probcal("VennAbers"),
        (TWO, WEIGHTED),
        of_clipped(calibrators.VennAbers()),
        "predictions are clipped to 1e-12, and those beyond count as one",
    ),
    Comparison("Venn-Abers, both fits", "venn-abers", venn_abers, package_venn_abers),
    Comparison(
        "histogram binning",
        "netcal",
        histogram_binning,
        netcal_binning,
        rule=rules.netcal_binning,
        why="it fits cells [low, high) and reads them (low, high]; one without rows has its centre",
    ),
    Comparison(
        "Platt scaling",
        "probcal",
        fitted(calibrators.Platt(smallest=1e-12)),
        fitted_by_probcal("Platt"),
        (TWO, WEIGHTED),
        within=1e-6,
    ),
    Comparison(
        "beta calibration",
        "probcal",
        fitted(calibrators.Beta(smallest=1e-12)),
        fitted_by_probcal("Beta"),
        (TWO, WEIGHTED),
        within=1e-6,
    ),
    Comparison(
        "beta calibration",
        "betacal",
        beta,
        package_beta,
        rule=rules.betacal,
        why="its optimiser stops early",
        within=FIT,
    ),
    Comparison("temperature scaling", "netcal", temperature, netcal_temperature, (MANY,), within=FIT),
)
