"""Local regression against a plain loop, its grid version against the exact one, and its band."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta, norm

import calibstat as cs
from calibstat.estimators._local_fits import LocalOperator, _first_of_inverses, nearest_widths, numbered, runs
from calibstat.estimators.base import Headline
from calibstat.estimators.loess import LOESS, VCE
from registry import make_sample


def naive_fit(x, y, weights, at, span, degree):
    """Cleveland & Grosse (1991), point by point, by least squares on the weighted design."""
    share = np.floor(len(x) * span + 1e-5) / len(x) * weights.sum()
    distance, reached = np.abs(x - at), 0.0
    for i in np.argsort(distance):
        reached += weights[i]
        width = distance[i]
        if reached >= min(share, weights.sum()) * (1 - 1e-9):
            break
    width *= max(span, 1)
    kernel = np.zeros(len(x))
    for i, d in enumerate(distance):
        if d <= 0.001 * width:
            kernel[i] = 1
        elif d < 0.999 * width:
            kernel[i] = (1 - (d / width) ** 3) ** 3
    root = np.sqrt(kernel * weights)
    design = (x - at)[:, None] ** np.arange(degree + 1)
    return np.linalg.lstsq(design * root[:, None], y * root, rcond=None)[0][0]


def world(n, seed=0, weighted=False):
    rng = np.random.Generator(np.random.PCG64(seed))
    x, p = rng.normal(size=n), rng.random(n)
    weights = rng.integers(1, 4, n) / 2 if weighted else None
    chance = np.clip(p + 0.2 * np.sin(2 * x), 0, 1)
    return cs.Given("x")(cs.Sample(rng.random(n) < chance, p, variables={"x": x}, sample_weight=weights))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("span", "degree"), [(0.4, 1), (0.75, 2), (1.0, 2), (1.6, 1)])
def test_the_curve_agrees_with_a_plain_loop(span, degree, weighted):
    sample = world(60, weighted=weighted)
    seen, x = sample.predictions, sample.predictions.conditioned[:, 0]
    weights = np.ones(60) if seen.weights is None else seen.weights
    curve = LOESS(span, degree, n_points=7)(sample)
    for place, at in enumerate(curve.x):
        outcome = naive_fit(x, sample.outcomes, weights, at, span, degree)
        prediction = naive_fit(x, seen.event, weights, at, span, degree)
        np.testing.assert_allclose([curve.outcome[place], curve.prediction[place]], [outcome, prediction], atol=1e-9)
        assert curve.deviation[place] == pytest.approx(outcome - prediction, abs=1e-9)


def test_the_points_lie_between_quantiles():
    sample = world(60)
    x = sample.predictions.conditioned[:, 0]
    curve = LOESS(n_points=5, trim=0.1)(sample)
    np.testing.assert_allclose(curve.x, np.linspace(*np.quantile(x, [0.1, 0.9]), 5))


def test_tied_values_are_pooled_exactly():
    rng = np.random.Generator(np.random.PCG64(1))
    p = rng.integers(1, 9, 200) / 10
    sample = cs.Sample(rng.random(200) < p, p)
    curve = LOESS(0.75, n_points=9)(sample)
    # with so many ties rows are a neighbourhood of their own: the loop breaks off at the q-th row
    for place, at in enumerate(curve.x):
        if not np.isclose(np.abs(p - at).min(), 0):
            expected = naive_fit(p, sample.outcomes, np.ones(200), at, 0.75, 2)
            assert curve.outcome[place] == pytest.approx(expected, abs=1e-8)


def by_rows(sample, at):
    """The weights of rows in the smooths at some points, from a fit of each row alone."""
    x = sample.predictions.conditioned[:, 0]
    weights = np.ones(len(x)) if sample.predictions.weights is None else sample.predictions.weights
    return np.array([[naive_fit(x, row, weights, each, 0.75, 2) for row in np.eye(len(x))] for each in at])


@pytest.mark.parametrize("weighted", [False, True])
def test_the_band_has_the_variances_of_outcomes_and_binomial_limits(weighted):
    sample = world(50, weighted=weighted)
    curve = LOESS(0.75, n_points=30)(sample)
    rows = by_rows(sample, curve.x)
    chance = np.clip(np.interp(sample.predictions.conditioned[:, 0], curve.x, curve.outcome), 0, 1)
    error = np.sqrt(rows**2 @ (chance * (1 - chance)))
    np.testing.assert_allclose(curve.standard_error, error, rtol=1e-8)
    n = 1 / (rows**2).sum(axis=1)
    events = np.clip(curve.outcome, 1e-300, 1 - 1e-12) * n
    low, high = beta.ppf(0.025, events, n - events + 1), beta.ppf(0.975, events + 1, n - events)
    reach = norm.ppf(0.975) * error
    np.testing.assert_allclose(curve.low, np.minimum(low, curve.outcome - reach), atol=1e-8)
    np.testing.assert_allclose(curve.high, np.maximum(high, curve.outcome + reach), atol=1e-8)


def test_without_events_the_band_is_not_empty():
    p = np.linspace(0.01, 0.05, 60)
    curve = LOESS(n_points=9)(cs.Sample(np.zeros(60, dtype=int), p, labels=[0, 1]))
    assert curve.low == pytest.approx(np.zeros(9), abs=1e-12)
    assert (curve.high > 0.05).all()


@pytest.mark.parametrize(("span", "bound"), [(0.1, 4e-3), (0.3, 1.2e-3), (0.75, 5e-4)])
@pytest.mark.parametrize("shape", ["uniform", "both ends", "rare"])
def test_the_grid_version_is_as_close_to_the_exact_one_as_documented(shape, span, bound):
    rng = np.random.Generator(np.random.PCG64(2))
    p = {"uniform": rng.random(2000), "both ends": rng.beta(0.2, 0.2, 2000), "rare": rng.beta(1, 19, 2000)}[shape]
    sample = cs.Sample(rng.random(2000) < p**1.2, p)
    exact, fast = LOESS(span, n_points=100, n_cells=None)(sample), LOESS(span, n_points=100)(sample)
    assert 0 < np.abs(exact.outcome - fast.outcome).max() < bound
    assert np.abs(exact.deviation - fast.deviation).max() < bound
    np.testing.assert_allclose(fast.high, exact.high, atol=2 * bound)


def test_few_different_values_are_kept_apart():
    sample = world(300)
    np.testing.assert_array_equal(LOESS()(sample).outcome, LOESS(n_cells=None)(sample).outcome)


def test_a_heavy_tie_does_not_break_the_fit():
    """More than a span of the rows say exactly 1; a point beside the tie has nothing nearer."""
    p = np.concatenate([np.linspace(0.1, 0.9, 20), np.ones(80)])
    y = np.concatenate([np.tile([0, 1], 10), np.ones(80, dtype=int)])
    curve = LOESS(0.5, n_points=30, trim=0)(cs.Sample(y, p))
    assert np.isfinite(curve.outcome).all()
    assert curve.outcome[-1] == pytest.approx(1, abs=1e-9)


def test_weights_are_relative_and_count_by_kish():
    one, other = world(80, weighted=True), world(80, weighted=True)
    weights = other.predictions.weights * 7.0
    scaled = cs.Given("x")(
        cs.Sample(
            other.outcomes,
            other.predictions.event,
            variables={"x": other.predictions.conditioned[:, 0]},
            sample_weight=weights,
        )
    )
    first, second = LOESS()(one), LOESS()(scaled)
    np.testing.assert_allclose(second.low, first.low, rtol=1e-9, atol=1e-12)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_weights_whose_squares_leave_the_range_of_numbers_have_bands():
    def curve(small):
        weights = np.r_[np.full(4, small), np.ones(4)]
        return cs.LOESS(0.4, 1, 9, 0.0)(cs.Sample([0, 1, 0, 1, 1, 1, 0, 1], p, sample_weight=weights))

    p = [0.1, 0.2, 0.25, 0.3, 0.8, 0.85, 0.9, 0.95]
    tiny, small = curve(1e-300), curve(1e-100)
    for name in ("deviation", "standard_error", "low", "high", "prediction_low", "prediction_high"):
        np.testing.assert_allclose(getattr(tiny, name), getattr(small, name), rtol=1e-9, atol=1e-12, err_msg=name)
    assert tiny.standard_error.max() > 0.1


def test_moving_weights_fit_anew():
    """With the neighbourhoods kept, a weighted least squares at each point."""
    sample = world(40)
    weights = np.random.Generator(np.random.PCG64(3)).integers(0, 3, (3, 40)).astype(float)
    parameters = LOESS(n_points=4)
    evaluate = parameters.prepare(sample.predictions)
    found = evaluate(sample.outcomes, weights)
    x, residual = sample.predictions.conditioned[:, 0], sample.outcomes - sample.predictions.event
    for place, at in enumerate(evaluate.operator.points[:4]):
        kernel = np.clip(1 - (np.abs(x - at) / evaluate.operator.widths[place]) ** 3, 0, None) ** 3
        for replicate in range(3):
            root = np.sqrt(kernel * weights[replicate])
            design = (x - at)[:, None] ** np.arange(3)
            fit = np.linalg.lstsq(design * root[:, None], residual * root, rcond=None)[0][0]
            assert found[replicate, place] == pytest.approx(fit, abs=1e-6)


def test_points_are_computed_in_blocks(monkeypatch):
    from calibstat.estimators import _local_fits as local_fits

    sample = world(100)
    whole = LOESS(n_points=50)(sample)
    monkeypatch.setattr(local_fits, "NUMBERS_IN_CACHE", 1000)
    np.testing.assert_allclose(LOESS(n_points=50)(sample).outcome, whole.outcome, atol=1e-12)


def test_vce_is_the_largest_difference_and_says_where():
    rng = np.random.Generator(np.random.PCG64(4))
    age, p = rng.uniform(20, 80, 4000), rng.random(4000)
    chance = np.clip(p - 0.3 * np.exp(-(((age - 35) / 8) ** 2)), 0, 1)
    sample = cs.Sample(rng.random(4000) < chance, p, variables={"age": age})
    found = VCE("age", 0.3)(sample)
    assert abs(found.location - 35) < 4
    assert float(found) == found.maximum == np.abs(found.deviation).max()
    assert VCE("age", 0.3) == cs.Given("age") | LOESS(0.3)
    result = cs.calibration_test(sample, VCE("age", 0.3), rng=0)
    assert result.pvalue < 0.01
    assert result.statistic == found.maximum


def test_null_draws_of_the_tally_and_of_labels_agree():
    sample = world(120)
    means = [
        cs.Consistency(400, shortcuts=way).draw(Headline(LOESS(n_points=20)), sample, cs.as_generator(1)).mean
        for way in (True, False)
    ]
    assert abs(means[0] - means[1]) < 0.012


def test_the_curve_prints_its_maximum():
    assert repr(LOESS()(make_sample(2))).startswith("LocalCurve(maximum=")


@pytest.mark.parametrize(
    ("estimator", "n_classes", "message"),
    [
        (LOESS(), 3, "needs 2 classes"),
        (cs.Given("sex") | LOESS(), 2, "categorical with levels"),
        (cs.Given(..., "age") | LOESS(), 2, "smooths along one column, but 2"),
    ],
)
def test_it_needs_one_numeric_column_and_two_classes(estimator, n_classes, message):
    with pytest.raises(ValueError, match=message):
        estimator(make_sample(n_classes))


def test_too_many_values_are_refused(monkeypatch):
    from calibstat.estimators import _local_fits as cells

    monkeypatch.setattr(cells, "MOST_CELLS", 30)
    with pytest.raises(ValueError, match="use n_cells=1024"):
        LOESS(n_cells=None)(world(40))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"span": 0}, "span is 0"),
        ({"span": np.nan}, "span is nan"),
        ({"degree": 3}, "degree is 3"),
        ({"trim": 0.5}, "trim is 0.5"),
        ({"n_points": 0}, "n_points"),
        ({"n_cells": 0}, "n_cells"),
    ],
)
def test_parameters_are_checked(parameters, message):
    with pytest.raises(ValueError, match=message):
        LOESS(**parameters)


def test_the_matrix_is_the_fit():
    rng = np.random.Generator(np.random.PCG64(5))
    operator = LocalOperator(np.array([0.2, 0.7]), np.sort(rng.random(12)), np.array([0.5, 0.6]), 2)
    mass, sums = rng.integers(1, 5, 12).astype(float), rng.random(12)
    np.testing.assert_allclose(operator.fit(mass[None], sums[None, None])[0, 0], operator.matrix(mass) @ sums)


@pytest.mark.parametrize("degree", [1, 2])
def test_the_first_row_of_an_inverse_is_that_of_the_pseudo_inverse(degree):
    """Moments of windows from good to hopeless: well spread, one-sided, of two nearly equal places, of one, of none."""
    rng = np.random.default_rng(8)
    places = [rng.uniform(-1, 1, 20), rng.uniform(0.8, 1, 20), np.r_[0.5, 0.5 + 1e-7], np.array([0.3]), np.zeros(0)]
    powers = np.arange(degree + 1)
    normal = np.array([[[(g**k).sum() for k in row] for row in np.add.outer(powers, powers)] for g in places])
    expected = np.linalg.pinv(normal, rcond=1e-10, hermitian=True)[:, 0]
    np.testing.assert_allclose(_first_of_inverses(normal), expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("span", [0.1, 0.6])
def test_cells_out_of_reach_are_left_out_and_nothing_else(span, monkeypatch):
    """Also where a width is zero, because a tie at the end holds more than a share `span`."""
    from calibstat.estimators import _local_fits as local_fits

    centres = np.r_[np.sort(np.random.default_rng(9).random(99)), 1.0]
    mass = np.r_[np.ones(99), 200.0]
    points = np.r_[np.linspace(0, 1, 70), centres]
    operator = LocalOperator(points, centres, nearest_widths(points, centres, mass, span, 299), 1)
    assert (operator.widths == 0).any()
    near = operator.matrix(mass)
    monkeypatch.setattr(local_fits, "_POINTS", 10_000)
    np.testing.assert_allclose(near, operator.matrix(mass), atol=1e-12)
    assert near[69, -1] == near[-1, -1] == pytest.approx(1 / 200)
    for place, (at, width) in enumerate(zip(points, operator.widths, strict=True)):
        assert (near[place, np.abs(centres - at) > width] == 0).all()


def test_a_tie_of_many_rows_keeps_its_place_exactly():
    """The mean of 100 000 equal numbers is rounded; the cell is at the number."""
    p = np.r_[np.full(100_000, 0.7), np.full(50_000, 0.1)]
    assert p.cumsum()[99_999] / 100_000 != 0.7
    for sample in (cs.Sample(np.arange(150_000) % 2, p), cs.Sample(np.arange(1, 150_001) % 2, p)):
        np.testing.assert_array_equal(LOESS().gaps(sample.predictions).cells.centres, [0.1, 0.7])


def test_the_band_changes_no_value():
    sample = world(200)
    found = [LOESS(n_points=9, band=band).prepare(sample.predictions)(sample.outcomes) for band in ("outcome", "null")]
    np.testing.assert_array_equal(*found)


# Peers


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("span", [0.3, 0.5, 0.75, 0.9, 1.0])
def test_direct_fits_agree_with_scikit_misc(span, degree):
    loess = pytest.importorskip("skmisc.loess").loess
    sample = world(300)
    x, y = sample.predictions.conditioned[:, 0], sample.outcomes.astype(float)
    peer = loess(x, y, span=span, degree=degree, surface="direct", statistics="exact")
    peer.fit()
    curve = LOESS(span, degree, n_points=50)(sample)
    np.testing.assert_allclose(curve.outcome, peer.predict(curve.x).values, atol=1e-8)


def test_the_interpolated_surface_of_scikit_misc_is_near():
    """Its default, and R's, interpolates between the vertices of a k-d tree."""
    loess = pytest.importorskip("skmisc.loess").loess
    sample = world(1000)
    x, y = sample.predictions.conditioned[:, 0], sample.outcomes.astype(float)
    peer = loess(x, y, span=0.75)
    peer.fit()
    curve = LOESS(0.75, n_points=50)(sample)
    difference = np.abs(peer.predict(curve.x).values - curve.outcome).max()
    assert 1e-3 < difference < 0.03


# Cells without a sort, and the null band


@pytest.mark.parametrize("shape", [(1, 1), (4, 0.8), (1, 19)])
def test_cells_without_a_sort_hold_about_equally_many_rows_and_keep_ties(shape):
    values = np.random.default_rng(2).beta(*shape, size=70_000).round(6)
    index, counts = numbered(values, None, 512)
    np.testing.assert_array_equal(np.bincount(index), counts)
    assert 400 <= len(counts) <= 512
    assert counts.max() <= 2 * 70_000 / 512
    order = np.argsort(values, kind="stable")
    assert (np.diff(index[order]) >= 0).all()
    assert (np.diff(index[order])[np.diff(values[order]) == 0] == 0).all()


def test_cells_without_a_sort_do_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(3)
    values, order = rng.random(70_000), rng.permutation(70_000)
    first, second = numbered(values, None, 1024), numbered(values[order], None, 1024)
    np.testing.assert_array_equal(first[0][order], second[0])


def test_heavy_ties_and_narrow_laws_are_sorted():
    for values in (np.r_[np.zeros(1000), np.random.default_rng(4).random(70_000)], np.full(70_000, 0.3)):
        sample = cs.Sample(np.arange(len(values)) % 2, values)
        index, counts = numbered(values, sample.predictions, 512)
        np.testing.assert_array_equal(index, runs(values, np.argsort(values, kind="stable"), 512)[0])
        np.testing.assert_array_equal(np.bincount(index), counts)


@pytest.mark.parametrize(("shape", "span"), [((1, 1), 0.75), ((1, 1), 0.3), ((4, 0.8), 0.3)])
def test_the_curve_from_cells_without_a_sort_is_as_close_as_documented(shape, span):
    """At 70 000 rows within 5 % of the standard error of a fit with 8 times as many cells, which are cut by a sort.

    Measured over 8 samples: 2.6 % (uniform scores) and 2.5 % (Beta(4, 0.8)) at most; as many cells cut by a sort are
    equally near. 32 cells, the negative control, are not as near.
    """
    rng = np.random.default_rng(5)
    p = rng.beta(*shape, size=70_000)
    sample = cs.Sample(rng.random(70_000) < p**1.5, p)
    found = LOESS(span, degree=1, n_points=50)(sample)
    fine = LOESS(span, degree=1, n_points=50, n_cells=8193)(sample)
    assert (np.abs(found.deviation - fine.deviation) < 0.05 * fine.standard_error).all()
    coarse = LOESS(span, degree=1, n_points=50, n_cells=32)(sample)
    assert not (np.abs(coarse.deviation - fine.deviation) < 0.05 * fine.standard_error).all()
    np.testing.assert_allclose(found.standard_error, fine.standard_error, rtol=0.01)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_null_band_has_the_exact_variance_of_calibrated_models(weighted):
    sample = world(80, weighted=weighted)
    curve = LOESS(0.6, n_points=7, band="null")(sample)
    evaluator = LOESS(0.6, n_points=7).prepare(sample.predictions)
    base = np.tile(sample.predictions.chances, (81, 1, 1))
    base[np.arange(80), np.arange(80)] = [0.0, 1.0]
    lines = evaluator(base)
    change = (lines[:80] - lines[80]) / (1 - sample.predictions.event)[:, None]  # of one outcome from 0 to 1
    variance = (change**2 * sample.predictions.chances.prod(axis=1)[:, None]).sum(axis=0)
    np.testing.assert_allclose(curve.standard_error, np.sqrt(variance), rtol=1e-8)
    np.testing.assert_allclose(curve.high - curve.prediction, 1.959964 * curve.standard_error, rtol=1e-6)
    np.testing.assert_allclose(curve.prediction - curve.low, 1.959964 * curve.standard_error, rtol=1e-6)


def test_the_null_band_holds_95_percent_of_calibrated_curves_at_each_point():
    """2000 draws at 20 points, which are dependent: four standard errors of one point, 0.0195."""
    rng = np.random.default_rng(6)
    p = rng.random(1000)
    sample = cs.Sample(rng.random(1000) < p, p)
    curve = LOESS(n_points=20, band="null")(sample)
    draws = cs.Consistency(2000).draw(LOESS(n_points=20), sample, rng).samples
    inside = (np.abs(draws) <= curve.high - curve.prediction).mean(axis=0)
    assert (np.abs(inside - 0.95) < 0.0195).all()
    narrow = (np.abs(draws) <= 0.8 * (curve.high - curve.prediction)).mean(axis=0)  # the negative control
    assert (np.abs(narrow - 0.95) > 0.0195).all()


def test_the_band_is_one_of_two():
    with pytest.raises(ValueError, match="band is 'both'; it must be 'outcome' or 'null'"):
        LOESS(band="both")


@pytest.mark.parametrize("span", [0.1, 0.5, 1.0, 1.7])
def test_widths_are_the_distances_of_the_nearest_mass(span):
    """Against sorting the distances of each point; centres with ties in distance and cells without mass."""
    rng = np.random.default_rng(7)
    for trial in range(200):
        centres = np.unique(rng.integers(0, 30, 12) / 10 if trial % 2 else rng.random(12))
        mass = rng.integers(0, 4, len(centres)).astype(float)
        mass[rng.integers(len(mass))] += 1
        points, n = np.concatenate([rng.random(5) * 4 - 1, centres]), int(mass.sum())
        expected = []
        for point in points:
            distance = np.abs(centres - point)
            order = np.argsort(distance)
            enough = np.cumsum(mass[order]) >= min(max(np.floor(n * span + 1e-5), 1), n) - 1e-9
            width = distance[order][enough.argmax()]
            nearest = distance[mass > 0].min()
            expected.append((1.01 * width if nearest >= 0.999 * width else width) * max(span, 1))
        np.testing.assert_allclose(nearest_widths(points, centres, mass, span, n), expected, atol=1e-12)


def test_many_rows_leave_no_cell_empty():
    """Cells made without a sort: rounding may leave no row in the last of the narrow intervals."""
    for n in (40_000, 50_000):
        x = np.arange(float(n))
        sample = cs.Sample(np.arange(n) % 2, np.full(n, 0.5), variables={"x": x})
        _, counts = numbered(x, cs.Given("x")(sample).predictions, 1024)
        assert counts.min() > 0
        assert counts.sum() == n
