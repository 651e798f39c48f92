"""How many labels does a test need, and how small an error can it see?"""

from __future__ import annotations

from collections.abc import Callable

from calibstat.arrays import RNG, as_generator
from calibstat.checks import at_least_one
from calibstat.estimators.base import Estimator
from calibstat.estimators.cells.miscalibration import ECE
from calibstat.generators.base import SyntheticModel
from calibstat.lenses.canonical import Canonical
from calibstat.nulls.base import Null
from calibstat.planning.families import ErrorFamily
from calibstat.planning.power import PlannedTest, PValue
from calibstat.planning.results import MinimumDetectable, RequiredN
from calibstat.planning.search import Search

_FIRST_N, _SMALLEST_N = 200, 10
_TOO_FEW = (
    "with {place:.0f} labels, the most that are allowed (max_n), the power is {share:.2f} ({runs} runs), but {power:g} "
    "is wanted: allow more labels, or want less power"
)
_NONE_SEEN = (
    "no effect is seen with power {{power:g}} in {n} labels: at {{place:.4g}}, the largest of the family, the power is "
    "{{share:.2f}} ({{runs}} runs); take more labels, a wider family, or want less power"
)


def required_n(
    model: SyntheticModel,
    test: Estimator | PValue,
    *,
    power: float = 0.8,
    level: float = 0.05,
    null: Null | None = None,
    max_n: int = 1_000_000,
    n_runs: int = 1000,
    rng: RNG = None,
) -> RequiredN:
    """Find how many labels a test needs to reject a model with the wanted power.

    The power curve is simulated: bracketed by doubling n, then sharpened by a probit line in the root of n.

    Parameters
    ----------
    model : SyntheticModel
        The model that is to be found out: of `calibstat.generators`, or ``ErrorFamily(y_prob)(0.02)`` on predictions
        of your own.
    test : Estimator or callable
        The statistic of `calibration_test`, with its lens; or a function (sample, rng) that returns a p-value, such
        as ``lambda sample, rng: omnibus_test(sample, rng=rng).pvalue``.
    power : float
        Chance of rejecting that is wanted, above the level.
    level : float
    null : Null, optional
        Of `calibration_test`; by default labels are redrawn as often as the level needs.
    max_n : int
        No more labels than these are thought of.
    n_runs : int
        Simulated samples in all, at least; the power has a standard error of about 0.6 / sqrt(n_runs).
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
    >>> plan = required_n(BetaPredictions(1, 1, Slope(0.5)), cs.Spiegelhalter(), n_runs=400, rng=0)
    >>> 60 < plan.n < 160
    True
    """
    if not isinstance(model, SyntheticModel):
        raise TypeError(
            f"model is of type {type(model).__name__}, but a synthetic model is expected: for example "
            "ErrorFamily(y_prob)(0.02)"
        )
    planned, generator = _planned(test, level, power, null), as_generator(rng)
    low = min(_SMALLEST_N, at_least_one("max_n", max_n))
    search = Search(power, low, max_n, at_least_one("n_runs", n_runs), root=True, whole=True, short=_TOO_FEW)
    crossing = search(lambda n, runs: planned.rejections(model, int(n), runs, generator), min(_FIRST_N, max_n))
    return RequiredN(planned, power, crossing, model, *_true_error(model, test))


def minimum_detectable(
    family: Callable[[float], SyntheticModel],
    n: int,
    test: Estimator | PValue,
    *,
    bounds: tuple[float, float] | None = None,
    power: float = 0.8,
    level: float = 0.05,
    null: Null | None = None,
    n_runs: int = 1000,
    rng: RNG = None,
) -> MinimumDetectable:
    """Find the smallest effect that a test sees in n labels with the wanted power.

    Parameters
    ----------
    family : callable
        Returns the model of each effect, which is wrong the more the larger the effect: an `ErrorFamily`, where the
        effect is the true error, or for example ``lambda a: BetaPredictions(1, 1, LogitShift(a))``.
    n : int
        Number of labels.
    test : Estimator or callable
        As for `required_n`.
    bounds : (float, float), optional
        Where to look for the effect, above zero; needed unless the family is an `ErrorFamily`.
    power, level, null, n_runs, rng
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
    ...     lambda a: BetaPredictions(1, 1, LogitShift(a)), 500, cs.Kuiper(), bounds=(0.01, 2), n_runs=400, rng=0
    ... )
    >>> 0.2 < found.effect < 0.5
    True
    """
    low, high = _bounds(family, bounds)
    planned, generator = _planned(test, level, power, null), as_generator(rng)
    size = at_least_one("n", n)
    short = _NONE_SEEN.format(n=size)
    search = Search(power, low, high, at_least_one("n_runs", n_runs), root=False, whole=False, short=short)
    crossing = search(lambda effect, runs: planned.rejections(family(effect), size, runs, generator), high / 4)
    model = family(crossing.place)
    return MinimumDetectable(planned, power, crossing, model, *_true_error(model, test), size)


def _planned(test: Estimator | PValue, level: float, power: float, null: Null | None) -> PlannedTest:
    planned = PlannedTest(test, level, null)
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


def _true_error(model: SyntheticModel, test: Estimator | PValue) -> tuple[float | None, str]:
    """Return the true error of a model, None where it is not known, and which one it is."""
    lens = test.lens if isinstance(test, Estimator) else Canonical()
    try:
        return float(model.truth(lens | ECE())), f"unbinned ECE, total variation, through {lens!r}"
    except ValueError as reason:
        return None, str(reason)
