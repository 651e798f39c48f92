"""The binning cases of Vaicenavicius et al. (2019), Kumar et al. (2019) and Widmann et al. (2019), and by hand."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest

import calibstat as cs

NEXT = np.nextafter


def index(binning: cs.Binning, values, **arguments) -> list[int]:
    values = np.asarray(values, dtype=float)
    sample = cs.Sample([0] * len(values), values, labels=range(2 if values.ndim == 1 else values.shape[1]), **arguments)
    return binning.cut(sample.predictions).index.tolist()


def along(binning: cs.Binning, values) -> cs.Cells:
    """Cut a variable."""
    sample = cs.Sample([0] * len(values), [0.5] * len(values), labels=[0, 1], variables={"v": values})
    return binning.cut(cs.Given("v")(sample).predictions)


# Equal width


def test_vaicenavicius_2019_digitize_rule():
    assert index(cs.EqualWidth(5), [0, 0.5, 0.2, 0.7, 1, 0.95]) == [0, 2, 1, 3, 4, 4]


def test_equal_width_compares_with_the_floats_of_linspace():
    """linspace(0, 1, 11)[3] is 0.30000000000000004, so 0.3 lies in the cell below."""
    assert index(cs.EqualWidth(10), [0.3, 0.1 + 0.2, 0.6, 0.7]) == [2, 3, 5, 6]


@pytest.mark.parametrize("n_bins", [1, 2, 3, 7, 10, 15, 49, 1000])
def test_equal_width_at_and_around_every_edge_is_numpy_digitize(n_bins):
    edges = np.linspace(0, 1, n_bins + 1)
    values = np.clip(np.concatenate([edges, NEXT(edges, 2), NEXT(edges, -1), edges + 1e-9, edges - 1e-9]), 0, 1)
    assert index(cs.EqualWidth(n_bins), values) == np.digitize(values, edges[1:-1]).tolist()


def test_equal_width_is_closed_on_the_left_and_equal_mass_on_the_right():
    values = [0.1, 0.5, 0.5, 0.9]
    assert index(cs.EqualWidth(2), values) == [0, 1, 1, 1]
    assert index(cs.FixedEdges([0, 0.5, 1]), values) == [0, 1, 1, 1]
    # the only inner edge of two equal-mass cells lies at 0.5: (0.5 + 0.5) / 2
    assert index(cs.EqualMass(2), values) == [0, 0, 0, 1]


def test_equal_width_keeps_empty_cells():
    cells = cs.EqualWidth(4).cut(cs.Sample([0, 1], [0.1, 0.9]).predictions)
    assert cells.size == 4
    assert cells.index.tolist() == [0, 3]
    assert cells.moves == "fixed"


def test_equal_width_takes_a_variables_own_range():
    cells = along(cs.EqualWidth(3), [10, 20, 20.0001, 30, 40])
    assert cells.index.tolist() == [0, 1, 1, 2, 2]
    np.testing.assert_array_equal(cells.edges, [10, 20, 30, 40])
    assert cells.moves == "data"
    assert along(cs.EqualWidth(3), [-5.0, 0.0, 4.0]).index.tolist() == [0, 1, 2]


def test_a_constant_variable_falls_into_one_cell():
    for binning in (cs.EqualWidth(3), cs.EqualMass(3), cs.Categories(), cs.VarianceTree(2)):
        assert len(set(along(binning, [7, 7, 7]).index.tolist())) == 1


# Equal mass


@pytest.mark.parametrize(
    ("values", "n_bins", "upper"),
    [
        ([0.3, 0.5, 0.2, 0.3, 0.5, 0.7], 2, [0.4, 1]),
        ([0.3, 0.5, 0.2, 0.3, 0.5, 0.7], 3, [0.3, 0.5, 1]),
        ([0.3, 0.5, 1, 1, 1, 1], 3, [0.75, 1]),
        ([0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9], 3, [0.55, 0.75, 1]),
    ],
)
def test_kumar_2019_equal_bins(values, n_bins, upper):
    cells = cs.EqualMass(n_bins).cut(cs.Sample([0] * len(values), values, labels=[0, 1]).predictions)
    np.testing.assert_allclose(cells.edges[1:], upper, rtol=0, atol=1e-12)
    assert cells.moves == "ranks"


def test_kumar_2019_equal_bins_assignment():
    assert index(cs.EqualMass(3), [0.3, 0.5, 0.2, 0.3, 0.5, 0.7]) == [0, 1, 0, 0, 1, 2]


def test_more_cells_than_rows_give_every_row_its_own():
    assert index(cs.EqualMass(10), [0.7, 0.2, 0.4]) == [2, 0, 1]
    assert index(cs.EqualMass(10), [0.4]) == [0]


def test_ties_stay_together_and_empty_cells_go():
    values = [0.0] * 8 + [0.1, 0.2]
    cells = cs.EqualMass(4).cut(cs.Sample([0] * 10, values, labels=[0, 1]).predictions)
    assert len(set(cells.index[:8])) == 1
    assert (np.bincount(cells.index, minlength=cells.size) > 0).all()


def test_neighbouring_floats_are_told_apart():
    low = 0.3
    assert index(cs.EqualMass(2), [low, NEXT(low, 1)]) == [0, 1]
    high = NEXT(1.0, 0)
    assert index(cs.EqualMass(2), [high, 1.0]) == [0, 1]


def test_equal_mass_by_weight():
    """Levels 2 and 4 of total mass 6: the quantiles are 0.2 to 0.3 (mass reaches 2 there) and 0.4."""
    values, weights = [0.1, 0.2, 0.3, 0.4, 0.5], [1, 1, 1, 2, 1]
    sample = cs.Sample([0] * 5, values, labels=[0, 1], sample_weight=weights)
    cells = cs.EqualMass(3).cut(sample.predictions)
    np.testing.assert_allclose(cells.edges, [0, 0.25, 0.4, 1])
    assert cells.index.tolist() == [0, 0, 1, 1, 2]


def test_equal_weights_are_no_weights():
    values = np.random.Generator(np.random.PCG64(1)).random(23)
    sample = cs.Sample([0] * 23, values, labels=[0, 1], sample_weight=[4.0] * 23)
    assert cs.EqualMass(5).cut(sample.predictions).index.tolist() == index(cs.EqualMass(5), values)


# Fixed edges


def test_fixed_edges_close_the_last_cell():
    assert index(cs.FixedEdges([0, 0.2, 1]), [0, 0.2, NEXT(0.2, 0), 1]) == [0, 1, 0, 1]


def test_fixed_edges_must_cover_the_values():
    with pytest.raises(ValueError, match=r"covers \[0.1, 0.9\], but row 1 has the value 0.95 \(2 rows lie outside\)"):
        index(cs.FixedEdges([0.1, 0.5, 0.9]), [0.5, 0.95, 0.05])


@pytest.mark.parametrize("edges", [[], [0.5], [0, 0.5, 0.5, 1], [1, 0]])
def test_fixed_edges_must_increase(edges):
    with pytest.raises(ValueError, match="strictly increasing"):
        cs.FixedEdges(edges)


@pytest.mark.parametrize("binning", [cs.EqualWidth, cs.EqualMass, cs.SimplexGrid, cs.VarianceTree])
@pytest.mark.parametrize("count", [0, -3, 2.5, "4", None, True])
def test_a_number_of_cells_is_a_whole_number_of_at_least_one(binning, count):
    with pytest.raises((TypeError, ValueError), match=" is "):
        binning(count)


# The simplex grid


def points(n_classes: int, n: int) -> np.ndarray:
    return np.random.Generator(np.random.PCG64(5)).dirichlet(np.ones(n_classes), size=n)


@pytest.mark.parametrize(("n_classes", "n_bins", "n_cells"), [(2, 7, 7), (3, 5, 25), (3, 10, 100), (4, 5, 65)], ids=str)
def test_vaicenavicius_2019_figure_1_grid_counts(n_classes, n_bins, n_cells):
    rows = points(n_classes, 40_000)
    cells = cs.SimplexGrid(n_bins).cut(cs.Sample([0] * len(rows), rows, labels=range(n_classes)).predictions)
    assert cells.size == n_cells
    if n_classes == 3:
        sizes = np.bincount(cells.index) / len(rows)
        assert abs(sizes - 1 / n_bins**2).max() < 5 * np.sqrt(1 / n_bins**2 / len(rows))  # congruent triangles
    if n_classes == 4:
        assert n_cells == comb(n_bins + 2, 3) + comb(n_bins + 1, 3) + comb(n_bins, 3)


def test_the_simplex_grid_is_closed_on_the_right_with_zero_in_the_first_cell():
    rows = [[0, 0.5, 0.5], [NEXT(0, 1), 0.5, 0.5], [0, 0.25, 0.75], [1, 0, 0], [0.6, 0.4, 0]]
    first, second, third, fourth, fifth = index(cs.SimplexGrid(2), rows)
    assert first == second
    assert len({first, third, fourth}) == 3
    assert fourth == fifth


def test_the_simplex_grid_treats_classes_alike():
    rows = points(3, 300)
    first, second = index(cs.SimplexGrid(4), rows), index(cs.SimplexGrid(4), rows[:, [2, 0, 1]])
    assert len(set(zip(first, second, strict=True))) == len(set(first)) == len(set(second))


def test_the_simplex_grid_has_no_overflow_with_many_classes():
    rows = np.eye(100)[np.arange(300) % 100]
    cells = cs.SimplexGrid(1000).cut(cs.Sample(np.arange(300) % 100, rows).predictions)
    assert cells.size == 100


def test_the_simplex_grid_refuses_variables():
    with pytest.raises(ValueError, match="'v' is a variable"):
        along(cs.SimplexGrid(2), [1, 2])


# The variance tree: the five rows a, b, c, d, e, leaves listed with the low side of every split first

FIVE = {"a": (0.4, 0.1, 0.5), "b": (0.5, 0.3, 0.2), "c": (0.3, 0.7, 0), "d": (0.1, 0, 0.9), "e": (0.8, 0.1, 0.1)}
ONE_BIN = "abcde"


@pytest.mark.parametrize(
    ("split", "min_size", "leaves"),
    [
        ("mean", 1, "b e c a d"),
        ("mean", 2, "b e c a d"),
        ("mean", 3, "be c ad"),
        ("mean", 4, "bce ad"),
        ("mean", 5, "bce ad"),
        ("mean", 6, ONE_BIN),
        ("median", 2, "e c b a d"),
        ("median", 3, "ce b ad"),
        ("median", 4, "ce abd"),
        ("median", 5, "ce abd"),
        ("median", 6, ONE_BIN),
    ],
)
def test_vaicenavicius_2019_data_dependent_binning(split, min_size, leaves):
    found = index(cs.VarianceTree(min_size, split), list(FIVE.values()))
    names = list(FIVE)
    expected = leaves.split()
    assert ["".join(names[i] for i in range(5) if found[i] == leaf) for leaf in range(len(expected))] == expected
    assert max(found) == len(expected) - 1


def test_rows_without_spread_are_never_split():
    assert index(cs.VarianceTree(2), [[0.2, 0.3, 0.5]] * 6) == [0] * 6


def test_min_size_is_the_smallest_node_that_is_split():
    rows = points(3, 500)
    sizes = np.bincount(index(cs.VarianceTree(40), rows))
    assert sizes.min() >= 1
    assert sizes.max() < 40


def test_the_variance_tree_knows_two_splits():
    with pytest.raises(ValueError, match="must be 'mean' or 'median'"):
        cs.VarianceTree(5, "mode")


# Categories, unique values


def test_categories_follow_the_levels():
    cells = along(cs.Categories(), ["m", "f", "m", "x"])
    assert cells.index.tolist() == [1, 0, 1, 2]
    assert cells.names == ("f", "m", "x")
    assert cells.moves == "fixed"
    numbers = along(cs.Categories(), [3, 1, 3])
    assert numbers.index.tolist() == [1, 0, 1]
    assert numbers.names == ("1", "3")


def test_categories_need_one_variable():
    with pytest.raises(ValueError, match=r"Given\('name of a variable'\)"):
        index(cs.Categories(), [0.1, 0.2])


def test_numbers_are_not_cut_out_of_names():
    with pytest.raises(ValueError, match=r"categorical with levels .*use Categories\(\)"):
        along(cs.EqualMass(2), ["f", "m"])


def test_unique_values_pool_float_noise():
    values = [0.3, 0.1 + 0.2, 0.3 + 1e-9, 0.5]
    assert index(cs.UniqueValues(), values) == [0, 0, 1, 2]
    assert index(cs.UniqueValues(1e-6), values) == [0, 0, 0, 1]
    assert index(cs.UniqueValues(), [[0.2, 0.8, 0], [0.2, 0.7, 0.1], [0.2, 0.8, 0]]) == [1, 0, 1]


# Products


@pytest.fixture
def people() -> cs.Sample:
    return cs.Sample(
        [0, 1, 0, 1],
        [0.1, 0.9, 0.2, 0.8],
        variables={"age": [20, 60, 60, 20], "sex": ["f", "f", "m", "m"]},
    )


def test_a_product_deals_columns_from_left_to_right(people):
    by_score, by_sex = cs.EqualMass(2), cs.Categories()
    first = (by_score * by_sex).cut(cs.Given(..., "sex")(people).predictions)
    assert first.index.tolist() == [0, 2, 1, 3]
    second = (by_sex * by_score).cut(cs.Given("sex", ...)(people).predictions)
    assert second.index.tolist() == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="needs one variable"):
        (by_sex * by_score).cut(cs.Given(..., "sex")(people).predictions)


def test_a_product_on_one_column_cuts_it_by_both(people):
    cells = (cs.EqualMass(2) * cs.FixedEdges([0, 0.15, 0.85, 1])).cut(people.predictions)
    assert cells.index.tolist() == [0, 3, 1, 2]


def test_a_product_gives_what_is_left_to_the_factor_that_takes_all(people):
    seen = cs.Given("age", ..., "sex")(people).predictions
    cells = (cs.EqualMass(2) * cs.UniqueValues()).cut(seen)
    assert cells.size == 4
    rows = [[0.7, 0.2, 0.1], [0.7, 0.2, 0.1], [0.1, 0.8, 0.1]]
    three = cs.Sample([0, 1, 2], rows, variables={"sex": ["f", "m", "m"]})
    crossed = (cs.SimplexGrid(2) * cs.Categories()).cut(cs.Given(..., "sex")(three).predictions)
    assert len(set(crossed.index.tolist())) == 3
    assert crossed.moves == "fixed"


def test_products_are_flat_and_leave_empty_combinations_out(people):
    a, b, c = cs.EqualMass(2), cs.EqualWidth(3), cs.Categories()
    assert (a * b) * c == a * (b * c)
    assert repr(a * b * c) == "EqualMass(n_bins=2) * EqualWidth(n_bins=3) * Categories()"
    cells = (a * b).cut(people.predictions)
    assert cells.size == 2


@pytest.mark.parametrize(
    "binning", [cs.EqualMass(2) * cs.Categories() * cs.Categories(), cs.UniqueValues() * cs.UniqueValues()], ids=repr
)
def test_a_product_that_cannot_share_out_the_columns_says_so(people, binning):
    with pytest.raises(ValueError, match="cannot share out 2 columns"):
        binning.cut(cs.Given(..., "sex")(people).predictions)


def test_a_binning_is_multiplied_by_binnings_only():
    with pytest.raises(TypeError):
        cs.EqualMass(2) * 3


# Small cells


@pytest.mark.parametrize("binning", [cs.EqualMass(4), cs.EqualWidth(4), cs.FixedEdges([0, 0.2, 0.4, 0.6, 1])], ids=repr)
def test_more_cells_than_a_tenth_of_the_rows_are_warned_of(binning, recwarn):
    values = np.linspace(0, 1, 39)
    with pytest.warns(cs.SmallCellsWarning, match="makes 4 cells of 39 rows"):
        index(binning, values)
    recwarn.clear()
    index(binning, np.linspace(0, 1, 40))
    assert not [each for each in recwarn if issubclass(each.category, cs.SmallCellsWarning)]


def test_two_digit_probabilities_share_a_cell_of_the_simplex_grid():
    rows = [[0.28, 0.3, 0.42], [0.279, 0.301, 0.42]]
    assert cs.SimplexGrid(25).cut(cs.Sample([0, 0], rows, labels=[0, 1, 2]).predictions).size == 1


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        (lambda: cs.ECE(10)(cs.Sample([0, 1], [0.2, 0.7])), "EqualMass"),
        (lambda: cs.PDE(cs.EqualMass)(cs.Sample([0, 1], [0.2, 0.7])), "EqualMass"),
        (lambda: cs.ExpectedMiscalibration(cs.EqualMass(2), "tv"), "TotalVariation"),
        (lambda: cs.Generic(3), "function"),
        (lambda: cs.Partition([]), "two groups"),
        (lambda: cs.Partition([[0, 1], []]), "empty"),
        (lambda: cs.Region.between("age", 2, 1), "low"),
    ],
)
def test_what_is_no_part_is_refused_with_a_proposal(wrong, word):
    with pytest.raises((TypeError, ValueError), match=word):
        wrong()
