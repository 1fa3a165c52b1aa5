"""Makes a site of the pages in docs/ and at the root, with Sphinx: `make site`.

Pages are plain Markdown, which a repository shows as well. The navigation is made of `index.md`: each section
is a group, and each link in it a page of that group. A page that has no link there is an error.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[1]

project = "Adyton"
author = "The authors of Adyton"
project_copyright = author
extensions = ["myst_parser"]

# The source is the repository, so that links between its folders are links of the site.
root_doc = "README"
include_patterns = [
    "*.md",
    "docs/**.md",
    "changes/README.md",
    "benchmarks/**.md",
]
exclude_patterns = [".*", "target", "fuzz", "crates", "python", "tests", "examples", "deploy"]

# The page and the anchor of every link have to be there.
nitpicky = True
myst_heading_anchors = 4
# `--flag` stays as it is written.
smartquotes = False

html_theme = "furo"
html_title = "Adyton"
html_static_path = ["site"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_use_index = False

SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
HEADING = re.compile(r"^#+ .+$", re.MULTILINE)
PAGE = re.compile(r"\]\(([^)#:]+\.md)\)")


def navigation(index: str) -> str:
    """Return the groups of pages of an index as Sphinx has them."""
    _, *parts = SECTION.split(index)
    groups = ["```{toctree}\n:hidden:\n\ndocs/index\n```"]
    for title, text in zip(parts[::2], parts[1::2], strict=True):
        pages = (place(link) for link in PAGE.findall(text))
        lines = ["```{toctree}", ":hidden:", f":caption: {title}", "", *dict.fromkeys(pages), "```"]
        groups.append("\n".join(lines))
    return "\n\n".join(groups)


def place(link: str) -> str:
    """Return the page of a link of docs/index.md by its place in the repository."""
    return str((ROOT / "docs" / link).resolve().relative_to(ROOT))


def add_navigation(app: Sphinx, page: str, text: list[str]) -> None:
    """Add the navigation to the first page, and all records to the page about them."""
    if page == root_doc:
        index = (ROOT / "docs/index.md").read_text(encoding="utf-8")
        text[0] += f"\n\n{navigation(index)}\n"
    elif page == "benchmarks/README":
        names = sorted(file.name for file in (ROOT / "benchmarks/record").glob("*.md"))
        links = "".join(f"- [{name.removesuffix('.md')}](record/{name})\n" for name in names)
        text[0] += f"\n## All records\n\n{links}"
    elif page.startswith("benchmarks/record/"):
        # Sixty more names would hide the navigation from its reader.
        shown = text[0]
        if app.tags.has("headings"):
            # Headings are enough to check links, and the tables take half of the time to build the site.
            shown = "\n\n".join(HEADING.findall(shown))
        text[0] = f"---\norphan: true\n---\n\n{shown}"


def open_at_the_root(app: Sphinx, failure: Exception | None) -> None:
    """Show the first page where a browser asks for a folder."""
    if failure is None and app.builder.format == "html":
        shutil.copyfile(Path(app.outdir) / f"{root_doc}.html", Path(app.outdir) / "index.html")


def setup(app: Sphinx) -> None:
    """Have Sphinx call the functions above."""
    app.connect("source-read", add_navigation)
    app.connect("build-finished", open_at_the_root)
