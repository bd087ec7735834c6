"""Text of cases and failures as Markdown: none of it becomes markup, a link or a row of a table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from pt2bugs.case.model import Case

_ESCAPES = {ord(sign): f"\\{sign}" for sign in "\\`*_[]|~"} | {ord(sign): f"&#{ord(sign)};" for sign in "&<@#"}
"""`@` and `#` would name somebody, or an issue of another repository; a backslash does not keep them from it."""


def inline(text: str) -> str:
    """Text on one line, to stand anywhere in Markdown."""
    return " ".join(text.split()).translate(_ESCAPES)


def link(case: Case) -> str:
    """A case's id, with its issue behind it."""
    target = re.sub(r"[()\s<>|]", lambda found: f"%{ord(found[0]):02X}", case.issue)
    return f"[{inline(case.id)}]({target})" if case.issue else inline(case.id)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table; its cells are Markdown already."""
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    return [*lines, *(f"| {' | '.join(row)} |" for row in rows)]
