"""Rows that stand for several, read as they are: the values, laws and p-values of the rows written out."""

from __future__ import annotations

import re
from dataclasses import fields
from itertools import product

import numpy as np
import pytest
from scipy import stats

import calibstat as cs
from calibstat.auditing.audit import subgroup_audit
from calibstat.auditing.scan import scan_variables
from calibstat.data import counted
from calibstat.inference.band import calibration_band
from calibstat.inference.clinical import clinical_summary
from calibstat.inference.multiple import multiple_test
from registered.entries import LABELS
from registry import ESTIMATORS, every
from suites import slow_but

READING = [entry for entry in ESTIMATORS if any(map(entry.thing.core.reads_counts, entry.classes))]
NEAR = dict(rtol=1e-9, atol=1e-11)
ON_A_MESH = dict(rtol=1e-4)  # of few predictions it is coarser


def both(n_classes, m=23, seed=3, most=9, weighted=False):
    """The same rows twice: counted, and written out."""
    rng = np.random.default_rng(seed)
    prob = rng.dirichlet(np.ones(n_classes), m)
    counts = np.array([rng.multinomial(n, p) for n, p in zip(rng.integers(1, most, m), prob, strict=True)])
    variables = {"age": rng.integers(1, 8, m).astype(float), "sex": rng.choice(["f", "m"], m)}
    weights = rng.choice([0.5, 1.0, 2.5], m) if weighted else None
    known = dict(variables=variables, sample_weight=weights, labels=LABELS[:n_classes])
    together = cs.Sample.from_counts(prob, counts, **known)
    return together, cs.Sample.of(together.predictions, together.outcomes)


@pytest.fixture
def always(monkeypatch):
    """However few rows are counted, they are not written out."""
    monkeypatch.setattr(counted, "MANY", 0)


@every(READING)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_value_of_counts_is_that_of_the_rows(entry, weighted, always):
    near = ON_A_MESH if isinstance(entry.thing.core, cs.SmoothECE) else NEAR
    for n_classes in entry.classes:
        together, single = both(n_classes, weighted=weighted)
        seen = entry.thing.lens(together)
        if not entry.thing.core.reads_counts(seen.each.n_classes):
            continue
        expected = entry.thing.core.prepare(entry.thing.lens(single).predictions)(entry.thing.lens(single).outcomes)
        read = seen.read_by(entry.thing.core.reads_counts)
        assert len(read) < len(seen)
        np.testing.assert_allclose(entry.thing.core.prepare(read.predictions)(read.outcomes), expected, **near)


TESTED = [
    cs.ECE(cs.EqualWidth(5)),
    cs.ECE(cs.EqualMass(5)),
    cs.RMSCE(cs.EqualMass(4)),
    cs.MaximumMiscalibration(cs.EqualMass(4)),
    cs.BrierScore(),
    cs.LogScore(),
    cs.Spiegelhalter(),
    cs.MeanCalibration(),
    cs.ObservedToExpected(),
    cs.ScoreExcess(),
    cs.HosmerLemeshow(cs.EqualWidth(4)),
    cs.DebiasedL2(cs.EqualMass(4)),
    cs.DebiasedCE(cs.EqualWidth(4)),
    cs.StandardizedL2(cs.EqualMass(4)),
    cs.BrierDecomposition(cs.EqualMass(4)),
    cs.Kuiper(),
    cs.AndersonDarling(),
    cs.CramerVonMises(),
    cs.SmoothECE(),
    cs.Cox(),
    cs.RMSE(),
    cs.TopLabel() | cs.ECE(cs.EqualWidth(6)),
    cs.ExpectedMiscalibration(cs.SimplexGrid(2)),
    cs.Given("sex") | cs.ECE(cs.Categories()),
    cs.Within("sex", cs.ECE(cs.EqualWidth(3))),
    cs.EachClass(cs.ECE(cs.EqualWidth(3))),
]
ROWS = [(60, 20), (300, 800)]  # some hundred rows, and a hundred thousand


@pytest.mark.parametrize(
    ("estimator", "weighted", "rows"),
    slow_but(lambda case: case[-1] is ROWS[0], product(TESTED, [False, True], ROWS), one_in=4),
    ids=str,
)
def test_a_test_of_counts_is_that_of_the_rows(estimator, weighted, rows, always):
    m, most = rows
    n_classes = 3 if re.search("TopLabel|Simplex|EachClass", repr(estimator)) else 2
    together, single = both(n_classes, m, seed=5, most=most, weighted=weighted)
    found, expected = (cs.calibration_test(each, estimator, rng=1) for each in (together, single))
    assert found.statistic == pytest.approx(expected.statistic, rel=2e-3 if "Smooth" in repr(estimator) else 1e-9)
    assert found.question.n == expected.question.n == len(single)
    assert found.question.counts._asdict() == pytest.approx(expected.question.counts._asdict())
    assert str(found.direction) == str(expected.direction)
    near = 2e-3 if "Smooth" in repr(estimator) else 1e-9
    assert (found.standardized is None) == (expected.standardized is None)
    assert found.standardized is None or found.standardized == pytest.approx(expected.standardized, rel=near)
    one, other = found.null_distribution, expected.null_distribution
    assert one.monte_carlo == other.monte_carlo
    if one.monte_carlo:
        draws, rows = (_drawn(each, estimator, n_classes, m, most, weighted) for each in (True, False))
        assert stats.ks_2samp(draws, rows, method="asymp").pvalue > 1e-3
        assert stats.ks_2samp(draws, 1.2 * rows, method="asymp").pvalue < 1e-3  # the negative control
    else:
        # a saddlepoint pools rows, each sample in its own way
        near = 1e-9 if "exact" in one.description else 1e-3
        assert found.pvalue == pytest.approx(expected.pvalue, rel=near)
        assert float(one.mean) == pytest.approx(float(other.mean), rel=1e-9, abs=1e-9)


def _drawn(read, estimator, n_classes, m, most, weighted):
    together, single = both(n_classes, m, seed=5, most=most, weighted=weighted)
    null = cs.Consistency(4000)
    law = cs.calibration_test(together if read else single, estimator, null=null, rng=2 + read).null_distribution
    return law.samples


def test_more_rows_than_can_be_written_out_are_tested():
    edges = np.linspace(0, 1, 2001)
    prob = (edges[1:] + edges[:-1]) / 2
    trials = np.full(2000, 5 * 10**6)
    events = np.random.default_rng(0).binomial(trials, prob)
    calibrated = cs.Sample.from_counts(prob, events=events, trials=trials)
    found = cs.calibration_test(calibrated, cs.ECE())
    assert found.question.n == 10**10
    assert 0.01 < found.pvalue < 1
    assert found.statistic == pytest.approx(cs.ECE()(calibrated))
    wrong = cs.Sample.from_counts(np.clip(prob + 3e-5, 0, 1), events=events, trials=trials)
    assert cs.calibration_test(wrong, cs.ECE()).pvalue < 1e-6
    with pytest.raises(ValueError, match="the sample counts 10,000,000,000 rows"):
        cs.calibration_test(calibrated, cs.KendallTau())


ALIGNED = [  # whole steps in each cell
    cs.ECE(cs.EqualWidth(15)),
    cs.RMSCE(cs.EqualWidth(5)),
    cs.MaximumMiscalibration(cs.EqualWidth(10)),
    cs.HosmerLemeshow(cs.EqualWidth(10)),
    cs.MeanCalibration(),
    cs.ObservedToExpected(),
]


def in_steps(p, y):
    """Rows counted in a few steps of the prediction, each with its mean and the powers of distances to it."""
    return cs.Ledger.count(cs.Sample(y, p, labels=[0, 1])).sample()


@pytest.mark.parametrize("n", slow_but([1000, 10**5], [100, 1000, 10**4, 10**5, 10**6, 3 * 10**6]))
@pytest.mark.parametrize("place", ["everywhere", "at the ends"])
def test_powers_of_steps_are_as_good_as_rows(n, place):
    rng = np.random.default_rng(n)
    p = rng.random(n) if place == "everywhere" else rng.beta(0.05, 0.05, n)
    y = (rng.random(n) < p).astype(int)
    for estimator in ALIGNED:
        expected = cs.calibration_test(cs.Sample(y, p, labels=[0, 1]), estimator, rng=1)
        if expected.null_distribution.monte_carlo:
            continue
        found = cs.calibration_test(in_steps(p, y), estimator)
        assert found.statistic == pytest.approx(expected.statistic, rel=1e-9)
        assert found.pvalue == pytest.approx(expected.pvalue, rel=1e-9)
        assert (found.standardized is None) == (expected.standardized is None)
        if expected.standardized is not None:
            assert found.standardized == pytest.approx(expected.standardized, rel=1e-9)


ESTIMATED = [
    cs.ECE(cs.EqualWidth(5)),
    cs.RMSCE(cs.EqualMass(4)),
    cs.MaximumMiscalibration(cs.EqualMass(4)),
    cs.DebiasedL2(cs.EqualMass(4)),
    cs.DebiasedCE(cs.EqualWidth(4), root=True),
    cs.BrierScore(),
    cs.BrierDecomposition(cs.EqualWidth(5)),
    cs.FerroFricker(cs.EqualWidth(5)),
    cs.LogScore(),
    cs.ZeroOneLoss(),
    cs.RMSE(),
    cs.MeanCalibration(),
    cs.ObservedToExpected(),
    cs.ScoreExcess(),
    cs.Kuiper(),
    cs.CramerVonMises(),
    cs.Cox(),
    cs.SmoothCE(),
    cs.TopLabel() | cs.ECE(cs.EqualWidth(6)),
    cs.ExpectedMiscalibration(cs.SimplexGrid(2)),
]
MANY_DRAWS = 3999


def assert_same_estimate(found, expected, drawn):
    """Numbers are equal; ends that are quantiles of draws are those of other draws of the same law."""
    assert found.headline == pytest.approx(expected.headline, rel=1e-9)
    width = expected.noise[1] - expected.noise[0]
    assert found.headline_null_mean == pytest.approx(expected.headline_null_mean, abs=0.1 * width)
    assert found.question.n == expected.question.n
    assert found.interval_note == expected.interval_note
    assert (found.confidence_interval is None) == (expected.confidence_interval is None)
    if expected.confidence_interval is not None:
        length = expected.confidence_interval.high - expected.confidence_interval.low
        near = 0.05 * length if drawn else 1e-9 * length
        assert tuple(found.confidence_interval) == pytest.approx(tuple(expected.confidence_interval), abs=near)


@pytest.mark.parametrize("estimator", ESTIMATED, ids=repr)
def test_an_interval_of_counts_is_that_of_the_rows(estimator, always):
    n_classes = 3 if isinstance(estimator.lens, cs.TopLabel) or "Simplex" in repr(estimator) else 2
    together, single = both(n_classes, 60, seed=5, most=40)
    found, expected = (cs.estimate(each, estimator, n_resamples=MANY_DRAWS, rng=1) for each in (together, single))
    assert_same_estimate(found, expected, "normal" not in expected.interval_note)
    for one, other in zip(found.parts, expected.parts, strict=True):
        assert one.name == other.name
        near = 0.1 * (other.high - other.low) if np.isfinite(other.high - other.low) else 1e-9
        assert one[2:5] == pytest.approx(other[2:5], abs=near, rel=1e-9, nan_ok=True)


def test_an_upper_bound_of_counts_is_that_of_the_rows(always):
    together, single = both(2, 60, seed=5, most=40)
    found, expected = (
        cs.equivalence_test(each, cs.ECE(cs.EqualWidth(5)), 0.1, n_resamples=MANY_DRAWS, rng=1)
        for each in (together, single)
    )
    assert found.upper_bound == pytest.approx(expected.upper_bound, rel=0.05)
    assert found.pvalue == pytest.approx(expected.pvalue, abs=0.02)


@pytest.mark.parametrize(
    ("estimator", "truth"),
    [
        (cs.ECE(), lambda prob, chance: np.mean(chance - prob)),
        (cs.MeanCalibration(), lambda prob, chance: np.mean(chance - prob)),
        (cs.DebiasedL2(), lambda prob, chance: np.mean((chance - prob) ** 2)),
        (cs.BrierScore(), lambda prob, chance: np.mean(chance * (1 - prob) ** 2 + (1 - chance) * prob**2)),
    ],
    ids=["ECE", "mean", "squared", "Brier"],
)
def test_intervals_of_more_rows_than_can_be_written_out(estimator, truth):
    edges = np.linspace(0.02, 0.95, 2001)
    prob, trials = (edges[1:] + edges[:-1]) / 2, np.full(2000, 5 * 10**6)
    chance = prob + 0.01
    events = np.random.default_rng(0).binomial(trials, chance)
    found = cs.estimate(cs.Sample.from_counts(prob, events=events, trials=trials), estimator, rng=1)
    low, high = found.confidence_interval
    assert low <= float(truth(prob, chance)) <= high
    assert high - low < 1e-3


def test_a_panel_of_counts_is_that_of_the_rows(always):
    together, single = both(2, 60, seed=5, most=40)
    found, expected = (cs.omnibus_test(each, n_resamples=MANY_DRAWS, rng=1) for each in (together, single))
    assert found.names == expected.names
    assert found.values == pytest.approx(expected.values, rel=1e-9)
    assert found.pvalue == pytest.approx(expected.pvalue, abs=0.03)
    assert found.pvalues == pytest.approx(expected.pvalues, abs=0.03)
    assert found.question.n == expected.question.n


def test_a_band_of_counts_is_that_of_the_rows(always):
    found, expected = map(calibration_band, both(2, 60, seed=5, most=40))
    for name in ("prediction", "count", "lower", "upper"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-9)
    assert (found.n, found.pvalue) == (expected.n, pytest.approx(expected.pvalue, rel=1e-9))


def test_tests_of_groups_of_counts_are_those_of_the_rows(always):
    each = both(2, 60, seed=5, most=40)
    asked = cs.Within("sex", cs.Kuiper())
    found, expected = (multiple_test(sample, asked, n_resamples=MANY_DRAWS, rng=1) for sample in each)
    assert found.names == expected.names
    assert found.values == pytest.approx(expected.values, rel=1e-9)
    assert found.pvalues_adjusted == pytest.approx(expected.pvalues_adjusted, abs=0.03)


AUDITED = [  # of few rows, and of those that are pooled in steps; from labels, and from signs
    (cs.Kuiper(), 40, "strong"),
    (cs.Kuiper(), 400, "strong"),
    (cs.Kuiper(), 400, "multiplier"),
    (cs.AndersonDarling(), 400, "strong"),
    (cs.ECE(cs.EqualWidth(5)), 40, "strong"),
    (cs.TopLabel() | cs.ECE(cs.EqualWidth(5)), 40, "multiplier"),
]


@pytest.mark.parametrize(("estimator", "most", "null"), slow_but(AUDITED[::2], AUDITED), ids=repr)
def test_an_audit_of_counts_is_that_of_the_rows(estimator, most, null, always):
    samples = both(3 if estimator.lens.parts else 2, 60, seed=5, most=most)
    asked = dict(estimator=estimator, null=null, n_resamples=2 * MANY_DRAWS, min_size=10, depth=2, rng=1)
    found, expected = (subgroup_audit(each, ["sex", "age"], **asked) for each in samples)
    assert found.n == expected.n == len(samples[1])
    assert found.counts._asdict() == pytest.approx(expected.counts._asdict(), rel=1e-9)
    assert (found.left_out, found.how, str(found.overall)) == (expected.left_out, expected.how, str(expected.overall))
    assert found.pvalue == pytest.approx(expected.pvalue, abs=0.035)
    for one, other in zip(found.groups, expected.groups, strict=True):
        assert (one.name, one.n, one.apart, one.direction) == (other.name, other.n, other.apart, other.direction)
        numbers = ("statistic", "mean_prediction", "mean_outcome")
        assert [getattr(one, each) for each in numbers] == pytest.approx(
            [getattr(other, each) for each in numbers], rel=1e-9
        )
        assert one.null_mean == pytest.approx(other.null_mean, rel=0.05)
        assert one.pvalue == pytest.approx(other.pvalue, abs=0.035)
        assert (one.confidence_interval is None) == (other.confidence_interval is None)
        if other.confidence_interval is not None:
            assert one.confidence_interval == pytest.approx(other.confidence_interval, rel=0.1, abs=0.01)


def test_groups_of_counts_with_too_few_events_are_left_out_as_of_rows(always):
    rng = np.random.default_rng(0)
    prob, site = rng.random(400) * np.repeat([1e-6, 1.0], 200), np.repeat(["rare", "often"], 200)
    counted_rows = cs.Sample.from_counts(
        prob, events=np.repeat([1, 30], 200), trials=np.full(400, 60), variables={"site": site}
    )
    written = cs.Sample.of(counted_rows.predictions, counted_rows.outcomes)
    found, expected = (subgroup_audit(each, "site", rng=1) for each in (counted_rows, written))
    assert found.left_out == expected.left_out
    assert found.left_out[0].excess


def test_groups_of_more_rows_than_can_be_written_out_are_audited():
    edges = np.linspace(0, 1, 2001)
    prob, site = np.repeat((edges[1:] + edges[:-1]) / 2, 2), np.tile(["north", "south"], 2000)
    trials = np.full(4000, 25 * 10**5)
    chance = np.where(site == "south", np.clip(prob + 1e-4, 0, 1), prob)
    events = np.random.default_rng(0).binomial(trials, chance)
    found = subgroup_audit(
        cs.Sample.from_counts(prob, events=events, trials=trials, variables={"site": site}), "site", rng=1
    )
    north, south = found["site north"], found["site south"]
    assert found.n == 10**10
    assert south.pvalue_adjusted <= 0.001
    assert south.direction == "predicts too low on average"
    assert south.confidence_interval[0] <= 1e-4 <= south.confidence_interval[1] < 2e-4
    assert north.pvalue_adjusted > 0.01


SCANNED = [  # sums over cells are drawn of many rows of two outcomes, else labels and signs
    (cs.Canonical(), 2, 40),
    (cs.Canonical(), 2, 400),
    (cs.TopLabel(), 3, 400),
    (cs.Canonical(), 3, 40),
]


@pytest.mark.parametrize(("lens", "n_classes", "most"), SCANNED, ids=repr)
def test_a_scan_of_counts_is_that_of_the_rows(lens, n_classes, most, always):
    samples = both(n_classes, 60, seed=5, most=most)
    asked = dict(lens=lens, binning=cs.EqualMass(4), n_resamples=2 * MANY_DRAWS, rng=1)
    found, expected = (scan_variables(each, **asked) for each in samples)
    assert found.n == expected.n == len(samples[1])
    assert found.counts._asdict() == pytest.approx(expected.counts._asdict(), rel=1e-9)
    assert (found.left_out, found.how, str(found.overall)) == (expected.left_out, expected.how, str(expected.overall))
    assert found.pvalue_overall == pytest.approx(expected.pvalue_overall, rel=1e-9, nan_ok=True)
    for name in ("sex", "age"):
        one, other = found[name], expected[name]
        assert (one.vece, one.varying) == pytest.approx((other.vece, other.varying), rel=1e-9)
        assert [(each.level, each.n) for each in one.cells] == [(each.level, each.n) for each in other.cells]
        assert [each.error for each in one.cells] == pytest.approx([each.error for each in other.cells], rel=1e-9)
        assert one.null_mean == pytest.approx(other.null_mean, rel=0.05)
        for pvalue in ("pvalue_weak", "pvalue_strong", "pvalue_varying"):
            assert getattr(one, pvalue) == pytest.approx(getattr(other, pvalue), abs=0.035)
        assert one.confidence_interval == pytest.approx(other.confidence_interval, rel=0.1, abs=0.01)


def test_variables_of_more_rows_than_can_be_written_out_are_scanned():
    edges = np.linspace(0.05, 0.95, 2001)
    prob, site = np.repeat((edges[1:] + edges[:-1]) / 2, 2), np.tile(["north", "south"], 2000)
    day = np.random.default_rng(1).integers(0, 7, 4000).astype(float)
    chance = prob + np.where(site == "south", 1e-4, -1e-4)
    trials, missed, alarms = np.full(4000, 25 * 10**5), 0, 0
    for seed in range(50):
        events = np.random.default_rng(seed).binomial(trials, chance)
        sample = cs.Sample.from_counts(prob, events=events, trials=trials, variables={"site": site, "day": day})
        found = scan_variables(sample, rng=1)
        assert found.n == 10**10
        assert found["site"].pvalue_varying_adjusted <= 0.001
        low, high = found["site"].varying_interval
        missed += not low <= 1e-4 <= high < 2e-4
        alarms += found["day"].pvalue_varying <= 0.05
    assert max(missed, alarms) <= 50 * 0.05 + 4 * np.sqrt(50 * 0.05 * 0.95)


@pytest.mark.parametrize("most", [40, 4000])
def test_a_clinical_summary_of_counts_is_that_of_the_rows(most, always):
    found, expected = (clinical_summary(each, by="sex", rng=1) for each in both(2, 60, seed=5, most=most))
    assert (found.n_events, found.notes, found.verdict) == (expected.n_events, expected.notes, expected.verdict)
    assert found.belt_pvalue == pytest.approx(expected.belt_pvalue)
    assert found.average_pvalue == pytest.approx(expected.average_pvalue, rel=1e-9)
    for name, one in found.measures.items():
        other = expected[name]
        assert one.value == pytest.approx(other.value, rel=1e-9)
        drawn = 0.1 * (other.high - other.low) if name in ("ici", "e50", "e90", "emax", "reliability") else 1e-9
        assert one.interval == pytest.approx(other.interval, abs=drawn)
    for one, other in zip(found.groups.each, expected.groups.each, strict=True):
        assert (one.name, one.n, one.n_events) == (other.name, other.n, other.n_events)
        for name, measure in one.measures.items():
            assert measure.interval == pytest.approx(other.measures[name].interval, rel=1e-9)


def test_a_clinical_summary_of_more_rows_than_can_be_written_out():
    edges = np.linspace(0.05, 0.8, 401)
    prob, trials = (edges[1:] + edges[:-1]) / 2, np.full(400, 25 * 10**6)
    events = np.random.default_rng(0).binomial(trials, prob + 0.01)
    found = clinical_summary(cs.Sample.from_counts(prob, events=events, trials=trials), n_resamples=99, rng=1)
    assert (found.question.n, found.n_events) == (10**10, events.sum())
    assert found.direction.startswith("Predictions are too low")
    assert found["ici"].low <= 0.01 <= found["ici"].high
    assert found["oe"].low <= (prob + 0.01).sum() / prob.sum() <= found["oe"].high
    assert found["c_index"].high - found["c_index"].low < 1e-4
    assert found.belt is None
    assert any("the calibration belt needs single rows" in note for note in found.notes)


@pytest.mark.parametrize("verb", ["comparison_test", "compare_models"])
def test_models_of_more_rows_than_can_be_written_out_are_not_compared(verb):
    a, b = (cs.Sample.from_counts([0.2, 0.7], events=[10**9, 10**9], trials=[10**10] * 2) for _ in range(2))
    with pytest.raises(ValueError, match=rf"{verb} compares models row by row, .* which rows of two models are the sa"):
        cs.comparison_test(a, b) if verb == "comparison_test" else cs.compare_models({"a": a, "b": b})


def test_a_refusal_names_the_verb_that_was_called():
    sample = cs.Sample.from_counts([0.2, 0.7], events=[10**9, 10**9], trials=[10**10] * 2, variables={"x": [0, 1]})
    with pytest.raises(ValueError, match="but learner_audit needs them one by one"):
        cs.learner_audit(sample, "x")
    with pytest.raises(ValueError, match="but equal_curves_test needs them one by one"):
        cs.equal_curves_test(sample, "x")
    with pytest.raises(ValueError, match="but this needs them one by one"):
        _ = sample.y_prob


@pytest.mark.parametrize("display", [cs.ReliabilityDisplay, cs.CumulativeDisplay])
def test_a_picture_of_counts_is_that_of_the_rows(display, always):
    found, expected = (display.compute(each, rng=1) for each in both(2, 60, seed=5, most=40))
    for name in (each.name for each in fields(expected)):
        drawn = getattr(expected, name)
        if isinstance(drawn, np.ndarray):
            np.testing.assert_allclose(getattr(found, name), drawn, rtol=1e-9, atol=1e-12)
    if display is cs.ReliabilityDisplay:
        assert found.answer.lines == expected.answer.lines
