"""Whether a document is that of a report: its schema, and what a schema cannot say."""

from __future__ import annotations

from hashlib import sha256
from importlib.resources import files
from typing import Any

from calibstat._lazy import LazyModule
from calibstat._text import shown

json = LazyModule("json")
fastjsonschema = LazyModule("fastjsonschema")

SCHEMA = "calibstat-report/1"


def check_document(document: Any) -> None:
    """Refuse what is no report of this version, or a damaged one."""
    if not isinstance(document, dict) or "schema" not in document:
        raise ValueError("this is no report: it has no schema; make one by report(sample)")
    _check_version(document)
    schema = json.loads((files("calibstat.reports") / "report.schema.json").read_text("utf-8"))
    del schema["$id"]  # a name, which would be taken for an address
    try:
        fastjsonschema.compile(schema)(document)
        _check_references(document)
    except ValueError as error:
        raise ValueError(f"the report is damaged ({shown(error, _MOST_SAID)}): make it anew.") from None


_MOST_SAID = 400


def _check_version(document: dict[str, Any]) -> None:
    """Refuse a report of another version, whatever its checksum is."""
    if document["schema"] != SCHEMA:
        raise ValueError(
            f"the schema of the report is {shown(document['schema'])!r}, but {SCHEMA} is expected: it needs another "
            "version of calibstat, or make it anew."
        )


def checksum(document: dict[str, Any]) -> str:
    """Return a checksum of the content, in whatever order and with whatever spaces it is written."""
    return sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def without_checksum(content: Any) -> Any:
    """Return the document of a file; refuse one with the checksum of other content. There may be none."""
    if not isinstance(content, dict) or "checksum" not in content:
        return content
    if "schema" in content:
        _check_version(content)
    document = {name: value for name, value in content.items() if name != "checksum"}
    if content["checksum"] != checksum(document):
        raise ValueError(
            "the report is damaged, or was changed after it was written (its checksum is that of other content): make "
            "it anew, or take the checksum out if the change is meant"
        )
    return document


def _check_references(document: dict[str, Any]) -> None:
    """Refuse names of sections that are not unique, rows that are no rows of their table, and unknown lenses."""
    names = [each["id"] for each in document["sections"]]
    if len(set(names)) < len(names):
        raise ValueError(f"two sections are called {names}")
    for i, part in enumerate(document["sections"]):
        for k, block in enumerate(part["blocks"]):
            where, wide = f"sections[{i}].blocks[{k}]", len(block.get("columns", ()))
            if any(len(row) != wide for row in block.get("rows", ())):
                raise ValueError(f"{where} has rows of other lengths than its {wide} columns")
            unknown = {block.get("lens"), *block.get("lens_of_row", ())} - {None, *document["lenses"]}
            if unknown:
                raise ValueError(f"{where} is of the lens {min(map(str, unknown))!r}, which is not offered")
