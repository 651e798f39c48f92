"""What a notebook shows of a picture that is the first thing drawn in it."""

from __future__ import annotations

import pytest

from suites import slow_but

FIRST = """
import calibstat as cs
sample = cs.Sample([0, 1, 2, 0], [[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.1, 0.3, 0.6], [0.4, 0.4, 0.2]])
"""
DRAWN = {
    "side by side": "cs.side_by_side(cs.ReliabilityDisplay.of_classes(sample, cs.EqualMass(2)))",
    "a display": "cs.ReliabilityDisplay.compute(sample, cs.EqualMass(2), lens=cs.TopLabel()).plot();",
}


@pytest.mark.parametrize("name", slow_but(["a display"], DRAWN))
def test_the_first_picture_is_shown_once(name, monkeypatch):
    monkeypatch.delenv("MPLBACKEND", raising=False)
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    cell = nbformat.v4.new_code_cell(FIRST + DRAWN[name])
    nbclient.NotebookClient(nbformat.v4.new_notebook(cells=[cell]), timeout=120, kernel_name="python3").execute()
    assert len([output for output in cell.outputs if "image/png" in output.get("data", {})]) == 1
