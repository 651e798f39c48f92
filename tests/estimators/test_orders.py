"""Orders and roots of errors of cells: the same numbers as other packages give, and the same tests and intervals."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from registry import make_sample

ROWS = np.arange(400)
P, U = ((ROWS * 157) % 401 + 0.5) / 401.5, ((ROWS * 263) % 409 + 0.5) / 409.5
SAMPLE = cs.Sample((P**1.4 > U).astype(int), P)
LEVELS = ((ROWS * 157) % 21) / 20
TIED = cs.Sample((LEVELS**1.4 > U).astype(int), LEVELS)
CELLS = cs.EqualMass(15)


@pytest.mark.parametrize(
    ("p", "mass", "width"),
    [
        (1, 0.08160336239103363, 0.08320983810709841),
        (2, 0.09158826700879584, 0.09801397624304103),
        (3, 0.09795590586810161, 0.10747808463913613),
    ],
)
def test_uncertainty_calibration_0_1_4_lower_bound_scaling_ce(p, mass, width):
    """With debias=False, num_bins=15, binning_scheme=get_equal_bins and get_equal_prob_bins."""
    assert cs.ECE(CELLS, p)(SAMPLE) == pytest.approx(mass, rel=1e-12)
    assert cs.ECE(cs.EqualWidth(15), p)(SAMPLE) == pytest.approx(width, rel=1e-12)


def test_netcal_1_4_0_mce():
    """MCE(15).measure(p, y), over cells of equal width."""
    assert cs.ECE(cs.EqualWidth(15), np.inf)(SAMPLE) == pytest.approx(0.16141392853721637, rel=1e-12)


def test_uncertainty_calibration_0_1_4_get_calibration_error():
    """Of 400 different scores (15 cells of equal mass), of 21 scores (their levels), and with num_bins=10."""
    assert cs.DebiasedCE(CELLS, root=True)(SAMPLE) == pytest.approx(0.04956598351743408, rel=1e-12)
    assert cs.DebiasedCE(cs.UniqueValues(), root=True)(TIED) == pytest.approx(0.19121323175972946, rel=1e-12)
    assert cs.DebiasedCE(cs.EqualMass(10), root=True)(SAMPLE) == pytest.approx(0.06587222089900012, rel=1e-12)


def test_uncertainty_calibration_0_1_4_get_calibration_error_of_three_classes():
    """Marginal, and with mode="top-label"."""
    rows = np.arange(600)
    logits = np.stack([((rows * step) % 601 + 0.5) / 601.5 for step in (157, 263, 389)], axis=1) ** 2 + 0.02
    p = logits / logits.sum(axis=1, keepdims=True)
    chances = p**1.3 / (p**1.3).sum(axis=1, keepdims=True)
    labels = (np.cumsum(chances, axis=1)[:, :2] < ((rows[:, None] * 211) % 607 + 0.5) / 607.5).sum(axis=1)
    sample, root = cs.Sample(labels, p), cs.DebiasedCE(CELLS, root=True)
    assert float(cs.EachClass(root, norm=2)(sample)) == pytest.approx(0.01657626556768294, rel=1e-11)
    assert (cs.TopLabel() | root)(sample) == pytest.approx(0.018660929747068518, rel=1e-11)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_orders_have_names(n_classes):
    for sample in (make_sample(n_classes, n=90), make_sample(n_classes, n=90, weighted=True)):
        cells = cs.SimplexGrid(3)
        assert cs.ECE(cells, 2) == cs.RMSCE(cells)
        assert cs.ECE(cells, 2)(sample) ** 2 == pytest.approx(cs.SquaredCE(cells)(sample), rel=1e-12)
        largest = cs.MaximumMiscalibration(cells, cs.Lp(np.inf))(sample)
        assert cs.ECE(cells, np.inf)(sample) == pytest.approx(largest, rel=1e-12)
        power = cs.LpCE(cells, 3)(sample) / (2 if n_classes == 2 else 1)  # which counts both classes of two
        assert cs.ECE(cells, 3)(sample) ** 3 == pytest.approx(power, rel=1e-12)
        if n_classes == 2:
            assert cs.ECE(cells, np.inf)(sample) == pytest.approx(cs.MaximumMiscalibration(cells)(sample), rel=1e-12)


@pytest.mark.parametrize("p", [1.5, 2, 7, np.inf])
def test_exact_pvalues_of_orders_are_those_of_redraws(p):
    estimator = cs.ECE(cs.EqualMass(4), p)
    sample = make_sample(2, n=60)
    exact = cs.calibration_test(sample, estimator, null=cs.Exact()).pvalue
    drawn = cs.calibration_test(sample, estimator, null=cs.Consistency(9999), rng=0).pvalue
    assert abs(exact - drawn) < 4 * np.sqrt(exact * (1 - exact) / 9999)
    assert 0.02 < exact < 0.98


def test_the_largest_cell_has_no_squared_form_and_orders_have():
    assert cs.ECE(CELLS, np.inf).squared_form is None
    assert cs.ECE(CELLS, 3).squared_form == cs.DebiasedL2(CELLS)


@pytest.mark.parametrize("estimator", [cs.DebiasedL2, cs.DebiasedCE])
def test_roots_are_increasing_maps_of_squares(estimator):
    """Same tests, roots of the ends of intervals; DebiasedL2 stands for DebiasedCE in intervals."""
    for sample in (SAMPLE, make_sample(2, n=150), make_sample(2, seed=4, n=150)):
        root, square = estimator(cs.EqualMass(5), root=True), estimator(cs.EqualMass(5))
        value = square(sample)
        assert root(sample) == pytest.approx(np.sign(value) * np.sqrt(abs(value)), abs=1e-15)
        first, second = (cs.estimate(sample, each, n_resamples=9999, rng=0) for each in (root, square))
        ends = np.square(first.confidence_interval)  # each has draws of its own
        np.testing.assert_allclose(ends, second.confidence_interval, rtol=0.02, atol=3e-4)
        for null in [cs.Consistency(199)] + [cs.Exact()] * (estimator is cs.DebiasedCE):
            pair = [
                cs.calibration_test(sample, each, null=null, rng=cs.as_generator(0)).pvalue for each in (root, square)
            ]
            assert pair[0] == pytest.approx(pair[1], rel=1e-6)
        assert cs.equivalence_test(sample, root, 0.2, rng=0).pvalue == pytest.approx(
            cs.equivalence_test(sample, square, 0.04, rng=0).pvalue, rel=1e-9
        )


def test_some_roots_are_negative_and_such_a_value_is_explained():
    values = [cs.DebiasedL2(cs.EqualMass(5), root=True)(make_sample(2, seed=seed, n=150)) for seed in range(20)]
    assert min(values) < 0 < max(values)
    found = cs.estimate(make_sample(2, seed=int(np.argmin(values)), n=150), cs.DebiasedL2(cs.EqualMass(5), root=True))
    assert found.confidence_interval.low == 0 < found.confidence_interval.high
    assert "below zero by chance" in str(found)


def test_a_square_within_rounding_of_zero_has_the_root_zero():
    half = cs.Sample([0, 1], [0.5, 0.5])
    assert cs.DebiasedCE(cs.EqualWidth(1), single_rows="zero", root=True)(half) == pytest.approx(-0.5)
    assert cs.DebiasedL2(root=True).link(np.array([-1e-16, 1e-16, -0.04, 0.09])).tolist() == [0, 0, -0.2, 0.3]


def test_a_root_is_compared_by_its_square():
    other = cs.Sample(SAMPLE.outcomes, P**1.4)
    pair = [cs.comparison_test(SAMPLE, other, each, rng=0) for each in (cs.DebiasedL2(root=True), cs.DebiasedL2())]
    assert pair[0].difference == pair[1].difference


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: cs.ECE(CELLS, 0.5), "p is 0.5; it must be a number from 1 to 50, or numpy.inf"),
        (lambda: cs.ECE(CELLS, "2"), "p is '2', a text"),
        (lambda: cs.DebiasedL2(CELLS, root="yes"), "root is 'yes', a text; it must be True or False"),
    ],
)
def test_orders_and_roots_that_are_none(make, words):
    with pytest.raises((TypeError, ValueError), match=words.replace(".", r"\.")):
        make()


@pytest.mark.parametrize("p", [20, 50])
def test_high_orders_have_the_pvalue_of_nearly_the_largest(p):
    rng = np.random.default_rng(0)
    q = rng.random(2000)
    for shift in (0.0, 0.05):
        sample = cs.Sample(rng.random(2000) < np.clip(q + shift, 0, 1), q)
        high, largest = (cs.calibration_test(sample, cs.ECE(cs.EqualMass(5), each), rng=0) for each in (p, np.inf))
        assert high.pvalue == pytest.approx(largest.pvalue, abs=0.1)
        assert high.null_mean == pytest.approx(largest.null_mean, rel=0.15)


@pytest.mark.parametrize(
    ("make", "most"),
    [
        (lambda p: cs.ECE(p=p), 50),
        (cs.Lp, 50),
        (lambda p: cs.EachClass(cs.ECE(), p), 50),
        (lambda p: cs.PDE(p=p), 10),
        (lambda p: cs.LpCE(p=p), 10),
        (lambda p: cs.KDECE(0.1, p=p), 10),
    ],
)
def test_orders_whose_powers_are_below_the_smallest_float_are_refused(make, most):
    make(most)
    with pytest.raises(ValueError, match=f"must be a number from 1 to {most}"):
        make(most + 1)


def test_a_power_and_its_root_have_the_same_pvalue():
    """Ties are told by the size of the statistic, of which a high power of a small error is none."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        q = rng.uniform(0.3, 0.7, 100)
        sample = cs.Sample(rng.random(100) < q, q)
        root, power = (
            cs.calibration_test(sample, each(cs.EqualMass(5), p=10), null=cs.Consistency(999), rng=0)
            for each in (cs.ECE, cs.LpCE)
        )
        assert power.pvalue == pytest.approx(root.pvalue, abs=0.06)
        assert cs.calibration_test(sample, cs.LpCE(cs.EqualMass(5), p=10), rng=0).pvalue == pytest.approx(
            root.pvalue, abs=0.06
        )
