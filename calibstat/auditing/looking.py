"""A sample seen through a lens, with the variables of an audit cut into levels."""

from __future__ import annotations

from collections.abc import Mapping

from calibstat.auditing.levels import By, Levels, cut_levels, read_columns
from calibstat.binnings.base import Binning
from calibstat.binnings.equal_mass import EqualMass
from calibstat.lenses.base import Lens
from calibstat.sample import Sample


def look(
    sample: Sample,
    by: By,
    lens: Lens,
    binning: Binning | Mapping[str, Binning],
    missing: str,
    argument: str = "by",
) -> tuple[list[Levels], Sample]:
    """Look at a sample through a lens and cut the variables in the rows that are left."""
    columns = read_columns(sample, by, missing, argument)
    view = lens.look(sample.predictions)
    seen = lens(sample)
    if not len(seen):
        raise ValueError(f"no row is left to look at through {lens!r}; widen its region.")
    if view.rows is not None:
        columns = {name: column.take(view.rows) for name, column in columns.items()}
    rules = binning if isinstance(binning, Mapping) else dict.fromkeys(columns, binning)
    unknown = [name for name in rules if name not in columns]
    if unknown:
        raise ValueError(f"binning names {unknown[0]!r}, which is not among the variables: {', '.join(columns)}.")
    default = EqualMass(4)
    return [
        cut_levels(name, column, seen.predictions, rules.get(name, default)) for name, column in columns.items()
    ], seen
