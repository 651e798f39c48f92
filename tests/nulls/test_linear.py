"""Laws of linear statistics: against the enumeration of all labels, against each other, and where they are refused."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import calibstat as cs
from calibstat.estimators.base import Headline
from calibstat.nulls import linear
from calibstat.nulls.linear import AtomSum, LinearNull, LinearSum, RowSums, Saddlepoint, SaddlepointSum, linear_null
from registry import ESTIMATORS, make_sample
from suites import everything

RNG = np.random.default_rng()


@pytest.fixture(autouse=True)
def _same_numbers():
    """Each test has the same numbers, whichever others run."""
    RNG.bit_generator.state = np.random.default_rng(0).bit_generator.state


def prepared(estimator, sample):
    """The number that is tested, the sample through its lens, and the evaluator."""
    seen, core = estimator.lens(sample), Headline(estimator.core)
    return core, seen, core.prepare(seen.predictions)


def is_linear(entry):
    _, _, evaluator = prepared(entry.thing, make_sample(entry.classes[-1], n=12))
    return evaluator.capabilities.linear is not None


LINEAR = [entry for entry in ESTIMATORS if is_linear(entry)]


def test_the_registry_has_linear_estimators():
    names = {entry.core.__name__ for entry in LINEAR}
    assert names >= {"Spiegelhalter", "BrierZ", "LogLossZ", "MeanCalibration", "ScoreExcess", "ObservedToExpected"}
    assert names >= {"BrierScore", "LogScore", "SphericalScore", "ZeroOneLoss"}


def every_label(seen):
    """All labels (R, n) of few rows, and their probabilities."""
    chances = seen.predictions.chances
    labels = np.array(list(product(range(chances.shape[1]), repeat=len(chances))))
    return labels, chances[np.arange(len(chances)), labels].prod(axis=1)


@pytest.mark.parametrize("entry", LINEAR, ids=lambda entry: entry.name)
@pytest.mark.parametrize("weighted", [False, True])
def test_few_rows_agree_with_the_enumeration_of_all_labels(entry, weighted):
    sample = make_sample(entry.classes[-1], n=8 if entry.classes[-1] == 2 else 5)
    if weighted:
        predictions = sample.predictions
        sample = cs.Sample(
            sample.y_true, sample.y_prob, labels=sample.labels, sample_weight=1 + RNG.random(len(sample))
        )
        assert predictions.weights is None
    core, seen, evaluator = prepared(entry.thing, sample)
    null, law = linear_null(core, seen, evaluator)
    labels, masses = every_label(seen)
    values = evaluator(labels)
    evidence = core.evidence(values)
    assert null is None
    assert law.description == "exact"
    assert float(law.mean) == pytest.approx(values @ masses, abs=1e-12)
    for value in np.unique(values)[::7]:
        reached = evidence >= core.evidence(np.array([value])) - 1e-9 * (values.std() + 1e-9)
        assert law.pvalue(float(value)) == pytest.approx(max(masses[reached].sum(), law.floor), rel=1e-8)
        assert law.pvalue_interval(float(value)) == (law.pvalue(float(value)),) * 2


def enumerated(size, chance):
    """All values of a sum of two outcomes for each row, minus its mean, and their masses."""
    labels = np.array(list(product([0, 1], repeat=len(size))))
    return labels @ size - size @ chance, np.where(labels == 1, chance, 1 - chance).prod(axis=1)


def of_rows(size, chance):
    return LinearSum.of(np.stack([np.zeros(len(size)), size]), np.stack([1 - chance, chance], axis=1))


def test_a_saddlepoint_agrees_with_an_enumeration():
    chance, size = 0.2 + 0.6 * RNG.random(18), RNG.normal(size=18)
    values, masses = enumerated(size, chance)
    found = of_rows(size, chance)
    law = SaddlepointSum(found.numbers, found.mean)
    for share in (-1.5, -0.5, 0.01, 0.7, 1.6, 2.2):
        x = share * law.deviation
        above, below = masses[values >= x].sum(), masses[values <= x].sum()
        assert law.at_least(found.mean + x).value == pytest.approx(above, rel=law.error)
        assert law.at_most(found.mean + x).value == pytest.approx(below, rel=law.error)
    assert law.error < 0.2
    normal = LinearNull(law, "large")
    quantiles = [float(normal.quantile(q)) for q in (0.05, 0.5, 0.95)]
    order = np.argsort(values)
    exact = values[order][np.searchsorted(masses[order].cumsum(), (0.05, 0.5, 0.95))]
    assert quantiles == pytest.approx(found.mean + exact, abs=0.05 * law.deviation)


@pytest.mark.parametrize("way", [linear._rounded_sum, linear._lattice_sum])
def test_sums_on_a_lattice_agree_with_an_enumeration(way):
    """Rounded to a fine lattice they give bounds, and on a lattice of their own they are exact."""
    chance = np.append(RNG.random(4), RNG.random(8) * 0.1)
    size = RNG.integers(-4, 9, 12) / 4 + 0.0
    if way is linear._rounded_sum:
        size = size + RNG.normal(size=12)
    values, masses = enumerated(size, chance)
    found = of_rows(size, chance)
    law = way(found)
    assert (law.rounding > 0) == (way is linear._rounded_sum)
    for value in np.unique(values)[::97]:
        for end, reached in ((law.at_least, values >= value - 1e-9), (law.at_most, values <= value + 1e-9)):
            tail = end(found.mean + value + (-1e-9 if end == law.at_least else 1e-9))
            assert tail.low - 2e-5 <= masses[reached].sum() <= tail.high + 2e-5  # roundings reach farther, rarely
            assert law.rounding or tail.value == pytest.approx(masses[reached].sum(), rel=1e-6, abs=1e-12)


def test_rows_of_one_size_have_the_law_of_a_count():
    chance = RNG.random(500)
    law = linear.exact_sum(of_rows(np.where(RNG.random(500) < 0.5, -0.3, 0.3), chance))
    assert isinstance(law, AtomSum)
    assert law.deviation == pytest.approx(0.3 * np.sqrt((chance * (1 - chance)).sum()), rel=1e-12)


def test_pooled_rows_have_the_law_of_single_ones():
    """The cells keep their variance; without pooling the tails are the same, far out to three digits."""
    chance, weight = RNG.beta(0.5, 1.5, 6000), RNG.exponential(size=6000)
    found = of_rows(weight * (1 - 2 * chance), chance)
    size, chance = found.two
    single = RowSums(np.stack([-chance * size, (1 - chance) * size]), np.stack([1 - chance, chance]), np.ones(6000))
    assert len(found.numbers.counts) < 3000
    laws = [SaddlepointSum(each, 0.0) for each in (found.numbers, single)]
    assert laws[0].deviation == pytest.approx(laws[1].deviation, rel=1e-12)
    for share in (-8.0, -3.0, 0.5, 2.0, 6.0):
        tails = [law.at_least(share * laws[1].deviation).value for law in laws]
        assert tails[0] == pytest.approx(tails[1], rel=3e-4 if abs(share) < 4 else 3e-3)


def test_pvalues_have_no_floor_of_draws():
    p = RNG.random(3000)
    result = cs.calibration_test(cs.Sample(RNG.random(3000) < 0.5 + 0.5 * (p - 0.5), p), cs.Spiegelhalter())
    assert 0 < result.pvalue < 1e-20
    assert result.null == Saddlepoint()
    assert "saddlepoint, relative error about" in everything(result)
    low, high = result.pvalue_interval
    assert low < result.pvalue < high < 1.1 * low


def test_what_is_infinite_or_certain():
    sure = cs.calibration_test(cs.Sample([0, 1, 1], [0.0, 1.0, 1.0]), cs.BrierScore())
    assert (sure.statistic, sure.pvalue, sure.null_distribution.description) == (0.0, 1.0, "exact")
    impossible = cs.calibration_test(cs.Sample([1, 1, 0], [0.0, 0.7, 0.2]), cs.LogScore(smallest=0))
    assert impossible.statistic == np.inf
    assert impossible.pvalue == impossible.null_distribution.floor


def test_rare_events_are_refused_by_the_saddlepoint_and_bounded_by_default():
    p = RNG.beta(1, 199, 400)
    sample = cs.Sample(RNG.random(400) < p, p, labels=[False, True])
    with pytest.raises(ValueError, match="is not accurate here: its relative error is about"):
        cs.calibration_test(sample, cs.Spiegelhalter(), null=Saddlepoint())
    with pytest.raises(ValueError, match="it is not a sum of one finite number for each row"):
        cs.calibration_test(sample, cs.ECE(), null=Saddlepoint())
    q = RNG.random(300)
    many = cs.Sample(RNG.random(300) < q, q)
    with pytest.raises(cs.NotExact, match="too many rows are left to chance"):
        cs.calibration_test(many, cs.Spiegelhalter(), null=cs.Exact())
    assert cs.calibration_test(sample, cs.Spiegelhalter()).null_distribution.description == "exact bound"


@pytest.mark.parametrize("estimator", [cs.BrierZ(), cs.LogScore()], ids=repr)
def test_several_classes_agree_with_draws(estimator):
    rows = RNG.dirichlet(np.ones(4), 150)
    sample = cs.Sample((rows.cumsum(axis=1) > RNG.random((150, 1))).argmax(axis=1), rows, labels=range(4))
    computed = cs.calibration_test(sample, estimator)
    drawn = cs.calibration_test(sample, estimator, null=cs.Consistency(9999), rng=0)
    assert computed.null == Saddlepoint()
    low, high = drawn.pvalue_interval
    assert low - 0.005 <= computed.pvalue <= high + 0.005


@pytest.mark.parametrize("seed", [106, 107, 136])
@pytest.mark.parametrize("statistic", [cs.MeanCalibration(), cs.BrierScore(), cs.ObservedToExpected()], ids=repr)
def test_a_row_with_much_of_the_weight_leaves_labels_to_be_drawn(statistic, seed):
    """The formula of the saddlepoint may reach 0 or 1 two standard deviations from the mean."""
    rng = np.random.default_rng(seed)
    weights = (1 - rng.random(300)) ** (-1 / 0.6) if seed % 2 == 0 else rng.pareto(1.0, 300) + 0.01
    p = rng.random(300)
    result = cs.calibration_test(cs.Sample(rng.random(300) < p, p, sample_weight=weights), statistic, rng=0)
    assert 0 < result.pvalue <= 1


@pytest.mark.parametrize(("seed", "accurate"), [(187, False), (259, False), (376, False), (9, True), (34, True)])
def test_no_saddlepoint_is_used_where_its_terms_cancel_in_the_tails_alone(seed, accurate):
    """Few rows have most of the variance: at a stated error below 1 % a probability was off by .11 near the median."""
    rng = np.random.default_rng(seed)
    chance, weights = rng.random(800), rng.lognormal(0, 2, 800)
    sample, score = cs.Sample(np.arange(800) % 2, chance, sample_weight=weights), cs.BrierScore()
    found = linear.linear_sum(score, sample, score.prepare(sample.predictions))
    law = SaddlepointSum(found.numbers, found.mean)
    drawn = cs.Consistency(2000, shortcuts=False).draw(score, sample, np.random.default_rng(1)).samples
    levels = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
    off = [law.at_most(np.quantile(drawn, level)).value - level for level in levels]
    assert (np.abs(off) < 4 * np.sqrt(levels * (1 - levels) / 2000)).all() == accurate
    result = cs.calibration_test(sample, score, rng=0)
    assert result.null_distribution.description.startswith("saddlepoint") == accurate


@pytest.mark.parametrize("ratio", [1e2, 5e3, 1e4, 1e8, 1.00005])
@pytest.mark.parametrize("heavy", [1, 100])
def test_weights_of_two_sizes_however_far_apart_have_a_pvalue(ratio, heavy):
    """On a lattice, short numbers were taken for remainders of long ones."""
    rng = np.random.default_rng(0)
    p = rng.random(200)
    weights = np.where(np.arange(200) < heavy, ratio, 1.0)
    sample = cs.Sample(rng.random(200) < p, p, sample_weight=weights / weights.mean())
    for estimator in (cs.MeanCalibration(), cs.ZeroOneLoss()):
        found, redrawn = (
            cs.calibration_test(sample, estimator, null=null, rng=0) for null in (None, cs.Consistency(9999))
        )
        assert found.pvalue == pytest.approx(redrawn.pvalue, abs=0.06)  # 999 redraws
