"""The numbers of a reliability diagram: its cells, the noise in each and in all, and how rows spread along the axis."""

from __future__ import annotations

from typing import final

import numpy as np
from scipy.special import ndtri

from calibstat._dataclass import dataclass
from calibstat.binnings.base import Binning, Cells
from calibstat.data.arrays import Array, Bools, Floats, effective_number
from calibstat.data.parameters import LEVEL
from calibstat.data.rounding import ROUNDING
from calibstat.data.sample import Predictions, Sample
from calibstat.displays._from_samples import rank_of_limit
from calibstat.displays._probability_axis import NEAREST, Scale, crowds, off_scale, on_scale
from calibstat.draws.poisson_binomial import counts_in
from calibstat.estimators.base import all_weights
from calibstat.estimators.histogram import HistogramRegression
from calibstat.estimators.tally import ratio
from calibstat.inference.estimate import redrawn
from calibstat.lenses.base import Lens

_STRIP_CELLS, _FINER = 48, 10
_TINY = 1e-4  # numbers below are written in powers of ten


@final
@dataclass(frozen=True, eq=False)
class CellAxis:
    """The axis along which cells are placed.

    `position` (L,) is the mean of the conditioned column in each cell, or 0, 1, 2, ... for named categories; `event` is
    what the probability is of; `scale` is the one that shows most, and `rows` are the (edges, counts) of the strip on
    each scale. `over_prediction` is False where a variable is conditioned on, and `top` is True for confidences.
    """

    position: Floats
    variable: str | None
    event: str
    top: bool
    scale: Scale
    rows: dict[str, tuple[Floats, Floats]]
    range: tuple[float, float]
    categories: tuple[str, ...] | None = None

    @property
    def over_prediction(self) -> bool:
        """Whether the axis is that of the predicted probability."""
        return self.variable is None

    def take(self, kept: Bools, count: Floats) -> CellAxis:
        """Return the axis of the kept cells (L,); categories are numbered anew."""
        if self.categories is None:
            return self._with(self.position[kept], None, self.rows)
        names = tuple(name for name, stays in zip(self.categories, kept, strict=True) if stays)
        edges = np.sort(np.concatenate([np.arange(len(names)) - 0.3, np.arange(len(names)) + 0.3]))
        counts = np.zeros(2 * len(names) - 1)
        counts[::2] = count[kept]
        return self._with(np.arange(len(names), dtype=float), names, {"linear": (edges, counts)})

    def _with(
        self, position: Floats, names: tuple[str, ...] | None, rows: dict[str, tuple[Floats, Floats]]
    ) -> CellAxis:
        span = self.range if names is None else (-0.5, len(names) - 0.5)
        return CellAxis(position, self.variable, self.event, self.top, self.scale, rows, span, names)


def cell_axis(predictions: Predictions, cells: Cells) -> CellAxis:
    """Return the axis for the cells of one conditioned column; refuse several columns."""
    if len(predictions.keys) != 1:
        raise ValueError(
            f"a diagram has one axis, but {len(predictions.keys)} columns are conditioned on "
            f"({predictions.condition}); condition on one of them, for example Given('age')."
        )
    key, event = predictions.keys[0], str(predictions.classes[-1])
    variable = key if isinstance(key, str) else None
    top = bool(predictions.seen) or predictions.classes == ("other", "top")
    weights = np.ones(len(predictions)) if predictions.weights is None else predictions.weights
    scale: Scale = "logit" if crowds(predictions.event, weights) and variable is None else "linear"
    if cells.names is not None:
        span = (0.0, 0.0)
        return CellAxis(np.arange(cells.size, dtype=float), variable, event, top, scale, {}, span, cells.names)
    values = predictions.column(key).values
    mass = np.bincount(cells.index, weights, minlength=cells.size)
    position = ratio(np.bincount(cells.index, weights * values, minlength=cells.size), mass, empty=np.nan)
    rows = {"linear": histogram(values, weights, "linear")} if variable else histograms(values, weights)
    held = values[weights > 0]
    low, high = np.quantile(held, [0.002, 0.998])
    return CellAxis(position, variable, event, top, scale, rows, (float(low), float(high)))


def histograms(probabilities: Floats, weights: Floats) -> dict[str, tuple[Floats, Floats]]:
    """Return edges and weights of the strip on each scale."""
    return {"linear": histogram(probabilities, weights, "linear"), "logit": histogram(probabilities, weights, "logit")}


def histogram(values: Floats, weights: Floats, scale: Scale) -> tuple[Floats, Floats]:
    """Return edges and weights of equally wide cells along a scale; on a logit scale `strip` makes fewer of them.

    On a logit scale the first cell holds the rows at 0, and the last those at 1: where these lie depends on the axis.
    """
    inside = weights > 0
    if scale == "logit":
        at_ends = [weights[values <= NEAREST].sum(), weights[values >= 1 - NEAREST].sum()]
        inside &= (values > NEAREST) & (values < 1 - NEAREST)
        kept = values[inside] if inside.any() else np.array([0.5])
        low, high = np.quantile(kept, [0.002, 0.998])
        values = np.clip(values, low, high)
    else:
        low, high = values[inside].min(), values[inside].max()
    places = on_scale(values[inside], scale)
    first, last = on_scale(np.array([low, high]), scale)
    if not last > first:
        first, last = first - 0.01, last + 0.01
    n_cells = _STRIP_CELLS * (_FINER if scale == "logit" else 1)
    counts, edges = np.histogram(places, n_cells, (first, last), weights=weights[inside])
    if scale == "linear":
        return edges, counts
    return np.array([0.0, *off_scale(edges, scale), 1.0]), np.array([at_ends[0], *counts, at_ends[1]])


def strip(rows: tuple[Floats, Floats], scale: Scale, ends: tuple[float, float]) -> tuple[Floats, Floats]:
    """Return the edges and weights that are drawn of a histogram: rows at 0 and 1 lie at the ends of a logit axis."""
    edges, counts = rows
    if scale == "linear" or len(counts) < _STRIP_CELLS:
        return rows
    low, high = on_scale(np.array(ends), scale)
    inner = on_scale(edges[1:-1], scale)
    places = np.clip([low, *(inner[1:] + inner[:-1]) / 2, high], low, high)
    span = low if counts[0] else max(inner[0], low), high if counts[-1] else min(inner[-1], high)
    shown, drawn = np.histogram(places, _STRIP_CELLS, span, weights=counts)
    return off_scale(drawn, scale), shown


# What noise alone gives.


@final
@dataclass(frozen=True, eq=False)
class Noise:
    """Bars of cells (L,) as deviations, the mean of the calibration error, and the p-value of the overall mean.

    The second bars hold the points of all cells together with a probability of 1 - LEVEL or more.
    """

    low: Floats
    high: Floats
    all_low: Floats
    all_high: Floats
    error: float
    pvalue: float


def noise_of_cells(
    seen: Sample, cells: Cells, binning: Binning, coverage: float, n_resamples: int, rng: np.random.Generator
) -> Noise:
    """Compute what noise alone gives: exactly of independent rows without weights, else from redraws of the labels."""
    predictions = seen.predictions
    if predictions.unweighted and predictions.groups is None:
        return _exact_noise(seen, cells, (1 - coverage) / 2)
    first = rank_of_limit(n_resamples, LEVEL, "bars of all cells", 1 - LEVEL)
    rank = rank_of_limit(n_resamples, (1 - coverage) / 2, "bars", coverage)
    estimator = HistogramRegression(binning)
    found = estimator(seen).isel(label=-1)
    drawn = redrawn(estimator, seen, estimator.prepare(predictions), n_resamples, rng).samples[..., -1]
    ordered, together = np.sort(drawn, axis=0), joint_limits(np.abs(np.nan_to_num(drawn)), first)
    share = ratio(found["count"].values, found["count"].values.sum())
    filled = share > 0
    drawn, share = drawn[:, filled], share[filled]
    overall = abs(found["deviation"].values[filled] @ share)
    extreme = np.abs(drawn @ share) >= overall * (1 - ROUNDING)
    return Noise(
        ordered[rank - 1],
        ordered[-rank],
        -together,
        together,
        float((np.abs(drawn) @ share).mean()),
        (1 + extreme.sum()) / (1 + n_resamples),
    )


def _exact_noise(seen: Sample, cells: Cells, tail: float) -> Noise:
    """Compute bars, mean error and p-value from the Poisson-binomial laws of the numbers of events."""
    predictions = seen.predictions
    rows = all_weights(predictions, None)
    counts = np.bincount(cells.index, rows, cells.size)
    expected = np.bincount(cells.index, rows * predictions.event, cells.size)
    laws = counts_in(cells, predictions).laws
    low, high = exact_bars(laws, counts, tail)
    # labels of different cells are independent
    jointly = exact_bars(laws, counts, (1 - (1 - LEVEL) ** (1 / np.count_nonzero(counts))) / 2)
    sizes = [
        masses @ np.abs(first + np.arange(len(masses)) - mean) / masses.sum()
        for (first, masses), mean in zip(laws, expected, strict=True)
    ]
    together = counts_in(Cells(1, np.zeros(len(rows), dtype=np.intp), "fixed"), predictions).laws[0]
    pvalue = two_sided(together, round(float(rows @ seen.outcomes)))
    mean = ratio(expected, counts, empty=np.nan)
    bars = (low - mean, high - mean, jointly[0] - mean, jointly[1] - mean)
    return Noise(*bars, float(np.sum(sizes) / predictions.n_rows), pvalue)


def joint_limits(drawn: Floats, rank: int) -> Floats:
    """Return limits (L,), as large for each cell as its noise, which that many of the draws (R, L) exceed anywhere."""
    scale = np.sqrt((drawn**2).mean(axis=0))
    ratios = np.divide(drawn, scale, out=np.zeros_like(drawn), where=scale > 0)
    return scale * np.sort(ratios.max(axis=1))[-rank]


def exact_bars(laws: list[tuple[int, Floats]], counts: Array, tail: float) -> tuple[Floats, Floats]:
    """Return the ends of the bars from the Poisson-binomial law of the number of events in each cell, without weights.

    The number of events falls below the lower end, and above the upper one, with probability at most `tail` each. Ends
    are possible numbers of events, so a bar holds its point with probability 1 - 2 `tail` or more. They are returned as
    shares of events (L,), NaN in cells without rows.
    """
    ends = [
        _ends(first, masses, tail) if n else (np.nan, np.nan) for n, (first, masses) in zip(counts, laws, strict=True)
    ]
    low, high = np.array(ends, dtype=float).T / np.maximum(counts, 1)
    return low, high


def _ends(first: int, masses: Floats, tail: float) -> tuple[float, float]:
    """Return the largest count with at most `tail` below it, and the smallest one with at most `tail` above it."""
    upto, onwards = np.cumsum(masses), np.cumsum(masses[::-1])
    limit = tail + ROUNDING  # rounding in sums of probabilities must not widen a bar by an event
    low = np.searchsorted(upto / upto[-1], limit, side="right")
    high = np.searchsorted(onwards / onwards[-1], limit, side="right")
    return float(first + low), float(first + len(masses) - 1 - high)


def two_sided(law: tuple[int, Floats], events: int) -> float:
    """Return twice the smaller tail of a law of counts, at most 1."""
    first, masses = law
    counts = first + np.arange(len(masses))
    total = masses.sum()
    return float(min(1.0, 2 * min(masses[counts <= events].sum(), masses[counts >= events].sum()) / total))


def wilson(share: Floats, rows: Floats, coverage: float) -> tuple[Floats, Floats]:
    r"""Return the score interval of shares (L,) of events among so many rows in effect (Wilson 1927).

    .. math:: \frac{1}{1 + z^2/n} \Big(\hat p + \frac{z^2}{2n} \pm
              z \sqrt{\frac{\hat p (1 - \hat p)}{n} + \frac{z^2}{4 n^2}}\Big)
    """
    z = ndtri((1 + coverage) / 2)
    centre, scale = share + z**2 / (2 * rows), 1 + z**2 / rows
    reach = z * np.sqrt(np.maximum(share * (1 - share), 0) / rows + z**2 / (4 * rows**2))
    return np.clip((centre - reach) / scale, 0, 1), np.clip((centre + reach) / scale, 0, 1)


def rows_in_effect(predictions: Predictions, cells: Cells) -> Floats:
    """Return the number of rows in effect in each cell (Kish 1965): (L,), 0 in cells without weight.

    Rows of a cluster count as one, with the weight of all.
    """
    weights, groups = all_weights(predictions, None), predictions.groups
    if groups is not None:
        pairs, place = np.unique(cells.index * groups.number + groups.codes, return_inverse=True)
        sums, cell = np.bincount(place, weights), pairs // groups.number
        return effective_number(*(np.bincount(cell, each, cells.size) for each in (sums, sums**2)))
    if predictions.unweighted:
        return np.bincount(cells.index, weights, cells.size).astype(float)
    largest = np.zeros(cells.size)
    np.maximum.at(largest, cells.index, weights)  # squares of tiny weights would be zero
    shares = ratio(weights, largest[cells.index])
    first, second = (np.bincount(cells.index, shares**k, minlength=cells.size) for k in (1, 2))
    return ratio(first**2, second)


def shown_through(lens: Lens) -> str:
    """Say which lens was looked through, if any."""
    return f", seen through {lens!r}" if lens.parts else ""


# What is said of all rows together.


@final
@dataclass(frozen=True)
class Answer:
    """What a diagram says of all rows together.

    `claimed` and `happened` are the mean prediction and the mean outcome, `error` the calibration error of the cells
    and `noise` its mean under calibration; `pvalue` is that of the difference of the means, given the predictions, and
    `beyond` the number of cells that are beyond noise.
    """

    n: int
    claimed: float
    happened: float
    error: float
    noise: float
    pvalue: float
    top: bool
    quantity: str
    beyond: int

    @property
    def lines(self) -> tuple[str, str]:
        """The answer in two short lines; they never accept calibration."""
        claimed, happened = both_percent(self.claimed, self.happened)
        error, noise = both_sizes(self.error, self.noise)
        first = f"claims {claimed}, happens {happened}: {self.word}"
        size = f"{error}, beyond noise ({noise})" if self.beyond else f"{error}, noise alone {noise}"
        return first, f"{self.quantity} {size}; n = {self.n:,}"

    @property
    def short(self) -> str:
        """The size of the error beside its noise, for small axes."""
        error, noise = both_sizes(self.error, self.noise)
        return f"{self.quantity} {error} (noise {noise})"

    @property
    def word(self) -> str:
        """Which way the model is off as a whole, where that is more than noise at 5 %."""
        if self.pvalue > LEVEL:
            return "no bias beyond noise"
        high, low = ("too sure", "too shy") if self.top else ("too high", "too low")
        return high if self.claimed > self.happened else low


def both_percent(*shares: float) -> list[str]:
    """Write shares in percent with equally many decimals: one, or as many as the rarest needs; tiny ones in two digits.

    >>> both_percent(0.9461, 0.941), both_percent(0.0031, 0.0052), both_percent(5e-10, 0)
    (['94.6 %', '94.1 %'], ['0.31 %', '0.52 %'], ['5e-08 %', '0 %'])
    """
    sides = [100 * min(share, 1 - share) for share in shares if 0 < share < 1]
    rarest, most = min(sides, default=1.0), max(sides, default=1.0)
    if most < _TINY:
        return [f"{100 * share:.2g} %" for share in shares]
    decimals = 1 if rarest >= 1 else min(1 - int(np.floor(np.log10(rarest))), 2 if most >= 1 else 6)
    return [f"{100 * share:.{decimals}f} %" for share in shares]


def both_sizes(*errors: float) -> list[str]:
    """Write errors with equally many decimals, two digits of the smallest, but at most four of the largest.

    >>> both_sizes(0.0282, 0.00595), both_sizes(0.067, 0.1), both_sizes(1e-17, 0.055)
    (['0.0282', '0.0060'], ['0.067', '0.100'], ['0.000', '0.055'])
    """
    if ROUNDING < max(errors) < _TINY:
        return [f"{each:.2g}" for each in errors]
    digits = [1 - int(np.floor(np.log10(each))) for each in errors if each > ROUNDING]
    decimals = min(max(digits), min(digits) + 2) if digits else 2
    return [f"{each:.{decimals}f}" for each in errors]
