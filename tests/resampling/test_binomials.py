"""Binomial numbers drawn many at once have the binomial law, whichever way they are drawn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from calibstat.draws._recut_cells import draw_binomial

N_DRAWS = 200_000
LEVEL = 1e-4  # seeds are fixed once: correct draws pass for good


def draws(count, chance, seed=0):
    rng = np.random.Generator(np.random.PCG64(seed))
    return draw_binomial(np.array([[count]]), np.full((1, N_DRAWS), chance), rng)[0]


def pvalue(drawn, count, chance):
    """Of the chi-square test against the probabilities, rare numbers put together."""
    expected = N_DRAWS * stats.binom.pmf(np.arange(count + 1), count, chance)
    often = expected > 5
    observed = np.bincount(drawn, minlength=count + 1)
    rest = [observed[~often].sum()], [expected[~often].sum()]
    seen, awaited = np.append(observed[often], rest[0]), np.append(expected[often], rest[1])
    return stats.chi2.sf(((seen - awaited) ** 2 / np.maximum(awaited, 1)).sum(), often.sum())


@pytest.mark.parametrize(
    ("count", "chance"),
    [(1, 0.3), (7, 0.9), (12, 0.5), (13, 0.5), (40, 0.2), (6666, 0.5 / 6666), (6666, 1e-3), (10**6, 1e-7), (300, 0.4)],
)
def test_law(count, chance):
    assert pvalue(draws(count, chance), count, chance) > LEVEL


@pytest.mark.parametrize(("count", "chance"), [(7, 0.9), (6666, 1e-3)])
def test_another_chance_is_told(count, chance):
    """The negative control: 3 % more."""
    assert pvalue(draws(count, chance), count, 1.03 * chance) < 1e-6


def test_each_number_has_a_count_and_a_chance_of_its_own():
    rng = np.random.Generator(np.random.PCG64(1))
    for counts in ([0, 1, 3], [0, 5, 500]):
        for largest in (0.01, 0.9):
            count, chance = np.array(counts)[:, None], np.linspace(0, largest, 4) * np.ones((3, 1))
            drawn = draw_binomial(np.repeat(count, 4 * 50_000, axis=1), np.repeat(chance, 50_000, axis=1), rng)
            means, spread = drawn.reshape(3, 4, -1).mean(axis=2), np.sqrt(count * chance * (1 - chance) / 50_000)
            assert (np.abs(means - count * chance) <= 5 * spread).all()


@pytest.mark.parametrize("count", [3, 20, 5000])
def test_what_is_certain(count):
    rng = np.random.Generator(np.random.PCG64(2))
    found = draw_binomial(np.array([[count], [0]]), np.array([[0.0, 1.0], [0.5, 1.0]]), rng)
    assert found.tolist() == [[0, count], [0, 0]]
    assert draw_binomial(np.array([[count]]), np.zeros((1, 2)), rng).tolist() == [[0, 0]]


def test_none_are_drawn_of_none():
    rng = np.random.Generator(np.random.PCG64(3))
    assert draw_binomial(np.zeros((0, 1), dtype=int), np.zeros((0, 5)), rng).shape == (0, 5)
