"""A report that one can send: what was found about a model, as one document, its JSON and its page."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self, final

import numpy as np

from calibstat._dataclass import dataclass
from calibstat._files import check_writable, written_whole
from calibstat._lazy import LazyModule
from calibstat._progress import bar_on_terminal, part
from calibstat._screen import Screen
from calibstat._text import counted, shown
from calibstat.data.arrays import RNG, as_generator, check_rng
from calibstat.data.sample import Sample
from calibstat.inference.arguments import check_lens, check_sample
from calibstat.inference.results import plain
from calibstat.lenses.base import Lens
from calibstat.reports._answer import answer, answers, switched, title
from calibstat.reports._document import SCHEMA, check_document, checksum, without_checksum
from calibstat.reports._findings import Findings, Options, ask, share_of_asking
from calibstat.reports._method import glossary, method
from calibstat.reports._sections import sections
from calibstat.reports._words import of_reading

json = LazyModule("json")
page = LazyModule("calibstat.reports.page")

FORMATS = (".html", ".json")
_LIBRARIES = ("numpy", "scipy", "pandas", "matplotlib", "scikit-learn")


def report(
    sample: Sample | Mapping[str, Sample],
    path: str | os.PathLike[str] | None = None,
    *,
    by: str | Iterable[str] | None = None,
    variables: str | Iterable[str] | None = None,
    lens: Lens | None = None,
    margin: float | None = None,
    calibrators: Mapping[str, Any] | None = None,
    rng: RNG = 0,
) -> Report:
    """Say by how much a model is off, for whom, and what to do, and write it as a page to send.

    The answer comes first, in words and with its size; then what each lens shows, reliability diagrams, where the model
    is off (the worst interval of predictions, groups, variables, classes), how models and calibrators compare, how sure
    this is, how it was computed with papers and the lines that do it again, and the words used. Each part is the result
    of the function of that name, such as `calibration_test`, `subgroup_audit` and `recommend_calibrator`.

    P-values of all lenses are adjusted together (Holm 1979), those of groups, variables, models and calibrators within
    each. Work that takes long (calibrators, the smallest error that would have been seen, and all probabilities of more
    than two classes together) is done on 50 000 rows, drawn at random, of more.

    Parameters
    ----------
    sample : Sample, or mapping of str to Sample
        Rows that neither the model nor its calibrator was fitted on; or several models by name, on the same rows: the
        report is about the first one, and compares the others with it.
    path : str or path, optional
        Where to write the report, as ``.html`` or as ``.json``; it appears there whole, or not at all.
    by : str or sequence of str, optional
        Variables of the sample whose levels are the groups; numbers are cut into four.
    variables : str or sequence of str, optional
        Variables of the sample along which the error may vary; by default those of `by`, or all.
    lens : Lens, optional
        The only one to look through. By default the prediction itself for two classes; for more the top label, each
        class, and all probabilities together.
    margin : float, optional
        The largest average error that would be accepted, such as 0.05: the report says whether the error is shown to
        be below.
    calibrators : mapping of str to calibrator, optional
        What to compare; by default the usual ones, none where the mapping is empty.
    rng : int, Generator or None
        The same integer gives the same report. From a Generator, or of None, a seed is drawn, which the report names.

    Returns
    -------
    Report

    Raises
    ------
    ValueError, TypeError
        If an argument is not as described.
    OSError
        If `path` cannot be written; this is found before the work begins.

    Examples
    --------
    >>> import calibstat as cs
    >>> from calibstat.generators import BetaPredictions, Slope
    >>> sample = BetaPredictions(1, 1, Slope(0.5)).sample(2000, rng=0)
    >>> found = cs.report(sample, calibrators={"platt": cs.calibrators.Platt()}, rng=0)
    >>> print(found.answer["headline"])
    The model is too sure: where it claims least, it says 4.6 %, and 20.0 % happens.
    >>> [section["label"] for section in found.document["sections"]]
    ['The error', 'Pictures', 'Where', 'What to do', 'How sure', 'Method', 'Words']
    """
    samples = _models(sample)
    options = _options(samples, by, variables, lens, margin, calibrators, rng)
    if path is not None:
        check_report_file(path)
    with bar_on_terminal():
        found = ask(samples, options)
        with part(share_of_asking(samples, options), 1.0):
            made = Report(_document(found))
    if path is not None:
        made.save(path)
    return made


def _models(sample: Any) -> dict[str, Sample]:
    if not isinstance(sample, Mapping):
        check_sample(sample)
        return {"": sample}
    if not sample:
        raise ValueError("sample is an empty mapping, but one Sample, or several by name, are expected")
    for name, each in sample.items():
        if not isinstance(name, str) or not name:
            raise TypeError(f"sample has the name {name!r}, but a text is expected: for example {{'raw': sample}}")
        check_sample(each)
    return dict(sample)


def _options(
    samples: Mapping[str, Sample], by: Any, variables: Any, lens: Any, margin: Any, calibrators: Any, rng: RNG
) -> Options:
    """Refuse what is not as described, before any arithmetic."""
    known = next(iter(samples.values())).predictions.variables
    if lens is not None:
        check_lens(lens)
    if margin is not None and not (isinstance(margin, (int, float)) and 0 < margin < 1):
        raise ValueError(f"margin is {margin!r}, but an average error between 0 and 1 is expected, such as 0.05")
    if calibrators is not None and not isinstance(calibrators, Mapping):
        raise TypeError(
            f"calibrators is a {type(calibrators).__name__}, but calibrators by name are expected, such as "
            "{'platt': Platt()}"
        )
    check_rng(rng)
    seed = int(rng) if isinstance(rng, (int, np.integer)) else int(as_generator(rng).integers(2**31))
    return Options(_names("by", by, known), _names("variables", variables, known), lens, margin, calibrators, seed)


def _names(argument: str, names: Any, known: Mapping[str, Any]) -> tuple[str, ...] | None:
    if names is None:
        return None
    asked = (names,) if isinstance(names, str) else tuple(names)
    for name in asked:
        if name not in known:
            there = ", ".join(map(shown, known)) or "none"
            raise ValueError(
                f"{argument} names {shown(name)!r}, which is no variable of the sample; its variables are: {there}. "
                "Pass it as Sample(..., variables={name: values})."
            )
    return asked


def check_report_file(path: str | os.PathLike[str]) -> None:
    """Refuse a place of a report that is no page and no JSON, or cannot be written."""
    if Path(path).suffix.lower() not in FORMATS:
        raise ValueError(f"{str(path)!r} does not end in {' or '.join(FORMATS)}; name a page or a JSON file")
    check_writable(path)


def _document(found: Findings) -> dict[str, Any]:
    """Return the document of everything that was found, as JSON can hold it."""
    versions = {name: version(name) for name in _LIBRARIES}
    made = {
        "calibstat": str(sys.modules["calibstat"].__version__),
        "python": platform.python_version(),
        "libraries": versions,
        "seed": found.options.rng,
    }
    return plain({
        "schema": SCHEMA,
        "title": title(found),
        "made": made,
        "source": [_source(name, sample) for name, sample in found.samples.items()],
        "answer": answer(found),
        "lenses": switched(found),
        "answers": answers(found),
        "sections": [*sections(found), method(found), glossary(found)],
    })  # fmt: skip


def _source(name: str, sample: Sample) -> dict[str, Any]:
    file = None if sample.origin is None else shown(sample.origin["path"])
    classes, rows = [shown(label) for label in sample.labels], len(sample)
    return {
        "name": shown(name),
        "file": file,
        "rows": rows,
        "classes": classes,
        "told": of_reading(sample.predictions.source),
    }


_RESTORE = "restore a copy of it, or make it anew"
NO_TEXT = f"the report holds bytes that are no text in UTF-8, so that it is damaged: {_RESTORE}"


def _refuse_name(text: Any) -> None:
    """Refuse the name of a file where the text in it is expected."""
    if isinstance(text, Path) or (isinstance(text, str) and text.strip().lower().endswith(".json")):
        name = shown(text)
        raise ValueError(
            f"the text of a report is expected, but {name!r} is the name of a file: pass what is in it, "
            f"Report.from_json(Path({name!r}).read_text(encoding='utf-8'))"
        )


@final
@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """What `report` returns: a document that prints its answer, and is written as a page or as JSON.

    Parameters
    ----------
    document : dict
        Everything that the page shows, as the JSON Schema ``report.schema.json`` in ``calibstat/reports`` describes it.

    Raises
    ------
    ValueError
        If the document is not one of a report of this version, or does not follow its schema.

    Examples
    --------
    >>> import calibstat as cs
    >>> text = '{"schema": "calibstat-report/2", "title": "of tomorrow"}'
    >>> cs.Report.from_json(text)
    Traceback (most recent call last):
    ...
    ValueError: the schema of the report is 'calibstat-report/2', but calibstat-report/1 is expected: it needs another
    version of calibstat, or make it anew.
    """

    document: dict[str, Any]

    def __post_init__(self) -> None:
        check_document(self.document)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Take a report from its JSON: the text, not the name of a file.

        Parameters
        ----------
        text : str
            What `to_json` returned, or the content of a ``.json`` file that a report was written to:
            ``Path("report.json").read_text(encoding="utf-8")``.

        Raises
        ------
        ValueError
            If it is no JSON, no report of this version, or a damaged one.
        """
        _refuse_name(text)
        try:
            document = json.loads(text)
        except UnicodeDecodeError as error:
            raise ValueError(NO_TEXT) from error
        except (ValueError, RecursionError) as error:
            raise ValueError(f"the report cannot be read as JSON: {error}; {_RESTORE}") from error
        return cls(without_checksum(document))

    @property
    def answer(self) -> dict[str, Any]:
        """The first screen: headline, sentences and tiles."""
        return self.document["answer"]

    def to_dict(self) -> dict[str, Any]:
        """Return the document."""
        return self.document

    def to_json(self) -> str:
        """Return the document as JSON, from which the same page can be made, with a checksum of the content."""
        document = self.document | {"checksum": checksum(self.document)}
        return str(json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False))

    def to_html(self) -> str:
        """Return the page: one HTML file that needs nothing from elsewhere.

        Raises
        ------
        ValueError
            If a picture is not one SVG element.
        """
        return str(page.render(self.document))

    def save(self, path: str | os.PathLike[str]) -> Self:
        """Write the page, or the JSON where the name ends in ``.json``; the file appears whole, or not at all.

        Parameters
        ----------
        path : str or path
        """
        check_report_file(path)
        return self.write(path, Path(path).suffix.lower().removeprefix("."))

    def write(self, path: str | os.PathLike[str], form: str) -> Self:
        """Write the report in this form, "html" or "json", whatever the name of the file."""
        text = self.to_json() if form == "json" else self.to_html()
        with written_whole(Path(path)) as place:
            place.write_text(text, encoding="utf-8")
        return self

    def screen(self, more: str = ".save('report.html')") -> Screen:
        """Return the answer as a person sees it on a terminal; `more` says how to see the rest."""
        first = self.answer
        cells = [["", "value", ""], *([each["name"], each["value"], each["range"]] for each in first["tiles"])]
        rest = counted(len(self.document["sections"]), "section")
        return Screen(
            "\n".join([first["headline"], " ".join(first["sentences"])]),
            cells if first["tiles"] else (),
            details=[("report", rest)],
            text_columns=(0, 2),
            more=more,
        )

    def __str__(self) -> str:
        return self.screen().text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the answer for notebooks, everything escaped."""
        return self.screen().html()
