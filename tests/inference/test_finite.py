"""Bounds from labels at possible chances: against plain loops, and against the enumeration of all labels."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import beta, binom

import calibstat as cs
from calibstat.inference import finite
from calibstat.inference.finite import Groups, Pieces, SquaredInterval, most_variable
from calibstat.inference.intervals import SPENT
from suites import slow_but

ONE = cs.ECE(cs.EqualMass(1))
RNG = np.random.default_rng(0)


def tied(events, rows, prediction):
    """Rows of one prediction for each cell, of which the first ones are events."""
    happened = np.concatenate([np.arange(n) < k for k, n in zip(events, rows, strict=True)])
    return cs.Sample(happened, np.repeat(prediction, rows), labels=[False, True])


@pytest.mark.parametrize("n", slow_but([9], [7, 9, 12]))
@pytest.mark.parametrize("prediction", [0.0, 0.1, 0.5])
def test_enumerated_one_sided_coverage_of_one_cell(n, prediction):
    samples = [tied([k], [n], [prediction]) for k in range(n + 1)]
    ends = np.array(
        [cs.estimate(s, ONE, interval="finite", n_resamples=1999, rng=0).confidence_interval.high for s in samples]
    )
    for chance in np.linspace(0, 1, 51):
        truth = abs(chance - prediction)
        missed = binom.pmf(np.arange(n + 1), n, chance)[ends < truth - 1e-12].sum()
        assert missed <= 0.05 + 0.005  # quantiles are drawn


@pytest.mark.slow
def test_enumerated_coverage_of_two_cells():
    rows, prediction, cells = (3, 4), (0.1, 0.7), cs.ECE(cs.UniqueValues())
    events = list(product(range(4), range(5)))
    ends = [
        cs.estimate(
            tied(k, rows, prediction), cells, interval="finite", n_resamples=499, rng=0
        ).confidence_interval.high
        for k in events
    ]
    for chance in product(np.linspace(0, 1, 11), repeat=2):
        truth = np.abs(np.subtract(chance, prediction)) @ rows / 7
        masses = np.array([np.prod(binom.pmf(k, rows, chance)) for k in events])
        assert masses[np.array(ends) < truth - 1e-12].sum() <= 0.055


def test_negative_control_the_multiplier_alone_does_not_cover():
    """Ten right rows of almost certain predictions show no noise; an upper end near zero is wrong in most samples."""
    sample = tied([10], [10], [1 - 1e-7])
    alone = cs.Multiplier(999, centred=True).draw(ONE, sample, np.random.default_rng(0))
    assert alone.quantile(0.95) < 1e-6
    assert (
        cs.estimate(sample, ONE, rng=0).confidence_interval.high > 1 - 0.05**0.1
    )  # at this chance all are right in 5 %
    assert not cs.equivalence_test(sample, ONE, 0.001, rng=0).within


def test_few_rows_say_nothing():
    for interval in (None, "finite"):
        assert cs.estimate(tied([4], [4], [0.5]), ONE, interval=interval, rng=0).confidence_interval == (0, 1)
    heavy = cs.Sample(np.arange(100) % 2, np.full(100, 0.5), sample_weight=np.r_[1000.5, np.ones(99)], labels=[0, 1])
    assert cs.estimate(heavy, ONE, interval="finite", rng=0).confidence_interval == (0, 1)


def test_bounds_of_chances_are_those_of_the_beta_law():
    seen = np.array([[7, 3], [10, 0], [0, 4]])
    low, high = Groups(np.arange(3), seen, 24.0).bounds(np.ones(3, dtype=bool))
    each = (1 - (1 - SPENT) ** (1 / 3)) / 2
    for cell, (others, events) in enumerate(seen):
        n = others + events
        assert low[cell, 1] == pytest.approx(beta.ppf(each, events, n - events + 1) if events else 0)
        assert high[cell, 1] == pytest.approx(beta.ppf(1 - each, events + 1, n - events) if others else 1)


@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_most_variable_chances_have_the_largest_variance_between_the_bounds(n_classes):
    low = RNG.dirichlet(np.ones(n_classes), 20) * RNG.random((20, 1))
    high = np.minimum(1, low + RNG.random((20, n_classes)) + (1 - low.sum(axis=1, keepdims=True)) / n_classes)
    most = most_variable(low, high)
    assert np.allclose(most.sum(axis=1), 1, atol=1e-12)
    assert ((low - 1e-12 <= most) & (most <= high + 1e-12)).all()
    for _ in range(200):
        other = np.clip(RNG.dirichlet(np.ones(n_classes), 20), low, high)
        valid = np.abs(other.sum(axis=1) - 1) < 1e-9
        assert ((other**2).sum(axis=1) >= (most**2).sum(axis=1) - 1e-12)[valid].all()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_noise_by_cells_has_the_law_of_noise_by_rows(monkeypatch, weighted, n_classes):
    prob = RNG.dirichlet(np.ones(n_classes), 40)
    weight = RNG.choice([0.1, 1.6], 40) if weighted else None
    sample = cs.Sample(RNG.integers(0, n_classes, 40), prob, labels=range(n_classes), sample_weight=weight)
    evaluator = cs.ECE(cs.SimplexGrid(2)).prepare(sample.predictions)
    index = evaluator.capabilities.tally.cells.index
    cells = finite.possible_noise(sample, evaluator, 4000, np.random.default_rng(1), all_cells=True)
    monkeypatch.setattr(finite, "stretches", lambda _: index)
    monkeypatch.setattr(finite, "_by_cells", finite._by_rows)
    rows = finite.possible_noise(sample, evaluator, 4000, np.random.default_rng(2), all_cells=True)
    for one, other in zip(cells, rows, strict=True):
        assert one.mean() == pytest.approx(other.mean(), abs=5 * np.hypot(one.std(), other.std()) / 4000**0.5)
        assert np.quantile(one, 0.95) == pytest.approx(np.quantile(other, 0.95), rel=0.08)


def test_nothing_is_drawn_where_all_noise_is_seen():
    p = np.random.default_rng(3).uniform(0.3, 0.69, 400)
    sample = cs.Sample(np.arange(400) % 2, p, labels=[0, 1])
    evaluator = ONE.prepare(sample.predictions)
    assert finite.possible_noise(sample, evaluator, 9, RNG, all_cells=False) == []
    assert cs.estimate(sample, ONE, n_resamples=39, rng=0).notes == ()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_squared_noise_agrees_with_plain_loops(monkeypatch, n_classes, weighted):
    """The value for labels with errors along one direction is theta + root of theta times linear + degenerate part."""
    rng = np.random.default_rng(4)
    n, chances = 24, rng.dirichlet(np.ones(n_classes) * 5, 2)
    index = np.arange(n) // 12
    scale = rng.choice([0.5, 4.0], n) if weighted else np.full(n, 0.3)
    outcomes = rng.integers(0, n_classes, n)
    groups = Groups.of(index, scale, outcomes, n_classes)
    pieces = Pieces.of(index, groups, scale)
    each = chances[pieces.cell]
    labels = rng.integers(0, n_classes, (7, n))
    happened = np.eye(n_classes)[labels]
    counts = np.stack(
        [
            happened[:, (index == c) & (groups.index == g)].sum(axis=1)
            for c, g in zip(pieces.cell, pieces.group, strict=True)
        ],
        axis=1,
    )
    noise = counts - pieces.rows[:, None] * each
    if n_classes == 2:
        noise = noise[..., 1:]
    of_groups = np.empty((len(groups.seen), n_classes))
    of_groups[pieces.group] = each
    monkeypatch.setattr(finite, "replicate", lambda evaluate, *_: evaluate(noise))
    pairs = cs.DebiasedL2(cs.UniqueValues())  # any; only its index and scale are used
    pairs = type("Pairs", (), {"index": index, "scale": scale})()
    residual = rng.normal(size=(n, 1 if n_classes == 2 else n_classes))
    linear, degenerate = finite._square_noise(pieces, of_groups, residual, pairs, 7, rng)
    components = happened[..., 1:] if n_classes == 2 else happened
    true = chances[:, 1:] if n_classes == 2 else chances
    masses = [scale[index == c].sum() ** 2 - (scale[index == c] ** 2).sum() for c in (0, 1)]
    direction = np.stack([np.average(residual[index == c], axis=0, weights=scale[index == c]) for c in (0, 1)])
    direction /= np.sqrt(np.sum([m * (d @ d) for m, d in zip(masses, direction, strict=True)]))
    theta = 0.04
    for r in range(7):
        error = components[r] - true[index] + np.sqrt(theta) * direction[index]
        value = sum(
            scale[i] * scale[j] * (error[i] @ error[j])
            for i in range(n)
            for j in range(n)
            if i != j and index[i] == index[j]
        )
        assert theta + np.sqrt(theta) * linear[r, -1] + degenerate[r] == pytest.approx(value)
    if n_classes == 2:  # all the error in the first cell, and its opposite
        moved = 2 * np.array(
            [
                [
                    sum(
                        scale[i] * scale[j] * (components[r, i, 0] - true[index[i], 0])
                        for i in range(12)
                        for j in range(12)
                        if i != j
                    )
                ]
                for r in range(7)
            ]
        )
        assert linear[:, 0] == pytest.approx(moved[:, 0] / masses[0] ** 0.5)
        assert linear[:, 2] == pytest.approx(-linear[:, 0])


def test_pvalue_of_a_margin_agrees_with_the_bound():
    rng = np.random.default_rng(5)
    p = rng.random(300)
    sample = cs.Sample(rng.random(300) < p**1.3, p, labels=[False, True])
    estimator = cs.DebiasedL2(cs.EqualMass(5))
    expansion = estimator.prepare(sample.predictions).capabilities.expansion(sample.outcomes)
    found = SquaredInterval.of(estimator, sample, expansion, np.zeros(499), rng)
    for margin in (1e-4, 0.003, 0.01, 0.02, 0.05):
        for alpha in (0.01, 0.05, 0.1, 0.5):
            assert (found.upper(1 - alpha) <= margin) == (found.pvalue_above(margin) <= alpha + 1e-12)


@pytest.mark.parametrize("estimator", [cs.ECE(cs.EqualMass(5)), cs.DebiasedL2(cs.EqualMass(5)), cs.Kuiper()], ids=repr)
def test_an_interval_does_not_depend_on_a_common_factor_of_weights(estimator):
    rng = np.random.default_rng(6)
    p, w = rng.random(200), rng.lognormal(0, 1, 200)
    happened = rng.random(200) < p
    one, other = (
        cs.estimate(cs.Sample(happened, p, sample_weight=each), estimator, interval="finite", n_resamples=99, rng=0)
        for each in (w, w * 2.0**40)
    )
    assert one.confidence_interval == pytest.approx(other.confidence_interval, rel=1e-9)


def test_which_intervals_hold_at_every_n():
    sample = tied([50], [100], [0.5])
    with pytest.raises(TypeError, match="interval is 'finit', but 'finite', a Bootstrap or None"):
        cs.estimate(sample, ONE, interval="finit")
    with pytest.raises(ValueError, match="no interval is known to cover for CORP"):
        cs.estimate(sample, cs.CORP(), interval="finite", n_resamples=39)
    with pytest.raises(ValueError, match=r"needs a level below 0\.999"):
        cs.estimate(sample, ONE, interval="finite", confidence_level=0.9995, rng=0)


def test_outcomes_are_counted_by_the_order_of_their_chances():
    rng = np.random.default_rng(0)
    chances = np.concatenate([finite._ENDS, [0.0, 1.0], rng.beta(0.1, 0.1, 40_000)])
    outcomes = (rng.random(len(chances)) < chances).astype(int)
    expected = np.zeros((finite.ORDERS, 2), dtype=int)
    np.add.at(expected, (finite.orders(chances), outcomes), 1)
    assert np.array_equal(finite._seen_in_orders(chances, outcomes), expected)


@pytest.mark.parametrize("factor", [10.0, 1 / 3, 1.45, 1e-200, 1e200])
def test_intervals_do_not_depend_on_a_common_factor_of_weights(factor):
    rng = np.random.default_rng(1)
    p, w = rng.random(300), rng.random(300) + 0.2
    y = rng.random(300) < p**2
    first, second = (cs.Sample(y, p, sample_weight=each) for each in (w, w * factor))
    for estimator in (cs.ECE(), cs.DebiasedL2(), cs.ICI(), cs.Kuiper()):
        low, high = cs.estimate(first, estimator, n_resamples=199, rng=0).confidence_interval
        assert cs.estimate(second, estimator, n_resamples=199, rng=0).confidence_interval == pytest.approx((low, high))
    margins = [
        cs.equivalence_test(each, cs.ECE(), margin=0.1, n_resamples=199, rng=0).pvalue for each in (first, second)
    ]
    assert margins[0] == pytest.approx(margins[1])
