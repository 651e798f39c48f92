"""Real predictions as the law of predictions, with a calibration function laid on them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from calibstat.arrays import Floats
from calibstat.binnings.base import Binning
from calibstat.generators.base import SyntheticModel
from calibstat.generators.finite import take
from calibstat.generators.population import Population, population_of
from calibstat.generators.recalibrations import EventMap, Identity, chances_of
from calibstat.generators.simplex_maps import RowMap, SimplexMap, laws_of
from calibstat.lenses.base import Lens
from calibstat.sample import Sample


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
        rows = np.asarray(y_prob, dtype=float)
        names = tuple(range(rows.shape[1] if rows.ndim == 2 else 2)) if labels is None else tuple(labels)
        seen = Sample([names[0]] * len(rows), y_prob, variables=variables, labels=names).predictions
        table = population_of(
            seen.probabilities,
            _laws(recalibration, seen.chances),
            np.ones(len(seen)),
            classes=seen.classes,
            variables=dict(seen.variables),
        )
        object.__setattr__(self, "y_prob", seen.probabilities)
        object.__setattr__(self, "recalibration", recalibration)
        object.__setattr__(self, "table", table)

    def rows(self, n: int, rng: np.random.Generator) -> Population:
        """Draw rows of the data set, with replacement."""
        return take(self.table, rng.integers(0, len(self.table), n))

    @property
    def calibrated(self) -> bool:
        """Whether r is the identity."""
        return isinstance(self.recalibration, Identity)

    def population(self, lens: Lens, binning: Binning | None = None) -> Population:  # noqa: ARG002
        """List the rows of the data set."""
        return self.table

    def __repr__(self) -> str:
        n, n_classes = self.y_prob.shape
        return f"Empirical({n} rows, {n_classes} classes, recalibration={self.recalibration!r})"


def _laws(recalibration: EventMap | RowMap, rows: Floats) -> Floats:
    if not callable(recalibration):
        raise TypeError(f"recalibration is {recalibration!r}, but a function of probabilities is needed: Identity().")
    if rows.shape[1] == 2 and not isinstance(recalibration, SimplexMap):
        return chances_of(recalibration, rows[:, 1])
    return laws_of(recalibration, rows)
