"""The comparison of calibrators of Kelly & Smyth (2023): ECE beside VECE."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._progress import track
from calibstat._text import counted
from calibstat.binnings.intervals import EqualMass
from calibstat.calibrators.binned import ScalingBinning
from calibstat.calibrators.scaling import Beta, Platt
from calibstat.calibrators.softmax import Dirichlet
from calibstat.calibrators.trees import VariableBased
from calibstat.comparisons.splits import (
    UNCALIBRATED,
    Split,
    check_calibrators,
    random_split,
    recalibrated,
    sample_from,
    sample_of,
)
from calibstat.data.arrays import RNG, Floats, Ints, as_generator
from calibstat.data.groups import ClusterCount
from calibstat.data.parameters import LEVEL, at_least_one
from calibstat.data.sample import Sample
from calibstat.estimators.miscalibration import VECE
from calibstat.estimators.squared import ECE
from calibstat.inference.forest import Forest, ForestRow
from calibstat.inference.results import Result, RowCounts
from calibstat.inference.test import calibration_test
from calibstat.lenses.base import Lens
from calibstat.lenses.relabel import TopLabel
from calibstat.nulls.consistency import Consistency


def variable_based_protocol(
    sample: Any = None,
    y_prob: Any = None,
    variable: Any = None,
    *,
    y_true: Any = None,
    calibrators: Mapping[str, Any] | None = None,
    labels: Sequence[Hashable] | None = None,
    lens: Lens | None = None,
    n_fit: int | None = None,
    fit_rows: Any = None,
    n_bins: int = 10,
    convention: Literal["evaluated", "kelly-smyth"] = "evaluated",
    n_resamples: int = 999,
    rng: RNG = None,
    name: str = "variable",
) -> VariableBasedComparison:
    """Fit calibrators on some rows, and measure on the others their errors over the confidence and over a variable.

    An error that is small over the confidence (ECE) may be large over age (VECE). With "evaluated" each calibrator is
    judged as it would be used: by its own label and confidence, in cells of equal mass of that confidence, with noise
    and exact p-values beside the errors. With "kelly-smyth" the numbers are those of the paper's tables: for every
    calibrator, mistakes are those of the uncalibrated label, and ECE is binned by quantiles of the uncalibrated
    confidence, of which equal ones are merged. The paper's Platt scaling is logistic regression on the probability
    itself; pass ``sklearn.linear_model.LogisticRegression()`` for it.

    Parameters
    ----------
    sample : Sample, or (n,) labels
        A sample, or labels together with `y_prob`.
    y_prob, labels, y_true
        As for `Sample`, if none is given; `y_true` passes the labels by name.
    variable : str, or (n,) floats
        The name of a variable of the sample, or its values if arrays are passed.
    calibrators : mapping of str to calibrator, optional
        By default Platt, beta and scaling-binning for two classes, Dirichlet for more, and variable-based calibration.
    lens : Lens, optional
        Looked through before the lens of the errors, ``TopLabel()``; with "evaluated".
    n_fit : int, optional
        Number of rows to fit on, drawn at random; by default half of them. Rows of a cluster (`Sample.groups`) stay
        together, so that the number is about this.
    fit_rows : (m,) ints, optional
        Numbers of the rows to fit on, instead of `n_fit`; no other row of their clusters is tested on.
    n_bins : int
    convention : {"evaluated", "kelly-smyth"}
    n_resamples : int
        Number of redraws of the labels, for noise and p-values.
    rng : int, Generator or None
    name : str
        The name of a variable that is given by its values; calibrators use it, as in ``VariableBased("age")``.

    Returns
    -------
    VariableBasedComparison
        With ``errors``; prints itself.

    Raises
    ------
    ValueError
        If too few rows are left to test on, or a calibrator cannot be fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from calibstat.comparisons.variable_based import variable_based_protocol
    >>> rng = np.random.default_rng(0)
    >>> p, age = rng.random(6000), rng.uniform(20, 80, 6000)
    >>> y = rng.random(6000) < np.where(age < 50, 0.5 + 0.4 * (p - 0.5), p)
    >>> found = variable_based_protocol(y, p, age, name="age", n_resamples=99, rng=0)
    >>> found["beta"].vece > 2 * found["variable-based"].vece
    True
    """
    if convention not in ("evaluated", "kelly-smyth"):
        raise ValueError(f"convention is {convention!r}, but 'evaluated' or 'kelly-smyth' is expected.")
    at_least_one("n_bins", n_bins)
    whole, name = _with_variable(sample, y_true, y_prob, variable, name, labels)
    if convention == "kelly-smyth" and not (lens is None and whole.predictions.weights is None):
        raise ValueError('convention="kelly-smyth" has no lens and no weights, as in the paper; leave them out.')
    models = check_calibrators(default_calibrators(name, len(whole.labels)) if calibrators is None else calibrators)
    stream = as_generator(rng)
    split = _split(whole, n_fit, fit_rows, stream)
    given = whole.take(split.test_rows)
    samples = {UNCALIBRATED: given} | {
        each: sample_of(whole, split.test_rows, recalibrated(model, each, whole, split, False), f"calibrated by {each}")
        for each, model in track(models.items(), len(models))
    }
    if convention == "kelly-smyth":
        errors = [as_published(each, given, seen, name, n_bins) for each, seen in samples.items()]
        counts = RowCounts.of(given)
    else:
        used = [
            _as_used(each, seen, name, lens, n_bins, n_resamples, stream)
            for each, seen in track(samples.items(), len(samples))
        ]
        errors, counts = [each for each, _ in used], RowCounts.least(each for _, each in used)
    clusters = None if given.groups is None else given.groups.counted(given.predictions.weights)
    return VariableBasedComparison(tuple(errors), name, split, n_bins, convention, counts, clusters)


def _with_variable(
    sample: Any, y_true: Any, y_prob: Any, variable: Any, name: str, labels: Sequence[Hashable] | None
) -> tuple[Sample, str]:
    """Return the sample and the name of its variable."""
    if not isinstance(sample, Sample):
        return sample_from(sample, y_true, y_prob, {"variables": {name: variable}, "labels": labels}), name
    whole = sample_from(sample, y_true, y_prob, {"labels": labels})
    known = list(whole.predictions.variables)
    if variable not in known:
        raise ValueError(f"variable is {variable!r}, but the name of a variable of the sample is expected: {known}.")
    return whole, variable


def default_calibrators(variable: str, n_classes: int) -> dict[str, Any]:
    """Return the calibrators of the paper, as this package implements them."""
    if n_classes > 2:
        return {"dirichlet": Dirichlet(), "variable-based": VariableBased(variable)}
    return {
        "scaling-binning": ScalingBinning(),
        "platt": Platt(),
        "beta": Beta(),
        "variable-based": VariableBased(variable),
    }


def as_published(name: str, given: Sample, said: Sample, variable: str, n_bins: int) -> VariableBasedErrors:
    """Measure as the paper's tables do, on the test rows as `given` and with what a calibrator `said`."""
    confidence = given.y_prob.max(axis=1)
    mistaken = given.y_prob.argmax(axis=1) != given.outcomes
    residual = mistaken - (1 - said.y_prob.max(axis=1))
    values = given.predictions.variables[variable].values
    # The mean over rows of the absolute mean residual of their cell.
    sums = [np.bincount(quantile_cells(each, n_bins), residual) for each in (1 - confidence, values)]
    return VariableBasedErrors(name, *(float(np.abs(each).sum() / len(residual)) for each in sums))


def quantile_cells(values: Floats, n_bins: int) -> Ints:
    """Return the cell (n,) of each value between interpolated quantiles, (low, high]; equal edges are merged."""
    edges = np.unique(np.quantile(values, np.linspace(0, 1, n_bins + 1)))
    return np.maximum(np.searchsorted(edges, values, side="left") - 1, 0)


def _as_used(
    name: str, sample: Sample, variable: str, lens: Lens | None, n_bins: int, n_resamples: int, rng: np.random.Generator
) -> tuple[VariableBasedErrors, RowCounts]:
    """Measure a calibrator by the label and the confidence that it gives, and count rows."""
    null, binning = Consistency(n_resamples), EqualMass(n_bins)
    asked = (TopLabel() | ECE(binning), TopLabel() | VECE(variable, binning))
    over, along = (calibration_test(sample, each, lens=lens, null=null, rng=rng) for each in asked)
    errors = VariableBasedErrors(
        name, over.statistic, along.statistic, over.null_mean, along.null_mean, over.pvalue, along.pvalue
    )
    return errors, RowCounts.least((over.question.counts, along.question.counts))


def _split(sample: Sample, n_fit: int | None, fit_rows: Any, rng: np.random.Generator) -> Split:
    n = len(sample)
    if fit_rows is not None:
        rows = np.unique(np.asarray(fit_rows))
        if n_fit is not None or rows.dtype.kind not in "iu" or not len(rows) or not 0 <= rows[0] <= rows[-1] < n:
            raise ValueError(f"fit_rows must be row numbers from 0 to {n - 1}, without n_fit.")
        left = np.ones(n, dtype=bool)
        left[rows] = False
        if sample.groups is not None:  # a cluster is not tested on if some of its rows are for the fit
            left = ~np.isin(sample.groups.codes, sample.groups.codes[rows])
        split = Split(rows.astype(np.intp), np.flatnonzero(left))
    else:
        wanted = n // 2 if n_fit is None else n_fit
        if not 1 <= wanted < n:
            raise ValueError(
                f"n_fit is {wanted}, but of {counted(n, 'row')} some must be left to test on; take for example "
                f"{n // 2}."
            )
        split = random_split(sample.y_prob, n - wanted, rng, np.arange(n), sample.groups)
    if not len(split.test_rows):
        raise ValueError(
            "fit_rows names all rows, or some of each cluster, so that none is left to test on; a test on rows of the "
            "fit is not valid."
        )
    return split


_MEASURES = "ECE over the confidence, VECE over the variable (Kelly & Smyth 2023)"
_CELLS = "of equal mass, of each calibrator's confidence and of the variable"
_CELLS_OF_PAPER = "between quantiles of the uncalibrated confidence, and of the variable"
_NOISE = "noise is the mean of the errors of a calibrated model with as many rows"
_OF_PAPER = "mistakes are those of the uncalibrated label, as in the tables of Kelly & Smyth (2023)"


class VariableBasedErrors(NamedTuple):
    """Binned errors of one calibrator on the test rows for the top label, over the confidence and over the variable.

    The null means are what noise alone gives. The exact p-values test calibration given the prediction, and given
    prediction and variable (the strong null). Both are None for the paper's convention.
    """

    name: str
    ece: float
    vece: float
    ece_null_mean: float | None = None
    vece_null_mean: float | None = None
    ece_pvalue: float | None = None
    vece_pvalue: float | None = None


@final
@dataclass(frozen=True, eq=False, repr=False)
class VariableBasedComparison(Result):
    """The result of `variable_based_protocol`.

    Parameters
    ----------
    errors : tuple of VariableBasedErrors
        "uncalibrated" first.
    variable : str
    split : Split
    n_bins : int
    convention : str
    counts : RowCounts
        Of the test rows; the published convention does not count events in cells.
    clusters : ClusterCount, optional
        Of the test rows, where they come in clusters.
    """

    errors: tuple[VariableBasedErrors, ...]
    variable: str
    split: Split
    n_bins: int
    convention: str
    counts: RowCounts
    clusters: ClusterCount | None = None

    _display: ClassVar[str] = "ComparisonDisplay"
    _row: ClassVar[str] = "name"

    def __getitem__(self, name: str) -> VariableBasedErrors:
        for each in self.errors:
            if each.name == name:
                return each
        raise KeyError(f"there is no {name!r}; there are {[each.name for each in self.errors]}")

    @property
    def verdict(self) -> str:
        """One sentence that says which calibrators have the smallest errors; the protocol decides nothing."""
        over = min(self.errors, key=lambda each: each.vece)
        itself = min(self.errors, key=lambda each: each.ece)
        ece, vece = (f" (uncalibrated {100 * each:.2f} %)" for each in (self.errors[0].ece, self.errors[0].vece))
        return (
            f"Smallest error of the confidence in the predicted class over {self.variable}: {over.name}, "
            f"{100 * over.vece:.2f} %{vece}; over the confidence itself: {itself.name}, {100 * itself.ece:.2f} %{ece}."
        )

    def forest(self) -> Forest:
        """Return the calibrators as rows of a forest plot, each with its errors over confidence and variable."""
        columns = [
            (0, "ece", "ece_null_mean", "ece_pvalue"),
            (1, "vece", "vece_null_mean", "vece_pvalue"),
        ]
        rows = tuple(
            ForestRow(
                each.name,
                getattr(each, value),
                noise=None if (mean := getattr(each, noise)) is None else (0.0, mean),
                beyond=(p := getattr(each, pvalue)) is not None and p <= LEVEL,
                series=series,
            )
            for each in self.errors
            for series, value, noise, pvalue in columns
        )
        least = min(self.errors, key=lambda each: each.vece)
        tested = " ".join(text for _, text in self._details())
        return Forest(
            rows,
            axis="calibration error of the top label",
            answer=(
                f"least over {self.variable}: {least.name}, {least.vece:.2%}",
                f"uncalibrated: {self.errors[0].vece:.2%}; n = {len(self.split.test_rows):,}",
            ),
            caption=f"{self.verdict} {self._notes()[0].capitalize()}. {tested[0].upper()}{tested[1:]}.",
            noise="noise alone, on average",
            series=("over the confidence", f"over {self.variable}"),
        )

    def _values(self) -> dict[str, Any]:
        return {
            "variable": self.variable,
            "n_fit": len(self.split.fit_rows),
            "n_test": len(self.split.test_rows),
            **({} if self.clusters is None else self.clusters.to_dict()),
            "n_bins": self.n_bins,
            "convention": self.convention,
            "errors": self._rows(),
        }

    def _rows(self) -> list[dict[str, Any]]:
        return [each._asdict() for each in self.errors]

    def _table(self) -> list[list[str]]:
        head = ["", "confidence %", f"{self.variable} %", "noise", f"noise {self.variable}", "p", f"p {self.variable}"]
        return [head, *([each.name, *_percentages(each)] for each in self.errors)]

    def _notes(self) -> tuple[str, ...]:
        tested, within = (
            counted(len(self.split.test_rows), "row"),
            "" if self.clusters is None else f" in {self.clusters}",
        )
        rows = f"tested on {tested}{within}, fitted on {len(self.split.fit_rows)} others"
        noise = f"{_NOISE}; p of each error is {'exact' if self.clusters is None else 'by whole clusters (asymptotic)'}"
        used = self.errors[0].ece_pvalue is not None
        return (f"{rows}; errors are binned in {counted(self.n_bins, 'cell')}", noise if used else _OF_PAPER)

    def _details(self) -> list[tuple[str, str]]:
        used = self.errors[0].ece_pvalue is not None
        return [("measures", _MEASURES), ("cells", _CELLS if used else _CELLS_OF_PAPER)]


def _percentages(errors: VariableBasedErrors) -> list[str]:
    """Write errors and noise as percentages, and p-values as numbers; missing ones are empty."""
    shares = (errors.ece, errors.vece, errors.ece_null_mean, errors.vece_null_mean)
    pvalues = (errors.ece_pvalue, errors.vece_pvalue)
    return ["" if each is None else f"{100 * each:.2f}" for each in shares] + [
        "" if each is None else f"{each:.3g}" for each in pvalues
    ]
