"""The bootstrap of cells drawn whole has the law of the bootstrap of rows, of one model and of two."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import calibstat as cs
from calibstat.draws import whole_cells as bin_level
from calibstat.draws.moments import sum_of_squares
from calibstat.inference.estimate import leaving_one_out

LEVEL = 1e-3  # seeds are fixed once: a correct engine passes for good
N_DRAWS = 8000
ESTIMATORS = [
    cs.ECE(cs.EqualMass(5)),
    cs.ECE(cs.EqualWidth(4)),
    cs.DebiasedCE(cs.EqualMass(5)),
    cs.RMSCE(cs.VarianceTree(20)),
    cs.TopLabel() | cs.MaximumMiscalibration(cs.EqualMass(2)),
]
each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)


def models(n: int, shape: str = "smooth") -> tuple[cs.Sample, cs.Sample]:
    """Two models of the same rows, neither calibrated."""
    rng = np.random.Generator(np.random.PCG64(n))
    p = rng.integers(0, 6, n) / 5 if shape == "lattice" else rng.beta(0.7, 0.7, n)
    happened = (rng.random(n) < 0.2 + 0.6 * p).astype(int)
    second = np.clip(p + rng.normal(0, 0.1, n), 0, 1) if shape == "smooth" else (p + 0.4) / 1.4
    return cs.Sample(happened, p), cs.Sample(happened, second)


def pvalue(first, second):
    return stats.ks_2samp(first.round(9), second.round(9), method="asymp").pvalue


@pytest.fixture
def every_n(monkeypatch):
    """Draw cells whole however few the rows."""
    monkeypatch.setattr(bin_level, "FEW_ROWS", 0)
    monkeypatch.setattr(bin_level, "ROWS_FOR_A_CELL", 0.0)


@pytest.mark.usefixtures("every_n")
class TestLaw:
    @each_estimator
    @pytest.mark.parametrize("shape", ["smooth", "lattice"])
    def test_replicates_of_one_model(self, estimator, shape):
        bootstrap, sample = cs.Bootstrap(N_DRAWS), models(80, shape)[0]
        whole = bootstrap.replicates(estimator, sample, rng=1)
        rows = replace(bootstrap, shortcuts=False).replicates(estimator, sample, rng=2)
        assert not np.array_equal(whole[:100], rows[:100])
        assert pvalue(whole, rows) > LEVEL

    @each_estimator
    def test_replicates_of_two_models(self, estimator):
        bootstrap, both = cs.Bootstrap(N_DRAWS), models(80)
        whole = bootstrap.paired_replicates(estimator, *both, rng=3)
        rows = replace(bootstrap, shortcuts=False).paired_replicates(estimator, *both, rng=4)
        assert whole.shape == rows.shape == (2, N_DRAWS)
        for one, other in zip((*whole, whole[0] - whole[1]), (*rows, rows[0] - rows[1]), strict=True):
            assert pvalue(one, other) > LEVEL

    def test_two_models_drawn_apart_are_told_from_two_drawn_together(self):
        """The negative control."""
        bootstrap, both, estimator = cs.Bootstrap(N_DRAWS), models(80), cs.ECE(cs.EqualWidth(4))
        together = bootstrap.paired_replicates(estimator, *both, rng=3)
        apart = [bootstrap.replicates(estimator, each, rng=seed) for seed, each in enumerate(both)]
        assert pvalue(together[0] - together[1], apart[0] - apart[1]) < 1e-6

    def test_labels_that_are_redrawn_are_told_from_those_observed(self):
        """The negative control."""
        sample, estimator = models(80)[0], cs.ECE(cs.EqualWidth(4))
        null = cs.Consistency(N_DRAWS, resample_predictions=True).draw(estimator, sample, cs.as_generator(5))
        assert pvalue(cs.Bootstrap(N_DRAWS).replicates(estimator, sample, rng=1), null.samples) < 1e-6


def test_the_same_model_twice_has_no_difference():
    sample = models(4000)[0]
    values = cs.Bootstrap(200).paired_replicates(cs.ECE(cs.EqualMass(10)), sample, sample, rng=0)
    np.testing.assert_allclose(values[0], values[1], rtol=1e-6)
    assert values[0].std() > 0


@pytest.mark.parametrize("members", [1, 2, 7, 50])
def test_sums_of_squared_counts_have_the_mean_and_variance_of_enumerated_draws(members):
    """W draws from N members: both moments of the sum of squares, exactly, against counts of drawn members."""
    rng, n_drawn = np.random.Generator(np.random.PCG64(6)), 30
    counts = rng.multinomial(n_drawn, np.full(members, 1 / members), size=40_000)
    squares = (counts**2).sum(axis=1)
    drawn = sum_of_squares(np.full((40_000, 1, 1), float(n_drawn)), np.full((1, 1), float(members)), rng)[:, 0]
    assert abs(drawn.mean() - squares.mean()) <= 4 * np.sqrt(2 * squares.var() / 40_000) + 1e-9
    assert drawn.var() == pytest.approx(squares.var(), rel=0.06 if members > 1 else 0, abs=1e-9)


def test_a_row_that_is_drawn_once_has_no_twin():
    rng = np.random.Generator(np.random.PCG64(7))
    counts, members = np.array([[[0.0, 1.0, 1.0, 5.0]]]), np.array([[3.0, 1.0, 9.0, 1.0]])
    assert sum_of_squares(counts, members, rng).tolist() == [[0, 1, 1, 25]]


def test_squares_of_the_groups_of_a_cell_add_up():
    """Two groups of a cell, against enumerated draws: mean and variance."""
    rng, members, n_drawn = np.random.Generator(np.random.PCG64(8)), (3, 8), (10, 25)
    squares = sum(
        (rng.multinomial(n, np.full(m, 1 / m), size=40_000) ** 2).sum(axis=1)
        for m, n in zip(members, n_drawn, strict=True)
    )
    counts = np.broadcast_to(np.array(n_drawn, dtype=float)[:, None], (40_000, 2, 1))
    drawn = sum_of_squares(counts, np.array(members, dtype=float)[:, None], rng)[:, 0]
    assert abs(drawn.mean() - squares.mean()) <= 4 * np.sqrt(2 * squares.var() / 40_000)
    assert drawn.var() == pytest.approx(squares.var(), rel=0.06)


class TestPolicy:
    ESTIMATOR = cs.ECE(cs.EqualMass(5))

    @pytest.mark.parametrize(
        ("estimator", "change"),
        [
            (ESTIMATOR, {"n": 3000}),
            (ESTIMATOR, {"weighted": True}),
            (ESTIMATOR, {"clustered": True}),
            (cs.Region.between("ward", 0, 30) | ESTIMATOR, {}),
            (cs.DebiasedL2(cs.EqualMass(5)), {}),
            (cs.PDE(cs.EqualMass(5)), {}),
            (cs.ECE(cs.UniqueValues()), {}),
        ],
        ids=["few rows", "weights", "clusters", "a region", "squares", "needs rows", "many cells"],
    )
    def test_rows_are_weighted_where_cells_do_not_suffice(self, estimator, change):
        n = change.get("n", 3100)
        sample = models(n)[0]
        weights = 1 + np.arange(n) % 2 if "weighted" in change else None
        ward = np.arange(n) % 40
        groups = ward if "clustered" in change else None
        known = {"variables": {"ward": ward}, "sample_weight": weights, "groups": groups}
        sample = cs.Sample(sample.outcomes, sample.y_prob, **known)
        bootstrap = cs.Bootstrap(4)
        rows = replace(bootstrap, shortcuts=False)
        np.testing.assert_array_equal(
            bootstrap.replicates(estimator, sample, rng=0), rows.replicates(estimator, sample, rng=0)
        )
        if "clustered" not in change:
            np.testing.assert_array_equal(
                bootstrap.paired_replicates(estimator, sample, sample, rng=0),
                rows.paired_replicates(estimator, sample, sample, rng=0),
            )

    def test_three_classes_are_weighted(self):
        rng = np.random.Generator(np.random.PCG64(8))
        sample = cs.Sample(rng.integers(0, 3, 3100), rng.dirichlet(np.ones(3), 3100))
        for estimator, same in ((cs.ECE(cs.SimplexGrid(2)), True), (cs.TopLabel() | self.ESTIMATOR, False)):
            whole, rows = (cs.Bootstrap(3, shortcuts=way).replicates(estimator, sample, rng=0) for way in (True, False))
            assert np.array_equal(whole, rows) == same

    @pytest.mark.parametrize("shape", ["smooth", "lattice"])
    def test_fewer_replicates_are_a_prefix_of_more(self, shape):
        both = models(4000, shape)
        fewer, more = (cs.Bootstrap(size).replicates(self.ESTIMATOR, both[0], rng=0) for size in (7, 1200))
        np.testing.assert_array_equal(more[:7], fewer)
        fewer, more = (cs.Bootstrap(size).paired_replicates(self.ESTIMATOR, *both, rng=0) for size in (7, 1200))
        np.testing.assert_array_equal(more[:, :7], fewer)

    def test_samples_of_other_rows_are_refused(self):
        one, other = models(40)[0], models(41)[0]
        with pytest.raises(ValueError, match="40 and 41 rows"):
            cs.Bootstrap(3).paired_replicates(self.ESTIMATOR, one, other, rng=0)
        flipped = cs.Sample(1 - one.outcomes, one.y_prob)
        with pytest.raises(ValueError, match="the labels of the samples differ"):
            cs.Bootstrap(3).paired_replicates(self.ESTIMATOR, one, flipped, rng=0)


@pytest.mark.parametrize("n", [5000])
def test_spread_is_that_of_the_plain_bootstrap_at_many_rows(n):
    bootstrap, (one, other), estimator = cs.Bootstrap(600), models(n), cs.DebiasedCE(cs.EqualMass(15))
    whole = bootstrap.paired_replicates(estimator, one, other, rng=1)
    rows = replace(bootstrap, shortcuts=False).paired_replicates(estimator, one, other, rng=2)
    for first, second in zip((*whole, whole[0] - whole[1]), (*rows, rows[0] - rows[1]), strict=True):
        assert abs(first.mean() - second.mean()) < 4 * np.sqrt(2 / 600) * second.std()
        assert abs(first.std() / second.std() - 1) < 4 / np.sqrt(600)


@pytest.mark.parametrize("estimator", [*ESTIMATORS, cs.DebiasedL2(cs.EqualMass(5))], ids=repr)
def test_the_value_without_each_row_is_that_of_a_plain_loop(estimator):
    seen = estimator.lens(models(40)[0])
    evaluator = estimator.core.prepare(seen.predictions)
    expected = [evaluator(seen.outcomes, (np.arange(40) != row).astype(float)) for row in range(40)]
    np.testing.assert_allclose(leaving_one_out(evaluator, seen), expected, rtol=1e-10, atol=1e-13)
