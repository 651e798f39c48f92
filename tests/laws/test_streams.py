"""Law 7: the same rng gives the same draws, and fewer replicates are the beginning of more."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

import calibstat as cs
from calibstat._progress import listening
from calibstat.draws.streams import Streams, draw_blocks, stream_of
from registry import NULLS, RESAMPLERS, every, make_sample

STATISTICS = [cs.ECE(cs.EqualMass(5)), cs.PDE(cs.EqualWidth(4)), cs.DebiasedL2(cs.EqualWidth(4))]
# What is computed is not drawn. Signs can be put on residuals only: nulls of signs refuse what depends on more.
DRAWN = [entry for entry in NULLS if "n_resamples" in {field.name for field in fields(entry.thing)}]
PAIRS = [
    (entry, estimator)
    for entry in DRAWN
    for estimator in STATISTICS
    if estimator.residual_form != "none" or not isinstance(entry.thing, (cs.Multiplier, cs.Weak))
]
pairs = pytest.mark.parametrize(("entry", "estimator"), PAIRS, ids=[f"{e.name} {s!r}" for e, s in PAIRS])


def drawn(null, estimator, sample, rng=0):
    return null.draw(estimator, sample, cs.as_generator(rng)).samples


@pairs
def test_a_null_gives_the_same_draws_again_and_others_for_another_seed(entry, estimator):
    sample = make_sample(2)
    first = drawn(entry.thing, estimator, sample)
    np.testing.assert_array_equal(drawn(entry.thing, estimator, sample), first)
    assert not np.array_equal(drawn(entry.thing, estimator, sample, rng=1), first)


@pairs
def test_fewer_replicates_of_a_null_are_a_prefix_of_more(entry, estimator):
    sample = make_sample(2)
    one, fewer, more = (drawn(replace(entry.thing, n_resamples=size), estimator, sample) for size in (1, 7, 40))
    assert fewer.shape == (7,)
    np.testing.assert_array_equal(more[:7], fewer)
    np.testing.assert_array_equal(more[:1], one)


@pytest.mark.parametrize("shortcuts", [True, False])
def test_fewer_replicates_are_a_prefix_across_blocks(shortcuts):
    """So many rows, and so many cells, that a block holds two replicates."""
    n = 2**17
    p = np.random.Generator(np.random.PCG64(0)).random(n)
    sample = cs.Sample((p > 0.4).astype(int), p)
    null = cs.Consistency(3, shortcuts=shortcuts)
    estimator = cs.ECE(cs.EqualWidth(2))
    fewer, more = drawn(null, estimator, sample), drawn(replace(null, n_resamples=5), estimator, sample)
    np.testing.assert_array_equal(more[:3], fewer)
    assert len(set(more)) == 5


@pytest.mark.parametrize("binning", [cs.EqualMass(15), cs.EqualWidth(100), cs.UniqueValues(0.01)], ids=repr)
@pytest.mark.parametrize("kind", [cs.ECE, cs.DebiasedL2, cs.DebiasedCE])
def test_fewer_draws_of_whole_cells_are_a_prefix_of_more(kind, binning):
    """A single one too, whose sums lie in memory as those of many do."""
    rng = np.random.Generator(np.random.PCG64(0))
    p = rng.random(4000).round(3)
    sample, estimator = cs.Sample((rng.random(4000) < p).astype(int), p), kind(binning)
    for draw in (
        lambda size: cs.Bootstrap(size).replicates(estimator, sample, rng=0),
        lambda size: drawn(cs.Consistency(size, resample_predictions=True), estimator, sample),
    ):
        more = draw(40)
        for size in (1, 7):
            np.testing.assert_array_equal(draw(size), more[:size])


@every(RESAMPLERS)
def test_bootstrap_weights_are_a_function_of_n_and_rng(entry):
    first, second = (np.concatenate(list(entry.thing.weights(30, cs.as_generator(3)))) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(first.sum(axis=1), 30)
    other = np.concatenate(list(entry.thing.weights(30, cs.as_generator(4))))
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("n", [1, 30, 2**17])
def test_fewer_bootstrap_weights_are_a_prefix_of_more(n):
    fewer, more = (np.concatenate(list(cs.Bootstrap(size).weights(n, cs.as_generator(3)))) for size in (3, 5))
    assert fewer.shape == (3, n)
    np.testing.assert_array_equal(more[:3], fewer)


def test_two_models_get_the_same_bootstrap_rows():
    """Weights come from n and rng only, whatever is evaluated."""
    one, other = make_sample(2, seed=1), make_sample(3, seed=2)
    mean_age = cs.Generic(lambda s: np.average(np.arange(len(s)), weights=s.predictions.weights))
    first = cs.Bootstrap(20).replicates(mean_age, one, rng=5)
    np.testing.assert_array_equal(cs.Bootstrap(20).replicates(mean_age, other, rng=5), first)
    assert len(set(first)) > 10


@pairs
def test_the_generator_moves_on_equally_far_whatever_the_number_of_replicates(entry, estimator):
    sample, states = make_sample(2), []
    for size in (5, 50):
        rng = cs.as_generator(1)
        replace(entry.thing, n_resamples=size).draw(estimator, sample, rng)
        states.append(rng.random())
    assert states[0] == states[1]


def test_a_listener_changes_no_draw():
    sample, heard = make_sample(2), []
    with listening(heard.append):
        watched = drawn(NULLS[1].thing, STATISTICS[0], sample)
    np.testing.assert_array_equal(watched, drawn(NULLS[1].thing, STATISTICS[0], sample))
    assert heard[0] == 0.0


def test_streams_do_not_depend_on_the_order_in_which_they_are_used():
    forwards, backwards = Streams(cs.as_generator(2)), Streams(cs.as_generator(2))
    ahead = [forwards[number].random(3).tolist() for number in range(5)]
    behind = [backwards[number].random(3).tolist() for number in reversed(range(5))]
    assert ahead == behind[::-1]
    assert len({tuple(draw) for draw in ahead}) == 5


@pytest.mark.parametrize("n", [1, 1000, 2**17, 2**20])
def test_blocks_are_cut_by_the_number_of_rows_only(n):
    def found(n_resamples):
        drawn = draw_blocks(lambda *block: block, n_resamples, n, cs.as_generator(0))
        return [(stream.random(), size, kept) for stream, size, kept in drawn]

    few, many = found(3), found(50)
    assert sum(kept for _, _, kept in few) == 3
    assert sum(kept for _, _, kept in many) == 50
    assert len({size for _, size, _ in few + many}) == 1
    assert [first for first, _, _ in few] == [first for first, _, _ in many][: len(few)]


# Several tests with one integer.


def drawn_by(estimator, rng=3, n=400, **more):
    world = np.random.default_rng(0)
    p = world.random(n)
    sample = cs.Sample(world.random(n) < p, p, variables={"a": world.random(n), "b": world.random(n)})
    return cs.calibration_test(sample, estimator, null=cs.Consistency(999), rng=rng, **more).null_distribution.samples


NAMED = {
    "Brier z": cs.BrierZ(),
    "Spiegelhalter": cs.Spiegelhalter(),
    "log-loss z": cs.LogLossZ(),
    "the other class": cs.ClassWise(False) | cs.BrierZ(),
}


def test_tests_of_different_things_draw_independently_from_the_same_integer():
    """On shared labels these statistics are correlated; independent ones by no more than noise."""
    shared = [drawn_by(each, rng=np.random.default_rng(3)) for each in NAMED.values()]
    own = [drawn_by(each) for each in NAMED.values()]
    off_diagonal = ~np.eye(len(NAMED), dtype=bool)
    assert np.abs(np.corrcoef(shared))[off_diagonal].min() > 4 / np.sqrt(999)
    assert np.abs(np.corrcoef(own))[off_diagonal].max() < 4 / np.sqrt(999)


def test_the_same_test_has_the_same_draws_however_it_is_asked():
    lens, core = cs.ClassWise(True), cs.ECE(cs.EqualMass(5))
    np.testing.assert_array_equal(drawn_by(lens | core), drawn_by(core, lens=lens))
    np.testing.assert_array_equal(drawn_by(core), drawn_by(cs.ECE(cs.EqualMass(5))))


def test_streams_have_names_and_an_address_in_memory_is_none():
    first, again, other = (stream_of(5, name).random(4) for name in ("f at 0x7f01", "f at 0xabcd", "g"))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    generator = np.random.default_rng(5)
    assert stream_of(generator, "f") is generator


def test_other_lenses_of_an_omnibus_test_and_other_variables_of_a_comparison_of_curves_draw_independently():
    world = np.random.default_rng(0)
    p, noise = world.random(600), world.random(600)
    sample = cs.Sample(world.random(600) < p, p, variables={"a": noise, "b": noise})
    panel = {"Brier z": cs.BrierZ(), "log-loss z": cs.LogLossZ()}
    here, there = (
        cs.omnibus_test(sample, panel, lens=lens, n_resamples=499, rng=1) for lens in (None, cs.ClassWise(True))
    )
    np.testing.assert_allclose(here.values, there.values, rtol=1e-12)
    assert here.pvalues != there.pvalues
    a, b = (cs.equal_curves_test(sample, name, n_resamples=499, rng=1) for name in ("a", "b"))
    assert a.covariance_statistic == b.covariance_statistic
    assert a.covariance_pvalue != b.covariance_pvalue
