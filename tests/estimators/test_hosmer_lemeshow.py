"""Hosmer and Lemeshow's statistics."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from calibstat.estimators.headline import Headline
from registry import make_sample


def test_there_is_at_least_one_cell():
    with pytest.raises(ValueError, match="n_bins is 0"):
        cs.HosmerLemeshow(0)


def test_hosmer_lemeshow_draws_whole_cells():
    sample = make_sample(2, seed=13, n=60)
    for estimator in (cs.HosmerLemeshow(4), Headline(cs.HosmerLemeshow(4))):
        evaluator = estimator.prepare(sample.predictions)
        labels = np.random.Generator(np.random.PCG64(14)).integers(0, 2, (5, 60))
        outcome = evaluator.tally(labels).outcome
        np.testing.assert_allclose(evaluator.from_tally(outcome), evaluator(labels), rtol=1e-12)
