"""Rows that each stand for several: a prediction, and how often each outcome followed it."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, final

import numpy as np

from calibstat._text import counted, safe
from calibstat.data._classes import as_labels, classes_of_columns, common_prefix
from calibstat.data.arrays import Array, Floats, Ints
from calibstat.data.checks import (
    VALUE_TOLERANCE,
    Examined,
    all_of,
    as_variable,
    check_rows,
    gather,
    importance_weights,
    locked,
    own,
    warn_of_order,
    without_missing,
)
from calibstat.data.columns import as_array, column, names_of
from calibstat.data.groups import Groups
from calibstat.data.parameters import keep
from calibstat.data.sample import Predictions, Sample

# So many probabilities are written out at most: a gigabyte, and as much again while they are used.
MOST_WRITTEN_OUT = 10**8
# From so many rows on those who can read counts do not have them written out.
MANY = 10**6
# The order of classes is looked at in so many rows.
_LOOKED_AT = 100_000
# From here on floats leave out whole numbers.
_MOST_COUNTED = 2.0**53


@final
class CountedSample(Sample):
    """Predictions, and how often each outcome followed each; made by `Sample.from_counts`.

    It is the sample of the rows that are counted, in the order of predictions and, for each of them, of outcomes. They
    are written out when something reads single rows.

    Attributes
    ----------
    each : Predictions
        The predictions (m), with the weights that each of their rows has.
    counts : (m, K) ints
        How often each outcome followed.
    """

    each: Predictions
    counts: Ints

    def __init__(self, each: Predictions, counts: Ints) -> None:
        keep(self, each=each, counts=counts)

    @cached_property
    def predictions(self) -> Predictions:
        """The label-blind part of the rows, written out."""
        if self.each.buckets is not None:
            raise needs_rows(_called(), len(self.each))
        self._refuse_many()
        written = self.each.take(np.repeat(np.arange(len(self.counts)), self.counts.sum(axis=1)))
        return replace(written, rows=own(written.rows))

    @cached_property
    def outcomes(self) -> Ints:
        """(n,) the column of the label that occurred, row by row."""
        if self.each.buckets is not None:
            raise needs_rows(_called(), len(self.each))
        self._refuse_many()
        codes = np.broadcast_to(np.arange(self.counts.shape[1]), self.counts.shape)
        return locked(np.repeat(codes.ravel(), self.counts.ravel()))

    @property
    def hint(self) -> str:
        """Nothing: rows that are counted are equal."""
        return ""

    @property
    def most(self) -> int:
        """How many rows are written out at most."""
        return MOST_WRITTEN_OUT // self.each.rows[:1].size

    def _refuse_many(self) -> None:
        """Raise where the rows are too many to be written out."""
        if len(self) > self.most:
            raise ValueError(
                f"the sample counts {len(self):,} rows, but {_called()} needs them one by one, of which at most "
                f"{self.most:,} are written out; calibration_test, omnibus_test, estimate and "
                "equivalence_test of errors of cells, scores and cumulative statistics, subgroup_audit, "
                "scan_variables, clinical_summary, calibration_band, ReliabilityDisplay and CumulativeDisplay read "
                "counts of any number without weights, of groups by Within, Region or ledger.sample(where=...)"
            )

    @property
    def labels(self) -> tuple[Hashable, ...]:
        """The label of each column."""
        return self.each.classes

    @property
    def known(self) -> Predictions:
        """The different predictions."""
        return self.each

    @property
    def groups(self) -> Groups | None:
        """Which rows belong together; None where each row is by itself."""
        return None if self.each.groups is None else self.predictions.groups

    def read_by(self, reads_counts: Callable[[int], bool], labelled: bool = False, buckets: bool = False) -> Sample:
        """Return the predictions as rows that stand for several, with shares of outcomes, where many rows are read.

        Those who look at the residuals of rows read them `labelled`: one row for each prediction and outcome. Rows that
        are `buckets` are read by those alone to whom sums over buckets suffice.
        """
        if self.each.buckets is not None and not buckets:
            return self
        # of powers and buckets rows written out know nothing
        few = len(self) < MANY and self.each.powers is None and self.each.buckets is None
        if few or self.groups is not None or not reads_counts(self.each.n_classes):
            return self
        if labelled:
            return self if self.each.weights is not None else Sample.of(*self._labelled)
        return Sample.of(*self._pooled)

    @cached_property
    def _labelled(self) -> tuple[Predictions, Ints]:
        row, outcome = np.nonzero(self.counts)
        rows = locked(self.counts[row, outcome].astype(float))
        return replace(self.each.take(row), counts=rows, weights=rows), locked(outcome)

    @cached_property
    def _pooled(self) -> tuple[Predictions, Array]:
        rows = locked(self.counts.sum(axis=1).astype(float))
        weights = rows if self.each.weights is None else locked(rows * self.each.weights)
        return replace(self.each, counts=rows, weights=weights), locked(self.counts / rows[:, None])

    def seen_through(self, look: Callable[[Predictions], Any]) -> Sample:
        """Return what a lens shows: predictions, and counts of the outcomes that it shows."""
        view = look(self.each)
        if view.recoding is not None and self.each.buckets is not None:
            raise needs_rows("a lens that relabels outcomes, such as TopLabel(),", len(self.each))
        return CountedSample(view.predictions, view.chances(self.counts).astype(np.int64))

    def some(self, most: int) -> Examined:
        """Return every so-many-th row, written out, so that there are `most` at most."""
        ends = self.counts.cumsum()
        place = np.searchsorted(ends, np.arange(0, ends[-1], -(-ends[-1] // most)), side="right")
        row, outcome = np.divmod(place, self.counts.shape[1])
        return Examined(self.each.rows[row], outcome, self.labels, None, {}, None, self.each.source, guessed=False)

    def __len__(self) -> int:
        return int(self.counts.sum())

    def _by_class(self) -> tuple[Ints, Floats, Floats]:
        weights = np.ones(len(self.each)) if self.each.weights is None else self.each.weights / self.each.weights.max()
        each = weights * self.counts.sum(axis=1)
        predicted = np.average(self.each.probabilities, axis=0, weights=each)
        return self.counts.sum(axis=0), weights @ self.counts, predicted

    def __repr__(self) -> str:
        how, what = ("for", "prediction") if self.each.buckets is None else ("in", "bucket")
        counts = f"counted {how} {counted(len(self.counts), what)}"
        return safe(f"Sample({', '.join([*self._parts(self.each), counts])})")


def needs_rows(what: str, n_buckets: int) -> ValueError:
    """Say that something needs single rows, of which buckets know nothing."""
    return ValueError(
        f"{what} needs the prediction of each row, but the sample has {counted(n_buckets, 'bucket')} of rows, of whose "
        "predictions the mean alone is known: take an error in cells of whole buckets, such as ECE(UniqueValues()), or "
        "ECE(EqualWidth(10)) where between= says that no cell begins inside a bucket; or pass the rows, or a Ledger of "
        "them"
    )


def _called() -> str:
    """Return the name of the public function that was called first, for messages; "this" where there is none."""
    public, frame, found = sys.modules["calibstat"].__all__, inspect.currentframe(), "this"
    while frame is not None:
        own = frame.f_globals.get("__name__", "")
        if own.startswith("calibstat.") and frame.f_code.co_name in public:
            found = frame.f_code.co_name
        frame = frame.f_back
    return found


def counted_sample(
    y_prob: Any,
    counts: Any = None,
    *,
    events: Any = None,
    trials: Any = None,
    variables: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    groups_name: str | None = None,
    labels: Sequence[Hashable] | None = None,
    nan_policy: str = "raise",
    prevalence: Any = None,
    columns: Sequence[str] | None = None,
    count_columns: Sequence[str] | None = None,
    identifier: str | None = None,  # noqa: ARG001 - equal rows are counted, so that it has a row for each
    buckets: Floats | None = None,
) -> CountedSample:
    """Check the arguments of `Sample.from_counts`; the names of columns of `y_prob` and `counts` may be known."""
    if prevalence is not None:
        raise ValueError("prevalence= is for single rows, not for counts of them: leave it out, or write the rows out")
    given, called = _as_counts(counts, events, trials), "events" if counts is None else "counts"
    number = np.where(np.isnan(given).any(axis=1), np.nan, np.arange(len(given)))
    gathered = gather(number, y_prob, variables, sample_weight, (groups, groups_name), called)
    vector = gathered.rows.ndim == 1
    of_prob = names_of(y_prob) if columns is None and not vector else columns
    raw, omitted = without_missing(gathered, nan_policy, of_prob)
    kept = raw.truth.values.astype(np.intp)
    named = names_of(counts) if count_columns is None else count_columns
    spelt = _spelt(given.shape[1], named, None if vector else of_prob, counts is None)

    def classified() -> tuple[tuple[Hashable, ...], str]:
        width = 2 if vector else raw.rows.shape[1]
        if given.shape[1] != width:
            raise ValueError(
                f"{called} has {counted(given.shape[1], 'column')}, but y_prob is for {width} classes: pass how often "
                "each class followed, one column for each class"
            )
        occurring = as_labels(column("labels", np.array(spelt, dtype=object)))
        if labels is not None and set(labels).isdisjoint(spelt):  # names that spell none of them are not asked
            occurring = as_labels(column("labels", np.array(list(labels), dtype=object)))
        return classes_of_columns(occurring, width, vector=vector, labels=labels, columns=of_prob)

    _, (classes, source), weights, _ = all_of(
        lambda: check_rows(raw, of_prob),
        classified,
        lambda: importance_weights(raw.weights),
        lambda: _check(given[kept], kept, called),
    )
    found = given[kept].astype(np.int64)
    if named is not None and set(classes) == set(spelt):
        found = found[:, [spelt.index(label) for label in classes]]
    there = np.flatnonzero(found.any(axis=1))
    known = {name: as_variable(each.take(there)) for name, each in raw.variables.items()}
    weights = None if weights is None else locked(weights[there])
    clusters = raw.clusters()
    clusters = None if clusters is None else Groups.of(clusters.codes[there], clusters.name)
    ends = None if buckets is None else locked(buckets[kept][there])
    each = Predictions(
        raw.copied.rows[there], classes, weights, known, source=source + omitted, buckets=ends, groups=clusters
    )
    made = CountedSample(each, locked(found[there]))
    warn_of_order(made.some(_LOOKED_AT))
    return made


def bucketed_sample(predicted: Any, *, events: Any, trials: Any, between: Any = None, **known: Any) -> CountedSample:
    """Check the arguments of `Sample.from_buckets`, and of frames and files that hold buckets."""
    single = [name for name in ("sample_weight", "groups") if known.get(name) is not None]
    if single:
        raise ValueError(f"{single[0]}= is for single rows, of which buckets know nothing: leave it out")
    ends = (None, None) if between is None else _pair(between)
    sums, rows = _numbers("predicted", predicted, 1), _numbers("trials", trials, 1)
    _expect_rows("trials", rows, np.arange(len(rows)))
    low, high = (np.full(len(sums), k) if e is None else _numbers("between", e, 1) for k, e in enumerate(ends))
    for name, each in (("trials", rows), ("between", low), ("between", high)):
        if len(each) != len(sums):
            raise ValueError(
                f"predicted has {counted(len(sums), 'row')} and {name} has {len(each)}: pass one of each for every "
                "bucket"
            )
    filled = rows > 0
    mean = np.divide(sums, rows, out=np.where(filled, np.nan, np.nan_to_num(low)), where=filled)
    astray = filled & ((mean < low - VALUE_TOLERANCE) | (mean > high + VALUE_TOLERANCE) | ~(low >= 0) | ~(high <= 1))
    if astray.any():
        row = int(np.argmax(astray))
        raise ValueError(
            f"predicted is {sums[row]:g} in row {row} (rows count from 0), which is {mean[row]:g} for each of its "
            f"{rows[row]:g} trials, but a mean prediction between {low[row]:g} and {high[row]:g} is expected: pass the "
            "sum of the predictions in each bucket, and as between= the numbers in [0, 1] that they lie between"
        )
    mean = np.clip(mean, low, high)
    inside = np.where((rows == 1)[:, None], mean[:, None], np.column_stack([low, high]))
    return counted_sample(mean, events=events, trials=trials, buckets=inside, **known)


def _pair(between: Any) -> tuple[Any, Any]:
    """Return the lower and the upper ends of buckets, which are a pair."""
    if not isinstance(between, (tuple, list)) or len(between) != 2:
        raise TypeError("between= is a pair, (low, high): the lower and the upper end of each bucket")
    return between[0], between[1]


def _as_counts(counts: Any, events: Any, trials: Any) -> Floats:
    """Return how often each outcome followed (m, K), NaN where a number is missing."""
    if (counts is None) == (events is None and trials is None) or (events is None) != (trials is None):
        raise TypeError(
            "pass how often each class followed, counts= (m, K), or for two classes events= and trials=, one of each "
            "for every prediction"
        )
    if counts is not None:
        return _numbers("counts", counts, 2)
    happened, tried = _numbers("events", events, 1), _numbers("trials", trials, 1)
    if len(happened) != len(tried):
        raise ValueError(
            f"events has {counted(len(happened), 'row')} and trials has {len(tried)}: pass one of each for every "
            "prediction"
        )
    for name, found in (("events", happened), ("trials", tried)):
        _expect_rows(name, found, np.arange(len(found)))
    beyond = happened > tried
    if beyond.any():
        row = int(np.argmax(beyond))
        raise ValueError(
            f"events is {happened[row]:g} in row {row} (rows count from 0), more than its {tried[row]:g} trials: "
            "trials count all rows, those with the event among them"
        )
    return np.column_stack([tried - happened, happened])


def _numbers(name: str, given: Any, dimensions: int) -> Floats:
    array = as_array(name, given)
    if array.ndim != dimensions:
        raise ValueError(
            f"{name} has shape {array.shape}, but "
            + (
                "(m, K) is expected: one row for each prediction, one column for each class"
                if dimensions == 2
                else "one number for each prediction is expected, shape (m,)"
            )
        )
    found = column(name, array.ravel())
    if found.names is not None:
        raise ValueError(f"{name} holds text (such as {found.names[0]!r}), but whole numbers are expected")
    return found.values.astype(np.float64).reshape(array.shape)


def _expect_rows(name: str, counts: Floats, numbers: Ints) -> None:
    """Raise unless these (m,) or (m, K) are numbers of rows, or missing; `numbers` are those of the lines."""
    wrong = (counts < 0) | (counts != np.floor(counts)) | (counts >= _MOST_COUNTED)
    wrong &= ~np.isnan(counts)
    if wrong.any():
        row, *place = np.argwhere(wrong)[0].tolist()
        column = f", column {place[0]}" if place else ""
        raise ValueError(
            f"{name} is {counts[row, *place]:g} in row {numbers[row]} (rows count from 0){column}, but a whole number "
            "of rows, 0 or more, is expected"
        )


def _check(counts: Floats, numbers: Ints, called: str) -> None:
    """Raise unless these are numbers of rows; `numbers` are those of the rows."""
    _expect_rows(called, counts, numbers)
    total = counts.sum()
    if not 0 < total < _MOST_COUNTED:
        raise ValueError(f"{called} adds up to {total:g} rows: at least 1 and fewer than 2^53 are expected")


def _spelt(
    n_classes: int, names: Sequence[str] | None, of_prob: Sequence[str] | None, of_events: bool
) -> list[Hashable]:
    """Return the label of each column of counts: what names say after their common beginning, else their places."""
    said = names or (of_prob if of_prob is not None and len(of_prob) == n_classes else None)
    if said is None or of_events:
        return [False, True] if of_events else list(range(n_classes))
    length = len(re.sub(r"[^\W_]+$", "", common_prefix(said))) if len(said) > 1 else 0
    parts = [name[length:] for name in said]
    return list(map(int, parts)) if all(re.fullmatch(r"-?\d+", part) for part in parts) else list(parts)
