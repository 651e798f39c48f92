from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import calibstat as cs
from calibstat.auditing import joint
from calibstat.auditing.audit import subgroup_audit
from calibstat.inference.multiplicity import benjamini_hochberg, holm
from suites import everything


def world(n=600, seed=0, off=0.0):
    rng = np.random.default_rng(seed)
    p, age, sex = rng.random(n), rng.uniform(20, 80, n), rng.choice(["f", "m"], n)
    chance = np.clip(np.where(sex == "m", p - off, p), 0, 1)
    return cs.Sample(rng.random(n) < chance, p, variables={"age": age, "sex": sex}, labels=[False, True])


def naive_kuiper(y, p):
    """Worst mean residual over an interval of predictions, over all of them."""
    order = sorted(range(len(p)), key=lambda i: p[i])
    sums = [0.0]
    for i in order:
        sums.append(sums[-1] + (y[i] - p[i]))
    worst = max(abs(b - a) for k, a in enumerate(sums) for b in sums[k:])
    return worst / len(p)


def test_values_are_those_of_a_naive_kuiper_in_each_group():
    sample = world(120)
    found = subgroup_audit(sample, ["sex"], min_size=1, n_resamples=19, rng=0)
    sex = sample.predictions.variables["sex"]
    for group in found:
        rows = [i for i in range(120) if not group.levels or sex.levels[int(sex.values[i])] == group.levels[0][1]]
        value = naive_kuiper(sample.outcomes[rows], sample.predictions.event[rows])
        assert group.n == len(rows)
        assert group.statistic == pytest.approx(value)
        assert group.mean_outcome == pytest.approx(sample.outcomes[rows].mean())
        assert group.mean_prediction == pytest.approx(sample.predictions.event[rows].mean())


def test_all_rows_alone_agree_with_the_plain_test():
    sample = world(300, off=0.1)
    whole = subgroup_audit(sample, "sex", n_resamples=199, rng=3)["all rows"]
    plain = cs.calibration_test(sample, cs.Kuiper(), null=cs.Consistency(199), rng=cs.as_generator(3))
    assert (whole.statistic, whole.pvalue) == (plain.statistic, plain.pvalue)
    assert whole.null_mean == pytest.approx(plain.null_mean)


def test_adjustments_order_as_they_must():
    sample = world(800, off=0.12, seed=4)
    found = {
        adjust: subgroup_audit(sample, ["age", "sex"], depth=2, adjust=adjust, n_resamples=399, rng=0)
        for adjust in ("max-t", "step-down", "holm", "fdr_bh")
    }
    own = np.array([group.pvalue for group in found["holm"]])
    adjusted = {name: np.array([group.pvalue_adjusted for group in each]) for name, each in found.items()}
    assert (adjusted["step-down"] <= adjusted["max-t"]).all()
    assert all((each >= own - 1e-12).all() for each in adjusted.values())
    assert adjusted["holm"] == pytest.approx(holm(own))
    assert adjusted["fdr_bh"] == pytest.approx(benjamini_hochberg(own))
    assert len({each.pvalue for each in found.values()}) == 1


def test_intervals_exclude_zero_only_where_single_step_rejects():
    for seed in range(8):
        found = subgroup_audit(world(400, seed, off=0.06), ["age", "sex"], n_resamples=99, rng=seed)
        for group in found:
            low, high = group.confidence_interval
            assert 0 <= low <= group.statistic <= high
            assert low == 0 or group.pvalue_adjusted <= 0.05


def test_directions_are_said_where_there_is_evidence():
    found = subgroup_audit(world(3000, off=0.15), ["sex"], n_resamples=99, rng=0)
    assert found["sex m"].direction == "predicts too high on average"
    assert found["sex f"].direction == ""
    assert next(group.name for group in found.rejected) == "sex m"
    rng = np.random.default_rng(0)
    p = rng.random(4000)
    bold = cs.Sample(rng.random(4000) < 0.5 + 0.4 * (p - 0.5), p, variables={"g": rng.choice(["a", "b"], 4000)})
    for words in (group.direction for group in subgroup_audit(bold, "g", n_resamples=99, rng=0)):
        assert words.startswith("predicts too")
        assert "where it says 0." in words


def test_the_top_label_is_over_or_underconfident():
    rng = np.random.default_rng(1)
    p, site = rng.dirichlet([1, 1, 1], 3000), rng.choice(["here", "there"], 3000)
    y = (p.cumsum(axis=1) < rng.random((3000, 1))).sum(axis=1)
    y = np.where((site == "there") & (rng.random(3000) < 0.4), rng.integers(0, 3, 3000), y)
    sample = cs.Sample(y, p, variables={"site": site})
    found = subgroup_audit(sample, "site", lens=cs.TopLabel(), n_resamples=99, rng=0)
    assert found["site there"].direction == "overconfident on average"
    assert found["site here"].direction == ""
    assert found.verdict.startswith("P(predicted class) is off in 2 of 3 groups at 5 %; it weighs most in site there (")
    with pytest.raises(ValueError, match=r"look through a lens first, for example TopLabel\(\)"):
        subgroup_audit(sample, "site", n_resamples=19, rng=0)
    classes = subgroup_audit(
        sample, "site", estimator=cs.ExpectedMiscalibration(cs.VarianceTree(200)), n_resamples=99, rng=0
    )
    assert classes["site there"].pvalue_adjusted == 0.01
    assert classes["site there"].to_dict()["mean_outcome"] is None


def test_other_estimators_and_their_intervals():
    sample = world(1500, off=0.1)
    binned = subgroup_audit(sample, "sex", estimator=cs.ECE(cs.EqualMass(5)), n_resamples=99, rng=0)
    assert binned["sex m"].pvalue_adjusted <= 0.05
    assert binned["sex m"].statistic == pytest.approx(
        cs.ECE(cs.EqualMass(5))(sample.take(sample.predictions.variables["sex"].values == 1))
    )
    assert binned["sex m"].confidence_interval[0] > 0
    signed = subgroup_audit(sample, "sex", estimator=cs.Spiegelhalter(), n_resamples=99, rng=0)
    assert signed["sex m"].confidence_interval is None
    assert "no intervals" in signed.notes[0]
    assert "low" in signed.to_frame().columns


def test_groups_left_out_are_listed():
    sample = world(300)
    few = {"rare": ["x"] * 5 + ["y"] * 295, "one": ["z"] * 300}
    found = subgroup_audit(sample, few, n_resamples=19, rng=0)
    assert [(each.name, each.n) for each in found.left_out] == [("one", 300), ("rare x", 5)]
    assert "rare x (n = 5) has fewer than 50 rows" in " ".join(str(found).split())
    assert "one (n = 300) has one level, 'z'" in " ".join(str(found).split())
    with pytest.raises(ValueError, match=r"no group to audit: one has one level, 'z'"):
        subgroup_audit(sample, {"one": ["z"] * 300}, rng=0)


def test_missing_values_as_a_level():
    sample = world(300)
    site = [None if i % 3 == 0 else "a" for i in range(300)]
    found = subgroup_audit(sample, {"site": site}, missing="level", n_resamples=19, rng=0)
    assert [(group.name, group.n) for group in found] == [("all rows", 300), ("site a", 200), ("site missing", 100)]
    region = cs.Region.between(True, 0.5, 1)
    inside = subgroup_audit(sample, {"site": site}, missing="level", lens=region, min_size=1, n_resamples=19, rng=0)
    rows = np.flatnonzero(sample.predictions.event >= 0.5)
    assert inside["site missing"].n == sum(i % 3 == 0 for i in rows)


def test_weights_count_rows():
    sample = world(200, off=0.1)
    weighted = cs.Sample(
        sample.y_true, sample.predictions.event, variables={"g": ["a", "b"] * 100}, sample_weight=[1, 3] * 100
    )
    found = subgroup_audit(weighted, "g", n_resamples=39, rng=0)
    plain = cs.Kuiper()(sample.take(np.arange(0, 200, 2)))
    assert found["g a"].statistic == pytest.approx(plain)
    assert found["all rows"].confidence_interval[1] > 0


def test_groups_without_weight_are_left_out():
    sample = world(300)
    weighted = cs.Sample(
        sample.y_true, sample.predictions.event, variables={"g": ["a", "b", "c"] * 100}, sample_weight=[1, 2, 0] * 100
    )
    found = subgroup_audit(weighted, "g", n_resamples=19, rng=0)
    assert [group.name for group in found] == ["all rows", "g a", "g b"]
    assert found.left_out[0].reason == "has no row of positive weight"


def test_the_same_rng_gives_the_same_audit_and_inputs_are_kept():
    sample = world()
    before = sample.predictions.event.copy()
    first, second = (subgroup_audit(sample, ["age", "sex"], n_resamples=49, rng=7) for _ in range(2))
    assert first.to_dict() == second.to_dict()
    assert (sample.predictions.event == before).all()


def test_results_are_plain_and_words_accept_nothing():
    found = subgroup_audit(world(seed=1), ["age", "sex"], depth=2, n_resamples=99, rng=0)
    assert found.verdict.startswith("Calibration of P(True) is not rejected at 5 % in any of 15 groups")
    json.dumps(found.to_dict(), allow_nan=False)
    frame = found.to_frame()
    assert len(frame) == len(found) == 15
    assert frame.loc["sex f", "n"] == found["sex f"].n
    text = str(found)
    assert "is calibrated" not in text
    assert "95 % interval" in found.to_text(120)
    assert repr(found) == text
    with pytest.raises(KeyError, match="there is no group 'sex x'"):
        found["sex x"]


def test_a_model_that_is_certain_and_wrong_is_found():
    """Under the null nothing else can happen: every redraw has value zero."""
    p = np.repeat([0.0, 1.0], 100)
    y = p.astype(int).copy()
    y[:60] = 1
    found = subgroup_audit(cs.Sample(y, p, variables={"g": ["a", "b"] * 100}), "g", n_resamples=99, rng=0)
    assert found["g a"].pvalue_adjusted == 0.01


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"adjust": "bonferroni"}, ValueError, "adjust is 'bonferroni'; it must be one of 'max-t'"),
        ({"confidence_level": 95}, ValueError, "confidence_level is 95"),
        ({"depth": 0}, ValueError, "depth is 0"),
        ({"min_size": 0.5}, TypeError, "min_size is 0.5"),
        ({"binning": {"hight": cs.EqualMass(3)}}, ValueError, "binning names 'hight'"),
        ({"binning": 4}, TypeError, "binning is 4"),
    ],
)
def test_bad_arguments_are_named(arguments, error, message):
    with pytest.raises(error, match=message):
        subgroup_audit(world(), ["age", "sex"], rng=0, **arguments)


def test_too_few_resamples_are_said():
    found = subgroup_audit(world(), ["age", "sex"], adjust="fdr_bh", n_resamples=49, rng=0)
    assert "Take n_resamples of at least 139" in found.notes[0]
    assert "only to several together" in found.notes[0]


@pytest.mark.parametrize(
    ("adjust", "few", "enough", "says"),
    [
        ("holm", 138, 139, "at least 139 (better 2799), or adjust='max-t'"),
        ("max-t", 18, 19, "at least 19 (better 399)"),
        ("step-down", 1, 19, "at least 19"),
        ("fdr_bh", 18, 19, "at least 139"),
    ],
)
def test_resamples_that_cannot_reject_anything_are_refused(adjust, few, enough, says):
    """Seven groups: Holm's smallest adjusted p-value is 7 / (1 + R), that of the others 1 / (1 + R)."""
    rng = np.random.default_rng(0)
    variables = {"age": rng.uniform(20, 80, 600), "sex": rng.choice(["f", "m"], 600)}
    certain = cs.Sample([0] * 600, [0.9] * 600, variables=variables, labels=[0, 1])
    with pytest.raises(ValueError, match=r"no adjusted p-value could be 0.05 or less") as refused:
        subgroup_audit(certain, ["age", "sex"], adjust=adjust, null=cs.Consistency(few), rng=0)
    assert says in str(refused.value)
    found = subgroup_audit(certain, ["age", "sex"], adjust=adjust, n_resamples=enough, rng=0)
    assert len(found) == 7
    assert len(found.rejected) == 7


def test_the_headline_does_not_deny_the_joint_test():
    """One group in seven is off: the joint test sees it where Holm's correction of few redraws does not."""
    sample = world(off=0.1, seed=1)
    found = replace(
        subgroup_audit(sample, ["age", "sex"], adjust="holm", n_resamples=139, rng=0),
        pvalue=0.01,
        groups=tuple(
            replace(group, pvalue_adjusted=0.2) for group in subgroup_audit(sample, "sex", n_resamples=19, rng=0)
        ),
    )
    assert found.verdict.startswith("P(True) is off at 5 % in some of 3 groups (p = 0.01 for all together), but none")
    assert found.verdict.endswith("the smallest p-value adjusted by Holm's method is 0.2.")
    none = replace(found, pvalue=0.4)
    assert none.verdict.startswith("Calibration of P(True) is not rejected at 5 % in any of 3 groups (")
    assert none.verdict.endswith("slope 1.17, smallest adjusted p = 0.2).")


def test_the_smallest_pvalue_is_printed_as_what_it_is():
    found = subgroup_audit(world(off=0.3), "sex", n_resamples=19, rng=0)
    assert found.pvalue == 0.05
    assert "adjusted p = 0.05." in found.verdict
    assert "0.05 *  < 1e-12" in str(found)  # theory says how small it is beside it
    assert [group.tail is None for group in found] == [False, True, False]


def many_groups(n=3000, m=40):
    rng = np.random.default_rng(8)
    p = rng.random(n)
    y = (rng.random(n) < p**1.2).astype(int)
    return cs.Sample(y, p, labels=[0, 1], variables={"site": rng.integers(0, m, n).astype(str)})


@pytest.mark.parametrize("estimator", [None, cs.ECE(cs.EqualMass(4)), cs.DebiasedL2(cs.EqualMass(4))])
def test_how_many_draws_are_evaluated_at_once_changes_no_value(monkeypatch, estimator):
    """Groups share draws; these are handed over in larger lots, so that hundreds of groups cost few calls."""

    def audit():
        found = subgroup_audit(many_groups(), "site", estimator=estimator, n_resamples=99, min_size=20, rng=1)
        return found.pvalue, [
            (g.statistic, g.null_mean, g.standardized, g.pvalue, g.pvalue_adjusted, g.confidence_interval)
            for g in found
        ]

    whole = audit()
    monkeypatch.setattr(joint, "_MOST_AT_ONCE", 1)
    assert audit() == whole


def test_many_groups_of_many_rows_are_evaluated_in_few_calls():
    """Of 70 000 rows a block holds three replicates: 20 of them must not be 7 calls for each group."""
    calls = []

    class Counting(cs.Evaluator):
        def __call__(self, outcomes, weights=None):
            calls.append(outcomes.shape)
            return outcomes.mean(axis=-1)

    class Counted(cs.Estimator):
        quantity = "calls"
        estimand = None

        def prepare(self, predictions):
            return Counting()

    sample = cs.Sample(np.arange(70_000) % 2, np.full(70_000, 0.5))
    family = cs.Family({"few": joint.InGroup(Counted(), np.arange(10))})
    drawn = cs.Consistency(20).draw(family, sample, np.random.default_rng(0)).samples
    assert drawn.shape == (20, 1)
    assert calls == [(20, 10)]


def test_a_statistic_that_is_not_a_number_is_refused_by_name():
    gap = cs.Generic(lambda s: np.nan if len(s) < 75 else float(abs((s.outcomes - s.y_prob[:, 1]).mean())))
    with pytest.raises(
        ValueError, match=r"is not a number \(NaN\) in the group 'site \d+' \(\d+ rows\).*larger min_size"
    ):
        subgroup_audit(many_groups(), "site", estimator=gap, n_resamples=19, min_size=20, rng=1)


# Intervals where a group has few events


def with_a_rare_group(events, weights=None):
    """1940 calibrated rows in two groups, and 60 rows of p = .001 in a third, in which so many events happen."""
    rng = np.random.default_rng(0)
    p, group = rng.random(2000), np.where(np.arange(2000) % 2, "b", "c")
    p[:60], group[:60] = 0.001, "a"
    y = rng.random(2000) < p
    y[:60] = np.arange(60) < events
    return cs.Sample(y, p, sample_weight=weights, variables={"g": group}, labels=[False, True])


@pytest.mark.parametrize("estimator", [cs.Kuiper(), cs.ECE(cs.EqualMass(5))], ids=repr)
def test_a_group_of_few_events_has_the_noise_that_it_may_hide(estimator):
    for events, least in ((0, 0.05), (1, 0.09), (3, 0.14)):  # about the binomial bounds of the mean chance
        asked = {"estimator": estimator, "min_expected": 0, "n_resamples": 99}
        audit = subgroup_audit(with_a_rare_group(events), "g", **asked, rng=0)
        assert least < audit["g a"].confidence_interval[1] < least + 0.12
        assert any("may hide" in each for each in audit.how)


def test_a_group_of_few_events_does_not_widen_the_intervals_of_others():
    asked = {"by": "g", "min_expected": 0, "n_resamples": 99, "rng": 0}
    alike = [subgroup_audit(with_a_rare_group(events), **asked) for events in (0, 1, 12)]
    for name in ("all rows", "g b", "g c"):
        reach = [audit[name].confidence_interval[1] - audit[name].statistic for audit in alike]
        assert max(reach) < 0.06
        assert max(reach) < 1.25 * min(reach)
    assert all(group.confidence_interval[1] <= 1 for audit in alike for group in audit)


def test_fewer_rows_in_effect_than_seven_have_the_whole_range():
    weights = np.ones(2000)
    weights[:2] = 1234.5
    audit = subgroup_audit(with_a_rare_group(1, weights), "g", min_expected=0, n_resamples=99, rng=0)
    assert audit["g a"].confidence_interval == (0.0, 1.0)
    assert audit["g b"].confidence_interval[1] < 0.2


def test_a_group_that_expects_too_few_events_is_left_out_and_listed():
    sample = with_a_rare_group(1)
    audit = subgroup_audit(sample, "g", n_resamples=99, rng=0)
    assert [group.name for group in audit] == ["all rows", "g b", "g c"]
    reason = "expects 0.06 events, fewer than 5 (it has 1 event)"
    assert [(each.name, each.n, each.reason) for each in audit.left_out] == [("g a", 60, reason)]
    assert f"left out: g a (n = 60) {reason}" in " ".join(str(audit).split())
    rare = cs.Sample(np.arange(200) < 1, np.full(200, 0.001), variables={"g": np.arange(200) % 2}, labels=[False, True])
    assert len(subgroup_audit(rare, "g", n_resamples=99, rng=0)) == 3  # there is no other group that these could hide
    far = subgroup_audit(with_a_rare_group(30), "g", n_resamples=99, rng=0)
    assert far.left_out[0].reason.endswith("(it has 30 events)")
    assert far.verdict.endswith(
        "Left out, but more than chance gives: g a has 30 events where 0.06 are expected, p below 1e-12."
    )
    assert "(it has 30 events), more than chance gives" in " ".join(str(far).split())
    assert "than chance gives" not in str(audit)
    never = cs.Sample(~sample.y_true, 1 - sample.predictions.event, variables={"g": np.arange(2000) < 60})
    swapped = subgroup_audit(never, "g", n_resamples=99, rng=0)
    assert swapped.left_out[0].reason == "expects 0.06 non-events, fewer than 5 (it has 1 non-event)"


def test_many_groups_of_few_events_hide_nothing_in_others():
    """Each of them jumps seldom, and some of them often."""
    rng = np.random.default_rng(1)
    p, group = rng.random(3000), rng.choice(["b", "c"], 3000).astype("<U3")
    p[:2400], group[:2400] = 0.0001, np.repeat([f"r{k}" for k in range(40)], 60)
    patient = np.arange(3000) // 4
    sample = cs.Sample(rng.random(3000) < p, p, variables={"g": group}, groups=patient, labels=[False, True])
    reach = []
    for least in (5, 0):
        whole = subgroup_audit(sample, "g", min_expected=least, null=cs.Multiplier(99), rng=0)["all rows"]
        reach.append(whole.confidence_interval[1] - whole.statistic)
    assert reach[0] < 0.02
    assert max(reach) < 1.5 * reach[0]


def test_the_headline_names_the_error_that_matters_most():
    """A group of 400 rows is off by the strongest evidence; one of 6000 rows by less evidence for more rows."""
    rng = np.random.default_rng(0)
    p = rng.uniform(0.1, 0.9, 8000)
    group = np.repeat(["small", "large", "other"], [400, 6000, 1600])
    off = np.select([group == "small", group == "large"], [0.5 * p, 0.05 * p], 0)
    sample = cs.Sample(
        np.where(rng.random(8000) < p - off, "yes", "no"), p, variables={"g": group}, labels=["no", "yes"]
    )
    audit = subgroup_audit(sample, "g", n_resamples=199, rng=0)
    assert audit["g small"].standardized > audit["g large"].standardized
    assert audit.largest.name == "g large"
    assert audit.verdict.startswith(
        "P(yes) is off in 3 of 4 groups at 5 %; it weighs most in g large (6000 rows): predicts too high on average, "
        f"error {audit['g large'].statistic:.3f} (95 %: "
    )
    assert f"The largest error is in g small, {audit['g small'].statistic:.3f} (95 %: " in audit.verdict
    rows = [line.split("  ")[0] for line in str(audit).split("\n\n")[1].splitlines()]
    assert rows[:5] == ["group", "all rows", "g large", "g small", "g other"]


def test_the_headline_is_that_of_all_rows_where_groups_err_alike():
    """The model is too high everywhere by the same odds; in another world by much more in one group."""
    rng = np.random.default_rng(0)
    p, group = rng.uniform(0.1, 0.9, 9000), np.repeat(["a", "b", "c"], 3000)

    def said(off):
        happened = rng.random(9000) < p - off
        return subgroup_audit(cs.Sample(happened, p, variables={"g": group}), "g", n_resamples=199, rng=0).verdict

    alike = said(0.05)
    assert alike.startswith("P(True) is too high on average over all rows: error 0.0")
    assert "main error: 4 of 4 groups are off at 5 %, but none by another mean error than all rows" in alike
    assert said(np.where(group == "a", 0.1, 0.02)).startswith(
        "P(True) is off in 3 of 4 groups at 5 %; it weighs most in g a"
    )
    assert said(np.where(group == "a", -0.05, 0.05)).startswith(
        "P(True) is off in 4 of 4 groups at 5 %; it weighs most"
    )


def test_a_rejected_group_whose_interval_holds_zero_is_named():
    """Tests and intervals are of two methods: where they disagree, the reader is told which one decides."""
    rng = np.random.default_rng(0)
    p, group = rng.uniform(0.1, 0.9, 4000), np.repeat(["a", "b"], 2000)
    shifts = (np.where(group == "a", off, 0.0) for off in np.linspace(0.02, 0.08, 13))
    u = rng.random(4000)
    audits = [
        subgroup_audit(cs.Sample(u < p - off, p, variables={"g": group}), "g", n_resamples=99, rng=0) for off in shifts
    ]
    held = [[each.name for each in found.rejected if each.confidence_interval[0] <= 0] for found in audits]
    assert any(held)
    assert not all(held)
    for found, names in zip(audits, held, strict=True):
        more = " ".join(everything(found).split())
        assert ("the p-value decides" in more) == bool(names)
        assert all(name in more for name in names)
        assert "the p-value decides" not in str(found)


def test_small_groups_do_not_put_the_blame_on_one_group_for_an_error_of_all_rows():
    """Most groups are too small to be rejected; one is rejected although its interval holds 0."""
    rng = np.random.default_rng(0)
    p, sex = rng.uniform(0.1, 0.5, 3000), rng.choice(["f", "m"], 3000)
    city = rng.choice(np.arange(40), 3000).astype(str)
    variables = {"sex": sex, "city": city}
    found = subgroup_audit(
        cs.Sample(rng.random(3000) < p / 2, p, variables=variables), ["sex", "city"], min_size=20, n_resamples=99, rng=0
    )
    assert 2 * len(found.rejected) < len(found)
    assert found.verdict.startswith("P(True) is too high on average over all rows: error 0.1")
    assert "(O/E 0.5" in found.verdict
    assert "weighs most" not in found.verdict
    assert "city" not in found.verdict
    assert not any(group.apart for group in found)


def test_names_that_fit_are_whole_and_groups_that_the_table_leaves_out_are_counted():
    rng = np.random.default_rng(0)
    p, variables = rng.random(3000), {"a long name of a column": rng.integers(0, 30, 3000).astype(str)}
    found = subgroup_audit(cs.Sample(rng.random(3000) < p, p, variables=variables), [*variables], n_resamples=99, rng=0)
    text = found.to_text(80)
    assert "..." not in text
    assert text.count("\na long name of a column ") == 24
    assert "6 more groups are not in the table" in text
    assert len(found) == 31
