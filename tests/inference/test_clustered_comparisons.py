"""Comparisons of models whose rows come in clusters."""

from itertools import permutations

import numpy as np
import pytest

import calibstat as cs
from calibstat.inference.cluster_values import ClusterValue
from calibstat.inference.compare import expanded
from calibstat.inference.differences import prepared

PROB = np.random.default_rng(0).random(400)
HAPPENED = np.random.default_rng(2).random(400) < PROB
GROUPS = np.arange(400) // 4
ESTIMATOR = cs.DebiasedL2(cs.EqualMass(5))


def sample(prob=PROB, groups=GROUPS):
    return cs.Sample(HAPPENED, prob, groups=groups)


def value_of(seen):
    estimator, (evaluator,) = prepared(ESTIMATOR, [seen])
    return ClusterValue.of(expanded(estimator, seen, evaluator), "test")


def test_a_squared_error_counts_pairs_of_different_clusters_alone():
    few = cs.Sample(HAPPENED[:120], PROB[:120], groups=np.arange(120) // 3)
    cells = ESTIMATOR.binning.cut(few.predictions).index
    residual, expected = HAPPENED[:120] - PROB[:120], 0.0
    for cell in range(5):
        rows = np.flatnonzero(cells == cell)
        products = [residual[i] * residual[j] for i, j in permutations(rows, 2) if i // 3 != j // 3]
        expected += len(rows) / 120 * np.mean(products)
    assert value_of(few).value == pytest.approx(expected, rel=1e-10)


def test_the_influence_of_a_cluster_is_what_the_value_loses_without_it():
    cut = cs.DebiasedL2(cs.FixedEdges([0, 0.5, 1]))
    estimator, (evaluator,) = prepared(cut, [sample()])
    whole = ClusterValue.of(expanded(estimator, sample(), evaluator), "test")
    kept = sample().take(np.arange(4, 400))
    estimator, (evaluator,) = prepared(cut, [kept])
    without = ClusterValue.of(expanded(estimator, kept, evaluator), "test")
    assert whole.influence[0] == pytest.approx(0.99 * (whole.value - without.value), rel=1e-10)


def test_clusters_of_one_row_are_rows():
    estimator, (evaluator,) = prepared(ESTIMATOR, [cs.Sample(HAPPENED, PROB)])
    alone = expanded(estimator, cs.Sample(HAPPENED, PROB), evaluator)
    assert ClusterValue.of(alone, "test").value == pytest.approx(alone.value, rel=1e-10)


def test_two_models_and_several_give_the_same_numbers():
    models = {"a": sample(), "b": sample(PROB**2)}
    two = cs.comparison_test(*models.values(), ESTIMATOR, rng=0)
    several = cs.compare_models(models, ESTIMATOR, rng=0)
    (pair,) = several.pairs
    assert two.difference == pytest.approx(pair.difference)
    assert two.standard_error == pytest.approx(pair.standard_error)
    assert two.difference_pvalue == pytest.approx(pair.difference_pvalue)
    assert "in 100 clusters (groups)" in two.verdict
    assert "in 100 clusters (groups)" in several.to_text(verbose=True)
    assert several.confidence_set == ("a",)
    assert two.pvalue < 0.01


def test_models_of_other_clusters_are_refused():
    with pytest.raises(ValueError, match="their groups differ"):
        cs.comparison_test(sample(), sample(groups=np.arange(400) // 5))
    with pytest.raises(ValueError, match="their groups differ"):
        cs.compare_models({"a": sample(), "b": cs.Sample(HAPPENED, PROB)})


def test_few_clusters_are_refused():
    few = sample(groups=np.arange(400) // 50)
    with pytest.raises(ValueError, match="there are 8 clusters"):
        cs.comparison_test(few, few)


@pytest.mark.parametrize("estimator", [cs.BrierScore(), cs.AUC()])
def test_scores_of_repeated_rows_have_the_error_of_the_rows_that_are_repeated(estimator):
    bold = np.clip(1.2 * PROB - 0.1, 0, 1)
    once = cs.comparison_test(cs.Sample(HAPPENED, PROB), cs.Sample(HAPPENED, bold), estimator)
    four = [
        cs.Sample(np.repeat(HAPPENED, 4), np.repeat(p, 4), groups=np.repeat(np.arange(400), 4)) for p in (PROB, bold)
    ]
    repeated = cs.comparison_test(*four, estimator)
    assert repeated.standard_error == pytest.approx(once.standard_error, rel=0.01)
