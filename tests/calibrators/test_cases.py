"""Small cases by hand, promises of shape, extreme input, and refusals."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.special import betaln, logit
from sklearn.base import clone
from sklearn.isotonic import IsotonicRegression
from sklearn.tree import DecisionTreeClassifier

import calibstat as cs
from calibstat import calibrators as cal
from calibstat.binnings.intervals import EqualMass, EqualWidth, FixedEdges
from calibstat.binnings.simplex import VarianceTree
from calibstat.binnings.tree_leaves import leaf_of
from calibstat.calibrators.trees import grow

BINARY = [
    cal.Platt(),
    cal.Platt(smoothing=False),
    cal.Quadratic(),
    cal.Beta(),
    cal.Isotonic(),
    cal.CenteredIsotonic(),
    cal.HistogramBinning(),
    cal.Binned(),
    cal.ScalingBinning(),
    cal.Spline(),
    cal.Smooth(),
    cal.BBQ(),
    cal.VennAbers(),
]
MANY = [
    cal.Temperature(),
    cal.EnsembleTemperature(),
    cal.EnsembleTemperature("log"),
    cal.StructuredVectorScaling(),
    cal.StructuredMatrixScaling(),
    cal.VectorScaling(),
    cal.MatrixScaling(),
    cal.Dirichlet(),
    cal.OneVsRest(),
    cal.OneVsRest(cal.Isotonic()),
    cal.AverageLabels(),
    cal.DecisionTree(),
    cal.CalibrationTree(),
]
# These say no constant for all rows, or have no shift.
SHIFTLESS = (cal.Binned, cal.BBQ, cal.VennAbers, cal.Temperature, cal.EnsembleTemperature)
MONOTONE = [cal.Beta(), cal.Isotonic(), cal.CenteredIsotonic(), cal.VennAbers(), cal.Binned()]


def named(each):
    return str(each).replace("\n", "")


def event(calibrator, X):
    return calibrator.predict_proba(X)[:, 1]


# Promises


@pytest.mark.filterwarnings("ignore:.*fits far better")  # predictions worse than chance look like that
@pytest.mark.parametrize("power", [0.3, 2, -1, -3], ids=lambda power: f"log-odds times {power}")
@pytest.mark.parametrize("calibrator", MONOTONE, ids=named)
def test_maps_never_decrease_whatever_the_labels(calibrator, power):
    rng = np.random.default_rng(0)
    p = rng.random(300)
    chance = p**power / (p**power + (1 - p) ** power)
    y = (rng.random(300) < chance).astype(int)
    said = event(clone(calibrator).fit(p, y), np.linspace(0, 1, 1001))
    assert np.diff(said).min() >= -1e-12


@pytest.mark.parametrize("calibrator", [cal.Platt(), cal.Temperature(), cal.ScalingBinning()], ids=named)
def test_maps_of_useful_predictions_increase(calibrator):
    rng = np.random.default_rng(0)
    p = rng.random(300)
    said = event(clone(calibrator).fit(p, rng.random(300) < p), np.linspace(0, 1, 1001))
    assert np.diff(said).min() >= -1e-12


@pytest.mark.parametrize("calibrator", BINARY + MANY, ids=named)
@pytest.mark.parametrize("constant", [0.0, 1.0, 0.3, None], ids=lambda value: f"all {value}")
def test_extreme_input_gives_probabilities(calibrator, constant):
    rng = np.random.default_rng(1)
    p = np.repeat([0, 1, 0.5, 1e-300], 50) if constant is None else np.full(200, constant)
    y = rng.integers(0, 2, 200)
    said = clone(calibrator).fit(p, y).predict_proba([0, 1e-320, 0.3, 0.5, 1 - 1e-16, 1])
    assert ((said >= 0) & (said <= 1)).all()
    np.testing.assert_allclose(said.sum(axis=1), 1, rtol=1e-9)
    if constant is not None and not isinstance(calibrator, SHIFTLESS):
        own = event(clone(calibrator).fit(p, y), [constant])[0]
        assert own == pytest.approx(y.mean(), abs=0.02)


@pytest.mark.parametrize("calibrator", MANY, ids=named)
def test_extreme_rows_of_more_classes_give_probabilities(calibrator):
    rng = np.random.default_rng(2)
    rows = np.vstack([np.eye(3).repeat(60, axis=0), rng.dirichlet([1, 1, 1], 60)])
    said = clone(calibrator).fit(rows, rng.integers(0, 3, 240)).predict_proba(rows)
    assert ((said >= 0) & (said <= 1)).all()
    np.testing.assert_allclose(said.sum(axis=1), 1, rtol=1e-9)


@pytest.mark.parametrize("calibrator", BINARY, ids=named)
def test_separated_classes_give_probabilities(calibrator):
    p = np.linspace(0.05, 0.95, 100)
    said = event(clone(calibrator).fit(p, p > 0.5), p)
    assert np.isfinite(said).all()
    if not isinstance(calibrator, cal.Binned):
        assert said[p > 0.6].min() > 0.6
        assert said[p < 0.4].max() < 0.4


# Refusals


@pytest.mark.parametrize("calibrator", BINARY + MANY, ids=named)
def test_what_is_no_probability_is_refused(calibrator):
    y = [0, 1, 1, 0]
    for X, message in [
        ([0.2, 1.3, 0.4, 0.1], r"X has values outside \[0, 1\]: the worst row is 1"),
        ([-0.2, 0.3, 0.4, 0.1], r"X has values outside \[0, 1\]: the worst row is 0"),
        ([[0.2, 0.2], [0.5, 0.5], [0.5, 0.5], [0.9, 0.1]], "X has rows that do not sum to 1: the worst row is 0"),
        ([0.2, np.nan, 0.4, 0.1], "NaN"),
    ]:
        with pytest.raises(ValueError, match=message):
            clone(calibrator).fit(X, y)
    fitted = clone(calibrator).fit([0.2, 0.3, 0.6, 0.5] * 20, y * 20)
    with pytest.raises(ValueError, match="outside"):
        fitted.predict_proba([1.5])


@pytest.mark.parametrize("calibrator", BINARY + MANY, ids=named)
def test_one_class_alone_is_refused(calibrator):
    with pytest.raises(ValueError, match="only one class occurs among rows"):
        clone(calibrator).fit([0.2, 0.8, 0.5], [1, 1, 1])
    with pytest.raises(ValueError, match="only one class occurs among rows"):
        clone(calibrator).fit([0.2, 0.8, 0.5], [1, 1, 0], sample_weight=[1, 1, 0])


def test_three_classes_need_one_vs_rest():
    rows = np.random.default_rng(3).dirichlet([1, 1, 1], 50)
    y = np.arange(50) % 3
    with pytest.raises(ValueError, match=r"use OneVsRest\(Beta\(\)\)"):
        cal.Beta().fit(rows, y)
    assert cal.OneVsRest(cal.Beta()).fit(rows, y).predict_proba(rows).shape == (50, 3)


def drawn(names, n=600):
    """Labels by name, sorted in the order of the columns, and calibrated rows."""
    rng = np.random.default_rng(0)
    rows = rng.dirichlet(np.full(len(names), 0.5), n)
    return rows, np.array(names)[(rows.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(max=len(names) - 1)]


@pytest.mark.parametrize("names", [["churn", "stay"], ["a", "b", "c"], [0, 1]])
@pytest.mark.parametrize("made", [cal.Temperature(), cal.OneVsRest(cal.Isotonic()), cal.AugmentedBeta(-1)], ids=named)
def test_columns_in_another_order_than_the_sorted_labels_are_noticed_once(made, names):
    if isinstance(made, cal.AugmentedBeta) and len(names) > 2:
        pytest.skip("two classes only")
    rows, y = drawn(names)
    given = np.roll(rows, -1, axis=1)
    beside = np.linspace(0, 1, len(y))[:, None] if isinstance(made, cal.AugmentedBeta) else rows[:, :0]
    clone(made).fit(np.hstack([rows, beside]), y)
    order = ", ".join(map(str, np.roll(names, -1)))
    with pytest.warns(UserWarning, match=rf"\(sorted labels\), but the order {order} fits far better") as caught:
        clone(made).fit(np.hstack([given, beside]), y)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    if not beside.size:
        way = str(caught[0].message).partition("sorted labels: ")[2]
        np.testing.assert_array_equal(eval(way, {"X": given}), rows)


def test_a_single_column_of_the_other_class_is_noticed():
    rows, y = drawn(["churn", "stay"])
    cal.Isotonic().fit(rows[:, 1], y)
    said = (
        r"P\(label = stay\), the last of the sorted labels, but P\(label = churn\) fits far better .*; .* pass 1 - X$"
    )
    with pytest.warns(UserWarning, match=said):
        cal.Isotonic().fit(rows[:, 0], y)


def test_what_does_not_show_another_order_for_certain_is_taken_as_it_is():
    """A warning would be an error."""
    rows, y = drawn(["churn", "stay"])
    cal.Isotonic().fit(rows[:8, 0], y[:8])
    cal.Isotonic().fit(rows[:, 0], np.random.default_rng(1).permutation(y))
    cal.Isotonic().fit(rows[:, 0], y, sample_weight=np.arange(len(y)) < 8)


def test_labels_of_a_sample_that_are_not_sorted_are_compared_without_a_warning():
    rows, y = drawn(["churn", "stay"])
    sample = cs.Sample(y, rows[:, [1, 0]], labels=["stay", "churn"])
    cs.compare_calibrators({"platt": cal.Platt(), "isotonic": cal.Isotonic()}, sample, rng=0)


def test_a_class_that_does_not_occur():
    rows = np.random.default_rng(4).dirichlet([1, 1, 1], 50)
    y = 2 * (np.arange(50) % 2)  # integers are positions: class 1 is known, but does not occur
    able = (cal.Temperature, cal.EnsembleTemperature, cal.StructuredMatrixScaling, cal.Dirichlet, cal.DecisionTree)
    for calibrator in (each() for each in able):
        assert calibrator.fit(rows, y).classes_.tolist() == [0, 1, 2]
        assert calibrator.predict_proba(rows).shape == (50, 3)
    for calibrator in (cal.VectorScaling(), cal.MatrixScaling(), cal.OneVsRest()):
        with pytest.raises(ValueError, match="class 1 does not occur in y"):
            calibrator.fit(rows, y)
    with pytest.raises(ValueError, match=r"y has 2 classes, but X has the probabilities of 3 classes"):
        cal.Dirichlet().fit(rows, np.array(["a", "b", "c"])[y])


@pytest.mark.parametrize(
    ("calibrator", "message"),
    [
        (cal.Platt(input="logit"), "must be 'probability', 'logits' or 'score'"),
        (cal.Dirichlet(off_diagonal=-1), "pass at least 0"),
        (cal.Smooth(penalty=-1), "penalty is -1"),
        (cal.Spline(n_knots=0), "n_knots is 0"),
        (cal.Platt(smallest=0), "smallest is 0"),
        (cal.Beta(smallest=0.7), "smallest is 0.7"),
        (cal.HistogramBinning(VarianceTree(10)), "does not cut into intervals"),
        (cal.VariableBased(), "the probabilities must be beside them"),
        (cal.VariableBased("age"), "variable 'age' is not a column of X"),
        (cal.AugmentedBeta(7), "variable 7 is not a column of X"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(calibrator, message):
    with pytest.raises((ValueError, TypeError), match=message):
        calibrator.fit([[0.2], [0.6], [0.4]], [0, 1, 1])


# By hand


@pytest.mark.parametrize("made", [cal.Platt, cal.Beta, cal.AugmentedBeta])
def test_smallest_limits_what_a_few_rows_can_do(made):
    rng = np.random.default_rng(15)
    p = rng.uniform(0.05, 0.95, 3000)
    y = (rng.random(3000) < p).astype(int)
    p[:6], y[:6] = 1e-60, 1  # wrongly certain

    def slope(smallest, shown=p):
        X = np.column_stack([shown, np.sin(np.arange(3000))]) if made is cal.AugmentedBeta else shown
        return made(smallest=smallest).fit(X, y).coef_[0]

    assert slope(1e-2) > slope(1e-4) > slope(1e-12)
    assert slope(1e-4) == pytest.approx(slope(1e-12, np.maximum(p, 1e-4)), rel=1e-2)


def test_histogram_binning_by_hand():
    p, y = [0.1, 0.2, 0.3, 0.6, 0.7, 0.8], [0, 0, 1, 1, 0, 1]
    found = cal.HistogramBinning(EqualMass(2)).fit(p, y)
    np.testing.assert_allclose(event(found, [0, 0.44, 0.46, 1]), [1 / 3, 1 / 3, 2 / 3, 2 / 3])
    found = cal.HistogramBinning(FixedEdges([0, 0.5, 0.55, 1])).fit(p, y)
    np.testing.assert_allclose(event(found, [0.4, 0.5, 0.55]), [1 / 3, 0.525, 2 / 3])  # the cell without rows: middle


def test_average_labels_by_hand():
    p, y = [0.2, 0.2, 0.1 + 0.2, 0.3, 0.3, 0.9], [0, 1, 1, 0, 0, 1]
    found = cal.AverageLabels().fit(p, y)
    # 0.1 + 0.2 is 0.3; a prediction that no row of the fit had is kept.
    np.testing.assert_allclose(event(found, [0.2, 0.3, 0.1 + 0.2, 0.9, 0.25]), [1 / 2, 1 / 3, 1 / 3, 1, 0.25])
    weighted = cal.AverageLabels().fit(p, y, [3, 1, 0, 1, 2, 1])
    np.testing.assert_allclose(event(weighted, [0.2, 0.3]), [1 / 4, 0])
    binning = FixedEdges([0, 0.25, 1])
    cells = cal.AverageLabels(binning).fit(p, y)
    np.testing.assert_array_equal(event(cells, p), event(cal.HistogramBinning(binning).fit(p, y), p))
    np.testing.assert_allclose(event(cells, [0, 0.6]), [1 / 2, 2 / 4])


def test_average_labels_of_three_classes_by_hand():
    rows = np.array([[0.5, 0.3, 0.2], [0.5, 0.3, 0.2], [0.5, 0.2, 0.3], [0.1, 0.1, 0.8]])
    found = cal.AverageLabels().fit(rows, [0, 1, 1, 2])
    said = found.predict_proba([*rows[1:], [0.4, 0.3, 0.3]])
    np.testing.assert_allclose(said, [[0.5, 0.5, 0], [0, 1, 0], [0, 0, 1], [0.4, 0.3, 0.3]])
    with pytest.raises(ValueError, match=r"AverageLabels\(\)"):
        cal.AverageLabels(EqualMass(2)).fit(rows, [0, 1, 1, 2])


def test_average_labels_of_the_leaves_of_a_tree_are_its_own_where_it_was_fitted():
    rng = np.random.default_rng(12)
    features = rng.normal(size=(600, 3))
    y = (rng.random(600) < 1 / (1 + np.exp(-features[:, 0]))).astype(int)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(features, y)
    own = tree.predict_proba(features)
    np.testing.assert_allclose(cal.AverageLabels().fit(own, y).predict_proba(own), own)


def test_binned_predictions_by_hand():
    p = [0.1, 0.2, 0.3, 0.6, 0.7, 0.8]
    found = cal.Binned(EqualWidth(2)).fit(p, [0, 0, 1, 1, 0, 1])
    np.testing.assert_allclose(event(found, [0.4, 0.5]), [0.2, 0.7])
    other = cal.Binned(EqualWidth(2)).fit(p, [1, 0, 1, 0, 0, 1])
    np.testing.assert_array_equal(found.values_, other.values_)


def test_binning_can_hide_every_error():
    """Predictions in [0.49, 0.51] of events that are certain beforehand (Kumar et al. 2019, Section 3)."""
    p = 0.49 + 0.02 * (np.arange(10_000) + 0.5) / 10_000
    truth = (p > 0.5).astype(float)
    said = event(cal.Binned(FixedEdges([0, 1])).fit(p, truth.astype(int)), p)
    assert np.abs(truth - p).mean() == pytest.approx(0.495)
    assert abs(truth.mean() - said[0]) < 1e-12
    assert np.ptp(said) == 0


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("power", [1, 2, 3])
def test_binned_predictions_have_at_most_the_error(seed, power):
    """CE(f_B) <= CE(f), where the chances are known (Kumar et al. 2019, Proposition 3.3)."""
    rng = np.random.default_rng(seed)
    p, truth = rng.random(200), rng.random(200)
    for binning in (EqualMass(7), EqualWidth(5), EqualMass(1)):
        said = event(cal.Binned(binning).fit(p, rng.integers(0, 2, 200)), p)
        expected = np.array([truth[said == value].mean() for value in said])  # P(Y = 1 | f_B)
        binned, unbinned = ((np.abs(gap) ** power).mean() for gap in (said - expected, p - truth))
        assert binned <= unbinned + 1e-12


def test_centered_isotonic_by_hand():
    p, y = [0.1, 0.2, 0.4, 0.5, 0.7, 0.8, 0.9], [0, 0, 1, 0, 0, 1, 1]
    found = cal.CenteredIsotonic().fit(p, y)
    # Blocks 0, 0 | 1, 0, 0 | 1, 1: the middle one shrinks to its centre, 1.6 / 3; those of certainty stay flat.
    centre = 1.6 / 3
    np.testing.assert_allclose(event(found, [0.15, 0.2, centre, 0.8, 0.95]), [0, 0, 1 / 3, 1, 1])
    assert event(found, [(0.2 + centre) / 2])[0] == pytest.approx(1 / 6)


def test_venn_abers_is_two_isotonic_fits():
    rng = np.random.default_rng(5)
    p = rng.integers(0, 13, 40) / 12
    y = (rng.random(40) < p).astype(int)
    weights = rng.integers(1, 4, 40)
    found = cal.VennAbers().fit(p, y, weights)
    new = np.append(np.arange(13) / 12, rng.random(30))
    for score, low, high in zip(new, *found.interval(new), strict=True):
        by_hand = [
            IsotonicRegression()
            .fit(np.append(p, score), np.append(y, label), np.append(weights, 1))
            .predict([score])[0]
            for label in (0, 1)
        ]
        assert [low, high] == pytest.approx(by_hand, abs=1e-12)
    low, high = found.interval(new)
    np.testing.assert_allclose(event(found, new), high / (1 - low + high))


def test_bbq_is_an_average_over_numbers_of_cells():
    rng = np.random.default_rng(6)
    p = rng.random(27)
    y = (rng.random(27) < p).astype(int)
    order, averaged, evidences = np.argsort(p), [], []
    middles = (np.sort(p)[1:] + np.sort(p)[:-1]) / 2
    for size in range(1, 28):  # cbrt(27) / 10 to 10 cbrt(27), at most a cell for each row
        ends = [int(np.ceil(round(27 * k / size, 9))) for k in range(size + 1)]
        evidence, said = 0.0, np.empty(27)
        for start, stop in pairwise(ends):
            left, right = (0 if start == 0 else middles[start - 1]), (1 if stop == 27 else middles[stop - 1])
            a, b = 2 / size * (left + right) / 2, 2 / size * (1 - (left + right) / 2)
            events, rows = y[order[start:stop]].sum(), stop - start
            evidence += betaln(events + a, rows - events + b) - betaln(a, b)
            said[order[start:stop]] = (events + a) / (rows + a + b)
        averaged.append(said)
        evidences.append(evidence)
    shares = np.exp(evidences - np.max(evidences))
    np.testing.assert_allclose(event(cal.BBQ().fit(p, y), p), shares @ averaged / shares.sum(), rtol=1e-9)


def test_splines_are_linear_beyond_their_knots():
    rng = np.random.default_rng(7)
    p = rng.beta(2, 2, 500)
    found = cal.Spline().fit(p, rng.random(500) < p**2)
    far = 1 / (1 + np.exp(-np.linspace(6, 9, 7)))
    assert np.abs(np.diff(logit(event(found, far)), 2)).max() < 1e-9


@pytest.mark.parametrize("calibrator", BINARY, ids=named)
def test_one_vs_rest_takes_every_calibrator_of_two_classes(calibrator):
    rng = np.random.default_rng(14)
    rows = rng.dirichlet([1, 1, 1], 400)
    y = (rows.cumsum(axis=1)[:, :-1] < rng.random((400, 1))).sum(axis=1)
    said = cal.OneVsRest(calibrator).fit(rows, y).predict_proba(rows)
    np.testing.assert_allclose(said.sum(axis=1), 1, rtol=1e-9)
    assert np.abs(said - rows).mean() < 0.15


def test_one_vs_rest_by_hand():
    rng = np.random.default_rng(8)
    rows, y = rng.dirichlet([1, 1, 1], 200), rng.integers(0, 3, 200)
    each = [event(cal.Isotonic().fit(rows[:, k], y == k), rows[:, k]) for k in range(3)]
    by_hand = np.column_stack(each) / np.sum(each, axis=0)[:, None]
    np.testing.assert_allclose(cal.OneVsRest(cal.Isotonic()).fit(rows, y).predict_proba(rows), by_hand)
    nobody = cal.OneVsRest(cal.HistogramBinning(FixedEdges([0, 0.5, 1]))).fit(
        np.eye(3).repeat(2, 0), [0, 0, 1, 1, 2, 2]
    )
    np.testing.assert_allclose(nobody.predict_proba([[0.3, 0.3, 0.4]]), [[1 / 3] * 3])


# Trees


def test_leaves_are_those_of_scikit_learn():
    rng = np.random.default_rng(9)
    features, y = rng.normal(size=(500, 3)), rng.integers(0, 3, 500)
    theirs = DecisionTreeClassifier(random_state=0, max_depth=5).fit(features, y)
    ours = grow(features, y, np.ones(500), max_depth=5)
    new = rng.normal(size=(2000, 3))
    np.testing.assert_array_equal(leaf_of(ours, new), theirs.apply(new))


def test_variable_based_is_beta_on_each_side():
    rng = np.random.default_rng(10)
    p, age = rng.random(4000), rng.uniform(20, 80, 4000)
    y = (rng.random(4000) < np.where(age < 50, p**3, p**0.3)).astype(int)
    found = cal.VariableBased(max_depth=1).fit(np.column_stack([p, age]), y)
    border = found.tree_["threshold"][0]
    assert border == pytest.approx(50, abs=1)
    for side in (age <= border, age > border):
        alone = cal.Beta(C=1).fit(p[side], y[side])
        np.testing.assert_allclose(event(found, np.column_stack([p, age])[side]), event(alone, p[side]), rtol=1e-9)


def test_variable_based_without_a_split_is_beta():
    p, y = np.linspace(0.1, 0.9, 50), np.arange(50) % 3 > 1
    found = cal.VariableBased().fit(np.column_stack([p, np.ones(50)]), y)
    np.testing.assert_array_equal(event(found, np.column_stack([p, np.ones(50)])), event(cal.Beta(C=1).fit(p, y), p))


def test_a_leaf_with_one_class_takes_the_fit_of_all_rows():
    rng = np.random.default_rng(11)
    p, v = rng.random(400), np.repeat([0.0, 1.0], 200)
    y = np.where(v == 0, 0, rng.integers(0, 2, 400))
    found = cal.VariableBased(max_depth=1).fit(np.column_stack([p, v]), y)
    everywhere = cal.Beta(C=1).fit(p, y)
    np.testing.assert_array_equal(event(found, np.column_stack([p, v]))[:200], event(everywhere, p)[:200])


def test_more_classes_have_dirichlet_in_the_leaves():
    rng = np.random.default_rng(12)
    rows = np.column_stack([rng.dirichlet([1, 1, 1], 300), rng.random(300)])
    found = cal.VariableBased(variable=3).fit(rows, rng.integers(0, 3, 300))
    assert {type(each).__name__ for each in found.calibrators_.values()} == {"Dirichlet"}


def test_a_leaf_with_few_rows_for_its_classes_takes_the_fit_of_all_rows():
    rng = np.random.default_rng(12)
    truth = rng.dirichlet(np.full(10, 0.2), 300)
    y = np.array([rng.choice(10, p=row) for row in truth])
    X = np.column_stack([truth, rng.random(300)])
    found = cal.VariableBased().fit(X, y)
    assert len(found.calibrators_) > 3
    everywhere = cal.Dirichlet().fit(truth, y)
    np.testing.assert_array_equal(found.predict_proba(X), everywhere.predict_proba(truth))


def test_decision_tree_says_shares():
    rng = np.random.default_rng(13)
    p = rng.random(1000)
    y = (rng.random(1000) < p).astype(int)
    found = cal.DecisionTree(max_depth=2, min_share=0.2).fit(p, y)
    said = event(found, p)
    for value in np.unique(said):
        assert y[said == value].mean() == pytest.approx(value)
        assert (said == value).mean() >= 0.2
