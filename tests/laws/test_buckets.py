"""Buckets of rows of known mean prediction: the values of their rows in cells of whole buckets, or a refusal."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import calibstat as cs
from calibstat.auditing.audit import subgroup_audit
from calibstat.auditing.scan import scan_variables
from calibstat.inference.band import calibration_band
from calibstat.inference.clinical import clinical_summary
from calibstat.inference.equivalence import equivalence_test
from calibstat.inference.multiple import multiple_test
from calibstat.interpretability.desiderata import desiderata
from registered.entries import LABELS
from registry import ESTIMATORS, NULLS, every
from suites import everything

REFUSED = "needs the prediction of each row, but the sample has"
EDGES = np.linspace(0, 1, 6)
NEAR = dict(rtol=1e-9, atol=1e-12)
TESTED = cs.ECE(cs.EqualWidth(5))


def rows(n=600, seed=3, slope=1.0):
    """Single rows, with their bucket: a fifth of [0, 1] and the level of a variable."""
    rng = np.random.default_rng(seed)
    p, sex = rng.random(n), rng.choice(["f", "m"], n)
    place = np.minimum((p * 5).astype(int), 4)
    age = np.where(sex == "f", 30.0, 50.0) + place % 2
    happened = rng.random(n) < 1 / (1 + np.exp(-slope * np.log(p / (1 - p))))
    return pd.DataFrame({"p": p, "y": happened, "sex": sex, "age": age, "place": place})


def single(frame):
    variables = {name: frame[name].to_numpy() for name in ("age", "sex")}
    variables["mean"] = frame.groupby(["place", "sex"])["p"].transform("mean").to_numpy()
    return cs.Sample(np.where(frame["y"], *LABELS[1::-1]), frame["p"], variables=variables, labels=LABELS[:2])


def buckets(frame):
    each = frame.groupby(["place", "sex", "age"])
    kept = each.agg(n=("y", "size"), y=("y", "sum"), p=("p", "sum")).reset_index()
    kept["low"], kept["high"] = EDGES[kept["place"]], EDGES[kept["place"] + 1]
    columns = dict(predicted="p", events="y", trials="n", between=("low", "high"), variables=["age", "sex"])
    return cs.Sample.from_frame(kept, **columns, labels=LABELS[:2])


def values_of(estimator, sample):
    """All numbers of an estimator; of buckets too."""
    seen = estimator.lens(sample)
    estimator.core.expect_rows(seen.known)
    read = seen.read_by(estimator.core.reads_counts, buckets=True)
    return estimator.core.prepare(read.predictions)(read.outcomes)


def on_rows(estimator, sample):
    """The same estimator, whose cells are the buckets where those of the buckets are their means."""
    if of_predictions(estimator) and isinstance(estimator.core.cut_by, cs.UniqueValues):
        return values_of(cs.Given("mean") | estimator.core.recut(cs.UniqueValues()), sample)
    return values_of(estimator, sample)


def of_predictions(estimator):
    return not any(isinstance(part, cs.Given) for part in estimator.lens.parts)


def variants(estimator):
    """An estimator with its own cells, and with cells of whole buckets."""
    yield estimator
    if estimator.core.cut_by is not None and of_predictions(estimator):
        yield from (estimator.lens | estimator.core.recut(each) for each in (cs.EqualWidth(5), cs.UniqueValues()))


TWO = [entry for entry in ESTIMATORS if 2 in entry.classes]


@every(TWO)
@pytest.mark.filterwarnings("ignore::calibstat.SmallCellsWarning")
def test_buckets_give_the_value_of_their_rows_or_are_refused(entry):
    frame = rows()
    for estimator in variants(entry.thing):
        try:
            found = values_of(estimator, buckets(frame))
        except ValueError:
            with pytest.raises(ValueError, match=REFUSED):
                estimator(buckets(frame))
        else:
            np.testing.assert_allclose(found, on_rows(estimator, single(frame)), **NEAR, err_msg=repr(estimator))


READ = [
    TESTED,
    cs.ECE(cs.UniqueValues()),
    cs.ECE(cs.FixedEdges([0, 0.4, 1])),
    cs.RMSCE(cs.EqualWidth(5)),
    cs.DebiasedCE(cs.EqualWidth(5)),
    cs.MaximumMiscalibration(cs.EqualWidth(5)),
    cs.ExpectedMiscalibration(cs.EqualWidth(1)),
    cs.PearsonCE(cs.EqualWidth(5)),
    cs.HistogramRegression(cs.EqualWidth(5)),
    cs.MeanCalibration(),
    cs.ObservedToExpected(),
    cs.Within("sex", TESTED),
    cs.Family({"ece": TESTED, "mean": cs.MeanCalibration()}),
    cs.Given("sex") | cs.ECE(cs.Categories()),
    cs.Given("age") | cs.ECE(cs.EqualMass(3)),
    cs.Given("sex", ...) | cs.ECE(cs.Categories() * cs.EqualWidth(5)),
    cs.Region.between("age", 45, 60) | TESTED,
]


@pytest.mark.parametrize("estimator", READ, ids=repr)
def test_what_sums_over_whole_buckets_suffice_for_is_read(estimator):
    np.testing.assert_allclose(values_of(estimator, buckets(rows())), on_rows(estimator, single(rows())), **NEAR)


CUT = [
    cs.EqualMass(5),
    cs.EqualWidth(4),
    cs.FixedEdges([0, 0.5, 1]),
    cs.Quantiles(5),
    cs.EqualWidth(5) * cs.EqualWidth(3),
]


@pytest.mark.parametrize("binning", CUT, ids=repr)
def test_cells_that_cut_a_bucket_are_refused(binning):
    with pytest.raises(ValueError, match=REFUSED):
        cs.ECE(binning)(buckets(rows()))


def test_without_ends_no_cell_begins_between_zero_and_one():
    sample = cs.Sample.from_buckets([3.0, 12.0], events=[2, 11], trials=[30, 30])
    with pytest.raises(
        ValueError, match=r"EqualWidth\(n_bins=2\), whose edge 0.5 lies inside a bucket \(0 to 1\), needs"
    ):
        cs.ECE(cs.EqualWidth(2))(sample)
    assert cs.ECE(cs.UniqueValues())(sample) == pytest.approx((1 + 1) / 60)
    one = cs.Sample.from_buckets([0.2, 0.7], events=[0, 1], trials=[1, 1])  # of one row all is known
    assert cs.ECE(cs.EqualWidth(2))(one) == pytest.approx(0.25)


ASKED = {
    "omnibus_test": cs.omnibus_test,
    "subgroup_audit": lambda sample: subgroup_audit(sample, ["sex"]),
    "scan_variables": lambda sample: scan_variables(sample, ["sex"]),
    "calibration_band": calibration_band,
    "clinical_summary": clinical_summary,
    "desiderata": desiderata,
    "report": lambda sample: cs.report(sample, "never-written.html"),
    "comparison_test": lambda sample: cs.comparison_test(sample, sample, cs.ECE(cs.UniqueValues())),
    "ledger": cs.Ledger.count,
    "decision": lambda sample: cs.calibration_test(sample, decision=cs.DecisionLoss(costs=(1, 4))),
    "bootstrap": lambda sample: cs.estimate(
        sample, TESTED, interval=cs.Bootstrap(99, kind="percentile", allow_invalid=True)
    ),
    "cumulative": cs.CumulativeDisplay.from_sample,
    "curve": lambda sample: cs.ReliabilityDisplay.compute(sample).add_curve(cs.LOESS()),
    "variable": lambda sample: cs.VariableDisplay.from_sample(sample, "age"),
    "top label": lambda sample: cs.calibration_test(sample, cs.TopLabel() | TESTED),
    "top label inside": cs.Within("sex", cs.TopLabel() | TESTED),
    "region": lambda sample: cs.Region.between(LABELS[1], 0.2, 0.5)(sample),
    "predicate": lambda sample: cs.Region(lambda predictions: predictions.event > 0.5)(sample),
    "rows": lambda sample: sample.take(np.array([0])),
    "probabilities": lambda sample: sample.y_prob,
    "labels": lambda sample: sample.y_true,
}


@pytest.mark.parametrize("verb", ASKED)
def test_what_needs_single_rows_says_so(verb):
    with pytest.raises(ValueError, match=REFUSED):
        ASKED[verb](buckets(rows()))


@every(NULLS)
def test_a_null_judges_buckets_or_says_that_it_cannot(entry):
    if entry.thing.takes_buckets:
        found = cs.calibration_test(buckets(rows()), cs.MeanCalibration(), null=entry.thing, rng=0)
        assert 0 < found.pvalue <= 1
        assert "(exact" not in everything(found)
        return
    with pytest.raises(ValueError, match=REFUSED):
        cs.calibration_test(buckets(rows()), TESTED, null=entry.thing, rng=0)


def test_results_say_what_they_take_for_granted():
    sample = buckets(rows())
    asked = [
        cs.calibration_test(sample),
        cs.estimate(sample, n_resamples=99, rng=0),
        equivalence_test(sample, TESTED, 0.2, n_resamples=99, rng=0),
        multiple_test(sample, cs.Within("sex", TESTED), n_resamples=99, rng=0),
    ]
    for found in asked:
        assert "rows of a bucket are taken for equal predictions" in str(found)


def test_the_slope_of_buckets_is_not_that_of_their_rows():
    extreme = rows(6000, slope=0.4)
    assert "too extreme" in str(cs.calibration_test(single(extreme), TESTED))
    said = everything(cs.calibration_test(buckets(extreme), TESTED))
    assert "extreme" not in said
    assert "slope" not in said
    assert "predicted" in said


def test_buckets_of_equal_predictions_are_counts():
    p, trials = np.array([0.1, 0.4, 0.7]), np.array([40, 60, 50])
    events = np.array([6, 20, 41])
    inside = cs.Sample.from_buckets(p * trials, events=events, trials=trials)
    together = cs.Sample.from_counts(p, events=events, trials=trials)
    one, other = (cs.calibration_test(each, cs.ECE(cs.UniqueValues())) for each in (inside, together))
    assert tuple(one) == pytest.approx(tuple(other), rel=1e-9)


def test_a_picture_of_buckets_shows_their_means():
    frame = rows()
    found = cs.ReliabilityDisplay.compute(buckets(frame), cs.EqualWidth(5))
    of_rows = cs.ReliabilityDisplay.compute(single(frame), cs.EqualWidth(5))
    for name in ("mean_prediction", "mean_outcome", "count"):
        np.testing.assert_allclose(getattr(found, name), getattr(of_rows, name), rtol=1e-9)
    assert not found.curves
    assert len(cs.ReliabilityDisplay.compute(buckets(frame)).count) == 10


def test_the_squared_error_has_a_value_and_no_interval():
    found = cs.estimate(buckets(rows()), cs.DebiasedCE(cs.EqualWidth(5)), n_resamples=99, rng=0)
    assert found.confidence_interval is None
    assert "needs the prediction of each row" in found.interval_note


# Arguments, frames and files.

GOOD = dict(events=[2, 11, 25], trials=[30, 30, 30], between=([0, 0.2, 0.5], [0.2, 0.5, 1]))


@pytest.mark.parametrize(
    ("predicted", "change", "said"),
    [
        ([3, 12, 31], {}, r"predicted is 31 in row 2 .* pass the sum of the predictions"),
        ([0.1, 0.4, 0.8], {}, r"row 1 .* a mean prediction between 0.2 and 0.5 is expected"),
        ([3, 12], {}, "predicted has 2 rows and trials has 3"),
        ([3, 12, 24], {"between": ([0, 0.2], [0.2, 1])}, "predicted has 3 rows and between has 2"),
        ([3, 12, 24], {"between": ([-1, 0.2, 0.5], [0.2, 0.5, 1])}, "row 0"),
        ([3, 12, 24], {"trials": [30, 30, 30.5]}, "trials is 30.5 in row 2"),
        ([3, 12, 24], {"events": [2, 11, 31]}, "more than its 30 trials"),
        ([np.nan, 12, 24], {}, "values are missing"),
    ],
)
def test_wrong_buckets_are_named(predicted, change, said):
    with pytest.raises(ValueError, match=said):
        cs.Sample.from_buckets(predicted, **(GOOD | change))


def test_empty_and_missing_buckets_are_left_out():
    found = cs.Sample.from_buckets([3, 0, 24], **(GOOD | {"events": [2, 0, 25], "trials": [30, 0, 30]}))
    assert repr(found) == "Sample(n=60, classes=(False, True), counted in 2 buckets)"
    np.testing.assert_array_equal(found.known.buckets, [[0, 0.2], [0.5, 1]])
    assert len(cs.Sample.from_buckets([3, np.nan, 24], **GOOD, nan_policy="omit")) == 60


def test_frames_and_files_of_buckets(tmp_path):
    frame = pd.DataFrame({"p": [3.0, 12.0, 24.0], "y": GOOD["events"], "n": GOOD["trials"], "a": 0.0, "b": 1.0})
    frame.to_csv(tmp_path / "buckets.csv", index=False)
    columns = dict(predicted="p", events="y", trials="n", between=("a", "b"))
    for found in (cs.Sample.from_frame(frame, **columns), cs.Sample.read(tmp_path / "buckets.csv", **columns)):
        assert cs.ECE(cs.UniqueValues())(found) == pytest.approx((1 + 1 + 1) / 90)
    for wrong in ({"events": "y", "trials": "n"}, {"predicted": "p", "y_true": "y"}, {"predicted": "p", "y_prob": "a"}):
        with pytest.raises(TypeError, match=r"is expected|beside predicted="):
            cs.Sample.from_frame(frame, **wrong)
    with pytest.raises(ValueError, match=r"Sample.from_frame\(frame, predicted="):
        cs.Ledger.from_frame(frame, labels=(0, 1))
