"""Atom feeds."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass

NAMESPACE = "http://www.w3.org/2005/Atom"
NEVER = "1970-01-01T00:00:00Z"


@dataclass(frozen=True)
class Entry:
    """An entry; `updated` is UTC, ISO 8601, `href` counts from the folder of the feed."""

    id: str
    title: str
    updated: str
    href: str
    summary: str


def atom(title: str, id: str, name: str, entries: Sequence[Entry]) -> str:
    """Return a whole feed.

    Args:
        title: the title of the feed.
        id: names the feed.
        name: the name of its file.
        entries: the newest first.
    """
    ET.register_namespace("", NAMESPACE)
    root = ET.Element(f"{{{NAMESPACE}}}feed")
    _add(root, "title", title)
    _add(root, "id", id)
    _add(root, "updated", max((entry.updated for entry in entries), default=NEVER))
    _add(root, "link", href=name, rel="self")
    _add(_add(root, "author"), "name", "pt2bugs")
    for content in entries:
        entry = _add(root, "entry")
        _add(entry, "title", content.title)
        _add(entry, "id", content.id)
        _add(entry, "updated", content.updated)
        _add(entry, "link", href=content.href)
        _add(entry, "summary", content.summary)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _add(parent: ET.Element, name: str, text: str = "", **attributes: str) -> ET.Element:
    element = ET.SubElement(parent, f"{{{NAMESPACE}}}{name}", attributes)
    # Without what XML cannot hold.
    element.text = "".join(c for c in text if c.isprintable() or c == "\n") or None
    return element
