"""Law 8 for groups that overlap: sums of noise drawn together have the covariances and the law of rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from calibstat.draws import group_sums
from calibstat.draws.group_sums import Layout, Partition, label_sums, sign_sums
from calibstat.draws.streams import replicate

N, R = 200, 4000


def world(weighted):
    """Three partitions that overlap, the last of which leaves rows out; steps; and an outcome that is off."""
    rng = np.random.default_rng(1)
    codes = [np.zeros(N, int), rng.integers(0, 3, N), rng.integers(0, 4, N)]
    parts = [Partition(each, size) for each, size in zip(codes, (1, 3, 3), strict=True)]
    p = rng.random(N)
    weights = rng.uniform(0.5, 2.0, N) if weighted else None
    outcome = rng.random(N) < np.clip(p + 0.4, 0, 1)
    return Layout(parts).in_steps((p * 5).astype(int), 5), p, outcome - p, weights


def table(layout):
    """A naive (T, m, n) of which row is in which step and group."""
    groups = [each.codes == k for each in layout.partitions for k in range(each.size)]
    return np.array([[(layout.step == t) & group for group in groups] for t in range(layout.n_steps)], dtype=float)


def drawn(found, rng=0, n_resamples=R):
    draw, numbers = found
    return replicate(lambda sums: sums, draw, n_resamples, numbers, np.random.default_rng(rng))


def near_in_covariance(found, naive):
    """Whether covariances are within five standard errors of those of a naive table (c, n) of independent rows."""
    flat = found.reshape(len(found), -1)
    expected = naive.reshape(-1, naive.shape[-1])
    expected = expected @ expected.T
    spread = np.sqrt(np.outer(expected.diagonal(), expected.diagonal()) + expected**2)
    return (np.abs(np.cov(flat.T, ddof=0) - expected) <= 5 * spread / np.sqrt(len(found)) + 1e-9).all()


@pytest.mark.parametrize(
    "enough", [0, 30, pytest.param(np.inf, marks=pytest.mark.slow)], ids=["normal", "some rows alone", "all rows alone"]
)
@pytest.mark.parametrize("weighted", [False, True], ids=["rows", "weights"])
def test_groups_keep_their_noise_and_what_they_share(enough, weighted, monkeypatch):
    monkeypatch.setattr(group_sums, "ENOUGH", enough)
    layout, p, residual, weights = world(weighted)
    mass, inside = (np.ones(N) if weights is None else weights), table(layout)
    labels = drawn(label_sums(layout, p, weights))
    assert near_in_covariance(labels, inside * mass * np.sqrt(p * (1 - p)))
    assert not near_in_covariance(labels, inside * mass * 0.5)  # the negative control: all chances one half
    assert near_in_covariance(drawn(sign_sums(layout, residual, weights, centre=None)), inside * mass * residual)
    # from the signs of a group their mean there is subtracted
    total, sums = (inside * mass).sum(axis=(0, 2)), (inside * mass * residual).sum(axis=2)
    means = (inside * mass).sum(axis=0) / total[:, None]
    centred = inside * mass * residual - sums[..., None] * means
    assert near_in_covariance(drawn(sign_sums(layout, residual, weights, centre=np.arange(layout.size))), centred)
    assert not near_in_covariance(
        drawn(sign_sums(layout, residual, weights, centre=np.arange(layout.size))), inside * mass * residual
    )


@pytest.mark.parametrize("enough", [0, 200, np.inf], ids=["normal", "some rows alone", "all rows alone"])
def test_rows_that_stand_for_several_have_the_noise_of_these(enough, monkeypatch):
    monkeypatch.setattr(group_sums, "ENOUGH", enough)
    layout, p, residual, weights = world(True)
    counts = np.random.default_rng(1).integers(1, 9, N).astype(float)
    mass, centre = weights * counts, np.arange(layout.size)
    if enough == 200:
        alone = layout.scarce((mass * p, mass**2 / counts * p))
        assert alone.any()
        assert not alone.all()
    each = table(layout) * weights * np.sqrt(counts)  # of rows of one weight the noises add up
    labels = drawn(label_sums(layout, p, mass, counts))
    assert near_in_covariance(labels, each * np.sqrt(p * (1 - p)))
    assert not near_in_covariance(labels, each * np.sqrt(counts * p * (1 - p)))  # the control: one label for all
    assert near_in_covariance(drawn(sign_sums(layout, residual, mass, None, counts)), each * residual)
    inside = table(layout) * mass
    total, sums = inside.sum(axis=(0, 2)), (inside * residual).sum(axis=2)
    means = each.sum(axis=0) / total[:, None]
    centred = each * residual - sums[..., None] * means
    assert near_in_covariance(drawn(sign_sums(layout, residual, mass, centre, counts)), centred)


def test_all_rows_are_the_sum_of_the_levels_of_a_variable():
    layout, p, _, _ = world(False)
    sums = drawn(label_sums(layout, p, None), n_resamples=50)
    np.testing.assert_allclose(sums[..., 0], sums[..., 1:4].sum(axis=-1), atol=1e-3)


def test_rows_of_a_group_with_few_events_are_drawn_one_by_one(monkeypatch):
    monkeypatch.setattr(group_sums, "ENOUGH", 1e-9)
    rare = np.arange(N) < 100
    p = np.where(rare, 0.002, 0.5)
    layout = Layout([Partition(np.zeros(N, int), 1), Partition(np.where(rare, 0, 1), 1)])
    assert not layout.scarce((p, p)).any()
    monkeypatch.setattr(group_sums, "ENOUGH", 5)
    assert (layout.scarce((p, p)) == rare).all()
    sums = drawn(label_sums(layout, p, None))[:, 0, 1] + 100 * 0.002
    np.testing.assert_allclose(sums, sums.round(), atol=1e-9)  # whole events
    assert (sums.round() == 0).mean() == pytest.approx(0.998**100, abs=0.03)


def test_fewer_replicates_are_a_prefix_of_more():
    for weighted in (False, True):
        layout, p, residual, weights = world(weighted)
        for found in (
            label_sums(layout, p, weights),
            sign_sums(layout, residual, weights, centre=np.arange(layout.size)),
        ):
            np.testing.assert_array_equal(drawn(found, n_resamples=300)[:70], drawn(found, n_resamples=70))


@pytest.mark.slow
def test_values_of_a_group_of_two_hundred_events_have_the_law_of_rows():
    """What is measured at the threshold from which sums are drawn from the normal law."""
    rng = np.random.default_rng(3)
    p = rng.beta(0.5, 22.5, 10_000)  # some 210 events
    layout = Layout([Partition(np.zeros(len(p), int), 1)]).in_steps(np.argsort(np.argsort(p)) * 16 // len(p), 16)
    assert not layout.scarce((p, p)).any()

    def ranges(sums):
        walk = np.cumsum(sums[..., 0], axis=1)
        return np.maximum(walk.max(axis=1), 0) - np.minimum(walk.min(axis=1), 0)

    def law(found):
        return ranges(drawn(found, n_resamples=4000))

    normal = law(label_sums(layout, p, None))
    noisier = law(label_sums(layout, np.minimum(1.2 * p, 1), None))
    alone, n_resamples = np.random.default_rng(4), 4000
    expected = np.stack([layout.sums((alone.random(len(p)) < p) - p) for _ in range(n_resamples)])
    assert stats.ks_2samp(normal, ranges(expected)).pvalue > 1e-3
    assert stats.ks_2samp(noisier, ranges(expected)).pvalue < 1e-6
