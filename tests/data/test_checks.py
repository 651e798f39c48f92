"""What is accepted from outside, what is refused, and what the refusal says."""

from __future__ import annotations

import datetime
import subprocess
import sys
import time
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import calibstat as cs
from calibstat.data.checks import examine
from calibstat.data.parameters import SmallCellsWarning, at_least_one, true_or_false

NAN = float("nan")
Y = [0, 1, 1, 0]
P = [0.2, 0.7, 0.9, 0.4]
TWO = np.column_stack([1 - np.array(P), P])
THREE = np.array([[0.2, 0.3, 0.5], [0.6, 0.2, 0.2], [0.1, 0.8, 0.1]])


class Tensor:
    """Behaves like a torch tensor as far as numpy can see."""

    def __init__(self, values, requires_grad=False):
        self.values, self.requires_grad = np.asarray(values), requires_grad

    def __array__(self, dtype=None, copy=None):
        if self.requires_grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        return self.values

    def detach(self):
        return Tensor(self.values)


def refused(*words, error=ValueError):
    return pytest.raises(error, match="(?s)" + "".join(f"(?=.*{word})" for word in words))


# ---------------------------------------------------------------- containers


@pytest.mark.parametrize("make", [list, tuple, np.array, Tensor, pd.Series, pd.array, xr.DataArray, np.ma.array])
def test_containers(make):
    found = examine(make(Y), make(P))
    np.testing.assert_array_equal(found.outcomes, Y)
    np.testing.assert_array_equal(found.probabilities, TWO)


def test_polars():
    pl = pytest.importorskip("polars")
    found = examine(
        pl.Series(["b", "a"]),
        pl.DataFrame({"b": [0.1, 0.6], "a": [0.9, 0.4]}),
        variables=pl.DataFrame({"age": [3, 5], "sex": ["m", "f"]}),
        sample_weight=pl.Series([1, 2]),
    )
    assert found.classes == ("b", "a")
    assert found.outcomes.tolist() == [0, 1]
    assert found.variables["sex"].levels == ("f", "m")
    assert examine(pl.Series([1, None]), pl.Series([0.1, 0.2]), nan_policy="omit").outcomes.tolist() == [1]


def test_pyarrow():
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"b": [0.1, 0.6], "a": [0.9, 0.4]})
    found = examine(pa.chunked_array([["b", "a"]]), table, variables=pa.table({"age": [3, 5]}))
    assert found.classes == ("b", "a")
    assert found.variables["age"].values.tolist() == [3, 5]


def test_pandas_is_taken_by_position():
    found = examine(pd.Series(Y, index=[3, 2, 1, 0]), pd.Series(P, index=list("abcd")))
    assert found.outcomes.tolist() == Y
    assert found.probabilities[:, 1].tolist() == P


def test_tensor_with_gradient():
    with refused("y_prob", r"\.detach\(\)\.cpu\(\)"):
        examine(Y, Tensor(P, requires_grad=True))


@pytest.mark.parametrize(
    ("y_true", "classes"),
    [
        (np.array(Y, dtype=np.uint8), (0, 1)),
        (np.array(Y, dtype=np.float32), (0, 1)),
        (np.array(Y, dtype=bool), (False, True)),
        (np.array(list("abba")), ("a", "b")),
        (np.array(list("abba"), dtype=object), ("a", "b")),
        (np.array(list("abba"), dtype="S1"), ("a", "b")),
        (pd.Series(list("abba")), ("a", "b")),
        (pd.Categorical(list("abba"), categories=["b", "a", "c"]), ("a", "b")),
        (pd.array([5, 7, 7, 5], dtype="Int64"), (5, 7)),
        (pd.array([False, True, True, False], dtype="boolean"), (False, True)),
        ([-1, 1, 1, -1], (-1, 1)),
        ([-(10**12), 10**12, 10**12, -(10**12)], (-(10**12), 10**12)),
        ([Decimal(0), 1.0, 1, np.int8(0)], (0, 1)),
    ],
)
def test_labels(y_true, classes):
    found = examine(y_true, P)
    assert found.classes == classes
    assert [type(label) for label in found.classes] == [type(label) for label in classes]
    assert found.outcomes.tolist() == Y


# ---------------------------------------------------------------- what comes out

LABELS = hnp.arrays(st.sampled_from([np.int64, np.int8, np.bool_, np.float64]), 5, elements=st.sampled_from([0, 1]))
UNIT = st.floats(-1e-6, 1 + 1e-6)


@given(LABELS, hnp.arrays(np.float64, 5, elements=UNIT), hnp.arrays(np.float64, 5, elements=st.floats(0.5, 2)))
def test_kept_as_given_and_never_mutated(y_true, y_prob, weight):
    before = y_true.copy(), y_prob.copy(), weight.copy()
    found = examine(y_true, y_prob, sample_weight=weight, variables={"v": weight})
    for array, copy in zip((y_true, y_prob, weight), before, strict=True):
        np.testing.assert_array_equal(array, copy)
        assert array.flags.writeable
        for out in (found.probabilities, found.outcomes, found.variables["v"].values):
            assert not np.shares_memory(out, array)
            assert not out.flags.writeable
    kept = y_prob.clip(0, 1)  # rounding may leave [0, 1]
    np.testing.assert_array_equal(found.probabilities[:, 1], kept)
    np.testing.assert_array_equal(found.probabilities[:, 0], 1 - kept)
    assert found.weights is None or not np.shares_memory(found.weights, weight)


@given(st.sampled_from([np.float64, np.float32]), st.integers(2, 5), st.sampled_from("CF"), st.data())
def test_rows_are_kept_as_given(dtype, k, order, data):
    rows = data.draw(hnp.arrays(np.float64, (4, k), elements=st.floats(0.01, 1)))
    rows = np.array(rows / rows.sum(axis=1, keepdims=True), dtype=dtype, order=order)
    before = rows.copy()
    out = examine([0, 1, 0, 1], rows).probabilities
    np.testing.assert_array_equal(out, before.astype(np.float64))
    np.testing.assert_array_equal(rows, before)
    assert not np.shares_memory(out, rows)
    assert not out.flags.writeable


@pytest.mark.parametrize(("rows", "order"), [(P, "F"), (TWO, "F"), (np.asfortranarray(THREE), "C")])
def test_memory_order(rows, order):
    found = examine([0, 1, 0, 1][: len(rows)], rows)
    assert found.probabilities.flags[f"{order}_CONTIGUOUS"]
    assert found.probabilities.dtype == np.float64
    assert found.outcomes.dtype == np.intp


@pytest.mark.parametrize(("y_true", "y_prob"), [([1], [0.3]), ([0, 0], [0.1, 0.2]), ([2], [[0.1, 0.2, 0.7]])])
def test_one_row_or_one_class(y_true, y_prob):
    assert examine(y_true, y_prob).outcomes.tolist() == y_true


@pytest.mark.parametrize("n_classes", [2, 3, 200])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("row", [0, 999])
def test_one_value_out_of_many_is_found(n_classes, dtype, row):
    rows = np.full((1000, n_classes), 1 / n_classes, dtype=dtype)
    rows[row] = 0
    for first, second, message in ((1 + 5e-6, 0, "outside"), (1, -5e-6, "outside"), (1 - 2e-4, 0, "sum to 1")):
        rows[row, :2] = first, second
        with refused(message, f"the worst row is {row} "):
            examine(np.arange(1000) % 2, rows)
    rows[row, :2] = 1 + 1e-7, 0
    examine(np.arange(1000) % 2, rows)


@pytest.mark.parametrize("n_classes", [2, 3, 200])
def test_infinite_and_huge_numbers_are_refused_without_a_warning(n_classes):
    for first, second, message in ((np.inf, -np.inf, "infinite in row 0"), (1e308, 1e308, "outside")):
        rows = np.full((2, n_classes), 1 / n_classes)
        rows[0, :2] = first, second
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with refused(message):
                examine([0, 1], rows)


def test_tolerances():
    examine([0, 1], [-1e-6, 1 + 1e-6])
    found = examine([0, 1], [[0.5, 0.5001], [0.5, 0.4999]])
    assert found.probabilities[0].tolist() == [0.5, 0.5001]
    examine([0], [[0.071, 0.9289]])  # misses one by 1e-4 and by the rounding of the sum
    with refused("do not sum to 1", "row is 1 ", "1.00011"):
        examine([0, 1], [[0.5, 0.5001], [0.5, 0.50011]])
    with refused("worst row is 1 ", "-2e-06"):
        examine([0, 1], [0.5, -2e-6])


# ---------------------------------------------------------------- missing values


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"y_true": [0, None, 1, 1]}, "y_true"),
        ({"y_true": np.array([0, NAN, 1, 1])}, "y_true"),
        ({"y_true": ["a", NAN, "b", "b"]}, "y_true"),
        ({"y_true": np.array([False, None, True, True])}, "y_true"),
        ({"y_true": pd.Series(["a", None, "b", "b"])}, "y_true"),
        ({"y_true": pd.Series(["a", None, "b", "b"], dtype="category")}, "y_true"),
        ({"y_true": pd.array([0, pd.NA, 1, 1], dtype="Int64")}, "y_true"),
        ({"y_true": np.array([0, pd.NaT, 1, 1], dtype=object)}, "y_true"),
        ({"y_true": np.ma.array([0, 9, 1, 1], mask=[0, 1, 0, 0])}, "y_true"),
        ({"y_prob": [0.1, NAN, 0.2, 0.3]}, "y_prob"),
        ({"y_prob": [0.1, None, 0.2, 0.3]}, "y_prob"),
        ({"y_prob": pd.array([0.1, pd.NA, 0.2, 0.3], dtype="Float64")}, "y_prob"),
        ({"y_prob": np.ma.array([0.1, 9, 0.2, 0.3], mask=[0, 1, 0, 0])}, "y_prob"),
        ({"y_prob": [[0.1, 0.9], [0.5, NAN], [0.5, 0.5], [0.5, 0.5]]}, "y_prob"),
        ({"y_prob": pd.DataFrame({"a": [0.5, None, 0.5, 0.5], "b": 0.5}, dtype="Float64")}, "column 'a'"),
        ({"y_prob": np.ma.array(TWO, mask=[[0, 0], [1, 0], [0, 0], [0, 0]])}, "y_prob"),
        ({"sample_weight": [1, NAN, 1, 2]}, "sample_weight"),
        ({"variables": {"age": [1, NAN, 3, 4]}}, "variable 'age'"),
        ({"variables": {"sex": ["m", None, "f", "f"]}}, "variable 'sex'"),
        ({"variables": {"sex": pd.Categorical(["m", None, "f", "f"])}}, "variable 'sex'"),
        ({"variables": {"old": np.array([True, None, False, True])}}, "variable 'old'"),
    ],
)
def test_missing(arguments, name):
    arguments = {"y_true": Y, "y_prob": P} | arguments
    with refused("missing", f"{name}: 1", f"row 1 of {name}", "nan_policy"):
        examine(**arguments)
    found = examine(**arguments, nan_policy="omit")
    assert len(found.outcomes) == len(found.probabilities) == 3
    assert all(len(each.values) == 3 for each in found.variables.values())
    assert found.weights is None or found.weights.tolist() == [1, 1, 2]
    words = {"y_true": "labels", "y_prob": "probabilities", "sample_weight": "weights"}
    assert found.source.endswith(f"; 1 of 4 rows omitted (missing in {words.get(name, name)}: 1)")


def test_omitting_is_consistent():
    found = examine(
        ["a", None, "b", "a", "z"],
        [0.1, 0.2, NAN, 0.4, 0.5],
        variables={"row": [0, 1, 2, 3, NAN], "name": ["x", "y", "z", "w", "v"]},
        sample_weight=[1, 2, 3, 4, 5],
        labels=["a", "b"],
        nan_policy="omit",
    )
    assert found.probabilities[:, 1].tolist() == [0.1, 0.4]
    assert found.variables["row"].values.tolist() == [0, 3]
    assert found.variables["name"].levels == ("w", "x")
    assert found.variables["name"].values.tolist() == [1, 0]
    assert found.weights.tolist() == [1, 4]
    assert "3 of 5 rows omitted" in found.source


def test_nothing_left():
    with refused("no rows are left"):
        examine([None, 1], [0.1, NAN], nan_policy="omit")


def test_infinite_is_never_missing():
    with refused("infinite in row 0"):
        examine([0, 1, 1], [[np.inf, NAN], [0.5, NAN], [0.5, 0.5]], nan_policy="omit")


# ---------------------------------------------------------------- refusals

BAD = {
    "policy": ({"nan_policy": "drop"}, ["nan_policy is 'drop'", "raise", "omit"]),
    "exchanged": ({"y_true": P, "y_prob": Y}, ["exchanged"]),
    "exchanged floats": ({"y_true": P, "y_prob": np.array(Y, float)}, ["exchanged"]),
    "exchanged text": ({"y_true": np.array(P), "y_prob": list("abba")}, ["exchanged"]),
    "exchanged objects": ({"y_true": np.array(P), "y_prob": np.array(list("abba"), object)}, ["exchanged"]),
    "exchanged matrix": ({"y_true": TWO, "y_prob": Y}, ["exchanged"]),
    "above one": ({"y_prob": [0.2, 0.3, 1.1, 1.0]}, [r"outside \[0, 1\]", "row is 2 ", "1.1"]),
    "percentages": ({"y_prob": [20, 70, 90, 40.5]}, ["percentages", "divide by 100"]),
    "percentage rows": ({"y_prob": TWO * 100}, ["percentages", "divide by 100"]),
    "logits": ({"y_prob": [-2.0, 1.0, 3.0, 0.1]}, [r"scipy.special.expit\(y_prob\)"]),
    "logit rows": ({"y_prob": [[-2.0, 1], [3, 0.1], [0, 0], [1, 1]]}, [r"scipy.special.softmax\(y_prob, axis=1\)"]),
    "symmetric logits": ({"y_prob": [[-2.0, 2], [3, -3], [0, 0], [1, -1]]}, ["softmax"]),
    "positive logits": ({"y_prob": [[2.0, 1], [3, 1], [0, 0], [1, 1]]}, ["softmax"]),
    "log-probabilities": ({"y_prob": np.log(TWO)}, ["log-probabilities", r"numpy.exp\(y_prob\)"]),
    "counts": ({"y_prob": [[2, 1], [3, 0], [1, 2], [0, 3]]}, ["Every row sums to 3", "divide"]),
    "slightly outside": ({"y_prob": [[-0.01, 1.01], [0, 1], [0, 1], [0, 1]]}, ["row is 0 ", "-0.01, 1.01"]),
    "far outside": ({"y_prob": [0.1, 0.2, 500, 0.3]}, ["row is 2 ", "500"]),
    "sums": ({"y_prob": [[0.5, 0.5], [0.5, 0.6], [0.9, 0.9], [0, 1]]}, ["row is 2 ", "0.9, 0.9", "1.8"]),
    "zero row": ({"y_prob": [[0.5, 0.5], [0, 0], [0.5, 0.5], [0, 1]]}, ["all zero in row 1"]),
    "infinite": ({"y_prob": [0.1, np.inf, 0.2, 0.3]}, ["infinite in row 1"]),
    "one column": ({"y_prob": np.array(P)[:, None]}, [r"\(4, 1\)", r"y_prob.ravel\(\)", "two columns"]),
    "3-D": ({"y_prob": np.full((4, 2, 1), 0.5)}, [r"\(4, 2, 1\)", r"\(n, K\)"]),
    "complex": ({"y_prob": np.array(P) + 0j}, ["complex"]),
    "text": ({"y_prob": ["0.2", "0.7", "0.9", "0.4"]}, ["y_prob holds text", "astype"]),
    "text objects": ({"y_prob": np.array([["0.2", "0.8"]] * 4, object)}, ["y_prob holds text"]),
    "ragged": ({"y_prob": [[0.5, 0.5], [1.0]]}, ["y_prob cannot be read"]),
    "lengths": ({"y_prob": P[:3]}, ["y_true has 4 rows and y_prob has 3"]),
    "turned": ({"y_prob": np.full((3, 4), 1 / 3)}, [r"y_prob\.T"]),
    "empty": ({"y_true": [], "y_prob": []}, ["empty"]),
    "empty matrix": ({"y_true": [], "y_prob": np.zeros((0, 3))}, ["empty"]),
    "column of labels": ({"y_true": np.array(Y)[:, None]}, [r"y_true.ravel\(\)"]),
    "one-hot": ({"y_true": np.eye(2)[Y], "y_prob": TWO}, ["one-hot", r"argmax\(axis=1\)"]),
    "many labels": ({"y_true": np.ones((4, 2), int), "y_prob": TWO}, [r"\(4, 2\)", "one dimension"]),
    "fraction": ({"y_true": [0, 0.5, 1, 1]}, ["0.5 in row 1", "integers, booleans or strings"]),
    "infinite label": ({"y_true": [0, np.inf, 1, 1]}, ["infinite label"]),
    "huge label": ({"y_true": [0, 2**70, 1, 1]}, ["64 bits"]),
    "mixed labels": ({"y_true": [0, "a", 1, 1]}, ["y_true", "mixture", "number, text"]),
    "mixed booleans": ({"y_true": [True, 0, 1, 1]}, ["y_true", "mixture", "boolean, number"]),
    "dates": ({"y_true": np.array(["2020-01-01"] * 4, "M8[D]")}, ["y_true", "datetime64"]),
    "strange objects": ({"y_true": np.array([(1,), (2,), (1,), 3], object)}, ["y_true"]),
    "stranger": ({"y_true": [0, 1, 2, 0], "labels": [0, 1]}, [r"y_true holds 2", r"labels=\[0, 1\]"]),
    "negative weight": ({"sample_weight": [1, 1, -2, 1]}, ["sample_weight is -2 in row 2"]),
    "infinite weight": ({"sample_weight": [1, 1, np.inf, 1]}, ["sample_weight is inf in row 2"]),
    "zero weights": ({"sample_weight": np.zeros(4)}, ["zero in every row"]),
    "few weights": ({"sample_weight": [1, 2]}, ["sample_weight has 2 rows", "4"]),
    "text weights": ({"sample_weight": list("abcd")}, ["sample_weight holds text"]),
    "matrix of weights": ({"sample_weight": np.ones((4, 2))}, ["sample_weight has shape"]),
    "few values": ({"variables": {"age": [1, 2]}}, ["variable 'age' has 2 rows", "4"]),
    "infinite variable": ({"variables": {"age": [1, 2, np.inf, 4]}}, ["variable 'age' is infinite in row 2"]),
    "matrix variable": ({"variables": {"age": TWO}}, ["variable 'age' has shape"]),
    "mixed variable": ({"variables": {"age": [1, "b", 3, 4]}}, ["variable 'age'", "mixture"]),
    "times": ({"variables": {"day": pd.date_range("2020", periods=4)}}, ["variable 'day'", "numbers"]),
    "durations": ({"variables": {"day": np.array([1, 2, 3, 4], "m8[s]")}}, ["variable 'day'", "numbers"]),
    "days": ({"variables": {"day": [datetime.date(2020, 1, 1)] * 4}}, ["variable 'day' holds date", "numbers"]),
    "twice": (
        {"variables": pd.DataFrame([[1, 2]] * 4, columns=["a", "a"])},
        ["'a' more than once"],
    ),
}


@pytest.mark.parametrize(("arguments", "words"), BAD.values(), ids=BAD)
def test_refused(arguments, words):
    with refused(*words):
        examine(**{"y_true": Y, "y_prob": P} | arguments)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"y_true": None}, ["y_true is of type NoneType"]),
        ({"y_prob": 0.5}, ["y_prob is of type float"]),
        ({"y_prob": {"a": P}}, ["y_prob is of type dict"]),
        ({"variables": [1, 2, 3, 4]}, ["variables", '{"age": age}']),
        ({"variables": pd.Series([1, 2, 3, 4])}, ["variables is of type Series"]),
        ({"variables": {1: [1, 2, 3, 4]}}, ["variables has the name 1"]),
        ({"labels": "01"}, ["labels is '01'"]),
    ],
)
def test_wrong_types(arguments, words):
    with refused(*words, error=TypeError):
        examine(**{"y_true": Y, "y_prob": P} | arguments)


def test_hard_labels_as_probabilities_are_no_exchange():
    assert examine([0, 1], [0, 1]).probabilities[:, 1].tolist() == [0, 1]
    assert examine([0.0, 1.0], [False, True]).probabilities[:, 1].tolist() == [0, 1]


# ---------------------------------------------------------------- weights and variables


@pytest.mark.parametrize(("given", "kept"), [([2, 2, 2, 2], None), ([0, 1, 2, 3], [0, 1, 2, 3]), (None, None)])
def test_weights(given, kept):
    weights = examine(Y, P, sample_weight=given).weights
    assert (weights if weights is None else weights.tolist()) == kept


@pytest.mark.parametrize(
    ("values", "numbers", "levels"),
    [
        ([3, 1, 2, 2], [3, 1, 2, 2], None),
        ([3.5, None, 2, 2], [3.5, 2, 2], None),
        (np.array([1, 2, 3, 4], np.int8), [1, 2, 3, 4], None),
        ([True, False, True, True], [1, 0, 1, 1], ("False", "True")),
        ([True] * 4, [0] * 4, ("True",)),
        (["m", "f", "m", "d"], [2, 1, 2, 0], ("d", "f", "m")),
        (pd.Series(["m", "f", "m", "d"]), [2, 1, 2, 0], ("d", "f", "m")),
        (np.array(["m", "f", "m", "d"]), [2, 1, 2, 0], ("d", "f", "m")),
        (pd.Categorical(list("lhlh"), categories=list("lmh")), [0, 1, 0, 1], ("l", "h")),
        (pd.Series(list("lhlh")).astype(pd.CategoricalDtype(list("lmh"))), [0, 1, 0, 1], ("l", "h")),
        (pd.Categorical([20, 10, 10, 10]), [1, 0, 0, 0], ("10", "20")),
    ],
)
def test_variables(values, numbers, levels):
    variable = examine(Y, P, variables={"v": values}, nan_policy="omit").variables["v"]
    assert variable.values.tolist() == numbers
    assert variable.values.dtype == np.float64
    assert variable.levels == levels


@pytest.mark.parametrize("frame", [pd.DataFrame, xr.Dataset, dict])
def test_variables_from_frames(frame):
    columns = {"age": ("row", [1, 2, 3, 4])} if frame is xr.Dataset else {"age": [1, 2, 3, 4]}
    found = examine(Y, P, variables=frame(columns))
    assert list(found.variables) == ["age"]
    assert found.variables["age"].values.tolist() == [1, 2, 3, 4]


# ---------------------------------------------------------------- the rest


@pytest.mark.parametrize("value", [1, 7, np.int64(3)])
def test_at_least_one(value):
    number = at_least_one("k", value)
    assert number == value
    assert type(number) is int


@pytest.mark.parametrize(
    ("value", "error"),
    [(0, ValueError), (-1, ValueError), (1.0, TypeError), (True, TypeError), (np.True_, TypeError), ("1", TypeError)],
)
def test_at_least_one_refuses(value, error):
    with refused("n_bins is", "at least 1", error=error):
        at_least_one("n_bins", value)


@pytest.mark.parametrize("value", [True, False, np.True_, np.bool_(False)])
def test_true_or_false(value):
    assert true_or_false("shortcuts", value) is bool(value)


_SAMPLE = cs.Sample(Y, P)
_SWITCHES = {
    "shortcuts": lambda value: cs.Consistency(shortcuts=value),
    "allow_invalid": lambda value: cs.Bootstrap(allow_invalid=value),
    "resample_predictions": lambda value: cs.Consistency(resample_predictions=value),
    "centred": lambda value: cs.Multiplier(centred=value),
    "include_self": lambda value: cs.NeighborAUCV(3, include_self=value),
    "smoothing": lambda value: cs.calibrators.Platt(smoothing=value).fit(P, Y),
    "paired": lambda value: cs.comparison_test(_SAMPLE, _SAMPLE, cs.DebiasedL2(cs.FixedEdges([0, 1])), paired=value),
}


@pytest.mark.parametrize("name", _SWITCHES)
@pytest.mark.parametrize("value", ["False", "no", 0, 1, None, 0.0])
def test_what_looks_like_true_or_false_is_refused(name, value):
    with refused(f"{name} is {value!r}", "True or False", error=TypeError):
        _SWITCHES[name](value)


def test_shortcuts_of_a_bootstrap_are_true_or_false():
    with refused("shortcuts is 'False'", "True or False", error=TypeError):
        cs.Bootstrap(shortcuts="False")


def test_warning_class():
    assert issubclass(SmallCellsWarning, UserWarning)


def test_no_heavy_import():
    code = (
        "import sys; from calibstat.data.sample import Sample; Sample([0, 1], [0.1, 0.2], variables={'a': [1, 2]}); "
        "print([m for m in ('pandas', 'xarray', 'pyarrow', 'sklearn', 'scipy') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_few_passes_over_the_data():
    rng = np.random.default_rng(0)
    p = rng.random(10**6)
    y = (rng.random(p.size) < p).astype(int)
    cells = (15 * p).astype(int)

    def fastest(work):
        times = []
        for _ in range(7):
            start = time.thread_time()  # of this process alone: others may be busy
            work()
            times.append(time.thread_time() - start)
        return min(times)

    assert fastest(lambda: examine(y, p)) < 12 * fastest(lambda: np.bincount(cells, p))
