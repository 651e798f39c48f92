"""Predictions drawn anew: sums over cells drawn whole have the law of rows drawn one by one."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

import calibstat as cs
from calibstat._progress import listening
from calibstat.binnings.base import Cells
from calibstat.binnings.intervals import group_ranks
from calibstat.binnings.selection import Numbered
from calibstat.draws import _recut_cells as recut_cells
from calibstat.draws import whole_cells as bin_level
from calibstat.draws._recut_cells import RowsInOrder
from calibstat.draws.moments import Moments
from calibstat.draws.whole_cells import FewValues, redraw_predictions
from suites import slow_but

N_DRAWS = 20_000
LEVEL = 1e-3  # seeds are fixed once: a correct engine passes for good


def scores(shape: str, n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.Generator(np.random.PCG64(seed))
    return {
        "beta": lambda: rng.beta(0.7, 0.7, n),
        "near one": lambda: rng.beta(5, 1, n),
        "half ties": lambda: np.where(rng.random(n) < 0.5, 0.3, rng.random(n)),
        "certain": lambda: np.where(rng.random(n) < 0.4, np.round(rng.random(n)), rng.random(n)),
        "lattice": lambda: rng.integers(0, 5, n) / 4,
        "all equal": lambda: np.full(n, 0.3),
    }[shape]()


def sample_of(p: np.ndarray, **arguments) -> cs.Sample:
    return cs.Sample((p > 0.5).astype(int), p, labels=[0, 1], **arguments)


def whole(estimator, sample, rng=0, n_resamples=N_DRAWS):
    return redraw_predictions(estimator, sample, n_resamples, cs.as_generator(rng)).round(9)


def row_by_row(p, cut, rng, keep_ties=True, chance=lambda p: p, n_draws=N_DRAWS):
    """ECE of rows drawn with replacement, many replicates at once; `cut` is a number of cells, or inner edges."""
    stream, n, parts = np.random.Generator(np.random.PCG64(rng)), len(p), []
    for _ in range(0, n_draws, 1000):
        drawn = np.sort(np.sort(p)[stream.integers(0, n, (1000, n))], axis=1)
        residual = (stream.random((1000, n)) < chance(drawn)) - drawn
        sums = np.concatenate([np.zeros((1000, 1)), np.cumsum(residual, axis=1)], axis=1)
        if np.ndim(cut) == 0:
            ranks = group_ranks(n, cut)
            ends = [(drawn <= drawn[:, [rank - 1]]).sum(axis=1) for rank in ranks]
            inner = ends if keep_ties else [np.full(1000, rank) for rank in ranks]
        else:
            inner = [(drawn < edge).sum(axis=1) for edge in cut]
        ends = np.stack([*inner, np.full(1000, n)], axis=1)
        parts.append(np.abs(np.diff(np.take_along_axis(sums, ends, axis=1), axis=1, prepend=0)).sum(axis=1) / n)
    return np.concatenate(parts).round(9)


OTHERS = [
    cs.DebiasedCE(cs.EqualMass(4)),
    cs.MaximumMiscalibration(cs.EqualWidth(3)),
    cs.PearsonCE(cs.EqualMass(4)),
    cs.DebiasedL2(cs.EqualMass(4)),
    cs.DebiasedL2(cs.EqualWidth(3)),
]


def pvalue(first, second):
    return stats.ks_2samp(first, second, method="asymp").pvalue


@pytest.fixture
def every_n(monkeypatch):
    """Draw cells whole however few the rows."""
    monkeypatch.setattr(bin_level, "FEW_ROWS", 0)
    monkeypatch.setattr(bin_level, "ROWS_FOR_A_CELL", 0.0)


@pytest.mark.usefixtures("every_n")
class TestLaw:
    @pytest.mark.parametrize("shape", ["beta", "near one", "half ties", "certain", "lattice", "all equal"])
    @pytest.mark.parametrize(("n", "n_bins"), [(30, 3), (200, 10)])
    def test_cells_cut_anew_have_the_law_of_rows(self, shape, n, n_bins):
        p = scores(shape, n)
        assert pvalue(whole(cs.ECE(cs.EqualMass(n_bins)), sample_of(p)), row_by_row(p, n_bins, rng=1)) > LEVEL

    @pytest.mark.parametrize("shape", ["beta", "near one", "certain", "lattice"])
    @pytest.mark.parametrize(("n", "n_bins"), [(30, 3), (200, 10)])
    def test_cells_that_stay_have_the_law_of_rows(self, shape, n, n_bins):
        p, inner = scores(shape, n), np.linspace(0, 1, n_bins + 1)[1:-1]
        assert pvalue(whole(cs.ECE(cs.EqualWidth(n_bins)), sample_of(p)), row_by_row(p, inner, rng=1)) > LEVEL

    def test_copies_of_a_row_at_an_edge_stay_together(self):
        """The negative control: rows split at the very rank have another law: KS 0.04 at n = 12, 0.02 at n = 30."""
        p = scores("near one", 12)
        split = row_by_row(p, 4, rng=2, keep_ties=False)
        assert pvalue(split, row_by_row(p, 4, rng=1)) < 1e-6
        found = whole(cs.ECE(cs.EqualMass(4)), sample_of(p))
        assert pvalue(found, split) < 1e-6
        assert pvalue(found, row_by_row(p, 4, rng=1)) > LEVEL

    @pytest.mark.parametrize("cut", [cs.EqualMass(10), cs.EqualWidth(10)], ids=repr)
    def test_predictions_that_are_kept_have_another_law(self, cut):
        """The negative control: so has the exact test, which keeps the predictions (KS 0.024 for equal mass)."""
        sample, n_draws = sample_of(scores("near one", 60)), 4 * N_DRAWS
        kept = cs.Consistency(n_draws).draw(cs.ECE(cut), sample, cs.as_generator(3)).samples.round(9)
        assert pvalue(whole(cs.ECE(cut), sample, n_resamples=n_draws), kept) < 1e-6

    @pytest.mark.parametrize(
        ("estimator", "shape"),
        slow_but(
            # PearsonCE is seconds: its functional is slow at so many replicates
            lambda case: case[1] == "half ties" and not isinstance(case[0], cs.PearsonCE),
            product(OTHERS, ["beta", "half ties", "lattice"]),
        ),
        ids=repr,
    )
    def test_other_functions_of_tallies(self, estimator, shape):
        sample = sample_of(scores(shape, 60))
        plain = redraw_predictions(estimator, sample, 2500, cs.as_generator(4), shortcuts=False).round(9)
        assert pvalue(whole(estimator, sample, n_resamples=N_DRAWS), plain) > LEVEL

    @pytest.mark.parametrize("levels", [5, 40])
    def test_cells_of_a_variable_with_ties(self, levels):
        """Rows that tie in the variable differ in their predictions."""
        rng = np.random.Generator(np.random.PCG64(5))
        sample = sample_of(rng.random(150), variables={"age": rng.integers(0, levels, 150)})
        seen, estimator = cs.Given("age")(sample), cs.ECE(cs.EqualMass(4))
        plain = redraw_predictions(estimator, seen, 2500, cs.as_generator(6), shortcuts=False).round(9)
        assert pvalue(whole(estimator, seen, n_resamples=N_DRAWS), plain) > LEVEL

    @pytest.mark.parametrize("cut", [cs.EqualMass(4), cs.EqualWidth(4)], ids=repr)
    def test_labels_may_follow_chances_that_are_not_the_predictions(self, cut):
        predictions = sample_of(scores("beta", 100)).predictions
        cells, p = cut.cut(predictions), predictions.event
        drawn = bin_level.draw_cells(cells, predictions, p**2, N_DRAWS, cs.as_generator(8), cells.ranks)
        values = np.concatenate([np.abs(each.events - each.prediction).sum(axis=1) for each in drawn]) / 100
        how = 4 if cells.ranks is not None else [0.25, 0.5, 0.75]
        assert pvalue(values.round(9), row_by_row(p, how, rng=9, chance=np.square)) > LEVEL
        assert pvalue(values.round(9), row_by_row(p, how, rng=9)) < 1e-6  # the negative control


def test_labels_follow_rows_that_do_not_quite_sum_to_one():
    p = scores("beta", 4000)
    sums_to_one = cs.Sample((p > 0.5).astype(int), np.stack([1 - p, p], axis=1))
    falls_short = cs.Sample((p > 0.5).astype(int), np.stack([1 - p, p], axis=1) * (1 - 9e-5))
    assert sums_to_one.predictions.is_law
    assert not falls_short.predictions.is_law
    np.testing.assert_allclose(falls_short.predictions.chances[:, 1], p, rtol=1e-12)
    first, second = (whole(cs.ECE(cs.EqualWidth(5)), each, n_resamples=500) for each in (sums_to_one, falls_short))
    assert np.abs(first - second).max() < 2e-4


@pytest.mark.usefixtures("every_n")
@pytest.mark.parametrize("p", [[0.0], [1.0], [0.4], [0.0, 1.0], [0.2, 0.2], [0, 0, 0.5, 1]], ids=str)
@pytest.mark.parametrize("cut", [cs.EqualMass(1), cs.EqualMass(3), cs.EqualWidth(2)], ids=repr)
def test_the_smallest_samples_by_enumeration(p, cut):
    """The mean of the squared error of cells, enumerated over all rows and labels."""
    p, n, estimator = np.array(p, dtype=float), len(p), cs.SquaredCE(cut)
    expected = 0.0
    for drawn in np.stack(np.meshgrid(*[np.arange(n)] * n, indexing="ij"), axis=-1).reshape(-1, n):
        seen = sample_of(p).take(drawn)
        for labels in np.stack(np.meshgrid(*[[0, 1]] * n, indexing="ij"), axis=-1).reshape(-1, n):
            chance = np.where(labels == 1, p[drawn], 1 - p[drawn]).prod() / n**n
            expected += chance * estimator(cs.Sample.of(seen.predictions, labels)) if chance > 0 else 0.0
    values = whole(estimator, sample_of(p))
    assert abs(values.mean() - expected) <= 4 * values.std() / np.sqrt(N_DRAWS) + 1e-9


def test_sorting_near_the_edges_gives_the_draws_of_sorting_all(monkeypatch):
    """Of one block of replicates, and of three: edges of the second fall where rows are not sorted for the first."""
    for shape in ("beta", "near one", "half ties", "certain"):
        sample, estimator = sample_of(scores(shape, 20_000)), cs.ECE(cs.EqualMass(15))
        every = redraw_predictions(estimator, sample, 2500, cs.as_generator(0))
        monkeypatch.setattr(recut_cells, "_ROWS_FOR_SELECTION", 1)
        near = redraw_predictions(estimator, sample, 2500, cs.as_generator(0))
        fewer = redraw_predictions(estimator, sample, 50, cs.as_generator(0))
        monkeypatch.setattr(recut_cells, "_DEVIATIONS", 0.1)  # edges of the third fall outside again
        nearer = redraw_predictions(estimator, sample, 2500, cs.as_generator(0))
        monkeypatch.undo()
        np.testing.assert_allclose(near, every, rtol=1e-7)
        np.testing.assert_allclose(nearer, every, rtol=1e-7)
        np.testing.assert_array_equal(near[:50], fewer)


def cells_of(column, ranks):
    """Cells of rows up to these ranks, with their histogram."""
    edges = np.concatenate([[column.min()], np.sort(column)[ranks - 1], [column.max()]])
    index = np.searchsorted(edges[1:-1], column, side="left")
    return Cells(len(edges) - 1, index, "ranks", edges, ranks=ranks, numbered=Numbered.of(column))


def test_groups_near_edges_are_those_of_all_sorted_rows():
    p, age = scores("beta", 5000), np.random.Generator(np.random.PCG64(1)).integers(0, 700, 5000).astype(float)
    ranks, window = np.array([1000, 2500]), (np.array([870, 2300]), np.array([1150, 2650]))
    for column, chance in ((p, p), (age, p), (age, (p > 0.5).astype(float))):
        near = RowsInOrder.near_edges(column, p, chance, window, cells_of(column, ranks), 2)
        every = RowsInOrder.of_all(column, p, chance, ranks, 2)
        assert near.n == every.n == 5000
        assert 0 < near.own.shape[1] < every.own.shape[1]
        np.testing.assert_allclose(near.whole, every.whole, rtol=1e-12)
        place = np.searchsorted(every.below[0], near.below[0])
        np.testing.assert_allclose(near.below, every.below[:, place], rtol=1e-9)
        np.testing.assert_allclose(near.own, every.own[:, place], rtol=1e-9)
        for group in range(0, len(place), 50):
            rows = column == np.sort(column)[round(near.below[0, group])]
            expected = [rows.sum(), *((chance * rows).sum(), (p * rows).sum(), (p * chance * rows).sum())]
            sums = near.at(np.array([group]))
            found = [each(power)[0] for power in (0, 1) for each in (sums.total, sums.of_events)]
            np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_positions_among_rows_left_out_are_told():
    p, ranks, window = scores("beta", 5000), np.array([1000, 2500]), (np.array([970, 2470]), np.array([1030, 2530]))
    near, every = RowsInOrder.near_edges(p, p, p, window, cells_of(p, ranks), 2), RowsInOrder.of_all(p, p, p, ranks, 2)
    for shift in (-30.0, 0.0, 30.0):
        found, expected = (each.group_at(ranks[:, None] + shift + 0.5) for each in (near, every))
        np.testing.assert_allclose(near.below[:, found], every.below[:, expected], rtol=1e-12)
    for position in (10.0, 1700.0, 4990.0):
        assert near.group_at(np.array([[1000.5], [position]])) is None
        assert every.group_at(np.array([[1000.5], [position]])) is not None


def assert_same_moments(first, second):
    for one, other in ((first, second), (first.event, second.event), (first.other, second.other)):
        for name, values in vars(one).items():
            if isinstance(values, np.ndarray):
                np.testing.assert_allclose(values, getattr(other, name), rtol=1e-9, atol=1e-12)
    for one, other in ((first.event, second.event), (first.other, second.other)):
        for name, values in vars(one.squares).items():
            np.testing.assert_allclose(values, getattr(other.squares, name), rtol=1e-9, atol=1e-12)


def test_sums_of_residuals_have_the_mean_and_covariance_of_rows_drawn():
    """Both sums of 12 rows of which 5 are events, drawn from the rows themselves."""
    rng = np.random.Generator(np.random.PCG64(3))
    p, zero, n_draws = rng.beta(2, 1, 40), np.zeros(40, dtype=int), 200_000
    events, others = rng.choice(p, (n_draws, 5), p=p / p.sum()), rng.choice(p, (n_draws, 7), p=(1 - p) / (1 - p).sum())
    expected = np.stack([events.sum(1) + others.sum(1), ((1 - events) ** 2).sum(1) + (others**2).sum(1)])
    moments = Moments.of_cells(zero, 1, p, p, degree=4)
    rows, some = np.full((n_draws, 1), 12.0), np.full((n_draws, 1), 5.0)
    drawn = np.stack([each[:, 0] for each in moments.draw(rows, some, rng, squared=True)])
    error = np.sqrt((expected.var(axis=1) + drawn.var(axis=1)) / n_draws)
    assert (np.abs(expected.mean(axis=1) - drawn.mean(axis=1)) < 4 * error).all()
    np.testing.assert_allclose(np.cov(drawn), np.cov(expected), rtol=0.03)


def test_squared_residuals_of_equal_predictions_have_no_noise():
    moments = Moments.of_values(np.zeros(10, dtype=int), np.array([0.2]), np.full(10, 0.2))
    _, square = moments.draw(np.array([[10.0]]), np.array([[3.0]]), cs.as_generator(0), squared=True)
    assert square[0, 0] == pytest.approx(3 * 0.64 + 7 * 0.04, rel=1e-12)


def test_squared_residuals_need_fourth_powers():
    moments = Moments.of_cells(np.zeros(3, dtype=int), 1, np.array([0.2, 0.4, 0.5]), np.array([0.1, 0.3, 0.5]))
    with pytest.raises(ValueError, match="degree 4"):
        moments.draw(np.array([[3.0]]), np.array([[1.0]]), cs.as_generator(0), squared=True)


def test_moments_agree_with_a_plain_loop():
    rng = np.random.Generator(np.random.PCG64(2))
    p, chance, index = rng.random(300), rng.random(300), rng.integers(0, 4, 300)
    found = Moments.of_cells(index, 5, p, chance, degree=4)
    for cell in range(4):
        rows = index == cell
        for weight, law in ((chance[rows], found.event), (1 - chance[rows], found.other)):
            share, one = weight / sum(weight), p[rows]
            mean, mean2 = sum(share * one), sum(share * one**2)
            assert law.mean[cell] == pytest.approx(mean, rel=1e-12)
            assert law.variance[cell] == pytest.approx(sum(share * (one - mean) ** 2), rel=1e-9)
            assert law.squares.mean[cell] == pytest.approx(mean2, rel=1e-12)
            assert law.squares.variance[cell] == pytest.approx(sum(share * (one**2 - mean2) ** 2), rel=1e-9)
            assert law.squares.covariance[cell] == pytest.approx(sum(share * (one - mean) * (one**2 - mean2)), rel=1e-9)
    assert found.rows[4] == found.event.mean[4] == found.other.variance[4] == found.other.squares.mean[4] == 0
    assert_same_moments(*(Moments.of_cells(index, 5, p, each, degree=4) for each in (p, p.copy())))
    labels = (chance < 0.3).astype(int)
    assert_same_moments(*(Moments.of_cells(index, 5, p, each, degree=4) for each in (labels, labels.astype(float))))


def test_few_values_are_drawn_exactly():
    """Three values in one cell: the number of rows of each is multinomial, and the statistic lies on its lattice."""
    p = np.repeat([0.2, 0.5, 0.9], 2000)
    few = FewValues.of(cs.FixedEdges([0, 1]).cut(sample_of(p).predictions), p, p, p)
    assert few is not None
    values = redraw_predictions(cs.ECE(cs.FixedEdges([0, 1])), sample_of(p), 500, cs.as_generator(0)) * 6000
    np.testing.assert_allclose(values * 10, np.round(values * 10), atol=1e-6)
    smooth = scores("beta", 6000)
    assert FewValues.of(cs.FixedEdges([0, 1]).cut(sample_of(smooth).predictions), smooth, smooth, smooth) is None


class TestPolicy:
    ESTIMATOR = cs.ECE(cs.EqualMass(5))

    @pytest.mark.parametrize(
        ("estimator", "sample"),
        [
            (ESTIMATOR, sample_of(scores("beta", 3000))),
            (ESTIMATOR, sample_of(scores("beta", 3100), sample_weight=1 + np.arange(3100) % 2)),
            (cs.ECE(cs.VarianceTree(500)), sample_of(scores("beta", 3100))),
            (cs.ECE(cs.EqualWidth(2) * cs.EqualMass(2)), sample_of(scores("beta", 3100))),
            (cs.PDE(cs.EqualMass(5)), sample_of(scores("beta", 3100))),
            (cs.ECE(cs.EqualWidth(400)), sample_of(scores("beta", 3100))),
        ],
        ids=[
            "few rows",
            "weights",
            "cells that move otherwise",
            "crossed cells",
            "needs rows",
            "many cells",
        ],
    )
    def test_plain_rows_are_drawn_where_cells_do_not_suffice(self, estimator, sample):
        first, second = (redraw_predictions(estimator, sample, 5, cs.as_generator(0), way) for way in (True, False))
        np.testing.assert_array_equal(first, second)

    def test_many_rows_are_not_drawn_one_by_one(self):
        sample = sample_of(scores("beta", 3001))
        first, second = (redraw_predictions(self.ESTIMATOR, sample, 5, cs.as_generator(0), w) for w in (True, False))
        assert not np.array_equal(first, second)

    @pytest.mark.parametrize("shape", ["beta", "lattice"])
    @pytest.mark.parametrize("cut", [cs.EqualMass(5), cs.EqualWidth(5)], ids=repr)
    def test_fewer_replicates_are_a_prefix_of_more(self, shape, cut):
        sample = sample_of(scores(shape, 4000))
        fewer, more = (redraw_predictions(cs.ECE(cut), sample, size, cs.as_generator(0)) for size in (7, 1500))
        np.testing.assert_array_equal(more[:7], fewer)
        assert fewer.shape == (7,)
        assert len(np.unique(more)) > 100

    def test_long_work_tells_how_far_it_is(self):
        told = []
        with listening(told.append):
            redraw_predictions(self.ESTIMATOR, sample_of(scores("beta", 4000)), 4000, cs.as_generator(0))
        assert len(told) == 4
        assert told == sorted(told)

    def test_a_prepared_evaluator_is_used(self):
        sample = sample_of(scores("beta", 4000))
        evaluator = self.ESTIMATOR.prepare(sample.predictions)
        given = redraw_predictions(self.ESTIMATOR, sample, 9, cs.as_generator(0), evaluator=evaluator)
        np.testing.assert_array_equal(given, redraw_predictions(self.ESTIMATOR, sample, 9, cs.as_generator(0)))


def test_the_null_mean_of_one_cell_is_known():
    """One cell of equal mass: n times the error is |sum of residuals|, whose second moment is n times the mean p q."""
    p = scores("near one", 5000)
    values = redraw_predictions(cs.SquaredCE(cs.EqualMass(1)), sample_of(p), 20_000, cs.as_generator(1))
    assert abs(values.mean() / ((p * (1 - p)).mean() / 5000) - 1) < 4 * np.sqrt(2 / 20_000)


def law_at_length(n_draws: int = 200_000) -> None:
    """Print the distances that docs/engine.md speaks of: run this file by name (two minutes)."""
    bin_level.FEW_ROWS, bin_level.ROWS_FOR_A_CELL = 0, 0.0
    print("   n cells shape     whole - rows  rows - rows  ties split - rows  share above the 5 % value of rows")
    for n, n_bins in ((30, 5), (60, 5), (200, 10), (1000, 15)):
        for shape in ("beta", "near one", "certain"):
            p = scores(shape, n)
            drawn = whole(cs.ECE(cs.EqualMass(n_bins)), sample_of(p), 1, n_draws)
            rows, others = (row_by_row(p, n_bins, rng, n_draws=n_draws) for rng in (2, 3))
            split = row_by_row(p, n_bins, 4, keep_ties=False, n_draws=n_draws)
            first, second, third = (stats.ks_2samp(one, rows).statistic for one in (drawn, others, split))
            above = (drawn >= np.quantile(rows, 0.95)).mean()
            print(f"{n:4} {n_bins:5} {shape:10}{first:12.4f}{second:13.4f}{third:19.4f}{above:12.4f}")


if __name__ == "__main__":
    law_at_length()
