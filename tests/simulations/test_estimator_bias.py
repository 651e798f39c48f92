"""The study of bias has every estimator with a truth, and tells the unbiased from the others."""

from __future__ import annotations

import pytest

import calibstat as cs
from calibstat import Sweep, summarise
from simulations import estimator_bias as study


@pytest.fixture(scope="module")
def found():
    estimators = study.with_a_truth()
    sweep = Sweep(study.WORLDS, n=[100], n_bins=[5, 15], estimators=estimators, n_repeats=30, rng=0)
    return {"estimates": sweep.run(progress=False)}


def test_every_estimator_has_a_value_and_a_truth(found):
    dataset = found["estimates"]
    assert dataset.sizes["estimator"] >= 36
    assert (dataset["error"] == "").all()
    assert dataset["truth"].notnull().all()
    assert dataset["estimate"].notnull().all()


def test_test_statistics_are_left_out():
    names = set(study.with_a_truth())
    assert {"ECE", "DebiasedL2", "PDE", "ICI", "Kuiper", "SmoothECE", "PearsonCE"} <= names
    assert names.isdisjoint({"HosmerLemeshow", "Spiegelhalter", "MultiscaleL2", *study.OTHER_NAMES})
    assert all(callable(each) or isinstance(each, cs.Estimator) for each in study.with_a_truth().values())


def test_the_unbiased_are_told_from_the_others(found):
    summary = summarise(found["estimates"])
    unbiased = study.without_bias(summary, "truth")
    assert {"BrierScore", "LogScore", "SKCE, unbiased"} <= set(unbiased)
    of_cells = study.without_bias(summary, "limit")
    assert {"DebiasedCE", "DebiasedL2"} <= set(of_cells)
    assert {"ECE", "PDE", "RMSCE", "Jackknifed ECE"}.isdisjoint({*unbiased, *of_cells})
    assert study.EstimatorBias.text(found).startswith(
        f"Of {summary.sizes['estimator']} estimators {len(unbiased)} show"
    )
