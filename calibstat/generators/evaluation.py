"""Estimators on populations: chances in place of labels, masses in place of counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from calibstat.arrays import Array, as_generator
from calibstat.binnings.base import Binning
from calibstat.binnings.unique import UniqueValues
from calibstat.checks import at_least_one
from calibstat.estimators.base import Estimator
from calibstat.generators.population import Population, Truth, without_warnings
from calibstat.lenses.base import Lens
from calibstat.lenses.given import Given

_BLOCKS = 20
_REPEATS = 30
_FEW_ROWS = (300, 500)
_ROUNDING = 1e-12


def evaluate(estimator: Estimator, population: Population) -> float | Array:
    """Evaluate an estimator on a population, by the evaluator that samples go through."""
    with without_warnings():
        evaluator = estimator.prepare(population.predictions)
    value = evaluator(population.chances)
    return float(value) if evaluator.shape == () else value


def zero_where_calibrated(
    rows: Callable[[int, np.random.Generator], Population], estimand: Estimator
) -> float | Array | None:
    """Return the zero of an error in a world whose chances are the predictions; None for what is no error.

    An error compares chances with predictions, so it is zero on any rows of such a world, through any lens and in any
    cells; a score, or a part of one, is not.

    Parameters
    ----------
    rows : callable
        Draws rows of the world.
    estimand : Estimator
    """
    values = []
    for seed, n in enumerate(_FEW_ROWS):
        try:
            values.append(np.asarray(evaluate(estimand, rows(n, as_generator(seed)))))
        except ValueError:  # it needs more rows, or what these have not
            return None
    if values[0].shape != values[1].shape or not all((np.abs(each) <= _ROUNDING).all() for each in values):
        return None
    return np.zeros(values[0].shape) if values[0].ndim else 0.0


def on_own_cells(estimator: Estimator) -> tuple[Estimator, Binning | None]:
    """Return what the estimator converges to with its cells fixed, and the binning that makes these.

    This is its estimand on its own cells: a debiased estimator, for one, loses its correction as n grows. Estimators
    without a binning converge to their estimand.
    """
    core: Any = estimator.core
    estimand: Any = core.estimand
    if not hasattr(core, "binning"):
        _refuse_combinators(core)
        return estimator.estimand, None
    return estimator.lens | replace(estimand, binning=core.binning), core.binning


def _refuse_combinators(core: Any) -> None:
    members = [getattr(core, field.name) for field in fields(core)] if is_dataclass(core) else []
    inner = [each for member in members for each in (member.values() if isinstance(member, dict) else (member,))]
    if any(isinstance(each, Estimator) for each in inner):
        raise ValueError(f"the limit of {core!r} is not known: ask for the limits of the estimators in it.")


def through_features(estimand: Estimator, features: tuple[str, ...], model: object) -> Estimator:
    """Condition on all features, so that predictions are compared with P(Y | X)."""
    if not features:
        raise ValueError(
            f"{model!r} has no features, so that P(Y | X) is not defined; 'ise' can be had for worlds with features: "
            "RegressionFunction(...).classified_by(...), Conditioned(...), FinitePredictions(..., features=[...])."
        )
    return estimand.lens | Given(*features) | estimand.core


def monte_carlo(
    rows: Callable[[int, np.random.Generator], Population],
    estimand: Estimator,
    n_samples: int,
    rng: np.random.Generator,
) -> Truth:
    """Average an estimand over blocks of random rows, with the error of the average."""
    size = max(at_least_one("n_samples", n_samples) // _BLOCKS, 1)
    drawn = [rows(size, rng) for _ in range(_BLOCKS)]
    values = np.array([evaluate(estimand, block) for block in drawn])
    error = float(np.max(values.std(axis=0, ddof=1)) / np.sqrt(_BLOCKS))
    mean = values.mean(axis=0)
    return Truth(
        float(mean) if mean.ndim == 0 else mean,
        "the induced prediction" if _pools(estimand.lens, drawn[0]) else "upper bound given the full prediction",
        error,
        f"Monte Carlo, {size * _BLOCKS} rows with known chances in {_BLOCKS} blocks",
    )


def _pools(lens: Lens, block: Population) -> bool:
    """Whether random rows tell the error given the induced prediction.

    They do if induced predictions come back often, or if the chances depend on them alone.
    """
    if not lens.parts and not block.predictions.variables:
        return True
    view = lens.look(block.predictions)
    return UniqueValues().cut(view.predictions).size * _REPEATS <= len(view.predictions)
