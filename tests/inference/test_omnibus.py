"""The exact min-p test over a panel."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

import calibstat as cs
from calibstat.inference.multiple import omnibus_test
from calibstat.inference.multiplicity import ByRanks

PANEL = {
    "ece": cs.ECE(cs.EqualMass(5)),
    "l2": cs.DebiasedL2(cs.EqualMass(5)),
    "max": cs.MaximumMiscalibration(cs.EqualMass(5)),
}


def world(chance, n=500, seed=0, **more):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return cs.Sample(rng.random(n) < chance(p), p, labels=[False, True], **more)


def classes(n, seed, noise=0.0, n_classes=3):
    rng = np.random.default_rng(seed)
    prob = rng.dirichlet(np.ones(n_classes), n)
    truth = (1 - noise) * prob + noise / n_classes
    return cs.Sample((rng.random((n, 1)) > truth.cumsum(axis=1)[:, :-1]).sum(axis=1), prob, labels=range(n_classes))


def test_ranks_by_definition():
    evidence = np.array([[3.0, 1.0], [2.0, 1.0], [2.0 + 1e-14, np.inf], [0.0, -5.0]])
    np.testing.assert_array_equal(ByRanks()(evidence), -np.array([[1, 3], [3, 3], [3, 1], [4, 4]]) / 4)


def test_a_panel_of_a_statistic_and_itself_gives_its_own_pvalue():
    sample = world(lambda p: p**1.1)
    ece = cs.ECE(cs.EqualMass(10))
    found = omnibus_test(sample, {"one": ece, "same": ece}, n_resamples=199, rng=3)
    alone = cs.calibration_test(sample, ece, null=cs.Consistency(199), rng=cs.as_generator(3))
    assert found.pvalue == found.statistic == alone.pvalue
    assert found.pvalues == found.adjusted == (alone.pvalue,) * 2


def test_members_have_their_own_exact_pvalues():
    sample = world(lambda p: p**1.1)
    found = omnibus_test(sample, PANEL, n_resamples=99, rng=4)
    for name, estimator in PANEL.items():
        alone = cs.calibration_test(sample, estimator, null=cs.Consistency(99, shortcuts=False), rng=cs.as_generator(4))
        assert found.pvalues[found.names.index(name)] == alone.pvalue
    assert found.statistic == min(found.pvalues)
    assert found.pvalue == min(found.adjusted) >= found.statistic


@pytest.mark.parametrize(
    ("chance", "strongest", "kind"),
    [
        (lambda p: 0.5 + 0.5 * (p - 0.5), "Spiegelhalter", "over-confidence"),
        (lambda p: p**2 / (p**2 + (1 - p) ** 2), "Spiegelhalter", "under-confidence"),
    ],
    ids=["over", "under"],
)
def test_the_strongest_statistic_says_what_is_wrong(chance, strongest, kind):
    found = omnibus_test(world(chance), n_resamples=199, rng=0)
    assert (found.strongest, found.pvalue) == (strongest, 0.005)
    assert found.kind.startswith(kind)
    assert f"Strongest: {strongest}, which points to {kind}" in str(found)


def test_oscillation_is_found_by_a_local_statistic():
    found = omnibus_test(
        world(lambda p: p + 0.25 * np.sin(12 * np.pi * p) * np.minimum(1, 4 * p * (1 - p)), n=1000), rng=0
    )
    assert found.pvalue <= 0.01
    assert found.strongest in ("multi-scale l2", "multi-bandwidth kernel")


def test_a_calibrated_model_is_not_called_calibrated():
    found = omnibus_test(world(lambda p: p), n_resamples=199, rng=0)
    assert found.pvalue > 0.05
    assert found.verdict.startswith("Calibration is not rejected at 5 % through Canonical() (n = 500, p = ")
    assert "is calibrated" not in str(found)
    assert found.kind is found.to_dict()["kind"] is None


@pytest.mark.parametrize(("noise", "low", "high"), [(0.0, 0.05, 1.0), (0.5, 0.0, 0.02)])
def test_three_classes(noise, low, high):
    found = omnibus_test(classes(250, 1, noise), n_resamples=99, rng=0)
    assert low < found.pvalue <= high
    assert len(found.names) == 5


def test_a_lens_in_front():
    found = omnibus_test(classes(300, 2, 0.5), lens=cs.TopLabel(), n_resamples=99, rng=0)
    assert "Spiegelhalter" in found.names
    assert found.pvalue == 0.01
    assert "through TopLabel() (n = 300, p = 0.01, 99 resamples, 5 statistics)" in found.verdict


def test_the_same_rng_gives_the_same_result():
    sample = world(lambda p: p)
    first, again, other = (omnibus_test(sample, PANEL, n_resamples=99, rng=seed) for seed in (3, 3, 4))
    assert str(first) == str(again)
    assert first.pvalues != other.pvalues


def test_as_plain_values():
    found = omnibus_test(world(lambda p: p), PANEL, n_resamples=19, rng=0)
    values = found.to_dict()
    assert json.loads(json.dumps(values)) == values
    assert values["panel"]["ece"]["estimator"] == repr(PANEL["ece"])
    assert list(found.to_frame().index) == list(PANEL)
    assert tuple(found) == (found.statistic, found.pvalue)
    assert str(pickle.loads(pickle.dumps(found))) == str(found)


@pytest.mark.parametrize("panel", [{}, {"one": cs.ECE()}, [cs.ECE(), cs.ECE()], {"a": cs.ECE(), "b": 3}], ids=str)
def test_a_panel_has_two_estimators(panel):
    with pytest.raises(ValueError, match="a panel has at least two different estimators"):
        omnibus_test(world(lambda p: p), panel)


def test_a_panel_that_does_not_fit_the_lens():
    with pytest.raises(
        ValueError, match=r"'ece' of the panel does not fit what is seen through Canonical\(\): .*TopLabel"
    ):
        omnibus_test(classes(100, 0), PANEL)


def test_no_rows():
    with pytest.raises(ValueError, match="no row is left"):
        omnibus_test(world(lambda p: p), lens=cs.Region(lambda predictions: predictions.event > 2))


@pytest.mark.parametrize(
    ("sample", "options", "message"),
    [
        ([0, 1], {}, "sample is of type list, but a Sample is expected"),
        (None, {"panel": "ECE"}, "panel is 'ECE', but several estimators are expected"),
        (None, {"panel": cs.ECE()}, "several estimators are expected"),
        (None, {"lens": "top-label"}, "lens is of type str, but a lens is expected"),
    ],
)
def test_arguments_of_a_wrong_kind(sample, options, message):
    with pytest.raises(TypeError, match=message):
        omnibus_test(world(lambda p: p) if sample is None else sample, **options)


def test_a_member_that_gives_an_array():
    panel = {"ece": cs.ECE(), "histogram": cs.HistogramRegression(cs.EqualMass(5))}
    with pytest.raises(ValueError, match="'histogram' of the panel gives an array, but a test needs one number"):
        omnibus_test(world(lambda p: p), panel)
