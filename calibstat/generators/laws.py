"""Laws that every synthetic model must keep, run on a model of your own.

Every check can fail: rows must be laws, masses must sum to one, drawn labels must have the chances of the population,
and values on the population must be those of a large sample.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from scipy import special

from calibstat._text import counted
from calibstat.binnings.base import borders
from calibstat.binnings.intervals import EqualWidth
from calibstat.data.arrays import RNG, Floats, Ints, as_generator
from calibstat.data.rounding import SAME
from calibstat.data.sample import Predictions, Sample
from calibstat.estimators.base import Estimator, all_weights
from calibstat.generators.base import MONTE_CARLO_BLOCKS, Population, SyntheticModel, evaluate, on_own_cells
from calibstat.lenses.base import Lens
from calibstat.lenses.relabel import Canonical

_N_CELLS = 16
_LEAST_EXPECTED = 5.0


def check_generator(
    model: SyntheticModel,
    lenses: Iterable[Lens] = (Canonical(),),
    estimators: Sequence[Estimator] = (),
    *,
    n: int = 100_000,
    rng: RNG = 0,
) -> None:
    """Check a synthetic model; authors call it in their tests.

    Parameters
    ----------
    model : SyntheticModel
    lenses : iterable of Lens
        Lenses through which drawn labels are compared with the population.
    estimators : sequence of Estimator
        Estimators without a lens. The limit of each, through each lens, is compared with its value on random rows with
        known chances.
    n : int
        Number of rows to draw.
    rng : int, numpy Generator or None
        The same number gives the same verdict.

    Raises
    ------
    AssertionError
        If the model breaks a law; the message says which.
    """
    generator = as_generator(rng)
    _check_rows(model, n, generator)
    _check_streams(model)
    for lens in lenses:
        _check_population(model.population(lens))
        _check_labels(model, lens, n, generator)
        for estimator in estimators:
            _check_limit(model, lens | estimator, n, generator)


def _require(holds: bool, text: str) -> None:
    if not holds:
        raise AssertionError(text)


def _check_rows(model: SyntheticModel, n: int, rng: np.random.Generator) -> None:
    drawn = model.rows(n, rng)
    _require(len(drawn) == n, f"rows({n}) returned {counted(len(drawn), 'row')}")
    _check_laws(drawn, "rows")
    if model.calibrated:
        same = np.allclose(drawn.chances, drawn.predictions.chances, rtol=0, atol=SAME)
        _require(same, "calibrated: it is True, but in some rows the chances are not the predictions")


def _check_streams(model: SyntheticModel) -> None:
    first, again, other = (model.sample(1000, rng=seed) for seed in (1, 1, 2))
    _require(np.array_equal(first.y_prob, again.y_prob), "sample: the same rng gives other predictions")
    _require(np.array_equal(first.outcomes, again.outcomes), "sample: the same rng gives other labels")
    same = np.array_equal(first.outcomes, other.outcomes) and np.array_equal(first.y_prob, other.y_prob)
    spread = bool(((first.y_prob > 0) & (first.y_prob < 1)).any())
    _require(not (same and spread), "sample: another rng gives the same sample")


def _check_population(population: Population) -> None:
    weights = population.predictions.weights
    _require(weights is not None, "population: masses are missing (predictions.weights)")
    if weights is not None:
        _require(bool((weights >= 0).all()), "population: a mass is negative")
        _require(abs(weights.sum() - 1) < SAME, f"population: masses sum to {weights.sum()!r}, not to 1")
    _check_laws(population, "population")


def _check_laws(population: Population, where: str) -> None:
    for name, rows in (("predictions", population.predictions.probabilities), ("chances", population.chances)):
        _require(rows.shape == population.predictions.probabilities.shape, f"{where}: {name} have shape {rows.shape}")
        _require(bool((rows >= 0).all()), f"{where}: {name} are negative or not numbers")
        _require(bool((np.abs(rows.sum(axis=1) - 1) < SAME).all()), f"{where}: {name} do not sum to one")


def _check_labels(model: SyntheticModel, lens: Lens, n: int, rng: np.random.Generator) -> None:
    """Compare counts of (cell of the induced prediction, induced label) with the population by chi-square."""
    seen = lens(_independent(model.sample(n, rng), rng))
    n_classes = seen.predictions.n_classes
    one_column = len(seen.predictions.keys) == 1 and not seen.predictions.column(seen.predictions.keys[0]).categorical
    population = model.population(lens, EqualWidth(_N_CELLS) if one_column else None)
    listed = lens.look(population.predictions)
    laws = listed.chances(population.chances) * all_weights(listed.predictions, None)[:, None]
    span = borders(listed.predictions) if one_column else (0.0, 1.0)
    place = _cells(listed.predictions, span)
    columns = [np.bincount(place, column, minlength=_N_CELLS * n_classes) for column in laws.T]
    expected = np.stack(columns, axis=1).ravel()
    cells = _cells(seen.predictions, span)
    counts = np.bincount(cells * n_classes + seen.outcomes, minlength=len(expected))
    pvalue = chi_square_pvalue(counts, expected * (len(seen) / expected.sum()))
    _require(pvalue > 1e-5, f"{lens!r}: drawn labels do not have the chances of the population (p = {pvalue:.2g})")


def _independent(sample: Sample, rng: np.random.Generator) -> Sample:
    """Return all rows, or a random one of each cluster."""
    if sample.groups is None:
        return sample
    order = rng.permutation(len(sample))
    return sample.take(order[np.unique(sample.groups.codes[order], return_index=True)[1]])


def _cells(predictions: Predictions, span: tuple[float, float]) -> Ints:
    """Cut one conditioned column, or several by the most probable class and its probability."""
    rows = predictions.probabilities
    inner = np.linspace(*span, _N_CELLS + 1)[1:-1]
    if len(predictions.keys) == 1:
        return np.searchsorted(inner, predictions.conditioned[:, 0], side="right")
    return rows.argmax(axis=1) * _N_CELLS + np.searchsorted(inner, rows.max(axis=1), side="right")


def chi_square_pvalue(counts: Ints, expected: Floats) -> float:
    """Return Pearson's p-value; classes with fewer than five expected are put together."""
    rare = expected < _LEAST_EXPECTED
    enough = expected[rare].sum() >= _LEAST_EXPECTED  # otherwise they join the largest class
    home = np.where(rare, np.argmax(rare if enough else expected), np.arange(len(expected)))
    observed, theory = (np.bincount(home, each)[np.unique(home)] for each in (counts, expected))
    statistic = float(((observed - theory) ** 2 / theory).sum())
    return float(special.chdtrc(len(theory) - 1, statistic)) if len(theory) > 1 else 1.0


def _check_limit(model: SyntheticModel, estimator: Estimator, n: int, rng: np.random.Generator) -> None:
    fixed, _ = on_own_cells(estimator)
    limit, value = float(model.limit(estimator)), float(evaluate(fixed, model.rows(n, rng)))
    blocks = [float(evaluate(fixed, model.rows(n // MONTE_CARLO_BLOCKS, rng))) for _ in range(MONTE_CARLO_BLOCKS)]
    error = float(np.std(blocks, ddof=1) / np.sqrt(MONTE_CARLO_BLOCKS))
    # The bias of blocks is several times that of all rows, so that the difference of the two bounds the latter.
    allowed = 5 * error + abs(float(np.mean(blocks)) - value) + 1e-9
    _require(
        abs(value - limit) <= allowed,
        f"{estimator!r}: the limit is {limit:.6g}, but {n} random rows give {value:.6g} +- {error:.2g}",
    )
