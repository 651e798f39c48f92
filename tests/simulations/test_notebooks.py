"""Notebooks show outputs, which are what their code gives now, and end in a decision."""

from __future__ import annotations

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
WIDEST = 96  # letters of code in a line on a page
LARGEST = 300_000


@pytest.fixture(scope="module")
def runner():
    pytest.importorskip("nbclient")
    spec = spec_from_file_location("run_notebooks", FOLDER / "run.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cells_of(path, kind):
    return [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == kind]


@each_notebook
def test_every_cell_was_run_once_in_order_and_without_complaint(path):
    code = cells_of(path, "code")
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    for output in (output for cell in code for output in cell.outputs):
        assert output.output_type != "error"
        assert output.get("name") != "stderr"


@each_notebook
def test_a_reader_sees_a_result_a_picture_and_no_traces_of_a_machine(path, runner):
    shown = "\n".join(map(runner.shown, cells_of(path, "code")))
    assert "picture" in shown
    assert re.search(r"\d\.\d", shown)
    assert not re.search(r"0x[0-9a-f]{6}|/home/|/tmp/|<Figure", shown)


@each_notebook
def test_it_fits_the_page(path):
    assert path.stat().st_size < LARGEST
    for cell in cells_of(path, "code"):
        assert max(map(len, cell.source.splitlines())) <= WIDEST, cell.source


@each_notebook
def test_the_answer_comes_first_and_a_decision_last(path):
    texts = [cell.source for cell in cells_of(path, "markdown")]
    assert texts[0].startswith("# ")
    assert "**Question.**" in texts[0]
    assert "**Answer.**" in texts[0]
    assert texts[-1].startswith("## The decision\n\n**So ")


@each_notebook
def test_its_links_lead_somewhere(path):
    for link in re.findall(r"\]\(([^)#]+)", "\n".join(cell.source for cell in cells_of(path, "markdown"))):
        assert (FOLDER / link).exists(), link


def test_the_pages_name_every_notebook():
    for page in ("README.md", "docs/index.md"):
        text = (FOLDER.parent / page).read_text(encoding="utf-8")
        assert [path.name for path in NOTEBOOKS if f"notebooks/{path.name}" not in text] == [], page


def test_rounding_is_no_difference_but_words_and_numbers_are(runner):
    assert runner.same("p = 0.18 (n = 899)", "p = 0.19 (n = 899)")
    assert runner.same("< 1e-12", "< 1e-12")
    assert runner.same("1234 rows", "1240 rows")
    assert not runner.same("p = 0.18", "p = 0.21")
    assert not runner.same("3e-05", "5e-05")
    assert not runner.same("0.974 happened", "0.974 predicted")
    assert not runner.same("0.1", "0.1 0.2")


def test_cells_that_differ_are_told(runner):
    def notebook(text):
        output = nbformat.v4.new_output("stream", text=text)
        return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("print(answer)", outputs=[output])])

    assert list(runner.differences(notebook("yes, 0.123"), notebook("yes, 0.124"))) == []
    (told,) = runner.differences(notebook("yes, 0.123"), notebook("no, 0.123"))
    assert "print(answer)" in told
    assert "yes, 0.123" in told
    assert "no, 0.123" in told


@pytest.mark.slow
@each_notebook
@pytest.mark.filterwarnings("default")
def test_the_outputs_are_what_the_code_gives_now(path, runner):
    stored = nbformat.read(path, as_version=4)
    assert list(runner.differences(stored, runner.run(path))) == []
