"""What a simpler predictor loses: rows that did not choose its cells are not optimistic, those that did are."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs

RUNS, ROWS = 600, 150


def shortfall(held_out_rows):
    """Return how far the loss is below the truth, in standard errors, on rows that were held out or that chose."""
    rng, short = np.random.default_rng(0), []
    for _ in range(RUNS):
        p = rng.beta(1, 1, 2 * ROWS)
        chance = np.clip(p + 0.1 * np.sin(9 * p), 0, 1)
        y = (rng.random(2 * ROWS) < chance).astype(int)
        chosen, others = (cs.Sample(y[part], p[part]) for part in (slice(ROWS), slice(ROWS, None)))
        path = cs.simplify(chosen, 4, keep=cs.ZeroOneLoss(), held_out=others if held_out_rows else chosen)
        said, part = path.merged().predictions.event, slice(ROWS, None) if held_out_rows else slice(ROWS)
        decided = said >= 0.5
        truth = np.where(decided, 1 - chance[part], chance[part]).mean()  # over labels, given these rows
        short.append(truth - path.loss[-1])
    return np.mean(short) / (np.std(short) / np.sqrt(RUNS))


@pytest.mark.slow
def test_the_loss_on_rows_that_did_not_choose_is_right_on_average():
    assert abs(shortfall(held_out_rows=True)) < 4


@pytest.mark.slow
def test_the_loss_on_rows_that_chose_is_too_small():
    assert shortfall(held_out_rows=False) > 4
