"""What a parameter promises: bounds, logits, penalties, forms of beta calibration, and parts of other packages."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_softmax, logit, logsumexp, softmax
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from calibstat import calibrators as cal

SOFTMAX = [
    cal.Temperature,
    cal.EnsembleTemperature,
    cal.StructuredVectorScaling,
    cal.StructuredMatrixScaling,
    cal.VectorScaling,
    cal.MatrixScaling,
    cal.Dirichlet,
]


@pytest.fixture(scope="module")
def two():
    rng = np.random.default_rng(0)
    p = rng.beta(1, 2, 800)
    return p, (rng.random(800) < expit(0.4 + 0.7 * logit(p))).astype(int)


@pytest.fixture(scope="module")
def three():
    rng = np.random.default_rng(1)
    x = rng.normal(0, 3, (600, 3))
    chance = softmax(0.6 * x, axis=1)
    return x, (chance.cumsum(axis=1)[:, :-1] < rng.random((600, 1))).sum(axis=1)


# Bounds and logits


def test_temperature_is_the_optimum_where_a_third_of_the_probabilities_is_below_1e_12():
    rng = np.random.default_rng(2)
    x = rng.normal(0, 10, (3000, 100))
    chance = softmax(x / 2, axis=1)
    y = (chance.cumsum(axis=1)[:, :-1] < rng.random((3000, 1))).sum(axis=1)
    P = softmax(x, axis=1)
    assert (P < 1e-12).mean() > 0.33

    def loss(inverse):
        return (logsumexp(inverse * x, axis=1) - inverse * x[np.arange(3000), y]).mean()

    best = 1 / minimize_scalar(loss, bounds=(0.1, 2), options={"xatol": 1e-12}).x
    assert cal.Temperature().fit(P, y).temperature_ == pytest.approx(best, rel=1e-7)
    assert cal.Temperature(input="logits").fit(x, y).temperature_ == pytest.approx(best, rel=1e-7)
    assert abs(cal.Temperature(smallest=1e-12).fit(P, y).temperature_ - best) > 1e-4  # the negative control


@pytest.mark.parametrize("made", [*SOFTMAX, cal.Platt], ids=lambda made: made.__name__)
def test_logarithms_of_probabilities_are_logits(made, three, two):
    x, y = three
    if made is cal.Platt:
        p, y = two
        x = np.column_stack([np.zeros(len(p)), logit(p)])
    x = log_softmax(x, axis=1)
    said = made().fit(np.exp(x), y).predict_proba(np.exp(x))
    np.testing.assert_allclose(made(input="logits").fit(x, y).predict_proba(x), said, atol=1e-6)
    far = x * 1e4  # probabilities would underflow
    assert np.isfinite(made(input="logits").fit(far, y).predict_proba(far)).all()


def test_log_odds_of_two_classes_may_have_one_dimension(two):
    p, y = two
    for made in (cal.Temperature, cal.Platt, cal.Dirichlet):
        expected = made().fit(p, y).predict_proba(p)
        np.testing.assert_allclose(made(input="logits").fit(logit(p), y).predict_proba(logit(p)), expected, atol=1e-6)


def test_temperature_and_dirichlet_do_not_feel_a_constant_in_the_logits(three):
    x, y = three
    shifted = x + np.linspace(-5, 5, len(x))[:, None]
    for made in (cal.Temperature, cal.Dirichlet):
        expected = made(input="logits").fit(x, y).predict_proba(x)
        np.testing.assert_allclose(made(input="logits").fit(shifted, y).predict_proba(shifted), expected, atol=1e-6)


def test_scores_may_have_one_dimension(two):
    p, y = two
    table = cal.Platt(input="score").fit(p[:, None], y)
    line = cal.Platt(input="score").fit(p, y)
    np.testing.assert_array_equal(line.predict_proba(p), table.predict_proba(p[:, None]))
    np.testing.assert_array_equal(cal.Platt(input="score").fit(list(p), y).coef_, table.coef_)


@pytest.mark.filterwarnings("ignore:.*fits far better")  # predictions that are always wrong look like that
def test_a_temperature_of_separated_rows_is_finite():
    P = np.random.default_rng(3).dirichlet([0.3, 0.3, 0.3], 100)
    found = cal.Temperature().fit(P, P.argmax(axis=1))
    assert 0.05 < found.temperature_ < 1
    assert cal.Temperature().fit(P, P.argmin(axis=1)).temperature_ < 0


# Penalties


@pytest.mark.parametrize("C", [0.01, 1.0])
def test_penalised_platt_and_beta_are_those_of_scikit_learn(two, C):
    """As Kelly and Smyth (2023) fitted them: LogisticRegression() of p, and of ln p and -ln(1 - p)."""
    p, y = two
    theirs = LogisticRegression(C=C, tol=1e-10, max_iter=1000)
    ours = cal.Platt(input="score", smoothing=False, C=C).fit(p, y)
    np.testing.assert_allclose(ours.predict_proba(p), theirs.fit(p[:, None], y).predict_proba(p[:, None]), atol=1e-6)
    features = np.column_stack([np.log(p), -np.log1p(-p)])
    ours = cal.Beta(smallest=1e-12, C=C).fit(p, y)
    theirs.fit(features, y)
    assert theirs.coef_.min() > 0
    np.testing.assert_allclose(ours.predict_proba(p), theirs.predict_proba(features), atol=1e-6)
    with pytest.raises(ValueError, match="C is 0, but it must be positive"):
        cal.Beta(C=0).fit(p, y)


def test_a_penalty_leads_from_the_free_fit_to_temperature_scaling(three):
    x, y = three
    P = softmax(x, axis=1)
    for made in (cal.VectorScaling, cal.MatrixScaling):
        line = cal.Temperature().fit(P, y).predict_proba(P)
        apart = [np.abs(made(penalty=s).fit(P, y).predict_proba(P) - line).max() for s in (0, 0.01, 1, 1e3)]
        assert apart[0] > apart[1] > apart[2] > apart[3]
        assert apart[3] < 1e-3
        with pytest.raises(ValueError, match="penalty is -1"):
            made(penalty=-1).fit(P, y)
    with pytest.raises(ValueError, match="or neither"):
        cal.Dirichlet(intercept=1).fit(P, y)


def test_the_penalty_is_chosen_by_what_is_needed():
    rng = np.random.default_rng(4)
    P = rng.dirichlet([1, 1, 1], 4000)
    turned = softmax(np.log(P) @ np.array([[1, 0.5, 0], [0, 1, 0.5], [0.5, 0, 1]]), axis=1)

    def labels(chance):
        return (chance.cumsum(axis=1)[:, :-1] < rng.random((len(chance), 1))).sum(axis=1)

    assert cal.MatrixScaling().fit(P, labels(turned)).penalty_ < 0.1
    assert cal.MatrixScaling().fit(P, labels(P)).penalty_ >= 0.1


# Forms of beta calibration


def test_forms_of_beta_by_their_parameters(two):
    p, y = two
    full, line, half, one = (cal.Beta(parameters=each, smallest=1e-12).fit(p, y) for each in ("abm", "am", "ab", "a"))
    np.testing.assert_allclose(
        line.predict_proba(p), cal.Platt(smoothing=False, smallest=1e-12).fit(p, y).predict_proba(p), atol=1e-9
    )
    np.testing.assert_allclose(one.predict_proba(p), cal.Temperature().fit(p, y).predict_proba(p), atol=1e-9)
    assert half.predict_proba([0.5])[0, 1] == pytest.approx(0.5)
    assert (half.m_, one.m_) == pytest.approx((0.5, 0.5))
    for each in (full, line):
        assert each.predict_proba([each.m_])[0, 1] == pytest.approx(0.5)
        a, b = each.coef_
        assert each.intercept_ == pytest.approx(b * np.log1p(-each.m_) - a * np.log(each.m_))

    def loss(found):
        return -np.log(found.predict_proba(p)[np.arange(len(p)), y]).mean()

    assert loss(full) <= min(loss(line), loss(half)) + 1e-12
    assert max(loss(line), loss(half)) <= loss(one) + 1e-12
    with pytest.raises(ValueError, match="must be 'abm', 'am', 'ab' or 'a'"):
        cal.Beta(parameters="m").fit(p, y)


def test_m_is_at_an_end_where_no_prediction_becomes_one_half():
    p = np.linspace(0.05, 0.95, 200)
    for rare, end in ((np.arange(200) % 20 == 0, 1.0), (np.arange(200) % 20 > 0, 0.0)):
        found = cal.Beta().fit(p[::-1] if end else p, rare)
        if not found.coef_.any():
            assert found.m_ == end
    assert cal.Beta().fit(p, (np.arange(200) % 20 == 0)[::-1] * (p < 0.5)).m_ == 1.0


def test_forms_of_beta_agree_with_betacal(two):
    betacal = pytest.importorskip("betacal")
    p, y = two
    for parameters in ("abm", "am", "ab"):
        theirs = betacal.BetaCalibration(parameters).fit(p.reshape(-1, 1), y).predict(p)
        np.testing.assert_allclose(cal.Beta(parameters=parameters).fit(p, y).predict_proba(p)[:, 1], theirs, atol=1e-3)


# One against the rest, and parts


def test_one_against_the_rest_need_not_be_normalised(three):
    x, y = three
    P = softmax(x, axis=1)
    raw = cal.OneVsRest(normalize=False).fit(P, y).predict_proba(P)
    for number in range(3):
        own = cal.Platt().fit(P[:, number], y == number).predict_proba(P[:, number])[:, 1]
        np.testing.assert_allclose(raw[:, number], own, atol=1e-12)
    assert np.abs(raw.sum(axis=1) - 1).max() > 0.01
    scaled = cal.OneVsRest().fit(P, y).predict_proba(P)
    np.testing.assert_allclose(scaled, raw / raw.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("part", [LogisticRegression(), GaussianNB(), KNeighborsClassifier(30)], ids=str)
def test_parts_may_be_those_of_scikit_learn(part, two, three):
    p, y = two
    v = np.sin(np.arange(len(p)))
    for made, X in [
        (cal.VariableBased(calibrator=part), np.column_stack([p, v])),
        (cal.CalibrationTree([-1], calibrator=part), np.column_stack([p, v])),
        (cal.ScalingBinning(part), p),
        (cal.OneVsRest(part), p),
        (cal.Calibrated(GaussianNB(), part), v[:, None]),
    ]:
        said = made.fit(X, y).predict_proba(X)
        np.testing.assert_allclose(said.sum(axis=1), 1)
        assert ((said >= 0) & (said <= 1)).all()
        assert made.__sklearn_tags__().classifier_tags is not None
    P, labels = softmax(three[0], axis=1), three[1]
    said = cal.VariableBased(calibrator=part).fit(np.column_stack([P, labels == 2]), labels)
    leaf = said.predict_proba(np.column_stack([P, np.ones(len(P))]))
    np.testing.assert_allclose(leaf.sum(axis=1), 1)


def test_a_part_sees_the_last_of_two_columns_and_the_rows_of_its_leaf(two):
    p, y = two
    X = np.column_stack([p, np.repeat([0, 1], 400)])
    y = np.where(X[:, 1] == 1, 1 - y, y)
    said = cal.VariableBased(calibrator=LogisticRegression(), max_depth=1).fit(X, y).predict_proba(X)
    alone = LogisticRegression().fit(p[:400, None], y[:400]).predict_proba(p[:400, None])
    np.testing.assert_allclose(said[:400], alone, atol=1e-9)


def test_parts_that_cannot_serve_are_refused(two):
    p, y = two
    weights = 1 + (np.arange(len(p)) % 2)
    with pytest.raises(ValueError, match="takes no sample_weight"):
        cal.OneVsRest(KNeighborsClassifier()).fit(p, y, weights)
    cal.OneVsRest(KNeighborsClassifier()).fit(p, y, np.full(len(p), 2.0))
    for part in (IsotonicRegression(), LogisticRegression, "beta"):
        with pytest.raises(TypeError, match="an object with fit and predict_proba is expected"):
            cal.OneVsRest(part).fit(p, y)


# Equal chances in the ensemble bound what a zero costs, whatever it counts as.
@pytest.mark.parametrize("made", [each for each in SOFTMAX if each is not cal.EnsembleTemperature])
def test_zeros_of_votes_do_not_pass_for_certainty(made):
    """Where a vote of twenty says 0 and the class comes true, 1e-300 would drown all other rows."""
    rng = np.random.default_rng(5)
    chance = rng.dirichlet([1, 1, 1], 2000)
    votes = np.array([rng.multinomial(20, each) for each in chance]) / 20
    y = (chance.cumsum(axis=1)[:, :-1] < rng.random((2000, 1))).sum(axis=1)
    assert (votes[np.arange(2000), y] == 0).any()

    def loss(**parameters):
        said = made(**parameters).fit(votes[:1000], y[:1000]).predict_proba(votes[1000:])
        return -np.log(said[np.arange(1000), y[1000:]]).mean()

    assert loss() <= loss(smallest=0.02) + 0.01
    assert loss(smallest=1e-300) > loss() + 0.05
    assert made().fit(votes, y).smallest_ == 0.025


@pytest.mark.parametrize(
    ("calibrator", "message"),
    [
        (cal.HistogramBinning(10), "HistogramBinning: binning is 10, a number; it must be a binning"),
        (cal.Platt(smoothing=3), "Platt: smoothing is 3, a number; it must be True or False"),
        (cal.Calibrated(5, 5), "classifier is 5; it must be a classifier with fit"),
    ],
)
def test_parameters_of_the_wrong_kind_are_refused_when_fitted(calibrator, message):
    with pytest.raises(TypeError, match=message):
        calibrator.fit(np.linspace(0.1, 0.9, 20)[:, None], np.arange(20) % 2)


@pytest.mark.parametrize(
    ("calibrator", "message"),
    [
        (cal.DecisionTree(max_depth=0), "DecisionTree: max_depth is 0; it must be an integer of at least 1 or None"),
        (cal.CalibrationTree(min_share=0.7), "CalibrationTree: min_share is 0.7; it must be a number from 0 to 0.5"),
        (cal.VariableBased(min_share=-1), "VariableBased: min_share is -1; it must be a number from 0 to 0.5"),
        (cal.DecisionTree(ccp_alpha=-1), "ccp_alpha is -1; it must be a finite number of at least 0 or None"),
    ],
)
def test_trees_speak_of_their_own_parameters_and_not_of_those_of_scikit_learn(calibrator, message):
    with pytest.raises(ValueError, match=message):
        calibrator.fit(np.linspace(0.1, 0.9, 20)[:, None], np.arange(20) % 2)
