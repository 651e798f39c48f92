"""An entry of the registry, what it says of its thing, and samples that fit it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np

import calibstat as cs
from calibstat.data.sample import Predictions

# Labels whose order is not the alphabet's, so that positions cannot pass for labels.
LABELS = ("b", "a", "d", "c", "e")
TWO = (2,)
ANY = (2, 3, 4, 5)
MANY = (3, 4, 5)
# A tree that splits its first column at 2.5 and, above, the second at 0.45.
TREE = {
    "left": [1, -1, 3, -1, -1],
    "right": [2, -1, 4, -1, -1],
    "feature": [0, -2, 1, -2, -2],
    "threshold": [2.5, -2, 0.45, -2, -2],
}


@dataclass(frozen=True, repr=False)
class Entry:
    """One thing to which the laws apply; the defaults are those of a plug-in estimator that gives a number.

    Parameters
    ----------
    thing : Lens, Binning, Estimator, Null or Resampler
    classes : tuple of int
        The numbers of classes of samples that fit.
    cells_move_with : {"nothing", "repeats", "weights"}
        Whether repeating rows, or even weighting them, moves the cells (or the bandwidth, the knots, the points).
    pairs : bool
        Whether a row of weight two is not two rows: the value is made of pairs of different rows, is divided by a
        standard deviation under the null, or interpolates between rows.
    signed : bool
        Whether the value may be negative.
    odd : bool or None
        Whether it changes its sign with all residuals, or is the same (False); None if it is another value.
    ordered : bool
        Whether rows count in the order in which they come.
    fitted : bool
        Whether the numbers come from an iteration, which ends wherever it ends on samples without a maximum.
    neutral : float or None
        The value of the estimand where chances are the predictions; None where there is no such value.
    scalar : bool
        Whether the value is a number.
    record : bool
        Whether users see the numbers as a frozen record.
    headline : bool
        Whether there is one number that a test is about.
    chances, weighted : bool
        Whether it can be evaluated on known chances, and on weighted rows.
    evaluable : bool
        Whether the repr can be evaluated in the namespace of the package.
    empty_cells : bool
        Whether a binning keeps cells without rows.
    naive : callable, optional
        Takes the thing and a sample, as seen through its lens, and computes the same with plain loops, where there is
        no naive version in ``tests/reference``: the number from the formula of the paper, the cell of each row. For a
        lens it takes the sample before it and gives the code of each row.
    """

    thing: Any
    classes: tuple[int, ...] = TWO
    cells_move_with: Literal["nothing", "repeats", "weights"] = "nothing"
    pairs: bool = False
    signed: bool = False
    odd: bool | None = False
    ordered: bool = False
    fitted: bool = False
    neutral: float | None = 0.0
    scalar: bool = True
    record: bool = False
    headline: bool = True
    chances: bool = True
    weighted: bool = True
    evaluable: bool = True
    empty_cells: bool = False
    naive: Callable[[Any, cs.Sample], Any] | None = None

    @property
    def name(self) -> str:
        return repr(self.thing)

    def __repr__(self) -> str:
        """Show what is said of the thing, and no defaults: hypothesis prints it where a law fails."""
        said = [f"{each.name}={getattr(self, each.name)!r}" for each in fields(self)[1:]]
        defaults = [f"{each.name}={each.default!r}" for each in fields(self)[1:]]
        return f"Entry({', '.join([self.name, *(each for each in said if each not in defaults)])})"

    @property
    def core(self) -> type:
        """The class of an estimator behind its lens."""
        return type(self.thing.core)

    def sample(self, seed: int = 0, n: int = 40, weighted: bool = False) -> cs.Sample:
        """Make a sample that fits."""
        return make_sample(self.classes[-1], seed=seed, n=n, weighted=weighted)

    def numbers(self, sample: cs.Sample) -> Any:
        """Give everything that the estimator computes of a sample, as an array."""
        return self.thing.prepare(sample.predictions)(sample.outcomes)


# By which flags an entry is left out of a law, or asks less of it, or more: said where the law fails.
FLAGS = {
    "test_evaluating_a_batch_of_weights_is_evaluating_each": ("weighted",),
    "test_evaluating_a_batch_of_chances_is_evaluating_each": ("chances",),
    "test_the_value_does_not_depend_on_the_order_of_rows": ("ordered", "fitted"),
    "test_cells_are_numbered_and_equal_rows_share_one": ("empty_cells",),
    "test_one_hot_chances_give_the_value_of_the_labels": ("chances", "fitted"),
    "test_the_predictions_themselves_as_chances_give_zero": ("neutral", "pairs", "headline"),
    "test_generic_agrees_on_labels": ("scalar",),
    "test_generic_agrees_on_weights_where_they_do_not_move_cells": ("cells_move_with", "scalar"),
    "test_the_repr_makes_the_thing_again": ("evaluable",),
    "test_a_calibrated_world_has_no_miscalibration_to_estimate": ("neutral", "headline", "chances"),
    "test_many_classes_are_refused_with_the_lens_that_helps": ("classes",),
    "test_the_observed_value_is_replicate_zero": ("scalar", "record"),
    "test_only_values_with_a_sign_are_ever_negative": ("signed",),
    "test_a_test_is_about_the_headline": ("headline",),
    "test_functions_of_residuals_know_what_a_sign_does": ("odd",),
    "test_unit_weights_change_nothing": ("weighted", "fitted"),
    "test_a_common_factor_changes_nothing": ("weighted", "fitted"),
    "test_whole_weights_are_repeated_rows": ("pairs", "cells_move_with"),
    "test_rows_without_weight_are_not_there": ("cells_move_with", "ordered"),
    "test_statistics_of_pairs_tell_a_weight_of_two_from_two_rows": ("pairs",),
    "test_no_weight_gives_nan": ("weighted",),
    "test_weights_matter": ("weighted",),
}


def way_out(law: str) -> str:
    """Say by which flags of an `Entry` a law asks something else of a thing, in the words of its docstring."""
    words = (Entry.__doc__ or "").partition("----------\n")[2]
    said = [
        part
        for part in re.split(r"\n(?=    \w)", words)
        if set(re.findall(r"\w+", part.split(" :")[0])) & {*FLAGS[law]}
    ]
    return "A fault, unless this is how the thing is meant. Then its Entry says so:\n" + "\n".join(said)


def parts(thing: Any) -> list[Any]:
    """The thing and everything that it holds."""
    found = [thing]
    for field in fields(thing):
        held = getattr(thing, field.name)
        for each in held if isinstance(held, tuple) else [held]:
            if hasattr(each, "__dataclass_fields__"):
                found += parts(each)
    return found


def make_sample(n_classes: int, *, seed: int = 0, n: int = 40, weighted: bool = False) -> cs.Sample:
    """Make a sample of smooth predictions, not quite calibrated, with the variables "age" and "sex"."""
    rng = np.random.Generator(np.random.PCG64(seed))
    rows = rng.dirichlet(np.ones(n_classes), size=n)
    truths = 0.8 * rows + 0.2 / n_classes
    outcomes = (rng.random((n, 1)) > np.cumsum(truths, axis=1)[:, :-1]).sum(axis=1)
    return cs.Sample(
        np.array(LABELS)[outcomes],
        rows,
        variables={"age": rng.integers(0, 8, n).astype(float), "sex": np.array(["f", "m"])[rng.integers(0, 2, n)]},
        sample_weight=rng.integers(1, 4, n) / 2 if weighted else None,
        labels=LABELS[:n_classes],
    )


def older(predictions: Predictions) -> np.ndarray:
    """A region made by a function."""
    return predictions.variables["age"].values >= 3


def gap(sample: cs.Sample) -> float:
    """A function of a sample: the weighted mean residual, without its sign."""
    residual = sample.outcomes - sample.predictions.event
    return abs(np.average(residual, weights=sample.predictions.weights))
