"""Comparisons of models whose rows come in clusters."""

import numpy as np
import pytest

import calibstat as cs
from calibstat.comparisons.variable_based import variable_based_protocol

PROB = np.random.default_rng(0).random(400)
AGE = np.random.default_rng(1).random(400)
SAMPLE = cs.Sample(PROB > 0.5, PROB, groups=np.arange(400) // 4, variables={"age": AGE})


@pytest.mark.parametrize(
    "compare",
    [
        lambda: cs.comparison_test(SAMPLE, SAMPLE),
        lambda: cs.compare_models({"a": SAMPLE, "b": SAMPLE}),
        lambda: cs.compare_calibrators({"platt": cs.calibrators.Platt()}, SAMPLE),
        lambda: cs.recommend_calibrator(SAMPLE),
        lambda: variable_based_protocol(SAMPLE, variable="age"),
    ],
)
def test_rows_in_clusters_are_not_taken_as_independent(compare):
    with pytest.raises(ValueError, match="takes rows as independent, which those of the same 'groups' are not"):
        compare()
