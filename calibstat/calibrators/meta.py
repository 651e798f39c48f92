"""A classifier with its calibrator, and a calibrator for each class."""

from __future__ import annotations

from typing import Any, ClassVar, Self, final

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold, StratifiedShuffleSplit, check_cv
from sklearn.utils import _safe_indexing, assert_all_finite, column_or_1d, get_tags, indexable
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, has_fit_parameter

from calibstat._progress import track
from calibstat._text import counted
from calibstat.calibrators.base import Calibrator, both, fit_part, part_says, refuse_more_than_two
from calibstat.calibrators.scaling import Platt
from calibstat.calibrators.softmax import Dirichlet
from calibstat.data.arrays import Array, Floats, Ints
from calibstat.data.parameters import true_or_false

# A share of the rows is made of groups that are dealt out into so many parts at most.
_MOST_PARTS = 20


@final
class Calibrated(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose probabilities a calibrator corrects.

    Parameters
    ----------
    classifier : classifier, optional
        By default LogisticRegression().
    calibrator : calibrator, optional
        By default Platt() for two classes and Dirichlet() for more; it may be one like those of scikit-learn. A
        calibrator with ``input="score"`` or ``input="logits"`` gets the values of ``decision_function``, any other
        those of ``predict_proba``.
    cv : "prefit", float, int, splitter or iterable of splits
        The rows that the calibrator is fitted on. "prefit": all rows, since the classifier was fitted before, on
        others. A share between 0 and 1: that share of the rows, while the classifier is fitted on the rest. Otherwise
        cross-fitting: all rows, each with the prediction of a classifier that did not see its fold; then the
        classifier is fitted on all rows.
    random_state : int
        Chooses the rows if `cv` is a share.

    Attributes
    ----------
    classifier_, calibrator_
        The fitted classifier and calibrator.
    cross_fitted_ : bool
        Whether the calibrator was fitted to predictions of several classifiers, none of which is `classifier_`. A test
        on such predictions is approximate.
    fitted_rows_ : (m,) ints or None
        The rows of the training data that the calibrator was fitted on: never test on these.
    """

    def __init__(self, classifier: Any = None, calibrator: Any = None, cv: Any = 5, random_state: int = 0) -> None:
        self.classifier = classifier
        self.calibrator = calibrator
        self.cv = cv
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit the classifier and the calibrator, each on its rows.

        Parameters
        ----------
        X : (n, d)
            The features, as the classifier takes them.
        y : (n,)
        sample_weight : (n,), optional
            Weights for the calibrator, and for the classifier if it takes weights.
        groups : (n,), optional
            Which rows belong together, as those of a patient: a split of `cv` then keeps them whole.
        """
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        X, y = indexable(X, column_or_1d(y, warn=True))
        assert_all_finite(y)
        check_classification_targets(y)
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        self.classes_, targets = self._classes(y)
        if len(self.classes_) < 2 or (weights is not None and len(np.unique(y[weights > 0])) < 2):
            raise ValueError("only one class occurs among rows of positive weight: a classifier needs at least two")
        if getattr(self._calibrator(), "binary", False):
            refuse_more_than_two(type(self._calibrator()).__name__, y, len(self.classes_))
        groups = None if groups is None else column_or_1d(indexable(X, groups)[1])
        responses, rows = self._responses(X, y, weights, groups)
        self.fitted_rows_: Ints = rows
        kept = None if weights is None else weights[rows]
        self.calibrator_ = fit_part(self._calibrator(), responses, targets[rows], kept)
        return self

    def _classes(self, y: Array) -> tuple[Array, Ints]:
        if not self._prefit:
            return np.unique(y, return_inverse=True)
        check_is_fitted(self._classifier())
        classes = np.asarray(self._classifier().classes_)
        strange = np.setdiff1d(y, classes)
        if len(strange):
            raise ValueError(f"y has the class {strange[0]}, which the fitted classifier does not know")
        return classes, np.searchsorted(classes, y)

    def _responses(self, X: Any, y: Array, weights: Floats | None, groups: Array | None) -> tuple[Floats, Ints]:
        """Return the classifier's predictions for the rows that the calibrator is fitted on, and these rows."""
        n_rows = len(y)
        self.cross_fitted_ = False
        if self._prefit:
            self.classifier_ = self._classifier()
            return self._says(self.classifier_, X), np.arange(n_rows)
        if isinstance(self.cv, float):
            train, rows = map(np.sort, self._one_split(y, groups))
            self.classifier_ = self._fitted(X, y, weights, train)
            return self._says(self.classifier_, _safe_indexing(X, rows)), rows
        self.cross_fitted_ = True
        said, rows = self._cross_fit(X, y, weights, groups)
        self.classifier_ = self._fitted(X, y, weights, np.arange(n_rows))
        return said, rows

    def _one_split(self, y: Array, groups: Array | None) -> tuple[Ints, Ints]:
        """Return rows for the classifier and others, of which there is a share of `cv`, for the calibrator."""
        none, seed = np.zeros(len(y)), self.random_state
        if groups is None:
            return next(StratifiedShuffleSplit(n_splits=1, test_size=self.cv, random_state=seed).split(none, y))
        most = min(len(np.unique(groups)), np.unique(y, return_counts=True)[1].min(), _MOST_PARTS)
        dealt = _folds_of_groups(max(2, int(most)), groups, seed).split(none, y, groups)
        parts = [rows for _, rows in dealt]
        reached = np.cumsum([len(rows) for rows in parts[:-1]])
        rows = np.concatenate(parts[: 1 + int(np.abs(reached - self.cv * len(y)).argmin())])
        return np.setdiff1d(np.arange(len(y)), rows), rows

    def _cross_fit(self, X: Any, y: Array, weights: Floats | None, groups: Array | None) -> tuple[Floats, Ints]:
        said, rows = [], []
        if groups is None or not (self.cv is None or isinstance(self.cv, (int, np.integer))):
            splitter = check_cv(self.cv, y, classifier=True)
        else:
            splitter = _folds_of_groups(int(self.cv or 5), groups)
        for train, test in splitter.split(np.zeros(len(y)), y, groups):
            fitted = self._fitted(X, y, weights, train)
            if len(fitted.classes_) < len(self.classes_):
                raise ValueError(
                    f"a fold trains on {len(fitted.classes_)} of {counted(len(self.classes_), 'class')}: take fewer "
                    "folds, or merge rare classes"
                )
            said.append(self._says(fitted, _safe_indexing(X, test)))
            rows.append(test)
        return np.concatenate(said), np.concatenate(rows)

    def _fitted(self, X: Any, y: Array, weights: Floats | None, rows: Ints) -> Any:
        model = clone(self._classifier())
        passed = weights is not None and has_fit_parameter(model, "sample_weight")
        more = {"sample_weight": weights[rows]} if passed and weights is not None else {}
        return model.fit(_safe_indexing(X, rows), y[rows], **more)

    def _says(self, fitted: Any, X: Any) -> Floats:
        if getattr(self._calibrator(), "input", "") in ("score", "logits"):
            scores = fitted.decision_function(X)
            return scores.reshape(len(scores), -1)
        return fitted.predict_proba(X)

    @property
    def _prefit(self) -> bool:
        return isinstance(self.cv, str) and self.cv == "prefit"

    def _classifier(self) -> Any:
        if self.classifier is not None:
            if isinstance(self.classifier, type) or not hasattr(self.classifier, "fit"):
                raise TypeError(f"classifier is {self.classifier!r}; it must be a classifier with fit")
            return self.classifier
        if self._prefit:
            raise ValueError('cv="prefit" needs a fitted classifier: pass one')
        return LogisticRegression()

    def _calibrator(self) -> Any:
        if self.calibrator is not None:
            return self.calibrator
        return Platt() if len(self.classes_) == 2 else Dirichlet()

    def predict_proba(self, X: Any) -> Floats:
        """Return calibrated probabilities (n, K), in the order of `classes_`."""
        check_is_fitted(self)
        return part_says(self.calibrator_, self._says(self.classifier_, X))

    def __sklearn_tags__(self) -> Any:
        tags = ClassifierMixin.__sklearn_tags__(self)
        tags.input_tags = get_tags(LogisticRegression() if self.classifier is None else self.classifier).input_tags
        tags.classifier_tags.multi_class = not getattr(self.calibrator, "binary", False)
        return tags

    @property
    def n_features_in_(self) -> int:
        """The number of features of the classifier."""
        return self.classifier_.n_features_in_

    def predict(self, X: Any) -> Array:
        """Return the most probable class of each row."""
        check_is_fitted(self)
        columns = self.predict_proba(X).argmax(axis=1)
        return self.classes_[columns]


def _folds_of_groups(n_folds: int, groups: Array, seed: int | None = None) -> StratifiedGroupKFold:
    """Return what deals whole groups out, and refuse too few of them and one that has most of the rows."""
    sizes = np.unique(groups, return_counts=True)[1]
    if len(sizes) < n_folds or 2 * sizes.max() > sizes.sum():
        raise ValueError(
            f"rows of a group stay together, but there are {counted(len(sizes), 'group')} for {n_folds} parts, and the "
            f"largest has {sizes.max() / sizes.sum():.0%} of the rows; add rows of more groups, or take fewer folds"
        )
    return StratifiedGroupKFold(n_folds, shuffle=seed is not None, random_state=seed)


@final
class OneVsRest(Calibrator):
    """A calibrator of two classes for each class against the others, then normalised (Zadrozny and Elkan 2002).

    A row for which all of them say 0 gets equal probabilities. Each class needs its own events: with five rows for each
    of 100 classes and right predictions, Platt() added 0.45 to the log loss and Beta() 1.1; Smooth(), which may leave a
    class as it is, added 0.05 at most. It chooses for each class alone, before rows are divided by their sum: in one of
    six samples of 500 predictions of ten classes, four in five of them above 0.99, it added 0.13, where
    Temperature() took 0.03 away in each.

    Parameters
    ----------
    calibrator : calibrator, optional
        By default Platt(). It may be one like those of scikit-learn; Smooth() is for rare classes.
    normalize : bool
        Whether rows are divided by their sum. Without, each column is what its own calibrator says, for questions
        about one class at a time; rows need not sum to one.

    Attributes
    ----------
    calibrators_ : list
        One for each class.
    """

    needs_every_class: ClassVar[bool] = True

    def __init__(self, calibrator: Any = None, normalize: bool = True) -> None:
        self.calibrator = calibrator
        self.normalize = normalize

    def _fit(self, probabilities: Floats, _: Floats, targets: Ints, weights: Floats) -> None:
        true_or_false("normalize", self.normalize)
        each = Platt() if self.calibrator is None else self.calibrator
        self.calibrators_ = [
            fit_part(each, both(column), (targets == number).astype(np.intp), weights)
            for number, column in enumerate(track(probabilities.T, probabilities.shape[1]))
        ]

    def _calibrate(self, probabilities: Floats, _: Floats) -> Floats:
        found = zip(self.calibrators_, probabilities.T, strict=True)
        rows = np.column_stack([part_says(each, both(column))[:, 1] for each, column in found])
        if not self.normalize:
            return rows
        total = rows.sum(axis=1, keepdims=True)
        return np.where(total > 0, np.divide(rows, total, out=np.ones_like(rows), where=total > 0), 1 / rows.shape[1])
