"""Find the failures in a text: Python tracebacks of every printer, pytest's failures, native crashes.

The text is what a person pastes or a CI keeps: tracebacks with their causes, in logs with times before each line, in
quotes, several in one file, cut off at either end, or only the last line of one.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from pt2bugs.engine.observe import inside_torch


@dataclass(frozen=True)
class Frame:
    """A line of a traceback: `code` is the source it shows, empty if it shows none; `line` 0 if it is not said."""

    file: str
    line: int
    function: str
    code: str = ""

    @property
    def place(self) -> str:
        """Return the frame as the journal writes those of torch (``torch/path.py:LINE function``); else empty."""
        inside = inside_torch(self.file) or (self.file if self.file.startswith("torch/") else "")
        return f"{inside}:{self.line} {self.function}" if inside and not inside.startswith("torch/testing/") else ""


@dataclass(frozen=True)
class Raised:
    """An exception: its type as printed, its message, its frames with the innermost first."""

    type: str
    message: str
    frames: tuple[Frame, ...] = ()


@dataclass(frozen=True)
class Traceback:
    """One failure of a text: an exception with its causes, or a native crash.

    Attributes:
        text: The lines of the failure as they were given.
        chain: The exceptions, the one that ended the program first; of a crash its Python frames and words.
        signal: The signal of a native crash, else empty.
        before: What the program printed since the previous failure, bounded.
    """

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
"""A failure in a sentence, as people write of it on GitHub."""
_QUOTED_CAUSE = re.compile(r"^\s*Original (?:exception|error|traceback)\b", re.IGNORECASE)
_CAUSE = re.compile(r"^\s*The above exception was the direct cause of the following exception:")
_CONTEXT = re.compile(r"^\s*During handling of the above exception, another exception occurred:")
_ENDS = re.compile(
    r"^\s*(?:```|</?(?:details|pre|code|summary)\b)|^ {0,3}~~~+\s*$"
    r"|^(?:=|_|-|\*){3,}(?: .*)?$|^_ _ _"
    r"|^(?:FAILED|ERROR|PASSED) \S+(?:::| )"
    r"|^(?:##\[|::error|#{2,} |\$ |>>> |In \[\d+\]:|[\w.-]+@[\w.-]+:[^ ]*[$#] )"
    r"|^(?:make|ninja|srun|torchrun)(?:\[\d+\])?: "
)
"""Ends a traceback. Tildes are a Markdown fence only where they stand alone on a line that is not indented as
code: Python 3.11 and newer underline the failing part of a statement with ``~~~~^^^``."""
_LEFT_OUT = re.compile(r"\.\.\.|[<\[+|]")
"""Begins a line that stands for frames that were left out."""
_MAX_LINES = 2000
"""Lines of one message; a log goes on for ever."""
_MAX_MESSAGE = 16_000
"""Characters of one message. Some patterns that it is searched with take the square of its length."""
_MAX_BEFORE = 64_000
"""Characters of what was printed before a failure."""
_MAX_PYTEST_LINES = 600
"""Lines of the sources that pytest shows before what was raised."""
_MAX_CHAIN = 16
"""Exceptions of one chain: the outermost and the innermost half are read of a longer one."""
_MAX_FRAMES = 400
"""Frames of one exception, the innermost first; endless recursion prints a thousand."""


def find_tracebacks(text: str) -> list[Traceback]:
    """Return every failure of a text, in the order in which the text has them.

    Args:
        text: What was pasted or logged. Of more than `MAX_TEXT` characters only what surrounds the words of a failure
            is read.
    """
    numbered = [pair for lines in _streams_of(_bounded(text)) for pair in _Reader(lines).read()]
    return [traceback for _, traceback in sorted(numbered, key=lambda pair: pair[0])]


@dataclass
class _Open:
    """A chain that is being read: the exceptions so far, the earliest first, and its first line."""

    start: int
    raised: list[Raised] = field(default_factory=list)


class _Reader:
    """A reader of the lines of one stream."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self.lines = lines
        self.texts = [line.text for line in lines]
        self.tracebacks: list[tuple[int, Traceback]] = []
        self._ended = 0
        self._errors = [at for at, text in enumerate(self.texts) if _PYTEST_ERROR.match(text)]
        self._barriers = [
            at
            for at, text in enumerate(self.texts)
            if _HEADER.match(text) or (_ENDS.match(text) and not text.startswith("_ _"))
        ]

    def read(self) -> list[tuple[int, Traceback]]:
        """Return the failures, each with the number of its first line."""
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
                signal, end = _crash_at(self.texts, start)
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
        return self.tracebacks

    def _goes_on(self, at: int) -> bool:
        """Return whether the next words say that another exception came of this one."""
        while at < len(self.lines) and not self.lines[at].text.strip():
            at += 1
        return at < len(self.lines) and bool(_CAUSE.match(self.lines[at].text) or _CONTEXT.match(self.lines[at].text))

    def _close(self, chain: _Open, end: int) -> None:
        raised = tuple(reversed(chain.raised))
        if len(raised) > _MAX_CHAIN:
            raised = raised[: _MAX_CHAIN // 2] + raised[-_MAX_CHAIN // 2 :]
        header = _HEADER.match(self.lines[chain.start].text)
        if header and _QUOTED_CAUSE.search(header["before"]) and self.tracebacks and self._ended == chain.start:
            # The message before it goes on with the traceback of what it came of.
            number, before = self.tracebacks.pop()
            rest = "\n".join(line.raw for line in self.lines[chain.start : end]).rstrip("\n")
            whole = replace(before, text=f"{before.text}\n{rest}", chain=(before.chain + raised)[:_MAX_CHAIN])
            self.tracebacks.append((number, whole))
            self._ended = end
            return
        self._add(chain.start, end, raised, "")

    def _add(self, start: int, end: int, chain: tuple[Raised, ...], signal: str) -> None:
        text = "\n".join(line.raw for line in self.lines[start:end]).strip("\n")
        before = "\n".join(self.texts[max(self._ended, start - _MAX_LINES) : start])[-_MAX_BEFORE:]
        self._ended = end
        self.tracebacks.append((self.lines[start].number, Traceback(text, chain, signal, before)))

    def _next(self, at: int) -> tuple[Raised | None, int]:
        """Return the exception that starts at a line, and the line after it; None if none starts there."""
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
        """Return the exception whose frames start at a line, with `before` in front of the word Traceback."""
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
            if frame := _FRAME.match(text):
                frames.append(Frame(frame["file"], int(frame["line"]), frame["function"] or "", self._code(at, shape)))
            elif notebook_type and (frame := _NOTEBOOK_FRAME.match(text)):
                function = frame["function"].rpartition(".")[2]
                frames.append(Frame(frame["file"], int(frame["line"] or 0), function))
            elif _CELL_FRAME.match(text):
                frames.append(Frame("<cell>", 0, ""))
            elif _HEADER.match(text) or _CAUSE.match(text) or _CONTEXT.match(text):
                break
            elif text[:1].strip() and (ended := _RAISED.match(text)) and self._ends_frames(ended, notebook_type):
                message, at = self._message(at + 1, ended["message"] or "", stamped=line.stamped, shape=shape)
                return Raised(ended["type"], message, tuple(reversed(frames[-_MAX_FRAMES:]))), at
            elif not notebook_type and (_ENDS.match(text) or (text[:1].strip() and not _LEFT_OUT.match(text))):
                break
            at += 1
        # Cut off before its last line: the frames are all there is.
        return (Raised("", "", tuple(reversed(frames))) if len(frames) > 1 else None), at

    @staticmethod
    def _ends_frames(raised: re.Match[str], notebook_type: str) -> bool:
        if notebook_type:
            return raised["type"].rpartition(".")[2] == notebook_type.rpartition(".")[2]
        return raised["message"] is not None or "." in raised["type"] or raised["type"][:1].isupper()

    def _code(self, at: int, shape: re.Pattern[str] | None) -> str:
        following = self._bare(self.lines[at + 1].text, shape) if at + 1 < len(self.lines) else ""
        is_code = following[:1] == " " and not _FRAME.match(following)
        return following.strip() if is_code else ""

    @staticmethod
    def _bare(text: str, shape: re.Pattern[str] | None) -> str:
        mark = shape.match(text) if shape else None
        return text[mark.end() :] if mark else text

    def _message(self, at: int, first: str, *, stamped: bool, shape: re.Pattern[str] | None = None) -> tuple[str, int]:
        """Return a message whose first line is known, to where the text speaks of other things, and the line after."""
        lines = [first]
        start = at
        while at < len(self.lines) and at < start + _MAX_LINES:
            line = self.lines[at]
            text = self._bare(line.text, shape)
            is_other = line.stamped != stamped and bool(line.text.strip())
            if is_other or _HEADER.match(text) or _CAUSE.match(text) or _CONTEXT.match(text) or _ENDS.match(text):
                break
            if _signal_in(text):
                break
            lines.append(text)
            at += 1
        return "\n".join(lines)[:_MAX_MESSAGE].strip("\n").rstrip(), at

    # --- pytest's printer ---

    def _pytest(self, at: int) -> tuple[Raised | None, int]:
        """Return the exception of pytest's ``E`` lines, with the places named before and right after them."""
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
        while at < len(self.lines) and len(lines) < _MAX_LINES and (error := _PYTEST_ERROR.match(self.texts[at])):
            indent = indent or len(error["indent"] or "")
            lines.append((error["indent"] or "")[indent:] + (error["text"] or ""))
            at += 1
        type_, message = "", "\n".join(lines)
        if raised := _RAISED.match(lines[0]):
            type_, message = raised["type"], "\n".join([raised["message"] or "", *lines[1:]])[:_MAX_MESSAGE]
        elif lines[0].startswith("assert "):
            type_ = "AssertionError"
        for ahead in range(at, min(at + 3, len(self.lines))):
            if (place := _PYTEST_PLACE.match(self._text(ahead))) and place["type"]:
                frames.append(Frame(place["file"], int(place["line"]), function))
                at = ahead + 1
                break
        return Raised(type_, message.rstrip(), tuple(reversed(frames[-_MAX_FRAMES:]))), at

    def _text(self, at: int) -> str:
        return self.texts[at] if at < len(self.texts) else ""


_PYTEST_ERROR = re.compile(r"^E(?:(?P<indent> {2,})(?P<text>.*))?$")
_PYTEST_PLACE = re.compile(rf"^(?P<file>[^\s:'\"]+\.py):(?P<line>\d+): ?(?:in (?P<function>\S+)|(?P<type>{_NAME}))?$")
_PYTEST_SOURCE = re.compile(r"^ {4,}(?:async )?def (?P<function>\w+)\(")


def _first_from(numbers: Sequence[int], start: int) -> int:
    """Return the first of some sorted numbers that is not below `start`; a huge one if there is none."""
    at = bisect_left(numbers, start)
    return numbers[at] if at < len(numbers) else sys.maxsize


# --- native crashes: the words of the shell, the C library, faulthandler, a process pool ---

_PATTERNS = {
    "SIGSEGV": r"\bSegmentation fault\b|\bSIGSEGV\b|\bexit(?:ed with)? (?:code|status):? (?:139|-11)\b",
    "SIGFPE": r"\bFloating point exception\b|\bSIGFPE\b|\bexit(?:ed with)? (?:code|status):? (?:136|-8)\b",
    "SIGILL": r"\bIllegal instruction\b|\bSIGILL\b|\bexit(?:ed with)? (?:code|status):? (?:132|-4)\b",
    "SIGBUS": r"\bBus error\b|\bSIGBUS\b|\bexit(?:ed with)? (?:code|status):? (?:135|-7)\b",
    "SIGTRAP": r"\bTrace/breakpoint trap\b|\bSIGTRAP\b|\bexit(?:ed with)? (?:code|status):? (?:133|-5)\b",
    "SIGABRT": r"^(?:.*: )?Aborted(?: \(core dumped\))?$|\bFatal Python error: Aborted\b|\bSIGABRT\b"
    r"|\bexit(?:ed with)? (?:code|status):? (?:134|-6)\b"
    r"|^(?:free|malloc|realloc)\(\): |^malloc_consolidate\(|^munmap_chunk\(\): |^double free or corruption"
    r"|^corrupted (?:size|double-linked)|^terminate called ",
}
_SIGNALS = {signal: re.compile(pattern) for signal, pattern in _PATTERNS.items()}
_ANY = re.compile("|".join(_PATTERNS.values()))
_BELONGS = re.compile(
    r'^\s*(?:File "[^"]+", line \d+,? in |(?:Current thread|Thread) 0x|Extension modules:|what\(\): |\.\.\.$'
    r"|#\d+ |frame #\d+|Exception raised from |<no Python frame>|\(no Python frames\)|Stack \(most recent)"
)


def _signal_in(text: str) -> str:
    """Return the signal that a line tells of; empty if it tells of none."""
    if not _ANY.search(text):
        return ""
    return next(signal for signal, pattern in _SIGNALS.items() if pattern.search(text))


def _crash_at(lines: Sequence[str], at: int) -> tuple[str, int]:
    """Return the signal of the crash whose words start at a line, and the line after them; no signal if none does."""
    signal = _signal_in(lines[at])
    if not signal:
        return "", at
    end = at + 1
    ahead = end
    while ahead < len(lines) and ahead < end + 12:
        text = lines[ahead]
        other = _signal_in(text)
        if other and other != signal:
            break
        if other or _BELONGS.match(text):
            end = ahead + 1
        elif text.strip() and not re.match(r"^\s", text):
            break
        ahead += 1
    return signal, end


def _crash_frames(lines: Sequence[str]) -> tuple[tuple[Frame, ...], str]:
    """Return the frames of the thread that crashed, the innermost first, and the lines that say what happened."""
    frames: list[Frame] = []
    said: list[str] = []
    is_current = True
    for text in lines:
        if re.match(r"^\s*(?:Current thread|Thread) 0x", text):
            is_current = "Current" in text
        elif frame := _FAULT_FRAME.match(text):
            if is_current:
                frames.append(Frame(frame["file"], int(frame["line"]), frame["function"]))
        elif text.strip():
            said.append(text.strip())
    return tuple(frames[:_MAX_FRAMES]), "\n".join(said)[:_MAX_MESSAGE]


_FAULT_FRAME = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+),? in (?P<function>\S+)')


# --- lines, without what logs, terminals and quoting put around them ---

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\u202a-\u202e\u2066-\u2069]")
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
_BREAK = re.compile(r"(?<!\r)\r*\n|\r(?!\n)")
_BARE_LEVEL = re.compile(rf"{_LEVEL}:(?:[\w.]+:)?\s?(?=Traceback )")


MAX_TEXT = 2_000_000
"""Characters that are read. More is cut to the surroundings of the words of failures first, before any pattern."""
MAX_LINES = 60_000
MAX_LINE = 8_000
"""Characters of one line that are read."""
_WORDS_OF_FAILURES = (
    "Traceback (most", "Error", "Exception", "Unsupported", "Failed", "PyTorch version", "Fatal", "Segmentation",
    "SIG", "Aborted", "core dumped", "exit code", "exit status", "exited with", "free():", "realloc():", "malloc",
    "munmap_chunk", "corrupted ", "terminate called", "Floating point", "Illegal inst", "Bus error", "breakpoint trap",
)  # fmt: skip
_BEFORE, _AFTER = 8_000, 16_000
"""Characters kept around such a word: the frames of a traceback stand before its error, the message after it."""


def _bounded(text: str) -> str:
    """Return a text that is small enough to be searched with patterns.

    Of a larger one the surroundings of the words of failures are kept: of the first failures and, as the last one ends
    a program, of the last ones. Finding words is a plain search, which takes a second for 64 MB.
    """
    if len(text) <= MAX_TEXT and text.count("\n") <= MAX_LINES:
        return text
    spans: list[tuple[int, int]] = []
    for word in _WORDS_OF_FAILURES:
        at = text.find(word)
        while at >= 0:
            spans.append((max(0, at - _BEFORE), at + _AFTER))
            at = text.find(word, at + _AFTER)
    spans.sort()
    pieces: list[str] = []
    begin, end = 0, 0
    for start, stop in spans:
        if start > end:
            pieces.append(text[begin:end])
            begin = text.rfind("\n", max(end, start - MAX_LINE), start) + 1 or start
        end = max(end, stop)
    pieces.append(text[begin:end])
    kept = "\n".join(pieces)
    half = MAX_TEXT // 2
    kept = kept if len(kept) <= MAX_TEXT else f"{kept[:half]}\n{kept[-half:]}"
    lines = kept.split("\n")
    return kept if len(lines) <= MAX_LINES else "\n".join([*lines[: MAX_LINES // 2], *lines[-MAX_LINES // 2 :]])


@dataclass(frozen=True)
class Line:
    """A line of the input as it was, and what it says; `stamped` if a log put a time before it."""

    number: int
    raw: str
    text: str
    stamped: bool
    stream: str


def _streams_of(text: str) -> list[list[Line]]:
    """Return the lines by who printed them (``[rank0]:`` and the like), as ranks write into one log at once."""
    streams: dict[str, list[Line]] = {}
    for line in _lines(text):
        streams.setdefault(line.stream, []).append(line)
    return list(streams.values())


def _lines(text: str) -> Iterator[Line]:
    text = _ESCAPES.sub("", text.removeprefix("\ufeff").replace("\0", ""))
    for number, raw in enumerate(_BREAK.split(text)):
        stripped, stamped, stream = raw[:MAX_LINE].rstrip(), False, ""
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
