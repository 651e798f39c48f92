"""Leaves of trees: which rows they are, in words, and what is found in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._text import level_of, percent
from calibstat.auditing.findings import CLUSTERED, short_number
from calibstat.auditing.groups import ALL, FEW_VALUES, MISSING, Means, PartlyKnown, sign_words
from calibstat.binnings.tree_leaves import Box
from calibstat.data.arrays import Floats
from calibstat.data.sample import Sample
from calibstat.inference.finite import chance_bounds
from calibstat.inference.forest import Forest, ForestRow, said_and_happened
from calibstat.inference.results import picked, plain

# So many levels of a category have a column of their own; rarer ones are told apart by other columns only.
_LEVELS = 50
FITTED_CAUTION = "intervals do not hold if the model or its calibration was fitted on these rows"
INTERVALS_CAUTION = FITTED_CAUTION + CLUSTERED
# What was learned, where it describes rows.
LEARNED = "learned error"

# Features: columns of numbers without holes, and how a range of each is put into words.


@dataclass(frozen=True, eq=False)
class Feature:
    """A column (n,): of numbers, or of 0 and 1 for something that has a name, as has its opposite."""

    name: str
    values: Floats
    true: str = ""
    false: str = ""

    def words(self, low: float, high: float) -> str:
        """Describe the values above `low` and at most `high`; of a few different ones by naming the only one."""
        if self.true:
            return level_of(self.name, self.true if np.isfinite(low) else self.false)
        inside = self._few[(self._few > low) & (self._few <= high)]
        if len(inside) == 1:
            return f"{self.name} {inside[0]:.15g}"
        if np.isfinite(low):
            return f"{self.name} {low:.15g} to {high:.15g}" if np.isfinite(high) else f"{self.name} above {low:.15g}"
        return f"{self.name} at most {high:.15g}"

    @cached_property
    def _few(self) -> Floats:
        """The different values, if they are few; none otherwise."""
        found = np.unique(self.values)
        return found if len(found) <= FEW_VALUES else found[:0]


def encoded(name: str, column: PartlyKnown) -> Iterator[Feature]:
    """Yield numbers with their median where they are missing, or a column for each frequent level."""
    variable, known = column.variable, column.known
    if variable.levels is None:
        values = np.full(len(known), np.median(variable.values))
        values[known] = variable.values
        yield Feature(name, values)
        if not known.all():
            yield Feature(name, (~known).astype(float), MISSING, "known")
        return
    names = (*variable.levels, MISSING)
    codes = np.full(len(known), len(variable.levels))
    codes[known] = variable.values
    counts = np.bincount(codes, minlength=len(names))
    frequent = [code for code in np.argsort(-counts, kind="stable")[:_LEVELS] if counts[code]]
    two = frequent if len(frequent) == 2 else []
    for code in two[:1] or frequent:
        yield Feature(name, (codes == code).astype(float), names[code], names[two[1]] if two else f"not {names[code]}")


def rounded(values: Floats, cut: float, moved: float = 0.0) -> float:
    """Return a number of few digits by which at most a share of values (n,) changes sides of a cut.

    >>> values = np.linspace(0, 1, 1000)
    >>> rounded(np.array([61.0, 62.0, 63.0]), 62.5), rounded(values, 0.31685, 0.005), rounded(values, 0.31685)
    (62.0, 0.32, 0.317)
    """
    with np.errstate(over="ignore"):
        below = values.astype(np.float32) <= cut  # as trees compare
    largest, next_one = values[below].max(initial=-np.inf), values[~below].min(initial=np.inf)
    for digits in range(1, 17):
        for each in (cut, largest):
            found = float(f"{each:.{digits}g}")
            if largest <= found < next_one or (moved and np.mean((values <= found) != below) <= moved):
                return found
    return cut


# What is found in a leaf, on rows that did not make it.


@final
@dataclass(frozen=True)
class LeafFinding:
    """What is found for one leaf of a tree, or for all rows with one sign of what was learned, on rows not seen before.

    Parameters
    ----------
    conditions : tuple of str
        Which rows these are, in words that hold together; empty for all rows.
    n : int
        Rows that judge it.
    mean_prediction, mean_outcome : float
        What was predicted and what happened there, on average.
    noise : float
        Standard deviation of the mean outcome if predictions are calibrated: what noise alone gives.
    confidence_interval : (float, float), optional
        Of the mean of what happens minus what is predicted; those of all leaves cover together.
    direction : str
        In words, where this interval excludes zero; else "".
    """

    conditions: tuple[str, ...]
    n: int
    mean_prediction: float
    mean_outcome: float
    noise: float
    confidence_interval: tuple[float, float] | None
    direction: str

    @classmethod
    def of(
        cls, box: Box, features: Sequence[Feature], rows: Sample, top_label: bool, tail: float | None
    ) -> LeafFinding:
        """Describe a leaf by its box, and judge it by its rows. Each end of the interval misses by `tail` at most."""
        means = Means.of(rows)
        interval = None
        if tail is not None:
            low, high = chance_bounds(rows, means.happened, tail)
            interval = low - means.predicted, high - means.predicted
        return cls(
            conditions=tuple(features[feature].words(*ends) for feature, ends in box.items()),
            n=len(rows),
            mean_prediction=means.predicted,
            mean_outcome=means.happened,
            noise=means.standard_error,
            confidence_interval=interval,
            direction=sign_words(means.residual, top_label) if interval and not interval[0] <= 0 <= interval[1] else "",
        )

    @property
    def name(self) -> str:
        """The conditions in words."""
        return " and ".join(self.conditions) or ALL

    @property
    def error(self) -> float:
        """What happened minus what was predicted, on average."""
        return self.mean_outcome - self.mean_prediction

    def rank(self) -> tuple[bool, bool, float]:
        """Order: intervals without zero, leaves of the tree, and the farthest from zero first."""
        low, high = self.confidence_interval or (self.error, self.error)
        return not self.direction, self.name.startswith(LEARNED), -max(low, -high)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name; what is not known is None."""
        low, high = self.confidence_interval or (None, None)
        known = picked(self, "name n mean_prediction mean_outcome error noise")
        return plain({"leaf": known.pop("name")} | known | {"low": low, "high": high, "direction": self.direction})

    def says(self, confidence_level: float, where: str = " where ") -> str:
        """Say in which direction the leaf is off, by how much, and where it is, unless that is left out as ""."""
        low, high = map(short_number, sorted(map(abs, self.confidence_interval or ())))
        size = f"{short_number(abs(self.error))} ({percent(confidence_level)}: {low} to {high})"
        verb = "" if self.direction.startswith("predicts") else "is "
        return f"{verb}{self.direction} by {size}{where and where + self.name}"


def table_of_leaves(leaves: Sequence[LeafFinding]) -> list[list[str]]:
    """Return the cells of a table of leaves; its last column are the conditions."""
    rows = [["rows", "predicted", "happened", "difference", "noise", "where"]]
    for leaf in leaves:
        difference = short_number(leaf.error, "+")
        if leaf.confidence_interval is not None:
            low, high = leaf.confidence_interval
            difference = f"{short_number(low, '+')} to {short_number(high, '+')}" + (" *" if leaf.direction else "  ")
        means = [short_number(leaf.mean_prediction), short_number(leaf.mean_outcome)]
        rows.append([str(leaf.n), *means, difference, short_number(leaf.noise), leaf.name])
    return rows


def leaf_forest(
    leaves: Sequence[LeafFinding],
    rejected: Sequence[LeafFinding],
    confidence_level: float,
    answer: tuple[str, ...],
    caption: str,
) -> Forest:
    """Return leaves as rows of a forest plot, in their order."""
    return Forest(
        tuple(
            ForestRow(
                leaf.name,
                leaf.error,
                leaf.confidence_interval,
                (-1.96 * leaf.noise, 1.96 * leaf.noise),
                leaf in rejected,
                said_and_happened(leaf.mean_prediction, leaf.mean_outcome),
            )
            for leaf in leaves
        ),
        axis="happened minus predicted",
        answer=answer,
        caption=caption,
        interval=f"{percent(confidence_level)}, all together",
        noise="95 % if calibrated, about",
        beyond="excludes zero",
        heading="said \N{RIGHTWARDS ARROW} happened",
    )
