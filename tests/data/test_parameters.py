"""Parameters of a user's own class are of the kinds that their annotations say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import pytest

import calibstat as cs


@dataclass(frozen=True)
class Mine(cs.Binning):
    """A binning with parameters of several kinds."""

    pair: tuple[int, str] = (1, "a")
    second: tuple[Any, float] = ("any", 1.0)
    chosen: Literal[1, None, "auto"] = None
    nothing: None = None

    def cut(self, predictions):
        raise NotImplementedError


@pytest.mark.parametrize("options", [{}, {"pair": [2, "b"]}, {"second": (None, 3)}, {"chosen": 1}, {"chosen": "auto"}])
def test_what_the_annotations_allow_is_kept(options):
    assert all(getattr(Mine(**options), name) == value for name, value in options.items())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"pair": ("a", 1)}, "pair is .*it must be a list of 2 values: an integer, a text"),
        ({"pair": (1,)}, "pair is .*it must be a list of 2 values: an integer, a text"),
        ({"second": (1.0, "any")}, "second is .*it must be a list of 2 values: anything, a number"),
        ({"chosen": 2}, "chosen is 2; it must be 1, None or 'auto'"),
        ({"nothing": 1}, "nothing is 1, a number; it must be None"),
    ],
)
def test_what_they_do_not_allow_is_refused(options, words):
    with pytest.raises((TypeError, ValueError), match=words):
        Mine(**options)
