"""The rules of other packages, where they are not those of calibstat: `peers.py` explains differences by them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from peers_data import Array, Data
from scipy.linalg import eigh
from scipy.special import chdtrc, expit, logsumexp

import calibstat as cs


def cells_below(values: Array, edges: Array) -> Array:
    """The number of the cell [edge, next edge) of each value."""
    return np.searchsorted(edges, values, side="right") - 1


def cells_above(values: Array, edges: Array) -> Array:
    """The number of the cell (edge, next edge] of each value."""
    return np.searchsorted(edges, values, side="left") - 1


def error_of_cells(right: Array, said: Array, cells: Array, order: float = 1) -> float:
    """Return the ECE of given cells, or the error of another order."""
    count, gaps = np.array([(rows.sum(), abs((right - said)[rows].mean())) for rows in members(cells)]).T
    if order == np.inf:
        return float(gaps.max())
    return float((count @ gaps**order / len(said)) ** (1 / order))


def members(cells: Array) -> list[Array]:
    """Return which rows are in each cell."""
    return [cells == cell for cell in np.unique(cells)]


def means_of_cells(right: Array, said: Array, cells: Array) -> Array:
    """Return mean outcomes and mean predictions of given cells."""
    return np.array([(right[rows].mean(), said[rows].mean()) for rows in members(cells)]).T


def mean_over_classes(data: Data, cut: Callable[[Array], Array]) -> float:
    """Return the mean over classes of the ECE of the cells that `cut` gives."""
    columns = enumerate(data.p.T)
    return float(np.mean([error_of_cells(data.y == label, column, cut(column)) for label, column in columns]))


def cells_of_pycalib(values: Array, n_bins: int) -> Array:
    """Return cells whose edges end a little above one."""
    return cells_below(values, np.linspace(0, 1 + 1e-8, n_bins + 1))


def cells_of_torch(values: Array) -> Array:
    """Return ten cells between the edges of torch, and one for ones."""
    return cells_below(values, halves_and_steps(10, np.float64))


def cells_of_percents(values: Array) -> Array:
    """Return fifteen cells, found by a division of percents."""
    return np.where(values == 1, 14, np.floor(100 * values / (100 / 15)))


def cells_from_quantiles(values: Array, n_bins: int) -> Array:
    """Return cells [low, high) between the different ones of the inner quantiles."""
    edges = np.unique(np.quantile(values, np.linspace(0, 1, n_bins + 1)[1:-1]))
    return np.searchsorted(edges, values, side="right")


def cells_of_calibstats(values: Array) -> Array:
    """Return cells [low, high) between the different ones of all quantiles."""
    edges = np.unique(np.quantile(values, np.linspace(0, 1, 11)))
    return np.digitize(values, edges[1:-1])


def cells_of_netcal(values: Array) -> Array:
    """Return cells [low, high) between quantiles, the last of them closed."""
    edges = np.quantile(values, np.linspace(0, 1, 11))
    return np.minimum(cells_below(values, edges), 9)


def cells_of_mcgrad(values: Array) -> Array:
    """Return cells [low, high) between quantiles as pandas shows them."""
    edges = sorted(pd.qcut(values, 10, duplicates="drop").categories.left)
    return np.digitize(values, edges)


def calzone_cells(data: Data) -> tuple[float, float]:
    """Return the mean and the largest error of cells (low, high] without the rows at zero."""
    rows = data.p > 0
    cells = cells_above(data.p[rows], np.linspace(0, 1, 11))
    return tuple(error_of_cells(data.y[rows], data.p[rows], cells, order) for order in (1, np.inf))


def calzone_hosmer_lemeshow(data: Data) -> tuple[float, float]:
    """Hosmer and Lemeshow's sum over these cells, with means clipped to [1e-7, 1 - 1e-7], and its p-value."""
    rows = data.p > 0
    y, p = data.y[rows], data.p[rows]
    cells = members(cells_above(p, np.linspace(0, 1, 11)))
    count = np.array([each.sum() for each in cells])
    happened, said = (np.clip([of[each].mean() for each in cells], 1e-7, 1 - 1e-7) for of in (y, p))
    statistic = float((count * (happened - said) ** 2 / (said * (1 - said))).sum())
    return statistic, float(chdtrc(len(cells), statistic))


def probcal_hosmer_lemeshow(data: Data) -> tuple[float, float]:
    """Hosmer and Lemeshow's sum over cells [low, high) between quantiles of clipped predictions, and its p-value."""
    p = np.clip(data.p, 1e-12, 1 - 1e-12)
    _, cells = np.unique(cells_from_quantiles(p, 10), return_inverse=True)
    count, happened, said = (np.bincount(cells, each) for each in (np.ones(len(p)), data.y, p))
    statistic = float(((happened - said) ** 2 / (said * (1 - said / count))).sum())
    return statistic, float(chdtrc(len(count), statistic))


def probcal_sweep(data: Data) -> float:
    """The error of as many cells between quantiles as keep mean outcomes from falling, at most 100."""
    cells = np.zeros(len(data.p))
    for n_bins in range(2, min(len(data.p), 100) + 1):
        more = cells_from_quantiles(data.p, n_bins)
        if (np.diff(means_of_cells(data.y, data.p, more)[0]) < 0).any():
            break
        cells = more
    return error_of_cells(data.y, data.p, cells)


def walk_of_rows(residuals: Array) -> Array:
    """Return the walk of residuals in their order, from zero on."""
    return np.append(0.0, np.cumsum(residuals))


def walk_of_mcgrad(data: Data) -> float:
    """Kuiper's range, read after each row."""
    order = np.argsort(data.p)
    weights = np.ones(len(order)) if data.weights is None else data.weights[order]
    return float(np.ptp(walk_of_rows(weights * (data.y - data.p)[order] / weights.sum())))


def walk_of_probmetrics(data: Data) -> float:
    """Kuiper's range, read after each row; ties are in the order in which torch sorts them."""
    import torch

    order = torch.sort(torch.tensor(data.p).float())[1].numpy()
    return float(np.ptp(walk_of_rows((data.y - data.p)[order] / len(order))))


def walk_of_mapie(data: Data) -> tuple[float, float]:
    """The largest distance and the range of the walk after each row, without its start; noise sorts ties."""
    noise = 1e-8 * np.random.RandomState(1).normal(size=len(data.p))
    p = data.p * (1 + noise)
    walk = walk_of_rows((data.y - p)[np.argsort(p)])[1:]
    scale = np.sqrt((data.p * (1 - data.p)).sum())
    return np.abs(walk).max() / scale, np.ptp(walk) / scale


def scale(data: Data) -> float:
    """Return the standard deviation of the mean residual under calibration."""
    weights = np.ones(len(data.p)) if data.weights is None else data.weights
    return float(np.sqrt((weights**2 * data.p * (1 - data.p)).sum()) / weights.sum())


def rao_scott(data: Data) -> tuple[float, float]:
    """The likelihood ratio over the mean eigenvalue and its spread, which the degrees of freedom take into account."""
    weights = np.ones(len(data.p)) if data.weights is None else data.weights
    logits = np.log(data.p / (1 - data.p))
    found = cs.Cox()(data.sample)
    chances = expit(found.intercept + found.slope * logits)
    gain = data.y * np.log(chances / data.p) + (1 - data.y) * np.log((1 - chances) / (1 - data.p))
    design, variance = np.stack([np.ones(len(logits)), logits]), data.p * (1 - data.p)
    information, actual = ((design * weights**power * variance) @ design.T for power in (1, 2))
    values = eigh(actual, information, eigvals_only=True)
    spread = 1 + values.var() / values.mean() ** 2
    statistic = 2 * (weights @ gain) / (values.mean() * spread)
    return float(statistic), float(chdtrc(2 / spread, statistic))


def netcal_mmce(data: Data) -> float:
    """The kernel error of the chance of the event, and of whether the likelier outcome came."""
    residuals = ((data.p > 0.5) == data.y) - data.p
    smoothed = [np.exp(-2.5 * np.abs(data.p - each)) @ residuals for each in data.p]
    return float((smoothed @ residuals) ** 0.5 / len(residuals))


def statsmodels_gap(data: Data) -> float:
    """The distance of the prediction and local lines through half of the rows, whose mean square is at least 1e-12."""
    order = np.argsort(data.p, kind="stable")
    y, p, k = data.y[order], data.p[order], int(0.5 * len(data.p) + 1e-10)
    gaps = np.empty(len(p))
    for i, at in enumerate(p):
        near = np.sort(np.abs(p - at))[k - 1]
        weights = np.clip(1 - (np.abs(p - at) / near) ** 3, 0, None) ** 3
        weights /= weights.sum()
        apart = p - weights @ p
        line = weights * (1 + (at - weights @ p) * apart / max(weights @ apart**2, 1e-12))
        gaps[i] = abs(line @ y - at)
    return float(gaps.mean())


def pycalib_full(data: Data) -> float:
    """The sum over classes of the errors of cells [low, high) of whole vectors."""
    cells = np.digitize(data.p, np.linspace(0, 1, 16))
    _, numbers = np.unique(cells, axis=0, return_inverse=True)
    hot = np.arange(data.p.shape[1]) == data.y[:, None]
    return float(sum(np.abs((hot - data.p)[rows].sum(axis=0)).sum() for rows in members(numbers)) / len(data.y))


def top(data: Data) -> tuple[Array, Array]:
    """Whether the most likely class came, and what it was said to have."""
    return (data.p.argmax(axis=1) == data.y).astype(float), data.p.max(axis=1)


def halves_and_steps(n_bins: int, dtype: Any) -> Array:
    """Return the edges of torch: steps are counted from 0 below one half and back from 1 above."""
    step, numbers = dtype(1) / dtype(n_bins), np.arange(n_bins + 1).astype(dtype)
    return np.where(numbers < (n_bins + 1) / 2, numbers * step, dtype(1) - (dtype(n_bins) - numbers) * step)


def torch_top(data: Data) -> float:
    """Confidences, cells and sums in single precision."""
    right, said = (each.astype(np.float32) for each in top(data))
    cells = cells_below(said, halves_and_steps(15, np.float32))
    sums = np.zeros((3, 16), dtype=np.float32)
    for row, values in zip(sums, (np.ones_like(said), said, right), strict=True):
        np.add.at(row, cells, values)
    count, confidence, accuracy = sums[:, sums[0] > 0]
    return float(np.abs(accuracy / count - confidence / count) @ (count / count.sum()))


def debiased_error_of_cells(right: Array, said: Array, cells: Array) -> float:
    """Return the root of the debiased squared error of cells of two rows or more (Kumar et al. 2019), and 0 below 0."""
    total = 0.0
    for rows in (each for each in members(cells) if each.sum() > 1):
        happened, count = right[rows].mean(), rows.sum()
        total += count * ((happened - said[rows].mean()) ** 2 - happened * (1 - happened) / (count - 1))
    return max(0.0, total / len(said)) ** 0.5


def pycaleva_cells(data: Data) -> tuple[Array, Array, Array]:
    """Outcomes and predictions in order, and cells between quantiles; if some are equal, ten parts of the order."""
    p = pd.Series(data.p).sort_values()
    y = data.y[p.index]
    try:
        cells = pd.qcut(p, 10)
    except ValueError:
        cells = pd.qcut(p.rank(method="first"), 10)
    return y, p.to_numpy(), cells.cat.codes.to_numpy()


def pycaleva_mean(data: Data) -> float:
    """The mean distance over these cells, whatever their numbers of rows."""
    y, p, cells = pycaleva_cells(data)
    return float(np.mean([abs((y - p)[cells == cell].mean()) for cell in np.unique(cells)]))


def pycaleva_hosmer_lemeshow(data: Data) -> tuple[float, float]:
    """Hosmer and Lemeshow's sum over these cells, and its p-value with ten degrees of freedom."""
    y, p, cells = pycaleva_cells(data)
    return chi_square_of_ten([(y[rows], p[rows], np.full(rows.sum(), p[rows].mean())) for rows in members(cells)])


def pycaleva_pigeon_heyse(data: Data) -> tuple[float, float]:
    """Pigeon and Heyse's sum over those of these cells that have a variance, and its p-value, as above."""
    y, p, cells = pycaleva_cells(data)
    uncertain = [rows for rows in members(cells) if 0 < p[rows].mean() < 1]
    return chi_square_of_ten([(y[rows], p[rows], p[rows]) for rows in uncertain])


def chi_square_of_ten(cells: list[tuple[Array, Array, Array]]) -> tuple[float, float]:
    """Return the sum of squared residual sums over variances; certain predictions that are right add nothing."""
    terms = []
    for y, p, chance in cells:
        apart, variance = (y - p).sum(), (chance * (1 - chance)).sum()
        terms.append(0.0 if variance == apart == 0 else apart**2 / variance if variance else np.inf)
    return float(sum(terms)), float(chdtrc(10, sum(terms)))


def pycalib_top(data: Data) -> float:
    """Cells (a, b], where b is counted up and a is b less a width, which need not be the b before."""
    right, said = top(data)
    width = 1 / 15
    cells = [(said > upper - width) & (said <= upper) for upper in np.arange(width, 1 + width, width)]
    return sum(abs((right - said)[rows].sum()) for rows in cells) / len(said)


def reflected_error(p: Array, residuals: Array, width: float) -> float:
    """The smoothed error of relplot: rows are spread over a grid, and smoothed values read at a mesh."""
    n_grid = max(2000, round(20 / width)) // 2 + 1
    mesh = np.linspace(0, 1, max(round(10 / width), 200))
    kernel = np.exp(-((np.linspace(0, 1, n_grid) - 0.5) ** 2) / (2 * width**2)) / (np.sqrt(2 * np.pi) * width)

    def smoothed(values: Array) -> Array:
        below = (p * (n_grid - 1)).astype(int).clip(0, n_grid - 2)
        above = p * (n_grid - 1) - below
        grid = np.bincount(below, (1 - above) * values, n_grid) + np.bincount(below + 1, above * values, n_grid)
        mirrored = np.concatenate([grid[::-1][:-1], grid, grid[::-1][1:]])
        found = np.convolve(mirrored, kernel, "valid")[n_grid // 2 : n_grid // 2 + n_grid]
        place = (mesh * (n_grid - 1)).astype(int).clip(0, n_grid - 2)
        share = (mesh - place / (n_grid - 1)) * (n_grid - 1)
        return found[place] * (1 - share) + found[place + 1] * share

    density = smoothed(np.ones_like(residuals)) + 1e-4
    return float(np.abs(smoothed(residuals)).sum() / density.sum())


def relplot_smooth(data: Data) -> float:
    """Ten bisections for the bandwidth that equals its error."""
    residuals, start, end = data.p - data.y, 1.0, 0.0
    if reflected_error(data.p, residuals, 1.0) > 1.0:
        return reflected_error(data.p, residuals, 1.0)
    for _ in range(10):
        middle = (start + end) / 2
        if middle < 0.001 or middle < reflected_error(data.p, residuals, middle):
            end = middle
        else:
            start = middle
    return reflected_error(data.p, residuals, start)


def scikit_learn_corp(data: Data) -> tuple[float, ...]:
    """The isotonic fit of scikit-learn, read at the predictions that it was fitted to by interpolation."""
    from sklearn.isotonic import IsotonicRegression

    fitted = IsotonicRegression().fit(data.p, data.y, data.weights).predict(data.p)
    constant = np.average(data.y, weights=data.weights)
    said, best, none = (np.average((each - data.y) ** 2, weights=data.weights) for each in (data.p, fitted, constant))
    return said - best, none - best, none


def clipped_log_loss(data: Data, smallest: float) -> float:
    """The log loss of predictions that are at least so large, and for two classes at most one less so much."""
    if data.p.ndim == 1:
        p = np.clip(data.p, smallest, 1 - smallest)
        chances = np.where(data.y == 1, p, 1 - p)
    else:
        chances = np.clip(data.p[np.arange(len(data.y)), data.y], smallest, 1.0)
    return float(np.average(-np.log(chances), weights=data.weights))


def probmetrics_log_loss(data: Data) -> float:
    """The log loss of logarithms that are at least that of the smallest number of single precision."""
    p = np.column_stack([1 - data.p, data.p]) if data.p.ndim == 1 else data.p
    with np.errstate(divide="ignore"):
        logits = np.maximum(np.log(p), np.log(np.finfo(np.float32).tiny))
    return float(np.mean(logsumexp(logits, axis=1) - logits[np.arange(len(p)), data.y]))


def log_score_of_distance(data: Data) -> float:
    """The mean logarithm of one less the distance of outcome and prediction."""
    return float(-np.log(1 - np.abs(data.y - data.p)).mean())


def interpolated(data: Data) -> Array:
    """The isotonic fit to predictions of which those within 1e-15 are one, read by interpolation up to the largest."""
    order = np.argsort(data.p, kind="stable")
    merged, first = np.empty(len(order)), -np.inf
    for row in order:
        first = data.p[row] if data.p[row] - first >= 1e-15 else first
        merged[row] = first
    fit = cs.IsotonicCurve()(cs.Sample(data.y, merged, sample_weight=data.weights))
    places = cs.IsotonicCurve()(data.sample).prediction
    return np.where(places <= merged.max(), np.interp(places, fit.prediction, fit.recalibrated), np.nan)


def netcal_binning(data: Data) -> Array:
    """Mean outcomes of cells [low, high), read in cells (low, high]; those of cells without rows are their centres."""
    edges = np.linspace(0, 1, 11)
    cells = np.minimum(cells_below(data.p, edges), 9)
    means = np.array(
        [data.y[cells == cell].mean() if (cells == cell).any() else edges[cell] + 0.05 for cell in range(10)]
    )
    return means[np.maximum(cells_above(data.p, edges), 0)]


def betacal(data: Data) -> Array:
    """The logistic regression of scikit-learn on two logarithms, or one if the other's coefficient is negative."""
    from sklearn.linear_model import LogisticRegression

    p = np.clip(data.p, 2.0**-52, 1 - 2.0**-52)
    design = np.column_stack([np.log(p), -np.log(1 - p)])
    fit = LogisticRegression(C=99999999999).fit(design, data.y)
    for negative, other in ((0, 1), (1, 0)):
        if fit.n_features_in_ == 2 and fit.coef_[0, negative] < 0:
            design = design[:, [other]]
            fit = LogisticRegression(C=99999999999).fit(design, data.y)
    return np.asarray(fit.predict_proba(design)[:, 1])


def pieces_of_equal_height(data: Data) -> Array:
    """The line through the centres of pieces of the isotonic fit, where only pieces that fall are made one."""
    p = np.clip(data.p, 1e-12, 1 - 1e-12)
    weights = np.ones(len(p)) if data.weights is None else data.weights
    _, which = np.unique(p, return_inverse=True)
    pieces: list[Array] = []
    for piece in np.stack([np.bincount(which, weights * each) for each in (np.ones(len(p)), data.y, p)], axis=1):
        pieces.append(piece)
        while len(pieces) > 1 and pieces[-2][1] / pieces[-2][0] > pieces[-1][1] / pieces[-1][0]:
            pieces[-2:] = [pieces[-2] + pieces[-1]]
    mass, events, said = np.array(pieces).T
    return np.interp(p, said / mass, events / mass)
