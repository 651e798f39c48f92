"""Hints that rows come in clusters: rows that repeat, and columns that look like identifiers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import calibstat as cs
from calibstat.data.repeats import identifiers, rows_of_identifier, rows_repeat

ROWS = "rows repeat, the same one about 8 times: if these come in clusters (one patient, one question), give groups="


def clusters(n_clusters=60, sizes=None, seed=0):
    """Predictions that are the same in each cluster, their labels, and the clusters."""
    rng = np.random.default_rng(seed)
    which = np.repeat(np.arange(n_clusters), 8 if sizes is None else sizes)
    p = rng.random(n_clusters)[which]
    return p, (rng.random(len(p)) < p).astype(int), which


ORDERS = {
    "together": lambda p: np.arange(len(p)),
    "one of each in turn": lambda p: np.arange(len(p)).reshape(-1, 8).T.ravel(),
    "anywhere": lambda p: np.random.default_rng(1).permutation(len(p)),
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("n_clusters", [20, 60, 3000])
def test_clusters_of_equal_size_are_seen_in_any_order(order, n_clusters):
    p, y, _ = clusters(n_clusters)
    rows = ORDERS[order](p)
    assert cs.Sample(y[rows], p[rows]).hint == ROWS


def test_clusters_of_unequal_size_are_seen_where_their_rows_stand_together():
    sizes = np.ceil(2 * (np.random.default_rng(5).pareto(1.2, 80) + 1)).astype(int)
    p, y, _ = clusters(80, sizes)
    assert rows_repeat([p], y) > 2
    anywhere = np.random.default_rng(1).permutation(len(p))
    assert rows_repeat([p[anywhere]], y[anywhere]) == 0


def test_rows_are_equal_where_all_that_is_known_of_them_is():
    p, y, _ = clusters()
    assert cs.Sample(y, p, variables={"age": p > 0.5}).hint == ROWS
    assert cs.Sample(y, p, variables={"time": np.arange(len(p))}).hint == ""
    assert cs.Sample(y, np.stack([(1 - p) / 2, p, (1 - p) / 2], axis=1)).hint == ROWS


def test_what_is_known_is_not_hinted_at():
    p, y, which = clusters()
    assert cs.Sample(y, p, groups=which).hint == ""
    assert cs.Sample.from_counts(p[::8], events=np.full(60, 3), trials=np.full(60, 8)).hint == ""


def test_rows_that_were_counted_may_be_written_out():
    rng = np.random.default_rng(3)
    p, n = rng.random(60), rng.integers(1, 20, 60)
    y = np.concatenate([np.sort(rng.random(k) < chance) for chance, k in zip(p, n, strict=True)]).astype(int)
    assert rows_repeat([np.repeat(p, n)], y) == 0


MODELS = [
    DecisionTreeClassifier(min_samples_leaf=5),
    RandomForestClassifier(3, random_state=0),
    RandomForestClassifier(10, max_depth=3, random_state=0),
    GaussianNB(),
    BernoulliNB(),
    KNeighborsClassifier(5),
]


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("load", [load_breast_cancer, load_digits])
def test_predictions_of_few_values_are_no_clusters(load, model):
    """Also rounded ones, and in a file that is sorted by its labels."""
    fitted, held, y_fitted, y = train_test_split(*load(return_X_y=True), test_size=0.5, random_state=0)
    p = model.fit(fitted, y_fitted).predict_proba(held)
    for digits in (1, 2, 17):
        for rows in (slice(None), np.argsort(y, kind="stable"), np.argsort(p[:, 0])):
            assert rows_repeat([*p[rows].round(digits).T], y[rows]) == 0


@pytest.mark.parametrize("mean", [1.7, 3, 10])
def test_independent_rows_are_hardly_ever_taken_for_clusters(mean):
    """Equally frequent values, of which the numbers are as even as those of independent rows can be."""
    for seed in range(400):
        rng = np.random.default_rng(seed)
        p = rng.random(50)[rng.integers(0, 50, int(50 * mean))]
        assert rows_repeat([p], (rng.random(len(p)) < p).astype(int)) == 0


@pytest.mark.parametrize("n", [1, 2, 19, 20_001])
@pytest.mark.parametrize("p", [0.5, None])
def test_one_prediction_and_all_different_ones(n, p):
    column = np.full(n, p) if p else np.random.default_rng(0).random(n)
    assert rows_repeat([column], np.arange(n) % 2) == 0


def test_names_of_identifiers():
    some = ["question_id", "QuestionID", "patientId", "Subject", "video", "subjects", "customer_no", "ID", "image.uuid"]
    others = [
        "p",
        "prob_1",
        "patient_age",
        "user_score",
        "class_id",
        "row_id",
        "label_id",
        "fold_id",
        "model_id",
        "width",
        "valid",
        "paid",
        "idea",
        "rapid",
    ]
    assert identifiers([*some, *others], ()) == some
    assert identifiers(some, some[1:]) == some[:1]
    assert identifiers([3, ("a", "b")], ()) == []


@pytest.mark.parametrize(
    ("values", "size"),
    [
        (np.repeat(np.arange(50), 4), 4),
        ([f"q{k // 4}" for k in range(200)], 4),
        ([None, *np.repeat(np.arange(50.0), 4)], 4),
        (pd.Series(np.repeat(np.arange(50), 4)).astype("category"), 4),
        (np.arange(200), 0),
        (np.arange(200) % 10, 0),
        (np.repeat(np.random.default_rng(0).random(50), 4), 0),
        (np.zeros((200, 2), dtype=int), 0),
        ([], 0),
        ([None] * 200, 0),
    ],
)
def test_values_of_identifiers_repeat(values, size):
    assert rows_of_identifier(values) == pytest.approx(size, rel=0.02)


def hint(name):
    return f"the column '{name}' has about 8 rows for each value: if these belong together, give groups='{name}'"


@pytest.mark.parametrize("end", ["csv", "parquet", "jsonl"])
def test_a_column_that_was_left_out_may_be_the_clusters(tmp_path, end):
    p, y, which = clusters()
    frame = pd.DataFrame({"y": y, "p": p, "question_id": which, "id": np.arange(len(p))})
    path = tmp_path / f"rows.{end}"
    if end == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_csv(path, index=False) if end == "csv" else frame.to_parquet(path)
    read = {"y_true": "y", "y_prob": "p"}
    assert cs.Sample.read(path, **read).hint == cs.Sample.from_frame(frame, **read).hint == hint("question_id")
    assert cs.Sample.read(path, **read, groups="question_id").hint == ""
    assert cs.Sample.read(path, **read, variables="question_id").hint == ROWS
    assert cs.Sample.from_frame(frame, **read).take(np.arange(0, 480, 8)).hint == ""


def test_identifiers_of_confidences():
    p, y, which = clusters()
    frame = {"said": p, "right": y, "patient": which}
    assert cs.Sample.from_frame(frame, correct="right", confidence="said").hint == hint("patient")


VERBS = {
    "test": cs.calibration_test,
    "estimate": cs.estimate,
    "omnibus": cs.omnibus_test,
    "equivalence": lambda sample, rng: cs.equivalence_test(sample, margin=0.3, rng=rng),
    "comparison": lambda sample, rng: cs.comparison_test(
        sample, cs.Sample(sample.outcomes, sample.predictions.event**2), cs.BrierScore(), rng=rng
    ),
    "clinical": cs.clinical_summary,
    "audit": lambda sample, rng: cs.subgroup_audit(sample, by={"age": sample.predictions.event > 0.5}, rng=rng),
    "scan": lambda sample, rng: cs.scan_variables(sample, {"age": sample.predictions.event > 0.5}, rng=rng),
}


@pytest.mark.parametrize("verb", VERBS)
def test_results_say_it(verb):
    p, y, _ = clusters()
    found = VERBS[verb](cs.Sample(y, p), rng=0)
    assert ROWS in " ".join(found.to_text(verbose=True).split())
    assert ROWS in found.to_dict()["notes"]


def test_commands_name_the_option(tmp_path, capsys):
    from calibstat.cli.main import main

    p, y, which = clusters()
    pd.DataFrame({"y": y, "p": p, "question id": which}).to_csv(tmp_path / "rows.csv", index=False)
    asked = ["test", str(tmp_path / "rows.csv"), "--label", "y", "--probs", "p"]
    assert main(asked) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "if these belong together, give --groups 'question id'" in said
    assert main([*asked, "--verbose"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "if rows come in clusters" not in said
    assert main([*asked, "--groups", "question id", "--verbose"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "on these rows, or if predictions are cross-validated" in said
    assert "belong together" not in said
