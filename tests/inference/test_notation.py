"""One notation: a parameter of one name takes the same objects, and has the same default, in every verb."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import calibstat as cs
from calibstat.inference.results import CONFIDENCE_LEVEL, LEVEL, Result

VERBS = {
    name: inspect.signature(getattr(cs, name)).parameters
    for name in cs.__all__
    if inspect.isfunction(getattr(cs, name))
}
every_verb = pytest.mark.parametrize("name", VERBS)
# What a parameter of this name may be, and its default.
NOTATION: dict[str, tuple[set[str], set[Any]]] = {
    "sample": ({"Sample", "Any"}, {inspect.Parameter.empty, None}),
    "estimator": ({"Estimator", "Estimator | None"}, {inspect.Parameter.empty, None}),
    "lens": ({"Lens | None"}, {None}),
    "null": ({"Null | str | None", "Null | str"}, {None, "weak"}),  # a scan asks whether means are off
    "interval": ({"Bootstrap | Multiplier | None", "Multiplier | None"}, {None}),
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
# Not yet so.
EXCEPTIONS: set[tuple[str, str]] = set()


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
    "calibration_test": lambda s, e, **lens: cs.calibration_test(s, e, null=cs.Consistency(19), rng=0, **lens),
    "estimate": lambda s, e, **lens: cs.estimate(s, e, n_resamples=19, rng=0, **lens),
    "equivalence_test": lambda s, e, **lens: cs.equivalence_test(s, e, 0.3, n_resamples=19, rng=0, **lens),
    "comparison_test": lambda s, e, **lens: cs.comparison_test(s, sharper(s), e, n_resamples=19, rng=0, **lens),
    "compare_models": lambda s, e, **lens: cs.compare_models(both(s), e, n_resamples=19, rng=0, **lens),
    "compare_calibrators": lambda s, e, **lens: cs.compare_calibrators(
        {"temperature": cs.calibrators.Temperature()}, s, estimator=e, n_resamples=19, rng=0, **lens
    ),
    "minimum_detectable": lambda _, e, **lens: cs.minimum_detectable(
        cs.ErrorFamily(), 200, e, n_runs=80, null=cs.Consistency(19), rng=0, **lens
    ),
}


@pytest.mark.parametrize("verb", WAYS)
def test_a_lens_beside_the_estimator_is_one_before_it(verb):
    core = cs.DebiasedL2(cs.EqualMass(5))
    beside = WAYS[verb](three_classes(), core, lens=TOP)
    before = WAYS[verb](three_classes(), TOP | core)
    assert str(beside) == str(before)
    assert "TopLabel()" in str(beside)


@pytest.mark.parametrize("verb", sorted(set(WAYS) - {"minimum_detectable"}))
def test_a_lens_is_looked_through_before_that_of_the_estimator(verb):
    two = cs.Partition([[0, 1], [2]])
    core = cs.DebiasedL2(cs.EqualMass(2))
    assert str(WAYS[verb](three_classes(), TOP | core, lens=two)) == str(WAYS[verb](three_classes(), two | TOP | core))


def test_a_lens_before_a_test_that_is_a_function():
    def pvalue(sample, rng):
        assert len(sample.labels) == 2
        return cs.calibration_test(sample, cs.Spiegelhalter(), null=cs.Consistency(99), rng=rng).pvalue

    found = cs.minimum_detectable(cs.ErrorFamily(), 300, pvalue, lens=TOP, n_runs=80, rng=0)
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
    with pytest.raises(TypeError, match="y_prob beside it"):
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
    assert strict.verdict.startswith("No evidence")
    assert lax.verdict.startswith("Evidence")
    for result in (
        cs.comparison_test(sample, sharper(sample), TOP | cs.DebiasedL2(cs.EqualMass(5)), level=0.999, n_resamples=19),
        cs.compare_models(both(sample), TOP | cs.DebiasedL2(cs.EqualMass(5)), level=0.999, n_resamples=19),
    ):
        assert result.to_dict()["level"] == 0.999
        assert result.verdict.startswith("Evidence")


@pytest.mark.parametrize("level", [0, 1, 5, -0.1, float("nan")])
def test_a_level_is_a_share(level):
    with pytest.raises(ValueError, match=r"level is .*; it must lie between 0 and 1, for example 0.05"):
        cs.calibration_test(three_classes(), TOP | cs.ECE(), level=level)
