from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from calibstat.auditing.audit import subgroup_audit
from calibstat.auditing.curves import equal_curves_test
from calibstat.auditing.groups import (
    ALL,
    Levels,
    cut_levels,
    distinct_texts,
    form_groups,
    look,
    merge_levels,
    read_columns,
)
from calibstat.auditing.scan import scan_variables


def sample_of(n=40, **variables):
    rng = np.random.default_rng(0)
    return cs.Sample(rng.integers(0, 2, n), rng.random(n), variables=variables, labels=[0, 1])


QUARTERS = cs.EqualMass(4)


def cut(sample, by, binning=QUARTERS, missing="raise"):
    columns = read_columns(sample, by, missing)
    return [cut_levels(name, column, sample.predictions, binning) for name, column in columns.items()]


def test_categories_and_few_numbers_are_levels_of_their_own():
    sample = sample_of(sex=["m", "f"] * 20, dose=[1, 2.5, 2.5, 10] * 10)
    sex, dose = cut(sample, ["sex", "dose"])
    assert sex.names == ("f", "m")
    assert dose.names == ("1", "2.5", "10")
    assert dose.index[:4].tolist() == [0, 1, 1, 2]


def test_many_numbers_are_cut_by_the_binning():
    age = np.arange(40.0)
    (found,) = cut(sample_of(age=age), "age")
    assert found.names == ("0 to 9.5", "9.5 to 19.5", "19.5 to 29.5", "29.5 to 39")
    assert np.bincount(found.index).tolist() == [10] * 4


def test_empty_cells_are_left_out():
    age = np.append(np.arange(39.0), 1000.0)
    (found,) = cut(sample_of(age=age), "age", cs.EqualWidth(5))
    assert found.names == ("0 to 200", "800 to 1000")
    assert np.bincount(found.index).tolist() == [39, 1]
    (values,) = cut(sample_of(age=age), "age", cs.UniqueValues())
    assert values.names[0] == "0 to 0"
    assert values.size == 40


def test_missing_values_are_refused_or_a_level():
    sample = sample_of()
    dose = np.where(np.arange(40) % 4 == 0, np.nan, 1.0 + np.arange(40) % 3)
    site = [None if i == 3 else "ab"[i % 2] for i in range(40)]
    with pytest.raises(
        ValueError, match=r"variable 'dose' is missing in 10 of 40 rows, first in row 0.*missing='level'"
    ):
        cut(sample, {"dose": dose})
    levels = cut(sample, {"dose": dose, "site": site}, missing="level")
    assert levels[0].names == ("1", "2", "3", "missing")
    assert levels[1].names == ("a", "b", "missing")
    assert (levels[0].index == 3).tolist() == np.isnan(dose).tolist()
    assert np.flatnonzero(levels[1].index == 2).tolist() == [3]
    everywhere = np.where(np.arange(40) < 2, np.nan, np.arange(40.0))
    (cells,) = cut(sample, {"age": everywhere}, missing="level")
    assert cells.names[-1] == "missing"
    assert np.bincount(cells.index)[-1] == 2


@pytest.mark.parametrize(
    ("by", "missing", "message"),
    [
        ("age", "raise", r"no variable 'age'; its variables are: 'sex'"),
        ([], "raise", "by is empty"),
        ({"age": [1, 2]}, "raise", r"has 2 rows, but the sample has 40"),
        ({"age": [np.nan] * 40}, "level", r"missing in all 40 rows"),
        ("sex", "drop", r"missing is 'drop'; it must be 'raise' or 'level'"),
    ],
)
def test_what_is_wrong_with_variables_is_said(by, missing, message):
    with pytest.raises(ValueError, match=message):
        read_columns(sample_of(sex=["m", "f"] * 20), by, missing)


def test_numbers_are_written_so_that_they_differ():
    assert distinct_texts(np.array([1.00001, 1.00002])) == ("1.00001", "1.00002")
    assert distinct_texts(np.array([2.0, 2.0])) == ("2", "2")


def test_groups_are_all_rows_levels_and_crossings():
    a = Levels("a", ("x", "y"), np.array([0, 0, 0, 1, 1, 1]))
    b = Levels("b", ("u", "v"), np.array([0, 0, 1, 1, 1, 1]))
    groups, left_out = form_groups([a, b], 6, depth=2, min_size=2)
    assert [(group.name, group.rows.tolist()) for group in groups] == [
        (ALL, [0, 1, 2, 3, 4, 5]),
        ("a x", [0, 1, 2]),
        ("a y", [3, 4, 5]),
        ("b u", [0, 1]),
        ("b v", [2, 3, 4, 5]),
    ]
    assert [(each.name, each.n, each.reason) for each in left_out] == [
        ("a x & b u", 2, "has the same rows as b u"),
        ("a x & b v", 1, "has fewer than 2 rows"),
        ("a y & b v", 3, "has the same rows as a y"),
    ]


def test_a_variable_of_one_level_is_left_out():
    one = Levels("site", ("here",), np.zeros(4, dtype=np.intp))
    groups, left_out = form_groups([one], 4, depth=1, min_size=1)
    assert [group.name for group in groups] == [ALL]
    assert left_out[0].reason == "has one level, 'here'"


def test_neighbouring_levels_are_merged_until_each_expects_enough():
    predictions = cs.Sample([0, 1] * 20, [0.5] * 40).predictions
    levels = Levels("v", tuple("abcd"), np.repeat([0, 1, 2, 3], [4, 16, 16, 4]))
    merged = merge_levels(levels, predictions, 5)
    assert merged.names == ("a / b", "c / d")
    assert np.bincount(merged.index).tolist() == [20, 20]
    ends = np.array([[0, 1], [1, 2], [2, 3], [3, 4.0]])
    assert merge_levels(Levels("v", tuple("abcd"), levels.index, ends), predictions, 5).names == ("0 to 2", "2 to 4")
    assert merge_levels(levels, predictions, 0) is levels


@pytest.mark.parametrize(
    "ask",
    [
        lambda: subgroup_audit([0, 1], "g"),
        lambda: scan_variables([0, 1]),
        lambda: equal_curves_test([0, 1], "g"),
    ],
)
def test_something_else_than_a_sample_is_refused(ask):
    with pytest.raises(TypeError, match="sample is of type list, but a Sample is expected"):
        ask()


def test_something_else_than_names_is_refused():
    with pytest.raises(TypeError, match="by is 5, but names of variables are expected"):
        subgroup_audit(sample_of(), 5)


@pytest.mark.parametrize("later", [[7.0], list(range(100)), [0.5]], ids=["one more value", "many", "between"])
def test_values_that_the_first_rows_do_not_show_are_levels_too(later):
    values = np.concatenate([np.tile([0.0, 1.0, 2.0], 500), np.resize(later, 500)])
    sample = cs.Sample(np.arange(2000) % 2, np.full(2000, 0.5), variables={"x": values})
    levels, _ = look(sample, "x", cs.Canonical(), cs.EqualMass(4), "raise")
    if len(later) == 1:
        assert levels[0].ends[:, 0].tolist() == sorted({0.0, 1.0, 2.0, *later})
        np.testing.assert_array_equal(levels[0].ends[levels[0].index, 0], values)
    else:
        assert levels[0].size <= 4
