"""Calibration errors and curves that other packages compute too."""

from __future__ import annotations

from typing import Any

import numpy as np
import peers_rules as rules
from peers_calls import (
    SINGLE,
    Comparison,
    calzone,
    diagnosed,
    kumar,
    mapie_class_wise,
    mapie_error,
    mcgrad,
    netcal,
    peer,
    probcal,
    probmetrics,
    pycaleva,
    torch_error,
)
from peers_data import MANY, TWO, WEIGHTED, Array, Data

import calibstat as cs

EDGES = np.linspace(0, 1, 11)
TEN, FIFTEEN = cs.ECE(cs.EqualWidth(10)), cs.TopLabel() | cs.ECE(cs.EqualWidth(15))
LARGEST, ROOT_MEAN_SQUARE = cs.MCE(cs.EqualWidth(10)), cs.RMSCE(cs.EqualWidth(10))
CLASS_WISE = cs.EachClass(cs.ECE(cs.EqualWidth(15)))
UPPER = "a cell holds its upper edge"


def debiased_root(**options: Any) -> Any:
    """Return the root of the debiased squared error, and 0 below 0."""
    return lambda sample: max(0.0, float(cs.DebiasedCE(cs.EqualWidth(10), **options)(sample))) ** 0.5


def mean_over_cells(sample: cs.Sample) -> float:
    """Return the mean error of the cells that hold rows, all of which count alike."""
    cells = cs.HistogramRegression(cs.EqualWidth(10))(sample).sel(label=1)
    return float(np.nanmean(np.abs(cells["deviation"].values)))


def points(binning: cs.Binning) -> Any:
    """Return mean outcomes and mean predictions of the cells that hold rows."""

    def found(sample: cs.Sample) -> Array:
        cells = cs.HistogramRegression(binning)(sample).sel(label=1)
        means = np.array([cells["mean_outcome"].values, cells["mean_prediction"].values])
        return means[:, ~np.isnan(means[0])]

    return found


def curve(data: Data, strategy: str) -> Array:
    """Return the points of scikit-learn's calibration curve."""
    return np.array(peer("sklearn.calibration").calibration_curve(data.y, data.p, n_bins=10, strategy=strategy))


def parts(sample: cs.Sample) -> tuple[float, ...]:
    """Return calibration, sharpness and uncertainty of the Brier score in ten cells."""
    found = cs.BrierDecomposition(cs.EqualWidth(10))(sample)
    return found.calibration, found.sharpness, found.uncertainty


def corp(score: cs.Score) -> Any:
    """Return miscalibration, discrimination and uncertainty of a score."""

    def found(sample: cs.Sample) -> tuple[float, ...]:
        each = cs.CORP(score)(sample)
        return each.miscalibration, each.discrimination, each.uncertainty

    return found


def indices(sample: cs.Sample) -> tuple[float, ...]:
    """Return the mean, the median, the 0.9 quantile and the maximum of the distance of a local line."""
    found = cs.ICI(cs.LOESS(0.75, degree=1, n_cells=None))(sample)
    return found.ici, found.e50, found.e90, found.emax


def murphy(data: Data) -> tuple[float, ...]:
    """Return the parts of the Brier score by probcal."""
    found = probcal("murphy_decomposition", data, n_bins=10, strategy="width")
    return found.reliability, found.resolution, found.uncertainty


def stated_parts(data: Data) -> tuple[float, ...]:
    """Return the parts of the Brier score by calibstats."""
    found = peer("calibstats").brier_decomposition(data.p, data.y, n_bins=10)
    return found["calibration"], found["resolution"], found["uncertainty"]


def lowess_gap(data: Data) -> float:
    """Return the mean distance of the prediction and the outcomes that statsmodels smooths."""
    lowess = peer("statsmodels.api").nonparametric.lowess
    found = lowess(data.y, data.p, frac=0.5, it=0, delta=0.0, return_sorted=False)
    return float(np.abs(found - data.p).mean())


BINARY = (
    Comparison("ECE", "netcal", TEN, lambda data: netcal(data, "ECE", 10)),
    Comparison(
        "ECE",
        "uncertainty-calibration",
        TEN,
        lambda data: peer("calibration").get_ece(data.p, data.y, num_bins=10),
        rule=lambda data: rules.error_of_cells(data.y, data.p, np.searchsorted(np.arange(1, 11) / 10, data.p)),
        why=UPPER,
    ),
    Comparison(
        "ECE",
        "pycalib",
        TEN,
        lambda data: peer("pycalib.metrics").binary_ECE(data.y, data.p, bins=10),
        rule=lambda data: rules.error_of_cells(data.y, data.p, rules.cells_of_pycalib(data.p, 10)),
        why="its edges end at 1 + 1e-8",
    ),
    Comparison(
        "ECE",
        "torchmetrics",
        TEN,
        torch_error,
        rule=lambda data: rules.error_of_cells(data.y, data.p, rules.cells_of_torch(data.p)),
        why="ones are a cell of their own; edges of torch are other floats than NumPy's",
    ),
    Comparison(
        "ECE",
        "MAPIE, num_bins=11",
        TEN,
        lambda data: mapie_error(data, 11),
        rule=lambda data: rules.error_of_cells(data.y, data.p, rules.cells_above(data.p, EDGES)),
        why="a cell holds its upper edge, and zeros are a cell of their own",
    ),
    Comparison(
        "ECE",
        "MAPIE, num_bins=10",
        TEN,
        lambda data: mapie_error(data, 10),
        rule=lambda data: rules.error_of_cells(data.y, data.p, rules.cells_above(data.p, np.linspace(0, 1, 10))),
        why="it counts edges, so there are nine cells; the rest as above",
    ),
    Comparison(
        "ECE",
        "calzone",
        TEN,
        lambda data: peer("calzone.metrics").calculate_ece_mce(*calzone(data))[0],
        rule=lambda data: rules.calzone_cells(data)[0],
        why="a cell holds its upper edge, and rows at 0 are left out",
    ),
    Comparison(
        "ECE",
        "probcal",
        TEN,
        lambda data: probcal("ece", data, n_bins=10, strategy="width"),
        (TWO, WEIGHTED),
    ),
    Comparison(
        "ECE",
        "MCGrad",
        TEN,
        lambda data: mcgrad("expected_calibration_error", data, num_bins=10),
        (TWO, WEIGHTED),
    ),
    Comparison("ECE", "calibstats", TEN, lambda data: peer("calibstats").ece(data.p, data.y, n_bins=10)),
    Comparison("MCE", "netcal", LARGEST, lambda data: netcal(data, "MCE", 10)),
    Comparison(
        "MCE",
        "pycalib",
        LARGEST,
        lambda data: peer("pycalib.metrics").binary_MCE(data.y, data.p, bins=10),
        rule=lambda data: rules.error_of_cells(data.y, data.p, rules.cells_of_pycalib(data.p, 10), np.inf),
        why="its edges end at 1 + 1e-8",
    ),
    Comparison(
        "MCE",
        "torchmetrics",
        LARGEST,
        lambda data: torch_error(data, "max"),
        rule=lambda data: rules.error_of_cells(data.y, data.p, rules.cells_of_torch(data.p), np.inf),
        why="as for its ECE",
    ),
    Comparison(
        "MCE",
        "calzone",
        LARGEST,
        lambda data: peer("calzone.metrics").calculate_ece_mce(*calzone(data))[1],
        rule=lambda data: rules.calzone_cells(data)[1],
        why="as for its ECE",
    ),
    Comparison(
        "MCE",
        "probcal",
        LARGEST,
        lambda data: probcal("ece", data, n_bins=10, strategy="width", norm="max"),
        (TWO, WEIGHTED),
    ),
    Comparison(
        "root of the mean squared error",
        "torchmetrics",
        ROOT_MEAN_SQUARE,
        lambda data: torch_error(data, "l2"),
        rule=lambda data: rules.error_of_cells(data.y, data.p, rules.cells_of_torch(data.p), 2),
        why="as for its ECE",
    ),
    Comparison(
        "root of the mean squared error",
        "probcal",
        ROOT_MEAN_SQUARE,
        lambda data: probcal("ece", data, n_bins=10, strategy="width", norm="l2"),
        (TWO, WEIGHTED),
    ),
    Comparison(
        "root of the debiased squared error",
        "uncertainty-calibration",
        debiased_root(),
        lambda data: kumar(data, 2, True, "get_equal_prob_bins"),
        rule=lambda data: rules.debiased_error_of_cells(data.y, data.p, np.searchsorted(np.arange(1, 11) / 10, data.p)),
        why=UPPER,
    ),
    Comparison(
        "root of the debiased squared error",
        "calibstats",
        debiased_root(single_rows="plugin"),
        lambda data: peer("calibstats").debiased_ece(data.p, data.y, n_bins=10),
    ),
    Comparison(
        "ECE, equal mass",
        "uncertainty-calibration",
        cs.ECE(cs.EqualMass(10)),
        lambda data: kumar(data, 1, False, "get_equal_bins"),
    ),
    Comparison(
        "ECE, equal mass",
        "pycaleva",
        cs.ECE(cs.EqualMass(10)),
        lambda data: pycaleva(data).ace,
        rule=rules.pycaleva_mean,
        why="all cells count alike, however many rows they hold; ties may be split by the order of rows",
    ),
    Comparison(
        "ECE between quantiles",
        "netcal",
        cs.ECE(cs.Quantiles(10)),
        lambda data: netcal(data, "ECE", 10, equal_intervals=False),
        rule=lambda data: rules.error_of_cells(data.y, data.p, rules.cells_of_netcal(data.p)),
        why="a cell holds its lower edge",
        without=("one prediction", "zeros and ones", "breast cancer"),
        because="it stops where quantiles are equal",
    ),
    Comparison(
        "ECE between quantiles",
        "probcal",
        cs.ECE(cs.Quantiles(10)),
        lambda data: probcal("ece", data, n_bins=10),
        rule=lambda data: rules.error_of_cells(data.y, data.p, rules.cells_from_quantiles(data.p, 10)),
        why="a cell holds its lower edge",
    ),
    Comparison(
        "ECE between quantiles",
        "calibstats",
        cs.ECE(cs.Quantiles(10)),
        lambda data: peer("calibstats").ace(data.p, data.y, n_bins=10),
        rule=lambda data: rules.error_of_cells(data.y, data.p, rules.cells_of_calibstats(data.p)),
        why="a cell holds its lower edge",
    ),
    Comparison(
        "ECE between quantiles",
        "MCGrad",
        cs.ECE(cs.Quantiles(10)),
        lambda data: mcgrad("adaptive_calibration_error", data, num_bins=10),
        rule=lambda data: rules.error_of_cells(data.y, data.p, rules.cells_of_mcgrad(data.p)),
        why="its edges are quantiles rounded to three digits; a cell holds its lower edge",
        without=("one prediction",),
        because="it stops where there is no cell",
    ),
    Comparison("mean error of cells", "netcal ACE", mean_over_cells, lambda data: netcal(data, "ACE", 10)),
    Comparison(
        "ECE of a monotone sweep",
        "probcal",
        cs.ECESweep(),
        lambda data: probcal("ece_sweep", data),
        rule=rules.probcal_sweep,
        why="cells between quantiles, where the authors split the order of rows; at most 100 cells",
    ),
    Comparison(
        "points of a curve",
        "scikit-learn",
        points(cs.EqualWidth(10)),
        lambda data: curve(data, "uniform"),
        rule=lambda data: rules.means_of_cells(data.y, data.p, np.searchsorted(EDGES[1:-1], data.p)),
        why=UPPER,
    ),
    Comparison(
        "points between quantiles",
        "scikit-learn",
        points(cs.Quantiles(10)),
        lambda data: curve(data, "quantile"),
    ),
    Comparison("parts of the Brier score", "probcal", parts, murphy, (TWO, WEIGHTED)),
    Comparison("parts of the Brier score", "calibstats", parts, stated_parts),
    Comparison(
        "CORP, Brier score",
        "model-diagnostics",
        corp(cs.BrierScore()),
        diagnosed,
        (TWO, WEIGHTED),
        rules.scikit_learn_corp,
        "scikit-learn's isotonic fit merges predictions next to 1, and has no value above them",
    ),
    Comparison(
        "CORP, log loss",
        "model-diagnostics",
        corp(cs.LogScore()),
        lambda data: diagnosed(data, "LogLoss"),
        (TWO, WEIGHTED),
        without=("ties: twentieths", "zeros and ones", "breast cancer"),
        because="it is infinite where something happened that was called impossible",
    ),
)

WITHOUT_CELLS = (
    Comparison(
        "smooth ECE",
        "relplot",
        cs.SmoothECE(),
        lambda data: peer("relplot").smECE(f=data.p, y=data.y),
        rule=rules.relplot_smooth,
        why="rows at 0 and 1 count half, its mirror image leaves out the ends; coarser mesh and bandwidth",
    ),
    Comparison(
        "smooth ECE of bandwidth 0.1",
        "relplot",
        cs.SmoothECE(bandwidth=0.1),
        lambda data: peer("relplot").smECE_sigma(data.p, data.y, 0.1),
        rule=lambda data: rules.reflected_error(data.p, data.p - data.y, 0.1),
        why="the same, but for the bandwidth",
    ),
    Comparison(
        "smooth ECE",
        "probmetrics",
        cs.SmoothECE(),
        lambda data: probmetrics("smece", data),
        rule=rules.relplot_smooth,
        why="it calls relplot; single precision",
        rule_within=SINGLE,
    ),
    Comparison(
        "Kolmogorov-Smirnov error",
        "probcal",
        cs.KolmogorovSmirnov(),
        lambda data: probcal("ecce", data).stat_max,
        (TWO, WEIGHTED),
    ),
    Comparison(
        "Kuiper's error",
        "MCGrad",
        cs.Kuiper(),
        lambda data: mcgrad("ecce", data),
        (TWO, WEIGHTED),
        rules.walk_of_mcgrad,
        "the walk is read inside of ties, where it depends on the order of rows",
    ),
    Comparison(
        "Kuiper's error",
        "probmetrics",
        cs.Kuiper(),
        lambda data: probmetrics("kuiper", data),
        rule=rules.walk_of_probmetrics,
        why="single precision; the walk is read inside of ties",
        rule_within=SINGLE,
    ),
    Comparison(
        "squared kernel error",
        "probcal",
        cs.SKCE(0.2),
        lambda data: probcal("skce", data, bandwidth=0.2),
    ),
    Comparison(
        "squared kernel error, biased",
        "probcal",
        cs.SKCE(0.2, kind="biased"),
        lambda data: probcal("skce", data, bandwidth=0.2, estimator="biased"),
    ),
    Comparison(
        "MMCE of the event",
        "netcal",
        lambda sample: cs.KCE(0.4)(sample) / np.sqrt(2),
        lambda data: peer("netcal.metrics").MMCE().measure(data.p, data.y),
        rule=rules.netcal_mmce,
        why="it compares the chance of the event with whether the likelier outcome came",
    ),
    Comparison(
        "ICI by a local line",
        "statsmodels",
        cs.ICI(cs.LOESS(0.5, degree=1, n_cells=None)),
        lowess_gap,
        rule=rules.statsmodels_gap,
        why="a neighbourhood of nearly equal predictions has no slope",
        without=("one prediction",),
        because="it has no curve there",
    ),
    Comparison(
        "ICI, E50, E90, Emax by a local line",
        "probcal",
        indices,
        lambda data: [probcal(name, data, grid_size=None) for name in ("ici", "e50", "e90", "emax")],
    ),
)

SEVERAL = (
    Comparison("ECE of the top label", "netcal", FIFTEEN, lambda data: netcal(data, "ECE", 15), (MANY,)),
    Comparison(
        "ECE of the top label",
        "uncertainty-calibration",
        FIFTEEN,
        lambda data: peer("calibration").get_ece(data.p, data.y, num_bins=15),
        (MANY,),
        lambda data: rules.error_of_cells(*rules.top(data), np.searchsorted(np.arange(1, 16) / 15, rules.top(data)[1])),
        UPPER,
    ),
    Comparison(
        "ECE of the top label",
        "pycalib",
        FIFTEEN,
        lambda data: peer("pycalib.metrics").conf_ECE(data.y, data.p, bins=15),
        (MANY,),
        rules.pycalib_top,
        "ends of a cell are added up one by one, so that rows on an edge are in two cells or in none",
    ),
    Comparison(
        "ECE of the top label",
        "torchmetrics",
        FIFTEEN,
        torch_error,
        (MANY,),
        rules.torch_top,
        "ones are a cell of their own; single precision",
        rule_within=SINGLE,
    ),
    Comparison(
        "ECE of the top label",
        "probmetrics",
        FIFTEEN,
        lambda data: probmetrics("ece-15", data),
        (MANY,),
        rules.torch_top,
        "it calls torchmetrics",
        rule_within=SINGLE,
    ),
    Comparison(
        "ECE of the top label",
        "calibstats",
        FIFTEEN,
        lambda data: peer("calibstats").ece(data.p, data.y, n_bins=15),
        (MANY,),
    ),
    Comparison(
        "ECE of the top label, equal mass",
        "uncertainty-calibration",
        cs.TopLabel() | cs.ECE(cs.EqualMass(15)),
        lambda data: kumar(data, 1, False, "get_equal_bins", 15, "top-label"),
        (MANY,),
    ),
    Comparison(
        "class-wise ECE",
        "pycalib",
        CLASS_WISE,
        lambda data: peer("pycalib.metrics").classwise_ECE(data.y, data.p, bins=15),
        (MANY,),
        lambda data: rules.mean_over_classes(data, lambda p: rules.cells_of_pycalib(p, 15)),
        "its edges end at 1 + 1e-8",
    ),
    Comparison(
        "class-wise ECE",
        "MAPIE, num_bins=16",
        CLASS_WISE,
        mapie_class_wise,
        (MANY,),
    ),
    Comparison(
        "class-wise ECE",
        "classifier-calibration",
        CLASS_WISE,
        lambda data: peer("classifier_calibration.calibration_error").classwise_ece(data.p, data.y, num_bins=15),
        (MANY,),
        lambda data: rules.mean_over_classes(data, rules.cells_of_percents),
        "a cell is found by dividing percents, whose floats are others on an edge",
    ),
    Comparison(
        "class-wise root mean square, equal mass",
        "uncertainty-calibration",
        cs.EachClass(cs.RMSCE(cs.EqualMass(15)), norm=2),
        lambda data: kumar(data, 2, False, "get_equal_bins", 15),
        (MANY,),
    ),
    Comparison(
        "class-wise debiased root, equal mass",
        "uncertainty-calibration",
        lambda sample: float(cs.EachClass(cs.DebiasedCE(cs.EqualMass(15), root=True), norm=2)(sample)),
        lambda data: kumar(data, 2, True, "get_equal_bins", 15),
        (MANY,),
    ),
    Comparison(
        "ECE of whole vectors, twice",
        "pycalib full_ECE",
        lambda sample: 2 * cs.ECE(cs.SimplexGrid(15))(sample),
        lambda data: peer("pycalib.metrics").full_ECE(data.y, data.p, bins=15),
        (MANY,),
        rules.pycalib_full,
        "a cell holds its lower edge, and ones are a cell of their own",
    ),
    Comparison(
        "MMCE of the top label",
        "netcal",
        lambda sample: (cs.TopLabel() | cs.KCE(0.4))(sample) / np.sqrt(2),
        lambda data: peer("netcal.metrics").MMCE().measure(data.p, data.y),
        (MANY,),
    ),
)
ERRORS = (*BINARY, *WITHOUT_CELLS, *SEVERAL)
