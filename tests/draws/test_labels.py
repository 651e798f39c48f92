"""Labels drawn as a calibrated world would."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import calibstat as cs
from calibstat.draws.labels import LabelLaw
from strategies import samples

ALMOST_ONE = np.nextafter(1, 0)


def predictions_of(rows):
    rows = np.atleast_2d(rows)
    return cs.Sample(np.zeros(len(rows), int), rows, labels=range(rows.shape[1])).predictions


def naive(chances, uniform) -> int:
    """The first class whose cumulative chance exceeds the uniform; the last one if rounding leaves none."""
    total = 0.0
    for k, chance in enumerate(chances):
        total += chance
        if uniform < total:
            return k
    return len(chances) - 1


@given(sample=samples((3, 4, 5)), seed=st.integers(0, 2**32 - 1))
def test_uniforms_are_inverted_class_by_class(sample, seed):
    seen = sample.predictions
    uniforms = np.random.Generator(np.random.PCG64(seed)).random((3, len(sample)))
    expected = [[naive(row, u) for row, u in zip(seen.chances.tolist(), line, strict=True)] for line in uniforms]
    np.testing.assert_array_equal(LabelLaw(seen.chances).invert(uniforms), expected)


@pytest.mark.parametrize("n_classes", [2, 3, 10, 33])
def test_labels_have_the_predicted_chances(n_classes):
    rng = np.random.Generator(np.random.PCG64(n_classes))
    rows = rng.dirichlet(np.ones(n_classes), size=4)
    drawn = LabelLaw(predictions_of(rows).chances).invert(rng.random((40_000, 4)))
    assert drawn.min() >= 0
    assert drawn.max() <= n_classes - 1
    for i, row in enumerate(rows):
        seen = np.bincount(drawn[:, i], minlength=n_classes)
        common = row * 40_000 >= 5
        expected = row[common] * seen[common].sum() / row[common].sum()
        assert stats.chisquare(seen[common], expected).pvalue > 1e-3
        wrong = 0.95 * row[common] + 0.05 * (np.arange(common.sum()) == 0)
        wrong *= seen[common].sum() / wrong.sum()
        assert stats.chisquare(seen[common], wrong).pvalue < 1e-6  # the negative control
    together = np.corrcoef(drawn.T.astype(float))[np.triu_indices(4, 1)]
    assert abs(together).max() < 4 / np.sqrt(40_000)


@pytest.mark.parametrize("n_classes", [2, 3, 10, 33])
def test_certain_predictions_are_always_right(n_classes):
    rows = np.eye(n_classes)
    uniforms = np.array([0.0, 1e-300, 0.3, 0.5, ALMOST_ONE])[:, None] * np.ones(n_classes)
    drawn = LabelLaw(predictions_of(rows).chances).invert(uniforms)
    np.testing.assert_array_equal(drawn, np.tile(np.arange(n_classes), (5, 1)))


@pytest.mark.parametrize("n_classes", [2, 3, 4, 5, 7, 8, 9, 10, 33])
def test_impossible_classes_are_never_drawn_even_where_rounding_misses_one(n_classes):
    """Rows like 1/3, 1/3, 1/3, 0: the cumulative sum may end below one, and the last class is impossible."""
    rng = np.random.Generator(np.random.PCG64(1))
    parts = rng.integers(0, 4, (200, n_classes)).astype(float)
    parts[parts.sum(axis=1) == 0, 0] = 1
    parts[:, -1] = np.where(parts[:, :-1].sum(axis=1) > 0, 0, parts[:, -1])
    rows = parts / parts.sum(axis=1, keepdims=True)
    law = LabelLaw(predictions_of(rows).chances)
    for uniform in (0.0, 0.5, 1 - 1e-15, ALMOST_ONE):
        drawn = law.invert(np.full((1, 200), uniform))[0]
        assert (rows[np.arange(200), drawn] > 0).all()


def test_rows_off_one_are_drawn_from_normalised():
    seen = cs.Sample([0], [[0.50003, 0.25, 0.25]], labels=[0, 1, 2]).predictions
    np.testing.assert_array_equal(seen.probabilities, [[0.50003, 0.25, 0.25]])
    np.testing.assert_allclose(seen.chances.sum(), 1, atol=1e-15)
    middle = 0.50003 / 1.00003
    drawn = LabelLaw(seen.chances).invert(np.array([[middle - 1e-9], [middle + 1e-9]]))
    assert drawn[:, 0].tolist() == [0, 1]


def test_leading_axes_are_kept():
    law = LabelLaw(predictions_of([[0.2, 0.3, 0.5]] * 4).chances)
    assert law.invert(np.zeros((2, 3, 4))).shape == (2, 3, 4)
