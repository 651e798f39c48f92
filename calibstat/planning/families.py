"""Models on the same predictions with a true error of any chosen size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from functools import cached_property
from typing import Any, Literal, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._lazy import optimize
from calibstat._text import counted, percent
from calibstat.data.parameters import HasParameters, numbers
from calibstat.data.sample import Sample
from calibstat.estimators.base import Estimator
from calibstat.estimators.squared import ECE
from calibstat.generators.base import SyntheticModel
from calibstat.generators.beta import BetaPredictions
from calibstat.generators.clustered import Clustered, Sizes
from calibstat.generators.finite import Empirical
from calibstat.generators.recalibrations import LogitShift, Recalibration, Slope
from calibstat.generators.simplex_maps import SimplexMap, TemperatureShift
from calibstat.lenses.base import Lens
from calibstat.lenses.relabel import CANONICAL
from calibstat.lenses.words import in_words

Direction = Literal["overconfident", "underconfident", "too low", "too high"]
_SLOPES: dict[str, Callable[[float], Recalibration]] = {
    "overconfident": lambda t: Slope(float(np.exp(-t))),
    "underconfident": lambda t: Slope(float(np.exp(t))),
    "too low": LogitShift,
    "too high": lambda t: LogitShift(-t),
}
_TEMPERATURES: dict[str, Callable[[float], SimplexMap]] = {
    "overconfident": lambda t: TemperatureShift(float(np.exp(t))),
    "underconfident": lambda t: TemperatureShift(float(np.exp(-t))),
}
_FURTHEST = 6.0


@final
@dataclass(frozen=True, eq=False)
class ErrorFamily(HasParameters):
    """Models with known error: `family(0.02)` has a true error of 0.02.

    Parameters
    ----------
    predictions : (n,) or (n, K) floats, or Sample, optional
        The law of predictions: these rows, drawn with replacement (labels and weights are not used). By default
        uniform probabilities of an event.
    direction : {"overconfident", "underconfident", "too low", "too high"}
        How probabilities are wrong: log-odds are multiplied by a factor (a temperature for more classes), or, for two
        classes, shifted.
    measure : Estimator
        Measures the error, by its unbinned estimand. Put a lens in front as in the test.

    Raises
    ------
    ValueError, TypeError
        If `direction` is none of these or does not suit the number of classes, or `measure` is no estimator.

    Examples
    --------
    >>> import calibstat as cs
    >>> from calibstat.planning.families import ErrorFamily
    >>> model = ErrorFamily()(0.02)
    >>> round(float(model.truth(cs.ECE())), 9)
    0.02
    """

    predictions: Any = None
    direction: Direction = "overconfident"
    measure: Estimator = field(default_factory=ECE)

    def __post_init__(self) -> None:
        if self.predictions is not None and not isinstance(self.predictions, Sample):
            numbers("predictions", self.predictions)
        if self._n_classes > 2 and self.direction not in _TEMPERATURES:
            raise ValueError(
                f"direction is {self.direction!r}, which is for two classes, but there are {self._n_classes}: take "
                f"one of {', '.join(_TEMPERATURES)}"
            )

    @property
    def _rows(self) -> Any:
        return self.predictions.y_prob if isinstance(self.predictions, Sample) else self.predictions

    @property
    def _n_classes(self) -> int:
        rows = self._rows
        return 2 if rows is None or np.ndim(rows) == 1 else int(np.shape(rows)[1])

    @cached_property
    def largest(self) -> float:
        """The largest error of this direction: log-odds multiplied or divided by 400, or shifted by 6."""
        return self._error(_FURTHEST)

    def __call__(self, size: float) -> SyntheticModel:
        """Return the model whose true error is `size`.

        Raises
        ------
        ValueError
            If the error is not between zero and the largest of this direction.
        """
        largest = self.largest
        if not 0 < size < largest:
            raise ValueError(
                f"a true error of {size:g} is asked for, but these predictions have one between 0 and {largest:.4g} "
                f"when they are {self.direction}"
            )
        return self._model(optimize.brentq(lambda t: self._error(t) - size, 0.0, _FURTHEST, xtol=1e-13, rtol=1e-12))

    def _error(self, t: float) -> float:
        return float(self._model(t).truth(self.measure)) if t > 0 else 0.0

    def _model(self, t: float) -> SyntheticModel:
        if self._n_classes > 2:
            return Empirical(self._rows, _TEMPERATURES[self.direction](t))
        recalibration = _SLOPES[self.direction](t)
        if self.predictions is None:
            return BetaPredictions(1, 1, recalibration)
        return Empirical(self._rows, recalibration)

    def __repr__(self) -> str:
        law = "uniform predictions" if self.predictions is None else f"{len(self._rows)} given predictions"
        return f"ErrorFamily({law}, {self.direction!r}, {self.measure!r})"


def assumed(model: SyntheticModel, lens: Lens = CANONICAL) -> str:
    """Say of which predictions a plan is, and in which direction they are wrong, as far as the model tells.

    How much is predicted and happens is what the lens shows.

    >>> assumed(ErrorFamily(direction="too low")(0.05))
    'uniform predictions are too low (50 % predicted, 55 % happens)'
    """
    if isinstance(model, Clustered):
        return f"{assumed(model.world, lens)}, and rows come in {_clusters(model)}"
    if not isinstance(model, (BetaPredictions, Empirical)):
        return "predictions are as in the given world"
    if isinstance(model, Empirical):
        law = f"predictions as in the {counted(len(model.table), 'given row')}"
    else:
        law = "uniform predictions" if model.a == model.b == 1 else f"Beta({model.a:g}, {model.b:g}) predictions"
    return f"{law} are {_direction(model.recalibration)}{_means(model, lens)}"


def in_clusters(model: SyntheticModel, size: Sizes | None, correlation: float | None) -> SyntheticModel:
    """Return a model whose rows come in clusters of equal predictions, the same model where nothing is asked."""
    if size is None and correlation is None:
        return model
    if size is None or correlation is None:
        given, lacking = ("correlation", "cluster_size=8") if size is None else ("cluster_size", "correlation=0.3")
        raise ValueError(f"{given} is given alone, but clusters have a size and a correlation: add {lacking}")
    return Clustered(model, size, correlation, "constant")


def _clusters(model: Clustered) -> str:
    """Say how large clusters are, how much outcomes correlate, and what a mean loses by it."""
    size = counted(model.size, "row") if isinstance(model.size, int) else f"{model.mean_size:.3g} rows on average"
    alike = "the same prediction" if model.predictions == "constant" else "predictions that vary"
    return (
        f"clusters of {size} with {alike} and a correlation of {model.correlation:g} (design effect "
        f"{model.design_effect:.3g})"
    )


def _direction(recalibration: Any) -> str:
    match recalibration:
        case Slope(b):
            return "over-confident" if b < 1 else "under-confident"
        case TemperatureShift(T):
            return "over-confident" if T > 1 else "under-confident"
        case LogitShift(a):
            return "too low" if a > 0 else "too high"
        case _:
            return "wrong as in the given world"


def _means(model: SyntheticModel, lens: Lens) -> str:
    """Say how much is predicted and how much happens, where the two differ, and of what, where a lens changes that."""
    rows = model.population(lens)
    view = lens.look(rows.predictions)
    if view.predictions.n_classes != 2:
        return ""
    chances = view.predictions.event, view.chances(rows.chances)[:, 1]
    said = [percent(float(f"{np.average(each, weights=view.predictions.weights):.3g}")) for each in chances]
    of = f"of {in_words(lens, rows.predictions.classes)}: " if lens.parts else ""
    return "" if said[0] == said[1] else f" ({of}{said[0]} predicted, {said[1]} happens)"
