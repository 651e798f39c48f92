"""Functions with a compiled twin: which of the two is called, and what is said where the twin cannot be had."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from importlib import import_module
from pkgutil import walk_packages
from types import ModuleType

import pytest

import calibstat as cs
from calibstat import _compiled as compiled
from calibstat._threads import _allowed, threads


def double(number):
    return "numpy", 2 * number


@pytest.fixture
def made_up(monkeypatch):
    """A module with a numpy function, and one with its twin, which are not there on disk."""
    home, twins = ModuleType("made_up_home"), ModuleType("made_up_twins")
    twins.double = lambda number: ("twin", 2 * number) if number < 10 else NotImplemented
    for module in (home, twins):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(compiled, "find_spec", lambda _: "numba is here")
    monkeypatch.setattr(compiled, "_twins", {})
    monkeypatch.setattr(compiled, "_setting", compiled._Setting())  # whatever other tests left
    monkeypatch.setattr(double, "__module__", home.__name__)
    home.double = compiled.has_twin("made_up_twins:double")(double)
    yield home
    cs.accelerate(False)


def test_the_twin_stands_in_while_acceleration_is_on(made_up):
    assert made_up.double(2) == ("numpy", 4)
    cs.accelerate()
    assert made_up.double(2) == ("twin", 4)
    assert made_up.double(number=2) == ("twin", 4)
    cs.accelerate(False)
    assert made_up.double(2) == ("numpy", 4)


def test_a_twin_may_leave_arguments_to_numpy(made_up):
    cs.accelerate()
    assert made_up.double(11) == ("numpy", 22)


def test_nothing_stands_between_while_it_is_off(made_up):
    assert made_up.double is double
    cs.accelerate()
    assert made_up.double.__wrapped__ is double
    cs.accelerate(False)
    assert made_up.double is double


def test_what_is_defined_while_it_is_on_is_accelerated_at_once(made_up):
    cs.accelerate()
    assert compiled.has_twin("made_up_twins:double")(double)(2) == ("twin", 4)


def test_threads_are_those_asked_for(made_up):
    cs.accelerate(n_threads=3)
    assert threads() == 3
    cs.accelerate(False)
    assert threads() == _allowed()


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, "2"])
def test_a_number_of_threads_is_a_whole_number(wrong):
    with pytest.raises(ValueError, match="n_threads is"):
        cs.accelerate(n_threads=wrong)


def test_without_numba_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(compiled, "find_spec", lambda _: None)
    with pytest.raises(ImportError, match=r"calibstat\[accel\]"):
        cs.accelerate()
    cs.accelerate(False)  # needs nothing


@pytest.mark.parametrize("wrong", ["0", 1, None])
def test_on_is_true_or_false(wrong):
    with pytest.raises(ValueError, match="True or False"):
        cs.accelerate(wrong)


def test_a_word_in_the_environment_that_says_neither_is_refused():
    with pytest.raises(ValueError, match="CALIBSTAT_ACCEL is 'maybe'"):
        compiled._wanted("maybe")


@pytest.mark.parametrize(("setting", "expected"), [("1", "True"), ("true", "True"), ("0", "False"), ("", "False")])
def test_the_environment_turns_it_on(setting, expected):
    code = "from calibstat._compiled import _setting; print(_setting.on)"
    environment = {**os.environ, "CALIBSTAT_ACCEL": setting}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == expected


def everything():
    """All modules, imported."""
    names = [module.name for module in walk_packages(cs.__path__, "calibstat.") if not module.name.endswith("__main__")]
    return [import_module(name) for name in names]


def test_every_twin_is_there_and_takes_the_same_arguments():
    pytest.importorskip("numba")
    everything()
    assert compiled._twins
    for function, twin in compiled._twins.items():
        module, other = twin.split(":")
        assert module.startswith("calibstat._fast."), twin
        expected = list(inspect.signature(function).parameters)
        found = list(inspect.signature(getattr(import_module(module), other)).parameters)
        assert found == expected or (expected[0] == "self" and found[1:] == expected[1:]), twin


def test_no_module_holds_a_function_with_a_twin_that_another_defines():
    """Such a name would stay as it was when `accelerate` switches."""
    for module in everything():
        for name, thing in vars(module).items():
            if inspect.isfunction(thing) and thing in compiled._twins:
                assert thing.__module__ == module.__name__, f"{module.__name__}.{name}"
