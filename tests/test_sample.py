"""A sample holds what was examined, and is taken apart consistently."""

from __future__ import annotations

import numpy as np
import pytest

from calibstat.sample import Sample

Y = ["no", "yes", "yes"]
P = [0.25, 0.5, 0.75]


def test_parts():
    sample = Sample(Y, P)
    assert len(sample) == len(sample.predictions) == 3
    assert sample.labels == ("no", "yes")
    assert sample.y_true.tolist() == Y
    np.testing.assert_array_equal(sample.y_prob, [[0.75, 0.25], [0.5, 0.5], [0.25, 0.75]])
    assert sample.outcomes.tolist() == [0, 1, 1]
    assert sample.predictions.event.tolist() == P
    assert sample.predictions.weights is None
    assert sample.predictions.seen == ""
    assert sample.predictions.source == "y_prob taken for P(label = yes); classes no, yes (sorted labels)"


@pytest.mark.parametrize(
    ("sample", "text"),
    [
        (Sample(Y, P), "Sample(n=3, classes=('no', 'yes'))"),
        (
            Sample(Y, P, variables={"age": [1, 2, 3]}, sample_weight=[1, 2, 3]),
            "Sample(n=3, classes=('no', 'yes'), variables=('age',), weighted)",
        ),
        (Sample([0], [[0.1] * 10]), "Sample(n=1, classes=(0, 1, 2, 3, 4, 5, 6, 7, 8, 9))"),
        (Sample([0], [[0.05] * 20]), "Sample(n=1, classes=(0, 1, 2, ..., 19), n_classes=20)"),
        (Sample.from_confidence([1, 0], [0.5, 0.5]), "Sample(n=2, classes=(False, True), seen through the top label)"),
    ],
)
def test_repr(sample, text):
    assert repr(sample) == text


def test_labels_and_missing_rows_are_passed_on():
    sample = Sample([1, None, 0], P, labels=[1, 0], nan_policy="omit")
    assert sample.labels == (1, 0)
    assert sample.outcomes.tolist() == [0, 1]
    assert "1 of 3 rows omitted" in sample.predictions.source


def test_take():
    sample = Sample(Y, P, variables={"age": [1, 2, 3]}, sample_weight=[1, 2, 3])
    for rows in (np.array([2, 0]), np.array([True, False, True])):
        part = sample.take(rows)
        assert part.y_true.tolist() == np.array(Y)[rows].tolist()
        assert part.predictions.event.tolist() == np.array(P)[rows].tolist()
        assert part.predictions.weights.tolist() == np.array([1, 2, 3])[rows].tolist()
        assert part.predictions.variables["age"].values.tolist() == np.array([1, 2, 3])[rows].tolist()
        assert part.labels == sample.labels


def test_of_puts_together():
    sample = Sample(Y, P)
    other = Sample.of(sample.predictions, np.array([1, 0, 0]))
    assert other.predictions is sample.predictions
    assert other.y_true.tolist() == ["yes", "no", "no"]


def test_frozen():
    sample = Sample(Y, P)
    with pytest.raises(AttributeError):
        sample.outcomes = np.zeros(3)
    for array in (sample.outcomes, sample.y_prob):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_estimators_give_variables_and_weights():
    class Model:
        classes_ = np.array(["yes", "no"])

        def predict_proba(self, rows):
            return np.column_stack([rows, 1 - rows])

    sample = Sample.from_estimator(Model(), np.array(P), Y, variables={"age": [1, 2, 3]}, sample_weight=[1, 2, 3])
    assert sample.labels == ("yes", "no")
    assert sample.outcomes.tolist() == [1, 0, 0]
    assert sample.predictions.weights.tolist() == [1, 2, 3]
    assert list(sample.predictions.variables) == ["age"]
