"""Print the three lines of Python that do the case of a seed again, and what is wrong with it: python -m fuzz 12345.

The kind of case stands after the seed: estimators (by default), functions, inputs, objects or dear.
"""

import sys

from fuzz.cases import lines
from fuzz.judge import fault

seed, kinds = int(sys.argv[1]), (sys.argv[2:] or ["estimators"])[0]
print(fault(seed, kinds) or lines(seed, kinds))
