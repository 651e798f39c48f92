"""Each class, within levels, families and the jackknife."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from calibstat.estimators.combined import EachClass, Family, NamedValues, Within
from calibstat.estimators.wrappers import Jackknifed
from calibstat.nulls.multiplier import signed_values
from registry import make_sample
from suites import everything

CELLS = cs.EqualWidth(4)


@pytest.mark.parametrize(
    ("norm", "naive"),
    [
        (1, np.mean),
        (2, lambda v: np.sqrt(np.mean(np.square(v)))),
        (3, lambda v: np.mean(np.power(v, 3)) ** (1 / 3)),
        (np.inf, max),
    ],
)
def test_each_class_is_a_norm_over_classes(norm, naive):
    sample = make_sample(4, seed=1)
    each = [(cs.ClassWise(label) | cs.ECE(CELLS))(sample) for label in sample.labels]
    found = EachClass(cs.ECE(CELLS), norm)(sample)
    assert found.to_dict() == dict(zip(sample.labels, each, strict=True))
    assert float(found) == pytest.approx(naive(each), abs=1e-14)
    assert list(found) == list(sample.labels)
    assert len(found) == 4


def test_each_class_of_two_classes_sees_the_same_error_twice():
    sample = make_sample(2, seed=2)
    found = EachClass(cs.ECE(cs.UniqueValues()))(sample)
    assert found["b"] == pytest.approx(found["a"], abs=1e-14)


def test_norms_take_negative_values_as_zero_and_means_do_not():
    values = np.array([[-0.4, 0.1, 0.3]])
    assert EachClass(cs.DebiasedCE()).headline(values) == pytest.approx([0.0])
    assert EachClass(cs.DebiasedCE(), 2).headline(values) == pytest.approx([np.sqrt(0.1 / 3)])
    assert EachClass(cs.DebiasedCE(), np.inf).headline(values) == pytest.approx([0.3])


@pytest.mark.parametrize("norm", [0.5, 0, float("nan")])
def test_a_norm_needs_p_of_at_least_one(norm):
    with pytest.raises(ValueError, match="norm is"):
        EachClass(cs.ECE(), norm)


def test_each_class_is_tested_on_whole_labels():
    sample = make_sample(3, seed=3, n=200)
    result = cs.calibration_test(sample, EachClass(cs.ECE(CELLS)), rng=0)
    assert "Canonical()" in result.hypothesis
    assert "seen through Canonical()" in everything(result)
    assert 0 < result.pvalue <= 1
    assert result.null_distribution.samples.shape == (999,)


def test_signs_reach_every_member():
    """Debiased squares are no functions of chances: signs must not be passed as such."""
    sample, inner = make_sample(3, seed=3, n=60), cs.DebiasedL2(CELLS)
    signs = np.random.Generator(np.random.PCG64(0)).choice([-1.0, 1.0], (5, 60))
    lenses = [cs.ClassWise(label) for label in sample.labels]
    each = [(lens | inner).prepare(sample.predictions).capabilities.signed(sample.outcomes, signs) for lens in lenses]
    family = Family({str(j): lens | inner for j, lens in enumerate(lenses)})
    for several in (EachClass(inner), family):
        found = signed_values(several.prepare(sample.predictions), sample, signs)
        np.testing.assert_allclose(found, np.transpose(each), rtol=1e-12)
    mixed = Family({"u": cs.ClassWise("a") | inner, "kernel": cs.KCE(0.3)})
    assert mixed.residual_form == "none"
    assert Family({"ece": cs.ECE(CELLS), "kernel": cs.KCE(0.3)}).residual_form == "seminorm"


def test_within_is_the_estimator_on_the_rows_of_each_level():
    sample = make_sample(2, seed=4)
    names = np.array(sample.predictions.variables["sex"].levels)[sample.predictions.variables["sex"].values.astype(int)]
    found = Within("sex", cs.ECE(CELLS))(sample)
    naive = {level: cs.ECE(CELLS)(sample.take(np.flatnonzero(names == level))) for level in ("f", "m")}
    assert found.to_dict() == pytest.approx(naive)
    assert float(found) == max(naive.values())


def test_within_leaves_out_levels_without_rows():
    sample = make_sample(2, seed=4)
    women = sample.take(np.flatnonzero(sample.predictions.variables["sex"].values == 0))
    assert Within("sex", cs.ECE(CELLS))(women).names == ("f",)


@pytest.mark.parametrize(("variable", "message"), [("height", "no variable 'height'"), ("age", "'age' is numeric")])
def test_within_needs_a_categorical_variable(variable, message):
    with pytest.raises(ValueError, match=message):
        Within(variable, cs.ECE(CELLS))(make_sample(2))


def test_within_is_commutative_with_a_lens_in_front():
    sample = make_sample(3, seed=5)
    inside, front = Within("sex", cs.TopLabel() | cs.ECE(CELLS)), cs.TopLabel() | Within("sex", cs.ECE(CELLS))
    assert inside(sample) == front(sample)


def test_a_family_evaluates_every_member_on_the_same_labels():
    sample = make_sample(3, seed=6)
    members = {
        "top": cs.TopLabel() | cs.ECE(CELLS),
        "a": cs.ClassWise("a") | cs.RMSCE(CELLS),
        "all": cs.ECE(cs.SimplexGrid(2)),
    }
    family = Family(members)
    assert family(sample).to_dict() == {name: each(sample) for name, each in members.items()}
    draws = np.random.Generator(np.random.PCG64(0)).integers(0, 3, (5, len(sample)))
    values = family.prepare(sample.predictions)(draws)
    for j, each in enumerate(members.values()):
        np.testing.assert_array_equal(values[:, j], each.prepare(sample.predictions)(draws))


def test_members_that_share_cells_share_a_tally_and_are_drawn_whole():
    sample = make_sample(2, seed=7, n=300)
    together = Family({"ece": cs.ECE(CELLS), "rms": cs.RMSCE(CELLS)})
    evaluator = together.prepare(sample.predictions)
    assert evaluator.capabilities.tally is not None
    for other in (cs.PDE(CELLS), cs.DebiasedL2(CELLS)):
        assert Family({"ece": cs.ECE(CELLS), "other": other}).prepare(sample.predictions).capabilities.tally is None
    draws = cs.Consistency(200).draw(together, sample, cs.as_generator(0)).samples
    alone = cs.Consistency(200).draw(cs.ECE(CELLS), sample, cs.as_generator(0)).samples
    np.testing.assert_array_equal(draws[:, 0], alone)
    assert (draws[:, 1] >= draws[:, 0] - 1e-15).all()


def test_a_mixed_family_shares_what_it_can():
    sample = make_sample(2, seed=7)
    members = {"ece": cs.ECE(CELLS), "pde": cs.PDE(CELLS), "rms": cs.RMSCE(CELLS), "two": cs.ECE(cs.EqualWidth(2))}
    evaluator = Family(members).prepare(sample.predictions)
    assert [cells.places for cells in evaluator.common] == [[0, 2], [3]]
    draws = np.random.Generator(np.random.PCG64(0)).integers(0, 2, (4, len(sample)))
    expected = np.stack([each.prepare(sample.predictions)(draws) for each in members.values()], axis=-1)
    np.testing.assert_allclose(evaluator(draws), expected, rtol=1e-13)


def test_a_test_of_a_family_says_that_it_is_of_canonical_calibration():
    sample = make_sample(3, seed=8, n=100)
    family = Family({"top": cs.TopLabel() | cs.ECE(CELLS), "a": cs.ClassWise("a") | cs.ECE(CELLS)})
    result = cs.calibration_test(sample, family, rng=0)
    assert result.question.lens == cs.Canonical()
    assert "seen through Canonical()" in everything(result)
    assert result.statistic == pytest.approx(max(family(sample).values))


@pytest.mark.parametrize("members", [{}, {"ece": "ECE"}])
def test_a_family_needs_estimators(members):
    with pytest.raises((ValueError, TypeError), match="members is"):
        Family(members)


def test_named_values_say_which_names_there_are():
    with pytest.raises(KeyError, match="the names are"):
        NamedValues(("a",), (1.0,), 1.0)["b"]


def naive_jackknife(estimator, sample):
    n, rows = len(sample), np.arange(len(sample))
    left_out = [estimator(sample.take(np.delete(rows, i))) for i in rows]
    return n * estimator(sample) - (n - 1) * np.mean(left_out)


@pytest.mark.parametrize("estimator", [cs.SquaredCE(CELLS), cs.ECE(CELLS), cs.PDE(CELLS), cs.RMSCE(CELLS)], ids=repr)
def test_the_jackknife_leaves_out_one_row_at_a_time(estimator):
    sample = make_sample(2, seed=9, n=25)
    assert Jackknifed(estimator)(sample) == pytest.approx(naive_jackknife(estimator, sample), abs=1e-11)


def test_the_jackknife_of_a_squared_mean_is_unbiased():
    """A variance is taken out of the square, exactly: the U-statistic over pairs of rows."""
    sample = make_sample(2, seed=10)
    one_cell = cs.FixedEdges([0, 1])
    assert Jackknifed(cs.SquaredCE(one_cell))(sample) == pytest.approx(cs.DebiasedL2(one_cell)(sample), abs=1e-12)


def test_the_jackknife_changes_no_weighted_mean():
    """Busing et al. (1999): what is linear has no bias to correct, whatever the weights."""
    sample = make_sample(2, seed=11, weighted=True)

    def mean(seen):
        return float(np.average(seen.outcomes - seen.predictions.event, weights=seen.predictions.weights))

    assert Jackknifed(cs.Generic(mean))(sample) == pytest.approx(mean(sample), abs=1e-12)


def test_the_jackknife_moves_intervals_and_leaves_their_width():
    """A corrected standard error of a slope was 0.07 in place of 0.56; the interval then held the truth by luck."""
    sample = make_sample(2, seed=13, n=40)
    plain, corrected = cs.Cox()(sample), Jackknifed(cs.Cox())(sample)
    assert corrected.slope_error == plain.slope_error
    assert corrected.slope != pytest.approx(plain.slope, rel=1e-3)
    assert np.mean(corrected.slope_interval) == pytest.approx(corrected.slope)
    assert np.diff(corrected.slope_interval) == pytest.approx(np.diff(plain.slope_interval))


@pytest.mark.slow
def test_jackknifed_slopes_are_covered():
    """By 95 % intervals of 400 samples of 60 rows."""
    world = cs.generators.BetaPredictions(1, 1, cs.generators.Slope(0.7))
    found = [Jackknifed(cs.Cox())(world.sample(60, rng=seed)).slope_interval for seed in range(400)]
    error = np.sqrt(0.95 * 0.05 / len(found))
    assert abs(np.mean([low <= 0.7 <= high for low, high in found]) - 0.95) < 4 * error
    # the negative control: intervals half as wide
    assert np.mean([abs((low + high) / 2 - 0.7) <= (high - low) / 4 for low, high in found]) < 0.95 - 4 * error


def test_the_jackknife_works_in_blocks(monkeypatch):
    from calibstat.estimators import wrappers as jackknife

    sample = make_sample(2, seed=12)
    whole = Jackknifed(cs.ECE(CELLS))(sample)
    monkeypatch.setattr(jackknife, "_NUMBERS", 100)
    assert Jackknifed(cs.ECE(CELLS))(sample) == pytest.approx(whole, abs=1e-13)
