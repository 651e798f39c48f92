"""The base of all calibrators: checks of their input, columns and classes, and predictions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Self, final

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, has_fit_parameter, validate_data

from calibstat._text import counted
from calibstat._warn import asked_from_outside
from calibstat.data.arrays import Array, Floats, Ints, as_generator
from calibstat.data.checks import VALUE_TOLERANCE, check_range, check_sums, warn_of_columns
from calibstat.data.columns import as_array
from calibstat.data.parameters import check_arguments
from calibstat.data.rounding import ROUNDING, SAME

MOST_REPEATED = 1e7  # rows, by whole weights


class Calibrator(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """A map from probabilities to probabilities that is fitted to labels.

    Subclasses write `_fit` and `_calibrate`. The columns of X belong to the classes in sorted order. Integer labels
    from 0 to K - 1 are positions of columns, so that a class may be missing. Rows outside [0, 1] or off the simplex
    are refused, unless the parameter `input` says that X holds something else.
    """

    binary: ClassVar[bool] = False  # two classes only
    needs_every_class: ClassVar[bool] = False
    inputs: ClassVar[tuple[str, ...]] = ("probability",)
    # Parameters that only some calibrators have, with their values for the others.
    input: str = "probability"
    normalize: bool = True

    @abstractmethod
    def _fit(self, probabilities: Floats, variables: Floats, targets: Ints, weights: Floats) -> None:
        """Fit the map to rows (n, K), variables (n, d), the columns of the labels (n,) and weights (n,)."""

    @abstractmethod
    def _calibrate(self, probabilities: Floats, variables: Floats) -> Floats:
        """Return the calibrated rows (n, K)."""

    def _split(self, X: Floats) -> tuple[Floats, Floats]:
        """Return the probabilities and the variables."""
        nothing = np.empty((len(X), 0))
        if self._input == "probability":
            return as_simplex(X), nothing
        if np.abs(X).max(initial=0) > 1e100:
            raise ValueError(f"X is {np.abs(X).max():.3g} in size, but {self._input} below 1e100 are expected")
        if self._input == "logits" and X.shape[1] == 1:  # log-odds of the last of two classes
            return np.column_stack([np.zeros(len(X)), X]), nothing
        return X, nothing

    @property
    def _input(self) -> str:
        """The kind of numbers in X."""
        if self.input not in self.inputs:
            raise ValueError(f"input is {self.input!r}, but {' or '.join(map(repr, self.inputs))} is expected")
        return str(self.input)

    @final
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit on rows that the classifier was not fitted on.

        Parameters
        ----------
        X : (n,) or (n, K)
            Probabilities of the last class, or of each class, in the sorted order of the labels; or the numbers that
            the parameter `input` names. A warning says which other order fits far better, if one does.
        y : (n,)
            Labels.
        sample_weight : (n,), optional
            A row of weight two counts as two rows. Weights that are all equal count as none.

        Raises
        ------
        ValueError
            If X does not hold probabilities, or the labels do not match the columns.
        """
        check_arguments(type(self).__init__, type(self).__name__, **vars(self))
        X, y = self._checked(as_column(X), y)
        weights = np.ones(len(X))
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        probabilities, variables = self._split(X)
        n_columns, found = 2 if self._input == "score" else max(2, probabilities.shape[1]), labels_in(y)
        if self.binary and max(n_columns, len(found)) > 2:
            refuse_more_than_two(type(self).__name__, y, n_columns)
        self.classes_: Array = classes_of(found, n_columns)
        positions = np.array_equal(self.classes_, np.arange(n_columns))
        targets = y.astype(np.intp) if positions else np.searchsorted(self.classes_, y)
        refuse_missing_classes(targets, weights, self.classes_, self.needs_every_class)
        if sample_weight is not None:
            kept = weights > 0  # rows of weight zero do not count
            probabilities, variables, targets = probabilities[kept], variables[kept], targets[kept]
            weights = as_counts(weights[kept])
        if self._input == "probability" and asked_from_outside():
            warn_of_columns(probabilities, targets, self.classes_.tolist(), X.shape[1])
        self._fit(probabilities, variables, targets, weights)
        return self

    def _checked(self, X: Any, y: Any) -> tuple[Floats, Array]:
        """Return finite numbers (n, d) and labels (n,); scikit-learn converts or refuses all but plain arrays of these.

        Its checks alone take twice as long as the fit of a line to a thousand rows.
        """
        if _plain(X, y):
            self.n_features_in_ = X.shape[1]
            self.__dict__.pop("feature_names_in_", None)
            return X, y
        with _others_in_words():
            X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        return X, y

    @final
    def predict_proba(self, X: Any) -> Floats:
        """Return calibrated probabilities (n, K), in the order of `classes_`."""
        check_is_fitted(self)
        table = as_column(X) if self.n_features_in_ == 1 else X
        with _others_in_words():
            table = validate_data(self, table, reset=False, dtype=np.float64)
        return self._said(table)

    def _said(self, X: Floats) -> Floats:
        """Return calibrated rows of an array, and refuse rows that are no probabilities."""
        rows = self._calibrate(*self._split(X))
        wrong = ~((rows >= 0) & (rows <= 1 + SAME)).all(axis=1)  # also where it is NaN
        if self.normalize:
            wrong |= ~(np.abs(rows.sum(axis=1) - 1) <= VALUE_TOLERANCE)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(
                f"this {type(self).__name__} returns {rows[row][:6]} for row {row} (rows count from 0), which are no "
                "probabilities: its fitted values are out of range; fit it again"
            )
        return rows

    @final
    def predict(self, X: Any) -> Array:
        """Return the most probable class of each row."""
        columns = self.predict_proba(X).argmax(axis=1)
        return self.classes_[columns]

    def __sklearn_tags__(self) -> Any:
        tags = ClassifierMixin.__sklearn_tags__(self)
        tags.classifier_tags.multi_class = not self.binary
        return tags


def _plain(X: Any, y: Any) -> bool:
    """Whether X is an array of finite doubles (n, d), and y one of n integers."""
    if not (type(X) is type(y) is np.ndarray and X.dtype == np.float64 and y.dtype.kind in "biu"):
        return False
    return X.ndim == 2 and y.shape == X.shape[:1] and X.size > 0 and bool(np.isfinite(X).all())


def both(event: Floats) -> Floats:
    """Return rows (n, 2) from probabilities (n,) of the last class."""
    return np.column_stack([1 - event, event])


@contextmanager
def _others_in_words() -> Iterator[None]:
    """Say what cannot be read as numbers; scikit-learn passes on whatever the library raises that holds them."""
    try:
        yield
    except ValueError:
        raise
    except OverflowError as error:
        raise ValueError("X holds an integer that no float can hold; leave its row out") from error
    except Exception as error:
        raise TypeError(f"X or y cannot be read as an array: {error}") from error


def as_column(X: Any) -> Any:
    """Return a one-dimensional array as one column, and anything else as it is."""
    dimensions = getattr(X, "ndim", None)
    if dimensions is None and isinstance(X, (list, tuple)) and X and _is_single(X[0]):
        X, dimensions = as_array("X", X), 1
    return np.asarray(X).reshape(-1, 1) if dimensions == 1 else X


def _is_single(first: Any) -> bool:
    return isinstance(first, str) or getattr(first, "ndim", int(hasattr(first, "__len__"))) == 0


def as_simplex(columns: Floats) -> Floats:
    """Return rows of probabilities (n, K) from numbers (n, K) or (n, 1), or raise an error that names the worst row."""
    try:
        if columns.shape[1] == 1:
            check_range(columns[:, 0])
            return np.column_stack([1 - columns, columns])
        check_range(columns)
        check_sums(columns)
    except ValueError as error:
        raise ValueError(str(error).replace("y_prob", "X")) from None
    return columns


def as_counts(weights: Floats) -> Floats:
    """Return positive weights (n,) as numbers of rows: equal ones are none."""
    low, high = weights.min(), weights.max()
    if low == high:
        return np.ones_like(weights)
    if low < 1e-100 or high > 1e100:
        raise ValueError(
            f"sample_weight runs from {low:.3g} to {high:.3g}, but it says how many rows each row counts as: pass "
            "numbers between 1e-100 and 1e100, or 0"
        )
    return weights


def labels_in(y: Array) -> Array:
    """Return the different labels, sorted; small integers are counted, which is faster than to sort or to hash them."""
    if y.dtype.kind in "iu" and y.min() >= 0 and y.max() < len(y):
        return np.flatnonzero(np.bincount(y)).astype(y.dtype)
    return np.unique(y)


def classes_of(found: Array, n_columns: int) -> Array:
    """Return the class of each column: 0, 1, ... if the labels are such positions, otherwise the sorted labels."""
    if found.dtype.kind in "iu" and found[0] >= 0 and found[-1] < n_columns:
        return np.arange(n_columns, dtype=found.dtype)
    if len(found) != n_columns:
        raise ValueError(
            f"y has {counted(len(found), 'class')}, but X has the probabilities of {counted(n_columns, 'class')}: pass "
            "one column for each class, and where a class does not occur, pass the labels as positions of the columns, "
            "0 to K - 1"
        )
    return found


def refuse_more_than_two(name: str, y: Array, n_columns: int) -> None:
    """Refuse more than two classes, and say how to calibrate them."""
    if n_columns > 2 or len(np.unique(y)) > 2:
        kind = type_of_target(y)
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {kind}, and there are "
            f"{max(n_columns, len(np.unique(y)))} classes: use OneVsRest({name}()), or Dirichlet()"
        )


def refuse_missing_classes(targets: Ints, weights: Floats, classes: Array, every: bool) -> None:
    """Refuse labels with only one class, and, if `every` class is needed, labels that lack one."""
    mass = np.bincount(targets, weights, minlength=len(classes))
    missing = [str(name) for name, each in zip(classes, mass, strict=True) if each <= 0]
    if len(classes) - len(missing) < 2:
        raise ValueError("only one class occurs among rows of positive weight: a calibrator needs at least two")
    if every and missing:
        raise ValueError(
            f"class {missing[0]} does not occur in y: this calibrator needs a row of every class; use "
            "Temperature() or Dirichlet(), or merge classes"
        )


# Calibrators that contain others, from this package or like those of scikit-learn.


def fit_part(part: Any, probabilities: Floats, targets: Ints, weights: Floats | None) -> Any:
    """Fit a copy of a part on rows (n, K); one of another package gets only the last of two columns."""
    if isinstance(part, type) or not (hasattr(part, "fit") and hasattr(part, "predict_proba")):
        raise TypeError(
            f"calibrator is {part!r}, but an object with fit and predict_proba is expected: such as Platt()"
        )
    made = clone(part)
    if isinstance(made, Calibrator):
        return made.fit(probabilities, targets, weights)
    if has_fit_parameter(made, "sample_weight"):
        return made.fit(_shown(probabilities), targets, sample_weight=weights)
    if weights is not None and np.ptp(weights) > 0:
        raise ValueError(f"{part!r} takes no sample_weight: leave the weights out, or take another calibrator")
    return made.fit(_shown(probabilities), targets)


def part_says(fitted: Any, probabilities: Floats) -> Floats:
    """Return the probabilities of a fitted part for rows (n, K): 0 for classes that it has not seen."""
    if isinstance(fitted, Calibrator):
        return fitted.predict_proba(probabilities)
    said = np.zeros_like(probabilities)
    said[:, fitted.classes_] = fitted.predict_proba(_shown(probabilities))
    return said


def _shown(probabilities: Floats) -> Floats:
    return probabilities[:, 1:] if probabilities.shape[1] == 2 else probabilities


# Variables: columns of X beside the probabilities.


def split_columns(fitted: Any, X: Floats, variables: Sequence[int | str]) -> tuple[Floats, Floats]:
    """Return rows of probabilities (n, K), and the variables (n, d) in the order in which they are named.

    Variables are columns by position (from the end if negative), or by name if the estimator was fitted to a frame.
    """
    positions = [position_of(fitted, X.shape[1], each) for each in variables]
    if len(set(positions)) >= X.shape[1]:
        raise ValueError(
            f"X has shape {X.shape}, but its columns {list(variables)} are variables: the probabilities must be "
            f"beside them (n_features = {X.shape[1]}, at least {len(set(positions)) + 1} are required)"
        )
    found = X[:, positions]
    if np.abs(found).max(initial=0) > np.finfo(np.float32).max:  # trees compare single precision
        raise ValueError(f"a variable of X is {np.abs(found).max():.3g} in size: pass numbers below 3.4e38")
    return as_simplex(np.delete(X, positions, axis=1)), found


def position_of(fitted: Any, n_columns: int, named: int | str) -> int:
    """Return the position of a variable among the columns of X."""
    if isinstance(named, str):
        names = list(getattr(fitted, "feature_names_in_", ()))
        if named not in names:
            raise ValueError(f"variable {named!r} is not a column of X: pass a data frame that has it, got {names}")
        return names.index(named)
    if not -n_columns <= named < n_columns:
        raise ValueError(f"variable {named} is not a column of X, which has {n_columns} (n_features = {n_columns})")
    return named % n_columns


def folds_of_equal_rows(targets: Ints, rows: Floats, n_folds: int) -> Ints:
    """Return the fold of each row (n, d): folds share each class evenly, and equal rows of a class stay together.

    The rows of a class are dealt out at random, always in the same way. If they were dealt out by their values,
    neighbours would be spread over the folds more evenly than by chance, and noise that was fitted would appear again
    in the unseen rows. The order of rows does not matter, and a row of weight two counts as two equal rows.
    """
    distinct, place = np.unique(np.column_stack([targets, rows]), axis=0, return_inverse=True)
    order = np.lexsort([as_generator(0).permutation(len(distinct)), distinct[:, 0]])
    fold = np.empty(len(distinct), dtype=np.intp)
    fold[order] = np.arange(len(distinct)) % n_folds
    return fold[place.reshape(-1)]


def dealt(targets: Ints, rows: Floats, weights: Floats, n_folds: int) -> tuple[Ints, Ints, Floats]:
    """Deal rows out as `folds_of_equal_rows` does, but also equal rows of a class, if there are as many as folds.

    Otherwise all rows of one class with a common value were seen together, and where values are few, nothing could be
    learned from the others. Return numbers of rows (m,), a row standing for those that equal it, folds and weights.
    """
    distinct, first, place = np.unique(np.column_stack([targets, rows]), axis=0, return_index=True, return_inverse=True)
    place = place.reshape(-1)
    whole = weights.sum() <= MOST_REPEATED and not (weights % 1).any()
    mass, counts = np.bincount(place, weights), np.bincount(place, weights if whole else None).astype(np.intp)
    if (counts < n_folds).all():
        return np.arange(len(targets)), folds_of_equal_rows(targets, rows, n_folds), weights
    unit = np.repeat(np.arange(len(distinct)), np.where(counts < n_folds, 1, counts))
    order = np.lexsort([as_generator(0).permutation(len(unit)), distinct[unit, 0]])
    fold = np.empty(len(unit), dtype=np.intp)
    fold[order] = np.arange(len(unit)) % n_folds
    dealt_out = np.bincount(unit * n_folds + fold, minlength=len(distinct) * n_folds).reshape(-1, n_folds)
    group, number = np.nonzero(dealt_out)
    return first[group], number, mass[group] * dealt_out[group, number] / dealt_out.sum(axis=1)[group]


def simplest(losses: Floats, weights: Floats) -> int:
    """Return the simplest of models, which are in this order, within one standard error of the best.

    Losses (models, m) belong to folds or rows, with their weights (m,). The standard error is that of the difference
    (Breiman et al. 1984, Section 3.4.3).
    """
    size = weights.sum()
    if size <= 1:
        return 0
    total = losses @ weights
    more = losses - losses[total.argmin()]
    apart = more - (more @ weights / size)[:, None]
    error = np.sqrt(apart**2 @ weights * (size / (size - 1))) + ROUNDING * np.abs(total)
    return int(np.argmax(more @ weights <= error))
