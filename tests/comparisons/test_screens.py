"""Whole screens of two calibrators, of one, and of the protocol over a variable."""

from __future__ import annotations

import numpy as np
import pytest

import calibstat as cs
from calibstat import calibrators as cal


@pytest.fixture(scope="module")
def results():
    rng = np.random.default_rng(0)
    p, age = rng.random(2000), rng.uniform(20, 80, 2000)
    y = rng.random(2000) < np.where(age < 50, p**2, p)
    found = cs.compare_calibrators({"platt": cal.Platt(), "isotonic": cal.Isotonic()}, y, p, rng=0)
    over = cs.variable_based_protocol(y, p, age, name="age", n_resamples=199, rng=0)
    return [found["platt"], found.pairs[0], found.pairs[2], over]


@pytest.mark.parametrize("width", [80, 120])
def test_screens(results, width):
    assert "\n\n".join(each.to_text(width) for each in results) == SCREENS[width]


def test_what_is_behind_them(results):
    one, better, alike, over = (" ".join(each.to_text(80, verbose=True).split()) for each in results)
    assert "calibrator Platt()" in one
    assert "difference of the squared errors, uncalibrated minus platt: 0.0" in better
    assert "adjusted p of the difference of Brier scores: " in alike
    assert "ECE over the confidence, VECE over the variable" in over


SCREENS = {
    80: """\
platt: calibration error of P(True) 0.020 (0.000 to 0.080), p = 0.313. 0.423
predicted, 0.415 happened (O/E 0.981, slope 0.957).

How this was computed: .to_text(verbose=True)

platt is better calibrated than uncalibrated: calibration error of P(True) 0.020
(0.000 to 0.080) instead of 0.090 (0.044 to 0.137), adjusted p = 0.003 (at most
5 %).

How this was computed: .to_text(verbose=True)

platt and isotonic cannot be told apart at 5 % by their calibration errors of
P(True) (adjusted p = 0.9).

How this was computed: .to_text(verbose=True)

Smallest error of the confidence in the predicted class over age:
variable-based, 2.72 % (uncalibrated 4.15 %); over the confidence itself:
scaling-binning, 3.04 % (uncalibrated 3.44 %).

                 confidence %  age %  noise  noise age      p  p age
uncalibrated             3.44   4.15   3.12       3.28   0.36   0.15
scaling-binning          3.04   4.41   2.90       3.27  0.405   0.09
platt                    3.16   4.62   3.12       3.13  0.495   0.03
beta                     4.57   4.19   3.06       3.09  0.025   0.06
variable-based           3.50   2.72   2.89       3.15  0.185   0.67

note        tested on 1000 rows, fitted on 1000 others; errors are binned in 10
            cells
note        noise is the mean of the errors of a calibrated model with as many
            rows; p of each error is exact

How this was computed: .to_text(verbose=True)""",
    120: """\
platt: calibration error of P(True) 0.020 (0.000 to 0.080), p = 0.313. 0.423 predicted, 0.415
happened (O/E 0.981, slope 0.957).

How this was computed: .to_text(verbose=True)

platt is better calibrated than uncalibrated: calibration error of P(True) 0.020 (0.000 to 0.080)
instead of 0.090 (0.044 to 0.137), adjusted p = 0.003 (at most 5 %).

How this was computed: .to_text(verbose=True)

platt and isotonic cannot be told apart at 5 % by their calibration errors of P(True) (adjusted p =
0.9).

How this was computed: .to_text(verbose=True)

Smallest error of the confidence in the predicted class over age: variable-based, 2.72 %
(uncalibrated 4.15 %); over the confidence itself: scaling-binning, 3.04 % (uncalibrated 3.44 %).

                 confidence %  age %  noise  noise age      p  p age
uncalibrated             3.44   4.15   3.12       3.28   0.36   0.15
scaling-binning          3.04   4.41   2.90       3.27  0.405   0.09
platt                    3.16   4.62   3.12       3.13  0.495   0.03
beta                     4.57   4.19   3.06       3.09  0.025   0.06
variable-based           3.50   2.72   2.89       3.15  0.185   0.67

note        tested on 1000 rows, fitted on 1000 others; errors are binned in 10 cells
note        noise is the mean of the errors of a calibrated model with as many rows; p of each error
            is exact

How this was computed: .to_text(verbose=True)""",
}
