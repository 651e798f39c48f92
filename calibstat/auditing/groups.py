"""Groups of rows: every level of every variable, and their crossings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, groupby
from typing import Any, NamedTuple, TypeAlias, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._lazy import special
from calibstat._text import counted, level_of
from calibstat.binnings.base import Binning, Cells
from calibstat.binnings.intervals import EqualMass
from calibstat.data.arrays import Array, Bools, Floats, Ints, Variable, effective_number, numbered_codes
from calibstat.data.checks import as_variable, named_columns
from calibstat.data.parameters import check_kind
from calibstat.data.sample import Predictions, Sample
from calibstat.draws.group_sums import Layout, Partition
from calibstat.estimators.base import all_weights
from calibstat.estimators.walks import WorstInterval
from calibstat.inference.arguments import check_sample
from calibstat.lenses.base import Lens, refuse_empty
from calibstat.lenses.relabel import TopLabel
from calibstat.nulls.linear import LinearSum, SaddlepointSum
from calibstat.nulls.multiplier import join_scarce

ALL = "all rows"


@final
@dataclass(frozen=True, eq=False)
class Group:
    """Rows (m,) that have the same levels of some variables."""

    levels: tuple[tuple[str, str], ...]  # pairs (variable, level); empty for all rows
    rows: Ints
    n: int  # how many these are, or stand for

    @classmethod
    def of(cls, levels: tuple[tuple[str, str], ...], rows: Ints, counts: Floats | None = None) -> Group:
        """Count rows, each of which may stand for several, `counts` (n,)."""
        return cls(levels, rows, len(rows) if counts is None else round(counts[rows].sum()))

    @property
    def name(self) -> str:
        """The variables and levels in words."""
        return " & ".join(level_of(variable, level) for variable, level in self.levels) or ALL


@final
@dataclass(frozen=True)
class LeftOut:
    """Something that was not audited.

    Parameters
    ----------
    name : str
    n : int
        How many rows it has.
    reason : str
    excess : str
        How many more events, or non-events, it has than chance gives, where that is evidence by itself; else "".
    """

    name: str
    n: int
    reason: str
    excess: str = ""


def form_groups(
    variables: Sequence[Levels], n: int, depth: int, min_size: int, counts: Floats | None = None
) -> tuple[list[Group], list[LeftOut]]:
    """Return the group of all rows, those of the levels of each variable, and crossings of at most `depth` variables.

    Variables with one level, groups of fewer than `min_size` rows, and crossings that repeat a group are left out. Each
    of the n rows may stand for several, `counts` (n,).
    """
    groups, left_out = [Group.of((), np.arange(n), counts)], []
    for variable in variables:
        if variable.size == 1:
            left_out.append(LeftOut(variable.variable, groups[0].n, f"has one level, {variable.names[0]!r}"))
    several = [variable for variable in variables if variable.size > 1]
    for crossed in range(1, min(depth, len(several)) + 1):
        for factors in combinations(several, crossed):
            for group in _cross(factors, counts):
                if group.n < min_size:
                    left_out.append(LeftOut(group.name, group.n, f"has fewer than {counted(min_size, 'row')}"))
                elif crossed > 1 and (same := [each for each in groups if np.array_equal(each.rows, group.rows)]):
                    left_out.append(LeftOut(group.name, group.n, f"has the same rows as {same[0].name}"))
                else:
                    groups.append(group)
    return groups, left_out


def _cross(factors: Sequence[Levels], counts: Floats | None) -> Iterator[Group]:
    """Yield a group for each combination of levels that occurs."""
    shape = [each.size for each in factors]
    found, index = numbered_codes(np.ravel_multi_index([each.index for each in factors], shape))
    for code, rows in zip(found, rows_by_code(index, len(found)), strict=True):
        places = np.unravel_index(code, shape)
        levels = tuple((each.variable, each.names[int(place)]) for each, place in zip(factors, places, strict=True))
        yield Group.of(levels, rows, counts)


def rows_by_code(codes: Ints, size: int) -> list[Ints]:
    """Return the rows that have each of the codes 0 to `size` - 1, in their order."""
    small = codes.astype(np.uint16) if size <= 2**16 else codes  # numpy sorts short integers by counting
    order = np.argsort(small, kind="stable")
    return np.split(order, np.cumsum(np.bincount(codes, minlength=size))[:-1])


def without_scarce(
    groups: Sequence[Group], seen: Sample, min_expected: float, level: float
) -> tuple[list[Group], list[LeftOut]]:
    """Leave out groups without weight, and those that expect too few events or non-events, unless no other is left.

    What is expected depends on predictions and weights alone, so that tests of the others stay exact. A group that is
    left out although far more happened than was expected comes first.
    """
    weights = all_weights(seen.predictions, None)
    kept = [group for group in groups if weights[group.rows].any()]
    left_out = [
        LeftOut(group.name, group.n, "has no row of positive weight")
        for group in groups
        if not weights[group.rows].any()
    ]
    if seen.predictions.n_classes != 2:
        return kept, left_out
    reasons = [_too_few(seen, group, min_expected) if group.levels else None for group in kept]
    if not any(group.levels and reason is None for group, reason in zip(kept, reasons, strict=True)):
        return kept, left_out
    scarce = [(group, reason) for group, reason in zip(kept, reasons, strict=True) if reason is not None]
    scarce.sort(key=lambda each: each[1].pvalue)
    found = [LeftOut(group.name, group.n, few.words, few.excess(level / len(kept))) for group, few in scarce]
    return [group for group, reason in zip(kept, reasons, strict=True) if reason is None], found + left_out


class _TooFew(NamedTuple):
    """What a group expects too few of: the words, what there is of it, and a bound of the p-value of so much."""

    words: str
    there: str
    pvalue: float

    def excess(self, level: float) -> str:
        """Say that there is more than chance gives, if that is so at this level."""
        return f"{self.there}, p below {max(self.pvalue, 1e-12):.2g}" if self.pvalue <= level else ""


def _too_few(seen: Sample, group: Group, min_expected: float) -> _TooFew | None:
    """Say what a group expects too few of, and how many there are; None if it expects enough."""
    own_rows = seen.take(group.rows)
    predictions, happened = own_rows.predictions, own_rows.outcomes.astype(float)
    chance, mass = predictions.event, all_weights(predictions, None)
    squares = mass**2 / predictions.multiplicity
    for what, each, own in (("event", chance, happened), ("non-event", 1 - chance, 1 - happened)):
        expected, there = (max(float(effective_number(mass @ k, squares @ k)), 0.0) for k in (each, own))
        if expected < min_expected:
            p = _chance_of_more(float(mass @ (own - each)), each, mass, predictions.counts)
            has = counted(int((predictions.multiplicity * own).sum()), what)
            if predictions.importance is not None:
                has += f" ({there:.2g} in effect, by weights)"
            number = f"{expected:.2g}"
            words = f"expects {number} {what}{'' if number == '1' else 's'}, fewer than {min_expected:g} (it has {has})"
            return _TooFew(words, f"{has} where {expected:.2g} are expected", p)
    return None


def _chance_of_more(more: float, chance: Floats, mass: Floats, counts: Floats | None = None) -> float:
    """Bound the chance that a weighted sum of events exceeds what is expected by so much, or more (Chernoff 1952)."""
    sums = LinearSum.of_residuals(chance, mass, counts)
    if more <= 0:
        return 1.0
    return float(np.exp(-SaddlepointSum(sums.numbers, 0.0).reach(more))) if sums.rows else 0.0


def layout_of(groups: Sequence[Group], n: int) -> Layout:
    """Return where rows lie: all rows, and the groups of each set of crossed variables, are partitions."""
    found = []
    for _, together in groupby(groups, key=lambda group: [level[0] for level in group.levels]):
        members = list(together)
        codes = np.full(n, len(members))
        for code, group in enumerate(members):
            codes[group.rows] = code
        found.append(Partition(codes, len(members)))
    return Layout(found)


ReadsCounts: TypeAlias = Callable[[int], bool]
By: TypeAlias = str | Iterable[str] | Mapping[str, Any]
MISSING = "missing"
# A numeric variable with at most this many distinct values counts as categories.
FEW_VALUES = 10
# Larger numbers have an exponent.
_WITHOUT_EXPONENT = 1e12
# Most variables of many values show more than that in so many rows, which spares sorting all of them.
_GLIMPSE = 1000


@final
@dataclass(frozen=True, eq=False)
class PartlyKnown:
    """A variable that may be missing in some of the rows."""

    variable: Variable  # its values in the rows where it is known
    known: Bools  # (n,), whether it is known

    def take(self, rows: Array) -> PartlyKnown:
        """Return the variable in some rows, given by distinct indices in increasing order."""
        kept = np.zeros(len(self.known), dtype=bool)
        kept[rows] = True
        return PartlyKnown(self.variable.take(kept[self.known]), self.known[rows])


@final
@dataclass(frozen=True, eq=False)
class Levels:
    """A variable cut into named levels."""

    variable: str
    names: tuple[str, ...]
    index: Ints  # (n,), the level of each row
    ends: Floats | None = None  # (L, 2), ends of numeric levels; NaN for the level of missing values

    @property
    def size(self) -> int:
        """Number of levels."""
        return len(self.names)


def read_columns(sample: Sample, by: By, missing: str, argument: str = "by") -> dict[str, PartlyKnown]:
    """Return the variables that `by` holds: names of variables of the sample, or further columns.

    Further columns may have missing values if `missing` is "level"; messages call `by` by the name `argument`.
    """
    check_sample(sample)
    _check_missing(missing)
    if _are_columns(by):
        return {
            name: _further(argument, name, found, len(sample), missing) for name, found in named_columns(by).items()
        }
    return _known_columns(sample.predictions, _names(sample.known, by, argument))


def _known_columns(predictions: Predictions, names: Iterable[str]) -> dict[str, PartlyKnown]:
    everywhere = np.ones(len(predictions), dtype=bool)
    return {name: PartlyKnown(predictions.variables[name], everywhere) for name in names}


def _are_columns(by: By) -> bool:
    """Whether values are passed, and not names alone."""
    return isinstance(by, Mapping) or hasattr(by, "columns")


def _check_missing(missing: str) -> None:
    if missing not in ("raise", "level"):
        raise ValueError(
            f"missing is {missing!r}; it must be 'raise' or 'level' (missing values as a level of their own)."
        )


def _names(predictions: Predictions, by: Any, argument: str) -> list[str]:
    """Return names of variables of the predictions, each once."""
    if not isinstance(by, Iterable):
        raise TypeError(
            f"{argument} is {by!r}, but names of variables are expected: for example {argument}=['age', 'sex']."
        )
    names = [by] if isinstance(by, str) else list(by)
    if not names:
        raise ValueError(f"{argument} is empty; name at least one variable, for example {argument}=['age', 'sex'].")
    known = predictions.variables
    for name in names:
        if name not in known:
            listed = ", ".join(map(repr, known)) or "none"
            raise ValueError(
                f"{argument}: the sample has no variable {name!r}; its variables are: {listed}. Pass it as "
                f"Sample(..., variables={{name: values}}), or as {argument}={{name: values}}."
            )
    return list(dict.fromkeys(names))


def _further(argument: str, name: str, found: Any, n: int, missing: str) -> PartlyKnown:
    if len(found.values) != n:
        raise ValueError(
            f"{argument}: variable {name!r} has {counted(len(found.values), 'row')}, but the sample has {n}: pass one "
            "value each."
        )
    holes = found.missing()
    if holes is None:
        return PartlyKnown(as_variable(found), np.ones(n, dtype=bool))
    if missing == "raise":
        raise ValueError(
            f"{argument}: variable {name!r} is missing in {int(holes.sum())} of {counted(n, 'row')}, first in row "
            f"{int(np.argmax(holes))} (rows count from 0): fill them in, or pass missing='level' to make them a level "
            "of their own."
        )
    if holes.all():
        raise ValueError(f"{argument}: variable {name!r} is missing in all {counted(n, 'row')}; leave it out.")
    return PartlyKnown(as_variable(replace(found, values=found.values[~holes])), ~holes)


def cut_levels(name: str, column: PartlyKnown, predictions: Predictions, binning: Binning) -> Levels:
    """Cut a variable into levels: numbers of many values by the binning, anything else into its distinct values."""
    check_kind("binning", binning, Binning)
    found = _cut_known(name, column.variable, predictions, column.known, binning)
    if column.known.all():
        return found
    index = np.full(len(column.known), found.size)
    index[column.known] = found.index
    ends = None if found.ends is None else np.vstack([found.ends, [np.nan, np.nan]])
    return Levels(name, (*found.names, MISSING), index, ends)


def _cut_known(name: str, variable: Variable, predictions: Predictions, known: Bools, binning: Binning) -> Levels:
    if variable.levels is not None:
        found, index = numbered_codes(variable.values.astype(np.intp))
        return Levels(name, tuple(variable.levels[code] for code in found), index)
    values = np.unique(variable.values[:_GLIMPSE])
    if len(values) <= FEW_VALUES:
        index = np.searchsorted(values, variable.values)
        if not (values.take(index, mode="clip") == variable.values).all():
            values, index = np.unique(variable.values, return_inverse=True)
        if len(values) <= FEW_VALUES:
            return Levels(name, distinct_texts(values), index.astype(np.intp), np.column_stack([values, values]))
    there = replace(predictions.take(known), variables={name: variable}, given=(name,))
    cells = binning.cut(there)
    filled, index = numbered_codes(cells.index)
    low, high = _borders_of_cells(cells, filled, variable.values)
    lower, upper = np.split(np.array(distinct_texts(np.concatenate([low, high]))), 2)
    names = tuple(f"{a} to {b}" for a, b in zip(lower, upper, strict=True))
    if cells.names is not None:
        names = tuple(cells.names[cell] for cell in filled)
    return Levels(name, names, index, np.column_stack([low, high]))


def _borders_of_cells(cells: Cells, filled: Ints, values: Floats) -> tuple[Floats, Floats]:
    """Return the edges of the cells that hold rows, or the smallest and largest value in each cell without edges."""
    if cells.edges is not None:
        return cells.edges[filled], cells.edges[filled + 1]
    inside = [values[cells.index == cell] for cell in filled]
    return np.array([each.min() for each in inside]), np.array([each.max() for each in inside])


def distinct_texts(values: Floats) -> tuple[str, ...]:
    """Write numbers with the fewest significant digits, at least four, that keep them distinct.

    >>> distinct_texts(np.array([1.0, 2.5, 30.0])), distinct_texts(np.array([10000.1, 10000.2]))
    (('1', '2.5', '30'), ('10000.1', '10000.2'))
    >>> distinct_texts(np.array([10798.0, 14000.25, 23713.0]))
    ('10798', '14000', '23713')
    """
    for digits in range(4, 18):
        texts = tuple(_plain(value, digits) for value in values)
        if len(set(texts)) == len(set(values.tolist())):
            break
    return texts


def _plain(value: float, digits: int) -> str:
    """Write a number with so many significant digits: whole ones as they are, and large ones without an exponent."""
    if not abs(value) < _WITHOUT_EXPONENT:
        return f"{value:.{digits}g}"
    if value == round(value):
        return f"{value + 0.0:.0f}"
    text = f"{value:.{digits}g}"
    return f"{float(text):.0f}" if "e+" in text else text


def look_with(
    sample: Sample, by: By, lens: Lens, missing: str, argument: str = "by", reads: ReadsCounts | None = None
) -> tuple[dict[str, PartlyKnown], Sample]:
    """Look at a sample through a lens, and read the variables in the rows that are left.

    Who asks may read rows that stand for several, of so many classes: of many counted rows, whose variables are named,
    there is then one for each prediction and outcome.
    """
    if reads is not None and not _are_columns(by):
        check_sample(sample)
        _check_missing(missing)
        names, shown = _names(sample.known, by, argument), lens(sample)
        refuse_empty(shown, lens)
        seen = shown.read_by(reads, labelled=True)
        if seen is not shown:
            return _known_columns(seen.predictions, names), seen
    columns = read_columns(sample, by, missing, argument)
    rows = lens.look(sample.predictions).rows
    seen = lens(sample)
    refuse_empty(seen, lens)
    return columns if rows is None else {name: column.take(rows) for name, column in columns.items()}, seen


def look(
    sample: Sample,
    by: By,
    lens: Lens,
    binning: Binning | Mapping[str, Binning],
    missing: str,
    argument: str = "by",
    reads: ReadsCounts | None = None,
) -> tuple[list[Levels], Sample]:
    """Look at a sample through a lens and cut the variables in the rows that are left."""
    columns, seen = look_with(sample, by, lens, missing, argument, reads)
    rules = binning if isinstance(binning, Mapping) else dict.fromkeys(columns, binning)
    unknown = [name for name in rules if name not in columns]
    if unknown:
        raise ValueError(f"binning names {unknown[0]!r}, which is not among the variables: {', '.join(columns)}.")
    default = EqualMass(4)
    return [
        cut_levels(name, column, seen.predictions, rules.get(name, default)) for name, column in columns.items()
    ], seen


def merge_levels(levels: Levels, predictions: Predictions, expected: float) -> Levels:
    """Merge neighbouring levels until each expects enough rows of every outcome, as `MergedCells` does."""
    joined = join_scarce(levels.index, levels.size, predictions, expected)
    size = int(joined.max()) + 1
    if size == levels.size:
        return levels
    parts = [np.flatnonzero(joined == cell) for cell in range(size)]
    ends = levels.ends
    if ends is not None:
        ends = np.array([[ends[part[0], 0], ends[part[-1], 1]] for part in parts])
    return Levels(levels.variable, tuple(_merged_name(levels, part) for part in parts), joined[levels.index], ends)


def _merged_name(levels: Levels, parts: Ints) -> str:
    if len(parts) == 1:
        return levels.names[parts[0]]
    known = [part for part in parts if levels.names[part] != MISSING]
    if levels.ends is not None and known:
        low, high = distinct_texts(np.array([levels.ends[known[0], 0], levels.ends[known[-1], 1]]))
        return f"{low} to {high}" + (f" or {MISSING}" if len(known) < len(parts) else "")
    names = [levels.names[part] for part in parts]
    return " / ".join(names) if len(names) <= 3 else f"{names[0]} / ... / {names[-1]} ({len(names)} levels)"


@final
@dataclass(frozen=True)
class Means:
    """Mean prediction and mean outcome of some rows.

    The standard error is that of `happened` under calibrated predictions; of rows in clusters it is estimated by sums.
    """

    predicted: float  # weighted mean of the event's probability
    happened: float  # weighted mean of its indicator
    standard_error: float

    @classmethod
    def of(cls, sample: Sample) -> Means:
        """Compute the means of a sample of two outcomes."""
        chance = sample.predictions.event
        mass = all_weights(sample.predictions, None)
        share = mass / mass.sum()
        clipped = np.clip(chance, 0, 1)
        squares = share**2 / sample.predictions.multiplicity * clipped * (1 - clipped)
        if sample.groups is not None:
            squares = sample.groups.sums(share * (sample.outcomes - chance)) ** 2
        error = float(np.sqrt(squares.sum()))
        return cls(float(share @ chance), float(share @ sample.outcomes), error)

    @property
    def residual(self) -> float:
        """What happened minus what was predicted."""
        return self.happened - self.predicted


def means_of_groups(layout: Layout, seen: Sample) -> list[Means]:
    """Return the means of each group of rows; NaN for more than two outcomes."""
    predictions = seen.predictions
    if predictions.n_classes != 2:
        return [Means(np.nan, np.nan, np.nan)] * layout.size
    mass, event = all_weights(predictions, None), np.clip(predictions.event, 0, 1)
    variance = layout.totals(mass**2 / predictions.multiplicity * event * (1 - event))
    sums = [layout.totals(mass * each) for each in (predictions.event, seen.outcomes)]
    columns = np.stack([*sums, np.sqrt(variance)]) / layout.totals(mass)
    return [Means(*each) for each in columns.T.tolist()]


def fewest_in_groups(layout: Layout, seen: Sample) -> float:
    """Return the number of rows, in effect, of the rarest outcome in the group where it is rarest."""
    mass = all_weights(seen.predictions, None)
    each = mass / seen.predictions.multiplicity
    rows = (mass * (seen.outcomes == code) for code in range(seen.predictions.n_classes))
    return min(float(effective_number(layout.totals(own), layout.totals(each * own)).min()) for own in rows)


def is_top_label(lens: Lens, sample: Sample) -> bool:
    """Whether the event is that the top label is right."""
    return sample.predictions.seen == "the top label" or any(isinstance(part, TopLabel) for part in lens.parts)


def sign_words(residual: float, top_label: bool) -> str:
    """Say what a mean residual of this sign means."""
    if top_label:
        return "underconfident" if residual > 0 else "overconfident"
    return "predicts too low" if residual > 0 else "predicts too high"


def direction(sample: Sample, means: Means, top_label: bool, level: float) -> str:
    """Say in which direction the predictions of a group are off, after a test has rejected (two outcomes).

    The direction is the sign of the mean residual if that differs from zero at `level` by a normal approximation, and
    otherwise that of the interval in which the deviation is largest. For several groups, callers divide the level.
    """
    threshold = -float(special.ndtri(level / 2))
    if abs(means.residual) > threshold * means.standard_error:
        return f"{sign_words(means.residual, top_label)} on average"
    conditioned = sample.predictions
    if len(conditioned.keys) != 1 or conditioned.column(conditioned.keys[0]).categorical:
        return "off in both directions"
    worst = WorstInterval()(sample)
    if np.isnan(worst.low):
        return ""
    sign = sign_words(worst.deviation, top_label)
    if conditioned.given == (...,):
        return f"{sign} where it says {worst.low:.2f} to {worst.high:.2f}"
    return f"{sign} at {conditioned.given[0]} {worst.low:.4g} to {worst.high:.4g}"
