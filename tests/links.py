"""The links of the pages of a folder, and those of them that lead nowhere.

The tests of the page and of the documentation use it, and ``benchmarks/screens.py`` on any folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Links(HTMLParser):
    """What a page links to, and the places in it that a link can lead to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.to: list[str] = []
        self.places = {"", "top"}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value is not None:
                self.to.append(value)
            elif name == "id" and value:
                self.places.add(value)


def dead_links(site: Path, pages: Sequence[Path]) -> tuple[int, int, list[str]]:
    """Return how many links lead into the folder and out of it, and those that lead nowhere."""
    known = {path: Links(path) for path in pages}
    inside = outside = 0
    dead = []
    for path, links in known.items():
        for link in links.to:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                outside += 1
                continue
            inside += 1
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path.resolve()
            target = target / "index.html" if target.is_dir() else target
            # What stands behind "#" of the matrix and of the comparison are their filters.
            place = unquote(parts.fragment)
            lacks_place = target in known and place not in known[target].places and "=" not in place
            if not target.is_file() or not target.is_relative_to(site) or lacks_place:
                dead.append(f"{path.relative_to(site)}: {link}")
    return inside, outside, dead
