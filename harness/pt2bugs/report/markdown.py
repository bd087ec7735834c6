"""The only writer of Markdown. Text of cases and failures never becomes markup, a mention or a row of a table."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from pt2bugs.case.model import Case

_ESCAPES = {ord(sign): f"\\{sign}" for sign in "\\`*[]|~"} | {ord(sign): f"&#{ord(sign)};" for sign in "&<@#$"}
"""GitHub reads `\\@name` and `\\#1` as a mention and a reference all the same, and `\\$` as the begin of a formula."""
_UNDERSCORE = re.compile(r"(?<![^\W_])_|_(?![^\W_])")
"""An underscore within a word is no emphasis."""
_BLOCK_BEGIN = re.compile(r"^(\d{0,9})([>=]|[-+.)](?=\s|-*$))")
"""Signs that make a line an item of a list, a quotation or a heading."""
_PIPE = re.compile(r"(?<!\\)\|")
_PART = re.compile(r"(<!-- (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def escape(text: str) -> str:
    """Return text as Markdown on one line, to stand anywhere but in a code span.

    Args:
        text: any text; line breaks become spaces.
    """
    escaped = _UNDERSCORE.sub(r"\_", " ".join(text.split()).translate(_ESCAPES))
    return _BLOCK_BEGIN.sub(r"\1\\\2", escaped)


def code(text: str) -> str:
    """Return text as a code span on one line, whatever backticks it has.

    Args:
        text: any text; line breaks become spaces. Empty text gives no span.
    """
    line = " ".join(text.split())
    if not line:
        return ""
    ticks = "`" * (_longest_run(line) + 1)
    pad = " " if "`" in (line[0], line[-1]) else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def code_block(text: str, language: str = "") -> str:
    """Return text between fences that are longer than any run of backticks in it.

    Args:
        text: any text; it is kept as it is, but for line breaks around it.
        language: what highlights it, as ``python``.
    """
    fence = "`" * max(3, _longest_run(text) + 1)
    body = text.strip("\n")
    return f"{fence}{language}\n{body}\n{fence}"


def link(text: str, address: str) -> str:
    """Return a link; without an address the text alone.

    Args:
        text: any text.
        address: where it leads; what would end the address is percent-encoded.
    """
    target = re.sub(r"[()\s<>|`\\]", lambda sign: f"%{ord(sign[0]):02X}", address)
    return f"[{escape(text)}]({target})" if address else escape(text)


def case_link(case: Case) -> str:
    """Return a case's id as a link to its issue.

    Args:
        case: any case.
    """
    return link(case.id, case.issue)


def table(head: Sequence[object], rows: Iterable[Iterable[object]]) -> str:
    """Return a table.

    Args:
        head: the titles of the columns.
        rows: cells, or numbers, whose text is Markdown already, on one line each.
    """
    lines = [f"| {' | '.join(map(str, head))} |", f"|{' --- |' * len(head)}"]
    # A pipe ends a cell also within a code span, where `code` has left it as it is.
    cells = ([_PIPE.sub(r"\|", str(cell)) for cell in row] for row in rows)
    lines += [f"| {' | '.join(row)} |" for row in cells]
    return "\n".join(lines)


def filled(page: str, part_of: Callable[[str], str]) -> str:
    """Return a page with what stands between two comments ``<!-- name -->`` and ``<!-- end -->`` written anew.

    Args:
        page: its text, with the parts that are replaced.
        part_of: writes the part of a name.
    """
    return _PART.sub(lambda part: f"{part[1]}\n{part_of(part[2])}\n\n{part[3]}", page)


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
