"""``calibstat monitor``: exit codes, order, state, held rows."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from cli.conftest import write_csv


def columns(n, seed=0, power=1.0, start=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n).round(6)
    return {"t": np.arange(start, start + n), "y": (rng.random(n) < p**power).astype(int), "p": p}


@pytest.fixture
def watch(run):
    return lambda path, *more: run("monitor", path, "--label", "y", "--probs", "p", "--order", "t", *more)


def found(out):
    return json.loads(out)


def test_the_alarm_is_exit_code_3_and_stays(watch, tmp_path):
    off = write_csv(tmp_path / "off.csv", columns(800, power=2.0))
    state = tmp_path / "state"
    code, out, err = watch(off, "--state", state)
    assert (code, err) == (3, "")
    assert out.startswith("ALARM in 800 rows: evidence that predictions do not fit what happens (P(1): 0.")
    assert "happened so far). It reached 20 after " in " ".join(out.split())
    fair = write_csv(tmp_path / "fair.csv", columns(100, seed=1, start=800))
    assert watch(fair, "--state", state)[0] == 3


def test_no_alarm_is_exit_code_0(watch, tmp_path):
    path = write_csv(tmp_path / "fair.csv", columns(300))
    code, out, _ = watch(path)
    assert code == 0
    assert out.startswith("No alarm in 300 rows so far (P(1): 0.54 predicted, 0.507 happened): the evidence is ")
    out = " ".join(watch(path, "--verbose")[1].split())
    assert "each label seen through Canonical() is Bernoulli(prediction)" in out


def test_a_growing_file_in_steps_is_the_file_at_once(watch, tmp_path):
    whole = columns(500, seed=3)
    path, state = tmp_path / "growing.csv", tmp_path / "state"
    for n in (100, 250, 500):
        write_csv(path, {name: each[:n] for name, each in whole.items()})
        _, out, err = watch(path, "--state", state, "--format", "json")
    assert "250 rows up to 249 in t were seen before and are skipped" in err
    assert found(out) == found(watch(path, "--format", "json")[1])
    again = watch(path, "--state", state, "--format", "json")
    assert found(again[1]) == found(out)


def test_a_label_that_was_corrected_is_told_but_not_bet_on_again(watch, tmp_path):
    whole, state = columns(100), tmp_path / "state"
    path = tmp_path / "rows.csv"
    before = found(watch(write_csv(path, whole), "--state", state, "--format", "json")[1])
    whole["y"][40] = 1 - whole["y"][40]
    _, out, err = watch(write_csv(path, whole), "--state", state, "--format", "json")
    assert f"1 row that the monitor has seen changed since; first, the label of 40 was {1 - whole['y'][40]}" in err
    assert found(out) == before


def test_another_column_of_probabilities_is_refused_and_the_state_is_kept(run, watch, tmp_path):
    whole, state = columns(100), tmp_path / "state"
    path = write_csv(tmp_path / "rows.csv", whole | {"q": np.where(np.arange(100) < 51, 0.5, whole["p"])})
    assert watch(path, "--state", state)[0] == 0
    kept = state.read_bytes()
    code, out, err = run(
        "monitor", path, "--label", "y", "--probs", "q", "--order", "t", "--state", state, "--format", "json"
    )
    assert (code, out) == (2, "")
    said = " ".join(err.split())
    assert f"--probs q --state {state}: 51 of 100 rows that the monitor has seen had other predictions: check " in said
    assert said.endswith("or begin a new state with all rows")
    assert state.read_bytes() == kept
    half = write_csv(tmp_path / "half.csv", whole | {"p": np.where(np.arange(100) < 50, 0.5, whole["p"])})
    code, _, err = watch(half, "--state", state)
    assert code == 0
    assert "50 rows that the monitor has seen changed since" in " ".join(err.split())


def test_two_models_with_their_columns_exchanged_are_refused(run, tmp_path):
    whole, state = columns(60), tmp_path / "state"
    path = write_csv(tmp_path / "rows.csv", whole | {"q": 1 - whole["p"]})
    asked = ("monitor", path, "--label", "y", "--order", "t", "--state", state)
    assert run(*asked, "--model", "old=p", "--model", "new=q")[0] in (0, 3)
    code, _, err = run(*asked, "--model", "old=q", "--model", "new=p")
    assert code == 2
    assert f"--model old=q --model new=p --state {state}: 60 of 60 rows that the monitor" in " ".join(err.split())


def test_a_missing_label_holds_what_comes_after_until_it_is_there(watch, tmp_path):
    whole = columns(200)
    path, state = tmp_path / "late.csv", tmp_path / "state"
    late = whole | {"y": ["" if row == 120 else label for row, label in enumerate(whole["y"])]}
    _, out, _ = watch(write_csv(path, late), "--state", state)
    assert "80 rows held, from the first without a label on" in out
    first = found(watch(path, "--state", state, "--format", "json")[1])
    assert (first["n_rows"], first["n_held"], first["last_id"]) == (120, 80, 119)
    second = found(watch(write_csv(path, whole), "--state", state, "--format", "json")[1])
    at_once = found(watch(path, "--format", "json")[1])
    assert second == at_once


def test_missing_labels_that_never_come_count_as_the_worst(watch, tmp_path):
    whole = columns(200)
    late = whole | {"y": ["" if row % 10 == 0 else label for row, label in enumerate(whole["y"])]}
    _, out, _ = watch(write_csv(tmp_path / "late.csv", late), "--unlabelled", "worst", "--format", "json")
    assert (found(out)["n_rows"], found(out)["n_worst"], found(out)["n_held"]) == (200, 20, 0)


def test_the_order_is_checked(watch, tmp_path):
    whole = columns(50)
    shuffled = np.random.default_rng(0).permutation(50)
    mixed = {name: each[shuffled] for name, each in whole.items()}
    path = write_csv(tmp_path / "mixed.csv", mixed)
    code, _, err = watch(path)
    assert code == 2
    assert "comes after" in err
    assert "or add --sort" in err
    sorted_path = write_csv(tmp_path / "sorted.csv", whole)
    assert found(watch(path, "--sort", "--format", "json")[1]) == found(watch(sorted_path, "--format", "json")[1])
    twice = write_csv(tmp_path / "twice.csv", whole | {"t": np.arange(50) // 2})
    for more in ([], ["--sort"]):
        code, _, err = watch(twice, *more)
        assert code == 2
        assert "0 stands in rows 1 and 2 (the first row of data is 1)" in err


def test_bad_rows(watch, tmp_path):
    whole = columns(50)
    whole["p"][7] = 1.7
    path, state = write_csv(tmp_path / "bad.csv", whole), tmp_path / "state"
    code, _, err = watch(path, "--labels", "0,1", "--state", state)
    assert code == 2
    assert "t 7: column 'p' is 1.7: probabilities lie between 0 and 1. Nothing of this call was taken" in err
    assert not state.exists()
    _, out, _ = watch(path, "--bad-rows", "omit", "--format", "json")
    assert (found(out)["n_rows"], found(out)["n_skipped"]) == (49, 1)


def test_a_state_of_another_kind_is_refused_and_kept(watch, run, tmp_path):
    path, state = write_csv(tmp_path / "rows.csv", columns(60)), tmp_path / "state"
    assert watch(path, "--state", state, "--name", "old")[0] == 0
    kept = state.read_bytes()
    code, _, err = watch(path, "--state", state, "--name", "new")
    assert code == 2
    assert "another monitor: it has name 'old' (here 'new')" in err
    assert state.read_bytes() == kept
    state.write_text("junk")
    code, _, err = watch(path, "--state", state)
    assert code == 2
    assert "does not hold the state of a monitor" in err


def test_texts_sort_as_times(run, tmp_path):
    whole = columns(60)
    whole["t"] = [f"2024-01-{1 + row // 10:02d}T{row % 10:02d}:00" for row in range(60)]
    path = write_csv(tmp_path / "dated.csv", whole)
    code, out, _ = run("monitor", path, "--label", "y", "--probs", "p", "--order", "t", "--format", "json")
    assert code == 0
    assert found(out)["last_id"] == "2024-01-06T09:00"


@pytest.mark.parametrize("lens", ["canonical", "top-label", "class-wise:dog", "top-k:2"])
def test_lenses_of_three_classes(run, off, tmp_path, lens):
    rows = Path(off).read_text().splitlines()
    path = tmp_path / "numbered.csv"
    path.write_text("\n".join([f"t,{rows[0]}", *(f"{k},{row}" for k, row in enumerate(rows[1:]))]) + "\n")
    options = ["--label", "pet", "--probs", "prob_*", "--order", "t", "--lens", lens, "--format", "json"]
    code, out, _ = run("monitor", path, *options)
    assert code in (0, 3)
    assert found(out)["n_rows"] == 600
    if lens == "top-label":
        assert code == 3


def test_no_such_class(run, off):
    options = ["--label", "pet", "--probs", "prob_*", "--order", "age", "--lens", "class-wise:ox", "--sort"]
    code, _, err = run("monitor", off, *options)
    assert code == 2
    assert err.startswith("calibstat: error: ")


def test_a_row_that_comes_late_is_not_lost_in_silence(watch, tmp_path):
    whole = columns(60, seed=4)
    path, state = tmp_path / "growing.csv", tmp_path / "state"
    without = [row for row in range(50) if row != 20]
    write_csv(path, {name: each[without] for name, each in whole.items()})
    assert watch(path, "--state", state)[0] == 0
    kept = state.read_bytes()
    write_csv(path, whole)
    code, out, err = watch(path, "--state", state)
    assert (code, out, state.read_bytes()) == (2, "", kept)
    assert "--order t: 1 row is older than 49, where the state stopped, and was never bet on: 20." in err
    write_csv(path, {name: each[45:] for name, each in whole.items()})
    code, _, err = watch(path, "--state", state)
    assert code == 0
    assert "5 rows up to 49 in t were seen before" in err


def test_bad_rows_may_be_skipped_from_now_on(watch, tmp_path):
    whole, state = columns(60), tmp_path / "state"
    whole["p"][55] = 1.7
    path = tmp_path / "bad.csv"
    write_csv(path, {name: each[:50] for name, each in whole.items()})
    assert watch(path, "--state", state)[0] == 0
    write_csv(path, whole)
    code, _, err = watch(path, "--state", state)
    assert code == 2
    assert "mend the row, or add --bad-rows omit." in err
    code, out, _ = watch(path, "--state", state, "--bad-rows", "omit", "--format", "json")
    assert (code, found(out)["n_rows"], found(out)["n_skipped"]) == (0, 59, 1)


def test_unknown_labels_need_the_known_ones(watch, tmp_path):
    whole = columns(50)
    whole["y"][9] = 7
    path = write_csv(tmp_path / "strange.csv", whole)
    code, _, err = watch(path, "--bad-rows", "omit")
    assert code == 2
    assert "name those that are known, in the order of the probabilities: for example --labels" in err
    _, out, _ = watch(path, "--bad-rows", "omit", "--labels", "0,1", "--format", "json")
    assert (found(out)["n_rows"], found(out)["n_worst"]) == (50, 1)


def test_a_state_in_no_folder_is_refused_before_anything_is_done(watch, tmp_path):
    path = write_csv(tmp_path / "rows.csv", columns(20))
    code, out, err = watch(path, "--state", tmp_path / "nowhere" / "state")
    assert (code, out) == (2, "")
    assert f"lies in '{tmp_path / 'nowhere'}', which is no folder" in err


def two_columns_of_models(n, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n).round(6)
    return {"t": np.arange(n), "y": (rng.random(n) < p).astype(int), "new": p, "old": (p**2).round(6)}


def test_two_models_are_compared(run, tmp_path):
    whole, path, state = two_columns_of_models(1500), tmp_path / "two.csv", tmp_path / "state"
    asked = ("--label", "y", "--model", "old=old", "--model", "new=new", "--order", "t")
    write_csv(path, {name: each[:50] for name, each in whole.items()})
    assert run("monitor", path, *asked, "--state", state)[0] == 0
    code, out, err = run("monitor", write_csv(path, whole), *asked, "--state", state)
    assert code == 3
    assert "50 rows up to 49 in t were seen before and are skipped" in err
    assert "ALARM in 1500 rows: new is better than old (mean Brier score 0." in " ".join(out.split())
    at_once = found(run("monitor", path, *asked, "--format", "json")[1])
    low, high = at_once["interval"]
    assert 0 < low < at_once["difference"] < high
    assert found(run("monitor", path, *asked, "--state", state, "--format", "json")[1]) == at_once


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--model", "old=old"), "--model is given 1 time, but two models"),
        (("--model", "old"), "write a name and its columns"),
        (("--model", "old=old", "--model", "new=new", "--lens", "top-label"), "leave it out"),
        (("--model", "old=old", "--model", "new=new", "--probs", "old"), "not allowed with"),
        ((), "required"),
    ],
)
def test_models_that_cannot_be_compared(run, tmp_path, more, message):
    path = write_csv(tmp_path / "two.csv", two_columns_of_models(20))
    code, _, err = run("monitor", path, "--label", "y", "--order", "t", *more)
    assert code == 2
    assert message in err


def test_an_order_that_is_a_pattern_is_refused(run, tmp_path):
    path = write_csv(tmp_path / "rows.csv", columns(50))
    code, _, err = run("monitor", path, "--label", "y", "--probs", "p", "--order", "?")
    assert code == 2
    assert err.endswith("--order ? is a pattern, but the name of one column is expected\n")
