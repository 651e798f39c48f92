"""Hypothesis strategies: samples with everything that may break an estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import calibstat as cs
from registry import LABELS, Entry


@st.composite
def rows_of_probabilities(draw: st.DrawFn, n: int, n_classes: int) -> np.ndarray:
    """Draw (n, K) rows: small fractions with ties, exact zeros and ones, or floats without any ties."""
    if draw(st.booleans()):
        parts = draw(arrays(np.int64, (n, n_classes), elements=st.integers(0, 5)))
        parts[parts.sum(axis=1) == 0, draw(st.integers(0, n_classes - 1))] = 1
        return parts / parts.sum(axis=1, keepdims=True)
    seed, spread = draw(st.integers(0, 2**32 - 1)), draw(st.sampled_from([0.2, 1.0, 5.0]))
    return np.random.Generator(np.random.PCG64(seed)).dirichlet(np.full(n_classes, spread), size=n)


@st.composite
def samples(
    draw: st.DrawFn,
    n_classes: Sequence[int] = (2,),
    *,
    min_rows: int = 1,
    max_rows: int = 30,
    weighted: bool | None = None,
    zero_weights: bool = True,
) -> cs.Sample:
    """Draw a sample with the variables "age" (numeric, ties) and "sex" (categorical).

    Parameters
    ----------
    n_classes : sequence of int
        K is one of these.
    min_rows, max_rows : int
    weighted : bool, optional
        None means either.
    zero_weights : bool
        Whether some rows may have no weight at all.
    """
    k, n = draw(st.sampled_from(n_classes)), draw(st.integers(min_rows, max_rows))
    present = draw(st.sampled_from([range(k), [draw(st.integers(0, k - 1))]]))
    outcomes = draw(arrays(np.int64, n, elements=st.sampled_from(list(present))))
    weights = None
    if draw(st.booleans()) if weighted is None else weighted:
        weights = draw(arrays(np.float64, n, elements=st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0][not zero_weights :])))
        weights[draw(st.integers(0, n - 1))] = 2.5
    return cs.Sample(
        np.array(LABELS)[outcomes],
        draw(rows_of_probabilities(n, k)),
        variables={
            "age": draw(arrays(np.float64, n, elements=st.integers(0, 7).map(float))),
            "sex": np.array(["f", "m"])[draw(arrays(np.int64, n, elements=st.integers(0, 1)))],
        },
        sample_weight=weights,
        labels=LABELS[:k],
    )


@st.composite
def labelled(draw: st.DrawFn, sample: cs.Sample, n_replicates: int = 3) -> np.ndarray:
    """Draw replicates (R, n) of the outcomes of a sample."""
    return draw(
        arrays(np.int64, (n_replicates, len(sample)), elements=st.integers(0, sample.predictions.n_classes - 1))
    )


@st.composite
def counts(draw: st.DrawFn, n: int, n_replicates: int = 3, smallest: int = 0) -> np.ndarray:
    """Draw replicates (R, n) of row weights, small integers, as of a bootstrap; no replicate is all zero."""
    drawn = draw(arrays(np.int64, (n_replicates, n), elements=st.integers(smallest, 3))).astype(float)
    drawn[drawn.sum(axis=1) == 0, 0] = 1
    return drawn


def fitting(entry: Entry, **limits: Any) -> st.SearchStrategy[cs.Sample]:
    """Draw a sample that fits an entry of the registry: of its numbers of classes, without weights that it refuses."""
    if not entry.weighted:
        limits["weighted"] = False
    return samples(entry.classes, **limits)
