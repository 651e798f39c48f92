"""One calibrator is recommended, or none, and fitted on all rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import calibstat as cs
from calibstat import calibrators as cal
from calibstat.comparisons.recommend import usual_calibrators
from calibstat.inference.multiplicity import holm
from suites import everything


@pytest.fixture(scope="module")
def sample(off):
    return cs.Sample(off["y_true"], off["y_prob"], sample_weight=1 + 0.2 * (np.arange(2000) % 3))


@pytest.fixture(scope="module")
def advice(sample):
    return cs.recommend_calibrator(sample, {"beta": cal.Beta(), "temperature": cal.Temperature()}, rng=0)


def test_the_recommended_one_is_fitted_on_all_rows(advice, sample):
    assert advice.calibrator == "beta"
    assert advice.verdict.startswith("Use beta: calibration error of P(1) 0.0")
    whole = cal.Beta().fit(sample.y_prob[:, 1], sample.outcomes, sample.predictions.weights)
    said = advice.fitted.predict_proba(np.array([0.2, 0.7]))
    np.testing.assert_allclose(said, whole.predict_proba(np.array([0.2, 0.7])))
    assert advice.to_dict()["calibrator"] == "beta"


def test_the_numbers_are_those_of_the_single_verbs(advice, sample, off):
    """Fit by hand on the rows of the split; scores are compared by the verb for two models."""
    (split,) = advice.splits
    fit, given = sample.take(split.fit_rows), sample.take(split.test_rows)
    tried = {"beta": cal.Beta(), "temperature": cal.Temperature()}
    for change, (name, each) in zip(advice.changes, tried.items(), strict=True):
        said = each.fit(fit.y_prob[:, 1], fit.outcomes, fit.predictions.weights).predict_proba(given.y_prob[:, 1])
        new = cs.Sample(given.outcomes, said, sample_weight=given.predictions.weights)
        assert change.name == name
        for found, score in ((change.brier, cs.BrierScore()), (change.log, cs.LogScore())):
            by_hand = cs.comparison_test(new, given, score, confidence_level=1 - 0.05 / 2)
            assert found[:3:2] == pytest.approx((by_hand.difference, by_hand.pvalue))
            assert found.confidence_interval == pytest.approx(by_hand.confidence_interval)
    pairs = {pair.second.name: pair for pair in advice.pairs if pair.first.name == "uncalibrated"}
    errors, briers, logs = ([getattr(each, name) for each in advice.changes] for name in ("error", "brier", "log"))
    assert [each.pvalue for each in errors] == [pairs[name].pvalue for name in tried]
    decide = errors + briers
    np.testing.assert_allclose([each.pvalue_adjusted for each in decide], holm([each.pvalue for each in decide]))
    np.testing.assert_allclose([each.pvalue_adjusted for each in logs], holm([each.pvalue for each in logs]))


def test_no_calibrator_is_better_than_a_calibrated_model():
    rng = np.random.default_rng(0)
    p = rng.random(2000)
    found = cs.recommend_calibrator(cs.Sample(rng.random(2000) < p, p), rng=0)
    assert (found.calibrator, found.fitted) == ("uncalibrated", None)
    assert found.verdict.startswith(
        "Keep the model's own probabilities: none of 5 calibrators is shown to be better at 5"
    )


def test_other_splits_are_asked_and_change_no_number(off):
    sample = cs.Sample(off["y_true"], off["y_prob"])
    asked = ({"beta": cal.Beta(), "constant": cal.Platt()}, sample)
    alone, found = (cs.compare_calibrators(*asked, n_other_splits=n, rng=0) for n in (0, 3))
    assert [pair.pvalue for pair in alone.pairs] == [pair.pvalue for pair in found.pairs]
    assert (alone.other_advice, len(found.other_advice)) == ((), 3)
    assert "in one random split; advice of 3 other splits: " in " ".join(everything(found).split())
    said = everything(replace(found, other_advice=("beta", "uncalibrated", "beta")))
    assert "advice of 3 other splits: 2 for beta, 1 for none" in " ".join(said.split())
    with pytest.raises(ValueError, match="leave out n_splits and cv"):
        cs.compare_calibrators(*asked, n_other_splits=3, cv=5)


def test_what_blurs_is_not_recommended_for_its_small_error(off):
    """The base rate for everybody is calibrated, and its Brier score is larger."""
    found = cs.recommend_calibrator(
        cs.Sample(off["y_true"], off["y_prob"]), {"blunt": cal.HistogramBinning(cs.EqualMass(1))}, rng=0
    )
    assert found.changes[0].error.lower(0.05)
    assert found.calibrator == "uncalibrated"
    assert "blunt has a smaller calibration error (adjusted p = 0.0" in found.verdict
    assert "but a larger Brier score." in found.verdict


def test_what_is_worse_is_said(said):
    rng = np.random.default_rng(0)
    p = rng.random(3000)
    models = {"square": said(np.square), "root": said(np.sqrt)}
    found = cs.compare_calibrators(models, rng.random(3000) < p, p, fitted_rows={"square": [], "root": []}, rng=0)
    assert "square, root are shown to be worse (adjusted p at most " in found.verdict


@pytest.mark.parametrize(
    ("error", "brier", "better"),
    [
        ((-1, 0.01), (-1, 0.5), True),
        ((-1, 0.01), (1, 0.5), False),
        ((1, 0.5), (-1, 0.01), True),
        ((1, 0.01), (-1, 0.01), False),
        ((-1, 0.06), (-1, 0.06), False),
    ],
)
def test_when_one_is_better(advice, error, brier, better):
    change = advice.changes[0]
    parts = {
        name: getattr(change, name)._replace(difference=0.01 * sign, pvalue_adjusted=p)
        for name, (sign, p) in {"error": error, "brier": brier}.items()
    }
    assert replace(change, **parts).better(0.05) is better
    assert (replace(advice, changes=(replace(change, **parts),)).calibrator == "beta") is better


def test_a_small_log_loss_alone_recommends_none_and_a_note_says_so(advice):
    changes = tuple(
        replace(
            each,
            error=each.error._replace(pvalue_adjusted=1.0),
            brier=each.brier._replace(pvalue_adjusted=1.0),
            log=each.log._replace(difference=-0.1, pvalue_adjusted=0.01),
        )
        for each in advice.changes
    )
    found = replace(advice, changes=changes)
    assert found.calibrator == "uncalibrated"
    assert "log loss is smaller for beta, temperature" in " ".join(str(found).split())
    assert "log loss of" not in str(advice)


def test_which_are_usual(three):
    two = cs.Sample(np.arange(400) % 2, np.linspace(0.2, 0.8, 400))
    rare = cs.Sample(np.arange(400) % 40 == 0, np.full(400, 0.025))
    assert list(usual_calibrators(two)) == ["platt", "beta", "temperature", "isotonic", "spline"]
    assert list(usual_calibrators(rare)) == ["platt", "beta", "temperature"]
    assert list(usual_calibrators(cs.Sample(**three))) == ["temperature", "vector", "dirichlet", "beta", "isotonic"]
    assert list(usual_calibrators(cs.Sample(**three), 0.98)) == ["temperature"]


def test_calibrators_that_use_a_variable_are_fitted_with_it(off):
    sample = cs.Sample(off["y_true"], off["y_prob"], variables={"age": off["age"]})
    found = cs.recommend_calibrator(sample, {"by age": cal.VariableBased("age")}, rng=0)
    assert found.calibrator == "by age"
    assert found.fitted.predict_proba(np.array([[0.5, 30.0]])).shape == (1, 2)


def test_arrays_are_refused_with_advice(off):
    with pytest.raises(TypeError, match="Sample"):
        cs.recommend_calibrator(off["y_true"], rng=0)
