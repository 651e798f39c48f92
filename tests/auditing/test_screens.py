"""Whole screens of audits, scans, tables of leaves, learned errors and curves, on terminals of 80 and 120 columns."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import calibstat as cs


@cache
def world():
    """Ages above 65 are too high, as is everything by a little; 60 rows of one ward expect a tenth of an event."""
    rng, n = np.random.default_rng(21), 4000
    p, age, sex = rng.uniform(0.05, 0.95, n), rng.integers(20, 90, n), rng.choice(["f", "m"], n)
    ward = rng.choice(["north", "south", "west"], n).astype("<U9")
    p[:60], ward[:60] = 0.002, "hospice"
    happened = rng.random(n) < p - 0.03 * p - np.where((age > 65) & (sex == "m"), 0.2 * p, 0)
    happened[0] = True
    variables = {"age": age, "sex": sex, "ward": ward}
    return cs.Sample(np.where(happened, "yes", "no"), p, variables=variables, labels=["no", "yes"])


ASKED = {
    "audit": lambda sample: cs.subgroup_audit(sample, ["age", "ward"], n_resamples=199, rng=0),
    "scan": lambda sample: cs.scan_variables(sample, n_resamples=199, rng=0),
    "leaves": lambda sample: cs.grow_leaf_table(sample, ["age", "sex"], max_depth=2, rng=0),
    "learner": lambda sample: cs.learner_audit(sample, ["age", "sex"], max_depth=2, n_resamples=199, rng=0),
    "curves": lambda sample: cs.equal_curves_test(sample, "ward", n_resamples=199, rng=0),
}

SCREENS = {
    ("audit", 80): """\
P(yes) is off in 4 of 8 groups at 5 %; it weighs most in age 72 to 89 (961
rows): predicts too high on average, error 0.094 (95 %: 0.051 to 0.137), 0.497
predicted, 0.409 happened, adjusted p = 0.005. Over all rows: 0.499 predicted,
0.465 happened (O/E 0.93, slope 0.874).

group         rows  predicted  happened  error    95 % interval   adj. p
all rows      4000      0.499     0.465  0.037   0.015 to 0.058  0.005 *
age 72 to 89   961      0.497     0.409  0.094   0.051 to 0.137  0.005 *
ward south    1309      0.508     0.453  0.055   0.014 to 0.096  0.005 *
ward west     1322      0.503     0.474  0.039  0.0019 to 0.076  0.035 *
age 54 to 72  1026      0.506     0.477  0.035   0.000 to 0.078    0.095
ward north    1309      0.510     0.487  0.028   0.000 to 0.065     0.28
age 20 to 37  1036      0.511     0.499  0.018   0.000 to 0.060        1
age 37 to 54   977      0.483     0.470  0.017   0.000 to 0.062        1

note        left out: ward hospice (n = 60) expects 0.12 events, fewer than 5
            (it has 1 event)
note        p-values do not hold if the model or its calibration was fitted on
            these rows, or if rows come in clusters (several of one patient, one
            video)

Column noise, column about, column direction and how this was computed:
--verbose""",
    ("audit", 120): """\
P(yes) is off in 4 of 8 groups at 5 %; it weighs most in age 72 to 89 (961 rows): predicts too high
on average, error 0.094 (95 %: 0.051 to 0.137), 0.497 predicted, 0.409 happened, adjusted p = 0.005.
Over all rows: 0.499 predicted, 0.465 happened (O/E 0.93, slope 0.874).

group         rows  predicted  happened  error    95 % interval   adj. p   about  direction
all rows      4000      0.499     0.465  0.037   0.015 to 0.058  0.005 *   1e-06  too high on average
age 72 to 89   961      0.497     0.409  0.094   0.051 to 0.137  0.005 *   2e-10  too high on average
ward south    1309      0.508     0.453  0.055   0.014 to 0.096  0.005 *  0.0001  too high on average
ward west     1322      0.503     0.474  0.039  0.0019 to 0.076  0.035 *          too high where it says 0.28 to 0.95
age 54 to 72  1026      0.506     0.477  0.035   0.000 to 0.078    0.095
ward north    1309      0.510     0.487  0.028   0.000 to 0.065     0.28
age 20 to 37  1036      0.511     0.499  0.018   0.000 to 0.060        1
age 37 to 54   977      0.483     0.470  0.017   0.000 to 0.062        1

note        left out: ward hospice (n = 60) expects 0.12 events, fewer than 5 (it has 1 event)
note        p-values do not hold if the model or its calibration was fitted on these rows, or if
            rows come in clusters (several of one patient, one video)

Column noise and how this was computed: --verbose""",
    ("scan", 80): """\
The error of P(yes) varies along 1 of 3 variables at 5 %, most along age: by
0.0309 on average (0.0055 to 0.0564, adjusted p = 0.01), worst at 75 to 82:
predicts too high (0.488 predicted, 0.392 happened). Over all rows: predicts too
high, 0.499 predicted, 0.465 happened (O/E 0.93, slope 0.874).

variable  varies by    95 % interval  adj. p  worst at  predicted  happened
age           0.031  0.0055 to 0.056  0.01 *  75 to 82      0.488     0.392
sex           0.013   0.000 to 0.029   0.175  m             0.505     0.457
ward          0.013   0.000 to 0.031   0.295  south         0.508     0.453

note        p-values do not hold if the model or its calibration was fitted on
            these rows, or if rows come in clusters (several of one patient, one
            video)

Column direction, column noise and how this was computed: --verbose""",
    ("scan", 120): """\
The error of P(yes) varies along 1 of 3 variables at 5 %, most along age: by 0.0309 on average
(0.0055 to 0.0564, adjusted p = 0.01), worst at 75 to 82: predicts too high (0.488 predicted, 0.392
happened). Over all rows: predicts too high, 0.499 predicted, 0.465 happened (O/E 0.93, slope
0.874).

variable  varies by   noise    95 % interval  adj. p  worst at  predicted  happened  direction
age           0.031   0.016  0.0055 to 0.056  0.01 *  75 to 82      0.488     0.392  too high in 9 of 10 cells
sex           0.013  0.0052   0.000 to 0.029   0.175  m             0.505     0.457  consistently too high
ward          0.013  0.0069   0.000 to 0.031   0.295  south         0.508     0.453  consistently too high

note        p-values do not hold if the model or its calibration was fitted on these rows, or if
            rows come in clusters (several of one patient, one video)

How this was computed: --verbose""",
    ("leaves", 80): """\
P(yes) is off in 1 of 4 leaves by another error than over all rows at 5 %; most
clearly it predicts too high by 0.078 (95 %: 0.027 to 0.127) where age above 67.
Over all rows it predicts too high by 0.034 (95 %: 0.011 to 0.056).

rows  predicted  happened          difference   noise  where
2000      0.503     0.469  -0.056 to -0.011 *  0.0095  all rows
 430      0.500     0.467  -0.093 to +0.029     0.020  age at most 34
 874      0.500     0.506  -0.037 to +0.048     0.014  age 34 to 64
  77      0.567     0.442  -0.266 to +0.022     0.048  age 64 to 67
 619      0.500     0.422  -0.127 to -0.027 *   0.017  age above 67

note        intervals do not hold if the model or its calibration was fitted on
            these rows, or if rows come in clusters (several of one patient, one
            video)

How this was computed: --verbose""",
    ("leaves", 120): """\
P(yes) is off in 1 of 4 leaves by another error than over all rows at 5 %; most clearly it predicts
too high by 0.078 (95 %: 0.027 to 0.127) where age above 67. Over all rows it predicts too high by
0.034 (95 %: 0.011 to 0.056).

rows  predicted  happened          difference   noise  where
2000      0.503     0.469  -0.056 to -0.011 *  0.0095  all rows
 430      0.500     0.467  -0.093 to +0.029     0.020  age at most 34
 874      0.500     0.506  -0.037 to +0.048     0.014  age 34 to 64
  77      0.567     0.442  -0.266 to +0.022     0.048  age 64 to 67
 619      0.500     0.422  -0.127 to -0.027 *   0.017  age above 67

note        intervals do not hold if the model or its calibration was fitted on these rows, or if
            rows come in clusters (several of one patient, one video)

How this was computed: --verbose""",
    ("learner", 80): """\
P(yes) predicts too high by 0.109 (95 %: 0.029 to 0.193) where age above 65 and
prediction above 0.45 (p = 1.23e-05).

rows  predicted  happened           difference  where
 257      0.701     0.591   -0.193 to -0.029 *  age above 65 and prediction
                                                  above 0.45
 195      0.250     0.154   -0.158 to -0.017 *  age above 65 and prediction at
                                                  most 0.45
  96      0.901     0.854   -0.165 to +0.033    age at most 65 and prediction
                                                  above 0.85
 785      0.444     0.429   -0.062 to +0.033    age at most 65 and prediction at
                                                  most 0.85
 823      0.537     0.492  -0.091 to +0.0021    learned error at most 0
 510      0.436     0.384  -0.109 to +0.0066    learned error above 0

note        p-values do not hold if the model or its calibration was fitted on
            these rows, or if rows come in clusters (several of one patient, one
            video)

Column noise and how this was computed: --verbose""",
    ("learner", 120): """\
P(yes) predicts too high by 0.109 (95 %: 0.029 to 0.193) where age above 65 and prediction above
0.45 (p = 1.23e-05).

rows  predicted  happened           difference  noise  where
 257      0.701     0.591   -0.193 to -0.029 *  0.027  age above 65 and prediction above 0.45
 195      0.250     0.154   -0.158 to -0.017 *  0.030  age above 65 and prediction at most 0.45
  96      0.901     0.854   -0.165 to +0.033    0.030  age at most 65 and prediction above 0.85
 785      0.444     0.429   -0.062 to +0.033    0.016  age at most 65 and prediction at most 0.85
 823      0.537     0.492  -0.091 to +0.0021    0.015  learned error at most 0
 510      0.436     0.384  -0.109 to +0.0066    0.019  learned error above 0

note        p-values do not hold if the model or its calibration was fitted on these rows, or if
            rows come in clusters (several of one patient, one video)

How this was computed: --verbose""",
    ("curves", 80): """\
That as much happens at the same prediction in all 3 groups of 'ward' is not
rejected at 5 % (p = 0.345); most in north (+0.012 on average), least in south
(-0.019).

group       rows  more happens by  odds ratio  adj. p
ward north  1309          +0.0122         1.1   0.255
ward south  1309          -0.0194       0.858   0.255
ward west   1322          +0.0071        1.06   0.945

note        this compares groups where the prediction is the same; the model may
            be off in all groups alike
note        left out: ward hospice (n = 60) expects 1.04 events, fewer than 10

How this was computed: --verbose""",
    ("curves", 120): """\
That as much happens at the same prediction in all 3 groups of 'ward' is not rejected at 5 % (p =
0.345); most in north (+0.012 on average), least in south (-0.019).

group       rows  more happens by  odds ratio  adj. p
ward north  1309          +0.0122         1.1   0.255
ward south  1309          -0.0194       0.858   0.255
ward west   1322          +0.0071        1.06   0.945

note        this compares groups where the prediction is the same; the model may be off in all
            groups alike
note        left out: ward hospice (n = 60) expects 1.04 events, fewer than 10

How this was computed: --verbose""",
}


@pytest.mark.parametrize(("asked", "width"), SCREENS)
def test_the_whole_screen(asked, width):
    found = ASKED[asked](world())
    assert found.screen("--verbose").text(width) == SCREENS[asked, width]


@pytest.mark.parametrize("asked", ASKED)
def test_the_first_screen_has_no_jargon_and_everything_else_has_all(asked):
    found = ASKED[asked](world())
    first = found.to_text(120)
    assert not any(each in first for each in ("VECE", "Kuiper", "max-T", "null", "Canonical", "normal law", "Holm"))
    everything = found.to_text(120, verbose=True)
    assert "null " in everything or asked == "leaves"
    assert "Canonical()" in everything
    assert all(line in everything for line in first.split("\n\n")[0].splitlines())
