"""Notebooks run from top to bottom, and no outputs are stored."""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])


def code_of(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def test_there_are_notebooks():
    assert NOTEBOOKS


@each_notebook
def test_no_outputs_are_stored(path):
    for cell in code_of(path):
        assert cell["outputs"] == []
        assert cell["execution_count"] is None


@each_notebook
def test_the_code_runs(path):
    namespace = {}
    for cell in code_of(path):
        exec(compile("".join(cell["source"]), path.name, "exec"), namespace)
    plt.close("all")


@pytest.mark.slow
@each_notebook
@pytest.mark.filterwarnings("default")
def test_the_notebook_runs_in_a_kernel(path):
    pytest.importorskip("ipykernel")
    preprocessors = pytest.importorskip("nbconvert.preprocessors")
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.read(path, as_version=4)
    runner = preprocessors.ExecutePreprocessor(timeout=300)
    runner.preprocess(notebook, {"metadata": {"path": str(path.parents[1])}})
    assert any(cell.get("outputs") for cell in notebook.cells if cell.cell_type == "code")
