"""Labels of many classes counted in cells: the labels of row by row drawing, the right law, and a negative control."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2

import calibstat as cs
from calibstat.draws import labels as labels_module
from calibstat.draws.labels import LabelLaw
from calibstat.draws.streams import replicate


def make_sample(n_classes, n, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.ones(n_classes), n)
    return cs.Sample(rng.integers(0, n_classes, n), rows, labels=list(range(n_classes)))


def all_counts(plan, n_resamples, seed=0):
    law, rng = LabelLaw(plan.predictions.chances), np.random.default_rng(seed)
    return replicate(lambda labels: plan(labels).outcome, law.draw, n_resamples, len(plan.predictions), rng)


def all_labels(sample, n_resamples, seed=0, batch_size=1, sizes=None):
    def labels(batch):
        if sizes is not None:
            sizes.append(len(batch))
        return batch

    law, rng = LabelLaw(sample.predictions.chances), np.random.default_rng(seed)
    return replicate(labels, law.draw, n_resamples, len(sample), rng, batch_size)


@pytest.mark.parametrize("n_classes", [2, 3, 5, 70])
def test_counts_are_those_of_the_labels_drawn_row_by_row(n_classes):
    sample = make_sample(n_classes, 40)
    estimator = cs.ECE(cs.SimplexGrid(2) if n_classes < 10 else cs.VarianceTree(4))
    plan = estimator.prepare(sample.predictions).capabilities.tally
    counts = all_counts(plan, 30)
    expected = np.zeros((30, plan.cells.size, n_classes))
    for r, labels in enumerate(all_labels(sample, 30)):
        for cell, label in zip(plan.cells.index, labels, strict=True):
            expected[r, cell, label] += 1
    np.testing.assert_array_equal(counts, expected[..., 1:] if n_classes == 2 else expected)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_values_are_those_of_labels(n_classes):
    sample = make_sample(n_classes, 60)
    evaluator = cs.ECE(cs.SimplexGrid(3)).prepare(sample.predictions)
    values = evaluator.capabilities.from_tally(all_counts(evaluator.capabilities.tally, 50))
    np.testing.assert_allclose(values, evaluator(all_labels(sample, 50)), rtol=1e-12)


def pearson_pvalue(sample, seed):
    """Fit of the joint counts of two rows' labels to their chances."""
    chances = sample.predictions.chances
    plan = cs.ECE(cs.UniqueValues()).prepare(sample.predictions).capabilities.tally
    counts = all_counts(plan, 20_000, seed)
    place = plan.cells.index
    first, second = counts[:, place[0]].argmax(axis=1), counts[:, place[1]].argmax(axis=1)
    found = np.bincount(first * 3 + second, minlength=9)
    expected = 20_000 * np.outer(chances[0], chances[1]).ravel()
    return chi2.sf(((found - expected) ** 2 / expected).sum(), 8)


def test_labels_have_the_law_of_their_predictions():
    """20 000 draws; the chi-square test fails below 6e-5, four standard errors."""
    assert pearson_pvalue(make_sample(3, 2), seed=1) > 6e-5


def test_negative_control_another_law_is_found_out():
    sample = make_sample(3, 2)
    shifted = sample.predictions.probabilities * [1.1, 1.0, 0.9]
    other = replace(sample.predictions, rows=shifted / shifted.sum(axis=1, keepdims=True))
    plan = cs.ECE(cs.UniqueValues()).prepare(other).capabilities.tally
    counts, place = all_counts(plan, 20_000, 1), plan.cells.index
    found = np.bincount(counts[:, place[0]].argmax(axis=1), minlength=3)
    expected = 20_000 * sample.predictions.chances[0]
    assert chi2.sf(((found - expected) ** 2 / expected).sum(), 2) < 6e-5


def test_one_by_one_and_bisection_give_the_same_labels(monkeypatch):
    for n_classes in (3, 4, 17, 64):
        sample = make_sample(n_classes, 3000)
        one_by_one = all_labels(sample, 5)
        monkeypatch.setattr(labels_module, "_FEW_CLASSES", 2)
        bisected = all_labels(sample, 5)
        monkeypatch.undo()
        np.testing.assert_array_equal(one_by_one, bisected)


def test_classes_of_chance_zero_are_never_drawn():
    sample = cs.Sample([0, 1, 2], [[0.0, 1.0, 0.0], [0.5, 0.0, 0.5], [1.0, 0.0, 0.0]])
    labels = all_labels(sample, 2000)
    chances = sample.predictions.chances
    assert (chances[np.arange(3), labels] > 0).all()


def test_batches_change_no_label():
    sample = make_sample(3, 20_000)
    few, many = [], []
    small, large = all_labels(sample, 40, sizes=few), all_labels(sample, 40, batch_size=30, sizes=many)
    assert sorted(many) == [1, 39]
    assert max(few) == 13
    np.testing.assert_array_equal(small, large)


def test_fewer_draws_are_a_prefix_of_more():
    plan = cs.ECE(cs.SimplexGrid(2)).prepare(make_sample(3, 500).predictions).capabilities.tally
    np.testing.assert_array_equal(all_counts(plan, 600)[:20], all_counts(plan, 20))
