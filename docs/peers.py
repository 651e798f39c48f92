"""Compares calibstat with other packages on ten data sets: ``python docs/peers.py`` writes the tables of peers.md.

The other packages are needed to write the page, and only there: they are named in `PACKAGES`. Where a package gives
another number, `Comparison.rule` computes that number from the package's own rule, which says where it departs.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

import calibstat as cs

PAGE = Path(__file__).resolve().parent / "peers.md"
PACKAGES = (
    "calzone-tool",
    "mapie",
    "model-diagnostics",
    "netcal",
    "pycaleva",
    "pycalib",
    "relplot",
    "scikit-learn",
    "torchmetrics",
    "uncertainty-calibration",
)
AGREES = 1e-9
Array = np.ndarray[Any, Any]


# Data sets


@dataclass(frozen=True)
class Data:
    """Labels 0, 1, ..., predictions (n,) of the event or (n, K), and weights or nothing."""

    name: str
    y: Array
    p: Array
    weights: Array | None = None

    @property
    def sample(self) -> cs.Sample:
        """The rows as calibstat takes them."""
        n_classes = 2 if self.p.ndim == 1 else self.p.shape[1]
        return cs.Sample(self.y, self.p, sample_weight=self.weights, labels=list(range(n_classes)))

    @property
    def kind(self) -> str:
        """To which comparisons the rows belong."""
        if self.weights is not None:
            return "weighted"
        return "two classes" if self.p.ndim == 1 else "many classes"


@cache
def data_sets() -> tuple[Data, ...]:
    """Return the data sets of the page."""
    return (*_made(), *_shipped())


def _made() -> Iterator[Data]:
    rng = np.random.Generator(np.random.PCG64(27))

    def happens(chance: Array) -> Array:
        return (rng.random(len(chance)) < chance).astype(int)

    p = rng.random(2000)
    yield Data("continuous", happens(expit(1.5 * np.log(p / (1 - p)))), p)
    number = rng.integers(0, 21, 2000)
    p = number / 20
    yield Data("ties: twentieths", happens(np.clip(p + np.where(number % 4 < 2, 0.1, -0.1), 0, 1)), p)
    p = rng.beta(1, 99, 5000)
    yield Data("rare events", happens(p), p)
    p = rng.random(60)
    yield Data("60 rows", happens(p), p)
    yield Data("one prediction", happens(np.full(500, 0.3)), np.full(500, 0.3))
    p = rng.choice([0, 0.2, 0.5, 1], 800)
    yield Data("zeros and ones", happens(0.1 + 0.8 * p), p)
    p = rng.random(1500)
    yield Data("weighted", happens(expit(1.5 * np.log(p / (1 - p)))), p, rng.exponential(size=1500))
    rows = rng.dirichlet(np.full(50, 0.1), 2000)
    yield Data("fifty classes", (rows.cumsum(axis=1)[:, :-1] < rng.random((2000, 1))).sum(axis=1), rows)


def _shipped() -> Iterator[Data]:
    from sklearn.datasets import load_breast_cancer, load_digits
    from sklearn.model_selection import cross_val_predict
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier

    X, y = load_breast_cancer(return_X_y=True)
    yield Data("breast cancer", y, cross_val_predict(GaussianNB(), X, y, method="predict_proba")[:, 1])
    X, y = load_digits(return_X_y=True)
    neighbours = cross_val_predict(KNeighborsClassifier(15), X, y, method="predict_proba")
    yield Data("digits: fifteenths", y, neighbours)


# Rules of other packages


def cells_below(values: Array, edges: Array) -> Array:
    """The number of the cell [edge, next edge) of each value."""
    return np.searchsorted(edges, values, side="right") - 1


def cells_above(values: Array, edges: Array) -> Array:
    """The number of the cell (edge, next edge] of each value."""
    return np.searchsorted(edges, values, side="left") - 1


def error_of_cells(right: Array, said: Array, cells: Array) -> float:
    """Return the ECE of given cells."""
    return sum(abs((right - said)[cells == cell].sum()) for cell in np.unique(cells)) / len(said)


def top(data: Data) -> tuple[Array, Array]:
    """Whether the most likely class came, and what it was said to have."""
    return (data.p.argmax(axis=1) == data.y).astype(float), data.p.max(axis=1)


def halves_and_steps(n_bins: int, dtype: Any) -> Array:
    """Return the edges of torch: steps are counted from 0 below one half and back from 1 above."""
    step, numbers = dtype(1) / dtype(n_bins), np.arange(n_bins + 1).astype(dtype)
    return np.where(numbers < (n_bins + 1) / 2, numbers * step, dtype(1) - (dtype(n_bins) - numbers) * step)


def torch_top(data: Data) -> float:
    """Confidences, cells and sums in single precision."""
    right, said = (each.astype(np.float32) for each in top(data))
    cells = cells_below(said, halves_and_steps(15, np.float32))
    sums = np.zeros((3, 16), dtype=np.float32)
    for row, values in zip(sums, (np.ones_like(said), said, right), strict=True):
        np.add.at(row, cells, values)
    count, confidence, accuracy = sums[:, sums[0] > 0]
    return float(np.abs(accuracy / count - confidence / count) @ (count / count.sum()))


def debiased_error_of_cells(right: Array, said: Array, cells: Array) -> float:
    """Return the root of the debiased squared error of given cells (Kumar et al. 2019), and 0 below 0."""
    total = 0.0
    for rows in (cells == cell for cell in np.unique(cells)):
        happened, count = right[rows].mean(), rows.sum()
        total += count * ((happened - said[rows].mean()) ** 2 - happened * (1 - happened) / (count - 1))
    return max(0.0, total / len(said)) ** 0.5


def pycaleva_cells(data: Data) -> tuple[Array, Array, Array]:
    """Outcomes and predictions in order, and cells between quantiles; if some are equal, ten parts of the order."""
    p = pd.Series(data.p).sort_values()
    y = data.y[p.index]
    try:
        cells = pd.qcut(p, 10)
    except ValueError:
        cells = pd.qcut(p.rank(method="first"), 10)
    return y, p.to_numpy(), cells.cat.codes.to_numpy()


def pycaleva_mean(data: Data) -> float:
    """The mean distance over these cells, whatever their numbers of rows."""
    y, p, cells = pycaleva_cells(data)
    return float(np.mean([abs((y - p)[cells == cell].mean()) for cell in np.unique(cells)]))


def pycaleva_hosmer_lemeshow(data: Data) -> float:
    """Hosmer and Lemeshow's sum over these cells."""
    y, p, cells = pycaleva_cells(data)
    terms = []
    for rows in (cells == cell for cell in np.unique(cells)):
        mean, apart = p[rows].mean(), (y[rows] - p[rows]).sum()
        variance = rows.sum() * mean * (1 - mean)
        terms.append(0.0 if variance == apart == 0 else apart**2 / variance if variance else np.inf)
    return float(sum(terms))


def pycalib_top(data: Data) -> float:
    """Cells (a, b], where b is counted up and a is b less a width, which need not be the b before."""
    right, said = top(data)
    width = 1 / 15
    cells = [(said > upper - width) & (said <= upper) for upper in np.arange(width, 1 + width, width)]
    return sum(abs((right - said)[rows].sum()) for rows in cells) / len(said)


def reflected_error(p: Array, residuals: Array, width: float) -> float:
    """The smoothed error of relplot: rows are spread over a grid, and smoothed values read at a mesh."""
    n_grid = max(2000, round(20 / width)) // 2 + 1
    mesh = np.linspace(0, 1, max(round(10 / width), 200))
    kernel = np.exp(-((np.linspace(0, 1, n_grid) - 0.5) ** 2) / (2 * width**2)) / (np.sqrt(2 * np.pi) * width)

    def smoothed(values: Array) -> Array:
        below = (p * (n_grid - 1)).astype(int).clip(0, n_grid - 2)
        above = p * (n_grid - 1) - below
        grid = np.bincount(below, (1 - above) * values, n_grid) + np.bincount(below + 1, above * values, n_grid)
        mirrored = np.concatenate([grid[::-1][:-1], grid, grid[::-1][1:]])
        found = np.convolve(mirrored, kernel, "valid")[n_grid // 2 : n_grid // 2 + n_grid]
        place = (mesh * (n_grid - 1)).astype(int).clip(0, n_grid - 2)
        share = (mesh - place / (n_grid - 1)) * (n_grid - 1)
        return found[place] * (1 - share) + found[place + 1] * share

    density = smoothed(np.ones_like(residuals)) + 1e-4
    return float(np.abs(smoothed(residuals)).sum() / density.sum())


def relplot_smooth(data: Data) -> float:
    """Ten bisections for the bandwidth that equals its error."""
    residuals, start, end = data.p - data.y, 1.0, 0.0
    if reflected_error(data.p, residuals, 1.0) > 1.0:
        return reflected_error(data.p, residuals, 1.0)
    for _ in range(10):
        middle = (start + end) / 2
        if middle < 0.001 or middle < reflected_error(data.p, residuals, middle):
            end = middle
        else:
            start = middle
    return reflected_error(data.p, residuals, start)


def scikit_learn_corp(data: Data) -> float:
    """The isotonic fit of scikit-learn, read at the predictions that it was fitted to by interpolation."""
    from sklearn.isotonic import IsotonicRegression

    fitted = IsotonicRegression().fit(data.p, data.y, data.weights).predict(data.p)
    losses = (data.p - data.y) ** 2 - (fitted - data.y) ** 2
    return float(np.average(losses, weights=data.weights))


# Comparisons


def peer(name: str) -> Any:
    """Import another package, silencing what it warns of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return import_module(name)


def torch_error(data: Data) -> float:
    """The error of torchmetrics, of the event or of the most likely class."""
    torch, metrics = peer("torch"), peer("torchmetrics.functional.classification")
    p, y = torch.tensor(data.p), torch.tensor(data.y)
    if data.p.ndim == 1:
        return float(metrics.binary_calibration_error(p, y, n_bins=10))
    return float(metrics.multiclass_calibration_error(p, y, num_classes=data.p.shape[1], n_bins=15))


def mapie_error(data: Data, n_edges: int) -> float:
    """The error of MAPIE, which writes into the labels it is given."""
    metrics = peer("mapie.metrics.calibration")
    return float(
        metrics.expected_calibration_error(data.y.copy(), data.p.copy(), num_bins=n_edges, split_strategy="uniform")
    )


def kumar(data: Data, order: int, debias: bool, scheme: str) -> float:
    """An error of uncertainty-calibration."""
    calibration = peer("calibration")
    options = {"num_bins": 10, "binning_scheme": getattr(calibration, scheme), "mode": "marginal"}
    return float(calibration.lower_bound_scaling_ce(data.p, data.y, p=order, debias=debias, **options))


def pycaleva(data: Data) -> Any:
    """The evaluator of pycaleva, of predictions from elsewhere."""
    return peer("pycaleva").CalibrationEvaluator(data.y, data.p, True, 10)


def both_columns(data: Data) -> Array:
    """Return the predictions of the event beside those of its absence."""
    return np.column_stack([1 - data.p, data.p])


def diagnosed(data: Data) -> float:
    """The miscalibration part of model-diagnostics."""
    scoring = peer("model_diagnostics.scoring")
    table = scoring.decompose(data.y, data.p, scoring_function=scoring.SquaredError(), weights=data.weights)
    return float(table["miscalibration"][0])


TWO, MANY, WEIGHTED = "two classes", "many classes", "weighted"
TEN, FIFTEEN = cs.ECE(cs.EqualWidth(10)), cs.TopLabel() | cs.ECE(cs.EqualWidth(15))


def corp(sample: cs.Sample) -> float:
    """The miscalibration part of the Brier score."""
    return float(cs.CORP(cs.BrierScore())(sample).miscalibration)


@dataclass(frozen=True)
class Comparison:
    """One quantity, computed here and by another package; its rule, where its numbers are others, and why they are."""

    quantity: str
    package: str
    ours: Callable[[cs.Sample], float]
    theirs: Callable[[Data], float]
    kinds: tuple[str, ...] = (TWO,)
    rule: Callable[[Data], float] | None = None
    why: str = ""


COMPARISONS = (
    Comparison("ECE", "netcal", TEN, lambda data: peer("netcal.metrics").ECE(10).measure(data.p, data.y)),
    Comparison(
        "MCE", "netcal", cs.MCE(cs.EqualWidth(10)), lambda data: peer("netcal.metrics").MCE(10).measure(data.p, data.y)
    ),
    Comparison(
        "ECE",
        "uncertainty-calibration",
        TEN,
        lambda data: peer("calibration").get_ece(data.p, data.y, num_bins=10),
        rule=lambda data: error_of_cells(data.y, data.p, np.searchsorted(np.arange(1, 11) / 10, data.p)),
        why="a cell holds its upper edge",
    ),
    Comparison(
        "ECE",
        "pycalib",
        TEN,
        lambda data: peer("pycalib.metrics").binary_ECE(data.y, data.p, bins=10),
        rule=lambda data: error_of_cells(data.y, data.p, cells_below(data.p, np.linspace(0, 1 + 1e-8, 11))),
        why="its edges end at 1 + 1e-8",
    ),
    Comparison(
        "ECE",
        "torchmetrics",
        TEN,
        torch_error,
        rule=lambda data: error_of_cells(data.y, data.p, cells_below(data.p, halves_and_steps(10, np.float64))),
        why="ones are a cell of their own; edges of torch are other floats than NumPy's",
    ),
    Comparison(
        "ECE",
        "MAPIE, num_bins=11",
        TEN,
        lambda data: mapie_error(data, 11),
        rule=lambda data: error_of_cells(data.y, data.p, cells_above(data.p, np.linspace(0, 1, 11))),
        why="a cell holds its upper edge, and zeros are a cell of their own",
    ),
    Comparison(
        "ECE",
        "MAPIE, num_bins=10",
        TEN,
        lambda data: mapie_error(data, 10),
        rule=lambda data: error_of_cells(data.y, data.p, cells_above(data.p, np.linspace(0, 1, 10))),
        why="it counts edges, so there are nine cells; the rest as above",
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
        rule=pycaleva_mean,
        why="all cells count alike, however many rows they hold; ties may be split by the order of rows",
    ),
    Comparison(
        "root of the debiased squared error",
        "uncertainty-calibration",
        lambda sample: max(0.0, float(cs.DebiasedCE(cs.EqualWidth(10))(sample))) ** 0.5,
        lambda data: kumar(data, 2, True, "get_equal_prob_bins"),
        rule=lambda data: debiased_error_of_cells(data.y, data.p, np.searchsorted(np.arange(1, 11) / 10, data.p)),
        why="a cell holds its upper edge",
    ),
    Comparison(
        "Hosmer-Lemeshow",
        "pycaleva",
        lambda sample: float(cs.HosmerLemeshow(10)(sample).published),
        lambda data: pycaleva(data).hosmerlemeshow(verbose=False).statistic,
        rule=pycaleva_hosmer_lemeshow,
        why="equal predictions are split by the order of rows",
    ),
    Comparison("Spiegelhalter's z", "pycaleva", cs.Spiegelhalter(), lambda data: pycaleva(data).z_test().statistic),
    Comparison("Brier score", "pycaleva", cs.BrierScore(), lambda data: pycaleva(data).brier),
    Comparison("AUC", "pycaleva", cs.AUC(), lambda data: pycaleva(data).auroc),
    Comparison(
        "ECE of the top label",
        "netcal",
        FIFTEEN,
        lambda data: peer("netcal.metrics").ECE(15).measure(data.p, data.y),
        (MANY,),
    ),
    Comparison(
        "ECE of the top label",
        "uncertainty-calibration",
        FIFTEEN,
        lambda data: peer("calibration").get_ece(data.p, data.y, num_bins=15),
        (MANY,),
        lambda data: error_of_cells(*top(data), np.searchsorted(np.arange(1, 16) / 15, top(data)[1])),
        "a cell holds its upper edge",
    ),
    Comparison(
        "ECE of the top label",
        "pycalib",
        FIFTEEN,
        lambda data: peer("pycalib.metrics").conf_ECE(data.y, data.p, bins=15),
        (MANY,),
        pycalib_top,
        "ends of a cell are added up one by one, so that rows on an edge are in two cells or in none",
    ),
    Comparison(
        "ECE of the top label",
        "torchmetrics",
        FIFTEEN,
        torch_error,
        (MANY,),
        torch_top,
        "ones are a cell of their own; single precision",
    ),
    Comparison(
        "smooth ECE",
        "relplot",
        cs.SmoothECE(),
        lambda data: peer("relplot").smECE(f=data.p, y=data.y),
        rule=relplot_smooth,
        why="rows at 0 and 1 count half, its mirror image leaves out the ends; coarser mesh and bandwidth",
    ),
    Comparison(
        "CORP, Brier score",
        "model-diagnostics",
        corp,
        diagnosed,
        (TWO, WEIGHTED),
        scikit_learn_corp,
        "scikit-learn's isotonic fit merges predictions next to 1, and has no value above them",
    ),
    Comparison(
        "Spiegelhalter's z",
        "MAPIE",
        cs.Spiegelhalter(),
        lambda data: peer("mapie.metrics.calibration").spiegelhalter_statistic(data.y, data.p),
    ),
    Comparison(
        "Spiegelhalter's z",
        "calzone",
        cs.Spiegelhalter(),
        lambda data: peer("calzone.metrics").spiegelhalter_z_test(data.y.copy(), both_columns(data))[0],
    ),
    Comparison(
        "Brier score",
        "scikit-learn",
        cs.BrierScore(),
        lambda data: peer("sklearn.metrics").brier_score_loss(data.y, data.p, sample_weight=data.weights),
        (TWO, WEIGHTED),
    ),
    Comparison(
        "AUC",
        "scikit-learn",
        cs.AUC(),
        lambda data: peer("sklearn.metrics").roc_auc_score(data.y, data.p, sample_weight=data.weights),
        (TWO, WEIGHTED),
    ),
)


# Tables


def table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Return a table in Markdown."""
    return "\n".join("| " + " | ".join(line) + " |" for line in (header, tuple("---" for _ in header), *rows))


def own_numbers() -> str:
    """Return the data sets with the ECE and the Brier score, which need no other package."""
    rows = []
    for data in data_sets():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cs.SmallCellsWarning)
            error = (FIFTEEN if data.kind == MANY else TEN)(data.sample)
        classes = 2 if data.p.ndim == 1 else data.p.shape[1]
        rows.append((data.name, str(len(data.y)), str(classes), f"{error:.6f}", f"{cs.BrierScore()(data.sample):.6f}"))
    return table(("Data set", "Rows", "Classes", "ECE", "Brier score"), rows)


def shown(difference: float) -> str:
    """Return a difference as the page shows it."""
    if np.isnan(difference):
        return "not a number"
    return f"below {AGREES:g}" if difference < AGREES else f"{difference:.1e}"


def compared(comparison: Comparison) -> tuple[str, ...]:
    """Return the row of a comparison, or raise an error where a difference is not explained."""
    sets = [data for data in data_sets() if data.kind in comparison.kinds]
    theirs = np.array([float(comparison.theirs(data)) for data in sets])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cs.SmallCellsWarning)
        ours = np.array([float(comparison.ours(data.sample)) for data in sets])
    apart = ~np.isclose(theirs, ours, rtol=0, atol=AGREES, equal_nan=True)
    for data, number, mine in zip(np.array(sets, dtype=object)[apart], theirs[apart], ours[apart], strict=True):
        by_rule = np.nan if comparison.rule is None else comparison.rule(data)
        if comparison.rule is None or not np.isclose(by_rule, number, rtol=0, atol=AGREES, equal_nan=True):
            raise SystemExit(
                f"{comparison.quantity} of {comparison.package} on {data.name!r} is {number}, here {mine}, and "
                f"{by_rule} by its rule"
            )
    largest = np.nanmax(np.abs(theirs - ours)[apart], initial=0) if apart.any() else 0.0
    where = ", ".join(data.name for data, is_apart in zip(sets, apart, strict=True) if is_apart)
    if np.isnan(theirs[apart]).any():
        largest = np.nan
    return (
        comparison.quantity,
        comparison.package,
        f"{len(sets) - apart.sum()} of {len(sets)}",
        shown(float(largest)),
        f"{where}: {comparison.why}" if where else "",
    )


def written(text: str, mark: str, content: str) -> str:
    """Return the page with new content between two marks."""
    found, n = re.subn(
        rf"(<!-- {mark} -->\n).*?(<!-- /{mark} -->)",
        lambda each: f"{each[1]}\n{content}\n\n{each[2]}",
        text,
        flags=re.DOTALL,
    )
    if n != 1:
        raise SystemExit(f"{PAGE.name} has {n} places <!-- {mark} -->; it must have one")
    return found


def main() -> int:
    """Write the tables of the page."""
    text = PAGE.read_text(encoding="utf-8")
    text = written(text, "data sets", own_numbers())
    header = ("Quantity", "Package", "Equal on", "Largest difference", "Where it differs, and why")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text = written(text, "comparisons", table(header, [compared(each) for each in COMPARISONS]))
    text = written(text, "versions", ", ".join(f"{name} {version(name)}" for name in PACKAGES) + ".")
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
