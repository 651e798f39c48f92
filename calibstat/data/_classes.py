"""Which class each column of probabilities belongs to, and how often rows of each class were sampled."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from math import lgamma, log
from typing import Any, TypeAlias

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._text import counted
from calibstat.data.arrays import Array, Floats, Ints, two_columns
from calibstat.data.columns import Column, as_text, shortened
from calibstat.data.parameters import numbers

# How the class of each column was found, where nothing tells it.
SORTED = "sorted labels"


def classes_of_columns(
    found: Labels,
    n_classes: int,
    *,
    vector: bool = False,
    labels: Sequence[Hashable] | None = None,
    columns: Sequence[str] | None = None,
    ask: bool = False,
) -> tuple[Classes, str]:
    """Return the class of each column of probabilities, and a sentence that says how it was found.

    The first rule that applies decides: `labels`, as the user gives them; the names of the `columns` (of the one
    column, if there is a single `vector` with P(the last class)); integers or booleans as column numbers; the sorted
    labels, if as many occur as there are columns (with `ask`, not where several columns have names, which then spell no
    labels). If none applies, a ValueError proposes `labels`.
    """
    classes, reason = _by_rule(found, n_classes, vector, labels, columns, ask=ask and not vector)
    return classes, _sentence(classes, reason, vector, columns)


def _by_rule(
    found: Labels,
    n_classes: int,
    vector: bool,
    labels: Sequence[Hashable] | None,
    columns: Sequence[str] | None,
    *,
    ask: bool,
) -> tuple[Classes, str]:
    if labels is not None:
        return _as_told(found, n_classes, labels), "labels="
    if columns is not None:
        named = event_by_name(found, columns[0]) if vector else labels_by_names(found, columns)
        if named is not None:
            return named, "column name" if vector else "column names"
    if found.within(n_classes) and (n_classes == 2 or not found.boolean):
        classes = (False, True) if found.boolean else tuple(range(n_classes))
        return classes, "by position" + ("" if vector else _no_zero(found, n_classes))
    if len(found.distinct) == n_classes:
        if columns is not None:
            refuse_contradiction(found.distinct, [as_text(name) for name in columns])
        if columns is None or not ask:
            return found.distinct, SORTED
    raise ValueError(_undecided(found, n_classes, vector, columns))


def _no_zero(found: Labels, n_classes: int) -> str:
    """Point out labels that may start at one, of which the last does not occur."""
    if found.boolean or found.span[0] == 0 or found.span[1] < n_classes - 1:
        return ""
    proposed = ", ".join(map(str, range(1, n_classes + 1))) if n_classes <= 4 else f"1, ..., {n_classes}"
    return f"; label 0 does not occur: if labels start at 1, pass labels=[{proposed}]"


def _as_told(found: Labels, n_classes: int, labels: Sequence[Hashable]) -> Classes:
    """Return the user's own order, if it fits the columns and the labels that occur."""
    told = told_labels(labels)
    if len(told) != n_classes:
        raise ValueError(f"labels={list(told)} names {counted(len(told), 'class')}, but y_prob is for {n_classes}")
    known = set(told)
    if not known.issuperset(found.distinct):
        strange = [label for label in found.distinct if label not in known]
        at = found.first_row(strange[0])
        raise ValueError(
            f"y_true holds {_few(strange)}, not among labels=[{_few(told)}]: "
            f"name every class, in the order of the columns{_other_type(strange, told)}"
            + (f"; {strange[0]!r} is first in row {at} (rows count from 0)" if found.all_rows else "")
        )
    return told


def told_labels(labels: Sequence[Hashable]) -> Classes:
    """The `labels` argument as a tuple of integers, booleans or strings, no two of them equal."""
    if isinstance(labels, (str, bytes, set, frozenset)) or not isinstance(labels, Iterable):
        raise TypeError(f"labels is {labels!r}, but a list is expected: the class of each column, in order")
    told: Classes = tuple(labels)
    if not set(map(type, told)) <= {int, bool, str}:
        told = tuple(map(_scalar, told))
    if len(set(map(type, told))) > 1:
        raise ValueError(f"labels={list(told)} mixes types: pass integers, booleans or strings")
    twice = [label for label in told if told.count(label) > 1] if len(set(told)) < len(told) else []
    if twice:
        raise ValueError(f"labels={list(told)} names {twice[0]!r} more than once: name each class once")
    return told


def _scalar(label: Any) -> Hashable:
    plain: Any = label.item() if isinstance(label, np.generic) else label
    if isinstance(plain, float) and plain.is_integer():
        return int(plain)
    if not isinstance(plain, (int, str)):
        raise TypeError(f"labels holds {label!r}, but integers, booleans or strings are expected")
    return str(plain) if isinstance(plain, str) else plain


def _other_type(strange: Sequence[Hashable], told: Sequence[Hashable]) -> str:
    """Point out labels that differ by their type alone."""
    if {str(label) for label in strange} <= {str(label) for label in told}:
        return f" (y_true holds {type(strange[0]).__name__}, labels= {type(told[0]).__name__})"
    return ""


def _sentence(classes: Classes, reason: str, vector: bool, columns: Sequence[str] | None) -> str:
    """Say in one line which class each column was taken for, and why."""
    why = reason if reason.startswith("by position") else f"({reason})"
    if vector:
        what = f"column {columns[0]}" if columns is not None else "y_prob"
        return f"{what} taken for P(label = {classes[-1]}); classes {_span(classes)} {why}"
    names = f" {_span([as_text(name) for name in columns])}" if columns is not None else ""
    return f"{len(classes)} columns{names} taken for classes {_span(classes)} {why}"


def _span(values: Sequence[Hashable]) -> str:
    if len(values) <= 4:
        return ", ".join(map(str, values))
    return f"{values[0]} ... {values[-1]}"


def _few(values: Sequence[Hashable]) -> str:
    shown = ", ".join(map(repr, values[:12]))
    return f"{shown}, ..." if len(values) > 12 else shown


def _undecided(found: Labels, n_classes: int, vector: bool, columns: Sequence[str] | None) -> str:
    what = (
        "y_prob has one dimension and so is for 2 classes" if vector else f"y_prob has {counted(n_classes, 'column')}"
    )
    names = "" if columns is None or vector else f" ({shortened(columns)})"
    advice = "pass the class of each column in order, for example"
    if len(found.distinct) > n_classes:
        advice = (
            f"there are more labels than that: {_rare(found, n_classes)}pass one column for each, in an order such as"
        )
    elif found.boolean and n_classes > 2:
        advice = "booleans are for two classes: pass two columns, in an order such as"
    return (
        f"{what}{names}, but which class each belongs to is not clear: y_true holds "
        f"{counted(len(found.distinct), 'label')}, {_few(found.distinct)}; {advice} "
        f"labels=[{_proposal(found, n_classes)}]"
    )


# Labels too many that occur in so few rows, and so much more rarely than any other, may be typos.
_FEW_ROWS, _MORE_RARELY = 3, 5


def _rare(found: Labels, n_classes: int) -> str:
    """Point out the labels that are too many, where they are in very few rows each."""
    low = 0 if found.names is not None else found.span[0]
    numbers = np.bincount(found.values - low)
    numbers = numbers[numbers > 0]
    places = np.argsort(numbers, kind="stable")
    few, others = places[:-n_classes], places[-n_classes:]
    most = int(numbers[few[-1]])
    if len(few) > _FEW_ROWS or most > _FEW_ROWS or most * _MORE_RARELY > numbers[others[0]]:
        return ""
    said = []
    for place in sorted(few.tolist()):
        label, n = found.distinct[place], int(numbers[place])
        row = f"row {found.first_row(label)}" if found.all_rows else ""
        at = ("" if not row else f", in {row}") if n == 1 else (f" in {n} rows" + (f", first in {row}" if row else ""))
        said.append(f"{label!r} occurs{' once' if n == 1 else ''}{at}")
    count = " (rows count from 0)" if found.all_rows else ""
    typos = "it if it is a typo" if len(said) == 1 else "them if they are typos"
    return f"{' and '.join(said)}{count}: correct {typos}; otherwise "


def _proposal(found: Labels, n_classes: int) -> str:
    """Return the labels that occur, filled up to the number of columns."""
    labels = list(found.distinct)
    if found.boolean:
        return _few([False, True])
    if found.text:
        return _few(labels + [f"class_{column}" for column in range(len(labels), n_classes)])
    known = set(labels)
    missing = (label for label in range(n_classes + len(labels)) if label not in known)
    while len(labels) < n_classes:
        labels.append(next(missing))
    return _few(sorted(labels, key=lambda label: int(str(label))))


# Classes read from the names of columns: "prob_cat" is for the label "cat".

Classes: TypeAlias = tuple[Hashable, ...]
# How a boolean may be spelt in the name of a column: every pair is tried.
BOOLEANS = (("False", "True"), ("false", "true"), ("0", "1"))


def _spellings(found: Labels) -> list[dict[str, Hashable]]:
    """Return the ways in which the labels that occur may be written in a column's name."""
    if found.boolean:
        return [{pair[label]: label for label in (False, True)} for pair in BOOLEANS]
    return [{str(label): label for label in found.distinct}]


def labels_by_names(found: Labels, columns: Sequence[str]) -> Classes | None:
    """Return the labels that the columns' names spell once the shortest sufficient common beginning is removed."""
    names = [as_text(name) for name in columns]
    for length in range(len(common_prefix(names)) + 1):
        parts = [name[length:] for name in names]
        if not all(parts) or len(set(parts)) < len(parts):
            continue
        for spelling in _spellings(found):
            classes = _spelt(found, parts, spelling)
            if classes is not None:
                return classes
    return None


def common_prefix(names: Sequence[str]) -> str:
    """Return the longest beginning that all names share."""
    # The first and the last in order differ wherever any two do.
    first, last = min(names), max(names)
    length = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return first[:length]


def _spelt(found: Labels, parts: Sequence[str], spelling: dict[str, Hashable]) -> Classes | None:
    """Return the label of each part if every label that occurs has one; labels without rows get the others' type."""
    if not set(spelling) <= set(parts) or (found.boolean and len(parts) != 2):
        return None
    if found.text or found.boolean:
        return tuple(spelling.get(part, part) for part in parts)
    if not all(re.fullmatch(r"-?\d+", part) for part in parts) or len(set(map(int, parts))) < len(parts):
        return None
    return tuple(map(int, parts))


def event_by_name(found: Labels, name: str) -> Classes | None:
    """Return two classes, the last one being the label that the only column's name is or ends in."""
    two = _two_labels(found)
    for spelling in _two_spellings(two):
        matches = [text for text in spelling if ends_in(as_text(name), text)]
        if matches:
            # "not_spam" also ends in "spam": the longer one is meant.
            event = spelling[max(matches, key=len)]
            return (two[0], two[1]) if event == two[1] else (two[1], two[0])
    return None


def _two_labels(found: Labels) -> Classes:
    if found.within(2):
        return (False, True) if found.boolean else (0, 1)
    return found.distinct


def _two_spellings(two: Classes) -> list[dict[str, Hashable]]:
    if len(two) != 2:
        return []
    pairs = BOOLEANS if isinstance(two[0], bool) else ((str(two[0]), str(two[1])),)
    return [dict(zip(pair, two, strict=True)) for pair in pairs]


def ends_in(name: str, text: str) -> bool:
    """Tell whether a name is the text, or ends in it after a character that is neither letter nor digit."""
    before = name[: -len(text)]
    return bool(text) and name.endswith(text) and (not before or not before[-1].isalnum())


def refuse_contradiction(classes: Classes, columns: Sequence[str]) -> None:
    """Raise if a column bears another column's label as its name, in any case; a single column is the last class."""
    spelt = {str(label).lower(): label for label in classes}
    if len(spelt) < len(classes):
        return
    names = [name.lower() for name in columns]
    meant = _meant_by_one(names[0], spelt) if len(names) == 1 else _meant(names, spelt)
    places = classes[-1:] if len(names) == 1 else classes
    if all(label is None or label == place for label, place in zip(meant, places, strict=True)):
        return
    raise ValueError(
        f"the columns of y_prob ({shortened(columns)}) and the sorted labels ({shortened(classes)}) are not in the "
        f"same order, and the names differ too much to decide: pass the class of each column in order, for example "
        f"labels={_proposed_labels(meant, classes)}"
    )


def _meant(names: Sequence[str], spelt: dict[str, Hashable]) -> list[Hashable]:
    """Return the label that each name spells after a common beginning, None where it spells none."""
    tried = [[spelt.get(name[length:]) for name in names] for length in range(len(common_prefix(names)) + 1)]
    return max(tried, key=lambda labels: sum(label is not None for label in labels))


def _meant_by_one(name: str, spelt: dict[str, Hashable]) -> list[Hashable]:
    matches = [text for text in spelt if ends_in(name, text)]
    return [spelt[max(matches, key=len)] if matches else None]


def _proposed_labels(meant: Sequence[Hashable], classes: Classes) -> str:
    """Return the labels that the names spell, filled up with the other labels."""
    left = iter([label for label in classes if label not in meant])
    if len(meant) == 1:
        return repr([*left, *meant])
    proposed: list[Hashable] = []
    for label in meant:
        # A label that two names spell goes to the first.
        proposed.append(next(left, None) if label is None or label in proposed else label)
    return repr(proposed)


# Labels further apart than this are looked up in a dictionary, not in a table.
WIDEST_TABLE = 1_000_000


@dataclass(frozen=True, eq=False)
class Labels:
    """One label for each row, an integer, boolean or string, as whole numbers."""

    values: Array  # the labels themselves, or their positions in `names`
    names: tuple[Hashable, ...] | None = None  # the distinct labels, sorted, of text or integers far apart
    boolean: bool = False  # whether 0 and 1 stand for False and True
    span: tuple[int, int] = (0, 0)  # the smallest and the largest of `values`, of labels that have no names
    all_rows: bool = True  # whether they are those of the rows that were passed, none left out

    def first_row(self, label: Hashable) -> int:
        """Return the first row that has a label."""
        return int(np.argmax(self.values == (label if self.names is None else self.names.index(label))))

    @cached_property
    def distinct(self) -> tuple[Hashable, ...]:
        """The labels that occur, sorted, as Python scalars."""
        low = 0 if self.names is not None else self.span[0]
        occur = (np.flatnonzero(np.bincount(self.values - low)) + low).tolist()
        if self.names is not None:
            return tuple(self.names[position] for position in occur)
        return tuple(map(bool, occur)) if self.boolean else tuple(occur)

    @property
    def text(self) -> bool:
        """Whether the labels are strings."""
        return self.names is not None and isinstance(self.names[0], str)

    def within(self, n_classes: int) -> bool:
        """Whether the labels are integers that can be the numbers of `n_classes` columns."""
        return self.names is None and self.span[0] >= 0 and self.span[1] < n_classes

    def columns(self, classes: tuple[Hashable, ...]) -> Ints:
        """The column number of each row's label; every label that occurs is among the classes."""
        if self.names is None and classes == tuple(range(len(classes))):
            return np.array(self.values, dtype=np.intp)
        position = {label: column for column, label in enumerate(classes)}
        if self.names is not None:
            table = np.array([position.get(label, -1) for label in self.names], dtype=np.intp)
            return np.take(table, self.values)
        low, high = self.span
        table = np.zeros(high - low + 1, dtype=np.intp)
        for label in self.distinct:
            table[int(label) - low] = position[label]  # type: ignore[call-overload]
        return np.take(table, self.values - low)


def as_labels(found: Column) -> Labels:
    """Take a column without missing values for labels; a ValueError if numbers are not whole, or a text is none."""
    if found.names is not None:
        _refuse_half_letters(found.names)
        return Labels(found.values, found.names)
    low, high = found.values.min(), found.values.max()
    if found.boolean:
        return Labels(found.values.astype(np.intp), boolean=True, span=(int(low), int(high)))
    if found.values.dtype.kind == "f" and (np.isinf(low) or np.isinf(high)):
        raise ValueError("y_true holds an infinite label: labels must be integers, booleans or strings")
    whole = _whole(found.values)
    # Python integers: the difference of two small machine integers may overflow.
    span = int(low), int(high)
    return _far_apart(whole) if span[1] - span[0] > WIDEST_TABLE else Labels(whole, span=span)


def _refuse_half_letters(names: Sequence[str]) -> None:
    """Refuse texts with half of a letter, which cannot be written anywhere (a lone surrogate of UTF-16)."""
    for name in names:
        if any("\ud800" <= letter <= "\udfff" for letter in name):
            raise ValueError(
                f"y_true holds the label {name!r}, which is no text in Unicode (a lone surrogate): read it with its "
                "own encoding, or rename it"
            )


def _whole(values: Array) -> Array:
    if values.dtype.kind == "i":
        return values if values.dtype.itemsize == 8 else values.astype(np.int64)
    if max(abs(int(values.min())), abs(int(values.max()))) >= 2**63:
        raise ValueError("y_true holds integers beyond 64 bits: pass smaller ones, or strings")
    whole = values.astype(np.int64)
    fraction = whole != values
    if fraction.any():
        row = int(np.argmax(fraction))
        raise ValueError(
            f"y_true is {values[row]:.6g} in row {row} (rows count from 0), but labels must be integers, "
            "booleans or strings; the order of arguments is (y_true, y_prob)"
        )
    return whole


def _far_apart(values: Array) -> Labels:
    items: list[Any] = values.tolist()
    names = tuple(sorted(set(items)))
    lookup = {name: position for position, name in enumerate(names)}
    return Labels(np.fromiter(map(lookup.__getitem__, items), np.intp, len(items)), names)


# Rows that were sampled by their labels: predictions of the population are moved, by Bayes, to the sample.

# The sum of shares may differ from one by this much, as that of a row of probabilities.
_SHARES_SUM = 1e-4


def as_sampled(
    rows: Array, outcomes: Ints, weights: Floats | None, classes: Classes, prevalence: Any
) -> tuple[Floats, str]:
    """Return what predictions (n, K) for the population are for the rows sampled from it, and a sentence about it.

    Sampling by the label alone multiplies the odds of classes by the ratio of their shares in the sample and in the
    population (Elkan 2001, Theorem 2), and leaves the chance of nothing else: predictions are right for the population
    exactly if the moved ones are right for the sample.
    """
    there = _shares(prevalence, classes)
    here = np.bincount(outcomes, weights, len(classes))
    if not here.all():
        raise ValueError(
            f"prevalence= needs rows of every class, but none has the label {classes[int(np.argmin(here))]!r}: how "
            "often its rows were sampled is not known; leave out prevalence="
        )
    here = here / here.sum()
    moved = np.clip(rows.astype(np.float64), 0, 1) * (here / there)
    moved /= moved.sum(axis=1, keepdims=True)
    one = slice(-1, None) if len(classes) == 2 else slice(None)
    was, now = (", ".join(f"{share:.4g}" for share in each[one][:4]) for each in (there, here))
    more = ", ..." if len(classes) > 4 else ""
    said = f"; moved from the prevalence {was}{more} to that of these rows, {now}{more}, of which errors speak"
    return np.asfortranarray(moved) if len(classes) == 2 else moved, said


def _shares(prevalence: Any, classes: Classes) -> Floats:
    """Return the share (K,) of each class in the population; one number is that of the last of two classes."""
    told = numbers("prevalence", prevalence, (0, 1))
    shares = np.array([1 - told, told]) if told.ndim == 0 and len(classes) == 2 else told
    if shares.shape != (len(classes),):
        raise ValueError(
            f"prevalence is {_numbers(told)}, but there are {len(classes)} classes, {shortened(classes)}: "
            "pass the share of each class in the population, in this order"
        )
    if not ((shares > 0) & (shares < 1)).all() or abs(shares.sum() - 1) > _SHARES_SUM:
        raise ValueError(
            f"prevalence is {_numbers(told)}, but shares of classes in a population are above 0, below 1, and add up "
            "to 1"
        )
    return shares / shares.sum()


def _numbers(values: Floats) -> str:
    return ", ".join(f"{value:g}" for value in np.atleast_1d(values))


# If weights had nothing to do with labels, this would be the largest chance that labels alone tell the weights.
_BY_ACCIDENT = 1e-6


def refuse_weights_of_labels(outcomes: Ints, weights: Floats, classes: Classes) -> None:
    """Raise if weights (n,) are constant within each class but not over classes, and that is no accident."""
    of_class = np.full(len(classes), np.nan)
    of_class[outcomes] = weights
    if (of_class[outcomes] != weights).any():
        return
    rows = np.unique(weights, return_counts=True)[1]
    arrangements = lgamma(len(weights) + 1) - sum(lgamma(each + 1) for each in rows)  # on the logarithm
    if len(rows) < 2 or arrangements < -log(_BY_ACCIDENT):
        return
    found = [f"{weight:.4g} for {label!r}" for weight, label in zip(of_class, classes, strict=True) if weight >= 0]
    raise ValueError(
        f"sample_weight depends on the label alone ({shortened(found)}): such weights change which predictions are "
        "right, so that tests and intervals do not hold. Leave them out; if rows were sampled by their labels "
        "(case-control, balanced classes), pass Sample(..., prevalence=), the share of each class in the population"
    )


# Columns that stand in another order than their classes: noticed by the Brier score, with room for noise.

# The most classes whose order is looked at, and the most numbers that are looked at: rows are left out evenly.
_MOST_CLASSES, _MOST_NUMBERS = 20, 200_000
# How often noise may pass for another order, at most.
_BY_NOISE = 1e-4


def better_order(rows: Array, outcomes: Ints, n_classes: int) -> tuple[list[int], float, float] | None:
    """Return the class of each column in an order that fits far better, and the Brier scores as given and so ordered.

    None if there is no such order. Columns are exchanged where they agree with each other's classes: in covariance,
    which neither bias nor a weak model can turn round, and in the Brier score; both by more than noise reaches.
    """
    # By Cauchy and Schwarz, no fewer rows than the margin can reach it.
    if n_classes > _MOST_CLASSES or len(rows) <= _margin(n_classes):
        return None
    step = -(-len(rows) * n_classes // _MOST_NUMBERS)
    if rows.ndim == 1 and not _falls(rows[::step].astype(np.float64, copy=False), outcomes[::step]):
        return None
    said, labels = two_columns(rows[::step]).astype(np.float64, copy=False), outcomes[::step]
    shares = np.bincount(labels, minlength=n_classes) / len(labels)
    totals = [np.bincount(labels, column, n_classes) for column in said.T]
    means = np.array([total.sum() for total in totals]) / len(labels)
    agreement = np.column_stack(totals) - len(labels) * np.outer(shares, means)  # of classes (j) with columns (k)
    if (np.diag(agreement) >= agreement.max(axis=1) / 2).all():
        return None
    order = np.arange(n_classes)
    for cycle in _cycles(_assigned(agreement)):
        here, there = np.array(cycle), np.array([*cycle[1:], cycle[0]])
        if _fits_better(agreement, said, labels, shares, here, there):
            order[here] = there
    if (order == np.arange(n_classes)).all():
        return None
    squares, each = np.square(said).sum(axis=1).mean() + 1, np.arange(len(labels))
    before, after = (float(squares - 2 * said[each, place].mean()) for place in (labels, order[labels]))
    scale = 2 if n_classes == 2 else 1  # with two classes, (p - y)^2 of the event alone
    return np.argsort(order).tolist(), before / scale, after / scale


def _falls(event: Floats, outcomes: Ints) -> bool:
    """Whether the mean prediction of the event is lower where it happened, which spares most samples the rest."""
    return bool(len(event) * (outcomes @ event) < np.count_nonzero(outcomes) * event.sum())


def _margin(n_classes: int) -> float:
    """Return what the square of a sum must be, in squares of its noise, for any of the orders of the classes."""
    return 2 * (lgamma(n_classes + 1) - log(_BY_NOISE))


def _assigned(agreement: Floats) -> list[int]:
    """Return the column of each class for which the agreement is largest in all."""
    if len(agreement) == 2:
        return [1, 0] if np.trace(agreement) < 0 else [0, 1]
    from scipy.optimize import linear_sum_assignment  # only where columns may be in another order

    found: list[int] = linear_sum_assignment(agreement, maximize=True)[1].tolist()
    return found


def _cycles(columns: Sequence[int]) -> list[list[int]]:
    """Return the cycles of a permutation, without the fixed points."""
    left, cycles = {start for start, column in enumerate(columns) if start != column}, []
    while left:
        cycle = [left.pop()]
        while columns[cycle[-1]] in left:
            cycle.append(columns[cycle[-1]])
            left.remove(cycle[-1])
        cycles.append(cycle)
    return cycles


def _fits_better(agreement: Floats, said: Floats, labels: Ints, shares: Floats, here: Ints, there: Ints) -> bool:
    """Whether the classes `here` fit the columns `there` far better than their own.

    Noise is bounded as for self-normalised sums, P(S > x V) <= exp(-x^2 / 2) for symmetric terms (Efron 1969), for all
    orders together; V^2 is no smaller than the variance of S over labels without any relation to the columns.
    """
    if agreement[here, here].sum() > agreement[here, there].sum() / 2:
        return False
    margin = _margin(len(shares))
    gains = np.zeros_like(said)
    gains[:, here] = said[:, there] - said[:, here]
    raw = gains[np.arange(len(labels)), labels]
    centred = gains - gains.mean(axis=0)
    expected = centred @ shares
    terms = centred[np.arange(len(labels)), labels] - expected
    noise = max(np.square(terms).sum(), (np.square(centred) @ shares - np.square(expected)).sum())
    return bool(
        min(raw.sum(), terms.sum()) > 0
        and raw.sum() ** 2 > margin * np.square(raw).sum()
        and terms.sum() ** 2 > margin * noise
    )
