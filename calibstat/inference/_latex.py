"""Tables for LaTeX, with the rules of the package booktabs."""

from __future__ import annotations

from collections.abc import Sequence

from calibstat._text import shown

_ESCAPES = str.maketrans(
    {each: rf"\{each}" for each in "&%$#_{}"}
    | {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
    }
)


def escaped(text: str) -> str:
    r"""Write a text as LaTeX shows it.

    >>> escaped("5 % of R&D_1 < x^2")
    '5 \\% of R\\&D\\_1 \\textless{} x\\textasciicircum{}2'
    """
    return shown(text, len(text)).translate(_ESCAPES)


def table(rows: Sequence[Sequence[str]], columns: str, caption: str, heading: bool) -> str:
    """Return a ``table`` with these cells; `columns` is what ``tabular`` takes, a letter for each."""
    lines = [f"{' & '.join(map(escaped, row))} \\\\" for row in rows]
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{escaped(caption)}}}",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            *([lines[0], r"\midrule", *lines[1:]] if heading else lines),
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )
