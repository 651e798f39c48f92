"""Ledgers in Parquet files: the table as it is, and in the metadata what its columns mean, under a versioned name."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from calibstat._files import written_whole
from calibstat._text import shown
from calibstat.ledgers.table import fault_of

if TYPE_CHECKING:
    import pandas as pd

SCHEMA: Final = "calibstat-ledger/1"
_KEPT_IN_JSON = (bool, int, float, str)


def write(path: Any, table: pd.DataFrame, meaning: dict[str, Any]) -> None:
    """Write a table of a ledger and what it means; the file is written whole, or left as it was."""
    _need_pyarrow()
    import pyarrow as pa
    from pyarrow import parquet

    for name, labels in meaning["lenses"]:
        odd = [each for each in labels if type(each) not in _KEPT_IN_JSON]
        if odd:
            raise ValueError(
                f"the label {odd[0]!r} of {name} is of type {type(odd[0]).__name__}, but a file keeps texts, numbers "
                "and truth values: pass such labels to the samples that are counted"
            )
    content = pa.Table.from_pandas(table, preserve_index=False)
    content = content.replace_schema_metadata({"calibstat": json.dumps({"schema": SCHEMA} | meaning)})
    with written_whole(path) as place:
        parquet.write_table(content, place, write_page_checksum=True)


def read(path: Any) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the table and what it means, once both have been found to be those of a ledger."""
    _need_pyarrow()
    from pyarrow import parquet

    where = shown(path)
    if not Path(path).is_file():
        raise ValueError(f"cannot read {where}: there is no such file")
    try:
        content = parquet.read_table(path, page_checksum_verification=True, partitioning=None)
        known = json.loads((content.schema.metadata or {}).get(b"calibstat", b"{}"))
    except Exception as error:  # a damaged file makes pyarrow raise exceptions of many kinds
        raise ValueError(f"cannot read {where}: it is damaged, or no Parquet file") from error
    if known.get("schema") != SCHEMA:
        found = f"one of schema {known['schema']!r}" if "schema" in known else "not a ledger"
        raise ValueError(
            f"{where} is {found}, but a file that Ledger.save wrote with the schema {SCHEMA!r} is expected"
        )
    try:
        table = content.to_pandas(ignore_metadata=True)
        wrong = fault_of(table, known["by"], dict(known["lenses"]))
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{where} is a damaged ledger: {error}") from error
    if wrong:
        raise ValueError(f"{where} is a damaged ledger: {wrong}")
    return table, known


def _need_pyarrow() -> None:
    if find_spec("pyarrow") is None:
        raise ModuleNotFoundError('files of ledgers need pyarrow: pip install "calibstat[files]"')
