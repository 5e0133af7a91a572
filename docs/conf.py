"""How Sphinx makes the book: ``make docs``.

The lists in ``README.md`` are the table of contents: each heading is a part, each link
a page. So the book has the same order in a checkout as in a browser.
"""

import re
import shutil
from pathlib import Path

from sphinx.application import Sphinx

project = "halflife"
author = "the authors of halflife"
extensions = ["myst_parser"]
root_doc = "README"
exclude_patterns = ["_build"]
myst_heading_anchors = 4
myst_enable_extensions = ["fieldlist"]
suppress_warnings = ["misc.highlighting_failure"]  # output of a program is no language
highlight_language = "none"
html_theme = "furo"
html_title = "halflife"
html_static_path = ["_static"]
html_css_files = ["book.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_permalinks_icon = "#"

PAGE = re.compile(r"^- \[([^\]]+)\]\(([\w/-]+)\.md\)", re.MULTILINE)
TREE = "\n```{{toctree}}\n:hidden:\n:titlesonly:\n{caption}\n{pages}\n```\n"


def with_contents(text: str) -> str:
    """Return a page with the pages that its lists link to below it.

    >>> print(with_contents("- [A](a.md): why?").partition("?")[2].strip())
    ```{toctree}
    :hidden:
    :titlesonly:
    <BLANKLINE>
    A <a>
    ```
    """
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    made = text
    for title, body in zip(["", *parts[1::2]], parts[::2], strict=True):
        pages = [f"{name} <{page}>" for name, page in PAGE.findall(body)]
        caption = f":caption: {title}\n" if title else ""
        made += TREE.format(caption=caption, pages="\n".join(pages)) if pages else ""
    return made


def _add_contents(_: Sphinx, name: str, text: list[str]) -> None:
    if name.rpartition("/")[2] == "README":
        text[0] = with_contents(text[0])


def _copy_first_page(app: Sphinx, error: Exception | None) -> None:
    """Let a web server find the first page under the name that it looks for."""
    if error is None and app.builder.name == "html":
        shutil.copy(Path(app.outdir) / "README.html", Path(app.outdir) / "index.html")


def setup(app: Sphinx) -> None:
    """Add what Sphinx calls while it builds."""
    app.connect("source-read", _add_contents)
    app.connect("build-finished", _copy_first_page)
