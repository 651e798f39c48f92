"""Monitors: order, late labels, bad rows, files, memory."""

from __future__ import annotations

import copy
import io
import json
import math
import zipfile

import numpy as np
import pytest

import calibstat as cs
from calibstat.monitoring.intake import FedRows
from calibstat.monitoring.kernel_bets import KernelBets
from calibstat.monitoring.likelihood_ratio import LikelihoodRatioBets
from calibstat.monitoring.monitor import Monitor
from calibstat.monitoring.path import EvidencePath
from calibstat.monitoring.state import read_state, write_state
from suites import everything


def world(n, seed=0, power=1.0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return p, (rng.random(n) < p**power).astype(int)


def fed(*parts, **settings):
    monitor = Monitor(**settings)
    for p, y in parts:
        monitor.update(p, y)
    return monitor


def assert_same(first, second):
    assert first.to_dict() == second.to_dict()
    assert first.to_dataset().identical(second.to_dataset())


def test_rows_one_by_one_or_in_batches_are_the_same():
    p, y = world(150)
    single = Monitor()
    for chance, happened in zip(p.tolist(), y.tolist(), strict=True):
        single.update(chance, happened)
    assert_same(single, fed((p, y)))
    assert_same(single, fed((p[:7], y[:7]), (p[7:], y[7:])))


SINGLE = {
    "numbers": lambda p, y, row: (p[row].item(), y[row].item(), row),
    "numbers of numpy": lambda p, y, row: (p[row], y[row], np.int64(row)),
    "arrays of one": lambda p, y, row: (p[row : row + 1], y[row : row + 1] == 1, [row]),
    "lists of one": lambda p, y, row: ([p[row]], [int(y[row])], (row,)),
}


@pytest.mark.parametrize("given", SINGLE.values(), ids=list(SINGLE))
def test_a_single_row_leaves_the_state_of_a_batch(given, tmp_path):
    p, y = world(2300)
    p[[3, 40, 400]], y[[3, 40, 400]] = (0.0, 1.0, 1e-300), (0, 1, 0)
    single, batch = Monitor(), Monitor()
    for row in range(len(p)):
        chance, happened, name = given(p, y, row)
        single.update(chance, happened, id=name)
    batch.update(p, y, id=range(len(p)))
    single.save(tmp_path / "single")
    batch.save(tmp_path / "batch")
    (settings, arrays), (expected, same) = read_state(tmp_path / "single"), read_state(tmp_path / "batch")
    assert settings == expected
    assert {name: each.tobytes() for name, each in arrays.items()} == {n: each.tobytes() for n, each in same.items()}


def test_a_single_row_that_is_impossible_under_its_prediction_is_infinite_evidence():
    monitor = Monitor()
    assert monitor.update(0.0, 1)
    assert monitor.log_e == fed(([0.0], [1])).log_e == np.inf


@pytest.mark.parametrize("given", [0.1, np.float32(0.1), np.array([0.1], dtype=np.float32)])
def test_a_single_row_of_any_precision_is_the_row_of_a_batch(given):
    one, batch = Monitor(), Monitor()
    one.update(given, 1)
    batch.update(np.append(given, given), [1, 1])
    one.update(given, 1)
    assert_same(one, batch)


@pytest.mark.parametrize("seed", range(5))
def test_evidence_is_that_of_immediate_labels_however_late_they_come(seed):
    p, y = world(120)
    rng = np.random.default_rng(seed)
    late, waiting = Monitor(), []
    for row in range(120):
        if rng.random() < 0.5:
            late.update(p[row], y[row])
        else:
            late.update(p[row], id=row)
            waiting.append(row)
        if len(waiting) > 10:
            rng.shuffle(waiting)
            late.update(y_true=y[waiting[:6]], id=waiting[:6])
            waiting = waiting[6:]
    if waiting:
        late.update(y_true=y[waiting], id=waiting)
    assert late.n_waiting == 0
    assert late.log_e == fed((p, y)).log_e


def test_a_missing_label_holds_the_rows_after_it():
    monitor = Monitor()
    monitor.update([0.2, 0.6, 0.7], [0, None, 1], id=["a", "b", "c"])
    assert (monitor.n_rows, monitor.n_waiting) == (1, 2)
    assert "2 rows wait, the first for the label of id 'b'" in everything(monitor)
    monitor.update(y_true=[1], id=["b"])
    assert (monitor.n_rows, monitor.n_waiting) == (3, 0)


def test_order_of_arrival_bets_at_once_and_says_what_it_assumes():
    monitor = Monitor(order="arrival")
    monitor.update([0.2, 0.6, 0.7], [0, None, 1], id=["a", "b", "c"])
    assert (monitor.n_rows, monitor.n_waiting) == (2, 1)
    assert "valid ONLY IF how late a label comes does not depend on the label" in everything(monitor)
    monitor.update(y_true=1, id="b")
    assert monitor.n_rows == 3


def test_a_full_queue_raises_and_changes_nothing():
    monitor = Monitor(max_waiting=2)
    monitor.update([0.1, 0.2], id=[1, 2])
    before = monitor.to_dict()
    with pytest.raises(ValueError, match=r"3 rows would wait .* max_waiting is 2"):
        monitor.update(0.3, id=3)
    assert monitor.to_dict() == before
    monitor.update(y_true=[0, 0], id=[1, 2])
    assert monitor.n_rows == 2


def test_a_full_queue_counts_the_oldest_with_the_worst_label():
    monitor = Monitor(max_waiting=2, when_full="worst label")
    monitor.update([0.1, 0.2, 0.3, 0.4], id=[1, 2, 3, 4])
    assert (monitor.n_rows, monitor.n_waiting) == (2, 2)
    assert monitor.to_dict()["n_worst"] == 2
    with pytest.raises(ValueError, match="no row with id 1 waits"):
        monitor.update(y_true=1, id=1)
    assert "2 rows without a usable label counted with the label that is worst for E" in everything(monitor)


def test_write_off():
    monitor = Monitor()
    monitor.update([0.1, 0.2], id=[1, 2])
    monitor.write_off(1)
    assert (monitor.n_rows, monitor.n_waiting) == (1, 1)
    assert monitor.awaits(2)
    assert not monitor.awaits(1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.5, np.nan, 0.2], [0, 1, 0]), r"row 1 of this call \(row 101 of all.*missing or infinite"),
        (([0.5, 1.2], [0, 1]), "row 1 of this call.*between 0 and 1"),
        (([[0.5, 0.6]], [1]), "row 0.*must sum to 1"),
        (([0.5, 0.2], [0, 7]), "row 1.*7, which is none of the labels 0, 1"),
        (
            ([0.5, 0.2], [0, None]),
            r"row 1.*its label is missing.*; pass it in y_true, or id= for a label that .* later\.$",
        ),
        ((0.2,), r"row 0.*its label is missing.*; pass it in y_true, or id= for a label that comes later\.$"),
        (([0.5, 0.2], [0]), "y_true has 1 row and y_prob has 2"),
        (([[0.2, 0.3, 0.5]], [0]), "for 3 classes, but the monitor watches 2"),
        ((None, [1]), "nothing to do"),
        ((["high"], [1]), "text"),
    ],
)
def test_a_bad_row_is_named_and_nothing_is_lost(arguments, message):
    p, y = world(100)
    monitor = fed((p, y))
    before = monitor.to_dict()
    with pytest.raises(ValueError, match=message):
        monitor.update(*arguments)
    assert monitor.to_dict() == before
    monitor.update(0.5, 1)
    assert monitor.n_rows == 101


def test_bad_rows_are_skipped_on_request():
    monitor = Monitor(bad_rows="omit")
    monitor.update([0.5, np.nan, 0.2, 0.3], [0, 1, "x", 0])
    found = monitor.to_dict()
    assert (found["n_rows"], found["n_skipped"], found["n_worst"]) == (3, 1, 1)
    assert "1 bad row skipped" in everything(monitor)
    assert "row 1: y_prob is nan" in everything(monitor)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([1, 1], "id 1 is that of another row"),
        ([1, None], "integers, numbers or texts are expected"),
        ([[1], [2]], "id has shape"),
        ([1], "one for each of the 2 rows"),
    ],
)
def test_bad_ids(ids, message):
    with pytest.raises((ValueError, TypeError), match=message):
        Monitor().update([0.1, 0.2], id=ids)


def test_an_id_of_a_waiting_row_is_taken():
    monitor = Monitor()
    monitor.update(0.1, id=1)
    with pytest.raises(ValueError, match="id 1 is that of another row"):
        monitor.update(0.2, id=1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"level": 0}, "level is 0"),
        ({"order": "label"}, "order is 'label'"),
        ({"labels": (1, 1)}, "two different"),
        ({"lens": cs.ECE()}, "it must be a lens"),
        ({"bets": 3}, "KernelBets"),
        ({"lens": cs.Given("age")}, "age"),
        ({"labels": (0, 1, 2), "bets": LikelihoodRatioBets()}, "look through TopLabel"),
        ({"max_waiting": 0}, "max_waiting"),
        ({"level": "0.05"}, "level is '0.05', a text; it must be a number between 0 and 1"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises((ValueError, TypeError, KeyError), match=message):
        Monitor(**settings)


def test_lenses_are_looked_through():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], 300)
    y = (p.cumsum(axis=1) < rng.random((300, 1))).sum(axis=1)
    seen = cs.TopLabel()(cs.Sample(y, p))
    direct = fed((seen.y_prob, seen.outcomes))
    through = fed((p, y), lens=cs.TopLabel(), labels=(0, 1, 2))
    assert through.log_e == direct.log_e
    assert "through TopLabel()" in everything(through)
    assert isinstance(Monitor(labels=(0, 1, 2)).bets, KernelBets)
    high = fed((p, y), lens=cs.TopLabel() | cs.Region.between("top", 0.8, 1), labels=(0, 1, 2))
    assert 0 < high.n_rows < 300


TWO_OUTCOMES = [
    cs.TopLabel(),
    cs.TopK(1),
    cs.ClassWise("c"),
    cs.Partition([["a", "b"], "c"]),
    cs.TopLabel() | cs.Region.between("top", 0.5, 1),
    cs.TopK(2) | cs.ClassWise("top 2"),
]
MORE_OUTCOMES = [cs.Canonical(), cs.TopK(2), cs.Region.between("c", 0.1, 0.9)]
WATCHED = [(lens, LikelihoodRatioBets()) for lens in TWO_OUTCOMES] + [
    (lens, bets)
    for lens in TWO_OUTCOMES + MORE_OUTCOMES
    for bets in (KernelBets(), KernelBets(0.2, cs.LaplaceKernel(), 40))
]


@pytest.mark.parametrize(("lens", "bets"), WATCHED, ids=repr)
def test_a_row_without_a_usable_label_counts_as_the_worst_through_every_lens(lens, bets):
    """E falls as much as under the worst of all labels: a mixture takes the worst one of each part, a little more."""
    rng = np.random.default_rng(5)
    p = rng.dirichlet([1, 1, 1], 400)
    sharp = p**2 / (p**2).sum(axis=1, keepdims=True)
    y = np.array(["a", "b", "c"])[(p.cumsum(axis=1) < rng.random((400, 1))).sum(axis=1)]
    after, before = {}, Monitor(lens, ("a", "b", "c"), bets, bad_rows="omit")
    before.update(sharp, y)
    for label in ("a", "b", "c", "?"):
        monitor = copy.deepcopy(before)
        monitor.update([0.25, 0.2, 0.55], label)
        after[label] = monitor.log_e
        assert monitor.to_dict()["n_worst"] == (label == "?")
    worst = min(after[label] for label in "abc")
    assert worst - 0.1 < after["?"] <= worst + 1e-12
    assert worst < max(after[label] for label in "abc")


@pytest.mark.parametrize("lens", [cs.TopLabel(), cs.TopK(1)], ids=repr)
def test_one_bad_label_in_a_hundred_delays_the_alarm_but_does_not_prevent_it(lens):
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], 3000)
    sharp = p**1.4 / (p**1.4).sum(axis=1, keepdims=True)
    y = (p.cumsum(axis=1) < rng.random((3000, 1))).sum(axis=1).astype(object)
    sound = fed((sharp, y), lens=lens, labels=(0, 1, 2))
    y[::100] = "?"
    marred = fed((sharp, y), lens=lens, labels=(0, 1, 2), bad_rows="omit")
    assert sound.alarm_row <= marred.alarm_row < sound.alarm_row + 100


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"order": "arrival", "level": 0.01, "name": "v3"},
        {"lens": cs.TopLabel(), "labels": ("a", "b", "c")},
        {"lens": cs.ClassWise("b"), "labels": ("a", "b", "c"), "bets": KernelBets(0.2, cs.LaplaceKernel(), 50)},
        {"labels": (False, True), "bad_rows": "omit"},
    ],
    ids=str,
)
def test_a_saved_monitor_goes_on_bit_for_bit(settings, tmp_path):
    rng = np.random.default_rng(0)
    labels = settings.get("labels", (0, 1))
    p = rng.dirichlet(np.ones(len(labels)), 400)
    y = [labels[code] for code in (p.cumsum(axis=1) < rng.random((400, 1))).sum(axis=1)]
    whole = Monitor(**settings)
    whole.update(p[:250], y[:250])
    whole.update(p[250:260], id=list(range(250, 260)))
    whole.update(p[260:280], y[260:280])
    whole.save(tmp_path / "state")
    resumed = Monitor.load(tmp_path / "state")
    for monitor in (whole, resumed):
        monitor.update(y_true=y[250:260], id=list(range(250, 260)))
        monitor.update(p[280:], y[280:])
    assert whole.n_rows == 400
    assert_same(whole, resumed)


def test_the_state_of_another_monitor_is_refused(tmp_path):
    fed(world(10), name="old").save(tmp_path / "state")
    other = Monitor(name="new", level=0.01)
    with pytest.raises(
        ValueError, match=r"another monitor: it has name 'old' \(here 'new'\), level 0.05 \(here 0.01\)"
    ):
        other.restore(tmp_path / "state")
    assert other.n_rows == 0
    with pytest.raises(ValueError, match="another monitor: it has lens"):
        Monitor(cs.TopLabel(), name="old").restore(tmp_path / "state")


def test_what_was_predicted_and_happened_is_kept_however_rows_are_fed(tmp_path):
    p, y = world(600, power=3.0)
    whole, single = fed((p, y)), Monitor()
    for k, (chance, outcome) in enumerate(zip(p.tolist(), y.tolist(), strict=True)):
        single.update(chance, outcome)
        if k == 300:
            single.save(tmp_path / "state")
            single = Monitor.load(tmp_path / "state")
    assert single.verdict == whole.verdict
    assert f"(P(1): {p.mean():.3g} predicted, {y.mean():.3g} happened so far)" in single.verdict
    assert "No alarm in 2 rows so far (P(1): 0.5 predicted, 0.5 happened): the" in fed(([0.5, 0.5], [1, 0])).verdict


def test_of_more_classes_the_top_one_says_which_way_predictions_err():
    rng = np.random.default_rng(5)
    p = rng.dirichlet([1, 1, 1], 500)
    y = np.array([rng.choice(3, p=0.5 * row + 0.5 / 3) for row in p])
    monitor = Monitor(labels=(0, 1, 2))
    monitor.update(p, y)
    means = f"{p.max(axis=1).mean():.3g} predicted, {(p.argmax(axis=1) == y).mean():.3g} happened"
    assert f"(P(predicted class): {means}" in monitor.verdict


def test_rows_without_a_label_are_in_neither_sum():
    monitor = Monitor(bad_rows="omit")
    p, y = world(600, power=3.0)
    known = np.arange(600) % 10 > 0
    monitor.update(p, [int(each) if kept else "?" for each, kept in zip(y, known, strict=True)])
    assert monitor.to_dict()["n_worst"] == 60
    assert f"(P(1): {p[known].mean():.3g} predicted, {y[known].mean():.3g} happened so far)" in monitor.verdict


def test_a_state_without_sums_is_read_and_tells_none(tmp_path):
    """As files of earlier versions do."""
    monitor = fed(world(600, power=3.0))
    monitor.save(tmp_path / "state")
    settings, arrays = read_state(tmp_path / "state")
    del arrays["sums.sums"]
    write_state(tmp_path / "old", settings, arrays)
    old = Monitor.load(tmp_path / "old")
    assert old.to_dict() == monitor.to_dict()
    old.update(*world(100, seed=1))
    assert old.verdict.startswith("ALARM in 700 rows: evidence that predictions do not fit what happens. It reached 20")


def test_a_state_that_calls_the_level_alpha_is_read(tmp_path):
    """As files of earlier versions do."""
    monitor = fed(world(50), level=0.01)
    monitor.save(tmp_path / "state")
    settings, arrays = read_state(tmp_path / "state")
    settings["alpha"] = settings.pop("level")
    write_state(tmp_path / "old", settings, arrays)
    assert Monitor.load(tmp_path / "old").to_dict() == monitor.to_dict()


@pytest.mark.parametrize("content", [b"", b"junk", b"PK\x03\x04 junk"])
def test_a_damaged_state_is_refused(content, tmp_path):
    (tmp_path / "state").write_bytes(content)
    with pytest.raises(ValueError, match="does not hold the state of a monitor"):
        Monitor.load(tmp_path / "state")


def test_a_state_that_is_not_there_is_named_in_words(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"^cannot read .*none: there is no such file$"):
        Monitor.load(tmp_path / "none")
    with pytest.raises(FileNotFoundError, match=r"there is no such file$"):
        fed(world(50)).restore(tmp_path / "none")


@pytest.mark.parametrize("damage", ["flipped", "truncated", "numbers"])
def test_a_damaged_state_is_refused_with_what_to_do_and_without_the_name_of_an_error(damage, tmp_path):
    p, y = world(100)
    fed((p, y)).save(tmp_path / "state")
    content = bytearray((tmp_path / "state").read_bytes())
    if damage == "flipped":
        content[len(content) // 2] ^= 0xFF
    elif damage == "truncated":
        del content[len(content) // 2 :]
    (tmp_path / "state").write_bytes(content)
    if damage == "numbers":  # whole, but nothing that a monitor ever wrote
        settings, arrays = read_state(tmp_path / "state")
        write_state(tmp_path / "state", settings, arrays | {"path.whole": arrays["path.whole"][:2]})
    with pytest.raises(ValueError, match="does not hold the state of a monitor, or is damaged: ") as refused:
        Monitor.load(tmp_path / "state")
    assert str(refused.value).endswith(
        "state does not hold the state of a monitor, or is damaged: restore a copy of the file that was saved, or "
        "begin a new state with all rows"
    )


def test_a_state_whose_arrays_claim_more_than_there_is_is_refused(tmp_path):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**14,)})
    with zipfile.ZipFile(tmp_path / "state", "w") as archive:
        archive.writestr("settings.npy", header.getvalue())
    with pytest.raises(ValueError, match="does not hold the state of a monitor, or is damaged"):
        Monitor.load(tmp_path / "state")


def test_a_state_that_could_execute_something_is_refused(tmp_path):
    settings = {"format": "calibstat monitor 2", "lens": "__import__('os').getcwd()", "bets": "KernelBets()"}
    with (tmp_path / "state").open("wb") as file:
        np.savez(file, settings=np.array(json.dumps(settings)))
    with pytest.raises(ValueError, match="cannot be made from a file"):
        Monitor.load(tmp_path / "state")


def test_a_region_is_restored_but_not_made_from_a_file(tmp_path):
    lens = cs.Region.between(1, 0.5, 1)
    fed(world(50), lens=lens).save(tmp_path / "state")
    with pytest.raises(ValueError, match="call its restore"):
        Monitor.load(tmp_path / "state")
    again = Monitor(lens)
    again.restore(tmp_path / "state")
    assert again.n_rows > 0


def test_alarm_and_words():
    calm = fed(world(200))
    assert calm.verdict.startswith("No alarm in 200 rows so far (P(1): 0.54 predicted, 0.505 happened): the evidence")
    assert "each label seen through Canonical() is Bernoulli(prediction)" in everything(calm)
    off = fed(world(1000, power=2.0))
    assert off.alarm
    p, y = world(1000, power=2.0)
    assert off.verdict.startswith(
        "ALARM in 1000 rows: evidence that predictions do not fit what happens "
        f"(P(1): {p.mean():.3g} predicted, {y.mean():.3g} happened so far). It reached 20 after {off.alarm_row} rows"
    )
    values = off.to_dataset()["log_e"]
    assert off.alarm_row == int(values.row[np.argmax(values.values >= math.log(20))])
    assert off.pvalue == pytest.approx(math.exp(-float(values.max())))


def test_the_alarm_stays_when_the_evidence_falls():
    off, fair = world(400, power=3.0), world(20_000, seed=1)
    monitor = fed(off, fair)
    assert monitor.alarm
    assert monitor.log_e < monitor.to_dict()["log_e_max"]


def test_the_path_is_thinned_and_exact_at_its_points():
    rng = np.random.default_rng(0)
    log_e = rng.normal(size=50_000).cumsum() / 100
    whole, parts = EvidencePath(1.0), EvidencePath(1.0)
    whole.add(log_e)
    for part in np.array_split(log_e, 77):
        parts.add(part)
    for path in (whole, parts):
        assert 1000 <= len(path.rows) <= 2000
        assert np.array_equal(path.values, log_e[path.rows - 1])
        assert path.largest == max(log_e.max(), 0)
    assert np.array_equal(whole.rows, parts.rows)
    crossed = np.flatnonzero(log_e >= 1.0)
    assert whole.alarm_row == parts.alarm_row == (crossed[0] + 1 if len(crossed) else 0)


def test_frames_and_columns_are_taken():
    pandas = pytest.importorskip("pandas")
    p, y = world(100)
    frame = pandas.DataFrame({"no": 1 - p, "yes": p, "label": np.where(y == 1, "yes", "no")})
    monitor = Monitor(labels=("no", "yes"))
    monitor.update(frame[["no", "yes"]], frame["label"], id=frame.index)
    assert monitor.log_e == fed((np.column_stack([1 - p, p]), y)).log_e


def test_labels_of_an_array_are_taken():
    monitor = Monitor(labels=np.array([3, 7]))
    monitor.update([0.2, 0.8], np.array([3, 7]))
    assert monitor.labels == (3, 7)


def test_arguments_are_not_changed():
    p, y = world(50)
    kept = p.copy(), y.copy()
    fed((p, y))
    assert np.array_equal(p, kept[0])
    assert np.array_equal(y, kept[1])


def gained_by_change(bets, seed):
    """Growth of the log evidence over 4 000 rows shifted by 0.5, after 20 000 calibrated ones."""
    p, y = world(20_000, seed)
    monitor = fed((p, y), bets=bets)
    before = monitor.log_e
    rng = np.random.default_rng([seed, 1])
    q = rng.random(4000)
    odds = q / (1 - q) * math.exp(0.5)
    monitor.update(q, rng.random(4000) < odds / (1 + odds))
    return monitor.log_e - before


def test_a_change_after_many_rows_is_found():
    """20 000 calibrated rows do not drown it: lines that start anew gain much more than those that remember all."""
    anew = [gained_by_change(LikelihoodRatioBets(), seed) for seed in range(3)]
    control = [gained_by_change(LikelihoodRatioBets(restart_every=10**9), seed) for seed in range(3)]
    assert min(anew) > math.log(1e4)
    assert np.mean(anew) > np.mean(control) + 10


def test_rows_that_were_never_fed_are_not_taken_for_seen(tmp_path):
    p, y = world(100)
    monitor = Monitor()
    monitor.update(p[:50], y[:50], id=list(range(0, 100, 2)))
    assert monitor.seen_before([90, 92, 94, 100, 102]) == 3
    assert monitor.seen_before(list(range(0, 120, 2))) == 50
    assert monitor.seen_before([99.5, 100]) == 0
    monitor.save(tmp_path / "state")
    for each in (monitor, Monitor.load(tmp_path / "state")):
        with pytest.raises(
            ValueError, match="1 row is older than 98, where the state stopped, and was never bet on: 31"
        ):
            each.seen_before([30, 31, 32, 98, 100])
        with pytest.raises(ValueError, match=r"7 rows are older than 98.*never bet on: 1, 3, 5, 7, 9, ..."):
            each.seen_before([*range(1, 15, 2), 98])


def test_a_label_that_changed_after_it_was_bet_on_is_told(tmp_path):
    p, y = world(100)
    ids = list(range(100))
    monitor = Monitor()
    monitor.update(p[:50], y[:50], id=ids[:50])
    monitor.update(p[50], id=50)
    monitor.update(y_true=y[50], id=50)
    monitor.update(p[51:60], id=ids[51:60])
    monitor.write_off(ids[51:55])
    monitor.save(tmp_path / "state")
    now = [*y[:51].tolist(), *[None] * 9, *y[60:].tolist()]
    other, moved = list(now), p.copy()
    other[17] = 1 - other[17]
    other[53] = 1
    moved[30] += 1e-9
    for each in (monitor, Monitor.load(tmp_path / "state")):
        assert each.seen_before(ids, p, now) == 60
        evidence = each.log_e
        with pytest.warns(UserWarning, match=rf"2 rows .* changed since; first, the label of 17 was {y[17]} and is"):
            assert each.seen_before(ids, p, other) == 60
        with pytest.warns(UserWarning, match=r"1 row that .* the prediction of 30 was another one"):
            each.seen_before(ids, moved, now)
        assert each.log_e == evidence


def test_rows_of_which_most_had_other_predictions_are_refused(tmp_path):
    p, y = world(100)
    ids = list(range(100))
    monitor = Monitor()
    monitor.update(p[:60], y[:60], id=ids[:60])
    monitor.save(tmp_path / "state")
    half, more = p.copy(), p.copy()
    half[:30], more[:31] = 0.5, 0.5
    for each in (monitor, Monitor.load(tmp_path / "state")):
        with pytest.warns(UserWarning, match="30 rows that the monitor has seen changed since"):
            assert each.seen_before(ids, half, y) == 60
        with pytest.raises(ValueError, match="31 of 60 rows that the monitor has seen had other predictions: check"):
            each.seen_before(ids, more, y)


def test_only_so_many_rows_are_remembered():
    fed_rows = FedRows(most=5)
    for start in (0, 3, 12, 13):
        names = list(range(start, min(start + 9, 12) if start < 12 else start + 1))
        fed_rows.add(names, np.zeros((len(names), 2)), np.zeros(len(names), dtype=int))
        assert set(fed_rows.facts) == set(fed_rows.ids)
        assert len(fed_rows.ids) <= 5
    assert list(fed_rows.ids) == [9, 10, 11, 12, 13]


def test_what_the_memory_of_rows_cannot_tell_is_refused():
    fed_rows = FedRows(most=5)
    fed_rows.add(list(range(0, 40, 2)), np.zeros((20, 2)), np.zeros(20, dtype=int))
    assert fed_rows.seen_before(range(0, 42, 2)) == 20
    assert fed_rows.seen_before([34, 36, 38, 40]) == 3
    with pytest.raises(ValueError, match=r"1 row is older than 38.*never bet on: 35"):
        fed_rows.seen_before([34, 35, 36, 38])
    with pytest.raises(
        ValueError, match="1 row is older than the 5 that the monitor remembers, up to 38; it was fed 20"
    ):
        fed_rows.seen_before([28, 30, 32, 34, 36, 38])


def test_rows_that_were_skipped_count_as_fed():
    monitor = Monitor(bad_rows="omit")
    monitor.update([0.5, 0.5, np.nan], [0, 1, 0], id=[1, 2, 3])
    assert monitor.seen_before([1, 2, 3, 4]) == 3


def test_how_rows_are_taken_may_change_on_the_way(tmp_path):
    p, y = world(30)
    fed((p, y), name="m").save(tmp_path / "state")
    other = Monitor(name="m", bad_rows="omit", max_waiting=7, when_full="worst label")
    other.restore(tmp_path / "state")
    assert other.log_e == fed((p, y)).log_e
    other.update([np.nan, 0.5], [1, 1])
    assert (other.n_rows, other.to_dict()["n_skipped"], other.to_dict()["max_waiting"]) == (31, 1, 7)


def test_infinite_evidence_is_none_in_plain_values():
    monitor = fed(([0.5, 0.0], [1, 1]))
    found = monitor.to_dict()
    assert (monitor.log_e, found["log_e"], found["log_e_max"], found["alarm"]) == (math.inf, None, None, True)
    json.dumps(found, allow_nan=False)
    assert "; it is infinite since row 2, where something happened that was predicted as imposs" in monitor.verdict
    assert monitor.to_dataset().attrs["log_e"] == math.inf


@pytest.mark.parametrize("content", ["name,alpha\nv3,0.05\n", "", "{}"])
def test_a_file_of_text_is_no_state_and_nothing_unsafe_is_advised(content, tmp_path):
    (tmp_path / "state").write_text(content)
    with pytest.raises(ValueError, match="does not hold the state of a monitor") as refused:
        Monitor.load(tmp_path / "state")
    assert "pickle" not in str(refused.value)
    with (tmp_path / "objects").open("wb") as file:
        np.savez(file, settings=np.array([object()]))
    with pytest.raises(ValueError, match="does not hold the state of a monitor") as refused:
        Monitor.load(tmp_path / "objects")
    assert "pickle" not in str(refused.value)


def test_a_state_needs_its_folder(tmp_path):
    with pytest.raises(ValueError, match="which is no folder; name a file in a folder that is there"):
        Monitor().save(tmp_path / "nowhere" / "state")


def changing(good=2000, n=4000, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return p, (rng.random(n) < np.where(np.arange(n) < good, p, p**1.5)).astype(int)


def test_the_change_is_found_and_told_wherever_a_person_looks():
    p, y = changing()
    monitor = Monitor()
    monitor.update(p[:2000], y[:2000])
    assert monitor.change is None
    assert monitor.to_dict()["change_interval"] is None
    monitor.update(p[2000:], y[2000:])
    row, low, high, before = monitor.change
    assert low <= 2001 <= high <= monitor.alarm_row
    assert abs(row - 2001) < 300
    assert not before
    assert f"The change began about row {row} (95\u00a0%: {low} to {high})." in monitor.verdict
    assert monitor.to_dict()["change_interval"] == [low, high]
    assert monitor.plot().runs[0].change == (low, high)


def test_the_change_is_the_same_however_rows_are_fed(tmp_path):
    p, y = changing(300, 900)
    whole, single = fed((p, y)), Monitor()
    for chance, happened in zip(p.tolist(), y.tolist(), strict=True):
        single.update(chance, happened)
        assert single.change is None or single.change.high <= single.alarm_row
    assert single.change == whole.change
    whole.save(tmp_path / "state")
    assert Monitor.load(tmp_path / "state").change == whole.change


def test_only_rows_around_the_alarm_are_kept(monkeypatch):
    monkeypatch.setattr("calibstat.monitoring.recent.MOST_RECENT", 200)
    p, y = changing(1000, 4000)
    parts = [slice(start, start + 90) for start in range(0, 4000, 90)]
    monitor, batch = fed(*((p[part], y[part]) for part in parts)), fed((p, y))
    assert monitor.change == batch.change
    assert monitor.change.low > monitor.alarm_row - 200
    assert f"before row {monitor.change.low} to row" in monitor.verdict
    assert len(monitor._bettor.recent.kept()[1]) == 400


def test_a_change_of_three_classes_is_found():
    rng = np.random.default_rng(1)
    p = rng.dirichlet([1, 1, 1], 3000)
    y = (p.cumsum(axis=1) < rng.random((3000, 1))).sum(axis=1)
    y[1000:][rng.random(2000) < 0.2] = 2
    change = fed((p, y), labels=(0, 1, 2)).change
    assert change.low <= 1001 <= change.high < 1400


def test_impossible_labels_are_an_alarm_without_a_change():
    monitor = fed(([0.5, 0.0, 0.5], [1, 1, 0]))
    assert monitor.alarm_row == 2
    assert monitor.change is None


def test_a_sample_is_no_row():
    sample = cs.Sample([0, 1, 1], [0.2, 0.7, 0.7])
    with pytest.raises(TypeError, match=r"update\(sample.y_prob, sample.y_true\)"):
        Monitor().update(sample)
    with pytest.raises(TypeError, match="this sample counts rows, in the order of their predictions"):
        Monitor().update(cs.Ledger.count(sample).sample())


def test_a_state_whose_numbers_were_changed_is_refused_and_changes_nothing(tmp_path):
    p, y = world(300)
    monitor, other = Monitor(), Monitor()
    monitor.update(p, y)
    monitor.save(tmp_path / "state")
    with np.load(tmp_path / "state") as file:
        arrays = {name: file[name] for name in file.files}
    settings = json.loads(str(arrays["settings"]))
    arrays["path.levels"] = arrays["path.levels"] + 1
    for described in (settings, {name: settings[name] for name in settings if name != "checksum"}):
        short = arrays if "checksum" in described else arrays | {"path.whole": arrays["path.whole"][:2]}
        with (tmp_path / "changed").open("wb") as file:
            np.savez(file, **short | {"settings": np.array(json.dumps(described))})
        with pytest.raises(ValueError, match="changed does not hold the state of a monitor, or is damaged"):
            other.restore(tmp_path / "changed")
        assert other.to_dict() == Monitor().to_dict()


# Numbers that no monitor writes, by the array and the place in it.
EDITED = [
    ("path.whole", 0, 299),
    ("path.whole", 1, 0),
    ("path.whole", 3, 5),
    ("path.levels", 0, np.nan),
    ("path.levels", 1, 10),
    ("path.rows", 0, 0),
    ("bets.counts", 1, 10_000),
    ("bets.held_chances", (0, 0), 1.5),
    ("bets.held_outcomes", 0, 2),
    ("bets.recent_chances", (3, 1), np.nan),
    ("bets.recent_place", 0, 7),
    ("bets.line.theta", 1, np.inf),
    ("bets.line.precision", (0, 0), -1),
    ("bets.cells.log_e", (), np.nan),
    ("bets.later.started", (), 9),
    ("sums.sums", 2, 301),
    ("intake.counts", 0, -1),
    ("intake.facts", (0, 1), 2),
    ("intake.outcomes", 0, 2),
    ("intake.rows", (0, 0), -0.1),
]


@pytest.mark.parametrize(("name", "place", "value"), EDITED)
def test_a_state_that_was_edited_is_refused_even_if_its_checksum_is_that_of_the_edited_one(
    name, place, value, tmp_path
):
    p, y = world(303)
    monitor, other = Monitor(), Monitor()
    monitor.update(p, [*y[:300], None, *y[301:]], id=range(303))
    monitor.save(tmp_path / "state")
    settings, arrays = read_state(tmp_path / "state")
    other.restore(tmp_path / "state")
    before = other.to_dict()
    arrays[name][place] = value
    write_state(tmp_path / "edited", settings, arrays)
    with pytest.raises(ValueError, match="edited does not hold the state of a monitor, or is damaged"):
        other.restore(tmp_path / "edited")
    assert other.to_dict() == before


@pytest.mark.parametrize(
    ("shape", "kind"), [((), float), ((0,), float), ((7,), float), ((2, 3, 4), float), ((7,), "U3")]
)
def test_arrays_of_a_state_with_another_shape_or_type_are_refused(shape, kind, tmp_path):
    p, y = world(2100)
    monitor = Monitor()
    monitor.update(p, y)
    monitor.save(tmp_path / "state")
    settings, arrays = read_state(tmp_path / "state")
    for name in [name for name in arrays if arrays[name].dtype.kind != "U" and arrays[name].shape != shape]:
        write_state(tmp_path / "edited", settings, arrays | {name: np.ones(shape).astype(kind)})
        with pytest.raises(ValueError, match="edited does not hold the state of a monitor, or is damaged"):
            Monitor.load(tmp_path / "edited")


@pytest.mark.parametrize("setting", [{"level": 2}, {"no_such_setting": 1}, {"lens": 3}, {"bad_rows": None}])
def test_a_setting_of_a_state_that_cannot_be_is_refused_by_the_name_of_the_file(tmp_path, setting):
    Monitor().save(tmp_path / "state")
    settings, arrays = read_state(tmp_path / "state")
    write_state(tmp_path / "odd", settings | setting, arrays)
    with pytest.raises((ValueError, TypeError), match=f"{tmp_path / 'odd'}: "):
        Monitor.load(tmp_path / "odd")


def test_a_state_nested_too_deeply_is_refused(tmp_path):
    with (tmp_path / "state").open("wb") as file:
        np.savez(file, settings=np.array("[" * 100_000))
    with pytest.raises(ValueError, match="does not hold the state of a monitor, or is damaged"):
        Monitor.load(tmp_path / "state")


def test_ids_of_another_kind_are_not_compared():
    monitor = Monitor()
    monitor.update([0.2, 0.3], [0, 1], id=["a", "b"])
    with pytest.raises(TypeError, match="id 1 is of another kind than 'b', where the monitor stopped"):
        monitor.seen_before([1, 2])
