"""Tables of names."""

from __future__ import annotations

import pytest

import calibstat as cs
from calibstat.cli.names import ESTIMATORS, estimator_name
from calibstat.cli.panel import CLASS_WISE_UP_TO, default_lenses


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_is_public_and_gives_a_number(name):
    sample = cs.Sample([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    assert isinstance(getattr(cs, name)(cs.FixedEdges([0, 0.5, 1]))(sample), float)


def test_every_estimator_of_one_binning_that_gives_a_number_is_there():
    sample = cs.Sample([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4])
    found = set()
    for name in cs.__all__:
        public = getattr(cs, name)
        fields = getattr(public, "__dataclass_fields__", {})
        if isinstance(public, type) and issubclass(public, cs.Estimator) and "binning" in fields:
            value = public(cs.FixedEdges([0, 0.5, 1]))(sample)
            found |= {name} if isinstance(value, float) else set()
    assert found == set(ESTIMATORS)


@pytest.mark.parametrize("name", ["debiasedl2", "Debiased-L2", "DEBIASED_L2", "DebiasedL2"])
def test_case_and_hyphens_do_not_matter(name):
    assert estimator_name(name) == "DebiasedL2"


def test_default_lenses():
    assert default_lenses(2) == ("canonical",)
    assert default_lenses(3) == default_lenses(CLASS_WISE_UP_TO) == ("top-label", "canonical", "class-wise")
    assert default_lenses(CLASS_WISE_UP_TO + 1) == ("top-label", "canonical")
