"""A curve that is nearly high enough at the end of what is allowed, so that its line crosses far beyond."""

from __future__ import annotations

import pytest

from calibstat.planning.search import Search


@pytest.mark.parametrize("whole", [True, False])
def test_a_flat_curve_that_never_crosses_is_refused_in_words(whole):
    search = Search(0.8, 1.0, 31.0, 100, root=True, whole=whole)
    with pytest.raises(ValueError, match=r"the power at 31, the largest, is 0\.7\d .* but 0\.8 is wanted"):
        search(lambda place, runs: round(0.725 * runs), 31.0)


def test_a_flat_curve_that_is_high_enough_ends_there():
    found = Search(0.8, 1.0, 31.0, 100, root=True, whole=True)(lambda place, runs: round(0.8 * runs), 31.0)
    assert 1 <= found.low <= found.place <= 31
