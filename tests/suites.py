"""Which cases of a test run by default, which in the slow suite, ``python -m pytest -m slow``, and which by hand.

Crossings that take hours are run by hand, ``python -m pytest -m hours``; the slow suite runs a sample of them.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import settings

ALL_EXAMPLES = 40  # of a test that does not say how many, in the slow suite


def examples(n: int) -> settings:
    """Draw so many examples in the slow suite, and their first quarter by default, two at least."""
    return settings(max_examples=min(n, max(2, n * settings().max_examples // ALL_EXAMPLES)))


def slow_but(quick: Callable[..., Any] | Iterable[Any], cases: Iterable[Any], one_in: int = 1) -> list[Any]:
    """List cases for ``pytest.mark.parametrize``: all but the quick ones are marked slow.

    Parameters
    ----------
    quick : iterable, or callable
        The cases that run by default, or a function that is true of them.
    cases : iterable
        All cases. A tuple is the values of several arguments.
    one_in : int
        The slow suite runs one in so many of the others, drawn once and for all; the rest are marked hours.
    """
    chosen, cases = quick if callable(quick) else list(quick).__contains__, list(cases)
    others = [place for place, case in enumerate(cases) if not chosen(case)]
    drawn = {*random.Random(0).sample(others, -(-len(others) // one_in))}
    return [case if chosen(case) else slow(case, place not in drawn) for place, case in enumerate(cases)]


def at_once(cases: Iterable[Any]) -> Callable[[Callable[[Any], None]], Callable[[], None]]:
    """Run a test of one argument on all cases as one test: thousands take longer to report than to run.

    The first case that fails is named.
    """

    def of_all(test: Callable[[Any], None]) -> Callable[[], None]:
        def runs_on_all() -> None:
            for case in cases:
                try:
                    test(case)
                except BaseException as error:
                    error.add_note(f"The case is {case}.")
                    raise

        runs_on_all.__name__, runs_on_all.__doc__ = test.__name__, test.__doc__
        return runs_on_all

    return of_all


def slow(case: Any, by_hand: bool = False) -> Any:
    """Mark one case as slow, or to be run by hand, with its name if it has one already."""
    values, name = (case.values, case.id) if hasattr(case, "marks") else (case, None)
    mark = pytest.mark.hours if by_hand else pytest.mark.slow
    return pytest.param(*(values if isinstance(values, tuple) else (values,)), id=name, marks=mark)


def everything(result: Any) -> str:
    """All that a result can print, with each paragraph on one line."""
    return re.sub(r"\n {12,}(?=\S)", " ", result.to_text(verbose=True))
