from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs

ECE = cs.ECE(cs.EqualMass(10))
TOP = cs.TopLabel() | ECE


def test_pvalue_is_that_of_the_null_distribution_shown(miscalibrated):
    result = cs.calibration_test(miscalibrated, TOP, null=cs.Consistency(99), rng=1)
    samples = result.null_distribution.samples
    assert samples.shape == (99,)
    assert result.pvalue == (1 + np.count_nonzero(samples >= result.statistic)) / 100
    assert result.statistic == TOP(miscalibrated)
    assert result.null_mean == pytest.approx(samples.mean())


def test_default_null_is_consistency_with_999_resamples(calibrated):
    default = cs.calibration_test(calibrated, ECE, rng=5)
    explicit = cs.calibration_test(calibrated, ECE, null=cs.Consistency(999), rng=5)
    assert default.null == cs.Consistency(999)
    np.testing.assert_array_equal(default.null_distribution.samples, explicit.null_distribution.samples)


def test_calibrated_model_is_not_rejected_and_miscalibrated_model_is(calibrated, miscalibrated):
    assert cs.calibration_test(calibrated, ECE, rng=1).pvalue > 0.05
    assert cs.calibration_test(miscalibrated, TOP, rng=1).pvalue == 0.001


def test_same_rng_gives_the_same_result(calibrated):
    first, again, other = (cs.calibration_test(calibrated, ECE, rng=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first.null_distribution.samples, again.null_distribution.samples)
    assert not np.array_equal(first.null_distribution.samples, other.null_distribution.samples)
    assert str(first) == str(again)


def test_generator_is_taken_and_advanced(calibrated):
    from_int = cs.calibration_test(calibrated, ECE, rng=3)
    generator = np.random.default_rng(3)
    first, second = (cs.calibration_test(calibrated, ECE, rng=generator) for _ in range(2))
    np.testing.assert_array_equal(from_int.null_distribution.samples, first.null_distribution.samples)
    assert not np.array_equal(first.null_distribution.samples, second.null_distribution.samples)


def test_no_rng_gives_fresh_draws(calibrated):
    first, second = (cs.calibration_test(calibrated, ECE) for _ in range(2))
    assert not np.array_equal(first.null_distribution.samples, second.null_distribution.samples)


@pytest.mark.parametrize("rng", [1.5, "0", True, -1, np.random.RandomState(0)], ids=repr)
def test_rng_of_another_type_is_refused(calibrated, rng):
    with pytest.raises(TypeError, match="rng"):
        cs.calibration_test(calibrated, ECE, rng=rng)


@pytest.mark.parametrize(
    "null",
    [cs.Consistency(20), cs.Consistency(20, shortcuts=False), cs.Consistency(20, resample_predictions=True)],
    ids=repr,
)
def test_inputs_are_not_mutated(null):
    rng = np.random.default_rng(6)
    p, weights, age = rng.random(60), rng.random(60), rng.integers(20, 80, 60)
    y = rng.integers(0, 2, 60)
    given = [p, weights, age, y]
    copies = [each.copy() for each in given]
    sample = cs.Sample(y, p, variables={"age": age}, sample_weight=weights)
    state = (sample.y_prob.copy(), sample.outcomes.copy())
    cs.calibration_test(sample, cs.VECE("age", cs.EqualMass(3)), null=null, rng=0)
    cs.estimate(sample, ECE, n_resamples=20, rng=0)
    for each, copy in zip(given, copies, strict=True):
        np.testing.assert_array_equal(each, copy)
    np.testing.assert_array_equal(sample.y_prob, state[0])
    np.testing.assert_array_equal(sample.outcomes, state[1])


def test_region_without_rows_is_refused(calibrated):
    nobody = cs.Region.between("age", 200, 300) | ECE
    with pytest.raises(ValueError, match="no row is left") as error:
        cs.calibration_test(calibrated, nobody, rng=0)
    assert "Region(200 <= age <= 300)" in str(error.value)
    with pytest.raises(ValueError, match="no row is left"):
        cs.estimate(calibrated, nobody, rng=0)


def test_region_of_rows_without_weight_is_refused():
    """Its statistic would be 0 / 0, which no replicate reaches: the smallest p-value for no data at all."""
    sample = cs.Sample([0, 1, 1, 0], [0.2, 0.7, 0.4, 0.6], sample_weight=[1, 1, 0, 0], variables={"v": [0, 0, 1, 1]})
    with pytest.raises(ValueError, match="weight 0"):
        cs.calibration_test(sample, cs.Region.between("v", 1, 1) | cs.ECE(cs.FixedEdges([0, 1])), rng=0)


def test_statistic_that_is_not_a_number_is_refused(calibrated):
    """NaN compares false with every replicate; that must not read as the smallest p-value."""

    def undefined(sample):
        return np.nan

    with pytest.raises(ValueError, match=r"(?i)nan|not a number"):
        cs.calibration_test(calibrated, cs.Generic(undefined), null=cs.Consistency(9), rng=0)


@pytest.mark.parametrize(
    "estimator",
    [cs.HistogramRegression(cs.EqualMass(5)), cs.Generic(lambda sample: np.arange(3.0))],
    ids=["histogram", "generic"],
)
def test_array_valued_estimator_is_refused(calibrated, estimator):
    with pytest.raises(ValueError, match=r"array of shape.*one number"):
        cs.calibration_test(calibrated, estimator, null=cs.Consistency(9), rng=0)


def test_estimator_that_needs_two_classes_names_a_lens(miscalibrated):
    with pytest.raises(ValueError, match=r"3 classes.*TopLabel\(\)"):
        cs.calibration_test(miscalibrated, ECE, rng=0)


def test_generic_estimator_agrees_with_the_prepared_one(calibrated):
    rows, prepared = (
        cs.calibration_test(calibrated, each, null=cs.Consistency(200, shortcuts=False), rng=2)
        for each in (cs.Generic(ECE), ECE)
    )
    np.testing.assert_allclose(rows.null_distribution.samples, prepared.null_distribution.samples, atol=1e-14)
    assert rows.pvalue == prepared.pvalue


def test_weighted_samples(calibrated):
    """Weights count in the statistic and in the null; a common factor changes nothing."""
    weights = np.where(calibrated.y_prob[:, 1] > 0.5, 3.0, 1.0)
    tests = {}
    for name, factor in (("weighted", weights), ("scaled", 7 * weights), ("equal", np.ones(400))):
        sample = cs.Sample(calibrated.y_true, calibrated.y_prob, sample_weight=factor, labels=["no", "yes"])
        tests[name] = cs.calibration_test(sample, cs.ECE(cs.EqualWidth(5)), rng=8)
    plain = cs.calibration_test(calibrated, cs.ECE(cs.EqualWidth(5)), rng=8)
    assert tests["equal"].statistic == plain.statistic
    assert tests["equal"].pvalue == plain.pvalue
    assert tests["weighted"].statistic != plain.statistic
    assert tests["scaled"].statistic == pytest.approx(tests["weighted"].statistic, abs=1e-14)
    np.testing.assert_allclose(
        tests["scaled"].null_distribution.samples, tests["weighted"].null_distribution.samples, atol=1e-14
    )
    # unequal weights leave fewer effective rows, so noise alone is larger
    assert tests["weighted"].null_mean > plain.null_mean


def test_one_row_and_one_class():
    single = cs.calibration_test(cs.Sample([1], [0.3]), cs.ECE(cs.EqualMass(1)), rng=0)
    assert single.statistic == pytest.approx(0.7)
    assert 0.2 < single.pvalue < 0.4
    only_zeros = cs.Sample(np.zeros(50, int), np.full(50, 0.5), labels=[0, 1])
    assert cs.calibration_test(only_zeros, cs.ECE(cs.EqualMass(5)), rng=0).pvalue == 0.001


def test_certain_predictions_that_come_true_give_a_pvalue_of_one():
    sample = cs.Sample([0, 1, 1], [0.0, 1.0, 1.0])
    for shortcuts in (True, False):
        null = cs.Consistency(99, shortcuts=shortcuts)
        assert cs.calibration_test(sample, cs.ECE(cs.EqualWidth(2)), null=null, rng=0).pvalue == 1


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda sample: cs.calibration_test(sample, cs.ECE), "the class ECE, but an estimator"),
        (lambda sample: cs.calibration_test(cs.ECE(), sample), "but a Sample is expected"),
        (lambda sample: cs.calibration_test(sample, cs.TopLabel()), "of type TopLabel, but an estimator"),
        (lambda sample: cs.calibration_test(sample, abs), "Generic"),
        (lambda sample: cs.calibration_test(([0], [0.5]), cs.ECE()), "of type tuple, but a Sample"),
        (lambda sample: cs.calibration_test(sample, cs.ECE(), null=999), "of type int, but a null"),
        (
            lambda sample: cs.calibration_test(sample, cs.ECE(), null=cs.Consistency),
            "the class Consistency, but a null",
        ),
        (lambda sample: cs.estimate(sample, cs.ECE), "an estimator is expected"),
        (lambda sample: cs.equivalence_test(cs.ECE(), sample, 0.1), "a Sample is expected"),
        (lambda sample: cs.comparison_test(sample, cs.ECE(), cs.ECE()), "a Sample is expected"),
    ],
)
def test_wrong_kinds_of_things_are_named(calibrated, call, expected):
    with pytest.raises(TypeError, match=expected):
        call(calibrated)
