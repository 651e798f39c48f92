"""What kernel estimators are given: kernels, and locations that are predictions, or errors that say what is wrong."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from calibstat.estimators.kernel import KCE, SKCE
from calibstat.estimators.kernel_locations import CME, UCME
from calibstat.estimators.kernels import GaussianKernel, Kernel, LaplaceKernel
from registry import make_sample

AT_LOCATIONS = [UCME, CME]


@pytest.mark.parametrize("estimator", [SKCE, KCE, UCME, CME])
@pytest.mark.parametrize("kernel", ["gauss", None, LaplaceKernel, len], ids=["text", "None", "class", "function"])
def test_something_else_than_a_kernel_is_refused_at_once(estimator, kernel):
    with pytest.raises(TypeError, match=r"kernel is .*; it must be a kernel, such as GaussianKernel\(\)"):
        estimator(kernel=kernel)


class Cauchy(Kernel):
    """A kernel of one's own."""

    def distance(self, first, second):
        return GaussianKernel().distance(first, second)

    def profile(self, ratio):
        return 1 / (1 + ratio**2)


@pytest.mark.parametrize("estimator", [SKCE, KCE, UCME, CME])
def test_a_kernel_of_ones_own_is_accepted(estimator):
    sample = make_sample(3)
    assert np.isfinite(estimator(kernel=Cauchy())(sample))
    assert estimator(kernel=Cauchy())(sample) != estimator()(sample)


@pytest.mark.parametrize("estimator", AT_LOCATIONS)
@pytest.mark.parametrize(
    ("places", "n_classes", "message"),
    [
        ([0.3, 1.5, 2.0], 2, r"location 2 \(counting from 0\) is 2; .*between 0 and 1"),
        ([0.3, -2e-6], 2, r"location 1 \(counting from 0\)"),
        ([[0.2, 0.8], [0.5, 0.6]], 2, r"location 1 .* is 0\.5, 0\.6, which sums to 1\.1"),
        ([[0.5, 0.5, 0.5]], 3, r"location 0 .*sums to 1\.5"),
        ([[0.2, 0.3, 0.5], [0.3, 0.3, 0.3998]], 3, r"location 1 .*sums to 0\.9998"),
        ([[-0.1, 0.4, 0.7]], 3, r"location 0 .*between 0 and 1"),
    ],
)
def test_locations_off_the_simplex_are_no_predictions(estimator, places, n_classes, message):
    asked = estimator(places, bandwidth=0.3)
    with pytest.raises(ValueError, match=message):
        asked.prepare(make_sample(n_classes).predictions)


@pytest.mark.parametrize("estimator", AT_LOCATIONS)
def test_locations_on_the_simplex_up_to_rounding_are_predictions(estimator):
    assert np.isfinite(estimator([0.0, 1.0, -5e-7, 1 + 5e-7], bandwidth=0.3)(make_sample(2)))
    assert np.isfinite(estimator([[0.3, 0.3, 0.39995], [0.0, 0.0, 1.0]], bandwidth=0.3)(make_sample(3)))


@pytest.mark.parametrize("estimator", AT_LOCATIONS)
def test_locations_are_predictions_seen_through_a_lens_too(estimator):
    with pytest.raises(ValueError, match=r"location 0 \(counting from 0\) is 1\.5; "):
        (cs.TopLabel() | estimator([1.5], bandwidth=0.3))(make_sample(3))


@pytest.mark.parametrize("estimator", AT_LOCATIONS)
def test_locations_of_a_variable_are_any_numbers(estimator):
    sample = make_sample(2)
    assert np.isfinite((cs.Given("age") | estimator([-3.0, 60.0], bandwidth=5.0))(sample))
    assert np.isfinite((cs.Given("sex") | estimator([[1.0, 1.0]], bandwidth=5.0))(sample))


@pytest.mark.parametrize(
    ("estimator", "n_classes", "message"),
    [
        (UCME([[0.1, 0.2, 0.7]]), 2, r"locations of 3 numbers, but the prediction is conditioned on, in 2 columns"),
        (UCME([0.1]), 3, r"locations of 1 number, but the prediction is conditioned on, in 3 columns"),
        (cs.Given("age") | UCME([[0.1, 0.2, 0.7]]), 3, r"but 'age' is conditioned on, in 2 columns"),
        (cs.Given("age", ...) | UCME([0.1]), 2, r"but 'age' and the prediction are conditioned on"),
    ],
)
def test_what_is_conditioned_on_is_said_in_words(estimator, n_classes, message):
    with pytest.raises(ValueError, match=message) as raised:
        estimator(make_sample(n_classes))
    assert "Ellipsis" not in str(raised.value)


@pytest.mark.parametrize("estimator", AT_LOCATIONS)
@pytest.mark.parametrize(
    ("places", "targets", "message"),
    [
        ([0.1, 0.2], [0], "there is 1 target for 2 locations"),
        ([0.1], [0, 1], "there are 2 targets for 1 location;"),
        (3, [], "there are 0 targets for 3 locations"),
    ],
)
def test_targets_are_counted_in_words(estimator, places, targets, message):
    with pytest.raises(ValueError, match=message):
        estimator(places, targets)


def test_what_is_conditioned_on_in_words():
    rows = np.array([[0.2, 0.3, 0.5], [0.1, 0.8, 0.1], [0.6, 0.2, 0.2]])
    sample = cs.Sample(["a", "b", "c"], rows, variables={"age": [1, 2, 3]}, labels=["a", "b", "c"])
    words = [
        (cs.Canonical(), "the prediction"),
        (cs.Given("age"), "'age'"),
        (cs.Given("age", ...), "'age' and the prediction"),
    ]
    for lens, wanted in words:
        assert lens(sample).predictions.condition == wanted
    with pytest.raises(ValueError, match=r"cuts one column, but 4 are conditioned on \('age' and the prediction\)"):
        (cs.Given("age", ...) | cs.ECE(cs.EqualMass(2)))(sample)
