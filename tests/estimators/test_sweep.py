"""ECE-sweep."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibstat as cs
from calibstat.estimators.deviation import ECESweep
from calibstat.generators import FinitePredictions
from strategies import samples


def published(p, y, power=1):
    """Row i of n lies in cell floor(i m / n); stop when mean labels fall (for predictions without ties)."""
    y, p = y[np.argsort(p)], np.sort(p)
    value = None
    for m in range(1, len(p) + 1):
        cells = np.minimum(m - 1, np.arange(len(p)) * m // len(p))
        counts = np.bincount(cells)
        means = np.bincount(cells, y) / counts
        if (np.diff(means) < 0).any():
            return value
        gaps = np.abs(means - np.bincount(cells, p) / counts)
        value = ((counts / len(p)) @ gaps**power) ** (1 / power)
    return value


@given(seed=st.integers(0, 10_000), n=st.integers(1, 120), p=st.sampled_from([1, 2, 3.5]))
def test_the_published_algorithm(seed, n, p):
    rng = np.random.Generator(np.random.PCG64(seed))
    predictions = rng.random(n)
    y = (rng.random(n) < predictions ** rng.choice([0.5, 1, 4])).astype(int)
    sample = cs.Sample(y, predictions, labels=[0, 1])
    assert ECESweep(p)(sample) == pytest.approx(published(predictions, y, p), abs=1e-10)


@given(sample=samples((2,)))
def test_between_one_cell_and_the_unbinned_error(sample):
    one = cs.ECE(cs.FixedEdges([0, 1]))(sample)
    assert one - 1e-12 <= ECESweep()(sample) <= cs.ECE(cs.UniqueValues())(sample) + 1e-12


def test_labels_in_order_do_not_take_forever():
    """Each row is a cell of its own; the sweep must see that without 10^5 steps."""
    p = np.linspace(0.001, 0.999, 100_000)
    y = (p > 0.5).astype(int)
    assert ECESweep()(cs.Sample(y, p)) == pytest.approx(np.abs(y - p).mean(), abs=1e-12)


@pytest.mark.parametrize("heavy", [[0], [7], [19], [4, 9], [2, 6, 13]])
def test_very_unequal_weights_meet_every_number_of_cells(heavy):
    """Few partitions occur for thousands of numbers of cells; the last before the first fall is measured."""
    rng = np.random.default_rng(len(heavy) + heavy[0])
    p, w = np.sort(rng.random(20)), np.ones(20)
    w[heavy] = 500.5
    below = np.cumsum(np.append(0, w[:-1])) / w.sum()
    first_falls = set()
    for _ in range(10):
        y = rng.random(20) < p**0.1
        value = None
        for m in range(1, 2100):
            starts = np.flatnonzero(np.diff(np.floor(m * below + 1e-9), prepend=-1))
            mass = np.add.reduceat(w, starts)
            if (np.diff(np.add.reduceat(w * y, starts) / mass) < -1e-12).any():
                break
            value = np.abs(np.add.reduceat(w * (y - p), starts)).sum() / w.sum()
        first_falls.add(m)
        assert ECESweep()(cs.Sample(y, p, sample_weight=w, labels=[0, 1])) == pytest.approx(value, abs=1e-12)
    assert len(first_falls) > 2


def test_a_weight_that_exceeds_all_others_does_not_take_forever():
    """Light rows on either side of the heavy one are one cell each up to 100 000 cells."""
    p, w = np.linspace(0.05, 0.95, 20), np.ones(20)
    w[10] = 1_000_000.5
    y = np.array([0, 1] * 5 + [0] + [1] * 9)
    two = cs.ECE(cs.FixedEdges([0, (p[10] + p[11]) / 2, 1]))
    sample = cs.Sample(y, p, sample_weight=w)
    assert ECESweep()(sample) == pytest.approx(two(sample), abs=1e-12)


def test_a_rising_population_is_measured_without_binning():
    model = FinitePredictions([0.1, 0.4, 0.8], [0.2, 0.3, 0.9], mass=[0.5, 0.3, 0.2])
    assert model.truth(ECESweep()).value == pytest.approx(0.1, abs=1e-15)
    assert model.truth(ECESweep(p=2)).value == pytest.approx(0.1, abs=1e-15)
    assert model.truth(ECESweep(p=3)).value == pytest.approx(0.1, abs=1e-15)
    assert ECESweep()(model.sample(100_000, rng=0)) == pytest.approx(0.1, abs=0.01)


@pytest.mark.parametrize("p", [0.5, np.inf, np.nan])
def test_norms_are_checked(p):
    with pytest.raises(ValueError, match="p is"):
        ECESweep(p)


def test_equal_widths_are_swept_from_few_cells_on():
    """Over three cells means rise (1/2, 1), over two they fall (1, 1/2): the sweep ends at one cell."""
    sample = cs.Sample([1, 1, 0], [1 / 3, 2 / 3, 1 / 2], labels=[0, 1])
    assert cs.ECESweep(strategy="uniform")(sample) == pytest.approx(1 / 6)
    assert cs.ECESweep(2, "uniform")(sample) == pytest.approx(1 / 6)
