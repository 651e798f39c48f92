"""One question, asked by the four verbs that look at several numbers, has one adjusted p-value on the same draws."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from calibstat.inference.multiplicity import joint_test

ECE = cs.ECE(cs.EqualMass(5))
R = 499


def world(seed=3, n=600):
    rng = np.random.default_rng(seed)
    p, site = rng.random(n), np.array(["a", "b"])[rng.integers(0, 2, n)]
    happened = rng.random(n) < np.where(site == "b", p**1.25, p)
    return cs.Sample(happened, p, variables={"site": site}, labels=[False, True])


def at_site(code):
    return cs.Region(lambda predictions: predictions.variables["site"].values == code)


GROUPS = {"all rows": ECE, "site a": at_site(0) | ECE, "site b": at_site(1) | ECE}


@pytest.mark.parametrize("standardize", ["moments", "ranks", "none"])
@pytest.mark.parametrize("seed", range(3))
def test_is_the_model_off_for_site_b(seed, standardize):
    sample, options = world(seed), {"standardize": standardize, "rng": seed}
    several = cs.multiple_test(sample, cs.Family(GROUPS), null=cs.Consistency(R), **options)
    panel = cs.omnibus_test(sample, GROUPS, n_resamples=R, **options)
    audit = cs.subgroup_audit(sample, "site", estimator=ECE, n_resamples=R, **options)
    names = ["all rows", "site a", "site b"]
    assert list(several.names) == list(panel.names) == [group.name for group in audit] == names
    by_hand = joint_test(
        np.array([estimator(sample) for estimator in GROUPS.values()]),
        [cs.Consistency(R).draw(cs.Family(GROUPS), sample, cs.as_generator(seed)).samples],
        standardize=standardize,
    )
    for found in (panel.pvalues_adjusted, [group.pvalue_adjusted for group in audit], by_hand.pvalues_adjusted):
        np.testing.assert_array_equal(several.pvalues_adjusted, found)
    assert panel.pvalue == audit.pvalue == by_hand.pvalue == min(several.pvalues_adjusted)


def test_is_the_model_off_along_a_variable():
    """A scan of the strong null draws rows; VECE alone would draw whole cells, of the same law but other numbers."""
    rng = np.random.default_rng(0)
    n = 500
    p, age, size = rng.random(n), rng.uniform(20, 80, n), rng.uniform(0, 1, n)
    happened = rng.random(n) < np.clip(p + (age - 50) / 600, 0, 1)
    sample = cs.Sample(happened, p, variables={"age": age, "size": size})
    cells = cs.EqualMass(5)
    scan = cs.scan_variables(sample, binning=cells, null="strong", min_expected=0, n_resamples=R, rng=1)
    family = cs.Family({name: cs.VECE(name, cells) for name in ("age", "size")})
    rows = cs.multiple_test(sample, family, null=cs.Consistency(R, shortcuts=False), rng=1)
    np.testing.assert_array_equal([scan[name].pvalue_adjusted for name in rows.names], rows.pvalues_adjusted)
    whole = cs.multiple_test(sample, family, null=cs.Consistency(R), rng=1)
    error = 4 * np.sqrt(2 * rows.pvalues_adjusted * (1 - rows.pvalues_adjusted) / R)
    assert (np.abs(whole.pvalues_adjusted - rows.pvalues_adjusted) <= error + 1 / R).all()


def test_nulls_are_named_or_given():
    sample = world()
    named = cs.scan_variables(sample, null="weak", n_resamples=99, rng=0)
    given = cs.scan_variables(sample, null=cs.Weak(99), rng=0)
    strong = cs.scan_variables(sample, null=cs.Consistency(99), rng=0)
    assert str(named) == str(given)
    assert str(strong) == str(cs.scan_variables(sample, null="strong", n_resamples=99, rng=0))
    looked = cs.Given("site") | cs.ECE(cs.Categories())
    assert cs.calibration_test(sample, looked, null="weak", rng=0).null == cs.Weak()
    assert str(cs.multiple_test(sample, cs.Family(GROUPS), null="strong", rng=0)) == str(
        cs.multiple_test(sample, cs.Family(GROUPS), rng=0)
    )
    with pytest.raises(TypeError, match="null is 'exactly', but a null is expected"):
        cs.calibration_test(sample, ECE, null="exactly")
    for wrong in ("exact", cs.Multiplier(99), cs.Consistency(99, resample_predictions=True)):
        with pytest.raises(ValueError, match="it must be 'weak' or 'strong', or a null of these"):
            cs.scan_variables(sample, null=wrong, rng=0)
