"""Sadatsafavi & Petkau (2024), non-parametric inference on calibration of predicted risks: the Brownian bridge test."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from calibstat.estimators.walks import BrownianBridge, MeanAndBridge

TEN = cs.Sample([0, 0, 1, 0, 1, 1, 0, 1, 1, 1], np.arange(10) / 10 + 0.05)


def test_sadatsafavi_petkau_2024_bridge_of_ten_rows():
    found = BrownianBridge()(TEN)
    assert found.standardized_mean == pytest.approx(0.772667, abs=5e-7)
    assert found.standardized_bridge == pytest.approx(0.426697, abs=5e-7)
    assert found.pvalue_mean == pytest.approx(0.439719, abs=5e-7)
    assert found.pvalue_bridge == pytest.approx(0.993298, abs=5e-7)
    assert found.statistic == pytest.approx(1.656687, abs=5e-7)
    assert found.pvalue == pytest.approx(0.798570, abs=5e-7)


def test_sadatsafavi_petkau_2024_probability_units():
    scale = np.sqrt(1.675) / 10
    found = BrownianBridge()(TEN)
    assert found.mean == pytest.approx(0.1, abs=1e-12)
    assert found.bridge == pytest.approx(found.standardized_bridge * scale, rel=1e-12)
    np.testing.assert_allclose(MeanAndBridge()(TEN), [found.mean, found.bridge], rtol=1e-12)
