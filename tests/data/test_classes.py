"""Which class each column belongs to, and how that is said."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import calibstat as cs
from calibstat.data.checks import examine


def rows(k, n):
    return np.full((n, k), 1 / k)


def classes(y_true, k, columns=None, labels=None):
    prob = np.full(len(y_true), 0.5) if k == 1 else rows(k, len(y_true))
    found = examine(y_true, prob, columns=columns, labels=labels)
    # Whatever the order, each row's outcome is the column of its own label.
    assert [found.classes[column] for column in found.outcomes] == list(y_true)
    return found.classes, found.source


@pytest.mark.parametrize(
    ("y_true", "k", "labels", "expected"),
    [
        (["b", "a"], 2, ["b", "a"], ("b", "a")),
        ([3, 5], 3, np.array([5, 4, 3]), (5, 4, 3)),
        ([0, 1], 2, [1.0, 0.0], (1, 0)),
        ([0, 1], 1, (False, True), (False, True)),
        ([True, False], 1, [True, False], (True, False)),
        (["b"], 1, pd.Index(["b", "a"]), ("b", "a")),
        ([0, 2], 3, [2, 1, 0], (2, 1, 0)),
    ],
)
def test_as_told(y_true, k, labels, expected):
    found, source = classes(y_true, k, labels=labels, columns=None)
    assert found == expected
    assert [type(label) for label in found] == [type(label) for label in expected]
    assert "labels=" in source


def test_labels_come_before_names():
    assert classes(["a", "b"], 2, columns=["b", "a"], labels=["a", "b"])[0] == ("a", "b")


@pytest.mark.parametrize(
    ("labels", "words", "error"),
    [
        (["a", "b", "c"], "names 3 classes, but y_prob is for 2", ValueError),
        (["a", "a"], "'a' more than once", ValueError),
        (["a", "c"], r"y_true holds 'b'.*labels=\['a', 'c'\]", ValueError),
        (["a", 1], "mixes types", ValueError),
        ([0.5, 1.5], "holds 0.5", TypeError),
        ([None, "a"], "holds None", TypeError),
        ({"a", "b"}, "a list is expected", TypeError),
        ("ab", "a list is expected", TypeError),
        (2, "a list is expected", TypeError),
    ],
)
def test_told_wrongly(labels, words, error):
    with pytest.raises(error, match=words):
        classes(["a", "b"], 2, labels=labels)


def test_told_in_another_type():
    with pytest.raises(ValueError, match=r"y_true holds int, labels= str"):
        classes([0, 1], 2, labels=["0", "1"])


@pytest.mark.parametrize(
    ("y_true", "columns", "expected"),
    [
        (["cat", "dog"], ["prob_dog", "prob_cat"], ("dog", "cat")),
        (["cat", "dog"], ["dog", "cat"], ("dog", "cat")),
        ([0, 1], ["prob_1", "prob_0"], (1, 0)),
        ([10, 11], ["p10", "p11"], (10, 11)),
        ([1, 3], ["p_3", "p_2", "p_1"], (3, 2, 1)),
        (["a"], ["b", "a", "c"], ("b", "a", "c")),
        (["ab", "ac"], ["ac", "ab"], ("ac", "ab")),
        ([-1, 1], ["p_1", "p_-1"], (1, -1)),
        ([True, False], ["p_True", "p_False"], (True, False)),
        ([True, False], ["true", "false"], (True, False)),
        ([True], ["p_1", "p_0"], (True, False)),
        ([5, 6], [6, 5], (6, 5)),
        ([5, 6], [6.0, 5.0], (6, 5)),
    ],
)
def test_names(y_true, columns, expected):
    found, source = classes(y_true, len(columns), columns=columns)
    assert found == expected
    assert [type(label) for label in found] == [type(label) for label in expected]
    assert source.endswith("(column names)")


def test_shortest_prefix_first():
    # Without their first character these would spell 1 and 11, or "a" and "ca".
    assert classes([11], 2, columns=["11", "111"])[0] == (11, 111)
    assert classes(["ca"], 2, columns=["ca", "cca"])[0] == ("ca", "cca")


@pytest.mark.parametrize(
    ("y_true", "columns", "expected", "reason"),
    [
        ([0, 1, 2], ["one", "two", "three"], (0, 1, 2), "by position"),
        ([0, 1, 2], ["0", "1", "other"], (0, 1, 2), "by position"),
        ([0, 1], ["0", "0"], (0, 1), "by position"),
        (["a", "b"], ["first", "second"], ("a", "b"), "sorted labels"),
        ([1, 2], ["first", "second"], (1, 2), "sorted labels"),
    ],
)
def test_names_that_say_nothing(y_true, columns, expected, reason):
    found, source = classes(y_true, len(columns), columns=columns)
    assert found == expected
    assert reason in source


@pytest.mark.parametrize(
    ("y_true", "name", "expected"),
    [
        ([0, 1], "prob_1", (0, 1)),
        ([0, 1], "prob_0", (1, 0)),
        ([1], "p.0", (1, 0)),
        ([True, False], "p(False", (True, False)),
        ([True, False], "prob_0", (True, False)),
        (["cat", "dog"], "p cat", ("dog", "cat")),
        (["cat", "dog"], "cat", ("dog", "cat")),
        (["spam", "not_spam"], "p_not_spam", ("spam", "not_spam")),
        ([-1, 1], "p_-1", (1, -1)),
        ([1, 2], "p_1", (2, 1)),
    ],
)
def test_name_of_the_only_column(y_true, name, expected):
    found, source = classes(y_true, 1, columns=[name])
    assert found == expected
    assert f"column {name} taken for P(label = {expected[-1]})" in source
    assert "(column name)" in source


@pytest.mark.parametrize("name", ["score", "prob1", "bobcat", "p_", "cat_p", "p_2"])
def test_only_column_with_another_name(name):
    assert classes([0, 1], 1, columns=[name])[0] == (0, 1)
    assert classes(["cat", "dog"], 1, columns=[name])[0] == ("cat", "dog")


@pytest.mark.parametrize(
    ("y_true", "k", "expected", "reason"),
    [
        ([0, 1], 2, (0, 1), "by position"),
        ([0], 1, (0, 1), "by position"),
        ([2, 0], 4, (0, 1, 2, 3), "by position"),
        ([True], 1, (False, True), "by position"),
        ([1.0, 0.0], 1, (0, 1), "by position"),
        (["no", "yes"], 1, ("no", "yes"), "sorted labels"),
        ([3, 1, 2], 3, (1, 2, 3), "sorted labels"),
        ([-1, 1], 1, (-1, 1), "sorted labels"),
        ([0, 10**9], 1, (0, 10**9), "sorted labels"),
    ],
)
def test_without_names(y_true, k, expected, reason):
    found, source = classes(y_true, k)
    assert found == expected
    assert [type(label) for label in found] == [type(label) for label in expected]
    assert reason in source


@pytest.mark.parametrize(
    ("y_true", "k", "columns", "words"),
    [
        (["a"], 1, None, r"one dimension.*1 label, 'a'; .*labels=\['a', 'class_1'\]"),
        (["a", "b", "c"], 1, None, r"3 labels, 'a', 'b', 'c'; .*more labels.*labels=\['a', 'b', 'c'\]"),
        (["a"], 2, ["a", "a"], "2 columns"),
        (["a"], 2, ["p", "pa"], "2 columns"),
        ([1, 3], 3, None, r"3 columns.* 1, 3; .*labels=\[0, 1, 3\]"),
        ([7, 9], 3, ["x", "y", "z"], r"\(x, y, z\).* 7, 9; .*labels=\[0, 7, 9\]"),
        ([True, False], 3, None, r" False, True; .*two classes.*labels=\[False, True\]"),
    ],
)
def test_undecided(y_true, k, columns, words):
    with pytest.raises(ValueError, match=words):
        classes(y_true, k, columns=columns)


@pytest.mark.parametrize(
    ("y_true", "columns", "proposal"),
    [
        (["cat", "dog", "emu"], ["p_Emu", "p_cat", "p_dog"], "['emu', 'cat', 'dog']"),
        (["cat", "dog", "emu"], ["p_Emu", "p_feline", "p_canine"], "['emu', 'cat', 'dog']"),
        (["Cat", "Dog"], ["dog", "cat"], "['Dog', 'Cat']"),
        (["cat", "dog"], ["P_dog", "p_x"], "['dog', 'cat']"),
        (["cat", "dog"], ["p_x", "p_cat"], "['dog', 'cat']"),
        ([1, 2], ["p_2", "p_x"], "[2, 1]"),
        (["cat", "dog"], ["p_Cat"], "['dog', 'cat']"),
    ],
)
def test_names_that_contradict_the_sorted_labels(y_true, columns, proposal):
    with pytest.raises(ValueError, match="not in the same order") as caught:
        classes(y_true, len(columns), columns=columns)
    assert f"({', '.join(columns)})" in str(caught.value)
    assert str(caught.value).endswith(f"labels={proposal}")
    told = eval(proposal)
    assert classes(y_true, len(columns), columns=columns, labels=told)[0] == tuple(told)


@pytest.mark.parametrize(
    ("y_true", "columns", "expected"),
    [
        (["cat", "dog", "emu"], ["p_Cat", "p_Dog", "p_Emu"], ("cat", "dog", "emu")),
        (["cat", "dog", "emu"], ["p_Cat", "p_canine", "p_bird"], ("cat", "dog", "emu")),
        (["A", "a"], ["p_b", "p_A"], ("A", "a")),
        (["cat", "dog"], ["p_Dog"], ("cat", "dog")),
        ([0, 1, 2], ["p_2", "p_x", "p_y"], (0, 1, 2)),
    ],
)
def test_names_that_do_not_contradict(y_true, columns, expected):
    assert classes(y_true, len(columns), columns=columns)[0] == expected


@pytest.mark.parametrize(
    ("y_true", "k", "proposal"),
    [([1, 2], 3, "[1, 2, 3]"), ([2], 3, "[1, 2, 3]"), ([1, 9], 10, "[1, ..., 10]"), ([1], 2, "[1, 2]")],
)
def test_labels_that_may_start_at_one(y_true, k, proposal):
    found, source = classes(y_true, k)
    assert found == tuple(range(k))
    assert source.endswith(f"by position; label 0 does not occur: if labels start at 1, pass labels={proposal}")


@pytest.mark.parametrize(("y_true", "k"), [([0, 2], 3), ([1], 3), ([1], 1), ([True], 2)])
def test_labels_that_start_at_zero(y_true, k):
    assert "start at 1" not in classes(y_true, k)[1]


@pytest.mark.parametrize(
    ("y_true", "y_prob", "source"),
    [
        ([0, 1], [0.1, 0.2], "y_prob taken for P(label = 1); classes 0, 1 by position"),
        ([0, 9], rows(10, 2), "10 columns taken for classes 0 ... 9 by position"),
        (
            [0, 9],
            pd.DataFrame(rows(10, 2), columns=[f"prob_{i}" for i in range(10)]),
            "10 columns prob_0 ... prob_9 taken for classes 0 ... 9 (column names)",
        ),
        (
            ["b", "a"],
            pd.DataFrame({"p_b": [0.5, 0.5], "p_a": [0.5, 0.5]}),
            "2 columns p_b, p_a taken for classes b, a (column names)",
        ),
        (
            ["b", "a"],
            xr.DataArray(rows(2, 2), dims=("row", "class"), coords={"class": ["b", "a"]}),
            "2 columns b, a taken for classes b, a (column names)",
        ),
    ],
)
def test_source(y_true, y_prob, source):
    assert examine(y_true, y_prob).source == source


@pytest.mark.parametrize(
    ("prevalence", "error", "expected"),
    [(0, ValueError, "are above 0, below 1, and add up to 1"), ({0: 0.4}, TypeError, r"shape \(\) or \(n,\)")],
)
def test_a_prevalence_that_is_no_share_says_what_is_one(prevalence, error, expected):
    with pytest.raises(error, match=expected):
        examine([0, 1, 1], [0.2, 0.5, 0.7], prevalence=prevalence)


def _drawn(n_classes, n=600):
    rng = np.random.default_rng(0)
    y_prob = rng.dirichlet(np.full(n_classes, 0.5), n)
    return (y_prob.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1), y_prob


@pytest.mark.parametrize("order", [[1, 0], [1, 0, 2, 3], [1, 2, 3, 4, 0]])
def test_columns_in_another_order_are_noticed(order):
    y_true, y_prob = _drawn(len(order))
    cs.Sample(y_true, y_prob)
    with pytest.warns(UserWarning, match="fits far better") as caught:
        cs.Sample(y_true, y_prob[:, order])
    assert len(caught) == 1
    assert str(caught[0].message).endswith(f"pass labels={order}")
    cs.Sample(y_true, y_prob[:, order], labels=order)


def test_rows_of_a_cluster_that_are_wrong_together_are_no_other_order():
    p, happened, patient = np.repeat([0.3, 0.7], 60), np.repeat([1, 0], 60), np.repeat(np.arange(12), 10)
    with pytest.warns(UserWarning, match="fits far better"):
        cs.Sample(happened, p)
    cs.Sample(happened, p, groups=patient)
    with pytest.warns(UserWarning, match="fits far better"):
        cs.Sample(happened, p, groups=np.arange(120) // 2)


@pytest.mark.parametrize("to_label", [["churn", "stay"], [0, 1], [10**9, 0]])
def test_labels_too_many_in_very_few_rows_are_pointed_out(to_label):
    y_true, y_prob = [to_label[row % 2] for row in range(40)], np.full(40, 0.5)
    odd = "stayy" if isinstance(to_label[0], str) else 7
    y_true[10] = odd
    said = (
        rf"{odd!r} occurs once, in row 10 \(rows count from 0\): correct it if it is a typo; otherwise pass one column"
    )
    with pytest.raises(ValueError, match=said):
        cs.Sample(y_true, y_prob)
    y_true[12] = odd
    with pytest.raises(ValueError, match=rf"{odd!r} occurs in 2 rows, first in row 10 \(rows"):
        cs.Sample(y_true, y_prob)
    y_prob[3] = np.nan  # rows that are left out change the numbers of the others
    with pytest.raises(ValueError, match=rf"{odd!r} occurs in 2 rows: correct it"):
        cs.Sample(y_true, y_prob, nan_policy="omit")
    for frequent in (range(10, 14), range(10, 22)):
        for row in frequent:
            y_true[row] = odd
        with pytest.raises(ValueError, match="more labels than that: pass one column for each"):
            cs.Sample(y_true, np.full(40, 0.5))


def test_a_single_column_of_the_other_class_is_noticed():
    y_true, y_prob = _drawn(2)
    wrong = {"kind": np.array(["ham", "spam"])[y_true], "p": y_prob[:, 0]}
    brier = [np.mean((p - y_true) ** 2) for p in (y_prob[:, 1], y_prob[:, 0])]
    said = (
        r"column p taken for P\(label = spam\), but P\(label = ham\) fits far better "
        rf"\(Brier score {brier[0]:.3g} instead of {brier[1]:.3g}\); if that is what y_prob holds, "
        r"pass labels=\['spam', 'ham'\]"
    )
    with pytest.warns(UserWarning, match=said):
        cs.Sample.from_frame(wrong, y_true="kind", y_prob="p")
    cs.Sample.from_confidence(y_true, y_prob[:, 0])


@pytest.mark.parametrize("shift", [-4, 0, 4])
def test_biased_and_uninformative_columns_are_no_other_order(shift):
    rng = np.random.default_rng(1)
    logits = rng.normal(size=2000)
    rare = rng.random(2000) < 0.1
    happened = rng.random(2000) < 1 / (1 + np.exp(-logits))
    uneven = rng.choice(3, 2000, p=[0.8, 0.15, 0.05])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cs.Sample(rare, 1 / (1 + np.exp(-(logits + shift))))
        cs.Sample(happened, 1 / (1 + np.exp(-(logits + shift))))
        cs.Sample(uneven, rng.dirichlet([1, 3, 9], 2000))
    assert caught == []


def test_a_label_that_is_half_a_letter_is_refused():
    with pytest.raises(ValueError, match=r"y_true holds the label '\\ud800', which is no text"):
        cs.Sample(["a", "\ud800"] * 5, [0.2, 0.7] * 5)
