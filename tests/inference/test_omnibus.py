"""The exact test over a panel, by each way to combine it, and the default of `calibration_test`."""

from __future__ import annotations

import json
import math
import pickle

import numpy as np
import pytest

import calibstat as cs
from calibstat.draws import pooled
from calibstat.draws.pooled import PooledEvaluator
from calibstat.estimators.panels import default_panel, family_of
from calibstat.inference.multiple import multiple_test, omnibus_test
from calibstat.inference.multiplicity import COMBINATIONS, ByRanks, combined_pvalue, joint_test
from calibstat.inference.test import ROWS_FOR_PANEL, recommended_test
from calibstat.nulls.base import EmpiricalNull
from suites import everything

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


FORMULAS = {
    "cauchy": lambda ps: sum(math.tan((0.5 - p) * math.pi) for p in ps) / len(ps),
    "fisher": lambda ps: -2 * sum(math.log(p) for p in ps),
    "truncated": lambda ps: -2 * sum(math.log(p) for p in ps if p <= 0.05),
}


def naive_combined(sets, formula):
    """By plain loops: the p-value of each statistic of each set among all sets, and of their combination."""
    pvalues = [[(sum(other[j] >= own[j] for other in sets) - 0.5) / len(sets) for j in range(len(own))] for own in sets]
    combined = [formula(each) for each in pvalues]
    return sum(each >= combined[0] - 1e-9 for each in combined) / len(sets)


@pytest.mark.parametrize("combine", FORMULAS)
@pytest.mark.parametrize("ties", [False, True])
def test_combinations_by_plain_loops(combine, ties):
    rng = np.random.default_rng(8)
    for shift in (0, 1, 2):
        draws = rng.normal(size=(60, 4)) + rng.normal(size=(60, 1))
        draws[0] += shift
        sets = np.round(draws) if ties else draws
        wanted = naive_combined(sets.tolist(), FORMULAS[combine])
        assert combined_pvalue(sets, combine) == pytest.approx(wanted)
        assert joint_test(sets[0], [sets[1:]], combine=combine).pvalue == pytest.approx(wanted)
        several = joint_test(sets[0], [sets[1:], sets[1:] + 9], combine=combine).pvalue
        assert several == max(wanted, naive_combined([sets[0], *(sets[1:] + 9)], FORMULAS[combine]))
    assert set(FORMULAS) | {"max-t"} == set(COMBINATIONS)


@pytest.mark.parametrize("combine", FORMULAS)
def test_a_combination_changes_the_joint_pvalue_alone(combine):
    sample = world(lambda p: p**1.15)
    one, other = (omnibus_test(sample, PANEL, combine=each, n_resamples=99, rng=3) for each in ("max-t", combine))
    assert (one.pvalues, one.pvalues_adjusted) == (other.pvalues, other.pvalues_adjusted)
    assert other.combine in other.to_dict()["combine"]
    assert COMBINATIONS[combine] in other.to_text(1000, verbose=True)
    assert one.pvalue == min(one.pvalues_adjusted)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"null": cs.Consistency(18)},
            "n_resamples is 18, but with so few redraws the smallest p-value of the panel is 0.053",
        ),
        ({"null": cs.Consistency(9)}, "above the level 0.05: take at least 19"),
        ({"null": cs.Consistency(99), "level": 0.001}, "take at least 999"),
        ({"n_resamples": 58, "standardize": "ranks"}, "the panel is 0.051, above the level 0.05: take at least 59"),
        ({"combine": "tippett"}, "combine is 'tippett'; it must be one of 'max-t', 'cauchy', 'fisher', 'truncated'"),
    ],
)
def test_redraws_too_few_for_the_panel_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        omnibus_test(world(lambda p: p, n=50), PANEL, **options)


def test_enough_redraws_are_not_refused_and_more_are_taken_for_a_small_level():
    sample = world(lambda p: p, n=50)
    assert omnibus_test(sample, PANEL, n_resamples=19, rng=0).n_resamples == 19
    assert omnibus_test(sample, PANEL, n_resamples=59, standardize="ranks", rng=0).n_resamples == 59
    assert omnibus_test(sample, PANEL, level=0.0009, rng=0).n_resamples > 1111


def test_without_an_estimator_a_panel_is_tested_and_the_size_shown():
    sample = world(lambda p: p**1.5)
    found, panel = cs.calibration_test(sample, rng=0), omnibus_test(sample, rng=0)
    alone = cs.calibration_test(sample, cs.ECE(cs.EqualMass(15)))
    assert tuple(found) == (alone.statistic, panel.pvalue)
    assert found.null_mean == alone.null_mean
    assert found.hypothesis == panel.hypothesis
    assert found.to_dict()["panel"] == dict(zip(panel.names, panel.pvalues, strict=True))
    assert found.verdict.startswith("Evidence of miscalibration of P(True) at 5 % (n = 500, p = 0.001): too high, ")
    assert found.direction == f" It points to {panel.kind}."
    assert "the strongest of several statistics on the same redraws: Spieg" in everything(found)
    assert "is calibrated" not in str(cs.calibration_test(world(lambda p: p), rng=0))
    assert cs.calibration_test(world(lambda p: p), rng=0).direction == ""


def test_the_interval_of_the_pvalue_is_that_of_its_draws():
    found = omnibus_test(world(lambda p: p), n_resamples=99, rng=1)
    reached = round(100 * found.pvalue) - 1
    draws = EmpiricalNull(np.repeat([1.0, 0.0], [reached, 99 - reached]), lambda values: values)
    np.testing.assert_allclose(found.pvalue_interval, draws.pvalue_interval(0.5))


def test_the_default_looks_through_a_lens_and_sees_several_classes():
    sample = classes(200, 1, 0.5)
    top, whole = (
        cs.calibration_test(sample, lens=lens, n_resamples=99, rng=0) for lens in (cs.TopLabel(), cs.Canonical())
    )
    assert top.question.estimator == cs.TopLabel() | cs.ECE(cs.EqualMass(15))
    assert whole.question.estimator == cs.ExpectedMiscalibration(cs.VarianceTree(20))
    assert len(top.panel.names) == len(whole.panel.names) == 5
    assert whole.pvalue == whole.panel.pvalue == 0.01


@pytest.mark.parametrize("null", ["exact", "multiplier", cs.Consistency(99, resample_predictions=True), "sequential"])
def test_another_null_tests_the_size_itself(null):
    sample = world(lambda p: p, n=60)
    found, alone = (cs.calibration_test(sample, *each, null=null, rng=0) for each in ((), (cs.ECE(cs.EqualMass(15)),)))
    assert found.panel is None
    assert tuple(found) == tuple(alone)


def test_many_rows_test_the_size_itself(monkeypatch):
    sample = world(lambda p: p, n=60)
    assert ROWS_FOR_PANEL >= 20_000
    monkeypatch.setattr("calibstat.inference.test.ROWS_FOR_PANEL", 59)
    found = recommended_test(sample, cs.Kuiper(), rng=0)
    assert found.panel is None
    assert tuple(found) == tuple(cs.calibration_test(sample, cs.Kuiper(), rng=0))


@pytest.mark.parametrize(
    "p", [[0.3], [0.3] * 30, [0.0, 1.0] * 5, [1e-9] * 20], ids=["one row", "equal", "certain", "rare"]
)
def test_the_default_serves_every_sample(p):
    found = cs.calibration_test(cs.Sample(np.arange(len(p)) % 2, p, labels=[0, 1]), n_resamples=19, rng=0)
    assert 0 < found.pvalue <= 1


def test_a_panel_of_a_statistic_and_itself_gives_its_own_pvalue():
    sample = world(lambda p: p**1.1)
    ece = cs.ECE(cs.EqualMass(10))
    found = omnibus_test(sample, {"one": ece, "same": ece}, n_resamples=199, rng=3)
    alone = cs.calibration_test(sample, ece, null=cs.Consistency(199), rng=cs.as_generator(3))
    assert found.pvalue == found.statistic == alone.pvalue
    assert found.pvalues == found.pvalues_adjusted == (alone.pvalue,) * 2


def test_members_have_their_own_exact_pvalues():
    sample = world(lambda p: p**1.1)
    found = omnibus_test(sample, PANEL, n_resamples=99, rng=4)
    for name, estimator in PANEL.items():
        alone = cs.calibration_test(sample, estimator, null=cs.Consistency(99, shortcuts=False), rng=cs.as_generator(4))
        assert found.pvalues[found.names.index(name)] == alone.pvalue
    assert found.statistic == min(found.pvalues)
    assert found.pvalue == min(found.pvalues_adjusted) >= found.statistic


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
    assert f"The strongest statistic, {strongest}, points to {kind}" in found.verdict


@pytest.mark.parametrize("n_classes", [2, 3])
def test_where_all_predictions_are_equal_no_range_is_named(n_classes):
    rng = np.random.default_rng(0)
    rows = np.tile([0.2, 0.3, 0.5][-n_classes:] / np.sum([0.2, 0.3, 0.5][-n_classes:]), (300, 1))
    found = omnibus_test(cs.Sample(rng.integers(0, n_classes, 300), rows), n_resamples=99, rng=0)
    assert found.pvalue == 0.01
    assert len(set(found.kinds)) == 1
    assert found.kind.startswith("a prediction, the same for all rows, ")
    named = omnibus_test(
        cs.Sample(rng.integers(0, n_classes, 300), rows), [cs.SKCE(), cs.SKCE(kind="biased")], n_resamples=99, rng=0
    )
    assert all(each.startswith("large ") for each in named.kinds)


@pytest.mark.parametrize(("factor", "side", "said"), [(2, 0, "low"), (0.3, 0, "high"), (2, 1, "high"), (0.3, 1, "low")])
def test_too_extreme_on_one_side_of_one_half_is_too_low_or_too_high(factor, side, said):
    rng = np.random.default_rng(1)
    p = rng.uniform(0, 0.2, 1000)
    event = (rng.random(1000) < factor * p).astype(int)
    sample = cs.Sample(1 - event if side else event, 1 - p if side else p, labels=(0, 1))
    kind = omnibus_test(sample, n_resamples=99, rng=0).kinds[0]
    assert kind.endswith(f", that is too {said}, since all are {'above' if side else 'below'} 1/2")


def test_oscillation_is_found_by_a_local_statistic():
    found = omnibus_test(
        world(lambda p: p + 0.25 * np.sin(12 * np.pi * p) * np.minimum(1, 4 * p * (1 - p)), n=1000), rng=0
    )
    assert found.pvalue <= 0.01
    assert found.strongest in ("multi-scale l2", "multi-bandwidth kernel")


def test_a_calibrated_model_is_not_called_calibrated():
    found = omnibus_test(world(lambda p: p), n_resamples=199, rng=0)
    assert found.pvalue > 0.05
    assert found.verdict.startswith("Calibration of P(True) is not rejected at 5 % (n = 500, p = ")
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
    assert found.verdict.startswith("Evidence of miscalibration of ")
    assert "predicted class" in found.verdict
    assert "(n = 300, p = 0.01): " in found.verdict
    assert found.description == "99 resamples, 5 statistics"


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


def test_where_no_panel_could_reject_a_computed_p_value_is_given():
    sample = world(lambda p: p**2)
    found = cs.calibration_test(sample, level=1e-9, rng=0)
    assert found.panel is None
    assert found.verdict.startswith("Evidence of miscalibration of P(True) at 1e-07 %")
    assert cs.calibration_test(sample, level=0.01, rng=0).panel is not None
    with pytest.raises(ValueError, match="take a statistic whose p-value is computed, such as ECE"):
        omnibus_test(sample, level=1e-9)


def test_a_panel_of_many_rows_is_drawn_in_cells_and_compares_the_data_pooled_alike(monkeypatch):
    monkeypatch.setattr(pooled, "ROWS", 0)
    monkeypatch.setattr(pooled, "most_cells", lambda _: 12)
    sample = world(lambda p: p**1.2, n=300)
    found = omnibus_test(sample, n_resamples=199, rng=3)
    family = family_of(default_panel(2, 300))
    cells = PooledEvaluator(family, sample.predictions)
    drawn = cs.Consistency(199).draw(family, sample, cs.as_generator(3))
    assert found.values == pytest.approx(family.prepare(sample.predictions)(sample.outcomes))
    together = joint_test(
        family.evidences(cells(sample.outcomes)), [family.evidences(drawn.samples)], "max-t", "moments", "max-t"
    )
    assert (found.pvalue, found.pvalues) == (together.pvalue, tuple(together.pvalues))
    assert f"rows pooled to {cells.n_cells} cells of nearly equal predictions" in found.to_text(1000, verbose=True)
    tested = multiple_test(sample, family, n_resamples=199, rng=3)
    np.testing.assert_array_equal(tested.pvalues, together.pvalues)
    assert f"rows pooled to {cells.n_cells} cells" in tested.pooling
    assert not any("pooled" in each for each in (*found.notes, *tested.notes))


def test_with_many_probabilities_the_kernel_is_read_at_landmarks():
    names = [default_panel(3, n)[0].estimator for n in (1000, 1001)]
    assert isinstance(names[0], cs.SKCE)
    assert names[1] == cs.CME(50)
    assert isinstance(default_panel(10, 400)[0].estimator, cs.SKCE)
    assert default_panel(10, 401)[0].estimator == cs.CME(50)
    assert omnibus_test(classes(1200, 1, noise=0.3), n_resamples=99, rng=0).names[0] == "kernel at landmarks"
