"""What a notebook shows: samples, estimators and monitors as HTML, escaped, with the numbers that they hold."""

from __future__ import annotations

import re

import numpy as np
import pytest

import calibstat as cs
from calibstat._screen import table_html


def cells(page: str) -> list[list[str]]:
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", page)]


def test_a_sample_shows_what_happened_and_was_predicted_of_each_class():
    sample = cs.Sample(["a", "b", "b", "<i>"], [[0.5, 0.3, 0.2]] * 4, labels=["a", "b", "<i>"])
    page = sample._repr_html_()
    assert cells(page) == [
        ["class", "rows", "happened", "predicted"],
        ["a", "1", "0.25", "0.5"],
        ["b", "2", "0.5", "0.3"],
        ["&lt;i&gt;", "1", "0.25", "0.2"],
    ]
    assert "Sample of 4 rows, 3 classes." in page


@pytest.mark.parametrize("unit", [1, 1e300, 1e-300])
def test_weights_count_rows(unit):
    sample = cs.Sample([0, 1, 1], [0.2, 0.5, 0.8], sample_weight=np.array([2, 1, 1]) * unit, groups=[1, 1, 2])
    assert cells(sample._repr_html_())[1:] == [["0", "1", "0.5", "0.575"], ["1", "2", "0.5", "0.425"]]
    assert "3 rows, 2 classes, with weights, in 2 clusters." in sample._repr_html_()


def test_counts_show_what_their_rows_do():
    p, counts = [0.2, 0.5, 0.8], [[8, 2], [3, 4], [1, 9]]
    counted = cs.Sample.from_counts(p, counts)
    rows = cs.Sample(np.repeat([0, 1] * 3, np.ravel(counts)), np.repeat(p, np.sum(counts, axis=1)))
    assert cells(counted._repr_html_()) == cells(rows._repr_html_())


def test_many_classes_and_variables_stay_short():
    y, n = np.arange(60) % 30, 60
    sample = cs.Sample(y, np.full((n, 30), 1 / 30), variables={"age": np.arange(n)})
    page = sample._repr_html_()
    assert len(cells(page)) == 21
    assert "note: 10 more classes not shown" in page
    assert "note: variables: age" in page
    assert cells(cs.TopLabel()(sample)._repr_html_())[2] == ["top", "2", "0.0333", "0.0333"]


def test_an_estimator_says_what_it_measures():
    page = (cs.Given("<b>") | cs.ECE(cs.EqualMass(10)))._repr_html_()
    assert page == (
        "<div><p>Given(&#x27;&lt;b&gt;&#x27;) | ECE(binning=EqualMass(n_bins=10))</p>"
        "<p>average calibration error (ECE, in cells)</p></div>"
    )


def test_a_monitor_shows_its_answer():
    monitor = cs.Monitor()
    assert f"<p>{monitor.verdict}</p>" in monitor._repr_html_()


def test_short_numbers_are_not_broken():
    page = table_html([["a", "< 1e-12", "0.0045 to 0.024", "0.5"]], range(4), (0,))
    assert page == (
        '<table><tr><td style="text-align: left">a</td><td style="white-space: nowrap">&lt; 1e-12</td>'
        "<td>0.0045 to 0.024</td><td>0.5</td></tr></table>"
    )
