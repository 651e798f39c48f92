"""Hosmer & Lemeshow (1980) and Pigeon & Heyse (1999) on ten rows in five cells."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

import calibstat as cs
from calibstat.estimators.chi_square import HosmerLemeshow, PearsonCE, PigeonHeyse
from published.enumeration import law_of_labels

TEN = cs.Sample([0, 0, 1, 0, 1, 1, 0, 1, 1, 1], np.arange(10) / 10 + 0.05)


def test_hosmer_lemeshow_1980_of_ten_rows():
    found = HosmerLemeshow(5)(TEN)
    assert found.published == pytest.approx(3.20635, abs=5e-6)
    assert found.exact_variance == pytest.approx(3.24843, abs=5e-6)
    assert found.degrees_of_freedom == 5
    assert found.published_chi_square_pvalue == pytest.approx(0.66821, abs=5e-6)


def test_hosmer_lemeshow_1980_degrees_of_freedom_of_rows_that_were_fitted():
    """g - 2 is for these only; packages that use it by default give 0.36089."""
    found = HosmerLemeshow(5, df="g - 2")(TEN)
    assert found.published_chi_square_pvalue == pytest.approx(0.36089, abs=5e-6)
    assert (HosmerLemeshow(5, "g - 1")(TEN).degrees_of_freedom, HosmerLemeshow(5, 7)(TEN).degrees_of_freedom) == (4, 7)
    by_law = cs.calibration_test(TEN, HosmerLemeshow(5, "g - 2"), null=cs.Asymptotic()).pvalue
    assert by_law == pytest.approx(stats.chi2.sf(found.exact_variance, 3), rel=1e-12)
    assert found.exact_variance_chi_square_pvalue == pytest.approx(by_law, rel=1e-12)
    exact = [cs.calibration_test(TEN, HosmerLemeshow(5, df)).pvalue for df in ("g", "g - 2")]
    assert exact[0] == exact[1]


def test_no_degree_of_freedom_is_no_pvalue():
    found = HosmerLemeshow(2, "g - 2")(TEN)
    assert np.isnan(found.published_chi_square_pvalue)
    with pytest.raises(ValueError, match="no large-sample law here"):
        cs.calibration_test(TEN, HosmerLemeshow(2, "g - 2"), null=cs.Asymptotic())
    certain = HosmerLemeshow(1)(cs.Sample([0, 1], [0.0, 1.0]))
    assert (certain.degrees_of_freedom, certain.published_chi_square_pvalue) == (0, 1)


def uniforms_of_r(seed: int) -> Iterator[float]:
    """What ``set.seed(seed); runif(...)`` gives in R: the Mersenne twister, seeded as R does."""
    words = []
    for _ in range(50 + 625):
        seed = (69069 * seed + 1) % 2**32
        words.append(seed)
    twister = np.random.MT19937()
    twister.state = {"bit_generator": "MT19937", "state": {"key": np.array(words[51:], dtype=np.uint32), "pos": 624}}
    while True:
        yield int(twister.random_raw()) * 2.3283064365386963e-10


def normal_of_r(uniforms: Iterator[float]) -> float:
    """What ``rnorm(1)`` gives: by inversion, from two uniform numbers."""
    first = int(2**27 * next(uniforms))
    return float(stats.norm.ppf((first + next(uniforms)) / 2**27))


def test_bartlett_2014_hoslem_test_of_r_has_x_squared_7_4866_df_8_and_p_0_4851():
    """thestatsgeek.com: ``set.seed(43657); n <- 100; x <- rnorm(n); y <- 1 * (runif(n) < plogis(x))``, ten groups."""
    assert normal_of_r(uniforms_of_r(1)) == pytest.approx(-0.6264538, abs=5e-8)
    stream = uniforms_of_r(43657)
    x = np.array([normal_of_r(stream) for _ in range(100)])
    y = np.array([next(stream) for _ in range(100)]) < expit(x)
    fitted = LogisticRegression(C=np.inf, tol=1e-10).fit(x[:, None], y).predict_proba(x[:, None])[:, 1]
    found = HosmerLemeshow(cs.Quantiles(10), df="g - 2")(cs.Sample(y, fitted))
    assert found.published == pytest.approx(7.4866, abs=5e-5)
    assert found.degrees_of_freedom == 8
    assert found.published_chi_square_pvalue == pytest.approx(0.4851, abs=5e-5)


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
