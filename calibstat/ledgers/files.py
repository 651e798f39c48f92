"""Ledgers in Parquet files: the table as it is, and in the metadata what its columns mean, under a versioned name."""

from __future__ import annotations

import json
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from calibstat._files import written_whole
from calibstat._text import shown
from calibstat.ledgers.table import fault_of

if TYPE_CHECKING:
    import pandas as pd

SCHEMA: Final = "calibstat-ledger/1"
_REMEDY: Final = "; count the rows and save the ledger again, or restore a copy of the file"
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
    known = {"schema": SCHEMA, "checksum": _checksum(content.to_pandas(ignore_metadata=True), meaning)} | meaning
    content = content.replace_schema_metadata({"calibstat": json.dumps(known)})
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
        with Path(path).open("rb") as opened:  # once: another file may take its place at any moment
            content = parquet.read_table(opened, page_checksum_verification=True)
        known = json.loads((content.schema.metadata or {}).get(b"calibstat", b"{}"))
        table = content.to_pandas(ignore_metadata=True)
    except Exception as error:  # a damaged file makes pyarrow raise exceptions of many kinds
        raise ValueError(f"cannot read {where}: it is damaged, or no Parquet file{_REMEDY}") from error
    schema = known.get("schema") if isinstance(known, dict) else None
    if schema != SCHEMA:
        found = "not a ledger" if schema is None else f"one of schema {shown(repr(schema))}"
        raise ValueError(
            f"{where} is {found}, but a file that Ledger.save wrote with the schema {SCHEMA!r} is expected{_REMEDY}"
        )
    wrong = _fault_of_meaning(known) or fault_of(table, known["by"], dict(known["lenses"]))
    meaning = {name: known[name] for name in known if name not in ("schema", "checksum")}
    if not wrong and known.get("checksum") != _checksum(table, meaning):
        wrong = "its checksum is that of other content"
    if wrong:
        raise ValueError(f"{where} is a damaged ledger: {wrong}{_REMEDY}")
    return table, known


def _checksum(table: pd.DataFrame, meaning: dict[str, Any]) -> str:
    """Return a checksum of all values, in their lines, and of what they mean."""
    import pandas as pd

    lines = pd.util.hash_pandas_object(table, index=False).to_numpy()
    return sha256(json.dumps([meaning, list(table.columns)], sort_keys=True).encode() + lines.tobytes()).hexdigest()


def _fault_of_meaning(known: dict[str, Any]) -> str:
    """Say what cannot be so in what a file says of its table, or nothing."""
    by, lenses, left_out = (known.get(name, "") for name in ("by", "lenses", "left_out"))
    if not isinstance(by, list) or not all(isinstance(name, str) for name in by) or len(set(by)) < len(by):
        return "it does not say by which columns rows are kept apart"
    if not isinstance(lenses, list) or not lenses or not all(map(_is_lens, lenses)):
        return "it does not say through which lenses rows were counted, with two outcomes each"
    names = [name for name, _ in lenses]
    if len(set(names)) < len(names):
        return "it names a lens twice"
    told = isinstance(left_out, dict) and set(left_out) == set(names)
    if not told or not all(type(rows) is int and rows >= 0 for rows in left_out.values()):
        return "it does not say how many rows are left out for each lens"
    return ""


def _is_lens(entry: Any) -> bool:
    """Whether an entry is a name with two labels."""
    if not isinstance(entry, list) or len(entry) != 2 or not isinstance(entry[0], str):
        return False
    labels = entry[1]
    pair = isinstance(labels, list) and len(labels) == 2 and all(type(each) in _KEPT_IN_JSON for each in labels)
    return pair and labels[0] != labels[1]


def _need_pyarrow() -> None:
    if find_spec("pyarrow") is None:
        raise ModuleNotFoundError('files of ledgers need pyarrow: pip install "calibstat[files]"')
