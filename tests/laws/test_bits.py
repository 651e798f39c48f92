"""Law 1, bit for bit: what is evaluated beside a replicate changes no digit of it.

Products of matrices are the exception: libraries of linear algebra add up in another order for another number of rows.
"""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from registry import ESTIMATORS, first_of_its_class, make_sample, parts
from suites import slow_but

# Estimators that multiply all replicates by one matrix.
PRODUCTS = (
    *(cs.KDECE, cs.SKCE, cs.KCE, cs.UCME, cs.CME, cs.LogitScore, cs.VectorScalingScore, cs.Cox, cs.LOESS),
    *(cs.StandardizedL2, cs.MultiscaleL2, cs.SmoothECE),
)
LAST_DIGITS = dict(rtol=1e-9, atol=1e-11)

# Replicates, those taken one by one, and seven on both sides of where weights begin to leave cells empty.
R, ALONE, SEVEN = 100, (0, 3, 50, 77), slice(47, 54)
N = 60


def seen_by(entry, n_classes):
    sample = make_sample(n_classes, seed=1, n=N)
    return entry.thing.lens(sample) if entry.thing.lens.parts else sample


def multiplies(entry):
    """Whether values come from products of matrices with all replicates."""
    return any(isinstance(part, PRODUCTS) for part in parts(entry.thing))


def labels_of(sample, rng):
    """Labels as predicted, of one class but for a row, and all equal."""
    n_classes = sample.predictions.n_classes
    labels = (rng.random((R, len(sample), 1)) > np.cumsum(sample.predictions.chances, axis=1)[:, :-1]).sum(axis=-1)
    labels[[0, 50]], labels[[3, 77]] = 0, n_classes - 1
    labels[77, 0] = 0
    return labels


def weights_of(sample, rng):
    """First without zeros, then with whole regions of zeros, so that cells are empty."""
    weights = rng.integers(1, 4, (R, len(sample))).astype(float)
    score = sample.predictions.probabilities[:, -1]
    weights[R // 2 :] *= score > np.linspace(0.05, 0.6, R - R // 2)[:, None]
    weights[R // 2 :, np.argmax(score)] = 1
    return weights


def doors(entry, sample, evaluate):
    """Each way to evaluate replicates, with what moves."""
    rng = np.random.default_rng(2)
    labels, offers = labels_of(sample, rng), evaluate.capabilities
    yield evaluate, (labels,)
    if entry.weighted:
        weights = weights_of(sample, rng)
        yield evaluate, (labels, weights)
        yield lambda each: evaluate(sample.outcomes, each), (weights,)
    if entry.chances:
        yield evaluate, (rng.dirichlet(np.ones(sample.predictions.n_classes), (R, len(sample))),)
    if entry.thing.residual_form != "none":
        signs = 2.0 * rng.integers(0, 2, (R, len(sample))) - 1
        if offers.signed is not None:
            yield lambda each: offers.signed(sample.outcomes, each), (signs,)
    if offers.tally is not None and offers.tally.from_counts:
        counts = offers.tally(labels).outcome
        yield offers.from_tally, (counts,)
        yield offers.from_tally, (np.asfortranarray(counts),)


@pytest.mark.parametrize("entry", slow_but(first_of_its_class, ESTIMATORS), ids=lambda entry: entry.name)
@pytest.mark.filterwarnings("ignore")
def test_a_replicate_has_the_same_bits_alone_and_among_others(entry):
    for n_classes in sorted({entry.classes[0], entry.classes[-1]}):
        sample = seen_by(entry, n_classes)
        evaluate = entry.thing.core.prepare(sample.predictions)
        agree = last_digits if multiplies(entry) else np.testing.assert_array_equal
        with np.errstate(all="ignore"):
            for door, moved in doors(entry, sample, evaluate):
                whole = door(*moved)
                agree(door(*(each[SEVEN] for each in moved)), whole[SEVEN])
                for i in ALONE:
                    agree(door(*(each[i] for each in moved)), whole[i])
                    agree(door(*(each[i : i + 1] for each in moved)), whole[i : i + 1])


def last_digits(found, expected):
    np.testing.assert_allclose(found, expected, **LAST_DIGITS)


def test_no_exception_is_stale():
    registered = {type(part) for entry in ESTIMATORS for part in parts(entry.thing)}
    assert registered.issuperset(PRODUCTS)
