"""Rows that are drawn together."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from calibstat.draws.labels import ClusteredLabels


@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    p = rng.random(40)
    return cs.Sample(rng.random(40) < p, p, groups=np.repeat(["a", "b", "c", "d"], 10))


def test_bootstrap_draws_whole_clusters(sample):
    means = np.array([(sample.outcomes - sample.y_prob[:, 1])[10 * g : 10 * g + 10].mean() for g in range(4)])
    drawn = np.concatenate(list(cs.Bootstrap(30).weights(4, cs.as_generator(5))))
    found = cs.Bootstrap(30).replicates(cs.ECE(cs.FixedEdges([0, 1])), sample, rng=5)
    np.testing.assert_allclose(found, np.abs(drawn @ means) / 4, atol=1e-12)


def test_bootstrap_draws_rows_where_each_is_by_itself(sample):
    """A group for each row is the same as none; the negative control has whole wards."""
    ece, (y, p) = cs.ECE(cs.FixedEdges([0, 1])), (sample.y_true, sample.y_prob)
    alone, single = cs.Sample(y, p), cs.Sample(y, p, groups=np.arange(40))
    rows, each, wards = (cs.Bootstrap(30).replicates(ece, one, rng=5) for one in (alone, single, sample))
    np.testing.assert_array_equal(each, rows)
    assert not np.allclose(wards, rows)


@pytest.mark.parametrize(("groups", "found"), [(None, "no groups"), (np.arange(40) % 3, "3 of 'groups'")])
def test_labels_of_few_clusters_are_not_redrawn(sample, groups, found):
    few = cs.Sample(sample.y_true, sample.y_prob, groups=groups)
    with pytest.raises(ValueError, match=f"the sample has {found}, but at least 4 clusters are needed"):
        ClusteredLabels.of(few)


def test_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="'percentile', 'basic' or 'bca'"):
        cs.Bootstrap(kind="normal")


def in_clusters(alike, n_classes=2, weighted=False, size=6, n_clusters=80):
    """Rows of common chances in each cluster; all of one label, or each of its own."""
    rng = np.random.default_rng(4)
    codes = np.repeat(np.arange(n_clusters), size)
    p = rng.dirichlet(np.full(n_classes, 3.0), n_clusters)[codes]
    uniforms = rng.random(n_clusters)[codes] if alike else rng.random(len(codes))
    y = (uniforms[:, None] > np.cumsum(p, axis=1)).sum(axis=1)
    weights = rng.uniform(0.5, 2, len(codes)) if weighted else None
    return cs.Sample(y, p, groups=codes.astype(float), labels=list(range(n_classes)), sample_weight=weights)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("share", [0.0, 0.75, 1.0])
def test_labels_of_clusters_keep_their_chances_and_depend_on_each_other(share, n_classes):
    labels = ClusteredLabels.of(in_clusters(True, n_classes))
    drawn = labels.draw(share, np.random.default_rng(0), 3000, 3000)
    chances = labels.law.chances[:, 1]
    error = np.sqrt(chances * (1 - chances) / 3000)
    assert np.abs((drawn == 1).mean(axis=0) - chances).max() < 4.5 * error.max()
    hits = (drawn == 1) - chances  # rows 0 and 1 have the same chances in the same cluster, row 6 is in the next one
    covariances = [(hits[:, 6 * k] * hits[:, 6 * k + other]).mean() for k in range(79) for other in (1, 6)]
    within, between = np.array(covariances).reshape(79, 2).mean(axis=0)
    expected = share**2 * (chances[::6] * (1 - chances[::6])).mean()
    assert abs(within - expected) < 4 * 0.25 / np.sqrt(3000 * 79)
    assert abs(between) < 4 * 0.25 / np.sqrt(3000 * 79)


@pytest.mark.parametrize(("n_classes", "weighted"), [(2, False), (2, True), (3, True)])
def test_spread_adds_the_squares_of_cluster_sums(n_classes, weighted):
    sample = in_clusters(True, n_classes, weighted)
    weights = np.ones(len(sample)) if sample.predictions.weights is None else sample.predictions.weights
    hits = np.eye(n_classes)[sample.outcomes] - sample.predictions.probabilities
    codes = sample.groups.codes
    sums = np.array([weights[codes == g] @ hits[codes == g] for g in range(80)])
    naive = (sums[:, 1:] if n_classes == 2 else sums) ** 2
    assert ClusteredLabels.of(sample).spread(sample.outcomes[None])[0] == pytest.approx(naive.sum())


def test_the_strongest_dependence_follows_the_clusters():
    alike, apart = (ClusteredLabels.of(in_clusters(each)).strongest(np.random.default_rng(0)) for each in (True, False))
    assert alike == 1
    assert 0 < apart < 0.5
    few = ClusteredLabels.of(in_clusters(False, n_clusters=4)).strongest(np.random.default_rng(0))
    assert few > apart  # four clusters say little
