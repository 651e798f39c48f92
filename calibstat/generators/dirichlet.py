"""Dirichlet-distributed predictions with a calibration function of your choice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import final

import numpy as np
from scipy import special

from calibstat._dataclass import dataclass
from calibstat._logistic import expit, logit
from calibstat.binnings.base import Binning
from calibstat.data.arrays import Array, Floats, Ints
from calibstat.data.parameters import keep
from calibstat.data.rounding import SAME
from calibstat.data.sample import Predictions
from calibstat.estimators.tally import ratio
from calibstat.generators._quadrature import (
    Borders,
    bisected,
    critical_points,
    distinct,
    panels,
    population_on_cells,
    unit_rule,
)
from calibstat.generators.base import Population, SyntheticModel, population_of
from calibstat.generators.beta import BetaPredictions, beta_borders, beta_density, check_parameters
from calibstat.generators.recalibrations import Identity
from calibstat.generators.simplex_maps import Mixture, RowMap, SimplexMap, laws_of
from calibstat.lenses.base import Lens
from calibstat.lenses.relabel import Canonical


@final
@dataclass(frozen=True)
class DirichletPredictions(SyntheticModel):
    """Predictions p ~ Dirichlet(alpha); labels have the law r(p).

    For up to three classes true values are known canonically, for the top label, and through lenses that leave one
    class or two groups of classes. For `Mixture` with any number of classes they are known through lenses of the last
    kind, and canonically for total variation (a closed form). With `Identity` the model is calibrated, and every error
    is 0 through every lens.

    Parameters
    ----------
    alpha : (K,) floats
        In [0.05, 10^6].
    recalibration : callable
        The calibration function r: `Identity`, `Mixture`, `TemperatureShift`, `MatrixMap`, `PairSwap`, or any function
        of (m, K) rows.

    Examples
    --------
    >>> import calibstat as cs
    >>> from calibstat.generators import DirichletPredictions, Mixture
    >>> model = DirichletPredictions([1] * 10, Mixture(0.5, [1] + [0] * 9))
    >>> print(model.truth(cs.ECE()))
    0.45 (given the induced prediction; closed form)
    >>> round(float(model.truth(cs.ClassWise(0) | cs.ECE())), 10)
    0.45
    """

    alpha: Sequence[float]
    recalibration: RowMap = Identity()

    def __post_init__(self) -> None:
        parameters = tuple(float(each) for each in self.alpha)
        if len(parameters) < 2:
            raise ValueError(f"alpha is {self.alpha!r}, but at least two classes are needed.")
        keep(self, alpha=parameters)
        if isinstance(self.recalibration, SimplexMap):
            keep(self, recalibration=self.recalibration.within(parameters))
        check_parameters(self, *parameters)
        self.laws(np.vstack([np.eye(len(parameters)), np.full(len(parameters), 1 / len(parameters))]))

    def laws(self, rows: Floats) -> Floats:
        """Return r of rows (m, K)."""
        if isinstance(self.recalibration, Mixture) and len(self.recalibration.distribution) != rows.shape[1]:
            raise ValueError(f"{self.recalibration!r} must have as many classes as alpha, {rows.shape[1]}.")
        return laws_of(self.recalibration, rows)

    def rows(self, n: int, rng: np.random.Generator) -> Population:
        """Draw predictions."""
        if all(each == 1 for each in self.alpha):
            parts = rng.standard_exponential((n, len(self.alpha)))
        else:
            parts = rng.standard_gamma(self.alpha, (n, len(self.alpha)))
        total = np.einsum("ij->i", parts)
        if not total.all():  # all parts of a row underflowed
            parts[total == 0] = 1.0
            total[total == 0] = len(self.alpha)
        parts /= total[:, None]
        return population_of(parts, self.laws(parts))

    def population(self, lens: Lens, binning: Binning | None = None) -> Population:
        """Lay nodes over what can be seen through the lens."""
        groups = groups_of(lens, len(self.alpha))
        if len(self.alpha) == 2:
            return self._line(self.alpha, self.laws).population(lens, binning)
        if groups is not None and self._linear and len(groups) in (2, 3):
            known = self._line if len(groups) == 2 else ThreeClasses
            small = known(groups.sums(self.alpha), groups.law(self))
            return groups.lift(small.population(Canonical(), binning), self)
        if len(self.alpha) == 3:
            return ThreeClasses(self.alpha, self.laws, self._map).population(lens, binning)
        raise ValueError(
            f"{self!r} through {lens!r}: with {len(self.alpha)} classes true values are known for a Mixture looked at "
            "through ClassWise(c) or Partition(...) into two or three groups, and for its canonical total variation; "
            "pass n_samples=10**6 for a Monte Carlo value."
        )

    @property
    def calibrated(self) -> bool:
        """Whether r is the identity."""
        return isinstance(self.recalibration, Identity)

    def known(self, lens: Lens) -> Mapping[str, float]:
        """Total variation of a mixture through any fixed groups of classes (Widmann et al. 2019, Appendix)."""
        groups = groups_of(lens, len(self.alpha))
        if groups is None or not isinstance(self.recalibration, Mixture):
            return {}
        alpha, law = (np.array(groups.sums(each)) for each in (self.alpha, self.recalibration.distribution))
        # weight * sum_i E (law_i - p_i)^+ for p ~ Dirichlet(alpha), by incomplete beta functions
        rest = alpha.sum() - alpha
        mean_below = alpha / alpha.sum() * special.betainc(alpha + 1, rest, law)
        value = float(self.recalibration.weight * (law * special.betainc(alpha, rest, law) - mean_below).sum())
        both = (
            "ECE(binning=UniqueValues())",
            "ExpectedMiscalibration(binning=UniqueValues(), distance=TotalVariation())",
        )
        return dict.fromkeys(both, value)

    def calibration_function(self, probabilities: object, lens: Lens | None = None) -> Floats:
        """Return the chances given an induced prediction; NaN where it does not occur."""
        rows = np.asarray(probabilities, dtype=float)
        if lens is None or not lens.parts:
            both = np.stack([1 - rows, rows], axis=1) if rows.ndim == 1 else rows
            return self.laws(both) if rows.ndim == 2 else self.laws(both)[:, 1]
        return SyntheticModel.calibration_function(self, rows, lens)

    @property
    def _map(self) -> SimplexMap | None:
        return self.recalibration if isinstance(self.recalibration, SimplexMap) else None

    @property
    def _linear(self) -> bool:
        return isinstance(self.recalibration, Identity) or (self._map is not None and self._map.linear)

    @staticmethod
    def _line(alpha: Sequence[float], laws: RowMap) -> BetaPredictions:
        def event(p: Floats) -> Floats:
            return np.asarray(laws(np.stack([1 - p, p], axis=1)))[:, 1]

        return BetaPredictions(alpha[1], alpha[0], event)


# A lens that only adds up columns turns a Dirichlet law into the Dirichlet law of fixed groups of classes.


@dataclass(frozen=True, eq=False)
class ClassGroups:
    """The group of each class: codes (K,)."""

    codes: Ints

    def __len__(self) -> int:
        return int(self.codes.max()) + 1

    def sums(self, values: Sequence[float]) -> tuple[float, ...]:
        """Add up the values (K,) of each group: the sums of a Dirichlet law have a Dirichlet law again."""
        return tuple(np.bincount(self.codes, np.asarray(values, dtype=float)).tolist())

    def spread(self, rows: Floats, alpha: Sequence[float]) -> Floats:
        """Divide the probability of each group among its classes in proportion to `alpha`, their mean shares."""
        return rows[:, self.codes] * (np.asarray(alpha) / np.asarray(self.sums(alpha))[self.codes])

    def law(self, model: DirichletPredictions) -> Callable[[Floats], Floats]:
        """Return the calibration function of the groups, that of the average rows if the model's is linear."""

        def law(rows: Floats) -> Floats:
            chances = model.laws(self.spread(rows, model.alpha))
            return np.stack([chances[:, self.codes == group].sum(axis=1) for group in range(len(self))], axis=1)

        return law

    def lift(self, population: Population, model: DirichletPredictions) -> Population:
        """Turn a population of groups into one of all classes that looks the same through the lens."""
        rows = self.spread(population.predictions.probabilities, model.alpha)
        mass, pooled, method = population.predictions.weights, population.pooled, population.method
        return population_of(rows, model.laws(rows), mass, pooled=pooled, method=method)


def groups_of(lens: Lens, n_classes: int) -> ClassGroups | None:
    """Return the groups that a lens makes of the classes, or None if it does more than adding up columns."""
    view = lens.look(probe(n_classes))
    if view.rows is not None or view.predictions.given != (...,):
        return None
    if view.codes is None:
        return ClassGroups(np.arange(n_classes))
    return ClassGroups(np.asarray(view.codes[0], dtype=np.intp)) if len(view.codes) == 1 else None


def probe(n_classes: int) -> Predictions:
    """Return rows all over the simplex, to find out what a lens does."""
    steps = np.arange(1, 65)[:, None] * np.sqrt(np.arange(2, n_classes + 2) + 0.3)
    rows = -np.log(steps % 1)
    return Predictions(rows / rows.sum(axis=1, keepdims=True), tuple(range(n_classes)))


# Populations of three classes: nodes on the triangle of predictions.

_N_NODES = 8


@dataclass(frozen=True, eq=False)
class ThreeClasses:
    """Three classes with a Dirichlet law; `recalibration` maps rows to chances; `jumps` is the map with known jumps."""

    alpha: Sequence[float]
    recalibration: RowMap
    jumps: SimplexMap | None = None

    def population(self, lens: Lens, binning: Binning | None) -> Population:
        """Lay nodes: along one induced probability where the lens leaves one, else over the whole triangle."""
        breakings = self._along(lens)
        if breakings:
            known = np.concatenate([_borders_of_all(breakings), self._kinks(lens, breakings), self._jumps(breakings)])
            return population_on_cells(lambda further: self._nodes(breakings, known, further), lens, binning)
        if binning is not None:
            raise ValueError(
                f"the limit on the cells of {binning!r} is not known for continuous predictions of three classes; look "
                "through ClassWise(c), Partition(...) into two groups or TopLabel() first, or ask for the truth."
            )
        first = StickBreaking(self.alpha, 0 if self.jumps is None else self.jumps.first)
        known = np.concatenate([first.borders(), self._first_crossings(first), self._jumps([first])])
        rows, mass = self._over([first], distinct(known), self._laws)
        view = lens.look(Predictions(np.full((3, 3), 1 / 3), (0, 1, 2)))
        return self._population(rows, mass, pooled=view.codes is None)

    def _along(self, lens: Lens) -> list[StickBreaking]:
        """Return the breakings whose first piece is the induced probability, if there is a single one."""
        groups = groups_of(lens, 3)
        if groups is not None and len(groups) == 2:
            alone = next(k for k in range(3) if (groups.codes == groups.codes[k]).sum() == 1)
            return [StickBreaking(self.alpha, alone)]
        return [StickBreaking(self.alpha, k, top=True) for k in range(3)] if _is_top_label(lens) else []

    def _laws(self, rows: Floats) -> Floats:
        return laws_of(self.recalibration, rows)

    def _kinks(self, lens: Lens, breakings: Sequence[StickBreaking]) -> Floats:
        """Find the induced probabilities where the mean deviation changes sign or is largest."""

        def deviation(odds: Floats) -> Floats:
            rows, mass, index = joined_nodes(breakings, odds)
            view = lens.look(Predictions(rows, (0, 1, 2)))
            gaps = view.chances(self._laws(rows))[:, 1] - view.predictions.event
            total = np.bincount(index, mass, minlength=len(odds))
            mean = np.bincount(index, mass * gaps, minlength=len(odds))
            return ratio(mean, total)

        return critical_points(deviation, panels(distinct(_borders_of_all(breakings)), 4)[0])

    def _first_crossings(self, first: StickBreaking) -> Floats:
        """Find where, along x, a chance crosses its prediction at the ends and in the middle of u."""
        found = [np.empty(0)]
        grid = panels(first.borders(), 4)[0]
        for share in logit(np.array([SAME, 0.5, 1 - SAME])):
            for k in range(3):

                def gap(odds: Floats, share: float = float(share), k: int = k) -> Floats:
                    rows = first._rows(odds, np.full(len(odds), share))
                    return (self._laws(rows) - rows)[:, k]

                found.append(critical_points(gap, grid))
        return np.concatenate(found)

    def _jumps(self, breakings: Sequence[StickBreaking]) -> Floats:
        if self.jumps is None or all(each.first != self.jumps.first for each in breakings):
            return np.empty(0)
        return logit(np.array(self.jumps.jumps))

    def _nodes(self, breakings: Sequence[StickBreaking], known: Floats, further: Borders) -> Population:
        extra = logit(further.get(..., np.empty(0)))
        extra = np.concatenate([extra, -extra])  # the induced event may be the stick or the rest
        extra = extra[(extra > known.min()) & (extra < known.max())]
        rows, mass = self._over(breakings, distinct(np.concatenate([known, extra])), None)
        return self._population(rows, mass, pooled=True)

    def _over(self, breakings: Sequence[StickBreaking], borders: Floats, laws: RowMap | None) -> tuple[Floats, Floats]:
        odds, widths = panels(borders, _N_NODES)
        rows, mass, index = joined_nodes(breakings, odds, laws)
        return rows, mass * widths[index]

    def _population(self, rows: Floats, mass: Floats, *, pooled: bool) -> Population:
        kept = mass > 0
        method = f"quadrature over the triangle, {int(kept.sum())} nodes (a maximum is over these)"
        return population_of(rows[kept], self._laws(rows[kept]), mass[kept], pooled=pooled, method=method)


def _borders_of_all(breakings: Sequence[StickBreaking]) -> Floats:
    borders = np.concatenate([each.borders() for each in breakings])
    if not breakings[0].top:
        return borders
    least = float(logit(np.array(1 / 3)))
    return np.concatenate([[least, 0.0], borders[borders > least]])


def _is_top_label(lens: Lens) -> bool:
    rows = probe(3)
    view = lens.look(rows)
    if view.rows is not None or view.predictions.n_classes != 2 or view.predictions.given != (...,):
        return False
    return bool(np.array_equal(view.predictions.event, rows.probabilities.max(axis=1)))


# Quadrature over predictions of three classes by stick-breaking: one class has the probability x ~ Beta, and the second
# a share u ~ Beta of the rest. Nodes with the same x are exactly equal for a lens that sees that class alone.

_FINE = logit(np.arange(1, 16) / 16)


@dataclass(frozen=True, eq=False)
class StickBreaking:
    """Nodes for Dirichlet(alpha) in which the class `first` is broken off first.

    With `top`, they cover only the rows in which that class is the most probable.
    """

    alpha: Sequence[float]
    first: int
    top: bool = False

    @property
    def others(self) -> tuple[int, int]:
        """The two other classes."""
        second, third = (k for k in range(3) if k != self.first)
        return second, third

    def borders(self) -> Floats:
        """Return log-odds of x that resolve its law."""
        own = self.alpha[self.first]
        return distinct(np.concatenate([beta_borders(own, sum(self.alpha) - own), _FINE]))

    def nodes(self, odds: Floats, laws: RowMap | None = None) -> tuple[Floats, Floats, Ints]:
        """Lay nodes for u at each x, given by its log-odds (m,).

        With `laws`, which maps rows to chances, panels are bisected where a chance crosses its prediction. The method
        returns rows (N, 3), their density in the log-odds of x, and the index of the x of each.
        """
        a, b = (self.alpha[k] for k in self.others)
        base = distinct(np.concatenate([beta_borders(a, b), _FINE]))
        low, high = self._range(odds)
        borders = np.clip(base, low[:, None], high[:, None])
        owner = np.repeat(np.arange(len(odds)), borders.shape[1])
        places = borders.ravel()
        if laws is not None:
            crossing, where = self._crossings(odds, borders, laws)
            owner, places = np.concatenate([owner, crossing]), np.concatenate([places, where])
        index, shares, widths = _ragged_panels(owner, places)
        density = beta_density(self.alpha[self.first], a + b, odds)[index] * beta_density(a, b, shares)
        return self._rows(odds[index], shares), density * widths, index

    def _range(self, odds: Floats) -> tuple[Floats, Floats]:
        """Return the range of the log-odds of u; with `top`, the part where the first class is the most probable."""
        a, b = (self.alpha[k] for k in self.others)
        ends = beta_borders(a, b)
        low, high = np.full(len(odds), ends.min()), np.full(len(odds), ends.max())
        if not self.top:
            return low, high
        most = np.exp(np.minimum(odds, 0.0))  # the largest share is x / (1 - x)
        edge = np.where(most < 1, logit(most), np.inf)
        return np.maximum(low, -edge), np.minimum(high, edge)

    def _rows(self, odds: Floats, shares: Floats) -> Floats:
        rows = np.empty((len(odds), 3))
        rest = expit(-odds)
        second, third = self.others
        rows[:, self.first] = expit(odds)
        rows[:, second] = rest * expit(shares)
        rows[:, third] = rest * expit(-shares)
        return rows

    def _crossings(self, odds: Floats, borders: Floats, laws: RowMap) -> tuple[Array, Floats]:
        """Find, at each x, the u where the chance of some class crosses its prediction."""
        m, n = borders.shape
        owner = np.repeat(np.arange(m), n)

        def gaps(which: Array, shares: Floats) -> Floats:
            rows = self._rows(odds[which], shares)
            return laws(rows) - rows

        signs = np.sign(gaps(owner, borders.ravel())).reshape(m, n, 3)
        x, panel, k = np.nonzero((signs[:, :-1] * signs[:, 1:] < 0) & (np.diff(borders, axis=1) > 0)[..., None])
        found = bisected(
            lambda middle: np.sign(gaps(x, middle)[np.arange(len(x)), k]),
            borders[x, panel],
            borders[x, panel + 1],
            signs[x, panel, k],
        )
        return x, found


def _ragged_panels(owner: Array, places: Floats) -> tuple[Ints, Floats, Floats]:
    """Return owners, nodes and weights of a rule on each panel between neighbouring places of one owner."""
    order = np.lexsort((places, owner))
    owner, places = owner[order], places[order]
    real = (owner[:-1] == owner[1:]) & (np.diff(places) > 1e-14)
    starts, widths = places[:-1][real], np.diff(places)[real]
    unit, weights = unit_rule(_N_NODES)
    nodes = starts[:, None] + widths[:, None] * unit
    return np.repeat(owner[:-1][real], _N_NODES), nodes.ravel(), (widths[:, None] * weights).ravel()


def joined_nodes(
    breakings: Sequence[StickBreaking], odds: Floats, laws: RowMap | None = None
) -> tuple[Floats, Floats, Ints]:
    """Join the nodes of several classes at the same x."""
    parts = [each.nodes(odds, laws) for each in breakings]
    rows, mass, index = (np.concatenate(column) for column in zip(*parts, strict=True))
    return rows, mass, index
