"""Every public callable on what nobody should have; `python -m fuzz SEED KIND` redoes a case.

A case is right if it gives a result, the same one again, or a refusal that calibstat itself raises, in less than ten
seconds of the processor, and leaves its inputs as they were. No number of a result is silently missing (NaN) or outside
its range, and the value of an estimator and the statistic of a test do not depend on the order of the rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import calibstat as cs
from benchmarks.verbs import VERBS, WITHOUT_WORK, public_functions
from calibstat import calibrators, extending, generators, testing
from calibstat.inference.results import Result
from fuzz import dear, inputs, objects
from fuzz.cases import CHEAP
from fuzz.hostile import Case, Hostile
from fuzz.judge import Fault, check, fault, refused
from fuzz.limits import SEEDS
from fuzz.sound import MISSING, limits, numbers, unsound
from registry import BINNINGS, ESTIMATORS, LENSES, NULLS, parts
from suites import slow_but

KINDS = ("estimators", "functions", "inputs", "objects", "dear")
BATCHES = [(kinds, first, SEEDS[kinds][1]) for kinds in KINDS for first in range(0, *SEEDS[kinds])]
QUICK = [(kinds, 0, SEEDS[kinds][1]) for kinds in KINDS if kinds != "dear"]


@pytest.mark.parametrize(("kinds", "first", "n_cases"), slow_but(QUICK, BATCHES))
def test_a_sound_result_or_one_refusal(kinds, first, n_cases):
    wrong = [found for found in (fault(seed, kinds) for seed in range(first, first + n_cases)) if found]
    assert not wrong, f"{len(wrong)} of {n_cases}\n" + "\n".join(wrong[:3])


def test_there_are_fifty_thousand_cases():
    assert sum(total for total, _ in SEEDS.values()) >= 50_000


# Public names that no case calls, and why.
UNCALLED = {
    **dict.fromkeys(("Cells", "Tally", "Predictions", "Evaluator", "EmpiricalNull"), "made by binnings and nulls"),
    **dict.fromkeys(("Population", "Truth", "population_of"), "made by authors of worlds, of arrays that they trust"),
    **dict.fromkeys(extending.__all__, "for authors, who pass on what has been checked"),
    **dict.fromkeys(("Bettor", "Score", "Kernel"), "a class that one derives from"),
    **dict.fromkeys(("save", "load"), "files are damaged by another kind of case"),
    "accelerate": "changes the whole process",
    "SmallCellsWarning": "a warning",
    "NotExact": "an error",
    "Calibrated": "a classifier of another package and a calibrator, fitted to features",
    "Classified": "made of a classifier of another package that was fitted to its world",
    "Recalibrated": "made of a fitted calibrator",
    "TreeLeaves": "made of the tree of another package",
}


def called() -> Iterator[str]:
    """Names that some case calls, or that what it calls holds."""
    held = [part for entry in (*ESTIMATORS, *LENSES, *BINNINGS, *NULLS) for part in parts(entry.thing)]
    yield from (type(part).__name__ for part in held)
    for name in (*CHEAP, *dear.CALLS, *inputs.DOORS, *objects.MAKERS):
        yield name.split(".")[0]


# Folders whose frozen classes, but for those that users make, are results and parts of them.
RECORDS = ("inference", "estimators", "auditing", "comparisons", "interpretability", "reports")


def is_record(found: object) -> bool:
    """Whether it is what functions and estimators return, abstract, or made of other results."""
    if not isinstance(found, type):
        return False
    home = found.__module__.split(".")[1]
    frozen = hasattr(found, "__dataclass_fields__") or issubclass(found, tuple)
    made = issubclass(found, (cs.Estimator, cs.Lens, cs.Binning, cs.Null, cs.Resampler))
    record = frozen and not made and home in RECORDS
    return issubclass(found, Result) or bool(getattr(found, "__abstractmethods__", ())) or record


def test_every_public_callable_is_called():
    known = {*called(), *UNCALLED}
    homes = (cs, calibrators, generators, extending, testing)
    public = {name: getattr(home, name) for home in homes for name in home.__all__}
    left = [name for name, found in public.items() if callable(found) and name not in known and not is_record(found)]
    assert not left, f"no kind of case calls {left}: add them to one of tests/fuzz, or to UNCALLED with the reason"
    assert public_functions() <= {*called(), *WITHOUT_WORK}
    assert {*CHEAP, *dear.CALLS} >= VERBS.keys()


# What the judge must see.


def judged(call):
    """What the judge says of a call on some rows."""

    def made() -> Case:
        rows = Hostile(3, np.random.Generator(np.random.PCG64(0)))
        rows.arrays = np.array([0, 1, 1]), np.array([0.2, 0.5, 0.7])
        return Case("a call", rows, call)

    try:
        check(made(), made())
    except Fault as wrong:
        return str(wrong)
    return ""


def change(rows):
    rows.arrays[1][0] = 0.25


def one_after_the_other(seen=[0]):  # noqa: B006 (it counts calls)
    seen[0] += 1
    return seen[0]


def moved(rows):
    class Found:
        statistic = float(rows.arrays[1] @ np.arange(3))
        __repr__ = object.__repr__

    return Found()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda _: float("x"), "ValueError: could not convert"),
        (lambda _: {}["x"], "KeyError"),
        (change, "an input was changed"),
        (lambda _: one_after_the_other(), "and then"),
        (lambda _: {"error": np.nan}, "error is not a number"),
        (lambda _: {"pvalue": 0.0}, "outside"),
        (lambda _: {"pvalue": 1.5}, "outside"),
        (lambda _: {"share": np.array([0.5, -0.1])}, "outside"),
        (lambda _: {"confidence_interval": (0.5, 0.2)}, "ends below where it begins"),
        (lambda _: objects.Chances(np.array([[0.5, 0.2]])), "sums"),
        (moved, "in another order"),
    ],
)
def test_what_is_wrong_is_found(call, said):
    assert said in judged(call)


def test_what_is_right_is_not_found():
    assert not judged(lambda rows: cs.BrierScore()(cs.Sample([0, 1, 1], [0.1, 0.2, 0.3])))
    assert not judged(lambda rows: cs.Sample([0, 1, 1], [0.1, 0.2, 1.3]))


def test_errors_of_others_are_no_refusals():
    with pytest.raises(ValueError, match="could not convert") as caught:
        float("x")
    assert not refused(caught.value)


def test_a_value_outside_its_range_is_found(monkeypatch):
    seed = next(seed for seed in range(1000) if "ECE" in objects_of(seed) and not fault(seed))
    monkeypatch.setattr(cs.ECE, "value_range", lambda self, n_classes: (2.0, 3.0))
    assert any("outside [2, 3]" in fault(each) for each in range(seed, seed + 400))


def objects_of(seed):
    from fuzz.cases import case

    return case(seed).name


@pytest.mark.parametrize("name", MISSING)
def test_numbers_that_may_be_missing_are_those_of_a_class(name):
    assert not unsound([(name, np.array([np.nan]))])
    assert unsound([(name + "x", np.array([np.nan]))])
    assert limits(name)


def test_numbers_of_results_are_found():
    found = cs.calibration_test(cs.Sample([0, 1, 1, 0] * 5, [0.2, 0.7, 0.9, 0.4] * 5), cs.ECE(cs.EqualMass(2)), rng=0)
    named = dict(numbers(found))
    assert named["CalibrationTest.pvalue"] == found.pvalue
    assert named["CalibrationTest.statistic"] == found.statistic
