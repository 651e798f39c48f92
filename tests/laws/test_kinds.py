"""Law: a parameter of the wrong kind is refused when the object is made, and the message says what was found."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest

import calibstat as cs
import calibstat.generators as gen
from calibstat.data.parameters import HasParameters
from registered.entries import TREE

# Arguments with which each class can be made, where not all of them have defaults.
ECE = cs.ECE()
FITTED = cs.calibrators.Platt().fit(np.linspace(0.1, 0.9, 20), np.arange(20) % 2)
NEEDED = {
    "AUCV": {"binning": cs.EqualMass(5)},
    "BetaPredictions": {"a": 1, "b": 2},
    "BrierDecomposition": {"binning": cs.EqualMass(5)},
    "Bump": {"centre": 0.5, "width": 0.02, "height": 0.01},
    "ClassWise": {"label": 1},
    "Classified": {"world": gen.RegressionFunction(), "classifier": lambda X: np.full(len(X), 0.5), "breaks": ([], [])},
    "ClippedTails": {"c": 0.1},
    "Conditioned": {"world": gen.BetaPredictions(1, 1), "h": lambda rows: rows.event > 0.5},
    "Cubic": {"a": 1},
    "DebiasedCE": {"binning": cs.EqualMass(5)},
    "Clustered": {"world": gen.BetaPredictions(1, 1), "size": 8, "correlation": 0.3},
    "DifferenceMonitor": {"names": ("old", "new")},
    "DirichletPredictions": {"alpha": [1, 2, 3]},
    "EachClass": {"estimator": ECE},
    "Empirical": {"y_prob": [0.2, 0.4]},
    "EqualMass": {"n_bins": 5},
    "EqualWidth": {"n_bins": 5},
    "ExpectedMiscalibration": {"binning": cs.EqualMass(5)},
    "Family": {"members": {"ece": ECE}},
    "FinitePredictions": {"predictions": [[0.5, 0.5]], "truths": [[0.4, 0.6]]},
    "FixedEdges": {"edges": [0, 0.5, 1]},
    "GaussianMixture": {"beta0": 0, "beta1": 1},
    "Generic": {"function": len},
    "HoelderBumps": {"smoothness": 0.5, "n_bumps": 3, "scale": 0.1},
    "Jackknifed": {"estimator": ECE},
    "KDECE": {"bandwidth": 0.1},
    "LogitShift": {"a": 1},
    "Lp": {"p": 2},
    "MaximumMiscalibration": {"binning": cs.EqualMass(5)},
    "MatrixMap": {"matrix": [[1, 0], [0, 1]]},
    "Mixture": {"weight": 0.2, "distribution": [0.5, 0.5]},
    "ModelPair": {"sharpness": (1, 2), "recalibrations": (gen.Identity(), gen.Slope(2))},
    "NeighborAUCV": {"n_neighbors": 3},
    "PairSwap": {"d": 0.1},
    "Partition": {"groups": [[0], [1]]},
    "Recalibrated": {"world": gen.BetaPredictions(1, 1), "calibrator": FITTED},
    "Region": {"predicate": lambda predictions: predictions.event > 0.5},
    "SimplexGrid": {"n_bins": 3},
    "Slope": {"b": 2},
    "Sweep": {"models": gen.BetaPredictions(1, 1), "n": [50], "estimators": {"ece": ECE}},
    "TemperatureShift": {"T": 2},
    "TopK": {"k": 1},
    "TreeLeaves": {"tree": TREE, "variables": ("age", "score")},
    "VariableMiscalibration": {"ece": 0.05, "vece": 0.1},
    "Wiggle": {"cycles": 3, "amplitude": 0.1},
    "Within": {"variable": "sex", "estimator": ECE},
}
# What is passed, and the annotations that allow it.
WRONG = {
    "a number": (0.3715, r"float|Proportion|Share|Positive|NotNegative|Finite|Order|Norm|Tail|Hashable|Any"),
    "a text": ("no such thing", r"\bstr\b|Hashable"),
    "a list": ([ECE], "Any"),
    "a mapping": ({"a": 1}, "Any"),
    "None": (None, "None|Any|RNG"),
    "a class": (cs.EqualMass, "Any"),
    "an estimator": (cs.Kuiper(), "Estimator|Any"),
    "a lens": (cs.TopLabel(), "Lens|Any"),
    "a recalibration": (gen.Slope(2), "EventMap|RowMap|Recalibration|Callable|Any"),
}


def public():
    """Every public class that is made from parameters, with each of them."""
    for module in (cs, gen):
        for name in module.__all__:
            made = getattr(module, name)
            if isinstance(made, type) and issubclass(made, HasParameters) and not inspect.isabstract(made):
                for parameter in inspect.signature(made).parameters.values():
                    if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                        yield pytest.param(made, parameter, id=f"{name}-{parameter.name}")


@pytest.mark.parametrize(("made", "parameter"), list(public()))
def test_wrong_kinds_are_refused_with_what_was_found(made, parameter):
    for value, allowed in WRONG.values():
        assert_refused(made, parameter, value, allowed)


def assert_refused(made, parameter, value, allowed):
    arguments = NEEDED.get(made.__name__, {}) | {parameter.name: value}
    message = refusal(made, arguments)
    if message is None:
        assert re.search(allowed, str(parameter.annotation)), f"{made.__name__}({parameter.name}={value!r}) was made"
    else:
        shown = value.__name__ if isinstance(value, type) else repr(value)
        assert re.search(rf"\b{parameter.name.removesuffix('s')}", message), message
        words = [shown, f"of type {type(value).__name__}", "variable 'a'", "estimator 'a'", "['a'] is 1"]
        assert any(each in message for each in words), message


def refusal(made, arguments) -> str | None:
    try:
        made(**arguments)
    except (TypeError, ValueError) as error:
        return str(error)
    return None


@pytest.mark.parametrize("name", sorted(NEEDED))
def test_the_right_kinds_are_taken(name):
    assert refusal(getattr(cs, name, None) or getattr(gen, name), NEEDED[name]) is None
