"""No warnings of small cells while a sweep computes: thousands of cells are small, and on purpose."""

from __future__ import annotations

import threading
import warnings
from dataclasses import dataclass, field

from calibstat.checks import SmallCellsWarning


@dataclass
class Quiet:
    """Hushes warnings of small cells while anyone computes: filters belong to the process, not to the thread."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    inside: int = 0
    saved: warnings.catch_warnings[None] | None = None

    def __enter__(self) -> None:
        with self.lock:
            self.inside += 1
            if self.inside == 1:
                self.saved = warnings.catch_warnings()
                self.saved.__enter__()
                warnings.simplefilter("ignore", SmallCellsWarning)

    def __exit__(self, *raised: object) -> None:
        with self.lock:
            self.inside -= 1
            if self.inside == 0 and self.saved is not None:
                self.saved.__exit__(None, None, None)


quiet = Quiet()
