"""What is no number is refused in words, whoever made it, and nothing is quietly turned into one."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import calibstat as cs
from calibstat import generators as gen
from calibstat.calibrators import Platt
from calibstat.data.parameters import numbers


class Closed:
    """Says that it is an array, and is none."""

    def __array__(self, *_, **__):
        raise RuntimeError("there is no array here")

    def __repr__(self):
        raise RuntimeError("nor a text")


NO_NUMBERS = {
    "complex": np.array([0.5 + 1j]),
    "dates": np.array(["2020"], "datetime64[D]"),
    "ragged": [[0.5], [0.5, 1.0]],
    "a signalling NaN": [Decimal("sNaN")],
    "nothing": ...,
    "too large": [10**400],
    "too large to write": [10**5000],
    "closed": Closed(),
    "text": ["a"],
}
FUNCTIONS = [cs.holm, cs.benjamini_hochberg, cs.benjamini_yekutieli]
LAWS = [cs.kuiper_sf, cs.kolmogorov_smirnov_sf, cs.cramer_von_mises_sf, cs.anderson_darling_sf]


@pytest.mark.parametrize("name", NO_NUMBERS)
def test_no_numbers_are_refused_wherever_numbers_are_expected(name):
    given = NO_NUMBERS[name]
    for function in [*FUNCTIONS, *LAWS, cs.precision_n]:
        with pytest.raises(TypeError, match="it must be numbers"):
            function(given)
    for arguments in ((given, [[0.5]]), ([0.5], given)):
        with pytest.raises(TypeError, match="it must be numbers"):
            cs.single_step(*arguments)


def test_masked_numbers_are_missing():
    masked = np.ma.MaskedArray([0.01, 0.2], mask=[False, True])
    np.testing.assert_array_equal(numbers("x", masked), [0.01, np.nan])
    with pytest.raises(ValueError, match="a p-value is nan"):
        cs.holm(masked)
    assert cs.holm(masked.filled(1.0))[0] == 0.02


@pytest.mark.parametrize("law", LAWS)
def test_the_probability_of_no_number_is_none(law):
    found = law([0.5, np.nan, np.inf])
    assert np.isnan(found[1])
    assert found[0] > 0.1
    assert found[2] == 0


@pytest.mark.parametrize("huge", [10**400, -(10**400)])
def test_integers_beyond_all_floats_are_no_parameters(huge):
    for maker in (cs.ECE, gen.LogitShift, lambda value: gen.VariableMiscalibration(value, 0.1), cs.KernelBets):
        with pytest.raises((ValueError, TypeError), match="must be"):
            maker(huge) if maker is not cs.ECE else cs.ECE(p=huge)
    assert gen.LogitShift(10**30).a == 1e30


def test_bytes_that_are_no_text_are_refused():
    for y, p in (([b"\xff", b"a"], [0.5, 0.5]), ([0, 1], [b"\xff", b"0.5"])):
        with pytest.raises(ValueError, match=r"holds bytes that are no text in UTF-8 .*: decode them first"):
            cs.Sample(np.array(y), np.array(p))
    assert cs.Sample(np.array([b"a", b"b"]), [0.5, 0.5]).labels == ("a", "b")


@pytest.mark.parametrize("by", [None, 3, b"g", [3]])
def test_columns_that_keep_rows_of_a_ledger_apart_have_names(by):
    frame = {"y": [0, 1], "p": [0.2, 0.6], "g": ["a", "b"]}
    with pytest.raises((TypeError, ValueError), match=r"by is .* it must be a text or a list of values, each a text"):
        cs.Ledger.collect(frame, y_true="y", y_prob="p", by=by)


def test_a_ledger_of_single_values_is_refused():
    with pytest.raises(TypeError, match="one value for each row is expected"):
        cs.Ledger.collect({"y": 0.0, "p": 0.5}, y_true="y", y_prob="p")


@pytest.mark.parametrize("label", [{}, [0], Decimal("sNaN"), object()])
def test_what_cannot_be_looked_up_is_no_label(label):
    monitor = cs.Monitor()
    labels = np.empty(2, dtype=object)
    labels[:] = [label, 1]
    with pytest.raises(ValueError, match="which is none of the labels"):
        monitor.update([0.5, 0.5], labels)
    assert not monitor.update([0.5, 0.5], [0, 1])


def test_missing_labels_of_pandas_wait():
    pd = pytest.importorskip("pandas")
    monitor = cs.Monitor()
    monitor.update([0.5, 0.5], pd.Series([pd.NA, 1], dtype="Int64"), id=["a", "b"])
    assert monitor.awaits("a")
    assert not monitor.awaits("b")


def test_ids_and_predictions_of_no_array_are_refused():
    for given in ({"y_prob": Closed()}, {"y_prob": [0.5], "id": Closed()}, {"y_prob": [0.5], "y_true": Closed()}):
        with pytest.raises((ValueError, TypeError), match="cannot be read as an array"):
            cs.Monitor().update(**given)


def test_calibrators_refuse_what_is_no_array():
    inside: list = [0.5]
    inside.append(inside)
    for given in (inside, [Closed(), Closed()], [[0.5], 0.2]):
        with pytest.raises((ValueError, TypeError)):
            Platt().fit(given, [0, 1])


def test_a_function_of_a_sample_must_return_numbers():
    with pytest.raises(TypeError, match="what the function returns is 'x'"):
        cs.Generic(lambda sample: "x")(cs.Sample([0, 1], [0.2, 0.7]))


def test_more_rows_and_classes_than_any_machine_holds_are_refused():
    with pytest.raises(ValueError, match="it must be at most 10,000,000,000 rows"):
        gen.BetaPredictions(1, 1).sample(10**30)
    with pytest.raises(ValueError, match="are the most"):
        gen.kelly_smyth_theorem_5_1(10**30)


def test_maps_of_other_classes_are_refused():
    with pytest.raises(ValueError, match="matrix is for 3 classes, but the predictions have 2"):
        gen.DirichletPredictions([1, 2], gen.MatrixMap(np.eye(3))).sample(3, rng=0)
    with pytest.raises(ValueError, match="labels"):
        gen.Empirical([[0.2, 0.8]], labels=())


def test_a_scorer_takes_names_of_variables():
    with pytest.raises(TypeError, match="variables is True"):
        cs.scorer(cs.ECE(), variables=True)


def test_fractions_and_arrays_without_dimensions_become_plain_numbers():
    shift = cs.generators.LogitShift(Fraction(1, 3))
    assert (type(shift.a), shift.a) == (float, 1 / 3)
    assert type(cs.EqualMass(np.array(3)).n_bins) is int


def test_an_estimator_that_is_called_on_labels_alone_says_what_it_needs():
    with pytest.raises(TypeError, match="a Sample is expected, or y_true and y_prob, but an object of type ndarray"):
        cs.BrierScore()(np.array([0, 1]))
