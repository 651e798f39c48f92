"""A simultaneous confidence band for the chance of the event at all predictions."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from calibstat._dataclass import dataclass
from calibstat._lazy import special
from calibstat._progress import track
from calibstat._text import counted, percent
from calibstat.data.arrays import Array, Floats, Ints
from calibstat.data.groups import ClusterCount, Groups
from calibstat.data.parameters import CONFIDENCE_LEVEL, check_kind, check_share
from calibstat.data.sample import Sample
from calibstat.estimators.base import all_weights
from calibstat.inference.arguments import check_lens, check_sample
from calibstat.inference.finite import chance_below, clopper_pearson, divergence
from calibstat.inference.intervals import ConfidenceInterval
from calibstat.inference.results import Result, RowCounts, not_rejected, number, picked, small_pvalue
from calibstat.lenses.base import Lens, refuse_empty

# More distinct predictions than this are grouped, since the work grows with the square of their number.
MOST_POINTS = 1000


def calibration_band(
    sample: Sample, *, lens: Lens | None = None, confidence_level: float = CONFIDENCE_LEVEL, digits: int | None = None
) -> CalibrationBand:
    """Bound the chance of the event at all predictions at once, if it does not decrease with the prediction.

    Each run of neighbouring predictions bounds, by Clopper & Pearson, the chance at its last prediction from below
    and at its first from above; with monotonicity these hold beyond. All bounds hold together with probability at
    least `confidence_level`, at every n (Dimitriadis, Duembgen, Henzi, Puke & Ziegel 2023). The band assumes only
    independent rows and monotonicity, and can refute the latter. It is wide, because it holds at all predictions at
    once.

    Where rows come in clusters (`Sample.groups`) only these need be independent. Bounds are then Chernoff's, for
    independent numbers from 0 to 1 (Hoeffding 1963): a run counts as its rows over those of its largest cluster, so
    that the band holds with every number of clusters, however their rows depend on each other, and is wider still.

    Parameters
    ----------
    sample : Sample
        Rows that neither the model nor its calibrator was fitted on; without weights.
    lens : Lens, optional
        Looked through first; two outcomes must be left: for example ``TopLabel()``, ``ClassWise("cat")``.
    confidence_level : float
    digits : int, optional
        Treat predictions that agree to this number of decimals as a group: the band has steps at the ends of groups,
        and stays valid. By default there are no groups up to 1000 distinct predictions, and 3 digits beyond.

    Returns
    -------
    CalibrationBand
        With ``lower`` and ``upper`` at each distinct prediction, ``pvalue``, ``maximum_error`` and ``bounds(q)`` of
        any unbinned calibration error; prints itself in words.

    Raises
    ------
    ValueError
        If more than two outcomes are left, rows have weights, or something else than the prediction is conditioned on.

    Examples
    --------
    >>> import calibstat as cs
    >>> from calibstat.inference.band import calibration_band
    >>> y_true = [1] * 2 + [0] * 8 + [1] * 7 + [0] * 3
    >>> band = calibration_band(cs.Sample(y_true, [0.3] * 10 + [0.6] * 10))
    >>> band.lower.round(5), band.upper.round(5)
    (array([0.01413, 0.2882 ]), array([0.62176, 0.95554]))
    >>> round(band.maximum_error, 5)
    0.35554
    """
    check_sample(sample)
    check_share("confidence_level", confidence_level, CONFIDENCE_LEVEL)
    lens = check_lens(lens)
    seen = lens(sample).read_by(lambda n_classes: n_classes == 2, labelled=True)
    _refuse_without_theory(seen, lens)
    event = seen.predictions.event
    rows = all_weights(seen.predictions, None)
    prediction, place = np.unique(event, return_inverse=True)
    count = np.bincount(place, rows).astype(np.intp)
    if digits is None and len(prediction) > MOST_POINTS:
        digits = 3
    if digits is not None and not (isinstance(digits, int) and 1 <= digits <= 6):
        raise ValueError(f"digits is {digits!r}; it must be a whole number from 1 to 6, for example 3, or None.")
    runs = Runs.of(event, seen.outcomes, digits, rows, seen.groups)
    # the bound at the nearest end of a group that is not larger, or not smaller; beyond all groups there is none
    low = np.r_[0.0, runs.lower(1 - confidence_level)][np.searchsorted(runs.last, prediction, side="right")]
    high = np.r_[runs.upper(1 - confidence_level), 1.0][np.searchsorted(runs.first, prediction, side="left")]
    return CalibrationBand(
        prediction=prediction,
        count=count,
        lower=low,
        upper=high,
        confidence_level=confidence_level,
        pvalue=min(1.0, runs.pvalue_low(), runs.pvalue_high()),
        digits=digits,
        lens=lens,
        n=seen.predictions.n_rows,
        source=seen.predictions.source,
        counts=RowCounts.of(seen),
        clusters=seen.predictions.clusters,
    )


def _refuse_without_theory(seen: Sample, lens: Lens) -> None:
    """Refuse more than two outcomes, further conditions and weights, for which the band has no theory."""
    predictions = seen.predictions
    refuse_empty(seen, lens)
    if predictions.n_classes != 2:
        raise ValueError(
            f"calibration_band: {predictions.n_classes} outcomes are seen through {lens!r}, but a band is for one "
            "event: pass lens=TopLabel(), or ClassWise(label) for one class."
        )
    if predictions.given != (...,):
        raise ValueError(
            f"calibration_band: {lens!r} conditions on {predictions.condition}, but the band is of the chance given "
            "the prediction alone; for groups, look through Region at one after the other."
        )
    if not predictions.unweighted:
        raise ValueError(
            "calibration_band: the sample has weights, but binomial bounds are of counted rows; leave the weights out, "
            "or use estimate(sample, ECE(EqualMass(15))), whose interval takes weights."
        )


@dataclass(frozen=True, eq=False)
class Runs:
    """Simultaneous bounds of a non-decreasing chance, from bounds of all runs of neighbouring predictions.

    Rows and events are counted in groups of neighbours: `first` and `last` (N,) are the ends of each, increasing;
    `before` and `events_before` (N + 1,) are the rows and the events in the groups before each. Where rows come in
    `clusters`, bounds need only these to be independent.
    """

    first: Floats
    last: Floats
    before: Ints
    events_before: Ints
    clusters: _ClustersInRuns | None = None

    @classmethod
    def of(
        cls,
        values: Floats,
        outcomes: Ints,
        digits: int | None = None,
        several: Floats | None = None,
        clusters: Groups | None = None,
    ) -> Runs:
        """Group equal predictions, or those that are equal after truncation to `digits` decimals.

        Each row may stand for `several`.
        """
        cut_off = values if digits is None else np.floor(values * 10**digits)
        found, code = np.unique(cut_off, return_inverse=True)
        several = np.ones(len(code)) if several is None else several
        rows, events = (np.bincount(code, each, len(found)).astype(np.intp) for each in (several, several * outcomes))
        first, last = np.full(len(found), np.inf), np.full(len(found), -np.inf)
        np.minimum.at(first, code, values)
        np.maximum.at(last, code, values)
        known = None if clusters is None else _ClustersInRuns.of(clusters, code)
        return cls(first, last, np.r_[0, np.cumsum(rows)], np.r_[0, np.cumsum(events)], known)

    @property
    def share(self) -> float:
        """The share of alpha for each bound, 1 / (N (N + 1)): each of N (N + 1) / 2 runs gives two bounds."""
        return 1 / (len(self.first) * (len(self.first) + 1))

    def ending(self, i: int) -> tuple[Ints, Ints]:
        """Rows and events of the runs that end with group i."""
        return self.before[i + 1] - self.before[: i + 1], self.events_before[i + 1] - self.events_before[: i + 1]

    @property
    def mirrored(self) -> Runs:
        """The same rows, with the chances of the other outcome."""
        n, others = self.before, self.before - self.events_before
        ends = 1 - self.last[::-1], 1 - self.first[::-1]
        clusters = None if self.clusters is None else self.clusters.mirrored(len(self.first))
        return Runs(*ends, n[-1] - n[::-1], others[-1] - others[::-1], clusters)

    def lower(self, alpha: float) -> Floats:
        """(N,) lower bounds at `last`: what a run says of its last prediction holds for all later ones."""
        delta = alpha * self.share
        size = len(self.first)
        each = [self._lower(i, delta).max() for i in track(range(size), size)]
        return np.maximum.accumulate(each)

    def upper(self, alpha: float) -> Floats:
        """(N,) upper bounds at `first`: what a run says of its first prediction holds for all earlier ones."""
        return 1 - self.mirrored.lower(alpha)[::-1]

    def pvalue_low(self) -> float:
        """Smallest alpha at which a lower bound exceeds its prediction."""
        each = [self._reaches(i, last).min() for i, last in enumerate(track(self.last, len(self.last)))]
        return float(min(each) / self.share)

    def pvalue_high(self) -> float:
        """Smallest alpha at which an upper bound is below its prediction."""
        return self.mirrored.pvalue_low()

    def _lower(self, i: int, delta: float) -> Floats:
        """Return a lower bound from each run that ends with group i; each misses with probability `delta`."""
        n, events = self.ending(i)
        if self.clusters is None:
            return clopper_pearson(n, events, delta)
        return chance_below(events / n, n / self.clusters.largest(i), delta)

    def _reaches(self, i: int, chance: float) -> Floats:
        """Bound the probability that as many events as in each run that ends with group i have this chance."""
        n, events = self.ending(i)
        if self.clusters is None:
            tails = np.ones(len(n))
            some = events > 0
            tails[some] = special.betainc(events[some], n[some] - events[some] + 1, chance)
            return tails
        beyond = np.exp(-n / self.clusters.largest(i) * divergence(events / n, np.full(len(n), chance)))
        return np.where(events > n * chance, beyond, 1.0)


@dataclass(frozen=True, eq=False)
class _ClustersInRuns:
    """How many `rows` (P,) each cluster has in each group of neighbours; groups, `place` (P,), do not decrease."""

    place: Ints
    cluster: Ints
    rows: Ints

    @classmethod
    def of(cls, clusters: Groups, place: Ints) -> _ClustersInRuns:
        """Count rows by their place (n,), the group of neighbours that each is in."""
        pairs, rows = np.unique(place * clusters.number + clusters.codes, return_counts=True)
        return cls(*np.divmod(pairs, clusters.number), rows)

    def mirrored(self, size: int) -> _ClustersInRuns:
        """Return the same in the other order of all groups."""
        return _ClustersInRuns(size - 1 - self.place[::-1], self.cluster[::-1], self.rows[::-1])

    @cached_property
    def _earlier(self) -> Floats:
        """(P,) the rows of the same cluster in the groups before."""
        order = np.argsort(self.cluster, kind="stable")
        rows, cluster = self.rows[order], self.cluster[order]
        before = rows.cumsum() - rows
        found = np.empty(len(rows))
        found[order] = before - before[np.searchsorted(cluster, cluster)]
        return found

    def largest(self, i: int) -> Floats:
        """Return the most rows that a cluster has in each run that ends with group i."""
        until = np.searchsorted(self.place, i, side="right")
        cluster = self.cluster[:until]
        own = np.bincount(cluster, self.rows[:until])[cluster] - self._earlier[:until]  # from here to the end of runs
        return np.maximum.accumulate(own[::-1])[::-1][np.searchsorted(self.place[:until], np.arange(i + 1))]


@final
@dataclass(frozen=True, eq=False, repr=False)
class CalibrationBand(Result):
    """What `calibration_band` found.

    Parameters
    ----------
    prediction : (L,) floats
        The distinct predictions, increasing.
    count : (L,) ints
        Number of rows of each.
    lower, upper : (L,) floats
        Bounds of the chance of the event at each, all at once.
    confidence_level : float
    pvalue : float
        The p-value of the null of calibration: the smallest alpha at which the diagonal leaves the band.
    digits : int or None
        The number of decimals to which the predictions of a group agree; None if there are no groups.
    lens : Lens
    n : int
    source : str
    counts : RowCounts
    clusters : ClusterCount or None
        How many clusters there are, where rows come in these.
    """

    prediction: Floats
    count: Ints
    lower: Floats
    upper: Floats
    confidence_level: float
    pvalue: float
    digits: int | None
    lens: Lens
    n: int
    source: str
    counts: RowCounts
    clusters: ClusterCount | None = None

    _display: ClassVar[str] = "ReliabilityDisplay"
    _row: ClassVar[str] = "prediction"

    @property
    def rejects_calibration(self) -> bool:
        """Whether the diagonal leaves the band somewhere."""
        return bool(self._outside.any())

    @property
    def rejects_monotonicity(self) -> bool:
        """Whether a lower bound exceeds the upper bound somewhere: then no non-decreasing chance fits."""
        return bool((self.lower > self.upper).any())

    @property
    def maximum_error(self) -> float:
        """Largest distance of chance and prediction that the band allows; NaN if monotonicity is rejected."""
        return self.bounds(np.inf).high

    def bounds(self, q: float = 1) -> ConfidenceInterval:
        r"""Bound an unbinned calibration error, for all q at once with the confidence of the band.

        .. math:: \Big(\frac1n \sum_i |\eta(p_i) - p_i|^q\Big)^{1/q}, \qquad \eta(p) = P(Y = 1 \mid p)

        over the predictions of the sample.

        Parameters
        ----------
        q : float
            At least 1; inf is the largest error.

        Returns
        -------
        ConfidenceInterval
            In units of probability; NaN if monotonicity is rejected.
        """
        check_kind("q", q, float, "1 (ECE), 2 (RMSCE) or inf (maximum)")
        if not q >= 1:
            raise ValueError(f"q is {q!r}, but it must be at least 1: 1 (ECE), 2 (RMSCE) or inf (maximum).")
        if self.rejects_monotonicity:
            return ConfidenceInterval(float("nan"), float("nan"))
        nearest = np.maximum(0.0, np.maximum(self.lower - self.prediction, self.prediction - self.upper))
        farthest = np.maximum(self.prediction - self.lower, self.upper - self.prediction)
        return ConfidenceInterval(self._mean(nearest, q), self._mean(farthest, q))

    def at(self, prediction: ArrayLike) -> tuple[Floats, Floats]:
        """Return the bounds at any predictions, also between those of the sample: the nearest outward ones."""
        asked = np.asarray(prediction, dtype=float)
        low = np.r_[0.0, self.lower][np.searchsorted(self.prediction, asked, side="right")]
        high = np.r_[self.upper, 1.0][np.searchsorted(self.prediction, asked, side="left")]
        return low, high

    @property
    def verdict(self) -> str:
        """Whether the diagonal leaves the band, in which direction and where, and how large errors are."""
        level, at = percent(self.confidence_level), 1 - self.confidence_level
        rows = counted(self.n, "row") + ("" if self.clusters is None else f" in {self.clusters}")
        seen = f"(p {small_pvalue(self.pvalue, level=at)}, {rows})"
        ends = self.bounds(np.inf)
        if not self.rejects_calibration:
            size = "" if np.isnan(ends.high) else f", and no error is larger than {number(ends.high)}"
            return f"{not_rejected(at)} {seen}: the diagonal stays inside the {level} band{size}."
        sides = ((self.lower > self.prediction, "too low"), (self.upper < self.prediction, "too high"))
        wrong = " and ".join(words for outside, words in sides if outside.any())
        found = self.prediction[self._outside]
        spot = f"at {len(found)} of {len(self.prediction)} predictions, {number(found[0])} to {number(found[-1])}"
        size = "" if np.isnan(ends.low) else f", by {number(ends.low)} at least where it is worst"
        return (
            f"Evidence at {percent(at)} that predictions are {wrong} {seen}: the diagonal leaves the {level} band "
            f"{spot}{size}."
        )

    def _rows(self) -> list[dict[str, Any]]:
        columns = picked(self, "prediction count lower upper")
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def _values(self) -> dict[str, Any]:
        """Errors are None where monotonicity is rejected."""
        rejected = self.rejects_monotonicity
        return {
            "lens": repr(self.lens),
            **picked(self, "n source confidence_level digits pvalue rejects_calibration rejects_monotonicity"),
            **({} if self.clusters is None else self.clusters.to_dict()),
            "maximum_error": self.maximum_error,
            "ece_bounds": None if rejected else list(self.bounds(1)),
            "rmsce_bounds": None if rejected else list(self.bounds(2)),
            **picked(self, "prediction count lower upper"),
        }

    def _table(self) -> list[list[str]]:
        if self.rejects_monotonicity:
            return []
        errors = (("largest", np.inf), ("mean (ECE)", 1.0), ("root mean square", 2.0))
        rows = [[name, *map(number, self.bounds(q))] for name, q in errors]
        return [[f"error ({percent(self.confidence_level)})", "at least", "at most"], *rows]

    def _notes(self) -> list[str]:
        if not self.rejects_monotonicity:
            return []
        worst = number(self.prediction[np.argmax(self.lower - self.upper)])
        return [
            f"evidence that the chance of the event does not increase with the prediction: bounds cross at {worst}, so "
            "the band bounds no error"
        ]

    def _details(self) -> list[tuple[str, str]]:
        rounded = "" if self.digits is None else f"; predictions grouped to {self.digits} digits"
        return [
            (
                "band",
                f"{percent(self.confidence_level)}, simultaneous, finite-sample, of P(event | prediction) if that "
                f"does not decrease{rounded}",
            ),
            *([] if self.clusters is None else [("clusters", "however the rows of a cluster depend on each other")]),
            ("errors", "unbinned, of these predictions"),
            (
                "null",
                f"given the prediction, the outcome seen through {self.lens!r} follows the prediction; all runs of "
                "neighbouring predictions, Bonferroni",
            ),
            ("data", f"n = {self.n}, {len(self.prediction)} distinct predictions; {self.source}"),
        ]

    @property
    def _outside(self) -> Array:
        return (self.lower > self.prediction) | (self.upper < self.prediction)

    def _mean(self, sizes: Floats, q: float) -> float:
        if np.isinf(q):
            return float(sizes.max())
        return float(np.average(sizes**q, weights=self.count) ** (1 / q))
