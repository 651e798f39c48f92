"""One notation beyond verbs: constructors and methods of every public class, and functions of every package."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import calibstat as cs
from calibstat._names import BEHIND, GROUPS
from calibstat.data.parameters import CONFIDENCE_LEVEL, LEVEL
from suites import at_once

PACKAGES = {"": cs} | {f"{name}.": getattr(cs, name) for name in cs._SUBPACKAGES if name != "results"}
GIVEN_BACK = {name for heading in BEHIND for names in GROUPS[heading].values() for name in names}
# Names that other packages use for what has one name here.
OTHER_NAMES = {
    "alpha", "bins", "ci", "conf", "labels_true", "n_boot", "n_bootstrap", "n_draws", "nbins", "num_bins",
    "p_value", "preds", "probs", "proba", "random_state", "seed", "target", "y_hat", "y_pred",
    "y_score",
}  # fmt: skip
MAPS_OF_DIRICHLET = ("MatrixMap", "Mixture", "PairSwap", "SimplexMap", "TemperatureShift")
# What is special, and why.
EXCEPTIONS = {
    ("calibrators.Calibrated", "random_state"): "that of scikit-learn's splitters, to which it is handed on",
    ("generators.DirichletPredictions", "alpha"): "the parameter of a Dirichlet law",
}
EXCEPTIONS |= {(f"generators.{world}.within", "alpha"): "the same" for world in MAPS_OF_DIRICHLET}
# What stands before what, wherever a callable takes both by position.
ORDER = [("y_true", "y_prob"), ("X", "y"), ("sample", "estimator"), ("y_prob", "sample_weight"), ("low", "high")]
# A prediction comes before its label, which may come later; a null and a resampler are asked about an estimator.
OTHER_ORDER = (cs.Monitor, cs.DifferenceMonitor, cs.Null, cs.Resampler)
DEFAULTS = {
    "level": {LEVEL},
    "confidence_level": {CONFIDENCE_LEVEL, 0.99},  # that of a Monte Carlo interval of a p-value
    "n_resamples": {None, 999, 9999},
    "sample_weight": {None},
    "groups": {None},
    "labels": {None, (0, 1)},
}


def callables() -> Iterator[tuple[str, inspect.Signature]]:
    for prefix, package in PACKAGES.items():
        for name in package.__all__:
            found = getattr(package, name)
            if inspect.isfunction(found):
                yield f"{prefix}{name}", inspect.signature(found)
            elif inspect.isclass(found) and not issubclass(found, BaseException):
                if name not in GIVEN_BACK:
                    yield f"{prefix}{name}", inspect.signature(found)
                for method, value in inspect.getmembers(found, inspect.isroutine):
                    ours = (getattr(value, "__module__", "") or "").startswith("calibstat")
                    # From Python 3.13 on a cached property is a routine, though nobody can call it.
                    if method[0] != "_" and ours and callable(value):
                        yield f"{prefix}{name}.{method}", inspect.signature(value)


CALLABLES = dict(callables())
every = at_once(CALLABLES)


def taken(name: str) -> list[inspect.Parameter]:
    return [each for each in CALLABLES[name].parameters.values() if (name, each.name) not in EXCEPTIONS]


@every
def test_no_other_name_is_used(name):
    assert not {each.name for each in taken(name)} & OTHER_NAMES


@every
def test_a_name_has_one_default(name):
    for each in taken(name):
        if each.name in DEFAULTS and each.default is not each.empty:
            assert each.default in DEFAULTS[each.name], each


@every
def test_randomness_is_named(name):
    for each in taken(name):
        if each.name == "rng" and str(each.annotation) == "RNG" and each.default is not each.empty:
            draws_rows = name.endswith((".sample", ".draw"))  # `world.sample(100, 0)`
            assert each.kind is each.KEYWORD_ONLY or draws_rows, each
            assert each.default in (None, 0), each


@every
def test_arguments_stand_in_one_order(name):
    owner = getattr(cs, name.partition(".")[0])
    if isinstance(owner, type) and issubclass(owner, OTHER_ORDER):
        return
    places = [each.name for each in taken(name) if each.kind is not each.KEYWORD_ONLY]
    for first, second in ORDER:
        if first in places and second in places:
            assert places.index(first) < places.index(second)


def test_methods_and_packages_are_found():
    assert {"ReliabilityDisplay.from_sample", "Monitor.update", "Ledger.count", "Sweep.run", "Report.save"} <= set(
        CALLABLES
    )
    assert {"calibrators.Platt.fit", "generators.Slope", "testing.assert_calibrated", "extending.ratio"} <= set(
        CALLABLES
    )


def test_exceptions_are_still_there():
    assert all(argument in CALLABLES[name].parameters for name, argument in EXCEPTIONS)
