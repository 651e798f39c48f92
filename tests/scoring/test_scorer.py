"""Estimators as scorers and metrics of scikit-learn."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate

import calibstat as cs
from registry import ESTIMATORS, first_of_its_class


def rows(n=600, labels=("no", "yes"), seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    logits = np.column_stack([X @ rng.normal(size=4) for _ in labels])
    chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    drawn = (chances.cumsum(axis=1)[:, :-1] < rng.random((n, 1))).sum(axis=1)
    return X, np.array(labels)[drawn]


X, Y = rows()
MODEL = LogisticRegression().fit(X[:300], Y[:300])
REST, OUTCOMES = X[300:], Y[300:]
SAMPLE = cs.Sample.from_estimator(MODEL, REST, OUTCOMES)
L2 = cs.DebiasedL2()


@pytest.mark.parametrize(
    "estimator", [cs.ECE(), L2, cs.BrierScore(), cs.TopLabel() | cs.ECE(cs.EqualMass(5))], ids=repr
)
def test_errors_and_losses_are_negated(estimator):
    assert cs.scorer(estimator)(MODEL, REST, OUTCOMES) == -estimator(SAMPLE)


def test_what_may_be_off_in_both_directions_and_what_is_good_when_large():
    assert cs.scorer(cs.Spiegelhalter())(MODEL, REST, OUTCOMES) == -abs(cs.Spiegelhalter()(SAMPLE))
    assert cs.scorer(cs.AUC())(MODEL, REST, OUTCOMES) == cs.AUC()(SAMPLE) > 0.5
    assert cs.scorer(cs.AUCV())(MODEL, REST, OUTCOMES) == cs.AUCV()(SAMPLE) > 0.5


@pytest.mark.parametrize("entry", list(filter(first_of_its_class, ESTIMATORS)), ids=repr)
def test_a_score_is_minus_the_evidence_of_the_headline(entry):
    estimator = entry.thing
    if not estimator.has_headline:
        with pytest.raises(TypeError, match="gives several numbers, but a score is one"):
            cs.scorer(estimator)
        return
    try:
        seen = estimator.lens(SAMPLE)
        value = estimator.core.headline(estimator.core.prepare(seen.predictions)(seen.outcomes))
    except ValueError as reason:  # it needs a variable, or more classes
        with pytest.raises(ValueError, match=re.escape(str(reason)[:40])):
            cs.scorer(estimator)(MODEL, REST, OUTCOMES)
        return
    assert cs.scorer(estimator)(MODEL, REST, OUTCOMES) == pytest.approx(-float(estimator.core.evidence(value)))


def test_cross_validation_takes_rows_that_the_model_was_not_fitted_on():
    scores = cross_val_score(LogisticRegression(), X, Y, scoring=cs.scorer(cs.ECE()), cv=3, error_score="raise")
    again = cross_validate(LogisticRegression(), X, Y, scoring={"l2": cs.scorer(L2), "ece": cs.scorer(cs.ECE())}, cv=3)
    assert (scores == again["test_ece"]).all()
    assert (scores < 0).all()


def test_a_search_chooses_the_model_with_the_smaller_error():
    search = GridSearchCV(LogisticRegression(), {"C": [1e-6, 1.0]}, scoring=cs.scorer(L2), cv=3, error_score="raise")
    assert search.fit(X, Y).best_params_ == {"C": 1.0}
    wrong = GridSearchCV(
        LogisticRegression(), {"C": [1e-6, 1.0]}, scoring=make_scorer(L2, response_method="predict_proba"), cv=3
    )
    assert wrong.fit(X, Y).best_params_ == {"C": 1e-6}  # an error that is taken for a score


def test_many_classes_and_a_fold_without_one():
    X, y = rows(900, ("cat", "dog", "emu"))
    model = LogisticRegression().fit(X, y)
    without = y != "dog"
    score = cs.scorer(cs.TopLabel() | cs.ECE())
    seen = cs.Sample(y[without], model.predict_proba(X[without]), labels=["cat", "dog", "emu"])
    assert score(model, X[without], y[without]) == -(cs.TopLabel() | cs.ECE())(seen)
    assert cs.scorer(cs.ClassWise("dog") | cs.ECE())(model, X[without], y[without]) < -0.1
    assert np.isfinite(cross_val_score(model, X, y, scoring=score, cv=3, error_score="raise")).all()
    with pytest.raises(ValueError, match="needs 2 classes, got 3"):
        cs.scorer(cs.Kuiper())(model, X, y)


def test_the_order_of_classes_is_that_of_the_model():
    swapped = LogisticRegression().fit(X[:300], np.where(Y[:300] == "yes", "a: yes", "b: no"))
    said = np.where(OUTCOMES == "yes", "a: yes", "b: no")
    assert list(swapped.classes_) == ["a: yes", "b: no"]
    ours = cs.scorer(cs.ClassWise("a: yes") | cs.ECE())(swapped, REST, said)
    assert ours == pytest.approx(cs.scorer(cs.ClassWise("yes") | cs.ECE())(MODEL, REST, OUTCOMES), rel=1e-3)


def test_weights_are_those_of_rows():
    weights = np.random.default_rng(1).uniform(0.5, 2, len(OUTCOMES))
    found = cs.scorer(cs.ECE())(MODEL, REST, OUTCOMES, sample_weight=weights)
    weighted = cs.Sample.from_estimator(MODEL, REST, OUTCOMES, sample_weight=weights)
    assert found == -cs.ECE()(weighted) != -cs.ECE()(SAMPLE)


def test_weights_are_routed_where_they_are_asked_for():
    weights = np.where(np.arange(len(X)) % 3 == 0, 5.0, 0.2)
    with sklearn.config_context(enable_metadata_routing=True):
        plain = cross_val_score(LogisticRegression(), X, Y, scoring=cs.scorer(L2), cv=3)
        asking = cs.scorer(L2).set_score_request(sample_weight=True)
        model = LogisticRegression().set_fit_request(sample_weight=False)
        routed = {"params": {"sample_weight": weights}, "cv": 3}
        weighted = cross_val_score(model, X, Y, scoring=asking, **routed, error_score="raise")
        assert (weighted != plain).all()
        fitted_by = LogisticRegression().set_fit_request(sample_weight=True)
        not_asking = cs.scorer(L2).set_score_request(sample_weight=False)
        unweighted = cross_val_score(fitted_by, X, Y, scoring=not_asking, **routed)
        assert ((unweighted != weighted) & (unweighted != plain)).all()
        with pytest.raises(Exception, match="sample_weight"):  # scikit-learn asks what is meant
            cross_val_score(fitted_by, X, Y, scoring=cs.scorer(L2), **routed)


def test_variables_are_columns_of_the_frame():
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = LogisticRegression().fit(frame[:300], Y[:300])
    score = cs.scorer(cs.VECE("a"), variables="a")
    sample = cs.Sample.from_estimator(model, frame[300:], OUTCOMES, variables={"a": frame["a"][300:]})
    assert score(model, frame[300:], OUTCOMES) == -cs.VECE("a")(sample)
    assert (cross_val_score(model, frame, Y, scoring=score, cv=3, error_score="raise") < 0).all()


def test_scorers_are_records():
    score = cs.scorer(cs.TopLabel() | cs.ECE())
    assert score == cs.scorer(cs.TopLabel() | cs.ECE()) == pickle.loads(pickle.dumps(score))
    assert clone(GridSearchCV(MODEL, {}, scoring=score)).scoring == score
    assert "TopLabel() | ECE(" in repr(score)


def test_what_is_no_estimator_or_several_numbers():
    with pytest.raises(TypeError, match="estimator is 'ece'"):
        cs.scorer("ece")
    with pytest.raises(TypeError, match="gives several numbers, but a score is one"):
        cs.scorer(cs.HistogramRegression(cs.EqualMass(5)))


@pytest.mark.parametrize("estimator", [cs.ECE(), cs.TopLabel() | cs.ECE()], ids=repr)
def test_estimators_are_metrics(estimator):
    p = MODEL.predict_proba(REST)
    assert estimator(OUTCOMES, p) == estimator(cs.Sample(OUTCOMES, p))
    weights = np.linspace(1, 2, len(OUTCOMES))
    assert estimator(OUTCOMES, p, sample_weight=weights) == estimator(cs.Sample(OUTCOMES, p, sample_weight=weights))
    metric = make_scorer(estimator, greater_is_better=False, response_method="predict_proba")
    assert repr(metric).startswith(f"make_scorer({type(estimator).__name__}, greater_is_better=False")
    assert metric(MODEL, REST, OUTCOMES) == pytest.approx(cs.scorer(estimator)(MODEL, REST, OUTCOMES))
