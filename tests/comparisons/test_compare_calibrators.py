"""Calibrators compared on rows that they were not fitted on."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import calibstat as cs
from calibstat import calibrators as cal
from calibstat import generators
from calibstat.comparisons.compare import compare_calibrators
from calibstat.inference.compare import comparison_test
from calibstat.inference.multiplicity import holm, holm_of_pairs
from calibstat.inference.test import calibration_test
from calibstat.nulls.consistency import Consistency

TWO = {"platt": cal.Platt(), "beta": cal.Beta()}


@pytest.fixture(scope="module")
def found(off):
    return compare_calibrators(TWO, off["y_true"], off["y_prob"], rng=0)


def test_a_clear_case_is_found_and_said(found):
    better = {(pair.first.name, pair.second.name): pair for pair in found.pairs}
    assert better["uncalibrated", "platt"].rejects
    assert better["uncalibrated", "beta"].rejects
    assert not better["platt", "beta"].rejects
    assert better["uncalibrated", "platt"].verdict.startswith(
        "platt is better calibrated than uncalibrated: calibration "
    )
    assert "cannot be told apart at 5 % by their calibration errors" in better["platt", "beta"].verdict
    assert "is calibrated" not in found.to_text(verbose=True)


def test_it_agrees_with_the_single_verbs(found, off):
    """Fit, test and compare by hand on the rows of the split."""
    (split,) = found.splits
    y, p = off["y_true"], off["y_prob"]
    samples = {"uncalibrated": cs.Sample(y[split.test_rows], p[split.test_rows])} | {
        name: cs.Sample(
            y[split.test_rows], each.fit(p[split.fit_rows], y[split.fit_rows]).predict_proba(p[split.test_rows])
        )
        for name, each in [("platt", cal.Platt()), ("beta", cal.Beta())]
    }
    estimator = cs.DebiasedL2(cs.EqualMass(15))
    for name, sample in samples.items():
        assert found[name].value == pytest.approx(estimator(sample))
        test = calibration_test(sample, estimator, null=Consistency(9999), rng=1)
        assert found[name].pvalue == pytest.approx(test.pvalue, abs=0.05)
        assert found[name].scores.brier == pytest.approx(cs.BrierScore()(sample))
        assert found[name].scores.log == pytest.approx(cs.LogScore()(sample))
    for pair in found.pairs:
        a, b = pair.first.name, pair.second.name
        by_hand = comparison_test(samples[a], samples[b], estimator, n_resamples=199, rng=0)
        assert pair.difference == pytest.approx(by_hand.difference)
        np.testing.assert_allclose(
            pair.confidence_interval, by_hand.confidence_interval, atol=by_hand.standard_error / 2
        )
        wrapped = max(by_hand.difference_pvalue, min(1.0, 2 * min(found[a].pvalue, found[b].pvalue)))
        assert pair.pvalue == pytest.approx(wrapped, abs=0.1)
    alone = [pair.tests[0].difference_pvalue for pair in found.pairs]
    adjusted = holm_of_pairs(alone, [each.pvalue for each in found.models], [(0, 1), (0, 2), (1, 2)])
    np.testing.assert_allclose([pair.pvalue_adjusted for pair in found.pairs], adjusted)
    scores = [comparison_test(samples[p.first.name], samples[p.second.name], cs.BrierScore()) for p in found.pairs]
    np.testing.assert_allclose([p.brier_pvalue_adjusted for p in found.pairs], holm([p.pvalue for p in scores]))


def test_brier_is_calibration_and_refinement(found):
    for each in found.models:
        assert each.scores.brier == pytest.approx(each.scores.calibration + each.scores.refinement)
        assert each.scores.calibration == each.value


def test_lost_sharpness_is_seen(off, said):
    """The base rate for everybody is calibrated and says nothing: no error, and the refinement of a constant."""
    y, p = off["y_true"], off["y_prob"]
    constant = said(lambda event: np.full(len(event), y.mean()))
    found = compare_calibrators(TWO | {"constant": constant}, y, p, fitted_rows={"constant": []}, rng=0)
    told = {(pair.first.name, pair.second.name): pair for pair in found.pairs}
    assert told["uncalibrated", "constant"].rejects
    assert not told["platt", "constant"].rejects
    assert found["constant"].scores.refinement > found["platt"].scores.refinement + 0.05


def test_refinement_is_the_brier_score_after_the_cells_are_corrected():
    """On distinct values the unbiased calibration part is near the plug-in one, and both parts have known limits."""
    rng = np.random.default_rng(0)
    p = rng.choice([0.2, 0.5, 0.8], 60_000)
    y = (rng.random(60_000) < p**2).astype(int)
    models = {"platt": cal.Platt()}
    found = compare_calibrators(models, y, p, estimator=cs.DebiasedL2(cs.UniqueValues()), n_resamples=9, rng=0)
    chance = np.array([0.04, 0.25, 0.64])
    gap = np.array([0.2, 0.5, 0.8]) - chance
    assert found["uncalibrated"].scores.calibration == pytest.approx((gap**2).mean(), rel=0.03)
    assert found["uncalibrated"].scores.refinement == pytest.approx((chance * (1 - chance)).mean(), rel=0.03)


def test_identical_calibrators_cannot_be_told_apart(off):
    found = compare_calibrators({"a": cal.Beta(), "b": cal.Beta()}, off["y_true"], off["y_prob"], rng=0)
    (same,) = [pair for pair in found.pairs if pair.first.name == "a"]
    assert (same.difference, same.pvalue, same.pvalue_adjusted) == (0, 1, 1)
    assert same.verdict == ("a and b cannot be told apart at 5 % by their calibration errors of P(1) (adjusted p = 1).")
    assert "Not told apart from b." in found.verdict


def test_an_interval_without_zero_does_not_outvote_the_pvalue(found):
    pair = found.pairs[0]
    assert not pair.confidence_interval.low <= 0 <= pair.confidence_interval.high
    doubtful = replace(pair, pvalue_adjusted=0.06)
    assert "uncalibrated and platt cannot be told apart at 5 %" in doubtful.verdict
    assert "the interval of the difference excludes 0, but the p-value decides" in " ".join(str(doubtful).split())
    assert "excludes 0" not in " ".join(str(pair).split())


# What goes in


def test_three_classes_with_names(three):
    models = {"temperature": cal.Temperature(), "isotonic": cal.OneVsRest(cal.Isotonic())}
    found = compare_calibrators(models, rng=0, **three)
    assert found.estimator == cs.TopLabel() | cs.DebiasedL2(cs.EqualMass(15))
    assert found.verdict.startswith("Use temperature: calibration error of P(predicted class) at most 0.0")
    one = compare_calibrators(models, rng=0, lens=cs.ClassWise("dog"), n_resamples=19, **three)
    assert one["uncalibrated"].value != found["uncalibrated"].value
    grid = cs.DebiasedL2(cs.SimplexGrid(4))
    whole = compare_calibrators(models, rng=0, estimator=grid, n_resamples=19, **three)
    assert repr(whole.estimator.lens) == "Canonical()"


def test_frames_variables_and_weights(off):
    rng = np.random.default_rng(0)
    weights = rng.uniform(0.5, 2, 2000)
    frame = pd.DataFrame({"no": 1 - off["y_prob"], "yes": off["y_prob"]})
    variables = pd.DataFrame({"height": rng.normal(size=2000), "age": off["age"]})
    names = np.array(["no", "yes"])[off["y_true"]]
    before = frame.copy()
    models = {
        "by name": cal.VariableBased("age"),
        "by place": cal.VariableBased(-1),
        "tree": cal.CalibrationTree(["age"], ccp_alpha=0.0),
        "beta": cal.Beta(),
    }
    found = compare_calibrators(models, names, frame, variables=variables, sample_weight=weights, n_resamples=99, rng=0)
    assert found["by name"].value == found["by place"].value
    assert models["by name"].variable == "age"
    assert not hasattr(models["beta"], "coef_")
    (split,) = found.splits
    fit, test = split.fit_rows, split.test_rows
    fitted = cal.Beta().fit(off["y_prob"][fit], off["y_true"][fit], weights[fit])
    sample = cs.Sample(off["y_true"][test], fitted.predict_proba(off["y_prob"][test]), sample_weight=weights[test])
    assert found["beta"].value == pytest.approx(cs.DebiasedL2(cs.EqualMass(15))(sample))
    assert all(0 <= pair.pvalue_adjusted <= 1 for pair in found.pairs)
    pd.testing.assert_frame_equal(frame, before)


def test_cells_of_few_rows_are_merged(off, said):
    """A calibrator that says a value of three rows only would leave a cell without a variance."""
    few = said(lambda p: np.where(p > np.sort(off["y_prob"])[-12], 0.97, 0.4))
    found = compare_calibrators({"few": few}, off["y_true"], off["y_prob"], fitted_rows={"few": []}, rng=0)
    assert "merged until each holds 8 rows" in found.to_text(verbose=True)
    assert "LargeCells" in repr(found.estimator)


def test_the_same_rng_gives_the_same_answer_and_more_calibrators_the_same_rows(off, found):
    again = compare_calibrators(TWO, off["y_true"], off["y_prob"], rng=0)
    assert str(again) == str(found)
    more = compare_calibrators(TWO | {"isotonic": cal.Isotonic()}, off["y_true"], off["y_prob"], rng=0)
    np.testing.assert_array_equal(more.splits[0].test_rows, found.splits[0].test_rows)
    assert more["beta"].pvalue == found["beta"].pvalue
    assert str(compare_calibrators(TWO, off["y_true"], off["y_prob"], rng=1)) != str(found)


# Rows of the fit are never tested on


def test_rows_of_fitted_calibrators_are_left_out(off):
    y, p = off["y_true"], off["y_prob"]
    fitted = cal.Isotonic().fit(p[:900], y[:900])
    found = compare_calibrators({"isotonic": fitted}, y, p, fitted_rows={"isotonic": np.arange(900)}, rng=0)
    assert found.splits[0].test_rows.min() >= 900
    said = fitted.predict_proba(p[found.splits[0].test_rows])
    sample = cs.Sample(y[found.splits[0].test_rows], said)
    assert found["isotonic"].scores.brier == pytest.approx(cs.BrierScore()(sample))


@pytest.mark.parametrize("as_rows", [False, True])
def test_fitted_calibrators_take_what_they_were_fitted_on(off, as_rows):
    p = np.column_stack([1 - off["y_prob"], off["y_prob"]]) if as_rows else off["y_prob"][:, None]
    models = {
        "beta": cal.Beta().fit(p, off["y_true"]),
        "by place": cal.VariableBased(-1).fit(np.column_stack([p, off["age"]]), off["y_true"]),
    }
    everywhere, rng = {name: [] for name in models}, np.random.default_rng(3)
    new, age = rng.random(400), rng.uniform(20, 80, 400)
    y = (rng.random(400) < new).astype(int)
    found = compare_calibrators(models, y, new, variables={"age": age}, fitted_rows=everywhere, rng=0)
    rows = found.splits[0].test_rows
    said = models["beta"].predict_proba(np.column_stack([1 - new, new])[rows] if as_rows else new[rows])
    assert found["beta"].scores.brier == pytest.approx(cs.BrierScore()(cs.Sample(y[rows], said)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"test_size": 0}, "need rows to be fitted on, and other rows to be tested on"),
        ({"test_size": 1}, "need rows to be fitted on"),
        ({"test_size": 0.001}, "leaves 2 to test on, but at least 20"),
        ({"fitted_rows": {"beta": np.arange(1500)}}, "were fitted on all but 500 of 2000 rows, and a test on those"),
        ({"fitted_rows": {"gamma": []}}, r"names 'gamma', but the calibrators are \['platt', 'beta'\]"),
        ({"fitted_rows": {"beta": [2000]}}, "row numbers from 0 to 1999"),
        ({"fitted_rows": {"beta": [0.5]}}, "row numbers from 0 to 1999"),
        ({"fitted_rows": {"beta": [1]}, "cv": 5}, "fitted_rows= were fitted on 1 of them"),
        ({"cv": 5, "n_splits": 2}, "leave out test_size and n_splits"),
        ({"cv": 1}, "a number of folds from 2"),
        ({"n_splits": 0}, "n_splits"),
        ({"estimator": cs.BrierScore()}, "use a debiased squared error"),
        ({"confidence_level": 95}, "confidence_level"),
    ],
)
def test_what_is_refused(off, options, message):
    with pytest.raises(ValueError, match=message):
        compare_calibrators(TWO, off["y_true"], off["y_prob"], rng=0, **options)


@pytest.mark.parametrize(
    ("models", "error", "message"),
    [
        ({}, ValueError, "calibrators is empty: name at least one"),
        ([cal.Beta()], TypeError, "a mapping of names"),
        ({"beta": cal.Beta}, TypeError, "an object with fit and predict_proba"),
        ({"uncalibrated": cal.Beta()}, ValueError, "take another"),
        ({"v": cal.VariableBased("age")}, ValueError, "needs the variable 'age', but variables= has none"),
        ({"many": cal.Dirichlet(off_diagonal=-1)}, ValueError, "calibrator 'many' cannot be fitted on 1000 rows"),
    ],
)
def test_what_is_no_calibrator(off, models, error, message):
    with pytest.raises(error, match=message):
        compare_calibrators(models, off["y_true"], off["y_prob"], rng=0)


def test_what_a_calibrator_says_is_examined(off, said):
    for function in (lambda p: p + 1, lambda p: np.full(len(p), np.nan)):
        with pytest.raises(ValueError, match="calibrator 'odd'"):
            compare_calibrators({"odd": said(function)}, off["y_true"], off["y_prob"], fitted_rows={"odd": []}, rng=0)


# Folds and several splits


def test_cross_fitting_tests_every_row_and_says_that_its_null_is_approximate(off):
    found = compare_calibrators(TWO, off["y_true"], off["y_prob"], cv=4, rng=0)
    rows = np.concatenate([split.test_rows for split in found.splits])
    np.testing.assert_array_equal(np.sort(rows), np.arange(2000))
    assert "only approximate" in " ".join(str(found).split())
    assert "(exact)" not in found.to_text(verbose=True)
    assert "approximate for cross-fitted ones" in found.to_dict()["hypothesis"]
    said = np.empty(2000)
    for split in found.splits:
        fitted = cal.Beta().fit(off["y_prob"][split.fit_rows], off["y_true"][split.fit_rows])
        said[split.test_rows] = fitted.predict_proba(off["y_prob"][split.test_rows])[:, 1]
    assert found["beta"].scores.brier == pytest.approx(((said - off["y_true"]) ** 2).mean())


def test_several_splits(off):
    found = compare_calibrators(TWO, off["y_true"], off["y_prob"], n_splits=3, test_size=0.4, rng=0)
    assert len({split.test_rows.tobytes() for split in found.splits}) == 3
    assert {len(split.test_rows) for split in found.splits} == {800}
    for each in found.models:
        pvalues = [test.pvalue for test in each.tests]
        assert each.pvalue == min(1.0, 2 * np.median(pvalues))
        assert each.root_interval is None
    for pair in found.pairs:
        differences = [test.difference for test in pair.tests]
        assert pair.difference == pytest.approx(np.mean(differences))
        corrected = np.sqrt((1 / 3 + 800 / 1200) * np.var(differences, ddof=1))
        assert pair.split_standard_error == pytest.approx(corrected)
        assert pair.pvalue == min(1.0, 2 * np.median([test.pvalue for test in pair.tests]))
    assert "mean over 3 splits, their standard error" in " ".join(found.pairs[0].to_text(verbose=True).split())
    assert "twice the median over splits" in " ".join(found.to_text(verbose=True).split())
    assert found.changes[0].brier.confidence_interval is None
    assert found.verdict.startswith("Use beta: calibration error of P(1) 0.0")
    assert "(adjusted p " in found.verdict


def test_as_plain_values(found, off):
    values = found.to_dict()
    assert json.loads(json.dumps(values, allow_nan=False)) == values
    assert len(found.to_frame()) == 3
    assert list(found.models_to_frame()["name"]) == ["uncalibrated", "platt", "beta"]
    several = compare_calibrators(TWO, off["y_true"], off["y_prob"], n_splits=2, n_resamples=19, rng=0)
    more = " ".join(several.to_text(verbose=True).split())
    assert "1599 redraws were taken, since with 19 no adjusted p-value could be at most 5 %" in more
    assert several.n_resamples == 1599
    few = " ".join(str(replace(several, n_resamples=19)).split())
    assert "of the calibration error: No test could reject at 5 %, whatever the data: with 19 redraws the" in few
    json.dumps(several.to_dict(), allow_nan=False)


def test_no_calibrators_of_that_name(found):
    with pytest.raises(KeyError, match="there is no 'gamma'"):
        found["gamma"]


def test_what_is_rounded_to_zero_has_no_sign(found):
    beta = found["beta"]
    odd = replace(beta, scores=replace(beta.scores, brier=-1e-9, refinement=-4e-6, log=-0.0))
    change = found.changes[1]
    same = replace(change, brier=change.brier._replace(difference=-4e-6))
    table = replace(found, models=(odd,), changes=(same,))._table()
    assert [table[1][place] for place in (4, 5, 7)] == ["0.00000", "-4e-06", "0.00000"]
    rare = replace(beta, scores=replace(beta.scores, brier=0.0023912))
    assert replace(found, models=(rare,), changes=(same,))._table()[1][4] == "0.0023912"


def test_a_certain_mistake_is_told_beside_the_log_score(off, said):
    """What is called impossible happens: the log score is infinite, and was printed as 34.54 without a word."""
    y, p = off["y_true"].copy(), off["y_prob"]
    y[:100] = np.arange(100) % 2
    models = {
        "sure": said(lambda column: np.where(np.isin(column, p[:100]), 1.0, column)),
        "same": said(abs),
    }
    found = compare_calibrators(models, y, p, fitted_rows={"sure": [], "same": []}, rng=0)
    rows = found.splits[0].test_rows
    wrong = np.count_nonzero((rows < 100) & (y[rows] == 0))
    assert wrong > 10
    assert found["sure"].scores.n_clipped == found.to_dict()["models"][1]["log_clipped_rows"] == wrong
    assert found["same"].scores.n_clipped == 0
    said_all = " ".join(found.to_text(verbose=True).split())
    assert "log loss takes a probability below 1e-15 for this much" in said_all
    assert f"had such a probability for sure in {wrong} rows" in said_all
    assert "same in" not in said_all


def test_no_clipping_no_note(found):
    assert "1e-15" not in found.to_text(verbose=True)


def test_the_order_of_calibrators_changes_no_number():
    sample = generators.BetaPredictions(1, 1, generators.LogitShift(0.1)).sample(1000, rng=0)
    named = {"platt": cal.Platt(), "beta": cal.Beta(), "isotonic": cal.Isotonic()}
    found = []
    for names in (list(named), list(reversed(named)), ["beta", "isotonic"]):
        chosen = {name: named[name] for name in names}
        compared = compare_calibrators(chosen, sample.y_true, sample.y_prob, n_splits=2, n_resamples=499, rng=0)
        found.append({model.name: [test.pvalue for test in model.tests] for model in compared.models})
    assert found[0] == found[1]
    assert found[2] == {name: found[0][name] for name in ("uncalibrated", "beta", "isotonic")}
