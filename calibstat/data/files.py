"""Reads files into the arguments of `examine`."""

from __future__ import annotations

import csv
import importlib.util
import io
import math
import os
import re
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import numpy as np

from calibstat._files import Interrupts
from calibstat._progress import bar_on_terminal
from calibstat._text import MOST_OF_A_LINE, shown, unguarded
from calibstat._warn import warn
from calibstat.data._line_counts import BLOCK, LONGEST, TOO_LONG, CountedLines
from calibstat.data.arrays import Array
from calibstat.data.frames import Selection, arguments_from, frame_names, select

# Files that hold columns; only the columns asked for are read.

Choose = Callable[[list[str]], Selection]
# What reading and checking take at the peak: 26 bytes for each value of Parquet, and 34 of text (measured at 10^7).
_BYTES_OF_A_VALUE = 30
# No byte that is compressed by DEFLATE stands for more (RFC 1951).
_MOST_DEFLATED = 1032


def read_npz(path: Path, choose: Choose) -> dict[str, Any]:
    """Read the arguments of `examine` from a file of numpy arrays; pickles are refused, so no code is executed."""
    with _opened_npz(path) as arrays:
        if not hasattr(arrays, "files"):
            raise ValueError("it holds a single array without a name; save it with numpy.savez")
        chosen = choose(list(arrays.files))
        return arguments_from(arrays_of(arrays, chosen.names), chosen)


@contextmanager
def _opened_npz(path: Path) -> Iterator[Any]:
    with path.open("rb") as stream:  # numpy leaves a damaged archive open
        archive = stream.read(2) == b"PK"
        stream.seek(0)
        try:
            # Mapped, a single array takes no memory, whatever its size.
            found = np.load(stream if archive else path, mmap_mode=None if archive else "r", allow_pickle=False)
        except (ValueError, EOFError, NotImplementedError, zipfile.BadZipFile) as error:
            raise ValueError("it is damaged, or no NPZ file; write one with numpy.savez") from error
        with found if archive else nullcontext(found) as opened_now:
            yield opened_now


def arrays_of(file: Any, names: Iterable[str]) -> dict[str, Array]:
    """Read arrays by name from an open NPZ file, once their headers have said how much memory they need."""
    names = list(names)
    try:
        expect_memory(sum(_size_of(file, name) for name in names))
        found = {name: file[name] for name in names}
        for name, array in found.items():
            if array.dtype.kind == "U" and _codes(array).max(initial=0) > sys.maxunicode:
                raise ValueError(f"it is damaged (the texts of {name!r} are none)")
        return found
    except (ValueError, OSError, MemoryError):
        raise
    except Exception as error:  # a damaged file makes numpy and zipfile raise exceptions of many kinds
        raise ValueError(f"it is damaged ({type(error).__name__})") from error


def _codes(texts: Array) -> Array:
    """Return the code points of texts in the order of bytes of this machine."""
    plain = np.ascontiguousarray(texts, texts.dtype.newbyteorder("="))
    return np.frombuffer(plain.tobytes(), np.uint32)


def _size_of(file: Any, name: str) -> int:
    """Return how many bytes an array of an open NPZ file says that it has; more than can be there are refused."""
    member = f"{name}.npy" if f"{name}.npy" in file.zip.NameToInfo else name
    entry = file.zip.getinfo(member)
    with file.zip.open(member) as stream:
        major, _ = np.lib.format.read_magic(stream)
        read_header = np.lib.format.read_array_header_1_0 if major == 1 else np.lib.format.read_array_header_2_0
        shape, _, kind = read_header(stream)
    size = math.prod(shape) * kind.itemsize
    packed = _MOST_DEFLATED * (entry.compress_size + 1) if entry.compress_type <= zipfile.ZIP_DEFLATED else math.inf
    if not kind.hasobject and size > min(entry.file_size, packed):
        raise ValueError(f"it is damaged: {name!r} claims to hold {size / 1e9:.4g} GB, which are not there")
    return size


def expect_memory(n_bytes: float) -> None:
    """Refuse columns that need more memory than the computer has, and warn where they need more than is free."""
    there, free = _memory()
    needed, advice = (
        f"its columns need {n_bytes / 1e9:.4g} GB",
        "pass fewer rows, or count them in parts by Ledger.collect",
    )
    if n_bytes > there:
        raise ValueError(f"{needed}, but this computer has {there / 1e9:.4g} GB of memory: {advice}")
    if n_bytes > free:
        warn(f"{needed}, but {free / 1e9:.4g} GB of memory are free, and the system may end the program: {advice}")


def _memory() -> tuple[float, float]:
    """Return how many bytes this computer, or this container, has, and how many of them are free, where it says."""
    limits = [Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes")]
    there = [float(text) for text in map(_text_of, limits) if text.isdigit()]
    with suppress(AttributeError, ValueError, OSError):  # not every system says
        there.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    free = re.search(r"^MemAvailable: +(\d+) kB", _text_of(Path("/proc/meminfo")), re.MULTILINE)
    return min(there, default=math.inf), 1024 * float(free[1]) if free else math.inf


def _text_of(place: Path) -> str:
    try:
        return place.read_text().strip()
    except OSError:
        return ""


def read_parquet(path: Path, choose: Choose) -> dict[str, Any]:
    """Read the arguments of `examine` from a Parquet file."""
    _need("pyarrow", "Parquet")
    from pyarrow import OSFile, parquet

    with OSFile(str(path)) as opened_once:  # another file may take its place at any moment
        file = parquet.ParquetFile(opened_once)
        chosen = choose(list(file.schema_arrow.names))
        expect_memory(_BYTES_OF_A_VALUE * file.metadata.num_rows * len(chosen.names))
        return arguments_from(file.read(columns=chosen.names), chosen)


def read_netcdf(path: Path, choose: Choose) -> dict[str, Any]:
    """Read the arguments of `examine` from a NetCDF file, of version 4 (which is HDF5) or 3."""
    engine = netcdf_engine(path)
    import xarray

    with xarray.open_dataset(path, engine=engine) as dataset:
        chosen = choose(frame_names(dataset))
        expect_memory(dataset[chosen.names].nbytes)
        return arguments_from(dataset[chosen.names].load(), chosen)


def netcdf_engine(path: Path) -> Literal["scipy", "h5netcdf"]:
    """Return what reads this NetCDF file, of version 3 or 4; one of version 4 that cannot be opened raises an error."""
    with path.open("rb") as file:
        if file.read(3) == b"CDF":
            return "scipy"
    # h5netcdf no longer installs h5py with itself.
    _need("h5netcdf", "NetCDF")
    _need("h5py", "NetCDF")
    # of a file that cannot be opened, or without attributes, h5netcdf leaves a complaint on the screen
    with import_module("h5py").File(path) as file:
        file.attrs.get("_nc3_strict")
    return "h5netcdf"


def _need(module: str, kind: str) -> None:
    if importlib.util.find_spec(module) is None:
        raise ModuleNotFoundError(f'reading {kind} needs {module}: pip install "calibstat[files]"')


# Delimited text: comma-separated values and their relatives.

_LARGE_TEXT = 1 << 26

DELIMITERS = ",\t;|"
# Labels may well be "None" or "NA" (Namibia), so only these mark a missing label. Other columns follow pandas.
MISSING_LABELS = ["", "nan", "NaN"]
MISSING_VALUES = ["", "nan", "NaN", "-nan", "-NaN", "NA", "N/A", "n/a", "#N/A", "<NA>", "null", "NULL", "None"]


def read_delimited(path: Path, choose: Choose) -> dict[str, Any]:
    """Read the arguments of `examine` from a text file, which may be compressed."""
    with opened(path) as stream:
        return read_stream(stream, _to_fit(path, choose))


def read_json_lines(path: Path, choose: Choose) -> dict[str, Any]:
    """Read the arguments of `examine` from a file of JSON lines, which may be compressed."""
    from calibstat.data.json_lines import read_json_stream  # a parser that other files do not need

    with opened(path) as stream:
        return read_json_stream(stream, _to_fit(path, choose))


def _to_fit(path: Path, choose: Choose) -> Choose:
    """Choose columns of a text, of which there must be room for as many rows as it seems to have."""

    def chosen_to_fit(names: list[str]) -> Selection:
        chosen = choose(names)
        expect_memory(_BYTES_OF_A_VALUE * rows_of_text(path) * len(chosen.names))
        return chosen

    return chosen_to_fit


def rows_of_text(path: Path) -> float:
    """Return about how many rows a large text file has by the length of its first ones; 0 where nobody can tell."""
    size = path.stat().st_size
    if size < _LARGE_TEXT or path.suffix.lower() in OPENERS:
        return 0
    with path.open("rb") as file:
        start = file.read(BLOCK)
    return size * start.count(b"\n") / len(start)


def read_standard_input(choose: Choose) -> dict[str, Any]:
    """Read the arguments of `examine` from text on standard input."""
    if sys.stdin is None or sys.stdin.closed:
        raise ValueError("it is closed; name a file instead of -, or send one in: < FILE")
    stream = getattr(sys.stdin, "buffer", None)
    return read_stream(io.BytesIO(sys.stdin.read().encode()) if stream is None else stream, choose)


def read_stream(stream: Any, choose: Choose) -> dict[str, Any]:
    """Read the arguments of `examine` from an open file of bytes, from its position to its end."""
    rows, names, delimiter, chosen, plain = _begun(stream, choose)
    taken = _body(rows, names, delimiter, chosen, plain)
    if rows.counter.short:
        warn(rows.counter.short)
    return taken


def delimited_batches(path: Path, choose: Choose, n_rows: int) -> Iterator[dict[str, Any]]:
    """Yield the arguments of `examine` for so many rows at a time of a text file, which may be compressed."""
    with reading(shown(path, MOST_OF_A_LINE)), opened(path) as stream:
        rows, names, delimiter, chosen, _ = _begun(stream, choose)
        positions, options = _columns(names, delimiter, chosen)
        for frame in _table(rows, **options, chunksize=n_rows):
            yield arguments_from(_by_name(frame, positions), chosen)
        if rows.counter.short:
            warn(rows.counter.short)


@contextmanager
def reading(where: str) -> Iterator[None]:
    """Turn what any library raises in the ``with`` block into one error that names the file."""
    try:
        yield
    except MemoryError as error:
        raise MemoryError(f"cannot read {where}: it does not fit into memory; pass fewer rows") from error
    except Exception as error:  # every library raises exceptions of its own
        raise ValueError(_complaint(where, error)) from error


def _begun(stream: Any, choose: Choose) -> tuple[CountedLines, list[str], str, Selection, bytes | None]:
    """Read the line of names; return the rows below, what the line says, and a short text as it is."""
    number, first = 1, stream.readline(LONGEST)
    while first and not first.strip():
        number, first = number + 1, stream.readline(LONGEST)
    if not first:
        raise ValueError("it is empty; the first line must name the columns")
    if first.lstrip().startswith(b"{"):
        raise ValueError("its first line is JSON and names no columns: let the name of a file of JSON end in .jsonl")
    # `readline` takes lines that end in carriage returns alone for a single line.
    ended = first.rstrip(b"\r\n") if len(first) < LONGEST else first
    line, _, rest = ended.partition(b"\r")
    if len(line) == LONGEST:
        raise ValueError(TOO_LONG.format(number))
    names, delimiter = header(line.decode("utf-8-sig"))
    chosen = choose(names)
    start = rest + b"\r" * (ended != first) if rest else b""
    maybe_plain = "pandas" not in sys.modules
    start += stream.read(_MOST_PLAIN if maybe_plain else BLOCK)
    rows = CountedLines(stream, delimiter, len(names), number + 1, start)
    return rows, names, delimiter, chosen, start if maybe_plain and len(start) < _MOST_PLAIN else None


def header(line: str) -> tuple[list[str], str]:
    """Return the names in the first line, and the delimiter."""
    unquoted = re.sub(r'"[^"]*"', "", line)
    delimiter = max(DELIMITERS, key=unquoted.count)
    return _fields(line, delimiter), delimiter


def _fields(line: str, delimiter: str) -> list[str]:
    fields = next(csv.reader([line], delimiter=delimiter, skipinitialspace=True))
    return [unguarded(field.strip()) for field in fields]


def _body(
    rows: CountedLines, names: list[str], delimiter: str, chosen: Selection, plain: bytes | None
) -> dict[str, Any]:
    """Read the chosen columns; `plain` is the whole text where pandas may not be needed."""
    positions, options = _columns(names, delimiter, chosen)
    frame = None if plain is None else _plain_columns(plain, delimiter, len(names), options["usecols"])
    return arguments_from(_by_name(_table(rows, **options) if frame is None else frame, positions), chosen)


def _columns(names: list[str], delimiter: str, chosen: Selection) -> tuple[dict[str, int], dict[str, Any]]:
    """Return the position of each chosen column, and how they are read."""
    place = {name: position for position, name in reversed(list(enumerate(names)))}  # the first of equal names
    positions = {name: place[name] for name in chosen.names}
    used, missing = list(positions.values()), dict.fromkeys(positions.values(), MISSING_VALUES)
    missing |= {positions[name]: MISSING_LABELS for name in chosen.outcome.get("y_true", [])}
    return positions, {"sep": delimiter, "names": list(range(len(names))), "usecols": used, "na": missing}


def _by_name(frame: Any, positions: dict[str, int]) -> dict[str, Any]:
    return {name: _without_guards(frame[position]) for name, position in positions.items()}


# Up to so many bytes of text are read without pandas, whose import takes longer, if there is nothing unusual in them.
_MOST_PLAIN = 1 << 20
_UNUSUAL = re.compile(rb'["\s\x00-\x1f\x7f]')
_MEANINGFUL = {each.lower() for each in MISSING_VALUES} | {
    f"{sign}{word}" for sign in ("", "+", "-") for word in ("true", "false", "inf", "infinity", "nan")
}


def _plain_columns(text: bytes, delimiter: str, n_columns: int, used: list[int]) -> dict[int, Array] | None:
    """Return the `used` columns as pandas reads them, or None if a line or a column is unusual."""
    usual = text.replace(b"\r\n", b"\n")
    if _UNUSUAL.search(usual.replace(b"\n", b"").replace(delimiter.encode(), b"")):
        return None
    try:
        lines = [line.split(delimiter) for line in usual.removesuffix(b"\n").decode().split("\n")]
        columns = list(zip(*lines, strict=True))
        if len(columns) != n_columns:
            return None
        return {position: _plain_values(columns[position]) for position in used}
    except ValueError:  # lines of different lengths, and texts that are neither numbers nor words
        return None


def _plain_values(texts: tuple[str, ...]) -> Array:
    """Return integers, numbers or texts; a ValueError if any of them may mean something else."""
    characters = set("".join(texts))
    if not characters <= set("0123456789+-.eE"):
        if not _MEANINGFUL.isdisjoint({text.lower() for text in set(texts)}):
            raise ValueError("a truth value, an infinite number, or nothing")
        return np.array(texts, dtype=object)
    long = [text for text in texts if len(text) > _DIGITS]
    if "+" in characters or any(text.lstrip("-").isdigit() for text in long):
        raise ValueError("an integer that pandas may read as something else")
    return np.array(list(map(int if characters.isdisjoint(".eE") else float, texts)))


_DIGITS = 18  # integers with as many are below 2^63


def _without_guards(values: Any) -> Any:
    """Take away the apostrophes that `guarded` has put before texts; a column without any stays as it is."""
    texts = [] if values.dtype.kind in "biuf" else values.tolist()
    if not any(isinstance(each, str) and each.startswith("'") for each in texts):
        return values
    return np.array([unguarded(each) for each in texts], dtype=object)


def _table(
    rows: CountedLines,
    *,
    sep: str,
    names: list[int],
    usecols: list[int],
    na: dict[Any, list[str]],
    chunksize: int | None = None,
) -> Any:
    """Return the columns that are used, or an iterator of them in chunks."""
    import pandas as pd

    options: dict[str, Any] = {
        "sep": sep,
        "header": None,
        # Columns get numbers for names: pandas would rename two equal names.
        "names": names,
        "usecols": usecols,
        "index_col": False,
        "na_values": na,
        "keep_default_na": False,
        "skipinitialspace": True,
        # All values of a column are parsed together: never "1" in one part of the file and 1 in another.
        "low_memory": False,
        "chunksize": chunksize,
    }
    if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):
        # Later versions always read a number as the float that is nearest to it.
        options["float_precision"] = "round_trip"
    try:
        frame = pd.read_csv(rows, **options)
    except pd.errors.EmptyDataError:
        frame = [] if chunksize else pd.DataFrame()
    if chunksize is None and not len(frame):
        raise ValueError("it has a line of names, but no rows")
    return frame


COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst", ".zip")
# Found by the first bytes of the file.
DECOMPRESSED_BY = {b"\x1f\x8b": "zcat", b"BZh": "bzcat", b"\xfd7zXZ": "xzcat", b"\x28\xb5\x2f\xfd": "zstdcat"}
DELIMITED = (".csv", ".tsv", ".txt")
JSON_LINES = (".jsonl", ".ndjson")
_ARRAYS = (".npz", ".nc", ".netcdf")  # of any number and shape, of which only those that are named are opened
READERS: dict[str, Callable[[Path, Choose], dict[str, Any]]] = {
    **dict.fromkeys(DELIMITED, read_delimited),
    **dict.fromkeys(JSON_LINES, read_json_lines),
    ".npz": read_npz,
    ".parquet": read_parquet,
    ".nc": read_netcdf,
    ".netcdf": read_netcdf,
}


def file_arguments(path: Any, **asked: Any) -> dict[str, Any]:
    """Read the arguments of `examine` from a file, keeping only the named columns.

    The suffix says what the file is: .csv, .tsv, .txt, .jsonl or .ndjson (these may be compressed), .npz, .parquet, .nc
    or .netcdf; ``-`` is delimited text on standard input. In such text, an empty label, nan and NaN are missing, while
    the labels NA, None and null are kept; in all other columns these are missing too. Columns are named as for
    `select`. A ValueError says that the file cannot be read, or that a column is missing.
    """
    where = "standard input" if str(path) == "-" else shown(path, MOST_OF_A_LINE) or "''"

    def choose(names: list[str]) -> Selection:
        chosen = select(names, **asked, where=where)
        return chosen if Path(path).suffix.lower() in _ARRAYS else chosen.looking_at(names)

    with Interrupts() as interrupts, bar_on_terminal(), reading(where):
        try:
            return read_standard_input(choose) if str(path) == "-" else _reader(Path(path))(Path(path), choose)
        except Exception as error:
            if interrupts.came:
                raise KeyboardInterrupt from error
            raise


@contextmanager
def in_file(path: Any) -> Iterator[None]:
    """Say in which file it is what a check in the ``with`` block refuses."""
    try:
        yield
    except (ValueError, TypeError) as error:
        where = "standard input" if str(path) == "-" else shown(path, MOST_OF_A_LINE)
        raise type(error)(str(error) if _names(where, str(error)) else f"{where}: {error}") from error


def _reader(path: Path) -> Callable[[Path, Choose], dict[str, Any]]:
    if not path.exists():
        raise ValueError("there is no such file")
    if path.is_dir():
        raise ValueError("it is a folder; name a file, or count all of its files by Ledger.collect")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    if not suffixes and not path.is_file():
        return read_delimited
    if not suffixes or suffixes[-1] not in READERS:
        raise ValueError(f"the end of its name is none of {', '.join(READERS)}")
    return READERS[suffixes[-1]]


def _complaint(where: str, error: Exception) -> str:
    """Return one line of reason that names the file once."""
    reason = " ".join(str(error).split())
    if isinstance(error, UnicodeDecodeError):
        reason = _not_text(where, error.object)
    elif type(error).__name__ == "EmptyDataError":
        reason = "it is empty; the first line must name the columns"
    elif isinstance(error, OSError) and error.strerror:
        reason = error.strerror
    elif not _ours(error):
        reason = f"it is damaged, or not what its name says ({reason or type(error).__name__})"
    return reason if _names(where, reason) else f"cannot read {where}: {reason}"


def _names(where: str, text: str) -> bool:
    """Whether a message says of which file, or of which folder that it lies in, it is."""
    return re.search(rf"(?:^|(?:in|of|read) ){re.escape(where)}(?=[/\s:;,]|$)", text) is not None


def _not_text(where: str, content: bytes) -> str:
    if where != "standard input":
        return "it is not text in UTF-8; if it is compressed or binary, let its name say so"
    program = next((name for start, name in DECOMPRESSED_BY.items() if content.startswith(start)), None)
    if program is None:
        return "it is not text in UTF-8; if it comes from a binary file, name the file"
    return f"it is compressed; write {program} file | calibstat test - ..., or name the file"


def _ours(error: Exception) -> bool:
    """Whether the message was written here and not by a library."""
    return type(error) in (ValueError, TypeError, ModuleNotFoundError) and "pickle" not in str(error)


def opened(path: Path) -> Any:
    """Open a file of bytes, decompressed if its suffix says so."""
    return OPENERS[path.suffix.lower()](path) if path.suffix.lower() in OPENERS else path.open("rb")


def _zstandard(path: Path) -> Any:
    _need("pyarrow", ".zst")
    stream = import_module("pyarrow").input_stream(str(path), compression="zstd")
    return io.BufferedReader(stream)  # which reads lines


@contextmanager
def _zipped(path: Path) -> Iterator[Any]:
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        if len(names) != 1:
            raise ValueError(f"it holds {len(names)} files, but one is expected")
        with archive.open(names[0]) as stream:
            yield stream


OPENERS: dict[str, Callable[[Path], Any]] = {
    ".gz": lambda path: import_module("gzip").open(path),
    ".bz2": lambda path: import_module("bz2").open(path),
    ".xz": lambda path: import_module("lzma").open(path),
    ".zst": _zstandard,
    ".zip": _zipped,
}
