from __future__ import annotations

from math import comb

import numpy as np
import pytest

import calibstat as cs
from calibstat.inference.tails import tail_of
from calibstat.nulls.exact import Exact

DRAWN = cs.Consistency(999)
ECE = cs.ECE(cs.EqualMass(10))
TOP = cs.TopLabel() | ECE


def test_pvalue_is_that_of_the_null_distribution_shown(miscalibrated):
    result = cs.calibration_test(miscalibrated, TOP, null=cs.Consistency(99), rng=1)
    samples = result.null_distribution.samples
    assert samples.shape == (99,)
    assert result.pvalue == (1 + np.count_nonzero(samples >= result.statistic)) / 100
    assert result.statistic == TOP(miscalibrated)
    assert result.null_mean == pytest.approx(samples.mean())


def test_default_null_is_exact_where_that_can_be_had(calibrated):
    default = cs.calibration_test(calibrated, ECE)
    explicit = cs.calibration_test(calibrated, ECE, null=Exact())
    assert default.null == Exact()
    assert default.pvalue == explicit.pvalue
    assert default.pvalue_interval == (default.pvalue, default.pvalue)
    drawn = cs.calibration_test(calibrated, ECE, null=cs.Consistency(9999), rng=1)
    assert drawn.pvalue_interval[0] < default.pvalue < drawn.pvalue_interval[1]


def test_default_null_is_consistency_with_999_resamples_elsewhere(calibrated):
    default = cs.calibration_test(calibrated, cs.Kuiper(), rng=5)
    explicit = cs.calibration_test(calibrated, cs.Kuiper(), null=cs.Consistency(999), rng=5)
    assert default.null == cs.Consistency(999)
    np.testing.assert_array_equal(default.null_distribution.samples, explicit.null_distribution.samples)


def test_exact_where_it_cannot_be_had_names_what_serves(calibrated):
    with pytest.raises(ValueError, match=r"Exact\(\) cannot .*Consistency\(9999\)"):
        cs.calibration_test(calibrated, cs.Kuiper(), null=Exact())


FOUR, TWENTY_PER_CENT = np.full(4, 0.25), np.repeat([0.2, 0.8], 5)
TWO = cs.FixedEdges([0, 0.5, 1])
ENUMERATED = {
    "A: four halves, all labels equal": (np.full(4, 0.5), [1, 1, 1, 1], cs.FixedEdges([0, 1]), 0.5, 1 / 8),
    "B: one of four quarters": (FOUR, [1, 0, 0, 0], cs.FixedEdges([0, 1]), 0.0, 1.0),
    "B: none": (FOUR, [0, 0, 0, 0], cs.FixedEdges([0, 1]), 0.25, 37 / 64),
    "B: two": (FOUR, [1, 1, 0, 0], cs.FixedEdges([0, 1]), 0.25, 37 / 64),
    "B: three": (FOUR, [1, 1, 1, 0], cs.FixedEdges([0, 1]), 0.5, 13 / 256),
    "B: four": (FOUR, [1, 1, 1, 1], cs.FixedEdges([0, 1]), 0.75, 1 / 256),
}
ENUMERATED |= {
    f"C: {low} and {high}": (
        TWENTY_PER_CENT,
        [1] * low + [0] * (5 - low) + [1] * high + [0] * (5 - high),
        TWO,
        statistic,
        None,
    )
    for low, high, statistic in [(1, 4, 0), (2, 4, 0.1), (2, 3, 0.2), (0, 5, 0.2), (3, 3, 0.3), (3, 2, 0.4)]
}
# of the sum of two absolute differences, rounded to six digits
OF_C = {0.0: 1.0, 0.1: 0.832228, 0.2: 0.396020, 0.3: 0.070542, 0.4: 0.010773}


@pytest.mark.parametrize(("p", "y", "binning", "statistic", "pvalue"), ENUMERATED.values(), ids=ENUMERATED)
def test_enumerated_examples_come_out_with_the_default_null(p, y, binning, statistic, pvalue):
    """Every digit, by counting: P(|k1 - 1| + |5 - k2 - 1| >= 10 v) for two independent binomial counts in case C."""
    result = cs.calibration_test(cs.Sample(y, p, labels=[0, 1]), cs.ECE(binning))
    if pvalue is None:
        law = [comb(5, k) * 0.2**k * 0.8 ** (5 - k) for k in range(6)]
        pairs = [(abs(i - 1) + abs(j - 1), law[i] * law[j]) for i in range(6) for j in range(6)]
        pvalue = sum(chance for total, chance in pairs if total >= 10 * statistic - 1e-9)
        assert pvalue == pytest.approx(OF_C[statistic], abs=5e-7)
    assert result.statistic == pytest.approx(statistic, abs=1e-12)
    assert result.pvalue == pytest.approx(pvalue, abs=1e-12)


def test_ten_rows_have_the_pvalue_of_all_their_labels():
    """0.62054816, by enumeration of 2 ** 10 labels."""
    p = [0.05, 0.15, 0.22, 0.28, 0.45, 0.55, 0.55, 0.72, 0.81, 0.95]
    result = cs.calibration_test(cs.Sample([0, 0, 1, 0, 0, 1, 1, 1, 0, 1], p), cs.ECE(cs.EqualWidth(5)))
    assert result.statistic == pytest.approx(0.219)
    assert result.pvalue == pytest.approx(0.62054816, abs=5e-9)


def test_calibrated_model_is_not_rejected_and_miscalibrated_model_is(calibrated, miscalibrated):
    assert cs.calibration_test(calibrated, ECE, rng=1).pvalue > 0.05
    assert cs.calibration_test(miscalibrated, TOP, rng=1).pvalue < 1e-6
    assert cs.calibration_test(miscalibrated, TOP, null=DRAWN, rng=1).pvalue == 0.001


def test_same_rng_gives_the_same_result(calibrated):
    first, again, other = (cs.calibration_test(calibrated, ECE, null=DRAWN, rng=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first.null_distribution.samples, again.null_distribution.samples)
    assert not np.array_equal(first.null_distribution.samples, other.null_distribution.samples)
    assert str(first) == str(again)


def test_generator_is_taken_and_advanced(calibrated):
    started = cs.calibration_test(calibrated, ECE, null=DRAWN, rng=np.random.default_rng(3))
    generator = np.random.default_rng(3)
    first, second = (cs.calibration_test(calibrated, ECE, null=DRAWN, rng=generator) for _ in range(2))
    np.testing.assert_array_equal(started.null_distribution.samples, first.null_distribution.samples)
    assert not np.array_equal(first.null_distribution.samples, second.null_distribution.samples)


def test_no_rng_gives_fresh_draws(calibrated):
    first, second = (cs.calibration_test(calibrated, ECE, null=DRAWN) for _ in range(2))
    assert not np.array_equal(first.null_distribution.samples, second.null_distribution.samples)


@pytest.mark.parametrize("rng", [1.5, "0", True, -1, np.random.RandomState(0)], ids=["1.5", "0", "True", "-1", "old"])
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
        cs.calibration_test(calibrated, each, null=cs.Consistency(200, shortcuts=False), rng=cs.as_generator(2))
        for each in (cs.Generic(ECE), ECE)
    )
    np.testing.assert_allclose(rows.null_distribution.samples, prepared.null_distribution.samples, atol=1e-14)
    assert rows.pvalue == prepared.pvalue


def test_weighted_samples(calibrated):
    """Weights count in the statistic and in the null; a common factor changes nothing."""
    weights = np.where(calibrated.y_prob[:, 1] > 0.5, 3.0, 1.0)
    tests = {}
    for name, factor in (("weighted", weights), ("scaled", 0.7 * weights), ("equal", np.ones(400))):
        sample = cs.Sample(calibrated.y_true, calibrated.y_prob, sample_weight=factor, labels=["no", "yes"])
        tests[name] = cs.calibration_test(sample, cs.ECE(cs.EqualWidth(5)), null=DRAWN, rng=8)
    plain = cs.calibration_test(calibrated, cs.ECE(cs.EqualWidth(5)), null=DRAWN, rng=8)
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
    single = cs.calibration_test(cs.Sample([1], [0.3]), cs.ECE(cs.EqualMass(1)))
    assert single.statistic == pytest.approx(0.7)
    assert single.pvalue == pytest.approx(0.3)
    only_zeros = cs.Sample(np.zeros(50, int), np.full(50, 0.5), labels=[0, 1])
    # equal predictions share a cell, and all labels equal is the worst of it: two of 2 ** 50
    assert cs.calibration_test(only_zeros, cs.ECE(cs.EqualMass(5))).pvalue == pytest.approx(2**-49, abs=1e-12)
    assert cs.calibration_test(only_zeros, cs.ECE(cs.EqualMass(5)), null=DRAWN, rng=0).pvalue == 0.001


def test_certain_predictions_that_come_true_give_a_pvalue_of_one():
    sample = cs.Sample([0, 1, 1], [0.0, 1.0, 1.0])
    for null in (Exact(), cs.Consistency(99), cs.Consistency(99, shortcuts=False)):
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


def test_blocks_of_the_kernel_say_that_they_find_few_errors():
    sample = cs.Sample([0, 1, 1, 0] * 5, [0.2, 0.7, 0.9, 0.4] * 5)
    found = cs.calibration_test(sample, cs.SKCE(kind="block"), n_resamples=19, rng=0)
    assert "compare each row with 1 other only and find far fewer errors than SKCE()" in " ".join(found.notes)
    assert not any("blocks" in note for note in cs.calibration_test(sample, cs.SKCE(), n_resamples=19, rng=0).notes)


def test_a_test_at_the_floor_of_its_redraws_says_so_and_how_small_its_p_value_is_where_a_law_is_known():
    """Only commands, panels and several lenses said it, so that p = 0.001 of one statistic stood without a word."""
    p = np.random.default_rng(0).random(1000)
    sample = cs.Sample(np.random.default_rng(1).random(1000) < p**2, p)
    walk, smooth = (cs.calibration_test(sample, each, n_resamples=99, rng=0) for each in (cs.Kuiper(), cs.SmoothCE()))
    assert walk.pvalue == smooth.pvalue == 0.01
    assert walk.tail == tail_of(cs.Kuiper(), sample, walk.statistic) < 1e-12
    floor = "0.01 is the smallest p-value that 99 redraws can give"
    assert f"{floor}; by theory it is below about 1e-12" in " ".join(walk.to_text(100).split())
    assert smooth.tail is None
    text = " ".join(smooth.to_text(100).split())
    assert floor in text
    assert "by theory" not in text
    above = cs.calibration_test(cs.Sample(np.random.default_rng(1).random(1000) < p, p), cs.Kuiper(), rng=0)
    assert "smallest p-value" not in above.to_text(100)
