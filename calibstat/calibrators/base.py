"""What all calibrators share: examined input, columns that belong to classes, and predictions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self, final

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from calibstat.arrays import Array, Floats, Ints
from calibstat.calibrators.inputs import as_column, as_simplex, classes_of, refuse_missing_classes, refuse_more_than_two


class Calibrator(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """A map from probabilities to probabilities that labels were used to find.

    Subclasses write `_fit` and `_calibrate`. Columns of X belong to the classes in their sorted order; integer labels
    0 to K - 1 are positions of columns, so that a class may be missing. What lies outside [0, 1] or off the simplex
    is refused.
    """

    binary: ClassVar[bool] = False  # two classes only
    needs_every_class: ClassVar[bool] = False

    @abstractmethod
    def _fit(self, probabilities: Floats, variables: Floats, targets: Ints, weights: Floats) -> None:
        """Find the map from rows (n, K), their variables (n, d), the columns that came true, and weights (n,)."""

    @abstractmethod
    def _calibrate(self, probabilities: Floats, variables: Floats) -> Floats:
        """Return the calibrated rows (n, K)."""

    def _split(self, X: Floats) -> tuple[Floats, Floats]:
        """Tell probabilities from variables."""
        return as_simplex(X), np.empty((len(X), 0))

    def _as_table(self, X: Any) -> Any:
        return as_column(X)

    @final
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit on rows that the classifier was not fitted on.

        Parameters
        ----------
        X : (n,) or (n, K)
            Probabilities of the last class, or of each.
        y : (n,)
            Labels.
        sample_weight : (n,), optional
            A weight of two is a row that is there twice.

        Raises
        ------
        ValueError
            If X does not hold probabilities, or labels and columns do not fit.
        """
        X, y = validate_data(self, self._as_table(X), y, dtype=np.float64)
        check_classification_targets(y)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        probabilities, variables = self._split(X)
        n_columns = max(2, probabilities.shape[1]) if self._simplex else 2
        if self.binary:
            refuse_more_than_two(type(self).__name__, y, n_columns)
        self.classes_: Array = classes_of(y, n_columns)
        targets = np.searchsorted(self.classes_, y)
        refuse_missing_classes(targets, weights, self.classes_, self.needs_every_class)
        kept = weights > 0  # a row of weight zero is no row
        if not kept.all():
            probabilities, variables, targets = probabilities[kept], variables[kept], targets[kept]
            weights = weights[kept]
        self._fit(probabilities, variables, targets, weights)
        return self

    @final
    def predict_proba(self, X: Any) -> Floats:
        """Return calibrated probabilities (n, K), in the order of `classes_`."""
        check_is_fitted(self)
        table = self._as_table(X) if self.n_features_in_ == 1 else X
        probabilities, variables = self._split(validate_data(self, table, reset=False, dtype=np.float64))
        return self._calibrate(probabilities, variables)

    @final
    def predict(self, X: Any) -> Array:
        """Return the most probable class of each row."""
        columns = self.predict_proba(X).argmax(axis=1)
        return self.classes_[columns]

    def __sklearn_tags__(self) -> Any:
        tags = ClassifierMixin.__sklearn_tags__(self)
        tags.classifier_tags.multi_class = not self.binary
        return tags

    @property
    def _simplex(self) -> bool:
        """Whether X holds probabilities, and not scores."""
        return True


def both(event: Floats) -> Floats:
    """(n, 2) rows from (n,) probabilities of the last class."""
    return np.column_stack([1 - event, event])
