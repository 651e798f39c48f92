"""Where definitions have corners: ties, predictions of exactly 0, and the same rows in other clothes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import metrics

import calibstat as cs

RNG = np.random.default_rng(3)
Q = RNG.dirichlet([1, 1, 1], 200)
CODES = (np.cumsum(Q, axis=1) < RNG.random((200, 1))).sum(axis=1)
NAMES = np.array(["cat", "dog", "emu"])
ORDER = [2, 0, 1]
FRAME = pd.DataFrame(Q, columns=NAMES, index=RNG.permutation(200))
PANEL = [
    cs.TopLabel() | cs.ECE(cs.EqualMass(5)),
    cs.TopK(2) | cs.SKCE(0.3),
    cs.EachClass(cs.Kuiper()),
    cs.ExpectedMiscalibration(cs.VarianceTree(40)),
    cs.VectorScalingScore(),
    cs.LogLossZ(),
]


def values(sample):
    return np.array([float(estimator(sample)) for estimator in PANEL])


@pytest.mark.parametrize(
    "make",
    [
        lambda: cs.Sample(CODES.tolist(), Q.tolist()),
        lambda: cs.Sample(NAMES[CODES], Q[:, ORDER], labels=list(NAMES[ORDER])),
        lambda: cs.Sample(pd.Series(NAMES[CODES]), FRAME[list(NAMES[ORDER])].add_prefix("prob_")),
        lambda: cs.Sample(pl.Series(NAMES[CODES]), pl.DataFrame(Q[:, ORDER], schema=list(NAMES[ORDER]))),
        lambda: cs.Sample(CODES + 1, np.asfortranarray(Q), labels=[1, 2, 3]),
        lambda: cs.Sample(CODES[::-1], Q[::-1]),
    ],
    ids=["lists", "names", "pandas", "polars", "from one", "backwards"],
)
def test_the_same_rows_in_other_containers_give_the_same_numbers(make):
    np.testing.assert_allclose(values(make()), values(cs.Sample(CODES, Q)), rtol=1e-9, atol=1e-12)


def test_single_precision_moves_values_by_rounding_only():
    np.testing.assert_allclose(values(cs.Sample(CODES, Q.astype(np.float32))), values(cs.Sample(CODES, Q)), atol=1e-5)


def test_matsubara_2023_two_predictions_that_come_true_exactly_are_not_contradicted():
    """The authors' own code gives 0 for the first sample, and 0 to 22 (by the order of tied rows) for the second."""
    assert cs.TCE()(cs.Sample(np.repeat([0, 1], 40), np.repeat([0.0, 1.0], 40))) == 0
    p = np.repeat([0.2, 0.8], 50)
    y = np.concatenate([np.arange(50) < 10, np.arange(50) < 40])
    assert cs.TCE()(cs.Sample(y, p)) == 0


@pytest.mark.parametrize("estimator", [cs.HosmerLemeshow(3), cs.PigeonHeyse(3)], ids=repr)
def test_hosmer_lemeshow_1980_an_event_that_was_announced_with_probability_zero_is_evidence(estimator):
    """With 1e-12 in place of 0 the statistic is 2e10 and the p-value 1e-10 or less: 0 must not be weaker."""
    p = np.repeat([0.0, 0.3, 0.6], 50)
    y = np.concatenate([np.arange(50) < 1, np.arange(50) < 15, np.arange(50) < 30])
    assert cs.calibration_test(cs.Sample(y, np.maximum(p, 1e-12)), estimator).pvalue < 1e-6
    assert cs.calibration_test(cs.Sample(y, p), estimator).pvalue < 1e-6


def test_the_pvalue_of_one_cell_does_not_depend_on_the_power_that_its_gap_is_raised_to():
    """A power of the same gap orders all labels alike; the sixth of 0.003 is 7e-16."""
    sample = cs.Sample(np.arange(5000) < 25, np.full(5000, 0.002))
    first, sixth = (cs.calibration_test(sample, cs.LpCE(cs.EqualMass(1), p)).pvalue for p in (1, 6))
    assert first < 1e-3
    assert sixth == pytest.approx(first, rel=1e-9)


def test_ranks_of_tiny_predictions_are_those_of_scikit_learn():
    """Predictions of confident networks: 1e-25 to 1e-12, the larger ones with more events."""
    rng = np.random.default_rng(7)
    exponents = rng.uniform(12, 25, 300)
    y = (rng.random(300) < np.where(exponents < 18, 0.9, 0.1)).astype(int)
    sample = cs.Sample(y, 10**-exponents)
    assert cs.AUC()(sample) == pytest.approx(metrics.roc_auc_score(y, -exponents))
    assert len(cs.IsotonicCurve()(sample).prediction) == 300
