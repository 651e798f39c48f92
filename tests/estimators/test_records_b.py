"""The laws for estimators that give several numbers: Cox, Hosmer-Lemeshow, observed over expected, many bandwidths."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import calibstat as cs
import registry_b
from calibstat.estimators.cells.hosmer_lemeshow import HosmerLemeshow
from calibstat.estimators.headline import Headline
from calibstat.estimators.logistic.cox import Cox
from calibstat.estimators.logistic.observed_expected import ObservedToExpected, Ratio
from registry import make_sample
from strategies import counts, samples

RECORDS = [
    (each["thing"], each["classes"]) for each in registry_b.ENTRIES + registry_b.MORE if not each.get("scalar", True)
]
records = pytest.mark.parametrize(("estimator", "classes"), RECORDS, ids=[repr(thing) for thing, _ in RECORDS])
# Where outcomes are separated, or nearly, Newton's steps end wherever they end.
FIT = dict(rtol=1e-6, atol=1e-7)


def numbers(estimator, sample, weights=None):
    return estimator.prepare(sample.predictions)(sample.outcomes, weights)


@records
@settings(max_examples=15)
@given(data=st.data())
def test_the_headline_does_not_depend_on_the_order_of_rows(estimator, classes, data):
    sample = data.draw(samples(classes, weighted=False))
    shuffled = sample.take(np.array(data.draw(st.permutations(range(len(sample))))))
    head = Headline(estimator)
    np.testing.assert_allclose(numbers(head, shuffled), numbers(head, sample), **FIT)


@records
@pytest.mark.parametrize("seed", range(5))
def test_all_numbers_keep_the_laws_of_weights_and_order(estimator, classes, seed):
    for n_classes in classes[:2]:
        sample = make_sample(n_classes, seed=seed, n=80)
        expected = numbers(estimator, sample)
        order = np.random.Generator(np.random.PCG64(seed)).permutation(80)
        np.testing.assert_allclose(numbers(estimator, sample.take(order)), expected, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(numbers(estimator, sample, np.ones(80)), expected, rtol=1e-9, atol=1e-9)
        drawn = np.random.Generator(np.random.PCG64(seed)).integers(1, 4, 80).astype(float)
        first, second = (numbers(estimator, sample, drawn * factor) for factor in (1.0, 1e4))
        np.testing.assert_allclose(first, second, rtol=1e-7, atol=1e-9)
        assert not np.allclose(first, expected, rtol=1e-3)


@records
@given(data=st.data())
@settings(max_examples=10)
def test_headlines_of_weighted_rows_do_not_depend_on_units(estimator, classes, data):
    sample = data.draw(samples(classes, weighted=False))
    drawn = data.draw(counts(len(sample), 1, smallest=1))[0]
    head = Headline(estimator)
    np.testing.assert_allclose(numbers(head, sample, drawn * 7.0), numbers(head, sample, drawn), **FIT)


@records
def test_what_is_presented_is_replicate_zero_and_survives_pickling(estimator, classes):
    sample = make_sample(classes[0], seed=9, n=80)
    value = numbers(estimator, sample)
    assert float(estimator(sample)) == pytest.approx(float(estimator.headline(value)), rel=1e-12)
    again = pickle.loads(pickle.dumps(estimator(sample)))
    assert float(again) == float(estimator(sample))


@records
def test_no_rows_give_nan(estimator, classes):
    sample = make_sample(classes[0], seed=9)
    nobody = cs.Region.between("age", 100, 101) | estimator
    assert np.isnan(numbers(nobody, sample)).all()


@pytest.mark.parametrize("estimator", [Cox(), Cox(statistic="likelihood_ratio"), HosmerLemeshow(5)], ids=repr)
def test_a_test_is_about_the_headline(estimator):
    sample = make_sample(2, seed=10, n=60)
    result = cs.calibration_test(sample, estimator, null=cs.Consistency(99), rng=0)
    assert result.statistic == pytest.approx(float(estimator(sample)))


def test_ratio_of_observed_to_expected_is_two_sided():
    rng = np.random.Generator(np.random.PCG64(11))
    p = rng.uniform(0.1, 0.5, 400)
    for factor in (0.6, 1.6):
        sample = cs.Sample((rng.random(400) < factor * p).astype(int), p)
        assert cs.calibration_test(sample, ObservedToExpected(), rng=0).pvalue < 0.01
        found = ObservedToExpected()(sample)
        assert found.ratio == pytest.approx(factor, abs=0.15)
        low, high = found.confidence_interval
        assert low < factor < high
        assert low < found.ratio < high


def test_ratio_without_events_has_an_interval_from_zero():
    found = ObservedToExpected()(cs.Sample([0, 0, 0], [0.1, 0.2, 0.3], labels=[0, 1]))
    assert found == Ratio(0.0, (0.0, np.inf))
    assert ObservedToExpected()(cs.Sample([0, 0], [0.0, 0.0], labels=[0, 1])).ratio == 1


def test_observed_to_expected_covers_the_ratio_of_a_calibrated_world():
    rng = np.random.Generator(np.random.PCG64(12))
    p = rng.uniform(0.1, 0.5, 300)
    covered = [
        low < 1 < high
        for low, high in (
            ObservedToExpected()(cs.Sample((rng.random(300) < p).astype(int), p)).confidence_interval
            for _ in range(400)
        )
    ]
    assert 0.92 < np.mean(covered) < 0.995


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Cox(confidence_level=95), "confidence_level is 95"),
        (lambda: Cox(statistic="wald"), "statistic is 'wald'"),
        (lambda: ObservedToExpected(confidence_level=0), "confidence_level is 0"),
        (lambda: HosmerLemeshow(0), "n_bins is 0"),
    ],
)
def test_parameters_are_checked(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_hosmer_lemeshow_draws_whole_cells():
    sample = make_sample(2, seed=13, n=60)
    for estimator in (HosmerLemeshow(4), Headline(HosmerLemeshow(4))):
        evaluator = estimator.prepare(sample.predictions)
        labels = np.random.Generator(np.random.PCG64(14)).integers(0, 2, (5, 60))
        outcome = evaluator.tally(labels).outcome
        np.testing.assert_allclose(evaluator.from_tally(outcome), evaluator(labels), rtol=1e-12)
