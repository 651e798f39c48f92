"""What others read about the project: one version, citations that exist, and numbers of the docs."""

from __future__ import annotations

import ast
import csv
import json
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

import calibstat as cs
from calibstat.references import references

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT, TOOLS = PYPROJECT["project"], PYPROJECT["tool"]["setuptools"]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
CODEMETA = json.loads((ROOT / "codemeta.json").read_text(encoding="utf-8"))
PAPER = (ROOT / "paper" / "paper.md").read_text(encoding="utf-8")


def test_the_version_has_one_source():
    assert "version" in PROJECT["dynamic"]
    assert "version" not in PROJECT
    assert CITATION["version"] == CODEMETA["version"] == cs.__version__
    assert f"## {cs.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_build_reads_that_source_without_importing_it():
    assert TOOLS["dynamic"]["version"] == {"attr": "calibstat.__version__"}
    tree = ast.parse((ROOT / "calibstat" / "__init__.py").read_text(encoding="utf-8"))
    (value,) = [
        each.value
        for each in tree.body
        if isinstance(each, ast.Assign) and [ast.unparse(name) for name in each.targets] == ["__version__"]
    ]
    assert ast.literal_eval(value) == cs.__version__


def test_citation_file_has_what_the_format_asks_for():
    assert CITATION["cff-version"] == "1.2.0"
    assert {"message", "title", "authors", "type", "license"} <= set(CITATION)
    assert [each["name"] for each in CITATION["authors"]] == [each["name"] for each in PROJECT["authors"]]
    assert CITATION["license"] == PROJECT["license"]
    assert CITATION["keywords"] == PROJECT["keywords"]


def test_code_metadata_agree_with_the_project():
    assert CODEMETA["name"] == PROJECT["name"]
    assert CODEMETA["description"] == PROJECT["description"]
    assert CODEMETA["keywords"] == PROJECT["keywords"]
    assert CODEMETA["license"].endswith(f"/{PROJECT['license']}")
    assert PROJECT["requires-python"] in CODEMETA["runtimePlatform"]


def test_paper_cites_entries_that_exist():
    _, front, text = PAPER.split("---\n", 2)
    bibliography = (ROOT / "paper" / yaml.safe_load(front)["bibliography"]).resolve()
    known = set(re.findall(r"^@\w+\{(.+),$", bibliography.read_text(encoding="utf-8"), re.MULTILINE))
    cited = set(re.findall(r"@([\w-]+)", text))
    assert len(cited) > 15
    assert cited <= known
    assert len(known) == len(references())


def test_paper_has_the_sections_and_the_pictures():
    headings = re.findall(r"^# (.+)$", PAPER, re.MULTILINE)
    assert {"Summary", "Statement of need", "Comparison with other software", "References"} <= set(headings)
    pictures = re.findall(r"\]\(([^)]+\.png)\)", PAPER)
    assert len(pictures) == 3
    assert all((ROOT / "paper" / each).resolve().is_file() for each in pictures)


@pytest.mark.parametrize(
    ("page", "row", "numbers"),
    [
        ("README.md", "| 200 | ", ["0.087"]),
        ("README.md", "| 2000 | ", ["0.028"]),
        ("docs/studies.md", "| smaller raw ECE, 15 bins of equal width | ", ["34.1 %", "14.9 %"]),
        ("docs/studies.md", "| test of the difference at 5 % | ", ["0.2 %", "0.3 %", "10 %", "52 %"]),
        ("docs/studies.md", "`null_size` reads the stored ", ["None of 629 promised sizes", "57 % on average"]),
    ],
)
def test_numbers_of_the_paper_are_those_of_the_docs(page, row, numbers):
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    (line,) = [each for each in lines if each.startswith(row)]
    assert all(number in line and number in PAPER for number in numbers)


def test_stored_tables_have_as_many_runs_as_the_paper_says():
    rows = [line for line in (ROOT / "docs/evidence/size.csv").read_text().splitlines() if not line.startswith("#")]
    assert {each["runs"] for each in csv.DictReader(rows)} == {"1000"}
    assert "tables of 1000 runs each" in PAPER


def test_no_address_is_made_up():
    """The repository has none that is known; a release adds it everywhere at once."""
    signers = (ROOT / "allowed_signers").is_file()
    named = ["urls" in PROJECT, "repository-code" in CITATION, "codeRepository" in CODEMETA, signers]
    assert len(set(named)) == 1


@pytest.fixture
def signed(tmp_path):
    """A folder as a release leaves it, with a key that nobody keeps."""
    if not (shutil.which("ssh-keygen") and shutil.which("sha256sum")):
        pytest.skip("ssh-keygen or sha256sum is not on this machine")
    run = {"cwd": tmp_path, "check": True, "capture_output": True, "text": True}
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", "key"], **run)
    (tmp_path / "allowed_signers").write_text(f"{SIGNER} {(tmp_path / 'key.pub').read_text()}")
    for name in ("wheel", "sdist"):
        (tmp_path / name).write_text(f"these are the bytes of a {name}")
    (tmp_path / "SHA256SUMS").write_text(subprocess.run(["sha256sum", "wheel", "sdist"], **run).stdout)
    sign = re.search(r"^ssh-keygen .*-Y sign .*$", (ROOT / ".ci" / "release").read_text(), re.MULTILINE)[0]
    subprocess.run(["bash", "-ec", sign], env={**os.environ, "key": "key"}, **run)
    return tmp_path


SIGNER = re.search(r"`(calibstat namespaces=.*?) `", (ROOT / "docs/releasing.md").read_text(encoding="utf-8"))[1]
CHECKS = re.search(r"```console\n(.*?)```", (ROOT / "SECURITY.md").read_text(encoding="utf-8"), re.DOTALL)[1]


def accepts(folder):
    return subprocess.run(["bash", "-ec", CHECKS], cwd=folder, capture_output=True, check=False).returncode == 0


def test_the_commands_for_users_accept_what_the_maintainers_signed(signed):
    assert accepts(signed)
    (signed / "sdist").unlink()
    assert accepts(signed)  # a file that was not downloaded is passed over
    (signed / "wheel").unlink()
    assert not accepts(signed)


@pytest.mark.parametrize("file", ["wheel", "SHA256SUMS", "SHA256SUMS.sig", "allowed_signers"])
def test_the_commands_for_users_refuse_what_was_changed(signed, file):
    content = (signed / file).read_bytes()
    (signed / file).write_bytes(content[:-20] + bytes([content[-20] ^ 1]) + content[-19:])
    assert not accepts(signed)


def test_names_without_a_type_exist():
    """Those that `.ci/package` lets pass, seen from outside."""
    (table,) = [
        ast.literal_eval(each.value)
        for each in ast.parse((ROOT / "tests/typing_outside/names.py").read_text(encoding="utf-8")).body
        if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == "UNTYPED"
    ]
    public = {**{name: getattr(cs.generators, name) for name in cs.generators.__all__}}
    public |= {name: getattr(cs, name) for name in cs.__all__}
    for name in (each for each in table if not each.startswith("*.")):
        kind, _, part = name.partition(".")
        assert part in {*dir(public[kind]), *public[kind].__dataclass_fields__}, name
