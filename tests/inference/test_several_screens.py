"""Whole screens of tests of several numbers and of margins: the answer, a table that fits, two notes."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import calibstat as cs


@cache
def sample():
    """Two of four sites are off."""
    rng = np.random.default_rng(0)
    p, site = rng.random(2000), rng.choice(list("abcd"), 2000)
    happened = rng.random(2000) < np.where(site == "b", p**2, np.where(site == "c", p**1.2, p))
    return cs.Sample(happened, p, variables={"site": site})


TEN = cs.ECE(cs.EqualMass(10))


@cache
def several():
    return cs.multiple_test(sample(), cs.Within("site", TEN), rng=0)


@cache
def panel():
    return cs.omnibus_test(sample(), rng=0)


@cache
def margin():
    return cs.equivalence_test(sample(), TEN, 0.1, rng=0)


SCREENS = {
    (several, 80): """\
Evidence of miscalibration of P(True) for a, b and c at 5 % (3 of 4 tests, n =
2000). The clearest, b: average calibration error 0.1778, where a calibrated
model gives 0.04399 (adjusted p = 0.001).

name    value  if calibrated  above noise, in its SDs  adjusted p     about
a      0.0804        0.04366                      3.5       0.003  *
b      0.1778        0.04399                     11.4       0.001  *  4e-12
c     0.07261        0.04438                      2.4       0.044  *
d     0.05305        0.04545                      0.7       0.637

note        0.001 is the smallest p-value that 999 redraws can give; how small
            they are by theory is under "about"

Column p and how this was computed: .to_text(verbose=True)
""",
    (several, 120): """\
Evidence of miscalibration of P(True) for a, b and c at 5 % (3 of 4 tests, n = 2000). The clearest,
b: average calibration error 0.1778, where a calibrated model gives 0.04399 (adjusted p = 0.001).

name    value  if calibrated  above noise, in its SDs      p  adjusted p     about
a      0.0804        0.04366                      3.5  0.001       0.003  *
b      0.1778        0.04399                     11.4  0.001       0.001  *  4e-12
c     0.07261        0.04438                      2.4  0.012       0.044  *
d     0.05305        0.04545                      0.7  0.221       0.637

note        0.001 is the smallest p-value that 999 redraws can give; how small they are by theory is
            under "about"

How this was computed: .to_text(verbose=True)
""",
    (panel, 80): """\
Evidence of miscalibration of P(True) at 5 % (n = 2000, p = 0.001): too high,
0.499 predicted, 0.442 happened (O/E 0.885, slope 0.961). The strongest
statistic, cubic score, points to a smooth distortion: a shift, a slope, or bent
tails.

statistic                   p  adjusted p
Spiegelhalter            0.07       0.134
cubic score             0.001       0.001
Anderson-Darling        0.001       0.001
multi-scale l2          0.001       0.001
multi-bandwidth kernel  0.001       0.001

note        0.001 is the smallest p-value that 999 redraws can give

How this was computed: .to_text(verbose=True)
""",
    (panel, 120): """\
Evidence of miscalibration of P(True) at 5 % (n = 2000, p = 0.001): too high, 0.499 predicted, 0.442
happened (O/E 0.885, slope 0.961). The strongest statistic, cubic score, points to a smooth
distortion: a shift, a slope, or bent tails.

statistic                   p  adjusted p
Spiegelhalter            0.07       0.134
cubic score             0.001       0.001
Anderson-Darling        0.001       0.001
multi-scale l2          0.001       0.001
multi-bandwidth kernel  0.001       0.001

note        0.001 is the smallest p-value that 999 redraws can give

How this was computed: .to_text(verbose=True)
""",
    (margin, 80): """\
It cannot be said with 95 % confidence that the average calibration error of
P(True) is at most 0.1: its upper bound is 0.1008 (n = 2000, p = 0.065).

  value  95 % bound  margin  95 % if calibrated
0.06488      0.1008     0.1  0.001102 to 0.03173

How this was computed: .to_text(verbose=True)
""",
    (margin, 120): """\
It cannot be said with 95 % confidence that the average calibration error of P(True) is at most 0.1:
its upper bound is 0.1008 (n = 2000, p = 0.065).

  value  95 % bound  margin  95 % if calibrated
0.06488      0.1008     0.1  0.001102 to 0.03173

How this was computed: .to_text(verbose=True)
""",
}


@pytest.mark.parametrize(("result", "width"), SCREENS)
def test_the_whole_screen(result, width):
    assert result().to_text(width) == SCREENS[result, width].rstrip("\n")


def test_smallest_pvalues_have_computed_ones_beside_them():
    found = cs.omnibus_test(
        sample(), {"mean": cs.MeanCalibration(), "walk": cs.Kuiper(), "cubic": cs.CubicScore()}, rng=0
    )
    own = cs.calibration_test(sample(), cs.MeanCalibration())
    assert [tail is None for tail in found.tails] == [False, False, True]
    assert found.tails[0] == pytest.approx(3 * own.pvalue)
    assert found.tail == min(found.tails[:2])
    assert found.to_dict()["panel"]["mean"]["tail"] == found.tails[0]
    assert panel().tail is None


def test_a_panel_has_the_tail_of_the_error_beside_it():
    found = cs.calibration_test(sample(), rng=0)
    own = cs.calibration_test(sample(), cs.ECE(cs.EqualMass(15)))
    assert found.pvalue == 0.001
    assert found.tail == pytest.approx(2 * own.pvalue)
    assert "999 redraws can give; by theory it is" in str(found)
    assert cs.calibration_test(sample(), cs.ECE(cs.EqualMass(15))).tail is None


def test_redraws_by_signs_have_no_tails():
    by_signs = cs.omnibus_test(sample(), {"z": cs.MeanCalibration(), "cells": TEN}, null="multiplier", rng=0)
    assert by_signs.tails == (None, None)
    assert by_signs.tail is None


def test_screens_name_no_lens_and_no_estimator():
    for result in (several(), panel(), margin()):
        assert "()" not in str(result).replace(".to_text(verbose=True)", "")
        assert "Canonical()" in result.to_text(verbose=True)
