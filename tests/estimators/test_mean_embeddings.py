"""Calibration errors at test locations: which locations, laws, sizes, and what they see."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

import calibstat as cs
from calibstat.estimators.kernel_locations import CME, UCME
from calibstat.generators import FinitePredictions
from published.enumeration import law_of_labels
from registry import make_sample
from validity.sizes import LEVEL, assert_not_above, assert_not_below
from validity.worlds import dirichlet, draw_class


def test_chosen_locations_are_rows_evenly_spaced_by_the_last_column():
    """Of eight rows the second, the fourth, the sixth and the eighth, and the classes in turn."""
    rows = np.array([[0.9 - 0.1 * i, 0.1, 0.1 * i] for i in range(8)])
    sample = cs.Sample([0, 1, 2, 0, 1, 2, 2, 2], rows)
    given = UCME(rows[[1, 3, 5, 7]], [0, 1, 2, 0], 0.3)
    assert UCME(4, bandwidth=0.3)(sample) == pytest.approx(given(sample), rel=1e-12)
    order = np.random.default_rng(0).permutation(8)
    assert UCME(4, bandwidth=0.3)(sample.take(order)) == pytest.approx(given(sample), rel=1e-12)


@pytest.mark.parametrize("estimator", [UCME(5), CME(5), CME(5, covariance="sample")], ids=repr)
def test_no_label_is_looked_at_when_locations_are_chosen(estimator):
    one, other = make_sample(3, seed=1), make_sample(3, seed=1)
    other = cs.Sample.of(other.predictions, other.outcomes[::-1])
    evaluate, again = (estimator.prepare(sample.predictions) for sample in (one, other))
    assert evaluate(one.outcomes) == again(one.outcomes)
    assert evaluate(one.outcomes) != again(other.outcomes)


def test_a_location_everywhere_is_the_mean_residual():
    sample = make_sample(3, seed=2, weighted=True)
    gaps = np.eye(3)[sample.outcomes] - sample.y_prob
    means = np.average(gaps, axis=0, weights=sample.predictions.weights)
    everywhere = UCME([[1 / 3] * 3] * 3, ["b", "a", "d"], bandwidth=1e9)
    assert everywhere(sample) == pytest.approx((means**2).mean(), rel=1e-6)


def test_locations_at_all_rows_and_classes_are_the_kernel_error_seen_through_the_kernel():
    """Each mean is a row of the kernel's matrix times the residuals."""
    sample = make_sample(3, seed=3, n=12)
    gaps, rows = np.eye(3)[sample.outcomes] - sample.y_prob, sample.y_prob
    near = np.exp(-np.abs(rows[:, None] - rows).sum(axis=-1) / 2 / 0.4)
    everywhere = UCME(np.repeat(rows, 3, axis=0), ["b", "a", "d"] * 12, 0.4)
    assert everywhere(sample) == pytest.approx(((near @ gaps / 12) ** 2).mean(), rel=1e-12)
    biased = cs.SKCE(0.4, kind="biased")(sample)
    assert (gaps * (near @ gaps)).sum() / 144 == pytest.approx(biased, rel=1e-12)


def test_two_classes_take_probabilities_of_the_event_or_rows_and_any_targets():
    sample = make_sample(2, seed=4)
    expected = UCME([0.2, 0.7], bandwidth=0.3)(sample)
    assert UCME([[0.8, 0.2], [0.3, 0.7]], bandwidth=0.3)(sample) == pytest.approx(expected, rel=1e-12)
    assert UCME([0.2, 0.7], ["b", "b"], 0.3)(sample) == pytest.approx(expected, rel=1e-12)
    event, near = sample.predictions.event, np.array([[0.2], [0.7]])
    near = np.exp(-np.abs(near - event) / 0.3)
    assert expected == pytest.approx(((near @ (sample.outcomes - event) / 40) ** 2).mean(), rel=1e-12)


def test_a_variable_takes_the_place_of_the_prediction():
    age = np.repeat([20.0, 60.0], 50)
    y = np.concatenate([np.tile([1, 1, 1, 1, 0], 10), np.tile([0, 0, 0, 0, 1], 10)])
    sample = cs.Sample(y, np.full(100, 0.5), variables={"age": age})
    assert UCME([0.5], bandwidth=0.1)(sample) == pytest.approx(0, abs=1e-30)
    given = cs.Given("age") | UCME([20.0, 60.0], bandwidth=0.1)
    assert given(sample) == pytest.approx(0.15**2, rel=1e-12)
    assert cs.calibration_test(sample, given, rng=0).pvalue < 0.01


def test_the_value_under_calibration_is_the_mean_variance():
    sample = make_sample(3, seed=5, n=6, weighted=True)
    places = [[0.5, 0.3, 0.2], [0.2, 0.2, 0.6]]
    law = law_of_labels(UCME(places, ["b", "d"], 0.5), sample)
    near = np.exp(-np.abs(np.array(places)[:, None] - sample.y_prob).sum(axis=-1) / 2 / 0.5)
    mass = sample.predictions.weights / sample.predictions.weights.sum()
    chances = sample.y_prob[:, [0, 2]].T
    assert law.mean == pytest.approx(((mass * near) ** 2 * chances * (1 - chances)).sum(axis=1).mean(), rel=1e-10)


def test_a_population_is_the_truth_of_the_estimand():
    model = FinitePredictions([0.1, 0.3, 0.6], [0.3, 0.2, 0.7], mass=[0.5, 0.3, 0.2])
    near = np.exp(-np.abs(np.array([[0.2], [0.6]]) - [0.1, 0.3, 0.6]) / 0.3)
    expected = ((near @ [0.5 * 0.2, 0.3 * -0.1, 0.2 * 0.1]) ** 2).mean()
    estimator = UCME([0.2, 0.6], bandwidth=0.3)
    assert model.truth(estimator).value == pytest.approx(expected, rel=1e-12)
    assert estimator(model.sample(200_000, rng=0)) == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("estimator", [UCME(4), CME(4), CME(4, covariance="sample")], ids=repr)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_many_replicates_give_the_values_of_each(estimator, n_classes):
    sample = make_sample(n_classes, seed=6, n=3000)
    rng = np.random.default_rng(4)
    labels, weights = rng.integers(0, n_classes, size=(400, 3000)), rng.random((400, 3000))
    evaluate = estimator.prepare(sample.predictions)
    for moved in (None,) if estimator == CME(4, covariance="sample") else (None, weights):
        together = evaluate(labels, moved)
        for row in (0, 173, 174, 399):
            alone = evaluate(labels[row], None if moved is None else moved[row])
            np.testing.assert_allclose(together[row], alone, rtol=1e-10)


def test_signs_are_multipliers_of_residuals():
    sample = make_sample(3, seed=7)
    evaluate = UCME(4).prepare(sample.predictions)
    signs = np.random.default_rng(1).normal(size=(2, 3, 40))
    rows = sample.y_prob
    chances = rows + signs[..., None] * (np.eye(3)[sample.outcomes] - rows)
    np.testing.assert_allclose(evaluate.capabilities.signed(sample.outcomes, signs), evaluate(chances), rtol=1e-9)


def test_rows_that_share_a_prediction_or_are_certain_do_not_break_the_sample_covariance():
    same = cs.Sample([0, 1, 1, 0], [0.5] * 4)
    certain = cs.Sample([0, 1, 1, 0], [0.0, 1.0, 1.0, 0.0])
    for sample in (same, certain, certain.take(np.array([0]))):
        assert CME(3, covariance="sample")(sample) == pytest.approx(0, abs=1e-12)
        assert CME(3)(sample) == pytest.approx(0, abs=1e-12)
        assert UCME(3)(sample) == pytest.approx(0, abs=1e-12)


# Sizes and power


def pvalues(estimator, runs, n, noise=0.0, null=None):
    rng, found = np.random.default_rng(8), []
    null = cs.Consistency(99) if null is None else null
    for _ in range(runs):
        found.append(cs.calibration_test(dirichlet(n, rng, noise=noise), estimator, null=null, rng=rng).pvalue)
    return np.array(found)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [UCME(), CME(), CME(covariance="sample")], ids=repr)
def test_size_of_redrawn_labels(estimator):
    """600 runs; fails beyond four standard errors (3.6 % at level 5 %)."""
    found = pvalues(estimator, 600, 40)
    assert_not_above(found, LEVEL)
    assert_not_below(found, LEVEL)


@pytest.mark.slow
def test_size_of_the_chi_square_law():
    """1000 runs; fails beyond four standard errors (2.8 % at level 5 %)."""
    found = pvalues(CME(), 1000, 250, null=cs.Asymptotic())
    assert_not_above(found, LEVEL)
    assert_not_below(found, LEVEL)


def test_the_chi_square_law_of_the_sample_covariance_is_a_negative_control():
    """It rejects too often with 250 rows, 3 classes and 10 locations, so it is not offered."""
    rng, estimator = np.random.default_rng(9), CME(covariance="sample")
    found = np.array([chi2.sf(estimator(dirichlet(250, rng)), 10) for _ in range(400)])
    with pytest.raises(AssertionError):
        assert_not_above(found, LEVEL)
    with pytest.raises(ValueError, match=r"no large-sample law here.*CME with the exact covariance"):
        cs.calibration_test(dirichlet(50, rng), estimator, null=cs.Asymptotic())


@pytest.mark.parametrize("estimator", [UCME(), CME(), CME(covariance="sample")], ids=repr)
def test_negative_control_a_world_that_is_off_is_rejected(estimator):
    with pytest.raises(AssertionError):
        assert_not_above(pvalues(estimator, 60, 200, noise=0.5), LEVEL)


# Parameters


@pytest.mark.parametrize("estimator", [UCME, CME])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0,), "locations is 0"),
        (([],), "locations is"),
        (([np.nan],), "locations is"),
        ((3, None, "mean"), "bandwidth is 'mean'"),
        ((3, None, 0.0), "bandwidth is"),
    ],
)
def test_parameters_are_checked(estimator, arguments, message):
    with pytest.raises(ValueError, match=message):
        estimator(*arguments)


@pytest.mark.parametrize("estimator", [UCME, CME])
def test_there_is_a_single_bandwidth(estimator):
    with pytest.raises(TypeError, match=r"bandwidth is \(0.1, 0.2\), of type tuple; it must be a text or a number"):
        estimator(3, None, (0.1, 0.2))


def test_the_covariance_is_one_of_two():
    with pytest.raises(ValueError, match="covariance is 'robust'"):
        CME(covariance="robust")


@pytest.mark.parametrize(
    ("estimator", "n_classes", "message"),
    [
        (UCME([0.1, 0.2]), 3, r"give 3 numbers for each location, or look through a lens first.*TopLabel"),
        (UCME([[0.1, 0.2, 0.7]]), 2, r"give 2 numbers for each location, or a single one"),
        (UCME([[0.1, 0.2, 0.7]], ["z"]), 3, "'z' is not a label of this sample"),
        (cs.Given("age", ...) | UCME([[0.1, 0.2, 0.3, 0.4]]), 2, r"leave their choice .* locations=1"),
    ],
)
def test_locations_that_do_not_fit_are_refused(estimator, n_classes, message):
    with pytest.raises(ValueError, match=message):
        estimator(make_sample(n_classes))


def measure(runs=300, n=400):
    """Print the powers in the docstring of `UCME`; ``python -m estimators.test_mean_embeddings``."""

    def temperature(p):
        return p**0.75 / (p**0.75).sum(axis=1, keepdims=True)

    def swapped(p):
        moved = 0.25 * np.minimum(p[:, 0], p[:, 1]) * np.sign(p[:, 2] - 0.3)
        return p + moved[:, None] * [1, -1, 0]

    for chances in (temperature, swapped):
        rng, found = np.random.default_rng(0), {}
        for _ in range(runs):
            p = rng.dirichlet([1, 1, 1], n)
            sample = cs.Sample(draw_class(chances(p), rng), p, labels=range(3))
            for estimator in (UCME(), CME(), cs.SKCE()):
                pvalue = cs.calibration_test(sample, estimator, null=cs.Consistency(99), rng=rng).pvalue
                found.setdefault(type(estimator).__name__, []).append(pvalue <= LEVEL)
        print(chances.__name__, {each: round(float(np.mean(rejected)), 2) for each, rejected in found.items()})


def measure_sizes(runs=4000):
    """Print the sizes of the chi-square law in the docstring of `CME`; run as `measure` is."""

    def certain(rng, n):
        return np.where(rng.random(n) < 0.3, rng.integers(0, 2, n), rng.random(n))

    for name, draw, sizes in (
        ("uniform", lambda rng, n: rng.random(n), (100, 250, 1000)),
        ("three classes", lambda rng, n: rng.dirichlet([1, 1, 1], n), (100, 250, 1000)),
        ("Beta(4, 0.8)", lambda rng, n: rng.beta(4, 0.8, n), (100, 500)),
        ("Beta(1, 19)", lambda rng, n: rng.beta(1, 19, n), (100, 500, 1000)),
        ("30 % zeros and ones", certain, (80, 500)),
    ):
        for n in sizes:
            rng, found = np.random.default_rng(12), []
            for _ in range(runs):
                p = draw(rng, n)
                y = draw_class(p, rng) if p.ndim == 2 else (rng.random(n) < p).astype(int)
                sample = cs.Sample(y, p, labels=range(3 if p.ndim == 2 else 2))
                found.append(cs.calibration_test(sample, CME(), null=cs.Asymptotic()).pvalue <= LEVEL)
            print(f"{name}, n = {n}: {np.mean(found):.2%}", flush=True)


if __name__ == "__main__":
    measure()
    measure_sizes()
