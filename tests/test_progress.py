"""Progress is told as a fraction of the whole, by loops inside loops, and to nobody else."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import calibstat as cs
from calibstat._progress import listening, part, track, track_rows
from calibstat.calibrators import Beta, Platt
from calibstat.comparisons.compare import compare_calibrators
from calibstat.data import _line_counts as line_counts
from calibstat.data import files
from calibstat.generators import BetaPredictions, LogitShift, Slope
from calibstat.planning.planning import minimum_detectable, required_n
from calibstat.sweeps.sweep import Sweep


def heard(work):
    told = []
    with listening(told.append):
        work()
    return told


def nested():
    for _ in track("ab", 2):
        for _ in track("cd", 2):
            for _ in track("e", 1):
                pass


def test_loops_inside_loops_fill_their_share():
    assert heard(nested) == [0, 0, 0, 0.25, 0.25, 0.5, 0.5, 0.5, 0.75, 0.75]


def test_parts_of_unequal_length():
    def work():
        with part(0.0, 0.8):
            nested()
        with part(0.8, 1.0):
            nested()

    told = heard(work)
    assert told == sorted(told)
    assert told[-1] == pytest.approx(0.8 + 0.2 * 0.75)


def test_what_is_left_early_leaves_nothing_behind():
    def leave():
        for _ in track("abcd", 4):
            break
        with pytest.raises(ZeroDivisionError), part(0.5, 1.0):
            raise ZeroDivisionError
        list(track("xy", 2))

    assert heard(leave) == [0, 0.5, 0, 0.5]
    assert heard(lambda: None) == []


def test_rows_so_far_are_told_where_nobody_knows_how_many_come():
    told, rows = [], []
    with listening(told.append, rows.append):
        assert list(track_rows(iter(["abc", "de"]))) == ["abc", "de"]
    assert (told, rows) == ([], [3, 5])


@pytest.mark.parametrize("kind", ["text", "iterator", "list"])
def test_collecting_a_ledger_tells_how_far_it_is(kind, tmp_path):
    rng = np.random.default_rng(0)
    parts = [{"y": rng.integers(0, 2, 50), "p": rng.random(50)} for _ in range(4)]
    for place, each in enumerate(parts):
        np.savetxt(tmp_path / f"{place}.csv", np.column_stack([*each.values()]), "%.4g", ",", header="y,p", comments="")
    source = {"text": tmp_path, "iterator": iter(parts), "list": parts}[kind]
    told, rows = [], []
    with listening(told.append, rows.append):
        cs.Ledger.collect(source, y_true="y", y_prob="p")
    if kind == "iterator":
        assert (told, rows) == ([], [50, 100, 150, 200])
    else:
        assert {0, 0.25, 0.5, 0.75} <= set(told)
        assert (told, rows) == (sorted(told), [])


def test_nobody_listens_outside():
    told = heard(nested)
    before = len(told)
    nested()
    assert len(told) == before


def test_other_threads_are_not_heard():
    def work():
        other = threading.Thread(target=nested)
        other.start()
        other.join()

    assert heard(work) == []


WORLD = BetaPredictions(1, 1, LogitShift(0.5))


def compared():
    sample = WORLD.sample(2000, rng=0)
    calibrators = {"platt": Platt(), "beta": Beta()}
    compare_calibrators(calibrators, sample.y_true, sample.y_prob, n_splits=2, n_resamples=99, rng=0)


@pytest.mark.parametrize(
    "work",
    [
        compared,
        lambda: required_n(BetaPredictions(1, 1, Slope(0.5)), cs.Spiegelhalter(), n_repeats=200, rng=0),
        lambda: minimum_detectable(
            lambda a: BetaPredictions(1, 1, LogitShift(a)), 200, cs.Kuiper(), bounds=(0.01, 2), n_repeats=200, rng=0
        ),
        lambda: Sweep(WORLD, n=[50], estimators={"ECE": cs.ECE()}, n_repeats=40, rng=0).run(progress=False, block=4),
    ],
    ids=["calibrators", "required n", "minimum detectable", "sweep"],
)
def test_long_work_tells_how_far_it_is_and_never_runs_back(work):
    told = np.array(heard(work))
    assert len(told) >= 10
    assert (np.diff(told) >= -1e-12).all()
    assert 0 <= told[0] < 0.2
    assert 0.8 < told[-1] <= 1 + 1e-12


def three_classes(n):
    rng = np.random.default_rng(0)
    return cs.Sample(rng.integers(0, 3, n), rng.dirichlet([1, 1, 1], n))


@pytest.mark.parametrize(
    "work",
    [
        lambda: cs.SKCE()(three_classes(5000)),
        lambda: cs.KDECE(0.1)(three_classes(3000)),
        lambda: cs.Jackknifed(cs.Kuiper())(WORLD.sample(4000, rng=0)),
        lambda: cs.calibration_test(three_classes(600), cs.SKCE(), rng=0),
        lambda: cs.Jackknifed(cs.ECE(cs.EqualMass(5)))(WORLD.sample(1500, rng=0)),
        lambda: cs.Monitor(labels=range(3)).update(three_classes(3000).y_prob, three_classes(3000).outcomes),
    ],
    ids=[
        "pairs of rows",
        "densities of rows",
        "leaving out rows",
        "pairs of redrawn rows",
        "leaving out rows of cells",
        "monitor",
    ],
)
def test_one_long_evaluation_is_heard(work):
    told = heard(work)
    assert len(told) >= 4
    assert told[0] == 0
    assert 0.3 < max(told) <= 1


def test_reading_a_file_tells_which_part_of_it_is_read(tmp_path, monkeypatch):
    import pandas  # noqa: F401 (a small file is read whole without it)

    monkeypatch.setattr(line_counts, "BLOCK", 1000)
    monkeypatch.setattr(files, "BLOCK", 1000)
    file = tmp_path / "rows.csv"
    file.write_text("y,p\n" + "1,0.5\n0,0.25\n" * 1000)
    told = heard(lambda: cs.Sample.read(file, y_true="y", y_prob="p"))
    assert len(told) > 10
    assert told == sorted(told)
    assert (told[0] < 0.2, told[-1]) == (True, 1.0)


def test_a_sweep_is_heard_from_its_threads():
    told = heard(
        lambda: Sweep(WORLD, n=[50], estimators={"ECE": cs.ECE()}, n_repeats=8, rng=0).run(None, None, False, block=2)
    )
    assert told == [0.25, 0.5, 0.75, 1.0]
