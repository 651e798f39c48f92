"""The world that a fitted calibrator makes of another: its predictions are calibrated, its outcomes stay."""

from __future__ import annotations

from collections.abc import Hashable
from copy import deepcopy
from dataclasses import replace
from functools import cached_property
from typing import Any, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._logistic import expit, logit
from calibstat._text import counted
from calibstat.binnings.base import Binning
from calibstat.calibrators.base import Calibrator
from calibstat.data.arrays import Array, Floats, two_columns
from calibstat.data.parameters import keep
from calibstat.data.rounding import ROUNDING
from calibstat.estimators.base import all_weights
from calibstat.estimators.tally import ratio
from calibstat.generators._branches import Branches, branches_of
from calibstat.generators._quadrature import Borders, critical_points, distinct, panels, population_on_cells
from calibstat.generators.base import Population, SyntheticModel, as_points, population_of
from calibstat.generators.line import LineModel
from calibstat.lenses.base import Lens
from calibstat.lenses.relabel import Canonical

_FINE = np.arange(-16, 16.01, 1 / 16)  # log-odds between which steps of a calibrator are looked for
_COARSE = np.arange(-700, 701, 1.0)
_CERTAIN = -float(np.log(1e-6))  # log-odds beyond which 1 - p shows its rounding, if it was computed from p
# Chances bend like a square root beside the values at which a map turns.
_GRADED = np.concatenate([-(4.0 ** -np.arange(1, 14)), [0.0], 4.0 ** -np.arange(1, 14)])


@final
@dataclass(frozen=True, eq=False, repr=False)
class Recalibrated(SyntheticModel):
    """A world of two classes whose predictions a fitted calibrator has mapped.

    The outcomes are those of the world. Where the map takes one value at several predictions, P(Y | calibrated
    prediction) is their average by mass: pieces on which it is constant become atoms, and places where it turns are
    pooled with the slopes of the map. So truths and limits are those of the fitted map, by quadrature, whether it is
    monotone or not.

    Parameters
    ----------
    world : SyntheticModel
        A world of two classes whose predictions have a density (`GaussianMixture`, `BetaPredictions`) or finitely many
        values.
    calibrator : Calibrator
        Fitted to probabilities of two classes, without variables; the world keeps a copy.

    Examples
    --------
    >>> import calibstat as cs
    >>> from calibstat.calibrators import Platt
    >>> from calibstat.generators import BetaPredictions, Recalibrated, Slope
    >>> world = BetaPredictions(1, 1, Slope(0.5))
    >>> fit = world.sample(500, rng=0)
    >>> model = Recalibrated(world, Platt().fit(fit.y_prob, fit.y_true))
    >>> round(float(world.truth(cs.ECE())), 4), round(float(model.truth(cs.ECE())), 4)
    (0.0966, 0.0229)
    """

    world: SyntheticModel
    calibrator: Calibrator

    def __post_init__(self) -> None:
        _check_calibrator(self.calibrator, self.classes)
        keep(self, calibrator=deepcopy(self.calibrator))  # another fit of the same object must not change the world

    def __repr__(self) -> str:
        return f"Recalibrated({self.world!r}, fitted {' '.join(repr(self.calibrator).split())})"

    @cached_property
    def classes(self) -> tuple[Hashable, ...]:
        """The two labels."""
        return _check_world(self.world)

    @property
    def features(self) -> tuple[str, ...]:
        """The features of the world."""
        return self.world.features

    @property
    def finite(self) -> bool:
        """Whether predictions of the world take finitely many values, or the map is constant in steps."""
        return self.world.finite or not self._branches.branches

    def rows(self, n: int, rng: np.random.Generator) -> Population:
        """Draw rows of the world and calibrate them; where the map turns, chances are those of all rows of a value."""
        drawn = self.world.rows(n, rng)
        rows, chances = self._calibrated(drawn.predictions.chances), drawn.chances
        if not self.finite:
            chance, _ = self._pooled(_log_odds(drawn.predictions.chances), rows, chances[:, 1])
            chances = two_columns(chance)
        return replace(drawn, predictions=replace(drawn.predictions, rows=rows), chances=chances)

    def outcomes(self, drawn: Population, rng: np.random.Generator) -> Array:
        """Draw outcomes as the world does."""
        return self.world.outcomes(drawn, rng)

    def population(self, lens: Lens, binning: Binning | None = None) -> Population:
        """Calibrate all rows of a finite world, or lay nodes between the places where the map or the lens changes."""
        if self.world.finite:
            every = self.world.population(Canonical())
            rows = self._calibrated(every.predictions.chances)
            return replace(every, predictions=replace(every.predictions, rows=rows))
        if self.finite:
            return self._listed(*self._atoms, "enumeration")
        known = self._borders_of(lens)
        return population_on_cells(lambda further: self._nodes(lens, known, further), lens, binning)

    def calibration_function(self, probabilities: Any, lens: Lens | None = None) -> Floats:
        """Return the chances given an induced prediction: of an atom, or by the slopes of the map; NaN elsewhere."""
        if self.finite:
            return SyntheticModel.calibration_function(self, probabilities, lens)
        given = np.asarray(probabilities, dtype=float)
        seen = Canonical() if lens is None else lens
        asked = as_points(given, 2, seen)[:, 1]
        odds = np.clip(logit(asked), -700, 700)
        odds, found = np.append(odds, -odds), np.full(len(asked), np.nan)
        mass, happened = self._law(odds)
        dense = self._listed(np.column_stack([expit(-odds), expit(odds)]), mass, ratio(happened, mass), "")
        for population in (dense, self._listed(*self._atoms, "")):  # atoms come last: they outweigh a density
            view = seen.look(population.predictions)
            mass, chance = all_weights(view.predictions, None), view.chances(population.chances)[:, 1]
            for row in range(len(asked)):
                here = np.where(np.abs(view.predictions.event - asked[row]) < ROUNDING, mass, 0.0)
                if here.sum() > 0:
                    found[row] = here @ chance / here.sum()
        return two_columns(found) if given.ndim == 2 else found

    # The map, as a function of log-odds.

    def _calibrated(self, rows: Floats) -> Floats:
        """Return calibrated rows (n, 2); both columns are given, so that neither loses its digits."""
        return self.calibrator._calibrate(rows, np.empty((len(rows), 0))) if len(rows) else rows

    def _at(self, places: Floats) -> Floats:
        return self._calibrated(np.column_stack([expit(-places), expit(places)]))

    @cached_property
    def _world_borders(self) -> Floats:
        """Log-odds that resolve the density of the world, and between which steps of the map are looked for."""
        own = self._line.borders()
        borders = np.concatenate([own, _FINE, _COARSE])
        return distinct(borders[(borders >= own.min()) & (borders <= own.max())])

    @cached_property
    def _branches(self) -> Branches:
        return branches_of(lambda places: _log_odds(self._at(places)), self._world_borders)

    @property
    def _line(self) -> LineModel:
        assert isinstance(self.world, LineModel)
        return self.world

    # Masses and chances of calibrated log-odds: a value is taken at one place of each branch, with mass f(x) / |slope|.

    def _law(self, odds: Floats) -> tuple[Floats, Floats]:
        """Return the density outside atoms (m,), and the part of it in which the event happens."""
        mass, happened = np.zeros(len(odds)), np.zeros(len(odds))
        for taken, place, slope in self._branches.levels(odds):
            each = ratio(self._line.density(place), slope)
            mass[taken] += each
            happened[taken] += each * self._line.event_chance(place)
        return mass, happened

    def _pooled(self, places: Floats, rows: Floats, chance: Floats) -> tuple[Floats, Floats]:
        """Return chances given the calibrated rows, from those given the places, and calibrated log-odds."""
        odds, chance = _log_odds(rows), chance.copy()
        several = self._branches.several(odds) & ~self._branches.is_constant(places)
        mass, happened = self._law(odds[several])
        chance[several] = np.where(mass > 0, ratio(happened, mass), chance[several])
        return chance, odds

    def _seen(self, places: Floats, lens: Lens) -> tuple[Floats, Floats]:
        """Return calibrated rows at places, and the chances of all rows that the lens makes equal to them."""
        rows = self._at(places)
        chance, odds = self._pooled(places, rows, self._line.event_chance(places))
        if not lens.parts:
            return rows, chance
        (mass, _), (other, happened) = self._law(odds), self._law(-odds)
        mirrored = two_columns(np.append(chance, ratio(happened, other)))
        view = lens.look(population_of(np.vstack([rows, rows[:, ::-1]]), mirrored, classes=self.classes).predictions)
        table = np.full((3, len(mirrored)), np.nan)
        kept = slice(None) if view.rows is None else view.rows
        table[:, kept] = (
            view.predictions.event,
            view.chances(mirrored)[:, 1],
            view.chances(np.tile([0.0, 1.0], (len(mirrored), 1)))[:, 1],  # whether the event stays one
        )
        event, induced, upright = table.reshape(3, 2, -1)
        folded = (np.abs(event[0] - event[1]) < ROUNDING) & (mass > 0) & (other > 0)
        both = ratio(mass * induced[0] + other * induced[1], mass + other)
        return rows, np.where(folded, np.where(upright[0] > 0, both, 1 - both), chance)

    # Populations.

    def _listed(self, rows: Floats, mass: Floats, chance: Floats, method: str) -> Population:
        return population_of(rows, two_columns(chance), mass, classes=self.classes, method=method)

    @cached_property
    def _atoms(self) -> tuple[Floats, Floats, Floats]:
        """The rows (a, 2) that the map gives to whole cells, their masses, and the chance of the event."""
        places, mass = self._panels(distinct(np.append(self._world_borders, self._branches.borders)), constant=True)
        rows, place = np.unique(self._at(places), axis=0, return_inverse=True)
        total = np.zeros((len(rows), 2))
        np.add.at(total, place.reshape(-1), np.column_stack([mass, mass * self._line.event_chance(places)]))
        return rows, total[:, 0], ratio(total[:, 1], total[:, 0])

    def _panels(self, borders: Floats, constant: bool) -> tuple[Floats, Floats]:
        """Return nodes in the constant cells, or in the others, with their masses."""
        places, widths = panels(borders)
        mass = widths * self._line.density(places)
        kept = (mass > 0) & (self._branches.is_constant(places) == constant)
        return places[kept], mass[kept]

    def _nodes(self, lens: Lens, known: Floats, further: Borders) -> Population:
        odds = logit(further.get(..., np.empty(0)))
        places, mass = self._panels(self._within(known, self._branches.places(np.append(odds, -odds))), constant=False)
        rows, chance = self._seen(places, lens)
        method = f"Gauss-Legendre quadrature, {len(places)} nodes (a maximum is over these)"
        atoms, masses, chances = self._atoms
        return self._listed(np.vstack([rows, atoms]), np.append(mass, masses), np.append(chance, chances), method)

    def _within(self, *borders: Floats) -> Floats:
        """Sort borders, and leave out those beyond the world."""
        found, own = np.concatenate(borders), self._world_borders
        return distinct(found[(found >= own[0]) & (found <= own[-1])])

    def _borders_of(self, lens: Lens) -> Floats:
        """Return borders where the map bends or turns, where levels begin or end, and where the deviation has kinks."""
        if lens not in self._found_borders:
            found = self._branches
            turned = _log_odds(self._at(found.turns))
            ends, sharp = (found.places(np.append(each, -each)) for each in (found.ends(), turned))
            graded = (sharp[:, None] + _GRADED).ravel()
            base = self._within(self._world_borders, found.borders, ends, graded)
            kinks = critical_points(lambda places: self._deviation(lens, places), panels(base, 8)[0])
            self._found_borders[lens] = self._within(base, kinks)
        return self._found_borders[lens]

    @cached_property
    def _found_borders(self) -> dict[Lens, Floats]:
        """A cache of the borders for each lens, since every binning needs them."""
        return {}

    def _deviation(self, lens: Lens, places: Floats) -> Floats:
        """Return chance minus prediction of the induced event; zero outside a region."""
        rows, chance = self._seen(places, lens)
        listed = self._listed(rows, np.ones(len(rows)), chance, "")
        view = lens.look(listed.predictions)
        gaps = np.zeros(len(rows))
        gaps[slice(None) if view.rows is None else view.rows] = (
            view.chances(listed.chances)[:, 1] - view.predictions.event
        )
        return gaps


def _log_odds(rows: Floats) -> Floats:
    """Return log-odds of rows (n, 2). Where 1 - p was computed from p they end before rounding shows."""
    with np.errstate(divide="ignore"):
        found: Floats = np.log(rows[:, 1]) - np.log(rows[:, 0])
    return np.clip(found, -_CERTAIN, _CERTAIN) if np.array_equal(rows[:, 0], 1 - rows[:, 1]) else found


def _check_world(world: Any) -> tuple[Hashable, ...]:
    """Return the two labels of a world, and refuse one whose map of predictions could not be followed."""
    if not isinstance(world, SyntheticModel):
        raise TypeError(f"world is {world!r}; it must be a synthetic model, such as GaussianMixture(1, 1)")
    if isinstance(world, LineModel):
        return world.classes
    if not world.finite or isinstance(world, Recalibrated):
        raise ValueError(
            f"world is {world!r}, but its predictions have neither a density in one variable nor finitely many values: "
            "take GaussianMixture, BetaPredictions, FinitePredictions or Empirical"
        )
    classes = world.population(Canonical()).predictions.classes
    if len(classes) != 2:
        raise ValueError(
            f"world is {world!r}, which has {counted(len(classes), 'class')}; levels of a map of more than two classes "
            "are not known: calibrate samples of it"
        )
    return classes


def _check_calibrator(calibrator: Any, classes: tuple[Hashable, ...]) -> None:
    """Refuse what is no fitted map of two probabilities to two."""
    if not isinstance(calibrator, Calibrator) or not hasattr(calibrator, "classes_"):
        raise TypeError(
            f"calibrator is {calibrator!r}; it must be a fitted calibrator of calibstat, such as Platt().fit(p, y)"
        )
    if hasattr(calibrator, "variable") or len(getattr(calibrator, "variables", ())):
        raise ValueError(f"calibrator is {calibrator!r}, which reads variables, but the world has only probabilities")
    if calibrator.input != "probability" or not calibrator.normalize:
        raise ValueError(
            f"calibrator is {calibrator!r}, but a map of probabilities to probabilities is expected: with "
            "input='probability' and normalize=True"
        )
    labels = calibrator.classes_.tolist()
    if labels not in (list(classes), [0, 1]):
        raise ValueError(f"calibrator is fitted to the classes {labels}, but the world has {list(classes)}")
