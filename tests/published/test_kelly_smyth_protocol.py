"""The tables of Kelly & Smyth (2023): errors over the confidence and over a variable, and how theirs are counted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

import calibstat as cs
from calibstat import calibrators as cal
from calibstat.comparisons.variable_based import quantile_cells, variable_based_protocol


@pytest.fixture(scope="module")
def disease():
    """Like a network that is too bold about the young and too timid about the old: 6000 patients."""
    rng = np.random.default_rng(0)
    age, z = rng.uniform(32, 65, 6000), rng.normal(0, 1.2, 6000)
    y = (rng.random(6000) < expit(np.where(age > 48, 2.2, 0.5) * z)).astype(int)
    return y, expit(z), age


def published(y, p, said, age, n_bins=10):
    """ECE and VECE with pandas: mistakes of the raw label, cells by quantiles of the raw predicted error."""
    mistaken = ((p > 0.5).astype(int) != y).astype(float)
    frame = pd.DataFrame({"mistaken": mistaken, "predicted": np.minimum(said, 1 - said)})
    found = []
    for values in (np.minimum(p, 1 - p), age):
        cells = pd.qcut(values, n_bins, duplicates="drop", labels=False)
        gaps = frame.groupby(cells).mean()
        share = frame.groupby(cells).size() / len(frame)
        found.append(float((share * (gaps["mistaken"] - gaps["predicted"]).abs()).sum()))
    return found


def test_kelly_smyth_2023_convention_agrees_with_pandas(disease):
    y, p, age = disease
    rows = pd.DataFrame({"y": y}).sample(2000, random_state=0).index.to_numpy()
    rest = np.setdiff1d(np.arange(6000), rows)
    models = {"platt": LogisticRegression(), "beta": cal.Beta(), "by age": cal.VariableBased("age")}
    found = variable_based_protocol(
        y, p, age, name="age", calibrators=models, fit_rows=rows, convention="kelly-smyth", rng=0
    )
    np.testing.assert_array_equal(found.split.test_rows, rest)
    said = {
        "uncalibrated": p[rest],
        "platt": LogisticRegression().fit(p[rows, None], y[rows]).predict_proba(p[rest, None])[:, 1],
        "beta": cal.Beta().fit(p[rows], y[rows]).predict_proba(p[rest])[:, 1],
        "by age": cal.VariableBased(1)
        .fit(np.column_stack([p, age])[rows], y[rows])
        .predict_proba(np.column_stack([p, age])[rest])[:, 1],
    }
    for name, event in said.items():
        assert [found[name].ece, found[name].vece] == pytest.approx(published(y[rest], p[rest], event, age[rest]))
        assert found[name].ece_pvalue is None


def test_evaluated_convention_judges_what_a_calibrator_says(disease):
    y, p, age = disease
    found = variable_based_protocol(y, p, age, name="age", n_fit=2000, n_resamples=199, rng=0)
    rows, rest = found.split.fit_rows, found.split.test_rows
    assert (len(rows), len(rest)) == (2000, 4000)
    said = cal.Beta().fit(p[rows], y[rows]).predict_proba(p[rest])
    sample = cs.Sample(y[rest], said, variables={"age": age[rest]})
    assert found["beta"].ece == pytest.approx((cs.TopLabel() | cs.ECE(cs.EqualMass(10)))(sample))
    assert found["beta"].vece == pytest.approx((cs.TopLabel() | cs.VECE("age", cs.EqualMass(10)))(sample))
    assert 0.005 < found["beta"].ece_null_mean < 0.03


def test_kelly_smyth_2023_variable_based_calibration_removes_what_others_leave(disease):
    """Their finding: after beta calibration the error over the variable stays; variable-based takes most of it away.

    In their tables beta leaves 9.59 and 2.77 %, variable-based 2.11 and 0.52 %. Whether its tree cuts the age where the
    error changes differs from split to split, so that 24 splits are judged.
    """
    y, p, age = disease
    models = {"beta": cal.Beta(), "variable-based": cal.VariableBased("age")}
    found = [
        variable_based_protocol(y, p, age, name="age", calibrators=models, n_resamples=199, rng=seed)
        for seed in range(24)
    ]
    before, beta, by_age = np.array([[each.vece for each in split.errors] for split in found]).T
    assert np.mean(beta) == pytest.approx(np.mean(before), rel=0.1)
    assert max(split["beta"].vece_pvalue for split in found) <= 0.01
    assert np.mean(by_age) < 0.6 * np.mean(beta)
    assert np.mean(by_age < beta) > 0.9


def test_what_is_printed(disease):
    y, p, age = disease
    found = variable_based_protocol(y, p, age, name="age", n_resamples=199, rng=0)
    text = " ".join(found.to_text(verbose=True).split())
    assert text.startswith("Smallest error of the confidence in the predicted class over age: variable-based, ")
    assert "VECE over the variable" in text
    assert "binned in 10 cells" in text
    assert "noise is the mean of the errors of a calibrated model with as many rows; p of each error is exact" in text
    frame = found.to_frame()
    assert list(frame["name"]) == ["uncalibrated", "scaling-binning", "platt", "beta", "variable-based"]
    assert found.to_dict()["n_test"] == 3000


def test_kelly_smyth_2023_adult_has_three_cells_instead_of_ten():
    """70.3 % of 13 781 confidences are exactly 1, and equal quantiles merge: 11025, 1378 and 1378 rows."""
    rng = np.random.default_rng(0)
    errors = np.where(np.arange(13_781) < 0.703 * 13_781, 0.0, rng.uniform(1e-9, 0.5, 13_781))
    np.testing.assert_array_equal(np.bincount(quantile_cells(errors, 10)), [0, 11025, 1378, 1378][1:])


@pytest.mark.parametrize("seed", range(3))
def test_quantile_cells_are_those_of_pandas(seed):
    rng = np.random.default_rng(seed)
    for values in (rng.random(57), rng.integers(0, 9, 100).astype(float), np.full(20, 0.3), rng.random(4)):
        theirs = pd.qcut(values, 10, duplicates="drop", labels=False) if np.ptp(values) else np.zeros(len(values))
        np.testing.assert_array_equal(quantile_cells(values, 10), theirs)


def test_more_classes():
    rng = np.random.default_rng(1)
    p, age = rng.dirichlet([1, 1, 1], 1500), rng.uniform(0, 1, 1500)
    y = np.array(["a", "b", "c"])[(p.cumsum(axis=1)[:, :-1] < rng.random((1500, 1))).sum(axis=1)]
    for convention in ("evaluated", "kelly-smyth"):
        found = variable_based_protocol(y, p, age, labels=["a", "b", "c"], convention=convention, n_resamples=99, rng=0)
        assert [each.name for each in found.errors] == ["uncalibrated", "dirichlet", "variable-based"]
        assert "uncalibrated" in str(found)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"convention": "theirs"}, "'evaluated' or 'kelly-smyth' is expected"),
        ({"n_fit": 6000}, "some must be left to test on"),
        ({"fit_rows": np.arange(6000)}, "a test on rows of the fit is not valid"),
        ({"fit_rows": [7000]}, "row numbers from 0 to 5999"),
        ({"n_bins": 0}, "n_bins"),
    ],
)
def test_what_is_refused(disease, options, message):
    with pytest.raises(ValueError, match=message):
        variable_based_protocol(*disease, rng=0, **options)


def test_a_straight_line_of_the_log_odds_is_what_platt_finds(disease):
    """Without a variable there is nothing for variable-based calibration to gain."""
    y, p, _ = disease
    other = np.random.default_rng(9).random(6000)
    assert np.ptp(logit(p)) > 1
    found = variable_based_protocol(y, p, other, n_resamples=99, rng=0)
    assert abs(found["variable-based"].vece - found["platt"].vece) < 0.02
