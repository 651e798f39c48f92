"""What a store says of its arrays is kept twice, so that damage to it is seen, and mended by the next run."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

from calibstat._files import written_whole

COPY = ".calibstat-metadata"


def keep_copy(store: Path) -> None:
    """Write the copy, with a checksum."""
    said = {file.relative_to(store).as_posix(): _said_by(file) for file in sorted(store.rglob(".z*"))}
    (store / COPY).write_text(json.dumps({"checksum": _checksum(said), "metadata": said}), encoding="utf-8")


def damaged(store: Path) -> dict[Path, Any]:
    """Return the files that do not say what the copy says, with what they should say.

    A copy that is damaged itself, or that stores of earlier versions do not have, says nothing of the files.
    """
    copy = _said_by(store / COPY)
    if not isinstance(copy, dict) or copy.get("checksum") != _checksum(copy.get("metadata")):
        return {}
    return {store / name: said for name, said in copy["metadata"].items() if _said_by(store / name) != said}


def refuse_damaged(store: Path) -> None:
    """Refuse a store of which a file of metadata is damaged."""
    for file in damaged(store):
        raise ValueError(f"{file} is damaged, or was changed: run the sweep again with this store, which mends it.")


def mend(store: Path) -> None:
    """Write what the copy says into the files that are damaged."""
    for file, said in damaged(store).items():
        file.parent.mkdir(exist_ok=True)
        with written_whole(file) as place:
            place.write_text(json.dumps(said), encoding="utf-8")


def _said_by(file: Path) -> Any:
    """Return the content of a file of JSON; None where there is none."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def _checksum(said: Any) -> str:
    return sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
