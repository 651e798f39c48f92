"""Lu, Wu, Hartline & Hu (2025), truthful calibration errors for many classes: by enumeration of all labels."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from published.enumeration import law_of_labels

TRUE = np.array([[0.5, 0.3, 0.2], [0.2, 0.2, 0.6], [0.4, 0.4, 0.2], [0.1, 0.6, 0.3]])
TRUTHFUL = [
    cs.TruthfulCE(cs.SimplexGrid(1)),
    cs.TruthfulCE(cs.SimplexGrid(2)),
    cs.TruthfulCE(cs.VarianceTree(2)),
    cs.TruthfulCE(cs.UniqueValues()),
    cs.EachClass(cs.TruthfulCE(cs.EqualMass(2))),
    cs.EachClass(cs.AverageTwoBin()),
]
# Other measures of the same cells, and a report that all of them prefer.
OTHERS = [cs.ECE(cs.UniqueValues()), cs.SquaredCE(cs.UniqueValues()), cs.EachClass(cs.ECE(cs.EqualMass(2)))]


def expected(estimator, reported, true=TRUE):
    """Expect the value where whoever knows the chances reports other ones."""
    sample = cs.Sample(np.arange(len(reported)) % reported.shape[1], reported, labels=range(reported.shape[1]))
    law = law_of_labels(estimator, sample, true)
    return float(estimator.headline(law.values) @ law.masses)


def reports():
    rng = np.random.Generator(np.random.PCG64(3))
    yield np.tile(TRUE.mean(axis=0), (4, 1))  # the same for all rows
    yield TRUE[::-1]
    yield TRUE**2 / (TRUE**2).sum(axis=1, keepdims=True)
    yield np.eye(3)[TRUE.argmax(axis=1)]
    yield from rng.dirichlet(np.ones(3), size=(8, 4))


@pytest.mark.filterwarnings("ignore::calibstat.data.parameters.SmallCellsWarning")
@pytest.mark.parametrize("estimator", TRUTHFUL, ids=repr)
def test_lu_2025_no_report_is_expected_to_be_better_than_the_truth(estimator):
    honest = expected(estimator, TRUE)
    share = 3 if isinstance(estimator, cs.EachClass) else 1  # a mean over classes, not their sum
    assert honest == pytest.approx((TRUE * (1 - TRUE)).sum() / 4**2 / share, abs=1e-12)  # the variance of outcomes
    assert all(expected(estimator, said) >= honest - 1e-12 for said in reports())


@pytest.mark.filterwarnings("ignore::calibstat.data.parameters.SmallCellsWarning")
@pytest.mark.parametrize("estimator", OTHERS, ids=repr)
def test_lu_2025_other_errors_are_better_where_the_truth_is_not_told(estimator):
    """Whoever says the same of all rows shares the noise of one large cell."""
    assert expected(estimator, np.tile(TRUE.mean(axis=0), (4, 1))) < 0.9 * expected(estimator, TRUE)


@pytest.mark.filterwarnings("ignore::calibstat.data.parameters.SmallCellsWarning")
def test_lu_2025_of_the_confidence_it_is_not_truthful():
    """Whoever names another class as the most probable one chooses whose variance counts."""
    estimator, true = cs.TopLabel() | cs.TruthfulCE(cs.FixedEdges([0, 1])), np.array([[0.4, 0.35, 0.25]])
    lied = expected(estimator, np.array([[0.33, 0.33, 0.34]]), true)
    assert lied == pytest.approx(0.25 * 0.75 + 0.09**2, abs=1e-12)
    assert expected(estimator, true, true) == pytest.approx(0.4 * 0.6, abs=1e-12)
    assert lied < 0.4 * 0.6
