"""Law 4: weights are relative, and whole ones are repetitions."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import calibstat as cs
from registry import ESTIMATORS, LABELS, Entry, every, make_sample
from strategies import counts, fitting
from suites import examples

# Whole weights are drawn on purpose; the warning has a test of its own.
pytestmark = pytest.mark.filterwarnings("ignore:sample_weight holds whole numbers")


def weighted(sample: cs.Sample, weights: np.ndarray | None) -> cs.Sample:
    seen = sample.predictions
    variables = {
        name: each.values if each.levels is None else np.array(each.levels)[each.values.astype(int)]
        for name, each in seen.variables.items()
    }
    return cs.Sample(
        sample.y_true, seen.probabilities, variables=variables, sample_weight=weights, labels=LABELS[: seen.n_classes]
    )


WEIGHTED = [entry for entry in ESTIMATORS if entry.weighted]
# What was impossible, or separated, makes fits end wherever they end; the headlines agree all the same.
FIT = dict(rtol=1e-6, atol=1e-7)


def agree(entry: Entry, found, expected, rtol=1e-9, atol=1e-12) -> None:
    if entry.fitted:
        found, expected = (entry.thing.headline(np.asarray(each)) for each in (found, expected))
    np.testing.assert_allclose(found, expected, **(FIT if entry.fitted else dict(rtol=rtol, atol=atol)))


@every(WEIGHTED)
@examples(5)
@given(data=st.data())
def test_unit_weights_change_nothing(entry, data):
    sample = data.draw(fitting(entry))
    evaluate = entry.thing.prepare(sample.predictions)
    ones = np.ones((2, len(sample)))
    expected = evaluate(sample.outcomes)
    for value in evaluate(sample.outcomes, ones):
        agree(entry, value, expected, 1e-12, 1e-13)
    if sample.predictions.weights is None:
        agree(entry, entry.numbers(weighted(sample, ones[0])), expected, 1e-12, 1e-13)


@every(WEIGHTED)
@examples(5)
@given(data=st.data(), factor=st.sampled_from([1e-3, 0.5, 7.0, 1e4]))
def test_a_common_factor_changes_nothing(entry, data, factor):
    sample = data.draw(fitting(entry, weighted=True))
    seen = sample.predictions
    own = np.ones(len(sample)) if seen.weights is None else seen.weights
    agree(entry, entry.numbers(weighted(sample, own * factor)), entry.numbers(sample))
    drawn = data.draw(counts(len(sample), smallest=1))
    evaluate = entry.thing.prepare(seen)
    agree(entry, evaluate(sample.outcomes, drawn * factor), evaluate(sample.outcomes, drawn))


@every([entry for entry in ESTIMATORS if entry.fitted and entry.weighted])
@pytest.mark.parametrize("seed", range(5))
def test_all_numbers_of_a_fit_keep_the_laws_of_weights_and_order(entry, seed):
    """On samples that have a maximum."""
    for n_classes in entry.classes[:2]:
        sample = make_sample(n_classes, seed=seed, n=80)
        rng = np.random.Generator(np.random.PCG64(seed))
        order, drawn = rng.permutation(80), rng.integers(1, 4, 80).astype(float)
        expected, evaluate = entry.numbers(sample), entry.thing.prepare(sample.predictions)
        np.testing.assert_allclose(entry.numbers(sample.take(order)), expected, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(evaluate(sample.outcomes, np.ones(80)), expected, rtol=1e-9, atol=1e-9)
        first, second = (evaluate(sample.outcomes, drawn * factor) for factor in (1.0, 1e4))
        np.testing.assert_allclose(first, second, rtol=1e-7, atol=1e-9)
        assert not np.allclose(first, expected, rtol=1e-3)


PLUG_INS = [entry for entry in WEIGHTED if entry.cells_move_with == "nothing" and not entry.pairs]


@every(PLUG_INS)
@examples(5)
@given(data=st.data())
def test_whole_weights_are_repeated_rows(entry, data):
    sample = data.draw(fitting(entry, weighted=False))
    times = data.draw(counts(len(sample), 1, smallest=1))[0]
    repeated = sample.take(np.repeat(np.arange(len(sample)), times.astype(int)))
    expected = entry.numbers(repeated)
    agree(entry, entry.numbers(weighted(sample, times)), expected, 1e-10, 1e-13)
    evaluate = entry.thing.prepare(sample.predictions)
    agree(entry, evaluate(sample.outcomes, times), expected, 1e-10, 1e-13)


# A curve has a value for each prediction, a table a line for each cell, whether they have weight or not; the members
# of `Within` are the levels that have rows, and blocks are of rows.
KEPT = (cs.IsotonicCurve, cs.HistogramRegression, cs.Within)
# Rows without weight may lie at the ends of an interval; quantiles are as if there were as many rows as there are.
SAME = {cs.WorstInterval: [0, 3], cs.ICI: [0, 3]}
STEADY = [e for e in WEIGHTED if e.cells_move_with == "nothing" and e.core not in KEPT and not e.ordered]


@every(STEADY)
@examples(5)
@given(data=st.data())
def test_rows_without_weight_are_not_there(entry, data):
    sample = data.draw(fitting(entry, weighted=False, min_rows=2))
    drawn = data.draw(counts(len(sample), 1))[0]
    kept = drawn > 0
    if "age" in entry.name:  # the range of the variable stays
        values = sample.predictions.variables["age"].values
        assume((values[kept].min(), values[kept].max()) == (values.min(), values.max()))
    if "sex" in entry.name:  # and its levels
        values = sample.predictions.variables["sex"].values
        assume(len(set(values[kept])) == len(set(values)))
    found = entry.thing.prepare(sample.predictions)(sample.outcomes, drawn)
    expected = entry.thing.prepare(sample.take(kept).predictions)(sample.outcomes[kept], drawn[kept])
    same = SAME.get(entry.core, ...)
    agree(entry, found[same], expected[same], 1e-10, 1e-13)


@every([entry for entry in WEIGHTED if entry.pairs])
def test_statistics_of_pairs_tell_a_weight_of_two_from_two_rows(entry):
    """Why they are exempt: a row does not make a pair with itself, its copy does."""
    sample = entry.sample(seed=7)
    times = np.arange(len(sample)) % 3 + 1
    repeated = entry.numbers(sample.take(np.repeat(np.arange(len(sample)), times)))
    assert np.abs(entry.numbers(weighted(sample, times)) - repeated).max() > 1e-4


@every([entry for entry in ESTIMATORS if not entry.weighted])
def test_weights_are_refused_where_no_theory_exists(entry):
    with pytest.raises(ValueError, match="no weighted version"):
        entry.thing(make_sample(2, weighted=True))
    sample = make_sample(2)
    with pytest.raises(ValueError, match="no weighted version"):
        entry.thing.prepare(sample.predictions)(sample.outcomes, np.ones(40))


@every([entry for entry in WEIGHTED if entry.core is not cs.Generic])
def test_no_weight_gives_nan(entry):
    sample = entry.sample()
    found = entry.thing.prepare(sample.predictions)(sample.outcomes, np.zeros(len(sample)))
    assert np.isnan(np.ravel(found)[0])


@every(WEIGHTED)
def test_weights_matter(entry):
    """The negative control of this file; a maximum may sit in a cell of one row, but not in every sample."""
    changes = []
    for seed in range(4):
        sample = make_sample(entry.classes[0], n=150, seed=seed)
        uneven = np.where(np.arange(len(sample)) % 4 < 2, 1.0, 9.0)
        changes.append(np.abs(entry.numbers(weighted(sample, uneven)) - entry.numbers(sample)).max())
    assert max(changes) > 1e-6


@pytest.mark.slow
@every(WEIGHTED)
def test_pvalues_and_intervals_have_no_unit_of_weight(entry):
    sample = make_sample(min(entry.classes), n=150)
    weights = np.random.default_rng(0).uniform(0.2, 1.2, 150)
    first, second = (weighted(sample, weights * factor) for factor in (1.0, 3.7))

    def said(each: cs.Sample) -> list[float]:
        test = cs.calibration_test(each, entry.thing, null=cs.Consistency(49), rng=0)
        found = cs.estimate(each, entry.thing, n_resamples=49, rng=0).confidence_interval
        return [test.pvalue, test.null_mean, *(() if found is None else (found.low, found.high))]

    try:
        expected = said(first)
    except ValueError as refused:
        with pytest.raises(ValueError, match=re.escape(str(refused)[:40])):
            said(second)
    else:
        # Of three outcomes the most variable direction may be any of several, which rounding chooses.
        alike = 1e-6 if min(entry.classes) == 2 else 0.2
        assert said(second) == pytest.approx(expected, rel=alike, abs=1e-9, nan_ok=True)
