"""scikit-learn's own checks, and the company that calibrators keep there."""

from __future__ import annotations

import pickle
import warnings
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.fixes import parse_version
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from calibstat import calibrators as cal
from calibstat.binnings.intervals import EqualMass
from suites import slow, slow_but

BINARY = [
    cal.Platt(),
    cal.Platt(smoothing=False),
    cal.Quadratic(),
    cal.Beta(),
    cal.Isotonic(),
    cal.CenteredIsotonic(),
    cal.HistogramBinning(),
    cal.HistogramBinning(EqualMass(4)),
    cal.Binned(),
    cal.ScalingBinning(),
    cal.Spline(),
    cal.Smooth(),
    cal.BBQ(),
    cal.VennAbers(),
]
ANY = [
    cal.Temperature(),
    cal.EnsembleTemperature(),
    cal.StructuredVectorScaling(),
    cal.StructuredMatrixScaling(),
    cal.VectorScaling(),
    cal.MatrixScaling(),
    cal.Dirichlet(),
    cal.OneVsRest(),
    cal.OneVsRest(cal.Isotonic()),
    cal.AverageLabels(),
    cal.DecisionTree(ccp_alpha=0.0),
    cal.CalibrationTree(),
]
WITH_VARIABLE = [
    cal.VariableBased(),
    cal.AugmentedBeta(),
    cal.DecisionTree(variables=[-1]),
    cal.CalibrationTree(variables=[-1]),
]
EVERY = BINARY + ANY + WITH_VARIABLE


def named(calibrator):
    return str(calibrator).replace("\n", "")


class OnSimplex(ClassifierMixin, BaseEstimator):
    """Turns any X into probabilities of the classes of y, before a calibrator sees it.

    The map is a logistic regression on two columns, so that classes overlap: without overlap unpenalised fits have no
    minimum.
    """

    def __init__(self, calibrator, variable=False):
        self.calibrator = calibrator
        self.variable = variable

    def fit(self, X, y, sample_weight=None):
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        if len(np.unique(y)) > 2 and not self.__sklearn_tags__().classifier_tags.multi_class:
            raise ValueError("Only binary classification is supported. The type of the target is multiclass.")
        self.map_ = LogisticRegression(C=0.1, tol=1e-14, solver="newton-cholesky").fit(X[:, :2], y, sample_weight)
        self.classes_ = self.map_.classes_
        self.calibrator_ = clone(self.calibrator).fit(self._mapped(X), y, sample_weight)
        return self

    def _mapped(self, X):
        # Rounded: steps at the scores of the fit must not feel the rounding of matrix products.
        rows = self.map_.predict_proba(X[:, :2]).round(9)
        return np.column_stack([rows, X[:, 0]]) if self.variable else rows

    def predict_proba(self, X):
        check_is_fitted(self)
        return self.calibrator_.predict_proba(self._mapped(validate_data(self, X, reset=False, dtype=np.float64)))

    def predict(self, X):
        columns = self.predict_proba(X).argmax(axis=1)
        return self.classes_[columns]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.calibrator.__sklearn_tags__().classifier_tags.multi_class
        return tags


def without_trees(calibrator) -> bool:
    """The many checks fit hundreds of trees, which takes longer than all other calibrators together."""
    return not isinstance(calibrator, (cal.CalibrationTree, cal.VariableBased))


# These fit as others do that are checked by default: as Dirichlet, as Spline, or as their own defaults.
ALIKE = [
    cal.StructuredVectorScaling(),
    cal.VectorScaling(),
    cal.MatrixScaling(),
    cal.Smooth(),
    cal.Platt(smoothing=False),
    cal.HistogramBinning(EqualMass(4)),
    cal.OneVsRest(),
]


def quick(calibrator) -> bool:
    return without_trees(calibrator) and repr(calibrator) not in map(repr, ALIKE)


UNPENALISED = (cal.VectorScaling, cal.MatrixScaling, cal.Smooth)
SEPARATED = {
    "check_sample_weight_equivalence_on_dense_data": "fifteen rows with weights zero among them are separated: an "
    "unpenalised fit has no minimum (test_a_row_of_weight_two_is_there_twice has enough rows)"
}


def check(estimator, expected=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return check_estimator(estimator, expected_failed_checks=expected, on_skip=None)


@pytest.mark.parametrize("calibrator", slow_but(quick, BINARY + ANY), ids=named)
def test_scikit_learn_checks_it_on_the_simplex(calibrator):
    check(OnSimplex(calibrator), SEPARATED if isinstance(calibrator, UNPENALISED) else None)


@pytest.mark.parametrize("calibrator", slow_but(without_trees, WITH_VARIABLE), ids=named)
def test_scikit_learn_checks_it_with_a_variable(calibrator):
    check(OnSimplex(calibrator, variable=True))


ONE_DIMENSION = {"check_fit1d": "scores may have one dimension"}


@pytest.mark.parametrize(
    "estimator",
    [
        cal.Platt(input="score"),
        slow(cal.Calibrated()),
        slow(cal.Calibrated(LogisticRegression(), cal.Platt(input="score"))),
        cal.Calibrated(GaussianNB(), cal.Temperature(), cv=3),
    ],
    ids=named,
)
def test_scikit_learn_checks_what_takes_any_numbers(estimator):
    check(estimator, ONE_DIMENSION if isinstance(estimator, cal.Platt) else None)


OFF = dict.fromkeys(
    [
        "check_classifier_data_not_an_array",
        "check_classifier_not_supporting_multiclass",
        "check_classifiers_classes",
        "check_classifiers_train",
        "check_dict_unchanged",
        "check_dont_overwrite_parameters",
        "check_dtype_object",
        "check_estimators_dtypes",
        "check_estimators_fit_returns_self",
        "check_estimators_nan_inf",
        "check_estimators_overwrite_params",
        "check_estimators_pickle",
        "check_f_contiguous_array_estimator",
        "check_fit2d_1feature",
        "check_fit2d_1sample",
        "check_fit2d_predict1d",
        "check_fit_check_is_fitted",
        "check_fit_idempotent",
        "check_fit_score_takes_y",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_n_features_in",
        "check_n_features_in_after_fitting",
        "check_pipeline_consistency",
        "check_positive_only_tag_during_fit",
        "check_readonly_memmap_input",
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weights_list",
        "check_sample_weights_not_an_array",
        "check_sample_weights_not_overwritten",
        "check_sample_weights_pandas_series",
        "check_sample_weights_shape",
        "check_supervised_y_2d",
    ],
    "feeds X outside [0, 1] or off the simplex, which is refused",
)


@pytest.mark.parametrize("calibrator", [cal.Platt(), cal.Dirichlet(), cal.VariableBased()], ids=named)
def test_what_fails_without_the_map_is_listed(calibrator):
    check(calibrator, OFF)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    p = rng.beta(1, 1, 400).round(3)
    return p, (rng.random(400) < p**2).astype(int), rng.uniform(0, 1, 400)


def table_for(calibrator, p, v):
    return np.column_stack([1 - p, p, v]) if calibrator in WITH_VARIABLE else np.column_stack([1 - p, p])


@pytest.mark.parametrize("calibrator", EVERY, ids=named)
def test_clone_pickle_frames_and_names_of_labels(calibrator, rows):
    p, y, v = rows
    X = table_for(calibrator, p, v)
    fitted = clone(calibrator).fit(X, y)
    expected = fitted.predict_proba(X)
    assert expected.shape == (400, 2)
    np.testing.assert_allclose(expected.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict_proba(X), expected)
    frame = pd.DataFrame(X, columns=["no", "yes", "age"][: X.shape[1]])
    named_labels = clone(calibrator).fit(frame, np.array(["no", "yes"])[y])
    np.testing.assert_allclose(named_labels.predict_proba(frame), expected, atol=1e-9)
    assert set(named_labels.predict(frame)) <= {"no", "yes"}
    assert (named_labels.predict(frame) == "yes").sum() == (expected[:, 1] > 0.5).sum()


@pytest.mark.parametrize("calibrator", EVERY, ids=named)
def test_a_row_of_weight_two_is_there_twice(calibrator, rows):
    p, y, v = rows
    X, weights = table_for(calibrator, p, v), np.random.default_rng(1).integers(0, 4, 400)
    weighted = clone(calibrator).fit(X, y, sample_weight=weights).predict_proba(X)
    repeated = clone(calibrator).fit(X.repeat(weights, axis=0), y.repeat(weights)).predict_proba(X)
    np.testing.assert_allclose(weighted, repeated, atol=1e-8)
    plain = clone(calibrator).fit(X, y).predict_proba(X)
    assert isinstance(calibrator, cal.Binned) or np.abs(plain - weighted).max() > 1e-4


@pytest.mark.parametrize("calibrator", slow_but(without_trees, BINARY + ANY), ids=named)
def test_one_column_is_the_probability_of_the_last_class(calibrator, rows):
    p, y, _ = rows
    expected = clone(calibrator).fit(np.column_stack([1 - p, p]), y).predict_proba(np.column_stack([1 - p, p]))
    for column in (p, list(p), pd.Series(p), p[:, None]):
        np.testing.assert_array_equal(clone(calibrator).fit(column, y).predict_proba(column), expected)


def test_before_the_fit_there_are_no_predictions():
    with pytest.raises(NotFittedError):
        cal.Platt().predict([0.2])
    with pytest.raises(NotFittedError):
        cal.Calibrated().predict([[0.2]])


# Calibrated


@pytest.mark.parametrize("cv", [0.3, 0.5, 0.75, 4, None])
def test_groups_stay_together_where_a_classifier_and_its_calibrator_are_fitted(cv):
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(60), np.ceil(3 * ((np.arange(60) + 0.5) / 60) ** (-1 / 1.5)).astype(int))
    X, y = rng.normal(size=(len(groups), 2)), rng.random(len(groups)) < 0.3
    found = cal.Calibrated(Seen(), cal.Platt(), cv=cv).fit(np.column_stack([X, groups]), y, groups=groups)
    for fitted, judged in Seen.pairs(found, groups):
        assert not fitted & judged
    if isinstance(cv, float):
        share = len(found.fitted_rows_) / len(groups)
        # before version 1.8, StratifiedGroupKFold dealt large groups out anywhere once it had shuffled them
        near = 0.05 if parse_version(sklearn.__version__) >= parse_version("1.8") else 0.1
        assert share == pytest.approx(cv, abs=near)
        assert np.mean(y[found.fitted_rows_]) == pytest.approx(np.mean(y), abs=near)


class Seen(LogisticRegression):
    """A classifier that remembers the groups, in its last column, of the rows that it was fitted on and asked about."""

    asked: ClassVar[list] = []

    def fit(self, X, y):
        self.seen_ = set(X[:, -1])
        return LogisticRegression.fit(self, X, y)

    def predict_proba(self, X):
        Seen.asked.append((self.seen_, set(X[:, -1])))
        return LogisticRegression.predict_proba(self, X)

    @classmethod
    def pairs(cls, found, groups):
        """Return what fits and judges, and forget it."""
        told = list(cls.asked)
        cls.asked.clear()
        assert set().union(*(judged for _, judged in told)) <= set(groups)
        assert told
        return told


@pytest.mark.parametrize(("groups", "cv"), [(np.zeros(100), 0.5), (np.arange(100) // 50, 3), (np.arange(100) // 80, 2)])
def test_too_few_groups_and_one_of_most_rows_are_refused(groups, cv):
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="rows of a group stay together, but there are "):
        cal.Calibrated(cv=cv).fit(rng.normal(size=(100, 1)), np.arange(100) % 2, groups=groups)


@pytest.fixture(scope="module")
def three():
    X, y = make_classification(900, 6, n_informative=4, n_redundant=0, n_classes=3, random_state=0)
    return X, np.array(["a", "b", "c"])[y]


@pytest.mark.parametrize("cv", [3, 0.4])
def test_calibrated_fits_both_on_their_rows(three, cv):
    X, y = three
    found = cal.Calibrated(RandomForestClassifier(20, random_state=0), cal.Dirichlet(), cv=cv).fit(X, y)
    assert found.cross_fitted_ == isinstance(cv, int)
    assert len(found.fitted_rows_) == (900 if cv == 3 else 360)
    assert found.classes_.tolist() == ["a", "b", "c"]
    by_hand = found.calibrator_.predict_proba(found.classifier_.predict_proba(X))
    np.testing.assert_array_equal(found.predict_proba(X), by_hand)
    if cv == 0.4:
        rest = np.setdiff1d(np.arange(900), found.fitted_rows_)
        alone = RandomForestClassifier(20, random_state=0).fit(X[rest], y[rest])
        np.testing.assert_array_equal(alone.predict_proba(X), found.classifier_.predict_proba(X))


def test_calibrated_keeps_a_fitted_classifier_as_it_is(three):
    X, y = three
    model = GaussianNB().fit(X[:500], y[:500])
    before = pickle.dumps(model)
    found = cal.Calibrated(model, cal.Temperature(), cv="prefit").fit(X[500:], y[500:])
    assert found.classifier_ is model
    assert pickle.dumps(model) == before
    alone = cal.Temperature().fit(model.predict_proba(X[500:]), y[500:])
    np.testing.assert_array_equal(found.predict_proba(X), alone.predict_proba(model.predict_proba(X)))
    with pytest.raises(ValueError, match="class z"):
        cal.Calibrated(model, cv="prefit").fit(X[:2], ["a", "z"])
    with pytest.raises(NotFittedError):
        cal.Calibrated(GaussianNB(), cv="prefit").fit(X, y)


def test_calibrated_takes_scores_and_sits_in_a_pipeline():
    X, y = make_classification(600, 5, random_state=1)
    found = make_pipeline(cal.Calibrated(RidgeClassifier(), cal.Platt(input="score"))).fit(X, y)
    assert found.score(X, y) > 0.8
    assert make_pipeline(cal.Platt()).fit(X[:, :1] > 0, y).predict_proba(X[:, :1] > 0).shape == (600, 2)


@pytest.mark.parametrize(
    ("method", "calibrator", "model"),
    [
        ("sigmoid", cal.Platt(input="score"), LogisticRegression()),
        ("isotonic", cal.Isotonic(), GaussianNB()),
    ],
    ids=["sigmoid", "isotonic"],
)
def test_calibrated_agrees_with_scikit_learn(method, calibrator, model):
    X, y = make_classification(2000, 5, flip_y=0.2, random_state=2)
    theirs = CalibratedClassifierCV(clone(model), method=method, cv=4, ensemble=False).fit(X, y).predict_proba(X)
    ours = cal.Calibrated(clone(model), calibrator, cv=4).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(ours, theirs, atol=1e-3)


@pytest.mark.parametrize("fit", [cal.Platt().fit, cal.Isotonic().fit])
def test_what_is_no_array_is_refused_in_words(fit):
    class Closed:
        def __array__(self, *_, **__):
            raise RuntimeError("there is no array here")

    with pytest.raises(TypeError, match="X or y cannot be read as an array: there is no array here"):
        fit(Closed(), [0, 1])


@pytest.mark.parametrize(
    ("fitted", "message"),
    [
        (cal.DecisionTree([-1], cv=10**30), "cv is 10+, but 2 to 1000 folds are expected"),
        (cal.Spline(n_knots=10**30), "n_knots is 10+; it must be an integer of at least 1 and at most 10 000"),
    ],
)
def test_numbers_of_folds_and_knots_have_an_end(fitted, message):
    rng = np.random.default_rng(0)
    p = rng.random(200)
    X = np.column_stack([1 - p, p, rng.random(200)]) if "Tree" in type(fitted).__name__ else p
    with pytest.raises(ValueError, match=message):
        fitted.fit(X, (rng.random(200) < p).astype(int))


def test_an_integer_that_no_float_can_hold_is_refused():
    with pytest.raises(ValueError, match="X holds an integer that no float can hold"):
        cal.Platt().fit([[0.2, 0.8], [10**400, 0.3]], [0, 1])
