"""The documentation says what is so: commands, links, names, options, and words that are never said."""

from __future__ import annotations

import csv
import json
import re
import shlex
import tomllib
from pathlib import Path

import numpy as np
import pytest

import calibstat as cs
from calibstat.cli.main import build_parser, main

ROOT = Path(__file__).resolve().parents[1]
DOCS = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *DOCS]
each_page = pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def code_blocks(page: Path, language: str) -> list[str]:
    """The contents of the fenced blocks of a language, indented ones too."""
    found = re.findall(rf"^ *```{language}\n(.*?)^ *```$", text_of(page), flags=re.DOTALL | re.MULTILINE)
    assert text_of(page).count(f"```{language}\n") == len(found), f"{page.name}: a block is not closed"
    return found


def links(page: Path) -> list[str]:
    prose = re.sub(r"^ *```.*?^ *```$", "", text_of(page), flags=re.DOTALL | re.MULTILINE)
    prose = re.sub(r"`[^`]*`", "", prose)
    return [link for link in re.findall(r"\]\(([^)\s]+)\)", prose) if not re.match(r"[a-z]+:", link)]


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives to headings."""
    headings = re.findall(r"^#+ (.+)$", text_of(page), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize(
    "command",
    ["python -m pip install . && calibstat demo", 'python -m pip install -e ".[test]" && python -m pytest'],
)
def test_readme_has_the_command_on_a_line_of_its_own(command):
    lines = "\n".join(code_blocks(ROOT / "README.md", "console")).splitlines()
    assert lines.count(command) == 1


def test_readme_is_short():
    assert len(text_of(ROOT / "README.md").splitlines()) <= 110


@each_page
def test_relative_links_lead_somewhere(page):
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name}: {link}"
        if anchor:
            assert anchor in anchors(target), f"{page.name}: {link}; the headings are {sorted(anchors(target))}"


def test_every_page_is_in_the_contents():
    listed = {link.partition("#")[0] for link in links(ROOT / "docs" / "index.md")}
    assert {page.name for page in (ROOT / "docs").glob("*.md")} - {"index.md"} <= listed


def test_every_public_name_is_in_the_docs():
    words = set(re.findall(r"\w+", " ".join(text_of(page) for page in DOCS)))
    assert set(cs.__all__) <= words, sorted(set(cs.__all__) - words)


@each_page
def test_examples_are_tested(page):
    for block in code_blocks(page, "python"):
        assert ">>> " in block
    assert "```py\n" not in text_of(page)


@each_page
def test_results_are_never_said_to_be_calibrated(page):
    """Such words may stand in quotation marks, as words that are not used, and nowhere else."""
    words = r".?\b(?:is|are|was|were) (?:well[- ]|perfectly )?calibrated\b(?! by construction)"
    said = re.findall(words, text_of(page))
    assert all(found.startswith('"') for found in said), said


def test_forbidden_words_are_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("So the model is well calibrated.", encoding="utf-8")
    with pytest.raises(AssertionError):
        test_results_are_never_said_to_be_calibrated(page)


def test_null_means_of_the_readme():
    """The table is measured again, on other draws: means of 500 samples have standard errors below 0.001."""
    rows = re.findall(r"^\| (\d+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", text_of(ROOT / "README.md"), re.MULTILINE)
    assert [row[0] for row in rows] == ["200", "2000"]
    for n_rows, *values in rows:
        for n_cells, value in zip((5, 15, 50), values, strict=True):
            assert abs(mean_ece(int(n_rows), n_cells) - float(value)) < 0.004


def mean_ece(n_rows: int, n_cells: int) -> float:
    rng = np.random.Generator(np.random.PCG64(1))
    values = []
    for _ in range(500):
        chance = rng.random(n_rows)
        values.append(cs.ECE(cs.EqualMass(n_cells))(cs.Sample(rng.random(n_rows) < chance, chance)))
    return float(np.mean(values))


def test_every_result_with_a_picture_is_in_the_list_of_pictures():
    lines = text_of(ROOT / "docs" / "which-number.md").partition("`result.plot()` draws:")[2].splitlines()
    drawn = {name: getattr(cs, name)._display for name in cs.__all__ if hasattr(getattr(cs, name), "_display")}
    assert len(drawn) > 15
    for name, display in drawn.items():
        row = next((line for line in lines if f"`{name}`" in line), "")
        assert (f"`{display}`" if display else "| none: ") in row, name


def test_picture_is_small():
    picture = ROOT / "docs" / "images" / "calibration_demo.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size < 150_000


@pytest.mark.parametrize("method", ["redrawn labels", "redrawn predictions"])
def test_range_of_sizes_is_that_of_the_stored_table(method):
    lines = (ROOT / "docs" / "evidence" / "size.csv").read_text(encoding="utf-8").splitlines()
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    sizes = [100 * int(row["count"]) / int(row["runs"]) for row in rows if row["method"] == method]
    sentence = rf"[Ww]ith {method}, (?:sizes|they) lie between ([\d.]+) and ([\d.]+) %"
    said = re.search(sentence, text_of(ROOT / "docs" / "evidence.md"))
    assert said is not None
    assert said.groups() == (f"{min(sizes):.1f}", f"{max(sizes):.1f}")


def test_formulas_are_where_the_page_says():
    """Every file is there, and one of those of a row defines each name that stands beside them."""
    rows = [line.split(" | ") for line in text_of(ROOT / "docs" / "formulas.md").splitlines() if "`" in line]
    rows = [row for row in rows if len(row) == 3]
    assert len(rows) > 30
    for _, paths, names in rows:
        texts = [text_of(ROOT / "calibstat" / path) for path in re.findall(r"`([\w/]+\.py)`", paths)]
        assert texts
        for name in re.findall(r"`(\w+)", names):
            assert name in cs.__all__ or any(re.search(rf"(def|class) {name}\b", text) for text in texts), name


def test_every_dependency_is_explained():
    project = tomllib.loads(text_of(ROOT / "pyproject.toml"))["project"]
    named = [*project["dependencies"], *(each for extra in project["optional-dependencies"].values() for each in extra)]
    rows = [line for line in text_of(ROOT / "docs" / "dependencies.md").splitlines() if line.startswith("|")]
    listed = set(re.findall(r"[\w-]+", " ".join(rows)))
    missing = [name for name in (re.split(r"[<>=[]", each)[0] for each in named) if name not in listed]
    assert not missing


# Choosing a lens


def make_sample(labels: list[str], seed: int) -> cs.Sample:
    rng = np.random.Generator(np.random.PCG64(seed))
    rows = rng.dirichlet(np.ones(len(labels)), 600)
    variables = {"age": rng.integers(18, 90, 600), "sex": np.array(["f", "m"])[rng.integers(0, 2, 600)]}
    drawn = (np.cumsum(rows, axis=1)[:, :-1] < rng.random((600, 1))).sum(axis=1)
    return cs.Sample(np.array(labels)[drawn], rows, variables=variables, labels=labels)


def lines_of_code() -> list[str]:
    """The last column of the decision table."""
    table = text_of(ROOT / "docs" / "choosing-a-lens.md").partition("| Line of code |")[2].partition("\n\n")[0]
    rows = [row for row in table.splitlines() if "cs." in row]
    return [re.findall(r"`(cs\..*?|\[cs\..*?)`", row)[-1].replace("\\|", "|") for row in rows]


def test_decision_table_is_read_whole():
    table = text_of(ROOT / "docs" / "choosing-a-lens.md").partition("| Line of code |")[2].partition("\n\n")[0]
    assert len(lines_of_code()) == len(table.splitlines()) - 2


@pytest.mark.parametrize("line", lines_of_code())
def test_line_of_the_decision_table_works_on_a_sample_that_fits(line):
    samples = [
        make_sample(["no", "yes"], 0),
        make_sample(["cat", "dog", "car", "truck"], 1),
        make_sample(["melanoma", "nevus", "other"], 2),
    ]
    values = [value for sample in samples for value in values_where_it_fits(line, sample)]
    assert values
    assert np.isfinite(values).all()


def values_where_it_fits(line: str, sample: cs.Sample) -> list[float]:
    estimator = eval(line, {"cs": cs, "sample": sample, "function": lambda seen: float(len(seen))})
    try:
        return [float(estimator(sample))]
    except ValueError:
        return []


# The command line

COMMAND_LINE = [ROOT / "docs" / "command-line.md", ROOT / "docs" / "command-line-details.md"]


def shown() -> list[tuple[str, str]]:
    """Each command that is shown, with the output that is shown below it."""
    blocks = [
        block for page in COMMAND_LINE for block in code_blocks(page, "console") if block.startswith("$ calibstat test")
    ]
    return [(block.splitlines()[0].removeprefix("$ "), block.partition("\n")[2]) for block in blocks]


@pytest.fixture
def animals(tmp_path, monkeypatch):
    """The file that the examples are about."""
    rng = np.random.Generator(np.random.PCG64(0))
    rows = rng.dirichlet([1, 1, 1], 2000)
    truths = 0.85 * rows + 0.05
    pets = np.array(["cat", "dog", "emu"])[(np.cumsum(truths, axis=1)[:, :-1] < rng.random((2000, 1))).sum(axis=1)]
    ages, sites = rng.integers(1, 15, 2000), np.array(["north", "south"])[rng.integers(0, 2, 2000)]
    lines = [
        f"{pet},{row[0]:.6f},{row[1]:.6f},{row[2]:.6f},{age},{site}"
        for pet, row, age, site in zip(pets, rows, ages, sites, strict=True)
    ]
    text = "\n".join(["actual,prob_cat,prob_dog,prob_emu,age,site", *lines, ""])
    (tmp_path / "animals.csv").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return text


def test_file_of_the_examples(animals):
    assert "\n".join(animals.splitlines()[:3]) in text_of(COMMAND_LINE[0])


def as_number(word):
    """Numbers are equal up to rounding, which differs between machines; other words to the letter."""
    try:
        return pytest.approx(float(word.rstrip(",")), rel=1e-9)
    except ValueError:
        return word


@pytest.mark.parametrize(("command", "output"), shown(), ids=[command for command, _ in shown()])
def test_output_is_what_is_shown(command, output, animals, capsys):
    main(shlex.split(command)[1:])
    captured = capsys.readouterr()
    printed, expected = (captured.out + captured.err).split(), output.split()
    assert [as_number(word) for word in printed] == [as_number(word) for word in expected]


def test_json_keys_are_described(animals, capsys):
    main(["test", "animals.csv", "--label", "actual", "--probs", "prob_*", "--lens", "top-label", "--format", "json"])
    section = text_of(COMMAND_LINE[1]).partition("## JSON")[2].partition("##")[0]
    assert re.findall(r"^\| `(\w+)` \|", section, flags=re.MULTILINE) == list(json.loads(capsys.readouterr().out)[0])


def test_commands_of_the_workflow_are_known():
    """Options that are missing or wrong are errors; the workflow itself runs elsewhere."""
    (workflow,) = code_blocks(ROOT / "docs" / "pipelines.md", "yaml")
    commands = re.findall(r"run: (calibstat .*)$", workflow, flags=re.MULTILINE)
    assert [build_parser().parse_args(shlex.split(each)[1:]).command for each in commands] == ["test", "report"]


def test_options_are_described():
    commands = build_parser()._subparsers._group_actions[0].choices
    known = {option for command in commands.values() for option in command._option_string_actions}
    described = set(re.findall(r"^\| `(--?[\w-]+)", "".join(map(text_of, COMMAND_LINE)), flags=re.MULTILINE)) | {
        "--help"
    }
    assert described == known
