"""Files that are either written whole or left as they were."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def written_whole(path: str | Path) -> Iterator[Path]:
    """Give a place beside `path` to write to; what was written is moved to `path` at once when the ``with`` block ends.

    If the block ends by an error or Ctrl-C, `path` is as it was before, and nothing is left beside it. What is no file,
    such as ``/dev/stdout``, is written to directly.

    Parameters
    ----------
    path : str or path

    Examples
    --------
    >>> import tempfile
    >>> from calibstat.whole_files import written_whole
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with written_whole(f"{folder}/plan.txt") as place:
    ...         _ = place.write_text("all of it")
    ...     print([each.name for each in Path(folder).iterdir()])
    ['plan.txt']
    """
    if Path(path).exists() and not Path(path).is_file():
        yield Path(path)
        return
    target = Path(path).resolve()  # of a link, the file
    place = target.with_name(f"{target.stem}.partial{target.suffix}")
    try:
        yield place
        place.replace(target)
    finally:
        place.unlink(missing_ok=True)
