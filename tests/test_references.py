"""References: every citation in a docstring has an entry, every entry is cited, and `cite` finds them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import calibstat as cs
from calibstat.references import Citation, citations, references

PACKAGE = Path(cs.__file__).parent
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)


def keys(text):
    """The keys of the entries in a BibTeX text."""
    return re.findall(r"^@\w+\{(.+),$", text, re.MULTILINE)


def cited():
    """Every citation in a docstring of the package, with its places."""
    found: dict[Citation, list[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, DOCUMENTED):
                for each in citations(ast.get_docstring(node) or ""):
                    found.setdefault(each, []).append(f"{path.name}:{getattr(node, 'name', '')}")
    return found


def test_every_citation_has_an_entry_and_every_entry_is_cited():
    found = cited()
    lacking = [f"{each} ({', '.join(places)})" for each, places in found.items() if each.entry() is None]
    assert not lacking, "lack an entry in calibstat/references.bib:\n" + "\n".join(lacking)
    used = {each.entry().key for each in found}
    assert len(used) > 140
    assert set(references()) - used == {"calibstat"}, "entries that no docstring cites"


def test_a_citation_without_an_entry_is_found():
    assert Citation("Kelly & Smyth", "2022").entry() is None
    assert Citation("Kelly et al.", "2023").entry() is None  # of two authors, both are named
    assert Citation("Guo", "2017").entry() is None
    assert Citation("Gupta & Ramdas", "2021").entry() is not Citation("Gupta et al.", "2021").entry()


def test_a_citation_is_of_one_paper():
    """No two entries have the same authors and year, nor would "First et al." fit both."""
    found = [(each.surnames[:1] if len(each.surnames) > 2 else each.surnames, each.fields["year"]) for each in ENTRIES]
    assert len(found) == len(set(found))


ENTRIES = list(references().values())
NEEDED = {
    "article": {"author", "title", "journal", "year"},
    "inproceedings": {"author", "title", "booktitle", "year"},
    "incollection": {"author", "title", "booktitle", "publisher", "year"},
    "book": {"author", "title", "publisher", "year"},
    "misc": {"author", "title", "year"},
}


def test_entries_are_whole():
    assert [each.key for each in ENTRIES] == [*sorted(each.key for each in ENTRIES[:-1]), "calibstat"]
    for each in ENTRIES:
        kind = re.match(r"@(\w+)\{", each.text)[1]
        assert NEEDED[kind] <= set(each.fields), each.key
        assert len(each.fields) == len(each.text.splitlines()) - 2, f"{each.key}: one field in each line"
        assert each.text.count("{") == each.text.count("}"), each.key
        assert re.fullmatch(r"10\.\d{4,5}/\S+", each.fields.get("doi", "10.1000/none")), each.key
        assert re.fullmatch(r"\d{4}\.\d{5}", each.fields.get("eprint", "2000.00000")), each.key
        assert "--" in each.fields.get("pages", "--") or "-" not in each.fields["pages"], each.key
        assert kind != "misc" or each.key == "calibstat" or "eprint" in each.fields, each.key
    dois = [each.fields["doi"] for each in ENTRIES if "doi" in each.fields]
    assert len(dois) == len(set(dois)) > 80


def test_the_entry_of_calibstat_has_its_version():
    assert f"version {cs.__version__}" in references()["calibstat"].text
    assert keys(cs.cite()) == ["calibstat"]


def test_an_estimator_behind_a_lens_cites_both():
    question = cs.Given("age") | cs.TopLabel() | cs.ECE(cs.EqualMass(5))
    assert keys(cs.cite(cs.ECE())) == ["naeini2015", "guo2017", "kumar2019", "lee2023", "calibstat"]
    assert {"kelly2023", "guo2017", "naeini2015"} <= set(keys(cs.cite(question)))
    assert len(keys(cs.cite(question))) == len(set(keys(cs.cite(question))))


@pytest.mark.parametrize(
    ("thing", "key"),
    [
        (cs.Kuiper, "arrieta-ibarra2022"),
        (cs.compare_models, "hansen2011"),
        (cs.Family({"a": cs.Kuiper(), "b": cs.HosmerLemeshow()}), "hosmer1980"),
        (cs.Spiegelhalter(), "spiegelhalter1986"),
        (cs.Consistency(9), "broecker2007"),
        (cs.Bootstrap(), "efron1979"),
        (cs.VarianceTree(), "vaicenavicius2019"),
        (cs.calibrators.Platt(), "platt1999"),
        (cs.calibrators.OneVsRest(cs.calibrators.Beta()), "kull2017"),
        (cs.Monitor(), "ville1939"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_each_kind_is_cited(thing, key):
    assert key in keys(cs.cite(thing))


def test_results_cite_estimator_null_and_adjustment():
    sample = cs.Sample([0, 1, 1, 0, 1, 0], [0.2, 0.7, 0.9, 0.4, 0.5, 0.1])
    tested = cs.calibration_test(sample, cs.Spiegelhalter(), null=cs.Consistency(9), rng=0)
    assert {"spiegelhalter1986", "broecker2007"} <= set(keys(cs.cite(tested)))
    assert "elkan2001" not in keys(cs.cite(tested))  # of `Sample`: data are no method
    family = cs.Family({"kuiper": cs.Kuiper(), "z": cs.Spiegelhalter()})
    several = [cs.multiple_test(sample, family, n_resamples=9, adjust=each, rng=0) for each in ("holm", "fdr_by")]
    holm, false = (set(keys(cs.cite(each))) for each in several)
    assert "arrieta-ibarra2022" in holm & false
    assert {"holm1979"} <= holm - false
    assert {"benjamini2001"} <= false - holm


def test_several_things_are_cited_once():
    together = keys(cs.cite(cs.ECE(), cs.Kuiper(), cs.ECE()))
    assert together == list(dict.fromkeys([*keys(cs.cite(cs.ECE()))[:-1], *keys(cs.cite(cs.Kuiper()))]))


def test_what_a_user_cites_is_found_or_named():
    class Mine(cs.Lens):
        """A lens (Guo et al. 2017; Nobody & Somebody 2031)."""

        def look(self, predictions):
            raise NotImplementedError

    text = cs.cite(Mine())
    assert keys(text) == ["guo2017", "calibstat"]
    assert "% Nobody & Somebody 2031 is cited, and is not in the list of calibstat." in text


@pytest.mark.parametrize(
    ("thing", "words"),
    [
        ("ECE", "got 'ECE' of type str; `calibstat.ECE` without quotes"),
        ([cs.ECE()], "of type list"),
        (0.5, "of type float"),
        (len, "of type builtin_function_or_method"),
        (None, "of type NoneType"),
    ],
)
def test_other_things_are_refused(thing, words):
    with pytest.raises(TypeError, match=f"cite takes an estimator, .*{re.escape(words)}"):
        cs.cite(thing)
