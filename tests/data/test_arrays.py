"""Arrays: the stable order of many numbers."""

from __future__ import annotations

import numpy as np
import pytest

from calibstat.data.arrays import increasing_order

RNG = np.random.default_rng(0)
MANY = 5000
COLUMNS = {
    "uniform": RNG.random(MANY),
    "ties": RNG.random(MANY).round(2),
    "next to the ends": np.concatenate([RNG.random(MANY) ** 40, 1 - RNG.random(MANY) ** 40]),
    "one far away": np.append(RNG.random(MANY), 1e300),
    "neighbours": 0.5 + np.spacing(0.5) * RNG.integers(0, 99, MANY),
    "more than two bytes": RNG.random(70_000),
    "almost all near one end": RNG.random(MANY) ** 9,
    "range beyond floats": RNG.uniform(-1.7, 1.7, MANY) * 1e308,
    "denormal": RNG.normal(size=MANY) * 1e-310,
    "both zeros": np.where(RNG.random(MANY) < 0.5, 0.0, -0.0),
    "infinite": np.where(RNG.random(MANY) < 0.5, np.inf, RNG.random(MANY)),
    "all equal": np.ones(MANY),
    "few": RNG.random(9),
    "none": np.zeros(0),
}


@pytest.mark.parametrize("values", COLUMNS.values(), ids=COLUMNS.keys())
def test_the_order_is_that_of_a_stable_sort(values):
    np.testing.assert_array_equal(increasing_order(values), np.argsort(values, kind="stable"))
