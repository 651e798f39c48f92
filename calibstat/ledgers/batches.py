"""Rows a batch at a time, from files, datasets, frames and engines: each with the place that errors name."""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from calibstat._dataclass import dataclass
from calibstat._progress import track, track_rows
from calibstat._text import shown
from calibstat.data.files import (
    COMPRESSIONS,
    DELIMITED,
    JSON_LINES,
    delimited_batches,
    expect_memory,
    reading,
    rows_of_text,
)
from calibstat.data.frames import Selection, arguments_from, frame_names

ROWS: Final = 1 << 20
# From more rows on a command counts a file in place of reading it.
MANY_ROWS: Final = 20_000_000
Choose = Callable[[list[str], str], Selection]


@dataclass(frozen=True)
class Batch:
    """Some rows, as arguments of a sample, and where they are from: the number of the first one there."""

    taken: Mapping[str, Any]
    where: str
    first: int

    def __len__(self) -> int:
        try:
            return len(self.taken["y_true"])
        except TypeError:  # a single value, which is refused where the rows are counted
            return 1


def batches_of(source: Any, choose: Choose) -> Iterator[Batch]:
    """Yield the batches of a source, and tell how far it is read: the share, or the rows so far where nobody knows."""
    if isinstance(source, (str, Path)):
        files = files_of(source)
        if files[0].suffix.lower() == ".parquet":
            return _of_dataset(_parquet(source, files), choose)
        return (each for file in track(files, len(files)) for each in _of_text(file, choose))
    if hasattr(source, "get_fragments"):
        return _of_dataset(source, choose)
    if hasattr(source, "collect_batches"):  # a LazyFrame of polars
        chosen = choose(source.collect_schema().names(), "the frame")
        parts = source.select(chosen.names).collect_batches(chunk_size=ROWS, maintain_order=True)
        return _of_frames(parts, choose, "the frame")
    if type(source).__module__.split(".")[0] in ("duckdb", "_duckdb"):
        return _of_frames(_of_duckdb(source, choose), choose, "the relation")
    if hasattr(source, "to_pyarrow_batches"):  # a table of ibis
        chosen = choose(list(source.columns), "the table")
        return _of_frames(source.select(*chosen.names).to_pyarrow_batches(chunk_size=ROWS), choose, "the table")
    if _is_frame(source):
        return _of_frames([source], choose, "the frame")
    if hasattr(source, "__iter__"):
        return _of_frames(source, choose)
    raise TypeError(
        f"the source is of type {type(source).__name__}, but a file, a folder, a pattern such as 'part-*.parquet', a "
        "dataset of pyarrow, a frame of dask or polars, a relation of DuckDB, a table of ibis, or an iterator of "
        "frames is expected"
    )


def is_large(source: Any) -> bool:
    """Whether a command counts rows in batches: many files are named, or one has many rows."""
    place = Path(source)
    if place.is_dir() or (not place.exists() and any(sign in str(source) for sign in "*?[")):
        return True
    if place.is_file() and _kind(place) == "text":
        return rows_of_text(place) > MANY_ROWS
    if not place.is_file() or _kind(place) != "parquet" or find_spec("pyarrow") is None:
        return False
    from pyarrow import ArrowException, parquet

    try:
        return bool(parquet.read_metadata(place).num_rows > MANY_ROWS)
    except (OSError, ArrowException):  # who reads it says what is wrong
        return False


def files_of(source: str | Path) -> list[Path]:
    """Return the files that a path, a folder or a pattern names, in order: all Parquet, or all delimited text."""
    place = Path(source)
    if place.is_dir():
        inside = (each.relative_to(place) for each in place.rglob("*") if each.is_file())
        # as others do: no files of systems that write folders, such as _SUCCESS and .crc
        found = [place / each for each in inside if not any(part.startswith(("_", ".")) for part in each.parts)]
    else:
        found = [place] if place.is_file() else [Path(each) for each in glob.glob(str(source), recursive=True)]  # noqa: PTH207
    if not found:
        raise ValueError(f"{shown(source) or repr('')} names no file that is there: check the folder, or the pattern")
    kinds = {_kind(each): each for each in found}
    if len(kinds) > 1 or "" in kinds:
        odd = kinds[""] if "" in kinds else max(kinds.values())
        if any(end in JSON_LINES for end in odd.suffixes):
            raise ValueError(f"{shown(odd)} is of JSON lines, which are not counted in parts: read it by Sample.read")
        raise ValueError(
            f"{shown(odd)} is in the folder, or of the pattern, {shown(source)}, but only Parquet (.parquet), or only "
            f"delimited text ({', '.join(DELIMITED)}, perhaps compressed) is expected: name a pattern such as "
            "'part-*.parquet'"
        )
    return sorted(found)


def _kind(file: Path) -> str:
    suffixes = [each.lower() for each in file.suffixes]
    if suffixes and suffixes[-1] == ".parquet":
        return "parquet"
    if suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    return "text" if suffixes and suffixes[-1] in DELIMITED else ""


def _of_text(file: Path, choose: Choose) -> Iterator[Batch]:
    first = 0
    for taken in delimited_batches(file, lambda names: choose(names, shown(file)), ROWS):
        batch = Batch(taken, shown(file), first)
        yield batch
        first += len(batch)


def _parquet(source: str | Path, files: Sequence[Path]) -> Any:
    from pyarrow import dataset

    base = str(source) if Path(source).is_dir() else None
    with reading(shown(source)):
        return dataset.dataset(
            [str(each) for each in files], format="parquet", partitioning="hive", partition_base_dir=base
        )


def _of_dataset(dataset: Any, choose: Choose) -> Iterator[Batch]:
    chosen = choose(list(dataset.schema.names), "the dataset")
    known: list[Any] = []
    for place, fragment in enumerate(dataset.get_fragments()):
        with reading(_place_of(fragment, place)):
            known.append(getattr(fragment, "metadata", None))
    expect_memory(max((_largest_group(each, chosen.names) for each in known if each is not None), default=0))
    # One thread, and little read ahead: rows are counted more slowly than they are read, and would fill the memory.
    options = {"schema": dataset.schema, "columns": chosen.names, "batch_size": ROWS, "use_threads": False}
    options |= {"batch_readahead": 1, "fragment_readahead": 1}

    def read() -> Iterator[Batch]:
        for place, fragment in enumerate(dataset.get_fragments()):
            where, first = _place_of(fragment, place), 0
            with reading(where):
                for part in fragment.to_batches(**options, fragment_scan_options=_of_parquet(known[place])):
                    if part.num_rows:
                        yield Batch(arguments_from(as_frame(part), chosen), where, first)
                        first += part.num_rows

    return track_rows(read()) if None in known else track(read(), sum(-(-each.num_rows // ROWS) for each in known))


def _place_of(fragment: Any, place: int) -> str:
    return shown(getattr(fragment, "path", "") or f"fragment {place}")


def _of_parquet(known: Any) -> Any:
    """Return how a file of Parquet is read: a page at a time, not all of it before the first batch."""
    if known is None:
        return None
    from pyarrow.dataset import ParquetFragmentScanOptions

    return ParquetFragmentScanOptions(pre_buffer=False)


def _largest_group(known: Any, names: Sequence[str]) -> int:
    """Return the bytes of the columns in the largest row group of a Parquet file, which is read at once."""
    groups = (known.row_group(k) for k in range(known.num_row_groups))
    columns = ([group.column(k) for k in range(group.num_columns)] for group in groups)
    return max(
        (sum(c.total_uncompressed_size for c in each if c.path_in_schema in names) for each in columns), default=0
    )


def _of_duckdb(relation: Any, choose: Choose) -> Iterator[Any]:
    from duckdb import ColumnExpression

    chosen = relation.select(*map(ColumnExpression, choose(list(relation.columns), "the relation").names))
    read = getattr(chosen, "to_arrow_reader", None) or chosen.fetch_arrow_reader
    return iter(read(ROWS))


def _of_frames(frames: Iterable[Any], choose: Choose, one: str = "") -> Iterator[Batch]:
    """Take the columns of each frame; those of `one` source are numbered through."""

    def read() -> Iterator[Batch]:
        first = 0
        for place, frame in enumerate(frames):
            where = one or f"part {place} (parts count from 0)"
            known = as_frame(frame)
            batch = Batch(arguments_from(known, choose(frame_names(known), where)), where, first)
            if len(batch):
                yield batch
            first += len(batch) if one else 0

    return track(read(), len(frames)) if isinstance(frames, Sized) else track_rows(read())


def as_frame(part: Any) -> Any:
    """Return a record batch of pyarrow as a table, and other frames as they are."""
    if type(part).__name__ != "RecordBatch":
        return part
    from pyarrow import Table

    return Table.from_batches([part])


def _is_frame(source: Any) -> bool:
    return isinstance(source, Mapping) or hasattr(source, "columns") or hasattr(source, "column_names")
