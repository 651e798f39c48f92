"""A store tells what it holds from what looks like it."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import calibstat as cs
from calibstat.generators import GaussianMixture
from calibstat.sweeps._grid import UNTOLD, described
from calibstat.sweeps.sweep import Sweep


class Measure:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, y_true, y_prob):
        return self.factor * y_true.mean()

    def method(self, y_true, y_prob):
        return self.factor


def made(source, name="measure"):
    """Run a module's source, and return a function of it."""
    scope = {"__name__": "module_of_a_user"}
    exec(compile(source, "module_of_a_user.py", "exec"), scope)
    return scope[name]


def sweep(measure):
    estimators = {"m": lambda n_bins: measure}
    return Sweep(GaussianMixture(1, 1), n=[10], estimators=estimators, n_repeats=2, rng=0)


HELPER = "FACTOR = {factor}\ndef helper(y):\n    return {factor2} * y.mean()\n"
USER = HELPER + "def measure(y_true, y_prob):\n    return FACTOR * helper(y_true)\n"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Measure(1.0), Measure(7.0)),
        (Measure(np.arange(3000.0)), Measure(np.arange(3000.0) + (np.arange(3000) == 1500))),
        (Measure(1.0).method, Measure(7.0).method),
        (Measure({"a": [1, 2]}), Measure({"a": [1, 3]})),
        (functools.partial(Measure(1.0), y_prob=0), functools.partial(Measure(1.0), y_prob=1)),
        (functools.partial(lambda f, y, p: f, 1), functools.partial(lambda f, y, p: 2 * f, 1)),
        (made(USER.format(factor=1, factor2=1)), made(USER.format(factor=2, factor2=1))),
        (made(USER.format(factor=1, factor2=1)), made(USER.format(factor=1, factor2=2))),
        (lambda y, p: max(v for v in (1, 2)), lambda y, p: max(v * 2 for v in (1, 2))),
        (lambda y, p, k=1: k, lambda y, p, k=2: k),
        (lambda y, p, *, k=1: k, lambda y, p, *, k=2: k),
    ],
)
def test_things_that_differ_are_told_apart(first, second):
    assert described(first) != described(second)


def test_a_store_refuses_an_object_with_another_attribute(tmp_path):
    kept = sweep(Measure(1.0)).run(store=tmp_path / "s", progress=False).load()
    again = sweep(Measure(1.0)).run(store=tmp_path / "s", progress=False)
    assert (kept["estimate"].values == again["estimate"].values).all()
    with pytest.raises(ValueError, match="another study: estimators"):
        sweep(Measure(7.0)).run(store=tmp_path / "s", progress=False)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Measure(np.arange(5)),
        lambda: made(USER.format(factor=1, factor2=1)),
        lambda: made("\n\n" + USER.format(factor=1, factor2=1)),
        lambda: cs.ECE(cs.EqualMass(5)),
        lambda: functools.partial(Measure(1.0), y_prob=0),
    ],
)
def test_the_same_thing_made_twice_is_the_same(make):
    assert described(make()) == described(make())
    assert " at 0x" not in described(make())


def test_what_a_function_stands_at_is_not_what_it_is():
    source = USER.format(factor=1, factor2=1)
    assert described(made(source)) == described(made("\n\n\n" + source))


def test_a_function_that_calls_itself_is_told():
    assert described(made("def measure(y, p):\n    return measure(y, p)\n"))


def test_an_estimator_is_its_repr():
    assert described(cs.TopLabel() | cs.ECE(cs.EqualMass(5))) == repr(cs.TopLabel() | cs.ECE(cs.EqualMass(5)))


def test_an_object_of_which_nothing_can_be_told_needs_no_store(tmp_path):
    class Opaque:
        secret = None

        def __call__(self, y_true, y_prob):
            return 3.0

    opaque = Opaque()
    opaque.secret = object()
    assert UNTOLD in described(object())
    assert (sweep(opaque).run(progress=False)["estimate"] == 3).all()
    with pytest.raises(TypeError, match=r"give its class a __repr__"):
        sweep(opaque).run(store=tmp_path / "s", progress=False)
    assert not (tmp_path / "s").exists()
