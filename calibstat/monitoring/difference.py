"""Is one of two models better? Evidence and an interval that may be looked at after every row."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, isfinite, log
from typing import Any, ClassVar, Literal, final

import numpy as np

from calibstat._lazy import optimize, special
from calibstat._text import counted, percent
from calibstat.data.arrays import Array, Floats, Ints
from calibstat.data.parameters import LEVEL, Count, Share
from calibstat.estimators.scores import BrierScore, Score
from calibstat.monitoring._stored import stored, stored_ints
from calibstat.monitoring.base import UNKNOWN, Bettor
from calibstat.monitoring.intake import Intake, Ready, plain_labels
from calibstat.monitoring.watch import Watch


@final
@dataclass(eq=False, repr=False)
class DifferenceMonitor(Watch):
    """Watch two models on the same rows: E measures the evidence that their mean scores differ.

    The null: the mean, over the rows so far, of the expected difference of their scores is zero; what is expected of a
    row is given its predictions and the past. Under it the probability that E *ever* reaches 1 / level is at most the
    level (Choe & Ramdas 2024), however often one looks; nothing is assumed of the rows, whose difference may change as
    they go by. `interval` holds that mean, after every row at once, with a probability of at least 1 - level. Rows wait
    for their labels as those of `Monitor` do.

    Parameters
    ----------
    names : sequence of two texts
        The names of the models, with which predictions are fed.
    score : Score
        Proper, with a bound: `BrierScore()`, or ``LogScore(smallest=0.001)``.
    labels : sequence
        The label of each column of predictions; with two, one dimension is P(the last label).
    level : float
        Probability of a false alarm, ever.
    order, max_waiting, when_full, bad_rows, name
        As of `Monitor`.

    Raises
    ------
    ValueError, TypeError
        If a setting is not among those described; the message says what is expected.

    Examples
    --------
    >>> import numpy as np
    >>> import calibstat as cs
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(3000)
    >>> y = rng.random(3000) < p
    >>> monitor = cs.DifferenceMonitor(("old", "new"))
    >>> monitor.update({"old": p**2, "new": p}, y)
    True
    >>> low, high = monitor.interval
    >>> bool(0 < low < monitor.difference < high)
    True
    """

    made: ClassVar[tuple[str, ...]] = ("score",)

    names: Sequence[str]
    score: Score = field(default_factory=BrierScore)
    labels: Sequence[Hashable] = (0, 1)
    level: Share = LEVEL
    order: Literal["prediction", "arrival"] = "prediction"
    max_waiting: Count = 100_000
    when_full: Literal["raise", "worst label"] = "raise"
    bad_rows: Literal["raise", "omit"] = "raise"
    name: str = ""

    def __post_init__(self) -> None:
        self.labels, self.names = plain_labels(self.labels), list(self.names)
        if len(self.names) != 2 or self.names[0] == self.names[1]:
            raise ValueError(f"names is {self.names!r}, but the names of two models are expected")
        if not isfinite(self._largest):
            raise ValueError(
                f"score is {self.score!r}, which has no bound; pass BrierScore() or LogScore(smallest=0.001)"
            )
        self._bettor: DifferenceBettor
        intake = Intake(self.labels, self.order, self.max_waiting, self.when_full, self.bad_rows, self.names)
        self._begin(DifferenceBettor(self.score, len(self.labels)), intake)

    @property
    def _largest(self) -> float:
        """The largest difference that there may be."""
        low, high = self.score.bounds[len(self.labels) > 2]
        return high - low

    @property
    def scores(self) -> dict[str, float]:
        """The mean score of each model over the rows whose label is known; not a number without such rows."""
        sums, known = self._bettor.sums, self._bettor.known
        return dict(zip(self.names, (sums / known if known else np.full(2, np.nan)).tolist(), strict=True))

    @property
    def difference(self) -> float:
        """The mean score of the first model minus that of the second one; below zero, the first one is better."""
        first, second = self.scores.values()
        return first - second

    @property
    def interval(self) -> tuple[float, float]:
        """The interval for the mean of the expected differences so far: it covers at every look with 1 - level."""
        return self._bettor.interval(-log(self.level), self._largest)

    @property
    def verdict(self) -> str:
        """A sentence or two: which model is better by how much, or no evidence so far."""
        rows = counted(self.n_rows, "row")
        if not self._bettor.known:
            return f"No alarm in {rows} so far: {self._evidence_words()}"
        scores = " and ".join(f"{score:.4g} of {name}" for name, score in self.scores.items())
        low, high = self.interval
        sizes = f"mean {_name(self.score)} {scores}; difference {self.difference:.3g}"
        sizes += f", {percent(1 - self.level)} at any time: {low:.3g} to {high:.3g}"
        if not self.alarm:
            return f"No alarm in {rows} so far ({sizes}): {self._evidence_words()}"
        found = "evidence that one model is better"
        if low > 0 or high < 0:
            better, worse = self.names if high < 0 else self.names[::-1]
            found = f"{better} is better than {worse}"
        return f"ALARM in {rows}: {found} ({sizes}). {self._alarm_words()}"

    @property
    def _hypothesis(self) -> str:
        return (
            f"the expected difference of {self.score!r} between {' and '.join(self.names)}, given the past and both "
            "predictions, is zero on average over the rows so far"
        )

    @property
    def _how(self) -> str:
        return f"the difference of the scores of each row, with {len(_STAKES)} stakes, averaged"

    def _found(self) -> dict[str, Any]:
        low, high = self.interval
        scores = {"scores": self.scores, "difference": self.difference, "interval": [low, high]}
        return Watch._found(self) | scores

    def _bet_on(self, ready: Ready) -> None:
        self._path.add(self._bettor.bet(ready.rows, ready.outcomes))

    def _gains(self, chances: Floats, outcomes: Ints) -> Iterator[Floats]:
        """Yield log(1 + s d), for stakes s; before the change, differences d have mean zero."""
        differences = self._bettor.differences(chances)[np.arange(len(outcomes)), outcomes]
        differences = np.where(outcomes == UNKNOWN, 0.0, differences)
        most = 0.5 / max(float(np.abs(differences).max(initial=0.0)), 1e-9)
        for stake in _STAKES[most >= _STAKES]:
            yield np.log1p(stake * differences)
            yield np.log1p(-stake * differences)


def _name(score: Score) -> str:
    """Name a score in a sentence.

    >>> _name(BrierScore())
    'Brier score'
    """
    return type(score).__name__.replace("Score", " score")


# Bets on the difference of two scores.

_STAKES: Floats = np.exp2(np.arange(-10, 7))
_SIGNED = np.concatenate([_STAKES, -_STAKES])
_SMALL = 1e-3


@final
class DifferenceBettor(Bettor):
    """Capital that grows where the scores of two models differ on average.

    Let d be the difference of a row, g the mean of those before, and c, known before the label, bound by how much d may
    fall below g. For a stake s < 1 / c, the product of exp(s (d - e) - psi(s, c) (d - g)^2) over rows with the expected
    differences e is at most a martingale (Fan et al. 2015), and is evidence against a value of their mean (Howard et
    al. 2021; Choe & Ramdas 2024). Capital is the average over stakes of both signs; a stake that is too large for a row
    is lost there.
    """

    def __init__(self, score: Score, n_classes: int) -> None:
        Bettor.__init__(self, 2 * n_classes)
        self.score = score
        self.exponents = np.zeros(len(_SIGNED))
        self.known, self.sums = 0, np.zeros(2)

    @property
    def n_outcomes(self) -> int:
        """The number of labels: the chances are those of two models side by side."""
        return self.n_classes // 2

    def losses(self, chances: Floats) -> tuple[Floats, Floats]:
        """Return the losses (n, k) of both models for each label."""
        half = self.n_outcomes
        clipped = np.clip(chances, 0.0, 1.0)
        first, second = (part / part.sum(axis=1, keepdims=True) for part in (clipped[:, :half], clipped[:, half:]))
        return self.score.losses(first), self.score.losses(second)

    def differences(self, chances: Floats) -> Floats:
        """Return the difference of the losses (n, k) for each label."""
        first, second = self.losses(chances)
        return first - second

    def stake(self, chances: Floats, outcomes: Ints) -> Floats:
        """Bet on rows (n, 2 k) and return the log capital (n,)."""
        losses = self.losses(chances)
        known = outcomes != UNKNOWN
        rows = np.arange(len(outcomes))
        happened = np.where(known, [each[rows, outcomes] for each in losses], 0.0)
        # Row by row, so that sums do not depend on how rows are fed.
        sums = np.cumsum(np.concatenate([self.sums[:, None], happened], axis=1), axis=1)
        counts = self.known + np.concatenate([[0], np.cumsum(known)])
        before = (sums[0] - sums[1])[:-1] / np.maximum(counts[:-1], 1)
        steps = _steps(losses[0] - losses[1], outcomes, before)
        paths = np.cumsum(np.concatenate([self.exponents[None], steps]), axis=0)
        self.exponents, self.sums, self.known = paths[-1], sums[:, -1], int(counts[-1])
        return special.logsumexp(paths[1:], axis=1) - log(len(_SIGNED))

    def interval(self, threshold: float, largest: float) -> tuple[float, float]:
        """Return the means of expected differences against which E is below the threshold (its logarithm)."""
        if not self.n_rows:
            return -largest, largest

        def excess(mean: float) -> float:
            against = self.exponents - _SIGNED * (mean * self.n_rows)
            return float(special.logsumexp(against)) - log(len(_SIGNED)) - threshold

        best = optimize.minimize_scalar(excess, bounds=(-largest, largest), method="bounded", options={"xatol": 1e-9}).x
        ends = (
            optimize.brentq(excess, best, end, xtol=1e-12) if excess(end) > 0 > excess(best) else end
            for end in (-largest, largest)
        )
        low, high = ends
        return low, high

    def learn(self, chances: Floats, outcomes: Ints) -> None:
        """Learn nothing more: what `stake` adds up is all."""

    def learned(self) -> dict[str, Array]:
        """Return all sums."""
        return {"exponents": self.exponents, "sums": self.sums, "known": np.array(self.known)}

    def relearn(self, state: Mapping[str, Array]) -> None:
        """Continue from what `learned` returned."""
        self.exponents, self.sums = stored(state, "exponents", (len(_SIGNED),)), stored(state, "sums", (2,), 0)
        self.known = int(stored_ints(state, "known", (), 0, self.n_rows))


def _steps(differences: Floats, outcomes: Ints, before: Floats) -> Floats:
    """Return what rows add to the exponents (n, stakes): of an unknown outcome, the least of all labels."""
    away = differences - before[:, None]
    fall, rise = np.maximum(-away.min(axis=1), 0.0), np.maximum(away.max(axis=1), 0.0)
    penalty = np.concatenate([_penalty(_STAKES, fall[:, None]), _penalty(_STAKES, rise[:, None])], axis=1)
    known = outcomes != UNKNOWN
    rows = np.arange(len(outcomes))
    lost = np.isinf(penalty)
    penalty[lost] = 0.0
    found = _SIGNED * differences[rows, outcomes][:, None] - penalty * away[rows, outcomes][:, None] ** 2
    for row in np.flatnonzero(~known).tolist():
        each = _SIGNED * differences[row][:, None] - penalty[row] * away[row][:, None] ** 2
        found[row] = each.min(axis=0)
    found[lost] = -inf
    return found


def _penalty(stakes: Floats, bound: Floats) -> Floats:
    """Return psi(s, c) = (-log(1 - s c) - s c) / c^2, and infinity from s = 1 / c on."""
    product = stakes * bound
    safe = np.minimum(product, 0.5)
    with np.errstate(divide="ignore", invalid="ignore"):
        exact = (-np.log1p(-np.minimum(product, 1.0)) - product) / product**2
    series = 0.5 + safe / 3 + safe**2 / 4
    shape = np.where(product < _SMALL, series, exact)
    return np.where(product < 1.0, stakes**2 * shape, inf)
