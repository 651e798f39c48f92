"""The README and the contents of the site: which pages they have, and which commands the README names."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import calibstat as cs
from calibstat.cli.main import build_parser

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTENTS = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")


def commands() -> set[str]:
    """Every command there is."""
    (found,) = (action.choices for action in build_parser()._actions if isinstance(action.choices, dict))
    return set(found)


def test_readme_links_every_page():
    """Save those with the details of another page, which links them itself."""
    linked = set(re.findall(r"\]\(docs/([\w-]+\.md)", README))
    pages = {page.name for page in (ROOT / "docs").glob("*.md")}
    details = {name for name in pages if name.endswith("-details.md")}
    assert linked == pages - details
    for name in details:
        page = ROOT / "docs" / name.replace("-details", "")
        assert f"]({name}" in page.read_text(encoding="utf-8"), f"{page.name} does not link {name}"


def test_contents_of_the_site_have_every_page_once():
    text = (ROOT / "docs/site/contents.toml").read_text(encoding="utf-8")
    entries = [entry for captions in tomllib.loads(text).values() for each in captions.values() for entry in each]
    listed = [entry.rpartition("<")[2].removesuffix(">") for entry in entries]
    pages = [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/*.md"),
        *ROOT.glob("docs/evidence/*.md"),
        *ROOT.glob("notebooks/*.ipynb"),
    ]
    found = {page.relative_to(ROOT).with_suffix("").as_posix() for page in pages}
    assert sorted(listed) == sorted({*found, "docs/api/index"} - {"docs/index"}), "mend docs/site/contents.toml"


def test_readme_names_commands_and_functions_that_are_there():
    rows = [line.split("|") for line in README.splitlines() if line.count("|") == 4 and "`" in line]
    verbs = {name for _, _, python, _, _ in rows for name in re.findall(r"`(\w+)`", python)}
    named = {name for *_, shell, _ in rows for name in re.findall(r"`(?:calibstat )?([\w-]+)`", shell)}
    assert len(verbs) >= 10
    assert verbs <= set(cs.__all__)
    assert len(named) >= 8
    assert named <= commands()


@pytest.mark.parametrize("command", sorted(commands()))
def test_contents_name_every_command(command):
    assert f"`{command}`" in CONTENTS
