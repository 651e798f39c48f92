"""Error rates of audits, scans and comparisons of curves, and coverage of simultaneous intervals.

Some hundreds of runs each; bounds are those of the level plus four standard errors, and each has a negative control
that must fail it. More runs by hand: ``python tests/validity/test_auditing.py 2000``.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import chi2, norm
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

import calibstat as cs
from calibstat.auditing.audit import subgroup_audit
from calibstat.auditing.curves import equal_curves_test, log_odds
from calibstat.auditing.groups import _chance_of_more, form_groups, look
from calibstat.auditing.joint import InGroup
from calibstat.auditing.learner import learner_audit
from calibstat.auditing.scan import scan_variables
from calibstat.cli.questions import NamedLens, Question, increment_test, recalibrated
from calibstat.estimators.large_sample import kuiper_sf
from calibstat.inference.multiplicity import moments

SEED = 20261121
LEVELS = (2, 2, 2, 3, 3)  # with crossings of two and all rows: 70 groups
NAMES = [f"v{j}" for j in range(len(LEVELS))]


def share_error(share, runs):
    return 4 * np.sqrt(share * (1 - share) / runs)


def many_groups(n, rng, off=0.0):
    """Calibrated, but for the rows with v3 = 0 and v4 = 0, too high by `off`."""
    variables = {name: rng.integers(0, size, n) for name, size in zip(NAMES, LEVELS, strict=True)}
    p = rng.random(n)
    chance = np.where((variables["v3"] == 0) & (variables["v4"] == 0), p * (1 - off), p)
    return cs.Sample(rng.random(n) < chance, p, variables=variables, labels=[False, True]), chance


# One group in many: the family-wise error


@cache
def false_alarms(runs=100, n=2000, n_resamples=39):
    """Shares of calibrated worlds in which a group is rejected: adjusted, unadjusted; and all intervals hold zero."""
    rng, found = np.random.default_rng(SEED), []
    for _ in range(runs):
        audit = subgroup_audit(many_groups(n, rng)[0], NAMES, depth=2, n_resamples=n_resamples, rng=rng)
        assert len(audit) == 70
        smallest = [min(getattr(g, each) for g in audit) for each in ("pvalue_adjusted", "pvalue")]
        found.append([smallest[0] <= 0.05, smallest[1] <= 0.05, all(g.confidence_interval[0] == 0 for g in audit)])
    return np.mean(found, axis=0)


@pytest.mark.slow
def test_family_wise_error_over_70_overlapping_groups():
    assert false_alarms()[0] <= 0.05 + share_error(0.05, 100)
    assert false_alarms()[2] >= 0.95 - share_error(0.95, 100)


@pytest.mark.slow
def test_negative_control_unadjusted_pvalues_raise_false_alarms():
    assert false_alarms()[1] > 0.3


@cache
def false_alarms_in_steps(events, weighted, runs=200, n=6000, n_resamples=39):
    """The same for so many rows that they are pooled in steps, of 13 groups that overlap, with few events or many."""
    rng, found = np.random.default_rng(SEED), []
    for _ in range(runs):
        p = rng.beta(*events, n)
        variables = {name: rng.integers(0, size, n) for name, size in zip("abc", (2, 4, 6), strict=True)}
        weights = rng.uniform(0.5, 2.0, n) if weighted else None
        sample = cs.Sample(rng.random(n) < p, p, variables=variables, sample_weight=weights, labels=[False, True])
        audit = subgroup_audit(sample, list("abc"), n_resamples=n_resamples, rng=rng)
        assert len(audit) == 13
        assert "pooled in" in audit.how[0]
        smallest = [min(getattr(g, each) for g in audit) for each in ("pvalue_adjusted", "pvalue")]
        found.append([smallest[0] <= 0.05, smallest[1] <= 0.05, all(g.confidence_interval[0] == 0 for g in audit)])
    return np.mean(found, axis=0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("events", "weighted"),
    [((1, 1), False), ((0.5, 4.5), False), ((0.5, 4.5), True)],
    ids=["even chances", "few events", "few events and weights"],
)
def test_family_wise_error_of_groups_in_steps(events, weighted):
    adjusted, _, zero = false_alarms_in_steps(events, weighted)
    assert abs(adjusted - 0.05) <= share_error(0.05, 200)
    assert zero >= 0.95 - share_error(0.05, 200)


@pytest.mark.slow
def test_negative_control_unadjusted_pvalues_of_groups_in_steps_raise_false_alarms():
    assert false_alarms_in_steps((1, 1), False)[1] > 0.05 + share_error(0.05, 200)


@cache
def power(runs=400, n=2000, n_resamples=1999, off=0.2):
    """How often the group that is off is found: by max-T, and by Bonferroni on large-sample p-values."""
    rng = np.random.default_rng(SEED + 1)
    sample, chance = many_groups(n, rng, off)
    levels, seen = look(sample, NAMES, cs.Canonical(), cs.EqualMass(4), "raise")
    groups, _ = form_groups(levels, n, 2, 50)
    family = cs.Family({group.name: InGroup(cs.Kuiper(), group.rows) for group in groups})
    drawn = cs.Consistency(n_resamples).draw(family, seen, rng).samples
    centre, deviation = moments(drawn)
    threshold = np.sort(((drawn - centre) / deviation).max(axis=1))[int(np.ceil(0.95 * (n_resamples + 1))) - 1]
    g = [group.name for group in groups].index("v3 0 & v4 0")
    rows = groups[g].rows
    labels = (rng.random((runs, n)) < chance).astype(int)
    values = cs.Kuiper().prepare(seen.predictions.take(rows))(np.ascontiguousarray(labels[:, rows]))
    scale = cs.Kuiper().prepare(seen.predictions.take(rows)).capabilities.scale
    bonferroni = np.array([kuiper_sf(value / scale) * len(groups) <= 0.05 for value in values])
    return np.mean((values - centre[g]) / deviation[g] >= threshold), np.mean(bonferroni)


def test_power_is_above_that_of_bonferroni():
    together, apart = power()
    assert 0.2 < apart < together < 1


# Simultaneous intervals


@cache
def coverage(runs=150, n=1200, off=0.3):
    """How often the intervals of all groups hold the errors that the known chances have in them; and half of each."""
    rng, covered = np.random.default_rng(SEED + 2), []
    for _ in range(runs):
        sample, chance = many_groups(n, rng, off)
        audit = subgroup_audit(sample, ["v2", "v3", "v4"], n_resamples=99, rng=rng)
        chances = np.column_stack([1 - chance, chance])
        shares = []
        for group in audit:
            rows = np.ones(n, dtype=bool)
            for name, level in group.levels:
                rows &= sample.predictions.variables[name].values == float(level)
            truth = float(cs.Kuiper().prepare(sample.predictions.take(rows))(chances[rows]))
            shares.append(abs(group.statistic - truth) / (group.confidence_interval[1] - group.statistic))
        covered.append([max(shares) <= 1, max(shares) <= 0.5])
    return np.mean(covered, axis=0)


@pytest.mark.slow
def test_simultaneous_intervals_cover():
    assert coverage()[0] >= 0.95 - share_error(0.95, 150)


@pytest.mark.slow
def test_negative_control_intervals_of_half_the_width_do_not_cover():
    assert coverage()[1] < 0.95 - share_error(0.95, 150)


def with_a_rare_group(rng, n=2000, rare=60):
    """Two calibrated groups, and one of few rows for which .001 is said where the chance is .03."""
    p, group = rng.random(n), np.where(np.arange(n) % 2, "b", "c")
    chance = p.copy()
    p[:rare], chance[:rare], group[:rare] = 0.001, 0.03, "a"
    return cs.Sample(rng.random(n) < chance, p, variables={"g": group}, labels=[False, True]), chance


@cache
def rare_coverage(runs=200):
    """Share of runs in which all intervals hold the errors; and in which those of the noise that rows show would."""
    rng, held = np.random.default_rng(SEED + 6), []
    for _ in range(runs):
        sample, chance = with_a_rare_group(rng)
        audit = subgroup_audit(sample, "g", min_expected=0, n_resamples=99, rng=rng)
        chances, codes = np.column_stack([1 - chance, chance]), sample.predictions.variables["g"]
        rows = [np.ones(len(sample), dtype=bool), *(codes.values == code for code in range(3))]
        truths = [float(cs.Kuiper().prepare(sample.predictions.take(each))(chances[each])) for each in rows]
        small = rows[1 + codes.levels.index("a")]
        seen = sample.outcomes[small]
        reach = abs(seen.mean() - 0.03) <= 1.96 * seen.std() / np.sqrt(len(seen))  # Wald's interval of the rare group
        ends = [group.confidence_interval for group in audit]
        held.append([all(low <= truth <= high for (low, high), truth in zip(ends, truths, strict=True)), reach])
    return np.mean(held, axis=0)


@pytest.mark.slow
def test_intervals_hold_together_where_a_group_has_few_events():
    assert rare_coverage()[0] >= 0.95 - share_error(0.95, 200)


@pytest.mark.slow
def test_negative_control_the_noise_that_is_seen_does_not_hold_the_error():
    assert rare_coverage()[1] < 0.95 - share_error(0.95, 200)


# Groups that expect too few events are left out


def with_rare_groups(rng, n=2400, groups=20, off=0.0):
    """Two groups, of which the chances of one are lower by `off`, and many of 60 rows of p = .0002, all calibrated."""
    group = np.where(np.arange(n) % 2, "b", "c").astype("<U3")
    p, rare = rng.random(n), 60 * groups
    p[:rare], group[:rare] = 0.0002, [f"r{k:02d}" for k in range(groups) for _ in range(60)]
    chance = np.where(group == "b", p * (1 - off), p)
    return cs.Sample(rng.random(n) < chance, p, variables={"g": group}, labels=[False, True]), chance


@cache
def rare_groups(runs=400, off=0.0, **options):
    """Shares of runs in which all groups together are rejected, in which b is, and in which all intervals hold."""
    rng, found = np.random.default_rng(SEED + 7), []
    for _ in range(runs):
        sample, chance = with_rare_groups(rng, off=off)
        audit = subgroup_audit(sample, "g", n_resamples=99, rng=rng, **options)
        names, chances = np.array(sample.predictions.variables["g"].levels), np.column_stack([1 - chance, chance])
        own, held = names[sample.predictions.variables["g"].values.astype(int)], []
        for group in audit:
            rows = own == group.levels[0][1] if group.levels else np.ones(len(sample), dtype=bool)
            truth = float(cs.Kuiper().prepare(sample.predictions.take(np.flatnonzero(rows)))(chances[rows]))
            held.append(group.confidence_interval[0] <= truth <= group.confidence_interval[1])
        found.append([audit.pvalue <= 0.05, audit["g b"].pvalue_adjusted <= 0.05, all(held)])
    return np.mean(found, axis=0)


@pytest.mark.slow
def test_size_of_the_joint_test_and_coverage_beside_groups_that_expect_too_few_events():
    assert abs(rare_groups()[0] - 0.05) <= share_error(0.05, 400)
    assert rare_groups()[2] >= 0.95 - share_error(0.95, 400)
    assert rare_groups(off=0.2)[2] >= 0.95 - share_error(0.95, 400)


@pytest.mark.slow
def test_negative_control_groups_that_expect_too_few_events_hide_what_is_found_in_others():
    left_out, kept = (rare_groups(off=0.2, **options)[1] for options in ({}, {"min_expected": 0}))
    assert left_out > kept + 2 * share_error(0.5, 400)


# Scans: what varies along a variable, beside an overall bias


def biased(rng, n, bias, slope=0.0, rare=False):
    """A model whose chances are all too low by `bias`; along `a` the error varies by `slope`, along `b` it does not."""
    p = 0.02 + 0.1 * rng.random(n) if rare else 0.2 + 0.5 * rng.random(n)
    a, b = rng.random(n), np.minimum((6 * rng.random(n) * p / p.max()).astype(int), 4)  # b goes with the prediction
    chance = p + bias + slope * (a - 0.5)
    return cs.Sample(rng.random(n) < chance, p, variables={"a": a, "b": b}, labels=[False, True]), chance


@cache
def varying(n, bias, slope=0.0, rare=False, runs=400):
    """Shares of runs in which the error is said to vary, VECE is rejected, and all intervals hold."""
    rng, found = np.random.default_rng([SEED, n, int(100 * bias)]), []
    for _ in range(runs):
        sample, chance = biased(rng, n, bias, slope, rare)
        scan = scan_variables(sample, n_resamples=99, rng=rng)
        held, errors = [], chance - sample.predictions.event
        for each in scan:
            values = sample.predictions.variables[each.variable].values
            cells = np.searchsorted(np.cumsum([cell.n for cell in each.cells])[:-1], np.arange(n), side="right")
            means = np.bincount(cells, (errors - errors.mean())[np.argsort(values, kind="stable")])
            held.append(each.varying_interval[0] <= np.abs(means).sum() / n <= each.varying_interval[1])
        found.append([bool(scan.varying), bool(scan.rejected), all(held)])
    return np.mean(found, axis=0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "bias", "rare"), [(800, 0.1, False), (6000, 0.1, False), (4000, 0.03, True), (800, 0.0, False)]
)
def test_an_overall_bias_does_not_vary_along_variables(n, bias, rare):
    along, vece, held = varying(n, bias, rare=rare)
    assert along <= 0.05 + share_error(0.05, 400)
    assert vece > 0.9 or not bias  # the negative control: all of VECE is the bias
    assert held >= 0.95 - share_error(0.95, 400)


@pytest.mark.slow
@pytest.mark.parametrize("n", [800, 6000])
def test_what_varies_along_a_variable_is_found_and_covered(n):
    along, _, held = varying(n, 0.1, 0.25)
    assert along > 0.5
    assert held >= 0.95 - share_error(0.95, 400)


# Equal curves: the model is off, and the groups differ in their predictions


def curves_world(n, rng, levels=2, shift=0.0, apart=0.8):
    """Overconfident above one half, in all groups alike; `shift` on the logit in the first group besides."""
    g = rng.integers(0, levels, n)
    z = rng.normal(0, 1.2, n) + apart * (g == 1) - 0.5 * (g == 2)
    chance = 1 / (1 + np.exp(-(np.where(z > 0, 0.3 * z, z) + shift * (g == 0))))
    return cs.Sample(rng.random(n) < chance, 1 / (1 + np.exp(-z)), variables={"g": np.array(list("abcd"))[g]})


@cache
def curves_rejected(n, levels, shift=0.0, runs=200):
    rng = np.random.default_rng([SEED, n, levels, int(10 * shift)])
    found = [equal_curves_test(curves_world(n, rng, levels, shift), "g", n_resamples=99, rng=rng) for _ in range(runs)]
    pvalues = [(each.pvalue, each.covariance_pvalue, each.regression_pvalue) for each in found]
    return (np.array(pvalues) <= 0.05).mean(axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("levels", [2, 4])
def test_size_of_the_comparison_of_curves(levels):
    assert (curves_rejected(500, levels) <= 0.05 + share_error(0.05, 200)).all()


@pytest.mark.slow
@pytest.mark.parametrize("levels", [2, 4])
def test_size_of_the_comparison_of_curves_in_steps(levels):
    assert (curves_rejected(6000, levels) <= 0.05 + share_error(0.05, 200)).all()


@pytest.mark.slow
def test_negative_control_curves_in_steps_that_differ_are_found():
    assert (curves_rejected(6000, 2, 0.3, 100) > 0.5).all()


@pytest.mark.slow
def test_curves_that_differ_are_found():
    assert (curves_rejected(1000, 2, 0.5, 100) > 0.5).all()


@cache
def rare_rejected(n, share, min_expected, runs=300):
    """Rare events, and a group of few: the share of rejections where the test is done, and in how many worlds."""
    rng, found = np.random.default_rng([SEED, n, int(100 * share), int(min_expected)]), []
    for _ in range(runs):
        p, member = rng.beta(1, 19, n), rng.random(n) < share
        sample = cs.Sample(
            rng.random(n) < p, p, variables={"g": np.array(list("ab"))[member.astype(int)]}, labels=[0, 1]
        )
        try:
            test = equal_curves_test(sample, "g", min_size=10, min_expected=min_expected, n_resamples=99, rng=rng)
        except ValueError as error:
            if "fewer than two groups" not in str(error):
                raise
            continue
        found.append(test.pvalue <= 0.05)
    return np.mean(found) if found else np.nan, len(found)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "share"), [(2000, 0.1), (1000, 0.2)])
def test_size_of_the_comparison_of_curves_of_rare_events(n, share):
    size, answered = rare_rejected(n, share, 10)
    assert answered >= 100
    assert size <= 0.065 + share_error(0.065, answered)


@pytest.mark.parametrize(("n", "share"), [(1000, 0.1), (600, 0.1), (120, 0.5)])
def test_groups_of_too_few_events_are_not_compared(n, share):
    assert rare_rejected(n, share, 10, 50)[1] <= 2


def many_small(n_groups, size, rng, beta=(1, 1), weights=0.0):
    """Calibrated rows in groups of equal size; weights are lognormal."""
    n = n_groups * size
    p, g = rng.beta(*beta, n), np.repeat(np.arange(n_groups), size)
    return cs.Sample(
        rng.random(n) < p,
        p,
        sample_weight=rng.lognormal(0, weights, n),
        variables={"g": g.astype(str)},
        labels=[False, True],
    )


SMALL = {
    "uniform": lambda rng: many_small(20, 60, rng),
    "both ends": lambda rng: many_small(20, 60, rng, (0.5, 0.5)),
    "rare": lambda rng: many_small(20, 60, rng, (1, 4)),
    "weights": lambda rng: many_small(10, 120, rng, weights=1.0),
}


@cache
def small_rejected(name, runs=400):
    """Shares rejected: by both, by the covariance, and by the regression."""
    rng, found = np.random.default_rng([SEED, len(name)]), []
    for _ in range(runs):
        try:
            test = equal_curves_test(SMALL[name](rng), "g", n_resamples=99, rng=rng)
        except ValueError as error:
            if "fewer than two groups" not in str(error):
                raise
            continue
        found.append((test.pvalue, test.covariance_pvalue, test.regression_pvalue))
    return (np.array(found) <= 0.05).mean(axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_size_of_the_comparison_of_curves_of_many_small_groups(name):
    assert (small_rejected(name) <= 0.05 + share_error(0.05, 400)).all()


def as_if_independent(sample):
    """The negative control: the same rows, and nobody says which belong together."""
    return cs.Sample.of(replace(sample.predictions, groups=None), sample.outcomes)


def curves_in_clusters(rng, clusters=60, size=8):
    """Rows of a cluster share a shift and a group."""
    cluster = np.repeat(np.arange(clusters), size)
    p, g = rng.random(clusters * size), rng.integers(0, 3, clusters)[cluster]
    chance = expit(logit(p) + rng.normal(0, 1, clusters)[cluster])
    happened = rng.random(len(p)) < chance
    return cs.Sample(happened, p, variables={"g": g.astype(str)}, groups=cluster, labels=[False, True])


@cache
def curves_in_clusters_rejected(known, runs=400):
    """The share of worlds of clusters in which the comparison rejects."""
    rng, found = np.random.default_rng(SEED + 5), []
    for _ in range(runs):
        sample = curves_in_clusters(rng)
        sample = sample if known else as_if_independent(sample)
        found.append(equal_curves_test(sample, "g", n_resamples=99, rng=rng).pvalue <= 0.05)
    return np.mean(found)


@pytest.mark.slow
def test_size_of_the_comparison_of_curves_of_clusters():
    assert curves_in_clusters_rejected(True) <= 0.05 + share_error(0.05, 400)


@pytest.mark.slow
def test_negative_control_labels_of_clusters_cannot_be_redrawn():
    assert curves_in_clusters_rejected(False) > 0.05 + share_error(0.05, 400)


def odds_held(by_cluster, runs=400):
    """How often 1.96 standard errors of the first log odds ratio hold the truth, zero, where rows share a shift."""
    rng, held = np.random.default_rng(SEED + 6), []
    for _ in range(runs):
        sample = curves_in_clusters(rng, clusters=150)
        g = np.asarray(sample.predictions.variables["g"].values)
        codes = sample.groups.codes if by_cluster else np.arange(len(sample))
        estimate, error = log_odds(sample, np.unique(g, return_inverse=True)[1], codes)
        held.append(abs(estimate[0]) <= 1.96 * error[0])
    return np.mean(held)


@pytest.mark.slow
def test_standard_errors_of_odds_ratios_know_clusters():
    assert odds_held(True) >= 0.95 - share_error(0.95, 400)


@pytest.mark.slow
def test_negative_control_standard_errors_of_rows_do_not_know_clusters():
    assert odds_held(False) < 0.95 - share_error(0.95, 400)


def test_negative_control_permuting_groups_and_comparing_their_errors_has_not_the_size():
    rng, rejected = np.random.default_rng(SEED + 3), []
    for _ in range(100):
        sample = curves_world(500, rng, apart=1.6)
        member = sample.predictions.variables["g"].values
        values = [error_difference(sample, each) for each in (member, *(rng.permutation(member) for _ in range(99)))]
        rejected.append(np.sum(np.array(values) >= values[0]) / 100 <= 0.05)
    assert np.mean(rejected) > 0.065 + share_error(0.065, 100)


def error_difference(sample, member):
    residual = sample.outcomes - sample.predictions.event
    cells = (10 * sample.predictions.event).astype(int)
    errors = [
        np.abs(np.bincount(cells[member == g], residual[member == g])).sum() / np.sum(member == g) for g in (0, 1)
    ]
    return abs(errors[0] - errors[1])


# Scans


def weak_world(n, rng):
    """No error on average at any value of any variable; the prediction is noise about the chance."""
    variables = {f"x{j}": rng.random(n) for j in range(6)}
    chance = 0.2 + 0.6 * variables["x0"]
    p = np.clip(chance + rng.choice([-0.35, 0.35], n), 0.0, 1.0)
    centre = (np.clip(chance - 0.35, 0, 1) + np.clip(chance + 0.35, 0, 1)) / 2
    return cs.Sample(rng.random(n) < centre, p, variables=variables, labels=[False, True])


def strong_world(n, rng):
    """Calibrated given the prediction and all variables, events of 5 %."""
    p = rng.beta(1, 19, n)
    return cs.Sample(rng.random(n) < p, p, variables={f"x{j}": rng.random(n) for j in range(6)}, labels=[False, True])


@cache
def scan_rejected(make, null, n=500, runs=200):
    """Shares of worlds in which some variable is rejected, adjusted and not; and the first one by the strong null."""
    rng, found = np.random.default_rng([SEED, n, len(null)]), []
    for _ in range(runs):
        scan = scan_variables(make(n, rng), null=null, n_resamples=99, rng=rng)
        least = [min(getattr(v, each) for v in scan) for each in ("pvalue_adjusted", "pvalue_strong")]
        found.append([*least, scan["x0"].pvalue_strong])
    return (np.array(found) <= 0.05).mean(axis=0)


@pytest.mark.slow
@pytest.mark.parametrize(("make", "null"), [(weak_world, "weak"), (strong_world, "strong")])
def test_family_wise_error_of_a_scan(make, null):
    assert scan_rejected(make, null)[0] <= 0.065 + share_error(0.065, 200)


@pytest.mark.slow
@pytest.mark.parametrize(("make", "null"), [(weak_world, "weak"), (strong_world, "strong")])
def test_family_wise_error_of_a_scan_by_sums_over_cells(make, null):
    assert scan_rejected(make, null, 6000)[0] <= 0.065 + share_error(0.065, 200)


@pytest.mark.slow
def test_negative_control_the_strong_null_by_sums_is_not_the_weak_one():
    assert scan_rejected(weak_world, "weak", 6000)[2] > 0.065 + share_error(0.065, 200)


@pytest.mark.slow
def test_negative_control_the_strong_null_is_not_the_weak_one():
    assert scan_rejected(weak_world, "weak")[2] > 0.065 + share_error(0.065, 200)


@pytest.mark.slow
def test_negative_control_unadjusted_pvalues_of_six_variables():
    assert scan_rejected(strong_world, "strong")[1] > 0.065 + share_error(0.065, 200)


# Audits by a learner: rare events, weights, and learners that fit noise


def rare_world(n, rng):
    """Calibrated, events of 5 %, weights from one half to two, three variables."""
    p = rng.beta(1, 19, n)
    variables = {"x": rng.random(n), "z": rng.normal(size=n), "g": rng.choice(["a", "b", "c"], n)}
    weights = rng.uniform(0.5, 2, n)
    return cs.Sample(rng.random(n) < p, p, variables=variables, sample_weight=weights, labels=[False, True])


LEARNERS = {"default": None, "line": LinearRegression(), "deep tree": DecisionTreeRegressor(min_samples_leaf=2)}


@cache
def learner_size(name, runs=300, n=500):
    """Shares of calibrated worlds in which the audit rejects, and in which every interval holds zero."""
    rng, found = np.random.default_rng([SEED, n, len(name)]), []
    for _ in range(runs):
        audit = learner_audit(rare_world(n, rng), learner=LEARNERS[name], n_resamples=99, rng=rng)
        found.append([audit.pvalue <= 0.05, not any(leaf.direction for leaf in audit.leaves)])
    return np.mean(found, axis=0)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "runs"), [("default", 60), ("line", 400), ("deep tree", 400)])
def test_size_of_an_audit_by_a_learner(name, runs):
    size, covered = learner_size(name, runs)
    assert size <= 0.05 + share_error(0.05, runs)
    assert covered >= 0.95 - share_error(0.95, runs)


@cache
def rejected_on_its_own_rows(runs=100, n=500):
    """The share of calibrated worlds that a normal test of the learner rejects on its own rows."""
    rng, rejected = np.random.default_rng(SEED + 4), []
    for _ in range(runs):
        sample = rare_world(n, rng)
        p, w = sample.predictions.event, sample.predictions.weights
        X = np.column_stack([p, *(sample.predictions.variables[name].values for name in "xzg")])
        residual = sample.outcomes - p
        slopes = w * LEARNERS["deep tree"].fit(X, residual, sample_weight=w).predict(X)
        rejected.append(norm.sf(slopes @ residual / np.sqrt(slopes**2 @ (p * (1 - p)))) <= 0.05)
    return np.mean(rejected)


def test_negative_control_a_learner_that_is_tested_on_its_own_rows_finds_its_noise():
    assert rejected_on_its_own_rows(20) > 0.9


@cache
def halves_that_learn_from_each_other(runs=400):
    """How often Fisher's combination rejects two halves, each tested for a mean residual of the sign of the other's.

    Given the means of both, in standard deviations, the two p-values depend on each other.
    """
    z = np.random.default_rng(SEED + 5).normal(size=(runs, 2))
    pvalues = norm.sf(np.sign(z[:, ::-1]) * z)
    return np.mean(chi2.sf(-2 * np.log(pvalues).sum(axis=1), 4) <= 0.05)


def test_negative_control_halves_that_learn_from_each_other_have_dependent_pvalues():
    assert halves_that_learn_from_each_other(4000) > 0.05 + share_error(0.05, 4000)


def clustered_world(rng, n_clusters=150):
    """Calibrated row by row; rows of a cluster (sizes of Pareto's law) share a variable and half of their noise."""
    cluster = np.repeat(np.arange(n_clusters), np.ceil(3 * rng.pareto(2, n_clusters) + 1).astype(int))
    n, p = len(cluster), rng.uniform(0.1, 0.9, len(cluster))
    noise = np.sqrt(0.5) * (rng.normal(size=n_clusters)[cluster] + rng.normal(size=n))
    variables = {"x": rng.normal(size=n_clusters)[cluster], "z": rng.normal(size=n)}
    return cs.Sample(norm.cdf(noise) < p, p, variables=variables, groups=cluster, labels=[False, True])


@cache
def clusters_rejected(runs=250):
    """How often an audit of clusters rejects: with one sign for each, and with labels redrawn row by row."""
    rng, found = np.random.default_rng(SEED + 7), []
    for _ in range(runs):
        sample, options = clustered_world(rng), {"learner": LinearRegression(), "min_size": 10, "rng": rng}
        signs = learner_audit(sample, null=cs.Multiplier(99), **options)
        rows = learner_audit(as_if_independent(sample), ["x", "z"], n_resamples=99, **options)
        found.append([signs.pvalue <= 0.05, rows.pvalue <= 0.05])
    return np.mean(found, axis=0)


@pytest.mark.slow
def test_size_of_an_audit_by_a_learner_of_rows_in_clusters():
    assert clusters_rejected()[0] <= 0.05 + share_error(0.05, 250)


@pytest.mark.slow
def test_negative_control_rows_in_clusters_are_not_independent():
    assert clusters_rejected()[1] > 0.05 + share_error(0.05, 250)


def interaction(n, rng, shift):
    """The logit is off by `shift`, up or down by the product of three of six binary variables: no two show it."""
    x, logit = rng.integers(0, 2, (n, 6)), rng.normal(0, 1.2, n)
    sign = 1 - 2 * (x[:, :3].sum(axis=1) % 2)
    p, chance = 1 / (1 + np.exp(-logit)), 1 / (1 + np.exp(-logit - shift * sign))
    return cs.Sample(rng.random(n) < chance, p, variables={f"x{j}": x[:, j] for j in range(6)}, labels=[False, True])


@cache
def interaction_found(runs=20, n=20000, shift=0.25):
    """How often an interaction of three variables is found: by a learner, and by all crossings of two."""
    rng, found = np.random.default_rng(SEED + 6), []
    for _ in range(runs):
        sample = interaction(n, rng, shift)
        crossed = subgroup_audit(sample, [f"x{j}" for j in range(6)], depth=2, n_resamples=39, rng=rng)
        found.append([learner_audit(sample, rng=rng).pvalue <= 0.05, crossed.pvalue <= 0.05])
    return np.mean(found, axis=0)


@pytest.mark.slow
def test_a_learner_finds_an_interaction_that_no_crossing_of_two_shows():
    learned, crossed = interaction_found(20)
    assert learned - crossed > 0.2


if __name__ == "__main__":
    many = int(sys.argv[1])
    print("false alarms of 70 groups: adjusted, unadjusted, intervals cover zero", false_alarms(many, n_resamples=99))
    print("power of max-T, of Bonferroni", power(10 * many))
    print("coverage of simultaneous intervals, and of half their width", coverage(many))
    for number in (500, 2000):
        for k in (2, 4):
            found = curves_rejected(number, k, 0, many)
            print(f"equal curves, n = {number}, {k} groups: both, covariance, regression", found)
    for number, part in ((1000, 0.1), (600, 0.1), (120, 0.5), (2000, 0.1), (1000, 0.2), (3000, 0.1)):
        for least in (0, 10):
            size, answered = rare_rejected(number, part, least, many)
            print(f"equal curves, rare events, n = {number}, group {part}, min_expected {least}:", size, answered)
    for world, null in ((weak_world, "weak"), (strong_world, "weak"), (strong_world, "strong")):
        found = scan_rejected(world, null, 500, many)
        print(world.__name__, null, "adjusted, unadjusted strong, first variable strong", found)
    for name in LEARNERS:
        print("audit by a learner, size and no interval without zero:", name, learner_size(name, many))
    print("tested on its own rows", rejected_on_its_own_rows(many))
    print("interaction of three: by a learner, by crossings of two", interaction_found(many))
    print("clusters: one sign for each, rows redrawn", clusters_rejected(many))
    print("halves that learn from each other", halves_that_learn_from_each_other(100 * many))


# What a column shows beyond the prediction's own error (`calibstat test --given`).

OFF = {
    "shifted": lambda p: expit(logit(p) - 0.5),
    "bold": lambda p: expit(0.6 * logit(p)),
    "stepped": lambda p: np.where(p < 0.5, 0.7 * p, p),
}


def increments(chance, column, effect, runs, null=None, n=600):
    """The share of runs that reject at 5 %, for a model that is off and a column of noise or of an effect."""
    rejected = 0
    for run in range(runs):
        rng = np.random.default_rng([20261122, run])
        p = rng.random(n)
        values = column(rng, p)
        happened = rng.random(n) < np.clip(chance(p) + effect * (values > np.median(values)), 0, 1)
        sample = cs.Sample(happened, p, variables={"column": values})
        question = Question(NamedLens("canonical", cs.Canonical(), None, 2), ("column",), cs.ECE(cs.EqualMass(10)))
        if null is None:
            test = increment_test(question, recalibrated(sample), 199, 0.05, run)
        else:
            test = cs.calibration_test(sample, question.estimator, null=null, rng=run)
        rejected += test.pvalue <= 0.05
    return rejected / runs


@pytest.mark.slow
@pytest.mark.parametrize("column", [lambda rng, p: rng.normal(size=len(p)), lambda rng, p: p + rng.normal(size=len(p))])
@pytest.mark.parametrize("chance", OFF.values(), ids=list(OFF))
def test_a_column_of_noise_shows_nothing_beyond_the_error_of_the_prediction(chance, column):
    runs = 400
    assert increments(chance, column, 0.0, runs) <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / runs)


@pytest.mark.slow
def test_the_strong_null_stars_columns_of_noise_and_a_column_of_an_effect_is_seen():
    """The negative control: without recalibration every column is starred where the prediction is off."""

    def noise(rng, p):
        return rng.normal(size=len(p))

    assert increments(OFF["shifted"], noise, 0.0, 100, null=cs.Consistency(99)) > 0.8
    assert increments(OFF["shifted"], noise, 0.25, 100) > 0.8


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_more_events_than_chance_are_told_of_small_groups_no_more_often_than_the_level_says(weighted):
    """20 000 groups of 60 calibrated rows that expect .6 events; the bound (Chernoff) is far from sharp there."""
    rng = np.random.default_rng(19520701)
    p, w = np.full(60, 0.01), rng.gamma(0.5, 1.0, 60) if weighted else np.ones(60)
    found = np.array([_chance_of_more(float(w @ ((rng.random(60) < p) - p)), p, w) for _ in range(20_000)])
    for level in (0.05, 0.01):
        assert (found <= level).mean() <= level + 4 * np.sqrt(level / 20_000)
    assert _chance_of_more(float(np.sort(w)[-12:].sum() - w @ p), p, w) < 1e-4  # events in a fifth of the rows
