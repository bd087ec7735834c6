"""Finds the failures in a text: Python tracebacks of every printer, pytest's failures, native crashes.

The text is what a person pastes or a CI keeps: tracebacks with their causes, in logs with times before each line, in
quotes, several in one file, cut off at either end, or only the last line of one.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pt2bugs.engine.observe import inside_torch
from pt2bugs.triage.crash_text import crash_at, signal_in
from pt2bugs.triage.log_lines import Line, streams_of


@dataclass(frozen=True)
class Frame:
    """A line of a traceback: `code` is the source it shows, empty if it shows none; `line` 0 if it is not said."""

    file: str
    line: int
    function: str
    code: str = ""

    @property
    def place(self) -> str:
        """The frame as the journal writes those of torch (``torch/path.py:LINE function``); else empty."""
        inside = inside_torch(self.file) or (self.file if self.file.startswith("torch/") else "")
        return f"{inside}:{self.line} {self.function}" if inside and not inside.startswith("torch/testing/") else ""


@dataclass(frozen=True)
class Raised:
    """An exception: its type as printed, its message, its frames with the innermost first."""

    type: str
    message: str
    frames: tuple[Frame, ...] = ()


@dataclass(frozen=True)
class Failure:
    """One failure of the text: an exception with its causes (`chain`, the one that ended the program first), or a
    native crash with its `signal`. `before` is what the program printed since the failure before, its last words."""

    text: str
    chain: tuple[Raised, ...] = ()
    signal: str = ""
    before: str = ""

    @property
    def frames(self) -> tuple[Frame, ...]:
        """All frames, those of the exception that ended the program first."""
        return tuple(frame for raised in self.chain for frame in raised.frames)


_HEADER = re.compile(r"^(?P<before>.*?)(?:Stack )?Traceback \(most recent call last\):?\s*$")
_FRAME = re.compile(r'^(?P<indent>\s*)File "(?P<file>[^"]+)", line (?P<line>\d+)(?:, in (?P<function>.+))?$')
_NOTEBOOK_FRAME = re.compile(
    r"^(?:File )?\[?(?P<file>(?:~|/|\.|[A-Za-z]:)?[^\s\]()\[]*\.py)(?::(?P<line>\d+))?(?:\]\([^)]*\))?,? in "
    r"(?P<function>[\w.<>]+)(?:\(|$)"
)
_CELL_FRAME = re.compile(r"^(?:Cell |Input )?In ?\[\d+\],? ?(?:line (?P<line>\d+)|in )")
_NAME = r"[A-Za-z_]\w*(?:\.(?:[A-Za-z_]\w*|<locals>))*"
_RAISED = re.compile(rf"^(?P<type>{_NAME})(?:: ?(?P<message>.*))?$")
_LAST_LINE = re.compile(
    r"^\s*(?P<type>(?:[a-z_]\w*\.)+_?[A-Z]\w*|[A-Z]\w*(?:Error|Exception|Failed|Exit|Interrupt)|Unsupported)"
    r"(?:: (?P<message>.*)|:?)$"
)
_INLINE = re.compile(
    r"`(?P<type>(?:[a-z_]\w*\.)*_?[A-Z]\w*(?:Error|Exception|Failed|Unsupported)|(?:[a-z_]\w*\.)+[A-Z]\w*): "
    r"(?P<message>[^`]+)`"
)
"""In a sentence, as people write of a failure on GitHub."""
_QUOTED_CAUSE = re.compile(r"^\s*Original (?:exception|error|traceback)\b", re.IGNORECASE)
_CAUSE = re.compile(r"^\s*The above exception was the direct cause of the following exception:")
_CONTEXT = re.compile(r"^\s*During handling of the above exception, another exception occurred:")
_ENDS = re.compile(
    r"^\s*(?:```|~~~~|</?(?:details|pre|code|summary)\b)"
    r"|^(?:=|_|-|\*){3,}(?: .*)?$|^_ _ _"
    r"|^(?:FAILED|ERROR|PASSED) \S+(?:::| )"
    r"|^(?:##\[|::error|#{2,} |\$ |>>> |In \[\d+\]:|[\w.-]+@[\w.-]+:[^ ]*[$#] )"
    r"|^(?:make|ninja|srun|torchrun)(?:\[\d+\])?: "
)
_LEFT_OUT = re.compile(r"\.\.\.|[<\[+|]")
"""Begins a line that stands for frames that somebody left out."""
_MAX_LINES = 2000
"""Of one message; a log goes on for ever."""
_MAX_BEFORE = 64_000
"""Characters of what was printed before a failure."""
_MAX_PYTEST_LINES = 600
"""Of the sources that pytest shows before what was raised."""


def find_failures(text: str) -> list[Failure]:
    """Every failure of the text, in the order in which the text has them."""
    found = [one for lines in streams_of(text) for one in _Reader(lines).read()]
    return [failure for _, failure in sorted(found, key=lambda one: one[0])]


@dataclass
class _Open:
    """A chain that is being read: the exceptions so far, the earliest first, and its first line."""

    start: int
    raised: list[Raised] = field(default_factory=list)


class _Reader:
    """Reads the lines of one stream."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self.lines = lines
        self.texts = [line.text for line in lines]
        self.found: list[tuple[int, Failure]] = []
        self._ended = 0
        self._errors = [at for at, text in enumerate(self.texts) if _PYTEST_ERROR.match(text)]
        self._barriers = [
            at
            for at, text in enumerate(self.texts)
            if _HEADER.match(text) or (_ENDS.match(text) and not text.startswith("_ _"))
        ]

    def read(self) -> list[tuple[int, Failure]]:
        """The failures, each with the number of its first line."""
        at, chain = 0, None
        while at < len(self.lines):
            start, text = at, self.lines[at].text
            if chain and (not text.strip() or _CAUSE.match(text) or _CONTEXT.match(text)):
                at += 1
                continue
            raised, at = self._next(at)
            if raised is None:
                if chain:
                    self._close(chain, start)
                    chain = None
                signal, end = crash_at(self.texts, start)
                if signal:
                    frames, message = _crash_frames(self.texts[start:end])
                    self._add(start, end, (Raised("", message, frames),), signal)
                    at = end
                else:
                    at = start + 1
                continue
            chain = chain or _Open(start)
            chain.raised.append(raised)
            if not self._goes_on(at):
                self._close(chain, at)
                chain = None
        if chain:
            self._close(chain, at)
        return self.found

    def _goes_on(self, at: int) -> bool:
        """Whether the next words say that another exception came of this one."""
        while at < len(self.lines) and not self.lines[at].text.strip():
            at += 1
        return at < len(self.lines) and bool(_CAUSE.match(self.lines[at].text) or _CONTEXT.match(self.lines[at].text))

    def _close(self, chain: _Open, end: int) -> None:
        raised = tuple(reversed(chain.raised))
        header = _HEADER.match(self.lines[chain.start].text)
        if header and _QUOTED_CAUSE.search(header["before"]) and self.found and self._ended == chain.start:
            # The message before it goes on with the traceback of what it came of.
            number, failure = self.found.pop()
            rest = "\n".join(line.raw for line in self.lines[chain.start : end]).rstrip("\n")
            self.found.append((number, replace(failure, text=f"{failure.text}\n{rest}", chain=failure.chain + raised)))
            self._ended = end
            return
        self._add(chain.start, end, raised, "")

    def _add(self, start: int, end: int, chain: tuple[Raised, ...], signal: str) -> None:
        text = "\n".join(line.raw for line in self.lines[start:end]).strip("\n")
        before = "\n".join(self.texts[max(self._ended, start - _MAX_LINES) : start])[-_MAX_BEFORE:]
        self._ended = end
        self.found.append((self.lines[start].number, Failure(text, chain, signal, before)))

    def _next(self, at: int) -> tuple[Raised | None, int]:
        """The exception that starts at a line, and the line after it; None if none starts there."""
        text = self.lines[at].text
        if header := _HEADER.match(text):
            return self._traceback(at + 1, header["before"], stamped=self.lines[at].stamped)
        if frame := _FRAME.match(text):
            # The head was cut off.
            return self._traceback(at, frame["indent"][2:], stamped=self.lines[at].stamped)
        if _PYTEST_PLACE.match(text) or _PYTEST_ERROR.match(text) or _PYTEST_SOURCE.match(text):
            return self._pytest(at)
        if last := _LAST_LINE.match(text):
            message, at = self._message(at + 1, last["message"] or "", stamped=self.lines[at].stamped)
            return Raised(last["type"], message), at
        if said := _INLINE.search(text):
            return Raised(said["type"], said["message"]), at + 1
        return None, at

    # --- Python's own printer, and IPython's ---

    def _traceback(self, at: int, before: str, *, stamped: bool) -> tuple[Raised | None, int]:
        """The exception whose frames start at a line. `before` is what stood before the word Traceback."""
        notebook_type = before.strip() if re.fullmatch(rf"{_NAME}\s+", before) else ""
        shape = re.compile(f" {{0,{len(before)}}}") if before and not before.strip() else None
        if before.strip() and not notebook_type and at < len(self.lines):
            # Whatever this log puts before each line, numbers aside.
            known = before.rstrip()
            numbers = re.sub(r"\d+", r"\\d+", re.escape(known))
            shape = re.compile(f"{numbers} {{0,{len(before) - len(known)}}}")
            shape = shape if shape.match(self.lines[at].text) else None
        frames: list[Frame] = []
        start = at
        while at < len(self.lines) and at < start + _MAX_LINES:
            line = self.lines[at]
            text = self._bare(line.text, shape)
            if found := _FRAME.match(text):
                frames.append(Frame(found["file"], int(found["line"]), found["function"] or "", self._code(at, shape)))
            elif notebook_type and (found := _NOTEBOOK_FRAME.match(text)):
                function = found["function"].rpartition(".")[2]
                frames.append(Frame(found["file"], int(found["line"] or 0), function))
            elif _CELL_FRAME.match(text):
                frames.append(Frame("<cell>", 0, ""))
            elif _HEADER.match(text) or _CAUSE.match(text) or _CONTEXT.match(text):
                break
            elif text[:1].strip() and (found := _RAISED.match(text)) and self._ends_frames(found, notebook_type):
                message, at = self._message(at + 1, found["message"] or "", stamped=line.stamped, shape=shape)
                return Raised(found["type"], message, tuple(reversed(frames))), at
            elif not notebook_type and (_ENDS.match(text) or (text[:1].strip() and not _LEFT_OUT.match(text))):
                break
            at += 1
        # Cut off before its last line: the frames are all there is.
        return (Raised("", "", tuple(reversed(frames))) if len(frames) > 1 else None), at

    @staticmethod
    def _ends_frames(found: re.Match[str], notebook_type: str) -> bool:
        if notebook_type:
            return found["type"].rpartition(".")[2] == notebook_type.rpartition(".")[2]
        return found["message"] is not None or "." in found["type"] or found["type"][:1].isupper()

    def _code(self, at: int, shape: re.Pattern[str] | None) -> str:
        following = self._bare(self.lines[at + 1].text, shape) if at + 1 < len(self.lines) else ""
        is_code = following[:1] == " " and not _FRAME.match(following)
        return following.strip() if is_code else ""

    @staticmethod
    def _bare(text: str, shape: re.Pattern[str] | None) -> str:
        mark = shape.match(text) if shape else None
        return text[mark.end() :] if mark else text

    def _message(self, at: int, first: str, *, stamped: bool, shape: re.Pattern[str] | None = None) -> tuple[str, int]:
        """A message whose first line is known, to where the text speaks of something else; and the line after it."""
        lines = [first]
        start = at
        while at < len(self.lines) and at < start + _MAX_LINES:
            line = self.lines[at]
            text = self._bare(line.text, shape)
            is_other = line.stamped != stamped and bool(line.text.strip())
            if is_other or _HEADER.match(text) or _CAUSE.match(text) or _CONTEXT.match(text) or _ENDS.match(text):
                break
            if signal_in(text):
                break
            lines.append(text)
            at += 1
        return "\n".join(lines).strip("\n").rstrip(), at

    # --- pytest's printer ---

    def _pytest(self, at: int) -> tuple[Raised | None, int]:
        """The exception of pytest's ``E`` lines, with the places named before and right after them."""
        start, frames, function = at, [], ""
        end = _first_from(self._errors, start)
        if end > min(start + _MAX_PYTEST_LINES, _first_from(self._barriers, start)):
            return None, start
        for at in range(start, end):
            text = self.texts[at]
            if source := _PYTEST_SOURCE.match(text):
                function = source["function"]
            elif place := _PYTEST_PLACE.match(text):
                code = self._text(at + 1).strip() if place["function"] else ""
                frames.append(Frame(place["file"], int(place["line"]), place["function"] or function, code))
        lines: list[str] = []
        at = end
        indent = 0
        while at < len(self.lines) and (error := _PYTEST_ERROR.match(self.texts[at])):
            indent = indent or len(error["indent"] or "")
            lines.append((error["indent"] or "")[indent:] + (error["text"] or ""))
            at += 1
        type_, message = "", "\n".join(lines)
        if found := _RAISED.match(lines[0]):
            type_, message = found["type"], "\n".join([found["message"] or "", *lines[1:]])
        elif lines[0].startswith("assert "):
            type_ = "AssertionError"
        for ahead in range(at, min(at + 3, len(self.lines))):
            if (place := _PYTEST_PLACE.match(self._text(ahead))) and place["type"]:
                frames.append(Frame(place["file"], int(place["line"]), function))
                at = ahead + 1
                break
        return Raised(type_, message.rstrip(), tuple(reversed(frames))), at

    def _text(self, at: int) -> str:
        return self.texts[at] if at < len(self.texts) else ""


_PYTEST_ERROR = re.compile(r"^E(?:(?P<indent> {2,})(?P<text>.*))?$")
_PYTEST_PLACE = re.compile(rf"^(?P<file>[^\s:'\"]+\.py):(?P<line>\d+): ?(?:in (?P<function>\S+)|(?P<type>{_NAME}))?$")
_PYTEST_SOURCE = re.compile(r"^ {4,}(?:async )?def (?P<function>\w+)\(")


def _first_from(numbers: Sequence[int], start: int) -> int:
    """The first of some sorted numbers that is not below `start`; a huge one if there is none."""
    at = bisect_left(numbers, start)
    return numbers[at] if at < len(numbers) else sys.maxsize


def _crash_frames(lines: Sequence[str]) -> tuple[tuple[Frame, ...], str]:
    """The Python frames of the thread that crashed, the innermost first, and the lines that say what happened."""
    frames: list[Frame] = []
    said: list[str] = []
    is_current = True
    for text in lines:
        if re.match(r"^\s*(?:Current thread|Thread) 0x", text):
            is_current = "Current" in text
        elif found := _FAULT_FRAME.match(text):
            if is_current:
                frames.append(Frame(found["file"], int(found["line"]), found["function"]))
        elif text.strip():
            said.append(text.strip())
    return tuple(frames), "\n".join(said)


_FAULT_FRAME = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+),? in (?P<function>\S+)')
