"""Bets: fair odds, the formulas as plain loops, and independence of how rows arrive."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

import calibstat as cs
from calibstat.monitoring.base import UNKNOWN, block_size
from calibstat.monitoring.kernel_bets import KernelBets
from calibstat.monitoring.likelihood_ratio import LikelihoodRatioBets, Restarts, TwoOutcomes, line_expert

CASES = [
    (LikelihoodRatioBets(), 2),
    (LikelihoodRatioBets(n_cells=3, restart_every=50, n_restarts=2), 2),
    (KernelBets(), 3),
    (KernelBets(0.2, cs.LaplaceKernel(), n_anchors=40), 2),
]
each_case = pytest.mark.parametrize(("bets", "n_classes"), CASES, ids=repr)


def rows_of(n, n_classes, seed=0):
    """TwoOutcomes of a miscalibrated model, so that bets grow."""
    rng = np.random.default_rng(seed)
    chances = rng.dirichlet(np.ones(n_classes), n)
    truth = np.sqrt(chances) / np.sqrt(chances).sum(axis=1, keepdims=True)
    outcomes = (truth.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    return chances, outcomes


def copied(bets, bettor, n_classes):
    twin = bets.start(n_classes)
    twin.restore({name: array.copy() for name, array in bettor.state().items()})
    return twin


@each_case
@pytest.mark.parametrize("n", [0, 1, 37, 230])
def test_odds_are_fair_after_any_past(bets, n_classes, n):
    """Expected capital after one more row, or two, is the capital before: the martingale, row by row."""
    bettor = bets.start(n_classes)
    past, outcomes = rows_of(n, n_classes)
    before = math.exp(bettor.bet(past, outcomes)[-1]) if n else 1.0
    row = np.full((1, n_classes), 0.1 / (n_classes - 1))
    row[0, 0] = 0.9
    after = 0.0
    for first in range(n_classes):
        for second in range(n_classes):
            twin = copied(bets, bettor, n_classes)
            twin.bet(row, np.array([first]))
            after += row[0, first] * row[0, second] * math.exp(twin.bet(row, np.array([second]))[-1])
    assert after == pytest.approx(before, rel=1e-12)


@each_case
def test_an_unknown_label_counts_as_the_worst(bets, n_classes):
    bettor = bets.start(n_classes)
    past, outcomes = rows_of(150, n_classes)
    bettor.bet(past, outcomes)
    row = rows_of(1, n_classes, seed=3)[0]
    known = [copied(bets, bettor, n_classes).bet(row, np.array([label]))[0] for label in range(n_classes)]
    unknown = bettor.bet(row, np.array([UNKNOWN]))[0]
    # a mixture takes the worst label of each of its parts
    assert unknown <= min(known) + 1e-12
    assert unknown == pytest.approx(min(known), abs=0.05)


@each_case
def test_evidence_does_not_depend_on_how_rows_arrive(bets, n_classes):
    chances, outcomes = rows_of(400, n_classes)
    outcomes[::17] = UNKNOWN
    whole = bets.start(n_classes).bet(chances, outcomes)
    bettor = bets.start(n_classes)
    cuts = [0, 1, 2, 3, 10, 101, 102, 250, 399, 400]
    parts = [bettor.bet(chances[a:b], outcomes[a:b]) for a, b in pairwise(cuts)]
    assert np.array_equal(np.concatenate(parts), whole)


@each_case
@pytest.mark.parametrize("cut", [1, 99, 123, 260])
def test_a_state_goes_on_bit_for_bit(bets, n_classes, cut):
    chances, outcomes = rows_of(400, n_classes)
    whole = bets.start(n_classes).bet(chances, outcomes)
    bettor = bets.start(n_classes)
    bettor.bet(chances[:cut], outcomes[:cut])
    twin = copied(bets, bettor, n_classes)
    assert np.array_equal(twin.bet(chances[cut:], outcomes[cut:]), whole[cut:])


def test_blocks_cover_all_rows():
    n, sizes = 0, []
    while n < 300_000:
        sizes.append(block_size(n))
        n += sizes[-1]
    assert sizes == sorted(sizes)
    assert sizes[0] == 1
    assert sizes[-1] == 4096


def naive_line(p, y):
    """The line expert of the first 100 rows, where each block is one row: plain online Newton steps."""
    a = b = 0.0
    precision = np.diag([5.0, 15.0])
    log_e, path = 0.0, []
    for chance, happened in zip(p, y, strict=True):
        z = math.log(chance / (1 - chance))
        lever = np.array([1.0, min(max(z, -7), 7)])
        q = 1 / (1 + math.exp(-(z + a + b * lever[1])))
        log_e += math.log(q / chance) if happened else math.log((1 - q) / (1 - chance))
        path.append(log_e)
        precision += q * (1 - q) * np.outer(lever, lever)
        a, b = np.array([a, b]) + np.linalg.inv(precision) @ lever * (happened - q)
    return path


def test_line_expert_is_the_plain_loop():
    chances, outcomes = rows_of(100, 2)
    expert, path = line_expert(), []
    for row in range(100):
        rows = TwoOutcomes.of(chances[row : row + 1])
        path.append(expert.stake(rows, outcomes[row : row + 1])[0])
        expert.learn(rows, outcomes[row : row + 1])
    assert np.allclose(path, naive_line(chances[:, 1], outcomes), rtol=1e-10, atol=1e-12)


def naive_kernel(chances, outcomes, bandwidth):
    """The first 100 rows by the formulas: witness, payoff, online Newton step."""
    share, curvature, capital, path = 0.0, 1.0, 1.0, []
    for t, (law, label) in enumerate(zip(chances, outcomes, strict=True)):
        witness = np.zeros(len(law))
        for s in range(t):
            alike = math.exp(-np.sum((chances[s] - law) ** 2) / (2 * bandwidth**2))
            witness += alike * (np.eye(len(law))[outcomes[s]] - chances[s]) / math.sqrt(t)
        payoffs = witness - law @ witness
        paid = payoffs[label] / max(np.abs(payoffs).max(), 0.5)
        capital *= 1 + share * paid
        path.append(math.log(capital))
        slope = paid / (1 + share * paid)
        curvature += slope**2
        share = min(max(share + 2 * slope / ((2 - math.log(3)) * curvature), 0), 0.5)
    return path


def test_kernel_bets_are_the_plain_loop():
    chances, outcomes = rows_of(100, 3)
    found = KernelBets(0.3, cs.GaussianKernel()).start(3).bet(chances, outcomes)
    assert np.allclose(found, naive_kernel(chances, outcomes, 0.3), rtol=1e-9, atol=1e-12)


def test_worked_example_a_fixed_slope_of_six_fifths():
    """A recalibration that is settled beforehand: the product of q(y) / p(y), label by label, is 0.97177."""
    p, y = np.arange(0.05, 1, 0.1), np.array([0, 0, 1, 0, 1, 1, 0, 1, 1, 1])
    expert = line_expert()
    expert.theta = np.array([0.0, 0.2])
    q = p**1.2 / (p**1.2 + (1 - p) ** 1.2)
    expected = np.prod(np.where(y == 1, q / p, (1 - q) / (1 - p)))
    log_e = expert.stake(TwoOutcomes.of(np.column_stack([1 - p, p])), y)[-1]
    assert math.exp(log_e) == pytest.approx(expected, rel=1e-12)
    assert expected == pytest.approx(0.97177, abs=5e-6)


def test_an_impossible_label_is_infinite_evidence_for_good():
    bettor = LikelihoodRatioBets().start(2)
    log_e = bettor.bet(np.array([[0.5, 0.5], [1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]), np.array([0, 1, 0, 1]))
    assert log_e[0] == pytest.approx(0)
    assert np.isposinf(log_e[1:]).all()


def test_certain_labels_that_come_are_no_evidence():
    chances = np.array([[1.0, 0.0], [0.0, 1.0]] * 100)
    log_e = LikelihoodRatioBets().start(2).bet(chances, np.array([0, 1] * 100))
    assert np.abs(log_e).max() < 1e-9


def test_restarts_stop_the_poorest_and_keep_its_capital():
    later = Restarts(2)
    for _ in range(2):
        later.start()
    (_, first), (_, second) = later.alive
    first.log_e, second.log_e = 3.0, 5.0
    later.start()
    assert [number for number, _ in later.alive] == [2, 3]
    rows = TwoOutcomes.of(np.array([[0.5, 0.5]]))
    expected = math.exp(3) / 2 + math.exp(5) / 6 + 1 / 12 + 1 / 4
    assert math.exp(later.stake(rows, np.array([1]))[0]) == pytest.approx(expected)


def test_memory_of_the_kernel_is_bounded():
    bettor = KernelBets(n_anchors=30).start(3)
    bettor.bet(*rows_of(500, 3))
    assert bettor.anchors.shape == bettor.residuals.shape == (30, 3)
    assert bettor.residuals.sum() == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: LikelihoodRatioBets().start(3), ValueError, "look through TopLabel"),
        (lambda: LikelihoodRatioBets(n_cells=0), ValueError, "n_cells"),
        (lambda: KernelBets(bandwidth=0), ValueError, "bandwidth is 0"),
        (lambda: KernelBets(n_anchors=1.5), TypeError, "n_anchors"),
        (lambda: KernelBets(kernel="x"), TypeError, "kernel is 'x', a text; it must be a kernel"),
    ],
)
def test_bad_parameters(make, error, message):
    with pytest.raises(error, match=message):
        make()
