"""Calibrators are written and read without executing anything."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pandas as pd
import pytest

from calibstat import calibrators as cal
from calibstat.binnings.intervals import FixedEdges
from calibstat.binnings.simplex import VarianceTree
from calibstat.calibrators._storage import CALIBRATORS

PLAIN = [getattr(cal, name)() for name in CALIBRATORS if name not in ("VariableBased", "AugmentedBeta")]
OTHERS = [
    cal.OneVsRest(cal.Isotonic()),
    cal.HistogramBinning(FixedEdges([0, 0.3, 1])),
    cal.ScalingBinning(cal.Beta()),
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


def content(state):
    return {"format": "calibstat calibrator 1", "calibrator": {"is": "calibrator", "name": "Platt", "state": state}}


@pytest.mark.parametrize(
    "found",
    [
        "no json",
        [],
        {},
        {"format": "another", "calibrator": None},
        {"format": "calibstat calibrator 1", "calibrator": 3},
        {"format": "calibstat calibrator 1", "calibrator": {"is": "calibrator", "name": "os.system", "state": {}}},
        {"format": "calibstat calibrator 1", "calibrator": {"is": "calibrator", "name": "Calibrated", "state": {}}},
        {"format": "calibstat calibrator 1", "calibrator": {"is": "array", "type": "<f8", "values": [1]}},
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


def test_pickles_are_not_read(tmp_path):
    path = tmp_path / "fitted.pkl"
    path.write_bytes(pickle.dumps(cal.Platt().fit([0.2, 0.8], [0, 1])))
    with pytest.raises(ValueError, match="does not hold a calibrator of this package"):
        cal.load(path)
