"""Everything known before the outcomes: the type that keeps binnings and lenses from peeking."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import EllipsisType
from typing import TypeAlias

import numpy as np

from calibstat.arrays import Array, Floats, Ints
from calibstat.variable import Variable

Given: TypeAlias = tuple[str | int | EllipsisType, ...]

# Rows whose probabilities sum to one up to this are taken to sum to one.
_ROUNDING = 1e-9
# Rows that are looked at together, so that they stay in the cache.
_ROWS = 2**15


class _Probabilities:
    """The field of that name: what was given in single precision is converted, exactly, when it is first asked for."""

    def __get__(self, predictions: Predictions | None, owner: type | None = None) -> Floats:
        if predictions is None:
            raise AttributeError("probabilities belong to an instance")
        rows = predictions.rows
        if rows.dtype == np.float32:
            rows = rows.astype(np.float64).view()  # the owner stays writeable, see TopK
            rows.setflags(write=False)
            self.__set__(predictions, rows)
        return rows

    def __set__(self, predictions: Predictions, rows: Array) -> None:
        vars(predictions)["probabilities"] = rows


@dataclass(frozen=True, eq=False)
class Predictions:
    """What a model said and what else was known, row by row.

    Parameters
    ----------
    probabilities : (n, K) floats
        One row for each prediction, one column for each class, as given (rows sum to one up to 1e-4). If these are
        float32, `rows` are kept so until probabilities are asked for.
    classes : tuple
        The label of each column.
    weights : (n,) floats, optional
        Importance weights; None means equal weights.
    variables : mapping of str to Variable
        What else is known of each row.
    given : tuple
        Names of what is conditioned on. ``...`` is the prediction itself: the event column (the last one) when
        there are two classes, all columns otherwise. An integer names a single probability column.
    source : str
        What was taken for what when the sample was made; printed in every result.
    seen : str
        The lens through which the rows had already been looked when they were handed to us, if any.
    """

    probabilities: Floats
    classes: tuple[Hashable, ...]
    weights: Floats | None = None
    variables: Mapping[str, Variable] = field(default_factory=dict)
    given: Given = (...,)
    source: str = ""
    seen: str = ""

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def rows(self) -> Array:
        """(n, K) the probabilities in the precision that they are kept in, for what needs no arithmetic."""
        return vars(self)["probabilities"]

    @property
    def n_classes(self) -> int:
        """Number of classes K."""
        return len(self.classes)

    @property
    def event(self) -> Floats:
        """(n,) probability of the last class, "it happened" when there are two."""
        return self.probabilities[:, -1]

    @property
    def components(self) -> Floats:
        """(n, c) what deviations are measured on: the event column alone for two classes, else all columns."""
        return self.probabilities[:, -1:] if self.n_classes == 2 else self.probabilities

    @cached_property
    def chances(self) -> Floats:
        """(n, K) the law that a calibrated world draws labels from: the rows clipped to [0, 1] and normalised."""
        clipped = np.clip(self.probabilities, 0.0, 1.0)
        clipped /= clipped.sum(axis=1, keepdims=True)
        return clipped

    @cached_property
    def is_law(self) -> bool:
        """Whether the rows are `chances` as they are, up to 1e-9: nonnegative, and summing to one."""
        for start in range(0, len(self), _ROWS):
            rows = self.probabilities[start : start + _ROWS]
            sums = rows[:, 0] + rows[:, 1] if self.n_classes == 2 else rows.sum(axis=1)
            if rows.min() < 0 or sums.min() < 1 - _ROUNDING or sums.max() > 1 + _ROUNDING:
                return False
        return True

    @cached_property
    def keys(self) -> Given:
        """One key for each conditioned column, with ``...`` written out as column numbers."""
        induced: Given = (1,) if self.n_classes == 2 else tuple(range(self.n_classes))
        return tuple(key for name in self.given for key in (induced if name is ... else (name,)))

    @property
    def condition(self) -> str:
        """What is conditioned on, for messages: "the prediction", or the names of variables."""
        return " and ".join(map(self._in_words, self.given))

    def _in_words(self, name: str | int | EllipsisType) -> str:
        if isinstance(name, int):
            return f"the probability of {self.classes[name]!r}"
        return "the prediction" if name is ... else repr(name)

    def column(self, key: str | int | EllipsisType) -> Variable:
        """The conditioned column of that key: a variable, or the probabilities of one class."""
        if isinstance(key, str):
            return self.variables[key]
        return Variable(self.probabilities[:, -1 if key is ... else key])

    @cached_property
    def conditioned(self) -> Floats:
        """(n, d) what is conditioned on, side by side."""
        columns = [self.column(key).values for key in self.keys]
        return columns[0][:, None] if len(columns) == 1 else np.column_stack(columns)

    @cached_property
    def order(self) -> Ints:
        """(n,) the rows in increasing order of the one conditioned column."""
        return np.argsort(self.conditioned[:, 0], kind="stable")

    def conditioning_on(self, given: Given) -> Predictions:
        """The same predictions, conditioned on other columns."""
        return self if given == self.given else replace(self, given=given)

    def take(self, rows: Array) -> Predictions:
        """The predictions at `rows` (indices, or a mask of length n)."""
        return replace(
            self,
            probabilities=self.rows[rows],
            weights=None if self.weights is None else self.weights[rows],
            variables={name: variable.take(rows) for name, variable in self.variables.items()},
        )


# Here and not above, so that the field has its type and no default.
Predictions.probabilities = _Probabilities()  # type: ignore[assignment]
