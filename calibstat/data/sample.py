"""A sample: what was predicted and what happened."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from types import EllipsisType
from typing import Any, ClassVar, TypeAlias

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._text import counted, safe, shown
from calibstat._warn import noting
from calibstat.data.arrays import (
    ROWS_IN_CACHE,
    Array,
    Bools,
    Floats,
    Ints,
    Top,
    Variable,
    effective_number,
    increasing_order,
    top_of,
    two_columns,
)
from calibstat.data.checks import Examined, examine, locked, warn_of_order
from calibstat.data.frames import confidence_arguments, estimator_arguments, frame_arguments
from calibstat.data.groups import ClusterCount, Groups
from calibstat.data.parameters import keep
from calibstat.data.repeats import hint_of_rows
from calibstat.data.rounding import SAME

# So many classes are listed in a notebook.
_MOST_CLASSES = 20


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Sample:
    """Labels and the probabilities that a model predicted for them; the only place where input arrays are checked.

    Parameters
    ----------
    y_true : (n,) integers, booleans or strings
        The labels.
    y_prob : (n,) or (n, K) floats
        Predicted probabilities. One dimension means P(the last label); otherwise one column for each class.
        float32 with three or more classes is kept, and converted only where all probabilities are needed; results equal
        those of the same numbers in double precision, bit for bit.
    variables : mapping or data frame, optional
        What else is known of each row, by name: numbers, or names of categories, (n,) each.
    sample_weight : (n,) non-negative floats, optional
        Importance weights; only their ratios matter, and equal ones are none. Whole numbers that add up to five times
        the number of rows or more give a warning, since they look like counts: repeat rows that stand for several.
    groups : (n,) integers or strings, optional
        Which rows belong together: the patient, the video, the question of each row. Rows of one group may depend on
        each other in any way, and every result then holds for that, or says that it does not.
    labels : sequence, optional
        The label of each column of `y_prob`, in order. Without it: the column names of a data frame, if they
        (or their part after the common prefix) are the labels as text; integers 0..K-1 as column numbers; otherwise the
        sorted labels, if exactly K occur. Anything else is an error.
    nan_policy : {"raise", "omit"}
        What to do with rows in which a label, a probability, a weight or a variable is missing.
    prevalence : float or (K,) floats, optional
        If rows were sampled by their labels (case-control, balanced classes): the share of each class in the
        population, in the order of `labels`; one number is that of the last of two classes. `y_prob` is then moved by
        Bayes to what it says of rows so sampled, the odds times the ratio of the shares here and there (Elkan 2001).
        Tests are about the same hypothesis as in the population; errors are those of the rows so sampled.

    Attributes
    ----------
    predictions : Predictions
        The label-blind part.
    outcomes : (n,) ints
        The column of the label that occurred, row by row.
    origin : dict or None
        Of a sample that `read` gave: what `read` was asked for, by which it can be read again.
    notes : tuple of str
        What was warned of while the arguments were taken, and how many rows were left out if many were.

    Raises
    ------
    ValueError
        If any argument is invalid: the message says what was found, what was expected and what to do.

    Examples
    --------
    >>> import calibstat as cs
    >>> sample = cs.Sample([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    >>> sample
    Sample(n=4, classes=(0, 1))
    >>> sample.outcomes
    array([0, 1, 1, 0])
    >>> cs.Sample(["no", "yes"], [[0.8, 0.2], [0.3, 0.7]], labels=["no", "yes"]).labels
    ('no', 'yes')
    """

    predictions: Predictions
    outcomes: Ints
    origin: ClassVar[Mapping[str, Any] | None] = None
    notes: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        y_true: Any,
        y_prob: Any,
        *,
        variables: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        labels: Sequence[Hashable] | None = None,
        nan_policy: str = "raise",
        prevalence: Any = None,
    ) -> None:
        rows = {"variables": variables, "sample_weight": sample_weight, "groups": groups}
        how = {"labels": labels, "nan_policy": nan_policy, "prevalence": prevalence}
        with noting() as notes:
            self._take_over(examine(y_true, y_prob, **rows, **how))
        keep(self, notes=tuple(notes))

    @classmethod
    def _examined(cls, seen: str = "", **arguments: Any) -> Sample:
        if "correct" in arguments:
            return cls._of_confidence(**arguments)
        if "y_true" not in arguments:
            from calibstat.data.counted import bucketed_sample, counted_sample  # they need this file

            with noting() as notes:
                found = (bucketed_sample if "predicted" in arguments else counted_sample)(**arguments)
            keep(found, notes=tuple(notes))
            return found
        sample = object.__new__(cls)
        with noting() as notes:
            sample._take_over(examine(**arguments), seen)
        keep(sample, notes=tuple(notes))
        return sample

    def _take_over(self, found: Examined, seen: str = "") -> None:
        if not seen:
            warn_of_order(found)
        known = (found.rows, found.classes, found.weights, found.variables)
        made = Predictions(*known, source=found.source, seen=seen, groups=found.groups, identifier=found.identifier)
        keep(self, predictions=made, outcomes=found.outcomes)
        if found.top is not None:
            keep(self.predictions, top=found.top)

    @classmethod
    def of(cls, predictions: Predictions, outcomes: Ints) -> Sample:
        """Combine predictions and outcomes (n,) that were checked before, without checking them again."""
        sample = object.__new__(cls)
        object.__setattr__(sample, "predictions", predictions)
        object.__setattr__(sample, "outcomes", outcomes)
        return sample

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        y_true: str | None = None,
        y_prob: str | Sequence[str] | None = None,
        correct: str | None = None,
        confidence: str | None = None,
        counts: str | Sequence[str] | None = None,
        events: str | None = None,
        trials: str | None = None,
        predicted: str | None = None,
        between: Sequence[str] | None = None,
        variables: str | Sequence[str] | None = None,
        sample_weight: str | None = None,
        groups: str | None = None,
        labels: Sequence[Hashable] | None = None,
        nan_policy: str = "raise",
        prevalence: Any = None,
    ) -> Sample:
        """Take a sample from the columns of a data frame (pandas, polars, or any mapping of names to columns).

        Parameters
        ----------
        frame : data frame, or mapping of names to columns
        y_true : str
            Name of the column of labels.
        y_prob : str or sequence of str
            Names of the probability columns; ``*`` and ``?`` match, and keep the frame's column order.
        correct, confidence : str, optional
            In place of both: the columns of `Sample.from_confidence`. Whether the label was right may also be written
            in words, correct and incorrect.
        counts, events, trials : str or sequence of str, optional
            In place of `y_true`, where rows stand for several: the columns of `Sample.from_counts`.
        predicted, between : str, and a pair of str, optional
            In place of `y_prob`, where rows are buckets: the columns of `Sample.from_buckets`.
        variables, sample_weight, groups : str, optional
            Names of further columns (globs allowed for `variables`).
        labels, nan_policy, prevalence
            As for `Sample`.

        Examples
        --------
        >>> import calibstat as cs
        >>> frame = {"pet": ["cat", "dog"], "prob_dog": [0.3, 0.6], "prob_cat": [0.7, 0.4]}
        >>> cs.Sample.from_frame(frame, y_true="pet", y_prob="prob_*").labels
        ('dog', 'cat')
        """
        happened = {"y_true": y_true, "correct": correct, "counts": counts, "events": events, "trials": trials}
        happened |= {"predicted": predicted, "between": between}
        rows = {"variables": variables, "sample_weight": sample_weight, "groups": groups}
        taken = frame_arguments(frame, **happened, y_prob=y_prob, confidence=confidence, **rows)
        return cls._examined(**taken, labels=labels, nan_policy=nan_policy, prevalence=prevalence)

    @classmethod
    def read(
        cls,
        path: Any,
        *,
        y_true: str | None = None,
        y_prob: str | Sequence[str] | None = None,
        correct: str | None = None,
        confidence: str | None = None,
        counts: str | Sequence[str] | None = None,
        events: str | None = None,
        trials: str | None = None,
        predicted: str | None = None,
        between: Sequence[str] | None = None,
        variables: str | Sequence[str] | None = None,
        sample_weight: str | None = None,
        groups: str | None = None,
        labels: Sequence[Hashable] | None = None,
        nan_policy: str = "raise",
        prevalence: Any = None,
    ) -> Sample:
        """Read a sample from a file: CSV or JSON lines (also compressed), NPZ, Parquet, NetCDF.

        ``-`` is CSV on standard input. A line of JSON (.jsonl or .ndjson) is an object, such as an entry of a log; its
        fields, in the first 1000 lines, are the columns, and a field of a field is called by both names, with a dot
        between. Only the named columns are read. Parquet and NetCDF need the extra: ``pip install "calibstat[files]"``.

        Parameters
        ----------
        path : str or path
        y_true, y_prob, correct, confidence, counts, events, trials, predicted, between
            Names of columns (of arrays, for NPZ and NetCDF), as in `from_frame`.
        variables, sample_weight, groups
            Names of further columns.
        labels, nan_policy, prevalence
            As for `Sample`.

        Raises
        ------
        ValueError
            If the file cannot be read or a column is missing; the message lists the columns that are there.
        """
        from calibstat.data.files import (  # readers of text and archives, which arrays do not need
            file_arguments,
            in_file,
        )

        columns = {"y_true": y_true, "correct": correct, "counts": counts, "events": events, "trials": trials}
        columns |= {"y_prob": y_prob, "confidence": confidence, "predicted": predicted, "between": between}
        columns |= {"variables": variables, "sample_weight": sample_weight, "groups": groups}
        how = {"labels": labels, "nan_policy": nan_policy, "prevalence": prevalence}
        with noting() as notes:
            found = file_arguments(path, **columns)
            with in_file(path):
                sample = cls._examined(**found, **how)
        keep(sample, notes=tuple(notes), origin={"path": str(path), **columns, **how})
        return sample

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        variables: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        nan_policy: str = "raise",
        prevalence: Any = None,
    ) -> Sample:
        """Predict with a fitted scikit-learn classifier and take its ``classes_`` as the order of columns.

        Parameters
        ----------
        estimator : object with ``predict_proba`` and ``classes_``
        X, y
            Rows that the classifier was *not* fitted on, and their labels.
        variables, sample_weight, groups, nan_policy, prevalence
            As for `Sample`.
        """
        taken = estimator_arguments(estimator, X)
        rows = {"variables": variables, "sample_weight": sample_weight, "groups": groups}
        return cls._examined(**taken, y_true=y, **rows, nan_policy=nan_policy, prevalence=prevalence)

    @classmethod
    def from_counts(
        cls,
        y_prob: Any,
        counts: Any = None,
        *,
        events: Any = None,
        trials: Any = None,
        variables: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        labels: Sequence[Hashable] | None = None,
        nan_policy: str = "raise",
    ) -> Sample:
        """Take predictions, and how often each outcome followed each of them.

        The sample is that of the rows that are counted: every result is the same as if they were written out.

        Parameters
        ----------
        y_prob : (m,) or (m, K) floats
            Different predictions, as for `Sample`; equal ones may stand in several rows.
        counts : (m, K) whole numbers, optional
            How many rows had each outcome; columns in the order of `labels`, or with names that spell the labels as
            those of `y_prob` do.
        events, trials : (m,) whole numbers, optional
            For two classes, in place of `counts`: how many rows had the event, the last class, and how many there were.
        variables : mapping or data frame, optional
            What else is known of the rows of each prediction, by name, (m,) each.
        sample_weight : (m,) non-negative floats, optional
            The importance weight of each of the rows of a prediction; how many there are is no weight.
        groups : (m,) integers or strings, optional
            The cluster that all rows of a prediction belong to.
        labels, nan_policy
            As for `Sample`; without `labels` or names they are 0 to K - 1, and False and True for events.

        Raises
        ------
        ValueError, TypeError
            If an argument is invalid, counts are no whole numbers, or there are more events than trials.

        Examples
        --------
        >>> import calibstat as cs
        >>> sample = cs.Sample.from_counts([0.1, 0.4, 0.8], events=[2, 11, 25], trials=[30, 30, 30])
        >>> sample
        Sample(n=90, classes=(False, True), counted for 3 predictions)
        >>> round(cs.ECE()(sample), 4)
        0.0333
        """
        happened = {"counts": counts, "events": events, "trials": trials}
        rows = {"variables": variables, "sample_weight": sample_weight, "groups": groups}
        return cls._examined(y_prob=y_prob, **happened, **rows, labels=labels, nan_policy=nan_policy)

    @classmethod
    def from_buckets(
        cls,
        predicted: Any,
        *,
        events: Any,
        trials: Any,
        between: Any = None,
        variables: Any = None,
        labels: Sequence[Hashable] | None = None,
        nan_policy: str = "raise",
    ) -> Sample:
        """Take buckets of rows, of which the number of rows and events and the sum of predictions are kept.

        Errors of the means of whole buckets, and tests of them, are those of the rows; whatever depends on single
        predictions (scores, ranks, slopes, curves, and cells whose borders may lie inside a bucket) is refused.

        Parameters
        ----------
        predicted : (m,) floats
            The sum of the predictions in each bucket.
        events, trials : (m,) whole numbers
            How many of its rows had the event, and how many there are.
        between : pair of (m,) floats, optional
            The numbers between which the predictions of each bucket lie, the lower and the upper ones; cells of the
            prediction may begin and end there. By default that is 0 and 1.
        variables : mapping or data frame, optional
            What is known of all rows of each bucket, by name, (m,) each.
        labels, nan_policy
            As for `Sample`; without `labels` they are False and True.

        Raises
        ------
        ValueError, TypeError
            If an argument is invalid, or a mean prediction does not lie in its bucket.

        Examples
        --------
        >>> import calibstat as cs
        >>> ends = ([0, 0.2, 0.5], [0.2, 0.5, 1])
        >>> sample = cs.Sample.from_buckets([3.1, 12.4, 24.3], events=[2, 11, 25], trials=[30, 30, 30], between=ends)
        >>> sample
        Sample(n=90, classes=(False, True), counted in 3 buckets)
        >>> round(cs.ECE(cs.FixedEdges([0, 0.2, 0.5, 1]))(sample), 4)
        0.0356
        """
        known = {"variables": variables, "labels": labels, "nan_policy": nan_policy}
        return cls._examined(predicted=predicted, events=events, trials=trials, between=between, **known)

    @classmethod
    def from_confidence(
        cls,
        correct: Any,
        confidence: Any,
        *,
        variables: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        nan_policy: str = "raise",
    ) -> Sample:
        """Take confidences and whether the top label was right, as a sample already seen through `TopLabel`.

        Parameters
        ----------
        correct : (n,) booleans (or 0 and 1)
        confidence : (n,) floats
            The probability of the predicted label.
        variables, sample_weight, groups, nan_policy
            As for `Sample`.

        Examples
        --------
        >>> import calibstat as cs
        >>> cs.Sample.from_confidence([True, False, True], [0.9, 0.6, 0.8])
        Sample(n=3, classes=(False, True), seen through the top label)
        """
        rows = {"variables": variables, "sample_weight": sample_weight, "groups": groups}
        return cls._of_confidence(correct=correct, y_prob=confidence, **rows, nan_policy=nan_policy)

    @classmethod
    def _of_confidence(
        cls, *, correct: Any, y_prob: Any, labels: Any = None, prevalence: Any = None, **rows: Any
    ) -> Sample:
        """Take confidences from wherever they are; the name of their column is not that of a class."""
        rows.pop("columns", None)
        for name, given in {"labels": labels, "prevalence": prevalence}.items():
            if given is not None:
                raise TypeError(f"{name} is about the classes of y_prob; confidences in the top label have none")
        return cls._examined("the top label", **confidence_arguments(correct, y_prob), **rows)

    def __len__(self) -> int:
        return len(self.outcomes)

    def __repr__(self) -> str:
        return safe(f"Sample({', '.join(self._parts(self.predictions))})")

    def _repr_html_(self) -> str:
        """Return how many rows there are, and what happened and was predicted of each class, for notebooks."""
        from calibstat._screen import Screen

        rows, weights, predicted = self._by_class()
        happened, known = weights / max(weights.sum(), 1), self.known
        with_rows = "" if known.weights is None else ", with weights"
        with_rows += f", in {counted(self.groups.number, 'cluster')}" if self.groups is not None else ""
        with_rows += f", seen through {known.seen}" if known.seen else ""
        cells = [["class", "rows", "happened", "predicted"]]
        for label, n, *shares in zip(self.labels[:_MOST_CLASSES], rows, happened, predicted, strict=False):
            cells.append([shown(label), str(n), *(f"{share:.3g}" for share in shares)])
        left = len(self.labels) - _MOST_CLASSES
        notes = [f"{counted(left, 'more class')} not shown"] if left > 0 else []
        notes += [f"variables: {', '.join(map(shown, known.variables))}"] if known.variables else []
        answer = f"Sample of {counted(len(self), 'row')}, {counted(len(self.labels), 'class')}{with_rows}."
        return Screen(safe(answer), cells, notes).html()

    def _by_class(self) -> tuple[Ints, Floats, Floats]:
        """Return the rows of each class, their weights in units of the largest one, and its mean prediction."""
        known, k = self.predictions, len(self.labels)
        weights = np.ones(len(self)) if known.weights is None else known.weights / known.weights.max()
        return (
            np.bincount(self.outcomes, minlength=k),
            np.bincount(self.outcomes, weights, minlength=k).astype(float),
            np.average(known.probabilities, axis=0, weights=weights),
        )

    def _parts(self, known: Predictions) -> list[str]:
        parts = [f"n={len(self)}", f"classes={self._shown_labels()}"]
        if known.variables:
            parts.append(f"variables={tuple(known.variables)!r}")
        if known.weights is not None:
            parts.append("weighted")
        if self.groups is not None:
            parts.append(f"in {counted(self.groups.number, 'cluster')} ({shown(self.groups.name)})")
        if known.seen:
            parts.append(f"seen through {known.seen}")
        return parts

    def _shown_labels(self) -> str:
        if len(self.labels) <= 10:
            return repr(self.labels)
        first = ", ".join(map(repr, self.labels[:3]))
        return f"({first}, ..., {self.labels[-1]!r}), n_classes={len(self.labels)}"

    @property
    def labels(self) -> tuple[Hashable, ...]:
        """The label of each column."""
        return self.predictions.classes

    @property
    def y_true(self) -> Array:
        """(n,) the labels themselves, row by row."""
        return np.asarray(self.labels)[self.outcomes]

    @property
    def y_prob(self) -> Floats:
        """(n, K) the probabilities as given, in double precision."""
        return self.predictions.probabilities

    @property
    def variables(self) -> dict[str, Array]:
        """(n,) the values of each variable, by its name: numbers, or the texts of its levels."""
        return {name: each.written for name, each in self.known.variables.items()}

    @property
    def groups(self) -> Groups | None:
        """Which rows belong together; None where each row is by itself."""
        return self.known.groups

    @cached_property
    def hint(self) -> str:
        """What says that rows may come in clusters, where no groups were given; "" where nothing does."""
        known = self.known
        if known.groups is not None or known.counts is not None:
            return ""
        columns = [*np.atleast_2d(known.rows.T), *(each.values for each in known.variables.values())]
        return known.identifier or hint_of_rows(columns, self.outcomes)

    @property
    def known(self) -> Predictions:
        """The predictions as they were passed, with the weights of single rows; to be asked what they are."""
        return self.predictions

    def read_by(
        self,
        reads_counts: Callable[[int], bool],  # noqa: ARG002
        labelled: bool = False,  # noqa: ARG002
        buckets: bool = False,  # noqa: ARG002
    ) -> Sample:
        """Return what those read who may read rows that stand for several, of that number of classes."""
        return self

    def seen_through(self, look: Callable[[Predictions], Any]) -> Sample:
        """Return the sample that a lens shows, by what it does with predictions, its `look`."""
        view = look(self.predictions)
        return Sample.of(view.predictions, view.outcomes(self.outcomes).astype(np.intp, copy=False))

    def take(self, rows: Array) -> Sample:
        """Return the sample at `rows` (indices, or a mask of length n)."""
        return Sample.of(self.predictions.take(rows), self.outcomes[rows])


# What is known before the outcomes: this type keeps binnings and lenses from seeing outcomes.

GivenNames: TypeAlias = tuple[str | int | EllipsisType, ...]


@dataclass(frozen=True, eq=False)
class Predictions:
    """What a model said and what else was known, row by row.

    Parameters
    ----------
    rows : (n, K) floats, or (n,) floats
        Probabilities, one row for each prediction and one column for each class, as given: in single or double
        precision, and summing to one up to 1e-4. One dimension is P(the last of two classes), in double precision.
        Arithmetic is done with `probabilities`, or with `event` alone.
    classes : tuple
        The label of each column.
    weights : (n,) floats, optional
        Importance weights; None means equal weights.
    variables : mapping of str to Variable
        What else is known of each row.
    given : tuple
        Names of what is conditioned on. ``...`` is the prediction itself: the event column (the last one) when
        there are two classes, all columns otherwise. An integer names a single probability column.
    source : str
        Which class each column was taken for when the sample was made; printed in every result.
    seen : str
        The lens through which the rows had already been seen when the user passed them, if any.
    counts : (n,) floats, optional
        How many rows of equal weight each row stands for, where rows were pooled; `weights` are then of all of them.
    powers : (n, 3) floats, optional
        Where these rows have different chances of the event, of which the row has the mean: the sums of the second,
        third and fourth powers of their distances to it.
    buckets : (n, 2) floats, optional
        Where each row is a bucket of rows that may differ, and of whose predictions the mean alone is known: the two
        numbers between which they lie.
    groups : Groups, optional
        Which rows belong together and may depend on each other; None where all rows are independent.
    identifier : str
        What a column of the file or frame that was left out says of clusters, if there is one.
    """

    rows: Array
    classes: tuple[Hashable, ...]
    weights: Floats | None = None
    variables: Mapping[str, Variable] = field(default_factory=dict)
    given: GivenNames = (...,)
    source: str = ""
    seen: str = ""
    counts: Floats | None = None
    powers: Floats | None = None
    buckets: Floats | None = None
    groups: Groups | None = None
    identifier: str = ""

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def probabilities(self) -> Floats:
        """(n, K) the rows in double precision, read-only; single precision is converted once, exactly."""
        rows = two_columns(self.rows)
        return locked(rows.view() if rows.dtype != np.float32 else rows.astype(np.float64))

    @property
    def n_rows(self) -> int:
        """How many rows these are, or stand for."""
        return len(self) if self.counts is None else int(self.counts.sum())

    @cached_property
    def unweighted(self) -> bool:
        """Whether rows, or those that each stands for, have equal weights."""
        return self.weights is None or (self.counts is not None and np.array_equal(self.weights, self.counts))

    @property
    def importance(self) -> Floats | None:
        """The weights, unless rows, or those that each stands for, have equal ones."""
        return None if self.unweighted else self.weights

    @property
    def clusters(self) -> ClusterCount | None:
        """How many clusters there are, and how many of equal weight would be as good; None of independent rows."""
        return None if self.groups is None else self.groups.counted(self.weights)

    @cached_property
    def effective_rows(self) -> float:
        """How many equally weighted rows would be as good (Kish 1965); the number of rows without weights."""
        weights = self.importance
        if weights is None:
            return float(self.n_rows)
        return float(effective_number(weights.sum(), (weights**2 / self.multiplicity).sum()))

    @cached_property
    def largest_share(self) -> float:
        """The largest share of one row in the total weight; 0 without weight."""
        weights = self.importance
        if weights is None:
            return 1 / max(1, self.n_rows)
        return float((weights / self.multiplicity).max(initial=0) / (weights.sum() or 1))

    @property
    def squared_weights(self) -> Floats | float:
        """The sum of the squared weights of the rows that each row is or stands for: (n,), or one."""
        return 1.0 if self.weights is None else self.weights**2 / self.multiplicity

    @property
    def label_variance(self) -> Floats:
        """(n,) the mean variance p (1 - p) of the event of the rows that each row is or stands for."""
        spread = self.chances.prod(axis=1)
        if self.powers is None or self.counts is None:
            return spread
        return np.maximum(spread - self.powers[:, 0] / self.counts, 0.0)

    @property
    def n_classes(self) -> int:
        """Number of classes K."""
        return len(self.classes)

    @property
    def event(self) -> Floats:
        """(n,) probability of the last class, "it happened" when there are two."""
        return self.chance(self.n_classes - 1)

    def chance(self, position: int) -> Floats:
        """Return the probability of one class (n,), in double precision, read-only."""
        if self.rows.ndim == 1:
            column = self.rows.view() if position == 1 else self.probabilities[:, 0]
        else:
            column = np.asarray(self.rows[:, position], dtype=np.float64)
        column.setflags(write=False)
        return column

    @cached_property
    def top(self) -> Top:
        """The most probable class of each row."""
        return top_of(two_columns(self.rows))

    @property
    def sure(self) -> Bools:
        """(n,) whether the prediction leaves no chance to one of two classes: 1 beside 1e-94 leaves some."""
        if self.rows.ndim == 1:
            return np.asarray((self.rows <= 0) | (self.rows >= 1))
        return np.asarray((self.rows <= 0).any(axis=1))

    @property
    def components(self) -> Floats:
        """(n, c) the columns on which errors are measured: the event for two classes, otherwise all of them."""
        return self.event[:, None] if self.n_classes == 2 else self.probabilities

    def happened(self, outcomes: Array) -> Floats:
        """Return 0 or 1 for each of the components, whether it is what happened: (n, c)."""
        if self.n_classes == 2:
            return outcomes[..., None].astype(float)
        return np.eye(self.n_classes)[outcomes]

    @cached_property
    def chances(self) -> Floats:
        """(n, K) probabilities from which calibrated labels are drawn: the rows clipped to [0, 1] and normalised."""
        if self.n_classes == 2 and self.is_exact_law:
            return self.probabilities
        clipped = np.clip(self.probabilities, 0.0, 1.0)
        if self.n_classes == 2:  # many times faster than a sum along so short an axis
            clipped /= (clipped[:, 0] + clipped[:, 1])[:, None]
        else:
            clipped /= clipped.sum(axis=1, keepdims=True)
        return clipped

    @cached_property
    def is_law(self) -> bool:
        """Whether the rows equal `chances` up to 1e-9: they are nonnegative and sum to one."""
        return self._sums_to_one(SAME)

    @cached_property
    def is_exact_law(self) -> bool:
        """Whether the rows equal `chances` to the last digit, as those of two classes made from one column do."""
        return self._sums_to_one(0.0)

    @property
    def event_chance(self) -> Floats:
        """(n,) the chance of the event from which labels of a calibrated model of two classes are drawn."""
        return self.event if self.is_exact_law else np.ascontiguousarray(self.chances[:, -1])

    def _sums_to_one(self, slack: float) -> bool:
        if self.rows.ndim == 1 and self.rows.dtype == np.float64:  # 1 - p and p add up to one to the last digit
            return not len(self) or bool(self.rows.min() >= 0 and self.rows.max() <= 1)
        for start in range(0, len(self), ROWS_IN_CACHE):
            rows = two_columns(self.rows[start : start + ROWS_IN_CACHE]).astype(np.float64, copy=False)
            sums = rows[:, 0] + rows[:, 1] if self.n_classes == 2 else rows.sum(axis=1)
            if rows.min() < 0 or sums.min() < 1 - slack or sums.max() > 1 + slack:
                return False
        return True

    @cached_property
    def keys(self) -> GivenNames:
        """One key for each conditioned column, with ``...`` written out as column numbers."""
        induced: GivenNames = (1,) if self.n_classes == 2 else tuple(range(self.n_classes))
        if self.given == (...,):
            return induced
        return tuple(key for name in self.given for key in (induced if name is ... else (name,)))

    @property
    def condition(self) -> str:
        """What is conditioned on, for messages: "the prediction", or the names of variables."""
        return " and ".join(map(self._in_words, self.given))

    def _in_words(self, name: str | int | EllipsisType) -> str:
        if isinstance(name, int):
            return f"the probability of {self.classes[name]!r}"
        return "the prediction" if name is ... else repr(name)

    def column(self, key: str | int | EllipsisType) -> Variable:
        """Return the conditioned column of that key: a variable, or the probabilities of one class."""
        if isinstance(key, str):
            return self.variables[key]
        return Variable(self.chance(self.n_classes - 1 if key is ... else key))

    @cached_property
    def conditioned(self) -> Floats:
        """(n, d) the conditioned columns, side by side."""
        columns = [self.column(key).values for key in self.keys]
        return columns[0][:, None] if len(columns) == 1 else np.column_stack(columns)

    @cached_property
    def order(self) -> Ints:
        """(n,) the rows in increasing order of the one conditioned column."""
        return increasing_order(np.ascontiguousarray(self.conditioned[:, 0]))

    @property
    def multiplicity(self) -> Floats | float:
        """How many rows each of them stands for: `counts`, (n,), or one."""
        return 1.0 if self.counts is None else self.counts

    @cached_property
    def increasing(self) -> Floats:
        """(n,) the one conditioned column in that order, read-only."""
        return locked(np.ascontiguousarray(self.conditioned[:, 0])[self.order])

    def conditioning_on(self, given: GivenNames) -> Predictions:
        """Return the same predictions, conditioned on other columns."""
        return self if given == self.given else replace(self, given=given)

    def take(self, rows: Array) -> Predictions:
        """Return the predictions at `rows` (indices, or a mask of length n)."""
        return replace(
            self,
            rows=self.rows[rows],
            weights=None if self.weights is None else self.weights[rows],
            counts=None if self.counts is None else self.counts[rows],
            powers=None if self.powers is None else self.powers[rows],
            buckets=None if self.buckets is None else self.buckets[rows],
            groups=None if self.groups is None else self.groups.take(rows),
            identifier="",
            variables={name: variable.take(rows) for name, variable in self.variables.items()},
        )
