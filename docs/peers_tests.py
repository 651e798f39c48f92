"""Test statistics and p-values that other packages compute too."""

from __future__ import annotations

from typing import Any

import peers_rules as rules
from peers_calls import (
    Comparison,
    adjusted,
    both_columns,
    calzone_cox,
    calzone_hosmer_lemeshow,
    class_wise_pvalues,
    logistic,
    mapie,
    mcgrad,
    peer,
    probcal,
    pycaleva,
)
from peers_data import MANY, TWO, WEIGHTED, Data
from scipy.special import ndtr

import calibstat as cs

FIT = 1e-6
NO_LOGITS = ("ties: twentieths", "zeros and ones", "breast cancer")
NO_SLOPE = ("one prediction", *NO_LOGITS)
NO_FIT = "0 and 1 have no log-odds, equal predictions no slope"


def pvalue(estimator: cs.Estimator) -> Any:
    """Return the p-value by the law of large samples."""
    return lambda sample: cs.calibration_test(sample, estimator, null=cs.Asymptotic()).pvalue


def published(binning: cs.Binning) -> Any:
    """Return Hosmer and Lemeshow's statistic and its p-value."""

    def found(sample: cs.Sample) -> tuple[float, float]:
        each = cs.HosmerLemeshow(binning)(sample)
        return each.published, each.published_chi_square_pvalue

    return found


def exact_variance(sample: cs.Sample) -> tuple[float, float]:
    """Return Pigeon and Heyse's statistic and its p-value."""
    found = cs.HosmerLemeshow(10)(sample)
    return found.exact_variance, found.exact_variance_chi_square_pvalue


def grouped(data: Data, name: str) -> tuple[float, float]:
    """Return a statistic of groups by pycaleva, and its p-value."""
    found = getattr(pycaleva(data), name)(verbose=False)
    return float(found.statistic), float(found.pvalue)


def quantile_groups(data: Data) -> tuple[float, float]:
    """Return Hosmer and Lemeshow's statistic by probcal, and its p-value."""
    found = probcal("hosmer_lemeshow", data)
    return found.statistic, found.p_value


def coefficients(sample: cs.Sample) -> tuple[float, ...]:
    """Return slope, intercept and intercept in the large."""
    found = cs.Cox()(sample)
    return found.slope, found.intercept, found.intercept_in_the_large


def with_intervals(sample: cs.Sample) -> tuple[float, ...]:
    """Return slope and intercept, and the ends of their intervals."""
    found = cs.Cox()(sample)
    return found.slope, found.intercept, *found.slope_interval, *found.intercept_interval


def fitted(data: Data) -> tuple[float, ...]:
    """Return slope, intercept and intercept in the large by statsmodels."""
    both = logistic(data).params
    return both[1], both[0], logistic(data, slope=False).params[0]


def fitted_intervals(data: Data) -> tuple[float, ...]:
    """Return slope and intercept by statsmodels, and the ends of their intervals."""
    found = logistic(data)
    intercept, slope = found.conf_int()
    return found.params[1], found.params[0], *slope, *intercept


def ratio_test(sample: cs.Sample) -> tuple[float, float]:
    """Return the likelihood ratio of slope 1 and intercept 0, and its p-value."""
    found = cs.Cox()(sample)
    return found.likelihood_ratio, found.likelihood_ratio_pvalue


def probcal_ratio_test(data: Data) -> tuple[float, float]:
    """Return the likelihood ratio by probcal, and its p-value."""
    found = probcal("calibration_test", data)
    return found.statistic, found.p_value


def belt(sample: cs.Sample) -> tuple[float, float]:
    """Return the statistic of the belt, and its p-value."""
    found = cs.CalibrationBelt()(sample)
    return found.statistic, found.asymptotic_pvalue


def pycaleva_belt(data: Data) -> tuple[float, float]:
    """Return the statistic of the belt by pycaleva, and its p-value."""
    found = pycaleva(data).calbelt()
    return float(found.statistic), float(found.pvalue)


def spiegelhalter(data: Data) -> tuple[float, float]:
    """Return z by calzone, and its p-value."""
    z, p = peer("calzone.metrics").spiegelhalter_z_test(data.y.copy(), both_columns(data))
    return float(z), float(p)


def probcal_z(data: Data) -> tuple[float, float]:
    """Return z by probcal, and its p-value."""
    found = probcal("spiegelhalter_z", data)
    return found.z, found.p_value


def z_test(data: Data) -> tuple[float, float]:
    """Return z by pycaleva, and its p-value."""
    found = pycaleva(data).z_test()
    return float(found.statistic), float(found.pvalue)


def both(estimator: cs.Estimator) -> Any:
    """Return a statistic and its p-value by the law of large samples."""
    return lambda sample: (float(estimator(sample)), pvalue(estimator)(sample))


def mean_bias(data: Data) -> float:
    """Return the mean prediction less the mean outcome, by model-diagnostics."""
    table = peer("model_diagnostics.calibration").compute_bias(data.y, data.p, weights=data.weights)
    return float(table["bias_mean"][0])


SPIEGELHALTER = both(cs.Spiegelhalter())
DISTANCE, RANGE = cs.KolmogorovSmirnov(standardized=True), cs.Kuiper(standardized=True)
TIES_OF_MAPIE = (
    "the walk is read inside of ties, which noise sorts, and without its start; noise of 1e-8 in predictions"
)
TESTS = (
    Comparison("Spiegelhalter's z, p", "pycaleva", SPIEGELHALTER, z_test),
    Comparison("Spiegelhalter's z, p", "calzone", SPIEGELHALTER, spiegelhalter),
    Comparison("Spiegelhalter's z, p", "probcal", SPIEGELHALTER, probcal_z, (TWO, WEIGHTED)),
    Comparison("Spiegelhalter's z", "MAPIE", cs.Spiegelhalter(), lambda data: mapie("spiegelhalter_statistic", data)),
    Comparison(
        "Spiegelhalter's p",
        "MAPIE",
        pvalue(cs.Spiegelhalter()),
        lambda data: mapie("spiegelhalter_p_value", data),
        rule=lambda data: ndtr(-float(cs.Spiegelhalter()(data.sample))),
        why="it is one-sided, against over-confidence only",
    ),
    Comparison(
        "Hosmer-Lemeshow, p",
        "pycaleva",
        published(cs.EqualMass(10)),
        lambda data: grouped(data, "hosmerlemeshow"),
        rule=rules.pycaleva_hosmer_lemeshow,
        why="equal predictions are split by the order of rows; as many degrees of freedom as groups were asked for",
    ),
    Comparison(
        "Hosmer-Lemeshow, p",
        "calzone, df of the cells",
        published(cs.EqualWidth(10)),
        calzone_hosmer_lemeshow,
        rule=rules.calzone_hosmer_lemeshow,
        why="means are clipped to 1e-7; a cell holds its upper edge, and rows at 0 are left out",
    ),
    Comparison(
        "Hosmer-Lemeshow, p",
        "probcal",
        published(cs.Quantiles(10)),
        quantile_groups,
        rule=rules.probcal_hosmer_lemeshow,
        why="a cell holds its lower edge; predictions are clipped to 1e-12",
    ),
    Comparison(
        "Pigeon-Heyse, p",
        "pycaleva",
        exact_variance,
        lambda data: grouped(data, "pigeonheyse"),
        rule=rules.pycaleva_pigeon_heyse,
        why="as for its Hosmer-Lemeshow; a group of predictions without variance adds nothing, whatever happened",
    ),
    Comparison(
        "Kolmogorov-Smirnov statistic",
        "MAPIE",
        DISTANCE,
        lambda data: mapie("kolmogorov_smirnov_statistic", data),
        rule=lambda data: rules.walk_of_mapie(data)[0],
        why=TIES_OF_MAPIE,
    ),
    Comparison(
        "Kolmogorov-Smirnov p",
        "MAPIE",
        pvalue(DISTANCE),
        lambda data: mapie("kolmogorov_smirnov_p_value", data),
        rule=lambda data: cs.kolmogorov_smirnov_sf(rules.walk_of_mapie(data)[0]),
        why=TIES_OF_MAPIE,
    ),
    Comparison(
        "Kuiper's statistic",
        "MAPIE",
        RANGE,
        lambda data: mapie("kuiper_statistic", data),
        rule=lambda data: rules.walk_of_mapie(data)[1],
        why=TIES_OF_MAPIE,
    ),
    Comparison(
        "Kuiper's p",
        "MAPIE",
        pvalue(RANGE),
        lambda data: mapie("kuiper_p_value", data),
        rule=lambda data: cs.kuiper_sf(rules.walk_of_mapie(data)[1]),
        why=TIES_OF_MAPIE,
    ),
    Comparison(
        "Kuiper's statistic",
        "MCGrad",
        RANGE,
        lambda data: mcgrad("ecce_sigma", data),
        (TWO, WEIGHTED),
        lambda data: rules.walk_of_mcgrad(data) / rules.scale(data),
        "the walk is read inside of ties, where it depends on the order of rows",
    ),
    Comparison(
        "Kuiper's p",
        "MCGrad",
        pvalue(RANGE),
        lambda data: mcgrad("ecce_pvalue", data),
        (TWO, WEIGHTED),
        lambda data: cs.kuiper_sf(rules.walk_of_mcgrad(data) / rules.scale(data)),
        "as for its statistic",
    ),
    Comparison(
        "mean outcome less mean prediction",
        "model-diagnostics",
        cs.MeanCalibration(),
        lambda data: -mean_bias(data),
        (TWO, WEIGHTED),
    ),
    Comparison(
        "observed over expected",
        "MCGrad",
        cs.ObservedToExpected(),
        lambda data: 1 / mcgrad("calibration_ratio", data),
        (TWO, WEIGHTED),
    ),
    Comparison(
        "Cox slope, intercept, intercept in the large",
        "statsmodels",
        coefficients,
        fitted,
        (TWO, WEIGHTED),
        without=NO_SLOPE,
        because=NO_FIT,
    ),
    Comparison(
        "Cox slope, intercept, their intervals",
        "statsmodels",
        with_intervals,
        fitted_intervals,
        without=NO_SLOPE,
        because=NO_FIT,
    ),
    Comparison(
        "Cox slope, intercept, their intervals",
        "calzone",
        with_intervals,
        calzone_cox,
        within=FIT,
        without=NO_SLOPE,
        because=NO_FIT,
    ),
    Comparison(
        "Cox slope, intercept in the large",
        "probcal",
        lambda sample: coefficients(sample)[::2],
        lambda data: (probcal("calibration_slope", data), probcal("calibration_intercept", data)),
        (TWO, WEIGHTED),
        without=NO_SLOPE,
        because=NO_FIT,
    ),
    Comparison(
        "Cox likelihood ratio, p",
        "probcal",
        ratio_test,
        probcal_ratio_test,
        (TWO, WEIGHTED),
        rules.rao_scott,
        "Rao and Scott's correction for weights, here one scale",
        without=NO_SLOPE,
        because=NO_FIT,
    ),
    Comparison(
        "calibration belt, p",
        "pycaleva",
        belt,
        pycaleva_belt,
        within=FIT,
        without=NO_SLOPE,
        because=NO_FIT,
    ),
    Comparison(
        "Holm's p-values of all classes",
        "statsmodels",
        lambda sample: cs.holm(class_wise_pvalues(sample)),
        lambda data: adjusted(data, "holm"),
        (MANY,),
    ),
    Comparison(
        "Benjamini and Hochberg's p-values",
        "statsmodels",
        lambda sample: cs.benjamini_hochberg(class_wise_pvalues(sample)),
        lambda data: adjusted(data, "fdr_bh"),
        (MANY,),
    ),
    Comparison(
        "Benjamini and Yekutieli's p-values",
        "statsmodels",
        lambda sample: cs.benjamini_yekutieli(class_wise_pvalues(sample)),
        lambda data: adjusted(data, "fdr_by"),
        (MANY,),
    ),
)
