"""Hook of the site: a link that leaves the documentation, to a case file or the licence, becomes plain text.

The repository has no public address yet, so that there is nothing such a link could lead to.
"""

from __future__ import annotations

import re
from posixpath import dirname, join, normpath
from typing import Any

_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!\w+:|#)([^)\s]+)\)")


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
