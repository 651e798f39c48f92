"""Lee, Huang, Hassani & Dobriban (2023), "T-Cal": the debiased plug-in as a U-statistic, and what it is compared to."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from published.enumeration import law_of_labels

TEN = cs.Sample([0, 0, 1, 0, 1, 1, 0, 1, 1, 1], np.arange(10) / 10 + 0.05)
binnings = pytest.mark.parametrize("binning", [cs.EqualWidth(5), cs.EqualMass(5)], ids=repr)


@binnings
def test_lee_2023_debiased_plug_in_of_ten_rows(binning):
    """Their denominator is N_b, which gives -0.01625 with two rows in each cell; N_b - 1 is the unbiased one."""
    assert cs.DebiasedL2(binning)(TEN) == pytest.approx(-0.0325, abs=1e-12)
    assert cs.DebiasedL2(binning, denominator="counts")(TEN) == pytest.approx(-0.01625, abs=1e-12)


def test_lee_2023_section_4_of_unequal_cells():
    """The sum over cells of (sum of residuals)^2 - (sum of their squares), over N_b, and over N."""
    residual = TEN.outcomes - TEN.predictions.event
    parts = [(part.sum() ** 2 - (part**2).sum()) / len(part) for part in (residual[:3], residual[3:])]
    cells = cs.FixedEdges([0, 0.3, 1])
    assert cs.DebiasedL2(cells, "counts")(TEN) == pytest.approx(sum(parts) / 10, abs=1e-14)
    with pytest.raises(ValueError, match=r"denominator is 'rows'; it must be 'pairs' or 'counts'"):
        cs.DebiasedL2(cells, "rows")


@binnings
def test_kumar_2019_definition_4_1_debiased_error_of_ten_rows(binning):
    assert cs.DebiasedCE(binning)(TEN) == pytest.approx(-0.03, abs=1e-12)
    assert cs.RMSCE(binning)(TEN) ** 2 == pytest.approx(0.07, abs=1e-12)
    assert cs.ECE(binning)(TEN) == pytest.approx(0.22, abs=1e-12)


@binnings
def test_broecker_2012_corrected_reliability_of_ten_rows(binning):
    """Ferro & Fricker (2012) and Broecker (2012) take the same variance out of the reliability term."""
    cells = cs.HistogramRegression(binning)(TEN).sel(label=1)
    count, rate = cells["count"].values, cells["mean_outcome"].values
    correction = (count * rate * (1 - rate) / (count - 1)).sum() / 10
    assert cs.RMSCE(binning)(TEN) ** 2 - correction == pytest.approx(cs.DebiasedCE(binning)(TEN), abs=1e-14)


def test_lee_2023_unbiased_where_kumar_2019_is_not():
    """Scores and chances that vary inside a cell, all labels enumerated."""
    scores, chance = np.array([0.2, 0.3, 0.5, 0.6]), np.array([0.1, 0.6, 0.5, 0.9])
    sample = cs.Sample([0, 0, 1, 1], scores)
    chances = np.column_stack([1 - chance, chance])
    residual = chance - scores
    truth = (residual.sum() ** 2 - (residual**2).sum()) / 12
    one_cell = cs.FixedEdges([0, 1])
    assert law_of_labels(cs.DebiasedL2(one_cell), sample, chances).mean == pytest.approx(truth, abs=1e-14)
    assert law_of_labels(cs.DebiasedCE(one_cell), sample, chances).mean != pytest.approx(truth, abs=1e-3)
