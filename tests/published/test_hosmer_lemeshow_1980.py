"""Hosmer & Lemeshow (1980) and Pigeon & Heyse (1999) on ten rows in five cells."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import calibstat as cs
from calibstat.estimators.chi_square import HosmerLemeshow, PearsonCE, PigeonHeyse
from published.enumeration import law_of_labels

TEN = cs.Sample([0, 0, 1, 0, 1, 1, 0, 1, 1, 1], np.arange(10) / 10 + 0.05)


def test_hosmer_lemeshow_1980_of_ten_rows():
    found = HosmerLemeshow(5)(TEN)
    assert found.published == pytest.approx(3.20635, abs=5e-6)
    assert found.exact_variance == pytest.approx(3.24843, abs=5e-6)
    assert found.degrees_of_freedom == 5
    assert found.published_pvalue == pytest.approx(0.66821, abs=5e-6)


def test_hosmer_lemeshow_1980_degrees_of_freedom_of_rows_that_were_fitted():
    """g - 2 is for these only; packages that use it by default give 0.36089."""
    found = HosmerLemeshow(5)(TEN)
    assert stats.chi2.sf(found.published, 3) == pytest.approx(0.36089, abs=5e-6)
    assert found.published_pvalue == pytest.approx(stats.chi2.sf(found.published, 5), rel=1e-12)
    assert found.exact_variance_pvalue == pytest.approx(stats.chi2.sf(found.exact_variance, 5), rel=1e-12)


def test_pigeon_heyse_1999_has_as_mean_the_number_of_cells():
    assert PigeonHeyse(5)(TEN) == pytest.approx(3.24843, abs=5e-6)
    for n_bins in (1, 3, 5):
        assert law_of_labels(PigeonHeyse(n_bins), TEN).mean == pytest.approx(n_bins, rel=1e-12)


def test_pigeon_heyse_1999_two_terms_a_cell():
    """Over events and non-events, each with its variance ratio phi."""
    cells = cs.EqualMass(5).cut(TEN.predictions).index
    total = 0.0
    for cell in range(5):
        p, y = TEN.predictions.event[cells == cell], TEN.outcomes[cells == cell]
        phi = (p * (1 - p)).sum() / (len(p) * p.mean() * (1 - p.mean()))
        total += (y.sum() - p.sum()) ** 2 / phi * (1 / p.sum() + 1 / (1 - p).sum())
    assert PigeonHeyse(5)(TEN) == pytest.approx(total, rel=1e-12)


def test_hosmer_lemeshow_1980_is_n_times_the_chi_square_distance():
    assert 10 * PearsonCE(cs.EqualMass(5))(TEN) == pytest.approx(HosmerLemeshow(5)(TEN).published, rel=1e-12)
