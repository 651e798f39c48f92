"""The records of ``calibstat test --format json``."""

from __future__ import annotations

import json

import numpy as np
import pytest

import calibstat as cs
from calibstat.cli.questions import recalibrated

KEYS = [
    "lens",
    "class",
    "given",
    "estimator",
    "n",
    "n_classes",
    "effective_rows",
    "largest_share",
    "smallest_cell_events",
    "predicted",
    "happened",
    "slope",
    "observed_to_expected",
    "statistic",
    "null_mean",
    "pvalue",
    "pvalue_adjusted",
]


@pytest.fixture
def records(asked):
    return recorded(asked)


def recorded(asked):
    def call(path, *more):
        code, out, err = asked(path, "--format", "json", *more)
        assert (code, err) == (0, "")
        return json.loads(out)

    return call


def read(path, **more):
    return cs.Sample.read(path, y_true="pet", y_prob="prob_*", **more)


def refuse_constant(name):
    raise AssertionError(f"{name} is no JSON")


def test_the_default_panel_of_three_classes(records, off):
    found = records(off)
    assert [(r["lens"], r["class"], r["n_classes"]) for r in found] == [
        ("TopLabel()", None, 2),
        ("Canonical()", None, 3),
        ("ClassWise(label='cat')", "cat", 2),
        ("ClassWise(label='dog')", "dog", 2),
        ("ClassWise(label='eel')", "eel", 2),
    ]
    assert {r["n"] for r in found} == {600}
    assert {r["given"] for r in found} == {None}
    assert found[0]["estimator"] == repr(cs.ECE(cs.EqualMass(15)))
    assert found[1]["estimator"] == repr(cs.ExpectedMiscalibration(cs.VarianceTree(30)))


def test_keys_come_in_the_documented_order(records, off):
    for record in records(off):
        assert list(record) == [
            *KEYS,
            "adjust",
            "tail",
            "hypothesis",
            "source",
            "n_resamples",
            "level",
            "notes",
            "kind",
            "panel",
        ]


def test_values_are_those_of_the_library(records, off):
    sample = read(off)
    top, canonical, cat, *_ = records(off)
    assert top["statistic"] == pytest.approx((cs.TopLabel() | cs.ECE(cs.EqualMass(15)))(sample))
    assert canonical["statistic"] == pytest.approx(cs.ExpectedMiscalibration(cs.VarianceTree(30))(sample))
    assert cat["statistic"] == pytest.approx((cs.ClassWise("cat") | cs.ECE(cs.EqualMass(15)))(sample))
    test = cs.calibration_test(sample, cs.TopLabel() | cs.ECE(cs.EqualMass(15)), rng=0)
    assert top["null_mean"] == pytest.approx(test.null_mean, rel=0.1)
    by_panel = cs.calibration_test(sample, lens=cs.TopLabel(), rng=0)
    assert (top["pvalue"], top["hypothesis"]) == (by_panel.pvalue, by_panel.hypothesis)
    assert top["panel"] == by_panel.to_dict()["panel"]
    assert canonical["pvalue"] == cs.omnibus_test(sample, rng=0).pvalue
    assert top["source"] == sample.predictions.source


def test_two_classes_are_tested_as_they_are(run, binary):
    code, out, _ = run("test", binary, "--label", "y", "--probs", "p", "--format", "json")
    (record,) = json.loads(out)
    assert code == 0
    assert (record["lens"], record["n_classes"]) == ("Canonical()", 2)
    assert record["estimator"] == repr(cs.ECE(cs.EqualMass(15)))


def test_adjusted_values_are_holms_over_everything_printed(records, fair):
    found = records(fair, "--given", "age")
    raw = np.array([r["pvalue"] for r in found])
    order = np.argsort(raw)
    by_hand = np.minimum(1, np.maximum.accumulate(raw[order] * np.arange(len(raw), 0, -1)))
    assert len(raw) == 10
    np.testing.assert_allclose([found[i]["pvalue_adjusted"] for i in order], by_hand)


def test_given_a_number_and_a_category(records, off):
    found = records(off, "--given", "age", "--given", "sex", "--lens", "top-label")
    assert [(r["given"], r["estimator"]) for r in found] == [
        (None, repr(cs.ECE(cs.EqualMass(15)))),
        ("age", repr(cs.ECE(cs.EqualMass(10)))),
        ("sex", repr(cs.ECE(cs.Categories()))),
    ]
    assert {r["lens"] for r in found} == {"TopLabel()"}
    beyond = recalibrated(cs.TopLabel()(read(off, variables="age")))
    assert found[1]["statistic"] == pytest.approx(cs.VECE("age")(beyond))
    (_, strong) = records(off, "--given", "age", "--lens", "top-label", "--null", "strong")
    estimator = cs.TopLabel() | cs.VECE("age")
    assert strong["statistic"] == pytest.approx(estimator(read(off, variables="age")))


def test_given_the_prediction_beside_a_variable(records, off):
    found = records(off, "--given", "prediction:sex", "--lens", "top-label", "--lens", "canonical")
    assert [r["given"] for r in found] == [None, None, "prediction:sex", "prediction:sex"]
    assert found[2]["estimator"] == repr(cs.ECE(cs.EqualMass(10) * cs.Categories()))
    assert found[3]["estimator"] == repr(cs.ECE(cs.VarianceTree(30) * cs.Categories()))


def test_a_pattern_is_one_record_for_each_variable(records, off):
    found = records(off, "--given", "[as][ge][ex]", "--lens", "top-label")
    assert [r["given"] for r in found] == [None, "age", "sex"]


@pytest.mark.parametrize(
    ("options", "top", "canonical"),
    [
        (["--bins", "7"], cs.ECE(cs.EqualMass(7)), cs.ExpectedMiscalibration(cs.VarianceTree(85))),
        (["--binning", "equal-width"], cs.ECE(cs.EqualWidth(15)), cs.ExpectedMiscalibration(cs.VarianceTree(30))),
        (["--estimator", "debiased-ce"], cs.DebiasedCE(cs.EqualMass(15)), cs.DebiasedCE(cs.VarianceTree(30))),
        (["--estimator", "PDE"], cs.PDE(cs.EqualMass(15)), cs.PDE(cs.VarianceTree(30))),
    ],
)
def test_cells_and_measure_can_be_chosen(records, off, options, top, canonical):
    found = records(off, "--lens", "top-label", "--lens", "canonical", "--n-resamples", "99", *options)
    assert [r["estimator"] for r in found] == [repr(top), repr(canonical)]
    sample = read(off)
    assert found[0]["statistic"] == pytest.approx((cs.TopLabel() | top)(sample))
    assert found[1]["statistic"] == pytest.approx(canonical(sample))


def test_lenses_can_be_chosen(records, off):
    found = records(off, "--lens", "top-k:2", "--lens", "class-wise:dog", "--lens", "top-k:2")
    assert [r["lens"] for r in found] == ["TopK(k=2)", "ClassWise(label='dog')"]
    assert found[0]["n_classes"] == 3
    assert found[0]["estimator"].startswith("ExpectedMiscalibration(binning=VarianceTree")


def test_weights_are_used(records, off):
    weighted = records(off, "--weights", "w", "--lens", "top-label")
    expected = (cs.TopLabel() | cs.ECE(cs.EqualMass(15)))(read(off, sample_weight="w"))
    assert weighted[0]["statistic"] == pytest.approx(expected)
    assert weighted[0]["statistic"] != pytest.approx(records(off, "--lens", "top-label")[0]["statistic"])


def test_labels_name_the_columns(run, folder):
    path = folder / "named.csv"
    path.write_text("y,a,b\n3,0.9,0.1\n5,0.2,0.8\n" + "5,0.1,0.9\n" * 300)
    code, out, _ = run(
        *("test", path, "--label", "y", "--probs", "a", "--probs", "b"),
        *("--labels", "5,3", "--lens", "class-wise", "--format", "json"),
    )
    assert code == 0
    assert [r["class"] for r in json.loads(out)] == [5, 3]


def test_rows_with_something_missing_can_be_left_out(run, folder):
    path = folder / "holes.csv"
    path.write_text("y,p\n0,nan\n" + "1,0.9\n0,0.2\n" * 200)
    code, out, _ = run("test", path, "--label", "y", "--probs", "p", "--nan-policy", "omit", "--format", "json")
    assert code == 0
    assert json.loads(out)[0]["n"] == 400


def test_the_same_seed_gives_the_same_output(pets, fair):
    lenses = ("--lens", "top-label", "--lens", "canonical", "--n-resamples", "199")
    first, again = (pets(fair, *lenses, "--seed", "7") for _ in range(2))
    assert first == again
    assert pets(fair, *lenses, "--seed", "8")[1] != first[1]


def test_asking_more_does_not_change_an_answer(pets, fair):
    records = recorded(pets)
    few = records(fair, "--lens", "top-label")
    many = records(fair, "--lens", "canonical", "--lens", "class-wise", "--lens", "top-label", "--given", "age")
    (same,) = [r for r in many if r["lens"] == "TopLabel()" and r["given"] is None]
    assert {**same, "pvalue_adjusted": None} == {**few[0], "pvalue_adjusted": None}


def test_drawn_numbers_are_those_of_python_with_the_same_seed(records, fair):
    found = records(fair, "--n-resamples", "199", "--seed", "5", "--given", "age", "--null", "strong")
    sample = cs.Sample.read(fair, y_true="pet", y_prob="prob_*", variables=["age"])
    assert len(found) == 10
    public = {name: getattr(cs, name) for name in cs.__all__}
    for each in found:
        lens = eval(each["lens"], public) | (cs.Given(each["given"]) if each["given"] else cs.Canonical())
        estimator = eval(each["estimator"], public) if each["given"] else None
        same = cs.calibration_test(sample, estimator, lens=lens, n_resamples=199, rng=5)
        assert (each["panel"] is None) == bool(each["given"])
        assert (each["pvalue"], each["null_mean"]) == (same.pvalue, same.null_mean)


def test_no_nan_in_json(pets, off, monkeypatch):
    monkeypatch.setattr("calibstat.inference.results.CalibrationTest.null_mean", property(lambda _: float("nan")))
    _, out, _ = pets(off, "--format", "json", "--lens", "top-label")
    assert json.loads(out, parse_constant=refuse_constant)[0]["null_mean"] is None
