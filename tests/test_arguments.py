"""One word for one thing, in one order: the arguments of every public callable, and the options of every command."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest

import calibstat as cs
from calibstat.cli.main import COMMANDS, build_parser
from calibstat.displays._style import Display
from calibstat.inference.results import Result

# The order in which arguments that many callables share are written: what is asked about, the question, how it is
# judged. It holds for those that are given by position, and for those that are given by name.
ORDER = [
    *("sample", "y_true", "y_prob", "variables", "sample_weight", "labels"),
    *("lens", "estimator", "binning", "bandwidth", "kernel"),
    *("null", "adjust", "standardize", "level", "confidence_level", "n_resamples", "rng", "ax", "name"),
]
# Words of other packages, and of our own before, for what has one name here.
NOT_USED = {
    **dict.fromkeys(["seed", "random_seed"], "rng"),
    **dict.fromkeys(["alpha_level", "significance", "sig_level"], "level"),
    **dict.fromkeys(["confidence_levels", "ci_level", "conf_level"], "confidence_level"),
    **dict.fromkeys(["n_boot", "n_bootstrap", "n_permutations", "n_draws"], "n_resamples"),
    **dict.fromkeys(["n_runs", "n_sim", "n_simulations"], "n_repeats"),
    **dict.fromkeys(["bins", "num_bins", "nbins"], "n_bins"),
    **dict.fromkeys(["eps", "clip", "epsilon"], "smallest"),
    **dict.fromkeys(["n_folds", "folds", "k_folds"], "cv"),
    **dict.fromkeys(["metric", "measure_of"], "estimator"),
    "tree_depth": "max_depth",
    "ds": "result",
}
# Where another place of an argument has a reason.
EXCUSED = {
    "compare_calibrators": "calibrators come first, and y_true is a keyword too",
    "Monitor": "most people give the bets, few the level",
    "Monitor.update": "predictions come first, and labels when they are known",
    "DifferenceMonitor.update": "the same",
}
# What null distributions and resamplers draw comes before what it is drawn on.
DRAWING = (cs.Null, cs.Resampler)
FROM_OUTSIDE = ("fit", "predict", "predict_proba", "score")  # as scikit-learn has them


def callables() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every public function, constructor and method, but constructors of what nobody makes by hand."""
    for home in (cs, *(getattr(cs, each) for each in cs._SUBPACKAGES if each != "results")):
        for name in home.__all__:
            found = getattr(home, name)
            if not isinstance(found, type):
                yield name, found
            elif not issubclass(found, DRAWING):
                if not (issubclass(found, (Display, Result, tuple)) or inspect.isabstract(found)):
                    yield name, found
                yield from (
                    (f"{name}.{method}", getattr(found, method))
                    for method in vars(found)
                    if not method.startswith("_") and callable(getattr(found, method)) and method not in FROM_OUTSIDE
                )


def words(found: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The arguments of a callable by name; none where Python does not tell, as for exceptions."""
    try:
        given = inspect.signature(found).parameters
    except ValueError:
        return {}
    return {name: each for name, each in given.items() if name not in ("self", "cls")}


CALLABLES = {name: words(found) for name, found in callables()}


def out_of_order(arguments: dict[str, inspect.Parameter]) -> list[tuple[str, str]]:
    """Pairs of common arguments that stand the other way round."""
    wrong = []
    for by_name in (False, True):
        kinds = {name: each.kind == inspect.Parameter.KEYWORD_ONLY for name, each in arguments.items() if name in ORDER}
        common = [name for name, keyword in kinds.items() if keyword == by_name]
        wrong += [(a, b) for a, b in pairwise(common) if ORDER.index(a) > ORDER.index(b)]
    return wrong


def test_common_arguments_come_in_one_order():
    wrong = {name: out_of_order(arguments) for name, arguments in CALLABLES.items() if name not in EXCUSED}
    assert {name: pairs for name, pairs in wrong.items() if pairs} == {}


def test_another_order_is_seen():
    assert out_of_order(words(lambda sample, lens, *, rng, level: 0)) == [("rng", "level")]


def test_one_word_for_one_thing():
    used = [(name, word, NOT_USED[word]) for name, given in CALLABLES.items() for word in given if word in NOT_USED]
    assert used == []


@pytest.mark.parametrize(("word", "default"), [("level", 0.05), ("confidence_level", 0.95)])
def test_one_default_wherever_it_is_left_out(word, default):
    """But for the Monte Carlo interval of a p-value, which is about how many redraws to make."""
    given = {name: words[word].default for name, words in CALLABLES.items() if word in words}
    assert given.pop("EmpiricalNull.pvalue_interval", 0.99) == 0.99
    assert {each for each in given.values() if each is not inspect.Parameter.empty} == {default}


def test_what_judges_a_sample_takes_it_first():
    functions = {name: [*CALLABLES[name]] for name in cs.__all__ if inspect.isfunction(getattr(cs, name))}
    first = {name: given[0] for name, given in functions.items() if "sample" in given and name not in EXCUSED}
    assert set(first.values()) == {"sample"}
    assert len(first) > 15


# The command line.


def options() -> dict[str, dict[tuple[Any, ...], list[str]]]:
    """What each option takes, with the commands that have it so."""
    found: dict[str, dict[tuple[Any, ...], list[str]]] = {}
    for command in COMMANDS:
        parser = build_parser((command,))
        chosen = next(each for each in parser._actions if isinstance(each, argparse._SubParsersAction)).choices[command]
        for each in chosen._actions:
            takes = (each.type, each.metavar, None if each.choices is None else tuple(each.choices))
            for option in each.option_strings:
                found.setdefault(option, {}).setdefault(takes, []).append(command)
    return found


def test_an_option_means_the_same_in_every_command():
    """But for the formats, which are those of what a command writes, and for the place where it writes."""
    several = {option: ways for option, ways in options().items() if len(ways) > 1}
    assert set(several) == {"--format", "--out"}
