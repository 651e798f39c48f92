"""The kernel density of the chances."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
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
