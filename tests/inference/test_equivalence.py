"""The claim that an error is at most so large."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

import calibstat as cs
from calibstat.estimators.walks import Kuiper
from calibstat.inference.band import calibration_band
from calibstat.inference.equivalence import equivalence_test

ECE = cs.ECE(cs.EqualMass(10))


def world(n=4000, power=1.0, seed=0, groups=None):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return cs.Sample(rng.random(n) < p**power, p, groups=groups, labels=[False, True])


@pytest.mark.parametrize("estimator", [ECE, Kuiper(), cs.DebiasedL2(), cs.TopLabel() | ECE], ids=repr)
@pytest.mark.parametrize("margin", [0.001, 0.02, 0.05, 0.2])
def test_bound_pvalue_and_words_agree(estimator, margin):
    found = equivalence_test(world(), estimator, margin, rng=0)
    assert found.within == (found.upper_bound <= margin) == (found.pvalue <= 0.05)
    level = "95 % confidence"
    start = f"With {level} the " if found.within else f"It cannot be said with {level} that the "
    assert found.verdict.startswith(f"{start}{estimator.quantity.split(' (')[0]} of ")
    assert f" is at most {margin:g}: its upper bound is " in found.verdict


def test_a_wide_margin_holds_and_a_narrow_one_does_not():
    assert equivalence_test(world(), ECE, 0.1, rng=0).within
    assert not equivalence_test(world(), ECE, 0.01, rng=0).within


def test_negative_control_a_large_error_is_not_within():
    found = equivalence_test(world(power=2), ECE, 0.1, rng=0)  # the error is about 1/6
    assert not found.within
    assert found.pvalue == 1


def test_upper_bound_is_that_of_the_interval_that_holds_at_every_n():
    found = equivalence_test(world(), ECE, 0.1, rng=0)
    interval = cs.estimate(world(), ECE, interval="finite", rng=0).confidence_interval
    assert found.upper_bound == pytest.approx(interval.high, rel=0.02)  # each has draws of its own


def test_clusters():
    found = equivalence_test(world(groups=np.arange(4000) // 4), ECE, 0.1, rng=0)
    assert "labels redrawn as dependent within these as they may be" in " ".join(found.to_text(verbose=True).split())
    assert 12 <= found.to_dict()["effective_clusters"] <= found.to_dict()["n_clusters"]


@pytest.mark.parametrize("margin", [0, 1, -0.1, 2])
def test_margins_outside_the_range(margin):
    with pytest.raises(ValueError, match=r"between 0 and 1, in units of the estimator: for example 0\.02"):
        equivalence_test(world(), ECE, margin)


def test_an_estimator_without_interval():
    with pytest.raises(ValueError, match=r"equivalence_test: no interval is known to cover.*Those of ECE"):
        equivalence_test(world(), cs.CORP(), 0.1)
    with pytest.raises(ValueError, match="9 resamples are too few"):
        equivalence_test(world(), ECE, 0.1, n_resamples=9)


@pytest.mark.parametrize(
    ("margin", "options", "message"),
    [
        ("0.1", {}, "margin is '0.1', a text; it must be a number"),
        (None, {}, "margin is None; it must be a number"),
        (0.1, {"confidence_level": "0.9"}, "confidence_level is '0.9', a text; it must be a number between 0 and 1"),
    ],
)
def test_arguments_of_a_wrong_kind(margin, options, message):
    with pytest.raises(TypeError, match=message):
        equivalence_test(world(), ECE, margin, **options)


@pytest.mark.parametrize("estimator", [ECE, Kuiper(), cs.DebiasedL2(cs.EqualMass(5))], ids=repr)
def test_certain_predictions_that_are_all_right_may_be_wrong(estimator):
    """200 of 200 are right: the chance may still be 0.99, so that an upper bound of zero would be wrong."""
    y = np.arange(200) % 2
    sure = cs.Sample(y, y.astype(float), labels=[0, 1])
    in_pairs = cs.Sample(y, y.astype(float), groups=np.arange(200) // 2, labels=[0, 1])
    missed = 1 - 0.05 ** (1 / 200)  # so large a chance of another outcome is not refuted
    least = missed**2 / 4 if isinstance(estimator, cs.DebiasedL2) else missed / 2  # in one of the two halves
    assert equivalence_test(sure, estimator, 0.1, rng=0).upper_bound > least
    assert cs.estimate(sure, estimator, rng=0).confidence_interval.high > least
    with pytest.raises(ValueError, match=r"nothing shows the noise.*calibration_band"):
        equivalence_test(in_pairs, ECE, 0.1)
    assert calibration_band(sure).maximum_error > 0.03


def test_few_events_are_noted_for_clusters():
    y = np.zeros(100, dtype=int)
    y[:3] = 1
    sample, alike = (
        cs.Sample(y, np.full(100, 0.02), labels=[0, 1], groups=groups) for groups in (None, np.arange(100) // 2)
    )
    clustered = equivalence_test(alike, cs.ECE(cs.EqualMass(1)), 0.1, rng=0)
    assert "the rarest outcome was seen in 1.8 clusters in effect (by sizes), fewer than 10" in clustered.to_text(1000)
    assert clustered.to_dict()["notes"] == list(clustered.notes)
    assert equivalence_test(sample, cs.ECE(cs.EqualMass(1)), 0.1, rng=0).notes == ()  # it holds at every n


def test_as_plain_values():
    found = equivalence_test(world(), ECE, 0.05, n_resamples=99, rng=0)
    assert json.loads(json.dumps(found.to_dict())) == found.to_dict()
    assert found.to_frame().shape == (1, len(found.to_dict()))
    assert str(pickle.loads(pickle.dumps(found))) == str(found)


def test_words_name_the_level_of_the_test_and_the_confidence_of_the_bound():
    p = np.random.default_rng(0).random(500)
    sample = cs.Sample(np.random.default_rng(1).random(500) < p, p)

    def said(**options):
        return cs.equivalence_test(sample, cs.ECE(), 0.5, rng=0, **options).verdict

    assert said().startswith("With 95 % confidence the average")
    assert "confidence." not in said()
    assert said(level=0.01).startswith("At level 1 % the average")
    assert said(level=0.01).endswith(" with 95 % confidence (n = 500, p = 0.002).")
    assert said(level=1e-9).startswith("It cannot be said at level 1e-07 % that the average")
    assert "100 %" not in said(level=1e-9)
