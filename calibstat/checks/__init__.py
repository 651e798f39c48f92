"""The one place where arrays from outside are examined; whatever has passed is trusted everywhere else."""

from calibstat.checks.examine import Examined, examine
from calibstat.checks.parameters import SmallCellsWarning, at_least_one, true_or_false

__all__ = ["Examined", "SmallCellsWarning", "at_least_one", "examine", "true_or_false"]
