"""Smooth calibration errors: exactness, accuracy, and how they move."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.stats import norm

import calibstat as cs
from calibstat.estimators.smooth import SmoothCE, SmoothECE, isotonic_median_distance
from calibstat.generators import FinitePredictions
from suites import examples, slow_but


def made(n, seed, law=lambda p: p, power=1.0):
    rng = np.random.Generator(np.random.PCG64(seed))
    p = rng.random(n) ** power
    return cs.Sample((rng.random(n) < law(p)).astype(int), p, labels=[0, 1])


def programme(places, gains):
    """The linear programme of smooth CE."""
    order = np.argsort(places)
    places, gains = places[order], gains[order]
    step = np.diff(np.eye(len(places)), axis=0)
    above, limits = np.vstack([step, -step]), np.tile(np.diff(places), 2)
    return -linprog(-gains, A_ub=above, b_ub=limits, bounds=(-1, 1)).fun


@pytest.mark.parametrize("seed", range(40))
def test_smooth_ce_solves_the_linear_programme(seed):
    rng = np.random.Generator(np.random.PCG64(seed))
    n = int(rng.integers(2, 60))
    p = [rng.random(n), np.round(rng.random(n), 1), rng.beta(0.2, 0.2, n)][seed % 3]
    sample = cs.Sample((rng.random(n) < p ** rng.choice([1, 1, 3])).astype(int), p, labels=[0, 1])
    assert SmoothCE()(sample) == pytest.approx(programme(p, (sample.outcomes - p) / n), abs=1e-7)


@given(data=st.data(), m=st.integers(1, 9))
@examples(60)
def test_isotonic_median_distance_is_the_least(data, m):
    """Against all non-decreasing sequences of the values themselves, among which there is a best one."""
    values = np.array(data.draw(st.lists(st.integers(-4, 4), min_size=m, max_size=m)), dtype=float)
    weights = np.array(data.draw(st.lists(st.sampled_from([0.0, 0.5, 1, 2]), min_size=m, max_size=m)))
    best = dict.fromkeys(sorted(set(values)), 0.0)
    for value, weight in zip(values, weights, strict=True):
        least = np.minimum.accumulate(list(best.values()))
        best = {level: low + weight * abs(value - level) for level, low in zip(best, least, strict=True)}
    assert isotonic_median_distance(values, weights) == pytest.approx(min(best.values()), abs=1e-12)


def test_isotonic_median_distance_of_many_sequences():
    rng = np.random.Generator(np.random.PCG64(0))
    values, weights = rng.normal(size=(3, 4, 17)), rng.random(17)
    found = isotonic_median_distance(values, weights)
    for index in np.ndindex(3, 4):
        assert found[index] == pytest.approx(float(isotonic_median_distance(values[index], weights)), abs=1e-14)
    np.testing.assert_array_equal(isotonic_median_distance(np.sort(values), weights), np.zeros((3, 4)))
    assert isotonic_median_distance(np.zeros((2, 0)), np.zeros(0)).tolist() == [0, 0]


@given(seed=st.integers(0, 1000), shift=st.floats(0, 0.05))
def test_smooth_ce_moves_little_when_predictions_do(seed, shift):
    """By at most twice the move: that is what makes it a smooth measure."""
    rng = np.random.Generator(np.random.PCG64(seed))
    p, y = rng.random(30) * 0.9, rng.integers(0, 2, 30)
    moved = p + shift * rng.random(30)
    value, other = (SmoothCE()(cs.Sample(y, each, labels=[0, 1])) for each in (p, moved))
    assert abs(value - other) <= 2 * shift + 1e-12


def test_plain_ece_jumps_where_smooth_errors_do_not():
    y = [0, 1] * 50
    together, apart = np.full(100, 0.5), 0.5 + 1e-6 * (2 * np.tile([0, 1], 50) - 1)
    unique = cs.ECE(cs.UniqueValues())
    assert unique(cs.Sample(y, apart)) - unique(cs.Sample(y, together)) > 0.49
    for estimator in (SmoothCE(), SmoothECE()):
        assert estimator(cs.Sample(y, apart)) - estimator(cs.Sample(y, together)) < 2e-3


def integral(sample, bandwidth):
    """The definition, on a fine grid with images of the kernel."""
    t = np.linspace(0, 1, 100_001)
    height, p = np.zeros_like(t), sample.predictions.event
    for place, gain in zip(p, (sample.outcomes - p) / len(p), strict=True):
        for centre in {place + 2 * k for k in range(-2, 3)} | {2 * k - place for k in range(-2, 3)}:
            near = np.abs(t - centre) < 12 * bandwidth
            height[near] += gain * norm.pdf(t[near], centre, bandwidth)
    size = np.abs(height)
    return (size.sum() - (size[0] + size[-1]) / 2) / 100_000


@pytest.mark.parametrize("bandwidth", slow_but(lambda each: each < 0.3, [0.0002, 0.001, 0.00201, 0.0079, 0.05, 0.3]))
def test_smooth_ece_has_the_accuracy_that_is_said(bandwidth):
    for n, power in ((7, 1.0), (150, 2.0)):
        sample = made(n, 5, power=power)
        assert SmoothECE(bandwidth=bandwidth)(sample) == pytest.approx(integral(sample, bandwidth), rel=1e-5)


@pytest.mark.parametrize("n", [3, 200, 20_000])
@pytest.mark.parametrize("law", [lambda p: p, lambda p: p**3], ids=["calibrated", "not"])
def test_the_bandwidth_is_the_error(n, law):
    sample = made(n, 6, law)
    value = SmoothECE()(sample)
    assert SmoothECE(bandwidth=value)(sample) == pytest.approx(value, rel=1e-6)


def test_residuals_of_one_sign_are_their_mean():
    sample = cs.Sample([0, 0, 0], [0.2, 0.9, 0.9], labels=[0, 1])
    assert SmoothECE()(sample) == pytest.approx(2 / 3, abs=1e-12)
    assert SmoothCE()(sample) == pytest.approx(2 / 3, abs=1e-12)


@pytest.mark.parametrize("estimator", [SmoothCE(), SmoothECE()], ids=repr)
def test_populations(estimator):
    """Of atoms far apart in a world of tiny errors: smooth ECE sees each alone, smooth CE weighs them by distance."""
    p, gap = np.array([0.1, 0.5, 0.9]), np.array([1e-3, -1e-3, 1e-3])
    model = FinitePredictions(p, p + gap, mass=[0.25, 0.5, 0.25])
    small = model.truth(estimator).value
    assert small == pytest.approx(1e-3 if "ECE" in repr(estimator) else 2e-4, rel=1e-3)
    sample = FinitePredictions(p, p + 100 * gap, mass=[0.25, 0.5, 0.25])
    assert estimator(sample.sample(200_000, rng=1)) == pytest.approx(sample.truth(estimator).value, abs=0.005)
    # Seen through the top label, the outer atoms share a confidence and cancel.
    assert model.truth(cs.TopLabel() | estimator).value == pytest.approx(5e-4, rel=1e-3)


@pytest.mark.parametrize("bandwidth", [0, -1, np.inf, np.nan])
def test_bandwidths_are_checked(bandwidth):
    with pytest.raises(ValueError, match="bandwidth is"):
        SmoothECE(bandwidth=bandwidth)


def test_the_null_means_that_are_said():
    for n, said in ((100, 0.066), (1000, 0.031), (10_000, 0.014)):
        rng = np.random.Generator(np.random.PCG64(n))
        p = rng.random(n)
        evaluate = SmoothECE().prepare(cs.Sample([0, 1] * (n // 2), p).predictions)
        assert evaluate((rng.random((40, n)) < p).astype(np.int8)).mean() == pytest.approx(said, rel=0.15)
