"""The multiplier null: residuals keep their size and lose their sign."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat.binnings.base import Binning, Cells
from calibstat.data.arrays import NUMBERS_IN_MEMORY, Array, Floats, Ints, effective_number
from calibstat.data.groups import Groups
from calibstat.data.parameters import Draws, NotNegative
from calibstat.data.sample import GivenNames, Predictions, Sample
from calibstat.draws.labels import redraw_in_clusters
from calibstat.draws.streams import random_signs, replicate
from calibstat.estimators.base import Estimator, Evaluator
from calibstat.lenses.base import Lens
from calibstat.nulls.base import EmpiricalNull, Null, NullDistribution, Restating
from calibstat.nulls.consistency import Consistency


@final
@dataclass(frozen=True)
class Multiplier(Null):
    r"""Multiply the residual (outcome - prediction) of each row by a random sign (wild bootstrap, Wu 1986).

    .. math:: r_i \to \xi_i r_i, \qquad P(\xi_i = 1) = P(\xi_i = -1) = \tfrac12

    It assumes only that the mean residual is zero given what is conditioned on, not that labels follow a known law. So
    it serves where labels cannot be redrawn: for all classes jointly (one sign multiplies the whole vector, which keeps
    the dependence of classes), for the weak null of a variable, for clusters, and for the maximum of many numbers
    (Chernozhukov, Chetverikov & Kato 2013). Asymptotic: for rare events and small n it rejects too often (up to 40 % at
    level 5 % for events of 5 % and n = 100; 8 % at n = 500). Where labels can be redrawn, `Consistency` is exact. Only
    for estimators that depend on the data through residuals.

    Rows of a cluster (`Sample.groups`) share one sign (Cameron, Gelbach & Miller 2008). That keeps the variance, not
    the skewness, of few clusters or few with an event, which studentised signs have no more: 20 clusters of Pareto's
    sizes with events of 10 % reject up to 15 %. So labels are redrawn too, with their chances and with as much
    dependence within clusters as the sample leaves possible, and the p-value is the larger one. Its size was at most
    5.5 % from 4 clusters on, equal or of Pareto's sizes. A statistic that signs cannot be multiplied into is tested by
    these labels alone.

    Of more than 3000 rows without clusters, sums over cells are drawn where they suffice: normal ones, with the
    covariance of residuals times signs; rows that stand out in their cell keep signs of their own (docs/engine.md).

    Parameters
    ----------
    n_resamples : int
        Number of draws, at least 1; of each kind.
    centred : bool
        Subtract from the signs their (weighted) mean over all rows, never cell by cell, so that the draws show the
        noise about the observed value even if the mean residual is not zero.

    Raises
    ------
    ValueError, TypeError
        If `n_resamples` is not an integer of at least 1, or `centred` is not a boolean.

    Examples
    --------
    >>> import calibstat as cs
    >>> import numpy as np
    >>> from calibstat.nulls.multiplier import Multiplier
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(1000)
    >>> sample = cs.Sample(rng.random(1000) < p, p)
    >>> cs.calibration_test(sample, cs.ECE(cs.EqualMass(10)), null=Multiplier(), rng=0).pvalue > 0.05
    True
    """

    n_resamples: Draws = 999
    centred: bool = False
    by_signs: ClassVar[bool] = True
    takes_clusters: ClassVar[bool] = True

    def draw(
        self, estimator: Estimator, sample: Sample, rng: np.random.Generator, evaluator: Evaluator | None = None
    ) -> EmpiricalNull | LargerPValue:
        """Evaluate the estimator on residuals with each set of signs and, of rows in clusters, on redrawn labels."""
        prepared = evaluator or estimator.prepare(sample.predictions)
        groups = sample.predictions.groups
        if groups is None:
            return self.signs(estimator, sample, rng, prepared)
        redraws = EmpiricalNull(redraw_in_clusters(prepared, sample, self.n_resamples, rng), estimator.evidence)
        if estimator.residual_form == "none":
            return redraws
        return LargerPValue(redraws, self.signs(estimator, sample, rng, prepared))

    def signs(
        self, estimator: Estimator, sample: Sample, rng: np.random.Generator, evaluator: Evaluator | None = None
    ) -> EmpiricalNull:
        """Evaluate the estimator on residuals with each set of signs, of many rows on their sums over cells."""
        from calibstat.draws.whole_cells import SignedCells  # tests that compute their law need none of this

        check_residuals(estimator)
        prepared = evaluator or estimator.prepare(sample.predictions)
        groups, weights = sample.predictions.groups, sample.predictions.weights
        cells = SignedCells.of(prepared, sample, self.centred) if groups is None else None
        if cells is not None and prepared.capabilities.from_tally:
            evaluate = prepared.capabilities.from_tally
            values = replicate(evaluate, cells.draw, self.n_resamples, cells.numbers, rng)
            return EmpiricalNull(self._finite(values, estimator), estimator.evidence, whole_cells=True)
        if sample.predictions.counts is not None:
            return self._counted_signs(estimator, sample, rng, prepared)
        masses = weights if groups is None else groups.sums(weights)
        number = len(sample) if groups is None else groups.number

        def signs(stream: np.random.Generator, size: int, kept: int) -> Floats:
            each = random_signs(number)(stream, size, kept)
            each = centred_signs(each, masses) if self.centred else each
            return each if groups is None else groups.spread(each)

        values = replicate(
            lambda each: signed_values(prepared, sample, each),
            signs,
            self.n_resamples,
            len(sample),
            rng,
            prepared.capabilities.batch_size,
        )
        return EmpiricalNull(self._finite(values, estimator), estimator.evidence)

    def _counted_signs(
        self, estimator: Estimator, sample: Sample, rng: np.random.Generator, evaluator: Evaluator
    ) -> EmpiricalNull:
        """Evaluate with the mean sign of the rows that each row stands for, all of equal weight."""
        several = sample.predictions.counts
        assert several is not None
        rows = several.astype(np.int64)

        def signs(stream: np.random.Generator, _size: int, kept: int) -> Floats:
            each = 2 * stream.binomial(rows, 0.5, (kept, len(rows))) / several - 1
            return each - np.average(each, axis=-1, weights=several)[:, None] if self.centred else each

        values = replicate(partial(signed_values, evaluator, sample), signs, self.n_resamples, len(rows), rng)
        return EmpiricalNull(self._finite(values, estimator), estimator.evidence)

    def _finite(self, values: Floats, estimator: Estimator) -> Floats:
        if np.isinf(values).any():
            raise ValueError(
                f"{estimator!r} is infinite on this sample: an outcome occurred where all predictions of a cell say "
                "that it is impossible, and signs do not change that. Redraw labels instead, with null=Consistency()."
            )
        return values

    def hypothesis(self, lens: Lens, given: GivenNames, groups: Groups | None = None) -> str:
        """Say what was assumed: the mean residual is zero."""
        names = " and ".join("the prediction" if name is ... else repr(name) for name in given)
        weak = "" if ... in given else " (the weak null)"
        how = "asymptotic: at least 500 rows, 10 events and 10 non-events expected in each cell"
        how = f"one random sign for each row ({how})" if groups is None else in_clusters(groups)
        return f"given {names}, the mean of outcome - prediction seen through {lens!r} is zero{weak}; {how}"


def in_clusters(groups: Groups) -> str:
    """Say how noise is drawn where rows come in clusters."""
    return (
        f"p is the larger of that of one random sign for each value of {groups.name!r} and that of labels redrawn as "
        "dependent within these as they may be (asymptotic: no exact null is known for rows that depend on each other)"
    )


def centred_signs(signs: Floats, weights: Floats | None) -> Floats:
    """Subtract from signs (R, n) their mean; with weights, from each the weighted sum of the others.

    The sign of a row that has most of the weight is nearly the whole mean, which would take its noise away.
    """
    mean = np.average(signs, axis=-1, weights=weights)[:, None]
    return signs - mean if weights is None else signs * (1 + weights / weights.sum()) - mean


def check_residuals(estimator: Estimator) -> None:
    """Refuse an estimator that signs cannot be multiplied into."""
    if estimator.residual_form == "none":
        raise ValueError(
            f"{estimator!r} depends on more than outcome - prediction, so signs cannot be multiplied into it; "
            "use Consistency(), or a statistic of residuals, for example ECE(EqualMass(15)) or "
            "DebiasedL2(EqualMass(15)). An estimator of your own declares residual_form = 'function'."
        )


def signed_values(evaluator: Evaluator, sample: Sample, signs: Floats) -> Floats:
    """Evaluate with residuals multiplied by signs (R, n), the fast way if there is one: (R, *shape)."""
    signed = evaluator.capabilities.signed
    if signed is not None:
        return signed(sample.outcomes, signs)
    predicted = sample.predictions.probabilities
    residual = np.eye(sample.predictions.n_classes)[sample.outcomes] - predicted
    size = max(1, NUMBERS_IN_MEMORY // max(1, predicted.size))
    parts = [signs[start : start + size, :, None] for start in range(0, len(signs), size)]
    return np.concatenate([evaluator(predicted + part * residual) for part in parts])


# Nulls that change the statistic a little before they test it, and cells that are merged until they can be tested.


@final
@dataclass(frozen=True)
class MergedCells(Binning):
    """Cells of another binning; neighbours are merged, by predictions alone, until each expects enough rows."""

    binning: Binning
    expected: float = 10  # least sum of the predictions, and of one minus them, in each cell, for every class
    columns: ClassVar[int | None] = None

    @property
    def reads(self) -> GivenNames:
        """What the other binning reads."""
        return self.binning.reads

    def cut(self, predictions: Predictions) -> Cells:
        """Cut, then go through the cells in order and close one when it expects enough."""
        cells = self.binning.cut(predictions)
        joined = join_scarce(cells.index, cells.size, predictions, self.expected)
        return Cells(int(joined.max()) + 1, joined[cells.index], "data")


def join_scarce(index: Ints, size: int, predictions: Predictions, expected: float) -> Ints:
    """Number neighbouring cells (L,) alike until each expects so many rows, in effect, of every outcome."""
    return join(
        expected_sums(index, size, predictions), lambda found: bool((effective_number(*found) >= expected).all())
    )


def expected_sums(index: Ints, size: int, predictions: Predictions) -> Floats:
    """(L, 2, m) sums of weights and of their squares that each cell expects of each outcome."""
    each = np.concatenate([predictions.components, 1 - predictions.components], axis=1).T
    masses = (1.0 if predictions.weights is None else predictions.weights, predictions.squared_weights)
    sums = [[np.bincount(index, mass * column, size) for column in each] for mass in masses]
    return np.moveaxis(np.array(sums), -1, 0)


def join(sums: Array, enough: Callable[[Array], bool]) -> Ints:
    """Number neighbouring cells (L, k) alike until their sums are enough; a remainder joins the last one."""
    joined, number, open_sums = np.empty(len(sums), dtype=np.intp), 0, np.zeros(sums.shape[1:])
    for cell, own in enumerate(sums):
        joined[cell] = number
        open_sums = open_sums + own
        if enough(open_sums):
            number, open_sums = number + 1, np.zeros(sums.shape[1:])
    return np.minimum(joined, max(number - 1, 0))


def merge_cells(estimator: Estimator, sample: Sample, expected: float) -> tuple[Estimator, str]:
    """Return the estimator on merged cells, where it has cells, and a note that says how many remain."""
    binning = estimator.cut_by
    if binning is None:
        return estimator, ""
    merged, predictions = MergedCells(binning, expected), sample.predictions
    before, after = (each.cut(predictions).size for each in (binning, merged))
    says = f"cells that expect fewer than {expected:g} events or non-events are merged: {after} of {before} remain"
    least = effective_number(*expected_sums(np.zeros(len(sample), dtype=np.intp), 1, predictions)[0]).min()
    if least < expected:
        by = "" if predictions.weights is None else "in effect, by weights, "
        says += f"; all rows together expect {least:.3g}, {by}fewer than that, so that p is rough"
    return estimator.recut(merged), f"; {says}"


@final
@dataclass(frozen=True, eq=False)
class LargerPValue(NullDistribution):
    """Two distributions of a statistic; the p-value is the larger of theirs."""

    redraw: EmpiricalNull  # under labels drawn anew
    multiplier: EmpiricalNull  # under signs multiplied into residuals

    @property
    def samples(self) -> Floats:
        """The values under redrawn labels: (R, ...)."""
        return self.redraw.samples

    @property
    def replicates(self) -> tuple[EmpiricalNull, ...]:
        """Both kinds."""
        return self.redraw, self.multiplier

    def pvalue(self, value: float) -> float:
        """Return the larger p-value."""
        return self._larger(value).pvalue(value)

    def pvalue_interval(self, value: float, confidence_level: float = 0.99) -> tuple[float, float]:
        """Return the Monte Carlo interval of the larger p-value."""
        return self._larger(value).pvalue_interval(value, confidence_level)

    def atoms(self) -> tuple[Floats, Floats]:
        """Return the values under redrawn labels."""
        return self.redraw.atoms()

    def quantile(self, q: float) -> Floats:
        """Return the larger quantile."""
        return np.maximum(self.redraw.quantile(q), self.multiplier.quantile(q))

    @property
    def mean(self) -> Floats:
        """The mean under redrawn labels: what noise alone gives."""
        return self.redraw.mean

    @property
    def floor(self) -> float:
        """One over the number of replicates plus one."""
        return self.redraw.floor

    @property
    def description(self) -> str:
        """The number of resamples, twice."""
        return f"{self.redraw.description} of each kind"

    def _larger(self, value: float) -> EmpiricalNull:
        first = self.redraw.pvalue(value) >= self.multiplier.pvalue(value)
        return self.redraw if first else self.multiplier


@final
@dataclass(frozen=True)
class Weak(Restating):
    r"""The weak null of a lens that conditions on a variable: E[outcome - prediction | variable] = 0.

    The strong null, `Consistency`, says that the outcome follows the prediction at every value of the variable *and*
    of the prediction; its redraws of labels reject 35 to 46 % of worlds that satisfy only the weak null. The
    multiplier needs no more than the weak null but rejects too often for rare events and small n. The p-value here is
    the larger of that of redrawn labels and that of centred signs (`Multiplier`, centred over all rows, never cell by
    cell). Asymptotic; measured size 1 to 7.5 % at level 5 % in worlds that satisfy the weak null.

    Neighbouring cells are merged until each expects `min_expected` events and as many non-events, in effect by weights
    (Kish 1965); the result says how many remain.

    Parameters
    ----------
    n_resamples : int
        Of each kind.
    min_expected : float

    Raises
    ------
    ValueError, TypeError
        If `n_resamples` is not an integer of at least 1, or `min_expected` is negative.

    Examples
    --------
    >>> import calibstat as cs
    >>> import numpy as np
    >>> from calibstat.nulls.multiplier import Weak
    >>> rng = np.random.default_rng(0)
    >>> age, chance = rng.random(2000), rng.random(2000)
    >>> happened = rng.random(2000) < 0.5 + 0.5 * (chance - 0.5)  # too bold at every age, right on average
    >>> sample = cs.Sample(happened, chance, variables={"age": age})
    >>> cs.calibration_test(sample, cs.VECE("age"), null=Weak(), rng=0).pvalue > 0.05
    True
    """

    n_resamples: Draws = 999
    min_expected: NotNegative = 10
    takes_clusters: ClassVar[bool] = True

    def restate(self, estimator: Estimator, sample: Sample) -> tuple[Estimator, str]:
        """Merge cells that expect too few events or non-events."""
        if ... in estimator.given(sample.predictions):
            raise ValueError(
                "Weak() is about the mean residual given a variable alone, but here the prediction is conditioned on, "
                "where there is one null: use Consistency(), or look through Given('a variable')."
            )
        return merge_cells(estimator, sample, self.min_expected)

    def draw(
        self, estimator: Estimator, sample: Sample, rng: np.random.Generator, evaluator: Evaluator | None = None
    ) -> NullDistribution:
        """Redraw labels, and multiply centred signs into residuals."""
        multiplier = Multiplier(self.n_resamples, centred=True)
        if sample.predictions.groups is not None:
            return multiplier.draw(estimator, sample, rng, evaluator)  # it redraws labels too
        evaluator = evaluator or estimator.prepare(sample.predictions)
        redraw = Consistency(self.n_resamples).draw(estimator, sample, rng, evaluator)
        return LargerPValue(redraw, multiplier.signs(estimator, sample, rng, evaluator))

    def hypothesis(self, lens: Lens, given: GivenNames, groups: Groups | None = None) -> str:
        """Say what was assumed: no error on average at any value."""
        names = " and ".join(map(repr, given))
        how = (
            "p is the larger of that of redrawn labels and that of centred random signs (asymptotic)"
            if groups is None
            else in_clusters(groups)
        )
        return f"given {names} alone, the mean of outcome - prediction seen through {lens!r} is zero (weak null); {how}"
