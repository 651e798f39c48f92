"""Calibrators are written and read without executing anything."""

from __future__ import annotations

import json
import pickle
import re

import numpy as np
import pandas as pd
import pytest

from calibstat import calibrators as cal
from calibstat.binnings.intervals import FixedEdges
from calibstat.binnings.simplex import VarianceTree
from calibstat.calibrators._storage import CALIBRATORS, FORMAT, _checksum

PLAIN = [getattr(cal, name)() for name in CALIBRATORS if name not in ("VariableBased", "AugmentedBeta")]
OTHERS = [
    cal.OneVsRest(cal.Isotonic()),
    cal.HistogramBinning(FixedEdges([0, 0.3, 1])),
    cal.ScalingBinning(cal.Beta()),
    cal.AverageLabels(FixedEdges([0, 0.3, 1])),
]


def named(each):
    return str(each).replace("\n", "")


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    p = rng.random(300)
    return p, np.array(["no", "yes"])[(rng.random(300) < p**2).astype(int)]


@pytest.mark.parametrize("calibrator", PLAIN + OTHERS, ids=named)
def test_what_is_read_says_what_was_written(calibrator, rows, tmp_path):
    p, y = rows
    cal.save(calibrator.fit(p, y), tmp_path / "fitted.json")
    found = cal.load(tmp_path / "fitted.json")
    assert repr(found) == repr(calibrator)
    np.testing.assert_array_equal(found.predict_proba(p), calibrator.predict_proba(p))
    np.testing.assert_array_equal(found.predict(p), calibrator.predict(p))


@pytest.mark.parametrize(
    "calibrator", [cal.VariableBased("age"), cal.AugmentedBeta("age"), cal.CalibrationTree(["age"])]
)
def test_names_of_columns_are_kept(calibrator, rows, tmp_path):
    p, y = rows
    frame = pd.DataFrame({"age": np.arange(300.0), "p": p})
    cal.save(calibrator.fit(frame, y), tmp_path / "fitted.json")
    found = cal.load(tmp_path / "fitted.json").predict_proba(frame)
    np.testing.assert_array_equal(found, calibrator.predict_proba(frame))


def test_every_calibrator_can_be_written():
    others = {"Calibrator", "Calibrated", "save", "load"}
    assert set(CALIBRATORS) == set(cal.__all__) - others


def test_what_cannot_be_written_is_refused(rows, tmp_path):
    p, y = rows
    with pytest.raises(TypeError, match="cannot be written"):
        cal.save(cal.Calibrated().fit(p[:, None], y), tmp_path / "fitted.json")
    with pytest.raises(TypeError, match="cannot be written"):
        cal.save(cal.HistogramBinning(VarianceTree(5)), tmp_path / "fitted.json")


def sealed(calibrator):
    """The content of a file with the right checksum: what someone may write who knows how."""
    return {"format": FORMAT, "checksum": _checksum(calibrator), "calibrator": calibrator}


def content(state):
    return sealed({"is": "calibrator", "name": "Platt", "state": state})


@pytest.mark.parametrize(
    "found",
    [
        "no json",
        [],
        {},
        {"format": "another", "calibrator": None},
        sealed(3),
        sealed({"is": "calibrator", "name": "os.system", "state": {}}),
        sealed({"is": "calibrator", "name": "Calibrated", "state": {}}),
        sealed({"is": "array", "type": "<f8", "values": [1]}),
        content({"__class__": 1}),
        content({"predict_proba": 1}),
        content({"_fit": 1}),
        content({"coef_": {"is": "array", "type": "O", "values": [1]}}),
        content({"coef_": {"is": "binning", "name": "eval", "fields": {}}}),
    ],
)
def test_other_files_are_refused(found, tmp_path):
    path = tmp_path / "fitted.json"
    path.write_text(found if isinstance(found, str) else json.dumps(found))
    with pytest.raises(ValueError, match="does not hold a calibrator of this package"):
        cal.load(path)


@pytest.mark.parametrize("damage", ["number", "truncated", "another kind", "another version", "not fitted"])
def test_a_damaged_file_is_refused_with_what_to_do(damage, rows, tmp_path):
    path = tmp_path / "fitted.json"
    cal.save(cal.Platt() if damage == "not fitted" else cal.Platt().fit(*rows), path)
    text = path.read_text()
    changed = {
        "number": re.sub(r"\d\.\d", lambda found: f"{float(found[0]) + 1:.1f}", text, count=1),
        "truncated": text[:-20],
        "another kind": "p,y\n0.2,1\n",
        "another version": text.replace(FORMAT, "calibstat calibrator 1"),
    }
    path.write_text(changed.get(damage, text))
    with pytest.raises(ValueError, match=r"; fit the calibrator and save it again, or restore a copy of the file$"):
        cal.load(path)


def test_a_file_that_is_not_there_is_named_in_words(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"^cannot read .*none\.json: there is no such file$"):
        cal.load(tmp_path / "none.json")


def test_pickles_are_not_read(tmp_path):
    path = tmp_path / "fitted.pkl"
    path.write_bytes(pickle.dumps(cal.Platt().fit([0.2, 0.8], [0, 1])))
    with pytest.raises(ValueError, match="does not hold a calibrator of this package"):
        cal.load(path)


# Files that were changed

VARIABLE = [cal.VariableBased(-1), cal.AugmentedBeta(-1), cal.CalibrationTree([-1]), cal.DecisionTree([-1])]


def places(content, path=()):
    """Every place of a number, name or list in what was written."""
    yield path
    if isinstance(content, (dict, list)):
        for key in content if isinstance(content, dict) else range(len(content)):
            yield from places(content[key], (*path, key))


def changed(content, path, rng):
    """A copy with something else in one place: another number, another kind, nothing, or less."""
    copied = json.loads(json.dumps(content))
    inside = copied
    for key in path[:-1]:
        inside = inside[key]
    if rng.random() < 0.2:
        del inside[path[-1]]
        return copied
    value = inside[path[-1]]
    others = [None, "x", [], {}, float("nan"), 1e308, -1e308, float("inf"), -1, 0, 10**18, True, [1e308] * 3]
    others += [value[:-1], value[::-1], [*value, 1e308]] if isinstance(value, list) else []
    inside[path[-1]] = others[rng.integers(len(others))]
    return copied


@pytest.mark.parametrize("calibrator", [*PLAIN, *OTHERS, *VARIABLE], ids=named)
def test_changed_files_are_refused_or_say_probabilities(calibrator, rows, tmp_path):
    """With the checksum of what they hold: without, no change at all is read."""
    p, y = rows
    X = np.column_stack([p, np.sin(np.arange(300))]) if calibrator in VARIABLE else p
    path = tmp_path / "fitted.json"
    cal.save(calibrator.fit(X, y), path)
    written = json.loads(path.read_text())
    rng, everywhere = np.random.default_rng(0), list(places(written["calibrator"]))[1:]
    for _ in range(40):
        other = changed(written["calibrator"], everywhere[rng.integers(len(everywhere))], rng)
        if json.dumps(other) == json.dumps(written["calibrator"]):
            continue
        path.write_text(json.dumps(written | {"calibrator": other}))
        with pytest.raises(ValueError, match="its checksum is that of other content"):
            cal.load(path)
        path.write_text(json.dumps(sealed(other)))
        try:
            said = cal.load(path).predict_proba(X)
        except ValueError:
            continue
        assert ((said >= 0) & (said <= 1)).all()
        np.testing.assert_allclose(said.sum(axis=1), 1, atol=1e-6)


def test_a_changed_digit_is_noticed(rows, tmp_path):
    path = tmp_path / "fitted.json"
    cal.save(cal.HistogramBinning().fit(*rows), path)
    text = path.read_text()
    for place in range(text.index("calibrator", 40), len(text), 7):
        if text[place].isdigit():
            path.write_text(text[:place] + str((int(text[place]) + 1) % 10) + text[place + 1 :])
            with pytest.raises(ValueError, match="does not hold a calibrator of this package"):
                cal.load(path)


def test_trees_without_an_end_are_refused(rows, tmp_path):
    path = tmp_path / "fitted.json"
    p, y = rows
    cal.save(cal.DecisionTree().fit(p, y), path)
    written = json.loads(path.read_text())["calibrator"]
    for key, value, message in [
        ("left", 0, "without an end"),
        ("right", 10**6, "without an end"),
        ("feature", 9, "not there"),
    ]:
        other = json.loads(json.dumps(written))
        other["state"]["tree_"]["items"][key]["values"][0] = value
        path.write_text(json.dumps(sealed(other)))
        with pytest.raises(ValueError, match=message):
            cal.load(path)


@pytest.mark.parametrize(
    ("calibrator", "key", "value", "message"),
    [
        (cal.Temperature(), "classes_", {"is": "array", "type": "<i8", "values": [0, 2]}, "but gives 3 probabilities"),
        (
            cal.Temperature(),
            "classes_",
            {"is": "array", "type": "<i8", "values": [0, 2, 2]},
            "not an array of distinct labels",
        ),
        (cal.Temperature(), "classes_", [[1]], "not an array of distinct labels"),
        (
            cal.DecisionTree(max_depth=1, ccp_alpha=0),
            "values_",
            {"is": "array", "type": "<f8", "values": [[0, 1]]},
            "not one of values_ for each node",
        ),
        (
            cal.AverageLabels(),
            "values_",
            {"is": "array", "type": "<f8", "values": [[0, 1]]},
            "predictions_ have not one row of values_ each",
        ),
    ],
)
def test_parts_that_do_not_fit_each_other_are_refused(calibrator, key, value, message, tmp_path):
    rng, path = np.random.default_rng(0), tmp_path / "fitted.json"
    cal.save(calibrator.fit(rng.dirichlet([1, 1, 1], 60), np.arange(60) % 3), path)
    written = json.loads(path.read_text())["calibrator"]
    written["state"][key] = value
    path.write_text(json.dumps(sealed(written)))
    with pytest.raises(ValueError, match=message):
        cal.load(path)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"calibrator":' * 100_000 + "1" + "}" * 100_000])
def test_deep_files_are_refused(text, tmp_path):
    path = tmp_path / "deep.json"
    path.write_text(text)
    with pytest.raises(ValueError, match="does not hold a calibrator of this package: it is nested too deeply"):
        cal.load(path)


@pytest.mark.parametrize("text", ["null", "[]", "3", "{}", '{"format": "calibstat calibrator"}'])
def test_other_json_is_refused_in_words(text, tmp_path):
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"it is not what save\(\) writes: an object with format, checksum"):
        cal.load(path)
