"""Chances at which two errors are equal, and the noise of their difference there."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, ks_2samp

import calibstat as cs
from calibstat.draws import alike_rows
from calibstat.draws import whole_cells as bin_level
from calibstat.draws.alike_rows import AlikeRows
from calibstat.estimators.base import Headline
from calibstat.inference.compare import both_rows, compare_tested, comparison_test, erring, pvalue_of_difference
from calibstat.inference.differences import Expanded
from calibstat.inference.equal_errors import Common, Difference, Rows
from suites import slow_but

L2, CANONICAL = cs.DebiasedL2(cs.EqualMass(3)), cs.Canonical()


def models(n=60, n_classes=2, seed=0, weighted=False, sizes=None):
    """Two models of the same rows, or of as many as `sizes` say, with labels that suit neither."""
    rng, found = np.random.default_rng(seed), []
    y, w = rng.integers(0, n_classes, n), rng.gamma(4, 1, n) if weighted else None
    estimator = cs.DebiasedL2(cs.SimplexGrid(1)) if n_classes > 2 else L2
    for k in range(2):
        if sizes:
            y, w = rng.integers(0, n_classes, sizes[k]), rng.gamma(4, 1, sizes[k]) if weighted else None
        p = rng.dirichlet(np.arange(1, n_classes + 1) + 2 * k, len(y))
        sample = cs.Sample(y, p, labels=range(n_classes), sample_weight=w)
        found.append(alone(estimator, sample))
    return tuple(found)


def alone(estimator, sample):
    """A model, row by row."""
    value = Expanded.of(estimator, sample)
    return erring(value, Rows.of(sample, value.index), Headline(estimator).prepare(sample.predictions))


def truth_by_loops(model, chances):
    """The mean over cells of products of mean residuals of two different rows."""
    w, total = model.rows.weights, 0.0
    residual = (chances - model.rows.announced)[:, 1:] if chances.shape[1] == 2 else chances - model.rows.announced
    for cell in np.unique(model.rows.cells):
        rows = np.flatnonzero(model.rows.cells == cell)
        products = [w[i] * w[j] * (residual[i] @ residual[j]) for i in rows for j in rows if i != j]
        masses = [w[i] * w[j] for i in rows for j in rows if i != j]
        total += w[rows].sum() / w.sum() * sum(products) / sum(masses)
    return total


@pytest.mark.parametrize("difference", [0.0, 0.01])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n_classes", "paired"), [(2, True), (3, True), (2, False)])
def test_errors_differ_as_asked_at_the_chances(n_classes, paired, weighted, difference):
    both = models(120, n_classes, 3, weighted, None if paired else (120, 90))
    chances = Difference(both, paired).chances(difference)
    for each in chances:
        np.testing.assert_allclose(each.sum(axis=1), 1)
        assert each.min() >= 0
    assert (chances[0] is chances[1]) == paired
    found = [truth_by_loops(model, each) for model, each in zip(both, chances, strict=True)]
    assert found[0] - found[1] == pytest.approx(difference, abs=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
def test_noise_is_that_of_drawn_labels_and_rows(weighted):
    """Variance over 4000 draws against labels drawn and evaluated one by one, by the estimator itself."""
    both = models(60, 2, 1, weighted)
    law = Difference(both, True)
    known, w = law.chances()[0], both[0].rows.weights
    rng, drawn = np.random.default_rng(0), []
    samples = [
        cs.Sample(m.rows.happened[:, 1].astype(int), m.rows.announced, labels=[0, 1], sample_weight=w) for m in both
    ]
    for _ in range(1000):
        y = (rng.random(60) < known[:, 1]).astype(int)
        errors = [L2(cs.Sample(y, s.y_prob, labels=[0, 1], sample_weight=w)) for s in samples]
        drawn.append(errors[0] - errors[1])
    rows = 0.0
    move = []
    for i in range(60):
        each = 0.0
        for model, sign in zip(both, (1, -1), strict=True):
            near = model.rows.cells == model.rows.cells[i]
            mean = np.average((known - model.rows.announced)[near, 1], weights=w[near])
            each += sign * (2 * mean * (known - model.rows.announced)[i, 1] - mean**2)
        move.append(each)
    share = w / w.sum()
    rows = float((share**2 * (np.array(move) - share @ np.array(move)) ** 2).sum())
    noise = law.noise(4000, np.random.default_rng(1))
    assert noise.mean() == pytest.approx(0, abs=4 * noise.std() / np.sqrt(4000))
    assert noise.var() == pytest.approx(np.var(drawn) + rows, rel=0.25)


def test_few_events_are_drawn_midway():
    """No event in 300 rows that were announced with 0.2 and 1.8 %: the errors are equal at the chance of 1 %."""
    made = [cs.Sample(np.zeros(300), np.full(300, p), labels=[0, 1]) for p in (0.002, 0.018)]
    one = cs.DebiasedL2(cs.EqualMass(1))
    both = tuple(alone(one, each) for each in made)
    np.testing.assert_allclose(Difference(both, True).chances()[0][:, 1], 0.01, rtol=1e-4)
    found = comparison_test(*made, one, n_resamples=999, rng=0)
    assert found.difference_pvalue == pytest.approx(binom.cdf(0, 300, 0.01) + binom.sf(5, 300, 0.01), abs=0.03)


def test_zero_is_left_out_of_the_interval_only_where_it_is_rejected():
    for seed in range(6):
        rng = np.random.default_rng(seed)
        e = rng.uniform(0.02, 0.1, 300)
        y, w = (rng.random(300) < e).astype(int), rng.lognormal(0, 1, 300)
        a, b = (cs.Sample(y, k * e, labels=[0, 1], sample_weight=w) for k in (0.3, 1.7))
        found = comparison_test(a, b, L2, n_resamples=99, rng=seed)
        low, high = found.confidence_interval
        assert low <= 0 <= high or found.difference_pvalue <= 0.05


def test_noise_of_different_rows_is_compared_on_its_own_side():
    """99 numbers, skew: 5 of them are at least 2, and 20 at most -2."""
    noise = np.repeat([3.0, -2.0, 0.5], [5, 20, 74])
    assert pvalue_of_difference(2.0, noise, 1.0) == pytest.approx(26 / 100)
    assert pvalue_of_difference(2.0, noise, 1.0, paired=False) == pytest.approx(2 * 6 / 100)
    assert pvalue_of_difference(-2.0, noise, 1.0, paired=False) == pytest.approx(2 * 21 / 100)
    assert pvalue_of_difference(0.0, noise, 1.0, paired=False) == 1


@pytest.mark.parametrize("swap", [False, True])
def test_the_interval_of_different_rows_leaves_zero_out_only_where_it_is_rejected(swap):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        chances = [rng.uniform(0.1, 0.9, n) for n in (900, 200)]
        a, b = (
            cs.Sample((rng.random(len(c)) < c).astype(int), c**power, labels=[0, 1])
            for c, power in zip(chances, (1 + seed / 4, 1), strict=True)
        )
        first, second = (b, a) if swap else (a, b)
        found = cs.comparison_test(first, second, cs.DebiasedL2(cs.EqualMass(4)), paired=False, n_resamples=199, rng=1)
        low, high = found.confidence_interval
        assert low <= found.difference <= high
        assert low <= 0 <= high or found.difference_pvalue <= 0.05


def noise(pair, paired, monkeypatch, few_rows, n_resamples, rng, lens=CANONICAL):
    """The noise of the difference at equal errors, by groups of rows that are alike or by rows."""
    monkeypatch.setattr(bin_level, "FEW_ROWS", few_rows)
    estimator = cs.DebiasedL2(cs.EqualMass(6))
    common, pair = Common.of(pair, lens) if paired else None, tuple(map(lens, pair))
    evaluators = [Headline(estimator).prepare(each.predictions) for each in pair]
    values = tuple(Expanded.of(estimator, each) for each in pair)
    rows = both_rows(values, pair, evaluators, paired, common)
    law = Difference(tuple(erring(*each) for each in zip(values, rows, evaluators, strict=True)), paired)
    return law, law.noise(n_resamples, np.random.default_rng(rng))


@pytest.mark.parametrize("paired", [True, False])
def test_rows_that_are_alike_have_the_noise_of_rows(paired, monkeypatch):
    rng = np.random.default_rng(4)
    p = rng.beta(0.7, 0.7, 3000)
    y = (rng.random(3000) < p).astype(int)
    first, second = cs.Sample(y, np.clip(p + 0.1, 0, 1)), cs.Sample(y, np.clip(p**1.3 + 0.1, 0, 1))
    pair = (first, second if paired else second.take(np.arange(2000)))
    grouped, whole = noise(pair, paired, monkeypatch, 0, 8000, 1)
    single, rows = noise(pair, paired, monkeypatch, 10**9, 1500, 2)
    assert len(grouped.models[0].rows.counts) < 150 < len(single.models[0].rows.counts)
    assert ks_2samp(whole, rows).pvalue > 1e-3
    assert ks_2samp(whole * 1.3, rows).pvalue < 1e-3  # the negative control
    for one, other in zip(grouped.models, single.models, strict=True):
        announced = other.rows.announced
        start = one.truth(one.rows.happened * 0 + 0.5), other.truth(announced * 0 + 0.5)
        assert start[0] == pytest.approx(start[1], rel=1e-9)


def test_one_root_has_the_covariance_of_those_of_all_units(monkeypatch):
    rng = np.random.default_rng(4)
    p = rng.random(30_000)
    y = (rng.random(30_000) < p).astype(int)
    other = np.clip(p + 0.1 * rng.standard_normal(30_000), 0, 1)
    evaluators = [cs.DebiasedL2().prepare(cs.Sample(y, each).predictions) for each in (p, other)]
    alike = AlikeRows.of(evaluators, y)
    chances, many = alike.announced[0], np.arange(len(alike.rows)) % 3 > 0
    whole = alike._root(chances, many)
    monkeypatch.setattr(alike_rows, "_SUMS_AT_ONCE", 0)
    parts = alike._root(chances, many)
    assert whole.shape[1] < parts.shape[1]
    assert whole @ whole.T == pytest.approx((parts @ parts.T).toarray(), rel=1e-9, abs=1e-9)


def test_what_varies_in_groups_adds_to_the_noise_of_rows(monkeypatch):
    """Nearly equal models that are off differ by the rows alone."""
    rng = np.random.default_rng(5)
    p = rng.random(4000)
    y = (rng.random(4000) < p).astype(int)
    pair = tuple(
        cs.Sample(y, np.clip(0.05 + 0.9 * p + 0.2 * (k * 0.02 * (rng.random(4000) - 0.5) + 0.2), 0, 1)) for k in (0, 1)
    )
    grouped, _ = noise(pair, True, monkeypatch, 0, 100, 1)
    single, _ = noise(pair, True, monkeypatch, 10**9, 100, 1)
    found, rows = (law._variance_of_rows(law.chances()) for law in (grouped, single))
    assert found == pytest.approx(rows, rel=0.02)
    moves = [each.moves(known) for each, known in zip(grouped.models, grouped.chances(), strict=True)]
    assert float(((moves[0] - moves[1]) ** 2).sum()) < 0.9 * rows  # the negative control: groups alone


def two_of_three(n, seed, power=1.0):
    """Two models of three classes, from what each knows of a row, with predictions to a power."""
    rng = np.random.default_rng(seed)
    y, found = rng.integers(0, 3, n), []
    for _ in range(2):
        odds = np.exp(power * (rng.normal(size=(n, 3)) + np.eye(3)[y]))
        found.append(cs.Sample(y, odds / odds.sum(axis=1, keepdims=True), labels=range(3)))
    return tuple(found)


@pytest.mark.parametrize("lens", [cs.TopLabel(), cs.TopK(2), cs.Region.between("age", 0.2, 0.9) | cs.TopK(2)], ids=repr)
def test_pairs_of_outcomes_tell_what_each_model_reads(lens):
    samples, age = two_of_three(200, 1), np.random.default_rng(2).random(200)
    samples = tuple(cs.Sample(s.y_true, s.y_prob, labels=range(3), variables={"age": age}) for s in samples)
    common = Common.of(samples, lens)
    kept = lens.look(samples[0].predictions).rows
    assert kept is None or len(common.outcomes) == len(kept) < 200
    rows = [Rows.of(lens(s), None, model=k, common=common) for k, s in enumerate(samples)]
    for sample, each in zip(samples, rows, strict=True):
        np.testing.assert_array_equal(each.outcomes(common.outcomes), lens(sample).outcomes)
        np.testing.assert_array_equal(each.own(each.happened).argmax(axis=1), lens(sample).outcomes)
        np.testing.assert_allclose(each.own(each.announced), lens(sample).predictions.chances, atol=1e-12)
    if lens == cs.TopLabel():  # (0, 0), (0, 1), (1, 0), (1, 1): both right only where both name one class
        agree = samples[0].y_prob.argmax(axis=1) == samples[1].y_prob.argmax(axis=1)
        assert 0 < agree.mean() < 1
        np.testing.assert_array_equal(rows[0].announced > 0, np.stack([0 * agree < 1, ~agree, ~agree, agree], axis=1))


@pytest.mark.parametrize(("n", "draws"), slow_but([(16_000, 1200)], [(16_000, 1200), (40_000, 4000)]))
def test_groups_of_rows_with_different_top_labels_have_the_noise_of_rows(n, draws, monkeypatch):
    """Some of the groups are large enough for a normal law."""
    pair = two_of_three(n, 6, 1.5)
    grouped, whole = noise(pair, True, monkeypatch, 0, 4 * draws, 1, cs.TopLabel())
    single, plain = noise(pair, True, monkeypatch, 10**9, draws, 2, cs.TopLabel())
    alike, chances = grouped.models[0].rows.alike, grouped.chances()[0]
    assert len(alike.rows) < n / 16 < len(single.models[0].rows.counts)
    assert 0 < alike._many(chances).sum() < len(alike.rows)
    assert ks_2samp(whole, plain).pvalue > 1e-3
    assert ks_2samp(whole * 1.3, plain).pvalue < 1e-3  # the negative control


def test_models_that_read_the_same_need_no_pairs():
    first, second = two_of_three(50, 1)
    for lens in (cs.Canonical(), cs.ClassWise(1), cs.Partition([[0, 1], 2])):
        assert Common.of((first, second), lens) is None
    bold = cs.Sample(first.y_true, first.y_prob**2 / (first.y_prob**2).sum(axis=1, keepdims=True), labels=range(3))
    assert Common.of((first, bold), cs.TopLabel()) is None


def test_errors_of_different_top_labels_are_equal_at_possible_chances():
    lens, samples = cs.TopLabel(), two_of_three(300, 3, 2.0)
    common, seen = Common.of(samples, lens), [lens(each) for each in samples]
    evaluators = [Headline(L2).prepare(each.predictions) for each in seen]
    values = tuple(Expanded.of(L2, each) for each in seen)
    rows = both_rows(values, seen, evaluators, True, common)
    both = tuple(erring(*each) for each in zip(values, rows, evaluators, strict=True))
    chances = Difference(both, True).chances(0.01)[0]
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    assert (chances[common.announced[0] == 0] == 0).all()
    assert both[0].truth(chances) - both[1].truth(chances) == pytest.approx(0.01, abs=1e-6)
    alone_ones = (alone(L2, each) for each in seen)
    found = [truth_by_loops(model, each.own(chances)) for model, each in zip(alone_ones, rows, strict=True)]
    assert found[0] - found[1] == pytest.approx(0.01, abs=1e-6)


def test_noise_of_different_top_labels_is_that_of_rows():
    """Both models are far too bold, so that influences nearly show the noise; it was two thirds of that before."""
    first, second = two_of_three(900, 0, 2.5)
    estimator = cs.TopLabel() | L2
    one, other = (Expanded.of(L2, cs.TopLabel()(each)).influence for each in (first, second))
    shown = pytest.approx(np.sqrt(((one - other) ** 2).sum()), rel=0.2)
    found = cs.comparison_test(first, second, estimator, n_resamples=399, rng=0)
    several = cs.compare_models({"a": first, "b": second, "c": first}, estimator, n_resamples=399, rng=0)
    assert [found.standard_error, *(pair.standard_error for pair in several.pairs)] == [shown, shown, 0, shown]
    tested = tuple(cs.calibration_test(each, estimator, null=cs.Consistency(99), rng=0) for each in (first, second))
    by_hand = compare_tested(tested, (first, second), ("a", "b"), 0.05, 0.95, 399, np.random.default_rng(0))
    assert by_hand.standard_error == shown


def test_a_far_root_of_unlikely_chances_widens_no_interval():
    """Rare events, and a model that says zero for some: half the width was 1e-3 where the noise is 1e-7."""
    rng = np.random.default_rng(0)
    p = rng.beta(1, 499, 20_000)
    q = np.where(p < 0.001, 0.0, p)
    y = np.where(q > 0, rng.random(20_000) < p, 0).astype(int)
    found = comparison_test(cs.Sample(y, p), cs.Sample(y, q), cs.DebiasedL2(cs.EqualMass(15)), rng=0)
    assert max(map(abs, found.confidence_interval)) < 5 * found.standard_error
