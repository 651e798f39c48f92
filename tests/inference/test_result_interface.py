"""Every result prints itself, and gives itself as values, table, dataset and picture."""

from __future__ import annotations

import json
import re
from functools import cache

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import calibstat as cs
from calibstat._screen import Screen
from calibstat.inference.results import Result
from displays.rendered import assert_readable


@cache
def sample():
    return cs.generators.BetaPredictions(1, 1, cs.generators.Slope(0.5)).sample(300, rng=0)


@cache
def three_classes():
    return cs.generators.DirichletPredictions([1, 1, 1]).sample(300, rng=0)


def three_models():
    raw = sample()
    halves = raw.y_prob[:, 1] / 2
    return {"raw": raw, "half": cs.Sample(raw.y_true, halves), "square": cs.Sample(raw.y_true, raw.y_prob[:, 1] ** 2)}


def comparison():
    raw, half, _ = three_models().values()
    return cs.comparison_test(raw, half, cs.DebiasedL2(cs.EqualMass(5)), n_resamples=99, rng=0)


def several():
    return cs.compare_models(three_models(), cs.DebiasedL2(cs.EqualMass(5)), n_resamples=99, rng=0)


@cache
def calibrators():
    calibrator = {"platt": cs.calibrators.Platt()}
    return cs.compare_calibrators(calibrator, sample().y_true, sample().y_prob, n_resamples=99, rng=0)


def by_variable():
    given = sample()
    return cs.variable_based_protocol(
        given.y_true, given.y_prob, given.y_prob[:, 1], name="age", n_bins=3, n_resamples=9, rng=0
    )


def labels_needed():
    world = cs.generators.BetaPredictions(1, 1, cs.generators.Slope(0.3))
    return cs.required_n(world, cs.Spiegelhalter(), n_repeats=100, rng=0)


def error_found():
    return cs.minimum_detectable(cs.ErrorFamily(), 200, cs.Spiegelhalter(), n_repeats=100, rng=0)


def in_groups():
    given = sample()
    return cs.Sample(given.y_true, given.y_prob, variables={"site": ["here", "there"] * 150})


NODES = ("left", "right", "feature", "threshold")
FAMILY = cs.Family({"ece": cs.ECE(cs.EqualMass(5)), "kuiper": cs.Kuiper()})
RESULTS = {
    "CalibrationTest": lambda: cs.calibration_test(sample(), cs.ECE(cs.EqualMass(5)), null=cs.Consistency(99), rng=0),
    "Estimate": lambda: cs.estimate(sample(), cs.ECE(cs.EqualMass(5)), n_resamples=99, rng=0),
    "ComparisonTest": comparison,
    "ModelComparison": several,
    "PairDifference": lambda: several().pairs[0],
    "EquivalenceTest": lambda: cs.equivalence_test(sample(), cs.ECE(cs.EqualMass(5)), 0.2, n_resamples=99, rng=0),
    "PrecisionPlan": lambda: cs.precision_n(sample().y_prob[:, 1]),
    "ClinicalSummary": lambda: cs.clinical_summary(sample(), n_resamples=39, rng=0),
    "ClinicalGroups": lambda: cs.clinical_summary(in_groups(), by="site", n_resamples=39, rng=0).groups,
    "CalibrationBand": lambda: cs.calibration_band(sample()),
    "CalibratorComparison": calibrators,
    "CalibratorResult": lambda: calibrators().models[1],
    "PairResult": lambda: calibrators().pairs[0],
    "VariableBasedComparison": by_variable,
    "RequiredN": labels_needed,
    "MinimumDetectable": error_found,
    "Properties": lambda: cs.properties(cs.generators.FinitePredictions([0.4, 0.4, 0.7], [0.3, 0.5, 0.6])),
    "Estimate of several": lambda: cs.estimate(sample(), cs.Cox(), n_resamples=19, rng=0),
    "MultipleTest": lambda: cs.multiple_test(sample(), FAMILY, null=cs.Consistency(19), rng=0),
    "SubgroupAudit": lambda: cs.subgroup_audit(in_groups(), "site", n_resamples=19, rng=0),
    "VariableScan": lambda: cs.scan_variables(in_groups(), n_resamples=19, rng=0),
    "LearnerAudit": lambda: cs.learner_audit(in_groups(), n_blocks=1, n_resamples=19, rng=0),
    "LeafTable": lambda: cs.leaf_table(sample(), {key: [-1] for key in NODES}, variables=[...]),
    "EqualCurvesTest": lambda: cs.equal_curves_test(in_groups(), "site", n_resamples=19, rng=0),
    "Desiderata": lambda: cs.desiderata(sample(), n_resamples=99, rng=0),
    "Desiderata of a world": lambda: cs.desiderata(cs.generators.FinitePredictions([0.2, 0.6], [0.1, 0.5])),
    "SimplificationPath": lambda: cs.simplify(sample(), 3, rng=0),
    "SimplificationPath of a world": lambda: cs.simplify(cs.generators.FinitePredictions([0.2, 0.6], [0.1, 0.5]), 1),
    "TestsByLens": lambda: cs.calibration_test(three_classes(), n_resamples=99, rng=0).by_lens,
    "EstimatesByLens": lambda: cs.estimate(three_classes(), n_resamples=99, rng=0).by_lens,
    "CalibrationTest of several lenses": lambda: cs.calibration_test(three_classes(), n_resamples=99, rng=0),
    "Estimate of several lenses": lambda: cs.estimate(three_classes(), n_resamples=99, rng=0),
    "OmnibusTest": lambda: cs.omnibus_test(sample(), n_resamples=19, rng=0),
}


def every_result():
    """Walk over the classes, those of classes that no module has imported yet included."""
    for name in cs.__all__:
        getattr(cs, name)
    return {each.__name__ for each in _below(Result) if not each.__abstractmethods__}


def _below(parent):
    for child in parent.__subclasses__():
        yield child
        yield from _below(child)


@pytest.fixture(scope="module", params=RESULTS)
def result(request):
    return RESULTS[request.param]()


def test_every_result_class_is_looked_at():
    assert {name.split()[0] for name in RESULTS} == every_result()


def test_it_prints_its_answer_first(result):
    text = str(result)
    assert text == repr(result)
    assert " ".join(text.split()).startswith(" ".join(result.verdict.split()))


def test_its_values_are_plain(result):
    values = result.to_dict()
    assert values
    assert json.loads(json.dumps(values, allow_nan=False)) == values


def test_it_says_how_many_rows_are_in_effect_and_how_many_events_the_smallest_cell_has(result, request):
    name, values = request.node.callspec.params["result"], result.to_dict()
    # These are about no sample.
    if name in (
        "RequiredN",
        "MinimumDetectable",
        "PrecisionPlan",
        "Properties",
        *(name for name in RESULTS if name.endswith(" world")),
    ):
        assert "effective_rows" not in values
        return
    rows, share, events = (values[each] for each in ("effective_rows", "largest_share", "smallest_cell_events"))
    if name == "ComparisonTest":  # of two samples
        assert (rows, share) == ([300, 300], [1 / 300, 1 / 300])
        assert all(0 <= each <= 30 for each in events)
        return
    assert rows == {"CalibratorComparison": 150, "CalibratorResult": 150, "PairResult": 150, "ClinicalGroups": 150}.get(
        name, values.get("n_test", 300)
    )
    assert share == 1 / rows
    assert (events is None) == (name in ("CalibrationBand", "OmnibusTest", "Estimate of several"))  # without cells
    assert events is None or 0 <= events <= 150


WEIGHTS = np.where(np.arange(300) % 30 == 0, 20.0, 1.0)


def weighted():
    site, happened = np.array(["a", "b", "c"])[np.arange(300) % 3], np.arange(300) % 4 == 0
    return cs.Sample(happened, np.repeat([0.2, 0.7], 150), sample_weight=WEIGHTS, variables={"site": site})


# Where the cells are the two predictions, and where they are three groups.
BY_PREDICTION, BY_SITE = np.repeat([0, 1], 150), np.arange(300) % 3
UNIQUE = cs.DebiasedL2(cs.UniqueValues())


@pytest.mark.parametrize(
    ("ask", "cell"),
    [
        (lambda given: cs.calibration_test(given, cs.HosmerLemeshow(cs.UniqueValues()), rng=0), BY_PREDICTION),
        (lambda given: cs.estimate(given, cs.ECE(cs.UniqueValues()), n_resamples=19, rng=0), BY_PREDICTION),
        (lambda given: cs.estimate(given, cs.TopLabel() | cs.ECE(cs.UniqueValues()), n_resamples=19, rng=0), None),
        (lambda given: cs.equivalence_test(given, UNIQUE, 0.2, rng=0), BY_PREDICTION),
        (lambda given: cs.multiple_test(given, FAMILY, n_resamples=19, rng=0), BY_PREDICTION),
        (lambda given: cs.omnibus_test(given, [UNIQUE, cs.Kuiper()], n_resamples=19, rng=0), BY_PREDICTION),
        (lambda given: cs.subgroup_audit(given, "site", n_resamples=19, rng=0), BY_SITE),
        (lambda given: cs.scan_variables(given, n_resamples=19, min_expected=0, rng=0), BY_SITE),
        (lambda given: cs.equal_curves_test(given, "site", min_size=1, min_expected=1, n_resamples=19, rng=0), BY_SITE),
        (lambda given: cs.simplify(given, 2, held_out=given), BY_PREDICTION),
        (lambda given: cs.compare_models({"a": given, "b": given}, UNIQUE, n_resamples=99, rng=0), BY_PREDICTION),
    ],
)
def test_counts_are_in_effect_where_rows_have_weights(ask, cell):
    given = weighted()
    values = ask(given).to_dict()
    assert values["effective_rows"] == pytest.approx(WEIGHTS.sum() ** 2 / (WEIGHTS**2).sum())
    assert values["largest_share"] == pytest.approx(20 / WEIGHTS.sum())
    outcome = given.outcomes
    if cell is None:  # whether the top label is right
        cell, outcome = BY_PREDICTION, given.outcomes == (given.y_prob[:, 1] > 0.5)
    parts = [WEIGHTS[(cell == each) & (outcome == happened)] for each in np.unique(cell) for happened in (0, 1)]
    assert values["smallest_cell_events"] == pytest.approx(min(part.sum() ** 2 / (part**2).sum() for part in parts))


def test_it_gives_a_table_and_a_dataset(result, tmp_path):
    table, dataset = result.to_frame(), result.to_dataset()
    assert isinstance(table, pd.DataFrame)
    assert len(table) >= 1
    assert isinstance(dataset, xr.Dataset)
    assert dataset.data_vars
    if dataset.sizes:
        assert list(dataset.sizes.values()) == [len(table)]
    for name in dataset.data_vars:
        assert dataset[name].dtype.kind in "fiubU", name
    assert all(isinstance(each, (str, int, float)) for each in dataset.attrs.values())


def test_it_has_a_page_for_notebooks_whose_text_is_escaped(result):
    page = result._repr_html_()
    assert page.startswith("<div><p>")
    assert "<table>" in page
    assert "<lambda>" not in page
    assert page.count("<tr>") == page.count("</tr>") >= 2


def test_a_page_names_its_notes_and_sets_text_to_the_left():
    page = Screen("An answer.", [["group", "n"], ["a & b", "10"]], ["few rows"]).html()
    assert "<p>note: few rows</p>" in page
    assert '<td style="text-align: left">a &amp; b</td><td>10</td>' in page


def test_it_has_a_table_for_latex_whose_text_is_escaped(result):
    text = result.to_latex()
    assert text.startswith("\\begin{table}")
    assert text.count("{") == text.count("}")
    assert not re.search(r"(?<!\\)[%#_$^~<>|]", text)


def test_markup_in_names_is_escaped():
    given = sample()
    marked = cs.Sample(given.y_true, given.y_prob, variables={"<b>age</b>": given.y_prob[:, 1]})
    found = cs.calibration_test(
        marked, cs.Given("<b>age</b>") | cs.ECE(cs.EqualMass(5)), null=cs.Consistency(19), rng=0
    )
    assert "&lt;b&gt;age" in found._repr_html_()
    assert "<b>" not in found._repr_html_()


# True or false, a table that needs no picture of its own, or parts of a result whose picture shows them.
WITHOUT_A_PICTURE = {
    "TestsByLens",
    "EstimatesByLens",
    "ClinicalGroups",
    "Properties",
    "CalibratorResult",
    "PairResult",
    "PairDifference",
}


def test_every_result_has_a_picture_or_says_why_not(result):
    name = type(result).__name__
    if name in WITHOUT_A_PICTURE:
        assert not result._display
        with pytest.raises(NotImplementedError, match=f"a {name} has no picture: {re.escape(result._no_display)}"):
            result.plot()
        return
    display = getattr(cs, result._display)
    drawn = result.plot()
    assert isinstance(drawn, display)
    assert drawn.caption
    assert_readable(drawn.figure_)
    plt.close(drawn.figure_)
