"""The page that compares calibstat with other packages says what calibstat gives today, with none of them installed."""

from __future__ import annotations

import re
import sys
import tomllib
import warnings
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

import calibstat as cs

DOCS = Path(__file__).resolve().parents[1] / "docs"
TEXT = (DOCS / "peers.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def peers():
    path = str(DOCS)
    if path not in sys.path:
        sys.path.append(path)  # its parts import each other, as when the script is run
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


def every_row(peers):
    return [row for mark in peers.TABLES for row in rows(between(mark))]


def every_comparison(peers):
    return [each for comparisons in peers.TABLES.values() for each in comparisons]


def test_the_numbers_of_the_page_are_those_of_today(peers):
    """Up to the last digit but one: a classifier that is fitted anew may differ by rounding."""
    said, found = rows(between("data sets")), rows(peers.own_numbers())
    assert len(said) == 10
    for before, now in zip(said, found, strict=True):
        assert before[:3] == now[:3]
        assert [float(each) for each in before[3:]] == pytest.approx([float(each) for each in now[3:]], abs=2e-5)


def test_every_comparison_is_on_the_page(peers):
    for mark, comparisons in peers.TABLES.items():
        said = [tuple(row[:2]) for row in rows(between(mark))]
        assert said == [(each.quantity, each.package) for each in comparisons]
    assert all(row[3].startswith("below") or (len(row) == 5 and row[4]) for row in every_row(peers))


def test_no_comparison_is_there_twice_and_every_reason_is_needed(peers):
    said = [tuple(row[:2]) for row in every_row(peers)]
    assert len(said) == len(set(said))
    for row, comparison in zip(every_row(peers), every_comparison(peers), strict=True):
        differs = not row[3].startswith("below")
        assert differs == (comparison.rule is not None) == bool(comparison.why), comparison
        assert bool(comparison.without) == bool(comparison.because), comparison


def test_the_sum_of_the_tables_is_on_the_page(peers):
    assert peers.summary(every_row(peers)) == between("summary").strip()


def test_the_page_counts_its_packages(peers):
    assert f"{len(peers.PACKAGES)} other packages" in TEXT
    assert all(f"{name} " in between("versions") for name in peers.PACKAGES)


def test_packages_that_are_compared_can_be_installed_by_the_extra(peers):
    extra = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [*extra["optional-dependencies"]["peers"], *extra["dependencies"]]
    known = {re.split(r"[<>=\[]", each)[0].lower() for each in named}
    assert {name.lower() for name in peers.PACKAGES} <= known


def test_where_numbers_are_equal_the_rule_gives_the_number_of_calibstat(peers):
    """Which the other package also gives there: so rules are held to more than the differences that they explain."""
    checked = 0
    for row, comparison in zip(every_row(peers), every_comparison(peers), strict=True):
        remark = row[4].split("; not compared")[0] if len(row) == 5 else ""
        if comparison.rule is None or remark.startswith("everywhere") or "torch" in comparison.rule.__code__.co_names:
            continue
        for data in peers.data_sets():
            if data.kind not in comparison.kinds or data.name in comparison.without or f"*{data.name}*" in remark:
                continue
            if len(data.y) <= 2000:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    ours, found = peers.numbers(comparison.ours(data.sample)), peers.numbers(comparison.rule(data))
                assert peers.agree(found, ours, comparison.within), (comparison.quantity, comparison.package, data.name)
                checked += 1
    assert checked > 80


def test_a_difference_that_no_rule_explains_stops_the_script(peers):
    wrong = peers.Comparison("ECE", "another", peers.TEN, lambda data: 0.5, rule=lambda data: 0.4)
    with pytest.raises(SystemExit, match=r"ECE of another on 'continuous' is 0\.5"):
        peers.compared(wrong)
    right = peers.Comparison("ECE", "another", peers.TEN, lambda data: 0.5, rule=lambda data: 0.5, why="it is wrong")
    assert peers.compared(right)[2] == f"0 of {sum(each.kind == 'two classes' for each in peers.data_sets())}"
    assert peers.compared(right)[4] == "everywhere: it is wrong"


def test_curves_of_other_lengths_differ_and_large_numbers_are_equal_up_to_their_size(peers):
    assert not peers.agree(np.zeros(2), np.zeros(3), 1e-9)
    assert peers.agree(np.array([1e6 + 1e-4, np.inf, np.nan]), np.array([1e6, np.inf, np.nan]), 1e-9)
    assert not peers.agree(np.array([1e6 + 1e-2]), np.array([1e6]), 1e-9)
    assert not peers.agree(np.array([0.1]), np.array([np.nan]), 1e-9)
    assert peers.shown([np.inf, 1.0], 1e-9) == "infinite"
    assert peers.shown([np.nan, 1.0], 1e-9) == "not a number"
    assert peers.shown([], 1e-6) == "below 1e-06"


def test_edges_are_floats_of_linspace():
    edges = np.linspace(0, 1, 11)
    p = np.r_[edges, np.nextafter(edges[1:], 0)]
    found = cs.EqualWidth(10).cut(cs.Sample(np.arange(21) % 2, p).predictions)
    counts = np.bincount(np.r_[np.minimum(np.arange(11), 9), np.arange(10)])
    np.testing.assert_array_equal(np.diff(found.starts), counts)
    assert edges[3] > 0.3
