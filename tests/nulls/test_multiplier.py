"""Signs multiplied into residuals: the door of evaluators, and the null that uses it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

import calibstat as cs
from calibstat.estimators.base import Headline
from calibstat.estimators.combined import EachClass, Family, Within
from calibstat.estimators.smooth import SmoothCE
from calibstat.estimators.walks import KolmogorovSmirnov, Kuiper
from calibstat.nulls.multiplier import Multiplier, signed_values
from registry import make_sample
from suites import everything

TWO = [
    cs.ECE(cs.EqualMass(4)),
    cs.RMSCE(cs.EqualMass(4)),
    cs.SquaredCE(cs.EqualMass(4)),
    cs.DebiasedL2(cs.EqualMass(4)),
    cs.MaximumMiscalibration(cs.EqualWidth(4)),
    cs.ExpectedMiscalibration(cs.SimplexGrid(3), cs.Lp(2)),
    cs.VECE("age", cs.EqualMass(3)),
    Headline(cs.ECE(cs.EqualMass(4))),
    Kuiper(),
    KolmogorovSmirnov(),
    SmoothCE(),
    Within("sex", cs.ECE(cs.EqualMass(4))),
    Family({"one": cs.ECE(cs.EqualMass(4)), "two": Kuiper()}),
]
MANY = [
    cs.ECE(cs.SimplexGrid(3)),
    cs.DebiasedL2(cs.SimplexGrid(3)),
    cs.TopLabel() | cs.ECE(cs.EqualMass(4)),
    cs.ClassWise("a") | Kuiper(),
    EachClass(cs.ECE(cs.EqualMass(4))),
    EachClass(Kuiper(), norm=np.inf),
    cs.Region.between("age", 1, 6) | cs.TopLabel() | cs.RMSCE(cs.EqualMass(3)),
]
BOTH = [(estimator, 2) for estimator in TWO] + [(estimator, 4) for estimator in MANY]
over_both = pytest.mark.parametrize(("estimator", "n_classes"), BOTH, ids=lambda value: repr(value))


def drawn_signs(n, size=6, seed=3):
    return np.random.default_rng(seed).normal(size=(size, n))


@over_both
@pytest.mark.parametrize("weighted", [False, True])
def test_signs_of_one_change_nothing(estimator, n_classes, weighted):
    sample = make_sample(n_classes, weighted=weighted)
    evaluator = estimator.prepare(sample.predictions)
    found = signed_values(evaluator, sample, np.ones((2, len(sample))))
    np.testing.assert_allclose(found, [evaluator(sample.outcomes)] * 2, atol=1e-12)


@pytest.mark.parametrize(
    ("estimator", "n_classes"), [pair for pair in BOTH if pair[0].residual_form == "seminorm"], ids=repr
)
@pytest.mark.parametrize("weighted", [False, True])
def test_seminorms_are_homogeneous_symmetric_and_subadditive(estimator, n_classes, weighted):
    sample = make_sample(n_classes, weighted=weighted)
    headline = Headline(estimator.core)
    seen = estimator.lens(sample)
    evaluator = headline.prepare(seen.predictions)
    first, second = drawn_signs(len(seen)), drawn_signs(len(seen), seed=4)
    one, two = (signed_values(evaluator, seen, signs) for signs in (first, second))
    np.testing.assert_allclose(signed_values(evaluator, seen, -3 * first), 3 * one, atol=1e-12)
    assert (signed_values(evaluator, seen, first + second) <= one + two + 1e-12).all()


@pytest.mark.parametrize("estimator", [cs.SquaredCE(cs.EqualMass(4)), cs.DebiasedL2(cs.EqualMass(4))], ids=repr)
def test_negative_control_squares_are_no_seminorms(estimator):
    sample = make_sample(2)
    evaluator, signs = estimator.prepare(sample.predictions), drawn_signs(len(sample))
    assert estimator.residual_form != "seminorm"
    tripled, plain = (signed_values(evaluator, sample, factor * signs) for factor in (3, 1))
    assert not np.allclose(tripled, 3 * plain, rtol=0.1)


class WithoutDoor(cs.Evaluator):
    """An evaluator whose fast way is hidden: known chances take its place."""

    def __init__(self, inner):
        self.inner, self.shape = inner, inner.shape

    def __call__(self, outcomes, weights=None):
        return self.inner(outcomes, weights)


@pytest.mark.parametrize(
    ("estimator", "n_classes"),
    [pair for pair in BOTH if pair[0].residual_form != "pairs" and isinstance(pair[0], cs.BinnedEstimator)],
    ids=repr,
)
def test_both_ways_agree(estimator, n_classes):
    sample = make_sample(n_classes, weighted=True)
    evaluator, signs = estimator.prepare(sample.predictions), drawn_signs(len(sample))
    slow = signed_values(WithoutDoor(evaluator), sample, signs)
    np.testing.assert_allclose(evaluator.capabilities.signed(sample.outcomes, signs), slow, atol=1e-12)


@over_both
def test_replicates_are_evaluated_one_by_one(estimator, n_classes):
    sample = make_sample(n_classes)
    evaluator, signs = estimator.prepare(sample.predictions), drawn_signs(len(sample))
    one_by_one = [signed_values(evaluator, sample, row[None])[0] for row in signs]
    np.testing.assert_allclose(signed_values(evaluator, sample, signs), one_by_one, atol=1e-12)


def test_worked_by_hand():
    """Residuals -0.2, 0.3, 0.1, -0.4 in cells {0.2, 0.4}, {0.7, 0.9}; the signs turn the first and the last."""
    sample = cs.Sample([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    signs = np.array([[-1.0, 1.0, 1.0, -1.0], [-1.0, 1.0, 1.0, 1.0]])
    binning = cs.FixedEdges([0, 0.5, 1])
    np.testing.assert_allclose(signed_values(cs.ECE(binning).prepare(sample.predictions), sample, signs), [0.25, 0.15])
    # cell products: (0.2 * 0.4, 0.3 * 0.1), then (-0.2 * 0.4, 0.3 * 0.1), each a mean of pairs weighted by a half
    found = signed_values(cs.DebiasedL2(binning).prepare(sample.predictions), sample, signs)
    np.testing.assert_allclose(found, [0.055, -0.025])


def test_draws_are_rademacher_signs_of_the_residuals():
    sample = cs.Sample([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    drawn = Multiplier(4000).draw(cs.ECE(cs.FixedEdges([0, 1])), sample, np.random.default_rng(0)).samples
    signs = np.array(np.meshgrid(*[[-1, 1]] * 4)).reshape(4, -1).T
    values, counts = np.unique(np.abs(signs @ [-0.2, 0.3, 0.1, -0.4] / 4).round(9), return_counts=True)
    found, seen = np.unique(drawn.round(9), return_counts=True)
    np.testing.assert_allclose(found, values)
    assert (np.abs(seen - 4000 * counts / 16) <= 4 * np.sqrt(4000 * counts / 16)).all()


def test_centred_signs_sum_to_zero_over_the_rows():
    sample = make_sample(2)
    total = cs.ECE(cs.FixedEdges([0, 1]))
    constant = cs.Sample.of(replace(sample.predictions, rows=np.full((len(sample), 2), 0.5)), sample.outcomes)
    everywhere = replace(constant.predictions, rows=np.tile([0.5, 0.5], (len(sample), 1)))
    ones = cs.Sample.of(everywhere, np.ones(len(sample), dtype=np.intp))  # every residual is a half
    centred, plain = (
        Multiplier(50, centred=way).draw(total, ones, np.random.default_rng(0)).samples for way in (True, False)
    )
    np.testing.assert_allclose(centred, 0, atol=1e-12)
    assert plain.max() > 0.01


def test_one_sign_for_each_cluster():
    n = 60
    group = np.repeat(np.arange(6), 10).astype(float)
    whole, rows = (
        cs.Sample(np.ones(n, dtype=int), np.full(n, 0.5), groups=groups, labels=[0, 1]) for groups in (group, None)
    )
    drawn, alone = (
        Multiplier(500).draw(cs.ECE(cs.FixedEdges([0, 1])), sample, np.random.default_rng(0)).samples
        for sample in (whole, rows)
    )
    assert set((drawn * 6 / 0.5).round(9)) <= {0.0, 2.0, 4.0, 6.0}
    assert drawn.std() > 2 * alone.std()


def test_fewer_draws_are_a_prefix_of_more():
    sample = make_sample(2)
    fewer, more = (
        Multiplier(size).draw(cs.ECE(cs.EqualMass(4)), sample, cs.as_generator(3)).samples for size in (5, 50)
    )
    np.testing.assert_array_equal(fewer, more[:5])


def test_the_test_says_what_was_tested():
    sample = make_sample(2, n=600)
    text = everything(cs.calibration_test(sample, cs.VECE("age", cs.EqualMass(3)), null=Multiplier(99), rng=0))
    assert "given 'age', the mean of outcome - prediction" in text
    assert "(the weak null)" in text
    assert "no exact null" not in text
    alike = cs.Sample(
        sample.y_true, sample.y_prob, groups=sample.predictions.variables["age"].values, labels=sample.labels
    )
    clustered = cs.calibration_test(alike, cs.ECE(cs.EqualMass(3)), null=Multiplier(99), rng=0)
    assert "no exact null is known for rows that depend on each other" in everything(clustered)


@pytest.mark.parametrize(
    "estimator",
    [cs.PDE(cs.EqualMass(4)), cs.DebiasedCE(cs.EqualMass(4)), cs.Generic(lambda s: 0.0), EachClass(cs.DebiasedCE())],
    ids=["PDE", "DebiasedCE", "Generic", "EachClass"],
)
def test_what_depends_on_more_than_residuals_is_refused(estimator):
    with pytest.raises(ValueError, match="depends on more than outcome - prediction"):
        cs.calibration_test(make_sample(2), estimator, null=Multiplier(9))


def test_an_estimator_of_ones_own_says_so():
    @dataclass(frozen=True)
    class Largest(cs.BinnedEstimator):
        binning: cs.Binning
        quantity: ClassVar[str] = "largest residual sum"
        residual_form = "seminorm"
        estimand = property(lambda self: self)

        def functional(self, tally):
            return np.abs(tally.residual).max(axis=(-1, -2))

    sample = make_sample(2, n=400)
    assert 0 < cs.calibration_test(sample, Largest(cs.EqualMass(4)), null=Multiplier(99), rng=0).pvalue <= 1
    assert cs.estimate(sample, Largest(cs.EqualMass(4)), rng=0).confidence_interval.low >= 0


@pytest.mark.parametrize("n_groups", [1, 2, 3])
def test_fewer_than_four_clusters_are_refused(n_groups):
    rng = np.random.default_rng(0)
    p, y, question = rng.random(40), rng.random(40), cs.ECE(cs.FixedEdges([0, 1]))
    few, enough = (cs.Sample(y < p, p, groups=np.arange(40) % size, labels=[False, True]) for size in (n_groups, 4))
    message = f"the sample has {n_groups} of 'groups', but at least 4 clusters are needed"
    for null in (None, Multiplier(99)):
        with pytest.raises(ValueError, match=message):
            cs.calibration_test(few, question, null=null, rng=0)
        assert 0 < cs.calibration_test(enough, question, null=null, rng=0).pvalue <= 1


def test_clusters_have_this_null_by_default_and_in_place_of_others():
    sample = make_sample(2, n=600)
    alike = cs.Sample(sample.y_true, sample.y_prob, groups=np.arange(600) // 3, labels=sample.labels)
    question = cs.ECE(cs.EqualMass(3))
    default, named, other = (
        cs.calibration_test(alike, question, null=null, rng=0) for null in (None, Multiplier(), cs.Consistency(999))
    )
    assert default.null == named.null == other.null == Multiplier(999)
    assert default.pvalue == named.pvalue == other.pvalue
    assert default.notes == named.notes == ()
    (note,) = other.notes
    assert note.startswith("Consistency(n_resamples=999")
    assert "takes rows as independent, which those of the same 'groups' are not" in note
    assert "was used, which holds for clusters" in note


def test_what_signs_cannot_multiply_is_tested_by_labels_of_clusters():
    sample = make_sample(2, n=600)
    alike = cs.Sample(sample.y_true, sample.y_prob, groups=np.arange(600) // 3, labels=sample.labels)
    found = cs.calibration_test(alike, cs.PDE(cs.EqualMass(4)), n_resamples=99, rng=0)
    assert found.null_distribution.samples.shape == (99,)
    assert 0 < found.pvalue <= 1
