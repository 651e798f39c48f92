"""Frames, files, classifiers and confidences, as the arguments of `examine`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from calibstat.checks.columns import as_array, column
from calibstat.interrupts import Interrupts
from calibstat.reading.delimited import read_delimited, read_standard_input
from calibstat.reading.files import Choose, read_netcdf, read_npz, read_parquet
from calibstat.reading.frames import Names, Selection, select

COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst", ".zip")
# By the first bytes.
DECOMPRESSED_BY = {b"\x1f\x8b": "zcat", b"BZh": "bzcat", b"\xfd7zXZ": "xzcat", b"\x28\xb5\x2f\xfd": "zstdcat"}
READERS: dict[str, Callable[[Path, Choose], dict[str, Any]]] = {
    ".csv": read_delimited,
    ".tsv": read_delimited,
    ".txt": read_delimited,
    ".npz": read_npz,
    ".parquet": read_parquet,
    ".nc": read_netcdf,
    ".netcdf": read_netcdf,
}


def file_arguments(
    path: Any, *, y_true: str, y_prob: Names, variables: Names | None, sample_weight: str | None
) -> dict[str, Any]:
    """Take the arguments of `examine` from a file, of which only the named columns are kept.

    Parameters
    ----------
    path : str or path
        The end of the name says what it is: .csv, .tsv or .txt (these may be compressed), .npz, .parquet, .nc or
        .netcdf; ``-`` is delimited text on standard input. In text, an empty label, nan and NaN are missing, whereas
        NA, None and null are labels like others; in all other columns these are missing too.
    y_true, y_prob, variables, sample_weight
        Names of columns, as for `frame_arguments`.

    Returns
    -------
    dict
        As of `frame_arguments`.

    Raises
    ------
    ValueError
        If the file cannot be read, or a column is missing.
    """
    where = "standard input" if str(path) == "-" else str(path)

    def choose(names: list[str]) -> Selection:
        return select(
            names, y_true=y_true, y_prob=y_prob, variables=variables, sample_weight=sample_weight, where=where
        )

    with Interrupts() as interrupts:
        try:
            return read_standard_input(choose) if str(path) == "-" else _reader(Path(path))(Path(path), choose)
        except MemoryError:
            raise
        except Exception as error:  # every library has its own way to fail on a file
            if interrupts.came:
                raise KeyboardInterrupt from error
            raise ValueError(_complaint(where, error)) from error


def _reader(path: Path) -> Callable[[Path, Choose], dict[str, Any]]:
    if not path.exists():
        raise ValueError("there is no such file")
    if path.is_dir():
        raise ValueError("it is a folder; name a file")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    if not suffixes and not path.is_file():
        return read_delimited
    if not suffixes or suffixes[-1] not in READERS:
        raise ValueError(f"the end of its name is none of {', '.join(READERS)}")
    return READERS[suffixes[-1]]


def _complaint(where: str, error: Exception) -> str:
    """One line that names the file once."""
    reason = " ".join(str(error).split())
    if isinstance(error, UnicodeDecodeError):
        reason = _not_text(where, error.object)
    elif type(error).__name__ == "EmptyDataError":
        reason = "it is empty; the first line must name the columns"
    elif isinstance(error, OSError) and error.strerror:
        reason = error.strerror
    elif not _ours(error):
        reason = f"it is damaged, or not what its name says ({reason or type(error).__name__})"
    return reason if where in reason else f"cannot read {where}: {reason}"


def _not_text(where: str, content: bytes) -> str:
    if where != "standard input":
        return "it is not text in UTF-8; if it is compressed or binary, let its name say so"
    program = next((name for start, name in DECOMPRESSED_BY.items() if content.startswith(start)), None)
    if program is None:
        return "it is not text in UTF-8; if it comes from a binary file, name the file"
    return f"it is compressed; write {program} file | calibstat test - ..., or name the file"


def _ours(error: Exception) -> bool:
    """Whether the message was written here, and not by a library."""
    return type(error) in (ValueError, TypeError, ModuleNotFoundError) and "pickle" not in str(error)


def estimator_arguments(estimator: Any, X: Any) -> dict[str, Any]:
    """Predict with a fitted classifier.

    Parameters
    ----------
    estimator : object with ``predict_proba`` and ``classes_``
    X : rows to predict

    Returns
    -------
    dict
        With the keys y_prob and labels.

    Raises
    ------
    TypeError
        If it cannot predict probabilities.
    ValueError
        If it is not fitted, or predicts several outputs.
    """
    name = type(estimator).__name__
    wrap = f"sklearn.calibration.CalibratedClassifierCV({name}(...)) gives probabilities once fitted"
    if not hasattr(estimator, "predict_proba"):
        raise TypeError(f"{name} has no predict_proba: {wrap}")
    if not hasattr(estimator, "classes_"):
        raise ValueError(f"{name} has no classes_: fit it first; for a model that never has them, {wrap}")
    y_prob = _predicted(estimator, X)
    if isinstance(y_prob, list):
        raise ValueError(f"{name} predicts {len(y_prob)} outputs: pass one of them as Sample(y_true, y_prob)")
    return {"y_prob": y_prob, "labels": np.asarray(estimator.classes_).tolist()}


def _predicted(estimator: Any, X: Any) -> Any:
    try:
        return estimator.predict_proba(X)
    except Exception as error:
        # scikit-learn's own exception, known by name so that it need not be imported.
        if type(error).__name__ != "NotFittedError":
            raise
        raise ValueError(f"{type(estimator).__name__} is not fitted: call its fit first") from error


def confidence_arguments(correct: Any, confidence: Any) -> dict[str, Any]:
    """Take whether the top label was right for the label, and the confidence for its probability.

    Parameters
    ----------
    correct : (n,) booleans, or 0 and 1
    confidence : (n,) floats
        The probability of the predicted label.

    Returns
    -------
    dict
        With the keys y_true, y_prob and labels.

    Raises
    ------
    ValueError
        If these are not one value in {0, 1} and one in [0, 1] for each row.
    """
    levels = as_array("confidence", confidence)
    if levels.ndim != 1:
        raise ValueError(
            f"confidence has shape {levels.shape}, but one value for each row is expected: pass all probabilities "
            "as Sample(y_true, y_prob), and look through TopLabel()"
        )
    found = column("correct", correct)
    if found.names is not None:
        raise ValueError("correct holds text, but booleans, or 0 and 1, are expected: pass predicted == y_true")
    present = found.values[~np.isnan(found.values)] if found.values.dtype.kind == "f" else found.values
    if not np.logical_or(present == 0, present == 1).all():
        raise ValueError("correct holds other values than 0 and 1: pass booleans, such as predicted == y_true")
    if len(found.values) != len(levels):
        raise ValueError(f"correct has {len(found.values)} rows and confidence has {len(levels)}: pass one of each")
    return {"y_true": correct, "y_prob": levels, "labels": (False, True)}
