"""Hooks of the site.

The page of the results stands below `page/`, so that every version of the documentation has the results of its day.
A link that leaves the documentation, to a case file or the licence, becomes plain text: the repository has no public
address yet, so that there is nothing such a link could lead to.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any

from mkdocs.structure.files import File
from pt2bugs.cli import main

_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!\w+:|#)([^)\s]+)\)")


_ROOT = Path(__file__).parent.parent
_page = tempfile.TemporaryDirectory(prefix="pt2bugs-page-")


def on_files(files: Any, *, config: Any) -> Any:
    """Return the files of the documentation, with those of the page of the results.

    The page is written once, for all builds of `mkdocs serve`.

    Args:
        files: those of MkDocs.
        config: of MkDocs.

    Raises:
        RuntimeError: there is no page to write.
    """
    where = ["--cases", str(_ROOT / "cases"), "--results", str(_ROOT / "results")]
    if not any(Path(_page.name).iterdir()) and main(["report", "-o", _page.name, *where]):
        raise RuntimeError("pt2bugs report wrote no page")
    for path in sorted(Path(_page.name).rglob("*")):
        if path.is_file():
            name = path.relative_to(_page.name).as_posix()
            files.append(File.generated(config, f"page/{name}", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Return the text of a page with its outside links replaced by their words.

    Args:
        markdown: text of the page.
        page: the page of MkDocs; its `file.src_uri` is the path below docs/.
    """
    folder = dirname(page.file.src_uri)

    def replace(link: re.Match[str]) -> str:
        leaves = normpath(join(folder, link[2])).startswith("..")
        return link[1] if leaves else link[0]

    return _LINK.sub(replace, markdown)
