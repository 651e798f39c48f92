"""Naive references of the kernel, multi-scale, score and goodness-of-fit estimators, with plain loops."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import stats

import calibstat as cs
from calibstat.estimators.cells.hosmer_lemeshow import HosmerLemeshow, PigeonHeyse
from calibstat.estimators.cells.multiscale import MultiscaleL2
from calibstat.estimators.cells.pearson import PearsonCE
from calibstat.estimators.cells.standardized import StandardizedL2
from calibstat.estimators.cells.tce import TCE
from calibstat.estimators.kernels.density import KDECE, LpCE
from calibstat.estimators.kernels.functions import LaplaceKernel
from calibstat.estimators.kernels.root import KCE
from calibstat.estimators.kernels.skce import SKCE
from calibstat.estimators.logistic.cox import Cox
from calibstat.estimators.logistic.observed_expected import ObservedToExpected
from calibstat.estimators.scores.logit import LogitScore, VectorScalingScore
from calibstat.estimators.scores.residuals import MeanCalibration, ScoreExcess
from calibstat.estimators.scores.standardized import BrierZ, LogLossZ, Spiegelhalter
from reference import Rows, cells_of, look, rows_of


def value(estimator: cs.Estimator, sample: cs.Sample) -> Any:
    """Evaluate any of them; several numbers come as an array of the evaluator's shape."""
    seen = look(estimator.lens, rows_of(sample))
    return _ESTIMATORS[type(estimator.core)](estimator.core, seen)


def _law(row: Any) -> list[float]:
    total = sum(row.p)
    return [p / total for p in row.p]


def _residual(row: Any) -> list[float]:
    """Outcome minus prediction, of every class; for two classes both from the event."""
    if len(row.p) == 2:
        gap = row.y - row.p[1]
        return [-gap, gap]
    return [(row.y == k) - p for k, p in enumerate(row.p)]


def _covariance(row: Any) -> list[list[float]]:
    law = _law(row)
    return [[(p if k == m else 0.0) - p * q for m, q in enumerate(law)] for k, p in enumerate(law)]


def _trace(a: list[list[float]], b: list[list[float]]) -> float:
    return sum(a[k][m] * b[m][k] for k in range(len(a)) for m in range(len(a)))


# Kernels


def _rows_of_features(seen: Rows) -> list[list[float]]:
    """The conditioned columns; a variable beside others in units of its standard deviation."""
    found: list[list[float]] = [[] for _ in seen.rows]
    for name in seen.given:
        for features, row in zip(found, seen.rows, strict=True):
            if name is ...:
                features += [1 - row.p[1], row.p[1]] if len(row.p) == 2 else list(row.p)
            elif name == "sex":
                levels = sorted({r.variables["sex"] for r in seen.rows})
                features += [float(row.variables["sex"] == level) for level in levels]
            else:
                everyone = [r.variables[name] for r in seen.rows]
                unit = (np.std(everyone) or 1.0) if len(seen.given) > 1 else 1.0
                features += [-row.variables[name] / unit, row.variables[name] / unit]
    return found


def _distance(kernel: Any, a: list[float], b: list[float]) -> float:
    if isinstance(kernel, LaplaceKernel):
        return sum(abs(x - z) for x, z in zip(a, b, strict=True)) / 2
    return math.sqrt(sum((x - z) ** 2 for x, z in zip(a, b, strict=True)))


def _profile(kernel: Any, ratio: float) -> float:
    return math.exp(-ratio) if isinstance(kernel, LaplaceKernel) else math.exp(-(ratio**2) / 2)


def _bandwidths(e: SKCE, x: list[list[float]]) -> list[float]:
    if isinstance(e.bandwidth, tuple):
        return list(e.bandwidth)
    one = e.bandwidth
    if one == "median":
        gaps = [_distance(e.kernel, x[i], x[j]) for i in range(len(x)) for j in range(i)]
        one = float(np.median(gaps)) if gaps else 0.0
        if one == 0:
            positive = [gap for gap in gaps if gap > 0]
            one = float(np.median(positive)) if positive else 1.0
    return [one * multiple for multiple in e.multiples or (1.0,)]


def _skce(e: SKCE, seen: Rows) -> Any:
    x = _rows_of_features(seen)
    found = [_skce_at(e, seen, x, bandwidth) for bandwidth in _bandwidths(e, x)]
    return np.array(found) if e.several else found[0][0]


def _skce_at(e: SKCE, seen: Rows, x: list[list[float]], bandwidth: float) -> tuple[float, float]:
    """The error and its standardised version."""
    n = len(seen.rows)
    size = min(e.block_size, n) if e.kind == "block" else n
    w = [row.weight for row in seen.rows]
    errors, covariances = [_residual(row) for row in seen.rows], [_covariance(row) for row in seen.rows]
    total = pairs = variance = mean = 0.0
    for i in range(n // size * size):
        for j in range(n // size * size):
            if i // size != j // size or (i == j and e.kind != "biased"):
                continue
            k = _profile(e.kernel, _distance(e.kernel, x[i], x[j]) / bandwidth)
            total += w[i] * w[j] * k * sum(a * b for a, b in zip(errors[i], errors[j], strict=True))
            pairs += w[i] * w[j]
            if i != j:
                variance += 2 * (w[i] * w[j] * k) ** 2 * _trace(covariances[i], covariances[j])
            else:
                law = _law(seen.rows[i])
                norms = [sum(((k == m) - p) ** 2 for m, p in enumerate(law)) for k in range(len(law))]
                expected = sum(p * z for p, z in zip(law, norms, strict=True))
                mean += w[i] ** 2 * expected
                variance += w[i] ** 4 * sum(p * (z - expected) ** 2 for p, z in zip(law, norms, strict=True))
    if pairs <= 1e-12 * sum(w) ** 2:
        return 0.0, 0.0
    deviation = math.sqrt(variance) / pairs
    return total / pairs, (total - mean) / pairs / (deviation if deviation > 0 else 1.0)


# Density


def _kdece(e: KDECE, seen: Rows) -> float:
    total = 0.0
    for i, row in enumerate(seen.rows):
        logs = {}
        for j, other in enumerate(seen.rows):
            if i != j:
                alpha = [p / e.bandwidth + 1 for p in _law(other)]
                constant = math.lgamma(sum(alpha)) - sum(math.lgamma(a) for a in alpha)
                point = [max(p, np.finfo(float).tiny) for p in _law(row)]
                logs[j] = constant + sum((a - 1) * math.log(z) for a, z in zip(alpha, point, strict=True))
        top = max(logs.values(), default=0.0)
        mass = {j: seen.rows[j].weight * math.exp(value - top) for j, value in logs.items()}
        if sum(mass.values()) > 0:
            for k in range(len(row.p)):
                hit = sum(m for j, m in mass.items() if seen.rows[j].y == k) / sum(mass.values())
                p = row.p[k] if len(row.p) > 2 or k == 1 else 1 - row.p[1]
                total += row.weight * abs(hit - p) ** e.p
    return total / sum(row.weight for row in seen.rows)


def _lp(e: LpCE, seen: Rows) -> float:
    found = cells_of(e.binning, seen).values()
    gaps = [(c.share, [-c.gaps()[1], c.gaps()[1]] if len(c.mean_p) == 2 else c.gaps()) for c in found]
    return sum(share * sum(abs(g) ** e.p for g in gap) for share, gap in gaps)


def _pearson(e: PearsonCE, seen: Rows) -> float:
    total = 0.0
    for c in cells_of(e.binning, seen).values():
        expected = [1 - c.mean_p[1], c.mean_p[1]] if len(c.mean_p) == 2 else c.mean_p
        gaps = [-c.gaps()[1], c.gaps()[1]] if len(c.mean_p) == 2 else c.gaps()
        total += c.share * sum(g * g / (p if p > 0 else 1.0) for g, p in zip(gaps, expected, strict=True))
    return total


# Scales


def _standardized(e: Any, seen: Rows) -> float:
    whole = sum(row.weight for row in seen.rows)
    total = variance = 0.0
    for c in cells_of(e.binning, seen).values():
        products = spread = 0.0
        for i, a in enumerate(c.rows):
            for j, b in enumerate(c.rows):
                if i != j:
                    w = a.weight * b.weight
                    products += w * sum(x * z for x, z in zip(c.own(_residual(a)), c.own(_residual(b)), strict=True))
                    v = _trace(_covariance(a), _covariance(b))
                    spread += w * w * (v / 4 if len(a.p) == 2 else v)
        pairs = c.weight**2 - sum(row.weight**2 for row in c.rows)
        if pairs > 1e-12 * c.weight**2:
            below = pairs if e.denominator == "pairs" else c.weight**2
            total += c.weight / whole * products / below
            variance += 2 * (c.weight / whole / below) ** 2 * spread
    return total / (math.sqrt(variance) if variance > 0 else 1.0)


def _multiscale(e: MultiscaleL2, seen: Rows) -> float:
    scales, n = [1], len(seen.rows)
    while 2 * scales[-1] <= n / 4:
        scales.append(2 * scales[-1])
    return max(_standardized(StandardizedL2(cs.EqualMass(m), e.denominator), seen) for m in scales)


# Scores


def _scores(row: Any, score: str) -> list[float]:
    law = _law(row)
    if score == "brier":
        return [sum(((k == m) - p) ** 2 for m, p in enumerate(law)) for k in range(len(law))]
    return [-math.log(min(max(p, 1e-9), 1 - 1e-9)) for p in law]


def _excess(seen: Rows, score: str, standardize: bool) -> float:
    total = variance = 0.0
    for row in seen.rows:
        law, scores = _law(row), _scores(row, score)
        expected = sum(p * s for p, s in zip(law, scores, strict=True))
        if max(scores) - min(scores) < 1e-12:  # rounding
            continue
        total += row.weight * (scores[row.y] - expected)
        variance += row.weight**2 * sum(p * (s - expected) ** 2 for p, s in zip(law, scores, strict=True))
    whole = sum(row.weight for row in seen.rows)
    return total / (math.sqrt(variance) if standardize and variance > 0 else whole)


def _mean(e: MeanCalibration, seen: Rows) -> float:
    return sum(row.weight * (row.y - row.p[1]) for row in seen.rows) / sum(row.weight for row in seen.rows)


def _form(seen: Rows, features: Any) -> float:
    """U' pinv(C) U with directions D (K, q) of each row."""
    q = len(features(seen.rows[0])[0])
    u, c = np.zeros(q), np.zeros((q, q))
    for row in seen.rows:
        d, law = np.array(features(row)), np.array(_law(row))
        u += row.weight * d.T @ (np.eye(len(law))[row.y] - law)
        c += row.weight**2 * d.T @ np.array(_covariance(row)) @ d
    unit = np.sqrt(np.where(np.diag(c) > 0, np.diag(c), 1.0))
    return float(u / unit @ np.linalg.pinv(c / np.outer(unit, unit), rcond=1e-10, hermitian=True) @ (u / unit))


def _logit(row: Any) -> float:
    p = min(max(row.p[1], 1e-9), 1 - 1e-9)
    return math.log(p / (1 - p))


def _logit_score(e: LogitScore, seen: Rows) -> float:
    return _form(seen, lambda row: [[0.0] * (e.degree + 1), [_logit(row) ** power for power in range(e.degree + 1)]])


def _vector_scaling(e: VectorScalingScore, seen: Rows) -> float:
    def features(row: Any) -> Any:
        logs = [math.log(min(max(p, 1e-9), 1 - 1e-9)) for p in _law(row)]
        return np.hstack([np.eye(len(logs)), np.diag(logs)])

    return _form(seen, features)


# Cells


def _goodness(n_bins: int, seen: Rows) -> tuple[float, float]:
    published = exact = 0.0
    for c in cells_of(cs.EqualMass(n_bins), seen).values():
        square = (c.weight * c.gaps()[1]) ** 2
        rate = c.mean_p[1]
        variance = sum(row.weight**2 for row in c.rows) * rate * (1 - rate)
        published += square / (variance if variance > 0 else c.weight**2)
        variance = sum(row.weight**2 * _law(row)[1] * _law(row)[0] for row in c.rows)
        exact += square / (variance if variance > 0 else c.weight**2)
    return published, exact


def _observed_expected(e: ObservedToExpected, seen: Rows) -> Any:
    observed = sum(row.weight for row in seen.rows if row.y == 1)
    expected = sum(row.weight * row.p[1] for row in seen.rows)
    rate = observed / sum(row.weight for row in seen.rows)
    error = math.inf
    if observed > 0:
        error = math.sqrt(sum(row.weight**2 for row in seen.rows) * rate * (1 - rate)) / observed
    return np.array([observed / expected if expected > 0 else 1 + observed, error])


def _tce(e: TCE, seen: Rows) -> float:
    """With a binning; PAVA-BC has tests of its own."""
    rejected = 0
    for c in cells_of(e.binning, seen).values():
        count = sum(row.y for row in c.rows)
        for row in c.rows:
            rejected += stats.binomtest(count, len(c.rows), _law(row)[1]).pvalue <= e.level
    return 100 * rejected / len(seen.rows)


def blocks_of_pava(p: list[float], y: list[int], n_min: int, n_max: int) -> list[tuple[int, int]]:
    """PAVA-BC of distinct predictions, word by word: pool the last two blocks for as long as the conditions hold."""
    labels = [label for _, label in sorted(zip(p, y, strict=True))]
    n, blocks = len(labels), []
    for i in range(n - n_min):
        blocks.append([labels[i]])
        while len(blocks) > 1:
            size = len(blocks[-2]) + len(blocks[-1])
            violated = np.mean(blocks[-2]) >= np.mean(blocks[-1])
            if not (size <= n_min or (size <= n_max and violated)):
                break
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    tail = labels[max(n - n_min, 0) :]
    if blocks and 2 * n_min <= n_max:
        blocks[-1] = blocks[-1] + tail
    else:
        blocks.append(tail)
    ends = np.cumsum([0] + [len(block) for block in blocks]).tolist()
    return list(pairwise(ends))


_ESTIMATORS = {
    SKCE: _skce,
    KCE: lambda e, seen: math.sqrt(max(_skce(SKCE(e.bandwidth, "biased", e.kernel), seen), 0.0)),
    KDECE: _kdece,
    LpCE: _lp,
    PearsonCE: _pearson,
    StandardizedL2: _standardized,
    MultiscaleL2: _multiscale,
    MeanCalibration: _mean,
    ScoreExcess: lambda e, seen: _excess(seen, e.score, False),
    Spiegelhalter: lambda e, seen: _excess(seen, "brier", True),
    BrierZ: lambda e, seen: _excess(seen, "brier", True),
    LogLossZ: lambda e, seen: -_excess(seen, "log", True),
    LogitScore: _logit_score,
    VectorScalingScore: _vector_scaling,
    HosmerLemeshow: lambda e, seen: np.array(_goodness(e.n_bins, seen)),
    PigeonHeyse: lambda e, seen: _goodness(e.n_bins, seen)[1],
    ObservedToExpected: _observed_expected,
    TCE: _tce,
}
WITHOUT = (Cox,)  # compared with a statistics package instead
