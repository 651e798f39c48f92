"""Tests of pooled rows: exact size, and hardly less power than tests of all rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit

import calibstat as cs
from calibstat.draws import pooled
from calibstat.draws.labels import LabelLaw, redraw_labels
from calibstat.draws.pooled import PooledEvaluator
from calibstat.draws.streams import replicate
from calibstat.estimators.base import Headline

pytestmark = pytest.mark.slow
N, LEVEL = 20_000, 0.05
# logits of the chances for logits z of the predictions
WORLDS = {"shift": lambda z: z + 0.05, "stretch": lambda z: 1.06 * z}
# estimator, draws under the null, draws of each world: all rows take up to a millisecond for each
CASES = [
    (cs.Kuiper(), 6000, 2000),
    (cs.AndersonDarling(), 6000, 2000),
    (cs.BrownianBridge(), 6000, 2000),
    (cs.SmoothECE(), 2000, 800),
    (cs.CORP(), 2000, 800),
    (cs.ECESweep(), 800, 300),
    (cs.Cox(), 600, 300),
    (cs.KCE(), 800, 300),
]


def world(seed=0):
    prediction = np.random.default_rng(seed).beta(0.8, 1.2, N)
    return cs.Sample(np.arange(N) % 2, prediction)


def drawn(evaluator, chances, n_draws, seed):
    """Values (R,) of an evaluator on labels with these chances; the same labels for the same seed."""
    law = LabelLaw(np.column_stack([1 - chances, chances]))
    return replicate(evaluator, law.draw, n_draws, N, cs.as_generator(seed))


def rates(estimator, n_null, n_draws):
    """For each world, and for calibration, who is rejected (R,): by pooled rows and by all rows, on the same labels."""
    sample, core = world(), Headline(estimator)
    cells, rows = PooledEvaluator(core, sample.predictions), core.prepare(sample.predictions)
    event = sample.predictions.event
    limits = [
        np.quantile(redraw_labels(cells, sample, 20_000, cs.as_generator(1)), 1 - LEVEL),
        np.quantile(drawn(rows, event, n_null, 2), 1 - LEVEL),
    ]
    found = {}
    for name, bend in {"calibrated": lambda z: z, **WORLDS}.items():
        chances = expit(bend(logit(event)))
        values = (drawn(each, chances, n_draws, 3) for each in (cells, rows))
        found[name] = [value > limit for value, limit in zip(values, limits, strict=True)]
    return found


def loss(cells, rows, n_null):
    """How much less often pooled rows reject, and the standard error of that.

    The limit of all rows has an error too: near the middle of a power curve it moves the power by up to three times as
    much as the level.
    """
    less = rows.astype(float) - cells
    return less.mean(), np.sqrt(less.var() / len(less) + 9 * LEVEL * (1 - LEVEL) * (1 / n_null + 1 / 20_000))


@pytest.mark.parametrize(("estimator", "n_null", "n_draws"), CASES, ids=[repr(case[0]) for case in CASES])
def test_size_is_exact_and_power_is_not_one_percent_less_than_that_of_rows(estimator, n_null, n_draws):
    found = rates(estimator, n_null, n_draws)
    size = found.pop("calibrated")[0].mean()
    assert abs(size - LEVEL) <= 4 * np.sqrt(LEVEL * (1 - LEVEL) * (1 / n_draws + 1 / 20_000))
    for name, (cells, rows) in found.items():
        less, error = loss(cells, rows, n_null)
        assert less <= 0.01 + 4 * error, (name, less, error)
        assert cells.mean() > 0.15, name  # what is not calibrated is found


def test_a_single_cell_is_blind_to_a_stretch(monkeypatch):
    """The negative control: the mean residual alone has less power, and the comparison sees it."""
    monkeypatch.setattr(pooled, "most_cells", lambda _: 1)
    less, error = loss(*rates(cs.Kuiper(), 2000, 800)["stretch"], 2000)
    assert less > 0.01 + 4 * error
