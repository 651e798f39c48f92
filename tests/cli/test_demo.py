"""``calibstat demo`` on data that come with scikit-learn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from calibstat.cli.demo import train

README = " ".join((Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8").split())


@pytest.fixture(scope="module")
def trained():
    return train(0)


def test_the_story_and_the_picture(run, tmp_path, trained, monkeypatch):
    monkeypatch.setattr("calibstat.cli.demo.train", {0: trained}.__getitem__)
    code, out, err = run("demo", "--out", tmp_path / "new")
    picture = tmp_path / "new" / "calibration_demo.png"
    assert (code, err) == (0, "")
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert str(picture) in out
    raw, recalibrated = out.split("Recalibrated: ")
    assert "Evidence of miscalibration at 5 % in " in raw
    assert "Calibration is not rejected at 5 % in 12 tests" in recalibrated
    assert "That no test rejects is no proof of calibration" in " ".join(recalibrated.split())
    assert out.startswith("A random forest gets 95 % of handwritten digits right, but claims 71 % on average: ")
    assert " Of 12 tests 12 reject before, 0 after." in " ".join(out.split("\n\n")[0].split())
    assert "is calibrated" not in out
    assert " ".join(out.split("\n\n")[0].split()) in README


def test_the_same_seed_tells_the_same_story(run, tmp_path, trained, monkeypatch):
    """The forest is the same, and so is what is said of some of its rows."""
    again = train(0)
    assert again.temperature == trained.temperature
    np.testing.assert_array_equal(again.raw.y_prob, trained.raw.y_prob)
    some = np.arange(60)
    few = replace(trained, raw=trained.raw.take(some), recalibrated=trained.recalibrated.take(some))
    monkeypatch.setattr("calibstat.cli.demo.train", lambda seed: few)
    first, second = (run("demo", "--out", tmp_path, "--seed", 3)[1] for _ in range(2))
    assert first == second
    assert "60 to test on" in first


def test_the_rows_tested_are_new_and_the_same(trained):
    assert trained.n_fit + trained.n_recalibrate + len(trained.raw) == 1797
    np.testing.assert_array_equal(trained.raw.outcomes, trained.recalibrated.outcomes)
    np.testing.assert_array_equal(trained.raw.y_prob.argmax(axis=1), trained.recalibrated.y_prob.argmax(axis=1))


def test_recalibration_sharpens_an_averaged_forest(trained):
    assert trained.temperature < 0.6
    raw, recalibrated = (sample.y_prob.max(axis=1).mean() for sample in (trained.raw, trained.recalibrated))
    accuracy = (trained.raw.y_prob.argmax(axis=1) == trained.raw.outcomes).mean()
    assert abs(recalibrated - accuracy) < 0.05 < abs(raw - accuracy)
