"""The tables of Kelly & Smyth (2023), from predictions in the layout of their files, with p-values beside each number.

Their files have a row for each prediction: ``prob_0``, ``prob_1``, ..., ``actual``, and variables. Every table is made
twice: as published (mistakes of the uncalibrated label, cells between quantiles of the uncalibrated confidence), and as
each calibrator would be used, where errors can be tested. Calibrators are theirs, as their program fits them, or those
of the papers that they cite. A world of ten classes with known chances shows what leaves and penalties do to Table 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.figure import Figure
from scipy.optimize import minimize
from scipy.special import expit, log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

import calibstat as cs
from calibstat import calibrators
from calibstat.comparisons.variable_based import as_published
from simulations.frame import SEED, Datasets, Plan, Repeats, Scale, Study, bracketed, mean_and_error, option

N_BINS, SPAN, LEVEL = 10, 0.9, 0.05
LEAST_ROWS = 10 * N_BINS  # to judge by
PROGRAM, PAPERS = "program", "papers"


@dataclass(frozen=True)
class Source:
    """A file and how the paper used it.

    Parameters
    ----------
    file, variable : str
    n_fit : int
        Rows to fit on; those that ``DataFrame.sample(n_fit, random_state=0)`` draws.
    min_share, max_depth
        Of the tree of variable-based calibration. The least share for Bank is that of their program, not of the paper.
    query : str, optional
        Rows that are kept.
    others : tuple of str
        Further variables, whose errors Table 1 has.
    """

    file: str
    variable: str
    n_fit: int
    max_depth: int = 3
    min_share: float = 0.1
    query: str | None = None
    others: tuple[str, ...] = ()


SOURCES = {
    "Adult": Source("adult_out.csv", "age", 2500, others=("education-num", "age", "hours-per-week", "fnlwgt")),
    "Bank": Source("bank_out.csv", "age", 1000, max_depth=2, min_share=0.05),
    "Cardio": Source("cardio_out.csv", "age", 6000, query="age > 32"),
    "CIFAR-10H": Source("cifar_out.csv", "median_rt", 2000),
}
# ECE and VECE in percent: Tables 2, 4 and 5, and the text beside Figure 1.
PUBLISHED: Mapping[str, Mapping[str, tuple[float, float]]] = {
    "Adult": {
        "uncalibrated": (20.67, 20.67),
        "Platt": (4.57, 10.13),
        "beta": (1.65, 9.59),
        "variable-based": (1.64, 2.11),
        "scaling-binning": (2.27, 9.25),
    },
    "Bank": {
        "uncalibrated": (4.69, 4.69),
        "Platt": (2.38, 2.83),
        "beta": (2.48, 2.77),
        "variable-based": (2.10, 0.52),
        "scaling-binning": (4.37, 3.39),
    },
    "Cardio": {"Platt": (0.74, 2.04)},
    "CIFAR-10H": {"uncalibrated": (1.90, 1.92), "Dirichlet": (0.80, 1.12), "variable-based": (1.18, 0.86)},
}
# VECE and the largest error along a local regression, in percent: Table 1.
PUBLISHED_ALONG: Mapping[str, tuple[float, float]] = {
    "education-num": (9.95, 20.13),
    "age": (9.59, 23.44),
    "hours-per-week": (7.94, 18.21),
    "fnlwgt": (5.06, 12.08),
}


class TheirBeta(ClassifierMixin, BaseEstimator):
    """Beta calibration as their program has it: penalised by C=1, and free of the sign constraint.

    Probabilities of exactly 0 and 1 are moved by 0.0001, and no others.
    """

    def fit(self, X: Any, y: Any) -> TheirBeta:
        """Fit on probabilities of the last class."""
        self.line_ = LogisticRegression().fit(_logs(X), y)
        self.classes_ = self.line_.classes_
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return both probabilities."""
        return self.line_.predict_proba(_logs(X))


def _logs(X: Any) -> np.ndarray:
    p = np.asarray(X, dtype=float).reshape(len(X), -1)[:, -1]
    p = np.where(p == 0, 1e-4, np.where(p == 1, 1 - 1e-4, p))
    return np.column_stack([np.log(p), -np.log1p(-p)])


class TheirDirichlet(ClassifierMixin, BaseEstimator):
    """Dirichlet calibration as their program has it: softmax(log p @ W + b) with one penalty on all of W and b.

    It minimises the mean log loss plus `l2` times the sum of squares of W and b, whose last class is fixed at zero
    (Kull et al. 2019 in their package; the paper itself penalises off-diagonal entries only).

    Parameters
    ----------
    l2 : float
    """

    def __init__(self, l2: float = 1e-3) -> None:
        self.l2 = l2

    def fit(self, X: Any, y: Any) -> TheirDirichlet:
        """Fit on probabilities (n, K) of all classes."""
        self.classes_, target = np.unique(y, return_inverse=True)
        features, n_free = _with_constant(X), len(self.classes_) - 1
        happened = np.eye(n_free + 1)[target]

        def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
            table = flat.reshape(n_free, -1)
            logs = log_softmax(_scores(features, table), axis=1)
            slope = (np.exp(logs) - happened)[:, :-1].T @ features / len(features) + 2 * self.l2 * table
            return float(-(logs * happened).sum(axis=1).mean() + self.l2 * (table**2).sum()), slope.ravel()

        start = np.zeros(n_free * features.shape[1])
        self.table_ = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 10_000}).x
        self.table_ = self.table_.reshape(n_free, -1)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return probabilities of the classes that were seen."""
        return np.exp(log_softmax(_scores(_with_constant(X), self.table_), axis=1))


def _with_constant(X: Any) -> np.ndarray:
    p = np.asarray(X, dtype=float)
    tiny = np.finfo(float).tiny
    return np.column_stack([np.log(np.clip(p, tiny, 1 - np.finfo(float).eps)), np.ones(len(p))])


def _scores(features: np.ndarray, table: np.ndarray) -> np.ndarray:
    return np.column_stack([features @ table.T, np.zeros(len(features))])


def candidates(source: Source, n_classes: int, kind: str) -> dict[str, Any]:
    """Return the calibrators of a table, as their program has them (`PROGRAM`) or the papers that they cite (`PAPERS`).

    Those are Platt (1999), Kull et al. (2017) for beta and Kull et al. (2019) for Dirichlet calibration.
    """
    if kind == PAPERS:
        platt: Any = calibrators.Platt()
        leaf: Any = calibrators.Beta() if n_classes == 2 else calibrators.Dirichlet()
    else:
        platt, leaf = LogisticRegression(), TheirBeta() if n_classes == 2 else TheirDirichlet()
    split = calibrators.VariableBased(source.variable, leaf, max_depth=source.max_depth, min_share=source.min_share)
    if n_classes > 2:
        return {"Dirichlet": leaf, "variable-based": split}
    return {"scaling-binning": calibrators.ScalingBinning(), "Platt": platt, "beta": leaf, "variable-based": split}


@dataclass(frozen=True)
class Table:
    """A table: errors of each calibrator over confidence and variable, by both conventions.

    Parameters
    ----------
    name : str
        "made" makes rows of a world; else a name of `SOURCES`.
    source : Source
    folder : str
    n_resamples : int
    kind : str
        `PROGRAM` or `PAPERS`.
    """

    name: str
    source: Source
    folder: str
    n_resamples: int
    kind: str = PROGRAM

    def __call__(self, rng: np.random.Generator) -> xr.Dataset:
        """Make it."""
        frame = made(rng) if self.name == "made" else read(Path(self.folder) / self.source.file, self.source)
        sample, n_classes = as_sample(frame, self.source)
        fit_rows = frame.reset_index().sample(self.source.n_fit, random_state=0).index.to_numpy()
        given: dict[str, Any] = {
            "variable": self.source.variable,
            "calibrators": candidates(self.source, n_classes, self.kind),
            "fit_rows": fit_rows,
            "n_bins": N_BINS,
        }
        tables = [
            cs.variable_based_protocol(sample, **given, convention=convention, n_resamples=self.n_resamples, rng=rng)
            for convention in ("kelly-smyth", "evaluated")
        ]
        published = PUBLISHED.get(self.name, {})
        names = [each.name for each in tables[0].errors]
        found = {
            kind: (
                ("convention", "calibrator"),
                [[_number(getattr(one, kind)) for one in each.errors] for each in tables],
            )
            for kind in ("ece", "vece", "ece_pvalue", "vece_pvalue", "ece_null_mean", "vece_null_mean")
        }
        for place, kind in enumerate(("published_ece", "published_vece")):
            found[kind] = "calibrator", [published.get(name, (np.nan, np.nan))[place] / 100 for name in names]
        dataset = xr.Dataset(found, {"convention": ["as published", "as used"], "calibrator": names})
        dataset = dataset.assign(variable=self.source.variable, n_test=len(tables[0].split.test_rows))
        return dataset.merge(along(sample.take(tables[0].split.test_rows), self.source.others, self.n_resamples, rng))


def along(sample: cs.Sample, variables: tuple[str, ...], n_resamples: int, rng: np.random.Generator) -> xr.Dataset:
    """Return Table 1: for each variable its VECE, the largest error along it, and the p-value of the VECE.

    Without variables there is no table: NetCDF 3 takes a dimension without places for one that can grow.
    """
    if not variables:
        return xr.Dataset()
    vece = [as_published("", sample, sample, name, N_BINS).vece for name in variables]
    largest = [float((cs.TopLabel() | cs.VCE(name, span=SPAN))(sample)) / 100 for name in variables]
    null = cs.Consistency(n_resamples)
    asked = [cs.TopLabel() | cs.VECE(name, cs.EqualMass(N_BINS)) for name in variables]
    pvalues = [cs.calibration_test(sample, each, null=null, rng=rng).pvalue for each in asked]
    published = [PUBLISHED_ALONG.get(name, (np.nan, np.nan)) for name in variables]
    return xr.Dataset(
        {
            "along_vece": ("along", vece),
            "along_largest": ("along", largest),
            "along_pvalue": ("along", pvalues),
            "published_along": (("along", "what"), np.reshape(published, (-1, 2)) / 100),
        },
        {"along": np.array(variables, dtype=str), "what": ["vece", "largest"]},
    )


def made(rng: np.random.Generator, n: int = 6000) -> pd.DataFrame:
    """Make a file in their layout: a network that is too bold about the young and too timid about the old."""
    age, log_odds = rng.uniform(32, 65, n), rng.normal(0, 1.2, n)
    actual = rng.random(n) < expit(np.where(age > 48, 2.2, 0.5) * log_odds)
    return pd.DataFrame(
        {"prob_0": expit(-log_odds), "prob_1": expit(log_odds), "actual": actual.astype(int), "age": age}
    )


@dataclass(frozen=True)
class Leaves:
    """What leaves and penalties do to variable-based Dirichlet calibration, on rows whose chances are known.

    Ten classes, as many rows as CIFAR-10H has, a network that is right about 95 % of them and too bold the slower they
    are to recognise: its uncalibrated errors are those of Table 5.
    """

    n: int = 9767
    n_fit: int = 2000

    def __call__(self, rng: np.random.Generator) -> xr.Dataset:
        """Return errors as published, the true error and the log loss of each way to fit, on the rest of the rows."""
        p, y, slowness, chances = slow_to_recognise(self.n, rng)
        fit, rest = np.arange(self.n_fit), np.arange(self.n_fit, self.n)
        rows = np.column_stack([p, slowness])
        given = cs.Sample(y[rest], p[rest], variables={"slowness": slowness[rest]})
        found = []
        for way in WAYS.values():
            said = p[rest] if way is None else _fitted(way, rows[fit], y[fit], rows[rest])
            seen = cs.Sample(y[rest], said, variables={"slowness": slowness[rest]}, labels=list(range(N_CLASSES)))
            errors = as_published("", given, seen, "slowness", N_BINS)
            top, each = said.argmax(axis=1), np.arange(len(rest))
            true = np.abs(said.max(axis=1) - chances[rest][each, top]).mean()
            found.append([100 * errors.ece, 100 * errors.vece, 100 * true, float(cs.LogScore()(seen))])
        return xr.Dataset({"value": (("way", "what"), found)}, {"way": list(WAYS), "what": list(MEASURES)})


N_CLASSES = 10
MEASURES = ("ECE", "VECE", "true error", "log loss")
# The label of each way to fit, with the model, the least share of the rows in a leaf and the depth of the tree.
WAYS: Mapping[str, tuple[Any, float, int] | None] = {
    "uncalibrated": None,
    "Dirichlet without leaves": (TheirDirichlet(), 0.5, 0),
    "leaves as in the program": (TheirDirichlet(), 0.1, 3),
    "a tenth of the penalty": (TheirDirichlet(1e-4), 0.1, 3),
    "ten times the penalty": (TheirDirichlet(1e-2), 0.1, 3),
    "a tree of depth 2": (TheirDirichlet(), 0.1, 2),
    "leaves of a quarter": (TheirDirichlet(), 0.25, 3),
    "penalty by cross-validation": (calibrators.Dirichlet(), 0.1, 3),
}


def _fitted(way: tuple[Any, float, int], rows: np.ndarray, y: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Fit to rows of probabilities and a variable, and calibrate other ones."""
    leaf, share, depth = way
    if depth == 0:
        return leaf.fit(rows[:, :-1], y).predict_proba(others[:, :-1])
    return calibrators.VariableBased(-1, leaf, max_depth=depth, min_share=share).fit(rows, y).predict_proba(others)


def slow_to_recognise(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return predictions (n, 10), labels, how slow each row is to recognise, and the true chances (n, 10)."""
    scores = rng.normal(0, 2.2, (n, N_CLASSES))
    scores[np.arange(n), rng.integers(N_CLASSES, size=n)] += 14.4 * rng.beta(2.5, 0.6, n)
    slowness = rng.lognormal(0, 0.25, n)
    rank = slowness.argsort().argsort() / n
    temperature = np.select([rank < 0.4, rank < 0.7], [1.0, 1.3], 1.6)[:, None]
    logs = log_softmax(scores, axis=1)
    chances = np.exp(log_softmax(logs / temperature, axis=1))
    labels = (rng.random((n, 1)) > chances.cumsum(axis=1)).sum(axis=1).clip(0, N_CLASSES - 1)
    return np.exp(logs), labels, slowness, chances


def read(path: Path, source: Source) -> pd.DataFrame:
    """Read a file of theirs; an error says which columns it lacks, or that there are too few rows to fit on."""
    frame = pd.read_csv(path)
    needed = {"prob_0", "prob_1", "actual", source.variable, *source.others}
    if not needed <= set(frame.columns):
        raise ValueError(f"{path} lacks the columns {', '.join(sorted(needed - set(frame.columns)))}.")
    kept = frame if source.query is None else frame.query(source.query)
    if len(kept) < source.n_fit + LEAST_ROWS:
        raise ValueError(
            f"{path} has {len(kept)} rows that the table uses; {source.n_fit} are to fit on and {LEAST_ROWS} or more "
            "to judge by."
        )
    return kept


def check(path: Path, source: Source) -> None:
    """Read a file as its table will; an error names it."""
    frame = read(path, source)
    try:
        as_sample(frame, source)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error


def as_sample(frame: pd.DataFrame, source: Source) -> tuple[cs.Sample, int]:
    """Return a sample with the variables of a table, and the number of classes."""
    columns = [f"prob_{k}" for k in range(sum(str(name).startswith("prob_") for name in frame.columns))]
    probabilities = frame[columns].to_numpy(dtype=float)
    probabilities = probabilities / probabilities.sum(axis=1, keepdims=True)  # sums are off by rounding of the file
    variables = {name: frame[name].to_numpy(dtype=float) for name in dict.fromkeys((source.variable, *source.others))}
    labels = frame["actual"].to_numpy(dtype=int)
    return cs.Sample(labels, probabilities, variables=variables, labels=list(range(len(columns)))), len(columns)


def _number(value: float | None) -> float:
    return np.nan if value is None else value


@final
@dataclass(frozen=True)
class KellySmyth(Study):
    """Tables 1, 2, 4 and 5, and Figure 1, of Kelly & Smyth (2023)."""

    folder: str | None = option("DIR", "the authors' files: adult_out.csv, bank_out.csv, cardio_out.csv, cifar_out.csv")
    calibrators: str | None = option(
        "KIND",
        "as their program fits them (program, the default), or as in the papers that they cite (papers)",
        choices=(PROGRAM, PAPERS),
    )
    leaf: float | None = option(
        "SHARE", "the least share of the rows in a leaf of variable-based calibration (0.1; Bank 0.05)", type=float
    )

    plan = Plan(
        aim="whether calibration over the confidence leaves an error over a variable, and whether that is noise",
        mechanisms="6000 rows of a model whose error depends on age and cancels over ages; 9767 rows of ten classes "
        "whose network is too bold the slower they are to recognise; the authors' files, if they are in --folder",
        estimands="the calibration error of the top label over the confidence (ECE) and over the variable (VECE)",
        methods=f"errors in {N_BINS} cells by the paper's conventions and as each calibrator is used; exact tests",
        performance="errors beside the published ones, p-values and what noise alone gives; on the ten classes, errors "
        "with other leaves and penalties beside the true error",
    )

    def parts(self, scale: Scale) -> dict[str, Repeats]:
        """Make a table of every file that is there, and of one that is made here."""
        there = self._checked()
        n_resamples, kind = scale.pick(199, 999, 9999), self.calibrators or PROGRAM
        sources = {"made": Source("", "age", 2000)} | there
        if self.leaf is not None:
            if not 0 < self.leaf <= 0.5:
                raise ValueError(f"--leaf is {self.leaf:g}; it must be above 0 and at most 0.5.")
            sources = {name: replace(each, min_share=self.leaf) for name, each in sources.items()}
        found = {
            name: Repeats(Table(name, each, (self.folder or "") * (name in there), n_resamples, kind))
            for name, each in sources.items()
        }
        return found | {"leaves": Repeats(Leaves(), scale.pick(3, 20, 200), SEED + 1)}

    def _checked(self) -> dict[str, Source]:
        """Return which files are there; what is wrong in one of them is said before the work."""
        if self.folder is None:
            return {}
        there = {name: each for name, each in SOURCES.items() if (Path(self.folder) / each.file).exists()}
        if not there:
            files = ", ".join(each.file for each in SOURCES.values())
            raise ValueError(f"{self.folder} has none of the files {files}.")
        for each in there.values():
            check(Path(self.folder) / each.file, each)
        return there

    @staticmethod
    def text(found: Datasets) -> str:
        """Say which errors are left, table by table."""
        lines = [*(_answer(name, each) for name, each in _tables(found).items()), _answer_of_leaves(found["leaves"])]
        for name, each in _tables(found).items():
            lines += ["", *_table(name, each)]
        return "\n".join([*lines, "", *_of_leaves(found["leaves"])])

    @staticmethod
    def figure(found: Datasets) -> Figure:
        """Draw the errors of each table as they are used, what noise gives, and the published ones."""
        tables = _tables(found)
        figure, axes = plt.subplots(
            1, len(tables) + 1, figsize=(5.8 * (len(tables) + 1), 4), layout="constrained", squeeze=False
        )
        _draw_leaves(axes[0, -1], found["leaves"])
        for ax, (name, each) in zip(axes[0], tables.items(), strict=False):
            printed = each.sel(convention="as published")
            used, rows = each.sel(convention="as used"), np.arange(each.sizes["calibrator"])[::-1]
            for color, (kind, shift) in enumerate((("ece", 0.15), ("vece", -0.15))):
                ax.barh(rows + shift, 100 * used[f"{kind}_null_mean"], height=0.28, color="0.88")
                ax.plot(100 * used[kind], rows + shift, "o", color=f"C{color}", label=kind.upper())
                ax.plot(100 * printed[kind], rows + shift, "o", color=f"C{color}", markerfacecolor="none")
                ax.plot(100 * each[f"published_{kind}"], rows + shift, "x", color=f"C{color}")
            title = f"{name}, over {each['variable'].item()}"
            ax.set(yticks=rows, yticklabels=each["calibrator"].values, xlabel="error, %", title=title)
            ax.set_xlim(left=0)
        title = "as used (ring: by the paper's conventions, x: in the paper, bar: noise)"
        figure.legend(*axes[0, 0].get_legend_handles_labels(), title=title, loc="outside lower center", ncols=2)
        return figure


def _tables(found: Datasets) -> dict[str, xr.Dataset]:
    return {name: each.isel(repeat=0) for name, each in found.items() if name != "leaves"}


def _answer_of_leaves(found: xr.Dataset) -> str:
    mean = found["value"].mean("repeat")
    ece, vece, true, _ = mean.sel(way="leaves as in the program").values
    larger, before = mean.sel(way="leaves of a quarter"), mean.sel(way="uncalibrated", what="true error")
    return (
        f"Ten classes: Dirichlet calibration in leaves as in the program has errors of {ece:.2f}% and {vece:.2f}% over "
        f"the confidence and the variable as published, in leaves of a quarter of the rows {larger[0]:.2f}% and "
        f"{larger[1]:.2f}%; but the true error is {true:.1f}%, and {before:.1f}% without any calibration."
    )


def _of_leaves(found: xr.Dataset) -> list[str]:
    """Return the errors of each way to fit Dirichlet calibration in leaves."""
    own = mean_and_error(found["value"])
    lines = [
        "ten classes, variable-based Dirichlet calibration: errors as published and true error in %, log loss "
        "(standard error)",
        f"{'':30}" + "".join(f"{what:>16}" for what in MEASURES),
    ]
    for way in WAYS:
        mean, error = own.mean.sel(way=way).values, own.error.sel(way=way).values
        cells = [bracketed(*pair, ".2f") for pair in zip(mean, error, strict=True)]
        lines.append(f"{way:30}" + "".join(f"{cell:>16}" for cell in cells))
    return lines


def _draw_leaves(ax: Any, found: xr.Dataset) -> None:
    own, rows = mean_and_error(found["value"]), np.arange(len(WAYS))[::-1]
    for color, (what, marker) in enumerate((("ECE", "o"), ("VECE", "o"), ("true error", "s"))):
        at = {"what": what}
        look = {"fmt": marker, "markersize": 4, "color": f"C{color}", "label": what}
        ax.errorbar(own.mean.sel(at), rows + 0.2 * (1 - color), xerr=2 * own.error.sel(at), **look)
    ax.set(yticks=rows, yticklabels=list(WAYS), xlabel="error, %", title="ten classes: leaves and penalties")
    ax.set_xlim(left=0)
    ax.legend(fontsize="small", loc="lower right")


def _answer(name: str, each: xr.Dataset) -> str:
    used = each.sel(convention="as used")
    rival = "Dirichlet" if "Dirichlet" in each["calibrator"] else "beta"
    variable = each["variable"].item()
    parts = []
    for calibrator in (rival, "variable-based"):
        own = used.sel(calibrator=calibrator)
        verdict = "more than noise" if own["vece_pvalue"] <= LEVEL else "no evidence that it is more than noise"
        parts.append(f"{own['vece'].item():.2%} ({verdict}, p = {own['vece_pvalue'].item():.2g}) after {calibrator}")
    return f"{name}: the error over {variable} is {parts[0]} calibration, and {parts[1]} calibration."


def _table(name: str, each: xr.Dataset) -> list[str]:
    """Return the lines of a table: as published beside the paper's numbers, then as used with p-values."""
    heads: tuple[str, ...] = ("ECE", "paper", "VECE", "paper", "used ECE", "p", "noise", "used VECE", "p", "noise")
    lines = [f"{name}: {each['n_test'].item()} test rows, errors in % over confidence and {each['variable'].item()}"]
    lines.append(f"{'':16}" + "".join(f"{head:>10}" for head in heads))
    published, used = each.sel(convention="as published"), each.sel(convention="as used")
    for calibrator in each["calibrator"].values:
        at, own = published.sel(calibrator=calibrator), used.sel(calibrator=calibrator)
        cells = [
            *(_percent(at[key]) for key in ("ece", "published_ece", "vece", "published_vece")),
            *(_percent(own["ece"]), f"{own['ece_pvalue'].item():.3g}", _percent(own["ece_null_mean"])),
            *(_percent(own["vece"]), f"{own['vece_pvalue'].item():.3g}", _percent(own["vece_null_mean"])),
        ]
        lines.append(f"{calibrator:16}" + "".join(f"{cell:>10}" for cell in cells))
    variables = each["along"].values if "along" in each.sizes else ()
    if len(variables):
        lines += [
            "",
            f"{'variable':16}" + "".join(f"{head:>10}" for head in ("VECE", "paper", "largest", "paper", "p")),
        ]
    for variable in variables:
        at = each.sel(along=variable)
        paper = at["published_along"]
        cells = [
            *(_percent(at["along_vece"]), _percent(paper.sel(what="vece"))),
            *(_percent(at["along_largest"]), _percent(paper.sel(what="largest"))),
            f"{at['along_pvalue'].item():.3g}",
        ]
        lines.append(f"{variable:16}" + "".join(f"{cell:>10}" for cell in cells))
    return lines


def _percent(value: xr.DataArray) -> str:
    return "" if np.isnan(value.item()) else f"{100 * value.item():.2f}"
