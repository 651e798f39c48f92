"""The content of a report: it follows its schema, can be made again, and says what is found, whatever is reported."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import numpy as np
import pytest

import calibstat as cs
from calibstat import generators as gen
from calibstat.cli.main import main
from calibstat.displays.svg import svg_of
from calibstat.reports import _answer, _findings, _pictures, _words
from calibstat.reports.page import tied

SCHEMA = json.loads((files("calibstat.reports") / "report.schema.json").read_text())
EVIL, TERMINAL = "<script>alert(1)</script>", "\x1b[2Jgroup"
PLATT = {"platt": cs.calibrators.Platt()}
BLANK = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><path d="M 0 0 L 1 1"/></svg>'
DRAWN = ("sixty", "three", "models", "hostile")  # reports with their pictures; all others have blank ones


def two(n: int = 1500, slope: float = 0.5, rng: int = 0, **more: Any) -> cs.Sample:
    """Two classes, too sure where the slope is below one."""
    drawn = gen.BetaPredictions(1, 1, gen.Slope(slope)).sample(n, rng=rng)
    return cs.Sample(drawn.outcomes, drawn.y_prob[:, 1], **more)


def several(n_classes: int, n: int = 1200, temperature: float = 0.5, **more: Any) -> cs.Sample:
    """More classes, too sure where the temperature is below one."""
    rng = np.random.default_rng(0)
    said = rng.dirichlet(np.full(n_classes, 0.7), n)
    chances = said**temperature / (said**temperature).sum(axis=1, keepdims=True)
    return cs.Sample((chances.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1), said, **more)


def rare(n: int = 6000) -> cs.Sample:
    rng = np.random.default_rng(1)
    p = rng.beta(0.3, 90, n)
    return cs.Sample(rng.random(n) < 1.6 * p, p)


def grouped(n: int = 1500) -> cs.Sample:
    """The event is rarer than predicted for the women only."""
    rng = np.random.default_rng(3)
    p, sex = rng.random(n), rng.choice(["f", "m"], n)
    return cs.Sample(rng.random(n) < np.where(sex == "f", p**2, p), p, variables={"sex": sex, "age": rng.random(n)})


def hostile() -> cs.Sample:
    names, drawn = [EVIL, "b"], two(400)
    codes = np.random.default_rng(0).choice([EVIL, "plain"], 400)
    return cs.Sample(
        np.array(names)[drawn.outcomes], drawn.y_prob, labels=names, variables={TERMINAL: codes, f"a {EVIL}": codes}
    )


def three_models() -> dict[str, cs.Sample]:
    raw = two(600)
    p = raw.y_prob[:, 1]
    return {"raw": raw, EVIL: cs.Sample(raw.outcomes, p**3), "half": cs.Sample(raw.outcomes, 0.5 * p + 0.25)}


def few_clusters() -> dict[str, cs.Sample]:
    """Two models of rows in eight clusters."""
    groups = np.arange(400) // 50
    raw = two(400, groups=groups)
    return {"raw": raw, "half": cs.Sample(raw.outcomes, 0.5 * raw.y_prob[:, 1] + 0.25, groups=groups)}


MADE = {
    "two": lambda: cs.report(two(), calibrators=PLATT),
    "fine": lambda: cs.report(two(slope=1.0, rng=2), calibrators=PLATT),
    "sixty": lambda: cs.report(two(60)),
    "twenty": lambda: cs.report(cs.Sample([0, 1] * 10, [0.2, 0.7] * 10)),
    "three": lambda: cs.report(several(3, 400), calibrators={}),
    "four": lambda: cs.report(several(4, 800), calibrators={}),
    "six": lambda: cs.report(several(6, 400), calibrators={}),
    "rare": lambda: cs.report(rare(), margin=0.002, calibrators=PLATT),
    "groups": lambda: cs.report(grouped(), by="sex", calibrators=PLATT, margin=0.3),
    "models": lambda: cs.report(three_models(), calibrators={}),
    "canonical": lambda: cs.report(several(4, 400), lens=cs.Canonical(), calibrators={}),
    "confidence": lambda: cs.report(cs.Sample.from_confidence(np.arange(300) % 3 > 0, np.linspace(0.4, 0.99, 300))),
    "weights": lambda: cs.report(two(400, sample_weight=np.random.default_rng(0).random(400)), calibrators={}),
    "clusters": lambda: cs.report(two(500, groups=np.arange(500) // 5), calibrators={}),
    "few clusters": lambda: cs.report(few_clusters(), calibrators={}),
    "hostile": lambda: cs.report(hostile(), by=[TERMINAL, f"a {EVIL}"], calibrators={}),
}
made: dict[str, cs.Report] = {}


@pytest.fixture(autouse=True, scope="module")
def _blank_pictures():
    """Draw no picture, which few tests are about."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_pictures, "svg_of", lambda *_: BLANK)
        yield


@pytest.fixture
def _no_search(monkeypatch):
    """Leave the smallest error that is seen unknown, where a test is about something else."""
    monkeypatch.setattr(_findings, "_detectable", lambda part, *_: ("nobody asked", len(part)))


without_search = pytest.mark.usefixtures("_no_search")


def make(name: str) -> cs.Report:
    with pytest.MonkeyPatch.context() as patch:
        if name in DRAWN:
            patch.setattr(_pictures, "svg_of", svg_of)
        return MADE[name]()


def of(name: str) -> cs.Report:
    """Make each report once."""
    if name not in made:
        made[name] = make(name)
    return made[name]


def blocks(name: str, kind: str) -> list[dict[str, Any]]:
    return [each for part in of(name).document["sections"] for each in part["blocks"] if each["kind"] == kind]


def words_of(name: str) -> str:
    """All sentences of a report."""
    document = of(name).document
    told = [document["answer"]["headline"], *document["answer"]["sentences"]]
    return " ".join(told + [s for each in blocks(name, "text") for s in [each.get("strong", ""), *each["sentences"]]])


def table(name: str, first: str) -> dict[str, dict[str, dict[str, Any]]]:
    """The table whose first column has this name: cells by the first one and the column."""
    found = next(each for each in blocks(name, "table") if each["columns"][0]["name"] == first)
    names = [each["name"].split(",")[0] for each in found["columns"]]
    return {row[0]["text"]: dict(zip(names, row, strict=True)) for row in found["rows"]}


@pytest.mark.parametrize("name", MADE)
def test_every_report_follows_the_schema(name):
    jsonschema.Draft202012Validator(SCHEMA).validate(of(name).document)


def test_the_schema_is_valid_and_refuses_what_is_no_report():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    check = jsonschema.Draft202012Validator(SCHEMA)
    document = of("sixty").document
    assert not check.is_valid(document | {"more": 1})
    assert not check.is_valid(document | {"schema": "calibstat-report/2"})
    assert not check.is_valid(document | {"sections": [{"id": "x", "label": "", "heading": "", "blocks": []}]})


@pytest.mark.parametrize("name", MADE)
def test_every_row_has_a_cell_for_every_column_and_every_lens_is_offered(name):
    document = of(name).document
    for each in blocks(name, "table"):
        assert {len(row) for row in each["rows"]} == {len(each["columns"])}
    asked = {block["lens"] for part in document["sections"] for block in part["blocks"] if "lens" in block}
    assert asked <= set(document["lenses"])
    assert len({part["id"] for part in document["sections"]}) == len(document["sections"])


@pytest.mark.parametrize("name", MADE)
def test_the_page_made_from_json_alone_is_the_same(name):
    assert cs.Report.from_json(of(name).to_json()).to_html() == of(name).to_html()


@pytest.mark.parametrize("name", ["sixty", "groups"])
def test_the_same_seed_gives_the_same_report(name):
    assert make(name).document == of(name).document


@without_search
def test_another_seed_gives_other_draws_and_a_seed_is_always_named():
    named = cs.report(two(60), calibrators={}, rng=np.random.default_rng(5)).document
    again = cs.report(two(60), calibrators={}, rng=named["made"]["seed"]).document
    assert again == named
    assert cs.report(two(60), calibrators={}, rng=1).document["sections"][0] != named["sections"][0]


@pytest.mark.parametrize("name", MADE)
def test_no_null_is_accepted(name):
    told = words_of(name)
    for never in ("is calibrated.", "are calibrated.", "no error", "is well calibrated", "proves"):
        assert never not in told.replace("no evidence that the model is calibrated.", "")


@pytest.mark.parametrize("name", MADE)
def test_nothing_in_the_answer_is_python(name):
    document = of(name).document
    shown = json.dumps([document["title"], document["answer"]])
    for python in ("()", "ECE(", "EqualMass", "None", "nan", "Lens", "e-0"):
        assert python not in shown


# What is said.


def test_a_model_that_is_too_sure_is_said_to_be_with_what_it_claims_and_what_happens():
    answer = of("two").answer
    assert "is too sure" in answer["headline"]
    assert answer["headline"].endswith(" happens.")
    assert "where noise alone would show" in answer["sentences"][0]
    assert [tile["name"] for tile in answer["tiles"][:3]] == ["Happened / predicted", "Slope", "Average error (ECE)"]
    assert float(answer["tiles"][1]["value"]) == pytest.approx(0.5, abs=0.1)


def test_where_nothing_is_found_the_report_says_what_cannot_be_excluded():
    answer = of("fine").answer
    assert answer["headline"].startswith("There is no evidence that the model is off")
    assert "That is no proof of calibration: an average error of up to " in " ".join(answer["sentences"])


def test_numbers_are_those_of_the_functions():
    sample = two()
    direct = cs.estimate(sample, cs.ECE(), rng=0)
    row = table("two", "Number")["Average error"]
    assert row["Value"]["value"] == direct.estimate
    assert row["If calibrated"]["value"] == direct.null_mean
    test = cs.calibration_test(sample, rng=0)
    assert table("two", "Looked at")["P(1)"]["p"]["value"] == (test.panel and test.panel.tail)


def test_groups_are_those_of_the_audit_and_intervals_have_a_sign():
    found = cs.subgroup_audit(grouped(), "sex", rng=0)
    rows = table("groups", "Group")
    assert {name: rows[name]["Adjusted p"]["value"] for name in rows} == {
        each.name: each.pvalue_adjusted if each.tail is None else each.tail for each in found.groups
    }
    cell = rows["sex f"]["Happened minus predicted"]
    assert cell["value"] == pytest.approx(found["sex f"].mean_outcome - found["sex f"].mean_prediction)
    assert cell["low"] < cell["value"] < cell["high"] < 0
    assert cell["beyond"]
    assert not rows["sex m"]["Happened minus predicted"]["beyond"]
    tile = of("groups").answer["tiles"][-1]
    assert (tile["name"], tile["value"]) == ("Worst group", "sex f")


def test_a_group_interval_is_the_value_plus_and_minus_the_width_of_its_size():
    assert _findings.with_sign(-0.5, 0.5, (0.25, 0.75)) == (-0.75, -0.25)
    assert _findings.with_sign(0.25, 0.25, (0.0, 0.75)) == (-0.25, 0.75)
    assert _findings.with_sign(0.1, None, None) is None


@without_search
def test_too_few_events_to_scan_leave_the_rest_of_the_report():
    rng = np.random.default_rng(1)
    p, sex = rng.beta(0.3, 120, 1500), rng.choice(["f", "m"], 1500)
    few = cs.Sample(rng.random(1500) < 1.5 * p, p, variables={"sex": sex, "site": np.full(1500, "a")})
    told = cs.report(few, by="sex", calibrators={}).to_json()
    assert "There are too few events to tell whether the error varies along sex." in told
    told = cs.report(few, variables="site", calibrators={}).to_json()
    assert "Whether the error varies along site is not known: site has one level." in told


@without_search
def test_no_group_is_the_worst_where_groups_are_alike():
    rng = np.random.default_rng(5)
    p, sex = rng.random(3000), rng.choice(["f", "m"], 3000)
    found = cs.report(cs.Sample(rng.random(3000) < p**2, p, variables={"sex": sex}), by="sex", calibrators={})
    assert "There is no evidence that the error varies along sex" in found.to_json()
    off = "both are off, with no evidence that they differ"
    assert found.answer["tiles"][-1] == {"name": "Worst group", "value": "none stands out", "range": off}
    assert "There is evidence of an error in 2 of 2 groups, and none that they differ." in found.to_json()


def test_groups_that_are_off_alike_are_counted():
    def words(n, n_off):
        groups = [SimpleNamespace(levels=("level",)) for _ in range(n)]
        whole = SimpleNamespace(levels=())
        errors = SimpleNamespace(groups=[whole, *groups], rejected=[whole, *groups[:n_off]])
        return _answer.off_alike(SimpleNamespace(groups=SimpleNamespace(errors=errors)))

    assert words(8, 8) == "all 8 are off, with no evidence that they differ"
    assert words(8, 3) == "3 of 8 are off, with no evidence that they differ"
    assert words(8, 1) == "1 of 8 is off, with no evidence that they differ"
    assert words(2, 2) == "both are off, with no evidence that they differ"


def test_a_p_value_is_sorted_by_the_tail_that_it_shows():
    cell = _words.p_cell(0.001, 0.05, 2e-11)
    assert (cell["text"], cell["value"], cell["beyond"]) == ("0.001 (about 2e-11)", 2e-11, True)
    assert _words.p_cell(0.001, 0.05)["value"] == 0.001


@without_search
def test_all_probabilities_of_many_classes_are_seen_in_fewer_rows(monkeypatch):
    monkeypatch.setattr(_findings, "_MOST_NUMBERS", 1500)
    monkeypatch.setattr(_findings, "_FEWEST_ROWS", 200)
    assert (
        "All probabilities together were looked at in 250 rows" in cs.report(several(6, 400), calibrators={}).to_json()
    )


def test_a_margin_is_shown_or_not_shown():
    assert "shown to be below 30 percentage points" in " ".join(of("groups").answer["sentences"])
    assert "It is not shown to be below 2 in 1000" in " ".join(of("rare").answer["sentences"])


def test_rare_events_are_counted_in_a_thousand():
    assert " in 1000, and " in of("rare").answer["headline"]
    assert "percentage" not in " ".join(of("rare").answer["sentences"])


def test_more_classes_have_the_top_label_first_and_then_each_class():
    document = of("four").document
    assert document["lenses"] == ["Top label", *(f"Class {k}" for k in range(4)), "All probabilities together"]
    assert document["answer"]["headline"].startswith("The model is too sure: it claims to be right in ")
    assert set(table("four", "Class")) == {"0", "1", "2", "3"}
    pictures = [each["lens"] for each in blocks("four", "picture")]
    assert pictures == document["lenses"][:-1]


def test_p_values_of_all_lenses_are_adjusted_by_holm():
    rows = table("four", "Looked at")
    direct = [cs.calibration_test(several(4, 800), lens=lens, rng=0).pvalue for lens in (cs.TopLabel(), cs.Canonical())]
    assert direct == [0.001, 0.001]
    assert {rows[name]["Adjusted p"]["text"].split(" (")[0] for name in rows} == {"0.006"}


def test_four_classes_have_a_simplex_and_three_a_picture_of_it():
    (simplex,) = blocks("four", "simplex")
    assert simplex["classes"] == ["0", "1", "2", "3"]
    assert all(sum(arrow["predicted"]) == pytest.approx(1, abs=1e-4) for arrow in simplex["arrows"])
    assert sum(arrow["rows"] for arrow in simplex["arrows"]) == pytest.approx(800, abs=len(simplex["arrows"]))
    assert {arrow["beyond"] for arrow in simplex["arrows"]} <= {True, False}
    assert "Simplex of three classes" in blocks("three", "picture")[-1]["alt"]


def test_models_are_compared_and_the_report_is_about_the_first():
    assert of("models").answer["headline"].startswith("Model raw ")
    assert set(table("models", "Model")) == {"raw", EVIL, "half"}
    assert len(table("models", "Models")) == 3
    assert "All other sections are about raw" in words_of("models")


def test_a_calibrator_is_recommended_only_where_it_is_better():
    assert "Recalibrate by platt." in words_of("two")
    told = next(part for part in of("fine").document["sections"] if part["id"] == "do")["blocks"][0]
    assert told["strong"] == "Recalibrating is not shown to pay."
    assert "Calibrators were not compared" in words_of("four")


def test_what_could_have_been_missed_is_said():
    assert "rows would have shown it with a chance of 80 %" in words_of("two")


def test_of_rows_in_clusters_nothing_is_said_as_of_independent_ones():
    said = words_of("clusters")
    assert "Rows come in 100 clusters (groups)" in said
    assert "exact at every number" not in said
    assert "if rows come in clusters" not in said
    assert "It is not known how small an error these rows would have shown: rows come in clusters." in said
    assert "exact at every number" in words_of("two")
    assert "if rows come in clusters" in words_of("two")


def test_too_few_clusters_to_compare_models_leave_the_rest_of_the_report():
    assert "The models were not compared: " in words_of("few clusters")
    assert "at least 12 are needed" in words_of("few clusters")
    assert of("few clusters").answer["headline"]


# Words rest on evidence.


def biased(n: int = 20_000, off: float = 0.02, extreme: int = 20) -> cs.Sample:
    """A model that claims too much everywhere, and is certain, and wrong, in a few rows."""
    rng = np.random.default_rng(4)
    p = rng.uniform(0.1, 0.9, n)
    outcomes = rng.random(n) < p - off
    p[:extreme], outcomes[:extreme] = 1 - 1e-9, False
    return cs.Sample(outcomes, p)


@without_search
def test_the_headline_follows_the_stronger_evidence_and_no_slope_of_a_few_extreme_rows():
    found = cs.report(biased(), calibrators={}).answer
    assert found["headline"].startswith("The model claims slightly too much: it claims ")
    slope = next(tile for tile in found["tiles"] if tile["name"] == "Slope")
    assert "without the most extreme 0.1 %" in slope["range"]
    assert "is too sure: where it claims" in of("two").answer["headline"]


@without_search
def test_predictions_of_zero_and_one_are_called_too_sure():
    rng = np.random.default_rng(8)
    p = rng.random(1500)
    happened = rng.random(1500) < 0.25 + 0.5 * p
    p[p < 0.05], p[p > 0.95] = 0.0, 1.0
    found = cs.report(cs.Sample(happened, p), calibrators={})
    assert found.answer["headline"].startswith("The model is too sure: where it claims ")
    slope = next(tile for tile in found.answer["tiles"] if tile["name"] == "Slope")
    assert (float(slope["value"]) < 0.6, slope["range"]) == (True, "without predictions of 0 and 1")
    assert "nan" not in found.to_json()


@without_search
def test_a_mean_without_evidence_is_not_said_to_be_right():
    rng = np.random.default_rng(5)
    p = rng.uniform(0.125, 0.875, 6000)
    chances = p + 0.1 * np.cos(8 * np.pi * (p - 0.5))
    found = cs.report(cs.Sample(rng.random(6000) < chances, p), calibrators={}).answer
    assert "is off, though no difference on average is shown" in found["headline"]


@without_search
def test_evidence_that_is_not_strong_is_called_some():
    p = np.linspace(0.2, 0.8, 300)
    outcomes = np.random.default_rng(9).random(300) < p - 0.08
    found = cs.report(cs.Sample(outcomes, p), calibrators={})
    (row,) = next(each for each in found.document["sections"][0]["blocks"] if each["kind"] == "table")["rows"]
    assert 0.01 < row[-1]["value"] <= 0.05
    assert found.answer["headline"].startswith("There is some evidence that the model ")


@without_search
def test_the_worst_class_is_the_one_that_is_off_beyond_noise_by_most_or_none():
    rng = np.random.default_rng(6)
    said = rng.dirichlet([1.0, 1.0, 1.0], 500)
    fine = (said.cumsum(axis=1) > rng.random((500, 1))).argmax(axis=1)
    calm = cs.report(cs.Sample(fine, said), calibrators={}).answer["tiles"][-1]
    assert (calm["name"], calm["value"], calm["range"]) == ("Worst class", "none stands out", "of 3 classes")
    swapped = np.where((fine == 2) & (rng.random(500) < 0.3), 1, fine)
    worst = cs.report(cs.Sample(swapped, said), calibrators={}).answer["tiles"][-1]
    assert worst["name"] == "Worst class"
    assert worst["value"] in ("1", "2")
    said_there, happened = re.search(r"claims ([\d.]+) %, and ([\d.]+) %", worst["range"]).groups()
    assert abs(float(said_there) - float(happened)) > 5


def test_an_interval_of_predictions_is_named_only_where_it_stands_out():
    tile = of("fine").answer["tiles"][-1]
    assert (tile["name"], tile["value"]) == ("Worst where it says", "none stands out")
    assert of("two").answer["tiles"][-1]["range"].endswith("happens")


@without_search
def test_an_error_of_nearly_all_predictions_has_no_place():
    rng = np.random.default_rng(7)
    p = rng.uniform(0.2, 0.9, 8000)
    found = cs.report(cs.Sample(rng.random(8000) < p - 0.1, p), calibrators={})
    assert found.answer["tiles"][-1]["value"] == "nearly all predictions"
    assert "Over nearly all predictions (" in found.to_json()
    assert "in one stretch" not in found.to_json()


READING = "".join(f"{int(k % 100 < k % 97)},{k * 0.618 % 1:.4f},{k % 29 + 1}\n" for k in range(600)) + ",.3,1\n" * 60


@without_search
def test_what_was_warned_of_while_reading_stands_beside_the_answer_and_in_the_method(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(f"n,p,w\n{READING}")
    with pytest.warns(UserWarning, match="are they counts"):
        sample = cs.Sample.read(path, y_true="n", y_prob="p", sample_weight="w", nan_policy="omit")
    found = cs.report(sample, calibrators={})
    told = " ".join(found.answer["sentences"])
    assert "Look at the data first: the weights are whole numbers that add up to " in told
    assert "Look at the data first: 60 of 660 rows were left out, as something is missing in them." in told
    method = next(part for part in found.document["sections"] if part["id"] == "method")["blocks"]
    (reading,) = next(block["terms"] for block in method if block["kind"] == "terms")
    assert reading["meaning"].startswith("600 rows; ")
    assert "are they counts?" in reading["meaning"]
    assert "y_prob" not in reading["meaning"] + told
    assert "repeat" not in told


def test_a_lens_has_an_answer_and_rows_of_its_own():
    document = of("four").document
    assert [each["lens"] for each in document["answers"]] == document["lenses"][1:]
    assert document["answers"][0]["headline"].startswith("The model ")
    tables = {each["columns"][0]["name"]: each for each in blocks("four", "table")}
    assert tables["Looked at"]["lens_of_row"] == document["lenses"]
    assert tables["Class"]["lens_of_row"] == document["lenses"][1:-1]
    assert all("lens" in each for part in document["sections"][2:5] for each in part["blocks"] if "rows" not in each)
    assert of("two").document["answers"] == []


def test_the_glossary_has_ten_words_at_most():
    words = next(part for part in of("four").document["sections"] if part["id"] == "words")["blocks"][0]["terms"]
    assert {"cell", "adjusted", "lens"} <= {each["term"] for each in words}
    assert len(words) <= 10


@without_search
def test_groups_that_are_too_small_are_named_and_the_rest_is_reported():
    drawn = two(60)
    found = cs.report(cs.Sample(drawn.outcomes, drawn.y_prob, variables={"group": ["a", "b"] * 30}), by="group")
    told = found.to_json()
    assert "No group was looked at: group a has fewer than 50 rows; group b has fewer than 50 rows." in told


def test_the_smallest_p_value_of_redraws_is_only_a_bound():
    assert "p at most 0.001, by theory below 0.000001" in " ".join(of("two").answer["sentences"])
    assert table("two", "Looked at")["P(1)"]["p"]["text"] == "0.001 (below about 1e-12)"
    assert _words.p_equals(0.001, 0.05, at_smallest=True) == "p at most 0.001"


def test_the_advice_says_what_was_shown_and_by_how_much():
    told = words_of("two")
    assert "Its Brier score is shown to be smaller: " in told
    assert "Recalibrating by platt is shown to help." in of("two").answer["sentences"]
    assert "use " in " ".join(of("models").answer["sentences"])
    assert "half" in which_is_used(of("models"))


@without_search
@pytest.mark.parametrize(
    ("others", "on_the_first_screen", "strong"),
    [
        (
            ("uncalibrated", "platt", "uncalibrated", "uncalibrated"),
            True,
            ", though most other splits of the rows advise",
        ),
        (("platt", "uncalibrated", "platt", "platt"), False, "."),
    ],
)
def test_what_other_splits_advise_is_said_and_no_calibrator_helps_without_it(
    monkeypatch, others, on_the_first_screen, strong
):
    made = _findings.recommend_calibrator
    monkeypatch.setattr(
        _findings, "recommend_calibrator", lambda *a, **more: replace(made(*a, **more), other_advice=others)
    )
    document = cs.report(two(), calibrators=PLATT, rng=0).document
    advice = "advice of 4 other splits: 3 for none, 1 for platt."
    if not on_the_first_screen:
        advice = "advice of 4 other splits: 3 for platt, 1 for none."
    (helps,) = [said for said in document["answer"]["sentences"] if "is shown to help" in said]
    assert helps.startswith("Recalibrating by platt is shown to help")
    assert helps.endswith(f" in one random split of the rows; {advice}") is on_the_first_screen
    (told,) = [each for part in document["sections"] if part["id"] == "do" for each in part["blocks"][:1]]
    assert told["sentences"][-1] == f"This is from one random split of the rows; {advice}"
    assert told["strong"].startswith(f"Recalibrate by platt{strong}")


def which_is_used(found: cs.Report) -> str:
    return next(said for said in found.answer["sentences"] if said.startswith("Of 3 models, use "))


def test_one_page_has_one_upper_bound_of_the_average_error():
    upper = cs.equivalence_test(grouped(), cs.ECE(), 0.3, rng=0).upper_bound
    high = table("groups", "Number")["Average error"]["95 % interval"]["text"].split(" to ")[1]
    assert float(high) >= round(upper, len(high.split(".")[1]))
    cell = next(iter(table("groups", "Looked at").values()))["Average error"]
    assert cell["high"] >= upper


def test_the_method_says_how_slopes_are_clipped_and_has_no_marks():
    method = next(part for part in of("two").document["sections"] if part["id"] == "method")["blocks"]
    assert "clipped to between 1e-9 and 1 - 1e-9" in method[1]["sentences"][0]
    told = "".join(term["meaning"] for block in method for term in block.get("terms", []))
    assert not re.search(r"[A-Z]\w+\(\)|\w=|Canonical|EqualMass", told)
    for block in method:
        for term in block.get("terms", []):
            assert not re.search(r"\*\w+\*|\.;", term["meaning"])


def test_a_caption_is_short():
    assert all(len(each["caption"].split()) < 60 for each in blocks("two", "picture"))


# Pictures and hostile names.


@pytest.mark.parametrize("name", DRAWN)
def test_pictures_refer_to_nothing_and_ids_are_unique(name):
    pictures = [each["svg"] for each in blocks(name, "picture")]
    for svg in pictures:
        for never in ("<style", "<script", "<text", "<!--", "http://www.w3.org/1999", "://", "metadata"):
            assert never not in svg.replace('xmlns="http://www.w3.org/2000/svg"', "")
    ids = [part.split('"')[0] for svg in pictures for part in svg.split(' id="')[1:]]
    assert len(ids) == len(set(ids)) > 0


def test_names_from_data_are_no_markup_and_no_command_for_the_terminal():
    document, page = of("hostile").to_json(), of("hostile").to_html()
    assert EVIL in document  # as plain text
    assert EVIL not in page
    assert "&lt;script&gt;" in page
    assert "\x1b" not in page + document + str(of("hostile"))
    assert EVIL not in of("hostile")._repr_html_()
    assert EVIL not in of("models").to_html()


# Large samples.


def test_what_takes_long_is_done_on_rows_drawn_at_random(monkeypatch):
    monkeypatch.setattr(_findings, "MOST_ROWS", 300)
    found = cs.report(several(3, 1500), rng=0).document
    told = json.dumps(found)
    assert "All probabilities together were looked at in 300 rows, drawn at random." in told
    assert "fitted on 150 rows and compared on 150 other ones" in told
    assert "Only 300 of the 1 500 rows were needed for that." in told


@pytest.mark.slow
def test_a_report_of_a_million_rows_and_ten_classes_is_small():
    rng = np.random.default_rng(0)
    said = rng.dirichlet(np.full(10, 0.3), 1_000_000).astype(np.float32)
    happened = (said.cumsum(axis=1) > rng.random((1_000_000, 1))).argmax(axis=1)
    page = cs.report(cs.Sample(happened, said), rng=0).to_html()
    assert len(page.encode()) < 3_000_000


# Input that is refused, before the work.


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (
            {"by": "town"},
            ValueError,
            "by names 'town', which is no variable of the sample; its variables are: sex, age",
        ),
        ({"variables": ["town"]}, ValueError, "variables names 'town'"),
        ({"lens": "top"}, TypeError, "a lens is expected"),
        ({"margin": 5}, ValueError, "margin is 5, but an average error between 0 and 1"),
        ({"calibrators": "platt"}, TypeError, "calibrators is a str"),
        ({"rng": -1}, TypeError, "rng is -1"),
        ({"path": "/nowhere/report.html"}, ValueError, "which is no folder"),
        ({"path": "report.docx"}, ValueError, r"does not end in .html or .json"),
    ],
)
def test_bad_arguments_are_refused_before_the_work(arguments, error, words, monkeypatch):
    monkeypatch.setattr("calibstat.reports.report.ask", lambda *_: pytest.fail("it worked"))
    with pytest.raises(error, match=words):
        cs.report(grouped(100), **arguments)


@pytest.mark.parametrize(
    ("sample", "error", "words"),
    [
        ([0, 1], TypeError, "a Sample is expected"),
        ({}, ValueError, "an empty mapping"),
        ({1: two(60)}, TypeError, "the name 1, but a text is expected"),
    ],
)
def test_what_is_no_sample_is_refused(sample, error, words):
    with pytest.raises(error, match=words):
        cs.report(sample)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "cannot be read as JSON: .*; restore a copy of it, or make it anew"),
        (
            b'{"title": "\xff"}',
            "^the report holds bytes that are no text in UTF-8, .*: restore a copy of it, or make it",
        ),
        ("rep.json", r"Report.from_json\(Path\('rep.json'\).read_text\(encoding='utf-8'\)\)"),
        (Path("rep.json"), r"Report.from_json\(Path\('rep.json'\).read_text\(encoding='utf-8'\)\)"),
        (
            '{"schema": "calibstat-report/2", "checksum": "of tomorrow"}',
            "is 'calibstat-report/2', but calibstat-report/1 is expected: it needs another version of calibstat",
        ),
        ('{"schema": "calibstat-report/1", "checksum": "of another"}', "its checksum is that of other content"),
        ("[1]", "this is no report"),
        ('{"schema": "calibstat-report/1"}', "the report is damaged .*'made', 'sections', 'source'.*: make it anew"),
    ],
)
def test_what_is_no_report_is_refused(text, words):
    with pytest.raises(ValueError, match=words):
        cs.Report.from_json(text)


def test_a_file_appears_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("before")

    def fails(*_):
        raise RuntimeError("the page failed")

    monkeypatch.setattr("calibstat.reports.page.render", fails)
    monkeypatch.setattr("calibstat.reports.report.page", type("page", (), {"render": staticmethod(fails)}))
    with pytest.raises(RuntimeError, match="the page failed"):
        of("two").save(path)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


# Numbers in words.


@pytest.mark.parametrize(
    ("pvalue", "text"),
    [
        (0.0123, "p = 0.012"),
        (1e-9, "p < 0.000001"),
        (0.0500049, "p = 0.050005"),
        (0.04996, "p = 0.05"),
        (1.0, "p = 1"),
    ],
)
def test_a_p_value_has_two_digits_and_stays_on_its_side_of_the_level(pvalue, text):
    assert _words.p_equals(pvalue, 0.05) == text


@pytest.mark.parametrize(
    ("chance", "text"), [(0.511, "51.1 %"), (0.99953, "99.953 %"), (0.0031, "0.31 %"), (0.0, "0.0 %"), (1.0, "100.0 %")]
)
def test_a_share_is_told_apart_from_none_and_from_all(chance, text):
    assert _words.Unit().share(chance) == text


# The same from a file, by the command and by the lines that the report names.


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    rng = np.random.default_rng(0)
    rows = zip(rng.random(160), rng.random(160), rng.choice(["f", "m"], 160), strict=True)
    path = folder / "it's rows.csv"
    path.write_text("happened,p,sex\n" + "".join(f"{int(u < p**2)},{p:.6f},{sex}\n" for u, p, sex in rows))
    return path


@pytest.fixture
def run(capsys):
    """Run the command line in this process; returns code, standard output, standard error."""

    def call(*arguments):
        code = main([*arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def test_the_command_and_the_lines_of_python_give_the_same_report(file, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = ("--label", "happened", "--probs", "p", "--by", "sex", "--margin", "0.2")
    code, out, err = run("report", str(file), *asked, "-o", "first.json")
    assert (code, err.startswith("calibstat: reporting takes") or not err) == (0, True)
    assert out.startswith("The model ")
    first = json.loads((tmp_path / "first.json").read_text())
    command, python = (
        block["text"] for part in first["sections"] for block in part["blocks"] if block["kind"] == "code"
    )
    exec(python, {})
    assert (tmp_path / "report.html").read_text() == cs.Report(first).to_html()
    (tmp_path / "report.html").unlink()
    assert run(*shlex.split(command)[1:])[0] == 0
    assert (tmp_path / "report.html").read_text() == cs.Report(first).to_html()
    assert run("report", "first.json", "-o", "again.html")[0] == 0
    assert (tmp_path / "again.html").read_text() == cs.Report(first).to_html()


COUNTED = "".join(f"{p / 20:.2f},{p - p % 3},20\n" for p in range(1, 20))
CONFIDENT = "".join(f"{int(k % 3 > 0)},{0.4 + k / 350:.4f},{'ab'[k % 2]}\n" for k in range(200))


@without_search
@pytest.mark.parametrize(
    ("text", "asked"),
    [
        (f"p,events,trials\n{COUNTED}", ("--events", "events", "--trials", "trials", "--probs", "p")),
        (f"right,sure,group\n{CONFIDENT}", ("--label", "right", "--confidence", "sure", "--by", "group")),
    ],
    ids=["counted", "confident"],
)
def test_counts_and_confidences_can_be_done_again(text, asked, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text(text)
    assert run("report", "rows.csv", *asked, "--no-calibrators", "-o", "first.json")[0] == 0
    first = cs.Report.from_json((tmp_path / "first.json").read_text())
    parts = first.document["sections"]
    command, python = (block["text"] for part in parts for block in part["blocks"] if block["kind"] == "code")
    exec(python, {})
    assert f"<h1>{tied(first.answer['headline'])}</h1>" in (tmp_path / "report.html").read_text()
    (tmp_path / "report.html").unlink()
    assert run(*shlex.split(command)[1:])[0] == 0
    assert (tmp_path / "report.html").read_text() == first.to_html()


def test_json_without_a_place_is_printed(file, run):
    code, out, _ = run(
        "report", str(file), "--label", "happened", "--probs", "p", "--no-calibrators", "--format", "json"
    )
    assert code == 0
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(out))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--label", "happened", "--probs", "p"), "write -o report.html"),
        (("--label", "happened", "-o", "x.html"), "--label and --probs are missing"),
        (("--label", "happened", "--probs", "p", "-o", "/nowhere/x.html"), "which is no folder"),
        (("--label", "happened", "--probs", "p", "--by", "town", "-o", "x.html"), "no column 'town'"),
        (("--label", "happened", "--probs", "p", "--margin", "2", "-o", "x.html"), "--margin"),
    ],
)
def test_bad_commands_say_what_to_do(file, run, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    code, out, err = run("report", str(file), *arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert list(tmp_path.iterdir()) == []


def test_no_input_is_overwritten_and_no_other_kind_of_file_is_written(file, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = file.read_text()
    asked = ("report", str(file), "--label", "happened", "--probs", "p", "-o")
    code, _, err = run(*asked, str(file))
    assert (code, file.read_text()) == (2, before)
    assert "is also FILE, which would be overwritten" in err
    for name in ("x.pdf", "x"):
        code, _, err = run(*asked, name)
        assert code == 2
        assert "does not end in .html or .json" in err
    assert list(tmp_path.iterdir()) == []


def test_options_of_data_are_refused_beside_a_report_that_was_made_before(run, tmp_path):
    path = tmp_path / "made.json"
    path.write_text(of("sixty").to_json())
    code, _, err = run("report", str(path), "--label", "y", "-o", str(tmp_path / "x.html"))
    assert code == 2
    assert "leave out --label" in err


def test_a_report_that_is_no_text_is_named_with_what_to_do(run, tmp_path):
    (tmp_path / "made.json").write_bytes(b'{"schema": "calibstat-report/1", "title": "\xff"}')
    code, _, err = run("report", str(tmp_path / "made.json"), "-o", str(tmp_path / "x.html"))
    assert code == 2
    said = " ".join(err.split())
    assert "made.json: the report holds bytes that are no text in UTF-8, so that it is damaged: restore a copy" in said
