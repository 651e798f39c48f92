"""``calibstat clinical``: a file in, a summary out."""

from __future__ import annotations

import json

import pytest

from published.test_rms_val_prob import sixty_rows

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

How this was computed: --verbose
""",
    120: f"""\
No evidence of an error on average or in slope, or by the calibration belt: 50 % predicted, 40 %
happened (24 events in 60 rows), O/E 0.8 (95 %: 0.624 to 1.03), slope 1.17 (0.544 to 1.79).

{TABLE}
note        few rows of similar predictions have an event, or few have none: intervals of errors are
            wide, for the noise that such rows may hide

How this was computed: --verbose
""",
}


@pytest.fixture
def sixty(tmp_path):
    path = tmp_path / "sixty.csv"
    y, p = sixty_rows()
    path.write_text("died,risk\n" + "".join(f"{a},{b!r}\n" for a, b in zip(y.tolist(), p.tolist(), strict=True)))
    return path


@pytest.mark.parametrize("columns", SCREENS)
def test_the_screen(run, sixty, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    code, out, err = run("clinical", sixty, "--label", "died", "--probs", "risk", "--n-resamples", "99")
    assert (code, out, err) == (0, SCREENS[columns], "")


def test_groups_are_in_the_answer_and_have_a_table_below(run, tmp_path):
    path = tmp_path / "sixty.csv"
    rows = zip(*(each.tolist() for each in sixty_rows()), "fm" * 30, strict=True)
    path.write_text("died,risk,sex\n" + "".join(f"{y},{p!r},{sex}\n" for y, p, sex in rows))
    asked = ("clinical", path, "--label", "died", "--probs", "risk", "--n-resamples", "39", "--by", "sex")
    out = run(*asked)[1]
    answer, table, groups, notes, footer = out.split("\n\n")
    assert "In 2 groups, not adjusted for their number, O/E goes from 0.721 (sex m)" in " ".join(answer.split())
    assert table.startswith("of P(1) ")
    assert "\nsex f    30      13  0.88  0.64 to 1.21" in groups
    assert [line.split()[1] for line in notes.splitlines() if line.startswith("note")] == ["each", "few"]
    assert footer == "1 more note and how this was computed: --verbose\n"
    everything = run(*asked, "--verbose")[1]
    assert "\ndata " in everything.split("\n\n")[-1]
    assert "--verbose" not in everything
    assert [each["n"] for each in json.loads(run(*asked, "--format", "json")[1])["groups"]] == [30, 30]


def test_json(run, sixty):
    options = ("--label", "died", "--probs", "risk", "--n-resamples", "39", "--format", "json")
    found = json.loads(run("clinical", sixty, *options)[1])
    assert found["n_events"] == 24
    assert found["measures"]["slope"]["value"] == pytest.approx(1.1677749, abs=1e-6)
    assert set(found["measures"]["oe"]) == {"value", "low", "high", "expected"}


def test_more_classes_need_a_lens(run, off):
    code, _, err = run("clinical", off, "--label", "pet", "--probs", "prob_*", "--lens", "canonical")
    assert code == 2
    assert "a clinical summary is for two: take top-label or class-wise:LABEL" in err
    code, out, _ = run(
        "clinical",
        off,
        "--label",
        "pet",
        "--probs",
        "prob_*",
        "--lens",
        "class-wise:dog",
        "--n-resamples",
        "39",
        "--verbose",
    )
    assert code == 0
    assert "seen through ClassWise(" in " ".join(out.split())
