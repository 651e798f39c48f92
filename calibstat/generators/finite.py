"""Worlds with finitely many rows: everything is known by enumeration."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._text import counted
from calibstat.binnings.base import Binning
from calibstat.data.arrays import Floats
from calibstat.data.parameters import MOST_BINS, at_least_one, check_arguments, keep, numbers
from calibstat.data.rounding import SAME
from calibstat.data.sample import Predictions, Sample
from calibstat.generators.base import Population, SyntheticModel, population_of
from calibstat.generators.recalibrations import EventMap, Identity, chances_of
from calibstat.generators.simplex_maps import RowMap, SimplexMap, laws_of
from calibstat.lenses.base import Lens


@final
@dataclass(frozen=True, init=False)
class FinitePredictions(SyntheticModel):
    """Finitely many predictions, each with its mass and its true law; exact for every lens.

    Parameters
    ----------
    predictions : (m,) or (m, K) floats
        P(the last class), or one column for each class.
    truths : (m,) or (m, K) floats
        The chances of the outcomes, row by row.
    mass : (m,) floats, optional
        Relative masses; equal by default.
    variables : mapping of str to (m,) values, optional
        Numbers, or names of categories.
    labels : sequence, optional
        The label of each column; 0, 1, ..., K - 1 by default.
    features : sequence of str
        The variables that are the features of the world, on which P(Y | X) depends.

    Raises
    ------
    ValueError
        If a row is not a law, shapes differ, or a mass is not positive and finite.

    Examples
    --------
    >>> import calibstat as cs
    >>> from calibstat.generators import FinitePredictions
    >>> model = FinitePredictions([0.2, 0.7], [0.3, 0.7], mass=[3, 1])
    >>> round(float(model.truth(cs.ECE())), 10)
    0.075
    >>> model.sample(5, rng=0)
    Sample(n=5, classes=(0, 1))
    """

    predictions: tuple[tuple[float, ...], ...]
    truths: tuple[tuple[float, ...], ...]
    mass: tuple[float, ...]
    variables: tuple[tuple[str, tuple[Hashable, ...]], ...]
    labels: tuple[Hashable, ...]
    feature_names: tuple[str, ...]

    def __init__(
        self,
        predictions: Any,
        truths: Any,
        mass: Any = None,
        *,
        variables: Mapping[str, Sequence[Hashable]] | None = None,
        labels: Sequence[Hashable] | None = None,
        features: Sequence[str] = (),
    ) -> None:
        check_arguments(FinitePredictions.__init__, "", variables=variables, labels=labels, features=features)
        rows, laws = _law("predictions", predictions), _law("truths", truths)
        if rows.shape != laws.shape:
            raise ValueError(f"predictions have shape {rows.shape} and truths {laws.shape}: pass one law for each row.")
        masses = _masses(mass, len(rows))
        columns = {name: np.asarray(values).tolist() for name, values in (variables or {}).items()}
        wrong = [name for name in features if name not in columns]
        if wrong:
            raise ValueError(f"features names {wrong[0]!r}, which is not among the variables {tuple(columns)!r}.")
        keep(
            self,
            predictions=tuple(map(tuple, rows.tolist())),
            truths=tuple(map(tuple, laws.tolist())),
            mass=tuple(masses.tolist()),
            variables=tuple((name, tuple(values)) for name, values in columns.items()),
            labels=tuple(range(rows.shape[1]) if labels is None else map(_plain, labels)),
            feature_names=tuple(features),
        )
        _examined(rows, columns, self.labels)

    @property
    def features(self) -> tuple[str, ...]:
        """The variables that are features of the world."""
        return self.feature_names

    @property
    def finite(self) -> bool:
        """True."""
        return True

    def rows(self, n: int, rng: np.random.Generator) -> Population:
        """Draw rows by their masses."""
        reached = np.cumsum(np.array(self.mass) / np.sum(self.mass))
        return take(self.table, np.searchsorted(reached[:-1], rng.random(n), side="right"))

    def population(self, lens: Lens, binning: Binning | None = None) -> Population:  # noqa: ARG002
        """List all rows."""
        return self.table

    def __repr__(self) -> str:
        named = {"mass": self.mass, "variables": dict(self.variables), "labels": self.labels, "features": self.features}
        said = [
            repr(self.predictions),
            repr(self.truths),
            *(f"{name}={each!r}" for name, each in named.items() if each),
        ]
        return f"FinitePredictions({', '.join(said)})"

    @cached_property
    def table(self) -> Population:
        """All rows."""
        seen = _examined(np.array(self.predictions), dict(self.variables), self.labels)
        return _table(seen, np.array(self.truths), np.array(self.mass))


def _examined(y_prob: Any, variables: Any, labels: Sequence[Hashable]) -> Predictions:
    """Make a sample of rows, because it checks variables and labels."""
    return Sample([next(iter(labels), 0)] * len(y_prob), y_prob, variables=variables, labels=labels).predictions


def _table(seen: Predictions, laws: Floats, mass: Floats) -> Population:
    return population_of(seen.probabilities, laws, mass, classes=seen.classes, variables=dict(seen.variables))


def _plain(label: Hashable) -> Hashable:
    """Return numpy's scalars as Python's, so that they print as users write them."""
    return label.item() if isinstance(label, np.generic) else label


def take(population: Population, rows: Any) -> Population:
    """Return some rows of a population, without masses."""
    predictions = population.predictions
    return population_of(
        predictions.probabilities[rows],
        population.chances[rows],
        classes=predictions.classes,
        variables={name: variable.take(rows) for name, variable in predictions.variables.items()},
        method=population.method,
    )


def _law(name: str, given: Any) -> Floats:
    """Rows of a law (m, K) from event probabilities (m,) or rows."""
    values = numbers(name, given)
    rows = np.stack([1 - values, values], axis=1) if values.ndim == 1 else values
    if rows.ndim != 2 or rows.shape[0] < 1 or rows.shape[1] < 2:
        raise ValueError(f"{name} have shape {values.shape}; pass (m,) probabilities of the event, or (m, K) rows.")
    bad = ~((rows >= 0).all(axis=1) & (np.abs(rows.sum(axis=1) - 1) < SAME))
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"{name}, row {row}: {rows[row].tolist()} is not a law; values must be >= 0 and sum to 1.")
    return rows


def _masses(mass: Any, n: int) -> Floats:
    masses = np.ones(n) if mass is None else numbers("mass", mass, (1,))
    if masses.shape != (n,):
        raise ValueError(f"mass has shape {masses.shape}, but there are {n} predictions: pass one mass for each.")
    if not (np.isfinite(masses) & (masses > 0)).all():
        raise ValueError(f"mass holds {masses.min():g} to {masses.max():g}; masses must be positive and finite.")
    if masses.max() > np.finfo(float).max / n:
        raise ValueError(
            f"mass holds up to {masses.max():g}, of which the sum is infinite; divide all masses by the largest."
        )
    return masses


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class Empirical(SyntheticModel):
    """The predictions of a data set, drawn with replacement; labels are drawn by a known calibration function.

    Parameters
    ----------
    y_prob : (n,) or (n, K) floats
        P(the last label), or one column for each label.
    recalibration : callable
        For two classes a function of (m,) event probabilities, or a `SimplexMap`; for more, of (m, K) rows.
    variables : mapping or data frame, optional
        What else is known of each row; the labels do not depend on it.
    labels : sequence, optional
        The label of each column; 0, 1, ..., K - 1 by default.

    Examples
    --------
    >>> import calibstat as cs
    >>> from calibstat.generators import ClippedTails, Empirical
    >>> model = Empirical([0.01, 0.5, 0.7, 0.99], ClippedTails(0.05))
    >>> round(float(model.truth(cs.ECE())), 10)
    0.02
    """

    y_prob: Floats
    recalibration: EventMap | RowMap
    table: Population

    def __init__(
        self,
        y_prob: Any,
        recalibration: EventMap | RowMap = Identity(),
        *,
        variables: Any = None,
        labels: Sequence[Hashable] | None = None,
    ) -> None:
        check_arguments(Empirical.__init__, "", recalibration=recalibration, labels=labels)
        rows = numbers("y_prob", y_prob)
        names = tuple(range(rows.shape[1] if rows.ndim == 2 else 2)) if labels is None else tuple(labels)
        seen = _examined(y_prob, variables, names)
        table = _table(seen, _laws(recalibration, seen.chances), np.ones(len(seen)))
        keep(self, y_prob=seen.probabilities, recalibration=recalibration, table=table)

    def rows(self, n: int, rng: np.random.Generator) -> Population:
        """Draw rows of the data set, with replacement."""
        return take(self.table, rng.integers(0, len(self.table), n))

    @property
    def finite(self) -> bool:
        """True."""
        return True

    @property
    def calibrated(self) -> bool:
        """Whether r is the identity."""
        return isinstance(self.recalibration, Identity)

    def population(self, lens: Lens, binning: Binning | None = None) -> Population:  # noqa: ARG002
        """List the rows of the data set."""
        return self.table

    def __repr__(self) -> str:
        n, n_classes = self.y_prob.shape
        return f"Empirical({counted(n, 'row')}, {counted(n_classes, 'class')}, recalibration={self.recalibration!r})"


def _laws(recalibration: EventMap | RowMap, rows: Floats) -> Floats:
    if not callable(recalibration):
        raise TypeError(f"recalibration is {recalibration!r}, but a function of probabilities is needed: Identity().")
    if rows.shape[1] == 2 and not isinstance(recalibration, SimplexMap):
        return chances_of(recalibration, rows[:, 1])
    return laws_of(recalibration, rows)


def vaicenavicius_example_1() -> FinitePredictions:
    """Build the model of Vaicenavicius et al. (2019), Example 1, whose errors are 0 through every weaker lens.

    It has three classes and six equally likely predictions. The total variation distance is 0.1 at each of them, and 0
    through the top label, the two largest, and every single class.

    Examples
    --------
    >>> import calibstat as cs
    >>> from calibstat.generators import vaicenavicius_example_1
    >>> model = vaicenavicius_example_1()
    >>> round(float(model.truth(cs.ECE())), 12), round(float(model.truth(cs.TopLabel() | cs.ECE())), 12)
    (0.1, 0.0)
    """
    predictions = [[0.1, 0.3, 0.6], [0.1, 0.6, 0.3], [0.3, 0.1, 0.6], [0.3, 0.6, 0.1], [0.6, 0.1, 0.3], [0.6, 0.3, 0.1]]
    truths = [[0.2, 0.2, 0.6], [0.0, 0.7, 0.3], [0.2, 0.2, 0.6], [0.4, 0.5, 0.1], [0.7, 0.0, 0.3], [0.5, 0.4, 0.1]]
    return FinitePredictions(predictions, truths)


def kelly_smyth_theorem_5_1(n_classes: int) -> FinitePredictions:
    """Build a model with ECE 0 and VECE 1/2 - 1/(2K) in the variable "v" (Kelly & Smyth 2023, Theorem 5.1).

    All rows have the score (K + 1)/(2K); the top label is always right where v = 0, and right by chance where v = 1.

    Parameters
    ----------
    n_classes : int
        K >= 2.
    """
    K = _classes(n_classes)
    row = _top_first((K + 1) / (2 * K), K)
    return FinitePredictions([row, row], [_top_first(1.0, K), _top_first(1 / K, K)], variables={"v": [0, 1]})


def kelly_smyth_theorem_5_2(n_classes: int) -> FinitePredictions:
    """Build a model with VECE 0 in the variable "v" and ECE 1/2 - 1/(2K) (Kelly & Smyth 2023, Theorem 5.2).

    The scores 1/K and 1 are equally likely and independent of v. At both, the top label (the first class, where all are
    equally probable) is right with chance (K + 1)/(2K).

    Parameters
    ----------
    n_classes : int
        K >= 2.
    """
    K = _classes(n_classes)
    scores = [1 / K, 1.0, 1 / K, 1.0]
    truth = _top_first((K + 1) / (2 * K), K)
    return FinitePredictions([_top_first(score, K) for score in scores], [truth] * 4, variables={"v": [0, 0, 1, 1]})


def kelly_smyth_theorem_5_4() -> FinitePredictions:
    """Build a model that is overconfident at every score and every value of "v" (Kelly & Smyth 2023, Theorem 5.4).

    ECE and VECE are then both equal to mean confidence minus accuracy: 0.3833... here, for two classes seen through
    the top label.
    """
    confidence = np.array([0.9, 0.9, 0.8, 0.8, 0.95, 0.95])
    return FinitePredictions(confidence, [1.0, 0.0, 1.0, 0.0, 1.0, 0.0], variables={"v": [1, 2, 2, 1, 3, 3]})


def _classes(n_classes: int) -> int:
    if not 2 <= at_least_one("n_classes", n_classes) <= MOST_BINS:
        raise ValueError(
            f"n_classes is {n_classes}, but a classifier needs at least 2 classes; {MOST_BINS} are the most."
        )
    return n_classes


def _top_first(chance: float, n_classes: int) -> list[float]:
    """Return a law with `chance` on the first class and the rest shared equally."""
    if chance == 1 / n_classes:
        return [chance] * n_classes  # exactly equal, so that the first class is the top one
    return [chance] + [(1 - chance) / (n_classes - 1)] * (n_classes - 1)
