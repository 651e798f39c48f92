"""The kernel density of the chances."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
import reference
from registry import make_sample


def test_the_kernel_density_refuses_variables():
    with pytest.raises(ValueError, match=r"SKCE\(\) smooths over variables"):
        (cs.Given("age") | cs.KDECE(0.1))(make_sample(3))


def test_certain_predictions_have_a_density():
    sample = cs.Sample([0, 1, 1, 0], [0.0, 1.0, 0.7, 0.2])
    assert 0 <= cs.KDECE(0.1)(sample) <= 2
    assert cs.KDECE(0.1)(cs.Sample([1], [0.3], labels=[0, 1])) == 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: cs.KDECE(0.0), "bandwidth is 0.0"),
        (lambda: cs.KDECE(0.1, p=0.5), "p is 0.5"),
        (lambda: cs.LpCE(p=np.inf), "p is inf"),
    ],
)
def test_parameters_are_checked(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("bandwidth", [0.05, 1e-3, 1e-4])
def test_a_near_row_of_weight_zero_is_as_if_it_were_not_there(bandwidth):
    """Relative to the near row of weight zero, the density of all others is rounded to zero at 1e-4."""
    y, p, weights = np.array([0, 1, 1, 1, 0]), np.array([0.3, 0.300001, 0.9, 0.8, 0.55]), np.array([1.0, 0, 1, 1, 1])
    estimator = cs.KDECE(bandwidth)
    expected = estimator(cs.Sample(y[weights > 0], p[weights > 0]))
    evaluate = estimator.prepare(cs.Sample(y, p).predictions)
    assert evaluate(y, weights) == pytest.approx(expected, rel=1e-12)
    weighted = cs.Sample(y, p, sample_weight=weights)
    assert estimator(weighted) == pytest.approx(expected, rel=1e-12)
    assert reference.value(estimator, weighted) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("bandwidth", [0.01, 1e-4, 1e-6])
def test_bootstrap_weights_are_the_rows_that_have_them(bandwidth, n_classes):
    rng = np.random.default_rng(3)
    p, y = rng.dirichlet(np.ones(n_classes), 40), rng.integers(0, n_classes, (6, 40))
    weights = rng.multinomial(40, np.full(40, 1 / 40), size=6).astype(float)
    weights[0] = 2.0 * (np.arange(40) == 7)  # a single row: no neighbours
    estimator, codes = cs.KDECE(bandwidth), list(range(n_classes))

    def of_rows(labels, mass):
        return estimator(cs.Sample(labels[mass > 0], p[mass > 0], sample_weight=mass[mass > 0], labels=codes))

    expected = [of_rows(labels, mass) for labels, mass in zip(y, weights, strict=True)]
    evaluate = estimator.prepare(cs.Sample(y[0], p, labels=codes).predictions)
    np.testing.assert_allclose(evaluate(y, weights), expected, rtol=1e-12)
    own = estimator.prepare(cs.Sample(y[0], p, labels=codes, sample_weight=weights[1]).predictions)
    np.testing.assert_allclose(own(y), [of_rows(labels, weights[1]) for labels in y], rtol=1e-12)
