"""A ledger: fine steps of predictions give the numbers of the rows themselves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import calibstat as cs
from calibstat.data import counted
from calibstat.ledgers import counting
from calibstat.ledgers.steps import HALVINGS, STEPS, middle_of, step_of

ALIGNED = [cs.ECE(cs.EqualWidth(15)), cs.ECE(cs.EqualWidth(10)), cs.MaximumMiscalibration(cs.EqualWidth(20))]
NEAR_ALIGNED = [cs.BrierScore(), cs.Kuiper(), cs.ECE(cs.EqualMass(15)), cs.SmoothECE()]


def rows(n=20_000, a=2.0, b=3.0, seed=1):
    """Calibrated predictions with a site."""
    rng = np.random.default_rng(seed)
    p = rng.beta(a, b, n)
    return cs.Sample(rng.random(n) < p, p, variables={"site": rng.choice(["north", "south"], n)})


@pytest.fixture(autouse=True)
def _as_counts(monkeypatch):
    """However few rows are counted, those who can read counts do."""
    monkeypatch.setattr(counted, "MANY", 0)


def test_steps_are_in_the_order_of_predictions_and_hold_their_middle():
    ends = np.concatenate([np.logspace(-20, -1, 500), 1 - np.logspace(-15, -1, 500), [0, 1]])
    p = np.sort(np.concatenate([np.random.default_rng(0).random(20_000), ends]))
    step = step_of(p)
    assert (np.diff(step) >= 0).all()
    assert (step[0], step[-1]) == (-HALVINGS - 1, 2 * STEPS + HALVINGS + 1)
    assert (step_of(middle_of(step)) == step).all()
    assert np.abs(p - middle_of(step)).max() <= 0.5 / STEPS + 1e-12


@pytest.mark.parametrize("n_bins", [10, 12, 15, 16, 18, 20, 24, 25, 30, 40, 45, 50, 100])
def test_a_border_of_cells_is_a_step_of_its_own(n_bins):
    borders = np.linspace(0, 1, n_bins + 1)[1:-1]
    expected = 2 * STEPS // n_bins * np.arange(1, n_bins)
    for near in (borders, np.nextafter(borders, 0), np.nextafter(borders, 1), borders.round(13)):
        np.testing.assert_array_equal(step_of(near), expected)


@pytest.mark.parametrize(("a", "b"), [(2, 3), (0.3, 30), (0.5, 0.5)])
@pytest.mark.parametrize("estimator", ALIGNED, ids=repr)
def test_tests_in_cells_of_whole_steps_are_those_of_the_rows(estimator, a, b):
    sample = rows(a=a, b=b)
    found = cs.calibration_test(cs.Ledger.count(sample).sample(), estimator)
    expected = cs.calibration_test(sample, estimator)
    assert found.statistic == pytest.approx(expected.statistic, rel=1e-9)
    assert found.pvalue == pytest.approx(expected.pvalue, rel=1e-9)
    assert float(found.null_distribution.mean) == pytest.approx(float(expected.null_distribution.mean), rel=1e-9)


def test_the_law_of_rows_needs_the_powers_of_steps():
    """The negative control."""
    sample = rows()
    kept = cs.Ledger.count(sample).sample()
    without = counted.CountedSample(replace(kept.each, powers=None), kept.counts)
    expected = cs.calibration_test(sample, ALIGNED[0]).pvalue
    assert cs.calibration_test(without, ALIGNED[0]).pvalue != pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("estimator", NEAR_ALIGNED, ids=repr)
def test_other_statistics_are_those_of_steps(estimator):
    sample = rows()
    found = cs.calibration_test(cs.Ledger.count(sample).sample(), estimator, rng=0)
    expected = cs.calibration_test(sample, estimator, rng=0)
    assert found.statistic == pytest.approx(expected.statistic, rel=0.02)
    assert found.pvalue == pytest.approx(expected.pvalue, abs=0.1)


def test_rounded_predictions_are_kept_as_they_are():
    sample = rows(n=3000)
    rounded = cs.Sample(sample.y_true, sample.y_prob[:, 1].round(2))
    kept = cs.Ledger.count(rounded).sample()
    np.testing.assert_array_equal(np.unique(kept.each.event), np.unique(rounded.y_prob[:, 1]))
    assert not kept.each.powers.any()
    estimator = cs.ECE(cs.EqualMass(15))
    expected = cs.calibration_test(rounded, estimator).pvalue
    assert cs.calibration_test(kept, estimator).pvalue == pytest.approx(expected, rel=1e-9)


def test_ledgers_add_up_in_any_order():
    parts = [cs.Ledger.count(rows(seed=seed), by=["site"]) for seed in range(3)]
    whole = cs.Ledger.count(together([rows(seed=seed) for seed in range(3)]), by=["site"])
    for added in ((parts[0] + parts[1]) + parts[2], parts[2] + (parts[1] + parts[0])):
        assert len(added) == 60_000
        for column in whole.table:
            if whole.table[column].dtype.kind == "f":
                np.testing.assert_allclose(added.table[column], whole.table[column], rtol=1e-9, atol=1e-12)
            else:
                assert (added.table[column] == whole.table[column]).all()


def together(samples):
    return cs.Sample(
        np.concatenate([each.y_true for each in samples]),
        np.concatenate([each.y_prob[:, 1] for each in samples]),
        variables={"site": np.concatenate([names(each) for each in samples])},
    )


def names(sample):
    site = sample.predictions.variables["site"]
    return np.asarray(site.levels)[site.values.astype(int)]


def test_groups_and_lenses_are_asked_for():
    sample = rows(2000)
    ledger = cs.Ledger.count(sample, by=["site"], lenses=[cs.Canonical(), cs.TopLabel()])
    south = ledger.sample(cs.Canonical(), where={"site": "south"})
    assert len(south) == (names(sample) == "south").sum()
    assert len(ledger.sample(cs.TopLabel())) == len(ledger) == 2000
    assert ledger.sample(cs.TopLabel()).labels == ("other", "top")
    audit = cs.subgroup_audit(ledger.sample(cs.Canonical()), "site", rng=0)
    assert audit.n == 2000
    with pytest.raises(ValueError, match=r"counted through Canonical.., TopLabel.., but no lens is named"):
        ledger.sample()
    with pytest.raises(ValueError, match=r"ClassWise\(label=True\) is not among them"):
        ledger.sample(cs.ClassWise(True))
    with pytest.raises(ValueError, match="does not keep 'age' apart; its columns are"):
        ledger.sample(cs.Canonical(), where={"age": 3})
    with pytest.raises(ValueError, match="the ledger has no rows with"):
        ledger.sample(cs.Canonical(), where={"site": "east"})


def test_more_than_two_outcomes_are_counted_by_lens():
    rng = np.random.default_rng(0)
    prob = rng.dirichlet([1, 1, 1], 500)
    sample = cs.Sample(rng.integers(0, 3, 500), prob)
    assert list(cs.Ledger.count(sample).classes) == ["TopLabel()"]
    with pytest.raises(ValueError, match=r"through Canonical\(\) there are 3 outcomes, .*TopLabel\(\), ClassWise"):
        cs.Ledger.count(sample, lenses=[cs.Canonical()])


def test_a_lens_is_told_by_its_name():
    """Rows through two regions of the same name were added up, and those through a lens named twice counted twice."""
    sample = rows(300)
    with pytest.raises(ValueError, match="keeps rows by a function, which a file cannot name"):
        cs.Ledger.count(sample, lenses=[cs.Region(lambda seen: seen.event > 0.2)])
    with pytest.raises(ValueError, match=r"names TopLabel\(\) more than once"):
        cs.Ledger.count(sample, lenses=[cs.TopLabel(), cs.TopLabel()])
    with pytest.raises(ValueError, match="names no lens"):
        cs.Ledger.count(sample, lenses=[])
    with pytest.raises(ValueError, match="the sample is that of a ledger"):
        cs.Ledger.count(cs.Ledger.count(sample).sample())
    assert cs.Ledger.count(sample, by="site").by == ("site",)
    with pytest.raises(ValueError, match="names 'site' more than once"):
        cs.Ledger.count(sample, by=["site", "site"])
    upper = cs.Region.between(True, 0.5, 1)
    assert len(cs.Ledger.count(sample, lenses=[upper]).sample()) == (sample.y_prob[:, 1] >= 0.5).sum()


def test_what_cannot_be_counted_is_refused():
    weighted = cs.Sample([0, 1, 1], [0.2, 0.5, 0.6], sample_weight=[1, 2, 3.5])
    with pytest.raises(ValueError, match="the sample has weights, but a ledger counts rows"):
        cs.Ledger.count(weighted)
    with pytest.raises(ValueError, match=r"Ledger\.count takes rows as independent"):
        cs.Ledger.count(cs.Sample([0, 1, 1], [0.2, 0.5, 0.6], groups=[0, 0, 1]))
    with pytest.raises(ValueError, match="the sample has no variable 'age'; it has"):
        cs.Ledger.count(rows(50), by=["age"])
    with pytest.raises(TypeError, match="Sample"):
        cs.Ledger.count([0, 1])
    named = cs.Sample([0, 1], [0.2, 0.5], variables={"rows": [1, 2]})
    with pytest.raises(ValueError, match="the name 'rows', which a ledger uses itself"):
        cs.Ledger.count(named, by=["rows"])
    first, second = cs.Ledger.count(rows(50)), cs.Ledger.count(rows(50), by=["site"])
    with pytest.raises(ValueError, match=r"one ledger has by=\(\) and the other \('site',\)"):
        first + second


def test_many_groups_are_counted_as_few(monkeypatch):
    sample = rows()
    few = cs.Ledger.count(sample, by=["site"])
    monkeypatch.setattr(counting, "_MOST_PLACES", 0)
    monkeypatch.setattr(counting, "_WIDTH", 10**9)
    monkeypatch.setattr(counting, "_AT_A_TIME", 777)
    pd.testing.assert_frame_equal(cs.Ledger.count(sample, by=["site"]).table, few.table, rtol=1e-12)


def of_every_type(n=600):
    p = rows(n).y_prob[:, 1]
    flag, code, number = (np.arange(n) % k for k in (2, 3, 4))
    texts = np.array(["1", "2", "True"])[code]
    return pd.DataFrame({"y": p > 0.4, "p": p, "flag": flag == 1, "code": texts, "number": number})


TYPED = ("flag", "code", "number")


def by_type(frame):
    return cs.Ledger.count(cs.Sample.from_frame(frame, y_true="y", y_prob="p", variables=list(TYPED)), by=TYPED)


@pytest.mark.parametrize("way", ["count", "saved", "added", "asked"])
def test_groups_keep_their_types(way, tmp_path):
    """'1' is not 1, and True is neither."""
    frame = of_every_type()
    ledger = by_type(frame)
    if way == "saved":
        ledger.save(tmp_path / "a.parquet")
        ledger = cs.Ledger.load(tmp_path / "a.parquet")
    elif way == "added":
        ledger = by_type(frame[:100]) + by_type(frame[100:])
    elif way == "asked":
        duckdb = pytest.importorskip("duckdb")
        query = cs.ledger_sql("frame", y_true="y", y_prob="p", by=TYPED, labels=(False, True))
        ledger = cs.Ledger.from_frame(duckdb.sql(query).df(), by=TYPED, labels=(False, True))
    assert [ledger.table[name].dtype.kind for name in ("flag", "number")] == ["b", "f"]
    for where, expected in [
        ({"flag": True}, frame["flag"]),
        ({"flag": np.False_}, ~frame["flag"]),
        ({"code": "1"}, frame["code"] == "1"),
        ({"code": np.array(["1", "True"])}, frame["code"] != "2"),
        ({"number": 1}, frame["number"] == 1),
        ({"number": pd.Series([1, 3])}, frame["number"] % 2 == 1),
        ({"number": range(2), "flag": True}, frame["number"] == 1),
    ]:
        assert len(ledger.sample(where=where)) == expected.sum()
    for where, there in [
        ({"flag": "True"}, "'flag' has the values False and True"),
        ({"code": 1}, "'code' has the values '1', '2' and 'True'"),
        ({"number": "1"}, "no rows with number '1'; 'number' has the values 0, 1, 2 and 3"),
        ({"number": True}, "no rows with number True"),
        ({"number": [1, 7]}, "no rows with number 7"),
        ({"number": []}, "rows for no value of number"),
        ({"number": 0, "flag": True}, "at once; pass values that occur together"),
    ]:
        with pytest.raises(ValueError, match=there):
            ledger.sample(where=where)


def test_groups_of_different_types_do_not_add_up():
    frame = of_every_type()
    with pytest.raises(ValueError, match="the column 'code' of groups holds numbers here and texts there"):
        by_type(frame) + by_type(frame.assign(code=1))
    texts = by_type(frame) + by_type(frame.assign(flag="unknown"))
    assert set(texts.table["flag"]) == {"False", "True", "unknown"}


def test_missing_groups_are_refused():
    table = by_type(of_every_type()).table.drop(columns="lens")
    table.loc[3, "code"] = None
    with pytest.raises(ValueError, match="the column 'code' of groups has missing values"):
        cs.Ledger.from_frame(table, by=TYPED, labels=(False, True))


def test_predictions_that_errors_of_rounding_part_are_counted_together():
    """Alone they keep their value, and so their cell; together they are in that of their mean."""
    estimator = cs.ECE(cs.EqualWidth(10))
    below, above = np.nextafter(0.3, 0), 0.1 + 0.2
    for near in (below, above):
        sample = cs.Sample([0, 1] * 50, np.repeat([near, 0.25], 50))
        assert estimator(cs.Ledger.count(sample).sample()) == pytest.approx(estimator(sample))
    both = cs.Ledger.count(cs.Sample([0, 1] * 50, np.repeat([below, above], 50)))
    assert both.table["rows"].tolist() == [100]
    assert both.sample().each.event == pytest.approx([0.3])


def test_means_of_steps_are_no_distinct_predictions_of_desiderata():
    """With as many rows in each step they were taken for such, and the error was noise in thousands of cells."""
    sample = rows(n=100_000)
    found, expected = (
        cs.desiderata(each, n_resamples=99, rng=0) for each in (cs.Ledger.count(sample).sample(), sample)
    )
    errors = [each.measures[0].value for each in (found, expected)]
    assert errors[0] == pytest.approx(errors[1], rel=0.1)


def test_rows_that_are_all_certain_have_a_law():
    rows = cs.Ledger.count(cs.Sample([0, 0, 1, 0], [1.0, 0.0, 1.0, 0.0])).sample()
    found = cs.estimate(rows, cs.BrierScore(), rng=0)
    assert (found.estimate, found.null_mean) == (0.25, 0)


def test_rows_are_asked_for_by_a_mapping():
    with pytest.raises(TypeError, match="where is 'site', but a mapping is expected"):
        cs.Ledger.count(rows(200), by=["site"]).sample(where="site")
