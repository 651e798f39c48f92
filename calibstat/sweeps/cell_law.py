"""Sums over cells drawn whole: the cost of a repeat does not grow with n.

Numbers of rows and of events have their exact law (up to the table of quantiles, for cells of equal mass). Sums of
predictions and of squared residuals, given these, are drawn as normal with the right means and covariance: a sum of k
variables in a cell of width w is thereby moved by at most about w on average, whatever k is (Goldstein 2010).
"""

from __future__ import annotations

import numpy as np

from calibstat.arrays import Array, Floats
from calibstat.binnings.fixed_edges import FixedEdges
from calibstat.estimators.tally import ratio
from calibstat.generators.base import SyntheticModel
from calibstat.generators.spacings import N_LEVELS, QuantileTable, quantile_table
from calibstat.lenses.canonical import Canonical
from calibstat.resampling.moments import Moments
from calibstat.resampling.power_sums import PowerSums, degree_for, power_terms
from calibstat.sweeps.nested import COUNT, HAPPENED, PREDICTED, SQUARE, Cuts


class CellLaw:
    """What is known of the predictions of a model between any two borders.

    Parameters
    ----------
    model : SyntheticModel
        Of two classes; knows the quantiles of its predictions, all different.
    """

    def __init__(self, model: SyntheticModel) -> None:
        self.model = model
        self.table = quantile_table(model)
        if not (np.diff(self.table.score) > 0).all():
            raise ValueError(
                f"{model!r} has equal predictions (or such that floats cannot tell apart), which cells of equal mass "
                "keep together: take draws='rows'."
            )
        self._below: dict[int, Floats] = {}
        self._between: dict[tuple[bytes, int], Moments] = {}

    def draw(self, cuts: Cuts, n_repeats: int, rng: np.random.Generator) -> Floats:
        """Draw sums below borders, (n_repeats, 4, borders), as `Cuts.sums` returns them for each data set."""
        ranks = len(cuts.ranks)
        sums = np.empty((n_repeats, 4, cuts.size))
        self._by_rank(cuts, sums[..., :ranks], rng)
        self._by_edge(cuts, sums[..., ranks:], rng)
        return sums

    def _by_edge(self, cuts: Cuts, sums: Floats, rng: np.random.Generator) -> None:
        """Draw cells between fixed edges: a multinomial over cells and outcomes."""
        law = self._between_edges(cuts)
        shares = np.concatenate([law.rows - law.events, law.events])
        counts = rng.multinomial(cuts.n, shares / shares.sum(), len(sums))
        happened = counts[:, len(law.rows) :]
        rows = counts[:, : len(law.rows)] + happened
        _run(sums, rows, happened, *law.draw(rows, happened, rng, cuts.squares))

    def _between_edges(self, cuts: Cuts) -> Moments:
        """Add up a population over each cell, by quadrature; the cells are the same for each n."""
        degree = degree_for(cuts.squares)
        key = cuts.edges.tobytes(), degree
        if key not in self._between:
            binning = FixedEdges(np.concatenate([[0.0], cuts.edges, [1.0]]))
            rows = self.model.population(Canonical(), binning)
            index, event = binning.cut(rows.predictions).index, rows.predictions.event
            mass = np.ones(len(rows)) if rows.predictions.weights is None else rows.predictions.weights
            terms = [mass, *(mass * term for term in power_terms(event, rows.chances[:, 1], degree))]
            sums = np.array([np.bincount(index, term, len(cuts.edges) + 1) for term in terms])
            self._between[key] = Moments.from_sums(PowerSums(sums, same=False))
        return self._between[key]

    def _by_rank(self, cuts: Cuts, sums: Floats, rng: np.random.Generator) -> None:
        """Draw cells between ranks: order statistics of uniform levels, then what lies between them.

        The row just below each inner border is at the border's level; the others are anywhere between two levels.
        """
        gaps = np.diff(cuts.ranks)
        last = np.arange(len(gaps)) == len(gaps) - 1
        places = np.zeros((len(sums), len(cuts.ranks)))
        np.cumsum(rng.standard_gamma(gaps + last, (len(sums), len(gaps))), axis=-1, out=places[:, 1:])
        places *= N_LEVELS / places[:, -1:]
        law = Moments.from_sums(self._between_places(places, degree_for(cuts.squares)))
        free = gaps - ~last
        happened = rng.binomial(free, np.minimum(ratio(law.events, law.rows), 1))
        prediction, square = law.draw(free, happened, rng, cuts.squares)
        score, chance = self.table.at(places[:, 1:-1])
        event = rng.random(score.shape) < chance
        happened[:, :-1] += event
        prediction[:, :-1] += score
        if cuts.squares:
            square[:, :-1] += (event - score) ** 2
        _run(sums, gaps, happened, prediction, square)

    def _between_places(self, places: Floats, degree: int) -> PowerSums:
        """Integrate between neighbouring places (lanes, borders) in [0, N_LEVELS], increasing in each lane."""
        if degree not in self._below:
            self._below[degree] = _integrals(self.table, degree)
        below = self._below[degree]
        whole = np.minimum(places.astype(np.intp), N_LEVELS - 1)
        low = below.take(whole, axis=0)
        step = below.take(whole + 1, axis=0)
        step -= low
        step *= (places - whole)[..., None]
        step += low
        between = np.diff(step, axis=1)
        return PowerSums(np.maximum(np.moveaxis(between, -1, 0), 0, order="C"), self.table.calibrated)


def _integrals(table: QuantileTable, degree: int) -> Floats:
    """Integrate the terms of `PowerSums` over levels below each level: (N_LEVELS + 1, k).

    Scores and chances are straight between levels (Simpson).
    """
    score, chance = table.score, table.score if table.calibrated else table.chance
    ends = [np.ones(len(score)), *power_terms(score, chance, degree)]
    middle = (score[1:] + score[:-1]) / 2
    inner = middle if table.calibrated else (chance[1:] + chance[:-1]) / 2
    middles = [np.ones(len(middle)), *power_terms(middle, inner, degree)]
    found = np.zeros((len(score), len(ends)))
    for column, (end, mid) in enumerate(zip(ends, middles, strict=True)):
        np.cumsum((end[:-1] + 4 * mid + end[1:]) / (6 * N_LEVELS), out=found[1:, column])
    return found


def _run(sums: Floats, rows: Array, happened: Array, prediction: Floats, square: Floats) -> None:
    """Add up cells (lanes, cells) to sums below borders (lanes, 4, borders)."""
    sums[..., 0] = 0
    for which, cells in ((COUNT, rows), (PREDICTED, prediction), (HAPPENED, happened)):
        np.cumsum(np.broadcast_to(cells, happened.shape), axis=-1, out=sums[:, which, 1:])
    if square.size:
        np.cumsum(square, axis=-1, out=sums[:, SQUARE, 1:])
    else:
        sums[:, SQUARE] = np.nan
