"""Simpler predictors: neighbouring cells are merged, one pair after another, where the loss is least."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, ClassVar, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._lazy import special
from calibstat._progress import track
from calibstat._text import counted
from calibstat.binnings.base import Binning
from calibstat.binnings.intervals import EqualMass, FixedEdges
from calibstat.binnings.values import UniqueValues
from calibstat.data.arrays import RNG, Array, Floats, Ints, as_generator, two_columns
from calibstat.data.parameters import CONFIDENCE_LEVEL, at_least_one, check_kind, check_share
from calibstat.data.rounding import ROUNDING
from calibstat.data.sample import Predictions, Sample
from calibstat.draws.labels import ClusteredLabels
from calibstat.draws.streams import replicate
from calibstat.estimators.base import Estimator, all_weights
from calibstat.estimators.ranks import KendallTau, ProbabilisticCount
from calibstat.estimators.scores import BrierScore, Score
from calibstat.estimators.squared import ECE
from calibstat.generators.base import SyntheticModel, evaluate, population_of
from calibstat.generators.finite import FinitePredictions
from calibstat.inference.arguments import check_sample
from calibstat.inference.compare import ComparisonTest, comparable, comparison_test
from calibstat.inference.results import Result, RowCounts, interval_text, number, number_cell
from calibstat.interpretability._atoms import Atoms
from calibstat.interpretability._merging import (
    DEFAULT_CELLS,
    DEFAULT_EVALUATED,
    MOST_CELLS,
    MOST_EVALUATED,
    Merging,
)

ROWS_OF_A_CELL, FEWEST_ROWS = 10, 20
_REDRAWS = 199  # of the labels of rows in clusters


def simplify(
    source: SyntheticModel | Sample,
    n_cells: int,
    *,
    keep: Estimator = BrierScore(),
    binning: Binning | None = None,
    held_out: Sample | None = None,
    confidence_level: float = CONFIDENCE_LEVEL,
    rng: RNG = None,
) -> SimplificationPath:
    """Merge neighbouring cells of a predictor until few are left, each time the two that cost least.

    Cells are the distinct predictions of an event, in their order. Two neighbours are merged by score averaging: they
    get the mean of their predictions, weighted by mass (Torabian & Urner 2024, Definition 4.1). On a population this
    increases neither the calibration error nor the probabilistic count (Theorems 5 and 6); the loss, here that of
    `keep`, and Kendall's tau may change either way (Observation 7). A prediction between two others stays between
    them, so merged cells are intervals of the prediction. Among merges of equal cost, the one that moves the
    predictions least comes first. The search is greedy: the path holds a good predictor with each number of cells, not
    always the best one.

    In a world all numbers are true values. On a sample the merges are chosen on one half of the rows, drawn without the
    labels, and every number is of the other half, which took no part in the choice. O(n log n) for n rows, and O(C^2)
    for C cells to begin with.

    Parameters
    ----------
    source : SyntheticModel or Sample
        Two classes. A world has finitely many predictions; what a sample holds was predicted for rows that the model
        was not fitted on.
    n_cells : int
        The number of cells at which merging stops.
    keep : Estimator
        Merges cost what this loses: a score, such as ``BrierScore()`` or ``ZeroOneLoss()``, or any estimator with a
        true value, such as ``KendallTau()``, which is evaluated for each possible merge (up to 200 cells).
    binning : Binning, optional
        Intervals of the prediction to begin with. By default the distinct predictions; on a sample with fewer than ten
        rows for each of these, at most 100 cells of equal mass (50 where `keep` is no score) with ten rows or more.
    held_out : Sample, optional
        Other rows to judge on; merges are then chosen on the whole sample. Without them, clusters (`Sample.groups`)
        stay in one half.
    confidence_level : float
        Of the interval of the change of `keep`.
    rng : int, Generator or None
        Draws the half.

    Returns
    -------
    SimplificationPath
        The numbers for each number of cells, and with ``merged(n_cells)`` the simpler predictor; prints itself in
        words.

    Raises
    ------
    ValueError, TypeError
        If there are more than two classes, or infinitely many predictions in a world; if there are fewer cells than
        asked for, or more than 1000; if cells of `binning` are no intervals of the prediction.

    Examples
    --------
    >>> import calibstat as cs
    >>> from calibstat.generators import FinitePredictions
    >>> world = FinitePredictions([0.1, 0.2, 0.7, 0.8], [0.1, 0.3, 0.6, 0.9], mass=[3, 1, 1, 3])
    >>> path = cs.simplify(world, 2)
    >>> path.to_frame()[["n_cells", "calibration_error", "loss"]].round(4)
       n_cells  calibration_error    loss
    0        4             0.0625  0.1300
    1        3             0.0625  0.1328
    2        2             0.0375  0.1375
    >>> [round(p, 3) for _, p in path.merged().predictions]
    [0.125, 0.125, 0.775, 0.775]
    """
    at_least_one("n_cells", n_cells)
    check_kind("keep", keep, Estimator)
    check_kind("binning", binning, Binning | None)
    check_share("confidence_level", confidence_level, CONFIDENCE_LEVEL)
    generator = as_generator(rng)
    if keep.lens.parts:
        raise ValueError(f"keep is {keep!r}, with a lens; look at the sample through it first: {keep.lens!r}(sample).")
    if isinstance(source, SyntheticModel):
        if held_out is not None:
            raise ValueError("held_out is for samples: the numbers of a world are true values; leave it out.")
        atoms, start = Atoms.of(source), binning or UniqueValues()
        merging = Merging.of(atoms.world.table, start, keep, n_cells)
        return _path(keep, start, merging, _OfWorld(atoms, merging))
    chosen, judged = _halves(source, held_out, generator)
    start = binning or _default_binning(chosen, keep)
    rows = population_of(chosen.predictions.event, chosen.outcomes.astype(float), chosen.predictions.weights)
    merging = Merging.of(rows, start, keep, n_cells)
    return _path(keep, start, merging, _OfRows(judged, len(chosen), merging, confidence_level))


def _halves(sample: Any, held_out: Any, rng: np.random.Generator) -> tuple[Sample, Sample]:
    """Return rows to choose on, and others to judge on; refuse what is no sample of two classes."""
    if not isinstance(sample, Sample):
        raise TypeError(
            f"source is of type {type(sample).__name__}; pass a Sample, or a world such as FinitePredictions(...)."
        )
    for each in (sample,) if held_out is None else (sample, held_out):
        check_sample(each)
        if each.predictions.n_classes != 2:
            raise ValueError(
                f"the sample has {each.predictions.n_classes} classes, but cells are those of the prediction of a "
                "single event: look through a lens first, for example TopLabel()(sample)."
            )
    if held_out is not None:
        if held_out.labels != sample.labels:
            raise ValueError(f"held_out has the classes {held_out.labels}, but the sample {sample.labels}.")
        return _weighing(sample), _weighing(held_out)
    sample = _weighing(sample)
    if len(sample) < FEWEST_ROWS:
        raise ValueError(
            f"the sample has {counted(len(sample), 'row')}, but at least {FEWEST_ROWS} are needed to choose cells on "
            "one half and to judge them on the other."
        )
    groups = sample.groups
    order = rng.permutation(len(sample) if groups is None else groups.number)
    chosen = np.zeros(len(order), dtype=bool)
    chosen[order[: len(order) // 2]] = True
    first = chosen if groups is None else groups.spread(chosen)
    return sample.take(first), sample.take(~first)


def _weighing(sample: Sample) -> Sample:
    """Leave out rows of weight zero."""
    weights = sample.predictions.weights
    return sample if weights is None or (weights > 0).all() else sample.take(weights > 0)


def _default_binning(sample: Sample, keep: Estimator) -> Binning:
    """Return the distinct predictions where ten rows have each of them on average, otherwise cells of equal mass."""
    distinct, n = UniqueValues().cut(sample.predictions.conditioning_on((...,))).size, len(sample)
    most, default = (MOST_CELLS, DEFAULT_CELLS) if isinstance(keep, Score) else (MOST_EVALUATED, DEFAULT_EVALUATED)
    if distinct <= most and distinct * ROWS_OF_A_CELL <= n:
        return UniqueValues()
    return EqualMass(max(1, min(default, n // ROWS_OF_A_CELL)))


# What the simpler predictors are worth.


_SHOWN: tuple[Estimator, ...] = (ECE(UniqueValues()), KendallTau(), ProbabilisticCount())


@final
@dataclass(frozen=True, eq=False)
class _OfWorld:
    """Every number is a true value."""

    atoms: Atoms
    merging: Merging

    def at(self, n_cells: int) -> FinitePredictions:
        """Return the world with the simpler predictor."""
        return self.atoms.predicting(self.merging.predict(self.atoms.event, n_cells)[0])

    def values(self, keep: Estimator, n_cells: int) -> tuple[float, ...]:
        """Return true values."""
        event = self.merging.predict(self.atoms.event, n_cells)[0]
        rows = population_of(event, self.atoms.world.table.chances, self.atoms.mass)
        asked = (each.estimand for each in (*_SHOWN, keep))
        error, tau, count, loss = (_number(each, evaluate(each, rows)) for each in asked)
        return error, np.nan, loss, tau, count


@final
@dataclass(frozen=True, eq=False)
class _OfRows:
    """Every number is of rows that took no part in the choice."""

    rows: Sample
    n_chosen: int
    merging: Merging
    confidence_level: float

    def at(self, n_cells: int) -> Sample:
        """Return the rows with the simpler predictions."""
        return _predicting(self.rows, self.merging.predict(self.rows.predictions.event, n_cells)[0])

    def values(self, keep: Estimator, n_cells: int) -> tuple[float, ...]:
        """Return values; rows with the same label and cell count as one, for what depends on their weight alone."""
        compact = _predicting(self.pooled, self.merging.predict(self.pooled.predictions.event, n_cells)[0])
        error, tau, count = (_number(each, each(compact)) for each in _SHOWN)
        loss = _number(keep, keep(compact if isinstance(keep, Score) else self.at(n_cells)))
        return error, self.noise(n_cells), loss, tau, count

    @cached_property
    def places(self) -> Ints:
        """(n,) for each row a number of its cell to begin with and its label."""
        return (
            2 * self.merging.predict(self.rows.predictions.event, len(self.merging.cells.scores))[1]
            + self.rows.outcomes
        )

    def sums(self, power: int) -> Floats:
        """Return sums (2 C,) of powers of the weights, over the rows of each cell to begin with and each label."""
        weights = all_weights(self.rows.predictions, None) ** power
        return np.bincount(self.places, weights, 2 * len(self.merging.cells.scores)).astype(float, copy=False)

    @cached_property
    def pooled(self) -> Sample:
        """One row for each cell to begin with and each label, with the weight of all of these."""
        mass, seen = self.sums(1), self.rows.predictions
        held = np.flatnonzero(mass)
        table = two_columns(self.merging.cells.scores[held // 2])
        return Sample.of(Predictions(table, seen.classes, mass[held], source=seen.source), held % 2)

    @cached_property
    def redrawn(self) -> Floats:
        """(R, C) sums of outcome - prediction in the cells to begin with, of labels redrawn in clusters."""
        labels, stream = ClusteredLabels.of(self.rows), as_generator(0)
        share, weights = labels.strongest(stream), all_weights(self.rows.predictions, None)
        cell, n_cells, event = self.places // 2, len(self.merging.cells.scores), self.rows.predictions.event

        def sums(events: Array) -> Floats:
            return np.array([np.bincount(cell, weights * (each - event), n_cells) for each in events])

        return replicate(sums, partial(labels.draw, share), _REDRAWS, 2 * len(self.rows), stream)

    def noise(self, n_cells: int) -> float:
        """Return the mean error of a calibrated predictor with these cells: exact without weights, otherwise about.

        The mean absolute deviation of a binomial share is 2 p (1 - p) P(B(n - 1, p) = floor(n p)) (de Moivre 1730).
        Labels of rows in clusters are redrawn.
        """
        score, cell = self.merging.predict(self.merging.cells.scores, n_cells)
        if self.rows.groups is not None:
            errors = np.abs(self.redrawn @ np.eye(n_cells)[cell]).sum(axis=1)
            return float(errors.mean() / self.sums(1).sum())
        mass, squares = (np.bincount(cell.repeat(2), self.sums(power), n_cells) for power in (1, 2))
        held = mass > 0
        mass, score = mass[held], score[np.unique(cell, return_index=True)[1]][held]
        rows = np.round(mass**2 / squares[held])  # in effect, where there are weights
        at, left = np.minimum(np.floor(rows * score + ROUNDING), rows - 1), rows - 1
        chance = special.xlogy(at, score) + special.xlog1py(left - at, -score)
        ways = special.gammaln(left + 1) - special.gammaln(at + 1) - special.gammaln(left - at + 1)
        return float(mass @ (2 * score * (1 - score) * np.exp(ways + chance)) / mass.sum())

    def compared(self, keep: Estimator, n_cells: int) -> tuple[ComparisonTest | None, str]:
        """Compare the simpler predictor with the original one; say why where there is no interval."""
        simpler = self.at(n_cells)
        expands = keep.core.prepare(simpler.predictions).capabilities.expansion is not None
        if comparable(keep) is not keep or not expands:
            return None, f"no interval for the change of {keep!r}, which is no mean over rows; that of a score has one"
        try:
            return comparison_test(simpler, self.rows, keep, confidence_level=self.confidence_level, rng=0), ""
        except ValueError as reason:
            return None, f"no interval for the change: {reason}"

    def counts(self, n_cells: int) -> RowCounts:
        """Count rows in effect, and the fewest of one label in a cell."""
        cell = self.merging.predict(self.merging.cells.scores, n_cells)[1]
        place = 2 * cell.repeat(2) + np.tile([0, 1], len(cell))
        mass, squares = (np.bincount(place, self.sums(power), 2 * n_cells).reshape(-1, 2) for power in (1, 2))
        held = mass.sum(axis=1) > 0
        rows = np.divide(mass[held] ** 2, squares[held], out=np.zeros_like(mass[held]), where=squares[held] > 0)
        return RowCounts.of(self.rows, float(rows.min()))


def _predicting(sample: Sample, event: Floats) -> Sample:
    """Return the same rows with other predictions of the event."""
    return Sample.of(replace(sample.predictions, rows=two_columns(event)), sample.outcomes)


def _number(estimator: Estimator, value: Any) -> float:
    return float(estimator.core.headline(np.asarray(value)))


def _path(keep: Estimator, start: Binning, merging: Merging, judge: _OfWorld | _OfRows) -> SimplificationPath:
    """Evaluate the predictor at each step."""
    n_cells = merging.numbers_of_cells
    each = track(n_cells.tolist(), len(n_cells))
    error, expected, loss, tau, count = np.array([judge.values(keep, size) for size in each]).T
    last, notes = int(n_cells[-1]), list[str]()
    compared, counts = None, None
    if isinstance(judge, _OfRows):
        compared, why = judge.compared(keep, last)
        counts = judge.counts(last)
        notes = [*filter(None, [why]), _CHOSEN_AGAIN]
    numbers = (error, expected, loss, tau, count)
    return SimplificationPath(keep, start, n_cells, *numbers, compared, counts, tuple(notes), judge, merging)


_CHOSEN_AGAIN = "a number of cells that is chosen by this table has seen these rows: judge that choice on others"


_LINES = 12  # of the printed table


@final
@dataclass(frozen=True, eq=False, repr=False)
class SimplificationPath(Result):
    """The result of `simplify`: numbers (S,) for each number of cells, from the largest to the smallest.

    Parameters
    ----------
    keep : Estimator
        What merges lose least of.
    start : Binning
        Of the cells to begin with.
    n_cells : (S,) ints
    calibration_error : (S,) floats
        Mean distance of prediction and mean outcome over the cells, ``ECE(UniqueValues())``.
    expected : (S,) floats
        The same for a calibrated predictor on as many rows: what noise alone gives; NaN in a world. With weights it is
        about, for as many rows in effect; in clusters it is about too, the mean over labels that are redrawn.
    loss : (S,) floats
        The value of `keep`.
    tau : (S,) floats
        `KendallTau`, in a world against chances, on a sample against labels.
    count : (S,) floats
        `ProbabilisticCount`.
    comparison : ComparisonTest or None
        Of `keep` for the last predictor and the original one, on the same rows; None in a world, and where there is no
        interval.
    counts : RowCounts or None
        Of the rows that judge.
    notes : tuple of str
        What limits the result.
    judge, merging
        The rows, or the world, and the order of merges, from which `merged` and `binning` are made.
    """

    keep: Estimator
    start: Binning
    n_cells: Ints
    calibration_error: Floats
    expected: Floats
    loss: Floats
    tau: Floats
    count: Floats
    comparison: ComparisonTest | None
    counts: RowCounts | None
    notes: tuple[str, ...]
    judge: _OfWorld | _OfRows
    merging: Merging

    _display: ClassVar[str] = "SimplificationDisplay"
    _row: ClassVar[str] = "n_cells"
    _text_columns: ClassVar[tuple[int, ...]] = ()
    _spare_columns: ClassVar[tuple[int, ...]] = (5, 4)

    def merged(self, n_cells: int | None = None) -> FinitePredictions | Sample:
        """Return the predictor with so many cells: its world, or the rows that judge with its predictions.

        Parameters
        ----------
        n_cells : int, optional
            By default the smallest number of cells.
        """
        return self.judge.at(self._at(n_cells))

    def binning(self, n_cells: int | None = None) -> FixedEdges:
        """Return the merged cells as intervals of the prediction, for calibrators and estimators.

        ``calibrators.Binned(path.binning())`` averages predictions in them, ``calibrators.HistogramBinning`` labels.

        Parameters
        ----------
        n_cells : int, optional
            By default the smallest number of cells.
        """
        return FixedEdges([0.0, *self.merging.borders[self.merging.left(self._at(n_cells))].tolist(), 1.0])

    def _at(self, n_cells: int | None) -> int:
        least, most = int(self.n_cells[-1]), int(self.n_cells[0])
        size = least if n_cells is None else at_least_one("n_cells", n_cells)
        if not least <= size <= most:
            raise ValueError(f"n_cells is {size}, but the path goes from {most} to {least} cells.")
        return size

    @property
    def verdict(self) -> str:
        """Say what the last predictor loses, and how far it is off."""
        size, first = counted(int(self.n_cells[-1]), "cell"), int(self.n_cells[0])
        what, now = self.keep.quantity, float(self.loss[-1])
        error = number(float(self.calibration_error[-1]))
        if isinstance(self.judge, _OfWorld):
            before = float(self.loss[0])
            return (
                f"{size} in place of {first}: {what} {number(now, before)} in place of {number(before, now)}, "
                f"calibration error {error} in place of {number(float(self.calibration_error[0]))} (true values)."
            )
        change = ""
        if self.comparison is not None:
            found = self.comparison
            interval = interval_text(found.confidence_interval, found.confidence_level)
            change = f", a change of {number(found.difference)} against the original predictions ({interval})"
        return (
            f"{size} in place of {first}, on {counted(len(self.judge.rows), 'row')} that did not choose them: {what} "
            f"{number(now)}{change}; calibration error {error}, where {number(float(self.expected[-1]))} is expected "
            "of a calibrated predictor."
        )

    def _values(self) -> dict[str, Any]:
        rows = (
            {}
            if isinstance(self.judge, _OfWorld)
            else {"n_test": len(self.judge.rows), "n_chosen": self.judge.n_chosen}
        )
        found = self.comparison
        return {
            "keep": repr(self.keep),
            "start": repr(self.start),
            **{name: getattr(self, name)[-1] for name in _COLUMNS},
            "change": None if found is None else found.difference,
            "confidence_interval": None if found is None else found.confidence_interval,
            "confidence_level": None if found is None else found.confidence_level,
            **rows,
            "notes": self.notes,
        }

    def _counted(self) -> dict[str, Any]:
        return {} if self.counts is None else self.counts._asdict()

    def _rows(self) -> Sequence[dict[str, Any]]:
        columns = [getattr(self, name).tolist() for name in _COLUMNS]
        return [dict(zip(_COLUMNS, row, strict=True)) for row in zip(*columns, strict=True)]

    def _table(self) -> list[list[str]]:
        header = ["cells", "calibration error", "expected", "loss", "tau", "count"]
        places = np.unique(np.geomspace(1, len(self.n_cells), min(_LINES, len(self.n_cells))).round().astype(int))
        shown = [self._rows()[-place] for place in reversed(places)]
        return [header, *([str(row["n_cells"]), *(_cell(row[name]) for name in _COLUMNS[1:])] for row in shown)]

    def _notes(self) -> tuple[str, ...]:
        return self.notes

    def _details(self) -> list[tuple[str, str]]:
        world = isinstance(self.judge, _OfWorld)
        tau = f"1 where no pair of rows is in the wrong order by {'chances' if world else 'labels'}; ties are not wrong"
        lines = [
            ("loss", f"{self.keep.quantity}: what merges lose least of"),
            ("tau", tau),
            ("count", "one over the chance that two rows share a cell; at most the number of cells"),
            ("cells", f"to begin with, those of {self.start!r}"),
        ]
        if isinstance(self.judge, _OfRows):
            about = "" if self.judge.rows.predictions.weights is None else "about "
            lines.insert(0, ("expected", f"{about}the calibration error of a calibrated predictor on as many rows"))
            judged = RowCounts.of(self.judge.rows).text(len(self.judge.rows))
            lines.append(
                ("data", f"chosen on {counted(self.judge.n_chosen, 'row')}; all numbers are of others ({judged})")
            )
        return lines


_COLUMNS = ("n_cells", "calibration_error", "expected", "loss", "tau", "count")


def _cell(value: float) -> str:
    return "" if np.isnan(value) else number_cell(value)
