"""Sphinx's settings of the documentation: the Markdown of this repository as one site that needs no server.

Pages stay plain Markdown. A page called README.md has no list of its pages: those that it links to are below it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx

from docs.gallery import reference
from docs.gallery.page import page

project = "grounding-rewards"
author = copyright = "The grounding-rewards authors"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["docs/_*"]
root_doc = "docs/README"
include_patterns = [
    "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "adapters/README.md", "examples/plugin/README.md",
    "docs/**",
]  # fmt: skip
smartquotes = False  # texts show code
napoleon_use_ivar = True
autodoc_default_options = {"members": True}
autodoc_member_order = "bysource"
autodoc_typehints = "description"
myst_heading_anchors = 4
myst_fence_as_directive = ["math"]
suppress_warnings = ["myst.header"]  # GitHub takes any level after any other
html_theme = "pydata_sphinx_theme"
html_title = "grounding-rewards"
html_math_renderer = "mathml"
html_show_sourcelink = False
html_show_search_summary = False  # it is fetched, which a browser forbids to pages without a server
html_context = {"default_mode": "auto"}
html_sidebars = {"**": ["contents.html"]}
html_static_path = ["_static"]
html_css_files = ["site.css"]
templates_path = ["_templates"]
html_theme_options = {"navbar_center": [], "show_prev_next": False, "secondary_sidebar_items": ["page-toc"]}


def setup(app: Sphinx) -> None:
    """Connect what these pages need beyond Sphinx."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.connect("source-read", _pages_below)
    app.connect("source-read", _described)
    app.connect("autodoc-process-docstring", _plain)
    app.connect("html-page-context", _breakable)
    app.connect("build-finished", _index)


def _inline(writer: object, node: nodes.math) -> None:
    writer.body.append(tex2mathml(node.astext(), as_block=False))  # type: ignore[attr-defined]
    raise nodes.SkipNode


def _block(writer: object, node: nodes.math_block) -> None:
    writer.body.append(tex2mathml(node.astext(), as_block=True).replace("<math", '<math tabindex="0"'))  # type: ignore[attr-defined]
    raise nodes.SkipNode


def _pages_below(app: Sphinx, name: str, source: list[str]) -> None:
    """Put the pages that a README.md links to below it, by its sections."""
    if not name.startswith("docs/") or not name.endswith("README"):
        return
    for title, text in re.findall(r"^##? (.*)\n((?:(?!^## ).*\n)*)", source[0], re.MULTILINE):
        links = re.findall(r"\]\(([^):#]+)\.md\)", text)
        pages = [os.path.normpath(Path(name).parent / link) for link in links if name == root_doc or ".." not in link]
        if pages:
            source[0] += "\n```{toctree}\n:hidden:\n:caption: " + title + "\n\n"
            source[0] += "".join(f"/{page}\n" for page in dict.fromkeys(pages)) + "```\n"


def _described(app: Sphinx, name: str, source: list[str]) -> None:
    """Put every public name and every command on its page, and recipes into the index."""
    if name.startswith("docs/recipes/") and not name.endswith("README"):
        source[0] = f"```{{index}} {Path(name).name} (recipe)\n```\n" + source[0]
    elif name == "docs/reference/api":
        source[0] += page("api", public=reference.public())
    elif name == "docs/reference/commands":
        source[0] += page("commands", **reference.commands())


def _plain(app: Sphinx, what: str, name: str, value: object, options: object, lines: list[str]) -> None:
    """Take the bars of formulas and the ends of names such as ``object_`` as they are."""
    for number, line in enumerate(lines):
        if ">>>" not in line:
            parts = line.split("``")
            parts[::2] = [re.sub(r"\||(?<=\w)_(?!\w)", r"\\\g<0>", part) for part in parts[::2]]
            lines[number] = "``".join(parts)


def _breakable(app: Sphinx, name: str, template: str, context: dict[str, Any], page: nodes.document | None) -> None:
    """Mark the words of code that may break within, since a small screen has no line for them."""
    context["body"] = re.sub(r'<span class="pre">(?=[^<]{25})', '<span class="pre long">', context.get("body", ""))


def _index(app: Sphinx, error: Exception | None) -> None:
    """Lead from the folder itself to the start page."""
    page = f'<!doctype html><title>{project}</title><meta http-equiv="refresh" content="0; url={root_doc}.html">'
    (Path(app.outdir) / "index.html").write_text(page, "utf-8")
