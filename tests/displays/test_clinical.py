"""The picture of a clinical summary shows its curve and its belt."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

import calibstat as cs
from displays.rendered import assert_readable
from published.test_rms_val_prob import sixty_rows


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.mark.parametrize("weighted", [False, True])
def test_curve_and_belt_are_those_of_the_summary(weighted):
    y, p = sixty_rows()
    weights = np.linspace(0.5, 1.5, 60) if weighted else None
    found = cs.clinical_summary(cs.Sample(y, p, sample_weight=weights), n_resamples=39, rng=0)
    display = found.plot(name="Sixty patients")
    assert isinstance(display, cs.ClinicalDisplay)
    np.testing.assert_array_equal(display.curve_.get_xydata(), np.column_stack([found.curve.x, found.curve.outcome]))
    assert (display.belt_ is None) == weighted
    assert f"O/E {found['oe'].value:.3g}, slope {found['slope'].value:.3g}; n = 60" in display._answer[0]
    assert found.verdict in display.caption
    assert not display.beyond
    assert_readable(display.figure_)


def test_other_results_are_refused():
    with pytest.raises(TypeError, match="that of clinical_summary is expected"):
        cs.ClinicalDisplay.from_result(3)
