from __future__ import annotations

import json
import pickle
import re
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

import calibstat as cs
from calibstat._screen import Screen, layout
from calibstat.inference.results import number, pvalue_cell, small_pvalue
from suites import everything

ECE = cs.ECE(cs.EqualMass(10))
TOP = cs.TopLabel() | ECE
ACCEPTING = re.compile(
    r"\b(is|was|are|well|perfectly)[- ]calibrated\b|\baccept|\bconfirm|\bproves?\b|calibration holds", re.IGNORECASE
)


DRAWN = cs.Consistency(999)


@pytest.fixture(scope="module")
def kept(calibrated):
    return cs.calibration_test(calibrated, ECE, null=DRAWN, rng=1)


@pytest.fixture(scope="module")
def rejected(miscalibrated):
    return cs.calibration_test(miscalibrated, TOP, null=DRAWN, rng=1)


@pytest.fixture(scope="module")
def computed(calibrated):
    return cs.calibration_test(calibrated, ECE)


def test_test_unpacks_to_statistic_and_pvalue_and_nothing_more(kept):
    statistic, pvalue = kept
    assert (statistic, pvalue) == (kept.statistic, kept.pvalue)
    assert len(list(kept)) == 2
    assert type(statistic) is float
    assert type(pvalue) is float


def test_results_are_frozen(kept, calibrated):
    with pytest.raises(FrozenInstanceError):
        kept.pvalue = 0.0
    with pytest.raises(FrozenInstanceError):
        cs.estimate(calibrated, ECE, n_resamples=9, rng=0).estimate = 0.0


def test_no_words_accept_a_null(kept, rejected, computed, calibrated, miscalibrated):
    for result in (
        kept,
        rejected,
        computed,
        cs.estimate(calibrated, ECE, rng=0),
        cs.estimate(miscalibrated, TOP, rng=0),
    ):
        texts = [str(result), repr(result), *map(str, result.to_dict().values())]
        assert not [text for text in texts if ACCEPTING.search(text)]


@pytest.mark.parametrize("text", ["The model is calibrated.", "well-calibrated", "we accept H0", "this confirms it"])
def test_forbidden_words_would_be_found(text):
    assert ACCEPTING.search(text)


def test_verdict_without_evidence(kept):
    assert re.fullmatch(
        r"Calibration of P\(yes\) is not rejected at 5 % \(n = 400, p = 0\.\d+\): 0\.495 predicted, 0\.502 happened "
        r"\(O/E 1\.02, slope 1\.04\)\. Average calibration error: 0\.04507, "
        r"where noise alone gives 0\.0502\.",
        kept.verdict,
    )


def test_a_computed_pvalue_says_so(computed):
    value = f"{computed.pvalue:.3g}"
    assert computed.verdict.startswith(f"Calibration of P(yes) is not rejected at 5 % (n = 400, p = {value}): ")
    assert f"\np-value      {value} (exact), no Monte Carlo error\n" in everything(computed)
    assert "which are kept (exact, no Monte Carlo error)" in computed.method
    assert "Exact(" in computed.method
    values = computed.to_dict()
    assert values["pvalue_low"] == values["pvalue"] == values["pvalue_high"]


def test_a_pvalue_on_a_grid_is_shown_with_its_bounds(calibrated):
    result = cs.calibration_test(calibrated, cs.RMSCE(cs.EqualMass(15)))
    low, high = result.pvalue_interval
    assert high - 1e-3 < low < high == result.pvalue
    assert f"p = {high:.3g})" in result.verdict
    assert f"\np-value      {high:.3g} (exact bound), at least {low:.4g}, no Monte Carlo error\n" in everything(result)


def test_a_computed_pvalue_at_its_floor_is_a_bound():
    many = cs.Sample(np.zeros(2000), np.full(2000, 0.5), labels=[0, 1])
    result = cs.calibration_test(many, ECE)
    assert "p < 1e-12)" in result.verdict
    assert "p-value      < 1e-12 (exact), no Monte Carlo error" in everything(result)


def test_verdict_with_evidence_is_followed_by_its_size(rejected):
    of_what = "Average calibration error"
    size = f"{of_what}: {rejected.statistic:.4g}, where noise alone gives {rejected.null_mean:.4g}"
    assert rejected.verdict.startswith("Evidence of miscalibration of P(predicted class) at 5 % (n = 600, ")
    assert rejected.verdict.index("Evidence") < rejected.verdict.index(size)


@pytest.mark.parametrize(("n_resamples", "floor"), [(999, "0.001"), (99, "0.01"), (9999, "0.0001")])
def test_the_smallest_pvalue_of_draws_is_no_bound(miscalibrated, n_resamples, floor):
    result = cs.calibration_test(miscalibrated, TOP, null=cs.Consistency(n_resamples), rng=1)
    assert result.pvalue == 1 / (n_resamples + 1)
    assert f"p = {floor})" in result.verdict
    assert f"p-value      {floor} ({n_resamples} resamples)" in everything(result)


def test_text_shows_everything_that_is_needed_to_read_it(rejected):
    text = everything(rejected)
    for part in (
        f"{rejected.statistic:.4g}: average calibration error (ECE, in cells)",
        f"where noise alone gives {rejected.null_mean:.4g}",
        "TopLabel() | ECE(binning=EqualMass(n_bins=10))",
        "n = 600",
        "cat",
        "dog",
        "car",
        rejected.question.source,
        rejected.hypothesis,
        "Monte Carlo 99 % interval",
    ):
        assert part in text
    assert repr(rejected) == str(rejected)
    assert str(rejected).endswith("How this was computed: .to_text(verbose=True)")


def test_method_names_estimator_and_null(miscalibrated):
    null = cs.Consistency(49, resample_predictions=True)
    result = cs.calibration_test(miscalibrated, TOP, null=null, rng=0)
    for part in (repr(TOP), repr(null), "labels drawn from them (not exact)"):
        assert part in result.method
    assert "which are kept (exact)" in cs.calibration_test(miscalibrated, TOP, null=DRAWN, rng=0).method


def test_hypothesis_says_what_is_conditioned_on(calibrated):
    strong = cs.calibration_test(calibrated, cs.VECE("age"), rng=0)
    assert "given the prediction and 'age' (the strong null)" in strong.hypothesis
    assert strong.to_dict()["given"] == "age"
    both = cs.Given(..., "age") | cs.ECE(cs.EqualMass(2) * cs.EqualMass(2))
    assert cs.calibration_test(calibrated, both, rng=0).to_dict()["given"] == "prediction, age"
    assert "strong" not in cs.calibration_test(calibrated, ECE, rng=0).hypothesis


def test_test_as_plain_values(rejected):
    values = rejected.to_dict()
    expected = {
        "lens": "TopLabel()",
        "given": "prediction",
        "estimator": repr(ECE),
        "n": 600,
        "n_classes": 2,
        "statistic": rejected.statistic,
        "null_mean": rejected.null_mean,
        "pvalue": 0.001,
        "pvalue_low": 0.0,
        "pvalue_high": rejected.pvalue_interval[1],
    }
    assert {name: values[name] for name in expected} == expected
    assert json.loads(json.dumps(values)) == values


def test_test_as_a_frame_of_one_row(rejected):
    frame = rejected.to_frame()
    assert frame.shape == (1, len(rejected.to_dict()))
    assert frame.iloc[0].to_dict() == rejected.to_dict()


def test_pvalue_interval_holds_the_pvalue_and_shrinks_with_more_resamples(kept, rejected, calibrated):
    low, high = kept.pvalue_interval
    assert 0 < low < kept.pvalue < high < 1
    assert rejected.pvalue_interval[0] == 0
    # Clopper-Pearson for no exceedance in 999: 1 - 0.005 ** (1 / 999)
    assert rejected.pvalue_interval[1] == pytest.approx(1 - 0.005 ** (1 / 999), rel=1e-9)
    more = cs.calibration_test(calibrated, ECE, null=cs.Consistency(20_000), rng=1).pvalue_interval
    assert low < more[0] < more[1] < high
    assert more[1] - more[0] < (high - low) / 3


def test_results_survive_pickling(kept, rejected, calibrated, miscalibrated):
    cells = cs.HistogramRegression(cs.EqualMass(4))
    for result in (kept, rejected, cs.estimate(miscalibrated, TOP, rng=0), cs.estimate(calibrated, cells, rng=0)):
        copy = pickle.loads(pickle.dumps(result))
        assert str(copy) == str(result)
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(kept)).null_distribution.samples, kept.null_distribution.samples
    )
    assert pickle.loads(pickle.dumps(kept)).null_distribution.pvalue(kept.statistic) == kept.pvalue


def test_one_rule_for_small_pvalues(miscalibrated):
    """The smallest p-value of R draws is 1 / (1 + R), everywhere; only computed ones are printed as a bound."""
    y, p = miscalibrated.outcomes, miscalibrated.predictions.probabilities
    n_classes = p.shape[1]
    sample = cs.Sample(y, p, labels=range(n_classes), variables={"half": np.arange(len(y)) % 2})
    drawn = cs.Consistency(99)
    texts = [
        cs.calibration_test(sample, TOP, null=drawn, rng=1).verdict,
        cs.omnibus_test(sample, lens=cs.TopLabel(), n_resamples=99, rng=1).verdict,
        cs.subgroup_audit(sample, "half", lens=cs.TopLabel(), n_resamples=99, rng=1).verdict,
    ]
    for text in texts:
        assert "p = 0.01" in text
        assert "< 0.01" not in text


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ((-1.7e-15,), "0"),
        ((3e-15, 1e-14), "3e-15"),  # errors of rare events, squared
        ((-1.7e-15, 0.03), "0"),
        ((1e-17, 1e-17), "0"),  # what rounding leaves where all predictions are certain
        ((-1.7e-15, float("nan")), "0"),
        ((-1.7e-15, float("inf")), "0"),
        ((1.5e-12, 1e6), "1.5e-12"),
        ((0.0, 0.0), "0"),
        ((float("nan"), 0.1), "nan"),
        ((float("inf"), 0.1), "infinite"),
    ],
)
def test_a_number_is_zero_where_rounding_leaves_no_more_of_those_beside_it(values, text):
    assert number(*values) == text


def test_errors_of_rare_events_are_no_zeros():
    """Squared, they are as small as what rounding leaves of common ones."""
    p, never = np.linspace(1e-8, 1e-7, 2000), np.zeros(2000, dtype=int)
    one, two = (cs.Sample(never, factor * p, labels=[0, 1]) for factor in (1, 1.5))
    estimator = cs.DebiasedL2(cs.EqualMass(4))
    found = cs.calibration_test(one, estimator, null=cs.Consistency(99), rng=0)
    assert 1e-15 < found.statistic < 1e-14
    shown = f"{found.statistic:.4g}"
    assert f"value        {shown}: " in everything(found)
    assert f": {shown} (95 %: " in str(cs.estimate(one, estimator, n_resamples=99, rng=0))
    assert f"\n{shown} " in str(cs.equivalence_test(one, estimator, 1e-14, n_resamples=99, rng=0))
    pair = cs.comparison_test(one, two, estimator, n_resamples=99, rng=0)
    assert 1e-15 < -pair.difference < 1e-14
    assert f" {pair.difference:.4g} " in str(pair)
    assert f" {shown} " in str(pair)
    several = cs.compare_models({"a": one, "b": two}, estimator, n_resamples=99, rng=0)
    assert f"a minus b: {pair.difference:.4g} (" in several.to_text(200, verbose=True)


@pytest.mark.parametrize("pvalue", [1e-15, 1e-300, 5e-324, 0.0])
def test_no_pvalue_is_zero(pvalue):
    assert small_pvalue(pvalue) == "< 1e-12"
    assert pvalue_cell(pvalue) == "< 1e-12"
    assert (small_pvalue(0.001), pvalue_cell(0.001)) == ("= 0.001", "0.001")


def test_results_say_how_many_rows_are_in_effect():
    p = np.linspace(0.1, 0.9, 40)
    weighted = cs.Sample(np.arange(40) % 2, p, sample_weight=np.r_[40.0, np.ones(39)], labels=[0, 1])
    for verb in (cs.calibration_test, cs.estimate):
        found = verb(weighted, cs.Kuiper(), n_resamples=19, rng=0)
        values = found.to_dict()
        assert values["effective_rows"] == pytest.approx(79**2 / 1639)
        assert values["largest_share"] == pytest.approx(40 / 79)
        assert "n = 40 (by weights as good as 3.81; the heaviest has 51 % of the weight)" in everything(found)
        equal = verb(cs.Sample(np.arange(40) % 2, p, labels=[0, 1]), cs.Kuiper(), n_resamples=19, rng=0)
        assert (equal.to_dict()["effective_rows"], "by weights" in str(equal)) == (40, False)


def test_all_of_the_weight_is_written_in_digits():
    sample = cs.Sample([0, 1, 1], [0.2, 0.6, 0.7], sample_weight=[0, 1, 0])
    assert "the heaviest has 100 % of the weight" in everything(
        cs.estimate(sample, cs.BrierScore(), n_resamples=19, rng=0)
    )


@pytest.mark.parametrize("width", [60, 80])
def test_texts_and_tables_of_long_names_fit_the_terminal(width):
    rng = np.random.default_rng(0)
    p = rng.random(400)
    sample = cs.Sample(rng.random(400) < p**2, p, variables={"x" * 90: np.where(np.arange(400) % 2, "z" * 70, "b")})
    audit = cs.subgroup_audit(sample, "x" * 90, n_resamples=99, rng=0)
    for found in (audit, cs.scan_variables(sample, n_resamples=99, rng=0)):
        for verbose in (False, True):
            text = found.to_text(width, verbose=verbose)
            # A sentence writes a name out, and a name is not broken.
            assert max(len(line) for line in text.splitlines() if "x" * 90 not in line) <= width
            assert "..." in text
    assert "x" * 61 not in str(audit).split("\n\n")[1]
    assert "x" * 90 in json.dumps(audit.to_dict())


def test_a_narrow_terminal_breaks_names_between_words_and_no_line_is_empty():
    where = ["  site north & age 48.3 to 53.96", "502", ""], ["", "", "and b"]
    assert layout([["group", "rows", "where"], *where, ["y", "7", "a"]], [1], width=24) == [
        "group        rows  where",
        "  site        502",
        "    north &",
        "    age",
        "    48.3 to",
        "    53.96",
        "                   and b",
        "y               7  a",
    ]
    assert "" not in layout([["group", "rows"], ["a", "1"], ["", ""]], [1])
    assert layout([["x" * 30, "n"], ["a b", "1"]], [1], width=20)[0] == "xxxxxx...xxxxxx    n"


@pytest.mark.parametrize(("width", "text"), [
    (45, "estimator\n  ExpectedMiscalibration(\n  binning=VarianceTree(min_size=100),\n  distance=TotalVariation())"),
    (65, "estimator   ExpectedMiscalibration(binning=VarianceTree(\n"
         "            min_size=100), distance=TotalVariation())"),
])  # fmt: skip
def test_an_expression_is_broken_after_brackets_and_begins_below_its_name_where_there_is_little_room(width, text):
    expression = repr(cs.ExpectedMiscalibration(cs.VarianceTree(100)))
    screen = Screen("Yes.", details=[("estimator", expression)])
    assert screen.text(width, verbose=True) == f"Yes.\n\n{text}"


def test_a_wide_table_is_laid_out_in_parts_that_hold_all_cells():
    cells = [[f"row {i}", *(f"{i}{k}" for k in range(9))] for i in (1, 2)]
    rows = [["name", *(f"column {k}" for k in range(9))], *cells]
    lines = layout(rows, range(1, 10), width=40)
    assert max(map(len, lines)) <= 40
    assert [line.split()[0] for line in lines if line] == ["name", "row", "row"] * 3
    assert {cell for row in cells for cell in row[1:]} <= set(" ".join(lines).split())
    assert layout(rows, range(1, 10)) == layout(rows, range(1, 10), width=200)


def test_a_measure_of_discrimination_is_not_headed_as_one_of_calibration():
    sample = cs.Sample([0, 1, 0, 1] * 30, [0.2, 0.6, 0.4, 0.9] * 30)
    heads = [cs.estimate(sample, each, n_resamples=99, rng=0)._table()[0][0] for each in (cs.AUC(), cs.ECE())]
    assert heads == ["of", "calibration of"]


def test_a_width_is_a_whole_number_and_no_line_is_shorter_than_a_word():
    rng = np.random.default_rng(0)
    p = rng.random(400)
    found = cs.calibration_test(cs.Sample(rng.random(400) < p, p), cs.ECE(), rng=0)
    assert found.to_text(0) == found.to_text(-3) == found.to_text(40)
    for width in (1.5, True, "80"):
        with pytest.raises(TypeError, match=f"width is {width!r}, but a whole number of letters is expected"):
            found.to_text(width)
