"""The page that compares calibstat with other packages says what calibstat gives today, with none of them installed."""

from __future__ import annotations

import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

import calibstat as cs

DOCS = Path(__file__).resolve().parents[1] / "docs"
TEXT = (DOCS / "peers.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def peers():
    spec = spec_from_file_location("docs_peers", DOCS / "peers.py")
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def rows(text):
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in text.splitlines() if line[:1] == "|"][
        2:
    ]


def between(mark):
    return re.search(rf"<!-- {mark} -->(.*?)<!-- /{mark} -->", TEXT, re.DOTALL)[1]


def test_the_numbers_of_the_page_are_those_of_today(peers):
    """Up to the last digit but one: a classifier that is fitted anew may differ by rounding."""
    said, found = rows(between("data sets")), rows(peers.own_numbers())
    assert len(said) == 10
    for before, now in zip(said, found, strict=True):
        assert before[:3] == now[:3]
        assert [float(each) for each in before[3:]] == pytest.approx([float(each) for each in now[3:]], abs=2e-5)


def test_every_comparison_is_on_the_page(peers):
    said = [tuple(row[:2]) for row in rows(between("comparisons"))]
    assert said == [(each.quantity, each.package) for each in peers.COMPARISONS]
    assert all(row[3].startswith("below") or (len(row) == 5 and row[4]) for row in rows(between("comparisons")))


def test_rules_without_a_defect_give_the_numbers_of_calibstat(peers):
    """The rules are those of the definition where nothing lies on an edge."""
    data = next(each for each in peers.data_sets() if each.name == "continuous")
    ours = cs.ECE(cs.EqualWidth(10))(data.sample)
    for comparison in peers.COMPARISONS:
        if comparison.quantity == "ECE" and comparison.rule is not None and "num_bins=10" not in comparison.package:
            assert comparison.rule(data) == pytest.approx(ours, abs=1e-12), comparison.package


def test_a_difference_that_no_rule_explains_stops_the_script(peers):
    wrong = peers.Comparison("ECE", "another", peers.TEN, lambda data: 0.5, rule=lambda data: 0.4)
    with pytest.raises(SystemExit, match=r"ECE of another on 'continuous' is 0\.5"):
        peers.compared(wrong)
    right = peers.Comparison("ECE", "another", peers.TEN, lambda data: 0.5, rule=lambda data: 0.5, why="it is wrong")
    assert peers.compared(right)[2] == f"0 of {sum(each.kind == peers.TWO for each in peers.data_sets())}"
    assert peers.compared(right)[4].endswith(": it is wrong")


def test_edges_are_floats_of_linspace():
    edges = np.linspace(0, 1, 11)
    p = np.r_[edges, np.nextafter(edges[1:], 0)]
    found = cs.EqualWidth(10).cut(cs.Sample(np.arange(21) % 2, p).predictions)
    counts = np.bincount(np.r_[np.minimum(np.arange(11), 9), np.arange(10)])
    np.testing.assert_array_equal(np.diff(found.starts), counts)
    assert edges[3] > 0.3
