"""The one place where arrays from outside are checked; all other code trusts what has passed."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple, NoReturn

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._text import counted, some_of
from calibstat._warn import note, warn
from calibstat.data._classes import SORTED, as_labels, as_sampled, better_order, classes_of_columns
from calibstat.data.arrays import NUMBERS_IN_CACHE, Array, Bools, Floats, Ints, Top, Variable, top_of, two_columns
from calibstat.data.columns import Column, as_array, column, names_of, occurring, refuse_lazy, shortened
from calibstat.data.groups import Groups


@dataclass(frozen=True, eq=False)
class Examined:
    """Input that has passed every check.

    `rows` can be written to, because numpy's argmax copies read-only arrays; users only see read-only views of it.
    """

    rows: Array  # copied: (n,) of the last of two classes; (n, 2), column by column; or (n, K), perhaps in float32
    outcomes: Ints  # (n,), the column of each row's label
    classes: tuple[Hashable, ...]
    weights: Floats | None  # None if not given or all equal
    variables: dict[str, Variable]
    groups: Groups | None  # None where each row is by itself
    source: str  # one line: which class each column was taken for
    guessed: bool  # whether columns have names, which spell no labels, so that these were sorted
    top: Top | None = None  # of the rows, if it was found on the way
    identifier: str = ""  # what a column that was left out says of clusters

    @property
    def probabilities(self) -> Array:
        """(n, K) the rows, read-only."""
        return locked(two_columns(self.rows).view())


def examine(
    y_true: Any,
    y_prob: Any,
    *,
    variables: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    groups_name: str | None = None,
    labels: Sequence[Hashable] | None = None,
    nan_policy: str = "raise",
    prevalence: Any = None,
    columns: Sequence[str] | None = None,
    identifier: str | None = None,
    ask: bool = False,
) -> Examined:
    """Check the arguments of a sample and copy them.

    The arguments are those of `Sample`; `columns` are the names of the columns of `y_prob`, and `groups_name` is that
    of the column of groups, where the caller knows them; `identifier` is what another column says of groups that were
    not named. With `ask`, names of several columns that spell no labels are an error. An error says what was found,
    what was expected and what to do.
    """
    given = gather(y_true, y_prob, variables, sample_weight, (groups, groups_name))
    vector = given.rows.ndim == 1
    names = names_of(y_prob) if columns is None and not vector else columns
    raw, omitted = without_missing(given, nan_policy, names)
    rows, top = raw.copied.rows, raw.copied.top
    n_classes = 2 if vector else rows.shape[1]

    def classified() -> tuple[tuple[Hashable, ...], str, Ints]:
        found = replace(as_labels(raw.truth), all_rows=not omitted)
        classes, source = classes_of_columns(found, n_classes, vector=vector, labels=labels, columns=names, ask=ask)
        return classes, source, found.columns(classes)

    _, (classes, source, outcomes), weights, together = all_of(
        lambda: check_rows(raw, names), classified, lambda: importance_weights(raw.weights), raw.clusters
    )
    guessed = names is not None and not vector and source.endswith(f"({SORTED})")
    if prevalence is not None:
        rows, moved = as_sampled(two_columns(rows), outcomes, weights, classes, prevalence)
        source, top = source + moved, None
    return Examined(
        rows,
        locked(outcomes),
        classes,
        weights,
        {name: as_variable(each) for name, each in raw.variables.items()},
        None if together is None else together.of_several,
        source + omitted,
        guessed,
        top,
        identifier or "",
    )


_MOST_TOLD = 4
_MANY_MISSING = 0.05  # a share of the rows that is worth a note


def all_of(*checks: Callable[[], Any]) -> list[Any]:
    """Return what each of the checks returns; if several raise a ValueError, one error tells up to four of them."""
    found, errors = [], []
    for check in checks:
        try:
            found.append(check())
        except ValueError as error:
            errors.append(error)
    said = list(dict.fromkeys(map(str, errors)))
    if len(said) > _MOST_TOLD:
        said[_MOST_TOLD - 1 :] = [f"{len(said) - _MOST_TOLD + 1} more errors"]
    if len(said) > 1:
        raise ValueError(". Also: ".join(said)) from errors[0]
    if errors:
        raise errors[0]
    return found


def check_rows(raw: Arguments, names: Sequence[str] | None) -> None:
    """Raise if probabilities are outside [0, 1], or rows do not sum to one."""
    if not raw.copied.inside:
        check_range(raw.rows, names)
    if not raw.copied.sums_to_one:
        check_sums(raw.copied.rows, names)


def warn_of_order(found: Examined) -> None:
    """Warn where another order of the classes fits far better, or where names of columns should have told the order."""
    rows, outcomes = found.rows, found.outcomes
    if found.groups is not None:  # rows of one cluster may be wrong together
        each = np.unique(found.groups.codes, return_index=True)[1]
        rows, outcomes = rows[each], outcomes[each]
    better = better_order(rows, outcomes, len(found.classes))
    if better is None:
        if found.guessed:
            warn(
                f"{found.source.partition(';')[0]}: their names spell no labels",
                advice=f"; if that order is right, pass labels={list(found.classes)}",
            )
        return
    order, before, after = better
    meant = [found.classes[place] for place in order]
    other = f"P(label = {meant[-1]})" if found.rows.ndim == 1 else f"the order {', '.join(map(str, meant))}"
    warn(
        f"{found.source.partition(';')[0]}, but {other} fits far better (Brier score {after:.3g} instead of "
        f"{before:.3g})",
        advice=f"; if that is what y_prob holds, pass labels={meant}",
    )


def warn_of_columns(rows: Floats, outcomes: Ints, classes: Sequence[Hashable], n_given: int) -> None:
    """Warn where rows (n, K) that a calibrator takes in the sorted order of the labels fit another order far better.

    They were made of X, which has `n_given` columns.
    """
    two = len(classes) == 2
    better = better_order(rows[:, 1] if two else rows, outcomes, len(classes))
    if better is None:
        return
    order, before, after = better
    meant = [classes[place] for place in order]
    found = f"columns of X taken for classes {shortened(classes)} ({SORTED}), but the order {shortened(meant)}"
    todo = "pass its columns in the order of classes_, the sorted labels"
    if n_given == 1:
        found = f"X taken for P(label = {classes[-1]}), the last of the {SORTED}, but P(label = {meant[-1]})"
        todo = "pass 1 - X"
    elif n_given == len(classes):
        todo = f"{todo}: X[:, {np.argsort(order).tolist()}]"
    warn(
        f"{found} fits far better (Brier score {after:.3g} instead of {before:.3g})",
        advice=f"; if that is what X holds, {todo}",
    )


def importance_weights(found: Column | None) -> Floats | None:
    """Return a copy of the importance weights; None if they are all equal."""
    if found is None:
        return None
    if found.names is not None:
        raise ValueError(f"sample_weight holds text (such as {found.names[0]!r}), but numbers are expected")
    weights = np.array(found.values, dtype=np.float64)
    low, high = weights.min(), weights.max()
    if low < 0 or np.isinf(high):
        row = int(np.argmax((weights < 0) | np.isinf(weights)))
        raise ValueError(
            f"sample_weight is {weights[row]:.6g} in row {row} (rows count from 0): "
            "weights must be finite and not negative"
        )
    if high == 0:
        raise ValueError("sample_weight is zero in every row: at least one weight must be positive")
    if low == high:
        return None
    _warn_of_counts(weights)
    exponent = int(np.frexp(high)[1])
    if abs(exponent) > _LARGEST_EXPONENT:  # only ratios matter: a power of two changes none, and keeps sums in range
        weights = np.ldexp(weights, -exponent)
    return locked(weights)


# Sums of fourth powers of weights up to this power of two, and their products with rows, are far from overflowing.
_LARGEST_EXPONENT = 64
# Whole numbers whose mean is at least this are asked about: they may count rows.
_MEAN_OF_COUNTS = 5
# From here on every float is a whole number.
_MOST_COUNTED = 2.0**53


def _warn_of_counts(weights: Floats) -> None:
    """Warn of weights that look like numbers of rows, which importance weights are not."""
    with np.errstate(over="ignore"):
        n, total = len(weights), float(weights.sum())
    if _MEAN_OF_COUNTS * n <= total < _MOST_COUNTED and (weights == np.floor(weights)).all():
        warn(
            f"sample_weight holds whole numbers that add up to {total:g} in {counted(n, 'row')}: are they counts? "
            "They are taken as importance weights, whose ratios alone matter, so results speak of "
            f"{counted(n, 'row')}.",
            advice=" If they count rows, repeat each row as often, for example y_true=numpy.repeat(y_true, counts); "
            "if not, divide them by their mean.",
        )


def locked(array: Array) -> Array:
    """Return the array after making it read-only; nobody else may hold it."""
    array.setflags(write=False)
    return array


NAN_POLICIES = ("raise", "omit")


@dataclass(frozen=True, eq=False)
class Arguments:
    """The arguments as arrays of equal length, whose values are not checked yet."""

    truth: Column
    rows: Array
    weights: Column | None
    variables: dict[str, Column]
    groups: tuple[str, Column] | None = None
    called: str = "y_true"

    @cached_property
    def copied(self) -> Copied:
        """A copy of the probabilities, and what a look at each of them finds."""
        return Copied.of(self.rows)

    def columns(self) -> dict[str, Column]:
        """Everything but the probabilities, by the names that messages use."""
        named = {self.called: self.truth}
        if self.weights is not None:
            named["sample_weight"] = self.weights
        if self.groups is not None:
            named["groups"] = self.groups[1]
        return named | {f"variable {name!r}": each for name, each in self.variables.items()}

    def take(self, kept: Bools) -> Arguments:
        """Return the arguments at the rows that are kept."""
        return Arguments(
            self.truth.take(kept),
            self.rows[kept],
            None if self.weights is None else self.weights.take(kept),
            {name: each.take(kept) for name, each in self.variables.items()},
            None if self.groups is None else (self.groups[0], self.groups[1].take(kept)),
            self.called,
        )

    def clusters(self) -> Groups | None:
        """Number the clusters; None without any."""
        return None if self.groups is None else Groups.of(self.groups[1].values, self.groups[0])


def gather(
    y_true: Any,
    y_prob: Any,
    variables: Any,
    sample_weight: Any,
    groups: tuple[Any, str | None],
    called: str = "y_true",
) -> Arguments:
    """Turn the arguments into arrays, and raise if their shapes or types do not fit together.

    Groups are those of the rows and their name, where that is known; what happened is `called` this in messages.
    """
    truth, prob = as_array("y_true", y_true), as_array("y_prob", y_prob)
    _refuse_shape(truth, prob)
    labels = column("y_true", truth)
    _refuse_exchange(labels.values if labels.names is None else truth, prob)
    weights = None if sample_weight is None else column("sample_weight", sample_weight)
    together = None if groups[0] is None else (groups[1] or _name_of(groups[0]), column("groups", groups[0]))
    given = Arguments(labels, as_rows(prob), weights, named_columns(variables), together, called)
    _refuse_lengths(given)
    return given


def _name_of(groups: Any) -> str:
    """Return the name of a column of clusters, as a series of pandas or polars knows it."""
    name = getattr(groups, "name", None)
    return name if isinstance(name, str) and name else "groups"


def _refuse_shape(truth: Array, prob: Array) -> None:
    """Raise if labels have more than one dimension."""
    if truth.ndim == 1:
        return
    _refuse_exchange(truth, prob)
    advice = "pass one label for each row, shape (n,)"
    if truth.ndim == 2 and truth.shape[1] == 1:
        advice = "pass y_true.ravel()"
    elif _one_hot(truth):
        advice = "it looks one-hot encoded: pass y_true.argmax(axis=1)"
    raise ValueError(f"y_true has shape {truth.shape}, but labels have one dimension: {advice}")


def _one_hot(truth: Array) -> bool:
    if truth.ndim != 2 or truth.dtype.kind not in "biuf":
        return False
    return bool(np.isin(truth, (0, 1)).all() and (truth.sum(axis=1) == 1).all())


def _refuse_exchange(truth: Array, prob: Array) -> None:
    """Raise if probabilities stand where labels should be, and labels where probabilities should be."""
    if truth.dtype.kind != "f" or prob.ndim != 1 or not truth.size or not prob.size:
        return
    unit = np.nanmin(truth) >= 0 and np.nanmax(truth) <= 1 if not np.isnan(truth).all() else False
    fractions = (truth.ndim == 2 and truth.shape[1] > 1) or _fractions(truth)
    if unit and fractions and _only_labels(prob):
        raise ValueError(
            "y_true and y_prob look exchanged: y_true holds probabilities and y_prob labels; "
            "the order is (y_true, y_prob), as in scikit-learn"
        )


def _fractions(values: Array) -> bool:
    # NaN > floor(NaN) is False, and so is the same comparison of infinity.
    return bool((values > np.floor(values)).any())


def _only_labels(prob: Array) -> bool:
    if prob.dtype.kind == "O":
        found = column("y_prob", prob)
        return found.names is not None or not _fractions(found.values)
    return prob.dtype.kind in "biuSTU" or (prob.dtype.kind == "f" and not _fractions(prob))


def _refuse_lengths(given: Arguments) -> None:
    n = len(given.truth.values)
    if len(given.rows) != n:
        turned = given.rows.ndim == 2 and given.rows.shape[1] == n
        advice = "pass y_prob.T" if turned else "there must be one label for each row of probabilities"
        raise ValueError(f"{given.called} has {counted(n, 'row')} and y_prob has {len(given.rows)}: {advice}")
    for name, each in given.columns().items():
        if len(each.values) != n:
            raise ValueError(
                f"{name} has {counted(len(each.values), 'row')}, but {given.called} and y_prob have {n}: "
                "pass one value each"
            )
    if n == 0:
        raise ValueError(f"the sample is empty: {given.called} and y_prob have no rows; pass at least one")


_IN_WORDS = {"y_true": "labels", "y_prob": "probabilities", "sample_weight": "weights"}


def without_missing(given: Arguments, nan_policy: str, columns: Sequence[str] | None) -> tuple[Arguments, str]:
    """Return the rows in which nothing is missing, and a phrase about the others.

    `columns` are the names of the columns of probabilities, if known.
    """
    if nan_policy not in NAN_POLICIES:
        raise ValueError(f"nan_policy is {nan_policy!r}, but it must be one of {', '.join(map(repr, NAN_POLICIES))}")
    found = {name: rows for name, each in given.columns().items() if (rows := each.missing()) is not None}
    if math.isnan(given.copied.lowest):
        found |= _absent_of(given.rows, columns)
    if not found:
        return given, ""
    counts = ", ".join(f"{name}: {int(rows.sum())}" for name, rows in found.items())
    if nan_policy == "raise":
        name, rows = next(iter(found.items()))
        said = (
            f"values are missing ({counts}), first in row {int(np.argmax(rows))} of {name} (rows count from 0): "
            'fill them in, or pass nan_policy="omit" to leave these rows out'
        )
        all_of(lambda: _refuse(said), lambda: _check_present(given.rows, columns))
    if np.isinf(given.rows).any():
        _check_present(given.rows, columns)
    kept = ~np.logical_or.reduce(list(found.values()))
    if not kept.any():
        raise ValueError(f"no rows are left: something is missing in each of the {len(kept)} ({counts})")
    if (~kept).mean() > _MANY_MISSING:
        note(f"{int((~kept).sum())} of {counted(len(kept), 'row')} were left out, as something is missing in them.")
    where = ", ".join(f"{_IN_WORDS.get(name, name)}: {int(rows.sum())}" for name, rows in found.items())
    return given.take(kept), f"; {int((~kept).sum())} of {counted(len(kept), 'row')} omitted (missing in {where})"


def _absent_of(rows: Array, columns: Sequence[str] | None) -> dict[str, Bools]:
    """Return the rows with missing probabilities, by the column where few columns with names have any."""
    holes: Bools = np.isnan(rows).reshape(len(rows), -1)
    where = np.flatnonzero(holes.any(axis=0)).tolist()
    if columns is None or len(where) > _MOST_NAMED:
        return {"y_prob": np.logical_or.reduce(holes, axis=1)}
    return {f"column {columns[place]!r}": holes[:, place] for place in where}


def _refuse(said: str) -> NoReturn:
    raise ValueError(said)


def _check_present(rows: Array, columns: Sequence[str] | None) -> None:
    """Raise if a probability that is not missing is not in [0, 1]."""
    check_range(np.nan_to_num(rows, nan=0.5, posinf=np.inf, neginf=-np.inf), columns)


# Rows of probabilities: what they must be, and what they look like if they are something else.

# Tolerances for single precision: how far values may leave [0, 1], and how far row sums may miss one.
VALUE_TOLERANCE = 1e-6
ROW_TOLERANCE = 1e-4 + 1e-12


def as_rows(y_prob: Any) -> Array:
    """Return (n,) or (n, K) numbers, NaN where missing; their range is not checked, and copies are avoided."""
    array = as_array("y_prob", y_prob)
    if array.ndim > 2:
        raise ValueError(f"y_prob has shape {array.shape}, but (n,) or (n, K) is expected: one row, one prediction")
    if array.ndim == 2 and array.shape[1] < 2:
        raise ValueError(
            f"y_prob has shape {array.shape}, but a single column does not say what it is the probability of: pass "
            "P(the event) with one dimension, y_prob.ravel(), or two columns"
        )
    if array.dtype.kind in "biuf":
        return array if array.dtype.kind == "f" else array.astype(np.float64)
    if array.dtype.kind in "OSTU":
        return _from_objects(array)
    raise ValueError(f"y_prob holds {array.dtype} values, but probabilities are real numbers")


def _from_objects(array: Array) -> Array:
    found = column("y_prob", array.ravel())
    if found.names is not None:
        raise ValueError(
            f"y_prob holds text (such as {found.names[0]!r}), but numbers are expected: "
            "convert it, for example with y_prob.astype(float)"
        )
    return found.values.astype(np.float64).reshape(array.shape)


def own(rows: Array) -> Array:
    """Return a copy, column by column for two classes; rows of more classes may stay in single precision."""
    several = rows.ndim == 2 and rows.shape[1] > 2
    return np.array(rows, dtype=_kept_kind(rows) if several else np.float64, order="C" if several else "F")


def _kept_kind(rows: Array) -> type[np.floating]:
    return np.float32 if rows.dtype == np.float32 else np.float64


class Copied(NamedTuple):
    """A copy of probabilities as `own` makes it, and what was found on the way."""

    rows: Array
    lowest: float  # the smallest number; NaN if one is missing
    highest: float
    off: float  # how far the sum of a row is from one
    top: Top | None = None  # of long rows

    @property
    def inside(self) -> bool:
        """Whether all lie in [0, 1]."""
        return self.lowest >= -VALUE_TOLERANCE and self.highest <= 1 + VALUE_TOLERANCE

    @property
    def sums_to_one(self) -> bool:
        """Whether every row does, even if the sums are a little off themselves."""
        return self.off <= ROW_TOLERANCE - _OFF

    @classmethod
    def of(cls, given: Array) -> Copied:
        """Copy and look; a single column has the sums that it is made to have."""
        if given.ndim == 1:
            rows = own(given)
            return cls(rows, *_clipped(rows), 0.0)
        with np.errstate(all="ignore"):  # of infinite numbers, which are refused later
            if given.shape[1] == 2:
                rows = own(given)
                sums, ends, top = rows[:, 0] + rows[:, 1], _clipped(rows), None
            else:
                rows, sums, ends, top = _copied_in_parts(given)
        return cls(rows, *ends, _farthest_from_one(sums), top)


def _clipped(rows: Array) -> tuple[float, float]:
    """Return the smallest and the largest number, after numbers that are outside [0, 1] by rounding were moved there.

    If others are farther outside, all stay as they are, for the message that refuses them.
    """
    low, high = float(rows.min()), float(rows.max())
    if (low < 0 or high > 1) and low >= -VALUE_TOLERANCE and high <= 1 + VALUE_TOLERANCE:
        np.clip(rows, 0, 1, out=rows)
        return max(low, 0.0), min(high, 1.0)
    return low, high


def _copied_in_parts(given: Array) -> tuple[Array, Array, tuple[float, float], Top | None]:
    """Return what `own` does, the sums of rows (n, K), which may be a little off, both ends of numbers, and the top.

    Numbers are read once, and then again only while they are in the cache.
    """
    rows, (n, n_classes) = np.empty(given.shape, _kept_kind(given)), given.shape
    step, sums, ends, tops = max(1, _READ // n_classes), [], [], []
    long, ones = n_classes >= _LONG, np.ones(n_classes, rows.dtype)
    in_pairs = rows.dtype == np.float32 and n_classes > _MOST_IN_TURN
    for start in range(0, n, step):
        some = rows[start : start + step]
        some[...] = given[start : start + step]
        ends.append(_clipped(some))
        sums.append(some.sum(axis=1) if in_pairs else some @ ones)
        if long:
            tops.append(top_of(some))
    top = Top(*map(np.concatenate, zip(*tops, strict=True))) if long else None
    low, high = np.transpose(ends)
    return rows, np.concatenate(sums), (float(np.min(low)), float(np.max(high))), top


def check_range(rows: Array, columns: Sequence[str] | None = None) -> None:
    """Raise if a value of (n,) or (n, K) numbers without NaN is not in [0, 1]; `columns` are their names, if known."""
    low, high = float(rows.min()), float(rows.max())
    if np.isinf(low) or np.isinf(high):
        infinite = np.isinf(rows)
        raise ValueError(
            f"{_columns_with(infinite, columns, 'is', 'are')} infinite in row {_worst(infinite)} (rows count from 0): "
            "probabilities lie between 0 and 1"
        )
    if low < -VALUE_TOLERANCE or high > 1 + VALUE_TOLERANCE:
        outside = (rows < -VALUE_TOLERANCE) | (rows > 1 + VALUE_TOLERANCE)
        row = _worst(np.maximum(-rows, rows - 1))
        raise ValueError(
            f"{_columns_with(outside, columns, 'has', 'have')} values outside [0, 1]: the worst row is {row} (rows "
            f"count from 0) with {_shown(rows[row])}. {_few_rows(outside) or _guess(rows)}"
        )


# So many columns are named one by one, and what more rows than one in so many do is no slip.
_MOST_NAMED, _SLIP = 4, 20


def _columns_with(found: Bools, columns: Sequence[str] | None, verb: str, verbs: str) -> str:
    """Name the columns in which something was found, with the verb that agrees with them."""
    if columns is None:
        return f"y_prob {verb}"
    places = np.flatnonzero(found.reshape(len(found), -1).any(axis=0)).tolist()
    named = some_of([repr(columns[place]) for place in places], _MOST_NAMED)
    return f"column {named} {verb}" if len(places) == 1 else f"columns {named} {verbs}"


def _few_rows(outside: Bools) -> str:
    """Say how many rows are outside, where these are so few that the others are probabilities."""
    n, few = len(outside), int(outside.reshape(len(outside), -1).any(axis=1).sum())
    return f"This is so in {few} of {counted(n, 'row')}: correct it there" if _SLIP * few < n else ""


def check_sums(rows: Array, columns: Sequence[str] | None = None) -> None:
    """Raise if a row of (n, K) numbers does not sum to one; `columns` are the names of the columns, if known."""
    sums = rows[:, 0] + rows[:, 1] if rows.shape[1] == 2 else _sums(rows)
    if _farthest_from_one(sums) <= ROW_TOLERANCE:
        return
    row = int(np.argmax(np.abs(sums - 1)))
    if not rows[row].any():
        raise ValueError(f"y_prob is all zero in row {row} (rows count from 0): a row must sum to 1")
    raise ValueError(
        f"y_prob has rows that do not sum to 1: the worst row is {row} (rows count from 0) with {_shown(rows[row])}, "
        f"which sums to {sums[row]:.6g}. {_sum_advice(columns)}"
    )


# Numbers that are read at once.
_READ = 2 * NUMBERS_IN_CACHE

# To find the largest number of rows that are so long hardly takes longer than to read them.
_LONG = 100

# A product with ones is the fastest sum of a row. In single precision the sum of so many numbers is off by less than
# this, in whatever order they are added; numpy's sum, which adds in pairs, is that for more (Higham 2002, Section 4.2).
_MOST_IN_TURN, _OFF = 1000, 7e-5


def _farthest_from_one(sums: Array) -> float:
    return max(1 - float(sums.min()), float(sums.max()) - 1)


def _sums(rows: Array) -> Floats:
    """(n,) sums in double precision; a product with ones is many times faster than a sum over short rows."""
    ones, step = np.ones(rows.shape[1]), max(1, NUMBERS_IN_CACHE // rows.shape[1])
    parts = [rows[start : start + step].astype(np.float64, copy=False) @ ones for start in range(0, len(rows), step)]
    return np.concatenate(parts)


def _sum_advice(columns: Sequence[str] | None) -> str:
    if columns is not None:
        # A glob may have matched one column too many; normalising would hide that.
        return f"Is one of these no class probability? columns: {shortened(columns)}; pass one column for each class"
    return (
        "Pass one column for each class; scores that need not sum to 1 are to be normalised first, "
        "y_prob / y_prob.sum(axis=1, keepdims=True)"
    )


def _worst(badness: Array) -> int:
    return int(np.argmax(badness if badness.ndim == 1 else badness.max(axis=1)))


def _shown(values: Any) -> str:
    listed = [f"{value:.6g}" for value in np.atleast_1d(values)[:6]]
    return ", ".join(listed) + (", ..." if np.size(values) > 6 else "")


def _guess(rows: Array) -> str:
    """Say what the numbers look like, and how to turn them into probabilities."""
    if rows.ndim == 2:
        with np.errstate(all="ignore"):
            return _guess_matrix(rows)
    if rows.min() < 0:
        return "If these are logits, pass scipy.special.expit(y_prob)"
    if rows.max() <= 100:
        return "If these are percentages, divide by 100: y_prob / 100"
    return "Probabilities are expected"


def _guess_matrix(rows: Array) -> str:
    values = rows.astype(np.float64)
    sums = values.sum(axis=1)
    if values.max() <= 0 and np.allclose(np.exp(values).sum(axis=1), 1, atol=1e-3):
        return "These look like log-probabilities: pass numpy.exp(y_prob)"
    if values.min() >= 0 and np.abs(sums - 100).max() <= 1:
        return "These look like percentages, divide by 100: y_prob / 100"
    if values.min() < 0 and np.abs(sums - 1).max() <= 0.01:
        return "Probabilities are expected"
    if values.min() < 0 or len(values) == 1 or not np.ptp(sums) <= 1e-3 * sums.max() < np.inf:
        return "If these are logits, pass scipy.special.softmax(y_prob, axis=1)"
    return f"Every row sums to {sums[0]:.6g}: divide by it"


def named_columns(variables: Any) -> dict[str, Column]:
    """Return one column for each variable, of numbers or names, from a mapping of names or a data frame."""
    if variables is None:
        return {}
    return {name: _variable_column(name, variables[name]) for name in _variable_names(variables)}


def _variable_names(variables: Any) -> list[str]:
    refuse_lazy("variables", variables)
    if isinstance(variables, Mapping):
        names = list(variables)
    elif hasattr(variables, "columns") and hasattr(variables, "__getitem__"):
        names = list(getattr(variables, "column_names", variables.columns))
    else:
        raise TypeError(
            f"variables is of type {type(variables).__name__}, but names are needed: "
            'pass a mapping such as {"age": age}, or a data frame'
        )
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"variables has the name {name!r}, but names must be strings")
        if names.count(name) > 1:
            raise ValueError(f"variables names {name!r} more than once: rename one of the columns")
    return names


def _variable_column(name: str, values: Any) -> Column:
    called = f"variable {name!r}"
    # pandas: categories are an accessor of a series, but an attribute of an index or an array of categories.
    categorical = getattr(values, "cat", values)
    if hasattr(categorical, "categories") and hasattr(categorical, "codes"):
        return Column(np.asarray(categorical.codes, dtype=np.intp), tuple(map(str, categorical.categories)))
    found = column(called, values)
    if found.names is None and np.isinf(found.values).any():
        row = int(np.argmax(np.isinf(found.values)))
        raise ValueError(f"{called} is infinite in row {row} (rows count from 0): pass finite numbers")
    return found


def as_variable(found: Column) -> Variable:
    """Copy a column without missing values into a variable; levels that do not occur are dropped."""
    positions, names = found.values, found.names
    if found.boolean:
        positions, names = found.values.astype(np.intp), ("False", "True")
    if names is None:
        return Variable(locked(np.array(found.values, dtype=np.float64)))
    positions, levels = occurring(positions, names)
    return Variable(locked(np.array(positions, dtype=np.float64)), levels)
