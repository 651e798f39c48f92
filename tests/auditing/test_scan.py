from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats

import calibstat as cs
from calibstat.auditing import scan
from calibstat.auditing.audit import subgroup_audit
from calibstat.auditing.curves import equal_curves_test
from calibstat.auditing.groups import look
from calibstat.auditing.scan import VariableErrors, _OfVariables, scan_variables
from calibstat.draws import group_sums
from calibstat.nulls.multiplier import Multiplier, Weak


def world(n=800, seed=0, slope=0.0, n_classes=2, weighted=False):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([1] * n_classes, n)
    age, site = rng.uniform(20, 80, n), rng.choice(["a", "b", "c"], n)
    chance = p.copy()
    chance[:, -1] = np.clip(chance[:, -1] + slope * (age - 50) / 30, 0, 1)
    chance /= chance.sum(axis=1, keepdims=True)
    y = (chance.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(max=n_classes - 1)
    weights = rng.uniform(0.5, 2, n) if weighted else None
    return cs.Sample(y, p, variables={"age": age, "site": site}, sample_weight=weights, labels=list(range(n_classes)))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_values_are_those_of_vece_and_of_the_worst_cell(n_classes, weighted):
    sample = world(n_classes=n_classes, weighted=weighted, slope=0.2)
    found = scan_variables(sample, min_expected=0, n_resamples=19, rng=0)
    for name, binning in (("age", cs.EqualMass(10)), ("site", cs.Categories())):
        assert found[name].vece == pytest.approx(cs.VECE(name, binning)(sample))
        worst = (cs.Given(name) | cs.MaximumMiscalibration(binning))(sample)
        assert found[name].worst.error == pytest.approx(worst)


def test_sums_are_those_of_a_naive_loop():
    sample = world(60, weighted=True)
    levels = [
        scan_levels(sample, "age", cs.EqualMass(3)),
        scan_levels(sample, "site", cs.Categories()),
    ]
    labels = np.random.default_rng(0).integers(0, 2, (5, 60))
    mean, largest, varying = np.moveaxis(VariableErrors(sample.predictions, levels)(labels), -1, 0)
    w, p = sample.predictions.weights, sample.predictions.event
    for r in range(5):
        for v, each in enumerate(levels):
            gaps, masses = [], []
            for cell in range(each.size):
                rows = [i for i in range(60) if each.index[i] == cell]
                gaps.append(abs(sum(w[i] * (labels[r, i] - p[i]) for i in rows)))
                masses.append(sum(w[i] for i in rows))
            assert mean[r, v] == pytest.approx(sum(gaps) / sum(w))
            assert largest[r, v] == pytest.approx(max(g / m for g, m in zip(gaps, masses, strict=True)))
            bias = sum(w[i] * (labels[r, i] - p[i]) for i in range(60)) / sum(w)
            left = [
                abs(sum(w[i] * (labels[r, i] - p[i] - bias) for i in range(60) if each.index[i] == cell))
                for cell in range(each.size)
            ]
            assert varying[r, v] == pytest.approx(sum(left) / sum(w))


def scan_levels(sample, name, binning):
    from calibstat.auditing.groups import cut_levels, read_columns

    return cut_levels(name, read_columns(sample, name, "raise")[name], sample.predictions, binning)


def test_noise_has_the_law_of_the_nulls_of_the_package():
    sample = world(2000)
    found = scan_variables(sample, "age", n_resamples=1999, rng=0)["age"]
    plain = cs.calibration_test(sample, cs.VECE("age"), null=cs.Consistency(1999), rng=1)
    error = plain.null_distribution.samples.std() / np.sqrt(1999)
    assert abs(found.null_mean - plain.null_mean) < 4 * np.sqrt(2) * error
    levels = [scan_levels(sample, "age", cs.EqualMass(10))]
    of_cells, centred = _OfVariables(tuple(levels)), Multiplier(1999, centred=True)
    signed = centred.draw(of_cells, sample, cs.as_generator(0)).samples[:, 0, 0]
    seen = cs.Given("age")(sample)
    multiplier = Multiplier(1999, centred=True).draw(cs.ECE(cs.EqualMass(10)), seen, cs.as_generator(1)).samples
    assert abs(signed.mean() - multiplier.mean()) < 4 * np.sqrt(2) * multiplier.std() / np.sqrt(1999)


def test_small_example_of_variable_based_calibration():
    """VECE = 0.2408333333 of twelve rows in four quantile cells of age, worked by hand."""
    age = [20, 22, 25, 25, 31, 33, 38, 40, 41, 47, 52, 60]
    confidence = [0.9, 0.8, 0.7, 0.95, 0.85, 0.6, 0.9, 0.75, 0.8, 0.99, 0.7, 0.65]
    correct = [1, 1, 1, 1, 1, 0, 1, 0, 1, 0, 0, 1]
    sample = cs.Sample.from_confidence(correct, confidence, variables={"age": age})
    edges = cs.FixedEdges([20, 25.1, 35.5, 42.5, 60])
    found = scan_variables(sample, binning=edges, min_expected=0, n_resamples=19, rng=0)["age"]
    assert found.vece == pytest.approx(0.2408333333333)
    assert [cell.error for cell in found.cells] == pytest.approx([0.1625, 0.225, 0.15, 0.4466666667])
    assert found.worst.level == "42.5 to 60"
    assert (found.consistency, found.too_high, found.too_low) == ("mixed", 3, 1)


def test_consistent_overconfidence_makes_vece_the_difference_of_means_kelly_smyth_theorem_5_4():
    confidence, correct, v = [0.9, 0.9, 0.8, 0.8, 0.95, 0.95], [1, 0, 1, 0, 1, 0], [1, 2, 2, 1, 3, 3]
    sample = cs.Sample.from_confidence(correct, confidence, variables={"v": v})
    scan = scan_variables(sample, min_expected=0, n_resamples=19, rng=0)
    assert scan["v"].vece == pytest.approx(0.3833333333)
    assert scan["v"].consistency == "over"
    assert "consistently overconfident" in scan.to_text(120)


@pytest.mark.parametrize("k", [2, 3, 10])
def test_no_error_of_the_score_and_a_large_one_of_the_variable_kelly_smyth_theorem_5_1(k):
    score = (k + 1) / (2 * k)
    correct, v = [1] * k + [1] + [0] * (k - 1), [0] * k + [1] * k
    sample = cs.Sample.from_confidence(correct, [score] * (2 * k), variables={"v": v})
    assert cs.ECE(cs.UniqueValues())(sample) == pytest.approx(0, abs=1e-12)
    found = scan_variables(sample, min_expected=0, n_resamples=19, rng=0)["v"]
    assert found.vece == pytest.approx(1 / 2 - 1 / (2 * k))


def test_variables_are_ranked_by_excess_or_by_the_raw_value():
    rng = np.random.default_rng(2)
    n = 3000
    p, noise, sex = rng.random(n), rng.random(n), rng.choice(["f", "m"], n)
    y = rng.random(n) < np.clip(p + np.where(sex == "m", 0.02, -0.02), 0, 1)
    sample = cs.Sample(y, p, variables={"noise": noise, "sex": sex})
    many = {"noise": cs.EqualMass(50), "sex": cs.Categories()}
    by_excess = scan_variables(sample, binning=many, min_expected=0, rank_by="excess", n_resamples=199, rng=0)
    by_vece = scan_variables(sample, binning=many, min_expected=0, rank_by="vece", n_resamples=199, rng=0)
    assert [each.variable for each in by_excess] == ["sex", "noise"]
    assert [each.variable for each in by_vece] == ["noise", "sex"]
    assert by_vece["noise"].excess == by_excess["noise"].excess


def test_the_weak_pvalue_is_never_below_the_strong_one():
    for seed in range(5):
        scan = scan_variables(world(500, seed, slope=0.05), n_resamples=99, rng=seed)
        for each in scan:
            assert each.pvalue_weak >= each.pvalue_strong
            low, high = each.confidence_interval
            assert low <= each.vece <= high


def test_a_variable_is_found_and_described():
    scan = scan_variables(world(3000, slope=0.3), n_resamples=199, rng=0)
    assert [each.variable for each in scan.rejected] == [each.variable for each in scan.varying] == ["age"]
    assert scan["age"].confidence_interval[0] > 0
    assert scan["age"].worst_expected < scan["age"].worst.error
    assert scan.verdict.startswith("The error of P(1) varies along 1 of 2 variables at 5 %, most along age: by 0.")
    strong = scan_variables(world(3000), null="strong", n_resamples=199, rng=1)
    assert strong.verdict.startswith(
        "Calibration of P(1) given the prediction and the variable is not rejected at 5 % along any of 2 variables"
    )
    assert "exact" in strong.hypothesis
    assert "asymptotic" in scan.hypothesis


def test_what_cannot_be_scanned_is_left_out_or_refused():
    sample = world(300)
    found = scan_variables(
        sample,
        {
            "id": [f"row {i}" for i in range(300)],
            "one": ["x"] * 300,
            "rare": ["x"] * 4 + ["y"] * 296,
            "b": ["s", "t"] * 150,
        },
        n_resamples=19,
        rng=0,
    )
    assert {each.name: each.reason for each in found.left_out} == {
        "id": "has 300 levels, more than 50",
        "one": "has one level",
        "rare": "cannot be cut into two cells of at least 10 expected events and as many non-events",
    }
    with pytest.raises(ValueError, match="no variable to scan: one has one level"):
        scan_variables(sample, {"one": ["x"] * 300}, rng=0)
    with pytest.raises(ValueError, match="the sample has no variables to scan"):
        scan_variables(cs.Sample([0, 1], [0.1, 0.9]), rng=0)


def test_merged_cells_are_said():
    sample = world(150)
    found = scan_variables(sample, "age", n_resamples=19, rng=0)
    assert len(found["age"].cells) < 10
    assert f"age {len(found['age'].cells)} of 10" in found.how[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"null": "exact"}, "null is 'exact', but a scan looks at .*: it must be 'weak' or 'strong'"),
        ({"null": cs.Multiplier()}, "null is Multiplier.*, but a scan looks at"),
        ({"null": cs.Weak(99), "n_resamples": 19}, "null=Weak.* says how many are drawn"),
        ({"level": 2}, "level is 2"),
        ({"rank_by": "pvalue"}, "rank_by is 'pvalue'"),
        ({"adjust": "none"}, "adjust is 'none'"),
        ({"confidence_level": 2}, "confidence_level is 2"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        scan_variables(world(), rng=0, **arguments)


def test_results_are_plain():
    scan = scan_variables(world(n_classes=3), n_resamples=99, rng=0)
    json.dumps(scan.to_dict(), allow_nan=False)
    assert scan["age"].to_dict()["consistency"] is None
    assert list(scan.to_frame().index) == [each.variable for each in scan]
    assert "is calibrated" not in str(scan)
    assert repr(scan) == str(scan)
    again = scan_variables(world(n_classes=3), n_resamples=99, rng=0)
    assert again.to_dict() == scan.to_dict()
    with pytest.raises(KeyError, match="there is no variable 'sex'"):
        scan["sex"]


def test_names_of_arguments_are_those_of_the_function():
    sample = cs.Sample([0, 1], [0.1, 0.9], variables={"x": [1, 2]})
    with pytest.raises(
        ValueError, match=r"^variables: the sample has no variable 'nope'.*or as variables={name: values}"
    ):
        scan_variables(sample, ["nope"])
    with pytest.raises(ValueError, match=r"^variables is empty"):
        scan_variables(sample, [])


@pytest.mark.parametrize("ask", [scan_variables, subgroup_audit, equal_curves_test])
def test_something_else_than_a_lens_is_refused(ask):
    with pytest.raises(TypeError, match="lens is of type str, but a lens is expected"):
        ask(cs.Sample([0, 1], [0.1, 0.9], variables={"x": [1, 2]}), "x", lens="top")


@pytest.mark.parametrize(("adjust", "few", "enough"), [("holm", 38, 39), ("max-t", 18, 19)])
def test_a_scan_that_could_reject_nothing_is_refused(adjust, few, enough):
    rng = np.random.default_rng(0)
    sample = cs.Sample([0] * 300, [0.9] * 300, variables={"a": rng.random(300), "b": rng.random(300)}, labels=[0, 1])
    with pytest.raises(ValueError, match=f"at least {enough}"):
        scan_variables(sample, adjust=adjust, null=cs.Weak(few), rng=0)
    assert len(scan_variables(sample, adjust=adjust, null="strong", n_resamples=enough, rng=0).rejected) == 2


def crossed(n, seed=0):
    """Two variables, one of which follows the prediction; outcomes that are off."""
    rng = np.random.default_rng(seed)
    p, group = rng.random(n), rng.integers(0, 5, n)
    happened = rng.random(n) < np.clip(p + 0.2, 0, 1)
    return cs.Sample(happened, p, variables={"group": group, "like": (4 * p).astype(int)}, labels=[False, True])


@pytest.mark.parametrize("enough", [0, 60], ids=["normal", "some rows alone"])
def test_sums_over_cells_have_the_law_of_rows(enough, monkeypatch):
    monkeypatch.setattr(group_sums, "ENOUGH", enough)
    sample, weak = crossed(600), Weak(3000)
    levels, seen = look(sample, ["group", "like"], cs.Canonical(), cs.EqualMass(10), "raise")
    estimator = scan._OfVariables(tuple(levels))
    evaluator = estimator.prepare(seen.predictions)
    sums = evaluator.drawn(seen, weak, cs.as_generator(1))
    rows = scan._drawn_by_rows(estimator, evaluator, seen, weak, cs.as_generator(2))
    for one, other in zip(sums, rows, strict=True):
        assert one.shape == other.shape == (3000, 2, 3)
        for each in np.ndindex(2, 3):
            assert stats.ks_2samp(one[:, *each], other[:, *each]).pvalue > 1e-3
        np.testing.assert_allclose(*(np.corrcoef(found.reshape(3000, 6).T) for found in (one, other)), atol=0.1)
    assert stats.ks_2samp(sums[0][:, 0, 0], rows[0][:, 1, 0]).pvalue < 1e-6  # the negative control: other cells


def test_a_scan_of_many_rows_draws_sums_and_says_so():
    many, few = (scan_variables(crossed(n), null="strong", n_resamples=99, rng=0) for n in (6000, 600))
    assert "sums over cells are drawn" in " ".join(many.to_text(verbose=True).split())
    assert "sums" not in str(many)
    assert "(exact)" not in many.hypothesis
    assert few.how == ()
    assert "(exact)" in few.hypothesis
    assert [each.variable for each in many.rejected] == [each.variable for each in few.rejected] != []


# An overall bias, and what varies beside it


def biased(bias, slope=0.0, n=6000):
    rng = np.random.default_rng(4)
    p, age, sex = rng.uniform(0.2, 0.7, n), rng.uniform(20, 80, n), rng.choice(["f", "m"], n)
    y = np.where(rng.random(n) < p + bias + slope * (sex == "m"), "yes", "no")
    return cs.Sample(y, p, variables={"age": age, "sex": sex}, labels=["no", "yes"])


def test_an_overall_bias_is_said_once_and_no_variable_is_named_for_it():
    scan = scan_variables(biased(0.1), n_resamples=199, rng=0)
    assert len(scan.rejected) == 2
    assert scan.varying == []
    assert scan.verdict.startswith("Over all rows: predicts too low, 0.45 predicted, 0.5")
    assert (
        "For none of 2 variables is there evidence of more than this overall bias (smallest adjusted p" in scan.verdict
    )
    assert scan.to_dict()["mean_prediction"] == pytest.approx(scan.mean_prediction)
    assert [each.vece for each in scan] == pytest.approx([scan.mean_outcome - scan.mean_prediction] * 2, abs=1e-9)


def test_what_varies_is_ranked_before_what_has_more_cells():
    scan = scan_variables(biased(0.1, 0.06), n_resamples=199, rng=0)
    assert [each.variable for each in scan] == ["sex", "age"]
    assert [each.variable for each in scan.varying] == ["sex"]
    first = scan["sex"]
    assert first.varying == pytest.approx(0.03, abs=0.01)
    assert first.varying_interval[0] < 0.03 < first.varying_interval[1]
    assert scan.verdict.startswith("The error of P(yes) varies along 1 of 2 variables at 5 %, most along sex: by 0.03")
    assert "worst at m: predicts too low (0." in scan.verdict
    assert "Over all rows: predicts too low, 0.45 predicted, 0.5" in scan.verdict


def test_three_outcomes_have_no_overall_direction():
    scan = scan_variables(world(3000, n_classes=3, slope=0.3), n_resamples=99, rng=0)
    assert scan.varying[0].variable == "age"
    assert "Over all rows" not in scan.verdict
    assert scan.to_dict()["pvalue_overall"] is None


def test_the_worst_of_merged_levels_has_its_own_name():
    """Levels of few events are merged for the tests; the one that is most off is named, with its own means."""
    rng = np.random.default_rng(0)
    job = np.repeat(["a", "b", "c", "d", "e"], [400, 400, 6, 14, 20])
    p = np.full(840, 0.3)
    y = rng.random(840) < np.where(job == "e", 0.95, p)
    scan = scan_variables(cs.Sample(y, p, variables={"job": job}, labels=[0, 1]), n_resamples=99, rng=0)
    assert [cell.level for cell in scan["job"].cells] == ["a", "b", "c / d / e"]
    worst = scan["job"].worst
    assert (worst.level, worst.n) == ("e", 20)
    assert worst.mean_outcome == pytest.approx(y[job == "e"].mean())
    assert "worst at e: predicts too low (0.300 predicted, " in scan.verdict


def test_the_overall_bias_of_rows_in_clusters_is_judged_by_these():
    """Copies of 100 rows say no more than the rows do."""
    rng = np.random.default_rng(7)
    p, copies = rng.random(100), np.repeat(np.arange(100), 8)
    y = (rng.random(100) < p - 0.1).astype(int)
    variables = {"v": rng.random(800)}
    rows, apart = (
        scan_variables(cs.Sample(y[copies], p[copies], variables=variables, groups=groups), n_resamples=99, rng=0)
        for groups in (copies, None)
    )
    once = stats.ttest_1samp(y - p, 0).pvalue
    assert rows.pvalue_overall == pytest.approx(once, rel=0.02)
    assert apart.pvalue_overall < once / 100
    assert "100 clusters (groups)" in rows.notes
    assert (rows.to_dict()["n_clusters"], "n_clusters" in apart.to_dict()) == (100, False)
