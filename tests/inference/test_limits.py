"""What limits a result: few clusters, few events, signs that change nothing, errors that cannot be larger than one."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import calibstat as cs
from calibstat import calibrators, generators
from calibstat.inference import estimate as intervals
from calibstat.inference.equivalence import equivalence_test
from calibstat.inference.intervals import NoInterval, UniformInterval
from calibstat.nulls.multiplier import Multiplier
from suites import everything

ECE = cs.ECE(cs.EqualMass(5))


def in_groups(happened, p, codes):
    return cs.Sample(happened, p, groups=pd.Series(codes, name="patient"), labels=[False, True])


def clustered(n_clusters, n=600):
    rng = np.random.default_rng(0)
    p = rng.random(n)
    return in_groups(rng.random(n) < p, p, np.arange(n) % n_clusters)


def as_if_independent(sample):
    return cs.Sample.of(replace(sample.predictions, groups=None), sample.outcomes)


@pytest.mark.parametrize("n_clusters", [4, 5, 11])
def test_intervals_of_few_clusters_are_refused(n_clusters):
    message = f"there are {n_clusters} clusters (patient), but an interval needs at least 12"
    found = cs.estimate(clustered(n_clusters), ECE, rng=0)
    assert found.confidence_interval is None
    assert found.interval_note.startswith(message)
    assert message in everything(found)
    with pytest.raises(NoInterval, match=re.escape(message)):
        intervals.interval_of(ECE, clustered(n_clusters), 99, None, np.random.default_rng(0))
    with pytest.raises(ValueError, match=re.escape(f"equivalence_test: {message}")):
        equivalence_test(clustered(n_clusters), ECE, 0.1, rng=0)


@pytest.mark.parametrize("n_clusters", [1, 2, 3])
def test_nothing_is_said_of_fewer_than_four_clusters(n_clusters):
    message = f"the sample has {n_clusters} of 'patient', but at least 4 clusters are needed"
    for ask in (cs.estimate, cs.calibration_test):
        with pytest.raises(ValueError, match=message):
            ask(clustered(n_clusters), ECE, rng=0)


def excludes_zero(n_clusters, known, runs=400):
    """Share of calibrated samples of 400 rows, off by 0.2 up or down in each cluster, whose interval excludes zero."""
    rng, found = np.random.default_rng(7), 0
    for _ in range(runs):
        p, cluster = rng.uniform(0.25, 0.75, 400), np.arange(400) % n_clusters
        happened = rng.random(400) < p + rng.choice([-0.2, 0.2], n_clusters)[cluster]
        sample = in_groups(happened, p, cluster)
        sample = sample if known else as_if_independent(sample)
        spread = intervals.interval_of(cs.ECE(cs.EqualMass(1)), sample, 199, None, rng)
        found += spread.interval(0.95).low > 0
    return found / runs


@pytest.mark.slow
@pytest.mark.parametrize("n_clusters", [12, 50])
def test_size_of_intervals_from_clusters(n_clusters):
    """400 runs: intervals exclude zero in at most 5 % and 4 standard errors (4.4 %) of them.

    Negative control: with rows as if they were independent they do so in far more.
    """
    assert excludes_zero(n_clusters, known=True) <= 0.05 + 0.044
    assert excludes_zero(n_clusters, known=False, runs=100) > 0.05 + 4 * 0.022


def test_clusters_count_by_their_sizes():
    large = np.repeat(np.arange(31.0), [470, *[10] * 13, *[0] * 17])  # as good as (600 / 470)^2 of equal size
    sample = in_groups(clustered(4).y_true, clustered(4).y_prob, large)
    found = cs.estimate(sample, ECE, rng=0)
    assert found.confidence_interval is None
    said = "there are 14 clusters (patient), as good as 1.62 of equal size, but an interval"
    assert found.interval_note.startswith(said)
    tested = cs.calibration_test(sample, ECE, null=Multiplier(99), rng=0)
    assert "n = 600 in 14 clusters (patient), as good as 1.62 of equal size" in everything(tested)
    assert (tested.to_dict()["n_clusters"], round(tested.to_dict()["effective_clusters"], 2)) == (14, 1.62)


@pytest.mark.parametrize("n_clusters", [12, 50, 200])
def test_the_number_of_clusters_is_told(n_clusters):
    sample = clustered(n_clusters)
    found = cs.estimate(sample, ECE, rng=0)
    bound = equivalence_test(sample, ECE, 0.1, rng=0)
    tested = cs.calibration_test(sample, ECE, null=Multiplier(), rng=0)
    for result in (found, bound, tested):
        assert f"n = 600 in {n_clusters} clusters (patient)" in everything(result)
        assert result.to_dict()["n_clusters"] == round(result.to_dict()["effective_clusters"]) == n_clusters
    assert cs.calibration_test(as_if_independent(sample), ECE, null=Multiplier(), rng=0).notes == ()


def test_signs_have_no_power_with_one_row_in_each_cell():
    rng = np.random.default_rng(0)
    p = rng.random(100)
    sample = cs.Sample(rng.random(100) < p**8, p, labels=[False, True])
    found = cs.calibration_test(sample, cs.ECE(cs.UniqueValues()), null=Multiplier(), rng=0)
    assert found.pvalue == 1
    assert "this test has no power whatever the model" in everything(found)
    assert found.to_dict()["notes"] == list(found.notes)
    coarse = cs.calibration_test(sample, cs.ECE(cs.EqualMass(5)), null=Multiplier(), rng=0)
    assert (coarse.notes, coarse.pvalue) == ((), 0.001)


def test_no_bound_of_an_expected_calibration_error_exceeds_one():
    wrong = cs.Sample(np.zeros(30), np.linspace(0.5, 0.99, 30), labels=[0, 1])
    found = cs.estimate(wrong, cs.ECE(cs.EqualMass(15)), rng=0)
    assert found.confidence_interval.high == 1
    assert equivalence_test(wrong, cs.ECE(cs.EqualMass(15)), 0.9, rng=0).upper_bound == 1
    free, clipped = (UniformInterval(0.8, [np.full(99, 0.6)], "", limit) for limit in (np.inf, 1.0))
    assert (free.upper(0.95), clipped.upper(0.95)) == (pytest.approx(1.4), 1.0)
    assert free.interval(0.95).low == clipped.interval(0.95).low


def test_few_events_are_noted_by_estimate():
    y = np.zeros(200, dtype=int)
    y[:4] = 1
    sample = cs.Sample(y, np.full(200, 0.02), labels=[0, 1])
    found = cs.estimate(sample, cs.ECE(cs.EqualMass(1)), rng=0)
    assert "the interval has the noise that they may hide" in everything(found)
    assert "the rarest outcome was seen in 4 rows, fewer than 20" in everything(
        cs.estimate(sample, cs.BrierScore(), rng=0)
    )
    assert cs.estimate(sample, cs.CORP(), n_resamples=9, rng=0).notes == ()  # there is no interval
    assert "clusters" not in str(cs.estimate(as_if_independent(clustered(50)), ECE, rng=0).notes)


def test_pvalues_of_margins_say_what_draws_can_show():
    rng = np.random.default_rng(0)
    p = rng.random(4000)
    sample = cs.Sample(rng.random(4000) < p, p, labels=[False, True])
    found = equivalence_test(sample, cs.DebiasedL2(cs.EqualMass(10)), 0.5, rng=0)
    assert "p = 0.002)" in found.verdict  # one of 1000, and what is spent on where the chances may lie
    assert found.pvalue == pytest.approx(0.002)


def test_the_null_mean_knows_of_clusters():
    rng = np.random.default_rng(0)
    codes, p = np.repeat(np.arange(60), 10), np.repeat(rng.random(60), 10)
    copies = in_groups(rng.random(60)[codes] < p, p, codes)
    rows, whole = (cs.estimate(each, ECE, rng=0) for each in (as_if_independent(copies), copies))
    assert whole.null_mean > 2 * rows.null_mean  # as dependent as they are, ten rows are one
    assert whole.confidence_interval.low == 0 < rows.confidence_interval.low


MANY = 10**12
P = np.random.default_rng(0).random(60)
ROWS = cs.Sample(np.arange(60) % 2, P, variables={"g": np.arange(60) % 3})
PLATT = {"platt": calibrators.Platt()}


@pytest.mark.parametrize(
    "ask",
    [
        lambda: cs.calibration_test(ROWS, n_resamples=MANY),
        lambda: cs.calibration_test(ROWS, cs.Kuiper(), n_resamples=MANY),
        lambda: cs.estimate(ROWS, cs.ECE(), n_resamples=MANY),
        lambda: cs.omnibus_test(ROWS, n_resamples=MANY),
        lambda: cs.multiple_test(ROWS, cs.Within("g", cs.Kuiper()), n_resamples=MANY),
        lambda: cs.equivalence_test(ROWS, cs.ECE(), 0.1, n_resamples=MANY),
        lambda: cs.comparison_test(ROWS, cs.Sample(ROWS.outcomes, P**2), cs.DebiasedL2(), n_resamples=MANY),
        lambda: cs.compare_models({"a": ROWS, "b": ROWS}, cs.BrierScore(), n_resamples=MANY),
        lambda: cs.compare_calibrators(PLATT, ROWS, n_resamples=MANY),
        lambda: cs.compare_calibrators(PLATT, ROWS, n_splits=MANY),
        lambda: cs.subgroup_audit(ROWS, by=["g"], n_resamples=MANY),
        lambda: cs.scan_variables(ROWS, n_resamples=MANY),
        lambda: cs.learner_audit(ROWS, n_resamples=MANY),
        lambda: cs.equal_curves_test(ROWS, "g", n_resamples=MANY),
        lambda: cs.required_n(generators.GaussianMixture(1, 1), cs.ECE(), n_resamples=MANY),
        lambda: cs.required_n(generators.GaussianMixture(1, 1), cs.ECE(), n_repeats=MANY),
        lambda: cs.Bootstrap(MANY),
        lambda: cs.Sequential(MANY),
        lambda: cs.Multiplier(MANY),
    ],
)
def test_more_draws_than_can_be_waited_for_are_refused(ask):
    with pytest.raises(ValueError, match=r"is 1000000000000; it must be an integer of at least 1 and at most 100 mill"):
        ask()
