from __future__ import annotations

import pytest

from calibstat.planning import search
from calibstat.reports import _findings


@pytest.fixture(autouse=True, scope="module")
def _few_runs():
    """Look for the smallest error that is seen by few simulations, which no test of reports is about."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_findings, "_RUNS", 10)
        patch.setattr(search, "_PILOT", 10)
        yield
