"""Lenses are blind to what they cannot see, and only to that."""

from __future__ import annotations

import numpy as np
import pytest

from simulations import lens_blindness as study
from suites import slow_but

SOME = ("cancels in every part", "over a variable", "second best too sure")


@pytest.fixture(scope="module")
def truths():
    return study.TrueErrors(SOME)(np.random.default_rng(0))


def test_example_1_is_seen_by_the_canonical_lens_alone(truths):
    own = truths["value"].sel(error="cancels in every part")
    assert own.sel(lens="canonical").item() == pytest.approx(0.1)
    assert (own.sel(lens=["top label", "top two", "class 0", "class 0 or 1"]) < 1e-12).all()


def test_an_error_over_a_variable_is_seen_given_it_alone(truths):
    own = truths["value"].sel(error="over a variable")
    assert own.sel(lens=study.GIVEN).item() == pytest.approx(0.08)
    assert (own.sel(lens=["canonical", "top label", "class 0"]) < 1e-12).all()
    assert own.sel(lens=["top two", "class 0 or 1"]).isnull().all()


def test_the_second_best_class_is_seen_by_more_than_the_top_label(truths):
    own = truths.sel(error="second best too sure")
    assert own["value"].sel(lens="top label") < 1e-12
    assert own["value"].sel(lens="canonical") > 0.04
    assert own["bound"].sel(lens="top two")


@pytest.mark.parametrize("error", slow_but(SOME, study.CLASSES))
def test_no_lens_sees_more_than_the_canonical_one(error, truths):
    found = truths if error in SOME else study.TrueErrors((error,))(np.random.default_rng(0))
    within = found["value"].sel(error=error, lens=list(study.LENSES))
    assert (within <= within.sel(lens="canonical") + 1e-9).all()


def test_the_second_class_moves_halfway_and_the_first_stays():
    rows = np.array([[0.1, 0.6, 0.3], [0.2, 0.3, 0.5]])
    assert np.allclose(study.second_to_last(rows), [[0.15, 0.6, 0.25], [0.225, 0.275, 0.5]])
