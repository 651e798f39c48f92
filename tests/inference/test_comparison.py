"""The comparison of two models."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import calibstat as cs
from calibstat.inference import differences as tv
from calibstat.inference.compare import comparison_test
from calibstat.inference.compare_models import compare_models
from calibstat.inference.differences import Expanded
from calibstat.inference.intervals import ConfidenceInterval

L2 = cs.DebiasedL2(cs.EqualMass(15))
TENTHS = np.array([0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95])
Y_TEN = [0, 0, 1, 0, 1, 1, 0, 1, 1, 1]


def pair(n=1000, seed=0, first=lambda p: p, second=lambda p: p**2):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    y = (rng.random(n) < p).astype(int)
    return tuple(cs.Sample(y, model(p), labels=[0, 1]) for model in (first, second))


def test_ten_rows_worked_by_hand(monkeypatch):
    monkeypatch.setattr(tv, "MINIMUM_ROWS", 2)
    a, b = cs.Sample(Y_TEN, TENTHS), cs.Sample(Y_TEN, 0.5 + 0.5 * (TENTHS - 0.5))
    found = comparison_test(a, b, cs.DebiasedL2(cs.EqualMass(5)), n_resamples=99, rng=0)
    assert found.difference == pytest.approx(-0.021875)
    assert found.values == pytest.approx((-0.0325, -0.010625))
    assert found.statistic == pytest.approx(-0.021875 / found.standard_error)
    assert found.difference_pvalue > 0.05


def least_squares_gain(sample, weights):
    """The weighted mean of squared residuals, less that after the weighted line of least squares."""
    p, y = sample.y_prob[:, 1], sample.outcomes
    slope, intercept = np.polyfit(p, y, 1, w=np.sqrt(weights))
    return np.average((y - p) ** 2 - (y - intercept - slope * p) ** 2, weights=weights)


def test_weights():
    """Weights count in both errors, in the Brier score and in the line."""
    a, b = pair()
    w = np.where(a.y_prob[:, 1] > 0.5, 3.0, 1.0)

    def found(weight, paired=True):
        samples = (cs.Sample(a.outcomes, each.y_prob, labels=[0, 1], sample_weight=weight) for each in (a, b))
        return comparison_test(*samples, L2, paired=paired, n_resamples=99, rng=0)

    plain, same, weighted = found(None), found(np.full(1000, 2.0)), found(w)
    assert same.difference == pytest.approx(plain.difference)
    assert same.standard_error == pytest.approx(plain.standard_error)
    assert same.score_difference == pytest.approx(plain.score_difference)
    assert found(np.ones(1000), False).score_difference == pytest.approx(found(None, False).score_difference)
    each = (a.y_prob[:, 1] - a.outcomes) ** 2 - (b.y_prob[:, 1] - b.outcomes) ** 2
    assert weighted.score_difference.difference == pytest.approx(np.average(each, weights=w))
    assert weighted.difference != pytest.approx(plain.difference)
    lines = [each.recalibration_difference.difference for each in (plain, same, weighted)]
    assert lines[1] == pytest.approx(lines[0])
    gains = [least_squares_gain(each, w) for each in (a, b)]
    assert lines[2] == pytest.approx(gains[0] - gains[1])
    with pytest.raises(ValueError, match="their weights differ; use paired=False"):
        comparison_test(a, cs.Sample(a.outcomes, b.y_prob, labels=[0, 1], sample_weight=w), L2)


def heavy(weights):
    """Two models of 400 rows."""
    rng = np.random.default_rng(3)
    p = rng.random(400)
    y = (rng.random(400) < p).astype(int)
    other = np.sqrt(p * rng.random(400))
    return [cs.Sample(y, each, labels=[0, 1], sample_weight=weights) for each in (p, other)]


@pytest.mark.parametrize("score", [cs.BrierScore(), cs.AUC()])
def test_heavy_rows_count_by_what_they_leave_unseen(score):
    """The square of each influence is divided by one less the row's share; AUC has shares within an outcome."""
    w = np.random.default_rng(1).lognormal(0, 1.5, 400)
    models = heavy(w)
    found = comparison_test(*models, score)
    first, second = (Expanded.of(score, each).influence for each in models)
    y = models[0].outcomes
    inside = y[:, None] == y if isinstance(score, cs.AUC) else np.ones((400, 400))
    h = w / (inside @ w)
    assert found.standard_error == pytest.approx(np.sqrt(((first - second) ** 2 / (1 - h)).sum()))
    assert found.pvalue > 2 * stats.norm.sf(abs(found.statistic))
    (pair,) = compare_models(dict(zip("ab", models, strict=True)), score, rng=0).pairs
    assert (pair.standard_error, pair.pvalue) == (found.standard_error, found.pvalue)


@pytest.mark.parametrize("paired", [True, False])
def test_one_row_with_most_of_the_weight_is_refused(paired):
    y, w = heavy(None)[0].outcomes, np.ones(400)
    w[y.argmax()] = 500
    with pytest.raises(ValueError, match=r"one row has 55.6 % of the weight, and nothing shows its noise"):
        comparison_test(*heavy(w), cs.BrierScore(), paired=paired)
    w[y.argmax()] = 300
    comparison_test(*heavy(w), cs.BrierScore(), paired=paired)
    with pytest.raises(ValueError, match=r"one row of an outcome has .* % of the weight"):
        comparison_test(*heavy(w), cs.AUC(), paired=paired)


def test_identical_predictions_have_no_difference():
    for model in (lambda p: p, lambda p: p**2):
        found = comparison_test(*pair(first=model, second=model), L2, n_resamples=99, rng=0)
        assert (found.difference, found.pvalue, found.statistic) == (0, 1, 0)
        assert "cannot be told apart" in found.verdict


def test_the_better_calibrated_model_is_named():
    found = comparison_test(*pair(), L2, names=("good", "bad"), rng=0)
    assert found.pvalue <= 0.002
    assert found.verdict.startswith("good is better calibrated than bad at 5 %: ")
    assert found.confidence_interval.high < 0
    swapped = comparison_test(*pair()[::-1], L2, names=("bad", "good"), rng=0)
    assert swapped.difference == pytest.approx(-found.difference)
    assert swapped.verdict == found.verdict


def test_equal_and_opposite_errors_cannot_be_told_apart():
    """Shifts of +0.1 and -0.1: the squared errors are equal, the predictions far from interchangeable."""
    models = {"first": lambda p: np.clip(p * 0.8 + 0.2, 0, 1), "second": lambda p: np.clip(p * 0.8, 0, 1)}
    found = comparison_test(*pair(4000, **models), L2, n_resamples=99, rng=0)
    assert max(found.own_pvalues) == 0.01
    assert found.pvalue > 0.05
    assert "cannot be told apart" in found.verdict


def test_pvalue_is_wrapped():
    found = comparison_test(*pair(600, seed=3, second=lambda p: p**1.15), L2, n_resamples=99, rng=0)
    assert found.pvalue == max(found.difference_pvalue, min(1.0, 2 * min(found.own_pvalues)))


def test_an_interval_without_zero_does_not_outvote_the_pvalue():
    """Where both models may be calibrated the p-value is that of the wrap, and the interval is not wrapped."""
    found = comparison_test(*pair(600, second=lambda p: p**1.02), L2, n_resamples=19, rng=0)
    assert found.pvalue > 0.05
    assert "the interval excludes 0, but" not in str(found)
    beside = replace(found, confidence_interval=ConfidenceInterval(0.01, 0.02))
    assert "cannot be told apart" in beside.verdict
    assert "the interval excludes 0, but" in str(beside)


def test_text_says_hypothesis_units_and_skill():
    text = " ".join(comparison_test(*pair(300), L2, n_resamples=99, rng=0).to_text(verbose=True).split())
    for part in (
        "A and B have the same squared calibration error through Canonical(), each binned by its own cells",
        "unbiased squared errors",
        "their roots; ",
        "fewer than 500 rows",
        "the Brier score, calibration and sharpness together, differs by ",
    ):
        assert part in text
    assert "500 rows" not in str(comparison_test(*pair(500), L2, n_resamples=99, rng=0))


def test_brier_difference_is_that_of_a_paired_test():
    a, b = pair()
    found = comparison_test(a, b, L2, n_resamples=19, rng=0).score_difference
    each = (a.y_prob[:, 1] - a.outcomes) ** 2 - (b.y_prob[:, 1] - b.outcomes) ** 2
    assert found.difference == pytest.approx(each.mean())
    assert found.pvalue == pytest.approx(2 * stats.norm.sf(abs(each.mean() / each.std() * np.sqrt(1000))))


def test_gain_of_a_line_agrees_with_least_squares():
    a, b = pair()
    found = comparison_test(a, b, L2, n_resamples=99, rng=0).recalibration_difference
    gains = []
    for sample in (a, b):
        p, y = sample.y_prob[:, 1], sample.outcomes
        line = stats.linregress(p, y)
        gains.append((y - p) ** 2 - (y - line.intercept - line.slope * p) ** 2)
    each = gains[0] - gains[1]
    assert found.difference == pytest.approx(each.mean())
    assert found.standard_error == pytest.approx(each.std() / np.sqrt(1000), rel=0.5)
    assert found.own_pvalues[0] > 0.05
    assert found.own_pvalues[1] == 0.01
    assert found.pvalue == 0.02 == max(found.difference_pvalue, 2 * min(found.own_pvalues))


def test_gain_of_ten_rows_worked_by_hand(monkeypatch):
    """Least squares of the ten outcomes on 1 and p, and on 1 and the halved p: the same line, other starting points."""
    monkeypatch.setattr(tv, "MINIMUM_ROWS", 2)
    a, b = cs.Sample(Y_TEN, TENTHS), cs.Sample(Y_TEN, 0.5 + 0.5 * (TENTHS - 0.5))
    found = comparison_test(a, b, cs.DebiasedL2(cs.EqualMass(5)), n_resamples=99, rng=0).recalibration_difference
    briers = [np.mean((np.array(Y_TEN) - each.y_prob[:, 1]) ** 2) for each in (a, b)]
    assert found.difference == pytest.approx(briers[0] - briers[1])
    assert found.difference == pytest.approx(0.010076 - 0.028201, abs=1e-6)


def test_no_line_for_three_classes_and_one_for_equal_predictions():
    y = np.tile([0, 1, 2], 100)
    same = cs.Sample(y, np.full((300, 3), 1 / 3), labels=range(3))
    found = comparison_test(same, same, cs.DebiasedL2(cs.SimplexGrid(2)), n_resamples=19, rng=0)
    assert found.recalibration_difference is None
    top = comparison_test(same, same, cs.TopLabel() | cs.DebiasedL2(cs.EqualMass(2)), n_resamples=19, rng=0)
    assert top.recalibration_difference.pvalue == 1


def test_different_rows():
    (a, _), (_, b) = pair(1000, 0), pair(800, 1)
    with pytest.raises(ValueError, match=r"1000 and 800 rows; use paired=False"):
        comparison_test(a, b, L2)
    found = comparison_test(a, b, L2, paired=False, rng=0)
    assert found.pvalue < 0.01
    assert "n = 1000 and 800, different rows" in found.verdict


def test_top_label_of_three_classes():
    rng = np.random.default_rng(0)
    prob = rng.dirichlet(np.ones(3), 1500)
    y = (rng.random((1500, 1)) > prob.cumsum(axis=1)[:, :-1]).sum(axis=1)
    sharp = prob**3 / (prob**3).sum(axis=1, keepdims=True)
    a, b = (cs.Sample(y, each, labels=range(3)) for each in (prob, sharp))
    for estimator in (cs.TopLabel() | L2, cs.DebiasedL2(cs.SimplexGrid(4))):
        found = comparison_test(a, b, estimator, n_resamples=99, rng=0)
        assert found.difference < 0
        assert found.pvalue <= 0.02


def test_as_plain_values():
    found = comparison_test(*pair(), L2, n_resamples=19, rng=0)
    values = found.to_dict()
    assert json.loads(json.dumps(values)) == values
    assert found.to_frame().shape == (1, len(values))
    assert tuple(found) == (found.difference, found.pvalue)
    assert str(pickle.loads(pickle.dumps(found))) == str(found)


@pytest.mark.parametrize("names", [("a",), ("a", "a"), "ab"])
def test_names_are_two(names):
    with pytest.raises(ValueError, match="it must be two different names"):
        comparison_test(*pair(), L2, names=names)


def other_labels():
    return pair()[0], cs.Sample([0, 2] * 500, np.full(1000, 0.5), labels=[0, 2])


def other_outcomes():
    return pair(seed=0)[0], pair(seed=1)[0]


@pytest.mark.parametrize(
    ("samples", "estimator", "message"),
    [
        (other_labels, L2, "different labels"),
        (other_outcomes, L2, r"y_true differs in \d+ of 1000 rows; use paired=False"),
        (pair, cs.Region(lambda s: s.event > 0.5) | L2, "different rows of the two samples are kept; use paired=False"),
        (pair, cs.Kuiper(), r"use DebiasedL2\(EqualMass\(15\)\)"),
    ],
    ids=["labels", "outcomes", "region", "Kuiper"],
)
def test_what_cannot_be_compared(samples, estimator, message):
    with pytest.raises(ValueError, match=message):
        comparison_test(*samples(), estimator)


@pytest.mark.parametrize(
    ("n", "weights", "advice"),
    [
        (3, None, "a cell has 3 rows of 3, too few for its variance (at least 8): add rows"),
        (60, np.append(np.ones(59), 1000.5), "few rows have most of the weight; add rows like these, or limit"),
    ],
)
def test_a_refusal_for_small_cells_names_what_was_asked_for_and_what_can_be_done(n, weights, advice):
    p = np.random.default_rng(0).random(n)
    first, second = (cs.Sample(np.arange(n) % 2, each, sample_weight=weights) for each in (p, p**2))
    with pytest.raises(ValueError, match=r"DebiasedL2\(binning=EqualMass\(n_bins=15\)\): a cell has") as refusal:
        cs.comparison_test(first, second, cs.DebiasedL2(), rng=0)
    assert advice in str(refusal.value)
    assert not any(word in str(refusal.value) for word in ("LargeCells", "EqualMass(1)"))


def test_models_that_differ_by_rounding_alone_are_not_told_apart():
    """The noise of their difference has a variance of zero, which rounding must not make negative."""
    for seed in range(5):
        a, b = pair(4000, seed, first=lambda p: p**1.5, second=lambda p: p**1.5 * (1 + 4e-16))
        result = comparison_test(a, b, L2, n_resamples=199, rng=0)
        assert result.standard_error < 1e-9
        assert result.pvalue == 1


SCREENS = {
    80: """\
good is better calibrated than bad at 5 %: calibration error of P(1) 0.0203
against 0.191 (n = 1000, the same rows, p = 0.002).

             error   O/E  slope  squared  95 % interval           p
good        0.0203  1.01   1.06   0.0004                      0.327
bad         0.1909   1.5  0.776   0.0364                      0.001
difference                       -0.0360  -0.0465 to -0.0254  0.002

note        0.002 is the smallest p-value that 999 redraws can give; by the
            normal law that of the difference is about 7e-12
note        the Brier score, calibration and sharpness together, differs by
            -0.03611 (good minus bad, p = 4.06e-11)

How this was computed: .to_text(verbose=True)
""",
    120: """\
good is better calibrated than bad at 5 %: calibration error of P(1) 0.0203 against 0.191 (n = 1000,
the same rows, p = 0.002).

             error   O/E  slope  squared  95 % interval           p
good        0.0203  1.01   1.06   0.0004                      0.327
bad         0.1909   1.5  0.776   0.0364                      0.001
difference                       -0.0360  -0.0465 to -0.0254  0.002

note        0.002 is the smallest p-value that 999 redraws can give; by the normal law that of the
            difference is about 7e-12
note        the Brier score, calibration and sharpness together, differs by -0.03611 (good minus
            bad, p = 4.06e-11)

How this was computed: .to_text(verbose=True)
""",
}


@pytest.mark.parametrize("width", SCREENS)
def test_the_whole_screen(width):
    found = comparison_test(*pair(), L2, names=("good", "bad"), rng=0)
    assert found.to_text(width) == SCREENS[width].rstrip("\n")


def test_a_difference_that_no_noise_reaches_has_a_normal_tail():
    found = comparison_test(*pair(2000), L2, rng=0)
    assert found.pvalue == 0.002
    assert found.normal_tail == pytest.approx(2 * stats.norm.sf(abs(found.statistic)))
    assert found.to_dict()["normal_tail"] < 1e-15
    assert comparison_test(*pair(2000), cs.BrierScore(), rng=0).normal_tail is None
