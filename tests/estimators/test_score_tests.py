"""Tests made of scores: what they do at the edges, and their power."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs


def test_the_score_is_checked():
    with pytest.raises(ValueError, match="score is 'sphere'"):
        cs.ScoreExcess("sphere")


def test_rows_without_any_spread_give_zero():
    uniform = cs.Sample([0, 1, 2], np.full((3, 3), 1 / 3))
    assert cs.LogLossZ()(uniform) == cs.BrierZ()(uniform) == 0
    certain = cs.Sample([0, 1, 2], np.eye(3))
    assert cs.LogLossZ()(certain) == cs.BrierZ()(certain) == cs.VectorScalingScore()(certain) == 0


@pytest.mark.parametrize("estimator", [cs.BrierZ(), cs.LogLossZ(), cs.VectorScalingScore()], ids=repr)
def test_power_against_temperature(estimator):
    rng = np.random.Generator(np.random.PCG64(4))
    rows = rng.dirichlet(np.ones(4), 800)
    truths = rows**0.6 / (rows**0.6).sum(axis=1, keepdims=True)
    for chances, rejected in ((truths, True), (rows, False)):
        outcomes = (rng.random((800, 1)) > np.cumsum(chances, axis=1)[:, :-1]).sum(axis=1)
        sample = cs.Sample(outcomes, rows, labels=range(4))
        assert (cs.calibration_test(sample, estimator, null=cs.Consistency(999), rng=0).pvalue < 0.01) == rejected
