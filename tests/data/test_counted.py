"""Rows that stand for several: counts of outcomes are the rows written out, for every lens, estimator and verb."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

import calibstat as cs
from calibstat.data import counted
from calibstat.estimators.base import all_weights
from registered.entries import LABELS
from registry import LENSES, every

NAMES = ["n_dog", "n_emu", "n_cat"]
FRAME = pd.DataFrame(
    {
        "p_cat": [0.2, 0.3],
        "p_dog": [0.3, 0.3],
        "p_emu": [0.5, 0.4],
        "n_dog": [3, 4],
        "n_emu": [5, 6],
        "n_cat": [7, 0],
        "weight": [1.0, 2.0],
        "age": [30, 40],
    }
)


def counted_and_single(n_classes, m=23, weighted=False):
    """The same sample twice: counted, and written out by hand."""
    rng = np.random.default_rng(3)
    prob = rng.dirichlet(np.ones(n_classes), m)
    counts = np.array([rng.multinomial(n, p) for n, p in zip(rng.integers(0, 9, m), prob, strict=True)])
    variables = {"age": rng.integers(1, 8, m).astype(float), "sex": rng.choice(["f", "m"], m)}
    weight = rng.choice([0.5, 1, 2], m) if weighted else None
    labels = LABELS[:n_classes]
    together = cs.Sample.from_counts(prob, counts, variables=variables, sample_weight=weight, labels=labels)
    y_true, rows = [], []
    for row in range(m):
        for code in range(n_classes):
            for _ in range(counts[row, code]):
                y_true.append(labels[code])
                rows.append(row)
    single = cs.Sample(
        y_true,
        prob[rows],
        variables={name: values[rows] for name, values in variables.items()},
        sample_weight=None if weight is None else weight[rows],
        labels=labels,
    )
    return together, single


def assert_same(first, second):
    np.testing.assert_array_equal(first.outcomes, second.outcomes)
    np.testing.assert_array_equal(first.y_prob, second.y_prob)
    assert first.labels == second.labels
    np.testing.assert_array_equal(all_weights(first.predictions, None), all_weights(second.predictions, None))
    assert first.predictions.given == second.predictions.given
    for name, values in first.predictions.variables.items():
        np.testing.assert_array_equal(values.values, second.predictions.variables[name].values)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_counts_are_the_rows_written_out(n_classes, weighted):
    together, single = counted_and_single(n_classes, weighted=weighted)
    assert len(together) == len(single)
    assert_same(together, single)
    assert_same(together.take(np.arange(5)), single.take(np.arange(5)))
    for one in (copy.deepcopy(together), pickle.loads(pickle.dumps(together))):
        assert repr(one) == repr(together)
        assert_same(one, single)


@every(LENSES)
def test_a_lens_shows_counts_as_it_shows_rows(entry):
    for n_classes in entry.classes:
        together, single = counted_and_single(n_classes)
        seen, rows = entry.thing(together), entry.thing(single)
        assert isinstance(seen, counted.CountedSample)
        assert len(seen) == len(rows)
        assert_same(in_order(seen), in_order(rows))


def in_order(sample):
    """The rows in the order of everything that is known of them."""
    columns = [sample.outcomes, *sample.y_prob.T, *(each.values for each in sample.predictions.variables.values())]
    return sample.take(np.lexsort(columns))


def test_the_rows_of_a_result_are_those_that_are_counted():
    together, single = counted_and_single(2, m=60)
    for ask in (cs.calibration_test, cs.omnibus_test, cs.clinical_summary):
        assert ask(together, rng=0).to_dict() == ask(single, rng=0).to_dict()


def test_events_and_trials_are_counts_of_two_classes():
    by_events = cs.Sample.from_counts([0.2, 0.7], events=[1, 3], trials=[4, 5], labels=["no", "yes"])
    assert_same(by_events, cs.Sample.from_counts([0.2, 0.7], [[3, 1], [2, 3]], labels=["no", "yes"]))
    assert cs.Sample.from_counts([0.2], events=[1], trials=[4]).labels == (False, True)
    assert cs.Sample.from_counts([0.2], [[3, 1]]).labels == (0, 1)


def test_names_of_columns_say_which_class_is_counted(tmp_path):
    columns = {"y_prob": "p_*", "counts": "n_*", "variables": "age", "sample_weight": "weight"}
    found = cs.Sample.from_frame(FRAME, **columns)
    assert found.labels == ("cat", "dog", "emu")
    assert found.counts.tolist() == [[7, 3, 5], [0, 4, 6]]
    assert_same(
        found,
        cs.Sample.from_counts(
            FRAME.filter(like="p_"), FRAME[NAMES], variables=FRAME[["age"]], sample_weight=FRAME["weight"]
        ),
    )
    FRAME.to_csv(tmp_path / "counts.csv", index=False)
    assert_same(found, cs.Sample.read(tmp_path / "counts.csv", **columns))
    two = cs.Sample.from_frame(FRAME, y_prob="p_dog", events="n_dog", trials="n_emu")
    assert two.counts.tolist() == [[2, 3], [2, 4]]


def test_a_prediction_that_stands_for_no_row_is_left_out():
    found = cs.Sample.from_counts([0.1, 0.5, 0.9], [[0, 0], [1, 2], [0, 0]], variables={"age": [1, 2, 3]})
    assert found.y_prob[:, 1].tolist() == [0.5] * 3
    assert found.predictions.variables["age"].values.tolist() == [2.0] * 3


def test_missing_counts_are_refused_or_left_out():
    given = ([0.1, 0.2], [[3, 4], [0, np.nan]])
    with pytest.raises(ValueError, match=r"values are missing \(counts: 1\), first in row 1 of counts"):
        cs.Sample.from_counts(*given)
    found = cs.Sample.from_counts(*given, nan_policy="omit")
    assert len(found) == 7
    assert "1 of 2 rows omitted (missing in counts: 1)" in found.predictions.source


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "pass how often each class followed, counts="),
        ({"events": [1, 2]}, "pass how often each class followed, counts="),
        ({"counts": [[1, 2], [1, 2]], "events": [1, 2], "trials": [3, 4]}, "pass how often each class followed"),
        ({"counts": [3, 4]}, r"counts has shape \(2,\), but \(m, K\) is expected"),
        (
            {"counts": [[1, 2], [1.5, 2]]},
            "counts is 1.5 in row 1 .*, column 0, but a whole number of rows",
        ),
        ({"counts": [[1, 2], [-1, 2]]}, "counts is -1 in row 1 .*, column 0"),
        ({"counts": [[1, 2], [np.inf, 2]]}, "counts is inf in row 1 .*, column 0"),
        ({"counts": [[0, 0], [0, 0]]}, "counts adds up to 0 rows: at least 1"),
        ({"counts": [[1, 2, 3], [1, 2, 3]]}, "counts has 3 columns, but y_prob is for 2 classes"),
        ({"counts": [["a", "b"], ["a", "b"]]}, "counts holds text"),
        ({"counts": [[1, 2]]}, "counts has 1 row and y_prob has 2"),
        ({"events": [3, -1], "trials": [4, 2]}, "events is -1 in row 1 .*a whole number of rows, 0 or more"),
        ({"events": [3, 0.5], "trials": [4, 2]}, "events is 0.5 in row 1 "),
        ({"events": [3, 0], "trials": [4, 2.5]}, "trials is 2.5 in row 1 "),
        ({"events": [3, 4], "trials": [4, 2]}, "events is 4 in row 1 .*more than its 2 trials"),
        ({"events": [3], "trials": [4, 2]}, "events has 1 row and trials has 2"),
        ({"counts": [[1, 2], [1, 2]], "variables": {"age": [1]}}, "variable 'age' has 1 row, but counts and y_prob"),
        ({"counts": [[1, 2], [1, 2]], "labels": ["a"]}, r"labels=\['a'\] names 1 class"),
    ],
)
def test_counts_that_cannot_be_meant_are_refused(arguments, said):
    with pytest.raises((ValueError, TypeError), match=said):
        cs.Sample.from_counts([0.1, 0.2], **arguments)


def test_several_faults_are_told_at_once():
    with pytest.raises(ValueError, match=r"outside \[0, 1\].*Also: counts is 0.5 in row"):
        cs.Sample.from_counts([0.1, 20], [[0.5, 1], [1, 2]])


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({}, "what happened is in the columns of none, but y_true= is expected"),
        ({"events": "n_dog"}, "what happened is in the columns of events=, but"),
        ({"y_true": "age", "counts": "n_*"}, "in the columns of counts= and y_true=, but"),
        ({"counts": ["n_dog", "p_cat"]}, "the column 'p_cat' of the frame is asked for as counts and as y_prob"),
        ({"counts": ["n_dog", "n_fox"]}, "no column 'n_fox' in the frame"),
        ({"counts": "n_*", "prevalence": [0.2, 0.3, 0.5]}, "prevalence= is for single rows"),
    ],
)
def test_columns_of_a_frame_that_do_not_fit_are_refused(columns, said):
    with pytest.raises((ValueError, TypeError), match=said):
        cs.Sample.from_frame(FRAME, y_prob=["p_cat", "p_dog", "p_emu"], **columns)


def test_classes_in_the_wrong_order_give_a_warning():
    prob = np.linspace(0.05, 0.95, 19)
    with pytest.warns(UserWarning, match=r"P\(label = False\) fits far better"):
        cs.Sample.from_counts(prob, events=(1000 * (1 - prob)).astype(int), trials=[1000] * 19)


def test_too_many_rows_are_not_written_out():
    many = cs.Sample.from_counts([0.2, 0.7], events=[2 * 10**9, 7 * 10**9], trials=[10**10] * 2)
    assert len(many) == 2 * 10**10
    assert repr(many) == "Sample(n=20000000000, classes=(False, True), counted for 2 predictions)"
    with pytest.raises(
        ValueError, match=r"the sample counts 20,000,000,000 rows, .* at most 100,000,000 are written out"
    ):
        cs.KendallTau()(many)
