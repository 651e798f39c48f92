"""Merging cells and assigning mean chances: what they do to the measures (Torabian & Urner 2024, Table 1)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import calibstat as cs
from calibstat import generators as gen
from interpretability.worlds import MEASURES, WORLDS, atoms, measured, random_world
from suites import examples, slow_but

ROUNDING = 1e-12
EITHER_WAY = ("loss", "MSE", "ignore", "tau_a", "strict")


@examples(80)
@given(WORLDS)
def test_truths_are_those_of_the_formulas(world):
    expected = measured(world)
    for name, estimator in MEASURES.items():
        assert float(world.truth(estimator)) == pytest.approx(expected[name], abs=1e-12), name


def two_cells(world, rng):
    """Two cells of a population, or none if it has one only."""
    scores = np.unique(atoms(world)[0])
    return rng.choice(scores, 2, replace=False) if len(scores) > 1 else None


def masses_of_cells(world):
    """The share of the mass of each cell."""
    event, _, mass = atoms(world)
    return np.bincount(np.unique(event, return_inverse=True)[1], mass)


def rises(before, after):
    """Which measures rise, and which fall, by more than rounding."""
    rise = {name: after[name] - before[name] for name in before}
    return [{name for name, each in rise.items() if sign * each > ROUNDING} for sign in (1, -1)]


def check_effects(seed, n_worlds):
    """Hold Theorems 5, 6, 8 and 10 in random populations, and see that all else goes either way in some."""
    rng = np.random.default_rng(seed)
    risen, fallen = ({"merge": set(), "labels": set()} for _ in range(2))
    for _ in range(n_worlds):
        world = random_world(rng)
        before, n_cells = measured(world), len(np.unique(atoms(world)[0]))
        assert 1 - ROUNDING <= before["count"] <= n_cells + ROUNDING  # Theorem 10
        equal = np.ptp(masses_of_cells(world)) < 1e-9
        assert equal == (before["count"] > n_cells - 1e-12)
        labels = measured(cs.average_labels(world))
        up, down = rises(before, labels)
        assert not up & {"CE 1", "CE 2", "CE 3", "loss", "MSE", "count"}  # Theorem 8
        assert max(labels[name] for name in ("CE 1", "CE 2", "CE 3")) <= ROUNDING
        risen["labels"] |= up
        fallen["labels"] |= down
        cells = two_cells(world, rng)
        if cells is not None:
            up, down = rises(before, measured(cs.merge_cells(world, cells)))
            assert not up & {"CE 1", "CE 2", "CE 3", "count"}  # Theorems 5 and 6
            risen["merge"] |= up
            fallen["merge"] |= down
            other = rng.choice([rng.random(), *atoms(world)[0]])  # Theorem 5 is about any common score
            assert measured(cs.merge_cells(world, cells, other))["count"] <= before["count"] + ROUNDING
    assert risen["merge"] >= {*EITHER_WAY} <= fallen["merge"]  # Observation 7
    assert risen["labels"] >= {"ignore", "tau_a", "strict"} <= fallen["labels"]  # Observation 9


def test_table_1_holds_in_random_populations():
    check_effects(0, 200)


@pytest.mark.parametrize("part", slow_but([], range(8), one_in=4))
def test_table_1_holds_in_20_000_random_populations(part):
    check_effects(1 + part, 2_500)


# Examples of either way: masses equal unless said, and the measure before and after.


def changes(name, events, chances, masses, after):
    """A measure of a world, and of what an operation makes of it."""
    world = gen.FinitePredictions(events, chances, masses)
    return [float(each.truth(MEASURES[name])) for each in (world, after(world))]


@pytest.mark.parametrize(
    ("chances", "before", "after"), [([0, 1], 0, 0.25), ([1, 0], 1, 0.25), ([0.25, 0.75], 0.25, 0.25)]
)
def test_observation_7_the_squared_error_goes_either_way(chances, before, after):
    found = changes("MSE", [0, 1], chances, None, lambda world: cs.merge_cells(world, [0, 1]))
    assert found == pytest.approx([before, after])


@pytest.mark.parametrize(
    ("first", "second", "before", "after"),
    [(0, 1, 0, 0.1), (1, 0, 0.2, 0.1), (1, 1, 0.1, 0), (0, 0, 0.1, 0.2), (0.5, 0.5, 0.1, 0.1)],
)
def test_observation_7_the_loss_goes_either_way(first, second, before, after):
    masses, merge = [0.1, 0.1, 0.4, 0.4], lambda world: cs.merge_cells(world, [0.2, 0.9])
    found = changes("loss", [0.2, 0.9, 0.4, 0.6], [first, second, 0, 1], masses, merge)
    assert found == pytest.approx([before, after])


@pytest.mark.parametrize(
    ("chances", "ignore", "tau_a", "strict"),
    [
        ([0.1, 0.9, 0.3, 0.4], (1, 0.5), (0.75, 0.125), (1, 0.25)),
        ([0.8, 0.8, 0.3, 0.4], (0.5, 1), (0.125, 0.625), (0.5, 1)),
        ([0.6, 0.6, 0.6, 0.6], (1, 1), (0, 0), (1, 1)),
    ],
)
def test_observation_7_tau_goes_either_way(chances, ignore, tau_a, strict):
    for name, expected in (("ignore", ignore), ("tau_a", tau_a), ("strict", strict)):
        found = changes(name, [0.1, 0.9, 0.3, 0.4], chances, None, lambda world: cs.merge_cells(world, [0.1, 0.9]))
        assert found == pytest.approx(list(expected), abs=1e-12)


@pytest.mark.parametrize(
    ("chances", "ignore", "tau_a", "strict"),
    [
        ([0, 0, 0, 1], (0.75, 0.25), (0.25, -0.25), (0.5625, 0.0625)),
        ([0, 0.3, 0.3, 0.6], (0.25, 0.75), (-0.25, 0.25), (-0.0625, 0.4375)),
    ],
)
def test_observation_9_tau_goes_either_way(chances, ignore, tau_a, strict):
    for name, expected in (("ignore", ignore), ("tau_a", tau_a), ("strict", strict)):
        found = changes(name, [0.3] * 4 + [0.7] * 4, [*chances, *[0.2] * 4], None, cs.average_labels)
        assert found == pytest.approx(list(expected), abs=1e-12)


def test_a_merge_worked_out_by_hand():
    world = gen.FinitePredictions([0.2, 0.6, 0.7], [0.4, 0.5, 0.6], [0.3, 0.2, 0.5])
    merged, averaged = cs.merge_cells(world, [0.2, 0.6]), cs.average_labels(world)
    expected = {
        "CE 1": (0.13, 0.09, 0),
        "CE 2": (0.1378404875, 0.0905538514, 0),
        "count": (2.6315789474, 2, 2.6315789474),
        "MSE": (0.261, 0.2514, 0.242),
        "ignore": (1, 1, 1),
    }
    for name, values in expected.items():
        found = [float(each.truth(MEASURES[name])) for each in (world, merged, averaged)]
        assert found == pytest.approx(list(values), abs=1e-9), name


def test_the_squared_error_of_a_merge_has_a_formula():
    """It grows by P_a P_b / (P_a + P_b) (b - a) (2 (eta_b - eta_a) - (b - a))."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        event, chance, mass = rng.random(4), rng.random(4), rng.dirichlet(np.ones(4))
        before, after = changes("MSE", event, chance, mass, lambda world, two=event[:2]: cs.merge_cells(world, two))
        (a, b), (low, high), (first, second) = event[:2], chance[:2], mass[:2]
        growth = first * second / (first + second) * (b - a) * (2 * (high - low) - (b - a))
        assert after - before == pytest.approx(growth, abs=1e-12)


def test_a_mean_that_is_a_third_score_merges_three_cells():
    world = gen.FinitePredictions([0.2, 0.6, 0.4], [0, 0.9, 0.4], [0.25, 0.25, 0.5])
    before, after = measured(world), measured(cs.merge_cells(world, [0.2, 0.6]))
    assert [before["count"], after["count"]] == pytest.approx([8 / 3, 1])
    assert [before["CE 1"], after["CE 1"]] == pytest.approx([0.125, 0.025])


def test_the_unweighted_mean_would_break_theorem_6():
    """The negative control."""
    world = gen.FinitePredictions([0.0, 1.0], [0.0, 1.0], mass=[0.9, 0.1])
    errors = [measured(cs.merge_cells(world, [0, 1], score))["CE 1"] for score in (None, 0.5)]
    assert errors == pytest.approx([0, 0.4], abs=1e-12)


@examples(40)
@given(WORLDS)
def test_operations_keep_everything_but_the_predictions(world):
    event, chance, mass = atoms(world)
    for after in (
        cs.average_labels(world),
        cs.merge_cells(world, np.unique(event)[[0, -1]]) if np.ptp(event) else world,
    ):
        _, same_chance, same_mass = atoms(after)
        assert (same_chance == chance).all()
        assert (same_mass == mass).all()
    assert (atoms(world)[0] == event).all()
    again = cs.average_labels(cs.average_labels(world))
    assert atoms(again)[0] == pytest.approx(atoms(cs.average_labels(world))[0], abs=1e-12)


def test_names_variables_and_features_stay():
    world = gen.FinitePredictions(
        [0.2, 0.6, 0.7],
        [0.4, 0.5, 0.6],
        [3, 2, 5],
        variables={"x": [0.5, 1.5, 2.5], "sex": ["f", "m", "f"]},
        labels=["no", "yes"],
        features=["x"],
    )
    for after in (cs.merge_cells(world, [0.2, 0.6]), cs.average_labels(world)):
        assert (after.truths, after.mass, after.variables) == (world.truths, world.mass, world.variables)
        assert (after.labels, after.features) == (("no", "yes"), ("x",))


def test_several_cells_are_merged_at_their_common_mean():
    world = gen.FinitePredictions([0.1, 0.2, 0.4, 0.9], [0.5] * 4, mass=[1, 2, 1, 1])
    assert atoms(cs.merge_cells(world, [0.1, 0.2, 0.4]))[0] == pytest.approx([0.225, 0.225, 0.225, 0.9])
    assert atoms(cs.merge_cells(world, [0.1, 0.1 + 0.1, 0.9], 0.3))[0].tolist() == [0.3, 0.3, 0.4, 0.3]


def test_a_mean_that_is_the_score_of_a_third_cell_joins_it_up_to_rounding():
    """0.1 and 0.2 + 0.3 rounded: the mean differs from the third score in the last digits."""
    for masses in ([0.25, 0.25, 0.5], [0.1, 0.1, 0.8], [1 / 3, 1 / 3, 7]):
        world = gen.FinitePredictions([0.1, 0.7, 0.4], [0, 0.9, 0.4], mass=masses)
        merged = cs.merge_cells(world, [0.1, 0.7])
        assert len({*merged.predictions}) == 1
        assert float(merged.truth(cs.ProbabilisticCount())) == 1


def test_cells_with_equal_means_become_one():
    world = gen.FinitePredictions([0.1, 0.1, 0.9, 0.5], [0.1, 0.5, 0.3, 0.1 + 0.2], mass=[1, 1, 5, 2])
    assert len({*cs.average_labels(world).predictions}) == 1


def test_a_tree_and_an_announced_function_have_cells_too():
    tree = gen.RegressionFunction("simple").classified_by(lambda X: np.where(X[:, 0] < 0.5, 0.2, 0.8), ([0.5], []))
    averaged, merged = cs.average_labels(tree), cs.merge_cells(tree, [0.2, 0.8])
    assert float(averaged.truth(cs.ECE())) == pytest.approx(0, abs=1e-12)
    assert float(averaged.truth(cs.BrierScore(), "ise")) == pytest.approx(float(averaged.truth(cs.BrierScore())))
    assert float(merged.truth(cs.ProbabilisticCount())) == pytest.approx(1)
    assert averaged.features == ("x1", "x2")
    told = gen.Conditioned(gen.BetaPredictions(2, 3, gen.Slope(2)), lambda rows: rows.event > 0.4)
    assert float(told.truth(cs.ProbabilisticCount())) == pytest.approx(
        1 / np.square([0.4752, 0.5248]).sum(), abs=1e-3
    )  # the median of Beta(2, 3) is 0.386, P(X <= 0.4) = 0.5248


WORLD = gen.FinitePredictions([0.2, 0.6, 0.7], [0.4, 0.5, 0.6])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: cs.merge_cells(WORLD, [0.2, 0.5]),
            r"cells holds 0.5, .* no prediction .* nearest one is 0.6, .*0.2 to",
        ),
        (lambda: cs.merge_cells(WORLD, [0.2, 0.2]), r"\[0.2, 0.2\]; name the predictions of at least two different"),
        (lambda: cs.merge_cells(WORLD, []), "at least two different cells"),
        (lambda: cs.merge_cells(WORLD, [0.2, np.nan]), "cells holds nan, which is no prediction"),
        (lambda: cs.merge_cells(WORLD, 0.2), "cells is 0.2, a number; it must be numbers of shape"),
        (lambda: cs.merge_cells(WORLD, ["a", "b"]), "cells is .* it must be numbers"),
        (lambda: cs.merge_cells(WORLD, [0.2, 0.6], 1.2), "score is 1.2; it must be a number from 0 to 1"),
        (lambda: cs.merge_cells(WORLD, [0.2, 0.6], "mean"), "score is 'mean', a text; it must be a number"),
        (lambda: cs.merge_cells(gen.BetaPredictions(1, 1), [0.2, 0.6]), "infinitely many values, so that there are no"),
        (lambda: cs.average_labels(gen.GaussianMixture(1, 1)), "infinitely many .* FinitePredictions"),
        (lambda: cs.average_labels(gen.vaicenavicius_example_1()), "has 3 classes, .* world of two classes"),
        (lambda: cs.average_labels([0.2, 0.6]), "world is .* it must be a synthetic model"),
        (lambda: gen.FinitePredictions([0.2, 0.6], [0.4, 1.5]), r"truths, row 1: .* is not a law"),
        (lambda: gen.FinitePredictions([0.2, 0.6], [0.4, 0.5], [-1, 2]), "masses must be positive and finite"),
        (lambda: gen.FinitePredictions([0.2, 0.6], [0.4, 0.5], [1]), "pass one mass for each"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()
