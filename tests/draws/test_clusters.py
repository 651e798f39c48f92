"""Rows that are drawn together."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from calibstat.draws.streams import clusters


@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    p = rng.random(40)
    return cs.Sample(rng.random(40) < p, p, variables={"ward": np.repeat(["a", "b", "c", "d"], 10)})


def test_every_row_is_its_own_cluster_without_groups(sample):
    np.testing.assert_array_equal(clusters(sample.predictions, None), np.arange(40))


def test_bootstrap_draws_whole_clusters(sample):
    means = np.array([(sample.outcomes - sample.y_prob[:, 1])[10 * g : 10 * g + 10].mean() for g in range(4)])
    drawn = np.concatenate(list(cs.Bootstrap(30).weights(4, cs.as_generator(5))))
    found = cs.Bootstrap(30, groups="ward").replicates(cs.ECE(cs.FixedEdges([0, 1])), sample, rng=5)
    np.testing.assert_allclose(found, np.abs(drawn @ means) / 4, atol=1e-12)


def test_unknown_groups_are_refused(sample):
    with pytest.raises(ValueError, match="its variables are: 'ward'"):
        cs.Bootstrap(9, groups="clinic").replicates(cs.ECE(cs.FixedEdges([0, 1])), sample, rng=0)


def test_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="'percentile', 'basic' or 'bca'"):
        cs.Bootstrap(kind="normal")
