"""Plans for narrow intervals: they are as narrow as wanted, and say what they cannot do."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import calibstat as cs

RISKS = np.random.Generator(np.random.PCG64(0)).beta(2, 5, 4000)


def test_the_width_is_reached_at_the_answer_and_not_before():
    plan = cs.precision_n(RISKS, oe_width=0.3, slope_width=0.4, c_index_width=0.08)
    for goal in plan.goals:
        assert goal.width_of(goal.n) <= goal.width < goal.width_of(goal.n - 1)
    assert plan.n == max(goal.n for goal in plan.goals)
    assert plan.prevalence == pytest.approx(RISKS.mean())
    area = cs.AUC()(cs.Sample(np.random.default_rng(1).random(4000) < RISKS, RISKS))
    assert plan.goals[2].value == pytest.approx(area, abs=0.03)
    assert cs.precision_n(cs.Sample([0, 1] * 2000, RISKS)).n == cs.precision_n(RISKS).n


def test_a_plan_is_pickled():
    plan = pickle.loads(pickle.dumps(cs.precision_n(RISKS)))
    assert str(plan) == str(cs.precision_n(RISKS))
    assert plan.widths(100) == cs.precision_n(RISKS).widths(100)


def test_a_width_of_infinity_does_not_matter():
    plan = cs.precision_n(RISKS, slope_width=np.inf)
    assert plan.decisive == "observed / expected (O/E)"
    assert cs.precision_n(RISKS, confidence_level=0.8).n < cs.precision_n(RISKS).n


@pytest.mark.parametrize(
    ("predictions", "options", "words"),
    [
        ([0.1, 1.2], {}, "probabilities of the event"),
        ([], {}, "probabilities of the event"),
        ([0.3, 0.3], {}, "all predictions are equal"),
        ([0.0, 0.0], {}, "a mean of 0, so that no event"),
        (RISKS, {"slope_width": 0}, "slope_width is 0; it must be a width above zero"),
        (RISKS, {"oe_width": "wide"}, "oe_width is 'wide', a text; it must be a width above zero"),
        (RISKS, {"c_index_width": True}, "c_index_width is True, a boolean; it must be a width above zero"),
        (RISKS, {"oe_width": 1e-200}, "1e-200 wide needs more than"),
        (RISKS, {"c_index_width": 1e-9}, "1e-09 wide needs more than"),
        ([0, 1, 1, 0], {}, "all predictions are 0 or 1"),
        (RISKS * 1e-10, {}, "all predictions are equal, or nearer to 0 or 1 than 1e-9"),
        (RISKS, {"c_index": 1.5}, "c_index is 1.5"),
        (cs.Sample([0, 1, 2], np.full((3, 3), 1 / 3)), {}, "the sample has 3 classes"),
        (cs.Sample([0, 1], [0.2, 0.7], sample_weight=[1, 2]), {}, "the sample has weights"),
        (cs.Sample([0, 1, 1], [0.2, 0.7, 0.6], groups=[0, 0, 1]), {}, "precision_n takes rows as independent"),
    ],
)
def test_what_is_refused(predictions, options, words):
    with pytest.raises((ValueError, TypeError), match=words):
        cs.precision_n(predictions, **options)


@pytest.mark.slow
def test_an_error_alone_is_planned_for_by_the_default_test():
    plan = cs.required_n(0.2, n_repeats=10, n_resamples=19, level=0.1, rng=0)
    assert plan.true_error == pytest.approx(0.2)
    assert "ECE(binning=EqualMass(n_bins=15))" in str(plan.test)


def test_an_error_that_is_too_large_is_refused():
    with pytest.raises(ValueError, match="a true error of 2 is asked for"):
        cs.required_n(2)


@pytest.mark.slow
def test_intervals_of_planned_samples_are_as_narrow_as_planned():
    """Means of 200 samples; those of a third of the rows are wider by sqrt(3)."""
    plan, rng = cs.precision_n(RISKS, oe_width=0.25, slope_width=0.5, c_index_width=0.12), np.random.default_rng(2)
    estimators = (cs.ObservedToExpected(), cs.Cox(), cs.AUC())
    for goal, estimator in zip(plan.goals, estimators, strict=True):
        for n, factor in ((goal.n, 1.0), (goal.n // 3, np.sqrt(3))):
            found = []
            for _ in range(200):
                p = rng.choice(RISKS, n)
                sample = cs.Sample((rng.random(n) < p).astype(int), p)
                value = estimator(sample)
                ends = (
                    value.slope_interval
                    if isinstance(value, cs.CoxFit)
                    else getattr(value, "confidence_interval", None)
                    or cs.estimate(sample, estimator, n_resamples=19).confidence_interval
                )
                found.append(ends[1] - ends[0])
            assert np.mean(found) == pytest.approx(factor * goal.width, rel=0.08)


SCREENS = {
    80: """\
At least 2001 rows with about 700 events are needed: the interval of the
calibration slope decides (95 %, 0.2 wide).

measure                     value  95 % width  rows  events
observed / expected (O/E)       1         0.2   716     251
calibration slope               1         0.2  2001     700
C-index (AUC)              0.7747         0.1   367     128

How this was computed: .to_text(verbose=True)""",
    120: """\
At least 2001 rows with about 700 events are needed: the interval of the calibration slope decides
(95 %, 0.2 wide).

measure                     value  95 % width  rows  events
observed / expected (O/E)       1         0.2   716     251
calibration slope               1         0.2  2001     700
C-index (AUC)              0.7747         0.1   367     128

How this was computed: .to_text(verbose=True)""",
}


@pytest.mark.parametrize("width", SCREENS)
def test_the_screen(width):
    assert cs.precision_n([0.1, 0.2, 0.4, 0.7]).to_text(width) == SCREENS[width]
