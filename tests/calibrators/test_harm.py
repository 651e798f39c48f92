"""Defaults do no harm to the predictions of ten models on data sets of scikit-learn, from 200 to 20 000 rows."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, make_blobs, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from calibstat import calibrators as cal
from suites import slow_but


def made(n_classes=2, **options):
    return make_classification(24_000, 10, n_informative=5, n_classes=n_classes, random_state=0, **options)


SETS = {
    "digits, forest": (lambda: load_digits(return_X_y=True), RandomForestClassifier(50, random_state=0)),
    "breast, forest": (lambda: load_breast_cancer(return_X_y=True), RandomForestClassifier(50, random_state=0)),
    "breast, bayes": (lambda: load_breast_cancer(return_X_y=True), GaussianNB()),
    "two, bayes": (made, GaussianNB()),
    "two, line": (lambda: made(flip_y=0.1), LogisticRegression()),
    "rare, line": (lambda: made(weights=[0.97]), LogisticRegression()),
    "four, bayes": (lambda: made(4), GaussianNB()),
    "four, neighbours": (lambda: made(4, flip_y=0.1), KNeighborsClassifier(15)),
    "eight, line": (lambda: made(8, n_clusters_per_class=1), LogisticRegression()),
    "blobs, line": (lambda: make_blobs(24_000, centers=6, cluster_std=4, random_state=0), LogisticRegression()),
}
DEFAULTS = {
    cal.Temperature: lambda k: 1,
    cal.EnsembleTemperature: lambda k: 3,
    cal.StructuredVectorScaling: lambda k: 2 * k - 1,
    cal.StructuredMatrixScaling: lambda k: k * k - 1,
    cal.VectorScaling: lambda k: 2 * k - 1,
    cal.MatrixScaling: lambda k: k * k - 1,
    cal.Dirichlet: lambda k: k * k - 1,
    cal.OneVsRest: lambda k: 2 * k,
    cal.CalibrationTree: lambda k: 2 * k * 10,
    cal.VariableBased: lambda k: 8 * (3 if k == 2 else k * k - 1),
}
SIZES = (200, 1000, 5000, 20_000)


@pytest.fixture(scope="module")
def predicted(request):
    """Predictions, a variable and labels of rows that the model has not seen."""
    load, model = SETS[request.param]
    X, y = load()
    order = np.random.default_rng(0).permutation(len(y))
    train, rest = np.split(order, [min(len(y) // 3, 1000)])
    fitted = model.fit(X[train], y[train])
    return fitted.predict_proba(X[rest]), X[rest, :1], y[rest]


def loss(P, y):
    return -np.log(np.maximum(P[np.arange(len(y)), y], 1e-15))


def quick(case):
    name, kind, n = case
    kinds = cal.Temperature, cal.StructuredMatrixScaling, cal.VectorScaling, cal.Dirichlet
    return name in ("digits, forest", "two, bayes") and kind in kinds and n == 200


@pytest.mark.parametrize(
    ("predicted", "kind", "n"),
    slow_but(quick, product(SETS, DEFAULTS, SIZES), one_in=5),
    ids=lambda value: getattr(value, "__name__", str(value)),
    indirect=["predicted"],
)
def test_a_default_does_no_harm(predicted, kind, n):
    """The mean log loss of new rows grows by no more than the rate of the class, besides four standard errors."""
    P, v, y = predicted
    if n + 150 > len(y):
        pytest.skip("the set has fewer rows")
    X = np.hstack([P, v]) if kind is cal.VariableBased else P
    rng, means, errors = np.random.default_rng(n), [], []
    for _ in range(max(2, 1600 // n)):
        fit, new = np.split(rng.permutation(len(y)), [n])
        more = loss(clone(kind()).fit(X[fit], y[fit]).predict_proba(X[new]), y[new]) - loss(P[new], y[new])
        means.append(more.mean())
        errors.append(more.std() / np.sqrt(len(more)))
    error = np.hypot(np.std(means, ddof=1) / np.sqrt(len(means)), np.mean(errors))
    assert np.mean(means) <= 1.5 * DEFAULTS[kind](P.shape[1]) / (2 * n) + 4 * error


@pytest.mark.parametrize("free", [cal.MatrixScaling(penalty=0), cal.Dirichlet(1e-3, 1e-3)], ids=lambda each: str(each))
def test_without_a_choice_of_the_penalty_there_is_harm(free):
    """The negative control: ten classes of which few are predicted wrongly."""
    X, y = load_digits(return_X_y=True)
    fitted = LogisticRegression(max_iter=2000).fit(X[:500], y[:500])
    P, labels = fitted.predict_proba(X[500:]), y[500:]
    said = free.fit(P[:300], labels[:300]).predict_proba(P[300:])
    more = loss(said, labels[300:]) - loss(P[300:], labels[300:])
    assert more.mean() > 1.5 * 99 / 600 + 3 * more.std() / np.sqrt(len(more))
    assert loss(cal.MatrixScaling().fit(P[:300], labels[:300]).predict_proba(P[300:]), labels[300:]).mean() < 0.5
