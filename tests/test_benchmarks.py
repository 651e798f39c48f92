"""Benchmarks time every public function (the table is in tests/benchmarks/verbs.py)."""

from benchmarks.verbs import VERBS, WITHOUT_WORK, public_functions


def test_every_public_function_has_a_row():
    assert public_functions() - WITHOUT_WORK - {*VERBS} == set()
    assert len(public_functions()) > 30


def test_no_row_is_left_of_a_function_that_is_gone():
    methods = {name for name in VERBS if "." in name or name[0].isupper()}
    assert {*VERBS} - methods <= public_functions()
