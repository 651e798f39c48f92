"""What miscalibration costs those who act on a probability: the loss of a cutoff against the best other cutoff."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import ClassVar, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._text import percent
from calibstat.data.arrays import Array, Floats, Ints
from calibstat.data.parameters import Positive, Share, keep
from calibstat.data.rounding import TIE_OF_PREDICTIONS, above_rounding
from calibstat.data.sample import Predictions
from calibstat.estimators.base import (
    NUMBERS_IN_A_SMALL_BATCH,
    Bounds,
    Capabilities,
    Estimator,
    Evaluator,
    ResidualForm,
    between,
    in_batches,
)
from calibstat.estimators.isotonic import isotonic
from calibstat.estimators.tally import ratio
from calibstat.estimators.walks import Kuiper, Ordered, WalkEvaluator


@final
@dataclass(frozen=True)
class DecisionLoss(Estimator):
    r"""What acting on the probabilities loses against the best other cutoff, for each decision.

    .. math:: \max_c \frac1n \sum_i (y_i - t) \big(1\{p_i \ge c\} - 1\{p_i \ge t\}\big)

    Whoever pays t for a false alarm and 1 - t for a miss acts where the probability is at least t; the value is what
    the best cutoff c for these rows would have saved, which is what the best increasing recalibration would: the
    highest point of a walk of y - t over rows in the order of the prediction, begun at t. Of several thresholds it is
    the largest loss. Over all of them it is at most the cutoff calibration error (Rossellini et al. 2025), which is
    `Kuiper`. `CalibrationDecisionLoss` is about decisions among more actions.

    The unit is the cost of a false alarm plus that of a miss, or that of `costs`. Biased upward: read it beside its
    null mean. It says nothing about recalibrations that do not increase. O(n log n) once, then O(n) for each threshold;
    over all thresholds an isotonic regression for each replicate. Two classes; the prediction itself must be
    conditioned on; any weights.

    Parameters
    ----------
    thresholds : float or list of floats, optional
        Between 0 and 1; all of them by default.
    costs : (float, float), optional
        Of a false alarm and of a miss, in place of a threshold: ``costs=(1, 4)`` is the threshold 0.2 in a unit that is
        a fifth of the other.

    Raises
    ------
    ValueError, TypeError
        If thresholds do not lie between 0 and 1, costs are not two positive numbers, or both are given.

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 1, 0, 1, 1], [0.05, 0.1, 0.15, 0.5, 0.9])
    >>> round(cs.DecisionLoss(costs=(1, 4))(sample), 6)  # acting from 0.1 on: one false alarm more, one miss less
    0.6
    >>> round(cs.DecisionLoss(0.2)(sample), 6), round(cs.DecisionLoss()(sample), 6)
    (0.12, 0.18)
    """

    thresholds: Share | Sequence[Share] | None = None
    costs: tuple[Positive, Positive] | None = None
    two_outcomes: ClassVar[bool] = True
    takes_counts: ClassVar[bool] = True
    residual_form: ClassVar[ResidualForm] = "function"

    def __post_init__(self) -> None:
        if self.thresholds is not None and self.costs is not None:
            raise ValueError(
                f"DecisionLoss: thresholds is {self.thresholds!r} and costs is {self.costs!r}; costs of a false alarm "
                "and a miss are a threshold, a / (a + b): leave one of them out."
            )
        if self.thresholds is not None and not np.isscalar(self.thresholds):
            keep(self, thresholds=tuple(np.ravel(self.thresholds).tolist()))
            if not self.thresholds:
                raise ValueError("DecisionLoss: thresholds is empty; give at least one, or None for all of them.")
        if self.costs is not None:
            keep(self, costs=tuple(np.ravel(self.costs).tolist()))

    def __repr__(self) -> str:
        said = [f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if getattr(self, each.name)]
        return f"DecisionLoss({', '.join(said)})"

    @property
    def cutoffs(self) -> tuple[float, ...]:
        """The thresholds in increasing order; none for all of them."""
        if self.costs is not None:
            return (self.costs[0] / self.unit,)
        return () if self.thresholds is None else tuple(np.unique(self.thresholds).tolist())

    @property
    def unit(self) -> float:
        """The cost of a false alarm plus that of a miss."""
        return 1.0 if self.costs is None else self.costs[0] + self.costs[1]

    @property
    def quantity(self) -> str:  # type: ignore[override]
        """What the number is, in words."""
        return f"loss for each decision against the best other cutoff ({self.decision})"

    @property
    def decision(self) -> str:
        """Say which decision it is, and what it costs."""
        if self.costs is not None:
            alarm, miss = self.costs
            return f"acting from {self.cutoffs[0]:.3g} on, where a false alarm costs {alarm:g} and a miss {miss:g}"
        if len(self.cutoffs) == 1:
            t = self.cutoffs[0]
            return f"acting from {t:.3g} on, where a false alarm costs {t:.3g} and a miss {1 - t:.3g}"
        which = ", ".join(f"{each:.3g}" for each in self.cutoffs) if self.cutoffs else "all"
        return f"the worst of acting from t on, where a false alarm costs t and a miss 1 - t; t: {which}"

    @property
    def bounds(self) -> Bounds:  # type: ignore[override]
        """Nothing, and the larger cost."""
        return between(0.0, self.unit * max((max(t, 1 - t) for t in self.cutoffs), default=1.0))

    @property
    def noise_form(self) -> Estimator:
        """The farthest point of the walk of residuals from a threshold, in deviations; over all of them its range."""
        return _Farthest(self) if self.cutoffs else Kuiper()

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Sort the rows, and find the thresholds among them."""
        return _LossEvaluator(self, _ordered(self, predictions))


def _ordered(estimator: Estimator, predictions: Predictions) -> Ordered:
    """Sort the rows by the prediction; refuse another column."""
    ordered = Ordered(estimator, predictions)
    if predictions.keys != (1,):
        raise ValueError(
            f"{estimator!r} is about decisions by the prediction, but {predictions.condition} is conditioned on; leave "
            "out Given."
        )
    return ordered


def _starts(ordered: Ordered, cutoffs: Sequence[float]) -> Ints:
    """Return how many blocks of equal predictions lie below each cutoff; whoever is at it, besides rounding, acts."""
    return np.searchsorted(ordered.values, np.array(cutoffs) * (1 - TIE_OF_PREDICTIONS))


def _of_thousand(loss: float) -> str:
    """Write the loss of 1000 decisions with three digits: "12.3", and "1000" where ``.3g`` says "1e+03"."""
    return f"{float(f'{1000 * loss:.3g}'):g}"


def _deviations(ordered: Ordered, start: int) -> Floats:
    """Return the standard deviation of the walk of residuals between a threshold and each block (L + 1,).

    A tenth of the variance of the whole is added: near the threshold few rows count, whose noise is not normal.
    """
    mass = ordered.weights(None)
    variance = ordered.cumulate(mass**2 * ordered.variances)
    if not variance[-1] > 0:  # predictions that leave nothing to chance
        variance = ordered.cumulate(mass**2)
    spread = np.abs(variance - variance[start]) + variance[-1] / 10
    return ratio(np.sqrt(spread), np.asarray(mass.sum()), empty=np.nan)


class _LossEvaluator(Evaluator):
    """Walks of y - t over blocks of equal predictions: the loss is how far they fall from where t is."""

    def __init__(self, parameters: DecisionLoss, ordered: Ordered) -> None:
        self.parameters = parameters
        self.ordered = ordered
        # each cutoff, and how many blocks lie below it; of all cutoffs those between blocks lose most at a block
        count = np.arange(len(ordered.values))
        self.cutoffs = np.array(parameters.cutoffs) if parameters.cutoffs else np.repeat(ordered.values, 2)
        self.starts = (
            _starts(ordered, parameters.cutoffs) if parameters.cutoffs else np.stack([count, count + 1], -1).ravel()
        )

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        return in_batches(self._batch, outcomes, weights, numbers=NUMBERS_IN_A_SMALL_BATCH)

    def _batch(self, outcomes: Array, weights: Array | None) -> Floats:
        events, rows = self.sums(outcomes, weights)
        best = np.zeros(len(events))
        for k, cutoff in enumerate(self.parameters.cutoffs):
            walk = events - cutoff * rows
            np.maximum(best, walk[:, self.starts[k]] - walk.min(axis=-1), out=best)
        if not self.parameters.cutoffs:
            best = np.array([self.of_each(*each)[0].max(initial=0.0) for each in zip(events, rows, strict=True)])
        return self.parameters.unit * ratio(best, rows[..., -1], empty=np.nan)

    def sums(self, outcomes: Array, weights: Array | None = None) -> tuple[Floats, Floats]:
        """Return sums of events and of rows over the first blocks, (..., L + 1) both."""
        mass = self.ordered.weights(weights)
        events = self.ordered.cumulate(self.ordered.happened(outcomes) * mass)
        return events, np.broadcast_to(self.ordered.cumulate(mass), events.shape)

    def of_each(self, events: Floats, rows: Floats) -> tuple[Floats, Ints]:
        """Return the loss of each threshold, from sums (L + 1,), and how many blocks lie below its best cutoff.

        A cutoff is best where isotonic regression crosses the threshold.
        """
        mass = np.diff(rows)
        filled = mass > 0
        fit = isotonic(np.diff(events)[filled] / mass[filled], mass[filled]) if filled.any() else mass[:0]
        best = np.append(0, np.flatnonzero(filled) + 1)[np.searchsorted(fit, self.cutoffs)]
        return (events[self.starts] - events[best]) - self.cutoffs * (rows[self.starts] - rows[best]), best

    @property
    def capabilities(self) -> Capabilities:
        """Which cutoff would have been the best, and what it costs."""
        return Capabilities(
            remark=self._remark, meaning=self._meaning, peaks=self._peaks if self.parameters.cutoffs else None
        )

    def _peaks(self, outcomes: Array) -> tuple[Floats, Floats]:
        """Return the loss against each other cutoff, and its deviation."""
        events, rows = self.sums(outcomes)
        walks = [events - cutoff * rows for cutoff in self.cutoffs]
        falls = [walk[start] - walk for walk, start in zip(walks, self.starts, strict=True)]
        deviations = [_deviations(self.ordered, start) for start in self.starts]
        unit = self.parameters.unit
        return unit * np.concatenate(falls) / rows[-1], unit * np.concatenate(deviations)

    def _meaning(self, outcomes: Array, expected: float, interval: tuple[float, float] | None, level: float) -> str:
        """Say what is lost in 1000 decisions, at most, and which cutoff would be better."""
        seen = f"{_of_thousand(float(self(outcomes)))} per 1000"
        if interval is not None:
            ends = "at most" if interval[0] == 0 else f"{_of_thousand(interval[0])} to"
            seen = f"{ends} {_of_thousand(interval[1])} per 1000 decisions ({percent(level)} confidence), {seen}"
        return (
            f"What it costs ({self.parameters.decision}): {seen} in this sample, where {_of_thousand(expected)} is "
            f"expected of a calibrated model, against the best other cutoff; here {self._remark(outcomes)}."
        )

    def _remark(self, outcomes: Array) -> str:
        """Say which cutoff is best for these outcomes."""
        losses, best = self.of_each(*self.sums(outcomes))
        k = int(losses.argmax()) if len(losses) else -1
        if k < 0 or not above_rounding(losses, self.ordered.weights(None).sum())[k] > 0:
            return "no other cutoff would have cost less"
        values, start = self.ordered.values, self.starts[k]
        other = f"from {values[best[k]]:.3g} on" if best[k] < len(values) else "never"
        lower = "lower" if best[k] < start else "higher"
        this = "this one" if len(self.cutoffs) == 1 else f"{self.cutoffs[k]:.3g}"
        return f"a {lower} cutoff than {this} would have cost least: acting {other}"


@final
@dataclass(frozen=True)
class CalibrationDecisionLoss(Estimator):
    r"""What an increasing recalibration gains at most, over all decisions with payoffs between 0 and 1.

    .. math:: \max_{u} \; \max_{\kappa} \; \frac1n \sum_i u(a_u(\kappa(p_i)), y_i) - u(a_u(p_i), y_i)

    with payoffs u of any actions, the best action a_u for a probability, and increasing maps :math:`\kappa`: the
    calibration decision loss (Hu & Wu 2024, for all maps) relative to these maps (Gopalan et al. 2025). Over all maps
    it can be estimated of few distinct predictions alone; over increasing ones isotonic regression is the best map for
    all payoffs. Computed exactly: payoffs add up thresholds t, with G(t) the `DecisionLoss` of each, and are bounded if
    the weights of t and those of 1 - t sum to at most one; so the value is twice the least concave function above G, at
    one half. It is at least ``DecisionLoss()``, and at most twice that.

    In units of the largest difference of payoffs. Biased upward: read it beside its null mean. It says nothing about
    recalibrations that do not increase. O(n log n) once, then an isotonic regression for each replicate. Two classes;
    the prediction itself must be conditioned on; any weights.

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 1, 0, 1, 1], [0.05, 0.1, 0.15, 0.5, 0.9])
    >>> round(cs.CalibrationDecisionLoss()(sample), 6)
    0.22
    """

    quantity: ClassVar[str] = "largest gain of an increasing recalibration over all decisions with payoffs from 0 to 1"
    two_outcomes: ClassVar[bool] = True
    takes_counts: ClassVar[bool] = True
    residual_form: ClassVar[ResidualForm] = "function"
    bounds: ClassVar[Bounds] = between(0.0, 1.0)

    @property
    def noise_form(self) -> Kuiper:
        """The cutoff calibration error, of which two bound the noise: G moves by at most one at each threshold."""
        return Kuiper()

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Sort the rows."""
        return _AllDecisions(_LossEvaluator(DecisionLoss(), _ordered(self, predictions)))


@final
@dataclass(frozen=True, eq=False)
class _AllDecisions(Evaluator):
    """Twice the height at one half of the least concave function above the losses of all thresholds."""

    losses: _LossEvaluator

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        return in_batches(self._batch, outcomes, weights, numbers=NUMBERS_IN_A_SMALL_BATCH)

    def _batch(self, outcomes: Array, weights: Array | None) -> Floats:
        events, rows = self.losses.sums(outcomes, weights)
        cutoffs = np.concatenate([[0.0, 1.0], self.losses.cutoffs])
        each = (self.losses.of_each(*one)[0] for one in zip(events, rows, strict=True))
        found = np.array([_concave_at_half(cutoffs, np.append([0.0, 0.0], one)) for one in each])
        return 2 * ratio(found, rows[..., -1], empty=np.nan)

    @property
    def capabilities(self) -> Capabilities:
        """The noise of the value is at most twice the noise form."""
        return Capabilities(peaks=lambda outcomes: (np.atleast_1d(self(outcomes)), np.array([2.0])))


def _concave_at_half(places: Floats, heights: Floats) -> float:
    """Return the height at 1/2 of the least concave function above points with places on both sides of it.

    It is that of the chord between two points, one on each side, above which there is no point: chords are exchanged
    for those between the points that are farthest above them.

    >>> _concave_at_half(np.array([0.0, 1.0, 0.25, 0.75, 0.5]), np.array([0.0, 0.0, 0.2, 0.4, 0.1])).__round__(6)
    0.3
    """
    left, right = (np.flatnonzero(side) for side in (places <= 0.5, places > 0.5))
    height, slope = -np.inf, 0.0
    while True:
        above = heights - slope * (places - 0.5)
        i, j = left[above[left].argmax()], right[above[right].argmax()]
        slope = (heights[j] - heights[i]) / (places[j] - places[i])
        found = heights[i] + slope * (0.5 - places[i])
        if found <= height:
            return float(height)
        height = found


@final
@dataclass(frozen=True)
class _Farthest(Estimator):
    """The farthest point of the walk of residuals from its height at a threshold, in standard deviations there.

    The noise of the loss against each other cutoff is at most that many deviations.
    """

    decision: DecisionLoss
    quantity: ClassVar[str] = "largest mean residual between a threshold and another cutoff, in standard deviations"
    two_outcomes: ClassVar[bool] = True
    takes_counts: ClassVar[bool] = True
    residual_form: ClassVar[ResidualForm] = "seminorm"
    bounds: ClassVar[Bounds] = between(0.0)

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Sort the rows."""
        ordered = _ordered(self, predictions)
        starts = _starts(ordered, self.decision.cutoffs)
        deviations = [_deviations(ordered, start) for start in starts]

        def farthest(walk: Floats) -> Floats:
            pairs = zip(starts, deviations, strict=True)
            each = [(np.abs(walk - walk[..., start, None]) / one).max(axis=-1) for start, one in pairs]
            return np.max(each, axis=0)

        return WalkEvaluator(ordered, farthest)
