"""How Sphinx makes the site of the pages: ``python -m sphinx -W --keep-going -j auto -c docs/site . build/site``.

The pages stay what a code host shows. The site adds their order (``contents.toml``), a reference made from the
docstrings (``docstrings.py``), and links from names of the package to it.
"""

from __future__ import annotations

import re
import sys
import tomllib
from html import escape
from pathlib import Path
from shutil import copytree
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import docstrings  # noqa: E402

import calibstat  # noqa: E402

project = "calibstat"
author = project_copyright = "The calibstat authors"
version = release = calibstat.__version__

root_doc = "docs/index"
include_patterns = ["*.md", "docs/*.md", "docs/evidence/*.md", "docs/api/*.rst", "notebooks/*.ipynb"]
exclude_patterns = [".*", "build", "calibstat", "simulations", "tests"]
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "numpydoc",
    "sphinx_copybutton",
]

myst_heading_anchors = 4
nb_execution_mode = "off"  # the tests run the notebooks, and compare what they give with what is stored
default_role = "py:obj"
autodoc_typehints = "none"  # the sections Parameters and Returns say them in words
autodoc_preserve_defaults = True
autodoc_inherit_docstrings = False
autodoc_default_options = {
    # what scikit-learn makes for its own routing of metadata
    "exclude-members": "set_fit_request, set_predict_proba_request, set_score_request, set_transform_request",
}
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True

html_theme = "furo"
html_title = f"calibstat {version}"
html_static_path = ["static"]
html_css_files = ["style.css"]
html_extra_path = ["root"]
html_copy_source = False
html_use_index = False  # the search finds every name
html_math_renderer = "mathml"

CONTENTS = tomllib.loads((HERE / "contents.toml").read_text(encoding="utf-8"))
NAME_COMMANDS = ("docs/command-line", "docs/index")  # there `report` is a command
PUBLIC = docstrings.targets()
SHOWN = docstrings.shown()


def name_bases(_: Any, __: str, found: type, ___: Any, bases: list[Any]) -> None:
    """Name the bases of a class by the names that the reference shows."""
    bases[:] = docstrings.shown_bases(found, SHOWN)


def break_calls(_: Any, tree: Any) -> None:
    """Let a call in a cell of a table be broken after its brackets, and a name nowhere."""
    from docutils import nodes

    for literal in list(tree.findall(nodes.literal)):
        if "(" in literal.astext() and isinstance(literal.parent.parent, nodes.entry):
            code = re.sub(r"\((?!\))", "(<wbr>", escape(literal.astext()))
            literal.replace_self(nodes.raw("", f'<code class="literal">{code}</code>', format="html"))


def open_examples(_: Any, tree: Any) -> None:
    """Let a link to a finished page, such as a report, open it, where Sphinx would offer it for download."""
    from docutils import nodes
    from sphinx import addnodes

    for link in list(tree.findall(addnodes.download_reference)):
        if link["reftarget"].endswith(".html"):
            link.replace_self(nodes.reference("", "", *link.children, refuri=link["reftarget"]))


def copy_examples(app: Any, failed: Exception | None) -> None:
    """Put the finished pages where those links lead."""
    if not failed:
        copytree(Path(app.srcdir, "docs/examples"), Path(app.outdir, "docs/examples"), dirs_exist_ok=True)


def trim_blocks(_: Any, tree: Any) -> None:
    """Drop the empty line with which an example of a page ends."""
    from docutils import nodes

    for block in tree.findall(nodes.literal_block):
        block.rawsource = block.astext().rstrip("\n")
        block.children = []
        block += nodes.Text(block.rawsource)


def _entry(page: str) -> str:
    title, bracket, path = page.rpartition("<")
    return f"{title}{bracket}/{path}"


def add_contents(_: Any, page: str, source: list[str]) -> None:
    """Append the contents that stand below a page, which a code host does not show."""
    for caption, pages in CONTENTS.get(page, {}).items():
        lines = ["", "```{toctree}", ":hidden:", f":caption: {caption}", "", *map(_entry, pages), "```", ""]
        source[0] += "\n".join(lines)


def link_names(_: Any, tree: Any) -> None:
    """Make each name of the package that stands in a sentence a link to its docstring."""
    from docutils import nodes
    from sphinx import addnodes

    page = tree.settings.env.docname
    for literal in [] if page in NAME_COMMANDS else list(tree.findall(nodes.literal)):
        name = PUBLIC.get(re.sub(r"^cs\.|\(\)$", "", literal.astext()))
        if name and not isinstance(literal.parent, nodes.reference | nodes.title | addnodes.pending_xref):
            link = addnodes.pending_xref("", refdomain="py", reftype="obj", reftarget=name, refexplicit=True)
            literal.replace_self(link)
            link += literal


def inline_formula(writer: Any, node: Any) -> None:
    """Write a formula as MathML, which browsers draw without any script."""
    _formula(writer, node, "inline")


def formula(writer: Any, node: Any) -> None:
    """Write a formula on a line of its own."""
    writer.body.append('<div class="formula">')
    _formula(writer, node, "block")


def _formula(writer: Any, node: Any, display: str) -> None:
    from docutils import nodes
    from latex2mathml.converter import convert

    writer.body.append(convert(node.astext(), display=display))
    if display == "block":
        writer.body.append("</div>")
    raise nodes.SkipNode


def setup(app: Any) -> None:
    """Write the reference before Sphinx looks for pages."""
    docstrings.write(Path(app.srcdir) / "docs" / "api")
    app.connect("source-read", add_contents)
    app.connect("autodoc-process-bases", name_bases)
    app.connect("doctree-read", link_names)
    app.connect("doctree-read", break_calls)
    app.connect("doctree-read", open_examples)
    app.connect("build-finished", copy_examples)
    app.connect("doctree-read", trim_blocks)
    app.add_html_math_renderer("mathml", (inline_formula, None), (formula, None))
