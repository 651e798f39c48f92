"""Errors of functions in the words of a command: its options in place of their parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager


@contextmanager
def named_options(options: Mapping[str, str]) -> Iterator[None]:
    """Write errors of the ``with`` block anew, with what stands for a parameter replaced.

    Parameters
    ----------
    options : mapping
        Of texts to what they are called on the command line; what ends in " is " is replaced where an error begins.

    Examples
    --------
    >>> try:
    ...     with named_options({"n_bins is ": "--bins is "}):
    ...         raise ValueError("n_bins is 0")
    ... except ValueError as error:
    ...     print(error)
    --bins is 0
    """
    try:
        yield
    except (ValueError, TypeError) as error:
        text = str(error)
        for parameter, option in options.items():
            if not parameter.endswith(" is ") or text.startswith(parameter):
                text = re.sub(rf"(?<![-\w]){re.escape(parameter)}", option, text)
        if text == str(error):
            raise
        raise ValueError(text) from error
