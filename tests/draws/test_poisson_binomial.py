"""The law of counts in cells against a plain convolution, on nasty inputs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import calibstat as cs
from calibstat.binnings.base import Cells
from calibstat.draws import poisson_binomial as counts
from calibstat.draws.moments import SquaresOfLabels
from calibstat.draws.poisson_binomial import BinomialCounts, CellCounts
from calibstat.estimators.base import Headline


def convolved(chances) -> np.ndarray:
    """Add one row at a time."""
    law = np.array([1.0])
    for chance in chances:
        law = np.append(law * (1 - chance), 0.0) + np.append(0.0, law * chance)
    return law


RNG = np.random.Generator(np.random.PCG64(0))
NASTY = {
    "none": np.empty(0),
    "one zero": np.array([0.0]),
    "one one": np.array([1.0]),
    "one half": np.array([0.5]),
    "one tiny": np.array([1e-300]),
    "all zero": np.zeros(500),
    "all one": np.ones(500),
    "zeros and ones": np.repeat([0.0, 1.0], 300),
    "all a half": np.full(1000, 0.5),
    "two halves": np.full(2, 0.5),
    "near a half": 0.5 + 1e-7 * RNG.standard_normal(800),
    "around a half": RNG.uniform(0.49, 0.51, 900),
    "in one step": 0.3 + RNG.random(1000) / 2048,
    "at the ends of a step": np.repeat([0.5, 0.5 + 0.999999 / 2048], 400),
    "uniform": RNG.random(1500),
    "few uniform": RNG.random(7),
    "rare": RNG.random(2000) ** 12,
    "frequent": 1 - RNG.random(2000) ** 12,
    "skewed": RNG.beta(0.05, 2, 1500),
    "u-shaped": RNG.beta(0.1, 0.1, 1500),
    "one certain among rare": np.append(np.full(600, 1e-4), 1.0),
    "mixture": np.concatenate([np.zeros(50), np.ones(50), np.full(100, 0.5), RNG.random(100), np.full(100, 1e-9)]),
    "grid": np.linspace(0, 1, 501),
    "next to the ends": np.repeat([np.nextafter(0, 1), np.nextafter(1, 0)], 40),
    "pools of nine": np.repeat(RNG.random(60), 9),
    "pools of eight": np.repeat(RNG.random(60), 8),
    "long": RNG.beta(2, 5, 5000),
}


def poisson_binomial(chances):
    """Probabilities of 0, 1, ..., n events, in a cell of all rows."""
    first, masses = CellCounts(chances, Cells(1, np.zeros(len(chances), dtype=np.intp), "fixed")).laws[0]
    whole = np.zeros(len(chances) + 1)
    whole[first : first + len(masses)] = masses
    return whole


@pytest.mark.parametrize("chances", NASTY.values(), ids=NASTY.keys())
def test_counts_have_the_law_of_a_plain_convolution(chances):
    law = poisson_binomial(chances)
    assert law.min() >= 0
    assert len(law) == len(chances) + 1
    np.testing.assert_allclose(law, convolved(chances), rtol=0, atol=1e-12)


@given(chances=st.lists(st.floats(0, 1, allow_nan=False), max_size=40))
def test_any_chances(chances):
    np.testing.assert_allclose(poisson_binomial(np.array(chances)), convolved(chances), rtol=0, atol=1e-12)


@pytest.mark.parametrize("chance", [0.0, 1e-4, 0.02, 0.5, 0.97, 1.0])
def test_equal_chances_are_binomial(chance):
    n = 20_000
    np.testing.assert_allclose(
        poisson_binomial(np.full(n, chance)), stats.binom(n, chance).pmf(np.arange(n + 1)), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("chance", [1e-4, 0.3, 0.5])
def test_a_million_equal_chances_in_wide_steps_are_binomial_to_twelve_digits(chance):
    n = 1_000_000
    law, spread = poisson_binomial(np.full(n, chance)), np.sqrt(n * chance * (1 - chance))
    count = np.arange(int(n * chance - 9 * spread), int(n * chance + 9 * spread))
    np.testing.assert_allclose(law[count], stats.binom(n, chance).pmf(count), rtol=0, atol=1e-12 * law.max() * spread)
    assert law.sum() - law[count].sum() < 1e-14


def test_a_million_rows_have_the_right_mean_variance_and_third_moment():
    chances = np.random.Generator(np.random.PCG64(1)).beta(1, 3, 1_000_000)
    law = poisson_binomial(chances)
    count = np.arange(len(law))
    spread = chances * (1 - chances)
    mean = law @ count
    np.testing.assert_allclose(law.sum(), 1, atol=1e-11)
    np.testing.assert_allclose(mean, chances.sum(), rtol=1e-11)
    np.testing.assert_allclose(law @ (count - mean) ** 2, spread.sum(), rtol=1e-8)
    skew = law @ (count - mean) ** 3
    np.testing.assert_allclose(skew, (spread * (1 - 2 * chances)).sum(), rtol=0, atol=1e-7 * spread.sum() ** 1.5)


def laws(chances, index, size):
    cells = Cells(size, np.asarray(index, dtype=np.intp), "fixed")
    whole = []
    for cell, (first, masses) in enumerate(CellCounts(chances, cells).laws):
        law = np.zeros(np.count_nonzero(cells.index == cell) + 1)
        law[first : first + len(masses)] = masses
        whole.append(law)
    return whole


@pytest.mark.parametrize(
    ("n", "size"), [(0, 3), (1, 1), (1, 5), (10, 30), (50, 7), (2000, 400), (3000, 3000), (4000, 2)]
)
def test_every_cell_has_its_own_law_and_empty_cells_count_nothing(n, size):
    rng = np.random.Generator(np.random.PCG64(n + size))
    chances, index = rng.beta(0.4, 0.7, n), rng.integers(0, size, n)
    for cell, law in enumerate(laws(chances, index, size)):
        np.testing.assert_allclose(law, convolved(chances[index == cell]), rtol=0, atol=1e-12)


def test_single_rows_are_bernoulli():
    chances = np.array([0.0, 0.25, 1.0])
    for chance, law in zip(chances, laws(chances, [2, 0, 1], 3)[2:] + laws(chances, [2, 0, 1], 3)[:2], strict=True):
        np.testing.assert_allclose(law, [1 - chance, chance], rtol=0, atol=1e-15)


def test_uniforms_are_inverted_to_counts_with_these_laws():
    rng = np.random.Generator(np.random.PCG64(3))
    chances, index = rng.random(40), np.repeat([0, 2, 3], [1, 9, 30])
    cells = Cells(4, index, "fixed")
    drawn = CellCounts(chances, cells).invert(rng.random((50_000, 4)))
    assert (drawn[:, 1] == 0).all()
    for cell in (0, 2, 3):
        law = convolved(chances[index == cell]) * len(drawn)
        seen = np.bincount(drawn[:, cell], minlength=len(law))
        common = law >= 5
        observed, expected = np.append(seen[common], seen[~common].sum()), np.append(law[common], law[~common].sum())
        kept = expected > 0
        expected = expected[kept] * observed[kept].sum() / expected[kept].sum()
        assert stats.chisquare(observed[kept], expected).pvalue > 1e-3
        wrong = convolved(np.clip(chances[index == cell] + 0.03, 0, 1))[common] * len(drawn)
        wrong *= seen[common].sum() / wrong.sum()
        assert stats.chisquare(seen[common], wrong).pvalue < 1e-6  # the negative control
    correlation = np.corrcoef(drawn[:, [0, 2, 3]].T)[np.triu_indices(3, 1)]
    assert abs(correlation).max() < 4 / np.sqrt(50_000)


def test_the_ends_of_the_unit_interval_stay_in_the_window():
    cells = Cells(1, np.zeros(20, dtype=np.intp), "fixed")
    ends = np.array([[0.0], [np.nextafter(1, 0)]])
    low, high = CellCounts(np.full(20, 0.3), cells).invert(ends)[:, 0]
    assert low == 0
    assert 15 <= high <= 20
    inside = np.array([[1e-13], [0.5], [1 - 1e-13]])
    assert CellCounts(np.ones(20), cells).invert(inside)[:, 0].tolist() == [20, 20, 20]
    assert CellCounts(np.zeros(20), cells).invert(inside)[:, 0].tolist() == [0, 0, 0]


def exactly(chances) -> list[Fraction]:
    """Add one row at a time in rational arithmetic."""
    law = [Fraction(1)]
    for chance in map(Fraction, chances):
        stay, rise = [each * (1 - chance) for each in law], [each * chance for each in law]
        law = [a + b for a, b in zip([*stay, Fraction(0)], [Fraction(0), *rise], strict=True)]
    return law


ALMOST_CERTAIN = {
    "equal": np.full(50, 1e-13),
    "uneven": RNG.random(30) ** 9 * 1e-4,
    "near one": 1 - np.full(40, 1e-14),
    "both ends": np.concatenate([np.full(25, 1e-12), np.ones(3), np.full(20, 1 - 2.0**-40), np.zeros(3)]),
    "one row": np.array([9e-4]),
    "two rows": np.array([1e-5, 4e-4]),
    "the smallest float": np.append(np.full(5, 1e-6), np.nextafter(0, 1)),
    "certain": np.repeat([0.0, 1.0], 7),
    "as many as are rare": np.full(50, 1.9e-5),
}


@pytest.mark.parametrize("chances", ALMOST_CERTAIN.values(), ids=ALMOST_CERTAIN.keys())
def test_rare_counts_have_their_probability_to_its_own_digits(chances):
    """Chi-square terms are as large as these are small: 1e-17 of noise times 1e14 is not little."""
    law = poisson_binomial(chances)
    assert law.min() >= 0
    for count, probability in enumerate(exactly(chances)):
        if probability > 1e-20:
            assert law[count] == pytest.approx(float(probability), rel=1e-11, abs=0)
    assert law.sum() == pytest.approx(1, abs=1e-14)


def test_rare_cells_stand_among_others():
    rng = np.random.Generator(np.random.PCG64(8))
    index = rng.permutation(np.repeat(np.arange(6), 30))
    scale = np.array([1.0, 1e-12, 0.5, 1e-9, 0.0, 1e-6])
    chances = rng.random(180) * scale[index]
    for cell, law in enumerate(laws(chances, index, 8)):
        np.testing.assert_allclose(law, convolved(chances[index == cell]), rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize("tiny", [1e-16, 1e-15, 1e-13, 1e-10, 1e-6, 1.9e-5, 2.1e-5, 1e-4])
@pytest.mark.parametrize("estimator", [cs.PigeonHeyse(5), cs.HosmerLemeshow(5)], ids=repr)
def test_every_cell_adds_one_to_the_mean_of_a_chi_square_statistic(estimator, tiny):
    p = np.repeat(np.clip([0.0, 0.1, 0.4, 0.7, 1.0], tiny, 1 - tiny), 50)
    null = cs.Exact().draw(Headline(estimator), cs.Sample(np.arange(250) % 2, p))
    assert float(null.mean) == pytest.approx(5, rel=1e-7)


def narrow_cells(width):
    """A hundred cells of nearly equal chances, of 1 to 100 rows, some of them certain."""
    rng = np.random.Generator(np.random.PCG64(5))
    index = np.repeat(np.arange(100), np.arange(1, 101))
    chances = np.clip(np.linspace(-0.01, 1.01, 100)[index] + width * rng.random(len(index)), 0, 1)
    shuffled = rng.permutation(len(index))
    return chances[shuffled], Cells(100, index[shuffled], "fixed")


@pytest.mark.parametrize("width", [0.0, 1e-3, 0.02, 0.5])
def test_many_cells_of_nearly_equal_chances_have_the_law_of_a_plain_convolution(width):
    chances, cells = narrow_cells(width)
    for cell, (first, masses) in enumerate(CellCounts(chances, cells).laws):
        expected = convolved(chances[cells.index == cell])
        whole = np.zeros(len(expected))
        whole[first : first + len(masses)] = masses
        np.testing.assert_allclose(whole, expected, rtol=0, atol=1e-12)


def test_counts_are_the_quantiles_of_uniforms_however_many_cells_there_are():
    chances, cells = narrow_cells(0.02)
    counts = CellCounts(chances, cells)
    uniforms = np.random.Generator(np.random.PCG64(6)).random((300, 100))
    uniforms[0], uniforms[1] = 0.0, np.nextafter(1, 0)
    found = counts.invert(uniforms)
    for cell, (first, masses) in enumerate(counts.laws):
        cumulative = np.cumsum(masses) / masses.sum()
        sought = np.searchsorted(cumulative[:-1], uniforms[2:, cell], side="right")
        np.testing.assert_array_equal(found[2:, cell], first + sought)
        assert (masses[found[:2, cell] - first] >= 0).all()
        assert first <= found[0, cell] <= found[1, cell] < first + len(masses)


def test_the_table_of_very_many_cells_stays_small_and_right():
    n = 20_000
    chances = np.linspace(0, 1, n)
    counts = CellCounts(chances, Cells(n, np.arange(n), "fixed"))
    uniforms = np.random.Generator(np.random.PCG64(7)).random((20, n))
    np.testing.assert_array_equal(counts.invert(uniforms), uniforms >= 1 - chances)
    assert len(counts.guide.first) <= 2**20


def test_one_expansion_for_a_cell_of_many_rows_gives_the_law_of_pooled_rows(monkeypatch):
    """Half a million chances in eight cells: each probability agrees to 1e-13, and nothing is pooled."""
    chances = np.sort(0.1 + 0.8 * np.random.default_rng(5).random(2**19))
    cells = Cells(8, np.arange(len(chances)) // 2**16, "fixed")
    with monkeypatch.context() as patch:
        patch.setattr(counts, "_MANY_ROWS", 2**30)
        expected = CellCounts(chances, cells)
    monkeypatch.setattr(counts, "pool", lambda *_: pytest.fail("rows are pooled"))
    found = CellCounts(chances, cells)
    assert expected.powers is None
    for (first, law), (start, exact) in zip(found.laws, expected.laws, strict=True):
        low, high = max(first, start), min(first + len(law), start + len(exact))
        np.testing.assert_allclose(
            law[low - first : high - first], exact[low - start : high - start], rtol=0, atol=1e-13
        )
        assert max(law[: low - first].sum(), exact[: low - start].sum()) < 1e-15


@pytest.mark.parametrize("shape", [(0.7, 0.7), (30, 2), (5e4, 5e4)])
def test_squares_of_labels_are_the_same_from_powers_about_the_mean(shape):
    chances = np.random.default_rng(6).beta(*shape, 2**17)
    cells = Cells(2, (chances > np.median(chances)).astype(int), "fixed")
    powers = counts.Powers.of(counts._InCells(chances, cells), None)
    found = SquaresOfLabels.of_powers(powers.count, powers.mean, powers.sums)
    expected = SquaresOfLabels.of(cells, chances, chances, by_prediction=False)
    for name in ("start", "slope", "largest", "without", "every"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.deviation, expected.deviation, rtol=1e-5)


def test_counts_of_groups_of_one_chance_are_binomial():
    rows, chance = np.array([1, 7, 40, 300, 300, 50_000.0]), np.array([0.2, 1e-9, 0.5, 0.004, 0.9, 3e-4])
    uniforms = (np.arange(20_000)[:, None] + np.full(6, 0.5)) / 20_000
    found = BinomialCounts.of(rows, chance).invert(uniforms)
    assert (found == stats.binom(rows, chance).ppf(uniforms)).all()


def test_counts_of_groups_that_are_certain():
    found = BinomialCounts.of(np.array([3.0, 5.0]), np.array([0.0, 1.0])).invert(np.array([[0.0, 0.0], [0.999, 0.999]]))
    assert found.tolist() == [[0, 5], [0, 5]]
