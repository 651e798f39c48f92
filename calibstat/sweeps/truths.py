"""True values beside the estimates: what is estimated, what cells that stay converge to, and whether a null is true."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from calibstat.arrays import Array, Floats
from calibstat.estimators.base import Estimator
from calibstat.estimators.cells.miscalibration import ECE
from calibstat.generators.base import SyntheticModel
from calibstat.generators.evaluation import evaluate, on_own_cells
from calibstat.generators.population import Population
from calibstat.sweeps.quiet import quiet
from calibstat.sweeps.slots import Slots
from calibstat.sweeps.study import Study


def true_values(study: Study) -> tuple[dict[str, Floats], dict[str, str]]:
    """Return what is known of the models.

    Returns
    -------
    values : dict
        ``truth`` and ``limit`` (models, estimators, bins), and ``miscalibration`` (models, tests, bins): the true
        ECE through the lens of the test. NaN where unknown.
    reasons : dict
        For each of these, why some are unknown.
    """
    values: dict[str, Floats] = {}
    reasons: dict[str, str] = {}
    asked: dict[str, tuple[Slots, Callable[[Any, Any], float]]] = {
        "truth": (study.estimators, _truth),
        "limit": (study.estimators, _limit),
        "miscalibration": (study.tests, _miscalibration),
    }
    with quiet:
        for name, (slots, function) in asked.items():
            if len(slots):
                values[name], reasons[name] = _each(study, slots, function)
    return values, reasons


def _each(study: Study, slots: Slots, function: Callable[[Any, Any], float]) -> tuple[Floats, str]:
    values = np.full((len(study.models), len(slots)), np.nan)
    reasons: list[str] = []
    for row, model in enumerate(study.models.values()):
        remembering = _Remembering(model)
        for column, slot in enumerate(slots.each):
            try:
                values[row, column] = function(remembering, slot.thing)
            except (ValueError, TypeError) as error:
                reasons.append(f"{study.names[row]}, {slot.name}: {error}")
    return values[:, slots.where], "; ".join(dict.fromkeys(reasons))


class _Remembering:
    """A model that computes each truth, and each population, once: estimators of a study share them."""

    def __init__(self, model: SyntheticModel) -> None:
        self.model = model
        self.truths: dict[str, float] = {}
        self.populations: dict[str, Population] = {}

    def truth(self, estimator: Estimator) -> float:
        key = repr(estimator.estimand)
        if key not in self.truths:
            self.truths[key] = _number(estimator, self.model.truth(estimator).value)
        return self.truths[key]

    def limit(self, estimator: Estimator) -> float:
        """Do as `SyntheticModel.limit`."""
        fixed, binning = on_own_cells(estimator)
        key = f"{estimator.lens!r} {binning!r}"
        if key not in self.populations:
            self.populations[key] = self.model.population(estimator.lens, binning)
        return _number(estimator, evaluate(fixed, self.populations[key]))


def _number(estimator: Estimator, value: float | Array) -> float:
    return float(estimator.estimand.core.headline(np.asarray(value, dtype=float)))


def _truth(model: Any, thing: Any) -> float:
    return float(model.truth(_estimator(thing)))


def _limit(model: Any, thing: Any) -> float:
    return float(model.limit(_estimator(thing)))


def _miscalibration(model: Any, thing: Any) -> float:
    tested = _estimator(getattr(thing, "estimator", thing))
    return float(model.truth(tested.lens | ECE()))


def _estimator(thing: Any) -> Estimator:
    if isinstance(thing, Estimator):
        return thing
    raise TypeError("what a plain function estimates is not known")
