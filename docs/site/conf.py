"""Builds the site: ``make site``, from the Markdown that the repository holds.

The source folder is that of the repository, so that a link between two documents is the
same here as where the repository is browsed. What stands beside what follows from the
lists in ``docs/README.md``; a document that they lack is an error.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from pygments.lexers.special import TextLexer

import lightloom

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.writers.html5 import HTML5Translator

ROOT = Path(__file__).parents[2]
LISTS = ROOT / "docs" / "README.md"

project = "lightloom"
author = "The lightloom developers"
project_copyright = author
version = release = lightloom.__version__
html_title = f"lightloom {version}"

root_doc = "README"
include_patterns = ["*.md", "docs/**.md", "changelog.d/README.md"]
exclude_patterns = [".*", "build", "dist", "fuzz", "lightloom", "out", "tests"]
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
myst_links_external_new_tab = False
suppress_warnings = ["myst.strikethrough"]

default_role = "py:obj"  # docstrings name objects `so`
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
napoleon_preprocess_types = False
python_display_short_literal_types = True
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_math_renderer = "mathml"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
pygments_style = "tango"
pygments_dark_style = "github-dark"


def navigation() -> str:
    """Return the lists of ``docs/README.md`` as tables of contents, one a topic."""
    tables = [_table("Start here", ["docs/README"])]
    topic = r"^\*\*(.+)\*\*\n\n((?:[-*] .*\n|  .*\n)+)"
    for caption, entries in re.findall(topic, LISTS.read_text("utf-8"), re.MULTILINE):
        targets = re.findall(r"\]\(([^)#]+)\.md\)", entries)
        names = [(LISTS.parent / name).resolve().relative_to(ROOT) for name in targets]
        tables.append(_table(caption, [name.as_posix() for name in names]))
    return "".join(tables)


def _table(caption: str, names: list[str]) -> str:
    """Return a table of contents that is seen beside pages only."""
    options = f":caption: {caption}\n:hidden:\n:titlesonly:"
    rows = "\n".join(f"/{name}" for name in names)
    return f"\n\n```{{toctree}}\n{options}\n\n{rows}\n```\n"


def add_navigation(_app: Sphinx, name: str, source: list[str]) -> None:
    """Give the first page the tables of contents, of no use in plain Markdown."""
    if name == root_doc:
        source[0] += navigation()


def mathematics(source: str, *, display: bool) -> str:
    """Return TeX as MathML, which browsers set without a script."""
    try:
        return tex2mathml(source, as_block=display)
    except MathError as error:
        message = f"invalid formula {source!r}: {error}"
        raise ValueError(message) from error


def inline_formula(writer: HTML5Translator, node: nodes.math) -> None:
    """Write a formula within a line."""
    writer.body.append(mathematics(node.astext(), display=False))
    raise nodes.SkipNode


def display_formula(writer: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on lines of its own."""
    formula = mathematics(node.astext(), display=True)
    writer.body.append(f'<div class="formula">{formula}</div>\n')
    raise nodes.SkipNode


def join_returns(*arguments: object) -> None:
    """Make one line of what is returned: ours names no type, and may be longer."""
    lines = arguments[-1]
    assert isinstance(lines, list)
    section = re.search(r"(?:^|\n)Returns\n-+\n((?:\S.*\n?)+)", "\n".join(lines))
    if section and section[1].count("\n") > 1:
        text = "\n".join(lines).replace(section[1], f"{' '.join(section[1].split())}\n")
        lines[:] = text.split("\n")


def add_index(app: Sphinx, error: Exception | None) -> None:
    """Name the first page as servers expect it, too."""
    if error is None and app.builder.name == "html":
        shutil.copy(app.outdir / f"{root_doc}.html", app.outdir / "index.html")


def setup(app: Sphinx) -> None:
    """Connect what is above."""
    app.add_html_math_renderer(
        "mathml", (inline_formula, None), (display_formula, None)
    )
    app.add_lexer("csv", TextLexer)
    app.connect("autodoc-process-docstring", join_returns, priority=400)
    app.connect("source-read", add_navigation)
    app.connect("build-finished", add_index)
