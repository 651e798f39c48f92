"""Sums over cells drawn whole: the cost of a repeat does not grow with n.

Numbers of rows and of events have their exact law (up to the table of quantiles, for cells of equal mass). Sums of
predictions and of squared residuals, given these, are drawn as normal with the right means and covariance: a sum of k
variables in a cell of width w is thereby moved by at most about w on average, whatever k is (Goldstein 2010).
"""

from __future__ import annotations

import numpy as np

from calibstat.arrays import Array, Floats
from calibstat.binnings.fixed_edges import FixedEdges
from calibstat.generators.base import SyntheticModel
from calibstat.generators.spacings import N_LEVELS, quantile_table
from calibstat.lenses.canonical import Canonical
from calibstat.sweeps.nested import COUNT, HAPPENED, PREDICTED, SQUARE, Cuts

_POWERS = 5


class CellLaw:
    """What is known of the predictions of a model between any two borders.

    Parameters
    ----------
    model : SyntheticModel
        Of two classes; knows the quantiles of its predictions, all different.

    Attributes
    ----------
    below : (N_LEVELS + 1, 2, 5) floats
        For rows without and with the event: the integrals of p^0, ..., p^4 over all levels below each level.
    """

    def __init__(self, model: SyntheticModel) -> None:
        self.model = model
        self.table = quantile_table(model)
        if not (np.diff(self.table.score) > 0).all():
            raise ValueError(
                f"{model!r} has equal predictions (or such that floats cannot tell apart), which cells of equal mass "
                "keep together: take draws='rows'."
            )
        self.below = _integrals(self.table.score, self.table.chance)
        self.known: dict[bytes, Floats] = {}

    def draw(self, cuts: Cuts, n_repeats: int, rng: np.random.Generator) -> Floats:
        """Draw sums below borders, (n_repeats, 4, borders), as `Cuts.sums` returns them for each data set."""
        return np.concatenate([self._by_rank(cuts, n_repeats, rng), self._by_edge(cuts, n_repeats, rng)], axis=-1)

    def _by_edge(self, cuts: Cuts, n_repeats: int, rng: np.random.Generator) -> Floats:
        """Draw cells between fixed edges: a multinomial over cells and outcomes."""
        moments = self._between_edges(cuts.edges)
        mass = moments[:, 0].ravel()
        counts = rng.multinomial(cuts.n, mass / mass.sum(), n_repeats).reshape(n_repeats, 2, -1)
        return _running(_sums(np.moveaxis(counts, 1, 0), moments[:, :, None], rng))

    def _between_edges(self, edges: Floats) -> Floats:
        """Return the integrals (2, 5, cells) of p^0, ..., p^4 over each cell, by quadrature."""
        key = edges.tobytes()
        if key not in self.known:
            binning = FixedEdges(np.concatenate([[0.0], edges, [1.0]]))
            rows = self.model.population(Canonical(), binning)
            index, event = binning.cut(rows.predictions).index, rows.predictions.event
            mass = np.ones(len(rows)) if rows.predictions.weights is None else rows.predictions.weights
            powers = [mass * event**power for power in range(_POWERS)]
            self.known[key] = np.array(
                [[np.bincount(index, chance * each, len(edges) + 1) for each in powers] for chance in rows.chances.T]
            )
        return self.known[key]

    def _by_rank(self, cuts: Cuts, n_repeats: int, rng: np.random.Generator) -> Floats:
        """Draw cells between ranks: order statistics of uniform levels, then what lies between them.

        The row just below each inner border is at the border's level; the others are anywhere between two levels.
        """
        gaps = np.diff(cuts.ranks)
        shapes = gaps + (np.arange(len(gaps)) == len(gaps) - 1)
        reached = np.cumsum(rng.standard_gamma(shapes, (n_repeats, len(gaps))), axis=-1)
        places = np.zeros((n_repeats, len(gaps) + 1))
        places[:, 1:] = reached * (N_LEVELS / reached[:, -1:])
        moments = np.maximum(np.diff(self._up_to(places)), 0)
        free = gaps - (np.arange(len(gaps)) < len(gaps) - 1)
        mass = moments[:, 0].sum(axis=0)
        chance = np.divide(moments[1, 0], mass, out=np.zeros_like(mass), where=mass > 0)
        happened = rng.binomial(free, np.minimum(chance, 1))
        cells = _sums(np.stack([free - happened, happened]), moments, rng)
        score, law = self.table.at(places[:, 1:-1])
        event = rng.random(score.shape) < law
        cells[..., :-1] += np.stack([np.ones_like(score), score, event, (event - score) ** 2], axis=1)
        return _running(cells)

    def _up_to(self, places: Floats) -> Floats:
        """Return the integrals (2, 5, ...) up to places (...) in [0, N_LEVELS]."""
        whole = np.minimum(places.astype(np.intp), N_LEVELS - 1)
        low = self.below[whole]
        found = low + (self.below[whole + 1] - low) * (places - whole)[..., None, None]
        return np.moveaxis(found, (-2, -1), (0, 1))


def _integrals(score: Floats, chance: Floats) -> Floats:
    """Integrate p^k times the chance of either outcome over levels; both are straight between levels (Simpson)."""
    middle, law = (score[1:] + score[:-1]) / 2, (chance[1:] + chance[:-1]) / 2
    found = np.zeros((len(score), 2, _POWERS))
    for outcome, (ends, inner) in enumerate([(1 - chance, 1 - law), (chance, law)]):
        for power in range(_POWERS):
            values = score**power * ends
            thirds = values[:-1] + 4 * middle**power * inner + values[1:]
            np.cumsum(thirds / (6 * N_LEVELS), out=found[1:, outcome, power])
    return found


def _running(cells: Floats) -> Floats:
    """Return the sums of the first 0, 1, ... cells."""
    found = np.zeros((*cells.shape[:-1], cells.shape[-1] + 1))
    np.cumsum(cells, axis=-1, out=found[..., 1:])
    return found


def _sums(counts: Array, moments: Floats, rng: np.random.Generator) -> Floats:
    """Draw the four sums (..., 4, cells) given the counts of outcomes in each cell.

    Parameters
    ----------
    counts : (2, ..., cells) ints
        Rows without and with the event.
    moments : (2, 5, ..., cells) floats
        Integrals of p^0, ..., p^4 over the cell, for each outcome.
    rng : numpy Generator
    """
    mean, square_mean, variance, covariance, square_variance = _of_one_row(moments)
    total, square_total = (np.maximum((counts * each).sum(axis=0), 0) for each in (variance, square_variance))
    both = (counts * covariance).sum(axis=0)
    deviation = np.sqrt(total)
    slope = np.divide(both, deviation, out=np.zeros_like(both), where=deviation > 0)
    rest = np.sqrt(np.maximum(square_total - slope**2, 0))
    first, second = rng.standard_normal((2, *both.shape))
    found = np.empty((*both.shape[:-1], 4, both.shape[-1]))
    found[..., COUNT, :], found[..., HAPPENED, :] = counts.sum(axis=0), counts[1]
    found[..., PREDICTED, :] = (counts * mean).sum(axis=0) + deviation * first
    found[..., SQUARE, :] = (counts * square_mean).sum(axis=0) + slope * first + rest * second
    return found


def _of_one_row(moments: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Return the means of prediction and squared residual; then variance, covariance, and variance of the second.

    The squared residual is p^2 where nothing happened and 1 - 2p + p^2 where it did: p^2 + shift p + constant.
    """
    mass = moments[:, :1]
    mean = np.moveaxis(np.divide(moments, mass, out=np.zeros_like(moments), where=mass > 0), 1, 0)
    _, one, two, three, four = mean
    happened = np.array([0.0, 1.0]).reshape(2, *[1] * (one.ndim - 1))
    shift = -2 * happened
    variance, cross, spread = two - one**2, three - one * two, four - two**2
    square_mean = two + shift * one + happened
    return one, square_mean, variance, cross + shift * variance, spread + 2 * shift * cross + shift**2 * variance
