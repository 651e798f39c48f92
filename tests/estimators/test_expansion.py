"""Expansions: the value of the evaluator, and the derivative of it in the weight of each row."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from calibstat.estimators.base import Headline
from registry import ESTIMATORS, every, make_sample

STEP = 1e-5


def expands(entry):
    sample = make_sample(entry.classes[0], seed=3)
    core = Headline(entry.thing.core)
    return core.prepare(entry.thing.lens(sample).predictions).capabilities.expansion is not None


PLAIN = [entry for entry in ESTIMATORS if not entry.thing.lens.parts and entry.headline and expands(entry)]
PAIRS = [entry for entry in PLAIN if isinstance(entry.thing, cs.DebiasedL2)]
SMOOTH = [entry for entry in PLAIN if entry not in PAIRS]


def numerical(evaluator, outcomes, n):
    moved = STEP * np.eye(n)
    with np.errstate(all="ignore"):
        above, below = (evaluator(outcomes, 1 + sign * moved) for sign in (1, -1))
    return (above - below) / (2 * STEP)


def weighted(sample):
    weights = np.random.default_rng(7).uniform(0.5, 2, len(sample))
    p = sample.predictions.probabilities
    names = np.array(sample.labels)
    return cs.Sample(names[sample.outcomes], p, labels=sample.labels, sample_weight=weights)


def test_those_that_have_one():
    kinds = {type(entry.thing).__name__ for entry in PLAIN}
    assert kinds >= {
        *("SquaredCE", "ECE", "DebiasedL2", "BrierScore", "LogScore", "ZeroOneLoss", "RMSE", "AUC"),
        *("MeanCalibration", "ScoreExcess", "ObservedToExpected", "Cox"),
    }


@every(PLAIN)
@pytest.mark.filterwarnings("ignore")
def test_its_value_is_that_of_the_evaluator(entry):
    for n_classes in entry.classes:
        sample = make_sample(n_classes, seed=3)
        for each in (sample, weighted(sample)):
            evaluator = Headline(entry.thing).prepare(each.predictions)
            assert evaluator.capabilities.expansion(each.outcomes).value == float(evaluator(each.outcomes))


@every(SMOOTH)
@pytest.mark.filterwarnings("ignore")
def test_its_influence_is_the_derivative_in_weights(entry):
    for n_classes in entry.classes:
        sample = make_sample(n_classes, seed=3)
        for each in (sample, weighted(sample)):
            if entry.thing.cut_by is not None and each is not sample and entry.cells_move_with != "nothing":
                continue
            evaluator = Headline(entry.thing).prepare(each.predictions)
            found = evaluator.capabilities.expansion(each.outcomes)
            size = np.abs(found.influence).max()
            np.testing.assert_allclose(
                found.influence, numerical(evaluator, each.outcomes, len(each)), atol=1e-5 * size + 1e-9
            )
            assert abs(found.influence.sum()) <= 1e-6 * size * len(each)


@every(PAIRS)
def test_the_linear_part_of_a_u_statistic_is_that_of_the_plug_in(entry):
    for n_classes in entry.classes:
        sample = make_sample(n_classes, seed=3)
        plug_in = cs.SquaredCE(entry.thing.binning)
        pair = [each.prepare(sample.predictions) for each in (entry.thing, plug_in)]
        found, expected = (each.capabilities.expansion(sample.outcomes) for each in pair)
        index = entry.thing.binning.cut(sample.predictions).index
        rows = np.bincount(index)[index]
        share = 1 - 1 / rows if entry.thing.denominator == "counts" else 1.0
        wanted = share * (expected.influence + expected.value / len(sample))
        some = rows > 1  # a row alone in its cell adds to the plug-in only
        assert some.sum() > 30
        np.testing.assert_allclose((found.influence + found.value / len(sample))[some], wanted[some], atol=1e-15)


def test_the_degenerate_part_has_the_variance_of_redrawn_pairs():
    rng = np.random.default_rng(0)
    n, draws = 200, 4000
    p = rng.uniform(0.2, 0.8, n)
    prepared = cs.DebiasedL2(cs.EqualMass(4)).prepare(cs.Sample(np.arange(n) % 2, p).predictions)
    labels = (rng.random((draws, n)) < p).astype(int)
    variances = [prepared.capabilities.expansion(row).degenerate.variance for row in labels[:50]]
    assert np.mean(variances) == pytest.approx(prepared(labels).var(), rel=0.1)


def test_auc_has_the_variance_of_delong():
    rng = np.random.default_rng(0)
    p = np.round(rng.random(300), 2)
    y = (rng.random(300) < p).astype(int)
    found = cs.AUC().prepare(cs.Sample(y, p).predictions).capabilities.expansion(y)
    events, others = p[y == 1], p[y == 0]
    wins = (events[:, None] > others) + 0.5 * (events[:, None] == others)
    delong = wins.mean(axis=1).var(ddof=1) / len(events) + wins.mean(axis=0).var(ddof=1) / len(others)
    assert found.linear == pytest.approx(delong, rel=0.02)


def test_behind_a_region_other_rows_have_no_influence():
    sample = make_sample(2, seed=3)
    lens = cs.Region.between("age", 1, 6)
    found = (lens | cs.SquaredCE(cs.EqualWidth(3))).prepare(sample.predictions).capabilities.expansion(sample.outcomes)
    kept = lens.look(sample.predictions).rows
    inner = (
        cs.SquaredCE(cs.EqualWidth(3)).prepare(lens(sample).predictions).capabilities.expansion(lens(sample).outcomes)
    )
    np.testing.assert_array_equal(found.influence[kept], inner.influence)
    assert np.count_nonzero(np.delete(found.influence, kept)) == 0
    assert found.degenerate.variance == pytest.approx(inner.degenerate.variance)


def test_a_slope_is_tested_on_both_sides_of_one():
    cox = cs.Cox(statistic="slope")
    np.testing.assert_allclose(cox.evidence(np.array([0.5, 1.0, 1.5])), [0.5, 0.0, 0.5])
    sample = make_sample(2, seed=3, n=200)
    assert float(cox(sample)) == cs.Cox()(sample).slope
