"""Every estimator and most public functions on arrays that nobody should have; `python -m fuzz SEED` redoes one.

A case is right if it gives a result, the same one again, or a refusal that calibstat itself raises, in less than ten
seconds, and leaves its inputs as they were.
"""

from __future__ import annotations

import pytest

from fuzz.judge import fault, refused
from suites import slow_but

ESTIMATORS = [("estimators", first, 150) for first in range(0, 45_000, 150)]
FUNCTIONS = [("functions", first, 50) for first in range(0, 5_000, 50)]


@pytest.mark.parametrize(("kinds", "first", "n_cases"), slow_but([ESTIMATORS[0], FUNCTIONS[0]], ESTIMATORS + FUNCTIONS))
def test_a_result_or_one_refusal(kinds, first, n_cases):
    wrong = [found for found in (fault(seed, kinds) for seed in range(first, first + n_cases)) if found]
    assert not wrong, f"{len(wrong)} of {n_cases}\n" + "\n".join(wrong[:3])


def test_errors_of_others_are_no_refusals():
    with pytest.raises(ValueError, match="could not convert") as caught:
        float("x")
    assert not refused(caught.value)
