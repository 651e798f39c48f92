"""Estimators: functions of a sample that do their work on predictions before they see an outcome.

``prepare`` sees predictions only and returns an `Evaluator`; the evaluator takes what moves (labels under a null,
weights under a bootstrap, known chances in a synthetic world). The data are replicate zero: the observed value, the
null draws, the bootstrap draws and the population truth all go through the same evaluator.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, TypeVar, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._progress import track
from calibstat._text import safe
from calibstat.binnings.base import Binning
from calibstat.data.arrays import Array, Floats, Ints
from calibstat.data.counted import needs_rows
from calibstat.data.parameters import HasParameters
from calibstat.data.sample import GivenNames, Predictions, Sample
from calibstat.lenses.base import Lens, View, refuse_empty
from calibstat.lenses.relabel import CANONICAL

if TYPE_CHECKING:  # it needs scipy.special, which takes twice as long to import as numpy
    from calibstat.estimators.large_sample import LargeSampleLaw
    from calibstat.estimators.tally import Tally, TallyPlan

ResidualForm: TypeAlias = Literal["none", "function", "seminorm", "pairs"]
Extreme: TypeAlias = Literal["large", "small", "either"]
Bounds: TypeAlias = tuple[tuple[float, float], tuple[float, float]]


def between(low: float = -math.inf, high: float = math.inf, of_more: float | None = None) -> Bounds:
    """Return the ends of the range of a value, for two classes and for more, whose upper end may be another."""
    return (low, high), (low, high if of_more is None else of_more)


@final
@dataclass(frozen=True, eq=False)
class CellTerms:
    """Writes a value as a combination of one term for each cell of a tally.

    `terms` takes outcome sums (..., L, c) to terms (..., L), each of which depends on the outcomes of its own cell
    only; `link` is an increasing function that takes the combined terms (...,) to the value.
    """

    terms: Callable[[Array], Floats]
    combine: Literal["sum", "max"]
    link: Callable[[Floats], Floats]


@final
@dataclass(frozen=True, eq=False)
class Expansion:
    r"""How the headline changes with the weights of rows: to first order, and through pairs of rows.

    .. math:: T(w') - T(w) \approx \sum_i \frac{w'_i - w_i}{w_i}\, \psi_i

    The influence (n,), :math:`\psi_i = w_i\, \partial T / \partial w_i`, is the contribution of each row. For
    independent rows the variance of the value is about the sum of squared influences; these sum to zero if a common
    factor of the weights changes nothing. The slope (n, c) is the derivative with respect to the chance of each row's
    outcome: of the event for two classes (c = 1), otherwise of each class. Where all outcomes are alike the influences
    show no noise, and the slope says how much there may be; it is None behind a lens. Both are computed when they are
    asked for, by `of_rows`. If the value is a sum over pairs of rows, `degenerate` is the part that pairs add: its
    variance remains where all influences vanish, as for a squared error under calibration.
    """

    value: float
    of_rows: Callable[[], tuple[Floats, Floats | None]]
    degenerate: PairsInCells | None = None
    variance: float | None = None  # of the first-order part, where sums over cells tell it

    @classmethod
    def known(cls, value: float, influence: Floats, slope: Floats | None = None) -> Expansion:
        """Make one whose influences and slopes are computed already."""
        return cls(value, lambda: (influence, slope))

    @cached_property
    def _rows(self) -> tuple[Floats, Floats | None]:
        return self.of_rows()

    @property
    def influence(self) -> Floats:
        """(n,) the first-order contribution of each row."""
        return self._rows[0]

    @property
    def slope(self) -> Floats | None:
        """(n, c) how the value moves with the chance of each row's outcome."""
        return self._rows[1]

    @classmethod
    def of_mean(cls, value: Floats, numbers: Floats, masses: Floats, table: Floats) -> Expansion:
        """Expand the mean of numbers (n,), taken by the outcomes from a table (n, K), under weights (n,)."""
        mean, share = float(value), masses / masses.sum()
        with np.errstate(invalid="ignore"):  # an infinite number has no finite influence
            slope = table[:, 1:] - table[:, :1] if table.shape[1] == 2 else table
            return cls.known(mean, share * (numbers - mean), share[:, None] * slope)

    def root(self) -> Expansion:
        """Expand the root of the value; at zero the root has no first-order part."""
        value = math.sqrt(max(self.value, 0.0))
        rate = 1 / (2 * value) if value > 0 else 0.0
        return Expansion.known(value, rate * self.influence, None if self.slope is None else rate * self.slope)

    @property
    def linear(self) -> float:
        """Return the variance of the first-order part."""
        return float(self.influence @ self.influence) if self.variance is None else self.variance

    def behind(self, view: View, n_rows: int) -> Expansion:
        """Return the expansion for the rows before a lens; rows that the lens leaves out have no influence."""
        if view.rows is None:
            return self
        pairs = None if self.degenerate is None else self.degenerate.among(view.rows, n_rows)
        influence = placed(self.influence, view.rows, n_rows)
        return Expansion(self.value, lambda: (influence, None), pairs, self.variance)


@final
@dataclass(frozen=True, eq=False)
class PairsInCells:
    """A sum over pairs of different rows of a common cell, in which the pair i, j adds <v_i, v_j>.

    Each row has its cell (n,), its weight (n,) if there are any, and v (n, c): how far its residual is from the mean of
    its cell, times how much it counts. That is `rate` (L,) for a row of its cell of weight one.
    """

    index: Ints
    rate: Floats
    weights: Floats | None
    residual: Callable[[], Floats]

    @cached_property
    def scale(self) -> Floats:
        """(n,) how much each row counts."""
        scale: Floats = np.take(self.rate, self.index)
        return scale if self.weights is None else self.weights * scale

    @cached_property
    def vectors(self) -> Floats:
        """(n, c) weighted residuals, of mean zero in each cell."""
        return self.residual() * self.scale[:, None]

    @property
    def variance(self) -> float:
        """The variance of the sum."""
        return 2 * self.cross(self)

    def cross(self, other: PairsInCells) -> float:
        """Sum <v_i, v_j> <u_i, u_j> over i != j in a common cell of both: half the covariance of two such sums."""
        both, cell = np.unique(self.index * (other.index.max(initial=0) + 1) + other.index, return_inverse=True)
        total = np.zeros(len(both))
        for first in self.vectors.T:
            for second in other.vectors.T:
                total += np.bincount(cell, first * second, minlength=len(both)) ** 2
        own = (self.vectors**2).sum(axis=1) * (other.vectors**2).sum(axis=1)
        return float(total.sum() - own.sum())

    def among(self, rows: Ints, n_rows: int) -> PairsInCells:
        """Return the same sum over `n_rows` rows, of which these are `rows`."""
        weights = np.ones(len(rows)) if self.weights is None else self.weights
        index, weights = placed(self.index, rows, n_rows), placed(weights, rows, n_rows)
        return PairsInCells(index, self.rate, weights, lambda: placed(self.residual(), rows, n_rows))


def placed(values: Array, rows: Ints, n_rows: int) -> Array:
    """Put values (m, ...) at these rows of `n_rows`; others are zero."""
    found = np.zeros((n_rows, *values.shape[1:]), values.dtype)
    found[rows] = values
    return found


@final
@dataclass(frozen=True, eq=False)
class Capabilities:
    """All that an evaluator may offer besides its call and its `present`; everything here is optional.

    How a wrapper (a lens in front, a headline, a group, a family) passes capabilities on is written here, once for each
    kind of wrapper: `behind`, `mapped`, `stacked`.

    - `tally`: the plan of the sums over cells that suffice, for outcomes as `tally.predictions` has them.
    - `from_tally`: takes outcome sums (..., L, c) to values ``(..., *shape)``. Nulls then draw the sums themselves,
      at a cost that does not grow with n.
    - `from_tallies`: takes whole tallies to values, if the value depends on nothing else even when predictions are
      redrawn. The bootstrap and `Consistency` then draw whole tallies.
    - `terms`: writes the headline as one term for each cell, from which `Exact` computes its law without drawing.
    - `linear`: returns what each outcome of each row adds to the headline, (K, n), if it is such a sum: its law is
      then computed too.
    - `signed`: takes outcomes and signs (..., n) to the values in which the residual outcome - prediction of each row
      is multiplied by its sign (any number, one for each row). It exists where the value depends on these residuals
      only (`Estimator.residual_form`). Without it `Multiplier` passes prediction + sign * (outcome - prediction) as
      chances.
    - `large_sample`: takes a Generator (for moments estimated from random probes) and returns the law of the headline
      in large samples, under calibration and given the predictions, for `Asymptotic`.
    - `law_of_walk`: returns that law where the headline is a distance of the walk of residuals from zero, which is
      about as likely to be far from zero as their sum is: its far tail is known too.
    - `standard_deviation`: returns the standard deviation of the headline under the null, from the predictions alone,
      or None; called when `scale` is asked for.
    - `expansion`: takes outcomes (n,) to the `Expansion` of the headline, for intervals and comparisons by influence.
    - `batch_size`: the smallest number of replicates to pass at once, where they share costly work. It affects values
      only by the rounding of matrix products.
    - `remark`: takes outcomes (n,) to a sentence on where the observed value comes from, or an empty text.
    - `meaning`: takes outcomes (n,), the null mean, the interval (or None) and its level to a sentence on what the
      value means, which is then the verdict of an estimate.
    - `fewest`: takes outcomes (n,) to the fewest rows of one outcome in a cell, for the record of a result.
    - `nearby`: takes outcomes (n,) to the two numbers from which an interval by the `noise_form` reaches down and up,
      where that bounds the noise of most rows only, and the value is a quantile over rows.
    - `peaks`: takes outcomes (n,) to numbers (m,), of which the value is the largest, and to how far each moves at most
      while the noise form is one (m,), for intervals; without it that is one for the value.
    """

    tally: TallyPlan | None = None
    from_tally: Callable[[Array], Floats] | None = None
    from_tallies: Callable[[Tally], Floats] | None = None
    terms: CellTerms | None = None
    linear: Callable[[], Floats] | None = None
    signed: Callable[[Array, Array], Floats] | None = None
    large_sample: Callable[[np.random.Generator], LargeSampleLaw] | None = None
    law_of_walk: Callable[[], LargeSampleLaw] | None = None
    standard_deviation: Callable[[], float | None] | None = None
    expansion: Callable[[Array], Expansion] | None = None
    batch_size: int = 1
    remark: Callable[[Array], str] | None = None
    meaning: Callable[[Array, float, tuple[float, float] | None, float], str] | None = None
    peaks: Callable[[Array], tuple[Floats, Floats]] | None = None
    nearby: Callable[[Array], tuple[float, float]] | None = None
    fewest: Callable[[Array], float] | None = None

    @property
    def scale(self) -> float | None:
        """The standard deviation of the headline under the null, known from the predictions alone, or None."""
        return None if self.standard_deviation is None else self.standard_deviation()

    def behind(self, view: View) -> Capabilities:
        """Return the capabilities behind a lens; those that take rows take those before the lens, or are left out."""
        signed, expansion, remark = self.signed, self.expansion, self.remark
        meaning, peaks, nearby, fewest = self.meaning, self.peaks, self.nearby, self.fewest
        return replace(
            self,
            linear=None,  # of the rows that the lens shows
            signed=signed and (lambda outcomes, signs: signed(view.outcomes(outcomes), view.weights(signs))),
            expansion=expansion and (lambda rows: expansion(view.outcomes(rows)).behind(view, len(rows))),
            remark=remark and (lambda outcomes: remark(shown(outcomes, view))),
            peaks=peaks and (lambda outcomes: peaks(shown(outcomes, view))),
            nearby=nearby and (lambda outcomes: nearby(shown(outcomes, view))),
            fewest=fewest and (lambda outcomes: fewest(shown(outcomes, view))),
            meaning=meaning and (lambda outcomes, *known: meaning(shown(outcomes, view), *known)),
        )

    def mapped(self, function: Callable[[Floats], Floats]) -> Capabilities:
        """Return the capabilities when values are mapped to their headline: all, as the others concern the headline."""
        signed = self.signed
        return replace(
            self,
            from_tally=_then(self.from_tally, function),
            from_tallies=_then(self.from_tallies, function),
            signed=signed and (lambda outcomes, signs: function(signed(outcomes, signs))),
        )

    @staticmethod
    def stacked(members: Sequence[Capabilities]) -> Capabilities:
        """Return the capabilities of several numbers evaluated on the same rows: `signed` if all members have it.

        The batch size is the largest of theirs, and `fewest` the smallest of those that have cells. Whether members
        share a tally is known only to the caller. The terms, scale, law and expansion of a headline over members are
        not those of the members, and are left out.
        """
        signed = [each.signed for each in members if each.signed is not None]
        fewest = [each.fewest for each in members if each.fewest is not None]

        def all_signed(outcomes: Array, signs: Array) -> Floats:
            return np.stack([each(outcomes, signs) for each in signed], axis=-1)

        return Capabilities(
            signed=all_signed if members and len(signed) == len(members) else None,
            batch_size=max((each.batch_size for each in members), default=1),
            fewest=(lambda outcomes: min(each(outcomes) for each in fewest)) if fewest else None,
        )


_Given = TypeVar("_Given")


def _then(
    first: Callable[[_Given], Floats] | None, second: Callable[[Floats], Floats]
) -> Callable[[_Given], Floats] | None:
    return None if first is None else lambda given: second(first(given))


class Evaluator(ABC):
    """A prepared statistic: what ``prepare`` returns; `shape` is that of a single value, () for a number."""

    shape: tuple[int, ...] = ()
    standard_errors: ClassVar[list[int]] = []
    """Which of the values are standard errors of others, so that a correction of those leaves them as they are."""
    _known: tuple[Ints, Floats] | None = None

    @abstractmethod
    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        """Evaluate replicates: the same statistic for several sets of labels, chances or weights.

        Parameters
        ----------
        outcomes : (..., n) ints or (..., n, K) floats
            Labels as column numbers, or the known chances of each label.
        weights : (..., n) floats, optional
            Row weights of each replicate; they multiply the weights of the sample.

        Returns
        -------
        values : (..., *shape) floats
        """

    def of(self, sample: Sample) -> Floats:
        """Return the value of a sample, which several steps of a test ask for; that of the last one is kept."""
        if self._known is None or self._known[0] is not sample.outcomes:
            object.__setattr__(self, "_known", (sample.outcomes, self(sample.outcomes)))
        return self._known[1]  # type: ignore[index]

    @property
    def capabilities(self) -> Capabilities:
        """What the evaluator offers besides its call; by default nothing, which suffices for every null."""
        return Capabilities()

    def present(self, value: Floats) -> Any:
        """Turn the observed value (replicate zero) into what users see: by default a float, or the array."""
        return float(value) if np.ndim(value) == 0 else value


class Estimator(HasParameters, ABC):
    """A measure of miscalibration, called on a sample; subclasses are frozen dataclasses and write `prepare`."""

    in_messages: ClassVar[str] = "an estimator, such as ECE()"

    quantity: ClassVar[str] = "value of the estimator"
    """What the number measures, in words and with its units; results print it."""
    two_outcomes: ClassVar[bool] = False
    """Whether the estimator needs a single event: for more than two classes an error then names a suitable lens."""
    along_one_column: ClassVar[bool] = False
    """Whether the estimator orders or smooths rows along the one conditioned column, without a binning."""
    takes_counts: ClassVar[bool] = False
    """Whether equal predictions may be given as one row, with its share of events, and their number as its weight."""
    reads_buckets: bool = False
    """Whether sums over cells of rows, events and predictions suffice, so that rows may be whole buckets of them."""
    extremes: ClassVar[int] = 0
    """How many extremes of a walk the value adds up, of which pooled rows miss a little (`pooled.missed`)."""
    unconditional: ClassVar[bool] = False
    """Whether the value is the same whatever is conditioned on."""
    bounds: ClassVar[Bounds] = between()
    """The smallest and the largest value of the headline (what correcting a bias adds aside): intervals end there."""
    has_headline: ClassVar[bool] = True
    """Whether there is a single number for a test."""
    test_statistic: ClassVar[bool] = False
    """Whether the value grows with the number of rows where the model is miscalibrated: it has no true value."""
    finite_range: ClassVar[bool] = False
    """Whether only worlds with finitely many predictions have a true value."""
    compares_labels: ClassVar[bool] = False
    """Whether labels are compared with each other, so that the limit of its values is not that of chances."""
    by_rows: ClassVar[str] = ""
    """What depends on how many rows there are, or on how they are listed, so that there is no true value; in words."""
    calibrated: ClassVar[Mapping[str, float]] = {}
    """What a calibrated model has of the numbers of a record, by field, where that does not depend on the rows."""
    weak: ClassVar[str] = ""
    """Why a test of it finds few errors that another statistic would find, in words."""
    undefined: ClassVar[str] = ""
    """When a value, or a number in it, is not defined (NaN), in words."""
    headline_place: ClassVar[int | None] = None
    """The position of the tested number among several, if it is one of them."""
    root: bool = False
    """Whether the value is the signed root of its `squared_form`; ends of intervals are then roots too."""
    extreme: ClassVar[Extreme] = "large"
    """Which values of the headline are evidence of miscalibration."""
    noise_power: ClassVar[float] = 1
    """The power of a seminorm of the residuals that the value is, if it is one."""
    interval_about: ClassVar[str] = ""
    """What an interval is for, where that is not the estimand, in words; results print it."""
    no_interval: ClassVar[str] = ""
    """Why there is no interval, or which estimator has one instead, in words; results print it."""
    residual_form: ClassVar[ResidualForm] = "none"
    """How the value depends on the residuals outcome - prediction, given the predictions.

    "none": it depends on more than the residuals; "function": on them alone; "seminorm": also
    ``|e(r) - e(s)| <= e(r - s)`` and e(-r) = e(r); "pairs": it is a sum over
    pairs of different rows, and `signed` alone evaluates it with signs.
    """

    def _repr_html_(self) -> str:
        """Return the estimator as it is written, and what it measures, for notebooks."""
        from calibstat._screen import Screen

        return Screen(safe(f"{self!r}\n{self.quantity}")).html()

    @property
    def lens(self) -> Lens:
        """The lens in front of the estimator; ``estimator.lens | estimator.core == estimator``."""
        return CANONICAL

    @property
    def core(self) -> Estimator:
        """The estimator without its lens."""
        return self

    @property
    def estimand(self) -> Estimator:
        """What the estimator estimates: an estimator for populations with known chances; by default itself."""
        return self

    @property
    def is_error(self) -> bool:
        """Whether the headline is an error: a large value is worse, and noise alone gives some."""
        return self.extreme == "large"

    @property
    def squared_form(self) -> Estimator | None:
        """The debiased squared error in the same cells, which comparisons use; None if there is none."""
        return None

    @property
    def noise_form(self) -> Estimator | None:
        """What bounds the noise e(y) - e(q) of labels y with chances q, evaluated on y - q; None if nothing does.

        For a seminorm, or a power of one, it is the estimator itself, by the triangle inequality.
        """
        return self if self.residual_form == "seminorm" or self.noise_power != 1 else None

    def value_range(self, n_classes: int) -> tuple[float, float]:
        """Return the two `bounds` for that number of classes; a seminorm is never negative."""
        low, high = self.bounds[n_classes > 2]
        return (max(low, 0.0) if self.residual_form == "seminorm" else low), high

    @abstractmethod
    def prepare(self, predictions: Predictions) -> Evaluator:
        """Do all work that needs no outcome; called once for each set of predictions."""

    def reads_counts(self, n_classes: int) -> bool:
        """Whether a row may stand for several, with their share of each outcome as its chance; weights are of all."""
        return self.takes_counts and n_classes == 2

    def expect_rows(self, predictions: Predictions) -> None:
        """Raise where rows are buckets, unless this estimator can read them, in cells of whole ones."""
        if predictions.buckets is None:
            return
        what = repr(self) if not self.reads_buckets else self.cut_by and self.cut_by.cuts_buckets(predictions)
        if what:
            raise needs_rows(what, len(predictions))
        for member in self.members:
            member.expect_rows(predictions)

    def headline(self, values: Floats) -> Floats:
        """Reduce values ``(..., *shape)`` to the one number that is tested; by default the values themselves."""
        return values if self.headline_place is None else values[..., self.headline_place]

    def evidence(self, values: Floats) -> Floats:
        """Order headline values so that larger is stronger evidence of miscalibration."""
        if self.extreme == "large":
            return values
        return -values if self.extreme == "small" else np.abs(values)

    def evidences(self, values: Floats) -> Floats:
        """Order the numbers of an estimator that gives several (..., J), as `evidence` orders one."""
        return self.evidence(values)

    @property
    def members(self) -> tuple[Estimator, ...]:
        """The estimators that this one combines; none by default."""
        return ()

    def parts(self, predictions: Predictions) -> Sequence[Estimator]:  # noqa: ARG002
        """Return what each of several numbers is of, with its lens, on these predictions."""
        return self.members

    @property
    def numbers(self) -> Mapping[str, Estimator]:
        """Numbers of the record that it gives, by the names of their fields, as estimators with intervals."""
        return {}

    @property
    def cut_by(self) -> Binning | None:
        """The binning that cuts its cells: the field `binning`, if there is one."""
        return vars(self).get("binning")

    @property
    def reads(self) -> GivenNames:
        """What its cells read whatever is conditioned on: a null that is tested with it is given that too."""
        own = () if self.cut_by is None else self.cut_by.reads
        return (*own, *(name for member in self.members for name in member.reads))

    def given(self, predictions: Predictions) -> GivenNames:
        """Return what is conditioned on, and what the cells read."""
        return tuple(dict.fromkeys([*predictions.given, *self.reads]))

    def recut(self, binning: Binning) -> Estimator:
        """Return the same estimator on other cells."""
        recut: Estimator = replace(self, binning=binning)  # type: ignore[type-var]
        return recut

    if not TYPE_CHECKING:  # a type checker would take it for the name of the class

        @property
        def __name__(self) -> str:
            """The name of the class, as scikit-learn asks it of a metric."""
            return type(self).__name__

    @final
    def __call__(self, sample: Sample, y_prob: Any = None, *, sample_weight: Any = None) -> Any:
        """Evaluate on a sample, or as a metric on (y_true, y_prob); an error says why there is no row, or no value."""
        if y_prob is not None:
            sample = Sample(sample, y_prob, sample_weight=sample_weight)
        _expect_sample(sample)
        lens = self.lens
        seen = sample if lens is CANONICAL else lens(sample)
        refuse_empty(seen, lens)
        self.core.expect_rows(seen.known)
        seen = seen.read_by(self.core.reads_counts, buckets=True)
        evaluator = self.core.prepare(seen.predictions)
        value = evaluator(seen.outcomes)
        if self.has_headline and _all_missing(self.core.headline(value)):
            raise ValueError(f"{self!r} has no value on this sample (NaN): {why_undefined(self)}.")
        return evaluator.present(value)

    @final
    def __ror__(self, lens: Any) -> Estimator:
        """Look through a lens first: ``lens | estimator``."""
        if not isinstance(lens, Lens):
            return NotImplemented
        whole = lens | self.lens
        return Through(whole, self.core) if whole.parts else self.core


def _all_missing(values: Floats) -> bool:
    missing = np.isnan(values)
    return bool(missing.all() if missing.ndim else missing)


def why_undefined(estimator: Estimator) -> str:
    """Say when an estimator, or one that it combines, gives NaN."""
    found = [estimator.undefined, *map(why_undefined, estimator.members)]
    return next(filter(None, found), "it is not defined for these rows")


def common_form(forms: Iterable[ResidualForm]) -> ResidualForm:
    """Return the form of a norm of values of these forms; "pairs" among other forms counts as "none"."""
    found = set(forms)
    if "none" in found or ("pairs" in found and len(found) > 1):
        return "none"
    return "seminorm" if found == {"seminorm"} else "function"


class Forwarding(Estimator):
    """An estimator around another one; it answers as that one does, unless it says otherwise."""

    estimator: Estimator

    @property
    def quantity(self) -> str:  # type: ignore[override]
        """What the number of the estimator inside measures."""
        return self.estimator.quantity

    @property
    def residual_form(self) -> ResidualForm:  # type: ignore[override]
        """How the estimator inside depends on residuals."""
        return self.estimator.residual_form

    @property
    def members(self) -> tuple[Estimator, ...]:
        """The estimator inside."""
        return (self.estimator,)

    def value_range(self, n_classes: int) -> tuple[float, float]:
        """Return that of the estimator inside."""
        return self.estimator.value_range(n_classes)

    def evidence(self, values: Floats) -> Floats:
        """Order values as the estimator inside does."""
        return self.estimator.evidence(values)


@final
@dataclass(frozen=True)
class Through(Forwarding):
    """An estimator behind a lens; made by ``lens | estimator``. Its residuals are sums of those before the lens."""

    through: Lens
    estimator: Estimator
    reads_buckets = True  # as the inner estimator says, and the lens

    @property
    def lens(self) -> Lens:
        """The lens that is looked through first."""
        return self.through

    @property
    def core(self) -> Estimator:
        """The estimator without the lens."""
        return self.estimator

    @property
    def estimand(self) -> Estimator:
        """The inner estimand, through the same lens."""
        return self.through | self.estimator.estimand

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Look through the lens, then prepare the inner estimator."""
        view = self.through.look(predictions)
        if view.recoding is not None and predictions.buckets is not None:
            raise needs_rows(repr(self.through), len(predictions))
        return _ThroughEvaluator(view, self.estimator.prepare(view.predictions))

    def headline(self, values: Floats) -> Floats:
        """Reduce values as the inner estimator does."""
        return self.estimator.headline(values)

    def evidences(self, values: Floats) -> Floats:
        """Order numbers as the inner estimator does."""
        return self.estimator.evidences(values)

    def __repr__(self) -> str:
        return f"{self.through!r} | {self.estimator!r}"


class _ThroughEvaluator(Evaluator):
    def __init__(self, view: View, inner: Evaluator) -> None:
        self.view = view
        self.inner = inner
        self.shape = inner.shape

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        return self.inner(shown(outcomes, self.view), None if weights is None else self.view.weights(weights))

    @property
    def capabilities(self) -> Capabilities:
        return self.inner.capabilities.behind(self.view)

    def present(self, value: Floats) -> Any:
        return self.inner.present(value)


@final
@dataclass(frozen=True)
class Headline(Forwarding):
    """The one number of an estimator that gives several: the one that is tested."""

    estimator: Estimator

    @property
    def estimand(self) -> Estimator:
        """The headline of the inner estimand."""
        found = self.estimator.estimand
        return found if isinstance(found, Headline) else Headline(found)

    reads_buckets = True  # as the inner estimator says

    @property
    def takes_counts(self) -> bool:  # type: ignore[override]
        """Whether the inner estimator takes them."""
        return self.estimator.takes_counts

    def reads_counts(self, n_classes: int) -> bool:
        """Whether the inner estimator does."""
        return self.estimator.reads_counts(n_classes)

    def prepare(self, predictions: Predictions) -> Evaluator:
        """Prepare the inner estimator; if its value is a number, it is the headline."""
        self.estimator.expect_rows(predictions)
        inner = self.estimator.prepare(predictions)
        return _HeadlineEvaluator(self.estimator, inner) if inner.shape else inner

    def __repr__(self) -> str:
        return repr(self.estimator)


class _HeadlineEvaluator(Evaluator):
    def __init__(self, estimator: Estimator, inner: Evaluator) -> None:
        self.estimator = estimator
        self.inner = inner

    def __call__(self, outcomes: Array, weights: Array | None = None) -> Floats:
        return self.estimator.headline(self.inner(outcomes, weights))

    @cached_property
    def capabilities(self) -> Capabilities:
        return self.inner.capabilities.mapped(self.estimator.headline)


def two_classes(estimator: Estimator, predictions: Predictions) -> None:
    """Raise an error that names suitable lenses unless there are two classes."""
    if predictions.n_classes != 2:
        raise ValueError(
            f"{estimator!r}: this estimator needs 2 classes, got {predictions.n_classes}: look through a lens first, "
            "for example TopLabel() or ClassWise(label)."
        )


def numeric_column(estimator: Estimator, predictions: Predictions, does: str = "puts rows in the order of") -> Floats:
    """Return the one conditioned column of numbers (n,), or raise; `does` is the verb of the message."""
    if len(predictions.keys) != 1:
        raise ValueError(
            f"{estimator!r} {does} one column, but {len(predictions.keys)} are conditioned on "
            f"({predictions.condition}): condition on one of them, for example Given('age'), or Given(...) for the "
            "prediction."
        )
    variable = predictions.column(predictions.keys[0])
    if variable.categorical:
        raise ValueError(
            f"{estimator!r} {does} numbers, but the variable {predictions.keys[0]!r} is categorical with levels "
            f"{variable.levels!r}; use cells, for example ECE(Categories())."
        )
    return variable.values


def unweighted(estimator: Estimator, predictions: Predictions, weights: Array | None = None) -> None:
    """Raise if there are weights, for an estimator without a weighted theory."""
    if predictions.weights is not None or weights is not None:
        raise ValueError(
            f"{estimator!r} has no weighted version: there is no theory for one. Leave the weights out, or use an "
            "estimator on cells, for example ECE(EqualMass(15))."
        )


def happened(outcomes: Array) -> Floats:
    """Return the indicator of the event, (..., n), or its known chance where chances (..., n, 2) are given."""
    return outcomes[..., 1] if is_chances(outcomes) else outcomes.astype(float)


def is_chances(outcomes: Array) -> bool:
    """Whether these are known chances (..., n, K), and not labels (..., n)."""
    return bool(np.issubdtype(outcomes.dtype, np.floating))


def shown(outcomes: Array, view: View) -> Array:
    """Return what a view shows of labels (..., n) or chances (..., n, K)."""
    return view.chances(outcomes) if is_chances(outcomes) else view.outcomes(outcomes)


def all_weights(predictions: Predictions, weights: Array | None) -> Floats:
    """Return the product of the sample's weights and further ones, (..., n) or (n,); ones if there are none."""
    own = np.ones(len(predictions)) if predictions.weights is None else predictions.weights
    return own if weights is None else own * weights


def residual_vectors(predictions: Predictions, outcomes: Array) -> Floats:
    """Return outcome - prediction for labels (R, n) or chances (R, n, K): (R, c, n), with c = 1 for two classes."""
    chances = is_chances(outcomes)
    if predictions.n_classes == 2:
        return np.asarray((outcomes[..., 1] if chances else outcomes) - predictions.event)[:, None, :]
    codes = np.arange(predictions.n_classes)[:, None]
    hits = np.swapaxes(outcomes, 1, 2) if chances else outcomes[:, None, :] == codes
    return np.subtract(hits, predictions.probabilities.T, order="C")


def squared_residuals(predictions: Predictions, chances: Floats) -> Floats:
    """Return the mean (event - prediction)^2 of the rows that each row stands for, of chances (R, n, 2): (R, n)."""
    return chances[..., 1] * (1 - 2 * predictions.event) + predictions.event**2


# How many numbers are held at once while replicates are evaluated: 32 MiB of floats.
NUMBERS_IN_A_BATCH = 2**22
# The same for evaluators that read these numbers repeatedly, so that they stay in the cache of most processors.
NUMBERS_IN_A_SMALL_BATCH = 2**17


def in_batches(
    evaluate: Callable[[Array, Array | None], Floats],
    outcomes: Array,
    weights: Array | None,
    width: int = 1,
    numbers: int = NUMBERS_IN_A_BATCH,
) -> Floats:
    """Evaluate replicates with one leading axis, a batch at a time, and give the leading axes back: (..., *shape).

    `evaluate` takes outcomes (R, n) or chances (R, n, K), and weights (R, n) or None, to (R, *shape). A row of a
    replicate takes up `width` numbers, of which `numbers` may be held at once.
    """
    tail = 2 if is_chances(outcomes) else 1
    leading, trailing = outcomes.shape[:-tail], outcomes.shape[-tail:]
    if weights is not None:
        leading = np.broadcast_shapes(leading, weights.shape[:-1])
        weights = np.broadcast_to(weights, (*leading, weights.shape[-1])).reshape(prod(leading), weights.shape[-1])
    flat = np.broadcast_to(outcomes, (*leading, *trailing)).reshape(prod(leading), *trailing)
    step = max(1, numbers // max(1, width * trailing[0]))
    starts = range(0, max(1, len(flat)), step)
    parts = [
        evaluate(flat[start : start + step], None if weights is None else weights[start : start + step])
        for start in track(starts, len(starts))
    ]
    values = np.concatenate(parts)
    return values.reshape((*leading, *values.shape[1:]))


def _expect_sample(given: Any) -> None:
    if not isinstance(given, Sample):
        kind = type(given).__name__
        raise TypeError(f"a Sample is expected, or y_true and y_prob, but an object of type {kind} was found alone")
