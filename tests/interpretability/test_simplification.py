"""Cells merged one pair after another: every step against all that it could have been, and rows that did not choose."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

import calibstat as cs
from calibstat import calibrators as cal
from calibstat.generators import BetaPredictions, FinitePredictions
from suites import examples

KEEPS = [cs.BrierScore(), cs.LogScore(), cs.ZeroOneLoss(), cs.KendallTau(ties="tau_a"), cs.ECE(cs.UniqueValues())]
WORLDS = st.lists(
    st.tuples(st.integers(0, 20), st.integers(0, 10), st.integers(1, 9)), min_size=1, max_size=9
)  # prediction, chance, mass


def world_of(atoms):
    prediction, chance, mass = np.array(atoms, dtype=float).T
    return FinitePredictions(prediction / 20, chance / 10, mass)


def cells_of(world):
    return sorted({row[1] for row in world.predictions})


def sample_of(n, seed=0, weights=False, values=None):
    rng = np.random.default_rng(seed)
    p = rng.beta(1, 1, n) if values is None else rng.choice(values, n)
    y = (rng.random(n) < p**1.3).astype(int)
    return cs.Sample(y, p, sample_weight=rng.uniform(0.2, 3, n) if weights else None)


# In worlds


@pytest.mark.parametrize("keep", KEEPS, ids=repr)
@given(WORLDS)
@examples(40)
def test_each_merge_is_the_one_of_neighbours_that_costs_least(keep, atoms):
    path = cs.simplify(world_of(atoms), 1, keep=keep)
    assert path.n_cells.tolist() == list(range(len(cells_of(world_of(atoms))), 0, -1))
    for size, loss in zip(path.n_cells[1:].tolist(), path.loss[1:], strict=True):
        before = path.merged(size + 1)
        cells = cells_of(before)
        others = [
            float(keep.evidence(np.array(float(cs.merge_cells(before, cells[j : j + 2]).truth(keep)))))
            for j in range(len(cells) - 1)
        ]
        assert keep.evidence(np.array(loss)) == pytest.approx(min(others), abs=1e-9)


@given(WORLDS)
@examples(40)
def test_torabian_urner_2024_theorems_5_and_6_hold_along_the_path(atoms):
    path = cs.simplify(world_of(atoms), 1)
    assert (np.diff(path.calibration_error) <= 1e-12).all()
    assert (np.diff(path.count) <= 1e-9).all()
    assert path.count[-1] == pytest.approx(1)
    world = path.merged(1)
    mean = np.average([row[1] for row in world_of(atoms).predictions], weights=world.mass)
    assert cells_of(world) == pytest.approx([mean])


def test_the_numbers_are_the_truths_of_the_merged_worlds():
    world = FinitePredictions([0.2, 0.6, 0.7, 0.2], [0.4, 0.5, 0.6, 0.1], mass=[0.3, 0.2, 0.5, 0.4])
    path = cs.simplify(world, 1, keep=cs.RMSE())
    for k, size in enumerate(path.n_cells.tolist()):
        merged = path.merged(size)
        assert merged.truths == world.truths
        for name, estimator in (
            ("calibration_error", cs.ECE()),
            ("loss", cs.RMSE()),
            ("tau", cs.KendallTau()),
            ("count", cs.ProbabilisticCount()),
        ):
            assert getattr(path, name)[k] == pytest.approx(float(merged.truth(estimator)))
    assert np.isnan(path.expected).all()


def test_what_a_merge_adds_to_the_mean_squared_error_by_hand():
    # dMSE = P_a P_b / (P_a + P_b) (b - a) (2 (eta_b - eta_a) - (b - a)); masses .3, .2, .5: .0024 down, .0014 up
    world = FinitePredictions([0.2, 0.6, 0.7], [0.4, 0.5, 0.6], mass=[0.3, 0.2, 0.5])
    path = cs.simplify(world, 2)
    np.testing.assert_allclose(path.loss, [0.261, 0.261 - 0.0096])
    assert path.merged().predictions[0][1] == pytest.approx(0.36)


def test_merges_that_cost_nothing_move_predictions_least():
    world = FinitePredictions([0.1, 0.15, 0.4, 0.8], [0.1, 0.1, 0.1, 0.9])
    path = cs.simplify(world, 2, keep=cs.ZeroOneLoss())
    assert cells_of(path.merged(3)) == pytest.approx([0.125, 0.4, 0.8])
    assert cells_of(path.merged(2)) == pytest.approx([0.65 / 3, 0.8])


def test_cells_to_begin_with_may_be_those_of_a_binning():
    world = FinitePredictions(np.arange(1, 10) / 10, np.arange(1, 10) / 10)
    path = cs.simplify(world, 2, binning=cs.FixedEdges([0, 0.35, 0.65, 1]))
    assert path.n_cells.tolist() == [3, 2]
    assert cells_of(path.merged(3)) == pytest.approx([0.2, 0.5, 0.8])


def test_a_certain_loss_that_is_infinite_is_merged_first():
    world = FinitePredictions([0.0, 0.3, 0.9], [0.1, 0.3, 0.9])
    path = cs.simplify(world, 2, keep=cs.LogScore(smallest=0))
    assert np.isinf(path.loss[0])
    assert cells_of(path.merged()) == pytest.approx([0.15, 0.9])


# On samples


@pytest.mark.parametrize("weights", [False, True], ids=["equal", "weighted"])
@pytest.mark.parametrize("keep", [cs.BrierScore(), cs.AUC()], ids=repr)
def test_the_numbers_are_those_of_the_held_out_rows(weights, keep):
    chosen, held_out = sample_of(300, 1), sample_of(220, 2, weights)
    path = cs.simplify(chosen, 2, keep=keep, binning=cs.EqualMass(6), held_out=held_out)
    for k, size in enumerate(path.n_cells.tolist()):
        merged = path.merged(size)
        np.testing.assert_array_equal(merged.outcomes, held_out.outcomes)
        assert path.calibration_error[k] == pytest.approx(cs.ECE(cs.UniqueValues())(merged))
        assert path.loss[k] == pytest.approx(keep(merged))
        assert path.tau[k] == pytest.approx(cs.KendallTau()(merged))
        assert path.count[k] == pytest.approx(cs.ProbabilisticCount()(merged))
        # The scores are means of the rows that chose, and the cells are those of the binning.
        cells = path.binning(size).cut(chosen.predictions).index
        means = np.bincount(cells, chosen.predictions.event) / np.bincount(cells)
        said = means[path.binning(size).cut(held_out.predictions).index]
        np.testing.assert_allclose(merged.predictions.event, said)
    compared = cs.comparison_test(path.merged(), held_out, keep)
    assert path.comparison.difference == pytest.approx(compared.difference)
    assert path.comparison.confidence_interval == pytest.approx(compared.confidence_interval)


def test_what_noise_alone_gives_is_the_mean_over_binomial_laws():
    chosen, held_out = sample_of(400, 3), sample_of(57, 4)
    path = cs.simplify(chosen, 2, binning=cs.EqualMass(5), held_out=held_out)
    for k, size in enumerate(path.n_cells.tolist()):
        event, total = path.merged(size).predictions.event, 0.0
        for score in np.unique(event):
            n = np.count_nonzero(event == score)
            total += binom.pmf(np.arange(n + 1), n, score) @ np.abs(np.arange(n + 1) - n * score)
        assert path.expected[k] == pytest.approx(total / 57)
    repeated = np.arange(57).repeat(2)
    doubled = cs.simplify(chosen, 2, binning=cs.EqualMass(5), held_out=held_out.take(repeated))
    assert (doubled.expected < path.expected).all()


def test_cells_are_chosen_on_one_half_and_judged_on_the_other():
    sample = sample_of(400, 5)
    path = cs.simplify(sample, 3, rng=0)
    judged = path.merged()
    assert len(judged) == 200
    held = np.isin(sample.predictions.event, cs.simplify(sample, 20, rng=0).judge.rows.predictions.event)
    assert held.sum() == 200

    def flipped(rows):
        y = np.where(rows, 1 - sample.outcomes, sample.outcomes)
        return cs.simplify(cs.Sample(y, sample.predictions.event), 3, rng=0)

    others = flipped(held)
    assert others.binning() == path.binning()
    assert others.loss[-1] != path.loss[-1]
    assert flipped(~held).binning() != path.binning()
    assert "200 rows that did not choose them" in path.verdict


def test_clusters_stay_in_one_half():
    groups = np.arange(400) // 8
    sample = cs.Sample(sample_of(400, 5).outcomes, sample_of(400, 5).predictions.event, groups=groups)
    judged = cs.simplify(sample, 3, rng=0).judge.rows
    assert judged.groups.number == 25
    assert len(judged) == 200


def test_distinct_predictions_are_the_cells_where_each_has_ten_rows():
    few = cs.simplify(sample_of(400, 6, values=[0.1, 0.2, 0.5, 0.9]), 2, rng=0)
    assert (few.start, few.n_cells[0]) == (cs.UniqueValues(), 4)
    many = cs.simplify(sample_of(400, 6), 2, rng=0)
    assert (many.start, many.n_cells[0]) == (cs.EqualMass(20), 20)
    assert cs.simplify(sample_of(4000, 6), 2, rng=0).start == cs.EqualMass(100)


def test_rows_of_weight_zero_do_not_count():
    rng = np.random.default_rng(7)
    sample = sample_of(300, 7, weights=True)
    weights = np.where(rng.random(300) < 0.2, 0, sample.predictions.weights)
    y, p = sample.outcomes, sample.predictions.event
    weighed = cs.Sample(y, p, sample_weight=weights)
    held = weights > 0
    less = cs.Sample(y[held], p[held], sample_weight=weights[held])
    options = {"held_out": sample_of(100, 8), "binning": cs.EqualMass(8)}
    found, expected = (cs.simplify(each, 3, **options) for each in (weighed, less))
    assert found.binning() == expected.binning()
    np.testing.assert_allclose(found.loss, expected.loss)


def test_predictions_that_nearly_touch_stay_apart():
    p = np.array([0.3, np.nextafter(0.3, 1) + 1e-15, 0.3 + 1e-13, 0.8]).repeat(30)
    sample = cs.Sample(np.arange(120) % 2, p)
    path = cs.simplify(sample, 2, held_out=sample)
    merged = path.merged(int(path.n_cells[0]))
    assert cs.UniqueValues().cut(merged.predictions).size == path.n_cells[0]


def test_the_merged_cells_serve_calibrators():
    sample = sample_of(600, 9)
    path = cs.simplify(sample, 4, rng=0)
    p, y = sample.predictions.event, sample.outcomes
    found = cal.HistogramBinning(path.binning()).fit(p, y).predict_proba(p)[:, 1]
    assert len(np.unique(found)) == 4
    assert cs.ECE(cs.UniqueValues())(cs.Sample(y, found)) == pytest.approx(0, abs=1e-9)


# Words, and refusals


@pytest.mark.parametrize(
    "make",
    [
        lambda: cs.simplify(sample_of(200, 10), 3, rng=0),
        lambda: cs.simplify(sample_of(200, 10, weights=True), 3, keep=cs.KendallTau(), rng=0),
        lambda: cs.simplify(FinitePredictions([0.1, 0.2, 0.7], [0.1, 0.3, 0.6]), 1),
    ],
    ids=["sample", "weighted", "world"],
)
def test_the_text_fits_and_tables_hold_every_step(make):
    path = make()
    assert max(map(len, path.to_text(80).splitlines())) <= 80
    frame = path.to_frame()
    assert frame.n_cells.tolist() == path.n_cells.tolist()
    assert list(frame) == ["n_cells", "calibration_error", "expected", "loss", "tau", "count"]
    json.dumps(path.to_dict(), allow_nan=False)
    assert path.to_dataset().sizes["n_cells"] == len(path.n_cells)


def test_weights_make_the_expectation_about():
    assert "about the calibration error" in cs.simplify(sample_of(300, 11, weights=True), 3, rng=0).to_text(
        verbose=True
    )
    plain = cs.simplify(sample_of(300, 11), 3, rng=0).to_text(verbose=True)
    assert "about" not in plain
    assert "judge that choice on others" in " ".join(plain.split())


def test_without_an_interval_the_reason_is_told():
    path = cs.simplify(sample_of(300, 12), 3, keep=cs.ECE(cs.EqualMass(4)), rng=0)
    assert path.comparison is None
    assert "which is no mean over rows" in path.notes[0]


SAMPLE = sample_of(60, 13)
WORLD = FinitePredictions([0.2, 0.6], [0.4, 0.5])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cs.simplify(WORLD, 3), "n_cells is 3, but there are only 2 cells to begin with"),
        (lambda: cs.simplify(SAMPLE, 12), "n_cells is 12, but there are only 3 cells"),
        (lambda: cs.simplify(WORLD, 0), "n_cells is 0"),
        (lambda: cs.simplify(WORLD, 2, binning=cs.EqualMass(1)), "there is only 1 cell to begin with"),
        (lambda: cs.simplify(FinitePredictions([0.2, 0.6], [0.4, 0.5], [1e308, 1e308]), 1), "the sum is infinite"),
        (lambda: cs.simplify([0.2], 1), "source is of type list; pass a Sample, or a world"),
        (lambda: cs.simplify(BetaPredictions(1, 1), 2), "predicts infinitely many values"),
        (lambda: cs.simplify(FinitePredictions(np.eye(3), np.eye(3)), 2), "the world has 3 classes"),
        (lambda: cs.simplify(cs.Sample([0, 1, 2], np.eye(3)), 2), r"look through a lens first, for example TopLabel"),
        (lambda: cs.simplify(SAMPLE.take(np.arange(8)), 2), "the sample has 8 rows, but at least 20"),
        (lambda: cs.simplify(SAMPLE, 2, keep="brier"), "keep is .brier., a text; it must be an estimator"),
        (lambda: cs.simplify(SAMPLE, 2, keep=cs.TopLabel() | cs.BrierScore()), "with a lens; look at the sample"),
        (lambda: cs.simplify(WORLD, 1, keep=cs.LogitScore()), "no true value: it is a test statistic"),
        (lambda: cs.simplify(WORLD, 1, binning=10), "binning is 10, a number; it must be a binning"),
        (lambda: cs.simplify(WORLD, 1, held_out=SAMPLE), "held_out is for samples"),
        (lambda: cs.simplify(SAMPLE, 2, held_out=cs.Sample(["a", "b"], [0.2, 0.4])), "held_out has the classes"),
        (lambda: cs.simplify(SAMPLE, 2, confidence_level=1.5), "confidence_level is 1.5"),
        (
            lambda: cs.simplify(FinitePredictions(np.arange(1001) / 1000, np.arange(1001) / 1000), 2),
            r"makes 1001 cells, more than 1000: begin with fewer, for example binning=EqualMass\(100\)",
        ),
        (
            lambda: cs.simplify(FinitePredictions(np.arange(201) / 200, np.arange(201) / 200), 2, keep=cs.KendallTau()),
            "evaluated for every possible merge, but there are 201 cells",
        ),
        (lambda: cs.simplify(WORLD, 1).merged(3), "n_cells is 3, but the path goes from 2 to 1 cells"),
    ],
)
def test_bad_input_is_refused_in_words(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def test_cells_that_are_no_intervals_are_refused():
    class Odd(cs.Binning):
        def cut(self, predictions):
            return cs.Cells(2, np.arange(len(predictions)) % 2, "fixed")

    with pytest.raises(ValueError, match="no intervals of the prediction, and only neighbours are merged"):
        cs.simplify(SAMPLE, 1, binning=Odd(), rng=0)
