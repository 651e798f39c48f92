"""The monitor of two models: the difference of their scores, its interval, late labels, files, words."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import expit, logit

import calibstat as cs
from calibstat.monitoring.difference import _SIGNED, DifferenceMonitor
from suites import everything


def two_models(n, seed=0, worse=0.6):
    rng = np.random.default_rng(seed)
    truth = rng.random(n)
    old, new = expit(logit(truth) + rng.normal(0, worse, n)), expit(logit(truth) + rng.normal(0, 0.3, n))
    return {"old": old, "new": new}, (rng.random(n) < truth).astype(int)


def part(rows, start, end):
    return {name: each[start:end] for name, each in rows.items()}


def fed(rows, y, **settings):
    monitor = DifferenceMonitor(("old", "new"), **settings)
    monitor.update(rows, y)
    return monitor


def plain_exponents(losses, outcomes):
    """Compute the logarithms of the capital of each stake, row by row."""
    found, past = np.zeros(len(_SIGNED)), []
    for loss, outcome in zip(losses, outcomes, strict=True):
        mean = np.mean(past) if past else 0.0
        for place, stake in enumerate(_SIGNED):
            worst = max(mean - min(loss), 0.0) if stake > 0 else max(max(loss) - mean, 0.0)
            product = abs(stake) * worst
            psi = (
                stake**2 / 2
                if worst == 0
                else (-math.log1p(-product) - product) / worst**2
                if product < 1
                else math.inf
            )
            found[place] += stake * loss[outcome] - psi * (loss[outcome] - mean) ** 2
        past.append(loss[outcome])
    return found


def test_capital_is_that_of_the_plain_loop():
    rows, y = two_models(300)
    losses = np.stack([rows["old"] ** 2 - rows["new"] ** 2, (1 - rows["old"]) ** 2 - (1 - rows["new"]) ** 2], axis=1)
    expected = plain_exponents(losses, y)
    monitor = fed(rows, y)
    assert monitor.log_e == pytest.approx(np.logaddexp.reduce(expected) - math.log(34), abs=1e-6)
    low, high = monitor.interval
    for mean in (low, high):
        against = np.logaddexp.reduce(expected - _SIGNED * mean * 300) - math.log(34)
        assert against == pytest.approx(math.log(20), abs=1e-5)
    assert low < monitor.difference < high


def test_the_difference_is_that_of_the_scores():
    rows, y = two_models(500)
    monitor = fed(rows, y)
    for name, score in monitor.scores.items():
        assert score == pytest.approx(cs.BrierScore()(cs.Sample(y, rows[name])))
    assert monitor.difference == pytest.approx(monitor.scores["old"] - monitor.scores["new"])


def test_the_better_model_is_named_in_either_order():
    rows, y = two_models(4000)
    monitor = fed(rows, y)
    assert monitor.alarm
    assert monitor.interval[0] > 0
    assert (
        f"ALARM in 4000 rows: new is better than old (mean Brier score {monitor.scores['old']:.4g}" in monitor.verdict
    )
    other = DifferenceMonitor(("new", "old"))
    other.update(rows, y)
    assert "new is better than old" in other.verdict
    assert other.interval == pytest.approx([-each for each in monitor.interval[::-1]], abs=1e-9)


def test_no_evidence_is_no_equality():
    rows, y = two_models(300, worse=0.3)
    text = everything(fed(rows, y))
    assert "No alarm in 300 rows so far (mean Brier score " in text
    assert "equal" not in text
    assert DifferenceMonitor(("old", "new")).interval == (-1, 1)
    assert DifferenceMonitor(("old", "new")).verdict.startswith("No alarm in 0 rows")


def test_a_change_of_the_difference_is_found():
    rows, y = two_models(4000, worse=1.0)
    rows["old"][:2000] = rows["new"][:2000]
    monitor = fed(rows, y)
    assert monitor.alarm_row > 2000
    assert monitor.change.low <= 2001 <= monitor.change.high <= monitor.alarm_row
    assert monitor.plot().runs[0].change == (monitor.change.low, monitor.change.high)
    assert "between old and new" in monitor.plot().caption


@pytest.mark.parametrize("score", [cs.BrierScore(), cs.LogScore(smallest=0.001)])
def test_evidence_does_not_depend_on_how_rows_arrive(score, tmp_path):
    rows, y = two_models(400)
    whole, parts = fed(rows, y, score=score), DifferenceMonitor(("old", "new"), score)
    for row in range(150):
        parts.update({name: each[row] for name, each in rows.items()}, y[row])
    parts.update(part(rows, 150, 300), id=list(range(150, 300)))
    parts.save(tmp_path / "state")
    parts = DifferenceMonitor.load(tmp_path / "state")
    parts.update(y_true=y[150:300][::-1], id=list(range(150, 300))[::-1])
    parts.update(part(rows, 300, 400), y[300:])
    found, expected = parts.to_dict(), whole.to_dict()
    assert found.pop("last_id") != 0
    expected.pop("last_id")
    assert found == expected


def test_a_label_that_never_comes_counts_as_the_worst_for_every_stake():
    rows, y = two_models(1000)
    known = [fed(rows, np.append(y[:-1], label)) for label in (0, 1)]
    late = DifferenceMonitor(("old", "new"))
    late.update(rows, [*y[:-1], None], id=list(range(1000)))
    late.write_off(999)
    assert late.log_e <= min(each.log_e for each in known)
    assert late.interval[0] <= min(each.interval[0] for each in known)
    assert late.interval[1] >= max(each.interval[1] for each in known)
    assert late.scores["old"] == fed(part(rows, 0, 999), y[:-1]).scores["old"]


def test_three_classes():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], 1500)
    y = (p.cumsum(axis=1) < rng.random((1500, 1))).sum(axis=1)
    monitor = DifferenceMonitor(("sharp", "fair"), labels=(0, 1, 2))
    monitor.update({"sharp": p**3 / (p**3).sum(axis=1, keepdims=True), "fair": p}, y)
    assert "fair is better than sharp" in monitor.verdict


def test_models_that_agree_are_no_evidence():
    rows, y = two_models(100)
    monitor = fed({"old": rows["old"], "new": rows["old"]}, y)
    assert (monitor.log_e, monitor.difference) == (0.0, 0.0)
    assert monitor.interval[0] < 0 < monitor.interval[1]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: DifferenceMonitor(("old",)), ValueError, "names of two models"),
        (lambda: DifferenceMonitor(("old", "old")), ValueError, "names of two models"),
        (lambda: DifferenceMonitor(("a", "b"), cs.LogScore(smallest=0)), ValueError, "has no bound"),
        (lambda: DifferenceMonitor(("a", "b"), cs.ECE()), TypeError, "a score"),
        (
            lambda: DifferenceMonitor(("a", "b")).update([0.1], [0]),
            ValueError,
            "a dictionary of the predictions of both",
        ),
        (lambda: DifferenceMonitor(("a", "b")).update({"a": [0.1]}, [0]), ValueError, "predictions of 'a'; it must be"),
        (lambda: DifferenceMonitor(("a", "b")).update({"a": [0.1], "b": [0.1, 0.2]}, [0]), ValueError, "1 and 2 rows"),
        (
            lambda: DifferenceMonitor(("a", "b")).update({"a": [0.1], "b": [1.2]}, [0]),
            ValueError,
            "row 0.*b: y_prob is 1.2",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_the_state_of_a_monitor_of_one_model_is_refused(tmp_path):
    cs.Monitor().save(tmp_path / "one")
    fed(*two_models(10)).save(tmp_path / "two")
    with pytest.raises(ValueError, match="another kind of monitor than DifferenceMonitor"):
        DifferenceMonitor.load(tmp_path / "one")
    with pytest.raises(ValueError, match="another kind of monitor than Monitor"):
        cs.Monitor.load(tmp_path / "two")
    with pytest.raises(ValueError, match="another monitor: it has names"):
        DifferenceMonitor(("old", "other")).restore(tmp_path / "two")
