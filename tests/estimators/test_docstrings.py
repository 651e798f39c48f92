"""What the docstring of every public estimator says."""

from __future__ import annotations

import inspect
import re

import pytest

import calibstat as cs

PUBLIC = [getattr(cs, name) for name in cs.__all__]
ESTIMATORS = [each for each in PUBLIC if inspect.isclass(each) and issubclass(each, cs.Estimator)]
CONCRETE = [each for each in ESTIMATORS if not each.__abstractmethods__]
# A function of the user's own has no formula and no paper; a family and a table have no formula of their own.
NO_FORMULA = (cs.Generic, cs.Family, cs.HistogramRegression)
each_estimator = pytest.mark.parametrize("estimator", CONCRETE, ids=lambda each: each.__name__)

YEAR = re.compile(r"\b(18|19|20)\d\d[a-z]?\b")
# Words that say what is wrong with a number, or when it must not be trusted.
WEAKNESS = re.compile(
    r"bias|weak|blind|los(es|t)\b|nois|dominate|sensitive|not zero|does not|not (a size|strictly)|cannot|depends on|"
    r"rejects too|(no|little) power|small levels|too (small|large)|separated|cancel|nothing about|says little|"
    r"smooths away|mixes|rough",
    re.IGNORECASE,
)


@each_estimator
def test_cost_and_source_are_named(estimator):
    text = inspect.getdoc(estimator)
    assert "O(" in text, "no cost in n"
    if estimator is not cs.Generic:
        assert YEAR.search(text.split("Examples\n---")[0]), "no source with a year"


@each_estimator
def test_weaknesses_are_named(estimator):
    assert WEAKNESS.search(inspect.getdoc(estimator))


@each_estimator
def test_formula_and_example_are_there(estimator):
    text = inspect.getdoc(estimator)
    assert ">>>" in text
    assert ".. math::" in text or estimator in NO_FORMULA


@each_estimator
def test_parameters_are_documented(estimator):
    text = inspect.getdoc(estimator)
    for name in inspect.signature(estimator).parameters:
        if name != "quantity":
            assert re.search(rf"^(\w+, )*{name}\b.* : ", text, re.MULTILINE), name


@each_estimator
def test_the_estimand_is_declared_and_described(estimator):
    found = inspect.getattr_static(estimator, "estimand")
    assert isinstance(found, property)
    assert inspect.getdoc(found.fget)
    assert estimator.quantity if isinstance(estimator.quantity, str) else inspect.getdoc(estimator.quantity.fget)


def test_a_docstring_without_a_source_is_found():
    """The negative control."""
    assert not YEAR.search("Mean of 1024 numbers. O(n).")
    assert not WEAKNESS.search("A mean of numbers.")
