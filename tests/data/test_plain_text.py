"""Short text is read without pandas, and as pandas reads it."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibstat.data._line_counts import CountedLines
from calibstat.data.files import MISSING_LABELS, MISSING_VALUES, _plain_columns, _table
from suites import examples

NUMBERS = ["0", "1", "-1", "2.5", "1e5", "1E-3", "+3", "007", "-0", "-0.0", "1.", "0.30000000000000004", "5e-324"]
ODD = ["12345678901234567890", "123456789012345678", "1e400", "1e-400", "9007199254740993.0", ".", "e", "1-2", "0x1A"]
WORDS = ["cat", "dog", "", "nan", "NA", "None", "NULL", "True", "false", "inf", "Infinity", "1_000", "٣", "é", "'=1"]
SPACED = ["a b", " 1", "1 ", '"1"', '"a,b"']
CELLS = st.sampled_from(NUMBERS) | st.sampled_from(NUMBERS + ODD + WORDS) | st.sampled_from(SPACED)


def as_listed(values):
    """Whether a column holds numbers, and what it holds; NaN is written as text, since it differs from itself."""
    return values.dtype.kind in "biuf", list(map(repr, np.asarray(values).tolist()))


@examples(160)
@given(
    st.lists(st.tuples(CELLS, st.sampled_from(NUMBERS) | CELLS, CELLS), min_size=1, max_size=4),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["", "\n", "\n\n", ",\n"]),
)
def test_what_is_read_without_pandas_is_what_pandas_reads(rows, end, last):
    text = (end.join(map(",".join, rows)) + last).encode()
    found = _plain_columns(text, ",", 3, [0, 1, 2])
    if found is not None:
        missing = {0: MISSING_LABELS, 1: MISSING_VALUES, 2: MISSING_VALUES}
        table = _table(
            CountedLines(io.BytesIO(text), ",", 3, 2), sep=",", names=[0, 1, 2], usecols=[0, 1, 2], na=missing
        )
        assert [as_listed(each) for each in found.values()] == [as_listed(table[column]) for column in range(3)]


def test_usual_text_needs_no_pandas():
    found = _plain_columns(b"cat,0.25,3\ndog,1e-3,-4\n", ",", 3, [0, 1, 2])
    assert found is not None
    assert [each.tolist() for each in found.values()] == [["cat", "dog"], [0.25, 0.001], [3, -4]]
    assert [each.dtype.kind for each in found.values()] == ["O", "f", "i"]


@pytest.mark.parametrize(
    "text", [b"1,2,\n", b"1,2\n", b"1,2,3\n4,5\n", b"1,2,True\n", b'1,2,"3"\n', b"1,2,\xff\n", b""]
)
def test_unusual_text_is_left_to_pandas(text):
    assert _plain_columns(text, ",", 3, [0, 1, 2]) is None
