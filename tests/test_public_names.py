"""The public names: resolved lazily, documented, and kept."""

from __future__ import annotations

import inspect
import re
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import calibstat as cs
from calibstat._names import BEHIND as BEHIND_GROUPS
from calibstat._names import GROUPS
from calibstat.inference.results import Result

HOME = {name: f"calibstat.{module}" for module, names in cs._MODULES.items() for name in names}
public = pytest.mark.parametrize("name", cs.__all__)

# What nobody makes by hand: what one derives from, gets back, or is warned by.
WITHOUT_EXAMPLE = {
    "Bets",
    "Bettor",
    "CalibrationBand",
    "CalibratorComparison",
    "Desiderata",
    "Desideratum",
    "SimplificationPath",
    "VariableBasedComparison",
    "CellFinding",
    "MinimumDetectable",
    "ModelComparison",
    "MultipleTest",
    "PairDifference",
    "RequiredN",
    "ComparisonTest",
    "EqualCurvesTest",
    "GroupFinding",
    "LeafFinding",
    "LeafTable",
    "LearnerAudit",
    "LeftOut",
    "NotExact",
    "Properties",
    "Property",
    "SubgroupAudit",
    "VariableFinding",
    "VariableScan",
    "ConfidenceInterval",
    "EquivalenceTest",
    "OmnibusTest",
    "Lens",
    "Relabelling",
    "Null",
    "Resampler",
    "Binning",
    "Estimator",
    "Evaluator",
    "BinnedEstimator",
    "CellwiseEstimator",
    "Kernel",
    "Score",
    # records that estimators give
    "Belt",
    "BridgeComponents",
    "BrierParts",
    "CORPParts",
    "CalibrationIndices",
    "CoxFit",
    "GoodnessOfFit",
    "IntervalDeviation",
    "KernelErrors",
    "LocalCurve",
    "NamedValues",
    "RecalibrationCurve",
    "ValidityCurve",
    "Predictions",
    "Cells",
    "Tally",
    "CalibrationTest",
    "Estimate",
    "SmallCellsWarning",
}


BEHIND = {name for heading in BEHIND_GROUPS for names in GROUPS[heading].values() for name in names}
MARKS = tomllib.loads((Path(__file__).parents[1] / "docs/marks.toml").read_text(encoding="utf-8"))


def test_dir_shows_what_people_need_first():
    assert set(dir(cs)) == set(cs.__all__) - BEHIND | set(cs._SUBPACKAGES) | {"__version__"}
    shown = {"Sample", "TopLabel", "EqualMass", "ECE", "calibration_test", "ReliabilityDisplay", "results"}
    assert shown <= set(dir(cs))
    assert set(dir(cs)).isdisjoint({"CalibrationTest", "Belt", "Evaluator", "kuiper_sf", "SmallCellsWarning"})


def test_every_name_is_in_one_group():
    named = [name for modules in GROUPS.values() for names in modules.values() for name in names]
    assert sorted(named) == cs.__all__


def test_results_stand_behind():
    for name in cs.__all__:
        found = getattr(cs, name)
        result = isinstance(found, type) and issubclass(found, Result)
        assert not result or name in BEHIND, f"{name} is a result: put it in the group Results of calibstat/_names.py"


def test_results_are_the_same_objects():
    assert set(dir(cs.results)) == set(cs.results.__all__) < BEHIND
    assert all(getattr(cs.results, name) is getattr(cs, name) for name in cs.results.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'ECE'"):
        cs.results.ECE


def test_marks_are_those_of_public_names():
    packages = {f"{each}.": getattr(cs, each).__all__ for each in cs._SUBPACKAGES if each != "results"}
    public_names = {f"{package}{name}" for package, names in packages.items() for name in names} | set(cs.__all__)
    marked = [name for names in MARKS.values() for name in names]
    assert set(MARKS) == {"provisional", "experimental"}
    assert len(marked) == len(set(marked))
    assert set(marked) <= public_names, set(marked) - public_names
    assert set(marked).isdisjoint(name.partition(".")[0] for name in PROMISED)


def test_what_is_stable_returns_what_is_stable():
    unstable = {name for names in MARKS.values() for name in names}
    for name in set(cs.__all__) - unstable:
        found = getattr(cs, name)
        if inspect.isfunction(found):
            assert not set(re.findall(r"\w+", str(inspect.signature(found).return_annotation))) & unstable, name

    assert re.fullmatch(r"\d+\.\d+\.\d+", cs.__version__)


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="module 'calibstat' has no attribute 'Ece'"):
        cs.__getattr__("Ece")


@public
def test_every_name_is_found_where_the_table_says(name):
    found, home = getattr(cs, name), HOME[name]
    assert getattr(import_module(home), name) is found
    assert f"{found.__module__}.".startswith(f"{home}.")
    assert found.__name__ == name


def parameters(found) -> list[str]:
    if isinstance(found, type) and inspect.isabstract(found):
        return []
    return [name for name in inspect.signature(found).parameters if name not in ("self", "args", "kwargs")]


@public
def test_every_name_has_a_numpydoc_docstring(name):
    found = getattr(cs, name)
    text = inspect.getdoc(found)
    assert text, f"{name} has no docstring"
    summary = text.splitlines()[0]
    assert summary.endswith((".", "?", ":")) or ")." in summary, f"end the first line with a full stop: {summary}"
    names = [] if issubclass(type(found), type) and issubclass(found, BaseException) else parameters(found)
    if names:
        section = text.partition("Parameters\n----------\n")[2].split("\n\n")[0]
        heads = " ".join(re.findall(r"^([\w*, ]+?)(?: :.*)?$", section, re.MULTILINE))
        unnamed = [each for each in names if not re.search(rf"\b{each}\b", heads)]
        assert not unnamed, f"parameters that are not in the section Parameters: {', '.join(unnamed)}"


@public
def test_every_name_that_is_used_by_hand_has_an_example(name):
    text = inspect.getdoc(getattr(cs, name))
    there = "Examples\n--------\n" in text and ">>>" in text
    assert there or name in WITHOUT_EXAMPLE, f"{name} has no section Examples (what nobody makes is in WITHOUT_EXAMPLE)"


def sections(found) -> set[str]:
    return set(re.findall(r"^([A-Z][a-z]+)\n-+$", inspect.getdoc(found), re.M))


@public
def test_functions_say_what_they_return_and_what_makers_refuse(name):
    found = getattr(cs, name)
    if inspect.isfunction(found):
        asked = {"Returns"} if inspect.signature(found).return_annotation not in (None, "None") else set()
        raises = re.search(r"^\s+raise |\bcheck", inspect.getsource(found), re.M)
    else:
        asked, maker = set(), vars(found).get("__post_init__")
        raises = maker and re.search(r"\braise |at_least_one|true_or_false|expect_|check", inspect.getsource(maker))
    assert asked | ({"Raises"} if raises else set()) <= sections(found)


@public
def test_public_methods_have_docstrings(name):
    found = getattr(cs, name)
    if not isinstance(found, type) or issubclass(found, BaseException):
        return
    for method, value in vars(found).items():
        if not method.startswith("_") and (callable(value) or isinstance(value, (property, classmethod))):
            assert inspect.getdoc(getattr(value, "__func__", value)), f"{name}.{method}"


# The promise: these calls work, with these defaults. More may be added behind them.
DISTANCE, TEN, FIFTEEN = cs.TotalVariation(), cs.EqualMass(10), cs.EqualMass(15)
PROMISED = {
    "Sample": lambda y_true, y_prob, *, variables=None, sample_weight=None, labels=None: 0,
    "Sample.from_frame": lambda frame, *, y_true, y_prob, variables=None: 0,
    "Sample.read": lambda path, *, y_true, y_prob, variables=None: 0,
    "Sample.from_estimator": lambda estimator, X, y: 0,
    "Sample.from_confidence": lambda correct, confidence: 0,
    "Canonical": lambda: 0,
    "Partition": lambda groups: 0,
    "TopLabel": lambda: 0,
    "TopK": lambda k: 0,
    "ClassWise": lambda label: 0,
    "Given": lambda *names: 0,
    "Region": lambda predicate: 0,
    "Region.between": lambda column, low, high: 0,
    "EqualWidth": lambda n_bins: 0,
    "EqualMass": lambda n_bins: 0,
    "FixedEdges": lambda edges: 0,
    "SimplexGrid": lambda n_bins: 0,
    "VarianceTree": lambda min_size, split="mean": 0,
    "Categories": lambda: 0,
    "UniqueValues": lambda: 0,
    "TotalVariation": lambda: 0,
    "SquaredEuclidean": lambda: 0,
    "Lp": lambda p: 0,
    "HistogramRegression": lambda binning: 0,
    "ExpectedMiscalibration": lambda binning, distance=DISTANCE: 0,
    "MaximumMiscalibration": lambda binning, distance=DISTANCE: 0,
    "ECE": lambda binning=FIFTEEN: 0,
    "RMSCE": lambda binning: 0,
    "DebiasedCE": lambda binning: 0,
    "DebiasedL2": lambda binning: 0,
    "PDE": lambda binning, p=1: 0,
    "VECE": lambda variable, binning=TEN: 0,
    "Generic": lambda function: 0,
    "Consistency": lambda n_resamples=999, resample_predictions=False, shortcuts=True: 0,
    "Bootstrap": lambda n_resamples=999: 0,
    "calibration_test": lambda sample, estimator, *, null=None, rng=None: 0,
    "estimate": lambda sample, estimator, *, confidence_level=0.95, rng=None: 0,
}
OPTIONAL = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)


@pytest.mark.parametrize("name", PROMISED)
def test_signatures_are_kept(name):
    found = cs
    for part in name.split("."):
        found = getattr(found, part)
    actual = inspect.signature(found).parameters
    promised = inspect.signature(PROMISED[name]).parameters
    for each in promised.values():
        assert each.name in actual
        assert actual[each.name].kind == each.kind
        if each.default is not inspect.Parameter.empty:
            assert actual[each.name].default == each.default
    order, promised_order = ([e.name for e in some.values() if e.kind not in OPTIONAL] for some in (actual, promised))
    assert order[: len(promised_order)] == promised_order
    added = [each for each in actual.values() if each.name not in promised]
    assert all(each.default is not inspect.Parameter.empty or each.kind in OPTIONAL[1:] for each in added)


def test_defaults_are_equal_by_value():
    assert cs.ECE() == cs.ECE(cs.EqualMass(15))
    assert cs.ExpectedMiscalibration(cs.EqualMass(3)) == cs.ExpectedMiscalibration(cs.EqualMass(3), cs.TotalVariation())
    assert cs.VECE("age") == cs.Given("age") | cs.ECE(cs.EqualMass(10))


def test_results_have_the_promised_attributes():
    sample = cs.Sample([0, 1, 1, 0] * 10, [0.2, 0.7, 0.9, 0.4] * 10)
    test = cs.calibration_test(sample, cs.ECE(cs.EqualMass(2)), rng=0)
    assert tuple(test) == (test.statistic, test.pvalue)
    assert test.null_distribution.pvalue(test.statistic) == test.pvalue
    found = cs.estimate(sample, cs.ECE(cs.EqualMass(2)), rng=0)
    assert found.estimate == test.statistic
    assert found.confidence_interval is None or len(found.confidence_interval) == 2
