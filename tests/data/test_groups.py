"""Rows that belong together: where a sample has its groups from, what is refused, and what is left of some rows."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

import calibstat as cs
from calibstat.data.groups import Groups

Y = np.array([0, 1, 1, 0, 1, 0, 1, 1])
P = np.array([0.2, 0.7, 0.9, 0.4, 0.6, 0.3, 0.8, 0.5])
PATIENT = np.array([7, 7, 3, 3, 3, 9, 9, 4])
CODES = [2, 2, 0, 0, 0, 3, 3, 1]
FRAME = pd.DataFrame({"happened": Y, "risk": P, "patient": PATIENT, "age": np.arange(8.0)})


def partition(groups):
    """Which rows share a group with each row, whatever the groups are called."""
    return (groups.codes[:, None] == groups.codes).tolist()


TOGETHER = (PATIENT[:, None] == PATIENT).tolist()


@pytest.mark.parametrize(
    ("groups", "name"),
    [
        (PATIENT, "groups"),
        (PATIENT.tolist(), "groups"),
        (PATIENT.astype(float), "groups"),
        (PATIENT.astype(str), "groups"),
        ([f"patient {each}" for each in PATIENT], "groups"),
        (pd.Series(PATIENT, name="patient"), "patient"),
        (pd.Series(PATIENT.astype(str), dtype="category", name="patient"), "patient"),
        (pd.Series(PATIENT), "groups"),
        (pd.Series(PATIENT, name=3), "groups"),
        (pd.Series(PATIENT, index=np.arange(8)[::-1], name="patient"), "patient"),
    ],
    ids=["array", "list", "floats", "strings", "texts", "series", "categories", "no name", "number", "index"],
)
def test_groups_of_any_kind_are_the_same_partition(groups, name):
    found = cs.Sample(Y, P, groups=groups).groups
    assert partition(found) == TOGETHER
    assert (found.number, len(found), found.name) == (4, 8, name)
    assert sorted(set(found.codes)) == [0, 1, 2, 3]
    assert "groups" not in cs.Sample(Y, P, groups=groups).predictions.variables


def test_a_sample_without_groups_has_none():
    assert cs.Sample(Y, P).groups is None
    assert "cluster" not in repr(cs.Sample(Y, P))


@pytest.mark.parametrize("groups", [np.arange(8), list("abcdefgh"), pd.Series(np.arange(8) * 2.5, name="row")])
def test_rows_that_are_each_by_themselves_are_independent(groups):
    sample = cs.Sample(Y, P, groups=groups)
    assert sample.groups is None
    assert repr(sample) == repr(cs.Sample(Y, P))


def test_numbers_and_names_of_a_few_rows():
    sample = cs.Sample(Y, P, groups=PATIENT)
    assert sample.groups.codes.tolist() == CODES
    assert sample.groups.sums(None).tolist() == [3, 1, 2, 2]
    assert sample.groups.sums(P).tolist() == pytest.approx([1.9, 0.5, 0.9, 1.1])
    assert sample.groups.spread(np.array([[10, 11, 12, 13]])).tolist() == [[12, 12, 10, 10, 10, 13, 13, 11]]
    found = sample.groups.counted(None)
    assert found.number == 4
    assert found.effective == pytest.approx(8**2 / (9 + 1 + 4 + 4))
    assert str(found) == "4 clusters (groups)"  # nearly of equal size
    unequal = Groups.of(np.array([0, 0, 0, 0, 0, 1, 2, 3])).counted(None)
    assert str(unequal) == "4 clusters (groups), as good as 2.29 of equal size"
    assert found.effective > Groups.of(PATIENT).counted(np.array([9.0, 9, 1, 1, 1, 1, 1, 1])).effective
    assert str(Groups.of(np.arange(8) // 2, "pair").counted(None)) == "4 clusters (pair)"
    assert found.to_dict() == {"n_clusters": 4, "effective_clusters": found.effective, "groups": "groups"}


def test_a_sample_says_in_how_many_clusters_its_rows_are():
    assert repr(cs.Sample(Y, P, groups=PATIENT)) == "Sample(n=8, classes=(0, 1), in 4 clusters (groups))"
    everything = cs.Sample(
        Y, P, variables={"age": np.arange(8)}, sample_weight=P, groups=pd.Series(["a"] * 8, name="ward")
    )
    assert repr(everything) == "Sample(n=8, classes=(0, 1), variables=('age',), weighted, in 1 cluster (ward))"


def test_the_name_of_a_column_cannot_forge_a_line():
    assert "\n" not in repr(cs.Sample(Y, P, groups=pd.Series(PATIENT, name="a\nb\x1b[2J")))
    assert "\x1b" not in repr(cs.Sample(Y, P, groups=pd.Series(PATIENT, name="a\nb\x1b[2J")))


def test_what_was_passed_is_left_as_it_was_and_cannot_change_the_sample():
    given = PATIENT.copy()
    sample = cs.Sample(Y, P, groups=given)
    np.testing.assert_array_equal(given, PATIENT)
    assert given.flags.writeable
    given[:] = 0
    assert sample.groups.codes.tolist() == CODES
    with pytest.raises(ValueError, match="read-only"):
        sample.groups.codes[0] = 5


def test_codes_that_were_passed_are_not_locked():
    codes = np.array([0, 0, 1, 1, 2, 2, 3, 3])
    sample = cs.Sample(Y, P, groups=codes)
    codes[:] = 9
    assert sample.groups.codes.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_groups_survive_pickling():
    sample = pickle.loads(pickle.dumps(cs.Sample(Y, P, groups=pd.Series(PATIENT, name="patient"))))
    assert (sample.groups.codes.tolist(), sample.groups.name) == (CODES, "patient")


# Doors


def test_groups_of_a_frame_are_a_column():
    sample = cs.Sample.from_frame(FRAME, y_true="happened", y_prob="risk", variables="age", groups="patient")
    assert (partition(sample.groups), sample.groups.name) == (TOGETHER, "patient")
    assert list(sample.predictions.variables) == ["age"]
    both = cs.Sample.from_frame(FRAME, y_true="happened", y_prob="risk", variables=["patient"], groups="patient")
    assert (partition(both.groups), list(both.predictions.variables)) == (TOGETHER, ["patient"])


def test_a_column_that_is_not_there():
    with pytest.raises(ValueError, match="patent") as caught:
        cs.Sample.from_frame(FRAME, y_true="happened", y_prob="risk", groups="patent")
    assert "patient" in str(caught.value)


@pytest.mark.parametrize("as_text", [False, True], ids=["numbers", "texts"])
def test_groups_of_a_file_are_a_column(tmp_path, as_text):
    path = tmp_path / "rows.csv"
    FRAME.assign(patient=[f"p{each}" for each in PATIENT] if as_text else PATIENT).to_csv(path, index=False)
    sample = cs.Sample.read(path, y_true="happened", y_prob="risk", groups="patient")
    assert (partition(sample.groups), sample.groups.name) == (TOGETHER, "patient")
    assert sample.origin["groups"] == "patient"
    again = cs.Sample.read(**sample.origin)
    assert again.groups.codes.tolist() == sample.groups.codes.tolist()


def test_groups_of_counts_are_those_of_the_rows_written_out():
    events, trials, ward = np.array([1, 2, 0, 3]), np.array([2, 3, 4, 3]), list("xyxz")
    sample = cs.Sample.from_counts([0.2, 0.5, 0.1, 0.9], events=events, trials=trials, groups=ward)
    rows = np.repeat(ward, trials)
    assert partition(sample.predictions.groups) == (rows[:, None] == rows).tolist()
    assert repr(sample).startswith("Sample(n=12, classes=(False, True), in 3 clusters (groups)")
    frame = pd.DataFrame({"risk": [0.2, 0.5, 0.1, 0.9], "k": events, "n": trials, "ward": ward})
    read = cs.Sample.from_frame(frame, y_prob="risk", events="k", trials="n", groups="ward")
    assert partition(read.predictions.groups) == (rows[:, None] == rows).tolist()
    assert read.predictions.groups.name == "ward"


@pytest.mark.parametrize(
    "ask",
    [
        lambda sample: cs.calibration_test(sample, n_resamples=99, rng=0),
        lambda sample: cs.calibration_test(sample, cs.ECE(cs.EqualMass(3)), rng=0),
        pytest.param(lambda sample: cs.estimate(sample, cs.ECE(cs.EqualMass(3)), rng=0)),
        pytest.param(lambda sample: cs.estimate(sample, cs.BrierScore(), rng=0)),
        pytest.param(lambda sample: cs.equivalence_test(sample, cs.ECE(cs.EqualMass(3)), 0.2, rng=0)),
    ],
    ids=["recommended test", "test", "error", "score", "equivalence"],
)
def test_counts_in_clusters_are_answered_as_the_rows_written_out(ask):
    rng = np.random.default_rng(0)
    p, trials = rng.random(40), rng.integers(1, 5, 40)
    events, row = rng.binomial(trials, p), np.repeat(np.arange(40), trials)
    together = cs.Sample.from_counts(p, events=events, trials=trials, groups=np.arange(40) // 2)
    happened = np.concatenate([np.arange(n) >= n - k for n, k in zip(trials, events, strict=True)])
    single = cs.Sample(happened, p[row], groups=row // 2)
    assert ask(together).to_dict() == ask(single).to_dict()


def test_a_prediction_that_never_occurred_has_no_cluster():
    sample = cs.Sample.from_counts([0.2, 0.5, 0.9], events=[1, 0, 2], trials=[2, 0, 3], groups=["b", "a", "c"])
    assert sample.predictions.groups.codes.tolist() == [0, 0, 1, 1, 1]


def test_rows_of_one_prediction_depend_on_each_other_where_they_are_of_one_group():
    """Each prediction is a group of its own, but stands for several rows."""
    sample = cs.Sample.from_counts([0.2, 0.5, 0.9], events=[1, 0, 2], trials=[2, 2, 3], groups=[1, 2, 3])
    assert sample.predictions.groups.number == 3


def test_groups_of_confidences():
    sample = cs.Sample.from_confidence(Y, 0.5 + P / 2, groups=pd.Series(PATIENT, name="question"))
    assert (partition(sample.groups), sample.groups.name) == (TOGETHER, "question")
    assert "in 4 clusters (question), seen through" in repr(sample)


def test_groups_beside_a_fitted_classifier():
    from sklearn.linear_model import LogisticRegression

    X = P[:, None]
    sample = cs.Sample.from_estimator(LogisticRegression().fit(X, Y), X, Y, groups=PATIENT)
    assert partition(sample.groups) == TOGETHER


# What is refused


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (PATIENT[:-1], "groups has 7 rows, but y_true and y_prob have 8: pass one value each"),
        (PATIENT[:, None], r"groups has shape \(8, 1\), but one value for each row is expected, shape \(n,\)"),
        (PATIENT.astype("datetime64[D]"), "groups holds datetime64.* values: convert dates and times to numbers first"),
        (
            [None, *PATIENT[1:]],
            r"values are missing \(groups: 1\), first in row 0 of groups .* or pass nan_policy=\"omit\"",
        ),
        (np.where(PATIENT == 9, np.nan, PATIENT), r"values are missing \(groups: 2\), first in row 5 of groups"),
    ],
    ids=["too short", "a table", "dates", "None", "NaN"],
)
def test_groups_that_are_none_are_refused(groups, message):
    with pytest.raises(ValueError, match=message):
        cs.Sample(Y, P, groups=groups)


def test_the_name_of_a_column_alone_is_refused():
    with pytest.raises(TypeError, match="groups is of type str, but one value for each row is expected"):
        cs.Sample(Y, P, groups="patient")


@pytest.mark.parametrize(
    "door",
    [
        lambda groups: cs.Sample.from_counts(P, events=Y, trials=Y + 1, groups=groups),
        lambda groups: cs.Sample.from_confidence(Y, 0.5 + P / 2, groups=groups),
    ],
    ids=["counts", "confidences"],
)
def test_other_doors_refuse_groups_of_another_length(door):
    with pytest.raises(ValueError, match=r"groups has 7 rows, but .* have 8"):
        door(PATIENT[:-1])


@pytest.mark.parametrize("n_groups", [1, 2, 3])
def test_fewer_than_four_clusters_are_refused_by_what_draws_noise(n_groups):
    rng = np.random.default_rng(0)
    p = rng.random(60)
    sample = cs.Sample(rng.random(60) < p, p, groups=np.arange(60) % n_groups, labels=[False, True])
    for ask in (cs.calibration_test, cs.estimate, cs.omnibus_test):
        with pytest.raises(ValueError, match=f"{n_groups} of 'groups', but at least 4 clusters are needed"):
            ask(sample, rng=0)


# What is left


def test_rows_without_a_group_are_omitted_where_that_is_asked_for():
    groups = [None, *PATIENT[1:5], None, *PATIENT[6:]]
    sample = cs.Sample(Y, P, groups=groups, nan_policy="omit")
    assert len(sample) == len(sample.groups) == 6
    assert partition(sample.groups) == (PATIENT[[1, 2, 3, 4, 6, 7], None] == PATIENT[[1, 2, 3, 4, 6, 7]]).tolist()
    assert "2 of 8 rows omitted (missing in groups: 2)" in sample.predictions.source


def test_omitted_rows_may_leave_each_row_by_itself():
    prob = P.copy()
    prob[[0, 2, 3, 5]] = np.nan  # of each patient one row is left
    assert cs.Sample(Y, prob, groups=PATIENT, nan_policy="omit").groups is None
    prob[4] = P[4]
    prob[3] = P[3]
    assert cs.Sample(Y, prob, groups=PATIENT, nan_policy="omit").groups.number == 4


@pytest.mark.parametrize("rows", [np.array([7, 2, 4, 0]), np.array([0, 0, 5]), PATIENT != 3], ids=str)
def test_rows_that_are_taken_keep_their_groups(rows):
    sample = cs.Sample(Y, P, groups=pd.Series(PATIENT, name="patient")).take(rows)
    kept = PATIENT[rows]
    assert partition(sample.groups) == (kept[:, None] == kept).tolist()
    assert sample.groups.name == "patient"
    assert sample.groups.number == len(set(kept))
    assert len(sample.groups) == len(sample)


def test_rows_of_different_groups_are_independent():
    assert cs.Sample(Y, P, groups=PATIENT).take(np.array([0, 2, 5, 7])).groups is None


def test_a_region_keeps_the_groups_of_its_rows():
    sample = cs.Sample(Y, P, variables={"age": np.arange(8.0)}, groups=PATIENT)
    seen = cs.Region.between("age", 1, 6)(sample)
    kept = np.isin(np.arange(8), seen.predictions.variables["age"].values)
    assert 2 < kept.sum() < 8
    assert partition(seen.groups) == (PATIENT[kept, None] == PATIENT[kept]).tolist()
    assert seen.groups.number == len(set(PATIENT[kept])) == seen.groups.codes.max() + 1


@pytest.mark.parametrize("lens", [cs.TopLabel(), cs.ClassWise("b"), cs.Partition([["a", "b"], ["c"]])], ids=repr)
def test_lenses_keep_groups(lens):
    rng = np.random.default_rng(0)
    prob, y = rng.dirichlet(np.ones(3), 8), np.array(list("abcabcab"))
    seen = lens(cs.Sample(y, prob, groups=pd.Series(PATIENT, name="patient"), labels=list("abc")))
    assert (partition(seen.groups), seen.groups.name) == (TOGETHER, "patient")
