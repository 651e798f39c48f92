"""Properties of predictors: from their definitions, and the theorems on them (Torabian & Urner 2024)."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibstat as cs
from calibstat import generators as gen
from calibstat.generators import FinitePredictions
from interpretability.worlds import WORLDS, atoms, measured
from suites import examples

NAMES = ("calibrated", "bayes_accurate", "monotone", "strictly_monotone", "regression")


def by_definition(world):
    """The properties by loops over rows, pairs of rows and thresholds."""
    event, chance, mass = atoms(world)
    n = range(len(event))
    calibrated = all(np.isclose(np.average(chance[event == p], weights=mass[event == p]), p) for p in event)
    losses = [mass @ np.where(event >= threshold, 1 - chance, chance) for threshold in (*event, np.inf)]
    bayes = mass @ np.minimum(chance, 1 - chance)
    monotone = all(event[i] <= event[j] for i, j in product(n, n) if chance[i] <= chance[j])
    strict = monotone and all(chance[i] == chance[j] for i, j in product(n, n) if event[i] == event[j])
    return calibrated, min(losses) - bayes < 1e-9, monotone, strict, bool(np.allclose(event, chance, atol=1e-9))


def predictors(world):
    """The world with other predictors: its own, the chances, their mean, a monotone function, merged and averaged."""
    event, chance, mass = atoms(world)
    yield world
    yield cs.average_labels(world)
    for other in (chance, chance**2, np.full(len(chance), mass @ chance), (chance >= 0.5) * 0.8, event[::-1]):
        yield FinitePredictions(other, chance, mass)


@examples(40)
@given(WORLDS)
def test_properties_are_those_of_the_definitions(world):
    for each in predictors(world):
        found = cs.properties(each)
        assert tuple(bool(getattr(found, name)) for name in NAMES) == by_definition(each)


@examples(40)
@given(WORLDS)
def test_a_witness_shows_what_fails_and_by_how_much(world):
    for each in predictors(world):
        found, (event, chance, mass) = cs.properties(each), atoms(each)
        for name in NAMES:
            one = getattr(found, name)
            assert (one.value > 0, len(one.atoms) > 0) == (not one, not one)
        if not found.calibrated:
            here = event == event[found.calibrated.atoms[0]]
            gap = abs(np.average(chance[here], weights=mass[here]) - event[here][0])
            assert found.calibrated.value == pytest.approx(gap)
        if not found.regression:
            assert found.regression.value == pytest.approx(np.abs(event - chance).max())
        if not found.monotone:
            low, high = found.monotone.atoms
            assert chance[low] <= chance[high]
            assert event[low] - event[high] == pytest.approx(found.monotone.value)
        elif not found.strictly_monotone:
            low, high = found.strictly_monotone.atoms
            assert event[low] == event[high]
            assert chance[high] - chance[low] == pytest.approx(found.strictly_monotone.value)
        decided = np.where(event >= found.threshold, 1 - chance, chance)
        excess = mass @ (decided - np.minimum(chance, 1 - chance))
        assert found.bayes_accurate.value == pytest.approx(excess, abs=1e-12)
        if not found.bayes_accurate:
            low, high = found.bayes_accurate.atoms
            assert chance[low] < 0.5 < chance[high]
            assert event[low] >= event[high]


@examples(40)
@given(WORLDS, st.floats(1e-3, 0.499))
def test_observation_1_neither_calibration_nor_accuracy_implies_the_other(world, margin):
    """The mean is calibrated whatever the chances are; their sides alone are accurate."""
    _, chance, mass = atoms(world)
    mean = cs.properties(FinitePredictions(np.full(len(chance), mass @ chance), chance, mass))
    assert mean.calibrated
    assert bool(mean.bayes_accurate) == (not (chance < 0.5).any() or not (chance > 0.5).any())
    sides = FinitePredictions(np.where(chance >= 0.5, 0.5 + margin, 0.5 - margin), chance, mass)
    assert cs.properties(sides).bayes_accurate
    assert bool(cs.properties(sides).calibrated) == (measured(sides)["CE 1"] < 1e-12)


@examples(40)
@given(WORLDS, st.floats(0.2, 5), st.floats(0.1, 1))
def test_observation_3_strictly_monotone_predictors_are_accurate(world, power, scale):
    _, chance, mass = atoms(world)
    found = cs.properties(FinitePredictions(scale * chance**power, chance, mass))
    assert found.strictly_monotone
    assert found.bayes_accurate
    for each in predictors(world):
        found = cs.properties(each)
        assert found.bayes_accurate or not found.strictly_monotone


def partitions(rows):
    """All ways to put rows into cells."""
    if not rows:
        yield []
        return
    for rest in partitions(rows[1:]):
        yield [[rows[0]], *rest]
        for place in range(len(rest)):
            yield [*rest[:place], [rows[0], *rest[place]], *rest[place + 1 :]]


def calibrated_predictors(chance, mass):
    """Every calibrated predictor: the mean chance of each cell, for all ways to put rows into cells."""
    for cells in partitions(list(range(len(chance)))):
        event = np.empty(len(chance))
        for cell in cells:
            event[cell] = np.average(chance[cell], weights=mass[cell])
        yield FinitePredictions(event, chance, mass)


@examples(24)
@given(st.integers(0, 2**32 - 1))
def test_theorem_2_accurate_and_calibrated_is_more_than_the_chances_where_a_side_has_two_values(seed):
    """Over every calibrated predictor; a chance of exactly 1/2 is on both sides, as both decisions lose as much."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    chance, mass = rng.integers(0, 9, n) / 8, rng.random(n) + 0.1
    found = [cs.properties(each) for each in calibrated_predictors(chance, mass)]
    assert all(each.calibrated for each in found)
    exists = any(each.bayes_accurate and not each.regression for each in found)
    assert exists == (max(len({*chance[chance >= 0.5]}), len({*chance[chance <= 0.5]})) >= 2)


@examples(40)
@given(WORLDS)
def test_theorem_4_the_chances_are_the_only_calibrated_and_strictly_monotone_predictor(world):
    for each in predictors(world):
        found = cs.properties(each)
        assert bool(found.regression) == (bool(found.calibrated) and bool(found.strictly_monotone))
    _, chance, mass = atoms(world)
    for each in calibrated_predictors(chance[:3], mass[:3]):
        found = cs.properties(each)
        assert bool(found.regression) == bool(found.strictly_monotone)


def test_rounding_is_no_difference():
    masses = np.random.default_rng(0).random(300)
    noisy = np.full(300, 0.3) + 1e-15 * np.arange(300)
    found = cs.properties(cs.average_labels(FinitePredictions(np.full(300, 0.5), noisy, masses)))
    assert all(getattr(found, name) for name in NAMES)
    assert cs.properties(FinitePredictions([0.1 + 0.2, 0.3, 0.8], [0.3, 0.3, 0.8])).regression
    assert not cs.properties(FinitePredictions([1e-9, 1e-8], [1e-9, 1.1e-8])).calibrated


def test_worlds_of_nodes_say_so():
    tree = gen.RegressionFunction("simple").classified_by(lambda X: np.where(X[:, 0] < 0.5, 0.2, 0.8), ([0.5], []))
    found = cs.properties(tree)
    assert "quadrature" in found.to_text(verbose=True)
    assert (found.n_cells, bool(found.bayes_accurate), bool(found.monotone), bool(found.calibrated)) == (2, 1, 1, 0)
    assert found.calibrated.value == pytest.approx(float(tree.truth(cs.ECE())))
    told = gen.Conditioned(gen.BetaPredictions(2, 3, gen.Slope(2)), lambda rows: rows.event > 0.4)
    assert cs.properties(told).calibrated
    assert cs.properties(gen.Empirical([0.1, 0.4, 0.9])).regression


def test_the_text_says_what_holds_and_shows_two_rows():
    found = cs.properties(FinitePredictions([0.7, 0.25, 0.1], [0.2, 0.3, 0.7]))
    expected = "In this world: not calibrated, Bayes-accurate, monotone, strictly monotone or the regression function."
    assert found.verdict == expected
    said = " ".join(str(found).split())  # witnesses are wrapped, never cut
    assert "rows 0 and 2: chances 0.2 and 0.7, predictions 0.7 and 0.1; never deciding for the event is best" in said
    assert max(map(len, found.to_text(80).splitlines())) <= 80


@pytest.mark.parametrize(
    ("world", "message"),
    [
        (gen.BetaPredictions(1, 1), "infinitely many values"),
        (gen.RegressionFunction().classified_by(lambda X: X[:, 0]), "infinitely many values"),
        (gen.RegressionFunction().classified_by(lambda X: X[:, 0], ([], [])), "infinitely many values"),
        (gen.vaicenavicius_example_1(), "has 3 classes"),
        ([0.2, 0.7], "world is .* synthetic model"),
    ],
)
def test_worlds_without_cells_are_refused(world, message):
    with pytest.raises((ValueError, TypeError), match=message):
        cs.properties(world)


SCREENS = {
    80: """\
In this world: Bayes-accurate, monotone and strictly monotone; not calibrated or
the regression function.

                              off by
calibrated               no      0.2
Bayes-accurate           yes       0
monotone                 yes       0
strictly monotone        yes       0
the regression function  no      0.2

note        calibrated: row 0: 0.2 is predicted, and the mean chance is 0.4, in
            30 % of the mass
note        the regression function: row 0: 0.2 is predicted, and the chance is
            0.4, in 30 % of the mass

3 more notes and how this was computed: .to_text(verbose=True)""",
    120: """\
In this world: Bayes-accurate, monotone and strictly monotone; not calibrated or the regression
function.

                              off by
calibrated               no      0.2
Bayes-accurate           yes       0
monotone                 yes       0
strictly monotone        yes       0
the regression function  no      0.2

note        calibrated: row 0: 0.2 is predicted, and the mean chance is 0.4, in 30 % of the mass
note        the regression function: row 0: 0.2 is predicted, and the chance is 0.4, in 30 % of the
            mass

3 more notes and how this was computed: .to_text(verbose=True)""",
}


@pytest.mark.parametrize("width", SCREENS)
def test_the_screen(width):
    assert cs.properties(FinitePredictions([0.2, 0.7], [0.4, 0.7], mass=[3, 7])).to_text(width) == SCREENS[width]
