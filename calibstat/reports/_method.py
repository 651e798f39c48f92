"""The last sections: how everything was computed, the papers, how to do it again, and the words used."""

from __future__ import annotations

import csv
import io
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, cast

from calibstat._text import percent, safe, shown
from calibstat.estimators.walks import Kuiper
from calibstat.inference.results import Result
from calibstat.lenses.relabel import CANONICAL
from calibstat.planning.planning import MinimumDetectable
from calibstat.references import Reference, cite, references
from calibstat.reports import _words as words
from calibstat.reports._blocks import Block, Section, section, text
from calibstat.reports._findings import Findings, Options

_KEY = re.compile(r"^@\w+\{([^,]+),", re.MULTILINE)


def method(found: Findings) -> Section:
    """Say exactly what was computed, cite, and give the lines that do it again."""
    asked = [
        ("The answer: a test of several statistics, and the average error", found.main.test),
        ("The average error, with its interval", found.main.size),
        ("Whether the error is below the margin", found.margin),
        ("The worst interval of predictions", found.worst_test),
        ("Groups: any error along the predictions", found.groups and found.groups.errors),
        ("Groups: the mean difference, of which the first group stands for all", _mean_of_group(found)),
        ("Variables", found.scan),
        ("Models", found.models),
        ("Calibrators", found.calibrators),
        ("What could have been missed", found.detectable),
    ]
    blocks: list[Block | None] = [
        text(
            "A p-value is the chance that a calibrated model, with the same predictions, shows an error at least as "
            "large as this one: labels are drawn from the predictions again and again, and the data are one set among "
            "them (Vaicenavicius et al. 2019; Phipson & Smyth 2010).",
            _exact(found),
            "The average error is that of cells: groups of rows with similar predictions, 15 with equally many rows, "
            "or fewer where each would have fewer than ten.",
        ),
        text(
            "For the slope, predictions are clipped to between 1e-9 and 1 - 1e-9; it depends most on the most extreme "
            "ones, so that the answer calls a model too sure, or not sure enough, only if its slope differs from 1 by "
            "two standard errors without the most extreme row of every thousand too, and without predictions of 0 and "
            "1. The answer is about the mean or about the slope, whichever is more standard errors away from "
            "calibration. An error is called slight below a tenth of the mean chance of the rarer outcome, and far "
            "above half of it.",
        ),
        text(strong="What was found while reading"),
        {"kind": "terms", "terms": _reading_told(found)},
    ]
    told: set[tuple[str, str]] = set()
    for strong, result in asked:
        if isinstance(result, Result):
            terms = _terms(result, found, told)
            blocks += [text(strong=strong), {"kind": "terms", "terms": terms}] if terms else []
    blocks += [text(strong="Papers"), {"kind": "terms", "terms": [_paper(each) for each in _cited(found)]}]
    blocks += _again(found)
    return section("method", "Method", "How was this computed?", [each for each in blocks if each])


def _exact(found: Findings) -> str:
    """Say where p-values are exact."""
    clusters = found.main.test.question.clusters
    if clusters is None:
        return "That is exact at every number of rows; where something is approximate, it says so below."
    return (
        f"Rows come in {shown(str(clusters))}, and those of a cluster may depend on each other. So the p-value is the "
        "larger of two: of labels drawn as dependent within clusters as the data leave possible, and of random signs "
        "of the errors of whole clusters. That is approximate, for many clusters."
    )


def _mean_of_group(found: Findings) -> Result | None:
    return next(iter(found.groups.means.values()), None) if found.groups else None


def _reading_told(found: Findings) -> list[dict[str, str]]:
    """Say of each model how columns and rows were taken, and what was warned of."""
    terms = []
    for model, sample in found.samples.items():
        said = [words.of_reading(each).rstrip(".") for each in (sample.predictions.source, *sample.notes) if each]
        rows = words.rows(len(sample))
        terms.append({"term": shown(model) or "data", "meaning": f"{'; '.join([rows, *said])}."})
    return terms


_TOLD_ONCE = ("estimator", "data", "slope", "test", "model")


def _terms(result: Result, found: Findings, told: set[tuple[str, str]]) -> list[dict[str, str]]:
    """Return how the numbers of a result were computed, without what was told before.

    A text without a name continues the one before it.
    """
    terms: list[dict[str, str]] = []
    details = [*_of_power(result), *result.screen().details]
    for name, said in ((name, _plain(said, found)) for name, said in details if name not in _TOLD_ONCE):
        if name or not terms:
            terms.append({"term": safe(name) or "also", "meaning": said})
        else:
            terms[-1]["meaning"] = f"{terms[-1]['meaning'].rstrip('.;')}; {said}"
    new = [each for each in terms if (each["term"], each["meaning"]) not in told]
    told |= {(each["term"], each["meaning"]) for each in new}
    return new


def _of_power(result: Result) -> list[tuple[str, str]]:
    """Say in words from which model labels were drawn to see which errors are found."""
    if not isinstance(result, MinimumDetectable):
        return []
    factor = cast(Any, result.model).recalibration.b
    return [
        ("tested", f"the average error, at the level of {percent(result.test.level)}"),
        (
            "drawn from",
            f"models with these predictions, in which log-odds of what happens are those of the predictions times a "
            f"factor; {factor:.3g} is the one that is found as often as stated",
        ),
    ]


def _plain(told: str, found: Findings) -> str:
    """Write a text without names of Python, and without the asterisks that mark a word as stressed."""
    for each in dict.fromkeys(map(repr, [*(view.lens for view in found.views), CANONICAL])):
        told = re.sub(rf",? (?:seen )?through {re.escape(each)}", "", told)
    for each in (repr(Kuiper()), repr(found.main.size.question.estimator.core)):
        told = told.replace(f"; {each}", "")
    return safe(re.sub(r"\*(\w+)\*", r"\1", told))


def _cited(found: Findings) -> list[Reference]:
    keys = dict.fromkeys(_KEY.findall(cite(*found.results)))
    known = references()
    also = [key for key in known if key.startswith(("vaicenavicius2019", "phipson", "holm1979", "kelly"))]
    return [known[key] for key in sorted({*keys, *also}) if key in known]


def _paper(reference: Reference) -> dict[str, str]:
    """Return who wrote it and when, and its title and place."""
    surnames = [each.split(",")[0] for each in reference.authors]
    names = (
        surnames[0] if len(surnames) == 1 else " & ".join(surnames) if len(surnames) == 2 else f"{surnames[0]} et al."
    )
    fields = reference.fields
    place = next(
        (fields[each] for each in ("journal", "booktitle", "publisher", "note", "howpublished") if each in fields), ""
    )
    told = ". ".join(_without_braces(each).rstrip(".") for each in (fields.get("title", ""), place) if each)
    return {"term": f"{_without_braces(names)} {fields['year']}", "meaning": f"{told}."}


def _without_braces(field: str) -> str:
    r"""Write a field of BibTeX as plain text.

    >>> _without_braces(r"{B}oston \& ``quotes''")
    'Boston & “quotes”'
    """
    plain = re.sub(r"[{}]", "", field).replace("\\&", "&").replace("--", "–")
    return plain.replace("``", "“").replace("''", "”")


# The command, and the lines of Python, that do it again.


def _again(found: Findings) -> list[Block | None]:
    origins = {name: sample.origin for name, sample in found.samples.items()}
    blocks = [text("The same seed gives the same report.", strong="To do it again")]
    command = _command(list(origins.values()), found.options)
    if command:
        blocks.append({"kind": "code", "language": "console", "text": command})
    blocks.append({"kind": "code", "language": "python", "text": _python(origins, found.options)})
    return blocks


def _column_list(names: str | Sequence[str]) -> str:
    """Write names of columns as the command line takes them; a name that holds a comma stands in double quotes."""
    if isinstance(names, str):
        return names
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return line.getvalue()


def _command(origins: Sequence[Mapping[str, Any] | None], options: Options) -> str:
    """Return the command line, if all models were read from files by the same columns, and the options are words."""
    first = origins[0]
    if first is None or first.get("counts") or options.calibrators:
        return ""
    columns = {key: value for key, value in first.items() if key != "path"}
    if any(each is None or {key: value for key, value in each.items() if key != "path"} != columns for each in origins):
        return ""
    parts = ["calibstat", "report", *(str(each["path"]) for each in origins if each is not None)]
    probs = columns.get("y_prob")
    given: list[tuple[str, Any]] = [
        ("--label", columns.get("y_true") or columns.get("correct")),
        ("--events", columns.get("events")),
        ("--trials", columns.get("trials")),
        ("--probs", probs and _column_list(probs)),
        ("--confidence", columns.get("confidence")),
        ("--weights", columns.get("sample_weight")),
        ("--groups", columns.get("groups")),
        ("--labels", columns.get("labels") and _column_list([str(each) for each in columns["labels"]])),
        (
            "--prevalence",
            columns.get("prevalence") and ",".join(f"{each:g}" for each in _listed(columns["prevalence"])),
        ),
        ("--nan-policy", columns.get("nan_policy") if columns.get("nan_policy") != "raise" else None),
        ("--by", options.by and _column_list(options.by)),
        ("--variables", options.variables and _column_list(options.variables)),
        ("--lens", None if options.lens is None else repr(options.lens)),
        ("--margin", None if options.margin is None else f"{options.margin:g}"),
        ("--seed", str(options.rng)),
        ("-o", "report.html"),
    ]
    if options.calibrators is not None:
        parts.append("--no-calibrators")
    for option, value in given:
        parts += [option, str(value)] if value else []
    return safe(" ".join(shlex.quote(each) for each in parts))


def _listed(value: Any) -> Sequence[float]:
    return value if isinstance(value, (list, tuple)) else [value]


def _python(origins: Mapping[str, Mapping[str, Any] | None], options: Options) -> str:
    """Return the lines of Python; a sample that was not read from a file is taken as it is there."""
    lines = ["import calibstat as cs", ""]
    if len(origins) == 1 and "" in origins:
        lines += [f"sample = {_reading(origins[''])}"] if origins[""] else ["# sample: the cs.Sample of this report"]
        what = "sample"
    else:
        read = [f"    {name!r}: {_reading(each)}," for name, each in origins.items() if each is not None]
        lines += ["models = {", *read, "}"] if len(read) == len(origins) else ["# models: {name: cs.Sample}, as here"]
        what = "models"
    asked = {
        "by": options.by and list(options.by),
        "variables": options.variables and list(options.variables),
        "margin": options.margin,
        "rng": options.rng,
    }
    arguments = [f"{name}={value!r}" for name, value in asked.items() if value is not None]
    if options.lens is not None:
        arguments.append(f"lens={_prefixed(repr(options.lens), 'cs.')}")
    if options.calibrators is not None:
        fitted = ", ".join(
            f"{name!r}: {_prefixed(' '.join(repr(each).split()), 'cs.calibrators.')}"
            for name, each in options.calibrators.items()
        )
        arguments.append(f"calibrators={{{fitted}}}")
    lines.append(f"cs.report({', '.join([what, chr(34) + 'report.html' + chr(34), *arguments])})")
    return safe("\n".join(lines))


_ASKED = (
    "y_true", "counts", "events", "trials", "correct", "y_prob", "confidence",
    "variables", "sample_weight", "groups", "labels", "nan_policy", "prevalence",
)  # fmt: skip


def _reading(origin: Mapping[str, Any] | None) -> str:
    """Write the call of `Sample.read` that gave a sample."""
    origin = origin or {}
    given = {name: origin[name] for name in _ASKED if origin.get(name) is not None}
    given = {name: value for name, value in given.items() if (name, value) != ("nan_policy", "raise")}
    named = ", ".join(f"{name}={list(value) if isinstance(value, tuple) else value!r}" for name, value in given.items())
    return f"cs.Sample.read({origin['path']!r}, {named})"


def _prefixed(text: str, prefix: str) -> str:
    """Put the name of the package before each class of a repr, outside of texts in quotation marks.

    >>> _prefixed("ClassWise(label='TopLabel(')", "cs.")
    "cs.ClassWise(label='TopLabel(')"
    """
    parts = re.split(r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""", text)
    parts[::2] = [re.sub(r"(?<![\w.])([A-Z]\w*)(?=\()", rf"{prefix}\1", part) for part in parts[::2]]
    return "".join(parts)


# The words.

WORDS = {
    "calibrated": "A model is calibrated if what it says with 30 % happens in 30 % of such cases, and so for every "
    "percentage.",
    "cell": "A group of rows with similar predictions.",
    "average error (ECE)": "The expected calibration error: in each cell the distance between the mean prediction and "
    "what happened, averaged over the cells.",
    "noise alone": "The average error that even a calibrated model with these predictions shows, because its rows are "
    "limited.",
    "p-value": "The chance that a calibrated model shows an error at least as large as this one. One up to the level, "
    "5 %, is taken as evidence of an error; a large one is no evidence that the model is calibrated.",
    "adjusted": "Of a p-value: made larger since several questions were asked at once, so that the chance of any false "
    "alarm among them stays below the level.",
    "interval": "Where the true number lies, with the stated confidence; joint intervals hold for all rows of a table "
    "together.",
    "slope": "1 if the log-odds are right; below 1 predictions are too extreme (too sure), above 1 too timid.",
    "lens": "What of the prediction is looked at: the most probable class, one class, or all probabilities.",
    "Brier score, log loss": "Two marks for predictions, of calibration and sharpness together: the mean squared "
    "distance to the outcome, and the mean of minus the logarithm of the chance of what happened. Smaller is better.",
}


def glossary(found: Findings) -> Section:
    """Explain the words that this report uses, ten at most."""
    left_out = {"lens"} if len(found.own) == 1 else set()
    left_out |= {"Brier score, log loss"} if isinstance(found.calibrators, str) else set()
    terms = [{"term": term, "meaning": meaning} for term, meaning in WORDS.items() if term not in left_out]
    return section("words", "Words", "Words used here", [{"kind": "terms", "terms": terms}])
