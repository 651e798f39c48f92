"""Predictions below every normal number have values and tests, without a warning; what they exclude is infinite."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from registry import ESTIMATORS
from suites import slow_but

TINY = {
    "all equal": np.full(50, 5e-324),
    "different": np.linspace(1, 9, 50) * 1e-310,
    "beside ones": np.where(np.arange(50) < 25, 1e-320, 1.0),
}
NAMED = (cs.LogitScore(1), cs.Cox(), cs.SKCE(), cs.BrownianBridge(), cs.ObservedToExpected())


def tiny(name, events):
    """Fifty rows, of which the first few have the event, and those with a prediction of one."""
    p = TINY[name]
    variables = {"age": 20.0 + np.arange(50), "sex": np.array(list("ab") * 25)}
    return cs.Sample(((p > 0.5) | (np.arange(50) < events)).astype(int), p, labels=[0, 1], variables=variables)


BINARY = [entry for entry in ESTIMATORS if 2 in entry.classes]


@pytest.mark.filterwarnings("ignore::calibstat.data.parameters.SmallCellsWarning")
@pytest.mark.parametrize("events", [0, 1])
@pytest.mark.parametrize("name", TINY)
@pytest.mark.parametrize("entry", slow_but(lambda entry: entry.thing in NAMED, BINARY), ids=lambda entry: entry.name)
def test_values_and_tests_of_tiny_predictions_warn_of_nothing(entry, name, events):
    sample = tiny(name, events)
    try:
        entry.thing(sample)
        found = cs.calibration_test(sample, entry.thing, null=cs.Consistency(19), rng=0)
    except ValueError:  # where nothing can be computed
        return
    assert found.pvalue >= 1 / 20
    if events and isinstance(entry.thing, cs.LogitScore):
        assert found.statistic > 1e100


@pytest.mark.parametrize("name", TINY)
def test_the_default_panel_of_tiny_predictions_sees_an_event(name):
    found = [cs.omnibus_test(tiny(name, events), n_resamples=99, rng=0).pvalue for events in (0, 1)]
    assert found[0] > 0.9
    assert found[1] == 0.01
