"""Lenses that relabel: the top label, the k most probable classes, one class, groups of classes, all classes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat.data.arrays import NUMBERS_IN_CACHE, Array, Floats, Ints
from calibstat.data.parameters import Count, check_kind, keep
from calibstat.data.sample import Predictions
from calibstat.lenses.base import Lens, Listed, Ranked, Relabelling, View

# Up to this many largest entries are searched for one by one, which is faster than a sort.
_SEARCHES = 8
# Confidences of two classes are rounded to so many decimals, so that 1 - 0.32 ties with 0.68 in cells of every kind.
_DECIMALS = 15


@final
@dataclass(frozen=True)
class TopK(Lens):
    """At which rank among the k most probable classes is the outcome? (Vaicenavicius et al. 2019, Section 3).

    Code j >= 1 is "the j-th most probable class happened", code 0 "none of the k"; so ``TopK(1)`` asks what
    `TopLabel` asks. Among equal probabilities the class that comes first is the more probable.

    Parameters
    ----------
    k : int
        1 <= k < number of classes.

    Raises
    ------
    ValueError
        On looking, if there are not more than `k` classes.

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 2], [[0.1, 0.3, 0.6], [0.2, 0.5, 0.3]])
    >>> cs.TopK(2)(sample).outcomes
    array([0, 2])
    """

    k: Count

    def look(self, predictions: Predictions) -> View:
        """Rank the classes of each row; keep the k largest probabilities and the sum of the others."""
        return look_at_top(self, self.k, predictions)


def look_at_top(lens: Lens, k: int, predictions: Predictions) -> View:
    """Return predictions as seen through their `k` largest probabilities; errors name `lens`."""
    if predictions.seen:
        raise ValueError(
            f"{lens!r}: this sample has already been seen through {predictions.seen}, so the other classes are not "
            "known any more. Leave the lens out: the sample is binary and says whether the top label was right."
        )
    if k >= predictions.n_classes:
        raise ValueError(
            f"{lens!r} needs more than {k} classes, found {predictions.n_classes}; take k < {predictions.n_classes}."
        )
    if k == 1:
        column, largest = predictions.top
        confidence = largest.astype(np.float64, copy=False)
        if predictions.n_classes == 2:
            confidence = np.round(confidence, _DECIMALS)
        seen = replace(predictions, rows=confidence, classes=("other", "top"))
        return View(seen, Ranked(column[:, None], predictions.n_classes))
    rows = predictions.probabilities
    columns, largest = _largest_of_rows(rows, k)
    codes = Ranked(columns, predictions.n_classes)
    others = rows.sum(axis=1) - largest.sum(axis=1)
    names = ("other", *(f"top {j}" for j in range(1, k + 1)))
    return View(replace(predictions, rows=np.column_stack([others, largest]), classes=names), codes)


def _largest_of_rows(rows: Array, k: int) -> tuple[Ints, Floats]:
    """Return the columns (n, k) of the k largest entries of each row and the entries, a block of rows at a time."""
    n, n_classes = rows.shape
    columns, largest = np.empty((n, k), dtype=np.intp), np.empty((n, k))
    step = max(1, NUMBERS_IN_CACHE // n_classes)
    each = np.arange(step)[:, None]
    for start in range(0, n, step):
        block = rows[start : start + step]
        found = _largest(block, k)
        columns[start : start + step] = found
        largest[start : start + step] = block[each[: len(block)], found]
    return columns, largest


def _largest(rows: Array, k: int) -> Ints:
    """Return the columns of the k largest entries of each row, the first of equal ones first."""
    if k > _SEARCHES:
        return np.argsort(-rows, axis=1, kind="stable")[:, :k]
    left, each, columns = rows.copy(), np.arange(len(rows)), []
    for _ in range(k):
        columns.append(left.argmax(axis=1))
        left[each, columns[-1]] = -np.inf
    return np.stack(columns, axis=1)


@final
@dataclass(frozen=True)
class TopLabel(Lens):
    """Was the most probable class right? P(Y = argmax | max) = max (Guo et al. 2017; Vaicenavicius et al. 2019, eq. 2).

    Code 1 is "the top class happened"; of equally probable classes the first is the top one. The induced prediction is
    the confidence and one minus it, as in a sample made by `Sample.from_confidence`. With two classes it is rounded to
    15 decimals, so that predictions of 0.32 and 0.68 have the same confidence.

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 2], [[0.1, 0.3, 0.6], [0.2, 0.3, 0.5]])
    >>> cs.TopLabel()(sample).outcomes
    array([0, 1])
    """

    def look(self, predictions: Predictions) -> View:
        """Keep the confidence and whether the top class happened."""
        return look_at_top(self, 1, predictions)


@final
@dataclass(frozen=True)
class ClassWise(Lens):
    """Did class `label` happen? P(Y = c | prediction_c) = prediction_c (Vaicenavicius et al. 2019, eq. 3, one class).

    Code 1 is "the class happened", code 0 "any other class"; the induced prediction is the probability of the class and
    one minus it.

    Parameters
    ----------
    label : label
        A *label* of the sample, never a position.

    Raises
    ------
    ValueError
        On looking, if `label` is not among the classes.

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample(["cat", "dog"], [[0.5, 0.3, 0.2], [0.1, 0.8, 0.1]], labels=["cat", "dog", "car"])
    >>> cs.ClassWise("dog")(sample).outcomes
    array([0, 1])
    """

    label: Hashable

    def look(self, predictions: Predictions) -> View:
        """Keep the probability of the class and whether it happened; all rows share the codes."""
        if self.label not in predictions.classes:
            raise ValueError(
                f"{self!r}: {self.label!r} is not a label of this sample, whose classes are {predictions.classes!r}; "
                "name one of these (a label, not a position)."
            )
        position = predictions.classes.index(self.label)
        induced = np.ascontiguousarray(predictions.chance(position))
        codes = np.zeros((1, predictions.n_classes), dtype=np.intp)
        codes[0, position] = 1
        names = (f"not {self.label}", self.label)
        return View(replace(predictions, rows=induced, classes=names), Listed(codes))


@final
@dataclass(frozen=True)
class Partition(Relabelling):
    """Which group of classes does the outcome belong to? (Vaicenavicius et al. 2019, Section 3, partition lens).

    Parameters
    ----------
    groups : sequence of sequences of labels, or mapping of names to them
        Disjoint groups of *labels* (never positions) that together hold every class; code i is the i-th group.
        A label that stands alone may be given without a sequence around it. The keys of a mapping are the names that
        pictures and tables show; other groups are called after their labels, such as "cat or dog" or "0 to 4".

    Raises
    ------
    ValueError
        On looking, if the groups overlap, miss a class, or name a label that is not a class.

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample(["cat"], [[0.5, 0.3, 0.2]], labels=["cat", "dog", "car"])
    >>> cs.Partition([["cat", "dog"], "car"])(sample).y_prob
    array([[0.8, 0.2]])
    >>> cs.Partition({"pet": ["cat", "dog"], "other": "car"})(sample).labels
    ('pet', 'other')
    """

    groups: tuple[tuple[Hashable, ...], ...]
    names: tuple[Hashable, ...] | None

    def __init__(
        self, groups: Sequence[Iterable[Hashable] | Hashable] | Mapping[Hashable, Iterable[Hashable] | Hashable]
    ) -> None:
        names, members = (tuple(groups), list(groups.values())) if isinstance(groups, Mapping) else (None, groups)
        check_kind("groups", members, Sequence[Sequence[Hashable] | Hashable])
        given = tuple(_group(group) for group in members)
        if len(given) < 2 or not all(given):
            raise ValueError(
                f"groups are {groups!r}, but at least two groups of labels, none of them empty, are expected."
            )
        keep(self, groups=given, names=names)

    def __repr__(self) -> str:
        groups = self.groups if self.names is None else dict(zip(self.names, self.groups, strict=True))
        return f"Partition(groups={groups!r})"

    def table(self, predictions: Predictions) -> tuple[Array, tuple[Hashable, ...]]:
        """Code each class by its group; all rows share the codes."""
        code = {label: i for i, group in enumerate(self.groups) for label in group}
        named = [label for group in self.groups for label in group]
        missing = [label for label in predictions.classes if label not in code]
        classes = set(predictions.classes)
        unknown = [label for label in named if label not in classes]
        if missing or unknown or len(code) < len(named):
            raise ValueError(
                f"{self!r} does not split the classes {predictions.classes!r}: "
                + "; ".join(_faults_of_groups(missing, unknown, named))
                + ". Give at least two disjoint groups of labels that together hold every class."
            )
        names = self.names or tuple(_name_of(group, predictions.classes) for group in self.groups)
        return np.array([[code[label] for label in predictions.classes]], dtype=np.intp), names


def _group(group: Iterable[Hashable] | Hashable) -> tuple[Hashable, ...]:
    return tuple(group) if isinstance(group, Iterable) and not isinstance(group, str) else (group,)


def _name_of(group: tuple[Hashable, ...], classes: tuple[Hashable, ...]) -> Hashable:
    """Return the only label of a group, or a text that says which labels it holds; no two groups have the same."""
    first = classes.index(group[0])
    if len(group) > 2 and group == classes[first : first + len(group)]:
        return f"{group[0]} to {group[-1]}"
    if len(group) > 3:
        return f"{group[0]} and {len(group) - 1} others"
    return " or ".join(map(str, group)) if len(group) > 1 else group[0]


def _faults_of_groups(missing: list[Hashable], unknown: list[Hashable], named: list[Hashable]) -> Iterable[str]:
    if missing:
        yield f"in no group: {missing!r}"
    if unknown:
        yield f"not a class: {unknown!r}"
    if len(set(named)) < len(named):
        yield f"in two groups: {sorted({str(label) for label in named if named.count(label) > 1})}"


@final
@dataclass(frozen=True)
class Canonical(Lens):
    """Look at the whole prediction: P(Y = k | p) = p_k for every class k (Vaicenavicius et al. 2019, eq. 1).

    The unit of composition: ``Canonical() | lens == lens``.

    Examples
    --------
    >>> import calibstat as cs
    >>> cs.Canonical() | cs.TopLabel()
    TopLabel()
    """

    @property
    def parts(self) -> tuple[Lens, ...]:
        """No lens: looking through it changes nothing."""
        return ()

    def look(self, predictions: Predictions) -> View:
        """Return the predictions unchanged."""
        return View(predictions)


CANONICAL: Final = Canonical()
"""The one that is meant where no lens is given; being one object, it is passed over without a look."""
