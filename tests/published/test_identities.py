"""Identities that hold between the measures of different papers, on random samples."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from published.enumeration import law_of_labels

BINNINGS = [cs.EqualWidth(7), cs.EqualMass(7), cs.UniqueValues()]
binnings = pytest.mark.parametrize("binning", BINNINGS, ids=repr)


@pytest.fixture(scope="module")
def binary():
    rng = np.random.default_rng(91)
    scores = rng.random(300).round(2)
    return cs.Sample(rng.random(300) < scores**1.5, scores, variables={"score": scores})


@pytest.fixture(scope="module")
def three_classes():
    rng = np.random.default_rng(92)
    prob = rng.dirichlet([1, 1, 1], size=300)
    return cs.Sample(rng.integers(0, 3, size=300), prob)


@binnings
def test_guo_2017_top_label_error_is_the_total_variation_of_vaicenavicius_2019(three_classes, binning):
    confidence = three_classes.y_prob.max(axis=1)
    correct = three_classes.y_prob.argmax(axis=1) == three_classes.outcomes
    by_hand = cs.ECE(binning)(cs.Sample.from_confidence(correct, confidence))
    assert (cs.TopLabel() | cs.ExpectedMiscalibration(binning))(three_classes) == pytest.approx(by_hand, abs=1e-14)


@binnings
def test_kumar_2019_errors_are_distances_of_vaicenavicius_2019_up_to_the_number_of_columns(binary, binning):
    ece, squared = cs.ECE(binning)(binary), cs.RMSCE(binning)(binary) ** 2
    expected = {cs.TotalVariation(): ece, cs.SquaredEuclidean(): 2 * squared, cs.Lp(2): np.sqrt(2) * ece}
    for distance, value in expected.items():
        assert cs.ExpectedMiscalibration(binning, distance)(binary) == pytest.approx(value, abs=1e-14)


@binnings
def test_kelly_smyth_2023_vece_of_the_score_is_the_ece_of_guo_2017(binary, binning):
    assert cs.VECE("score", binning)(binary) == pytest.approx(cs.ECE(binning)(binary), abs=1e-14)


@pytest.mark.parametrize("p", [1, 2, 3.5])
@binnings
def test_torabian_urner_2024_pde_is_never_below_the_binned_error(binary, binning, p):
    cell, row = (cs.PDE(binning, p, placement)(binary) for placement in ("cell", "row"))
    assert cell <= row + 1e-14
    assert cs.PDE(binning)(binary) >= cs.ECE(binning)(binary) - 1e-14
    if p == 2:
        assert cell >= cs.RMSCE(binning)(binary) - 1e-14


def test_kumar_2019_nested_cells_never_lower_the_plug_in_errors(binary):
    for estimator in (cs.ECE, cs.RMSCE):
        values = [estimator(cs.EqualWidth(2**k))(binary) for k in range(8)]
        assert (np.diff(values) >= -1e-14).all()


@pytest.mark.parametrize("binning", BINNINGS[:2], ids=repr)
def test_kumar_2019_plug_in_minus_debiased_is_the_variance_of_the_proportions(binary, binning):
    cells = cs.HistogramRegression(binning)(binary).sel(label=True)
    rate, count = cells["mean_outcome"], cells["count"]
    variance = float((cells["proportion"] * rate * (1 - rate) / (count - 1)).sum())
    assert variance > 0
    difference = cs.RMSCE(binning)(binary) ** 2 - cs.DebiasedCE(binning)(binary)
    assert difference == pytest.approx(variance, abs=1e-14)


@pytest.mark.parametrize("binning", [cs.SimplexGrid(4), cs.VarianceTree(50)], ids=repr)
def test_vaicenavicius_2019_errors_do_not_depend_on_the_order_of_rows_or_classes(three_classes, binning):
    estimator, rng = cs.ExpectedMiscalibration(binning), np.random.default_rng(93)
    value = estimator(three_classes)
    assert estimator(three_classes.take(rng.permutation(300))) == pytest.approx(value, abs=1e-13)
    relabelled = cs.Sample(np.array([1, 2, 0])[three_classes.outcomes], three_classes.y_prob[:, [2, 0, 1]])
    assert estimator(relabelled) == pytest.approx(value, abs=1e-13)


def test_vaicenavicius_2019_exact_pvalue_does_not_depend_on_the_order_of_rows_or_classes():
    rng = np.random.default_rng(94)
    sample = cs.Sample(rng.integers(0, 3, size=7), rng.dirichlet([1, 1, 1], size=7), labels=[0, 1, 2])
    estimator = cs.ExpectedMiscalibration(cs.VarianceTree(4))
    relabelled = cs.Sample(np.array([1, 2, 0])[sample.outcomes], sample.y_prob[:, [2, 0, 1]], labels=[0, 1, 2])
    reordered = sample.take(rng.permutation(7))
    exact = [law_of_labels(estimator, each).pvalue(estimator(each)) for each in (sample, relabelled, reordered)]
    np.testing.assert_allclose(exact, exact[0], rtol=1e-12)
    assert 0.01 < exact[0] < 0.99


def test_vaicenavicius_2019_error_of_a_calibrated_model_vanishes_as_cells_fill():
    rng = np.random.default_rng(95)
    means = []
    for n in (100, 10_000, 1_000_000):
        scores = rng.random(n)
        means.append(cs.ECE(cs.EqualWidth(10))(cs.Sample(rng.random(n) < scores, scores)))
    assert means[0] > means[1] > means[2]
    assert means[2] < 0.003
