"""The stored tables of evidence: complete, within their bounds, and the same for readers as for machines.

``.ci/run`` repeats a tenth of their runs (``python -m validity.evidence docs/evidence --repeat``).
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from inspect import isroutine, signature
from pathlib import Path

import numpy as np
import pytest

import calibstat as cs
from validity.clustered import WORLDS
from validity.evidence import OTHER_SEED, SEED, TABLES, compare, measure_part, page
from validity.tables.clusters import ELSEWHERE, REFUSES, VERBS, drawn
from validity.tables.omnibus import WAYS
from validity.tables.rows import MOST_COLUMNS, Row, pooled, read, write

STORED = Path(__file__).parents[2] / "docs" / "evidence"
ROWS = {table: read(STORED / f"{table}.csv") for table in TABLES}

FEWEST = {"coverage": 200, "hostile": 200, "clusters": 100, "several": 200}  # runs of a row

each_table = pytest.mark.parametrize("table", TABLES)


@each_table
def test_every_share_is_within_its_bounds(table):
    assert [row for row in ROWS[table] if not row.holds] == []


@each_table
def test_runs_and_seeds_are_stated(table):
    for row in ROWS[table]:
        assert row.runs in [times * TABLES[table].RUNS for times in (1, 5, 25)]
        assert row.runs >= FEWEST.get(table, 1000)
        assert row.seed == SEED
    assert "numpy" in (STORED / f"{table}.csv").read_text().splitlines()[0]


@each_table
def test_the_table_for_readers_holds_the_same_numbers(table):
    text = (STORED / f"{table}.md").read_text()
    made_with = (STORED / f"{table}.csv").read_text().splitlines()[0].removeprefix("# ")
    assert text == page(table, ROWS[table], made_with)


@each_table
def test_tables_for_readers_are_narrow(table):
    """Five columns at most, and each number in one of them."""
    lines = [line for line in (STORED / f"{table}.md").read_text().splitlines() if line.startswith("|")]
    assert max(line.count("|") for line in lines) <= MOST_COLUMNS + 1
    assert sum(line.count("±") for line in lines) == len(ROWS[table])


@pytest.mark.slow
@each_table
def test_a_part_is_repeated(table):
    """Ten runs of the first job with another seed; `.ci/run` repeats a tenth of everything."""
    again = measure_part(table, 0, 10, OTHER_SEED)
    stored = {row.key: row for row in ROWS[table]}
    assert [row for row in again if not stored[row.key].compatible(row)] == []


def asserted(table, **wanted):
    rows = [row for row in ROWS[table] if all(getattr(row, name) == value for name, value in wanted.items())]
    return [row for row in rows if not np.isnan(row.at_most) or not np.isnan(row.at_least)]


def test_what_is_exact_is_asserted_at_its_level():
    for method in ("redrawn labels", "sequential"):
        rows = [row for row in ROWS["size"] if row.method == method]
        assert rows
        assert all(row.at_most == 0.05 for row in rows)
    assert all(row.at_most == 0.065 for row in asserted("size", method="multiplier", n=500))
    assert asserted("size", method="multiplier", n=500)
    assert all(row.at_least == 0.95 for row in asserted("coverage"))


def together(rows):
    """Add up the runs of rows."""
    first = rows[0]
    runs, count = (sum(getattr(row, name) for row in rows) for name in ("runs", "count"))
    return Row(*first.key, runs, count, first.at_most, first.at_least)


def test_in_all_worlds_of_clusters_together_tests_hold_their_level():
    asked = {(row.subject, row.n) for row in asserted("clusters", method="rejects")}
    assert len(asked) == 3 * 13
    found = [together(asserted("clusters", method="rejects", subject=verb, n=n)) for verb, n in asked]
    assert [row for row in found if not row.holds] == []


def test_clusters_are_asserted_at_their_levels():
    assert all(row.at_most == 0.05 for row in ROWS["clusters"] if row.method == "rejects")
    assert all(row.at_least == 0.93 for row in ROWS["clusters"] if row.method == "holds")
    assert {(row.world, row.n) for row in ROWS["clusters"]} == {(world, n) for world in WORLDS for n in (12, 20, 60)}


def test_rows_alone_are_rejected_more_often():
    """Each verb where rows of a cluster have one prediction; all tests together where predictions vary in clusters.

    One of five classes hardly depends on its cluster: alone, 6.6 % of 1200 tests reject, with groups 3.2 %.
    """
    alone = [row for row in ROWS["clusters"] if row.method.endswith(" alone") and row.subject != "equivalence_test"]
    for row in (row for row in alone if "repeats" in row.world):
        bound = {"at_most": 0.05} if row.method == "rejects alone" else {"at_least": 0.93}
        assert not replace(row, **bound).holds, row
    for world in ("repeats", "unequal", "unequal repeats", "rare"):
        known, unknown = (
            [row for row in ROWS["clusters"] if (row.world, row.n, row.method) == (world, 60, method)]
            for method in ("rejects", "rejects alone")
        )
        assert not together(known).compatible(together(unknown))


def test_every_verb_that_reads_rows_is_asked_about_clusters_or_refuses_them():
    """A verb of the table, one that refuses by name, or one whose numbers another test holds."""
    measured = {verb.split(",")[0] for verb in VERBS}
    assert reads_rows() | {"LOESS", "Ledger.count"} == measured | REFUSES.keys() | ELSEWHERE.keys()
    assert not measured & REFUSES.keys()
    for where in ELSEWHERE.values():
        file, name = where.split("::")
        assert f"def {name}(" in (STORED.parents[1] / "tests" / file).read_text()


def reads_rows():
    """Public functions, and pictures, that are given rows."""
    rows = {"sample", "samples", "source", "models", "a", "predictions"}
    made = {name: getattr(getattr(cs, name), "compute", getattr(cs, name)) for name in cs.__all__}
    return {name for name, each in made.items() if isroutine(each) and rows & set(signature(each).parameters)}


@pytest.mark.parametrize("verb", REFUSES)
def test_what_does_not_know_of_clusters_refuses_them(verb):
    rng = np.random.default_rng(0)
    sample = drawn(WORLDS["repeats"], False, True, rng).whole
    with pytest.raises(ValueError, match=r"takes rows as independent|binomial bounds are of independent rows"):
        REFUSES[verb](sample)


def several(world, method):
    return next(row for row in ROWS["several"] if (row.world, row.method) == (world, method))


@pytest.mark.parametrize("world", ["coins", "calibrated", "rare", "three", *(f"clusters, {name}" for name in WORLDS)])
def test_where_none_is_better_one_is_rarely_recommended(world):
    assert several(world, "recommended").at_most == 0.05


@pytest.mark.parametrize(
    ("world", "control"),
    [("coins", "smallest p-value"), ("coins", "change missed alone"), ("clusters, repeats", "recommended alone")],
)
def test_one_of_several_is_chosen_too_often_without_adjustment_or_groups(world, control):
    """The negative controls."""
    assert not replace(several(world, control), at_most=0.05).holds


def test_one_is_recommended_where_it_is_better():
    assert replace(several("bold", "recommended"), at_least=0.6).holds


def alternatives(rows):
    return [row for row in rows if "Identity" not in row.world]


def omnibus_claims(rows):
    """What docs say of the power of the omnibus test, from the rows of its table: page, and the words on it."""
    power = {}
    for row in alternatives(rows):
        power.setdefault(row.method, {})[row.world, row.n] = row.share
    members = [name for name in power if name not in (*WAYS, "Kuiper", "ECE")]
    best = {world: max(members, key=lambda name: power[name][world]) for world in power["omnibus"]}
    for name in WAYS:
        found = [power[name][world] for world in best]
        lost = {world: power[best[world]][world] - power[name][world] for world in best}
        lost_at_most = f"{100 * max(lost.values()):.0f} points"
        yield "inference-details", f"| {percent(np.mean(found))} | {percent(min(found))} | {lost_at_most} |"
        if name == "omnibus":
            worst = max(lost, key=lost.get)
            yield "evidence", f"up to {100 * lost[worst]:.0f} points (`{best[worst]}`, {worst[0]}, {worst[1]} rows)"
            yield "evidence", f"on average {100 * np.mean(list(lost.values())):.0f} points"
    at = {name: percent(power[name]["uniform, LogitShift(a=0.3)", 300]) for name in ("omnibus", "ECE", "Kuiper")}
    words = f"in {at['omnibus']} of samples, the expected calibration error in {at['ECE']}"
    yield "command-line", words
    yield "evidence", f"{words}, and `Kuiper`, which suits shifts, in {at['Kuiper']}"
    gained = [power["omnibus"][world] - power["ECE"][world] for world in best]
    yield "evidence", f"from {abs(100 * min(gained)):.0f} points less to {100 * max(gained):.0f} more"


def percent(share):
    return f"{100 * share:.0f} %"


def test_docs_say_of_the_omnibus_test_what_its_table_shows():
    names = ("inference-details", "command-line", "evidence")
    pages = {name: (STORED.parent / f"{name}.md").read_text() for name in names}
    claims = list(omnibus_claims(ROWS["omnibus"]))
    assert [claim for claim in claims if claim[1] not in pages[claim[0]]] == []
    other = [replace(row, count=row.runs // 2) for row in ROWS["omnibus"]]
    assert all(words not in pages[page] for page, words in omnibus_claims(other))


def test_the_table_of_power_is_precise():
    assert max(row.error for row in ROWS["omnibus"]) < 0.016


def test_the_omnibus_test_has_the_best_worst_case():
    worst = {}
    for row in alternatives(ROWS["omnibus"]):
        before = worst.get(row.method)
        worst[row.method] = row if before is None or row.share < before.share else before
    ours = worst.pop("omnibus")
    for member in worst.values():
        assert ours.share >= member.share - 4 * np.hypot(ours.error, member.error), member


# Power of the panel of five in frontier experiments with 400 runs: three null worlds are left out.
MEASURED_BEFORE = (57, 69, 49, 20, 15, 19, 44, 78, 95, 65, 76, 51, 95)


def test_the_omnibus_test_has_the_power_that_was_measured_before():
    found = [row for row in alternatives(ROWS["omnibus"]) if row.method == "omnibus"][: len(MEASURED_BEFORE)]
    for row, power in zip(found, MEASURED_BEFORE, strict=True):
        before = Row(row.world, row.n, row.subject, row.method, 400, round(4 * power))
        assert row.share >= before.share - 4 * np.hypot(row.error, before.error), row


@pytest.mark.parametrize(
    ("world", "power"),
    [("slope 1.5 against calibrated", 66), ("shift 0.4 against 0.2", 88), ("slope 2 against 1.3", 100)],
)
def test_the_comparison_has_the_power_that_was_measured_before(world, power):
    row = next(row for row in ROWS["comparison"] if row.world == world and row.method == "wrapped")
    before = Row(*row.key, runs=200, count=2 * power)
    assert row.share >= before.share - 4 * np.hypot(row.error, before.error)


def test_negative_controls():
    """Skill is not calibration; the percentile bootstrap does not cover."""
    skill = next(r for r in ROWS["comparison"] if "other sharpness" in r.world and r.method == "Brier score")
    assert skill.share > 0.9
    boot = [
        r for r in ROWS["coverage"] if r.method == "percentile bootstrap" and r.subject == "ECE" and "none" in r.world
    ]
    assert boot
    assert all(row.share < 0.6 for row in boot)
    row = ROWS["size"][0]
    assert compare("size", [row], [replace(row, runs=100, count=50)]) != []
    assert compare("size", [row], [row]) == []
    assert not replace(row, count=row.runs // 5, at_most=0.05).holds
    assert not replace(row, count=row.runs // 2, at_least=0.95).holds


def test_numbers_do_not_depend_on_the_number_of_workers(tmp_path):
    with ProcessPoolExecutor(1) as pool:
        one = pool.submit(measure_part, "comparison", 0, 3, SEED).result()
    assert list(map(repr, one)) == list(map(repr, measure_part("comparison", 0, 3, SEED)))
    write(one, tmp_path / "x.csv")
    assert list(map(repr, read(tmp_path / "x.csv"))) == list(map(repr, one))
    assert pooled([*one, *one])[0].runs == 6
