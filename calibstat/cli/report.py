r"""What to send to a colleague: everything about a model on one page.

Says whether the model is calibrated, for whom it is off, what to do, how sure
that is, and how it was computed; as one HTML file that needs nothing else, or
as JSON, from which the page can be made again. Several files are several
models on the same rows, with the same columns; the report is about the first.

example commands:
  calibstat report predictions.csv --label actual --probs 'prob_*' \
    --by age,sex --margin 0.05 -o report.html
  calibstat report old.csv new.csv --label y --probs p -o report.html
  calibstat report predictions.csv --label y --probs p -o found.json
  calibstat report found.json -o report.html
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import calibstat as cs
from calibstat._files import check_writable
from calibstat._warn import noting
from calibstat.cli import options
from calibstat.cli.questions import Measure, labels_asked, one_lens, read_sample, sample_columns, variables_asked
from calibstat.cli.text import ProgressBar, plain_warnings, say
from calibstat.data.parameters import keep
from calibstat.ledgers.batches import is_large
from calibstat.reports.report import FORMATS, NO_TEXT


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    files = (
        "CSV or JSON lines (also compressed), Parquet, NPZ or NetCDF, one file for each model; or the JSON of a report"
    )
    parser.add_argument("file", metavar="FILE", nargs="+", help=files)
    options.add_outcome(parser, required=False)
    options.add(parser, "--labels")
    options.add(parser.add_mutually_exclusive_group(), "--probs", "--confidence")
    options.add(parser, "--weights", "--groups", "--prevalence", "--nan-policy", "--by")
    options.add_one(parser, "--variables", help="columns along which the error may vary (default: those of --by)")
    options.add(parser, "--lens", lens="for more than two classes top-label, class-wise and canonical")
    parser.epilog = options.lens_help()
    margin = "the largest average error that would be accepted: is the error shown to be below it?"
    parser.add_argument("--margin", type=options.share, metavar="M", help=margin)
    parser.add_argument("--no-calibrators", action="store_true", help="do not fit and compare calibrators")
    options.add(parser, "--seed")
    parser.add_argument("-o", "--output", metavar="FILE", help="where to write the report (needed for a page)")
    parser.add_argument(
        "--format", choices=("html", "json"), help="a page, or its content as JSON (default: as the output is named)"
    )


def run(arguments: argparse.Namespace) -> None:
    """Read the models, or a report that was made before, and write the report."""
    form = _format(arguments)
    if arguments.output is not None:
        _check_place(arguments)
    if _is_report(arguments.file):
        made = _made_before(arguments)
    else:
        with plain_warnings():
            made = _made(arguments)
    if arguments.output is None:
        print(made.to_json())
        return
    with ProgressBar("writing"):
        made.write(arguments.output, form)
    say(made.screen(arguments.output).text())


def _check_place(arguments: argparse.Namespace) -> None:
    """Refuse a place that cannot be written, that is also an input, or whose name says that it is something else."""
    check_writable(arguments.output)
    place = Path(arguments.output)
    if any(place.resolve() == Path(file).resolve() for file in arguments.file):
        raise ValueError(f"-o {place} is also FILE, which would be overwritten: name another file")
    special = place.exists() and not place.is_file()
    if arguments.format is None and not special and place.suffix.lower() not in FORMATS:
        raise ValueError(f"-o {place} does not end in {' or '.join(FORMATS)}: name a page or a JSON file")


def _format(arguments: argparse.Namespace) -> str:
    named = Path(arguments.output or "").suffix.lower().removeprefix(".")
    form = arguments.format or ("json" if named == "json" else "html")
    if form == "html" and arguments.output is None:
        raise ValueError("the page needs a place: write -o report.html, or --format json to see its content here")
    return str(form)


def _is_report(files: Sequence[str]) -> bool:
    return len(files) == 1 and Path(files[0]).suffix.lower() == ".json"


def _made_before(arguments: argparse.Namespace) -> cs.Report:
    """Take a report from its JSON; options of data are refused."""
    asked = ("label", "events", "trials", "labels", "probs", "confidence", "weights", "prevalence")
    more = ("by", "variables", "lens", "margin")
    wrong = [f"--{name}" for name in asked + more if getattr(arguments, name) is not None]
    if wrong or arguments.no_calibrators:
        raise ValueError(f"{arguments.file[0]} holds a report that was made before: leave out {', '.join(wrong)}")
    try:
        return cs.Report.from_json(Path(arguments.file[0]).read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise ValueError(f"{arguments.file[0]}: {NO_TEXT}") from error
    except ValueError as error:
        raise ValueError(f"{arguments.file[0]}: {error}") from error


def _made(arguments: argparse.Namespace) -> cs.Report:
    if (arguments.label or arguments.events) is None or (arguments.probs is None and arguments.confidence is None):
        raise ValueError(
            "--label and --probs are missing: name the column of what happened, and those of probabilities"
        )
    models = _read(arguments)
    predictions = next(iter(models.values())).predictions
    lens = None if arguments.lens is None else one_lens(arguments.lens, predictions.classes).lens
    with (
        ProgressBar("reporting"),
        options.named_options({"by names": "--by names", "variables names": "--variables names"}),
    ):
        return cs.report(
            models if len(models) > 1 else models[""],
            by=arguments.by,
            variables=arguments.variables,
            lens=lens,
            margin=arguments.margin,
            calibrators={} if arguments.no_calibrators else None,
            rng=arguments.seed,
        )


def _read(arguments: argparse.Namespace) -> dict[str, cs.Sample]:
    """Read one model from each file; their names are those of the files, as short as they differ."""
    files = arguments.file
    if len(set(files)) < len(files):
        raise ValueError(f"{' '.join(files)}: a file is named twice, but each is another model")
    if "-" in files and len(files) > 1:
        raise ValueError("standard input can be read only once, but each model has its own file: name files")
    stems = [Path(file).name.partition(".")[0] for file in files]
    paths = [str(Path(file).parent / stem) for file, stem in zip(files, stems, strict=True)]
    names = next(each for each in (stems, paths, files) if len(set(each)) == len(each)) if len(files) > 1 else [""]
    columns = [*(arguments.by or ()), *(arguments.variables or ())]
    columns = list(dict.fromkeys([*columns, *variables_asked(arguments.lens, (), Measure())]))
    models = {}
    for name, file in zip(names, files, strict=True):
        one = argparse.Namespace(**vars(arguments) | {"file": file})
        with noting() as notes:
            sample = models[name] = read_sample(one, columns, "--by", in_parts=True)
        keep(sample, notes=tuple(notes))
        if not is_large(file):
            keep(sample, origin=_origin(one, columns))
    return models


def _origin(arguments: argparse.Namespace, columns: Sequence[str]) -> dict[str, object]:
    """Return what `Sample.read` would be asked for to read the same."""
    prevalence = arguments.prevalence and (
        arguments.prevalence[0] if len(arguments.prevalence) == 1 else arguments.prevalence
    )
    how = {"labels": labels_asked(arguments), "nan_policy": arguments.nan_policy, "prevalence": prevalence}
    read = {"path": arguments.file, **sample_columns(arguments, columns), **how}
    if arguments.confidence is not None:
        read |= {"confidence": read.pop("y_prob"), "correct": read.pop("y_true")}
    return read
