"""Errors in the words of the command line: options instead of arguments."""

from __future__ import annotations

import re


def one_line(error: Exception) -> str:
    """Write an error in one line that names options.

    Examples
    --------
    >>> one_line(ValueError('fill them in, or pass nan_policy="omit"'))
    'fill them in, or pass --nan-policy omit'
    >>> one_line(ValueError("for example labels=['cat', 'dog']"))
    'for example --labels cat,dog'
    """
    text = str(error)
    if isinstance(error, OSError) and error.filename and error.strerror:
        text = f"{error.filename}: {error.strerror}"
    text = text.replace('nan_policy="omit"', "--nan-policy omit")
    text = re.sub(r"labels=\[([^\]]*)\]", _labels_option, text)
    return " ".join(text.split()) or type(error).__name__


def _labels_option(found: re.Match[str]) -> str:
    return "--labels " + ",".join(label.strip().strip("'\"") for label in found[1].split(","))
