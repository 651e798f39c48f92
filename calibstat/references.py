"""References: the papers that docstrings cite, and BibTeX of what a method is made of.

Docstrings cite by surnames and year, "(Kelly & Smyth 2023)", and ``references.bib`` has an entry for each.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from inspect import getdoc, isroutine
from pathlib import Path
from typing import Any

from calibstat._dataclass import dataclass
from calibstat.inference.multiplicity import (
    benjamini_hochberg,
    benjamini_yekutieli,
    holm,
    single_step,
    step_down,
)

_PACKAGES = ("calibstat", "calibstat.calibrators", "calibstat.generators")
# What a result that was adjusted "by name" was adjusted by.
_ADJUSTED_BY = {
    "max-t": single_step,
    "step-down": step_down,
    "holm": holm,
    "fdr_bh": benjamini_hochberg,
    "fdr_by": benjamini_yekutieli,
}


def cite(*things: Any) -> str:
    """Return BibTeX of the papers that an estimator, or anything else of calibstat, rests on.

    These are the papers that the docstrings cite: of an estimator, its binning and its lens; of a result, also its null
    and its adjustment for several tests. The last entry is calibstat itself.

    Parameters
    ----------
    *things : object
        Estimators, lenses, binnings, nulls, resamplers, calibrators, generators, results; or classes and functions of
        calibstat. Without any, the entry of calibstat alone is returned.

    Returns
    -------
    str
        Entries in the order in which they are cited, in UTF-8. A paper that a docstring of your own cites, and the
        list does not have, is named in a line that begins with ``%``.

    Raises
    ------
    TypeError
        If something is not of calibstat.

    Examples
    --------
    >>> import calibstat as cs
    >>> print(cs.cite(cs.TopLabel() | cs.SKCE()))  # doctest: +ELLIPSIS
    @inproceedings{guo2017,
      author = {Guo, Chuan and Pleiss, Geoff and Sun, Yu and Weinberger, Kilian Q.},
    ...
    @misc{calibstat,
    ...
    """
    cited = [each for thing in things for part in _parts(_checked(thing)) for each in citations(getdoc(part) or "")]
    found = dict.fromkeys(
        each.entry() or f"% {each} is cited, and is not in the list of calibstat.\n" for each in cited
    )
    return "\n".join(str(each) for each in [*found, references()["calibstat"]])


def _checked(thing: Any) -> Any:
    """Return what is of calibstat, or derives from something of it."""
    if _is_ours(thing if isinstance(thing, type) or isroutine(thing) else type(thing)):
        return thing
    hint = f"; `calibstat.{thing}` without quotes is one" if isinstance(thing, str) and thing in _public() else ""
    raise TypeError(
        f"cite takes an estimator, lens, binning, null, calibrator, generator, result, or a class or function of "
        f"calibstat; got {thing!r:.80} of type {type(thing).__name__}{hint}."
    )


def _is_ours(kind: Any) -> bool:
    """Whether a class or a function is of calibstat; a class may derive from one that is."""
    return any(each.__module__.split(".")[0] == "calibstat" for each in getattr(kind, "__mro__", (kind,)))


@cache
def _public() -> frozenset[str]:
    return frozenset(name for package in _PACKAGES for name in import_module(package).__all__)


def _parts(thing: Any) -> Iterator[Any]:
    """Yield the thing, and the objects with public names that it is made of, without the data that it holds."""
    seen: set[int] = set()
    waiting = [thing]
    while waiting:
        part = waiting.pop(0)
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, type) or isroutine(part):
            if _is_ours(part):
                yield part
        elif isinstance(part, Mapping):
            waiting += part.values()
        elif isinstance(part, (list, tuple)) and not hasattr(part, "_fields"):
            waiting += part
        elif _is_ours(type(part)) and not type(part).__module__.startswith("calibstat.data."):
            if part is thing or type(part).__name__ in _public() or not type(part).__module__.startswith("calibstat."):
                yield part
            held = vars(part) if hasattr(part, "__dict__") else {}
            waiting += held.values()
            if held.get("adjust") in _ADJUSTED_BY:
                yield _ADJUSTED_BY[held["adjust"]]


# What docstrings cite.

_NAME = r"(?:[vV][ao]n |De )?[A-Z][\w'\u2019-]+"
_CITATION = re.compile(
    rf"({_NAME}(?:(?:, | & |, & | and ){_NAME})*(?: et al\.)?)`*(?: statistic| chi-square distance| Z)?,? "
    r"\(?((?:1[89]|20)\d\d)(?!\d)"
)


@dataclass(frozen=True)
class Citation:
    """Surnames and a year, as a docstring has them."""

    names: str
    year: str

    def __str__(self) -> str:
        return f"{self.names} {self.year}"

    def entry(self) -> Reference | None:
        """Return the entry of these authors and this year; words before the names, as in "the AUC, Pepe", are no names.

        All authors are named, or with "et al." the first ones of three or more.
        """
        names = re.split(", & |, | & | and ", self.names.removesuffix(" et al."))
        for skipped in range(len(names)):
            given = tuple(map(folded, names[skipped:]))
            for each in references().values():
                surnames = each.surnames
                whole = surnames == given
                begun = self.names.endswith(" et al.") and len(surnames) > 2 and surnames[: len(given)] == given
                if each.fields["year"] == self.year and (whole or begun):
                    return each
        return None


def citations(text: str) -> list[Citation]:
    """Return what a text cites, in its order.

    >>> [str(each) for each in citations("Cox's (1958) model (Kelly & Smyth 2023; Guo et al. 2017).")]
    ['Cox 1958', 'Kelly & Smyth 2023', 'Guo et al. 2017']
    """
    found = _CITATION.findall(" ".join(text.split()))
    return list(dict.fromkeys(Citation(re.sub(r"['\u2019]s$", "", names), year) for names, year in found))


def folded(name: str) -> str:
    """Return a name in plain small letters, with umlauts written out.

    >>> folded("Bröcker"), folded("Błasiok"), folded("Demšar")
    ('broecker', 'blasiok', 'demsar')
    """
    for letter, plain in {"ä": "ae", "ö": "oe", "ü": "ue", "ł": "l", "ø": "o"}.items():
        name = name.lower().replace(letter, plain)
    return "".join(each for each in unicodedata.normalize("NFKD", name) if not unicodedata.combining(each))


# The list of references.


@dataclass(frozen=True)
class Reference:
    """An entry of the list: its key, its fields by name, its BibTeX text, and the surnames of its authors, folded."""

    key: str
    fields: Mapping[str, str]
    text: str
    surnames: tuple[str, ...]

    def __str__(self) -> str:
        return self.text

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def authors(self) -> list[str]:
        """Who wrote it, each with the surname first."""
        return self.fields["author"].split(" and ")


@cache
def references() -> dict[str, Reference]:
    """Return the entries of ``references.bib`` by key."""
    text = Path(__file__).with_name("references.bib").read_text(encoding="utf-8")
    return {each.key: each for each in _entries(text.split("\n\n"))}


def _entries(texts: Iterable[str]) -> Iterator[Reference]:
    """Read entries that have one field in each line."""
    for text in texts:
        first, *lines = text.strip().splitlines()
        fields = dict(re.findall(r"^  (\w+) = \{(.*)\},$", "\n".join(lines), re.MULTILINE))
        surnames = tuple(folded(each.split(",")[0]) for each in fields["author"].split(" and "))
        yield Reference(first.partition("{")[2].rstrip(","), fields, f"{text.strip()}\n", surnames)
