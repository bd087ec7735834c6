"""The inline script metadata (PEP 723) of a file: found line by line, so that no text takes more than linear time."""

from __future__ import annotations

import codecs
import io
import stat
import tokenize
from dataclasses import dataclass
from pathlib import Path

OPENING, CLOSING = "# /// script", "# ///"
TABLE = "tool.pt2bugs"


@dataclass(frozen=True)
class ScriptBlock:
    """The TOML text of a block, the program around it, and the line (from 0) that opens it."""

    toml: str
    program: str
    opening: int

    @property
    def first_line(self) -> int:
        """Number, from 1, of the file's line that holds the first line of TOML."""
        return self.opening + 2


class NotRegularError(OSError):
    """A pipe, a device or a folder that is named like a file: reading it could block for ever."""


def read_regular(path: Path) -> bytes:
    """The bytes of a regular file.

    Raises:
        NotRegularError: it is something else.
        OSError: it cannot be read.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise NotRegularError(f"{path}: is not a regular file")
    return path.read_bytes()


def find_block(text: str) -> ScriptBlock | None:
    """The first closed ``script`` block of a program; None if there is none.

    The block ends at the last ``# ///`` before the first line that is no comment, as PEP 723 has it.
    """
    lines = text.split("\n")
    opening = next((i for i, line in enumerate(lines) if line == OPENING), None)
    if opening is None:
        return None
    closing = None
    for index in range(opening + 1, len(lines)):
        line = lines[index]
        if line == CLOSING:
            closing = index
        elif line != "#" and not line.startswith("# "):
            break
    if closing is None:
        return None
    toml = "".join(f"{line[2:]}\n" for line in lines[opening + 1 : closing])
    program = "".join(f"{line}\n" for line in lines[:opening]) + "\n".join(["", *lines[closing + 1 :]])
    return ScriptBlock(toml, program, opening)


def opening_line(text: str) -> int | None:
    """Number, from 1, of the line that opens a block; None if no line does."""
    return next((i for i, line in enumerate(text.split("\n"), 1) if line == OPENING), None)


def decode(data: bytes) -> str:
    """The text of a program with ``\\n`` line ends; a byte order mark is dropped.

    Raises:
        UnicodeDecodeError: it is not UTF-8.
    """
    text = data.removeprefix(codecs.BOM_UTF8).decode("utf-8")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def is_case_text(text: str) -> bool:
    """Whether nothing but comments and blank lines stands before a block that speaks of pt2bugs."""
    if TABLE not in text:
        return False
    for line in text.split("\n"):
        bare = line.strip()
        if line == OPENING:
            return True
        if bare and not bare.startswith("#"):
            return False
    return False


def why_not_a_case(data: bytes) -> str:
    """What keeps a file from being a case although it holds a header of ours; empty where it holds none."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        has_table = TABLE in data.decode("utf-16", "replace")
        return "it is UTF-16: save it as UTF-8" if has_table else ""
    text = data.decode("utf-8", "replace")
    if opening_line(text) is None or f"# [{TABLE}]" not in text or is_case_text(text) or not _is_comment(text):
        return ""
    return "code stands before its '# /// script' block: the header comes first"


def _is_comment(text: str) -> bool:
    """Whether the line that opens a block is a comment, and not part of a string that holds a case."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError, ValueError, RecursionError):
        return True
    return any(token.type == tokenize.COMMENT and token.line.rstrip() == OPENING for token in tokens)
