"""A law that fails says by which flags of an entry it asks something else of a thing."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from registered.entries import FLAGS, way_out


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add a section to the report of a failure."""
    report = yield
    law = getattr(item, "originalname", item.name)
    if report.failed and law in FLAGS:
        report.sections.append(("what an Entry may say", way_out(law)))
    return report
