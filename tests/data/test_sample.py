"""A sample holds what was examined, and is taken apart consistently."""

from __future__ import annotations

import pickle
import pydoc

import numpy as np
import pytest

import calibstat as cs
from calibstat.data.sample import Sample
from registry import LENSES, every, make_sample

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


def single_and_double(n_classes=4, order="C"):
    """A sample of rows in single precision, and one of the same numbers in double precision."""
    known = make_sample(n_classes, weighted=True)
    rows = known.y_prob.copy()
    rows[:10] = np.round(4 * rows[:10]) / 4 + 1 / 3  # ties, that double precision must not part
    rows = np.asarray(rows / rows.sum(axis=1, keepdims=True), dtype=np.float32, order=order)
    arguments = {
        "labels": known.labels,
        "variables": {name: each.values for name, each in known.predictions.variables.items()},
        "sample_weight": known.predictions.weights,
    }
    return Sample(known.y_true, rows, **arguments), Sample(known.y_true, rows.astype(np.float64), **arguments)


def test_one_column_of_two_classes_is_kept_until_both_are_needed():
    p = np.linspace(0.1, 0.9, 5)
    predictions = Sample([0, 1, 0, 1, 1], p).predictions
    assert predictions.rows.shape == predictions.take(np.arange(5)).rows.shape == (5,)
    assert predictions.rows.nbytes == p.nbytes
    np.testing.assert_array_equal(predictions.event, p)
    np.testing.assert_array_equal(predictions.chance(0), 1 - p)
    np.testing.assert_array_equal(predictions.probabilities, np.column_stack([1 - p, p]))
    for shown in (predictions.event, predictions.probabilities, predictions.components, predictions.chance(0)):
        assert not shown.flags.writeable


def kept_in(sample):
    return sample.predictions.rows.dtype


def assert_the_same(found, expected):
    for one, other in (
        (found.predictions.probabilities, expected.predictions.probabilities),
        (found.predictions.conditioned, expected.predictions.conditioned),
        (found.predictions.chances, expected.predictions.chances),
        (found.outcomes, expected.outcomes),
    ):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


@every(LENSES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_every_lens_sees_single_precision_as_double_bit_for_bit(entry, order):
    for n_classes in sorted({3, 4} & set(entry.classes)):
        single, double = single_and_double(n_classes=n_classes, order=order)
        assert (kept_in(single), kept_in(double)) == (np.float32, np.float64)
        assert_the_same(entry.thing(single), entry.thing(double))


def test_single_precision_is_kept_until_all_probabilities_are_asked_for():
    single, double = single_and_double()
    for lens in (cs.TopLabel(), cs.ClassWise("d"), cs.TopLabel() | cs.Given("age")):
        assert (lens | cs.ECE(cs.EqualMass(5)))(single) == (lens | cs.ECE(cs.EqualMass(5)))(double)
    test = cs.TopLabel() | cs.ECE(cs.EqualMass(5))
    assert cs.calibration_test(single, test, rng=0).pvalue == cs.calibration_test(double, test, rng=0).pvalue
    parts = [single, single.take(np.arange(7)), single.take(single.outcomes == 1), pickle.loads(pickle.dumps(single))]
    assert repr(single) == repr(double)
    assert len(single) == len(single.predictions) == len(double)
    assert {kept_in(part) for part in parts} == {np.dtype(np.float32)}
    assert_the_same(parts[1], double.take(np.arange(7)))
    assert_the_same(parts[2], double.take(double.outcomes == 1))
    assert_the_same(parts[3], double)
    assert kept_in(single) == np.float32
    probabilities = single.y_prob
    assert probabilities.dtype == np.float64
    assert not probabilities.flags.writeable
    assert single.y_prob is probabilities  # converted only once
    assert_the_same(single, double)


def test_two_classes_and_other_precisions_are_double_from_the_start():
    rows = np.array([[0.25, 0.75], [0.5, 0.5]])
    assert kept_in(Sample([0, 1], rows.astype(np.float32))) == np.float64
    assert kept_in(Sample([0, 1], rows[:, 1].astype(np.float32))) == np.float64
    for kind in (np.float16, ">f4", object):
        assert kept_in(Sample([0, 1, 2, 2], np.full((4, 4), 0.25).astype(kind), labels=range(4))) == np.float64


def test_sums_of_single_precision_are_had_in_double():
    """In single precision the first sum would be rounded to 1.00010002, which is too much."""
    rows = np.array([[0.5, 0.25, 0.25 + 3355 * 2.0**-25]], dtype=np.float32)
    assert kept_in(Sample([0], rows, labels=range(3))) == np.float32
    rows[0, 2] += np.float32(2.0**-25)
    with pytest.raises(ValueError, match=r"do not sum to 1.* sums to 1\.0001"):
        Sample([0], rows, labels=range(3))


def test_predictions_need_rows_and_describe_themselves():
    with pytest.raises(TypeError, match="rows"):
        cs.Predictions()
    assert "class Predictions" in pydoc.render_doc(cs.Predictions)


def test_rows_in_effect_and_the_largest_share():
    weights = [3.0, 1.0, 0.0, 1.0]
    weighted = Sample([0, 1, 0, 1], [0.2, 0.7, 0.1, 0.9], sample_weight=weights).predictions
    assert weighted.effective_rows == pytest.approx(25 / 11)
    assert weighted.largest_share == pytest.approx(0.6)
    plain = Sample(Y, P).predictions
    assert (plain.effective_rows, plain.largest_share) == (3, pytest.approx(1 / 3))
    nothing = weighted.take(np.array([2]))
    assert (nothing.effective_rows, nothing.largest_share) == (0, 0)


def test_prevalence_moves_odds_by_the_ratio_of_shares():
    """Two of five rows are events, where the population has one in ten: odds are times (2/3) / (1/9) = 6."""
    p = np.array([0.25, 0.5, 0.1, 0.0, 1.0])
    given = p.copy()
    moved = Sample([0, 1, 0, 0, 1], p, prevalence=0.1, labels=[0, 1]).predictions
    np.testing.assert_allclose(moved.event, [2 / 3, 6 / 7, 0.4, 0, 1])
    np.testing.assert_allclose(moved.probabilities.sum(axis=1), 1)
    np.testing.assert_array_equal(p, given)
    assert "moved from the prevalence 0.1 to that of these rows, 0.4" in moved.source
    same = Sample([0, 1, 0, 0, 1], p, prevalence=[0.6, 0.4], labels=[0, 1]).predictions
    np.testing.assert_allclose(same.event, p)
    three = Sample(["a", "b", "b", "c"], np.full((4, 3), 1 / 3), prevalence=[0.5, 0.25, 0.25])
    np.testing.assert_allclose(three.y_prob, [[0.5 / 3.5, 2 / 3.5, 1 / 3.5]] * 4)
    weighted = Sample([0, 1, 0], [0.5] * 3, prevalence=0.5, sample_weight=[1, 3, 2], labels=[0, 1])
    np.testing.assert_allclose(weighted.predictions.event, 0.5)


@pytest.mark.parametrize(
    ("prevalence", "match"),
    [
        (0.0, "above 0, below 1"),
        (1.5, "above 0, below 1"),
        ([0.3, 0.3], "add up to 1"),
        ([0.1, 0.2, 0.7], "there are 2 classes, no, yes"),
        ("much", "prevalence is 'much'"),
        (np.nan, "above 0, below 1"),
    ],
)
def test_what_is_no_prevalence_is_refused(prevalence, match):
    with pytest.raises((TypeError, ValueError), match=match):
        Sample(Y, P, prevalence=prevalence)


def test_prevalence_needs_rows_of_every_class():
    with pytest.raises(ValueError, match="none has the label 1"):
        Sample([0, 0], [0.5, 0.5], prevalence=0.1, labels=[0, 1])
    with pytest.raises(ValueError, match="there are 3 classes, 0, 1, 2"):
        Sample([0, 1, 2], np.full((3, 3), 1 / 3), prevalence=0.1)


@pytest.mark.parametrize(
    "verb",
    [
        lambda s: cs.calibration_test(s, cs.ECE()),
        lambda s: cs.estimate(s, cs.ECE()),
        lambda s: cs.omnibus_test(s),
        lambda s: cs.comparison_test(s, s, cs.BrierScore()),
        lambda s: cs.calibration_band(s),
        lambda s: cs.subgroup_audit(s, by=["v"]),
        lambda s: cs.scan_variables(s),
    ],
)
def test_weights_that_depend_on_the_label_are_refused(verb):
    rng = np.random.default_rng(0)
    y = np.r_[np.ones(50), np.zeros(450)].astype(int)
    balanced = Sample(y, rng.random(500), sample_weight=np.where(y == 1, 9.0, 1.0), variables={"v": rng.random(500)})
    with pytest.raises(ValueError, match=r"depends on the label alone \(1 for 0, 9 for 1\).*prevalence="):
        verb(balanced)


def test_weights_that_are_like_labels_by_accident_are_not_refused():
    few = Sample([0, 0, 0, 1, 1], [0.1, 0.4, 0.3, 0.8, 0.9], sample_weight=[1, 1, 1, 2, 2], labels=[0, 1])
    cs.calibration_test(few, cs.Kuiper(), rng=0)
    y = np.arange(500) % 2
    almost = Sample(y, np.full(500, 0.5), sample_weight=np.where((y == 1) ^ (np.arange(500) == 7), 2.0, 1.0))
    cs.calibration_test(almost, cs.Kuiper(), rng=0)


def test_names_of_columns_that_spell_no_labels_are_told():
    frame = {"y": ["ill", "healthy"], "a": [0.3, 0.6], "b": [0.7, 0.4]}
    asked = {"y_true": "y", "y_prob": ["a", "b"]}
    with pytest.warns(UserWarning, match=r"2 columns a, b .*spell no labels.*pass labels=\['healthy', 'ill'\]"):
        assert cs.Sample.from_frame(frame, **asked).labels == ("healthy", "ill")
    for quiet in ({"labels": ["ill", "healthy"]}, {"y_prob": "b"}):
        assert len(cs.Sample.from_frame(frame, **asked | quiet)) == 2  # a warning is an error


def test_variables_are_given_back_as_numbers_or_texts():
    sample = cs.Sample([0, 1, 1], [0.2, 0.3, 0.4], variables={"sex": ["f", "m", "f"], "age": [1, 2, 3]})
    assert {name: values.tolist() for name, values in sample.variables.items()} == {
        "sex": ["f", "m", "f"],
        "age": [1.0, 2.0, 3.0],
    }
    assert cs.Sample([0, 1], [0.2, 0.3]).variables == {}
