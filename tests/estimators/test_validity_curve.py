"""Validity curves against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibstat as cs
from calibstat.estimators.validity_curve import AUCV, NeighborAUCV
from registry import make_sample
from strategies import samples


def naive_deviations(sample, k, include_self):
    p = sample.predictions.event
    weights = np.ones(len(p)) if sample.predictions.weights is None else sample.predictions.weights
    found = []
    for i in range(len(p)):
        others = [j for j in range(len(p)) if include_self or j != i]
        distances = sorted(abs(p[j] - p[i]) for j in others)
        mean = 0.0
        if others:
            farthest = distances[min(k, len(distances)) - 1]
            near = [j for j in others if abs(p[j] - p[i]) <= farthest + 1e-12]
            total = sum(weights[j] for j in near)
            mean = sum(weights[j] * sample.outcomes[j] for j in near) / total if total > 0 else 0.0
        found.append(abs(mean - p[i]))
    return np.array(found), weights


@given(sample=samples((2,)), k=st.integers(1, 12), include_self=st.booleans())
def test_nearest_neighbours_agree_with_a_plain_loop(sample, k, include_self):
    deviations, weights = naive_deviations(sample, k, include_self)
    found = NeighborAUCV(k, include_self)(sample)
    np.testing.assert_allclose(found, 1 - np.average(deviations, weights=weights), rtol=1e-9, atol=1e-12)


@given(sample=samples((2, 3, 4)), tolerance=st.floats(0, 1))
def test_the_curve_is_the_share_of_rows_within_the_tolerance(sample, tolerance):
    rows = sample.predictions.probabilities
    weights = np.ones(len(rows)) if sample.predictions.weights is None else sample.predictions.weights
    inside = 0.0
    for i in range(len(rows)):
        same = np.flatnonzero(np.abs(rows - rows[i]).max(axis=1) <= 1e-12)
        if weights[same].sum() > 0:
            share = [weights[same][sample.outcomes[same] == k].sum() for k in range(rows.shape[1])]
            gaps = np.abs(np.array(share) / weights[same].sum() - np.average(rows[same], axis=0, weights=weights[same]))
            size = gaps[-1] if rows.shape[1] == 2 else gaps.sum() / 2
            inside += weights[i] * (size <= tolerance + 1e-11)
    curve = AUCV().curve(sample)
    near = np.abs(curve.deviation - tolerance).min() < 1e-9
    assert near or float(curve(tolerance)) == pytest.approx(inside / weights.sum(), abs=1e-9)
    assert curve.area == pytest.approx(AUCV()(sample), abs=1e-9)


def test_the_area_is_one_minus_the_binned_error():
    sample = make_sample(2, seed=1)
    assert AUCV(cs.EqualMass(5))(sample) == pytest.approx(1 - cs.ECE(cs.EqualMass(5))(sample), abs=1e-14)


@pytest.mark.parametrize(
    ("k", "naive"), [(1, lambda y, p: 1 - abs(y - p).mean()), (40, lambda y, p: 1 - abs(y.mean() - p).mean())]
)
def test_one_neighbour_and_all_of_them(k, naive):
    sample = make_sample(2, seed=2)
    assert NeighborAUCV(k)(sample) == pytest.approx(naive(sample.outcomes, sample.predictions.event), abs=1e-12)


def test_small_areas_are_evidence():
    rng = np.random.Generator(np.random.PCG64(0))
    p = rng.random(400)
    off, right = cs.Sample(rng.random(400) < p**3, p), cs.Sample(rng.random(400) < p, p)
    for estimator in (AUCV(cs.EqualMass(10)), NeighborAUCV(40)):
        assert cs.calibration_test(off, estimator, rng=0).pvalue < 0.01
        assert cs.calibration_test(right, estimator, rng=0).pvalue > 0.02


def test_more_classes_need_a_lens_for_neighbours():
    with pytest.raises(ValueError, match="needs 2 classes"):
        NeighborAUCV(3)(make_sample(3))
    assert 0 < (cs.TopLabel() | NeighborAUCV(3))(make_sample(3)) < 1
    assert len(NeighborAUCV(3).curve(make_sample(2)).share) == 40


@pytest.mark.parametrize("k", [0, -1])
def test_there_is_at_least_one_neighbour(k):
    with pytest.raises(ValueError, match="n_neighbors"):
        NeighborAUCV(k)
