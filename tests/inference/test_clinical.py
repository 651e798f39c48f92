"""The clinical summary: its screen, its numbers, and what it refuses or leaves out."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from published.test_rms_val_prob import sixty_rows


@pytest.fixture(scope="module")
def sixty():
    y, p = sixty_rows()
    return cs.Sample(y, p)


@pytest.fixture(scope="module")
def found(sixty):
    return cs.clinical_summary(sixty, n_resamples=99, rng=0)


TABLE = """\
of P(1)                      value      95 % interval  if calibrated
observed / expected (O/E)      0.8     0.624 to 1.026              1
intercept in the large     -0.6073  -1.239 to 0.02396              0
calibration slope            1.168    0.5443 to 1.791              1
mean error (ICI)            0.1018        0 to 0.2741        0.08421
median error (E50)         0.08547         0 to 0.439        0.07488
0.9 quantile (E90)          0.1693           0 to 0.5          0.163
largest error (Emax)        0.1778        0 to 0.7824         0.1923
calibration belt            p 0.19
C-index (AUC)               0.8623   0.7443 to 0.9309
Brier score                 0.1594   0.1165 to 0.2143
  reliability (6 cells)    0.01324       0 to 0.07407
  resolution               0.08333  0.00315 to 0.1926
  uncertainty                 0.24     0.1995 to 0.25
scaled Brier score          0.3357  0.08684 to 0.5847
"""
SCREENS = {
    80: f"""\
No evidence of an error on average or in slope, or by the calibration belt: 50 %
predicted, 40 % happened (24 events in 60 rows), O/E 0.8 (95 %: 0.624 to 1.03),
slope 1.17 (0.544 to 1.79).

{TABLE}
note        few rows of similar predictions have an event, or few have none:
            intervals of errors are wide, for the noise that such rows may hide

How this was computed: .to_text(verbose=True)""",
    120: f"""\
No evidence of an error on average or in slope, or by the calibration belt: 50 % predicted, 40 %
happened (24 events in 60 rows), O/E 0.8 (95 %: 0.624 to 1.03), slope 1.17 (0.544 to 1.79).

{TABLE}
note        few rows of similar predictions have an event, or few have none: intervals of errors are
            wide, for the noise that such rows may hide

How this was computed: .to_text(verbose=True)""",
}


@pytest.mark.parametrize("width", SCREENS)
def test_the_screen(found, width):
    assert found.to_text(width) == SCREENS[width]
    assert max(map(len, SCREENS[width].splitlines())) <= width


def test_everything_is_shown_where_it_is_asked_for(found):
    text = " ".join(found.to_text(80, verbose=True).split())
    assert "data n = 60, 24 events; y_prob taken for P(label = 1)" in text
    assert "each holds by itself with 95 %; intercept and slope: Wald" in text
    assert "verbose" not in text


GROUPS = """\
In 2 groups, not adjusted for their number, O/E goes from 0.721 (sex m) to 0.881
(sex f), slope goes from 1.11 (sex m) to 1.27 (sex f), C-index goes from 0.861
(sex m) to 0.869 (sex f).

group  rows  events   O/E          95 %  slope          95 %     C          95 %
sex f    30      13  0.88  0.64 to 1.21   1.27  0.33 to 2.21  0.87  0.69 to 0.95
sex m    30      11  0.72  0.49 to 1.06   1.11  0.26 to 1.96  0.86  0.68 to 0.95

note        each interval holds by itself with 95 %: of many groups, some lie
            apart by chance alone; an audit of subgroups tests them together"""


def test_groups_have_a_line_each_with_the_numbers_of_their_own_rows():
    y, p = sixty_rows()
    sex, age = np.tile(["f", "m"], 30), np.arange(60.0)
    sample = cs.Sample(y, p, variables={"sex": sex, "age": age})
    groups = cs.clinical_summary(sample, by="sex", n_resamples=19, rng=0).groups
    assert groups.to_text(80) == GROUPS
    women = cs.clinical_summary(cs.Sample(y[sex == "f"], p[sex == "f"]), n_resamples=19, rng=0)
    assert groups.each[0].measures == {name: women[name] for name in ("oe", "intercept", "slope", "c_index")}
    both = cs.clinical_summary(sample, by=["age", "sex"], n_resamples=19, rng=0)
    assert [each.name for each in both.groups.each[:2]] == ["age 0 to 14", "age 15 to 29"]
    assert [each.n for each in both.groups.each] == [15, 15, 15, 15, 30, 30]
    assert "In 6 groups, not adjusted for their number, O/E goes from" in both.to_text(120)
    assert len(both.to_dict()["groups"]) == len(both.groups.to_frame()) == 6
    with pytest.raises(ValueError, match="the sample has no variable 'weight'; its variables are: 'sex', 'age'"):
        cs.clinical_summary(sample, by="weight")


def test_a_group_without_events_has_no_slope_and_no_c_index():
    y, p = sixty_rows()
    sample = cs.Sample(y, p, variables={"event": np.where(y == 1, "yes", "no")})
    groups = cs.clinical_summary(sample, by="event", n_resamples=19, rng=0).groups
    assert groups.to_text(80).count("none") == 4
    assert groups.verdict.startswith("In 2 groups, not adjusted for their number, O/E goes from 0 (event no) to")
    assert "slope" not in groups.verdict


def test_resolution_is_the_error_of_the_share_of_events_in_the_same_cells(sixty, found):
    """The value is biased upward by noise, and its interval is not: it may lie below."""
    cells = cs.EqualMass(6).cut(sixty.predictions).index.astype(float)
    share = np.full(60, sixty.outcomes.mean())
    constant = cs.Sample(sixty.outcomes, share, variables={"cell": cells}, labels=[0, 1])
    known = cs.estimate(constant, cs.Given("cell") | cs.DebiasedL2(cs.Categories()), n_resamples=99, rng=1)
    assert found["resolution"].interval == pytest.approx(tuple(known.confidence_interval), rel=0.3, abs=0.02)
    assert found["scaled_brier"].value == pytest.approx(1 - found["brier"].value / found["uncertainty"].value)
    low, high = found["uncertainty"].interval
    assert low < found["uncertainty"].value < high == 0.25


def test_numbers_and_intervals_are_those_of_the_estimators(sixty, found):
    fit = cs.Cox()(sixty)
    assert found["slope"][2:5] == (fit.slope, *fit.slope_interval)
    assert found["intercept"][2:5] == (fit.intercept_in_the_large, *fit.intercept_in_the_large_interval)
    for name, estimator in (("oe", cs.ObservedToExpected()), ("c_index", cs.AUC()), ("brier", cs.BrierScore())):
        known = cs.estimate(sixty, estimator, rng=0)
        assert (found[name].value, found[name].interval) == (known.headline, tuple(known.confidence_interval))
    indices = cs.ICI()(sixty)
    for name in ("ici", "e50", "e90", "emax"):
        assert found[name].value == getattr(indices, name)
        known = cs.estimate(sixty, cs.ICI(statistic=name), n_resamples=399, rng=1).confidence_interval
        # both are uniform, from other draws and fewer
        assert found[name].high == pytest.approx(known.high, rel=0.25)
    assert found.belt.statistic == cs.CalibrationBelt()(sixty).statistic
    parts = [found[name].value for name in ("uncertainty", "resolution", "reliability")]
    cells = cs.BrierDecomposition(cs.EqualMass(6))(sixty)
    assert parts == [cells.uncertainty, cells.sharpness, cells.calibration]
    with pytest.raises(KeyError, match="there is no measure 'auc'; the names are oe, intercept, slope"):
        found["auc"]


@pytest.mark.parametrize(
    ("shift", "slope", "words"),
    [
        (-1.0, 1.0, "Predictions are too low: "),
        (1.0, 1.0, "Predictions are too high: "),
        (0.0, 2.5, "Predictions are too extreme: "),
        (0.0, 0.4, "Predictions are not extreme enough: "),
        (0.0, 1.0, "No evidence of an error on average or in slope, or by the calibration belt: "),
    ],
)
def test_the_first_line_says_the_direction(shift, slope, words):
    p = np.tile((np.arange(100) + 0.5) / 100, 8)
    y = np.repeat((np.arange(8) + 0.5) / 8, 100) < p  # of equal predictions as many have the event as they say
    logits = np.log(p / (1 - p))
    shown = 1 / (1 + np.exp(-(shift + slope * logits)))
    found = cs.clinical_summary(cs.Sample(y, shown), n_resamples=19, rng=0)
    assert found.verdict.startswith(words)
    assert f"{100 * shown.mean():.3g} % predicted, {100 * y.mean():.3g} % happened" in found.verdict


def test_where_outcomes_separate_there_is_no_slope_and_the_belt_speaks():
    p = np.linspace(0.01, 0.99, 40)
    found = cs.clinical_summary(cs.Sample((p > 0.5).astype(int), p), n_resamples=99, rng=0)
    assert found.verdict == (
        "Predictions are off (calibration belt: p 0.01), with no evidence of an error on average: 50 % predicted, 50 % "
        f"happened (20 events in 40 rows), O/E 1 (95 %: {found['oe'].low:.3g} to {found['oe'].high:.3g}), no slope."
    )


def test_events_that_nobody_predicted_are_an_error_on_average():
    found = cs.clinical_summary(cs.Sample([0] * 40 + [1] * 10, np.zeros(50)), n_resamples=19, rng=0)
    assert np.isnan(found["oe"].low)
    assert found.verdict.startswith("Predictions are too low: 0 % predicted, 20 % happened")


@pytest.mark.filterwarnings("error")
def test_a_few_rows_give_no_warning_that_nobody_can_heed():
    for n in (1, 2, 5):
        found = cs.clinical_summary(cs.Sample([1] + [0] * (n - 1), np.linspace(0.6, 0.1, n)), n_resamples=19, rng=0)
        assert len(found.measures) == 13
    assert found.notes[0].startswith("the rarest outcome was seen in 1 row, fewer than 20")


def test_without_an_event_it_says_what_is_not_defined():
    found = cs.clinical_summary(cs.Sample([0] * 40, np.linspace(0.01, 0.1, 40), labels=[0, 1]), n_resamples=19, rng=0)
    assert found["oe"].value == 0
    assert found["oe"].low == 0 < found["oe"].high < np.inf
    text = str(found)
    assert text.count("not defined") == 4
    assert "O/E 0 (95 %: 0 to" in text
    assert "no slope." in text
    assert found.notes[0].startswith("the rarest outcome was seen in 0 rows")
    assert found.to_dict()["measures"]["slope"]["value"] is None


def test_weights_leave_the_belt_out(sixty):
    weights = np.linspace(0.5, 1.5, 60)
    weighted = cs.clinical_summary(cs.Sample(sixty.y_true, sixty.y_prob, sample_weight=weights), n_resamples=19, rng=0)
    assert weighted.belt is weighted.belt_pvalue is None
    assert "belt" not in str(weighted).split("note")[0]
    assert any("the calibration belt has no weights" in note for note in weighted.notes)
    assert weighted.predicted == pytest.approx(np.average(sixty.y_prob[:, 1], weights=weights))


def test_three_classes_are_seen_through_a_lens():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], 90)
    sample = cs.Sample(rng.integers(0, 3, 90), p)
    right = p.argmax(axis=1) == sample.outcomes
    assert cs.clinical_summary(sample, n_resamples=19, rng=0).happened == pytest.approx(right.mean())
    with pytest.raises(ValueError, match="needs 2 classes, got 3: look through a lens first"):
        cs.clinical_summary(sample, lens=cs.Canonical())
    found = cs.clinical_summary(sample, lens=cs.ClassWise(2), n_resamples=19, rng=0)
    assert found.predicted == pytest.approx(p[:, 2].mean())
    assert "seen through ClassWise(" in found.to_text(verbose=True)


def test_its_levels_are_asked():
    y, p = sixty_rows()
    found = cs.clinical_summary(cs.Sample(y, p), confidence_level=0.8, n_resamples=19, rng=0)
    assert "80 % interval" in str(found)
    wide = cs.Cox()(cs.Sample(y, p)).slope_interval
    assert wide[0] < found["slope"].low < found["slope"].high < wide[1]
    with pytest.raises(ValueError, match="confidence_level is 95"):
        cs.clinical_summary(cs.Sample(y, p), confidence_level=95)


def test_few_events_give_no_direction_that_chance_explains():
    """The interval of O/E is 1.25 to 5, but one event of two rows has a chance of 0.37 if 0.3 and 0.1 are predicted."""
    found = cs.clinical_summary(cs.Sample([1, 0], [0.3, 0.1]), n_resamples=39, rng=0)
    assert found["oe"].excludes(1.0)
    assert found.average_pvalue > 0.05
    assert found.verdict.startswith("No evidence of an error on average")


def test_too_few_clusters_are_said_where_intervals_are_missing():
    rng = np.random.default_rng(0)
    p, which = np.repeat(rng.random(8), 40), np.repeat(np.arange(8), 40)
    found = cs.clinical_summary(cs.Sample((rng.random(320) < p).astype(int), p, groups=which), rng=0)
    assert "no intervals of intercept and slope: 8 clusters (groups) are too few" in found.notes
    measures = found.to_dict()["measures"]
    for name in ("oe", "intercept", "slope", "c_index", "brier", "scaled_brier"):
        assert (measures[name]["low"], measures[name]["high"]) == (None, None)


def test_one_cluster_is_refused_without_a_warning():
    rng = np.random.default_rng(0)
    p = rng.random(80)
    with pytest.raises(ValueError, match="at least 4 clusters are needed"):
        cs.clinical_summary(cs.Sample(rng.random(80) < p, p, groups=np.zeros(80)), rng=0)
