"""Law: weights have no unit, and equal weights are none; answers keep every bit (those of fits, twelve digits)."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import calibstat as cs
from registry import ESTIMATORS, every

WEIGHTED = [entry for entry in ESTIMATORS if entry.weighted]
FACTORS = [2.0**-1000, 2.0**-3, 2.0**7, 2.0**1000]


def scaled(sample: cs.Sample, factor: float) -> cs.Sample:
    seen = sample.predictions
    variables = {
        name: each.values if each.levels is None else np.array(each.levels)[each.values.astype(int)]
        for name, each in seen.variables.items()
    }
    weights = seen.weights * factor
    return cs.Sample(
        sample.y_true, seen.probabilities, variables=variables, sample_weight=weights, labels=list(seen.classes)
    )


@every(WEIGHTED)
def test_weights_have_no_unit(entry):
    sample = scaled(entry.sample(seed=3, weighted=True), 0.3)
    expected = np.asarray(entry.numbers(sample))
    for factor in FACTORS:
        found = entry.numbers(scaled(sample, factor))
        np.testing.assert_allclose(found, expected, rtol=1e-12 if entry.fitted else 0, atol=0)
    for factor in (1e-300, 1e300):
        tolerance = dict(rtol=1e-6, atol=1e-7) if entry.fitted else dict(rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(entry.numbers(scaled(sample, factor)), expected, **tolerance)


rng = np.random.Generator(np.random.PCG64(5))
P = rng.random(60)
Y = (rng.random(60) < P**1.3).astype(int)
OTHER = np.clip(P + 0.2 * rng.random(60), 0, 1)
WEIGHTS = rng.random(60) + 0.5


def answers(weights) -> list[object]:
    one, two = (cs.Sample(Y, each, sample_weight=weights) for each in (P, OTHER))
    ece, l2 = cs.ECE(cs.EqualMass(5)), cs.DebiasedL2(cs.EqualMass(5))
    return [
        *cs.calibration_test(one, ece, null=cs.Consistency(99), rng=1),
        cs.estimate(one, l2, rng=1).estimate,
        *cs.estimate(one, l2, rng=1).confidence_interval,
        *cs.omnibus_test(one, n_resamples=99, rng=1),
        *cs.omnibus_test(one, n_resamples=99, rng=1).pvalues,
        *cs.comparison_test(one, two, l2, rng=1),
        cs.comparison_test(one, two, ece, rng=1).difference,
    ]


@pytest.mark.filterwarnings("ignore::calibstat.SmallCellsWarning")
@pytest.mark.parametrize("factor", FACTORS)
def test_verbs_answer_the_same_in_every_bit(factor):
    assert answers(WEIGHTS * factor) == answers(WEIGHTS)


@pytest.mark.filterwarnings("ignore::calibstat.SmallCellsWarning")
@pytest.mark.parametrize("factor", [1e-300, 1e300])
def test_verbs_answer_the_same_for_extreme_weights(factor):
    np.testing.assert_allclose(answers(WEIGHTS * factor), answers(WEIGHTS), rtol=1e-12, atol=1e-13)


@pytest.mark.filterwarnings("ignore::calibstat.SmallCellsWarning")
@pytest.mark.parametrize("weight", [1.0, 3.0, 1e-300])
def test_equal_weights_are_no_weights(weight):
    assert answers(np.full(60, weight)) == answers(None)


@pytest.mark.parametrize("counts", [[20, 1, 7, 400], [0, 5, 9, 12]])
def test_weights_that_look_like_counts_are_asked_about(counts):
    with pytest.warns(UserWarning, match=r"whole numbers that add up to .* in 4 rows: are they counts\?.*numpy.repeat"):
        cs.Sample([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], sample_weight=counts)


@pytest.mark.parametrize("weights", [[2, 1, 3, 4], [100, 100, 100, 100], [20.5, 1, 7, 400], [0.05, 0.01, 0.02, 0.9]])
def test_other_weights_are_taken_in_silence(weights):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cs.Sample([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], sample_weight=weights)
    assert not caught


@pytest.mark.filterwarnings("error")
def test_weights_whose_sum_is_infinite_are_scaled_in_silence():
    huge = cs.Sample([0, 1], [0.2, 0.7], sample_weight=[1e308, 1.5e308])
    assert huge.predictions.weights.sum() < 2
