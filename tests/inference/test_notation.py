"""One notation: a parameter of one name takes the same objects, and has the same default, in every verb."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pandas as pd
import pytest

import calibstat as cs
from calibstat.data.parameters import CONFIDENCE_LEVEL, LEVEL
from calibstat.inference.arguments import NULLS, check_null
from calibstat.inference.multiplicity import ADJUSTMENTS
from calibstat.inference.results import Result
from suites import slow_but

VERBS = {
    name: inspect.signature(getattr(cs, name)).parameters
    for name in cs.__all__
    if inspect.isfunction(getattr(cs, name))
}
every_verb = pytest.mark.parametrize("name", VERBS)
# What a parameter of this name may be, and its default.
NOTATION: dict[str, tuple[set[str], set[Any]]] = {
    "sample": ({"Sample", "Any", "Sample | Mapping[str, Sample]"}, {inspect.Parameter.empty, None}),
    "estimator": ({"Estimator", "Estimator | None"}, {inspect.Parameter.empty, None}),
    "lens": ({"Lens | None"}, {None}),
    "null": ({"Null | str | None"}, {None, "weak"}),  # a scan asks whether means are off
    "adjust": ({"Adjust"}, {"max-t", "holm"}),  # pairs of models have exact p-values, which Holm's method takes
    "standardize": ({"Standardize"}, {"moments"}),
    "interval": ({"Bootstrap | Literal['finite'] | None"}, {None}),
    "level": ({"float"}, {LEVEL}),
    "confidence_level": ({"float"}, {CONFIDENCE_LEVEL}),
    "n_resamples": ({"int", "int | None"}, {999, None}),
    "rng": ({"RNG"}, {None}),
}
# Names that other packages use for these, or that this one used.
OTHER_NAMES = {"alpha", "conf", "confidence", "ci", "n_boot", "n_draws", "seed", "random_state", "multiplier", "method"}
# Not about a sample: arrays in, arrays out.
HELPERS = {
    "summarise",
    "accelerate",
    "as_generator",
    "holm",
    "benjamini_hochberg",
    "benjamini_yekutieli",
    "single_step",
    "step_down",
}
# What is special, and why.
EXCEPTIONS = {
    ("calibration_band", "level"): "the band itself decides, so that its confidence level is one minus the level",
    ("leaf_table", "level"): "the joint intervals of leaves decide, as a band does",
    ("grow_leaf_table", "level"): "the joint intervals of leaves decide, as a band does",
    ("side_by_side", "interval"): "bars around the points of a picture, as `ReliabilityDisplay.plot` draws them",
    (
        "scorer",
        "lens",
    ): "what it makes is given to scikit-learn, with the lens that its estimator has: `TopLabel() | ECE()`",
    ("report", "rng"): "what one sends is made again from its seed, so that it has one",
}
# The order of settings that several verbs have; what is special about a verb stands behind the lens.
ORDER = ["lens", "null", "adjust", "standardize", "level", "confidence_level", "interval", "n_resamples", "rng"]
# Results whose first sentence decides something say at which level.
DECIDING = {name: inspect.signature(getattr(cs, name)).return_annotation for name in VERBS if "lens" in VERBS[name]}


@every_verb
def test_a_name_means_the_same_everywhere(name):
    for parameter in VERBS[name].values():
        if name not in HELPERS and parameter.name in NOTATION and (name, parameter.name) not in EXCEPTIONS:
            kinds, defaults = NOTATION[parameter.name]
            assert str(parameter.annotation) in kinds, parameter
            assert parameter.default in defaults, parameter


@every_verb
def test_no_other_name_is_used(name):
    assert not set(VERBS[name]) & OTHER_NAMES


@every_verb
def test_randomness_and_settings_are_named(name):
    settings = set(NOTATION) - {"sample", "estimator", "null" if name in HELPERS else ""}
    for parameter in VERBS[name].values():
        if name not in HELPERS and parameter.name in settings:
            assert parameter.kind is inspect.Parameter.KEYWORD_ONLY, parameter


@every_verb
def test_settings_stand_in_one_order(name):
    found = [each for each in VERBS[name] if each in ORDER]
    assert found == [each for each in ORDER if each in found]


@every_verb
def test_who_takes_a_null_takes_resamples_and_a_level(name):
    if "null" in VERBS[name] and name not in HELPERS:
        assert {"n_resamples", "level"} <= set(VERBS[name])
        assert VERBS[name]["n_resamples"].default is None  # 999, or what an object says


@every_verb
def test_who_decides_takes_a_level(name):
    result = getattr(cs, str(DECIDING.get(name, "")), None)
    if result is not None and (name, "level") not in EXCEPTIONS:
        source = inspect.getsource(result)
        if "Evidence" in source or "rejected" in source:
            assert "level" in VERBS[name]


@every_verb
def test_who_adjusts_takes_a_level(name):
    if "adjust" in VERBS[name]:
        assert "level" in VERBS[name]


@every_verb
def test_every_question_has_a_lens(name):
    if ("estimator" in VERBS[name] or "test" in VERBS[name]) and (name, "lens") not in EXCEPTIONS:
        assert "lens" in VERBS[name]


def test_the_verbs_are_found():
    assert len(set(VERBS) - HELPERS) >= 15
    assert {"calibration_test", "compare_calibrators", "required_n"} <= set(VERBS)


def test_verbs_return_results_and_estimators_do_not():
    for name in cs.__all__:
        found = getattr(cs, name)
        if inspect.isclass(found) and issubclass(found, Result):
            assert not issubclass(found, cs.Estimator)
            assert not hasattr(found, "prepare")
    returned = {str(inspect.signature(getattr(cs, name)).return_annotation) for name in VERBS}
    assert {"CalibrationTest", "CalibrationBand", "ModelComparison", "RequiredN"} <= returned
    estimator, record = cs.CalibrationBelt(), cs.CalibrationBelt()(cs.TopLabel()(three_classes()))
    assert isinstance(estimator, cs.Estimator)
    assert isinstance(record, cs.Belt)
    assert not isinstance(record, Result)


# A lens beside the estimator and before it are the same

TOP = cs.TopLabel()


def three_classes(n=400, seed=0):
    return cs.generators.DirichletPredictions([1, 1, 1]).sample(n, rng=seed)


def sharper(sample):
    sharp = sample.y_prob**2
    return cs.Sample(sample.y_true, sharp / sharp.sum(axis=1, keepdims=True))


def both(a):
    return {"a": a, "b": sharper(a)}


WAYS = {
    "calibration_test": lambda s, e, **lens: cs.calibration_test(s, e, null=cs.Consistency(39), rng=0, **lens),
    "estimate": lambda s, e, **lens: cs.estimate(s, e, n_resamples=39, rng=0, **lens),
    "equivalence_test": lambda s, e, **lens: cs.equivalence_test(s, e, 0.3, n_resamples=39, rng=0, **lens),
    "comparison_test": lambda s, e, **lens: cs.comparison_test(s, sharper(s), e, n_resamples=39, rng=0, **lens),
    "compare_models": lambda s, e, **lens: cs.compare_models(both(s), e, n_resamples=39, rng=0, **lens),
    "compare_calibrators": lambda s, e, **lens: cs.compare_calibrators(
        {"temperature": cs.calibrators.Temperature()}, s, estimator=e, n_resamples=39, rng=0, **lens
    ),
    "minimum_detectable": lambda _, e, **lens: cs.minimum_detectable(
        cs.ErrorFamily(), 200, e, n_repeats=80, null=cs.Consistency(39), rng=0, **lens
    ),
}


@pytest.mark.parametrize("verb", slow_but(lambda verb: verb != "minimum_detectable", WAYS))
def test_a_lens_beside_the_estimator_is_one_before_it(verb):
    core = cs.DebiasedL2(cs.EqualMass(5))
    beside = WAYS[verb](three_classes(), core, lens=TOP)
    before = WAYS[verb](three_classes(), TOP | core)
    assert str(beside) == str(before)
    assert "TopLabel()" in beside.to_text(verbose=True)


@pytest.mark.parametrize("verb", sorted(set(WAYS) - {"minimum_detectable"}))
def test_a_lens_is_looked_through_before_that_of_the_estimator(verb):
    two = cs.Partition([[0, 1], [2]])
    core = cs.DebiasedL2(cs.EqualMass(2))
    assert str(WAYS[verb](three_classes(), TOP | core, lens=two)) == str(WAYS[verb](three_classes(), two | TOP | core))


def test_a_lens_before_a_test_that_is_a_function():
    def pvalue(sample, rng):
        assert len(sample.labels) == 2
        return cs.calibration_test(sample, cs.Spiegelhalter(), null=cs.Consistency(99), rng=rng).pvalue

    found = cs.minimum_detectable(cs.ErrorFamily(), 300, pvalue, lens=TOP, n_repeats=80, rng=0)
    assert str(found.test) == "TopLabel() | pvalue"


@pytest.mark.parametrize("verb", WAYS)
def test_what_is_no_lens_is_refused(verb):
    with pytest.raises(TypeError, match="a lens is expected"):
        WAYS[verb](three_classes(), cs.DebiasedL2(cs.EqualMass(5)), lens=cs.TopLabel)


# Samples and arrays


def test_calibrators_take_a_sample_or_its_arrays():
    sample = three_classes()
    models = {"temperature": cs.calibrators.Temperature()}
    found = cs.compare_calibrators(models, sample, n_resamples=19, rng=0)
    for arrays in ((sample.y_true, sample.y_prob), ()):
        more = {} if arrays else {"y_true": sample.y_true, "y_prob": sample.y_prob}
        assert str(cs.compare_calibrators(models, *arrays, n_resamples=19, rng=0, **more)) == str(found)
    with pytest.raises(TypeError, match="together with y_prob"):
        cs.compare_calibrators(models, sample, sample.y_prob)
    with pytest.raises(TypeError, match="a Sample is expected, or labels and probabilities"):
        cs.compare_calibrators(models, sample.y_true)
    with pytest.raises(TypeError, match="a Sample is expected"):
        cs.compare_calibrators(models)


def test_the_protocol_over_a_variable_takes_a_sample_or_its_arrays():
    rng = np.random.default_rng(0)
    p, age = rng.random(400), rng.uniform(20, 80, 400)
    y = rng.random(400) < p
    sample = cs.Sample(y, p, variables={"age": age})
    more = {"n_bins": 3, "n_resamples": 9, "rng": 0}
    found = cs.variable_based_protocol(sample, variable="age", **more)
    assert str(cs.variable_based_protocol(y, p, age, name="age", **more)) == str(found)
    with pytest.raises(ValueError, match="the name of a variable"):
        cs.variable_based_protocol(sample, variable="sex", **more)
    within = cs.variable_based_protocol(sample, variable="age", lens=cs.Region.between("age", 20, 50), **more)
    assert within.to_dict()["errors"] != found.to_dict()["errors"]
    with pytest.raises(ValueError, match="no lens and no weights"):
        cs.variable_based_protocol(sample, variable="age", lens=TOP, convention="kelly-smyth", **more)


# Levels


def test_the_level_decides_words_and_no_number():
    sample = three_classes()
    found = cs.calibration_test(sample, cs.TopLabel() | cs.ECE(cs.EqualMass(5)), rng=0)
    strict = cs.calibration_test(sample, cs.TopLabel() | cs.ECE(cs.EqualMass(5)), level=1e-9, rng=0)
    lax = cs.calibration_test(sample, cs.TopLabel() | cs.ECE(cs.EqualMass(5)), level=0.999999, rng=0)
    assert tuple(found) == tuple(strict) == tuple(lax)
    assert strict.verdict.startswith("Calibration of P(predicted class) is not rejected at 1e-07 % ")
    assert lax.verdict.startswith("Evidence")
    for result in (
        cs.comparison_test(sample, sharper(sample), TOP | cs.DebiasedL2(cs.EqualMass(5)), level=0.999, n_resamples=19),
        cs.compare_models(both(sample), TOP | cs.DebiasedL2(cs.EqualMass(5)), level=0.999, n_resamples=19),
    ):
        assert result.to_dict()["level"] == 0.999
        assert "is better calibrated than" in result.verdict


def with_groups(n=400):
    rng = np.random.default_rng(0)
    p, site, patient = rng.random(n), rng.choice(["a", "b"], n), np.arange(n) // 4
    return cs.Sample(rng.random(n) < p, p, variables={"site": site, "patient": patient})


CELLS = cs.ECE(cs.EqualMass(4))
FAMILY = cs.Family({"wide": CELLS, "narrow": cs.ECE(cs.EqualMass(8))})
# Every verb that takes a null, with few draws.
ASKED = {
    "calibration_test": lambda s, **more: cs.calibration_test(s, CELLS, rng=0, **more),
    "multiple_test": lambda s, **more: cs.multiple_test(s, FAMILY, rng=0, **more),
    "omnibus_test": lambda s, **more: cs.omnibus_test(s, [CELLS, cs.Kuiper()], rng=0, **more),
    "subgroup_audit": lambda s, **more: cs.subgroup_audit(s, "site", rng=0, **more),
    "scan_variables": lambda s, **more: cs.scan_variables(s, "site", rng=0, **more),
    "learner_audit": lambda s, **more: cs.learner_audit(s, "site", n_blocks=1, rng=0, **more),
    "trajectory": lambda s, **more: cs.trajectory({1: s}, {"ECE": CELLS}, rng=0, **more),
    "required_n": lambda _, **more: cs.required_n(
        cs.generators.BetaPredictions(1, 1, cs.generators.Slope(0.3)), cs.Spiegelhalter(), n_repeats=80, rng=0, **more
    ),
    "minimum_detectable": lambda _, **more: cs.minimum_detectable(
        cs.ErrorFamily(), 200, cs.Spiegelhalter(), n_repeats=80, rng=0, **more
    ),
}
JOINT = ["multiple_test", "omnibus_test", "subgroup_audit", "scan_variables"]


def answer(result):
    """All that a result says but how it was asked."""
    return {key: value for key, value in result.to_dict().items() if key not in ("level", "test")}


def test_every_verb_with_a_null_is_tried():
    assert set(ASKED) == {name for name in VERBS if "null" in VERBS[name] and name not in HELPERS}


@pytest.mark.parametrize("verb", slow_but(lambda verb: verb != "minimum_detectable", ASKED))
def test_a_null_has_the_same_names_everywhere(verb):
    by_name = ASKED[verb](with_groups(), null="strong", n_resamples=39)
    assert answer(by_name) == answer(ASKED[verb](with_groups(), null=cs.Consistency(39)))
    assert answer(by_name) == answer(ASKED[verb](with_groups(), null="consistency", n_resamples=39))
    with pytest.raises(TypeError, match=r"null is 'none', but a null is expected: .*'strong', .*'asymptotic'"):
        ASKED[verb](with_groups(), null="none")
    with pytest.raises(ValueError, match=r"n_resamples is 19, but null=Consistency.* says how many"):
        ASKED[verb](with_groups(), null=cs.Consistency(39), n_resamples=19)
    with pytest.raises(ValueError, match=r"n_resamples is 19, but null='asymptotic' draws nothing"):
        ASKED[verb](with_groups(), null="asymptotic", n_resamples=19)


@pytest.mark.parametrize("verb", JOINT)
@pytest.mark.parametrize("null", ["exact", "asymptotic", "sequential"])
def test_a_null_without_joint_draws_is_refused_by_name(verb, null):
    with pytest.raises(ValueError, match=f"(?i){null}"):
        ASKED[verb](with_groups(), null=null)


def test_every_null_has_a_name():
    nulls = [getattr(cs, name) for name in cs.__all__ if inspect.isclass(getattr(cs, name))]
    named = {type(check_null(name)) for name in NULLS}
    for null in nulls:
        if issubclass(null, cs.Null) and not inspect.isabstract(null):
            assert null in named
            assert null.__name__.lower() in NULLS
            assert null.n_resamples == getattr(null(), "n_resamples", None)


def test_names_give_the_same_as_objects():
    sample = with_groups()
    for name in set(NULLS) - {"weak"}:
        estimator = cs.Spiegelhalter() if name in ("asymptotic", "saddlepoint") else CELLS
        object_ = check_null(name)
        found = cs.calibration_test(sample, estimator, null=name, rng=0)
        assert found.pvalue == cs.calibration_test(sample, estimator, null=object_, rng=0).pvalue
        assert found.null == object_


@pytest.mark.parametrize("verb", sorted(name for name in VERBS if "adjust" in VERBS[name]))
@pytest.mark.parametrize("adjust", ADJUSTMENTS)
def test_p_values_are_adjusted_by_the_same_names(verb, adjust):
    models = both(with_groups())
    ways = ASKED | {
        "compare_models": lambda s, **more: cs.compare_models(models, cs.DebiasedL2(CELLS.binning), **more),
        "compare_calibrators": lambda s, **more: cs.compare_calibrators({"platt": cs.calibrators.Platt()}, s, **more),
    }
    taken = {"compare_models": ["max-t", "holm", "fdr_by"], "compare_calibrators": ["holm", "fdr_by"]}
    if adjust not in taken.get(verb, ADJUSTMENTS):
        offered = " or ".join(map(repr, taken[verb]))
        with pytest.raises(ValueError, match=f"adjust is '{adjust}', but .*: take {offered}."):
            ways[verb](with_groups(), adjust=adjust)
    else:
        assert ways[verb](with_groups(), adjust=adjust, n_resamples=199).to_dict()["adjust"] == adjust
    with pytest.raises(ValueError, match=r"adjust is 'bonferroni'; it must be one of '(max-t|holm)'"):
        ways[verb](with_groups(), adjust="bonferroni")


@pytest.mark.parametrize("verb", ["subgroup_audit", "scan_variables"])
def test_level_and_confidence_level_are_two_things(verb):
    default = ASKED[verb](with_groups(), n_resamples=199)
    lax = ASKED[verb](with_groups(), n_resamples=199, level=0.999)
    narrow = ASKED[verb](with_groups(), n_resamples=199, confidence_level=0.5)
    assert not default.rejected
    assert lax.rejected
    assert " at 99.9 %" in lax.verdict
    assert default.level == narrow.level == LEVEL
    assert answer(lax)["confidence_level"] == default.confidence_level
    (low, high), (inner_low, inner_high) = (next(iter(each)).confidence_interval for each in (default, narrow))
    assert low <= inner_low <= inner_high < high
    with pytest.raises(ValueError, match="level is 5; it must be a number between 0 and 1"):
        ASKED[verb](with_groups(), level=5)


def test_the_level_of_an_equivalence_test_decides_and_the_bound_keeps_its_own():
    sample = with_groups(4000)
    found = cs.equivalence_test(sample, CELLS, 0.03, rng=0)
    strict = cs.equivalence_test(sample, CELLS, 0.03, level=0.001, rng=0)
    assert found.within
    assert not strict.within
    assert (found.pvalue, found.upper_bound) == (strict.pvalue, strict.upper_bound)
    assert "It cannot be said at level 0.1 % that" in strict.verdict
    assert "with 95 % confidence (" in strict.verdict
    for level in (0.01, 0.05, 0.2):
        own = cs.equivalence_test(sample, CELLS, 0.03, level=level, confidence_level=1 - level, rng=0)
        assert own.within == (own.pvalue <= level)


def test_an_audit_of_clusters_draws_one_sign_for_each():
    rows = with_groups()
    site, patient = (rows.predictions.variables[name].values for name in ("site", "patient"))
    sample, few = (
        cs.Sample(rows.y_true, rows.y_prob, variables={"site": site}, groups=pd.Series(codes, name="patient"))
        for codes in (patient, np.arange(len(rows)) % 4)
    )
    found = cs.subgroup_audit(sample, "site", null=cs.Multiplier(99), rng=0)
    assert found.n_resamples == 99
    assert "one random sign for each value of 'patient'" in found.hypothesis
    assert "100 clusters (patient)" in found.notes
    assert found.to_dict()["n_clusters"] == found.to_dict()["effective_clusters"] == 100
    assert found["all rows"].pvalue == pytest.approx(
        cs.calibration_test(sample, cs.Kuiper(), null=cs.Multiplier(9999), rng=1).pvalue, abs=0.15
    )
    tested = cs.subgroup_audit(few, "site", null=cs.Multiplier(99), rng=0)
    assert "no intervals: all rows has 4 clusters in effect, by their sizes, but at least 12 are needed" in tested.notes
    assert min(each.pvalue for each in tested) >= 0.0625
    with pytest.raises(ValueError, match=r"BrierScore.* depends on more than outcome - prediction"):
        cs.subgroup_audit(sample, "site", estimator=cs.BrierScore(), null="multiplier")
    with pytest.raises(ValueError, match="draws rows anew, but an audit keeps its groups"):
        cs.subgroup_audit(sample, "site", null=cs.Consistency(resample_predictions=True))


@pytest.mark.parametrize("level", [0, 1, 5, -0.1, float("nan")])
def test_a_level_is_a_share(level):
    with pytest.raises(ValueError, match=r"level is .*; it must be a number between 0 and 1, for example 0.05"):
        cs.calibration_test(three_classes(), TOP | cs.ECE(), level=level)
