"""The lines of what people paste, without what logs, terminals and quoting put around them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
_QUOTE = re.compile(r"(?:> ?)+(?=[^>]|$)")
_STREAM = re.compile(r"\[((?:rank|default|worker)[ _-]?\d+)\]:? ?")
_LEVEL = r"(?:\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL)\]?)"
_STAMP = re.compile(
    r"(?:"
    r"[\[(]?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?[\])]?[:,]?"  # ISO 8601, logging
    r"|[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ [^\]]{1,120}\]"  # glog, torch's own logs
    r"|[\[(]?\d\d:\d\d:\d\d(?:[.,]\d+)?[\])]?"
    rf")(?:\s+(?:-\s+)?(?:[\w.-]+\s+(?:-\s+)?)?{_LEVEL}(?:\s+-)?:?(?:\s+[\w.]+:)?)?"
    r"(?: (?:\[\d+/\d+(?:_\d+)?\](?: |$))?)?"
)
_BARE_LEVEL = re.compile(rf"{_LEVEL}:(?:[\w.]+:)?\s?(?=Traceback )")


@dataclass(frozen=True)
class Line:
    """A line of the input as it was, and what it says; `stamped` if a log put a time before it."""

    number: int
    raw: str
    text: str
    stamped: bool
    stream: str


def streams_of(text: str) -> list[list[Line]]:
    """The lines by who printed them (``[rank0]:`` and the like), as ranks write into one log at once."""
    found: dict[str, list[Line]] = {}
    for line in _lines(text):
        found.setdefault(line.stream, []).append(line)
    return list(found.values())


def _lines(text: str) -> Iterator[Line]:
    text = _ESCAPES.sub("", text.removeprefix("\ufeff").replace("\0", ""))
    for number, raw in enumerate(re.split(r"\r*\n|\r(?!\n)", text)):
        stripped, stamped, stream = raw.rstrip(), False, ""
        for _ in range(4):
            before = stripped
            if mark := _QUOTE.match(stripped):
                stripped = stripped[mark.end() :]
            if mark := _STREAM.match(stripped):
                stripped, stream = stripped[mark.end() :], mark[1]
            if mark := _STAMP.match(stripped):
                stripped, stamped = stripped[mark.end() :], True
            if mark := _BARE_LEVEL.match(stripped):
                stripped, stamped = stripped[mark.end() :], True
            if stripped == before:
                break
        yield Line(number, raw, stripped, stamped, stream)
