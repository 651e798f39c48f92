"""Whole screens of paths of simpler predictors, of rows and in a world, on terminals of 80 and 120 columns."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import calibstat as cs


@cache
def rows():
    rng = np.random.default_rng(21)
    p = rng.random(1200)
    return cs.simplify(cs.Sample(rng.random(1200) < p**1.2, p), 3, rng=0)


@cache
def world():
    predictions, chances = [0.1, 0.2, 0.4, 0.5, 0.8, 0.9], [0.1, 0.3, 0.4, 0.5, 0.7, 0.9]
    return cs.simplify(cs.generators.FinitePredictions(predictions, chances, [0.1, 0.2, 0.2, 0.1, 0.2, 0.2]), 2)


SCREENS = {
    (rows, 80): """\
3 cells in place of 60, on 600 rows that did not choose them: Brier score (mean
squared distance of outcome and prediction) 0.18, a change of 0.005017 against
the original predictions (95 %: -0.00154 to 0.01157); calibration error 0.0672,
where 0.02303 is expected of a calibrated predictor.

cells  calibration error  expected    loss     tau    count
   60             0.1062    0.0972  0.1749  0.8320  49.8339
   42             0.0840    0.0746  0.1745  0.8417  22.9008
   30             0.0711    0.0561  0.1740  0.8651  10.2934
   21             0.0684    0.0469  0.1745  0.8672   8.9619
   15             0.0635    0.0426  0.1744  0.8695   7.8166
   11             0.0631    0.0396  0.1744  0.8698   7.7506
    8             0.0627    0.0352  0.1755  0.8741   6.7252
    6             0.0612    0.0305  0.1759  0.8852   4.9733
    5             0.0643    0.0285  0.1778  0.8883   4.3599
    4             0.0662    0.0263  0.1805  0.8994   3.3970
    3             0.0672    0.0230  0.1800  0.9172   2.9660

note        a number of cells that is chosen by this table has seen these rows:
            judge that choice on others

How this was computed: .to_text(verbose=True)
""",
    (rows, 120): """\
3 cells in place of 60, on 600 rows that did not choose them: Brier score (mean squared distance of
outcome and prediction) 0.18, a change of 0.005017 against the original predictions (95 %: -0.00154
to 0.01157); calibration error 0.0672, where 0.02303 is expected of a calibrated predictor.

cells  calibration error  expected    loss     tau    count
   60             0.1062    0.0972  0.1749  0.8320  49.8339
   42             0.0840    0.0746  0.1745  0.8417  22.9008
   30             0.0711    0.0561  0.1740  0.8651  10.2934
   21             0.0684    0.0469  0.1745  0.8672   8.9619
   15             0.0635    0.0426  0.1744  0.8695   7.8166
   11             0.0631    0.0396  0.1744  0.8698   7.7506
    8             0.0627    0.0352  0.1755  0.8741   6.7252
    6             0.0612    0.0305  0.1759  0.8852   4.9733
    5             0.0643    0.0285  0.1778  0.8883   4.3599
    4             0.0662    0.0263  0.1805  0.8994   3.3970
    3             0.0672    0.0230  0.1800  0.9172   2.9660

note        a number of cells that is chosen by this table has seen these rows: judge that choice on
            others

How this was computed: .to_text(verbose=True)
""",
    (world, 80): """\
2 cells in place of 6: Brier score (mean squared distance of outcome and
prediction) 0.199 in place of 0.188, calibration error 0.04 in place of 0.04
(true values).

cells  calibration error    loss     tau   count
    6             0.0400  0.1880  1.0000  5.5556
    4             0.0400  0.1896  1.0000  2.9412
    3             0.0400  0.1926  1.0000  2.3810
    2             0.0400  0.1990  1.0000  1.9231

How this was computed: .to_text(verbose=True)
""",
    (world, 120): """\
2 cells in place of 6: Brier score (mean squared distance of outcome and prediction) 0.199 in place
of 0.188, calibration error 0.04 in place of 0.04 (true values).

cells  calibration error    loss     tau   count
    6             0.0400  0.1880  1.0000  5.5556
    4             0.0400  0.1896  1.0000  2.9412
    3             0.0400  0.1926  1.0000  2.3810
    2             0.0400  0.1990  1.0000  1.9231

How this was computed: .to_text(verbose=True)
""",
}


@pytest.mark.parametrize(("path", "width"), SCREENS)
def test_the_whole_screen(path, width):
    assert path().to_text(width) == SCREENS[path, width].rstrip("\n")
    assert max(map(len, SCREENS[path, width].splitlines())) <= width


def test_what_is_behind_it():
    text = " ".join(rows().to_text(80, verbose=True).split())
    assert "chosen on 600 rows; all numbers are of others (n = 600" in text
    assert "loss Brier score (mean squared distance of outcome and prediction): what merges lose least of" in text
