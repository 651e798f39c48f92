"""Lenses that restrict the rows (`Region`) or change what is conditioned on (`Given`)."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import field, replace
from types import EllipsisType
from typing import final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._text import counted
from calibstat.data.arrays import Array, Floats
from calibstat.data.counted import needs_rows
from calibstat.data.parameters import keep
from calibstat.data.sample import Predictions
from calibstat.lenses.base import Lens, View


@final
@dataclass(frozen=True)
class Region(Lens):
    """Keep only the rows in a region of predictions or variables (Vaicenavicius et al. 2019, eq. 5).

    The choice may depend on everything but the outcomes, so every test stays exact.

    Parameters
    ----------
    predicate : callable
        Takes the `Predictions` seen so far and returns (n,) booleans: which rows to keep.
    name : str
        The name that results print for the region; by default the name of the function.

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 1, 1], [0.2, 0.7, 0.9], variables={"age": [20, 60, 40]})
    >>> len(cs.Region.between("age", 30, 65)(sample))
    2
    """

    predicate: Callable[[Predictions], Array]
    name: str = field(default="", compare=False)

    @classmethod
    def between(cls, column: Hashable, low: float, high: float) -> Region:
        """Keep the rows with low <= column <= high.

        Parameters
        ----------
        column : str or label
            The name of a variable, or the label of the class whose probability is meant.
        low, high : float
            Both ends belong to the region.

        Raises
        ------
        ValueError
            If `low` exceeds `high`.
        """
        if not low <= high:
            raise ValueError(f"Region.between({column!r}, {low!r}, {high!r}): low must not exceed high.")
        return cls(_Between(column, low, high), f"{low} <= {column} <= {high}")

    def look(self, predictions: Predictions) -> View:
        """Keep the rows where the predicate holds."""
        if predictions.buckets is not None and not self._of_variables(predictions):
            raise needs_rows(repr(self), len(predictions))
        kept = np.asarray(self.predicate(predictions))
        if kept.dtype != bool or kept.shape != (len(predictions),):
            raise ValueError(
                f"{self!r}: the predicate returned {kept.dtype} of shape {kept.shape}, but one boolean for each of the "
                f"{counted(len(predictions), 'row')} was expected."
            )
        rows = np.flatnonzero(kept)
        return View(predictions.take(rows), rows=rows)

    def _of_variables(self, predictions: Predictions) -> bool:
        """Whether it is known to keep rows by a variable alone."""
        where = self.predicate
        return isinstance(where, AtLevel) or (isinstance(where, _Between) and where.column in predictions.variables)

    def __repr__(self) -> str:
        return f"Region({self.name or getattr(self.predicate, '__name__', repr(self.predicate))})"


@final
@dataclass(frozen=True)
class AtLevel:
    """Says which rows have one level of a categorical variable."""

    variable: str
    code: int

    def __call__(self, predictions: Predictions) -> Array:
        """Compare codes."""
        return predictions.variables[self.variable].values == self.code


@dataclass(frozen=True)
class _Between:
    column: Hashable
    low: float
    high: float

    def __call__(self, predictions: Predictions) -> Array:
        values = self._values(predictions)
        return (values >= self.low) & (values <= self.high)

    def _values(self, predictions: Predictions) -> Floats:
        variable = predictions.variables.get(self.column) if isinstance(self.column, str) else None
        if variable is not None and not variable.categorical:
            return variable.values
        if variable is None and self.column in predictions.classes:
            return predictions.chance(predictions.classes.index(self.column))
        raise ValueError(
            f"Region.between({self.column!r}, ...): this is neither a numeric variable nor a class; "
            f"the variables are {tuple(predictions.variables)!r}, the classes {predictions.classes!r}."
        )


@final
@dataclass(frozen=True)
class Given(Lens):
    """Change what is conditioned on, and nothing else.

    ``TopLabel() | Given("age") | ECE(EqualMass(10))`` is the variable-based calibration error of Kelly & Smyth
    (2023); ``Given(..., "sex")`` keeps the prediction beside the variable.

    Parameters
    ----------
    *names : str or ``...``
        Names of variables of the sample; ``...`` is the prediction.

    Raises
    ------
    ValueError
        On looking, if the sample has no such variable; the message lists those it has.

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 1], [0.2, 0.7], variables={"age": [20, 60]})
    >>> cs.Given("age")(sample).predictions.conditioned
    array([[20.],
           [60.]])
    """

    names: tuple[str | EllipsisType, ...]

    def __init__(self, *names: str | EllipsisType) -> None:
        if not names or not all(isinstance(name, str) or name is ... for name in names):
            raise ValueError(
                f"Given{names!r} must name at least one variable, or ... for the prediction: for example Given('age')."
            )
        keep(self, names=names)

    def look(self, predictions: Predictions) -> View:
        """Replace the names of what is conditioned on."""
        unknown = [name for name in self.names if name is not ... and name not in predictions.variables]
        if unknown:
            known = ", ".join(map(repr, predictions.variables)) or "none"
            raise ValueError(
                f"{self!r}: the sample has no variable {unknown[0]!r}; its variables are: {known}. "
                "Pass it as Sample(..., variables={name: values})."
            )
        return View(replace(predictions, given=self.names))

    def __repr__(self) -> str:
        return f"Given({', '.join('...' if name is ... else repr(name) for name in self.names)})"
