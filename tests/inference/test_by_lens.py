"""What one call does where neither lens nor estimator is named: the same in Python as by the commands."""

from __future__ import annotations

import json

import numpy as np
import pytest

import calibstat as cs
from calibstat.inference.by_lens import CLASS_WISE_UP_TO, recommended_lenses


@pytest.fixture(scope="module")
def pets():
    """600 rows of three classes, of which the predictions are too extreme."""
    rng = np.random.default_rng(1)
    p = rng.dirichlet([1, 1, 1], 600)
    chances = 0.5 * p + 0.5 / 3
    y = (chances.cumsum(axis=1) < rng.random(600)[:, None]).sum(axis=1)
    return cs.Sample(np.array(["cat", "dog", "eel"])[y], p, labels=["cat", "dog", "eel"])


@pytest.fixture(scope="module")
def pair(pets):
    p = pets.predictions.probabilities**2
    return pets, cs.Sample(pets.y_true, p / p.sum(axis=1, keepdims=True), labels=list(pets.labels))


@pytest.fixture(scope="module")
def file(pair, tmp_path_factory):
    path = tmp_path_factory.mktemp("by_lens") / "pets.csv"
    columns = {
        f"{name}_{label}": each.y_prob[:, k]
        for name, each in zip("ab", pair, strict=True)
        for k, label in enumerate(each.labels)
    }
    rows = zip(pair[0].y_true, *columns.values(), strict=True)
    path.write_text("\n".join([",".join(["pet", *columns]), *(",".join(map(str, row)) for row in rows)]) + "\n")
    return str(path)


@pytest.fixture
def by_command(file, capsys):
    from calibstat.cli.main import main

    def call(command, *options):
        assert not main([command, file, "--label", "pet", *options, "--format", "json"])
        return json.loads(capsys.readouterr().out)

    return call


def test_the_test_is_that_of_the_command(pets, by_command):
    found = cs.calibration_test(pets, rng=0)
    records = by_command("test", "--probs", "a_*", "--labels", "cat,dog,eel")
    assert len(records) == len(found.by_lens.tests) == 5
    for record, test, adjusted in zip(records, found.by_lens.tests, found.by_lens.pvalues_adjusted, strict=True):
        assert record["lens"] == repr(test.question.lens)
        assert (record["statistic"], record["null_mean"], record["pvalue"], record["pvalue_adjusted"]) == (
            test.statistic,
            test.null_mean,
            test.pvalue,
            adjusted,
        )


def test_the_estimate_is_that_of_the_command(pets, by_command):
    found = cs.estimate(pets, rng=0)
    records = by_command("estimate", "--probs", "a_*", "--labels", "cat,dog,eel")
    assert [(each["estimate"], each["null_mean"], each["confidence_interval"]) for each in records] == [
        (each.headline, each.headline_null_mean, list(each.confidence_interval)) for each in found.by_lens.estimates
    ]


def test_models_are_compared_as_by_the_command(pair, by_command):
    found = cs.compare_models(dict(zip("ab", pair, strict=True)), rng=0)
    record = by_command("compare", "--model", "a=a_*", "--model", "b=b_*", "--labels", "cat,dog,eel")
    asked = found.to_dict()
    assert {name: record[name] for name in ("pairs", "lens", "estimator")} == {
        name: asked[name] for name in ("pairs", "lens", "estimator")
    }
    two = cs.comparison_test(*pair, rng=0)
    assert two.questions[0].lens == cs.TopLabel()
    assert two.difference == pytest.approx(found.pairs[0].difference)


def test_an_equivalence_test_has_the_lens_and_the_size_of_the_others(pets):
    found = cs.equivalence_test(pets, margin=0.3, rng=0)
    asked = cs.equivalence_test(pets, cs.TopLabel() | cs.ECE(cs.EqualMass(15)), 0.3, rng=0)
    assert (found.question.estimator, found.upper_bound) == (asked.question.estimator, asked.upper_bound)
    with pytest.raises(TypeError, match="margin is None"):
        cs.equivalence_test(pets)


def test_the_overall_pvalue_is_the_smallest_adjusted_one_and_the_value_the_largest_beyond_noise(pets):
    found = cs.calibration_test(pets, rng=0)
    lenses = found.by_lens
    statistic, pvalue = found
    beyond = [abs(test.statistic - test.null_mean) for test in lenses.tests]
    assert pvalue == min(lenses.pvalues_adjusted) == 5 * min(test.pvalue for test in lenses.tests)
    assert statistic == lenses.tests[int(np.argmax(beyond))].statistic
    assert (lenses.pvalues_adjusted <= np.array(0.05)).all()
    low, high = found.pvalue_interval
    assert low <= pvalue <= high


def test_with_lens_or_estimator_there_is_one_test(pets):
    for found in (cs.calibration_test(pets, lens=cs.Canonical(), rng=0), cs.estimate(pets, lens=cs.TopLabel(), rng=0)):
        assert found.by_lens is None
    assert cs.calibration_test(pets, cs.SKCE(), rng=0).by_lens is None


def test_the_printed_result_has_a_row_for_each_lens(pets):
    for found in (cs.calibration_test(pets, rng=0), cs.estimate(pets, n_resamples=99, rng=0)):
        text = found.to_text(100)
        for name in ("P(predicted class)", "all 3 probabilities together", "P(cat)", "P(dog)", "P(eel)"):
            assert f"\n{name} " in text
        assert max(map(len, found.to_text(60).splitlines())) <= 60
        frame = found.by_lens.to_frame()
        assert len(frame) == 5
        assert frame["calibration_of"][0] == "P(predicted class)"


def test_lenses_for_each_number_of_classes():
    assert recommended_lenses([0, 1]) == (cs.Canonical(),)
    most = range(CLASS_WISE_UP_TO)
    assert recommended_lenses(most) == (cs.TopLabel(), cs.Canonical(), *map(cs.ClassWise, most))
    assert recommended_lenses(range(CLASS_WISE_UP_TO + 1)) == (cs.TopLabel(), cs.Canonical())


def test_a_decision_is_about_two_outcomes(pets):
    found = cs.calibration_test(pets, decision=cs.DecisionLoss(costs=(1, 4)), rng=0)
    assert [test.decision is None for test in found.by_lens.tests] == [False, True, False, False, False]
    assert "What it costs" in found.verdict


@pytest.mark.parametrize("seed", range(3))
def test_a_calibrated_model_is_seldom_rejected_by_all_lenses_together(seed):
    """The control: the same call on labels drawn from the predictions."""
    sample = cs.generators.DirichletPredictions([1, 1, 1]).sample(300, rng=seed)
    assert cs.calibration_test(sample, rng=0).pvalue > 0.05


def test_an_error_below_what_noise_gives_exceeds_it_by_least():
    """Of twelve classes in 60 rows; the farthest below noise was named as the largest."""
    rng = np.random.default_rng(10)
    p = rng.dirichlet(np.full(6, 0.5), 60)
    sample = cs.Sample((p.cumsum(axis=1) < rng.random(60)[:, None]).sum(axis=1), p, labels=list(range(6)))
    with pytest.warns(cs.SmallCellsWarning):
        found = cs.estimate(sample, rng=0).by_lens
    beyond = [each.headline - each.headline_null_mean for each in found.estimates]
    assert found.largest is found.estimates[int(np.argmax(beyond))]
    assert -min(beyond) > max(beyond)  # so that the farther one lies on the other side
    assert ("exceeds noise by most" in found.verdict) == (max(beyond) > 0)
