"""The site has a place for every page and every public name; ``.ci/site`` builds it, with warnings as errors."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import calibstat as cs

ROOT = Path(__file__).resolve().parents[1]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]


@pytest.fixture(scope="module")
def docstrings():
    found = importlib.util.spec_from_file_location("docs_site_docstrings", ROOT / "docs/site/docstrings.py")
    module = importlib.util.module_from_spec(found)
    sys.modules[found.name] = module
    found.loader.exec_module(module)
    return module


def public() -> Counter[str]:
    packages = {f"calibstat.{each}": getattr(cs, each).__all__ for each in cs._SUBPACKAGES if each != "results"}
    return Counter(
        f"{package}.{name}" for package, names in {"calibstat": cs.__all__, **packages}.items() for name in names
    )


def test_every_public_name_is_in_one_group(docstrings):
    shown = Counter(name for names in docstrings.groups().values() for name in names)
    assert shown == public()


def test_every_group_has_a_page_that_shows_its_names(docstrings, tmp_path):
    docstrings.write(tmp_path)
    texts = {path.stem: path.read_text(encoding="utf-8") for path in tmp_path.glob("*.rst")}
    listed = re.findall(r"^   ([\w-]+)$", texts.pop("index"), re.MULTILINE)
    assert sorted(listed) == sorted(texts)
    shown = re.findall(r"^\.\. auto(?:class|function|data):: (\S+)$", "\n".join(texts.values()), re.MULTILINE)
    bases = [name for names in docstrings.shared().values() for name in names]
    assert Counter(shown) == public() + Counter(bases)
    assert "calibstat.inference.results.Result" in bases


def test_a_name_leads_to_its_docstring(docstrings):
    targets = docstrings.targets()
    assert targets["ECE"] == "calibstat.ECE"
    assert targets["Platt"] == "calibstat.calibrators.Platt"
    assert set(targets.values()) >= {f"calibstat.{name}" for name in cs.__all__}


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_addresses_are_whole(page):
    """No network is asked: whether an address has its parts, and a DOI its form."""
    for address in re.findall(r"\]\((\w+:[^)\s]*)\)", page.read_text(encoding="utf-8")):
        parts = urlsplit(address)
        assert parts.scheme == "https", address
        assert re.fullmatch(r"[\w-]+(\.[\w-]+)+", parts.netloc), address
        assert parts.netloc != "doi.org" or re.fullmatch(r"/10\.\d{4,9}/\S+", parts.path), address
