"""How many labels does a test need, and how small an error can it detect?"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import field
from math import ceil, isclose
from numbers import Real
from typing import Any, ClassVar, TypeAlias, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._progress import track
from calibstat._text import counted, percent
from calibstat.data.arrays import RNG, as_generator
from calibstat.data.parameters import LEVEL, at_least_one, check_kind, check_share, repeats
from calibstat.data.rounding import ROUNDING
from calibstat.data.sample import Sample
from calibstat.draws.labels import FEWEST_CLUSTERS
from calibstat.estimators.base import Estimator
from calibstat.estimators.squared import ECE
from calibstat.generators.base import SyntheticModel, without_warnings
from calibstat.generators.clustered import Clustered, Sizes
from calibstat.inference.arguments import check_lens, check_null
from calibstat.inference.results import Result, picked
from calibstat.inference.test import calibration_test
from calibstat.lenses.base import Lens
from calibstat.lenses.relabel import Canonical
from calibstat.nulls.base import Null
from calibstat.nulls.consistency import Consistency
from calibstat.planning.families import ErrorFamily, assumed, in_clusters
from calibstat.planning.search import Crossing, PowerCurve, Search, power_curve

_FIRST_N, _SMALLEST_N = 200, 10
_TOO_FEW = (
    "with n = {place:.0f}, the most that is allowed (max_n), the power is {share:.2f} ({runs} runs), but {power:g} "
    "is wanted: allow more labels, or want less power"
)
_NONE_SEEN = (
    "no effect is seen with power {{power:g}} in {labels}: at {{place:.4g}}, the largest of the family, the power is "
    "{{share:.2f}} ({{runs}} runs); take more labels, a wider family, or want less power"
)


def required_n(
    model: SyntheticModel | float,
    test: Estimator | PValue | None = None,
    *,
    lens: Lens | None = None,
    power: float = 0.8,
    max_n: int = 1_000_000,
    n_repeats: int = 1000,
    null: Null | str | None = None,
    level: float = LEVEL,
    n_resamples: int | None = None,
    cluster_size: Sizes | None = None,
    correlation: float | None = None,
    rng: RNG = None,
) -> RequiredN:
    """Find how many labels a test needs to reject a model with the wanted power.

    The power curve is simulated: n is doubled until the power is enclosed, then a probit line in sqrt(n) is fitted.

    Parameters
    ----------
    model : SyntheticModel or float
        The miscalibrated model: of `calibstat.generators`, or ``ErrorFamily(y_prob)(0.02)`` on predictions of your own.
        A number is the true error (ECE) of uniform predictions that are too extreme, ``ErrorFamily()(0.02)``.
    test : Estimator or callable, optional
        The statistic of `calibration_test`, with its lens, by default ``ECE(EqualMass(15))``; or a function (sample,
        rng) that returns a p-value, such as ``lambda sample, rng: omnibus_test(sample, rng=rng).pvalue``.
    lens : Lens, optional
        Looked through before the estimator's own, the same as ``lens | estimator``; of a function, before it.
    power : float
        The wanted probability of rejecting, above the level.
    max_n : int
        The largest number of labels to consider.
    n_repeats : int
        Simulated samples in all, at least; the power has a standard error of about 0.6 / sqrt(n_repeats).
    null : Null or name, optional
        Of `calibration_test`; by default labels are redrawn.
    level : float
        The test rejects if its p-value is at most this.
    n_resamples : int, optional
        Of the null, by default as many as the level needs; where `null` is an object, that says it.
    cluster_size, correlation : int, list of int or ParetoSizes; float, optional
        For rows in clusters: their sizes, and how much outcomes of a cluster correlate, as for `Clustered`, which is
        simulated and may be passed as `model` too. Rows of a cluster have the same prediction, the least favourable
        case; pass ``Clustered(model, size, correlation)`` for predictions that vary. A function as `test` must hold
        for ``sample.groups``.
    rng : int, Generator or None

    Returns
    -------
    RequiredN
        With ``n`` and ``interval``; prints itself in words.

    Raises
    ------
    ValueError
        If the wanted power is not reached with `max_n` labels.

    Examples
    --------
    >>> import calibstat as cs
    >>> from calibstat.generators import BetaPredictions, Slope
    >>> from calibstat.planning.planning import required_n
    >>> plan = required_n(BetaPredictions(1, 1, Slope(0.5)), cs.Spiegelhalter(), n_repeats=400, rng=0)
    >>> 60 < plan.n < 160
    True
    """
    world = ErrorFamily()(model) if isinstance(model, (int, float)) else model
    check_kind("model", world, SyntheticModel, "ErrorFamily(y_prob)(0.02)")
    world = in_clusters(world, cluster_size, correlation)
    planned, generator = (
        _planned(ECE() if test is None else test, lens, level, power, _null(null, n_resamples)),
        as_generator(rng),
    )
    low = min(_smallest_n(world), at_least_one("max_n", max_n))
    search = Search(power, low, max_n, repeats("n_repeats", n_repeats), root=True, whole=True, short=_TOO_FEW)
    first = min(max(_FIRST_N, 2 * low), max_n)
    crossing = search(lambda n, runs: planned.rejections(world, int(n), runs, generator), first)
    return RequiredN(planned, power, crossing, world, *_true_error(world, planned.lens))


def minimum_detectable(
    family: Callable[[float], SyntheticModel],
    n: int,
    test: Estimator | PValue,
    *,
    lens: Lens | None = None,
    bounds: tuple[float, float] | None = None,
    power: float = 0.8,
    n_repeats: int = 1000,
    null: Null | str | None = None,
    level: float = LEVEL,
    n_resamples: int | None = None,
    cluster_size: Sizes | None = None,
    correlation: float | None = None,
    rng: RNG = None,
) -> MinimumDetectable:
    """Find the smallest effect that a test detects in n labels with the wanted power.

    Parameters
    ----------
    family : callable
        Takes an effect and returns a model whose error grows with it: an `ErrorFamily`, where the effect is the true
        error, or for example ``lambda a: BetaPredictions(1, 1, LogitShift(a))``.
    n : int
        Number of labels.
    test, lens
        As for `required_n`.
    bounds : (float, float), optional
        Where to look for the effect, above zero; needed unless the family is an `ErrorFamily`.
    power, n_repeats, null, level, n_resamples, cluster_size, correlation, rng
        As for `required_n`.

    Returns
    -------
    MinimumDetectable
        With ``effect`` and ``interval``; prints itself in words.

    Raises
    ------
    ValueError
        If the wanted power is not reached within the bounds.

    Examples
    --------
    >>> import calibstat as cs
    >>> from calibstat.generators import BetaPredictions, LogitShift
    >>> from calibstat.planning.planning import minimum_detectable
    >>> found = minimum_detectable(
    ...     lambda a: BetaPredictions(1, 1, LogitShift(a)), 500, cs.Kuiper(), bounds=(0.01, 2), n_repeats=400, rng=0
    ... )
    >>> 0.2 < found.effect < 0.5
    True
    """
    low, high = _bounds(family, bounds)
    planned, generator = _planned(test, lens, level, power, _null(null, n_resamples)), as_generator(rng)
    size = at_least_one("n", n)
    short = _NONE_SEEN.format(labels=counted(size, "label"))
    search = Search(power, low, high, repeats("n_repeats", n_repeats), root=False, whole=False, short=short)

    def made(effect: float) -> SyntheticModel:
        return in_clusters(family(effect), cluster_size, correlation)

    crossing = search(lambda effect, runs: planned.rejections(made(effect), size, runs, generator), high / 4)
    model = made(crossing.place)
    return MinimumDetectable(planned, power, crossing, model, *_true_error(model, planned.lens), size)


def _smallest_n(world: SyntheticModel) -> int:
    """Return the number of rows that a search may go down to: ten, or of rows in clusters, those of ten clusters."""
    return _SMALLEST_N * (ceil(world.mean_size) if isinstance(world, Clustered) else 1)


def _null(null: Null | str | None, n_resamples: int | None) -> Null | None:
    """Return the null that was asked for, None where it is left to the level."""
    return None if null is None and n_resamples is None else check_null(null, n_resamples)


def _planned(test: Estimator | PValue, lens: Lens | None, level: float, power: float, null: Null | None) -> PlannedTest:
    planned = PlannedTest(test, level, null, check_lens(lens))
    if not level < power < 1:
        raise ValueError(f"power is {power!r}, but it must lie between the level, {level:g}, and 1: for example 0.8")
    return planned


def _bounds(family: Callable[[float], SyntheticModel], bounds: tuple[float, float] | None) -> tuple[float, float]:
    if bounds is None:
        if not isinstance(family, ErrorFamily):
            raise ValueError("bounds is missing: say where to look for the effect, for example bounds=(0.01, 1)")
        return 1e-4, 0.999 * family.largest
    low, high = bounds
    if not 0 < low < high:
        raise ValueError(f"bounds is {bounds!r}, but 0 < low < high is expected")
    return float(low), float(high)


def _true_error(model: SyntheticModel, lens: Lens) -> tuple[float | None, str]:
    """Return the true error of a model, None where it is not known, and which one it is."""
    try:
        return float(model.truth(lens | ECE())), f"unbinned ECE, total variation, through {lens!r}"
    except ValueError as reason:
        return None, str(reason)


PValue: TypeAlias = Callable[[Sample, np.random.Generator], float]
# The test still rejects if this many of the redraws exceed the data.
_EXCEEDANCES = 10


@dataclass(frozen=True)
class PlannedTest:
    """A test at a level, as it will be used: an estimator, or a function (sample, rng) that returns a p-value.

    The default null redraws labels as often as the level needs (199 times for five percent). The lens `before` comes
    before the test, and before the lens of its estimator.
    """

    test: Estimator | PValue
    level: float
    null: Null | None = None
    before: Lens = field(default_factory=Canonical)

    def __post_init__(self) -> None:
        check_share("level", self.level, LEVEL)
        if not isinstance(self.test, Estimator) and not callable(self.test):
            raise TypeError(f"test is {self.test!r}, but an estimator, or a function of (sample, rng), is expected")

    @property
    def lens(self) -> Lens:
        """All lenses that are looked through, as one."""
        return self.before | self.test.lens if isinstance(self.test, Estimator) else self.before

    @property
    def redraws(self) -> Null:
        """The null of the p-values."""
        return Consistency(ceil(_EXCEEDANCES / self.level) - 1) if self.null is None else self.null

    def pvalue(self, sample: Sample, rng: np.random.Generator) -> float:
        """Test a sample."""
        if isinstance(self.test, Estimator):
            if sample.groups is not None and sample.groups.number < FEWEST_CLUSTERS:
                return 1.0  # clusters of unequal sizes may be too few for a test, which then does not reject
            return calibration_test(sample, self.test, lens=self.before, null=self.redraws, rng=rng).pvalue
        found: Any = self.test(self.before(sample), rng)
        if not isinstance(found, Real) or not 0 <= float(found) <= 1:
            raise ValueError(
                f"the test {self} returned {found!r} for a sample of {counted(len(sample), 'row')}, but a p-value "
                "between 0 and 1 is expected: return 1.0 where the test cannot be done"
            )
        return float(found)

    def rejections(self, model: SyntheticModel, n: int, runs: int, rng: np.random.Generator) -> int:
        """Count rejections in fresh samples of n rows; where the search begins, cells may hold few of them."""
        with without_warnings():
            found = [self.pvalue(model.sample(n, rng), rng) <= self.level + ROUNDING for _ in track(range(runs), runs)]
        return int(np.count_nonzero(found))

    def __str__(self) -> str:
        if isinstance(self.test, Estimator):
            return f"calibration_test of {self.before | self.test!r}"
        before = f"{self.before!r} | " if self.before.parts else ""
        return before + getattr(self.test, "__name__", repr(self.test))


@dataclass(frozen=True, eq=False, repr=False)
class Plan(Result):
    """What every plan holds: the wanted power of a test, and where it is reached.

    `crossing` is that place, with its Monte Carlo error and everything that was simulated; `model` is the miscalibrated
    model. `true_error` is None where it is not known; `which_error` names it, or says why it is not known.
    """

    test: PlannedTest
    power: float
    crossing: Crossing
    model: SyntheticModel
    true_error: float | None
    which_error: str

    _display: ClassVar[str] = "PowerDisplay"
    _row: ClassVar[str] = "point"
    _root: ClassVar[bool]
    """Whether the power follows the root of the place, as it does for numbers of rows."""

    @property
    @abstractmethod
    def answer(self) -> tuple[str, str]:
        """The axis of a picture, and the answer in a line."""

    def curve(self) -> PowerCurve:
        """Return the power around the answer, with its Monte Carlo band."""
        return power_curve(self.crossing, self._root)

    @property
    def standard_error(self) -> float:
        """Monte Carlo standard error of the power at the answer."""
        return self.crossing.standard_error

    @property
    def size(self) -> str:
        """The true error in a word or two."""
        return "an error" if self.true_error is None else f"a calibration error of {self.true_error:.4g}"

    @property
    def error(self) -> str:
        """The true error in words: its size, and which one it is."""
        size = "unknown size" if self.true_error is None else f"{self.true_error:.4g}"
        return f"{size} ({self.which_error})"

    def _settings(self) -> dict[str, Any]:
        """Return what plans of both kinds hold."""
        return {
            "power": self.power,
            "power_standard_error": self.standard_error,
            "level": self.test.level,
            **({"design_effect": self.model.design_effect} if isinstance(self.model, Clustered) else {}),
            "test": str(self.test),
            "model": repr(self.model),
            **picked(self, "true_error which_error"),
            "n_repeats": int(self.crossing.points.runs.sum()),
        }

    def _rows(self) -> list[dict[str, Any]]:
        """Return the simulated points: place, runs, rejections."""
        points = self.crossing.points
        rows = zip(points.places, points.runs, points.rejections, strict=True)
        return [{"place": place, "runs": runs, "rejections": rejections} for place, runs, rejections in rows]

    def _details(self) -> list[tuple[str, str]]:
        return [
            ("test", f"{self.test} at level {self.test.level:g}"),
            ("model", repr(self.model)),
            ("error", self.error),
            (
                "runs",
                f"{int(self.crossing.points.runs.sum())} simulated samples; the power has a Monte Carlo standard error "
                f"of {self.standard_error:.2g}",
            ),
        ]


@final
@dataclass(frozen=True, eq=False, repr=False)
class RequiredN(Plan):
    """The result of `required_n`: ``n``, and ``interval``, its 95 % Monte Carlo interval.

    Parameters
    ----------
    test, power, crossing, model, true_error, which_error
        As for `Plan`: what was asked, and where the power is reached.
    """

    _root: ClassVar[bool] = True

    @property
    def answer(self) -> tuple[str, str]:
        """The axis of a picture, and the answer in a line."""
        low, high = self.interval
        return "number of labels", f"about {self.n:,} labels ({low:,} to {high:,})"

    @property
    def n(self) -> int:
        """Number of labels."""
        return int(self.crossing.place)

    @property
    def interval(self) -> tuple[int, int]:
        """95 % Monte Carlo interval of the number of labels."""
        return round(self.crossing.low), round(self.crossing.high)

    @property
    def verdict(self) -> str:
        """One sentence: the number of labels."""
        low, high = self.interval
        return (
            f"About {counted(self.n, 'label')} (95 %: {low} to {high}) are needed to see {self.size} with a chance of "
            f"{percent(self.power)}, in a test at {percent(self.test.level)}, if {assumed(self.model, self.test.lens)}."
        )

    def _values(self) -> dict[str, Any]:
        return {"n": self.n, "n_low": self.interval[0], "n_high": self.interval[1]} | self._settings()


@final
@dataclass(frozen=True, eq=False, repr=False)
class MinimumDetectable(Plan):
    """The result of `minimum_detectable`: ``effect``, and ``interval``, its 95 % Monte Carlo interval.

    Parameters
    ----------
    test, power, crossing, model, true_error, which_error
        As for `Plan`: what was asked, and where the power is reached.
    n : int
        Number of labels.
    """

    n: int

    _root: ClassVar[bool] = False

    @property
    def answer(self) -> tuple[str, str]:
        """The axis of a picture, and the answer in a line."""
        low, high = self.interval
        return f"effect, with {counted(self.n, 'label')}", f"about {self.effect:.3g} ({low:.3g} to {high:.3g})"

    @property
    def effect(self) -> float:
        """The smallest effect that is detected with the wanted power, in units of the family."""
        return self.crossing.place

    @property
    def interval(self) -> tuple[float, float]:
        """95 % Monte Carlo interval of the effect."""
        return self.crossing.low, self.crossing.high

    @property
    def verdict(self) -> str:
        """One sentence: the size of the effect, which is often the error itself."""
        low, high = self.interval
        itself = self.true_error is not None and isclose(self.effect, self.true_error, rel_tol=1e-6)
        what, more = ("a calibration error", "") if itself else ("an effect", f"; {self.size}")
        return (
            f"With {counted(self.n, 'label')} {what} of {self.effect:.3g} (95 %: {low:.3g} to {high:.3g}{more}) is "
            f"seen with a chance of {percent(self.power)}, in a test at {percent(self.test.level)}, if "
            f"{assumed(self.model, self.test.lens)}."
        )

    def _values(self) -> dict[str, Any]:
        low, high = self.interval
        return {"effect": self.effect, "effect_low": low, "effect_high": high, "n": self.n} | self._settings()
