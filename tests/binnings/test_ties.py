"""Which values are equal: those that differ by rounding of their own size, without chains."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

import calibstat as cs
from calibstat.binnings.base import first_of_ties
from calibstat.estimators.isotonic import CORP
from calibstat.estimators.scores import AUC
from calibstat.estimators.walks import Kuiper

ULP = 2.0**-52
numbers = st.one_of(
    st.floats(-1e6, 1e6, allow_subnormal=False),
    st.tuples(st.sampled_from([0.0, 0.3, 1e-17, -2.5, 1.0]), st.integers(-12, 12)).map(
        lambda v: v[0] * (1 + v[1] * ULP)
    ),
)


def naive(values, tolerance):
    starts, first = [], None
    for place, value in enumerate(values):
        if first is None or value > first + max(tolerance, abs(first) * 4 * ULP):
            first = value
            starts.append(place)
    return starts


@given(st.lists(numbers, max_size=30), st.sampled_from([0.0, 1e-12, 0.7]))
def test_ties_are_those_of_a_loop(values, tolerance):
    assert first_of_ties(np.sort(values), tolerance).tolist() == naive(sorted(values), tolerance)


def test_a_long_chain_is_cut():
    chain = 0.3 + np.arange(100) * ULP / 4  # neighbours differ by one unit in the last place
    assert first_of_ties(chain).tolist() == naive(chain, 0.0)
    assert len(first_of_ties(chain)) > 10
    assert first_of_ties(np.arange(10) / 10, 0.15).tolist() == [0, 2, 4, 6, 8]


def test_what_one_number_was_reached_by_is_no_difference():
    assert len(first_of_ties(np.sort([0.3, 0.1 + 0.2, 1 - 0.7]))) == 1
    for p in np.linspace(0.05, 0.95, 19):
        assert len(first_of_ties(np.sort([p, 1 - (1 - p)]))) == 1


@pytest.mark.parametrize("high", [-8, -30])
def test_tiny_predictions_keep_their_ranks(high):
    rng = np.random.default_rng(1)
    p = 10.0 ** rng.uniform(high - 30, high, 200)
    y = (rng.random(200) < np.argsort(np.argsort(p)) / 200).astype(int)
    sample = cs.Sample(y, p)
    assert AUC()(sample) == pytest.approx(roc_auc_score(y, np.log(p)))
    assert cs.UniqueValues().cut(sample.predictions).size == 200
    spread = cs.Sample(y, np.argsort(np.argsort(p)) / 200)
    assert CORP()(sample).discrimination == pytest.approx(CORP()(spread).discrimination)


def test_both_ends_hold_what_floats_can_tell_apart():
    """Near 1 the floats themselves are 1.1e-16 apart, so that 1 - 1e-17 is 1 whatever we do."""
    sure = np.array([1 - 1e-10, 1 - 2e-10, 1 - 1e-17, 1.0])
    assert cs.UniqueValues().cut(cs.Sample([0, 1, 1, 0], sure).predictions).index.tolist() == [1, 0, 2, 2]


def test_an_ulp_moves_no_walk():
    y, p = np.tile([0, 1, 1, 0, 1], 4), np.tile([0.3, 0.3, 0.3, 0.7, 0.7], 4)
    shifted = p * (1 + ULP * np.arange(20) % 2)
    assert Kuiper()(cs.Sample(y, shifted)) == pytest.approx(Kuiper()(cs.Sample(y, p)), rel=1e-12)


def test_a_column_that_is_what_the_others_leave_does_not_split_cells():
    rows = np.array([[0.5, 0.3, 0.2, 0.0], [0.2, 0.3, 0.5, 0.0], [0.1, 0.2, 0.7, 0.0], [0.7, 0.2, 0.1, 0.0]])
    top = cs.TopK(3)(cs.Sample([0, 1, 2, 3], rows))
    assert len({row[0] for row in top.y_prob.tolist()}) > 1  # 1.1e-16 and 0, which is rounding of 1
    assert cs.UniqueValues().cut(top.predictions).index.tolist() == [0, 0, 1, 1]


def test_a_tolerance_is_a_number():
    for wrong in (-1e-3, np.nan, np.inf):
        with pytest.raises(ValueError, match=r"tolerance is .*; it must be a finite number of at least 0"):
            cs.UniqueValues(wrong)
