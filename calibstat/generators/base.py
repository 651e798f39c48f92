"""Synthetic models: classifiers on worlds in which the chance of every outcome is known.

An author writes two methods. `rows` draws random rows with their chances, `population` lists all of them (or the nodes
of a quadrature) with their masses. Samples, calibration functions, true values and limits are computed from these here.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, ClassVar, Literal, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat.binnings.base import Binning
from calibstat.binnings.values import UniqueValues
from calibstat.data.arrays import RNG, Array, Floats, Variable, as_generator, two_columns
from calibstat.data.columns import as_array
from calibstat.data.parameters import MOST_ROWS, HasParameters, SmallCellsWarning, at_least_one, repeats
from calibstat.data.rounding import ROUNDING, SAME
from calibstat.data.sample import Predictions, Sample
from calibstat.estimators.base import Estimator, all_weights
from calibstat.lenses.base import Lens
from calibstat.lenses.relabel import Canonical
from calibstat.lenses.restrict import Given


@dataclass(frozen=True)
class SyntheticModel(HasParameters, ABC):
    """A classifier on a world in which the chance of every outcome given the prediction is known.

    Subclasses are frozen dataclasses of parameters, with the methods `rows` and `population`; `check_generator` in
    `calibstat.generators.laws` tells whether the two agree.
    """

    in_messages: ClassVar[str] = "a synthetic model, such as GaussianMixture(1, 1)"

    @abstractmethod
    def rows(self, n: int, rng: np.random.Generator) -> Population:
        """Draw `n` random rows: predictions (without weights), and the chances that their labels are drawn with."""

    @abstractmethod
    def population(self, lens: Lens, binning: Binning | None = None) -> Population:
        """List all rows with their masses as weights: every atom, or the nodes of a quadrature.

        Parameters
        ----------
        lens : Lens
            The lens that rows will be looked at through. Rows that it makes equal must be nodes of equal value, or
            `pooled` of the result must be False.
        binning : Binning, optional
            The binning that will cut the induced predictions: no node may stand for mass on both sides of a border.
            Models with finitely many rows may ignore it, and `lens` too.

        Raises
        ------
        ValueError
            If the population is not known through this lens; the message says through which lenses it is.
        """

    @property
    def features(self) -> tuple[str, ...]:
        """The variables that are the features of this world: P(Y | X) is a function of them."""
        return ()

    @property
    def calibrated(self) -> bool:
        """Whether the chances of every row are its prediction, so that all errors are 0."""
        return False

    @property
    def finite(self) -> bool:
        """Whether predictions take finitely many values, so that they have cells of positive mass."""
        return False

    def known(self, lens: Lens) -> Mapping[str, float]:  # noqa: ARG002 (for those who know something)
        """Return values known in closed form through the lens; keys are the reprs of estimands without a lens."""
        return {}

    def quantiles(self, levels: Floats) -> Population:  # noqa: ARG002 (for those who know them)
        """Return rows at quantiles of the event's probability, for two classes and a prediction that has a density.

        Parameters
        ----------
        levels : (k,) increasing floats
            In [0, 1].

        Raises
        ------
        ValueError
            If the model does not know them.
        """
        raise ValueError(
            f"{self!r} does not know the quantiles of its predictions; models of two classes whose prediction has a "
            "density do, for example BetaPredictions and GaussianMixture."
        )

    @final
    def sample(self, n: int, rng: RNG = None) -> Sample:
        """Draw a sample.

        Parameters
        ----------
        n : int
            Number of rows, at least 1.
        rng : int, numpy Generator or None
            The source of randomness.
        """
        generator = as_generator(rng)
        if at_least_one("n", n) > MOST_ROWS:
            raise ValueError(f"n is {n:.3g}; it must be at most {MOST_ROWS:,} rows: draw several samples, one by one")
        drawn = self.rows(at_least_one("n", n), generator)
        return Sample.of(drawn.predictions, self.outcomes(drawn, generator))

    def outcomes(self, drawn: Population, rng: np.random.Generator) -> Array:
        """Draw an outcome (n,) for each random row by its chances, independently unless the world says otherwise."""
        return draw_outcomes(drawn.chances, rng)

    def calibration_function(self, probabilities: Any, lens: Lens | None = None) -> Floats:
        """Return the chances of the outcomes given an induced prediction: r in P(Y = . | p) = r(p).

        Parameters
        ----------
        probabilities : (n,) or (n, k) floats
            Induced predictions: the event's probability alone, for two classes, or of all classes.
        lens : Lens, optional
            The lens that induces them; by default the canonical one.

        Returns
        -------
        chances : (n,) or (n, k) floats
            NaN where the prediction does not occur.
        """
        seen = Canonical() if lens is None else lens
        return induced_chances(self.population(seen), seen, np.asarray(probabilities, dtype=float))

    @final
    def truth(
        self,
        estimator: Estimator,
        of: Literal["calibration", "ise"] = "calibration",
        *,
        n_samples: int | None = None,
        rng: RNG = None,
    ) -> Truth:
        """Return the population value of what an estimator estimates: of its `estimand`, through its lens.

        Parameters
        ----------
        estimator : Estimator
        of : {"calibration", "ise"}
            What predictions are compared with: P(Y | prediction), or P(Y | X) in a world with features. The second
            cannot be estimated from predictions and labels, and is never smaller for convex distances.
        n_samples : int, optional
            If given, the value is a Monte Carlo average over this many rows (of their chances, not of labels).
        rng : int, numpy Generator or None
            Used with `n_samples` only.

        Raises
        ------
        ValueError
            If the value is not known through this lens; the message says through which lenses it is.
        """
        estimand = estimator.estimand
        if of == "ise":
            estimand = through_features(estimand, self.features, self)
        elif of != "calibration":
            raise ValueError(f"of is {of!r}, but it must be 'calibration' or 'ise'.")
        if not self.finite:
            refuse_without_cells(estimand, self)
        if n_samples is not None:
            return monte_carlo(self.rows, estimand, n_samples, as_generator(rng))
        value = self.known(estimand.lens).get(repr(estimand.core))
        if value is not None:
            return Truth(value, method="closed form")
        return self.zero(estimand) or _on_population(estimand, self.population(estimand.lens))

    @final
    def limit(self, estimator: Estimator) -> Truth:
        """Return what an estimator converges to as n grows while its cells stay fixed.

        This is the first limit in Theorem 2 of Vaicenavicius et al. (2019), the estimand on the estimator's own cells.
        The difference to `truth` is what binning hides; the rest of the bias is due to finite samples.

        Parameters
        ----------
        estimator : Estimator

        Raises
        ------
        ValueError
            If its cells depend on the number of rows, so that there is no limit, or if the population is not known.
        """
        return limit_of(self, estimator, self.population)

    @final
    def zero(self, estimand: Estimator) -> Truth | None:
        """Return the value 0 of an error in a calibrated world, otherwise None."""
        if not self.calibrated:
            return None
        refuse_without_truth(estimand, of_rows=False)
        # An error compares chances with predictions, so it is zero on any rows of such a world, through any lens and in
        # any cells; a score, or a part of one, is not.
        values = []
        for seed, n in enumerate((300, 500)):
            try:
                values.append(np.asarray(evaluate(estimand, self.rows(n, as_generator(seed)))))
            except ValueError:  # the estimator needs more rows, or columns that these rows do not have
                return None
        if values[0].shape != values[1].shape or not all((np.abs(each) <= ROUNDING).all() for each in values):
            return None
        zero = np.zeros(values[0].shape) if values[0].ndim else 0.0
        return Truth(zero, method="the chances are the predictions")


def limit_of(
    model: SyntheticModel, estimator: Estimator, population: Callable[[Lens, Binning | None], Population]
) -> Truth:
    """Return the limit of an estimator, from populations of the model that may be remembered."""
    fixed, binning = on_own_cells(estimator)
    if not model.finite and binning is None:
        refuse_without_cells(fixed, model)
    if fixed.core.compares_labels:
        return _on_labels(fixed, population(estimator.lens, binning))
    return model.zero(fixed) or _on_population(fixed, population(estimator.lens, binning))


def _on_labels(estimator: Estimator, population: Population) -> Truth:
    """Evaluate on each row once with each label, whose mass is the chance of the label."""
    n, n_classes = population.chances.shape
    rows, labels = np.repeat(np.arange(n), n_classes), np.tile(np.arange(n_classes), n)
    mass = (all_weights(population.predictions, None)[:, None] * population.chances).ravel()
    seen = replace(population.predictions.take(rows), weights=mass)
    return _on_population(estimator, replace(population, predictions=seen, chances=np.eye(n_classes)[labels]))


def _on_population(estimator: Estimator, population: Population) -> Truth:
    refuse_without_truth(estimator)
    given: Any = "the induced prediction" if population.pooled else "upper bound given the full prediction"
    value: float | Array = evaluate(estimator, population)
    if np.isnan(value).all():
        raise ValueError(
            f"{estimator!r} has no true value: it is not a number (NaN) on this population; either no row is left in "
            "the lens's region, or predictions or outcomes do not vary, and without that it is not defined."
        )
    return Truth(value, given=given, method=population.method)


GivenText = Literal["the induced prediction", "upper bound given the full prediction"]


@dataclass(frozen=True, eq=False)
class Population:
    """Rows of a world, and the law of the outcome of each.

    Parameters
    ----------
    predictions : Predictions
        Their weights are the masses of the rows (None: all equal, as in a random draw).
    chances : (m, K) floats
        The chance of each outcome, row by row.
    pooled : bool
        Whether rows that a lens makes equal have equal values here, so that their chances are averaged. Otherwise
        values are upper bounds, given the full prediction.
    method : str
        How the masses were computed, for texts.
    """

    predictions: Predictions
    chances: Floats
    pooled: bool = True
    method: str = "enumeration"

    def __len__(self) -> int:
        return len(self.predictions)


@dataclass(frozen=True)
class Truth:
    """A true value.

    Parameters
    ----------
    value : float or array
    given : str
        What the error is conditional on: "the induced prediction", or "upper bound given the full prediction".
    standard_error : float
        Zero, unless the value is a Monte Carlo average.
    method : str
        How the value was computed.

    Examples
    --------
    >>> truth = Truth(0.25)
    >>> float(truth)
    0.25
    >>> print(truth)
    0.25 (given the induced prediction; enumeration)
    """

    value: float | Array
    given: GivenText = "the induced prediction"
    standard_error: float = 0.0
    method: str = "enumeration"

    @property
    def upper_bound(self) -> bool:
        """Whether the true value may be smaller: the world does not pool predictions that the lens makes equal."""
        return self.given != "the induced prediction"

    def __float__(self) -> float:
        if np.ndim(self.value):
            raise TypeError(
                f"this truth is an array of shape {np.shape(self.value)}, not one number; its numbers are in "
                ".value, and estimator.headline(truth.value) is the one that a test is about."
            )
        return float(self.value)

    def __str__(self) -> str:
        number = f"{self.value:.10g}" if isinstance(self.value, float) else str(self.value)
        error = f" +- {self.standard_error:.2g}" if self.standard_error else ""
        given = f"given {self.given}" if self.given == "the induced prediction" else self.given
        return f"{number}{error} ({given}; {self.method})"


def population_of(
    probabilities: Any,
    chances: Any,
    mass: Any = None,
    *,
    classes: tuple[Hashable, ...] | None = None,
    variables: dict[str, Variable] | None = None,
    pooled: bool = True,
    method: str = "enumeration",
) -> Population:
    """Put a population together from arrays.

    Parameters
    ----------
    probabilities, chances : (m, K) or (m,) floats
        Predictions and chances; with one dimension, those of the event of two classes.
    mass : (m,) floats, optional
        Masses; scaled to sum to one. None for random rows.
    classes : tuple, optional
        Labels; 0, 1, ..., K - 1 by default.
    variables : dict of str to Variable, optional
    pooled, method
        As in `Population`.
    """
    said, laws = _numbers("probabilities", probabilities), two_columns(_numbers("chances", chances))
    masses = None if mass is None else _numbers("mass", mass)
    rows = said if masses is None else two_columns(said)
    labels = tuple(range(laws.shape[1])) if classes is None else classes
    weights = None if masses is None else masses / (masses.sum() or 1.0)
    predictions = Predictions(rows, labels, weights, variables or {}, source="drawn from a synthetic model")
    return Population(predictions, laws, pooled, method)


def _numbers(name: str, given: Any) -> Floats:
    """Return an array of floats as it is, and a list, or other numbers, as one."""
    array = as_array(name, given)
    if array.dtype.kind == "f":
        return array
    try:
        return array.astype(np.float64, casting="unsafe" if array.dtype.kind == "O" else "safe")
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} holds something else than numbers: pass one number for each row") from error


def draw_outcomes(chances: Floats, rng: np.random.Generator) -> Array:
    """Draw one outcome (n,) for each row of chances (n, K), independently."""
    return outcomes_at(chances, rng.random(len(chances)))


def outcomes_at(chances: Floats, uniforms: Floats) -> Array:
    """Turn uniform numbers (n,) into outcomes (n,) with chances (n, K)."""
    if chances.shape[1] == 2:
        return (uniforms < chances[:, 1]).astype(np.intp)
    outcomes = np.zeros(len(chances), dtype=np.intp)
    reached = np.zeros(len(chances))
    for column in chances.T[:-1]:
        reached += column
        outcomes += reached <= uniforms
    return outcomes


@contextmanager
def without_warnings() -> Iterator[None]:
    """Silence warnings of small cells: a population has masses, not counts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SmallCellsWarning)
        yield


# Estimators on populations: chances in place of labels, masses in place of counts.

MONTE_CARLO_BLOCKS = 20  # of rows, whose values give the standard error of their average


def evaluate(estimator: Estimator, population: Population) -> float | Array:
    """Evaluate an estimator on a population, by the evaluator that samples go through."""
    with without_warnings():
        evaluator = estimator.prepare(population.predictions)
    value = evaluator(population.chances)
    return float(value) if evaluator.shape == () else value


def refuse_without_truth(estimand: Estimator, of_rows: bool = True) -> None:
    """Raise if the value grows with the number of rows or, with `of_rows`, depends on how they are listed."""
    if estimand.test_statistic:
        raise ValueError(
            f"{estimand!r} has no true value: it is a test statistic, which grows with the number of rows; ask for the "
            "truth of an error, for example ECE() or ScoreExcess()."
        )
    if of_rows and estimand.by_rows:
        raise ValueError(f"{estimand!r} has no true value: {estimand.by_rows}.")
    for member in estimand.members:
        refuse_without_truth(member, of_rows)


def refuse_without_cells(estimand: Estimator, model: object) -> None:
    """Raise if the value needs finitely many predictions."""
    if estimand.core.finite_range:
        raise ValueError(
            f"{estimand!r} has no true value in {model!r}, whose predictions take infinitely many values; it needs "
            "finitely many: FinitePredictions(...), Empirical(y_prob, recalibration), or your own world with `finite`."
        )
    for member in estimand.members:
        refuse_without_cells(member, model)


def on_own_cells(estimator: Estimator) -> tuple[Estimator, Binning | None]:
    """Return the estimator's limit with fixed cells, as an estimator, and the binning of these cells.

    The limit is the estimand on the estimator's own cells, since corrections for bias vanish as n grows. Estimators
    without a binning converge to their estimand.
    """
    core = estimator.core
    if core.members:
        raise ValueError(f"the limit of {core!r} is not known: compute the limits of the estimators in it.")
    if core.cut_by is None:
        return estimator.estimand, None
    return estimator.lens | core.estimand.recut(core.cut_by), core.cut_by


def through_features(estimand: Estimator, features: tuple[str, ...], model: object) -> Estimator:
    """Condition on all features, so that predictions are compared with P(Y | X)."""
    if not features:
        raise ValueError(
            f"{model!r} has no features, so that P(Y | X) is not defined; 'ise' is known for worlds with features: "
            "RegressionFunction(...).classified_by(...), Conditioned(...), FinitePredictions(..., features=[...])."
        )
    return estimand.lens | Given(*features) | estimand.core


def monte_carlo(
    rows: Callable[[int, np.random.Generator], Population],
    estimand: Estimator,
    n_samples: int,
    rng: np.random.Generator,
) -> Truth:
    """Average an estimand over blocks of random rows, with the standard error of the average."""
    refuse_without_truth(estimand)
    size = max(repeats("n_samples", n_samples) // MONTE_CARLO_BLOCKS, 1)
    drawn = [rows(size, rng) for _ in range(MONTE_CARLO_BLOCKS)]
    values = np.array([evaluate(estimand, block) for block in drawn])
    error = float(np.max(values.std(axis=0, ddof=1)) / np.sqrt(MONTE_CARLO_BLOCKS))
    mean = values.mean(axis=0)
    return Truth(
        float(mean) if mean.ndim == 0 else mean,
        "the induced prediction" if _pools(estimand.lens, drawn[0]) else "upper bound given the full prediction",
        error,
        f"Monte Carlo, {size * MONTE_CARLO_BLOCKS} rows with known chances in {MONTE_CARLO_BLOCKS} blocks",
    )


def _pools(lens: Lens, block: Population) -> bool:
    """Whether chances given the induced prediction are known: it recurs 30 times, or chances depend on it alone."""
    if not lens.parts and not block.predictions.variables:
        return True
    view = lens.look(block.predictions)
    return UniqueValues().cut(view.predictions).size * 30 <= len(view.predictions)


def induced_chances(population: Population, lens: Lens, probabilities: Floats) -> Floats:
    """Return the mean chances of the rows with each of these induced predictions; NaN where no row has it.

    Between the nodes of a quadrature the chance of an event is interpolated.
    """
    known, chances = _distinct(population, lens)
    points = as_points(probabilities, known.shape[1], lens)
    if known.shape[1] == 2 and population.method != "enumeration":
        found = two_columns(np.interp(points[:, 1], known[:, 1], chances[:, 1], left=np.nan, right=np.nan))
    else:
        found = np.full(points.shape, np.nan)
        for row, point in enumerate(points):
            gaps = np.abs(known - point).max(axis=1)
            if gaps.min() < SAME:
                found[row] = chances[gaps.argmin()]
    return found if probabilities.ndim == 2 else found[:, 1]


def as_points(probabilities: Floats, n_classes: int, lens: Lens) -> Floats:
    """Return induced predictions as rows (n, k); refuse another number of columns than the lens leaves."""
    points = two_columns(probabilities)
    if points.ndim != 2 or points.shape[1] != n_classes:
        raise ValueError(
            f"probabilities have shape {probabilities.shape}, but {n_classes} classes are seen through {lens!r}: "
            "pass one column each (or, for two, the event's alone)."
        )
    return points


def _distinct(population: Population, lens: Lens) -> tuple[Floats, Floats]:
    """Return the distinct induced predictions in increasing order, and the mean chances of each."""
    view = lens.look(population.predictions)
    seen = view.predictions.conditioning_on((...,))
    cells = UniqueValues().cut(seen)
    mass = all_weights(seen, None)
    total = np.bincount(cells.index, mass, minlength=cells.size)

    def mean(values: Floats) -> Floats:
        sums = [np.bincount(cells.index, mass * column, minlength=cells.size) for column in values.T]
        return np.stack(sums, axis=1)[total > 0] / total[total > 0, None]

    return mean(seen.probabilities), mean(view.chances(population.chances))
