"""Groups of many rows, whose rows are pooled in steps: the same findings as from rows, at a cost that does not grow."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import calibstat as cs
from calibstat.auditing import pooled_groups
from calibstat.auditing.audit import subgroup_audit
from calibstat.auditing.groups import Group, form_groups, layout_of, look
from calibstat.auditing.joint import InGroup
from calibstat.auditing.pooled_groups import PooledGroups
from calibstat.draws.labels import LabelLaw

BY = ["age", "sex"]


def world(n=6000, seed=0, off=0.0, weighted=False, power=1.0):
    rng = np.random.default_rng(seed)
    p, age, sex = rng.random(n) ** power, rng.uniform(20, 80, n), rng.choice(["f", "m"], n, p=[0.9, 0.1])
    chance = np.where(sex == "m", p * (1 - off), p)
    weights = rng.uniform(0.5, 2, n) if weighted else None
    variables = {"age": age, "sex": sex}
    return cs.Sample(rng.random(n) < chance, p, variables=variables, sample_weight=weights, labels=[False, True])


def groups_of(sample):
    levels, _ = look(sample, BY, cs.Canonical(), cs.EqualMass(4), "raise")
    return form_groups(levels, len(sample), 1, 50)[0]


@pytest.mark.parametrize("estimator", [cs.Kuiper(), cs.AndersonDarling(), cs.SmoothECE()], ids=repr)
@pytest.mark.parametrize("weighted", [False, True], ids=["rows", "weights"])
def test_steps_as_rows_with_weights_give_nearly_the_values_of_rows(estimator, weighted):
    sample = world(off=0.2, weighted=weighted)
    groups = groups_of(sample)
    values = PooledGroups(estimator, groups, layout_of(groups, len(sample)), sample).values()
    exact = np.array([float(estimator(sample.take(group.rows))) for group in groups])
    assert np.abs(values / exact - 1).max() < 0.12
    other = np.array([float(estimator(sample.take(group.rows[::2]))) for group in groups])
    assert np.abs(other / exact - 1).max() > 0.12  # the negative control: half of the rows


def test_where_values_are_few_nothing_changes():
    sample = world(off=0.2)
    rounded = cs.Sample(
        sample.outcomes, sample.predictions.event.round(1), variables={"sex": np.arange(6000) % 2}, labels=[False, True]
    )
    groups = [Group.of((), np.arange(6000)), Group.of((("sex", "0"),), np.arange(0, 6000, 2))]
    pooled = PooledGroups(cs.Kuiper(), groups, layout_of(groups, 6000), rounded)
    exact = [cs.Kuiper()(rounded.take(group.rows)) for group in groups]
    np.testing.assert_allclose(pooled.values(), exact, rtol=1e-9)
    assert (pooled.missed == 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True], ids=["rows", "weights"])
@pytest.mark.parametrize("power", [1.0, 20.0], ids=["even chances", "rare events"])
def test_draws_have_the_law_of_rows(weighted, power):
    """Law 8: the largest standardised statistic of all groups, and the mean of each, drawn in steps and by rows."""
    sample = world(weighted=weighted, power=power)
    groups = groups_of(sample)
    pooled = PooledGroups(cs.Kuiper(), groups, layout_of(groups, len(sample)), sample)
    steps = pooled.redrawn(cs.Consistency(4000), cs.as_generator(1))[0]
    labels = LabelLaw(sample.predictions.chances).invert(np.random.default_rng(2).random((1500, len(sample))))
    rows = np.stack([InGroup(cs.Kuiper(), group.rows).prepare(sample.predictions)(labels) for group in groups], axis=-1)
    np.testing.assert_allclose(steps.mean(axis=0), rows.mean(axis=0), rtol=0.04)
    np.testing.assert_allclose(np.corrcoef(steps.T), np.corrcoef(rows.T), atol=0.11)

    centre, deviation = steps.mean(axis=0), steps.std(axis=0)

    def largest(drawn):
        return ((drawn - centre) / deviation).max(axis=1)

    assert stats.ks_2samp(largest(steps), largest(rows)).statistic < 0.05
    # the negative control: groups that do not depend on each other
    alone = np.stack([np.random.default_rng(j).permutation(column) for j, column in enumerate(steps.T)], axis=-1)
    assert np.abs(np.corrcoef(alone.T) - np.corrcoef(rows.T)).max() > 0.3


def test_many_rows_are_pooled_and_the_result_says_so():
    sample = world(off=0.5)
    found = subgroup_audit(sample, BY, n_resamples=199, rng=0)
    by_rows = subgroup_audit(sample, BY, null=cs.Consistency(199, shortcuts=False), rng=0)
    assert "rows are pooled in" in found.how[0]
    assert "(exact)" not in found.hypothesis
    assert "pooled" not in by_rows.to_text(verbose=True)
    assert "(exact)" in by_rows.hypothesis
    assert [group.statistic for group in found] == pytest.approx([group.statistic for group in by_rows])
    assert [group.name for group in found.rejected] == [group.name for group in by_rows.rejected]
    assert found.rejected[0].name == "sex m"
    for one, other in zip(found, by_rows, strict=True):
        assert one.null_mean == pytest.approx(other.null_mean, rel=0.1)
        assert one.confidence_interval[1] == pytest.approx(other.confidence_interval[1], rel=0.15)


def test_fewer_rows_are_not_pooled():
    found = subgroup_audit(world(1000), BY, n_resamples=39, rng=0)
    assert "pooled" not in found.to_text(verbose=True)
    assert "(exact)" in found.hypothesis


@pytest.mark.parametrize(
    ("estimator", "null", "patient"),
    [
        (cs.ECE(), cs.Consistency(39), None),
        (cs.Kuiper(), cs.Multiplier(39, centred=True), None),
        (cs.Kuiper(), cs.Multiplier(39), np.arange(600) % 100),
    ],
    ids=["cells", "centred signs", "clusters"],
)
def test_what_is_not_known_of_sums_is_drawn_by_rows(estimator, null, patient, monkeypatch):
    monkeypatch.setattr(pooled_groups, "ROWS", 100)
    sample = world(600)
    known = {"variables": {name: each.values for name, each in sample.predictions.variables.items()}, "groups": patient}
    sample = cs.Sample(sample.outcomes, sample.predictions.event, labels=[False, True], **known)
    assert not any(
        "pooled" in each for each in subgroup_audit(sample, BY, estimator=estimator, null=null, min_size=20, rng=0).how
    )


def test_signs_are_drawn_in_sums_too():
    found = subgroup_audit(world(off=0.5), BY, null="multiplier", n_resamples=199, rng=0)
    assert "rows are pooled in" in found.how[0]
    assert found.rejected[0].name == "sex m"


def test_a_small_group_far_from_the_others_has_its_share_of_steps():
    rng = np.random.default_rng(0)
    n, small = 20_000, 300
    p = np.where(np.arange(n) < small, rng.uniform(0.9, 0.9001, n), rng.uniform(0, 0.5, n))
    sample = cs.Sample(rng.random(n) < p, p)
    groups = [
        Group.of((), np.arange(n)),
        Group.of((("a", "x"),), np.arange(small)),
        Group.of((("a", "y"),), np.arange(small, n)),
    ]
    pooled = PooledGroups(cs.Kuiper(), groups, layout_of(groups, n), sample)
    assert min(len(member.filled) for member in pooled.members) >= 32
    assert pooled.layout.n_steps < 512


def test_noise_that_a_group_hides_widens_its_interval():
    """Fifty rows of a group are said to be certain: nothing shows how wrong that may be."""
    sample = world(6000, power=1.0)
    p, age = sample.predictions.event.copy(), sample.predictions.variables["age"].values
    sex = (np.arange(6000) < 60).astype(float)
    p[:55] = 0.0005
    outcomes = np.where(np.arange(6000) < 55, 0, sample.outcomes)
    changed = cs.Sample(outcomes, p, variables={"age": age, "sex": sex}, labels=[False, True])
    found = subgroup_audit(changed, BY, n_resamples=199, min_size=20, min_expected=0, rng=0)
    by_rows = subgroup_audit(changed, BY, null=cs.Consistency(199, shortcuts=False), min_size=20, min_expected=0, rng=0)
    few, many = found["sex 1"].confidence_interval, by_rows["sex 1"].confidence_interval
    assert few[1] == pytest.approx(many[1], rel=0.2)
    assert any("hide" in each for each in found.how)
    assert any("hide" in each for each in by_rows.how)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_weights_and_predictions_whose_squares_underflow_are_audited_without_a_warning():
    """A step of weights of 1e-300 counted as 0 / 0 rows."""
    sample = world()
    small = np.where(np.arange(6000) % 2, 1e-300, 1.0)
    small[sample.predictions.event < 0.1] = 1e-300
    predictions, variables = sample.predictions.event, {"sex": np.arange(6000) % 3}
    weighted = cs.Sample(sample.outcomes, predictions, variables=variables, sample_weight=small, labels=[0, 1])
    kept = small == 1
    alone = cs.Sample(
        sample.outcomes[kept], predictions[kept], variables={"sex": variables["sex"][kept]}, labels=[0, 1]
    )
    found, other = (cs.subgroup_audit(each, "sex", n_resamples=99, rng=0) for each in (weighted, alone))
    np.testing.assert_allclose(
        [each.statistic for each in found.groups], [each.statistic for each in other.groups], rtol=1e-9
    )
    rare = cs.Sample(np.zeros(6000, dtype=int), 5e-324 * (np.arange(6000) % 4), variables=variables, labels=[0, 1])
    assert cs.subgroup_audit(rare, "sex", n_resamples=19, rng=0).pvalue == 1
