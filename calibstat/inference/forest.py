"""Rows of values with their intervals and their noise: what a result hands to its picture, a forest plot."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import NamedTuple, Protocol, final, runtime_checkable

from calibstat._dataclass import dataclass
from calibstat._text import counted, percent
from calibstat.data.rounding import ROUNDING
from calibstat.estimators.base import Extreme
from calibstat.nulls.base import NullDistribution


class Noise(NamedTuple):
    """Where a value lies under calibration with the confidence of a result, and whether what was seen is beyond that.

    It is beyond where the p-value of `calibration_test` is at most one minus the confidence, by the same law.
    """

    low: float
    high: float
    beyond: bool

    @classmethod
    def of(cls, law: NullDistribution, order: Extreme, value: float, confidence_level: float) -> Noise:
        """Take the least extreme values from a law; `order` says which ends of it are extreme."""
        tail = 1 - confidence_level
        below, above = {"large": (0.0, tail), "small": (tail, 0.0), "either": (tail / 2, tail / 2)}[order]
        low, high = (float(law.quantile(q)) for q in (below, 1 - above))
        return cls(low, high, law.pvalue(value) <= tail + ROUNDING)


def in_words(name: str) -> str:
    """Write the name of a class as words.

    >>> in_words("BrierDecomposition"), in_words("SKCE"), in_words("DebiasedL2")
    ('Brier Decomposition', 'SKCE', 'Debiased L2')
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)


class ForestRow(NamedTuple):
    """A row: a value, its interval, the range that noise alone gives, and whether the value is more than that."""

    name: str
    value: float
    interval: tuple[float, float] | None = None
    noise: tuple[float, float] | None = None
    beyond: bool = False
    words: str = ""  # beside the row, at its right
    series: int = 0  # rows of one name stand together, one for each series

    @classmethod
    def beside(cls, noise: Noise | None, name: str, value: float, interval: tuple[float, float] | None) -> ForestRow:
        """Return a row with its noise, where that is known."""
        ends, beyond = (None, False) if noise is None else ((noise.low, noise.high), noise.beyond)
        return cls(name, value, interval, ends, beyond)


@final
@dataclass(frozen=True)
class Forest:
    """The numbers and words of a forest plot.

    Parameters
    ----------
    rows : tuple of ForestRow
        From top to bottom.
    axis : str
        What the values are, in a few words.
    answer : tuple of str
        The answer in at most two short lines.
    caption : str
        The long sentences: what is drawn, from how many rows, and how to read it.
    interval, noise, beyond : str
        Short words for intervals, noise and rows beyond it.
    reference : float, optional
        Where a value says that nothing is off, or the largest one that is allowed.
    reference_words : str
        Short words for it, where it is not plain.
    log : bool
        Whether values are ratios, which a logarithmic axis shows.
    heading : str
        What stands above the words at the right.
    series : tuple of str
        The names of several values of each row.
    apart : tuple of (int, int), optional
        The rows that are told apart, where each pair of rows was compared.
    """

    rows: tuple[ForestRow, ...]
    _: KW_ONLY
    axis: str
    answer: tuple[str, ...]
    caption: str
    interval: str = ""
    noise: str = ""
    beyond: str = "more than noise"
    reference: float | None = 0.0
    reference_words: str = ""
    log: bool = False
    heading: str = ""
    series: tuple[str, ...] = ()
    apart: tuple[tuple[int, int], ...] | None = None


@runtime_checkable
class HasForest(Protocol):
    """A result that can be drawn as a forest plot."""

    def forest(self) -> Forest:
        """Return its rows, with the words of the picture."""


def said_and_happened(predicted: float, happened: float) -> str:
    """Write what was predicted and what happened, in percent; nothing where they are not known."""
    return "" if predicted != predicted else f"{100 * predicted:.1f} \N{RIGHTWARDS ARROW} {100 * happened:.1f} %"


# Models with squared errors, which are shown as roots: in units of probability.


def model_row(name: str, value: float, interval: tuple[float, float] | None, limit: float, beyond: bool) -> ForestRow:
    """Return the row of a model with a squared error and the limit that noise alone keeps to, as roots."""
    return ForestRow(name, _root(value), interval and roots(interval), (0.0, _root(limit)), beyond)


def roots(interval: tuple[float, float]) -> tuple[float, float]:
    """Return the ends of an interval of a squared error as roots."""
    return _root(interval[0]), _root(interval[1])


def _root(value: float) -> float:
    return math.sqrt(max(value, 0.0))


def best_and_apart(best: Sequence[str], n_apart: int, n_pairs: int, n: int) -> tuple[str, str]:
    """Say which models may be the best, and how many pairs are told apart."""
    names = ", ".join(best[:2]) + (f" or {len(best) - 2} more" if len(best) > 2 else "")
    first = f"best: {names}" if len(best) == 1 else f"may be the best: {names}"
    return first, f"{n_apart} of {counted(n_pairs, 'pair')} told apart; n = {n:,}"


def models_caption(confidence_level: float, level: float, squared: bool, of: str = "of that alone") -> str:
    """Say what is seen of several models."""
    noise = (
        f" The pale bars are where {percent(1 - level)} of the values lie if that model is calibrated; a value in the "
        "strong colour is rejected by itself."
    )
    return (
        f"Each row is a model with its value and the {percent(confidence_level)} interval {of}."
        f"{noise if squared else ''} A line at the right joins models that cannot be told apart from each other, by "
        f"tests of the differences at {percent(level)}, which intervals that overlap do not replace."
    )
