"""What pages and type stubs list is what the code holds; ``python docs/generate.py`` writes it anew."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

import calibstat as cs
from calibstat._names import GROUPS
from calibstat.data.checks import examine

PATH = Path(__file__).resolve().parents[1] / "docs" / "generate.py"


@pytest.fixture(scope="module")
def generate():
    found = importlib.util.spec_from_file_location("docs_generate", PATH)
    module = importlib.util.module_from_spec(found)
    sys.modules[found.name] = module
    found.loader.exec_module(module)
    return module


def test_lists_are_those_of_the_code(generate):
    differences = generate.out_of_date()
    assert not differences, "out of date; `python docs/generate.py` mends it:\n" + "\n".join(differences)


def test_a_name_that_is_added_is_missed(generate, monkeypatch):
    monkeypatch.setitem(cs._MODULES, "data.checks", ["examine"])
    line = "calibstat/__init__.pyi: + from calibstat.data.checks import examine as examine"
    assert line in generate.out_of_date()
    monkeypatch.setitem(GROUPS["Samples and ledgers"], "data.checks", ["examine"])
    monkeypatch.setattr(cs, "examine", examine, raising=False)
    assert any(line.startswith("docs/api.md: + | `examine` |") for line in generate.out_of_date())


def test_a_number_that_is_quoted_wrongly_is_found(generate, monkeypatch):
    from calibstat.binnings import intervals

    monkeypatch.setattr(intervals, "_ROWS_FOR_HISTOGRAM", 50_000)
    found = "\n".join(generate.out_of_date())
    assert "docs/engine.md: + From 50 000 rows on `EqualMass` finds" in found


def test_marks_and_words_that_are_not_there_are_named(generate):
    with pytest.raises(ValueError, match=r"formulas.md lacks the marks <!-- estimators -->"):
        generate.with_lists("docs/formulas.md", "no marks")
    with pytest.raises(ValueError, match=r"does not say 'From \{\} rows"):
        generate.QUOTED[0].written_into("no such sentence")


def test_papers_are_read_from_docstrings(generate):
    assert generate.papers(cs.ECE) == "Naeini et al. 2015; Guo et al. 2017; Kumar et al. 2019; Lee et al. 2023"
    assert generate.papers(cs.CORP) == "Dimitriadis, Gneiting & Jordan 2021"
