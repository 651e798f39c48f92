"""One seed makes one command line, with the files that it names; most are nearly right."""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from fuzz import broken_files
from fuzz.tables import ODD_JSON, ODD_NUMBERS, as_csv, as_json_lines, spoiled, table

Rng = np.random.Generator

# What a person types by mistake, and what nobody types.
JUNK = [
    "", " ", "-1", "0", "1", "2", "0.5", "1.5", "nan", "inf", "-inf", "1e400", "1e-320", "１", "0x10", "1_000", "+1",
    "1,5", "999999999999999999999", "-0.0", "none", "None", "x", "a,b", ",", ",,", '"', '"a', "*", "[", "?", "é",
    "\x1b[31m", "\udcff", "..", ".", "y", "p", "p_*", "p,q", "pet", "sex", "age", "age:sex", "prediction:age", ":",
    "=", "a=", "=p", "m=p", "--", "-", "%s", "{}", "rows.csv", "no/such/place", "/", "x" * 500, "true", "\n", "a\nb",
    "\t", "1/2", "50%", "１,２",
]  # fmt: skip
_LENSES = [
    "canonical", "top-label", "class-wise", "class-wise:cat", "class-wise:1", "top-k:2", "TopLabel()",
    "ClassWise('cat')", "top-k:0", "top-k:99", "class-wise:cow", "Top", "Canonical()|TopLabel()", "Given('age')",
    "Region.between(0, 0, 1)", 'Partition([["cat", "dog"], ["eel"]])', "TopK(1)", "TopK(-1)",
]  # fmt: skip
_ESTIMATORS = [
    "ECE", "kuiper", "Spiegelhalter", "debiased-l2", "skce", "Cox", "BrierScore", "smooth-ece", "Kuipers", "Generic",
    "ECE(EqualWidth(5))", "TopLabel() | ECE()", "Within('sex', ECE())", "PDE(EqualMass(3))", "ECE(UniqueValues())",
    "ObservedToExpected", "LogScore", "MaxCE", "hosmer-lemeshow", "ece()",
]  # fmt: skip
_BINNINGS = [
    "equal-mass", "equal-width", "FixedEdges([0, 0.5, 1])", "EqualMass(3)", "UniqueValues()", "FixedEdges([0.5])",
    "log", "EqualMass(0)", "EqualMass(3) * EqualMass(2)", "UniqueValues",
]  # fmt: skip
_NULLS = [
    "strong", "weak", "multiplier", "exact", "asymptotic", "sequential", "consistency", "Consistency(9)", "Weak(9)",
    "Exact()", "Consistency(0)", "Consistency(-1)", "Asymptotic()", "Multiplier(9)", "nul",
]  # fmt: skip
_SHARES = ["0.05", "0.1", "0.2", "0.5", "0.9", "0.95", "0.999999999", "1e-9", "5%", "0,05", "1", "0"]
_PLACES = [
    "out.csv", "out.png", "out.png", "out.svg", "out.html", "out.json", "out.csv.gz", "folder", "folder/out.csv",
    "no/out.csv", "rows.csv", "out", "out.xlsx", ".", "out.pdf",
]  # fmt: skip
_COLUMNS = [
    "age", "sex", "w", "g", "t", "q", "age,sex", "*", "a*", "none", "pet", "y", "p", "right", '"age"', "sex,sex",
    "events",
]  # fmt: skip

# Values of each option: good ones, and bad ones of their kind. Work is bounded: a valid huge number takes an hour.
VALUES: dict[str, list[str]] = {
    "--label": ["y", "pet", "right", "sex", "age", "p", "none"],
    "--events": ["events", "trials", "y", "p"],
    "--trials": ["trials", "events", "y"],
    "--probs": ["p", "p_*", "p_cat,p_dog,p_eel", "q", "p,q", "p_dog,p_cat,p_eel", "age", "y", "*"],
    "--predicted": ["sums", "p", "events"],
    "--between": ["low,low", "low,q", "low", "p,q,w"],
    "--labels": ["0,1", "1,0", "cat,dog,eel", "eel,dog,cat", "a,b", "true,false", "0", "0,0", "１,0"],
    "--confidence": ["p", "q", "age"],
    "--weights": ["w", "age", "y", "sex"],
    "--groups": ["g", "sex", "age", "t", "y"],
    "--prevalence": ["0.2", "0.2,0.8", "0.2,0.3,0.5", "0.9,0.9", "0", "1"],
    "--by": _COLUMNS,
    "--variables": _COLUMNS,
    "--given": ["age", "sex", "age:sex", "prediction:age", "age,sex", "prediction", "age:age", "none", "pet", "w"],
    "--lens": _LENSES,
    "--estimator": _ESTIMATORS,
    "--bins": ["1", "2", "3", "10", "1000000", "1000000000000"],
    "--binning": _BINNINGS,
    "--costs": ["1,4", "0,1", "1,0", "0,0", "-1,4", "1e300,1e300", "1", "1,2,3", "nan,1", "inf,1"],
    "--null": _NULLS,
    "--adjust": ["max-t", "step-down", "holm", "fdr_bh", "fdr_by", "bonferroni"],
    "--level": _SHARES,
    "--confidence-level": _SHARES,
    "--n-resamples": ["1", "2", "9", "19", "19", "39", "39", "19", "0", "-1"],
    "--seed": [
        "0", "1", "12345", str(2**64), str(2**200),
        "-1",
    ],
    "--plot": _PLACES,
    "--format": ["text", "json", "json", "json", "csv", "table", "html", "xml"],
    "--fail-if": [
        "p < 0.05", "adjusted-p<=0.01", "error > 0.1", "beyond-noise > 0", "o/e > 1.2", "slope < 1", "n < 100",
        "p > 0.5", "p < nan", "p", "x < 1", "p << 1", "p < 1e-9", "error > inf", "error > -1e400", "n >= １",
    ],
    "--require-within": ["0.02", "0.5", "0.999", "1", "0", "1e-300"],
    "--depth": ["1", "2", "3", "100"],
    "--min-size": ["1", "5", "1000000000000"],
    "--min-expected": ["0", "1", "5", "-1", "nan", "inf", "1e300"],
    "--rank-by": ["varying", "excess", "vece", "x"],
    "--max-depth": ["1", "3", "40", "1000000"],
    "--share": ["0.5", "0.1", "0.99", "0", "1", "-1", "nan", "inf", "1e-300"],
    "--threshold": _SHARES,
    "--model": [
        "a=p", "b=q", "c=p_*", "a=p_cat,p_dog,p_eel", "p", "=p", "b=", "a=none", "a=p=q", "é=q", "\x1b[1m=q",
    ],
    "--order": ["t", "age", "y", "p", "sex", "pet", "none"],
    "--state": ["model.state", "out.state", "folder", "no/out.state", "rows.csv"],
    "--name": ["m", "", "é", "\x1b[1m"],
    "--missing": ["raise", "level"],
    "--unlabelled": ["wait", "worst"],
    "--nan-policy": ["omit", "omit", "raise"],
    "--bad-rows": ["raise", "skip"],
    "--margin": _SHARES,
    "--ece": ["0.05", "0.2", "0.4", "0", "1", "-0.1", "nan", "inf", "1e-300"],
    "--n": ["50", "200", "1", "0", "-1", "2"],
    "--oe-width": ["0.2", "1", "0", "-1", "nan", "inf", "1e-300", "1e300"],
    "--slope-width": ["0.2", "1", "0", "-1", "nan", "inf", "1e-300", "1e300"],
    "--c-index-width": ["0.1", "1", "0", "-1", "nan", "inf", "1e-300", "1e300"],
    "--direction": ["overconfident", "underconfident", "too-low", "too-high", "x"],
    "--cluster-size": ["1", "3", "0", "-1", "1000"],
    "--correlation": ["0.3", "0", "1", "-0.1", "nan", "2"],
    "--power": ["0.8", "0.5", "0", "1", "nan"],
    "--max-n": ["300", "1", "0", "-5"],
    "--n-repeats": ["4", "8", "1", "0", "-1"],
    "--calibrator": [
        "beta", "platt", "isotonic", "temperature", "histogram-binning", "Isotonic", "variable-based", "nobody",
        "dirichlet", "decision-tree", "calibration-tree", "vector", "matrix", "one-vs-rest", "Calibrated",
    ],
    "--calibrators": ["beta", "platt,isotonic", "temperature", "beta,beta", "nobody", "isotonic,variable-based"],
    "--out": _PLACES,
    "--load": ["calibrator.json", "rows.csv", "no.json", "folder"],
    "--apply": ["rows.csv", "other.csv", "no.csv", "folder"],
    "--save": ["saved.json", "calibrator.json", "rows.csv", "folder", "no/saved.json"],
    "--test-size": ["0.5", "0.1", "0", "1", "nan", "-1"],
    "--cv": ["2", "3", "1", "0", "-1", "1000000"],
    "--n-splits": ["1", "2", "0", "-1"],
    "--store": ["out.zarr", "found.zarr", "rows.csv", "no/out.zarr", "folder"],
    "--scheduler": ["threads", "nowhere", "0", "-1", "tcp://", "tcp://:x", "1.5"],
    "--workers": ["0", "-1", "x"],
    "-o": _PLACES,
    "--output": _PLACES,
}  # fmt: skip
VALUES |= {"--variable": VALUES["--variables"]}

_BINARY = ["--label", "y", "--probs", "p"]
_SEVERAL = ["--label", "pet", "--probs", "p_*"]
_COUNTED = ["--events", "events", "--trials", "trials", "--probs", "p"]
_BUCKETS = ["--events", "events", "--trials", "trials", "--predicted", "sums"]
_TRUTHS = ["--label", "right", "--confidence", "p"]
_ROWS = [_BINARY, _BINARY, _BINARY, _SEVERAL, _COUNTED, _BUCKETS, _TRUTHS]
_PLAIN = [_BINARY, _BINARY, _SEVERAL]
_FEW = ["--n-resamples", "9"]
# How each command is called if nothing is wrong, without its file, and how often it is called.
_CALLS: dict[str, tuple[float, list[list[str]], list[str]]] = {
    "test": (22, _ROWS, _FEW),
    "estimate": (16, _ROWS, _FEW),
    "clinical": (3, _ROWS, _FEW),
    "compare": (8, [["--label", "y", "--model", "a=p", "--model", "b=q"]], _FEW),
    "audit": (9, [[*rows, *how] for rows in _ROWS for how in (["--by", "sex"], ["--by", "sex"], ["--by",
        "age,sex"], ["--learn"])], [*_FEW, "--min-size", "3"]),
    "scan": (8, [[*rows, "--variables", "age,sex"] for rows in _ROWS], _FEW),
    "leaves": (8, _ROWS, ["--min-size", "3"]),
    "desiderata": (6, _ROWS, _FEW),
    "monitor": (14, [[*rows, "--order", "t", *more] for rows in _PLAIN for more in ([], ["--state",
        "out.state"], ["--state", "model.state"])], []),
    "report": (1.5, [[*rows, "--no-calibrators", "-o", "out.json"] for rows in _ROWS], []),
    "plan": (2, [["--ece", "0.2"], ["--n", "60"], ["--precision"], ["--precision"]], [*_FEW, "--n-repeats",
        "4", "--max-n", "300"]),
    "calibrate": (16, [[*rows, *how, "--out", "out.csv"] for rows in _PLAIN for how in
                       (["--calibrator", "beta"], ["--calibrator", "isotonic", "--save", "saved.json"],
                           ["--load", "calibrator.json"],
                        ["--calibrator", "temperature", "--apply", "other.csv"])], []),
    "compare-calibrators": (2, [[*rows, "--calibrators", "platt,isotonic"] for rows in _PLAIN], _FEW),
    "estimators": (2, [[]], []),
    "sweep": (1, [["--store", "out.zarr"]], []),
    "summarise": (2, [[]], []),
    "demo": (0.5, [["--out", "rows.csv"]], []),
}  # fmt: skip
_OFTEN = np.array([share for share, *_ in _CALLS.values()]) / sum(share for share, *_ in _CALLS.values())
# These take seconds where all is well, so that nearly all are wrong.
_DEAR = ("report", "demo")
# These need files that take seconds to make, or much time of their own.
DEAR = (
    *_DEAR,
    "audit",
    "plan",
    "calibrate",
    "compare-calibrators",
    "monitor",
    "sweep",
    "summarise",
    "estimators",
    "clinical",
)


@dataclass(frozen=True)
class Called:
    """A command line, the files in the folder where it is called, and what is sent to it."""

    argv: list[str]
    files: dict[str, bytes]
    sent: bytes

    def write(self, folder: Path) -> None:
        """Write the files into a folder."""
        (folder / "folder").mkdir(parents=True)
        for name, content in self.files.items():
            place = folder / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)


def case(seed: int) -> Called:
    """Make the case of a seed."""
    rng = np.random.Generator(np.random.PCG64(seed))
    command = _command(rng)
    _, starts, more = _CALLS[command]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what makes odd files says so
        name, files = _files(rng, command)
    argv = [*name, *starts[rng.integers(len(starts))], *more]
    for _ in range(int(rng.choice([0, 1, 2, 3], p=[0.2, 0.4, 0.3, 0.1]))):
        argv = _changed(rng, command, argv)
    if command in _DEAR and rng.random() < 0.95:
        argv += [["--seed", "-1"], ["--no-such-option"], ["--seed"]][rng.integers(3)]
    argv = (
        [command, *argv]
        if rng.random() < 0.99
        else [str(rng.choice(["", "tests", "--help", "--version", "-h"])), *argv]
    )
    sent = as_csv(rng, table(rng), odd=rng.random() < 0.3) if "-" in argv else b""
    return Called(argv, files, sent)


def command_of(seed: int) -> str:
    """Return the command of a seed, without making its files."""
    return _command(np.random.Generator(np.random.PCG64(seed)))


def _command(rng: Rng) -> str:
    return str(rng.choice(list(_CALLS), p=_OFTEN))


def lines(seed: int) -> str:
    """Three lines of Python that do the case again, from the folder tests."""
    imported = "from fuzz.commands import case\nfrom fuzz.judge_commands import done"
    return f"{imported}\nprint(case({seed}).argv, done(case({seed})))"


@cache
def options_of(command: str) -> dict[str, argparse.Action]:
    """Return the options of a command, by each of their names."""
    parser = argparse.ArgumentParser(add_help=False)
    import_module(f"calibstat.cli.{command.replace('-', '_')}").add_arguments(parser)
    return dict(parser._option_string_actions)


def _changed(rng: Rng, command: str, argv: list[str]) -> list[str]:
    """Add an option, change a value, or leave out, repeat or misspell something."""
    how = rng.random()
    if how < 0.65:
        return [*argv, *_some_option(rng, command)]
    places = [k for k, each in enumerate(argv) if each.startswith("-") and len(each) > 1]
    if not places:
        return [*argv, JUNK[rng.integers(len(JUNK))]]
    at = int(rng.choice(places))
    if how < 0.9 and at + 1 < len(argv):
        return [*argv[: at + 1], _value(rng, argv[at]), *argv[at + 2 :]]
    other = [
        [*argv[:at], *argv[at + 2 :]],
        [*argv, *argv[at : at + 2]],
        argv[: at + 1],
        [*argv[:at], argv[at][:-1], *argv[at + 1 :]],
        [*argv, JUNK[rng.integers(len(JUNK))]],
        [*argv, "--help"],
        argv[::-1],
    ]
    return other[rng.integers(len(other))]


def _some_option(rng: Rng, command: str) -> list[str]:
    options = options_of(command)
    if not options or rng.random() < 0.03:
        names = list(VALUES)
        name = names[rng.integers(len(names))]
        return [name, _value(rng, name)]
    name = list(options)[rng.integers(len(options))]
    if options[name].nargs == 0:
        return [name]
    value = _value(rng, name)
    return [f"{name}={value}"] if rng.random() < 0.15 else [name, value]


def _value(rng: Rng, option: str) -> str:
    known = VALUES.get(option, JUNK)
    # Odd numbers of what takes long are those of the table alone.
    bounded = option in (
        "--n-resamples",
        "--n-repeats",
        "--max-n",
        "--n",
        "--n-splits",
        "--workers",
        "--scheduler",
        "--ece",
        "--power",
    )
    values = known if bounded or rng.random() < 0.9 else JUNK
    return values[rng.integers(len(values))]


# The files that commands are called on.


def _files(rng: Rng, command: str) -> tuple[list[str], dict[str, bytes]]:
    """Return the names of the files that a command is called on, and what lies in its folder."""
    files: dict[str, bytes] = {}
    if command in ("calibrate",):
        files["calibrator.json"] = _document(rng, "calibrator")
        files["other.csv"] = as_csv(rng, table(rng), odd=False)
    if command == "monitor":
        files["model.state"] = _document(rng, "state of a monitor")
    if command in ("estimators", "demo"):
        return [], files | {"rows.csv": b"y,p\n"}
    if command == "sweep":
        study = broken_files.odd_study(rng) if rng.random() < 0.7 else broken_files.STUDY
        if rng.random() < 0.3:
            files |= {f"found.zarr/{name}": each for name, each in _parts(rng, "store of a sweep").items()}
        return ["study.toml"], files | {
            "study.toml": broken_files.as_toml(_small(study)).encode("utf-8", "surrogatepass")
        }
    if command == "summarise":
        name = str(rng.choice(["store of a sweep", "NetCDF of a sweep"]))
        made = _made(rng, name)
        parts = made.content if isinstance(made.content, dict) else {"": made.content}
        return [made.name], files | {f"{made.name}/{part}".strip("/"): each for part, each in parts.items()}
    if command == "report" and rng.random() < 0.7:
        return ["report.json"], files | {"report.json": _document(rng, "report")}
    name, content = _rows(rng)
    files[name] = content
    files.setdefault("rows.csv", content)
    if command == "report" and rng.random() < 0.3:
        return [name, "other.csv"], files | {"other.csv": as_csv(rng, table(rng), odd=False)}
    if command == "plan" and rng.random() < 0.5:
        return [], files
    return [
        name if rng.random() < 0.97 else str(rng.choice(["-", "no.csv", "folder", "*.csv", "", "rows", "[", "é.csv"]))
    ], files


def _small(study: Any) -> Any:
    """Bound the work of a study whose numbers are right."""
    small = dict(study)
    for name, most in (("n_repeats", 5), ("n", 50)):
        value = small.get(name)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value > most:
            small[name] = most
        if isinstance(value, list):
            small[name] = [most if isinstance(each, (int, float)) and each > most else each for each in value]
    return small


def _rows(rng: Rng) -> tuple[str, bytes]:
    how = rng.random()
    if how < 0.7:
        return "rows.csv", as_csv(rng, table(rng), odd=False)
    if how < 0.82:
        return "rows.csv", as_csv(rng, spoiled(rng, table(rng), ODD_NUMBERS), odd=False)
    if how < 0.88:
        return "rows.jsonl", as_json_lines(rng, spoiled(rng, table(rng), ODD_JSON), odd=False)
    made = _made(rng, str(rng.choice(["delimited text", "JSON lines", "NPZ", "Parquet"])))
    return made.name, made.content if isinstance(made.content, bytes) else b""


def _made(rng: Rng, kind: str) -> broken_files.Broken:
    return broken_files.Broken(kind, *broken_files._KINDS[kind][1](rng))


def _parts(rng: Rng, kind: str) -> dict[str, bytes]:
    content = _made(rng, kind).content
    return content if isinstance(content, dict) else {"": content}


def _document(rng: Rng, kind: str) -> bytes:
    return _parts(rng, kind).get("", b"")
