"""Results as LaTeX: the printed table with the verdict as caption, escaped."""

from __future__ import annotations

import re

import numpy as np
import pytest

import calibstat as cs

SPECIAL = ["R&D_1", "5 % #2"]


def sample():
    p = np.linspace(0.05, 0.95, 120)
    return cs.Sample(np.arange(120) % 3 == 0, p, variables={"site": SPECIAL * 60})


def unescaped(text):
    """The text that LaTeX shows."""
    named = {"less": "<", "greater": ">"}
    text = re.sub(r"\\text(less|greater)\{\}", lambda found: named[found[1]], text)
    return re.sub(r"\\([&%$#_{}])", r"\1", text)


def audit():
    return cs.subgroup_audit(sample(), "site", n_resamples=19, rng=0)


def models():
    raw = sample()
    return cs.compare_models(
        {"R&D_1": raw, "5 % #2": cs.Sample(raw.y_true, raw.y_prob[:, 1] / 2)}, cs.BrierScore(), n_resamples=99, rng=0
    )


def one():
    return cs.calibration_test(sample(), cs.ECE(cs.EqualMass(5)), n_resamples=19, rng=0)


@pytest.mark.parametrize("result", [audit, models, one])
def test_tables_are_whole_and_escaped(result):
    found = result()
    text = found.to_latex()
    begin, *lines = text.splitlines()
    assert begin == r"\begin{table}"
    assert lines[-1] == r"\end{table}"
    assert [text.count(rf"\{rule}rule") for rule in ("top", "bottom")] == [1, 1]
    assert not re.search(r"(?<!\\)[%#_$^~<>|]", text.replace("0.75", ""))
    columns = len(re.search(r"\\begin\{tabular\}\{([lrp]+)", text)[1])
    rows = [line for line in lines if line.endswith(r"\\")]
    assert {len(re.split(r"(?<!\\)&", row)) for row in rows} == {columns}
    assert len(rows) > 1
    caption = re.search(r"\\caption\{(.*)\}", text)[1]
    assert unescaped(caption) == found.verdict


def test_names_from_data_are_escaped():
    text = audit().to_latex()
    assert r"R\&D\_1" in text
    assert r"5 \% \#2" in text
    assert r"\midrule" in text
    assert text.count("R&D") == 0


def test_a_table_shows_what_is_printed():
    found = models()
    printed = str(found)
    for row in re.findall(r"^(.*) \\\\$", found.to_latex(), re.MULTILINE):
        for cell in re.split(r"(?<!\\)&", row):
            assert unescaped(cell).strip() in printed


def test_a_result_without_a_table_gives_its_numbers():
    text = cs.estimate(sample(), cs.HistogramRegression(cs.EqualMass(5)), n_resamples=19, rng=0).to_latex()
    assert r"\begin{tabular}{lp{0.75\linewidth}}" in text
    assert r"\midrule" not in text
    assert "data & n = 120" in text


def test_a_test_is_a_table_of_one_row():
    text = one().to_latex()
    assert "noise alone & p & rows" in text
    assert "ECE(" not in text
