"""Where a value, or a number in it, is not defined, every verb says why in words."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from calibstat.estimators.base import why_undefined
from calibstat.inference.test import has_nan
from registered.entries import LABELS
from registry import ESTIMATORS, every, make_sample

pytestmark = pytest.mark.filterwarnings("ignore")
NOWHERE = cs.Region.between("age", 100, 200)


def nasty(n_classes, names=None):
    """Samples on which estimators may have no value, by name."""
    rows = np.random.default_rng(0).dirichlet(np.ones(n_classes), 12)
    codes = np.arange(12) % n_classes
    found = {
        "one class": (np.zeros(12, dtype=int), rows),
        "one row": (codes[:1], rows[:1]),
        "two rows": (codes[:2], rows[:2]),
        "five rows": (codes[:5], rows[:5]),
        "certain and right": (codes, np.eye(n_classes)[codes]),
        "certain and wrong": ((codes + 1) % n_classes, np.eye(n_classes)[codes]),
        "separated": (rows.argmax(axis=1), rows),
        "equal": (codes, np.full_like(rows, 1 / n_classes)),
    }
    for name in names or found:
        outcomes, p = found[name]
        variables = {"age": np.arange(len(p)) % 8.0, "sex": np.array(["f", "m"])[np.arange(len(p)) % 2]}
        yield cs.Sample(np.array(LABELS)[outcomes], p, labels=LABELS[:n_classes], variables=variables)


def check(entry, sample):
    """Nothing foreign is raised, and each NaN that users see has its reason."""
    thing = entry.thing
    values = thing.prepare(sample.predictions)(sample.outcomes)
    if has_nan(thing.headline(values)) and entry.headline:
        for verb in (thing, lambda sample: cs.calibration_test(sample, thing, rng=0)):
            with pytest.raises(ValueError, match="NaN") as refused:
                verb(sample)
            assert why_undefined(thing.core) in str(refused.value)
    elif not has_nan(thing(sample)):
        return
    found = cs.estimate(sample, thing, n_resamples=19, rng=0)
    assert f"not every number of the value is defined: {why_undefined(thing.core)}" in found.notes
    assert "not defined for these rows" not in str(found)


@every(ESTIMATORS)
def test_what_is_not_defined_has_a_reason(entry):
    for sample in nasty(entry.classes[0], ["one class", "one row", "five rows"]):
        check(entry, sample)
    with pytest.raises(ValueError, match=r"no row is left .*; widen its region"):
        (NOWHERE | entry.thing)(make_sample(entry.classes[0]))


@pytest.mark.slow
@every(ESTIMATORS)
def test_what_is_not_defined_has_a_reason_on_every_sample(entry):
    for sample in nasty(entry.classes[-1]):
        check(entry, sample)
        text = str(cs.estimate(sample, entry.thing, n_resamples=19, rng=0))
        assert (
            " nan" not in text.lower()
            or "not every number of the value is defined" in text
            or "draws have no value" in text
        )


def test_draws_without_a_value_are_counted():
    """Of two rows, half of the redraws have one class."""
    sample = cs.Sample([0, 1], [0.5, 0.5])
    found = cs.calibration_test(sample, cs.AUC(), null=cs.Consistency(99), rng=0)
    (note,) = found.notes
    assert note.startswith(f"{np.isnan(found.null_distribution.samples).sum()} of 99 draws have no value (it needs")
    assert found.null_mean == 0.5
    assert cs.estimate(sample, cs.AUC(), n_resamples=99, rng=0).null_mean == 0.5


def test_a_bootstrap_of_several_numbers_or_of_none_is_refused_in_words():
    anyway = cs.Bootstrap(99, allow_invalid=True)
    with pytest.raises(ValueError, match="gives several numbers, and an interval is for one"):
        cs.estimate(make_sample(2), cs.HistogramRegression(cs.EqualWidth(3)), interval=anyway, rng=0)
    with pytest.raises(ValueError, match=r"not a number .NaN. on this sample: it needs outcomes of both classes"):
        cs.estimate(cs.Sample([1, 1], [0.3, 0.4], labels=[0, 1]), cs.AUC(), interval=anyway, rng=0)
