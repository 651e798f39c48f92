"""Naive scores, their excess, and what is made of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import calibstat as cs
from reference.rows import Row, Rows, covariance, law, same, total
from reference.table import naive


def loss(score: Any, p: tuple[float, ...], y: int) -> float:
    """One row's loss."""
    if isinstance(score, cs.BrierScore):
        return (p[1] - y) ** 2 if len(p) == 2 else sum((q - (k == y)) ** 2 for k, q in enumerate(p))
    if isinstance(score, cs.LogScore):
        return -math.log(max(p[y], score.smallest))
    if isinstance(score, cs.SphericalScore):
        return -p[y] / math.sqrt(sum(q * q for q in p))
    decided = int(p[1] >= score.threshold) if len(p) == 2 else p.index(max(p))
    return float(decided != y)


@naive(cs.BrierScore, cs.LogScore, cs.SphericalScore, cs.ZeroOneLoss)
def mean_loss(score: Any, seen: Rows) -> float:
    return sum(row.weight * loss(score, row.p, row.y) for row in seen.rows) / total(seen)


@naive(cs.RMSE)
def rmse(_: Any, seen: Rows) -> float:
    return math.sqrt(mean_loss(cs.BrierScore(), seen))


@naive(cs.AUC)
def auc(_: Any, seen: Rows) -> float:
    won = pairs = 0.0
    for a in seen.rows:
        for b in seen.rows:
            if a.y == 1 and b.y == 0:
                pairs += a.weight * b.weight
                gap = a.p[1] - b.p[1]
                won += a.weight * b.weight * (0.5 if same(min(a.p[1], b.p[1]), max(a.p[1], b.p[1])) else gap > 0)
    return won / pairs if pairs else math.nan


@naive(cs.KendallTau)
def kendall_tau(e: cs.KendallTau, seen: Rows) -> float:
    value = pairs = 0.0
    for a in seen.rows:
        for b in seen.rows:
            tied = same(min(a.p[1], b.p[1]), max(a.p[1], b.p[1]))
            sign = (a.y - b.y) * (0 if tied else 1 if a.p[1] > b.p[1] else -1)
            if e.ties == "tau_a":
                agreement = float(sign)
            else:
                wrong = sign < 0 or (e.ties == "strict" and tied and a.y != b.y)
                agreement = 1.0 - 2.0 * wrong
            pairs += a.weight * b.weight
            value += a.weight * b.weight * agreement
    return value / pairs if pairs else math.nan


def scores_of(row: Row, score: str) -> list[float]:
    chances = law(row)
    if score == "brier":
        return [sum(((k == m) - p) ** 2 for m, p in enumerate(chances)) for k in range(len(chances))]
    return [-math.log(min(max(p, 1e-9), 1 - 1e-9)) for p in chances]


def excess(seen: Rows, score: str, standardize: bool) -> float:
    total = variance = 0.0
    for row in seen.rows:
        chances, scores = law(row), scores_of(row, score)
        expected = sum(p * s for p, s in zip(chances, scores, strict=True))
        if max(scores) - min(scores) < 1e-12:  # rounding
            continue
        total += row.weight * (scores[row.y] - expected)
        variance += row.weight**2 * sum(p * (s - expected) ** 2 for p, s in zip(chances, scores, strict=True))
    whole = sum(row.weight for row in seen.rows)
    return total / (math.sqrt(variance) if standardize and variance > 0 else whole)


@naive(cs.MeanCalibration)
def mean_calibration(_: Any, seen: Rows) -> float:
    return sum(row.weight * (row.y - row.p[1]) for row in seen.rows) / sum(row.weight for row in seen.rows)


def form(seen: Rows, features: Callable[[Row], Any]) -> float:
    """U' pinv(C) U with directions D (K, q) of each row."""
    q = len(features(seen.rows[0])[0])
    u, c = np.zeros(q), np.zeros((q, q))
    for row in seen.rows:
        d, chances = np.array(features(row)), np.array(law(row))
        u += row.weight * d.T @ (np.eye(len(chances))[row.y] - chances)
        c += row.weight**2 * d.T @ np.array(covariance(row)) @ d
    unit = np.sqrt(np.where(np.diag(c) > 0, np.diag(c), 1.0))
    return float(u / unit @ np.linalg.pinv(c / np.outer(unit, unit), rcond=1e-10, hermitian=True) @ (u / unit))


def logit(row: Row) -> float:
    p = min(max(row.p[1], 1e-9), 1 - 1e-9)
    return math.log(p / (1 - p))


@naive(cs.LogitScore)
def logit_score(e: cs.LogitScore, seen: Rows) -> float:
    return form(seen, lambda row: [[0.0] * (e.degree + 1), [logit(row) ** power for power in range(e.degree + 1)]])


@naive(cs.VectorScalingScore)
def vector_scaling(_: Any, seen: Rows) -> float:
    def features(row: Row) -> Any:
        logs = [math.log(min(max(p, 1e-9), 1 - 1e-9)) for p in law(row)]
        return np.hstack([np.eye(len(logs)), np.diag(logs)])

    return form(seen, features)


@naive(cs.ScoreExcess)
def score_excess(e: cs.ScoreExcess, seen: Rows) -> float:
    return excess(seen, e.score, False)


@naive(cs.Spiegelhalter, cs.BrierZ)
def brier_z(_: Any, seen: Rows) -> float:
    return excess(seen, "brier", True)


@naive(cs.LogLossZ)
def log_loss_z(_: Any, seen: Rows) -> float:
    return excess(seen, "log", True)
